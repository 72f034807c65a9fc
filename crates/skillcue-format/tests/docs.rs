//! The documentation agrees with the code.
#![allow(clippy::unwrap_used, reason = "a test says by panicking what is wrong")]

use std::collections::BTreeMap;

use skillcue_format::Code;

const PAGE: &str = include_str!("../../../docs/reference/diagnostics.md");

#[test]
fn every_code_is_explained_as_it_is() {
    // `| code | severity | meaning | example | what to do |`
    let mut rows = BTreeMap::new();
    for line in PAGE.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<_> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        if let Some(word) = cells[0].strip_prefix('`').and_then(|word| word.strip_suffix('`')) {
            assert_eq!(cells.len(), 5, "{line}");
            assert!(cells.iter().all(|cell| !cell.is_empty()), "{line}");
            assert!(rows.insert(word, (cells[1], cells[2])).is_none(), "{word} is there twice");
        }
    }
    for code in Code::ALL {
        let row = rows.remove(code.as_str());
        let due = (code.severity().as_str(), code.meaning());
        assert_eq!(row, Some(due), "docs/reference/diagnostics.md has another row for `{}`, or none", code.as_str());
    }
    assert!(rows.is_empty(), "there are no such codes: {rows:?}");
}
