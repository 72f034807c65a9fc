//! Splits arguments into words, as a shell does.

/// Splits at blanks, and undoes quoting by `'…'`, `"…"` and backslashes.
///
/// Nothing is an error: a quote that is not closed reaches to the end, and a backslash at the end is itself. A word
/// may be quoted in part (`a' 'b`), and `''` is a word that is empty.
pub(super) fn split(arguments: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = arguments.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            c if c.is_whitespace() => words.extend(word.take()),
            '\'' => word.get_or_insert_default().extend(chars.by_ref().take_while(|c| *c != '\'')),
            '"' => {
                let word = word.get_or_insert_default();
                while let Some(c) = chars.next_if(|c| *c != '"') {
                    // Between double quotes a backslash escapes only a quote or a backslash.
                    let escaped = if c == '\\' { chars.next_if(|c| matches!(c, '"' | '\\')) } else { None };
                    word.push(escaped.unwrap_or(c));
                }
                chars.next();
            }
            '\\' => word.get_or_insert_default().push(chars.next().unwrap_or('\\')),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn splits_as_a_shell_does() {
        let cases: &[(&str, &[&str])] = &[
            ("", &[]),
            ("  \t\n ", &[]),
            ("a b", &["a", "b"]),
            ("  a\u{a0} b  ", &["a", "b"]),
            ("'a b' c", &["a b", "c"]),
            ("\"a 'b'\" c", &["a 'b'", "c"]),
            ("a' 'b", &["a b"]),
            ("'' \"\"", &["", ""]),
            ("a\\ b", &["a b"]),
            (r#""a\"b\\c\d""#, &[r#"a"b\c\d"#]),
            (r"'a\b'", &[r"a\b"]),
            ("'open to the end", &["open to the end"]),
            ("\"open\\", &["open\\"]),
            ("end\\", &["end\\"]),
            ("größe=二 x", &["größe=二", "x"]),
        ];
        for (arguments, words) in cases {
            assert_eq!(split(arguments), *words, "{arguments:?}");
        }
    }
}
