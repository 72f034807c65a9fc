//! A server for the skills of a [`Skillcue`]: tools, resources, prompts, completion, and the extension "Skills over
//! MCP" (SEP-2640), over stdio and streamable HTTP, for the protocol's versions up to 2026-07-28.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use std::sync::Arc;
//!
//! use skillcue::Skillcue;
//! use skillcue_mcp::server::{HttpOptions, HttpServer, ServerOptions, SkillServer};
//! use tokio_util::sync::CancellationToken;
//!
//! let skills = Arc::new(Skillcue::builder().skills_dir("skills").build()?);
//! let server = SkillServer::new(skills, ServerOptions::default());
//! let http = HttpServer::bind(server, HttpOptions::default()).await?;
//! println!("listening on {}", http.address());
//! http.run(CancellationToken::new()).await?;
//! # Ok(())
//! # }
//! ```

mod authority;
mod completion;
mod connections;
mod cursor;
mod digits;
mod entries;
mod extension;
mod files;
mod front_matter;
mod http;
mod instructions;
mod logging;
mod mime;
mod prompts;
mod resources;
mod session;
mod stdio;
mod tools;
mod uris;
mod view;

use std::borrow::Cow;
use std::num::NonZero;
use std::sync::Arc;

use arc_swap::ArcSwap;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult, CustomRequest, CustomResult,
    DiscoverResult, ExtensionCapabilities, GetPromptRequestParams, GetPromptResponse, Implementation,
    InitializeRequestParams, InitializeResult, JsonObject, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, PromptsCapability, ProtocolVersion,
    ReadResourceRequestParams, ReadResourceResponse, ResourceUpdatedNotificationParam, ResourcesCapability,
    ServerCapabilities, ServerConfig, SubscriptionFilter, ToolsCapability,
};
#[expect(deprecated, reason = "the SDK marks what the protocol has deprecated, and older clients still use it")]
use rmcp::model::{SetLevelRequestMethod, SetLevelRequestParams, SubscribeRequestParams, UnsubscribeRequestParams};
use rmcp::service::{NotificationContext, Peer, RequestContext, SubscriptionContext, SubscriptionSink};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use skillcue::{Catalog, Changes, Skillcue};
use tokio::sync::{Semaphore, SemaphorePermit};

use self::entries::Entries;
use self::logging::{Level, Line};
use self::session::{Audience, News, Pending, Session};
use self::view::View;

pub use self::http::{HttpOptions, HttpServer};
pub use self::stdio::{serve_standard_io, serve_stdio};

/// The identifier of the extension "Skills over MCP".
pub const SKILLS_EXTENSION: &str = "io.modelcontextprotocol/skills";

/// How many calls that may wait for another server run at once, over all clients; the others wait for their turn.
const MAX_REMOTE_CALLS: usize = 16;
/// How many calls of what skills bring along run at once. Each takes a thread while it waits.
const MAX_SKILL_CALLS: usize = 12;

/// How the server answers.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerOptions {
    /// How many resources, or prompts, a page holds. A skill's files are never split, so it may be some more.
    pub page_size: usize,
    /// How many skills a page of `skills/list` holds.
    pub skills_page_size: usize,
    /// For how long clients may take an answer for fresh, in milliseconds.
    pub ttl_ms: u64,
}

impl Default for ServerOptions {
    fn default() -> Self {
        ServerOptions { page_size: 500, skills_page_size: 50, ttl_ms: 5_000 }
    }
}

/// What all sessions share.
#[derive(Debug)]
struct Shared {
    skillcue: Arc<Skillcue>,
    options: ServerOptions,
    view: ArcSwap<View>,
    /// The skills that clients know of: those of when they were last told.
    announced: ArcSwap<Catalog>,
    entries: Entries,
    audience: Arc<Audience>,
    /// Who may read files at this moment: more threads than that would only get in each other's way.
    readers: Semaphore,
    /// Who may run a tool that computes and reads files.
    callers: Semaphore,
    /// Who may run a tool that asks another server. Those take their time, and must not keep the others waiting.
    remote_callers: Semaphore,
    /// Who may run what skills bring along. That takes its time, too, mostly elsewhere.
    skill_callers: Semaphore,
}

impl Shared {
    /// What is shown of the catalog as it is now.
    fn view(&self) -> Arc<View> {
        let catalog = self.skillcue.catalog();
        let view = self.view.load_full();
        if Arc::ptr_eq(&view.catalog, &catalog) {
            return view;
        }
        let view = Arc::new(View::new(catalog));
        self.view.store(Arc::clone(&view));
        view
    }
}

/// A server for skills. Each clone serves the same skills and remembers a session of its own.
#[derive(Debug)]
pub struct SkillServer {
    shared: Arc<Shared>,
    session: Session,
}

impl Clone for SkillServer {
    fn clone(&self) -> Self {
        self.session(true)
    }
}

