//! Skills as prompts, which a person picks.

use rmcp::ErrorData;
use rmcp::RoleServer;
use rmcp::model::{
    CacheScope, GetPromptRequestParams, GetPromptResult, ListPromptsResult, PaginatedRequestParams, Prompt,
    PromptArgument, PromptMessage, Role,
};
use rmcp::service::RequestContext;
use serde_json::Value;
use skillcue::usage::UsageKind;
use skillcue::{LoadRequest, Skill};
use skillcue_base::{ErrorInfo as _, quoted};

use super::cursor::{self, List};
use super::view::{CatalogView, is_prompt};
use super::{SkillServer, is_modern};

/// The name of a prompt's only argument.
pub(super) const ARGUMENT: &str = "arguments";

impl SkillServer {
    pub(super) async fn prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        context: &RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let after = cursor::read(List::Prompts, request.as_ref().and_then(|request| request.cursor.as_deref()))?;
        let (prompts, next) =
            self.blocking(move |shared, view| page(view, after.as_deref(), shared.options.page_size)).await?;
        let mut result = ListPromptsResult::with_all_items(prompts);
        result.next_cursor = next;
        if is_modern(context) {
            result = result.with_ttl_ms(self.shared.options.ttl_ms).with_cache_scope(CacheScope::Private);
        }
        Ok(result)
    }

    pub(super) async fn prompt(&self, request: GetPromptRequestParams) -> Result<GetPromptResult, ErrorData> {
        let name = request.name.clone();
        let loaded = self.blocking(move |shared, view| {
            let unknown = || ErrorData::invalid_params(format!("there is no prompt {}", quoted(&name)), None);
            let skill = view.catalog.named(&name).next().filter(|skill| is_prompt(skill)).ok_or_else(unknown)?;
            let arguments = match request.arguments.as_ref().and_then(|arguments| arguments.get(ARGUMENT)) {
                None | Some(Value::Null) => "",
                Some(Value::String(text)) => text,
                Some(_) => {
                    return Err(ErrorData::invalid_params(format!("the argument {ARGUMENT:?} is no text"), None));
                }
            };
            let load = LoadRequest { arguments, ..LoadRequest::default() };
            let loaded = shared.skillcue.load(&name, &load).map_err(|error| match error.code() {
                "not_found" | "disabled" | "unavailable" => unknown(),
                "invalid_argument" | "too_large" => ErrorData::invalid_params(error.to_string(), None),
                _ => ErrorData::internal_error(error.to_string(), None),
            })?;
            let brings_tools = match shared.skillcue.files(&name) {
                Ok(files) => shared.skillcue.brings_tools(&name, &files),
                Err(_) => false,
            };
            Ok((loaded.content, skill.manifest().description().to_owned(), brings_tools))
        });
        let (content, description, brings_tools) = loaded.await??;
        self.remember(&request.name, brings_tools);
        self.shared.skillcue.report_use(UsageKind::Loaded, &request.name, &self.session.label());
        let message = PromptMessage::new_text(Role::User, content.as_ref());
        Ok(GetPromptResult::new(vec![message]).with_description(description))
    }
}

fn page(view: &CatalogView, after: Option<&str>, size: usize) -> (Vec<Prompt>, Option<String>) {
    let rest = view.after(view.prompts(), after);
    let (shown, later) = rest.split_at(rest.len().min(size.max(1)));
    let next = shown.last().filter(|_| !later.is_empty());
    let next = next.map(|at| cursor::after(List::Prompts, view.skill(*at).name()));
    (shown.iter().map(|at| prompt(view.skill(*at))).collect(), next)
}

fn prompt(skill: &Skill) -> Prompt {
    let manifest = skill.make_manifest();
    let hint = manifest.argument_hint().unwrap_or("What to apply the skill to.").to_owned();
    let argument = PromptArgument::new(ARGUMENT).with_description(hint).with_required(false);
    Prompt::new(skill.name(), Some(manifest.description()), Some(vec![argument]))
}
