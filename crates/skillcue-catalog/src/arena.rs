//! The memory of skills: texts of many skills in one allocation, and where the front matter of each is.

use std::ops::Range;
use std::sync::Arc;

use crate::SkillRoot;
use crate::index_cache::CachedLayouts;

/// The memory that some skills share. One pointer, counted by one thread: with three, two of them counted by all
/// threads at once, counting took a twentieth of a start.
#[derive(Debug)]
pub(crate) struct SkillArena {
    /// Paths and names, and front matter unless that is kept in the index cache.
    pub(crate) text: Vec<u8>,
    pub(crate) layouts: Layouts,
    pub(crate) root: Arc<SkillRoot>,
}

/// The front matter layouts of some skills, by their number.
#[derive(Debug)]
pub(crate) enum Layouts {
    /// They and their front matter are in memory.
    InMemory(Vec<FrontMatterLayout>),
    /// They and their front matter are in the index cache, and read when first needed.
    Cached(CachedLayouts),
}

/// The layout of a skill's front matter: where its text and its fields are. Not needed to find the skill.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct FrontMatterLayout {
    /// The number of its block in the index cache, if it is in there.
    pub(crate) block: u32,
    pub(crate) yaml: ArenaRange,
    /// The fields that a listing shows, mostly within the front matter. Without a description, the front matter must be
    /// parsed for them.
    pub(crate) description: ArenaRange,
    pub(crate) version: ArenaRange,
    pub(crate) model: ArenaRange,
    pub(crate) allowed_tools: ArenaRange,
    /// The line on which the front matter starts, and the offset of the body.
    pub(crate) first_line: u32,
    pub(crate) body: u32,
    /// The digest of the front matter's content. As bytes, which need no alignment.
    pub(crate) digest: [u8; 16],
}

/// A range of bytes, its ends in 32 bits each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct ArenaRange {
    pub(crate) start: u32,
    pub(crate) end: u32,
}

impl ArenaRange {
    pub(crate) fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}
