//! Commands that read credentials, give shells away, or destroy data.

use super::Rule;
use super::holders::{imported, kept, kept_by_shell};
use super::kind::ContentKind;
use super::patterns::{PatternHit, is_described, is_match, is_open, patterns, regexes, unless_described};
use super::rules::{
    CREDENTIAL_ACCESS, CREDENTIAL_THEFT, DANGEROUS_EXAMPLE, DESTRUCTIVE_COMMAND, DESTRUCTIVE_MENTION, REVERSE_SHELL,
};

patterns! {
    CREDENTIAL_ACCESS, credentials, "credentials of the user are kept here",
        [".ssh", ".aws/", ".netrc", ".pypirc", ".docker/", ".kube/", ".gnupg", ".git-credentials", "gh/hosts",
         "gcloud/", "keychain", "find-generic-password", "find-internet-password", "login data", "logins.json",
         "/etc/shadow", "wallet.dat", "_history", "cookies.sqlite"],
        r#"(?:\.ssh/(?:id_(?:rsa|dsa|ecdsa|ed25519)\b|\*|["'\s]*$)|(?:~|HOME\}?|expanduser\(["']~|homedir\(\)[^\n]{0,8}|Path\.home\(\)[^\n]{0,8}|/root|/home/\w+)/?["']?\.ssh\b|\.aws/credentials\b|\.netrc\b|\.pypirc\b|\.docker/config\.json|\.kube/config\b|\.gnupg/|\.git-credentials\b|\bgh/hosts\.yml|gcloud/(?:application_default_)?credentials|Library/Keychains|\bsecurity\s+(?:find-(?:generic|internet)-password|dump-keychain)|(?:Chrome|Chromium|Brave|Edge|Default|Profile)[^\n]{0,40}/(?:Login Data|Cookies)\b|\blogins\.json\b|\bcookies\.sqlite\b|/etc/shadow\b|\bwallet\.dat\b|\.(?:bash|zsh)_history\b)"#;
    CREDENTIAL_THEFT, environment, "the environment, which holds tokens, is sent over the network",
        [".env", "printenv", "$(env", "environ", "process.env"],
        r#"\b(?:curl|wget|nc|ncat|http|https|invoke-webrequest|invoke-restmethod|iwr|irm)\s[^\n]*(?:@|<\s*|\bcat\s+)["']?(?:[\w./~$-]*/)?\.env\b|\bcat\s+["']?(?:[\w./~$-]*/)?\.env\b[^\n]*\|[^\n]*\b(?:curl|wget|nc|ncat)\b|\b(?:curl|wget|nc)\s[^\n]*\$\((?:printenv|env)\b|(?:requests|httpx|session)\.(?:post|put)\([^\n]*(?:dict\(os\.environ\)|json\s*=\s*os\.environ|data\s*=\s*os\.environ\b[^\[.])|JSON\.stringify\(\s*process\.env\s*\)"#;
    CREDENTIAL_THEFT, environment, "the environment, which holds tokens, is sent over the network",
        ["env |", "env|", "set |", "export -p", "declare -x", "/environ", "env:", "env.to_h"],
        r"(?:^|[\s;&|(])(?P<at>(?:printenv|env|set|export\s+-p|declare\s+-x|cat\s+/proc/(?:self|\$\$|\d+)/environ)\s*\|[^\n]*\b(?:curl|nc|ncat|wget|socat)\s|(?:get-childitem|gci|dir|ls)\s+env:[^\n]*\b(?:invoke-restmethod|invoke-webrequest|irm|iwr|curl)\b|(?:curl|wget|nc|ncat)\s[^\n]*/proc/(?:self|\$\$|\d+)/environ|Net::HTTP\.post\w*[^\n]*\bENV\.to_h)";
    CREDENTIAL_THEFT, unless_described, "the environment, which holds tokens, is sent over the network",
        ["os.environ", "process.env"],
        r"\b(?:requests|httpx|session|aiohttp|urllib\.request|client|urllib3|http|axios)\.(?:post|put|patch|request|urlopen|Request)\s*\([^)]{0,300}?(?:\*\*\s*os\.environ|dict\(\s*os\.environ|\bos\.environ\s*[,)}]|\bos\.environ\.(?:copy|items)\(|\.\.\.process\.env\b|\bprocess\.env\s*[,)}])|\b(?:urlopen|fetch)\s*\([^)]{0,300}?(?:dict\(\s*os\.environ|\bos\.environ\s*[,)}]|JSON\.stringify\(\s*(?:\{\s*\.\.\.)?process\.env\s*[,)}]|\bbody\s*:\s*process\.env\s*[,)}])";
    CREDENTIAL_THEFT, kept, "the environment, which holds tokens, is kept and then sent over the network",
        ["os.environ", "process.env", "env >", "env>"],
        r"\b(?P<one>[a-z_]\w*)\s*=\s*(?:json\.dumps\(\s*|urlencode\(\s*|str\(\s*)*(?:(?:dict|list|tuple|sorted)\(\s*os\.environ|[{\[(][^\n=]{0,80}\bin\s+os\.environ(?:\.items\(\))?|os\.environ\.copy\(\)|os\.environ[ \t]*(?:$|[;#)])|\{\s*\*\*os\.environ|JSON\.stringify\(\s*(?:\{\s*\.\.\.)?process\.env\s*[,)}]|process\.env[ \t]*(?:$|;)|\{\s*\.\.\.process\.env\s*\})|\b(?:printenv|env)\s*>\s*(?P<file>[^\s;&|<>]+)";
    CREDENTIAL_THEFT, imported, "the environment, which holds tokens, is imported and then sent over the network",
        ["environ"],
        r"\bfrom\s+os\s+import\s+(?:\(\s*)?(?:\w+(?:\s+as\s+\w+)?\s*,\s*){0,8}?environ\b(?:\s+as\s+(?P<alias>\w+))?";
    CREDENTIAL_THEFT, kept_by_shell, "the environment, which holds tokens, is kept and then sent over the network",
        ["printenv", "(env", "`env", "(set", "`set", "export -p", "declare -x", "/environ"],
        r#"\b(?P<one>[a-z_]\w*)=["']?(?:\$\(|`)\s*(?:printenv|env|set|export\s+-p|declare\s+-x|cat\s+/proc/(?:self|\$\$|\d+)/environ)(?:\s+-\w+)*\s*(?P<rest>\|[^\n]{0,40}|[)`])"#;
    REVERSE_SHELL, unless_described, "a shell is connected to an address on the network",
        ["/dev/tcp/", "/dev/udp/"],
        r"\b(?:ba|z|k|da)?sh\s+-i\b[^\n]*/dev/(?:tcp|udp)/|/dev/(?:tcp|udp)/[^\n]*(?:0>&1|0<&\d|<&\d+[^\n]*\b(?:ba|z)?sh\b|\|\s*(?:ba|z)?sh\b)|\b(?:ba|z)?sh\b[^\n]{0,20}<\s*/dev/tcp/";
    REVERSE_SHELL, unless_described, "a shell is connected to an address on the network",
        ["nc ", "ncat", "netcat", "socat"],
        r#"\b(?:nc|ncat|netcat)(?:\.exe|\.traditional)?\s[^\n|;]*?(?:-[a-z]*[ec]\b|--exec|--sh-exec)\s+["']?(?:/(?:\w+/)*)?(?:(?:ba|z|da)?sh|cmd(?:\.exe)?|powershell)\b|\b(?:ba|z|da)?sh\s+-i\b[^\n]*\|\s*(?:nc|ncat|netcat)\b|\bsocat\s[^\n]*exec:["']?(?:/(?:\w+/)*)?(?:ba|z|da)?sh\b"#;
    REVERSE_SHELL, unless_described, "a shell is connected to a socket",
        ["dup2"],
        r"\bsocket\b[^\n]*(?:\n[^\n]*){0,15}?dup2\s*\([^\n]*(?:\n[^\n]*){0,15}?(?:/bin/(?:ba|z|da)?sh|pty\.spawn|\b(?:ba)?sh\b)";
    REVERSE_SHELL, unless_described, "a shell is connected to a socket",
        ["net.connect", "net.socket", "createconnection"],
        r#"\bnet\.(?:connect|Socket|createConnection)\s*\([^\n]*(?:\n[^\n]*){0,15}?(?:spawn|exec\w*)\(\s*["'](?:/bin/)?(?:ba|z)?sh["']|\bspawn\(\s*["'](?:/bin/)?(?:(?:ba|z)?sh|cmd(?:\.exe)?)["'][^\n]*(?:\n[^\n]*){0,15}?\bnet\.(?:connect|Socket|createConnection)\s*\("#;
    REVERSE_SHELL, unless_described, "a shell is connected to a socket",
        ["tcpclient", "fsockopen", "sockaddr_in", "tcpsocket"],
        r"\bTCPClient\b[^\n]*(?:\n[^\n]*){0,15}?\b(?:iex|Invoke-Expression)\b|\bfsockopen\s*\([^\n]*(?:\n[^\n]*){0,5}?\b(?:exec|proc_open|shell_exec|system|popen)\s*\(|\bsockaddr_in\b[^\n]*\bexec\b[^\n]*\bsh\b|\bTCPSocket\.(?:new|open)\b[^\n]*(?:\n[^\n]*){0,5}?\b(?:exec|IO\.popen|spawn)\b";
    DESTRUCTIVE_COMMAND, run, "everything below the root, a system directory or the home directory is deleted",
        ["rm "],
        r#"\brm\s+(?:-\S+\s+)*(?:-[a-z]*r[a-z]*|--recursive)\s+(?:-\S+\s+)*(?:--\s+)?["']?(?:/\*?|~/?\*?|\$\{?HOME\}?/?\*?|/(?:etc|usr|bin|lib|lib64|home|var|boot|root|Users|System|opt|sbin)/?\*?)["']?(?:$|[\s;&|)`"'#])"#;
    DESTRUCTIVE_COMMAND, run_by_code, "everything below the root or the home directory is deleted",
        ["rm\"", "rm'", "rmtree", "rmsync", "rimraf"],
        r#"["']rm["']\s*,\s*["']-\w*r\w*["']\s*,\s*["'](?:/|~|/\*|~/)["']|\b(?:rmtree|rmSync|rimraf(?:\.sync)?|remove_dir_all|rm_rf)\s*\(\s*(?:["'](?:/|~/?)["']|(?:os\.path\.)?expanduser\(\s*["']~/?["']\s*\)|Path\.home\(\)|os\.homedir\(\)|homedir\(\)|process\.env\.HOME)\s*[,)]"#;
    DESTRUCTIVE_COMMAND, run, "a disk is overwritten",
        ["/dev/", "mkfs"],
        r"\bdd\s[^\n]*\bof=/dev/(?:r?disk\d|sd[a-z]|hd[a-z]|vd[a-z]|xvd[a-z]|nvme\d|mmcblk\d)|\bmkfs(?:\.\w+)?\s+(?:-\S+\s+)*/dev/\w+|\b(?:wipefs|shred)\s[^\n]*/dev/(?:sd|nvme|hd|vd|disk)|\b(?:cat|echo|yes|printf)\b[^\n]*>\s*/dev/(?:sd[a-z]|nvme\d|hd[a-z]|vd[a-z]|disk\d)";
    DESTRUCTIVE_COMMAND, fork_bomb, "a function starts itself twice without end",
        ["(){", "() {"],
        r"(?P<at>[:\w]+)\s*\(\)\s*\{\s*:?\w*\s*\|\s*:?\w*\s*&\s*\}\s*;\s*:?\w*";
    DESTRUCTIVE_COMMAND, run, "files of the whole system or of the home directory are changed or deleted",
        ["chmod", "chown", "-delete", "remove-item", "format ", "del "],
        r"\bch(?:mod|own)\s+(?:-\S+\s+)*(?:-[a-z]*R[a-z]*)\s+(?:-\S+\s+)*[\w:+=,-]+\s+(?:/|/\*|~|\$HOME)(?:$|[\s;&|)`])|\bchmod\s+777\s+-R\s+/(?:$|[\s;&|)`])|\bfind\s+(?:/|~/?|\$HOME/?)\s[^\n]*-delete\b|\bRemove-Item\b[^\n]*\s(?:C:\\|\$HOME|\$env:USERPROFILE|~)\\?\*?(?:\s|$)|\bformat\s+c:(?:\s|$)|\bdel\s+(?:/\w\s+)+C:\\";
}

