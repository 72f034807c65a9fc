//! A crash at any moment loses at most the turn in progress.

use std::io::{BufRead, BufReader};
use std::path::Path;

use skillcue_agent::{Message, SavedSession, SessionRecord, Sessions, ToolCall, ToolResult};

use crate::conversation::{append, assert_valid, messages, records, said, session, turn, user};
use crate::{child, scratch};

/// The records of which all is there, if a file has the first `length` bytes.
fn whole(bytes: &[u8], length: usize, records: &[SessionRecord]) -> Option<Vec<SessionRecord>> {
    // A line that lacks nothing but its end is whole.
    let ends: Vec<usize> = (0..bytes.len()).filter(|&at| bytes[at] == b'\n').collect();
    let lines = ends.iter().filter(|&&end| end <= length).count();
    lines.checked_sub(1).map(|records_there| records[..records_there].to_vec())
}

/// Checks that a session has what must be there, and can go on.
fn check(sessions: &Sessions, id: &str, kept: &[SessionRecord], length: usize) -> SavedSession {
    let listed = sessions.list().unwrap();
    assert_eq!((listed.len(), listed[0].problem.as_deref()), (1, None), "{length}");
    let read = sessions.read(id).unwrap();
    let (mut file, saved) = sessions.open(id).unwrap();
    assert_eq!(read.messages, saved.messages, "{length}: reading and opening agree");
    assert_valid(&saved.messages);
    assert!(saved.messages.starts_with(&messages(kept)), "{length}: {:#?}", saved.messages);
    let turns = kept.iter().filter(|record| matches!(record, SessionRecord::Turn { .. })).count() as u64;
    let rest = kept.iter().rev().take_while(|record| !matches!(record, SessionRecord::Turn { .. }));
    let open = rest.into_iter().any(|record| matches!(record, SessionRecord::Message { .. }));
    let mended = saved.messages.len() > messages(kept).len();
    assert_eq!(saved.turns, turns + u64::from(open), "{length}");
    assert!(open || !mended, "{length}");
    append(&mut file, &[said(user("again")), said(Message::assistant("yes")), turn(saved.turns + 1)]);
    drop(file);
    let (_, after) = sessions.open(id).unwrap();
    assert_eq!(after.repaired, [""; 0], "{length}");
    assert_eq!(after.turns, saved.turns + 1, "{length}");
    let expected = [saved.messages.as_slice(), &[user("again"), Message::assistant("yes")]].concat();
    assert_eq!(after.messages, expected, "{length}: the file says what was returned");
    saved
}

#[test]
fn a_file_cut_at_any_byte_can_be_continued() {
    let dir = scratch();
    let records = records();
    let sessions = Sessions::new(dir.path().join("whole"));
    let id = session(&sessions, &records);
    let name = format!("{id}.jsonl");
    let bytes = std::fs::read(sessions.dir().join(&name)).unwrap();
    let cut = Sessions::new(dir.path().join("cut"));
    std::fs::create_dir(cut.dir()).unwrap();
    for length in 0..=bytes.len() {
        std::fs::write(cut.dir().join(&name), &bytes[..length]).unwrap();
        let kept = whole(&bytes, length, &records);
        let saved = check(&cut, &id, kept.as_deref().unwrap_or_default(), length);
        let ended = length == 0 || bytes[length - 1] == b'\n';
        assert_eq!(
            ended,
            !saved.repaired.iter().any(|said| said.contains("last line")),
            "{length} {:?}",
            saved.repaired
        );
        assert_eq!(kept.is_none(), saved.about.model.is_empty(), "{length}");
    }
}

#[test]
fn zeros_instead_of_what_was_never_written_are_cut_off() {
    let dir = scratch();
    let records = records();
    let sessions = Sessions::new(dir.path().join("whole"));
    let id = session(&sessions, &records);
    let name = format!("{id}.jsonl");
    let bytes = std::fs::read(sessions.dir().join(&name)).unwrap();
    let cut = Sessions::new(dir.path().join("cut"));
    std::fs::create_dir(cut.dir()).unwrap();
    for length in (0..bytes.len() - 1).step_by(97) {
        let mut zeros = bytes.clone();
        zeros[length..].fill(0);
        std::fs::write(cut.dir().join(&name), &zeros).unwrap();
        // Zeros behind a whole line make it no line, unless its end is there.
        let ends = bytes[..length].split(|byte| *byte == b'\n').count() - 1;
        let kept = ends.checked_sub(1).map(|there| &records[..there]);
        check(&cut, &id, kept.unwrap_or_default(), length);
    }
}

#[test]
fn a_turn_in_progress_keeps_what_was_said_and_is_mended_in_the_file() {
    let dir = scratch();
    let sessions = Sessions::new(dir.path().to_owned());
    let records = records();
    // Up to the call of two tools.
    let id = session(&sessions, &records[..5]);
    let (file, saved) = sessions.open(&id).unwrap();
    assert_valid(&saved.messages);
    let Message::Tools { results, .. } = &saved.messages[4] else { panic!("{:?}", saved.messages) };
    assert!(results.iter().all(|result| result.is_error && result.text.starts_with("<error code=\"interrupted\">")));
    assert_eq!(saved.messages[5], Message::assistant("[interrupted]"));
    assert_eq!((saved.turns, saved.loaded.as_slice()), (2, &["skill-1".to_owned()][..]));
    assert!(saved.repaired[0].contains("turn 2"), "{:?}", saved.repaired);
    drop(file);
    let again = sessions.read(&id).unwrap();
    assert_eq!(again.messages, saved.messages);
    assert_eq!(again.repaired, [""; 0]);
}

