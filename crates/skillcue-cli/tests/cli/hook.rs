//! `skillcue hook`: it answers in the client's shape, and never harms: exit code 0, an answer or nothing.

use std::fs::{self, File};
use std::io::Write as _;
use std::process::{Child, Command, Output, Stdio};

use serde_json::{Value, json};

use crate::Sandbox;

const PDF: &str = "---\nname: pdf-forms\ndescription: Fills in PDF forms and flattens them.\nmetadata:\n  triggers:\n    keywords: [pdf, form]\n    files: ['*.pdf']\n---\nUse pdftk.\n";
const SKILL: &str = "home/.agents/skills/pdf-forms/SKILL.md";
const MESSAGE: &str = "fill in the pdf form";
const CLIENTS: [&str; 6] = ["claude", "codex", "gemini", "opencode", "qwen", "copilot"];

fn house() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write(SKILL, PDF);
    sandbox
}

/// The input of Claude Code before a prompt.
fn input(sandbox: &Sandbox, session: &str, prompt: &str) -> String {
    let cwd = sandbox.path("work");
    json!({"session_id": session, "cwd": cwd, "hook_event_name": "UserPromptSubmit", "prompt": prompt}).to_string()
}

/// The hook, with more time than a busy machine needs.
fn command(sandbox: &Sandbox, args: &[&str]) -> Command {
    let mut command = sandbox.command(&[&["hook"], args].concat());
    command.env("SKILLCUE_HOOK_DEADLINE_MS", "60000").stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn start(mut command: Command, sent: &[u8]) -> Child {
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    // A hook that ends early does not read it.
    let _ = child.stdin.take().unwrap().write_all(sent);
    child
}

fn run(command: Command, sent: &[u8]) -> Output {
    start(command, sent).wait_with_output().unwrap()
}

/// The context in an answer of Claude Code's shape; empty, if there is no answer. Anything else fails.
fn context(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    if output.stdout.is_empty() {
        return String::new();
    }
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    json["hookSpecificOutput"]["additionalContext"].as_str().unwrap().to_owned()
}

fn ask(sandbox: &Sandbox, session: &str, prompt: &str) -> String {
    context(&run(command(sandbox, &["claude"]), input(sandbox, session, prompt).as_bytes()))
}

#[test]
fn the_body_is_shown_once_a_session() {
    let sandbox = house();
    let shown = ask(&sandbox, "1", MESSAGE);
    assert!(shown.starts_with("## Relevant Skill Documentation\n\n### pdf-forms\n") && shown.ends_with("Use pdftk."));
    assert_eq!(ask(&sandbox, "1", MESSAGE), "");
    assert_eq!(ask(&sandbox, "2", MESSAGE), shown);
    assert_eq!(ask(&sandbox, "1", "What is 2+2?"), "");
    sandbox.write(SKILL, PDF.replace("pdftk", "qpdf"));
    assert!(ask(&sandbox, "1", MESSAGE).ends_with("Use qpdf."));
}

#[test]
fn the_bundled_skills_take_no_part() {
    let sandbox = Sandbox::new();
    assert_eq!(ask(&sandbox, "1", "Say bonjour to Alice"), "");
    assert!(!sandbox.path("home/.local/share/skillcue/bundled").exists(), "they are not even unpacked");
}

#[test]
fn the_answer_is_explained() {
    let sandbox = house();
    let output = run(command(&sandbox, &["claude", "--explain"]), input(&sandbox, "1", MESSAGE).as_bytes());
    let said = String::from_utf8(output.stderr.clone()).unwrap();
    assert!(context(&output).contains("pdftk") && said.contains("1. pdf-forms") && said.contains("→ body"), "{said}");
    assert!(said.contains("UserPromptSubmit: ") && said.contains(", because skills fit the message"), "{said}");
    let output = run(command(&sandbox, &["claude", "--json"]), input(&sandbox, "2", MESSAGE).as_bytes());
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&json["client"], &json["tier"], &json["skills"][0]["name"]),
        (&json!("claude"), &json!(3), &json!("pdf-forms"))
    );
}

/// A skill of a checkout is shown when a person has allowed it, as in the agent.
#[test]
fn a_skill_of_a_checkout_waits_for_consent() {
    let sandbox = Sandbox::new();
    sandbox.write("work/.claude/skills/pdf-forms/SKILL.md", PDF);
    let held = ask(&sandbox, "1", MESSAGE);
    assert!(held.contains("### pdf-forms") && held.contains("has not allowed it") && !held.contains("pdftk"), "{held}");
    let allowed = sandbox.run(&["allow", "pdf-forms", "--yes"]);
    assert_eq!(allowed.code, Some(0), "{allowed}");
    assert!(ask(&sandbox, "1", MESSAGE).contains("Use pdftk."));
}

