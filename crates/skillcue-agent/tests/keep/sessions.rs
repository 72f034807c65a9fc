//! Sessions: which can be continued, and which are refused.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use proptest::prelude::*;
use skillcue_agent::{Message, SessionRecord, Sessions, SessionsError};
use skillcue_base::ErrorInfo as _;

use crate::conversation::{about, append, assert_valid, messages, records, said, session, skills, turn, user};
use crate::{child, scratch};

fn sessions() -> (tempfile::TempDir, Sessions) {
    let dir = scratch();
    let sessions = Sessions::new(dir.path().join("a/sessions"));
    (dir, sessions)
}

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o777
}

#[test]
fn a_saved_session_is_read_back_whole() {
    let (_dir, sessions) = sessions();
    let records = records();
    let (mut file, created) = sessions.create(about()).unwrap();
    assert_eq!((created.messages.len(), created.turns, &created.about), (0, 0, &about()));
    append(&mut file, &records);
    assert_eq!((file.id(), mode(file.path()), mode(sessions.dir())), (created.id.as_str(), 0o600, 0o700));
    drop(file);
    let (_, saved) = sessions.open(&created.id).unwrap();
    assert_eq!(saved.messages, messages(&records));
    assert_eq!((saved.turns, &saved.about, &saved.skills), (4, &about(), &skills(4)));
    assert_eq!(saved.loaded, ["skill-1", "skill-2", "skill-3", "skill-4"]);
    assert_eq!(saved.repaired, [""; 0]);
}

#[test]
fn ids_say_when_and_are_found_by_their_beginning() {
    let (_dir, sessions) = sessions();
    assert!(matches!(sessions.open("2026"), Err(SessionsError::NotFound { .. })), "there is no directory yet");
    let ids: Vec<String> = (0..40).map(|_| session(&sessions, &[])).collect();
    assert!(ids.iter().all(|id| id.starts_with("20261116-1200-")), "{ids:?}");
    let error = sessions.open("20261116").unwrap_err();
    assert!(matches!(&error, SessionsError::Ambiguous { matches, .. } if matches.len() == 40), "{error}");
    assert_eq!(error.code(), "session_ambiguous");
    for id in &ids {
        assert_eq!(sessions.read(id).unwrap().id, *id);
    }
    let mut other = about();
    other.created = crate::at(86_400);
    let (file, saved) = sessions.create(other).unwrap();
    drop(file);
    assert_eq!(sessions.open("20261117").unwrap().1.id, saved.id);
    assert!(
        matches!(sessions.remove("20261117"), Err(SessionsError::NotFound { .. })),
        "nothing is removed by half a name"
    );
    sessions.remove(&saved.id).unwrap();
    assert!(matches!(sessions.open(&saved.id), Err(SessionsError::NotFound { .. })));
}

#[test]
fn an_id_is_no_path() {
    let (dir, sessions) = sessions();
    session(&sessions, &[]);
    std::fs::write(dir.path().join("outside.jsonl"), "{}").unwrap();
    for bad in ["", "..", "../outside", "../../outside", "/etc/passwd", "a/b", "A", "a\0b", "ü", "a.jsonl"] {
        assert!(matches!(sessions.open(bad), Err(SessionsError::BadId { .. })), "{bad}");
        assert!(matches!(sessions.read(bad), Err(SessionsError::BadId { .. })), "{bad}");
        assert!(matches!(sessions.remove(bad), Err(SessionsError::BadId { .. })), "{bad}");
    }
    assert!(dir.path().join("outside.jsonl").exists());
}

#[test]
fn only_one_continues_a_session() {
    let (_dir, sessions) = sessions();
    let id = session(&sessions, &records());
    let (mut file, _) = sessions.open(&id).unwrap();
    let error = sessions.open(&id).unwrap_err();
    assert!(matches!(error, SessionsError::Busy { .. }), "{error}");
    assert!(error.to_string().contains("in use by another process"), "{error}");
    assert!(matches!(sessions.remove(&id), Err(SessionsError::Busy { .. })));
    assert_eq!(sessions.read(&id).unwrap().turns, 4, "reading needs no lock");
    assert_eq!(sessions.list().unwrap().len(), 1);
    // Neither does another process.
    let output = child::command("open", sessions.dir(), &id).stderr(Stdio::null()).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("session_in_use"), "{output:?}");
    append(&mut file, &[said(user("x")), said(Message::assistant("y")), turn(5)]);
    drop(file);
    let output = child::command("open", sessions.dir(), &id).stderr(Stdio::null()).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("opened 5"), "{output:?}");
    sessions.remove(&id).unwrap();
    assert_eq!(sessions.list().unwrap(), []);
}

