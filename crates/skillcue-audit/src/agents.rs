//! Attacks on agents: protection that is switched off, settings that are changed, instructions and packages from other
//! servers, images that carry data out, macros.

use std::sync::LazyLock;

use super::Rule;
use super::kind::ContentKind;
use super::names::has_macros;
use super::patterns::{LazyRegex, PatternHit, is_described, is_match, is_open, patterns, regex, regexes};
use super::rules::{
    AGENT_SETTINGS, AGENT_TAKEOVER, COMMENT_INJECTION, DANGEROUS_EXAMPLE, FETCH_AND_RUN, FOREIGN_INDEX, IMAGE_LEAK,
    LINK_LEAK, OFFICE_MACROS, PERMISSION_BYPASS, REMOTE_INSTRUCTIONS,
};
use super::unsafe_commands::has_warning;

/// Members and streams of office documents that hold macros. Of names in UTF-16, the NULs are line ends in a binary
/// file.
const MACROS: &str = r"vbaProject\.bin|_\nV\nB\nA\n_\nP\nR\nO\nJ\nE\nC\nT|xl/macrosheets/";

/// Members of `OpenDocument` files that are macros: modules of Basic, and scripts of other languages. The lists of
/// libraries and dialogs, `script-lb.xml` and its kin, are there without any.
const OPEN_MACROS: &str = r"Basic/[^/\x00-\x1f]{1,60}/(?P<module>[\w %-]{1,60})\.xml|Scripts/(?:python|beanshell|javascript|java)/[^/\x00-\x1f]";

