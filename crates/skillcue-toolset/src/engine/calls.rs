//! The loop: loads once, then runs calls, their promises and their timers, side by side.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::rc::Rc;
use std::time::{Duration, Instant};

use rquickjs::function::{Rest, This};
use rquickjs::promise::PromiseState;
use rquickjs::{Ctx, Function, Module, Object, Persistent, Promise, Runtime, Value};
use serde_json::value::RawValue;

use super::globals::{self, Prelude};
use super::link::Link;
use super::loading::{self, Tool};
use super::{place, value};
use crate::message::{
    Abort, Aborted, Bytecode, Call, Compiled, Done, Entry, Failed, FromChild, Level, Load, Loading, Ready, ToChild,
    WireDiagnostic,
};

/// Jobs run before the inbox and timers get a look in.
const JOBS: usize = 512;

/// Schemas and descriptions of all tools of a skill.
const DEFINITIONS: usize = 1 << 20;
/// Findings that are told.
const FINDINGS: usize = 200;
/// What a tool may add for programs.
const METADATA: usize = 512 << 10;

/// Promises that were rejected, until somebody handles them.
pub(super) type Rejected = Rc<RefCell<Vec<(Persistent<Value<'static>>, String)>>>;

/// Watches for promises that are rejected and nobody handles.
pub(super) struct Rejections;

impl Rejections {
    pub(super) fn watch(runtime: &Runtime) -> Rejected {
        let kept: Rejected = Rc::default();
        let seen = Rc::clone(&kept);
        runtime.set_host_promise_rejection_tracker(Some(Box::new(move |ctx, promise, reason, handled| {
            let mut seen = seen.borrow_mut();
            if handled {
                seen.retain(|(other, _)| other.clone().restore(&ctx).is_ok_and(|other| other != promise));
            } else if seen.len() < 64 {
                let text = place::thrown(&ctx, &reason).message;
                seen.push((Persistent::save(&ctx, promise), text));
            }
        })));
        kept
    }
}

struct Flying<'js> {
    id: u64,
    tool: String,
    /// What the tool returned, or what checking its arguments did.
    promise: Promise<'js>,
    signal: Value<'js>,
    until: Instant,
    /// The arguments are being checked; the tool itself has not been called.
    checking: bool,
}

pub(super) struct Calls<'js> {
    ctx: Ctx<'js>,
    link: Rc<Link>,
    prelude: Prelude<'js>,
    rejected: Rejected,
    tools: HashMap<String, Rc<Tool<'js>>>,
    flying: Vec<Flying<'js>>,
    contexts: HashMap<u64, Object<'js>>,
    skill: String,
    dir: String,
    /// Bytes of all definitions.
    defined: usize,
    /// Whose jobs are waiting, if any are; 0 if they are of several calls.
    jobs_of: Cell<Option<u64>>,
}

