//! `skillcue permissions`: what the programs of skills may do beyond the sandbox.

use std::fmt::Write as _;

use serde_json::{Value, json};
use skillcue::Skill;
use skillcue::catalog::SkillDir;
use skillcue::format::Permissions;
use skillcue_exec::{Grant, GrantError, Grants, TOOLSETS, scripts};

use crate::context::Context;
use crate::error::CliError;
use crate::terminal::{paint, style};
use crate::{Outcome, text};

const AFTER: &str = "\
Examples:
  skillcue permissions                          what was granted
  skillcue permissions grant weather            what its scripts and toolsets ask for; asks
  skillcue permissions grant weather --yes      for scripts
  skillcue permissions revoke weather           takes it back
  skillcue permissions revoke --all

A skill asks in its manifest, below `permissions`: read, write, network, env, runtime. A grant covers exactly
the skill's files as they are: when one changes, it is asked again. What the agent was allowed for good:
see `skillcue status` and `skillcue revoke`.";

#[derive(Debug, clap::Args)]
#[command(after_help = crate::cli::footer(AFTER), args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<Sub>,
}

#[derive(Debug, clap::Subcommand)]
enum Sub {
    /// List what was granted
    List,
    /// Grant a skill what it asks for
    Grant(GrantArgs),
    /// Take it back
    Revoke(RevokeArgs),
}

#[derive(Debug, clap::Args)]
struct GrantArgs {
    /// The skill
    name: String,
    /// Only this script, or `toolsets`
    subject: Option<String>,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
}

