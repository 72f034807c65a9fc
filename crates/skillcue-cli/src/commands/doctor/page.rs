//! The page for people: at most 80 columns, but for paths.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use skillcue::Diagnostic;
use skillcue::format::Severity;

use skillcue_clients::listing::{ListUnit, SimulatedList};

use super::clients::OwnList;
use super::{CheckedServer, Checkup, RootCheck};
use crate::clients::PartState;
use crate::commands::connect::FileReport;
use crate::commands::status;
use crate::context::Context;
use crate::terminal::{paint, style};
use crate::text;

const MAX_COLUMNS: usize = 80;
/// Most things of one kind that are shown without -v.
const MAX_SHOWN: usize = 5;
/// Most findings of one code that are shown without -v.
const MAX_PER_CODE: usize = 3;

pub(super) fn page(checkup: &Checkup, context: &Context, strict: bool) -> String {
    let page = CheckupPage { checkup, context };
    let parts = [
        page.head(),
        page.config(),
        page.roots(),
        page.skills(),
        page.policy(),
        page.shadowed(),
        page.copies(),
        page.installed(),
        page.connections(),
        page.clients(),
        page.servers(),
        page.machine(),
        page.findings(),
        page.verdict(strict),
    ];
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join("\n")
}

struct CheckupPage<'p> {
    checkup: &'p Checkup,
    context: &'p Context,
}

