//! Ten triggers for every skill, and messages that hold some of them.
//!
//! The measurements of matching need very many skills with very many triggers, which public repositories do not have
//! yet. Words are drawn by Zipf's law as Mandelbrot corrected it, so that at 100,000 skills some keywords are shared by
//! thousands and most by a handful. Verbs are few, as they are in English: each is shared by thousands.
//!
//! ```
//! use skillcue_bench::triggers;
//!
//! let skill = triggers::of(1, 0);
//! assert_eq!((skill.keywords.len(), skill.verbs.len()), (6, 3));
//! let message = triggers::message(1, 20, 0);
//! assert_eq!(message.split_whitespace().count(), 20);
//! ```

use crate::generate::random::Random;
use crate::generate::words::{SUBJECTS, VERBS};
use std::sync::LazyLock;

/// The number of different patterns.
pub const PATTERNS: usize = 1_000;
/// The number of different words that keywords are made of.
const WORDS: usize = 50_000;
/// The number of different phrases, of two words each.
const PHRASES: usize = 20_000;

/// The triggers of one skill: ten in all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillTriggers {
    /// Four words and two phrases.
    pub keywords: Vec<String>,
    /// Three.
    pub verbs: Vec<String>,
    /// One of [`PATTERNS`].
    pub pattern: String,
}

/// Returns the triggers of the skill at `index`.
pub fn of(seed: u64, index: usize) -> SkillTriggers {
    let mut random = Random::for_item(seed ^ 0x7216, index as u64);
    let mut keywords = Vec::with_capacity(6);
    distinct(&mut keywords, 4, || word(WORD_RANKS.draw(&mut random)));
    distinct(&mut keywords, 6, || phrase(PHRASE_RANKS.draw(&mut random)));
    let mut verbs = Vec::with_capacity(3);
    distinct(&mut verbs, 3, || verb(VERB_RANKS.draw(&mut random)).to_lowercase());
    // Every pattern once in 1,000 skills, in an order that looks random: 617 and 1,000 have no
    // divisor in common.
    SkillTriggers { keywords, verbs, pattern: pattern(index * 617 % PATTERNS) }
}

/// Draws until there are `count` different ones.
fn distinct(words: &mut Vec<String>, count: usize, mut draw: impl FnMut() -> String) {
    while words.len() < count {
        let word = draw();
        if !words.contains(&word) {
            words.push(word);
        }
    }
}

/// Returns whether a message must hold some text for the pattern of that number to match; one in a hundred has no such
/// text, and has to be run on every message.
pub fn has_literal(number: usize) -> bool {
    number % 100 != 99
}

/// Returns the pattern of that number, below [`PATTERNS`].
pub fn pattern(number: usize) -> String {
    if !has_literal(number) {
        return WITHOUT_LITERAL[number / 100 % WITHOUT_LITERAL.len()].to_owned();
    }
    // A word of its own for each, from the most common to the rare.
    let (w, v) = (word(number * 11), word(number * 7 + 3_000));
    match number % 7 {
        0 => format!(r"\b(fix|check|review)\s+(my|the|this)\s+{w}s?\b"),
        1 => format!(r"\b{w}[-_ ]?{v}\b"),
        2 => format!(r"\b[\w-]+\.{w}\b"),
        3 => format!(r"how (do|can|should) (i|we) .*\b{w}\b"),
        4 => format!(r"\b{}-\d+\b", w.to_uppercase()),
        5 => format!(r"\b(import|export|convert) .{{0,40}}\b{w}\b"),
        _ => format!(r"\b{w}(ing|ed|s)?\b.*\bnot working\b"),
    }
}

const WITHOUT_LITERAL: &[&str] = &[
    r"\b\d{1,2}[:.]\d{2}\b",
    r"\b[0-9a-f]{7,40}\b",
    r"\b[A-Z]{2,5}\d{3,}\b",
    r"^\W*\w+[?!]+\s*$",
    r"\d{3,}\s*[%€$]",
    r"\b\w+[/\\]\w+[/\\]\w+\b",
    r"\p{Han}{4,}",
    r"\b[a-z]{24,}\b",
    r"^\s*[-*+]\s+\w+[:;]",
    r"\b\d+\s?[xX×]\s?\d+\b",
];

/// Returns the `number`-th message of so many words: most of them ordinary, one in eight something that triggers
/// skills, if there are many.
pub fn message(seed: u64, words: usize, number: usize) -> String {
    let mut random = Random::for_item(seed ^ (words as u64) << 32, number as u64);
    let mut text = String::with_capacity(words * 7);
    let (mut left, mut sentence) = (words, true);
    while left > 0 {
        let piece = match random.below(1000) {
            0..90 => word(WORD_RANKS.draw(&mut random)),
            90..105 => phrase(PHRASE_RANKS.draw(&mut random)),
            105..120 => verb(VERB_RANKS.draw(&mut random)).to_lowercase(),
            120..130 => inflected(&mut random),
            130..135 => format!("fix the {}", word(random.below(PATTERNS) * 11)),
            135..150 => (random.below(5_000) + 2).to_string(),
            _ => random.pick(ORDINARY).to_owned(),
        };
        // A piece that no longer fits is left at its first words.
        for piece in piece.split(' ').take(left) {
            left -= 1;
            if !text.is_empty() {
                text.push(' ');
            }
            let mut letters = piece.chars();
            if sentence {
                text.extend(letters.next().map(|first| first.to_ascii_uppercase()));
            }
            text.push_str(letters.as_str());
            sentence = false;
        }
        match random.below(100) {
            _ if left == 0 => text.push(random.pick(&["?", ".", "!"]).chars().next().unwrap_or('.')),
            0..8 => {
                text.push('.');
                sentence = true;
            }
            8..14 => text.push(','),
            _ => {}
        }
    }
    text
}

