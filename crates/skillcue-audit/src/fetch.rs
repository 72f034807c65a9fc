//! Commands that run what they fetch, and the addresses of well-known installers.

use super::Rule;
use super::kind::ContentKind;
use super::patterns::{LazyRegex, PatternHit, is_described, is_match, patterns, regexes, unless_described};
use super::rules::{DANGEROUS_EXAMPLE, FETCH_AND_RUN, FETCH_KNOWN_INSTALLER, REMOTE_PACKAGE};

patterns! {
    FETCH_AND_RUN, fetched, "what is fetched from the network is piped into an interpreter",
        ["curl", "wget", "fetch ", "aria2c", "nc ", "ncat ", "netcat ", "dig ", "s_client"],
        r#"\b(?:(?:curl|wget|fetch|aria2c|nc|ncat|netcat|dig)(?:\.exe)?|openssl\s+s_client)\s+[^\s|][^\n]*?[^|\n]\|&?\s*(?:(?:/(?:\w+/)*)?(?:sudo|doas|env|exec|command|nohup|time|busybox|xargs|stdbuf)\s+(?:-[ugUCI]\s+[\w{}]+\s+|-\S+\s+|\w+=\S*\s+)*)*["']?(?:/(?:\w+/)*)?(?:(?:(?:ba|z|da|k|fi|a|tc|c)?sh|\$\{?SHELL\}?)(?:\s|$|[;&|)"'`])|(?:python[\d.]*|perl|ruby|node|php|pwsh|powershell|osascript|bun|lua)(?:\s+-[uEsSBIOqvxw]+)*(?:\s+-(?:\s[^\n<]*)?)?\s*(?:$|[;&|)"'`#]))"#;
    FETCH_AND_RUN, fetched, "what is fetched from the network is run by an interpreter",
        ["curl", "wget"],
        r"(?:\b(?:ba|z|da|k|fi)?sh|\bsource|(?:^|\s)\.|\bpython[\d.]*|\bnode|\bperl|\bruby)\s+(?:-\S+\s+)*(?:/dev/stdin\s*)?(?:<\s*)?<\(\s*(?:curl|wget)\b[^\n)]*";
    FETCH_AND_RUN, fetched, "what is fetched from the network is run by an interpreter",
        ["curl", "wget"],
        r#"\b(?:eval|(?:ba|z|da|k|fi)?sh\s+(?:-\S+\s+)*-\w*c|python[\d.]*\s+-c|node\s+-e|perl\s+-e|ruby\s+-e|source\s+/dev/stdin\s+<<<|(?:ba|z)?sh\s+<<<)\s*["']?\s*(?:\$\(|`)\s*(?:curl|wget)\b[^\n)`]*"#;
    FETCH_AND_RUN, fetched, "what is fetched from the network is run by PowerShell",
        ["iex", "invoke-expression"],
        r"\b(?:iex|invoke-expression)\b[^\n]*\b(?:irm|iwr|invoke-restmethod|invoke-webrequest|downloadstring|net\.webclient|curl|wget)\b[^\n]*";
    FETCH_AND_RUN, fetched, "what is fetched from the network is run by PowerShell",
        ["iex", "invoke-expression"],
        r"\b(?:irm|iwr|invoke-restmethod|invoke-webrequest|downloadstring|curl|wget)\b[^\n]*\|\s*(?:iex|invoke-expression)\b";
    FETCH_AND_RUN, unless_described, "what is fetched from the network is run as Python",
        ["exec", "eval", "loads"],
        r"\b(?:exec|eval|compile|pickle\.loads|marshal\.loads)\s*\(\s*(?:compile\s*\(\s*)?(?:requests\.(?:get|post)|(?:\w+\.)*urlopen|httpx\.(?:get|post)|__import__\(\s*.(?:requests|urllib\.request|httpx).\s*\)\.\w+)\s*\(";
    FETCH_AND_RUN, unless_described, "what is fetched from the network is run as JavaScript",
        ["eval", "function", "runin"],
        r"\b(?:eval|Function|runIn\w*Context)\s*\(\s*(?:await\b\s*|\(\s*)*(?:fetch|axios(?:\.get)?|got|https?\.get)\s*\(";
    FETCH_AND_RUN, unless_described, "what is fetched from the network is run as JavaScript",
        ["eval"],
        r"\bfetch\s*\([^\n]*\.then\(\s*(?:\(?\w*\)?\s*=>\s*)?(?:globalThis\.|window\.)?eval\b";
    FETCH_AND_RUN, unless_described, "what is fetched from the network is run",
        ["eval"],
        r#"\b(?:\w+_)?eval\s*\(?\s*(?:URI\.open|open|Net::HTTP\.get|LWP::Simple::get|file_get_contents)\s*\(?\s*(?:URI\()?["']https?:"#;
    FETCH_AND_RUN, unless_described, "what is fetched from the network is run by a shell",
        ["requests.", "urlopen", "httpx."],
        r#"(?:\b(?:run|Popen|call|check_call|check_output|getoutput)\s*\([^\n]*["']-[ce]["']\s*,\s*|\bos\.(?:system|popen)\s*\(\s*)(?:(?:requests|httpx)\.(?:get|post)|(?:\w+\.)*urlopen)\s*\("#;
    REMOTE_PACKAGE, unless_described, "a repository is fetched, in whatever state it is, and run",
        ["git clone"],
        r"\bgit\s+clone\s[^\n]*(?:&&|;)\s*(?:sudo\s+)?(?:(?:(?:ba|z|da)?sh|python[\d.]*)\s+[\w./$~{}-]*/[\w.-]+|\./[\w./-]+)";
}

