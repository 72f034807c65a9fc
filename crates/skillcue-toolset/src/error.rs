//! The errors of calls.

use std::time::Duration;

use skillcue_base::ErrorInfo;
use skillcue_exec::ExecError;

/// The reason that a call has no result.
#[derive(Debug, thiserror::Error, ErrorInfo)]
#[non_exhaustive]
pub enum ToolError {
    /// The skill has no tool of that name.
    #[error("there is no tool `{id}`{}", known_tools(known))]
    #[info(code = "no_such_tool", hint = "list the skill's tools to see what it has")]
    NoSuchTool {
        /// The id that was asked for.
        id: String,
        /// The ids that there are.
        known: Vec<String>,
    },
    /// The arguments do not fit the tool's schema.
    #[error("the arguments of `{id}` are wrong: {message}")]
    #[info(code = "invalid_argument", hint = "call it again with arguments that fit its schema")]
    InvalidArguments {
        /// The tool.
        id: String,
        /// The violations, with the path of each argument.
        message: String,
    },
    /// The tool threw.
    #[error("`{id}` failed: {message}")]
    #[info(code = "threw", hint = "report it to the skill's author, with the position in its file")]
    Threw {
        /// The tool.
        id: String,
        /// The message of the error that was thrown.
        message: String,
        /// The position in the author's file, as `file:line:column`.
        place: Option<String>,
        /// The stack, in the author's files.
        stack: Option<String>,
    },
    /// The tool returned something that is no result.
    #[error("{message}")]
    #[info(code = "bad_result", hint = "report it to the skill's author, with the position in its file")]
    BadResult {
        /// The tool.
        id: String,
        /// The problem.
        message: String,
    },
    /// The tool returned more than it may.
    #[error(
        "`{id}` returned too much: its output may have {} bytes, its metadata half of that",
        crate::MAX_OUTPUT_BYTES
    )]
    #[info(code = "too_large", hint = "ask for less at a time; if the tool has no argument for that, tell its author")]
    TooLarge {
        /// The tool.
        id: String,
    },
    /// The tool took longer than it may.
    #[error("`{id}` did not end within {} ms", limit.as_millis())]
    #[info(code = "timeout", hint = "ask for less, or raise the limit")]
    Timeout {
        /// The tool.
        id: String,
        /// The time that it had.
        limit: Duration,
    },
    /// The caller no longer wanted the result.
    #[error("`{id}` was cancelled")]
    #[info(code = "cancelled", hint = "nothing is left running")]
    Cancelled {
        /// The tool.
        id: String,
    },
    /// The tool used more memory than it may.
    #[error("`{id}` used more memory than it may")]
    #[info(code = "memory", hint = "ask for less, or raise the limit")]
    Memory {
        /// The tool.
        id: String,
    },
    /// Another call had to be ended by force, and with it the process both ran in. Calling again may work.
    #[error("`{id}` was interrupted: another tool of the skill had to be stopped by force")]
    #[info(code = "restarted", hint = "call it again")]
    Restarted {
        /// The tool.
        id: String,
    },
    /// The process ended by itself.
    #[error("the process of `{id}` ended: {reason}")]
    #[info(code = "crashed", hint = "call it again; if that does not help, tell the skill's author")]
    Crashed {
        /// The tool.
        id: String,
        /// The way in which it ended.
        reason: String,
    },
    /// The process sent something that is no answer.
    #[error("the process of `{id}` broke the protocol: {reason}")]
    #[info(code = "protocol", hint = "call it again; if that does not help, tell the skill's author")]
    Protocol {
        /// The tool.
        id: String,
        /// The problem.
        reason: String,
    },
    /// No process could be started.
    #[error(transparent)]
    #[info(transparent)]
    Start(#[from] ExecError),
    /// The skill's directory cannot be opened.
    #[error(transparent)]
    #[info(transparent)]
    Files(#[from] skillcue_catalog::FileError),
}

fn known_tools(known: &[String]) -> String {
    if known.is_empty() { String::new() } else { format!("; there is {}", known.join(", ")) }
}
