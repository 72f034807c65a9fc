//! Conversations that do not fit any more.

use serde_json::json;
use skillcue_agent::{AgentError, AgentOptions, Message};
use skillcue_base::ErrorInfo as _;
use skillcue_scripted::Reply;

use crate::house::{APIS, House, begun, continued, is_summary, small, write_skill};

fn long(word: &str) -> String {
    format!("{word} ").repeat(600)
}

#[tokio::test]
async fn old_turns_are_summarised_and_skills_stay() {
    for api in APIS {
        let house = House::with(api, small(3_000), |received| {
            if is_summary(received) {
                assert!(received.tools().is_empty(), "nothing to call");
                return Reply::text("The user is called Alice.").usage(700, 10);
            }
            Reply::text("Well, yes.")
        });
        let (sessions, mut conversation) = begun(&house);
        let id = conversation.id().to_owned();
        house.say(&mut conversation, "I am Alice, say bonjour").await.unwrap();
        for word in ["apple", "pear", "plum", "cherry"] {
            house.say(&mut conversation, &long(word)).await.unwrap();
        }
        let compacted = house.heard("compacted");
        assert!(!compacted.is_empty(), "it never got too long");
        let first = &compacted[0];
        assert_eq!((&first["summarised"], &first["skills"]), (&json!(true), &json!(["greetings"])));
        assert!(first["after"].as_u64() < first["before"].as_u64(), "{first}");
        let last = house.server.requests().into_iter().rev().find(|request| !is_summary(request)).unwrap();
        let said: String = last.texts().into_iter().map(|(_, text)| text).collect();
        assert!(said.starts_with("## Earlier in this conversation\n\nThe user is called Alice."), "{said}");
        assert!(said.contains("## Skills in Use") && said.contains("Say it <b>warmly</b>"), "{said}");
        assert!(!said.contains("apple"), "it was summarised");
        assert!(said.contains("cherry"));
        // What was written down is what the conversation is.
        let messages = conversation.messages().to_vec();
        drop(conversation);
        assert_eq!(sessions.open(&id).unwrap().1.messages, messages);
    }
}

#[tokio::test]
async fn a_skill_comes_back_with_the_arguments_it_was_loaded_with() {
    for by_model in [true, false] {
        let house = House::with(APIS[0], small(3_000), move |received| {
            if is_summary(received) {
                Reply::text("There was talk of fruit.")
            } else if by_model && received.number == 1 {
                let arguments = json!({"skill_id": "again", "arguments": "the \"dishes\""});
                Reply::calls([("c", "load_skill", arguments)])
            } else {
                Reply::text("Well, yes.")
            }
        });
        write_skill(house.dir.path(), "again", "again", "Do $ARGUMENTS then again $ARGUMENTS;");
        house.agent.skills().refresh();
        let (sessions, mut conversation) = begun(&house);
        if !by_model {
            // As `/load` does.
            let envelope = conversation.load(house.agent.skills(), "again", "the \"dishes\"").unwrap();
            assert!(envelope.contains("Do the \"dishes\" then"), "{envelope}");
        }
        house.say(&mut conversation, "Go on").await.unwrap();
        conversation = continued(&house, &sessions, conversation);
        // Twice: what was shown again is shown once more.
        while house.heard("compacted").len() < 2 {
            house.say(&mut conversation, &long("apple")).await.unwrap();
            conversation = continued(&house, &sessions, conversation);
        }
        let last = house.server.requests().into_iter().rev().find(|request| !is_summary(request)).unwrap();
        let said: String = last.texts().into_iter().map(|(_, text)| text).collect();
        assert!(said.contains("## Skills in Use\n\n### again\n"), "{said}");
        assert!(said.contains("Do the \"dishes\" then again the \"dishes\";"), "{said}");
    }
}

#[tokio::test]
async fn a_saved_conversation_says_how_much_of_it_is_a_summary() {
    let house = House::with(APIS[0], small(3_000), |received| {
        if is_summary(received) { Reply::text("The user likes fruit.") } else { Reply::text("Well, yes.") }
    });
    let (sessions, mut conversation) = begun(&house);
    house.say(&mut conversation, "Hello").await.unwrap();
    assert_eq!(sessions.read(conversation.id()).unwrap().earlier(), None, "nothing is missing yet");
    for word in ["apple", "pear", "plum", "cherry"] {
        house.say(&mut conversation, &long(word)).await.unwrap();
    }
    let saved = sessions.read(conversation.id()).unwrap();
    let (turns, summary) = saved.earlier().unwrap();
    assert_eq!(summary, "The user likes fruit.");
    let left = saved.messages.iter().filter(|message| matches!(message, Message::User { .. })).count();
    assert!(turns > 0, "{saved:?}");
    assert_eq!((saved.turns, turns + left as u64), (5, 5));
}

