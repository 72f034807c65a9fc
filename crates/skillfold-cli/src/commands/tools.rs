//! `skillfold tools`: what models can call.

use std::fmt::Write as _;

use crate::Outcome;
use crate::context::Context;
use crate::error::CliError;
use crate::terminal::{paint, style};

const AFTER: &str = "\
Examples:
  skillfold tools             the tools, and what each is for
  skillfold tools --json      their definitions, with JSON Schemas, as a host registers them

With --json it prints an array of {name, title, description, input_schema, read_only}.";

#[derive(Debug, clap::Args)]
#[command(after_help = AFTER)]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args, context: &Context) -> Result<Outcome, CliError> {
    let tools = context.skills()?.tools(&[]);
    if context.json() {
        context.print_json(&tools)?;
        return Ok(Outcome::Done);
    }
    let mut out = String::new();
    for tool in &tools {
        let _ = writeln!(out, "{}  {}", paint(style::NAME, &tool.name), tool.description);
        let required = tool.input_schema["required"].as_array();
        let is_needed = |name: &str| required.is_some_and(|required| required.iter().any(|other| other == name));
        let mut properties: Vec<_> = tool.input_schema["properties"].as_object().into_iter().flatten().collect();
        properties.sort_by_key(|(name, _)| !is_needed(name));
        for (name, property) in properties {
            let needed = is_needed(name);
            let shown = if needed { name.clone() } else { format!("[{name}]") };
            let description = property["description"].as_str().unwrap_or_default();
            let _ = writeln!(out, "  {shown:<13} {}", paint(style::DIM, description));
        }
    }
    context.terminal.print(&out)?;
    Ok(Outcome::Done)
}