patterns! {
    PERMISSION_BYPASS, bypass, "an agent is started that runs everything without a question",
        ["--dangerously-", "--allow-dangerously-", "--yolo", "yolo", "--allow-all-", "--trust-all-tools",
         "bypasspermissions", "dangerouslyskippermissions", "danger-full-access", "approval_policy",
         "--ask-for-approval", "--yes-always", "skipdangerousmode", "--full-auto", "codex", "cursor-agent", "gemini",
         "copilot", "goose_mode"],
        r#"(?P<at>--(?:allow-)?dangerously-(?:(?:skip|bypass)-[\w-]+|allow-all\b)|--yolo\b|--approval-mode["',= ]+yolo\b|--allow-all-(?:tools|paths|urls)\b|--trust-all-tools\b|--permission-mode["',= ]+bypassPermissions\b|\b(?:defaultMode|permission_?mode)["']?\]?\s*[:=]\s*["']bypassPermissions\b|\bdangerouslySkipPermissions\b|(?:--sandbox|[\s"']-s)["',= ]+danger-full-access\b|\bsandbox_mode\s*=\s*["'\\]{0,2}danger-full-access\b|\bapproval_policy\s*=\s*["'\\]{0,2}never\b|\bcodex\b[^\n]{0,120}?[\s"'](?:--full-auto|-a["',= ]+never)\b|\bcursor-agent\b[^\n]{0,120}?[\s"'](?:-f|--force)\b|\bgemini\b[^\n]{0,120}?[\s"']-y\b|\bcopilot\b[^\n]{0,120}?[\s"']--allow-all(?:[\s"']|$)|\bGOOSE_MODE=["']?auto\b|--ask-for-approval["',= ]+never\b|\baider\b[^\n]{0,80}--yes-always\b|\bskipDangerousModePermissionPrompt\b)"#;
    AGENT_SETTINGS, settings, "an agent's settings or standing instructions are changed",
        ["settings.json", "settings.local.json", ".claude.json", "claude.md", "agents.md", ".codex/", ".cursor/",
         "mcp.json", "claude_desktop_config", ".gemini/", "opencode.json", ".copilot/", "mcp_config.json",
         ".qwen/settings", "goose/config"],
        r#"(?P<home>(?:~|\$\{?HOME\}?|%USERPROFILE%|/home/\w+|/root|(?:expanduser\(|path\.join\(|Path\.home\(\)|homedir\(\))[^\n]{0,24}?)[/\\"', ]{0,4})?(?P<at>\.claude["', /]{1,6}settings(?:\.local)?\.json|\.claude\.json\b|(?:\.claude/)?CLAUDE\.md\b|\.codex["', /]{1,6}(?:config\.toml|hooks\.json|AGENTS\.md)|AGENTS\.md\b|\.cursor["', /]{1,6}(?:mcp|hooks|cli-config)\.json|\.vscode/mcp\.json|(?:^|[\s"'`/(=>])\.mcp\.json\b|claude_desktop_config\.json|\.gemini["', /]{1,6}(?:settings\.json|GEMINI\.md)|opencode/?\w*/opencode\.json|\.copilot/(?:mcp-)?config\.json|windsurf/mcp_config\.json|\.qwen/settings\.json|goose/config\.yaml)"#;
    AGENT_SETTINGS, settings_there, "an agent's settings or standing instructions are changed",
        [".claude", ".codex", ".cursor", ".gemini", ".copilot", ".qwen"],
        r#"\b(?:cd|pushd|chdir)\b[^\n;&]{0,60}?[\s/"'(]\.(?:claude|codex|cursor|gemini|copilot|qwen)/?["')]*\s*(?:&&|\|\||[;\n])"#;
    AGENT_SETTINGS, settings_below, "an agent's settings or standing instructions are changed",
        [".claude", ".codex", ".cursor", ".gemini", ".copilot", ".qwen"],
        r#"\b(?P<one>[a-z_]\w*)\s*=\s*[^\n;=]{0,60}?[\s/"'=]\.(?:claude|codex|cursor|gemini|copilot|qwen)/?["')]*\s*(?:&&|[;\n])"#;
    REMOTE_INSTRUCTIONS, instructions, "the model is told to fetch instructions and to follow them",
        ["`curl", "`wget", "`http", "`xh ", "`lynx", "`gh "],
        r"`(?:curl|wget|https?|xh|lynx|gh\s+(?:api|gist|issue|pr))\s[^`\n]{1,300}`[^\n]{0,100}?\n?[^\n]{0,60}?\b(?:(?:follow|obey|execute|carry\s+out|act\s+on|comply\s+with|adhere\s+to)\b(?:\s+it\b|[^\n]{0,40}?\b(?:its|output|response|reply|results?|answer|printed|prints|returned|returns|fetched)\b)|(?:treat|take|use|regard|consider|interpret|accept)\b[^\n]{0,50}?\bas\s+(?:\w+\s+){0,3}?(?:instructions?|orders|commands|prompt|directions)\b|do\s+(?:what|whatever|everything|exactly|as)\b[^\n]{0,40}?\b(?:says?|prints?|tells?|output|returns?)\b)";
    REMOTE_INSTRUCTIONS, fetched_instructions, "the model is told to fetch instructions and to follow them",
        ["://"],
        r"https?://[^\s)>]+[^\n]{0,100}?\n?[^\n]{0,60}?\b(?:(?:follow|obey|execute|carry\s+out|do\s+(?:what|whatever|everything|exactly)|act\s+on|comply\s+with|adhere\s+to)\b[^\n]{0,50}?\b(?:instructions?|it|steps|says?|commands?|rules|guidelines|them|directions|prompt|there|what|tells?)\b|(?:treat|take|use|regard|interpret)\b[^\n]{0,50}?\bas\s+(?:\w+\s+){0,3}?(?:instructions?|orders|commands|directions)\b|(?:contains?|has|holds?|gives?|are|is|with)\s+(?:your\s+(?:\w+\s+)?|(?:the\s+)?(?:real|actual|true)\s+)(?:instructions|orders|prompt|directions)\b)";
    REMOTE_INSTRUCTIONS, instructions, "the model is told to fetch instructions and to follow them",
        ["follow", "obey", "comply with", "carry out", "execute"],
        r"\b(?:follow|obey|execute|carry\s+out|comply\s+with)\s+(?:\w+\s+){0,4}?(?:instructions?|steps|commands?|rules|directions|prompt|orders)\s+(?:\w+\s+){0,3}?(?:at|from|in|on|under)\s+[<`]?https?://";
    IMAGE_LEAK, image, "the address of an image takes what the model knows to a server",
        ["](http", "](<http", "src=\"http", "src='http", "src=http"],
        r#"!\[[^\]\n]*\]\(\s*<?(?P<markdown>https?://[^)\n]*)\)|<img\s[^>\n]*?src\s*=\s*["']?(?P<html>https?://[^"'>\n]*)"#;
    LINK_LEAK, link, "an address takes what the model or the user's environment knows to a server",
        ["://"],
        r#"https?://[^\s/"'`<>]{1,120}/[^\s"'`]{0,200}?(?:[\[{<$]|%7B|=(?-i:[A-Z]{2}))"#;
    FOREIGN_INDEX, index, "packages are installed from another index than the language's own",
        ["index-url", "--default-index", "--find-links", "registry http", "registry=", "registry =",
         "registry \"http", "index_url", "uv_index", "uv_default_index", " -i http", " -i \"http"],
        r#"(?P<how>--(?:extra-)?index-url|--default-index|--find-links|\bpip[\d.]*\s+install\b[^\n]{0,200}?\s-i|--registry|\b(?:PIP|UV)_(?:DEFAULT_|EXTRA_)?INDEX(?:_URL)?|\bNPM_CONFIG_REGISTRY|\b(?:global|install)\.(?:extra-)?index-url|\bconfig\s+set\s+(?:@[\w-]+:)?registry|^\s*(?:@[\w-]+:)?registry|^\s*(?:extra-)?index-url)(?:\s*=\s*|\s+)["']?(?P<scheme>https?)://(?:[^\s/"'@]*@)?(?P<host>\[[0-9a-f:]+\]|[\w.-]+)"#;
    OFFICE_MACROS, macros, "an office document with macros",
        ["vbaproject.bin", "_\nv\nb\na\n_\np\nr\no\nj", "xl/macrosheets/"],
        MACROS;
    OFFICE_MACROS, open_macros, "an office document with macros",
        ["basic/", "scripts/"],
        OPEN_MACROS;
}

