//! Candidates by rules: words of messages, headings, code words, kinds of files, and what competitors are for.

use std::collections::{BTreeMap, BTreeSet};

use super::{FOLDS, TuneCandidate, TuneOrigin, fold_of};
use crate::collisions::{stem, words_of};
use crate::eval::EvalCase;

/// Most words of messages that are looked at.
const MAX_MINED: usize = 12;
/// Most headings and code words that are looked at.
const MAX_HEADINGS: usize = 12;
/// The words of one sentence.
const IN_SENTENCE: usize = 4;

/// The texts that candidates are made of.
#[derive(Debug, Clone, Copy)]
pub struct TuneSource<'t> {
    /// The skill's name.
    pub name: &'t str,
    /// Its description.
    pub description: &'t str,
    /// Its keywords.
    pub keywords: &'t [String],
    /// Its body.
    pub body: &'t str,
    /// The training half, of all skills.
    pub train: &'t [EvalCase],
    /// The skills that it competes with, the nearest first.
    pub rivals: &'t [Rival],
}

/// A skill that competes with the one that is tuned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rival {
    /// Its name.
    pub name: String,
    /// The most telling words that it has, and the tuned one lacks.
    pub words: Vec<String>,
}

/// Returns the candidates that rules make of some texts. Equal texts give equal candidates.
///
/// ```
/// use skillcue::eval::EvalCase;
/// use skillcue::tune::{TuneSource, candidates};
///
/// let line = |verb: &str, noun: &str, skill: &str| {
///     format!("{{\"query\": \"please {verb} the {noun}\", \"relevant\": [\"{skill}\"]}}\n")
/// };
/// let own = ["flatten", "sign", "open", "lock", "print", "send", "copy", "rename", "merge"];
/// let other = ["chart", "sum", "sort", "join", "filter", "plot"];
/// let mut set: Vec<String> = own.iter().map(|verb| line(verb, "acroform", "pdf")).collect();
/// set.extend(other.iter().map(|verb| line(verb, "table", "csv")));
/// let train = EvalCase::read(&set.concat(), None)?;
/// let source = TuneSource { name: "pdf", description: "Reads PDF.", keywords: &[], body: "", train: &train, rivals: &[] };
/// assert!(candidates(&source).iter().any(|candidate| candidate.keywords == ["acroform"]));
/// # Ok::<(), skillcue::eval::EvalError>(())
/// ```
pub fn candidates(source: &TuneSource<'_>) -> Vec<TuneCandidate> {
    let known: BTreeSet<String> = words_of(source.description)
        .chain(words_of(&source.name.replace(['-', '_'], " ")))
        .map(|word| stem(&word))
        .collect();
    let mut all = mined(source, &known);
    all.extend(headings(source.body, &known));
    all.extend(code(source.body, &known));
    all.extend(rivals(source));
    all
}

/// A word that messages have, and the folds outside of which it is found.
struct MinedWord {
    word: String,
    score: f32,
    folds: [bool; FOLDS],
}

