//! What is wrong with triggers.

use rayon::prelude::*;
use skillfold_catalog::Catalog;
use skillfold_format::{Code, Diagnostic, pattern};

use crate::Selector;
use crate::files::{self, Shape};
use crate::selector::written;

impl Selector {
    /// Patterns and globs that can never match, with the files they stand in, sorted. Each distinct one is compiled for
    /// it, which selecting does only when a message needs it: ask once, not for every message.
    pub fn diagnostics(&self, catalog: &Catalog) -> Vec<Diagnostic> {
        let index = &self.index;
        let patterns = index.patterns().into_par_iter().filter_map(|item| {
            let error = pattern::compile(index.text(item)).err()?;
            Some((item, format!("is no usable regular expression: {}", pattern::reason(&error))))
        });
        let globs = index.files().into_par_iter().filter_map(|item| {
            let text = index.text(item);
            let error = (Shape::of(text) == Shape::Glob).then(|| files::compile(text).err()).flatten()?;
            Some((item, format!("is no valid glob: {}", error.kind())))
        });
        let bad: Vec<(u32, String)> = patterns.chain(globs).collect();
        let mut findings = Vec::new();
        for (item, fault) in &bad {
            for &id in index.postings(*item) {
                let Some(skill) = catalog.all().get(id as usize) else { continue };
                let manifest = skill.make_manifest();
                let ordinal = index.triggers(id).iter().position(|other| other == item);
                let trigger = ordinal.and_then(|ordinal| written(skill.name(), &manifest, ordinal));
                let trigger = trigger.unwrap_or_else(|| index.text(*item));
                let message = format!("the trigger `{trigger}` {fault}");
                let help = "mend it or remove it; the skill's other triggers work";
                findings.push(Diagnostic::new(Code::InvalidPattern, message).with_help(help).at(skill.path()));
            }
        }
        findings.sort();
        findings
    }
}
