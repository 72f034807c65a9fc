//! The tools for models: one table of definitions and handlers, for every surface.

use std::borrow::Cow;
use std::fmt;

use serde::Serialize;
use serde_json::{Map, Value};

/// A tool as models see it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolDefinition {
    /// By what it is called.
    pub name: Cow<'static, str>,
    /// What people call it.
    pub title: Cow<'static, str>,
    /// What it does and when to use it.
    pub description: Cow<'static, str>,
    /// The JSON Schema of its arguments.
    pub input_schema: Value,
    /// Whether it only looks.
    pub read_only: bool,
}

/// What a tool returned. Whatever happened is in it: a tool never fails past its result.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolOutput {
    /// What the model reads.
    pub text: String,
    /// The same for programs, where there is more to say than a text.
    pub structured: Option<Value>,
    /// Whether it failed.
    pub is_error: bool,
    /// What a session should remember of it.
    pub effect: Option<Effect>,
}

/// What a call changed for its session.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Effect {
    /// A skill's body is in the model's context now.
    Loaded {
        /// The skill's name.
        name: String,
        /// What was loaded, as `Session::record_load` wants it.
        content: std::sync::Arc<str>,
    },
}

/// What a call may use of the one who calls.
#[derive(Clone, Copy)]
pub struct ToolContext<'c> {
    /// Is told how far a long call has got: done, of how many if that is known, and in words.
    pub progress: &'c (dyn Fn(f64, Option<f64>, &str) + Sync),
    /// Whether nobody waits for the result any more.
    pub cancelled: &'c (dyn Fn() -> bool + Sync),
    /// The skills whose bodies the session has loaded.
    pub loaded: &'c [String],
}

impl Default for ToolContext<'_> {
    fn default() -> Self {
        ToolContext { progress: &|_, _, _| {}, cancelled: &|| false, loaded: &[] }
    }
}

impl fmt::Debug for ToolContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolContext").field("loaded", &self.loaded).finish_non_exhaustive()
    }
}

/// Adds tools to the table: those that run scripts, and those of skills' toolsets.
pub trait ToolProvider: Send + Sync + fmt::Debug {
    /// Its tools, for a session that has loaded these skills.
    fn definitions(&self, loaded: &[String]) -> Vec<ToolDefinition>;

    /// Calls one of them; nothing if it has none of that name.
    fn call(&self, name: &str, arguments: &Map<String, Value>, context: &ToolContext<'_>) -> Option<ToolOutput>;
}
