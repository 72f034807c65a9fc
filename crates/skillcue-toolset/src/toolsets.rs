//! The warm children, one a skill, and the tools that they have.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Once, Weak};
use std::time::{Duration, Instant};

use serde_json::value::RawValue;
use serde_json::{Map, Value};
use skillcue_base::lock;
use skillcue_exec::{Bounds, Job, JobProgram, SandboxPolicy};
use skillcue_format::{Diagnostic, Severity};

use crate::cache::{self, CachedToolsets, ToolsetPaths};
use crate::child::{BytecodeSink, DependencySink, LoadOutcome, WarmChild};
use crate::error::ToolError;
use crate::handover::{CacheHandover, PendingBytecode, PendingGuard};
use crate::interface::{CallContext, OfferedTools, SkillToolsets, ToolCallResult, ToolsetLimits, ToolsetOptions};
use crate::known_tools::{KnownTools, is_missing, is_transient};
use crate::message::{LoadMessage, ToolsetEntry, WireDiagnostic};
use crate::resolve::Resolver;

/// The memory that the engine's process needs beyond what scripts may allocate: its stacks, its code, the parser's
/// trees.
const ENGINE_OVERHEAD: u64 = 256 << 20;
/// The longest time that the end waits for bytecode to be written to the cache.
const MAX_WRITE_WAIT: Duration = Duration::from_millis(500);
/// The age at which the files of packages are looked at again.
const MAX_UNCHECKED_AGE: Duration = Duration::from_secs(1);

/// The toolsets of any number of skills.
///
/// A skill's modules are evaluated in a process of their own when its tools are asked for the first time, and that
/// process is kept for calls. Cheap to clone; clones share the processes.
#[derive(Clone)]
pub struct Toolsets {
    inner: Arc<Inner>,
}

struct Inner {
    options: ToolsetOptions,
    /// By the skill's directory.
    slots: Mutex<HashMap<PathBuf, Arc<SkillSlot>>>,
    pending: Arc<PendingBytecode>,
    /// This very value, for the thread that ends idle processes.
    own: Weak<Inner>,
    sweeping: Once,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.pending.wait(MAX_WRITE_WAIT);
    }
}

#[derive(Default)]
struct SkillSlot {
    /// Held while a child is started, so that no other thread starts a second one.
    state: Mutex<ToolsetState>,
}

#[derive(Default)]
struct ToolsetState {
    known: Option<Arc<KnownTools>>,
    child: Option<Arc<WarmChild>>,
    /// The time at which the files of packages were looked at last.
    checked: Option<Instant>,
}

impl Toolsets {
    /// Toolsets without processes: none is started until tools are asked for.
    pub fn new(options: ToolsetOptions) -> Toolsets {
        let new = |own: &Weak<Inner>| Inner {
            options,
            slots: Mutex::default(),
            pending: Arc::default(),
            own: own.clone(),
            sweeping: Once::new(),
        };
        Toolsets { inner: Arc::new_cyclic(new) }
    }

    /// Returns the tools that a skill's toolsets offer.
    ///
    /// Evaluates its modules in the sandbox the first time; after that, and from the cache, a look at the files' stamps
    /// is all. Never fails: each problem is a diagnostic.
    pub fn tools(&self, skill: &SkillToolsets<'_>) -> Arc<OfferedTools> {
        let slot = self.slot(skill);
        let mut state = lock(&slot.state);
        match self.inner.known_or_load(skill, &mut state) {
            Ok(known) => Arc::clone(&known.offered),
            Err(error) => {
                // Nothing could be started, which is one diagnostic however many toolsets there are.
                let found = Diagnostic::of(&error, Severity::Error).at(skill.name);
                Arc::new(OfferedTools { tools: Vec::new(), diagnostics: vec![found] })
            }
        }
    }

    /// Returns the tools of a skill from memory or the cache, if the files are as they were.
    ///
    /// Starts nothing and waits for nothing: while another thread has the skill's modules evaluated, it returns none.
    pub fn known_tools(&self, skill: &SkillToolsets<'_>) -> Option<Arc<OfferedTools>> {
        let slot = self.slot(skill);
        // Other threads hold the lock for as long as a look at the files takes, or as long as an evaluation does.
        let mut state = (0..5).find_map(|attempt| {
            if attempt > 0 {
                std::thread::sleep(Duration::from_millis(1));
            }
            slot.state.try_lock().ok()
        })?;
        self.inner.known(skill, &mut state).map(|known| Arc::clone(&known.offered))
    }

