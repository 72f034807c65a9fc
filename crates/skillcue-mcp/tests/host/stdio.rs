//! Servers that are programs. This very program is one, if it is asked to be.

use std::io::{BufRead, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use skillcue_mcp::host::{McpHost, McpHostOptions, RefreshOutcome, ServerSpec, ServerTransport};

use crate::fake::{Mode, Skill, World};

const DEADLINE: Duration = Duration::from_mins(1);

/// Runs this program as a server. `FAKE_STDIO` says how it behaves, `FAKE_NOTES` where it writes down what it does.
fn spec(label: &str, behaviour: &str, notes: &Path) -> ServerSpec {
    let program = std::env::current_exe().unwrap().to_str().unwrap().to_owned();
    let args = ["--exact", "stdio::a_server", "--ignored", "--nocapture"].map(str::to_owned).to_vec();
    let env = [("FAKE_STDIO", behaviour), ("FAKE_NOTES", notes.to_str().unwrap())];
    let env = env.map(|(name, value)| (name.to_owned(), value.to_owned())).into_iter().collect();
    let inherited = std::env::var("PATH").map(|path| ("PATH".to_owned(), path)).into_iter().collect();
    let transport = ServerTransport::Command { program, args, env, inherited, cwd: None };
    ServerSpec::new(label, transport).unwrap().with_timeout(DEADLINE)
}

#[test]
#[ignore = "no test: the server that others start"]
fn a_server() {
    let Ok(behaviour) = std::env::var("FAKE_STDIO") else { return println!("skipped: no test has started it") };
    let notes = std::env::var("FAKE_NOTES").unwrap();
    let note = |line: String| {
        let mut file = std::fs::File::options().create(true).append(true).open(&notes).unwrap();
        writeln!(file, "{line}").unwrap();
    };
    note(format!("pid {}", std::process::id()));
    note(format!("cwd {}", std::env::current_dir().unwrap().display()));
    let names: std::collections::BTreeSet<String> = std::env::vars().map(|(name, _)| name).collect();
    note(format!("env {}", names.into_iter().collect::<Vec<_>>().join(" ")));
    let helper = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
    note(format!("pid {}", helper.id()));
    let mut world = World::new(Mode::Good, vec![Skill::new("pdf")]);
    let mut out = std::io::stdout();
    writeln!(out, "Welcome to the fake server!").unwrap();
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let request: Value = serde_json::from_str(&line).unwrap();
        let method = request["method"].as_str().unwrap_or_default().to_owned();
        note(method.clone());
        if request.get("id").is_none() || behaviour == "silent" {
            continue;
        }
        if behaviour == "huge" && method == "skills/list" {
            let lots = vec![b' '; 1 << 20];
            while out.write_all(&lots).is_ok() {}
            break;
        }
        let answer = world.respond(&request);
        writeln!(out, "{answer}").unwrap();
        out.flush().unwrap();
        if behaviour == "dies" && method == "skills/list" {
            // Helpers and their children would live on if they were not killed.
            std::process::exit(1);
        }
    }
    if behaviour == "stays" || behaviour == "silent" {
        // Its standard input is closed, and it does not care.
        std::thread::sleep(Duration::from_secs(1000));
    }
    std::process::exit(0);
}

fn lines(notes: &Path) -> Vec<String> {
    std::fs::read_to_string(notes).unwrap_or_default().lines().map(str::to_owned).collect()
}

