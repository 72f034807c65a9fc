//! The choice of skills and plugins to install.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::json;
use skillcue_registry::{FoundPlugin, FoundSkill, InstallOrigin, InstallableKind, PluginLocation, Survey};

use crate::context::Context;
use crate::error::CliError;
use crate::report::Printout;
use crate::terminal::{paint, style};
use crate::{Outcome, text};

/// The skills and plugins that options name.
pub(super) struct InstallRequest<'w> {
    pub(super) skills: &'w [String],
    pub(super) plugins: &'w [String],
    pub(super) all: bool,
}

/// The skills and plugins to install.
#[derive(Default)]
pub(super) struct InstallSelection {
    /// Those among the fetched files.
    pub(super) here: Vec<(InstallableKind, PathBuf)>,
    /// Plugins that a marketplace only points to.
    pub(super) elsewhere: Vec<(String, InstallOrigin)>,
    /// Skills that cannot be installed, and why.
    pub(super) skipped: Vec<(String, String)>,
}

/// Prints the skills and plugins that were found.
pub(super) fn show(found: &Survey, context: &Context) -> Result<Outcome, CliError> {
    let skills = found.skills.iter();
    let skills = skills.map(
        |skill| json!({"name": skill.name, "description": skill.description, "at": skill.at, "valid": skill.valid}),
    );
    let plugins = found.plugins.iter().map(|plugin| {
        let at = match &plugin.at {
            PluginLocation::Here(path) => json!({"at": path}),
            PluginLocation::Elsewhere(origin) => json!({"origin": origin}),
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

/// Chooses what options name, or a person picks on a terminal, or everything.
pub(super) fn choose(
    found: &Survey,
    request: &InstallRequest<'_>,
    context: &Context,
) -> Result<InstallSelection, CliError> {
    if !request.plugins.is_empty() {
        return by_plugins(found, request.plugins, context);
    }
    if !request.skills.is_empty() {
        return by_names(found, request.skills);
    }
    let (good, bad): (Vec<&FoundSkill>, Vec<&FoundSkill>) = found.skills.iter().partition(|skill| skill.valid);
    let skipped = bad.iter().map(|skill| (skill.name.clone(), reason(skill))).collect();
    if good.is_empty() {
        let error = match (bad.first(), found.plugins.first()) {
            (Some(bad), _) => CliError::failure("invalid_skill", format!("{}: {}", bad.name, reason(bad)))
                .help("nothing was installed; its author has to fix it"),
            (None, Some(plugin)) => {
                CliError::failure("no_skill", "there is no skill in it, but there are plugins".to_owned())
                    .help(format!("choose one: --plugin {}; --list shows all", plugin.name))
            }
            (None, None) => CliError::failure("no_skill", "there is no skill in it")
                .help("a skill is a directory with a SKILL.md: at the top, in skills/, or one directory below"),
        };
        return Err(error);
    }
    let picked = if good.len() > 1 && !request.all && context.can_ask() { pick(&good, context)? } else { good };
    let picked = check_unique(&picked)?;
    Ok(InstallSelection {
        here: picked.iter().map(|skill| (InstallableKind::Skill, at(&skill.at))).collect(),
        skipped,
        ..InstallSelection::default()
    })
}

/// Refuses two of one name: only one can be called so.
fn check_unique<'s>(skills: &[&'s FoundSkill]) -> Result<Vec<&'s FoundSkill>, CliError> {
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

/// Returns the path from the staging directory; empty for the directory itself.
fn at(path: &Path) -> PathBuf {
    path.components().filter(|part| *part != std::path::Component::CurDir).collect()
}

fn by_names(found: &Survey, names: &[String]) -> Result<InstallSelection, CliError> {
    let mut selection = InstallSelection::default();
    for name in names {
        let mut of_name = found.skills.iter().filter(|skill| skill.name == *name);
        let Some(skill) = of_name.next() else {
            let known: Vec<&str> = found.skills.iter().map(|skill| skill.name.as_str()).collect();
            return Err(
                CliError::failure("no_skill", format!("no skill in it is called {name:?}")).help(known_names(&known))
            );
        };
        if !skill.valid {
            return Err(CliError::failure("invalid_skill", format!("{name}: {}", reason(skill)))
                .help("nothing was installed; its author has to fix it"));
        }
        if of_name.next().is_some() {
            return Err(CliError::failure("twice", format!("two skills in it are called {name:?}"))
                .help("choose one by its directory: SOURCE/PATH, or SOURCE//PATH for an address of git"));
        }
        selection.here.push((InstallableKind::Skill, at(&skill.at)));
    }
    Ok(selection)
}

fn by_plugins(found: &Survey, names: &[String], context: &Context) -> Result<InstallSelection, CliError> {
    let mut selection = InstallSelection::default();
    for name in names {
        let Some(plugin) = found.plugins.iter().find(|plugin| plugin.name == *name) else {
            let known: Vec<&str> = found.plugins.iter().map(|plugin| plugin.name.as_str()).collect();
            return Err(
                CliError::failure("no_plugin", format!("no plugin in it is called {name:?}")).help(known_names(&known))
            );
        };
        match &plugin.at {
            PluginLocation::Here(_) => {
                if !plugin.has_manifest {
                    context.terminal.say(&format!(
                        "{} has no plugin.json of its own: its skills are installed one by one",
                        text::one_line(name)
                    ));
                }
                selection.here.extend(parts(plugin));
            }
            PluginLocation::Elsewhere(origin) => selection.elsewhere.push((name.clone(), origin.clone())),
        }
    }
    Ok(selection)
}

/// Returns the parts of a plugin that was fetched from its marketplace's address. It may have another name there.
pub(super) fn plugin_in(found: &Survey, name: &str) -> Result<Vec<(InstallableKind, PathBuf)>, CliError> {
    let here = |plugin: &&FoundPlugin| matches!(plugin.at, PluginLocation::Here(_));
    let mut all = found.plugins.iter().filter(here);
    let plugin = found.plugins.iter().filter(here).find(|plugin| plugin.name == name).or_else(|| all.next());
    match plugin {
        Some(plugin) => Ok(parts(plugin)),
        None if found.skills.iter().any(|skill| skill.valid) => Ok(valid_skills(&found.skills)),
        None => Err(CliError::failure("no_plugin", format!("where {name:?} should be is no plugin and no skill"))
            .help("the marketplace points to the wrong place; report it to its owner")),
    }
}

/// Returns the parts of a plugin: itself if it has a manifest, else its skills, if only a marketplace describes it.
fn parts(plugin: &FoundPlugin) -> Vec<(InstallableKind, PathBuf)> {
    match &plugin.at {
        PluginLocation::Here(path) if plugin.has_manifest => vec![(InstallableKind::Plugin, at(path))],
        _ => valid_skills(&plugin.skills),
    }
}

fn valid_skills(skills: &[FoundSkill]) -> Vec<(InstallableKind, PathBuf)> {
    skills.iter().filter(|skill| skill.valid).map(|skill| (InstallableKind::Skill, at(&skill.at))).collect()
}

fn known_names(known: &[&str]) -> String {
    const MAX_NAMES: usize = 12;
    let mut said = known.iter().take(MAX_NAMES).map(|name| text::one_line(name)).collect::<Vec<_>>().join(", ");
    if known.len() > MAX_NAMES {
        let _ = write!(said, " and {} more (--list)", known.len() - MAX_NAMES);
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
