//! `skillcue mcp`: serve the skills to any MCP client, or look at a server.

mod inspect;
mod setup;

use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};
use std::path::PathBuf;
use std::sync::Arc;

use skillcue::watch::{WatchEvent, WatchOptions};
use skillcue_base::os_message;
use skillcue_clients::Client;
use skillcue_clients::settings::ServerReach;
use skillcue_mcp::server::{HttpOptions, HttpServer, ServerOptions, SkillServer, serve_standard_io};
use tokio_util::sync::CancellationToken;

use crate::Outcome;
use crate::cli::words;
use crate::clients::{CLIENTS, launch};
use crate::context::Context;
use crate::error::CliError;
use crate::report::Printout;
use crate::terminal::{paint, style};
use crate::turn::read_text;
use setup::snippet;
use skillcue_host::HostWatch;

const AFTER: &str = "\
Examples:
  skillcue mcp                              serve over stdio; a client starts it
  skillcue mcp --http 8808                  serve on http://127.0.0.1:8808/mcp
  skillcue mcp --print-config claude        what to paste into a client's configuration, and where
  skillcue mcp inspect https://host/mcp     what a server's skills are; --verify reads and checks them

Options such as --skills-dir and --isolated decide what is served, as for every command.";

/// The variable that holds the token unless another is named.
const TOKEN_VARIABLE: &str = "SKILLCUE_MCP_TOKEN";

/// Longest file with a token, in bytes. A token of 256 bits in hexadecimal has 64.
const MAX_TOKEN_FILE: u64 = 4096;

/// Threads for work that may block. More would wait for each other, and each keeps memory of its own.
const MAX_BLOCKING: usize = 40;

