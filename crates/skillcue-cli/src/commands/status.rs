//! `skillcue status`: skills by source, servers, what is allowed, and what the sandbox is made of here.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use skillcue::Source;
use skillcue_exec::Support;
use skillcue_mcp::host::McpHost;
use skillcue_registry::InstallableKind;

use crate::context::Context;
use crate::error::CliError;
use crate::policy::PolicySection;
use crate::report::Printout;
use crate::terminal::{paint, style, warning};
use crate::{Outcome, text};

const AFTER: &str = "\
Examples:
  skillcue status              skills by source, MCP servers, what is allowed, the sandbox

With --json it prints {skills: {total, enabled, by_source}, installed: [{name, kind, source, origin, at, commit,
version, digest, enabled, missing, skills}], servers: [{name, identity, skills, fetched,
stale, failure}], catalogs: as `skillcue catalog status --json` prints them, allowed: as `skillcue allowed --json` prints it, sandbox: {sandboxed, layers, missing: [{layer, reason}], landlock_abi}, policy: {files: [{origin, name, rules,
broken}], refused: [{name, rule, reason, policy, help}], missing: [text]}}. The exit code is 1 if a skill that
the organisation's policy requires is missing, or the policy cannot be used.";

#[derive(Debug, clap::Args)]
#[command(after_help = crate::cli::footer(AFTER))]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args, context: &Context) -> Result<Outcome, CliError> {
    for notice in &context.host()?.settings_despite_policy()?.notices {
        context.warn(notice);
    }
    let catalog = context.skills()?.catalog();
    let policy = PolicySection::of(&catalog);
    let mut by_source: BTreeMap<&str, usize> = BTreeMap::new();
    let (mut total, mut enabled) = (0, 0);
    for skill in catalog.skills() {
        *by_source.entry(skill.source().as_str()).or_default() += 1;
        total += 1;
        enabled += usize::from(skill.enabled());
    }
    let host = context.servers()?;
    let servers = host.map(McpHost::status).unwrap_or_default();
    let (catalog_rows, catalog_text) = catalogs(context)?;
    let allowed = crate::consent::rows(context)?;
    let sandbox = context.programs()?.launcher().support();
    let installed = installed(context)?;
    let rows = servers.iter().map(|server| {
        json!({"name": server.label, "identity": server.identity, "skills": server.skills,
            "fetched": server.fetched.and_then(seconds), "stale": server.stale, "failure": server.failure})
    });
    let document = json!({
        "skills": {"total": total, "enabled": enabled, "by_source": by_source},
        "installed": installed.iter().map(|row| &row.json).collect::<Vec<_>>(),
        "catalogs": catalog_rows, "servers": rows.collect::<Vec<_>>(),
        "allowed": allowed.iter().map(|(row, current)| crate::consent::json(row, *current)).collect::<Vec<_>>(),
        "sandbox": sandbox.as_ref().ok(),
        "policy": policy,
    });
    let sources: Vec<String> =
        by_source.iter().map(|(source, count)| format!("{source} {}", text::thousands(*count))).collect();
    let counted = match total {
        0 if context.isolated()? => "none: --isolated looks only below the --skills-dir that it is given".to_owned(),
        0 => "none".to_owned(),
        _ => format!("{}, {} enabled ({})", text::thousands(total), text::thousands(enabled), sources.join(", ")),
    };
    context.report(Outcome::of(policy.is_met()), &document, || {
        let mut out = format!("{}  {counted}\n", paint(style::NAME, "Skills"));
        out.push_str(&policy.text(context.verbose()));
        out.push_str(&heading("Installed", installed.is_empty().then_some("nothing")));
        for row in &installed {
            let _ = writeln!(out, "  {}", row.text);
        }
        out.push_str(&heading("MCP servers", servers.is_empty().then_some("none")));
        for server in &servers {
            let state = match (&server.failure, server.fetched) {
                (Some(why), _) => paint(style::BAD, format!("cannot be asked: {}", text::one_line(why))),
                (None, Some(_)) if server.stale => "listed a while ago".to_owned(),
                (None, Some(_)) => paint(style::GOOD, "fresh"),
                (None, None) => "never asked".to_owned(),
            };
            let _ = writeln!(
                out,
                "  {}  {}, {state}",
                paint(style::SOURCE, &server.label),
                text::count(server.skills, "skill")
            );
            let _ = writeln!(out, "    {}", paint(style::DIM, text::one_line(&server.address)));
        }
        out.push_str(&catalog_text);
        out.push_str(&heading("Allowed", allowed.is_empty().then_some("nothing")));
        out.push_str(&crate::consent::table(&allowed, "  ", context));
        let said = match &sandbox {
            Ok(support) => described(support),
            Err(error) => paint(style::BAD, text::one_line(&error.to_string())),
        };
        let _ = writeln!(out, "{}  {said}", paint(style::NAME, "Sandbox"));
        let help = "`skillcue mcp inspect NAME` says more about a server";
        let problems = host.map(McpHost::diagnostics).unwrap_or_default();
        Printout::from(out).remarks(problems.iter().map(|found| warning("mcp_server", &found.message, help)))
    })
}

