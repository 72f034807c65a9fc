//! Memory: facts that are found, forgotten and refused.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use proptest::prelude::*;
use skillcue_agent::{Fact, FactOrigin, Memory, MemoryError, facts};
use skillcue_base::ErrorInfo as _;

use crate::{at, scratch};

fn memory(facts: &[&str]) -> (tempfile::TempDir, Memory) {
    let dir = scratch();
    let memory = Memory::open(&dir.path().join("data/memory.db")).unwrap();
    for (seconds, fact) in (0..).zip(facts) {
        memory.remember(fact, "one", at(seconds)).unwrap();
    }
    (dir, memory)
}

fn texts(facts: &[Fact]) -> Vec<&str> {
    facts.iter().map(|fact| fact.text.as_str()).collect()
}

const FACTS: &[&str] = &[
    "My name is Alice",
    "I live in Berlin",
    "Ich heiße Alice",
    "We use PostgreSQL",
    "My favourite colour is green",
    "I am allergic to nuts",
    "Wir arbeiten in Köln",
];

#[test]
fn facts_are_found_by_their_words() {
    let (_dir, memory) = memory(FACTS);
    for (query, found) in [
        ("What's my name?", "My name is Alice"),
        ("what is my name", "My name is Alice"),
        ("Do you remember my name?", "My name is Alice"),
        ("Where do I live?", "I live in Berlin"),
        ("where am I living", "I live in Berlin"),
        ("Wo wohne ich?", "I live in Berlin"),
        ("Wie heiße ich?", "Ich heiße Alice"),
        ("Which database do we use? PostgreSQL?", "We use PostgreSQL"),
        ("What are my favourite colours?", "My favourite colour is green"),
        ("Which allergies do I have? (allergic)", "I am allergic to nuts"),
        ("Was ist in Koln?", "Wir arbeiten in Köln"),
    ] {
        let recalled = memory.recall(query, 8).unwrap();
        assert_eq!(texts(&recalled).first(), Some(&found), "{query}: {recalled:?}");
    }
    for query in ["", "What is 2+2?", "Say bonjour to the world", "?", "and the"] {
        assert_eq!(memory.recall(query, 8).unwrap(), [], "{query}");
    }
}

#[test]
fn facts_are_found_by_questions_in_other_words() {
    let (_dir, memory) = memory(&[]);
    let told = "My name is Alice and I work at Initech as a nurse. I live in Berlin. I am 34. I have two kids. I am allergic \
                to nuts. I am married to Bob.";
    for (seconds, fact) in (0..).zip(facts(told)) {
        memory.remember(&fact, "one", at(seconds)).unwrap();
    }
    // So much else that the newest are of no help.
    for number in 0..20 {
        memory.remember(&format!("I am fond of thing number {number}x"), "one", at(100 + number)).unwrap();
    }
    for (query, word) in [
        ("What's my name?", "Alice"),
        ("What do I do for a living?", "nurse"),
        ("What is my profession?", "nurse"),
        ("What is my occupation?", "nurse"),
        ("What is my job?", "nurse"),
        ("Who is my employer?", "Initech"),
        ("Where do I work?", "Initech"),
        ("Which city do I live in?", "Berlin"),
        ("What city am I in?", "Berlin"),
        ("What is my address?", "Berlin"),
        ("How old am I?", "34"),
        ("What is my age?", "34"),
        ("Am I married?", "Bob"),
        ("Who is my husband?", "Bob"),
        ("Who am I married to?", "Bob"),
        ("What am I allergic to?", "nuts"),
        ("Do I have any allergies?", "nuts"),
        ("What can't I eat?", "nuts"),
        ("How many children do I have?", "two kids"),
        ("Do I have a son?", "two kids"),
        ("Wie heiße ich?", "Alice"),
        ("Was mache ich beruflich?", "nurse"),
        ("Was ist mein Beruf?", "nurse"),
        ("In welcher Stadt wohne ich?", "Berlin"),
        ("Wie alt bin ich?", "34"),
        ("Bin ich verheiratet?", "Bob"),
        ("Wer ist mein Mann?", "Bob"),
        ("Wogegen bin ich allergisch?", "nuts"),
        ("Habe ich Allergien?", "nuts"),
        ("Wie viele Kinder habe ich?", "two kids"),
    ] {
        let recalled = memory.recall(query, 8).unwrap();
        assert!(recalled.iter().any(|fact| fact.text.contains(word)), "{query}: {recalled:?}");
    }
    assert_eq!(memory.recall("What is 2+2?", 8).unwrap(), []);
}

