//! Arguments against a plain JSON Schema: what of draft 2020-12 authors of tools use.
//!
//! Checked: `type`, `enum`, `const`, `properties`, `required`, `dependentRequired`, `additionalProperties`, `patternProperties`,
//! `propertyNames`, `items`, `prefixItems`, `contains`, the bounds of numbers, texts, arrays and objects,
//! `uniqueItems`, `pattern`, `anyOf`, `oneOf`, `allOf`, `not`, `if`/`then`/`else` and `$ref` within the schema. `format`
//! is a remark and not checked, as the specification has it.

use std::cell::Cell;
use std::collections::HashMap;
use std::fmt::Write as _;

use serde_json::{Map, Value};

/// How deep a schema is followed; a `$ref` to itself ends here.
const DEPTH: usize = 64;
/// Steps a check may take: forms that refer to each other twice would double the work with every level.
const STEPS: u32 = 100_000;
/// Violations that are named; more do not help.
const NAMED: usize = 10;

/// A schema, made ready.
#[derive(Debug)]
pub(crate) struct Schema {
    root: Value,
    patterns: HashMap<String, regex::Regex>,
}

impl Schema {
    /// Takes a schema for arguments; says what is wrong with it, and which of its patterns cannot be checked.
    pub(crate) fn new(mut root: Value) -> Result<(Schema, Vec<String>), String> {
        let Some(object) = root.as_object_mut() else { return Err("is no object".to_owned()) };
        match object.get("type") {
            None => drop(object.insert("type".to_owned(), "object".into())),
            Some(Value::String(kind)) if kind == "object" => {}
            Some(other) => return Err(format!("has the type {other}; arguments are an object")),
        }
        if let Some(word) = unknown_type(&root, 0) {
            return Err(format!("has the type `{}`, which JSON Schema does not know", crate::cut(word, 60)));
        }
        let mut patterns = HashMap::new();
        let mut unchecked = Vec::new();
        collect(&root, &mut patterns, &mut unchecked, 0);
        Ok((Schema { root, patterns }, unchecked))
    }

    pub(crate) fn value(&self) -> &Value {
        &self.root
    }

    /// What is wrong with arguments, each named by its path; empty if nothing is.
    pub(crate) fn violations(&self, arguments: &Map<String, Value>) -> Vec<String> {
        let steps = Cell::new(0);
        let mut check = Check { schema: self, steps: &steps, path: String::new(), found: Vec::new() };
        check.object(arguments, self.root.as_object().unwrap_or(&Map::new()), 0);
        check.rest(&Value::Object(arguments.clone()), &self.root, 0);
        check.found.truncate(NAMED);
        check.found
    }
}

/// A type that is none. Values that stand in a schema as examples are no schemas.
fn unknown_type(schema: &Value, depth: usize) -> Option<&str> {
    const TYPES: [&str; 7] = ["array", "boolean", "integer", "null", "number", "object", "string"];
    if depth > DEPTH {
        return None;
    }
    match schema {
        Value::Object(rules) => rules.iter().find_map(|(key, value)| match (key.as_str(), value) {
            ("type", Value::String(word)) => (!TYPES.contains(&word.as_str())).then_some(word.as_str()),
            ("type", Value::Array(words)) => words.iter().filter_map(Value::as_str).find(|word| !TYPES.contains(word)),
            ("enum" | "const" | "default" | "examples" | "example", _) => None,
            _ => unknown_type(value, depth + 1),
        }),
        Value::Array(items) => items.iter().find_map(|item| unknown_type(item, depth + 1)),
        _ => None,
    }
}

fn collect(value: &Value, patterns: &mut HashMap<String, regex::Regex>, unchecked: &mut Vec<String>, depth: usize) {
    let mut add = |pattern: &str| {
        if !patterns.contains_key(pattern) {
            // The door's patterns ignore case; those of a schema do not.
            match skillfold_format::pattern::compile(&format!("(?-i:{pattern})")) {
                Ok(regex) => drop(patterns.insert(pattern.to_owned(), regex)),
                Err(_) => unchecked.push(pattern.to_owned()),
            }
        }
    };
    match value {
        Value::Object(object) if depth < DEPTH => {
            if let Some(pattern) = object.get("pattern").and_then(Value::as_str) {
                add(pattern);
            }
            if let Some(by_pattern) = object.get("patternProperties").and_then(Value::as_object) {
                by_pattern.keys().for_each(|pattern| add(pattern));
            }
            for value in object.values() {
                collect(value, patterns, unchecked, depth + 1);
            }
        }
        Value::Array(items) if depth < DEPTH => {
            for value in items {
                collect(value, patterns, unchecked, depth + 1);
            }
        }
        _ => {}
    }
}