regexes! {
    NETWORK =
        r"\b(?:curl|wget|nc|ncat|netcat|socat|scp|rsync|sftp|invoke-webrequest|invoke-restmethod|iwr|irm|nslookup|dig)\s|\brequests\.(?:post|put|get)|\burlopen|\bhttpx?\.(?:client|post|request)|\baiohttp|\baxios|\bfetch\s*\(|\bXMLHttpRequest|\.sendall?\(|\bUploadString|\bWebClient";
    /// Commands and calls that send something, for scripts as a whole.
    pub(super) SENDS =
        r#"\bcurl\s[^\n]*(?:\s-d\b|--data|\s-F\b|--form|\s-T\b|--upload-file|-X\s*POST|-X\s*PUT)|\bwget\s[^\n]*--post-|\b(?:requests|httpx|session|aiohttp|axios)\.(?:post|put)\b|\burlopen\([^\n]*,\s*(?:data\s*=|\w+\s*\))|\bmethod\s*[:=]\s*["']P(?:OS|U)T["']|\.sendall\(|\bUploadString\b|\bnc\s+(?:-\S+\s+)*[\w.]+\s+\d+"#;
    STRONG =
        r"\.ssh|\.aws|git-credentials|keychain|find-|dump-|gnupg|Login Data|Cookies|logins\.json|shadow|wallet|application_default";
    /// Options by which a network program uses a key, and does not send it.
    USES =
        r#"(?:\s-i\s*["']?|--netrc-file[ =]|IdentityFile[ =]|ssh-keygen[^\n]*|ssh-add[^\n]*|--key[ =]|-n\s)["']?[\w.$~{}/-]*$"#;
    ORDERS = concat!(
        r"\b(?:send|post|upload|exfiltrate|transmit|forward)\b[^\n]*\b(?:to|https?://)\b",
        r"|\b(?:include|paste|add|put|append|attach|insert|embed|quote|repeat|show|print|write|copy)\s+(?:it|them|this|that|(?:its|the|their)\s+\w+)\s+(?:\w+\s+){0,3}?",
        r"(?:in|into|to|with|at)\s+(?:\w+\s+){0,3}?(?:reply|answer|response|messages?|output|summary|commit|comment|issue|prompt|request|email|chat|pull)\b",
    );
}

