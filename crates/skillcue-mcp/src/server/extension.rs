//! The extension "Skills over MCP" (SEP-2640): `skills/list`, `skills/get`, `resources/directory/read`.

use std::sync::Arc;

use rmcp::model::{CustomRequest, CustomResult, ErrorCode, Resource};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Value, json};
use skillcue::Skillcue;
use skillcue_base::quoted;

use super::cursor::{self, List};
use super::entries::EntryResult;
use super::files::{self, ServeError};
use super::logging::LogLine;
use super::resources::{resource, skill_file};
use super::view::CatalogView;
use super::{ServerShared, SkillServer, is_modern, mime, published, uris};

/// How many skills a page of `skills/list` checks for each that it may hold: pages end, even if no skill conforms.
pub(super) const MAX_LOOKS: usize = 8;

/// How many skills that were left out one log line names.
const MAX_NAMED: usize = 20;

/// The methods that the protocol defines. A request for one of them arrives at [`SkillServer::extended`] only if its
/// parameters are wrong.
pub(super) const PROTOCOL_METHODS: [&str; 15] = [
    "initialize",
    "server/discover",
    "ping",
    "completion/complete",
    "logging/setLevel",
    "prompts/get",
    "prompts/list",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "resources/subscribe",
    "resources/unsubscribe",
    "subscriptions/listen",
    "tools/call",
    "tools/list",
];

/// The methods that 2026-07-28 has removed.
const REMOVED: [&str; 5] = ["initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"];

impl SkillServer {
    pub(super) async fn extended(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let params = request.params.unwrap_or_default();
        match request.method.as_str() {
            "skills/list" => self.list_skills(&params, &context).await,
            "skills/get" => self.get_skill(&params, &context).await,
            "resources/directory/read" => self.read_directory(&params, &context).await,
            method if PROTOCOL_METHODS.contains(&method) && !(is_modern(&context) && REMOVED.contains(&method)) => {
                Err(ErrorData::invalid_params(format!("the parameters of {method} are not what it takes"), None))
            }
            method => {
                let message = format!("there is no method {}", quoted(method));
                Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, message, None))
            }
        }
        .map(CustomResult::new)
    }

    async fn list_skills(&self, params: &Value, context: &RequestContext<RoleServer>) -> Result<Value, ErrorData> {
        let after = cursor::read(List::Skills, text(params, "cursor")?)?;
        let (page, left_out) = self.blocking(move |shared, view| page(shared, view, after.as_deref())).await?;
        self.log_left_out(left_out, context).await;
        let mut result = self.complete_result();
        result["skills"] = page.skills.into();
        if let Some(next) = page.next {
            result["nextCursor"] = next.into();
        }
        Ok(result)
    }

    async fn get_skill(&self, params: &Value, context: &RequestContext<RoleServer>) -> Result<Value, ErrorData> {
        let uri = required_uri(params)?;
        let found = self.blocking(move |shared, view| {
            let skill = files::skill_at(view, &uri)?;
            let mut left_out = Vec::new();
            let outcome = entry(shared, skill, &mut left_out);
            Ok::<_, ServeError>((outcome, left_out, uri))
        });
        let (outcome, left_out, uri) = match found.await? {
            Ok(found) => found,
            Err(failure) => {
                self.log_refusal(&failure, context).await;
                return Err(failure.into_invalid_params());
            }
        };
        self.log_left_out(left_out, context).await;
        let entry = outcome.map_err(|reason| {
            ErrorData::invalid_params(format!("no skill is served at {}: {reason}", quoted(&uri)), None)
        })?;
        let mut result = self.complete_result();
        result["skill"] = Value::clone(&entry);
        Ok(result)
    }

    async fn read_directory(&self, params: &Value, context: &RequestContext<RoleServer>) -> Result<Value, ErrorData> {
        let uri = required_uri(params)?;
        let after = cursor::read(List::Directory, text(params, "cursor")?)?;
        let size = self.shared.options.page_size.max(1);
        let read =
            self.blocking(move |shared, view| directory(&shared.skillcue, view, &uri, after.as_deref(), size)).await?;
        let (resources, next) = match read {
            Ok(read) => read,
            Err(failure) => {
                self.log_refusal(&failure, context).await;
                return Err(failure.into_invalid_params());
            }
        };
        let mut result = self.complete_result();
        // Resources always have a JSON form.
        result["resources"] = serde_json::to_value(resources).unwrap_or_default();
        if let Some(next) = next {
            result["nextCursor"] = next.into();
        }
        Ok(result)
    }

    fn complete_result(&self) -> Value {
        json!({ "resultType": "complete", "ttlMs": self.shared.options.ttl_ms, "cacheScope": "private" })
    }

    async fn log_left_out(&self, left_out: Vec<String>, context: &RequestContext<RoleServer>) {
        if left_out.is_empty() {
            return;
        }
        let more = left_out.len().saturating_sub(MAX_NAMED);
        let mut named: Vec<_> = left_out.into_iter().take(MAX_NAMED).collect();
        if more > 0 {
            named.push(format!("and {more} more"));
        }
        let message = named.join("; ");
        self.log(LogLine::warning("skills", format!("left out: {message}")), context).await;
    }
}

