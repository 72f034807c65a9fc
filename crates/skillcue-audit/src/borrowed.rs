//! Descriptions of other skills in a skill's body.

use std::collections::{BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

use skillcue_format::Diagnostic;

use super::place;
use super::rules::BORROWED_DESCRIPTIONS;

/// The number of words of a description that are looked up at once, and of the shortest one that counts.
const MIN_WORDS: usize = 8;
/// The number of other skills whose descriptions a body may repeat: it may refer to a neighbour or two.
const MAX_BORROWED: usize = 2;
/// The number of skills that a finding names.
const MAX_SHOWN: usize = 3;

/// The text of a skill, for [`borrowed_descriptions`].
#[derive(Debug, Clone, Copy)]
pub struct SkillText<'a> {
    /// The path of its file, for findings.
    pub path: &'a Path,
    /// The skill's name.
    pub name: &'a str,
    /// Its description.
    pub description: &'a str,
    /// Its body.
    pub body: &'a str,
    /// The line of the file on which the body begins, counted from 1.
    pub line: usize,
}

/// Returns the skills, by their positions, whose bodies repeat the descriptions of at least three others word for word.
///
/// ```
/// use std::path::Path;
/// use skillcue_audit::{SkillText, borrowed_descriptions};
///
/// let about = ["pdf", "csv", "mail"].map(|name| format!("Reads {name} files and sums up what they say. Use when asked."));
/// let text = |name, description, body| SkillText { path: Path::new("SKILL.md"), name, description, body, line: 4 };
/// let all = about.join("\n\n");
/// let honest = ["pdf", "csv", "mail"].into_iter().zip(&about).map(|(name, about)| text(name, about, "How."));
/// let skills: Vec<SkillText> = honest.chain([text("greedy", "Does everything.", &all)]).collect();
/// let found = borrowed_descriptions(&skills);
/// assert_eq!((found.len(), found[0].0), (1, 3));
/// assert_eq!(found[0].1.message, "the body repeats the descriptions of 3 other skills: pdf, csv, mail");
/// ```
pub fn borrowed_descriptions(skills: &[SkillText<'_>]) -> Vec<(usize, Diagnostic)> {
    let descriptions: Vec<Vec<HashedWord>> = skills.iter().map(|skill| words(skill.description)).collect();
    let mut beginnings: HashMap<u64, Vec<usize>> = HashMap::new();
    for (at, description) in descriptions.iter().enumerate() {
        if let Some(beginning) = description.get(..MIN_WORDS) {
            beginnings.entry(combined(beginning)).or_default().push(at);
        }
    }
    let mut found = Vec::new();
    for (at, skill) in skills.iter().enumerate() {
        let body = words(skill.body);
        // By name: copies of one skill are one.
        let mut names: Vec<&str> = Vec::new();
        let mut first = None;
        let mut seen: BTreeSet<u64> = BTreeSet::new();
        for (start, window) in body.windows(MIN_WORDS).enumerate() {
            for &other in beginnings.get(&combined(window)).into_iter().flatten() {
                let description = &descriptions[other];
                let is_whole = body.len() - start >= description.len()
                    && description.iter().zip(&body[start..]).all(|(a, b)| a.hash == b.hash);
                let is_other = skills[other].name != skill.name
                    && combined(description) != combined(&descriptions[at])
                    && !names.contains(&skills[other].name);
                if is_whole && is_other && seen.insert(combined(description)) {
                    names.push(skills[other].name);
                    first = first.or(Some(body[start].at));
                }
            }
        }
        if names.len() <= MAX_BORROWED {
            continue;
        }
        let line = first.map_or(0, |first| skill.body[..first].matches('\n').count()) + skill.line;
        let more = if names.len() > MAX_SHOWN { ", …" } else { "" };
        let listed = names.iter().take(MAX_SHOWN).copied().collect::<Vec<_>>().join(", ");
        let message = format!("the body repeats the descriptions of {} other skills: {listed}{more}", names.len());
        let finding = BORROWED_DESCRIPTIONS.found(skill.path, message);
        found.push((at, Diagnostic { place: place(line, 1), ..finding }));
    }
    found
}

/// A word of a text: its digest, whatever its case, and its place in bytes.
struct HashedWord {
    hash: u64,
    at: usize,
}

fn words(text: &str) -> Vec<HashedWord> {
    let start = text.as_ptr() as usize;
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let of = |word: &str| {
        let mut hasher = DefaultHasher::new();
        word.chars().flat_map(char::to_lowercase).for_each(|c| c.hash(&mut hasher));
        HashedWord { hash: hasher.finish(), at: word.as_ptr() as usize - start }
    };
    words.map(of).collect()
}

/// Returns a digest of several words, in their order.
fn combined(words: &[HashedWord]) -> u64 {
    words.iter().fold(0, |digest: u64, word| digest.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(word.hash))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text<'a>(name: &'a str, description: &'a str, body: &'a str) -> SkillText<'a> {
        SkillText { path: Path::new("SKILL.md"), name, description, body, line: 5 }
    }

    #[test]
    fn two_neighbours_and_copies_of_oneself_do_not_count() {
        let about: Vec<String> =
            (0..4).map(|number| format!("Handles task number {number} in every way that there is, quickly.")).collect();
        let two = format!("Unlike these:\n\n{}\n{}\n", about[1], about[2]);
        let copies = format!("{}\n{}\n{}\n", about[0], about[0], about[0]);
        let own = format!("{}\n{}\n{}\n", about[3], about[1], about[2]);
        let skills = [
            text("a", &about[0], &two),
            text("b", &about[1], &copies),
            text("c", &about[2], "Short."),
            text("d", &about[3], &own),
        ];
        assert_eq!(borrowed_descriptions(&skills), []);
        let three = format!("First.\n\n- **{}**\n- {}\n- {}\n", about[1].to_uppercase(), about[2], about[3]);
        let skills = [text("a", &about[0], &three), skills[1], skills[2], skills[3]];
        let found = borrowed_descriptions(&skills);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].1.place.map(|place| place.line), Some(7));
        assert_eq!(found[0].1.message, "the body repeats the descriptions of 3 other skills: b, c, d");
    }
}
