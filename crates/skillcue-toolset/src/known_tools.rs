//! The tools of one skill, checked: their ids, their descriptions and their schemas are fit to be shown to models.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use serde_json::Value;
use serde_json::value::RawValue;
use skillcue_base::{Shown, visible};

use crate::cache::CachedToolsets;
use crate::interface::{OfferedTools, SkillToolsets, ToolSpec};
use crate::message::{DefinedTool, ToolsetDefinitions, WireDiagnostic};
use crate::position::add_export_position;
use crate::schema::Schema;

/// The most tools of a skill.
const MAX_TOOLS: usize = 256;
/// The longest description of a tool.
pub(crate) const MAX_DESCRIPTION_BYTES: usize = 16 << 10;
/// The largest schema of a tool.
pub(crate) const MAX_SCHEMA_BYTES: usize = 256 << 10;

/// The tools of a skill as they were when it was last evaluated, or as the cache has them.
pub(crate) struct KnownTools {
    /// The toolsets that the manifest named.
    pub(crate) declared: Vec<String>,
    pub(crate) offered: Arc<OfferedTools>,
    /// The findings in `offered`, as they are cached.
    pub(crate) findings: Vec<WireDiagnostic>,
    /// The schema of each tool, by its id, if arguments are checked here; none if the engine checks them.
    pub(crate) schemas: HashMap<String, Option<Schema>>,
    pub(crate) cached: Mutex<Option<Arc<CachedToolsets>>>,
    /// Entries that must not be loaded again: they did not come to an end.
    pub(crate) stuck: Vec<String>,
    /// The time to evaluate again, because something failed that may not fail again.
    pub(crate) retry: Option<Instant>,
}

/// Returns whether a finding is about this evaluation rather than about the files.
pub(crate) fn is_transient(finding: &WireDiagnostic) -> bool {
    matches!(&*finding.code, "toolset_threw" | "toolset_crashed")
}

/// Returns whether a finding is about a module that may be installed any moment.
pub(crate) fn is_missing(finding: &WireDiagnostic) -> bool {
    &*finding.code == "module_not_found"
}

impl KnownTools {
    /// Checks definitions: they go to models, and the process that made them may be any program.
    pub(crate) fn new(
        skill: &SkillToolsets<'_>,
        definitions: ToolsetDefinitions,
        cached: Option<Arc<CachedToolsets>>,
        stuck: Vec<String>,
    ) -> KnownTools {
        let (mut specs, mut findings) = (Vec::new(), definitions.findings);
        let mut schemas = HashMap::new();
        let mut all = definitions.tools;
        if let Some(first) = all.get(MAX_TOOLS) {
            let left_out = all.len() - MAX_TOOLS;
            findings.push(WireDiagnostic {
                message: format!(
                    "a skill may have at most {MAX_TOOLS} tools; {left_out} {} left out",
                    if left_out == 1 { "was" } else { "were" }
                ),
                help: Some("put them into several skills".to_owned()),
                ..about(first, "toolset_shape")
            });
            all.truncate(MAX_TOOLS);
        }
        for mut defined in all {
            if !is_id(&defined.id) || schemas.contains_key(&defined.id) {
                let id = Shown(crate::cut(&defined.id, 80)).to_string();
                defined.id.clone_from(&id);
                findings.push(WireDiagnostic {
                    message: format!("`{id}` is no id of a tool, or another has it"),
                    help: Some("an id has 1 to 64 letters, digits, `-` or `_`".to_owned()),
                    ..about(&defined, "toolset_shape")
                });
                continue;
            }
            let plain = visible(&defined.description).into_owned();
            if plain.len() < defined.description.len() {
                findings.push(WireDiagnostic {
                    message: format!("the description of `{}` has control characters, which were left out", defined.id),
                    help: Some("write plain text".to_owned()),
                    ..about(&defined, "toolset_shape")
                });
            }
            plain.trim().clone_into(&mut defined.description);
            if defined.description.is_empty() || defined.schema.get().len() > MAX_SCHEMA_BYTES {
                let wrong =
                    if defined.description.is_empty() { "has no description" } else { "has too large a schema" };
                findings.push(WireDiagnostic {
                    message: format!("`{}` {wrong}", defined.id),
                    help: Some("say what it is for, and describe its arguments briefly".to_owned()),
                    ..about(&defined, "toolset_shape")
                });
                continue;
            }
            defined.description = crate::cut(&defined.description, MAX_DESCRIPTION_BYTES).to_owned();
            match remove_hidden(&mut defined.schema) {
                Ok(false) => {}
                Ok(true) => findings.push(WireDiagnostic {
                    message: format!("the schema of `{}` has hidden characters, which were left out", defined.id),
                    help: Some("write plain text".to_owned()),
                    ..about(&defined, "toolset_shape")
                }),
                // Under another name the tool would not find its argument.
                Err(name) => {
                    findings.push(WireDiagnostic {
                        message: format!(
                            "the schema of `{}` has hidden characters in the name `{}`; the tool was left out",
                            defined.id,
                            Shown(crate::cut(&name, 80))
                        ),
                        help: Some("name arguments with plain letters".to_owned()),
                        ..about(&defined, "toolset_shape")
                    });
                    continue;
                }
            }
            match spec(&defined) {
                Ok((spec, schema, unchecked)) => {
                    findings.extend(unchecked.into_iter().map(|part| {
                        WireDiagnostic {
                            message: format!("{part} in the schema of `{}` cannot be checked here", defined.id),
                            help: Some(
                                "what it would refuse is let through; docs/reference/toolsets.md lists what is checked"
                                    .to_owned(),
                            ),
                            ..about(&defined, "toolset_schema")
                        }
                    }));
                    schemas.insert(defined.id, schema);
                    specs.push(spec);
                }
                Err(reason) => findings.push(WireDiagnostic {
                    message: format!("the schema of `{}` {reason}", defined.id),
                    help: Some("`parameters` is the JSON Schema of an object".to_owned()),
                    ..about(&defined, "toolset_shape")
                }),
            }
        }
        for finding in &mut findings {
            add_export_position(skill, finding);
        }
        KnownTools {
            declared: skill.toolsets.clone(),
            offered: Arc::new(OfferedTools {
                tools: specs,
                diagnostics: findings.iter().map(WireDiagnostic::to_diagnostic).collect(),
            }),
            findings,
            schemas,
            cached: Mutex::new(cached),
            stuck,
            retry: None,
        }
    }

