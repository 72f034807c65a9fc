//! Credentials that have no form of their own: a value beside a word such as `password`, the second half of `-u user:pass`.

use std::ops::Range;

/// Ends of names whose values are secret, in lower case: `DB_PASSWORD` is one, `tokens` is none.
const SECRET_NAMES: [&str; 7] = ["password", "passwd", "passphrase", "secret", "token", "api_key", "apikey"];

/// Options of programs such as curl that take `user:password`.
const USER_OPTIONS: [&str; 2] = ["-u", "--user"];

/// The least length of a secret value, in characters. Shorter ones are words of prose: `token: the number of tokens`.
const MIN_SECRET: usize = 8;

/// The text that takes the place of a secret.
const MASK: &str = "…";

/// Masks values of secret names and passwords of users. Prose beside such a word stays: a value has no blanks, at least
/// eight characters, and a digit or a symbol among them.
pub(crate) fn mask_credentials(text: &str) -> String {
    let mut hidden = Vec::new();
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b':' | b'=' => hidden.extend(assigned(text, at)),
            b'-' => hidden.extend(user_password(text, at)),
            _ => {}
        }
    }
    hidden.sort_by_key(|range| range.start);
    let (mut masked, mut done) = (String::with_capacity(text.len()), 0);
    for range in hidden {
        if range.start < done {
            continue;
        }
        masked.push_str(&text[done..range.start]);
        masked.push_str(MASK);
        done = range.end;
    }
    masked.push_str(&text[done..]);
    masked
}

/// Returns the secret value after a colon or an equals sign.
fn assigned(text: &str, at: usize) -> Option<Range<usize>> {
    let blanks = [' ', '\t'];
    let name = text[..at].trim_end_matches(blanks).trim_end_matches(['"', '\'', '`', '*']);
    let start = name
        .rfind(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-')))
        .map_or(0, |found| found + name[found..].chars().next().map_or(1, char::len_utf8));
    let name = name[start..].to_ascii_lowercase().replace('-', "_");
    if !SECRET_NAMES.iter().any(|secret| name.ends_with(secret)) {
        return None;
    }
    let is_equation = text.as_bytes()[at] == b'=';
    // Behind `=>` and `==`, and the quotes of a text.
    let rest = text[at + 1..].trim_start_matches(['=', '>']).trim_start_matches(blanks);
    let rest = rest.trim_start_matches(['"', '\'', '`']);
    let from = text.len() - rest.len();
    let end = rest.find(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | ',' | ';' | '&' | '<' | '>'));
    let value = rest[..end.unwrap_or(rest.len())].trim_end_matches(['.', ')', ']', '}', ':', '*']);
    is_secret(value, is_equation).then(|| from..from + value.len())
}

/// Returns whether a value looks like a secret. Words joined by hyphens, dots and the like are prose after a colon.
fn is_secret(value: &str, is_equation: bool) -> bool {
    // Names of variables and places for a value: `$TOKEN`, `{{ token }}`, `<token>`, and addresses of documentation.
    let is_reference = value.starts_with(['$', '{', '<', '[', '(', '%']) || value.contains("://");
    let is_symbol = |c: char| !c.is_alphanumeric() && (is_equation || !matches!(c, '-' | '_' | '.' | '/' | '’' | '…'));
    !is_reference
        && value.chars().count() >= MIN_SECRET
        && value.chars().any(|c| c.is_ascii_digit() || is_symbol(c))
        // A call or a path of code, which reads the secret from elsewhere: `token = os.environ(…)`.
        && !value.contains(['(', '['])
}

/// Returns the password of `-u user:password`, whose option begins at `at`.
fn user_password(text: &str, at: usize) -> Option<Range<usize>> {
    let is_word = text[..at].chars().next_back().is_none_or(char::is_whitespace);
    let rest = USER_OPTIONS.iter().filter(|_| is_word).find_map(|option| text[at..].strip_prefix(option))?;
    let value = rest.trim_start_matches([' ', '\t', '=']);
    if value.len() == rest.len() {
        return None;
    }
    let value = value.trim_start_matches(['"', '\'']);
    let from = text.len() - value.len();
    let end = value.find(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`')).unwrap_or(value.len());
    let (user, password) = value[..end].split_once(':')?;
    // Numbers of a user and of its group, as containers take them.
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let is_reference = password.starts_with(['$', '<', '{']);
    let is_other = user.is_empty() || password.is_empty() || is_reference || (is_number(user) && is_number(password));
    (!is_other).then(|| from + user.len() + 1..from + end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_secret_names_are_masked() {
        for (text, masked) in [
            ("password: hunter2-hunter2", "password: …"),
            ("DB_PASSWORD=correct-horse", "DB_PASSWORD=…"),
            ("{\"api_key\": \"abcdef123456\", \"n\": 1}", "{\"api_key\": \"…\", \"n\": 1}"),
            ("passwd = 'p@ssw0rd!'", "passwd = '…'"),
            ("**Secret**: `Zm9vYmFyYmF6`.", "**Secret**: `…`."),
            ("?access_token=abc123def456&page=2", "?access_token=…&page=2"),
            ("x-api-key: 0123456789abcdef", "x-api-key: …"),
            ("Das Token:t0psecret!, und", "Das Token:…, und"),
            ("curl -u alice:s3cret https://x", "curl -u alice:… https://x"),
            ("curl --user 'alice:s3cret' -s", "curl --user 'alice:…' -s"),
        ] {
            assert_eq!(mask_credentials(text), masked);
            assert_eq!(mask_credentials(masked), masked, "what is masked stays as it is");
        }
    }

    #[test]
    fn prose_beside_a_secret_name_stays() {
        for text in [
            "token: the number of tokens",
            "Each token: word-by-word, see tokenizer.json",
            "password: correcthorse",
            "tokens: 1234567890",
            "token=$GITHUB_TOKEN and token: ${{ secrets.GITHUB_TOKEN }}",
            "password: <your-password-1>",
            "secret: https://example.com/docs/1",
            "token = os.environ[\"TOKEN_1\"]",
            "docker run -u 1000:1000 image",
            "Über-token: ü",
        ] {
            assert_eq!(mask_credentials(text), text);
        }
    }
}