    /// Calls a tool and waits for its result.
    pub fn call(
        &self,
        skill: &SkillToolsets<'_>,
        id: &str,
        arguments: &Map<String, Value>,
        context: &CallContext<'_>,
    ) -> Result<ToolCallResult, ToolError> {
        let slot = self.slot(skill);
        let raw = serde_json::value::to_raw_value(arguments)
            .or_else(|_| RawValue::from_string("{}".to_owned()))
            .map_err(|error| ToolError::InvalidArguments { id: id.to_owned(), message: error.to_string() })?;
        let mut may_retry = true;
        let (child, done) = loop {
            let child = self.child_for_call(&slot, skill, id, arguments)?;
            let mut delivered = false;
            match child.call(id, &raw, &self.inner.options.limits, context, &mut delivered) {
                Ok(done) => break (child, done),
                // The process had ended before it received the call: nothing was done, and another one can do it.
                Err(_) if may_retry && !delivered => may_retry = false,
                Err(error) => return Err(error),
            }
        };
        // The child checks this itself, but by now it may run any program.
        if done.output.len() > crate::MAX_OUTPUT_BYTES {
            return Err(ToolError::TooLarge { id: id.to_owned() });
        }
        Ok(ToolCallResult {
            title: done.title,
            metadata: serde_json::from_str(done.metadata.get()).unwrap_or(Value::Null),
            output: done.output,
            sandbox: child.report().clone(),
        })
    }

    /// Returns a process that can take the call, once the arguments are checked.
    fn child_for_call(
        &self,
        slot: &SkillSlot,
        skill: &SkillToolsets<'_>,
        id: &str,
        arguments: &Map<String, Value>,
    ) -> Result<Arc<WarmChild>, ToolError> {
        let mut state = lock(&slot.state);
        let known = self.inner.known_or_load(skill, &mut state)?;
        let Some(schema) = known.schemas.get(id) else {
            let known = known.offered.tools.iter().map(|tool| tool.id.clone()).collect();
            return Err(ToolError::NoSuchTool { id: id.to_owned(), known });
        };
        if let Some(schema) = schema {
            let violations = schema.violations(arguments);
            if !violations.is_empty() {
                return Err(ToolError::InvalidArguments { id: id.to_owned(), message: violations.join("; ") });
            }
        }
        self.inner.child(skill, &known, &mut state)
    }

    /// Returns the number of processes that are kept right now.
    pub fn running_count(&self) -> usize {
        let slots: Vec<Arc<SkillSlot>> = lock(&self.inner.slots).values().cloned().collect();
        slots
            .iter()
            .filter(|slot| {
                slot.state.try_lock().map_or(true, |state| state.child.as_ref().is_some_and(|child| child.is_usable()))
            })
            .count()
    }

    /// Ends all processes. Calls in flight fail; later ones start new processes.
    pub fn end(&self) {
        self.inner.pending.wait(MAX_WRITE_WAIT);
        let slots: Vec<Arc<SkillSlot>> = lock(&self.inner.slots).values().cloned().collect();
        for slot in slots {
            if let Some(child) = lock(&slot.state).child.take() {
                child.kill();
            }
        }
    }

    fn slot(&self, skill: &SkillToolsets<'_>) -> Arc<SkillSlot> {
        Arc::clone(lock(&self.inner.slots).entry(skill.dir.to_path_buf()).or_default())
    }
}

impl Inner {
    /// Returns the tools of a skill as its files are now; evaluates them if need be.
    fn known_or_load(&self, skill: &SkillToolsets<'_>, state: &mut ToolsetState) -> Result<Arc<KnownTools>, ToolError> {
        match self.known(skill, state) {
            Some(known) => Ok(known),
            None => self.load(skill, state, &[]),
        }
    }

    /// Returns the tools of a skill without evaluating anything. Forgets them if a file has changed.
    fn known(&self, skill: &SkillToolsets<'_>, state: &mut ToolsetState) -> Option<Arc<KnownTools>> {
        if let Some(known) = &state.known
            && known.declared == skill.toolsets
        {
            // The skill's own files are looked at every time, those of packages now and then: they are many. Where
            // one is missing, a person is about to install it and to try again.
            let thorough = state.checked.is_none_or(|checked| checked.elapsed() > MAX_UNCHECKED_AGE)
                || known.findings.iter().any(is_missing);
            let cached = lock(&known.cached).clone();
            let due = known.retry.is_some_and(|at| Instant::now() >= at);
            if !due && cached.is_none_or(|cached| cached.is_fresh(&self.paths(skill), thorough)) {
                if thorough {
                    state.checked = Some(Instant::now());
                }
                return Some(Arc::clone(known));
            }
            state.known = None;
            state.child = None;
        }
        let dir = self.options.cache_dir.as_ref()?;
        let cached = cache::read(dir, &self.paths(skill), &skill.toolsets)?;
        let definitions = cached.definitions.clone();
        let known = Arc::new(KnownTools::new(skill, definitions, Some(Arc::new(cached)), Vec::new()));
        state.known = Some(Arc::clone(&known));
        state.checked = Some(Instant::now());
        Some(known)
    }

