//! `--model`: labelled messages through the agent, with a real model: what was shown, what it then loaded.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;
use skillcue::config::AgentAllow;
use skillcue::eval::EvalCase;
use skillcue::{Decision, Disclosure, ErrorInfo as _, Mode};
use skillcue_agent::{AgentError, Task, TaskDone, batch};

use crate::agent::AgentSetup;
use crate::agent::args::Args as AgentArgs;
use crate::agent::endpoint::ModelArgs;
use crate::agent::screen::OutputMode;
use crate::context::Context;
use crate::error::CliError;
use crate::progress::ProgressIndicator;
use crate::terminal::{paint, style};
use crate::text;

/// Most mistakes that are listed; -v lists all.
const MAX_LISTED: usize = 10;

/// Most rounds of a turn: the model loads its skills in the first ones.
const MAX_ROUNDS: u32 = 6;

// Arguments that choose the model.
#[derive(Debug, clap::Args)]
pub(super) struct EvalModelArgs {
    #[command(flatten)]
    model: ModelArgs,
    /// Send at most N messages at once to the model
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=256), requires = "model")]
    jobs: u16,
}

/// The agent that messages are sent through.
pub(super) struct ModelTrial {
    setup: AgentSetup,
    jobs: usize,
}

/// The part of a model in an evaluation.
#[derive(Debug, Serialize)]
pub(super) struct ModelJson {
    name: String,
    figures: ModelFigures,
    cases: Vec<ModelCase>,
}

/// The figures of the messages that the model answered. A share is `None` if there are no messages of its kind.
#[derive(Debug, Serialize)]
struct ModelFigures {
    /// The number of messages that were answered.
    answered: usize,
    /// The number of messages without an answer.
    failed: usize,
    /// Of the messages that need a skill: a right one was shown or named.
    offered: Option<f64>,
    /// Of them: a right one was loaded, or its body was shown.
    reached: Option<f64>,
    /// Of the messages whose right skill was only named: it was loaded.
    taken: Option<f64>,
    /// Of the messages that need a skill: a wrong one was loaded.
    wrongly_loaded: Option<f64>,
    /// Of the messages that need none, or must not get some: such a one was loaded.
    loaded_for_nothing: Option<f64>,
    /// The mean of the tokens of requests of an answer, as we count them.
    tokens: Option<f64>,
}

/// The answer to one message.
#[derive(Debug, Serialize)]
struct ModelCase {
    query: String,
    /// The skills of which the message needs one.
    expected: Vec<String>,
    /// The skills that it must not get.
    not_expected: Vec<String>,
    /// The skills whose bodies were shown.
    shown: Vec<String>,
    /// The skills that were named.
    named: Vec<String>,
    /// The skills that the model loaded.
    loaded: Vec<String>,
    /// Whether it reached a right skill, and loaded no wrong one.
    right: bool,
    rounds: Option<u32>,
    tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ModelCaseError>,
}

#[derive(Debug, Serialize)]
struct ModelCaseError {
    code: &'static str,
    message: String,
}

impl EvalModelArgs {
    /// Makes the agent, if a model is named. To be called before the first use of the skills.
    pub(super) fn setup(
        &self,
        mode: Option<Mode>,
        eagerness: Option<f32>,
        context: &Context,
    ) -> Result<Option<ModelTrial>, CliError> {
        if self.model.model.is_none() {
            return Ok(None);
        }
        let ModelArgs { model, base_url, api } = &self.model;
        // Bodies are what is tried; scripts and tools of skills are not run for it.
        let args = AgentArgs {
            model: ModelArgs { model: model.clone(), base_url: base_url.clone(), api: *api },
            allow: vec![AgentAllow::Skills],
            max_rounds: Some(MAX_ROUNDS),
            no_memory: true,
            no_save: true,
            is_trial: true,
            batch: Some(String::new()),
            mode,
            eagerness,
            ..AgentArgs::default()
        };
        let mut setup = AgentSetup::new(&args, context, OutputMode::Json, false)?;
        // The files of this machine are none of the messages'.
        setup.work_dir = None;
        Ok(Some(ModelTrial { setup, jobs: usize::from(self.jobs) }))
    }
}

