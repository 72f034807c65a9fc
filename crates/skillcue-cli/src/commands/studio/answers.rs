//! The answers to the page's questions: the documents that commands print with `--json`.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use serde::Serialize;
use serde_json::{Value, json};
use skillcue::consent::{Consent, may_show};
use skillcue::{Budget, Mode, Policy, Request, Skill, Skillcue, Tokens};
use skillcue_studio::{StudioConfig, StudioData, StudioFailure, StudioQuestion};

use super::edits;
use super::evals::{self, LiveEvaluation};
use super::messages::StudioMessages;
use crate::commands::prompt::PromptJson;
use crate::commands::why::WhyJson;
use crate::commands::{allowed, audit, doctor, list, show, usage, verify};
use crate::context::{Context, ContextTemplate};
use crate::error::CliError;
use crate::text;
use crate::turn::{MODES, POLICIES};

/// The smallest and the largest context window of a list of skills, in tokens.
const WINDOWS: std::ops::RangeInclusive<usize> = 1_000..=10_000_000;

/// Most skills that one question about consent is answered for.
const MAX_HELD: usize = 100;

/// Answers the page's questions. Those about a message are asked of skills that are watched; the others are answered by a
/// context of their own, as their command would.
#[derive(Debug)]
pub(super) struct StudioAnswers {
    skills: Arc<Skillcue>,
    template: ContextTemplate,
    messages: StudioMessages,
    about: Value,
    mode: Mode,
    /// The evaluation of the messages, made when it is first asked for, and the number of changes before it.
    live: Mutex<Option<(u64, Arc<LiveEvaluation>)>>,
    changes: Arc<AtomicU64>,
}

/// A message, and the configuration under which it is asked about.
struct MessageRequest<'m> {
    message: &'m str,
    mode: Mode,
    policy: Option<Policy>,
    budget: Option<Budget>,
    eagerness: Option<f32>,
}

impl StudioAnswers {
    pub(super) fn new(
        context: &Context,
        messages: StudioMessages,
        edit: bool,
        exported: bool,
    ) -> Result<StudioAnswers, CliError> {
        let mode = context.mode(None)?;
        let config = context.disclose()?.config();
        let shaped = config.clone();
        context.shape_skills(move |builder| builder.disclosure(shaped.clone()).mode(mode));
        let skills = Arc::clone(context.skills()?);
        context.prepare(mode)?;
        let words = |name: &str| !name.contains('-');
        let environment = context.environment()?;
        let about = json!({
            "version": env!("CARGO_PKG_VERSION"),
            "edit": edit,
            "exported": exported,
            "home": environment.home.as_deref().map(Path::to_string_lossy),
            "project": environment.project().map(|dir| text::path(dir, None, environment.home.as_deref())),
            "mode": word(MODES, &mode),
            "policy": word(POLICIES, &config.policy),
            "eagerness": config.eagerness,
            "budget": config.max_total_tokens.map_or(0, |tokens| tokens.0),
            "per_skill": config.max_per_skill_tokens.map_or(0, |tokens| tokens.0),
            "window": config.window,
            "counter": config.counter,
            "modes": MODES.iter().map(|(name, ..)| name).filter(|name| words(name)).collect::<Vec<_>>(),
            "policies": POLICIES.iter().map(|(name, ..)| name).collect::<Vec<_>>(),
            "set": messages.file.as_deref().map(|file| context.short_path(file)),
            "messages": messages.offered().map(|case| json!({"query": case.query, "relevant": case.relevant})).collect::<Vec<_>>(),
            "all_messages": messages.cases.len(),
        });
        let (template, live) = (context.template(), Mutex::default());
        Ok(StudioAnswers { skills, template, messages, about, mode, live, changes: Arc::default() })
    }

