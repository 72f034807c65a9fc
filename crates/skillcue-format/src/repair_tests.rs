//! Repairs of the classes of broken YAML that public skills have.

use super::*;
use std::fmt::Write as _;

fn mended(text: &str) -> String {
    assert!(yaml::parse(text).is_err(), "{text:?} is not broken");
    let repair = repair(text).unwrap_or_else(|| panic!("{text:?} was not repaired"));
    serde_json::to_string(&yaml::parse(&repair.text).unwrap().0).unwrap()
}

#[test]
fn the_classes_found_in_the_wild() {
    assert_eq!(mended("a: Use when: x\nb: c\n"), r#"{"a":"Use when: x","b":"c"}"#);
    assert_eq!(mended("a: @x `y`\n"), r#"{"a":"@x `y`"}"#);
    assert_eq!(mended("a: `x` does y\n"), r#"{"a":"`x` does y"}"#);
    assert_eq!(mended("a: [x] [y]\n"), r#"{"a":"[x] [y]"}"#);
    assert_eq!(mended("a: \"x\" and y\n"), r#"{"a":"\"x\" and y"}"#);
    assert_eq!(mended("a: *\n"), r#"{"a":"*"}"#);
    assert_eq!(mended("a: {{x}} y\n"), r#"{"a":"{{x}} y"}"#);
    assert_eq!(mended("a:\n\tb: c\n\td: e\n"), r#"{"a":{"b":"c","d":"e"}}"#);
    assert_eq!(
        mended("a: Use when\n  he says: x\n  or \"y\\z\"\nb: c\n"),
        r#"{"a":"Use when he says: x or \"y\\z\"","b":"c"}"#
    );
    assert_eq!(mended("a: > Use it\nb: c\n"), r#"{"a":"> Use it","b":"c"}"#);
    assert_eq!(mended("k:\n  - @x\n  - y\n"), r#"{"k":["@x","y"]}"#);
    assert_eq!(mended("a: x: y\r\nb: z\r\n"), r#"{"a":"x: y","b":"z"}"#);
    assert_eq!(mended("name:pdf\ndescription: d\n"), r#"{"name":"pdf","description":"d"}"#);
    assert_eq!(mended("a: ends with:\nb: c\n"), r#"{"a":"ends with:","b":"c"}"#);
    assert_eq!(mended("a: x\u{0}y\nb: @\u{1b}z\n"), r#"{"a":"xy","b":"@z"}"#);
    assert_eq!(mended("a: x: y\rb: z\r"), r#"{"a":"x: y","b":"z"}"#);
    assert_eq!(mended("a: \"C:\\Users\\new \\\"x\\\"\"\n"), r#"{"a":"C:\\Users\\new \"x\""}"#);
}

#[test]
fn fields_that_are_indented_by_mistake_stay_fields() {
    assert_eq!(
        mended("argument-hint: [x] [y]\n\tversion: 1.0\n\tlicense: MIT\nb: c\n"),
        r#"{"argument-hint":"[x] [y]","version":1.0,"license":"MIT","b":"c"}"#
    );
    assert_eq!(
        mended("argument-hint: [x] [y]\n  metadata:\n    version: @1\n"),
        r#"{"argument-hint":"[x] [y]","metadata":{"version":"@1"}}"#
    );
    assert_eq!(mended("description: Reads.\n\tversion: 1.0\n"), r#"{"description":"Reads.","version":1.0}"#);
    // Text goes on as text.
    assert_eq!(mended("description: Reads\n  version: 2 and up\n"), r#"{"description":"Reads version: 2 and up"}"#);
    assert_eq!(mended("a: [x] [y]\n  says: z\n"), r#"{"a":"[x] [y] says: z"}"#);
}

#[test]
fn lists_that_are_not_closed_are_lists() {
    assert_eq!(mended("allowed-tools: [read, write\nb: c\n"), r#"{"allowed-tools":["read","write"],"b":"c"}"#);
    assert_eq!(mended("m:\n  keywords: [a,\n    b\n"), r#"{"m":{"keywords":["a","b"]}}"#);
    assert_eq!(mended("argument-hint: [file\n"), r#"{"argument-hint":"[file"}"#);
    let both = r#"{"allowed-tools":["read","write"],"b":"c"}"#;
    for text in [
        "allowed-tools: [\"read\", \"write\nb: c\n",
        "allowed-tools: [\"read\", \"write]\nb: c\n",
        "allowed-tools: [\"read\", 'write # both\nb: c\n",
        "allowed-tools: [\"read, \"write\"]\nb: c\n",
        "allowed-tools: [read, write}\nb: c\n",
        "allowed-tools: [read, write # both of them, really\nb: c\n",
        "allowed-tools: [read, # one: reading\n  # version: 2\n  write # two\n\nb: c\n",
        "allowed-tools: [\n\tread,\n\t'write\nb: c\n",
        "allowed-tools: [\n  read, # one\n  \"write\n]\nb: c\n",
    ] {
        assert_eq!(mended(text), both, "{text}");
    }
    // A list that is closed on the key's own level stays one beside a line that is broken.
    assert_eq!(
        mended("allowed-tools: [\n  read,\n  write\n]\na: Use when: x\n"),
        r#"{"allowed-tools":["read","write"],"a":"Use when: x"}"#
    );
    assert_eq!(
        mended("allowed-tools: [@x/y, Bash(git add:*)\nb: c\n"),
        r#"{"allowed-tools":["@x/y","Bash(git add:*)"],"b":"c"}"#
    );
    assert_eq!(mended("triggers: {keywords: [a, 'b c'\nb: c\n"), r#"{"triggers":{"keywords":["a","b c"]},"b":"c"}"#);
    assert_eq!(
        mended("metadata: {version: 1.0, author: me\nb: c\n"),
        r#"{"metadata":{"version":1.0,"author":"me"},"b":"c"}"#
    );
}

#[test]
fn quoted_texts_may_go_on_anywhere() {
    assert_eq!(mended("a: \"one\ntwo\"\nb: c\n"), r#"{"a":"one two","b":"c"}"#);
    assert_eq!(mended("a: 'one\n\n\ttwo''s' # x\nb: c\n"), r#"{"a":"one\ntwo's","b":"c"}"#);
    assert_eq!(mended("m:\n  a: 'one\n  two'\n"), r#"{"m":{"a":"one two"}}"#);
    assert_eq!(mended("k:\n- \"one\ntwo\"\n"), r#"{"k":["one two"]}"#);
    // An apostrophe is not the end of a text that the next line's value ends.
    assert_eq!(mended("a: 'tis\nb: 'x'\n"), r#"{"a":"'tis","b":"x"}"#);
}

#[test]
fn block_scalars_and_good_lines_are_left_alone() {
    let text = "a: |\n  x: y: z\n  @b\nc: d: e\nf: 'g'\n";
    let repair = repair(text).unwrap();
    assert_eq!(repair.text, "a: |\n  x: y: z\n  @b\nc: \"d: e\"\nf: 'g'\n");
    assert_eq!(repair.edits.len(), 1);
}

#[test]
fn hopeless_text_stays_broken() {
    for text in ["<<<<<<< HEAD\na: b\n=======\n", "a: b\nsome words\n", "a: b\n\0---\nc: d\n"] {
        assert!(repair(text).is_none(), "{text:?}");
    }
}

#[test]
fn offsets_map_back_to_the_original() {
    let text = "a: b: c\nd: e: f\ng: h\n";
    let repair = repair(text).unwrap();
    let at = repair.text.find("g: h").unwrap();
    assert_eq!(original_offset(&repair.edits, at), text.find("g: h").unwrap());
    assert_eq!(original_offset(&repair.edits, 1), 1);
    assert_eq!(repair.edits[0].at, 4, "the second colon");
}

use proptest::prelude::*;

proptest! {
    /// Checks that no field is swallowed by another, before or after the repair, however the values are broken.
    #[test]
    fn no_field_is_lost(lines in proptest::collection::vec((0_usize..VALUES.len(), 0_usize..3), 1..KEYS.len())) {
        let mut text = String::new();
        let mut before_is_text = true;
        for (number, (value, depth)) in lines.iter().enumerate() {
            // Blanks below plain text are more of it; a tab never is.
            let indent = match depth {
                1 if number > 0 => "\t",
                2 if number > 0 && !before_is_text => "  ",
                _ => "",
            };
            before_is_text = !VALUES[*value].starts_with(['[', '{', '"', '\'', '@', '`', '%', '*', '&', '!']);
            let _ = writeln!(text, "{indent}{}: {}", KEYS[number], VALUES[*value]);
        }
        let mended = match yaml::parse(&text) {
            Ok(_) => text.clone(),
            Err(_) => repair(&text).map_or_else(String::new, |repair| repair.text),
        };
        prop_assert!(!mended.is_empty(), "not repaired: {text:?}");
        let tree = yaml::parse(&mended).unwrap().0;
        for key in &KEYS[..lines.len()] {
            prop_assert!(tree.get(key).is_some(), "{key} is lost: {text:?} became {mended:?}");
        }
    }
}

const KEYS: [&str; 8] =
    ["name", "description", "argument-hint", "allowed-tools", "version", "license", "requires", "model"];
const VALUES: [&str; 17] = [
    "[a, b",
    "[\"a\", \"b",
    "{a, b",
    "[a, 'b # both",
    "{a: [b",
    "pdf",
    "1.0",
    "Use when: x",
    "[x] [y]",
    "{{x}} y",
    "@x",
    "`x` y",
    "\"x\" and y",
    "'tis",
    "\"quoted\"",
    "[a, b]",
    "*",
];
