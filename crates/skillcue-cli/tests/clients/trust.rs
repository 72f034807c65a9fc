//! A person's trust in Codex's hooks, given as Codex's own screen gives it: by `codex app-server`.
//!
//! Skillcue never does this. A hook that is not trusted does not run, and the tests see that, too.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

/// The two ends of a conversation with the server.
struct AppServerPipes {
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    number: u64,
}

impl AppServerPipes {
    fn send(&mut self, message: &Value) {
        writeln!(self.input, "{message}").unwrap();
    }

    fn call(&mut self, method: &str, params: Value) -> Value {
        self.number += 1;
        let id = self.number;
        self.send(&json!({"id": id, "method": method, "params": params}));
        loop {
            let mut line = String::new();
            assert_ne!(self.output.read_line(&mut line).unwrap(), 0, "codex app-server ended within {method}");
            let answer: Value = serde_json::from_str(&line).unwrap();
            if answer["id"] == id {
                assert!(answer["error"].is_null(), "{method}: {answer}");
                return answer["result"].clone();
            }
        }
    }

    fn hooks(&mut self, work: &Path) -> Vec<Value> {
        let listed = self.call("hooks/list", json!({"cwds": [work]}));
        listed["data"][0]["hooks"].as_array().unwrap().clone()
    }
}

/// Trusts every hook that Codex finds, and returns how many there are. None of them was trusted before.
pub(crate) fn trust_hooks(mut codex: Command, work: &Path) -> usize {
    let mut server =
        codex.arg("app-server").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let (input, output) = (server.stdin.take().unwrap(), BufReader::new(server.stdout.take().unwrap()));
    let mut pipes = AppServerPipes { input, output, number: 0 };
    pipes.call("initialize", json!({"clientInfo": {"name": "tests", "title": "tests", "version": "1"}}));
    pipes.send(&json!({"method": "initialized"}));
    let hooks = pipes.hooks(work);
    for hook in &hooks {
        assert_eq!(hook["trustStatus"], "untrusted", "{hook}");
        let mut state = serde_json::Map::new();
        state.insert(hook["key"].as_str().unwrap().to_owned(), json!({"trusted_hash": hook["currentHash"]}));
        let edit = json!({"keyPath": "hooks.state", "value": state, "mergeStrategy": "upsert"});
        pipes.call("config/batchWrite", json!({"edits": [edit], "reloadUserConfig": true}));
    }
    for hook in pipes.hooks(work) {
        assert_eq!(hook["trustStatus"], "trusted", "{hook}");
    }
    drop(pipes);
    server.wait().unwrap();
    hooks.len()
}