/// Judges files with credentials: naming one is of low severity, sending it of high. Scripts are judged as a whole, at
/// their end.
fn credentials(hit: &PatternHit<'_>) -> Option<&'static Rule> {
    regexes!(PUBLIC = r"\A/?[\w-]*\.pub\b");
    if is_match(&PUBLIC, hit.after()) {
        return None;
    }
    let line = [hit.line_before(), hit.line_after()].concat();
    if is_match(&USES, hit.line_before()) {
        return Some(&CREDENTIAL_ACCESS);
    }
    let sent = if hit.is_code() || line.contains(&b'`') { is_match(&NETWORK, &line) } else { false };
    let ordered = !hit.is_code() && is_match(&STRONG, hit.text()) && is_match(&ORDERS, &line) && !has_warning(&line);
    Some(if sent || ordered { &CREDENTIAL_THEFT } else { &CREDENTIAL_ACCESS })
}

/// Returns whether a text names credentials that a script steals if it also sends something.
pub(super) fn is_strong(text: &[u8]) -> bool {
    is_match(&STRONG, text)
}

fn environment(hit: &PatternHit<'_>) -> Option<&'static Rule> {
    let line = [hit.line_before(), hit.line_after()].concat();
    // `JSON.stringify(process.env)` may as well go to a file.
    let needs_network = hit.text().starts_with(b"JSON");
    (!needs_network || is_match(&NETWORK, &line)).then_some(if is_described(hit) {
        &DANGEROUS_EXAMPLE
    } else {
        hit.rule
    })
}

regexes! {
    WARNS =
        r"\b(?:never|not|don.{0,3}t|avoid|block\w*|prevent\w*|refuse\w*|deny|denied|reject\w*|dangerous|destructive|bad|wrong|unsafe|harmful|malicious|forbidden|catastroph\w*|disaster\w*|attack\w*|exploit\w*|vulnerab\w*|payload\w*|inject\w*|example)\b|\xe2\x9d\x8c|\xe2\x9b\x94|\xf0\x9f\x9a\xab|\xe2\x9a\xa0";
}

/// Returns whether the text warns of what it names.
pub(super) fn has_warning(text: &[u8]) -> bool {
    is_match(&WARNS, text)
}

regexes! {
    IN_COMMAND =
        r"(?:^[\s$>%]*|(?:&&|\|\||;|\||\(|\{|\bthen|\bdo|\belse|\bexec|\bRUN|\brun:|\bcommand:|\bxargs|=>)\s*)(?:sudo\s+(?:-\S+\s+)*|env\s+|command\s+)*$";
    IN_CALL =
        r#"\b(?:system|popen|run|call|check_\w+|exec\w*|spawn\w*|shell_exec|Popen|sh|bash)(?:\s*\(|\s+-c)\s*[\[fr]*["'`]\s*(?:sudo\s+)?$"#;
    TO_SHELL = r"\b(?:sh|bash|zsh)\s+-c\b|\b(?:system|popen|exec\w*|run|spawn\w*)\s*\(";
    ORDERED = r"\b(?:run|execute|call|type|enter)(?:\s+(?:this|the command|the following))?\s*:?\s*`?$";
}

/// Judges whether a command is run, rather than mentioned.
#[expect(clippy::unnecessary_wraps, reason = "a judge may return none")]
fn run(hit: &PatternHit<'_>) -> Option<&'static Rule> {
    let (before, line) = (hit.line_before(), hit.line_after());
    let is_run = match hit.kind {
        ContentKind::Script | ContentKind::Data => is_match(&IN_COMMAND, before) || is_match(&IN_CALL, before),
        _ if hit.fenced => {
            // Inside quotes it is input of another program, unless a shell gets it.
            let command = is_match(&IN_COMMAND, before)
                && (!is_open(before, b'\'') && !is_open(before, b'"') || is_match(&TO_SHELL, before));
            (command || is_match(&IN_CALL, before)) && !has_warning(line) && !has_warning(last_lines(hit))
        }
        _ => is_match(&ORDERED, before) && !has_warning(before) && !has_warning(line),
    };
    Some(if is_run { hit.rule } else { &DESTRUCTIVE_MENTION })
}

/// Returns the line of the match up to it, and the line before.
fn last_lines<'h>(hit: &PatternHit<'h>) -> &'h [u8] {
    let before = &hit.window[hit.start.saturating_sub(400)..hit.start];
    let mut ends = before.iter().enumerate().rev().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1);
    &before[ends.nth(1).unwrap_or(0)..]
}

#[expect(clippy::unnecessary_wraps, reason = "a judge may return none")]
fn run_by_code(hit: &PatternHit<'_>) -> Option<&'static Rule> {
    Some(if hit.is_code() && !has_warning(last_lines(hit)) { hit.rule } else { &DESTRUCTIVE_MENTION })
}

/// Judges a function that calls itself twice: its name is there at least four times.
fn fork_bomb(hit: &PatternHit<'_>) -> Option<&'static Rule> {
    let name = hit.group("at");
    let names = hit.text().split(|byte| !byte.is_ascii_alphanumeric() && *byte != b':' && *byte != b'_');
    if names.filter(|part| *part == name).count() < 4 {
        return None;
    }
    run(hit)
}