impl ModelTrial {
    /// Sends every message in a conversation of its own.
    pub(super) fn ask(self, cases: &[EvalCase]) -> Result<ModelJson, CliError> {
        let ModelTrial { setup, jobs } = self;
        let task = |(at, case): (usize, &EvalCase)| Task { id: at.to_string(), messages: vec![case.query.clone()] };
        let tasks = cases.iter().enumerate().map(task).collect();
        let progress = ProgressIndicator::bar("asking the model", cases.len());
        let cancel = setup.interrupts.begin();
        let begin = |task: &Task| setup.begin(&format!("eval-{}", task.id)).map_err(AgentError::from);
        let mut ended: BTreeMap<usize, TaskDone> = BTreeMap::new();
        let mut done = |task: TaskDone| {
            progress.step();
            ended.insert(task.id.parse().unwrap_or(usize::MAX), task);
        };
        setup.runtime.block_on(batch(&setup.agent, tasks, jobs, &begin, &mut done, &setup.consent, &cancel));
        setup.interrupts.end();
        drop(progress);
        if cancel.is_cancelled() {
            return Err(CliError::failure("interrupted", "the evaluation was interrupted").help("run it again"));
        }
        let name = setup.model.clone();
        setup.runtime.shutdown_background();
        let answers = cases.iter().enumerate().filter_map(|(at, case)| Some(ModelCase::of(case, ended.get(&at)?)));
        let cases: Vec<ModelCase> = answers.collect();
        if let Some(error) =
            cases.iter().find_map(|case| case.error.as_ref()).filter(|_| cases.iter().all(ModelCase::failed))
        {
            return Err(CliError::failure(error.code, format!("{name} answered no message: {}", error.message))
                .help("check the model with `skillcue agent -p hello`"));
        }
        Ok(ModelJson { name, figures: ModelFigures::of(&cases), cases })
    }
}

impl ModelCase {
    fn of(case: &EvalCase, done: &TaskDone) -> ModelCase {
        let disclosed = |is: &dyn Fn(Decision) -> bool| -> Vec<String> {
            let skills = done.disclosure.iter().flat_map(|disclosure: &Disclosure| &disclosure.skills);
            skills.filter(|skill| is(skill.decision)).map(|skill| skill.name.clone()).collect()
        };
        let report = done.outcome.as_ref().ok();
        let mut answer = ModelCase {
            query: case.query.clone(),
            expected: case.relevant.clone(),
            not_expected: case.not_relevant.clone(),
            shown: disclosed(&|decision| matches!(decision, Decision::Included | Decision::Shortened)),
            named: disclosed(&|decision| decision == Decision::Named),
            loaded: done.loaded.clone(),
            right: false,
            rounds: report.map(|report| report.rounds),
            tokens: report.map(|report| report.input),
            error: done
                .outcome
                .as_ref()
                .err()
                .map(|error| ModelCaseError { code: error.code(), message: error.to_string() }),
        };
        answer.right = answer.error.is_none()
            && !answer.loaded.iter().any(|name| answer.is_wrong(name))
            && (answer.expected.is_empty() || answer.reached());
        answer
    }

    fn failed(&self) -> bool {
        self.error.is_some()
    }

    fn is_expected(&self, name: &String) -> bool {
        self.expected.contains(name)
    }

    /// Returns whether a skill must not be loaded for the message.
    fn is_wrong(&self, name: &String) -> bool {
        match &self.not_expected[..] {
            [] => !self.is_expected(name),
            forbidden => forbidden.contains(name),
        }
    }

    fn reached(&self) -> bool {
        self.loaded.iter().chain(&self.shown).any(|name| self.is_expected(name))
    }
}

