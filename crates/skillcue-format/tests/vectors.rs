//! The golden cases of the specification, and properties of any bytes at all.
#![allow(clippy::unwrap_used, reason = "a test says by panicking what is wrong")]

use proptest::prelude::*;
use serde_json::{Value, json};
use skillcue_format::{Code, Diagnostic, FileKind, Manifest, Node, Parsed, lint, validate, write};

fn cases() -> Vec<Value> {
    let file: Value = serde_json::from_str(include_str!("../../../vectors/format.json")).unwrap();
    let cases = file["cases"].as_array().unwrap().clone();
    assert!(cases.len() > 20, "{} cases", cases.len());
    cases
}

fn as_json(manifest: &Manifest, raw: &Node<'_>) -> Value {
    json!({
        "name": manifest.name(),
        "description": manifest.description(),
        "version": manifest.version(),
        "allowed_tools": manifest.allowed_tools().collect::<Vec<_>>(),
        "triggers": manifest.triggers(),
        "types": manifest.types().collect::<Vec<_>>(),
        "raw": raw,
    })
}

/// Returns whether every key of `expect` is in `got` with the same value; `got` may have more.
fn includes(got: &Value, expect: &Value) -> bool {
    match (got, expect) {
        (Value::Object(got), Value::Object(expect)) => {
            expect.iter().all(|(key, value)| got.get(key).is_some_and(|got| includes(got, value)))
        }
        _ => got == expect,
    }
}

#[test]
fn format_vectors() {
    let cases = cases();
    assert!(cases.len() >= 25, "the vectors are there");
    for case in &cases {
        let file = case["file"].as_str().unwrap();
        let parsed = Parsed::of(file.as_bytes(), FileKind::Markdown);
        let found = &parsed.diagnostics;
        if let Some(code) = case["error"].as_str() {
            let errors: Vec<_> = found.iter().filter(|d| d.is_error()).map(|d| d.code.as_str()).collect();
            assert_eq!(errors, [code], "{file}");
            assert!(parsed.manifest.is_none(), "{file}");
        } else if case["error_or_repaired"] == true {
            assert!(!found.is_empty(), "{file}");
        } else {
            let manifest = parsed.manifest.as_ref().unwrap_or_else(|| panic!("{file}: {found:?}"));
            let got = as_json(manifest, parsed.raw.as_ref().unwrap());
            assert!(includes(&got, &case["expect"]), "{file}\ngot {got}\nexpected {}", case["expect"]);
            assert_eq!(!found.is_empty(), case["repaired"] == true, "{file}: {found:?}");
            if let Some(body) = case["body"].as_str() {
                assert_eq!(&file[parsed.body..], body, "{file}");
            }
        }
        for finding in found {
            assert!(finding.place.is_some() && finding.help.is_some(), "{finding}");
        }
        if let Some(ok) = case["strict_ok"].as_bool() {
            let found = validate(file.as_bytes(), case["dir"].as_str().unwrap());
            assert_eq!(!found.iter().any(Diagnostic::is_error), ok, "{file}: {found:?}");
        }
    }
}

#[test]
fn repaired_files_need_no_repair_and_change_nothing_else() {
    for case in cases() {
        let file = case["file"].as_str().unwrap();
        let parsed = Parsed::of(file.as_bytes(), FileKind::Markdown);
        let fixed = parsed.repaired(file.as_bytes());
        if parsed.edits.is_empty() {
            assert_eq!(fixed, file.as_bytes());
            continue;
        }
        let again = Parsed::of(&fixed, FileKind::Markdown);
        assert!(again.edits.is_empty());
        assert_eq!(
            again.manifest.map(|m| m.description().to_owned()),
            parsed.manifest.map(|m| m.description().to_owned())
        );
        assert_eq!(&fixed[again.body..], &file.as_bytes()[parsed.body..], "the body is untouched");
    }
}

#[test]
fn yaml_skills() {
    let parsed = Parsed::of(
        b"name: a\ndescription: d\nversion: 1.0.0\ntypes: [prompt, tool]\nprompt:\n  system_prompt_file: p.md\n",
        FileKind::Yaml,
    );
    let manifest = parsed.manifest.unwrap();
    assert_eq!(manifest.types().collect::<Vec<_>>(), ["prompt", "tool"]);
    assert_eq!(manifest.prompt_file(), Some("p.md"));
    let parsed = Parsed::of(b"name: a\ndescription: d\n", FileKind::Yaml);
    assert_eq!(parsed.diagnostics[0].code, Code::MissingField, "a version is required");
}