struct Check<'s> {
    schema: &'s Schema,
    steps: &'s Cell<u32>,
    path: String,
    found: Vec<String>,
}

impl Check<'_> {
    fn say(&mut self, what: impl AsRef<str>) {
        let at = if self.path.is_empty() { "the arguments".to_owned() } else { format!("`{}`", self.path) };
        self.found.push(format!("{at} {}", what.as_ref()));
    }

    fn below<T>(&mut self, step: &str, check: impl FnOnce(&mut Self) -> T) -> T {
        let length = self.path.len();
        if !step.starts_with('[') && length > 0 {
            self.path.push('.');
        }
        self.path.push_str(step);
        let result = check(self);
        self.path.truncate(length);
        result
    }

    /// Whether a value fits, without saying why not.
    fn fits(&self, value: &Value, schema: &Value, depth: usize) -> bool {
        let mut check = Check { schema: self.schema, steps: self.steps, path: self.path.clone(), found: Vec::new() };
        check.value(value, schema, depth);
        check.found.is_empty()
    }

    fn value(&mut self, value: &Value, schema: &Value, depth: usize) {
        if self.found.len() > NAMED {
            return;
        }
        self.steps.set(self.steps.get() + 1);
        if depth > DEPTH || self.steps.get() > STEPS {
            return self.say("nests too deeply to be checked");
        }
        if let (Value::Object(object), Some(rules)) = (value, schema.as_object()) {
            self.object(object, rules, depth);
        }
        self.rest(value, schema, depth);
    }

    /// Everything but what is particular to objects.
    fn rest(&mut self, value: &Value, schema: &Value, depth: usize) {
        let rules = match schema {
            Value::Bool(false) => return self.say("is not allowed"),
            Value::Object(rules) => rules,
            _ => return,
        };
        if let Some(kinds) = rules.get("type") {
            let kinds: Vec<&str> = match kinds {
                Value::String(kind) => vec![kind],
                Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
                _ => Vec::new(),
            };
            if !kinds.is_empty() && !kinds.iter().any(|kind| is(value, kind)) {
                return self.say(format!("must be {}, not {}", listed(&kinds), kind_of(value)));
            }
        }
        if let Some(Value::Array(allowed)) = rules.get("enum")
            && !allowed.iter().any(|one| equal(one, value))
        {
            let shown: Vec<String> = allowed.iter().take(20).map(Value::to_string).collect();
            self.say(format!("must be one of {}", shown.join(", ")));
        }
        if let Some(constant) = rules.get("const")
            && !equal(constant, value)
        {
            self.say(format!("must be {constant}"));
        }
        match value {
            Value::String(text) => self.text(text, rules),
            Value::Number(number) => self.number(number, rules),
            Value::Array(items) => self.array(items, rules, depth),
            _ => {}
        }
        self.combined(value, rules, depth);
    }

    fn combined(&mut self, value: &Value, rules: &Map<String, Value>, depth: usize) {
        if let Some(Value::String(reference)) = rules.get("$ref") {
            match reference.strip_prefix('#').and_then(|pointer| self.schema.root.pointer(pointer)) {
                Some(target) => self.value(value, target, depth + 1),
                None => self.say(format!("cannot be checked: the schema has no {reference}")),
            }
        }
        if let Some(Value::Array(all)) = rules.get("allOf") {
            for schema in all {
                self.value(value, schema, depth + 1);
            }
        }
        if let Some(Value::Array(any)) = rules.get("anyOf")
            && !any.iter().any(|schema| self.fits(value, schema, depth + 1))
        {
            self.say("fits none of the forms it may have");
        }
        if let Some(Value::Array(one)) = rules.get("oneOf") {
            match one.iter().filter(|schema| self.fits(value, schema, depth + 1)).count() {
                1 => {}
                0 => self.say("fits none of the forms it may have"),
                _ => self.say("fits more than one of the forms it may have"),
            }
        }
        if let Some(not) = rules.get("not")
            && self.fits(value, not, depth + 1)
        {
            self.say("has a form it must not have");
        }
        if let Some(condition) = rules.get("if") {
            let branch = if self.fits(value, condition, depth + 1) { "then" } else { "else" };
            if let Some(schema) = rules.get(branch) {
                self.value(value, schema, depth + 1);
            }
        }
    }

    fn object(&mut self, object: &Map<String, Value>, rules: &Map<String, Value>, depth: usize) {
        if let Some(Value::Array(required)) = rules.get("required") {
            for key in required.iter().filter_map(Value::as_str).filter(|key| !object.contains_key(*key)) {
                self.below(key, |check| check.say("is missing"));
            }
        }
        let dependent = rules.get("dependentRequired").and_then(Value::as_object);
        for (key, needed) in dependent.into_iter().flatten().filter(|(key, _)| object.contains_key(*key)) {
            let needed = needed.as_array().into_iter().flatten().filter_map(Value::as_str);
            for missing in needed.filter(|needed| !object.contains_key(*needed)) {
                self.below(missing, |check| check.say(format!("is missing: `{}` needs it", crate::cut(key, 60))));
            }
        }
        let properties = rules.get("properties").and_then(Value::as_object);
        let by_pattern = rules.get("patternProperties").and_then(Value::as_object);
        for (key, value) in object {
            let shown = crate::cut(key, 60);
            let mut known = false;
            if let Some(schema) = properties.and_then(|properties| properties.get(key)) {
                known = true;
                self.below(shown, |check| check.value(value, schema, depth + 1));
            }
            for (pattern, schema) in by_pattern.into_iter().flatten() {
                if self.schema.patterns.get(pattern).is_some_and(|regex| regex.is_match(key)) {
                    known = true;
                    self.below(shown, |check| check.value(value, schema, depth + 1));
                }
            }
            if !known {
                match rules.get("additionalProperties") {
                    Some(Value::Bool(false)) => {
                        let names: Vec<&str> =
                            properties.into_iter().flatten().map(|(name, _)| name.as_str()).collect();
                        let known = if names.is_empty() { "nothing".to_owned() } else { names.join(", ") };
                        self.below(shown, |check| check.say(format!("is not known; there is {known}")));
                    }
                    Some(schema) => self.below(shown, |check| check.value(value, schema, depth + 1)),
                    None => {}
                }
            }
            if let Some(names) = rules.get("propertyNames")
                && !self.fits(&Value::String(key.clone()), names, depth + 1)
            {
                self.below(shown, |check| check.say("is no allowed name"));
            }
        }
        self.count(object.len(), rules, ("minProperties", "maxProperties"), "properties");
    }

    fn array(&mut self, items: &[Value], rules: &Map<String, Value>, depth: usize) {
        // Before draft 2020-12, `items` could be a list, and `additionalItems` was for the rest.
        let (prefix, rest) = match rules.get("items") {
            list @ Some(Value::Array(_)) => (list, rules.get("additionalItems")),
            rest => (rules.get("prefixItems"), rest),
        };
        let first = match prefix {
            Some(Value::Array(prefix)) => {
                for (index, (item, schema)) in items.iter().zip(prefix).enumerate() {
                    self.below(&format!("[{index}]"), |check| check.value(item, schema, depth + 1));
                }
                prefix.len()
            }
            _ => 0,
        };
        if let Some(schema) = rest {
            for (index, item) in items.iter().enumerate().skip(first) {
                if self.found.len() > NAMED {
                    break;
                }
                self.below(&format!("[{index}]"), |check| check.value(item, schema, depth + 1));
            }
        }
        if let Some(schema) = rules.get("contains")
            && !items.iter().any(|item| self.fits(item, schema, depth + 1))
        {
            self.say("lacks an item it must have");
        }
        if rules.get("uniqueItems") == Some(&Value::Bool(true)) {
            let mut seen: Vec<&Value> = Vec::new();
            for item in items.iter().take(1_000) {
                if seen.iter().any(|other| equal(other, item)) {
                    self.say("has an item twice");
                    break;
                }
                seen.push(item);
            }
        }
        self.count(items.len(), rules, ("minItems", "maxItems"), "items");
    }

    fn text(&mut self, text: &str, rules: &Map<String, Value>) {
        self.count(text.chars().count(), rules, ("minLength", "maxLength"), "characters");
        if let Some(Value::String(pattern)) = rules.get("pattern")
            && self.schema.patterns.get(pattern).is_some_and(|regex| !regex.is_match(text))
        {
            self.say(format!("must match {pattern}"));
        }
    }

    fn count(&mut self, count: usize, rules: &Map<String, Value>, names: (&str, &str), what: &str) {
        let bound = |name: &str| rules.get(name).and_then(Value::as_f64);
        #[expect(clippy::cast_precision_loss, reason = "no argument has 2^52 of anything")]
        let count = count as f64;
        if let Some(least) = bound(names.0).filter(|least| count < *least) {
            self.say(format!("must have at least {least} {what}, not {count}"));
        }
        if let Some(most) = bound(names.1).filter(|most| count > *most) {
            self.say(format!("must have at most {most} {what}, not {count}"));
        }
    }

    fn number(&mut self, number: &serde_json::Number, rules: &Map<String, Value>) {
        let Some(value) = number.as_f64() else { return };
        let bound = |name: &str| rules.get(name).and_then(Value::as_f64);
        for (name, wrong, word) in [
            ("minimum", bound("minimum").is_some_and(|bound| value < bound), "at least"),
            ("maximum", bound("maximum").is_some_and(|bound| value > bound), "at most"),
            ("exclusiveMinimum", bound("exclusiveMinimum").is_some_and(|bound| value <= bound), "more than"),
            ("exclusiveMaximum", bound("exclusiveMaximum").is_some_and(|bound| value >= bound), "less than"),
        ] {
            if wrong {
                let mut text = format!("must be {word} ");
                let _ = write!(text, "{}", rules[name]);
                self.say(text);
            }
        }
        if let Some(step) = bound("multipleOf").filter(|step| *step > 0.0) {
            let ratio = value / step;
            if (ratio - ratio.round()).abs() > 1e-9 {
                self.say(format!("must be a multiple of {step}"));
            }
        }
    }
}

