//! `skillcue update`: what would change, and then the change.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::time::SystemTime;

use serde_json::json;
use skillcue::Diagnostic;
use skillcue::catalog::OrgPolicy;
use skillcue_registry::{
    FileChangeKind, InstallOrigin, InstalledItem, PermissionChange, Registry, RegistryError, StagedItem, UpdateOptions,
    UpdatePlan,
};

use super::install::{Fetcher, short};
use crate::context::Context;
use crate::error::CliError;
use crate::registries::{RegistryArgs, finding_lines, registry_of};
use crate::report::Printout;
use crate::terminal::{paint, style};
use crate::{Outcome, text};

/// Most bytes of a file's differences that are shown.
const MAX_DIFF: u64 = 64 * 1024;

const AFTER: &str = "\
Examples:
  skillcue update              what would change of everything; asks before it does
  skillcue update pdf --diff   with the lines of its files
  skillcue update --yes        does not ask
  skillcue update --check      only shows; exit code 1 if there is something to update

What was edited here is not overwritten unless you say --overwrite-edits, and then goes to the trash. A commit
that was asked for at install is where a skill stays: install another to move it.
With --json it prints {applied, updates: [{name, from, to, front_matter, permissions, files, findings, edits}],
failed: [{name, reason}]}.";

#[derive(Debug, clap::Args)]
#[command(after_help = crate::cli::footer(AFTER))]
pub(crate) struct Args {
    /// Installed skills and plugins; all without any
    names: Vec<String>,
    /// Only show what would change
    #[arg(long)]
    check: bool,
    /// Do not ask
    #[arg(long, short, conflicts_with = "check")]
    yes: bool,
    /// Show the changed lines
    #[arg(long)]
    diff: bool,
    /// Update in spite of findings of high severity
    #[arg(long)]
    allow_findings: bool,
    /// Overwrite what was edited here; it goes to the trash
    #[arg(long)]
    overwrite_edits: bool,
    #[command(flatten)]
    registry: RegistryArgs,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Outcome, CliError> {
    let registry = registry_of(context.registries()?, args.registry)?;
    let (plans, mut failed) = plan(args, registry, context)?;
    let is_nothing_installed = plans.is_empty() && failed.is_empty();
    // Where no file changes, only the commit moves on, which needs no question.
    let (same, mut news): (Vec<UpdatePlan>, Vec<UpdatePlan>) =
        plans.into_iter().partition(|plan| plan.is_empty() && (!args.overwrite_edits || plan.edits.is_empty()));
    let updates = json!(news);
    if !context.json() {
        let mut out = String::new();
        for plan in &news {
            describe(&mut out, plan, args.diff);
        }
        context.terminal.print(&out)?;
        context.terminal.flush()?;
    }
    // One that must not be updated holds back none of the others.
    let policy = context.host()?.policy()?;
    news.retain(|plan| match held_back(plan, args, policy) {
        Some(why) => {
            failed.push((plan.name.clone(), why));
            false
        }
        None => true,
    });
    for (name, reason) in &failed {
        context.terminal.warn(
            "not_updated",
            &format!("{name} cannot be updated: {}", reason.message()),
            reason.hint().unwrap_or_default(),
        );
    }
    let count = news.len();
    let apply = count > 0 && !args.check && (args.yes || context.can_ask());
    if apply {
        if !args.yes {
            context.terminal.ask("Update as shown?")?;
        }
        let mut options = UpdateOptions::at(SystemTime::now());
        options.allow_findings = args.allow_findings;
        options.overwrite_edits = args.overwrite_edits;
        news.extend(same);
        registry.apply_updates(news, &options)?;
    }
    let left = count > 0 && !apply;
    let reasons: Vec<_> = failed.iter().map(|(name, why)| json!({"name": name, "reason": why.message()})).collect();
    let document = json!({"applied": apply, "updates": updates, "failed": reasons});
    context.report(Outcome::of(!left && failed.is_empty()), &document, || {
        let project = if args.registry.project { " --project" } else { "" };
        Printout::default().remarks(if apply {
            let count = text::count(count, "skill");
            Some(format!("{count} updated; `skillcue remove{project} --undo` brings the old back"))
        } else if left {
            Some(format!("nothing was changed; `skillcue update{project} --yes` does it"))
        } else if is_nothing_installed {
            Some("nothing is installed".to_owned())
        } else {
            failed.is_empty().then(|| "everything is up to date".to_owned())
        })
    })
}

/// Returns why an update is held back, unless an option allows it.
fn held_back(plan: &UpdatePlan, args: &Args, policy: &OrgPolicy) -> Option<CliError> {
    if let Some(refusal) = plan.policy_refusal(policy, args.registry.project) {
        return Some(CliError::failure("policy", format!("the new version is {refusal}")).help(refusal.help));
    }
    let high = plan.findings.iter().any(Diagnostic::is_error);
    if high && !args.allow_findings {
        return Some(
            CliError::failure("findings", "the audit has found what may be an attack")
                .help("read the findings; --allow-findings updates it all the same"),
        );
    }
    (!plan.edits.is_empty() && !args.overwrite_edits).then(|| {
        CliError::failure("edited", "it has been edited since it was installed")
            .help("keep your edits elsewhere; --overwrite-edits puts them into the trash")
    })
}

/// Checks whether a registry may be followed to an origin: a project's comes with a checkout, and has no business with
/// files elsewhere on this machine.
pub(crate) fn check_may_follow(registry: &Registry, origin: &InstallOrigin) -> Result<(), CliError> {
    let (InstallOrigin::Directory { path } | InstallOrigin::Archive { path }) = origin else { return Ok(()) };
    let place = registry.location();
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    if !place.is_project() || real(path).starts_with(real(place.dir())) {
        return Ok(());
    }
    Err(CliError::failure("untrusted_path", format!("{} is outside of the project", path.display()))
        .help("if you trust it, install it from there yourself, with --replace"))
}

type FailedUpdates = Vec<(String, CliError)>;

/// Fetches every origin once, and compares. What cannot be fetched stops nothing else.
fn plan(args: &Args, registry: &Registry, context: &Context) -> Result<(Vec<UpdatePlan>, FailedUpdates), CliError> {
    let mut installed = registry.state().installed;
    for name in &args.names {
        if !installed.contains_key(name) {
            return Err(RegistryError::NotInstalled { name: name.clone() }.into());
        }
    }
    installed.retain(|name, _| args.names.is_empty() || args.names.contains(name));
    let mut by_origin: BTreeMap<String, Vec<(String, InstalledItem)>> = BTreeMap::new();
    for (name, entry) in installed {
        by_origin.entry(entry.origin.clone()).or_default().push((name, entry));
    }
    let fetcher = Fetcher::new(context, args.registry)?;
    let (mut plans, mut failed) = (Vec::new(), Vec::new());
    for (origin, entries) in by_origin {
        let staging = registry.begin()?;
        let fetched = InstallOrigin::parse(&origin, registry.location().dir())
            .map_err(CliError::from)
            .and_then(|origin| check_may_follow(registry, &origin).map(|()| origin))
            .and_then(|origin| fetcher.fetch(&origin, staging.dir()));
        let fetched = match fetched {
            Ok(fetched) => fetched,
            Err(error) => {
                failed.extend(entries.into_iter().map(|(name, _)| {
                    let again = CliError::failure("fetch", error.message()).help(error.hint().unwrap_or_default());
                    (name, again)
                }));
                continue;
            }
        };
        for (name, entry) in entries {
            let chosen = StagedItem::new(entry.kind, &entry.at, origin.clone()).at_commit(fetched.commit.clone());
            match registry.plan_update(&name, &staging, &chosen) {
                Ok(plan) => plans.push(plan),
                Err(error) => failed.push((name, error.into())),
            }
        }
    }
    plans.sort_by(|a, b| a.name.cmp(&b.name));
    Ok((plans, failed))
}

/// Adds the permissions that a new version's programs ask for and the version's before do not, and the reverse; one
/// line each.
pub(crate) fn permissions(out: &mut String, name: &str, changes: &[PermissionChange]) {
    for change in changes {
        let word = if change.widened { paint(style::BAD, "asks for more") } else { "no longer asks for".to_owned() };
        let skill = match change.skill.as_str() {
            skill if skill == name => String::new(),
            skill => format!(" ({})", text::one_line(skill)),
        };
        let _ = writeln!(out, "  {word}: {}{skill}", text::one_line(&change.permission));
    }
}

/// Adds one plan for people.
fn describe(out: &mut String, plan: &UpdatePlan, diff: bool) {
    let edition = |version: &Option<String>, commit: &Option<String>| {
        let commit = commit.as_deref().map(short);
        let said = [version.as_deref().map(text::one_line), commit].into_iter().flatten().collect::<Vec<_>>();
        said.join(" ")
    };
    let (from, to) = (edition(&plan.from.version, &plan.from.commit), edition(&plan.to.version, &plan.to.commit));
    let none = |edition: &str| if edition.is_empty() { "(no version)".to_owned() } else { edition.to_owned() };
    let arrow = match (from == to, to.is_empty()) {
        (true, true) => String::new(),
        (true, false) => format!("  {to}"),
        (false, _) => format!("  {} → {}", none(&from), none(&to)),
    };
    let _ = writeln!(out, "{}{arrow}", paint(style::NAME, &plan.name));
    for field in &plan.front_matter {
        let shown = |text: &Option<String>| {
            text.as_deref()
                .map_or_else(|| "(none)".to_owned(), |text| text::cut(&text::one_line(text), 60).into_owned())
        };
        let skill = if field.skill.is_empty() || field.skill == plan.name {
            String::new()
        } else {
            format!("{}: ", text::one_line(&field.skill))
        };
        let _ =
            writeln!(out, "  {skill}{}: {} → {}", text::one_line(&field.field), shown(&field.old), shown(&field.new));
    }
    permissions(out, &plan.name, &plan.permissions);
    for file in &plan.files {
        let (sign, style) = match file.change {
            FileChangeKind::Added => ("+", style::GOOD),
            FileChangeKind::Removed => ("-", style::BAD),
            _ => ("~", style::WARNING),
        };
        let what = match file.change {
            FileChangeKind::Mode => "  whether it may be executed",
            FileChangeKind::Link => "  a link, or no longer one",
            _ => "",
        };
        let size = match (file.old_size, file.new_size) {
            (Some(old), Some(new)) if old != new => format!("{} → {}", text::bytes(old), text::bytes(new)),
            (_, Some(size)) | (Some(size), None) => text::bytes(size),
            (None, None) => String::new(),
        };
        let detail = paint(style::DIM, format!("{size}{what}"));
        let _ = writeln!(out, "  {} {}  {detail}", paint(style, sign), text::one_line(&file.path));
        if let Some(lines) = diff.then(|| plan.diff(&file.path, MAX_DIFF)).flatten() {
            for line in lines.lines() {
                let _ = writeln!(out, "    {}", text::visible(line));
            }
        }
    }
    for finding in &plan.findings {
        let _ = writeln!(out, "  {}", finding_lines(&plan.name, finding).replace('\n', "\n  "));
    }
    for edit in &plan.edits {
        let _ = writeln!(out, "  {} {}", paint(style::WARNING, "edited here:"), text::one_line(&edit.path));
    }
}
