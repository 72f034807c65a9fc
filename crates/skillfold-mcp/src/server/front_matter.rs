//! Front matter as JSON, exactly as YAML 1.2's core schema has it.
//!
//! Hosts parse the file themselves and compare field by field, so `1.10` must be the number that a parser makes of it,
//! not the text that its author wrote (which is what `skillfold show --json` tells people).

use serde_json::{Map, Number, Value};
use skillfold::format::{Node, Value as Yaml};

/// The mapping as a JSON object, or why there is none that means the same.
pub(super) fn as_json(root: &Node<'_>) -> Result<Map<String, Value>, String> {
    match value(root)? {
        Value::Object(map) => Ok(map),
        _ => Err("its front matter is no mapping".to_owned()),
    }
}

fn value(node: &Node<'_>) -> Result<Value, String> {
    Ok(match &node.value {
        Yaml::Scalar { text, plain: true } => plain(text)?,
        Yaml::Scalar { text, plain: false } => Value::String(text.as_ref().to_owned()),
        Yaml::Seq(items) => Value::Array(items.iter().map(value).collect::<Result<_, _>>()?),
        Yaml::Map(entries) => {
            let mut map = Map::new();
            for (key, entry) in entries {
                // JSON has no other keys, and each parser would make a text of its own of `1.0` or `~`.
                let Value::String(key) = value(key)? else {
                    return Err("a key of its front matter is no text".to_owned());
                };
                if map.contains_key(&key) {
                    return Err(format!("its front matter has the key {key:?} twice"));
                }
                map.insert(key, value(entry)?);
            }
            Value::Object(map)
        }
    })
}

/// A plain scalar, resolved by the core schema.
fn plain(text: &str) -> Result<Value, String> {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Ok(Value::Null),
        "true" | "True" | "TRUE" => return Ok(Value::Bool(true)),
        "false" | "False" | "FALSE" => return Ok(Value::Bool(false)),
        _ => {}
    }
    match integer(text).or_else(|| float(text)) {
        Some(Meant::Number(number)) => Ok(Value::Number(number)),
        Some(Meant::Unsayable) => Err(format!("JSON has no number {text}")),
        None => Ok(Value::String(text.to_owned())),
    }
}

/// A number, as far as JSON has it.
enum Meant {
    Number(Number),
    Unsayable,
}

impl Meant {
    fn of(number: Option<Number>) -> Meant {
        number.map_or(Meant::Unsayable, Meant::Number)
    }
}

/// `[-+]?[0-9]+`, `0o[0-7]+`, `0x[0-9a-fA-F]+`.
fn integer(text: &str) -> Option<Meant> {
    let (digits, radix) = match (text.strip_prefix("0o"), text.strip_prefix("0x")) {
        (Some(digits), _) => (digits, 8),
        (_, Some(digits)) => (digits, 16),
        _ => (text.strip_prefix(['-', '+']).unwrap_or(text), 10),
    };
    if digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
        return None;
    }
    let is_negative = text.starts_with('-');
    let whole = u64::from_str_radix(digits, radix).ok();
    Some(Meant::of(match whole {
        Some(0) => Some(Number::from(0)),
        Some(whole) if is_negative => match i64::try_from(-i128::from(whole)) {
            Ok(whole) => Some(Number::from(whole)),
            Err(_) => text.parse().ok().and_then(Number::from_f64),
        },
        Some(whole) => Some(Number::from(whole)),
        // Larger than any integer of JSON's readers: a float, as they read it.
        None if radix == 10 => text.parse().ok().and_then(Number::from_f64),
        None => None,
    }))
}

/// `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`, and infinity and not-a-number, which JSON has not.
fn float(text: &str) -> Option<Meant> {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    if matches!(unsigned, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN") {
        return Some(Meant::Unsayable);
    }
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let is_mantissa = match mantissa.split_once('.') {
        Some(("", after)) => !after.is_empty() && is_digits(after),
        Some((before, after)) => is_digits(before) && is_digits(after),
        None => !mantissa.is_empty() && is_digits(mantissa),
    };
    let is_exponent = exponent.is_none_or(|exponent| {
        let digits = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
        !digits.is_empty() && is_digits(digits)
    });
    if !is_mantissa || !is_exponent {
        return None;
    }
    let parsed: f64 = text.parse().ok()?;
    Some(Meant::of(shortest(parsed)))
}

/// A whole float is written as an integer, as JSON's usual writers do: `1e3` is 1000.
fn shortest(float: f64) -> Option<Number> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if float.fract() == 0.0 && float.abs() < EXACT {
        #[expect(clippy::cast_possible_truncation, reason = "whole, and small enough to be exact")]
        return Some(Number::from(float as i64));
    }
    Number::from_f64(float)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use skillfold::FileKind;
    use skillfold::format::Parsed;

    use super::as_json;

    fn json_of(yaml: &str) -> Result<Value, String> {
        let text = format!("---\n{yaml}\n---\n");
        let parsed = Parsed::of(text.as_bytes(), FileKind::Markdown);
        as_json(parsed.raw.as_ref().unwrap()).map(Value::Object)
    }

    #[test]
    fn resolves_as_the_core_schema_says() {
        for (written, meant) in [
            ("1.10", json!(1.1)),
            ("007", json!(7)),
            ("-5", json!(-5)),
            ("+5", json!(5)),
            ("0o17", json!(15)),
            ("0xFF", json!(255)),
            ("1e3", json!(1000)),
            (".5", json!(0.5)),
            ("5.", json!(5)),
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
    fn refuses_what_json_cannot_say() {
        assert!(json_of("x: .inf").is_err());
        assert!(json_of("x: .nan").is_err());
        assert!(json_of("x: 1\nx: 2").is_err());
        for key in ["1", "1.5", "~", "null", "true", "[a]", "0x1F"] {
            assert!(json_of(&format!("{key}: 1")).unwrap_err().contains("no text"), "{key}");
            assert!(json_of(&format!("x: {{? {key} : 1}}")).unwrap_err().contains("no text"), "{key}");
        }
        assert!(json_of("\"1\": 1\n'true': 2").is_ok());
    }
}
