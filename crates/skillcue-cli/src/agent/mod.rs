//! The agent, as the command line sets it up: its model, skills, consent, display and files.

pub(crate) mod args;
pub(crate) mod asker;
pub(crate) mod batch;
pub(crate) mod costs;
pub(crate) mod dirs;
pub(crate) mod endpoint;
pub(crate) mod facts;
pub(crate) mod interrupts;
pub(crate) mod one_shot;
pub(crate) mod screen;
pub(crate) mod tasks;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use serde_json::{Value, json};
use skillcue::config::{AgentAllow, AgentSection};
use skillcue::workdir::WorkDir;
use skillcue::{Counter, Mode, Skillcue};
use skillcue_agent::model::Model;
use skillcue_agent::{
    About, Agent, AgentConsent, AgentError, AgentOptions, ConsentPolicy, Conversation, Hooks, Memory, MemoryProvider,
    Sessions, SessionsError, Tracer, TurnEvent, TurnReport,
};
use skillcue_base::ErrorInfo as _;
use tokio::runtime::Runtime;

use self::args::Args;
use self::asker::TerminalAsker;
use self::dirs::AgentDirs;
use self::interrupts::Interrupts;
use self::screen::{OutputMode, Screen};
use crate::context::Context;
use crate::error::CliError;
use crate::hints::hint_of;
use crate::text;
use skillcue_host::Environment;

/// Everything that a conversation needs.
pub(crate) struct AgentSetup {
    pub(crate) agent: Agent,
    pub(crate) skills: Arc<Skillcue>,
    pub(crate) consent: AgentConsent,
    pub(crate) interrupts: Interrupts,
    /// Held while a question is open.
    asking: Arc<Mutex<()>>,
    pub(crate) screen: Arc<Screen>,
    pub(crate) runtime: Runtime,
    /// The memory, if it is on; one that cannot be opened is tried again in each turn.
    memory: Option<(PathBuf, Option<Arc<Memory>>)>,
    /// A batch, whose messages are no words of the user: it recalls facts, and remembers none.
    is_batch: bool,
    pub(crate) matching: Mode,
    pub(crate) model: String,
    /// The directory that conversations are saved in, if they are.
    sessions: Option<Sessions>,
    about: About,
    /// The user's working directory, if there is one.
    pub(crate) work_dir: Option<WorkDir>,
}

impl AgentSetup {
    /// Reads options and settings before it looks for skills, so that errors in them come at once. `asks`: a person can
    /// be asked.
    pub(crate) fn new(args: &Args, context: &Context, mode: OutputMode, asks: bool) -> Result<AgentSetup, CliError> {
        let section = context.settings()?.agent.clone();
        let variable = |name: &str| std::env::var(name).ok();
        let endpoint = endpoint::endpoint(&args.model, &section, &variable)?;
        let model = Model::new(endpoint)?;
        let name = model.name().to_owned();
        let places = AgentDirs::of(context)?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
            .map_err(|error| CliError::failure("threads", skillcue_base::os_message(&error)))?;
        let screen = Arc::new(Screen::new(context.terminal.duplicate(), mode, context.verbose(), &name));
        let interrupts = listen(context, args.batch.is_some())?;
        let policy = policy(args, &section);
        let asking = Arc::default();
        let gate = context.host()?.consent();
        if let Some(trouble) = gate.trouble() {
            context.terminal.warn("consent", &trouble, "what was allowed before is asked about again");
        }
        let consent = if asks {
            let (screen, interrupts) = (Arc::clone(&screen), interrupts.clone());
            let asker = TerminalAsker { screen, interrupts, asking: Arc::clone(&asking) };
            AgentConsent::asking(policy, gate, Box::new(asker))
        } else {
            AgentConsent::with_hint(policy, gate, |word| format!("The user can allow it with `--allow {word}`."))
        };
        let matching = shape(args, context, &section, &consent)?;
        crate::judge::configured(context)?;
        if !args.is_trial {
            context.record_usage("agent")?;
        }
        let skills = Arc::clone(context.skills()?);
        context.prepare(matching)?;
        context.host()?.embed_ahead(matching)?;
        context.print_diagnostics();
        let mut agent = Agent::new(Arc::clone(&skills), model, options(args, &section, context.disclose()?.counter));
        if !args.no_save
            && let Some(dir) = places.traces()
        {
            agent = agent.with_tracer(Tracer::new(dir, args.trace_text));
        }
        let sessions = places.sessions().filter(|_| !args.no_save).map(Sessions::new);
        if sessions.is_none() && !args.no_save {
            context.terminal.warn(
                "unsaved",
                "there is no directory to write the conversation down in",
                "set HOME or XDG_DATA_HOME, or use --no-save",
            );
        }
        let about = About { model: name.clone(), cwd: context.environment()?.cwd.clone(), created: SystemTime::now() };
        let memory = memory(args, &section, &places);
        Ok(AgentSetup {
            agent,
            skills,
            consent,
            interrupts,
            asking,
            screen,
            runtime,
            memory,
            is_batch: args.batch.is_some(),
            matching,
            model: name,
            sessions,
            about,
            work_dir: work_dir(context.environment()?),
        })
    }

