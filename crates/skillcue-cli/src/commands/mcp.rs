//! `skillcue mcp`: serve the skills to any MCP client, or look at a server.

mod http;
mod inspect;
mod setup;
mod views;

use std::sync::Arc;

use skillcue::Skillcue;
use skillcue::watch::{WatchEvent, WatchOptions};
use skillcue_base::os_message;
use skillcue_clients::Client;
use skillcue_clients::settings::ServerReach;
use skillcue_mcp::server::{ServerOptions, serve_standard_io};
use tokio_util::sync::CancellationToken;

use crate::Outcome;
use crate::cli::words;
use crate::clients::{CLIENTS, launch};
use crate::context::Context;
use crate::error::CliError;
use crate::report::Printout;
use crate::terminal::{paint, style};
use setup::snippet;
use skillcue_host::HostWatch;
use views::{OpenSkills, ServedSkills};

const AFTER: &str = "\
Examples:
  skillcue mcp                              serve over stdio; a client starts it
  skillcue mcp --http 8808                  serve on http://127.0.0.1:8808/mcp
  skillcue mcp --view sales                 serve the skills of `[view.sales]` in skillcue.toml only
  skillcue mcp --print-config claude        what to paste into a client's configuration, and where
  skillcue mcp inspect https://host/mcp     what a server's skills are; --verify reads and checks them

Options such as --skills-dir and --isolated decide what is served, as for every command.";

/// Threads for work that may block. More would wait for each other, and each keeps memory of its own.
const MAX_BLOCKING: usize = 40;

#[derive(Debug, clap::Args)]
#[command(after_help = crate::cli::footer(AFTER), args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<McpCommand>,
    #[command(flatten)]
    http: http::HttpArgs,
    /// Serve only the skills of the view `[view.NAME]` of skillcue.toml
    #[arg(long, value_name = "NAME")]
    view: Option<String>,
    /// Serve every view of skillcue.toml at /mcp/NAME, and nothing at /mcp
    #[arg(long, requires = "http")]
    views: bool,
    /// Print what to paste into the configuration of a client
    #[arg(long, value_name = "CLIENT", value_parser = words(CLIENTS))]
    print_config: Option<Client>,
}

