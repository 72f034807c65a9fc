//! Arguments against a plain JSON Schema: the part of draft 2020-12 that authors of tools use.
//!
//! Checked: `type`, `enum`, `const`, `properties`, `required`, `dependentRequired`, `dependentSchemas`,
//! `additionalProperties`, `patternProperties`, `propertyNames`, `items`, `prefixItems`, `contains` with its bounds,
//! the bounds of numbers, texts, arrays and objects, `multipleOf`, `uniqueItems`, `pattern`, `anyOf`, `oneOf`, `allOf`,
//! `not`, `if`/`then`/`else`, and `$ref` to a JSON pointer or an `$anchor` within the schema. `format` is a remark and
//! not checked, as the specification has it.
//!
//! A part that cannot be checked ([`UNCHECKED`], references that lead out, patterns that the linear engine does not
//! take) is reported when the tool is defined, and refuses nothing: a value that is not known to fit is not known not
//! to fit either, and `not`, `oneOf` and the like respect that.

mod check;
mod pattern;
mod values;
mod walk;

use std::borrow::Cow;
use std::collections::HashMap;

use serde_json::{Map, Value};

use check::{ArgumentCheck, CheckLimits, MAX_STEPS};
use walk::{MAX_IN_PLACE, Unsound};

/// The greatest depth to which a schema is followed: JSON that is read nests up to 128 levels, and a level of a tree
/// takes up to four steps (`properties`, `items`, `$ref`, and one to choose).
const MAX_DEPTH: usize = 512;
/// The greatest depth of a check on its caller's stack: a step takes up to 6 KiB of it in a debug build, and threads
/// with 512 KiB are in use. Deeper checks get a stack of their own, of [`DEEP_STACK`] bytes.
const MAX_SHALLOW: usize = 32;
const DEEP_STACK: usize = 16 << 20;
/// The most violations that are named; more do not help.
const MAX_VIOLATIONS: usize = 10;
/// Keywords with a meaning that is not checked.
const UNCHECKED: [&str; 4] = ["unevaluatedProperties", "unevaluatedItems", "$dynamicRef", "$recursiveRef"];

/// A schema, prepared for checks.
#[derive(Debug)]
pub(crate) struct Schema {
    root: Value,
    patterns: HashMap<String, regex::Regex>,
    /// The JSON pointer of each `$anchor`.
    anchors: HashMap<String, String>,
    /// Whether a part of it has an address of its own, to which references in it are relative.
    has_parts: bool,
}

impl Schema {
    /// Takes a schema for arguments. Returns it with the parts that cannot be checked, or what is wrong with it.
    pub(crate) fn new(mut root: Value) -> Result<(Schema, Vec<String>), String> {
        let Some(object) = root.as_object_mut() else { return Err("is no object".to_owned()) };
        match object.get("type") {
            None => drop(object.insert("type".to_owned(), "object".into())),
            Some(Value::String(kind)) if kind == "object" => {}
            Some(other) => return Err(format!("has the type {other}; arguments are an object")),
        }
        let mut unknown = None;
        walk::each(&root, &mut String::new(), 0, &mut |_, rules| {
            unknown = unknown.take().or_else(|| unknown_type(rules));
        });
        if let Some(word) = unknown {
            return Err(format!("has the type `{}`, which JSON Schema does not know", crate::cut(&word, 60)));
        }
        let (schema, unchecked) = Schema::parse(root);
        match walk::unsound(&schema) {
            Some(Unsound::Endless(reference)) => Err(format!(
                "refers to itself by `$ref: \"{}\"` without going into a value: checking would never end; put the \
                 reference below `properties` or `items`",
                crate::cut(reference, 60)
            )),
            Some(Unsound::TooLong) => Err(format!(
                "applies more than {MAX_IN_PLACE} schemas to one value, each by way of the one before; shorten the \
                 chain of `$ref`, `allOf`, `anyOf` and the like"
            )),
            None => Ok((schema, unchecked)),
        }
    }

