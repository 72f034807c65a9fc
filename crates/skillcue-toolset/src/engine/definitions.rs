//! From the exports of a module to tools.

use rquickjs::object::Property;
use rquickjs::{Ctx, Function, Object, Value};
use serde_json::value::RawValue;

use super::{position, value};
use crate::known_tools::{MAX_DESCRIPTION_BYTES, MAX_SCHEMA_BYTES};
use crate::message::{DefinedTool, ToolsetEntry, WireDiagnostic};

/// The most items of a toolset that are looked at; the host takes fewer, and reports how many it did not take.
const MAX_ITEMS: usize = 4_096;

/// A tool that can be called.
pub(super) struct LoadedTool<'js> {
    pub(super) defined: DefinedTool,
    pub(super) execute: Function<'js>,
    /// The object that defines the tool, for `this`.
    pub(super) object: Object<'js>,
    /// The schema that parses arguments, if it is one of a library.
    pub(super) parser: Option<Object<'js>>,
    /// The column of its definition.
    pub(super) column: Option<u32>,
}

const SHAPE_HELP: &str = "export an array of `Tool.define(id, {description, parameters, execute})`";

/// Returns the tools of one export, and the problems of the items that are none.
pub(super) fn tools<'js>(
    ctx: &Ctx<'js>,
    schemas: &[(String, Box<RawValue>)],
    entry: &ToolsetEntry,
    file: &str,
    namespace: &Object<'js>,
) -> (Vec<LoadedTool<'js>>, Vec<WireDiagnostic>) {
    let mut found = Vec::new();
    let mut problems = Vec::new();
    let here = |mut found: WireDiagnostic| {
        found.file.get_or_insert_with(|| file.to_owned());
        found
    };
    let exported = match namespace.get::<_, Value<'js>>(entry.export.as_str()) {
        Ok(exported) if !exported.is_undefined() => exported,
        Ok(_) => {
            let names: Vec<String> = namespace.keys::<String>().flatten().take(20).collect();
            let message = format!("`{}` exports no `{}`", entry.path, entry.export);
            let mut missing = WireDiagnostic::new("toolset_export", message, None);
            missing.help = Some(if names.is_empty() {
                "it exports nothing".to_owned()
            } else {
                format!("it exports {}", names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "))
            });
            return (found, vec![here(missing)]);
        }
        Err(_) => {
            let thrown = position::thrown(ctx, &ctx.catch());
            return (found, vec![here(WireDiagnostic::new("toolset_export", thrown.message, None))]);
        }
    };
    let items: Vec<Value<'js>> = match exported.as_array() {
        Some(array) => (0..array.len().min(MAX_ITEMS)).map_while(|index| array.get(index).ok()).collect(),
        None if exported.as_object().is_some_and(is_tool) => vec![exported.clone()],
        None => {
            let message =
                format!("`{}` is {}, not an array of tools", entry.export, with_article(exported.type_name()));
            return (found, vec![here(WireDiagnostic::new("toolset_shape", message, Some(SHAPE_HELP)))]);
        }
    };
    for (index, item) in items.into_iter().enumerate() {
        match tool(ctx, schemas, file, &item) {
            Ok(tool) => found.push(tool),
            Err(mut found) => {
                found.message = format!("`{}[{index}]` {}", entry.export, found.message);
                problems.push(here(found));
            }
        }
    }
    (found, problems)
}

fn is_tool(object: &Object<'_>) -> bool {
    object.get::<_, Value<'_>>("execute").is_ok_and(|execute| execute.is_function())
}

/// Returns a type with its article.
fn with_article(kind: &str) -> String {
    let article = if kind.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    if matches!(kind, "undefined" | "null") { kind.to_owned() } else { format!("{article} {kind}") }
}

