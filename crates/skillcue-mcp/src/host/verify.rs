//! Checks that a file is as its server has listed it.

use std::collections::HashSet;

use serde_json::{Map, Number, Value};
use skillcue::remote::{RemoteEntry, RemoteFile};
use skillcue_base::Shown;
use skillcue_format::{FileKind, Node, Parsed, Value as Yaml};

use crate::digest;
use crate::scalar::Scalar;

/// Checks one file: its size and digest, and of the skill's own `SKILL.md` the front matter. A `SKILL.md` further down
/// is a file like any other.
pub fn check(entry: &RemoteEntry, file: &RemoteFile, bytes: &[u8]) -> Result<(), String> {
    let (size, uri) = (bytes.len() as u64, || Shown(&file.uri).to_string());
    if size != file.size {
        return Err(format!("{} has {size} bytes, {} were listed", uri(), file.size));
    }
    let digest = digest(bytes);
    if digest != file.digest {
        return Err(format!("{} has the digest {digest}, {} was listed", uri(), file.digest));
    }
    if file.uri == entry.uri {
        front_matter(&entry.front_matter, bytes).map_err(|problem| format!("{}: {}", uri(), Shown(&problem)))?;
    }
    Ok(())
}

/// Compares the front matter of a `SKILL.md` with what was listed, field by field.
pub(crate) fn front_matter(listed: &Map<String, Value>, bytes: &[u8]) -> Result<(), String> {
    let parsed = Parsed::thorough(bytes, FileKind::Markdown);
    let Some(raw) = &parsed.raw else { return Err("its front matter cannot be read".to_owned()) };
    let Yaml::Map(written) = &raw.value else { return Err("its front matter is no mapping".to_owned()) };
    compare(listed, written)
}

fn compare(listed: &Map<String, Value>, written: &[(Node<'_>, Node<'_>)]) -> Result<(), String> {
    let mut seen = HashSet::with_capacity(written.len());
    for (key, value) in written {
        let Some(text) = key.as_str() else { return Err("a key of its front matter is no text".to_owned()) };
        // JSON's keys are texts. One that YAML takes for another type (`1.0`, `True`) may be listed as it is written or
        // as its value.
        let found = listed.get_key_value(text).or_else(|| listed.get_key_value(&key_as_json(key)?));
        match found {
            None => return Err(format!("its front matter has `{}`, the listing has not", Shown(text))),
            Some((name, _)) if !seen.insert(name.as_str()) => {
                return Err(format!("its front matter says `{}` twice", Shown(name)));
            }
            Some((name, listed)) if !is_same_value(listed, value) => {
                return Err(format!("`{}` is not what the listing says", Shown(name)));
            }
            Some(_) => {}
        }
    }
    match listed.keys().find(|name| !seen.contains(name.as_str())) {
        Some(missing) => Err(format!("the listing has `{}`, its front matter has not", Shown(missing))),
        None => Ok(()),
    }
}

/// Returns the value of a key that is no text under YAML's core schema, as JSON writes it.
fn key_as_json(key: &Node<'_>) -> Option<String> {
    let Yaml::Scalar { text, plain: true } = &key.value else { return None };
    match Scalar::of(text) {
        Scalar::Null => Some("null".to_owned()),
        Scalar::Bool(value) => Some(value.to_string()),
        Scalar::Number(number) => Some(number_as_key(&number)),
        Scalar::NotInJson | Scalar::Text => None,
    }
}

