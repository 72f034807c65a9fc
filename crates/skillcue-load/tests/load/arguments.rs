//! L-2, arguments: the vectors, and substitution against a reference that works another way.

use proptest::prelude::*;
use regex::{Captures, Regex};
use skillcue_base::ErrorInfo as _;
use skillcue_load::{ContentTooLarge, Dialect, Loader, MAX_ARGUMENT_BYTES, Substitution};

use crate::Skill;

#[test]
fn vectors() {
    let vectors: serde_json::Value = serde_json::from_str(include_str!("../../../../vectors/arguments.json")).unwrap();
    let loader = Loader::default();
    for case in vectors["cases"].as_array().unwrap() {
        let text = |field: &str| case[field].as_str().unwrap();
        let skill = Skill::new("vector", text("body"));
        let loaded = skill.load(&loader, text("args"));
        assert_eq!(loaded.content.strip_prefix(&skill.head()).unwrap(), text("expect"), "{case}");
    }
}

fn plain(body: &str, arguments: &str) -> String {
    Substitution { arguments, ..Substitution::default() }.apply(body).unwrap()
}

fn extended(body: &str, arguments: &str, names: &[&str]) -> String {
    let dialect = Dialect::extended(names.iter().copied());
    Substitution { arguments, dialect: &dialect, skill_dir: "/dir", ..Substitution::default() }.apply(body).unwrap()
}

#[test]
fn the_plain_dialect_knows_nothing_else() {
    assert_eq!(plain("$ARGUMENTS[0] $0 ${SKILL_DIR} $name", "a b"), "a b[0] $0 ${SKILL_DIR} $name");
    assert_eq!(plain("$ARGUMENTS_X", "a"), "a_X");
}

#[test]
fn the_extended_dialect() {
    let names = &["issue", "issue-number", "branch"];
    for (body, arguments, expected) in [
        ("$ARGUMENTS[0]|$ARGUMENTS[1]|$ARGUMENTS[2]", "a 'b c'", "a|b c|"),
        ("$ARGUMENTS", "a 'b  c' ", "a 'b  c' "),
        ("$ARGUMENTS[x] $ARGUMENTS[] $ARGUMENTS[0", "a", "a[x] a[] a[0"),
        ("$0 $1 $2.", "a b", "a b ."),
        ("$0st $5.00 $1,000 $0, $0.", "a", "$0st $5.00 $1,000 a, a."),
        ("$99999999999999999999999", "a", ""),
        ("$issue $issue-number $branch!", "1 2 3", "1 2 3!"),
        ("$issues $issue_ $issueé", "1", "$issues $issue_ $issueé\n\nARGUMENTS: 1"),
        ("$$0 $$", "a", "$a $$"),
        ("${SKILL_DIR}/x", "a", "/dir/x\n\nARGUMENTS: a"),
        ("${SKILL_DIR}/x", "", "/dir/x"),
        ("$0 $1", "'$1' ${SKILL_DIR}", "$1 ${SKILL_DIR}"),
        ("$0", "", ""),
        ("$issue", "issue=5", "issue=5"),
    ] {
        assert_eq!(extended(body, arguments, names), expected, "{body:?} {arguments:?}");
    }
    assert_eq!(extended("$a $ARGUMENTS", "1 2", &["a", "a", "ARGUMENTS", ""]), "1 1 2");
}

#[test]
fn results_are_bounded() {
    let bomb = Substitution { arguments: "12345", max_bytes: 20, ..Substitution::default() };
    assert_eq!(bomb.apply("$ARGUMENTS$ARGUMENTS$ARGUMENTS$ARGUMENTS").unwrap().len(), 20);
    let over = Err(ContentTooLarge { limit: 20 });
    assert_eq!(bomb.apply("$ARGUMENTS$ARGUMENTS$ARGUMENTS$ARGUMENTS."), over);
    assert_eq!(bomb.apply(&"x".repeat(21)), over);
    assert_eq!(bomb.apply("x".repeat(5).as_str()), over, "what is appended counts too");
}

#[test]
fn arguments_of_a_megabyte_are_the_longest() {
    let skill = Skill::new("long", "$ARGUMENTS");
    let loader = Loader::default();
    let longest = "x".repeat(MAX_ARGUMENT_BYTES);
    assert!(skill.load(&loader, &longest).content.ends_with(&longest));
    let request = skillcue_load::LoadRequest { arguments: &(longest + "x"), ..Default::default() };
    let error = loader.load(&skill.file, &request).unwrap_err();
    assert_eq!(error.code(), "invalid_argument");
    assert_eq!(error.to_string(), "skill \"long\": the arguments have 1000001 bytes, more than the limit of 1000000");
}

/// Applies the plain dialect, as the specification has it.
fn plain_reference(body: &str, arguments: &str) -> String {
    if body.contains("$ARGUMENTS") {
        body.replace("$ARGUMENTS", arguments)
    } else if arguments.is_empty() {
        body.to_owned()
    } else {
        format!("{body}\n\nARGUMENTS: {arguments}")
    }
}

/// Applies the extended dialect with the names `a` and `ab`, by a regular expression. Arguments have no quotes here, so
/// that words are separated by blanks.
fn extended_reference(body: &str, arguments: &str) -> String {
    let placeholder = Regex::new(r"\$ARGUMENTS(?:\[([0-9]+)\])?|\$\{SKILL_DIR\}|\$([0-9]+)|\$(ab|a)").unwrap();
    let words: Vec<_> = arguments.split_whitespace().collect();
    let word = |index: &str| words.get(index.parse::<usize>().unwrap()).copied().unwrap_or_default().to_owned();
    let mut used = false;
    let replaced = placeholder.replace_all(body, |captures: &Captures<'_>| {
        let whole = captures.get(0).unwrap();
        let after = &body[whole.end()..];
        let ends = !after.starts_with(|c: char| c.is_alphanumeric() || c == '_');
        let amount = Regex::new("^[.,][0-9]").unwrap().is_match(after);
        let value = if let Some(index) = captures.get(1) {
            word(index.as_str())
        } else if let Some(index) = captures.get(2) {
            if !ends || amount {
                return whole.as_str().to_owned();
            }
            word(index.as_str())
        } else if let Some(name) = captures.get(3) {
            if !ends {
                return whole.as_str().to_owned();
            }
            word(if name.as_str() == "a" { "0" } else { "1" })
        } else if whole.as_str() == "${SKILL_DIR}" {
            return "/dir".to_owned();
        } else {
            arguments.to_owned()
        };
        used = true;
        value
    });
    let appended = if used || arguments.is_empty() { String::new() } else { format!("\n\nARGUMENTS: {arguments}") };
    format!("{replaced}{appended}")
}

fn body() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("$ARGUMENTS".to_owned()),
        Just("${SKILL_DIR}".to_owned()),
        "\\$[0-3]",
        "\\$ab?",
        "\\[[0-3]?\\]?",
        "[ab_.,$ü\n 0-9]{1,2}",
    ];
    proptest::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn plain_agrees_with_the_reference(body in body(), arguments in "[a$ ü]{0,6}|\\$ARGUMENTS x") {
        prop_assert_eq!(plain(&body, &arguments), plain_reference(&body, &arguments));
    }

    #[test]
    fn extended_agrees_with_the_reference(body in body(), arguments in "[a$ ü0]{0,8}|\\$ARGUMENTS \\$0") {
        prop_assert_eq!(extended(&body, &arguments, &["a", "ab"]), extended_reference(&body, &arguments));
    }
}
