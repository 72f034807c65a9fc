//! The loop: loads once, then runs calls, their promises and their timers, side by side.

use std::cell::Cell;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::rc::Rc;
use std::time::{Duration, Instant};

use rquickjs::function::{Rest, This};
use rquickjs::promise::PromiseState;
use rquickjs::{Ctx, Function, Object, Promise, Value};

use super::definitions::LoadedTool;
use super::globals::{self, Prelude};
use super::link::HostLink;
use super::rejections::RejectedPromises;
use super::results::timeout;
use super::{position, value};
use crate::message::{
    AbortMessage, AbortedMessage, CallMessage, ChildMessage, FailedMessage, HostMessage, LoadMessage, LogLevel,
};

/// The most jobs that run before messages and timers are looked at.
const MAX_JOBS: usize = 512;

/// A call that has not ended.
pub(super) struct CallInFlight<'js> {
    id: u64,
    tool: String,
    /// The promise of the tool, or of the check of its arguments.
    promise: Promise<'js>,
    signal: Value<'js>,
    until: Instant,
    /// The arguments are being checked; the tool itself has not been called.
    checking: bool,
}

/// The loop, with the tools and the calls of one skill.
pub(super) struct CallLoop<'js> {
    pub(super) ctx: Ctx<'js>,
    pub(super) link: Rc<HostLink>,
    pub(super) prelude: Prelude<'js>,
    pub(super) rejected: RejectedPromises,
    pub(super) tools: HashMap<String, Rc<LoadedTool<'js>>>,
    pub(super) in_flight: Vec<CallInFlight<'js>>,
    /// The `ctx` of each call.
    pub(super) contexts: HashMap<u64, Object<'js>>,
    pub(super) skill: String,
    pub(super) dir: String,
    /// The size of all definitions.
    pub(super) definition_bytes: usize,
    /// The call whose jobs are waiting, if any are; 0 if they are of several calls.
    jobs_owner: Cell<Option<u64>>,
}