/// The child's work.
pub(crate) fn open_elsewhere(dir: &Path, id: &str) {
    match Sessions::new(dir.to_owned()).open(id) {
        Ok((_, saved)) => child::say(&format!("opened {}", saved.turns)),
        Err(error) => child::say(error.code()),
    }
}

#[test]
fn a_damaged_line_is_named_and_left_alone() {
    let (_dir, sessions) = sessions();
    let id = session(&sessions, &records());
    let path = sessions.dir().join(format!("{id}.jsonl"));
    let lines: Vec<String> = std::fs::read_to_string(&path).unwrap().lines().map(str::to_owned).collect();
    for (number, damage) in
        [(2, "{\"type\":\"mess"), (5, "\u{0}\u{0}"), (9, ""), (7, "[]"), (3, "{\"type\":\"message\"}")]
    {
        let mut broken = lines.clone();
        damage.clone_into(&mut broken[number - 1]);
        let text = broken.join("\n") + "\n";
        std::fs::write(&path, &text).unwrap();
        let error = sessions.open(&id).unwrap_err();
        assert!(matches!(&error, SessionsError::Damaged { line, .. } if *line == number as u64), "{number} {error}");
        assert!(error.to_string().contains(&format!("{id}.jsonl, line {number}: ")), "{error}");
        assert!(sessions.read(&id).is_err());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text, "the file is left as it is");
        let listed = &sessions.list().unwrap()[0];
        assert!(listed.problem.as_ref().unwrap().contains(&format!("line {number}: ")), "{listed:?}");
        assert_eq!((listed.model.as_str(), listed.id.as_str()), ("some-model", id.as_str()));
    }
    // JSON at the end that is not ours was left by no crash.
    std::fs::write(&path, lines.join("\n") + "\n{}").unwrap();
    assert!(matches!(sessions.open(&id), Err(SessionsError::Damaged { line: 22, .. })));
}

#[test]
fn files_of_a_newer_version_are_refused() {
    let (_dir, sessions) = sessions();
    let id = session(&sessions, &records());
    let path = sessions.dir().join(format!("{id}.jsonl"));
    let text = std::fs::read_to_string(&path).unwrap();
    let newer_records = text.clone() + "{\"type\":\"hologram\",\"message\":{}}\n";
    let in_the_middle = text.replacen("\"type\":\"turn\"", "\"type\":\"tour\"", 1);
    let newer_header = text.replacen("\"version\":1", "\"version\":2", 1);
    for newer in [newer_records, in_the_middle, newer_header] {
        std::fs::write(&path, &newer).unwrap();
        let error = sessions.open(&id).unwrap_err();
        assert!(matches!(&error, SessionsError::Newer { .. }), "{error}");
        assert!(error.to_string().contains("newer version"), "{error}");
        assert!(sessions.list().unwrap()[0].problem.as_ref().unwrap().contains("newer version"));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), newer);
    }
}

#[test]
fn only_regular_files_are_sessions() {
    let (dir, sessions) = sessions();
    let id = session(&sessions, &records());
    let real = sessions.dir().join(format!("{id}.jsonl"));
    let elsewhere = dir.path().join("elsewhere");
    std::fs::rename(&real, &elsewhere).unwrap();
    symlink(&elsewhere, &real).unwrap();
    std::fs::create_dir(sessions.dir().join("directory.jsonl")).unwrap();
    let fifo = Command::new("mkfifo").arg(sessions.dir().join("pipe.jsonl")).status().unwrap();
    assert!(fifo.success());
    for id in [id.as_str(), "directory", "pipe"] {
        assert!(matches!(sessions.read(id), Err(SessionsError::NotAFile { .. })), "{id}");
        assert!(matches!(sessions.open(id), Err(SessionsError::NotAFile { .. })), "{id}");
    }
    let listed = sessions.list().unwrap();
    assert_eq!(listed.len(), 3);
    assert!(listed.iter().all(|listed| listed.problem.as_ref().unwrap().contains("no regular file")), "{listed:?}");
    sessions.remove(&id).unwrap();
    assert!(elsewhere.exists(), "the link goes, not what it points to");
}

