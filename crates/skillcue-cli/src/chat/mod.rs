//! The chat: a conversation at a terminal.

mod complete;
mod editor;
mod input;

use std::fmt::Write as _;

use rustyline::error::ReadlineError;
use skillcue::watch::WatchOptions;
use skillcue::{Catalog, Skill};
use skillcue_agent::{AgentError, Conversation, Message};

use self::editor::{Editor, EditorInput};
use self::input::ChatInput;
use crate::agent::args::Args;
use crate::agent::dirs::AgentDirs;
use crate::agent::interrupts::INTERRUPTED;
use crate::agent::one_shot::{print_continue_hint, warn_if_cut};
use crate::agent::screen::OutputMode;
use crate::agent::{AgentSetup, costs, facts};
use crate::context::Context;
use crate::error::CliError;
use crate::terminal::{paint, style};
use crate::{Outcome, explanation, text};

const PROMPT: &str = "> ";

/// A chat under way.
struct Chat<'c> {
    context: &'c Context,
    setup: AgentSetup,
    places: AgentDirs,
    conversation: Conversation,
    /// The number of conversations before it.
    renewed: u32,
}

/// The next step of the chat after a line.
enum ChatStep {
    Line,
    Leave(Outcome),
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Outcome, CliError> {
    let setup = AgentSetup::new(args, context, OutputMode::Stream, true)?;
    let conversation = setup.conversation(args)?;
    let places = AgentDirs::of(context)?;
    let history = places.history().filter(|_| !args.no_save);
    let mut editor = Editor::new(names(&setup.skills.catalog()), history).map_err(|error| broken(&error))?;
    setup.interrupts.edited();
    // Skills that are written, installed or changed meanwhile join.
    let _watching = setup.skills.watch(WatchOptions::default(), |event| tracing::debug!("watching: {event:?}"));
    let mut chat = Chat { context, setup, places, conversation, renewed: 0 };
    chat.greet();
    let outcome = loop {
        let input = match editor.read(PROMPT) {
            Ok(input) => input,
            Err(error) => {
                chat.leave();
                return Err(broken(&error));
            }
        };
        match input {
            EditorInput::Line(line) => match chat.hear(&line)? {
                ChatStep::Line => editor.complete(names(&chat.setup.skills.catalog())),
                ChatStep::Leave(outcome) => break outcome,
            },
            EditorInput::Cleared { was_empty: true } => chat.dim("Ctrl-C again, or Ctrl-D, leaves"),
            EditorInput::Cleared { was_empty: false } => {}
            EditorInput::Unreadable => chat.dim("that is not UTF-8, and was not sent"),
            EditorInput::Leave => break Outcome::Done,
        }
    };
    chat.leave();
    Ok(outcome)
}

fn broken(error: &ReadlineError) -> CliError {
    CliError::failure("terminal", format!("the terminal cannot be read: {error}")).help("send a message with -p TEXT")
}

/// Returns the names of skills that a person may use.
fn names(catalog: &Catalog) -> Vec<String> {
    catalog.skills().filter(|skill| is_for_people(skill)).map(|skill| skill.name().to_owned()).collect()
}

fn is_for_people(skill: &Skill) -> bool {
    skill.is_usable() && skill.manifest().user_invocable()
}

impl Chat<'_> {
    fn say(&self, said: &str) -> Result<(), CliError> {
        self.context.terminal.print(said)?;
        Ok(self.context.terminal.flush()?)
    }

    fn dim(&self, said: &str) {
        self.context.terminal.say(&paint(style::DIM, said));
    }

    fn columns(&self) -> usize {
        self.context.terminal.width().unwrap_or(80)
    }

    fn greet(&self) {
        let skills = text::count(self.setup.skills.census().visible, "skill");
        let mut line = format!("{} · {skills} · /help lists commands", text::one_line(&self.setup.model));
        if self.conversation.turns() > 0 {
            let turns = text::count(self.conversation.turns(), "turn");
            let _ = write!(line, "\n{}: {turns} so far", self.conversation.id());
        }
        self.dim(&line);
    }

    /// Handles a line: a command or a message. Errors are printed, and the chat goes on.
    fn hear(&mut self, line: &str) -> Result<ChatStep, CliError> {
        let done = match input::understand(line) {
            ChatInput::Nothing => Ok(()),
            ChatInput::Message(message) if self.is_mistyped(message) => Err(CliError::usage(
                "usage",
                format!("there is neither a command nor a skill {}", text::one_line(message)),
            )
            .help("/help lists commands, /skills lists skills")),
            ChatInput::Message(message) => return Ok(self.message(message)),
            ChatInput::Command("exit", _) => return Ok(ChatStep::Leave(Outcome::Done)),
            ChatInput::Command("help", _) => self.say(&input::help()),
            ChatInput::Command("skills", _) => self.say(&self.skills()),
            ChatInput::Command("load", rest) => self.load(rest),
            ChatInput::Command("why", rest) => self.why(rest),
            ChatInput::Command("cost", _) => self.cost(),
            ChatInput::Command("memory", rest) => self.memory(rest),
            ChatInput::Command(_, _) => self.renew(),
        };
        match done {
            Err(error) if !error.is_broken_pipe() => self.context.terminal.error(&error),
            other => other?,
        }
        Ok(ChatStep::Line)
    }

