//! Weeks, from Monday to Sunday, in UTC.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Serialize, Serializer};
use skillcue_base::date;

/// The seconds of a day.
const DAY: u64 = 24 * 60 * 60;

/// A week. It is shown as the date of its Monday.
///
/// ```
/// use skillcue_usage::Week;
///
/// let wednesday = skillcue_base::parse_rfc3339("2026-11-18T00:30:00Z").unwrap();
/// assert_eq!(Week::of(wednesday).to_string(), "2026-11-16");
/// assert_eq!(Week::of(wednesday).next(), Week::of(skillcue_base::parse_rfc3339("2026-11-23T00:00:00Z").unwrap()));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Week(u64);

impl Week {
    /// Returns the week of a time. One before 1970 counts as the first.
    pub fn of(time: SystemTime) -> Week {
        let seconds = time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        // The first day of 1970 was a Thursday.
        Week((seconds / DAY + 3) / 7)
    }

    /// Returns the week after.
    #[must_use]
    pub fn next(self) -> Week {
        Week(self.0 + 1)
    }

    /// Returns the time at which it ends.
    pub(crate) fn end(self) -> SystemTime {
        let seconds = (self.0 * 7).saturating_add(4).saturating_mul(DAY);
        UNIX_EPOCH.checked_add(Duration::from_secs(seconds)).unwrap_or(UNIX_EPOCH)
    }

    /// Returns how many weeks it is after another; 0 if it is before.
    pub(crate) fn after(self, first: Week) -> usize {
        usize::try_from(self.0.saturating_sub(first.0)).unwrap_or(usize::MAX)
    }
}

impl fmt::Display for Week {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let monday = UNIX_EPOCH.checked_add(Duration::from_secs((self.0 * 7).saturating_sub(3) * DAY));
        f.write_str(&date(monday.unwrap_or(UNIX_EPOCH)))
    }
}

impl Serialize for Week {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
