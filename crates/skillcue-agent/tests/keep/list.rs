//! Lists of sessions.

use std::fs::File;

use skillcue_agent::{About, Message, Sessions};

use crate::at;
use crate::conversation::{about, append, records, said, session, turn, user};

fn used(sessions: &Sessions, id: &str, seconds: u64) {
    let file = File::options().write(true).open(sessions.dir().join(format!("{id}.jsonl"))).unwrap();
    file.set_modified(at(seconds)).unwrap();
}

#[test]
fn the_one_used_last_comes_first() {
    let dir = tempfile::tempdir().unwrap();
    let sessions = Sessions::new(dir.path().join("none"));
    assert_eq!(sessions.list().unwrap(), []);
    assert_eq!(sessions.latest().unwrap(), None);
    let ids: Vec<String> = (0..3).map(|_| session(&sessions, &records())).collect();
    for (id, seconds) in [(&ids[0], 30), (&ids[1], 10), (&ids[2], 20)] {
        used(&sessions, id, seconds);
    }
    std::fs::write(sessions.dir().join("notes.txt"), "not a session").unwrap();
    std::fs::write(sessions.dir().join("UPPER.jsonl"), "not a session").unwrap();
    let listed: Vec<String> = sessions.list().unwrap().into_iter().map(|listed| listed.id).collect();
    assert_eq!(listed, [ids[0].as_str(), &ids[2], &ids[1]]);
    assert_eq!(sessions.latest().unwrap(), Some(ids[0].clone()));
    let empty = session(&sessions, &[]);
    used(&sessions, &empty, 50);
    assert_eq!(sessions.latest().unwrap(), Some(ids[0].clone()), "nothing was said in the other");
    used(&sessions, &ids[1], 40);
    assert_eq!(sessions.latest().unwrap(), Some(ids[1].clone()));
}

#[test]
fn a_list_tells_what_a_session_is_about() {
    let dir = tempfile::tempdir().unwrap();
    let sessions = Sessions::new(dir.path().to_owned());
    let (mut file, saved) = sessions.create(about()).unwrap();
    append(&mut file, &[said(user("Please\n add  these:\n1"))]);
    let listed = &sessions.list().unwrap()[0];
    assert_eq!((listed.first.as_str(), listed.turns), ("Please add these: 1", 0), "while it is in use, too");
    append(&mut file, &[said(Message::assistant("1")), turn(1), said(user("And 2?"))]);
    used(&sessions, &saved.id, 5);
    let listed = &sessions.list().unwrap()[0];
    assert_eq!((listed.first.as_str(), listed.turns), ("Please add these: 1", 1));
    assert_eq!((listed.created, listed.used), (at(0), at(5)));
    assert_eq!((listed.model.as_str(), &listed.cwd), ("some-model", &about().cwd));
    assert_eq!(listed.bytes, file.path().metadata().unwrap().len());
    assert_eq!(listed.problem, None);
    let json = serde_json::to_value(listed).unwrap();
    assert_eq!(json["created"], "2026-11-16T12:00:00.000Z");
}

#[test]
fn listed_sessions_are_one_line_without_controls() {
    let dir = tempfile::tempdir().unwrap();
    let sessions = Sessions::new(dir.path().to_owned());
    let cwd = Some("/home/\u{1b}]0;x\u{7}/a\nb".into());
    let model = "m\u{1b}[2J\u{202e}\nn".to_owned();
    let (mut file, saved) = sessions.create(About { model: model.clone(), cwd, created: at(0) }).unwrap();
    append(&mut file, &[said(Message::user("a\u{1b}[2Jb\u{9b}2J\u{2066}\u{0}\nc"))]);
    drop(file);
    let listed = &sessions.list().unwrap()[0];
    assert_eq!(listed.first, "a\\u{1b}[2Jb\\u{9b}2J\\u{2066}\\u{0} c");
    assert_eq!(listed.model, "m\\u{1b}[2J\\u{202e} n");
    assert_eq!(listed.cwd.as_ref().unwrap().to_str(), Some("/home/\\u{1b}]0;x\\u{7}/a\\nb"));
    assert_eq!(sessions.read(&saved.id).unwrap().about.model, model, "what is continued is as it was");
    // Nor does what is wrong with a file get through.
    let path = sessions.dir().join(format!("{}.jsonl", saved.id));
    let whole = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, whole.replace("\"role\":\"user\"", "\"role\":\"\\u001b[2J\"")).unwrap();
    let problem = sessions.list().unwrap()[0].problem.clone().unwrap();
    assert!(problem.contains("not a record") && !problem.contains('\u{1b}'), "{problem:?}");
}
