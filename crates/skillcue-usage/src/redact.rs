//! Text of messages without its secrets, as far as they can be recognised: by their form, or by a word before them.

use skillcue_base::visible_line;

/// The most characters of a text that are kept.
const MAX_TEXT: usize = 2_000;
/// The characters behind them that are looked at, too: a secret may be cut in two there.
const MARGIN: usize = 256;
/// The most characters of a remark in brackets between a name and its secret.
const MAX_REMARK: usize = 60;
/// The most words between a name and the word that says what it is.
const MAX_BETWEEN: usize = 6;

/// Words behind which a secret is written, whether or not a sign or a verb is between them.
const NAMES: &[&str] = &[
    "password",
    "passwort",
    "kennwort",
    "passphrase",
    "passcode",
    "passwd",
    "pwd",
    "pw",
    "token",
    "secret",
    "apikey",
    "api-key",
    "api_key",
    "key",
    "pin",
    "credential",
    "bearer",
    "mot de passe",
    "mdp",
    "contraseña",
    "contrasena",
    "senha",
    "wachtwoord",
    "lösenord",
    "adgangskode",
    "salasana",
    "hasło",
    "heslo",
    "пароль",
    "mnemonic",
    "seed phrase",
    "recovery phrase",
];
/// Words that have other meanings, too: a sign or a verb must follow, or a text that looks like a secret.
const WEAK_NAMES: &[&str] = &["pass", "clave", "parola", "login", "cvv", "cvc"];
/// Names in scripts without blanks between words.
const UNSPACED_NAMES: &[&str] = &["密码", "密碼", "口令", "パスワード", "暗証番号", "비밀번호", "รหัสผ่าน"];
/// Names of secrets that have several words.
const PHRASES: &[&str] = &["passphrase", "mnemonic", "seed phrase", "recovery phrase"];
/// Words and signs that say what a secret is.
const VERBS: &[&str] = &[
    "is", "are", "was", "be", "as", "to", "from", "equals", "ist", "sind", "war", "lautet", "auf", "est", "es", "son",
    "é", "è", "är", "er", "jest", "это", "=", ":",
];
/// Words between a name and a secret that say nothing.
const LINKS: &[&str] =
    &["the", "my", "your", "our", "a", "an", "and", "und", "now", "here", "which", "that", "la", "le", "el", "mein"];
/// Words before what a secret is for: `password for root is …`.
const PREPOSITIONS: &[&str] = &["for", "of", "on", "in", "at", "with", "für", "von", "zu", "pour", "de", "para", "del"];

/// Returns a text on one line, cut, with what can be recognised as a secret masked: keys and tokens by their form, passwords
/// by the word before them, in several languages, passwords in addresses, numbers of cards and bank accounts. A secret that
/// nothing gives away stays.
///
/// ```
/// use skillcue_usage::redacted;
///
/// assert_eq!(redacted("log in; my password is hunter2!"), "log in; my password is …");
/// assert_eq!(redacted("API_KEY=abc def"), "API_KEY=… def");
/// assert_eq!(redacted("fill in the form"), "fill in the form");
/// ```
pub fn redacted(text: &str) -> String {
    let window: String = text.chars().take(MAX_TEXT + MARGIN).collect();
    let mut scan = SecretScan::of(&skillcue_audit::mask_secrets(&window));
    scan.mask_addresses();
    scan.mask_numbers();
    for name in NAMES {
        scan.mask_named(name, NameKind::Strong);
    }
    for name in WEAK_NAMES {
        scan.mask_named(name, NameKind::Weak);
    }
    for name in UNSPACED_NAMES {
        scan.mask_named(name, NameKind::Unspaced);
    }
    visible_line(&scan.text()).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The sort of a secret's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NameKind {
    Strong,
    Weak,
    Unspaced,
}

/// A text, and which of its characters are masked.
struct SecretScan {
    chars: Vec<char>,
    /// In lower case, one character for each.
    lower: Vec<char>,
    masked: Vec<bool>,
}

