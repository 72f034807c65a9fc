//! The warm children, one a skill, and what is known of their tools.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, Once, Weak};
use std::time::{Duration, Instant};

use serde_json::value::RawValue;
use serde_json::{Map, Value};
use skillcue_base::{lock, visible};
use skillcue_exec::{Bounds, Job, JobProgram, SandboxPolicy};
use skillcue_format::{Diagnostic, Severity};

use crate::cache::{self, Kept};
use crate::message::{Defined, Entry, Load, Ready, WireDiagnostic};
use crate::place;
use crate::resolve::{Resolver, Seen};
use crate::schema::Schema;
use crate::subject::{CallContext, Limits, Offered, Options, Subject, ToolError, ToolResult, ToolSpec};
use crate::warm::{Loaded, Warm};

/// What the engine's process needs beyond what scripts may allocate: its stacks, its code, the parser's trees.
const OVERHEAD: u64 = 256 << 20;
/// How long the end waits for bytecode that is on its way.
const FAREWELL: Duration = Duration::from_millis(500);
/// The most tools of a skill.
const TOOLS: usize = 256;
/// The longest description of a tool, in bytes.
const DESCRIPTION: usize = 16 << 10;
/// The largest schema of a tool, in bytes.
const SCHEMA: usize = 256 << 10;

/// The toolsets of any number of skills.
///
/// A skill's modules are evaluated in a process of their own when somebody asks for its tools the first time, and that
/// process is kept for calls. Cheap to clone; clones share the processes.
#[derive(Clone)]
pub struct Toolsets {
    inner: Arc<Inner>,
}

struct Inner {
    options: Options,
    /// By the skill's directory.
    slots: Mutex<HashMap<PathBuf, Arc<Slot>>>,
    coming: Arc<Coming>,
    /// This very value, for the thread that ends idle processes.
    own: Weak<Inner>,
    sweeping: Once,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.coming.wait(FAREWELL);
    }
}

/// How much bytecode is on its way to the cache.
#[derive(Default)]
struct Coming(Mutex<usize>, Condvar);

impl Coming {
    fn wait(&self, limit: Duration) {
        drop(self.1.wait_timeout_while(lock(&self.0), limit, |coming| *coming > 0));
    }
}

/// Counts as on its way for as long as it is held.
struct Expected(Arc<Coming>);

impl Expected {
    fn new(coming: &Arc<Coming>) -> Expected {
        *lock(&coming.0) += 1;
        Expected(Arc::clone(coming))
    }
}

impl Drop for Expected {
    fn drop(&mut self) {
        *lock(&self.0.0) -= 1;
        self.0.1.notify_all();
    }
}

#[derive(Default)]
struct Slot {
    /// Held while a child is started, so that nobody starts a second one.
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    known: Option<Arc<Known>>,
    warm: Option<Arc<Warm>>,
    checked: Option<Instant>,
}

/// What is known of a skill's tools.
struct Known {
    asked: Vec<String>,
    offered: Arc<Offered>,
    /// The findings in `offered`, as they are kept.
    findings: Vec<WireDiagnostic>,
    tools: HashMap<String, Tool>,
    kept: Mutex<Option<Arc<Kept>>>,
    /// Entries that must not be loaded again: they did not come to an end.
    stuck: Vec<String>,
    /// When it is time to evaluate again, because something failed that may not fail again.
    retry: Option<Instant>,
}

/// Whether a finding tells of this evaluation rather than of the files.
fn is_passing(finding: &WireDiagnostic) -> bool {
    matches!(&*finding.code, "toolset_threw" | "toolset_crashed")
}

/// Whether a finding tells of a module that may be installed any moment.
fn is_missing(finding: &WireDiagnostic) -> bool {
    &*finding.code == "module_not_found"
}

struct Tool {
    /// The schema, if arguments are checked here.
    schema: Option<Schema>,
}

impl Toolsets {
    /// Nothing is started until somebody asks for tools.
    pub fn new(options: Options) -> Toolsets {
        let new = |own: &Weak<Inner>| Inner {
            options,
            slots: Mutex::default(),
            coming: Arc::default(),
            own: own.clone(),
            sweeping: Once::new(),
        };
        Toolsets { inner: Arc::new_cyclic(new) }
    }

