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
    fn a_host_in_the_user_part_is_no_publisher() {
        assert_eq!(publisher_of("https://git.acme.example@evil.example/x").as_deref(), Some("evil.example/x"));
        let rule = SourceRule::new("installed:https://git.acme.example/*").unwrap();
        let of = |origin| PolicySubject { source: "installed", origin: Some(origin), ..PolicySubject::default() };
        assert!(rule.matches(&of("https://GIT.acme.example/team/x.git")));
        assert!(!rule.matches(&of("https://git.acme.example@evil.example/x")));
        assert!(!rule.matches(&of("https://git.acme.example.evil.example/x")));
    }
}
