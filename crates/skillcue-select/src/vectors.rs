//! Vectors of skills, by a sentence model: which skills are near a message in meaning.
//!
//! A skill has one vector, of its [summary](meaning_text), on which the weights of the fusion were fitted. A vector is kept in
//! one byte a dimension, and all of them in one block: to compare a message with 100,000 skills, 38 MB are read.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use rayon::prelude::*;
use skillcue_base::binary::{BinaryFormat, Reader, Writer, u32s};
use skillcue_catalog::{Catalog, Skill};
use twox_hash::XxHash3_128;

/// The format of a file of vectors. The head names the model; vectors do not depend on the version of the program.
const FORMAT: BinaryFormat = BinaryFormat { magic: *b"skcmean1", build: "summaries-1" };
/// The number of rows from which they are compared in parallel. Fewer take less than a millisecond.
const MIN_PARALLEL: usize = 8_192;
/// The number of dimensions that a vector may have.
const MAX_DIMENSIONS: usize = 1 << 14;
/// The cosine from which a skill counts as near. Texts that have nothing to do with each other have about 0.1.
const MIN_NEAR: f32 = 0.2;
/// The row of a skill that has none.
const NO_ROW: u32 = u32::MAX;

/// Returns the text of a skill whose vector stands for it: its name, in words, and its description.
pub fn meaning_text(skill: &Skill) -> String {
    format!("{}. {}", skill.name().replace(['-', '_'], " "), skill.make_manifest().description())
}

/// Returns the key of a text in a [`VectorTable`].
fn text_key(text: &str) -> u128 {
    XxHash3_128::oneshot(text.as_bytes())
}

/// Vectors of texts by one sentence model, as they are kept between starts.
#[derive(Clone, Default, PartialEq)]
pub struct VectorTable {
    model: String,
    dimensions: usize,
    /// Of the texts, in ascending order.
    keys: Vec<u128>,
    /// One row of `dimensions` for each key.
    rows: Vec<i8>,
    /// The inverse lengths of the rows.
    scales: Vec<f32>,
}

impl fmt::Debug for VectorTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rows, dimensions) = (self.keys.len(), self.dimensions);
        f.debug_struct("VectorTable")
            .field("model", &self.model)
            .field("rows", &rows)
            .field("dimensions", &dimensions)
            .finish_non_exhaustive()
    }
}

impl VectorTable {
    /// Returns a table without vectors, for a model by its id.
    pub fn new(model: &str) -> VectorTable {
        VectorTable { model: model.to_owned(), ..VectorTable::default() }
    }

    /// Returns the number of vectors.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Returns whether there are no vectors.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Returns a table with the vectors of `texts` alone: `fresh` ones, and those of this table. Vectors of another length
    /// than the others, and those without a direction, are left out.
    #[must_use]
    pub fn updated(&self, texts: &SkillTextKeys, fresh: &BTreeMap<u128, Vec<f32>>) -> VectorTable {
        let of_fresh = fresh.values().map(Vec::len).find(|length| (1..=MAX_DIMENSIONS).contains(length));
        let dimensions = if self.is_empty() { of_fresh.unwrap_or(0) } else { self.dimensions };
        let mut table = VectorTable { dimensions, ..VectorTable::new(&self.model) };
        for key in texts.distinct() {
            let row = match fresh.get(&key).filter(|vector| vector.len() == dimensions) {
                Some(vector) => quantized(vector),
                None => self.keys.binary_search(&key).ok().map(|at| (self.row(at).to_vec(), self.scales[at])),
            };
            if let Some((row, scale)) = row {
                table.keys.push(key);
                table.rows.extend_from_slice(&row);
                table.scales.push(scale);
            }
        }
        table
    }

    fn row(&self, at: usize) -> &[i8] {
        &self.rows[at * self.dimensions..(at + 1) * self.dimensions]
    }

