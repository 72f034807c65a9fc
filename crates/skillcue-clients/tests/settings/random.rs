//! Random documents survive connecting and disconnecting, byte for byte.

use proptest::prelude::*;
use serde_json::Value;
use skillcue_clients::Client;

use crate::{Home, is_only_added_to};

/// Keys that are ours to look at, and others.
const KEYS: [&str; 8] = ["hooks", "BeforeAgent", "mcpServers", "permissions", "a", "b c", "é\"\\", "skill"];
/// Texts that may be between two tokens.
const TRIVIA: [&str; 9] = ["", " ", "\n", "\n  ", "\t", "\r\n", "// x } ,\n", "/* { */", " // \"y\"\n    "];

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[ -~é]{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let object = prop::collection::vec((0..KEYS.len(), inner.clone()), 0..4);
        let object = object.prop_map(|members| {
            members.into_iter().map(|(key, value)| (KEYS[key].to_owned(), value)).collect::<Value>()
        });
        prop_oneof![prop::collection::vec(inner, 0..4).prop_map(Value::from), object.clone(), object]
    })
}

/// Writes a value with blanks, comments and trailing commas chosen by `style`.
fn write(value: &Value, style: &mut dyn Iterator<Item = usize>, out: &mut String) {
    fn blank(style: &mut dyn Iterator<Item = usize>, out: &mut String) {
        out.push_str(TRIVIA[style.next().unwrap_or(0) % TRIVIA.len()]);
    }
    let (open, close, items): (char, char, Vec<(Option<&str>, &Value)>) = match value {
        Value::Object(members) => ('{', '}', members.iter().map(|(key, value)| (Some(key.as_str()), value)).collect()),
        Value::Array(elements) => ('[', ']', elements.iter().map(|value| (None, value)).collect()),
        leaf => return out.push_str(&leaf.to_string()),
    };
    out.push(open);
    let count = items.len();
    for (at, (key, value)) in items.into_iter().enumerate() {
        blank(style, out);
        if let Some(key) = key {
            out.push_str(&Value::from(key).to_string());
            blank(style, out);
            out.push(':');
            blank(style, out);
        }
        write(value, style, out);
        blank(style, out);
        if at + 1 < count || style.next().is_some_and(|number| number % 3 == 0) {
            out.push(',');
        }
    }
    blank(style, out);
    out.push(close);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn documents_become_what_they_were(
        members in prop::collection::vec((0..KEYS.len(), value()), 0..4),
        style in prop::collection::vec(any::<u8>(), 0..64),
        end in "(\r?\n){0,2}",
    ) {
        let value: Value = members.into_iter().map(|(key, value)| (KEYS[key].to_owned(), value)).collect();
        let mut text = String::new();
        write(&value, &mut style.iter().map(|byte| usize::from(*byte)).cycle().take(10_000), &mut text);
        text.push_str(&end);
        let path = ".gemini/settings.json";
        let home = Home::new();
        home.write(path, &text);
        let connected = home.connect(Client::Gemini);
        if connected.is_err() {
            // A key of theirs has a value of another kind.
            prop_assert_eq!(home.read(path), text);
            return Ok(());
        }
        let after = home.read(path);
        prop_assert!(is_only_added_to(&text, &after), "{text}\n---\n{after}");
        prop_assert!(home.connect(Client::Gemini).unwrap().iter().all(|change| !change.is_change()));
        // Edited since: only our lines go.
        home.write(path, format!("{after}\n"));
        home.disconnect(Client::Gemini);
        prop_assert_eq!(home.read(path), format!("{text}\n"), "{}", after);
        // Not edited: exactly as before.
        home.write(path, &text);
        home.connect(Client::Gemini).unwrap();
        home.disconnect(Client::Gemini);
        prop_assert_eq!(home.read(path), text);
    }
}