#[test]
fn extensions_are_read_in_both_places() {
    let of = |yaml: &str| {
        Parsed::front_matter(Box::leak(yaml.to_owned().into_boxed_str()), 2, FileKind::Markdown).manifest.unwrap()
    };
    let top = of(
        "name: a\ndescription: d\nversion: 2\npriority: 7\ntriggers: [x, y]\nrequires: [git]\ndefault_enabled: false\n",
    );
    let below = of(
        "name: a\ndescription: d\nmetadata:\n  version: 2\n  priority: 7\n  triggers: [x, y]\n  requires: [git]\n  default_enabled: false\n",
    );
    assert_eq!(top, below);
    assert_eq!(top.priority(), 7);
    assert_eq!(top.triggers().keywords.len(), 2);
    assert!(!top.default_enabled());
    let json = of("name: a\ndescription: d\nmetadata: '{\"version\": \"2\", \"triggers\": {\"keywords\": [\"x\"]}}'\n");
    assert_eq!((json.version(), json.triggers().keywords.len()), (Some("2"), 1));
}

#[test]
fn permissions_are_asked_for_in_either_place() {
    let of = |yaml: &'static str| Parsed::front_matter(yaml, 2, FileKind::Markdown);
    let top =
        of("name: a\ndescription: d\npermissions:\n  read: [~/notes]\n  write: out\n  network: true\n  env: A, B\n");
    let below = of("name: a\ndescription: d\nmetadata:\n  permissions:\n    network: true\n");
    let asked = top.manifest.as_ref().unwrap().permissions().unwrap();
    assert_eq!(asked.to_string(), "reading ~/notes, writing out, the network, the variables A, B");
    assert!(below.manifest.unwrap().permissions().unwrap().network);
    assert!(of("name: a\ndescription: d\npermissions: {network: false}\n").manifest.unwrap().permissions().is_none());

    let odd = of("name: a\ndescription: d\npermissions:\n  runtime: node\n  root: true\n");
    assert!(odd.manifest.unwrap().permissions().is_none());
    let found: Vec<_> = odd.diagnostics.iter().map(|found| &*found.message).collect();
    assert_eq!(
        found,
        [
            "`permissions` has no part called `runtime`; it is ignored",
            "`permissions` has no part called `root`; it is ignored"
        ]
    );
    let list = of("name: a\ndescription: d\npermissions: [network]\n");
    assert!(list.manifest.unwrap().permissions().is_none(), "nothing is guessed here");
    assert_eq!(list.diagnostics.len(), 1);
}

#[test]
fn drifted_types_are_coerced_and_reported() {
    let parsed = Parsed::of(
        b"---\nname: [a, b]\ndescription: d\nargument-hint: [file]\nversion: 1.50\npriority: high\nuser-invocable: no\nmodel: {a: b}\n---\n",
        FileKind::Markdown,
    );
    assert!(
        parsed.diagnostics.iter().any(|d| d.code == Code::InvalidName),
        "two names are none: {:?}",
        parsed.diagnostics
    );
    let parsed = Parsed::of(
        b"---\nname: yes\ndescription: d\nargument-hint: [file]\nversion: 1.50\npriority: high\nuser-invocable: no\nmodel: {a: b}\n---\n",
        FileKind::Markdown,
    );
    let manifest = parsed.manifest.unwrap();
    assert_eq!(manifest.name().as_str(), "yes");
    assert_eq!(manifest.argument_hint(), Some("[file]"));
    assert_eq!(manifest.version(), Some("1.50"));
    assert!(!manifest.user_invocable());
    assert_eq!(parsed.diagnostics.iter().filter(|d| d.code == Code::WrongType).count(), 4, "{:?}", parsed.diagnostics);
}

#[test]
fn text_that_is_not_utf8_is_reported_with_its_place() {
    let parsed = Parsed::of(b"---\nname: a\ndescription: \xFFx\n---\n", FileKind::Markdown);
    assert_eq!(parsed.diagnostics[0].code, Code::NotUtf8);
    let place = parsed.diagnostics[0].place.unwrap();
    assert_eq!((place.line, place.column), (3, 14));
    // Only the front matter must be text for discovery: what follows is not looked at.
    assert!(Parsed::of(b"---\nname: a\ndescription: d\n---\n\xFF", FileKind::Markdown).manifest.is_some());
}