#[test]
fn a_question_about_the_user_that_finds_nothing_gets_a_few_of_the_newest() {
    let (_dir, memory) = memory(FACTS);
    for query in ["What is my shoe size?", "Welche Schuhe habe ich?", "Do I own a bicycle"] {
        let recalled = memory.recall(query, 8).unwrap();
        assert_eq!(recalled.len(), 5, "{query}");
        assert_eq!(recalled[0].text, "Wir arbeiten in Köln");
        assert_eq!(memory.recall(query, 2).unwrap().len(), 2);
    }
    for message in ["Should I wear a coat?", "How do I exit vim?", "I wear a coat.", "Fold my coat", "What is 2+2?"] {
        assert_eq!(memory.recall(message, 8).unwrap(), [], "{message}");
    }
}

#[test]
fn people_with_an_unusual_introduction_have_a_name_too() {
    let (_dir, memory) = memory(&["I'm Alice", "I like tea", "We have three servers"]);
    assert_eq!(texts(&memory.recall("What's my name?", 1).unwrap()), ["I'm Alice"]);
}

#[test]
fn a_general_question_gets_the_newest() {
    let (_dir, memory) = memory(FACTS);
    for query in ["who am I?", "what do you know about me", "Was weißt du über mich?"] {
        let recalled = memory.recall(query, 4).unwrap();
        let expected = ["Ich heiße Alice", "My name is Alice", "Wir arbeiten in Köln", "I am allergic to nuts"];
        assert_eq!(texts(&recalled), expected, "{query}: identity first, then the newest");
    }
    assert_eq!(memory.recall("who am I?", 100).unwrap().len(), FACTS.len());
    assert_eq!(memory.recall("who am I?", 0).unwrap(), []);
}

#[test]
fn a_repeated_fact_is_kept_once_with_its_last_time() {
    let (_dir, memory) = memory(&["My name is Alice", "I live in Berlin"]);
    let id = memory.remember("  my NAME is\n alice. ", "two", at(60)).unwrap();
    let facts = memory.list(9).unwrap();
    assert_eq!(texts(&facts), ["My name is Alice", "I live in Berlin"]);
    assert_eq!((facts[0].id, facts[0].session.as_str()), (id, "one"));
    assert_eq!((facts[0].created, facts[0].updated), (at(0), at(60)));
    memory.remember("My name is Alice", "three", at(30)).unwrap();
    assert_eq!(memory.list(1).unwrap()[0].updated, at(60), "what is said late may have been said early");
}

#[test]
fn a_file_without_origins_gets_them() {
    let (_dir, memory) = memory(&["My name is Alice"]);
    let path = memory.path().to_owned();
    drop(memory);
    // As earlier versions made it.
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.execute_batch("ALTER TABLE facts DROP COLUMN origin").unwrap();
    drop(connection);
    let facts = Memory::open(&path).unwrap().list(9).unwrap();
    assert_eq!((facts[0].text.as_str(), facts[0].origin), ("My name is Alice", FactOrigin::User));
}

