//! `load_skill`: level 2 in its envelope.

use std::ops::Range;
use std::sync::Arc;

use serde_json::{Value, json};
use skillcue_base::Shown;
use skillcue_disclose::{rest_for, shorten_for};
use skillcue_format::Tokens;
use skillcue_load::{Envelope, ErrorEnvelope, Form, LoadRequest, Loaded, MAX_ENVELOPE_BYTES, PlainText};

use super::arguments::{ArgumentError, Arguments};
use super::{BuiltInTool, Call, Effect, ToolContext, ToolOutput, error_for_model, for_model};
use crate::catalog::FileListing;
use crate::{Error, Session, Skill, Skillcue, Source};

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
    match load(skills, id, &request, context) {
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
    context: &ToolContext<'_>,
) -> Result<ToolOutput, Error> {
    let catalog = skills.catalog();
    let skill = for_model(&catalog, id)?;
    let limit = skills.load_limit();
    // Where the message is not known, the arguments say most about it.
    let message = if context.message.is_empty() { request.arguments } else { context.message };
    enveloped(skills, skill, id, request, &LoadScope { session: context.shown, message, limit })
}

/// The smallest limit for the tokens of a load: there is room for a line and for the one that says how to load more.
const MIN_LOAD: Tokens = Tokens(100);

/// The conditions that decide which parts of a text a load returns.
#[derive(Clone, Copy, Default)]
pub(crate) struct LoadScope<'s> {
    /// The record of what the conversation has been shown.
    pub(crate) session: Option<&'s Session>,
    /// The message that the parts of a long text are chosen by.
    pub(crate) message: &'s str,
    /// The limit for its tokens.
    pub(crate) limit: Option<Tokens>,
}

/// Returns a loaded skill in its envelope, or a line if the session has it in context; with the effect for the session.
/// Of a text of which parts are in context, the others are returned. The body is loaded once and the directory is listed
/// once; the effect carries both.
pub(crate) fn enveloped(
    skills: &Skillcue,
    skill: &Skill,
    id: &str,
    request: &LoadRequest<'_>,
    scope: &LoadScope<'_>,
) -> Result<ToolOutput, Error> {
    let (loaded, plain) = skills.load_with_plain(skill, &LoadRequest { form: Form::Body, ..request.clone() })?;
    // A skill whose files cannot be listed can be followed all the same.
    let listing = skills.list_files(skill).unwrap_or_default();
    let Some(plain) = plain else {
        return Ok(ToolOutput::from_text(envelope(skill, id, &loaded.content, &listing)));
    };
    let is_known = scope.session.is_some_and(|session| {
        let shows = |address: &str| session.shows(address, request.arguments, &plain.content, plain.part.clone());
        shows(id) || shows(&skill.id())
    });
    let shown = if is_known { None } else { Some(scope.parts(skills, skill, id, request, &loaded, &plain)) };
    let is_known = is_known || shown.as_ref().is_some_and(Option::is_none);
    let PlainText { content, part } = plain;
    let (text, parts) = match shown.flatten() {
        None => (already_there(id, request), vec![part]),
        Some(LoadedParts { text, parts }) => (envelope(skill, id, &text, &listing), parts),
    };
    let (name, arguments) = (id.to_owned(), request.arguments.to_owned());
    let effect = Effect::Loaded { name, arguments, content, parts, files: Arc::new(listing), is_known };
    Ok(ToolOutput { text, structured: None, is_error: false, effect: Some(effect) })
}

/// The text that a load returns, and where its parts are in the whole text without arguments.
struct LoadedParts {
    text: Arc<str>,
    parts: Vec<Range<usize>>,
}

impl LoadScope<'_> {
    /// Returns the parts to return; `None` if the conversation has all of them.
    fn parts(
        &self,
        skills: &Skillcue,
        skill: &Skill,
        id: &str,
        request: &LoadRequest<'_>,
        loaded: &Loaded,
        plain: &PlainText,
    ) -> Option<LoadedParts> {
        let PlainText { content, part } = plain;
        let whole = content.get(part.clone()).unwrap_or_default();
        let counter = skills.counter();
        let limit = self.limit.filter(|limit| limit.0 > 0).map(|limit| counter.reserve(limit.max(MIN_LOAD)));
        // Arguments move places: then parts cannot be told apart from those in context.
        let Some(before) = whole.strip_suffix(&*loaded.content).map(str::len) else {
            let short = limit.and_then(|limit| shorten_for(self.message, &loaded.content, limit, id, counter));
            let is_whole = short.as_ref().is_none_or(|short| short.text == *loaded.content);
            let text = short.map_or_else(|| Arc::clone(&loaded.content), |short| short.text.into());
            let parts = if is_whole { enveloped_part(content, part) } else { part.start..part.start };
            return Some(LoadedParts { text, parts: vec![parts] });
        };
        let start = part.start + before;
        let known = |session: &Session| {
            let known = |address: &str| session.parts_shown(address, request.arguments, content);
            known(id).into_iter().chain(known(&skill.id())).collect()
        };
        let known: Vec<Range<usize>> = self.session.map(known).unwrap_or_default();
        let inside = known.into_iter().map(|range| range.start.max(start)..range.end.min(part.end));
        let inside = inside.filter(|range| range.start < range.end);
        let known: Vec<Range<usize>> = inside.map(|range| range.start - start..range.end - start).collect();
        if known.is_empty() && limit.is_none_or(|limit| counter.count(&loaded.content) <= limit) {
            let parts = vec![enveloped_part(content, part)];
            return Some(LoadedParts { text: Arc::clone(&loaded.content), parts });
        }
        let shown = rest_for(self.message, &loaded.content, &known, limit, id, counter)?;
        // The line that names the base directory comes with the first part: the envelope has it, too.
        let place = |range: &Range<usize>| match range.start {
            0 => part.start..start + range.end,
            _ => start + range.start..start + range.end,
        };
        Some(LoadedParts { text: shown.text.into(), parts: shown.parts.iter().map(place).collect() })
    }
}

/// Returns the range of a whole text that an envelope shows: no more than its limit, from the beginning on.
fn enveloped_part(content: &str, part: &Range<usize>) -> Range<usize> {
    part.start..content.floor_char_boundary(part.end.min(part.start.saturating_add(MAX_ENVELOPE_BYTES)))
}

fn envelope(skill: &Skill, id: &str, body: &str, listing: &FileListing) -> String {
    let main = skill.file().name();
    let body_path = skill.body_file().body.path().map(str::to_owned);
    let other = |path: &&str| *path != main && Some(*path) != body_path.as_deref();
    let files: Vec<&str> = listing.files.iter().map(|file| file.path.as_str()).filter(other).collect();
    let dir = skill.dir();
    let root = dir.to_string_lossy();
    let of = if skill.source() == Source::Catalog { "catalog" } else { "mcp" };
    let origin = skill.server().map(|server| format!("{of}:{server}"));
    Envelope { id, body, root: &root, files: &files, origin: origin.as_deref() }.to_string()
}

/// Returns the line in place of a text that is in context.
fn already_there(id: &str, request: &LoadRequest<'_>) -> String {
    let section = request.section.map(|section| format!("the section \"{}\" of ", Shown(section.trim())));
    let text = format!("{}the skill \"{}\"", section.unwrap_or_default(), Shown(id));
    format!("{} is in this conversation already, unchanged: follow it.", super::capital(&text))
}