#[test]
fn wrong_usage_is_no_failure() {
    let sandbox = house();
    let wrong: [&[&str]; 8] = [
        &[],
        &["emacs"],
        &["zed"],
        &["claude", "--nonsense"],
        &["claude", "more"],
        &["claude", "--style", "loud"],
        &["claude", "--config", "/no/such/file"],
        &["claude", "--skills-dir", "/no/such/dir"],
    ];
    for args in wrong {
        let output = run(command(&sandbox, args), input(&sandbox, "1", MESSAGE).as_bytes());
        assert_eq!((context(&output), output.stderr.is_empty()), (String::new(), false), "{args:?}");
    }
    for (name, value) in [("SKILLCUE_COLOR", "blue"), ("SKILLCUE_ISOLATED", "maybe"), ("SKILLCUE_MODE", "psychic")] {
        let mut command = command(&sandbox, &["claude"]);
        command.env(name, value);
        let output = run(command, input(&sandbox, "1", MESSAGE).as_bytes());
        assert_eq!((context(&output), output.stderr.is_empty()), (String::new(), false), "{name}");
    }
}

#[test]
fn input_that_is_none_is_no_failure() {
    let sandbox = house();
    let mut inputs: Vec<Vec<u8>> = ["", "{", "[]", "{}", "null", "{\"prompt\":\"pdf\"", "\u{0}"].map(Into::into).into();
    inputs.push(vec![0xff; 1000]);
    inputs.push(vec![b'['; 1 << 20]);
    inputs.push(br#"{"hook_event_name":"Unheard","session_id":"1","sessionId":"1"}"#.to_vec());
    for client in CLIENTS {
        for sent in &inputs {
            assert_eq!(context(&run(command(&sandbox, &[client]), sent)), "", "{client} {:?}", sent.first());
        }
        let mut command = command(&sandbox, &[client]);
        let output = command.stdin(Stdio::null()).output().unwrap();
        assert_eq!(context(&output), "", "{client}");
    }
}

#[test]
fn a_huge_prompt_is_answered() {
    let sandbox = house();
    let prompt = format!("{MESSAGE}\n{}", "lorem ipsum dolor 表 ".repeat(600_000));
    assert!(prompt.len() > 10 << 20);
    let output = run(command(&sandbox, &["claude"]), input(&sandbox, "1", &prompt).as_bytes());
    let shown = context(&output);
    assert!(shown.is_empty() || shown.contains("pdf-forms"));
    let prompt = format!("{MESSAGE}: {}", "x".repeat(11 << 20));
    assert!(context(&run(command(&sandbox, &["claude"]), input(&sandbox, "2", &prompt).as_bytes())).contains("pdf"));
}

#[test]
fn a_missing_home_and_a_broken_cache_are_no_failure() {
    let sandbox = house();
    let sent = input(&sandbox, "1", MESSAGE);
    let mut homeless = command(&sandbox, &["claude"]);
    homeless.env_remove("HOME");
    assert_eq!(context(&run(homeless, sent.as_bytes())), "");
    // Nowhere to remember what was shown: a body would be paid for at each turn.
    sandbox.write("file", "");
    for cache in [sandbox.path("file"), "/proc/1/nowhere".into()] {
        for _ in 0..2 {
            let mut command = command(&sandbox, &["claude"]);
            command.env("XDG_CACHE_HOME", &cache);
            let shown = context(&run(command, sent.as_bytes()));
            assert!(shown.starts_with("[This skill fits this message: pdf-forms (read "), "{shown}");
        }
    }
}

fn make_pipe(sandbox: &Sandbox, path: &str) {
    let path = sandbox.path(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let _ = fs::remove_file(&path);
    rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::RWXU).unwrap();
}

/// A pipe that is never written to is like a disk that hangs.
#[test]
fn a_disk_that_hangs_is_no_failure() {
    let sandbox = house();
    ask(&sandbox, "1", MESSAGE);
    let hooks = sandbox.path("home/.cache/skillcue/hooks");
    let names = fs::read_dir(hooks).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let kept = names.filter(|name| !name.starts_with('.')).map(|name| format!("home/.cache/skillcue/hooks/{name}"));
    let mut places: Vec<String> = kept.collect();
    assert_eq!(places.len(), 2, "a session and a lock: {places:?}");
    places.extend(
        [
            SKILL,
            crate::sandbox::SETTINGS,
            "work/skillcue.toml",
            "home/.cache/skillcue/index",
            "home/.local/share/skillcue/registry.json",
            "home/.local/share/skillcue/consent.json",
            "home/.claude/plugins/installed_plugins.json",
            "work/.agents/skills/other/SKILL.md",
        ]
        .map(str::to_owned),
    );
    for place in places {
        make_pipe(&sandbox, &place);
        let mut command = command(&sandbox, &["claude"]);
        // Where it hangs all the same, the deadline ends it.
        command.env("SKILLCUE_HOOK_DEADLINE_MS", "2000");
        context(&run(command, input(&sandbox, "1", MESSAGE).as_bytes()));
        fs::remove_file(sandbox.path(&place)).unwrap();
    }
}

/// Input that never ends is given up at the deadline, without a word on stdout.
#[test]
fn input_that_never_ends_is_given_up() {
    let sandbox = house();
    let mut command = command(&sandbox, &["claude"]);
    command.env_remove("SKILLCUE_HOOK_DEADLINE_MS");
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"{\"session_id\":").unwrap();
    let output = child.wait_with_output().unwrap();
    drop(stdin);
    assert_eq!(context(&output), "");
    assert!(String::from_utf8(output.stderr).unwrap().contains("no answer within 1000 ms"));
}

