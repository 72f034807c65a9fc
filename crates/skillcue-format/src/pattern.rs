//! Compiles the regular expressions and globs of users: linear time, bounded size. No other module does.

use globset::{Glob, GlobBuilder};
use regex::{Regex, RegexBuilder};
use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, Hir, HirKind};

/// Maximum size of a compiled program, in bytes.
const MAX_PROGRAM_BYTES: usize = 1 << 20;
/// Maximum size of a lazy automaton, in bytes.
const MAX_AUTOMATON_BYTES: usize = 256 << 10;
/// Maximum nesting of groups.
const MAX_NESTING: u32 = 50;
/// Upper bound for a state of a compiled pattern, in bytes.
const STATE_BYTES: usize = 64;
/// Upper bound for a transition of a state that has several, in bytes.
const TRANSITION_BYTES: usize = 16;
/// The size of every compiled pattern beside its own states, in bytes.
const BASE_BYTES: usize = 4 << 10;

/// Compiles a pattern, case-insensitively, within the limits.
///
/// ```
/// use skillcue_format::pattern;
/// assert!(pattern::compile("say .* in .*").unwrap().is_match("Say it in French"));
/// assert!(pattern::compile("(").is_err());
/// assert!(pattern::compile("(a{1000}){1000}").is_err());
/// ```
pub fn compile(pattern: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(pattern)
        .case_insensitive(true)
        .size_limit(MAX_PROGRAM_BYTES)
        .dfa_size_limit(MAX_AUTOMATON_BYTES)
        .nest_limit(MAX_NESTING)
        .build()
}

/// Returns the reason for a failure in one line: the engine's own message has several, with a drawing.
pub fn reason(error: &regex::Error) -> String {
    match error {
        regex::Error::CompiledTooBig(limit) => format!("it compiles to more than {limit} bytes"),
        other => last_line(&other.to_string()),
    }
}

fn last_line(error: &str) -> String {
    let found = error.lines().rev().find_map(|line| line.strip_prefix("error: ").map(str::to_owned));
    found.unwrap_or_else(|| error.replace('\n', " "))
}

/// Parses a glob: `*` stops at a `/`, `**` does not.
pub fn glob(glob: &str) -> Result<Glob, globset::Error> {
    GlobBuilder::new(glob).literal_separator(true).build()
}

/// Checks a glob; the error says in one line why it can never match.
pub(crate) fn check_glob(text: &str) -> Result<(), String> {
    glob(text).map(drop).map_err(|error| error.kind().to_string())
}

/// The usability of a pattern, as far as its syntax shows it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It compiles within the limits.
    Usable,
    /// It does not; the reason.
    Unusable(String),
    /// It may or may not be too large: only [`compile`] can decide.
    Large,
}

/// Judges a pattern by its syntax: some 5 µs, where compiling takes 50 to 500.
pub(crate) fn judge(pattern: &str) -> Verdict {
    // Letters of either case are counted instead of folded: folding takes most of the time and refuses nothing.
    match ParserBuilder::new().nest_limit(MAX_NESTING).build().parse(pattern) {
        Err(error) => Verdict::Unusable(last_line(&error.to_string())),
        Ok(hir) if size(&hir).saturating_add(BASE_BYTES) <= MAX_PROGRAM_BYTES => Verdict::Usable,
        Ok(_) => Verdict::Large,
    }
}

/// Returns how many bytes a pattern compiles to at most, its letters in either case.
fn size(hir: &Hir) -> usize {
    let parts =
        |parts: &[Hir]| parts.iter().fold(STATE_BYTES, |sum, part| sum.saturating_add(size(part) + STATE_BYTES));
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => STATE_BYTES,
        HirKind::Literal(literal) if literal.0.is_ascii() => literal.0.len().saturating_mul(2 * STATE_BYTES),
        HirKind::Literal(literal) => literal.0.len().saturating_mul(8 * STATE_BYTES),
        HirKind::Class(Class::Bytes(class)) => STATE_BYTES + class.ranges().len() * TRANSITION_BYTES,
        HirKind::Class(Class::Unicode(class)) => {
            class.ranges().iter().fold(4 * STATE_BYTES, |sum, range| sum + 2 * range_size(range.start(), range.end()))
        }
        HirKind::Repetition(repetition) => {
            // Without an end, the last copy loops.
            let copies = repetition.max.unwrap_or(repetition.min).max(1);
            size(&repetition.sub).saturating_add(2 * STATE_BYTES).saturating_mul(copies as usize)
        }
        HirKind::Capture(capture) => {
            size(&capture.sub).saturating_add(4 * STATE_BYTES + capture.name.as_ref().map_or(0, |name| name.len()))
        }
        HirKind::Concat(all) | HirKind::Alternation(all) => parts(all),
    }
}

