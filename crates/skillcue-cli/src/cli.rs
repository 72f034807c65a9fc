//! The command line: commands and global options, and how they are parsed.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgAction, Args, ColorChoice, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use crate::commands;
use crate::error::CliError;

const EXAMPLES: &str = "\
Examples:
  skillcue context \"Say bonjour to Alice\"    what a model would get for this message
  skillcue why \"Say bonjour to Alice\"        which words decide for which skill
  skillcue list                              every skill there is
  skillcue show hello-extended               what it is, and what belongs to it
  skillcue load hello-extended Alice         its instructions, with an argument
  skillcue agent -p \"Say bonjour to Alice\"   a model's answer, with the skill
  skillcue new release-notes                 start a skill of your own
  skillcue --isolated --skills-dir ./s list  only the skills below ./s

Exit codes: 0 done; 1 failed, or a check failed; 2 wrong usage.
With --json a command that fails prints {\"error\": {code, message, help}} on stdout.
SKILLCUE_SKILLS_DIRS, _ISOLATED, _NO_CACHE, _CONFIG, _COLOR, _MODE, _MAX_SKILLS, _FALLBACK and _EAGERNESS set the
options of that name.";

/// Give a model the right skill at the right moment: find, match, disclose, load and check agent skills.
#[derive(Debug, Parser)]
#[command(name = "skillcue", version, max_term_width = 100, after_help = footer(EXAMPLES))]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The second `--skills-dir`, the one behind a command's name.
const DIRS_BEHIND: &str = "skills_dir_behind";

impl Cli {
    /// The command line as clap sees it.
    ///
    /// `--skills-dir` before a command's name and behind it are two arguments: of a global argument that is given in
    /// both places clap keeps only the one behind, and directories must not get lost.
    pub(crate) fn grammar() -> clap::Command {
        let command = Cli::command();
        let before = command.get_arguments().find(|arg| arg.get_id() == "skills_dir").cloned();
        command.mut_subcommands(|subcommand| subcommand.args(before.clone().map(|arg| arg.id(DIRS_BEHIND))))
    }

    /// Reads the command line.
    pub(crate) fn read(args: impl IntoIterator<Item = OsString>) -> Result<Cli, clap::Error> {
        let args: Vec<OsString> = args.into_iter().collect();
        let read = Cli::grammar().try_get_matches_from(&args).map_err(suggest_consent);
        let mistyped = match &read {
            Ok(matches) => matches.subcommand_name().and_then(|name| mistyped(name, &args)),
            Err(error) if error.kind() == ErrorKind::UnknownArgument => {
                let lenient = Cli::grammar().ignore_errors(true).try_get_matches_from(&args).ok();
                lenient.as_ref().and_then(clap::ArgMatches::subcommand_name).and_then(|name| mistyped(name, &args))
            }
            Err(_) => None,
        };
        let matches = mistyped.map_or(read, Err)?;
        let mut cli = Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut Cli::grammar()))?;
        if let Some((_, behind)) = matches.subcommand() {
            cli.global.skills_dir.extend(behind.get_many::<PathBuf>(DIRS_BEHIND).into_iter().flatten().cloned());
        }
        Ok(cli)
    }
}

/// Suggests the three commands of consent for words that other programs use for them.
fn suggest_consent(mut error: clap::Error) -> clap::Error {
    let word = match error.get(ContextKind::InvalidSubcommand) {
        Some(ContextValue::String(word)) => word.as_str(),
        _ => return error,
    };
    let verb = match word {
        "approve" | "grant" | "trust" => "allow",
        "revoke" | "untrust" => "deny",
        "approvals" | "permissions" => "allowed",
        _ => return error,
    };
    error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(vec![verb.to_owned()]));
    error
}