    fn paths(&self, skill: &SkillToolsets<'_>) -> ToolsetPaths {
        ToolsetPaths {
            dir: skill.dir.to_path_buf(),
            packages: self.options.packages.clone(),
            // A helper that cannot be found has no stamp, and so nothing is cached.
            helper: self.options.launcher.helper().map(Path::to_path_buf).unwrap_or_default(),
        }
    }

    /// Returns a child that has the skill's toolsets loaded.
    fn child(
        &self,
        skill: &SkillToolsets<'_>,
        known: &Arc<KnownTools>,
        state: &mut ToolsetState,
    ) -> Result<Arc<WarmChild>, ToolError> {
        if let Some(child) = state.child.as_ref().filter(|child| child.is_usable()) {
            return Ok(Arc::clone(child));
        }
        self.load(skill, state, &known.stuck)?;
        match &state.child {
            Some(child) => Ok(Arc::clone(child)),
            None => {
                Err(ToolError::Crashed { id: skill.name.to_owned(), reason: "it did not come up again".to_owned() })
            }
        }
    }

    /// Starts a child and loads the toolsets, without those that ended an earlier child.
    fn load(
        &self,
        skill: &SkillToolsets<'_>,
        state: &mut ToolsetState,
        stuck: &[String],
    ) -> Result<Arc<KnownTools>, ToolError> {
        state.child = None;
        let begun = Instant::now();
        self.make_room();
        let mut findings = Vec::new();
        let mut entries = Vec::new();
        for declared in &skill.toolsets {
            match ToolsetEntry::parse(declared) {
                Ok(entry) => entries.push(entry),
                Err(finding) => findings.push(*finding),
            }
        }
        let mut stuck = stuck.to_vec();
        let before = state.known.as_ref().map(|known| known.findings.clone()).unwrap_or_default();
        findings.extend(before.into_iter().filter(|finding| stuck.iter().any(|entry| **entry == *finding.toolset)));
        loop {
            entries.retain(|entry| !stuck.contains(&entry.declared));
            let (child, loaded, handover) = self.start(skill, state, &entries)?;
            match loaded {
                LoadOutcome::Ready(mut definitions, dependencies) => {
                    findings.append(&mut definitions.findings);
                    definitions.findings = findings;
                    // The files are known now; the bytecode comes a moment later, or is what it was loaded from.
                    let paths = self.paths(skill);
                    let cached = CachedToolsets::new(&paths, &skill.toolsets, Vec::new(), &dependencies).map(Arc::new);
                    let mut known = KnownTools::new(skill, definitions, cached, stuck);
                    // A toolset that takes long to fail is tried less often.
                    if known.findings.iter().any(is_transient) {
                        known.retry = Some(Instant::now() + self.options.limits.retry.max(begun.elapsed() * 4));
                    }
                    let known = Arc::new(known);
                    handover.set_known(&known);
                    state.known = Some(Arc::clone(&known));
                    state.child = Some(Arc::new(child));
                    state.checked = Some(Instant::now());
                    return Ok(known);
                }
                LoadOutcome::Stuck { entry, reason } => {
                    let Some(entry) = entries.get(entry).cloned() else {
                        return Err(ToolError::Crashed { id: skill.name.to_owned(), reason });
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
        skill: &SkillToolsets<'_>,
        state: &ToolsetState,
        entries: &[ToolsetEntry],
    ) -> Result<(WarmChild, LoadOutcome, Arc<CacheHandover>), ToolError> {
        let limits = &self.options.limits;
        let resolver = Resolver::new(skill.name, skill.dir, self.options.packages.as_deref())?;
        let earlier = state.known.as_ref().and_then(|known| lock(&known.cached).clone());
        let (cached, resolved, bytes) = match &earlier {
            Some(it) if !it.modules.is_empty() => (it.modules.clone(), it.resolved.clone(), it.bytecode()),
            _ => (Vec::new(), Vec::new(), Vec::new()),
        };
        let load = LoadMessage {
            skill: skill.name.to_owned(),
            dir: skill.dir.to_string_lossy().into_owned(),
            entries: entries.to_vec(),
            memory: limits.memory,
            timeout_ms: u64::try_from(limits.load.as_millis()).unwrap_or(u64::MAX),
            bytecode: bytes.is_empty(),
            schemas: if cached.is_empty() {
                Vec::new()
            } else {
                state.known.iter().flat_map(|known| known.parsed_schemas()).collect()
            },
            cached,
            resolved,
        };
        let handover = Arc::new(CacheHandover::default());
        let on_bytecode = self.bytecode_sink(skill, Arc::clone(&handover), load.bytecode);
        let (paths, later) = (self.paths(skill), Arc::clone(&handover));
        let on_files: DependencySink = Box::new(move |dependencies| later.add_files(&paths, dependencies));
        let job = engine_job(limits);
        let sinks = (on_bytecode, on_files);
        let (child, loaded) = WarmChild::start(&self.options.launcher, &job, load, &bytes, resolver, sinks, limits)?;
        // Only now there is a process that may become idle.
        self.sweeping.call_once(|| {
            let own = self.own.clone();
            let thread = std::thread::Builder::new().name("toolset idle".into()).stack_size(128 << 10);
            let _ = thread.spawn(move || end_idle_children(&own));
        });
        if let Some(earlier) = earlier.filter(|earlier| !earlier.modules.is_empty()) {
            handover.set_cached(earlier);
        }
        Ok((child, loaded, handover))
    }

    /// Returns the function that caches bytecode when it comes.
    fn bytecode_sink(
        &self,
        skill: &SkillToolsets<'_>,
        handover: Arc<CacheHandover>,
        is_expected: bool,
    ) -> BytecodeSink {
        let paths = self.paths(skill);
        let cache_dir = self.options.cache_dir.clone();
        let declared = skill.toolsets.clone();
        let guard = (is_expected && cache_dir.is_some()).then(|| PendingGuard::new(&self.pending));
        Box::new(move |modules, dependencies| {
            let _guard = guard;
            let Some(cached) = CachedToolsets::new(&paths, &declared, modules, dependencies) else { return };
            let cached = Arc::new(cached);
            handover.set_cached(Arc::clone(&cached));
            if let (Some(dir), Some(definitions)) = (cache_dir, handover.definitions())
                && let Err(error) = cache::write(&dir, &paths, &cached, &definitions)
            {
                tracing::debug!(target: "skillcue::toolset", %error, "bytecode could not be cached");
            }
        })
    }

    /// Ends the least recently used processes, until there is room for one more.
    fn make_room(&self) {
        let slots: Vec<Arc<SkillSlot>> = lock(&self.slots).values().cloned().collect();
        let mut idle = Vec::new();
        let mut warm = 0_usize;
        for slot in slots {
            // One that is locked is being started, as the one that needs the room: it counts, and stays.
            let Ok(state) = slot.state.try_lock() else {
                warm += 1;
                continue;
            };
            if let Some(child) = &state.child {
                warm += 1;
                if let Some(time) = child.idle_time() {
                    drop(state);
                    idle.push((time, slot));
                }
            }
        }
        idle.sort_by_key(|(time, _)| std::cmp::Reverse(*time));
        for (_, slot) in idle.into_iter().take(warm.saturating_sub(self.options.limits.warm.max(1))) {
            let gone = slot.state.try_lock().ok().and_then(|mut state| state.child.take());
            // Its end is awaited here, without the lock of its skill.
            drop(gone);
        }
    }
}

/// Returns the job that runs the engine, which may reach nothing.
fn engine_job(limits: &ToolsetLimits) -> Job {
    let memory = limits.memory + ENGINE_OVERHEAD;
    let mut job = Job::new(JobProgram::Engine, SandboxPolicy::nothing());
    job.bounds = Bounds { memory, memory_total: memory * 2, ..Bounds::default() };
    job
}

/// Ends idle processes, for as long as the toolsets are in use.
fn end_idle_children(inner: &Weak<Inner>) {
    loop {
        std::thread::sleep(Duration::from_secs(5));
        let Some(inner) = inner.upgrade() else { return };
        let slots: Vec<Arc<SkillSlot>> = lock(&inner.slots).values().cloned().collect();
        for slot in slots {
            if let Ok(mut state) = slot.state.try_lock() {
                let over = state.child.as_ref().is_some_and(|child| {
                    let unusable = !child.is_usable();
                    child.idle_time().is_some_and(|time| unusable || time > inner.options.limits.idle)
                });
                let gone = if over { state.child.take() } else { None };
                drop(state);
                drop(gone);
            }
        }
    }
}
