//! Messages and files of every day, of which a trigger that is about something fits few.

/// Messages of every day, from two to some eighty words, in seven languages: requests, replies, chat and questions about
/// code and offices in general words. None names a product, or a field that a skill would be for, so that a pattern which
/// is about something fits few of them.
///
/// A pattern that fits a quarter of them is about nothing: [`lint`](crate::lint()) says so. A selection gives less for one
/// that fits more, and nothing from half of them on.
///
/// ```
/// use skillcue_format::{ORDINARY_MESSAGES, pattern};
///
/// let fitting = |text: &str| {
///     let pattern = pattern::compile(text).unwrap();
///     ORDINARY_MESSAGES.iter().filter(|message| pattern.is_match(message)).count()
/// };
/// assert!(fitting(".{25,}") * 4 > ORDINARY_MESSAGES.len());
/// assert_eq!(fitting(r"\binvoices?\b"), 0);
/// ```
pub const ORDINARY_MESSAGES: &[&str] = &[
    "thanks a lot!",
    "ok, go on",
    "no, the other one",
    "hello, how are you?",
    "What is 2+2?",
    "fix the bug",
    "make it blue",
    "why did that fail",
    "what does this function do?",
    "Wie wird das Wetter morgen?",
    "Quel temps fera-t-il demain ?",
    "明天天气怎么样？",
    "明日の天気はどうですか。",
    "¿Puedes decirlo con menos palabras?",
    "tell me a story about a dog that is afraid of the sea",
    "Write a short letter to my landlord, the heating is broken again.",
    "rename the variable `count` to `total` everywhere and run the tests again",
    "Yes, that is what I meant. Please go on with the second one.",
    "I have two hours before the guests come: what can I cook with eggs, rice and an onion?",
    "Kannst du mir bitte erklären, warum das gestern noch ging und heute nicht mehr?",
    "Pouvez-vous relire ce texte et me dire ce qui n'est pas clair ? Je dois l'envoyer avant midi.",
    "请帮我把下面这段话改得更短一些，语气要客气，但是不要改变原来的意思，谢谢。",
    "この文章をもう少し短くして、丁寧な言い方に直してください。意味は変えないでください。",
    "Puoi farmi un elenco delle cose da portare per un fine settimana in montagna con due bambini?",
    "The loop below never ends and I don't see why:\n\nwhile (i < 10) { if (done) { i = i + 1; } }\n\nWhat should I change?",
    "I get `TypeError: cannot read properties of undefined` when I click the button a second time, the first time all is well. \
     Where should I look?",
    "My boss wants a page by tomorrow on how our first half of the year went. I have the numbers, but I do not know how to \
     begin. Can you suggest three ways to open it?",
    "We moved the parser into its own module last week. Since then the program starts slowly, although nothing in it reads \
     files any more. Have a look at the changes and tell me what you would measure first.",
    "Ich ziehe im Herbst in eine andere Stadt und muss bis dahin alles Mögliche erledigen: Wohnung kündigen, Möbel verkaufen, \
     Freunde einladen. Mach mir bitte einen Plan, Woche für Woche, mit höchstens fünf Dingen in jeder.",
    "fn add(a: i32, b: i32) -> i32 {\n    a - b\n}\n\nadd(2, 2) gives 0 but my friend says that it should be 4, who is right? \
     explain it so that a child of ten understands it",
    "Last summer my sister and I went to the island where our grandparents met. We still had the old pictures, but hardly a \
     house looked like it did then. I would like to give her something for her birthday that brings that day back, nothing \
     expensive, and it should fit into a small box. What would you do? Ask me whatever you need to know about her before you \
     answer, and please do not suggest a photo album, she has three of them already.",
    "Two people in my team do not talk to each other since the meeting on Monday, and both of them came to me. One says that \
     his work was shown without his name; the other says that he had asked him twice and never got an answer. I have to \
     speak with them tomorrow at nine. Write down what I could say in the first five minutes, in plain words, and what I \
     should rather not say.",
];

/// Files of every day, which have neither a directory, nor an ending, nor a depth in common. A glob that fits more than half
/// of them is about no kind of file.
///
/// ```
/// use skillcue_format::{ORDINARY_FILES, pattern};
///
/// let fitting = |text: &str| {
///     let glob = pattern::glob(text).unwrap().compile_matcher();
///     ORDINARY_FILES.iter().filter(|file| glob.is_match(file)).count()
/// };
/// assert!(fitting("**/*.??*") * 2 > ORDINARY_FILES.len());
/// assert_eq!(fitting("**/*.csv"), 1);
/// ```
pub const ORDINARY_FILES: &[&str] = &[
    "src/main.rs",
    "app.py",
    "web/index.html",
    "report.pdf",
    "data/sales.csv",
    "photo.png",
    "Makefile",
    "notes.txt",
    "docs/README.md",
    "package.json",
    "slides.pptx",
    "lib/util.go",
    "a/b/table.xlsx",
    "media/2024/05/figure.png",
    "config/settings.yaml",
    "tests/test_login.ts",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_have_many_lengths() {
        let words = |message: &str| message.split_whitespace().count();
        assert!(ORDINARY_MESSAGES.iter().all(|message| words(message) <= 90));
        for (least, most) in [(1, 5), (6, 20), (21, 50), (51, 90)] {
            let count = ORDINARY_MESSAGES.iter().filter(|message| (least..=most).contains(&words(message))).count();
            assert!(count >= 2, "{count} messages of {least} to {most} words");
        }
    }
}
