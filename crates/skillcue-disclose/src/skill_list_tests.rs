use super::*;
use crate::{Bytes4, Segment};

fn entry(id: &str, description: &str) -> ListEntry<'static> {
    let (id, description) = (Cow::Owned(id.to_owned()), Cow::Owned(description.to_owned()));
    ListEntry { id, description, priority: 0, source: Source::User, pinned: false, uses: 0 }
}

/// As if the entries came from a catalog.
fn section(
    style: ListStyle,
    entries: Vec<ListEntry<'_>>,
    limit: Option<Tokens>,
    counter: &dyn TokenCounter,
) -> SkillList {
    let items = entries.into_iter().map(|entry| PendingEntry::new(entry, false)).collect();
    list_within_limit(style, items, limit, counter)
}

fn many(count: usize) -> Vec<ListEntry<'static>> {
    let text = "Does a thing that takes quite a few words to tell, and then a few more, so that there is much to cut.";
    (0..count).map(|i| entry(&format!("skill-{i:05}"), text)).collect()
}

#[test]
fn white_space_is_folded() {
    assert!(matches!(visible_line("plain text"), Cow::Borrowed(_)));
    assert_eq!(visible_line(" a\n\tb  c\u{7} "), "a b c");
    assert_eq!(visible_line("日本\u{3000}語"), "日本 語");
}

#[test]
fn words_are_kept_whole() {
    let most = |length: usize| shorten("one two, three four", |part| part.chars().count() <= length);
    assert_eq!(most(15), "one two, three…");
    assert_eq!(most(14), "one two…");
    assert_eq!(most(3), "");
    assert_eq!(shorten("oneword", |_| true), "");
}

#[test]
fn scripts_without_blanks_are_cut_between_characters() {
    let most = |length: usize| shorten("表を読み、図を描く。PDF も", |part| part.chars().count() <= length);
    assert_eq!(most(6), "表を読み…", "without the comma");
    assert_eq!(most(12), "表を読み、図を描く…", "not within a word of another script");
}

#[test]
fn lines_instead_of_elements_lose_nothing() {
    let full = section(ListStyle::Prompt, many(4), None, &Bytes4);
    let lines = section(ListStyle::Prompt, many(4), Some(Tokens(full.tokens.0 - 1)), &Bytes4);
    assert!(full.text.contains("  <skill>\n    <id>skill-00000</id>\n"));
    assert!(lines.text.contains("<available_skills>\nskill-00000: Does a thing") && !lines.text.contains("<skill>"));
    assert_eq!((lines.shortened, lines.omitted), (Vec::new(), Vec::new()));
}

#[test]
fn the_least_valuable_shrink_first() {
    let full = section(ListStyle::PromptLines, many(4), None, &Bytes4);
    let mut entries = many(4);
    entries[3].pinned = true;
    entries[2].priority = 1;
    entries[1].source = Source::Inline;
    let limit = |less: usize| Some(Tokens(full.tokens.0 - less));
    let names = |less: usize| section(ListStyle::Prompt, entries.clone(), limit(less), &Bytes4).shortened;
    assert_eq!(names(0), [] as [&str; 0]);
    assert_eq!(names(3), ["skill-00000"]);
    assert_eq!(names(9), ["skill-00000", "skill-00001"]);
    assert_eq!(names(13), ["skill-00000", "skill-00001", "skill-00002"]);
    let some = section(ListStyle::Prompt, entries.clone(), limit(3), &Bytes4);
    assert!(some.text.contains("so that there…\n"), "{}", some.text);
    assert!(some.tokens <= Tokens(full.tokens.0 - 3));
}

#[test]
fn skills_that_are_used_keep_their_descriptions_longer() {
    let full = section(ListStyle::PromptLines, many(4), None, &Bytes4);
    let mut entries = many(4);
    (entries[0].uses, entries[1].uses) = (3, 9);
    entries[3].source = Source::Inline;
    entries[2].priority = 1;
    let names = |less: usize| {
        section(ListStyle::Prompt, entries.clone(), Some(Tokens(full.tokens.0 - less)), &Bytes4).shortened
    };
    assert_eq!(names(3), ["skill-00003"]);
    assert_eq!(names(9), ["skill-00000", "skill-00003"]);
    assert_eq!(names(13), ["skill-00000", "skill-00001", "skill-00003"]);
}

