//! Loads the entries of the manifest: evaluates their modules, and collects their tools.

use std::rc::Rc;
use std::time::{Duration, Instant};

use rquickjs::promise::PromiseState;
use rquickjs::{Module, Object, Value};
use serde_json::value::RawValue;

use super::calls::CallLoop;
use super::definitions::{self, LoadedTool};
use super::position::{self, SourcePosition};
use crate::message::{
    BytecodeMessage, ChildMessage, CompiledModule, LoadMessage, LoadingMessage, ToolsetDefinitions, ToolsetEntry,
    WireDiagnostic,
};

/// The largest sum of the schemas and descriptions of all tools of a skill.
const MAX_DEFINITION_BYTES: usize = 1 << 20;
/// The most findings that are reported.
const MAX_FINDINGS: usize = 200;

impl<'js> CallLoop<'js> {
    /// Loads the toolsets of a skill, and reports their tools and problems.
    pub(super) fn load(&mut self, load: &LoadMessage) {
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
        let mut definitions = ToolsetDefinitions::default();
        for (index, entry) in load.entries.iter().enumerate() {
            self.link.send(&ChildMessage::Loading(LoadingMessage { entry: index }));
            let until = Instant::now() + Duration::from_millis(load.timeout_ms);
            self.link.clock.until.set(Some(until));
            let (tools, problems) = match self.load_entry(&load.schemas, entry, until) {
                Ok(loaded) => loaded,
                Err(problem) => (Vec::new(), vec![problem]),
            };
            for tool in tools {
                self.add(entry, tool, &mut definitions);
            }
            definitions.findings.extend(problems.into_iter().map(|problem| problem.about(&entry.declared)));
        }
        definitions.findings.truncate(MAX_FINDINGS);
        self.link.clock.until.set(None);
        self.report_rejections();
        self.link.refill_log();
        let compiled = self.link.compiled.take();
        self.link.send(&ChildMessage::Ready(definitions));
        if let Some(compiled) = compiled {
            let modules = compiled
                .iter()
                .map(|(id, bytes)| CompiledModule { id: id.clone(), length: bytes.len() as u64 })
                .collect();
            let bytes: Vec<&[u8]> = compiled.iter().map(|(_, bytes)| bytes.as_slice()).collect();
            self.link.send_with(&ChildMessage::Bytecode(BytecodeMessage { modules }), &bytes);
        }
    }

    /// Adds a tool, unless another has its id or there is too much of all of them.
    fn add(&mut self, entry: &ToolsetEntry, tool: LoadedTool<'js>, definitions: &mut ToolsetDefinitions) {
        let id = tool.defined.id.clone();
        if let Some(first) = self.tools.get(&id) {
            // One object in two toolsets is one tool.
            if first.object == tool.object {
                return;
            }
            let message = format!("there are two tools `{id}`; the first one counts, in {}", first.defined.file);
            let mut found = WireDiagnostic::new("toolset_duplicate", message, Some("give one of them another id"));
            found.file = Some(tool.defined.file.clone());
            found.line = tool.defined.line;
            found.column = tool.column;
            definitions.findings.push(found.about(&entry.declared));
            return;
        }
        self.definition_bytes += tool.defined.schema.get().len() + tool.defined.description.len();
        if self.definition_bytes > MAX_DEFINITION_BYTES {
            let message =
                format!("the definition of `{id}` does not fit: all of a skill have {MAX_DEFINITION_BYTES} bytes");
            let mut found = WireDiagnostic::new("toolset_shape", message, Some("say less, or in fewer tools"));
            found.file = Some(tool.defined.file.clone());
            definitions.findings.push(found.about(&entry.declared));
            return;
        }
        definitions.tools.push(tool.defined.clone());
        self.tools.insert(id, Rc::new(tool));
    }

    /// Evaluates a module, and returns the tools of its export with the problems of the rest.
    fn load_entry(
        &mut self,
        schemas: &[(String, Box<RawValue>)],
        entry: &ToolsetEntry,
        until: Instant,
    ) -> Result<(Vec<LoadedTool<'js>>, Vec<WireDiagnostic>), WireDiagnostic> {
        self.link.first_problem.take();
        self.link.clock.interrupted.set(None);
        let Ok(promise) = Module::import(&self.ctx, entry.path.as_str()) else {
            return Err(self.load_problem(entry, &self.ctx.catch()));
        };
        let file = self.file_of(entry);
        loop {
            match promise.state() {
                PromiseState::Resolved => break,
                PromiseState::Rejected => {
                    self.forget_rejection(promise.as_value());
                    let _ = promise.result::<Value<'js>>();
                    return Err(self.load_problem(entry, &self.ctx.catch()));
                }
                PromiseState::Pending => {}
            }
            let more = self.run_jobs();
            if promise.state() != PromiseState::Pending {
                continue;
            }
            if Instant::now() < until {
                // A timer's jobs may set the next one: only when there is neither does nothing come any more.
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
            return Err(self.load_problem(entry, &self.ctx.catch()));
        };
        Ok(definitions::tools(&self.ctx, schemas, entry, &file, &namespace))
    }

    /// Returns the file of an entry, as far as it is resolved.
    fn file_of(&self, entry: &ToolsetEntry) -> String {
        let key = (String::new(), entry.path.clone());
        self.link.resolved.borrow().get(&key).cloned().unwrap_or_else(|| entry.path.clone())
    }

    /// Returns the reason that a toolset did not load.
    fn load_problem(&self, entry: &ToolsetEntry, thrown: &Value<'js>) -> WireDiagnostic {
        if let Some(found) = self.link.first_problem.take() {
            return found;
        }
        let late = self.link.clock.interrupted.take().is_some();
        let thrown = position::thrown(&self.ctx, thrown);
        let missing = thrown.message.contains("Could not find export");
        let code = if missing { "toolset_export" } else { "toolset_threw" };
        let message = match (missing, late) {
            (true, _) => thrown.message,
            (false, true) => format!("`{}` did not finish loading in time", entry.path),
            (false, false) => format!("`{}` threw while it was loaded: {}", entry.path, thrown.message),
        };
        let imported = if missing { self.missing_import(&message) } else { None };
        let mut found = WireDiagnostic::new(code, message, None);
        let position = imported.or(thrown.position).or_else(|| {
            // The value that was thrown is no error and has no position; most often there is one `throw` it can be of.
            let file = self.file_of(entry);
            let word = if late { "while" } else { "throw" };
            let (line, column) = position::of_word(&position::text_of(&file)?.text, word)?;
            Some(SourcePosition { file, line, column })
        });
        match position {
            Some(at) => (found.file, found.line, found.column) = (Some(at.file), Some(at.line), Some(at.column)),
            None => found.file = Some(self.file_of(entry)),
        }
        found
    }

    /// Returns the position of an import that its module does not export.
    fn missing_import(&self, message: &str) -> Option<SourcePosition> {
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
            let (line, column) = position::of_word(&position::text_of(file)?.text, name)?;
            Some(SourcePosition { file: file.clone(), line, column })
        })
    }
}
