//! Consent to a project's `skillcue.toml`, which may then add servers, catalogs, views and directories outside of the
//! project, set limits, and configure the agent.

use std::fmt::Write as _;
use std::path::Path;

use skillcue::catalog::without_userinfo;
use skillcue::config::{AgentSection, CatalogTrust, Distrusted, JudgeSection, RunSection, UsageSection, ViewSection};
use skillcue_host::project_wants;

use super::ConsentRequest;
use crate::context::Context;
use crate::error::CliError;
use crate::terminal::{paint, style};
use crate::text;

/// Returns what the project's file wants.
pub(super) fn wanted(project: &Path, context: &Context) -> Result<ConsentRequest, CliError> {
    let Some((question, wants)) = project_wants(project)? else {
        return Err(CliError::failure("no_config", format!("{} has no skillcue.toml", project.display()))
            .help("there is nothing to allow; to allow a skill, name it"));
    };
    Ok(ConsentRequest {
        // By its absolute path: which one is allowed must not depend on the current directory.
        name: project.to_string_lossy().into_owned(),
        described: described(project, &wants, context),
        prompt: "Let this project's skillcue.toml have it, exactly as it is?",
        questions: vec![question],
    })
}

/// Returns the settings of a `[run]` section, as they are written there.
fn limits(run: &RunSection) -> Vec<String> {
    let numbers = [
        ("timeout_s", run.timeout_s),
        ("output_bytes", run.output_bytes.map(|n| n as u64)),
        ("arguments", run.arguments.map(|n| n as u64)),
        ("argument_bytes", run.argument_bytes.map(|n| n as u64)),
        ("memory_mb", run.memory_mb),
        ("processes", run.processes),
        ("concurrent", run.concurrent.map(|n| n as u64)),
    ];
    let mut set: Vec<String> =
        numbers.into_iter().filter_map(|(name, value)| value.map(|value| format!("{name} = {value}"))).collect();
    set.extend(run.allow_unsandboxed.map(|yes| format!("allow_unsandboxed = {yes}")));
    set
}

/// Returns the settings of an `[agent]` section, as they are written there; a key is not shown.
fn agent(agent: &AgentSection) -> Vec<String> {
    let quoted = |text: &String| format!("{text:?}");
    let fields = [
        ("model", agent.model.as_ref().map(quoted)),
        ("api", agent.api.map(|api| format!("{:?}", format!("{api:?}").to_lowercase()))),
        ("base_url", agent.base_url.as_ref().map(quoted)),
        ("api_key", agent.api_key.as_ref().map(|_| "…".to_owned())),
        ("api_key_env", agent.api_key_env.as_ref().map(quoted)),
        ("window", agent.window.map(|n| n.to_string())),
        ("max_tokens", agent.max_tokens.map(|n| n.to_string())),
        ("rounds", agent.rounds.map(|n| n.to_string())),
        ("hints", agent.hints.map(|on| on.to_string())),
        ("memory", agent.memory.map(|on| on.to_string())),
        ("allow", agent.allow.as_ref().map(|all| format!("{all:?}").to_lowercase())),
        ("attempts", agent.attempts.map(|n| n.to_string())),
        ("backoff_ms", agent.backoff_ms.map(|n| n.to_string())),
        ("idle_s", agent.idle_s.map(|n| n.to_string())),
        ("system", agent.system.as_ref().map(quoted)),
    ];
    fields.into_iter().filter_map(|(name, value)| value.map(|value| format!("{name} = {value}"))).collect()
}

/// Returns the settings of a judge, as they are written below `[select]`.
fn judge(judge: &JudgeSection) -> Vec<String> {
    let fields = [
        ("judge", judge.model.as_ref().map(|model| format!("{model:?}"))),
        ("judge_base_url", judge.base_url.as_ref().map(|url| format!("{url:?}"))),
        ("judge_deadline_ms", judge.deadline_ms.map(|ms| ms.to_string())),
    ];
    fields.into_iter().filter_map(|(name, value)| value.map(|value| format!("{name} = {value}"))).collect()
}

/// Returns the settings of a `[usage]` section, as they are written there.
fn usage(usage: &UsageSection) -> Vec<String> {
    let fields = [
        ("record", usage.record.map(|on| on.to_string())),
        ("text", usage.text.map(|on| on.to_string())),
        ("feedback", usage.feedback.map(|on| on.to_string())),
        ("days", usage.days.map(|days| days.to_string())),
        ("megabytes", usage.megabytes.map(|most| most.to_string())),
    ];
    fields.into_iter().filter_map(|(name, value)| value.map(|value| format!("{name} = {value}"))).collect()
}

