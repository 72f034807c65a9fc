//! `skillfold call`: one tool, as a model would call it.

use std::io::Read as _;

use serde_json::{Map, Value, json};
use skillfold::tools::{ToolContext, ToolOutput};

use crate::commands::read::print_text;
use crate::context::Context;
use crate::error::CliError;
use crate::progress::Progress;
use crate::{Outcome, text};

const AFTER: &str = "\
Examples:
  skillfold call hello-extended__greeting '{\"language\": \"fr\"}'     a tool of a skill's toolset
  skillfold call greeting '{\"language\": \"fr\"}' --skill hello-extended
  skillfold call search_skills '{\"query\": \"fill a form\"}'          one of Skillfold's own
  echo '{\"language\": \"fr\"}' | skillfold call hello-extended__greeting -

`skillfold tools NAME` shows a skill's tools. With --json it prints what the tool returned, for a skill's own tool
{title, metadata, output}.";

#[derive(Debug, clap::Args)]
#[command(after_help = AFTER)]
pub(crate) struct Args {
    /// The tool: `SKILL__TOOL`, or `TOOL` of the skill given by --skill
    tool: String,
    /// Its arguments, a JSON object; - takes them from stdin
    #[arg(value_name = "JSON", default_value = "{}")]
    arguments: String,
    /// The skill whose tool it is
    #[arg(long, value_name = "NAME")]
    skill: Option<String>,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Outcome, CliError> {
    let arguments = arguments(&args.arguments)?;
    let skills = context.skills()?;
    // As if the skill had been loaded: whoever names it means it.
    let named = args.skill.as_deref().or_else(|| args.tool.split_once("__").map(|(skill, _)| skill));
    let called = arguments.get("skill_id").and_then(Value::as_str);
    let loaded: Vec<String> = named.into_iter().chain(called).map(str::to_owned).collect();
    if let Some(skill) = &args.skill {
        skillfold::usable(&skills.catalog(), skill)?;
    }
    let progress = Progress::unknown(format!("calling {}", text::one_line(&args.tool)));
    let terminal = &context.terminal;
    let log = |_: f64, _: Option<f64>, message: &str| progress.aside(|| terminal.say(&text::one_line(message)));
    let call = ToolContext { loaded: &loaded, session: "cli", progress: &log, ..ToolContext::default() };
    let output = skills.call_tool(&args.tool, &arguments, &call);
    drop(progress);
    let Some(output) = output else { return Err(unknown(args, context)?) };
    print(&output, context)?;
    Ok(if output.is_error { Outcome::Wanting } else { Outcome::Done })
}

fn arguments(text: &str) -> Result<Map<String, Value>, CliError> {
    let mut all = String::new();
    let text = if text == "-" {
        std::io::stdin().take(MOST_INPUT).read_to_string(&mut all)?;
        &all
    } else {
        text
    };
    serde_json::from_str(text).map_err(|error| {
        CliError::usage("usage", format!("the arguments are no JSON object: {error}"))
            .help("write for example '{\"language\": \"fr\"}'")
    })
}

/// No tool takes more.
const MOST_INPUT: u64 = 16 << 20;

fn print(output: &ToolOutput, context: &Context) -> Result<(), CliError> {
    if context.json() {
        let json = match (&output.structured, output.is_error) {
            (Some(structured), _) => structured.clone(),
            (None, true) => json!({"error": output.text}),
            (None, false) => json!({"output": output.text}),
        };
        return context.print_json(&json);
    }
    print_text(context, &output.text)
}

/// Why there is nothing to call.
fn unknown(args: &Args, context: &Context) -> Result<CliError, CliError> {
    let skills = context.skills()?;
    let loaded: Vec<String> = args.skill.iter().cloned().collect();
    let names: Vec<String> = skills.tools(&loaded).into_iter().map(|tool| tool.name.into_owned()).collect();
    let message = format!("there is no tool {:?}", args.tool);
    let help = match &args.skill {
        Some(skill) => format!("with {skill:?} loaded there are {}", names.join(", ")),
        None => "name it SKILL__TOOL, or say whose it is with --skill NAME".to_owned(),
    };
    Ok(CliError::failure("not_found", message).help(help))
}
