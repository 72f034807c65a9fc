//! The organisation's policy as `status` and `doctor` describe it.

use std::fmt::Write as _;

use serde::Serialize;
use skillcue::Catalog;
use skillcue::catalog::{PolicyRefusal, PolicySummary};
use skillcue::format::Code;

use crate::terminal::{paint, style};
use crate::text;

/// Most refused skills that are shown without -v.
const MAX_SHOWN: usize = 5;

/// The policies that apply, and what they do to the skills of a catalog.
#[derive(Debug, Default, Serialize)]
pub(crate) struct PolicySection {
    files: Vec<PolicySummary>,
    refused: Vec<RefusedSkill>,
    /// Required skills that are missing, a sentence each.
    missing: Vec<String>,
}

/// A skill that a policy closes.
#[derive(Debug, Serialize)]
struct RefusedSkill {
    name: String,
    #[serde(flatten)]
    refusal: PolicyRefusal,
}

impl PolicySection {
    pub(crate) fn of(catalog: &Catalog) -> PolicySection {
        let Some(policy) = catalog.policy() else { return PolicySection::default() };
        let refused = catalog
            .all()
            .iter()
            .filter_map(|skill| Some(RefusedSkill { name: skill.id(), refusal: skill.refusal()?.clone() }));
        let missing = catalog.diagnostics().iter().filter(|found| found.code == Code::PolicyMissing);
        PolicySection {
            files: policy.summaries(),
            refused: refused.collect(),
            missing: missing.map(|found| found.message.to_string()).collect(),
        }
    }

    /// Returns whether every policy can be used, and every required skill is there.
    pub(crate) fn is_met(&self) -> bool {
        self.missing.is_empty() && self.files.iter().all(|file| file.broken.is_none())
    }

    /// Returns the lines for people; none without a policy.
    pub(crate) fn text(&self, is_verbose: bool) -> String {
        if self.files.is_empty() {
            return String::new();
        }
        let mut out = format!("{}\n", paint(style::NAME, "Policy"));
        for file in &self.files {
            let name = file.name.as_deref().map_or(String::new(), |name| format!("{}  ", text::one_line(name)));
            let _ = writeln!(out, "  {name}{}", paint(style::DIM, text::one_line(&file.origin)));
            if let Some(why) = &file.broken {
                let _ = writeln!(
                    out,
                    "    {}: {}",
                    paint(style::BAD, "cannot be used, so everything is closed"),
                    text::one_line(why)
                );
            }
            for rule in &file.rules {
                let _ = writeln!(out, "    {}", text::one_line(rule));
            }
        }
        for missing in &self.missing {
            let _ = writeln!(out, "  {} {}", paint(style::BAD, "missing:"), text::one_line(missing));
        }
        let shown = if is_verbose { self.refused.len() } else { self.refused.len().min(MAX_SHOWN) };
        for skill in &self.refused[..shown] {
            let why = format!("{} ({})", skill.refusal.reason, skill.refusal.rule);
            let _ = writeln!(
                out,
                "  {} {}: {}",
                paint(style::WARNING, "closed:"),
                text::one_line(&skill.name),
                text::one_line(&why)
            );
        }
        if self.refused.len() > shown {
            let more = text::count(self.refused.len() - shown, "more skill");
            let _ = writeln!(out, "  {}", paint(style::DIM, format!("and {more}; -v shows all")));
        }
        out
    }
}