impl SecretScan {
    fn of(text: &str) -> SecretScan {
        let chars: Vec<char> = text.chars().collect();
        let lower = chars.iter().map(|c| c.to_lowercase().next().unwrap_or(*c)).collect();
        let masked = vec![false; chars.len()];
        SecretScan { chars, lower, masked }
    }

    /// Returns the beginning of the text, with an ellipsis for each masked part.
    fn text(&self) -> String {
        let mut out = String::new();
        for (at, c) in self.chars.iter().enumerate().take(MAX_TEXT) {
            match self.masked[at] {
                false => out.push(*c),
                true if at == 0 || !self.masked[at - 1] => out.push('…'),
                true => {}
            }
        }
        out
    }

    fn mask(&mut self, from: usize, to: usize) {
        let to = to.min(self.masked.len());
        if from < to {
            self.masked[from..to].fill(true);
        }
    }

    fn at(&self, at: usize) -> Option<char> {
        self.lower.get(at).copied()
    }

    fn is_alphanumeric(&self, at: usize) -> bool {
        self.at(at).is_some_and(char::is_alphanumeric)
    }

    /// Returns whether the text goes on with these characters.
    fn is_here(&self, at: usize, word: &str) -> bool {
        word.chars().enumerate().all(|(offset, c)| self.at(at + offset) == Some(c))
    }

    /// Returns the end of the word at a position: the next blank.
    fn word_end(&self, at: usize) -> usize {
        (at..self.chars.len()).find(|at| self.chars[*at].is_whitespace()).unwrap_or(self.chars.len())
    }

    /// Returns the position of the first character that is no blank; lines are left only if that is allowed.
    fn skip_blanks(&self, mut at: usize, over_lines: bool) -> usize {
        while self.at(at).is_some_and(|c| c.is_whitespace() && (over_lines || c != '\n')) {
            at += 1;
        }
        at
    }

    /// Returns whether a clause ends at a position: a new line, or a sign with a blank behind it.
    fn is_clause_end(&self, at: usize) -> bool {
        let is_last = self.at(at + 1).is_none_or(char::is_whitespace);
        match self.at(at) {
            None | Some('\n') => true,
            Some('.' | ';' | '!' | '?' | '。') => is_last,
            _ => false,
        }
    }

