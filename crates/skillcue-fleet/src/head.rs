//! `head`: the one object of a catalog that changes. It names a generation, and is signed.

use std::fmt;
use std::str::FromStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use skillcue_base::{Digest, rfc3339_seconds};

use crate::key::{PublicKey, SigningKey};
use crate::limits::{CLOCK_SKEW, MAX_COLLECTION, MAX_SIGNATURES};
use crate::{BlobRef, FleetError};

/// The version of the format.
pub(crate) const FORMAT: u32 = 1;
/// The object's name.
pub(crate) const HEAD: &str = "head";

/// The part of a head that is signed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignedHead {
    /// The version of the format.
    pub format: u32,
    /// The catalog's name, so that a head of one catalog is none of another.
    pub catalog: String,
    /// The number of the generation: each is one more than the one before.
    pub sequence: u64,
    /// When it was published, in seconds since 1970.
    pub published: u64,
    /// Until when it is valid, in seconds since 1970.
    pub expires: u64,
    /// The document of the generation, which has the digests of everything else.
    pub document: BlobRef,
}

/// One signature.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeadSignature {
    /// The public key.
    pub key: String,
    /// The signature in base64.
    pub signature: String,
}

/// A collection that is under way: until then nothing is published.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CollectionLease {
    /// In seconds since 1970.
    pub(crate) until: u64,
    /// A random number that the collection knows its lease by.
    #[serde(default)]
    pub(crate) owner: u64,
}

/// The file itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct HeadFile {
    /// JSON in a string, so that what is signed is these bytes and no rendering of them.
    signed: String,
    #[serde(default)]
    signatures: Vec<HeadSignature>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    collecting: Option<CollectionLease>,
    /// How many collections there were.
    #[serde(default)]
    collected: u64,
}

/// A head that was read. Nothing of it counts before [`CatalogHead::check`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CatalogHead {
    pub(crate) signed: SignedHead,
    pub(crate) text: String,
    pub(crate) signatures: Vec<HeadSignature>,
    pub(crate) collecting: Option<CollectionLease>,
    pub(crate) collected: u64,
}

/// The last generation that was seen, against rollback.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenGeneration {
    /// Its number.
    pub sequence: u64,
    /// The digest of its document.
    pub document: Digest,
}

impl CatalogHead {
    /// Makes an unsigned head.
    pub(crate) fn new(signed: SignedHead, collected: u64) -> Result<CatalogHead, FleetError> {
        let text = serde_json::to_string(&signed).map_err(|error| invalid(&error.to_string()))?;
        Ok(CatalogHead { signed, text, signatures: Vec::new(), collecting: None, collected })
    }

    /// Reads a head.
    pub fn read(bytes: &[u8]) -> Result<CatalogHead, FleetError> {
        let file: HeadFile = serde_json::from_slice(bytes).map_err(|error| invalid(&error.to_string()))?;
        let signed: SignedHead = serde_json::from_str(&file.signed).map_err(|error| invalid(&error.to_string()))?;
        if signed.format != FORMAT {
            return Err(invalid(&format!("its format is {}, and this program reads {FORMAT}", signed.format)));
        }
        if file.signatures.len() > MAX_SIGNATURES {
            return Err(invalid(&format!("it has more than {MAX_SIGNATURES} signatures")));
        }
        let HeadFile { signed: text, signatures, collecting, collected } = file;
        Ok(CatalogHead { signed, text, signatures, collecting, collected })
    }

    /// Returns it as bytes.
    pub(crate) fn write(&self) -> Result<Vec<u8>, FleetError> {
        let file = HeadFile {
            signed: self.text.clone(),
            signatures: self.signatures.clone(),
            collecting: self.collecting,
            collected: self.collected,
        };
        serde_json::to_vec_pretty(&file).map_err(|error| invalid(&error.to_string()))
    }

    /// Returns what is signed.
    pub fn signed(&self) -> &SignedHead {
        &self.signed
    }

    /// Returns the keys that it says it is signed with.
    pub fn signers(&self) -> impl Iterator<Item = &str> {
        self.signatures.iter().map(|signature| signature.key.as_str())
    }

    /// Adds a signature, in place of an earlier one of the same key.
    pub(crate) fn sign(&mut self, key: &SigningKey) {
        let public = key.public().to_string();
        self.signatures.retain(|signature| signature.key != public);
        self.signatures.push(HeadSignature { key: public, signature: key.sign(&self.text) });
    }

    /// Decides whether a reader takes it: signed by one of the keys, of this catalog, not older than what was seen, not
    /// expired. The only place where this is decided.
    pub fn check(
        &self,
        name: &str,
        keys: &[PublicKey],
        seen: Option<&SeenGeneration>,
        now: SystemTime,
    ) -> Result<(), FleetError> {
        self.check_origin(name, keys, seen)?;
        if self.is_expired(now) {
            return Err(FleetError::Expired(self.expiry()));
        }
        Ok(())
    }

    /// Like [`check`](CatalogHead::check), whatever its age: the last good generation stays in use when no newer one can be had.
    pub(crate) fn check_origin(
        &self,
        name: &str,
        keys: &[PublicKey],
        seen: Option<&SeenGeneration>,
    ) -> Result<(), FleetError> {
        self.check_signers(keys)?;
        let SignedHead { sequence, document, catalog, .. } = &self.signed;
        if catalog != name {
            return Err(FleetError::WrongName { there: shown(catalog), here: name.to_owned() });
        }
        if let Some(seen) = seen {
            if *sequence < seen.sequence {
                return Err(FleetError::RolledBack { offered: *sequence, seen: seen.sequence });
            }
            if *sequence == seen.sequence && document.digest != seen.document {
                return Err(FleetError::Forked(*sequence));
            }
        }
        Ok(())
    }

