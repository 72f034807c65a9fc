//! The one place where a user's regular expressions and globs are compiled: linear time, bounded size.

use globset::{Glob, GlobBuilder};
use regex::{Regex, RegexBuilder};
use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, Hir, HirKind};

/// Largest compiled program, in bytes.
const SIZE_LIMIT: usize = 1 << 20;
/// Largest lazy automaton, in bytes.
const DFA_SIZE_LIMIT: usize = 256 << 10;
/// Deepest nesting of groups.
const NEST_LIMIT: u32 = 50;
/// What a state of a compiled pattern takes at most, and a transition of one that has several, in bytes.
const STATE: usize = 64;
const TRANSITION: usize = 16;
/// What every compiled pattern takes beside its own states.
const AROUND: usize = 4 << 10;

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
        .size_limit(SIZE_LIMIT)
        .dfa_size_limit(DFA_SIZE_LIMIT)
        .nest_limit(NEST_LIMIT)
        .build()
}

/// The reason for a failure in one line: the engine's own message draws a picture.
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

/// Says in one line why a glob can never match, if it cannot.
pub(crate) fn check_glob(text: &str) -> Result<(), String> {
    glob(text).map(drop).map_err(|error| error.kind().to_string())
}

/// What is known of a pattern without compiling it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It compiles within the limits.
    Usable,
    /// It does not, and why.
    Unusable(String),
    /// It may or may not be too large: only [`compile`] can tell.
    Large,
}

/// Judges a pattern by its syntax: some 5 µs, where compiling takes 50 to 500.
pub(crate) fn judge(pattern: &str) -> Verdict {
    // Letters of either case are counted instead of folded: folding takes most of the time and refuses nothing.
    match ParserBuilder::new().nest_limit(NEST_LIMIT).build().parse(pattern) {
        Err(error) => Verdict::Unusable(last_line(&error.to_string())),
        Ok(hir) if size(&hir).saturating_add(AROUND) <= SIZE_LIMIT => Verdict::Usable,
        Ok(_) => Verdict::Large,
    }
}

/// How many bytes a pattern compiles to at most, its letters in either case.
fn size(hir: &Hir) -> usize {
    let parts = |parts: &[Hir]| parts.iter().fold(STATE, |sum, part| sum.saturating_add(size(part) + STATE));
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => STATE,
        HirKind::Literal(literal) if literal.0.is_ascii() => literal.0.len().saturating_mul(2 * STATE),
        HirKind::Literal(literal) => literal.0.len().saturating_mul(8 * STATE),
        HirKind::Class(Class::Bytes(class)) => STATE + class.ranges().len() * TRANSITION,
        HirKind::Class(Class::Unicode(class)) => {
            class.ranges().iter().fold(4 * STATE, |sum, range| sum + 2 * range_size(range.start(), range.end()))
        }
        HirKind::Repetition(repetition) => {
            // Without an end, the last copy loops.
            let copies = repetition.max.unwrap_or(repetition.min).max(1);
            size(&repetition.sub).saturating_add(2 * STATE).saturating_mul(copies as usize)
        }
        HirKind::Capture(capture) => {
            size(&capture.sub).saturating_add(4 * STATE + capture.name.as_ref().map_or(0, |name| name.len()))
        }
        HirKind::Concat(all) | HirKind::Alternation(all) => parts(all),
    }
}

/// What a range of characters adds: it falls into several sequences of bytes when it spans many characters.
fn range_size(start: char, end: char) -> usize {
    match u32::from(end) - u32::from(start) {
        _ if end.is_ascii() => TRANSITION,
        0..64 => STATE + 2 * TRANSITION,
        _ => 12 * STATE,
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
            let hir = ParserBuilder::new().nest_limit(NEST_LIMIT).build().parse(pattern).unwrap();
            let within = |limit| RegexBuilder::new(pattern).case_insensitive(true).size_limit(limit).build().is_ok();
            let enough = size(&hir) + AROUND;
            assert!(within(enough), "{pattern}: {enough} bytes are too few");
        }
        let tight = RegexBuilder::new(r"\w").case_insensitive(true).size_limit(1_000).build();
        assert!(tight.is_err(), "the limit is looked at");
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