    /// Returns the number of changes of skills, to be raised with each: what was made before one is made again.
    pub(super) fn changes(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.changes)
    }

    /// Returns the ids of the evaluations that there are.
    pub(super) fn eval_ids(&self) -> Vec<String> {
        evals::ids(self.live().as_deref(), &self.template.context())
    }

    /// Returns the ids of the conversations that were traced, the latest first.
    pub(super) fn trace_ids(&self) -> Vec<String> {
        let traces = self.document(StudioQuestion::Traces {}).unwrap_or_default();
        let traces: Value = serde_json::from_slice(&traces).unwrap_or_default();
        let sessions = traces["sessions"].as_array().into_iter().flatten();
        sessions.filter_map(|session| Some(session["session"].as_str()?.to_owned())).collect()
    }

    /// Returns the messages that the page offers.
    pub(super) fn messages(&self) -> impl Iterator<Item = &str> {
        self.messages.offered().map(|case| case.query.as_str())
    }

    /// Returns the number of messages that the page offers, and of all messages.
    pub(super) fn message_counts(&self) -> (usize, usize) {
        (self.messages.offered().count(), self.messages.cases.len())
    }

    fn live(&self) -> Option<Arc<LiveEvaluation>> {
        if !self.messages.is_labelled {
            return None;
        }
        // Held while it is made: what is asked meanwhile waits for the same.
        let mut live = skillcue_base::lock(&self.live);
        let changes = self.changes.load(Ordering::SeqCst);
        if live.as_ref().is_none_or(|(of, _)| *of != changes) {
            *live = Some((changes, Arc::new(LiveEvaluation::of(&self.skills, &self.messages, self.mode))));
        }
        live.as_ref().map(|(_, live)| Arc::clone(live))
    }

    fn request<'m>(&self, message: &'m str, config: &StudioConfig) -> Result<MessageRequest<'m>, CliError> {
        let mode = config.mode.as_deref().map(|name| named(MODES, name, "mode")).transpose()?.unwrap_or(self.mode);
        let policy = config.policy.as_deref().map(|name| named(POLICIES, name, "policy")).transpose()?;
        let limit = |field: &str, tokens: Option<usize>| {
            let tokens = tokens.or_else(|| usize::try_from(self.about[field].as_u64()?).ok()).unwrap_or(0);
            (tokens > 0).then_some(Tokens(tokens))
        };
        let budget = (config.budget.is_some() || config.per_skill.is_some())
            .then(|| Budget { total: limit("budget", config.budget), per_skill: limit("per_skill", config.per_skill) });
        let request = MessageRequest { message, mode, policy, budget, eagerness: config.eagerness };
        self.skills.check_request(&request.request())?;
        Ok(request)
    }

    fn why(&self, skills: &Skillcue, asked: &MessageRequest<'_>, name: Option<&str>) -> Result<Vec<u8>, CliError> {
        if let Some(name) = name {
            self.skills.check_known(name)?;
        }
        let found = skills.select(&asked.request());
        let shown = skills.disclose(asked.request());
        let explanation = name.map(|name| skills.explain(&asked.request(), name));
        // Not through a `Value`, which would write the digits of single-precision numbers as those of double ones.
        written(&WhyJson::of(&found, &shown, explanation.as_ref()))
    }

    fn document(&self, question: StudioQuestion) -> Result<Vec<u8>, CliError> {
        let context = || self.template.context();
        match question {
            StudioQuestion::About {} => {
                let catalog = self.skills.catalog();
                let mut about = self.about.clone();
                about["skills"] = catalog.len().into();
                about["visible"] = self.skills.census().visible.into();
                about["invalid"] = catalog.invalid().len().into();
                about["foreign"] = catalog.skills().any(Skill::is_foreign).into();
                about["generation"] = catalog.generation().to_string().into();
                written(&about)
            }
            StudioQuestion::List {} => {
                let catalog = self.skills.catalog();
                Ok(list::json(&catalog.skills().collect::<Vec<&Skill>>()))
            }
            StudioQuestion::Show { name } => show::json(&name, &self.skills),
            StudioQuestion::Context { message, config } => {
                written(&self.skills.disclose(self.request(&message, &config)?.request()))
            }
            StudioQuestion::Why { message, name, config } => {
                self.why(&self.skills, &self.request(&message, &config)?, name.as_deref())
            }
            StudioQuestion::WhatIf { message, name, description, config } => {
                let asked = self.request(&message, &config)?;
                let draft = self.skills.with_description(&name, &description)?;
                let before = self.why(&self.skills, &asked, Some(&name))?;
                let after = self.why(&draft, &asked, Some(&name))?;
                Ok([b"{\"before\":", &before[..], b",\"after\":", &after[..], b"}"].concat())
            }
            StudioQuestion::Held { names } => {
                let (context, catalog) = (context(), self.skills.catalog());
                let gate = context.host()?.consent();
                let is_held = |name: &&String| catalog.get(name).is_some_and(|skill| !may_show(skill, &*gate));
                written(&json!({"held": names.iter().take(MAX_HELD).filter(is_held).collect::<Vec<_>>()}))
            }
            StudioQuestion::Prompt { window } => {
                let window = window.clamp(*WINDOWS.start(), *WINDOWS.end());
                written(&PromptJson::of(&self.skills.prompt_within(Tokens(window))))
            }
            StudioQuestion::Doctor {} => doctor::json(&context()),
            StudioQuestion::Collisions {} => doctor::collisions_json(&context()),
            StudioQuestion::Evals {} => written(&evals::all(self.live().as_deref(), &context())?),
            StudioQuestion::Eval { run } => evals::one(&run, self.live().as_deref(), &self.messages, &context()),
            #[cfg(feature = "agent")]
            StudioQuestion::Traces {} => crate::commands::trace::json(None, &context()),
            #[cfg(feature = "agent")]
            StudioQuestion::Trace { session } => {
                // An id of a conversation, never a path.
                let is_id = session.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
                if !is_id || session.is_empty() {
                    return Err(CliError::failure("not_found", "there is no such conversation"));
                }
                crate::commands::trace::json(Some(&session), &context())
            }
            StudioQuestion::Usage { since } => usage::json(&since, &context()),
            StudioQuestion::Audit {} => audit::json(&context()),
            StudioQuestion::Verify {} => verify::json(&context()),
            StudioQuestion::Allowed {} => written(&allowed::document(&context())?),
            StudioQuestion::Denied {} => {
                let denied = context().host()?.consent_store().refusals();
                let row = |one: &Consent| json!({"subject": one.subject, "since": one.since});
                written(&denied.iter().map(row).collect::<Vec<_>>())
            }
            StudioQuestion::Preview { name, description } => {
                written(&edits::preview(&self.skills, &name, &description, &context())?)
            }
            StudioQuestion::Save { name, description, before } => {
                let saved = edits::save(&self.skills, &name, &description, &before, &context())?;
                self.changes.fetch_add(1, Ordering::SeqCst);
                written(&saved)
            }
            other => Err(CliError::failure("missing", format!("this build cannot answer {:?}", other.name()))
                .help("build the program with its default features")),
        }
    }
}

