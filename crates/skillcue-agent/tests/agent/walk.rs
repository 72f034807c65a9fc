//! The walk-through of the seed.

use serde_json::json;
use skillcue_agent::{About, Conversation, Message, Sessions};
use skillcue_scripted::Reply;

use crate::house::{APIS, House};

#[tokio::test]
async fn a_message_that_needs_no_skill_sends_a_breadcrumb() {
    for api in APIS {
        let house = House::new(api, |_| Reply::text("4").usage(20, 1));
        let report = house.say(&mut house.conversation(), "What is 2+2?").await.unwrap();
        assert_eq!(report.answer, "4");
        let sent = house.server.requests();
        assert_eq!(sent.len(), 1);
        assert_eq!(sent[0].last_user(), "[2 skills available]\n\nWhat is 2+2?");
        let all = String::from_utf8(sent[0].raw.clone()).unwrap();
        assert!(!all.contains("warmly") && !all.contains("Add the tax"), "no documentation: {all}");
        assert!(report.tokens.skills_turn <= 10, "{:?}", report.tokens);
    }
}

#[tokio::test]
async fn a_message_that_calls_for_a_skill_sends_its_documentation_and_no_other() {
    for api in APIS {
        let house = House::new(api, |_| Reply::text("Bonjour, Alice!"));
        house.say(&mut house.conversation(), "Say bonjour to Alice").await.unwrap();
        let sent = house.server.requests()[0].last_user();
        assert!(sent.starts_with("## Relevant Skill Documentation\n\n### greetings\n"), "{sent}");
        assert!(sent.contains("Say it <b>warmly</b> & \"well\"."), "{sent}");
        assert!(sent.ends_with("\n\n---\n\nSay bonjour to Alice"), "{sent}");
        assert!(!sent.contains("Add the tax"), "{sent}");
    }
}

#[tokio::test]
async fn the_envelope_of_load_skill_reaches_the_model_byte_for_byte() {
    for api in APIS {
        let house = House::new(api, |received| {
            if received.new_results().is_empty() {
                Reply::calls([("call-1", "load_skill", json!({"skill_id": "greetings", "arguments": "Alice"}))])
                    .saying("I look it up.")
            } else {
                Reply::text("Bonjour, Alice!")
            }
        });
        let mut conversation = house.conversation();
        let report = house.say(&mut conversation, "Be nice").await.unwrap();
        assert_eq!((report.answer.as_str(), report.rounds), ("Bonjour, Alice!", 2));
        let request =
            skillcue::LoadRequest { arguments: "Alice", form: skillcue::load::Form::Body, ..Default::default() };
        let envelope = house.agent.skills().load_envelope("greetings", &request).unwrap().text;
        let sent = house.server.requests();
        assert_eq!(sent[1].tool_results(), [("call-1".to_owned(), envelope)]);
        assert_eq!(conversation.loaded(), ["greetings"]);
        // What the model reads already is not disclosed to it once more.
        house.say(&mut conversation, "And say bonjour to Bob").await.unwrap();
        assert!(!house.server.requests()[2].last_user().contains("warmly"));
    }
}

#[tokio::test]
async fn earlier_messages_are_resent_byte_for_byte() {
    for api in APIS {
        let house = House::new(api, |_| Reply::text("Yes."));
        let mut conversation = house.conversation();
        for message in ["Say bonjour", "Write an invoice", "What is 2+2?"] {
            house.say(&mut conversation, message).await.unwrap();
        }
        let sent = house.server.requests();
        for (before, after) in [(&sent[0], &sent[1]), (&sent[1], &sent[2])] {
            assert_eq!(before.system(), after.system());
            let (before, after) = (before.texts(), after.texts());
            assert_eq!(before, after[..before.len()]);
        }
    }
}

#[tokio::test]
async fn a_session_goes_on_in_another_process() {
    for api in APIS {
        let house = House::new(api, |received| match received.texts().len() {
            1 => Reply::text("Nice to meet you."),
            more => Reply::text(format!("{more} Alice.")),
        });
        let dir = house.dir.path().join("sessions");
        let sessions = Sessions::new(dir);
        let about = About { model: "scripted".to_owned(), cwd: None, created: std::time::SystemTime::now() };
        let (file, saved) = sessions.create(about).unwrap();
        let id = saved.id.clone();
        let mut conversation = Conversation::saved(file, saved);
        conversation.skills_provider(house.agent.skills());
        house.say(&mut conversation, "My name is Alice, say bonjour").await.unwrap();
        let before = conversation.messages().to_vec();
        drop(conversation);

        let (file, saved) = sessions.open(&id).unwrap();
        assert_eq!(saved.repaired, Vec::<String>::new());
        let mut conversation = Conversation::saved(file, saved);
        conversation.skills_provider(house.agent.skills());
        assert_eq!(conversation.messages(), before);
        let report = house.say(&mut conversation, "What's my name? Say bonjour to it").await.unwrap();
        assert_eq!(report.answer, "3 Alice.");
        assert_eq!(conversation.turns(), 2);
        let sent = house.server.requests()[1].last_user();
        assert!(!sent.contains("warmly"), "it is in the conversation already: {sent}");
        assert!(matches!(conversation.messages().last(), Some(Message::Assistant { .. })));
    }
}
