//! Warnings that earlier runs have printed: while a set-up stays as it is, their number is printed and not each again.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use skillcue::Diagnostic;
use skillcue_base::Digest;

/// Most digests that are remembered, the latest: those of some dozen untidy projects.
const MAX_DIGESTS: usize = 2_000;
/// With more warnings than this, all of them together have one digest.
const MAX_EACH: usize = 200;
/// The characters of a digest that are kept: those of 128 bits.
const DIGITS: usize = 32;

/// The warnings that earlier runs have printed, as digests in a file of the cache directory.
#[derive(Debug)]
pub(crate) struct PrintedWarnings {
    file: PathBuf,
    /// Oldest first.
    digests: Vec<String>,
}

impl PrintedWarnings {
    /// Reads the file beside the index cache. One that is missing or damaged has nothing in it.
    pub(crate) fn read(index_cache: &Path) -> PrintedWarnings {
        let file = index_cache.with_file_name("seen-warnings");
        let most = (MAX_DIGESTS * (DIGITS + 1)) as u64;
        let is_ours = file.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.len() <= most);
        let text = if is_ours { std::fs::read_to_string(&file).unwrap_or_default() } else { String::new() };
        PrintedWarnings { file, digests: text.lines().map(str::to_owned).collect() }
    }

    /// Keeps errors, and warnings that no earlier run has printed, which are remembered. Returns how many warnings
    /// went.
    pub(crate) fn retain_new(mut self, found: &mut Vec<&Diagnostic>) -> usize {
        // Two that read alike are one to a reader, and neither was printed before.
        let mut told = HashSet::new();
        found.retain(|found| found.is_error() || told.insert(described(found)));
        let (before, known) = (found.len(), self.digests.len());
        let warnings: Vec<&Diagnostic> = found.iter().copied().filter(|found| !found.is_error()).collect();
        if warnings.len() > MAX_EACH {
            let all: Vec<String> = warnings.iter().map(|warning| described(warning)).collect();
            if self.knows(&all.join("\n")) {
                found.retain(|found| found.is_error());
            }
        } else {
            found.retain(|found| found.is_error() || !self.knows(&described(found)));
        }
        if self.digests.len() > known {
            self.write();
        }
        before - found.len()
    }

    /// Returns whether an earlier run has printed it, and remembers that this one does.
    fn knows(&mut self, warning: &str) -> bool {
        let digest = Digest::of(warning).to_string().chars().take(DIGITS).collect();
        let is_known = self.digests.contains(&digest);
        if !is_known {
            self.digests.push(digest);
        }
        is_known
    }

    /// Writes the file. If that fails, the warnings are printed again the next time, and that is all.
    fn write(&self) {
        let oldest = self.digests.len().saturating_sub(MAX_DIGESTS);
        let text = self.digests[oldest..].join("\n");
        if self.file.parent().is_some_and(|dir| std::fs::create_dir_all(dir).is_ok()) {
            let _ = skillcue_base::replace_file(&self.file, [text.as_bytes(), b"\n"]);
        }
    }
}

/// Returns all parts of a warning that a reader sees.
fn described(warning: &Diagnostic) -> String {
    let place = warning.place.map(|place| (place.line, place.column));
    format!("{:?}", (warning.code, &warning.path, place, &warning.message, &warning.help))
}

#[cfg(test)]
mod tests {
    use skillcue::format::Code;

    use super::*;

    fn warning(number: usize) -> Diagnostic {
        Diagnostic::new(Code::Shadowed, format!("number {number}"))
    }

    /// Returns how many of these warnings are new.
    fn new(cache: &Path, warnings: &[Diagnostic]) -> usize {
        let mut found = warnings.iter().collect();
        PrintedWarnings::read(cache).retain_new(&mut found);
        found.len()
    }

    #[test]
    fn a_warning_is_new_once() {
        let dir = tempfile::tempdir().unwrap();
        let cache = dir.path().join("made/index");
        let error = Diagnostic::new(Code::MissingField, "it is missing");
        let all = [warning(1), error, warning(2)];
        assert_eq!(new(&cache, &all[..2]), 2);
        assert_eq!(new(&cache, &all), 2, "the error again, and the new warning");
        assert_eq!(new(&cache, &all), 1);
        std::fs::write(cache.with_file_name("seen-warnings"), b"\xff\n").unwrap();
        assert_eq!(new(&cache, &all), 3, "a damaged file has nothing in it");
    }

    #[test]
    fn two_alike_are_one_and_not_one_from_before() {
        let dir = tempfile::tempdir().unwrap();
        let cache = dir.path().join("index");
        let alike = [warning(1), warning(1), warning(2)];
        let told = || {
            let mut found = alike.iter().collect();
            (PrintedWarnings::read(&cache).retain_new(&mut found), found.len())
        };
        assert_eq!(told(), (0, 2));
        assert_eq!(told(), (2, 0));
    }

    #[test]
    fn the_file_stays_small() {
        let dir = tempfile::tempdir().unwrap();
        let cache = dir.path().join("index");
        let many: Vec<Diagnostic> = (0..=MAX_EACH).map(warning).collect();
        assert_eq!((new(&cache, &many), new(&cache, &many)), (MAX_EACH + 1, 0));
        assert_eq!(std::fs::read_to_string(cache.with_file_name("seen-warnings")).unwrap().lines().count(), 1);
        for some in 0..12 {
            let some: Vec<Diagnostic> = (0..MAX_EACH).map(|number| warning(number + some * MAX_EACH)).collect();
            assert_eq!((new(&cache, &some), new(&cache, &some)), (MAX_EACH, 0));
        }
        assert_eq!(
            std::fs::read_to_string(cache.with_file_name("seen-warnings")).unwrap().lines().count(),
            MAX_DIGESTS
        );
        assert_eq!(new(&cache, &many), MAX_EACH + 1, "the oldest were forgotten");
    }
}
