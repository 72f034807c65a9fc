//! Rules about sources, and the publishers of addresses.

use std::fmt;

use super::PolicySubject;
use crate::{NameGlob, Source};

/// The words of sources that rules may name beside those of [`Source`].
pub(super) const FURTHER_SOURCES: [&str; 1] = ["installed"];

/// A source that is allowed: `user`, or `installed:https://git.acme.example/*` with a glob over the origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SourceRule {
    word: String,
    origin: Option<NameGlob>,
}

impl SourceRule {
    pub(super) fn new(text: &str) -> Result<SourceRule, String> {
        let (word, origin) = text.split_once(':').map_or((text, None), |(word, glob)| (word, Some(glob)));
        if !is_source(word) {
            let words: Vec<&str> = source_words().collect();
            return Err(format!("`{word}` is no source; sources are {}", words.join(", ")));
        }
        Ok(SourceRule { word: word.to_owned(), origin: origin.map(str::parse).transpose()? })
    }

    pub(super) fn matches(&self, subject: &PolicySubject<'_>) -> bool {
        self.word == subject.source
            && self.origin.as_ref().is_none_or(|glob| subject.origin.is_some_and(|origin| glob.matches(origin)))
    }
}

impl fmt::Display for SourceRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.word)?;
        match &self.origin {
            Some(glob) => write!(f, ":{}", skillcue_base::Shown(glob.as_str())),
            None => Ok(()),
        }
    }
}

/// An origin that is forbidden: a glob over addresses, with or without the word of a source before it. What is no such word
/// is part of an address, as in `https://host/*` and `git@host:path`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum OriginRule {
    Address(NameGlob),
    Of(SourceRule),
}

impl OriginRule {
    pub(super) fn new(text: &str) -> Result<OriginRule, String> {
        match text.split_once(':') {
            Some((word, _)) if is_source(word) => SourceRule::new(text).map(OriginRule::Of),
            _ => text.parse().map(OriginRule::Address),
        }
    }

    pub(super) fn matches(&self, subject: &PolicySubject<'_>) -> bool {
        match self {
            OriginRule::Address(glob) => subject.origin.is_some_and(|origin| glob.matches(origin)),
            OriginRule::Of(rule) => rule.matches(subject),
        }
    }
}

impl fmt::Display for OriginRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OriginRule::Address(glob) => write!(f, "{}", skillcue_base::Shown(glob.as_str())),
            OriginRule::Of(rule) => rule.fmt(f),
        }
    }
}

/// Returns the words of all sources.
pub(super) fn source_words() -> impl Iterator<Item = &'static str> {
    Source::ALL.into_iter().map(Source::as_str).chain(FURTHER_SOURCES)
}

/// Returns whether a word is one of a source.
pub(super) fn is_source(word: &str) -> bool {
    source_words().any(|known| known == word)
}

/// Returns the publisher of an address, one spelling for all: the host in lower case and the path on it, without user, `.git`,
/// directory and version. `None` for what is on this machine.
///
/// ```
/// use skillcue_catalog::publisher_of;
///
/// for address in ["https://GitHub.com/acme/skills.git//pdf@v1", "git@github.com:acme/skills.git", "ssh://git@github.com/acme/skills"] {
///     assert_eq!(publisher_of(address).as_deref(), Some("github.com/acme/skills"));
/// }
/// assert_eq!(publisher_of("oci://ghcr.io/acme/pdf:1.0").as_deref(), Some("ghcr.io/acme/pdf"));
/// assert_eq!(publisher_of("/home/ann/pdf"), None);
/// ```
pub fn publisher_of(origin: &str) -> Option<String> {
    if let Some((scheme, rest)) = origin.split_once("://") {
        if scheme.contains('/') || scheme.eq_ignore_ascii_case("file") {
            return None;
        }
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
        let path = path.split_once("//").map_or(path, |(repository, _)| repository);
        let path = path.split(['?', '#', '@']).next().unwrap_or_default();
        // A port is part of the host; behind a path, a colon begins a tag.
        let path = if scheme.eq_ignore_ascii_case("oci") { path.split(':').next().unwrap_or_default() } else { path };
        return Some(joined(host, path)).filter(|publisher| !publisher.is_empty());
    }
    if origin.starts_with(['/', '.']) {
        return None;
    }
    let (host, path) = origin.split_once(':').filter(|(host, _)| !host.contains('/'))?;
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    let path = path.split_once("//").map_or(path, |(repository, _)| repository);
    Some(joined(host, path.split('@').next().unwrap_or_default()))
}

