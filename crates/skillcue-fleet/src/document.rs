//! A generation: its document, and the shards with the skills.
//!
//! Skills are dealt to shards by their names, so that one that changes changes one shard, and readers fetch that alone.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::sync::Arc;

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde::{Deserialize, Serialize};
use skillcue::remote::{PublishedBody, RemoteEntry};
use skillcue_base::Digest;
use skillcue_base::binary::{Reader, Writer};
use skillcue_mcp::host::door;
use skillcue_select::DocTerms;

use crate::FleetError;
use crate::budget::{BoundedLines, UnpackBudget};
use crate::limits::{MAX_ENTRY_RAW, MAX_SHARD, MAX_SHARD_BITS, MAX_SHARD_RAW, MAX_SKILLS, SKILLS_PER_SHARD};
use crate::publish::KeptBody;

/// A blob by its digest, with its size.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct BlobRef {
    /// SHA-256 of the bytes as they are stored.
    pub digest: Digest,
    /// The number of bytes.
    pub size: u64,
}

impl BlobRef {
    /// Checks that bytes are the ones that are meant.
    pub(crate) fn check(&self, what: &str, bytes: &[u8]) -> Result<(), FleetError> {
        let altered = |why: String| FleetError::Altered { what: what.to_owned(), why };
        if bytes.len() as u64 != self.size {
            return Err(altered(format!("{} bytes instead of {}", bytes.len(), self.size)));
        }
        let digest = Digest::of(bytes);
        if digest != self.digest {
            return Err(altered(format!("its digest is {digest}")));
        }
        Ok(())
    }
}

/// The document of one generation, which has the digest of everything in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Document {
    /// The version of the format.
    pub format: u32,
    /// The catalog's name.
    pub catalog: String,
    /// The number of the generation.
    pub sequence: u64,
    /// When it was made, in seconds since 1970.
    pub published: u64,
    /// How many skills there are.
    pub skills: usize,
    /// The shards, two to some power; `null` where there is no skill.
    pub shards: Vec<Option<ShardRef>>,
    /// The index over texts, of some earlier generation or this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub texts: Option<BlobRef>,
    /// The index over triggers of the same generation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub triggers: Option<BlobRef>,
    /// The organisation's policy, which readers with keys apply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<BlobRef>,
}

/// One shard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShardRef {
    /// How many skills it has.
    pub skills: usize,
    /// The entries.
    pub entries: BlobRef,
    /// The terms of the bodies that are not in the index over texts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terms: Option<BlobRef>,
    /// How many bodies these are.
    #[serde(default)]
    pub unindexed: usize,
}

impl Document {
    /// Reads a document, and checks what other code relies on.
    pub(crate) fn read(bytes: &[u8]) -> Result<Document, FleetError> {
        let invalid = |why: String| FleetError::Invalid { what: "the catalog's document".to_owned(), why };
        let document: Document = serde_json::from_slice(bytes).map_err(|error| invalid(error.to_string()))?;
        if document.format != crate::head::FORMAT {
            return Err(invalid(format!("its format is {}", document.format)));
        }
        let count = document.shards.len();
        if !count.is_power_of_two() || count > 1 << MAX_SHARD_BITS {
            return Err(invalid(format!("it has {count} shards")));
        }
        let skills: usize = document.shards.iter().flatten().map(|shard| shard.skills).fold(0, usize::saturating_add);
        if skills != document.skills || skills > MAX_SKILLS {
            return Err(invalid(format!("it says {} skills, and its shards have {skills}", document.skills)));
        }
        Ok(document)
    }

    /// Returns it as bytes.
    pub(crate) fn write(&self) -> Result<Vec<u8>, FleetError> {
        serde_json::to_vec(self)
            .map_err(|error| FleetError::Invalid { what: "the document".to_owned(), why: error.to_string() })
    }

    /// Returns every blob that it names itself.
    pub(crate) fn blobs(&self) -> impl Iterator<Item = &BlobRef> {
        let shards = self.shards.iter().flatten().flat_map(|shard| [Some(&shard.entries), shard.terms.as_ref()]);
        shards.chain([self.texts.as_ref(), self.triggers.as_ref(), self.policy.as_ref()]).flatten()
    }

    /// Returns how many bodies are not in the index over texts.
    pub(crate) fn unindexed(&self) -> usize {
        self.shards.iter().flatten().map(|shard| shard.unindexed).fold(0, usize::saturating_add)
    }
}

/// How many digits of its digest the place of a document has.
pub(crate) const DOCUMENT_DIGITS: usize = 16;

/// Returns the place of a generation's document.
pub(crate) fn document_path(sequence: u64, document: &BlobRef) -> String {
    let digits = document.digest.to_string();
    format!("catalog/{sequence:012}-{}", digits.get(..DOCUMENT_DIGITS).unwrap_or_default())
}

/// Returns how many shards so many skills are dealt to.
pub(crate) fn shard_count(skills: usize) -> usize {
    skills.div_ceil(SKILLS_PER_SHARD).next_power_of_two().clamp(1, 1 << MAX_SHARD_BITS)
}

