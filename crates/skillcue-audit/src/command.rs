//! Commands that run packages, decode and run, persist, or run when a skill is loaded.

use std::sync::LazyLock;

use super::Rule;
use super::holders::marshalled;
use super::patterns::{LazyRegex, Pattern, PatternHit, in_code, is_match, regex, unless_described};
use super::rules::{AUTORUN_FILE, LOAD_COMMAND, OBFUSCATED_CODE, PERSISTENCE, REMOTE_PACKAGE};

pub(super) static PATTERNS: &[Pattern] = &[
    Pattern {
        rule: &REMOTE_PACKAGE,
        words: &["npx", "bunx", "pnpx", "uvx", "dlx", "pipx run", "bun x"],
        regex: r#"\b(?:(?:npx|bunx|bun\s+x|pnpx|pnpm\s+dlx|yarn\s+dlx)\s+(?:-\S+\s+)*?(?:-y|--yes)\s+|(?:uvx|pipx\s+run)\s+)(?:-[^\s"'`]+\s+(?:--from\s+)?)*["'`]?(?P<package>[@a-z][\w@/.:+=~^-]*)"#,
        message: "a package is fetched at the moment it runs, in whatever version there is",
        judge: unpinned,
    },
    Pattern {
        rule: &REMOTE_PACKAGE,
        words: &["pip", "uv add", "npm", "yarn", "pnpm", "uvx", "cargo install", "deno run", "gem install"],
        regex: r#"\b(?:pip[\d.]*\s+install|uv\s+(?:pip\s+install|add|tool\s+install)|uvx|(?:npm|pnpm)\s+(?:install|i|add)|yarn\s+(?:global\s+)?add|cargo\s+install|deno\s+(?:run|install)|gem\s+install)\b[^\n|;&]*?["'\s=@](?:(?:git\+|git\+ssh)?(?:https?|ssh|git)://|git\+|github:)[^\s"'`]+"#,
        message: "a package is installed from an address instead of a registry",
        judge: from_address,
    },
    Pattern {
        rule: &OBFUSCATED_CODE,
        words: &["base64", "xxd", "b64decode", "openssl enc"],
        regex: r#"\b(?:base64|openssl\s+(?:enc|base64)|xxd)\s[^\n|]*?(?:-d\b|-D\b|--decode\b|-di\b|-r\b)[^\n]*?\|&?\s*(?:(?:gunzip|zcat|gzip\s+-\w+|xz\s+-\w+|bunzip2|tr\s[^\n|]*|rev)\s*\|\s*)*(?:(?:sudo|env|exec|command)\s+(?:-\S+\s+)*)*(?:/(?:\w+/)*)?(?:(?:ba|z|da|k|fi)?sh(?:\s|$|[;&|)"'`])|(?:python[\d.]*|perl|ruby|node|php)(?:\s+-)?\s*(?:$|[;&|)"'`<]))"#,
        message: "what is decoded is piped into an interpreter",
        judge: unless_described,
    },
    Pattern {
        rule: &OBFUSCATED_CODE,
        words: &["base64", "xxd"],
        regex: r#"\b(?:eval|(?:ba|z|da|k)?sh\s+(?:-\S+\s+)*-\w*c|python[\d.]*\s+-c|(?:ba|z|da|k)?sh\s+<\(|source\s+<\()\s*["']?\s*(?:\$\(|`)?[^\n;]*\b(?:base64|openssl\s+base64|xxd)\s[^\n;)]*(?:-d\b|-D\b|--decode\b|-r\b)"#,
        message: "what is decoded is run by a shell",
        judge: unless_described,
    },
    Pattern {
        rule: &OBFUSCATED_CODE,
        words: &["exec", "eval", "compile"],
        regex: r#"\b(?:exec|eval|compile)\s*\(\s*(?:compile\s*\(\s*)?(?:(?:__import__\(\s*["']\w+["']\s*\)|zlib|lzma|bz2|gzip|codecs|marshal)\.(?:decompress|loads)\s*\(\s*)*(?:(?:__import__\(\s*["']\w+["']\s*\)\.|base64\.|binascii\.|codecs\.)?(?:[abs]?\w*b(?:64|32|85)decode|a85decode|unhexlify)|bytes\.fromhex|bytearray\.fromhex|codecs\.decode)\s*\("#,
        message: "what is decoded is run as Python",
        judge: unless_described,
    },
    Pattern {
        rule: &OBFUSCATED_CODE,
        words: &["marshal"],
        regex: r#"\b(?:exec|eval|FunctionType)\s*\(\s*(?:compile\s*\(\s*)?(?:__import__\(\s*["']marshal["']\s*\)|importlib\.import_module\(\s*["']marshal["']\s*\)|marshal)\.loads?\s*\("#,
        message: "compiled code in the text is run as Python",
        judge: unless_described,
    },
    Pattern {
        rule: &OBFUSCATED_CODE,
        words: &["marshal"],
        regex: r"\b(?P<one>[a-z_]\w*)\s*=\s*(?:\w+\.)*marshal\.loads?\s*\([^\n]*\n(?:[^\n]*\n){0,12}?[^\n]*\b(?:exec|eval|FunctionType)\s*\(\s*(?P<two>[a-z_]\w*)",
        message: "compiled code in the text is run as Python a few lines later",
        judge: same_name,
    },
    Pattern {
        rule: &OBFUSCATED_CODE,
        words: &["marshal as", "marshal import", "'marshal'", "\"marshal\"", "marshal.load"],
        regex: r#"\bfrom\s+marshal\s+import\s+(?:\(\s*)?(?:(?:\w+\s*,\s*){0,4}?(?P<loads>loads?)(?:\s+as\s+(?P<alias>\w+))?|(?P<all>\*))|\bmarshal\s+as\s+(?P<module>\w+)|\b(?P<variable>[a-z_]\w*)\s*=\s*(?:__import__|(?:\w+\.)?import_module)\s*\(\s*["']marshal["']|\b(?P<loader>[a-z_]\w*)\s*=\s*marshal\.loads?[ \t]*(?:$|[;#])"#,
        message: "compiled code in the text is run as Python",
        judge: marshalled,
    },
    Pattern {
        rule: &OBFUSCATED_CODE,
        words: &["exec", "eval", "function"],
        regex: r#"(?:^|[^.\w]|\b(?:window|globalThis|builtins|child_process)\.)(?P<at>(?:exec|eval|Function|execSync|setTimeout)\s*\(\s*(?:atob|Buffer\.from|unescape|String\.fromCharCode|decodeURIComponent\(\s*(?:escape\(\s*)?atob|(?:new\s+)?TextDecoder\(\)\.decode\(\s*Uint8Array|window\.atob|base64_decode|gzinflate|["'][^"'\n]{0,3}["']\.join\(\s*(?:chr\b|map\(\s*chr|\[?\s*chr\()))"#,
        message: "what is decoded is run",
        judge: unless_described,
    },
    Pattern {
        rule: &OBFUSCATED_CODE,
        words: &["\\x", "\\u00"],
        regex: r#"\b(?:exec|eval|Function|system|execSync|popen|printf|echo\s+-\w*e)\s*\(?\s*[bru]?["'`$]+(?:\\x[0-9a-f]{2}|\\u00[0-9a-f]{2}|\\[0-7]{3}){6,}[^\n]*"#,
        message: "code is written in escapes and run",
        judge: escaped,
    },
    Pattern {
        rule: &OBFUSCATED_CODE,
        words: &["powershell", "pwsh"],
        regex: r"\b(?:powershell|pwsh)(?:\.exe)?\b[^\n]*?\s[-/]e(?:nc?|c|ncodedcommand)?\s+[a-z0-9+/=]{24,}",
        message: "PowerShell is given an encoded command",
        judge: unless_described,
    },
    Pattern {
        rule: &OBFUSCATED_CODE,
        words: &["frombase64string"],
        regex: r"\b(?:(?:iex|invoke-expression)\b[^\n]*FromBase64String|FromBase64String[^\n]*\|\s*(?:iex|invoke-expression)\b)",
        message: "what is decoded is run by PowerShell",
        judge: unless_described,
    },
    Pattern {
        rule: &OBFUSCATED_CODE,
        words: &["b64decode", "fromhex", "atob", "base64"],
        regex: r"\b(?P<one>[a-z_]\w*)\s*=\s*[^\n]*(?:b64decode|b85decode|fromhex|atob|unhexlify)\s*\([^\n]*\n(?:[^\n]*\n){0,12}?[^\n]*\b(?:exec|eval|Function)\s*\(\s*(?:compile\(\s*)?(?P<two>[a-z_]\w*)",
        message: "what is decoded is run a few lines later",
        judge: same_name,
    },
    Pattern {
        rule: &OBFUSCATED_CODE,
        words: &["base64"],
        regex: r#"\b(?P<one>[a-z_]\w*)=["']?(?:\$\(|`)[^\n]*base64\s[^\n]*(?:-d\b|--decode\b)[^\n]*\n(?:[^\n]*\n){0,12}?[^\n]*\b(?:eval|(?:ba|z)?sh\s+-c)\s+["']?\$\{?(?P<two>\w+)"#,
        message: "what is decoded is run a few lines later",
        judge: same_name,
    },
    Pattern {
        rule: &PERSISTENCE,
        words: &["crontab", "/etc/cron", "schtasks"],
        regex: r"\|\s*(?:sudo\s+)?crontab\b|\bcrontab\s+(?:-u\s+\S+\s+)?(?:-(?:\s|$)|/\S+|<|[\w./-]+\.(?:txt|cron|tab))|(?:>|\btee\b|\bcp\b|\bmv\b|\binstall\b)[^\n]*/etc/cron(?:tab|\.\w+)|\bschtasks(?:\.exe)?\s+/create",
        message: "a command is made to run again and again by the system's scheduler",
        judge: in_code,
    },
    Pattern {
        rule: &PERSISTENCE,
        words: &[".bashrc", ".bash_profile", ".profile", ".zshrc", ".zprofile", ".zshenv", "config.fish"],
        regex: r#"(?:>>?|\btee\s+(?:-a|--append)?)\s*["']?(?:~|\$\{?HOME\}?|\$HOME|/home/\w+|/root)/\.(?:bashrc|bash_profile|profile|zshrc|zprofile|zshenv|config/fish/config\.fish)\b|expanduser\(\s*["']~/\.(?:bashrc|bash_profile|profile|zshrc|zshenv)["']\s*\)\s*,\s*["'][aw]"#,
        message: "something is added to a file that every new shell runs",
        judge: in_code,
    },
    Pattern {
        rule: &PERSISTENCE,
        words: &[
            "launchagents",
            "launchdaemons",
            "launchctl",
            "systemctl",
            "systemd",
            "autostart",
            "currentversion\\run",
        ],
        regex: r"(?:>|\btee\b|\bcp\b|\bmv\b|\bln\b|\binstall\b|\bwrite\w*\b|\bopen\()[^\n]*(?:/Library/Launch(?:Agents|Daemons)|/etc/systemd/system|\.config/systemd/user|\.config/autostart)/|\bsystemctl\s+(?:--\w+\s+)*enable\b|\blaunchctl\s+(?:load|bootstrap|submit)\b|\breg(?:\.exe)?\s+add\b[^\n]*CurrentVersion\\Run",
        message: "a program is made to start with the machine or the session",
        judge: in_code,
    },
    Pattern {
        rule: &PERSISTENCE,
        words: &[".git/hooks", "core.hookspath", "authorized_keys"],
        regex: r"(?:>|\btee\b|\bcp\b|\bmv\b|\bln\b|\binstall\b)[^\n]*\.git/hooks/\w|\bgit\s+config\s[^\n]*core\.hookspath|(?:>>?|\btee\b|\bcp\b)[^\n]*\.ssh/authorized_keys",
        message: "something is left behind that runs later, or lets another person in",
        judge: in_code,
    },
    Pattern {
        rule: &AUTORUN_FILE,
        words: &["install\"", "prepare\""],
        regex: r#""(?:preinstall|install|postinstall|prepare)"\s*:\s*"[^"\n]+""#,
        message: "a script that runs when the package is installed",
        judge: in_package,
    },
    Pattern {
        rule: &AUTORUN_FILE,
        words: &[
            "fsmonitor",
            "hookspath",
            "sshcommand",
            "pager",
            "editor",
            "askpass",
            "textconv",
            "smudge",
            "clean",
            "process",
            "= !",
            "=!",
        ],
        regex: r"^\s*(?P<at>(?:fsmonitor|hooksPath|sshCommand|pager|editor|askPass|gitProxy|textconv|smudge|clean|process)\s*=\s*[^\n]+|[\w-]+\s*=\s*!)",
        message: "git runs this command",
        judge: in_git_config,
    },
    Pattern {
        rule: &LOAD_COMMAND,
        words: &["!`", "```!"],
        regex: r"(?:^|[\s(>:|-])(?P<at>!`[^`\n]+`)|^\s*(?P<fence>```!)",
        message: "some agents run this command when they load the skill",
        judge: at_load,
    },
];