    /// Begins a conversation. `unsaved` is its id if it is not saved.
    pub(crate) fn begin(&self, unsaved: &str) -> Result<Conversation, SessionsError> {
        let Some(sessions) = &self.sessions else {
            return Ok(self.provided(Conversation::new(unsaved)));
        };
        let about = About { created: SystemTime::now(), ..self.about.clone() };
        let (file, saved) = sessions.create(about)?;
        Ok(self.provided(Conversation::saved(file, saved)))
    }

    /// Returns the conversation that `--continue` names, or a new one.
    pub(crate) fn conversation(&self, args: &Args) -> Result<Conversation, CliError> {
        let Some(id) = &args.go_on else { return Ok(self.begin("unsaved")?) };
        let Some(sessions) = &self.sessions else {
            return Err(CliError::failure("no_home", "there is no directory that conversations are kept in")
                .help("set HOME or XDG_DATA_HOME"));
        };
        let latest;
        let id = if id.is_empty() {
            latest = sessions.latest()?;
            latest.as_deref().ok_or_else(|| {
                CliError::failure("not_found", "there is no conversation to go on with")
                    .help("`skillcue agent -p TEXT` begins one")
            })?
        } else {
            id
        };
        let (file, saved) = sessions.open(id)?;
        for mended in &saved.repaired {
            self.screen.aside(&format!("{}: {}", saved.id, text::one_line(mended)));
        }
        Ok(self.provided(Conversation::saved(file, saved)))
    }

    fn provided(&self, mut conversation: Conversation) -> Conversation {
        conversation.skills_provider_in(&self.skills, self.work_dir.clone());
        if let Some((file, memory)) = &self.memory {
            let provider = match memory {
                Some(memory) => MemoryProvider::new(Arc::clone(memory), conversation.id()),
                None => MemoryProvider::at(file.clone(), conversation.id()),
            };
            conversation.provider(Box::new(if self.is_batch { provider.recalling_only() } else { provider }));
        }
        conversation
    }

    /// Removes a conversation without a turn.
    pub(crate) fn discard(&self, conversation: Conversation) {
        let id = conversation.id().to_owned();
        let is_empty = conversation.turns() == 0;
        drop(conversation);
        if let Some(sessions) = self.sessions.as_ref().filter(|_| is_empty) {
            let _ = sessions.remove(&id);
        }
    }

    /// Runs the turn of one message. A signal ends it.
    pub(crate) fn turn(&self, conversation: &mut Conversation, message: &str) -> Result<TurnReport, AgentError> {
        let cancel = self.interrupts.begin();
        let events = |event: &TurnEvent<'_>| {
            self.screen.show(event);
            // Tokens of an answer that is not read would be wasted.
            if self.screen.is_unread() {
                cancel.cancel();
            }
        };
        let hooks = Hooks { events: &events, consent: &self.consent, cancel: &cancel };
        let report = self.runtime.block_on(self.agent.turn(conversation, message, &hooks));
        self.interrupts.end();
        // A question that was interrupted releases the terminal first.
        drop(skillcue_base::lock(&self.asking));
        self.screen.settle();
        report
    }

    /// Returns the file of the memory, if it is on.
    pub(crate) fn memory(&self) -> Option<&Path> {
        self.memory.as_ref().map(|(file, _)| file.as_path())
    }

    /// Returns whether conversations are saved, and can be continued later.
    pub(crate) fn saves(&self) -> bool {
        self.sessions.is_some()
    }
}

