//! Digests as the extension writes them.

use skillcue_base::Digest;

/// Returns the SHA-256 of some bytes: `sha256:` and 64 hexadecimal digits.
///
/// ```
/// let empty = skillcue_mcp::digest(b"");
/// assert_eq!(empty, "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
/// ```
pub fn digest(bytes: &[u8]) -> String {
    format!("sha256:{}", Digest::of(bytes))
}

/// Returns the hexadecimal digits of a digest.
pub(crate) fn digits(digest: &str) -> &str {
    digest.strip_prefix("sha256:").unwrap_or(digest)
}
