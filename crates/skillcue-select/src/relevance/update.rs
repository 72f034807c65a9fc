//! Updates: the index over a changed catalog, from the old index and the texts of skills that changed.
//!
//! Postings and profiles of a skill whose texts are unchanged are taken over, under its new number; what is gone is left
//! out, and only new and changed texts are read. The result equals an index that is made from all texts.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use skillcue_catalog::{Catalog, Skill};

use crate::relevance::bodies::{BodyTerms, body_key, text_key};
use crate::relevance::field::{GONE, MAX_DOCUMENTS, Renumbered, TextField};
use crate::relevance::index::{TextIndex, documents, has_bodies, push_skill};
use crate::relevance::lookalikes::LookalikesStore;
use crate::relevance::profile::ProfileStore;

/// The documents of a new index: from an old one, or new.
struct DocumentPlan<'c> {
    /// The skill of each document.
    skills: Vec<u32>,
    /// The new number of each old document, or [`GONE`].
    kept: Vec<u32>,
    /// The skills whose texts are read, and the numbers of their documents.
    changed: Vec<(u32, &'c Skill)>,
    added: Vec<u32>,
}

impl TextIndex {
    /// Returns the index over a catalog that has changed, given the bodies of [changed](TextIndex::changed_skills)
    /// skills. Texts of other skills are not read again. It equals one that [`with_bodies`](TextIndex::with_bodies) makes
    /// of all bodies. `None`, if this one turns out to be damaged.
    ///
    /// ```
    /// use skillcue_catalog::{Discovery, SkillRoot, Source};
    /// use skillcue_select::{BodyTerms, TextIndex, body_key};
    ///
    /// let dir = tempfile::tempdir()?;
    /// let write = |name: &str, body: &str| {
    ///     std::fs::create_dir_all(dir.path().join(name))?;
    ///     let text = format!("---\nname: {name}\ndescription: Does something.\n---\n{body}");
    ///     std::fs::write(dir.path().join(name).join("SKILL.md"), text)
    /// };
    /// write("one", "Rotates pictures.")?;
    /// let catalog = || Discovery::new([SkillRoot::new(dir.path(), Source::User)]).run();
    /// let old = TextIndex::of(&catalog());
    /// write("two", "Merges tables of invoices.")?;
    /// let catalog = catalog();
    /// let changed: Vec<_> = old.changed_skills(&catalog).collect();
    /// assert_eq!(changed[0].name(), "one", "its body is not in the index");
    /// let mut bodies = BodyTerms::default();
    /// bodies.insert(body_key(changed[1]), BodyTerms::of_body("Merges tables of invoices."));
    /// let new = old.updated(&catalog, &bodies).unwrap();
    /// assert_eq!(new.search("merge the invoices", 3, &|_| true).hits[0].skill, 1);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn updated(&self, catalog: &Catalog, bodies: &BodyTerms) -> Option<TextIndex> {
        let plan = self.plan(catalog, bodies);
        let added = TextIndex::build(&plan.changed, |number, skill, bags| push_skill(number, skill, bodies, bags));
        let merged = self.merged(&added, &plan)?;
        (!merged.is_damaged()).then_some(merged)
    }

    /// Returns the skills of a catalog that are not in the index as they are now, with their bodies.
    pub fn changed_skills<'c>(&self, catalog: &'c Catalog) -> impl Iterator<Item = &'c Skill> + use<'c> {
        let mut known = self.known(|document| self.bodies[document]);
        documents(catalog).map(|(_, skill)| skill).filter(move |skill| known.remove(&text_key(skill)).is_none())
    }

    /// Returns the documents by the keys of their texts.
    fn known(&self, usable: impl Fn(usize) -> bool) -> HashMap<u64, u32> {
        (0u32..).zip(&self.text_keys).filter(|(at, _)| usable(*at as usize)).map(|(at, key)| (*key, at)).collect()
    }

    fn plan<'c>(&self, catalog: &'c Catalog, bodies: &BodyTerms) -> DocumentPlan<'c> {
        let mut known = self.known(|_| true);
        let mut plan =
            DocumentPlan { skills: Vec::new(), kept: vec![GONE; self.len()], changed: Vec::new(), added: Vec::new() };
        for (new, (number, skill)) in (0u32..).zip(documents(catalog).take(MAX_DOCUMENTS)) {
            plan.skills.push(number);
            let has_new_body = !bodies.is_empty() && bodies.get(body_key(skill)).is_some();
            // Each is used once, should two skills have equal keys.
            let old = known.remove(&text_key(skill)).map(|old| old as usize);
            if let Some(old) = old.filter(|old| self.bodies[*old] || !has_new_body) {
                plan.kept[old] = new;
            } else {
                plan.changed.push((number, skill));
                plan.added.push(new);
            }
        }
        plan
    }

    fn merged(&self, added: &TextIndex, plan: &DocumentPlan<'_>) -> Option<TextIndex> {
        let count = plan.skills.len();
        let bodies = plan.gather(&self.bodies, &added.bodies);
        let merge = |of: fn(&TextIndex) -> &TextField| {
            let kept = Renumbered { field: of(self), numbers: &plan.kept };
            let added = Renumbered { field: of(added), numbers: &plan.added };
            TextField::merged([kept, added], count)
        };
        let has_body = bodies.contains(&true);
        let ((short, name), long) = rayon::join(
            || (merge(|index| &index.short), merge(|index| &index.name)),
            || has_body.then(|| merge(|index| index.long.as_ref().unwrap_or(&index.short))),
        );
        let (short, name) = (short?, name?);
        let long = match long {
            Some(long) => Some(long?),
            None => None,
        };
        let lookalikes = [Arc::clone(&self.lookalikes), Arc::clone(&added.lookalikes)];
        let profiles = [(&self.profiles, &plan.kept[..]), (&added.profiles, &plan.added[..])];
        Some(TextIndex {
            skills: plan.skills.clone(),
            text_keys: plan.gather(&self.text_keys, &added.text_keys),
            bodies,
            names: plan.gather(&self.names, &added.names),
            has_bodies: has_bodies(&short, long.as_ref()),
            lookalikes: Arc::new(LookalikesStore::merged(lookalikes, short.keys())),
            profiles: ProfileStore::merged(profiles, count)?,
            short,
            long,
            name,
            // Records of profiles are read from the old one's file when a message needs them.
            vectors: OnceLock::new(),
            damaged: Arc::clone(&self.damaged),
        })
    }
}