/// Returns the status of the configured catalogs, for programs and for people.
#[cfg(feature = "fleet")]
fn catalogs(context: &Context) -> Result<(Vec<Value>, String), CliError> {
    let status = context.host()?.catalogs()?.map(skillcue_fleet::Catalogs::status).unwrap_or_default();
    let title = if status.is_empty() { String::new() } else { heading("Catalogs", None) };
    Ok((super::catalog::status_rows(&status), title + &super::catalog::status_text(&status, "  ")))
}

#[cfg(not(feature = "fleet"))]
fn catalogs(_: &Context) -> Result<(Vec<Value>, String), CliError> {
    Ok(Default::default())
}

/// Returns the heading of the lines below it; or, without any, with one word for that.
fn heading(name: &str, none: Option<&str>) -> String {
    let none = none.map_or(String::new(), |none| format!("  {none}"));
    format!("{}{none}\n", paint(style::NAME, name))
}

/// An installed skill or plugin, for people and for programs.
struct InstalledRow {
    text: String,
    json: Value,
}

fn installed(context: &Context) -> Result<Vec<InstalledRow>, CliError> {
    let mut rows = Vec::new();
    let catalog = context.local_skills()?.catalog();
    let isolated = context.isolated()?;
    // The effective state, not that of one registry.
    let on_at: Vec<PathBuf> = catalog.all().iter().filter(|skill| skill.enabled()).map(|skill| skill.dir()).collect();
    for (registry, source) in context.registries()?.present() {
        let state = registry.state();
        let enabled = state.enabled_by_skill();
        for (name, entry) in &state.installed {
            let dir = registry.dir_of(entry.kind, name);
            // Nothing installed is in an isolated catalog: then it is the registry's word.
            let on = if isolated {
                let is_of = |address: &str| address == name || address.split_once(':').is_some_and(|it| it.0 == name);
                enabled.iter().filter(|(address, on)| **on && is_of(address)).count()
            } else {
                on_at.iter().filter(|at| at.starts_with(&dir)).count()
            };
            let is_missing = !dir.is_dir();
            let left_out = if isolated && on > 0 && !is_missing { ", but left out by --isolated" } else { "" };
            let said = match (entry.kind, on) {
                _ if is_missing => {
                    let option = if source == Source::Project { " --project" } else { "" };
                    paint(style::BAD, format!("files missing: `skillcue install{option}` brings them back"))
                }
                (_, 0) => "off".to_owned(),
                (InstallableKind::Plugin, on) => {
                    paint(style::GOOD, format!("{on} of {} on", text::count(entry.skills.len(), "skill")))
                }
                (_, _) => paint(style::GOOD, "on"),
            };
            let version = entry.version.as_deref().map_or(String::new(), |it| format!("  {}", text::one_line(it)));
            let commit =
                entry.commit.as_deref().map_or(String::new(), |it| format!(" at {}", super::install::short(it)));
            rows.push(InstalledRow {
                text: format!(
                    "{}  {said}{left_out}  {source}{version}\n    {}",
                    paint(style::SOURCE, text::one_line(name)),
                    paint(style::DIM, format!("{}{commit}", text::one_line(&entry.origin)))
                ),
                json: json!({"name": name, "kind": entry.kind, "source": source, "origin": entry.origin, "at": entry.at,
                    "commit": entry.commit, "version": entry.version, "digest": entry.digest, "enabled": on > 0,
                    "missing": is_missing, "skills": entry.skills}),
            });
        }
    }
    Ok(rows)
}

/// Describes the layers of the sandbox on this machine, and those that are missing.
pub(crate) fn described(support: &Support) -> String {
    let layers: Vec<String> = support.layers.iter().map(ToString::to_string).collect();
    let mut said = if support.sandboxed { layers.join(", ") } else { paint(style::BAD, "there is none") };
    for missing in &support.missing {
        let _ = write!(
            said,
            "\n  {} {}: {}",
            paint(style::WARNING, "missing"),
            missing.layer,
            text::one_line(&missing.reason)
        );
    }
    said
}

fn seconds(time: SystemTime) -> Option<u64> {
    Some(time.duration_since(UNIX_EPOCH).ok()?.as_secs())
}
