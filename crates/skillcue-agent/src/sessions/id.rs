//! Ids of sessions: short to type, and sorted by when they began.

use std::time::SystemTime;

use skillcue_base::rfc3339_seconds;

/// Letters and digits that are not taken for one another. There are 32, so that each byte gives one evenly.
const LETTERS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";

/// The most bytes of an id. Those that we make are shorter.
const MAX_LENGTH: usize = 64;

/// Makes a new id, as `20261116-1254-k3f9`.
pub(super) fn make(created: SystemTime) -> Result<String, getrandom::Error> {
    let mut random = [0; 4];
    getrandom::fill(&mut random)?;
    let time = rfc3339_seconds(created);
    let (date, minute) = (time[..10].replace('-', ""), time[11..16].replace(':', ""));
    let random: String = random.iter().map(|byte| char::from(LETTERS[usize::from(byte % 32)])).collect();
    Ok(format!("{date}-{minute}-{random}"))
}

/// Returns whether an id may become the name of a file.
pub(super) fn is_valid(id: &str) -> bool {
    let letters = id.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
    letters && !id.is_empty() && id.len() <= MAX_LENGTH
}

/// Returns the id that a file is named after.
pub(super) fn of_file(name: &str) -> Option<&str> {
    name.strip_suffix(".jsonl").filter(|id| is_valid(id))
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;

    #[test]
    fn an_id_says_when_and_is_valid() {
        let id = make(UNIX_EPOCH + Duration::from_secs(1_794_834_843)).unwrap();
        assert!(id.starts_with("20261116-1314-"), "{id}");
        assert_eq!(id.len(), 18, "{id}");
        assert!(is_valid(&id), "{id}");
        assert_eq!(of_file(&format!("{id}.jsonl")), Some(id.as_str()));
    }

    #[test]
    fn nothing_else_becomes_a_path() {
        let long = "a".repeat(MAX_LENGTH + 1);
        for bad in ["", ".", "..", "../x", "a/b", "a.b", "A", "ä", "a b", "a\0", "a_b", &long] {
            assert!(!is_valid(bad), "{bad}");
            assert_eq!(of_file(&format!("{bad}.jsonl")), None, "{bad}");
        }
        assert_eq!(of_file("a"), None);
        assert_eq!(of_file("a.json"), None);
    }
}
