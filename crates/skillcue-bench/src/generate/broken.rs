//! Skills that are wrong, in every way that the golden cases list.
//!
//! The cases are read from `vectors/format.json` itself: a way of being malformed that is added there turns up in
//! generated trees without a change here.

use serde::Deserialize;
use std::sync::LazyLock;

const CASES: &str = include_str!("../../../../vectors/format.json");

#[derive(Deserialize)]
struct Vectors<'a> {
    #[serde(borrow)]
    cases: Vec<GoldenCase<'a>>,
}

#[derive(Deserialize)]
struct GoldenCase<'a> {
    file: String,
    // Codes are plain words, so they can be borrowed from the text, which lives for ever.
    error: Option<&'a str>,
    #[serde(default)]
    repaired: bool,
}

/// A case whose reading is an error, with the code of that error.
pub(crate) struct Malformed {
    pub(crate) code: &'static str,
    file: String,
}

/// A case whose reading succeeds with a diagnostic.
pub(crate) struct Mended {
    file: String,
}

/// Both kinds, in the order of the file.
pub(crate) struct Broken {
    pub(crate) malformed: Vec<Malformed>,
    pub(crate) mended: Vec<Mended>,
}

/// The golden cases, read at the first use.
pub(crate) static BROKEN: LazyLock<Broken> = LazyLock::new(|| {
    let vectors: Vectors<'static> =
        serde_json::from_str(CASES).expect("vectors/format.json is part of the crate and tested");
    let mut broken = Broken { malformed: Vec::new(), mended: Vec::new() };
    for GoldenCase { file, error, repaired } in vectors.cases {
        match error {
            Some(code) => broken.malformed.push(Malformed { code, file }),
            None if repaired => broken.mended.push(Mended { file }),
            None => {}
        }
    }
    broken
});

impl Malformed {
    /// The case's file, about the skill `name` where the case's own name is a good one.
    pub(crate) fn file(&self, name: &str) -> String {
        named(&self.file, name)
    }
}

impl Mended {
    /// The case's file; once mended, it is the skill `name`.
    pub(crate) fn file(&self, name: &str) -> String {
        // The case of the wrong spelling: what it is canonicalised to must be this skill's name.
        let shouted = name.to_ascii_uppercase().replace('-', "_");
        named(&self.file, name).replace("name: PDF_Tools\n", &format!("name: {shouted}\n"))
    }
}

/// Every case is about a skill called `pdf`; a tree needs as many names as skills.
fn named(file: &str, name: &str) -> String {
    file.replace("name: pdf\n", &format!("name: {name}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_error_class_is_there() {
        let codes: BTreeSet<&str> = BROKEN.malformed.iter().map(|case| case.code).collect();
        let expected = [
            "invalid_name",
            "missing_field",
            "no_front_matter",
            "not_a_mapping",
            "type_not_allowed",
            "unclosed_front_matter",
            "yaml_limit",
        ];
        assert_eq!(codes, BTreeSet::from(expected));
    }

    #[test]
    fn mended_skills_have_the_name_they_should() {
        assert!(!BROKEN.mended.is_empty());
        for case in &BROKEN.mended {
            let file = case.file("csv-diff");
            let canonical = file.to_lowercase().replace('_', "-");
            assert!(canonical.contains("name: csv-diff\n"), "{file}");
        }
    }

    #[test]
    fn good_names_are_replaced() {
        let file = named("---\nname: pdf\n---\nx", "csv-diff");
        assert_eq!(file, "---\nname: csv-diff\n---\nx");
    }
}
