//! Changes between two catalogs.

use std::cmp::Ordering;
use std::path::PathBuf;

use serde::Serialize;
use skillcue_catalog::{Catalog, Skill, Source};

/// Changes of the skills of a catalog, by their names: between two catalogs, or as a watcher noticed them.
///
/// ```
/// use skillcue::{Changes, Skillcue};
///
/// let dir = tempfile::tempdir()?;
/// let write = |name: &str, body: &str| {
///     std::fs::create_dir_all(dir.path().join(name))?;
///     let text = format!("---\nname: {name}\ndescription: About {name}.\n---\n{body}");
///     std::fs::write(dir.path().join(name).join("SKILL.md"), text)
/// };
/// write("csv", "Read it.\n")?;
/// write("pdf", "Read it.\n")?;
/// let skills = Skillcue::builder().skills_dir(dir.path()).build()?;
/// let old = skills.catalog();
///
/// write("pdf", "Read it page by page.\n")?;
/// let changes = Changes::between(&old, &skills.refresh());
/// assert_eq!((changes.updated, changes.unchanged), (vec!["pdf".to_owned()], 1));
/// assert!(!changes.listing, "no listing shows a body");
///
/// write("xml", "Read it.\n")?;
/// std::fs::remove_dir_all(dir.path().join("csv"))?;
/// let changes = Changes::between(&old, &skills.refresh());
/// assert_eq!((changes.added, changes.removed), (vec!["xml".to_owned()], vec!["csv".to_owned()]));
/// assert!(changes.listing);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Changes {
    /// Names that are new, sorted.
    pub added: Vec<String>,
    /// Names of which something changed, sorted: metadata, the skill file's time or size or inode (so the body, too),
    /// the place, whether it is enabled or available; or that of a skill that it hides.
    pub updated: Vec<String>,
    /// Names that are gone, sorted.
    pub removed: Vec<String>,
    /// Names of which other files than the skill file changed, sorted; [addresses](Skill::address) of those that
    /// another skill hides. Catalogs do not remember these files: only a watcher knows.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// The number of names without a change.
    pub unchanged: usize,
    /// Whether anything changed that a listing shows: the generation, or what is enabled or available. Editing a body
    /// does not.
    pub listing: bool,
    /// Whether the findings changed: a bad file came, was mended or is bad in another way.
    pub findings: bool,
}

impl Changes {
    /// Compares two catalogs in one pass over both.
    pub fn between(old: &Catalog, new: &Catalog) -> Changes {
        let mut changes = Changes { findings: findings_differ(old, new), ..Changes::default() };
        // Both are sorted by name; a name's skills are adjacent.
        let groups = |catalog| -> std::iter::Peekable<_> { by_name(catalog).peekable() };
        let (mut before, mut after) = (groups(old), groups(new));
        loop {
            let order = match (before.peek(), after.peek()) {
                (Some(old), Some(new)) => name(old).cmp(name(new)),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (None, None) => break,
            };
            let old = before.next_if(|_| order.is_le());
            let new = after.next_if(|_| order.is_ge());
            match (old, new) {
                (Some(old), Some(new)) if is_unchanged(old, new) => changes.unchanged += 1,
                (Some(old), Some(new)) => {
                    changes.listing = changes.listing || listed_parts(old) != listed_parts(new);
                    changes.updated.push(name(new).to_owned());
                }
                (Some(old), None) => changes.removed.push(name(old).to_owned()),
                (None, Some(new)) => changes.added.push(name(new).to_owned()),
                (None, None) => break,
            }
        }
        changes.listing |= !(changes.added.is_empty() && changes.removed.is_empty());
        changes
    }

    /// Returns whether nothing changed.
    pub fn is_empty(&self) -> bool {
        self.names().next().is_none() && !self.findings
    }

    /// Returns every name with a change.
    ///
    /// ```
    /// let changes = skillcue::Changes { updated: vec!["pdf".to_owned()], ..Default::default() };
    /// assert_eq!(changes.names().collect::<Vec<_>>(), ["pdf"]);
    /// ```
    pub fn names(&self) -> impl Iterator<Item = &str> {
        [&self.added, &self.updated, &self.removed, &self.files].into_iter().flatten().map(String::as_str)
    }
}

fn by_name(catalog: &Catalog) -> impl Iterator<Item = &[Box<Skill>]> {
    catalog.all().chunk_by(|a, b| a.name() == b.name())
}

fn name(group: &[Box<Skill>]) -> &str {
    group.first().map_or("", |skill| skill.name())
}

/// Returns whether all skills of a name are unchanged.
fn is_unchanged(old: &[Box<Skill>], new: &[Box<Skill>]) -> bool {
    let same = |old: &Skill, new: &Skill| {
        old.stamp() == new.stamp()
            && old.digest() == new.digest()
            && (old.enabled(), old.available()) == (new.enabled(), new.available())
            // The body of a `SKILL.yaml` is in another file, which the stamp says nothing about.
            && old.body_tokens() == new.body_tokens()
            && old.is_located_like(new)
    };
    old.len() == new.len() && old.iter().zip(new).all(|(old, new)| same(old, new))
}

type PlaceKey = (PathBuf, Source, Option<Box<str>>);

fn locations(skill: &Skill) -> impl Iterator<Item = PlaceKey> {
    skill.locations().into_iter().map(|place| (place.path, place.root.source, place.root.plugin.clone()))
}

/// Returns the part of the skills of one name that listings show. Sorted: whether of two copies one hides the other or
/// both are one may depend on a body's size, and shows in no listing.
fn listed_parts(group: &[Box<Skill>]) -> Vec<(PlaceKey, u128, bool, bool)> {
    let mut listed = Vec::with_capacity(group.len());
    for skill in group {
        listed.extend(locations(skill).map(|at| (at, skill.digest(), skill.enabled(), skill.available())));
    }
    listed.sort();
    listed
}

fn findings_differ(old: &Catalog, new: &Catalog) -> bool {
    let invalid = |catalog: &Catalog| -> Vec<_> {
        catalog.invalid().iter().map(|invalid| (invalid.path.clone(), invalid.name.clone())).collect()
    };
    old.diagnostics() != new.diagnostics() || invalid(old) != invalid(new)
}
