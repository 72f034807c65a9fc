//! Conversations to save, and whether one is valid.

use std::path::PathBuf;

use skillcue::Session;
use skillcue_agent::{
    About, Message, Piece, PieceOrigin, RequestPart, SessionFile, SessionRecord, Sessions, ToolCall, ToolResult,
};

use crate::at;

pub(crate) fn about() -> About {
    About { model: "some-model".to_owned(), cwd: Some(PathBuf::from("/home/alice/ä b")), created: at(0) }
}

pub(crate) fn user(text: &str) -> Message {
    let piece = Piece {
        provider: PieceOrigin::Skills,
        part: RequestPart::SkillsTurn,
        text: "3 skills\n\n".to_owned(),
        skills: Vec::new(),
    };
    Message::User { context: vec![piece], text: text.to_owned() }
}

pub(crate) fn calls(ids: &[&str]) -> Message {
    let call = |id: &&str| ToolCall { id: (*id).to_owned(), name: "add".to_owned(), arguments: "{\"a\":1}".to_owned() };
    Message::Assistant { text: String::new(), calls: ids.iter().map(call).collect() }
}

pub(crate) fn results(ids: &[&str]) -> Message {
    let result = |id: &&str| ToolResult {
        id: (*id).to_owned(),
        name: "add".to_owned(),
        text: "line\none \u{2028} \"ü\" \0".to_owned(),
        is_error: false,
    };
    Message::results(ids.iter().map(result).collect())
}

pub(crate) fn said(message: Message) -> SessionRecord {
    SessionRecord::Message { message }
}

/// Returns the skills that a session has been shown by that turn.
pub(crate) fn skills(turn: u64) -> Session {
    let mut skills = Session::default();
    skills.record_load(&format!("skill-{turn}"), "body");
    skills
}

pub(crate) fn turn(number: u64) -> SessionRecord {
    let loaded = (1..=number).map(|number| format!("skill-{number}")).collect();
    SessionRecord::Turn { number, skills: skills(number), loaded, interrupted: false }
}

/// Several turns, with calls and with compaction between turns and within one.
pub(crate) fn records() -> Vec<SessionRecord> {
    let compacted = |messages| SessionRecord::Compacted { messages, skills: skills(9), summary: "s".to_owned() };
    vec![
        said(user("What is 2+2?")),
        said(Message::assistant("4")),
        turn(1),
        said(user("Add ü")),
        said(calls(&["a", "b"])),
        said(results(&["a", "b"])),
        said(calls(&["c"])),
        said(results(&["c"])),
        said(Message::assistant("Done.\n")),
        turn(2),
        compacted(vec![user("Before: sums."), Message::assistant("I see.")]),
        said(user("More")),
        said(calls(&["d"])),
        said(results(&["d"])),
        compacted(vec![user("Before: more sums."), calls(&["d"]), results(&["d"])]),
        said(Message::assistant("7")),
        turn(3),
        said(user("And?")),
        said(Message::assistant("8")),
        turn(4),
    ]
}

/// A session with these records, and its id.
pub(crate) fn session(sessions: &Sessions, records: &[SessionRecord]) -> String {
    let (mut file, saved) = sessions.create(about()).unwrap();
    append(&mut file, records);
    saved.id
}

pub(crate) fn append(file: &mut SessionFile, records: &[SessionRecord]) {
    for record in records {
        file.append(record).unwrap();
    }
}

/// The conversation that records make.
pub(crate) fn messages(records: &[SessionRecord]) -> Vec<Message> {
    let mut messages = Vec::new();
    for record in records {
        match record {
            SessionRecord::Message { message } => messages.push(message.clone()),
            SessionRecord::Compacted { messages: all, .. } => messages.clone_from(all),
            _ => {}
        }
    }
    messages
}

/// Panics unless a model could be told this: user and assistant take turns, calls have their results and nothing else
/// has, and it ends with an answer.
pub(crate) fn assert_valid(messages: &[Message]) {
    enum Next {
        User,
        Assistant,
        Results(Vec<String>),
    }
    let mut next = Next::User;
    for (at, message) in messages.iter().enumerate() {
        next = match (next, message) {
            (Next::User, Message::User { .. }) => Next::Assistant,
            (Next::Assistant, Message::Assistant { calls, .. }) if calls.is_empty() => Next::User,
            (Next::Assistant, Message::Assistant { calls, .. }) => {
                Next::Results(calls.iter().map(|call| call.id.clone()).collect())
            }
            (Next::Results(ids), Message::Tools { results, .. }) => {
                assert_eq!(ids, results.iter().map(|result| result.id.clone()).collect::<Vec<_>>());
                Next::Assistant
            }
            _ => panic!("message {at} is out of place in {messages:#?}"),
        };
    }
    assert!(matches!(next, Next::User), "there is no answer at the end of {messages:#?}");
}