/// Returns the globs of a view, as they are written there.
fn globs(view: &ViewSection) -> String {
    let fields = [
        ("skills", &view.skills),
        ("sources", &view.sources),
        ("plugins", &view.plugins),
        ("exclude_skills", &view.exclude_skills),
        ("exclude_sources", &view.exclude_sources),
        ("exclude_plugins", &view.exclude_plugins),
    ];
    let words = fields.into_iter().filter(|(_, globs)| !globs.is_empty()).map(|(name, globs)| {
        let globs: Vec<String> = globs.iter().map(|glob| format!("{:?}", glob.as_str())).collect();
        format!("{name} = [{}]", globs.join(", "))
    });
    words.collect::<Vec<_>>().join(", ")
}

/// Describes everything that the file wants: what is started, with which variables, and what is sent where.
fn described(project: &Path, wants: &Distrusted, context: &Context) -> String {
    let mut out = format!("{} adds:\n", text::one_line(&project.join("skillcue.toml").to_string_lossy()));
    for server in &wants.servers {
        let what = server.url.clone().unwrap_or_else(|| format!("starts {}", server.command.join(" ")));
        let _ =
            writeln!(out, "  server {}  {}", paint(style::NAME, text::one_line(&server.name)), text::one_line(&what));
        if let Some(cwd) = &server.cwd {
            let _ = writeln!(out, "    in {}", context.short_path(cwd));
        }
        for (name, value) in &server.env {
            let _ = writeln!(out, "    with {}", text::one_line(&format!("{name}={value}")));
        }
        for (name, value) in &server.headers {
            let _ = writeln!(out, "    sends {}", text::one_line(&format!("{name}: {value}")));
        }
        if let Some(name) = &server.token_env {
            let _ = writeln!(out, "    sends your variable {} to it", text::one_line(name));
        }
    }
    for catalog in &wants.catalogs {
        let url = without_userinfo(catalog.url.as_deref().unwrap_or_default());
        let name = paint(style::NAME, text::one_line(&catalog.name));
        let _ = writeln!(out, "  catalog {name}  {}", text::one_line(&url));
        for key in &catalog.keys {
            let _ = writeln!(out, "    signed with {}", text::one_line(key));
        }
        let trust = match catalog.trust.unwrap_or_default() {
            CatalogTrust::Ask => "you allow each of its skills",
            CatalogTrust::Signed => "its skills load without asking",
        };
        let policy = if catalog.keys.is_empty() { "" } else { ", and a policy that it carries applies" };
        let _ = writeln!(out, "    {trust}{policy}");
        for (name, value) in &catalog.options {
            let _ = writeln!(out, "    with {}", text::one_line(&format!("{name} = {value:?}")));
        }
    }
    for (name, view) in &wants.view {
        let _ = writeln!(out, "  view {}  {}", paint(style::NAME, text::one_line(name)), text::one_line(&globs(view)));
        if let Some(name) = &view.token_env {
            let _ = writeln!(out, "    for callers with your variable {}", text::one_line(name));
        }
    }
    for dir in &wants.dirs {
        let _ = writeln!(out, "  directory {}", context.short_path(dir));
    }
    for limit in limits(&wants.run) {
        let _ = writeln!(out, "  for what runs, {limit}");
    }
    for said in agent(&wants.agent) {
        let _ = writeln!(out, "  for the agent, {}", text::one_line(&said));
    }
    for said in judge(&wants.judge) {
        let _ = writeln!(out, "  for selection, {}", text::one_line(&said));
    }
    for said in usage(&wants.usage) {
        let _ = writeln!(out, "  for the ledger of use, {said}");
    }
    for (names, to) in [(&wants.enable, "on"), (&wants.disable, "off")] {
        for name in names {
            let _ = writeln!(out, "  switches {} {to}, whatever its source", text::one_line(name));
        }
    }
    if wants.agent.base_url.is_some() {
        out.push_str("    sends what you say there, with your OPENAI_API_KEY or ANTHROPIC_API_KEY if that is set\n");
    }
    if wants.judge.model.is_some() || wants.judge.base_url.is_some() {
        out.push_str("    sends what you say, and what skills are for, to the judge\n");
    }
    if let Some(name) = &wants.agent.api_key_env {
        let _ = writeln!(out, "    sends your variable {} to the model's server", text::one_line(name));
    }
    if wants.is_empty() {
        out.push_str("  nothing that needs consent\n");
    }
    out
}
