//! The error of the assembly.

use std::borrow::Cow;
use std::fmt;

use skillcue_base::ErrorInfo;

/// The reason why a part of the assembly could not be had: a stable word, a message, and what to do.
// Boxed, because every result has room for one.
#[derive(Debug)]
pub struct HostError(Box<Inner>);

#[derive(Debug)]
struct Inner {
    code: &'static str,
    message: String,
    hint: Option<String>,
    is_usage: bool,
    excerpt: Option<Excerpt>,
}

/// A line of a configuration file, to be shown and underlined.
#[derive(Debug)]
pub struct Excerpt {
    /// The file.
    pub path: String,
    /// All of its text.
    pub text: String,
    /// The line to point at, counted from 1.
    pub line: usize,
    /// The column, in characters, counted from 1.
    pub column: usize,
    /// The number of characters that are underlined.
    pub width: usize,
}

impl HostError {
    pub(crate) fn failure(code: &'static str, message: impl Into<String>) -> HostError {
        HostError(Box::new(Inner { code, message: message.into(), hint: None, is_usage: false, excerpt: None }))
    }

    pub(crate) fn usage(code: &'static str, message: impl Into<String>) -> HostError {
        let mut error = HostError::failure(code, message);
        error.0.is_usage = true;
        error
    }

    pub(crate) fn help(mut self, hint: impl Into<String>) -> HostError {
        self.0.hint = Some(hint.into());
        self
    }

    pub(crate) fn excerpt(mut self, excerpt: Excerpt) -> HostError {
        self.0.excerpt = Some(excerpt);
        self
    }

    /// Returns what went wrong.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Returns whether an option or a variable is wrong, rather than what is on the disk.
    pub fn is_usage(&self) -> bool {
        self.0.is_usage
    }

    /// Returns the line of a configuration file that it is about.
    pub fn shown_excerpt(&self) -> Option<&Excerpt> {
        self.0.excerpt.as_ref()
    }

    /// Takes the line of a configuration file that it is about.
    pub fn take_excerpt(&mut self) -> Option<Excerpt> {
        self.0.excerpt.take()
    }
}

impl fmt::Display for HostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl std::error::Error for HostError {}

/// Each is made with its own code and hint, so there are no variants to derive it from.
impl ErrorInfo for HostError {
    fn code(&self) -> &'static str {
        self.0.code
    }

    fn hint(&self) -> Option<Cow<'_, str>> {
        self.0.hint.as_deref().map(Cow::Borrowed)
    }
}
