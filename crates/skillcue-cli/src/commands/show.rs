//! `skillcue show`: one skill, without its body.

use std::fmt::Write as _;

use serde::Serialize;
use skillcue::catalog::{FileListing, ListedFile, Location, SkillDir};
use skillcue::format::{FileKind, Triggers};
use skillcue::{Catalog, Diagnostic, Skill, Skillcue, Source};
use skillcue_format::{MAX_FILE, Node, split};

use crate::commands::files;
use crate::context::Context;
use crate::diagnostics::{Detail, finding_remarks};
use crate::error::CliError;
use crate::report::Printout;
use crate::skill_json::{SkillJson, SkillPaths};
use crate::terminal::{paint, style};
use crate::{Outcome, text};

const AFTER: &str = "\
Examples:
  skillcue show hello-extended
  skillcue show hello-extended@bundled   the bundled one, if another has its name

With --json it prints the fields of `list` and {triggers, raw, files, diagnostics}; and, where
copies are in several places, places: [{source, plugin, dir, path, same_body}].";

#[derive(Debug, clap::Args)]
#[command(after_help = crate::cli::footer(AFTER))]
pub(crate) struct Args {
    /// The skill: its name, NAME@SOURCE or PLUGIN:NAME
    name: String,
}

#[derive(Serialize)]
struct ShowJson<'s> {
    #[serde(flatten)]
    skill: SkillJson<'s>,
    triggers: &'s Triggers,
    raw: Option<Node<'s>>,
    files: &'s [ListedFile],
    #[serde(serialize_with = "crate::hints::serialize")]
    diagnostics: &'s [&'s Diagnostic],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    places: &'s [PlaceJson],
}

#[derive(Serialize)]
struct PlaceJson {
    source: Source,
    plugin: Option<Box<str>>,
    dir: String,
    path: String,
    /// Whether the body equals that of the first place; none if one of the two cannot be read.
    same_body: Option<bool>,
}

/// Returns the document that `show --json` prints.
pub(super) fn json(name: &str, skills: &Skillcue) -> Result<Vec<u8>, CliError> {
    let listing = skills.files(name)?;
    let catalog = skills.catalog();
    let skill = existing(name, &catalog)?;
    let (places, paths, diagnostics) = (places(skill), SkillPaths::of(skill), findings(skill, &catalog));
    Ok(serde_json::to_vec(&ShowJson::of(skill, &paths, &listing, &diagnostics, &places))?)
}

impl<'s> ShowJson<'s> {
    fn of(
        skill: &'s Skill,
        paths: &'s SkillPaths,
        listing: &'s FileListing,
        diagnostics: &'s [&'s Diagnostic],
        places: &'s [PlaceJson],
    ) -> ShowJson<'s> {
        ShowJson {
            skill: SkillJson::of(skill, skill.manifest(), paths),
            triggers: skill.manifest().triggers(),
            raw: skill.raw(),
            files: &listing.files,
            diagnostics,
            places,
        }
    }
}

fn existing<'c>(name: &str, catalog: &'c Catalog) -> Result<&'c Skill, CliError> {
    catalog.get(name).ok_or_else(|| CliError::failure("not_found", format!("no skill is called {name:?}")))
}

/// Returns the findings about a skill's files.
fn findings<'c>(skill: &Skill, catalog: &'c Catalog) -> Vec<&'c Diagnostic> {
    let dir = skill.dir();
    let about = |found: &&Diagnostic| found.path.as_ref().is_some_and(|path| path.starts_with(&dir));
    catalog.diagnostics().iter().filter(about).collect()
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Outcome, CliError> {
    let skills = context.skills()?;
    // Says why, if there is no such skill or it cannot be used.
    let listing = skills.files(&args.name)?;
    let catalog = skills.catalog();
    let skill = existing(&args.name, &catalog)?;
    let (places, paths, diagnostics) = (places(skill), SkillPaths::of(skill), findings(skill, &catalog));
    let document = ShowJson::of(skill, &paths, &listing, &diagnostics, &places);
    context.report(Outcome::Done, &document, || {
        let hides: Vec<&Skill> =
            catalog.named(skill.name()).filter(|_| !skill.shadowed()).filter(|it| it.shadowed()).collect();
        let command = paint(style::COMMAND, format_args!("skillcue load {}", args.name));
        let next = format!("{command} prints what it says to a model");
        Printout::from(describe(context, skill, &listing, &places, &hides))
            .remarks(files::remarks(&listing))
            .remarks(finding_remarks(context, &diagnostics, Detail::Full))
            .remarks(context.terminal.stdout_is_terminal().then_some(next))
    })
}

/// Returns every place of a skill that is in several, compared with the first. Discovery reads no bodies and takes
/// copies with equal front matter and size for one; here the bodies are compared.
fn places(skill: &Skill) -> Vec<PlaceJson> {
    let places = skill.locations();
    if places.len() < 2 {
        return Vec::new();
    }
    let first = body(skill, &places[0]);
    let compared = |place: &Location| Some(body(skill, place)? == *first.as_ref()?);
    places
        .iter()
        .map(|place| PlaceJson {
            source: place.root.source,
            plugin: place.root.plugin.clone(),
            dir: place.dir.to_string_lossy().into_owned(),
            path: place.path.to_string_lossy().into_owned(),
            same_body: compared(place),
        })
        .collect()
}