    /// Takes any schema. Returns it with the parts that cannot be checked.
    fn parse(root: Value) -> (Schema, Vec<String>) {
        let (mut patterns, mut anchors, mut unchecked) = (HashMap::new(), HashMap::new(), Vec::new());
        let (mut references, mut has_parts) = (Vec::new(), false);
        let mut report = |what: String| {
            if !unchecked.contains(&what) {
                unchecked.push(what);
            }
        };
        walk::each(&root, &mut String::new(), 0, &mut |at, rules| {
            let by_pattern = rules.get("patternProperties").and_then(Value::as_object);
            let own = rules.get("pattern").and_then(Value::as_str);
            for pattern in own.into_iter().chain(by_pattern.into_iter().flatten().map(|(pattern, _)| pattern.as_str()))
            {
                if !patterns.contains_key(pattern) {
                    match pattern::compile(pattern) {
                        Ok(regex) => drop(patterns.insert(pattern.to_owned(), regex)),
                        Err(_) => report(format!("the pattern {pattern}")),
                    }
                }
            }
            if let Some(anchor) = rules.get("$anchor").and_then(Value::as_str) {
                anchors.insert(anchor.to_owned(), at.to_owned());
            }
            has_parts |= !at.is_empty() && rules.get("$id").is_some_and(Value::is_string);
            references.extend(rules.get("$ref").and_then(Value::as_str).map(str::to_owned));
            for keyword in UNCHECKED.iter().filter(|keyword| rules.contains_key(**keyword)) {
                report(format!("`{keyword}`"));
            }
        });
        let schema = Schema { root, patterns, anchors, has_parts };
        for reference in references.iter().filter(|reference| schema.target(reference).is_none()) {
            report(format!("the reference {}", crate::cut(reference, 120)));
        }
        (schema, unchecked)
    }

    /// Returns the schema as JSON.
    pub(crate) fn value(&self) -> &Value {
        &self.root
    }

    /// Returns the violations of arguments, each named by its path.
    pub(crate) fn violations(&self, arguments: &Map<String, Value>) -> Vec<String> {
        self.violations_of(&Value::Object(arguments.clone()))
    }

    fn violations_of(&self, value: &Value) -> Vec<String> {
        let limits = CheckLimits::new(MAX_SHALLOW);
        let violations = self.violations_within(value, &limits);
        if !limits.is_too_deep.get() {
            return violations;
        }
        // The schema's author decides how deep this goes, and an overflow would end the whole process.
        let deep = || self.violations_within(value, &CheckLimits::new(MAX_DEPTH));
        let violations = std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().name("schema".into()).stack_size(DEEP_STACK);
            thread.spawn_scoped(scope, deep).ok()?.join().ok()
        });
        violations.unwrap_or_else(|| vec!["the arguments cannot be checked: no thread could be started".to_owned()])
    }

    fn violations_within(&self, value: &Value, limits: &CheckLimits) -> Vec<String> {
        let mut check = ArgumentCheck::new(self, limits, MAX_VIOLATIONS);
        check.value(value, &self.root, 0);
        if limits.is_too_deep.get() {
            return vec!["the arguments nest too deeply to be checked".to_owned()];
        }
        if limits.has_too_many_steps() {
            return vec![format!(
                "the arguments cannot be checked in {MAX_STEPS} steps: pass fewer values, or the skill's author gives \
                 the schema fewer forms to try"
            )];
        }
        check.violations.truncate(MAX_VIOLATIONS);
        check.violations
    }

    /// Returns the schema that a reference means, if it is one within this schema.
    fn target(&self, reference: &str) -> Option<&Value> {
        let fragment = percent_decoded(reference.strip_prefix('#').filter(|_| !self.has_parts)?)?;
        if fragment.is_empty() || fragment.starts_with('/') {
            return self.root.pointer(&fragment);
        }
        self.root.pointer(self.anchors.get(&*fragment)?)
    }
}

/// Returns the first type that JSON Schema does not have.
fn unknown_type(rules: &Map<String, Value>) -> Option<String> {
    const TYPES: [&str; 7] = ["array", "boolean", "integer", "null", "number", "object", "string"];
    let words = match rules.get("type")? {
        Value::String(word) => std::slice::from_ref(word).iter().map(String::as_str).collect(),
        Value::Array(words) => words.iter().filter_map(Value::as_str).collect::<Vec<_>>(),
        _ => return None,
    };
    words.into_iter().find(|word| !TYPES.contains(word)).map(str::to_owned)
}

/// Decodes the `%` of a part of a URL.
fn percent_decoded(text: &str) -> Option<Cow<'_, str>> {
    if !text.contains('%') {
        return Some(text.into());
    }
    let (mut bytes, mut rest) = (Vec::new(), text);
    while let Some((before, after)) = rest.split_once('%') {
        bytes.extend_from_slice(before.as_bytes());
        bytes.push(u8::from_str_radix(after.get(..2)?, 16).ok()?);
        rest = &after[2..];
    }
    bytes.extend_from_slice(rest.as_bytes());
    String::from_utf8(bytes).ok().map(Cow::Owned)
}

#[cfg(test)]
mod tests;
