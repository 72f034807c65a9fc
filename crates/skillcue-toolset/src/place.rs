//! Where a finding is, when the engine cannot tell: at the export it is about.

use skillcue_catalog::SkillDir;

use crate::message::WireDiagnostic;
use crate::{MAX_MODULE_BYTES, Subject};

/// Adds line and column to a finding that names a file of the skill without them.
pub(crate) fn add(subject: &Subject<'_>, finding: &mut WireDiagnostic) {
    if finding.line.is_some() {
        finding.column.get_or_insert(1);
        return;
    }
    let Some(file) = &finding.file else { return };
    let read = SkillDir::open(subject.name, subject.dir)
        .and_then(|dir| dir.read_to_string(file, u64::try_from(MAX_MODULE_BYTES).unwrap_or(u64::MAX)));
    let Ok(source) = read else { return };
    let export = finding.toolset.rsplit_once(':').map_or("", |(_, export)| export);
    let (line, column) = of_export(&source, export);
    (finding.line, finding.column) = (Some(line), Some(column));
}

/// Where the export of that name stands; else where the first export does; else the beginning. Columns count
/// characters.
fn of_export(source: &str, name: &str) -> (u32, u32) {
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$');
    let word_at = |line: &str, word: &str, from: usize| {
        line.match_indices(word).map(|(at, _)| at).find(|&at| {
            at >= from
                && !line[..at].ends_with(is_word)
                && !line[at + word.len()..].starts_with(is_word)
                && !word.is_empty()
        })
    };
    let place = |number: usize, line: &str, at: usize| {
        let column = line[..at].chars().count() + 1;
        (u32::try_from(number + 1).unwrap_or(u32::MAX), u32::try_from(column).unwrap_or(u32::MAX))
    };
    let exports = |line: &str| line.trim_start().starts_with("export").then(|| line.find("export").unwrap_or(0));
    let named = source.lines().enumerate().find_map(|(number, line)| {
        let from = exports(line)? + "export".len();
        word_at(line, name, from).map(|at| place(number, line, at))
    });
    let any = || source.lines().enumerate().find_map(|(number, line)| Some(place(number, line, exports(line)?)));
    named.or_else(any).unwrap_or((1, 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_export_is_found() {
        let source = "import x from 'y';\n// Tools\nexport const Other = 1;\n  export { ü as Tools };\n";
        assert_eq!(of_export(source, "Tools"), (4, 17));
        assert_eq!(of_export(source, "Tool"), (3, 1), "no part of a word");
        assert_eq!(of_export(source, "export"), (3, 1));
        assert_eq!(of_export("let a = 1;\n", "Tools"), (1, 1));
        assert_eq!(of_export("", ""), (1, 1));
    }
}
