//! The façade's tools, as the protocol lists and calls them.

use std::sync::Arc;

use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResult, ContentBlock, ListToolsResult, PaginatedRequestParams,
    ProgressNotificationParam, Tool, ToolAnnotations,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Map, Value};
use skillcue::tools::{Call, Effect, ToolContext, ToolDefinition, ToolOutput};
use skillcue::{Session, Skillcue};
use skillcue_base::quoted;
use tokio::sync::mpsc;

use super::carried::{CarriedBack, CarriedState};
use super::handle::HANDLE_META;
use super::logging::LogLine;
use super::skill_tool;
use super::{ServerShared, SkillServer, is_modern};

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
/// that brings none, the list would change without notice. Without a session nothing joins: one tool is for all of them.
fn definitions(skills: &Skillcue, loaded: &[String], is_lasting: bool) -> Vec<ToolDefinition> {
    let mut definitions = skills.tools(loaded);
    if !is_lasting && skills.has_tool_providers() {
        definitions.push(skill_tool::definition());
    }
    let is_usual = !is_lasting || definitions.len() <= skills.tools(&[]).len() + 1;
    definitions.retain(|tool| !is_usual || tool.name != "unload_skill");
    definitions
}

fn result(output: &mut ToolOutput) -> CallToolResult {
    let content = vec![ContentBlock::text(std::mem::take(&mut output.text))];
    let mut result = if output.is_error { CallToolResult::error(content) } else { CallToolResult::success(content) };
    result.structured_content = output.structured.take();
    result
}

/// A tool's output, and its effect on the caller's memory.
struct CalledTool {
    output: ToolOutput,
    /// Whether a skill was loaded that was not loaded before, and brings tools.
    brings_tools: bool,
    back: CarriedBack,
}

/// The memory of earlier calls that a call may build on.
enum CallMemory {
    /// The skills that the session has loaded; what it has been shown, with its last query.
    Session(Arc<Vec<String>>, (Session, String)),
    /// The handle that came with the call, if one did.
    Handle(Option<String>),
}

impl CallMemory {
    /// Calls a tool. `None` if there is none of that name.
    fn call(&self, shared: &ServerShared, call: &Call, context: &ToolContext<'_>) -> Option<CalledTool> {
        let skills = &shared.skillcue;
        let mut back = CarriedBack::default();
        match self {
            CallMemory::Session(loaded, (shown, query)) => {
                let context = ToolContext { loaded, shown: Some(shown), message: query, ..*context };
                let output = skills.call_tool(call, &context)?;
                let brings_tools = brings_tools(skills, &output, loaded);
                Some(CalledTool { output, brings_tools, back })
            }
            CallMemory::Handle(handle) => {
                let carried = CarriedState::open(shared, handle.as_deref(), &mut back);
                let (loaded, shown) = (carried.loaded_for(call), carried.session_for(call));
                // A session that has seen nothing and none at all are two things: without, nothing can have been missed.
                let shown = Some(&shown).filter(|shown| shown.recent().next().is_some());
                let context = ToolContext { loaded: &loaded, shown, ..*context };
                let mut output = if call.name() == skill_tool::NAME {
                    skill_tool::call(skills, &carried, call, &context)
                } else {
                    skills.call_tool(call, &context)?
                };
                let brings_tools = brings_tools(skills, &output, &loaded);
                carried.record(&mut output, brings_tools, &mut back);
                Some(CalledTool { output, brings_tools, back })
            }
        }
    }
}

/// Returns whether a call has loaded a skill that was not loaded before and brings tools. This looks at its scripts.
fn brings_tools(skills: &Skillcue, output: &ToolOutput, loaded: &[String]) -> bool {
    matches!(&output.effect, Some(Effect::Loaded { name, files, .. })
        if !loaded.contains(name) && skills.brings_tools(name, files))
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
        let is_lasting = self.session.is_lasting();
        let definitions = self.unbounded(move |shared, _| definitions(&shared.skillcue, &loaded, is_lasting)).await?;
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
        let is_of_skill = !skillcue::tools::built_in_names().any(|own| own == name);
        let turns = if is_of_skill {
            &self.shared.work.skill_callers
        } else if self.is_remote(&call) {
            &self.shared.work.remote_callers
        } else {
            &self.shared.work.callers
        };
        let turns = async {
            let turn = self.turn(turns).await;
            // The view's own permit comes first: while its calls wait for it, they take none from other views.
            let all = &self.shared.work.all_skill_callers;
            // The semaphore is never closed; if it were, nothing would have to wait any more.
            (turn, if is_of_skill { all.acquire().await.ok() } else { None })
        };
        let _turns = tokio::select! {
            turns = turns => turns,
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
        let memory = if is_lasting {
            CallMemory::Session(self.session.loaded(), self.session.texts.snapshot())
        } else {
            let carried = skill_tool::handle_of(&call);
            let handle = carried.or_else(|| context.meta.get(HANDLE_META).and_then(Value::as_str));
            CallMemory::Handle(handle.map(str::to_owned))
        };
        let session = self.session.label();
        let cancellation = context.ct.clone();
        let span = tracing::info_span!(
            target: skillcue::SPAN_TARGET,
            "tools/call",
            otel.kind = "server",
            mcp.method.name = "tools/call",
            traceparent = super::resources::traceparent(&context),
        );
        let work = self.unbounded(move |shared, _| {
            let _entered = span.enter();
            let report = |done: f64, of: Option<f64>, message: &str| {
                if wants_progress && sender.try_send((done, of, message.to_owned())).is_err() {
                    // Full, or the receiver is gone: the tool goes on either way.
                    shared.metrics.progress_dropped();
                }
            };
            let is_cancelled = || cancellation.is_cancelled();
            let context = ToolContext {
                progress: &report,
                cancelled: &is_cancelled,
                session: &session,
                is_lasting,
                ..ToolContext::default()
            };
            let called = memory.call(shared, &call, &context);
            shared.metrics.tool_called(call.name(), called.as_ref().map(|called| called.output.is_error));
            called
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
        let Some(CalledTool { mut output, brings_tools, back }) = output? else {
            let message = format!("there is no tool {}", quoted(&name));
            return Err(ErrorData::invalid_params(message, None));
        };
        for line in back.lines {
            self.log(line, &context).await;
        }
        if let Some(Effect::Loaded { name, .. }) = &output.effect {
            self.remember(name, brings_tools);
        }
        if let Some(Effect::Unloaded { name }) = &output.effect
            && self.session.forget_skill(name)
        {
            self.session.tools_changed();
        }
        if is_lasting {
            self.session.texts.record(&mut output);
        }
        let mut result = result(&mut output);
        if let Some(handle) = back.handle {
            result.meta.get_or_insert_default().insert(HANDLE_META.to_owned(), handle.into());
        }
        Ok(result)
    }

    /// Lets the skills leave whose lifecycle ends as this call comes in. Their texts cannot be taken out of the client's
    /// context: they count as gone, and their tools are.
    fn end_lifecycles(&self, call: &Call) {
        let gone = self.session.texts.begin(call, &self.shared.skillcue.catalog());
        let mut has_left = false;
        for name in &gone {
            has_left |= self.session.forget_skill(name);
            let message = format!("the skill {} has left: its lifecycle has ended", quoted(name));
            self.queue(&LogLine::info("tools", message));
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
