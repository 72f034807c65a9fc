//! The one place where a user's regular expression is compiled: linear time, bounded size.

use regex::{Regex, RegexBuilder};

/// Largest compiled program, in bytes.
const SIZE_LIMIT: usize = 1 << 20;
/// Largest lazy automaton, in bytes.
const DFA_SIZE_LIMIT: usize = 256 << 10;
/// Deepest nesting of groups.
const NEST_LIMIT: u32 = 50;

/// Compiles a pattern, case-insensitively, within the limits.
///
/// ```
/// use skillfold_format::pattern;
/// assert!(pattern::compile("say .* in .*").unwrap().is_match("Say it in French"));
/// assert!(pattern::compile("(").is_err());
/// assert!(pattern::compile("(a{1000}){1000}").is_err());
/// ```
pub fn compile(pattern: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(pattern)
        .case_insensitive(true)
        .size_limit(SIZE_LIMIT)
        .dfa_size_limit(DFA_SIZE_LIMIT)
        .nest_limit(NEST_LIMIT)
        .build()
}

/// The reason for a failure in one line: the engine's own message draws a picture.
pub fn reason(error: &regex::Error) -> String {
    match error {
        regex::Error::CompiledTooBig(limit) => format!("it compiles to more than {limit} bytes"),
        other => other
            .to_string()
            .lines()
            .rev()
            .find_map(|line| line.strip_prefix("error: ").map(str::to_owned))
            .unwrap_or_else(|| other.to_string().replace('\n', " ")),
    }
}