#[derive(Debug, clap::Args)]
#[group(id = "whose", required = true, multiple = false)]
struct RevokeArgs {
    /// The skill
    #[arg(group = "whose")]
    name: Option<String>,
    /// Of all skills
    #[arg(long, group = "whose")]
    all: bool,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Outcome, CliError> {
    match &args.command {
        None | Some(Sub::List) => list(context),
        Some(Sub::Grant(grant)) => self::grant(grant, context),
        Some(Sub::Revoke(args)) => revoke(args, context),
    }
}

fn list(context: &Context) -> Result<Outcome, CliError> {
    let grants = context.grants()?;
    if let Some(trouble) = grants.trouble() {
        context.terminal.warn("grants", &trouble, "it is set aside the next time something is granted");
    }
    // Whether it still counts depends on the files as they are now.
    let rows: Vec<(Grant, bool)> = grants
        .list()
        .into_iter()
        .map(|grant| {
            let current = is_current(&grant, grants);
            (grant, current)
        })
        .collect();
    if context.json() {
        let rows: Vec<Value> = rows.iter().map(|(grant, current)| row(grant, *current)).collect();
        context.print_json(&rows)?;
        return Ok(Outcome::Done);
    }
    let mut out = String::new();
    for (grant, current) in &rows {
        let _ = writeln!(
            out,
            "{}  {}  {}{}",
            paint(style::NAME, text::one_line(&grant.skill)),
            text::one_line(&grant.subject),
            text::one_line(&grant.permissions.to_string()),
            if *current { "" } else { "  (counts no longer: the skill has changed)" },
        );
        let _ = writeln!(out, "  {}", paint(style::DIM, context.short_path(&grant.dir)));
    }
    if rows.is_empty() {
        context.terminal.say("nothing has been granted");
    }
    context.terminal.print(&out)?;
    Ok(Outcome::Done)
}

fn is_current(grant: &Grant, grants: &Grants) -> bool {
    let now = SkillDir::open(&grant.skill, &grant.dir)
        .ok()
        .and_then(|dir| grants.ask(&dir, &grant.subject, &grant.permissions).ok());
    now.is_some_and(|now| grants.is_granted(&now))
}

fn row(grant: &Grant, current: bool) -> Value {
    json!({
        "skill": grant.skill,
        "dir": grant.dir,
        "subject": grant.subject,
        "permissions": grant.permissions,
        "digest": grant.digest,
        "current": current,
    })
}

fn grant(args: &GrantArgs, context: &Context) -> Result<Outcome, CliError> {
    let skills = context.skills()?;
    let catalog = skills.catalog();
    let skill = skillcue::catalog::usable(&catalog, &args.name)?;
    let nothing = || {
        CliError::failure("nothing_asked", format!("{:?} asks for nothing beyond the sandbox", args.name))
            .help("its scripts and toolsets run as they are")
    };
    let asked = skill.manifest().permissions().ok_or_else(nothing)?;
    let grants = context.grants()?;
    let wanted = wanted(skill, asked, args.subject.as_deref(), grants)?;
    if wanted.is_empty() {
        return Err(nothing());
    }
    context.terminal.say(&described(skill, asked, &wanted, context));
    if !args.yes {
        context.terminal.ask("Grant exactly this, for exactly these files?")?;
    }
    for one in &wanted {
        grants.grant(one).map_err(|error| refused(&error))?;
    }
    if context.json() {
        let rows: Vec<Value> = wanted.iter().map(|one| row(one, true)).collect();
        context.print_json(&json!({"granted": rows}))?;
    } else {
        context.terminal.say(&format!("{} is granted {}", args.name, text::one_line(&asked.to_string())));
    }
    Ok(Outcome::Done)
}

/// What is to be granted: to one script, to the toolsets, or to all that the skill has.
fn wanted(skill: &Skill, asked: &Permissions, subject: Option<&str>, grants: &Grants) -> Result<Vec<Grant>, CliError> {
    let dir = SkillDir::open(skill.name(), &skill.dir()).map_err(skillcue::Error::from)?;
    let mut subjects: Vec<String> = scripts(&dir, skill.manifest()).into_iter().map(|script| script.path).collect();
    if skill.manifest().toolsets().next().is_some() {
        subjects.push(TOOLSETS.to_owned());
    }
    if let Some(subject) = subject {
        subjects.retain(|known| known == subject);
    }
    if subjects.is_empty() {
        let message = match subject {
            Some(subject) => format!("{:?} has no script {subject:?}", skill.name()),
            None => format!("{:?} has no scripts and no toolsets", skill.name()),
        };
        return Err(CliError::failure("not_found", message).help(format!("`skillcue run {}` lists them", skill.name())));
    }
    let each = subjects.iter().map(|subject| grants.ask(&dir, subject, asked).map_err(|error| refused(&error)));
    let mut wanted = each.collect::<Result<Vec<_>, _>>()?;
    // What runs toolsets alone is nothing that a script would be granted.
    wanted.retain(|one| !one.permissions.is_empty());
    Ok(wanted)
}

/// What a person is about to grant, in words.
pub(crate) fn described(skill: &Skill, asked: &Permissions, wanted: &[Grant], context: &Context) -> String {
    let subjects: Vec<&str> = wanted.iter().map(|one| one.subject.as_str()).collect();
    let mut out = format!(
        "{} asks for {}\n",
        paint(style::NAME, text::one_line(skill.name())),
        text::one_line(&asked.to_string())
    );
    let _ = writeln!(out, "  for {}", text::one_line(&subjects.join(", ")));
    let _ = write!(out, "  from {} ({})", context.short_path(&skill.dir()), skill.source());
    out
}

pub(crate) fn refused(error: &GrantError) -> CliError {
    CliError::failure(error.code(), error.to_string())
}

fn revoke(args: &RevokeArgs, context: &Context) -> Result<Outcome, CliError> {
    let grants = context.grants()?;
    let mut revoked = Vec::new();
    let mut names: Vec<String> = grants.list().into_iter().map(|grant| grant.skill).collect();
    names.dedup();
    for name in names.into_iter().filter(|name| args.name.as_ref().is_none_or(|wanted| wanted == name)) {
        if grants.revoke(&name, None).map_err(|error| refused(&error))? > 0 {
            revoked.push(name);
        }
    }
    if context.json() {
        context.print_json(&json!({"revoked": revoked}))?;
    } else if revoked.is_empty() {
        context.terminal.say("nothing of that was granted");
    } else {
        context.terminal.say(&format!("taken back from {}", text::one_line(&revoked.join(", "))));
    }
    Ok(Outcome::Done)
}
