//! Drafts: a catalog in which one skill has another description than on disk.

use std::sync::{Arc, OnceLock};

use skillcue_format::{EditError, MatchingEdit, Node, Parsed};

use crate::arena::{ArenaRange, FrontMatterLayout, Layouts, SkillArena};
use crate::{Catalog, Skill};

impl Catalog {
    /// Returns this catalog with another description of one skill, for trying one out. Nothing is read or written: only
    /// the front matter in memory differs. `None`, if there is no such skill.
    ///
    /// ```
    /// use skillcue_catalog::{Discovery, SkillRoot, Source};
    ///
    /// let dir = tempfile::tempdir()?;
    /// std::fs::create_dir(dir.path().join("pdf"))?;
    /// std::fs::write(dir.path().join("pdf/SKILL.md"), "---\nname: pdf\ndescription: Reads PDF.\n---\n")?;
    /// let catalog = Discovery::new([SkillRoot::new(dir.path(), Source::User)]).run();
    /// let draft = catalog.with_description("pdf", "Fills in forms.").unwrap()?;
    /// assert_eq!(draft.get("pdf").unwrap().manifest().description(), "Fills in forms.");
    /// assert_ne!(draft.generation(), catalog.generation());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn with_description(&self, address: &str, description: &str) -> Option<Result<Catalog, EditError>> {
        let wanted = self.get(address)?;
        let drafted = match wanted.with_description(description) {
            Ok(skill) => skill,
            Err(error) => return Some(Err(error)),
        };
        let mut drafted = Some(Box::new(drafted));
        let skills = self.all().iter().map(|skill| {
            let is_wanted = std::ptr::eq(&raw const **skill, wanted);
            drafted.take_if(|_| is_wanted).unwrap_or_else(|| Box::new(skill.duplicate()))
        });
        Some(Ok(self.replaced(skills.collect())))
    }
}

impl Skill {
    /// Returns the skill with another description, in memory of its own.
    fn with_description(&self, description: &str) -> Result<Skill, EditError> {
        let edit = MatchingEdit { description: Some(description.to_owned()), ..MatchingEdit::default() };
        // The edit is one of skill files, of which this has the front matter.
        let (open, close) = ("---\n", "\n---\n");
        let file = format!("{open}{}{close}", self.front_matter().trim_end_matches(['\r', '\n']));
        let edited = String::from_utf8(edit.apply(file.as_bytes())?).map_err(|_| EditError("it is not UTF-8"))?;
        let yaml = edited.strip_prefix(open).and_then(|rest| rest.strip_suffix(close)).map(|yaml| format!("{yaml}\n"));
        let yaml = yaml.ok_or(EditError("its front matter cannot be taken out again"))?;
        let old = self.layout_or_reread();
        let parsed = Parsed::front_matter(&yaml, old.first_line, self.file.kind());
        let digest = parsed.raw.as_ref().map_or(0, Node::digest).to_le_bytes();
        let mut text = Vec::new();
        let mut put = |part: &[u8]| {
            // Front matter is at most 1 MiB.
            let at = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
            let start = at(text.len());
            text.extend_from_slice(part);
            ArenaRange { start, end: at(text.len()) }
        };
        let (rel, name) = (put(self.bytes(self.rel)), put(self.name().as_bytes()));
        let layout = FrontMatterLayout {
            yaml: put(yaml.as_bytes()),
            first_line: old.first_line,
            body: old.body,
            digest,
            ..FrontMatterLayout::default()
        };
        let layouts = Layouts::InMemory(vec![layout]);
        let arena = Arc::new(SkillArena { text, layouts, root: Arc::clone(&self.arena.root) });
        Ok(Skill { arena, number: 0, rel, name, lazy: OnceLock::new(), ..self.duplicate() })
    }
}
