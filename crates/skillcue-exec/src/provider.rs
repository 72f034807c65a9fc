//! `run_skill_script`: the scripts of skills as a tool for models.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde_json::{Value, json};
use skillcue::catalog::{FileListing, ProgramRule, SkillDir};
use skillcue::tools::{
    ArgumentError, Arguments, Call, SkillProgram, ToolContext, ToolDefinition, ToolOutput, ToolProvider, attribute,
    check_loaded, error_for_model, for_model, neutralise,
};
use skillcue::{Skill, Skillcue};
use skillcue_base::{ErrorInfo as _, Shown};

use crate::scripts::{find_script, has_scripts};
use crate::{RunError, RunRequest, RunResult, Runner, ScriptInfo, scripts};

const NAME: &str = "run_skill_script";
const DESCRIPTION: &str = "Runs a script of a skill that you have loaded, in a sandbox: it reads the skill's files, \
                           writes only to a temporary directory of its own, and has no network unless the user has \
                           granted more. `list` names the skill's scripts, `help` shows how one is used.";

/// Bytes of each stream that a model is shown: the beginning and the end of what was printed.
const MAX_SHOWN: usize = 48 * 1024;

/// Gives models the scripts of the skills that they have loaded: `run_skill_script`.
///
/// ```
/// use std::sync::Arc;
///
/// use skillcue::Skillcue;
/// use skillcue_exec::{Launcher, Runner, RunnerOptions, ScriptTools};
///
/// let runner = Runner::new(Launcher::new("/usr/bin/skillcue"), RunnerOptions::default());
/// let skills = Skillcue::builder().tools(Arc::new(ScriptTools::new(runner))).build()?;
/// assert_eq!(skills.tools(&[]).len(), 3, "it joins once a skill with scripts is loaded");
/// # Ok::<(), skillcue::Error>(())
/// ```
#[derive(Debug)]
pub struct ScriptTools {
    runner: Runner,
}

/// The action that a call asks for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Action {
    List,
    Help,
    Run,
}

/// The arguments of one call.
struct ScriptCall<'a> {
    id: &'a str,
    script: &'a str,
    action: Action,
    arguments: Vec<String>,
    input: Option<&'a Value>,
}

impl ScriptTools {
    /// Creates the provider; scripts are run by `runner`.
    pub fn new(runner: Runner) -> ScriptTools {
        ScriptTools { runner }
    }
}

impl ToolProvider for ScriptTools {
    fn definitions(&self, skills: &Skillcue, loaded: &[String]) -> Vec<ToolDefinition> {
        // Without a script to run it would only cost tokens.
        let catalog = skills.catalog();
        let has_any = |skill: &Skill| open_dir(skill).is_ok_and(|dir| has_scripts(&dir, skill.manifest(), None));
        let has_scripts_loaded = loaded.iter().any(|name| for_model(&catalog, name).is_ok_and(has_any));
        has_scripts_loaded.then(definition).into_iter().collect()
    }

    fn brings_tools(&self, skills: &Skillcue, skill: &str, files: &FileListing) -> bool {
        let catalog = skills.catalog();
        let has_any = |skill: &Skill| open_dir(skill).is_ok_and(|dir| has_scripts(&dir, skill.manifest(), Some(files)));
        for_model(&catalog, skill).is_ok_and(has_any)
    }

    fn program_for_call(&self, skills: &Skillcue, call: &Call, loaded: &[String]) -> Option<SkillProgram> {
        // A call that is refused program_for_call nothing.
        let script_call = (call.name() == NAME).then(|| parse_call(call).ok()).flatten()?;
        let catalog = skills.catalog();
        let skill = for_model(&catalog, script_call.id).ok()?;
        check_loaded(&catalog, skill, loaded).ok()?;
        if script_call.action == Action::List {
            return None;
        }
        // One script has one name, however a model writes it: people are asked about that.
        let dir = open_dir(skill).ok();
        let found = dir.and_then(|dir| find_script(&RunRequest::new(&dir, skill.manifest(), script_call.script)).ok());
        let name = found.map_or_else(|| script_call.script.to_owned(), |script| script.path);
        Some(SkillProgram { skill: script_call.id.to_owned(), name, is_script: true })
    }