    /// Returns a word without the signs around it.
    fn bare(&self, from: usize, to: usize) -> String {
        let word: String = self.lower[from..to].iter().collect();
        word.trim_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '=' | ':')).to_owned()
    }

    /// Masks the passwords of `scheme://user:password@host` and `-u user:password`.
    fn mask_addresses(&mut self) {
        for at in 0..self.chars.len() {
            let start = match () {
                () if self.is_here(at, "://") => at + 3,
                () if self.is_here(at, "-u ") => self.skip_blanks(at + 3, false),
                () if self.is_here(at, "--user ") => self.skip_blanks(at + 7, false),
                () => continue,
            };
            let end = self.word_end(start);
            let is_address = self.is_here(at, "://");
            let host = if is_address { (start..end).rev().find(|at| self.chars[*at] == '@') } else { Some(end) };
            if let Some(host) = host
                && let Some(colon) = (start..host).find(|at| self.chars[*at] == ':')
            {
                self.mask(colon + 1, host);
            }
        }
    }

    /// Masks numbers of cards and bank accounts whose check digits are right.
    fn mask_numbers(&mut self) {
        for at in 0..self.chars.len() {
            if at > 0 && self.is_alphanumeric(at - 1) {
                continue;
            }
            let (mut signs, mut ends) = (String::new(), Vec::new());
            let mut next = at;
            while let Some(c) = self.at(next).filter(|_| signs.len() < 34) {
                if c.is_ascii_alphanumeric() {
                    signs.push(c);
                    ends.push(next + 1);
                } else if !matches!(c, ' ' | '-') || signs.is_empty() || !self.is_alphanumeric(next + 1) {
                    break;
                }
                next += 1;
            }
            // The longest that is right, and does not end within a word.
            let is_end = |length: &usize| !self.is_alphanumeric(ends[*length - 1]);
            let is_number = |length: &usize| is_account(&signs[..*length]) || is_card(&signs[..*length]);
            if let Some(length) = (13..=signs.len()).rev().filter(is_end).find(is_number) {
                self.mask(at, ends[length - 1]);
            }
        }
    }

    /// Masks what is written behind a name.
    fn mask_named(&mut self, name: &str, kind: NameKind) {
        let length = name.chars().count();
        for start in 0..self.chars.len() {
            if self.is_here(start, name)
                && let Some(end) = self.name_end(start, start + length, kind)
            {
                self.mask_value(end, kind, PHRASES.contains(&name));
            }
        }
    }

    /// Returns the end of a name, with what belongs to it; `None` if it is only a part of a word.
    fn name_end(&self, start: usize, mut end: usize, kind: NameKind) -> Option<usize> {
        if kind == NameKind::Unspaced {
            return Some(end);
        }
        let is_camel = |at: usize| at > 0 && self.chars[at].is_uppercase() && self.chars[at - 1].is_lowercase();
        if start > 0 && self.is_alphanumeric(start - 1) && !is_camel(start) {
            return None;
        }
        if self.at(end) == Some('s') {
            end += 1;
        }
        // `API_KEY_PROD=`
        let mut rest = end;
        while self.at(rest).is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '-')) {
            rest += 1;
        }
        (rest == end || matches!(self.at(rest), Some('=' | ':'))).then_some(rest)
    }

    /// Masks the secret behind the name that ends at a position.
    fn mask_value(&mut self, end: usize, kind: NameKind, is_phrase: bool) {
        let (mut at, mut is_said) = (end, false);
        // The sign that closes the quoted name: `"password": …`.
        if self.at(at).is_some_and(|c| matches!(c, '"' | '\'' | '`' | ']' | '*')) {
            at += 1;
        }
        loop {
            at = self.skip_blanks(at, is_said);
            let Some(c) = self.at(at) else { return };
            match c {
                '(' | '[' if !is_said => {
                    let close =
                        (at..self.chars.len().min(at + MAX_REMARK)).find(|at| matches!(self.chars[*at], ')' | ']'));
                    let Some(close) = close else { break };
                    at = close + 1;
                    continue;
                }
                ':' | '=' | '→' | '：' | '是' => {
                    (at, is_said) = (at + 1, true);
                    continue;
                }
                '-' | '>' if matches!(self.at(at + 1), Some('>' | ' ')) || is_said => {
                    (at, is_said) = (at + 1, true);
                    continue;
                }
                // The password is not in this clause, unless it looks like one.
                ',' | '\n' if !is_said => return self.mask_likely(at + 1),
                _ if self.is_clause_end(at) && !is_said => return self.mask_likely(at + 1),
                _ => {}
            }
            let stop = self.word_end(at);
            let word = self.bare(at, stop);
            let ends_clause = (at..stop).any(|at| self.is_clause_end(at));
            let (verb, colon) = (word.trim_end_matches([':', '=']), word.ends_with([':', '=']));
            if VERBS.contains(&verb) && !ends_clause {
                (at, is_said) = (stop, true);
            } else if LINKS.contains(&verb) && !ends_clause {
                (at, is_said) = (stop, is_said || colon);
            } else if PREPOSITIONS.contains(&verb)
                && !is_said
                && let Some(said) = self.said_after(stop)
            {
                self.mask_likely_until(stop, said);
                (at, is_said) = (said, true);
            } else if PREPOSITIONS.contains(&verb) && !ends_clause && !is_said {
                at = stop;
            } else {
                break;
            }
        }
        let stop = self.word_end(at);
        if !is_said && kind == NameKind::Weak {
            return self.mask_likely(at);
        }
        if let Some(close) = self.at(at).and_then(closing_quote) {
            let inside = at + 1;
            let quoted = (inside..self.chars.len()).find(|at| self.chars[*at] == close && self.chars[*at - 1] != '\\');
            return self.mask(inside, quoted.unwrap_or(self.chars.len()));
        }
        if is_phrase {
            let phrase = (at..self.chars.len()).find(|at| self.is_clause_end(*at)).unwrap_or(self.chars.len());
            return self.mask(at, phrase.max(stop));
        }
        self.mask(at, stop);
        self.mask_likely(stop);
    }

    /// Returns the position behind the next verb or colon of the clause, if it is near.
    fn said_after(&self, mut at: usize) -> Option<usize> {
        for _ in 0..MAX_BETWEEN {
            at = self.skip_blanks(at, false);
            let stop = self.word_end(at);
            if at == stop {
                return None;
            }
            let word: String = self.lower[at..stop].iter().collect();
            if VERBS.contains(&word.as_str()) || word.ends_with([':', '=']) {
                return Some(stop);
            }
            if (at..stop).any(|at| self.is_clause_end(at)) {
                return None;
            }
            at = stop;
        }
        None
    }

    /// Masks the words of a clause that look like secrets.
    fn mask_likely(&mut self, from: usize) {
        let start = self.skip_blanks(from, true);
        let end = (start..self.chars.len()).find(|at| self.is_clause_end(*at)).unwrap_or(self.chars.len());
        self.mask_likely_until(start, end);
    }

    fn mask_likely_until(&mut self, mut at: usize, end: usize) {
        while at < end {
            at = self.skip_blanks(at, true);
            let stop = self.word_end(at).min(end);
            let word: String = self.chars[at.min(stop)..stop].iter().collect();
            if is_likely_secret(&word) {
                self.mask(at, stop);
            }
            if word.ends_with(',') {
                return;
            }
            at = stop.max(at + 1);
        }
    }
}