/// Returns the user's working directory, with the `git` of the PATH: never one that a checkout brings by a relative
/// entry.
fn work_dir(environment: &Environment) -> Option<WorkDir> {
    let work_dir = WorkDir::new(environment.cwd.clone()?);
    let program = environment.path.iter().map(|dir| dir.join("git")).find(|program| program.is_file());
    Some(match program {
        Some(program) => work_dir.git(program, environment.git_variables()),
        None => work_dir,
    })
}

/// Listens for signals, which end the turn, and the child processes before this process.
fn listen(context: &Context, is_batch: bool) -> Result<Interrupts, CliError> {
    let mut ends: Vec<Box<dyn Fn() + Send>> = vec![Box::new(context.programs()?.ender())];
    if let Some(host) = context.servers()?.cloned() {
        ends.push(Box::new(move || host.close()));
    }
    let farewell = || error_event(&AgentError::Cancelled).to_string();
    Ok(Interrupts::listen(ends, (context.json() && !is_batch).then(farewell)))
}

/// Returns the event with which a turn ends that has no answer.
fn error_event(error: &AgentError) -> Value {
    json!({"type": "error", "code": error.code(), "message": error.to_string(), "help": hint_of(error)})
}

/// Sets how skills are disclosed and matched, and which are held back until the user has agreed. Returns how they are
/// matched.
fn shape(args: &Args, context: &Context, section: &AgentSection, consent: &AgentConsent) -> Result<Mode, CliError> {
    let mut configured = context.disclose()?;
    if let Some(window) = args.window.or(section.window) {
        configured.window.get_or_insert(usize::try_from(window).unwrap_or(usize::MAX));
    }
    let mut config = configured.config();
    config.policy = args.policy.unwrap_or(config.policy);
    config.eagerness = args.eagerness.unwrap_or(config.eagerness);
    let matching = args.mode.or(configured.mode).unwrap_or_default();
    let consent = consent.clone();
    context.handle_signals_itself();
    context.shape_skills(move |builder| {
        let consent = consent.clone();
        builder.disclosure(config.clone()).mode(matching).hold_back(move |skill| !consent.may_show(skill))
    });
    Ok(matching)
}

fn options(args: &Args, section: &AgentSection, counter: Option<Counter>) -> AgentOptions {
    let mut options = AgentOptions::default();
    if let Some(system) = &section.system {
        options.system.clone_from(system);
    }
    options.window = args.window.or(section.window).unwrap_or(options.window);
    options.max_tokens = args.max_tokens.or(section.max_tokens).or(options.max_tokens);
    options.hints = section.hints.unwrap_or(options.hints);
    options.counter = counter.unwrap_or(options.counter);
    options.rounds = args.max_rounds.or(section.rounds).unwrap_or(options.rounds).max(1);
    options
}

/// Returns what is allowed without asking: by flags, else by the settings. In a batch, which runs unattended, only
/// flags count.
fn policy(args: &Args, section: &AgentSection) -> ConsentPolicy {
    let configured = section.allow.as_deref().filter(|_| args.batch.is_none()).unwrap_or_default();
    let allowed = if args.allow.is_empty() { configured } else { &args.allow };
    let has = |kind| allowed.contains(&kind) || allowed.contains(&AgentAllow::All);
    ConsentPolicy { skills: has(AgentAllow::Skills), scripts: has(AgentAllow::Scripts), tools: has(AgentAllow::Tools) }
}

fn memory(args: &Args, section: &AgentSection, places: &AgentDirs) -> Option<(PathBuf, Option<Arc<Memory>>)> {
    let wanted = args.memory || (!args.no_memory && section.memory == Some(true));
    let file = places.memory().filter(|_| wanted)?;
    let memory = Memory::open(&file).ok().map(Arc::new);
    Some((file, memory))
}
