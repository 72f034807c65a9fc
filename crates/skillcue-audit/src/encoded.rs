//! Sentences in base64, base32, hexadecimal digits and rot13: people do not read them, models do.

use super::Rule;
use super::kind::ContentKind;
use super::patterns::{PatternHit, is_attack, patterns, regexes};
use super::rules::{ENCODED_ORDERS, ENCODED_PROSE};
use std::path::Path;

/// Minimum length of an encoded text that is decoded.
const MIN_LENGTH: usize = 32;
/// Maximum length that is decoded.
const MAX_LENGTH: usize = 16 << 10;
/// The number of letters that show whether the rest is text as well: a multiple of the letters that base64, base32 and
/// hexadecimal digits need for whole bytes.
const PROBE_LENGTH: usize = 24;
/// Maximum number of encodings of one text, one inside another.
const MAX_LAYERS: usize = 3;

patterns! {
    ENCODED_PROSE, rotated, "a sentence in rot13, which models read and people do not",
        ["vafgehpgvba", "cerivbhf", "vtaber", "nffvfgnag", "perqragvny", "cnffjbeq", "uggc", "pbairefngvba",
         "rkrphgr", "gur hfre", "frperg", "flfgrz"],
        r"\b(?:vafgehpgvbaf?|cerivbhf|vtaber|nffvfgnag|perqragvnyf?|cnffjbeqf?|uggcf?://|pbairefngvba|rkrphgr|gur\s+hfre|frpergf?|flfgrz)";
}

