//! The types that a caller hands over and gets back.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;
use skillcue_exec::{Launcher, SandboxReport};
use skillcue_format::Diagnostic;

use crate::message::LogLevel;

/// The options with which toolsets are run.
#[derive(Debug, Clone)]
pub struct ToolsetOptions {
    /// Starts the children. Its helper must have the engine: `run_if_asked(Some(skillcue_toolset::engine))`.
    pub launcher: Launcher,
    /// The directory in which definitions and bytecode are cached, if they are.
    pub cache_dir: Option<PathBuf>,
    /// The user's packages: a folder with `node_modules`, for packages that a skill does not bring along.
    pub packages: Option<PathBuf>,
    /// The limits of time and memory.
    pub limits: ToolsetLimits,
}

impl ToolsetOptions {
    /// No cache, no packages, the default limits.
    pub fn new(launcher: Launcher) -> ToolsetOptions {
        ToolsetOptions { launcher, cache_dir: None, packages: None, limits: ToolsetLimits::default() }
    }
}

/// The limits of time and memory of toolsets.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolsetLimits {
    /// The time for evaluating one toolset's modules.
    pub load: Duration,
    /// The time for one call.
    pub call: Duration,
    /// The time in which a tool that was told to stop has to do so, before its process is killed.
    pub grace: Duration,
    /// The memory that the modules of one skill may allocate, in bytes.
    pub memory: u64,
    /// The time for which a process without calls is kept.
    pub idle: Duration,
    /// The number of processes that are kept.
    pub warm: usize,
    /// The time after which a toolset that failed when it was evaluated is tried again; at once, if its files change.
    pub retry: Duration,
}

impl Default for ToolsetLimits {
    fn default() -> ToolsetLimits {
        ToolsetLimits {
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

/// A skill and the toolsets that its manifest names.
#[derive(Debug, Clone)]
pub struct SkillToolsets<'s> {
    /// The skill's name.
    pub name: &'s str,
    /// Its directory.
    pub dir: &'s Path,
    /// Its toolsets, as the manifest has them: `toolsets/index:HelloToolset`.
    pub toolsets: Vec<String>,
}

impl<'s> SkillToolsets<'s> {
    /// A skill and its toolsets.
    pub fn new(
        name: &'s str,
        dir: &'s Path,
        toolsets: impl IntoIterator<Item = impl Into<String>>,
    ) -> SkillToolsets<'s> {
        SkillToolsets { name, dir, toolsets: toolsets.into_iter().map(Into::into).collect() }
    }
}

/// The tools that a skill's toolsets offer.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct OfferedTools {
    /// The tools, in the order of the manifest and its modules.
    pub tools: Vec<ToolSpec>,
    /// Diagnostics of the rest: errors, and warnings where a tool works all the same. Paths are relative to the skill's
    /// directory, and `packages:` stands for the user's packages; without a file, the path is the toolset as the
    /// manifest has it, or the skill's name.
    ///
    /// The codes: `toolset_entry` (the manifest's line is no `path:Export`), `toolset_syntax`, `toolset_export`,
    /// `toolset_shape`, `toolset_threw`, `toolset_duplicate`, `toolset_schema` (part of a schema cannot be checked; the
    /// tool works), `toolset_crashed`, `module_not_found`, `module_refused`, and those of
    /// [`ToolError`](crate::ToolError) when nothing could be started.
    pub diagnostics: Vec<Diagnostic>,
}

/// One tool, as a model is told of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolSpec {
    /// Its id, as the author wrote it.
    pub id: String,
    /// Its purpose.
    pub description: String,
    /// The JSON Schema of its arguments, which is that of an object.
    pub schema: Value,
    /// The file that defines it, relative to the skill's directory.
    pub file: String,
    /// The line, if it is known.
    pub line: Option<u32>,
}

/// The caller of a tool.
pub struct CallContext<'c> {
    /// The session, for the tool to know.
    pub session_id: &'c str,
    /// Called now and then: returns whether the caller no longer wants the result.
    pub cancelled: &'c (dyn Fn() -> bool + Sync),
    /// Gets each line that the tool logs with `ctx.log` while it runs.
    pub log: &'c (dyn Fn(LogLevel, &str) + Sync),
}

impl<'c> CallContext<'c> {
    /// A caller that waits to the end and ignores the log.
    pub fn new(session_id: &'c str) -> CallContext<'c> {
        CallContext { session_id, cancelled: &|| false, log: &|_, _| {} }
    }
}

/// The result of a call.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolCallResult {
    /// One line for people.
    pub title: String,
    /// Data that the tool adds for programs.
    pub metadata: Value,
    /// The output for the model: a text as it is, anything else as JSON.
    pub output: String,
    /// The sandbox it ran in.
    #[serde(skip)]
    pub sandbox: SandboxReport,
}