    /// Returns the table as bytes, to be stored.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut head = Writer::with_capacity(self.rows.len() + self.keys.len() * 20 + 64);
        head.blob(self.model.as_bytes());
        head.count(self.dimensions);
        head.count(self.keys.len());
        for key in &self.keys {
            head.u128(*key);
        }
        for scale in &self.scales {
            head.u32(scale.to_bits());
        }
        let rows: Vec<u8> = self.rows.iter().map(|value| value.cast_unsigned()).collect();
        head.raw(&rows);
        FORMAT.seal(head.as_bytes())
    }

    /// Reads a stored table, if its bytes are intact and of the model with that id.
    ///
    /// ```
    /// use skillcue_select::VectorTable;
    ///
    /// let table = VectorTable::new("my-model 1");
    /// assert_eq!(VectorTable::from_bytes(&table.to_bytes(), "my-model 1"), Some(table.clone()));
    /// assert_eq!(VectorTable::from_bytes(&table.to_bytes(), "my-model 2"), None);
    /// assert_eq!(VectorTable::from_bytes(&table.to_bytes()[1..], "my-model 1"), None);
    /// ```
    pub fn from_bytes(bytes: &[u8], model: &str) -> Option<VectorTable> {
        let mut reader = Reader::new(FORMAT.unseal(bytes)?);
        if reader.text()? != model {
            return None;
        }
        let dimensions = usize::try_from(reader.u32()?).ok().filter(|count| *count <= MAX_DIMENSIONS)?;
        let count = reader.count()?;
        let keys: Option<Vec<u128>> = (0..count).map(|_| reader.u128()).collect();
        let keys = keys.filter(|keys| keys.is_sorted_by(|a, b| a < b))?;
        let scales: Vec<f32> = u32s(reader.raw(count.checked_mul(4)?)?)?.into_iter().map(f32::from_bits).collect();
        let rows = reader.raw(count.checked_mul(dimensions)?)?.iter().map(|value| value.cast_signed()).collect();
        let sound = reader.is_empty() && scales.iter().all(|scale| scale.is_finite());
        sound.then(|| VectorTable { model: model.to_owned(), dimensions, keys, rows, scales })
    }
}

/// The keys of the texts that stand for the skills of a catalog.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SkillTextKeys {
    /// A skill's position in [`Catalog::all`], and the key of its text.
    keys: Vec<(u32, u128)>,
}

impl SkillTextKeys {
    /// Makes the texts of all skills but shadowed ones, and returns their keys.
    pub fn of(catalog: &Catalog) -> SkillTextKeys {
        let key = |(number, skill): (usize, &Skill)| {
            let number = u32::try_from(number).ok().filter(|_| !skill.shadowed())?;
            Some((number, text_key(&meaning_text(skill))))
        };
        let all = catalog.all();
        let keys = if all.len() < MIN_PARALLEL {
            all.iter().map(AsRef::as_ref).enumerate().filter_map(key).collect()
        } else {
            all.par_iter().map(AsRef::as_ref).enumerate().filter_map(key).collect()
        };
        SkillTextKeys { keys }
    }

    /// Returns the keys of plain texts, numbered in their order.
    ///
    /// ```
    /// use skillcue_select::{SkillTextKeys, VectorTable};
    ///
    /// let keys = SkillTextKeys::of_texts(["slides. Designs presentations.", "hiking. Plans hikes."]);
    /// assert_eq!(keys.missing(&VectorTable::new("my-model 1")).len(), 2);
    /// ```
    pub fn of_texts<'a>(texts: impl IntoIterator<Item = &'a str>) -> SkillTextKeys {
        SkillTextKeys { keys: (0..).zip(texts.into_iter().map(text_key)).collect() }
    }

    /// Returns the texts that a table has no vector of, each once: a skill that has it, and its key.
    pub fn missing(&self, table: &VectorTable) -> Vec<(usize, u128)> {
        let mut seen = BTreeSet::new();
        let is_new = |key: &u128| table.keys.binary_search(key).is_err();
        let missing = self.keys.iter().filter(|(_, key)| is_new(key) && seen.insert(*key));
        missing.map(|(skill, key)| (*skill as usize, *key)).collect()
    }

    fn distinct(&self) -> BTreeSet<u128> {
        self.keys.iter().map(|(_, key)| *key).collect()
    }
}

/// The vectors of the skills of one catalog.
///
/// ```
/// use std::collections::BTreeMap;
/// use std::sync::Arc;
/// use skillcue_catalog::{Discovery, SkillRoot, Source};
/// use skillcue_select::{SkillTextKeys, SkillVectors, VectorTable, meaning_text};
///
/// let dir = tempfile::tempdir()?;
/// for (name, does) in [("slide-decks", "Designs presentations."), ("hiking", "Plans hikes.")] {
///     std::fs::create_dir(dir.path().join(name))?;
///     std::fs::write(dir.path().join(name).join("SKILL.md"), format!("---\nname: {name}\ndescription: {does}\n---\n"))?;
/// }
/// let catalog = Discovery::new([SkillRoot::new(dir.path(), Source::User)]).run();
/// let model = |text: &str| if text == "slide decks. Designs presentations." { vec![1.0, 0.1] } else { vec![0.0, 1.0] };
///
/// let (keys, table) = (SkillTextKeys::of(&catalog), VectorTable::new("my-model 1"));
/// let missing = keys.missing(&table).into_iter();
/// let fresh: BTreeMap<u128, Vec<f32>> =
///     missing.map(|(skill, key)| (key, model(&meaning_text(&catalog.all()[skill])))).collect();
/// let vectors = SkillVectors::of(&keys, Arc::new(table.updated(&keys, &fresh)));
///
/// let cosines = vectors.cosines(&[1.0, 0.0]).unwrap();
/// let nearest = cosines.nearest(3, &|_| true);
/// assert_eq!(nearest.iter().map(|skill| catalog.all()[*skill].name()).collect::<Vec<_>>(), ["slide-decks"]);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct SkillVectors {
    table: Arc<VectorTable>,
    /// Skills and their rows, in the order of the skills.
    rows: Vec<(u32, u32)>,
    missing: usize,
}

