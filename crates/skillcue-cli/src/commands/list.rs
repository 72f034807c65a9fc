//! `skillcue list`: level 1 of every skill.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::Write as _;

use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use skillcue::catalog::Filter;
use skillcue::{Skill, Source};

use crate::context::Context;
use crate::error::CliError;
use crate::terminal::{paint, style};
use crate::{Outcome, chunks, skill_json, text};

const AFTER: &str = "\
Examples:
  skillcue list --source project            only the project's own
  skillcue list --name '^git-'              names that match a regular expression
  skillcue list --json | jq -r '.[].path'   one path a line

With --json it prints an array of {name, description, brief_description, version, source, plugin,
dir, path, enabled, types, allowed_tools, model, disable_model_invocation, tokens}; `tokens` is
what the body costs, estimated from the file's size. A skill that the organisation's policy closes
has `refused`: {rule, reason, policy, help}. Skills that cannot be used are reported on
stderr, and do not change the exit code.";

#[derive(Debug, clap::Args)]
#[command(after_help = crate::cli::footer(AFTER))]
pub(crate) struct Args {
    /// Only skills of this source
    #[arg(long, value_name = "SOURCE", value_parser = PossibleValuesParser::new(Source::ALL.map(Source::as_str)).try_map(source))]
    source: Option<Source>,
    /// Only names that match REGEX, in any case
    #[arg(long, value_name = "REGEX")]
    name: Option<String>,
    /// Only descriptions that hold WORD, in any case
    #[arg(long, value_name = "WORD")]
    keyword: Option<String>,
    /// Only skills that are enabled
    #[arg(long, conflicts_with = "disabled")]
    enabled: bool,
    /// Only skills that are disabled
    #[arg(long)]
    disabled: bool,
}

fn source(word: String) -> Result<Source, String> {
    Source::from_word(&word).ok_or(word)
}

impl Args {
    fn filter(&self) -> Result<Filter, CliError> {
        use skillcue_format::pattern;
        let name = self.name.as_deref().map(pattern::compile).transpose().map_err(|error| {
            let message = format!("--name is no regular expression: {}", pattern::reason(&error));
            CliError::usage("usage", message).help("to look for plain text, put a backslash before its symbols")
        })?;
        let enabled = (self.enabled || self.disabled).then_some(self.enabled);
        Ok(Filter { source: self.source, name, keyword: self.keyword.clone(), enabled })
    }

    fn is_filtered(&self) -> bool {
        self.source.is_some() || self.name.is_some() || self.keyword.is_some() || self.enabled || self.disabled
    }
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Outcome, CliError> {
    let filter = args.filter()?;
    let catalog = context.skills()?.catalog();
    let skills: Vec<&Skill> = catalog.select(&filter).collect();
    context.print_diagnostics();
    if context.json() {
        print_json(context, &skills)?;
    } else {
        print_table(context, &skills)?;
        context.terminal.flush()?;
        close(args, context, &skills, catalog.invalid().len())?;
    }
    Ok(Outcome::Done)
}

/// Returns the array that `list --json` prints.
pub(super) fn json(skills: &[&Skill]) -> Vec<u8> {
    let mut out = vec![b'['];
    for (at, skill) in skills.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        skill_json::write(skill, &mut out);
    }
    out.push(b']');
    out
}

/// Prints an array with one skill a line: `jq` reads it as a whole, `grep` and `head` line by line.
fn print_json(context: &Context, skills: &[&Skill]) -> Result<(), CliError> {
    context.terminal.print_bytes(if skills.is_empty() { b"[" } else { b"[\n" })?;
    let last = skills.len().saturating_sub(1);
    let render = |at: usize, skill: &&Skill, out: &mut Vec<u8>| {
        skill_json::write(skill, out);
        out.extend_from_slice(if at == last { b"\n" } else { b",\n" });
    };
    let terminal = &context.terminal;
    chunks::write_each(skills, render, |bytes| terminal.print_bytes(bytes))?;
    context.terminal.print_bytes(b"]\n")?;
    Ok(())
}

