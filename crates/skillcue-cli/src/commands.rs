//! One file per command.

#[cfg(feature = "agent")]
pub(crate) mod agent;
pub(crate) mod allow;
pub(crate) mod allowed;
pub(crate) mod audit;
#[cfg(feature = "bench")]
pub(crate) mod bench;
pub(crate) mod call;
#[cfg(feature = "fleet")]
pub(crate) mod catalog;
pub(crate) mod completions;
pub(crate) mod connect;
pub(crate) mod context;
pub(crate) mod deny;
pub(crate) mod disconnect;
pub(crate) mod doctor;
pub(crate) mod enable;
pub(crate) mod eval;
pub(crate) mod files;
pub(crate) mod hook;
pub(crate) mod install;
pub(crate) mod link;
pub(crate) mod lint;
pub(crate) mod list;
pub(crate) mod load;
pub(crate) mod man;
pub(crate) mod mcp;
#[cfg(feature = "agent")]
pub(crate) mod memory;
#[cfg(not(all(feature = "agent", feature = "bench", feature = "fleet", feature = "semantic")))]
pub(crate) mod missing;
#[cfg(feature = "semantic")]
pub(crate) mod model;
pub(crate) mod new;
pub(crate) mod prompt;
#[cfg(feature = "fleet")]
pub(crate) mod publish;
#[cfg(feature = "fleet")]
pub(crate) mod pull;
#[cfg(feature = "oci")]
pub(crate) mod push;
pub(crate) mod read;
pub(crate) mod remove;
pub(crate) mod run;
pub(crate) mod search;
#[cfg(feature = "agent")]
pub(crate) mod sessions;
pub(crate) mod show;
pub(crate) mod status;
pub(crate) mod studio;
pub(crate) mod tools;
pub(crate) mod toolset;
#[cfg(feature = "agent")]
pub(crate) mod trace;
pub(crate) mod tune;
pub(crate) mod unlink;
pub(crate) mod update;
pub(crate) mod usage;
pub(crate) mod validate;
pub(crate) mod verify;
pub(crate) mod watch;
pub(crate) mod why;

// Commands that were left out of the build say so.
#[cfg(not(feature = "bench"))]
pub(crate) use missing::bench;
#[cfg(not(feature = "semantic"))]
pub(crate) use missing::model;
#[cfg(not(feature = "oci"))]
pub(crate) use missing::push;
#[cfg(not(feature = "agent"))]
pub(crate) use missing::{agent, agent as memory, agent as sessions, agent as trace};
#[cfg(not(feature = "fleet"))]
pub(crate) use missing::{fleet as catalog, fleet as publish, fleet as pull};

use crate::Outcome;
use crate::cli::Command;
use crate::context::Context;
use crate::error::CliError;

/// Runs a command.
pub(crate) fn run(command: &Command, context: &Context) -> Result<Outcome, CliError> {
    match command {
        Command::Context(args) => context::run(args, context),
        Command::Why(args) => why::run(args, context),
        Command::Search(args) => search::run(args, context),
        Command::Prompt(args) => prompt::run(args, context),
        Command::Eval(args) => eval::run(args, context),
        Command::Tune(args) => tune::run(args, context),
        Command::Studio(args) => studio::run(args, context),
        Command::Usage(args) => usage::run(args, context),
        Command::List(args) => list::run(args, context),
        Command::Show(args) => show::run(args, context),
        Command::Load(args) => load::run(args, context),
        Command::Files(args) => files::run(args, context),
        Command::Read(args) => read::run(args, context),
        Command::Tools(args) => tools::run(args, context),
        Command::Run(args) => run::run(args, context),
        Command::Call(args) => call::run(args, context),
        Command::Toolset(args) => toolset::run(args, context),
        Command::Agent(args) => agent::run(args, context),
        Command::Sessions(args) => sessions::run(args, context),
        Command::Trace(args) => trace::run(args, context),
        Command::Memory(args) => memory::run(args, context),
        Command::Model(args) => model::run(args, context),
        Command::Mcp(args) => mcp::run(args, context),
        Command::Hook(args) => hook::run(args, context),
        Command::Connect(args) => connect::run(args, context),
        Command::Disconnect(args) => disconnect::run(args, context),
        Command::Status(args) => status::run(args, context),
        Command::Doctor(args) => doctor::run(args, context),
        Command::Watch(args) => watch::run(args, context),
        Command::Allow(args) => allow::run(args, context),
        Command::Deny(args) => deny::run(args, context),
        Command::Allowed(args) => allowed::run(args, context),
        Command::Publish(args) => publish::run(args, context),
        Command::Pull(args) => pull::run(args, context),
        Command::Catalog(args) => catalog::run(args, context),
        Command::Install(args) => install::run(args, context),
        Command::Enable(args) => enable::run(args, true, context),
        Command::Disable(args) => enable::run(args, false, context),
        Command::Update(args) => update::run(args, context),
        Command::Push(args) => push::run(args, context),
        Command::Remove(args) => remove::run(args, context),
        Command::Verify(args) => verify::run(args, context),
        Command::Link(args) => link::run(args, context),
        Command::Unlink(args) => unlink::run(args, context),
        Command::Audit(args) => audit::run(args, context),
        Command::Gc(args) => remove::gc(args, context),
        Command::Validate(args) => validate::run(args, context),
        Command::Lint(args) => lint::run(args, context),
        Command::New(args) => new::run(args, context),
        Command::Bench(args) => bench::run(args, context),
        Command::Completions(args) => completions::run(args, context),
        Command::Man(args) => man::run(args, context),
    }
}
