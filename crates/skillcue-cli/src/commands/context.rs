//! `skillcue context`: the text that a model would get this turn. The main job.

use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use skillcue::disclose::DisclosedSkill;
use skillcue::{Counter, Decision, DiscloseConfig, Disclosure, Fallback, Mode, Policy, Session, Tier, Tokens};
use skillcue_base::{os_message, replace_file};

use crate::cli::words;
use crate::context::Context;
use crate::error::CliError;
use crate::judge::JudgeArgs;
use crate::report::Printout;
use crate::terminal::{paint, style};
use crate::turn::{COUNTERS, MODES, POLICIES, TurnArgs, message, read_text, share, whole_number};
use crate::{Outcome, explanation, text};

/// Largest file of a session, in bytes: it remembers at most a thousand skills.
const MAX_SESSION: u64 = 4 << 20;

/// Most skills that were omitted for one reason that are named; -v names all.
const MAX_OMITTED_NAMES: usize = 5;

const AFTER: &str = "\
Examples:
  skillcue context \"Say bonjour to Alice\"              documentation of what fits
  skillcue context \"What is 2+2?\"                      nothing fits: a few tokens
  skillcue context --policy hint \"fill in a.pdf\"       a static list, and one line for this turn
  skillcue context --session chat.json \"and b.pdf\"     what was shown is not shown again
  git log -1 --format=%B | skillcue context -          the message from stdin

The last line says what was done and what it saved against putting every skill into the prompt.
With --json it prints {tier, policy, stable, turn, tokens: {stable, turn, overhead, eager}, skills:
[{name, decision: included|shortened|named|omitted, score, confidence, certainty, likelihood, reasons,
tokens, why}], matched, thresholds: {body, name}, listed, elapsed_us}; the time is that of the decision, without looking for skills.";

#[derive(Debug, clap::Args)]
#[command(after_help = crate::cli::footer(AFTER))]
pub(crate) struct Args {
    /// The user's message; `-` reads it from stdin
    #[arg(allow_hyphen_values = true)]
    message: String,
    /// Which part of the prompt has the skills [default: inject]
    #[arg(long, value_parser = words(POLICIES))]
    policy: Option<Policy>,
    /// How skills are matched [default: hybrid]
    #[arg(long, value_parser = words(MODES))]
    mode: Option<Mode>,
    /// The answer when nothing matches [default: none]
    #[arg(long, value_parser = words(FALLBACKS))]
    fallback: Option<Fallback>,
    /// Most tokens for documentation in all; 0: no limit [default: 8000]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole_number)]
    budget: Option<usize>,
    /// Most tokens for one skill; 0: no limit [default: 2000]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole_number)]
    per_skill: Option<usize>,
    /// How to count tokens [default: segment]
    #[arg(long, value_parser = words(COUNTERS))]
    counter: Option<Counter>,
    /// Most skills to document; 0: no limit [default: 3]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole_number)]
    max_skills: Option<usize>,
    /// How readily skills are shown and named, from 0 to 1 [default: 0.5]
    #[arg(long, value_name = "E", allow_negative_numbers = true, value_parser = share::<f32>)]
    eagerness: Option<f32>,
    #[command(flatten)]
    judge: JudgeArgs,
    #[command(flatten)]
    turn: TurnArgs,
    /// Remember in FILE what was shown; the file is made if it is not there
    #[arg(long, value_name = "FILE")]
    session: Option<PathBuf>,
}

const FALLBACKS: &[(&str, Fallback, &str)] = &[
    ("none", Fallback::None, "Say how many skills there are"),
    ("show_all", Fallback::ShowAll, "List them"),
    ("ask_user", Fallback::AskUser, "Name the closest"),
    ("show-all", Fallback::ShowAll, ""),
    ("ask-user", Fallback::AskUser, ""),
];

