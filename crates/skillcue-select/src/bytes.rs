//! The trigger index as bytes, and back: a head of [`FORMAT`], each array with its length before it. Inconsistent bytes
//! are treated as absent.

use skillcue_base::binary::{BinaryFormat, Reader, Writer};

use crate::grams::Grams;
use crate::index::{GOES_ON, NO_ITEM, NONE, TriggerIndex, TriggerKind};

/// The format of the bytes. The magic changes whenever the layout does, or the meaning of an index: folding, tokens,
/// hashes. The build counts because another one may read triggers differently.
const FORMAT: BinaryFormat = BinaryFormat { magic: *b"skcsel02", build: env!("CARGO_PKG_VERSION") };

/// Writes an index.
pub(crate) fn write(index: &TriggerIndex) -> Vec<u8> {
    let mut out =
        Writer::with_capacity(index.text.len() + index.kinds.len() * 16 + index.node_hashes.len() * 12 + 4096);
    out.u128(index.key);
    out.u64(index.spread);
    for bytes in [&index.flags, &index.kinds, index.text.as_bytes(), &index.grams.bytes] {
        out.blob(bytes);
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
        out.u32s(numbers);
    }
    out.u64s(&index.node_hashes);
    FORMAT.seal(out.as_bytes())
}

/// Reads an index, if it is complete and sound.
pub(crate) fn read(bytes: &[u8]) -> Option<TriggerIndex> {
    let mut reader = Reader::new(FORMAT.unseal(bytes)?);
    let index = TriggerIndex {
        key: reader.u128()?,
        spread: reader.u64()?,
        flags: reader.blob()?.to_vec(),
        kinds: reader.blob()?.to_vec(),
        text: reader.text()?.to_owned(),
        grams: Grams { bytes: reader.blob()?.to_vec(), ..Grams::default() },
        text_starts: reader.u32s()?,
        posting_starts: reader.u32s()?,
        postings: reader.u32s()?,
        trigger_starts: reader.u32s()?,
        triggers: reader.u32s()?,
        bounds: reader.u32s()?.try_into().ok()?,
        node_items: reader.u32s()?,
        symbols: reader.u32s()?,
        symbol_items: reader.u32s()?,
        ..TriggerIndex::default()
    };
    let mut index = TriggerIndex {
        grams: Grams {
            starts: reader.u32s()?,
            items: reader.u32s()?,
            offsets: reader.u32s()?,
            keys: reader.u32s()?,
            order: reader.u32s()?,
            ..index.grams
        },
        always: reader.u32s()?,
        globs: reader.u32s()?,
        ..index
    };
    index.node_hashes = reader.u64s()?;
    (reader.is_empty() && is_sound(&index)).then(|| {
        index.grams.sift();
        index
    })
}

/// Returns whether every number in an index is in range. Bytes with a valid checksum are either those that we wrote or
/// were forged; neither may panic.
fn is_sound(index: &TriggerIndex) -> bool {
    let (skills, items) = (index.flags.len(), index.kinds.len());
    let grams = &index.grams;
    let below = |numbers: &[u32], end: usize| numbers.iter().all(|number| (*number as usize) < end);
    let leads = |starts: &[u32], count: usize, end: usize| {
        starts.len() == count + 1 && starts[0] == 0 && starts[count] as usize == end && starts.is_sorted()
    };
    let [patterns, files, languages] = index.bounds.map(|bound| bound as usize);
    let kind = |byte: &u8| TriggerKind::of(*byte);
    let kinds_fit = |range: std::ops::Range<usize>, fits: fn(TriggerKind) -> bool| {
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
        && kinds_fit(0..patterns, |kind| kind <= TriggerKind::Name)
        && kinds_fit(patterns..files, |kind| matches!(kind, TriggerKind::Pattern | TriggerKind::BadPattern))
        && kinds_fit(files..languages, |kind| kind == TriggerKind::File)
        && kinds_fit(languages..items, |kind| kind == TriggerKind::Language)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SelectOptions, Selector, Turn};
    use skillcue_catalog::{Catalog, Discovery, SkillRoot, Source};

    const FRONT: &str = "---\nname: a-b\ndescription: D.\ntriggers:\n  keywords: [x, y z, '->', c++, 表格]\n  verbs: [run]\n  \
        patterns: ['x.*y', '\\d', '(']\n  files: ['*.rs', 'src/*']\n  languages: [c]\n---\n";

    fn catalog(dir: &std::path::Path) -> Catalog {
        for name in ["a-b", "c"] {
            std::fs::create_dir(dir.join(name)).unwrap();
            std::fs::write(dir.join(name).join("SKILL.md"), FRONT.replace("a-b", name)).unwrap();
        }
        Discovery::new([SkillRoot::new(dir, Source::User)]).run()
    }

    #[test]
    fn an_index_is_read_back_as_it_was_written() {
        let dir = tempfile::tempdir().unwrap();
        let selector = Selector::of(&catalog(dir.path()));
        assert_eq!(read(&write(&selector.index)).unwrap(), selector.index);
        let empty = TriggerIndex::default();
        assert!(read(&write(&empty)).is_none(), "even its lists of starts are missing");
    }

    #[test]
    fn forged_bytes_never_panic() {
        let dir = tempfile::tempdir().unwrap();
        let catalog = catalog(dir.path());
        let whole = write(&Selector::of(&catalog).index);
        let head = FORMAT.unseal(&whole).unwrap();
        let turn = Turn::new("run x 12 y z c++ -> 表格 a-b $c").files(["src/a.rs"]).languages(["c"]);
        let mut accepted = 0;
        for at in 0..head.len() {
            for value in [0, 1, 0x7F, 0xFF, head[at].wrapping_add(1), head[at] ^ 0x80] {
                // Forged, with a valid checksum.
                let mut bytes = head.to_vec();
                bytes[at] = value;
                if let Some(selector) = Selector::from_bytes(&FORMAT.seal(&bytes)) {
                    accepted += 1;
                    let _ = selector.select(&catalog, &turn, &SelectOptions::default());
                    let _ = selector.explain(&catalog, &turn, "a-b");
                }
            }
        }
        assert!(accepted > 0, "the test reaches beyond the checksum");
        let longer = [head, &[0]].concat();
        assert!(read(&FORMAT.seal(&longer)).is_none());
    }
}
