//! Ctrl-C and its like: the turn ends, the conversation stays whole, and nothing is left running.

use std::fs;
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use skillcue_scripted::Reply;

use crate::agent::{Talk, events, interrupt, parrot, until};
use crate::sandbox::SETTINGS;

/// Whether a process runs with this word among its arguments.
fn runs(word: &str) -> bool {
    let is_it = |dir: fs::DirEntry| {
        let line = fs::read(dir.path().join("cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0).any(|argument| argument == word.as_bytes())
    };
    fs::read_dir("/proc").unwrap().flatten().any(is_it)
}

#[test]
fn ctrl_c_ends_a_request_that_stalls() {
    let talk = Talk::new(|received| match received.texts().last() {
        Some((_, said)) if said.ends_with("wait") => Reply::text("never all of it").stalled_after(60),
        _ => parrot(received),
    });
    for mode in [&["-p", "wait"][..], &["--json", "-p", "wait"]] {
        let before = talk.server.disconnects();
        let requests = talk.server.requests().len();
        let child = talk.command(mode).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        assert!(talk.server.wait_for_requests(requests + 1));
        interrupt(&child);
        let run = talk.sandbox.finish(child.wait_with_output().unwrap());
        assert_eq!(run.code, Some(130), "{run}");
        assert!(talk.server.wait_for_disconnects(before + 1), "the request is ended, too");
        if mode[0] == "--json" {
            assert_eq!(events(&run).last().unwrap()["code"], "cancelled", "{run}");
        } else {
            assert!(run.stdout.is_empty() && run.stderr.contains("interrupted"), "{run}");
        }
        let run = talk.run(&["--continue", "-p", "more"]);
        assert!(run.code == Some(0) && run.stdout.ends_with("| more\n"), "{run}");
        let shown = talk.sandbox.run(&["sessions", "show", "--json"]).json();
        assert_eq!(shown["repaired"], json!([]), "nothing had to be mended: {shown}");
    }
}

#[test]
fn ctrl_c_leaves_no_child() {
    let talk = Talk::new(|received| match received.new_results().last() {
        None if received.texts().last().unwrap().1.ends_with("go") => {
            Reply::calls([("c0", "load_skill", json!({"skill_id": "slow"}))])
        }
        Some((_, result)) if result.contains("<skill_context") => {
            Reply::calls([("c1", "run_skill_script", json!({"skill_id": "slow", "script": "scripts/slow.sh"}))])
        }
        _ => Reply::text("done"),
    });
    // A word that no other process has.
    let nap = format!("86400.{}", std::process::id());
    talk.sandbox.skill("work/skills/slow", "Takes its time. Use when asked.");
    talk.sandbox.write("work/skills/slow/scripts/slow.sh", format!("#!/bin/sh\nsleep {nap} &\nsleep {nap}\n"));
    let mut command = talk.command(&["--allow", "all", "-p", "go"]);
    let child = command.env("PATH", "/usr/bin:/bin").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    until("the script starts", || runs(&nap));
    interrupt(&child);
    let run = talk.sandbox.finish(child.wait_with_output().unwrap());
    assert_eq!(run.code, Some(130), "{run}");
    until("its processes end", || !runs(&nap));
    assert_eq!(talk.run(&["--continue", "-p", "and now?"]).stdout, "done\n", "the conversation is whole");
}

/// Its program is in a process group of its own, and its signal handling must not take ours away.
#[test]
fn ctrl_c_ends_the_turn_and_the_servers_of_skills() {
    let talk = Talk::new(|received| match received.texts().last() {
        Some((_, said)) if said.ends_with("wait") => Reply::stall(),
        _ => parrot(received),
    });
    talk.sandbox.skill("served/refunds", "Handles refunds. Use when a customer wants money back.");
    let word = format!("served-{}", std::process::id());
    let served = talk.sandbox.path("served");
    std::os::unix::fs::symlink(&served, talk.sandbox.path(&word)).unwrap();
    let dir = talk.sandbox.path(&word);
    talk.sandbox.write(
        SETTINGS,
        format!(
            "[[mcp]]\nname = \"acme\"\ncommand = [\"{}\", \"--isolated\", \"--skills-dir\", \"{}\", \"mcp\"]\n",
            env!("CARGO_BIN_EXE_skillcue"),
            dir.display()
        ),
    );
    let mut command = talk.command(&["--mode", "keyword", "-p", "wait"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    assert!(talk.server.wait_for_requests(1));
    assert!(talk.last().last_user().contains("acme:refunds"), "{}", talk.last().last_user());
    interrupt(&child);
    let run = talk.sandbox.finish(child.wait_with_output().unwrap());
    assert_eq!(run.code, Some(130), "{run}");
    let shown = talk.sandbox.run(&["sessions", "show", "--json"]).json();
    assert_eq!((&shown["turns"], &shown["repaired"]), (&json!(1), &json!([])), "the turn was ended, not cut: {shown}");
    until("the server ends", || !runs(dir.to_str().unwrap()));
}

#[test]
fn a_second_ctrl_c_or_a_termination_ends_it() {
    let talk = Talk::new(|_| Reply::stall());
    let child = talk.command(&["-p", "wait"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    assert!(talk.server.wait_for_requests(1));
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, Signal::TERM).unwrap();
    let run = talk.sandbox.finish(child.wait_with_output().unwrap());
    assert_eq!(run.code, Some(143), "{run}");
    let child = talk.command(&["-p", "wait"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    assert!(talk.server.wait_for_requests(2));
    interrupt(&child);
    interrupt(&child);
    let run = talk.sandbox.finish(child.wait_with_output().unwrap());
    assert_eq!(run.code, Some(130), "{run}");
}

#[test]
fn a_reader_that_leaves_ends_the_turn() {
    // More than sockets hold: all of it is only sent to a client that reads all of it.
    let talk = Talk::new(|_| Reply::text("word ".repeat(60_000)).in_chunks(5));
    let mut child =
        talk.command(&["--json", "-p", "talk"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let run = talk.sandbox.finish(child.wait_with_output().unwrap());
    assert_eq!(run.code, Some(0), "{run}");
    // Mostly it has left before the model is asked; else the answer is not read to its end.
    assert!(talk.server.requests().is_empty() || talk.server.wait_for_disconnects(1));
}

#[test]
fn a_process_started_to_ignore_a_signal_ignores_it() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    let goes_on = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&goes_on);
    let talk = Talk::new(move |_| {
        until("the signal was sent", || seen.load(Ordering::SeqCst));
        Reply::text("Here I am.")
    });
    let agent = talk.command(&["-p", "wait"]);
    let mut command = std::process::Command::new("/bin/sh");
    command.args(["-c", "trap '' HUP; exec \"$0\" \"$@\""]).arg(agent.get_program()).args(agent.get_args());
    command.env_clear().envs(agent.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.current_dir(agent.get_current_dir().unwrap()).stdin(Stdio::null());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    assert!(talk.server.wait_for_requests(1));
    kill_process(Pid::from_child(&child), Signal::HUP).unwrap();
    goes_on.store(true, Ordering::SeqCst);
    let run = talk.sandbox.finish(child.wait_with_output().unwrap());
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "Here I am.\n"), "{run}");
}
