//! `--collisions`: pairs of skills that compete, what tells them apart, and what to do.

use std::fmt::Write as _;
use std::time::SystemTime;

use serde::Serialize;
use skillcue::collisions::{CollidingPair, CollisionEvidence, CollisionOptions};
use skillcue::eval::{Confusion, EvalOptions, Evaluation};
use skillcue::{ErrorInfo as _, Mode};
use skillcue_host::EvalHistory;
use skillcue_usage::{ConfusedPair, LedgerQuery, UsageReport};

use super::Args;
use super::clients::{OwnList, own_lists};
use crate::commands::eval::labelled;
use crate::context::Context;
use crate::error::CliError;
use crate::progress::ProgressIndicator;
use crate::report::Printout;
use crate::terminal::{paint, style};
use crate::{Outcome, text};

/// Most pairs that are listed; -v lists all.
const MAX_LISTED: usize = 20;

/// The result of `doctor --collisions`.
#[derive(Serialize)]
pub(super) struct CollisionsJson {
    /// The number of skills that models may see.
    skills: usize,
    /// The origin of labelled messages, if there are any.
    labelled: Option<String>,
    /// Whether there is a ledger with uses.
    uses: bool,
    pairs: Vec<PairJson>,
}

#[derive(Serialize)]
struct PairJson {
    #[serde(flatten)]
    pair: CollidingPair,
    /// The clients whose list leaves one of the two, or both, without a description.
    clients: Vec<CutDescription>,
    /// The next steps.
    next: Vec<String>,
}

/// A client whose list of skills leaves skills without a description.
#[derive(Serialize)]
struct CutDescription {
    client: &'static str,
    /// The skills of the pair of which it shows the name alone, or nothing.
    without: Vec<String>,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<Outcome, CliError> {
    let document = document(args, context)?;
    let outcome = Outcome::of(!args.strict || document.pairs.is_empty());
    context.report(outcome, &document, || document.page(context.verbose(), args.eval.is_some()))
}

/// Returns the pairs that compete.
pub(super) fn document(args: &Args, context: &Context) -> Result<CollisionsJson, CliError> {
    let skills = if args.online { context.skills()? } else { context.local_skills()? };
    if let Some(name) = &args.skill {
        skills.check_known(name)?;
    }
    let (labelled, messages) = confusions(args, context)?;
    let (uses, confused) = uses(context);
    let progress = ProgressIndicator::spinner("comparing skills");
    let use_confusions: Vec<Confusion> = confused
        .into_iter()
        .map(|ConfusedPair { shown, used, times }| Confusion { expected: Some(used), got: Some(shown), count: times })
        .collect();
    let evidence = CollisionEvidence { messages: &messages, uses: &use_confusions };
    let mut pairs = skills.collisions(&CollisionOptions { min_nearness: args.min_nearness }, evidence);
    if let Some(name) = &args.skill {
        pairs.retain(|pair| pair.skills.contains(name));
    }
    drop(progress);
    let lists = own_lists(&skills.catalog());
    // `tune` needs messages: those of this file, or of the last kept run, which it finds by itself.
    let set = match (&args.eval, &labelled) {
        (Some(file), _) => format!(" --eval {}", context.short_path(file)),
        (None, Some(_)) => String::new(),
        (None, None) => " --eval FILE".to_owned(),
    };
    let pairs = pairs.into_iter().map(|pair| PairJson::of(pair, &lists, &set)).collect();
    Ok(CollisionsJson { skills: skills.census().visible, labelled, uses, pairs })
}

/// Returns which skills messages took for others: those of a file, or of the last kept run.
fn confusions(args: &Args, context: &Context) -> Result<(Option<String>, Vec<Confusion>), CliError> {
    if let Some(file) = &args.eval {
        let cases = labelled(file, None, context)?;
        let mode = context.mode(None)?;
        context.prepare(mode)?;
        let skills = context.local_skills()?;
        if mode != Mode::Keyword {
            skills.index_bodies();
        }
        let options = EvalOptions { mode, eagerness: None, sweep: false, judge: false };
        let evaluation = Evaluation::of(skills, &cases, &options);
        return Ok((Some(context.short_path(file)), evaluation.first_confusions(&cases)));
    }
    context.prepare(context.mode(None)?)?;
    let Some(history) = EvalHistory::of(context.environment()?) else { return Ok((None, Vec::new())) };
    let read = match history.read() {
        Ok(read) => read,
        Err(error) => {
            context.terminal.warn(error.code(), error.message(), &error.hint().unwrap_or_default());
            return Ok((None, Vec::new()));
        }
    };
    Ok(match read.runs.last() {
        Some(run) => (Some(run.set.clone()), run.first_confusions()),
        None => (None, Vec::new()),
    })
}

/// Returns whether there is a ledger, and the skills that were shown where others were used. One that cannot be read is
/// a warning elsewhere; here it says nothing.
fn uses(context: &Context) -> (bool, Vec<ConfusedPair>) {
    let events = || context.host().ok()?.ledger().ok()??.events(&LedgerQuery::default()).ok();
    match events() {
        Some(events) if !events.is_empty() => {
            let report = UsageReport::with_messages(&events, &[], &[], SystemTime::now());
            (true, report.findings.confused)
        }
        _ => (false, Vec::new()),
    }
}

impl PairJson {
    fn of(pair: CollidingPair, lists: &[OwnList], set: &str) -> PairJson {
        let cut = |own: &OwnList| {
            let is_cut = |name: &&String| own.list.name_only.contains(name) || own.list.omitted.contains(name);
            let without: Vec<String> = pair.skills.iter().filter(is_cut).cloned().collect();
            (!without.is_empty()).then_some(CutDescription { client: own.list.client, without })
        };
        let clients: Vec<CutDescription> = lists.iter().filter_map(cut).collect();
        let [one, other] = &pair.skills;
        let mut next = Vec::new();
        if pair.is_copy {
            next.push(format!("they say nearly the same: `skillcue disable {other}`, or merge them"));
        } else {
            // The one that loses messages to the other is to be changed first.
            let loses = |at: usize| pair.messages[at] + pair.uses[at];
            let weak = if loses(1) > loses(0) { other } else { one };
            next.push(format!("`skillcue tune {weak}{set}` proposes words that tell it from the other"));
            if pair.only.iter().any(|words| words.len() < 2) {
                next.push("say in each what the other is for: \"Not for …: use …\"".to_owned());
            }
        }
        if !pair.triggers.is_empty() {
            next.push(format!("keep {} as a trigger of one of them only", text::one_line(&pair.triggers.join(", "))));
        }
        PairJson { pair, clients, next }
    }

