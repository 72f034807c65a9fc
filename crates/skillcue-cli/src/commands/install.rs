//! `skillcue install`: from a directory, an archive or git to the registry.

mod choose;
mod fetcher;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde_json::{Value, json};
use skillcue_audit::finding_json;
use skillcue_clients::Client;
use skillcue_registry::{
    InstallChange, InstallOptions, InstallOrigin, InstallReport, InstallableKind, MissingItem, Registry, RegistryError,
    StagedItem, survey_of,
};

use super::link::{lines, link_all};
use super::update::permissions;
use crate::cli::words;
use crate::clients::CLIENTS;
use crate::context::Context;
use crate::error::CliError;
use crate::registries::{RegistryArgs, print_findings, registry_of};
use crate::report::Printout;
use crate::terminal::{paint, style};
use crate::{Outcome, text};

pub(crate) use fetcher::Fetcher;

const AFTER: &str = "\
Examples:
  skillcue install ./my-skills                        every skill below a directory
  skillcue install anthropics/skills --skill pdf      one of a repository on GitHub
  skillcue install https://example.org/skills.git@v2  a tag, a branch or a commit
  skillcue install skills.zip --enable                an archive: .zip, .skill, .tar.gz
  skillcue install oci://ghcr.io/acme/skills/pdf:1    an artifact in an OCI registry
  skillcue install ./pdf --enable --link claude       and a link in ~/.claude/skills
  skillcue install acme/marketplace --plugin office   a plugin that a marketplace lists
  skillcue install                                    what skillcue.lock pins and is not there

SOURCE is a directory, an archive, an address of git with @REF, OWNER/REPO[/PATH][@REF] on GitHub, or
oci://HOST/REPOSITORY[:TAG][@sha256:DIGEST]. What is installed is checked, audited, and off until you enable
it. On a terminal you are asked which skills of several; otherwise all of them are installed.
With --json it prints {origin, commit, installed: [{name, kind, version, commit, digest, enabled, unchanged,
replaced, permissions, findings}], skipped: [{name, reason}], links: [{name, client, path, changed, copied}]}.";

