//! The façade's tools, as the protocol lists and calls them.

use std::sync::Arc;

use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResult, ContentBlock, ListToolsResult, PaginatedRequestParams,
    ProgressNotificationParam, Tool, ToolAnnotations,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Map, Value};
use skillcue::Skillcue;
use skillcue::tools::{Call, Effect, ToolContext, ToolDefinition, ToolOutput};
use skillcue_base::quoted;
use tokio::sync::mpsc;

use super::logging::LogLine;
use super::{SkillServer, is_modern};

/// How many reports of progress wait to be sent. A tool that reports faster loses some, and is not held up.
const MAX_PROGRESS: usize = 64;

fn tool(definition: ToolDefinition) -> Tool {
    let schema = match definition.input_schema {
        Value::Object(schema) => schema,
        // A tool without a schema takes anything, as far as the protocol is concerned.
        _ => Map::from_iter([("type".to_owned(), Value::from("object"))]),
    };
    let mut tool = Tool::new(definition.name, definition.description, Arc::new(schema));
    tool.title = Some(definition.title.into_owned());
    let mut annotations = ToolAnnotations::new().read_only(definition.read_only);
    if definition.read_only {
        annotations.open_world_hint = Some(false);
    }
    tool.annotations = Some(annotations);
    tool
}

/// Returns the tools for a client. `unload_skill` joins with the tools of a skill, whose coming is announced: with a skill
/// that brings none, the list would change without notice.
fn definitions(skills: &Skillcue, loaded: &[String]) -> Vec<ToolDefinition> {
    let mut definitions = skills.tools(loaded);
    let is_usual = definitions.len() <= skills.tools(&[]).len() + 1;
    definitions.retain(|tool| !is_usual || tool.name != "unload_skill");
    definitions
}

fn result(output: &mut ToolOutput) -> CallToolResult {
    let content = vec![ContentBlock::text(std::mem::take(&mut output.text))];
    let mut result = if output.is_error { CallToolResult::error(content) } else { CallToolResult::success(content) };
    result.structured_content = output.structured.take();
    result
}

impl SkillServer {
    pub(super) async fn tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: &RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        if request.is_some_and(|request| request.cursor.is_some()) {
            return Err(ErrorData::invalid_params("the cursor is none that this list gave out", None));
        }
        let loaded = self.session.loaded();
        // The tools of a loaded skill may have to be evaluated first.
        let definitions = self.unbounded(move |shared, _| definitions(&shared.skillcue, &loaded)).await?;
        let mut result = ListToolsResult::with_all_items(definitions.into_iter().map(tool).collect());
        if is_modern(context) {
            result = result.with_ttl_ms(self.shared.options.ttl_ms).with_cache_scope(CacheScope::Private);
        }
        Ok(result)
    }

    pub(super) async fn call(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResult, ErrorData> {
        let name = request.name.clone();
        let call = Call::new(request.name, request.arguments.unwrap_or_default());
        let turns = if !skillcue::tools::built_in_names().any(|own| own == name) {
            &self.shared.skill_callers
        } else if self.is_remote(&call) {
            &self.shared.remote_callers
        } else {
            &self.shared.callers
        };
        let _turn = tokio::select! {
            turn = self.turn(turns) => turn,
            // The client does not wait for the answer any more.
            () = context.ct.cancelled() => return Err(ErrorData::internal_error("the call was cancelled", None)),
        };
        let (sender, mut reports) = mpsc::channel(MAX_PROGRESS);
        let token = context.meta.get_progress_token();
        let wants_progress = token.is_some();
        let is_lasting = self.session.is_lasting();
        if is_lasting {
            self.end_lifecycles(&call);
        }
        let loaded = self.session.loaded();
        let session = self.session.label();
        let shown = is_lasting.then(|| self.session.texts.snapshot());
        let cancellation = context.ct.clone();
        let work = self.unbounded(move |shared, _| {
            let report = |done: f64, of: Option<f64>, message: &str| {
                if wants_progress {
                    // Full, or the receiver is gone: the tool goes on either way.
                    let _ = sender.try_send((done, of, message.to_owned()));
                }
            };
            let is_cancelled = || cancellation.is_cancelled();
            let context = ToolContext {
                progress: &report,
                cancelled: &is_cancelled,
                loaded: &loaded,
                session: &session,
                is_lasting,
                shown: shown.as_ref().map(|(session, _)| session),
                message: shown.as_ref().map_or("", |(_, query)| query),
            };
            let output = shared.skillcue.call_tool(&call, &context)?;
            // This looks at the skill's scripts.
            let remembered = match &output.effect {
                Some(Effect::Loaded { name, files, .. }) => {
                    let brings = !loaded.contains(name) && shared.skillcue.brings_tools(name, files);
                    Some((name.clone(), brings))
                }
                _ => None,
            };
            Some((output, remembered))
        });
        let forward = async {
            while let Some((done, of, message)) = reports.recv().await {
                let Some(token) = &token else { continue };
                let mut params = ProgressNotificationParam::new(token.clone(), done);
                params.total = of;
                params.message = (!message.is_empty()).then_some(message);
                // A client that is gone has no use for it.
                let _ = context.peer.notify_progress(params).await;
            }
        };
        let (output, ()) = tokio::join!(work, forward);
        let Some((mut output, remembered)) = output? else {
            let message = format!("there is no tool {}", quoted(&name));
            return Err(ErrorData::invalid_params(message, None));
        };
        if let Some((name, brings_tools)) = remembered {
            self.remember(&name, brings_tools);
        }
        if let Some(Effect::Unloaded { name }) = &output.effect
            && self.session.forget_skill(name)
        {
            self.session.tools_changed();
        }
        if is_lasting {
            self.session.texts.record(&mut output);
        }
        Ok(result(&mut output))
    }

    /// Lets the skills leave whose lifecycle ends as this call comes in. Their texts cannot be taken out of the client's
    /// context: they count as gone, and their tools are.
    fn end_lifecycles(&self, call: &Call) {
        let gone = self.session.texts.begin(call, &self.shared.skillcue.catalog());
        let mut has_left = false;
        for name in &gone {
            has_left |= self.session.forget_skill(name);
            let message = format!("the skill {} has left: its lifecycle has ended", quoted(name));
            self.session.outbox().log(&LogLine::info("tools", message));
        }
        if has_left {
            self.session.tools_changed();
        }
    }

    /// Returns whether a call is about a skill of another server, which will have to be asked.
    fn is_remote(&self, call: &Call) -> bool {
        let catalog = self.shared.skillcue.catalog();
        call.skill_id().and_then(|id| catalog.get(id)).is_some_and(|skill| skill.server().is_some())
    }

    /// Remembers a loaded skill, and notifies the client if that brings it other tools.
    pub(super) fn remember(&self, name: &str, brings_tools: bool) {
        if self.session.remember(name) && brings_tools {
            self.session.tools_changed();
        }
    }
}