    fn show(&self, out: &mut String) {
        let CollidingPair { skills: [one, other], nearness, triggers, shared, only, messages, uses, .. } = &self.pair;
        let (one, other) = (text::one_line(one), text::one_line(other));
        let mut head = format!(
            "{} {} {}  {}",
            paint(style::NAME, &one),
            paint(style::DIM, "↔"),
            paint(style::NAME, &other),
            paint(style::DIM, format_args!("nearness {nearness:.2}"))
        );
        for (counts, what) in [(messages, "message"), (uses, "use")] {
            let sum = counts.iter().sum::<usize>();
            if sum > 0 {
                let taken = format!("taken for each other in {}", text::count(sum, what));
                let _ = write!(head, ", {}", paint(style::WARNING, taken));
            }
        }
        let _ = writeln!(out, "\n{head}");
        let width = text::width(&one).max(text::width(&other)) + "only ".len();
        let mut line = |name: &str, words: &[String]| {
            if !words.is_empty() {
                let pad = " ".repeat(width.saturating_sub(text::width(name)));
                let words = text::one_line(&words.join(", "));
                let _ = writeln!(out, "  {}{pad}  {words}", paint(style::DIM, name));
            }
        };
        line("both", shared);
        line("triggers", triggers);
        line(&format!("only {one}"), &only[0]);
        line(&format!("only {other}"), &only[1]);
        // One line for clients that cut the same ones.
        let mut cuts: Vec<(&[String], Vec<&str>)> = Vec::new();
        for CutDescription { client, without } in &self.clients {
            match cuts.iter_mut().find(|(names, _)| *names == &without[..]) {
                Some((_, clients)) => clients.push(client),
                None => cuts.push((without, vec![client])),
            }
        }
        for (without, clients) in cuts {
            let names = if without.len() == 1 { text::one_line(&without[0]) } else { "both".to_owned() };
            let line = format!("without a description in {}: {names}", clients.join("; "));
            let _ = writeln!(out, "  {}", paint(style::DIM, line));
        }
        for step in &self.next {
            let _ = writeln!(out, "  {} {step}", paint(style::COMMAND, "→"));
        }
    }
}

impl CollisionsJson {
    fn page(&self, verbose: bool, has_file: bool) -> Printout {
        let mut out =
            format!("{} of {} compete\n", text::count(self.pairs.len(), "pair"), text::count(self.skills, "skill"));
        let most = if verbose { self.pairs.len() } else { self.pairs.len().min(MAX_LISTED) };
        for pair in &self.pairs[..most] {
            pair.show(&mut out);
        }
        let mut by = vec!["text".to_owned()];
        by.extend(self.labelled.as_ref().map(|set| format!("the messages of {}", text::one_line(set))));
        by.extend(self.uses.then(|| "use".to_owned()));
        let mut said = Vec::new();
        if self.pairs.len() > most {
            said.push(format!("and {} more; -v shows all", text::thousands(self.pairs.len() - most)));
        }
        let more = if self.labelled.is_none() && !has_file { "; --eval FILE adds labelled messages" } else { "" };
        said.push(format!("compared by {}{more}", by.join(", ")));
        Printout::from(out).remarks(said.into_iter().map(|line| paint(style::DIM, line)))
    }
}