impl SkillVectors {
    /// Looks up the vectors of skills in a table.
    pub fn of(keys: &SkillTextKeys, table: Arc<VectorTable>) -> SkillVectors {
        let row = |key: &u128| table.keys.binary_search(key).ok().and_then(|row| u32::try_from(row).ok());
        let rows: Vec<(u32, u32)> = keys.keys.iter().map(|(skill, key)| (*skill, row(key).unwrap_or(NO_ROW))).collect();
        let missing = rows.iter().filter(|(_, row)| *row == NO_ROW).count();
        SkillVectors { table, rows, missing }
    }

    /// Returns the table that the vectors are in.
    pub fn table(&self) -> &Arc<VectorTable> {
        &self.table
    }

    /// Returns whether all skills have a vector.
    pub fn is_complete(&self) -> bool {
        self.missing == 0
    }

    /// Returns whether so few skills have no vector that ranking by meaning is fair: at most one in twenty.
    pub fn is_nearly_complete(&self) -> bool {
        self.missing * 20 <= self.rows.len()
    }

    /// Compares a message with all skills. `None` if its vector has another number of dimensions than theirs, or no
    /// direction.
    pub fn cosines(&self, message: &[f32]) -> Option<SkillCosines<'_>> {
        let (message, scale) = quantized(message).filter(|_| message.len() == self.table.dimensions)?;
        let of_row = |(row, row_scale): (&[i8], &f32)| cosine(dot(&message, row), scale * row_scale);
        let rows = &self.table.rows;
        let by_row = if self.table.len() < MIN_PARALLEL {
            rows.chunks_exact(message.len()).zip(&self.table.scales).map(of_row).collect()
        } else {
            let rows = rows.par_chunks_exact(message.len()).with_min_len(MIN_PARALLEL / 4);
            rows.zip(&self.table.scales).map(of_row).collect()
        };
        Some(SkillCosines { vectors: self, by_row })
    }
}

/// The cosines of a message and all skills.
#[derive(Debug, Clone)]
pub struct SkillCosines<'v> {
    vectors: &'v SkillVectors,
    by_row: Vec<f32>,
}

impl SkillCosines<'_> {
    /// Returns the cosine of a skill; `None` if it has no vector.
    pub fn of(&self, skill: usize) -> Option<f32> {
        let at = self.vectors.rows.binary_search_by_key(&skill, |(skill, _)| *skill as usize).ok()?;
        self.by_row.get(self.vectors.rows[at].1 as usize).copied()
    }

    /// Returns the `usable` skills that are nearest, at most so many, best first. Those that have nothing to do with the
    /// message are not among them.
    pub fn nearest(&self, count: usize, usable: &dyn Fn(usize) -> bool) -> Vec<usize> {
        let mut best: Vec<(f32, usize)> = Vec::with_capacity(count + 1);
        for (skill, row) in &self.vectors.rows {
            let Some(cosine) = self.by_row.get(*row as usize).copied() else { continue };
            let is_near = cosine >= MIN_NEAR && best.get(count.saturating_sub(1)).is_none_or(|last| cosine > last.0);
            let skill = *skill as usize;
            if is_near && count > 0 && usable(skill) {
                best.insert(best.partition_point(|other| other.0 >= cosine), (cosine, skill));
                best.truncate(count);
            }
        }
        best.into_iter().map(|(_, skill)| skill).collect()
    }
}

/// Returns a vector in one byte a dimension, and its inverse length then. `None` if it has no direction.
fn quantized(vector: &[f32]) -> Option<(Vec<i8>, f32)> {
    let most = vector.iter().fold(0.0_f32, |most, value| most.max(value.abs()));
    if !(most > 0.0 && vector.iter().all(|value| value.is_finite())) {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, reason = "from -127 to 127")]
    let bytes: Vec<i8> = vector.iter().map(|value| (value / most * 127.0).round() as i8).collect();
    let square: f32 = bytes.iter().map(|value| f32::from(*value) * f32::from(*value)).sum();
    Some((bytes, 1.0 / square.sqrt()))
}

