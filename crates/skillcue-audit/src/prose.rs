//! Text that is written to models: sentences that take them over, and comments that people do not see.

use super::Rule;
use super::comment::{is_instruction, judge_comment};
use super::kind::ContentKind;
use super::patterns::{PatternHit, is_attack, is_match, is_open, patterns, regexes};
use super::rules::{COMMENT_INJECTION, COMMENT_INSTRUCTIONS, PROMPT_INJECTION};

patterns! {
    PROMPT_INJECTION, injection, "the model is told to drop its instructions",
        ["ignore", "disregard", "forget", "override", "bypass"],
        r"\b(?:ignore|disregard|forget|override|bypass)\s+(?:(?:all|any|every|each|the|your|my|of|these|those|about)\s+){0,4}(?:previous|prior|preceding|above|earlier|foregoing|existing|original|initial|system|former|safety)\s+(?:\w+\s+){0,2}?(?:instructions?|prompts?|rules|directions|guidelines|directives?|messages?|constraints|commands|training)\b";
    PROMPT_INJECTION, secrecy, "the model is told to keep something from the user",
        ["user", "human", "operator", "anyone"],
        r"\b(?:do\s+not|don(?:'|\xe2\x80\x99)?t|never|must\s+not|should\s+not|without)\s+(?:ever\s+)?(?:tell(?:ing)?|inform(?:ing)?|mention(?:ing)?\s+(?:(?:this|it|that|any\s+of\s+this|these\s+\w+)\s+)?to|reveal(?:ing)?\s+(?:\w+\s+){0,4}?to|notify(?:ing)?|alert(?:ing)?|disclos(?:e|ing)\s+(?:\w+\s+){0,4}?to|let(?:ting)?)\s+(?:the\s+|your\s+)?(?:user|human|operator|anyone)\b(?P<rest>[^\n]{0,20})";
    PROMPT_INJECTION, injection, "the model is told to keep something from the user",
        ["hide", "conceal", "keep", "secret from", "without the user"],
        r"\b(?:hide|conceal|keep)\s+(?:this|it|these|that|the\s+fact|your\s+actions?|what\s+you\s+(?:do|did))\s+(?:\w+\s+){0,5}?from\s+(?:the\s+|your\s+)?(?:user|human|operator)\b|\bwithout\s+the\s+user(?:'s|\xe2\x80\x99s)?\s+(?:knowledge|consent|noticing|knowing|awareness)\b";
    PROMPT_INJECTION, injection, "the model is told to send away what it knows",
        ["silently", "conversation", "system prompt", "chat history", "credentials", "api key"],
        r"\b(?:send|post|upload|transmit|forward|copy|append|include|leak)\s+(?:\w+\s+){0,5}?(?:conversation|chat\s+history|system\s+prompt|credentials|api\s+keys?|environment\s+variables)\s+(?:\w+\s+){0,6}?(?:to|at|in)\s+(?:\w+\s+){0,3}?https?://|\bsilently\s+(?:send|upload|post|exfiltrate|transmit|forward|collect)\b";
    PROMPT_INJECTION, injection, "the model is told to send away what it knows",
        ["exfiltrate"],
        r"(?:^[\s>*#-]*|[.:;!?]\s+|\b(?:then|please|must|should|now|always|secretly|quietly)\s+)(?P<at>exfiltrate\s+(?:\w+\s+){0,4}?(?:data|conversation|secrets?|credentials?|context|keys?|tokens?|history|files?|it|them|this|everything)\b)";
    PROMPT_INJECTION, injection, "the model is told to drop its limits",
        ["system prompt", "jailbroken", "developer mode", "no longer bound", "unrestricted", "do anything now"],
        r"\b(?:reveal|print|repeat|output|show|leak)\s+(?:me\s+)?(?:your|the)\s+(?:full\s+|entire\s+|hidden\s+|complete\s+)?system\s+prompt\b|\byou\s+are\s+(?:now\s+)?(?:\w+\s+){0,3}?(?:jailbroken|unrestricted|no\s+longer\s+bound|in\s+developer\s+mode|able\s+to\s+do\s+anything\s+now)\b|\benter\s+developer\s+mode\b";
    PROMPT_INJECTION, injection, "the text pretends to be a message of the system",
        ["im_start", "[inst]", "<<sys>>", "system override", "system message:", "system prompt:",
         "new instructions:"],
        r"<\|im_start\|>\s*system|\[INST\]|<<SYS>>|^[\s>*#_-]*(?:system\s+(?:override|message|prompt)|new\s+(?:system\s+)?instructions)[*_]*\s*:";
    PROMPT_INJECTION, injection, "the text puts itself above the user and the system",
        ["precedence", "priority", "supersede", "overrides"],
        r"\b(?:takes?\s+(?:priority|precedence)\s+over|supersedes?|overrides?)\s+(?:all|any|every)\s+(?:\w+\s+){0,2}?(?:user|system|safety|developer)(?:'s)?\s+(?:instructions?|prompts?|requests?|rules?|guidelines?)\b";
    PROMPT_INJECTION, unseen, "an element that is not shown has instructions, which only models read",
        ["display", "hidden", "visibility", "opacity", "font-size"],
        r#"<\w+\s[^>]*(?:display\s*:\s*none|visibility\s*:\s*hidden|opacity\s*:\s*0(?:\.0+)?\s*[;"']|font-size\s*:\s*0|\bhidden\b)[^>]*>(?P<text>[^<]+)"#;
    PROMPT_INJECTION, unseen, "a part that is not shown has instructions, which only models read",
        ["<?", "<!doctype", "{/*"],
        r"<\?(?P<text>[^>]{1,600})>|<!doctype\s(?P<type>[^>]{1,600})>|\{/\*(?P<note>[^}]{1,600})\}";
    COMMENT_INJECTION, title, "the title of a link, which is not shown, speaks to the model",
        ["]("],
        r#"\]\(\s*(?:<[^>\n]*>|[^\s()<>]*)\s+(?P<at>"(?P<text>[^"]{1,600})"|'(?P<type>[^']{1,600})'|\((?P<note>[^)]{1,600})\))\s*\)"#;
}

