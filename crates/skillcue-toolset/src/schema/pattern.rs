//! Patterns of schemas, which are regular expressions of JavaScript.

use std::fmt::Write as _;

/// Compiles a pattern of a schema, by the one function that compiles such patterns: it has limits.
pub(super) fn compile(pattern: &str) -> Result<regex::Regex, regex::Error> {
    // Its patterns ignore case; those of a schema do not.
    skillcue_format::pattern::compile(&format!("(?-i:{})", translated(pattern)))
}

/// A regular expression of JavaScript, which schemas have, in the syntax of the crate `regex`: `\d` and `\w` mean ASCII
/// in JavaScript, and a class has neither classes nor operators inside.
fn translated(pattern: &str) -> String {
    let (mut out, mut in_class) = (String::with_capacity(pattern.len()), false);
    let mut chars = pattern.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('d') => out.push_str(if in_class { "0-9" } else { "[0-9]" }),
                Some('w') => out.push_str(if in_class { "A-Za-z0-9_" } else { "[A-Za-z0-9_]" }),
                Some('D') => out.push_str("[^0-9]"),
                Some('W') => out.push_str("[^A-Za-z0-9_]"),
                Some('s') => out.push_str(r"[[\s&&[^\x85]]\u{feff}]"),
                Some('S') => out.push_str(r"[^[\s&&[^\x85]]\u{feff}]"),
                Some('b') if in_class => out.push_str(r"\x08"),
                Some('b') => out.push_str(r"(?-u:\b)"),
                Some('B') => out.push_str(r"(?-u:\B)"),
                Some('0') if !chars.peek().is_some_and(char::is_ascii_digit) => out.push_str(r"\x00"),
                Some('c') if chars.peek().is_some_and(char::is_ascii_alphabetic) => {
                    let letter = chars.next().map_or(0, u32::from);
                    let _ = write!(out, r"\x{:02x}", letter % 32);
                }
                Some(other) => out.extend(['\\', other]),
                None => out.push('\\'),
            },
            '[' if in_class => out.push_str(r"\["),
            '[' => {
                in_class = true;
                out.push('[');
                if chars.next_if_eq(&'^').is_some() {
                    out.push('^');
                    if chars.next_if_eq(&']').is_some() {
                        // `[^]` is any character.
                        (in_class, out) = (false, format!("{}(?s:.)", &out[..out.len() - 2]));
                    }
                }
            }
            ']' => {
                in_class = false;
                out.push(']');
            }
            '&' | '~' if in_class => out.extend(['\\', c]),
            '-' if in_class && chars.peek() == Some(&'-') => out.push_str(r"\-"),
            '.' if !in_class => out.push_str(r"[^\n\r\u{2028}\u{2029}]"),
            _ => out.push(c),
        }
    }
    out
}
