//! One check of arguments against a schema: keyword by keyword, within bounds of depth and steps.
//!
//! A part of a schema that cannot be checked makes the answer [`Fit::Unknown`], which `not`, `oneOf` and the like
//! respect.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};

use serde_json::{Map, Number, Value};

use super::values::{as_count, canonical, compare, equal, has_type, is_multiple, type_list, type_name};
use super::{Schema, UNCHECKED};

/// The most steps that a check may take. A schema is checked once for each value; so these are as many as there are
/// pairs of the two.
pub(super) const MAX_STEPS: u32 = 100_000;

/// The answer to whether a value has a form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fit {
    Yes,
    No,
    /// Part of the form cannot be checked.
    Unknown,
}

/// The bounds of a check, and how much of them it has used.
pub(super) struct CheckLimits {
    depth: usize,
    pub(super) is_too_deep: Cell<bool>,
    steps: Cell<u32>,
    /// Whether a value, by its address, has a form. A schema that refers to itself twice would double the work with
    /// every level.
    known: RefCell<HashMap<(*const Value, *const Value), Fit>>,
}

impl CheckLimits {
    pub(super) fn new(depth: usize) -> CheckLimits {
        CheckLimits { depth, is_too_deep: Cell::new(false), steps: Cell::new(0), known: RefCell::default() }
    }

    fn are_reached(&self) -> bool {
        self.is_too_deep.get() || self.has_too_many_steps()
    }

    pub(super) fn has_too_many_steps(&self) -> bool {
        self.steps.get() > MAX_STEPS
    }
}

/// One check of a value against a schema.
pub(super) struct ArgumentCheck<'s> {
    schema: &'s Schema,
    limits: &'s CheckLimits,
    path: String,
    pub(super) violations: Vec<String>,
    /// A check ends with more violations than this.
    max_violations: usize,
    /// Whether something was passed over that cannot be checked.
    is_unsure: bool,
    /// Whether values keep their addresses for as long as the whole check takes.
    is_lasting: bool,
}

