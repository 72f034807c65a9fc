//! Every class of broken file that was counted in public skills: how lenient reading reads it, and what strict rules
//! report.
//!
//! The fixtures are seeds of the fuzzer as well: `fuzz/corpus/parse/wild-*`.
#![allow(clippy::unwrap_used, reason = "a test says by panicking what is wrong")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use skillcue_format::{Code, Diagnostic, FileKind, Manifest, Parsed, lint, validate};

#[path = "support/parse_target.rs"]
mod parse_target;

/// Class; `name: description` or `-`, with what was found; what strict rules found in a directory called `pdf`.
/// Places are `line:column`, and `!` marks an error.
#[rustfmt::skip]
const WILD: &[(&str, &str, &str)] = &[
    ("unquoted-colon", "pdf: Use when: the user has a PDF | 3:22 yaml_repaired", "3:22 yaml_repaired!"),
    ("unquoted-colon-over-lines", "pdf: Reads PDF files. Use when: the user has one | 4:11 yaml_repaired", "4:11 yaml_repaired!"),
    ("starts-with-at", "pdf: @mention first | 3:14 yaml_repaired", "3:14 yaml_repaired!"),
    ("starts-with-backtick", "pdf: `pdf` reads | 3:14 yaml_repaired", "3:14 yaml_repaired!"),
    ("starts-with-percent", "pdf: %d pages | 3:14 yaml_repaired", "3:14 yaml_repaired!"),
    ("starts-with-star", "pdf: *Fast* PDF reader | 3:14 yaml_repaired", "3:14 yaml_repaired!"),
    ("allowed-tools-star", "pdf: Reads PDF files. | 4:16 yaml_repaired", "4:16 yaml_repaired!"),
    ("text-after-quote", "pdf: \"Reads PDF\" and more | 3:14 yaml_repaired", "3:14 yaml_repaired!"),
    ("quote-not-indented", "pdf: Reads PDF files. | 4:1 yaml_repaired", "4:1 yaml_repaired"),
    ("backslash-in-quotes", "pdf: Reads C:\\Users\\x | 3:23 yaml_repaired", "3:23 yaml_repaired!"),
    ("brackets-twice", "pdf: Reads PDF files. | 4:16 yaml_repaired", "4:1 unknown_field!, 4:16 yaml_repaired!"),
    ("template-alone", "- | 2:7 invalid_name!, 3:14 wrong_type", "2:7 not_strict_yaml!, 2:7 invalid_name!, 3:14 not_strict_yaml!, 3:14 wrong_type!"),
    ("template-and-text", "pdf: {{description}} for PDF | 3:14 yaml_repaired", "3:14 yaml_repaired!"),
    ("conflict-markers", "- | 3:1 yaml_syntax!", "3:1 yaml_syntax!"),
    ("duplicate-key", "pdf: Reads PDF files. | 3:1 duplicate_key", "3:1 duplicate_key!"),
    ("two-front-matters", "pdf: Reads PDF files.", ""),
    ("git-symlink", "- | 1:1 no_front_matter!", "1:1 no_front_matter!"),
    ("no-front-matter", "- | 1:1 no_front_matter!", "1:1 no_front_matter!"),
    ("code-fence", "pdf: Reads PDF files. | 1:1 leading_text", "1:1 leading_text!"),
    ("comment-before", "pdf: Reads PDF files. | 1:1 leading_text", "1:1 leading_text!"),
    ("blank-lines-before", "pdf: Reads PDF files. | 1:1 leading_blank", "1:1 leading_blank!"),
    ("never-closed", "- | 1:1 unclosed_front_matter!", "1:1 unclosed_front_matter!"),
    ("crlf", "pdf: Reads PDF files.", ""),
    ("mixed-line-ends", "pdf: Reads PDF files.", ""),
    ("lone-cr", "pdf: Reads PDF files.", ""),
    ("lone-cr-and-broken", "pdf: Use when: asked | 3:22 yaml_repaired", "3:22 yaml_repaired!"),
    ("bom", "pdf: Reads PDF files.", ""),
    ("nul-byte", "pdf: Reads PDF files. | 3:19 yaml_repaired", "3:19 yaml_repaired!"),
    ("empty-file", "- | 1:1 no_front_matter!", "1:1 no_front_matter!"),
    ("tab-indentation", "pdf: Reads PDF files. | 5:1 yaml_repaired", "5:1 yaml_repaired!"),
    ("name-boolean", "yes: Reads PDF files.", "2:7 name_mismatch!"),
    ("name-list", "pdf: Reads PDF files. | 2:7 wrong_type", "2:7 not_strict_yaml!, 2:7 wrong_type, 2:7 invalid_name!"),
    ("name-list-of-two", "- | 3:3 invalid_name!", "3:3 invalid_name!"),
    ("no-name", "- | 2:1 missing_field!", "2:1 missing_field!"),
    ("no-description", "- | 2:1 missing_field!", "2:1 missing_field!"),
    ("description-null", "- | 3:14 missing_field!", "3:14 missing_field!"),
    ("description-empty", "- | 3:13 missing_field!", "3:13 missing_field!"),
    ("metadata-json", "pdf: Reads PDF files. | 4:11 wrong_type", "4:11 wrong_type"),
    ("metadata-null", "pdf: Reads PDF files.", ""),
    ("metadata-text", "pdf: Reads PDF files. | 4:11 wrong_type", "4:11 wrong_type"),
    ("metadata-list", "pdf: Reads PDF files. | 5:3 wrong_type", "5:3 wrong_type"),
    ("version-float", "pdf: Reads PDF files.", "4:1 unknown_field!"),
    ("version-integer", "pdf: Reads PDF files.", "4:1 unknown_field!"),
    ("argument-hint-list", "pdf: Reads PDF files. | 4:16 wrong_type", "4:1 unknown_field!, 4:16 not_strict_yaml!, 4:16 wrong_type"),
    ("argument-hint-block-list", "pdf: Reads PDF files. | 5:3 wrong_type", "4:1 unknown_field!, 5:3 wrong_type"),
    ("model-map", "pdf: Reads PDF files. | 5:3 wrong_type", "4:1 unknown_field!, 5:3 wrong_type"),
    ("triggers-list", "pdf: Reads PDF files.", "4:1 unknown_field!"),
    ("triggers-map", "pdf: Reads PDF files. | 5:13 wrong_type, 6:3 wrong_type", "4:1 unknown_field!, 5:13 wrong_type, 6:3 wrong_type"),
    ("triggers-text", "pdf: Reads PDF files. | 4:11 wrong_type", "4:1 unknown_field!, 4:11 wrong_type"),
    ("compatibility-map", "pdf: Reads PDF files. | 5:3 wrong_type", "5:3 wrong_type!"),
    ("compatibility-list", "pdf: Reads PDF files. | 5:3 wrong_type", "5:3 wrong_type!"),
    ("allowed-tools-list", "pdf: Reads PDF files.", "4:16 not_strict_yaml!"),
    ("allowed-tools-null", "pdf: Reads PDF files.", ""),
    ("unknown-fields", "pdf: Reads PDF files.", "4:1 unknown_field!, 5:1 unknown_field!, 5:7 not_strict_yaml!"),
    ("block-scalar", "pdf: Reads PDF files.", ""),
    ("several-lines", "pdf: Reads PDF files.", ""),
    ("xml-tag", "pdf: Use for <pdf>files</pdf>", ""),
    ("zero-width", "pdf: Reads PDF files.", ""),
    ("name-upper-case", "pdf: Reads PDF files. | 2:7 name_canonicalised", "2:7 invalid_name!, 2:7 name_mismatch!"),
    ("name-spaces", "pdf-tools: Reads PDF files. | 2:7 name_canonicalised", "2:7 invalid_name!, 2:7 name_mismatch!"),
    ("name-underscore", "pdf-tools: Reads PDF files. | 2:7 name_canonicalised", "2:7 invalid_name!, 2:7 name_mismatch!"),
    ("name-slash", "- | 2:7 invalid_name!", "2:7 invalid_name!, 2:7 name_mismatch!"),
    ("name-climbs", "- | 2:7 invalid_name!", "2:7 invalid_name!, 2:7 name_mismatch!"),
    ("name-colon", "- | 2:7 invalid_name!", "2:7 invalid_name!, 2:7 name_mismatch!"),
    ("name-differs", "docx: Reads PDF files.", "2:7 name_mismatch!"),
    ("description-long", "pdf: word word word word word word word word word word ", "4:3 too_long!"),
    ("cjk", "pdf: 处理 PDF 文件。当用户提到 PDF 时使用。", ""),
    ("comment-cuts-value", "pdf: Reads PDF", ""),
    ("fence-in-a-value", "pdf: Reads --- and writes", "3:21 not_strict_yaml!"),
];

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/parse")
}

