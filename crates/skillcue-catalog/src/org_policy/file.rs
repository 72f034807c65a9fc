//! The format of `policy.toml`, read strictly and with positions.

use serde::Deserialize;
use skillcue_base::{ErrorInfo, Shown};
use skillcue_format::{Severity, Span};
use toml::Spanned;

use super::origin::{OriginRule, SourceRule, is_source, source_words};
use super::{AuditRule, PolicyPart, RunRules, SkillRequirement};
use crate::{ContentId, NameGlob};

/// The largest policy file.
const MAX_POLICY: usize = 1 << 20;
/// The most entries of one list.
const MAX_ENTRIES: usize = 10_000;

/// The reason why a policy file cannot be used, with its place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, ErrorInfo)]
#[info(code = "policy", hint = "correct the file; until then nothing is open to models")]
#[error("{origin}:{}:{}: {message}", place.line, place.column)]
pub struct OrgPolicyError {
    /// The file, or the catalog that carries it.
    pub origin: String,
    /// A sentence on what is wrong.
    pub message: String,
    /// The line, the column and the width of what is wrong.
    pub place: Span,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PolicyFile {
    name: Option<String>,
    contact: Option<String>,
    sources: Option<AllowList>,
    publishers: Option<PublisherList>,
    #[serde(default)]
    forbid: ForbidLists,
    #[serde(default)]
    require: Vec<RequireEntry>,
    audit: Option<AuditSection>,
    #[serde(default)]
    run: RunPermissions,
}

type Words = Vec<Spanned<String>>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AllowList {
    allow: Words,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PublisherList {
    allow: Option<Words>,
    keys: Option<Words>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct ForbidLists {
    #[serde(default)]
    skills: Words,
    #[serde(default)]
    origins: Words,
    #[serde(default)]
    publishers: Words,
    #[serde(default)]
    digests: Words,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RequireEntry {
    name: Spanned<String>,
    source: Option<Spanned<String>>,
    digest: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AuditSection {
    refuse: Spanned<String>,
    #[serde(default)]
    exempt: Words,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct RunPermissions {
    scripts: Option<bool>,
    toolsets: Option<bool>,
    unsandboxed: Option<bool>,
}

/// Parses one file.
pub(super) fn parse(bytes: &[u8], origin: &str) -> Result<PolicyPart, OrgPolicyError> {
    let fail = |message: String, place: Span| OrgPolicyError { origin: origin.to_owned(), message, place };
    let start = Span { line: 1, column: 1, width: 1 };
    if bytes.len() > MAX_POLICY {
        return Err(fail("it is larger than 1 MiB".to_owned(), start));
    }
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text.strip_prefix('\u{feff}').unwrap_or(text),
        Err(error) => {
            let good = std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default();
            return Err(fail("it is not UTF-8 text".to_owned(), Span::of(good, good.len()..good.len(), 1)));
        }
    };
    let at = |span: std::ops::Range<usize>, message: String| fail(message, Span::of(text, span, 1));
    let file: PolicyFile = toml::from_str(text)
        .map_err(|error| at(error.span().unwrap_or(0..0), error.message().lines().next().unwrap_or("?").to_owned()))?;
    let reader = PolicyReader { at: &at };
    let mut part = PolicyPart {
        origin: origin.to_owned(),
        name: file.name,
        contact: file.contact,
        sources: file.sources.map(|list| reader.each(&list.allow, SourceRule::new)).transpose()?,
        forbidden_names: reader.each(&file.forbid.skills, str::parse::<NameGlob>)?,
        forbidden_origins: reader.each(&file.forbid.origins, OriginRule::new)?,
        forbidden_publishers: reader.each(&file.forbid.publishers, str::parse::<NameGlob>)?,
        forbidden_digests: reader.each(&file.forbid.digests, digest)?,
        // A permission that is not given is no restriction: the file says `false` where it restricts.
        run: RunRules {
            scripts: file.run.scripts == Some(false),
            toolsets: file.run.toolsets == Some(false),
            unsandboxed: file.run.unsandboxed == Some(false),
        },
        ..PolicyPart::default()
    };
    if let Some(list) = file.publishers {
        part.publishers = list.allow.map(|words| reader.each(&words, str::parse::<NameGlob>)).transpose()?;
        part.keys = list.keys.map(|words| reader.each(&words, key)).transpose()?;
    }
    if let Some(section) = file.audit {
        let refuse = reader.one(&section.refuse, |word| match word {
            "high" => Ok(Severity::Error),
            "medium" => Ok(Severity::Warning),
            "low" => Ok(Severity::Info),
            _ => Err("severities are high, medium and low".to_owned()),
        })?;
        let exempt = reader.each(&section.exempt, |word| {
            if is_source(word) { Ok(word.to_owned()) } else { Err(format!("sources are {}", words())) }
        })?;
        part.audit = Some(AuditRule { refuse, exempt });
    }
    for entry in file.require {
        part.required.push(SkillRequirement {
            name: reader.one(&entry.name, name)?,
            source: entry.source.map(|word| reader.one(&word, SourceRule::new)).transpose()?,
            digest: entry.digest.map(|word| reader.one(&word, digest)).transpose()?,
            policy: origin.to_owned(),
        });
    }
    Ok(part)
}

/// Turns words into values, with the place of the word in errors.
struct PolicyReader<'r> {
    at: &'r dyn Fn(std::ops::Range<usize>, String) -> OrgPolicyError,
}

impl PolicyReader<'_> {
    fn one<T>(&self, word: &Spanned<String>, read: impl Fn(&str) -> Result<T, String>) -> Result<T, OrgPolicyError> {
        read(word.get_ref()).map_err(|why| (self.at)(word.span(), format!("`{}`: {why}", Shown(word.get_ref()))))
    }

    fn each<T>(&self, words: &Words, read: impl Fn(&str) -> Result<T, String>) -> Result<Vec<T>, OrgPolicyError> {
        if let Some(word) = words.get(MAX_ENTRIES) {
            return Err((self.at)(word.span(), format!("a list has at most {MAX_ENTRIES} entries")));
        }
        words.iter().map(|word| self.one(word, &read)).collect()
    }
}

fn words() -> String {
    source_words().collect::<Vec<_>>().join(", ")
}

fn digest(word: &str) -> Result<ContentId, String> {
    let digits = word.strip_prefix("sha256:").unwrap_or(word);
    digits.parse().map_err(|_| "a digest is 64 hexadecimal digits, as a lock pins it".to_owned())
}

fn key(word: &str) -> Result<String, String> {
    let is_key =
        word.strip_prefix("ed25519:").is_some_and(|text| !text.is_empty() && !text.contains(char::is_whitespace));
    if is_key { Ok(word.to_owned()) } else { Err("a key is `ed25519:` and its text".to_owned()) }
}

fn name(word: &str) -> Result<String, String> {
    let is_name =
        (1..=256).contains(&word.len()) && !word.contains(|c: char| c.is_control() || c.is_whitespace() || c == '*');
    if is_name { Ok(word.to_owned()) } else { Err("a required skill is named in full".to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        parse(text.as_bytes(), "policy.toml").unwrap_err().to_string()
    }

    #[test]
    fn mistakes_have_their_place() {
        let cases = [
            ("[sources]\nallow = [\"usr\"]\n", "policy.toml:2:10: `usr`: `usr` is no source"),
            ("[sources]\nallow = \"user\"\n", "policy.toml:2:9: invalid type"),
            ("[source]\n", "policy.toml:1:2: unknown field `source`"),
            ("[forbid]\nskils = []\n", "policy.toml:2:1: unknown field `skils`"),
            ("[forbid]\nskills = [\"a[\"]\n", "policy.toml:2:11: `a[`: unclosed character class"),
            ("[forbid]\nskills = [\"\"]\n", "policy.toml:2:11: ``: it is empty"),
            ("[forbid]\ndigests = [\"abc\"]\n", "policy.toml:2:12: `abc`: a digest is 64 hexadecimal digits"),
            ("[audit]\nrefuse = \"severe\"\n", "policy.toml:2:10: `severe`: severities are"),
            ("[audit]\n", "policy.toml:1:1: missing field `refuse`"),
            ("[audit]\nrefuse = \"low\"\nexempt = [\"all\"]\n", "policy.toml:3:11: `all`: sources are"),
            ("[publishers]\nkeys = [\"rsa:x\"]\n", "policy.toml:2:9: `rsa:x`: a key is"),
            ("[[require]]\nname = \"*\"\n", "policy.toml:2:8: `*`: a required skill is named in full"),
            ("[run]\nscripts = 0\n", "policy.toml:2:11: invalid type"),
            ("a = \n", "policy.toml:1:5:"),
            ("name = 'x'\nname = 'y'\n", "policy.toml:2:1: duplicate key"),
        ];
        for (text, beginning) in cases {
            let said = error(text);
            assert!(said.starts_with(beginning), "{text:?}: {said}");
        }
        assert!(parse(b"name = '\xff'", "p").unwrap_err().message.contains("UTF-8"));
        assert!(parse(&vec![b'#'; MAX_POLICY + 1], "p").unwrap_err().message.contains("1 MiB"));
    }

    #[test]
    fn an_empty_file_is_a_policy_without_rules() {
        let part = parse(b"", "policy.toml").unwrap();
        assert_eq!(part, PolicyPart { origin: "policy.toml".to_owned(), ..PolicyPart::default() });
    }
}
