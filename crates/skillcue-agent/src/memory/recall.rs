//! Search terms of a message: which facts it asks for.

/// The facts that a message asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FactQuery {
    /// None: the message asks for nothing that memory could have.
    Nothing,
    /// Any fact about the user.
    General,
    /// Facts with some words.
    Words(FactTerms),
}

/// Search terms, as the index's own language writes them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct FactTerms {
    /// Facts with any of these words come first.
    pub(super) words: String,
    /// Facts with any of these phrases come next; none if it is empty.
    pub(super) phrases: String,
    /// Whether users ask about themselves: if nothing is found, anything may be what they mean.
    pub(super) asks_of_user: bool,
}

/// The most words of a message that are looked for. It may be a whole document.
const MAX_WORDS: usize = 64;

/// The expression that finds facts about the user's identity.
pub(super) const IDENTITY: &str = r#""name" OR "heiße" OR "heisse" OR "call me" OR "nenn mich""#;

/// Words by which users mean themselves.
const FIRST_PERSON: &str = "i me my mine myself we us our ours ourselves ich mich mir mein meine meinem meinen meiner \
    meines wir uns unser unsere unserem unseren unserer unseres";
/// Words by which users ask about memory itself.
const MEMORY: &str = "know remember recall remind memory memories weißt weisst erinnerst erinnere gemerkt speaking";
/// Beginnings of questions that ask what is so.
const FACTUAL: &str = "what who whom whose where when which am do did have was wer wen wem wessen wo wann welche welcher \
    welches welchen bin habe";
/// Words of questions that ask what to do.
const ADVICE: &str = "should can could would must shall need to if sollte soll kann könnte würde muss wenn wie";
/// Function words, which say nothing of what is meant. A negation is none.
pub(super) const FUNCTION_WORDS: &str = "a about am an and any anything are as at be been but by can could did do does \
    everything for from had has have he her his how if in into is it its just ll may might now of on or please re said say \
    shall she should so some tell than that the their them then there these they this those to told ve was were what when \
    where which who whom whose why will with would you your yours s t m d aber alles als auf aus bei bin bist bitte da das \
    dass dein deine dem den denn der des dich die dir du ein eine einem einen einer eines er es etwas für hab habe haben \
    hast hat ihr im ist kann kannst man mit nach noch nun nur oder sag sage sein sich sie sind und um von vom war waren \
    wann warum wem wen wenn wer wie wo woher wohin zu zum zur über";
const NEGATIONS: &str = "not nicht";

/// Words for one thing, in which it may be asked for and stated; and phrases that may state it.
#[rustfmt::skip]
const TOPICS: &[(&str, &[&str])] = &[
    ("name called call nickname surname heiße heisse nenn nennt nennen vorname nachname",
     &["i am", "i m", "ich bin"]),
    ("live lives living based home city town country address moved location wohne wohnen wohnort lebe stadt land ort \
      adresse gezogen", &[]),
    ("work works working job employer profession occupation career living company role position arbeite arbeiten arbeit \
      beruf beruflich arbeitgeber firma stelle", &["i am a", "i am an", "i m a", "i m an", "i am the", "ich bin"]),
    ("old age born birthday years alt alter jahre geboren geburtstag", &["i am", "i m", "ich bin"]),
    ("married husband wife spouse partner girlfriend boyfriend wedding verheiratet mann frau ehemann ehefrau freund \
      freundin", &[]),
    ("children child kids kid son daughter family parents mother father brother sister kinder kind sohn tochter familie \
      eltern mutter vater bruder schwester", &[]),
    ("allergic allergy allergies intolerant eat food diet vegan vegetarian allergisch allergie allergien essen esse \
      ernährung vegetarisch", &[]),
    ("like likes love prefer preference favourite favorite enjoy hobby hobbies hate mag mögen liebe bevorzuge gerne gern \
      lieblings hobbys hasse", &[]),
    ("colour color colours colors farbe farben lieblingsfarbe", &[]),
    ("pet pets dog cat haustier hund katze", &[]),
    ("language languages speak native sprache sprachen spreche muttersprache", &[]),
    ("study studied student university school degree studiere studium uni universität schule abschluss", &[]),
];

impl FactQuery {
    /// Reads the search terms of a message.
    pub(super) fn of(message: &str) -> FactQuery {
        let (mut personal, mut memory, mut before, mut general) = (false, false, String::new(), false);
        let mut content: Vec<String> = Vec::new();
        for word in words(message) {
            let is_first_person = is_in(FIRST_PERSON, &word);
            personal |= is_first_person;
            memory |= is_in(MEMORY, &word);
            general |= is_first_person && matches!(before.as_str(), "about" | "über");
            // A letter or a digit on its own means as little.
            let is_empty = [FIRST_PERSON, FUNCTION_WORDS, MEMORY, NEGATIONS].iter().any(|list| is_in(list, &word))
                || (word.len() == 1 && word.is_ascii());
            if !is_empty && content.len() < MAX_WORDS && !content.contains(&word) {
                content.push(word.clone());
            }
            before = word;
        }
        if (general && (memory || content.is_empty())) || (content.is_empty() && (personal || memory)) {
            return FactQuery::General;
        }
        if content.is_empty() {
            return FactQuery::Nothing;
        }
        let asked = |topic: &&(&str, &[&str])| personal && content.iter().any(|word| is_in(topic.0, word));
        let topics: Vec<_> = TOPICS.iter().filter(asked).collect();
        let alike = topics.iter().flat_map(|topic| topic.0.split_whitespace());
        FactQuery::Words(FactTerms {
            words: any_of(content.iter().map(String::as_str).chain(alike)),
            phrases: any_of(topics.iter().flat_map(|topic| topic.1.iter().copied())),
            asks_of_user: personal && asks_for_a_fact(message),
        })
    }
}

/// Returns whether a question asks what is so, and not what to do: `How do I leave the editor?` asks for no fact about
/// the user.
fn asks_for_a_fact(message: &str) -> bool {
    let mut words = words(message);
    words.next().is_some_and(|word| is_in(FACTUAL, &word)) && !words.any(|word| is_in(ADVICE, &word))
}

/// Returns the expression that finds any of these, each as it is.
fn any_of<'w>(words: impl Iterator<Item = &'w str>) -> String {
    words.map(|word| format!("\"{}\"", word.replace('"', "\"\""))).collect::<Vec<_>>().join(" OR ")
}

/// Returns the words of a text, in small letters: letters, digits, and the accents that stand on their own behind them.
pub(super) fn words(text: &str) -> impl Iterator<Item = String> {
    let separates = |c: char| !c.is_alphanumeric() && !('\u{300}'..='\u{36f}').contains(&c);
    text.split(separates).filter(|word| !word.is_empty()).map(str::to_lowercase)
}

/// Returns whether a list, with blanks between its words, has a word.
pub(super) fn is_in(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|other| other == word)
}