#[derive(Debug, clap::Args)]
#[command(after_help = crate::cli::footer(AFTER), args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<McpCommand>,
    /// Listen on ADDR, a port or ADDRESS:PORT, instead of serving over stdio
    #[arg(long, value_name = "ADDR")]
    http: Option<String>,
    /// Want the bearer token that the variable VAR holds [default: `SKILLCUE_MCP_TOKEN`, if it is set]
    #[arg(long, value_name = "VAR", requires = "http")]
    token_env: Option<String>,
    /// Want the bearer token that FILE holds
    #[arg(long, value_name = "FILE", requires = "http", conflicts_with = "token_env")]
    token_file: Option<PathBuf>,
    /// Serve without a token on an address that other machines can reach
    #[arg(long, requires = "http", conflicts_with_all = ["token_env", "token_file"])]
    no_token: bool,
    /// A name that clients may call this host by, besides localhost; may be given several times
    #[arg(long, value_name = "NAME", requires = "http")]
    allow_host: Vec<String>,
    /// An origin that web pages may ask from, besides those of localhost; may be given several times
    #[arg(long, value_name = "ORIGIN", requires = "http")]
    allow_origin: Vec<String>,
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
    let reach = if let Some(http) = &args.http {
        let address = address(http)?;
        if address.port() == 0 || address.ip().is_unspecified() {
            return Err(CliError::usage("usage", format!("no client can connect to {address}"))
                .help("give the address and the port that clients will use"));
        }
        let usual = std::env::var_os(TOKEN_VARIABLE).is_some();
        let token = match &args.token_env {
            Some(name) => Some(name.clone()),
            None => (args.token_file.is_some() || (usual && !args.no_token)).then(|| TOKEN_VARIABLE.to_owned()),
        };
        ServerReach::Url { url: format!("http://{address}/mcp"), token }
    } else {
        ServerReach::Program(launch(context, None))
    };
    let snippet = snippet(client, &reach);
    context.report(Outcome::Done, &snippet, || {
        let also = snippet.also.map(|also| format!("; or {also}")).unwrap_or_default();
        let hint = format!("Put it into {}{also}. Merge it with what is there.", snippet.file);
        let rules = snippet.rules.as_ref().map(|rules| {
            format!(
                "So that Claude Code does not ask each time, add to permissions.allow of settings.json: {}",
                rules.join(", ")
            )
        });
        // That connects the program, not an address.
        let connect =
            args.http.is_none().then(|| format!("`skillcue connect {} --mcp` does it for you.", client.as_str()));
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
    let http = args.http.as_deref().map(|http| http_options(http, args)).transpose()?;
    // Remote servers are not waited for: their skills join when they have answered.
    crate::judge::configured(context)?;
    context.settings()?;
    context.record_usage("mcp")?;
    let skills = Arc::clone(context.local_skills()?);
    context.check_mode(context.mode(None)?)?;
    context.print_diagnostics();
    let server = SkillServer::new(Arc::clone(&skills), ServerOptions::default());
    let watching = watch(context, &server)?;
    context.host()?.read_ahead()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .max_blocking_threads(MAX_BLOCKING)
        .enable_all()
        .build()
        .map_err(|error| CliError::failure("runtime", format!("cannot start: {}", os_message(&error))))?;
    let served = runtime.block_on(async {
        let cancel = CancellationToken::new();
        tokio::spawn(stop_on_signal(cancel.clone()));
        match http {
            None => serve_standard_io(&server, cancel).await,
            Some(options) => {
                let http = HttpServer::bind(server, options).await?;
                if http.address().ip().is_unspecified() && args.allow_host.is_empty() {
                    let message = "clients on other machines will be refused: no name for this host is allowed";
                    context.terminal.warn("no_host", message, "name it with --allow-host");
                }
                context.terminal.say(&format!("listening on http://{}/mcp", http.address()));
                http.run(cancel).await
            }
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
fn watch(context: &Context, server: &SkillServer) -> Result<HostWatch, CliError> {
    let server = server.clone();
    let watching = context.host()?.watch(WatchOptions::default(), move |event| match event {
        WatchEvent::Changed(changes) => server.announce(changes),
        WatchEvent::Trouble(message) => tracing::warn!("watching: {message}"),
        WatchEvent::Recovered => tracing::info!("watching: the system reports changes again"),
        _ => {}
    })?;
    Ok(watching)
}

async fn stop_on_signal(cancel: CancellationToken) {
    use tokio::signal::unix::{SignalKind, signal};
    let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()].map(signal);
    let [Ok(mut interrupt), Ok(mut terminate), Ok(mut hangup)] = kinds else { return };
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
        _ = hangup.recv() => {}
    }
    cancel.cancel();
}

fn http_options(http: &str, args: &Args) -> Result<HttpOptions, CliError> {
    let listen = address(http)?;
    let token = token(args)?;
    let mut allowed_hosts = args.allow_host.clone();
    if !listen.ip().to_canonical().is_loopback() {
        if token.is_none() && !args.no_token {
            return Err(CliError::usage(
                "usage",
                format!("{listen} can be reached from elsewhere, and no token is set"),
            )
            .help("set one with --token-env or --token-file, or use --no-token"));
        }
        if !listen.ip().is_unspecified() {
            allowed_hosts.push(match listen.ip() {
                IpAddr::V4(ip) => ip.to_string(),
                IpAddr::V6(ip) => format!("[{ip}]"),
            });
        }
    }
    let mut options = HttpOptions::default();
    options.listen = listen;
    options.token = token;
    options.allowed_hosts = allowed_hosts;
    options.allowed_origins.clone_from(&args.allow_origin);
    Ok(options)
}

/// `8808`, `:8808`, `127.0.0.1:8808`, `localhost:8808`
fn address(http: &str) -> Result<SocketAddr, CliError> {
    let wrong =
        |why: String| CliError::usage("usage", format!("--http {http}: {why}")).help("give a port, or ADDRESS:PORT");
    let port = http.strip_prefix(':').unwrap_or(http);
    if let Ok(port) = port.parse::<u16>() {
        return Ok(SocketAddr::from(([127, 0, 0, 1], port)));
    }
    let mut found = http.to_socket_addrs().map_err(|error| wrong(os_message(&error)))?;
    found.next().ok_or_else(|| wrong("there is no such address".to_owned()))
}

fn token(args: &Args) -> Result<Option<String>, CliError> {
    let token = if let Some(file) = &args.token_file {
        let token = read_text(file, MAX_TOKEN_FILE).map_err(|error| {
            let message = format!("--token-file {}: {}", file.display(), os_message(&error));
            CliError::usage("usage", message).help("name a file that holds the token and nothing else")
        })?;
        Some(token.trim().to_owned())
    } else if let Some(name) = &args.token_env {
        let value = std::env::var(name).ok();
        Some(value.ok_or_else(|| {
            CliError::usage("usage", format!("the variable {name} is not set")).help("set it to the token")
        })?)
    } else if args.no_token {
        None
    } else {
        std::env::var(TOKEN_VARIABLE).ok().filter(|token| !token.is_empty())
    };
    match token {
        Some(token) if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) => {
            Err(CliError::usage("usage", "the token is empty, or has characters that no header may hold")
                .help("use letters, digits and signs, for example of `openssl rand -hex 32`"))
        }
        token => Ok(token),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_loopback_unless_told_otherwise() {
        for text in ["8808", ":8808", "127.0.0.1:8808"] {
            assert_eq!(address(text).unwrap().to_string(), "127.0.0.1:8808");
        }
        assert_eq!(address("0.0.0.0:1").unwrap().to_string(), "0.0.0.0:1");
        assert_eq!(address("[::1]:1").unwrap().to_string(), "[::1]:1");
        assert_eq!(address("99999").unwrap_err().exit_code(), 2);
        assert_eq!(address("nonsense").unwrap_err().exit_code(), 2);
    }
}