/// Returns the shard of a skill's name.
pub(crate) fn shard_of(name: &str, count: usize) -> usize {
    let digest = Digest::of(name);
    let [a, b, ..] = *digest.as_bytes();
    usize::from(u16::from_be_bytes([a, b])) % count
}

/// The skills of one shard, by URI.
#[derive(Debug, Clone, Default)]
pub(crate) struct Shard {
    pub(crate) entries: BTreeMap<String, Arc<RemoteEntry>>,
    /// The terms of bodies that are not in the index over texts.
    pub(crate) terms: BTreeMap<String, KeptBody>,
}

/// Returns entries as they are stored: a line of JSON each, compressed. Equal entries give equal bytes. More than a reader
/// takes is an error.
pub(crate) fn write_entries<'e>(entries: impl Iterator<Item = &'e Arc<RemoteEntry>>) -> Result<Vec<u8>, FleetError> {
    let mut lines = Vec::new();
    for entry in entries {
        lines.extend_from_slice(door::write_entry(entry).to_string().as_bytes());
        lines.push(b'\n');
    }
    pack_shard(&lines)
}

fn pack_shard(raw: &[u8]) -> Result<Vec<u8>, FleetError> {
    let too_large = |max| FleetError::TooLarge { what: "a shard of the catalog".to_owned(), max };
    if raw.len() as u64 > MAX_SHARD_RAW {
        return Err(too_large(MAX_SHARD_RAW));
    }
    let packed = pack(raw);
    if packed.len() as u64 > MAX_SHARD { Err(too_large(MAX_SHARD)) } else { Ok(packed) }
}

/// Entries that were read, and how many bytes they were unpacked.
#[derive(Debug)]
pub(crate) struct ReadEntries {
    pub(crate) entries: Vec<Arc<RemoteEntry>>,
    pub(crate) raw: u64,
}

/// Reads the stored entries of a shard that has `skills` of them. Each is checked as if a server had sent it. Reading stops at
/// the first byte that is too much: what is in memory is at most one line, and entries that were checked.
pub(crate) fn read_entries(bytes: &[u8], skills: usize, budget: &UnpackBudget) -> Result<ReadEntries, FleetError> {
    let invalid = |why: String| FleetError::Invalid { what: "a shard of the catalog".to_owned(), why };
    let too_large = |what: &str, max: u64| FleetError::TooLarge { what: what.to_owned(), max };
    let mut lines = BoundedLines::new(GzDecoder::new(bytes), MAX_ENTRY_RAW);
    let (mut entries, mut line, mut raw) = (Vec::new(), Vec::new(), 0);
    loop {
        let read = lines.next(&mut line).map_err(|error| invalid(error.to_string()))?;
        if read == 0 {
            break;
        }
        budget.take(read)?;
        raw += read;
        if read > MAX_ENTRY_RAW {
            return Err(too_large("an entry of the catalog", MAX_ENTRY_RAW));
        }
        if raw > MAX_SHARD_RAW {
            return Err(too_large("a shard of the catalog, unpacked,", MAX_SHARD_RAW));
        }
        if line.is_empty() {
            continue;
        }
        if entries.len() == skills {
            return Err(invalid(format!("it has more skills than the {skills} that the document says")));
        }
        let value = serde_json::from_slice(&line).map_err(|error| invalid(error.to_string()))?;
        let entry = door::read_entry(&value).map_err(|why| invalid(skillcue_base::Shown(&why).to_string()))?;
        if entry.files.is_none() {
            return Err(invalid(format!("{} does not list its files", skillcue_base::Shown(&entry.uri))));
        }
        entries.push(Arc::new(entry));
    }
    Ok(ReadEntries { entries, raw })
}

/// Returns terms as they are stored. More than a reader takes is an error.
pub(crate) fn write_terms<'t>(terms: impl ExactSizeIterator<Item = &'t PublishedBody>) -> Result<Vec<u8>, FleetError> {
    let mut writer = Writer::default();
    writer.count(terms.len());
    for body in terms {
        writer.blob(body.uri.as_bytes());
        writer.u64(body.content);
        body.terms.write(&mut writer);
    }
    pack_shard(writer.as_bytes())
}

/// Reads the stored terms of at most `max_bodies` bodies.
pub(crate) fn read_terms(
    bytes: &[u8],
    max_bodies: usize,
    budget: &UnpackBudget,
) -> Result<Vec<PublishedBody>, FleetError> {
    let raw = unpack(bytes, MAX_SHARD_RAW)?;
    budget.take(raw.len() as u64)?;
    let mut reader = Reader::new(&raw);
    let read = |reader: &mut Reader<'_>| {
        let count = reader.count().filter(|count| *count <= max_bodies)?;
        let mut bodies = Vec::new();
        for _ in 0..count {
            let (uri, content) = (reader.text()?.to_owned(), reader.u64()?);
            bodies.push(PublishedBody { uri, content, terms: DocTerms::read(reader)? });
        }
        reader.is_empty().then_some(bodies)
    };
    let why = "its numbers do not fit".to_owned();
    read(&mut reader).ok_or(FleetError::Invalid { what: "the terms of a shard".to_owned(), why })
}