#[tokio::test]
async fn without_a_summary_old_turns_are_left_out_and_that_is_said() {
    let house = House::with(APIS[0], small(3_000), |received| {
        if is_summary(received) { Reply::status(400) } else { Reply::text("Well, yes.") }
    });
    let mut conversation = house.conversation();
    for word in ["apple", "pear", "plum", "cherry"] {
        house.say(&mut conversation, &long(word)).await.unwrap();
    }
    assert_eq!(house.heard("compacted")[0]["summarised"], false);
    assert_eq!(house.heard("problem")[0]["provider"], "summary");
    let said: String = house.server.requests().last().unwrap().texts().into_iter().map(|(_, text)| text).collect();
    assert!(said.contains("earlier messages are left out"), "{said}");
}

#[tokio::test]
async fn a_model_that_says_it_is_too_long_gets_less() {
    for api in APIS {
        // Its window is smaller than the setting says.
        let house = House::with(api, AgentOptions::default(), |received| {
            if is_summary(received) {
                Reply::text("There was talk of fruit.")
            } else if received.raw.len() > 9_000 {
                Reply::status(400).message("prompt is too long: 5000 tokens > 4096 maximum context length")
            } else {
                Reply::text("Well, yes.")
            }
        });
        let mut conversation = house.conversation();
        for word in ["apple", "pear", "plum", "cherry"] {
            house.say(&mut conversation, &long(word)).await.unwrap();
        }
        assert!(!house.heard("compacted").is_empty());
    }
}

#[tokio::test]
async fn a_message_that_never_fits_is_refused() {
    let house = House::with(APIS[0], small(2_000), |_| Reply::text("Well, yes."));
    let mut conversation = house.conversation();
    let error = house.say(&mut conversation, &long("apple").repeat(5)).await.unwrap_err();
    assert!(matches!(error, AgentError::Full { window: 2_000, .. }), "{error}");
    assert!(house.server.requests().is_empty(), "nothing was sent");
    // It is part of the conversation, and makes room for the next.
    assert_eq!(house.say(&mut conversation, "Shorter").await.unwrap().answer, "Well, yes.");
}

#[tokio::test]
async fn results_of_tools_make_room_within_a_turn() {
    let house = House::with(APIS[1], small(9_000), |received| {
        let path = json!({"skill_id": "greetings", "path": "long.txt"});
        match received.number {
            number @ 1..=6 => Reply::calls([(format!("c{number}"), "read_skill_file", path)]),
            _ => Reply::text("I have read enough."),
        }
    });
    std::fs::write(house.dir.path().join("greetings/long.txt"), long("word").repeat(3)).unwrap();
    let report = house.say(&mut house.conversation(), "Read it again and again").await.unwrap();
    assert_eq!(report.answer, "I have read enough.");
    let results = house.server.requests().last().unwrap().tool_results();
    assert!(results[0].1.starts_with("[Left out to make room:"), "{}", results[0].1);
    assert!(results.last().unwrap().1.contains("word word"), "the newest stays");
}

#[tokio::test]
async fn the_first_message_survives_every_summary() {
    for (window, words) in [(3_000, 40), (6_000, 100), (16_000, 150)] {
        let house = House::with(APIS[0], small(window), |received| match is_summary(received) {
            true if received.last_user().contains("swordfish") => Reply::text("The code word is swordfish."),
            true => Reply::text("Nothing is known."),
            false => Reply::text("Well, I see what you mean. ".repeat(8)),
        });
        let mut conversation = house.conversation();
        house.say(&mut conversation, "The code word is swordfish.").await.unwrap();
        while house.heard("compacted").len() < 4 {
            house.say(&mut conversation, &"pear ".repeat(words)).await.unwrap();
        }
        let requests = house.server.requests();
        let first = requests.iter().find(|request| is_summary(request)).unwrap();
        assert!(first.last_user().contains("swordfish"));
        let last = requests.iter().rev().find(|request| !is_summary(request)).unwrap();
        assert!(last.texts()[0].1.contains("The code word is swordfish."), "window {window}");
    }
}