/// Returns whether a word looks like a password: letters with digits or signs within, or a number that could be a pin.
fn is_likely_secret(word: &str) -> bool {
    let word = word.trim_matches(|c: char| matches!(c, '"' | '\'' | '`' | ',' | '.' | '(' | ')'));
    let count = |is: fn(char) -> bool| word.chars().filter(|c| is(*c)).count();
    let (digits, letters) = (count(|c| c.is_ascii_digit()), count(char::is_alphabetic));
    let signs = count(|c| "!@#$%^&*+=~".contains(c));
    let is_file = word.rsplit_once('.').is_some_and(|(_, kind)| (1..=5).contains(&kind.len()) && kind.is_ascii());
    let is_mixed = letters > 0 && digits + signs > 0 && digits + signs + letters >= 5;
    !is_file && !word.contains("://") && (is_mixed || (letters == 0 && digits >= 4))
}

fn closing_quote(open: char) -> Option<char> {
    Some(match open {
        '"' | '\'' | '`' => open,
        '“' | '„' => '”',
        '‘' => '’',
        '«' => '»',
        '「' => '」',
        _ => return None,
    })
}

/// Returns whether signs are the number of a bank account: a country, check digits, and a remainder of 1 by 97.
fn is_account(signs: &str) -> bool {
    let bytes = signs.as_bytes();
    let is_form = (15..=34).contains(&bytes.len())
        && bytes[..2].iter().all(u8::is_ascii_alphabetic)
        && bytes[2..4].iter().all(u8::is_ascii_digit);
    let number = |rest: u32, sign: char| match sign.to_digit(36) {
        Some(value) if value >= 10 => (rest * 100 + value) % 97,
        value => (rest * 10 + value.unwrap_or(0)) % 97,
    };
    is_form && signs[4..].chars().chain(signs[..4].chars()).fold(0, number) == 1
}

/// Returns whether signs are the number of a card, by the sum of their digits.
fn is_card(signs: &str) -> bool {
    if !(13..=19).contains(&signs.len()) || !signs.bytes().all(|byte| byte.is_ascii_digit()) {
        return false;
    }
    let digit = |(at, sign): (usize, char)| {
        let digit = sign.to_digit(10).unwrap_or(0);
        if at % 2 == 1 { digit * 2 / 10 + digit * 2 % 10 } else { digit }
    };
    signs.chars().rev().enumerate().map(digit).sum::<u32>().is_multiple_of(10) && signs.bytes().any(|byte| byte != b'0')
}

#[cfg(test)]
#[path = "redact_tests.rs"]
mod tests;
