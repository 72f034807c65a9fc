//! `skillcue call`: one tool, as a model would call it.

use serde_json::{Map, Value, json};
use skillcue::Diagnostic;
use skillcue::tools::{Call, ToolContext};
use skillcue_base::ErrorInfo as _;
use skillcue_exec::ExecError;

use crate::context::Context;
use crate::error::CliError;
use crate::progress::ProgressIndicator;
use crate::report::Printout;
use crate::turn::json_argument;
use crate::{Outcome, text};

const AFTER: &str = "\
Examples:
  skillcue call hello-extended__greeting '{\"language\": \"fr\"}'     a tool of a skill's toolset
  skillcue call greeting '{\"language\": \"fr\"}'                     the same, if no other skill has one of that name
  skillcue call search_skills '{\"query\": \"fill a form\"}'          one of Skillcue's own
  echo '{\"language\": \"fr\"}' | skillcue call hello-extended__greeting -

`skillcue tools NAME` shows a skill's tools. With --json it prints what the tool returned, for a skill's own tool
{title, metadata, output}.";

#[derive(Debug, clap::Args)]
#[command(after_help = crate::cli::footer(AFTER))]
pub(crate) struct Args {
    /// The tool: `TOOL`, or `SKILL__TOOL` where several skills have one of that name
    tool: String,
    /// Its arguments, a JSON object; - takes them from stdin
    #[arg(value_name = "JSON", default_value = "{}")]
    arguments: String,
    /// The skill whose tool it is
    #[arg(long, value_name = "NAME")]
    skill: Option<String>,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Outcome, CliError> {
    let example = "'{\"language\": \"fr\"}'";
    let arguments: Map<String, Value> = json_argument(&args.arguments, "the arguments are no JSON object", example)?;
    let called = Call::new(&args.tool, arguments);
    crate::judge::configured(context)?;
    let skills = context.skills()?;
    // As if the skills had been loaded: a user names a tool, or a skill for it, to use it.
    let named = called.skill_id().map(str::to_owned);
    let loaded: Vec<String> = owner_of_tool(args, context)?.into_iter().chain(named).collect();
    let progress = ProgressIndicator::spinner(format!("calling {}", text::one_line(&args.tool)));
    let terminal = &context.terminal;
    let log = |_: f64, _: Option<f64>, message: &str| progress.suspend(|| terminal.say(&text::one_line(message)));
    let call = ToolContext { loaded: &loaded, session: "cli", progress: &log, ..ToolContext::default() };
    let output = skills.call_tool(&called, &call);
    drop(progress);
    let Some(output) = output else { return Err(unknown_tool(args, &loaded, context)?) };
    let document = match (&output.structured, output.is_error) {
        (Some(structured), _) => structured.clone(),
        (None, true) => json!({"error": output.text}),
        (None, false) => json!({"output": output.text}),
    };
    context.report(Outcome::of(!output.is_error), &document, || Printout::bytes(text::visible_lines(&output.text)))
}

/// Returns the skill whose tool is meant. None for a tool that is always there, and for one that no skill has.
fn owner_of_tool(args: &Args, context: &Context) -> Result<Option<String>, CliError> {
    let catalog = context.skills()?.catalog();
    if let Some(skill) = &args.skill {
        skillcue::catalog::usable(&catalog, skill)?;
        return Ok(Some(skill.clone()));
    }
    if let Some((skill, _)) = args.tool.split_once("__").filter(|(skill, _)| catalog.get(skill).is_some()) {
        return Ok(Some(skill.to_owned()));
    }
    if skillcue::tools::built_in_names().any(|name| name == args.tool) {
        return Ok(None);
    }
    let progress = ProgressIndicator::spinner("looking at the toolsets");
    let (having, _) = context.programs()?.toolset_tools().with_tool(&catalog, &args.tool);
    drop(progress);
    match having[..] {
        [] => Ok(None),
        [skill] => Ok(Some(skill.name().to_owned())),
        _ => {
            let message = format!("{} skills have a tool {:?}", having.len(), args.tool);
            let names: Vec<String> = having.iter().map(|skill| format!("{}__{}", skill.name(), args.tool)).collect();
            Err(CliError::failure("ambiguous", message).help(format!("name one of them: {}", names.join(", "))))
        }
    }
}

/// Returns the error for a build that cannot run toolsets at all, with the words that `tools` has for it.
fn without_engine(findings: &[Diagnostic]) -> Option<CliError> {
    let finding = findings.iter().find(|finding| finding.code() == ExecError::NoEngine.code())?;
    Some(CliError::of_finding(finding))
}

/// Returns the error for a tool that does not exist.
fn unknown_tool(args: &Args, loaded: &[String], context: &Context) -> Result<CliError, CliError> {
    let skills = context.skills()?;
    if let [skill] = loaded
        && let Some(skill) = skills.catalog().get(skill)
        && let Some(offered) = context.programs()?.toolset_tools().offered(skill)
        && let Some(error) = without_engine(&offered.diagnostics)
    {
        return Ok(error);
    }
    let help = if let [skill] = loaded {
        let names: Vec<String> = skills.tools(loaded).into_iter().map(|tool| tool.name.into_owned()).collect();
        format!("with {skill:?} loaded there are {}", names.join(", "))
    } else {
        let catalog = skills.catalog();
        let tools = context.programs()?.toolset_tools();
        let (_, unknown) = tools.with_tool(&catalog, &args.tool);
        let offered = unknown.iter().filter_map(|skill| tools.offered(skill));
        if let Some(error) = offered.into_iter().find_map(|offered| without_engine(&offered.diagnostics)) {
            return Ok(error);
        }
        let asks: Vec<String> = unknown.iter().map(|skill| format!("`skillcue tools {}`", skill.name())).collect();
        match asks[..] {
            [] => "`skillcue tools NAME` shows the tools of a skill".to_owned(),
            _ => format!("some toolsets could not be loaded: {} says why", asks.join(", ")),
        }
    };
    Ok(CliError::failure("not_found", format!("there is no tool {:?}", args.tool)).help(help))
}

#[cfg(test)]
mod tests {
    use skillcue::format::Severity;

    use super::*;

    /// Issue 15: `call` said that there is no such tool where `tools` said that there is no engine.
    #[test]
    fn a_build_without_an_engine_says_so() {
        let finding = |code| Diagnostic::named(code, Severity::Error, ExecError::NoEngine.to_string());
        assert!(without_engine(&[finding("toolset_syntax")]).is_none());
        let error = without_engine(&[finding("toolset_syntax"), finding("no_engine")]).unwrap();
        let json = serde_json::to_string(&error.json()).unwrap();
        assert!(
            json.contains("no engine for toolsets") && json.contains("cargo install --path crates/skillcue-cli`"),
            "{json}"
        );
    }
}
