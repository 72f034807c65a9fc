//! Text of messages without its secrets.

use skillcue_base::visible_line;

/// The most characters of a text that are kept.
const MAX_TEXT: usize = 2_000;

/// Words behind which a secret is written.
const NAMES: &[&str] = &[
    "password",
    "passwort",
    "kennwort",
    "passphrase",
    "passcode",
    "passwd",
    "pwd",
    "token",
    "secret",
    "apikey",
    "api-key",
    "api_key",
    "key",
    "pin",
    "credential",
    "credentials",
    "bearer",
];

/// Words between the name of a secret and the secret.
const LINKS: &[&str] = &["is", "are", "was", "ist", "lautet", "=", ":", "as", "und", "and", "for", "the", "my"];

/// Returns a text on one line, cut, with keys, tokens and whatever is called a password masked.
///
/// ```
/// use skillcue_usage::redacted;
///
/// assert_eq!(redacted("log in; my password is hunter2!"), "log in; my password is …");
/// assert_eq!(redacted("API_KEY=abc def"), "API_KEY=… def");
/// assert_eq!(redacted("fill in the form"), "fill in the form");
/// ```
pub fn redacted(text: &str) -> String {
    let cut: String = text.chars().take(MAX_TEXT).collect();
    let masked = skillcue_audit::mask_secrets(&cut);
    let mut words: Vec<String> = Vec::new();
    // Whether the next word that is no link is a secret.
    let mut is_awaited = false;
    for word in visible_line(&masked).split_whitespace() {
        let lower = word.to_lowercase();
        let plain = lower.trim_matches(|c: char| !c.is_alphanumeric() && c != '=' && c != ':');
        // `API_KEY=abc`, `password:abc`
        let assigned = word.char_indices().find(|(_, c)| matches!(c, '=' | ':')).map(|(at, _)| at);
        let assigned = assigned.filter(|at| is_name(&lower[..lower.floor_char_boundary(*at)]) && word.len() > at + 1);
        if let Some(at) = assigned {
            words.push(format!("{}…", &word[..=at]));
            is_awaited = false;
        } else if is_name(plain.trim_end_matches(['=', ':'])) {
            words.push(word.to_owned());
            is_awaited = true;
        } else if is_awaited && !LINKS.contains(&plain) {
            words.push("…".to_owned());
            is_awaited = false;
        } else {
            words.push(word.to_owned());
        }
    }
    words.join(" ")
}

/// Returns whether a word is the name of a secret, or ends with one, as variables do.
fn is_name(word: &str) -> bool {
    NAMES
        .iter()
        .any(|name| word.strip_suffix(name).is_some_and(|rest| rest.is_empty() || rest.ends_with(['_', '-', '.'])))
}