#[test]
fn it_lasts_and_is_its_owners_alone() {
    let (dir, memory) = memory(FACTS);
    for file in ["memory.db", "memory.db-wal", "memory.db-shm"] {
        let mode = dir.path().join("data").join(file).metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{file}");
    }
    let path = memory.path().to_owned();
    let both = Memory::open(&path).unwrap();
    assert_eq!(both.count().unwrap(), 7);
    drop((memory, both));
    assert_eq!(Memory::open(&path).unwrap().count().unwrap(), 7);
}

/// Returns whether a word is in any file below.
fn stands_in(dir: &Path, word: &str) -> bool {
    let files = std::fs::read_dir(dir).unwrap();
    files.map(|file| std::fs::read(file.unwrap().path()).unwrap()).any(|bytes| {
        let word = word.to_lowercase();
        String::from_utf8_lossy(&bytes).to_lowercase().contains(&word)
    })
}

#[test]
fn forgotten_facts_are_gone_from_the_disk() {
    let (dir, memory) = memory(&["My name is Alice", "I know Zebulon well", "I live in Quixeramobim"]);
    let data = dir.path().join("data");
    let id = memory.recall("Zebulon", 1).unwrap()[0].id;
    assert!(stands_in(&data, "zebulon"));
    assert!(memory.forget(id).unwrap());
    assert!(!memory.forget(id).unwrap());
    assert!(!stands_in(&data, "zebulon"));
    assert!(stands_in(&data, "quixeramobim"));
    assert_eq!(memory.recall("Zebulon", 1).unwrap(), []);
    let next = memory.remember("I like tea", "two", at(99)).unwrap();
    assert!(next > id, "ids are not used twice");
    assert_eq!(memory.clear().unwrap(), 3);
    assert!(!stands_in(&data, "quixeramobim"));
    assert_eq!((memory.count().unwrap(), memory.list(9).unwrap()), (0, Vec::new()));
    assert_eq!(memory.recall("who am I?", 9).unwrap(), []);
    memory.remember("I like tea", "two", at(100)).unwrap();
    assert_eq!(texts(&memory.recall("tea", 9).unwrap()), ["I like tea"]);
    assert!(memory.forget(memory.list(1).unwrap()[0].id).unwrap());
    assert_eq!(memory.recall("tea", 9).unwrap(), [], "it can be forgotten one by one again");
}

#[test]
fn secrets_and_what_is_too_long_are_refused() {
    let (dir, memory) = memory(&[]);
    for secret in [
        "My password is hunter2",
        "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
        "My login is alice / hunter2",
        "hunter2 is my wifi pass",
        "DE89 3704 0044 0532 0130 00",
        "078-05-1120",
    ] {
        assert!(matches!(memory.remember(secret, "one", at(0)), Err(MemoryError::Secret)));
    }
    assert!(!stands_in(&dir.path().join("data"), "hunter2"));
    for (text, length) in [("", 0), (" \n", 0), ("x".repeat(501).as_str(), 501)] {
        let error = memory.remember(text, "one", at(0)).unwrap_err();
        assert!(matches!(error, MemoryError::Length { chars } if chars == length), "{error}");
    }
    assert_eq!(memory.count().unwrap(), 0);
}

#[test]
fn a_damaged_file_is_an_error_and_left_alone() {
    let dir = scratch();
    let path = dir.path().join("memory.db");
    let garbage = "this is no database, and never was one. ".repeat(200);
    std::fs::write(&path, &garbage).unwrap();
    let error = Memory::open(&path).unwrap_err();
    assert_eq!(error.code(), "memory_damaged", "{error}");
    assert!(
        error.to_string().contains("memory.db is damaged") && error.hint().unwrap().contains("move it away"),
        "{error}"
    );
    assert_eq!(std::fs::read_to_string(&path).unwrap(), garbage);
}

