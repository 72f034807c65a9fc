//! Looks at an MCP server: `inspect [--verify] URL`. The conformance suite's client scenarios run it.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for people")]

use std::process::ExitCode;
use std::time::Duration;

use skillcue_mcp::host::{McpHost, ServerSpec, ServerTransport};

fn main() -> ExitCode {
    let (flags, urls): (Vec<String>, Vec<String>) = std::env::args().skip(1).partition(|arg| arg.starts_with("--"));
    let [url] = urls.as_slice() else {
        eprintln!("usage: inspect [--verify] URL");
        return ExitCode::from(2);
    };
    let transport = ServerTransport::Url { url: url.clone(), headers: Vec::new(), token: None };
    let spec = match ServerSpec::new("server", transport) {
        Ok(spec) => spec,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(2);
        }
    };
    match McpHost::inspect(spec, flags.iter().any(|flag| flag == "--verify"), Duration::from_secs(30)) {
        Ok(report) => {
            println!("{report:#?}");
            if report.is_clean() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
