//! Skills and their files as URIs, and back.
//!
//! A skill's URI is `skill://<prefix>/<name>`: the prefix is the path of its directory below its root, the last segment
//! is its name, whatever its directory is called. Names are unique among the skills that count, so a URI finds its
//! skill by name, and the prefix is only compared. The skill `acme:refunds` of a catalog is at `skill://acme/refunds`,
//! unless a skill on this machine is there.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt::Write as _;
use std::path::Component;

use skillcue::{Catalog, Skill};
use skillcue_catalog::uri;

/// The start of every URI of a skill.
pub(super) const SCHEME: &str = "skill://";

/// Returns the prefix of a skill: the directories between its root and its own. `None`, if they are not UTF-8; such a
/// skill cannot be requested.
pub(super) fn prefix(skill: &Skill) -> Option<Vec<String>> {
    let dir = skill.dir();
    let mut segments: Vec<String> = skill.server().map(str::to_owned).into_iter().collect();
    let Ok(below) = dir.strip_prefix(&skill.root().path) else { return Some(segments) };
    for component in below.components() {
        if let Component::Normal(segment) = component {
            segments.push(segment.to_str()?.to_owned());
        }
    }
    segments.pop();
    Some(segments)
}

/// Returns the last segment of a skill's URI: its name, without that of its catalog.
fn last_segment(skill: &Skill) -> &str {
    let own = |server| skill.name().strip_prefix(server)?.strip_prefix(':');
    skill.server().and_then(own).unwrap_or(skill.name())
}

/// Returns prefix and name, separated by `/`, not encoded.
pub(super) fn path(skill: &Skill) -> Option<String> {
    let mut segments = prefix(skill)?;
    segments.push(last_segment(skill).to_owned());
    Some(segments.join("/"))
}

/// Returns the URI of a skill's directory, without a slash at its end.
pub(super) fn root(skill: &Skill) -> Option<String> {
    Some(of_segments(prefix(skill)?.iter().map(String::as_str).chain([last_segment(skill)])))
}

/// Returns the URI of these segments.
pub(super) fn of_segments<'s>(segments: impl IntoIterator<Item = &'s str>) -> String {
    let mut uri = String::from("skill:/");
    for segment in segments {
        uri.push('/');
        encode(segment, &mut uri);
    }
    uri
}

/// Returns the URI of a file below a skill's root.
pub(super) fn below(root: &str, path: &str) -> String {
    let mut uri = String::with_capacity(root.len() + path.len() + 8);
    uri.push_str(root);
    for segment in path.split('/') {
        uri.push('/');
        encode(segment, &mut uri);
    }
    uri
}

/// Writes a segment percent-encoded, except for the unreserved characters of RFC 3986.
fn encode(segment: &str, uri: &mut String) {
    for byte in segment.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            uri.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(uri, "%{byte:02X}");
        }
    }
}

/// The segments of a URI, each decoded once.
#[derive(Debug)]
pub(super) struct UriParts<'u> {
    segments: Vec<Cow<'u, str>>,
}

/// Why a URI means no file of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum BadUri {
    /// It is no URI of ours.
    Foreign,
    /// It tries to lead out of the skills; the problem with it.
    Attack(&'static str),
}

/// Parses a URI. A refusal here has not been logged yet.
pub(super) fn parse(uri: &str) -> Result<UriParts<'_>, BadUri> {
    let Some(rest) = uri.strip_prefix(SCHEME) else {
        let is_file = uri.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("file:"));
        return Err(if is_file {
            BadUri::Attack("it is a file's URI, not a skill's")
        } else if is_path(uri) {
            BadUri::Attack("it is a path, not a skill's URI")
        } else {
            BadUri::Foreign
        });
    };
    if rest.contains(['?', '#']) {
        return Err(BadUri::Foreign);
    }
    if rest.starts_with('/') {
        return Err(BadUri::Attack("it is an absolute path"));
    }
    let segments: Vec<_> = rest.split('/').map(uri::decode_once).collect();
    // A segment with escapes comes back as another text, unless they are not UTF-8.
    if segments.iter().any(|segment| matches!(segment, Cow::Borrowed(text) if text.contains('%'))) {
        return Err(BadUri::Attack("its escapes are not UTF-8"));
    }
    if segments.iter().any(|segment| is_encoded_again(segment)) {
        return Err(BadUri::Attack("it is encoded more than once"));
    }
    Ok(UriParts { segments })
}

/// Returns whether a text without a scheme is a path that leads out: absolute, of a home, of a drive, or one that
/// climbs.
fn is_path(text: &str) -> bool {
    let is_drive = matches!(text.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic());
    let climbs = || !text.contains("://") && text.split(['/', '\\']).any(|part| part == "..");
    text.starts_with(['/', '\\', '~']) || is_drive || climbs()
}

