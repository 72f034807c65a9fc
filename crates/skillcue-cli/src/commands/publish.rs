//! `skillcue publish`: skills of a directory become part of a catalog on an object store.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use skillcue::ErrorInfo as _;
use skillcue::catalog::OrgPolicy;
use skillcue::config::catalogs_by_name;
use skillcue_fleet::{
    Bandwidth, FleetEngine, FleetError, PolicyChange, PublicKey, PublishCheck, PublishOptions, PublishReport,
    SigningKey, Store, StoreOptions, publish,
};
use skillcue_registry::{PackError, check_outbound};

use crate::context::Context;
use crate::error::CliError;
use crate::progress::ProgressIndicator;
use crate::terminal::{paint, style};
use crate::{Outcome, text};

const AFTER: &str = "\
Examples:
  skillcue publish skills s3://acme-skills/prod --key ~/acme.key
  skillcue publish skills file:///srv/skills/acme              a directory serves as well
  skillcue publish skills s3://acme-skills/prod --as sales     below sales/, beside other teams
  skillcue publish s3://acme-skills/prod --remove old-skill    takes a skill out
  skillcue publish s3://acme-skills/prod --policy policy.toml --key ~/acme.key
  skillcue publish skills s3://acme-skills/prod --again        repairs files that the store has lost

What is in the catalog already is not written again without --again; skills of other publishers stay. Each skill is
audited and compared with the policy first, as by `skillcue push`; one that fails is left out.
With a key, nothing is built upon an expired generation, nor upon one that is older than this machine has seen.
Credentials are the usual variables: AWS_ACCESS_KEY_ID and its kin, GOOGLE_SERVICE_ACCOUNT, AZURE_STORAGE_ACCOUNT_KEY.
Exit code 1 if a skill could not be published; the others are.
With --json it prints {catalog, sequence, is_new, skills, added, changed, unchanged, removed, policy_changed,
refused: [{name, why}], files_written, conflicts, requests, sent}.";

