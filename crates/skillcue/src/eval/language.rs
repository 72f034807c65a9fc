//! A guess at the language of a message whose set does not say it.
//!
//! By script where that decides (Hangul, kana, Han, Cyrillic and others), else by function words of a few languages in
//! Latin script; English if none of them occurs. Good enough to tell the figures of languages apart.

/// Scripts that stand for one language here, with its name. Kana come before Han, because Japanese has both.
const SCRIPTS: [(&str, &[(char, char)]); 9] = [
    ("ko", &[('\u{ac00}', '\u{d7a3}'), ('\u{1100}', '\u{11ff}'), ('\u{3130}', '\u{318f}')]),
    ("ja", &[('\u{3040}', '\u{30ff}')]),
    ("zh", &[('\u{3400}', '\u{4dbf}'), ('\u{4e00}', '\u{9fff}'), ('\u{20000}', '\u{2fa1f}')]),
    ("ru", &[('\u{400}', '\u{4ff}')]),
    ("el", &[('\u{370}', '\u{3ff}')]),
    ("he", &[('\u{590}', '\u{5ff}')]),
    ("ar", &[('\u{600}', '\u{6ff}')]),
    ("hi", &[('\u{900}', '\u{97f}')]),
    ("th", &[('\u{e00}', '\u{e7f}')]),
];

/// The part of the letters, one in so many, from which a script decides: names and code are often Latin.
const MIN_PART: usize = 5;

/// Function words that few other languages have.
const WORDS: [(&str, &[&str]); 7] = [
    ("en", &["the", "and", "of", "to", "is", "my", "this", "that", "with", "for", "how", "what", "it", "from"]),
    ("de", &["der", "die", "das", "und", "ist", "ich", "mir", "mein", "eine", "einen", "mit", "für", "wie", "bitte"]),
    ("fr", &["le", "les", "des", "une", "est", "je", "mon", "dans", "pour", "avec", "comment", "et", "du", "ce"]),
    ("es", &["el", "los", "las", "una", "es", "mi", "con", "para", "por", "cómo", "y", "del", "quiero", "este"]),
    ("it", &["il", "gli", "una", "è", "mio", "con", "per", "come", "che", "di", "questo", "della", "mi", "voglio"]),
    ("pt", &["o", "os", "uma", "é", "meu", "com", "para", "como", "que", "não", "do", "da", "este", "quero"]),
    ("nl", &["het", "een", "en", "ik", "mijn", "met", "voor", "hoe", "van", "dit", "niet", "graag", "wat", "naar"]),
];

/// Returns the code of the language that a message seems to be in.
pub(super) fn of(message: &str) -> &'static str {
    let letters = message.chars().filter(|c| c.is_alphabetic()).count();
    let count = |ranges: &[(char, char)]| {
        message.chars().filter(|c| ranges.iter().any(|(from, to)| (from..=to).contains(&c))).count()
    };
    let is_enough = |found: usize| found > 0 && found * MIN_PART >= letters;
    if let Some((language, _)) = SCRIPTS.into_iter().find(|(_, ranges)| is_enough(count(ranges))) {
        return language;
    }
    let message = message.to_lowercase();
    let words: Vec<&str> = message.split(|c: char| !c.is_alphanumeric()).collect();
    let score = |known: &[&str]| words.iter().filter(|word| known.contains(word)).count();
    let mut best = ("en", 0);
    for (language, known) in WORDS {
        let found = score(known);
        // Of equals the first: English words are in many messages.
        if found > best.1 {
            best = (language, found);
        }
    }
    best.0
}

#[cfg(test)]
mod tests {
    use super::of;

    #[test]
    fn scripts_and_function_words_tell() {
        let languages = [
            ("Fill in the form", "en"),
            ("pivot table", "en"),
            ("", "en"),
            ("帮我把这个 PDF 转换成 Word", "zh"),
            ("このPDFを要約してください", "ja"),
            ("이 문서를 요약해 줘", "ko"),
            ("Сделай таблицу в Excel", "ru"),
            ("Wie fülle ich das Formular mit Python aus?", "de"),
            ("Comment remplir le formulaire dans mon projet ?", "fr"),
            ("Quiero una tabla con los datos del informe", "es"),
            ("the file is called 报告.docx and it is in my documents folder", "en"),
        ];
        for (message, language) in languages {
            assert_eq!(of(message), language, "{message}");
        }
    }
}