/// Returns the error about an unknown `--word` in the place of a message. A message may begin with a hyphen, as in
/// `- one, - two`, and so the parser takes a mistyped option for one.
fn mistyped(command: &str, args: &[OsString]) -> Option<clap::Error> {
    let grammar = clap::Command::new("").bin_name(format!("skillcue {command}"));
    let grammar = match command {
        "context" => commands::context::Args::augment_args(grammar),
        "why" => commands::why::Args::augment_args(grammar),
        "search" => commands::search::Args::augment_args(grammar),
        _ => return None,
    };
    let is_message = |arg: &clap::Arg| arg.get_id() == "message" || arg.get_id() == "query";
    let strict = |arg: clap::Arg| if is_message(&arg) { arg.allow_hyphen_values(false) } else { arg };
    let grammar = Global::augment_args(grammar).mut_args(strict);
    let at = args.iter().skip(1).position(|arg| arg == command)? + 1;
    let error = grammar.try_get_matches_from(&args[at..]).err()?;
    let is_option = match error.get(ContextKind::InvalidArg)? {
        ContextValue::String(word) => word.len() > 2 && word.starts_with("--") && !word.contains(char::is_whitespace),
        _ => false,
    };
    (error.kind() == ErrorKind::UnknownArgument && is_option).then_some(error)
}

/// Returns a footer with each paragraph on one line, because the parser breaks lines at the terminal's width: those
/// that the source breaks would be broken twice. A line that ends a sentence ends a paragraph; examples are indented.
pub(crate) fn footer(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut before = "";
    for line in text.lines() {
        let goes_on = !(before.is_empty() || before.starts_with(' ') || before.ends_with('.'));
        out.push_str(if out.is_empty() {
            ""
        } else if goes_on && !line.is_empty() && !line.starts_with(' ') {
            " "
        } else {
            "\n"
        });
        out.push_str(line);
        before = line;
    }
    out
}

/// Options that every command takes, before its name or after.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Global {
    /// Look for skills below DIR first; may be given several times
    #[arg(long, value_name = "DIR")]
    pub(crate) skills_dir: Vec<PathBuf>,
    /// Use only --skills-dir: no project, user, plugin or bundled skills
    #[arg(long, global = true)]
    pub(crate) isolated: bool,
    /// Neither read nor write the index cache
    #[arg(long, global = true)]
    pub(crate) no_cache: bool,
    /// Read FILE instead of the user's and the project's skillcue.toml
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) config: Option<PathBuf>,
    /// Print one JSON document on stdout
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Print more on stderr; -vv and -vvv print still more
    #[arg(short, long, action = ArgAction::Count, global = true)]
    pub(crate) verbose: u8,
    /// When to use colours; auto: on a terminal, unless `NO_COLOR` is set
    // Already read by `color`, below; here for the help and for errors.
    #[arg(long, value_name = "WHEN", default_value = "auto", global = true)]
    pub(crate) color: ColorChoice,
}

