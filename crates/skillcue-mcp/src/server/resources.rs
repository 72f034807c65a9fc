//! Skills and their files as resources.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rmcp::model::{
    CacheScope, ListResourceTemplatesResult, ListResourcesResult, PaginatedRequestParams, ReadResourceResult, Resource,
    ResourceContents, ResourceTemplate,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use skillcue::catalog::{SkillDir, TreeLimits};
use skillcue::{Skill, Skillcue};
use skillcue_base::Shown;

use super::cursor::{self, List};
use super::extension::MAX_LOOKS;
use super::files::{self, ServeError};
use super::logging::LogLine;
use super::view::CatalogView;
use super::{ServerShared, SkillServer, is_modern, mime, published, uris};

/// The template of skill files; its variable is a skill's path.
pub(super) const SKILL_TEMPLATE: &str = "skill://{+skill}/SKILL.md";

/// The template of every file; the path below the skill is the second variable.
pub(super) const FILE_TEMPLATE: &str = "skill://{+skill}/{+file}";

impl SkillServer {
    pub(super) async fn resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: &RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let after = cursor::read(List::Resources, request.as_ref().and_then(|request| request.cursor.as_deref()))?;
        let (resources, next) = self
            .blocking(move |shared, view| page(&shared.skillcue, view, after.as_deref(), shared.options.page_size))
            .await?;
        let mut result = ListResourcesResult::with_all_items(resources);
        result.next_cursor = next;
        if is_modern(context) {
            result = result.with_ttl_ms(self.shared.options.ttl_ms).with_cache_scope(CacheScope::Private);
        }
        Ok(result)
    }

    pub(super) fn templates(&self, context: &RequestContext<RoleServer>) -> ListResourceTemplatesResult {
        let skill = ResourceTemplate::new(SKILL_TEMPLATE, "skill")
            .with_title("A skill's instructions")
            .with_description("The SKILL.md of the skill at this path.")
            .with_mime_type("text/markdown");
        let file = ResourceTemplate::new(FILE_TEMPLATE, "skill-file")
            .with_title("A skill's file")
            .with_description("A file below a skill's directory, by its path there.");
        let mut result = ListResourceTemplatesResult::with_all_items(vec![skill, file]);
        if is_modern(context) {
            result = result.with_ttl_ms(self.shared.options.ttl_ms).with_cache_scope(CacheScope::Private);
        }
        result
    }

    pub(super) async fn read(
        &self,
        uri: String,
        context: &RequestContext<RoleServer>,
    ) -> Result<ReadResourceResult, ErrorData> {
        let (session, span) = (self.session.label(), resource_span(context));
        let asked = uri.clone();
        let is_remote = self.unbounded(move |_, view| published::is_at(view, &asked)).await?;
        let work = move |shared: &ServerShared, view: &CatalogView| match span
            .in_scope(|| files::read(&shared.skillcue, view, &uri))
        {
            Ok(served) => {
                span.record("gen_ai.skill.name", &served.skill).record("gen_ai.skill.resource.name", &served.path);
                shared.skillcue.report_read(&served.skill, &served.path, &session);
                Ok(contents(uri, served))
            }
            Err(failure) => Err((failure, uri)),
        };
        // A store that is slow must not keep others from files on this machine.
        let read = if is_remote {
            let _turn = self.turn(&self.shared.work.remote_callers).await;
            self.unbounded(work).await?
        } else {
            self.blocking(work).await?
        };
        match read {
            Ok(contents) => {
                let mut result = ReadResourceResult::new(vec![contents]);
                if is_modern(context) {
                    result = result.with_ttl_ms(self.shared.options.ttl_ms).with_cache_scope(CacheScope::Private);
                }
                Ok(result)
            }
            Err((failure, uri)) => {
                self.log_refusal(&failure, context).await;
                Err(failure.into_error(&uri))
            }
        }
    }

    /// Sends the client a log line if a URI was refused, and why.
    pub(super) async fn log_refusal(&self, failure: &ServeError, context: &RequestContext<RoleServer>) {
        if let ServeError::Refused(message) = failure {
            self.log(LogLine::warning("security", message.as_str()), context).await;
        }
    }
}