fn file(class: &str) -> Vec<u8> {
    std::fs::read(corpus().join(format!("wild-{class}"))).unwrap()
}

fn found(diagnostics: &[Diagnostic]) -> String {
    let one = |it: &Diagnostic| {
        let place = it.place.unwrap();
        format!("{}:{} {}{}", place.line, place.column, it.code.as_str(), if it.is_error() { "!" } else { "" })
    };
    diagnostics.iter().map(one).collect::<Vec<_>>().join(", ")
}

#[test]
fn every_class_is_read_as_far_as_it_can_be() {
    for (class, lenient, strict) in WILD {
        let file = file(class);
        let parsed = Parsed::of(&file, FileKind::Markdown);
        let read = parsed.manifest.as_ref().map_or("-".to_owned(), |manifest| {
            format!("{}: {}", manifest.name(), manifest.description().chars().take(50).collect::<String>())
        });
        let remarks = found(&parsed.diagnostics);
        let seen = if remarks.is_empty() { read } else { format!("{read} | {remarks}") };
        assert_eq!(seen, *lenient, "{class}");
        assert_eq!(found(&validate(&file, "pdf")), *strict, "{class}, strictly");
        assert!(parsed.diagnostics.iter().all(|it| it.help.is_some()), "{class}: what to do?");
    }
}

