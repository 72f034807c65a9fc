//! The protocol of host and child: one JSON value a line, some lines with bytes behind them.
//!
//! The host drives: it sends `load`, then `call`s. While it loads, or when a tool calls `import()`, the child asks for
//! modules, because it can open no file, and waits for the answer. Bytecode is no text: a line that announces some has
//! the number of bytes that follow it.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use skillcue_format::{Diagnostic, Severity, Span};

/// The most bytecode of one skill.
pub(crate) const MAX_BYTECODE_BYTES: u64 = 128 << 20;

/// A message of the host.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum HostMessage {
    /// Evaluate a skill's toolsets. Comes first, and once.
    Load(Box<LoadMessage>),
    /// Run a tool.
    Call(Box<CallMessage>),
    /// The caller no longer waits for the call.
    Abort(AbortMessage),
    /// The answer to [`ChildMessage::Module`] or [`ChildMessage::Source`].
    Module(ModuleAnswer),
}

/// A message of the child.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ChildMessage {
    /// Asks which module a specifier means, and for its source.
    Module(ModuleQuestion),
    /// Asks for the source of a module already resolved.
    Source(SourceQuestion),
    /// This entry is evaluated now: if the child has to be killed, the host knows why.
    Loading(LoadingMessage),
    /// The toolsets are loaded, as far as they could be.
    Ready(ToolsetDefinitions),
    /// Compiled modules, to be cached for the next start. Their bytes follow, in this order.
    Bytecode(BytecodeMessage),
    /// A tool returned.
    Done(DoneMessage),
    /// A tool failed.
    Failed(FailedMessage),
    /// An abort was received and its call dropped.
    Aborted(AbortedMessage),
    /// A line for the log.
    Log(LogMessage),
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct LoadMessage {
    pub(crate) skill: String,
    pub(crate) dir: String,
    pub(crate) entries: Vec<ToolsetEntry>,
    pub(crate) memory: u64,
    /// The time that evaluating one entry may take.
    pub(crate) timeout_ms: u64,
    /// Whether compiled modules are to be handed back.
    pub(crate) bytecode: bool,
    /// Modules compiled earlier. Their bytes follow, in this order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) cached: Vec<CompiledModule>,
    /// The modules that specifiers meant earlier: importer, specifier, module.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) resolved: Vec<(String, String, String)>,
    /// The JSON Schemas of tools, by id, as they were when the modules were compiled: making them takes longer than all
    /// the rest of a start.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) schemas: Vec<(String, Box<RawValue>)>,
}

/// One toolset of the manifest: `toolsets/index:HelloToolset`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ToolsetEntry {
    /// As the manifest has it.
    pub(crate) declared: String,
    pub(crate) path: String,
    pub(crate) export: String,
}