/// Returns an address without user and password, by its text alone: also of an address that cannot be parsed, which is shown
/// in the message about it.
///
/// ```
/// use skillcue_catalog::without_userinfo;
///
/// assert_eq!(without_userinfo("https://bob:secret@host:99999/x"), "https://host:99999/x");
/// assert_eq!(without_userinfo("oci://ghcr.io/acme/pdf@sha256:00"), "oci://ghcr.io/acme/pdf@sha256:00");
/// ```
pub fn without_userinfo(address: &str) -> String {
    let (scheme, rest) = address.find("://").map_or(("", address), |at| address.split_at(at + 3));
    let end = rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len());
    // A password may itself have a slash or a question mark in it: then what seems to be a port is no number.
    let port = rest[..end].rsplit_once(':').map(|(_, port)| port);
    let is_cut_short = !rest[..end].contains('@')
        && port.is_some_and(|port| !port.is_empty() && !port.ends_with(']') && port.parse::<u32>().is_err());
    let within = if is_cut_short { rest } else { &rest[..end] };
    // Behind a digest's `@` there is no host. Without a scheme, `git@host:path` names a user, and no password.
    let at = within.rmatch_indices('@').map(|(at, _)| at).find(|at| !rest[at + 1..].starts_with("sha256:"));
    let at = at.filter(|at| !scheme.is_empty() || within[..*at].contains(':'));
    match at {
        Some(at) => format!("{scheme}{}", &rest[at + 1..]),
        None => address.to_owned(),
    }
}

fn joined(host: &str, path: &str) -> String {
    let path = path.trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path);
    let host = host.to_ascii_lowercase();
    if path.is_empty() { host } else { format!("{host}/{path}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn publishers_have_one_spelling() {
        let cases = [
            ("https://user:secret@git.acme.example:8443/team/skills.git@main", "git.acme.example:8443/team/skills"),
            ("oci://registry.acme.example:5000/skills/pdf@sha256:00", "registry.acme.example:5000/skills/pdf"),
            ("oci://127.0.0.1:5000/pdf:v1", "127.0.0.1:5000/pdf"),
            ("https://skills.acme.example/mcp", "skills.acme.example/mcp"),
            ("https://skills.acme.example", "skills.acme.example"),
            ("s3://bucket/catalog", "bucket/catalog"),
        ];
        for (origin, publisher) in cases {
            assert_eq!(publisher_of(origin).as_deref(), Some(publisher), "{origin}");
        }
        for origin in ["./pdf", "/srv/pdf.zip", "file:///srv/skills.git", "pdf"] {
            assert_eq!(publisher_of(origin), None, "{origin}");
        }
    }

    #[test]
    fn no_spelling_of_an_address_shows_its_password() {
        for address in [
            "https://bob:pw-word@host:99999/x",
            "https://bob:pw-word@exa mple/x",
            "https://bob:a/pw-word@host/x",
            "https://bob:a?pw-word@host/x",
            "https://bob:p@pw-word@host/x",
            "s3://bob:pw-word@bucket/x",
            "oci://bob:pw-word@ghcr.io/acme/pdf",
            "oci://bob:pw-word@ghcr.io/acme/pdf@sha256:00",
            "bob:pw-word@h",
        ] {
            assert!(!without_userinfo(address).contains("pw-word"), "{address}: {}", without_userinfo(address));
        }
        for address in [
            "https://host:8443/a@b/c",
            "git@github.com:acme/skills.git",
            "oci://[::1]:5000/pdf@sha256:00",
            "https://[::1]/x@y",
            "file:///srv/a@b",
            "./a@b",
        ] {
            assert_eq!(without_userinfo(address), address);
        }
    }

    #[test]
    fn a_forbidden_origin_may_name_a_source() {
        let of = |source, origin| PolicySubject { source, origin: Some(origin), ..PolicySubject::default() };
        let matches = |rule: &str, source, origin| OriginRule::new(rule).unwrap().matches(&of(source, origin));
        assert!(matches("installed:/srv/*", "installed", "/srv/src"));
        assert!(!matches("installed:/srv/*", "user", "/srv/src"));
        assert!(matches("/srv/*", "user", "/srv/src"));
        assert!(matches("git@host:*", "installed", "git@host:acme/x"));
        assert!(matches("https://host/*", "mcp", "https://host/x"));
        assert!(OriginRule::new("installed:").is_err());
        assert_eq!(OriginRule::new("installed:/srv/*").unwrap().to_string(), "installed:/srv/*");
    }

    #[test]
    fn a_host_in_the_user_part_is_no_publisher() {
        assert_eq!(publisher_of("https://git.acme.example@evil.example/x").as_deref(), Some("evil.example/x"));
        let rule = SourceRule::new("installed:https://git.acme.example/*").unwrap();
        let of = |origin| PolicySubject { source: "installed", origin: Some(origin), ..PolicySubject::default() };
        assert!(rule.matches(&of("https://GIT.acme.example/team/x.git")));
        assert!(!rule.matches(&of("https://git.acme.example@evil.example/x")));
        assert!(!rule.matches(&of("https://git.acme.example.evil.example/x")));
    }
}