/// Returns a number as JavaScript spells it as a key: a whole one without a fraction.
fn number_as_key(number: &Number) -> String {
    let text = number.to_string();
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

/// Returns whether a value of JSON and one of YAML are equal.
fn is_same_value(listed: &Value, written: &Node<'_>) -> bool {
    match (listed, &written.value) {
        (Value::Object(listed), Yaml::Map(written)) => compare(listed, written).is_ok(),
        (Value::Array(listed), Yaml::Seq(written)) => {
            listed.len() == written.len()
                && listed.iter().zip(written).all(|(listed, written)| is_same_value(listed, written))
        }
        (Value::String(listed), Yaml::Scalar { text, plain }) => {
            // A number that JSON would write otherwise (`1.10`) may be listed as its author wrote it: it is the same
            // text. Null and booleans are no text.
            listed == text && !(*plain && matches!(Scalar::of(text), Scalar::Null | Scalar::Bool(_)))
        }
        (listed, Yaml::Scalar { text, plain: true }) => match (listed, Scalar::of(text)) {
            (Value::Null, Scalar::Null) => true,
            (Value::Bool(listed), Scalar::Bool(written)) => *listed == written,
            (Value::Number(listed), Scalar::Number(written)) => is_equal_number(listed, &written),
            _ => false,
        },
        _ => false,
    }
}

/// Returns whether two numbers are equal by value: 1 and 1.0 are one number.
#[allow(clippy::float_cmp, reason = "both were read from text; near is not the same")]
fn is_equal_number(a: &Number, b: &Number) -> bool {
    match (a.as_i128(), b.as_i128()) {
        (Some(a), Some(b)) => a == b,
        _ => a.as_f64().zip(b.as_f64()).is_some_and(|(a, b)| a == b),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check_front_matter(yaml: &str, listed: Value) -> Result<(), String> {
        let Value::Object(listed) = listed else { panic!() };
        front_matter(&listed, format!("---\n{yaml}---\n# Body\n").as_bytes())
    }

    #[test]
    fn equal_front_matter_passes() {
        let yaml = "name: a\ndescription: >-\n  Folded\n  text\nversion: 1.10\ncount: 1.0\nhex: 0x1F\nmode: 0o17\nbig: 1e3\n\
            on: true\nnothing:\nquoted: \"5\"\nlist: [a, 2, null]\nmetadata:\n  deep: {x: y}\ndate: 2026-01-02\n";
        let mut listed = json!({
            "name": "a", "description": "Folded text", "version": 1.1, "count": 1, "hex": 31, "mode": 15, "big": 1000,
            "on": true, "nothing": null, "quoted": "5", "list": ["a", 2, null], "metadata": { "deep": { "x": "y" } },
            "date": "2026-01-02",
        });
        assert_eq!(check_front_matter(yaml, listed.clone()), Ok(()));
        listed["version"] = json!("1.10");
        assert_eq!(check_front_matter(yaml, listed), Ok(()), "as its author wrote it");
    }

    #[test]
    fn a_number_is_the_same_however_a_server_spells_it() {
        for (written, listed) in [
            ("2.0", r#"[2.0, 2, 2e0, 20e-1, "2.0"]"#),
            ("1.10", r#"[1.10, 1.1, "1.10"]"#),
            ("1e3", r#"[1000, 1000.0, 1e3, "1e3"]"#),
            ("007", r#"[7, 7.0, "007"]"#),
            ("12345678901234567890123", "[12345678901234567890123, 1.2345678901234568e22]"),
        ] {
            let listed: Vec<Value> = serde_json::from_str(listed).unwrap();
            for listed in listed {
                assert_eq!(check_front_matter(&format!("n: {written}\n"), json!({ "n": listed })), Ok(()), "{listed}");
            }
            for other in [json!(3), json!("2"), json!(1.2), json!(null)] {
                assert!(check_front_matter(&format!("n: {written}\n"), json!({ "n": other })).is_err(), "{other}");
            }
        }
    }

    #[test]
    fn every_difference_is_one() {
        for (yaml, listed) in [
            ("name: a\n", json!({ "name": "b" })),
            ("name: a\nextra: b\n", json!({ "name": "a" })),
            ("name: a\n", json!({ "name": "a", "extra": "b" })),
            ("name: a\n", json!({ "name": "a", "extra": null })),
            ("name: a\nname: b\n", json!({ "name": "a" })),
            ("n: 1\n", json!({ "n": true })),
            ("n: 1\n", json!({ "n": 2 })),
            ("n: \"1\"\n", json!({ "n": 1 })),
            ("n: 1.10\n", json!({ "n": "1.1" })),
            ("n: true\n", json!({ "n": "true" })),
            ("n: null\n", json!({ "n": "null" })),
            ("n: \"\"\n", json!({ "n": null })),
            ("n: yes\n", json!({ "n": true })),
            ("n: [a, b]\n", json!({ "n": ["b", "a"] })),
            ("n: [a]\n", json!({ "n": "a" })),
            ("n: {a: b}\n", json!({ "n": { "a": "c" } })),
            ("n: {a: b}\n", json!({ "n": { "a": "b", "c": "d" } })),
        ] {
            assert!(check_front_matter(yaml, listed.clone()).is_err(), "{yaml} {listed}");
        }
        assert!(front_matter(&Map::new(), b"no front matter").is_err());
        assert!(front_matter(&Map::new(), b"---\nname: a\n").is_err());
        assert!(front_matter(&Map::new(), b"---\n- a\n---\n").is_err());
        assert!(front_matter(&Map::new(), b"---\na: \xff\n---\n").is_err());
    }

    #[test]
    fn keys_that_are_no_text_are_compared_by_both_spellings() {
        let yaml = "1.0: a\nTrue: b\n~: c\n0x1F: d\nmetadata: {2: x, False: y}\n";
        let written = json!({
            "1.0": "a", "True": "b", "~": "c", "0x1F": "d", "metadata": { "2": "x", "False": "y" },
        });
        let meant = json!({
            "1": "a", "true": "b", "null": "c", "31": "d", "metadata": { "2": "x", "false": "y" },
        });
        assert_eq!(check_front_matter(yaml, written), Ok(()));
        assert_eq!(check_front_matter(yaml, meant), Ok(()));
        for (yaml, listed) in [
            ("True: a\ntrue: b\n", json!({ "true": "a" })),
            ("True: a\ntrue: b\n", json!({ "true": "b" })),
            ("\"True\": a\n", json!({ "true": "a" })),
            ("True: a\n", json!({ "true": "a", "True": "a" })),
            ("? [a]\n: b\n", json!({ "[\"a\"]": "b" })),
        ] {
            assert!(check_front_matter(yaml, listed.clone()).is_err(), "{yaml} {listed}");
        }
    }

    #[test]
    fn problems_of_a_file_are_one_short_line() {
        let uri = format!("skill://{}/SKILL.md", "a".repeat(2000));
        let text = format!("---\n\"{}\\n\": x\n---\n", "k".repeat(5000)).into_bytes();
        let file = |size, digest| RemoteFile { uri: uri.clone(), digest, size };
        let entry = RemoteEntry { uri: uri.clone(), front_matter: Map::new(), files: None };
        let size = text.len() as u64;
        for file in [file(1, digest(&text)), file(size, digest(b"")), file(size, digest(&text))] {
            let problem = check(&entry, &file, &text).unwrap_err();
            assert!(problem.chars().count() < 450 && !problem.contains('\n'), "{problem}");
        }
    }

    #[test]
    fn digests_are_sha_256() {
        assert_eq!(digest(b"abc"), "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }
}
