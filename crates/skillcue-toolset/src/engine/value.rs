//! Values out of the engine, by its own functions: nothing here uses the toolset's `JSON`, `Array` or `Object`.

use std::fmt::Write as _;

use rquickjs::{Array, Ctx, Function, Object, Value};

/// The deepest nesting of a result.
const MAX_DEPTH: usize = 100;

/// The reason that a value is no JSON.
#[derive(Debug)]
pub(super) struct NotJson {
    pub(super) reason: String,
    /// Whether it would be JSON, were it smaller.
    pub(super) is_too_large: bool,
}

impl NotJson {
    pub(super) fn new(reason: String) -> NotJson {
        NotJson { reason, is_too_large: false }
    }
}

/// Returns a string as text: lone surrogates become U+FFFD.
pub(super) fn text(value: &Value<'_>) -> Option<String> {
    let string = value.as_string()?;
    if let Ok(text) = string.to_string() {
        Some(text)
    } else {
        let ctx = value.ctx();
        drop(ctx.catch());
        // Taken from the engine before any module ran; see the prelude.
        let well_formed: Function<'_> = WELL_FORMED.with_borrow(Clone::clone)?.restore(ctx).ok()?;
        let mended: Value<'_> = well_formed.call((rquickjs::function::This(value.clone()),)).ok()?;
        mended.as_string()?.to_string().ok()
    }
}

thread_local! {
    pub(super) static WELL_FORMED: std::cell::RefCell<Option<rquickjs::Persistent<Function<'static>>>> = const { std::cell::RefCell::new(None) };
}

/// Returns a value as JSON of at most `limit` bytes.
pub(super) fn json(value: &Value<'_>, limit: usize) -> Result<String, NotJson> {
    let mut writer = JsonWriter { out: String::new(), above: Vec::new(), path: String::new(), limit };
    if !writer.value(value)? {
        writer.out.push_str("null");
    }
    if writer.out.len() > limit {
        return writer.too_large();
    }
    Ok(writer.out)
}

struct JsonWriter<'js> {
    out: String,
    /// The objects this one is inside of.
    above: Vec<Value<'js>>,
    path: String,
    limit: usize,
}

impl<'js> JsonWriter<'js> {
    fn fail<T>(&self, what: &str) -> Result<T, NotJson> {
        let path = if self.path.is_empty() { "the value" } else { &self.path };
        Err(NotJson::new(format!("{path} {what}")))
    }

    fn too_large<T>(&self) -> Result<T, NotJson> {
        let limit = self.limit;
        self.fail(&format!("is larger than {limit} bytes")).map_err(|error| NotJson { is_too_large: true, ..error })
    }

    fn caught<T>(&self, ctx: &Ctx<'js>) -> Result<T, NotJson> {
        let thrown = super::position::thrown(ctx, &ctx.catch());
        self.fail(&format!("cannot be read: {}", thrown.message))
    }

