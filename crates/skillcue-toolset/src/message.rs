//! What host and child say to each other: one JSON value a line, some lines with bytes behind them.
//!
//! The host drives: it says `load`, then `call`s. While it loads, or when a tool says `import()`, the child asks for
//! modules, because it can open no file; whoever asks waits. Bytecode is no text: a line that has some says how many
//! bytes follow it.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use skillcue_format::{Diagnostic, Severity, Span};

/// What the host says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ToChild {
    /// Evaluate a skill's toolsets. Comes first, and once.
    Load(Box<Load>),
    /// Run a tool.
    Call(Box<Call>),
    /// Whoever made the call no longer waits for it.
    Abort(Abort),
    /// The answer to [`FromChild::Module`] or [`FromChild::Source`].
    Module(ModuleAnswer),
}

/// What the child says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FromChild {
    /// Which module is meant by a specifier, and what is its source?
    Module(ModuleQuestion),
    /// What is the source of a module already resolved?
    Source(SourceQuestion),
    /// This entry is evaluated now: whoever has to kill the child knows why.
    Loading(Loading),
    /// The toolsets are loaded, as far as they could be.
    Ready(Ready),
    /// Compiled modules, to be kept for the next start. Their bytes follow, in this order.
    Bytecode(Bytecode),
    /// A tool returned.
    Done(Done),
    /// A tool did not.
    Failed(Failed),
    /// An abort was seen and its call let go.
    Aborted(Aborted),
    /// A line for the log.
    Log(Log),
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Load {
    pub(crate) skill: String,
    pub(crate) dir: String,
    pub(crate) entries: Vec<Entry>,
    pub(crate) memory: u64,
    /// How long evaluating all toolsets may take.
    pub(crate) timeout_ms: u64,
    /// Whether compiled modules are to be handed back.
    pub(crate) bytecode: bool,
    /// Modules compiled earlier. Their bytes follow, in this order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) cached: Vec<Compiled>,
    /// What specifiers meant earlier: importer, specifier, module.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) resolved: Vec<(String, String, String)>,
    /// The JSON Schemas of tools, by id, as they were when the modules were compiled: making them takes longer than all
    /// the rest of a start.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) schemas: Vec<(String, Box<RawValue>)>,
}

/// One toolset of the manifest: `toolsets/index:HelloToolset`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Entry {
    /// As the manifest has it.
    pub(crate) declared: String,
    pub(crate) path: String,
    pub(crate) export: String,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Compiled {
    pub(crate) id: String,
    pub(crate) length: u64,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Call {
    pub(crate) id: u64,
    pub(crate) tool: String,
    pub(crate) arguments: Box<RawValue>,
    pub(crate) session: String,
    pub(crate) timeout_ms: u64,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Abort {
    pub(crate) id: u64,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Aborted {
    pub(crate) id: u64,
    /// Whether the tool ended when it was told. One that did not may still be at work.
    pub(crate) settled: bool,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Loading {
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
        source: Option<Source>,
    },
    Refused(Refused),
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Source {
    pub(crate) kind: Kind,
    pub(crate) text: String,
}

/// What a module's text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    Ts,
    Js,
    Json,
}

/// Why a specifier means nothing here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Refused {
    pub(crate) code: String,
    pub(crate) message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) help: Option<String>,
}

#[derive(Debug, Default, Clone, Serialize, Deserialize)]
pub(crate) struct Ready {
    pub(crate) tools: Vec<Defined>,
    pub(crate) findings: Vec<WireDiagnostic>,
}

/// A tool as its module defines it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Defined {
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
    /// One of [`CODES`]; a child may say anything.
    pub(crate) code: Box<str>,
    /// The toolset, as the manifest has it.
    pub(crate) toolset: Box<str>,
    /// The file, relative to the skill's directory; `packages:` stands for the user's packages.
    pub(crate) file: Option<String>,
    /// The line, from 1.
    pub(crate) line: Option<u32>,
    /// The column, from 1, in characters.
    pub(crate) column: Option<u32>,
    /// What is wrong, in one sentence.
    pub(crate) message: String,
    /// What to do about it.
    pub(crate) help: Option<String>,
}

/// The words for what is wrong with a toolset.
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
    /// A finding without a place, about a toolset that is not known yet.
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

    /// Whether the tool that it is about works all the same: a part of its schema cannot be checked.
    pub(crate) fn is_warning(&self) -> bool {
        &*self.code == "toolset_schema"
    }

    /// Returns it for who asks what toolsets offer. Where no file is to blame, the path is the toolset as the manifest has it.
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
pub(crate) struct Bytecode {
    pub(crate) modules: Vec<Compiled>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Done {
    pub(crate) id: u64,
    pub(crate) title: String,
    pub(crate) metadata: Box<RawValue>,
    pub(crate) output: String,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Failed {
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
pub(crate) struct Log {
    pub(crate) level: Level,
    pub(crate) text: String,
    /// The call whose `ctx.log` it was; none for `console`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) call: Option<u64>,
}

/// How much a line of a tool's log matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// For the author of the toolset.
    Debug,
    /// For whoever looks.
    Info,
    /// Something is not as it should be.
    Warn,
    /// Something went wrong.
    Error,
}

impl Level {
    /// `debug`, `info`, `warn` or `error`.
    pub fn as_str(self) -> &'static str {
        match self {
            Level::Debug => "debug",
            Level::Info => "info",
            Level::Warn => "warn",
            Level::Error => "error",
        }
    }
}
