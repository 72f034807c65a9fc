//! `skillcue catalog`: catalogs on object stores, looked at, signed, checked and tidied.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};
use skillcue::Diagnostic;
use skillcue::catalog::without_userinfo;
use skillcue::config::{CatalogSection, catalogs_by_name};
use skillcue_fleet::{
    CatalogStatus, FleetEngine, FleetError, GcOptions, PublicKey, SignOptions, SigningKey, gc, inspect, sign,
};

use super::publish::{data_dir, days, load_key, open, public_keys};
use crate::context::Context;
use crate::error::CliError;
use crate::progress::ProgressIndicator;
use crate::report::Printout;
use crate::terminal::{paint, style};
use crate::{Outcome, text};

const AFTER: &str = "\
Examples:
  skillcue catalog keygen ~/acme.key                          makes a key, and prints its public half
  skillcue catalog status                                     the configured catalogs, and what was refused
  skillcue catalog list s3://acme-skills/prod                 what is published there
  skillcue catalog sign URL --key ~/new.key --trusts OLD      signs it with a further key
  skillcue catalog sign URL --key ~/acme.key --renew          makes it valid for another 30 days
  skillcue catalog sign URL --key ~/acme.key --generation 3-… signs exactly what `verify` has shown
  skillcue catalog verify s3://acme-skills/prod --deep        reads and checks every byte
  skillcue catalog gc s3://acme-skills/prod --keep 10         deletes old generations

A URL may be the name of a configured catalog. Exit code 1 if something is refused. A key signs only what it, or a key of
--trusts, has signed before, or what --generation names: a signature vouches for everything in a generation.
With --json keygen prints {key, file}; status prints {catalogs: [{name, url, skills, sequence, expires, expired, signers,
trusted, asked, stale, failure, help, has_policy, policy_applies}], unused: [{code, message, help}]}; list prints {catalog,
sequence, skills: [{name, uri, description, files, bytes}]}; sign prints {sequence, key}; verify prints {catalog, sequence,
generation, expires, signers, skills, verified, policy}; gc prints {kept, generations, blobs, bytes, dry_run}.";

#[derive(Debug, clap::Args)]
#[command(after_help = crate::cli::footer(AFTER))]
pub(crate) struct Args {
    #[command(subcommand)]
    what: CatalogCommand,
}

