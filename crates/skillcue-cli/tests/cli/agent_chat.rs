//! The chat, on a terminal with typed input.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};

use serde_json::json;
use skillcue_scripted::{Received, Reply};

use crate::agent::{Talk, interrupt, script_caller, until, with_script};
use crate::sandbox::open_terminal;

/// A terminal with the agent on it.
struct Typist {
    keys: File,
    shown: Arc<Mutex<Vec<u8>>>,
    /// How much of it has been looked at.
    seen: usize,
    child: Child,
}

impl Typist {
    fn at(talk: &Talk, args: &[&str]) -> Typist {
        let (keys, program) = open_terminal(100);
        let stream = || Stdio::from(OwnedFd::from(program.try_clone().unwrap()));
        let mut command = talk.command(args);
        command.env("TERM", "xterm").env("NO_COLOR", "1").env("PATH", "/usr/bin:/bin");
        let child = command.stdin(stream()).stdout(stream()).stderr(stream()).spawn().unwrap();
        drop((command, program));
        let shown = Arc::new(Mutex::new(Vec::new()));
        let (mut screen, kept) = (keys.try_clone().unwrap(), Arc::clone(&shown));
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(read @ 1..) = screen.read(&mut bytes) {
                kept.lock().unwrap().extend_from_slice(&bytes[..read]);
            }
        });
        Typist { keys, shown, seen: 0, child }
    }

    fn types(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits until something new appears, and returns what has appeared up to it.
    fn sees(&mut self, text: &str) -> String {
        let mut found = None;
        let (shown, seen) = (Arc::clone(&self.shown), self.seen);
        until(&format!("{text:?} to appear"), || {
            found = shown.lock().unwrap()[seen..].windows(text.len()).position(|window| window == text.as_bytes());
            let is_over = found.is_none() && self.child.try_wait().unwrap().is_some();
            assert!(!is_over, "no {text:?} in {}", String::from_utf8_lossy(&shown.lock().unwrap()[seen..]));
            found.is_some()
        });
        self.seen = seen + found.unwrap() + text.len();
        String::from_utf8_lossy(&self.shown.lock().unwrap()[seen..self.seen]).into_owned()
    }

    /// Waits for the end; the exit code, and all that appeared.
    fn ends(mut self) -> (Option<i32>, String) {
        let code = self.child.wait().unwrap().code();
        // What it said last may still be on its way.
        let mut before = 0;
        until("all of it is read", || {
            let now = self.shown.lock().unwrap().len();
            std::mem::replace(&mut before, now) == now
        });
        (code, String::from_utf8_lossy(&self.shown.lock().unwrap()).into_owned())
    }
}

fn parrot(received: &Received) -> Reply {
    let said = received.last_user();
    match said.lines().last() {
        Some("stall") => {
            let whole = Reply::text("I begin and never come to an end of it").in_chunks(4);
            let half = whole.bytes(received.api).len() / 2;
            whole.stalled_after(half)
        }
        Some("escape") => Reply::text("a\u{1b}]0;title\u{7}b"),
        _ => Reply::text(format!("You said: {}", said.rsplit("\n\n").next().unwrap_or_default())),
    }
}