    /// Returns those of these keys that have signed it.
    pub(crate) fn signed_by<'k>(&self, keys: &'k [PublicKey]) -> impl Iterator<Item = &'k PublicKey> {
        keys.iter().filter(|key| {
            let of_key = |signature: &&HeadSignature| signature.key == key.to_string();
            self.signatures.iter().filter(of_key).any(|it| key.is_signature(&self.text, &it.signature))
        })
    }

    /// Checks that one of these keys has signed it; without keys, any head will do.
    pub(crate) fn check_signers(&self, keys: &[PublicKey]) -> Result<(), FleetError> {
        if keys.is_empty() {
            return Ok(());
        }
        if self.signatures.is_empty() {
            return Err(FleetError::Unsigned);
        }
        let mut broken = None;
        for signature in &self.signatures {
            let Some(key) = keys.iter().find(|key| key.to_string() == signature.key) else { continue };
            if key.is_signature(&self.text, &signature.signature) {
                return Ok(());
            }
            broken = Some(key);
        }
        if let Some(key) = broken {
            return Err(FleetError::BadSignature(key.to_string()));
        }
        let by: Vec<String> = self.signers().map(shown).collect();
        Err(FleetError::WrongKey { trusted: keys.len(), by: by.join(", ") })
    }

    /// Returns whether it has expired.
    pub(crate) fn is_expired(&self, now: SystemTime) -> bool {
        time_of(self.signed.expires).is_none_or(|expires| expires + CLOCK_SKEW < now)
    }

    /// Returns when it expires, as people read it.
    pub fn expiry(&self) -> String {
        time_of(self.signed.expires).map_or_else(|| "an unknown day".to_owned(), rfc3339_seconds)
    }

    /// Returns what a reader remembers of it.
    pub(crate) fn seen(&self) -> SeenGeneration {
        SeenGeneration { sequence: self.signed.sequence, document: self.signed.document.digest }
    }

    /// Returns how long a collection still keeps publishers waiting. A lease that is longer than any collection is none: a
    /// writer of the store without a key could end all publishing with it.
    pub(crate) fn collection_left(&self, now: SystemTime) -> Option<Duration> {
        let until = time_of(self.collecting?.until)?;
        until.duration_since(now).ok().filter(|left| *left <= MAX_COLLECTION + CLOCK_SKEW)
    }

    /// Returns the keys whose signatures fit: any key, known or not.
    pub(crate) fn fitting_signers(&self) -> Vec<String> {
        let fits = |it: &&HeadSignature| {
            it.key.parse::<PublicKey>().is_ok_and(|key| key.is_signature(&self.text, &it.signature))
        };
        self.signatures.iter().filter(fits).map(|it| it.key.clone()).collect()
    }

    /// Returns the number and the digest of its generation.
    pub fn generation(&self) -> GenerationId {
        GenerationId { sequence: self.signed.sequence, document: self.signed.document.digest }
    }

    /// Returns the number of the generation after this one.
    pub(crate) fn next_sequence(&self) -> Result<u64, FleetError> {
        next_sequence(self.signed.sequence)
    }
}

/// Returns when a head expires that is made now, as a head has it.
pub(crate) fn expiry_after(now: SystemTime, expiry: Duration) -> u64 {
    seconds(now).saturating_add(expiry.as_secs())
}

/// Returns the number of the generation after one.
pub(crate) fn next_sequence(sequence: u64) -> Result<u64, FleetError> {
    sequence.checked_add(1).ok_or_else(|| invalid(&format!("no generation comes after {sequence}")))
}

/// Exactly one generation: its number and the digest of its document, written `3-DIGEST` with all 64 digits.
///
/// ```
/// use skillcue_fleet::GenerationId;
///
/// let text = format!("3-{}", "ab".repeat(32));
/// assert_eq!(text.parse::<GenerationId>()?.to_string(), text);
/// assert!("3-abab".parse::<GenerationId>().is_err());
/// # Ok::<(), skillcue_fleet::FleetError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GenerationId {
    /// Its number.
    pub sequence: u64,
    /// The digest of its document.
    pub document: Digest,
}

impl fmt::Display for GenerationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.sequence, self.document)
    }
}

impl FromStr for GenerationId {
    type Err = FleetError;

    fn from_str(text: &str) -> Result<GenerationId, FleetError> {
        let parsed = text.split_once('-').and_then(|(sequence, document)| {
            Some(GenerationId { sequence: sequence.parse().ok()?, document: document.parse().ok()? })
        });
        let wrong = || FleetError::Generation(shown(text));
        parsed.ok_or_else(wrong)
    }
}

/// Returns a time as a head has it.
pub(crate) fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

fn time_of(seconds: u64) -> Option<SystemTime> {
    // A time after the year 9999 is no time.
    (seconds < 253_402_300_800).then(|| UNIX_EPOCH + Duration::from_secs(seconds))
}

fn shown(text: &str) -> String {
    skillcue_base::Shown(text).within(80).to_string()
}

fn invalid(why: &str) -> FleetError {
    FleetError::Invalid { what: HEAD.to_owned(), why: skillcue_base::Shown(why).within(200).to_string() }
}