fn manifest(class: &str) -> Manifest {
    Parsed::of(&file(class), FileKind::Markdown).manifest.unwrap_or_else(|| panic!("{class} is not read"))
}

#[test]
fn types_that_drift() {
    assert_eq!(manifest("version-float").version(), Some("1.10"), "as written");
    assert_eq!(manifest("version-integer").version(), Some("2"));
    assert_eq!(manifest("metadata-json").version(), Some("1.0"));
    assert_eq!(*manifest("metadata-json").triggers().keywords, ["pdf".into()]);
    assert_eq!(manifest("argument-hint-list").argument_hint(), Some("[FILE]"), "as written");
    assert_eq!(manifest("argument-hint-block-list").argument_hint(), Some("FILE, PAGES"));
    assert_eq!(manifest("brackets-twice").argument_hint(), Some("[file] [pages]"));
    assert_eq!(manifest("model-map").model(), Some("{name: opus, effort: high}"));
    for class in ["triggers-list", "triggers-map", "triggers-text"] {
        assert_eq!(*manifest(class).triggers().keywords, ["pdf".into(), "forms".into()], "{class}");
    }
    assert_eq!(manifest("compatibility-map").compatibility(), Some("{os: linux}"));
    assert_eq!(manifest("compatibility-list").compatibility(), Some("git, node"));
    assert_eq!(manifest("allowed-tools-list").allowed_tools().collect::<Vec<_>>(), ["Read", "Bash(git add:*)"]);
    assert_eq!(manifest("allowed-tools-star").allowed_tools().collect::<Vec<_>>(), ["*"]);
    assert_eq!(manifest("allowed-tools-null").allowed_tools().len(), 0);
    assert_eq!(manifest("tab-indentation").version(), Some("1.0"));
}

#[test]
fn style_sees_what_reading_does_not_mind() {
    let codes = |class| lint(&file(class), FileKind::Markdown, &|_| true).iter().map(|it| it.code).collect::<Vec<_>>();
    assert!(codes("xml-tag").contains(&Code::XmlInDescription));
    assert!(codes("zero-width").contains(&Code::InvisibleText));
    assert!(codes("two-front-matters").contains(&Code::SecondFrontMatter));
    assert!(codes("comment-cuts-value").contains(&Code::CommentCutsValue));
    assert!(codes("version-float").contains(&Code::NotPortable));
}

#[test]
fn hopeless_files_say_why() {
    let help = |class| Parsed::of(&file(class), FileKind::Markdown).diagnostics[0].help.clone().unwrap();
    assert!(help("git-symlink").contains("git symlink"));
    assert!(help("empty-file").contains("empty"));
    assert!(help("conflict-markers").contains("markers"));
}

#[test]
fn bodies_are_left_alone() {
    for (class, body) in [
        ("code-fence", "```\n# Body\n"),
        ("comment-before", "# Body\n"),
        ("lone-cr", "# Body\r"),
        ("two-front-matters", "---\nname: x\ndescription: y\n---\n# Body\n"),
        ("unquoted-colon", "# Body\n"),
    ] {
        let file = file(class);
        assert_eq!(&file[Parsed::of(&file, FileKind::Markdown).body..], body.as_bytes(), "{class}");
    }
}

#[test]
fn the_fuzzer_starts_from_all_of_them() {
    let mut contents = BTreeSet::new();
    let mut classes = BTreeSet::new();
    for entry in std::fs::read_dir(corpus()).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        if name.starts_with('.') {
            continue;
        }
        let content = std::fs::read(entry.path()).unwrap();
        parse_target::run(&content);
        contents.insert(content);
        classes.extend(name.strip_prefix("wild-").map(str::to_owned));
    }
    assert_eq!(classes, WILD.iter().map(|(class, ..)| (*class).to_owned()).collect());
    let vectors: serde_json::Value = serde_json::from_str(include_str!("../../../vectors/format.json")).unwrap();
    for case in vectors["cases"].as_array().unwrap() {
        let file = case["file"].as_str().unwrap();
        assert!(contents.contains(file.as_bytes()), "add it to fuzz/corpus/parse: {file:?}");
    }
}
