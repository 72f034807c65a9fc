//! `skillcue doctor`: the whole set-up on one page, and whether anything is wrong with it.

mod clients;
mod collisions;
mod findings;
mod machine;
mod page;
mod registry;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::Serialize;
use skillcue::catalog::Discovery;
use skillcue::consent::{BROKEN_FILE_HINT, ConsentGate as _};
use skillcue::format::{Code, Severity};
use skillcue::{Catalog, Diagnostic, Skill, SkillRoot, Source};
use skillcue_clients::settings::Connector;
use skillcue_exec::Support;
use skillcue_mcp::host::{McpHost, ServerSpec, ServerStatus};

use super::connect::{self, FileReport};
use crate::Outcome;
use crate::clients::{ClientState, PartState, folders, launch, states, store};
use crate::context::Context;
use crate::error::CliError;
use crate::hints;
use crate::policy::PolicySection;
use crate::progress::ProgressIndicator;
use clients::{OwnList, own_lists};
use findings::{SkillCopies, copies};
use machine::{FoundProgram, StoredFiles, Versions, kept, programs};

const AFTER: &str = "\
Examples:
  skillcue doctor                what is there, what clients would show of it, what is wrong
  skillcue doctor -v             every finding, every place, every name
  skillcue doctor --strict       for CI: exits with 1 on warnings, too
  skillcue doctor --collisions   pairs of skills that compete, and what tells them apart
  skillcue doctor --collisions --eval messages.jsonl  by labelled messages, too
  skillcue doctor --json | jq '.diagnostics[] | select(.severity == \"error\")'

It starts nothing and asks no server unless --online says so. It exits with 1 if there is an error: a skill
that is not usable, a directory that was named and cannot be read, a setting that is not allowed.
With --json it prints {valid, diagnostics: [{path, line, column, code, severity, message, help}], versions,
config, roots, skills, shadowed, copies, clients, connections, servers, sandbox, programs, kept, records, registry};
with --collisions {skills, labelled, uses, pairs: [{skills, nearness, selects, triggers, shared, only, messages, uses,
is_copy, clients, next}]}.";

/// How near the texts of a competing pair are at least.
const DEFAULT_NEARNESS: f32 = 0.45;

#[derive(Debug, Default, clap::Args)]
#[command(after_help = crate::cli::footer(AFTER))]
pub(crate) struct Args {
    /// Exit with 1 on warnings, too
    #[arg(long)]
    strict: bool,
    /// Ask the MCP servers, which may start programs
    #[arg(long)]
    online: bool,
    /// List pairs of skills that compete, and nothing else
    #[arg(long)]
    collisions: bool,
    /// Labelled messages that tell which skills are taken for others [default: the kept runs of `eval`]
    #[arg(long, value_name = "FILE", requires = "collisions")]
    eval: Option<PathBuf>,
    /// Only pairs with this skill
    #[arg(long, value_name = "NAME", requires = "collisions")]
    skill: Option<String>,
    /// How near the texts of a pair are at least, from 0 to 1
    #[arg(long, value_name = "SHARE", requires = "collisions", default_value_t = DEFAULT_NEARNESS, value_parser = crate::turn::share::<f32>)]
    min_nearness: f32,
}

/// The result of `doctor`.
#[derive(Debug, Serialize)]
struct Checkup {
    valid: bool,
    diagnostics: Vec<Diagnostic>,
    versions: Versions,
    config: ConfigFiles,
    roots: Vec<RootCheck>,
    skills: SkillCounts,
    shadowed: Vec<ShadowedSkill>,
    copies: Vec<SkillCopies>,
    clients: Vec<OwnList>,
    /// How other agents on this machine are connected.
    connections: Vec<AgentCheck>,
    servers: Vec<CheckedServer>,
    sandbox: Option<Support>,
    programs: Vec<FoundProgram>,
    kept: Vec<StoredFiles>,
    records: ConsentCounts,
    registry: Vec<registry::RegistryCheck>,
    /// The organisation's policy.
    policy: PolicySection,
}

#[derive(Debug, Serialize)]
struct ConfigFiles {
    #[serde(serialize_with = "crate::text::all_lossy")]
    read: Vec<PathBuf>,
    /// The number of settings in them that do not count because the project is not trusted.
    untrusted: usize,
}

/// A root, and what it has.
#[derive(Debug, Serialize)]
struct RootCheck {
    #[serde(serialize_with = "crate::text::lossy")]
    path: PathBuf,
    source: Source,
    plugin: Option<String>,
    exists: bool,
    required: bool,
    skills: usize,
    invalid: usize,
    disabled: usize,
    microseconds: u128,
}

#[derive(Debug, Serialize)]
struct SkillCounts {
    total: usize,
    enabled: usize,
    disabled: usize,
    unavailable: usize,
    /// Enabled skills that only people may load.
    hidden: usize,
    invalid: usize,
}

