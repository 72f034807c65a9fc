//! `skillcue load`: level 2, the body of one skill with its arguments.

use std::fmt::Write as _;

use clap::ValueEnum;
use serde::Serialize;
use skillcue::load::{Dialect, Form, Heading};
use skillcue::{LoadRequest, Skill, Tokens};

use crate::Outcome;
use crate::context::Context;
use crate::error::CliError;
use crate::report::Printout;
use crate::terminal::{paint, style};
use crate::text;

const AFTER: &str = "\
Examples:
  skillcue load hello-extended Alice          $ARGUMENTS becomes `Alice`
  skillcue load hello-extended --outline      its headings, and what each costs
  skillcue load hello-extended --section Do   one section
  skillcue load review -- --strict a.rs       after `--` everything is an argument

With --json it prints {name, content, tokens, cached}, and with --outline {name, headings: [{level,
title, anchor, line, range, tokens}]}.";

#[derive(Debug, clap::Args)]
#[command(after_help = crate::cli::footer(AFTER))]
pub(crate) struct Args {
    /// The skill: its name, NAME@SOURCE or PLUGIN:NAME
    name: String,
    /// The values for $ARGUMENTS, joined by blanks
    arguments: Vec<String>,
    /// The form in which to print it
    #[arg(long, value_enum, default_value_t = LoadFormat::Processed)]
    format: LoadFormat,
    /// Only the section below HEADING: its title, `Parent/Child`, or `#anchor`
    #[arg(long, value_name = "HEADING")]
    section: Option<String>,
    /// Print the headings instead, and what each section costs
    #[arg(long, conflicts_with_all = ["section", "arguments"])]
    outline: bool,
    /// The placeholders that are replaced by the arguments
    #[arg(long, value_enum, default_value_t = PlaceholderDialect::Plain)]
    dialect: PlaceholderDialect,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum LoadFormat {
    /// A line that names the base directory, then the body with its arguments
    Processed,
    /// The body with its arguments, alone and byte for byte
    Body,
    /// As the tool `load_skill` gives it to a model
    Envelope,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum PlaceholderDialect {
    /// $ARGUMENTS and nothing else
    Plain,
    /// Also $ARGUMENTS[N], $N, the names that the skill lists in `arguments`, and `${SKILL_DIR}`
    Extended,
}

#[derive(Serialize)]
struct LoadJson<'l> {
    name: &'l str,
    content: &'l str,
    tokens: Tokens,
    cached: bool,
}

#[derive(Serialize)]
struct OutlineJson<'l> {
    name: &'l str,
    headings: &'l [Heading],
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Outcome, CliError> {
    if args.outline {
        return outline(args, context);
    }
    let skills = context.skills()?;
    let arguments = args.arguments.join(" ");
    let request = LoadRequest {
        arguments: &arguments,
        dialect: match args.dialect {
            PlaceholderDialect::Plain => Dialect::Plain,
            PlaceholderDialect::Extended => skills.catalog().get(&args.name).map_or(Dialect::extended([]), dialect),
        },
        section: args.section.as_deref(),
        form: match args.format {
            LoadFormat::Processed => Form::Processed,
            LoadFormat::Body | LoadFormat::Envelope => Form::Body,
        },
    };
    if matches!(args.format, LoadFormat::Envelope) {
        return envelope(args, &request, context);
    }
    let loaded = skills.load(&args.name, &request)?;
    let (name, content) = (&*loaded.name, &*loaded.content);
    let document = LoadJson { name, content, tokens: loaded.tokens, cached: loaded.cached };
    context.report(Outcome::Done, &document, || match args.format {
        LoadFormat::Body if !context.terminal.stdout_is_terminal() => Printout::bytes(content),
        _ => Printout::for_model(content),
    })
}

fn envelope(args: &Args, request: &LoadRequest<'_>, context: &Context) -> Result<Outcome, CliError> {
    let content = context.skills()?.load_envelope(&args.name, request)?.text;
    let tokens = Tokens::bytes4(content.len());
    let document = LoadJson { name: &args.name, content: &content, tokens, cached: false };
    context.report(Outcome::Done, &document, || Printout::for_model(&*content))
}

/// Returns the extended dialect, with the names that the skill itself gives its arguments.
fn dialect(skill: &Skill) -> Dialect {
    let raw = skill.raw();
    let listed = raw.as_ref().and_then(|raw| {
        let portable = || raw.get("metadata")?.get("arguments");
        raw.get("arguments").or_else(portable)
    });
    match listed {
        Some(names) if !names.items().is_empty() => {
            Dialect::extended(names.items().iter().filter_map(|name| name.as_str()))
        }
        // `arguments: issue branch`
        Some(names) => Dialect::extended(names.as_str().unwrap_or_default().split_whitespace()),
        None => Dialect::extended([]),
    }
}

fn outline(args: &Args, context: &Context) -> Result<Outcome, CliError> {
    let outline = context.skills()?.outline(&args.name)?;
    let headings = outline.headings();
    context.report(Outcome::Done, &OutlineJson { name: &args.name, headings }, || {
        let width = headings.iter().map(|heading| text::thousands(heading.tokens.0).len()).max().unwrap_or(0);
        let mut out = String::new();
        for heading in headings {
            let tokens = paint(style::DIM, format_args!("{:>width$}", text::thousands(heading.tokens.0)));
            let indent = "  ".repeat(usize::from(heading.level.saturating_sub(1)));
            let _ = writeln!(out, "{tokens}  {indent}{}", text::one_line(&heading.title));
        }
        let total = format!("{}; tokens are estimated", text::count(headings.len(), "heading"));
        Printout::from(out).dim(total)
    })
}
