//! The options of a context, for other contexts and for other command lines.

use std::path::Path;

use super::Context;
use crate::cli::Global;
use crate::terminal::Terminal;

/// The options of a context, for contexts on other threads.
#[derive(Debug)]
pub(crate) struct ContextTemplate {
    terminal: Terminal,
    global: Global,
}

impl ContextTemplate {
    /// Makes a context, which looks for skills anew.
    pub(crate) fn context(&self) -> Context {
        Context::new(self.terminal.muted(), self.global.clone())
    }
}

impl Context {
    /// Returns what makes contexts like this one on other threads, each with a host of its own that prints nothing.
    pub(crate) fn template(&self) -> ContextTemplate {
        ContextTemplate { terminal: self.terminal.muted(), global: self.global.clone() }
    }

    /// Returns the global options as words of a command line, wherever they were given.
    pub(crate) fn global_words(&self, shown: &dyn Fn(&Path) -> String) -> Vec<String> {
        let mut words = Vec::new();
        for dir in &self.global.skills_dir {
            words.extend(["--skills-dir".to_owned(), shown(dir)]);
        }
        if let Some(file) = &self.global.config {
            words.extend(["--config".to_owned(), shown(file)]);
        }
        for (is_set, word) in [(self.global.isolated, "--isolated"), (self.global.no_cache, "--no-cache")] {
            if is_set {
                words.push(word.to_owned());
            }
        }
        words
    }
}
