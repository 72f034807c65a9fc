//! `skillcue tools`: the tools that models can call, and those of a skill.

use std::fmt::Write as _;

use serde_json::{Value, json};
use skillcue::Diagnostic;

use crate::context::Context;
use crate::error::CliError;
use crate::hints;
use crate::progress::ProgressIndicator;
use crate::report::Printout;
use crate::terminal::{paint, style};
use crate::{Outcome, text};

const AFTER: &str = "\
Examples:
  skillcue tools                     the tools that are always there, and what each is for
  skillcue tools hello-extended      those of a skill's toolsets
  skillcue tools --json              definitions with JSON Schemas, as a host registers them

With --json it prints an array of {name, title, description, input_schema, read_only}; for a skill, of
{name, id, description, input_schema, file, line}.
A skill's toolsets are evaluated in the sandbox to find out. Findings about one are printed on stderr.";

#[derive(Debug, clap::Args)]
#[command(after_help = crate::cli::footer(AFTER))]
pub(crate) struct Args {
    /// A skill: its own tools
    name: Option<String>,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Outcome, CliError> {
    if let Some(name) = &args.name {
        return of_skill(name, context);
    }
    let tools = context.skills()?.tools(&[]);
    context.report(Outcome::Done, &tools, || {
        let mut out = String::new();
        for tool in &tools {
            put(&mut out, &tool.name, &tool.description, &tool.input_schema);
        }
        out
    })
}

fn of_skill(name: &str, context: &Context) -> Result<Outcome, CliError> {
    let catalog = context.skills()?.catalog();
    let skill = skillcue::catalog::usable(&catalog, name)?;
    let progress = ProgressIndicator::spinner("looking at the toolsets");
    let offered = context.programs()?.toolset_tools().offered(skill).unwrap_or_default();
    drop(progress);
    for finding in &offered.diagnostics {
        print_finding(finding, context);
    }
    let rows = offered.tools.iter().map(|tool| {
        json!({
            "name": format!("{}__{}", skill.name(), tool.id),
            "id": tool.id,
            "description": tool.description,
            "input_schema": tool.schema,
            "file": tool.file,
            "line": tool.line,
        })
    });
    let outcome = Outcome::of(!offered.diagnostics.iter().any(Diagnostic::is_error));
    context.report(outcome, &rows.collect::<Vec<_>>(), || {
        let mut out = String::new();
        for tool in &offered.tools {
            put(&mut out, &tool.id, &tool.description, &tool.schema);
        }
        let has_none = offered.tools.is_empty() && offered.diagnostics.is_empty();
        let none = has_none.then(|| format!("{} has no tools of its own", text::one_line(name)));
        Printout::from(out).remarks(none)
    })
}

/// Prints a finding about a toolset, on one line that editors understand.
fn print_finding(finding: &Diagnostic, context: &Context) {
    let mut said = text::one_line(&finding.to_string());
    if let Some(help) = hints::hint_of(finding) {
        let _ = write!(said, "\n  {}: {}", paint(style::HELP, "help"), text::one_line(&help));
    }
    context.terminal.say(&said);
}

/// Adds a tool and its arguments, those that are required first.
fn put(out: &mut String, name: &str, description: &str, schema: &Value) {
    let _ = writeln!(out, "{}  {}", paint(style::NAME, text::one_line(name)), text::one_line(description));
    let required = schema["required"].as_array();
    let is_needed = |name: &str| required.is_some_and(|required| required.iter().any(|other| other == name));
    let mut properties: Vec<_> = schema["properties"].as_object().into_iter().flatten().collect();
    properties.sort_by_key(|(name, _)| !is_needed(name));
    for (name, property) in properties {
        let shown = if is_needed(name) { name.clone() } else { format!("[{name}]") };
        let described = property["description"].as_str().or_else(|| property["type"].as_str());
        let description = described.unwrap_or_default();
        let _ = writeln!(out, "  {:<13} {}", text::one_line(&shown), paint(style::DIM, text::one_line(description)));
    }
}
