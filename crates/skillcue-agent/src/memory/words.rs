//! Words, in English and in German: those that tell what users say, and those that tell what they ask.

/// What people say before they come to the point.
#[rustfmt::skip]
pub(super) const OPENERS: &[&str] = &[
    "hi", "hello", "hey", "ok", "okay", "so", "well", "and", "but", "also", "btw", "by the way", "fyi", "actually",
    "oh", "yes", "no", "thanks", "thank you", "for the record", "for your information", "as a reminder",
    "just so you know", "you should know", "you should know that", "let me tell you", "let me tell you that", "hallo",
    "übrigens", "und", "aber", "ja", "nein", "danke", "moin", "servus", "as i said", "like i said", "wie gesagt",
    "important", "one thing", "one more thing", "ps", "rule", "wichtig", "regel", "context", "some context",
    "for context", "background", "some background", "kontext", "zum kontext", "zum hintergrund",
];

/// What people say when they ask politely.
#[rustfmt::skip]
pub(super) const POLITE: &[&str] = &[
    "please", "bitte", "can you", "could you", "would you", "will you", "kannst du", "könntest du", "können sie",
    "also",
];

/// What asks to remember what comes next.
#[rustfmt::skip]
pub(super) const REMEMBER: &[&str] = &[
    "remember", "keep in mind", "bear in mind", "don't forget", "do not forget", "memorize", "memorise",
    "make a note", "take note", "merk dir", "merke dir", "merken sie sich", "dir merken", "dir bitte merken", "merk dir bitte", "merke dir bitte", "denk daran", "denk dran",
    "denke daran", "vergiss nicht", "notiere dir", "notier dir",
];

/// What does so only with `that` behind it.
#[rustfmt::skip]
pub(super) const NOTE: &[&str] = &[
    "note", "notice", "beachte", "notiere",
];

/// What may stand between.
#[rustfmt::skip]
pub(super) const THAT: &[&str] = &[
    "that", "this", "dass", "daß", "folgendes",
];

/// What, behind `remember`, asks for something else.
#[rustfmt::skip]
pub(super) const NO_FACT: &[&str] = &[
    "when", "how", "what", "where", "who", "why", "which", "if", "me", "us", "wann", "wie", "was", "wo", "wer",
    "warum",
];

/// How rules begin.
#[rustfmt::skip]
pub(super) const RULES: &[&str] = &[
    "always", "never", "from now on", "in future", "in the future", "by default", "immer", "nie", "niemals",
    "ab jetzt", "ab sofort", "von jetzt an", "von nun an", "in zukunft", "künftig", "grundsätzlich",
];

/// What begins like one, and is none.
#[rustfmt::skip]
pub(super) const NO_RULES: &[&str] = &[
    "never mind", "never seen", "never heard", "never had", "never been", "never again", "always a", "always nice",
    "always good", "always happy", "always been", "nie gehört", "nie gesehen", "nie wieder", "nie im leben",
    "immer noch", "immer das", "immer wieder", "immer dasselbe",
];

/// Those of them that may come later, too.
#[rustfmt::skip]
pub(super) const FROM_NOW_ON: &[&str] = &[
    "from now on", "in future", "in the future", "ab jetzt", "ab sofort", "von jetzt an", "von nun an", "in zukunft",
];

/// Those that come second where one is told what to do.
#[rustfmt::skip]
pub(super) const SECOND: &[&str] = &[
    "immer", "nie", "niemals", "nur noch",
];

/// Words before which they say something else.
#[rustfmt::skip]
pub(super) const NOT_TOLD: &[&str] = &[
    "es", "das", "dies", "der", "die", "er", "sie", "ich", "wir", "man", "noch", "fast",
];

/// What happens now, and is another thing tomorrow.
#[rustfmt::skip]
pub(super) const TROUBLE: &[&str] = &[
    "error", "errors", "fail", "fails", "failed", "failing", "crash", "crashes", "crashed", "exception", "traceback",
    "broken", "doesn't work", "does not work", "don't work", "won't compile", "doesn't compile", "does not compile",
    "fehler", "fehlermeldung", "stürzt ab", "abgestürzt", "funktioniert nicht", "kaputt",
];

/// How questions begin, even without a mark.
#[rustfmt::skip]
pub(super) const QUESTIONS: &[&str] = &[
    "what", "what's", "who", "who's", "where", "where's", "when", "why", "how", "how's", "which", "whose", "do",
    "does", "did", "can", "could", "would", "will", "is", "are", "am", "was", "were", "should", "shall", "may",
    "have i", "has", "wer", "wo", "wann", "warum", "wieso", "wie", "welche", "welcher", "welches", "kannst",
    "könntest", "hast", "habe ich", "bin ich", "ist", "sind", "soll", "sollte", "weißt", "erinnerst",
];

/// What makes a sentence a request, wherever it stands.
#[rustfmt::skip]
pub(super) const REQUESTS: &[&str] = &[
    "please", "pls", "plz", "bitte", "can you", "could you", "would you", "will you", "want you to", "need you to",
    "like you to", "kannst du", "könntest du", "würdest du", "können sie", "könnten sie", "let's", "let me",
    "lass uns",
];

