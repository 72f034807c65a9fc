//! Parts of a body that is over its limit: the sections that fit the message.

use std::sync::Arc;

use proptest::prelude::*;
use skillcue_catalog::Skill;
use skillcue_disclose::{
    BodySource, Budget, Bytes4, Counter, Decision, DiscloseConfig, Disclosure, FileHead, Session, Situation,
    TokenCounter, Tokens,
};
use skillcue_select::{Intent, Mode};

use crate::house::{Files, House, hit, hits_of, reason};

/// The documentation of one skill with that body, for a message, within a limit.
fn show(body: &str, message: &str, limit: usize, session: Option<&Session>) -> Disclosure {
    show_in(&house(body), message, limit, session)
}

fn house(body: &str) -> House {
    House::with([("pdf", "description: Reads PDF files.", body)])
}

fn show_in(house: &House, message: &str, limit: usize, session: Option<&Session>) -> Disclosure {
    let hits = vec![hit(house, "pdf", vec![reason("word")])];
    let selection = hits_of(Intent::None, hits);
    let config = DiscloseConfig {
        counter: Counter::Bytes4,
        max_per_skill_tokens: Some(Tokens(limit)),
        max_total_tokens: None,
        ..DiscloseConfig::default()
    };
    let mode = Mode::Keyword;
    let situation = Situation { message, session, mode, ..Situation::new(house.census(), &selection, &Files) };
    house.discloser(config).disclose(&situation)
}

fn section(title: &str, words: &str, lines: usize) -> String {
    format!("{title}\n\n{}\n", format!("{words} and so on.\n").repeat(lines))
}

fn body() -> String {
    [
        "Reads and writes files.\n\n".to_owned(),
        section("## Merge", "Merge several files into one", 20),
        section("## Deploy", "Push the branch, wait for health", 5),
        section("### Roll back", "Restore the last version", 8),
        "```sh\nrestore --last\n```\n\n".to_owned(),
        section("### Canary", "Send a tenth of the traffic", 20),
        section("## Limits", "At most one gigabyte", 20),
    ]
    .concat()
}

#[test]
fn the_sections_that_fit_are_shown_below_their_headings() {
    let shown = show(&body(), "how do I roll back to the last version?", 220, None);
    let skill = &shown.skills[0];
    assert_eq!(skill.decision, Decision::Shortened);
    assert!(skill.tokens <= Tokens(220), "{}", skill.tokens);
    let text = &shown.turn;
    assert!(text.contains("Reads and writes files."), "the lead always comes: {text}");
    assert!(text.contains("## Deploy\n\n### Roll back\n\nRestore the last version"), "{text}");
    assert!(text.contains("```sh\nrestore --last\n```"), "{text}");
    assert!(!text.contains("Merge several") && !text.contains("gigabyte"), "{text}");
    for gap in ["[Not shown: Merge (", "[Not shown: Canary (", "Limits ("] {
        assert!(text.contains(gap), "{gap}: {text}");
    }
    assert!(
        text.ends_with("parts shown. load_skill \"pdf\" gives the rest, with \"section\" one part of it.]"),
        "{text}"
    );
}

/// A table of a hundred rows below the title is the lead, and larger than the limit by itself.
#[test]
fn a_lead_beyond_the_limit_leaves_room_for_what_fits() {
    let rows: Vec<String> = (0..100).map(|row| format!("| E{row} | the meaning of code {row} |\n")).collect();
    let rows = rows.concat();
    let table = format!("| code | meaning |\n| --- | --- |\n{rows}\n");
    let only = format!("# Appliance\n\n{table}## Rollback\n\nRun zfsrollback with the last snapshot.\n");
    for body in [only.clone(), format!("{only}\n{}", section("## Limits", "At most one gigabyte", 20))] {
        let shown = show(&body, "rollback the last snapshot", 220, None);
        let text = &shown.turn;
        assert!(text.contains("## Rollback\n\nRun zfsrollback"), "{text}");
        assert!(!text.contains("| E0 |") && text.contains("[Not shown: Appliance ("), "not torn, but named: {text}");
        assert!(shown.skills[0].tokens <= Tokens(220));
    }
}

#[test]
fn an_essential_section_beyond_the_limit_does_not_hide_the_others() {
    let safety = format!("## Safety (essential)\n\nNever delete.\n\n{}", "Ask before each step.\n\n".repeat(100));
    let body = format!("Reads files.\n\n{safety}## Rollback\n\nRun zfsrollback with the last snapshot.\n");
    let shown = show(&body, "rollback the last snapshot", 220, None);
    let text = &shown.turn;
    assert!(text.contains("## Rollback\n\nRun zfsrollback"), "{text}");
    assert!(text.contains("Never delete.") && text.contains("more of Safety"), "its beginning comes: {text}");
}

