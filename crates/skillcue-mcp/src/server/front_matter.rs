//! Front matter as JSON, exactly as YAML 1.2's core schema has it.
//!
//! Hosts parse the file themselves and compare field by field, so `1.10` must be the number that a parser makes of it,
//! not a text (which is what `skillcue show --json` prints). It is written with its author's digits where JSON has
//! them.

use serde_json::{Map, Number, Value};
use skillcue_format::{Node, Value as Yaml};

use super::digits;
use crate::scalar::Scalar;

/// Makes the JSON of a number, given its text.
type MakeNumber = fn(&str, Number) -> Value;

/// Returns the mapping as a JSON object, or why there is none with the same meaning.
pub(super) fn as_json(root: &Node<'_>) -> Result<Map<String, Value>, String> {
    object(root, |_, number| Value::Number(number))
}

/// Like [`as_json`], for messages: [`digits::release`] writes numbers as their author did.
pub(super) fn as_written(root: &Node<'_>) -> Result<Map<String, Value>, String> {
    object(root, digits::hold)
}

fn object(root: &Node<'_>, number: MakeNumber) -> Result<Map<String, Value>, String> {
    match value(root, number)? {
        Value::Object(map) => Ok(map),
        _ => Err("its front matter is no mapping".to_owned()),
    }
}

fn value(node: &Node<'_>, number: MakeNumber) -> Result<Value, String> {
    Ok(match &node.value {
        Yaml::Scalar { text, plain: true } => plain(text, number)?,
        Yaml::Scalar { text, plain: false } => Value::String(text.as_ref().to_owned()),
        Yaml::Seq(items) => Value::Array(items.iter().map(|item| value(item, number)).collect::<Result<_, _>>()?),
        Yaml::Map(entries) => {
            let mut map = Map::new();
            for (key, entry) in entries {
                // JSON has no other keys, and each parser would make a text of its own of `1.0` or `~`.
                let Value::String(key) = value(key, |_, number| Value::Number(number))? else {
                    return Err("a key of its front matter is no text".to_owned());
                };
                if map.contains_key(&key) {
                    return Err(format!("its front matter has the key {key:?} twice"));
                }
                map.insert(key, value(entry, number)?);
            }
            Value::Object(map)
        }
    })
}

