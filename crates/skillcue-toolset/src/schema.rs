//! Arguments against a plain JSON Schema: what of draft 2020-12 authors of tools use.
//!
//! Checked: `type`, `enum`, `const`, `properties`, `required`, `dependentRequired`, `dependentSchemas`,
//! `additionalProperties`, `patternProperties`, `propertyNames`, `items`, `prefixItems`, `contains` with its bounds, the
//! bounds of numbers, texts, arrays and objects, `multipleOf`, `uniqueItems`, `pattern`, `anyOf`, `oneOf`, `allOf`,
//! `not`, `if`/`then`/`else`, and `$ref` to a JSON pointer or an `$anchor` within the schema. `format` is a remark and not
//! checked, as the specification has it.
//!
//! Whatever cannot be checked ([`UNCHECKED`], references that lead out, patterns that the linear engine does not take) is
//! reported when the tool is defined, and refuses nothing: a part that is not known to fit is not known not to fit
//! either, and `not`, `oneOf` and the like respect that.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use serde_json::{Map, Number, Value};

/// How deep a schema is followed: JSON that is read nests up to 128 levels, and a level of a tree takes up to four steps
/// (`properties`, `items`, `$ref`, and one to choose).
const DEPTH: usize = 512;
/// How deep a check goes on its caller's stack: a step takes up to 6 KiB of it in a debug build, and threads with 512 KiB are
/// in use. Deeper checks get a stack of their own.
const MAX_SHALLOW: usize = 32;
const DEEP_STACK: usize = 16 << 20;
/// How many schemas may apply to one value, each by way of the one before. Written by hand, they are a handful.
const MAX_IN_PLACE: usize = 128;
/// Steps a check may take. A schema is checked once for each value; so these are as many as there are pairs of the two.
const MAX_STEPS: u32 = 100_000;
/// Violations that are named; more do not help.
const NAMED: usize = 10;
/// Keywords with a meaning that is not checked.
pub(crate) const UNCHECKED: [&str; 4] = ["unevaluatedProperties", "unevaluatedItems", "$dynamicRef", "$recursiveRef"];

