//! Numbers with the digits that their author wrote, through an SDK that keeps only their values.
//!
//! JSON may have `1.10`, and readers take it for 1.1. But the SDK takes the results of an extension as
//! [`serde_json::Value`], which writes `1.1`, and big integers as floats. (The feature `arbitrary_precision` would keep
//! the digits. It is global, and breaks the SDK's untagged enums.) So a number that would be written otherwise is a
//! text until its message is written: a prefix that no author can know, and the digits.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::sync::LazyLock;

use serde::de::IgnoredAny;
use serde_json::{Number, Value};

/// The beginning of such a text, with its quotation mark. Another one in each process.
static OPENING: LazyLock<String> = LazyLock::new(|| {
    let random = || RandomState::new().build_hasher().finish();
    format!("\"skillcue-number-{:016x}{:016x}:", random(), random())
});

/// Returns the number as it will be written: with the digits of `text`, where JSON allows that spelling.
pub(super) fn hold(text: &str, number: Number) -> Value {
    let is_json = || serde_json::from_str::<IgnoredAny>(text).is_ok();
    if number.to_string() == text || !is_json() {
        return Value::Number(number);
    }
    Value::String(format!("{}{text}", &OPENING[1..]))
}

/// Returns a message with the numbers in place of the texts that hold them.
pub(super) fn release(message: Vec<u8>) -> Vec<u8> {
    let Ok(text) = std::str::from_utf8(&message) else { return message };
    let mut parts = text.split(OPENING.as_str());
    let first = parts.next().unwrap_or_default();
    if first.len() == text.len() {
        return message;
    }
    let mut released = String::with_capacity(text.len());
    released.push_str(first);
    for part in parts {
        let (digits, rest) = part.split_once('"').unwrap_or((part, ""));
        released.push_str(digits);
        released.push_str(rest);
    }
    released.into_bytes()
}

#[cfg(test)]
mod tests {
    use serde_json::{Number, Value, json};

    use super::{hold, release};

    #[test]
    fn digits_go_through_and_nothing_else_changes() {
        let held = |text: &str| hold(text, Number::from_f64(text.parse().unwrap()).unwrap());
        let message = json!({
            "a": held("1.10"),
            "b": [held("1e3"), held("12345678901234567890123"), held("2.0"), "1.10", "skillcue-number-0:1.10"],
            "c": "\"1.10\" \u{e4}",
        });
        let released = String::from_utf8(release(message.to_string().into_bytes())).unwrap();
        assert_eq!(
            released,
            "{\"a\":1.10,\"b\":[1e3,12345678901234567890123,2.0,\"1.10\",\"skillcue-number-0:1.10\"],\
             \"c\":\"\\\"1.10\\\" \u{e4}\"}"
        );
        assert_eq!(held("2.0"), json!(2.0), "which is written so anyway");
        for text in ["007", "+1", "5.", ".5"] {
            assert!(matches!(held(text), Value::Number(_)), "JSON has no {text}");
        }
        assert_eq!(release(b"\xff".to_vec()), b"\xff");
    }
}
