//! All output of the program: results to stdout, everything else to stderr, colours where they belong.

use std::fmt::Display;
use std::io::{self, BufRead as _, IsTerminal as _, Write};

use anstream::AutoStream;
use anstream::adapter::strip_str;
use anstyle::{AnsiColor, Effects, Style};
use serde::Serialize;
use tracing::Level;
use tracing_subscriber::filter::{FilterExt as _, LevelFilter, Targets, filter_fn};
use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};

use crate::cli::set_color;
use crate::error::CliError;
use crate::{diagnostics, text};

/// Colours by meaning. Sixteen-colour names, so that the user's theme decides what they look like.
pub(crate) mod style {
    use super::{AnsiColor, Effects, Style};

    pub(crate) const NAME: Style = Style::new().effects(Effects::BOLD);
    pub(crate) const DIM: Style = Style::new().effects(Effects::DIMMED);
    pub(crate) const SOURCE: Style = AnsiColor::Cyan.on_default();
    pub(crate) const GOOD: Style = AnsiColor::Green.on_default().effects(Effects::BOLD);
    pub(crate) const BAD: Style = AnsiColor::Red.on_default().effects(Effects::BOLD);
    pub(crate) const WARNING: Style = AnsiColor::Yellow.on_default().effects(Effects::BOLD);
    pub(crate) const HELP: Style = AnsiColor::Cyan.on_default().effects(Effects::BOLD);
    pub(crate) const COMMAND: Style = AnsiColor::Cyan.on_default();
}

/// Returns `text` in a style. A stream without colours drops the style.
pub(crate) fn paint(style: Style, text: impl Display) -> String {
    format!("{style}{text}{style:#}")
}

/// Returns a warning as it is shown: its code, what is wrong, and what to do.
pub(crate) fn warning(code: &str, message: &str, help: &str) -> String {
    let head = paint(style::WARNING, format_args!("warning[{code}]"));
    // What they quote comes from files, which may say anything.
    let (message, help) = (text::one_line(message), text::one_line(help));
    format!("{head}: {message}\n  {}: {help}", paint(style::HELP, "help"))
}

/// The streams that output goes to, and how it may look there.
#[derive(Debug)]
pub(crate) struct Terminal {
    stdout: io::Stdout,
    stdout_color: anstream::ColorChoice,
    stdout_tty: bool,
    stderr_color: anstream::ColorChoice,
    stderr_tty: bool,
    /// The columns of the terminal that results go to; none if they go elsewhere, where nothing is shortened.
    width: Option<usize>,
    /// Whether nothing is written to stderr.
    muted: bool,
}

impl Terminal {
    /// Looks at both streams. `Auto` honours `NO_COLOR`, `CLICOLOR`, `CLICOLOR_FORCE` and `TERM=dumb`.
    pub(crate) fn new(color: clap::ColorChoice) -> Terminal {
        set_color(color);
        let stdout = io::stdout();
        let stdout_tty = stdout.is_terminal();
        let width = stdout_tty.then(terminal_size::terminal_size).flatten();
        Terminal {
            stdout_color: AutoStream::choice(&stdout),
            stdout_tty,
            stdout,
            stderr_color: AutoStream::choice(&io::stderr()),
            stderr_tty: io::stderr().is_terminal(),
            width: width.map(|(width, _)| usize::from(width.0).max(40)),
            muted: false,
        }
    }

    /// Returns another handle of the same streams.
    #[cfg(feature = "agent")]
    pub(crate) fn duplicate(&self) -> Terminal {
        Terminal { stdout: io::stdout(), ..*self }
    }

    /// Returns another handle of the same streams that writes nothing to stderr: for answers that are no command's.
    pub(crate) fn muted(&self) -> Terminal {
        Terminal { stdout: io::stdout(), muted: true, ..*self }
    }

    /// Sends the library's log to stderr: warnings always, more with -v. A command whose own error says that a path was
    /// refused shows the log line about it only with -v.
    pub(crate) fn log(&self, verbose: u8, reports_refused_paths: bool) {
        let level = match verbose {
            0 => Level::WARN,
            1 => Level::INFO,
            2 => Level::DEBUG,
            _ => Level::TRACE,
        };
        let shown = tracing_subscriber::fmt::layer()
            .with_writer(io::stderr)
            .with_ansi(self.stderr_color != anstream::ColorChoice::Never)
            .without_time();
        // Logs of other crates are shown with -vvv.
        let others = if verbose > 2 { LevelFilter::DEBUG } else { LevelFilter::OFF };
        let is_twice = reports_refused_paths && verbose == 0;
        let once = filter_fn(move |metadata| !(is_twice && metadata.name() == "refused_path"));
        // Spans are for collectors: a line of the log must not begin with them.
        let ours = Targets::new().with_target("skillcue", level).with_target(skillcue::SPAN_TARGET, LevelFilter::OFF);
        let subscriber = tracing_subscriber::registry().with(shown.with_filter(ours.with_default(others).and(once)));
        #[cfg(feature = "otlp")]
        let subscriber = subscriber.with(crate::telemetry::layer(self));
        // It fails if there is one already, and this is the only place that sets one.
        let _ = tracing::subscriber::set_global_default(subscriber);
    }