/// Returns whether a segment that was decoded once would become dangerous if it were decoded again.
fn is_encoded_again(segment: &str) -> bool {
    let mut text = Cow::Borrowed(segment);
    // Each round takes away at least two characters, and no text is encoded four times by accident.
    for _ in 0..4 {
        let next = uri::decode_once(&text).into_owned();
        if next == *text {
            return false;
        }
        if matches!(next.as_str(), "." | "..") || next.contains(['/', '\\', '\0']) {
            return true;
        }
        text = Cow::Owned(next);
    }
    true
}

impl UriParts<'_> {
    /// Returns the skills whose directory the URI may be below, innermost first, each with the path below it.
    pub(super) fn candidates<'c>(
        &self,
        catalog: &'c Catalog,
        is_served: impl Fn(&Skill) -> bool,
    ) -> Vec<(&'c Skill, String)> {
        let mut found = Vec::new();
        for at in (0..self.segments.len()).rev() {
            let is_here = |skill: &&Skill| {
                prefix(skill).is_some_and(|prefix| {
                    prefix.len() == at && prefix.iter().zip(&self.segments).all(|(own, asked)| own == asked)
                })
            };
            let here = catalog.named(&self.segments[at]).next().filter(is_here);
            // A skill on this machine goes first, whether it is served or not: files of two are never mixed.
            let of_catalog = || {
                let name = format!("{}:{}", self.segments[0], self.segments[at]);
                catalog.named(&name).next().filter(|skill| skill.server().is_some()).filter(is_here)
            };
            if let Some(skill) = here.or_else(of_catalog).filter(|skill| is_served(skill)) {
                found.push((skill, self.segments[at + 1..].join("/")));
            }
        }
        found
    }

    /// Returns the problem with a URI that belongs to no skill, if it looks like more than a mistake.
    pub(super) fn suspicion(&self) -> Option<&'static str> {
        let any = |is_bad: fn(&str) -> bool| self.segments.iter().any(|segment| is_bad(segment));
        if any(|segment| segment.contains('\0')) {
            Some("it holds a NUL character")
        } else if any(|segment| segment.contains('\\')) {
            Some("it holds a backslash")
        } else if any(|segment| segment.split('/').any(|part| part == "..")) {
            Some("it climbs out of the skills")
        } else {
            None
        }
    }

    /// Returns whether it is below one of these paths, or is one of them.
    pub(super) fn is_below(&self, paths: &HashSet<String>) -> bool {
        let mut path = String::new();
        self.segments.iter().any(|segment| {
            if !path.is_empty() {
                path.push('/');
            }
            path.push_str(segment);
            paths.contains(&path)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{BadUri, below, parse};

    #[test]
    fn encodes_what_is_not_plain() {
        assert_eq!(below("skill://a/b", "x y/ü%.md"), "skill://a/b/x%20y/%C3%BC%25.md");
    }

    #[test]
    fn a_name_with_a_percent_sign_is_no_attack() {
        assert!(parse("skill://pdf/100%25.md").is_ok());
        assert!(parse("skill://pdf/a%2520b.md").is_ok(), "a file called `a%20b.md`");
    }

    #[test]
    fn refuses_what_is_hidden_below_a_second_encoding() {
        for uri in
            ["skill://pdf/%252e%252e/x", "skill://pdf/a%252f..%252fx", "skill://%25252e%25252e/x", "skill://pdf/%255c"]
        {
            assert!(matches!(parse(uri), Err(BadUri::Attack(_))), "{uri}");
        }
    }

    #[test]
    fn other_schemes_are_not_ours() {
        for foreign in ["https://example.com/", "https://example.com/a/../b", "", "pdf", "pdf/SKILL.md", "mailto:x"] {
            assert_eq!(parse(foreign).unwrap_err(), BadUri::Foreign, "{foreign}");
        }
        for path in ["/etc/passwd", "\\\\host\\x", "~/.ssh/id_rsa", "C:\\x", "c:/x", "../../etc/passwd", "a\\..\\b"] {
            assert!(matches!(parse(path), Err(BadUri::Attack(_))), "{path}");
        }
        assert!(matches!(parse("skill://pdf/%c0%ae%c0%ae/x"), Err(BadUri::Attack(_))));
        assert!(parse("skill://pdf/100%.md").is_ok(), "a percent sign alone is no escape");
        assert!(matches!(parse("FILE:///etc/passwd"), Err(BadUri::Attack(_))));
        assert!(matches!(parse("skill:///etc/passwd"), Err(BadUri::Attack(_))));
    }
}
