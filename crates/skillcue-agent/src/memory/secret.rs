//! What must not be remembered: passwords, keys, numbers of cards.

/// How keys of well-known services begin.
#[rustfmt::skip]
const PREFIXES: &[&str] = &[
    "sk-", "sk_", "pk_", "rk_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "xoxa-", "xoxb-",
    "xoxp-", "xoxr-", "xoxs-", "akia", "asia", "aiza", "eyj", "hf_", "npm_", "pypi-", "ya29.", "dop_v1_", "shpat_",
];

/// Words beside which a secret stands, whatever else is said, alone or in a longer word.
#[rustfmt::skip]
const STRONG: &[&str] = &[
    "password", "passwort", "passwört", "kennwort", "kennwört", "passphrase", "passcode", "passwd", "pwd", "apikey",
    "credential", "zugangsdaten", "logindaten", "anmeldedaten", "geheimzahl", "geheimnummer", "losungswort", "codewort",
    "mädchenname", "safeword",
];

/// The same in several words.
#[rustfmt::skip]
const STRONG_PHRASES: &[&[&str]] = &[
    &["api", "key"], &["private", "key"], &["secret", "key"], &["access", "key"], &["access", "token"],
    &["auth", "token"], &["bearer", "token"], &["api", "token"], &["api", "schlüssel"], &["recovery", "phrase"],
    &["seed", "phrase"], &["maiden", "name"], &["log", "in", "with"], &["log", "in", "as"], &["logged", "in", "with"],
    &["sign", "in", "with"], &["sign", "in", "as"], &["unlock", "it", "with"], &["melde", "mich", "mit"],
    &["logge", "mich", "mit"],
];

/// Words beside which one stands if they are said to be something.
#[rustfmt::skip]
const WEAK: &[&str] = &[
    "pin", "pins", "pass", "passes", "token", "tokens", "secret", "secrets", "key", "keys", "schlüssel", "schluessel",
    "pw", "login", "logins", "logon", "zugang", "otp", "totp", "2fa", "mfa", "cvv", "cvc", "tan", "puk", "iban", "ssn",
    "geheimnis", "seed", "mnemonic", "combination", "kombination", "kontonummer", "kartennummer", "kreditkarte",
    "sozialversicherungsnummer", "rentenversicherungsnummer", "krankenversicherungsnummer", "steuernummer", "steuerid",
    "ausweisnummer", "personalausweisnummer", "reisepassnummer", "kreditkartennummer",
];

/// The same in several words.
#[rustfmt::skip]
const WEAK_PHRASES: &[&[&str]] = &[
    &["social", "security"], &["account", "number"], &["card", "number"], &["routing", "number"], &["tax", "id"],
    &["passport", "number"], &["insurance", "number"], &["licence", "number"], &["license", "number"],
    &["credit", "card"], &["debit", "card"], &["security", "answer"], &["steuer", "id"],
];

/// What makes a code one of those, before or behind it. Otherwise it may be a program.
#[rustfmt::skip]
const CODES: &[&str] = &[
    "door", "gate", "entry", "access", "security", "alarm", "backup", "recovery", "verification", "confirmation",
    "unlock", "secret", "safe", "house", "garage", "phone", "lock", "sort", "word", "phrase", "tür", "haus", "alarm",
    "sicherheits", "zugangs", "geheimer", "number", "pin", "zahlen",
];

/// What, behind `key`, makes it mean something else.
#[rustfmt::skip]
const KEY_WHAT: &[&str] = &[
    "customer", "customers", "account", "accounts", "person", "people", "point", "points", "feature", "features", "part",
    "goal", "goals", "contact", "contacts", "idea", "metric", "metrics", "stakeholder", "stakeholders", "concern",
];

/// What says that something is so.
#[rustfmt::skip]
const IS: &[&str] = &[
    "is", "are", "was", "were", "s", "equals", "reads", "goes", "ist", "lautet", "lauten", "sind", "war", "heißt",
    "heisst", "=", ":",
];

/// What ends what a word is said to be.
const ENDS: &[&str] = &["and", "but", "because", "und", "aber", "weil"];

/// How far from the word it is looked for.
const NEAR: usize = 6;

/// Whether a text looks as if a secret stood in it. In doubt, it does.
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

