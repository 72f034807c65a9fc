use super::*;

/// TypeScript, and what becomes of it.
const TABLE: &str = include_str!("table.txt");

fn cases() -> Vec<(&'static str, &'static str)> {
    let cases = TABLE.strip_suffix('\n').expect("ends with a line end").split("\n====\n");
    cases.map(|case| case.split_once("\n----\n").expect("a case has two halves")).collect()
}

/// Returns the text without its types, alone.
fn strip(text: &str) -> Result<String, SyntaxError> {
    super::strip(text).map(|(text, _)| text)
}

/// Code is added to these, so their lines grow.
fn is_lowered(text: &str) -> bool {
    text.contains("enum ") || text.contains("constructor(p")
}

#[test]
fn types_become_spaces() {
    for (before, after) in cases() {
        assert_eq!(strip(before).as_deref(), Ok(after), "{before}");
    }
}

#[test]
fn lines_and_columns_stay_and_the_rest_is_javascript() {
    for (before, _) in cases() {
        for text in [before.to_owned(), before.replace('\n', "\r\n"), format!("/* é😀 */ {before}\n")] {
            let after = strip(&text).unwrap();
            let lengths = |text: &str| text.lines().map(|line| line.encode_utf16().count()).collect::<Vec<_>>();
            if is_lowered(&text) {
                assert_eq!(lengths(&text).len(), lengths(&after).len(), "{text}");
            } else {
                assert_eq!(lengths(&text), lengths(&after), "{text}");
            }
            assert_eq!(check(&after), None, "{after}");
        }
    }
}

#[test]
fn syntax_that_cannot_be_stripped_has_a_position() {
    for (text, line, column, word) in [
        ("let x =\n  ;", 2, 3, "Unexpected"),
        ("namespace N { export const a = 1 }", 1, 1, "namespace"),
        ("let a\nimport x = require('x')", 2, 1, "import"),
        ("export = 1", 1, 1, "export ="),
        ("@dec class A {}", 1, 1, "decorators"),
        ("class A { @dec x = 1 }", 1, 11, "decorators"),
        ("let x = <\nany>y", 1, 9, "type assertion"),
        ("class B extends A { constructor(private x) { if (1) super() } }", 1, 21, "super"),
    ] {
        let problem = strip(text).unwrap_err();
        assert_eq!((problem.line, problem.column), (line, column), "{text}: {problem:?}");
        assert!(problem.message.contains(word), "{text}: {problem:?}");
    }
    assert!(strip("const x = <div>hi</div>;").is_err());
    let deep = "(".repeat(100_000);
    assert!(strip(&deep).unwrap_err().message.contains("nest"));
}

#[test]
fn assertions_before_braces_keep_their_meaning() {
    for (text, after) in [
        ("f = () => <any>{ a: 1 }", "f = () => (    { a: 1 })"),
        ("<any>function () {}", "(    function () {})"),
        ("<any>class {}.x", "(    class {}.x)"),
        ("x = <any>y", "x =      y"),
        ("enum A { X = <any>1, Y = 2 as any, Z = (X as number) + Y! }", ""),
        (
            "class A /* implements x */ implements /* implements */ B {}",
            "class A /* implements x */            /* implements */   {}",
        ),
    ] {
        let stripped = strip(text).unwrap();
        assert_eq!(check(&stripped), None, "{stripped}");
        if !after.is_empty() {
            assert_eq!(stripped, after);
        }
    }
}
