//! Checks that hold for any bytes, from the fuzzer, its corpus, or chance.

use skillcue_format::split::{FrontMatterScan, scan};
use skillcue_format::{Diagnostic, DiscoveryInfo, FileKind, Parsed, lint, validate, write};

/// Reads `data` in every way there is, and panics if two of them do not fit together.
pub(crate) fn run(data: &[u8]) {
    for kind in [FileKind::Markdown, FileKind::Yaml] {
        let parsed = Parsed::of(data, kind);
        assert!(parsed.body <= data.len());
        let failed = parsed.diagnostics.iter().any(Diagnostic::is_error);
        assert_eq!(parsed.manifest.is_none(), failed, "no manifest, or an error: {:?}", parsed.diagnostics);
        fast_path_agrees(data, kind, &parsed);
        repair_is_final(data, kind, &parsed);
        writing_is_stable(&parsed);
        lint(data, kind, &|_| false);
    }
    let parsed = Parsed::of(data, FileKind::Markdown);
    let strict = validate(data, "pdf");
    let valid = !strict.iter().any(Diagnostic::is_error);
    assert!(parsed.manifest.is_some() || !valid, "what cannot be read is not valid");
    prefixes_agree(data, &parsed);
}

fn fast_path_agrees(data: &[u8], kind: FileKind, parsed: &Parsed<'_>) {
    let full = Parsed::thorough(data, kind);
    assert_eq!(parsed.manifest, full.manifest);
    assert_eq!(parsed.diagnostics, full.diagnostics);
    assert_eq!(parsed.edits, full.edits);
    match (&parsed.raw, &full.raw) {
        (Some(fast), Some(full)) => assert!(fast.is_equivalent(full), "{fast:?}\n{full:?}"),
        (fast, full) => assert_eq!(fast, full),
    }
}

fn repair_is_final(data: &[u8], kind: FileKind, parsed: &Parsed<'_>) {
    let fixed = parsed.repaired(data);
    if parsed.edits.is_empty() {
        assert_eq!(fixed, data, "what is not broken is not mended");
        return;
    }
    let again = Parsed::of(&fixed, kind);
    assert!(again.edits.is_empty(), "{:?}", again.edits);
    assert_eq!(again.manifest, parsed.manifest);
    assert_eq!(&fixed[again.body..], &data[parsed.body..], "the body is untouched");
}

fn writing_is_stable(parsed: &Parsed<'_>) {
    let Some(raw) = &parsed.raw else { return };
    let written = write::block(raw);
    let again = Parsed::of(written.as_bytes(), FileKind::Yaml);
    assert!(again.edits.is_empty(), "{written:?}");
    let Some(reread) = again.raw else { panic!("{written:?} does not parse: {:?}", again.diagnostics) };
    assert_eq!(write::block(&reread), written);
}

/// Checks prefixes of a file and its `DiscoveryInfo`, as discovery reads it piece by piece.
fn prefixes_agree(data: &[u8], parsed: &Parsed<'_>) {
    let truth = scan(data, true);
    let step = (data.len() / 64).max(1);
    for cut in (0..data.len()).step_by(step) {
        let seen = scan(&data[..cut], false);
        assert!(seen == FrontMatterScan::NeedMore || seen == truth, "after {cut} bytes {seen:?}, after all {truth:?}");
    }
    if let FrontMatterScan::Found(front) = truth {
        let info = DiscoveryInfo::of(data, &front);
        assert_eq!(info.name.as_ref(), parsed.manifest.as_ref().map(skillcue_format::Manifest::name));
        assert_eq!(info.diagnostics, parsed.diagnostics);
    }
}
