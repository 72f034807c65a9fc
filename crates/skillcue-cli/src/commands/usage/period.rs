//! Periods as people write them: `12h`, `30d`, `8w`, a date, `all`.

use std::fmt;
use std::str::FromStr;
use std::time::{Duration, SystemTime};

use skillcue_base::parse_rfc3339;

/// A time up to now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Period {
    /// All of it.
    All,
    /// The last hours, with the text that they were written as.
    Hours(u64, String),
    /// Since a day.
    Day(SystemTime, String),
}

impl Period {
    /// Returns when it starts; `None` if it has always lasted.
    pub(super) fn start(&self, now: SystemTime) -> Option<SystemTime> {
        match self {
            Period::All => None,
            Period::Hours(hours, _) => now.checked_sub(Duration::from_secs(hours.saturating_mul(3_600))),
            Period::Day(day, _) => Some(*day),
        }
    }
}

impl FromStr for Period {
    type Err = String;

    fn from_str(word: &str) -> Result<Period, String> {
        if word == "all" {
            return Ok(Period::All);
        }
        if let Some(day) = parse_rfc3339(&format!("{word}T00:00:00Z")) {
            return Ok(Period::Day(day, word.to_owned()));
        }
        let wrong = || "write 12h, 30d, 8w, a date such as 2026-11-01, or all".to_owned();
        let digits = word.len() - word.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let number: u64 = word[..digits].parse().map_err(|_| wrong())?;
        let hours = match &word[digits..] {
            "h" => 1,
            "d" => 24,
            "w" => 7 * 24,
            _ => return Err(wrong()),
        };
        // Messages are counted by day: there is no part of a day without one.
        if number == 0 {
            return Err(wrong());
        }
        Ok(Period::Hours(number.saturating_mul(hours), word.to_owned()))
    }
}

impl fmt::Display for Period {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Period::All => f.write_str("all time"),
            Period::Hours(_, word) => write!(f, "the last {word}"),
            Period::Day(_, word) => write!(f, "since {word}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_are_read_as_people_write_them() {
        let read = |word: &str| word.parse::<Period>();
        assert_eq!(read("8w"), Ok(Period::Hours(8 * 7 * 24, "8w".to_owned())));
        assert_eq!(read("2026-11-01").unwrap().to_string(), "since 2026-11-01");
        assert_eq!(read("all").unwrap().start(SystemTime::now()), None);
        for wrong in ["", "d", "30", "30 d", "2026-13-01", "x", "0h", "00d"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        assert_eq!(read("99999999999999999999h"), Err(read("x").unwrap_err()));
    }
}