/// Returns the sum of the products.
fn dot(a: &[i8], b: &[i8]) -> i32 {
    a.iter().zip(b).map(|(a, b)| i32::from(i16::from(*a) * i16::from(*b))).sum()
}

#[expect(clippy::cast_precision_loss, reason = "six digits are enough for a cosine")]
fn cosine(product: i32, scale: f32) -> f32 {
    product as f32 * scale
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(count: u32) -> SkillTextKeys {
        let texts: Vec<String> = (0..count).map(|skill| skill.to_string()).collect();
        SkillTextKeys::of_texts(texts.iter().map(String::as_str))
    }

    fn table(keys: &SkillTextKeys, vector: impl Fn(u32) -> Vec<f32>) -> VectorTable {
        let fresh = keys.keys.iter().map(|(skill, key)| (*key, vector(*skill))).collect();
        VectorTable::new("m").updated(keys, &fresh)
    }

    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    fn on_circle(skill: u32) -> Vec<f32> {
        let angle = skill as f32 / 1_000.0;
        vec![angle.cos(), angle.sin(), 0.0]
    }

    #[test]
    fn damage_anywhere_reads_as_nothing() {
        let whole = table(&keys(3), on_circle).to_bytes();
        assert!(VectorTable::from_bytes(&whole, "m").is_some_and(|table| table.len() == 3));
        for at in 0..whole.len() {
            let mut flipped = whole.clone();
            flipped[at] ^= 1 << (at % 8);
            assert_eq!(VectorTable::from_bytes(&flipped, "m"), None, "{at}");
            assert_eq!(VectorTable::from_bytes(&whole[..at], "m"), None, "{at}");
        }
    }

    #[test]
    fn the_nearest_are_found_in_parallel_as_one_by_one() {
        for count in [100, 20_000] {
            let keys = keys(count);
            let vectors = SkillVectors::of(&keys, Arc::new(table(&keys, |skill| on_circle(skill % 3_000))));
            let cosines = vectors.cosines(&[1.0, 0.05, 0.0]).unwrap();
            let nearest = cosines.nearest(5, &|skill| skill % 2 == 0);
            assert_eq!(nearest.len(), 5);
            let exact = |skill: usize| f64::from(u32::try_from(skill % 3_000).unwrap()) / 1_000.0 - 0.05_f64.atan();
            assert!(nearest.iter().all(|skill| skill % 2 == 0 && exact(*skill).abs() < 0.02), "{nearest:?}");
            let off = |skill: usize| (f64::from(cosines.of(skill).unwrap()) - exact(skill).cos()).abs();
            assert!((0..100).all(|skill| off(skill) < 0.01));
        }
    }

    #[test]
    fn vectors_that_cannot_be_compared_are_left_out() {
        let keys = keys(4);
        let odd = |skill: u32| match skill {
            0 => vec![1.0, 0.0],
            1 => vec![0.0, 0.0],
            2 => vec![f32::NAN, 1.0],
            _ => vec![1.0, 0.0, 0.0],
        };
        let fresh: BTreeMap<u128, Vec<f32>> = keys.keys.iter().map(|(skill, key)| (*key, odd(*skill))).collect();
        let two: BTreeMap<u128, Vec<f32>> =
            fresh.iter().filter(|(_, vector)| vector.len() == 2).map(|(key, vector)| (*key, vector.clone())).collect();
        let first = VectorTable::new("m").updated(&keys, &two);
        let table = first.updated(&keys, &fresh);
        assert_eq!((table.len(), keys.missing(&table).len()), (1, 3));
        let vectors = SkillVectors::of(&keys, Arc::new(table));
        assert!(!vectors.is_nearly_complete());
        assert!(vectors.cosines(&[1.0]).is_none() && vectors.cosines(&[0.0, 0.0]).is_none());
        let cosines = vectors.cosines(&[2.0, 0.0]).unwrap();
        assert!(
            cosines.of(0).is_some_and(|cosine| cosine > 0.99) && cosines.of(3).is_none() && cosines.of(9).is_none()
        );
    }

    #[test]
    fn vectors_of_texts_that_are_gone_go_and_equal_texts_share_one() {
        let table = table(&keys(10), on_circle);
        let shared = SkillTextKeys { keys: vec![(2, text_key("5")), (7, text_key("5")), (8, text_key("new"))] };
        assert_eq!(shared.missing(&table), [(8, text_key("new"))]);
        let less = table.updated(&shared, &BTreeMap::new());
        assert_eq!(less.len(), 1);
        let vectors = SkillVectors::of(&shared, Arc::new(less));
        let cosines = vectors.cosines(&[1.0, 0.0, 0.0]).unwrap();
        assert_eq!((cosines.of(2), cosines.nearest(9, &|_| true)), (cosines.of(7), vec![2, 7]));
    }
}
