//! `load_skill`: level 2 in its envelope.

use std::sync::Arc;

use serde_json::{Value, json};
use skillcue_base::Shown;
use skillcue_load::{Envelope, ErrorEnvelope, Form, LoadRequest, Loaded, MAX_ENVELOPE_BYTES, PlainText};

use super::arguments::{ArgumentError, Arguments};
use super::{BuiltInTool, Call, Effect, ToolContext, ToolOutput, error_for_model, for_model};
use crate::catalog::FileListing;
use crate::{Error, Session, Skill, Skillcue};

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

fn handler(skills: &Skillcue, call: &Call, context: &ToolContext<'_>) -> ToolOutput {
    let id = call.skill_id().unwrap_or_default();
    let fail = |code, message: &str| ToolOutput::failed(ErrorEnvelope { id, code, message }.to_string());
    let request = match request(call) {
        Ok(request) => request,
        Err(refused) => return fail("invalid_argument", &refused.to_string()),
    };
    match load(skills, id, &request, context.shown) {
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

fn load(
    skills: &Skillcue,
    id: &str,
    request: &LoadRequest<'_>,
    session: Option<&Session>,
) -> Result<ToolOutput, Error> {
    let catalog = skills.catalog();
    let skill = for_model(&catalog, id)?;
    let mut output = enveloped(skills, skill, id, request, session)?;
    if skill.server().is_some() {
        // No disclosure shows it, and nothing of it runs here.
        output.effect = None;
    }
    Ok(output)
}

/// Returns a loaded skill in its envelope, or a line if the session has it in context; with the effect for the session.
/// The body is loaded once and the directory is listed once; the effect carries both.
pub(crate) fn enveloped(
    skills: &Skillcue,
    skill: &Skill,
    id: &str,
    request: &LoadRequest<'_>,
    session: Option<&Session>,
) -> Result<ToolOutput, Error> {
    let (loaded, plain) = skills.load_with_plain(skill, &LoadRequest { form: Form::Body, ..request.clone() })?;
    // A skill whose files cannot be listed can be followed all the same.
    let listing = skills.list_files(skill).unwrap_or_default();
    let is_known = plain.as_ref().zip(session).is_some_and(|(plain, session)| {
        let shows = |address: &str| session.shows(address, request.arguments, &plain.content, plain.part.clone());
        shows(id) || shows(&skill.id())
    });
    let text = if is_known { already_there(id, request) } else { envelope(skill, id, &loaded, &listing) };
    let (name, arguments) = (id.to_owned(), request.arguments.to_owned());
    let effect = plain.map(|PlainText { content, part }| {
        // An envelope shows no more than that of a body, from its beginning on.
        let end = content.floor_char_boundary(part.end.min(part.start.saturating_add(MAX_ENVELOPE_BYTES)));
        Effect::Loaded { name, arguments, content, part: part.start..end, files: Arc::new(listing), is_known }
    });
    Ok(ToolOutput { text, structured: None, is_error: false, effect })
}

fn envelope(skill: &Skill, id: &str, loaded: &Loaded, listing: &FileListing) -> String {
    let main = skill.file().name();
    let body = skill.body_file().body.path().map(str::to_owned);
    let other = |path: &&str| *path != main && Some(*path) != body.as_deref();
    let files: Vec<&str> = listing.files.iter().map(|file| file.path.as_str()).filter(other).collect();
    let dir = skill.dir();
    let root = dir.to_string_lossy();
    let origin = skill.server().map(|server| format!("mcp:{server}"));
    Envelope { id, body: &loaded.content, root: &root, files: &files, origin: origin.as_deref() }.to_string()
}

/// Returns the line in place of a text that is in context.
fn already_there(id: &str, request: &LoadRequest<'_>) -> String {
    let section = request.section.map(|section| format!("the section \"{}\" of ", Shown(section.trim())));
    let text = format!("{}the skill \"{}\"", section.unwrap_or_default(), Shown(id));
    format!("{} is in this conversation already, unchanged: follow it.", super::capital(&text))
}