/// Returns the first `count` messages of so many words.
pub fn messages(seed: u64, words: usize, count: usize) -> Vec<String> {
    (0..count).map(|number| message(seed, words, number)).collect()
}

/// Returns a regular form of a verb.
fn inflected(random: &mut Random) -> String {
    let verb = verb(VERB_RANKS.draw(random)).to_lowercase();
    let stem = verb.strip_suffix('e').unwrap_or(&verb);
    match random.below(3) {
        0 => format!("{verb}s"),
        1 => format!("{stem}ed"),
        _ => format!("{stem}ing"),
    }
}

/// Returns the word of a rank: the commonest are those that skills are about, the others are made up.
fn word(rank: usize) -> String {
    const CONSONANTS: &[u8; 20] = b"bcdfghjklmnpqrstvwxz";
    const VOWELS: &[u8; 5] = b"aeiou";
    const SYLLABLES: usize = CONSONANTS.len() * VOWELS.len();
    if let Some(word) = SUBJECTS.get(rank) {
        return (*word).to_owned();
    }
    // Three syllables. An affine map, so that neighbours are unlike, and none comes twice.
    let mut number = rank * 618_033 % SYLLABLES.pow(3);
    let mut word = String::with_capacity(7);
    for _ in 0..3 {
        let syllable = number % SYLLABLES;
        number /= SYLLABLES;
        word.push(char::from(CONSONANTS[syllable / VOWELS.len()]));
        word.push(char::from(VOWELS[syllable % VOWELS.len()]));
    }
    // Some could be an inflection of a verb.
    if rank.is_multiple_of(3) {
        word.push(char::from(b"snrdt"[rank % 5]));
    }
    word
}

fn phrase(rank: usize) -> String {
    let mut random = Random::for_item(0x0009_4852, rank as u64);
    let [first, second] = [(); 2].map(|()| word(WORD_RANKS.draw(&mut random)));
    format!("{first} {second}")
}

fn verb(rank: usize) -> &'static str {
    if rank < VERBS.len() { VERBS[rank] } else { MORE_VERBS[rank - VERBS.len()] }
}

/// The frequency of each rank: as 1/(rank + 10), Mandelbrot's law, in whole numbers.
struct Ranks {
    /// The sums of the frequencies up to and with each rank.
    sums: Vec<u64>,
}

static WORD_RANKS: LazyLock<Ranks> = LazyLock::new(|| Ranks::of(WORDS));
static PHRASE_RANKS: LazyLock<Ranks> = LazyLock::new(|| Ranks::of(PHRASES));
static VERB_RANKS: LazyLock<Ranks> = LazyLock::new(|| Ranks::of(VERBS.len() + MORE_VERBS.len()));

impl Ranks {
    fn of(count: usize) -> Self {
        let weights = (0..count as u64).map(|rank| 1_000_000_000 / (rank + 10));
        let sums = weights.scan(0, |sum, weight| {
            *sum += weight;
            Some(*sum)
        });
        Self { sums: sums.collect() }
    }

    fn draw(&self, random: &mut Random) -> usize {
        let total = self.sums.last().copied().unwrap_or(1);
        let at = random.below(usize::try_from(total).unwrap_or(usize::MAX)) as u64;
        self.sums.partition_point(|sum| *sum <= at)
    }
}

#[rustfmt::skip]
const MORE_VERBS: &[&str] = &[
    "Add", "Align", "Annotate", "Approve", "Archive", "Assign", "Attach", "Balance", "Benchmark",
    "Cache", "Calculate", "Classify", "Configure", "Connect", "Copy", "Count", "Crop", "Decode",
    "Delete", "Document", "Download", "Encrypt", "Evaluate", "Filter", "Forecast", "Group",
    "Highlight", "Improve", "Install", "Label", "Launch", "Measure", "Normalize", "Parse",
    "Predict", "Print", "Profile", "Query", "Record", "Rename", "Render", "Replace", "Report",
    "Resize", "Restore", "Rotate", "Schedule", "Send", "Simplify", "Sort", "Store", "Tag", "Train",
    "Upload", "Visualize",
];

