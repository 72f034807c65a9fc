//! The project's own chores, as `cargo xtask CHORE` (the alias is in `.cargo/config.toml`).
//!
//! - `test`: everything that must pass, from formatting to a smoke run; `.ci/run` runs it.
//! - `bench`: `skillcue bench`, which only developers build, in release.
//! - `fit`: the weights of text relevance, from labelled messages.
//! - `fresh`: the README's first two commands in a fresh clone of the repository.
//! - `coverage`: how much of selection and disclosure the tests reach.
//! - `mcp-load`: the MCP server under load, beside `fastmcp`.
//! - `model`: the agent against a real model server, llama.cpp's.
//! - `clients`: the clients of `skillcue connect`, pinned or newest.
//! - `dist`: release archives.
//! - `picture`: the README's picture of a terminal.
//! - `studio-pictures`, `studio-figures`: the pictures of the page, and its times in a browser.
//! - `wheel`, `python-bench`: the Python package, and its measurements.
//! - `fleet-bench`: a catalog of 100,000 skills on a store.
//! - `replicas-bench`: what a request costs three servers behind a proxy, and one.
//! - `deny`: licences and advisories of the dependencies.
//!
//! It starts programs and depends on none of the crates that it checks: whatever state they are
//! in, this compiles.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for people, whose result is what it prints")]

mod bindings;
mod clients;
mod coverage;
mod deny;
mod dist;
mod fleet;
mod fresh;
mod mcp;
mod model;
mod oci;
mod otlp;
mod picture;
mod process;
mod python;
mod reference;
mod replicas;
mod smoke;
mod studio;
mod test;
mod toolsets;

use process::{ChoreFailure, cargo, run};
use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask CHORE

  test [--offline] [STEP...]  all that must pass, or only the named steps; offline, what cannot be
                              installed is skipped
  bench [ARGS...]             the measurements, on a program built as it is packaged, with these arguments
  fit DATA [ARGS...]          fit the weights of text relevance on labelled messages; prints what each part gives
  fresh                       clone HEAD into an empty directory, run the README's two commands
  coverage                    how many lines of selection and disclosure the tests reach; at least 95 %
  mcp-load [ARGS...]          the MCP server with 1,000 sessions on 10,000 skills, beside fastmcp; Linux only
  model [wire|calls|serve]    the agent against llama.cpp's server and a small model; installs 1.2 GB
  clients [--newest] [NAME..] the clients of `connect`, or only the named ones; newest: not those that are pinned
  dist                        release archives with checksums, completions and manual pages
  picture                     draw docs/terminal.svg, the README's picture, from what the program prints
  studio-pictures             draw docs/pictures, the pages of `skillcue studio`, with a real browser
  studio-figures              first paint and a typed message at 100, 1,000 and 10,000 skills, in a real browser
  wheel                       the Python package as it is published, below target/wheels
  python-bench [ARGS...]      the Python package beside skillkit
  fleet-bench [SKILLS [WIRE]] a catalog of 100,000 skills: publishing, pulling, polling, the first body
  replicas-bench              what a request costs three servers behind a proxy, and one: 1,000 clients, release build
  deny                        licences and advisories of the dependencies

steps of `test`, in order: fmt, clippy, tests, toolsets, doctests, docs, reference, mcp, replicas, otlp,
fleet, oci, clients, studio, smoke, dist, picture, python";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments.as_slice() {
        ["test", rest @ ..] => test::main(rest),
        ["bench", rest @ ..] => bench(rest),
        ["fit", rest @ ..] => fit(rest),
        ["fresh"] => fresh::main(),
        ["coverage"] => coverage::main(),
        ["mcp-load", rest @ ..] => mcp::load(rest),
        ["model", rest @ ..] => model::main(rest),
        ["clients", rest @ ..] => clients::main(rest),
        ["dist"] => dist::main(),
        ["picture"] => picture::main(),
        ["studio-pictures"] => studio::pictures(),
        ["studio-figures"] => studio::figures(),
        ["wheel"] => bindings::main(),
        ["python-bench", rest @ ..] => bindings::bench(rest),
        ["fleet-bench", rest @ ..] => fleet::bench(rest),
        ["replicas-bench"] => replicas::bench(),
        ["deny"] => deny::main(),
        ["help" | "--help" | "-h"] => {
            println!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(ChoreFailure(message)) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}

fn fit(arguments: &[&str]) -> Result<(), ChoreFailure> {
    let build = ["run", "--release", "--package", "skillcue-select", "--example", "fit", "--"];
    run(cargo().args(build).args(arguments))
}

fn bench(arguments: &[&str]) -> Result<(), ChoreFailure> {
    let build = [
        "run",
        "--profile",
        "dist",
        "--package",
        "skillcue-cli",
        "--bin",
        "skillcue",
        "--features",
        "bench",
        "--",
        "bench",
    ];
    run(cargo().args(build).args(arguments))
}
