//! Percent-encoding, undone exactly once.
//!
//! Resources arrive as URIs (`skill://docs/pdf/name%20with%20space.md`), files are opened by path. To turn
//! the one into the other, decode with [`decode_once`] and hand the result to a [`SkillDir`](crate::SkillDir),
//! which checks the path and decodes nothing. Decoding twice is the classical hole: `%252e%252e` would pass
//! a check as `%2e%2e` and climb afterwards as `..`.

use std::borrow::Cow;

/// Decodes the `%XX` escapes of a URI's path, once.
///
/// An escape that is not two hexadecimal digits stays as it is. If the decoded bytes are not UTF-8 nothing is
/// decoded: no path can name such a file, so it will simply not be found.
///
/// The result is *not* safe to open by itself; only [`SkillDir`](crate::SkillDir) makes it so.
///
/// ```
/// use skillcue_catalog::uri::decode_once;
///
/// assert_eq!(decode_once("name%20with%20space.md"), "name with space.md");
/// assert_eq!(decode_once("%252e%252e/x"), "%2e%2e/x");
/// assert_eq!(decode_once("100%"), "100%");
/// assert_eq!(decode_once("%zz%4"), "%zz%4");
/// assert_eq!(decode_once("%ff.md"), "%ff.md");
/// ```
pub fn decode_once(text: &str) -> Cow<'_, str> {
    if !text.contains('%') {
        return Cow::Borrowed(text);
    }
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        if let Some(byte) = escape_at(bytes, at) {
            decoded.push(byte);
            at += 3;
        } else {
            decoded.push(bytes[at]);
            at += 1;
        }
    }
    String::from_utf8(decoded).map_or(Cow::Borrowed(text), Cow::Owned)
}

fn escape_at(bytes: &[u8], at: usize) -> Option<u8> {
    let [b'%', high, low] = bytes.get(at..at + 3)? else {
        return None;
    };
    let high = char::from(*high).to_digit(16)?;
    let low = char::from(*low).to_digit(16)?;
    u8::try_from(high * 16 + low).ok()
}

#[cfg(test)]
mod tests {
    use super::decode_once;

    #[test]
    fn decodes_multibyte_characters() {
        assert_eq!(decode_once("gr%C3%B6%c3%9Fe"), "größe");
    }

    #[test]
    fn decodes_escapes_that_the_checks_must_then_refuse() {
        assert_eq!(decode_once("%2e%2e%2fsecret%00"), "../secret\0");
    }

    #[test]
    fn borrows_when_there_is_nothing_to_do() {
        assert!(matches!(decode_once("a/b.md"), std::borrow::Cow::Borrowed(_)));
    }
}
