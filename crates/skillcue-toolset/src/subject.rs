//! What a caller says, and what it gets.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;
use skillcue_base::ErrorInfo;
use skillcue_exec::{ExecError, Launcher, SandboxReport};
use skillcue_format::Diagnostic;

use crate::message::Level;

/// How toolsets are run.
#[derive(Debug, Clone)]
pub struct Options {
    /// Starts the children. Its helper must have the engine: `run_if_asked(Some(skillcue_toolset::engine))`.
    pub launcher: Launcher,
    /// Where definitions and bytecode are kept, if they are to be.
    pub cache_dir: Option<PathBuf>,
    /// The user's packages: a folder with `node_modules`, for what a skill does not bring along.
    pub packages: Option<PathBuf>,
    /// What toolsets may use up.
    pub limits: Limits,
}

impl Options {
    /// Nothing kept, no packages, the usual limits.
    pub fn new(launcher: Launcher) -> Options {
        Options { launcher, cache_dir: None, packages: None, limits: Limits::default() }
    }
}

/// What toolsets may use up.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Evaluating one toolset's modules.
    pub load: Duration,
    /// One call.
    pub call: Duration,
    /// How long a tool that was told to stop has for stopping, before its process is killed.
    pub grace: Duration,
    /// What scripts of one skill may allocate, in bytes.
    pub memory: u64,
    /// How long a process without calls is kept.
    pub idle: Duration,
    /// How many processes are kept.
    pub warm: usize,
    /// How long a toolset that failed when it was evaluated is left alone, unless its files change.
    pub retry: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            load: Duration::from_secs(10),
            call: Duration::from_mins(1),
            grace: Duration::from_millis(250),
            memory: 128 << 20,
            idle: Duration::from_mins(5),
            warm: 16,
            retry: Duration::from_secs(5),
        }
    }
}

/// Whose tools are meant.
#[derive(Debug, Clone)]
pub struct Subject<'s> {
    /// The skill's name.
    pub name: &'s str,
    /// Its directory.
    pub dir: &'s Path,
    /// Its toolsets, as the manifest has them: `toolsets/index:HelloToolset`.
    pub toolsets: Vec<String>,
}

impl<'s> Subject<'s> {
    /// A skill and its toolsets.
    pub fn new(name: &'s str, dir: &'s Path, toolsets: impl IntoIterator<Item = impl Into<String>>) -> Subject<'s> {
        Subject { name, dir, toolsets: toolsets.into_iter().map(Into::into).collect() }
    }
}

/// What a skill's toolsets offer.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Offered {
    /// The tools, in the order of the manifest and its modules.
    pub tools: Vec<ToolSpec>,
    /// Diagnostics of the rest: errors, and warnings where a tool works all the same. Paths are relative to the skill's
    /// directory, and `packages:` stands for the user's packages; without a file, the path is the toolset as the manifest
    /// has it, or the skill's name.
    ///
    /// The codes: `toolset_entry` (the manifest's line is no `path:Export`), `toolset_syntax`, `toolset_export`,
    /// `toolset_shape`, `toolset_threw`, `toolset_duplicate`, `toolset_schema` (part of a schema cannot be checked; the tool
    /// works), `toolset_crashed`, `module_not_found`, `module_refused`, and those of [`ToolError`] when nothing could be
    /// started.
    pub diagnostics: Vec<Diagnostic>,
}

/// One tool, as a model is told of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolSpec {
    /// Its id, as the author wrote it.
    pub id: String,
    /// What it is for.
    pub description: String,
    /// The JSON Schema of its arguments; an object's.
    pub schema: Value,
    /// The file that defines it, relative to the skill's directory.
    pub file: String,
    /// The line, if it is known.
    pub line: Option<u32>,
}

/// Who calls a tool.
pub struct CallContext<'c> {
    /// The session, for the tool to know.
    pub session_id: &'c str,
    /// Asked now and then: whether the caller still wants the result.
    pub cancelled: &'c (dyn Fn() -> bool + Sync),
    /// Gets what the tool logs with `ctx.log` while it runs.
    pub log: &'c (dyn Fn(Level, &str) + Sync),
}

impl<'c> CallContext<'c> {
    /// A caller who waits to the end and does not listen.
    pub fn new(session_id: &'c str) -> CallContext<'c> {
        CallContext { session_id, cancelled: &|| false, log: &|_, _| {} }
    }
}

/// What a tool returned.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolResult {
    /// One line for people.
    pub title: String,
    /// Whatever the tool adds for programs.
    pub metadata: Value,
    /// What the model gets: a text as it is, anything else as JSON.
    pub output: String,
    /// The sandbox it ran in.
    #[serde(skip)]
    pub sandbox: SandboxReport,
}

/// Why a call has no result.
#[derive(Debug, thiserror::Error, ErrorInfo)]
#[non_exhaustive]
pub enum ToolError {
    /// The skill has no tool of that name.
    #[error("there is no tool `{id}`{}", known_tools(known))]
    #[info(code = "no_such_tool", hint = "list the skill's tools to see what it has")]
    NoSuchTool {
        /// What was asked for.
        id: String,
        /// What there is.
        known: Vec<String>,
    },
    /// The arguments do not fit the tool's schema.
    #[error("the arguments of `{id}` are wrong: {message}")]
    #[info(code = "invalid_argument", hint = "call it again with arguments that fit its schema")]
    InvalidArguments {
        /// The tool.
        id: String,
        /// What is wrong, with the path of each argument.
        message: String,
    },
    /// The tool threw.
    #[error("`{id}` failed: {message}")]
    #[info(code = "threw", hint = "the tool's author can tell from the place in its file")]
    Threw {
        /// The tool.
        id: String,
        /// What was thrown.
        message: String,
        /// Where in the author's file, as `file:line:column`.
        place: Option<String>,
        /// The stack, in the author's files.
        stack: Option<String>,
    },
    /// The tool returned something that is no result.
    #[error("{message}")]
    #[info(code = "bad_result", hint = "the tool's author can tell from the place in its file")]
    BadResult {
        /// The tool.
        id: String,
        /// What is wrong with it.
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
        /// What it had.
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
        /// How it ended.
        reason: String,
    },
    /// The process said something that is no answer.
    #[error("the process of `{id}` broke the protocol: {reason}")]
    #[info(code = "protocol", hint = "call it again; if that does not help, tell the skill's author")]
    Protocol {
        /// The tool.
        id: String,
        /// What it said.
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
