//! `skillcue mcp inspect`: the skills of a server, checked against its own list.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::json;
use skillcue_mcp::host::{McpHost, ServerSpec, ServerTransport, SpecError};

use crate::context::Context;
use crate::error::CliError;
use crate::report::Printout;
use crate::terminal::{paint, style, warning};
use crate::{Outcome, text};

const AFTER: &str = "\
Examples:
  skillcue mcp inspect http://127.0.0.1:8808/mcp
  skillcue mcp inspect --verify https://host/mcp    read every file, check size, digest and front matter
  skillcue mcp inspect acme                         a server of skillcue.toml

Nothing is loaded, allowed or kept. Exit code 1: something is not as the server lists it. With --json
it prints {protocol, server, skills: [{name, uri, description, files, bytes, verified, diagnostics}],
diagnostics}.";

/// Longest time that an inspection may take.
const MAX_DURATION: Duration = Duration::from_mins(2);

#[derive(Debug, clap::Args)]
#[command(after_help = crate::cli::footer(AFTER))]
pub(crate) struct Args {
    /// The server: a URL, or the name of one in skillcue.toml
    server: String,
    /// Read every file and check that it is what the server lists
    #[arg(long)]
    verify: bool,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Outcome, CliError> {
    let spec = spec(&args.server, context)?;
    let report = McpHost::inspect(spec, args.verify, MAX_DURATION).map_err(|error| {
        CliError::failure("mcp_server", error.to_string()).help("check that it runs and speaks MCP")
    })?;
    let skills = report.skills.iter().map(|skill| {
        json!({"name": skill.name, "uri": skill.uri, "description": skill.description, "files": skill.files,
            "bytes": skill.bytes, "verified": skill.verified, "diagnostics": skill.diagnostics})
    });
    let document = json!({"protocol": report.protocol, "server": report.server, "skills": skills.collect::<Vec<_>>(),
        "diagnostics": report.diagnostics});
    context.report(Outcome::of(report.is_clean()), &document, || {
        let mut out = String::new();
        for skill in &report.skills {
            let files = skill.files.map_or("files not listed".to_owned(), |files| text::count(files, "file"));
            let verified = if args.verify { format!(", {} verified", skill.verified) } else { String::new() };
            let head = paint(style::NAME, text::one_line(&skill.name));
            let _ = writeln!(out, "{head}  {}", text::one_line(&skill.description));
            let line =
                format!("  {}  {files}, {}{verified}", text::one_line(&skill.uri), text::count(skill.bytes, "byte"));
            let _ = writeln!(out, "{}", paint(style::DIM, line));
            for found in &skill.diagnostics {
                let _ = writeln!(out, "  {}: {}", paint(style::BAD, "refused"), text::one_line(&found.message));
            }
        }
        let found = report.diagnostics.iter();
        let warnings =
            found.map(|found| warning(found.code.as_str(), &found.message, "report it to the server's operator"));
        let server = report.server.as_deref().map_or_else(|| "a server".to_owned(), text::one_line);
        let line = format!("{} · {server} · protocol {}", text::count(report.skills.len(), "skill"), report.protocol);
        Printout::from(out).remarks(warnings).dim(line)
    })
}

fn spec(server: &str, context: &Context) -> Result<ServerSpec, CliError> {
    let wrong =
        |error: SpecError| CliError::usage("usage", error.to_string()).help("name a URL, or a server of skillcue.toml");
    if server.contains("://") {
        let transport = ServerTransport::Url { url: server.to_owned(), headers: Vec::new(), token: None };
        let unusable = |error: SpecError| {
            CliError::usage("usage", format!("the address {server:?} cannot be used: {}", error.message))
                .help("name a URL, or a server of skillcue.toml")
        };
        return ServerSpec::new("inspected", transport).map_err(unusable);
    }
    let settings = context.settings()?;
    let Some(config) = settings.servers.iter().find(|known| known.name == server) else {
        let known: Vec<&str> = settings.servers.iter().map(|known| known.name.as_str()).collect();
        let help = if known.is_empty() {
            "name a URL: no server is configured".to_owned()
        } else {
            format!("name a URL, or one of {}", known.join(", "))
        };
        return Err(CliError::usage("usage", format!("there is no server {server:?} in skillcue.toml")).help(help));
    };
    ServerSpec::from_config(config, |name| std::env::var(name).ok()).map_err(wrong)
}
