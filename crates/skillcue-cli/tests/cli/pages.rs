//! The commands of README.md and of the guides, run word for word: what a page prints is what its reader sees.
//!
//! A block ```` ```console ```` holds commands behind `$ `, their further lines behind `> `, and what they print. One shell
//! runs all blocks of a page, in an empty project below an empty home. A line `…` stands for any lines, `…` at the end of a
//! line for the rest of it; times, tokens and ids of sessions may differ. A block behind a comment `<!-- not run: REASON -->` is not
//! run. `UPDATE_PAGES=1` writes what is printed now into the pages.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::Sandbox;

#[test]
fn readme() {
    check("README.md");
}

#[test]
fn first_ten_minutes() {
    check("docs/guides/first-ten-minutes.md");
}

#[test]
fn a_skill_that_fires() {
    check("docs/guides/a-skill-that-fires.md");
}

#[test]
fn claude_code_and_codex() {
    check("docs/guides/claude-code-and-codex.md");
}

#[test]
fn running_safely() {
    check("docs/guides/running-safely.md");
}

/// Every guide is one of the tests above, or has no commands.
#[test]
fn no_guide_is_forgotten() {
    let source = include_str!("pages.rs");
    for entry in fs::read_dir(root().join("docs/guides")).unwrap() {
        let path = entry.unwrap().path();
        let (page, name) = (fs::read_to_string(&path).unwrap(), path.file_name().unwrap().to_str().unwrap());
        assert!(examples(&page).is_empty() || source.contains(&format!("docs/guides/{name}")), "{name} is not run");
    }
}

/// A command, and where its output is on the page.
#[derive(Debug)]
struct Example {
    command: String,
    output: Range<usize>,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn check(name: &str) {
    let path = root().join(name);
    let page = fs::read_to_string(&path).unwrap();
    let examples = examples(&page);
    assert!(!examples.is_empty(), "{name} has no commands");
    let printed = run(&examples);
    let mut updated = page.clone();
    let mut wrong = Vec::new();
    for (example, printed) in examples.iter().zip(&printed).rev() {
        let expected = &page[example.output.clone()];
        if !fits(expected, printed) {
            updated.replace_range(example.output.clone(), printed);
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
    let (mut is_console, mut is_block, mut is_skipped) = (false, false, false);
    for line in page.split_inclusive('\n') {
        let (start, text) = (at, line.trim_end_matches('\n'));
        at += line.len();
        if text.starts_with("```") {
            is_console = !is_block && text == "```console" && !is_skipped;
            is_block = !is_block;
        } else if !is_block && !text.trim().is_empty() {
            is_skipped = text.starts_with("<!-- not run:");
        } else if is_console {
            let last = found.last_mut().filter(|last| last.output.end == start);
            match (text.strip_prefix("$ "), text.strip_prefix("> "), last) {
                (Some(command), ..) => found.push(Example { command: command.to_owned(), output: at..at }),
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
fn run(examples: &[Example]) -> Vec<String> {
    const MARK: &str = "\u{1}next\n";
    let sandbox = Sandbox::new();
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
        for (nth, word) in words.iter().enumerate() {
            let is_time =
                words.get(nth + 1).is_some_and(|unit| ["µs", "ms", "s"].contains(unit)) && word.parse::<f64>().is_ok();
            // A skill's path counts, and the temporary directory's length differs.
            let is_count = words.get(nth + 1).is_some_and(|unit| ["tokens", "%)"].contains(unit));
            let is_id = word.len() == 18 && word.starts_with("20") && word.as_bytes()[8] == b'-';
            out.push_str(match (is_time, is_count, is_id) {
                (true, ..) => "TIME",
                (_, true, _) => "N",
                (.., true) => "ID",
                _ => word,
            });
            out.push(if nth + 1 == words.len() { '\n' } else { ' ' });
        }
    }
    out.replace("TIME µs", "TIME").replace("TIME ms", "TIME").replace("TIME s", "TIME")
}

#[test]
fn pages_are_read() {
    let page = "```sh\n$ no\n```\n\n```console\n$ a <<E\n> b\n> E\nout\n\nmore\n$ c\n```\n<!-- not run: x -->\n```console\n$ d\n```\n";
    let found = examples(page);
    let found: Vec<_> = found.iter().map(|it| (it.command.as_str(), &page[it.output.clone()])).collect();
    assert_eq!(found, [("a <<E\nb\nE", "out\n\nmore\n"), ("c", "")]);
    assert!(fits("a · 781 µs\n…\nz…\n", "a · 1.2 ms\nb\nc\nzebra\n"));
    assert!(!fits("a\n…\nz\n", "a\nb\n") && !fits("a\n", "a\nb\n"));
}