    /// What a skill's toolsets offer.
    ///
    /// Evaluates its modules in the sandbox the first time; after that, and from the cache, a look at the files' stamps
    /// is all. Never fails: what is wrong is a diagnostic.
    pub fn tools(&self, subject: &Subject<'_>) -> Arc<Offered> {
        let slot = self.slot(subject);
        let mut state = lock(&slot.state);
        match self.inner.known(subject, &mut state) {
            Ok(known) => Arc::clone(&known.offered),
            Err(error) => {
                // Nothing could be started, which is one thing to say however many toolsets there are.
                let found = Diagnostic::of(&error, Severity::Error).at(subject.name);
                Arc::new(Offered { tools: Vec::new(), diagnostics: vec![found] })
            }
        }
    }

    /// What is known of a skill's tools, from memory or the cache, if the files are as they were.
    ///
    /// Starts nothing and waits for nobody: while the skill's modules are evaluated for somebody else, nothing is
    /// known.
    pub fn known(&self, subject: &Subject<'_>) -> Option<Arc<Offered>> {
        let slot = self.slot(subject);
        // Others hold the lock for as long as a look at the files takes, or as long as an evaluation does.
        let mut state = (0..5).find_map(|attempt| {
            if attempt > 0 {
                std::thread::sleep(Duration::from_millis(1));
            }
            slot.state.try_lock().ok()
        })?;
        self.inner.found(subject, &mut state).map(|known| Arc::clone(&known.offered))
    }

    /// Calls a tool and waits for its result.
    pub fn call(
        &self,
        subject: &Subject<'_>,
        id: &str,
        arguments: &Map<String, Value>,
        context: &CallContext<'_>,
    ) -> Result<ToolResult, ToolError> {
        let slot = self.slot(subject);
        let raw = serde_json::value::to_raw_value(arguments)
            .or_else(|_| RawValue::from_string("{}".to_owned()))
            .map_err(|error| ToolError::InvalidArguments { id: id.to_owned(), message: error.to_string() })?;
        let mut again = true;
        let (warm, done) = loop {
            let warm = self.ready(&slot, subject, id, arguments)?;
            let mut delivered = false;
            match warm.call(id, &raw, &self.inner.options.limits, context, &mut delivered) {
                Ok(done) => break (warm, done),
                // The process had ended before it heard of the call: nothing was done, and another one can do it.
                Err(_) if again && !delivered => again = false,
                Err(error) => return Err(error),
            }
        };
        // The process has been asked to see to it itself; it may be any program by now.
        if done.output.len() > crate::MAX_OUTPUT_BYTES {
            return Err(ToolError::TooLarge { id: id.to_owned() });
        }
        Ok(ToolResult {
            title: done.title,
            metadata: serde_json::from_str(done.metadata.get()).unwrap_or(Value::Null),
            output: done.output,
            sandbox: warm.report().clone(),
        })
    }

    /// A process that can take a call whose arguments are right.
    fn ready(
        &self,
        slot: &Slot,
        subject: &Subject<'_>,
        id: &str,
        arguments: &Map<String, Value>,
    ) -> Result<Arc<Warm>, ToolError> {
        let mut state = lock(&slot.state);
        let known = self.inner.known(subject, &mut state)?;
        let Some(tool) = known.tools.get(id) else {
            let known = known.offered.tools.iter().map(|tool| tool.id.clone()).collect();
            return Err(ToolError::NoSuchTool { id: id.to_owned(), known });
        };
        if let Some(schema) = &tool.schema {
            let wrong = schema.violations(arguments);
            if !wrong.is_empty() {
                return Err(ToolError::InvalidArguments { id: id.to_owned(), message: wrong.join("; ") });
            }
        }
        self.inner.warm(subject, &known, &mut state)
    }

    /// How many processes are kept right now.
    pub fn running(&self) -> usize {
        let slots: Vec<Arc<Slot>> = lock(&self.inner.slots).values().cloned().collect();
        slots
            .iter()
            .filter(|slot| {
                slot.state.try_lock().map_or(true, |state| state.warm.as_ref().is_some_and(|warm| warm.is_usable()))
            })
            .count()
    }

