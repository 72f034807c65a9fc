//! `[usage]`: the ledger of what happened to skills.

use std::num::NonZeroU64;

use serde::Deserialize;

/// The part about the ledger of use.
///
/// ```
/// let config = skillcue::config::Config::parse("[usage]\nrecord = false\ndays = 90\n").unwrap();
/// assert_eq!((config.usage.record, config.usage.days.map(|days| days.get())), (Some(false), Some(90)));
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UsageSection {
    /// Whether events are recorded.
    pub record: Option<bool>,
    /// Whether the text of messages is kept, with its secrets masked.
    pub text: Option<bool>,
    /// Whether the use so far counts when skills are selected.
    pub feedback: Option<bool>,
    /// The number of days for which events are kept.
    pub days: Option<NonZeroU64>,
    /// The size of the ledger, in MiB.
    pub megabytes: Option<NonZeroU64>,
}

impl UsageSection {
    pub(super) fn merge(&mut self, higher: UsageSection) {
        self.record = higher.record.or(self.record);
        self.text = higher.text.or(self.text);
        self.feedback = higher.feedback.or(self.feedback);
        self.days = higher.days.or(self.days);
        self.megabytes = higher.megabytes.or(self.megabytes);
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::Config;

    #[test]
    fn a_project_says_nothing_about_the_ledger() {
        let mut config = Config::parse("[usage]\ntext = true\nfeedback = true\n").unwrap();
        let distrusted = config.distrust(Path::new("/project"));
        assert_eq!((distrusted.usage.text, config.usage), (Some(true), UsageSection::default()));
        assert!(!distrusted.is_empty());
    }

    #[test]
    fn a_later_file_changes_what_it_names() {
        let mut user = Config::parse("[usage]\nrecord = true\ndays = 9\n").unwrap();
        user.merge(Config::parse("[usage]\nrecord = false\nmegabytes = 2\n").unwrap());
        let UsageSection { record, days, megabytes, .. } = user.usage;
        assert_eq!(
            (record, days.map(NonZeroU64::get), megabytes.map(NonZeroU64::get)),
            (Some(false), Some(9), Some(2))
        );
        assert!(Config::parse("[usage]\ndays = 0\n").is_err());
    }
}