/// Returns how many bytes a range of characters adds: it becomes several sequences of bytes when it spans many
/// characters.
fn range_size(start: char, end: char) -> usize {
    match u32::from(end) - u32::from(start) {
        _ if end.is_ascii() => TRANSITION_BYTES,
        0..64 => STATE_BYTES + 2 * TRANSITION_BYTES,
        _ => 12 * STATE_BYTES,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATTERNS: [&str; 30] = [
        "a",
        "",
        "^$",
        "say .* in .*",
        r"\b\w+\.pdf\b",
        r"\w",
        r"\w{8}",
        r"[^a-z]+\s*\d{3,9}",
        r"\p{Han}{4,}",
        r"\p{L}\p{Lu}\p{Greek}",
        r"\W\S\D",
        "(?:cat|dog|größe|表格)s?",
        "((((a))))(?<name>b)",
        "(a{30}){30}",
        "[a-zäöüß]{1,40}",
        ".{0,40}",
        "(?-u:[\\x00-\\x7F])+x",
        "(?s).*(?i:kelvin|ſ)",
        "\u{10FFFF}|[\u{0}-\u{10FFFF}]",
        r"\b(fix|check|review)\s+(my|the|this)\s+words?\b",
        "(|a|b|)*",
        "(?:(?:a?){20}){20}",
        "kissKISS",
        "ſßİıθϴ",
        "[kKsS][a-z][à-þ][α-ω][а-я]",
        r"\p{Ll}\p{Lt}[^\p{Lu}]",
        r"\w+",
        r"\d*\s{2,}",
        r"[^\x00-\x{10FFFE}]",
        r"[\u{80}-\u{BF}\u{7C0}-\u{840}\u{FFC0}-\u{10040}]",
    ];

    #[test]
    fn a_size_is_never_underestimated() {
        for pattern in PATTERNS {
            let hir = ParserBuilder::new().nest_limit(MAX_NESTING).build().parse(pattern).unwrap();
            let within = |limit| RegexBuilder::new(pattern).case_insensitive(true).size_limit(limit).build().is_ok();
            let enough = size(&hir) + BASE_BYTES;
            assert!(within(enough), "{pattern}: {enough} bytes are too few");
        }
        let tight = RegexBuilder::new(r"\w").case_insensitive(true).size_limit(1_000).build();
        assert!(tight.is_err(), "the limit is enforced");
    }

    #[test]
    fn a_pattern_is_judged_as_it_compiles() {
        for pattern in PATTERNS {
            assert!(compile(pattern).is_ok(), "{pattern}");
            assert!(!matches!(judge(pattern), Verdict::Unusable(_)), "{pattern}");
        }
        for pattern in ["(", "[invalid(regex", "a{2,1}", r"(?=x)", r"\1", r"\p{Nonsense}", "*", "(?<a>x)(?<a>y)"] {
            let reason = reason(&compile(pattern).unwrap_err());
            assert_eq!(judge(pattern), Verdict::Unusable(reason), "{pattern}");
        }
        let deep = format!("{}a{}", "(".repeat(60), ")".repeat(60));
        assert_eq!(judge(&deep), Verdict::Unusable(reason(&compile(&deep).unwrap_err())));
        assert_eq!(judge("(a{1000}){1000}"), Verdict::Large);
        assert_eq!(judge(&PATTERNS[19].repeat(20)), Verdict::Usable, "ordinary patterns are not compiled");
    }

    #[test]
    fn globs_are_checked_as_they_are_compiled() {
        assert_eq!(check_glob("src/**/*.{rs,toml}"), Ok(()));
        assert_eq!(check_glob("["), Err("unclosed character class; missing ']'".to_owned()));
    }
}