impl ModelFigures {
    fn of(cases: &[ModelCase]) -> ModelFigures {
        let answered: Vec<&ModelCase> = cases.iter().filter(|case| !case.failed()).collect();
        let share = |of: &dyn Fn(&ModelCase) -> bool, has: &dyn Fn(&ModelCase) -> bool| {
            let whole = answered.iter().filter(|case| of(case)).count();
            let part = answered.iter().filter(|case| of(case) && has(case)).count();
            #[expect(clippy::cast_precision_loss, reason = "numbers of messages")]
            (whole > 0).then(|| part as f64 / whole as f64)
        };
        let needs = |case: &ModelCase| !case.expected.is_empty();
        let is_named = |case: &ModelCase| {
            needs(case)
                && case.named.iter().any(|name| case.is_expected(name))
                && !case.shown.iter().any(|name| case.is_expected(name))
        };
        let has_loaded_wrong = |case: &ModelCase| case.loaded.iter().any(|name| case.is_wrong(name));
        let tokens: Vec<u64> = answered.iter().filter_map(|case| case.tokens).collect();
        #[expect(clippy::cast_precision_loss, reason = "a mean of tokens")]
        let mean = (!tokens.is_empty()).then(|| tokens.iter().sum::<u64>() as f64 / tokens.len() as f64);
        ModelFigures {
            answered: answered.len(),
            failed: cases.len() - answered.len(),
            offered: share(&needs, &|case| case.shown.iter().chain(&case.named).any(|name| case.is_expected(name))),
            reached: share(&needs, &ModelCase::reached),
            taken: share(&is_named, &|case| case.loaded.iter().any(|name| case.is_expected(name))),
            wrongly_loaded: share(&needs, &has_loaded_wrong),
            loaded_for_nothing: share(&|case| !needs(case), &has_loaded_wrong),
            tokens: mean,
        }
    }
}

impl ModelJson {
    /// Returns the model's name and the skills that it loaded for each message; `None` for one without an answer.
    pub(super) fn loaded(&self) -> (String, Vec<Option<Vec<String>>>) {
        let loaded = |case: &ModelCase| (!case.failed()).then(|| case.loaded.clone());
        (self.name.clone(), self.cases.iter().map(loaded).collect())
    }

    /// Returns the figures and the mistakes as people read them.
    pub(super) fn show(&self, verbose: bool) -> String {
        let ModelFigures { answered, failed, offered, reached, taken, wrongly_loaded, loaded_for_nothing, tokens } =
            &self.figures;
        let mut out = paint(style::NAME, text::one_line(&self.name));
        let _ = write!(out, " answered {}", text::count(*answered, "message"));
        if *failed > 0 {
            let _ = write!(out, "; {}", paint(style::BAD, format_args!("{failed} failed")));
        }
        out.push('\n');
        let rows = [
            ("offered", offered, "the right skill was shown or named"),
            ("reached", reached, "its body was shown, or the model loaded it"),
            ("taken", taken, "it was only named, and the model loaded it"),
            ("wrongly loaded", wrongly_loaded, "where another skill is needed"),
            ("for nothing", loaded_for_nothing, "loaded, where none is needed or that one must not be"),
        ];
        for (name, share, note) in rows {
            if let Some(share) = share {
                let name = paint(style::NAME, format_args!("{name:<18}"));
                let _ = writeln!(out, "{name}{:>9}  {}", super::percent(*share), paint(style::DIM, note));
            }
        }
        if let Some(tokens) = tokens {
            let name = paint(style::NAME, format_args!("{:<18}", "tokens"));
            let _ = writeln!(out, "{name}{tokens:>9.0}  {}", paint(style::DIM, "of requests, a message"));
        }
        let wrong: Vec<&ModelCase> = self.cases.iter().filter(|case| !case.right).collect();
        if !wrong.is_empty() {
            let _ = writeln!(out, "\n{}", paint(style::DIM, "not as it should be: needed, offered, loaded"));
        }
        let most = if verbose { wrong.len() } else { wrong.len().min(MAX_LISTED) };
        for case in &wrong[..most] {
            let _ = writeln!(out, "  {}", text::cut(&text::one_line(&case.query), 96));
            let names = |names: &[String]| {
                if names.is_empty() { "nothing".to_owned() } else { text::one_line(&names.join(", ")) }
            };
            let line = match &case.error {
                Some(error) => format!("failed: {}", text::one_line(&error.message)),
                None => format!(
                    "needs {}; shown {}; named {}; loaded {}",
                    names(&case.expected),
                    names(&case.shown),
                    names(&case.named),
                    names(&case.loaded)
                ),
            };
            let _ = writeln!(out, "    {}", paint(style::DIM, line));
        }
        if wrong.len() > most {
            let more = text::thousands(wrong.len() - most);
            let _ = writeln!(out, "  {}", paint(style::DIM, format_args!("and {more} more; -v shows all")));
        }
        out.push('\n');
        out
    }
}