/// Returns candidates from words that the right messages share, and those of other skills lack.
fn mined(source: &TuneSource<'_>, known: &BTreeSet<String>) -> Vec<TuneCandidate> {
    // By stem: as written, messages of the skill by fold, other messages.
    let mut found: BTreeMap<String, (String, [usize; FOLDS], usize)> = BTreeMap::new();
    let (mut own, mut others) = (0_usize, 0_usize);
    for case in source.train {
        let is_own = case.relevant.iter().any(|needed| needed == source.name);
        if is_own {
            own += 1;
        } else {
            others += 1;
        }
        let mut seen = BTreeSet::new();
        for word in terms(&case.query) {
            let stem = stem_of_term(&word);
            if !seen.insert(stem.clone()) {
                continue;
            }
            let entry = found.entry(stem).or_insert_with(|| (word, [0; FOLDS], 0));
            if is_own {
                entry.1[fold_of(&case.query)] += 1;
            } else {
                entry.2 += 1;
            }
        }
    }
    let mut words: Vec<MinedWord> = Vec::new();
    for (stem, (word, folds, elsewhere)) in found {
        let support: usize = folds.iter().sum();
        if support < 2 || known.contains(&stem) || word.chars().all(|c| c.is_ascii_digit()) {
            continue;
        }
        #[expect(clippy::cast_precision_loss, reason = "numbers of messages")]
        let (share, rate) = (support as f32 / own.max(1) as f32, (elsewhere as f32 + 0.5) / (others as f32 + 1.0));
        // At least ten times as frequent as in messages of other skills.
        if share < 10.0 * rate {
            continue;
        }
        let outside = std::array::from_fn(|fold| support > folds[fold]);
        words.push(MinedWord { word, score: share * (share / rate).ln(), folds: outside });
    }
    words.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.word.cmp(&b.word)));
    words.truncate(MAX_MINED);
    let all_folds = |words: &[MinedWord]| std::array::from_fn(|fold| words.iter().all(|word| word.folds[fold]));
    let mut candidates: Vec<TuneCandidate> = Vec::new();
    for count in [2, IN_SENTENCE, 2 * IN_SENTENCE] {
        if words.len() >= count {
            let names: Vec<&str> = words[..count].iter().map(|word| word.word.as_str()).collect();
            candidates.push(TuneCandidate {
                origin: TuneOrigin::Messages,
                sentence: Some(format!("Use when the user mentions {}.", listed(&names, "or"))),
                keywords: Vec::new(),
                folds: all_folds(&words[..count]),
            });
        }
    }
    candidates.extend(words.iter().filter(|word| !source.keywords.contains(&word.word)).map(|word| TuneCandidate {
        origin: TuneOrigin::Messages,
        sentence: None,
        keywords: vec![word.word.clone()],
        folds: word.folds,
    }));
    candidates.extend(words.iter().take(6).map(|word| TuneCandidate {
        origin: TuneOrigin::Messages,
        sentence: Some(format!("Use for {}.", word.word)),
        keywords: Vec::new(),
        folds: word.folds,
    }));
    candidates
}

/// Returns the words of a message, and its pairs of neighbouring words.
fn terms(message: &str) -> Vec<String> {
    let words: Vec<String> = words_of(message).collect();
    let mut terms = words.clone();
    terms.extend(words.windows(2).map(|pair| pair.join(" ")).filter(|pair| message.to_lowercase().contains(pair)));
    terms
}

fn stem_of_term(term: &str) -> String {
    term.split(' ').map(stem).collect::<Vec<_>>().join(" ")
}

/// Returns candidates from the headings of a body whose words the description lacks.
fn headings(body: &str, known: &BTreeSet<String>) -> Vec<TuneCandidate> {
    let mut titles: Vec<String> = Vec::new();
    let mut is_code = false;
    for line in body.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        }
        let Some(title) = line.strip_prefix('#').filter(|_| !is_code) else { continue };
        let title = title.trim_start_matches('#').trim().trim_end_matches(':');
        let title: String = title.chars().filter(|c| !matches!(c, '`' | '*' | '_' | '[' | ']')).collect();
        let title =
            title.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | ')' | ' ')).to_lowercase();
        let is_new = words_of(&title).any(|word| !known.contains(&stem(&word)) && !GENERAL.contains(&word.as_str()));
        if is_new && (4..=40).contains(&title.chars().count()) && !titles.contains(&title) {
            titles.push(title);
        }
    }
    titles.truncate(MAX_HEADINGS);
    titles.chunks(IN_SENTENCE).map(|part| of_text(TuneOrigin::Headings, "Covers", part)).collect()
}

/// Returns candidates from code words and kinds of files that a body has often.
fn code(body: &str, known: &BTreeSet<String>) -> Vec<TuneCandidate> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let (mut kinds, mut words) = (BTreeMap::<String, usize>::new(), body.split('`'));
    words.next();
    for (at, inside) in words.enumerate() {
        let is_inside = at % 2 == 0;
        let is_word = (3..=24).contains(&inside.len())
            && inside.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
            && inside.chars().any(|c| c.is_ascii_alphabetic());
        if !is_inside || !is_word {
            continue;
        }
        if let Some((_, kind)) = inside.rsplit_once('.').filter(|(_, kind)| (2..=5).contains(&kind.len())) {
            *kinds.entry(format!(".{}", kind.to_lowercase())).or_default() += 1;
        } else if !known.contains(&stem(&inside.to_lowercase())) {
            *counts.entry(inside.to_owned()).or_default() += 1;
        }
    }
    let most = |counts: BTreeMap<String, usize>, least: usize| -> Vec<String> {
        let mut counts: Vec<(String, usize)> = counts.into_iter().filter(|(_, count)| *count >= least).collect();
        counts.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        counts.into_iter().take(IN_SENTENCE).map(|(word, _)| word).collect()
    };
    let (counts, kinds) = (most(counts, 2), most(kinds, 2));
    let mut candidates = Vec::new();
    if !counts.is_empty() {
        candidates.push(of_text(TuneOrigin::Code, "Uses", &counts));
    }
    if !kinds.is_empty() {
        candidates.push(of_text(TuneOrigin::Code, "For files such as", &kinds));
    }
    candidates
}

