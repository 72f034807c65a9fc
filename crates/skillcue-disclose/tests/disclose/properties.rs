//! Properties that hold whatever the skills, the budget and the counter.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use skillcue_catalog::{Enablement, Source};
use skillcue_disclose::{
    Budget, Counter, Decision, DiscloseConfig, Fragment, ListEntry, Policy, TokenCounter, Tokens, cut, prompt_section,
};

use crate::house::House;

fn counters() -> impl Iterator<Item = &'static dyn TokenCounter> {
    Counter::ALL.into_iter().filter_map(|counter| counter.counter().ok())
}

fn text() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        "[a-zA-Z ,.`*#-]{0,60}",
        "[ -~äöü表格かな🦀]{0,40}",
        Just("```sh".to_owned()),
        Just("~~~".to_owned()),
        Just("Base directory for this skill: /s\n".to_owned()),
        "[a-z ]{0,20}\r[a-z ]{0,20}\r?",
        "[a-z表]{200,600}",
        Just(String::new()),
    ];
    (prop::collection::vec(line, 0..60), any::<bool>())
        .prop_map(|(lines, end)| lines.join("\n") + if end { "\n" } else { "" })
}

/// Skills with names that begin and end alike, of several servers, and descriptions in several scripts.
fn catalog() -> impl Strategy<Value = BTreeMap<String, (String, i32, bool)>> {
    let id = prop_oneof![
        "[a-z][a-z0-9-]{0,20}",
        "(azure|aws|web)(-(ai|storage|css|2)){0,3}-[a-z0-9]{1,8}",
        "[a-z]{2,9}(-automation|-io-automation|-)",
        "(acme|docs-server):[a-z]{1,6}(-[a-z]{1,6})?",
        "(表|café)-[a-z表]{1,4}",
    ];
    let description =
        prop_oneof!["[ -~\n]{0,200}", "[表格かな、。 ]{0,80}", "[A-Z][a-z]{2,9}( [a-z]{2,9}){0,9}\\. [a-z ]{0,90}"];
    prop::collection::btree_map(id, (description, -1_i32..2, any::<bool>()), 1..120)
}

/// Reads the ids of a static section by the rules that are written in it.
fn listed_ids(text: &str) -> BTreeSet<String> {
    let mut ids = BTreeSet::new();
    let mut add = |id: String| assert!(ids.insert(id), "twice in {text}");
    let inner = text.split_once("<available_skills>\n").unwrap().1.split_once("</available_skills>\n").unwrap().0;
    let mut is_names = false;
    for line in inner.lines() {
        match line.trim_start().strip_prefix("<id>") {
            Some(id) => add(id.strip_suffix("</id>").unwrap().to_owned()),
            None if line.starts_with("  ") => {}
            None if line.starts_with("Names only") => is_names = true,
            None if !is_names => add(line.split_once(": ").unwrap().0.to_owned()),
            None => {
                let mut pattern = "*";
                for word in line.split(' ') {
                    if word.contains('*') { pattern = word } else { add(pattern.replace('*', word)) }
                }
            }
        }
    }
    ids
}