fn tool<'js>(
    ctx: &Ctx<'js>,
    schemas: &[(String, Box<RawValue>)],
    file: &str,
    item: &Value<'js>,
) -> Result<LoadedTool<'js>, WireDiagnostic> {
    let shape = |message: String| WireDiagnostic::new("toolset_shape", message, Some(SHAPE_HELP));
    let Some(object) = item.as_object() else {
        return Err(shape(format!("is {}, not a tool", with_article(item.type_name()))));
    };
    let get = |key: &str| -> Result<Value<'js>, WireDiagnostic> {
        object.get::<_, Value<'js>>(key).map_err(|_| {
            let thrown = position::thrown(ctx, &ctx.catch());
            shape(format!("has a `{key}` that cannot be read: {}", thrown.message))
        })
    };
    let origin = get("definedAt").ok().as_ref().and_then(value::text).and_then(|at| {
        let (rest, column) = at.rsplit_once(':')?;
        let (file, line) = rest.rsplit_once(':')?;
        Some((file.to_owned(), line.parse::<u32>().ok()?, column.parse::<u32>().ok()?))
    });
    let placed = |mut found: WireDiagnostic| {
        if let Some((file, line, column)) = &origin {
            (found.file, found.line, found.column) = (Some(file.clone()), Some(*line), Some(*column));
        }
        found
    };
    let id = value::text(&get("id")?).ok_or_else(|| placed(shape("has no `id`".into())))?;
    let well_formed = (1..=64).contains(&id.len())
        && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
    if !well_formed {
        let message = format!("has the id {:?}, which is not 1 to 64 letters, digits, `-` or `_`", crate::cut(&id, 80));
        return Err(placed(WireDiagnostic::new("toolset_shape", message, Some("give it another id"))));
    }
    let named = |what: &str| placed(shape(format!("(`{id}`) {what}")));
    let description = match value::text(&get("description")?) {
        Some(description) if !description.trim().is_empty() => {
            crate::cut(&description, MAX_DESCRIPTION_BYTES).to_owned()
        }
        _ => return Err(named("has no `description`; a model would not know what it is for")),
    };
    let execute = get("execute")?.as_function().cloned().ok_or_else(|| named("has no function `execute`"))?;
    let parameters = get("parameters")?;
    let known = schemas.iter().find(|(of, _)| *of == id).map(|(_, schema)| &**schema);
    let (schema, parser) = schema(ctx, &parameters, known).map_err(|reason| named(&reason))?;
    let (file, line) = match &origin {
        Some((file, line, _)) => (file.clone(), Some(*line)),
        None => (file.to_owned(), None),
    };
    let defined = DefinedTool { id, description, schema, parsed: parser.is_some(), file, line };
    Ok(LoadedTool { defined, execute, object: object.clone(), parser, column: origin.map(|(_, _, column)| column) })
}

/// Returns the JSON Schema of a tool's parameters, and the object that checks arguments if they are no plain JSON
/// Schema.
fn schema<'js>(
    ctx: &Ctx<'js>,
    parameters: &Value<'js>,
    known: Option<&RawValue>,
) -> Result<(Box<RawValue>, Option<Object<'js>>), String> {
    let raw = |text: String| RawValue::from_string(text).map_err(|error| format!("has a bad schema: {error}"));
    if parameters.is_undefined() || parameters.is_null() {
        return Ok((raw(r#"{"type":"object","properties":{},"additionalProperties":false}"#.into())?, None));
    }
    let Some(object) = parameters.as_object() else {
        return Err(format!("has `parameters` that are {}, not a schema", with_article(parameters.type_name())));
    };
    let has = |key: &str| object.get::<_, Value<'js>>(key).is_ok_and(|value| value.is_object());
    if has("_zod") {
        if let Some(known) = known {
            return Ok((known.to_owned(), Some(object.clone())));
        }
        if !object.get::<_, Value<'js>>("toJSONSchema").is_ok_and(|method| method.is_function()) {
            return Err("has a schema without `toJSONSchema`, as those of zod/mini are; import from `zod`".into());
        }
        let converted = of_zod(ctx, object).map_err(|_| {
            let thrown = position::thrown(ctx, &ctx.catch());
            format!("has a zod schema that cannot be written as JSON Schema: {}", thrown.message)
        })?;
        let text = value::json(&converted, MAX_SCHEMA_BYTES)
            .map_err(|value::NotJson { reason, .. }| format!("has a bad schema: {reason}"))?;
        return Ok((raw(text)?, Some(object.clone())));
    }
    if has("_def") {
        return Err("has a schema of zod 3, which cannot be written as JSON Schema; use zod 4".into());
    }
    if has("~standard") {
        return Err("has a schema that is neither of zod nor JSON Schema".into());
    }
    let text = value::json(parameters, MAX_SCHEMA_BYTES)
        .map_err(|value::NotJson { reason, .. }| format!("has a bad schema: {reason}"))?;
    Ok((raw(text)?, None))
}

/// Returns the result of zod's own `toJSONSchema`. Objects that take no further keys are marked so, as models do better
/// with that.
fn of_zod<'js>(ctx: &Ctx<'js>, schema: &Object<'js>) -> rquickjs::Result<Value<'js>> {
    let convert: Function<'js> = schema.get("toJSONSchema")?;
    let options = Object::new(ctx.clone())?;
    options.set("io", "input")?;
    options.set("unrepresentable", "any")?;
    options.set(
        "override",
        Function::new(ctx.clone(), |about: Object<'js>| -> rquickjs::Result<()> {
            let of: Object<'js> = about.get("zodSchema")?;
            let zod: Object<'js> = of.get("_zod")?;
            let def: Object<'js> = zod.get("def")?;
            let kind: Value<'js> = def.get("type")?;
            let rest: Value<'js> = def.get("catchall")?;
            if value::text(&kind).as_deref() == Some("object") && rest.is_undefined() {
                let schema: Object<'js> = about.get("jsonSchema")?;
                schema.prop("additionalProperties", Property::from(false).enumerable().writable().configurable())?;
            }
            Ok(())
        })?,
    )?;
    convert.call((rquickjs::function::This(schema.clone()), options))
}
