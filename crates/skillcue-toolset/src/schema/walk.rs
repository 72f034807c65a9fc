//! Walks over the schemas within a schema: which there are, and whether following them ends.

use std::collections::HashMap;
use std::fmt::Write as _;

use serde_json::{Map, Value};

use super::{MAX_DEPTH, Schema};

/// The most schemas that may apply to one value, each by way of the one before. Written by hand, they are a handful.
pub(super) const MAX_IN_PLACE: usize = 128;

/// Keywords that hold one schema, or, as `items` once could, a list of them.
const WITH_ONE: [&str; 12] = [
    "items",
    "additionalItems",
    "additionalProperties",
    "contains",
    "propertyNames",
    "not",
    "if",
    "then",
    "else",
    "unevaluatedProperties",
    "unevaluatedItems",
    "contentSchema",
];
/// Keywords that hold a list of schemas.
const WITH_LIST: [&str; 4] = ["allOf", "anyOf", "oneOf", "prefixItems"];
/// Keywords that hold schemas by names.
const WITH_NAMES: [&str; 5] = ["properties", "patternProperties", "dependentSchemas", "$defs", "definitions"];

/// The reason that a schema cannot be followed.
pub(super) enum Unsound<'s> {
    /// This reference leads back to its own schema, with no step into the value on the way. One with such a step, as in
    /// a tree, ends with the value.
    Endless(&'s str),
    /// More than [`MAX_IN_PLACE`] schemas apply to one value, each by way of the one before.
    TooLong,
}

/// A walk over all schemas that a check can reach. It does not recurse: chains of references are as long as an author
/// likes.
struct SoundnessWalk<'s> {
    schema: &'s Schema,
    /// Schemas for parts of a value, to be walked from their own beginning.
    todo: Vec<&'s Value>,
    /// The number of schemas that follow on each, all about one value; `None` while the walk is inside of it.
    heights: HashMap<*const Value, Option<usize>>,
}

/// A schema that the walk is inside of.
struct OpenSchema<'s> {
    at: &'s Value,
    /// Schemas about the same value that are still to be walked, the next one last, each with the reference to it.
    inner: Vec<(&'s Value, &'s str)>,
    height: usize,
}

/// Returns the reason that following the schema would not end, or not soon enough.
pub(super) fn unsound(schema: &Schema) -> Option<Unsound<'_>> {
    let mut walk = SoundnessWalk { schema, todo: vec![&schema.root], heights: HashMap::new() };
    while let Some(next) = walk.todo.pop() {
        if let Err(unsound) = walk.in_place(next) {
            return Some(unsound);
        }
    }
    None
}

impl<'s> SoundnessWalk<'s> {
    /// Walks all that applies to the value that `start` applies to.
    fn in_place(&mut self, start: &'s Value) -> Result<(), Unsound<'s>> {
        let mut path: Vec<OpenSchema<'s>> = Vec::new();
        let mut next = Some((start, ""));
        loop {
            if let Some((at, last)) = next.take() {
                match self.heights.get(&std::ptr::from_ref(at)) {
                    Some(None) => return Err(Unsound::Endless(last)),
                    Some(Some(height)) => {
                        if let Some(above) = path.last_mut() {
                            above.height = above.height.max(height + 1);
                        }
                    }
                    None => path.push(self.enter(at, last)),
                }
            }
            let Some(inside) = path.last_mut() else { return Ok(()) };
            next = inside.inner.pop();
            if next.is_some() {
                continue;
            }
            let Some(OpenSchema { at, height, .. }) = path.pop() else { return Ok(()) };
            if height > MAX_IN_PLACE {
                return Err(Unsound::TooLong);
            }
            self.heights.insert(std::ptr::from_ref(at), Some(height));
            if let Some(above) = path.last_mut() {
                above.height = above.height.max(height + 1);
            }
        }
    }

    fn enter(&mut self, at: &'s Value, last: &'s str) -> OpenSchema<'s> {
        self.heights.insert(std::ptr::from_ref(at), None);
        let mut inner = Vec::new();
        for (key, value) in at.as_object().into_iter().flatten() {
            if let (Some(target), Some(reference)) = (self.target(key, value), value.as_str()) {
                inner.push((target, reference));
            }
            for (part, is_in_place) in parts(key, value) {
                if is_in_place {
                    inner.push((part, last));
                } else {
                    self.todo.push(part);
                }
            }
        }
        OpenSchema { at, inner, height: 0 }
    }

    fn target(&self, key: &str, value: &Value) -> Option<&'s Value> {
        self.schema.target(value.as_str().filter(|_| key == "$ref")?)
    }
}

/// The schemas below a keyword, and whether each is about the value itself rather than about a part of it.
fn parts<'s>(key: &str, value: &'s Value) -> Vec<(&'s Value, bool)> {
    const IN_PLACE: [&str; 8] = ["allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas"];
    let is_in_place = IN_PLACE.contains(&key);
    let below: Vec<&Value> = match value {
        // Definitions count where a reference leads to them.
        _ if matches!(key, "$defs" | "definitions") => Vec::new(),
        Value::Object(by_name) if WITH_NAMES.contains(&key) => by_name.values().collect(),
        Value::Array(list) if WITH_LIST.contains(&key) || key == "items" => list.iter().collect(),
        _ if WITH_ONE.contains(&key) => vec![value],
        _ => Vec::new(),
    };
    below.into_iter().map(|schema| (schema, is_in_place)).collect()
}

/// Calls `see` for every schema within a schema, with its JSON pointer. A value that only looks like one, in an `enum`
/// or an example, is none.
pub(super) fn each<'s>(
    schema: &'s Value,
    at: &mut String,
    depth: usize,
    see: &mut dyn FnMut(&str, &'s Map<String, Value>),
) {
    let Some(rules) = schema.as_object().filter(|_| depth <= MAX_DEPTH) else { return };
    see(at, rules);
    let length = at.len();
    for (key, value) in rules {
        let _ = write!(at, "/{}", key.replace('~', "~0").replace('/', "~1"));
        let inner = at.len();
        match value {
            Value::Object(by_name) if WITH_NAMES.contains(&key.as_str()) => {
                for (name, schema) in by_name {
                    let _ = write!(at, "/{}", name.replace('~', "~0").replace('/', "~1"));
                    each(schema, at, depth + 1, see);
                    at.truncate(inner);
                }
            }
            Value::Array(list) if WITH_LIST.contains(&key.as_str()) || key == "items" => {
                for (index, schema) in list.iter().enumerate() {
                    let _ = write!(at, "/{index}");
                    each(schema, at, depth + 1, see);
                    at.truncate(inner);
                }
            }
            _ if WITH_ONE.contains(&key.as_str()) => each(value, at, depth + 1, see),
            _ => {}
        }
        at.truncate(length);
    }
}