/// Whether a word may be the name of a secret.
fn is_weak(words: &[&str], at: usize) -> bool {
    let beside = |at: Option<usize>, list: &[&str]| {
        at.and_then(|at| words.get(at)).is_some_and(|word| list.iter().any(|other| word.starts_with(other)))
    };
    match words[at] {
        "key" | "keys" => !beside(Some(at + 1), KEY_WHAT),
        "code" | "codes" => {
            let digits = words[at + 1..].iter().take(NEAR).any(|word| has_digits(word, 1));
            digits || beside(at.checked_sub(1), CODES) || beside(Some(at + 1), CODES)
        }
        // Whatever is joined to it, as Germans do. `VSCode` is none of them.
        word => {
            let codes = word.strip_suffix("code").is_some_and(|kind| CODES.contains(&kind) || kind.ends_with("tür"));
            codes || WEAK.contains(&word) || (word.len() > 5 && (word.ends_with("pin") || word.ends_with("schlüssel")))
        }
    }
}

/// Whether what stands there is said to be something, before or behind it.
fn is_said(words: &[&str], at: usize) -> bool {
    let behind = &words[at + 1..];
    let is = behind.iter().take(NEAR).take_while(|word| !ENDS.contains(word)).any(|word| IS.contains(word));
    let number = || behind.iter().take(NEAR).any(|word| has_digits(word, 3));
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

/// Whether a word looks random.
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

/// Whether it has large letters, small letters and digits.
fn is_mixed(part: &str) -> bool {
    part.bytes().any(|byte| byte.is_ascii_uppercase())
        && part.bytes().any(|byte| byte.is_ascii_lowercase())
        && part.bytes().any(|byte| byte.is_ascii_digit())
}

/// Whether the number of a card, of an account or of a person stands in it.
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

/// Whether an account's number begins there: two letters, two digits, and eleven to thirty of either, in groups or not.
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
        if number.len() >= 15 && ((digits >= 10 && in_fours) || is_right(&number)) {
            return true;
        }
    }
    false
}

/// Whether the check digits of an account's number fit.
fn is_right(number: &[u8]) -> bool {
    let rotated = number[4..].iter().chain(&number[..4]);
    let rest = rotated.fold(0, |rest: u32, byte| match char::from(*byte).to_digit(36).unwrap_or_default() {
        digit @ 0..10 => (rest * 10 + digit) % 97,
        letter => (rest * 100 + letter) % 97,
    });
    rest == 1
}

#[cfg(test)]
mod tests {
    use super::looks_secret;

    #[test]
    fn secrets_are_seen() {
        for text in [
            "My password is hunter2",
            "my Passwort: geheim",
            "Mein Kennwort lautet Sommer",
            "I use sk-proj-abcdefgh12345678 for this",
            "my key is (ghp_16C7e42F292c6912E7710c838347Ae178B4a)",
            "my AWS id is AKIAIOSFODNN7EXAMPLE",
            "I have wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY here",
            "My token: abc",
            "My PIN is 1234",
            "the API key of my project is foo",
            "my id is 550e8400-e29b-41d4-a716-446655440000",
            "My hash is d41d8cd98f00b204e9800998ecf8427e",
            "I sign with eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0In0.abc",
            "My card is 4111 1111 1111 1111",
            "-----BEGIN OPENSSH PRIVATE KEY-----",
            "I log in at https://example.org/?token=a8Kd93jdKLsk29Dk2l",
            "Mein WLAN-Passwort kennt jeder",
            "Our Bankkennwörter",
            "My key for the server is abcdef",
            "My pin's swordfish",
            "Swordfish is my secret",
            "I use swordfish as my pass",
            "My pin, as always, 1234",
            "My house code is blue",
            "Mein Türcode ist blau",
            "Mein Haustürcode ist blau",
            "Mein Zugangscode ist blau",
            "Die Bankpin ist blau",
            "DE89370400440532013000",
            "de89 3704 0044 0532 0130 00 is where I get paid",
            "I get paid at GB82WEST12345698765432",
            "I get paid at GB82-WEST-1234-5698-7654-32",
            "I am 078-05-1120",
            "I pay with 4111 1111 1111 1111 12/27",
            "I pay with 3782.822463.10005",
        ] {
            assert!(looks_secret(text), "{text}");
        }
    }

    #[test]
    fn what_people_say_is_none() {
        for text in [
            "My name is Alice",
            "I work on skillcue-agent in /home/alice/projects/2026/skillcue",
            "My site is https://example.org/blog/2026/11/16/internationalisation",
            "Our key customer is ACME",
            "I count tokens",
            "I was born on 1990-05-17",
            "My number is +49 151 2345678",
            "I use a counterrevolutionary_configuration_file_name",
            "We call it sk-learn",
            "My number is 0049 151 23456789",
            "I work on the token counter",
            "Our code is written in Rust",
            "I live in DE12 of the game",
            "I was there from 2019 to 2021",
            "My servers are 10.0.0.1 and 10.0.0.2",
            "My name is Spinelli",
            "My editor is VSCode",
            "VSCode is my editor",
        ] {
            assert!(!looks_secret(text), "{text}");
        }
    }
}