#[tokio::test]
async fn results_of_load_skill_are_not_left_out() {
    let house = House::with(APIS[1], small(9_000), |received| {
        let path = json!({"skill_id": "greetings", "path": "long.txt"});
        match received.number {
            1 => Reply::calls([("c1", "load_skill", json!({"skill_id": "invoices"}))]),
            number @ 2..=6 => Reply::calls([(format!("c{number}"), "read_skill_file", path)]),
            _ => Reply::text("Done."),
        }
    });
    std::fs::write(house.dir.path().join("greetings/long.txt"), long("word").repeat(3)).unwrap();
    house.say(&mut house.conversation(), "Read it again and again").await.unwrap();
    let results = house.server.requests().last().unwrap().tool_results();
    assert!(results[0].1.contains("Add the tax."), "the session believes that it is in context");
    assert!(results[1].1.starts_with("[Left out to make room:"));
}

#[tokio::test]
async fn skills_listed_in_this_turn_survive_compaction() {
    let mut seen = 0;
    for words in (150..2_100).step_by(30) {
        let house = House::with(APIS[0], small(3_000), |received| {
            if is_summary(received) { Reply::text("Fruit.") } else { Reply::text("Well, yes.") }
        });
        let mut conversation = house.conversation();
        for (word, count) in [("apple", 600), ("pear", words)] {
            let _ = house.say(&mut conversation, &format!("{word} ").repeat(count)).await;
        }
        let before = house.heard("compacted").len();
        let is_answered = house.say(&mut conversation, "What skills do you have?").await.is_ok();
        if is_answered && house.heard("compacted").len() > before {
            let sent = house.server.requests().last().unwrap().last_user();
            assert!(sent.contains("- **invoices**:"), "{sent}");
            seen += 1;
        }
    }
    assert!(seen > 0, "it never came to that");
}

#[tokio::test]
async fn kept_turns_are_given_up_before_a_message_is_refused() {
    let house = House::with(APIS[0], small(2_700), |received| {
        if is_summary(received) { Reply::text("Fruit.") } else { Reply::text("Well, yes.") }
    });
    let mut conversation = house.conversation();
    for word in ["apple", "pear", "plum"] {
        house.say(&mut conversation, &format!("{word} ").repeat(320)).await.unwrap();
    }
    let before = house.heard("compacted").len();
    house.say(&mut conversation, &"cherry ".repeat(1_500)).await.unwrap();
    assert!(house.heard("compacted").len() > before, "it would have fitted anyway");
    let said: String = house.server.requests().last().unwrap().texts().into_iter().map(|(_, text)| text).collect();
    assert!(said.contains("cherry") && !said.contains("plum"), "{said}");
}

#[tokio::test]
async fn a_summary_that_is_too_long_itself_is_asked_for_in_parts() {
    // The conversation goes on with a model that takes in much less than the setting says.
    let house = House::with(APIS[0], AgentOptions::default(), |received| {
        if received.number > 8 && received.raw.len() > 9_000 {
            Reply::status(400).message("the request exceeds the available context size")
        } else if is_summary(received) {
            Reply::text("There was talk of fruit.")
        } else {
            Reply::text("Well, yes.")
        }
    });
    let mut conversation = house.conversation();
    for _ in 0..8 {
        house.say(&mut conversation, &long("apple")).await.unwrap();
    }
    house.say(&mut conversation, "What fruit did I like?").await.unwrap();
    let compacted = house.heard("compacted");
    assert!(!compacted.is_empty() && compacted.iter().all(|event| event["summarised"] == true), "{compacted:?}");
}

#[tokio::test]
async fn a_wrong_count_of_a_server_refuses_no_message_that_fits() {
    for told in [1_000_000, u64::MAX - 9] {
        let house = House::with(APIS[0], AgentOptions { window: 32_000, ..AgentOptions::default() }, move |received| {
            if received.number == 1 { Reply::text("Hi.").usage(told, 3) } else { Reply::text("Yes.").usage(told, 3) }
        });
        let mut conversation = house.conversation();
        house.say(&mut conversation, "Hello").await.unwrap();
        house.say(&mut conversation, &"apple ".repeat(9_000)).await.unwrap();
        house.say(&mut conversation, "And?").await.unwrap();
    }
}

#[tokio::test]
async fn nothing_is_paid_for_in_a_window_that_cannot_hold_the_instructions() {
    let house = House::with(APIS[0], small(200), |_| Reply::text("Never."));
    let mut conversation = house.conversation();
    for _ in 0..3 {
        let error = house.say(&mut conversation, "Hello").await.unwrap_err();
        assert_eq!(error.code(), "context_full");
    }
    assert!(house.server.requests().is_empty());
}
