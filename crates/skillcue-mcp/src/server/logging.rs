//! Log lines for clients. (The protocol has deprecated them; clients of its older versions still show them.)
#![allow(deprecated, reason = "the SDK marks what the protocol has deprecated, and it is still served")]

use rmcp::model::{LoggingLevel, LoggingMessageNotificationParam};
use serde_json::json;

/// The rank of the level from which lines are sent to a client that has not chosen one.
pub(super) const DEFAULT_RANK: u8 = rank(LoggingLevel::Warning);

/// Returns the place of a level among all, the least severe first, as the protocol lists them.
pub(super) const fn rank(level: LoggingLevel) -> u8 {
    level as u8
}

/// One log line.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct LogLine {
    level: LoggingLevel,
    /// The part of the server that it is about.
    logger: &'static str,
    message: String,
}

impl LogLine {
    pub(super) fn info(logger: &'static str, message: impl Into<String>) -> LogLine {
        LogLine { level: LoggingLevel::Info, logger, message: message.into() }
    }

    pub(super) fn warning(logger: &'static str, message: impl Into<String>) -> LogLine {
        LogLine { level: LoggingLevel::Warning, logger, message: message.into() }
    }

    pub(super) fn rank(&self) -> u8 {
        rank(self.level)
    }

    pub(super) fn into_params(self) -> LoggingMessageNotificationParam {
        LoggingMessageNotificationParam::new(self.level, json!({ "message": self.message }))
            .with_logger(format!("skillcue.{}", self.logger))
    }
}
