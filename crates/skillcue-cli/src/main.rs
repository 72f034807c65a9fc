//! The binary `skillcue`: one file per command, over the library of the same name.
//!
//! The library never prints and never looks at the environment; both happen here. [`context`] passes what a run may see
//! of the machine to `skillcue-host`, all output goes through [`terminal`], and [`commands`] are what is left: ask the
//! library, show the answer.

#[cfg(feature = "agent")]
mod agent;
#[cfg(feature = "agent")]
mod chat;
mod chunks;
mod cli;
mod clients;
mod commands;
mod consent;
mod context;
mod deadline;
mod diagnostics;
mod error;
mod explanation;
mod hints;
mod judge;
mod policy;
mod printed_warnings;
mod progress;
mod registries;
mod report;
mod signals;
mod skill_file;
mod skill_json;
#[cfg(feature = "otlp")]
mod telemetry;
mod terminal;
mod text;
mod turn;

use context::Context;
use error::CliError;
use terminal::Terminal;

/// The program that runs toolsets inside the sandbox, if this build has it.
#[cfg(feature = "engine")]
const ENGINE: Option<fn() -> i32> = Some(skillcue_toolset::engine);
#[cfg(not(feature = "engine"))]
const ENGINE: Option<fn() -> i32> = None;

/// The outcome of a command that did its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Done.
    Done,
    /// Done, and what was checked failed: `validate`, `lint`, `verify` and others.
    FailedChecks,
    /// Ended by a signal before it was done, in order.
    #[cfg(feature = "agent")]
    Signalled(i32),
}

impl Outcome {
    /// Returns the outcome of a check: whether what was checked passed.
    pub(crate) fn of(passed: bool) -> Outcome {
        if passed { Outcome::Done } else { Outcome::FailedChecks }
    }

    /// Returns the exit code, which is part of the interface.
    fn exit_code(self) -> i32 {
        match self {
            Outcome::Done => 0,
            Outcome::FailedChecks => 1,
            #[cfg(feature = "agent")]
            Outcome::Signalled(code) => code,
        }
    }

    /// Returns the outcome after its result was printed. It stays the same if the reader did not want all of it, as in
    /// `skillcue list | head -1`: that is how pipes are meant to work, and no reason to complain. ripgrep does so, too.
    pub(crate) fn after_printing(self, printed: Result<(), CliError>) -> Result<Outcome, CliError> {
        match printed {
            Err(error) if !error.is_broken_pipe() => Err(error),
            _ => Ok(self),
        }
    }
}

fn main() {
    // To run a skill's programs, this very program is started again, as their sandbox.
    skillcue_exec::helper::run_if_asked(ENGINE);
    let is_hook = deadline::is_hook(std::env::args_os());
    if is_hook {
        deadline::guard_hook();
    }
    // Whatever is wrong with a hook, its client goes on.
    let exit = |code: i32| -> ! { std::process::exit(if is_hook { 0 } else { code }) };
    // Before the command line is parsed, because complaints about it are coloured, too.
    let color = match cli::color(std::env::args_os(), std::env::var_os("SKILLCUE_COLOR")) {
        Ok(color) => color,
        Err(error) => {
            let terminal = Terminal::new(clap::ColorChoice::Auto);
            terminal.error(&error);
            if cli::wants_json(std::env::args_os()) {
                let _ = terminal.print_json(&error.json());
            }
            exit(error.exit_code());
        }
    };
    cli::set_color(color);
    let cli = match cli::Cli::read(std::env::args_os()) {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version come this way too, on stdout and with code 0. A failure cannot be reported any more.
            let _ = error.print();
            if error.use_stderr() && cli::wants_json(std::env::args_os()) {
                let _ = Terminal::new(color).print_json(&CliError::from(&error).json());
            }
            exit(error.exit_code());
        }
    };
    let terminal = Terminal::new(color);
    terminal.log(cli.global.verbose, cli.command.reports_refused_paths());
    let context = Context::new(terminal, cli.global);
    let code = match commands::run(&cli.command, &context)
        .and_then(|outcome| outcome.after_printing(context.terminal.flush().map_err(CliError::from)))
    {
        Ok(outcome) => outcome.exit_code(),
        // A result that was not read to its end; checks keep their own exit code.
        Err(error) if error.is_broken_pipe() => 0,
        Err(error) => {
            context.fail(&error);
            error.exit_code()
        }
    };
    context.close();
    #[cfg(feature = "otlp")]
    telemetry::finish(is_hook);
    // Without returning: taking a catalog of 100,000 skills apart costs more than the kernel needs to drop the lot.
    exit(code);
}
