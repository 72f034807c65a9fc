//! Times as files write them, in UTC.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;
/// Days before 1970, counted from the first day of the year 0.
const BEFORE_1970: u64 = 719_528;
/// The last second that four digits of a year can write.
const LAST: u64 = (3_652_425 - BEFORE_1970) * DAY - 1;

/// A time by the calendar and the clock on the wall, in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Civil {
    /// The year, from 1970 to 9999.
    pub year: u64,
    /// The month, from 1.
    pub month: u64,
    /// The day of the month, from 1.
    pub day: u64,
    /// The hour.
    pub hour: u64,
    /// The minute.
    pub minute: u64,
    /// The second.
    pub second: u64,
    /// The millisecond.
    pub millis: u64,
}

impl Civil {
    /// A time; the nearest that can be written, if it is before 1970 or after 9999.
    pub fn of(time: SystemTime) -> Civil {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or_default().min(Duration::new(LAST, 999_000_000));
        let (days, rest) = (since.as_secs() / DAY + BEFORE_1970, since.as_secs() % DAY);
        // 400 years are 146,097 days. The guess is never more than a year off.
        let mut year = days * 400 / 146_097;
        while days_before(year) > days {
            year -= 1;
        }
        while days_before(year + 1) <= days {
            year += 1;
        }
        let mut day = days - days_before(year);
        let mut month = 1;
        while day >= days_of(year, month) {
            day -= days_of(year, month);
            month += 1;
        }
        Civil {
            year,
            month,
            day: day + 1,
            hour: rest / HOUR,
            minute: rest % HOUR / MINUTE,
            second: rest % MINUTE,
            millis: u64::from(since.subsec_millis()),
        }
    }

    /// The way back; nothing for what is in no calendar.
    pub fn time(self) -> Option<SystemTime> {
        let Civil { year, month, day, hour, minute, second, millis } = self;
        let exists = (1970..=9999).contains(&year)
            && (1..=12).contains(&month)
            && (1..=days_of(year, month)).contains(&day)
            && hour < 24
            && minute < 60
            && second < 60;
        let days = || days_before(year) + (1..month).map(|month| days_of(year, month)).sum::<u64>() + day - 1;
        exists.then(|| {
            let seconds = (days() - BEFORE_1970) * DAY + hour * HOUR + minute * MINUTE + second;
            UNIX_EPOCH + Duration::from_secs(seconds) + Duration::from_millis(millis)
        })
    }

    /// The day, as in `2026-11-16`.
    pub fn date(self) -> String {
        format!("{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

/// How many days there are from the beginning of the year 0, which is a leap year, to that of `year`.
fn days_before(year: u64) -> u64 {
    365 * year + year.div_ceil(4) - year.div_ceil(100) + year.div_ceil(400)
}

fn days_of(year: u64, month: u64) -> u64 {
    match month {
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// A time as RFC 3339 writes it: in UTC, to the millisecond. Texts of this kind sort like the times they stand for.
///
/// ```
/// use std::time::{Duration, UNIX_EPOCH};
///
/// let time = UNIX_EPOCH + Duration::from_millis(1_794_834_843_007);
/// assert_eq!(skillcue_catalog::rfc3339(time), "2026-11-16T13:14:03.007Z");
/// assert_eq!(skillcue_catalog::parse_rfc3339("2026-11-16T13:14:03.007Z"), Some(time));
/// ```
pub fn rfc3339(time: SystemTime) -> String {
    let civil = Civil::of(time);
    let Civil { hour, minute, second, millis, .. } = civil;
    format!("{}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z", civil.date())
}

/// Reads a time in UTC as RFC 3339 writes it, from 1970 on; what is finer than a millisecond is left out.
pub fn parse_rfc3339(text: &str) -> Option<SystemTime> {
    let (head, fraction) = text.strip_suffix('Z')?.split_at_checked(19)?;
    let digits = |from: usize, to: usize| {
        let part = head.get(from..to)?;
        part.bytes().all(|byte| byte.is_ascii_digit()).then(|| part.parse::<u64>().ok())?
    };
    let marks = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':')];
    if !marks.iter().all(|&(at, mark)| head.as_bytes().get(at) == Some(&mark)) {
        return None;
    }
    let millis = match fraction.strip_prefix('.') {
        Some(digits) if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            digits.bytes().chain(*b"00").take(3).fold(0, |millis, byte| millis * 10 + u64::from(byte - b'0'))
        }
        None if fraction.is_empty() => 0,
        _ => return None,
    };
    let (year, month, day) = (digits(0, 4)?, digits(5, 7)?, digits(8, 10)?);
    Civil { year, month, day, hour: digits(11, 13)?, minute: digits(14, 16)?, second: digits(17, 19)?, millis }.time()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn known_times() {
        let at = |seconds| rfc3339(UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(at(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(at(951_782_399), "2000-02-28T23:59:59.000Z");
        assert_eq!(at(951_782_400), "2000-02-29T00:00:00.000Z");
        assert_eq!(at(1_709_210_096), "2024-02-29T12:34:56.000Z");
        assert_eq!(at(1_735_689_599), "2024-12-31T23:59:59.000Z");
        assert_eq!(at(4_107_542_400), "2100-03-01T00:00:00.000Z");
        assert_eq!(at(LAST), "9999-12-31T23:59:59.000Z");
        assert_eq!(at(LAST + 1), "9999-12-31T23:59:59.999Z", "the nearest that can be written");
        assert_eq!(rfc3339(UNIX_EPOCH - Duration::from_secs(1)), "1970-01-01T00:00:00.000Z");
    }

    #[test]
    fn what_is_no_time_is_refused() {
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

    #[test]
    fn every_day_of_400_years_follows_the_one_before() {
        let mut last = Civil::of(UNIX_EPOCH);
        for day in 1..=146_097 {
            let next = Civil::of(UNIX_EPOCH + Duration::from_secs(day * DAY));
            let (same_month, same_year) = (next.month == last.month, next.year == last.year);
            let follows = if same_month {
                same_year && next.day == last.day + 1
            } else {
                let new_year = next.year == last.year + 1 && (last.month, next.month, last.day) == (12, 1, 31);
                next.day == 1 && last.day >= 28 && (new_year || (same_year && next.month == last.month + 1))
            };
            assert!(follows, "{last:?} {next:?}");
            last = next;
        }
    }

    proptest! {
        #[test]
        fn there_and_back(millis in 0..LAST * 1000) {
            let time = UNIX_EPOCH + Duration::from_millis(millis);
            prop_assert_eq!(parse_rfc3339(&rfc3339(time)), Some(time));
        }

        #[test]
        fn sorts_like_time(one in 0..LAST * 1000, other in 0..LAST * 1000) {
            let at = |millis| rfc3339(UNIX_EPOCH + Duration::from_millis(millis));
            prop_assert_eq!(one.cmp(&other), at(one).cmp(&at(other)));
        }

        #[test]
        fn any_text_is_read_without_trouble(text in "[0-9TZ:.ä-]{0,30}") {
            parse_rfc3339(&text);
        }
    }
}
