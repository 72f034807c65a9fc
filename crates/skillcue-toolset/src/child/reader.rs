//! The thread that reads what a child sends, and answers its questions.

use std::collections::HashSet;
use std::fs::File;
use std::io::BufReader;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Sender;

use skillcue_base::Shown;
use skillcue_exec::Killer;

use super::{BytecodeSink, CallEvent, ChildLink, DependencySink, ExitCause, LoadProgress};
use crate::frame::{self, FrameError};
use crate::message::{ChildMessage, HostMessage, LogLevel, MAX_BYTECODE_BYTES, ModuleAnswer};
use crate::resolve::Resolver;

/// The longest line a child may send: a result, every byte of which JSON may write as six, with its metadata.
const MAX_LINE_BYTES: usize = 8 << 20;

/// Reads the messages of a child until it ends.
pub(super) struct ChildReader {
    pub(super) shared: Arc<ChildLink>,
    pub(super) resolver: Resolver,
    /// Modules whose source the child has.
    pub(super) sent: HashSet<String>,
    pub(super) progress: Sender<LoadProgress>,
    pub(super) on_bytecode: Option<BytecodeSink>,
    pub(super) on_files: DependencySink,
    /// Whether the child has loaded.
    pub(super) is_ready: bool,
    pub(super) skill: String,
}

impl ChildReader {
    pub(super) fn run(mut self, stdout: File, killer: &Killer) {
        let mut from = BufReader::with_capacity(64 << 10, stdout);
        let gone = loop {
            match frame::read::<ChildMessage>(&mut from, MAX_LINE_BYTES) {
                Ok(ChildMessage::Bytecode(bytecode)) => {
                    let lengths = bytecode.modules.iter().map(|module| module.length);
                    match frame::read_bytes(&mut from, lengths, MAX_BYTECODE_BYTES) {
                        Ok(pieces) => {
                            let modules = bytecode.modules.into_iter().map(|module| module.id).zip(pieces).collect();
                            if let Some(on_bytecode) = self.on_bytecode.take() {
                                on_bytecode(modules, &self.resolver.dependencies);
                            }
                        }
                        Err(error) => break exit_cause(&error),
                    }
                }
                Ok(message) => {
                    if let Err(error) = self.receive(message) {
                        break error;
                    }
                }
                Err(error) => break exit_cause(&error),
            }
        };
        let gone = if self.shared.killed.load(Ordering::Acquire) { ExitCause::Killed } else { gone };
        if matches!(gone, ExitCause::Protocol(_)) {
            killer.kill();
        }
        self.shared.end(&gone);
        let _ = self.progress.send(LoadProgress::Gone(gone));
    }

    /// Answers a message, or hands it on.
    fn receive(&mut self, message: ChildMessage) -> Result<(), ExitCause> {
        match message {
            ChildMessage::Module(question) => {
                let answer = self.resolver.resolve(&question.from, &question.specifier).and_then(|id| {
                    let source = if self.sent.contains(&id) { None } else { Some(self.resolver.source(&id)?) };
                    self.sent.insert(id.clone());
                    Ok(ModuleAnswer::Found { id, source })
                });
                if self.is_ready {
                    (self.on_files)(&self.resolver.dependencies);
                }
                self.answer(answer.unwrap_or_else(ModuleAnswer::Refused))
            }
            ChildMessage::Source(question) => {
                let known = self.sent.contains(&question.id)
                    || self.resolver.dependencies.resolved.values().any(|id| *id == question.id);
                if !known {
                    return Err(ExitCause::Protocol("it asked for a module that it never resolved".to_owned()));
                }
                let answer = self.resolver.source(&question.id);
                self.answer(answer.map_or_else(ModuleAnswer::Refused, |source| ModuleAnswer::Found {
                    id: question.id,
                    source: Some(source),
                }))
            }
            ChildMessage::Loading(loading) => {
                let _ = self.progress.send(LoadProgress::Loading(loading.entry));
                Ok(())
            }
            ChildMessage::Ready(ready) => {
                self.is_ready = true;
                let _ = self.progress.send(LoadProgress::Ready(Box::new((ready, self.resolver.dependencies.clone()))));
                Ok(())
            }
            ChildMessage::Done(done) => {
                self.shared.notify(done.id, CallEvent::Done(Box::new(done)), true);
                Ok(())
            }
            ChildMessage::Failed(failed) => {
                self.shared.notify(failed.id, CallEvent::Failed(Box::new(failed)), true);
                Ok(())
            }
            ChildMessage::Aborted(aborted) => {
                self.shared.notify(aborted.id, CallEvent::Aborted { settled: aborted.settled }, true);
                Ok(())
            }
            ChildMessage::Log(log) => {
                self.log(log.level, &log.text);
                if let Some(call) = log.call {
                    self.shared.notify(call, CallEvent::Log(log.level, log.text), false);
                }
                Ok(())
            }
            // The loop in `run` takes it, with the bytes behind it.
            ChildMessage::Bytecode(_) => Err(ExitCause::Protocol("it sent bytecode out of turn".to_owned())),
        }
    }

    fn answer(&self, answer: ModuleAnswer) -> Result<(), ExitCause> {
        self.shared.send(&HostMessage::Module(answer), &[]).map_err(|_| ExitCause::Ended)
    }

    fn log(&self, level: LogLevel, text: &str) {
        let (skill, text) = (self.skill.as_str(), Shown(text));
        match level {
            LogLevel::Debug => tracing::debug!(target: "skillcue::toolset", skill, "{text}"),
            LogLevel::Info => tracing::info!(target: "skillcue::toolset", skill, "{text}"),
            LogLevel::Warn => tracing::warn!(target: "skillcue::toolset", skill, "{text}"),
            LogLevel::Error => tracing::error!(target: "skillcue::toolset", skill, "{text}"),
        }
    }
}

/// Returns the reason that no more messages can be read.
fn exit_cause(error: &FrameError) -> ExitCause {
    match error {
        FrameError::End | FrameError::Io(_) => ExitCause::Ended,
        FrameError::TooLong(_) | FrameError::Garbage(_) => ExitCause::Protocol(error.to_string()),
    }
}
