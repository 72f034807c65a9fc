//! Hexadecimal digits.

use std::fmt::Write as _;

/// Returns bytes as hexadecimal digits.
///
/// ```
/// assert_eq!(skillcue_base::hex(&[0, 171]), "00ab");
/// ```
pub fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}
