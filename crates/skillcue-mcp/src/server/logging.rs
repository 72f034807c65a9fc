//! Log lines for clients. (The protocol has deprecated them; clients of its older versions still show them.)
#![allow(deprecated, reason = "the SDK marks what the protocol has deprecated, and it is still served")]

use rmcp::model::{LoggingLevel, LoggingMessageNotificationParam};
use serde_json::json;

/// How much a line matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    Debug,
    Info,
    Notice,
    Warning,
    Error,
    Critical,
    Alert,
    Emergency,
}

impl Level {
    pub(super) fn rank(self) -> u8 {
        self as u8
    }

    pub(super) fn of(level: LoggingLevel) -> Level {
        match level {
            LoggingLevel::Debug => Level::Debug,
            LoggingLevel::Info => Level::Info,
            LoggingLevel::Notice => Level::Notice,
            LoggingLevel::Warning => Level::Warning,
            LoggingLevel::Error => Level::Error,
            LoggingLevel::Critical => Level::Critical,
            LoggingLevel::Alert => Level::Alert,
            LoggingLevel::Emergency => Level::Emergency,
        }
    }

    fn protocol(self) -> LoggingLevel {
        match self {
            Level::Debug => LoggingLevel::Debug,
            Level::Info => LoggingLevel::Info,
            Level::Notice => LoggingLevel::Notice,
            Level::Warning => LoggingLevel::Warning,
            Level::Error => LoggingLevel::Error,
            Level::Critical => LoggingLevel::Critical,
            Level::Alert => LoggingLevel::Alert,
            Level::Emergency => LoggingLevel::Emergency,
        }
    }
}

/// One line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) level: Level,
    /// What it is about.
    logger: &'static str,
    message: String,
}

impl Line {
    pub(super) fn new(level: Level, logger: &'static str, message: impl Into<String>) -> Line {
        Line { level, logger, message: message.into() }
    }

    pub(super) fn into_params(self) -> LoggingMessageNotificationParam {
        LoggingMessageNotificationParam::new(self.level.protocol(), json!({ "message": self.message }))
            .with_logger(format!("skillcue.{}", self.logger))
    }
}
