//! Log lines for clients. (The protocol has deprecated them; clients of its older versions still show them.)
#![allow(deprecated, reason = "the SDK marks what the protocol has deprecated, and it is still served")]

use rmcp::model::{LoggingLevel, LoggingMessageNotificationParam};
use serde_json::json;

/// The severity of a log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ClientLogLevel {
    Debug,
    Info,
    Notice,
    Warning,
    Error,
    Critical,
    Alert,
    Emergency,
}

impl ClientLogLevel {
    pub(super) fn rank(self) -> u8 {
        self as u8
    }

    pub(super) fn of(level: LoggingLevel) -> ClientLogLevel {
        match level {
            LoggingLevel::Debug => ClientLogLevel::Debug,
            LoggingLevel::Info => ClientLogLevel::Info,
            LoggingLevel::Notice => ClientLogLevel::Notice,
            LoggingLevel::Warning => ClientLogLevel::Warning,
            LoggingLevel::Error => ClientLogLevel::Error,
            LoggingLevel::Critical => ClientLogLevel::Critical,
            LoggingLevel::Alert => ClientLogLevel::Alert,
            LoggingLevel::Emergency => ClientLogLevel::Emergency,
        }
    }

    fn protocol(self) -> LoggingLevel {
        match self {
            ClientLogLevel::Debug => LoggingLevel::Debug,
            ClientLogLevel::Info => LoggingLevel::Info,
            ClientLogLevel::Notice => LoggingLevel::Notice,
            ClientLogLevel::Warning => LoggingLevel::Warning,
            ClientLogLevel::Error => LoggingLevel::Error,
            ClientLogLevel::Critical => LoggingLevel::Critical,
            ClientLogLevel::Alert => LoggingLevel::Alert,
            ClientLogLevel::Emergency => LoggingLevel::Emergency,
        }
    }
}

/// One log line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LogLine {
    pub(super) level: ClientLogLevel,
    /// The part of the server that it is about.
    logger: &'static str,
    message: String,
}

impl LogLine {
    pub(super) fn new(level: ClientLogLevel, logger: &'static str, message: impl Into<String>) -> LogLine {
        LogLine { level, logger, message: message.into() }
    }

    pub(super) fn into_params(self) -> LoggingMessageNotificationParam {
        LoggingMessageNotificationParam::new(self.level.protocol(), json!({ "message": self.message }))
            .with_logger(format!("skillcue.{}", self.logger))
    }
}
