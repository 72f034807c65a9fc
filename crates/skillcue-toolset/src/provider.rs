//! The tools of toolsets as tools for models, once their skill is loaded.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value, json};
use skillcue::catalog::{FileListing, ProgramRule};
use skillcue::tools::{
    Call, SkillProgram, ToolContext, ToolDefinition, ToolOutput, ToolProvider, attribute, capital, for_model,
};
use skillcue::{Catalog, Diagnostic, Skill, Skillcue};
use skillcue_base::{ErrorInfo as _, Shown};

use crate::{CallContext, OfferedTools, SkillToolsets, ToolCallResult, ToolError, Toolsets};

/// The text between a skill's name and its tool's id.
const SEPARATOR: &str = "__";

/// The longest name that clients take.
const MAX_NAME_LEN: usize = 128;

/// The tool that runs scripts; like those that are always there, it keeps its name.
const SCRIPT_TOOL: &str = "run_skill_script";

/// Gives models the tools of the skills that they have loaded.
///
/// A tool is called by the id that its author gave it. Where two loaded skills have the same id, or a tool of Skillcue
/// has it, only `skill__tool` is left, which always works.
#[derive(Debug)]
pub struct ToolsetTools {
    toolsets: Arc<Toolsets>,
    is_refused: bool,
}

impl ToolsetTools {
    /// Runs tools with `toolsets`.
    pub fn new(toolsets: Arc<Toolsets>) -> ToolsetTools {
        ToolsetTools { toolsets, is_refused: false }
    }

    /// Sets whether the organisation's policy lets no toolset run: then no skill offers tools.
    #[must_use]
    pub fn refusing(self, is_refused: bool) -> ToolsetTools {
        ToolsetTools { is_refused, ..self }
    }

    /// Returns the tools that a skill's toolsets offer; none if it has no toolsets. Evaluates them, in the sandbox, if
    /// they have changed.
    pub fn offered(&self, skill: &Skill) -> Option<Arc<OfferedTools>> {
        let dir = skill.dir();
        Some(self.toolsets.tools(&self.toolsets_of(skill, &dir)?))
    }

    /// Returns the skills with a tool of this id, by name, and those whose toolsets could not all be looked at.
    /// Evaluates, in the sandbox, the toolsets that have changed.
    pub fn with_tool<'c>(&self, catalog: &'c Catalog, id: &str) -> (Vec<&'c Skill>, Vec<&'c Skill>) {
        let (mut having, mut unknown) = (Vec::new(), Vec::new());
        if is_refused_by(catalog) {
            return (having, unknown);
        }
        for skill in catalog.skills().filter(|skill| for_model(catalog, skill.name()).is_ok()) {
            let Some(offered) = self.offered(skill) else { continue };
            if offered.tools.iter().any(|tool| tool.id == id) {
                having.push(skill);
            } else if offered.diagnostics.iter().any(Diagnostic::is_error) {
                unknown.push(skill);
            }
        }
        (having, unknown)
    }

    /// Returns the toolsets of a skill; none if it has no toolsets or is not on this machine.
    fn toolsets_of<'s>(&self, skill: &'s Skill, dir: &'s std::path::Path) -> Option<SkillToolsets<'s>> {
        let manifest = skill.manifest();
        if self.is_refused || skill.server().is_some() || manifest.toolsets().len() == 0 {
            return None;
        }
        Some(SkillToolsets::new(skill.name(), dir, manifest.toolsets()))
    }

    /// Returns the tools that the loaded skills offer.
    fn all_offered<'c>(&self, catalog: &'c Catalog, loaded: &[String]) -> Vec<(&'c Skill, Arc<OfferedTools>)> {
        let mut all = Vec::new();
        let mut seen = HashSet::new();
        if is_refused_by(catalog) {
            return all;
        }
        for name in loaded {
            let Ok(skill) = for_model(catalog, name) else { continue };
            if !seen.insert(skill.address()) {
                continue;
            }
            all.extend(self.offered(skill).map(|offered| (skill, offered)));
        }
        all
    }

    /// Returns the tools that are needed to know which one a name means: as few as possible, so that no other skill can
    /// delay it.
    fn offered_for<'c>(
        &self,
        catalog: &'c Catalog,
        loaded: &[String],
        name: &str,
    ) -> Vec<(&'c Skill, Arc<OfferedTools>)> {
        if is_refused_by(catalog) {
            return Vec::new();
        }
        let own = name.split_once(SEPARATOR).and_then(|(skill, _)| loaded.iter().find(|known| *known == skill));
        if let Some(own) = own {
            return self.all_offered(catalog, std::slice::from_ref(own));
        }
        // A model has its names from a list, for which all were looked at: the tools that are known will do.
        let known = loaded.iter().filter_map(|name| {
            let skill = for_model(catalog, name).ok()?;
            let dir = skill.dir();
            Some((skill, self.toolsets.known_tools(&self.toolsets_of(skill, &dir)?)?))
        });
        let known: Vec<_> = known.collect();
        let has = |offered: &OfferedTools| offered.tools.iter().any(|tool| tool.id == name);
        if known.iter().any(|(_, offered)| has(offered)) { known } else { self.all_offered(catalog, loaded) }
    }
}

