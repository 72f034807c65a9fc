//! Replaces the placeholders of a body by the arguments of a load.
//!
//! One pass from left to right. A value that was put in is never searched for placeholders, so arguments that contain
//! `$ARGUMENTS` stay what the user typed.

mod words;

use std::sync::Arc;

/// Maximum length of arguments; longer ones are refused.
pub const MAX_ARGUMENT_BYTES: usize = 1_000_000;

const ALL_ARGUMENTS: &str = "$ARGUMENTS";
const SKILL_DIR: &str = "${SKILL_DIR}";

/// The placeholders that a body may use.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Dialect {
    /// `$ARGUMENTS` and nothing else, character for character: `$ARGUMENTS[0]` is the value followed by `[0]`.
    #[default]
    Plain,
    /// Adds `$ARGUMENTS[N]`, `$N`, named arguments and `${SKILL_DIR}`.
    ///
    /// The arguments are split into words as a shell does it: at blanks, unless these are quoted by `'…'`, `"…"` or
    /// a backslash; a quote that is not closed reaches to the end. `$ARGUMENTS` is still all of them, as typed.
    ///
    /// - `$ARGUMENTS[N]` and `$N` are the word at position N, counted from 0, and empty if there are not so many.
    ///   `$N` must end there: `$1st` is text, and so are the amounts `$5.00` and `$1,000`.
    /// - `$name` is the word at the position that `name` has in `names`, as in Claude Code's `arguments:` list; so
    ///   `a=b` is an ordinary word, not an assignment. The longest name that fits is taken, and a letter, digit or
    ///   `_` must not follow it.
    /// - `${SKILL_DIR}` is the skill's base directory. It does not count as a use of the arguments.
    Extended {
        /// The names of the arguments, in order of position.
        names: Arc<[Box<str>]>,
    },
}

impl Dialect {
    /// Returns the extended dialect with these named arguments, in order of position.
    pub fn extended<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        Self::Extended { names: names.into_iter().map(Box::from).collect() }
    }
}

/// Puts arguments into bodies.
///
/// Where a body uses no placeholder for them, arguments that are not empty are appended below it.
///
/// ```
/// use skillcue_load::{Dialect, Substitution};
///
/// let plain = Substitution { arguments: "a.pdf", ..Substitution::default() };
/// assert_eq!(plain.apply("Read $ARGUMENTS.")?, "Read a.pdf.");
/// assert_eq!(plain.apply("Read.")?, "Read.\n\nARGUMENTS: a.pdf");
///
/// let dialect = Dialect::extended(["issue", "branch"]);
/// let extended = Substitution { arguments: "42 'my branch'", dialect: &dialect, ..Substitution::default() };
/// assert_eq!(extended.apply("Fix $issue on $1: $ARGUMENTS[0]")?, "Fix 42 on my branch: 42");
/// # Ok::<(), skillcue_load::ContentTooLarge>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Substitution<'a> {
    /// The arguments as they were given; empty if none were.
    pub arguments: &'a str,
    /// The placeholders to look for.
    pub dialect: &'a Dialect,
    /// The value of `${SKILL_DIR}`.
    pub skill_dir: &'a str,
    /// Maximum size of the result, in bytes. A body of many placeholders multiplies its arguments: without a
    /// bound, 16 MiB of `$ARGUMENTS` and the longest arguments allowed would be a terabyte.
    pub max_bytes: usize,
}

impl Default for Substitution<'_> {
    fn default() -> Self {
        Self { arguments: "", dialect: &Dialect::Plain, skill_dir: "", max_bytes: usize::MAX }
    }
}

/// The result would be longer than [`Substitution::max_bytes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("with its arguments the content would have more than {limit} bytes")]
pub struct ContentTooLarge {
    /// The limit in bytes.
    pub limit: usize,
}

