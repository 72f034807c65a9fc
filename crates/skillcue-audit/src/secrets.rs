//! Keys and tokens: which look real. The patterns also mask them in everything that is shown.

use super::Rule;
use super::kind::ContentKind;
use super::patterns::{PatternHit, is_match, patterns, regexes};
use super::rules::{SECRET, SECRET_LIKE};

patterns! {
    SECRET, real, "an AWS access key",
        ["akia", "asia", "abia", "acca"],
        r"\b(?P<at>(?-i:AKIA|ASIA|ABIA|ACCA)(?-i:[A-Z2-7]{16}))\b";
    SECRET, real, "a token of a code host",
        ["ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-"],
        r"\b(?P<at>gh[pousr]_[a-z0-9]{36,}|github_pat_[a-z0-9_]{50,}|glpat-[\w-]{20,})";
    SECRET, real, "a token of a chat service",
        ["xox", "xapp-", "hooks.slack.com", "discord.com/api/webhooks"],
        r"\b(?P<at>xox[abeoprs]-(?:\d[\w-]{9,}|[\w-]{20,})|xapp-\d-[\w-]{20,}|hooks\.slack\.com/services/T\w{6,}/B\w{6,}/\w{20,}|discord\.com/api/webhooks/\d{10,}/[\w-]{40,})";
    SECRET, real, "a key of a provider of models or of Google",
        ["sk-", "hf_", "aiza", "gocspx-", "ya29."],
        r"\b(?P<at>(?-i:sk)-(?:ant-(?:api\d\d-|admin\d\d-)?|proj-|svcacct-|or-v1-)?[a-z0-9][a-z0-9_-]{31,}|hf_(?-i:[A-Za-z]{34})\b|(?-i:AIza)[\w-]{35}|GOCSPX-[\w-]{28}|ya29\.[\w-]{50,})";
    SECRET, real, "a token of a service",
        ["npm_", "pypi-ageia", "sk_live_", "rk_live_", "sg.", "dop_v1_", "accountkey=", "shpat_"],
        r"\b(?P<at>npm_[a-z0-9]{36}\b|pypi-AgEIA[\w-]{50,}|[sr]k_live_[a-z0-9]{20,}|(?-i:SG)\.[\w-]{22}\.[\w-]{43}|dop_v1_[0-9a-f]{64}|AccountKey=[a-z0-9+/]{86}==|shpat_[0-9a-f]{32})";
    SECRET, real_key, "a private key",
        ["private key"],
        r"(?P<at>-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----)(?:\\n|\\r|[\s>|#*/]|(?:Proc-Type|DEK-Info|Version|Comment)[^\n]*){0,20}(?P<key>[a-z0-9+/=]{40,})";
    SECRET_LIKE, real, "a signed token (JWT)",
        ["eyj"],
        r"\b(?P<at>(?-i:eyJ)[\w-]{10,}\.(?-i:eyJ)[\w-]{10,}\.[\w-]{20,})";
    SECRET_LIKE, dense, "a value that looks like a password or token",
        ["passw", "pwd", "secret", "api_key", "apikey", "api-key", "token", "private_key", "access_key"],
        r#"(?:password|passwd|\bpwd|secret|api[_-]?key|access[_-]?(?:key|token)|auth[_-]?token|bearer[_-]?token|private[_-]?key|_token)\w{0,10}["']?\s*(?:=|:|=>|:=)\s*["'](?P<at>[^"'\s]{12,200})["']"#;
    SECRET, real, "a secret key of AWS",
        ["secret_access_key", "secretaccesskey"],
        r#"secret_?access_?key["']?\s*(?:=|:)\s*["']?(?P<at>[a-z0-9/+]{40})(?:[^a-z0-9/+=]|$)"#;
    SECRET_LIKE, bare, "a value that looks like a password or token",
        ["passw", "secret", "api_key", "apikey", "token", "access_key", "private_key"],
        r#"^[\s>-]*(?:export\s+|set\s+|ENV\s+)?[\w.-]*(?:password|passwd|secret|api[_-]?key|access[_-]?key|private[_-]?key|token)(?:_\w{1,10})?(?P<sign>\s*=\s*|:\s+)(?P<at>[^\s"'`]{12,200})\s*(?:$|#)"#;
    SECRET_LIKE, dense, "a token in a header",
        ["bearer ", "basic "],
        r#"\bauthorization["']?\s*[:=]\s*["']?(?:bearer|basic|token)\s+(?P<at>[\w.~+/-]{16,}=*)"#;
    SECRET_LIKE, dense, "a password in an address",
        ["://"],
        r"\b[a-z][a-z0-9+.-]{1,20}://[\w.%-]+:(?P<at>[^\s@/:$<>{}()\[\]*]{8,100})@[\w.-]+";
}

