//! The commands of README.md, the clients' pages, the guides and the reference, run word for word: what a page prints is what its reader sees.
//!
//! A block ```` ```console ```` holds commands behind `$ `, their further lines behind `> `, and what they print. One shell
//! runs all blocks of a page, in an empty project below an empty home. A line `…` stands for any lines, `…` at the end of a
//! line for the rest of it; times, tokens and ids of sessions may differ. The lines of a comment `<!-- run first:` make what
//! a reader has already, and print nothing. A block behind a comment `<!-- not run: REASON -->` is not run. `UPDATE_PAGES=1`
//! writes what is printed now into the pages.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::Sandbox;

macro_rules! pages {
    ($($(#[$attribute:meta])* $test:ident: $page:literal,)*) => {
        $(#[test]
        $(#[$attribute])*
        fn $test() {
            check(&Sandbox::new(), $page);
        })*
    };
}

pages! {
    readme: "README.md",
    first_ten_minutes: "docs/guides/first-ten-minutes.md",
    a_skill_that_fires: "docs/guides/a-skill-that-fires.md",
    claude_code_and_codex: "docs/guides/claude-code-and-codex.md",
    which_skills_earn_their_tokens: "docs/guides/which-skills-earn-their-tokens.md",
    #[cfg(feature = "fleet")]
    fleet: "docs/fleet.md",
    running_safely: "docs/guides/running-safely.md",
    studio: "docs/guides/studio.md",
    client_claude_code: "docs/clients/claude-code.md",
    client_codex: "docs/clients/codex.md",
    client_copilot: "docs/clients/copilot.md",
    client_cursor_vscode_zed: "docs/clients/cursor-vscode-zed.md",
    client_gemini: "docs/clients/gemini.md",
    client_opencode: "docs/clients/opencode.md",
    client_qwen: "docs/clients/qwen.md",
    audit: "docs/reference/audit.md",
    connect: "docs/reference/connect.md",
    disclosure: "docs/reference/disclosure.md",
    doctor: "docs/reference/doctor.md",
    eval: "docs/reference/eval.md",
    format: "docs/reference/format.md",
    installing: "docs/reference/installing.md",
    hook: "docs/reference/hook.md",
    json: "docs/reference/json.md",
    matching: "docs/reference/matching.md",
    mcp: "docs/reference/mcp.md",
    policy: "docs/reference/policy.md",
    running: "docs/reference/running.md",
    servers: "docs/reference/servers.md",
    tools: "docs/reference/tools.md",
    #[cfg(feature = "engine")]
    toolsets: "docs/reference/toolsets.md",
    tune: "docs/reference/tune.md",
    usage: "docs/reference/usage.md",
    validate: "docs/reference/validate.md",
}

/// The model of this page answers from a script.
#[test]
#[cfg(feature = "agent")]
fn agent() {
    use serde_json::json;
    use skillcue_scripted::{Reply, Server};

    let server = Server::start(|received| {
        let message = received.last_user();
        let reply = match (message.lines().last().unwrap_or_default(), received.new_results().len()) {
            ("Say bonjour to Alice", 0) => Reply::calls([("c1", "load_skill", json!({"skill_id": "hello-extended"}))]),
            ("Say bonjour to Alice", 1) if received.tool_results().len() == 1 => {
                Reply::calls([("c2", "greeting", json!({"language": "French"}))])
            }
            ("Say bonjour to Alice", _) => Reply::text("Bonjour, Alice!"),
            ("Thank you", _) => Reply::text("You are welcome."),
            ("What is my name?", _) => Reply::text("Your name is Alice."),
            ("My name is Alice.", _) => Reply::text("Fine."),
            _ => Reply::text("2+2 is 4."),
        };
        reply.usage(650, 5)
    });
    let sandbox = Sandbox::new();
    let settings = format!("[agent]\nmodel = \"ollama:qwen3\"\nbase_url = \"{}/v1\"\n", server.url());
    sandbox.write(crate::sandbox::SETTINGS, settings);
    check(&sandbox, "docs/reference/agent.md");
    assert_eq!(server.refused(), Vec::<String>::new());
}

/// Every page is one of the tests above, or has no commands; commands are in blocks that are run, or say why not.
#[test]
fn no_page_is_forgotten() {
    let source = include_str!("pages.rs");
    for dir in ["docs/clients", "docs/guides", "docs/reference"] {
        for entry in fs::read_dir(root().join(dir)).unwrap() {
            let path = entry.unwrap().path();
            let page = fs::read_to_string(&path).unwrap();
            let name = format!("{dir}/{}", path.file_name().unwrap().to_str().unwrap());
            assert!(examples(&page).is_empty() || source.contains(&name), "{name} is not run");
            let mut fence = None;
            for line in page.lines() {
                if line.starts_with("```") {
                    fence = if fence.is_none() { Some(line) } else { None };
                }
                let is_hidden = line.starts_with("$ ") && fence.is_some_and(|fence| fence != "```console");
                assert!(!is_hidden, "{name}: write ```console above {line:?}");
            }
        }
    }
}

/// A command, and where its output is on the page.
#[derive(Debug)]
struct Example {
    command: String,
    output: Range<usize>,
    /// A command in a comment, which readers do not see.
    is_setup: bool,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn check(sandbox: &Sandbox, name: &str) {
    let path = root().join(name);
    let page = fs::read_to_string(&path).unwrap();
    let examples = examples(&page);
    assert!(!examples.is_empty(), "{name} has no commands");
    let printed = run(sandbox, &examples);
    let mut updated = page.clone();
    let mut wrong = Vec::new();
    for (example, printed) in examples.iter().zip(&printed).rev() {
        let expected = &page[example.output.clone()];
        if !fits(expected, printed) {
            if !example.is_setup {
                updated.replace_range(example.output.clone(), printed);
            }
            wrong.push(format!("$ {}\n--- {name} says\n{expected}--- it prints\n{printed}", example.command));
        }
    }
    if std::env::var_os("UPDATE_PAGES").is_some() {
        fs::write(&path, updated).unwrap();
    } else {
        wrong.reverse();
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}

/// Finds the commands of a page.
fn examples(page: &str) -> Vec<Example> {
    let (mut found, mut at) = (Vec::<Example>::new(), 0);
    let (mut is_console, mut is_block, mut is_skipped, mut is_setup) = (false, false, false, false);
    for line in page.split_inclusive('\n') {
        let (start, text) = (at, line.trim_end_matches('\n'));
        at += line.len();
        if is_setup {
            is_setup = text != "-->";
            if let Some(setup) = found.last_mut().filter(|_| is_setup) {
                setup.command.push_str(line);
            }
        } else if !is_block && text == "<!-- run first:" {
            is_setup = true;
            found.push(Example { command: String::new(), output: at..at, is_setup });
        } else if text.starts_with("```") {
            is_console = !is_block && text == "```console" && !is_skipped;
            is_skipped &= !is_block;
            is_block = !is_block;
        } else if !is_block && !text.trim().is_empty() {
            is_skipped = text.starts_with("<!-- not run:");
        } else if is_console {
            let last = found.last_mut().filter(|last| last.output.end == start);
            match (text.strip_prefix("$ "), text.strip_prefix("> "), last) {
                (Some(command), ..) => {
                    found.push(Example { command: command.to_owned(), output: at..at, is_setup });
                }
                (None, Some(more), Some(last)) if last.output.is_empty() => {
                    last.command = format!("{}\n{more}", last.command);
                    last.output = at..at;
                }
                (None, _, Some(last)) => last.output.end = at,
                (None, _, None) => panic!("a line of output without a command: {text}"),
            }
        }
    }
    found
}

/// Runs the commands one after the other in one shell.
fn run(sandbox: &Sandbox, examples: &[Example]) -> Vec<String> {
    const MARK: &str = "\u{1}next\n";
    fs::remove_dir(sandbox.path("work/.git")).unwrap();
    let project = sandbox.path("home/project");
    fs::create_dir_all(&project).unwrap();
    let bin = Path::new(env!("CARGO_BIN_EXE_skillcue")).parent().unwrap();
    let mut script = "exec 2>&1\n".to_owned();
    for example in examples {
        script.push_str(&example.command);
        script.push_str("\nprintf '\\001next\\n'\n");
    }
    sandbox.write("tmp/page.sh", script);
    let output = Command::new("sh")
        .arg(sandbox.path("tmp/page.sh"))
        .current_dir(&project)
        .env_clear()
        .env("HOME", sandbox.path("home"))
        .env("TMPDIR", sandbox.path("tmp"))
        // For the comments that run first.
        .env("REPOSITORY", root().canonicalize().unwrap())
        .env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", bin.display()))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    let real = |below: &str| sandbox.path(below).canonicalize().unwrap().to_str().unwrap().to_owned();
    let printed = printed.replace(&real("home"), "/home/you").replace(bin.to_str().unwrap(), "/home/you/.cargo/bin");
    let mut printed: Vec<String> = printed.split(MARK).map(str::to_owned).collect();
    assert_eq!(printed.pop().as_deref(), Some(""), "the shell ended early");
    assert_eq!(printed.len(), examples.len());
    printed
}

/// Returns whether an output is what the page says.
fn fits(expected: &str, printed: &str) -> bool {
    fn lines<'l>(
        mut expected: impl Iterator<Item = &'l str> + Clone,
        mut printed: impl Iterator<Item = &'l str> + Clone,
    ) -> bool {
        match expected.next() {
            None => printed.next().is_none(),
            Some("…") => loop {
                if lines(expected.clone(), printed.clone()) {
                    return true;
                }
                if printed.next().is_none() {
                    return false;
                }
            },
            Some(line) => match (line.strip_suffix('…'), printed.next()) {
                (_, Some(found)) if found == line => lines(expected, printed),
                (Some(start), Some(found)) if found.starts_with(start) => lines(expected, printed),
                _ => false,
            },
        }
    }
    let (expected, printed) = (without_numbers(expected), without_numbers(printed));
    lines(expected.lines(), printed.lines())
}

/// Replaces times, tokens and the ids of sessions, which differ from run to run.
fn without_numbers(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let is_number = |word: &str| {
            word.starts_with(|c: char| c.is_ascii_digit()) && word.chars().all(|c| c.is_ascii_digit() || c == ',')
        };
        // A row of tokens, its heading, a bar, or their sum: a skill's path counts, and the temporary directory's length
        // differs.
        let is_heading = |word: &str| word.len() > 1 && word.chars().all(|c| c.is_ascii_uppercase());
        let columns = words.iter().filter(|word| is_number(word) || is_heading(word)).count();
        let is_row = columns >= 8 || line.starts_with("skills and their tools took");
        if line.contains('░') && words.last().is_some_and(|word| is_number(word)) {
            out.push_str("BAR\n");
            continue;
        }
        for (nth, word) in words.iter().enumerate() {
            let unit = words.get(nth + 1).copied().unwrap_or_default().trim_end_matches(';');
            let mask = if ["µs", "ms", "s"].contains(&unit) && word.parse::<f64>().is_ok() {
                Some("TIME")
            } else if ["tokens", "%)"].contains(&unit) || (is_row && is_number(word)) {
                Some("N")
            } else {
                Some(*word).filter(|word| is_row && is_heading(word))
            };
            if let Some(mask) = mask {
                // In a column, the blanks before a number depend on its length.
                out.truncate(out.trim_end_matches(' ').len());
                out.push(' ');
                out.push_str(mask);
            } else {
                out.push_str(&without_ids(word));
            }
            out.push(if nth + 1 == words.len() { '\n' } else { ' ' });
        }
    }
    let out = out.replace("TIME µs", "TIME").replace("TIME ms", "TIME").replace("TIME s", "TIME");
    let mut parts = out.split("\"tokens\":");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |out, part| out + "\"tokens\":" + part.trim_start_matches(|c: char| c.is_ascii_digit()))
}

/// Replaces the ids of sessions, times of day and dates: `20261116-1352-egca`, `2026-11-16T13:52:53.384Z`, `2026-11-16`.
fn without_ids(word: &str) -> String {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | ':' | '.');
    let mut out = String::new();
    for part in word.split_inclusive(|c: char| !is_part(c)) {
        let text = part.trim_end_matches(|c: char| !is_part(c));
        let dashes = text.matches('-').count();
        let is_mask = text.starts_with("20") && dashes == 2 && [10, 18, 24].contains(&text.len());
        out.push_str(if is_mask { "ID" } else { text });
        out.push_str(&part[text.len()..]);
    }
    out
}

#[test]
fn pages_are_read() {
    let page = "```sh\n$ no\n```\n\n<!-- run first:\nx\ny\n-->\n```console\n$ a <<E\n> b\n> E\nout\n\nmore\n$ c\n```\n<!-- not run: x -->\n```console\n$ d\n```\n\n```console\n$ e\n```\n";
    let found = examples(page);
    let found: Vec<_> = found.iter().map(|it| (it.command.as_str(), &page[it.output.clone()])).collect();
    assert_eq!(found, [("x\ny\n", ""), ("a <<E\nb\nE", "out\n\nmore\n"), ("c", ""), ("e", "")]);
    assert!(fits("a · 781 µs\n…\nz…\n", "a · 1.2 ms\nb\nc\nzebra\n"));
    assert!(!fits("a\n…\nz\n", "a\nb\n") && !fits("a\n", "a\nb\n"));
}
