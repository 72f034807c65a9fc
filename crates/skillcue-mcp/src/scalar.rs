//! Plain scalars, as YAML 1.2's core schema has them.

use serde_json::Number;

/// The value of a plain scalar.
#[derive(Debug, PartialEq)]
pub(crate) enum Scalar {
    Null,
    Bool(bool),
    Number(Number),
    /// A number that JSON does not have.
    NotInJson,
    Text,
}

impl Scalar {
    pub(crate) fn of(text: &str) -> Scalar {
        match text {
            "" | "~" | "null" | "Null" | "NULL" => Scalar::Null,
            "true" | "True" | "TRUE" => Scalar::Bool(true),
            "false" | "False" | "FALSE" => Scalar::Bool(false),
            _ => integer(text).or_else(|| float(text)).unwrap_or(Scalar::Text),
        }
    }
}

fn number(number: Option<Number>) -> Scalar {
    number.map_or(Scalar::NotInJson, Scalar::Number)
}

/// Reads `[-+]?[0-9]+`, `0o[0-7]+`, `0x[0-9a-fA-F]+`.
fn integer(text: &str) -> Option<Scalar> {
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
    Some(number(match whole {
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

/// Reads `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`, and infinity and not-a-number, which JSON has not.
fn float(text: &str) -> Option<Scalar> {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    if matches!(unsigned, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN") {
        return Some(Scalar::NotInJson);
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
    // A number written as a float stays one: `2.0`, not `2`.
    Some(number(text.parse().ok().and_then(Number::from_f64)))
}