#[derive(Debug, clap::Subcommand)]
enum CatalogCommand {
    /// Show the configured catalogs: generation, signers, age, and what was refused
    Status,
    /// List the skills of a published catalog
    List {
        /// The address, or the name of a configured catalog
        url: String,
    },
    /// Make a key that signs catalogs
    Keygen {
        /// The file for the private key, which must not exist
        file: PathBuf,
    },
    /// Sign the current generation with a further key, or renew it
    Sign {
        /// The address, or the name of a configured catalog
        url: String,
        /// The file of the key
        #[arg(long, value_name = "FILE")]
        key: PathBuf,
        /// Sign what KEY has signed, too, besides what this key has; may be given several times
        #[arg(long, value_name = "KEY")]
        trusts: Vec<String>,
        /// Sign exactly this generation, whatever key has signed it, also if it has expired: `verify` prints its name
        #[arg(long, value_name = "N-DIGEST")]
        generation: Option<String>,
        /// Sign generation N or a newer one only: for a machine that remembers nothing, such as CI
        #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
        at_least: u64,
        /// Make it the next generation, valid from now on
        #[arg(long)]
        renew: bool,
        /// For how many days
        #[arg(long, value_name = "DAYS", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=3650))]
        days: u32,
    },
    /// Check the signature, the digests and every entry of a published catalog
    Verify {
        /// The address, or the name of a configured catalog
        url: String,
        /// One of these keys must have signed it; those of a configured catalog count, too
        #[arg(long, value_name = "KEY")]
        trusts: Vec<String>,
        /// Read every file, too
        #[arg(long)]
        deep: bool,
    },
    /// Delete old generations, and what only they had
    Gc {
        /// The address, or the name of a configured catalog
        url: String,
        /// How many generations stay
        #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
        keep: u32,
        /// How many days those stay that were replaced, whatever their number
        #[arg(long, value_name = "DAYS", default_value_t = 7)]
        grace_days: u32,
        /// Leave out the time for readers and publishers: no other process uses the store
        #[arg(long)]
        alone: bool,
        /// Only say what would be deleted
        #[arg(long)]
        dry_run: bool,
    },
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Outcome, CliError> {
    match &args.what {
        CatalogCommand::Status => status(context),
        CatalogCommand::List { url } => list(url, context),
        CatalogCommand::Keygen { file } => keygen(file, context),
        CatalogCommand::Sign { url, key, trusts, generation, at_least, renew, days: count } => {
            let options = SignOptions {
                trusted: public_keys(trusts)?,
                renew: renew.then(|| days(*count)),
                generation: generation.as_deref().map(str::parse).transpose().map_err(|error| failed(&error))?,
                name: None,
                at_least: *at_least,
                data: data_dir(context)?,
            };
            sign_with(url, key, options, context)
        }
        CatalogCommand::Verify { url, trusts, deep } => verify(url, trusts, *deep, context),
        CatalogCommand::Gc { url, keep, grace_days, alone, dry_run } => {
            let grace = if *alone { Duration::ZERO } else { days(*grace_days) };
            let keep = usize::try_from(*keep).unwrap_or(usize::MAX);
            let data = data_dir(context)?;
            let options = GcOptions { keep, grace, alone: *alone, dry_run: *dry_run, data, ..GcOptions::default() };
            collect(url, options, context)
        }
    }
}

/// Returns the address, and the configured catalog there, if there is one.
fn place<'c>(url: &'c str, context: &'c Context) -> Result<(&'c str, Option<&'c CatalogSection>), CliError> {
    let (sections, _) = catalogs_by_name(&context.settings()?.catalogs);
    if url.contains("://") {
        let plain = url.trim_end_matches('/');
        let is_there =
            |section: &&CatalogSection| section.url.as_deref().is_some_and(|it| it.trim_end_matches('/') == plain);
        return Ok((url, sections.into_iter().find(is_there)));
    }
    let section = sections.into_iter().find(|section| section.name == url);
    let address = section.and_then(|section| section.url.as_deref()).ok_or_else(|| {
        CliError::failure("not_found", format!("there is no catalog {:?}", without_userinfo(url))).help(
            "name one below [[catalog]] in skillcue.toml, or write its address: s3://, gs://, az://, https://, file://",
        )
    })?;
    Ok((address, section))
}

/// Returns the keys that a person trusts for an address: those that they typed, else those that are configured there, else those
/// of the machine's policy.
fn trusted(typed: &[String], section: Option<&CatalogSection>, context: &Context) -> Result<Vec<PublicKey>, CliError> {
    let Some(section) = section.filter(|_| typed.is_empty()) else { return public_keys(typed) };
    let keys = context.host()?.catalog_keys(section)?;
    if keys.is_empty() && context.settings()?.policy.keys().is_some() {
        return Err(CliError::failure("policy", "the policy of this machine lets no key sign a catalog")
            .help("ask the owner of the policy; `skillcue status` names it"));
    }
    public_keys(&keys)
}

fn failed(error: &FleetError) -> CliError {
    CliError::of(error)
}

fn status(context: &Context) -> Result<Outcome, CliError> {
    context.servers()?;
    let status = context.host()?.catalogs()?.map(skillcue_fleet::Catalogs::status).unwrap_or_default();
    let unused = context.host()?.unused_catalogs()?;
    let is_good = unused.is_empty() && status.iter().all(|catalog| catalog.failure.is_none() && !catalog.expired);
    let row = |found: &Diagnostic| json!({"code": found.code.as_str(), "message": found.message, "help": found.help});
    let document = json!({"catalogs": status_rows(&status), "unused": unused.iter().map(row).collect::<Vec<_>>()});
    context.report(Outcome::of(is_good), &document, || {
        if status.is_empty() && unused.is_empty() {
            return Printout::of_remark("no catalog is configured; add one below [[catalog]] in skillcue.toml");
        }
        let mut out = status_text(&status, "");
        for found in unused {
            let _ = writeln!(out, "{}", paint(style::BAD, text::one_line(&found.message)));
            if let Some(help) = &found.help {
                let _ = writeln!(out, "  help: {}", text::one_line(help));
            }
        }
        Printout::from(out)
    })
}

