//! `skillcue new`: a skill that is valid from the start.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::Serialize;
use skillcue::format::SkillName;
use skillcue_format::{ByteRange, Node, Value, write};

use crate::Outcome;
use crate::context::Context;
use crate::error::CliError;
use crate::terminal::{paint, style};
use skillcue_host::{Environment, absolute};

const AFTER: &str = "\
Examples:
  skillcue new release-notes                            in the project's skills
  skillcue new release-notes --dir ~/.claude/skills     in your own

Without --dir it goes where the project has its skills already: .agents/skills, .claude/skills,
.agent/skills, skills, .github/skills, or the folder of another agent; else into .agents/skills. With --json it
prints {name, dir, path}.";

#[derive(Debug, clap::Args)]
#[command(after_help = crate::cli::footer(AFTER))]
pub(crate) struct Args {
    /// Its name: lower-case letters, digits and single hyphens
    name: String,
    /// Make it below DIR
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

#[derive(Serialize)]
struct NewJson<'n> {
    name: &'n str,
    dir: String,
    path: String,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Outcome, CliError> {
    check(&args.name)?;
    let parent = match &args.dir {
        Some(dir) => absolute(dir),
        None => usual_dir(context.environment()?)?,
    };
    let (dir, path) = create(&parent, &args.name)?;
    let lossy = |path: &Path| path.to_string_lossy().into_owned();
    let document = NewJson { name: &args.name, dir: lossy(&dir), path: lossy(&path) };
    context.report(Outcome::Done, &document, || printout(args, &dir, &path, context))
}

fn printout(args: &Args, dir: &Path, path: &Path, context: &Context) -> String {
    let shown = context.short_path(dir);
    let lint = format!("skillcue lint {shown}");
    // Where it was not put into the project, it would not be found.
    let load = match &args.dir {
        None => format!("skillcue load {}", args.name),
        Some(_) => format!("skillcue --skills-dir {shown} load {}", args.name),
    };
    let width = lint.len().max(load.len());
    let command = |command: &str| paint(style::COMMAND, format_args!("{command:width$}"));
    format!(
        "{} made {}\n\nNext:\n  1. edit {}\n  2. {}  checks it\n  3. {}  shows what a model gets\n",
        paint(style::GOOD, "✓"),
        paint(style::NAME, &shown),
        context.short_path(path),
        command(&lint),
        command(&load),
    )
}

fn check(name: &str) -> Result<(), CliError> {
    let Err(problem) = SkillName::check(name) else { return Ok(()) };
    // The name that discovery would make of it is usually what the author meant.
    let help = match SkillName::lenient(name) {
        Ok(meant) if SkillName::check(&meant).is_ok() => format!("`skillcue new {meant}` works"),
        _ => "use lower-case letters, digits and single hyphens, as in `release-notes`".to_owned(),
    };
    Err(CliError::usage("invalid_name", format!("{name:?} is no name for a skill: {problem}")).help(help))
}

/// Returns the directory in which the project has its skills, or should.
fn usual_dir(environment: &Environment) -> Result<PathBuf, CliError> {
    let (Some(cwd), Some(project)) = (&environment.cwd, environment.project()) else {
        return Err(CliError::failure("unreadable", "the current directory is gone")
            .help("go to another one, or pass --dir DIR"));
    };
    let roots = skillcue::catalog::project_roots(cwd, project);
    let existing = roots.iter().map(|root| &root.path).find(|path| path.is_dir());
    Ok(existing.cloned().unwrap_or_else(|| cwd.join(".agents/skills")))
}

fn create(parent: &Path, name: &str) -> Result<(PathBuf, PathBuf), CliError> {
    let dir = parent.join(name);
    let path = dir.join("SKILL.md");
    fs::create_dir_all(parent).map_err(|error| CliError::write(parent, &error))?;
    fs::create_dir(&dir).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => CliError::failure("exists", format!("{} is there already", dir.display()))
            .help("choose another name, or --dir"),
        _ => CliError::write(&dir, &error),
    })?;
    let written = fs::File::create_new(&path).and_then(|mut file| file.write_all(template(name).as_bytes()));
    written.map_err(|error| CliError::write(&path, &error))?;
    Ok((dir, path))
}

/// Returns a skill that is valid, has no finding of `lint`, and helps an author who has never written one.
fn template(name: &str) -> String {
    let words = name.replace('-', " ");
    let (name, keyword) = (scalar(name), scalar(&words));
    let mut title = words.clone();
    if let Some(first) = title.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    format!(
        "\
---
name: {name}
description: Does ONE THING to ONE KIND OF INPUT. Use when the user asks for {words}, or mentions WORDS THAT PEOPLE SAY.
metadata:
  version: 0.1.0
  triggers:
    keywords:
      - {keyword}
---
# {title}

Task: $ARGUMENTS

If that line is empty, take the task from the user's message.

<!-- Models choose this skill by its description alone: say what it does and when to use it, in the
words that people use. What follows is read once it was chosen. Delete these comments. -->

## Steps

1. The first step, with the exact command or format.
2. The second step. Say what to do when it fails.

<!-- Keep this file below 500 lines. Put depth into files beside it, such as references/details.md,
and say here when to read them. -->

## Check

- What must be true of the result before it is handed over.
"
    )
}

/// Returns a text as YAML: in quotes if it would be taken for something else, as `true` and `1` are.
fn scalar(text: &str) -> String {
    let node = Node { span: ByteRange::default(), value: Value::Scalar { text: text.into(), plain: false } };
    write::block(&node).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use skillcue::format::FileKind;
    use skillcue_format::{lint, validate};

    use super::*;

    #[test]
    fn new_skills_are_valid_and_without_findings() {
        // Names that YAML would take for something else are the ones to watch.
        for name in ["pdf", "release-notes", "größe-2", "表格", "1", "true", "null", "2024-01-01", &"x".repeat(64)]
        {
            let text = template(name);
            assert_eq!(validate(text.as_bytes(), name), [], "{name}");
            assert_eq!(lint(text.as_bytes(), FileKind::Markdown, &|_| false), [], "{name}");
        }
    }
}