impl Args {
    fn config(&self, context: &Context) -> Result<(DiscloseConfig, Mode), CliError> {
        let configured = context.disclose()?;
        let mut config = configured.config();
        config.policy = self.policy.unwrap_or(config.policy);
        config.fallback = self.fallback.unwrap_or(config.fallback);
        let limit = |tokens: usize| (tokens > 0).then_some(Tokens(tokens));
        config.max_total_tokens = self.budget.map_or(config.max_total_tokens, limit);
        config.max_per_skill_tokens = self.per_skill.map_or(config.max_per_skill_tokens, limit);
        config.max_skills = self.max_skills.unwrap_or(config.max_skills);
        config.counter = self.counter.unwrap_or(config.counter);
        config.eagerness = self.eagerness.unwrap_or(config.eagerness);
        Ok((config, context.mode(self.mode)?))
    }
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Outcome, CliError> {
    context.touch(args.turn.files())?;
    let message = message(&args.message)?;
    let (config, mode) = args.config(context)?;
    let unlimited = config.max_skills == 0;
    let mut session = args.session.as_deref().map(read_session).transpose()?;
    context.shape_skills(move |builder| builder.disclosure(config.clone()).mode(mode));
    args.judge.apply(context)?;
    let skills = context.skills()?;
    context.prepare(mode)?;
    let mut request = args.turn.request(&message);
    skills.check_request(&request)?;
    if let Some(session) = &mut session {
        request = request.session(session);
    }
    let shown = skills.disclose(request);
    if let (Some(session), Some(file)) = (&session, &args.session) {
        if file.parent().is_some_and(|dir| !dir.as_os_str().is_empty() && !dir.is_dir()) {
            // A typing error must not become a directory.
            return Err(CliError::write(file, &io::ErrorKind::NotFound.into()));
        }
        replace_file(file, [session.to_json().as_bytes(), b"\n"]).map_err(|error| CliError::write(file, &error))?;
    }
    context.print_diagnostics();
    let outcome = context.report(Outcome::Done, &shown, || {
        let visible = skills.census().visible;
        Printout::for_model(whole(&shown)).remarks(remarks(context, &shown, visible, unlimited, mode))
    })?;
    context.index_bodies(mode)?;
    Ok(outcome)
}

/// Returns the text that the model would get: the stable part, then that of the turn.
fn whole(shown: &Disclosure) -> String {
    let mut whole = shown.stable.to_string();
    if !(whole.is_empty() || shown.turn.is_empty()) {
        whole.push_str(if whole.ends_with('\n') { "\n" } else { "\n\n" });
    }
    whole.push_str(&shown.turn);
    whole
}

/// Returns lines about what was disclosed, what was omitted, and what it saved.
fn remarks(context: &Context, shown: &Disclosure, visible: usize, unlimited: bool, mode: Mode) -> Vec<String> {
    let mut remarks = Vec::new();
    if context.verbose() {
        // Where nothing is shown, the best one says why.
        let is_told = |(rank, skill): &(usize, &DisclosedSkill)| {
            skill.decision != Decision::Omitted || (*rank == 0 && shown.tier == Tier::Breadcrumb)
        };
        let rules = shown.skills.iter().enumerate().filter(is_told).map(|(_, skill)| skill);
        remarks.extend(rules.map(|skill| {
            let rule = explanation::rule(skill, shown, mode);
            paint(style::DIM, format_args!("{} → {rule}", text::one_line(&skill.name)))
        }));
    }
    for (word, names, why) in omitted_by_reason(shown, context.verbose()) {
        let most = if context.verbose() { names.len() } else { names.len().min(MAX_OMITTED_NAMES) };
        let mut named = names[..most].join(", ");
        if names.len() > most {
            let _ = write!(named, " and {} more", text::thousands(names.len() - most));
        }
        remarks.push(paint(style::DIM, format_args!("{word} {named}: {}", text::one_line(why))));
    }
    let count = |is: fn(Decision) -> bool| shown.skills.iter().filter(|skill| is(skill.decision)).count();
    let named = count(|decision| decision == Decision::Named);
    let included = count(|decision| !matches!(decision, Decision::Named | Decision::Omitted));
    let has_list = !shown.stable.is_empty() || (shown.policy == Policy::Inject && shown.tier == Tier::Registry);
    let mut what = if has_list {
        let listed = visible.saturating_sub(shown.listed.omitted.count);
        format!("{} of {} listed", text::thousands(listed), text::count(visible, "skill"))
    } else if named > 0 {
        format!("{} of {} named", text::thousands(named), text::count(visible, "skill"))
    } else {
        format!("{} of {}", text::thousands(included), text::count(visible, "skill"))
    };
    if has_list && included + named > 0 {
        let _ = write!(what, ", {} in the turn", text::thousands(included + named));
    }
    if unlimited && shown.tier == Tier::Documentation {
        what.push_str(", no limit on their number");
    }
    let spent = shown.tokens.stable.0 + shown.tokens.turn.0;
    let eager = shown.tokens.eager.0;
    let mut line = format!("tier {} · {what} · {}", shown.tier.number(), text::count(spent, "token"));
    if eager > 0 {
        #[expect(clippy::cast_precision_loss, reason = "a percentage with one digit behind the point")]
        let saved = 100.0 * (spent as f64 / eager as f64 - 1.0);
        // Something is not nothing, however little it is.
        let saved = if spent > 0 { saved.max(-99.9) } else { saved };
        let sign = if saved < 0.0 { "−" } else { "+" };
        let _ = write!(line, " instead of {} ({sign}{:.1} %)", text::thousands(eager), saved.abs());
    }
    let _ = write!(line, " · {}", duration(shown.elapsed));
    remarks.push(paint(style::DIM, line));
    if included + named > 0 && context.terminal.stdout_is_terminal() {
        let command = paint(style::COMMAND, "skillcue why MESSAGE");
        remarks.push(format!("{command} shows which words decided"));
    }
    remarks
}

/// Returns the skills that are not shown whole, those with one reason together: the word for it, their names, the
/// reason. Skills that match too weakly are not left out, they do not fit: only -v names them.
fn omitted_by_reason(shown: &Disclosure, verbose: bool) -> Vec<(&'static str, Vec<&str>, &str)> {
    let mut groups: Vec<(&str, Vec<&str>, &str)> = Vec::new();
    for skill in &shown.skills {
        // A list says itself how many of the skills it has.
        let is_quiet = skill.is_weak() || shown.tier != Tier::Documentation;
        let word = match skill.decision {
            Decision::Shortened => "shortened",
            Decision::Omitted if verbose || !is_quiet => "omitted",
            _ => continue,
        };
        let why = skill.why.as_deref().unwrap_or("to save space");
        match groups.iter_mut().find(|group| (group.0, group.2) == (word, why)) {
            Some((_, names, _)) => names.push(&skill.name),
            None => groups.push((word, vec![&skill.name], why)),
        }
    }
    groups
}

/// `31 µs`, `4.2 ms`
fn duration(elapsed: Duration) -> String {
    let micros = elapsed.as_micros();
    if micros < 1_000 { format!("{micros} µs") } else { format!("{:.1} ms", elapsed.as_secs_f64() * 1e3) }
}

/// Reads the session in a file, or makes a new one if there is none.
fn read_session(file: &Path) -> Result<Session, CliError> {
    let failed = |message: String| {
        CliError::failure("session", format!("{}: {message}", file.display()))
            .help("name another file, or delete this one to start a new session")
    };
    match read_text(file, MAX_SESSION) {
        Ok(json) => Session::from_json(&json).map_err(|error| failed(error.to_string())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Session::default()),
        Err(error) => Err(failed(os_message(&error))),
    }
}
