//! Tests of headings, sections and their names.

use proptest::prelude::*;
use skillcue_base::ErrorInfo as _;

use super::{MAX_HEADINGS, MAX_TITLE_CHARS, Outline, SectionError, slug};

fn titles(body: &str) -> Vec<(u8, String, usize)> {
    let outline = Outline::new(body);
    outline.headings().iter().map(|h| (h.level, h.title.to_string(), h.line)).collect()
}

fn one(level: u8, title: &str, line: usize) -> Vec<(u8, String, usize)> {
    vec![(level, title.to_owned(), line)]
}

#[test]
fn headings_with_marks() {
    assert_eq!(titles("# One"), one(1, "One", 1));
    assert_eq!(titles("   ###### Six ##  \r\n"), one(6, "Six", 1));
    assert_eq!(titles("##\tTab"), one(2, "Tab", 1));
    assert_eq!(titles("# C#"), one(1, "C#", 1));
    assert_eq!(titles("# C #"), one(1, "C", 1));
    assert_eq!(titles("#"), one(1, "", 1));
    assert_eq!(titles("## ##"), one(2, "", 1));
    assert_eq!(titles("text\n# Interrupts"), one(1, "Interrupts", 2));
    for none in ["#hashtag", "####### seven", "    # code", "\t# code", "\\# no", "> # quoted", "- # item", ""] {
        assert_eq!(titles(none), [], "{none:?}");
    }
}

#[test]
fn underlined_headings() {
    assert_eq!(titles("One\n==="), one(1, "One", 1));
    assert_eq!(titles("\nTwo \n  --  \n"), one(2, "Two", 2));
    assert_eq!(titles("Two\nlines\n-"), one(2, "Two lines", 1));
    for none in
        ["\n---\n", "text\n\n---\n", "- item\n---", "> quote\n===", "1. item\n---", "text\n- item\n---", "***\n---"]
    {
        assert_eq!(titles(none), [], "{none:?}");
    }
    assert_eq!(titles("| a | b |\n|---|---|\n| c | d |\n"), [], "a table");
}

#[test]
fn not_in_code() {
    for none in [
        "```\n# a\n```",
        "~~~sh\n# a\n```\n# b\n~~~",
        "````\n```\n# a\n````",
        "- item\n  ```\n  # a\n    ```\n",
        "```\n# never closed",
        "    # a\n\n    # b",
        "text\n    # still text",
        "1. x\n\n    ```\n    # a\n    ```",
    ] {
        assert_eq!(titles(none), [], "{none:?}");
    }
    assert_eq!(titles("```a`b\n# Real"), one(1, "Real", 2));
    assert_eq!(titles("```\n````\n# Real"), one(1, "Real", 3));
    assert_eq!(titles("~~~\n~~~ x\n~~~\n# Real"), one(1, "Real", 4));
}

#[test]
fn not_in_html() {
    for none in [
        "<!--\n# a\n\n# b\n-->",
        "<!-- # a -->",
        "<pre>\n\n# a\n</pre>",
        "<details>\n# a\n",
        "<example>\na\n===\n</example>",
        "text\n<!--\n# a\n-->",
        "<?php\n# a\n?>",
    ] {
        assert_eq!(titles(none), [], "{none:?}");
    }
    assert_eq!(titles("<!-- a -->\n# Real"), one(1, "Real", 2));
    assert_eq!(titles("<details>\n\n# Real"), one(1, "Real", 3));
    assert_eq!(titles("<https://example.com>\n# Real"), one(1, "Real", 2));
    assert_eq!(titles("a <b>\n# Real"), one(1, "Real", 2));
}

#[test]
fn sections_reach_to_the_next_of_their_level() {
    let body = "intro\n# A\na\n### A.x\nax\n## A.y\nay\n# B\n";
    let outline = Outline::new(body);
    let text = |wanted: &str| &body[outline.section(wanted).unwrap().range.clone()];
    assert_eq!(text("A"), "# A\na\n### A.x\nax\n## A.y\nay\n");
    assert_eq!(text("A.x"), "### A.x\nax\n");
    assert_eq!(text("A.y"), "## A.y\nay\n");
    assert_eq!(text("B"), "# B\n");
    assert_eq!(outline.section("B").unwrap().tokens.0, 1);
}