#[test]
fn lists_in_the_wrong_or_in_open_brackets_are_lists() {
    for list in ["{read, write}", "{read, write", "[\"read\", \"write", "[read, # one\n  'write # two"] {
        let file = format!("---\nname: a\nallowed-tools: {list}\ndescription: d\nversion: 2.0\n---\n");
        let parsed = Parsed::of(file.as_bytes(), FileKind::Markdown);
        let manifest = parsed.manifest.unwrap();
        assert_eq!(manifest.allowed_tools().collect::<Vec<_>>(), ["read", "write"], "{list}");
        assert_eq!((manifest.description(), manifest.version()), ("d", Some("2.0")), "{list}");
        assert!(!parsed.diagnostics.is_empty(), "{list}");
    }
}

/// Generates bytes as files have them: fragments of front matter, broken in all ways.
fn files() -> impl Strategy<Value = Vec<u8>> {
    let bits = prop::sample::select(vec![
        &b"---\n"[..],
        b"---",
        b"name: a\n",
        b"description: ",
        b"x: y",
        b"\n",
        b"  ",
        b"- ",
        b"[",
        b"]",
        b"{",
        b"}",
        b": ",
        b"#",
        b"\"",
        b"'",
        b"|\n",
        b">\n",
        b"\xFF",
        b"\x00",
        b"\t",
        b"\r\n",
        b"&a ",
        b"*a",
        b"!!str ",
        b"%",
        b"@",
        b"`",
        b"\xEF\xBB\xBF",
        "é".as_bytes(),
        "表".as_bytes(),
        b"triggers:\n",
        b"  keywords: [a, b]\n",
        b"metadata:\n",
        b"version: 1.0\n",
        b"\\",
        b"? ",
        b"...\n",
        b"allowed-tools: Bash(git add:*)\n",
        b"types: [tool]\n",
        b"<<: *a\n",
        b"name:pdf\n",
    ]);
    prop_oneof![
        prop::collection::vec(bits, 0..40).prop_map(|bits| bits.concat()),
        prop::collection::vec(any::<u8>(), 0..200),
        prop::collection::vec(any::<u8>(), 0..200).prop_map(|bytes| [b"---\n", &bytes[..], b"\n---\nbody"].concat()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, ..ProptestConfig::default() })]

    #[test]
    fn nothing_panics_and_nothing_is_silent(bytes in files()) {
        for kind in [FileKind::Markdown, FileKind::Yaml] {
            let parsed = Parsed::of(&bytes, kind);
            prop_assert!(parsed.body <= bytes.len());
            prop_assert_eq!(parsed.manifest.is_none(), parsed.diagnostics.iter().any(Diagnostic::is_error));
            let _ = parsed.repaired(&bytes);
            let _ = lint(&bytes, kind, &|_| false);
        }
        let strict = validate(&bytes, "a");
        if Parsed::of(&bytes, FileKind::Markdown).manifest.is_none() {
            prop_assert!(strict.iter().any(Diagnostic::is_error), "what cannot be read is not valid");
        }
    }

    #[test]
    fn parse_write_parse_is_stable(bytes in files()) {
        survives_writing(&bytes);
    }
}

/// Checks that writing a file's tree keeps its content.
fn survives_writing(bytes: &[u8]) {
    let Some(raw) = Parsed::of(bytes, FileKind::Yaml).raw else { return };
    let written = write::block(&raw);
    let again = Parsed::of(written.as_bytes(), FileKind::Yaml);
    let reread = again.raw.unwrap_or_else(|| panic!("{written:?} does not parse: {:?}", again.diagnostics));
    assert!(again.edits.is_empty(), "{written:?}");
    assert_eq!(serde_json::to_value(&raw).unwrap(), serde_json::to_value(&reread).unwrap(), "{written}");
    assert_eq!(write::block(&reread), written);
}

#[test]
fn keys_that_are_null_or_empty_survive_writing() {
    for text in [": triggers:\n? |\n", ": a\n\"\": b\n", "\"\": a\n: b\n", "~: a\n\"null\": b\n", "\"null\": a\n~: b\n"]
    {
        survives_writing(text.as_bytes());
    }
    let json = |text: &str| serde_json::to_string(&Parsed::of(text.as_bytes(), FileKind::Yaml).raw).unwrap();
    assert_eq!(json(": a\n\"\": b\n"), r#"{"null":"a","":"b"}"#, "two keys");
    assert_eq!(json("~: a\n\"null\": b\n"), r#"{"null":"a"}"#, "one key in JSON: the first counts");
}