/// Checks that the sizes in a table of contents are those of the missing skills.
fn groups_of_missing(text: &str, omitted: &[String]) -> Result<(), String> {
    let line = text.lines().find_map(|line| line.strip_prefix("Not listed, by the beginnings of their names: "));
    for group in line.unwrap_or_default().split_whitespace() {
        let (start, size) = group.strip_suffix(')').and_then(|group| group.split_once("*(")).ok_or(group)?;
        // A server is a group of its own, whatever its name begins with.
        let is_in = |id: &&String| id.starts_with(start) && (start.ends_with(':') || !id.contains(':'));
        if omitted.iter().filter(is_in).count().to_string() != size {
            return Err(format!("{group} of {omitted:?}"));
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn a_cut_is_a_prefix_of_lines_and_a_marker(text in text(), limit in 0_usize..300) {
        for counter in counters() {
            let Some(cut) = cut(&text, Tokens(limit), "s", counter) else { continue };
            prop_assert!(cut.tokens <= Tokens(limit));
            prop_assert_eq!(cut.tokens, counter.count(&cut.text));
            prop_assert!(cut.shown < text.len());
            let (rest, marker) = cut.text.rsplit_once('\n').unwrap();
            prop_assert!(marker.starts_with("[Shortened: ") && marker.ends_with(" shown. load_skill \"s\" gives the rest.]"));
            let shown = &text[..cut.shown];
            prop_assert_eq!(!shown.ends_with(['\n', '\r']), marker.contains(" % of the text"));
            let fence = rest.strip_prefix(shown.trim_end_matches('\n')).unwrap().trim_matches(['\n', '\r']);
            prop_assert!(fence.bytes().all(|byte| byte == b'`' || byte == b'~'));
        }
    }

    #[test]
    fn no_counter_lets_a_budget_be_exceeded(
        texts in prop::collection::vec((text(), any::<bool>(), 0_usize..6, -2_i32..3), 0..8),
        total in 0_usize..600,
        per_skill in 0_usize..300,
    ) {
        let names: Vec<String> = (0..texts.len()).map(|i| format!("s{i}")).collect();
        let fragments: Vec<Fragment<'_>> = texts.iter().zip(&names).map(|((text, mention, source, priority), name)| {
            Fragment { name, source: Source::ALL[*source], mention: *mention, score: 1.0, priority: *priority, text }
        }).collect();
        let budget = Budget { total: Some(Tokens(total)), per_skill: Some(Tokens(per_skill)) };
        for counter in counters() {
            let shares = budget.allot(&fragments, counter);
            let used: Tokens = shares.iter().map(|share| share.tokens).sum();
            prop_assert!(total == 0 || used <= counter.reserve(Tokens(total)));
            for share in &shares {
                prop_assert_eq!(share.tokens, counter.count(&share.text));
                prop_assert!(per_skill == 0 || share.tokens <= counter.reserve(Tokens(per_skill)));
                prop_assert_eq!(share.why.is_none(), share.decision == Decision::Included);
            }
            let served: BTreeSet<usize> = shares.iter().map(|share| share.fragment).collect();
            prop_assert_eq!(served.len(), fragments.len());
        }
    }

    #[test]
    fn a_list_accounts_for_every_name(
        skills in catalog(),
        limit in 1_usize..2000,
        seed in any::<usize>(),
    ) {
        for counter in counters() {
            let entries = || skills.iter().map(|(id, (description, priority, pinned))| ListEntry {
                id: Cow::Borrowed(id.as_str()),
                description: description.into(),
                priority: *priority,
                source: Source::User,
                pinned: *pinned,
                uses: 0,
            });
            let section = prompt_section(entries(), Some(Tokens(limit)), counter);
            let listed = listed_ids(&section.text);
            let expected: BTreeSet<String> =
                skills.keys().filter(|id| section.omitted.binary_search(*id).is_err()).cloned().collect();
            prop_assert_eq!(&listed, &expected, "{}", section.text);
            if section.omitted.len() < skills.len() {
                prop_assert!(section.tokens <= counter.reserve(Tokens(limit)), "{} {limit}", section.tokens);
            }
            prop_assert_eq!(section.tokens, counter.count(&section.text));
            let missing = section.text.contains(" not listed, to save space; `search_skills` finds ");
            prop_assert_eq!(missing, !section.omitted.is_empty());
            prop_assert_eq!(groups_of_missing(&section.text, &section.omitted), Ok(()));
            let mut turned: Vec<ListEntry<'_>> = entries().collect();
            turned.rotate_left(seed % skills.len());
            turned.reverse();
            prop_assert_eq!(prompt_section(turned, Some(Tokens(limit)), counter), section);
        }
    }

    #[test]
    fn counters_never_panic_and_more_text_is_never_free(text in any::<String>()) {
        for counter in counters() {
            let count = counter.count(&text);
            prop_assert!(count.0 <= text.len() * 3 + 1);
            prop_assert_eq!(count == Tokens(0), text.is_empty());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn a_disclosure_names_every_match_once_and_keeps_its_budget(
        bodies in prop::collection::vec(text(), 1..14),
        total in 1_usize..900,
        per_skill in 0_usize..300,
        max_skills in 0_usize..12,
        all in any::<bool>(),
    ) {
        let mut house = House::new();
        for (i, body) in bodies.iter().enumerate() {
            house.put(Source::User, &format!("skill-{i}"), "description: D.\ntriggers: {keywords: [word]}", body);
        }
        house.discover(Enablement::default());
        let message = if all { "show all skills" } else { "a word" };
        for counter in counters() {
            let config = DiscloseConfig {
                max_total_tokens: Some(Tokens(total)),
                max_per_skill_tokens: Some(Tokens(per_skill)),
                max_skills,
                counter: counter.name().parse().unwrap(),
                ..DiscloseConfig::default()
            };
            let shown = house.show(message, &config, None);
            let names: BTreeSet<&str> = shown.skills.iter().map(|skill| &*skill.name).collect();
            prop_assert_eq!(names.len(), shown.skills.len());
            prop_assert_eq!(names.len(), if all { bodies.len().min(10) } else { bodies.len() });
            let spent: Tokens = shown.skills.iter().map(|skill| skill.tokens).sum();
            prop_assert!(spent <= counter.reserve(Tokens(total)));
            // Headings beyond what is free for them are paid from the budget.
            prop_assert!(shown.tokens.turn <= counter.reserve(Tokens(total)) + Tokens(100), "{:?}", shown.tokens);
            prop_assert_eq!(spent + shown.tokens.overhead, shown.tokens.turn);
            // Counted part by part: a token or two more, or fewer, for each seam.
            let whole = counter.count(&shown.turn).0;
            prop_assert!(whole.abs_diff(shown.tokens.turn.0) <= 3 + 3 * shown.skills.len(), "{whole} {:?}", shown.tokens);
            prop_assert_eq!(&house.show(message, &config, None), &shown);
            let hint = DiscloseConfig { policy: Policy::Hint, ..config };
            prop_assert!(house.show(message, &hint, None).tokens.turn <= Tokens(150));
        }
    }
}
