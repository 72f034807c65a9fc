//! Lines and columns in the author's files.

use skillcue_catalog::SkillDir;

use crate::message::WireDiagnostic;
use crate::{MAX_MODULE_BYTES, SkillToolsets};

/// Returns line and column of a byte, from 1; the column in characters.
pub(crate) fn line_and_column(text: &str, offset: usize) -> (u32, u32) {
    let before = crate::cut(text, offset);
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
    let column = before[start..].chars().count() + 1;
    (u32::try_from(line).unwrap_or(u32::MAX), u32::try_from(column).unwrap_or(u32::MAX))
}

/// Returns the offset of the first occurrence of a word that is no part of another word.
pub(crate) fn find_word(text: &str, word: &str) -> Option<usize> {
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$');
    let is_whole = |at: &usize| !text[..*at].ends_with(is_word) && !text[at + word.len()..].starts_with(is_word);
    text.match_indices(word).map(|(at, _)| at).filter(|_| !word.is_empty()).find(is_whole)
}

/// Adds line and column to a finding that names a file of the skill without them: those of the export it is about.
pub(crate) fn add_export_position(skill: &SkillToolsets<'_>, finding: &mut WireDiagnostic) {
    if finding.line.is_some() {
        finding.column.get_or_insert(1);
        return;
    }
    let Some(file) = &finding.file else { return };
    let read = SkillDir::open(skill.name, skill.dir)
        .and_then(|dir| dir.read_to_string(file, u64::try_from(MAX_MODULE_BYTES).unwrap_or(u64::MAX)));
    let Ok(source) = read else { return };
    let export = finding.toolset.rsplit_once(':').map_or("", |(_, export)| export);
    let (line, column) = export_position(&source, export);
    (finding.line, finding.column) = (Some(line), Some(column));
}

/// Returns the position of the export of that name, or of the first export, or the beginning.
fn export_position(source: &str, name: &str) -> (u32, u32) {
    let mut first = None;
    let mut start = 0;
    for line in source.split_inclusive('\n') {
        let indent = line.len() - line.trim_start().len();
        if find_word(line, "export") == Some(indent) {
            let export = start + indent;
            let behind = export + "export".len();
            if let Some(at) = find_word(&source[behind..start + line.len()], name) {
                return line_and_column(source, behind + at);
            }
            first.get_or_insert(export);
        }
        start += line.len();
    }
    line_and_column(source, first.unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_export_is_found() {
        let source = "import x from 'y';\n// Tools\nexport const Other = 1;\n  export { ü as Tools };\n";
        assert_eq!(export_position(source, "Tools"), (4, 17));
        assert_eq!(export_position(source, "Tool"), (3, 1), "no part of a word");
        assert_eq!(export_position(source, "export"), (3, 1));
        assert_eq!(export_position("let a = 1;\n", "Tools"), (1, 1));
        assert_eq!(export_position("", ""), (1, 1));
    }

    #[test]
    fn offsets_count_from_one() {
        assert_eq!(line_and_column("a\nbé😀c", 9), (2, 4));
    }
}