#[derive(Debug, clap::Args)]
#[command(after_help = crate::cli::footer(AFTER))]
pub(crate) struct Args {
    #[arg(help = "A directory, an archive, an address of git, OWNER/REPO on GitHub, or oci://HOST/REPOSITORY:TAG")]
    source: Option<String>,
    /// Only this skill; may be given several times
    #[arg(long, value_name = "NAME", conflicts_with_all = ["all", "plugin"])]
    skill: Vec<String>,
    /// This plugin, with all its skills; may be given several times
    #[arg(long, value_name = "NAME", conflicts_with = "all")]
    plugin: Vec<String>,
    /// All skills, without being asked
    #[arg(long)]
    all: bool,
    /// Only show what is there to be installed
    #[arg(long, conflicts_with_all = ["enable", "replace"])]
    list: bool,
    /// Enable what is installed
    #[arg(long)]
    enable: bool,
    /// Let these agents see what is installed, through links in their folders
    #[arg(long, value_name = "CLIENT", requires = "enable", value_delimiter = ',', value_parser = words(CLIENTS))]
    link: Vec<Client>,
    /// Replace what is in the way; it goes to the trash
    #[arg(long)]
    replace: bool,
    /// Install in spite of findings of high severity
    #[arg(long)]
    allow_findings: bool,
    #[command(flatten)]
    registry: RegistryArgs,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Outcome, CliError> {
    let registry = registry_of(context.registries()?, args.registry)?;
    let Some(source) = &args.source else { return restore(args, registry, context) };
    let cwd = context.environment()?.cwd.as_deref().unwrap_or(Path::new("/"));
    let origin = canonical(InstallOrigin::parse(source, cwd)?);
    let written = recorded_origin(&origin, registry);
    let staging = registry.begin()?;
    let fetcher = Fetcher::new(context, args.registry)?;
    let fetched = fetcher.fetch(&origin, staging.dir())?;
    let found = survey_of(staging.dir(), &origin);
    for problem in &found.problems {
        context.terminal.warn(problem.code.as_str(), &problem.message, problem.help.as_deref().unwrap_or_default());
    }
    if args.list {
        return choose::show(&found, context);
    }
    let request = choose::InstallRequest { skills: &args.skill, plugins: &args.plugin, all: args.all };
    let selection = choose::choose(&found, &request, context)?;
    let mut reports = Vec::new();
    let chosen: Vec<StagedItem> = selection
        .here
        .iter()
        .map(|(kind, at)| StagedItem::new(*kind, at, written.clone()).at_commit(fetched.commit.clone()))
        .collect();
    if !chosen.is_empty() {
        reports.push(install(args, registry, &staging, &chosen, context)?);
    }
    // Plugins of a marketplace may be elsewhere, each with its own address.
    for (name, elsewhere) in &selection.elsewhere {
        let staging = registry.begin()?;
        let fetched = fetcher.fetch(elsewhere, staging.dir())?;
        let found = survey_of(staging.dir(), elsewhere);
        let at = choose::plugin_in(&found, name)?;
        let chosen: Vec<StagedItem> = at
            .iter()
            .map(|(kind, at)| StagedItem::new(*kind, at, elsewhere.to_string()).at_commit(fetched.commit.clone()))
            .collect();
        reports.push(install(args, registry, &staging, &chosen, context)?);
    }
    let told = InstallProvenance { origin: Some(written), commit: fetched.commit, skipped: selection.skipped };
    report(args, &reports, &told, context)
}

/// Returns an origin without `..` and links on the way, so that it means the same tomorrow.
fn canonical(origin: InstallOrigin) -> InstallOrigin {
    let real = |path: PathBuf| path.canonicalize().unwrap_or(path);
    match origin {
        InstallOrigin::Directory { path } => InstallOrigin::Directory { path: real(path) },
        InstallOrigin::Archive { path } => InstallOrigin::Archive { path: real(path) },
        elsewhere @ (InstallOrigin::Git { .. } | InstallOrigin::Oci(_)) => elsewhere,
    }
}

/// Returns an origin as the registry records it. A path below a project is relative to it: other people have the
/// project elsewhere.
fn recorded_origin(origin: &InstallOrigin, registry: &Registry) -> String {
    let place = registry.location();
    if let (true, InstallOrigin::Directory { path } | InstallOrigin::Archive { path }) = (place.is_project(), origin)
        && let Some(below) = place.dir().canonicalize().ok().and_then(|dir| path.strip_prefix(dir).ok())
        && let Some(below) = below.to_str().filter(|below| !below.is_empty())
    {
        let directory = if matches!(origin, InstallOrigin::Directory { .. }) { "/" } else { "" };
        return format!("./{below}{directory}");
    }
    origin.to_string()
}

/// Installs what `skillcue.lock` pins and is not there, exactly as it is pinned.
fn restore(args: &Args, registry: &Registry, context: &Context) -> Result<Outcome, CliError> {
    if !args.skill.is_empty() || !args.plugin.is_empty() || args.list {
        return Err(CliError::usage("usage", "these options choose from a SOURCE, and there is none")
            .help("name a directory, an archive or an address of git"));
    }
    let mut missing = registry.restore_plan()?;
    if missing.is_empty() {
        let document = json!({"origin": null, "commit": null, "installed": [], "skipped": [], "links": []});
        return context.report(Outcome::Done, &document, || {
            let lock = context.short_path(&registry.location().lock_file());
            Printout::of_remark(format!("everything that {lock} pins is there"))
        });
    }
    let fetcher = Fetcher::new(context, args.registry)?;
    let mut reports = Vec::new();
    // What has one origin and commit is fetched once.
    missing.sort_by(|a, b| (&a.origin, &a.commit, &a.name).cmp(&(&b.origin, &b.commit, &b.name)));
    for group in missing.chunk_by(|a, b| a.origin == b.origin && a.commit == b.commit) {
        let staging = registry.begin()?;
        let origin = pinned(&group[0], registry)?;
        super::update::check_may_follow(registry, &origin)?;
        fetcher.fetch(&origin, staging.dir())?;
        let chosen: Vec<StagedItem> = group
            .iter()
            .map(|missing| {
                StagedItem::new(missing.kind, &missing.at, missing.origin.clone())
                    .at_commit(missing.commit.clone())
                    .expecting(Some(missing.digest))
            })
            .collect();
        reports.push(install(args, registry, &staging, &chosen, context)?);
    }
    report(args, &reports, &InstallProvenance::default(), context)
}

/// Returns the origin at the commit that the lock pins, whatever its reference means by now.
fn pinned(missing: &MissingItem, registry: &Registry) -> Result<InstallOrigin, CliError> {
    let mut origin = InstallOrigin::parse(&missing.origin, registry.location().dir())?;
    if let (InstallOrigin::Git { reference, .. }, Some(commit)) = (&mut origin, &missing.commit) {
        *reference = Some(commit.clone());
    }
    if let (InstallOrigin::Oci(reference), Some(commit)) = (&mut origin, &missing.commit)
        && let Ok(manifest) = commit.parse()
    {
        *reference = reference.at(manifest);
    }
    Ok(origin)
}

fn install(
    args: &Args,
    registry: &Registry,
    staging: &skillcue_registry::Staging,
    chosen: &[StagedItem],
    context: &Context,
) -> Result<InstallReport, CliError> {
    let progress = crate::progress::ProgressIndicator::bar("checking and installing", chosen.len());
    let audit = |dir: &Path| {
        progress.step();
        skillcue_audit::audit(dir)
    };
    let mut options = InstallOptions::at(SystemTime::now());
    options.enable = args.enable;
    options.replace = args.replace;
    options.allow_findings = args.allow_findings;
    options.auditor = &audit;
    options.policy = Some(context.host()?.policy()?);
    let installed = registry.install(staging, chosen, &options);
    drop(progress);
    if let Err(RegistryError::Findings { found }) = &installed {
        for (name, findings) in found {
            print_findings(&context.terminal, name, findings);
        }
    }
    Ok(installed?)
}

/// The origin of installed skills, and those that were skipped.
#[derive(Default)]
struct InstallProvenance {
    origin: Option<String>,
    commit: Option<String>,
    skipped: Vec<(String, String)>,
}

fn report(
    args: &Args,
    reports: &[InstallReport],
    told: &InstallProvenance,
    context: &Context,
) -> Result<Outcome, CliError> {
    for note in reports.iter().flat_map(|report| &report.notes) {
        context.warn(note);
    }
    for (name, reason) in &told.skipped {
        context.terminal.warn("skipped", &format!("{name} is not installed: {reason}"), "its author has to fix it");
    }
    let done: Vec<&InstallChange> = reports.iter().flat_map(|report| &report.done).collect();
    let skills = done.iter().filter(|done| done.now.kind == InstallableKind::Skill);
    let skills: Vec<String> = skills.map(|done| done.name.clone()).collect();
    let registry = registry_of(context.registries()?, args.registry)?;
    let links = link_all(&skills, &args.link, registry, context)?;
    let skipped = told.skipped.iter().map(|(name, reason)| json!({"name": name, "reason": reason}));
    let document = json!({
        "origin": told.origin,
        "commit": told.commit,
        "installed": done.iter().map(|done| row(done)).collect::<Vec<_>>(),
        "skipped": skipped.collect::<Vec<_>>(),
        "links": links,
    });
    context.report(Outcome::Done, &document, || {
        let off: Vec<&str> =
            done.iter().filter(|done| done.enabled != Some(true)).map(|done| done.name.as_str()).collect();
        let are_off = (!off.is_empty()).then(|| {
            format!(
                "{} off until you say `{}`",
                if off.len() == 1 { "It is" } else { "They are" },
                crate::hints::enable_command(if off.len() > 8 { vec!["NAME…"] } else { off }, args.registry.project)
            )
        });
        let has_findings = done.iter().any(|done| !done.findings.is_empty());
        let audit = has_findings.then(|| "`skillcue audit NAME` shows what was found".to_owned());
        let links = lines(&links, "linked", "was linked already", context);
        Printout::from(table(&done) + &links).remarks(are_off).remarks(audit)
    })
}

fn table(done: &[&InstallChange]) -> String {
    let mut out = String::new();
    let wide = done.iter().map(|done| text::width(&done.name)).max().unwrap_or(0);
    for done in done {
        let state = match done.enabled {
            Some(true) => paint(style::GOOD, "on"),
            _ => "off".to_owned(),
        };
        let what = match (&done.was, done.unchanged) {
            (Some(_), true) => "  as it was",
            (Some(_), false) => "  replaced",
            (None, _) => "",
        };
        let version =
            done.now.version.as_deref().map_or(String::new(), |version| format!("  {}", text::one_line(version)));
        let commit = done.now.commit.as_deref().map_or(String::new(), |commit| format!("  {}", short(commit)));
        let pad = " ".repeat(wide - text::width(&done.name));
        let found = match done.findings.len() {
            0 => String::new(),
            number => format!("  {}", paint(style::WARNING, text::count(number, "finding"))),
        };
        let _ = writeln!(
            out,
            "{}{pad}  {state}  {}{version}{commit}{what}{found}",
            paint(style::NAME, &done.name),
            done.now.kind.word()
        );
        permissions(&mut out, &done.name, &done.permissions);
    }
    out
}

fn row(done: &InstallChange) -> Value {
    json!({
        "name": done.name,
        "kind": done.now.kind,
        "version": done.now.version,
        "commit": done.now.commit,
        "digest": done.now.digest,
        "enabled": done.enabled == Some(true),
        "unchanged": done.unchanged,
        "replaced": done.replaced,
        "permissions": done.permissions,
        "findings": done.findings.iter().map(finding_json).collect::<Vec<_>>(),
    })
}

/// Returns a commit as people write it.
pub(crate) fn short(commit: &str) -> String {
    text::one_line(commit.get(..7).unwrap_or(commit))
}