    /// Ends all processes. Calls in flight fail; later ones start new processes.
    pub fn end(&self) {
        self.inner.coming.wait(FAREWELL);
        let slots: Vec<Arc<Slot>> = lock(&self.inner.slots).values().cloned().collect();
        for slot in slots {
            if let Some(warm) = lock(&slot.state).warm.take() {
                warm.kill();
            }
        }
    }

    fn slot(&self, subject: &Subject<'_>) -> Arc<Slot> {
        Arc::clone(lock(&self.inner.slots).entry(subject.dir.to_path_buf()).or_default())
    }
}

impl Inner {
    /// What is known of a skill's tools, as its files are now.
    fn known(&self, subject: &Subject<'_>, state: &mut State) -> Result<Arc<Known>, ToolError> {
        match self.found(subject, state) {
            Some(known) => Ok(known),
            None => self.load(subject, state, &[]),
        }
    }

    /// What is known of a skill's tools without evaluating anything. Forgets what is no longer so.
    fn found(&self, subject: &Subject<'_>, state: &mut State) -> Option<Arc<Known>> {
        if let Some(known) = &state.known
            && known.asked == subject.toolsets
        {
            // The skill's own files are looked at every time, those of packages now and then: they are many. Where
            // one is missing, a person is about to install it and to ask again.
            let thorough = state.checked.is_none_or(|checked| checked.elapsed() > Duration::from_secs(1))
                || known.findings.iter().any(is_missing);
            let kept = lock(&known.kept).clone();
            let due = known.retry.is_some_and(|at| Instant::now() >= at);
            if !due && kept.is_none_or(|kept| kept.is_fresh(&self.doors(subject), thorough)) {
                if thorough {
                    state.checked = Some(Instant::now());
                }
                return Some(Arc::clone(known));
            }
            state.known = None;
            state.warm = None;
        }
        let dir = self.options.cache_dir.as_ref()?;
        let kept = cache::read(dir, &self.doors(subject), &subject.toolsets)?;
        let known = Arc::new(Known::of(subject, kept.ready.clone(), Some(Arc::new(kept)), Vec::new()));
        state.known = Some(Arc::clone(&known));
        state.checked = Some(Instant::now());
        Some(known)
    }

    fn doors(&self, subject: &Subject<'_>) -> cache::Doors {
        cache::Doors {
            dir: subject.dir.to_path_buf(),
            packages: self.options.packages.clone(),
            // A helper that cannot be found has no stamp, and so nothing is kept.
            helper: self.options.launcher.helper().map(Path::to_path_buf).unwrap_or_default(),
        }
    }

    /// A child that has the skill's toolsets loaded.
    fn warm(&self, subject: &Subject<'_>, known: &Arc<Known>, state: &mut State) -> Result<Arc<Warm>, ToolError> {
        if let Some(warm) = state.warm.as_ref().filter(|warm| warm.is_usable()) {
            return Ok(Arc::clone(warm));
        }
        self.load(subject, state, &known.stuck)?;
        match &state.warm {
            Some(warm) => Ok(Arc::clone(warm)),
            None => {
                Err(ToolError::Crashed { id: subject.name.to_owned(), reason: "it did not come up again".to_owned() })
            }
        }
    }

