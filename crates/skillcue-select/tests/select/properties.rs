//! Properties over random catalogs and messages: nothing panics, spans are correct, and an independent matcher agrees.

use proptest::prelude::*;
use serde_json::json;
use skillcue_select::{Hit, Intent, ReasonKind, SelectOptions, Selector, Turn};

use crate::support::World;

/// One random skill.
#[derive(Debug, Clone)]
struct Made {
    keywords: Vec<String>,
    verbs: Vec<&'static str>,
    patterns: Vec<&'static str>,
}

const VERBS: &[(&str, &[&str])] = &[
    ("run", &["run", "runs", "running", "runned"]),
    ("copy", &["copy", "copies", "copied", "copying"]),
    ("bake", &["bake", "bakes", "baked", "baking", "bakeing"]),
    ("test", &["test", "tests", "tested", "testing"]),
];
const PATTERNS: &[&str] = &["a.b", "[ab]+c", "表|x+", "run.*test", "\\bAB\\b", "\\+\\+"];
/// Letters, signs that words go on through, scripts without blanks, and white space.
const ALPHABET: &str = "[abcAé+#.&-]|[ab] [ab]|表|格|가|나|👍| |\\n|\\.b|run";

fn text(length: usize) -> impl Strategy<Value = String> {
    prop::collection::vec(ALPHABET, 0..length).prop_map(|parts| parts.concat())
}

fn message() -> impl Strategy<Value = String> {
    let word = prop::sample::select(VERBS.iter().flat_map(|(_, forms)| forms.iter().copied()).collect::<Vec<_>>());
    let part = prop_oneof![text(8), word.prop_map(|word| format!(" {word} ")), Just(" alpha-beta ".to_owned())];
    prop::collection::vec(part, 0..6).prop_map(|parts| parts.concat())
}

fn made() -> impl Strategy<Value = Made> {
    let verbs: Vec<&str> = VERBS.iter().map(|verb| verb.0).collect();
    (
        prop::collection::vec(text(4), 0..5),
        prop::sample::subsequence(verbs, 0..3),
        prop::sample::subsequence(PATTERNS.to_vec(), 0..2),
    )
        .prop_map(|(keywords, verbs, patterns)| Made { keywords, verbs, patterns })
}

const NAMES: [&str; 4] = ["alpha-beta", "gamma", "run-c", "b"];

fn world(skills: &[Made]) -> World {
    let fields = |made: &Made| json!({ "triggers": { "keywords": made.keywords, "verbs": made.verbs, "patterns": made.patterns } });
    World::new(&NAMES.into_iter().zip(skills.iter().map(fields)).collect::<Vec<_>>())
}

/// Matching as the specification says it, character by character, without an index.
mod naive {
    #[derive(Clone, Copy, PartialEq)]
    enum Class {
        Latin,
        Han,
        Hangul,
        Other,
    }

    fn class(c: char) -> Class {
        match c {
            '表' | '格' => Class::Han,
            '가' | '나' => Class::Hangul,
            _ if c.is_alphanumeric() => Class::Latin,
            _ => Class::Other,
        }
    }

    fn lower(text: &str) -> Vec<char> {
        text.to_lowercase().chars().collect()
    }

    /// Returns the end of the occurrence of `term` that starts at `at`: blanks match runs of white space.
    fn ends(term: &[char], message: &[char], at: usize, gap: fn(char) -> bool) -> Option<usize> {
        let mut at = at;
        for c in term {
            if *c == ' ' {
                let run = message[at..].iter().take_while(|c| gap(**c)).count();
                if run == 0 {
                    return None;
                }
                at += run;
            } else if message.get(at) == Some(c) {
                at += 1;
            } else {
                return None;
            }
        }
        Some(at)
    }

    fn letter(c: Option<&char>) -> bool {
        c.is_some_and(|c| c.is_alphabetic())
    }

    fn is_at(term: &[char], message: &[char], start: usize, end: usize, goes_on: bool) -> bool {
        let (first, last) = (term[0], term[term.len() - 1]);
        let before = start.checked_sub(1).map(|at| message[at]);
        let after = message.get(end).copied();
        if term.iter().all(|c| class(*c) == Class::Other) {
            let same = |a: Option<char>, b: char| a == Some(b) && b.is_ascii();
            return !same(before, first) && !same(after, last);
        }
        let left = match class(first) {
            Class::Latin | Class::Hangul => before.is_none_or(|c| class(c) != class(first)),
            Class::Han | Class::Other => true,
        };
        let right = match class(last) {
            Class::Latin => {
                let more = matches!(after, Some('+' | '#')) || (after == Some('.') && letter(message.get(end + 1)));
                after.is_none_or(|c| class(c) != Class::Latin) && !(goes_on && more)
            }
            Class::Other if "+#".contains(last) => {
                !after.is_some_and(|c| "+#".contains(c) || (class(c) == Class::Latin && c.is_alphabetic()))
            }
            Class::Han | Class::Hangul | Class::Other => true,
        };
        left && right
    }

    pub(super) fn keyword(keyword: &str, message: &str) -> bool {
        let folded = keyword.split_whitespace().collect::<Vec<_>>().join(" ");
        let (term, message) = (lower(&folded), lower(message));
        !term.is_empty()
            && (0..=message.len()).any(|at| {
                ends(&term, &message, at, char::is_whitespace).is_some_and(|end| is_at(&term, &message, at, end, true))
            })
    }

