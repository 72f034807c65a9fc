//! The index as bytes, and back.
//!
//! Layout, integers little-endian: [`MAGIC`], this crate's version, the checksum of the rest, the rest: each array with
//! its length before it. Whatever does not add up is as if it were not there.

use twox_hash::XxHash3_64;

use crate::grams::Grams;
use crate::index::{GOES_ON, Index, Kind, NO_ITEM, NONE};

/// Changes whenever the layout does, or what an index means: folding, tokens, hashes.
const MAGIC: &[u8; 8] = b"skcsel01";
/// What built it: another build may read triggers differently.
const BUILD: &str = env!("CARGO_PKG_VERSION");

/// Writes an index.
pub(crate) fn write(index: &Index) -> Vec<u8> {
    let mut out = Vec::with_capacity(index.text.len() + index.kinds.len() * 16 + index.node_hashes.len() * 12 + 4096);
    out.extend_from_slice(MAGIC);
    blob(&mut out, BUILD.as_bytes());
    let head = out.len();
    out.extend_from_slice(&[0; 8]);
    out.extend_from_slice(&index.key.to_le_bytes());
    out.extend_from_slice(&index.spread.to_le_bytes());
    for bytes in [&index.flags, &index.kinds, index.text.as_bytes(), &index.grams.bytes] {
        blob(&mut out, bytes);
    }
    let grams = &index.grams;
    for numbers in [
        &index.text_starts,
        &index.posting_starts,
        &index.postings,
        &index.trigger_starts,
        &index.triggers,
        &index.bounds.to_vec(),
        &index.node_items,
        &index.symbols,
        &index.symbol_items,
        &grams.starts,
        &grams.items,
        &grams.offsets,
        &grams.keys,
        &grams.order,
        &index.always,
        &index.globs,
    ] {
        out.extend_from_slice(&(numbers.len() as u64).to_le_bytes());
        for number in numbers {
            out.extend_from_slice(&number.to_le_bytes());
        }
    }
    out.extend_from_slice(&(index.node_hashes.len() as u64).to_le_bytes());
    for hash in &index.node_hashes {
        out.extend_from_slice(&hash.to_le_bytes());
    }
    let checksum = XxHash3_64::oneshot(&out[head + 8..]);
    out[head..head + 8].copy_from_slice(&checksum.to_le_bytes());
    out
}

/// Reads an index, if it is whole and sound.
pub(crate) fn read(bytes: &[u8]) -> Option<Index> {
    let mut reader = Reader { rest: bytes.strip_prefix(MAGIC)? };
    if reader.blob()? != BUILD.as_bytes() || reader.u64()? != XxHash3_64::oneshot(reader.rest) {
        return None;
    }
    let index = Index {
        key: u128::from_le_bytes(reader.take(16)?.try_into().ok()?),
        spread: reader.u64()?,
        flags: reader.blob()?.to_vec(),
        kinds: reader.blob()?.to_vec(),
        text: String::from_utf8(reader.blob()?.to_vec()).ok()?,
        grams: Grams { bytes: reader.blob()?.to_vec(), ..Grams::default() },
        text_starts: reader.numbers()?,
        posting_starts: reader.numbers()?,
        postings: reader.numbers()?,
        trigger_starts: reader.numbers()?,
        triggers: reader.numbers()?,
        bounds: reader.numbers()?.try_into().ok()?,
        node_items: reader.numbers()?,
        symbols: reader.numbers()?,
        symbol_items: reader.numbers()?,
        ..Index::default()
    };
    let mut index = Index {
        grams: Grams {
            starts: reader.numbers()?,
            items: reader.numbers()?,
            offsets: reader.numbers()?,
            keys: reader.numbers()?,
            order: reader.numbers()?,
            ..index.grams
        },
        always: reader.numbers()?,
        globs: reader.numbers()?,
        ..index
    };
    let hashes = reader.length(8)?;
    index.node_hashes = reader.take(hashes)?.as_chunks().0.iter().map(|hash| u64::from_le_bytes(*hash)).collect();
    (reader.rest.is_empty() && is_sound(&index)).then(|| {
        index.grams.sift();
        index
    })
}

