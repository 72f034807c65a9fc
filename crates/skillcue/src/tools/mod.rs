//! The tools for models: one table of definitions and handlers, for every surface.

mod arguments;
mod call;
mod load;
mod read;
mod search;
mod unload;

pub use arguments::{ArgumentError, Arguments};
pub use call::Call;
pub(crate) use load::{LoadScope, enveloped};

use std::borrow::Cow;
use std::fmt::{self, Write as _};

use serde::Serialize;
use serde_json::Value;
use skillcue_base::ErrorInfo as _;
pub use skillcue_base::markup::{attribute, text};
pub use skillcue_load::neutralise;

use crate::catalog::{FileListing, usable};
use crate::{Catalog, Error, Skill, Skillcue};

/// The tools that are always there. Every surface that serves tools takes them from here.
///
/// Every request of every conversation pays for their definitions: names, descriptions and schemas together have at most
/// 200 tokens, which a test counts. A schema has only types, therefore: the handlers check lengths and ranges, and say
/// what is wrong.
const BUILT_IN_TOOLS: [BuiltInTool; 3] = [load::TOOL, search::TOOL, read::TOOL];

/// The tools that join when a skill is loaded, whichever it is.
const JOINING_TOOLS: [BuiltInTool; 1] = [unload::TOOL];

/// Returns the tools of this crate, for a session that has loaded a skill or none.
pub(crate) fn built_in_tools(has_loaded: bool) -> impl Iterator<Item = &'static BuiltInTool> {
    BUILT_IN_TOOLS.iter().chain(JOINING_TOOLS.iter().filter(move |_| has_loaded))
}

/// Returns the names of the tools that every catalog has: those that are always there, and those that join when any
/// skill is loaded.
///
/// ```
/// assert!(skillcue::tools::built_in_names().any(|name| name == "load_skill"));
/// ```
pub fn built_in_names() -> impl Iterator<Item = &'static str> {
    built_in_tools(true).map(|tool| tool.name)
}

/// One row of the table.
pub(crate) struct BuiltInTool {
    pub(crate) name: &'static str,
    title: &'static str,
    description: &'static str,
    schema: fn() -> Value,
    handler: fn(&Skillcue, &Call, &ToolContext<'_>) -> ToolOutput,
}

impl BuiltInTool {
    pub(crate) fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: self.name.into(),
            title: self.title.into(),
            description: self.description.into(),
            input_schema: (self.schema)(),
            read_only: true,
        }
    }

    pub(crate) fn call(&self, skills: &Skillcue, call: &Call, context: &ToolContext<'_>) -> ToolOutput {
        let output = (self.handler)(skills, call, context);
        tracing::debug!(target: "skillcue::tools", tool = self.name, failed = output.is_error, bytes = output.text.len(), "called");
        output
    }
}

/// A tool as models see it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolDefinition {
    /// The name by which models call it.
    pub name: Cow<'static, str>,
    /// The name for people.
    pub title: Cow<'static, str>,
    /// A sentence on what the tool does and when to use it.
    pub description: Cow<'static, str>,
    /// The JSON Schema of its arguments.
    pub input_schema: Value,
    /// Whether it only reads.
    pub read_only: bool,
}

/// The result of a tool. Failures are in it, too: a call never fails otherwise.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolOutput {
    /// The text for the model.
    pub text: String,
    /// The result as JSON for programs, where it has more than the text.
    pub structured: Option<Value>,
    /// Whether it failed.
    pub is_error: bool,
    /// The effect that a session should record.
    pub effect: Option<Effect>,
}

/// An effect of a call on its session.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Effect {
    /// A skill's body is in the model's context now.
    Loaded {
        /// The skill's name.
        name: String,
        /// The arguments that it was loaded with; empty if it was loaded without.
        arguments: String,
        /// The whole text without arguments, as `Session::record_part` takes it.
        content: std::sync::Arc<str>,
        /// The parts of it that were returned, in bytes: all of it, a section, or those that fit a limit.
        parts: Vec<std::ops::Range<usize>>,
        /// The skill's files, as they were listed for the load.
        files: std::sync::Arc<FileListing>,
        /// Whether it was in context before, so that only a line was returned. Its tools join all the same.
        is_known: bool,
    },
    /// A skill has left: its tools are no longer offered, and its text may be dropped.
    Unloaded {
        /// The skill's name, as it was loaded.
        name: String,
    },
}