impl<'m> MessageRequest<'m> {
    fn request(&self) -> Request<'m> {
        let mut request = Request::new(self.message).mode(self.mode);
        if let Some(policy) = self.policy {
            request = request.policy(policy);
        }
        if let Some(budget) = self.budget {
            request = request.budget(budget);
        }
        match self.eagerness {
            Some(eagerness) => request.eagerness(eagerness),
            None => request,
        }
    }
}

impl StudioData for StudioAnswers {
    fn answer(&self, question: StudioQuestion) -> Result<Vec<u8>, StudioFailure> {
        self.document(question)
            .map_err(|error| StudioFailure::new(error.code(), error.message()).help(error.hint().unwrap_or_default()))
    }
}

fn written(document: &impl Serialize) -> Result<Vec<u8>, CliError> {
    Ok(serde_json::to_vec(document)?)
}

/// Returns the word of an option's value.
fn word<T: PartialEq>(words: &[(&'static str, T, &str)], value: &T) -> &'static str {
    words.iter().find(|(_, known, _)| known == value).map_or("", |(name, ..)| name)
}

/// Returns the value of a word.
fn named<T: Copy>(words: &[(&str, T, &str)], name: &str, what: &str) -> Result<T, CliError> {
    let known = words.iter().find(|(word, ..)| *word == name).map(|(_, value, _)| *value);
    known.ok_or_else(|| CliError::usage("usage", format!("there is no {what} {name:?}")))
}
