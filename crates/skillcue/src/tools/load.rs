//! `load_skill`: level 2 in its envelope.

use serde_json::{Map, Value, json};
use skillcue_load::{Envelope, ErrorEnvelope, Form, LoadRequest};

use super::arguments::{Arguments, Refused};
use super::{Effect, Tool, ToolContext, ToolOutput, for_model, said};
use crate::{Error, Skill, Skillcue};

pub(super) const TOOL: Tool = Tool {
    name: "load_skill",
    title: "Load a skill",
    description: "Loads the full instructions of one skill. Call it as soon as a listed skill fits the user's request, \
                  before you answer; then follow what it returns. The id is that of the list or of `search_skills`.",
    schema,
    handler,
};

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "skill_id": {"type": "string", "minLength": 1, "description": "The id of the skill, exactly as it is listed."},
            "arguments": {"type": "string", "description": "What the user wants it done to; stands for $ARGUMENTS in the instructions."},
            "section": {"type": "string", "description": "Load only the section below this heading."}
        },
        "required": ["skill_id"],
        "additionalProperties": false
    })
}

fn handler(skills: &Skillcue, arguments: &Map<String, Value>, _: &ToolContext<'_>) -> ToolOutput {
    let id = arguments.get("skill_id").and_then(Value::as_str).unwrap_or_default();
    let fail = |code, message: &str| ToolOutput::failed(ErrorEnvelope { id, code, message }.to_string());
    let read = || -> Result<_, Refused> {
        let arguments = Arguments::of(arguments, &["skill_id", "arguments", "section"])?;
        let section = arguments.text("section")?.filter(|section| !section.trim().is_empty());
        Ok((arguments.required("skill_id")?, arguments.text("arguments")?.unwrap_or_default(), section))
    };
    let (id, given, section) = match read() {
        Ok(read) => read,
        Err(refused) => return fail("invalid_argument", &refused.to_string()),
    };
    let request = LoadRequest { arguments: given, section, form: Form::Body, ..LoadRequest::default() };
    match load(skills, id, &request) {
        Ok(output) => output,
        Err(error) => {
            let (code, message) = said(&error, id);
            fail(code, &message)
        }
    }
}

fn load(skills: &Skillcue, id: &str, request: &LoadRequest<'_>) -> Result<ToolOutput, Error> {
    let catalog = skills.catalog();
    let skill = for_model(&catalog, id)?;
    let text = envelope(skills, skill, id, request)?;
    // What a disclosure would have shown of it is what the session compares with. A section is not all of it.
    let whole = LoadRequest { form: Form::Processed, arguments: "", ..request.clone() };
    let shown = if skill.server().is_none() { skills.load_skill(skill, &whole).ok() } else { None };
    let (name, arguments) = (id.to_owned(), request.arguments.to_owned());
    let effect = shown.map(|loaded| Effect::Loaded { name, arguments, content: loaded.content });
    Ok(ToolOutput { text, structured: None, is_error: false, effect })
}

/// A loaded skill in its envelope.
pub(crate) fn envelope(skills: &Skillcue, skill: &Skill, id: &str, request: &LoadRequest<'_>) -> Result<String, Error> {
    let loaded = skills.load_skill(skill, &LoadRequest { form: Form::Body, ..request.clone() })?;
    // A skill whose files cannot be listed can be followed all the same.
    let listing = skills.list_files(skill).unwrap_or_default();
    let main = skill.file().name();
    let body = skill.body_file().body.path().map(str::to_owned);
    let other = |path: &&str| *path != main && Some(*path) != body.as_deref();
    let files: Vec<&str> = listing.files.iter().map(|file| file.path.as_str()).filter(other).collect();
    let dir = skill.dir();
    let root = dir.to_string_lossy();
    let origin = skill.server().map(|server| format!("mcp:{server}"));
    Ok(Envelope { id, body: &loaded.content, root: &root, files: &files, origin: origin.as_deref() }.to_string())
}