    /// Returns the schemas of tools whose arguments the engine parses.
    pub(crate) fn parsed_schemas(&self) -> Vec<(String, Box<RawValue>)> {
        let parsed = |spec: &&ToolSpec| self.schemas.get(&spec.id).is_some_and(Option::is_none);
        let pair = |spec: &ToolSpec| Some((spec.id.clone(), serde_json::value::to_raw_value(&spec.schema).ok()?));
        self.offered.tools.iter().filter(parsed).filter_map(pair).collect()
    }

    /// Returns the definitions, to be cached.
    pub(crate) fn definitions(&self) -> ToolsetDefinitions {
        let defined = |spec: &ToolSpec| -> Option<DefinedTool> {
            Some(DefinedTool {
                id: spec.id.clone(),
                description: spec.description.clone(),
                schema: serde_json::value::to_raw_value(&spec.schema).ok()?,
                parsed: self.schemas.get(&spec.id)?.is_none(),
                file: spec.file.clone(),
                line: spec.line,
            })
        };
        let findings = self.findings.iter().filter(|finding| !finding.is_warning()).cloned();
        ToolsetDefinitions {
            tools: self.offered.tools.iter().filter_map(defined).collect(),
            findings: findings.collect(),
        }
    }
}

/// Removes hidden characters from every text of a schema. Returns whether there were any.
///
/// # Errors
/// The first name that has some.
fn remove_hidden(schema: &mut Box<RawValue>) -> Result<bool, String> {
    // A text that is no JSON has no schema, which is reported where it is read.
    let Ok(mut value) = serde_json::from_str::<Value>(schema.get()) else { return Ok(false) };
    let changed = remove_hidden_in(&mut value)?;
    if changed && let Ok(plain) = serde_json::value::to_raw_value(&value) {
        *schema = plain;
    }
    Ok(changed)
}

fn remove_hidden_in(value: &mut Value) -> Result<bool, String> {
    let mut changed = false;
    match value {
        Value::String(text) => {
            if let Cow::Owned(plain) = visible(text) {
                *text = plain;
                changed = true;
            }
        }
        Value::Array(items) => {
            for item in items {
                changed |= remove_hidden_in(item)?;
            }
        }
        Value::Object(fields) => {
            if let Some(name) = fields.keys().find(|name| matches!(visible(name), Cow::Owned(_))) {
                return Err(name.clone());
            }
            for item in fields.values_mut() {
                changed |= remove_hidden_in(item)?;
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
    Ok(changed)
}

fn is_id(id: &str) -> bool {
    (1..=64).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

/// Returns a finding about a tool, without its message.
fn about(defined: &DefinedTool, code: &str) -> WireDiagnostic {
    WireDiagnostic {
        toolset: defined.id.as_str().into(),
        file: Some(defined.file.clone()),
        line: defined.line,
        ..WireDiagnostic::new(code, "", None)
    }
}

/// Returns a tool as models are told of it, with the schema that checks its arguments here and the parts of that
/// schema that cannot be checked.
fn spec(defined: &DefinedTool) -> Result<(ToolSpec, Option<Schema>, Vec<String>), String> {
    let value: Value = serde_json::from_str(defined.schema.get()).map_err(|error| format!("is not JSON: {error}"))?;
    let (schema, mut unchecked) = Schema::new(value)?;
    if defined.parsed {
        unchecked.clear();
    }
    let spec = ToolSpec {
        id: defined.id.clone(),
        description: defined.description.clone(),
        schema: schema.value().clone(),
        file: defined.file.clone(),
        line: defined.line,
    };
    Ok((spec, (!defined.parsed).then_some(schema), unchecked))
}
