//! Skill files that people name by path, for `validate` and `lint`.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use skillcue::catalog::{Discovery, FileError, SkillDir, SkillFile};
use skillcue::format::Code;
use skillcue::{Catalog, Diagnostic, SkillRoot, Source};
use skillcue_format::MAX_FILE;

use skillcue_base::os_message;
use skillcue_host::absolute;

/// The skill files that some paths name, and findings about paths that name none.
#[derive(Debug, Default)]
pub(crate) struct Targets {
    /// Each once, sorted.
    pub(crate) files: Vec<PathBuf>,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

impl Targets {
    /// Finds the files of some paths. A path is a skill's directory, a skill file, or a directory with skills somewhere
    /// below it.
    pub(crate) fn of(paths: &[PathBuf]) -> Targets {
        let mut targets = Targets::default();
        for path in paths {
            targets.add(&absolute(path));
        }
        targets.sorted()
    }

    /// Returns the skill files of a catalog whose source passes `wanted`.
    pub(crate) fn of_catalog(catalog: &Catalog, wanted: &dyn Fn(Source) -> bool, below: &[PathBuf]) -> Targets {
        let mut targets = Targets::default();
        for skill in catalog.all() {
            // Copies that count as one skill have equal front matter; their bodies may differ.
            let places = skill.locations().into_iter().filter(|place| wanted(place.root.source));
            targets.files.extend(places.map(|place| place.path));
        }
        let ours = |path: &Path| below.iter().any(|root| path.starts_with(root));
        targets.files.extend(catalog.invalid().iter().map(|invalid| invalid.path.clone()).filter(|path| ours(path)));
        let concerned = |found: &&Diagnostic| found.path.as_deref().is_some_and(ours);
        targets.keep_diagnostics(catalog.diagnostics().iter().filter(concerned));
        targets.sorted()
    }

    fn add(&mut self, path: &Path) {
        let metadata = match path.metadata() {
            Ok(metadata) => metadata,
            Err(error) => {
                let found = Diagnostic::new(Code::Unreadable, format!("it cannot be read: {}", os_message(&error)))
                    .with_help("name a skill's directory, a SKILL.md, or a directory of skills");
                return self.diagnostics.push(found.at(path));
            }
        };
        if metadata.is_dir() {
            return self.add_dir(path);
        }
        if file_of(path).is_some() {
            return self.files.push(path.to_path_buf());
        }
        let found = Diagnostic::new(Code::NoSkillFile, "this is not a skill file")
            .with_help("skills are described by a file called SKILL.md");
        self.diagnostics.push(found.at(path));
    }

    /// Looks as discovery does, so that what is checked is what would be found.
    fn add_dir(&mut self, dir: &Path) {
        let catalog = Discovery::new([SkillRoot::required(dir, Source::Inline)]).run();
        if catalog.all().is_empty() && catalog.invalid().is_empty() && catalog.diagnostics().is_empty() {
            let found = Diagnostic::new(Code::NoSkillFile, "there is no skill here or below")
                .with_help("a skill is a directory with a SKILL.md; `skillcue new NAME` makes one");
            return self.diagnostics.push(found.at(dir));
        }
        for skill in catalog.all() {
            self.files.extend(skill.locations().into_iter().map(|place| place.path));
        }
        self.files.extend(catalog.invalid().iter().map(|invalid| invalid.path.clone()));
        // Two skills of one name may well be in a directory that is checked; they are not used together.
        self.keep_diagnostics(catalog.diagnostics().iter().filter(|found| found.code != Code::Shadowed));
    }

    /// Keeps the findings that only discovery makes. The checks make those about the contents of a file again.
    fn keep_diagnostics<'d>(&mut self, diagnostics: impl Iterator<Item = &'d Diagnostic>) {
        for found in diagnostics {
            let of_discovery = matches!(
                found.code,
                Code::FileNameCase
                    | Code::IgnoredBody
                    | Code::MissingBody
                    | Code::DanglingLink
                    | Code::LinkCycle
                    | Code::SearchLimit
                    | Code::Shadowed
                    | Code::RequiresMissing
            );
            let of_a_file = found.path.as_ref().is_some_and(|path| file_of(path).is_some());
            if of_discovery || !of_a_file {
                self.diagnostics.push(found.clone());
            }
        }
    }

    fn sorted(mut self) -> Targets {
        self.files.sort();
        self.files.dedup();
        self
    }
}

/// Returns the kind of skill file that a path names.
pub(crate) fn file_of(path: &Path) -> Option<SkillFile> {
    SkillFile::of(path.file_name()?.as_encoded_bytes())
}

/// Returns the name of the directory of a skill file, with which the standard compares the skill's name.
pub(crate) fn dir_name(path: &Path) -> &str {
    path.parent().and_then(Path::file_name).and_then(OsStr::to_str).unwrap_or_default()
}

/// Reads a skill file, or says why not. Neither a FIFO nor a file of a gigabyte is a problem.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Box<Diagnostic>> {
    let wrong =
        |code, message: String, help: &'static str| Box::new(Diagnostic::new(code, message).with_help(help).at(path));
    let unreadable = |reason: String| {
        let message = format!("it cannot be read: {reason}");
        wrong(Code::Unreadable, message, "check that it is there and that you may read it")
    };
    // The file may be a link to that of another skill's directory, as it may be for discovery.
    let real = path.canonicalize().map_err(|error| unreadable(os_message(&error)))?;
    let (Some(dir), Some(name)) = (real.parent(), real.file_name().and_then(OsStr::to_str)) else {
        return Err(unreadable("it has no name".to_owned()));
    };
    if file_of(&real).is_none() {
        let message = "the file is a link to something that is no skill file".to_owned();
        return Err(wrong(Code::LinkLeadsOut, message, "put a copy of the file here"));
    }
    if !real.metadata().is_ok_and(|metadata| metadata.is_file()) {
        return Err(wrong(Code::NotAFile, "this is not an ordinary file".to_owned(), "put a text file here"));
    }
    SkillDir::open(dir_name(&real), dir).and_then(|dir| dir.read(name, MAX_FILE)).map_err(|error| match error {
        FileError::TooLarge { size, limit, .. } => {
            let message = format!("the file has {size} bytes, more than the limit of {limit}");
            wrong(Code::TooLarge, message, "move depth into files of its own, below references/")
        }
        FileError::Unreadable { source, .. } => unreadable(os_message(&source)),
        other => unreadable(other.to_string()),
    })
}