// Deferred: the arguments of the one command that was typed are made, not those of all 40.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    /// Print what a model would get this turn
    Context(commands::context::Args),
    /// Explain why skills fit a message, or do not
    Why(commands::why::Args),
    /// Search for skills
    Search(commands::search::Args),
    /// Print the section of a system prompt that lists the skills
    Prompt(commands::prompt::Args),
    /// Run labelled messages, and measure how well they are matched
    Eval(commands::eval::Args),
    /// Propose better words for a skill, judged by labelled messages
    Tune(commands::tune::Args),
    /// Open a page that shows what a model would get, and why
    Studio(commands::studio::Args),
    /// Show how skills were used: which earn their tokens, which never fire
    Usage(commands::usage::Args),
    /// List every skill
    List(commands::list::Args),
    /// Show one skill: metadata, files, diagnostics
    Show(commands::show::Args),
    /// Print the instructions of a skill, with arguments
    Load(commands::load::Args),
    /// List the files of a skill
    Files(commands::files::Args),
    /// Print a file of a skill
    Read(commands::read::Args),
    /// Show the tools that models can call, or those of a skill
    Tools(commands::tools::Args),
    /// Run a script of a skill, in the sandbox
    Run(commands::run::Args),
    /// Call a tool, as a model would
    Call(commands::call::Args),
    /// Install what toolsets import
    Toolset(commands::toolset::Args),
    /// Talk to a model that uses the skills, or have it answer
    Agent(commands::agent::Args),
    /// List the agent's conversations, show one, remove them
    Sessions(commands::sessions::Args),
    /// Show what a conversation cost, by turn and part, and what skills saved
    Trace(commands::trace::Args),
    /// Show what the agent remembers, and make it forget
    Memory(commands::memory::Args),
    /// Install the sentence model that finds skills by meaning, show it, remove it
    Model(commands::model::Args),
    /// Serve the skills to MCP clients, or look at an MCP server
    Mcp(commands::mcp::Args),
    /// Answer the hook of another agent: the skills that fit, as that agent reads them
    Hook(commands::hook::Args),
    /// Make another agent use the skills: its hook, and the MCP server
    Connect(commands::connect::Args),
    /// Take back what `connect` wrote, byte for byte
    Disconnect(commands::disconnect::Args),
    /// Show skills by source, MCP servers, and what is allowed
    Status(commands::status::Args),
    /// Check the whole set-up, and report what is wrong with it
    Doctor(commands::doctor::Args),
    /// Print what changes on disk, as it happens
    Watch(commands::watch::Args),
    /// Allow a project, a remote skill, scripts or toolsets, exactly as they are
    Allow(commands::allow::Args),
    /// Take back what was allowed
    Deny(commands::deny::Args),
    /// List what is allowed
    Allowed(commands::allowed::Args),
    /// Install skills from a directory, an archive or git
    Install(commands::install::Args),
    /// Publish skills to a catalog on an object store
    Publish(commands::publish::Args),
    /// Ask the configured catalogs for newer generations
    Pull(commands::pull::Args),
    /// Look at catalogs on object stores: keys, signatures, retention
    Catalog(commands::catalog::Args),
    /// Switch skills on
    Enable(commands::enable::Args),
    /// Switch skills off
    Disable(commands::enable::Args),
    /// Show new versions of installed skills, and install them
    Update(commands::update::Args),
    /// Push a skill to an OCI registry
    Push(commands::push::Args),
    /// Remove what was installed; can be undone
    Remove(commands::remove::Args),
    /// Compare what is installed with skillcue.lock
    Verify(commands::verify::Args),
    /// Let other agents see installed skills, through links in their folders
    Link(commands::link::Args),
    /// Remove such links
    Unlink(commands::unlink::Args),
    /// Look through all files of skills for what may be an attack
    Audit(commands::audit::Args),
    /// Empty the trash, and clear up
    Gc(commands::remove::GcArgs),
    /// Check skills against the open standard
    Validate(commands::validate::Args),
    /// Review the style of skills, and repair broken YAML
    Lint(commands::lint::Args),
    /// Start a new skill
    New(commands::new::Args),
    /// Measure on this machine, beside what the bare system calls cost
    // For developers, who find it in CONTRIBUTING.md.
    #[command(hide = true)]
    Bench(commands::bench::Args),
    /// Print a script that completes commands in a shell
    Completions(commands::completions::Args),
    /// Print a manual page
    Man(commands::man::Args),
}

impl Command {
    /// Returns whether the command's own output says that a path was refused, and why.
    pub(crate) fn reports_refused_paths(&self) -> bool {
        matches!(self, Command::Load(_) | Command::Files(_) | Command::Read(_) | Command::Run(_) | Command::Call(_))
    }
}