    pub(super) fn name(name: &str, message: &str) -> bool {
        let (term, message) = (lower(&name.replace('-', " ")), lower(message));
        let gaps: [fn(char) -> bool; 2] = [char::is_whitespace, |c| matches!(c, '-' | '_')];
        (0..=message.len()).any(|at| {
            gaps.iter()
                .any(|gap| ends(&term, &message, at, *gap).is_some_and(|end| is_at(&term, &message, at, end, false)))
        })
    }
}

fn expected(name: &str, made: &Made, message: &str) -> Vec<(ReasonKind, String)> {
    let mut reasons = Vec::new();
    if name.contains('-') {
        if naive::name(name, message) {
            reasons.push((ReasonKind::Mention, name.to_owned()));
        }
    } else if naive::keyword(name, message) {
        reasons.push((ReasonKind::Keyword, name.to_owned()));
    }
    let folded = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
    let mut seen = vec![name.to_owned()];
    for keyword in &made.keywords {
        if naive::keyword(keyword, message) && !seen.contains(&folded(keyword)) {
            let phrase = folded(keyword).contains(' ');
            reasons.push((if phrase { ReasonKind::Phrase } else { ReasonKind::Keyword }, keyword.clone()));
            seen.push(folded(keyword));
        }
    }
    for verb in &made.verbs {
        let forms = VERBS.iter().find(|(base, _)| base == verb).unwrap().1;
        // `runned` matches: the rule is regular, though English is not.
        if forms.iter().any(|form| naive::keyword(form, message)) {
            reasons.push((ReasonKind::Verb, (*verb).to_owned()));
        }
    }
    for pattern in &made.patterns {
        if skillcue_format::pattern::compile(pattern).unwrap().is_match(message) {
            reasons.push((ReasonKind::Pattern, (*pattern).to_owned()));
        }
    }
    reasons.sort();
    reasons
}

fn check_spans(hit: &Hit, message: &str) {
    for reason in &hit.reasons {
        let span = reason.span.clone().unwrap();
        assert_eq!(message.get(span), Some(reason.text.as_str()));
        assert!(reason.score > 0.0);
    }
    assert!((0.0..=1.0).contains(&hit.confidence));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_naive_matcher_agrees(skills in prop::collection::vec(made(), 4), messages in prop::collection::vec(message(), 12)) {
        let world = world(&skills);
        prop_assert_eq!(world.catalog.len(), 4);
        let again = Selector::from_bytes(&world.selector.to_bytes()).unwrap();
        for message in &messages {
            let selection = world.select(&Turn::new(message));
            for (name, made) in NAMES.into_iter().zip(&skills) {
                let hit = selection.hits.iter().find(|hit| hit.name == name);
                let mut reasons: Vec<(ReasonKind, String)> = hit
                    .map(|hit| hit.reasons.iter().map(|reason| (reason.kind, reason.trigger.clone())).collect())
                    .unwrap_or_default();
                reasons.sort();
                prop_assert_eq!(reasons, expected(name, made, message), "{} in {:?}", name, message);
                if let Some(hit) = hit {
                    check_spans(hit, message);
                }
                let why = world.selector.explain(&world.catalog, &Turn::new(message), name);
                prop_assert_eq!(why.hit.as_ref(), hit);
            }
            prop_assert_eq!(again.select(&world.catalog, &Turn::new(message), &SelectOptions::default()), selection);
        }
    }

    #[test]
    fn any_message_will_do(message in any::<String>(), ascii in "[ -~\\n]{0,200}", marks in "[a\u{300}-\u{315}\u{1100}-\u{1175}ﷺｶﾞ表İßé ]{0,40}") {
        let world = World::new(&[
            ("a", json!({ "triggers": { "keywords": ["e", "é", "表", "ss", "i", "'", "\u{3000}", "ﷺ", "ガ"], "patterns": [".", "a+"] } })),
            ("b-c", json!({ "triggers": { "keywords": [message], "verbs": [ascii], "patterns": [marks] } })),
        ]);
        for message in [&message, &ascii, &marks] {
            for hit in &world.select(&Turn::new(message)).hits {
                check_spans(hit, message);
            }
            let _ = Intent::of(message);
            let _ = world.selector.explain(&world.catalog, &Turn::new(message), "b-c");
        }
    }

    #[test]
    fn damaged_bytes_are_refused(at in any::<prop::sample::Index>(), flip in 1..=255_u8, cut in any::<prop::sample::Index>()) {
        let world = World::new(&[("a", json!({ "triggers": { "keywords": ["b c", "->"], "patterns": ["x.*y"], "files": ["*.[ch]"] } }))]);
        let mut bytes = world.selector.to_bytes();
        prop_assert!(Selector::from_bytes(&bytes).is_some(), "what is whole is read");
        prop_assert!(Selector::from_bytes(&bytes[..cut.index(bytes.len())]).is_none());
        let at = at.index(bytes.len());
        bytes[at] ^= flip;
        prop_assert!(Selector::from_bytes(&bytes).is_none());
    }
}