#[test]
fn damage_anywhere_is_an_error_and_no_panic() {
    let (dir, memory) = memory(FACTS);
    let path = memory.path().to_owned();
    drop(memory);
    let whole = std::fs::read(&path).unwrap();
    let damaged = dir.path().join("damaged.db");
    // A copy is as good as the file, and damage is seen: otherwise what follows would show nothing.
    std::fs::write(&damaged, &whole).unwrap();
    assert_eq!(texts(&Memory::open(&damaged).unwrap().recall("What's my name?", 1).unwrap()), ["My name is Alice"]);
    let mut wrong = 0;
    for page in 0..whole.len() / 4096 {
        for (from, length) in [(0, 4096), (100, 50), (2000, 2000)] {
            let mut bytes = whole.clone();
            bytes[page * 4096 + from..page * 4096 + from + length].fill(0xff);
            std::fs::write(&damaged, &bytes).unwrap();
            for beside in ["damaged.db-wal", "damaged.db-shm"] {
                let _ = std::fs::remove_file(dir.path().join(beside));
            }
            let memory = match Memory::open(&damaged) {
                Ok(memory) => memory,
                Err(error) => {
                    assert!(error.code().starts_with("memory_"), "{error}");
                    wrong += 1;
                    continue;
                }
            };
            for result in [
                memory.recall("What's my name?", 8).map(|_| ()),
                memory.recall("who am I", 8).map(|_| ()),
                memory.remember("I like tea", "two", at(9)).map(|_| ()),
                memory.forget(1).map(|_| ()),
            ] {
                if let Err(error) = result {
                    assert!(error.code().starts_with("memory_"), "{error}");
                    wrong += 1;
                }
            }
        }
    }
    assert!(wrong > 0, "no damage was seen");
}

#[test]
fn databases_of_other_programs_are_left_alone() {
    let dir = scratch();
    let path = dir.path().join("memory.db");
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.execute_batch("CREATE TABLE theirs (x); INSERT INTO theirs VALUES (1);").unwrap();
    let error = Memory::open(&path).unwrap_err();
    assert!(matches!(&error, MemoryError::Damaged { .. }), "{error}");
    connection.execute_batch("DROP TABLE theirs; PRAGMA user_version = 2;").unwrap();
    let error = Memory::open(&path).unwrap_err();
    assert!(matches!(&error, MemoryError::Newer { version: 2, .. }), "{error}");
    let tables: i64 = connection.query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get(0)).unwrap();
    assert_eq!(tables, 0);
    let link = dir.path().join("link.db");
    symlink(&path, &link).unwrap();
    for other in [link.as_path(), dir.path()] {
        assert!(matches!(Memory::open(other), Err(MemoryError::NotAFile { .. })), "{}", other.display());
    }
    // A link on the way there is none of our business.
    symlink(dir.path(), dir.path().join("way")).unwrap();
    assert!(Memory::open(&dir.path().join("way/new.db")).is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn no_message_is_more_than_words(message in any::<String>(), marks in "[\"'*^():{}+a-zA-Z -]{0,40}") {
        let (_dir, memory) = memory(&["My name is Alice", "I live in Berlin"]);
        for query in [&message, &marks, &format!("name {marks}"), &format!("\"{message}\" OR name NEAR(*)")] {
            memory.recall(query, 8).unwrap();
        }
        let found = memory.recall(&format!("{marks} berlin"), 8).unwrap();
        prop_assert!(texts(&found).contains(&"I live in Berlin"), "{:?}", found);
    }

    #[test]
    fn any_fact_can_be_remembered_or_is_refused(text in any::<String>()) {
        let (_dir, memory) = memory(&[]);
        match memory.remember(&text, &text, at(0)) {
            Ok(id) => {
                let facts = memory.list(9).unwrap();
                prop_assert_eq!(facts.len(), 1);
                prop_assert_eq!(facts[0].id, id);
                prop_assert!(!facts[0].text.contains(['\n', '\0', '\u{2028}']), "{:?}", facts);
                prop_assert!(memory.forget(id).unwrap());
            }
            Err(error) => prop_assert!(matches!(error, MemoryError::Secret | MemoryError::Length { .. }), "{}", error),
        }
    }
}
