//! Addresses of artifacts: `oci://host/repository:tag@sha256:…`.

use std::fmt;

use skillcue_base::{Digest, Shown};

use crate::OriginError;

/// The beginning of an address.
pub(crate) const SCHEME: &str = "oci://";
/// The longest repository, in bytes.
const MAX_REPOSITORY: usize = 255;
/// The longest tag, in bytes.
const MAX_TAG: usize = 128;

/// The address of an artifact in an OCI registry.
///
/// ```
/// use skillcue_registry::OciReference;
///
/// let pdf = OciReference::parse("oci://GHCR.io/acme/skills/pdf:1.2")?;
/// assert_eq!((pdf.host(), pdf.repository(), pdf.tag()), ("ghcr.io", "acme/skills/pdf", Some("1.2")));
/// assert_eq!(OciReference::parse("oci://ghcr.io/acme/pdf")?.to_string(), "oci://ghcr.io/acme/pdf:latest");
/// assert!(OciReference::parse("oci://pdf").is_err(), "the host is never left out");
/// # Ok::<(), skillcue_registry::OriginError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OciReference {
    host: String,
    repository: String,
    tag: Option<String>,
    digest: Option<Digest>,
}

impl OciReference {
    /// Parses an address. Without a tag and a digest it means the tag `latest`.
    pub fn parse(text: &str) -> Result<OciReference, OriginError> {
        const HELP: &str = "write it as oci://HOST/REPOSITORY:TAG or oci://HOST/REPOSITORY@sha256:DIGEST";
        let wrong = |what: &str| {
            let address = skillcue_catalog::without_userinfo(text);
            OriginError::new(format!("{} is no address of an artifact: {what}", Shown(&address)), HELP)
        };
        let rest = text.strip_prefix(SCHEME).ok_or_else(|| wrong("it does not begin with oci://"))?;
        let (host, rest) = rest.split_once('/').ok_or_else(|| wrong("it has no repository"))?;
        let (rest, digest) = match rest.split_once('@') {
            Some((rest, digest)) => {
                let digits = digest.strip_prefix("sha256:").ok_or_else(|| wrong("its digest is no sha256"))?;
                (rest, Some(digits.parse().map_err(|_| wrong("its digest has not 64 hexadecimal digits"))?))
            }
            None => (rest, None),
        };
        let (repository, tag) = match rest.rsplit_once(':') {
            Some((repository, tag)) => (repository, Some(tag)),
            None => (rest, None),
        };
        let (name, port) = host
            .rsplit_once(':')
            .filter(|_| !host.ends_with(']'))
            .map_or((host, None), |(name, port)| (name, Some(port)));
        let is_name = name.starts_with('[')
            && name.ends_with(']')
            && name[1..name.len() - 1].parse::<std::net::Ipv6Addr>().is_ok()
            || !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-'));
        if !is_name || port.is_some_and(|port| port.parse::<u16>().is_err()) {
            return Err(wrong("its host is none"));
        }
        let is_part = |part: &str| {
            let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
            part.bytes().next().is_some_and(inner)
                && part.bytes().next_back().is_some_and(inner)
                && part.bytes().all(|byte| inner(byte) || matches!(byte, b'.' | b'_' | b'-'))
        };
        if repository.len() > MAX_REPOSITORY || !repository.split('/').all(is_part) {
            return Err(wrong("a repository has lower-case letters, digits, `.`, `_`, `-` and `/`"));
        }
        let is_tag = |tag: &str| {
            (1..=MAX_TAG).contains(&tag.len())
                && !tag.starts_with(['.', '-'])
                && tag.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'))
        };
        if tag.is_some_and(|tag| !is_tag(tag)) {
            return Err(wrong("a tag has letters, digits, `.`, `_` and `-`"));
        }
        let tag = tag.or_else(|| digest.is_none().then_some("latest")).map(str::to_owned);
        Ok(OciReference { host: host.to_ascii_lowercase(), repository: repository.to_owned(), tag, digest })
    }

    /// Returns the registry's host, with its port if that is not the usual one.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Returns the repository.
    pub fn repository(&self) -> &str {
        &self.repository
    }

    /// Returns the tag.
    pub fn tag(&self) -> Option<&str> {
        self.tag.as_deref()
    }

    /// Returns the digest that its manifest must have.
    pub fn digest(&self) -> Option<Digest> {
        self.digest
    }

    /// Returns the address of exactly this manifest.
    #[must_use]
    pub fn at(&self, digest: Digest) -> OciReference {
        OciReference { digest: Some(digest), ..self.clone() }
    }

    /// Returns the host and the repository, without tag and digest: another version is another one of the same.
    pub(crate) fn repository_address(&self) -> String {
        format!("{}/{}", self.host, self.repository)
    }

    /// Returns the last part of the repository.
    pub(crate) fn last_name(&self) -> &str {
        self.repository.rsplit('/').next().unwrap_or(&self.repository)
    }
}

impl fmt::Display for OciReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SCHEME}{}/{}", self.host, self.repository)?;
        if let Some(tag) = &self.tag {
            write!(f, ":{tag}")?;
        }
        match self.digest {
            Some(digest) => write!(f, "@sha256:{digest}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_about_an_address_shows_no_password() {
        for text in ["oci://bob:pw-word@ghcr.io/acme/pdf:1", "oci://bob:a/pw-word@ghcr.io/pdf"] {
            let message = OciReference::parse(text).unwrap_err().to_string();
            assert!(message.contains("ghcr.io") && !message.contains("pw-word"), "{message}");
        }
    }

    #[test]
    fn addresses_are_read_back() {
        let digest = Digest::of("x");
        for text in [
            "oci://ghcr.io/acme/pdf:1".to_owned(),
            "oci://127.0.0.1:5000/pdf:latest".to_owned(),
            "oci://[::1]:5000/a/b-c:v1.0_x".to_owned(),
            format!("oci://localhost/pdf@sha256:{digest}"),
            format!("oci://localhost:5000/pdf:v1@sha256:{digest}"),
        ] {
            assert_eq!(OciReference::parse(&text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn other_texts_are_no_addresses() {
        for text in [
            "oci://",
            "oci:///pdf",
            "oci://host",
            "oci://host/",
            "oci://host/Pdf",
            "oci://host/a//b",
            "oci://host/a/../b",
            "oci://host/pdf:",
            "oci://host/pdf:-x",
            "oci://host/pdf@sha256:12",
            "oci://host/pdf@md5:x",
            "oci://user@host/pdf",
            "oci://host:x/pdf",
            "oci://host/pdf?x=1",
            "oci://ho st/pdf",
            "https://host/pdf",
            "oci://host/pdf:a/b",
        ] {
            assert!(OciReference::parse(text).is_err(), "{text}");
        }
    }
}