fn is(value: &Value, kind: &str) -> bool {
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

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

fn listed(kinds: &[&str]) -> String {
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

/// JSON's equality: 1 is 1.0.
fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| equal(a, b)))
        }
        _ => a == b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[expect(clippy::needless_pass_by_value, reason = "written down where it is called")]
    fn wrong(schema: Value, arguments: Value) -> Vec<String> {
        let (schema, unchecked) = Schema::new(schema).unwrap();
        assert!(unchecked.is_empty());
        schema.violations(arguments.as_object().unwrap())
    }

    #[expect(clippy::needless_pass_by_value, reason = "written down where it is called")]
    fn of(schema: Value, value: Value) -> Vec<String> {
        wrong(
            json!({"type": "object", "properties": {"x": schema}, "$defs": {"even": {"multipleOf": 2}}}),
            json!({ "x": value }),
        )
    }

    #[test]
    fn the_offending_argument_is_named() {
        let schema = json!({
            "type": "object",
            "properties": {"name": {"type": "string", "minLength": 2}, "tags": {"type": "array", "items": {"type": "object", "required": ["id"]}}},
            "required": ["name"],
            "additionalProperties": false,
        });
        assert_eq!(wrong(schema.clone(), json!({"name": "ok", "tags": [{"id": 1}]})), [] as [&str; 0]);
        assert_eq!(wrong(schema.clone(), json!({})), ["`name` is missing"]);
        assert_eq!(wrong(schema.clone(), json!({"name": 1})), ["`name` must be a string, not a number"]);
        assert_eq!(wrong(schema.clone(), json!({"name": "a"})), ["`name` must have at least 2 characters, not 1"]);
        assert_eq!(wrong(schema.clone(), json!({"name": "ab", "tags": [{"id": 1}, {}]})), ["`tags[1].id` is missing"]);
        assert_eq!(wrong(schema, json!({"name": "ab", "nmae": 1})), ["`nmae` is not known; there is name, tags"]);
    }

    #[test]
    fn keywords_hold() {
        for (schema, good, bad) in [
            (json!({"type": ["string", "null"]}), json!(null), json!(1)),
            (json!({"type": "integer"}), json!(1.0), json!(1.5)),
            (json!({"enum": ["a", 1]}), json!(1.0), json!("b")),
            (json!({"const": {"a": [1]}}), json!({"a": [1.0]}), json!({"a": []})),
            (json!({"minimum": 1, "exclusiveMaximum": 3}), json!(1), json!(3)),
            (json!({"multipleOf": 0.1}), json!(0.3), json!(0.25)),
            (json!({"pattern": "^[a-z]+$"}), json!("abc"), json!("ABC")),
            (json!({"maxLength": 1}), json!("😀"), json!("ab")),
            (
                json!({"prefixItems": [{"type": "string"}], "items": {"type": "number"}}),
                json!(["a", 1]),
                json!(["a", "b"]),
            ),
            (json!({"minItems": 1, "uniqueItems": true}), json!([1, 2]), json!([1, 1.0])),
            (json!({"contains": {"const": 1}}), json!([0, 1]), json!([0])),
            (json!({"anyOf": [{"type": "string"}, {"minimum": 5}]}), json!(6), json!(4)),
            (json!({"oneOf": [{"minimum": 1}, {"minimum": 5}]}), json!(2), json!(6)),
            (json!({"allOf": [{"minimum": 1}, {"maximum": 5}]}), json!(2), json!(6)),
            (json!({"not": {"type": "string"}}), json!(2), json!("x")),
            (json!({"$ref": "#/$defs/even"}), json!(2), json!(3)),
            (
                json!({"if": {"type": "string"}, "then": {"minLength": 2}, "else": {"minimum": 2}}),
                json!("ab"),
                json!(1),
            ),
            (
                json!({"patternProperties": {"^a": {"type": "string"}}, "additionalProperties": {"type": "number"}}),
                json!({"ab": "x", "b": 1}),
                json!({"b": "x"}),
            ),
            (json!({"propertyNames": {"maxLength": 1}, "maxProperties": 2}), json!({"a": 1}), json!({"ab": 1})),
            (json!({"format": "email"}), json!("no mail"), json!(null)),
        ] {
            assert_eq!(of(schema.clone(), good.clone()), [] as [&str; 0], "{schema} {good}");
            if schema != json!({"format": "email"}) {
                assert!(!of(schema.clone(), bad.clone()).is_empty(), "{schema} {bad}");
            }
        }
        assert!(!of(json!(false), json!(1)).is_empty() && of(json!(true), json!(1)).is_empty());
    }

    #[test]
    fn a_schema_that_refers_to_itself_ends() {
        let schema = json!({"type": "object", "properties": {"next": {"$ref": "#"}}, "anyOf": [{"$ref": "#"}]});
        assert!(!wrong(schema, json!({"next": {}})).is_empty());
        let twice = json!({"type": "object", "anyOf": [{"$ref": "#"}, {"$ref": "#"}, {"$ref": "#"}]});
        assert!(!wrong(twice, json!({})).is_empty());
        let list = json!({"type": "object", "properties": {"next": {"$ref": "#"}, "v": {"type": "number"}}});
        assert_eq!(
            wrong(list, json!({"next": {"next": {"v": "x"}}})),
            ["`next.next.v` must be a number, not a string"]
        );
    }

    #[test]
    fn arguments_are_objects_and_patterns_have_limits() {
        assert!(Schema::new(json!({"type": "string"})).is_err());
        assert!(Schema::new(json!([])).is_err());
        assert_eq!(Schema::new(json!({})).unwrap().0.value(), &json!({"type": "object"}));
        let (_, unchecked) = Schema::new(json!({"properties": {"x": {"pattern": "(?=a)"}}})).unwrap();
        assert_eq!(unchecked, ["(?=a)"]);
    }

    #[test]
    fn types_are_known_and_lists_and_dependencies_count() {
        let unknown = json!({ "properties": { "a": { "items": { "type": ["string", "strng"] } } } });
        assert!(Schema::new(unknown).unwrap_err().contains("strng"));
        let known = json!({ "properties": { "type": { "type": "string", "default": { "type": "x" } } } });
        assert!(Schema::new(known).is_ok());
        let schema = json!({
            "properties": { "p": { "items": [{ "type": "number" }, { "type": "string" }], "additionalItems": false } },
            "dependentRequired": { "a": ["b"] }
        });
        let (schema, _) = Schema::new(schema).unwrap();
        let wrong = |arguments: Value| schema.violations(arguments.as_object().unwrap());
        assert!(wrong(json!({ "p": [1, "x"], "b": 1 })).is_empty());
        assert_eq!(wrong(json!({ "p": ["x", "x"] })).len(), 1);
        assert_eq!(wrong(json!({ "p": [1, "x", 2] })).len(), 1);
        assert!(wrong(json!({ "a": 1 }))[0].contains("`a` needs it"));
    }
}