/// Keywords that hold one schema, or, as `items` once could, a list of them.
const ONE: [&str; 12] = [
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
const LISTS: [&str; 4] = ["allOf", "anyOf", "oneOf", "prefixItems"];
/// Keywords that hold schemas by names.
const BY_NAME: [&str; 5] = ["properties", "patternProperties", "dependentSchemas", "$defs", "definitions"];

/// A schema, made ready.
#[derive(Debug)]
pub(crate) struct Schema {
    root: Value,
    patterns: HashMap<String, regex::Regex>,
    /// Where each `$anchor` is, as a JSON pointer.
    anchors: HashMap<String, String>,
    /// Whether a part of it has an address of its own, to which references in it are relative.
    has_parts: bool,
}

impl Schema {
    /// Takes a schema for arguments; says what is wrong with it, and which parts of it cannot be checked.
    pub(crate) fn new(mut root: Value) -> Result<(Schema, Vec<String>), String> {
        let Some(object) = root.as_object_mut() else { return Err("is no object".to_owned()) };
        match object.get("type") {
            None => drop(object.insert("type".to_owned(), "object".into())),
            Some(Value::String(kind)) if kind == "object" => {}
            Some(other) => return Err(format!("has the type {other}; arguments are an object")),
        }
        let mut unknown = None;
        each(&root, &mut String::new(), 0, &mut |_, rules| unknown = unknown.take().or_else(|| unknown_type(rules)));
        if let Some(word) = unknown {
            return Err(format!("has the type `{}`, which JSON Schema does not know", crate::cut(&word, 60)));
        }
        let (schema, unchecked) = Schema::of(root);
        match schema.unsound() {
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

    /// Why following the schema would not end, or not soon enough.
    fn unsound(&self) -> Option<Unsound<'_>> {
        let mut walk = Walk { schema: self, todo: vec![&self.root], heights: HashMap::new() };
        while let Some(next) = walk.todo.pop() {
            if let Err(unsound) = walk.in_place(next) {
                return Some(unsound);
            }
        }
        None
    }

    /// Takes any schema.
    fn of(root: Value) -> (Schema, Vec<String>) {
        let (mut patterns, mut anchors, mut unchecked) = (HashMap::new(), HashMap::new(), Vec::new());
        let (mut references, mut has_parts) = (Vec::new(), false);
        let mut say = |what: String| {
            if !unchecked.contains(&what) {
                unchecked.push(what);
            }
        };
        each(&root, &mut String::new(), 0, &mut |at, rules| {
            let by_pattern = rules.get("patternProperties").and_then(Value::as_object);
            let own = rules.get("pattern").and_then(Value::as_str);
            for pattern in own.into_iter().chain(by_pattern.into_iter().flatten().map(|(pattern, _)| pattern.as_str()))
            {
                if !patterns.contains_key(pattern) {
                    match compile(pattern) {
                        Ok(regex) => drop(patterns.insert(pattern.to_owned(), regex)),
                        Err(_) => say(format!("the pattern {pattern}")),
                    }
                }
            }
            if let Some(anchor) = rules.get("$anchor").and_then(Value::as_str) {
                anchors.insert(anchor.to_owned(), at.to_owned());
            }
            has_parts |= !at.is_empty() && rules.get("$id").is_some_and(Value::is_string);
            references.extend(rules.get("$ref").and_then(Value::as_str).map(str::to_owned));
            for keyword in UNCHECKED.iter().filter(|keyword| rules.contains_key(**keyword)) {
                say(format!("`{keyword}`"));
            }
        });
        let schema = Schema { root, patterns, anchors, has_parts };
        for reference in references.iter().filter(|reference| schema.target(reference).is_none()) {
            say(format!("the reference {}", crate::cut(reference, 120)));
        }
        (schema, unchecked)
    }

    pub(crate) fn value(&self) -> &Value {
        &self.root
    }

    /// What is wrong with arguments, each named by its path; empty if nothing is.
    pub(crate) fn violations(&self, arguments: &Map<String, Value>) -> Vec<String> {
        self.wrong(&Value::Object(arguments.clone()))
    }

    fn wrong(&self, value: &Value) -> Vec<String> {
        let limits = Limits::new(MAX_SHALLOW);
        let found = self.wrong_within(value, &limits);
        if !limits.is_too_deep.get() {
            return found;
        }
        // The schema's author decides how deep this goes, and an overflow would end the whole process.
        let deep = || self.wrong_within(value, &Limits::new(DEPTH));
        let found = std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().name("schema".into()).stack_size(DEEP_STACK);
            thread.spawn_scoped(scope, deep).ok()?.join().ok()
        });
        found.unwrap_or_else(|| vec!["the arguments cannot be checked: no thread could be started".to_owned()])
    }

    fn wrong_within(&self, value: &Value, limits: &Limits) -> Vec<String> {
        let mut check = Check::new(self, limits, NAMED);
        check.value(value, &self.root, 0);
        if limits.is_too_deep.get() {
            return vec!["the arguments nest too deeply to be checked".to_owned()];
        }
        if limits.steps.get() > MAX_STEPS {
            return vec![format!(
                "the arguments cannot be checked in {MAX_STEPS} steps: pass fewer values, or the skill's author gives \
                 the schema fewer forms to try"
            )];
        }
        check.found.truncate(NAMED);
        check.found
    }

    /// The schema that a reference means, if it is one within this schema.
    fn target(&self, reference: &str) -> Option<&Value> {
        let fragment = percent_decoded(reference.strip_prefix('#').filter(|_| !self.has_parts)?)?;
        if fragment.is_empty() || fragment.starts_with('/') {
            return self.root.pointer(&fragment);
        }
        self.root.pointer(self.anchors.get(&*fragment)?)
    }
}

/// Why a schema cannot be followed.
enum Unsound<'s> {
    /// This reference leads back to where it stands, with no step into the value on the way. One with such a step, as in a
    /// tree, ends with the value.
    Endless(&'s str),
    /// More than [`MAX_IN_PLACE`] schemas apply to one value, each by way of the one before.
    TooLong,
}

/// A walk over all schemas that a check can get to. It calls no function of its own again: chains of references are as
/// long as an author likes.
struct Walk<'s> {
    schema: &'s Schema,
    /// Schemas for parts of a value, to be walked from their own beginning.
    todo: Vec<&'s Value>,
    /// How many schemas follow on each, all about one value; `None` while the walk is inside of it.
    heights: HashMap<*const Value, Option<usize>>,
}