    /// Returns whether a message is nothing but a word that looks like a command and is none.
    fn is_mistyped(&self, message: &str) -> bool {
        let Some(word) = message.strip_prefix('/') else { return false };
        let is_word =
            !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
        is_word && self.setup.skills.catalog().get(word).is_none()
    }

    fn message(&mut self, message: &str) -> ChatStep {
        match self.setup.turn(&mut self.conversation, message) {
            Ok(report) => warn_if_cut(&report, self.context),
            Err(AgentError::Cancelled) => self.dim("interrupted"),
            Err(error) => self.context.terminal.error(&CliError::of(&error)),
        }
        if let Some(code) = self.setup.interrupts.code() {
            return ChatStep::Leave(Outcome::Signalled(code));
        }
        if self.setup.screen.is_unread() {
            return ChatStep::Leave(Outcome::Signalled(INTERRUPTED));
        }
        ChatStep::Line
    }

    /// Returns every skill that a person may use, those that are loaded marked.
    fn skills(&self) -> String {
        let catalog = self.setup.skills.catalog();
        let mut out = String::new();
        let listed: Vec<&Skill> = catalog.skills().filter(|skill| is_for_people(skill)).collect();
        let width = listed.iter().map(|skill| text::width(skill.name())).max().unwrap_or(0).min(40);
        for skill in &listed {
            let mark = if self.conversation.loaded().iter().any(|name| name == skill.name()) { '*' } else { ' ' };
            let name = text::one_line(skill.name());
            let pad = " ".repeat(width.saturating_sub(text::width(&name)));
            let brief = text::one_line(&skill.manifest().brief());
            let brief = text::cut(&brief, self.columns().saturating_sub(width + 4).max(20)).into_owned();
            let _ = writeln!(out, "{mark} {}{pad}  {brief}", paint(style::NAME, name));
        }
        if listed.is_empty() {
            out.push_str("there are no skills\n");
        }
        out
    }

    fn load(&mut self, rest: &str) -> Result<(), CliError> {
        let (name, arguments) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        // Elsewhere people write names of skills with a sigil.
        let name = name.trim_start_matches(['$', '/']);
        if name.is_empty() {
            return Err(CliError::usage("usage", "/load takes the name of a skill").help("/skills lists them"));
        }
        let loaded = self.conversation.load(&self.setup.skills, name, arguments.trim())?;
        let lines = text::count(loaded.lines().count(), "line");
        self.dim(&format!("{}: {lines} go with the next message", text::one_line(name)));
        Ok(())
    }

    /// Explains the last message, or another.
    fn why(&self, rest: &str) -> Result<(), CliError> {
        let last = self.conversation.messages().iter().rev().find_map(|message| match message {
            Message::User { text, .. } => Some(text.as_str()),
            _ => None,
        });
        let message = if rest.is_empty() { last } else { Some(rest) };
        let Some(message) = message else {
            return Err(CliError::usage("usage", "nothing was said yet").help("/why MESSAGE explains any message"));
        };
        // Of the last message, the files that counted then; of another, those that would.
        let files = match &self.setup.work_dir {
            Some(dir) if !rest.is_empty() => dir.files(message),
            _ => self.conversation.work_files(),
        };
        self.say(&explanation::of_message(&self.setup.skills, message, &files, self.setup.matching, self.columns()))?;
        let disclosure = self.conversation.disclosure().filter(|_| rest.is_empty());
        if let Some(shown) = disclosure {
            let spent = text::count(shown.tokens.stable.0 + shown.tokens.turn.0, "token");
            let eager = text::thousands(shown.tokens.eager.0);
            self.dim(&format!("tier {}: {spent} instead of {eager}", shown.tier.number()));
        }
        Ok(())
    }

    /// Prints the costs of the conversation so far.
    fn cost(&self) -> Result<(), CliError> {
        let file = self.places.traces().map(|dir| dir.join(format!("{}.jsonl", self.conversation.id())));
        let page = match file.filter(|_| self.setup.saves()) {
            Some(file) => costs::of_file(&file, self.columns())?,
            None => None,
        };
        if let Some(page) = page {
            return self.say(&page);
        }
        self.dim("nothing was traced yet");
        Ok(())
    }

    fn memory(&self, words: &str) -> Result<(), CliError> {
        let Some(file) = self.setup.memory() else {
            self.dim("memory is off: --memory switches it on, or `memory = true` below [agent] in skillcue.toml");
            return Ok(());
        };
        let facts = facts::look(file, words)?;
        if facts.is_empty() {
            self.dim("nothing is remembered");
        }
        self.say(&facts::table(&facts, Some(self.columns())))
    }

    /// Begins a new conversation; the old one stays where it is.
    fn renew(&mut self) -> Result<(), CliError> {
        self.renewed += 1;
        let unsaved = format!("unsaved-{}", self.renewed);
        let new = self.setup.begin(&unsaved)?;
        let old = std::mem::replace(&mut self.conversation, new);
        if self.setup.saves() && old.turns() > 0 {
            print_continue_hint(&old, self.context);
        }
        self.setup.discard(old);
        self.dim("a new conversation");
        Ok(())
    }

    fn leave(self) {
        if self.setup.saves() && self.conversation.turns() > 0 {
            print_continue_hint(&self.conversation, self.context);
        }
        let Chat { setup, conversation, .. } = self;
        setup.discard(conversation);
        setup.runtime.shutdown_background();
    }
}
