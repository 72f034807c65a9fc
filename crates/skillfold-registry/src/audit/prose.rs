//! What is written to models: sentences that take them over, and comments that people do not see.

use std::sync::LazyLock;

use super::Rule;
use super::patterns::{Hit, Lazy, Pattern, is_match, regex};
use super::rules::{COMMENT_INJECTION, COMMENT_INSTRUCTIONS, PROMPT_INJECTION};

pub(super) static PATTERNS: &[Pattern] = &[
    Pattern {
        rule: &PROMPT_INJECTION,
        words: &["ignore", "disregard", "forget", "override", "bypass"],
        regex: r"\b(?:ignore|disregard|forget|override|bypass)\s+(?:(?:all|any|every|each|the|your|my|of|these|those|about)\s+){0,4}(?:previous|prior|preceding|above|earlier|foregoing|existing|original|initial|system|former|safety)\s+(?:\w+\s+){0,2}?(?:instructions?|prompts?|rules|directions|guidelines|directives?|messages?|constraints|commands|training)\b",
        message: "the model is told to drop its instructions",
        judge: injection,
    },
    Pattern {
        rule: &PROMPT_INJECTION,
        words: &["user", "human", "operator", "anyone"],
        regex: r"\b(?:do\s+not|don(?:'|\xe2\x80\x99)?t|never|must\s+not|should\s+not|without)\s+(?:ever\s+)?(?:tell(?:ing)?|inform(?:ing)?|mention(?:ing)?\s+(?:(?:this|it|that|any\s+of\s+this|these\s+\w+)\s+)?to|reveal(?:ing)?\s+(?:\w+\s+){0,4}?to|notify(?:ing)?|alert(?:ing)?|disclos(?:e|ing)\s+(?:\w+\s+){0,4}?to|let(?:ting)?)\s+(?:the\s+|your\s+)?(?:user|human|operator|anyone)\b(?P<rest>[^\n]{0,20})",
        message: "the model is told to keep something from the user",
        judge: secrecy,
    },
    Pattern {
        rule: &PROMPT_INJECTION,
        words: &["hide", "conceal", "keep", "secret from", "without the user"],
        regex: r"\b(?:hide|conceal|keep)\s+(?:this|it|these|that|the\s+fact|your\s+actions?|what\s+you\s+(?:do|did))\s+(?:\w+\s+){0,5}?from\s+(?:the\s+|your\s+)?(?:user|human|operator)\b|\bwithout\s+the\s+user(?:'s|\xe2\x80\x99s)?\s+(?:knowledge|consent|noticing|knowing|awareness)\b",
        message: "the model is told to keep something from the user",
        judge: injection,
    },
    Pattern {
        rule: &PROMPT_INJECTION,
        words: &["silently", "conversation", "system prompt", "chat history", "credentials", "api key"],
        regex: r"\b(?:send|post|upload|transmit|forward|copy|append|include|leak)\s+(?:\w+\s+){0,5}?(?:conversation|chat\s+history|system\s+prompt|credentials|api\s+keys?|environment\s+variables)\s+(?:\w+\s+){0,6}?(?:to|at|in)\s+(?:\w+\s+){0,3}?https?://|\bsilently\s+(?:send|upload|post|exfiltrate|transmit|forward|collect)\b",
        message: "the model is told to send away what it knows",
        judge: injection,
    },
    Pattern {
        rule: &PROMPT_INJECTION,
        words: &["exfiltrate"],
        regex: r"(?:^[\s>*#-]*|[.:;!?]\s+|\b(?:then|please|must|should|now|always|secretly|quietly)\s+)(?P<at>exfiltrate\s+(?:\w+\s+){0,4}?(?:data|conversation|secrets?|credentials?|context|keys?|tokens?|history|files?|it|them|this|everything)\b)",
        message: "the model is told to send away what it knows",
        judge: injection,
    },
    Pattern {
        rule: &PROMPT_INJECTION,
        words: &["system prompt", "jailbroken", "developer mode", "no longer bound", "unrestricted", "do anything now"],
        regex: r"\b(?:reveal|print|repeat|output|show|leak)\s+(?:me\s+)?(?:your|the)\s+(?:full\s+|entire\s+|hidden\s+|complete\s+)?system\s+prompt\b|\byou\s+are\s+(?:now\s+)?(?:\w+\s+){0,3}?(?:jailbroken|unrestricted|no\s+longer\s+bound|in\s+developer\s+mode|able\s+to\s+do\s+anything\s+now)\b|\benter\s+developer\s+mode\b",
        message: "the model is told to drop its limits",
        judge: injection,
    },
    Pattern {
        rule: &PROMPT_INJECTION,
        words: &[
            "im_start",
            "[inst]",
            "<<sys>>",
            "system override",
            "system message:",
            "system prompt:",
            "new instructions:",
        ],
        regex: r"<\|im_start\|>\s*system|\[INST\]|<<SYS>>|^[\s>*#_-]*(?:system\s+(?:override|message|prompt)|new\s+(?:system\s+)?instructions)[*_]*\s*:",
        message: "the text pretends to be a message of the system",
        judge: injection,
    },
    Pattern {
        rule: &PROMPT_INJECTION,
        words: &["precedence", "priority", "supersede", "overrides"],
        regex: r"\b(?:takes?\s+(?:priority|precedence)\s+over|supersedes?|overrides?)\s+(?:all|any|every)\s+(?:\w+\s+){0,2}?(?:user|system|safety|developer)(?:'s)?\s+(?:instructions?|prompts?|requests?|rules?|guidelines?)\b",
        message: "the text puts itself above the user and the system",
        judge: injection,
    },
];

