//! `skillcue push`: a skill to an OCI registry.

use std::path::PathBuf;

use skillcue_registry::{FetchProgress, OciReference, PackError, PushError, PushOptions, push};

use crate::context::Context;
use crate::error::CliError;
use crate::progress::ProgressIndicator;
use crate::registries::print_findings;
use crate::report::Printout;
use crate::terminal::{paint, style};
use crate::{Outcome, text};

const AFTER: &str = "\
Examples:
  skillcue push ./pdf oci://ghcr.io/acme/skills/pdf:1.2
  skillcue push ./pdf oci://localhost:5000/pdf --dry-run   pack and check, ask the registry nothing

The skill is validated and audited first. Directories that listings ignore (.git, node_modules, target,
__pycache__, .venv) are left out. Equal files give an equal manifest, so pushing twice changes nothing.
Credentials come from the files of Docker and Podman, and from their helpers; log in with one of them.
With --json it prints {name, version, reference, manifest, digest, files, bytes, left_out, findings, pushed};
`manifest` is what skillcue.lock pins as the commit, `digest` what it pins for the files.";

#[derive(Debug, clap::Args)]
#[command(after_help = crate::cli::footer(AFTER))]
pub(crate) struct Args {
    /// The skill's directory
    dir: PathBuf,
    #[arg(help = "The address with its tag: oci://HOST/REPOSITORY:TAG")]
    address: String,
    /// Pack and check, and push nothing
    #[arg(long)]
    dry_run: bool,
    /// Push in spite of findings of high severity
    #[arg(long)]
    allow_findings: bool,
}

/// Never cancels: a signal ends the process, and nothing half-pushed has a tag.
struct Uncancelled;

impl FetchProgress for Uncancelled {}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Outcome, CliError> {
    let reference = OciReference::parse(&args.address)?;
    if reference.digest().is_some() {
        return Err(CliError::usage("usage", "a skill is pushed to a tag, and the digest follows from its files")
            .help("leave out what is behind the @"));
    }
    let environment = context.environment()?;
    let dir = environment.resolve(&args.dir);
    let options = PushOptions {
        allow_findings: args.allow_findings,
        dry_run: args.dry_run,
        policy: Some(context.host()?.policy()?),
    };
    let progress = ProgressIndicator::spinner(format!("pushing to {reference}"));
    let pushed = push(&dir, &reference, &environment.oci_access(), &options, &Uncancelled);
    drop(progress);
    let pushed = match pushed {
        Ok(pushed) => pushed,
        Err(error) => {
            if let PushError::Pack(PackError::Findings { name, findings }) = &error {
                print_findings(&context.terminal, name, findings);
            }
            return Err(error.into());
        }
    };
    context.report(Outcome::Done, &pushed, || {
        let version = pushed.version.as_deref().map_or(String::new(), |it| format!("  {}", text::one_line(it)));
        let word = if pushed.pushed { paint(style::GOOD, "pushed") } else { "would be pushed".to_owned() };
        let out = format!(
            "{}{version}  {word}  {}, {}\n  {}\n  manifest  sha256:{}\n  files     {}\n",
            paint(style::NAME, text::one_line(&pushed.name)),
            text::count(pushed.files, "file"),
            text::bytes(pushed.bytes as u64),
            pushed.reference,
            pushed.manifest,
            pushed.digest,
        );
        let left_out = (!pushed.left_out.is_empty()).then(|| format!("left out: {}", pushed.left_out.join(", ")));
        let next = format!("`skillcue install {}` installs it", pushed.reference);
        Printout::from(out).remarks(left_out).remarks(pushed.pushed.then_some(next))
    })
}
