//! Acts: what a message does beside asking for work. It asks for a fact, gives thanks, or answers.

use std::sync::LazyLock;

use regex::Regex;

/// Returns whether a message asks what something is, or for an explanation. A greeting may come first.
pub(crate) fn is_question(text: &str) -> bool {
    static QUESTION: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"(?i)^[ \t\r\n]*(?:(?:hi|hey|hello|hallo|hola|ok|okay|so|and|please|pls|btw|quick question)(?:[ \t\r\n,.!:;-]+(?:there|all)?)?[ \t\r\n,.!:;-]+)*(?:(?:what(?:'s|’s| +is| +are| +does)|why|who|explain|tell me|(?:can|could|would) you (?:please )?(?:explain|tell me) (?:what|why|who|when|where|the difference)|i wonder (?:what|why|who)|do you know (?:what|why|who|when|where)|how (?:do|does|did)(?: [^ ]+){1,4} work|when (?:was|were|did|is)|difference|is|are|does|quali?|quante?|quanti|che cos.?è|cos['’]è|perché|qu[eé] es|o que é|wat is|co to jest|vad är|hvad er|cuál|cuánt[ao]s?|por qué|qu['’]est.ce|quel|quelle|pourquoi|was ist|warum|что такое|почему)(?:[^a-zà-ÿа-я]|$))|是什么|什么是|为什么|有什么区别|란 무엇|뭐야|무엇인|설명해|とは何|って何").ok()
    });
    QUESTION.as_ref().is_some_and(|question| question.is_match(text))
}

/// Returns whether a message asks for the definition of one or two words, and for nothing else; or says that something works.
pub(crate) fn is_definition(text: &str) -> bool {
    static DEFINITION: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"(?i)^[ \t\r\n]*(?:(?:hi|hey|hello|so|and|please)[ ,.!]+)*(?:what(?:'s|’s| is| are)|who is|was ist|was sind|qu['’]est[- ]ce que?|qu[eé] es|o que é|che cos['’]è|wat is)(?: (?:an?|ein|eine|une?|una|um|uma))? [^ ?!.]+(?: [^ ?!.]+)?[ ?!.]*$|^[^ ]{1,24}(?:是什么|란 무엇|とは何)|什么是[^ ]{1,24}$").ok()
    });
    // What is mine, or the only one of its kind, is a thing: "what's my schedule?", "what is the weather?".
    static THING: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"(?i)^[ \t\r\n]*[^?!.]*(?:what(?:'s|’s| is| are)|who is|was ist|was sind|wat is) (?:the|my|our|your|this|that|these|those|its|their|new|wrong|mein|meine|unser|unsere|dieser?|dieses|das|der|die)(?: |[?!.]|$)").ok()
    });
    let defines = DEFINITION.as_ref().is_some_and(|definition| definition.is_match(text))
        && !THING.as_ref().is_some_and(|thing| thing.is_match(text));
    defines || is_about_fact(text) || is_success(text)
}

/// Returns whether a message asks for a fact about a thing in general: its history, its name, a constant.
fn is_about_fact(text: &str) -> bool {
    static FACT: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"(?i)^[ \t\r\n]*(?:(?:hi|hey|hello|so|and|please|ok|btw)[ ,.!]+)*(?:who (?:invented|founded|designed|developed) [^,;\n]{1,60}$|when (?:was|were|did) [^?\n]{1,60}(?:released|invented|founded|come out)[ ?.!]*$|how old (?:is|are) [^,;\n]{1,60}$|what (?:does|do|did) [^ ?\n]+(?: [^ ?\n]+)? (?:stand for|mean|means)[ ?.!]*$|where does [^?\n]{1,60} come from|did [^ ?\n]+ [^?\n]{1,80} (?:by hand|back then|originally)|(?:wofür|für was) steht|wer hat|que veut dire|qué significa)").ok()
    });
    FACT.as_ref().is_some_and(|fact| fact.is_match(text))
}

/// Returns whether a message gives thanks for something that works.
pub(crate) fn is_success(text: &str) -> bool {
    static SUCCESS: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"(?i)^[ \t\r\n]*(?:(?:great|nice|perfect|awesome|cool|yes|super)[ ,.!]+)*(?:thanks|thank you|thx|danke|merci|gracias|grazie|great|nice|perfect|awesome)[ ,.!][^?\n]{0,120}(?-u:\b)(?:works|worked|working|fixed|solved|helped|funktioniert|marche|funciona)(?-u:\b)(?:[ ,.!]+(?:now|again|well|great|fine|perfectly|jetzt|maintenant|ahora|thanks|thank you|thx))*[ ,.!]*$").ok()
    });
    // "Thanks, but it never worked", "great, now make sure that it works".
    const OPEN: [&str; 16] = [
        "but",
        "not",
        "never",
        "now make",
        "please",
        "make sure",
        "check",
        "verify",
        "get",
        "until",
        "if",
        "whether",
        "hasn",
        "should",
        "can",
        "could",
    ];
    let is_open = || {
        let lower = text.to_lowercase();
        lower.contains("n't") || lower.contains("n’t") || OPEN.iter().any(|open| has_words(&lower, open))
    };
    SUCCESS.as_ref().is_some_and(|success| success.is_match(text)) && !is_open()
}

