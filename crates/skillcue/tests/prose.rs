//! Plain words: the first line of a comment has its own subject, the name of a test is a statement, programs are not
//! persons, one name means one type, and the subjects of commits are short.
//!
//! Comments and tests are counted over every Rust file of the repository. Lower the limits when the counts fall, and never
//! raise them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The number of doc comments that may begin with "What" or "The same": an item read alone, in a listing, then has no
/// subject. Write "Returns the …", or a noun.
const MAX_BARE_BEGINNINGS: usize = 0;

/// The number of comment lines that may have one of [`PERSONS`]: a process, a caller or a file is named by what it is. What
/// is left is a Unix user of that name, in two lines.
const MAX_PERSONS: usize = 2;

/// The number of tests that may have a name with one of [`BARE_NAMES`] or [`PERSONS`]: in a list of failures, a name is
/// all that a reader sees. Write the statement that the test asserts: `a_failed_download_leaves_the_old_version`.
const MAX_BARE_NAMES: usize = 0;

/// The number of code lines in `src` that may have one of [`PERSONS_IN_TEXTS`]: in the texts of errors and help, too, a
/// program is named by what it is.
const MAX_PERSONS_IN_TEXTS: usize = 0;

/// The number of places that a failure names.
const MAX_SHOWN: usize = 20;

/// The beginnings of a first line that have no subject of their own.
const BARE_BEGINNINGS: &[&str] = &["What", "The same"];

/// The words for persons that comments use for programs.
const PERSONS: &[&str] = &["nobody", "somebody", "whoever", "anybody", "anyone", "someone", "everybody", "everyone"];

/// The beginnings of a test's name that have no subject of their own.
const BARE_NAMES: &[&str] = &["what_", "the_same_", "who_", "whoever_"];

/// The words for persons that texts may not use. The others of [`PERSONS`] are words of rules and samples about people.
const PERSONS_IN_TEXTS: &[&str] = &["nobody", "somebody", "whoever", "anybody"];

/// The longest subject of a commit that tools show whole.
const MAX_SUBJECT: usize = 72;

/// The most lines of a file that is one idea.
const MAX_LINES: usize = 500;

/// Names of types that several files may declare: each is private to its module, or a convention of Rust or clap.
const SHARED_NAMES: &[&str] = &["Data", "Args", "Err", "Error", "Inner", "Output"];

#[test]
fn one_name_means_one_type() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let mut files = Vec::new();
    for package in fs::read_dir(root.join("crates")).unwrap() {
        collect(&package.unwrap().path().join("src"), &mut files);
    }
    assert!(files.len() > 300, "only {} files were found", files.len());
    let mut declared: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for file in &files {
        let name = file.strip_prefix(&root).unwrap().to_str().unwrap();
        for line in fs::read_to_string(file).unwrap().lines() {
            let mut words = line.split_whitespace().skip_while(|word| word.starts_with("pub"));
            if matches!(words.next(), Some("struct" | "enum" | "trait" | "type"))
                && let Some(word) = words.next()
            {
                let end = word.find(|c: char| !c.is_alphanumeric()).unwrap_or(word.len());
                declared.entry(word[..end].to_owned()).or_default().insert(name.to_owned());
            }
        }
    }
    assert!(declared.len() > 1000, "only {} types were found", declared.len());
    declared.retain(|name, files| files.len() > 1 && !SHARED_NAMES.contains(&name.as_str()));
    assert!(declared.is_empty(), "one name means several types: {declared:#?}");
}

#[test]
fn subjects_of_commits_are_short() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let log = Command::new("git").args(["log", "--no-merges", "-n", "100", "--format=%s"]).current_dir(root).output();
    let Some(log) = log.ok().filter(|log| log.status.success()) else {
        eprintln!("skipped: this is no git checkout");
        return;
    };
    let log = String::from_utf8_lossy(&log.stdout).into_owned();
    let long: Vec<&str> = log.lines().filter(|subject| subject.chars().count() > MAX_SUBJECT).collect();
    assert!(long.is_empty(), "subjects of more than {MAX_SUBJECT} characters: {long:#?}");
}

#[test]
fn prose_is_plain() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let mut files = Vec::new();
    for dir in ["crates", "fuzz", "xtask"] {
        collect(&root.join(dir), &mut files);
    }
    files.sort();
    assert!(files.len() > 600, "only {} files were found", files.len());
    let (mut bare, mut persons, mut names, mut texts) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut ids = Vec::new();
    for file in &files {
        let name = file.strip_prefix(&root).unwrap().display();
        let text = fs::read_to_string(file).unwrap();
        let is_src = file.iter().any(|part| part == "src");
        let (mut in_doc, mut is_test) = (false, false);
        for (number, line) in (1..).zip(text.lines().map(str::trim)) {
            let doc = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"));
            if !in_doc && doc.is_some_and(is_bare) {
                bare.push(format!("{name}:{number}"));
            }
            if doc.is_some_and(is_bare_id) {
                ids.push(format!("{name}:{number}"));
            }
            in_doc = doc.is_some();
            if line.starts_with("//") {
                if has_word(line, PERSONS) {
                    persons.push(format!("{name}:{number}"));
                }
            } else if is_src && has_word(line, PERSONS_IN_TEXTS) {
                texts.push(format!("{name}:{number}"));
            }
            is_test |= line.starts_with("#[test") || line.starts_with("#[tokio::test");
            if let Some(function) = function_name(line) {
                if is_test && is_bare_name(function) {
                    names.push(format!("{name}:{number}: {function}"));
                }
                is_test = false;
            }
        }
    }
    check("doc comments begin with \"What\" or \"The same\"", &bare, MAX_BARE_BEGINNINGS);
    check("comment lines have a person for a program", &persons, MAX_PERSONS);
    check("names of tests are no statement", &names, MAX_BARE_NAMES);
    check("texts have a person for a program", &texts, MAX_PERSONS_IN_TEXTS);
    check("comments are the id of a requirement without the rule", &ids, 0);
}