#[test]
fn a_failed_append_leaves_the_file_unchanged() {
    let (_dir, sessions) = sessions();
    let (mut file, saved) = sessions.create(about()).unwrap();
    let before = std::fs::read(file.path()).unwrap();
    let error = file.append(&said(Message::user("x".repeat(64 << 20)))).unwrap_err();
    assert!(matches!(error, SessionsError::TooLarge { .. }), "{error}");
    assert_eq!(std::fs::read(file.path()).unwrap(), before);
    append(&mut file, &records());
    // The file is removed.
    std::fs::remove_file(file.path()).unwrap();
    assert!(matches!(file.append(&turn(5)), Err(SessionsError::Gone { .. })));
    drop(file);
    assert!(sessions.open(&saved.id).is_err());
}

#[test]
fn a_full_disk_leaves_whole_lines() {
    let (_dir, sessions) = sessions();
    let id = session(&sessions, &[]);
    // Files may have 8 blocks; the signal that says so is not heard, so that writing fails or writes less.
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' XFSZ; ulimit -f 8; exec \"$0\" \"$@\""]).arg(std::env::current_exe().unwrap());
    child::prepare(&mut command, "fill", sessions.dir(), &id);
    let output = command.stderr(Stdio::null()).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("session_unreadable"), "{output:?}");
    let bytes = std::fs::read(sessions.dir().join(format!("{id}.jsonl"))).unwrap();
    assert!(bytes.len() > 1000 && bytes.ends_with(b"\n"), "{}", bytes.len());
    let (_, saved) = sessions.open(&id).unwrap();
    assert!(!saved.repaired.iter().any(|said| said.contains("last line")), "{:?}", saved.repaired);
    assert_valid(&saved.messages);
}

/// The child's work: says things until nothing more can be saved, and tries once more.
pub(crate) fn fill(dir: &Path, id: &str) {
    let (mut file, _) = Sessions::new(dir.to_owned()).open(id).unwrap();
    let error = (0..1000).find_map(|_| {
        file.append(&said(user("some words"))).err().or_else(|| file.append(&said(Message::assistant("fine"))).err())
    });
    let code = error.unwrap().code();
    let _ = file.append(&said(user(&"more ".repeat(2000))));
    child::say(code);
}

proptest! {
    #[test]
    fn any_text_is_kept_to_the_letter(text in any::<String>(), name in any::<String>(), answer in any::<String>()) {
        let dir = scratch();
        let sessions = Sessions::new(dir.path().to_owned());
        let (mut file, saved) = sessions.create(about()).unwrap();
        let loaded = vec![name];
        let said = [Message::user(text), Message::assistant(answer)];
        for message in said.clone() {
            file.append(&SessionRecord::Message { message }).unwrap();
        }
        let turn = SessionRecord::Turn { number: 1, skills: skills(1), loaded: loaded.clone(), interrupted: false };
        file.append(&turn).unwrap();
        drop(file);
        let read = sessions.read(&saved.id).unwrap();
        prop_assert_eq!(read.messages, said);
        prop_assert_eq!(read.loaded, loaded);
    }

    #[test]
    fn bytes_that_are_no_json_are_cut_off(bytes in prop::collection::vec(0u8..b'\t', 1..200)) {
        let dir = scratch();
        let sessions = Sessions::new(dir.path().to_owned());
        let id = session(&sessions, &records());
        let path = dir.path().join(format!("{id}.jsonl"));
        let before = std::fs::read(&path).unwrap();
        std::fs::write(&path, [before.clone(), bytes].concat()).unwrap();
        let (_, saved) = sessions.open(&id).unwrap();
        prop_assert_eq!((saved.messages, saved.turns), (messages(&records()), 4));
        prop_assert_eq!(std::fs::read(&path).unwrap(), before);
    }

    #[test]
    fn any_bytes_are_read_without_trouble(bytes in prop::collection::vec(any::<u8>(), 0..200), after_header in any::<bool>()) {
        let dir = scratch();
        let sessions = Sessions::new(dir.path().to_owned());
        let id = session(&sessions, &[]);
        let path = dir.path().join(format!("{id}.jsonl"));
        let before = if after_header { std::fs::read(&path).unwrap() } else { Vec::new() };
        std::fs::write(&path, [before, bytes].concat()).unwrap();
        sessions.list().unwrap();
        match sessions.open(&id) {
            Ok((_, saved)) => assert_valid(&saved.messages),
            Err(error) => prop_assert!(
                matches!(error, SessionsError::Damaged { .. } | SessionsError::Newer { .. }),
                "{}",
                error
            ),
        }
    }
}