struct SkillsPage {
    skills: Vec<Value>,
    next: Option<String>,
}

/// Returns the entries of one page, and the skills that were left out for the first time.
fn page(shared: &ServerShared, view: &CatalogView, after: Option<&str>) -> (SkillsPage, Vec<String>) {
    let size = shared.options.skills_page_size.max(1);
    let mut left_out = Vec::new();
    let mut skills = Vec::new();
    let mut rest = view.after(view.served(), after).iter();
    let mut last = None;
    for at in rest.by_ref().take(size * MAX_LOOKS) {
        let skill = view.skill(*at);
        last = Some(skill.name());
        if let Ok(entry) = entry(shared, skill, &mut left_out) {
            skills.push(Value::clone(&entry));
        }
        if skills.len() == size {
            break;
        }
    }
    let next = last.filter(|_| !rest.as_slice().is_empty()).map(|last| cursor::after(List::Skills, last));
    (SkillsPage { skills, next }, left_out)
}

fn entry(shared: &ServerShared, skill: &skillcue::Skill, left_out: &mut Vec<String>) -> EntryResult {
    if skill.server().is_some() {
        // What may not be loaded is no mistake, and is left out in silence.
        return published::entry(&shared.skillcue, skill).map(Arc::new).ok_or_else(|| Arc::from("it is not allowed"));
    }
    shared.entries.of(skill, &mut |reason| {
        let (name, dir) = (skill.name(), skill.dir());
        tracing::warn!(target: "skillcue::mcp", skill = name, dir = %dir.display(), reason, "left out of skills/list");
        left_out.push(format!("{name}: {reason}"));
    })
}

/// Lists a directory, and returns the cursor of the next page.
fn directory(
    skills: &Skillcue,
    view: &CatalogView,
    uri: &str,
    after: Option<&str>,
    size: usize,
) -> Result<(Vec<Resource>, Option<String>), ServeError> {
    let (skill, path, children) = files::children(skills, view, uri)?;
    let root = uris::root(skill).unwrap_or_default();
    let start = after.map_or(0, |after| children.partition_point(|child| child.name.as_str() <= after));
    let end = children.len().min(start + size);
    let next = (end < children.len()).then(|| cursor::after(List::Directory, &children[end - 1].name));
    let resources = children[start..end].iter().map(|child| {
        let path = if path.is_empty() { child.name.clone() } else { format!("{path}/{}", child.name) };
        match child.size {
            Some(_) if path == skill.file().name() => skill_file(skill, &root),
            Some(size) => resource(&root, &path, size),
            None => Resource::new(uris::below(&root, &path), child.name.as_str()).with_mime_type(mime::DIRECTORY),
        }
    });
    Ok((resources.collect(), next))
}

fn required_uri(params: &Value) -> Result<String, ErrorData> {
    let uri =
        text(params, "uri")?.ok_or_else(|| ErrorData::invalid_params("the parameter \"uri\" is missing", None))?;
    Ok(uri.to_owned())
}

/// Returns a parameter that is a text, if it is there.
fn text<'p>(params: &'p Value, name: &str) -> Result<Option<&'p str>, ErrorData> {
    match params.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(ErrorData::invalid_params(format!("the parameter {name:?} is no text"), None)),
    }
}