#[test]
fn ways_to_ask() {
    let body = "# Set up\n## Usage\none\n# Run it\n## Usage\ntwo\n## Input/Output\n## `code` & more!\n## Größe\n# 🚀\n";
    let outline = Outline::new(body);
    let line = |wanted: &str| outline.section(wanted).map(|heading| heading.line);
    for (wanted, expected) in [
        ("Set up", 1),
        (" SET UP ", 1),
        ("set-up", 1),
        ("# Set up", 1),
        ("## Set up", 1),
        ("Set up/Usage", 2),
        ("run-it/usage", 5),
        ("Run it / usage", 5),
        ("#usage", 2),
        ("#usage-1", 5),
        ("input/output", 7),
        ("Run it/Input/Output", 0),
        ("code--more", 8),
        ("`code` & more!", 8),
        ("GRÖSSE", 0),
        ("größe", 9),
        ("GRÖßE", 9),
        ("🚀", 10),
        ("nope", 0),
        ("", 0),
        ("/", 0),
        ("#", 10),
        ("Usage/Usage", 0),
    ] {
        assert_eq!(line(wanted).unwrap_or(0), expected, "{wanted:?}");
    }
    assert_eq!(outline.section("usage").unwrap_err().to_string(), "more than one section \"usage\": #usage, #usage-1");
    assert_eq!(outline.section("Useage").unwrap_err().to_string(), "no section \"Useage\"; close headings: Usage");
    assert_eq!(
        outline.section("zzz\n").unwrap_err().to_string(),
        "no section \"zzz\"; headings: Set up, Usage, Run it, Usage, Input/Output, `code` & more!, Größe, 🚀"
    );
    let none = Outline::new("text").section("x").unwrap_err();
    assert_eq!(none.to_string(), "no section \"x\"; the body has no headings");
    assert_eq!(none.hint().unwrap(), "load the whole body");
}

#[test]
fn messages_and_outlines_are_bounded() {
    let body = "# x\n".repeat(MAX_HEADINGS + 10);
    let outline = Outline::new(&body);
    assert_eq!(outline.headings().len(), MAX_HEADINGS);
    assert_eq!(outline.headings()[MAX_HEADINGS - 1].range.end, body.len(), "the rest belongs to the last");
    match outline.section("x").unwrap_err() {
        error @ SectionError::Ambiguous { .. } => {
            assert!(error.to_string().ends_with("#x-9 and 4086 more"), "{error}");
        }
        other => panic!("{other:?}"),
    }
    let long = format!("# {}", "ü".repeat(10_000));
    assert_eq!(Outline::new(&long).headings()[0].title.chars().count(), MAX_TITLE_CHARS);
}

#[test]
fn slugs() {
    for (title, expected) in
        [("Set up", "set-up"), ("C++ & more!", "c--more"), ("snake_case", "snake_case"), ("日本 語", "日本-語")]
    {
        assert_eq!(slug(title), expected);
    }
}

/// Generates bodies from all parts that matter to the scanner.
fn bodies() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "#{1,7}[ \t]?[a-cü #]{0,4}",
        "[ \t]{0,5}[`~]{2,4}[a`]?",
        "[=-]{1,4} ?",
        "[a-cé二 ]{0,5}",
        Just("<!--".to_owned()),
        Just("-->".to_owned()),
        Just("<pre>".to_owned()),
        Just("</pre>".to_owned()),
        Just("> q".to_owned()),
        Just("- i".to_owned()),
        Just("    code".to_owned()),
    ];
    let ending = prop_oneof![5 => Just("\n"), 1 => Just("\r\n"), 1 => Just("\n\n"), 1 => Just("")];
    proptest::collection::vec((piece, ending), 0..40)
        .prop_map(|lines| lines.into_iter().map(|(line, ending)| line + ending).collect())
}

proptest! {
    /// Checks that the sections cover the body: each starts at its heading, on a line of its own, and ends where the
    /// next of its level starts; what a section has of its own, after the text before the first, adds up to the body.
    #[test]
    fn sections_cover_the_body(body in bodies()) {
        let outline = Outline::new(&body);
        let headings = outline.headings();
        let mut whole = body[..headings.first().map_or(body.len(), |h| h.range.start)].to_owned();
        for (index, heading) in headings.iter().enumerate() {
            // Slicing panics inside a character.
            let text = &body[heading.range.clone()];
            prop_assert!(heading.range.start == 0 || body[..heading.range.start].ends_with('\n'));
            prop_assert_eq!(body[..heading.range.start].matches('\n').count() + 1, heading.line);
            prop_assert_eq!(heading.tokens.0, text.len().div_ceil(4));
            let later = &headings[index + 1..];
            let end = later.iter().find(|h| h.level <= heading.level).map_or(body.len(), |h| h.range.start);
            prop_assert_eq!(heading.range.end, end);
            let own_end = later.first().map_or(body.len(), |h| h.range.start);
            whole.push_str(&body[heading.range.start..own_end]);
            let by_anchor = outline.section(&format!("#{}", heading.anchor));
            // An anchor that begins with a blank or a mark cannot be: slugs have none.
            prop_assert_eq!(by_anchor, Ok(heading));
        }
        prop_assert_eq!(whole, body);
    }

    #[test]
    fn nothing_panics(body in "\\PC{0,200}", wanted in "\\PC{0,20}") {
        let _ = Outline::new(&body).section(&wanted).map_err(|error| error.to_string());
    }
}