/// Returns whether a match is in a comment that is not shown as an example of one.
fn is_unseen(hit: &PatternHit<'_>) -> bool {
    hit.comment && !hit.fenced && !is_open(hit.line_before(), b'`')
}

#[expect(clippy::unnecessary_wraps, reason = "a judge may return none")]
fn bypass(hit: &PatternHit<'_>) -> Option<&'static Rule> {
    Some(match is_unseen(hit) {
        true => &COMMENT_INJECTION,
        false if !hit.is_code() && (is_described(hit) || has_warning(hit.line_before())) => &DANGEROUS_EXAMPLE,
        false => hit.rule,
    })
}

/// Names of files in an agent's directory that hold its settings.
const FILES: &str = r"(?:settings(?:\.local)?\.json|config\.(?:toml|json)|hooks\.json|mcp(?:-config)?\.json|cli-config\.json|(?:CLAUDE|AGENTS|GEMINI)\.md)\b";

/// The text before the name of a file that a command writes to.
const WRITES_TO: &str = concat!(
    r"(?:>>?\s*|\btee\s+(?:-a\s+|--append\s+)?|\b(?:cp|mv|ln|install)\s[^\n|;&]{0,120}\s|\bsed\s+-i[^\n]{0,120}\s",
    r"|\b(?:writeFile|appendFile)(?:Sync)?\s*\(\s*)",
);

/// Judges whether a settings file is written while an agent's directory is the working directory.
fn settings_there(hit: &PatternHit<'_>) -> Option<&'static Rule> {
    static WRITES: LazyRegex = LazyLock::new(|| {
        let opened = r#"\b(?:open|Path)\(\s*["']"#;
        let mode = r#"["']\s*(?:,\s*(?:mode\s*=\s*)?["'][wa]|\)\.write)"#;
        regex(&format!(r#"{WRITES_TO}["']?(?:\./)?{FILES}|{opened}{FILES}{mode}"#))
    });
    // A directory that is given in full, and no part of the one before; `$PWD` is that one.
    regexes! {
        LEAVES =
            r#"(?:^|[;&|(]|\bthen|\bdo)\s*(?:popd\b|(?:cd|pushd)\s+(?:--\s+)?["']?(?:/|~|\$\{?[a-oq-z]|-["']?\s*(?:$|[;&|)])))|\bchdir\(\s*["']?(?:/|~)"#;
    }
    let after = &hit.after()[..hit.after().len().min(MAX_DISTANCE)];
    let after = match LEAVES.as_ref().and_then(|leaves| leaves.find(after)) {
        Some(left) => &after[..left.start()],
        None => after,
    };
    changes(hit, after, is_match(&WRITES, after))
}

/// Judges whether a settings file is written below a variable that holds an agent's directory.
fn settings_below(hit: &PatternHit<'_>) -> Option<&'static Rule> {
    regexes! {
        WRITES = &format!(
            r#"{WRITES_TO}["']?\$\{{?(?P<shell>\w+)\}}?["']?/{FILES}|\b(?P<code>[a-z_]\w*)["']?\s*[/,+]\s*["']/?{FILES}[^\n]{{0,60}}(?:\.write_|,\s*(?:mode\s*=\s*)?["'][wa])"#
        );
    }
    let after = &hit.after()[..hit.after().len().min(MAX_DISTANCE)];
    let is_own = |found: regex::bytes::Captures<'_>| {
        found.name("shell").or(found.name("code")).is_some_and(|name| name.as_bytes() == hit.group("one"))
    };
    changes(hit, after, WRITES.as_ref()?.captures_iter(after).any(is_own))
}

fn changes(hit: &PatternHit<'_>, after: &[u8], is_written: bool) -> Option<&'static Rule> {
    if !is_written || !hit.is_code() && !is_open(hit.line_before(), b'`') {
        return None;
    }
    Some(if is_match(&UNLOCKS, after) { &AGENT_TAKEOVER } else { hit.rule })
}

/// Maximum distance at which the change that is made to a file is searched for.
const MAX_DISTANCE: usize = 600;

regexes! {
    /// Settings with which an agent no longer asks for consent, or talks to the network.
    UNLOCKS = concat!(
        r#"bypassPermissions|danger-full-access|approval_policy\s*=\s*["']never|skipDangerousModePermissionPrompt|enableAllProjectMcpServers|dangerously-skip-permissions"#,
        r#"|["']?allow["']?\s*:\s*\[[^\]]{0,200}["']Bash(?:\((?:\*|:\*)\))?["']"#,
        r#"|\b(?:hooks|PreToolUse|PostToolUse|SessionStart|UserPromptSubmit|Stop)\b[^\x00]{0,300}?\b(?:curl|wget|nc|base64)\s"#,
    );
}

fn settings(hit: &PatternHit<'_>) -> Option<&'static Rule> {
    regexes! {
        WRITES =
            r#"(?:>>?|\btee\s+(?:-a\s+|--append\s+)?)\s*["']?[\w.$~{}/%-]*$|\b(?:cp|mv|ln|install|rsync)\s[^\n|;&]*\s["']?[\w.$~{}/%-]*$|\bsed\s+-i[^\n]*$|\b(?:writeFile|appendFile)(?:Sync)?\s*\([^\n]*$"#;
        WRITTEN =
            r#"\A[^\n]{0,120}?(?:["']\s*\)?\s*,\s*(?:mode\s*=\s*)?["'][wa]|\.write_text\s*\(|\.write_bytes\s*\(|\)\s*\.write\()"#;
        LATER =
            r#"\.write_text\s*\(|\bjson\.dump\s*\(|\b(?:writeFile|appendFile)(?:Sync)?\s*\(|\bopen\([^\n]*,\s*["'][wa]"#;
        ORDERED =
            r"\b(?:add|append|write|put|insert|merge|edit|modify|update|change|save|overwrite|replace|set)\b[^\n.]{0,100}$";
    }
    let (before, after) = (hit.line_before(), hit.after());
    let redirected = is_match(&WRITES, before) || is_match(&WRITES, &[before, hit.group("home")].concat());
    let written =
        redirected || is_match(&WRITTEN, after) && before.windows(5).any(|part| part == b"open(" || part == b"Path(");
    // Standing instructions are files of every project; those of the home directory count.
    let home = !hit.group("home").is_empty();
    let standing = hit.group("at").ends_with(b".md");
    if standing && !home {
        return None;
    }
    let near = &hit.window[hit.start.saturating_sub(MAX_DISTANCE)..hit.window.len().min(hit.start + MAX_DISTANCE)];
    let later = hit.kind == ContentKind::Script && is_match(&LATER, &after[..after.len().min(MAX_DISTANCE)]);
    if hit.is_code() && (written || later) {
        return Some(if is_match(&UNLOCKS, near) { &AGENT_TAKEOVER } else { hit.rule });
    }
    let ordered = hit.kind == ContentKind::Prose && !hit.fenced && is_match(&ORDERED, before) && !has_warning(before);
    match (ordered, is_unseen(hit)) {
        (true, true) => Some(&COMMENT_INJECTION),
        (true, false) => Some(hit.rule),
        _ => None,
    }
}

/// Judges sentences only: text that is shown as code is an example.
fn instructions(hit: &PatternHit<'_>) -> Option<&'static Rule> {
    let shown = hit.kind != ContentKind::Prose || hit.fenced || is_open(hit.line_before(), b'`');
    match is_unseen(hit) {
        true => Some(&COMMENT_INJECTION),
        false if shown => None,
        false if is_described(hit) => Some(&DANGEROUS_EXAMPLE),
        false => Some(hit.rule),
    }
}

/// Judges an address as fetched if a word before it says so, in its sentence.
fn fetched_instructions(hit: &PatternHit<'_>) -> Option<&'static Rule> {
    regexes! {
        FETCHES =
            r"\b(?:fetch|download|read|open|visit|load|get|retrieve|curl|webfetch|web_fetch|browse|access|go\s+to|check)\b[^\n.]{0,100}\n?[^\n.]{0,60}\z";
    }
    is_match(&FETCHES, &hit.window[hit.start.saturating_sub(200)..hit.start]).then(|| instructions(hit)).flatten()
}

/// Judges the address of an image with a gap for data that only the model or the user has.
fn image(hit: &PatternHit<'_>) -> Option<&'static Rule> {
    regexes! {
        GAPS = concat!(
            r"(?:[\[{<$(%]|%7B)[^\]}>)/&?]{0,40}?",
            r"(?:secret|token|api_?-?\s?key|_key|\bkey|passw|credential|conversation|history|context|prompt|environ|\benv\b|memor|message|chat|\bdata\b|user_?\s?data|base64|b64|content|summary|cookie|session|answer|what)",
        );
    }
    let address = [hit.group("markdown"), hit.group("html")].concat();
    let query = address.splitn(4, |byte| *byte == b'/').nth(3).unwrap_or_default();
    if hit.kind != ContentKind::Prose || !is_match(&GAPS, query) {
        return None;
    }
    let shown = hit.fenced || is_open(hit.line_before(), b'`') || is_described(hit);
    match (shown, hit.group("html").is_empty()) {
        // Pages that are shown as code may fill in anything.
        (true, false) => None,
        (true, true) => Some(&DANGEROUS_EXAMPLE),
        (false, _) => Some(hit.rule),
    }
}

/// Judges an address in a sentence or a link, but not an image's, with a gap for data that only the model or the user
/// has. In code such gaps are where a program puts its key.
fn link(hit: &PatternHit<'_>) -> Option<&'static Rule> {
    regexes!(IMAGE = r#"(?:!\[[^\]\n]*\]\(\s*<?|<img\s[^>\n]*?src\s*=\s*["']?)\z"#);
    let before = hit.line_before();
    let shown = hit.kind != ContentKind::Prose || hit.fenced || is_open(before, b'`');
    if is_match(&IMAGE, before) || !has_leak(hit.line_after()) {
        return None;
    }
    match is_unseen(hit) {
        true => Some(&COMMENT_INJECTION),
        false if shown => None,
        false if is_described(hit) => Some(&DANGEROUS_EXAMPLE),
        false => Some(hit.rule),
    }
}

/// Returns whether a line that begins with an address has a gap for data of the reader, or an order to fill one.
///
/// `{token}`, `<environment>` and `YOUR_API_KEY` are in every documentation of an interface: they count where the line
/// says to fill them from the environment or the conversation.
fn has_leak(line: &[u8]) -> bool {
    regexes! {
        GAPS = r#"(?:[\[{<]|\$[{(]?|%7B)(?P<gap>[^\]}>)/&?\n"'`]{1,60})|=(?P<word>(?-i:[A-Z][A-Z0-9_]{3,40})\b)"#;
        OWN = concat!(
            r"^\s*\{?\s*(?:env|environ|process\.env|os\.environ)\b\s*[.\[]|\b(?:conversation|chat[_ ]?history|system[_ ]?prompt)s?(?:[ _](?:summary|text|so far))?\s*$",
            r"|\b(?:base64|b64|contents?|values?|summary|copy)\s+of\b|\b(?:environment|env)[_ ]variables?\b|\b(?:user|users|user's)[_ ](?:token|secret|password|cookie|credential|api[_ ]?key)s?\b",
        );
        SECRET = r"secret|api_?-?\s?key|passw|credential|conversation|history|\benv|environ|cookie|token|prompt|memor";
        ORDERS = concat!(
            r"\b(?:replac\w+|fill\w*|substitut\w+|insert\w*|put)\b[^\n]{0,80}\b(?:from|with|by|of|in|the)\s[^\n]{0,40}?",
            r"(?:\benvironment\b|\benv\b|\.env\b|\bconversation\b|\bchat\b|\buser's\s+(?:\w+\s+)?(?:key|token|password|secret|credential|data|message)s?\b|\bsystem\s+prompt\b|\bkeychain\b|\beverything\b)",
            r"|\bwhere\s+\S{1,40}\s+(?:is|are|stands\s+for|contains|holds)\s+(?:everything|all|the\s+(?:whole|full|entire|conversation|environment))\b",
        );
    }
    let (address, rest) = line.split_at(address_length(line));
    let is_ordered = is_match(&ORDERS, rest);
    let Some(gaps) = GAPS.as_ref() else { return false };
    gaps.captures_iter(address).any(|found| match (found.name("gap"), found.name("word")) {
        (Some(gap), _) => {
            let is_variable = address[..gap.start()].iter().rev().take(2).any(|byte| *byte == b'$');
            let is_secret = is_match(&SECRET, gap.as_bytes());
            is_match(&OWN, gap.as_bytes()) || is_secret && (is_variable || is_ordered)
        }
        (_, Some(_)) => is_ordered,
        _ => false,
    })
}

/// Returns how long the address is that a line begins with: up to a blank that is in none of its gaps.
fn address_length(line: &[u8]) -> usize {
    let mut depth = 0_usize;
    let end = line.iter().take(MAX_DISTANCE).position(|byte| {
        match byte {
            b'[' | b'{' | b'<' => depth += 1,
            b']' | b'}' | b'>' => depth = depth.saturating_sub(1),
            _ => {}
        }
        byte.is_ascii_whitespace() && depth == 0
    });
    end.unwrap_or(line.len().min(MAX_DISTANCE))
}

fn index(hit: &PatternHit<'_>) -> Option<&'static Rule> {
    regexes! {
        KNOWN =
            r"^(?:(?:test\.)?pypi\.org|files\.pythonhosted\.org|download\.pytorch\.org|pypi(?:\.ngc)?\.nvidia\.com|registry\.(?:npmjs\.org|yarnpkg\.com|npmmirror\.com)|npm\.pkg\.github\.com|pypi\.tuna\.tsinghua\.edu\.cn|mirrors\.aliyun\.com|localhost|127(?:\.\d+){3}|\[::1\]|(?:[\w-]+\.)*example\.(?:com|org|net))$";
        NUMBERS = r"^(?:\d+(?:\.\d+){3}|\[[0-9a-f:]+\])$";
    }
    let (host, how) = (hit.group("host"), hit.group("how"));
    let name = hit.path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let setting = how.trim_ascii().ends_with(b"registry") && !how.starts_with(b"-") && !how.contains(&b' ');
    if is_match(&KNOWN, host) || setting && !name.contains("npmrc") && !name.contains("yarnrc") {
        return None;
    }
    let open = hit.group("scheme").eq_ignore_ascii_case(b"http") || is_match(&NUMBERS, host);
    Some(match open {
        _ if is_described(hit) => &DANGEROUS_EXAMPLE,
        true => &FETCH_AND_RUN,
        false => hit.rule,
    })
}

/// Judges macros inside of documents only; other files may mention them. A file whose name has the extension of macros
/// is reported by its name, and once is enough.
fn macros(hit: &PatternHit<'_>) -> Option<&'static Rule> {
    regexes!(KNOWN = MACROS);
    let before = &hit.window[..hit.start];
    let first = !is_match(&KNOWN, before);
    (hit.kind == ContentKind::Binary && first && !has_macros(hit.path)).then_some(hit.rule)
}

/// Kinds of `OpenDocument` files.
const OPEN: [&str; 10] = ["odt", "ods", "odp", "odg", "odb", "ott", "ots", "otp", "otg", "oxt"];

/// Judges macros of `OpenDocument` files, which are archives with ordinary names in them.
fn open_macros(hit: &PatternHit<'_>) -> Option<&'static Rule> {
    regexes!(KNOWN = OPEN_MACROS);
    let extension = hit.path.extension().and_then(|extension| extension.to_str()).map(str::to_ascii_lowercase);
    let is_open = extension.is_some_and(|extension| OPEN.contains(&extension.as_str()));
    let is_list = matches!(hit.group("module"), b"script-lb" | b"dialog-lb");
    // Each name is at its member and in the list at the end; the first is enough.
    let is_first = || {
        let before = KNOWN.as_ref().map(|known| known.captures_iter(&hit.window[..hit.start]));
        let is_module = |found: regex::bytes::Captures<'_>| {
            found.name("module").is_none_or(|name| !matches!(name.as_bytes(), b"script-lb" | b"dialog-lb"))
        };
        !before.is_some_and(|mut before| before.any(is_module))
    };
    (hit.kind == ContentKind::Binary && is_open && !is_list && is_first()).then_some(hit.rule)
}