/// Judges a line with each letter replaced by the one 13 places on.
fn rotated(hit: &PatternHit<'_>) -> Option<&'static Rule> {
    if hit.kind == ContentKind::Binary {
        return None;
    }
    let line = [hit.line_before(), hit.line_after()].concat();
    let text: Vec<u8> = line.iter().map(|byte| rot13(*byte)).collect();
    if is_attack(&text, hit.path) {
        return Some(&ENCODED_ORDERS);
    }
    is_prose(&text).then_some(hit.rule)
}

fn rot13(byte: u8) -> u8 {
    match byte {
        b'a'..=b'm' | b'A'..=b'M' => byte + 13,
        b'n'..=b'z' | b'N'..=b'Z' => byte - 13,
        _ => byte,
    }
}

/// Returns whether a text is a sentence of English, by the small words that each has.
fn is_prose(text: &[u8]) -> bool {
    regexes!(SMALL = r"\b(?:the|and|you|your|this|that|with|from|for|not|must|will|all|are|is|to|of|in|it|user)\b");
    SMALL.as_ref().is_some_and(|small| small.find_iter(text).take(3).count() >= 3)
}

/// An encoded text: its position, the rule it breaks, the decoded text, and its encoding.
pub(super) struct EncodedText {
    pub(super) at: usize,
    pub(super) rule: &'static Rule,
    pub(super) text: String,
    pub(super) from: &'static str,
}

/// Returns a decoded text with its rule, if it is an order or a sentence.
fn judged_text((text, from): (String, &'static str), at: usize, path: &Path) -> Option<EncodedText> {
    let rule = if is_attack(text.as_bytes(), path) {
        Some(&ENCODED_ORDERS)
    } else {
        is_prose(text.as_bytes()).then_some(&ENCODED_PROSE)
    };
    rule.map(|rule| EncodedText { at, rule, text, from })
}

/// Returns encoded texts that are orders or sentences.
pub(super) fn find(window: &[u8], path: &Path) -> Vec<EncodedText> {
    let mut found = Vec::new();
    let is_letter = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    let mut at = 0;
    // From its end on, so that the words of an ordinary text are not read letter by letter.
    while let Some(start) = window.get(at..at + MIN_LENGTH) {
        if let Some(other) = start.iter().rposition(|byte| !is_letter(byte)) {
            at += other + 1;
            continue;
        }
        let run = window[at..].iter().position(|byte| !is_letter(byte)).unwrap_or(window.len() - at);
        let (end, letters) = wrapped(window, at, run);
        // Text of the same letters may be directly before it.
        if let Some((text, from)) = (0..4).find_map(|skip| decoded(letters.get(skip..)?, MAX_LAYERS)) {
            found.extend(judged_text((text, from), at, path));
        }
        at = end + 1;
    }
    found.extend(spaced(window, path));
    found
}

/// Maximum length of a group of letters in a text that is encoded with blanks in it. Longer ones are found as one run.
const MAX_GROUP: usize = MIN_LENGTH - 1;

/// Returns encoded texts in groups of a few letters: `SWdu b3Jl`, `49 67 6e`, `\x49\x67`, `0x49, 0x67`.
fn spaced(window: &[u8], path: &Path) -> Vec<EncodedText> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < window.len() {
        let Some((start, end)) = group(window, at) else { break };
        at = end;
        // Words of a language have no digits, nor capitals behind small letters.
        let letters = &window[start..end];
        let is_odd = letters.iter().any(u8::is_ascii_digit)
            || letters.windows(2).any(|two| two[0].is_ascii_lowercase() && two[1].is_ascii_uppercase());
        if !is_odd || letters.len() > MAX_GROUP {
            continue;
        }
        let (probed, probe) = groups(window, start, PROBE_LENGTH + 4);
        if probe.len() < MIN_LENGTH.min(PROBE_LENGTH + 4) || !(0..4).any(|skip| is_text_like(&probe[skip..])) {
            at = probed.max(end);
            continue;
        }
        let (end, letters) = groups(window, start, MAX_LENGTH);
        at = end;
        let text = (0..4).find_map(|skip| decoded(letters.get(skip..)?, MAX_LAYERS));
        found.extend(text.and_then(|text| judged_text(text, start, path)));
    }
    found
}

/// Returns where the next group of letters starts and ends.
fn group(window: &[u8], at: usize) -> Option<(usize, usize)> {
    let is_letter = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    let start = at + window[at..].iter().position(is_letter)?;
    let end = window[start..].iter().position(|byte| !is_letter(byte)).map_or(window.len(), |length| start + length);
    Some((start, end))
}

/// Returns the letters of the groups from `start` on, up to `max`, without prefixes such as `0x`, and where they end.
fn groups(window: &[u8], start: usize, max: usize) -> (usize, Vec<u8>) {
    let (mut letters, mut end) = (Vec::new(), start);
    while letters.len() < max {
        let Some((next, next_end)) = group(window, end) else { break };
        let gap = &window[end..next];
        let is_gap = gap.len() <= 3 && gap.iter().all(|byte| b" \n\\,:-|".contains(byte));
        if !is_gap || next_end - next > MAX_GROUP {
            break;
        }
        let is_escaped = next > 0 && window[next - 1] == b'\\';
        let mut group = &window[next..next_end];
        if let Some(digits) = group.strip_prefix(b"0x") {
            group = digits;
        } else if is_escaped {
            group = group.strip_prefix(b"x").or(group.strip_prefix(b"u00")).unwrap_or(group);
        }
        letters.extend_from_slice(group);
        end = next_end;
    }
    (end, letters)
}

/// Returns whether the first letters decode to text, in any of the encodings.
fn is_text_like(letters: &[u8]) -> bool {
    let Some(probe) = letters.get(..PROBE_LENGTH) else { return false };
    let is_text = |byte: &u8| matches!(byte, b' '..=b'~' | b'\n');
    DECODERS.iter().any(|(_, decode)| {
        let start = decode(probe);
        start.len() >= PROBE_LENGTH / 2 && start.iter().all(is_text)
    })
}

/// Returns the letters of a run with those of the lines that continue it, and where they end.
fn wrapped(window: &[u8], start: usize, run: usize) -> (usize, Vec<u8>) {
    let mut letters = window[start..start + run].to_vec();
    let mut end = start + run;
    while letters.len() < MAX_LENGTH {
        let gap = window[end..].iter().take(8).position(u8::is_ascii_alphanumeric).unwrap_or(8);
        let next = &window[(end + gap).min(window.len())..];
        let more = next.iter().position(|byte| !byte.is_ascii_alphanumeric() && !b"+/".contains(byte));
        let more = more.unwrap_or(next.len());
        let joined = gap < 8 && more > 0 && window[end..end + gap].contains(&b'\n');
        if !joined || !window[end..end + gap].iter().all(|byte| b" \n\"'\\+>".contains(byte)) {
            break;
        }
        letters.extend_from_slice(&next[..more]);
        end += gap + more;
    }
    (end, letters)
}

type Decoder = fn(&[u8]) -> Vec<u8>;

/// The encodings, in this order: hexadecimal digits are letters of the other two as well, and those of base32 are
/// letters of base64.
const DECODERS: [(&str, Decoder); 3] =
    [("hexadecimal digits", bytes_of_digits), ("base32", bytes_of_base32), ("base64", bytes_of_base64)];

/// Returns the text that the letters decode to, if it is text, and their encoding. At most `layers` encodings, one
/// inside another, are decoded.
fn decoded(letters: &[u8], layers: usize) -> Option<(String, &'static str)> {
    let letters = &letters[..letters.len().min(MAX_LENGTH)];
    let probe = letters.get(..PROBE_LENGTH)?;
    DECODERS.iter().find_map(|(from, decode)| {
        let is_text = |byte: &u8| matches!(byte, b' '..=b'~' | b'\t' | b'\n' | b'\r' | 0x80..);
        let start = decode(probe);
        let [mut even, mut odd] = [0, 1].map(|first| start.iter().skip(first).step_by(2));
        let (low, high) = (even.clone().all(is_text), odd.clone().all(is_text));
        if start.is_empty() {
            return None;
        }
        let bytes = if low && high {
            decode(letters)
        } else if low && odd.all(|byte| *byte == 0) {
            // UTF-16, in which one byte of each character is 0 in English.
            narrowed(&decode(letters), 0)
        } else if high && even.all(|byte| *byte == 0) {
            narrowed(&decode(letters), 1)
        } else {
            return None;
        };
        // Letters that follow the text decode to any bytes.
        let text = match std::str::from_utf8(&bytes) {
            Ok(text) => text,
            Err(error) => std::str::from_utf8(&bytes[..error.valid_up_to()]).ok()?,
        };
        let text = text.split(|c: char| c.is_control() && !c.is_whitespace()).next().unwrap_or_default();
        if text.contains(' ') {
            return (text.len() >= PROBE_LENGTH / 2).then(|| (text.to_owned(), *from));
        }
        let inner: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
        let end = inner.iter().position(|byte| !byte.is_ascii_alphanumeric() && !b"+/".contains(byte));
        let (text, _) = decoded(&inner[..end.unwrap_or(inner.len())], layers.checked_sub(1)?)?;
        Some((text, "several layers"))
    })
}

/// Returns the characters of UTF-16 whose other byte is 0.
fn narrowed(bytes: &[u8], at: usize) -> Vec<u8> {
    bytes.chunks_exact(2).take_while(|pair| pair[1 - at] == 0).map(|pair| pair[at]).collect()
}

/// Decodes hexadecimal digits, up to the first letter that is not one.
fn bytes_of_digits(letters: &[u8]) -> Vec<u8> {
    let value = |byte: &u8| char::from(*byte).to_digit(16);
    let byte = |pair: &[u8]| u8::try_from(value(&pair[0])? << 4 | value(&pair[1])?).ok();
    letters.chunks_exact(2).map_while(byte).collect()
}

/// Decodes base32 in the case of its first letter, up to the first letter that does not belong to it.
fn bytes_of_base32(letters: &[u8]) -> Vec<u8> {
    let is_lower = letters.iter().find(|byte| byte.is_ascii_alphabetic()).is_some_and(u8::is_ascii_lowercase);
    let first = if is_lower { b'a' } else { b'A' };
    let value = |byte: &u8| match byte {
        b'2'..=b'7' => Some(u64::from(byte - b'2' + 26)),
        byte if (first..first + 26).contains(byte) => Some(u64::from(byte - first)),
        _ => None,
    };
    let mut bytes = Vec::with_capacity(letters.len() / 8 * 5);
    for eight in letters.chunks(8) {
        let values: Vec<u64> = eight.iter().map_while(value).collect();
        let bits = values.iter().fold(0, |bits, value| bits << 5 | value) << (5 * (8 - values.len()));
        bytes.extend_from_slice(&bits.to_be_bytes()[3..][..values.len() * 5 / 8]);
        if values.len() < eight.len() {
            break;
        }
    }
    bytes
}

/// Decodes base64.
fn bytes_of_base64(letters: &[u8]) -> Vec<u8> {
    let value = |byte: &u8| match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let mut bytes = Vec::with_capacity(letters.len() / 4 * 3);
    for four in letters.chunks(4).filter(|four| four.len() > 1) {
        let bits = four.iter().fold(0_u32, |bits, byte| bits << 6 | u32::from(value(byte))) << (6 * (4 - four.len()));
        let [_, first, second, third] = bits.to_be_bytes();
        bytes.extend_from_slice(&[first, second, third][..four.len() - 1]);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_decoded_with_and_without_its_end() {
        for (letters, text) in [("aGVsbG8", "hello"), ("aGVsbG8h", "hello!"), ("aGVsbA", "hell")] {
            assert_eq!(bytes_of_base64(letters.as_bytes()), text.as_bytes());
        }
    }

    #[test]
    fn base32_and_digits_are_decoded_up_to_other_letters() {
        for (letters, text) in [("NBSWY3DP", "hello"), ("nbswy3dpee", "hello!"), ("NBSWY3DP=x", "hello")] {
            assert_eq!(bytes_of_base32(letters.as_bytes()), text.as_bytes(), "{letters}");
        }
        for (letters, text) in [("68656c6c6f", "hello"), ("68656C6C6", "hell"), ("6865xx", "he")] {
            assert_eq!(bytes_of_digits(letters.as_bytes()), text.as_bytes(), "{letters}");
        }
    }
}
