//! Negation: the subjects that a description says its skill is *not* for.
//!
//! "Do not use for iOS crash logs" names iOS, crashes and logs, and a ranker that counts words would count them for the
//! skill. So such clauses are separated: their words do not count for the skill, and count against it when a message
//! has them.

use std::sync::LazyLock;

use regex::Regex;

/// A description, split into what the skill is for and what it is not for.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Claims<'a> {
    /// The sentences about what the skill is for.
    pub(crate) positive: Vec<&'a str>,
    /// The sentences about what it is not for.
    pub(crate) negative: Vec<&'a str>,
}

/// The beginnings of sentences that are negative as a whole.
static WHOLE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(
        r"(?i)^[\s\-*_>]*(?:also\s+|but\s+)?(?:please\s+)?(?:do\s+not\s+(?:use|trigger|activate|invoke|apply)|don['’]?t\s+(?:use|trigger|activate|invoke|apply)|not\s+(?:for|intended|suitable|meant|to be used)|never\s+use|avoid\s+using|(?:should|must)\s+not\s+be\s+used|when\s+not\s+to\s+use)\b",
    )
});

/// The phrases from which on a sentence is negative.
static TAIL: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(
        r"(?i)(?:[,;:—–(-]\s*|\s+)(?:and\s+|but\s+)?(?:(?:do not|don['’]t|never)\s+(?:use|trigger|invoke|activate|apply|route|fire)|not\s+(?:for|to be used for|intended|suitable|meant|when|just)|skip\b[^.]{0,20}\b(?:on|for|when|if)|as opposed to|(?:non usare|no usar|no utilizar|ne pas utiliser|nicht (?:verwenden|benutzen|für)))\b|不要|不用于|不适用|不触发|请勿|勿用|非用于",
    )
});

/// The verbs at the end of a clause, in Korean and Japanese, that make it negative up to there.
static VERB_LAST: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(r"(?:사용|적용|실행|호출|트리거)하지\s?(?:않|마)|使わない|使用しない|対象外|ではありません")
});

/// Clauses that end with the name of another skill: "choosing a test is statistical-analysis".
static NAMED_LAST: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(
        r"\b(?:is|are|belongs? to|goes? to|go to|see|use|hand\b.{0,60}\bto)\s+(?:the\s+)?[`/$]?[a-z0-9]+(?:-[a-z0-9]+)+`?(?:\s+skill)?[.)]*\s*$",
    )
});

/// References to another skill, as in "For ads, see ad-creative": the subject belongs to the other skill, and its name
/// to neither.
static ELSEWHERE: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r#"^\s*\(?For\b(.{3,200}?),\s*(?:see|use)\s+(?:the\s+)?[`"']?[a-z0-9]"#));

/// Compiles a pattern. None of them can fail to compile: the tests below use each. If one did, nothing would be
/// negative.
fn pattern(text: &str) -> Option<Regex> {
    Regex::new(text).ok()
}

impl Claims<'_> {
    pub(crate) fn of(description: &str) -> Claims<'_> {
        let mut claims = Claims::default();
        for sentence in sentences(description) {
            if WHOLE.as_ref().is_some_and(|whole| whole.is_match(sentence)) {
                claims.negative.push(sentence);
            } else if let Some(topic) = ELSEWHERE.as_ref().and_then(|elsewhere| elsewhere.captures(sentence)?.get(1)) {
                claims.negative.push(topic.as_str());
            } else if let Some(tail) = TAIL.as_ref().and_then(|tail| tail.find(sentence)) {
                let (positive, negative) = sentence.split_at(tail.start());
                claims.positive.push(positive);
                claims.negative.push(negative);
            } else if let Some(verb) = VERB_LAST.as_ref().and_then(|verb| verb.find(sentence)) {
                let clause = sentence[..verb.start()].rfind([',', '、', '，', ';', '；']).map_or(0, |at| at + 1);
                let start =
                    sentence[clause..verb.start()].rfind("하며 ").map_or(clause, |at| clause + at + "하며 ".len());
                let start = sentence.ceil_char_boundary(start);
                claims.positive.push(&sentence[..start]);
                claims.negative.push(&sentence[start..]);
            } else if NAMED_LAST.as_ref().is_some_and(|named| named.is_match(sentence)) {
                let at = sentence.rfind([';', '—', ':']).map_or(0, |at| sentence.ceil_char_boundary(at + 1));
                claims.positive.push(&sentence[..at]);
                claims.negative.push(&sentence[at..]);
            } else {
                claims.positive.push(sentence);
            }
        }
        claims
    }
}

