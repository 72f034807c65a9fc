//! `skillcue remove`, and `skillcue gc`, until which it can be undone.

use std::fmt::Write as _;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use skillcue_registry::Registry;

use crate::context::Context;
use crate::error::CliError;
use crate::registries::{RegistryArgs, registry_of};
use crate::report::Printout;
use crate::terminal::{paint, style};
use crate::{Outcome, text};

const AFTER: &str = "\
Examples:
  skillcue remove pdf          into the trash, with what was said of it
  skillcue remove --undo       bring back what went last
  skillcue remove --undo pdf   or this one
  skillcue remove --trash      what is in the trash
  skillcue gc                  empty it; what is in it is gone for good

With --json it prints [{name, kind, enabled}], or with --trash [{id, name, kind, when, why, origin, version, bytes}].";

#[derive(Debug, clap::Args)]
#[command(after_help = crate::cli::footer(AFTER))]
pub(crate) struct Args {
    /// Installed skills and plugins
    #[arg(required_unless_present_any = ["undo", "trash"])]
    names: Vec<String>,
    /// Bring back what is in the trash: what went last, or these
    #[arg(long)]
    undo: bool,
    /// Show what is in the trash
    #[arg(long, conflicts_with_all = ["undo", "names"])]
    trash: bool,
    #[command(flatten)]
    registry: RegistryArgs,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Outcome, CliError> {
    let registry = registry_of(context.registries()?, args.registry)?;
    let now = SystemTime::now();
    if args.trash {
        return trash(registry, context);
    }
    let policy = context.host()?.policy()?;
    let is_required = |name: &&String| policy.required().any(|required| required.name == **name);
    if let Some(name) = args.names.iter().filter(|_| !args.undo).find(is_required) {
        let message = format!("{name:?} cannot be removed: the organisation's policy requires it");
        return Err(CliError::failure("policy", message).help("ask the owner of the policy"));
    }
    let (moved, said) = if !args.undo {
        (registry.remove(&args.names, now)?, "removed")
    } else if args.names.is_empty() {
        (registry.undo(now)?, "back")
    } else {
        (registry.restore_all(&args.names, now)?, "back")
    };
    context.report(Outcome::Done, &moved, || {
        let lines = moved.iter().map(|moved| format!("{}  {said}\n", paint(style::NAME, &moved.name)));
        let project = if args.registry.project { " --project" } else { "" };
        let it = if moved.len() == 1 { "it" } else { "them" };
        let back = format!("`skillcue remove{project} --undo` brings {it} back, until `skillcue gc`");
        Printout::from(lines.collect::<String>()).remarks((!args.undo).then_some(back))
    })
}

fn trash(registry: &Registry, context: &Context) -> Result<Outcome, CliError> {
    let trash = registry.trash();
    context.report(Outcome::Done, &trash, || {
        if trash.is_empty() {
            return Printout::of_remark("the trash is empty");
        }
        let mut out = String::new();
        for one in &trash {
            let origin = one.origin.as_deref();
            let origin = origin.map_or(String::new(), |origin| format!("  from {}", text::one_line(origin)));
            let why = serde_json::to_value(one.why).ok();
            let why = why.as_ref().and_then(Value::as_str).unwrap_or_default();
            let _ = writeln!(
                out,
                "{}  {why}  {}  {}{}",
                paint(style::NAME, text::one_line(&one.name)),
                text::one_line(&one.when),
                text::bytes(one.bytes),
                paint(style::DIM, origin)
            );
        }
        out.into()
    })
}

const GC_AFTER: &str = "\
Examples:
  skillcue gc                    empty the trash, and clear what interrupted installs have left
  skillcue gc --older-than 30    only what went more than 30 days ago

With --json it prints {trash, leftovers, bytes, broken}: how many went, how much that was, and files that were
set aside because they could not be read, which stay.";

#[derive(Debug, clap::Args)]
#[command(after_help = GC_AFTER)]
pub(crate) struct GcArgs {
    /// Only what went more than so many days ago
    #[arg(long, value_name = "DAYS")]
    older_than: Option<u64>,
    /// Give up a change that was begun and can never be finished
    #[arg(long, conflicts_with = "older_than")]
    abandon: bool,
    #[command(flatten)]
    registry: RegistryArgs,
}

pub(crate) fn gc(args: &GcArgs, context: &Context) -> Result<Outcome, CliError> {
    let registry = registry_of(context.registries()?, args.registry)?;
    if args.abandon {
        return abandon(registry, context);
    }
    let day = Duration::from_hours(24);
    let before = args.older_than.map(|days| {
        let age = u32::try_from(days).ok().and_then(|days| day.checked_mul(days));
        // Longer than the clock can count: nothing is that old.
        age.and_then(|age| SystemTime::now().checked_sub(age)).unwrap_or(SystemTime::UNIX_EPOCH)
    });
    let freed = registry.gc(before)?;
    let document = json!({"trash": freed.trash, "leftovers": freed.leftovers, "bytes": freed.bytes,
        "broken": freed.broken});
    context.report(Outcome::Done, &document, || {
        let said = if freed.trash == 0 && freed.leftovers == 0 {
            "there is nothing to clear".to_owned()
        } else {
            format!(
                "{} removed from the trash, {} cleared, {} freed",
                text::count(freed.trash, "entry"),
                text::count(freed.leftovers, "leftover"),
                text::bytes(freed.bytes)
            )
        };
        let broken = freed.broken.iter();
        let broken =
            broken.map(|file| format!("{} could not be read, and was set aside: look at it", context.short_path(file)));
        Printout::of_remark(said).remarks(broken)
    })
}

/// Sets a journal aside that blocks every other change.
fn abandon(registry: &Registry, context: &Context) -> Result<Outcome, CliError> {
    let abandoned = registry.abandon()?;
    let given_up = abandoned
        .as_ref()
        .map(|it| json!({"journal": it.journal.to_string_lossy(), "names": it.names, "reason": it.reason}));
    context.report(Outcome::Done, &json!({"abandoned": given_up}), || {
        Printout::of_remark(match &abandoned {
            Some(it) => format!(
                "given up: {} ({}); its steps are in {}; `skillcue verify` checks what is installed",
                text::one_line(&it.names.join(", ")),
                text::one_line(&it.reason),
                context.short_path(&it.journal)
            ),
            None => "no change is left unfinished".to_owned(),
        })
    })
}