impl Effect {
    /// Records the effect in the session of the conversation that the call belongs to.
    ///
    /// ```
    /// use skillcue::tools::{Call, ToolContext};
    /// use skillcue::{Session, Skillcue};
    ///
    /// let dir = tempfile::tempdir()?;
    /// std::fs::create_dir(dir.path().join("pdf"))?;
    /// std::fs::write(dir.path().join("pdf/SKILL.md"), "---\nname: pdf\ndescription: Reads PDFs.\n---\nUse pdftotext.")?;
    /// let skills = Skillcue::builder().skills_dir(dir.path()).build()?;
    /// let mut session = Session::default();
    /// let call = Call::new("load_skill", serde_json::json!({"skill_id": "pdf"}).as_object().unwrap().clone());
    /// for is_known in [false, true] {
    ///     let context = ToolContext { shown: Some(&session), ..ToolContext::default() };
    ///     let output = skills.call_tool(&call, &context).unwrap();
    ///     assert_eq!(output.text.contains("Use pdftotext."), !is_known);
    ///     output.effect.unwrap().record(&mut session);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn record(&self, session: &mut crate::Session) {
        match self {
            Effect::Loaded { name, is_known: true, .. } => session.record_use(name),
            Effect::Loaded { name, arguments, content, parts, .. } => {
                for part in parts {
                    session.record_part(name, arguments, content, part.clone());
                }
            }
            Effect::Unloaded { name } => session.unloaded(name),
        }
    }
}

/// A program of a skill that a call would run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillProgram {
    /// The skill that it belongs to, as `Catalog::get` finds it.
    pub skill: String,
    /// The script, or the tool by the id that its author gave it.
    pub name: String,
    /// Whether it is a script.
    pub is_script: bool,
}

/// The caller's side of a call.
#[derive(Clone, Copy)]
pub struct ToolContext<'c> {
    /// Receives the progress of a long call: done, of how many if that is known, and in words.
    pub progress: &'c (dyn Fn(f64, Option<f64>, &str) + Sync),
    /// Whether the caller has stopped waiting for the result.
    pub cancelled: &'c (dyn Fn() -> bool + Sync),
    /// The skills whose bodies the session has loaded.
    pub loaded: &'c [String],
    /// The session's id; empty if there is none.
    pub session: &'c str,
    /// Whether a skill that is loaded stays so until the next call.
    pub is_lasting: bool,
    /// The record of what the conversation has been shown: what is in its context is not returned again.
    pub shown: Option<&'c crate::Session>,
    /// The message that the model works on, by which the parts of a text over its limit are chosen; empty if it is not
    /// known.
    pub message: &'c str,
}

impl ToolContext<'_> {
    /// Checks that the session has loaded a skill, as [`check_loaded`] does. Where nothing stays loaded, the error does
    /// not advise to load it, which would lead nowhere.
    pub fn check_loaded(&self, catalog: &Catalog, skill: &Skill) -> Result<(), (&'static str, String)> {
        check_loaded(catalog, skill, self.loaded).map_err(|(code, message)| {
            let message = if self.is_lasting { message } else { NO_SESSION.to_owned() };
            (code, message)
        })
    }
}

/// Advice for a client without a session.
const NO_SESSION: &str = "This connection has no session, so no skill stays loaded from one call to the next. Call load_skill; \
                          its answer says how to call the tools and scripts of the skill.";

impl ToolOutput {
    /// Makes a result of a text.
    pub fn from_text(text: String) -> ToolOutput {
        ToolOutput { text, structured: None, is_error: false, effect: None }
    }

    fn failed(text: String) -> ToolOutput {
        ToolOutput { is_error: true, ..ToolOutput::from_text(text) }
    }

    /// Makes a failure in the form that all tools have: an `<error>` with its code inside the element that the result
    /// would have been in. `opening` is that element's tag with its attributes, escaped.
    ///
    /// ```
    /// let output = skillcue::tools::ToolOutput::failure("skill_file id=\"pdf\"", "not_found", "It is not there.");
    /// assert!(output.is_error);
    /// assert!(output.text.starts_with("<skill_file id=\"pdf\">\n  <error code=\"not_found\">\n    It is not there.\n"));
    /// ```
    pub fn failure(opening: &str, code: &str, message: &str) -> ToolOutput {
        let element = opening.split_whitespace().next().unwrap_or_default();
        let mut said = format!("<{opening}>\n  <error code=\"{}\">\n", attribute(code));
        for line in message.lines() {
            let _ = writeln!(said, "    {}", text(line));
        }
        let _ = write!(said, "  </error>\n</{element}>");
        ToolOutput::failed(said)
    }
}

