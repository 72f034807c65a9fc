//! Numbers, types and equality of JSON values, as JSON Schema defines them.

use serde_json::{Number, Value};

/// A number of things, to be compared with a bound.
#[expect(clippy::cast_precision_loss, reason = "no argument has 2^52 of anything")]
pub(super) fn as_count(number: usize) -> f64 {
    number as f64
}

/// The whole number that JSON writes, if it has no fraction.
fn whole(number: &Number) -> Option<i128> {
    number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from))
}

/// Compares two numbers, whole ones exactly.
pub(super) fn compare(a: &Number, b: &Number) -> Option<std::cmp::Ordering> {
    match (whole(a), whole(b)) {
        (Some(a), Some(b)) => Some(a.cmp(&b)),
        _ => a.as_f64()?.partial_cmp(&b.as_f64()?),
    }
}

/// Returns whether a number is a multiple of another.
pub(super) fn is_multiple(number: &Number, step: &Number) -> bool {
    if let (Some(number), Some(step)) = (whole(number), whole(step)) {
        return step == 0 || number % step == 0;
    }
    let (Some(value), Some(step)) = (number.as_f64(), step.as_f64()) else { return true };
    let ratio = value / step;
    // 0.3 is a multiple of 0.1, though not in binary. Where the ratio has no fraction left to look at, the remainder
    // decides.
    step <= 0.0 || if ratio.is_finite() { (ratio - ratio.round()).abs() <= 1e-9 } else { value % step == 0.0 }
}

/// Returns whether a value has a type of JSON Schema.
pub(super) fn has_type(value: &Value, kind: &str) -> bool {
    match kind {
        "integer" => {
            value.as_i64().is_some()
                || value.as_u64().is_some()
                || value.as_f64().is_some_and(|number| number.fract() == 0.0)
        }
        "number" => value.is_number(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => true,
    }
}

/// The type of a value, with its article.
pub(super) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// The names of types, with their articles, as alternatives.
pub(super) fn type_list(kinds: &[&str]) -> String {
    let named: Vec<&str> = kinds
        .iter()
        .map(|kind| match *kind {
            "integer" => "a whole number",
            "number" => "a number",
            "string" => "a string",
            "boolean" => "a boolean",
            "array" => "an array",
            "object" => "an object",
            other => other,
        })
        .collect();
    named.join(" or ")
}

/// Returns whether two values are equal as JSON has it: 1 is 1.0, and the order of keys does not matter.
pub(super) fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => compare(a, b) == Some(std::cmp::Ordering::Equal),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| equal(a, b)))
        }
        _ => a == b,
    }
}

/// A text that is the same for values that are [`equal`], and for no others.
pub(super) fn canonical(value: &Value) -> String {
    match value {
        Value::Number(number) => match (whole(number), number.as_f64()) {
            // Up to 2^53, where a fraction can still be represented.
            (None, Some(float)) if float.fract() == 0.0 && float.abs() < 9.0e15 => format!("{float:.0}"),
            _ => number.to_string(),
        },
        Value::Array(items) => format!("[{}]", items.iter().map(canonical).collect::<Vec<_>>().join(",")),
        Value::Object(object) => {
            let mut pairs: Vec<String> = object
                .iter()
                .map(|(key, value)| format!("{}:{}", Value::from(key.as_str()), canonical(value)))
                .collect();
            pairs.sort_unstable();
            format!("{{{}}}", pairs.join(","))
        }
        other => other.to_string(),
    }
}