/// A schema that a walk is inside of.
struct Inside<'s> {
    at: &'s Value,
    /// Schemas about the same value that are still to be walked, the next one last, each with the reference to it.
    inner: Vec<(&'s Value, &'s str)>,
    height: usize,
}

impl<'s> Walk<'s> {
    /// Walks all that applies to the value that `start` applies to.
    fn in_place(&mut self, start: &'s Value) -> Result<(), Unsound<'s>> {
        let mut path: Vec<Inside<'s>> = Vec::new();
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
            let Some(Inside { at, height, .. }) = path.pop() else { return Ok(()) };
            if height > MAX_IN_PLACE {
                return Err(Unsound::TooLong);
            }
            self.heights.insert(std::ptr::from_ref(at), Some(height));
            if let Some(above) = path.last_mut() {
                above.height = above.height.max(height + 1);
            }
        }
    }

    fn enter(&mut self, at: &'s Value, last: &'s str) -> Inside<'s> {
        self.heights.insert(std::ptr::from_ref(at), None);
        let mut inner = Vec::new();
        for (key, value) in at.as_object().into_iter().flatten() {
            if let (Some(target), Some(reference)) = (self.referred(key, value), value.as_str()) {
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
        Inside { at, inner, height: 0 }
    }

    fn referred(&self, key: &str, value: &Value) -> Option<&'s Value> {
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
        Value::Object(by_name) if BY_NAME.contains(&key) => by_name.values().collect(),
        Value::Array(list) if LISTS.contains(&key) || key == "items" => list.iter().collect(),
        _ if ONE.contains(&key) => vec![value],
        _ => Vec::new(),
    };
    below.into_iter().map(|schema| (schema, is_in_place)).collect()
}

/// Calls `see` for every schema within a schema, with its JSON pointer. What only looks like one, in an `enum` or an
/// example, is none.
fn each<'s>(schema: &'s Value, at: &mut String, depth: usize, see: &mut dyn FnMut(&str, &'s Map<String, Value>)) {
    let Some(rules) = schema.as_object().filter(|_| depth <= DEPTH) else { return };
    see(at, rules);
    let length = at.len();
    for (key, value) in rules {
        let _ = write!(at, "/{}", key.replace('~', "~0").replace('/', "~1"));
        let inner = at.len();
        match value {
            Value::Object(by_name) if BY_NAME.contains(&key.as_str()) => {
                for (name, schema) in by_name {
                    let _ = write!(at, "/{}", name.replace('~', "~0").replace('/', "~1"));
                    each(schema, at, depth + 1, see);
                    at.truncate(inner);
                }
            }
            Value::Array(list) if LISTS.contains(&key.as_str()) || key == "items" => {
                for (index, schema) in list.iter().enumerate() {
                    let _ = write!(at, "/{index}");
                    each(schema, at, depth + 1, see);
                    at.truncate(inner);
                }
            }
            _ if ONE.contains(&key.as_str()) => each(value, at, depth + 1, see),
            _ => {}
        }
        at.truncate(length);
    }
}

/// A type that is none.
fn unknown_type(rules: &Map<String, Value>) -> Option<String> {
    const TYPES: [&str; 7] = ["array", "boolean", "integer", "null", "number", "object", "string"];
    let words = match rules.get("type")? {
        Value::String(word) => std::slice::from_ref(word).iter().map(String::as_str).collect(),
        Value::Array(words) => words.iter().filter_map(Value::as_str).collect::<Vec<_>>(),
        _ => return None,
    };
    words.into_iter().find(|word| !TYPES.contains(word)).map(str::to_owned)
}

/// A part of a URL without its `%`.
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

/// A pattern of a schema, through the one door to such patterns: it has limits.
fn compile(pattern: &str) -> Result<regex::Regex, regex::Error> {
    // That door's patterns ignore case; those of a schema do not.
    skillcue_format::pattern::compile(&format!("(?-i:{})", translated(pattern)))
}

/// A regular expression of JavaScript's, which schemas have, in the words of our engine: `\d` and `\w` mean ASCII there,
/// and a class has neither classes nor operators inside.
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

/// Whether a value has a form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fit {
    Yes,
    No,
    /// Part of the form cannot be checked.
    Unknown,
}