    /// Starts a child and loads, leaving out what brought an earlier one down.
    fn load(&self, subject: &Subject<'_>, state: &mut State, stuck: &[String]) -> Result<Arc<Known>, ToolError> {
        state.warm = None;
        let begun = Instant::now();
        self.make_room();
        let mut findings = Vec::new();
        let mut entries = Vec::new();
        for declared in &subject.toolsets {
            match entry(declared) {
                Ok(entry) => entries.push(entry),
                Err(finding) => findings.push(*finding),
            }
        }
        let mut stuck = stuck.to_vec();
        let before = state.known.as_ref().map(|known| known.findings.clone()).unwrap_or_default();
        findings.extend(before.into_iter().filter(|finding| stuck.iter().any(|entry| **entry == *finding.toolset)));
        loop {
            entries.retain(|entry| !stuck.contains(&entry.declared));
            let (warm, loaded, kept) = self.start(subject, state, &entries)?;
            match loaded {
                Loaded::Ready(mut ready, seen) => {
                    findings.append(&mut ready.findings);
                    ready.findings = findings;
                    // What was read is known now; the bytecode comes a moment later, or is what it was loaded from.
                    let read = Kept::of(&self.doors(subject), &subject.toolsets, Vec::new(), &seen).map(Arc::new);
                    let mut known = Known::of(subject, ready, read, stuck);
                    // What takes long to fail is tried less often.
                    if known.findings.iter().any(is_passing) {
                        known.retry = Some(Instant::now() + self.options.limits.retry.max(begun.elapsed() * 4));
                    }
                    let known = Arc::new(known);
                    kept.connect(&known);
                    state.known = Some(Arc::clone(&known));
                    state.warm = Some(Arc::new(warm));
                    state.checked = Some(Instant::now());
                    return Ok(known);
                }
                Loaded::Stuck { entry, reason } => {
                    let Some(entry) = entries.get(entry).cloned() else {
                        return Err(ToolError::Crashed { id: subject.name.to_owned(), reason });
                    };
                    let message = format!("the process that loaded `{}` is gone: {reason}", entry.path);
                    let help = "what it does when it is loaded takes too long, or too much";
                    findings.push(WireDiagnostic {
                        toolset: entry.declared.as_str().into(),
                        file: Some(entry.path.clone()),
                        ..WireDiagnostic::new("toolset_crashed", message, Some(help))
                    });
                    stuck.push(entry.declared);
                }
            }
        }
    }

    fn start(
        &self,
        subject: &Subject<'_>,
        state: &State,
        entries: &[Entry],
    ) -> Result<(Warm, Loaded, Arc<Pending>), ToolError> {
        let limits = &self.options.limits;
        let resolver = Resolver::new(subject.name, subject.dir, self.options.packages.as_deref())?;
        let kept = state.known.as_ref().and_then(|known| lock(&known.kept).clone());
        let (cached, resolved, bytes) = match &kept {
            Some(kept) if !kept.modules.is_empty() => (kept.modules.clone(), kept.resolved.clone(), kept.pieces()),
            _ => (Vec::new(), Vec::new(), Vec::new()),
        };
        let load = Load {
            skill: subject.name.to_owned(),
            dir: subject.dir.to_string_lossy().into_owned(),
            entries: entries.to_vec(),
            memory: limits.memory,
            timeout_ms: u64::try_from(limits.load.as_millis()).unwrap_or(u64::MAX),
            bytecode: bytes.is_empty(),
            schemas: if cached.is_empty() {
                Vec::new()
            } else {
                state.known.iter().flat_map(|known| known.schemas()).collect()
            },
            cached,
            resolved,
        };
        let pending = Arc::new(Pending::default());
        let keep = self.keep(subject, Arc::clone(&pending), load.bytecode);
        let (doors, later) = (self.doors(subject), Arc::clone(&pending));
        let more: crate::warm::More = Box::new(move |seen| later.read_more(&doors, seen));
        let job = engine_job(limits);
        let (warm, loaded) = Warm::start(&self.options.launcher, &job, load, &bytes, resolver, (keep, more), limits)?;
        // Only now there is a process that may become idle.
        self.sweeping.call_once(|| {
            let own = self.own.clone();
            let thread = std::thread::Builder::new().name("toolset idle".into()).stack_size(128 << 10);
            let _ = thread.spawn(move || sweep(&own));
        });
        if let Some(kept) = kept.filter(|kept| !kept.modules.is_empty()) {
            pending.found(kept);
        }
        Ok((warm, loaded, pending))
    }

