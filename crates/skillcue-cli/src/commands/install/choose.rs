//! Which of what was found is installed.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::json;
use skillcue_registry::{FoundPlugin, FoundSkill, Kind, Origin, PluginAt, Survey};

use crate::context::Context;
use crate::error::CliError;
use crate::report::Printout;
use crate::terminal::{paint, style};
use crate::{Outcome, text};

/// What was asked for.
pub(super) struct Wish<'w> {
    pub(super) skills: &'w [String],
    pub(super) plugins: &'w [String],
    pub(super) all: bool,
}

/// What is to be installed.
#[derive(Default)]
pub(super) struct Choice {
    /// What stands in what was fetched.
    pub(super) here: Vec<(Kind, PathBuf)>,
    /// Plugins that a marketplace only points to.
    pub(super) elsewhere: Vec<(String, Origin)>,
    /// What cannot be installed, and why.
    pub(super) skipped: Vec<(String, String)>,
}

/// Shows what there is to choose from.
pub(super) fn show(found: &Survey, context: &Context) -> Result<Outcome, CliError> {
    let skills = found.skills.iter();
    let skills = skills.map(
        |skill| json!({"name": skill.name, "description": skill.description, "at": skill.at, "valid": skill.valid}),
    );
    let plugins = found.plugins.iter().map(|plugin| {
        let at = match &plugin.at {
            PluginAt::Here(path) => json!({"at": path}),
            PluginAt::Elsewhere(origin) => json!({"origin": origin}),
        };
        let skills: Vec<&str> = plugin.skills.iter().map(|skill| skill.name.as_str()).collect();
        json!({"name": plugin.name, "description": plugin.description, "place": at, "skills": skills})
    });
    let document = json!({"skills": skills.collect::<Vec<_>>(), "plugins": plugins.collect::<Vec<_>>()});
    context.report(Outcome::Done, &document, || {
        let mut out = String::new();
        for skill in &found.skills {
            let _ = writeln!(out, "{}", line(&skill.name, &described(skill), context));
        }
        if !found.plugins.is_empty() {
            let _ = writeln!(out, "{}", paint(style::DIM, "plugins (--plugin NAME):"));
        }
        for plugin in &found.plugins {
            let _ = writeln!(out, "{}", line(&plugin.name, &plugin.description, context));
            if !plugin.skills.is_empty() {
                let names: Vec<String> = plugin.skills.iter().map(|skill| text::one_line(&skill.name)).collect();
                let _ = writeln!(out, "  {}", paint(style::DIM, names.join(", ")));
            }
        }
        match out.as_str() {
            "" => Printout::of_remark("there is no skill and no plugin in it"),
            _ => out.into(),
        }
    })
}

fn described(skill: &FoundSkill) -> String {
    match skill.diagnostics.first().filter(|_| !skill.valid) {
        Some(why) => format!("cannot be installed: {}", why.message),
        None => skill.description.clone(),
    }
}

fn line(name: &str, description: &str, context: &Context) -> String {
    let name = text::one_line(name);
    let room = context.terminal.width().unwrap_or(100).saturating_sub(text::width(&name) + 4).max(20);
    let described = text::one_line(description);
    format!("{}  {}", paint(style::NAME, &name), paint(style::DIM, text::cut(&described, room)))
}

/// What was asked for by name, or chosen on a terminal, or everything.
pub(super) fn choose(found: &Survey, wish: &Wish<'_>, context: &Context) -> Result<Choice, CliError> {
    if !wish.plugins.is_empty() {
        return plugins(found, wish.plugins, context);
    }
    if !wish.skills.is_empty() {
        return named(found, wish.skills);
    }
    let (good, bad): (Vec<&FoundSkill>, Vec<&FoundSkill>) = found.skills.iter().partition(|skill| skill.valid);
    let skipped = bad.iter().map(|skill| (skill.name.clone(), reason(skill))).collect();
    if good.is_empty() {
        let error = match (bad.first(), found.plugins.first()) {
            (Some(bad), _) => CliError::failure("invalid_skill", format!("{}: {}", bad.name, reason(bad)))
                .help("nothing was installed; its author has to mend it"),
            (None, Some(plugin)) => {
                CliError::failure("no_skill", "there is no skill in it, but there are plugins".to_owned())
                    .help(format!("choose one: --plugin {}; --list shows all", plugin.name))
            }
            (None, None) => CliError::failure("no_skill", "there is no skill in it")
                .help("a skill is a directory with a SKILL.md: at the top, in skills/, or one directory below"),
        };
        return Err(error);
    }
    let picked = if good.len() > 1 && !wish.all && context.can_ask() { pick(&good, context)? } else { good };
    let picked = once(&picked)?;
    Ok(Choice { here: picked.iter().map(|skill| (Kind::Skill, at(&skill.at))).collect(), skipped, ..Choice::default() })
}

/// Refuses two of one name: only one can be called so.
fn once<'s>(skills: &[&'s FoundSkill]) -> Result<Vec<&'s FoundSkill>, CliError> {
    let mut names = BTreeSet::new();
    match skills.iter().find(|skill| !names.insert(skill.name.as_str())) {
        Some(twice) => Err(CliError::failure("twice", format!("two skills in it are called {:?}", twice.name))
            .help("choose one by its directory: SOURCE/PATH, or SOURCE//PATH for an address of git")),
        None => Ok(skills.to_vec()),
    }
}