/// How far a check may go, and how far it has gone.
struct Limits {
    depth: usize,
    is_too_deep: Cell<bool>,
    steps: Cell<u32>,
    /// Whether a value, by its address, has a form. A schema that refers to itself twice would double the work with every
    /// level.
    known: RefCell<HashMap<(*const Value, *const Value), Fit>>,
}

impl Limits {
    fn new(depth: usize) -> Limits {
        Limits { depth, is_too_deep: Cell::new(false), steps: Cell::new(0), known: RefCell::default() }
    }

    fn are_reached(&self) -> bool {
        self.is_too_deep.get() || self.steps.get() > MAX_STEPS
    }
}

struct Check<'s> {
    schema: &'s Schema,
    limits: &'s Limits,
    path: String,
    found: Vec<String>,
    /// With more than so many violations a check ends.
    enough: usize,
    /// Whether something was passed over that cannot be checked.
    is_unsure: bool,
    /// Whether values keep their addresses for as long as the whole check takes.
    is_lasting: bool,
}

impl<'s> Check<'s> {
    fn new(schema: &'s Schema, limits: &'s Limits, enough: usize) -> Check<'s> {
        let (path, found) = (String::new(), Vec::new());
        Check { schema, limits, path, found, enough, is_unsure: false, is_lasting: true }
    }

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
    fn fits(&self, value: &Value, schema: &Value, depth: usize) -> Fit {
        let mut check = Check { is_lasting: self.is_lasting, ..Check::new(self.schema, self.limits, 0) };
        check.value(value, schema, depth);
        check.fit()
    }

    fn fit(&self) -> Fit {
        if !self.found.is_empty() {
            Fit::No
        } else if self.is_unsure {
            Fit::Unknown
        } else {
            Fit::Yes
        }
    }

    /// Counts how many fit, surely and perhaps, until `enough` surely do.
    fn count_fits<'v>(
        &self,
        pairs: impl Iterator<Item = (&'v Value, &'v Value)>,
        depth: usize,
        enough: usize,
    ) -> (usize, usize) {
        let (mut sure, mut perhaps) = (0, 0);
        for (value, schema) in pairs {
            let fit = self.fits(value, schema, depth);
            sure += usize::from(fit == Fit::Yes);
            perhaps += usize::from(fit != Fit::No);
            if sure == enough || self.limits.are_reached() {
                break;
            }
        }
        (sure, perhaps)
    }

    fn value(&mut self, value: &Value, schema: &Value, depth: usize) {
        if self.found.len() > self.enough || self.limits.are_reached() {
            return;
        }
        if depth > self.limits.depth {
            self.limits.is_too_deep.set(true);
            return;
        }
        let pair = (std::ptr::from_ref(value), std::ptr::from_ref(schema));
        let known = if self.is_lasting { self.limits.known.borrow().get(&pair).copied() } else { None };
        match known {
            Some(Fit::Yes) => return,
            Some(Fit::Unknown) => {
                self.is_unsure = true;
                return;
            }
            // Only to be said where it is asked for.
            Some(Fit::No) if self.enough == 0 => return self.say("does not fit"),
            Some(Fit::No) | None => {}
        }
        self.limits.steps.set(self.limits.steps.get().saturating_add(1));
        let (found, was_unsure) = (self.found.len(), std::mem::take(&mut self.is_unsure));
        self.rules(value, schema, depth);
        let fit = if self.found.len() > found {
            Some(Fit::No)
        } else if self.found.len() > self.enough || self.limits.are_reached() {
            None
        } else {
            Some(if self.is_unsure { Fit::Unknown } else { Fit::Yes })
        };
        self.is_unsure |= was_unsure;
        if let Some(fit) = fit.filter(|_| self.is_lasting) {
            self.limits.known.borrow_mut().insert(pair, fit);
        }
    }

    fn rules(&mut self, value: &Value, schema: &Value, depth: usize) {
        let rules = match schema {
            Value::Bool(false) => return self.say("is not allowed"),
            Value::Object(rules) => rules,
            _ => return,
        };
        if let Value::Object(object) = value {
            self.object(value, object, rules, depth);
        }
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
        self.is_unsure |= UNCHECKED.iter().any(|keyword| rules.contains_key(*keyword));
        self.combined(value, rules, depth);
    }

    fn combined(&mut self, value: &Value, rules: &Map<String, Value>, depth: usize) {
        if let Some(Value::String(reference)) = rules.get("$ref") {
            match self.schema.target(reference) {
                Some(target) => self.value(value, target, depth + 1),
                None => self.is_unsure = true,
            }
        }
        if let Some(Value::Array(all)) = rules.get("allOf") {
            for schema in all {
                self.value(value, schema, depth + 1);
            }
        }
        if let Some(Value::Array(any)) = rules.get("anyOf") {
            match self.count_fits(any.iter().map(|schema| (value, schema)), depth + 1, 1) {
                (0, 0) => self.say("fits none of the forms it may have"),
                (0, _) => self.is_unsure = true,
                _ => {}
            }
        }
        if let Some(Value::Array(one)) = rules.get("oneOf") {
            match self.count_fits(one.iter().map(|schema| (value, schema)), depth + 1, 2) {
                (1, 1) => {}
                (_, 0) => self.say("fits none of the forms it may have"),
                (0 | 1, _) => self.is_unsure = true,
                _ => self.say("fits more than one of the forms it may have"),
            }
        }
        if let Some(not) = rules.get("not") {
            match self.fits(value, not, depth + 1) {
                Fit::Yes => self.say("has a form it must not have"),
                Fit::Unknown => self.is_unsure = true,
                Fit::No => {}
            }
        }
        if let Some(condition) = rules.get("if") {
            let branch = match self.fits(value, condition, depth + 1) {
                Fit::Yes => rules.get("then"),
                Fit::No => rules.get("else"),
                Fit::Unknown => {
                    self.is_unsure = true;
                    None
                }
            };
            if let Some(schema) = branch {
                self.value(value, schema, depth + 1);
            }
        }
    }

    fn object(&mut self, whole: &Value, object: &Map<String, Value>, rules: &Map<String, Value>, depth: usize) {
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
        let dependent = rules.get("dependentSchemas").and_then(Value::as_object);
        for (_, schema) in dependent.into_iter().flatten().filter(|(key, _)| object.contains_key(*key)) {
            self.value(whole, schema, depth + 1);
        }
        let properties = rules.get("properties").and_then(Value::as_object);
        let by_pattern = rules.get("patternProperties").and_then(Value::as_object);
        for (key, value) in object {
            let shown = crate::cut(key, 60);
            let (mut is_known, mut may_be_known) = (false, false);
            if let Some(schema) = properties.and_then(|properties| properties.get(key)) {
                is_known = true;
                self.below(shown, |check| check.value(value, schema, depth + 1));
            }
            for (pattern, schema) in by_pattern.into_iter().flatten() {
                match self.schema.patterns.get(pattern).map(|regex| regex.is_match(key)) {
                    Some(true) => {
                        is_known = true;
                        self.below(shown, |check| check.value(value, schema, depth + 1));
                    }
                    Some(false) => {}
                    None => (self.is_unsure, may_be_known) = (true, true),
                }
            }
            match rules.get("additionalProperties") {
                _ if is_known || may_be_known => {}
                Some(Value::Bool(false)) => {
                    let names: Vec<&str> = properties.into_iter().flatten().map(|(name, _)| name.as_str()).collect();
                    let known = if names.is_empty() { "nothing".to_owned() } else { names.join(", ") };
                    self.below(shown, |check| check.say(format!("is not known; there is {known}")));
                }
                Some(schema) => self.below(shown, |check| check.value(value, schema, depth + 1)),
                None => {}
            }
            if let Some(names) = rules.get("propertyNames") {
                let was_lasting = std::mem::replace(&mut self.is_lasting, false);
                let fit = self.fits(&Value::String(key.clone()), names, depth + 1);
                self.is_lasting = was_lasting;
                match fit {
                    Fit::No => self.below(shown, |check| check.say("is no allowed name")),
                    Fit::Unknown => self.is_unsure = true,
                    Fit::Yes => {}
                }
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
                if self.found.len() > self.enough {
                    break;
                }
                self.below(&format!("[{index}]"), |check| check.value(item, schema, depth + 1));
            }
        }
        if let Some(schema) = rules.get("contains") {
            let (sure, perhaps) = self.count_fits(items.iter().map(|item| (item, schema)), depth + 1, usize::MAX);
            let least = rules.get("minContains").and_then(Value::as_f64).unwrap_or(1.0);
            let most = rules.get("maxContains").and_then(Value::as_f64).unwrap_or(f64::INFINITY);
            if count(perhaps) < least {
                self.say("lacks an item it must have");
            } else if count(sure) > most {
                self.say("has too many items of a kind");
            } else if count(sure) < least || count(perhaps) > most {
                self.is_unsure = true;
            }
        }
        if rules.get("uniqueItems") == Some(&Value::Bool(true)) {
            let mut seen = HashSet::new();
            if !items.iter().all(|item| seen.insert(canonical(item))) {
                self.say("has an item twice");
            }
        }
        self.count(items.len(), rules, ("minItems", "maxItems"), "items");
    }

    fn text(&mut self, text: &str, rules: &Map<String, Value>) {
        self.count(text.chars().count(), rules, ("minLength", "maxLength"), "characters");
        if let Some(Value::String(pattern)) = rules.get("pattern") {
            match self.schema.patterns.get(pattern).map(|regex| regex.is_match(text)) {
                Some(true) => {}
                Some(false) => self.say(format!("must match {pattern}")),
                None => self.is_unsure = true,
            }
        }
    }

    fn count(&mut self, number: usize, rules: &Map<String, Value>, names: (&str, &str), what: &str) {
        let bound = |name: &str| rules.get(name).and_then(Value::as_f64);
        let count = count(number);
        if let Some(least) = bound(names.0).filter(|least| count < *least) {
            self.say(format!("must have at least {least} {what}, not {count}"));
        }
        if let Some(most) = bound(names.1).filter(|most| count > *most) {
            self.say(format!("must have at most {most} {what}, not {count}"));
        }
    }

    fn number(&mut self, number: &Number, rules: &Map<String, Value>) {
        use std::cmp::Ordering::{Equal, Greater, Less};

        let bounds: [(&str, &[std::cmp::Ordering], &str); 4] = [
            ("minimum", &[Less], "at least"),
            ("maximum", &[Greater], "at most"),
            ("exclusiveMinimum", &[Less, Equal], "more than"),
            ("exclusiveMaximum", &[Greater, Equal], "less than"),
        ];
        for (name, wrong, word) in bounds {
            if let Some(Value::Number(bound)) = rules.get(name)
                && compared(number, bound).is_some_and(|order| wrong.contains(&order))
            {
                self.say(format!("must be {word} {bound}"));
            }
        }
        if let Some(Value::Number(step)) = rules.get("multipleOf")
            && !is_multiple(number, step)
        {
            self.say(format!("must be a multiple of {step}"));
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "no argument has 2^52 of anything")]
fn count(number: usize) -> f64 {
    number as f64
}