#[derive(Debug, clap::Args)]
#[command(after_help = crate::cli::footer(AFTER))]
pub(crate) struct Args {
    /// The directory with the skills, and the address of the catalog; the address alone with --remove or --policy
    #[arg(required = true, num_args = 1..=2, value_names = ["DIR", "URL"])]
    places: Vec<String>,
    /// The catalog's name, with which its skills' names begin; from the address if there is none yet
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Publish below PREFIX, such as a team's name
    #[arg(long = "as", value_name = "PREFIX")]
    prefix: Option<String>,
    /// Take a skill out of the catalog; may be given several times
    #[arg(long, value_name = "NAME")]
    remove: Vec<String>,
    /// Sign with the key in FILE; `skillcue catalog keygen` makes one
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// Build upon generations that KEY has signed, too; may be given several times
    #[arg(long, value_name = "KEY")]
    trusts: Vec<String>,
    /// Publish without a signature though the catalog has one
    #[arg(long, conflicts_with = "key")]
    unsigned: bool,
    /// Build upon generation N or a newer one only: for a machine that remembers nothing, such as CI
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    at_least: u64,
    /// Publish as a generation above N, whatever this machine has seen up to it: after the store was restored or begun anew
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true, requires = "key")]
    sequence_above: u64,
    /// Write all files of the skills of DIR, also those that the catalog has: repairs what the store has lost
    #[arg(long)]
    again: bool,
    /// Publish in spite of findings of high severity
    #[arg(long)]
    allow_findings: bool,
    /// Carry the policy in FILE: readers with keys apply it beside their own, to all of their skills
    #[arg(long, value_name = "FILE", requires = "key")]
    policy: Option<PathBuf>,
    /// Carry no policy any more
    #[arg(long, conflicts_with = "policy", requires = "key")]
    no_policy: bool,
    /// Send and receive at most RATE bytes a second, such as 5MB; in place of that of a configured catalog
    #[arg(long, value_name = "RATE")]
    bandwidth: Option<String>,
    /// For how many days the generation is valid
    #[arg(long, value_name = "DAYS", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=3650))]
    days: u32,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Outcome, CliError> {
    let (dir, url) = match &args.places[..] {
        [dir, url] => (Some(context.environment()?.resolve(dir.as_ref())), url),
        [url] if !args.again && changes_without_dir(args) => (None, url),
        _ => {
            return Err(CliError::usage("usage", "a directory and an address are needed")
                .help("`skillcue publish DIR URL`, `skillcue publish URL --remove NAME`, or `skillcue publish URL --policy FILE`"));
        }
    };
    let options = PublishOptions {
        name: args.name.clone(),
        prefix: segments(args.prefix.as_deref())?,
        remove: args.remove.clone(),
        key: args.key.as_ref().map(|file| load_key(file, context)).transpose()?,
        trusted: public_keys(&args.trusts)?,
        unsigned: args.unsigned,
        expiry: days(args.days),
        policy: policy_change(args, context)?,
        at_least: args.at_least,
        sequence_above: args.sequence_above,
        data: data_dir(context)?,
        again: args.again,
        check: Some(Arc::new(OutboundCheck {
            allow_findings: args.allow_findings,
            policy: context.host()?.policy()?.clone(),
        })),
    };
    let store = open(url, true, context)?;
    let store = match bandwidth(args.bandwidth.as_deref())? {
        Some(rate) => store.with_bandwidth(rate),
        None => store,
    };
    let progress = ProgressIndicator::spinner("publishing");
    let report =
        publish(&FleetEngine::default(), &store, dir.as_deref(), &options).map_err(|error| CliError::of(&error))?;
    drop(progress);
    let traffic = store.traffic();
    let refused = report.refused.iter().map(|(name, why)| json!({"name": name, "why": why}));
    let document = json!({
        "catalog": report.catalog, "sequence": report.sequence, "is_new": report.is_new, "skills": report.skills,
        "added": report.added, "changed": report.changed, "unchanged": report.unchanged, "removed": report.removed,
        "policy_changed": report.policy_changed, "refused": refused.collect::<Vec<_>>(), "files_written": report.files_written, "conflicts": report.conflicts, "requests": traffic.requests,
        "sent": traffic.sent,
    });
    context.report(Outcome::of(report.refused.is_empty()), &document, || said(&report, &store, &options))
}

/// Returns whether there is something to publish without a directory.
fn changes_without_dir(args: &Args) -> bool {
    !args.remove.is_empty() || args.policy.is_some() || args.no_policy || args.sequence_above > 0
}

/// Checks each skill as `push` does.
#[derive(Debug)]
struct OutboundCheck {
    allow_findings: bool,
    policy: OrgPolicy,
}

impl PublishCheck for OutboundCheck {
    fn refusal(&self, dir: &Path) -> Option<String> {
        let error = check_outbound(dir, self.allow_findings, Some(&self.policy)).err()?;
        let hint = match &error {
            PackError::Findings { .. } => {
                Some(format!("`skillcue audit {}` shows them, --allow-findings publishes all the same", dir.display()))
            }
            error => error.hint().map(std::borrow::Cow::into_owned),
        };
        Some(hint.map_or_else(|| error.to_string(), |hint| format!("{error}; {hint}")))
    }
}

/// Returns the directory that remembers which generations were seen.
pub(crate) fn data_dir(context: &Context) -> Result<Option<PathBuf>, CliError> {
    Ok(context.environment()?.data_home.as_ref().map(|data| data.join("skillcue")))
}