#[test]
fn a_chat() {
    let talk = Talk::new(parrot);
    let mut typist = Typist::at(&talk, &["--mode", "keyword"]);
    typist.sees("scripted · 2 skills · /help lists commands");
    typist.sees("> ");
    typist.types("What is 2+2?\r");
    typist.sees("You said: What is 2+2?\r\n");
    typist.sees("> ");
    typist.types("/skills\r");
    typist.sees("  hello-extended");
    typist.sees("> ");
    typist.types("/load hel\t");
    typist.sees("hello-extended ");
    typist.types("\r");
    typist.sees("go with the next message");
    typist.sees("> ");
    typist.types("/skills\r");
    typist.sees("* hello-extended");
    typist.sees("> ");
    typist.types("one\\\rtwo\r");
    typist.sees("You said: one\r\ntwo");
    typist.sees("> ");
    assert!(talk.last().last_user().contains("<skill_context"), "{}", talk.last().last_user());
    typist.types("/why\r");
    typist.sees("tier 1");
    typist.sees("> ");
    typist.types("/why Say bonjour to Alice\r");
    typist.sees("% sure");
    typist.sees("> ");
    typist.types("/co\t\r");
    typist.sees("TURN  REQUESTS");
    typist.sees("every skill in every request");
    typist.sees("> ");
    typist.types("escape\r");
    typist.sees("a\\u{1b}]0;title\\u{7}b");
    typist.sees("> ");
    typist.types("/load nope\r");
    typist.sees("error[not_found]");
    typist.sees("> ");
    typist.types("/memory\r");
    typist.sees("memory is off");
    typist.sees("> ");
    typist.types("\u{4}");
    let (code, shown) = typist.ends();
    assert_eq!(code, Some(0), "{shown}");
    assert!(shown.contains(&format!("skillcue agent --continue {} goes on", talk.session())), "{shown}");
    assert_eq!(talk.server.requests().len(), 3, "commands are not sent");
    let history = talk.sandbox.path("home/.local/share/skillcue/agent-history");
    assert!(std::fs::read_to_string(&history).unwrap().contains("What is 2+2?"));
    let mode = std::os::unix::fs::PermissionsExt::mode(&history.metadata().unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn ctrl_c_clears_ends_and_leaves() {
    let talk = Talk::new(parrot);
    let mut typist = Typist::at(&talk, &[]);
    typist.sees("> ");
    // A line that is not sent.
    typist.types("never mind\u{3}");
    typist.sees("> ");
    typist.types("stall\r");
    typist.sees("I begin");
    interrupt(&typist.child);
    typist.sees("interrupted");
    typist.sees("> ");
    typist.types("again\r");
    typist.sees("You said: again");
    typist.sees("> ");
    typist.types("\u{3}");
    typist.sees("Ctrl-C again, or Ctrl-D, leaves");
    typist.sees("> ");
    typist.types("\u{3}");
    let (code, shown) = typist.ends();
    assert_eq!(code, Some(0), "{shown}");
    assert!(talk.server.requests().iter().all(|received| !received.last_user().contains("never mind")));
    assert_eq!(talk.server.refused(), Vec::<String>::new(), "the conversation stayed whole");
}

#[test]
fn the_history_is_there_the_next_time() {
    let talk = Talk::new(parrot);
    let mut typist = Typist::at(&talk, &[]);
    typist.sees("> ");
    typist.types("first words\r");
    typist.sees("You said: first words");
    typist.sees("> ");
    typist.types("/exit\r");
    assert_eq!(typist.ends().0, Some(0));
    let mut typist = Typist::at(&talk, &["--continue"]);
    typist.sees("1 turn so far");
    typist.sees("> ");
    // Up, up: the command, then the message before it.
    typist.types("\u{1b}[A\u{1b}[A\r");
    typist.sees("You said: first words");
    typist.sees("> ");
    typist.types("/new\r");
    typist.sees("a new conversation");
    typist.types("\u{4}");
    assert_eq!(typist.ends().0, Some(0));
    let listed = talk.sandbox.run(&["sessions", "--json"]).json();
    assert_eq!((listed.as_array().unwrap().len(), &listed[0]["turns"]), (1, &2.into()), "an empty one is not kept");
}

#[test]
fn a_person_is_asked() {
    let talk = Talk::new(script_caller);
    with_script(&talk.sandbox);
    let mut typist = Typist::at(&talk, &[]);
    typist.sees("> ");
    typist.types("go\r");
    let asked = typist.sees("[N]o:");
    assert!(asked.contains("The model wants to run scripts/echo.sh, a script of echo (source user), with"), "{asked}");
    assert!(asked.contains("\"polly\""), "{asked}");
    typist.types("n\n");
    typist.sees("It was declined.");
    typist.sees("> ");
    typist.types("go\r");
    typist.sees("[N]o:");
    typist.types("what?\n");
    typist.sees("Please answer");
    typist.types("o\n");
    typist.sees("It ran.");
    typist.sees("> ");
    typist.types("go\r");
    typist.sees("[N]o:");
    typist.types("s\n");
    typist.sees("It ran.");
    typist.sees("> ");
    typist.types("go\r");
    let ran = typist.sees("It ran.");
    assert!(!ran.contains("[N]o:"), "for this session: {ran}");
    typist.sees("> ");
    typist.types("/new\r");
    typist.sees("a new conversation");
    typist.sees("> ");
    typist.types("go\r");
    typist.sees("[N]o:");
    typist.types("a\n");
    typist.sees("It ran.");
    typist.sees("> ");
    typist.types("\u{4}");
    assert_eq!(typist.ends().0, Some(0));
    // Always for this content, and no other.
    let run = |args: &[&str]| talk.finish(talk.command(args).env("PATH", "/usr/bin:/bin")).stdout;
    assert_eq!(run(&["-p", "go"]), "It ran.\n");
    let status = talk.sandbox.run(&["status"]).stdout;
    assert!(status.contains("  echo  scripts/echo.sh\n"), "{status}");
    assert_eq!(talk.sandbox.run(&["status", "--json"]).json()["allowed"][0]["subject"]["kind"], "script");
    assert_eq!(talk.sandbox.run(&["deny", "echo"]).stderr, "not allowed any more: echo\n");
    assert_eq!(run(&["-p", "go"]), "It was declined.\n", "it was taken back");
    let mut typist = Typist::at(&talk, &["-p", "go"]);
    typist.sees("[N]o:");
    typist.types("a\n");
    assert_eq!(typist.ends().0, Some(0));
    assert_eq!(run(&["-p", "go"]), "It ran.\n");
    talk.sandbox.write("home/.agents/skills/echo/scripts/echo.sh", "#!/bin/sh\necho \"ran with $1\" again\n");
    assert_eq!(run(&["-p", "go"]), "It was declined.\n");
}

#[test]
fn a_question_can_be_interrupted() {
    let talk = Talk::new(script_caller);
    with_script(&talk.sandbox);
    let mut typist = Typist::at(&talk, &["-p", "go"]);
    typist.sees("[N]o:");
    interrupt(&typist.child);
    let (code, shown) = typist.ends();
    assert_eq!(code, Some(130), "{shown}");
    assert!(!shown.contains("It ran."), "{shown}");
}

#[test]
fn an_interrupted_question_lets_go_of_the_keyboard() {
    let talk = Talk::new(script_caller);
    with_script(&talk.sandbox);
    let mut typist = Typist::at(&talk, &[]);
    for typed in ["abcdefghijklmnopqrstuvwxyz", "zyxwvutsrqponmlkjihgfedcba"] {
        typist.sees("> ");
        typist.types(&format!("{typed}\r"));
        typist.sees("[N]o:");
        assert!(talk.last().last_user().ends_with(typed), "all of it arrived: {}", talk.last().last_user());
        interrupt(&typist.child);
        typist.sees("interrupted");
    }
    typist.sees("> ");
    typist.types("\u{4}");
    assert_eq!(typist.ends().0, Some(0));
}

#[test]
fn all_that_is_asked_about_can_be_looked_at() {
    let talk = Talk::new(|received| {
        let long: Vec<String> = (0..100).map(|at| format!("argument-{at}")).collect();
        let arguments = json!({"skill_id": "echo", "script": "scripts/echo.sh", "arguments": long});
        match received.tool_results().len() {
            0 => Reply::calls([("l", "load_skill", json!({"skill_id": "echo"}))]),
            1 => Reply::calls([("c", "run_skill_script", arguments)]),
            _ => Reply::text("It was declined."),
        }
    });
    with_script(&talk.sandbox);
    let mut typist = Typist::at(&talk, &["-p", "go"]);
    let asked = typist.sees("[N]o:");
    assert!(asked.contains("more lines") && !asked.contains("argument-99"), "{asked}");
    assert!(asked.contains("Its files are in ") && asked.contains("skills/echo."), "{asked}");
    typist.types("v\n");
    let asked = typist.sees("[N]o:");
    assert!(asked.contains("argument-99") && !asked.contains("more lines"), "{asked}");
    typist.types("n\n");
    typist.sees("It was declined.");
    assert_eq!(typist.ends().0, Some(0));
}

#[test]
fn invalid_text_and_unknown_commands_are_not_sent() {
    let talk = Talk::new(parrot);
    let mut typist = Typist::at(&talk, &["--no-save"]);
    typist.sees("> ");
    typist.keys.write_all(b"caf\xe9\r").unwrap();
    typist.sees("that is not UTF-8");
    typist.sees("> ");
    typist.types("/cots\r");
    typist.sees("there is neither a command nor a skill /cots");
    typist.sees("> ");
    typist.types("well then\r");
    typist.sees("You said: well then");
    typist.sees("> ");
    typist.types("\u{4}");
    assert_eq!(typist.ends().0, Some(0));
    assert_eq!(talk.server.requests().len(), 1);
    assert!(!talk.sandbox.path("home/.local/share/skillcue/agent-history").exists(), "nothing is written");
}

#[cfg(feature = "engine")]
#[test]
fn a_person_is_asked_about_tools() {
    let talk = Talk::new(crate::agent::tool_caller);
    crate::agent::with_tool(&talk.sandbox);
    let mut typist = Typist::at(&talk, &["-p", "go"]);
    let asked = typist.sees("[N]o:");
    assert!(asked.contains("The model wants to call twice, a tool of calc (source user)"), "{asked}");
    typist.types("a\n");
    typist.sees("42");
    assert_eq!(typist.ends().0, Some(0));
    // For as long as no byte of it changes.
    assert_eq!(talk.run(&["-p", "go"]).stdout, "42\n");
    talk.sandbox.write("home/.agents/skills/calc/notes.txt", "x");
    assert_eq!(talk.run(&["-p", "go"]).stdout, "It was declined.\n");
}