fn check(what: &str, found: &[String], limit: usize) {
    let shown = &found[..found.len().min(MAX_SHOWN)];
    assert!(found.len() <= limit, "{} {what}, at most {limit} may:\n{}", found.len(), shown.join("\n"));
}

/// Returns whether a comment is nothing but an id, as of a requirement: a letter, a hyphen, a number.
fn is_bare_id(line: &str) -> bool {
    let id = line.trim().trim_end_matches('.').split_once('-');
    id.is_some_and(|(kind, number)| kind.len() == 1 && !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}

/// Returns whether the first line of a doc comment begins without a subject.
fn is_bare(line: &str) -> bool {
    let ends = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    BARE_BEGINNINGS.iter().any(|begin| line.trim_start().strip_prefix(begin).is_some_and(ends))
}

fn has_word(line: &str, words: &[&str]) -> bool {
    line.split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .any(|found| words.iter().any(|word| found.eq_ignore_ascii_case(word)))
}

/// Returns the name of the function that a line declares.
fn function_name(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("async ").unwrap_or(line).strip_prefix("fn ")?;
    rest.split(|c: char| !(c.is_alphanumeric() || c == '_')).next()
}

/// Returns whether the name of a test begins without a subject, or has a person for a program.
fn is_bare_name(name: &str) -> bool {
    BARE_NAMES.iter().any(|begin| name.starts_with(begin)) || name.split('_').any(|word| PERSONS.contains(&word))
}

fn collect(dir: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(dir) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            // A build directory has copies of other crates.
            if entry.file_name() != "target" {
                collect(&path, files);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

#[test]
fn beginnings_and_persons_are_recognised() {
    assert!(is_bare(" What a skill is.") && is_bare(" The same, for two.") && !is_bare(" Whatever it is."));
    assert!(has_word("// Nobody waits.", PERSONS) && !has_word("// A thread waits.", PERSONS));
    assert!(is_bare_name("what_is_valid_stays") && is_bare_name("ssh_asks_nobody") && !is_bare_name("lists_are_whole"));
    assert_eq!(function_name("async fn ssh_asks() {"), Some("ssh_asks"));
}

#[test]
fn long_files_have_a_reason() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let mut files = Vec::new();
    for dir in ["crates", "fuzz", "xtask"] {
        collect(&root.join(dir), &mut files);
    }
    let is_long = |file: &&PathBuf| {
        let text = fs::read_to_string(file).unwrap();
        text.lines().count() > MAX_LINES && !text.contains("//! Over 500 lines: ")
    };
    let long: Vec<&PathBuf> = files.iter().filter(is_long).collect();
    assert!(long.is_empty(), "split them, or give the reason behind `//! Over 500 lines:`: {long:#?}");
}

#[test]
fn links_of_pages_lead_somewhere() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let mut pages: Vec<PathBuf> =
        ["", "docs", "docs/guides", "docs/reference"].iter().flat_map(|dir| markdown(&root.join(dir))).collect();
    pages.sort();
    assert!(pages.len() > 20, "only {} pages were found", pages.len());
    let mut broken = Vec::new();
    for page in &pages {
        let text = fs::read_to_string(page).unwrap();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if link.contains("://") || link.contains([' ', '`']) || link.starts_with("mailto:") {
                continue;
            }
            let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = if path.is_empty() { page.clone() } else { page.parent().unwrap().join(path) };
            let has_anchor = || {
                let text = fs::read_to_string(&target).unwrap_or_default();
                text.lines().filter(|line| line.starts_with('#')).any(|heading| slug(heading) == anchor)
            };
            // Examples of links in skills are in code.
            let is_example = ["forms.md", "more.md", "reference.md"].contains(&path);
            if !is_example && (!target.exists() || (!anchor.is_empty() && !has_anchor())) {
                broken.push(format!("{}: {link}", page.strip_prefix(&root).unwrap().display()));
            }
        }
    }
    assert!(broken.is_empty(), "links that lead nowhere: {broken:#?}");
}

fn markdown(dir: &Path) -> Vec<PathBuf> {
    let paths = fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
    paths.filter(|path| path.extension().is_some_and(|extension| extension == "md")).collect()
}

/// Returns the anchor of a heading, as forges make it.
fn slug(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = text.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}