#[test]
fn skills_that_the_model_has_read_are_loaded_though_the_turn_did_not_end() {
    let dir = scratch();
    let sessions = Sessions::new(dir.path().to_owned());
    let load = |id: &str, name: &str, arguments: &str| ToolCall {
        id: id.to_owned(),
        name: name.to_owned(),
        arguments: arguments.to_owned(),
    };
    let result = |id: &str, is_error| ToolResult {
        id: id.to_owned(),
        name: "load_skill".to_owned(),
        text: "what it says".to_owned(),
        is_error,
    };
    let calls = vec![
        load("a", "load_skill", r#"{"skill_id": "invoices"}"#),
        load("b", "load_skill", r#"{"skill_id": "secret"}"#),
        load("c", "load_skill", r#"{"skill_id": "skill-1"}"#),
        load("d", "load_skill", "{\"skill_id\": 7}"),
        load("e", "read_skill_file", r#"{"skill_id": "letters"}"#),
        load("f", "load_skill", r#"{"skill_id": "late", "arguments": "now"}"#),
    ];
    let results = [("a", false), ("b", true), ("c", false), ("d", false), ("e", false), ("f", false)];
    let results = results.iter().map(|(id, is_error)| result(id, *is_error)).collect();
    let called = said(Message::Assistant { text: String::new(), calls });
    let before = [said(user("one")), said(Message::assistant("1")), turn(1), said(user("two"))];
    let got = said(Message::results(results));
    let compacted = SessionRecord::Compacted {
        messages: vec![user("Before: much.")],
        skills: skillcue::Session::default(),
        summary: "s".to_owned(),
    };
    let loaded = ["skill-1", "invoices", "late"];
    for (more, expected) in [
        (vec![called.clone()], &loaded[..1]),
        (vec![called.clone(), got.clone()], &loaded[..]),
        (vec![called.clone(), got.clone(), compacted], &loaded[..]),
        // Once a turn has ended, what it says holds.
        (vec![called, got, said(Message::assistant("2")), turn(1)], &loaded[..1]),
    ] {
        let id = session(&sessions, &[&before[..], &more[..]].concat());
        assert_eq!(sessions.read(&id).unwrap().loaded, expected);
        let (file, saved) = sessions.open(&id).unwrap();
        assert_eq!(saved.loaded, expected);
        assert!(!saved.repaired.iter().any(|said| said.contains("invoices")), "{:?}", saved.repaired);
        drop(file);
        let (_, again) = sessions.open(&id).unwrap();
        assert_eq!((again.loaded, again.repaired), (saved.loaded, Vec::new()), "the file says so, too");
    }
}

#[test]
fn turns_that_ended_without_an_answer_are_mended_wherever_they_are() {
    let dir = scratch();
    let sessions = Sessions::new(dir.path().to_owned());
    let answer = || Message::assistant("[interrupted]");
    let at_the_end = [said(user("a")), turn(1)];
    let in_the_middle = [said(user("a")), turn(1), said(user("b")), said(Message::assistant("c")), turn(2)];
    let after = vec![user("a"), answer(), user("b"), Message::assistant("c")];
    for (records, turns, expected) in [(&at_the_end[..], 1, vec![user("a"), answer()]), (&in_the_middle[..], 2, after)]
    {
        let id = session(&sessions, records);
        let (file, saved) = sessions.open(&id).unwrap();
        assert_eq!((&saved.messages, saved.turns), (&expected, turns));
        assert!(!saved.repaired.is_empty());
        drop(file);
        let (_, again) = sessions.open(&id).unwrap();
        assert_eq!((&again.messages, again.turns, again.repaired.len()), (&expected, turns, 0));
        assert_eq!((again.skills, again.loaded), (saved.skills, saved.loaded));
    }
}

#[test]
fn killed_processes_lose_at_most_the_turn_in_progress() {
    let dir = scratch();
    let sessions = Sessions::new(dir.path().to_owned());
    let id = session(&sessions, &[]);
    let mut least = 0;
    for round in 1..=8 {
        let mut child = child::start("turns", dir.path(), &id);
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        for _ in 0..round * 3 {
            let line = lines.next().unwrap().unwrap();
            least = line.rsplit(' ').next().unwrap().parse().unwrap_or(least);
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let saved = sessions.read(&id).unwrap();
        assert!(saved.turns >= least, "{} {least}", saved.turns);
        assert_valid(&saved.messages);
        let (_, opened) = sessions.open(&id).unwrap();
        assert_eq!(opened.messages, saved.messages);
        assert_each_turn_is_whole(&opened);
    }
    assert!(least > 0);
}

/// Each turn has what the child says in it, or was interrupted.
fn assert_each_turn_is_whole(saved: &SavedSession) {
    let users = saved.messages.iter().filter(|message| matches!(message, Message::User { .. })).count();
    assert_eq!(users as u64, saved.turns, "{:#?}", saved.repaired);
}

/// The child's work: turns without end, and says when each is saved.
pub(crate) fn turns(dir: &Path, id: &str) {
    let (mut file, saved) = Sessions::new(dir.to_owned()).open(id).unwrap();
    for number in saved.turns + 1.. {
        use crate::conversation::{calls, results};
        let asked = said(user(&"long ".repeat(2000)));
        let answer = said(Message::assistant("done"));
        append(&mut file, &[asked, said(calls(&["x"])), said(results(&["x"])), answer, turn(number)]);
        child::say(&format!("saved {number}"));
    }
}
