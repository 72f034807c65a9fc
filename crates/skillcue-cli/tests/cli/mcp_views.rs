//! `skillcue mcp --view` and `--views`: the configuration of clients, and tokens.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use insta::assert_snapshot;

use crate::Sandbox;
use crate::sandbox::SETTINGS;

const VIEWS: &str = "[view.hr]\nskills = [\"payroll\"]\n[view.sales]\nskills = [\"sales-*\"]\ntoken_env = \"SALES\"\n";

fn with_views(settings: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.skill("home/.agents/skills/sales-quote", "Writes quotes. Use for quotes.");
    sandbox.skill("home/.agents/skills/payroll", "Pays people. Use for pay.");
    sandbox.write(SETTINGS, settings);
    sandbox
}

#[test]
fn print_config_keeps_the_view() {
    let sandbox = with_views(VIEWS);
    let print = |args: &[&str]| {
        let run = sandbox.run(&[&["mcp", "--print-config", "codex"], args].concat());
        run.to_string().replace(env!("CARGO_BIN_EXE_skillcue"), "[BIN]")
    };
    assert_snapshot!(print(&["--view", "sales"]), @r#"
    exit 0
    --- stdout
    [mcp_servers.skillcue]
    command = "[BIN]"
    args = ["mcp", "--view", "sales"]
    --- stderr
    Put it into ~/.codex/config.toml; or .codex/config.toml in the project. Merge it with what is there.
    "#);
    // A server with one view has it at the usual path.
    assert_snapshot!(print(&["--http", "8808", "--view", "sales"]), @r#"
    exit 0
    --- stdout
    [mcp_servers.skillcue]
    url = "http://127.0.0.1:8808/mcp"
    bearer_token_env_var = "SALES"
    --- stderr
    Put it into ~/.codex/config.toml; or .codex/config.toml in the project. Merge it with what is there.
    "#);
    assert_snapshot!(print(&["--http", "8808", "--views", "--view", "hr"]), @r#"
    exit 0
    --- stdout
    [mcp_servers.skillcue]
    url = "http://127.0.0.1:8808/mcp/hr"
    --- stderr
    Put it into ~/.codex/config.toml; or .codex/config.toml in the project. Merge it with what is there.
    "#);
    assert_snapshot!(print(&["--http", "8808", "--views"]), @r"
    exit 2
    --- stderr
    error[usage]: --views serves nothing at /mcp: a client needs the path of one view
      help: add --view NAME; there are: hr, sales
    ");
    assert_snapshot!(print(&["--view", "sale"]), @r"
    exit 2
    --- stderr
    error[usage]: --view sale: there is no such view in skillcue.toml
      help: there are: hr, sales
    ");
}

/// Starts a server, and returns the lines that it prints until it listens.
fn listening(sandbox: &Sandbox, args: &[&str]) -> Vec<String> {
    let mut command = sandbox.command(args);
    command.env("SALES", "secret-token").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut lines = Vec::new();
    for line in BufReader::new(child.stderr.take().unwrap()).lines() {
        let line = line.unwrap();
        let is_last = line.starts_with("listening on ");
        lines.push(line);
        if is_last {
            break;
        }
    }
    child.kill().unwrap();
    child.wait().unwrap();
    lines
}

#[test]
fn an_open_address_wants_a_token_for_each_view() {
    let sandbox = with_views(VIEWS);
    let serve = ["mcp", "--http", "0.0.0.0:0", "--allow-host", "here", "--views"];
    assert_snapshot!(sandbox.run(&serve), @r"
    exit 2
    --- stderr
    error[usage]: 0.0.0.0:0 can be reached from elsewhere, and has no token for [view.hr]
      help: set `token_env` of each view, or a token with --token-env or --token-file, or use --no-token
    ");
    let said = listening(&sandbox, &[&serve[..], &["--no-token"]].concat());
    assert!(
        said[0].starts_with("warning[open_view]: ") && said[0].ends_with("needs no token for [view.hr]"),
        "{said:?}"
    );

    // With a token for each view, nothing else is needed.
    sandbox.write(SETTINGS, VIEWS.replace("[\"payroll\"]", "[\"payroll\"]\ntoken_env = \"SALES\""));
    let said = listening(&sandbox, &serve);
    assert_eq!(said.len(), 1, "{said:?}");
    let said = listening(&sandbox, &["mcp", "--http", "0.0.0.0:0", "--allow-host", "here", "--view", "sales"]);
    assert_eq!(said.len(), 1, "{said:?}");
}

#[test]
fn a_view_with_an_empty_list_is_refused() {
    let sandbox = with_views("[view.none]\nskills = []\n");
    let run = sandbox.run(&["mcp", "--view", "none"]);
    assert_eq!(run.code, Some(1), "{run}");
    assert!(run.stderr.contains("an empty list would include everything: remove the key for that"), "{run}");
}

#[test]
fn one_view_and_all_views_are_not_served_together() {
    let sandbox = with_views(VIEWS);
    let run = sandbox.run(&["mcp", "--http", "0", "--views", "--view", "hr"]);
    assert_snapshot!(run, @r"
    exit 2
    --- stderr
    error[usage]: --view and --views cannot be served together
      help: leave one out; both together are for --print-config
    ");
}
