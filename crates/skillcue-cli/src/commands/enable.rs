//! `skillcue enable` and `disable`: which skills count.

use skillcue::{Catalog, Error};
use skillcue_registry::{EnablementChange, RegistryState};

use crate::context::Context;
use crate::error::CliError;
use crate::registries::{RegistryArgs, registry_of};
use crate::report::Printout;
use crate::terminal::{paint, style, warning};
use crate::{Outcome, text};
use skillcue_host::own_address;

const AFTER: &str = "\
Examples:
  skillcue enable pdf               one that was installed, or that is off by default
  skillcue enable office            all skills of an installed plugin
  skillcue disable commit@project   only the project's, if another has its name
  skillcue enable --reset pdf       back to its default

What is enabled is on, whatever else is said; what is disabled is off; everything else follows its source:
what you put into a directory is on, what `install` fetched is off. A plain name means the skill that `list`
shows under it; one that is hidden by that has an address of its own, such as commit@user.
With --json it prints [{address, was, now}], each true, false or null.";

#[derive(Debug, clap::Args)]
#[command(after_help = crate::cli::footer(AFTER))]
pub(crate) struct Args {
    /// Skills by name or address, or installed plugins
    #[arg(required = true)]
    names: Vec<String>,
    /// Neither enable nor disable them: their default holds again
    #[arg(long)]
    reset: bool,
    #[command(flatten)]
    registry: RegistryArgs,
}

pub(crate) fn run(args: &Args, on: bool, context: &Context) -> Result<Outcome, CliError> {
    let registries = context.registries()?;
    let registry = registry_of(registries, args.registry)?;
    let catalog = context.local_skills()?.catalog();
    let state = registry.state();
    for name in &args.names {
        let plugin = state.installed.contains_key(name);
        if args.registry.project && !plugin && own_address(&state, name).is_none() {
            return Err(CliError::failure("not_installed", format!("{name:?} is not installed in the project"))
                .help("a project's registry has a say in what is installed there; leave out --project"));
        }
        if let Some(skill) = catalog.get(name).filter(|skill| !on && skill.is_required()) {
            let message = format!("{:?} cannot be disabled: the organisation's policy requires it", skill.name());
            return Err(CliError::failure("policy", message).help("ask the owner of the policy"));
        }
        match skillcue::catalog::usable(&catalog, name) {
            // What is off already may stay so, or go back to its default.
            Err(Error::Refused { .. }) if !on || args.reset => {}
            Err(error @ Error::Refused { .. }) => return Err(error.into()),
            Ok(_) | Err(Error::Disabled { .. } | Error::Unavailable { .. }) => {}
            // A skill that is gone can still be reset.
            Err(_) if plugin || args.reset => {}
            Err(error) => return Err(error.into()),
        }
    }
    let names: Vec<String> = args.names.iter().map(|name| recorded(&catalog, &state, name)).collect();
    let changed = if args.reset { registry.forget(&names)? } else { registry.enable(&names, on)? };
    let host = context.host()?;
    context.report(Outcome::Done, &changed, || {
        let still_on = |name: &&String| !on && !args.reset && host.is_enabled_elsewhere(name, args.registry.project);
        let warnings = args.names.iter().filter(still_on).map(|name| {
            let message =
                format!("{name} stays on: a skillcue.toml or the other registry enables it, and that counts for more");
            warning("still_enabled", &message, "take it out of `enable` there")
        });
        Printout::from(changed.iter().map(line).collect::<String>()).remarks(warnings)
    })
}

/// Returns the word under which a skill is switched: its address where others have its name, so that it means the same
/// skill in every directory; else its name, however it was typed.
fn recorded(catalog: &Catalog, state: &RegistryState, typed: &str) -> String {
    let Some(skill) = catalog.get(typed).filter(|_| !state.installed.contains_key(typed)) else {
        return typed.to_owned();
    };
    if skill.plugin().is_some() || catalog.named(skill.name()).count() > 1 {
        skill.address()
    } else {
        skill.name().to_owned()
    }
}

fn line(change: &EnablementChange) -> String {
    let already = if change.was == change.now { " already" } else { "" };
    let state = match (change.now, change.was) {
        (Some(true), _) => format!("{}{already}", paint(style::GOOD, "on")),
        (Some(false), _) => format!("off{already}"),
        (None, Some(_)) => "follows its source again".to_owned(),
        (None, None) => "was neither enabled nor disabled".to_owned(),
    };
    let address = text::one_line(&change.address);
    let all = if address.ends_with(":*") { " with all its skills" } else { "" };
    format!("{}{all}  {state}\n", paint(style::NAME, address.trim_end_matches(":*")))
}