/// A skill that another one of its name shadows.
#[derive(Debug, Serialize)]
struct ShadowedSkill {
    address: String,
    #[serde(serialize_with = "crate::text::lossy")]
    path: PathBuf,
    #[serde(serialize_with = "crate::text::lossy")]
    by: PathBuf,
}

#[derive(Debug, Serialize)]
struct CheckedServer {
    name: String,
    identity: String,
    skills: usize,
    asked: bool,
    stale: bool,
    failure: Option<String>,
}

#[derive(Debug, Serialize)]
struct ConsentCounts {
    /// The number of consents, by the kind of subject.
    allowed: BTreeMap<&'static str, usize>,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Outcome, CliError> {
    if args.collisions {
        return collisions::run(args, context);
    }
    let checkup = examine(args, context)?;
    let counts = |found: &Diagnostic| found.is_error() || (args.strict && found.severity == Severity::Warning);
    let outcome = Outcome::of(!checkup.diagnostics.iter().any(counts));
    context.report(outcome, &checkup, || page::page(&checkup, context, args.strict))
}

/// Returns the document that `doctor --json` prints, without asking a server.
pub(super) fn json(context: &Context) -> Result<Vec<u8>, CliError> {
    Ok(serde_json::to_vec(&examine(&Args::default(), context)?)?)
}

/// Returns the document that `doctor --collisions --json` prints.
pub(super) fn collisions_json(context: &Context) -> Result<Vec<u8>, CliError> {
    let args = Args { collisions: true, min_nearness: DEFAULT_NEARNESS, ..Args::default() };
    Ok(serde_json::to_vec(&collisions::document(&args, context)?)?)
}

fn examine(args: &Args, context: &Context) -> Result<Checkup, CliError> {
    let environment = context.environment()?;
    let settings = context.lenient_settings()?;
    let mut found: Vec<Diagnostic> = settings.notices.iter().map(hints::advised).collect();
    found.extend(settings.diagnostics.iter().map(hints::advised));
    let catalog = if args.online { context.skills()? } else { context.local_skills()? }.catalog();
    found.extend(catalog.diagnostics().iter().map(|about| {
        let advised = hints::advised(about);
        // Elsewhere the work goes on; a check-up fails.
        if about.code == Code::PolicyMissing { advised.with_severity(Severity::Error) } else { advised }
    }));
    let copies = copies(&catalog);
    found.extend(copies.iter().filter_map(SkillCopies::finding));
    let servers = servers(context, &mut found)?;
    let sandbox = sandbox(context, &mut found)?;
    let records = records(context, &mut found)?;
    let registry = registry::section(context, &mut found)?;
    let connections = connections(context, &mut found);
    let progress = ProgressIndicator::spinner("looking at each root");
    let roots = settings.all_roots().map(|root| check_root(root, &catalog)).collect();
    drop(progress);
    findings::sort(&mut found);
    let untrusted = settings.notices.iter().filter(|notice| notice.code.as_str().starts_with("untrusted")).count();
    Ok(Checkup {
        valid: !found.iter().any(|found| found.severity == Severity::Error),
        diagnostics: found,
        versions: Versions::of_machine(),
        config: ConfigFiles { read: settings.files.clone(), untrusted },
        roots,
        skills: counts(&catalog),
        shadowed: shadowed(&catalog),
        copies,
        clients: own_lists(&catalog),
        connections,
        servers,
        sandbox,
        programs: programs(environment),
        kept: kept(environment),
        records,
        registry,
        policy: PolicySection::of(&catalog),
    })
}

/// An agent on this machine: how it is connected, and what `connect` would change.
#[derive(Debug, Serialize)]
struct AgentCheck {
    #[serde(flatten)]
    state: ClientState,
    /// The changes of its files by `connect`; none, if it is connected.
    changes: Vec<FileReport>,
}

/// Returns how the agents on this machine are connected. Nothing is started, and nothing is written.
fn connections(context: &Context, found: &mut Vec<Diagnostic>) -> Vec<AgentCheck> {
    // Without a home there are no files of other agents.
    let Ok(folders) = folders(context, false) else { return Vec::new() };
    let path = context.environment().map(|environment| environment.path.clone()).unwrap_or_default();
    let mut connector = Connector::new(folders, launch(context, None));
    if let Ok(records) = store(context) {
        connector = connector.with_records(records);
    }
    let mut states = states(&connector, &path);
    states.retain(|state| state.found);
    for state in &states {
        let word = state.client.as_str();
        if let Some(problem) = &state.problem {
            let help = format!("correct the file, then `skillcue connect {word}`");
            found.push(Diagnostic::named("client_settings", Severity::Warning, problem.clone()).with_help(help));
        } else if [state.hook, state.mcp].contains(&PartState::Outdated) {
            let message = format!("{} is connected with another program, or in an earlier way", state.name);
            let help = format!("`skillcue connect {word}` writes it anew");
            found.push(Diagnostic::named("client_outdated", Severity::Warning, message).with_help(help));
        }
    }
    let check = |state: ClientState| {
        // A file that cannot be changed is a finding, or the reason is the connection's own.
        let planned = connect::would_change(state.client, &connector, context).unwrap_or_default();
        AgentCheck { state, changes: planned.into_iter().filter(FileReport::is_change).collect() }
    };
    states.into_iter().map(check).collect()
}