/// Words of any message.
#[rustfmt::skip]
const ORDINARY: &[&str] = &[
    "a", "about", "after", "again", "all", "almost", "already", "also", "always", "am", "an", "and",
    "another", "any", "anything", "are", "around", "as", "asked", "at", "away", "back", "be",
    "because", "been", "before", "being", "best", "better", "between", "both", "but", "by", "call",
    "came", "can", "could", "day", "did", "different", "do", "does", "doing", "done", "down", "during",
    "each", "either", "else", "end", "enough", "even", "ever", "every", "everything", "far", "few",
    "find", "first", "for", "from", "gave", "get", "getting", "give", "go", "goes", "going", "good",
    "got", "great", "had", "half", "hard", "has", "have", "having", "he", "help", "her", "here", "him",
    "his", "hope", "how", "however", "I", "idea", "if", "in", "into", "is", "it", "its", "just", "keep",
    "kept", "kind", "know", "last", "later", "least", "left", "less", "let", "like", "likely", "little",
    "long", "look", "looked", "looking", "looks", "made", "make", "makes", "making", "many", "may", "me",
    "mean", "means", "might", "month", "more", "morning", "most", "much", "must", "my", "need", "needed",
    "needs", "never", "new", "next", "nice", "no", "not", "nothing", "now", "of", "off", "often", "old",
    "on", "once", "one", "only", "or", "other", "our", "out", "over", "own", "part", "people", "place",
    "please", "problem", "put", "quite", "rather", "really", "right", "said", "same", "saw", "say",
    "see", "seems", "seen", "she", "should", "show", "since", "small", "so", "some", "someone",
    "something", "soon", "still", "such", "sure", "take", "taken", "takes", "tell", "than", "thank",
    "that", "the", "their", "them", "then", "there", "these", "they", "thing", "things", "think", "this",
    "those", "though", "thought", "through", "time", "to", "today", "together", "tomorrow", "too",
    "took", "tried", "try", "trying", "two", "under", "until", "up", "us", "use", "used", "using",
    "very", "want", "wanted", "wants", "was", "way", "we", "week", "well", "went", "were", "what",
    "when", "where", "whether", "which", "while", "who", "why", "will", "with", "without", "word",
    "work", "worked", "working", "would", "year", "yes", "yesterday", "yet", "you", "your",
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{HashMap, HashSet};

    #[test]
    fn words_are_unlike_each_other_and_plain() {
        let words: HashSet<String> = (0..WORDS).map(word).collect();
        assert_eq!(words.len(), WORDS);
        assert!(words.iter().all(|word| word.len() >= 3 && word.bytes().all(|b| b.is_ascii_lowercase())));
        let ordinary: Vec<_> = ORDINARY.iter().filter(|word| words.contains(**word)).collect();
        assert!(ordinary.is_empty(), "{ordinary:?} trigger skills");
        let verbs: HashSet<&str> = (0..VERB_RANKS.sums.len()).map(verb).collect();
        assert_eq!(verbs.len(), 100);
    }

    #[test]
    fn ten_for_each_skill_and_a_thousand_patterns() {
        let mut patterns = HashSet::new();
        for index in 0..PATTERNS {
            let SkillTriggers { keywords, verbs, pattern } = of(1, index);
            assert_eq!(keywords.iter().filter(|word| word.contains(' ')).count(), 2, "{keywords:?}");
            let all: HashSet<&String> = keywords.iter().chain(&verbs).collect();
            assert!(keywords.len() == 6 && verbs.len() == 3 && all.len() >= 8, "{keywords:?} {verbs:?}");
            assert!(!pattern.contains('\''), "it stands in quotes");
            patterns.insert(pattern);
        }
        assert_eq!(patterns.len(), PATTERNS);
        assert_eq!((0..PATTERNS).filter(|number| !has_literal(*number)).count(), 10);
        assert_ne!(of(1, 5), of(2, 5));
    }

    #[test]
    fn some_keywords_are_shared_by_many_and_most_by_few() {
        let mut shared: HashMap<String, usize> = HashMap::new();
        for index in 0..10_000 {
            for keyword in of(1, index).keywords {
                *shared.entry(keyword).or_default() += 1;
            }
        }
        let most = shared.values().max().copied().unwrap_or(0);
        assert!((300..600).contains(&most), "{most} of 10,000 share the commonest");
        let rare = shared.values().filter(|count| **count <= 2).count();
        assert!(rare * 2 > shared.len(), "{rare} of {} are rare", shared.len());
    }

    #[test]
    fn messages_have_their_length_and_differ() {
        for (words, count) in [(1, 3), (20, 200), (200, 200), (2_000, 30)] {
            let messages = messages(7, words, count);
            assert!(messages.iter().all(|message| message.split_whitespace().count() == words));
            assert_eq!(messages, self::messages(7, words, count));
            let different: HashSet<&String> = messages.iter().collect();
            assert!(words == 1 || different.len() == count);
        }
        assert_ne!(message(7, 20, 0), message(8, 20, 0));
        // The texts themselves are pinned, as the trees are.
        assert_eq!(message(1, 12, 0), "Time away should zetafa 1090 make being likely think help to over?");
    }
}