/// What users do when they speak of what they want now, or of nothing in particular.
#[rustfmt::skip]
pub(super) const PASSING: &[&str] = &[
    "want", "need", "wish", "would like", "would love", "wonder", "wondered", "was wondering", "think", "guess",
    "believe", "suppose", "hope", "mean", "see", "know", "understand", "agree", "bet", "doubt", "get", "got",
    "should", "must", "have to", "had to", "can see", "don't know", "don't understand", "don't see", "don't think",
    "don't get", "do not know", "do not understand", "do not think", "can't", "cannot", "could", "have a question",
    "have a problem", "have an issue", "have an error", "have a bug", "tried", "try", "will", "möchte", "brauche",
    "hätte", "würde", "glaube", "denke", "meine", "hoffe", "frage mich", "verstehe", "weiß nicht", "weiss nicht",
    "finde", "muss", "soll", "sollte", "kann", "bekomme", "brauchen", "wollen", "sollten", "müssen", "können",
    "möchten", "habe eine frage", "habe ein problem",
];

/// The same behind `I'm`.
#[rustfmt::skip]
pub(super) const PASSING_NOW: &[&str] = &[
    "trying", "getting", "looking", "having", "wondering", "seeing", "asking", "not sure", "sorry", "confused",
    "stuck", "done", "back", "afraid", "glad", "happy to", "going to", "about to", "nicht sicher", "fertig", "froh",
];

/// How users say what they are.
#[rustfmt::skip]
pub(super) const BE: &[&str] = &[
    "i'm", "i am", "we're", "we are", "ich bin", "wir sind",
];

/// Words by which users mean themselves, as what a sentence is about.
#[rustfmt::skip]
pub(super) const SUBJECTS: &[&str] = &[
    "i", "i'm", "i've", "we", "we're", "we've", "ich", "wir", "mir",
];

/// Words for what is theirs.
#[rustfmt::skip]
pub(super) const POSSESSIVES: &[&str] = &[
    "my", "our", "mein", "meine", "meinem", "meinen", "meiner", "meines", "unser", "unsere", "unserem", "unseren",
    "unserer", "unseres",
];

/// How sentences begin whose subject comes later.
#[rustfmt::skip]
pub(super) const ARTICLES: &[&str] = &[
    "the", "this", "der", "die", "das", "dieser", "diese", "dieses",
];

/// The same for where and when.
#[rustfmt::skip]
pub(super) const PLACES: &[&str] = &[
    "in", "at", "for", "since", "on", "from", "during", "currently", "usually", "normally", "professionally",
    "mostly", "bei", "im", "am", "seit", "für", "meistens", "normalerweise", "derzeit", "beruflich", "aktuell",
];

/// What says how something is.
#[rustfmt::skip]
pub(super) const IS: &[&str] = &[
    "is", "are", "was", "uses", "has", "ist", "sind", "war", "heißt", "hat", "nutzt",
];

/// How users say who they are.
#[rustfmt::skip]
pub(super) const INTRODUCTIONS: &[&str] = &[
    "i'm", "i am", "my name is", "my name's", "ich bin", "ich heiße", "mein name ist",
];

/// How users say what they are called.
#[rustfmt::skip]
pub(super) const NAMES: &[&str] = &[
    "call me", "calls me", "nenn mich", "nennt mich", "nennen mich",
];

/// Words that end with a full stop, which ends no sentence.
#[rustfmt::skip]
pub(super) const SHORT: &[&str] = &[
    "e.g", "i.e", "z.b", "d.h", "u.a", "dr", "mr", "mrs", "ms", "st", "prof", "vs", "etc", "bzw", "ca", "nr", "usw",
    "no", "approx", "inc", "ltd", "jr", "sr",
];

/// Words by which users mean themselves.
#[rustfmt::skip]
pub(super) const FIRST_PERSON: &[&str] = &[
    "i", "me", "my", "mine", "myself", "we", "us", "our", "ours", "ourselves", "ich", "mich", "mir", "mein", "meine",
    "meinem", "meinen", "meiner", "meines", "wir", "uns", "unser", "unsere", "unserem", "unseren", "unserer",
    "unseres",
];

/// What tells what somebody else says.
#[rustfmt::skip]
pub(super) const SPEECH: &[&str] = &[
    "says", "said", "wrote", "told me", "tells me", "told us", "tells us", "claims", "sagt", "sagte", "schrieb",
    "meinte", "behauptet",
];

/// What is done to texts and to nothing else.
#[rustfmt::skip]
pub(super) const PROCESS_TEXT: &[&str] = &[
    "summarise", "summarize", "translate", "proofread", "rewrite", "rephrase", "paraphrase", "tl dr", "tldr",
    "übersetze", "übersetz", "übersetzen", "zusammenfassen", "zusammenfassung", "zusammen", "korrigiere", "umformulieren",
    "summary", "translation", "übersetzung",
];