#[test]
fn briefs_come_before_cut_descriptions_and_names_are_last() {
    let long = "Reads the tables of a page. Use it when there are many tables, when a table has no lines, and so on.";
    let entries: Vec<_> = ["a", "b", "c", "d", "e"].map(|id| entry(id, long)).to_vec();
    let full = section(ListStyle::PromptLines, entries.clone(), None, &Bytes4).tokens.0;
    let lines = |less: usize| {
        let list = section(ListStyle::Prompt, entries.clone(), Some(Tokens(full - less)), &Bytes4);
        let lines = list.text.lines().skip_while(|line| *line != "<available_skills>").skip(1);
        lines.take_while(|line| *line != "</available_skills>").map(str::to_owned).collect::<Vec<String>>()
    };
    let brief = |id: &str| format!("{id}: Reads the tables of a page");
    assert_eq!(lines(91), ["a", "b", "c", "d", "e"].map(brief), "all to their first sentences");
    assert_eq!(lines(36)[..2], ["a", "b"].map(|id| format!("{id}: {long}")));
    assert_eq!(lines(36)[3..], ["d", "e"].map(brief));
    let short = lines(115);
    assert!(short[0].starts_with(&brief("a")));
    assert_eq!(short[1..], ["Names only:", "b c d e"]);
}

#[test]
fn the_registry_keeps_its_average() {
    let tokens = |count: usize| section(ListStyle::Registry, many(count), None, &Bytes4);
    assert_eq!(tokens(4).shortened, [] as [&str; 0], "few are not worth it");
    let list = tokens(200);
    assert_eq!(list.shortened.len(), 200);
    assert!((13 * 200..=15 * 200).contains(&list.tokens.0), "{}", list.tokens);
    assert!(list.text.contains("\n- **skill-00199**: Does a thing that takes quite a few…\n"), "{}", list.text);
}

#[test]
fn names_stay_when_descriptions_go() {
    let section = section(ListStyle::Registry, many(50), Some(Tokens(130)), &Bytes4);
    assert_eq!(section.omitted, [] as [&str; 0]);
    assert_eq!(section.shortened.len(), 50);
    assert!(section.text.contains("\n\nNames only (") && section.text.contains("):\nskill-* 00000 00001"));
}

#[test]
fn missing_names_are_counted() {
    for style in [ListStyle::Prompt, ListStyle::Registry] {
        for counter in [&Bytes4 as &dyn TokenCounter, &Segment] {
            let mut entries = many(2000);
            entries[1999].priority = 5;
            let section = section(style, entries, Some(Tokens(400)), counter);
            assert!(section.tokens <= Tokens(400), "{}", section.tokens);
            assert_eq!(section.shortened.len() + section.omitted.len(), 2000);
            assert!(section.text.contains(&format!("{} more skills are not listed", section.omitted.len())));
            assert!(section.text.contains("search_skills") && section.text.contains(" 01999\n"));
            let contents =
                format!("\nNot listed, by the beginnings of their names: skill-*({})\n", section.omitted.len());
            assert!(section.text.contains(&contents), "{}", section.text);
        }
    }
}

#[test]
fn one_missing_name() {
    assert!(ListStyle::Prompt.tail("", 1).contains("1 more skill is not listed"));
}

#[test]
fn a_limit_smaller_than_the_frame_still_answers() {
    let section = section(ListStyle::Prompt, many(3), Some(Tokens(1)), &Bytes4);
    assert_eq!(section.omitted.len(), 3);
    assert!(section.text.contains("3 more skills are not listed"));
}

#[test]
fn whole_groups_come_by_value() {
    let mut entries: Vec<ListEntry<'_>> = Vec::new();
    for (family, count) in [("alpha", 40), ("beta", 400), ("gamma", 40), ("omega", 2000)] {
        entries.extend((0..count).map(|i| entry(&format!("{family}-{i}"), "Does it.")));
    }
    entries.push(entry("solo", "Is alone."));
    for entry in &mut entries[440..480] {
        entry.source = Source::Inline;
    }
    entries[2000].priority = 1;
    let section = section(ListStyle::Prompt, entries, Some(Tokens(450)), &Bytes4);
    let is_missing = |id: &str| section.omitted.iter().any(|omitted| omitted == id);
    let missing = |family: &str| section.omitted.iter().filter(|id| id.starts_with(family)).count();
    assert_eq!(
        (missing("gamma"), missing("alpha"), is_missing("solo"), is_missing("omega-1520")),
        (0, 0, false, false)
    );
    assert!(section.text.contains(&format!(" beta-*({}) omega-*(1999)\n", missing("beta"))), "{}", section.text);
    assert!(missing("beta") < 400, "a part of a group fills the rest");
}

#[test]
fn the_order_of_the_input_does_not_matter() {
    for limit in [100, 300, 1000, 3000] {
        let list = |entries| section(ListStyle::Prompt, entries, Some(Tokens(limit)), &Segment);
        let mut entries = many(300);
        let forwards = list(entries.clone());
        entries.reverse();
        assert_eq!(list(entries), forwards);
    }
}