    fn call(&self, skills: &Skillcue, call: &Call, context: &ToolContext<'_>) -> Option<ToolOutput> {
        (call.name() == NAME).then(|| self.act(skills, call, context))
    }
}

fn definition() -> ToolDefinition {
    ToolDefinition {
        name: NAME.into(),
        title: "Run a script of a skill".into(),
        description: DESCRIPTION.into(),
        input_schema: json!({
            "type": "object",
            "properties": {
                "skill_id": {"type": "string", "minLength": 1, "description": "The id of the skill."},
                "script": {
                    "type": "string",
                    "description": "The script, relative to the skill's root. Only `list` does without."
                },
                "action": {
                    "type": "string",
                    "enum": ["run", "help", "list"],
                    "default": "run",
                    "description": "What to do."
                },
                "arguments": {
                    "type": "array",
                    "items": {"type": "string"},
                    "description": "Its command-line arguments, one by one; no shell sees them."
                },
                "input": {"description": "Any JSON value: it is written to the script's standard input."}
            },
            "required": ["skill_id"],
            "additionalProperties": false
        }),
        read_only: false,
    }
}

impl ScriptTools {
    fn act(&self, skills: &Skillcue, call: &Call, context: &ToolContext<'_>) -> ToolOutput {
        let script = call.arguments().get("script").and_then(Value::as_str).unwrap_or_default();
        let opening = opening_tag(call.skill_id().unwrap_or_default(), script);
        let fail = |code: &str, message: &str| ToolOutput::failure(&opening, code, message);
        let script_call = match parse_call(call) {
            Ok(script_call) => script_call,
            Err(refused) => return fail("invalid_argument", &refused.to_string()),
        };
        let catalog = skills.catalog();
        let skill = match for_model(&catalog, script_call.id) {
            Ok(skill) => skill,
            Err(error) => {
                let (code, message) = error_for_model(skills, &error, script_call.id);
                return fail(code, &message);
            }
        };
        if let Err((code, message)) = context.check_loaded(&catalog, skill) {
            return fail(code, &message);
        }
        let dir = match open_dir(skill) {
            Ok(dir) => dir,
            Err(message) => return fail("not_found", &message),
        };
        let manifest = skill.manifest();
        if script_call.action == Action::List {
            return scripts_output(script_call.id, &scripts(&dir, manifest));
        }
        if script_call.script.trim().is_empty() {
            let known: Vec<String> = scripts(&dir, manifest).into_iter().map(|script| script.path).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            return fail("invalid_argument", &format!("The argument `script` is missing. There are: {known}."));
        }
        // The runner knows the policy of when it was made; a catalog may have brought another one since.
        if let Some(refusal) = catalog.policy().and_then(|policy| policy.program_refusal(ProgramRule::Scripts)) {
            let error = RunError::Policy { refusal: Box::new(refusal) };
            return fail(error.code(), &skills.explain_error(&error));
        }
        let address = skill.id();
        let request = RunRequest {
            address: Some(&address),
            arguments: &script_call.arguments,
            input: script_call.input,
            cancelled: &|| (context.cancelled)(),
            ..RunRequest::new(&dir, manifest, script_call.script)
        };
        let outcome = match script_call.action {
            Action::Help => self.runner.help(&request),
            Action::Run | Action::List => self.runner.run(&request),
        };
        match outcome {
            Ok(result) => run_output(skills, script_call.id, script_call.script, &result, None),
            Err(error) => match error.result() {
                Some(result) => run_output(skills, script_call.id, script_call.script, result, Some(&error)),
                None => fail(error.code(), &skills.explain_error(&error)),
            },
        }
    }
}

