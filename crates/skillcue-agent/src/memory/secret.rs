//! Secrets, which must not be remembered: passwords, keys, numbers of cards.

/// Beginnings of the keys of well-known services.
#[rustfmt::skip]
const PREFIXES: &[&str] = &[
    "sk-", "sk_", "pk_", "rk_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "xoxa-", "xoxb-",
    "xoxp-", "xoxr-", "xoxs-", "akia", "asia", "aiza", "eyj", "hf_", "npm_", "pypi-", "ya29.", "dop_v1_", "shpat_",
];

/// Words beside which there is a secret, whatever else is said, alone or in a longer word.
#[rustfmt::skip]
const STRONG: &[&str] = &[
    "password", "passwort", "passwört", "kennwort", "kennwört", "passphrase", "passcode", "passwd", "pwd", "apikey",
    "credential", "zugangsdaten", "logindaten", "anmeldedaten", "geheimzahl", "geheimnummer", "losungswort", "codewort",
    "mädchenname", "safeword",
];

/// Like [`STRONG`], of several words.
#[rustfmt::skip]
const STRONG_PHRASES: &[&[&str]] = &[
    &["api", "key"], &["private", "key"], &["secret", "key"], &["access", "key"], &["access", "token"],
    &["auth", "token"], &["bearer", "token"], &["api", "token"], &["api", "schlüssel"], &["recovery", "phrase"],
    &["seed", "phrase"], &["maiden", "name"], &["log", "in", "with"], &["log", "in", "as"], &["logged", "in", "with"],
    &["sign", "in", "with"], &["sign", "in", "as"], &["unlock", "it", "with"], &["melde", "mich", "mit"],
    &["logge", "mich", "mit"],
];

/// Words beside which there is a secret if they are said to be something.
#[rustfmt::skip]
const WEAK: &[&str] = &[
    "pin", "pins", "pass", "passes", "token", "tokens", "secret", "secrets", "key", "keys", "schlüssel", "schluessel",
    "pw", "login", "logins", "logon", "zugang", "otp", "totp", "2fa", "mfa", "cvv", "cvc", "tan", "puk", "iban", "ssn",
    "geheimnis", "seed", "mnemonic", "combination", "kombination", "kontonummer", "kartennummer", "kreditkarte",
    "sozialversicherungsnummer", "rentenversicherungsnummer", "krankenversicherungsnummer", "steuernummer", "steuerid",
    "ausweisnummer", "personalausweisnummer", "reisepassnummer", "kreditkartennummer",
];

/// Like [`WEAK`], of several words.
#[rustfmt::skip]
const WEAK_PHRASES: &[&[&str]] = &[
    &["social", "security"], &["account", "number"], &["card", "number"], &["routing", "number"], &["tax", "id"],
    &["passport", "number"], &["insurance", "number"], &["licence", "number"], &["license", "number"],
    &["credit", "card"], &["debit", "card"], &["security", "answer"], &["steuer", "id"],
];

/// Words that make a code a secret, before or behind it. Otherwise it may be a program.
#[rustfmt::skip]
const CODES: &[&str] = &[
    "door", "gate", "entry", "access", "security", "alarm", "backup", "recovery", "verification", "confirmation",
    "unlock", "secret", "safe", "house", "garage", "phone", "lock", "sort", "word", "phrase", "tür", "haus", "alarm",
    "sicherheits", "zugangs", "geheimer", "number", "pin", "zahlen",
];

/// Words behind `key` that make it mean something else.
#[rustfmt::skip]
const KEY_NOUNS: &[&str] = &[
    "customer", "customers", "account", "accounts", "person", "people", "point", "points", "feature", "features", "part",
    "goal", "goals", "contact", "contacts", "idea", "metric", "metrics", "stakeholder", "stakeholders", "concern",
];

/// Words that say that something is so.
#[rustfmt::skip]
const IS: &[&str] = &[
    "is", "are", "was", "were", "s", "equals", "reads", "goes", "ist", "lautet", "lauten", "sind", "war", "heißt",
    "heisst", "=", ":",
];

/// Words that begin another clause.
const CLAUSE_ENDS: &[&str] = &["and", "but", "because", "und", "aber", "weil"];

/// The most words between a word and what it is said to be.
const MAX_DISTANCE: usize = 6;

/// Returns whether a text looks as if a secret were in it. In doubt, it does.
pub(super) fn looks_secret(text: &str) -> bool {
    text.contains("-----BEGIN") || names_one(text) || text.split_whitespace().any(is_token) || has_number(text)
}

fn names_one(text: &str) -> bool {
    // `:` and `=` are words, beside others or apart from them.
    let lower = text.to_lowercase().replace(':', " : ").replace('=', " = ");
    let separates = |c: char| !c.is_alphanumeric() && c != ':' && c != '=';
    let words: Vec<&str> = lower.split(separates).filter(|word| !word.is_empty()).collect();
    let any_at = |at: usize, phrases: &[&[&str]]| phrases.iter().any(|phrase| words[at..].starts_with(phrase));
    (0..words.len()).any(|at| {
        STRONG.iter().any(|strong| words[at].contains(strong))
            || any_at(at, STRONG_PHRASES)
            || ((is_weak(&words, at) || any_at(at, WEAK_PHRASES)) && is_said(&words, at))
    })
}