/// Returns a skill that a model may have: one that is hidden from models is not found, even by its name.
pub fn for_model<'c>(catalog: &'c Catalog, id: &str) -> Result<&'c Skill, Error> {
    let not_found = || {
        let close = catalog.close_names(id).into_iter().filter(|name| *name != id).map(str::to_owned).collect();
        Error::NotFound { name: id.to_owned(), close }
    };
    match usable(catalog, id) {
        Ok(skill) if !skill.is_open_to_models() => Err(not_found()),
        // A skill that is hidden and disabled is reported as hidden.
        Err(Error::Disabled { .. } | Error::Refused { .. } | Error::Unavailable { .. })
            if catalog.get(id).is_some_and(Skill::hides_from_models) =>
        {
            Err(not_found())
        }
        other => other,
    }
}

/// Checks that a session which has loaded these skills has loaded this one: only then may it run what the skill brings
/// along. The error is a code and a sentence that says what to do.
pub fn check_loaded(catalog: &Catalog, skill: &Skill, loaded: &[String]) -> Result<(), (&'static str, String)> {
    // A skill has several names; an address is its own.
    let address = skill.address();
    if loaded.iter().filter_map(|name| catalog.get(name)).any(|known| known.address() == address) {
        return Ok(());
    }
    let id = skill.id();
    let shown = skillcue_base::Shown(&id);
    Err(("not_loaded", format!("Load the skill first: load_skill with the id \"{shown}\".")))
}

/// Returns an error in the form of the envelope: one of its codes, and sentences for the model.
pub fn error_for_model(skills: &Skillcue, error: &Error, id: &str) -> (&'static str, String) {
    match error {
        Error::NotFound { close, .. } => {
            let close = if close.is_empty() { String::new() } else { format!(" Close names: {}.", close.join(", ")) };
            let shown = skillcue_base::Shown(id);
            ("not_found", format!("No skill has the id \"{shown}\".{close}"))
        }
        Error::Disabled { name } => {
            let shown = skillcue_base::Shown(name);
            ("disabled", format!("The skill \"{shown}\" is disabled. Only the user can enable it."))
        }
        // The rules themselves are the organisation's business, and no help to a model.
        Error::Refused { name, .. } => {
            let shown = skillcue_base::Shown(name);
            (
                "disabled",
                format!("The organisation's policy does not allow the skill \"{shown}\". Do the task without it."),
            )
        }
        Error::Unavailable { .. } => ("disabled", format!("{}.", capital(&error.to_string()))),
        _ => {
            let code = match error.code() {
                "invalid_argument" => "invalid_argument",
                "declined" => "declined",
                _ => "unreadable",
            };
            (code, skills.explain_error(error))
        }
    }
}

/// Returns a message as the beginning of a sentence for models: a capital letter first, no full stop at its end.
pub fn capital(sentence: &str) -> String {
    let mut chars = sentence.trim_end_matches('.').chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

impl Default for ToolContext<'_> {
    fn default() -> Self {
        ToolContext {
            progress: &|_, _, _| {},
            cancelled: &|| false,
            loaded: &[],
            session: "",
            is_lasting: true,
            shown: None,
            message: "",
        }
    }
}

impl fmt::Debug for ToolContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolContext").field("loaded", &self.loaded).finish_non_exhaustive()
    }
}

/// Adds tools to the table: those that run scripts, and those of skills' toolsets.
pub trait ToolProvider: Send + Sync + fmt::Debug {
    /// Returns its tools, for a session that has loaded these skills.
    fn definitions(&self, skills: &Skillcue, loaded: &[String]) -> Vec<ToolDefinition>;

    /// Returns whether a session that has loaded this skill, which has these files, may have other tools for it. It
    /// only looks, so that loading a skill runs nothing.
    fn brings_tools(&self, skills: &Skillcue, skill: &str, files: &FileListing) -> bool;

    /// Returns the program that a call would run; `None` if it would run none, or if there is no such tool here. For
    /// hosts that ask a person first.
    fn program_for_call(&self, skills: &Skillcue, call: &Call, loaded: &[String]) -> Option<SkillProgram> {
        let _ = (skills, call, loaded);
        None
    }

    /// Calls one of its tools; `None` if it has none of that name.
    fn call(&self, skills: &Skillcue, call: &Call, context: &ToolContext<'_>) -> Option<ToolOutput>;
}
