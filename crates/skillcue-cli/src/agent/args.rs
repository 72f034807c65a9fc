//! The arguments of `skillcue agent`.

use skillcue::config::AgentAllow;
use skillcue::{Mode, Policy};

use super::endpoint::ModelArgs;
use crate::cli::words;
use crate::turn::{MODES, POLICIES, share};

const AFTER: &str = "\
Examples:
  skillcue agent                                        a chat
  skillcue agent -p \"Say bonjour to Alice\"              one answer
  skillcue agent --continue -p \"and to Bob?\"            the latest conversation goes on
  skillcue agent --model ollama:qwen3 -p \"What is 2+2?\" a model on this machine
  git diff | skillcue agent -p -                        the message from stdin
  skillcue agent --batch tasks.jsonl --jobs 16          many conversations at once

The model is named by --model, SKILLCUE_MODEL, or `model` below [agent] in skillcue.toml; its address
and key by --base-url, OPENAI_BASE_URL and OPENAI_API_KEY, or ANTHROPIC_BASE_URL and ANTHROPIC_API_KEY.
On a terminal you are asked before the model loads a skill of a checkout, runs a script or calls a tool of
a skill; elsewhere that is declined, unless --allow says otherwise.
With --json it prints one event a line: session, context, request, text, retry, call, result, compacted,
problem, and last answer or error. With --batch it reads lines {id, message} or {id, messages} and prints
{id, session, answer, answers, tokens, usage} or {id, session, error: {code, message, help}} as each ends.
Ctrl-C ends the turn, and the conversation stays whole: exit code 130.";

#[derive(Debug, Default, clap::Args)]
#[command(after_help = crate::cli::footer(AFTER))]
pub(crate) struct Args {
    /// Send one message, print the answer and end; `-` reads it from stdin
    #[arg(short, long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) prompt: Option<String>,
    /// Continue a conversation: the latest one, or that with this id
    #[arg(long = "continue", value_name = "ID", num_args = 0..=1, default_missing_value = "")]
    pub(crate) go_on: Option<String>,
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    /// Remember what you say of yourself, and recall it in later conversations; a batch only recalls
    #[arg(long, overrides_with = "no_memory")]
    pub(crate) memory: bool,
    /// Neither remember nor recall
    #[arg(long, overrides_with = "memory")]
    pub(crate) no_memory: bool,
    /// Allow without asking; may be given several times
    #[arg(long, value_name = "KIND", value_parser = words(ALLOWED))]
    pub(crate) allow: Vec<AgentAllow>,
    /// Ask the model at most N times in a turn
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_rounds: Option<u32>,
    /// The tokens of the model's context window
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) window: Option<u64>,
    /// The most tokens of an answer
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_tokens: Option<u32>,
    /// Which part of the prompt has the skills [default: inject]
    #[arg(long, value_parser = words(POLICIES))]
    pub(crate) policy: Option<Policy>,
    /// How skills are matched [default: hybrid]
    #[arg(long, value_parser = words(MODES))]
    pub(crate) mode: Option<Mode>,
    /// How readily skills are shown and named, from 0 to 1 [default: 0.5]
    #[arg(long, value_name = "E", allow_negative_numbers = true, value_parser = share::<f32>)]
    pub(crate) eagerness: Option<f32>,
    /// Hold the conversations of FILE, a line each; `-` reads them from stdin
    #[arg(long, value_name = "FILE", conflicts_with_all = ["prompt", "go_on"])]
    pub(crate) batch: Option<String>,
    /// Hold at most N of them at once
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=1024), requires = "batch")]
    pub(crate) jobs: u16,
    /// Do not save the conversation
    #[arg(long, conflicts_with = "go_on")]
    pub(crate) no_save: bool,
    /// Write the messages into the trace, too
    #[arg(long)]
    pub(crate) trace_text: bool,
    /// Whether the messages are a trial, which is no use of skills.
    #[arg(skip)]
    pub(crate) is_trial: bool,
}

const ALLOWED: &[(&str, AgentAllow, &str)] = &[
    ("skills", AgentAllow::Skills, "Loading skills of a checkout"),
    ("scripts", AgentAllow::Scripts, "Running scripts of skills"),
    ("tools", AgentAllow::Tools, "Calling tools of skills"),
    ("all", AgentAllow::All, "All of that"),
];
