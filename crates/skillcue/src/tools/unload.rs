//! `unload_skill`: a skill that is no longer needed leaves, and its tools with it.

use serde_json::{Value, json};
use skillcue_base::Shown;

use super::arguments::Arguments;
use super::{BuiltInTool, Call, Effect, ToolContext, ToolOutput, attribute, check_loaded};
use crate::Skillcue;

pub(super) const TOOL: BuiltInTool = BuiltInTool {
    name: "unload_skill",
    title: "Unload a skill",
    description: "Drops a skill that is no longer needed, and its tools.",
    schema,
    handler,
};

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {"skill_id": {"type": "string"}},
        "required": ["skill_id"],
        "additionalProperties": false
    })
}

fn handler(skills: &Skillcue, call: &Call, context: &ToolContext<'_>) -> ToolOutput {
    let shown = Shown(call.skill_id().unwrap_or_default()).to_string();
    let fail = |code: &str, message: &str| {
        ToolOutput::failure(&format!("unload_skill id=\"{}\"", attribute(&shown)), code, message)
    };
    let id = match Arguments::of(call, &["skill_id"]).and_then(|given| given.skill_id()) {
        Ok(id) => id,
        Err(refused) => return fail("invalid_argument", &refused.to_string()),
    };
    let catalog = skills.catalog();
    let is_same = |known: &&String| {
        *known == id || catalog.get(id).is_some_and(|skill| check_loaded(&catalog, skill, &[(*known).clone()]).is_ok())
    };
    let Some(name) = context.loaded.iter().find(is_same) else {
        return fail("not_loaded", "The skill is not loaded.");
    };
    let text =
        format!("The skill \"{shown}\" is unloaded. Its instructions no longer apply; load_skill brings it back.");
    ToolOutput { effect: Some(Effect::Unloaded { name: name.clone() }), ..ToolOutput::from_text(text) }
}