/// Returns whether a word may be the name of a secret.
fn is_weak(words: &[&str], at: usize) -> bool {
    let beside = |at: Option<usize>, list: &[&str]| {
        at.and_then(|at| words.get(at)).is_some_and(|word| list.iter().any(|other| word.starts_with(other)))
    };
    match words[at] {
        "key" | "keys" => !beside(Some(at + 1), KEY_NOUNS),
        "code" | "codes" => {
            let digits = words[at + 1..].iter().take(MAX_DISTANCE).any(|word| has_digits(word, 1));
            digits || beside(at.checked_sub(1), CODES) || beside(Some(at + 1), CODES)
        }
        // Whatever is joined to it, as Germans do. `VSCode` is none of them.
        word => {
            let codes = word.strip_suffix("code").is_some_and(|kind| CODES.contains(&kind) || kind.ends_with("tür"));
            codes || WEAK.contains(&word) || (word.len() > 5 && (word.ends_with("pin") || word.ends_with("schlüssel")))
        }
    }
}

/// Returns whether the word there is said to be something, before or behind it.
fn is_said(words: &[&str], at: usize) -> bool {
    let behind = &words[at + 1..];
    let is =
        behind.iter().take(MAX_DISTANCE).take_while(|word| !CLAUSE_ENDS.contains(word)).any(|word| IS.contains(word));
    let number = || behind.iter().take(MAX_DISTANCE).any(|word| has_digits(word, 3));
    // `Swordfish is my secret`, `I use swordfish as pass`.
    let before = || {
        let near = &words[at.saturating_sub(4)..=at];
        let own = ["my", "our", "the", "a", "mein", "meine", "unser", "unsere", "der", "die"];
        near.windows(2).any(|pair| {
            let is = IS.contains(&pair[0]) && own.contains(&pair[1]);
            is || (["as", "als"].contains(&pair[0]) && (own.contains(&pair[1]) || pair[1] == words[at]))
        })
    };
    is || number() || before()
}

fn has_digits(word: &str, least: usize) -> bool {
    word.chars().filter(char::is_ascii_digit).count() >= least
}

/// Returns whether a word looks random.
fn is_token(word: &str) -> bool {
    let separates = |c: char| !c.is_ascii_alphanumeric() && !matches!(c, '_' | '-' | '+');
    let trimmed = word.trim_matches(|c: char| !c.is_alphanumeric());
    let lower = trimmed.to_ascii_lowercase();
    let starts = PREFIXES.iter().any(|prefix| {
        let rest = lower.strip_prefix(prefix).unwrap_or_default();
        rest.len() >= 8 && rest.bytes().any(|byte| byte.is_ascii_digit()) || rest.len() >= 16
    });
    // A path or an address is made of words, and is judged by them.
    starts || trimmed.split(separates).any(is_random) || (!is_path(word) && trimmed.len() >= 32 && is_mixed(trimmed))
}

fn is_path(word: &str) -> bool {
    word.contains("://") || word.starts_with(['/', '~', '.'])
}

fn is_random(part: &str) -> bool {
    let digits = part.bytes().filter(u8::is_ascii_digit).count();
    let letters = part.bytes().filter(u8::is_ascii_alphabetic).count();
    (part.len() >= 16 && is_mixed(part)) || (part.len() >= 20 && digits >= 3 && letters >= 1)
}

/// Returns whether a text has large letters, small letters and digits.
fn is_mixed(part: &str) -> bool {
    part.bytes().any(|byte| byte.is_ascii_uppercase())
        && part.bytes().any(|byte| byte.is_ascii_lowercase())
        && part.bytes().any(|byte| byte.is_ascii_digit())
}

/// Returns whether the number of a card, of an account or of a person is in a text.
fn has_number(text: &str) -> bool {
    let dash = |c: char| matches!(c, '-' | '.' | '/' | '_' | '\u{2010}'..='\u{2015}');
    let other = |c: char| !c.is_ascii_digit() && !c.is_whitespace() && !dash(c) && c != '+';
    let many = text.split(other).any(|run| {
        let digits = run.chars().filter(char::is_ascii_digit).count();
        // Those of telephones begin otherwise, and are shorter than those of accounts.
        let run = run.trim();
        let telephone = (run.starts_with('+') || run.starts_with("00")) && digits <= 16;
        digits >= 13 && !telephone
    });
    let groups: Vec<&str> = text.split(|c: char| !c.is_alphanumeric()).filter(|group| !group.is_empty()).collect();
    let of_digits = |group: &str, count| group.len() == count && group.bytes().all(|byte| byte.is_ascii_digit());
    let person =
        groups.windows(3).any(|groups| of_digits(groups[0], 3) && of_digits(groups[1], 2) && of_digits(groups[2], 4));
    many || person || (0..groups.len()).any(|at| is_iban(&groups[at..]))
}

/// Returns whether an account's number begins there: two letters, two digits, and eleven to thirty of either, in groups or not.
fn is_iban(groups: &[&str]) -> bool {
    let first = groups[0].as_bytes();
    let begins = first.len() >= 4
        && first[..2].iter().all(u8::is_ascii_alphabetic)
        && first[2..4].iter().all(u8::is_ascii_digit)
        && first.iter().all(u8::is_ascii_alphanumeric);
    let mut number = Vec::new();
    let (mut digits, mut in_fours) = (0, true);
    for group in groups.iter().take_while(|group| begins && group.is_ascii()) {
        in_fours &= group.len() <= 4;
        number.extend(group.bytes());
        digits += group.bytes().filter(u8::is_ascii_digit).count();
        if number.len() > 34 {
            return false;
        }
        // With so many digits, it need not even be right.
        if number.len() >= 15 && ((digits >= 10 && in_fours) || has_right_digits(&number)) {
            return true;
        }
    }
    false
}

/// Returns whether the check digits of an account's number fit.
fn has_right_digits(number: &[u8]) -> bool {
    let rotated = number[4..].iter().chain(&number[..4]);
    let rest = rotated.fold(0, |rest: u32, byte| match char::from(*byte).to_digit(36).unwrap_or_default() {
        digit @ 0..10 => (rest * 10 + digit) % 97,
        letter => (rest * 100 + letter) % 97,
    });
    rest == 1
}