/// Splits a text into sentences. They end with `.`, `!` or `?`, closing quotes and space, if the next word begins like
/// a sentence.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        for (at, end) in text.match_indices(['.', '!', '?', '\n', '。', '！', '？', '；']) {
            if !matches!(end, "." | "!" | "?") {
                rest = Some(&text[at + end.len()..]);
                return Some(&text[..at + end.len()]);
            }
            let behind = text[at + 1..].trim_start_matches(['"', '\'', '”', '’', ')']);
            let next = behind.trim_start();
            let opened = next.trim_start_matches(['"', '\'', '“', '(', '*']);
            let begins = |char: char| char.is_ascii_uppercase() || char.is_ascii_digit() || char == '`';
            if next.len() < behind.len() && opened.starts_with(begins) {
                rest = Some(next);
                return Some(&text[..=at]);
            }
        }
        rest = None;
        Some(text)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(description: &str, positive: &[&str], negative: &[&str]) {
        let claims = Claims::of(description);
        assert_eq!((claims.positive.as_slice(), claims.negative.as_slice()), (positive, negative), "{description}");
    }

    #[test]
    fn negative_sentences_clauses_and_topics_of_others_are_separated() {
        check(
            "Symbolicate frames. Use when X. DO NOT USE FOR: iOS crash logs, or Java. For ads, see ad-creative. A guide, not for beginners.",
            &["Symbolicate frames.", "Use when X.", "A guide"],
            &["DO NOT USE FOR: iOS crash logs, or Java.", " ads", ", not for beginners."],
        );
        for sentence in [
            "Don't use it for PDFs.",
            "Don’t trigger on tests.",
            "Not intended for production.",
            "Never use with Java.",
            "Avoid using it twice.",
            "*But do not apply to scans.",
            "When NOT to use: drafts.",
            "Must not be used alone.",
        ] {
            check(&format!("Reads files. {sentence}"), &["Reads files."], &[sentence]);
        }
        check("Reads files (do not use for scans).", &["Reads files "], &["(do not use for scans)."]);
        check("For billing, use the `billing-help` skill.", &[], &[" billing"]);
    }

    #[test]
    fn exclusions_are_read_in_other_languages_and_by_names_of_skills() {
        check("制作海报。不要用于视频剪辑。", &["制作海报。", "", ""], &["不要用于视频剪辑。"]);
        check(
            "이미지를 올립니다. 명시적 요청에만 사용하며 generic PR 요청에는 적용하지 않습니다.",
            &["이미지를 올립니다. 명시적 요청에만 사용하며 "],
            &["generic PR 요청에는 적용하지 않습니다."],
        );
        check("Costruisce diete, non usare per ricette.", &["Costruisce diete"], &[", non usare per ricette."]);
        check(
            "Plans a study; choosing a test is statistical-analysis.",
            &["Plans a study;"],
            &[" choosing a test is statistical-analysis."],
        );
        check("Reads code as opposed to prose.", &["Reads code"], &[" as opposed to prose."]);
    }

    #[test]
    fn ordinary_text_stays_whole() {
        for text in
            ["", "Notes for meetings.", "For example, tables and charts.", "It does not crash. ever", "v1.2 of it"]
        {
            check(text, &[text], &[]);
        }
        check("One.\" Two! 3 (Four)? `Five` e.g. six", &["One.", "Two!", "3 (Four)?", "`Five` e.g. six"], &[]);
    }
}