/// Compresses bytes. Equal bytes stay equal.
pub(crate) fn pack(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(bytes.len() / 3), Compression::new(5));
    // Writing to memory cannot fail; if it did, the blob would not be read back.
    let _ = encoder.write_all(bytes);
    encoder.finish().unwrap_or_default()
}

/// Unpacks at most `max` bytes.
pub(crate) fn unpack(bytes: &[u8], max: u64) -> Result<Vec<u8>, FleetError> {
    let mut raw = Vec::new();
    let invalid = |why: String| FleetError::Invalid { what: "a part of the catalog".to_owned(), why };
    GzDecoder::new(bytes).take(max + 1).read_to_end(&mut raw).map_err(|error| invalid(error.to_string()))?;
    if raw.len() as u64 > max {
        return Err(FleetError::TooLarge { what: "a part of the catalog, unpacked,".to_owned(), max });
    }
    Ok(raw)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bomb_is_not_unpacked() {
        let packed = pack(&vec![0; 10_000_000]);
        assert!(packed.len() < 100_000);
        assert!(matches!(unpack(&packed, 1_000_000), Err(FleetError::TooLarge { .. })));
        assert_eq!(unpack(&packed, 10_000_000).unwrap().len(), 10_000_000);
    }

    #[test]
    fn names_are_dealt_evenly() {
        assert_eq!((shard_count(0), shard_count(512), shard_count(513), shard_count(100_000)), (1, 1, 2, 256));
        let mut counts = [0; 4];
        for number in 0..4000 {
            counts[shard_of(&format!("skill-{number}"), 4)] += 1;
        }
        assert!(counts.iter().all(|count| (900..1100).contains(count)), "{counts:?}");
    }

    #[test]
    fn damaged_parts_are_refused() {
        let terms = [PublishedBody {
            uri: "skill://a/SKILL.md".to_owned(),
            content: 7,
            terms: skillcue_select::BodyTerms::of_body("Merge pages."),
        }];
        let packed = write_terms(terms.iter()).unwrap();
        let budget = UnpackBudget::new(1 << 20);
        assert_eq!(read_terms(&packed, 1, &budget).unwrap(), terms);
        assert!(read_terms(&packed, 0, &budget).is_err(), "more than the document says");
        for cut in 0..packed.len() {
            assert!(read_terms(&packed[..cut], 1, &budget).is_err(), "{cut}");
        }
        assert!(read_entries(&pack(b"{}\n"), 1, &budget).is_err());
        assert!(read_entries(b"no gzip", 1, &budget).is_err());
    }

    /// Returns a line of a shard, without its end.
    fn line(number: usize) -> String {
        let digest = format!("sha256:{}", "0".repeat(64));
        let uri = format!("skill://s{number}/SKILL.md");
        let entry = serde_json::json!({
            "uri": uri, "frontmatter": {"name": format!("s{number}"), "description": "Does things."},
            "resources": [{"uri": uri, "digest": digest, "size": 1}],
        });
        entry.to_string()
    }

    #[test]
    fn a_shard_bomb_is_refused_within_a_small_bound() {
        let first = format!("{}\n", line(0));
        let budget = UnpackBudget::new(u64::MAX);
        assert_eq!(read_entries(&pack(first.as_bytes()), 1, &budget).unwrap().entries.len(), 1);
        // More entries than the document says, by any number.
        let many = pack(first.repeat(200_000).as_bytes());
        let budget = UnpackBudget::new(u64::MAX);
        let error = read_entries(&many, 1, &budget).unwrap_err();
        assert!(error.to_string().contains("more skills than the 1"), "{error}");
        assert!(budget.taken() < 4096, "{}", budget.taken());
        // One entry without an end, and empty lines without an end.
        let endless = pack(&vec![b' '; 60 << 20]);
        let budget = UnpackBudget::new(u64::MAX);
        assert!(matches!(read_entries(&endless, 1, &budget), Err(FleetError::TooLarge { max: MAX_ENTRY_RAW, .. })));
        assert!(budget.taken() <= MAX_ENTRY_RAW + 1);
        let empty = pack(&vec![b'\n'; 60 << 20]);
        let budget = UnpackBudget::new(1 << 20);
        assert!(matches!(read_entries(&empty, 1, &budget), Err(FleetError::TooLarge { .. })));
        assert!(budget.taken() <= 1 << 20);
    }

    #[test]
    fn shards_share_one_budget() {
        let first = format!("{}\n", line(0));
        let packed = pack(first.as_bytes());
        let budget = UnpackBudget::new(first.len() as u64 * 2);
        assert!(read_entries(&packed, 1, &budget).is_ok() && read_entries(&packed, 1, &budget).is_ok());
        assert!(matches!(read_entries(&packed, 1, &budget), Err(FleetError::TooLarge { .. })));
    }
}