/// Returns whether the policy of a catalog lets no toolset run, which may be newer than that of [`ToolsetTools::refusing`].
fn is_refused_by(catalog: &Catalog) -> bool {
    catalog.policy().is_some_and(|policy| policy.program_refusal(ProgramRule::Toolsets).is_some())
}

/// Returns tools with the names under which they can be called.
fn callable_tools<'c>(catalog: &Catalog, offered: &[(&'c Skill, Arc<OfferedTools>)]) -> Vec<CallableTool<'c>> {
    let mut all = Vec::new();
    for (skill, offered) in offered {
        let at = 0..offered.tools.len();
        all.extend(at.map(|at| CallableTool { skill, offered: Arc::clone(offered), at, is_alone: true }));
    }
    let long: HashSet<String> = all.iter().map(CallableTool::long_name).collect();
    let mut count: HashMap<String, usize> =
        skillcue::tools::built_in_names().chain([SCRIPT_TOOL]).map(|name| (name.to_owned(), 1)).collect();
    for tool in &all {
        *count.entry(tool.id().to_owned()).or_default() += 1;
    }
    for tool in &mut all {
        // An id must not look like the long name of another skill's tool, whether that is loaded or not.
        let is_borrowed = long.contains(tool.id())
            || tool.id().split_once(SEPARATOR).is_some_and(|(skill, _)| catalog.get(skill).is_some());
        tool.is_alone = count[tool.id()] == 1 && !is_borrowed;
    }
    all
}

/// A tool of a loaded skill.
struct CallableTool<'c> {
    skill: &'c Skill,
    offered: Arc<OfferedTools>,
    at: usize,
    /// Whether no other tool has its id.
    is_alone: bool,
}

impl CallableTool<'_> {
    fn id(&self) -> &str {
        &self.offered.tools[self.at].id
    }

    fn long_name(&self) -> String {
        format!("{}{SEPARATOR}{}", self.skill.name(), self.id())
    }
}

impl ToolProvider for ToolsetTools {
    fn definitions(&self, skills: &Skillcue, loaded: &[String]) -> Vec<ToolDefinition> {
        let catalog = skills.catalog();
        let offered = self.all_offered(&catalog, loaded);
        let mut tools = callable_tools(&catalog, &offered);
        log_problems(&offered, &tools);
        // Clients refuse longer names: such a tool is only there while no other loaded tool has its id.
        tools.retain(|tool| tool.is_alone || tool.long_name().len() <= MAX_NAME_LEN);
        let definition = |tool: &CallableTool<'_>| {
            let spec = &tool.offered.tools[tool.at];
            ToolDefinition {
                name: if tool.is_alone { spec.id.clone() } else { tool.long_name() }.into(),
                title: format!("{} ({})", spec.id, tool.skill.name()).into(),
                description: spec.description.clone().into(),
                input_schema: spec.schema.clone(),
                read_only: false,
            }
        };
        tools.iter().map(definition).collect()
    }

    fn brings_tools(&self, skills: &Skillcue, skill: &str, _: &FileListing) -> bool {
        let catalog = skills.catalog();
        for_model(&catalog, skill).is_ok_and(|skill| skill.server().is_none() && skill.manifest().toolsets().len() > 0)
    }

    fn program_for_call(&self, skills: &Skillcue, call: &Call, loaded: &[String]) -> Option<SkillProgram> {
        let catalog = skills.catalog();
        let known = callable_tools(&catalog, &self.offered_for(&catalog, loaded, call.name()));
        let tool = find_tool(&known, call.name())?;
        Some(SkillProgram { skill: tool.skill.address(), name: tool.id().to_owned(), is_script: false })
    }

    fn call(&self, skills: &Skillcue, call: &Call, context: &ToolContext<'_>) -> Option<ToolOutput> {
        let (name, arguments) = (call.name(), call.arguments());
        let catalog = skills.catalog();
        let offered = self.offered_for(&catalog, context.loaded, name);
        let known = callable_tools(&catalog, &offered);
        let Some(tool) = find_tool(&known, name) else {
            return refusal(skills, &catalog, name, &offered, &known, context);
        };
        let dir = tool.skill.dir();
        let skill_toolsets = self.toolsets_of(tool.skill, &dir)?;
        let lines = AtomicU32::new(0);
        let call = CallContext {
            session_id: context.session,
            cancelled: context.cancelled,
            // Progress has to grow, and its end is not known.
            log: &|_, message| (context.progress)(f64::from(lines.fetch_add(1, Ordering::Relaxed) + 1), None, message),
        };
        Some(match self.toolsets.call(&skill_toolsets, tool.id(), arguments, &call) {
            Ok(result) => ToolOutput { structured: Some(structured(&result)), ..ToolOutput::from_text(result.output) },
            Err(error) => failed(skills, name, &error),
        })
    }
}

