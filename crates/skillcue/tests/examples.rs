//! The examples run, and print what they should.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::error::Error;
use std::path::Path;

macro_rules! examples {
    ($($name:ident = $path:literal),*) => {
        $(
            #[path = $path]
            #[allow(dead_code, reason = "`main` is for `cargo run`")]
            mod $name;
        )*
    };
}

examples!(
    chat_loop = "../examples/chat_loop.rs",
    custom_tool = "../examples/custom_tool.rs",
    minimal = "../examples/minimal.rs"
);

#[cfg(feature = "watch")]
examples!(watch = "../examples/watch.rs");

fn printed(run: impl FnOnce(&mut Vec<u8>) -> Result<(), Box<dyn Error>>) -> String {
    let mut out = Vec::new();
    run(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn minimal_discloses() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../skills");
    let fits = printed(|out| minimal::run(&dir, "Say bonjour to Alice", out));
    assert!(fits.contains("hello-extended: Included, "), "{fits}");
    let none = printed(|out| minimal::run(&dir, "What is 2+2?", out));
    assert!(none.starts_with("[2 skills available]\n"), "{none}");
}

#[test]
fn a_chat_loads_once_and_is_shown_nothing_twice() {
    let chat = printed(chat_loop::run);
    let lines: Vec<&str> = chat.lines().collect();
    let [user, first, load, read, alice, again, second, bob, session] = lines[..] else { panic!("{chat}") };
    assert_eq!((user, again), ("user: Say bonjour to Alice", "user: And greet Bob in Japanese"));
    assert!(load.starts_with("tool: load_skill, ") && read.starts_with("tool: read_skill_file, "), "{chat}");
    assert_eq!((alice, bob), ("model: Bonjour, Alice!", "model: Konnichiwa, Bob!"));
    let tokens = |line: &str| line.split(' ').nth(1).unwrap().parse::<usize>().unwrap();
    assert!(tokens(first) > 10 * tokens(second), "the body was shown the first time only: {chat}");
    assert_eq!(session, "session: 2 turns, 1 skill remembered");
}

#[test]
fn a_custom_tool_is_listed_and_called() {
    let tools = printed(custom_tool::run);
    assert!(tools.contains("count_words: Count words\nreturned: 3\nfailed: <word_count>\n"), "{tools}");
}

#[cfg(feature = "watch")]
#[test]
fn changes_are_followed() {
    let changes = printed(watch::run);
    for change in ["added [\"pdf\"]", "updated [\"pdf\"]", "removed [\"pdf\"]", "0 skills at the end"] {
        assert!(changes.contains(change), "{changes}");
    }
}