fn body(skill: &Skill, place: &Location) -> Option<Vec<u8>> {
    let dir = SkillDir::open(skill.name(), &place.dir).ok()?;
    let mut bytes = dir.read(skill.file().name(), MAX_FILE).ok()?;
    if skill.file().kind() == FileKind::Markdown {
        bytes.drain(..split::body_start(&bytes)?);
    }
    Some(bytes)
}

fn describe(context: &Context, skill: &Skill, listing: &FileListing, places: &[PlaceJson], hides: &[&Skill]) -> String {
    let manifest = skill.manifest();
    let columns = context.terminal.width().unwrap_or(100).min(100);
    let mut out = String::new();
    let state = match (skill.enabled(), skill.available()) {
        _ if skill.refusal().is_some() => paint(style::BAD, "closed by policy"),
        (true, _) if skill.is_required() => paint(style::GOOD, "required by policy"),
        (false, _) => paint(style::WARNING, "disabled"),
        (true, false) => paint(style::WARNING, "unavailable"),
        (true, true) => paint(style::GOOD, "enabled"),
    };
    let hidden = match (manifest.disable_model_invocation(), manifest.user_invocable()) {
        (true, true) => ", hidden from models",
        (true, false) => ", hidden from models and people",
        (false, _) => "",
    };
    let _ = writeln!(out, "{}  {state}{hidden}", paint(style::NAME, skill.name()));
    for line in text::wrap(&text::one_line(manifest.description()), columns.saturating_sub(2)) {
        let _ = writeln!(out, "  {line}");
    }
    out.push('\n');

    let mut fields = FieldTable { out, columns };
    if let Some(refusal) = skill.refusal() {
        fields.put("closed", Some(&text::one_line(&format!("{} ({})", refusal.reason, refusal.rule))));
        fields.put("policy", Some(&text::one_line(&format!("{}; {}", refusal.policy, refusal.help))));
    }
    fields.put("version", manifest.version());
    fields.put("license", manifest.license());
    fields.put("needs", manifest.compatibility());
    fields.put("model", manifest.model());
    fields.put("arguments", manifest.argument_hint());
    fields.put_list("types", manifest.types().filter(|kind| *kind != "prompt"));
    fields.put_list("tools", manifest.allowed_tools());
    fields.put_list("requires", manifest.requires());
    fields.put_list("toolsets", manifest.toolsets());
    if let Some(asked) = manifest.permissions().filter(|asked| !asked.is_empty()) {
        fields.put("asks for", Some(&format!("{asked}; `skillcue allow {}` allows it", skill.id())));
    }
    let triggers = manifest.triggers();
    fields.put_list("keywords", triggers.keywords.iter().map(AsRef::as_ref));
    fields.put_list("verbs", triggers.verbs.iter().map(AsRef::as_ref));
    fields.put_list("patterns", triggers.patterns.iter().map(AsRef::as_ref));
    fields.put_list("globs", triggers.files.iter().map(AsRef::as_ref));
    fields.put_list("languages", triggers.languages.iter().map(AsRef::as_ref));
    match (manifest.disable_model_invocation(), manifest.user_invocable()) {
        (true, true) => fields.put("invocation", Some("by people only: models are not shown it")),
        (true, false) => {
            fields.put("invocation", Some("by neither: models are not shown it, people are not offered it"));
        }
        (false, false) => fields.put("invocation", Some("by models only: people are not offered it")),
        (false, true) => {}
    }
    fields.put("body", Some(&format!("{}, estimated", text::count(skill.body_tokens().0, "token"))));
    let source = match skill.plugin() {
        Some(plugin) => format!("plugin {plugin}"),
        None => skill.source().to_string(),
    };
    fields.put("source", Some(&source));
    if skill.shadowed() {
        fields.put("hidden", Some("by another skill of its name"));
    }
    fields.put("path", Some(&context.short_path(&skill.path())));
    for place in places.iter().skip(1) {
        let same = match place.same_body {
            Some(true) => "the same",
            Some(false) => "with another body",
            None => "which cannot be read",
        };
        let path = context.short_path(place.path.as_ref());
        fields.put("also", Some(&format!("{path} ({}, {same})", place.source)));
    }
    for other in hides {
        let path = context.short_path(&other.path());
        fields.put("hides", Some(&format!("{path} ({})", other.address())));
    }
    let mut out = fields.out;
    let _ = writeln!(out, "\n  {}", paint(style::DIM, text::count(listing.files.len(), "file")));
    out.push_str(&files::table(listing, "  "));
    out
}

/// Two aligned columns; a missing value takes no line.
struct FieldTable {
    out: String,
    columns: usize,
}

impl FieldTable {
    const LABEL: usize = 10;

    fn put(&mut self, label: &str, value: Option<&str>) {
        let Some(value) = value else { return };
        let width = self.columns.saturating_sub(Self::LABEL + 4).max(20);
        for (at, line) in text::wrap(&text::one_line(value), width).iter().enumerate() {
            let label = paint(style::DIM, format_args!("{:1$}", if at == 0 { label } else { "" }, Self::LABEL));
            let _ = writeln!(self.out, "  {label}  {line}");
        }
    }

    fn put_list<'t>(&mut self, label: &str, values: impl Iterator<Item = &'t str>) {
        let values: Vec<&str> = values.collect();
        self.put(label, (!values.is_empty()).then(|| values.join(", ")).as_deref());
    }
}
