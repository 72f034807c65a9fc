//! Random Markdown in parts: no limit is exceeded, every gap has a line, blocks are whole, and loads give all of it in the
//! end.

use std::ops::Range;

use proptest::prelude::*;
use skillcue_disclose::{Bytes4, Characters4, Cut, Segment, TokenCounter, Tokens, rest_for, shorten_for};

/// Blocks of Markdown, in which `@` is a number of its own in each line. Nothing in them may be torn apart.
fn block() -> impl Strategy<Value = String> {
    let words = || "[a-z]{1,9}( [a-z]{1,9}){0,9}";
    prop_oneof![
        3 => words().prop_map(|text| format!("{text} @\n\n")),
        2 => (1..7_usize, words()).prop_map(|(level, title)| format!("{} {title} @\n\n", "#".repeat(level))),
        1 => words().prop_map(|title| format!("{title} @\n=====\n\n")),
        1 => words().prop_map(|title| format!("{title} @\n-----\n\n")),
        1 => words().prop_map(|text| format!("```sh\n# no heading @\n\n{text} @\n```\n\n")),
        1 => words().prop_map(|text| format!("````md\n```\n{text} @\n```\n\n## no heading @\n````\n\n")),
        1 => words().prop_map(|text| format!("| a @ | b |\n| --- | --- |\n| {text} @ | 2 |\n\n")),
        1 => words().prop_map(|text| format!("- {text} @\n\n  more @\n  - nested @\n- {text} @\n\n")),
        1 => words().prop_map(|text| format!("> ## {text} @\n> quoted @\n\n")),
        1 => words().prop_map(|text| format!("<div>\n{text} @\n# no heading @\n</div>\n\n")),
        1 => words().prop_map(|text| format!("<!-- {text} @ -->\n\n")),
        1 => "[あ-ん漢字仮名]{1,40}".prop_map(|text| format!("{text} @。\n\n")),
        1 => "[あ-ん漢字仮名]{1,8}".prop_map(|text| format!("## {text} @\n\n")),
    ]
}

/// The blocks of a text, with numbers in place of `@`; some without any heading.
fn blocks() -> impl Strategy<Value = Vec<String>> {
    let number = |blocks: Vec<String>| {
        let mut next = 0;
        let mut numbered = |text: String| -> String {
            let pieces = text.split('@').map(str::to_owned);
            let join = |whole: String, piece: String| {
                next += 1;
                format!("{whole}n{next}{piece}")
            };
            pieces.reduce(join).unwrap_or_default()
        };
        blocks.into_iter().map(&mut numbered).collect()
    };
    let plain = "[a-z]{1,9}( [a-z]{1,9}){0,9}".prop_map(|text| format!("{text} @\n\n"));
    prop_oneof![
        4 => prop::collection::vec(block(), 0..50),
        1 => prop::collection::vec(plain, 0..50),
    ]
    .prop_map(number)
}

/// Returns whether a line has a number, and is therefore the only one of its kind.
fn is_numbered(line: &str) -> bool {
    line.contains(|char: char| char.is_ascii_digit())
}

fn is_ours(line: &str) -> bool {
    ["[Not shown: ", "[Shown before.]", "[Shortened: "].iter().any(|mark| line.starts_with(mark))
}

/// Checks that shown lines are the author's, in order, and that lines are missing only where one of ours says so.
fn check_gaps(text: &str, shown: &str) -> Result<(), TestCaseError> {
    let own: Vec<&str> = text.lines().map(str::trim_end).filter(|line| is_numbered(line)).collect();
    let is_own = |line: &&str| is_numbered(line) || is_ours(line);
    let (mut at, mut is_marked) = (0, false);
    for line in shown.lines().map(str::trim_end).filter(is_own) {
        if is_ours(line) {
            is_marked = true;
            continue;
        }
        let Some(found) = own[at..].iter().position(|own| *own == line) else {
            // A heading above, which is underlined in the text.
            let title = line.trim_start_matches('#').trim();
            prop_assert!(line.starts_with('#') && own.contains(&title), "{line:?} is not in the text:\n{shown}");
            continue;
        };
        prop_assert!(found == 0 || is_marked, "a gap before {line:?} has no line:\n{shown}");
        at += found + 1;
        is_marked = line.starts_with('#') && is_marked;
    }
    prop_assert!(at == own.len() || is_marked || shown.contains("[Shortened: "), "the end has no line:\n{shown}");
    Ok(())
}

/// Checks that code blocks, tables and lists are shown whole or not at all.
fn check_blocks(blocks: &[String], shown: &str) -> Result<(), TestCaseError> {
    for block in blocks {
        let lines: Vec<&str> = block.lines().filter(|line| is_numbered(line)).collect();
        let count = lines.iter().filter(|line| shown.lines().any(|own| own.trim_end() == line.trim_end())).count();
        prop_assert!(count == 0 || count == lines.len(), "{block:?} is torn:\n{shown}");
    }
    Ok(())
}

fn counters() -> [&'static dyn TokenCounter; 3] {
    [&Bytes4, &Segment, &Characters4]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(80))]

    #[test]
    fn limits_hold_gaps_have_lines_and_blocks_are_whole(
        blocks in blocks(), message in "[a-z]{1,9}( [a-z]{1,9}){0,6}", limit in 1_usize..400,
    ) {
        let text = blocks.concat();
        for counter in counters() {
            let Some(part) = shorten_for(&message, &text, Tokens(limit), "s", counter) else { continue };
            prop_assert!(part.tokens <= Tokens(limit) && counter.count(&part.text) == part.tokens);
            if part.text == text {
                continue;
            }
            prop_assert!(part.text.contains("[Shortened: "), "{}", part.text);
            if part.text.contains(" parts shown.") {
                check_gaps(&text, &part.text)?;
                check_blocks(&blocks, &part.text)?;
            }
        }
    }

    /// Loads, one after the other, within a limit: each gives something new, nothing comes twice, and all of it comes.
    #[test]
    fn loads_give_all_of_a_text_once(blocks in blocks(), message in "([a-z]{1,9} ){0,4}", limit in 100_usize..300) {
        let text = blocks.concat();
        let mut known: Vec<Range<usize>> = Vec::new();
        let mut all = String::new();
        for _ in 0..200 {
            let Some(Cut { text: shown, tokens, parts, .. }) =
                rest_for(&message, &text, &known, Some(Tokens(limit)), "s", &Bytes4)
            else { break };
            prop_assert!(tokens <= Tokens(limit));
            for part in &parts {
                prop_assert!(known.iter().all(|old| part.end <= old.start || old.end <= part.start), "{part:?} again");
            }
            prop_assert!(!parts.is_empty(), "{shown}");
            known.extend(parts);
            all.push_str(&shown);
            all.push('\n');
        }
        if !known.is_empty() {
            for line in text.lines().filter(|line| is_numbered(line) && !line.starts_with('#')) {
                let count = all.lines().filter(|own| own.trim_end() == line.trim_end()).count();
                prop_assert!(count == 1, "{count} times {line:?} of\n{text}\nin\n{all}");
            }
        }
    }
}