    /// Writes a value. Returns `false` if JSON cannot represent it.
    fn value(&mut self, value: &Value<'js>) -> Result<bool, NotJson> {
        if self.out.len() > self.limit {
            return self.too_large();
        }
        if value.is_null() {
            self.out.push_str("null");
        } else if let Some(truth) = value.as_bool() {
            self.out.push_str(if truth { "true" } else { "false" });
        } else if let Some(int) = value.as_int() {
            let _ = write!(self.out, "{int}");
        } else if let Some(number) = value.as_float() {
            match serde_json::Number::from_f64(number) {
                // As JavaScript writes them: whole numbers without a point.
                Some(_) if number.fract() == 0.0 && number.abs() < 1e15 => {
                    let _ = write!(self.out, "{number:.0}");
                }
                Some(number) => {
                    let _ = write!(self.out, "{number}");
                }
                None => self.out.push_str("null"),
            }
        } else if value.is_string() {
            match text(value) {
                Some(text) => self.string(&text),
                None => return self.fail("is too large a string"),
            }
        } else if value.is_big_int() {
            let digits = bigint(value).unwrap_or_default();
            self.string(&digits);
        } else if value.is_function() || value.is_symbol() || value.is_undefined() {
            return Ok(false);
        } else if let Some(object) = value.as_object() {
            return self.object(value, object);
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    fn string(&mut self, text: &str) {
        self.out.push_str(&serde_json::Value::String(text.to_owned()).to_string());
    }

    fn object(&mut self, value: &Value<'js>, object: &Object<'js>) -> Result<bool, NotJson> {
        if self.above.contains(value) {
            return self.fail("contains itself");
        }
        if self.above.len() == MAX_DEPTH {
            return self.fail("nests too deeply");
        }
        self.above.push(value.clone());
        let length = self.path.len();
        let written = match own_to_json(object) {
            Err(()) => self.caught(value.ctx()),
            Ok(Some(form)) => match form.call::<_, Value<'js>>((rquickjs::function::This(value.clone()),)) {
                Ok(instead) if instead.is_object() && instead != *value => self.value(&instead),
                Ok(instead) if instead.is_object() => self.properties(object),
                Ok(instead) => self.value(&instead),
                Err(_) => self.caught(value.ctx()),
            },
            Ok(None) => match object.as_array() {
                Some(array) => self.array(array),
                None => self.properties(object),
            },
        };
        self.path.truncate(length);
        self.above.pop();
        written
    }

    fn array(&mut self, array: &Array<'js>) -> Result<bool, NotJson> {
        self.out.push('[');
        let length = self.path.len();
        for index in 0..array.len() {
            if index > 0 {
                self.out.push(',');
            }
            let _ = write!(self.path, "[{index}]");
            let Ok(item) = array.get::<Value<'js>>(index) else { return self.caught(array.ctx()) };
            if !self.value(&item)? {
                self.out.push_str("null");
            }
            self.path.truncate(length);
        }
        self.out.push(']');
        Ok(true)
    }

    fn properties(&mut self, object: &Object<'js>) -> Result<bool, NotJson> {
        self.out.push('{');
        let mut first = true;
        let length = self.path.len();
        for key in object.keys::<rquickjs::Atom<'js>>() {
            let Ok(key) = key else { return self.caught(object.ctx()) };
            let name = key.to_value().ok().as_ref().and_then(text).unwrap_or_default();
            if length > 0 {
                self.path.push('.');
            }
            self.path.push_str(crate::cut(&name, 60));
            let Ok(item) = object.get::<_, Value<'js>>(key) else { return self.caught(object.ctx()) };
            let start = self.out.len();
            if !first {
                self.out.push(',');
            }
            self.string(&name);
            self.out.push(':');
            if self.value(&item)? {
                first = false;
            } else {
                self.out.truncate(start);
            }
            self.path.truncate(length);
        }
        self.out.push('}');
        Ok(true)
    }
}

/// Returns the `toJSON` of an object: its own or its class's. One that every object has is a polluted prototype.
fn own_to_json<'js>(object: &Object<'js>) -> Result<Option<Function<'js>>, ()> {
    let found: Value<'js> = object.get("toJSON").map_err(drop)?;
    let Some(function) = found.as_function() else { return Ok(None) };
    let plain = Object::new(object.ctx().clone()).map_err(drop)?;
    let common: Value<'js> = plain.get("toJSON").map_err(drop)?;
    Ok((common != found).then(|| function.clone()))
}

fn bigint(value: &Value<'_>) -> Option<String> {
    let coerced: rquickjs::Coerced<String> = value.get().ok()?;
    Some(coerced.0)
}

/// Returns a value as `console.log` writes it, for people.
pub(super) fn inspect(value: &Value<'_>) -> String {
    if let Some(text) = text(value) {
        return text;
    }
    if value.is_error() {
        let thrown = super::position::thrown(value.ctx(), value);
        return match thrown.stack {
            Some(stack) => format!("{}\n{}", thrown.message, stack.trim_end()),
            None => thrown.message,
        };
    }
    if value.is_undefined() {
        return "undefined".into();
    }
    if value.is_function() {
        return "[function]".into();
    }
    if value.is_symbol() {
        return "[symbol]".into();
    }
    match json(value, 8 << 10) {
        Ok(text) => text,
        Err(NotJson { reason, .. }) => format!("[{}: {reason}]", value.type_name()),
    }
}