/// Waits until none of the noted processes is alive. A zombie whose parent is not this program counts as dead.
fn all_end(notes: &Path) {
    let lines = lines(notes);
    let pids: Vec<&str> = lines.iter().filter_map(|line| line.strip_prefix("pid ")).collect();
    assert!(pids.len() >= 2, "the program and its helper have run: {lines:?}");
    for pid in pids {
        let alive = || {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace().map(str::to_owned);
            let fields: Vec<String> = fields.collect();
            match fields.as_slice() {
                [state, parent, ..] => state != "Z" || *parent == std::process::id().to_string(),
                _ => false,
            }
        };
        while alive() {
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

#[test]
fn a_program_is_spoken_to_and_ends_with_its_host() {
    for behaviour in ["good", "stays"] {
        let tmp = tempfile::tempdir().unwrap();
        let notes = tmp.path().join("notes");
        let host = McpHost::new([spec("program", behaviour, &notes)], McpHostOptions::default());
        assert!(!notes.exists(), "it is not started before it is needed");
        assert_eq!(host.refresh(DEADLINE)[0].outcome, Ok(RefreshOutcome::Changed(1)), "{behaviour}");
        let remote = host.remotes().remove(0);
        let entry = Arc::clone(&remote.entries()[0]);
        host.allow("program", &entry, skillcue::consent::Scope::Session).unwrap();
        assert_eq!(remote.read(&entry, "assets/logo.bin").unwrap(), [0, 159, 146, 150]);
        let pids = lines(&notes).iter().filter(|line| line.starts_with("pid ")).count();
        assert_eq!(pids, 2, "one program and its helper");
        drop((host, remote));
        all_end(&notes);
    }
}

#[test]
fn a_program_gets_neither_this_environment_nor_this_directory() {
    let tmp = tempfile::tempdir().unwrap();
    let home = tmp.path().canonicalize().unwrap();
    for (at, cwd) in [None, Some(home)].into_iter().enumerate() {
        let notes = tmp.path().join(at.to_string());
        let mut spec = spec("program", "good", &notes);
        let ServerTransport::Command { cwd: place, inherited, env, .. } = &mut spec.transport else { panic!() };
        place.clone_from(&cwd);
        inherited.push(("LANG".to_owned(), "C".to_owned()));
        env.insert("LANG".to_owned(), "C.UTF-8".to_owned());
        let host = McpHost::new([spec], McpHostOptions::default());
        assert_eq!(host.refresh(DEADLINE)[0].outcome, Ok(RefreshOutcome::Changed(1)));
        let place = cwd.unwrap_or_else(|| "/".into());
        assert!(lines(&notes).contains(&format!("cwd {}", place.display())), "{:?}", lines(&notes));
        // Cargo has set many more for this process.
        assert!(lines(&notes).contains(&"env FAKE_NOTES FAKE_STDIO LANG PATH".to_owned()), "{:?}", lines(&notes));
        drop(host);
        all_end(&notes);
    }
}

#[test]
#[ignore = "no test: the host that another kills"]
fn a_host() {
    let Ok(notes) = std::env::var("HOST_NOTES") else { return println!("skipped: no test has started it") };
    let host = McpHost::new([spec("program", "stays", Path::new(&notes))], McpHostOptions::default());
    assert_eq!(host.refresh(DEADLINE)[0].outcome, Ok(RefreshOutcome::Changed(1)));
    std::fs::write(format!("{notes}.ready"), "").unwrap();
    std::thread::sleep(Duration::from_secs(1000));
}

#[test]
fn a_program_ends_even_if_its_host_is_killed() {
    let tmp = tempfile::tempdir().unwrap();
    let notes = tmp.path().join("notes");
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "stdio::a_host", "--ignored"]).env("HOST_NOTES", &notes);
    let mut host = command.stdout(std::process::Stdio::null()).spawn().unwrap();
    while !tmp.path().join("notes.ready").exists() {
        assert!(host.try_wait().unwrap().is_none(), "the host has failed");
        std::thread::sleep(Duration::from_millis(10));
    }
    // With SIGKILL, after which it can do nothing more.
    host.kill().unwrap();
    host.wait().unwrap();
    all_end(&notes);
}

#[test]
fn a_program_that_dies_is_started_once_more() {
    let tmp = tempfile::tempdir().unwrap();
    let notes = tmp.path().join("notes");
    let host = McpHost::new([spec("dies", "dies", &notes)], McpHostOptions::default());
    assert_eq!(host.refresh(DEADLINE)[0].outcome, Ok(RefreshOutcome::Changed(1)));
    let remote = host.remotes().remove(0);
    let entry = Arc::clone(&remote.entries()[0]);
    host.allow("dies", &entry, skillcue::consent::Scope::Session).unwrap();
    assert!(remote.read(&entry, "SKILL.md").is_ok());
    let greetings = lines(&notes).iter().filter(|line| *line == "server/discover").count();
    assert_eq!(greetings, 2);
    drop((host, remote));
    all_end(&notes);
}

#[test]
fn a_program_that_does_not_answer_is_ended() {
    let tmp = tempfile::tempdir().unwrap();
    let notes = tmp.path().join("notes");
    let silent = spec("silent", "silent", &notes).with_timeout(Duration::from_millis(1500));
    let host = McpHost::new([silent], McpHostOptions::default());
    let refused = host.refresh(DEADLINE).remove(0).outcome.unwrap_err();
    assert_eq!(refused, "no answer within 1500 ms");
    // The host still lives; the program does not.
    all_end(&notes);
    drop(host);
}

#[test]
fn a_program_that_sends_too_much_is_ended() {
    let tmp = tempfile::tempdir().unwrap();
    let notes = tmp.path().join("notes");
    let host = McpHost::new([spec("huge-program", "huge", &notes)], McpHostOptions::default());
    let refused = host.refresh(DEADLINE).remove(0).outcome.unwrap_err();
    assert_eq!(refused, "the server has closed the connection");
    all_end(&notes);
    drop(host);
}

#[test]
fn a_program_that_is_not_there_is_an_error() {
    let transport = ServerTransport::Command {
        program: "/nowhere/at-all".to_owned(),
        args: Vec::new(),
        env: std::collections::BTreeMap::new(),
        inherited: Vec::new(),
        cwd: None,
    };
    let host = McpHost::new([ServerSpec::new("nowhere", transport).unwrap()], McpHostOptions::default());
    let message = host.refresh(DEADLINE).remove(0).outcome.unwrap_err();
    assert!(message.starts_with("/nowhere/at-all cannot be started: "), "{message}");
}