#[derive(Debug, clap::Subcommand)]
enum McpCommand {
    /// List the skills of a server, and check them
    Inspect(inspect::Args),
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Outcome, CliError> {
    match &args.command {
        Some(McpCommand::Inspect(args)) => inspect::run(args, context),
        None => match args.print_config {
            Some(client) => print_config(client, args, context),
            None => serve(args, context),
        },
    }
}

fn print_config(client: Client, args: &Args, context: &Context) -> Result<Outcome, CliError> {
    let view = if args.view.is_some() || args.views {
        views::configured_view(args, &context.settings()?.views)?
    } else {
        None
    };
    let reach = if let Some(http) = &args.http.http {
        let address = http::address(http)?;
        if address.port() == 0 || address.ip().is_unspecified() {
            return Err(CliError::usage("usage", format!("no client can connect to {address}"))
                .help("give the address and the port that clients will use"));
        }
        let (path, variable) = match view {
            Some((name, section)) => {
                (if args.views { format!("/{name}") } else { String::new() }, section.token_env.clone())
            }
            None => (String::new(), None),
        };
        let token = variable.or_else(|| args.http.token_variable());
        ServerReach::Url { url: format!("http://{address}/mcp{path}"), token }
    } else {
        ServerReach::Program(launch(context, None))
    };
    let is_program = args.http.http.is_none();
    let words: Vec<&str> = view.filter(|_| is_program).map_or(Vec::new(), |(name, _)| vec!["--view", name]);
    let snippet = snippet(client, &reach, &words);
    context.report(Outcome::Done, &snippet, || {
        let also = snippet.also.map(|also| format!("; or {also}")).unwrap_or_default();
        let hint = format!("Put it into {}{also}. Merge it with what is there.", snippet.file);
        let rules = snippet.rules.as_ref().map(|rules| {
            format!(
                "So that Claude Code does not ask each time, add to permissions.allow of settings.json: {}",
                rules.join(", ")
            )
        });
        // That connects the program with all skills, not an address and not a view.
        let connect = (is_program && view.is_none())
            .then(|| format!("`skillcue connect {} --mcp` does it for you.", client.as_str()));
        Printout::from(snippet.text.clone())
            .dim(hint)
            .remarks(rules.into_iter().chain(connect).map(|line| paint(style::DIM, line)))
    })
}

fn serve(args: &Args, context: &Context) -> Result<Outcome, CliError> {
    // The allocator takes memory in huge pages, and a thread that has used a little of one keeps all of it: 1.3 GB
    // instead of 0.2 GB with a hundred threads. If it cannot be switched off, it only costs memory.
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::disable_transparent_huge_pages(true);
    if args.view.is_some() && args.views {
        return Err(CliError::usage("usage", "--view and --views cannot be served together")
            .help("leave one out; both together are for --print-config"));
    }
    let open = OpenSkills::of(args, &context.settings()?.views)?;
    let http = args.http.options(&open)?;
    let keys = args.http.handle_keys()?;
    // Remote servers are not waited for: their skills join when they have answered.
    crate::judge::configured(context)?;
    context.settings()?;
    context.record_usage("mcp")?;
    let skills = Arc::clone(context.local_skills()?);
    context.check_mode(context.mode(None)?)?;
    context.warn_without_model(context.mode(None)?)?;
    context.print_diagnostics();
    let are_shared = keys.are_shared();
    let mut options = ServerOptions::new(keys);
    if let Some(concurrent) = context.settings()?.run.concurrent {
        // More scripts than that would be refused: their calls wait.
        options.skill_calls = concurrent;
    }
    let servers = ServedSkills::new(args, context, &skills, options)?;
    let watching = watch(context, &skills, &servers)?;
    context.host()?.read_ahead()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .max_blocking_threads(MAX_BLOCKING)
        .enable_all()
        .build()
        .map_err(|error| CliError::failure("runtime", format!("cannot start: {}", os_message(&error))))?;
    let served = runtime.block_on(async {
        let (cancel, stop) = (CancellationToken::new(), CancellationToken::new());
        tokio::spawn(stop_on_signal(cancel.clone(), stop.clone()));
        let Some(options) = http else { return serve_standard_io(servers.first(), cancel).await };
        let http = servers.bind(options).await?;
        if args.http.is_without_token() && !http.address().ip().to_canonical().is_loopback() {
            open.warn(context, http.address());
        }
        if http.address().ip().is_unspecified() && args.http.allow_host.is_empty() {
            let message = "clients on other machines will be refused: no name for this host is allowed";
            context.terminal.warn("no_host", message, "name it with --allow-host");
        }
        for path in http.paths() {
            context.terminal.say(&format!("listening on http://{}{path}", http.address()));
        }
        if !are_shared {
            let line =
                "handles of loaded skills count in this process only; replicas share them with --handle-key-file";
            context.terminal.say(line);
        }
        tokio::select! {
            ended = http.run(cancel) => ended,
            // Told twice: at once.
            () = stop.cancelled() => Ok(()),
        }
    });
    drop(watching);
    // A read of stdin that will never end must not keep the process.
    runtime.shutdown_background();
    served.map_err(|error| {
        CliError::failure("mcp", format!("cannot serve: {}", os_message(&error)))
            .help("choose another address with --http")
    })?;
    Ok(Outcome::Done)
}

/// Watches the disk, and reports changes to clients.
fn watch(context: &Context, skills: &Arc<Skillcue>, servers: &ServedSkills) -> Result<HostWatch, CliError> {
    let (skills, servers) = (Arc::clone(skills), servers.clone());
    let watching = context.host()?.watch(WatchOptions::default(), move |event| match event {
        WatchEvent::Changed(changes) => servers.announce(&skills, changes),
        WatchEvent::Trouble(message) => tracing::warn!("watching: {message}"),
        WatchEvent::Recovered => tracing::info!("watching: the system reports changes again"),
        _ => {}
    })?;
    Ok(watching)
}

/// Drains at the first signal, and stops at the second.
async fn stop_on_signal(drain: CancellationToken, stop: CancellationToken) {
    use tokio::signal::unix::{SignalKind, signal};
    let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()].map(signal);
    let [Ok(mut interrupt), Ok(mut terminate), Ok(mut hangup)] = kinds else { return };
    for token in [drain, stop] {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
        token.cancel();
    }
}