/// Searches one root by itself, and times that.
fn check_root(root: &SkillRoot, catalog: &Catalog) -> RootCheck {
    let start = Instant::now();
    let alone = Discovery::new([root.clone()]).run();
    let took: Duration = start.elapsed();
    let is_here = |skill: &Skill| {
        let theirs = skill.root();
        theirs.path == root.path && theirs.source == root.source && !skill.enabled()
    };
    RootCheck {
        path: root.path.clone(),
        source: root.source,
        plugin: root.plugin.as_deref().map(str::to_owned),
        exists: root.path.is_dir(),
        required: root.required,
        skills: alone.all().iter().map(|skill| skill.locations().len()).sum(),
        invalid: alone.invalid().len(),
        disabled: catalog.all().iter().filter(|skill| is_here(skill)).count(),
        microseconds: took.as_micros(),
    }
}

fn counts(catalog: &Catalog) -> SkillCounts {
    let mut counts = SkillCounts {
        total: catalog.len(),
        enabled: 0,
        disabled: 0,
        unavailable: 0,
        hidden: 0,
        invalid: catalog.invalid().len(),
    };
    for skill in catalog.all().iter().filter(|skill| !skill.shadowed()) {
        if !skill.enabled() {
            counts.disabled += 1;
        } else if !skill.available() {
            counts.unavailable += 1;
        } else {
            counts.enabled += 1;
            counts.hidden += usize::from(skill.hides_from_models());
        }
    }
    counts
}

fn shadowed(catalog: &Catalog) -> Vec<ShadowedSkill> {
    let hidden = catalog.all().iter().filter(|skill| skill.shadowed());
    hidden
        .map(|skill| ShadowedSkill {
            address: skill.address(),
            path: skill.dir(),
            by: catalog.get(skill.name()).map(Skill::dir).unwrap_or_default(),
        })
        .collect()
}

fn servers(context: &Context, found: &mut Vec<Diagnostic>) -> Result<Vec<CheckedServer>, CliError> {
    for server in &context.quiet_settings()?.servers {
        if let Err(error) = ServerSpec::from_config(server, |name| std::env::var(name).ok()) {
            let help = "correct it below [[mcp]] in skillcue.toml";
            found.push(Diagnostic::named("mcp_server", Severity::Error, error.to_string()).with_help(help));
        }
    }
    let host = context.servers()?;
    let status: Vec<ServerStatus> = host.map(McpHost::status).unwrap_or_default();
    for problem in host.map(McpHost::diagnostics).unwrap_or_default() {
        let help = "`skillcue mcp inspect NAME` says more about a server";
        found.push(Diagnostic::named("mcp_server", Severity::Warning, problem.message).with_help(help));
    }
    found.extend(context.host()?.catalog_problems()?.iter().cloned());
    #[cfg(feature = "fleet")]
    found.extend(context.host()?.catalogs()?.map(skillcue_fleet::Catalogs::diagnostics).unwrap_or_default());
    let server = |status: ServerStatus| CheckedServer {
        name: status.label,
        identity: status.identity,
        skills: status.skills,
        asked: status.fetched.is_some(),
        stale: status.stale,
        failure: status.failure,
    };
    Ok(status.into_iter().map(server).collect())
}

fn sandbox(context: &Context, found: &mut Vec<Diagnostic>) -> Result<Option<Support>, CliError> {
    let support = match context.programs()?.launcher().support() {
        Ok(support) => support,
        Err(error) => {
            found.push(hints::diagnostic_of(&error, Severity::Warning));
            return Ok(None);
        }
    };
    if !support.sandboxed {
        let message = "there is no sandbox on this machine: scripts and toolsets do not run";
        let help = "`skillcue status` says what is missing";
        found.push(Diagnostic::named("no_sandbox", Severity::Warning, message).with_help(help));
    }
    Ok(Some(support))
}

fn records(context: &Context, found: &mut Vec<Diagnostic>) -> Result<ConsentCounts, CliError> {
    let store = context.host()?.consent_store();
    if let Some(trouble) = store.trouble() {
        let file = store.path().map(Path::to_path_buf).unwrap_or_default();
        found.push(Diagnostic::named("consent", Severity::Error, trouble).at(file).with_help(BROKEN_FILE_HINT));
    }
    let mut allowed = BTreeMap::new();
    for consent in store.list() {
        *allowed.entry(consent.subject.kind()).or_default() += 1;
    }
    Ok(ConsentCounts { allowed })
}
