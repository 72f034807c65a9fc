//! Threads and processes at once: nothing is lost, and nothing is mixed.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::Barrier;
use std::time::Duration;

use skillcue_agent::{Memory, Message, Sessions, SessionsError, TraceLine, Tracer, read_trace};

use crate::conversation::{append, assert_valid, calls, results, said, session, turn, user};
use crate::{at, child};

const PROCESSES: usize = 3;
const THREADS: usize = 3;
const ROUNDS: u64 = 12;

#[test]
fn many_writers_lose_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let sessions = Sessions::new(dir.path().join("sessions"));
    let shared = session(&sessions, &[]);
    let start = |number| {
        let mut command = child::command("write", dir.path(), &format!("{number} {shared}"));
        command.stdout(Stdio::null()).spawn().unwrap()
    };
    let mut children: Vec<Child> = (0..PROCESSES).map(start).collect();
    for child in &mut children {
        assert!(child.wait().unwrap().success());
    }
    let writers = PROCESSES * THREADS;
    let names: BTreeSet<String> =
        (0..PROCESSES).flat_map(|process| (0..THREADS).map(move |thread| format!("{process}-{thread}"))).collect();

    // A session for each, and one that all have continued in turn.
    let listed = sessions.list().unwrap();
    assert_eq!(listed.len(), writers + 1);
    let mut own = BTreeSet::new();
    for listed in &listed {
        let saved = sessions.read(&listed.id).unwrap();
        assert_eq!((listed.problem.as_deref(), saved.repaired.as_slice()), (None, &[][..]));
        assert_valid(&saved.messages);
        assert_eq!(saved.turns, if listed.id == shared { writers as u64 * ROUNDS } else { ROUNDS });
        let users: Vec<&str> = saved.messages.iter().filter_map(user_text).collect();
        assert_eq!(users.len() as u64, saved.turns);
        if listed.id != shared {
            assert!(users.iter().all(|text| *text == users[0]), "{users:?}");
            own.insert(users[0].to_owned());
        }
    }
    assert_eq!(own, names);

    // One trace for all.
    let traced = read_trace(&Tracer::new(dir.path().join("traces"), false).path("shared")).unwrap();
    assert_eq!(traced.problems, []);
    let all = writers * usize::try_from(ROUNDS).unwrap();
    let lines: BTreeSet<(String, u64)> =
        traced.lines.iter().map(|line| (line.model[..3].to_owned(), line.turn)).collect();
    assert_eq!((traced.lines.len(), lines.len()), (all, all));

    // One memory for all.
    let memory = Memory::open(&dir.path().join("memory.db")).unwrap();
    assert_eq!(memory.count().unwrap(), writers as u64 * ROUNDS + 1);
    for name in &names {
        let found = memory.recall(&format!("writer{}", name.replace('-', "x")), 100).unwrap();
        assert_eq!(found.len() as u64, ROUNDS, "{name}");
    }
}

#[test]
fn a_line_of_a_trace_is_never_mixed_with_another() {
    const WRITERS: u64 = 8;
    const LINES: u64 = 150;
    let dir = tempfile::tempdir().unwrap();
    let tracer = Tracer::new(dir.path().to_owned(), false);
    let begin = Barrier::new(8);
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (tracer, begin) = (&tracer, &begin);
            scope.spawn(move || {
                let model = format!("{writer}").repeat(20_000);
                begin.wait();
                for turn in 0..LINES {
                    let line = TraceLine { turn, model: model.clone(), ..TraceLine::new("s", at(writer)) };
                    tracer.write(&line).unwrap();
                }
            });
        }
    });
    let traced = read_trace(&tracer.path("s")).unwrap();
    assert_eq!(traced.problems, []);
    for writer in 0..WRITERS {
        let theirs: Vec<u64> =
            traced.lines.iter().filter(|line| line.time == at(writer)).map(|line| line.turn).collect();
        assert_eq!(theirs, (0..LINES).collect::<Vec<_>>(), "each in its order");
    }
}

#[test]
fn a_memory_that_many_begin_at_once_is_one() {
    let dir = crate::scratch();
    for round in 0..100 {
        let path = dir.path().join(format!("{round}.db"));
        let begin = Barrier::new(8);
        std::thread::scope(|scope| {
            for writer in 0..8 {
                let (path, begin) = (&path, &begin);
                scope.spawn(move || {
                    begin.wait();
                    let memory = Memory::open(path).unwrap();
                    memory.remember(&format!("I am writer {writer}"), "s", at(writer)).unwrap();
                });
            }
        });
        assert_eq!(Memory::open(&path).unwrap().count().unwrap(), 8);
    }
}

fn user_text(message: &Message) -> Option<&str> {
    match message {
        Message::User { text, .. } => Some(text),
        _ => None,
    }
}

/// The work of each process.
pub(crate) fn write(dir: &Path, word: &str) {
    let (number, shared) = word.split_once(' ').unwrap();
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            scope.spawn(move || write_as(dir, &format!("{number}-{thread}"), shared));
        }
    });
}

fn write_as(dir: &Path, name: &str, shared: &str) {
    let sessions = Sessions::new(dir.join("sessions"));
    let tracer = Tracer::new(dir.join("traces"), false);
    let memory = Memory::open(&dir.join("memory.db")).unwrap();
    let (mut file, _) = sessions.create(crate::conversation::about()).unwrap();
    for round in 1..=ROUNDS {
        let say = |number| {
            [said(user(name)), said(calls(&["1"])), said(results(&["1"])), said(Message::assistant("ok")), turn(number)]
        };
        append(&mut file, &say(round));
        let (mut common, saved) = loop {
            match sessions.open(shared) {
                Err(SessionsError::Busy { .. }) => std::thread::sleep(Duration::from_millis(1)),
                opened => break opened.unwrap(),
            }
        };
        append(&mut common, &say(saved.turns + 1));
        drop(common);
        // Long enough that a write which is not one would show.
        let model = format!("{name} {}", "x".repeat(9000));
        tracer.write(&TraceLine { turn: round, model, ..TraceLine::new("shared", at(round)) }).unwrap();
        memory.remember(&format!("I am writer{} in round {round}", name.replace('-', "x")), name, at(round)).unwrap();
        memory.remember("We all like tea", name, at(round)).unwrap();
        assert!(!memory.recall("Who likes tea?", 8).unwrap().is_empty());
    }
}