/// What is to be done with a call.
enum Step<'js> {
    Wait(Promise<'js>, bool),
    Settled(Result<Value<'js>, Failed>),
}

impl<'js> Calls<'js> {
    pub(super) fn new(ctx: Ctx<'js>, link: Rc<Link>, prelude: Prelude<'js>, rejected: Rejected) -> Calls<'js> {
        Calls {
            ctx,
            link,
            prelude,
            rejected,
            tools: HashMap::new(),
            flying: Vec::new(),
            contexts: HashMap::new(),
            skill: String::new(),
            dir: String::new(),
            defined: 0,
            jobs_of: Cell::new(None),
        }
    }

    /// Loads, then serves until the host hangs up.
    pub(super) fn serve(mut self, load: &Load) -> i32 {
        self.load(load);
        loop {
            self.turn();
        }
    }

    fn load(&mut self, load: &Load) {
        self.skill.clone_from(&load.skill);
        self.dir.clone_from(&load.dir);
        if load.bytecode {
            *self.link.compiled.borrow_mut() = Some(Vec::new());
        }
        let bytes = self.link.bytes.take();
        for (module, bytes) in load.cached.iter().zip(bytes) {
            // The engine refers to the bytes for as long as the process lives.
            let bytes: &'static [u8] = Box::leak(bytes.into_boxed_slice());
            self.link.cached.borrow_mut().insert(module.id.clone(), bytes);
            self.link.known.borrow_mut().insert(module.id.clone());
        }
        for (from, specifier, id) in &load.resolved {
            self.link.resolved.borrow_mut().insert((from.clone(), specifier.clone()), id.clone());
        }
        let mut ready = Ready::default();
        for (index, entry) in load.entries.iter().enumerate() {
            self.link.send(&FromChild::Loading(Loading { entry: index }));
            let until = Instant::now() + Duration::from_millis(load.timeout_ms);
            self.link.watch.until.set(Some(until));
            match self.entry(&load.schemas, entry, until) {
                Ok(tools) => {
                    for (tool, found) in tools {
                        match (tool, found) {
                            (Some(tool), _) => self.add(entry, tool, &mut ready),
                            (None, Some(found)) => ready.findings.push(found.about(&entry.declared)),
                            (None, None) => {}
                        }
                    }
                }
                Err(found) => ready.findings.push(found.about(&entry.declared)),
            }
        }
        ready.findings.truncate(FINDINGS);
        self.link.watch.until.set(None);
        self.report_rejections();
        self.link.refill_log();
        let compiled = self.link.compiled.take();
        self.link.send(&FromChild::Ready(ready));
        if let Some(compiled) = compiled {
            let modules =
                compiled.iter().map(|(id, bytes)| Compiled { id: id.clone(), length: bytes.len() as u64 }).collect();
            let bytes: Vec<&[u8]> = compiled.iter().map(|(_, bytes)| bytes.as_slice()).collect();
            self.link.send_with(&FromChild::Bytecode(Bytecode { modules }), &bytes);
        }
    }

    fn add(&mut self, entry: &Entry, tool: Tool<'js>, ready: &mut Ready) {
        let id = tool.defined.id.clone();
        if let Some(first) = self.tools.get(&id) {
            // The same object in two toolsets is a list in two places, not two tools.
            if first.object == tool.object {
                return;
            }
            let message = format!("there are two tools `{id}`; the first one counts, in {}", first.defined.file);
            let mut found = WireDiagnostic::new("toolset_duplicate", message, Some("give one of them another id"));
            found.file = Some(tool.defined.file.clone());
            found.line = tool.defined.line;
            found.column = tool.column;
            ready.findings.push(found.about(&entry.declared));
            return;
        }
        self.defined += tool.defined.schema.get().len() + tool.defined.description.len();
        if self.defined > DEFINITIONS {
            let message = format!("the definition of `{id}` does not fit: all of a skill have {DEFINITIONS} bytes");
            let mut found = WireDiagnostic::new("toolset_shape", message, Some("say less, or in fewer tools"));
            found.file = Some(tool.defined.file.clone());
            ready.findings.push(found.about(&entry.declared));
            return;
        }
        ready.tools.push(tool.defined.clone());
        self.tools.insert(id, Rc::new(tool));
    }

    #[expect(clippy::type_complexity, reason = "a list of either")]
    fn entry(
        &mut self,
        schemas: &[(String, Box<RawValue>)],
        entry: &Entry,
        until: Instant,
    ) -> Result<Vec<(Option<Tool<'js>>, Option<WireDiagnostic>)>, WireDiagnostic> {
        self.link.first.take();
        self.link.watch.hit.set(None);
        let Ok(promise) = Module::import(&self.ctx, entry.path.as_str()) else {
            return Err(self.why(entry, &self.ctx.catch()));
        };
        let file = self.file_of(entry);
        loop {
            match promise.state() {
                PromiseState::Resolved => break,
                PromiseState::Rejected => {
                    self.handled(promise.as_value());
                    let _ = promise.result::<Value<'js>>();
                    return Err(self.why(entry, &self.ctx.catch()));
                }
                PromiseState::Pending => {}
            }
            let more = self.jobs();
            if promise.state() != PromiseState::Pending {
                continue;
            }
            if Instant::now() < until {
                // A timer's jobs may set the next one: only when both have run dry does nothing come any more.
                if more || self.fire_timers() {
                    continue;
                }
                let next = self.prelude.timers.borrow().next();
                if let Some(next) = next {
                    std::thread::sleep(next.min(until).saturating_duration_since(Instant::now()));
                    continue;
                }
            }
            let message = if Instant::now() < until {
                "waits at its top level for something that never comes"
            } else {
                "did not finish loading in time"
            };
            let mut found = WireDiagnostic::new("toolset_threw", format!("`{}` {message}", entry.path), None);
            found.file = Some(file);
            return Err(found);
        }
        let Some(Ok(namespace)) = promise.result::<Object<'js>>() else {
            return Err(self.why(entry, &self.ctx.catch()));
        };
        let (tools, wrong) = loading::tools(&self.ctx, schemas, entry, &file, &namespace);
        let tools = tools.into_iter().map(|tool| (Some(tool), None));
        Ok(tools.chain(wrong.into_iter().map(|found| (None, Some(found)))).collect())
    }

    fn file_of(&self, entry: &Entry) -> String {
        let key = (String::new(), entry.path.clone());
        self.link.resolved.borrow().get(&key).cloned().unwrap_or_else(|| entry.path.clone())
    }

    /// Why a toolset did not load.
    fn why(&self, entry: &Entry, thrown: &Value<'js>) -> WireDiagnostic {
        if let Some(found) = self.link.first.take() {
            return found;
        }
        let late = self.link.watch.hit.take().is_some();
        let thrown = place::thrown(&self.ctx, thrown);
        let missing = thrown.message.contains("Could not find export");
        let code = if missing { "toolset_export" } else { "toolset_threw" };
        let message = match (missing, late) {
            (true, _) => thrown.message,
            (false, true) => format!("`{}` did not finish loading in time", entry.path),
            (false, false) => format!("`{}` threw while it was loaded: {}", entry.path, thrown.message),
        };
        let imported = if missing { self.missing_import(&message) } else { None };
        let mut found = WireDiagnostic::new(code, message, None);
        let place = imported.or(thrown.place).or_else(|| {
            // What was thrown is no error and knows no place; most often there is one `throw` it can have been.
            let file = self.file_of(entry);
            let word = if late { "while" } else { "throw" };
            let (line, column) = place::of_word(&place::written(&file)?.text, word)?;
            Some(place::Place { file, line, column })
        });
        match place {
            Some(place) => {
                (found.file, found.line, found.column) = (Some(place.file), Some(place.line), Some(place.column));
            }
            None => found.file = Some(self.file_of(entry)),
        }
        found
    }

    /// Where a name is imported that its module does not export.
    fn missing_import(&self, message: &str) -> Option<place::Place> {
        let mut quoted = message.split('\'').skip(1).step_by(2);
        let (name, module) = (quoted.next()?, quoted.next()?);
        let resolved = self.link.resolved.borrow();
        let mut importers: Vec<&String> = resolved
            .iter()
            .filter(|((from, _), id)| *id == module && !from.is_empty())
            .map(|((from, _), _)| from)
            .collect();
        importers.sort();
        importers.into_iter().find_map(|file| {
            let (line, column) = place::of_word(&place::written(file)?.text, name)?;
            Some(place::Place { file: file.clone(), line, column })
        })
    }

    /// One turn: receives, runs what is ready, settles what is done.
    fn turn(&mut self) {
        let busy = !self.flying.is_empty();
        if !busy {
            self.report_rejections();
        }
        let pause = if !busy {
            None
        } else if self.work() {
            Some(Duration::ZERO)
        } else {
            let next = self.prelude.timers.borrow().next();
            // Without timers only a message can change anything.
            next.map(|next| next.saturating_duration_since(Instant::now())).or(Some(Duration::from_hours(1)))
        };
        match self.link.receive(pause) {
            Some(ToChild::Call(call)) => self.call(&call),
            Some(ToChild::Abort(abort)) => self.abort(abort),
            Some(ToChild::Load(_) | ToChild::Module(_)) | None => {}
        }
        self.settle();
    }

    /// Runs jobs and timers that are due; whether there was something to run.
    fn work(&mut self) -> bool {
        let worked = self.jobs();
        self.settle();
        // The jobs that a timer makes are of its call only if no others wait.
        if worked {
            return true;
        }
        let fired = self.fire_timers();
        if fired {
            self.cut_off();
        }
        fired
    }

    /// Code of a call is about to run: its own time is what it has. Code of nobody in particular has the time of
    /// whoever may run longest.
    fn enter(&self, id: u64) {
        if self.flying.is_empty() && id == 0 {
            // While toolsets are loaded, the time is set for all of them.
            return;
        }
        let own = self.flying.iter().find(|flying| flying.id == id);
        let until = own.map(|flying| flying.until).or_else(|| self.flying.iter().map(|flying| flying.until).max());
        self.link.watch.until.set(until);
        self.link.watch.running.set(if own.is_some() { id } else { 0 });
        *self.link.watch.flying.borrow_mut() = self.flying.iter().map(|flying| flying.id).collect();
    }

    /// Whose the jobs are that the code of a call leaves behind.
    fn leaves(&self, id: u64) {
        self.jobs_of.set(Some(match self.jobs_of.get() {
            Some(other) if other != id => 0,
            _ => id,
        }));
    }

    /// Runs jobs; whether there are more.
    fn jobs(&self) -> bool {
        self.enter(self.jobs_of.get().unwrap_or(0));
        let mut ran = 0;
        while ran < JOBS && self.ctx.execute_pending_job() {
            ran += 1;
        }
        if ran < JOBS {
            self.jobs_of.set(None);
        }
        ran == JOBS
    }

    fn fire_timers(&self) -> bool {
        let now = Instant::now();
        let Some((id, owner)) = self.prelude.timers.borrow_mut().take(now) else { return false };
        self.enter(owner);
        self.leaves(self.link.watch.running.get());
        if self.prelude.fire.call::<_, Value<'js>>((id,)).is_err() {
            let thrown = place::thrown(&self.ctx, &self.ctx.catch());
            self.link.log(Level::Error, &format!("a timer threw: {}", thrown.message), None);
        }
        true
    }

    fn call(&mut self, call: &Call) {
        self.link.refill_log();
        let failed =
            |code: &str, message: String| Failed { id: call.id, code: code.into(), message, ..Failed::default() };
        let Some(tool) = self.tools.get(&call.tool).cloned() else {
            let failed = failed("no_such_tool", format!("there is no tool `{}`", call.tool));
            return self.link.send(&FromChild::Failed(failed));
        };
        let until = Instant::now() + Duration::from_millis(call.timeout_ms);
        // Its own time, and nobody else's: it is not in flight yet.
        self.link.watch.until.set(Some(until));
        self.link.watch.running.set(call.id);
        self.link.watch.hit.set(None);
        self.leaves(call.id);
        let begun = (|| -> rquickjs::Result<(Value<'js>, Step<'js>)> {
            let arguments = self.ctx.json_parse(call.arguments.get())?;
            let signal: Value<'js> = self.prelude.make_signal.call(())?;
            let context = self.context(call, &signal)?;
            self.contexts.insert(call.id, context);
            let step = match &tool.parser {
                Some(parser) => self.check(call.id, &tool, parser, arguments)?,
                None => self.execute(call.id, &tool, arguments)?,
            };
            Ok((signal, step))
        })();
        let Ok((signal, step)) = begun else {
            self.contexts.remove(&call.id);
            let failed = self.failed(call.id);
            return self.link.send(&FromChild::Failed(failed));
        };
        match step {
            Step::Wait(promise, checking) => {
                self.flying.push(Flying { id: call.id, tool: call.tool.clone(), promise, signal, until, checking });
                // Most tools are done after their first jobs: no need for another turn.
                let _ = self.work();
            }
            Step::Settled(result) => self.finish(call.id, &call.tool, result),
        }
    }

    /// Checks arguments with the library the schema was written with, so that its defaults and transforms apply.
    fn check(
        &self,
        id: u64,
        tool: &Rc<Tool<'js>>,
        parser: &Object<'js>,
        arguments: Value<'js>,
    ) -> rquickjs::Result<Step<'js>> {
        let parse: Function<'js> = parser.get("safeParse")?;
        if let Ok(parsed) = parse.call::<_, Value<'js>>((This(parser.clone()), arguments.clone())) {
            return self.checked(id, tool, &parsed);
        }
        // Refinements that are async: zod says so by throwing.
        let thrown = self.ctx.catch();
        let name = thrown.as_object().and_then(|object| object.get::<_, Object<'js>>("constructor").ok());
        let name = name.and_then(|class| class.get::<_, Value<'js>>("name").ok());
        if name.as_ref().and_then(value::text).as_deref() != Some("$ZodAsyncError") {
            return Err(self.ctx.throw(thrown));
        }
        let parse: Function<'js> = parser.get("safeParseAsync")?;
        let parsed: Value<'js> = parse.call((This(parser.clone()), arguments))?;
        match parsed.as_promise() {
            Some(promise) => Ok(Step::Wait(promise.clone(), true)),
            None => self.checked(id, tool, &parsed),
        }
    }

    /// The library has looked at the arguments: go on, or say what is wrong with them.
    fn checked(&self, id: u64, tool: &Rc<Tool<'js>>, parsed: &Value<'js>) -> rquickjs::Result<Step<'js>> {
        let parsed: Object<'js> = parsed.get()?;
        let good: Value<'js> = parsed.get("success")?;
        if good.as_bool() == Some(true) {
            return self.execute(id, tool, parsed.get("data")?);
        }
        let mut lines = Vec::new();
        let error: Object<'js> = parsed.get("error")?;
        let issues: rquickjs::Array<'js> = error.get("issues")?;
        for index in 0..issues.len().min(20) {
            let issue: Object<'js> = issues.get(index)?;
            let path: rquickjs::Array<'js> = issue.get("path")?;
            let mut at = String::new();
            for step in 0..path.len().min(20) {
                let step: Value<'js> = path.get(step)?;
                if let Some(index) = step.as_int() {
                    let _ = write!(at, "[{index}]");
                } else {
                    if !at.is_empty() {
                        at.push('.');
                    }
                    at.push_str(&value::inspect(&step));
                }
            }
            let message: Value<'js> = issue.get("message")?;
            let message = value::inspect(&message);
            lines.push(if at.is_empty() { message } else { format!("`{at}`: {message}") });
        }
        let message = lines.join("; ");
        Ok(Step::Settled(Err(Failed { id, code: "invalid_argument".into(), message, ..Failed::default() })))
    }

    fn execute(&self, id: u64, tool: &Rc<Tool<'js>>, arguments: Value<'js>) -> rquickjs::Result<Step<'js>> {
        let context = self.contexts.get(&id).cloned();
        let returned: Value<'js> = tool.execute.call((This(tool.object.clone()), arguments, context))?;
        if let Some(promise) = returned.as_promise() {
            return Ok(Step::Wait(promise.clone(), false));
        }
        let thenable = returned.as_object().is_some_and(|object| {
            object
                .get::<_, Value<'js>>("then")
                .inspect_err(|_| drop(self.ctx.catch()))
                .is_ok_and(|then| then.is_function())
        });
        if thenable {
            let (promise, resolve, _) = self.ctx.promise()?;
            resolve.call::<_, ()>((returned,))?;
            return Ok(Step::Wait(promise, false));
        }
        Ok(Step::Settled(Ok(returned)))
    }

    fn context(&self, call: &Call, signal: &Value<'js>) -> rquickjs::Result<Object<'js>> {
        let context = Object::new(self.ctx.clone())?;
        context.set("skillName", self.skill.as_str())?;
        context.set("skillDir", self.dir.as_str())?;
        context.set("sessionId", call.session.as_str())?;
        context.set("signal", signal.clone())?;
        let link = Rc::clone(&self.link);
        let id = call.id;
        let log = move |values: Rest<Value<'js>>| {
            let word = values.0.first().and_then(value::text);
            let is_level = matches!(word.as_deref(), Some("debug" | "info" | "warn" | "error" | "trace" | "warning"));
            let (level, rest) = if is_level && values.0.len() > 1 {
                (globals::level_of(word.as_deref().unwrap_or_default()), &values.0[1..])
            } else {
                (Level::Info, &values.0[..])
            };
            link.log(level, &globals::line(rest), Some(id));
        };
        context.set("log", Function::new(self.ctx.clone(), log)?.with_name("log")?)?;
        Ok(context)
    }

    /// Sends the results of all calls that are done.
    fn settle(&mut self) {
        let mut index = 0;
        while index < self.flying.len() {
            let state = self.flying[index].promise.state();
            if state == PromiseState::Pending {
                index += 1;
                continue;
            }
            let flying = self.flying.swap_remove(index);
            self.handled(flying.promise.as_value());
            let result = match flying.promise.result::<Value<'js>>() {
                Some(Ok(value)) => Ok(value),
                _ => Err(self.failed(flying.id)),
            };
            match result {
                Ok(parsed) if flying.checking => {
                    let Some(tool) = self.tools.get(&flying.tool).cloned() else { continue };
                    self.link.watch.until.set(Some(flying.until));
                    self.link.watch.running.set(flying.id);
                    self.leaves(flying.id);
                    match self.checked(flying.id, &tool, &parsed) {
                        Ok(Step::Wait(promise, _)) => {
                            self.flying.push(Flying { promise, checking: false, ..flying });
                        }
                        Ok(Step::Settled(result)) => self.finish(flying.id, &flying.tool, result),
                        Err(_) => {
                            let failed = self.failed(flying.id);
                            self.finish(flying.id, &flying.tool, Err(failed));
                        }
                    }
                }
                result => self.finish(flying.id, &flying.tool, result),
            }
        }
        self.cut_off();
    }

    /// A call whose code was interrupted gets nowhere any more, even if its promise waits for something.
    fn cut_off(&mut self) {
        let Some(id) = self.link.watch.hit.get() else { return };
        let Some(index) = self.flying.iter().position(|flying| flying.id == id) else { return };
        let flying = self.flying.swap_remove(index);
        self.link.watch.hit.set(None);
        let message = "it ran for too long".to_owned();
        self.finish(id, &flying.tool, Err(Failed { id, code: "timeout".into(), message, ..Failed::default() }));
    }

    /// What was thrown, as the end of a call.
    fn failed(&self, id: u64) -> Failed {
        let value = self.ctx.catch();
        let thrown = place::thrown(&self.ctx, &value);
        let interrupted = self.link.watch.interrupted(id);
        let code = if interrupted {
            "timeout"
        } else if thrown.message.contains("out of memory") {
            "memory"
        } else {
            "threw"
        };
        let message = if interrupted { "it ran for too long".to_owned() } else { thrown.message };
        let (file, line, column) = match thrown.place {
            Some(place) => (Some(place.file), Some(place.line), Some(place.column)),
            None => (None, None, None),
        };
        Failed { id, code: code.into(), message, stack: thrown.stack, file, line, column }
    }

    fn finish(&mut self, id: u64, tool: &str, result: Result<Value<'js>, Failed>) {
        self.contexts.remove(&id);
        let answer = match result {
            Ok(value) => match self.read_result(id, tool, &value) {
                Ok(done) => FromChild::Done(done),
                // Reading a result runs the tool's code, too: getters, `toJSON`.
                Err(_) if self.link.watch.interrupted(id) => FromChild::Failed(Failed {
                    id,
                    code: "timeout".into(),
                    message: "it ran for too long".to_owned(),
                    ..Failed::default()
                }),
                Err(value::NotJson { why, is_too_large }) => FromChild::Failed(Failed {
                    id,
                    code: if is_too_large { "too_large" } else { "bad_result" }.into(),
                    message: format!("`{tool}` returned what is no result: {why}"),
                    ..Failed::default()
                }),
            },
            Err(failed) => FromChild::Failed(failed),
        };
        if self.flying.is_empty() {
            self.link.refill_log();
        }
        self.link.send(&answer);
    }

    fn read_result(&self, id: u64, tool: &str, value: &Value<'js>) -> Result<Done, value::NotJson> {
        self.link.watch.running.set(id);
        let caught = |key: &str| {
            let thrown = place::thrown(&self.ctx, &self.ctx.catch());
            value::NotJson::new(format!("`{key}` cannot be read: {}", thrown.message))
        };
        let mut title = None;
        let mut metadata = None;
        let mut output = value.clone();
        if let Some(object) = value.as_object().filter(|_| !value.is_array() && !value.is_error()) {
            let own = |key: &str| object.get::<_, Value<'js>>(key).map_err(|_| caught(key));
            let fields = (own("title")?, own("metadata")?, own("output")?);
            if fields.2.is_undefined() && fields.0.is_undefined() {
                // No result of a tool, just some object: it is the output.
            } else {
                title = value::text(&fields.0);
                metadata = fields.1.is_object().then_some(fields.1);
                output = fields.2;
            }
        }
        let limit = crate::MAX_OUTPUT_BYTES;
        let output = match value::text(&output) {
            Some(text) if text.len() > limit => {
                let why = format!("`output` is larger than {limit} bytes");
                return Err(value::NotJson { why, is_too_large: true });
            }
            Some(text) => text,
            None if output.is_undefined() || output.is_null() => String::new(),
            None => value::json(&output, limit)?,
        };
        let metadata = match metadata {
            Some(metadata) => value::json(&metadata, METADATA)?,
            None => "{}".to_owned(),
        };
        Ok(Done {
            id,
            title: crate::cut(title.as_deref().unwrap_or(tool), 1 << 10).to_owned(),
            metadata: RawValue::from_string(metadata).map_err(|error| value::NotJson::new(error.to_string()))?,
            output,
        })
    }

    /// Nobody waits for the call any more: the tool is told, and its promise forgotten.
    fn abort(&mut self, abort: Abort) {
        let mut settled = true;
        if let Some(index) = self.flying.iter().position(|flying| flying.id == abort.id) {
            let flying = self.flying.swap_remove(index);
            // Its time is over, but its listeners get a moment.
            let alone = self.jobs_of.get().is_none_or(|of| of == abort.id);
            self.leaves(abort.id);
            self.link.watch.running.set(abort.id);
            self.link.watch.until.set(Some(Instant::now() + Duration::from_millis(100)));
            self.link.watch.dealt_with(abort.id);
            if self.prelude.abort.call::<_, ()>((flying.signal.clone(),)).is_err() {
                drop(self.ctx.catch());
            }
            // Jobs of others are not to be hurried by this.
            let mut ran = 0;
            while alone && ran < JOBS && self.ctx.execute_pending_job() {
                ran += 1;
            }
            settled = flying.promise.state() != PromiseState::Pending;
            if settled {
                self.handled(flying.promise.as_value());
            }
            self.contexts.remove(&abort.id);
        }
        self.link.watch.dealt_with(abort.id);
        self.link.send(&FromChild::Aborted(Aborted { id: abort.id, settled }));
    }

    /// A promise of a call is ours to handle.
    fn handled(&self, promise: &Value<'js>) {
        self.rejected
            .borrow_mut()
            .retain(|(other, _)| other.clone().restore(&self.ctx).is_ok_and(|other| other != *promise));
    }

    fn report_rejections(&self) {
        for (_, reason) in self.rejected.take() {
            self.link.log(Level::Warn, &format!("a promise was rejected and nobody handled it: {reason}"), None);
        }
    }
}