/// Most bodies begin with a title and a few words: these are the lead.
#[test]
fn the_text_below_the_title_is_the_lead() {
    let body = format!("# Files\n\n{}", body());
    let shown = show(&body, "at most one gigabyte", 260, None);
    assert!(shown.turn.contains("# Files\n\nReads and writes files.\n\n[Not shown: Merge ("), "{}", shown.turn);
    assert!(shown.turn.contains("), Deploy (") && shown.turn.contains("At most one gigabyte"), "{}", shown.turn);
    assert!(!shown.turn.contains("Roll back"), "it is left out with all of Deploy: {}", shown.turn);
}

#[test]
fn a_body_within_its_limit_is_not_touched() {
    let body = body();
    let shown = show(&body, "roll back", 10_000, None);
    assert_eq!(shown.skills[0].decision, Decision::Included);
    assert!(shown.turn.contains(body.trim_end()));
}

#[test]
fn essential_sections_always_come() {
    for mark in ["## Safety (essential)\n\nNever delete.\n\n", "## Safety\n\n<!-- essential -->\nNever delete.\n\n"] {
        let shown = show(&format!("{}{mark}", body()), "merge several files", 320, None);
        assert!(shown.turn.contains("Never delete.") && shown.turn.contains("Merge several"), "{}", shown.turn);
    }
}

/// Bodies with files beside them.
struct WithFiles;

impl BodySource for WithFiles {
    fn body(&self, skill: &Skill) -> Result<Arc<str>, String> {
        Files.body(skill)
    }

    fn file_head(&self, _: &Skill, path: &str) -> Option<FileHead> {
        let text = match path {
            "references/forms.md" => "# Forms\n\nFields, check boxes, signatures.",
            "references/ocr.md" => "# Scans\n\nText in pictures.",
            _ => return None,
        };
        Some(FileHead { text: text.to_owned(), bytes: 4_000 })
    }
}

#[test]
fn files_that_fit_are_named_below_parts() {
    let links = "See [forms](references/forms.md), `references/ocr.md` and references/gone.md.\n\n";
    let house = house(&format!("{links}{}", body()));
    let shown = |message: &str, limit: usize| {
        let selection = hits_of(Intent::None, vec![hit(&house, "pdf", vec![reason("word")])]);
        let config = DiscloseConfig {
            counter: Counter::Bytes4,
            max_per_skill_tokens: Some(Tokens(limit)),
            ..DiscloseConfig::default()
        };
        let situation =
            Situation { message, mode: Mode::Keyword, ..Situation::new(house.census(), &selection, &WithFiles) };
        house.discloser(config).disclose(&situation)
    };
    let line = "[Files that fit: references/forms.md (4000 bytes, about 1000 tokens). read_skill_file gives one.]";
    for limit in [150, 200, 300] {
        let part = shown("merge several signatures and check boxes", limit);
        assert!(part.skills[0].tokens <= Tokens(limit), "{limit}: {}", part.skills[0].tokens);
        assert!(part.turn.ends_with(line), "{limit}: {}", part.turn);
    }
    assert!(!shown("merge several", 300).turn.contains("Files that fit"));
    assert!(!shown("signatures", 10_000).turn.contains("Files that fit"), "the whole body has the links");
}

#[test]
fn parts_in_context_are_not_shown_again() {
    let mut session = Session::default();
    let house = house(&body());
    let first = show_in(&house, "roll back to the last version", 220, None);
    session.apply(&first);
    let restored = Session::from_json(&session.to_json()).unwrap();
    assert_eq!(restored, session);

    let again = show_in(&house, "roll back to the last version", 220, Some(&session));
    assert!(again.turn.ends_with("(Already in this conversation, unchanged.)"), "{}", again.turn);
    let other = show_in(&house, "is there a limit, one gigabyte?", 220, Some(&session));
    assert!(
        other.turn.contains("At most one gigabyte") && other.turn.contains("more was shown before]"),
        "{}",
        other.turn
    );
    assert!(
        !other.turn.contains("Restore the last version") && !other.turn.contains("Reads and writes"),
        "{}",
        other.turn
    );
    session.apply(&other);
    let third = show_in(&house, "roll back, one gigabyte", 220, Some(&session));
    assert!(third.turn.ends_with("(Already in this conversation, unchanged.)"), "both are known: {}", third.turn);
    let back = session.rehydrate(
        Budget { total: Some(Tokens(500)), per_skill: Some(Tokens(420)) },
        &house.catalog,
        &Files,
        &Bytes4,
    );
    assert!(back.text.contains("Restore the last version") && back.text.contains("one gigabyte"), "{}", back.text);
    assert!(!back.text.contains("Merge several"), "what was shown is shown again, and no more: {}", back.text);
    session.compacted();
    assert!(show_in(&house, "roll back", 220, Some(&session)).turn.contains("Restore the last version"));
}