static PINNED: LazyRegex = LazyLock::new(|| regex(r"(?:.@|==)v?\d+\.\d+"));

fn unpinned(hit: &PatternHit<'_>) -> Option<&'static Rule> {
    (!is_match(&PINNED, hit.group("package"))).then_some(hit.rule)
}

static AT_COMMIT: LazyRegex = LazyLock::new(|| regex(r"[@#][0-9a-f]{40}\b"));
/// An option for a package index: indexes are registries, whatever their address is.
static AN_INDEX: LazyRegex = LazyLock::new(|| regex(r"(?:-url|-links|-f|-i|--registry|--index|--proxy)[ =]+[^\s]+$"));

fn from_address(hit: &PatternHit<'_>) -> Option<&'static Rule> {
    (!is_match(&AT_COMMIT, hit.text()) && !is_match(&AN_INDEX, hit.text())).then_some(hit.rule)
}

/// Judges escapes: `printf` often writes them, so they count only if a shell gets them.
fn escaped(hit: &PatternHit<'_>) -> Option<&'static Rule> {
    static PRINTS: LazyRegex = LazyLock::new(|| regex(r"^(?:printf|echo)"));
    static TO_SHELL: LazyRegex = LazyLock::new(|| regex(r"\|\s*(?:ba|z|da)?sh\b"));
    (!is_match(&PRINTS, hit.text()) || is_match(&TO_SHELL, hit.text())).then_some(hit.rule)
}

fn same_name(hit: &PatternHit<'_>) -> Option<&'static Rule> {
    (hit.group("one") == hit.group("two")).then_some(hit.rule)
}

/// Judges skill files and commands only: no others are loaded.
fn at_load(hit: &PatternHit<'_>) -> Option<&'static Rule> {
    let name = hit.path.file_name()?.to_str()?;
    let loaded = name.eq_ignore_ascii_case("SKILL.md")
        || (name.to_ascii_lowercase().ends_with(".md")
            && hit.path.components().any(|part| part.as_os_str() == "commands"));
    loaded.then_some(hit.rule)
}

fn in_package(hit: &PatternHit<'_>) -> Option<&'static Rule> {
    (hit.path.file_name()? == "package.json").then_some(hit.rule)
}

fn in_git_config(hit: &PatternHit<'_>) -> Option<&'static Rule> {
    let config = hit.path.ends_with(".git/config") || hit.path.file_name()? == ".gitconfig";
    config.then_some(hit.rule)
}
