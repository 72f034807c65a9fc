//! Plain words in comments: a first line has its own subject, and programs are not persons.
//!
//! Both are counted over every Rust file of the repository. The limits are what is left today: lower them when the
//! counts fall, and never raise them.

use std::fs;
use std::path::{Path, PathBuf};

/// The number of doc comments that may begin with "What" or "The same": an item read alone, in a listing, then has no
/// subject. Write "Returns the …", or a noun.
const MAX_BARE_BEGINNINGS: usize = 1052;

/// The number of comment lines that may have one of [`PERSONS`]: a process, a caller or a file is named by what it is.
const MAX_PERSONS: usize = 415;

/// The number of places that a failure names.
const MAX_SHOWN: usize = 20;

/// The beginnings of a first line that have no subject of their own.
const BARE_BEGINNINGS: &[&str] = &["What", "The same"];

/// The words for persons that comments use for programs.
const PERSONS: &[&str] = &["nobody", "somebody", "whoever", "anybody", "anyone", "someone", "everybody", "everyone"];

#[test]
fn prose_is_plain() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let mut files = Vec::new();
    for dir in ["crates", "fuzz", "xtask"] {
        collect(&root.join(dir), &mut files);
    }
    files.sort();
    assert!(files.len() > 600, "only {} files were found", files.len());
    let (mut bare, mut persons) = (Vec::new(), Vec::new());
    for file in &files {
        let name = file.strip_prefix(&root).unwrap().display();
        let text = fs::read_to_string(file).unwrap();
        let mut in_doc = false;
        for (number, line) in (1..).zip(text.lines().map(str::trim)) {
            let doc = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"));
            if !in_doc && doc.is_some_and(is_bare) {
                bare.push(format!("{name}:{number}"));
            }
            in_doc = doc.is_some();
            if line.starts_with("//") && has_person(line) {
                persons.push(format!("{name}:{number}"));
            }
        }
    }
    check("doc comments begin with \"What\" or \"The same\"", &bare, MAX_BARE_BEGINNINGS);
    check("comment lines have a person for a program", &persons, MAX_PERSONS);
}

fn check(what: &str, found: &[String], limit: usize) {
    let shown = &found[..found.len().min(MAX_SHOWN)];
    assert!(found.len() <= limit, "{} {what}, at most {limit} may:\n{}", found.len(), shown.join("\n"));
}

/// Returns whether the first line of a doc comment begins without a subject.
fn is_bare(line: &str) -> bool {
    let ends = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    BARE_BEGINNINGS.iter().any(|begin| line.trim_start().strip_prefix(begin).is_some_and(ends))
}

fn has_person(line: &str) -> bool {
    line.split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .any(|word| PERSONS.iter().any(|person| word.eq_ignore_ascii_case(person)))
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
    assert!(has_person("// Nobody waits.") && !has_person("// A thread waits."));
}