impl CheckupPage<'_> {
    fn few(&self, few: usize) -> usize {
        if self.context.verbose() { usize::MAX } else { few }
    }

    fn head(&self) -> String {
        let versions = &self.checkup.versions;
        let (os, kernel) = (text::one_line(&versions.os), text::one_line(&versions.kernel));
        format!(
            "{} {}, {os}, {kernel} {}\n",
            paint(style::NAME, "skillcue"),
            versions.skillcue,
            text::one_line(&versions.machine)
        )
    }

    fn config(&self) -> String {
        let config = &self.checkup.config;
        let mut out = heading("Configuration");
        for file in &config.read {
            let _ = writeln!(out, "  {}", self.context.short_path(file));
        }
        if config.read.is_empty() {
            out.push_str("  no skillcue.toml\n");
        }
        if config.untrusted > 0 {
            let what = text::count(config.untrusted, "setting");
            let _ = writeln!(out, "  {} {what} of the project", paint(style::BAD, "not allowed:"));
        }
        out
    }

    fn policy(&self) -> String {
        self.checkup.policy.text(self.context.verbose())
    }

    fn roots(&self) -> String {
        let mut out = heading("Roots");
        let is_shown = |root: &&RootCheck| root.exists || root.required || self.context.verbose();
        let shown: Vec<&RootCheck> = self.checkup.roots.iter().filter(is_shown).collect();
        for root in &shown {
            let source = match &root.plugin {
                Some(plugin) => format!("plugin {}", text::one_line(plugin)),
                None => root.source.to_string(),
            };
            let _ = writeln!(out, "  {}  {}", paint(style::SOURCE, source), self.context.short_path(&root.path));
            let state = if root.exists {
                let mut parts = vec![text::count(root.skills, "skill")];
                if root.invalid > 0 {
                    parts.push(paint(style::BAD, format!("{} not usable", text::thousands(root.invalid))));
                }
                if root.disabled > 0 {
                    parts.push(format!("{} disabled", text::thousands(root.disabled)));
                }
                parts.push(paint(style::DIM, took(root.microseconds)));
                parts.join(", ")
            } else if root.required {
                paint(style::BAD, "is not there")
            } else {
                paint(style::DIM, "is not there")
            };
            let _ = writeln!(out, "    {state}");
        }
        if self.checkup.roots.is_empty() {
            out.push_str("  none\n");
        }
        let missing = self.checkup.roots.len() - shown.len();
        if missing > 0 {
            let line = match missing {
                1 => "1 usual place is not there".to_owned(),
                _ => format!("{} usual places are not there", text::thousands(missing)),
            };
            let _ = writeln!(out, "  {}", paint(style::DIM, line));
        }
        out
    }

    fn skills(&self) -> String {
        let counts = &self.checkup.skills;
        let mut line = format!("{}, {} enabled", text::thousands(counts.total), text::thousands(counts.enabled));
        let others = [
            (counts.hidden, "only for people"),
            (counts.disabled, "disabled"),
            (counts.unavailable, "without a program that they require"),
            (counts.invalid, "not usable"),
        ];
        for (number, what) in others.into_iter().filter(|(number, _)| *number > 0) {
            let _ = write!(line, ", {} {what}", text::thousands(number));
        }
        format!("{}{}", heading("Skills"), wrapped(2, &line))
    }

    fn installed(&self) -> String {
        if self.checkup.registry.is_empty() {
            return String::new();
        }
        let mut out = heading("Installed");
        for registry in &self.checkup.registry {
            let source = paint(style::SOURCE, registry.source);
            let _ = writeln!(out, "  {source}  {}", self.context.short_path(&registry.path));
            let state = match registry.drift.len() {
                0 if registry.trouble > 0 => paint(style::BAD, "the registry cannot be believed, see below"),
                0 => paint(style::GOOD, "unchanged since"),
                number => paint(style::WARNING, format!("{number} changed since")),
            };
            let trash = match registry.trash {
                0 => String::new(),
                number => format!(", {number} in the trash"),
            };
            let _ = match (registry.things, registry.trouble) {
                (0, 0) => writeln!(out, "    nothing installed{trash}"),
                _ => writeln!(out, "    {} installed, {state}{trash}", text::thousands(registry.things)),
            };
        }
        out
    }

    fn shadowed(&self) -> String {
        let hidden = &self.checkup.shadowed;
        if hidden.is_empty() {
            return String::new();
        }
        let mut out = heading("Hidden by another of their name");
        for skill in hidden.iter().take(self.few(MAX_SHOWN)) {
            let _ = writeln!(out, "  {}", paint(style::NAME, text::one_line(&skill.address)));
            let _ = writeln!(out, "    {}", self.context.short_path(&skill.path));
            let _ = writeln!(out, "    {} {}", paint(style::DIM, "behind"), self.context.short_path(&skill.by));
        }
        more(&mut out, hidden.len(), self.few(MAX_SHOWN));
        out
    }

    fn copies(&self) -> String {
        let copies = &self.checkup.copies;
        if copies.is_empty() {
            return String::new();
        }
        let mut out = heading("In several places");
        // Those that differ need a look, and come first.
        let (same, differ): (Vec<_>, Vec<_>) = copies.iter().partition(|copies| copies.same);
        for copy in differ.iter().chain(&same).take(self.few(MAX_SHOWN)) {
            let state = if copy.same { paint(style::DIM, "the same") } else { paint(style::WARNING, "bodies differ") };
            let _ = writeln!(out, "  {}  {state}", paint(style::NAME, text::one_line(&copy.name)));
            for place in &copy.places {
                let _ = writeln!(out, "    {}", self.context.short_path(place));
            }
        }
        more(&mut out, copies.len(), self.few(MAX_SHOWN));
        out
    }

    /// The agents that are not on this machine: what they would list.
    fn clients(&self) -> String {
        let is_here = |list: &&OwnList| {
            let here = &self.checkup.connections;
            here.iter().any(|agent| Some(agent.state.client) == list.agent)
        };
        let mut out = heading("What other agents would list of them");
        for own in self.checkup.clients.iter().filter(|list| !is_here(list)) {
            let _ = writeln!(out, "  {}  {}", paint(style::NAME, own.list.client), verdict_of(&own.list));
            out.push_str(&self.losses(&own.list, 4, false));
        }
        out
    }

    fn connections(&self) -> String {
        let connections = &self.checkup.connections;
        if connections.is_empty() {
            return String::new();
        }
        let mut out = heading("Agents on this machine");
        for agent in connections {
            let state = &agent.state;
            let part = |what: &str, part: PartState| match part {
                PartState::Unsupported => None,
                PartState::On => Some(paint(style::GOOD, format!("{what} connected"))),
                PartState::Outdated => Some(paint(style::WARNING, format!("{what} outdated"))),
                PartState::Off => Some(format!("{what} not connected")),
            };
            let parts: Vec<String> = [part("hook", state.hook), part("MCP", state.mcp)].into_iter().flatten().collect();
            let _ = writeln!(out, "  {}  {}", paint(style::NAME, state.name), parts.join(", "));
            let lists = self.checkup.clients.iter().filter(|list| list.agent == Some(state.client));
            // Where it reads none of them, the model's window makes no difference.
            for own in lists.take_while(|own| own.list.read > 0 || own.list.client == state.name) {
                let of = own.list.client.strip_prefix(state.name).unwrap_or_default();
                let _ = writeln!(out, "    its own list{of}: {}", verdict_of(&own.list));
                out.push_str(&self.losses(&own.list, 6, true));
            }
            if !agent.changes.is_empty() {
                let command = paint(style::COMMAND, format!("skillcue connect {}", state.client.as_str()));
                let file = |file: &FileReport| format!("{} ({})", self.context.short_path(&file.path), file.size());
                let files: Vec<String> = agent.changes.iter().map(file).collect();
                let _ = writeln!(out, "    {command} would change {}", files.join(", "));
            }
        }
        out
    }

    /// Returns the rule of a list, and the skills that it loses.
    fn losses(&self, list: &SimulatedList, by: usize, has_names: bool) -> String {
        let mut out = String::new();
        let kinds = [
            ("not in a folder that it reads", &list.unread),
            ("shortened", &list.shortened),
            ("only the name", &list.name_only),
            ("left out", &list.omitted),
        ];
        for (what, names) in kinds.into_iter().filter(|(_, names)| !names.is_empty()) {
            let of_names =
                if has_names || self.context.verbose() { format!(": {}", self.names(names)) } else { String::new() };
            out.push_str(&wrapped(by, &format!("{} {what}{of_names}", text::thousands(names.len()))));
        }
        let measured = list.measured.as_ref().map(|version| format!(" (measured: {version})")).unwrap_or_default();
        let rule = wrapped(by, &format!("{}{measured}", list.rule));
        for line in rule.lines() {
            let _ = writeln!(out, "{}", paint(style::DIM, line));
        }
        out
    }

    fn names(&self, names: &[String]) -> String {
        let few = self.few(MAX_SHOWN);
        let mut shown = names.iter().take(few).map(|name| text::one_line(name)).collect::<Vec<_>>().join(", ");
        if names.len() > few {
            let _ = write!(shown, " and {} more", text::thousands(names.len() - few));
        }
        shown
    }

    fn servers(&self) -> String {
        let servers = &self.checkup.servers;
        let mut out = heading("MCP servers");
        for server in servers {
            let _ = writeln!(
                out,
                "  {}  {}, {}",
                paint(style::SOURCE, text::one_line(&server.name)),
                text::count(server.skills, "skill"),
                state(server)
            );
        }
        if servers.is_empty() {
            out.push_str("  none\n");
        }
        out
    }

    fn machine(&self) -> String {
        let checkup = self.checkup;
        let mut out = heading("Sandbox");
        match &checkup.sandbox {
            Some(support) => {
                for line in status::described(support).lines() {
                    // What is missing has its own lines, already set in.
                    out.push_str(&wrapped(2, line.trim_start()));
                }
            }
            None => out.push_str("  cannot be found out\n"),
        }
        let _ = write!(out, "\n{}", heading("Programs"));
        let (there, missing): (Vec<_>, Vec<_>) = checkup.programs.iter().partition(|program| program.path.is_some());
        let list = |programs: &[&super::FoundProgram]| programs.iter().map(|program| program.name).collect::<Vec<_>>();
        let mut line = list(&there).join(", ");
        if !missing.is_empty() {
            let _ =
                write!(line, "{}not found: {}", if there.is_empty() { "" } else { "; " }, list(&missing).join(", "));
        }
        out.push_str(&wrapped(2, &line));
        let _ = write!(out, "\n{}", heading("Kept"));
        for kept in &checkup.kept {
            let size = format!("{} in {}", text::bytes(kept.bytes), paint(style::DIM, text::count(kept.files, "file")));
            let _ = writeln!(out, "  {}  {size}, {}", kept.what, self.context.short_path(&kept.path));
        }
        let records = &checkup.records;
        let kinds = records.allowed.iter();
        let counted: Vec<String> = kinds.map(|(kind, count)| text::count(*count, &kind.replace('_', " "))).collect();
        let counted = if counted.is_empty() { "nothing".to_owned() } else { counted.join(", ") };
        let _ = writeln!(out, "  allowed: {counted}");
        out
    }

    fn findings(&self) -> String {
        let found = &self.checkup.diagnostics;
        if found.is_empty() {
            return String::new();
        }
        let mut out = heading("Findings");
        let mut by_code: BTreeMap<(Severity, &str), Vec<&Diagnostic>> = BTreeMap::new();
        for finding in found {
            by_code.entry((finding.severity, finding.code.as_str())).or_default().push(finding);
        }
        for ((severity, code), findings) in by_code {
            let style = match severity {
                Severity::Error => style::BAD,
                Severity::Warning => style::WARNING,
                Severity::Info => style::DIM,
            };
            let head = paint(style, format!("{}[{code}]", severity.as_str()));
            let _ = writeln!(out, "  {head}  {}", text::thousands(findings.len()));
            // Suggestions are counted; -v shows them.
            let few = if severity == Severity::Info { self.few(0) } else { self.few(MAX_PER_CODE) };
            for finding in findings.iter().take(few) {
                if let Some(path) = &finding.path {
                    let place = match (finding.line(), finding.column()) {
                        (Some(line), Some(column)) => format!(":{line}:{column}"),
                        _ => String::new(),
                    };
                    let _ = writeln!(out, "    {}{place}", self.context.short_path(path));
                }
                out.push_str(&wrapped(6, &text::one_line(&finding.message)));
                if let Some(help) = &finding.help {
                    out.push_str(&wrapped(6, &format!("help: {}", text::one_line(help))));
                }
            }
            if few > 0 {
                more(&mut out, findings.len(), few);
            }
        }
        out
    }

    fn verdict(&self, strict: bool) -> String {
        let count = |severity| self.checkup.diagnostics.iter().filter(|found| found.severity == severity).count();
        let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
        let tally = format!("{}, {}", text::count(errors, "error"), text::count(warnings, "warning"));
        match (errors, warnings) {
            (0, 0) => format!("{} nothing is wrong\n", paint(style::GOOD, "✓")),
            (0, _) if !strict => format!("{} {tally}\n", paint(style::GOOD, "✓")),
            _ => format!("{} {tally}\n", paint(style::BAD, "✗")),
        }
    }
}

