//! Times as files write them: RFC 3339, in UTC.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Maximum time: the last that has a year of four digits.
const MAX_TIME: Duration = Duration::new(253_402_300_799, 999_000_000);

/// Writes a time to the millisecond. Texts of this kind sort like their times; a time before 1970 or after 9999 is
/// written as the nearest one within.
///
/// ```
/// use std::time::{Duration, UNIX_EPOCH};
///
/// let time = UNIX_EPOCH + Duration::from_millis(1_794_834_843_007);
/// assert_eq!(skillcue_base::rfc3339(time), "2026-11-16T13:14:03.007Z");
/// assert_eq!(skillcue_base::parse_rfc3339("2026-11-16T13:14:03.007Z"), Some(time));
/// ```
pub fn rfc3339(time: SystemTime) -> String {
    humantime::format_rfc3339_millis(writable(time)).to_string()
}

/// Writes a time to the second.
///
/// ```
/// assert_eq!(skillcue_base::rfc3339_seconds(std::time::UNIX_EPOCH), "1970-01-01T00:00:00Z");
/// ```
pub fn rfc3339_seconds(time: SystemTime) -> String {
    humantime::format_rfc3339_seconds(writable(time)).to_string()
}

/// Writes the day of a time.
///
/// ```
/// assert_eq!(skillcue_base::date(std::time::UNIX_EPOCH), "1970-01-01");
/// ```
pub fn date(time: SystemTime) -> String {
    let mut text = rfc3339_seconds(time);
    text.truncate("1970-01-01".len());
    text
}

/// Reads a time in UTC, from 1970 on; digits below a millisecond are left out.
///
/// ```
/// assert_eq!(skillcue_base::parse_rfc3339("2026-11-16"), None);
/// ```
pub fn parse_rfc3339(text: &str) -> Option<SystemTime> {
    // The crate takes a leap second for the second after, and a point without digits.
    let is_strict = text.strip_suffix('Z').is_some_and(|text| !text.ends_with('.') && text.get(17..19) != Some("60"));
    humantime::parse_rfc3339(text).ok().filter(|_| is_strict).map(whole_millis)
}

/// Returns a time rounded down to milliseconds, as its written form has it.
///
/// ```
/// use std::time::{Duration, UNIX_EPOCH};
///
/// assert_eq!(skillcue_base::whole_millis(UNIX_EPOCH + Duration::from_micros(1_999)), UNIX_EPOCH + Duration::from_millis(1));
/// ```
pub fn whole_millis(time: SystemTime) -> SystemTime {
    let since = writable(time).duration_since(UNIX_EPOCH).unwrap_or_default();
    UNIX_EPOCH + Duration::new(since.as_secs(), since.subsec_millis() * 1_000_000)
}

fn writable(time: SystemTime) -> SystemTime {
    UNIX_EPOCH + time.duration_since(UNIX_EPOCH).unwrap_or_default().min(MAX_TIME)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MAX_MILLIS: u64 = 253_402_300_800_000;

    #[test]
    fn known_times() {
        let at = |seconds| rfc3339(UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(at(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(at(951_782_399), "2000-02-28T23:59:59.000Z");
        assert_eq!(at(951_782_400), "2000-02-29T00:00:00.000Z");
        assert_eq!(at(1_709_210_096), "2024-02-29T12:34:56.000Z");
        assert_eq!(at(1_735_689_599), "2024-12-31T23:59:59.000Z");
        assert_eq!(at(4_107_542_400), "2100-03-01T00:00:00.000Z");
        assert_eq!(at(MAX_TIME.as_secs()), "9999-12-31T23:59:59.000Z");
        assert_eq!(at(MAX_TIME.as_secs() + 1), "9999-12-31T23:59:59.999Z", "the nearest that can be written");
        assert_eq!(rfc3339(UNIX_EPOCH - Duration::from_secs(1)), "1970-01-01T00:00:00.000Z");
    }

    #[test]
    fn invalid_times_are_refused() {
        for text in [
            "",
            "Z",
            "2026-11-16",
            "2026-11-16T13:14:03",
            "2026-11-16 13:14:03Z",
            "2026-11-16T13:14:03+01:00",
            "2026-11-16T13:14:03.Z",
            "2026-11-16T13:14:03.1aZ",
            "2026-11-31T13:14:03Z",
            "2026-02-29T13:14:03Z",
            "2026-13-01T13:14:03Z",
            "2026-00-01T13:14:03Z",
            "2026-11-16T24:00:00Z",
            "1969-12-31T23:59:59Z",
            "+026-11-16T13:14:03Z",
            "2026-11-16T13:14:0äZ",
        ] {
            assert_eq!(parse_rfc3339(text), None, "{text}");
        }
        assert_eq!(parse_rfc3339("1970-01-01T00:00:00.5Z"), Some(UNIX_EPOCH + Duration::from_millis(500)));
        assert_eq!(parse_rfc3339("1970-01-01T00:00:00.0019Z"), Some(UNIX_EPOCH + Duration::from_millis(1)));
    }

    proptest! {
        #[test]
        fn there_and_back(millis in 0..MAX_MILLIS) {
            let time = UNIX_EPOCH + Duration::from_millis(millis);
            prop_assert_eq!(parse_rfc3339(&rfc3339(time)), Some(time));
        }

        #[test]
        fn sorts_like_time(one in 0..MAX_MILLIS, other in 0..MAX_MILLIS) {
            let at = |millis| rfc3339(UNIX_EPOCH + Duration::from_millis(millis));
            prop_assert_eq!(one.cmp(&other), at(one).cmp(&at(other)));
        }

        #[test]
        fn any_text_is_read_without_trouble(text in "[0-9TZ:.ä-]{0,30}") {
            parse_rfc3339(&text);
        }
    }
}