/// A number that JSON writes without a fraction.
fn whole(number: &Number) -> Option<i128> {
    number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from))
}

fn compared(a: &Number, b: &Number) -> Option<std::cmp::Ordering> {
    match (whole(a), whole(b)) {
        (Some(a), Some(b)) => Some(a.cmp(&b)),
        _ => a.as_f64()?.partial_cmp(&b.as_f64()?),
    }
}

fn is_multiple(number: &Number, step: &Number) -> bool {
    if let (Some(number), Some(step)) = (whole(number), whole(step)) {
        return step == 0 || number % step == 0;
    }
    let (Some(value), Some(step)) = (number.as_f64(), step.as_f64()) else { return true };
    let ratio = value / step;
    // 0.3 is a multiple of 0.1, though not in binary. Where the ratio has no fraction left to look at, the rest tells.
    step <= 0.0 || if ratio.is_finite() { (ratio - ratio.round()).abs() <= 1e-9 } else { value % step == 0.0 }
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

/// JSON's equality: 1 is 1.0, and the order of keys does not matter.
fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => compared(a, b) == Some(std::cmp::Ordering::Equal),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| equal(a, b)))
        }
        _ => a == b,
    }
}

/// A text that is the same for values that are [`equal`], and for no others.
fn canonical(value: &Value) -> String {
    match value {
        Value::Number(number) => match (whole(number), number.as_f64()) {
            // Up to 2^53, where a fraction could still be told.
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

#[cfg(test)]
#[path = "schema_tests.rs"]
mod tests;
