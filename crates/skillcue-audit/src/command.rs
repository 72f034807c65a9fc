//! Commands that run packages, decode and run, persist, or run when a skill is loaded.

use super::Rule;
use super::holders::marshalled;
use super::patterns::{PatternHit, in_code, is_match, patterns, regexes, unless_described};
use super::rules::{AUTORUN_FILE, LOAD_COMMAND, OBFUSCATED_CODE, PERSISTENCE, REMOTE_PACKAGE};

patterns! {
    REMOTE_PACKAGE, unpinned, "a package is fetched at the moment it runs, in whatever version there is",
        ["npx", "bunx", "pnpx", "uvx", "dlx", "pipx run", "bun x"],
        r#"\b(?:(?:npx|bunx|bun\s+x|pnpx|pnpm\s+dlx|yarn\s+dlx)\s+(?:-\S+\s+)*?(?:-y|--yes)\s+|(?:uvx|pipx\s+run)\s+)(?:-[^\s"'`]+\s+(?:--from\s+)?)*["'`]?(?P<package>[@a-z][\w@/.:+=~^-]*)"#;
    REMOTE_PACKAGE, from_address, "a package is installed from an address instead of a registry",
        ["pip", "uv add", "npm", "yarn", "pnpm", "uvx", "cargo install", "deno run", "gem install"],
        r#"\b(?:pip[\d.]*\s+install|uv\s+(?:pip\s+install|add|tool\s+install)|uvx|(?:npm|pnpm)\s+(?:install|i|add)|yarn\s+(?:global\s+)?add|cargo\s+install|deno\s+(?:run|install)|gem\s+install)\b[^\n|;&]*?["'\s=@](?:(?:git\+|git\+ssh)?(?:https?|ssh|git)://|git\+|github:)[^\s"'`]+"#;
    OBFUSCATED_CODE, unless_described, "what is decoded is piped into an interpreter",
        ["base64", "xxd", "b64decode", "openssl enc"],
        r#"\b(?:base64|openssl\s+(?:enc|base64)|xxd)\s[^\n|]*?(?:-d\b|-D\b|--decode\b|-di\b|-r\b)[^\n]*?\|&?\s*(?:(?:gunzip|zcat|gzip\s+-\w+|xz\s+-\w+|bunzip2|tr\s[^\n|]*|rev)\s*\|\s*)*(?:(?:sudo|env|exec|command)\s+(?:-\S+\s+)*)*(?:/(?:\w+/)*)?(?:(?:ba|z|da|k|fi)?sh(?:\s|$|[;&|)"'`])|(?:python[\d.]*|perl|ruby|node|php)(?:\s+-)?\s*(?:$|[;&|)"'`<]))"#;
    OBFUSCATED_CODE, unless_described, "what is decoded is run by a shell",
        ["base64", "xxd"],
        r#"\b(?:eval|(?:ba|z|da|k)?sh\s+(?:-\S+\s+)*-\w*c|python[\d.]*\s+-c|(?:ba|z|da|k)?sh\s+<\(|source\s+<\()\s*["']?\s*(?:\$\(|`)?[^\n;]*\b(?:base64|openssl\s+base64|xxd)\s[^\n;)]*(?:-d\b|-D\b|--decode\b|-r\b)"#;
    OBFUSCATED_CODE, unless_described, "what is decoded is run as Python",
        ["exec", "eval", "compile"],
        r#"\b(?:exec|eval|compile)\s*\(\s*(?:compile\s*\(\s*)?(?:(?:__import__\(\s*["']\w+["']\s*\)|zlib|lzma|bz2|gzip|codecs|marshal)\.(?:decompress|loads)\s*\(\s*)*(?:(?:__import__\(\s*["']\w+["']\s*\)\.|base64\.|binascii\.|codecs\.)?(?:[abs]?\w*b(?:64|32|85)decode|a85decode|unhexlify)|bytes\.fromhex|bytearray\.fromhex|codecs\.decode)\s*\("#;
    OBFUSCATED_CODE, unless_described, "compiled code in the text is run as Python",
        ["marshal"],
        r#"\b(?:exec|eval|FunctionType)\s*\(\s*(?:compile\s*\(\s*)?(?:__import__\(\s*["']marshal["']\s*\)|importlib\.import_module\(\s*["']marshal["']\s*\)|marshal)\.loads?\s*\("#;
    OBFUSCATED_CODE, same_name, "compiled code in the text is run as Python a few lines later",
        ["marshal"],
        r"\b(?P<one>[a-z_]\w*)\s*=\s*(?:\w+\.)*marshal\.loads?\s*\([^\n]*\n(?:[^\n]*\n){0,12}?[^\n]*\b(?:exec|eval|FunctionType)\s*\(\s*(?P<two>[a-z_]\w*)";
    OBFUSCATED_CODE, marshalled, "compiled code in the text is run as Python",
        ["marshal as", "marshal import", "'marshal'", "\"marshal\"", "marshal.load"],
        r#"\bfrom\s+marshal\s+import\s+(?:\(\s*)?(?:(?:\w+\s*,\s*){0,4}?(?P<loads>loads?)(?:\s+as\s+(?P<alias>\w+))?|(?P<all>\*))|\bmarshal\s+as\s+(?P<module>\w+)|\b(?P<variable>[a-z_]\w*)\s*=\s*(?:__import__|(?:\w+\.)?import_module)\s*\(\s*["']marshal["']|\b(?P<loader>[a-z_]\w*)\s*=\s*marshal\.loads?[ \t]*(?:$|[;#])"#;
    OBFUSCATED_CODE, unless_described, "what is decoded is run",
        ["exec", "eval", "function"],
        r#"(?:^|[^.\w]|\b(?:window|globalThis|builtins|child_process)\.)(?P<at>(?:exec|eval|Function|execSync|setTimeout)\s*\(\s*(?:atob|Buffer\.from|unescape|String\.fromCharCode|decodeURIComponent\(\s*(?:escape\(\s*)?atob|(?:new\s+)?TextDecoder\(\)\.decode\(\s*Uint8Array|window\.atob|base64_decode|gzinflate|["'][^"'\n]{0,3}["']\.join\(\s*(?:chr\b|map\(\s*chr|\[?\s*chr\()))"#;
    OBFUSCATED_CODE, escaped, "code is written in escapes and run",
        ["\\x", "\\u00"],
        r#"\b(?:exec|eval|Function|system|execSync|popen|printf|echo\s+-\w*e)\s*\(?\s*[bru]?["'`$]+(?:\\x[0-9a-f]{2}|\\u00[0-9a-f]{2}|\\[0-7]{3}){6,}[^\n]*"#;
    OBFUSCATED_CODE, unless_described, "PowerShell is given an encoded command",
        ["powershell", "pwsh"],
        r"\b(?:powershell|pwsh)(?:\.exe)?\b[^\n]*?\s[-/]e(?:nc?|c|ncodedcommand)?\s+[a-z0-9+/=]{24,}";
    OBFUSCATED_CODE, unless_described, "what is decoded is run by PowerShell",
        ["frombase64string"],
        r"\b(?:(?:iex|invoke-expression)\b[^\n]*FromBase64String|FromBase64String[^\n]*\|\s*(?:iex|invoke-expression)\b)";
    OBFUSCATED_CODE, same_name, "what is decoded is run a few lines later",
        ["b64decode", "fromhex", "atob", "base64"],
        r"\b(?P<one>[a-z_]\w*)\s*=\s*[^\n]*(?:b64decode|b85decode|fromhex|atob|unhexlify)\s*\([^\n]*\n(?:[^\n]*\n){0,12}?[^\n]*\b(?:exec|eval|Function)\s*\(\s*(?:compile\(\s*)?(?P<two>[a-z_]\w*)";
    OBFUSCATED_CODE, same_name, "what is decoded is run a few lines later",
        ["base64"],
        r#"\b(?P<one>[a-z_]\w*)=["']?(?:\$\(|`)[^\n]*base64\s[^\n]*(?:-d\b|--decode\b)[^\n]*\n(?:[^\n]*\n){0,12}?[^\n]*\b(?:eval|(?:ba|z)?sh\s+-c)\s+["']?\$\{?(?P<two>\w+)"#;
    PERSISTENCE, in_code, "a command is made to run again and again by the system's scheduler",
        ["crontab", "/etc/cron", "schtasks"],
        r"\|\s*(?:sudo\s+)?crontab\b|\bcrontab\s+(?:-u\s+\S+\s+)?(?:-(?:\s|$)|/\S+|<|[\w./-]+\.(?:txt|cron|tab))|(?:>|\btee\b|\bcp\b|\bmv\b|\binstall\b)[^\n]*/etc/cron(?:tab|\.\w+)|\bschtasks(?:\.exe)?\s+/create";
    PERSISTENCE, in_code, "something is added to a file that every new shell runs",
        [".bashrc", ".bash_profile", ".profile", ".zshrc", ".zprofile", ".zshenv", "config.fish"],
        r#"(?:>>?|\btee\s+(?:-a|--append)?)\s*["']?(?:~|\$\{?HOME\}?|\$HOME|/home/\w+|/root)/\.(?:bashrc|bash_profile|profile|zshrc|zprofile|zshenv|config/fish/config\.fish)\b|expanduser\(\s*["']~/\.(?:bashrc|bash_profile|profile|zshrc|zshenv)["']\s*\)\s*,\s*["'][aw]"#;
    PERSISTENCE, in_code, "a program is made to start with the machine or the session",
        ["launchagents", "launchdaemons", "launchctl", "systemctl", "systemd", "autostart", "currentversion\\run"],
        r"(?:>|\btee\b|\bcp\b|\bmv\b|\bln\b|\binstall\b|\bwrite\w*\b|\bopen\()[^\n]*(?:/Library/Launch(?:Agents|Daemons)|/etc/systemd/system|\.config/systemd/user|\.config/autostart)/|\bsystemctl\s+(?:--\w+\s+)*enable\b|\blaunchctl\s+(?:load|bootstrap|submit)\b|\breg(?:\.exe)?\s+add\b[^\n]*CurrentVersion\\Run";
    PERSISTENCE, in_code, "something is left behind that runs later, or lets another person in",
        [".git/hooks", "core.hookspath", "authorized_keys"],
        r"(?:>|\btee\b|\bcp\b|\bmv\b|\bln\b|\binstall\b)[^\n]*\.git/hooks/\w|\bgit\s+config\s[^\n]*core\.hookspath|(?:>>?|\btee\b|\bcp\b)[^\n]*\.ssh/authorized_keys";
    AUTORUN_FILE, in_package, "a script that runs when the package is installed",
        ["install\"", "prepare\""],
        r#""(?:preinstall|install|postinstall|prepare)"\s*:\s*"[^"\n]+""#;
    AUTORUN_FILE, in_git_config, "git runs this command",
        ["fsmonitor", "hookspath", "sshcommand", "pager", "editor", "askpass", "textconv", "smudge", "clean",
         "process", "= !", "=!"],
        r"^\s*(?P<at>(?:fsmonitor|hooksPath|sshCommand|pager|editor|askPass|gitProxy|textconv|smudge|clean|process)\s*=\s*[^\n]+|[\w-]+\s*=\s*!)";
    LOAD_COMMAND, at_load, "some agents run this command when they load the skill",
        ["!`", "```!"],
        r"(?:^|[\s(>:|-])(?P<at>!`[^`\n]+`)|^\s*(?P<fence>```!)";
}

regexes!(PINNED = r"(?:.@|==)v?\d+\.\d+");

fn unpinned(hit: &PatternHit<'_>) -> Option<&'static Rule> {
    (!is_match(&PINNED, hit.group("package"))).then_some(hit.rule)
}

regexes! {
    AT_COMMIT = r"[@#][0-9a-f]{40}\b";
    /// An option for a package index: indexes are registries, whatever their address is.
    AN_INDEX = r"(?:-url|-links|-f|-i|--registry|--index|--proxy)[ =]+[^\s]+$";
}

fn from_address(hit: &PatternHit<'_>) -> Option<&'static Rule> {
    (!is_match(&AT_COMMIT, hit.text()) && !is_match(&AN_INDEX, hit.text())).then_some(hit.rule)
}

/// Judges escapes: `printf` often writes them, so they count only if a shell gets them.
fn escaped(hit: &PatternHit<'_>) -> Option<&'static Rule> {
    regexes! {
        PRINTS = r"^(?:printf|echo)";
        TO_SHELL = r"\|\s*(?:ba|z|da)?sh\b";
    }
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