#[test]
fn long_sections_are_divided_between_blocks() {
    let table = "| a | b |\n| --- | --- |\n| rollback | 1 |\n".to_owned() + &"| x | y |\n".repeat(5);
    let code = format!("```sh\n\n{}\n```", "run --fast\n\n".repeat(20));
    let blocks: Vec<String> = (0..30).map(|at| format!("Paragraph {at} about topic{at}.")).collect();
    let body =
        format!("## All\n\n{}\n\n{table}\n\n{code}\n\n{}\n", blocks[..15].join("\n\n"), blocks[15..].join("\n\n"));
    let shown = show(&body, "tell me about topic21 and the rollback", 150, None);
    assert!(shown.turn.contains("topic21") && shown.turn.contains(table.trim_end()), "{}", shown.turn);
    assert!(!shown.turn.contains("run --fast"), "{}", shown.turn);
    let shown = show(&body, "run fast", 200, None);
    assert!(shown.turn.contains(&code), "a code block is whole: {}", shown.turn);
}

#[test]
fn without_a_message_the_beginning_is_shown() {
    let shown = show(&body(), "", 320, None);
    assert!(shown.turn.contains("Merge several"), "{}", shown.turn);
    assert!(shown.skills[0].tokens <= Tokens(320));
}

/// Thousands of headings, of which the lines between them take most of the room.
#[test]
fn a_body_of_many_small_sections() {
    let sections: Vec<String> =
        (0..4_000).map(|at| format!("{} Title {at}\n\nword{}\n\n", "#".repeat(1 + at % 6), at % 2)).collect();
    let body = sections.concat();
    for limit in [100, 2_000] {
        let shown = show(&body, "word1 please", limit, None);
        assert!(shown.skills[0].tokens <= Tokens(limit) && shown.turn.contains("word1"), "{}", shown.turn);
    }
}

/// Random Markdown: headings of both kinds, code, tables, lists, raw HTML, scripts without blanks.
fn markdown() -> impl Strategy<Value = String> {
    let words = || "[a-z]{1,9}( [a-z]{1,9}){0,12}";
    let block = prop_oneof![
        words().prop_map(|text| format!("{text}\n\n")),
        (1..7_usize, words()).prop_map(|(level, title)| format!("{} {title}\n\n", "#".repeat(level))),
        words().prop_map(|title| format!("{title}\n=====\n\n")),
        words().prop_map(|title| format!("{title}\n-----\n\n")),
        words().prop_map(|text| format!("```sh\n# no heading\n\n{text}\n```\n\n")),
        words().prop_map(|text| format!("| a | b |\n| --- | --- |\n| {text} | 2 |\n\n")),
        words().prop_map(|text| format!("- {text}\n\n  more\n- {text}\n\n")),
        words().prop_map(|text| format!("<div>\n{text}\n</div>\n\n")),
        "[あ-ん漢字仮名]{1,40}".prop_map(|text| format!("{text}。\n\n")),
        Just("\r\n\r\n".to_owned()),
        Just("~~~\nopen fence\n".to_owned()),
    ];
    prop::collection::vec(block, 0..60).prop_map(|blocks| blocks.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn no_limit_is_exceeded_and_nothing_is_torn(
        body in markdown(), message in "[a-z]{1,9}( [a-z]{1,9}){0,6}", limit in 1_usize..400,
    ) {
        let house = house(&body);
        let shown = show_in(&house, &message, limit, None);
        let skill = &shown.skills[0];
        prop_assert!(skill.tokens <= Tokens(limit), "{} of {limit}", skill.tokens);
        if skill.decision == Decision::Included {
            prop_assert!(shown.turn.contains(body.trim_end()));
        }
        if skill.decision == Decision::Shortened {
            prop_assert!(shown.turn.contains("[Shortened: "), "{}", shown.turn);
            let text = &shown.turn[shown.turn.find("### pdf").unwrap()..];
            if text.contains("parts shown.") {
                // Every line is the author's, a heading above, or one of ours.
                for line in text.lines().skip(2).filter(|line| !line.trim().is_empty()) {
                    let ours = line.starts_with("[Not shown: ") || line.starts_with("[Shortened: ")
                        || line.starts_with("Base directory") || line.starts_with('#');
                    prop_assert!(ours || body.lines().any(|own| own.trim_end() == line.trim_end()), "{line}");
                }
                // A code block is shown with both of its ends.
                prop_assert_eq!(text.matches("```").count() % 2, 0, "{}", text);
            }
            prop_assert!(Bytes4.count(&shown.turn) <= shown.tokens.turn);
        }
        // Nothing of it is paid twice: each time other parts are shown, and in the end none is left.
        let mut session = Session::default();
        session.apply(&shown);
        if skill.decision != Decision::Omitted {
            let known = |session: &Session| session.remembered().next().unwrap().shown;
            let mut rounds = 0;
            loop {
                let (again, before) = (show_in(&house, &message, limit, Some(&session)), known(&session));
                session.apply(&again);
                if again.turn.contains("(Already in this conversation, unchanged.)") {
                    break;
                }
                prop_assert!(known(&session) > before && rounds < 70, "{}", again.turn);
                rounds += 1;
            }
        }
    }
}