impl SkillServer {
    /// A server for these skills.
    pub fn new(skillcue: Arc<Skillcue>, options: ServerOptions) -> SkillServer {
        let catalog = skillcue.catalog();
        let view = ArcSwap::from_pointee(View::new(Arc::clone(&catalog)));
        let audience = Arc::new(Audience::default());
        let session = Session::new(Arc::clone(&audience), true);
        let cores = std::thread::available_parallelism().map_or(2, NonZero::get);
        let shared = Arc::new(Shared {
            skillcue,
            options,
            view,
            announced: ArcSwap::new(catalog),
            entries: Entries::default(),
            audience,
            readers: Semaphore::new(2 * cores),
            callers: Semaphore::new(2 * cores + 2),
            remote_callers: Semaphore::new(MAX_REMOTE_CALLS),
            skill_callers: Semaphore::new(MAX_SKILL_CALLS),
        });
        SkillServer { shared, session }
    }

    /// The same server for another client; `is_lasting` unless it is there for one request only.
    fn session(&self, is_lasting: bool) -> SkillServer {
        let session = Session::new(Arc::clone(&self.shared.audience), is_lasting);
        SkillServer { shared: Arc::clone(&self.shared), session }
    }

    /// The skills that are served.
    pub fn skillcue(&self) -> &Arc<Skillcue> {
        &self.shared.skillcue
    }

    /// Tells every client what changed among the skills, once the catalog is the new one. Waits for nobody, and may be
    /// called from any thread.
    pub fn announce(&self, changes: &Changes) {
        let after = self.shared.skillcue.catalog();
        let before = self.shared.announced.swap(Arc::clone(&after));
        self.shared.audience.announce(&News::of(changes, &before, &after));
    }

    /// How many clients and streams wait for news.
    pub fn listeners(&self) -> usize {
        self.shared.audience.len()
    }

    /// Reads files on a thread that may block.
    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Shared, &View) -> T + Send + 'static,
    ) -> Result<T, ErrorData> {
        let _turn = self.turn(&self.shared.readers).await;
        self.unbounded(work).await
    }

    /// Waits for a turn, and for the client to read its answers: another would only be one more to keep.
    async fn turn<'s>(&self, turns: &'s Semaphore) -> Option<SemaphorePermit<'s>> {
        let backlog = self.session.backlog();
        loop {
            backlog.room().await;
            // Nobody closes it; if somebody did, nothing would have to wait any more.
            let turn = turns.acquire().await.ok();
            // Whoever does not read must not keep the turn from the others.
            if backlog.has_room() {
                return turn;
            }
        }
    }

    /// Does work that may block on a thread that may. A panic there is this call's error and nobody else's.
    async fn unbounded<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Shared, &View) -> T + Send + 'static,
    ) -> Result<T, ErrorData> {
        let shared = Arc::clone(&self.shared);
        let done = tokio::task::spawn_blocking(move || {
            let view = shared.view();
            work(&shared, &view)
        });
        done.await.map_err(|error| {
            tracing::error!(target: "skillcue::mcp", %error, "a request could not be answered");
            ErrorData::internal_error("the server failed on this request; its log says more", None)
        })
    }

    /// Tells the client that asked, if it wants such lines.
    async fn log(&self, line: Line, context: &RequestContext<RoleServer>) {
        if !is_modern(context) {
            self.session.outbox().log(&line);
            return;
        }
        // Since 2026-07-28 each request says for itself what it wants to hear.
        let wanted = context.meta.log_level().map(Level::of);
        if wanted.is_some_and(|wanted| line.level >= wanted) {
            #[expect(deprecated, reason = "still served")]
            // A client that is gone has no use for the line.
            let _ = context.peer.notify_logging_message(line.into_params()).await;
        }
    }

    async fn instructions(&self) -> Result<Option<String>, ErrorData> {
        let text = self.blocking(|shared, view| view.instructions(&shared.skillcue)).await?;
        Ok(text.map(|text| text.as_ref().to_owned()))
    }
}

/// Whether a request follows the protocol of 2026-07-28 or later.
fn is_modern(context: &RequestContext<RoleServer>) -> bool {
    // Versions are dates: they compare as text.
    context.protocol_version().is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str())
}