impl DocumentPlan<'_> {
    /// Returns the values of all documents, from those of the old index and those of new documents.
    fn gather<T: Copy + Default>(&self, old: &[T], added: &[T]) -> Vec<T> {
        let mut values = vec![T::default(); self.skills.len()];
        for (value, number) in old.iter().zip(&self.kept).chain(added.iter().zip(&self.added)) {
            if let Some(place) = values.get_mut(*number as usize) {
                *place = *value;
            }
        }
        values
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use skillcue_catalog::{Discovery, SkillRoot, Source};

    use super::*;

    fn write(dir: &Path, name: &str, body: &str) {
        fs::create_dir_all(dir.join(name)).unwrap();
        fs::write(dir.join(name).join("SKILL.md"), format!("---\nname: {name}\ndescription: D.\n---\n{body}")).unwrap();
    }

    #[test]
    fn only_new_and_changed_texts_are_read() {
        let dir = tempfile::tempdir().unwrap();
        for number in 10..50 {
            write(dir.path(), &format!("skill-{number}"), "Body.");
        }
        let catalog = || Discovery::new([SkillRoot::new(dir.path(), Source::User)]).run();
        let before = catalog();
        let mut bodies = BodyTerms::default();
        for skill in before.skills() {
            bodies.insert(body_key(skill), BodyTerms::of_body("Body."));
        }
        let old = TextIndex::with_bodies(&before, &bodies);
        assert!(old.plan(&before, &bodies).changed.is_empty() && old.changed_skills(&before).next().is_none());
        write(dir.path(), "skill-20", "Another body.");
        write(dir.path(), "a-new-one", "Body.");
        fs::remove_dir_all(dir.path().join("skill-30")).unwrap();
        let after = catalog();
        let plan = old.plan(&after, &BodyTerms::default());
        let read: Vec<&str> = plan.changed.iter().map(|changed| changed.1.name()).collect();
        let changed: Vec<&str> = old.changed_skills(&after).map(Skill::name).collect();
        assert_eq!((&read[..], &changed[..]), (&["a-new-one", "skill-20"][..], &["a-new-one", "skill-20"][..]));
        assert_eq!((plan.skills.len(), plan.added.len()), (40, 2));
        assert_eq!(plan.kept.iter().filter(|number| **number == GONE).count(), 2, "one was removed, one changed");
    }
}