fn reason(skill: &FoundSkill) -> String {
    skill.diagnostics.first().map_or_else(|| "it is not valid".to_owned(), |why| why.message.to_string())
}

/// The way there from the staging directory; nothing for the directory itself.
fn at(path: &Path) -> PathBuf {
    path.components().filter(|part| *part != std::path::Component::CurDir).collect()
}

fn named(found: &Survey, names: &[String]) -> Result<Choice, CliError> {
    let mut choice = Choice::default();
    for name in names {
        let mut of_name = found.skills.iter().filter(|skill| skill.name == *name);
        let Some(skill) = of_name.next() else {
            let known: Vec<&str> = found.skills.iter().map(|skill| skill.name.as_str()).collect();
            return Err(CliError::failure("no_skill", format!("no skill in it is called {name:?}")).help(list(&known)));
        };
        if !skill.valid {
            return Err(CliError::failure("invalid_skill", format!("{name}: {}", reason(skill)))
                .help("nothing was installed; its author has to mend it"));
        }
        if of_name.next().is_some() {
            return Err(CliError::failure("twice", format!("two skills in it are called {name:?}"))
                .help("choose one by its directory: SOURCE/PATH, or SOURCE//PATH for an address of git"));
        }
        choice.here.push((Kind::Skill, at(&skill.at)));
    }
    Ok(choice)
}

fn plugins(found: &Survey, names: &[String], context: &Context) -> Result<Choice, CliError> {
    let mut choice = Choice::default();
    for name in names {
        let Some(plugin) = found.plugins.iter().find(|plugin| plugin.name == *name) else {
            let known: Vec<&str> = found.plugins.iter().map(|plugin| plugin.name.as_str()).collect();
            return Err(
                CliError::failure("no_plugin", format!("no plugin in it is called {name:?}")).help(list(&known))
            );
        };
        match &plugin.at {
            PluginAt::Here(_) => {
                if !plugin.has_manifest {
                    context.terminal.say(&format!(
                        "{} has no plugin.json of its own: its skills are installed one by one",
                        text::one_line(name)
                    ));
                }
                choice.here.extend(parts(plugin));
            }
            PluginAt::Elsewhere(origin) => choice.elsewhere.push((name.clone(), origin.clone())),
        }
    }
    Ok(choice)
}

/// A plugin that has come from where its marketplace points to. It may go by another name there.
pub(super) fn plugin_in(found: &Survey, name: &str) -> Result<Vec<(Kind, PathBuf)>, CliError> {
    let here = |plugin: &&FoundPlugin| matches!(plugin.at, PluginAt::Here(_));
    let mut all = found.plugins.iter().filter(here);
    let plugin = found.plugins.iter().filter(here).find(|plugin| plugin.name == name).or_else(|| all.next());
    match plugin {
        Some(plugin) => Ok(parts(plugin)),
        None if found.skills.iter().any(|skill| skill.valid) => {
            Ok(found.skills.iter().filter(|skill| skill.valid).map(|skill| (Kind::Skill, at(&skill.at))).collect())
        }
        None => Err(CliError::failure("no_plugin", format!("where {name:?} should be is no plugin and no skill"))
            .help("the marketplace points to the wrong place; tell its owner")),
    }
}

/// A plugin with a manifest is installed as one. One that only a marketplace describes is a list of skills.
fn parts(plugin: &FoundPlugin) -> Vec<(Kind, PathBuf)> {
    match &plugin.at {
        PluginAt::Here(path) if plugin.has_manifest => vec![(Kind::Plugin, at(path))],
        _ => plugin.skills.iter().filter(|skill| skill.valid).map(|skill| (Kind::Skill, at(&skill.at))).collect(),
    }
}

fn list(known: &[&str]) -> String {
    const SHOWN: usize = 12;
    let mut said = known.iter().take(SHOWN).map(|name| text::one_line(name)).collect::<Vec<_>>().join(", ");
    if known.len() > SHOWN {
        let _ = write!(said, " and {} more (--list)", known.len() - SHOWN);
    }
    if said.is_empty() { "there is none".to_owned() } else { format!("there are: {said}") }
}

/// Lets a person pick by number or name.
fn pick<'s>(good: &[&'s FoundSkill], context: &Context) -> Result<Vec<&'s FoundSkill>, CliError> {
    for (number, skill) in (1..).zip(good) {
        context.terminal.say(&format!("{number:>4}  {}", line(&skill.name, &skill.description, context)));
    }
    let answer = context.terminal.choose("Which? Numbers or names with blanks between, `all`, or nothing:")?;
    if answer == "all" {
        return Ok(good.to_vec());
    }
    let mut picked: Vec<&FoundSkill> = Vec::new();
    for word in answer.split([' ', ',']).filter(|word| !word.is_empty()) {
        let by_number = word.parse::<usize>().ok().and_then(|number| good.get(number.checked_sub(1)?));
        let skill = by_number.or_else(|| good.iter().find(|skill| skill.name == word)).ok_or_else(|| {
            CliError::failure("no_skill", format!("{word:?} is none of them")).help("nothing was installed")
        })?;
        if !picked.iter().any(|other| other.at == skill.at) {
            picked.push(skill);
        }
    }
    if picked.is_empty() { Err(CliError::failure("declined", "nothing was chosen")) } else { Ok(picked) }
}
