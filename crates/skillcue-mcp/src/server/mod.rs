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

mod answers;
mod backlog;
mod carried;
mod completion;
mod connections;
mod cursor;
mod digits;
mod entries;
mod extension;
mod files;
mod front_matter;
mod gate;
mod handle;
mod http;
mod in_flight;
mod instructions;
mod logging;
mod message;
mod metrics;
mod mime;
mod notices;
mod opening;
mod places;
mod probes;
mod prompts;
mod published;
mod resources;
mod session;
mod skill_tool;
mod stdio;
mod texts;
mod tools;
mod uris;
mod view;
mod watched;
mod work;

use std::borrow::Cow;
use std::sync::Arc;

use arc_swap::ArcSwap;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult, CustomRequest, CustomResult,
    DiscoverResult, ExtensionCapabilities, GetPromptRequestParams, GetPromptResponse, Implementation,
    InitializeRequestParams, InitializeResult, JsonObject, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, PromptsCapability, ProtocolVersion,
    ReadResourceRequestParams, ReadResourceResponse, ResourcesCapability, ServerCapabilities, ServerConfig,
    SubscriptionFilter, ToolsCapability,
};
#[expect(deprecated, reason = "the SDK marks what the protocol has deprecated, and older clients still use it")]
use rmcp::model::{SetLevelRequestMethod, SetLevelRequestParams, SubscribeRequestParams, UnsubscribeRequestParams};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use skillcue::{Catalog, Changes, Skillcue};

use self::entries::EntryCache;
use self::logging::{LogLine, rank};
use self::metrics::ServerMetrics;
use self::notices::{NoticeTarget, deliver};
use self::session::{ChangeNotice, ClientSession, Subscribers};
use self::view::CatalogView;
use self::work::WorkLimits;

pub use self::entries::{SkillPackage, package};
pub use self::handle::{HANDLE_META, HandleKeyError, HandleKeys};
pub use self::http::{HttpOptions, HttpServer, ServedView};
pub use self::stdio::{serve_standard_io, serve_stdio};

/// The identifier of the extension "Skills over MCP".
pub const SKILLS_EXTENSION: &str = "io.modelcontextprotocol/skills";

/// Options of a [`SkillServer`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerOptions {
    /// How many resources, or prompts, a page holds. A skill's files are never split, so it may be some more.
    pub page_size: usize,
    /// How many skills a page of `skills/list` holds.
    pub skills_page_size: usize,
    /// How long clients may treat an answer as fresh, in milliseconds.
    pub ttl_ms: u64,
    /// The keys of handles, which all replicas of a server share.
    pub handle_keys: HandleKeys,
    /// The name of the view of the skills; empty for all of them.
    pub view: String,
    /// How many calls of skills' tools and scripts run at once, of all views together: not more than what runs the scripts
    /// takes, and at most 12. Others wait.
    pub skill_calls: usize,
}

impl ServerOptions {
    /// Returns the usual options, with keys that other replicas may have, too.
    pub fn new(handle_keys: HandleKeys) -> ServerOptions {
        ServerOptions {
            page_size: 500,
            skills_page_size: 50,
            ttl_ms: 5_000,
            handle_keys,
            view: String::new(),
            skill_calls: 8,
        }
    }
}

impl Default for ServerOptions {
    fn default() -> Self {
        ServerOptions::new(HandleKeys::for_one_process())
    }
}

/// The values that all sessions share.
#[derive(Debug)]
struct ServerShared {
    skillcue: Arc<Skillcue>,
    options: ServerOptions,
    view: ArcSwap<CatalogView>,
    /// The skills that clients know of: those of the last announcement.
    announced: ArcSwap<Catalog>,
    entries: EntryCache,
    subscribers: Arc<Subscribers>,
    work: WorkLimits,
    metrics: Arc<ServerMetrics>,
}

impl ServerShared {
    /// Returns the view of the catalog as it is now.
    fn view(&self) -> Arc<CatalogView> {
        let catalog = self.skillcue.catalog();
        let view = self.view.load_full();
        if Arc::ptr_eq(&view.catalog, &catalog) {
            return view;
        }
        let view = Arc::new(CatalogView::new(catalog));
        self.view.store(Arc::clone(&view));
        view
    }
}

/// A server for skills. Each clone serves the same skills and has a session of its own.
#[derive(Debug)]
pub struct SkillServer {
    shared: Arc<ServerShared>,
    session: ClientSession,
}

impl Clone for SkillServer {
    fn clone(&self) -> Self {
        self.session(true)
    }
}