fn said(report: &PublishReport, store: &Store, options: &PublishOptions) -> String {
    let mut out = String::new();
    for (name, why) in &report.refused {
        let _ = writeln!(out, "{}  {}: {}", paint(style::BAD, "left out"), text::one_line(name), text::one_line(why));
    }
    for (word, names) in [("added", &report.added), ("changed", &report.changed), ("removed", &report.removed)] {
        for name in names.iter().take(MAX_NAMED) {
            let _ = writeln!(out, "{word:<8}  {}", paint(style::NAME, text::one_line(name)));
        }
        if names.len() > MAX_NAMED {
            let _ = writeln!(out, "{word:<8}  and {} more", text::thousands(names.len() - MAX_NAMED));
        }
    }
    if report.policy_changed {
        let _ = writeln!(out, "changed   the policy that it carries");
    }
    let catalog = paint(style::SOURCE, &report.catalog);
    let skills = text::thousands(report.skills);
    let sequence = report.sequence;
    let _ = if report.is_new {
        writeln!(out, "{catalog} is at generation {sequence} now, with {skills} skills: {}", store.address())
    } else if options.again {
        let files = text::thousands(report.files_written);
        writeln!(out, "{catalog} stays at generation {sequence}, with {skills} skills: {files} files are written anew")
    } else {
        writeln!(out, "{catalog} has all of it already: generation {sequence}, {skills} skills")
    };
    if report.is_new && options.key.is_none() {
        let _ =
            writeln!(out, "It is not signed. `skillcue catalog keygen FILE` makes a key, --key FILE signs with it.");
    }
    out
}

/// How many names of a kind are printed.
const MAX_NAMED: usize = 20;

/// Opens the store at an address that a person typed: the options of a configured catalog there count, too.
pub(crate) fn open(url: &str, create: bool, context: &Context) -> Result<Store, CliError> {
    let (sections, _) = catalogs_by_name(&context.quiet_settings()?.catalogs);
    let section = sections.into_iter().find(|section| section.url.as_deref() == Some(url));
    let options = section.map(|section| section.options.clone()).unwrap_or_default();
    let bandwidth = bandwidth(section.and_then(|section| section.bandwidth.as_deref()))?;
    let variables = context.environment()?.text_variables();
    let options = StoreOptions { options: options.into_iter().collect(), variables, timeout: None, bandwidth, create };
    Store::open(url, &options).map_err(|error| CliError::of(&error))
}

/// Reads a limit for bytes a second that a person wrote.
pub(crate) fn bandwidth(text: Option<&str>) -> Result<Option<Bandwidth>, CliError> {
    text.map(str::parse).transpose().map_err(|error: FleetError| CliError::of(&error))
}

/// Returns what becomes of the catalog's policy. A file that cannot be used is refused before anything is written.
fn policy_change(args: &Args, context: &Context) -> Result<PolicyChange, CliError> {
    let Some(file) = &args.policy else {
        return Ok(if args.no_policy { PolicyChange::Remove } else { PolicyChange::Keep });
    };
    let path = context.environment()?.resolve(file);
    let text = std::fs::read_to_string(&path).map_err(|error| {
        let message = format!("the policy {} cannot be read: {}", path.display(), skillcue_base::os_message(&error));
        CliError::failure("policy", message).help("name a file that is there, as docs/reference/policy.md describes it")
    })?;
    OrgPolicy::parse(text.as_bytes(), &file.display().to_string()).map_err(|error| CliError::of(&error))?;
    Ok(PolicyChange::Set(text))
}

pub(crate) fn load_key(file: &Path, context: &Context) -> Result<Arc<SigningKey>, CliError> {
    let file = context.environment()?.resolve(file);
    SigningKey::load(&file).map(Arc::new).map_err(|error| CliError::of(&error))
}

pub(crate) fn public_keys(keys: &[String]) -> Result<Vec<PublicKey>, CliError> {
    keys.iter().map(|key| key.parse().map_err(|error| CliError::of(&error))).collect()
}

pub(crate) fn days(days: u32) -> Duration {
    Duration::from_hours(24).saturating_mul(days)
}

/// Returns the segments of a prefix.
fn segments(prefix: Option<&str>) -> Result<Vec<String>, CliError> {
    let Some(prefix) = prefix else { return Ok(Vec::new()) };
    let is_plain = |segment: &str| {
        !segment.is_empty()
            && !segment.starts_with('.')
            && segment.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
    };
    let segments: Vec<&str> = prefix.trim_matches('/').split('/').collect();
    if segments.iter().all(|segment| is_plain(segment)) {
        return Ok(segments.into_iter().map(str::to_owned).collect());
    }
    Err(CliError::usage("usage", format!("{prefix:?} is no prefix"))
        .help("letters, digits, `-`, `_` and `.`, with `/` between"))
}