impl Substitution<'_> {
    /// Returns the body with the arguments put in.
    pub fn apply(&self, body: &str) -> Result<String, ContentTooLarge> {
        let mut content = String::with_capacity(body.len().min(self.max_bytes));
        self.apply_to(body, &mut content)?;
        Ok(content)
    }

    /// Appends the body with the arguments put in. `max_bytes` is the limit for all of `content`.
    pub(crate) fn apply_to(&self, body: &str, content: &mut String) -> Result<(), ContentTooLarge> {
        let mut out = BoundedText { content, limit: self.max_bytes };
        let words = match self.dialect {
            Dialect::Plain => Vec::new(),
            Dialect::Extended { .. } => words::split(self.arguments),
        };
        let mut arguments_used = false;
        let mut rest = body;
        // A cached load does this each time: `str::find` takes four times as long for a body of 6 KB.
        while let Some(at) = memchr::memchr(b'$', rest.as_bytes()) {
            let (before, tail) = rest.split_at(at);
            out.push(before)?;
            if let Some((length, value)) = self.placeholder(tail) {
                out.push(value.resolve(self, &words))?;
                arguments_used |= value != Placeholder::SkillDir;
                rest = &tail[length..];
            } else {
                out.push("$")?;
                rest = &tail[1..];
            }
        }
        out.push(rest)?;
        if !arguments_used && !self.arguments.is_empty() {
            out.push("\n\nARGUMENTS: ")?;
            out.push(self.arguments)?;
        }
        Ok(())
    }

    /// Returns the placeholder at the beginning of `tail`, with its length in bytes.
    fn placeholder(&self, tail: &str) -> Option<(usize, Placeholder)> {
        let after_all = tail.strip_prefix(ALL_ARGUMENTS);
        let Dialect::Extended { names } = self.dialect else {
            return after_all.map(|_| (ALL_ARGUMENTS.len(), Placeholder::All));
        };
        if let Some(after) = after_all {
            let indexed =
                bracketed_index(after).map(|(length, index)| (ALL_ARGUMENTS.len() + length, Placeholder::Word(index)));
            return Some(indexed.unwrap_or((ALL_ARGUMENTS.len(), Placeholder::All)));
        }
        if tail.starts_with(SKILL_DIR) {
            return Some((SKILL_DIR.len(), Placeholder::SkillDir));
        }
        let after_dollar = &tail[1..];
        if let Some((length, index)) = bare_index(after_dollar) {
            return Some((1 + length, Placeholder::Word(index)));
        }
        let fits = |name: &str| {
            let after = after_dollar.strip_prefix(name);
            !name.is_empty() && after.is_some_and(|after| !continues_word(after))
        };
        // Of equal names the first counts.
        let candidates = names.iter().enumerate().rev().filter(|(_, name)| fits(name));
        let (index, longest) = candidates.max_by_key(|(_, name)| name.len())?;
        Some((1 + longest.len(), Placeholder::Word(index)))
    }
}

/// A placeholder that was found in a body.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Placeholder {
    All,
    Word(usize),
    SkillDir,
}

impl Placeholder {
    fn resolve<'a>(self, substitution: &'a Substitution<'_>, words: &'a [String]) -> &'a str {
        match self {
            Self::All => substitution.arguments,
            Self::Word(index) => words.get(index).map_or("", String::as_str),
            Self::SkillDir => substitution.skill_dir,
        }
    }
}

/// Reads `[12]`: its length and number.
fn bracketed_index(text: &str) -> Option<(usize, usize)> {
    let digits = leading_digits(text.strip_prefix('[')?);
    let closed = text.as_bytes().get(1 + digits.len()) == Some(&b']');
    (closed && !digits.is_empty()).then(|| (digits.len() + 2, position(digits)))
}

/// Reads `12`, if the number ends there and is not an amount of money.
fn bare_index(text: &str) -> Option<(usize, usize)> {
    let digits = leading_digits(text);
    let after = &text[digits.len()..];
    let fraction = after.strip_prefix(['.', ',']).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    let ends = !digits.is_empty() && !continues_word(after) && !fraction;
    ends.then(|| (digits.len(), position(digits)))
}

fn leading_digits(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    &text[..end]
}

/// Returns the position that digits name; a number that is too large is a position without a word.
fn position(digits: &str) -> usize {
    digits.parse().unwrap_or(usize::MAX)
}

fn continues_word(after: &str) -> bool {
    after.starts_with(|c: char| c.is_alphanumeric() || c == '_')
}

/// A text that refuses to grow beyond its limit.
struct BoundedText<'a> {
    content: &'a mut String,
    limit: usize,
}

impl BoundedText<'_> {
    fn push(&mut self, text: &str) -> Result<(), ContentTooLarge> {
        // The content is within the limit already, unless its caller wrote more before than it allows now.
        if text.len() > self.limit.saturating_sub(self.content.len()) {
            return Err(ContentTooLarge { limit: self.limit });
        }
        self.content.push_str(text);
        Ok(())
    }
}