/// Judges titles of links, which are shown when a mouse rests on them, if at all.
fn title(hit: &PatternHit<'_>) -> Option<&'static Rule> {
    let text = [hit.group("text"), hit.group("type"), hit.group("note")].concat();
    if hit.kind != ContentKind::Prose || hit.fenced || is_open(hit.line_before(), b'`') {
        return None;
    }
    if is_attack(&text, hit.path) {
        return Some(hit.rule);
    }
    judge_comment(&text, false).map(|(rule, _)| rule)
}

/// Judges parts of a page that a browser does not show, if they address a model.
fn unseen(hit: &PatternHit<'_>) -> Option<&'static Rule> {
    let text = [hit.group("text"), hit.group("type"), hit.group("note")].concat();
    (hit.kind == ContentKind::Prose && !hit.fenced && is_instruction(&text)).then_some(hit.rule)
}

/// Judges an injection: in a comment it is worse, as people do not see it; in code that is shown, it is an example.
#[expect(clippy::unnecessary_wraps, reason = "a judge may return none")]
pub(super) fn injection(hit: &PatternHit<'_>) -> Option<&'static Rule> {
    Some(match (hit.comment, hit.fenced) {
        (true, false) => &COMMENT_INJECTION,
        (true, true) => &COMMENT_INSTRUCTIONS,
        (false, _) => hit.rule,
    })
}

/// Judges an order of secrecy: "Do not tell the user to restart" keeps nothing secret, nor does "never let the user
/// wait".
fn secrecy(hit: &PatternHit<'_>) -> Option<&'static Rule> {
    regexes! {
        HARMLESS = r#"^(?:'s|\xe2\x80\x99s)?\s*(?:to\b|how\b|it'?s\b|they\b|you\s+(?:can|will|have)|"|\xe2\x80\x9c)"#;
        LET = r"\slet(?:ting)?\s";
        KNOW = r"^\s+(?:know|see|find\s+out|notice)\b";
    }
    let rest = hit.group("rest");
    if is_match(&LET, hit.text()) && !is_match(&KNOW, rest) || is_match(&HARMLESS, rest) {
        return None;
    }
    injection(hit)
}