regexes! {
    PLACEHOLDER =
        r"example|your|x{4,}|\.\.\.|placeholder|dummy|fake|sample|redacted|change.?me|insert|replace|todo|1234567|abcdef|0{5,}|\*{3,}|<|>|\$\{|\{\{|test|demo|secret|password|mysuper|foobar|my[_-]|[_-]here|deadbeef|notreal|eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9\.eyJzdWIiOiIxMjM0NTY3ODkw";
}

/// Judges whether a token with a known beginning can be one that works: not an example, and not a word.
fn real(hit: &PatternHit<'_>) -> Option<&'static Rule> {
    regexes!(SHOWN = r"\b(?:examples?|e\.g\.|format|looks like|sample)\b");
    let token = hit.group("at");
    let varied = token.iter().any(u8::is_ascii_digit) || token.iter().any(u8::is_ascii_uppercase);
    let rule = if is_match(&SHOWN, hit.line_before()) { &SECRET_LIKE } else { hit.rule };
    (!is_match(&PLACEHOLDER, token) && entropy(token) >= 3.0 && varied).then_some(rule)
}

/// Judges whether a key follows, not dots.
fn real_key(hit: &PatternHit<'_>) -> Option<&'static Rule> {
    let key = hit.group("key");
    (!is_match(&PLACEHOLDER, key) && entropy(key) >= 3.5).then_some(hit.rule)
}

/// Judges whether a value is too mixed for words.
fn dense(hit: &PatternHit<'_>) -> Option<&'static Rule> {
    let value = hit.group("at");
    let has = |is: fn(&u8) -> bool| value.iter().any(is);
    let mixed = has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic);
    let code = value.iter().any(|byte| b"(){}[]$<>;,".contains(byte)) || value.contains(&b'/') && value.contains(&b'.');
    // Words with hyphens or dots between them are names.
    let words = value.split(|byte| !byte.is_ascii_alphanumeric()).filter(|word| word.len() > 2);
    let named = words.clone().count() >= 3 && words.clone().all(|word| word.iter().all(u8::is_ascii_lowercase));
    (mixed && !code && !named && entropy(value) >= 3.4 && !is_match(&PLACEHOLDER, value)).then_some(hit.rule)
}

/// Judges whether a value without quotes is a secret. In code it is mostly a name.
fn bare(hit: &PatternHit<'_>) -> Option<&'static Rule> {
    let value = hit.group("at");
    let count = |is: fn(&u8) -> bool| value.iter().filter(|byte| is(byte)).count();
    let assigned = hit.group("sign") == b"=";
    let mixed =
        count(u8::is_ascii_digit) >= 3 && count(u8::is_ascii_lowercase) > 0 && count(u8::is_ascii_uppercase) > 0;
    let hexadecimal = value.len() >= 32 && value.iter().all(u8::is_ascii_hexdigit);
    if hit.kind == ContentKind::Script && !assigned || !(mixed || hexadecimal) || value.contains(&b':') {
        return None;
    }
    dense(hit)
}

/// Returns the entropy in bits per byte.
fn entropy(text: &[u8]) -> f64 {
    let mut counts = [0_u32; 256];
    for byte in text {
        counts[usize::from(*byte)] += 1;
    }
    let length = f64::from(u32::try_from(text.len()).unwrap_or(u32::MAX));
    counts.iter().filter(|count| **count > 0).map(|count| f64::from(*count) / length).map(|p| -p * p.log2()).sum()
}