/// Returns the status of catalogs for programs.
pub(super) fn status_rows(status: &[CatalogStatus]) -> Vec<Value> {
    let seconds = |time: std::time::SystemTime| time.duration_since(std::time::UNIX_EPOCH).map(|it| it.as_secs()).ok();
    let row = |catalog: &CatalogStatus| -> Value {
        json!({"name": catalog.name, "url": catalog.url, "skills": catalog.skills, "sequence": catalog.sequence,
            "expires": catalog.expires, "expired": catalog.expired, "signers": catalog.signers, "trusted": catalog.trusted,
            "asked": catalog.asked.and_then(seconds), "stale": catalog.stale, "failure": catalog.failure,
            "help": catalog.help, "has_policy": catalog.has_policy, "policy_applies": catalog.policy_applies})
    };
    status.iter().map(row).collect()
}

/// Returns the status of catalogs for people, each line after `indent`.
pub(super) fn status_text(status: &[CatalogStatus], indent: &str) -> String {
    let mut out = String::new();
    for catalog in status {
        let generation = match catalog.sequence {
            Some(sequence) => format!("generation {sequence}, {} skills", text::thousands(catalog.skills)),
            None => "nothing pulled yet".to_owned(),
        };
        let _ = writeln!(out, "{indent}{}  {generation}", paint(style::SOURCE, &catalog.name));
        let _ = writeln!(out, "{indent}  {}", text::one_line(&catalog.url));
        let signed = match (&catalog.signers[..], catalog.trusted) {
            ([], _) => "no key that is configured has signed it: each skill is allowed by you".to_owned(),
            (signers, true) => {
                format!("signed by {}: its skills load without asking", text::one_line(&signers.join(", ")))
            }
            (signers, false) => {
                format!("signed by {}: each skill is allowed by you", text::one_line(&signers.join(", ")))
            }
        };
        if catalog.sequence.is_some() {
            let _ = writeln!(out, "{indent}  {signed}");
        }
        if let Some(expires) = &catalog.expires {
            let word = if catalog.expired { paint(style::BAD, "expired on") } else { "valid until".to_owned() };
            let _ = writeln!(out, "{indent}  {word} {expires}");
        }
        let policy = match (catalog.has_policy, catalog.policy_applies) {
            (_, true) => Some("which applies: `skillcue status` describes it"),
            (true, false) if catalog.signers.is_empty() => Some("which does not apply, as no key is configured for it"),
            (true, false) => Some("which does not apply until it is fetched again: `skillcue pull`"),
            (false, false) => None,
        };
        if let Some(policy) = policy {
            let _ = writeln!(out, "{indent}  carries a policy, {policy}");
        }
        if let Some(failure) = &catalog.failure {
            let _ = writeln!(out, "{indent}  {}", paint(style::BAD, text::one_line(failure)));
            if let Some(help) = &catalog.help {
                let _ = writeln!(out, "{indent}  help: {}", text::one_line(help));
            }
        }
    }
    out
}

