//! Loading, from files on disk to the text for a model: body, arguments, cache, sections.
#![expect(clippy::unwrap_used, reason = "a test whose setting fails has failed")]

#[path = "load/arguments.rs"]
mod arguments;
#[path = "load/caching.rs"]
mod caching;
#[path = "load/loading.rs"]
mod loading;

use std::fs;
use std::path::PathBuf;

use skillcue_catalog::{BodyAt, BodyFile};
use skillcue_load::{LoadRequest, Loaded, Loader};

/// A skill on disk.
struct Skill {
    tmp: tempfile::TempDir,
    file: BodyFile,
}

impl Skill {
    fn new(name: &str, body: &str) -> Self {
        let tmp = tempfile::tempdir().unwrap();
        let file = BodyFile {
            name: name.into(),
            base_dir: tmp.path().into(),
            open_dir: tmp.path().into(),
            body: BodyAt::AfterFrontMatter("SKILL.md".into()),
        };
        let skill = Self { tmp, file };
        skill.write(body);
        skill
    }

    fn path(&self) -> PathBuf {
        self.tmp.path().join("SKILL.md")
    }

    fn write(&self, body: &str) {
        fs::write(self.path(), format!("---\nname: {}\n---\n{body}", self.file.name)).unwrap();
    }

    fn load(&self, loader: &Loader, arguments: &str) -> Loaded {
        loader.load(&self.file, &LoadRequest { arguments, ..LoadRequest::default() }).unwrap()
    }

    /// Returns the text before every processed body.
    fn head(&self) -> String {
        format!("Base directory for this skill: {}\n\n", self.tmp.path().display())
    }
}