/// Returns candidates that exclude what competitors are for.
fn rivals(source: &TuneSource<'_>) -> Vec<TuneCandidate> {
    let excluding = |rival: &Rival| {
        let words: Vec<&str> = rival.words.iter().map(String::as_str).take(3).collect();
        (!words.is_empty()).then(|| TuneCandidate {
            origin: TuneOrigin::Rival,
            sentence: Some(format!("Not for {}: use {}.", listed(&words, "or"), rival.name)),
            keywords: Vec::new(),
            folds: [true; FOLDS],
        })
    };
    source.rivals.iter().take(3).filter_map(excluding).collect()
}

fn of_text(origin: TuneOrigin, beginning: &str, words: &[String]) -> TuneCandidate {
    let names: Vec<&str> = words.iter().map(String::as_str).collect();
    let sentence = Some(format!("{beginning} {}.", listed(&names, "and")));
    TuneCandidate { origin, sentence, keywords: Vec::new(), folds: [true; FOLDS] }
}

/// `a, b or c`
fn listed(names: &[&str], last: &str) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., end] => format!("{} {last} {end}", first.join(", ")),
    }
}

/// Words of headings that every body has.
const GENERAL: &[&str] = &[
    "overview",
    "usage",
    "examples",
    "example",
    "introduction",
    "workflow",
    "references",
    "reference",
    "notes",
    "steps",
    "step",
    "instructions",
    "resources",
    "quick",
    "start",
    "best",
    "practices",
    "important",
    "output",
    "input",
    "format",
    "purpose",
    "requirements",
    "related",
    "troubleshooting",
    "setup",
    "common",
    "guidelines",
    "process",
    "tips",
    "rules",
    "checklist",
    "prerequisites",
    "summary",
    "see",
    "phase",
    "core",
    "key",
    "next",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(candidates: &[TuneCandidate], origin: TuneOrigin) -> Vec<String> {
        let of_origin = candidates.iter().filter(|candidate| candidate.origin == origin);
        of_origin.map(|candidate| candidate.sentence.clone().unwrap_or_else(|| candidate.keywords.join(" "))).collect()
    }

    #[test]
    fn words_of_right_messages_are_mined_and_common_ones_are_not() {
        // Enough for each of the parts that words are mined from.
        let own = ["flatten", "sign", "open", "lock", "print", "send", "copy", "rename", "merge"];
        let other = ["chart", "sum", "sort", "join", "filter", "plot"];
        let line = |verb: &str, noun: &str, skill: &str| {
            format!("{{\"query\": \"please {verb} the {noun}\", \"relevant\": [\"{skill}\"]}}\n")
        };
        let own = own.iter().map(|verb| line(verb, "acroform", "pdf"));
        let set: Vec<String> = own.chain(other.iter().map(|verb| line(verb, "table", "csv"))).collect();
        let set = set.concat();
        let train = EvalCase::read(&set, None).unwrap();
        let source =
            TuneSource { name: "pdf", description: "Reads.", keywords: &[], body: "", train: &train, rivals: &[] };
        let found = texts(&candidates(&source), TuneOrigin::Messages);
        assert!(found.contains(&"acroform".to_owned()), "{found:?}");
        assert!(!found.iter().any(|text| text.contains("please") || text.contains("flatten")), "{found:?}");
    }

    #[test]
    fn bodies_and_rivals_give_sentences() {
        let body = "# Overview\n## Rotating pages\n```\n# not a heading\n```\n## Watermarks:\n`qpdf` and `qpdf`, a `b.pdf`, `c.pdf`\n";
        let rivals = [Rival { name: "ocr".into(), words: vec!["scans".into(), "photos".into()] }];
        let source =
            TuneSource { name: "pdf", description: "Reads.", keywords: &[], body, train: &[], rivals: &rivals };
        let found = candidates(&source);
        assert_eq!(texts(&found, TuneOrigin::Headings), ["Covers rotating pages and watermarks."]);
        assert_eq!(texts(&found, TuneOrigin::Code), ["Uses qpdf.", "For files such as .pdf."]);
        assert_eq!(texts(&found, TuneOrigin::Rival), ["Not for scans or photos: use ocr."]);
    }
}
