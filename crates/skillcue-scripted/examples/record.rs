//! A model server to try a client by hand: prints its address, and writes each request to a directory.
//!
//! `cargo run -p skillcue-scripted --example record -- DIRECTORY [TOOL ARGUMENTS]`: with a tool, the first request that
//! has no result yet is answered with a call of it.

#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a program for people, to try things")]

use std::path::PathBuf;

use skillcue_scripted::{Reply, Server};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let directory = PathBuf::from(arguments.next().unwrap());
    let call = arguments.next().zip(arguments.next());
    std::fs::create_dir_all(&directory).unwrap();
    let server = Server::for_clients(move |received| match &call {
        Some((tool, arguments)) if received.tool_results().is_empty() => {
            let arguments = serde_json::from_str(arguments).unwrap();
            Reply::calls([("call_1", tool.as_str(), arguments)])
        }
        _ => Reply::text("Done."),
    });
    println!("{}", server.url());
    let mut seen = 0;
    while server.wait_for_requests(seen + 1) || !directory.join("stop").exists() {
        for received in server.requests().split_off(seen) {
            seen += 1;
            let name = received.path.replace(|of: char| !of.is_ascii_alphanumeric(), "_");
            std::fs::write(directory.join(format!("{seen:03}{name}.json")), &received.raw).unwrap();
            println!("{seen} {} {} {} bytes", received.method, received.path, received.raw.len());
        }
        for refused in server.refused() {
            println!("refused: {refused}");
        }
    }
}