/// A pipe for messages that is full holds nothing up.
#[test]
fn a_full_stderr_is_no_failure() {
    let sandbox = house();
    let (reader, mut writer) = std::io::pipe().unwrap();
    let mut command = command(&sandbox, &["claude"]);
    command.env("SKILLCUE_HOOK_DEADLINE_MS", "500").stderr(writer.try_clone().unwrap());
    // It waits in the end, because the pipe is full, until its reader is gone.
    let filler = std::thread::spawn(move || while writer.write_all(&[b' '; 512]).is_ok() {});
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let _stdin = child.stdin.take();
    let ended = (0..600).find_map(|_| {
        std::thread::sleep(std::time::Duration::from_millis(50));
        child.try_wait().unwrap()
    });
    drop(reader);
    child.kill().unwrap();
    filler.join().unwrap();
    assert_eq!(ended.expect("it hangs").code(), Some(0));
}

#[test]
fn a_path_that_is_no_text_is_no_failure() {
    use std::os::unix::ffi::OsStringExt as _;
    let sandbox = house();
    let mut command = sandbox.command(&[]);
    command.arg(std::ffi::OsString::from_vec(b"--skills-dir=/tmp/\xff".to_vec())).args(["hook", "nonsuch"]);
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert_eq!((context(&output), output.stderr.is_empty()), (String::new(), false));
}

/// A text that could not be written was not shown: the next message gets it.
#[test]
fn a_closed_stdout_is_no_failure() {
    let sandbox = house();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = command(&sandbox, &["claude"]);
    command.stdout(writer);
    let output = run(command, input(&sandbox, "1", MESSAGE).as_bytes());
    assert_eq!(output.status.code(), Some(0));
    assert!(ask(&sandbox, "1", MESSAGE).contains("Use pdftk."));
}

#[cfg(debug_assertions)]
#[test]
fn a_panic_is_no_failure() {
    let sandbox = house();
    let output =
        run(command(&sandbox, &["claude", "--event", "panic in a test"]), input(&sandbox, "1", MESSAGE).as_bytes());
    assert_eq!(context(&output), "");
    assert!(String::from_utf8(output.stderr).unwrap().contains("panicked"));
}

#[test]
fn a_hook_that_is_killed_leaves_a_good_session() {
    let sandbox = house();
    for round in 0..12 {
        let mut child = start(command(&sandbox, &["claude"]), input(&sandbox, "1", MESSAGE).as_bytes());
        std::thread::sleep(std::time::Duration::from_millis(round * 5));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let last = format!("{}{}", ask(&sandbox, "1", MESSAGE), ask(&sandbox, "1", MESSAGE));
    assert!(last.is_empty() || last.matches("Use pdftk.").count() == 1, "{last}");
    assert_eq!(ask(&sandbox, "1", MESSAGE), "");
}

/// One of them shows the body; the others wait for it, or step aside.
#[test]
fn a_hundred_at_once_show_it_once() {
    let sandbox = house();
    ask(&sandbox, "another", "What is 2+2?");
    let sent = input(&sandbox, "1", MESSAGE);
    let children: Vec<Child> = (0..100).map(|_| start(command(&sandbox, &["claude"]), sent.as_bytes())).collect();
    let shown: Vec<String> = children.into_iter().map(|child| context(&child.wait_with_output().unwrap())).collect();
    assert_eq!(shown.iter().filter(|text| text.contains("Use pdftk.")).count(), 1);
    assert_eq!(shown.iter().filter(|text| !text.is_empty()).count(), 1);
    assert_eq!(ask(&sandbox, "1", MESSAGE), "");
}

/// Many bodies take longer to read than a client waits: another process reads them for later calls.
#[test]
fn many_skills_are_indexed_in_the_background() {
    let sandbox = house();
    for number in 0..1_000 {
        sandbox.skill(&format!("home/.agents/skills/other-{number}"), "Does something else.");
    }
    assert!(ask(&sandbox, "1", MESSAGE).contains("Use pdftk."));
    let cache = sandbox.path("home/.cache/skillcue");
    let is_kept = || {
        let names = fs::read_dir(&cache).unwrap().map(|entry| entry.unwrap().file_name());
        names.filter(|name| name.to_string_lossy().starts_with("texts-")).count() == 1
    };
    for _ in 0..600 {
        if is_kept() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    assert!(is_kept());
    assert!(ask(&sandbox, "2", MESSAGE).contains("Use pdftk."));
}

#[test]
fn a_terminal_is_no_input() {
    let sandbox = house();
    let (_person, program) = crate::sandbox::open_terminal(80);
    let mut command = command(&sandbox, &["claude"]);
    let output = command.stdin(File::try_clone(&program).unwrap()).output().unwrap();
    assert_eq!(context(&output), "");
    assert!(String::from_utf8(output.stderr).unwrap().contains("stdin is a terminal"));
}