/// In a comment it is worse: nobody sees it. In code that is shown, it is an example.
#[expect(clippy::unnecessary_wraps, reason = "a judge may say that it is nothing")]
fn injection(hit: &Hit<'_>) -> Option<&'static Rule> {
    Some(match (hit.comment, hit.fenced) {
        (true, false) => &COMMENT_INJECTION,
        (true, true) => &COMMENT_INSTRUCTIONS,
        (false, _) => hit.rule,
    })
}

/// "Do not tell the user to restart" keeps nothing from anybody, nor does "never let the user wait".
fn secrecy(hit: &Hit<'_>) -> Option<&'static Rule> {
    static HARMLESS: Lazy = LazyLock::new(|| {
        regex(r#"^(?:'s|\xe2\x80\x99s)?\s*(?:to\b|how\b|it'?s\b|they\b|you\s+(?:can|will|have)|"|\xe2\x80\x9c)"#)
    });
    static LET: Lazy = LazyLock::new(|| regex(r"\slet(?:ting)?\s"));
    static KNOW: Lazy = LazyLock::new(|| regex(r"^\s+(?:know|see|find\s+out|notice)\b"));
    let rest = hit.group("rest");
    if is_match(&LET, hit.text()) && !is_match(&KNOW, rest) || is_match(&HARMLESS, rest) {
        return None;
    }
    injection(hit)
}

static ADDRESSED: Lazy = LazyLock::new(|| {
    regex(
        r"\b(?:assistant|claude|gpt|copilot|ai\s+(?:agent|assistant|model)s?|llms?|the\s+(?:model|agent|ai)|language\s+models?|agents?\s*:|system\s*:)\b",
    )
});
static ORDERS: Lazy = LazyLock::new(|| {
    regex(
        r"\b(?:you\s+(?:must|should|will|need|have\s+to|are\s+to)|always|never|do\s+not|don't|make\s+sure|whenever|when\s+(?:the\s+)?user|before\s+(?:answering|responding|you)|(?:run|execute|send|upload|fetch|follow)\s)",
    )
});
static HARMS: Lazy = LazyLock::new(|| {
    regex(
        r"\b(?:run|execute|send|post|upload|fetch|download|install|read|open|curl|wget|visit|include|forward)\b[^\n]{0,120}?(?:https?://|~/\.|\.env\b|\.ssh\b|\bpasswords?\b|\bcredentials?\b|\bsecrets?\b|\bapi\s+keys?\b)",
    )
});
static HOUSEKEEPING: Lazy = LazyLock::new(|| {
    regex(
        r"^\s*(?:/?toc\b|todo\b|fixme\b|note to (?:editors|maintainers)|markdownlint|prettier|eslint|vale|spdx|copyright|licen[sc]e|#?region|#?endregion|doctoc|start\b|end\b|begin\b|cspell|textlint|lint|more\b|generated|do not edit|auto-?generated|/?all-contributors)",
    )
});

/// What a comment amounts to that has no such sentence.
pub(super) fn judge_comment(text: &[u8], fenced: bool) -> Option<(&'static Rule, &'static str)> {
    if is_match(&HOUSEKEEPING, text) && text.len() < 400 {
        return None;
    }
    let (addressed, orders) = (is_match(&ADDRESSED, text), is_match(&ORDERS, text));
    if fenced {
        return None;
    }
    if addressed && is_match(&HARMS, text) && orders {
        return Some((&COMMENT_INJECTION, "a comment tells the model to fetch, send or read something"));
    }
    let long = text.len() >= 80 && ORDERS.as_ref().is_some_and(|orders| orders.find_iter(text).count() >= 2);
    (addressed && orders || long)
        .then_some((&COMMENT_INSTRUCTIONS, "a comment with instructions, which only models read"))
}

/// How much of a comment is kept to be judged.
const KEPT: usize = 16 << 10;

/// Follows a Markdown text line by line: what is in fences, what is in comments. Places are counted from the text's start.
#[derive(Debug, Default)]
pub(super) struct Structure {
    /// What was seen so far.
    seen: u64,
    fences: Vec<(u64, u64)>,
    comments: Vec<(u64, u64)>,
    fence: Option<(u64, u8, usize)>,
    comment: Option<(u64, bool, Vec<u8>)>,
    middle_of_line: bool,
    last: u8,
    /// Comments that are over: where they start, whether in a fence, and what they say.
    pub(super) closed: Vec<(u64, bool, Vec<u8>)>,
}

impl Structure {
    pub(super) fn seen(&self) -> u64 {
        self.seen
    }

    pub(super) fn in_fence(&self, at: u64) -> bool {
        self.fence.is_some_and(|(start, ..)| at >= start) || within(&self.fences, at)
    }

    /// Which code block `at` is in: where that starts.
    pub(super) fn block(&self, at: u64) -> Option<u64> {
        let open = self.fence.map(|(start, ..)| start).filter(|start| at >= *start);
        open.or_else(|| self.fences.iter().find(|(start, end)| (*start..*end).contains(&at)).map(|(start, _)| *start))
    }

    pub(super) fn in_comment(&self, at: u64) -> bool {
        self.comment.as_ref().is_some_and(|(start, ..)| at >= *start) || within(&self.comments, at)
    }

    /// What ends before `at` is not asked for any more.
    pub(super) fn forget(&mut self, at: u64) {
        self.fences.retain(|(_, end)| *end > at);
        self.comments.retain(|(_, end)| *end > at);
    }

    /// The next part of the text.
    pub(super) fn feed(&mut self, text: &[u8]) {
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            let start = self.seen;
            if !self.middle_of_line && self.comment.is_none() {
                self.fence_line(line, start);
            }
            self.comments_of(line, start);
            self.seen += line.len() as u64;
            self.middle_of_line = line.last() != Some(&b'\n');
            self.last = line.last().copied().unwrap_or_default();
        }
    }

    /// There is no more text. A comment that is not closed hides everything behind it.
    pub(super) fn finish(&mut self) {
        if let Some((start, fenced, text)) = self.comment.take() {
            self.comments.push((start, self.seen));
            self.closed.push((start, fenced, text));
        }
    }

    fn fence_line(&mut self, line: &[u8], start: u64) {
        let line = line.trim_ascii().trim_prefix_marks();
        let Some(mark @ (b'`' | b'~')) = line.first().copied() else { return };
        let length = line.iter().take_while(|byte| **byte == mark).count();
        let rest = &line[length..];
        match self.fence {
            None if length >= 3 && !(mark == b'`' && rest.contains(&b'`')) => self.fence = Some((start, mark, length)),
            Some((from, open, least)) if mark == open && length >= least && rest.trim_ascii().is_empty() => {
                self.fences.push((from, start + line.len() as u64));
                self.fence = None;
            }
            _ => {}
        }
    }

    fn comments_of(&mut self, line: &[u8], start: u64) {
        let mut at = 0;
        if self.comment.is_none() && !self.middle_of_line && is_link_comment(line) {
            self.comments.push((start, start + line.len() as u64));
            self.closed.push((start, self.fence.is_some(), line.to_vec()));
            return;
        }
        while at < line.len() {
            match &mut self.comment {
                None => {
                    let Some(open) = find(&line[at..], b"<!--") else { return };
                    let before = if at + open == 0 { self.last } else { line[at + open - 1] };
                    let fenced = self.fence.is_some() || before == b'`';
                    self.comment = Some((start + (at + open) as u64, fenced, Vec::new()));
                    at += open + 4;
                }
                Some((from, fenced, text)) => {
                    let close = find(&line[at..], b"-->");
                    let part = &line[at..close.map_or(line.len(), |close| at + close)];
                    text.extend_from_slice(&part[..part.len().min(KEPT - text.len().min(KEPT))]);
                    let Some(close) = close else { return };
                    at += close + 3;
                    self.comments.push((*from, start + at as u64));
                    self.closed.push((*from, *fenced, std::mem::take(text)));
                    self.comment = None;
                }
            }
        }
    }
}

trait Marks {
    fn trim_prefix_marks(&self) -> &Self;
}

impl Marks for [u8] {
    /// Without what quotes and lists put before a line.
    fn trim_prefix_marks(&self) -> &[u8] {
        let mut line = self;
        while let [b'>' | b'-' | b'*' | b'+', b' ', rest @ ..] = line {
            line = rest.trim_ascii_start();
        }
        line
    }
}

/// `[//]: # (…)` is a link that nobody can follow: the usual way to write a comment without HTML.
fn is_link_comment(line: &[u8]) -> bool {
    let line = line.trim_ascii_start().to_ascii_lowercase();
    [&b"[//]: #"[..], b"[comment]: #", b"[_]: #", b"[//]: <"].iter().any(|start| line.starts_with(start))
}

fn within(ranges: &[(u64, u64)], at: u64) -> bool {
    let after = ranges.partition_point(|(start, _)| *start <= at);
    after > 0 && ranges[after - 1].1 > at
}

fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    let mut at = 0;
    while let Some(first) = text[at..].iter().position(|byte| *byte == what[0]) {
        at += first;
        if text[at..].starts_with(what) {
            return Some(at);
        }
        at += 1;
    }
    None
}
