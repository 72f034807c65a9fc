//! Log lines for clients. (The protocol has deprecated them; clients of its older versions still show them.)
#![allow(deprecated, reason = "the SDK marks what the protocol has deprecated, and it is still served")]

use rmcp::model::{LoggingLevel, LoggingMessageNotificationParam};
use serde_json::json;

/// The severity of a log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum LogLevel {
    Debug,
    Info,
    Notice,
    Warning,
    Error,
    Critical,
    Alert,
    Emergency,
}

impl LogLevel {
    pub(super) fn rank(self) -> u8 {
        self as u8
    }

    pub(super) fn of(level: LoggingLevel) -> LogLevel {
        match level {
            LoggingLevel::Debug => LogLevel::Debug,
            LoggingLevel::Info => LogLevel::Info,
            LoggingLevel::Notice => LogLevel::Notice,
            LoggingLevel::Warning => LogLevel::Warning,
            LoggingLevel::Error => LogLevel::Error,
            LoggingLevel::Critical => LogLevel::Critical,
            LoggingLevel::Alert => LogLevel::Alert,
            LoggingLevel::Emergency => LogLevel::Emergency,
        }
    }

    fn protocol(self) -> LoggingLevel {
        match self {
            LogLevel::Debug => LoggingLevel::Debug,
            LogLevel::Info => LoggingLevel::Info,
            LogLevel::Notice => LoggingLevel::Notice,
            LogLevel::Warning => LoggingLevel::Warning,
            LogLevel::Error => LoggingLevel::Error,
            LogLevel::Critical => LoggingLevel::Critical,
            LogLevel::Alert => LoggingLevel::Alert,
            LogLevel::Emergency => LoggingLevel::Emergency,
        }
    }
}

/// One log line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LogLine {
    pub(super) level: LogLevel,
    /// The part of the server that it is about.
    logger: &'static str,
    message: String,
}

impl LogLine {
    pub(super) fn new(level: LogLevel, logger: &'static str, message: impl Into<String>) -> LogLine {
        LogLine { level, logger, message: message.into() }
    }

    pub(super) fn into_params(self) -> LoggingMessageNotificationParam {
        LoggingMessageNotificationParam::new(self.level.protocol(), json!({ "message": self.message }))
            .with_logger(format!("skillcue.{}", self.logger))
    }
}
