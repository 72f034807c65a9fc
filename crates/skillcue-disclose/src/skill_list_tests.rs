use super::*;
use crate::{Bytes4, Segment};

fn entry(id: &str, description: &str) -> ListEntry<'static> {
    let (id, description) = (Cow::Owned(id.to_owned()), Cow::Owned(description.to_owned()));
    ListEntry { id, description, priority: 0, source: Source::User, pinned: false }
}

/// As if the entries came from a catalog.
fn section(
    style: ListStyle,
    entries: Vec<ListEntry<'_>>,
    limit: Option<Tokens>,
    counter: &dyn TokenCounter,
) -> SkillList {
    let items = entries.into_iter().map(|entry| PendingEntry { entry, is_whole: false }).collect();
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
fn the_least_valuable_shrink_first() {
    let full = section(ListStyle::Prompt, many(4), None, &Bytes4);
    let mut entries = many(4);
    entries[3].pinned = true;
    entries[2].priority = 1;
    entries[1].source = Source::Inline;
    let limit = |less: usize| Some(Tokens(full.tokens.0 - less));
    let names = |less: usize| section(ListStyle::Prompt, entries.clone(), limit(less), &Bytes4).shortened;
    assert_eq!(names(0), [] as [&str; 0]);
    assert_eq!(names(3), ["skill-00000"]);
    assert_eq!(names(20), ["skill-00000", "skill-00001"]);
    assert_eq!(names(35), ["skill-00000", "skill-00001", "skill-00002"]);
    let some = section(ListStyle::Prompt, entries.clone(), limit(3), &Bytes4);
    assert!(some.text.contains("so that there…</description>"), "{}", some.text);
    assert!(some.tokens <= Tokens(full.tokens.0 - 3));
}

#[test]
fn names_stay_when_descriptions_go() {
    let bare = section(ListStyle::Registry, many(50).into_iter().map(|e| entry(&e.id, "")).collect(), None, &Bytes4);
    let section = section(ListStyle::Registry, many(50), Some(bare.tokens + Tokens(14)), &Bytes4);
    assert_eq!(section.omitted, [] as [&str; 0]);
    assert_eq!(section.shortened.len(), 50);
    assert_eq!(section.text.matches("- **skill-").count(), 50);
}

#[test]
fn missing_names_are_counted() {
    for style in [ListStyle::Prompt, ListStyle::Registry] {
        for counter in [&Bytes4 as &dyn TokenCounter, &Segment] {
            let mut entries = many(2000);
            entries[1999].priority = 5;
            let section = section(style, entries, Some(Tokens(400)), counter);
            assert!(section.tokens <= counter.reserve(Tokens(400)), "{}", section.tokens);
            assert_eq!(section.shortened.len() + section.omitted.len(), 2000);
            assert!(section.text.contains(&format!("{} more skills are not listed", section.omitted.len())));
            assert!(section.text.contains("search_skills") && section.text.contains("skill-01999"));
        }
    }
}

#[test]
fn one_missing_name() {
    assert!(ListStyle::Prompt.tail(1).contains("1 more skill is not listed"));
}

#[test]
fn a_limit_smaller_than_the_frame_still_answers() {
    let section = section(ListStyle::Prompt, many(3), Some(Tokens(1)), &Bytes4);
    assert_eq!(section.omitted.len(), 3);
    assert!(section.text.contains("3 more skills are not listed"));
}