    /// What is done with bytecode when it comes.
    fn keep(&self, subject: &Subject<'_>, pending: Arc<Pending>, comes: bool) -> crate::warm::Keep {
        let doors = self.doors(subject);
        let cache_dir = self.options.cache_dir.clone();
        let asked = subject.toolsets.clone();
        let expected = (comes && cache_dir.is_some()).then(|| Expected::new(&self.coming));
        Box::new(move |modules, seen| {
            let _expected = expected;
            let Some(kept) = Kept::of(&doors, &asked, modules, seen) else { return };
            let kept = Arc::new(kept);
            pending.found(Arc::clone(&kept));
            if let (Some(dir), Some(ready)) = (cache_dir, pending.ready())
                && let Err(error) = cache::write(&dir, &doors, &kept, &ready)
            {
                tracing::debug!(target: "skillcue::toolset", %error, "bytecode could not be kept");
            }
        })
    }

    /// Ends the processes that nobody has used for longest, until there is room for one more.
    fn make_room(&self) {
        let slots: Vec<Arc<Slot>> = lock(&self.slots).values().cloned().collect();
        let mut idle = Vec::new();
        let mut warm = 0_usize;
        for slot in slots {
            // One that is locked is being started, as the one room is made for: it counts, and stays.
            let Ok(state) = slot.state.try_lock() else {
                warm += 1;
                continue;
            };
            if let Some(child) = &state.warm {
                warm += 1;
                if let Some(time) = child.idle() {
                    drop(state);
                    idle.push((time, slot));
                }
            }
        }
        idle.sort_by_key(|(time, _)| std::cmp::Reverse(*time));
        for (_, slot) in idle.into_iter().take(warm.saturating_sub(self.options.limits.warm.max(1))) {
            let gone = slot.state.try_lock().ok().and_then(|mut state| state.warm.take());
            // Its end is awaited without its skill having to.
            drop(gone);
        }
    }
}

/// Returns the job that runs the engine, which may reach nothing.
fn engine_job(limits: &Limits) -> Job {
    let memory = limits.memory + OVERHEAD;
    let mut job = Job::new(Program::Engine, Policy::nothing());
    job.bounds = Bounds { memory, memory_total: memory * 2, ..Bounds::default() };
    job
}

/// Ends idle processes, for as long as somebody has the toolsets.
fn sweep(inner: &Weak<Inner>) {
    loop {
        std::thread::sleep(Duration::from_secs(5));
        let Some(inner) = inner.upgrade() else { return };
        let slots: Vec<Arc<Slot>> = lock(&inner.slots).values().cloned().collect();
        for slot in slots {
            if let Ok(mut state) = slot.state.try_lock() {
                let over = state.warm.as_ref().is_some_and(|warm| {
                    let unusable = !warm.is_usable();
                    warm.idle().is_some_and(|time| unusable || time > inner.options.limits.idle)
                });
                let gone = if over { state.warm.take() } else { None };
                drop(state);
                drop(gone);
            }
        }
    }
}

/// What was read and compiled, and whom it is to be told.
#[derive(Default)]
struct Pending(Mutex<Pair>);

type Pair = (Option<Arc<Kept>>, Option<Arc<Known>>);

impl Pending {
    fn found(&self, kept: Arc<Kept>) {
        let mut both = lock(&self.0);
        if let Some(known) = &both.1 {
            *lock(&known.kept) = Some(Arc::clone(&kept));
        }
        both.0 = Some(kept);
    }

    /// A tool has imported something: it is watched like all the rest.
    fn read_more(&self, doors: &cache::Doors, seen: &Seen) {
        let both = lock(&self.0);
        if let Some(known) = &both.1 {
            let mut kept = lock(&known.kept);
            let more = kept.as_ref().and_then(|kept| kept.with(doors, seen));
            if let Some(more) = more {
                *kept = Some(Arc::new(more));
            }
        }
    }

    fn connect(&self, known: &Arc<Known>) {
        let mut both = lock(&self.0);
        if let Some(kept) = &both.0 {
            *lock(&known.kept) = Some(Arc::clone(kept));
        }
        both.1 = Some(Arc::clone(known));
    }