/// Whether every number in an index leads to something. What a checksum lets through is either what we wrote or was
/// made to deceive; neither may panic.
fn is_sound(index: &Index) -> bool {
    let (skills, items) = (index.flags.len(), index.kinds.len());
    let grams = &index.grams;
    let below = |numbers: &[u32], end: usize| numbers.iter().all(|number| (*number as usize) < end);
    let leads = |starts: &[u32], count: usize, end: usize| {
        starts.len() == count + 1 && starts[0] == 0 && starts[count] as usize == end && starts.is_sorted()
    };
    let [patterns, files, languages] = index.bounds.map(|bound| bound as usize);
    let kind = |byte: &u8| Kind::of(*byte);
    let kinds_fit = |range: std::ops::Range<usize>, fits: fn(Kind) -> bool| {
        index.kinds.get(range).is_some_and(|kinds| kinds.iter().all(|byte| kind(byte).is_some_and(fits)))
    };
    let grams_empty = grams.starts.is_empty() && grams.bytes.is_empty() && grams.items.is_empty();
    leads(&index.text_starts, items, index.text.len())
        && index.text_starts.iter().all(|at| index.text.is_char_boundary(*at as usize))
        && leads(&index.posting_starts, items, index.postings.len())
        && below(&index.postings, skills)
        && leads(&index.trigger_starts, skills, index.triggers.len())
        && index.triggers.iter().all(|item| *item == NONE || (*item as usize) < items)
        && patterns <= files
        && files <= languages
        && kinds_fit(0..patterns, |kind| kind <= Kind::Name)
        && kinds_fit(patterns..files, |kind| matches!(kind, Kind::Pattern | Kind::BadPattern))
        && kinds_fit(files..languages, |kind| kind == Kind::File)
        && kinds_fit(languages..items, |kind| kind == Kind::Language)
        && index.node_hashes.len() == index.node_items.len()
        && index.node_items.iter().map(|node| node & !GOES_ON).all(|item| item == NO_ITEM || (item as usize) < patterns)
        && index.symbols.len() == index.symbol_items.len()
        && index.symbols.is_sorted()
        && below(&index.symbol_items, patterns)
        && (grams_empty || leads(&grams.starts, grams.items.len(), grams.bytes.len()))
        && grams.offsets.len() == grams.items.len()
        && grams.order.len() == grams.items.len()
        && grams.keys.len() == grams.order.len()
        && grams.keys.is_sorted()
        && below(&grams.order, grams.items.len())
        && below(&grams.items, files)
        && below(&index.always, files)
        && index.globs.iter().all(|item| (files..languages).contains(&(*item as usize)))
}

fn blob(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
    out.extend_from_slice(bytes);
}

struct Reader<'b> {
    rest: &'b [u8],
}

impl<'b> Reader<'b> {
    fn take(&mut self, length: usize) -> Option<&'b [u8]> {
        let (taken, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(taken)
    }

    fn u64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }

    /// How many bytes an array of things of that width has.
    fn length(&mut self, width: usize) -> Option<usize> {
        usize::try_from(self.u64()?).ok()?.checked_mul(width)
    }

    fn blob(&mut self) -> Option<&'b [u8]> {
        let length = self.length(1)?;
        self.take(length)
    }

    fn numbers(&mut self) -> Option<Vec<u32>> {
        let length = self.length(4)?;
        Some(self.take(length)?.as_chunks().0.iter().map(|number| u32::from_le_bytes(*number)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SelectOptions, Selector, Turn};
    use skillcue_catalog::{Catalog, Discovery, Root, Source};

    const FRONT: &str = "---\nname: a-b\ndescription: D.\ntriggers:\n  keywords: [x, y z, '->', c++, 表格]\n  verbs: [run]\n  \
        patterns: ['x.*y', '\\d', '(']\n  files: ['*.rs', 'src/*']\n  languages: [c]\n---\n";

    fn catalog(dir: &std::path::Path) -> Catalog {
        for name in ["a-b", "c"] {
            std::fs::create_dir(dir.join(name)).unwrap();
            std::fs::write(dir.join(name).join("SKILL.md"), FRONT.replace("a-b", name)).unwrap();
        }
        Discovery::new([Root::new(dir, Source::User)]).run()
    }

    /// What somebody could do who knows the checksum.
    fn reseal(bytes: &mut [u8]) {
        let head = MAGIC.len() + 8 + BUILD.len();
        let checksum = XxHash3_64::oneshot(&bytes[head + 8..]);
        bytes[head..head + 8].copy_from_slice(&checksum.to_le_bytes());
    }

    #[test]
    fn there_and_back() {
        let dir = tempfile::tempdir().unwrap();
        let selector = Selector::of(&catalog(dir.path()));
        assert_eq!(read(&write(&selector.index)).unwrap(), selector.index);
        let empty = Index::default();
        assert!(read(&write(&empty)).is_none(), "not even its lists of starts are there");
    }

    #[test]
    fn forged_bytes_never_panic() {
        let dir = tempfile::tempdir().unwrap();
        let catalog = catalog(dir.path());
        let whole = write(&Selector::of(&catalog).index);
        let head = MAGIC.len() + 16 + BUILD.len();
        let turn = Turn::new("run x 12 y z c++ -> 表格 a-b $c").files(["src/a.rs"]).languages(["c"]);
        let mut accepted = 0;
        for at in head..whole.len() {
            for value in [0, 1, 0x7F, 0xFF, whole[at].wrapping_add(1), whole[at] ^ 0x80] {
                let mut bytes = whole.clone();
                bytes[at] = value;
                reseal(&mut bytes);
                if let Some(selector) = Selector::from_bytes(&bytes) {
                    accepted += 1;
                    let _ = selector.select(&catalog, &turn, &SelectOptions::default());
                    let _ = selector.explain(&catalog, &turn, "a-b");
                }
            }
        }
        assert!(accepted > 0, "the test reaches beyond the checksum");
        let mut longer = whole.clone();
        longer.push(0);
        reseal(&mut longer);
        assert!(read(&longer).is_none());
    }
}
