//! The result of a command: one document for programs, or a printout for people. The only place that decides which.

use serde::Serialize;

use crate::Outcome;
use crate::context::Context;
use crate::error::CliError;
use crate::terminal::{paint, style};

/// A result as people read it: text on stdout, then remarks on stderr.
#[derive(Debug, Default)]
pub(crate) struct Printout {
    text: PrintoutText,
    remarks: Vec<String>,
}

#[derive(Debug)]
enum PrintoutText {
    /// Coloured where the stream allows it.
    Styled(String),
    /// Every byte of it, but on a terminal nothing that commands it.
    ForModel(String),
    /// As it is.
    Bytes(Vec<u8>),
}

impl Default for PrintoutText {
    fn default() -> PrintoutText {
        PrintoutText::Styled(String::new())
    }
}

impl From<String> for Printout {
    fn from(text: String) -> Printout {
        Printout { text: PrintoutText::Styled(text), remarks: Vec::new() }
    }
}

impl Printout {
    /// Makes a printout of a text that a model reads.
    pub(crate) fn for_model(text: impl Into<String>) -> Printout {
        Printout { text: PrintoutText::ForModel(text.into()), remarks: Vec::new() }
    }

    /// Makes a printout of bytes that are written as they are.
    pub(crate) fn bytes(bytes: impl Into<Vec<u8>>) -> Printout {
        Printout { text: PrintoutText::Bytes(bytes.into()), remarks: Vec::new() }
    }

    /// Makes a printout without a text.
    pub(crate) fn of_remark(remark: impl Into<String>) -> Printout {
        Printout::default().remark(remark)
    }

    /// Adds a remark, a line of its own.
    pub(crate) fn remark(self, remark: impl Into<String>) -> Printout {
        self.remarks([remark.into()])
    }

    /// Adds a remark in a quiet colour: a number of things, say.
    pub(crate) fn dim(self, remark: impl std::fmt::Display) -> Printout {
        self.remark(paint(style::DIM, remark))
    }

    /// Adds remarks: those of a list, or of an option.
    pub(crate) fn remarks(mut self, remarks: impl IntoIterator<Item = String>) -> Printout {
        self.remarks.extend(remarks);
        self
    }
}

impl Context {
    /// Prints the result of a command and returns its outcome: the document if `--json` asks for it, else the printout.
    pub(crate) fn report<P: Into<Printout>>(
        &self,
        outcome: Outcome,
        document: &impl Serialize,
        printout: impl FnOnce() -> P,
    ) -> Result<Outcome, CliError> {
        let printed = if self.json() { self.print_json(document) } else { self.print(printout().into()) };
        outcome.after_printing(printed)
    }

    fn print(&self, printout: Printout) -> Result<(), CliError> {
        match printout.text {
            PrintoutText::Styled(text) => self.terminal.print(&text)?,
            PrintoutText::ForModel(text) => self.terminal.print_for_model(&text)?,
            PrintoutText::Bytes(bytes) => self.terminal.print_bytes(&bytes)?,
        }
        if !printout.remarks.is_empty() {
            // What it is about stands above a remark.
            self.terminal.flush()?;
            printout.remarks.iter().for_each(|remark| self.terminal.say(remark));
        }
        Ok(())
    }
}