/// The next step of a call.
enum CallStep<'js> {
    /// Waits for a promise; whether it is that of the check of the arguments.
    Wait(Promise<'js>, bool),
    Settled(Result<Value<'js>, FailedMessage>),
}

impl<'js> CallLoop<'js> {
    pub(super) fn new(
        ctx: Ctx<'js>,
        link: Rc<HostLink>,
        prelude: Prelude<'js>,
        rejected: RejectedPromises,
    ) -> CallLoop<'js> {
        CallLoop {
            ctx,
            link,
            prelude,
            rejected,
            tools: HashMap::new(),
            in_flight: Vec::new(),
            contexts: HashMap::new(),
            skill: String::new(),
            dir: String::new(),
            definition_bytes: 0,
            jobs_owner: Cell::new(None),
        }
    }

    /// Loads, then serves until the host hangs up.
    pub(super) fn serve(mut self, load: &LoadMessage) -> i32 {
        self.load(load);
        loop {
            self.turn();
        }
    }

    /// Takes one turn: receives a message, runs jobs and timers, settles calls that have ended.
    fn turn(&mut self) {
        let busy = !self.in_flight.is_empty();
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
            Some(HostMessage::Call(call)) => self.call(&call),
            Some(HostMessage::Abort(abort)) => self.abort(abort),
            Some(HostMessage::Load(_) | HostMessage::Module(_)) | None => {}
        }
        self.settle();
    }

    /// Runs jobs and timers that are due. Returns whether there were any.
    fn work(&mut self) -> bool {
        let worked = self.run_jobs();
        self.settle();
        // The jobs that a timer makes are of its call only if no others wait.
        if worked {
            return true;
        }
        let fired = self.fire_timers();
        if fired {
            self.end_interrupted();
        }
        fired
    }

    /// Sets the clock before code of a call runs: it has the time of that call. Code of an unknown call has the longest
    /// time that any call has left.
    fn enter(&self, id: u64) {
        if self.in_flight.is_empty() && id == 0 {
            // While toolsets are loaded, the time is set for all of them.
            return;
        }
        let own = self.in_flight.iter().find(|call| call.id == id);
        let until = own.map(|call| call.until).or_else(|| self.in_flight.iter().map(|call| call.until).max());
        self.link.clock.until.set(until);
        self.link.clock.running.set(if own.is_some() { id } else { 0 });
        *self.link.clock.in_flight.borrow_mut() = self.in_flight.iter().map(|call| call.id).collect();
    }

    /// Notes the call whose code leaves jobs behind.
    fn leave_jobs(&self, id: u64) {
        self.jobs_owner.set(Some(match self.jobs_owner.get() {
            Some(other) if other != id => 0,
            _ => id,
        }));
    }

    /// Runs jobs. Returns whether there are more.
    pub(super) fn run_jobs(&self) -> bool {
        self.enter(self.jobs_owner.get().unwrap_or(0));
        let mut ran = 0;
        while ran < MAX_JOBS && self.ctx.execute_pending_job() {
            ran += 1;
        }
        if ran < MAX_JOBS {
            self.jobs_owner.set(None);
        }
        ran == MAX_JOBS
    }

    /// Runs the callback of the next timer that is due. Returns whether there was one.
    pub(super) fn fire_timers(&self) -> bool {
        let now = Instant::now();
        let Some((id, owner)) = self.prelude.timers.borrow_mut().take(now) else { return false };
        self.enter(owner);
        self.leave_jobs(self.link.clock.running.get());
        if self.prelude.fire.call::<_, Value<'js>>((id,)).is_err() {
            let thrown = position::thrown(&self.ctx, &self.ctx.catch());
            self.link.log(LogLevel::Error, &format!("a timer threw: {}", thrown.message), None);
        }
        true
    }

    /// Begins a call.
    fn call(&mut self, call: &CallMessage) {
        self.link.refill_log();
        let failed = |code: &str, message: String| FailedMessage {
            id: call.id,
            code: code.into(),
            message,
            ..FailedMessage::default()
        };
        let Some(tool) = self.tools.get(&call.tool).cloned() else {
            let failed = failed("no_such_tool", format!("there is no tool `{}`", call.tool));
            return self.link.send(&ChildMessage::Failed(failed));
        };
        let until = Instant::now() + Duration::from_millis(call.timeout_ms);
        // Its own time: it is not among the calls in flight yet.
        self.link.clock.until.set(Some(until));
        self.link.clock.running.set(call.id);
        self.link.clock.interrupted.set(None);
        self.leave_jobs(call.id);
        let begun = (|| -> rquickjs::Result<(Value<'js>, CallStep<'js>)> {
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
            let failed = self.thrown_failure(call.id);
            return self.link.send(&ChildMessage::Failed(failed));
        };
        match step {
            CallStep::Wait(promise, checking) => {
                self.in_flight.push(CallInFlight {
                    id: call.id,
                    tool: call.tool.clone(),
                    promise,
                    signal,
                    until,
                    checking,
                });
                // Most tools are done after their first jobs: no need for another turn.
                let _ = self.work();
            }
            CallStep::Settled(result) => self.finish(call.id, &call.tool, result),
        }
    }

    /// Checks arguments with the library the schema was written with, so that its defaults and transforms apply.
    fn check(
        &self,
        id: u64,
        tool: &Rc<LoadedTool<'js>>,
        parser: &Object<'js>,
        arguments: Value<'js>,
    ) -> rquickjs::Result<CallStep<'js>> {
        let parse: Function<'js> = parser.get("safeParse")?;
        if let Ok(parsed) = parse.call::<_, Value<'js>>((This(parser.clone()), arguments.clone())) {
            return self.checked(id, tool, &parsed);
        }
        // Refinements that are async: zod throws for those.
        let thrown = self.ctx.catch();
        let name = thrown.as_object().and_then(|object| object.get::<_, Object<'js>>("constructor").ok());
        let name = name.and_then(|class| class.get::<_, Value<'js>>("name").ok());
        if name.as_ref().and_then(value::text).as_deref() != Some("$ZodAsyncError") {
            return Err(self.ctx.throw(thrown));
        }
        let parse: Function<'js> = parser.get("safeParseAsync")?;
        let parsed: Value<'js> = parse.call((This(parser.clone()), arguments))?;
        match parsed.as_promise() {
            Some(promise) => Ok(CallStep::Wait(promise.clone(), true)),
            None => self.checked(id, tool, &parsed),
        }
    }

    /// Calls the tool if the library has accepted the arguments; otherwise returns its reasons.
    fn checked(&self, id: u64, tool: &Rc<LoadedTool<'js>>, parsed: &Value<'js>) -> rquickjs::Result<CallStep<'js>> {
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
        Ok(CallStep::Settled(Err(FailedMessage {
            id,
            code: "invalid_argument".into(),
            message,
            ..FailedMessage::default()
        })))
    }

    /// Calls the tool.
    fn execute(&self, id: u64, tool: &Rc<LoadedTool<'js>>, arguments: Value<'js>) -> rquickjs::Result<CallStep<'js>> {
        let context = self.contexts.get(&id).cloned();
        let returned: Value<'js> = tool.execute.call((This(tool.object.clone()), arguments, context))?;
        if let Some(promise) = returned.as_promise() {
            return Ok(CallStep::Wait(promise.clone(), false));
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
            return Ok(CallStep::Wait(promise, false));
        }
        Ok(CallStep::Settled(Ok(returned)))
    }

    /// Returns the `ctx` that the tool gets.
    fn context(&self, call: &CallMessage, signal: &Value<'js>) -> rquickjs::Result<Object<'js>> {
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
                (LogLevel::Info, &values.0[..])
            };
            link.log(level, &globals::line(rest), Some(id));
        };
        context.set("log", Function::new(self.ctx.clone(), log)?.with_name("log")?)?;
        Ok(context)
    }

    /// Sends the results of all calls that are done.
    fn settle(&mut self) {
        let mut index = 0;
        while index < self.in_flight.len() {
            let state = self.in_flight[index].promise.state();
            if state == PromiseState::Pending {
                index += 1;
                continue;
            }
            let call = self.in_flight.swap_remove(index);
            self.forget_rejection(call.promise.as_value());
            let result = match call.promise.result::<Value<'js>>() {
                Some(Ok(value)) => Ok(value),
                _ => Err(self.thrown_failure(call.id)),
            };
            match result {
                Ok(parsed) if call.checking => {
                    let Some(tool) = self.tools.get(&call.tool).cloned() else { continue };
                    self.link.clock.until.set(Some(call.until));
                    self.link.clock.running.set(call.id);
                    self.leave_jobs(call.id);
                    match self.checked(call.id, &tool, &parsed) {
                        Ok(CallStep::Wait(promise, _)) => {
                            self.in_flight.push(CallInFlight { promise, checking: false, ..call });
                        }
                        Ok(CallStep::Settled(result)) => self.finish(call.id, &call.tool, result),
                        Err(_) => {
                            let failed = self.thrown_failure(call.id);
                            self.finish(call.id, &call.tool, Err(failed));
                        }
                    }
                }
                result => self.finish(call.id, &call.tool, result),
            }
        }
        self.end_interrupted();
    }

    /// Ends a call whose code was interrupted, even if its promise is pending.
    fn end_interrupted(&mut self) {
        let Some(id) = self.link.clock.interrupted.get() else { return };
        let Some(index) = self.in_flight.iter().position(|call| call.id == id) else { return };
        let call = self.in_flight.swap_remove(index);
        self.link.clock.interrupted.set(None);
        self.finish(id, &call.tool, Err(timeout(id)));
    }

    /// Drops a call for which the caller no longer waits: the tool's signal is aborted, and its promise forgotten.
    fn abort(&mut self, abort: AbortMessage) {
        let mut settled = true;
        if let Some(index) = self.in_flight.iter().position(|call| call.id == abort.id) {
            let call = self.in_flight.swap_remove(index);
            // Its time is over, but its listeners get a moment.
            let alone = self.jobs_owner.get().is_none_or(|of| of == abort.id);
            self.leave_jobs(abort.id);
            self.link.clock.running.set(abort.id);
            self.link.clock.until.set(Some(Instant::now() + Duration::from_millis(100)));
            self.link.clock.forget_abort(abort.id);
            if self.prelude.abort.call::<_, ()>((call.signal.clone(),)).is_err() {
                drop(self.ctx.catch());
            }
            // Jobs of other calls must not run on its time.
            let mut ran = 0;
            while alone && ran < MAX_JOBS && self.ctx.execute_pending_job() {
                ran += 1;
            }
            settled = call.promise.state() != PromiseState::Pending;
            if settled {
                self.forget_rejection(call.promise.as_value());
            }
            self.contexts.remove(&abort.id);
        }
        self.link.clock.forget_abort(abort.id);
        self.link.send(&ChildMessage::Aborted(AbortedMessage { id: abort.id, settled }));
    }
}
