//! The fast path against the full parser: the same trees, or none.

use proptest::prelude::*;

use super::*;

#[test]
fn tame_text() {
    for text in ["", "a: b\n", "a: b\r\nc: d\r\n", "é — 表 🎉 \u{a0}", "\u{2027}\u{202a}\u{feef}\u{fffd}"] {
        assert!(is_tame(text.as_bytes()), "{text:?}");
    }
    for odd in
        ["\t", "\0", "\u{1f}", "\u{7f}", "\r", "\u{80}", "\u{9f}", "\u{2028}", "\u{2029}", "\u{feff}", "\u{fffe}"]
    {
        for text in [odd.to_owned(), format!("é: {odd} b\n"), format!("a: b{odd}")] {
            assert!(!is_tame(text.as_bytes()), "{text:?}");
        }
    }
}

/// Returns whether the fast path read the text. Checks that it then agrees with the full parser, positions of scalars
/// included.
fn agree(text: &str) -> bool {
    let Some(fast) = parse(text) else { return false };
    match yaml::parse(text) {
        Ok((full, _)) => {
            assert!(fast.is_equivalent(&full), "{text:?}\nfast {fast:?}\nfull {full:?}");
            assert_same_positions(text, &fast, &full);
        }
        Err(failure) => panic!("{text:?}: the fast path read what the full parser refuses: {failure:?}"),
    }
    true
}

fn assert_same_positions(text: &str, fast: &Node<'_>, full: &Node<'_>) {
    match (&fast.value, &full.value) {
        (Value::Scalar { text: scalar, .. }, Value::Scalar { .. }) if !scalar.is_empty() => {
            assert_eq!(fast.span.start, full.span.start, "{text:?}: {scalar:?}");
        }
        (Value::Seq(a), Value::Seq(b)) => a.iter().zip(b).for_each(|(a, b)| assert_same_positions(text, a, b)),
        (Value::Map(a), Value::Map(b)) => a.iter().zip(b).for_each(|((k, v), (l, w))| {
            assert_same_positions(text, k, l);
            assert_same_positions(text, v, w);
        }),
        _ => {}
    }
}

#[test]
fn reads_common_front_matter() {
    for text in [
        "name: pdf\ndescription: Reads PDF files. Use when: never\n",
        "name: pdf\ndescription: Reads C++ and a:b, x#y (see http://x.y/z).\nversion: 1.0\n",
        "name: 'pdf'\ndescription: \"It's fine: really # yes\"\nlicense: MIT\n",
        "name: pdf\r\ndescription: d\r\nmetadata:\r\n  version: 1.2\r\n  triggers:\r\n    keywords:\r\n      - a b\r\n      - \"c++\"\r\n    verbs: [x, 'y z', \"w\"]\r\n",
        "allowed-tools: [Read, Grep]\ntriggers:\n- a\n- b\nname: x\n",
        "description: |\n  line one\n    more\n\n  line two\nname: x\n",
        "description: >-\n  folded text\n  goes on\nname: x\n",
        "description: >\n  folded\nname: x\n",
        "a:\nb: []\nc: ''\nd:\n  e:\n",
        "description: 处理表格。\nname: 表格\n",
        "description: over\n  two lines, or\n    three\nname:\n  below\n",
        "description: 'the project''s own'\nname: \"say \\\"x\\\" \\\\ or\\n\"\n",
    ] {
        // A colon and a blank in a plain text are for the full parser to refuse.
        assert_eq!(agree(text), !text.contains("when: never"), "{text:?}");
    }
}

#[test]
fn gives_up_on_the_rest() {
    for text in [
        "",
        "- a\n",
        "a: b: c\n",
        "a: b #c\n",
        "a: &x b\n",
        "a: *x\n",
        "a: !t b\n",
        "a: b\n  - c\n",
        "a: b\n\n  c\n",
        "a: {b: c}\n",
        "a: [b\n",
        "a: \"b\\x41\"\n",
        "a: 'it's'\n",
        "a: |2\n  b\n",
        "a: |\n\n  b\n",
        "a: |",
        "a\n",
        "a:b\n",
        "? a\n: b\n",
        "\ta: b\n",
        "a: b\rc: d\n",
        "a: \u{85}\n",
        "a: - b\n",
        "a: \"b\" c\n",
        "a: [b,]\n",
        " a: b\n",
        "a: b\n c: d\n",
        "a: |\n  b",
        "...\n",
        "# c\na: b\n",
    ] {
        assert!(parse(text).is_none(), "{text:?}");
    }
    assert!(parse(&"k: v\n".repeat(2_000)).is_some());
    assert!(parse(&"k: v\n".repeat(3_000)).is_none(), "too many nodes");
}

fn fragment() -> impl Strategy<Value = String> {
    let bits = prop::sample::select(vec![
        "a",
        "b",
        "name",
        "description",
        ":",
        ": ",
        " ",
        "  ",
        "\n",
        "\n",
        "\n",
        "\n  ",
        "\n    ",
        "\n- ",
        "\n  - ",
        "- ",
        "[",
        "]",
        ", ",
        "{",
        "}",
        "\"",
        "'",
        "|",
        ">",
        "|-",
        ">-",
        "\n\n",
        "#",
        " #",
        "x y",
        "1.0",
        "é",
        "\r\n",
        "\\",
        "&",
        "*",
        "!",
        "%",
        "@",
        "`",
        "~",
        "...",
        "---",
        "?",
        "? ",
        "\t",
        ":\n",
        ": |\n  ",
        ": >\n  ",
    ]);
    prop::collection::vec(bits, 0..24).prop_map(|bits| bits.concat())
}

/// Generates shapes that the fast path takes, with odd scalars in them.
fn document() -> impl Strategy<Value = String> {
    let scalar = "[a-z\"'#:,\\-\\[\\]{}|> é&*!%@`~?.\\\\]{0,12}";
    let line = prop_oneof![
        scalar.prop_map(|s| format!("k: {s}\n")),
        scalar.prop_map(|s| format!("k: \"{s}\"\n")),
        scalar.prop_map(|s| format!("k: [{s}, {s}]\n")),
        (scalar, scalar).prop_map(|(a, b)| format!("k:\n  - {a}\n  - {b}\n")),
        (scalar, scalar).prop_map(|(a, b)| format!("k:\n- {a}\n- {b}\n")),
        (scalar, scalar).prop_map(|(a, b)| format!("k: |\n  {a}\n  {b}\n")),
        (scalar, scalar).prop_map(|(a, b)| format!("k: |-\n  {a}\n\n   {b}\n\n")),
        (scalar, scalar).prop_map(|(a, b)| format!("k: >\n  {a}\n  {b}\n")),
        (scalar, scalar).prop_map(|(a, b)| format!("k: x{a}\n  y{b}\n")),
        (scalar, scalar).prop_map(|(a, b)| format!("k: x{a}\n\n  y{b}\n \n")),
        (scalar, scalar).prop_map(|(a, b)| format!("k:\n  x{a}\n   y{b}\n")),
        (scalar, scalar).prop_map(|(a, b)| format!("k:\n  a: {a}\n  b:\n    c: {b}\n")),
    ];
    prop::collection::vec(line, 1..5).prop_map(|lines| lines.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]

    #[test]
    fn agrees_with_the_full_parser_on_fragments(text in fragment()) {
        agree(&text);
    }

    #[test]
    fn agrees_with_the_full_parser_on_documents(text in document()) {
        agree(&text);
    }
}