/// Returns the caller's span as the request has it: in its metadata, or in the header of HTTP.
pub(super) fn traceparent(context: &RequestContext<RoleServer>) -> Option<&str> {
    let in_header = || {
        let parts = context.extensions.get::<http::request::Parts>()?;
        parts.headers.get("traceparent")?.to_str().ok()
    };
    context.meta.get("traceparent").and_then(serde_json::Value::as_str).or_else(in_header)
}

/// Returns the span of the read of a resource.
fn resource_span(context: &RequestContext<RoleServer>) -> tracing::Span {
    tracing::info_span!(
        target: skillcue::SPAN_TARGET,
        "resources/read",
        otel.kind = "server",
        mcp.method.name = "resources/read",
        traceparent = traceparent(context),
        gen_ai.skill.name = tracing::field::Empty,
        gen_ai.skill.resource.name = tracing::field::Empty,
    )
}

fn contents(uri: String, served: files::ServedFile) -> ResourceContents {
    let path = served.path;
    match String::from_utf8(served.bytes) {
        Ok(text) => ResourceContents::text(text, uri).with_mime_type(mime::with_content(&path, true)),
        Err(error) => ResourceContents::blob(STANDARD.encode(error.as_bytes()), uri)
            .with_mime_type(mime::with_content(&path, false)),
    }
}

/// Returns the resources of whole skills, until the page is full or enough skills were looked at: one that may not be loaded
/// adds none; and the cursor of the next page.
fn page(skills: &Skillcue, view: &CatalogView, after: Option<&str>, size: usize) -> (Vec<Resource>, Option<String>) {
    let mut resources = Vec::new();
    let mut rest = view.after(view.served(), after).iter();
    let mut last = None;
    for at in rest.by_ref().take(size.saturating_mul(MAX_LOOKS)) {
        let skill = view.skill(*at);
        last = Some(skill.name());
        of_skill(skills, skill, &mut resources);
        if resources.len() >= size {
            break;
        }
    }
    let next = last.filter(|_| !rest.as_slice().is_empty()).map(|last| cursor::after(List::Resources, last));
    (resources, next)
}

/// Adds a skill's resources: the skill file, then the others in order.
fn of_skill(skills: &Skillcue, skill: &Skill, resources: &mut Vec<Resource>) {
    let Some(root) = uris::root(skill) else { return };
    let own = skill.file().name();
    if skill.server().is_some() {
        let Some(entry) = skills.loadable_entry(skill) else { return };
        resources.push(skill_file(skill, &root));
        let others = published::files(&entry).into_iter().filter(|file| file.path != own);
        resources.extend(others.map(|file| resource(&root, &file.path, file.size)));
        return;
    }
    resources.push(skill_file(skill, &root));
    // A skill whose files cannot be listed just now still has its skill file, which discovery has seen.
    let listed = SkillDir::open(skill.name(), &skill.dir()).and_then(|dir| dir.list(&TreeLimits::default()));
    for file in listed.map(|listing| listing.files).unwrap_or_default() {
        if file.path != own {
            resources.push(resource(&root, &file.path, file.size));
        }
    }
}

/// Returns the resource of a skill file: with the skill's name and description.
pub(super) fn skill_file(skill: &Skill, root: &str) -> Resource {
    let own = skill.file().name();
    let resource = Resource::new(uris::below(root, own), skill.name())
        .with_mime_type(mime::of(own).unwrap_or("text/markdown"))
        .with_size(skill.stamp().size);
    match skill.summary() {
        Some(summary) => resource.with_description(summary.description),
        None => resource.with_description(skill.make_manifest().description()),
    }
}

/// Returns the resource of any other file.
pub(super) fn resource(root: &str, path: &str, size: u64) -> Resource {
    let name = path.rsplit('/').next().unwrap_or(path);
    let resource = Resource::new(uris::below(root, path), Shown(name).to_string()).with_size(size);
    match mime::of(path) {
        Some(kind) => resource.with_mime_type(kind),
        None => resource,
    }
}