impl ToolsetEntry {
    /// Reads a line of the manifest.
    pub(crate) fn parse(declared: &str) -> Result<ToolsetEntry, Box<WireDiagnostic>> {
        match declared.rsplit_once(':') {
            Some((path, export)) if !path.is_empty() && !export.is_empty() => Ok(ToolsetEntry {
                declared: declared.to_owned(),
                path: path.strip_prefix("./").unwrap_or(path).to_owned(),
                export: export.to_owned(),
            }),
            _ => {
                let message = format!("`{declared}` is not of the form `path:Export`");
                let help = "write `toolsets/index:HelloToolset`: the module, and what it exports";
                let found = WireDiagnostic::new("toolset_entry", message, Some(help));
                Err(Box::new(found.about(declared)))
            }
        }
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct CompiledModule {
    pub(crate) id: String,
    pub(crate) length: u64,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct CallMessage {
    pub(crate) id: u64,
    pub(crate) tool: String,
    pub(crate) arguments: Box<RawValue>,
    pub(crate) session: String,
    pub(crate) timeout_ms: u64,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct AbortMessage {
    pub(crate) id: u64,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct AbortedMessage {
    pub(crate) id: u64,
    /// Whether the tool ended at the abort. One that did not may still be at work.
    pub(crate) settled: bool,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct LoadingMessage {
    pub(crate) entry: usize,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ModuleQuestion {
    pub(crate) specifier: String,
    /// The importer's id; empty for an entry.
    pub(crate) from: String,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SourceQuestion {
    pub(crate) id: String,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ModuleAnswer {
    Found {
        id: String,
        /// The source, unless the child has been given it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        source: Option<ModuleSource>,
    },
    Refused(ModuleRefusal),
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ModuleSource {
    pub(crate) kind: ModuleKind,
    pub(crate) text: String,
}

/// The language of a module's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ModuleKind {
    Ts,
    Js,
    Json,
}

/// The reason that a specifier has no module here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ModuleRefusal {
    pub(crate) code: String,
    pub(crate) message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) help: Option<String>,
}

/// The tools of a skill, and the problems of the rest.
#[derive(Debug, Default, Clone, Serialize, Deserialize)]
pub(crate) struct ToolsetDefinitions {
    pub(crate) tools: Vec<DefinedTool>,
    pub(crate) findings: Vec<WireDiagnostic>,
}

/// A tool as its module defines it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct DefinedTool {
    pub(crate) id: String,
    pub(crate) description: String,
    pub(crate) schema: Box<RawValue>,
    /// Whether the arguments are checked where the tool runs, by the library its schema was written with.
    pub(crate) parsed: bool,
    pub(crate) file: String,
    pub(crate) line: Option<u32>,
}

/// A diagnostic of a toolset, as children send it and as it is cached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WireDiagnostic {
    /// One of [`CODES`]; a child may send anything.
    pub(crate) code: Box<str>,
    /// The toolset, as the manifest has it.
    pub(crate) toolset: Box<str>,
    /// The file, relative to the skill's directory; `packages:` stands for the user's packages.
    pub(crate) file: Option<String>,
    /// The line, from 1.
    pub(crate) line: Option<u32>,
    /// The column, from 1, in characters.
    pub(crate) column: Option<u32>,
    /// The problem, in one sentence.
    pub(crate) message: String,
    /// The next step.
    pub(crate) help: Option<String>,
}

/// The codes of all problems of a toolset.
const CODES: [&str; 10] = [
    "module_not_found",
    "module_refused",
    "toolset_crashed",
    "toolset_duplicate",
    "toolset_entry",
    "toolset_export",
    "toolset_schema",
    "toolset_shape",
    "toolset_syntax",
    "toolset_threw",
];

impl WireDiagnostic {
    /// A finding without a position, about a toolset that is not known yet.
    pub(crate) fn new(code: &str, message: impl Into<String>, help: Option<&str>) -> WireDiagnostic {
        WireDiagnostic {
            code: code.into(),
            toolset: "".into(),
            file: None,
            line: None,
            column: None,
            message: message.into(),
            help: help.map(str::to_owned),
        }
    }

    /// Returns it as a finding about a toolset.
    pub(crate) fn about(self, toolset: &str) -> WireDiagnostic {
        WireDiagnostic { toolset: toolset.into(), ..self }
    }

    /// Returns whether the tool that it is about works all the same: a part of its schema cannot be checked.
    pub(crate) fn is_warning(&self) -> bool {
        &*self.code == "toolset_schema"
    }

    /// Returns it as a diagnostic of the library. Where no file is to blame, the path is the toolset as the manifest
    /// has it.
    pub(crate) fn to_diagnostic(&self) -> Diagnostic {
        let severity = if self.is_warning() { Severity::Warning } else { Severity::Error };
        let code = CODES.into_iter().find(|code| **code == *self.code).unwrap_or("toolset_shape");
        let place = self.line.map(|line| Span { line, column: self.column.unwrap_or(1), width: 1 });
        let path = self.file.as_deref().unwrap_or(&self.toolset);
        let found = Diagnostic::named(code, severity, self.message.clone()).at(path);
        Diagnostic { place, help: self.help.clone().map(Cow::Owned), ..found }
    }
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct BytecodeMessage {
    pub(crate) modules: Vec<CompiledModule>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct DoneMessage {
    pub(crate) id: u64,
    pub(crate) title: String,
    pub(crate) metadata: Box<RawValue>,
    pub(crate) output: String,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct FailedMessage {
    pub(crate) id: u64,
    pub(crate) code: String,
    pub(crate) message: String,
    #[serde(default)]
    pub(crate) stack: Option<String>,
    #[serde(default)]
    pub(crate) file: Option<String>,
    #[serde(default)]
    pub(crate) line: Option<u32>,
    #[serde(default)]
    pub(crate) column: Option<u32>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct LogMessage {
    pub(crate) level: LogLevel,
    pub(crate) text: String,
    /// The call whose `ctx.log` it was; none for `console`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) call: Option<u64>,
}

/// The importance of a line of a tool's log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    /// For the author of the toolset.
    Debug,
    /// For people who read the log.
    Info,
    /// Something is not as it should be.
    Warn,
    /// Something went wrong.
    Error,
}
