//! Names that are several words without a separator: `imagesearch`, `pdftools`, `housepurchasingtool`.
//!
//! Such a name is one word that no message has. It is taken apart where its parts are words of the skill's own
//! description, or words that many names end or begin with. Nothing else of the catalog counts, so that a skill's texts
//! are the same beside any others.

use std::collections::HashSet;
use std::sync::LazyLock;

/// Words that names are often composed with. Beside one of them, one part of a name may be unknown.
const AFFIXES: &str = "agent agents analysis analyzer api app assistant auto bot builder chat check checker cli client \
                       cloud code converter creator data designer doc docs editor engine explorer exporter extractor file \
                       files finder fix flow format formatter gen generator git guide helper hub image importer kit lab \
                       lint linter log logs maker manager map media monitor news notes pdf plan planner reader report \
                       review reviewer runner scan scanner scraper search server site sql studio style summarizer sync test \
                       tester text time tool tools tracker translator video viewer watch web wizard word write writer";
static AFFIX_WORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| AFFIXES.split_whitespace().collect());
/// The least length of a word that is taken apart, and of a part.
const MIN_WORD: usize = 6;
const MIN_PART: usize = 3;
/// A longer word is no name that was joined.
const MAX_WORD: usize = 40;

/// Returns a name with blanks between the words that it was joined of; `None`, if it has none such.
pub(crate) fn split_name(name: &str, description: &str) -> Option<String> {
    let words = || name.split(|char: char| !char.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let is_long = |word: &str| (MIN_WORD..=MAX_WORD).contains(&word.len());
    // Another script has other ways to compose words; capitals within a word are seen by the tokenizer.
    if !name.is_ascii() || name.bytes().any(|byte| byte.is_ascii_uppercase()) || !words().any(is_long) {
        return None;
    }
    let lower = description.to_lowercase();
    let own: HashSet<&str> = lower.split(|char: char| !char.is_ascii_alphanumeric()).collect();
    let mut is_split = false;
    let parts: Vec<&str> = words()
        .flat_map(|word| {
            let parts = if is_long(word) { parts(word, &own) } else { Vec::new() };
            is_split |= parts.len() > 1;
            if parts.is_empty() { vec![word] } else { parts }
        })
        .collect();
    is_split.then(|| parts.join(" "))
}

/// The best way to take apart the beginning of a word.
#[derive(Clone, Copy)]
struct BestSplit {
    /// The letters of unknown parts, then the number of parts: the fewer the better.
    cost: (usize, usize),
    /// Where the last part begins.
    from: usize,
    /// Whether a part is a word of the description only.
    has_own: bool,
    has_unknown: bool,
}

/// Takes a word apart: into words of the description and affixes, or into affixes and one unknown part.
fn parts<'w>(word: &'w str, own: &HashSet<&str>) -> Vec<&'w str> {
    if own.contains(word) {
        return Vec::new();
    }
    let is_affix = |part: &str| AFFIX_WORDS.contains(part);
    let mut best: Vec<Option<BestSplit>> = vec![None; word.len() + 1];
    best[0] = Some(BestSplit { cost: (0, 0), from: 0, has_own: false, has_unknown: false });
    for end in MIN_PART..=word.len() {
        for from in 0..=end - MIN_PART {
            let Some(before) = best[from] else { continue };
            let part = &word[from..end];
            let is_own = !is_affix(part) && own.contains(part);
            let is_unknown = !is_affix(part) && !is_own;
            // What is left of a word beside one of the description is more likely no word: `quake` of `earthquake`.
            let (has_own, has_unknown) = (before.has_own || is_own, before.has_unknown || is_unknown);
            if has_own && has_unknown || is_unknown && before.has_unknown {
                continue;
            }
            let cost = (before.cost.0 + if is_unknown { part.len() } else { 0 }, before.cost.1 + 1);
            let split = BestSplit { cost, from, has_own, has_unknown };
            if best[end].is_none_or(|other| cost < other.cost) {
                best[end] = Some(split);
            }
        }
    }
    let Some(whole) = best[word.len()].filter(|whole| whole.cost.1 > 1) else {
        return Vec::new();
    };
    let (mut parts, mut end, mut from) = (Vec::new(), word.len(), whole.from);
    loop {
        parts.insert(0, &word[from..end]);
        end = from;
        match best[end].filter(|_| end > 0) {
            Some(before) => from = before.from,
            None => return parts,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::split_name;

    #[test]
    fn joined_names_are_taken_apart() {
        let split = |name, description| split_name(name, description);
        let all = [
            ("imagesearch", "Finds pictures.", Some("image search")),
            ("earthquaketool", "Says when the earth shook.", Some("earthquake tool")),
            ("housepurchasingtool", "For purchasing a house.", Some("house purchasing tool")),
            ("diceroller", "A roller of any dice.", Some("dice roller")),
            ("pdf-urltool", "Reads addresses.", Some("pdf url tool")),
        ];
        for (name, description, expected) in all {
            assert_eq!(split(name, description).as_deref(), expected, "{name}");
        }
    }

    #[test]
    fn words_are_left_whole() {
        for (name, description) in [
            ("research", "Search for papers."),
            ("transcript", "Writes the script of a talk."),
            ("reviewer", "A view of changes."),
            ("robots", "Bots."),
            ("webhooks", "Sets webhooks up: hooks of the web."),
            ("ImageSearch", "Finds an image by a search."),
            ("pdf", "PDF files."),
            ("bildersuche", "Findet Bilder."),
            ("検索ツール", "search tool"),
            ("", ""),
        ] {
            assert_eq!(split_name(name, description), None, "{name}");
        }
        // A long name costs no more than its length squared.
        assert_eq!(split_name(&"tool".repeat(10_000), &"tool ".repeat(10_000)), None);
    }
}
