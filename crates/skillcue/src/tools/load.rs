//! `load_skill`: level 2 in its envelope.

use std::sync::Arc;

use serde_json::{Value, json};
use skillcue_load::{Envelope, ErrorEnvelope, Form, LoadRequest};

use super::arguments::{ArgumentError, Arguments};
use super::{BuiltInTool, Call, Effect, ToolContext, ToolOutput, error_for_model, for_model};
use crate::{Error, Skill, Skillcue};

pub(super) const TOOL: BuiltInTool = BuiltInTool {
    name: "load_skill",
    title: "Load a skill",
    description: "Loads a skill's instructions and tools, or one section by heading. If a skill fits the request, call \
                  it first and follow it.",
    schema,
    handler,
};

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "skill_id": {"type": "string"},
            "arguments": {"type": "string"},
            "section": {"type": "string"}
        },
        "required": ["skill_id"],
        "additionalProperties": false
    })
}

fn handler(skills: &Skillcue, call: &Call, _: &ToolContext<'_>) -> ToolOutput {
    let id = call.skill_id().unwrap_or_default();
    let fail = |code, message: &str| ToolOutput::failed(ErrorEnvelope { id, code, message }.to_string());
    let request = match request(call) {
        Ok(request) => request,
        Err(refused) => return fail("invalid_argument", &refused.to_string()),
    };
    match load(skills, id, &request) {
        Ok(output) => output,
        Err(error) => {
            let (code, message) = error_for_model(skills, &error, id);
            fail(code, &message)
        }
    }
}

fn request(call: &Call) -> Result<LoadRequest<'_>, ArgumentError> {
    let given = Arguments::of(call, &["skill_id", "arguments", "section"])?;
    let section = given.text("section")?.filter(|section| !section.trim().is_empty());
    given.skill_id()?;
    let arguments = given.text("arguments")?.unwrap_or_default();
    Ok(LoadRequest { arguments, section, ..LoadRequest::default() })
}

fn load(skills: &Skillcue, id: &str, request: &LoadRequest<'_>) -> Result<ToolOutput, Error> {
    let catalog = skills.catalog();
    let skill = for_model(&catalog, id)?;
    let mut output = enveloped(skills, skill, id, request)?;
    if skill.server().is_some() {
        // No disclosure shows it, and nothing of it runs here.
        output.effect = None;
    }
    Ok(output)
}

/// Returns a loaded skill in its envelope, with the effect for the session. The body is loaded once and the directory
/// is listed once; the effect carries both.
pub(crate) fn enveloped(
    skills: &Skillcue,
    skill: &Skill,
    id: &str,
    request: &LoadRequest<'_>,
) -> Result<ToolOutput, Error> {
    let (loaded, plain) = skills.load_with_plain(skill, &LoadRequest { form: Form::Body, ..request.clone() })?;
    // A skill whose files cannot be listed can be followed all the same.
    let listing = skills.list_files(skill).unwrap_or_default();
    let main = skill.file().name();
    let body = skill.body_file().body.path().map(str::to_owned);
    let other = |path: &&str| *path != main && Some(*path) != body.as_deref();
    let files: Vec<&str> = listing.files.iter().map(|file| file.path.as_str()).filter(other).collect();
    let dir = skill.dir();
    let root = dir.to_string_lossy();
    let origin = skill.server().map(|server| format!("mcp:{server}"));
    let text =
        Envelope { id, body: &loaded.content, root: &root, files: &files, origin: origin.as_deref() }.to_string();
    let (name, arguments) = (id.to_owned(), request.arguments.to_owned());
    let effect = plain.map(|content| Effect::Loaded { name, arguments, content, files: Arc::new(listing) });
    Ok(ToolOutput { text, structured: None, is_error: false, effect })
}