fn print_table(context: &Context, skills: &[&Skill]) -> Result<(), CliError> {
    // A few very long names do not push all descriptions out of sight.
    let name = skills.iter().map(|skill| text::width(skill.name())).max().unwrap_or(0).clamp(4, 40);
    let source = skills.iter().map(|skill| text::width(&source_of(skill))).max().unwrap_or(0).clamp(6, 24);
    let tokens = skills.iter().map(|skill| text::thousands(skill.body_tokens().0).len()).max().unwrap_or(0).max(6);
    let left = name + source + tokens + 6;
    let room = context.terminal.width().map(|width| width.saturating_sub(left).max(20));
    if room.is_some() && !skills.is_empty() {
        let head = format!("{:name$}  {:source$}  {:>tokens$}  WHAT IT DOES", "NAME", "SOURCE", "TOKENS");
        context.terminal.print(&format!("{}\n", paint(style::DIM, head)))?;
    }
    let render = |_: usize, skill: &&Skill, out: &mut Vec<u8>| {
        let mut brief = text::one_line(&skill.make_manifest().brief());
        if skill.refusal().is_some() {
            brief.insert_str(0, "(closed by policy) ");
        } else if !skill.enabled() {
            brief.insert_str(0, "(disabled) ");
        }
        let brief = room.map_or_else(|| brief.as_str().into(), |room| text::cut(&brief, room));
        let pad = " ".repeat(name.saturating_sub(text::width(skill.name())));
        let from = source_of(skill);
        let pad_from = " ".repeat(source.saturating_sub(text::width(&from)));
        let style = if skill.enabled() { style::NAME } else { style::DIM };
        let _ = writeln!(
            out,
            "{}{pad}  {}  {:>tokens$}  {brief}",
            paint(style, skill.name()),
            paint(style::SOURCE, format_args!("{from}{pad_from}")),
            text::thousands(skill.body_tokens().0),
        );
    };
    let terminal = &context.terminal;
    chunks::write_each(skills, render, |bytes| terminal.print(&String::from_utf8_lossy(bytes)))?;
    Ok(())
}

/// Returns the name of the source, or of the plugin that it is.
fn source_of(skill: &Skill) -> Cow<'_, str> {
    // A plugin's name is what its manifest says it is.
    skill.plugin().map_or(Cow::Borrowed(skill.source().as_str()), |plugin| Cow::Owned(text::one_line(plugin)))
}

/// Prints how many skills there are, and what to do next. On stderr: it is not part of the list.
fn close(args: &Args, context: &Context, skills: &[&Skill], invalid: usize) -> Result<(), CliError> {
    let mut line = text::count(skills.len(), "skill");
    let refused = skills.iter().filter(|skill| skill.refusal().is_some()).count();
    let disabled = skills.iter().filter(|skill| !skill.enabled()).count() - refused;
    if disabled > 0 && !args.disabled {
        let _ = write!(line, ", {} disabled", text::thousands(disabled));
    }
    if refused > 0 {
        let _ = write!(line, ", {} closed by policy", text::thousands(refused));
    }
    if invalid > 0 && !args.is_filtered() {
        let _ = write!(line, "; {} not usable", text::thousands(invalid));
    }
    context.terminal.say(&paint(style::DIM, line));
    let command = |command: &str| paint(style::COMMAND, command);
    let next = if !skills.is_empty() {
        context.terminal.stdout_is_terminal().then(|| {
            format!(
                "{} says more about one, {} prints what it says to a model",
                command("skillcue show NAME"),
                command("skillcue load NAME")
            )
        })
    } else if args.is_filtered() {
        Some(format!("{} without filters shows all", command("skillcue list")))
    } else if context.isolated()? {
        Some(format!("only directories named with {} were looked at", command("--skills-dir DIR")))
    } else {
        Some(format!("{} makes one", command("skillcue new NAME")))
    };
    if let Some(next) = next {
        context.terminal.say(&next);
    }
    Ok(())
}