/// Returns a plain scalar as JSON.
fn plain(text: &str, number: MakeNumber) -> Result<Value, String> {
    Ok(match Scalar::of(text) {
        Scalar::Null => Value::Null,
        Scalar::Bool(value) => Value::Bool(value),
        Scalar::Number(value) => number(text, value),
        Scalar::NotInJson => return Err(format!("JSON has no number {text}")),
        Scalar::Text => Value::String(text.to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use skillcue::format::FileKind;
    use skillcue_format::Parsed;

    use super::{as_json, as_written, digits};
    use crate::host::verify;

    fn json_of(yaml: &str) -> Result<Value, String> {
        let text = format!("---\n{yaml}\n---\n");
        let parsed = Parsed::of(text.as_bytes(), FileKind::Markdown);
        as_json(parsed.raw.as_ref().unwrap()).map(Value::Object)
    }

    /// Returns the JSON text that clients get.
    fn written(yaml: &str) -> String {
        let text = format!("---\n{yaml}\n---\n");
        let parsed = Parsed::of(text.as_bytes(), FileKind::Markdown);
        let json = Value::Object(as_written(parsed.raw.as_ref().unwrap()).unwrap());
        String::from_utf8(digits::release(json.to_string().into_bytes())).unwrap()
    }

    #[test]
    fn resolves_as_the_core_schema_says() {
        for (written, meant) in [
            ("1.10", json!(1.1)),
            ("2.0", json!(2.0)),
            ("-0.0", json!(-0.0)),
            ("007", json!(7)),
            ("-5", json!(-5)),
            ("+5", json!(5)),
            ("0o17", json!(15)),
            ("0xFF", json!(255)),
            ("0x1F", json!(31)),
            ("1e3", json!(1000.0)),
            ("1E-7", json!(1e-7)),
            ("+1", json!(1)),
            ("+1.5", json!(1.5)),
            (".5", json!(0.5)),
            ("5.", json!(5.0)),
            ("1.2.3", json!("1.2.3")),
            ("2026-01-01", json!("2026-01-01")),
            ("yes", json!("yes")),
            ("True", json!(true)),
            ("~", json!(null)),
            ("\"1.10\"", json!("1.10")),
            ("[1, two, {a: 'b'}]", json!([1, "two", {"a": "b"}])),
            ("12345678901234567890", json!(12_345_678_901_234_567_890_u64)),
            ("1_000", json!("1_000")),
        ] {
            assert_eq!(json_of(&format!("x: {written}")).unwrap(), json!({ "x": meant }), "{written}");
        }
    }

    #[test]
    fn numbers_are_written_as_their_author_wrote_them_where_json_can() {
        for (written, printed) in [
            ("2.0", "2.0"),
            ("2", "2"),
            ("1.5", "1.5"),
            ("-0.0", "-0.0"),
            ("18446744073709551615", "18446744073709551615"),
            ("-9223372036854775808", "-9223372036854775808"),
            ("9007199254740993", "9007199254740993"),
            ("1.10", "1.10"),
            ("1e3", "1e3"),
            ("1E-7", "1E-7"),
            ("12345678901234567890123", "12345678901234567890123"),
            ("-98765432109876543210", "-98765432109876543210"),
            // JSON has no such spelling; these are the same numbers.
            (".5", "0.5"),
            ("5.", "5.0"),
            ("007", "7"),
            ("+1", "1"),
            ("0x1F", "31"),
            ("1_000", "\"1_000\""),
        ] {
            assert_eq!(self::written(&format!("x: {written}")), format!("{{\"x\":{printed}}}"), "{written}");
        }
    }

    #[test]
    fn served_front_matter_passes_our_hosts_check() {
        for written in [
            "2.0",
            "2",
            "1.10",
            "1e3",
            "1E-7",
            "0x1F",
            "0o17",
            "1_000",
            ".5",
            "5.",
            "007",
            "+1",
            "-0.0",
            "~",
            "True",
            "yes",
            "1.2.3",
            "18446744073709551615",
            "12345678901234567890123",
            "-98765432109876543210",
            "9007199254740993",
            "0.1000000000000000055511151231257827",
            "'2.0'",
            "[1.0, {a: 2.50}]",
        ] {
            let yaml = format!("name: a\nx: {written}");
            // As a client reads it, not as it was made.
            let read: Value = serde_json::from_str(&self::written(&yaml)).unwrap();
            let file = format!("---\n{yaml}\n---\n");
            let verdict = verify::front_matter(read.as_object().unwrap(), file.as_bytes());
            assert_eq!(verdict, Ok(()), "{written}: {read}");
            let other = "---\nname: a\nx: other\n---\n";
            assert!(verify::front_matter(read.as_object().unwrap(), other.as_bytes()).is_err(), "{written}");
        }
    }

    #[test]
    fn refuses_what_json_cannot_say() {
        for number in [".inf", "-.inf", "+.Inf", ".nan", "1e999"] {
            assert_eq!(json_of(&format!("x: {number}")).unwrap_err(), format!("JSON has no number {number}"));
        }
        assert!(json_of("x: 1\nx: 2").is_err());
        for key in ["1", "1.5", "~", "null", "true", "[a]", "0x1F"] {
            assert!(json_of(&format!("{key}: 1")).unwrap_err().contains("no text"), "{key}");
            assert!(json_of(&format!("x: {{? {key} : 1}}")).unwrap_err().contains("no text"), "{key}");
        }
        assert!(json_of("\"1\": 1\n'true': 2").is_ok());
    }
}
