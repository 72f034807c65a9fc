//! `exports` and `imports` of a package's manifest.

use serde_json::Value;

/// The conditions that hold here, the most specific first. (Keys of JSON objects have no order here, so theirs is not
/// followed; no package is known that means different files by `import` and `module`.)
const CONDITIONS: [&str; 3] = ["import", "module", "default"];

/// Returns whether a text can be a package's name.
pub(super) fn is_name(name: &str) -> bool {
    let plain = |part: &str| {
        !part.is_empty()
            && !part.starts_with('.')
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~'))
    };
    match name.strip_prefix('@') {
        Some(rest) => rest.split_once('/').is_some_and(|(scope, name)| plain(scope) && plain(name)),
        None => plain(name),
    }
}

/// Returns the target of `key` (`.`, `./sub`, `#internal`) in a table of exports or imports.
pub(super) fn exported(table: &Value, key: &str) -> Option<String> {
    let is_table = table.as_object().is_some_and(|table| table.keys().any(|key| key.starts_with(['.', '#'])));
    if !is_table {
        return (key == ".").then(|| target(table, "")).flatten();
    }
    let table = table.as_object()?;
    if let Some(entry) = table.get(key) {
        return target(entry, "");
    }
    // Of several patterns the longest prefix counts.
    let pattern = table
        .iter()
        .filter_map(|(pattern, entry)| {
            let (before, after) = pattern.split_once('*')?;
            let middle = key.strip_prefix(before)?.strip_suffix(after)?;
            Some((before.len(), entry, middle))
        })
        .max_by_key(|(length, ..)| *length)?;
    target(pattern.1, pattern.2)
}

fn target(entry: &Value, middle: &str) -> Option<String> {
    match entry {
        Value::String(path) => Some(path.replace('*', middle)),
        Value::Object(conditions) => {
            CONDITIONS.iter().find_map(|condition| target(conditions.get(*condition)?, middle))
        }
        Value::Array(entries) => entries.iter().find_map(|entry| target(entry, middle)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn exports_are_followed() {
        let table = json!({
            ".": {"types": "./t.d.ts", "import": {"default": "./i.mjs"}, "require": "./r.cjs"},
            "./sub": "./s.js",
            "./locales/*": {"import": "./l/*.js"},
            "./locales/x-*": null,
            "./only": {"require": "./only.cjs"},
        });
        for (key, target) in [
            (".", Some("./i.mjs")),
            ("./sub", Some("./s.js")),
            ("./locales/de", Some("./l/de.js")),
            ("./locales/x-y", None),
            ("./only", None),
            ("./nope", None),
        ] {
            assert_eq!(exported(&table, key).as_deref(), target, "{key}");
        }
        assert_eq!(exported(&json!("./x.js"), ".").as_deref(), Some("./x.js"));
        assert_eq!(exported(&json!({"default": "./x.js"}), ".").as_deref(), Some("./x.js"));
        assert_eq!(exported(&json!("./x.js"), "./y"), None);
    }

    #[test]
    fn names_are_checked() {
        assert!(is_name("zod") && is_name("@a/b") && is_name("lodash.merge"));
        assert!(!is_name("") && !is_name(".x") && !is_name("@a") && !is_name("a b") && !is_name("@a/../b"));
    }
}