fn parse_call(call: &Call) -> Result<ScriptCall<'_>, ArgumentError> {
    let given = Arguments::of(call, &["skill_id", "script", "action", "arguments", "input"])?;
    let action = match given.text("action")? {
        None | Some("run") => Action::Run,
        Some("help") => Action::Help,
        Some("list") => Action::List,
        Some(_) => return Err(ArgumentError::new("The argument `action` must be run, help or list.")),
    };
    Ok(ScriptCall {
        id: given.skill_id()?,
        script: given.text("script")?.unwrap_or_default(),
        action,
        arguments: given.texts("arguments")?,
        input: given.value("input"),
    })
}

/// Opens the skill's directory, if it is on this machine.
fn open_dir(skill: &Skill) -> Result<SkillDir, String> {
    if skill.server().is_some() {
        return Err("Scripts of skills that a remote server serves do not run here.".to_owned());
    }
    SkillDir::open(skill.name(), &skill.dir()).map_err(|error| format!("{error}."))
}

fn opening_tag(id: &str, script: &str) -> String {
    let (id, script) = (Shown(id).to_string(), Shown(script).to_string());
    let script = if script.is_empty() { String::new() } else { format!(" script=\"{}\"", attribute(&script)) };
    format!("skill_script id=\"{}\"{script}", attribute(&id))
}

fn scripts_output(id: &str, known: &[ScriptInfo]) -> ToolOutput {
    let mut text = format!("<skill_scripts id=\"{}\">\n", attribute(id));
    for script in known {
        let _ = write!(text, "- {}", neutralise(&Shown(&script.path).to_string(), &["skill_scripts"]));
        if let Some(description) = &script.description {
            let _ = write!(text, ": {}", neutralise(description, &["skill_scripts"]));
        }
        text.push('\n');
    }
    text.push_str("</skill_scripts>");
    let rows: Vec<Value> = known
        .iter()
        .map(
            |script| json!({"script": script.path, "description": script.description, "runs_with": script.interpreter}),
        )
        .collect();
    ToolOutput { structured: Some(json!({"skill_id": id, "scripts": rows})), ..ToolOutput::from_text(text) }
}

/// Returns what a model is shown of a run, and of the error that ended it, if one did.
fn run_output(skills: &Skillcue, id: &str, script: &str, result: &RunResult, error: Option<&RunError>) -> ToolOutput {
    let mut text = format!("<{}", opening_tag(id, script));
    match result.exit_code {
        Some(code) => {
            let _ = write!(text, " exit_code=\"{code}\"");
        }
        None => text.push_str(" exit_code=\"none\""),
    }
    let _ = writeln!(text, " sandboxed=\"{}\">", result.sandboxed);
    let (stdout, stderr) = (shortened(&result.stdout), shortened(&result.stderr));
    for (element, content) in [("stdout", &stdout), ("stderr", &stderr)] {
        if content.is_empty() {
            continue;
        }
        let end = if content.ends_with('\n') { "" } else { "\n" };
        let content = neutralise(content, &["skill_script", "stdout", "stderr"]);
        let _ = writeln!(text, "<{element}>\n{content}{end}</{element}>");
    }
    if let Some(error) = error {
        let _ = writeln!(text, "  <error code=\"{}\">\n    {}\n  </error>", error.code(), skills.explain_error(error));
    }
    text.push_str("</skill_script>");
    let mut structured = serde_json::to_value(result).unwrap_or_default();
    structured["stdout"] = stdout.into();
    structured["stderr"] = stderr.into();
    if let Some(error) = error {
        structured["error"] = json!({"code": error.code(), "message": error.to_string()});
    }
    let is_error = error.is_some() || !result.is_success();
    ToolOutput { structured: Some(structured), is_error, ..ToolOutput::from_text(text) }
}

/// Returns the beginning and the end of what was printed, with the number of bytes that are left out between them.
fn shortened(printed: &[u8]) -> String {
    let text = String::from_utf8_lossy(printed);
    if text.len() <= MAX_SHOWN {
        return Cow::into_owned(text);
    }
    let head = text.floor_char_boundary(MAX_SHOWN * 3 / 4);
    let tail = text.ceil_char_boundary(text.len() - MAX_SHOWN / 4);
    format!("{}\n[{} bytes are left out here.]\n{}", &text[..head], tail - head, &text[tail..])
}
