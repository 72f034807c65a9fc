//! All rules, with their explanations and help texts.

use super::{AuditSeverity, Rule};

macro_rules! rules {
    ($($name:ident: $id:literal, $severity:ident, $title:literal, $explanation:literal, $help:literal;)*) => {
        $(
            pub(super) static $name: Rule = Rule {
                id: $id,
                severity: AuditSeverity::$severity,
                title: $title,
                explanation: $explanation,
                help: $help,
            };
        )*

        /// Everything that the audit looks for, by id.
        ///
        /// ```
        /// use skillcue_audit::RULES;
        ///
        /// assert!(RULES.iter().any(|rule| rule.id == "hidden-unicode"));
        /// assert!(RULES.is_sorted_by_key(|rule| rule.id));
        /// ```
        pub static RULES: &[&Rule] = &[$(&$name),*];
    };
}

rules! {
    AGENT_SETTINGS: "agent-settings", Medium, "Changes an agent's settings",
        "Settings files and standing instructions of agents hold hooks, servers and permissions. What is written there goes on after the skill has done its work.",
        "Read what is written. Let the user change their settings themselves.";
    AGENT_TAKEOVER: "agent-takeover", High, "Switches off an agent's protection for good",
        "It writes into an agent's settings that commands run without a question, or that a hook talks to the network.",
        "Do not run it. Remove it, and look at the settings if it has run.";
    ARCHIVE: "archive", Low, "An archive inside the skill",
        "What is packed inside an archive is not read by this audit, nor by people who read the skill.",
        "Unpack it and audit what comes out, or leave it out of the skill.";
    AUTORUN_FILE: "autorun-file", Medium, "A file that runs without being called",
        "Tools start what such a file says when the directory is opened, installed or entered: hooks, install scripts, tasks of editors.",
        "Read what it starts. Remove it if the skill works without it.";
    BORROWED_DESCRIPTIONS: "borrowed-descriptions", Low, "Repeats the descriptions of other skills",
        "A body with the descriptions of other skills is found for their messages, in their place.",
        "Read it. An index of skills may do so; any other skill has no reason to.";
    CODED_UNICODE: "coded-unicode", Medium, "Characters that can carry a hidden text",
        "Unusual blanks, empty Braille cells and private characters look like nothing or mean nothing, and models read them: many of them can spell a sentence.",
        "Replace them by plain blanks, or remove them.";
    COMMENT_INJECTION: "comment-injection", High, "A comment that gives the model secret orders",
        "Comments are not shown when Markdown is rendered, but a model reads them: orders that a person does not see are the way to take a model over.",
        "Remove the comment. Do not use the skill if you did not write it.";
    COMMENT_INSTRUCTIONS: "comment-instructions", Low, "A comment with instructions",
        "Comments are not shown when Markdown is rendered, but a model reads and may follow them.",
        "Read the comment. What the model should do belongs into the visible text.";
    COMPILED_CODE: "compiled-code", High, "Compiled code that no source vouches for",
        "What runs is not what can be read: its source is not in the skill, is not what it was compiled from, or need not be: what Python bytecode says of its source can be forged.",
        "Delete it, for Python the whole __pycache__, and let it be compiled from source that is in the skill.";
    CREDENTIAL_ACCESS: "credential-access", Low, "Names a file that holds credentials",
        "Keys, tokens and passwords of the user are kept there. Most skills have no reason to read them.",
        "See what is done with it. A script in the sandbox cannot read it unless the user grants it.";
    CREDENTIAL_THEFT: "credential-theft", High, "Reads credentials and sends something over the network",
        "Reading the user's keys and talking to the network in the same breath is how credentials are stolen.",
        "Do not use the skill unless you know where the data goes.";
    DANGEROUS_EXAMPLE: "dangerous-example", Medium, "Shows a command that would do harm",
        "It is in a sentence about attacks, or uses an address that is reserved for examples; a model might still run it.",
        "See that the text says not to run it.";
    DESTRUCTIVE_COMMAND: "destructive-command", High, "A command that destroys data",
        "It deletes or overwrites a home directory, a whole file system or a disk, or makes the machine unusable.",
        "Do not run it. Remove the command, or name exactly what is to be deleted.";
    DESTRUCTIVE_MENTION: "destructive-mention", Low, "Names a command that destroys data",
        "It is quoted or talked about rather than run, as a warning perhaps; a model might still run it.",
        "See that the text says not to run it.";
    ENCODED_BLOB: "encoded-blob", Low, "A long encoded text",
        "People cannot read what it says. It may be a picture, or a program.",
        "Decode it and look, or put it into a file of its own with a name that says what it is.";
    ENCODED_ORDERS: "encoded-orders", High, "An encoded text with orders or commands",
        "It says, in base64, base32, hexadecimal digits or rot13, what would be a finding in plain letters. Models read them.",
        "Remove it. Do not use the skill if you did not write it.";
    ENCODED_PROSE: "encoded-prose", Medium, "An encoded sentence",
        "People do not read base64, base32, hexadecimal digits or rot13, and models do. Sentences have no reason to be encoded.",
        "Write it in plain letters, or remove it.";
    EXECUTABLE_BINARY: "executable-binary", Medium, "A compiled program",
        "What a compiled program does cannot be read.",
        "Use it only if you trust who built it; better, build it from source.";
    FETCH_AND_RUN: "fetch-and-run", High, "Runs what it fetches from the network",
        "The owner of the address, today or later, decides what runs. Nothing that was read here says what that is.",
        "Fetch to a file, check its digest, look at it, then run it; or ship the program with the skill.";
    FETCH_KNOWN_INSTALLER: "fetch-known-installer", Medium, "Runs a well-known installer from the network",
        "The address belongs to a known project and is fetched with TLS, but what it serves can change.",
        "Install the tool with a package manager, or pin its version.";
    FOREIGN_INDEX: "foreign-index", Medium, "Installs packages from another index",
        "An index that is not the language's own decides what a package's name means: a known name can be another program there.",
        "Use it only if you know who runs it. Pin the packages by hash.";
    HARD_LINK: "hard-link", Low, "A file with more than one name",
        "The file has another name as well, inside the skill or outside: writing there changes the skill.",
        "Copy the file.";
    HIDDEN_METADATA: "hidden-metadata", Medium, "An invisible character in a name or description",
        "Names and descriptions go to the model with every request. An invisible character there is read by the model only.",
        "Remove the character from the metadata.";
    HIDDEN_UNICODE: "hidden-unicode", High, "Characters that people do not see",
        "Invisible characters can carry whole sentences to a model, and direction controls can show code in another order than it runs.",
        "Remove the characters. Do not use the skill if you did not write it.";
    HIDING_NAME: "hiding-name", Medium, "A file name that hides what it is",
        "Blanks at the ends, invisible or reversing characters and doubled extensions make a file look like another one.",
        "Rename the file, or remove it.";
    IMAGE_LEAK: "image-leak", High, "An image whose address carries data out",
        "Showing the image asks its server for it, and tells it what is in the address. No click is needed.",
        "Remove the image. Do not use the skill if you did not write it.";
    KEYWORD_STUFFING: "keyword-stuffing", Medium, "Metadata that is stuffed with keywords",
        "Long lists of words are there to have the skill chosen for messages that it is not made for.",
        "See what the skill does. Its description should say that, and when to use it, in sentences.";
    LINK_DANGLING: "link-dangling", Low, "A link to nothing",
        "Whatever appears at that place later becomes part of the skill.",
        "Remove the link, or add the file it means.";
    LINK_LEAK: "link-leak", Medium, "An address that carries data out",
        "The address has a gap for what only the model, the user or the environment knows: opening it tells the server.",
        "Remove the address, or the gap. Do not use the skill if you did not write it.";
    LINK_OUT: "link-out", High, "A link that leads out of the skill",
        "It makes files of the user, or of the system, look like files of the skill; installed elsewhere it leads to something else.",
        "Replace the link by a copy of what it means.";
    LOAD_COMMAND: "load-command", Medium, "A command that some agents run when the skill is loaded",
        "Some agents replace an exclamation mark with a command in backticks by the command's output, without asking. Skillcue does not.",
        "Read the command. Let the model call it as a tool instead.";
    NOT_READ: "not-read", High, "Could not be read",
        "The audit says nothing about what it could not read.",
        "Make the file readable, smaller or less deep, and audit again.";
    OBFUSCATED_CODE: "obfuscated-code", High, "Runs code that it decodes first",
        "Encoding code has no purpose but to keep people from reading it.",
        "Decode it and look. Do not use the skill if you did not write it.";
    ODD_UNICODE: "odd-unicode", Low, "An invisible character where none is needed",
        "Most come from copying out of other programs; they break searches and comparisons.",
        "Remove the character.";
    OFFICE_MACROS: "office-macros", High, "An office document with macros",
        "Macros are programs that run when the document is opened; what they do is not shown.",
        "Save the document without macros: .docx, .xlsx, .pptx.";
    PERMISSION_BYPASS: "permission-bypass", Medium, "Starts an agent that asks for nothing",
        "With such an option an agent runs every command without a question, outside of what the user has allowed.",
        "Leave the option out, and let the user answer.";
    PERSISTENCE: "persistence", Medium, "Makes itself start again",
        "Cron jobs, shell start-up files, services and hooks go on after the skill has done its work, and after it is removed.",
        "See what is started, and whether the user is told.";
    PROMPT_INJECTION: "prompt-injection", Medium, "Words that take a model over",
        "Sentences like this make a model drop its instructions, or hide from the user what it does.",
        "Read the passage. If it is an example, say so around it.";
    REMOTE_INSTRUCTIONS: "remote-instructions", Medium, "Instructions are fetched from the network",
        "The owner of the address, today or later, decides what the model does. Nothing that was read here says what that is.",
        "Put the text into the skill.";
    REMOTE_PACKAGE: "remote-package", Medium, "Runs or installs a package that is not pinned by a registry's name and version",
        "Packages that are fetched at the moment they run, or from an address, can change from one run to the next.",
        "Pin the version, and install it before.";
    REVERSE_SHELL: "reverse-shell", High, "Gives a shell to another machine on the network",
        "It connects a shell to a socket: the other end can run anything.",
        "Do not run it. Do not use the skill if you did not write it.";
    SECRET: "secret", High, "A key or token",
        "It looks like one that works. Every person with the skill has it, and so has every model that reads it.",
        "Revoke it, remove it, and have the user provide their own.";
    SECRET_LIKE: "secret-like", Medium, "What looks like a password",
        "A value with high entropy is where passwords and tokens are set.",
        "If it is real, revoke and remove it. If it is an example, write one that is clearly not real.";
    SETUID: "setuid", High, "A file that runs with the rights of its owner or group",
        "A set-user-ID or set-group-ID program gives the user that starts it rights that they do not have.",
        "Take the bit away: chmod u-s,g-s.";
    SHELL_ALLOWED: "shell-allowed", Low, "Every command may run without a question",
        "`allowed-tools` with a bare `Bash` means any command, in agents that heed it.",
        "Name the commands that the skill needs: `Bash(git status:*)`.";
    SPECIAL_FILE: "special-file", High, "A device, pipe or socket",
        "It is not a file: reading it may hang, or reach a device or another program.",
        "Remove it.";
    WIDE_PERMISSIONS: "wide-permissions", Medium, "Asks for much",
        "What the manifest asks for, taken together, is enough to take secrets away, or to read or change everything the user has.",
        "Grant it only if the skill's purpose needs all of it. Ask for exactly the files and names that are needed.";
    WORLD_WRITABLE: "world-writable", Low, "Every user may change it",
        "Any user of this machine can change what the skill does.",
        "Take the right away: chmod o-w.";
}