    fn ready(&self) -> Option<Ready> {
        // The definitions come right before the bytecode; whoever waits for them may not have taken them yet.
        for _ in 0..200 {
            if let Some(known) = &lock(&self.0).1 {
                let lasting = known.stuck.is_empty() && !known.findings.iter().any(is_passing);
                return lasting.then(|| known.ready());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        None
    }
}

impl Known {
    fn of(subject: &Subject<'_>, ready: Ready, kept: Option<Arc<Kept>>, stuck: Vec<String>) -> Known {
        let (mut specs, mut findings) = (Vec::new(), ready.findings);
        let mut tools = HashMap::new();
        let mut all = ready.tools;
        if let Some(first) = all.get(TOOLS) {
            let left_out = all.len() - TOOLS;
            findings.push(WireDiagnostic {
                message: format!(
                    "a skill may have at most {TOOLS} tools; {left_out} {} left out",
                    if left_out == 1 { "was" } else { "were" }
                ),
                help: Some("put them into several skills".to_owned()),
                ..about(first, "toolset_shape")
            });
            all.truncate(TOOLS);
        }
        for mut defined in all {
            // Whoever says this may be any program: what goes to models is looked at here, whatever was before.
            if !is_id(&defined.id) || tools.contains_key(&defined.id) {
                let id = skillcue_base::Shown(crate::cut(&defined.id, 80)).to_string();
                defined.id.clone_from(&id);
                findings.push(WireDiagnostic {
                    message: format!("`{id}` is no id of a tool, or another has it"),
                    help: Some("an id has 1 to 64 letters, digits, `-` or `_`".to_owned()),
                    ..about(&defined, "toolset_shape")
                });
                continue;
            }
            let plain = visible(&defined.description).into_owned();
            if plain.len() < defined.description.len() {
                findings.push(WireDiagnostic {
                    message: format!("the description of `{}` has control characters, which were left out", defined.id),
                    help: Some("write plain text".to_owned()),
                    ..about(&defined, "toolset_shape")
                });
            }
            plain.trim().clone_into(&mut defined.description);
            if defined.description.is_empty() || defined.schema.get().len() > SCHEMA {
                let wrong =
                    if defined.description.is_empty() { "has no description" } else { "has too large a schema" };
                findings.push(WireDiagnostic {
                    message: format!("`{}` {wrong}", defined.id),
                    help: Some("say what it is for, and describe its arguments briefly".to_owned()),
                    ..about(&defined, "toolset_shape")
                });
                continue;
            }
            defined.description = crate::cut(&defined.description, DESCRIPTION).to_owned();
            match visible_schema(&mut defined.schema) {
                Ok(false) => {}
                Ok(true) => findings.push(WireDiagnostic {
                    message: format!("the schema of `{}` has hidden characters, which were left out", defined.id),
                    help: Some("write plain text".to_owned()),
                    ..about(&defined, "toolset_shape")
                }),
                // Under another name the tool would not find its argument.
                Err(name) => {
                    findings.push(WireDiagnostic {
                        message: format!(
                            "the schema of `{}` has hidden characters in the name `{}`; the tool was left out",
                            defined.id,
                            skillcue_base::Shown(crate::cut(&name, 80))
                        ),
                        help: Some("name arguments with plain letters".to_owned()),
                        ..about(&defined, "toolset_shape")
                    });
                    continue;
                }
            }
            match spec(&defined) {
                Ok((spec, schema, unchecked)) => {
                    findings.extend(unchecked.into_iter().map(|part| WireDiagnostic {
                        message: format!("{part} in the schema of `{}` cannot be checked here", defined.id),
                        help: Some(
                            "what it would refuse is let through; docs/toolsets.md lists what is checked".to_owned(),
                        ),
                        ..about(&defined, "toolset_schema")
                    }));
                    tools.insert(defined.id, Tool { schema });
                    specs.push(spec);
                }
                Err(why) => findings.push(WireDiagnostic {
                    message: format!("the schema of `{}` {why}", defined.id),
                    help: Some("`parameters` is the JSON Schema of an object".to_owned()),
                    ..about(&defined, "toolset_shape")
                }),
            }
        }
        for finding in &mut findings {
            place::add(subject, finding);
        }
        Known {
            asked: subject.toolsets.clone(),
            offered: Arc::new(Offered {
                tools: specs,
                diagnostics: findings.iter().map(WireDiagnostic::to_diagnostic).collect(),
            }),
            findings,
            tools,
            kept: Mutex::new(kept),
            stuck,
            retry: None,
        }
    }

    /// The schemas of tools whose arguments the engine parses.
    fn schemas(&self) -> Vec<(String, Box<RawValue>)> {
        let parsed = |spec: &&ToolSpec| self.tools.get(&spec.id).is_some_and(|tool| tool.schema.is_none());
        let pair = |spec: &ToolSpec| Some((spec.id.clone(), serde_json::value::to_raw_value(&spec.schema).ok()?));
        self.offered.tools.iter().filter(parsed).filter_map(pair).collect()
    }

    /// The definitions, to be kept.
    fn ready(&self) -> Ready {
        let defined = |spec: &ToolSpec| -> Option<Defined> {
            Some(Defined {
                id: spec.id.clone(),
                description: spec.description.clone(),
                schema: serde_json::value::to_raw_value(&spec.schema).ok()?,
                parsed: self.tools.get(&spec.id)?.schema.is_none(),
                file: spec.file.clone(),
                line: spec.line,
            })
        };
        let findings = self.findings.iter().filter(|finding| !finding.is_warning()).cloned();
        Ready { tools: self.offered.tools.iter().filter_map(defined).collect(), findings: findings.collect() }
    }
}

/// Leaves hidden characters out of every text of a schema, and says whether there were any.
///
/// # Errors
/// The first name that has some.
fn visible_schema(schema: &mut Box<RawValue>) -> Result<bool, String> {
    // What is no JSON has no schema, which is reported where it is read.
    let Ok(mut value) = serde_json::from_str::<Value>(schema.get()) else { return Ok(false) };
    let changed = visible_texts(&mut value)?;
    if changed && let Ok(plain) = serde_json::value::to_raw_value(&value) {
        *schema = plain;
    }
    Ok(changed)
}

fn visible_texts(value: &mut Value) -> Result<bool, String> {
    let mut changed = false;
    match value {
        Value::String(text) => {
            if let Cow::Owned(plain) = visible(text) {
                *text = plain;
                changed = true;
            }
        }
        Value::Array(items) => {
            for item in items {
                changed |= visible_texts(item)?;
            }
        }
        Value::Object(fields) => {
            if let Some(name) = fields.keys().find(|name| matches!(visible(name), Cow::Owned(_))) {
                return Err(name.clone());
            }
            for item in fields.values_mut() {
                changed |= visible_texts(item)?;
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
    Ok(changed)
}

fn is_id(id: &str) -> bool {
    (1..=64).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

fn about(defined: &Defined, code: &str) -> WireDiagnostic {
    WireDiagnostic {
        toolset: defined.id.as_str().into(),
        file: Some(defined.file.clone()),
        line: defined.line,
        ..WireDiagnostic::new(code, "", None)
    }
}

fn spec(defined: &Defined) -> Result<(ToolSpec, Option<Schema>, Vec<String>), String> {
    let value: Value = serde_json::from_str(defined.schema.get()).map_err(|error| format!("is not JSON: {error}"))?;
    let (schema, mut unchecked) = Schema::new(value)?;
    if defined.parsed {
        unchecked.clear();
    }
    let spec = ToolSpec {
        id: defined.id.clone(),
        description: defined.description.clone(),
        schema: schema.value().clone(),
        file: defined.file.clone(),
        line: defined.line,
    };
    Ok((spec, (!defined.parsed).then_some(schema), unchecked))
}

/// `toolsets/index:HelloToolset`.
fn entry(declared: &str) -> Result<Entry, Box<WireDiagnostic>> {
    match declared.rsplit_once(':') {
        Some((path, export)) if !path.is_empty() && !export.is_empty() => Ok(Entry {
            declared: declared.to_owned(),
            path: path.strip_prefix("./").unwrap_or(path).to_owned(),
            export: export.to_owned(),
        }),
        _ => {
            let message = format!("`{declared}` is not of the form `path:Export`");
            let help = "write `toolsets/index:HelloToolset`: the module, and what it exports";
            let found = WireDiagnostic::new("toolset_entry", message, Some(help));
            Err(Box::new(found.about(declared)))
        }
    }
}
