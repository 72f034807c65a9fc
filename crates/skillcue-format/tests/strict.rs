//! The rules of `validate` that go beyond reading: each where the reference validator has it.
//! `tests/reference/compare.py` shows that both agree on thousands of files; these tests show which rule it was.
#![allow(clippy::unwrap_used, reason = "a test says by panicking what is wrong")]

use skillcue_format::{Diagnostic, validate};

/// Returns the findings about a skill in the directory `pdf`: `line:column code`, and `!` for an error.
fn against(yaml: &str) -> String {
    found(&validate(format!("---\n{yaml}\n---\n# Body\n").as_bytes(), "pdf"))
}

fn found(diagnostics: &[Diagnostic]) -> String {
    let one = |it: &Diagnostic| {
        let place = it.place.unwrap();
        format!("{}:{} {}{}", place.line, place.column, it.code.as_str(), if it.is_error() { "!" } else { "" })
    };
    diagnostics.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// Like `against`, for further lines below a valid name and description: they start on line 4.
fn more(lines: &str) -> String {
    against(&format!("name: pdf\ndescription: d\n{lines}"))
}

#[test]
fn limits_count_characters() {
    for (field, max) in [("description", 1024), ("compatibility", 500)] {
        let of = |text: String| match field {
            "description" => against(&format!("name: pdf\ndescription: {text}")),
            _ => more(&format!("compatibility: {text}")),
        };
        assert_eq!(of("表".repeat(max)), "", "{field}");
        assert!(of("表".repeat(max + 1)).ends_with("too_long!"), "{field}");
        assert!(of(format!("|\n  {}", "x".repeat(max))).ends_with("too_long!"), "{field}: its line break counts");
    }
}

#[test]
fn names_equal_their_directories() {
    let name = |written: &str, directory| {
        found(&validate(format!("---\nname: {written}\ndescription: d\n---\n").as_bytes(), directory))
    };
    assert_eq!(name("u\u{308}ber", "über"), "", "composed or not");
    assert_eq!(name("ｐｄｆ", "pdf"), "", "compatibility characters");
    assert_eq!(name("' pdf '", "pdf"), "", "blanks around a name are no part of it");
    assert_eq!(name("pdf", " pdf "), "2:7 name_mismatch!", "blanks around a directory's name are");
    assert_eq!(name("क\u{93e}", "क\u{93e}"), "2:7 invalid_name!", "vowel signs are no letters");
    assert_eq!(name("PDF", "pdf"), "2:7 invalid_name!, 2:7 name_mismatch!");
}

#[test]
fn tabs_belong_into_quotes_blocks_and_comments() {
    assert_eq!(more("license: 'a\tb'"), "");
    assert_eq!(more("license: |\n  a\tb"), "");
    assert_eq!(more("license: a #\tb"), "");
    assert_eq!(more("license: a\tb"), "4:11 not_strict_yaml!");
    assert_eq!(more("license: 'a'\t"), "4:13 not_strict_yaml!");
    assert_eq!(more("license: |\t\n  a"), "4:11 not_strict_yaml!");
    assert_eq!(more("\t# comment"), "4:1 not_strict_yaml!");
    assert_eq!(found(&validate(b"---\t\nname: pdf\ndescription: d\n---\n", "pdf")), "1:4 not_strict_yaml!");
}

#[test]
fn yaml_that_the_reference_refuses() {
    assert_eq!(more("metadata:\n  a: [b]"), "5:6 not_strict_yaml!");
    assert_eq!(more("metadata:\n  a: &x b"), "5:6 not_strict_yaml!");
    assert_eq!(more("metadata:\n  a: !!str b"), "5:6 yaml_tag!");
    assert_eq!(more("metadata:\n  ? - a\n  : b"), "5:5 not_strict_yaml!");
    assert_eq!(more("metadata:\n  <<: a"), "5:3 not_strict_yaml!");
    assert_eq!(more("metadata:\n  <<:\n    a: b"), "");
    assert_eq!(more("metadata:\n  a:\n    b: c\n  d:\n      e: f"), "8:7 not_strict_yaml!");
    assert_eq!(more("license: |\n  a\u{2028}b"), "5:4 not_strict_yaml!");
    assert_eq!(more("license: \"a\0b\""), "4:12 yaml_repaired!");
    assert_eq!(against("...\nname: pdf\ndescription: d"), "2:1 not_strict_yaml!");
    assert_eq!(more("...\n# end"), "");
    assert_eq!(more("...\n..."), "5:1 not_strict_yaml!");
    assert_eq!(against("name: pdf\ndescription: ="), "3:14 not_strict_yaml!");
    assert_eq!(against("\u{feff}name: pdf\ndescription: d"), "2:1 not_strict_yaml!");
    assert_eq!(against("name: pdf\ndescription: \"\\x1f\""), "3:14 missing_field!");
}

#[test]
fn three_hyphens_inside_may_cut_the_front_matter() {
    assert_eq!(against("name: pdf\ndescription: 'a --- b'"), "3:17 not_strict_yaml!", "cut, the quote is open");
    assert_eq!(against("name: pdf\ndescription: a --- b"), "3:16 not_strict_yaml", "cut, it is still valid");
    assert_eq!(against("name: pdf\n# --- x\ndescription: d"), "3:3 not_strict_yaml!", "cut, a field is missing");
}

#[test]
fn quoted_texts_may_go_on_at_the_margin() {
    assert_eq!(against("name: pdf\ndescription: 'a\nb'"), "4:1 yaml_repaired");
    assert_eq!(against("name: pdf\ndescription: 'a\n\0b'"), "4:1 yaml_repaired, 4:1 yaml_repaired!");
}

#[test]
fn bodies_are_text() {
    let file = b"---\nname: pdf\ndescription: d\n---\n# Body\ncaf\xE9\n";
    assert_eq!(found(&validate(file, "pdf")), "6:4 not_utf8!");
}

#[test]
fn places_are_those_of_the_file_after_a_repair() {
    assert_eq!(
        against("description: Use when: asked\nname: pdf\nversion: 1\nmetadata:\n  a: [b]"),
        "2:22 yaml_repaired!, 4:1 unknown_field!, 6:6 not_strict_yaml!"
    );
}