fn list(url: &str, context: &Context) -> Result<Outcome, CliError> {
    let (address, section) = place(url, context)?;
    let store = open(address, false, context)?;
    let keys = trusted(&[], section, context)?;
    let report = inspect(&FleetEngine::default(), &store, &keys, false).map_err(|error| failed(&error))?;
    let description = |entry: &skillcue::remote::RemoteEntry| {
        entry.front_matter.get("description").and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let skills = report.entries.iter().map(|entry| {
        let files = entry.files.as_deref().unwrap_or_default();
        json!({"name": entry.name(), "uri": entry.uri, "description": description(entry), "files": files.len(),
            "bytes": files.iter().map(|file| file.size).sum::<u64>()})
    });
    let document =
        json!({"catalog": report.catalog, "sequence": report.sequence, "skills": skills.collect::<Vec<_>>()});
    context.report(Outcome::Done, &document, || {
        let mut out = String::new();
        for entry in &report.entries {
            let path = entry.root().strip_prefix("skill://").unwrap_or(&entry.uri);
            let line = text::one_line(&description(entry)).chars().take(100).collect::<String>();
            let _ = writeln!(out, "{}  {line}", paint(style::NAME, text::one_line(path)));
        }
        let skills = text::thousands(report.entries.len());
        let _ = writeln!(out, "{skills} skills in generation {} of {}", report.sequence, report.catalog);
        out
    })
}

fn keygen(file: &std::path::Path, context: &Context) -> Result<Outcome, CliError> {
    let file = context.environment()?.resolve(file);
    let key = SigningKey::generate().map_err(|error| failed(&error))?;
    key.save(&file).map_err(|error| failed(&error))?;
    let public = key.public().to_string();
    context.report(Outcome::Done, &json!({"key": public, "file": file}), || {
        format!(
            "{public}\n\nThe private key is in {}: keep it secret, and a copy of it elsewhere.\n\
             Readers trust it so, in skillcue.toml:\n\n  [[catalog]]\n  name = \"…\"\n  url = \"…\"\n  keys = [\"{public}\"]\n",
            context.short_path(&file)
        )
    })
}

fn sign_with(url: &str, key: &std::path::Path, options: SignOptions, context: &Context) -> Result<Outcome, CliError> {
    let (address, section) = place(url, context)?;
    let key = load_key(key, context)?;
    let store = open(address, false, context)?;
    let options = SignOptions { name: section.map(|section| section.name.clone()), ..options };
    let sequence = sign(&FleetEngine::default(), &store, &key, &options).map_err(|error| failed(&error))?;
    let public = key.public().to_string();
    context.report(Outcome::Done, &json!({"sequence": sequence, "key": public}), || {
        format!("generation {sequence} is signed by {public}\n")
    })
}

fn verify(url: &str, trusts: &[String], deep: bool, context: &Context) -> Result<Outcome, CliError> {
    let (address, section) = place(url, context)?;
    let store = open(address, false, context)?;
    let keys = trusted(trusts, section, context)?;
    let progress = ProgressIndicator::spinner("reading the catalog");
    let report = inspect(&FleetEngine::default(), &store, &keys, deep).map_err(|error| failed(&error))?;
    drop(progress);
    let document = json!({
        "catalog": report.catalog, "sequence": report.sequence, "generation": report.generation.to_string(),
        "expires": report.expires, "signers": report.signers,
        "skills": report.entries.len(), "verified": report.verified, "policy": report.policy,
    });
    context.report(Outcome::Done, &document, || {
        let signed = match (&report.signers[..], keys.is_empty()) {
            ([], _) => "not signed".to_owned(),
            (signers, true) => format!("signed by {}, which no key was given to compare with", signers.join(", ")),
            (_, false) => "signed by a key that you trust".to_owned(),
        };
        let files = if deep {
            format!(", {} files as they should be", text::thousands(report.verified))
        } else {
            String::new()
        };
        let policy = if report.policy.is_some() { "carries a policy; --json shows it\n" } else { "" };
        format!(
            "{}  generation {}, {} skills{files}\n{signed}, valid until {}\ngeneration {}\n{policy}",
            paint(style::SOURCE, &report.catalog),
            report.sequence,
            text::thousands(report.entries.len()),
            report.expires,
            report.generation
        )
    })
}

fn collect(url: &str, options: GcOptions, context: &Context) -> Result<Outcome, CliError> {
    let (address, section) = place(url, context)?;
    let name = section.map(|section| section.name.clone());
    let url = section.and_then(|section| section.url.clone());
    let options = GcOptions { keys: trusted(&[], section, context)?, name, url, ..options };
    let store = open(address, false, context)?;
    let progress = ProgressIndicator::spinner("looking for what none needs");
    let report = gc(&FleetEngine::default(), &store, &options).map_err(|error| failed(&error))?;
    drop(progress);
    let document = json!({"kept": report.kept, "generations": report.generations, "blobs": report.blobs,
        "bytes": report.bytes, "dry_run": options.dry_run});
    context.report(Outcome::Done, &document, || {
        let would = if options.dry_run { "would go" } else { "are gone" };
        format!(
            "{} generations and {} blobs with {} bytes {would}; {} generations stay\n",
            text::thousands(report.generations),
            text::thousands(report.blobs),
            text::thousands(report.bytes),
            text::thousands(report.kept)
        )
    })
}
