//! Files that a body points to and that fit the message: named, with their size, where only parts of the body are shown.

use std::fmt::Write as _;

use skillcue_catalog::Skill;
use skillcue_format::Tokens;
use skillcue_select::{SectionText, section_scores};

use crate::situation::{BodySource, FileHead};

/// How many files that a body points to are looked at.
const MAX_FILES: usize = 24;
/// How many are named.
const MAX_NAMED: usize = 3;
/// A file that scores less than this share of the best one is not named.
const MIN_SHARE: f32 = 0.3;

/// Returns a line that names the files a body points to and that fit the message, and `advice` on how to read one;
/// `None`, if there are none.
pub(crate) fn files_line(
    skill: &Skill,
    body: &str,
    message: &str,
    bodies: &dyn BodySource,
    advice: &str,
) -> Option<String> {
    if message.is_empty() {
        return None;
    }
    let files: Vec<(&str, FileHead)> = linked_files(body)
        .into_iter()
        .filter_map(|path| Some((path, bodies.file_head(skill, path)?)))
        .take(MAX_FILES)
        .collect();
    let titles: Vec<String> = files.iter().map(|(path, _)| path.replace(['/', '-', '_', '.'], " ")).collect();
    let texts = files.iter().map(|(_, head)| head.text.as_str()).zip(&titles);
    let mut sections: Vec<SectionText<'_>> =
        texts.map(|(text, title)| SectionText { title, above: "", text }).collect();
    // The body beside them: a word that it has as well tells less about a file.
    sections.push(SectionText { title: "", above: "", text: body });
    let scores = section_scores(message, &sections);
    let mut order: Vec<usize> = (0..files.len()).filter(|at| scores[*at] > 0.0).collect();
    order.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]).then(a.cmp(b)));
    let best = scores[*order.first()?];
    order.retain(|at| scores[*at] >= MIN_SHARE * best);
    let mut line = "\n[Files that fit: ".to_owned();
    for (rank, at) in order.into_iter().take(MAX_NAMED).enumerate() {
        let (path, head) = &files[at];
        let comma = if rank == 0 { "" } else { ", " };
        let tokens = Tokens::bytes4(usize::try_from(head.bytes).unwrap_or(usize::MAX));
        let _ = write!(line, "{comma}{path} ({} bytes, about {} tokens)", head.bytes, tokens.0);
    }
    let _ = write!(line, ". {advice}]");
    Some(line)
}

/// Returns the relative paths of files in a body, in their order, each once: in links, in backticks, or as words.
fn linked_files(body: &str) -> Vec<&str> {
    let is_edge =
        |char: char| char.is_whitespace() || matches!(char, '(' | ')' | '[' | ']' | '<' | '>' | '`' | '"' | '\'' | '|');
    let mut files: Vec<&str> = Vec::new();
    for word in body.split(is_edge) {
        let word = word.split('#').next().unwrap_or_default().trim_end_matches(['.', ',', ';', ':', '*']);
        let path = word.trim_start_matches("./").trim_start_matches('*');
        let extension = path.rsplit_once('.');
        let is_file = extension.is_some_and(|(before, extension)| {
            before.ends_with(|char: char| char.is_alphanumeric() || matches!(char, '_' | '-'))
                && (1..=5).contains(&extension.len())
                && extension.bytes().all(|byte| byte.is_ascii_alphanumeric())
        });
        // Windows paths in prose are no files of a skill: asking for one would be logged as an attempt to leave it.
        let is_relative =
            !path.starts_with(['/', '~', '$', '-']) && !path.contains("..") && !path.contains(['\\', ':', '\0']);
        if is_file && is_relative && path != "SKILL.md" && path.len() < 200 && !files.contains(&path) {
            files.push(path);
            if files.len() >= 4 * MAX_FILES {
                break;
            }
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_found_in_links_and_backticks_and_words() {
        let body = "See [forms](references/forms.md#fields), `scripts/fill.py`, ./docs/a-b.txt. and references/forms.md; \
                    not https://x.y/z.md, C:\\tools\\x.exe, eng\\common.props, /etc/passwd.conf, ../up.md, v1.2, e.g. this, $HOME/x.sh or SKILL.md.";
        assert_eq!(linked_files(body), ["references/forms.md", "scripts/fill.py", "docs/a-b.txt", "v1.2", "e.g"]);
        assert_eq!(linked_files(""), [""; 0]);
    }
}
