//! When a store is asked again: after an interval that is drawn anew for each poll, so that readers that were started
//! together do not ask together for long.

use std::sync::Mutex;
use std::time::{Duration, SystemTime};

use skillcue_base::lock;

use crate::limits::FAILURE_TTL;
use crate::publish::random_share;

/// The intervals between the polls of one catalog.
#[derive(Debug)]
pub(super) struct PollSchedule {
    /// The interval that is configured.
    poll: Duration,
    /// The one until the next poll.
    interval: Mutex<Duration>,
}

impl PollSchedule {
    pub(super) fn new(poll: Duration) -> PollSchedule {
        PollSchedule { poll, interval: Mutex::new(interval(poll, random_share())) }
    }

    /// Draws the interval until the next poll.
    pub(super) fn draw(&self) {
        *lock(&self.interval) = interval(self.poll, random_share());
    }

    /// Returns how long after `now` the store should be asked that has answered and failed at these times: zero if at once.
    pub(super) fn due_in(&self, now: SystemTime, asked: Option<SystemTime>, failed: Option<SystemTime>) -> Duration {
        let left = |since: Option<SystemTime>, interval: Duration| {
            // A clock that was set back makes a generation stale, too.
            let age = since.and_then(|since| now.duration_since(since).ok());
            age.map_or(Duration::ZERO, |age| interval.saturating_sub(age))
        };
        left(asked, *lock(&self.interval)).max(left(failed, FAILURE_TTL.min(self.poll)))
    }
}

/// Returns an interval between 75 and 125 % of the one that is configured, for a share from 0 to 1.
fn interval(poll: Duration, share: f64) -> Duration {
    poll.mul_f64(0.75 + share / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_is_due_after_75_to_125_percent_of_the_interval() {
        for poll in [5, 8, 60, 300].map(Duration::from_secs) {
            for share in 0..=100 {
                let interval = interval(poll, f64::from(share) / 100.0);
                assert!(interval >= poll.mul_f64(0.75) && interval <= poll.mul_f64(1.25), "{interval:?} of {poll:?}");
                let schedule = PollSchedule { poll, interval: Mutex::new(interval) };
                let asked = SystemTime::UNIX_EPOCH + Duration::from_hours(1);
                let due_at = |age| schedule.due_in(asked + age, Some(asked), None);
                assert_eq!(due_at(Duration::ZERO), interval, "it says when, not only whether");
                assert_eq!(due_at(Duration::from_secs(1)), interval.saturating_sub(Duration::from_secs(1)));
                assert_eq!((due_at(interval), due_at(interval * 2)), (Duration::ZERO, Duration::ZERO));
            }
        }
    }

    #[test]
    fn each_poll_has_an_interval_of_its_own() {
        let schedule = PollSchedule::new(Duration::from_mins(5));
        let drawn = |_| {
            schedule.draw();
            *lock(&schedule.interval)
        };
        let drawn: std::collections::BTreeSet<Duration> = (0..50).map(drawn).collect();
        assert!(drawn.len() > 25, "{drawn:?}");
    }

    #[test]
    fn a_store_that_has_failed_rests_a_minute_at_most() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_hours(1);
        let due = |poll, asked: Option<u64>, failed: Option<u64>| {
            let schedule =
                PollSchedule { poll: Duration::from_secs(poll), interval: Mutex::new(Duration::from_secs(poll)) };
            let before = |ago: Option<u64>| ago.map(|ago| now - Duration::from_secs(ago));
            schedule.due_in(now, before(asked), before(failed)).as_secs()
        };
        assert_eq!(due(300, None, None), 0);
        assert_eq!(due(300, Some(301), Some(20)), 40);
        assert_eq!(due(300, Some(301), Some(60)), 0);
        assert_eq!(due(10, Some(12), Some(3)), 7, "or as long as between two polls");
        // The clock was set back.
        let schedule = PollSchedule::new(Duration::from_mins(5));
        let later = now + Duration::from_secs(9);
        assert_eq!(schedule.due_in(now, Some(later), Some(later)), Duration::ZERO);
    }
}