/// What is done to texts and to other things.
#[rustfmt::skip]
pub(super) const PROCESS: &[&str] = &[
    "fix", "correct", "improve", "shorten", "polish", "review", "explain", "analyse", "analyze", "classify", "extract",
    "check", "reply", "respond", "write", "answer", "look at", "see", "verbessere", "erkläre", "prüfe", "schreibe",
    "schreib", "beantworte", "analysiere", "kürze",
];

/// Words for what is pasted, and for how one came by it.
#[rustfmt::skip]
pub(super) const TEXTS: &[&str] = &[
    "page", "text", "letter", "mail", "email", "readme", "article", "document", "doc", "log", "logs", "output",
    "transcript", "story", "poem", "essay", "paragraph", "paragraphs", "sentence", "sentences", "quote", "excerpt",
    "website", "post", "tweet", "comment", "message", "chat", "lyrics", "song", "chapter", "dialogue", "conversation",
    "prompt", "template", "resume", "cv", "bio", "file", "snippet", "instructions", "notes", "diff", "issue", "ticket",
    "grammar", "spelling", "copied", "pasted", "found", "got", "received", "saw", "heard", "begins", "starts", "seite",
    "brief", "artikel", "dokument", "aufsatz", "gedicht", "geschichte", "satz", "sätze", "absatz", "zitat", "nachricht",
    "datei", "grammatik", "kopiert", "gefunden", "bekommen", "gelesen", "beginnt", "anfängt", "lautet",
];

/// Words that point at what comes next.
#[rustfmt::skip]
pub(super) const DEMONSTRATIVES: &[&str] = &[
    "this", "these", "following", "below", "here", "dies", "diese", "diesen", "dieses", "diesem", "dieser", "folgende",
    "folgenden", "folgendes", "folgendem", "unten", "hier",
];

/// What says that something comes next.
#[rustfmt::skip]
pub(super) const HERE_IS: &[&str] = &[
    "here is", "here's", "here are", "hier ist", "hier sind", "see below", "siehe unten",
];

/// What announces that users speak of themselves.
#[rustfmt::skip]
pub(super) const ABOUT_SELF: &[&str] = &[
    "about me", "about myself", "about us", "about our", "about my", "preferences", "rules", "conventions", "setup",
    "über mich", "über uns", "zu mir", "vorlieben", "regeln", "konventionen",
];

/// What stands before a colon and announces nothing.
#[rustfmt::skip]
pub(super) const LABELS: &[&str] = &[
    "note", "important", "fyi", "btw", "by the way", "ps", "p s", "rule", "hint", "edit", "update", "one thing",
    "one more thing", "my email", "my e mail", "my mail", "my website", "beachte", "hinweis", "wichtig", "regel",
    "meine mail", "meine e mail", "meine website", "context", "some context", "for context", "background",
    "some background", "kontext", "zum kontext", "zum hintergrund",
];

/// How lines in the head of a mail begin.
#[rustfmt::skip]
pub(super) const HEADERS: &[&str] = &[
    "from", "to", "cc", "bcc", "subject", "date", "sent", "reply-to", "received", "message-id", "von", "an", "betreff",
    "gesendet", "datum",
];

/// Words by which users ask what is remembered.
#[rustfmt::skip]
pub(super) const MEMORY: &[&str] = &[
    "know", "remember", "recall", "remind", "memory", "memories", "weißt", "weisst", "erinnerst", "erinnere",
    "gemerkt", "speaking",
];

/// Words that say nothing of what is meant.
#[rustfmt::skip]
pub(super) const STOP: &[&str] = &[
    "a", "about", "am", "an", "and", "any", "anything", "are", "as", "at", "be", "been", "but", "by", "can", "could",
    "did", "do", "does", "everything", "for", "from", "had", "has", "have", "he", "her", "his", "how", "if", "in",
    "into", "is", "it", "its", "just", "ll", "may", "might", "not", "now", "of", "on", "or", "please", "re", "said",
    "say", "shall", "she", "should", "so", "some", "tell", "than", "that", "the", "their", "them", "then", "there",
    "these", "they", "this", "those", "to", "told", "ve", "was", "were", "what", "when", "where", "which", "who",
    "whom", "whose", "why", "will", "with", "would", "you", "your", "yours", "aber", "alles", "als", "auf", "aus",
    "bei", "bin", "bist", "bitte", "da", "das", "dass", "dein", "deine", "dem", "den", "denn", "der", "des", "dich",
    "die", "dir", "du", "ein", "eine", "einem", "einen", "einer", "eines", "er", "es", "etwas", "für", "hab", "habe",
    "haben", "hast", "hat", "ihr", "im", "ist", "kann", "kannst", "man", "mit", "nach", "nicht", "noch", "nun", "nur",
    "oder", "sag", "sage", "sein", "sich", "sie", "sind", "und", "um", "von", "vom", "war", "waren", "wann", "warum",
    "wem", "wen", "wenn", "wer", "wie", "wo", "woher", "wohin", "zu", "zum", "zur", "über",
];
