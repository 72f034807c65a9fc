//! `DiscoveryInfo` agrees with `Parsed`: for generated files, the vectors, the fuzzer's seeds, and all of them with
//! lines inserted.
#![allow(clippy::unwrap_used, reason = "a test says by panicking what is wrong")]

use std::path::Path;

use skillcue_bench::TreeOptions;
use skillcue_format::split::{FrontMatterScan, scan};
use skillcue_format::{DiscoveryInfo, FileKind, Manifest, Parsed, YamlText, brief, split_tools};

/// Lines that a listing depends on.
const LINES: &[&str] = &[
    "version: \"\"",
    "version: ''",
    "version: |",
    "version: ~",
    "version:",
    "version: \" \"",
    "version: 1.10",
    "version: '1.10'",
    "version: \"1\\t2\"",
    "version: [1, 2]",
    "version: # none",
    "version: &v 1.0",
    "version: !!str 1.0",
    "metadata:\n  version: \"2.0\"",
    "metadata:\n  version: \"\"",
    "metadata: {version: 3, model: opus}",
    "metadata: '{\"version\": \"4\"}'",
    "metadata: text",
    "metadata: ~",
    "metadata: [version]",
    "version: 1\nversion: 2",
    "version: \"\"\nmetadata:\n  version: 2",
    "allowed-tools: Read",
    "allowed_tools: []",
    "model: opus",
    "types: [prompt]",
    "types: prompt",
    "types: [script]",
    "brief_description: Short.",
    "brief-description: \"\"",
    "disable-model-invocation: true",
    "disable_model_invocation: yes",
    "license: a: b",
    "description: Another one.",
    "description: 'It''s: quoted'",
    "description: \"Über\\u00e4\"",
    "description: >\n  Folded\n  text.",
    "description: |-\n  x",
];

fn documents() -> Vec<Vec<u8>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut out = Vec::new();
    let options = TreeOptions { count: 2_000, malformed_permille: 100, mended_permille: 100, ..TreeOptions::default() };
    out.extend((0..options.count).map(|index| options.skill(index).file.into_bytes()));
    let vectors: serde_json::Value =
        serde_json::from_slice(&std::fs::read(root.join("vectors/format.json")).unwrap()).unwrap();
    let cases = vectors["cases"].as_array().unwrap();
    out.extend(cases.iter().filter_map(|case| case["file"].as_str()).map(|file| file.as_bytes().to_vec()));
    for entry in std::fs::read_dir(root.join("fuzz/corpus/parse")).unwrap() {
        out.push(std::fs::read(entry.unwrap().path()).unwrap());
    }
    out
}

/// Returns the file with a line inserted at the start of its front matter, and at the end.
fn variants(file: &[u8]) -> Vec<Vec<u8>> {
    let FrontMatterScan::Found(front) = scan(file, true) else { return Vec::new() };
    let mut out = Vec::new();
    for line in LINES {
        for at in [front.yaml.start, front.yaml.end] {
            let (before, after) = file.split_at(at);
            let end = if before.ends_with(b"\n") { "" } else { "\n" };
            out.push([before, end.as_bytes(), line.as_bytes(), b"\n", after].concat());
        }
    }
    out
}

/// Checks one file, and returns whether it has a listing.
fn check(file: &[u8]) -> bool {
    let FrontMatterScan::Found(front) = scan(file, true) else { return false };
    let info = DiscoveryInfo::of(file, &front);
    let parsed = Parsed::of(file, FileKind::Markdown);
    let shown = String::from_utf8_lossy(file);
    assert_eq!(info.name.as_ref(), parsed.manifest.as_ref().map(Manifest::name), "{shown}");
    assert_eq!(info.diagnostics, parsed.diagnostics, "{shown}");
    // Without a manifest there is no skill to list.
    let (Some(listing), Some(manifest)) = (info.listing, parsed.manifest) else { return false };
    let yaml = std::str::from_utf8(&file[front.yaml]).unwrap();
    let description = match &listing.description {
        YamlText::Verbatim(range) => &yaml[range.clone()],
        YamlText::Decoded(text) => text,
    };
    assert_eq!(description, manifest.description(), "{shown}");
    assert_eq!(listing.version.map(|version| &yaml[version]), manifest.version(), "{shown}");
    assert_ne!(manifest.version(), Some(""), "an empty one cannot be told from none: {shown}");
    let tools = listing.allowed_tools.map_or("", |tools| &yaml[tools]);
    assert!(manifest.allowed_tools().eq(split_tools(tools)), "{shown}");
    assert_eq!(listing.model.map(|model| &yaml[model]), manifest.model(), "{shown}");
    assert_ne!(manifest.model(), Some(""), "an empty one cannot be told from none: {shown}");
    assert!(manifest.types().all(|kind| kind == "prompt"), "{shown}");
    assert_eq!(manifest.brief(), brief(manifest.description()), "{shown}");
    assert!(!manifest.disable_model_invocation(), "{shown}");
    true
}

#[test]
fn a_listing_is_what_the_manifest_says() {
    let documents = documents();
    let listed = documents.iter().filter(|file| check(file)).count();
    assert!(listed > 100, "only {listed} of {} had a listing", documents.len());
    let few = documents.iter().step_by(100).chain(&documents[2_000..]);
    let listed = few.flat_map(|file| variants(file)).filter(|file| check(file)).count();
    assert!(listed > 100, "only {listed}");
}

#[test]
fn an_empty_version_is_not_listed() {
    let listing = |line: &str| {
        let file = format!("---\nname: pdf\ndescription: Reads.\n{line}\n---\n");
        let FrontMatterScan::Found(front) = scan(file.as_bytes(), true) else { panic!("{file}") };
        let listing = DiscoveryInfo::of(file.as_bytes(), &front).listing?;
        let YamlText::Verbatim(description) = listing.description else { panic!("{file}") };
        Some((description, listing.version))
    };
    for line in ["version: \"\"", "version: ''", "metadata:\n  version: \"\"", "model: ''", "allowed-tools: [Read]"] {
        assert_eq!(listing(line), None, "{line}");
    }
    for line in ["version:", "version: ~", "license: MIT"] {
        assert_eq!(listing(line), Some((23..29, None)), "{line}");
    }
    assert_eq!(listing("version: \"1\""), Some((23..29, Some(40..41))));
}