impl<'s> ArgumentCheck<'s> {
    pub(super) fn new(schema: &'s Schema, limits: &'s CheckLimits, max_violations: usize) -> ArgumentCheck<'s> {
        let (path, violations) = (String::new(), Vec::new());
        ArgumentCheck { schema, limits, path, violations, max_violations, is_unsure: false, is_lasting: true }
    }

    /// Notes a violation at the current path.
    fn violate(&mut self, what: impl AsRef<str>) {
        let at = if self.path.is_empty() { "the arguments".to_owned() } else { format!("`{}`", self.path) };
        self.violations.push(format!("{at} {}", what.as_ref()));
    }

    /// Checks a part of the value, with its step added to the path.
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

    /// Returns whether a value fits, without the reasons.
    fn fits(&self, value: &Value, schema: &Value, depth: usize) -> Fit {
        let mut check =
            ArgumentCheck { is_lasting: self.is_lasting, ..ArgumentCheck::new(self.schema, self.limits, 0) };
        check.value(value, schema, depth);
        check.fit()
    }

    fn fit(&self) -> Fit {
        if !self.violations.is_empty() {
            Fit::No
        } else if self.is_unsure {
            Fit::Unknown
        } else {
            Fit::Yes
        }
    }

    /// Counts the pairs that surely fit and those that perhaps do, until `enough` surely do.
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

    pub(super) fn value(&mut self, value: &Value, schema: &Value, depth: usize) {
        if self.violations.len() > self.max_violations || self.limits.are_reached() {
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
            // The reasons are only looked for where they are reported.
            Some(Fit::No) if self.max_violations == 0 => return self.violate("does not fit"),
            Some(Fit::No) | None => {}
        }
        self.limits.steps.set(self.limits.steps.get().saturating_add(1));
        let (before, was_unsure) = (self.violations.len(), std::mem::take(&mut self.is_unsure));
        self.rules(value, schema, depth);
        let fit = if self.violations.len() > before {
            Some(Fit::No)
        } else if self.violations.len() > self.max_violations || self.limits.are_reached() {
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
            Value::Bool(false) => return self.violate("is not allowed"),
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
            if !kinds.is_empty() && !kinds.iter().any(|kind| has_type(value, kind)) {
                return self.violate(format!("must be {}, not {}", type_list(&kinds), type_name(value)));
            }
        }
        if let Some(Value::Array(allowed)) = rules.get("enum")
            && !allowed.iter().any(|one| equal(one, value))
        {
            let shown: Vec<String> = allowed.iter().take(20).map(Value::to_string).collect();
            self.violate(format!("must be one of {}", shown.join(", ")));
        }
        if let Some(constant) = rules.get("const")
            && !equal(constant, value)
        {
            self.violate(format!("must be {constant}"));
        }
        match value {
            Value::String(text) => self.text(text, rules),
            Value::Number(number) => self.number(number, rules),
            Value::Array(items) => self.array(items, rules, depth),
            _ => {}
        }
        self.is_unsure |= UNCHECKED.iter().any(|keyword| rules.contains_key(*keyword));
        self.combinators(value, rules, depth);
    }

    fn combinators(&mut self, value: &Value, rules: &Map<String, Value>, depth: usize) {
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
                (0, 0) => self.violate("fits none of the forms it may have"),
                (0, _) => self.is_unsure = true,
                _ => {}
            }
        }
        if let Some(Value::Array(one)) = rules.get("oneOf") {
            match self.count_fits(one.iter().map(|schema| (value, schema)), depth + 1, 2) {
                (1, 1) => {}
                (_, 0) => self.violate("fits none of the forms it may have"),
                (0 | 1, _) => self.is_unsure = true,
                _ => self.violate("fits more than one of the forms it may have"),
            }
        }
        if let Some(not) = rules.get("not") {
            match self.fits(value, not, depth + 1) {
                Fit::Yes => self.violate("has a form it must not have"),
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
                self.below(key, |check| check.violate("is missing"));
            }
        }
        let dependent = rules.get("dependentRequired").and_then(Value::as_object);
        for (key, needed) in dependent.into_iter().flatten().filter(|(key, _)| object.contains_key(*key)) {
            let needed = needed.as_array().into_iter().flatten().filter_map(Value::as_str);
            for missing in needed.filter(|needed| !object.contains_key(*needed)) {
                self.below(missing, |check| check.violate(format!("is missing: `{}` needs it", crate::cut(key, 60))));
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
                    self.below(shown, |check| check.violate(format!("is not known; there is {known}")));
                }
                Some(schema) => self.below(shown, |check| check.value(value, schema, depth + 1)),
                None => {}
            }
            if let Some(names) = rules.get("propertyNames") {
                let was_lasting = std::mem::replace(&mut self.is_lasting, false);
                let fit = self.fits(&Value::String(key.clone()), names, depth + 1);
                self.is_lasting = was_lasting;
                match fit {
                    Fit::No => self.below(shown, |check| check.violate("is no allowed name")),
                    Fit::Unknown => self.is_unsure = true,
                    Fit::Yes => {}
                }
            }
        }
        self.check_count(object.len(), rules, ("minProperties", "maxProperties"), "properties");
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
                if self.violations.len() > self.max_violations {
                    break;
                }
                self.below(&format!("[{index}]"), |check| check.value(item, schema, depth + 1));
            }
        }
        if let Some(schema) = rules.get("contains") {
            let (sure, perhaps) = self.count_fits(items.iter().map(|item| (item, schema)), depth + 1, usize::MAX);
            let least = rules.get("minContains").and_then(Value::as_f64).unwrap_or(1.0);
            let most = rules.get("maxContains").and_then(Value::as_f64).unwrap_or(f64::INFINITY);
            if as_count(perhaps) < least {
                self.violate("lacks an item it must have");
            } else if as_count(sure) > most {
                self.violate("has too many items of a kind");
            } else if as_count(sure) < least || as_count(perhaps) > most {
                self.is_unsure = true;
            }
        }
        if rules.get("uniqueItems") == Some(&Value::Bool(true)) {
            let mut seen = HashSet::new();
            if !items.iter().all(|item| seen.insert(canonical(item))) {
                self.violate("has an item twice");
            }
        }
        self.check_count(items.len(), rules, ("minItems", "maxItems"), "items");
    }

    fn text(&mut self, text: &str, rules: &Map<String, Value>) {
        self.check_count(text.chars().count(), rules, ("minLength", "maxLength"), "characters");
        if let Some(Value::String(pattern)) = rules.get("pattern") {
            match self.schema.patterns.get(pattern).map(|regex| regex.is_match(text)) {
                Some(true) => {}
                Some(false) => self.violate(format!("must match {pattern}")),
                None => self.is_unsure = true,
            }
        }
    }

    fn check_count(&mut self, number: usize, rules: &Map<String, Value>, names: (&str, &str), what: &str) {
        let bound = |name: &str| rules.get(name).and_then(Value::as_f64);
        let count = as_count(number);
        if let Some(least) = bound(names.0).filter(|least| count < *least) {
            self.violate(format!("must have at least {least} {what}, not {count}"));
        }
        if let Some(most) = bound(names.1).filter(|most| count > *most) {
            self.violate(format!("must have at most {most} {what}, not {count}"));
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
                && compare(number, bound).is_some_and(|order| wrong.contains(&order))
            {
                self.violate(format!("must be {word} {bound}"));
            }
        }
        if let Some(Value::Number(step)) = rules.get("multipleOf")
            && !is_multiple(number, step)
        {
            self.violate(format!("must be a multiple of {step}"));
        }
    }
}