/// Returns whether a text has words, one after another.
fn has_words(text: &str, words: &str) -> bool {
    text.match_indices(words).any(|(at, _)| {
        let ends = |char: Option<char>| char.is_none_or(|char| !char.is_alphanumeric());
        ends(text[..at].chars().next_back()) && ends(text[at + words.len()..].chars().next())
    })
}

/// The words of replies that ask for nothing by themselves.
const REPLIES: &str = include_str!("replies.txt");
/// How many bytes a reply has at most.
const MAX_REPLY: usize = 64;

/// Returns whether a message is a reply like "yes, go on", which asks for nothing by itself.
///
/// What it is about was said before, and no skill is found by these words.
pub(crate) fn is_reply(text: &str) -> bool {
    static WORDS: LazyLock<std::collections::HashSet<&str>> = LazyLock::new(|| REPLIES.split_whitespace().collect());
    let text = text.trim();
    let is_part = |char: char| char.is_alphanumeric();
    text.len() <= MAX_REPLY
        && text.contains(is_part)
        && text.to_lowercase().split(|char| !is_part(char)).all(|word| word.is_empty() || WORDS.contains(word))
}

/// Returns whether a message is a reply that gives thanks or greets.
pub(crate) fn is_thanks(text: &str) -> bool {
    const THANKS: [&str; 14] = [
        "thank",
        "thanks",
        "thx",
        "danke",
        "merci",
        "gracias",
        "grazie",
        "obrigado",
        "obrigada",
        "hello",
        "hi",
        "hallo",
        "谢谢",
        "ありがとう",
    ];
    is_reply(text)
        && THANKS
            .iter()
            .any(|word| text.to_lowercase().split(|char: char| !char.is_alphanumeric()).any(|it| it == *word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_about_a_topic_are_recognised() {
        for question in [
            "What is Elastic Beanstalk?",
            "what's new",
            "Why does it fail",
            "Qual è la differenza?",
            "Perché no?",
            "什么是 RAG",
            "hey, what is docker compose?",
            "Hi! What is docker compose?",
            "please explain docker compose",
            "can you explain what docker compose is?",
            "could you tell me what a mutex is",
            "how does docker compose work?",
            "do you know what RAG is?",
            "when was woodpecker released?",
            "que es docker",
            "wat is docker",
        ] {
            assert!(is_question(question), "{question}");
        }
        for request in [
            "Whatever fits",
            "Whose file is it",
            "issue an invoice",
            "Fill in form.pdf",
            "aresenal",
            "",
            "can you tell me how to fill in a form",
            "hey, fix the build",
            "thanks, it works, now add a test",
            "Great, that worked. Next, merge both files",
            "how do I merge two PDFs",
            "please fill in the form",
        ] {
            assert!(!is_question(request), "{request}");
        }
    }

    #[test]
    fn definitions_and_successes_are_recognised() {
        for message in [
            "What is Elastic Beanstalk?",
            "hey, what's a mutex",
            "Was ist ein Mutex?",
            "什么是RAG",
            "RAG是什么",
            "what does PDF stand for?",
            "how old is git and who wrote it?",
            "Who invented Elastic Beanstalk and when?",
        ] {
            assert!(is_definition(message), "{message}");
        }
        for message in ["thanks, the docker compose file works now!", "great, the restic backup works now, thank you"] {
            assert!(is_definition(message) && is_success(message), "{message}");
        }
        for message in [
            "What is wrong with my docker compose file?",
            "what does this regex mean for my parser, fix it",
            "when did the deployment of our shop fail",
            "What's the weather?",
            "What's my schedule?",
            "what are my tasks",
            "what is the status of prod?",
            "who wrote this migration, revert it",
            "what does the error ENOSPC in my docker build mean?",
            "thanks, but the pdf is not working",
            "thanks, it never worked",
            "thanks, please get the excel export working",
            "Great, now make sure that the pdf works",
            "is there a parrot?",
            "why does docker fail",
            "thanks, it works, now add a test",
            "Great, that worked. Next, merge both files",
        ] {
            assert!(!is_definition(message), "{message}");
        }
    }

    #[test]
    fn replies_are_recognised() {
        for reply in [
            "yes",
            "Yes, please!",
            "OK, go ahead.",
            "looks good to me",
            "weiter",
            "Ja, mach weiter",
            "好的",
            "sí, gracias",
        ] {
            assert!(is_reply(reply), "{reply}");
        }
        for request in ["yes, merge them", "run the tests", "next.js", "", "?!", "hello-extended"] {
            assert!(!is_reply(request), "{request}");
        }
        assert!(is_thanks("thanks!") && is_thanks("hello") && !is_thanks("do this please") && !is_thanks("yes"));
    }
}