/// Returns the tool that a name means. The long name comes first: it always means this skill's tool.
fn find_tool<'n, 'c>(known: &'n [CallableTool<'c>], name: &str) -> Option<&'n CallableTool<'c>> {
    let by_long = known.iter().find(|tool| tool.long_name() == name);
    by_long.or_else(|| known.iter().find(|tool| tool.is_alone && tool.id() == name))
}

/// Returns the reason that a skill's tool cannot be called; none if the name means no tool of a skill.
fn refusal(
    skills: &Skillcue,
    catalog: &Catalog,
    name: &str,
    offered: &[(&Skill, Arc<OfferedTools>)],
    known: &[CallableTool<'_>],
    context: &ToolContext<'_>,
) -> Option<ToolOutput> {
    if let Some(tool) = known.iter().find(|tool| tool.id() == name) {
        let message = format!("Several tools have that name. This skill's is called {}.", tool.long_name());
        return Some(ToolOutput::failure(&opening(name), "ambiguous", &message));
    }
    let (skill, _) = name.split_once(SEPARATOR)?;
    let skill = for_model(catalog, skill).ok().filter(|skill| skill.manifest().toolsets().len() > 0)?;
    let (code, message) = if let Err(refused) = context.check_loaded(catalog, skill) {
        refused
    } else {
        let names: Vec<String> =
            known.iter().filter(|tool| std::ptr::eq(tool.skill, skill)).map(CallableTool::long_name).collect();
        let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        let mut message = format!("The skill has no such tool. Its tools are: {names}.");
        let own = offered.iter().filter(|(of, _)| std::ptr::eq(*of, skill));
        for finding in own.flat_map(|(_, offered)| &offered.diagnostics) {
            let help = skills.hint_for(finding).map(|help| format!(" ({help})")).unwrap_or_default();
            let _ = write!(message, "\n{finding}{help}");
        }
        ("not_found", message)
    };
    Some(ToolOutput::failure(&opening(name), code, &message))
}

/// Logs the problems of toolsets, and the tools whose id another tool has, too.
fn log_problems(offered: &[(&Skill, Arc<OfferedTools>)], tools: &[CallableTool<'_>]) {
    for (skill, finding) in offered.iter().flat_map(|(skill, it)| it.diagnostics.iter().map(move |of| (skill, of))) {
        tracing::warn!(target: "skillcue::toolset", skill = skill.name(), "{finding}");
    }
    for tool in tools.iter().filter(|tool| !tool.is_alone) {
        let (skill, id) = (tool.skill.name(), tool.id());
        tracing::warn!(
            target: "skillcue::toolset",
            skill,
            "error[tool_collision]: `{id}` is the name of another tool, too; it is called {skill}{SEPARATOR}{id}"
        );
    }
}

/// Returns a result for programs.
fn structured(result: &ToolCallResult) -> Value {
    json!({"title": result.title, "metadata": result.metadata, "output": result.output})
}

fn opening(name: &str) -> String {
    format!("skill_tool name=\"{}\"", attribute(&Shown(name).to_string()))
}

fn failed(skills: &Skillcue, name: &str, error: &ToolError) -> ToolOutput {
    let place = match error {
        ToolError::Threw { place: Some(place), .. } => format!("\nAt {place}."),
        _ => String::new(),
    };
    let hint = skills.hint_for(error).unwrap_or_default();
    let message = format!("{}.{place}\n{}.", capital(&error.to_string()), capital(&hint));
    let mut output = ToolOutput::failure(&opening(name), error.code(), &message);
    output.structured = Some(json!({"error": {"code": error.code(), "message": error.to_string(), "help": hint}}));
    output
}

impl std::fmt::Debug for Toolsets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Toolsets").field("running", &self.running_count()).finish_non_exhaustive()
    }
}