fn heading(words: &str) -> String {
    format!("{}\n", paint(style::NAME, words))
}

fn more(out: &mut String, all: usize, few: usize) {
    if all > few {
        let _ =
            writeln!(out, "  {}", paint(style::DIM, format!("and {} more; -v shows them", text::thousands(all - few))));
    }
}

/// Returns a text, indented, in as many lines as it takes.
fn wrapped(by: usize, line: &str) -> String {
    let set_in = |line: String| format!("{}{line}\n", " ".repeat(by));
    text::wrap(line, MAX_COLUMNS - by).into_iter().map(set_in).collect()
}

fn took(microseconds: u128) -> String {
    match microseconds {
        0..1_000 => "under 1 ms".to_owned(),
        _ => format!("{} ms", text::thousands(microseconds / 1_000)),
    }
}

/// Returns how much of the skills an agent's list shows: `all 7 whole, 678 of 2,000 characters`.
fn verdict_of(list: &SimulatedList) -> String {
    let all = text::thousands(list.read + list.unread.len());
    if list.read == 0 && list.unread.is_empty() {
        return "nothing to list".to_owned();
    }
    if list.read == 0 {
        return paint(style::WARNING, format!("none of {all}"));
    }
    let unit = match list.unit {
        ListUnit::Characters => "characters",
        ListUnit::Tokens => "tokens",
        ListUnit::Bytes => "bytes",
    };
    let cost = match list.budget {
        Some(budget) => format!("{} of {} {unit}", text::thousands(list.needed), text::thousands(budget)),
        None => format!("{} {unit}", text::thousands(list.needed)),
    };
    let listed = list.read - list.omitted.len();
    let is_all = listed == list.read && list.unread.is_empty();
    let read = if is_all { format!("all {all}") } else { format!("{} of {all}", text::thousands(listed)) };
    let is_whole = list.shortened.is_empty() && list.name_only.is_empty();
    let verdict = match (is_whole, is_all) {
        (true, true) => paint(style::GOOD, format!("{read} whole")),
        (true, false) => paint(style::WARNING, format!("{read}, whole")),
        (false, _) => paint(style::WARNING, format!("{read}, not whole")),
    };
    format!("{verdict}; {cost}")
}

fn state(server: &CheckedServer) -> String {
    match &server.failure {
        Some(why) => paint(style::BAD, format!("cannot be asked: {}", text::one_line(why))),
        None if !server.asked => "never asked".to_owned(),
        None if server.stale => "listed a while ago".to_owned(),
        None => paint(style::GOOD, "fresh"),
    }
}