/// Makes a parser for one of some words, each with its value and its help. A word with a `-` is another spelling, which
/// the help does not show.
///
/// For enums of the library, which knows nothing of command lines: `ValueEnum` would have to be implemented there.
pub(crate) fn words<T: Clone + Send + Sync + 'static>(
    known: &'static [(&'static str, T, &'static str)],
) -> impl TypedValueParser<Value = T> {
    let values = known.iter().map(|(word, _, help)| {
        let value = PossibleValue::new(*word).hide(word.contains('-'));
        if help.is_empty() { value } else { value.help(*help) }
    });
    PossibleValuesParser::new(values).try_map(move |typed: String| {
        let value = known.iter().find(|(word, ..)| *word == typed).map(|(_, value, _)| value.clone());
        value.ok_or(typed)
    })
}

/// Makes every stream of this process follow this choice of colours.
pub(crate) fn set_color(color: ColorChoice) {
    match color {
        ColorChoice::Auto => anstream::ColorChoice::Auto,
        ColorChoice::Always => anstream::ColorChoice::Always,
        ColorChoice::Never => anstream::ColorChoice::Never,
    }
    .write_global();
}

/// Returns when to use colours, as far as that is known before the command line is parsed. The parser reports a wrong
/// `--color`.
pub(crate) fn color(
    args: impl IntoIterator<Item = OsString>,
    variable: Option<OsString>,
) -> Result<ColorChoice, CliError> {
    let mut args = args.into_iter();
    while let Some(arg) = args.next() {
        let value = match arg.to_str() {
            Some("--") => break,
            Some("--color") => args.next(),
            Some(arg) => arg.strip_prefix("--color=").map(OsString::from),
            None => None,
        };
        if let Some(value) = value {
            return Ok(value.to_str().and_then(|value| value.parse().ok()).unwrap_or(ColorChoice::Auto));
        }
    }
    match variable {
        Some(value) if !value.is_empty() => value.to_str().and_then(|value| value.parse().ok()).ok_or_else(|| {
            CliError::usage("usage", format!("SKILLCUE_COLOR is `{}`", value.display()))
                .help("set it to auto, always or never")
        }),
        _ => Ok(ColorChoice::Auto),
    }
}

/// Returns whether the result is for programs, as far as that is known of a command line that cannot be parsed.
pub(crate) fn wants_json(args: impl IntoIterator<Item = OsString>) -> bool {
    args.into_iter().skip(1).take_while(|arg| arg != "--").any(|arg| arg == "--json")
}

/// Errors of the parser, for programs.
impl From<&clap::Error> for CliError {
    fn from(error: &clap::Error) -> CliError {
        let more = "`skillcue --help` lists commands and options";
        // One with the whole help, the other with every command.
        if matches!(error.kind(), ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand) {
            return CliError::usage("usage", "the command is missing").help(more);
        }
        // The text has paragraphs: the error, which may have a list; tips; the usage; where to read on.
        let text = error.render().to_string();
        let mut paragraphs = text.split("\n\n").map(crate::text::one_line);
        let first = paragraphs.next().unwrap_or_default();
        let tip = paragraphs.find_map(|paragraph| paragraph.strip_prefix("tip: ").map(str::to_owned));
        CliError::usage("usage", first.strip_prefix("error: ").unwrap_or(&first)).help(tip.as_deref().unwrap_or(more))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::grammar().debug_assert();
    }

    #[test]
    fn the_flag_wins_over_the_variable() {
        let color = |args: &[&str], variable: Option<&str>| {
            color(args.iter().map(OsString::from), variable.map(OsString::from)).map_err(|error| error.exit_code())
        };
        assert_eq!(color(&["skillcue", "list", "--color", "never"], Some("always")), Ok(ColorChoice::Never));
        assert_eq!(color(&["skillcue", "--color=always"], None), Ok(ColorChoice::Always));
        assert_eq!(color(&["skillcue", "--", "--color=always"], Some("never")), Ok(ColorChoice::Never));
        assert_eq!(color(&["skillcue"], Some("")), Ok(ColorChoice::Auto));
        assert_eq!(color(&["skillcue"], Some("blue")), Err(2));
    }
}