/// Where news are sent to: a session's client, or one of the streams that it has asked for.
#[derive(Clone, Copy)]
enum Listener<'l> {
    Client(&'l Peer<RoleServer>),
    Stream(&'l SubscriptionSink),
}

impl Listener<'_> {
    /// Sends everything. `None`, if it did not arrive.
    async fn tell(self, news: Pending) -> Option<()> {
        if let Listener::Client(peer) = self {
            for line in news.lines {
                #[expect(deprecated, reason = "still served")]
                peer.notify_logging_message(line.into_params()).await.ok()?;
            }
        }
        if news.tools {
            match self {
                Listener::Client(peer) => peer.notify_tool_list_changed().await.ok()?,
                Listener::Stream(sink) => sink.notify_tool_list_changed().await.ok()?,
            }
        }
        if news.resources {
            match self {
                Listener::Client(peer) => peer.notify_resource_list_changed().await.ok()?,
                Listener::Stream(sink) => sink.notify_resource_list_changed().await.ok()?,
            }
        }
        if news.prompts {
            match self {
                Listener::Client(peer) => peer.notify_prompt_list_changed().await.ok()?,
                Listener::Stream(sink) => sink.notify_prompt_list_changed().await.ok()?,
            }
        }
        for uri in news.updated {
            match self {
                Listener::Client(peer) => {
                    peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(uri)).await.ok()?;
                }
                Listener::Stream(sink) => sink.notify_resource_updated(uri).await.ok()?,
            }
        }
        Some(())
    }
}

/// Sends a session its news until it ends.
async fn deliver(outbox: Arc<session::Outbox>, peer: Peer<RoleServer>) {
    while let Some(news) = outbox.next().await {
        if Listener::Client(&peer).tell(news).await.is_none() && peer.is_transport_closed() {
            return;
        }
    }
}

#[expect(deprecated, reason = "the SDK marks what the protocol has deprecated, and older clients still use it")]
impl ServerHandler for SkillServer {
    fn get_info(&self) -> ServerConfig {
        // Without the instructions: the SDK asks for this at every request, and they may be long.
        let mut capabilities = ServerCapabilities::default();
        let mut tools = ToolsCapability::default();
        tools.list_changed = Some(true);
        capabilities.tools = Some(tools);
        let mut resources = ResourcesCapability::default();
        resources.subscribe = Some(true);
        resources.list_changed = Some(true);
        capabilities.resources = Some(resources);
        let mut prompts = PromptsCapability::default();
        prompts.list_changed = Some(true);
        capabilities.prompts = Some(prompts);
        capabilities.completions = Some(JsonObject::new());
        capabilities.logging = Some(JsonObject::new());
        let settings = JsonObject::from_iter([("directoryRead".to_owned(), true.into())]);
        capabilities.extensions = Some(ExtensionCapabilities::from([(SKILLS_EXTENSION.to_owned(), settings)]));
        let implementation = Implementation::new("skillcue", env!("CARGO_PKG_VERSION")).with_title("Skillcue");
        ServerConfig::new(capabilities).with_server_info(implementation)
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        context.peer.set_peer_info(request.clone());
        let mut result = self.negotiate_initialize(&request)?;
        result.instructions = self.instructions().await?;
        Ok(result)
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        // Only now may the client be told things.
        if self.session.join() {
            tokio::spawn(deliver(Arc::clone(self.session.outbox()), context.peer));
        }
    }

    async fn discover(&self, _context: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        let mut info = self.get_info();
        info.instructions = self.instructions().await?;
        let versions = Cow::into_owned(self.supported_protocol_versions());
        Ok(DiscoverResult::from_server_info(versions, info).with_ttl_ms(self.shared.options.ttl_ms))
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        self.tools(request, &context).await
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        self.call(request, context).await.map(CallToolResponse::Complete)
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        self.resources(request, &context).await
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(self.templates(&context))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        self.read(request.uri, &context).await.map(ReadResourceResponse::Complete)
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        self.prompts(request, &context).await
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        self.prompt(request).await.map(GetPromptResponse::Complete)
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        self.completion(request).await
    }

    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if is_modern(&context) {
            return Err(ErrorData::method_not_found::<SetLevelRequestMethod>());
        }
        self.session.outbox().set_level(Level::of(request.level));
        Ok(())
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        // Whether it is there does not matter: who watches a URI hears when something appears at it, too.
        if self.session.outbox().watch(request.uri) {
            return Ok(());
        }
        let message = format!(
            "more than {} subscriptions, or a URI of more than {} bytes",
            session::MAX_WATCHED,
            session::MAX_URI
        );
        Err(ErrorData::invalid_params(message, None))
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.session.outbox().forget(&request.uri);
        Ok(())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        // The SDK takes away what the capabilities do not offer, and tells the client what is left.
        Some(self.session.accept(requested))
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let Some(listening) = self.session.listen(context.accepted()) else {
            let message = format!("more than {} streams", session::MAX_STREAMS);
            return Err(ErrorData::invalid_params(message, None));
        };
        let sink = context.sink();
        loop {
            let news = tokio::select! {
                news = listening.next() => news,
                () = context.cancelled() => return Ok(()),
            };
            let Some(news) = news else { return Ok(()) };
            if Listener::Stream(sink).tell(news).await.is_none() {
                tracing::debug!(target: "skillcue::mcp", "a stream of news ended");
                return Ok(());
            }
        }
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        self.extended(request, context).await
    }
}