impl SkillServer {
    /// Makes a server for these skills.
    pub fn new(skillcue: Arc<Skillcue>, options: ServerOptions) -> SkillServer {
        let work = WorkLimits::new(options.skill_calls);
        SkillServer::counting(skillcue, options, Arc::new(ServerMetrics::new()), work)
    }

    /// Makes a server for a view of the skills, in the same process: it counts together with this one, and has the same keys.
    #[must_use]
    pub fn for_view(&self, name: impl Into<String>, skillcue: Arc<Skillcue>) -> SkillServer {
        let options = ServerOptions { view: name.into(), ..self.shared.options.clone() };
        SkillServer::counting(skillcue, options, Arc::clone(&self.shared.metrics), self.shared.work.for_view())
    }

    fn counting(
        skillcue: Arc<Skillcue>,
        options: ServerOptions,
        metrics: Arc<ServerMetrics>,
        work: WorkLimits,
    ) -> SkillServer {
        let catalog = skillcue.catalog();
        let view = ArcSwap::from_pointee(CatalogView::new(Arc::clone(&catalog)));
        let subscribers = Arc::new(Subscribers::default());
        let session = ClientSession::new(Arc::clone(&subscribers), true);
        let shared = Arc::new(ServerShared {
            skillcue,
            options,
            view,
            announced: ArcSwap::new(catalog),
            entries: EntryCache::default(),
            subscribers,
            work,
            metrics,
        });
        SkillServer { shared, session }
    }

    /// Returns this server for another client; `is_lasting` unless it is there for one request only.
    fn session(&self, is_lasting: bool) -> SkillServer {
        let session = ClientSession::new(Arc::clone(&self.shared.subscribers), is_lasting);
        SkillServer { shared: Arc::clone(&self.shared), session }
    }

    /// Returns the skills that are served.
    pub fn skillcue(&self) -> &Arc<Skillcue> {
        &self.shared.skillcue
    }

    /// Notifies every client of changed skills, once the catalog is the new one. Does not wait for clients, and may be
    /// called from any thread.
    pub fn announce(&self, changes: &Changes) {
        let after = self.shared.skillcue.catalog();
        let before = self.shared.announced.swap(Arc::clone(&after));
        self.shared.metrics.catalog_is(&self.shared.options.view, &after, true);
        let dropped = self.shared.subscribers.announce(&ChangeNotice::of(changes, &before, &after));
        self.shared.metrics.log_lines_dropped(dropped);
    }

    /// Returns how many clients and streams wait for notifications.
    pub fn listeners(&self) -> usize {
        self.shared.subscribers.len()
    }

    /// Queues a log line for this session's client.
    fn queue(&self, line: &LogLine) {
        let is_dropped = self.session.outbox().log(line);
        self.shared.metrics.log_lines_dropped(u64::from(is_dropped));
    }

    /// Sends a log line to the requesting client, if it wants lines of that level.
    async fn log(&self, line: LogLine, context: &RequestContext<RoleServer>) {
        if !is_modern(context) {
            self.queue(&line);
            return;
        }
        // Since 2026-07-28 each request sets its own log level.
        let wanted = context.meta.log_level();
        if wanted.is_some_and(|wanted| line.rank() >= rank(wanted)) {
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

/// Returns whether a request follows the protocol of 2026-07-28 or later.
fn is_modern(context: &RequestContext<RoleServer>) -> bool {
    // Versions are dates: they compare as text.
    context.protocol_version().is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str())
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
        // A request that comes right behind `initialized` may be answered before that is.
        self.session.last();
        let mut result = self.negotiate_initialize(&request)?;
        result.instructions = self.instructions().await?;
        Ok(result)
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        // Only now may the client be notified.
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
        self.session.outbox().set_level(rank(request.level));
        Ok(())
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        // The resource need not exist: a client that watches a URI is notified when a file appears there, too.
        let watched = self.session.outbox().watch(request.uri);
        watched.map_err(|refusal| ErrorData::invalid_params(refusal.to_string(), None))
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
        // The SDK removes subscriptions that the capabilities do not offer, and sends the client the rest.
        Some(self.session.accept(requested))
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let listening = self.session.listen(context.accepted());
        let listening = listening.map_err(|refusal| ErrorData::invalid_params(refusal.to_string(), None))?;
        let sink = context.sink();
        loop {
            let notices = tokio::select! {
                notices = listening.next() => notices,
                () = context.cancelled() => return Ok(()),
            };
            let Some(notices) = notices else { return Ok(()) };
            if NoticeTarget::Stream(sink).send(notices).await.is_none() {
                tracing::debug!(target: "skillcue::mcp", "a subscription ended");
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