regexes! {
    /// Installers that their projects recommend to pipe into a shell: these addresses, not everything on their hosts.
    KNOWN = concat!(
        r"^https://(?:astral\.sh/(?:uv|ruff|ty)/(?:[\d.]+/)?install\.(?:sh|ps1)|(?:sh\.)?rustup\.rs/?|get\.docker\.com/?",
        r"|bun\.(?:sh|com)/install(?:\.ps1)?|deno\.land/(?:x/install/)?install\.(?:sh|ps1)|get\.pnpm\.io/install\.(?:sh|ps1)",
        r"|install\.python-poetry\.org/?|fnm\.vercel\.app/install|mise\.run/?|mise\.jdx\.dev/install\.sh|get\.volta\.sh/?",
        r"|pixi\.sh/install\.(?:sh|ps1)|just\.systems/install\.sh|starship\.rs/install\.sh|get\.sdkman\.io/?",
        r"|sdk\.cloud\.google\.com/?|install\.determinate\.systems/nix(?:/[\w./-]*)?|nixos\.org/nix/install",
        r"|fly\.io/install\.(?:sh|ps1)|ollama\.com/install\.(?:sh|ps1)|claude\.ai/install\.(?:sh|ps1|cmd)",
        r"|foundry\.paradigm\.xyz/?|(?:deb|rpm)\.nodesource\.com/setup_\w+\.x|apt\.llvm\.org/llvm\.sh",
        r"|raw\.githubusercontent\.com/(?:homebrew/install|nvm-sh/nvm|pyenv/pyenv-installer|rbenv/rbenv-installer|asdf-vm/asdf",
        r"|helm/helm|golangci/golangci-lint|aquasecurity/(?:trivy|tfsec)|anchore/(?:syft|grype))/[\w./-]+)(?:[?#]\S*)?$"
    );
    /// A commit of any fork can be named as if it were the project's own, and a path can lead to another project.
    OTHER_PROJECT = r"\.\.|%2e|/[0-9a-f]{40}/";
    /// Names that are reserved for examples.
    EXAMPLE_HOSTS = r"^https?://(?:[\w-]+\.)*example\.(?:com|org|net)(?:[/:]|$)";
    ADDRESS = r#"\b[a-z]{3,5}://[^\s"'`|)<>;]+"#;
    HAS_ADDRESS = r"://\w|\$|\b[\w-]+\.[a-z]{2,}\b|\blocalhost\b|@-|\bn(?:c|cat|etcat)\s+(?:-\S+\s+)*[\w.-]+\s+\d";
    /// An address without a scheme, or one that is only known when it runs.
    BARE = r"^(?:(?:[\w-]+\.)+[a-z]{2,}(?:[/:?]\S*)?|\$\{?\w\S*|[\d.]{7,}(?:[/:]\S*)?)$";
    /// Options whose value follows.
    VALUED =
        r"^-(?:\w*[oOHAexmbcduXTFPzCErtKQYUw]|-(?:output|header|user|data|proto|max|retry|connect|cacert|cert|key|referer|request|form|proxy|write)[\w-]*)$";
}

fn fetched(hit: &PatternHit<'_>) -> Option<&'static Rule> {
    weigh(hit.text(), hit.kind, is_described(hit))
}

/// Returns the rule for fetching by a command: whether it has an address at all, and whether that is well known.
pub(super) fn weigh(command: &[u8], kind: ContentKind, described: bool) -> Option<&'static Rule> {
    if kind != ContentKind::Script && !is_match(&HAS_ADDRESS, command) {
        return None;
    }
    let found = addresses(command);
    let all = |known: &LazyRegex| !found.is_empty() && found.iter().all(|address| is_match(known, address));
    if described || (kind != ContentKind::Script && all(&EXAMPLE_HOSTS)) {
        return Some(&DANGEROUS_EXAMPLE);
    }
    let known = all(&KNOWN) && !found.iter().any(|address| is_match(&OTHER_PROJECT, address));
    Some(if known { &FETCH_KNOWN_INSTALLER } else { &FETCH_AND_RUN })
}

/// Returns the addresses that a command fetches from.
pub(super) fn addresses(command: &[u8]) -> Vec<&[u8]> {
    let Some(address) = ADDRESS.as_ref() else { return Vec::new() };
    let mut found: Vec<&[u8]> = address.find_iter(command).map(|address| address.as_bytes()).collect();
    let fetching = command.split(|byte| *byte == b'|').next().unwrap_or_default();
    let mut valued = false;
    for word in fetching.split(u8::is_ascii_whitespace) {
        let word = unquoted(word);
        if !valued && !word.starts_with(b"$(") && is_match(&BARE, word) {
            found.push(word);
        }
        valued = is_match(&VALUED, word);
    }
    found
}

/// Returns a word of a command without the quotes around it.
pub(super) fn unquoted(word: &[u8]) -> &[u8] {
    let quote = |byte: &u8| b"\"'`()".contains(byte);
    let start = word.iter().position(|byte| !quote(byte)).unwrap_or(word.len());
    let end = word.iter().rposition(|byte| !quote(byte)).map_or(start, |at| at + 1);
    &word[start..end]
}