    /// Returns the columns of the terminal that results go to, if they go to one.
    pub(crate) fn width(&self) -> Option<usize> {
        self.width
    }

    pub(crate) fn stdout_is_terminal(&self) -> bool {
        self.stdout_tty
    }

    pub(crate) fn stderr_is_terminal(&self) -> bool {
        self.stderr_tty
    }

    /// Writes a text for people to stdout.
    pub(crate) fn print(&self, text: &str) -> io::Result<()> {
        if self.stdout_color == anstream::ColorChoice::Never {
            // In one piece: a stream that strips colours writes once for each piece between two of them.
            return self.stdout.lock().write_all(strip_str(text).to_string().as_bytes());
        }
        AutoStream::new(self.stdout.lock(), self.stdout_color).write_all(text.as_bytes())
    }

    /// Writes bytes to stdout as they are.
    pub(crate) fn print_bytes(&self, bytes: &[u8]) -> io::Result<()> {
        self.stdout.lock().write_all(bytes)
    }

    /// Writes a text that is for a model to stdout: every byte of it, but on a terminal without characters that control
    /// it. The output ends with a line end, so that the next one begins a line.
    pub(crate) fn print_for_model(&self, content: &str) -> io::Result<()> {
        let mut whole = if self.stdout_tty { text::visible(content) } else { content.to_owned() };
        if !(whole.is_empty() || whole.ends_with('\n')) {
            whole.push('\n');
        }
        self.print_bytes(whole.as_bytes())
    }

    /// Writes one JSON document to stdout: on one line for programs, indented on a terminal.
    pub(crate) fn print_json(&self, value: &impl Serialize) -> Result<(), CliError> {
        let mut bytes =
            if self.stdout_is_terminal() { serde_json::to_vec_pretty(value)? } else { serde_json::to_vec(value)? };
        bytes.push(b'\n');
        Ok(self.print_bytes(&bytes)?)
    }

    /// Writes to stderr. A stderr that is gone is no reason to fail.
    pub(crate) fn say(&self, text: &str) {
        if self.muted {
            return;
        }
        let mut stream = AutoStream::new(io::stderr().lock(), self.stderr_color);
        let _ = writeln!(stream, "{text}");
    }

    /// Asks a person on a terminal a yes-or-no question; fails without a terminal, or if the answer is not yes.
    pub(crate) fn ask(&self, question: &str) -> Result<(), CliError> {
        match self.choose(&format!("{question} [y/N]"))?.as_str() {
            "y" | "yes" => Ok(()),
            _ => Err(CliError::failure("declined", "nothing has changed")),
        }
    }

    /// Returns whether a person can be asked.
    #[expect(clippy::unused_self, reason = "questions are asked through a terminal")]
    pub(crate) fn can_ask(&self) -> bool {
        io::stdin().is_terminal()
    }

    /// Returns the answer of a person on a terminal, in lower case; fails without a terminal.
    pub(crate) fn choose(&self, question: &str) -> Result<String, CliError> {
        if !self.can_ask() {
            return Err(CliError::usage("usage", "a question cannot be asked: stdin is no terminal").help("use --yes"));
        }
        self.say(question);
        let mut answer = String::new();
        // A closed terminal is an empty answer.
        let _ = io::stdin().lock().read_line(&mut answer);
        Ok(answer.trim().to_lowercase())
    }

    /// Prints a warning. The work goes on.
    pub(crate) fn warn(&self, code: &str, message: &str, help: &str) {
        self.say(&warning(code, message, help));
    }

    /// Prints an error.
    pub(crate) fn error(&self, error: &CliError) {
        let excerpt = error.shown_excerpt();
        if let Some(excerpt) = excerpt {
            self.say(&diagnostics::excerpt(error, excerpt));
            return;
        }
        let head = paint(style::BAD, format_args!("error[{}]", error.code()));
        self.say(&format!("{head}: {}", text::one_line(error.message())));
        if let Some(help) = error.hint() {
            self.say(&format!("  {}: {}", paint(style::HELP, "help"), text::one_line(help)));
        }
    }

    /// Flushes stdout.
    pub(crate) fn flush(&self) -> io::Result<()> {
        self.stdout.lock().flush()
    }
}
