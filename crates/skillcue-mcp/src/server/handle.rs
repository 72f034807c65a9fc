//! Handles: the skills that a client has loaded, signed, for connections without a session.
//!
//! Since 2026-07-28 the protocol has no sessions over HTTP, and lists must not depend on earlier calls: a server that needs
//! state returns a string and takes it back as an argument (SEP-2567). The string here holds the state itself, so any
//! replica that has the key can read it, and none has to ask another. It proves one thing only: that these texts were
//! loaded. Everything else (the token, the view, whether the skill is for models, consent) is checked at every call.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, Mac};
use sha2::{Digest as _, Sha256};

/// The key of a handle in the metadata of requests and results.
pub const HANDLE_META: &str = "skillcue/handle";

/// The number of skills that a handle holds. The oldest leave first.
pub(super) const MAX_SKILLS: usize = 32;

/// The length of the longest handle that is read, in bytes: 32 skills with long names.
const MAX_HANDLE: usize = 4 << 10;

/// The length of the longest id of a skill that fits into a handle, in bytes.
const MAX_ID: usize = u8::MAX as usize;

/// The beginning of every handle, with the version of its form.
const PREFIX: &str = "h1.";

/// The shortest secret of a key file, in characters.
const MIN_SECRET: usize = 32;

/// The number of keys in a key file.
const MAX_KEYS: usize = 8;

const MAC_LEN: usize = 16;
const DIGEST_LEN: usize = 12;

/// The time for which a handle is valid unless another is set: as long as a working day.
const DEFAULT_VALIDITY: Duration = Duration::from_hours(12);

/// The keys of handles: the first signs, and all of them verify, so that a key can be replaced while handles of the old
/// one are still in use.
///
/// ```
/// use skillcue_mcp::server::HandleKeys;
///
/// let keys = HandleKeys::from_secrets("0123456789abcdef0123456789abcdef\n")?;
/// assert!(keys.are_shared() && !HandleKeys::generate()?.are_shared());
/// assert!(HandleKeys::from_secrets("short").is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct HandleKeys {
    keys: Vec<[u8; 32]>,
    are_shared: bool,
    validity: Duration,
}

/// The reason why there are no keys.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HandleKeyError {
    /// A secret could be guessed.
    #[error("a secret has {0} characters, and needs at least {MIN_SECRET}")]
    Short(usize),
    /// There is no secret, or there are too many.
    #[error("there must be 1 to {MAX_KEYS} secrets, one a line, and there are {0}")]
    Count(usize),
    /// The system has no random numbers.
    #[error("the system has no random numbers: {0}")]
    Random(String),
}

impl HandleKeys {
    /// Makes a key that only this process has.
    pub fn generate() -> Result<HandleKeys, HandleKeyError> {
        let mut key = [0; 32];
        getrandom::fill(&mut key).map_err(|error| HandleKeyError::Random(error.to_string()))?;
        Ok(HandleKeys { keys: vec![key], are_shared: false, validity: DEFAULT_VALIDITY })
    }

    /// Makes a key that only this process has, or none at all where the system has no random numbers: then no handle is
    /// valid, and nothing else fails.
    pub fn for_one_process() -> HandleKeys {
        HandleKeys::generate().unwrap_or_else(|error| {
            tracing::warn!(target: "skillcue::mcp", %error, "no handle will be valid");
            HandleKeys { keys: Vec::new(), are_shared: false, validity: DEFAULT_VALIDITY }
        })
    }

    /// Makes keys of the secrets that all replicas have: one a line, the one that signs first. Blank lines and lines that
    /// begin with `#` do not count.
    pub fn from_secrets(text: &str) -> Result<HandleKeys, HandleKeyError> {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        let secrets: Vec<&str> = lines.collect();
        if secrets.is_empty() || secrets.len() > MAX_KEYS {
            return Err(HandleKeyError::Count(secrets.len()));
        }
        if let Some(short) = secrets.iter().map(|secret| secret.chars().count()).find(|count| *count < MIN_SECRET) {
            return Err(HandleKeyError::Short(short));
        }
        let key = |secret: &&str| Sha256::new_with_prefix(b"skillcue handle key\0").chain_update(secret).finalize();
        let keys = secrets.iter().map(|secret| key(secret).into()).collect();
        Ok(HandleKeys { keys, are_shared: true, validity: DEFAULT_VALIDITY })
    }

    /// Sets the time for which handles are valid.
    #[must_use]
    pub fn valid_for(mut self, validity: Duration) -> HandleKeys {
        self.validity = validity;
        self
    }

    /// Returns whether other replicas may have the keys, too.
    pub fn are_shared(&self) -> bool {
        self.are_shared
    }

    /// Returns a signed handle for a set, which is valid in one view.
    pub(super) fn seal(&self, view: &str, set: &LoadedSet, now: SystemTime) -> String {
        let until = minutes(now).saturating_add((self.validity.as_secs() / 60).max(1));
        let mut bytes = u32::try_from(until).unwrap_or(u32::MAX).to_le_bytes().to_vec();
        for skill in &set.0 {
            // Longer ids are not put into a set.
            bytes.push(u8::try_from(skill.id.len()).unwrap_or_default());
            bytes.extend_from_slice(skill.id.as_bytes());
            bytes.extend_from_slice(&skill.digest.0);
            bytes.push(u8::from(skill.is_shown));
        }
        let Some(key) = self.keys.first() else { return PREFIX.to_owned() };
        let mac = mac(key, view, &bytes).finalize().into_bytes();
        bytes.extend_from_slice(&mac[..MAC_LEN]);
        format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(bytes))
    }

    /// Reads a handle that one of the keys has signed for this view.
    pub(super) fn open(&self, view: &str, text: &str, now: SystemTime) -> Result<LoadedSet, HandleProblem> {
        if text.len() > MAX_HANDLE {
            return Err(HandleProblem::TooLong);
        }
        let encoded = text.strip_prefix(PREFIX).ok_or(HandleProblem::Malformed)?;
        let bytes = URL_SAFE_NO_PAD.decode(encoded).map_err(|_| HandleProblem::Malformed)?;
        let (signed, given) = bytes.split_last_chunk::<MAC_LEN>().ok_or(HandleProblem::Malformed)?;
        // Comparing takes the same time wherever they differ.
        if !self.keys.iter().any(|key| mac(key, view, signed).verify_truncated_left(given).is_ok()) {
            return Err(HandleProblem::NotSigned);
        }
        let (until, skills) = signed.split_first_chunk::<4>().ok_or(HandleProblem::Malformed)?;
        if u64::from(u32::from_le_bytes(*until)) < minutes(now) {
            return Err(HandleProblem::Expired);
        }
        LoadedSet::from_bytes(skills).ok_or(HandleProblem::Malformed)
    }
}

impl fmt::Debug for HandleKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Never the keys.
        f.debug_struct("HandleKeys").field("count", &self.keys.len()).finish_non_exhaustive()
    }
}

fn mac(key: &[u8; 32], view: &str, signed: &[u8]) -> Hmac<Sha256> {
    #[expect(clippy::expect_used, reason = "HMAC takes keys of every length")]
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("a key of any length");
    // The length first: no other view and payload make the same bytes.
    mac.update(&(view.len() as u64).to_le_bytes());
    mac.update(view.as_bytes());
    mac.update(signed);
    mac
}

fn minutes(now: SystemTime) -> u64 {
    now.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() / 60)
}

/// The reason why a handle was ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum HandleProblem {
    #[error("it is longer than any handle")]
    TooLong,
    #[error("it is no handle, or not all of one")]
    Malformed,
    #[error("it was changed, or signed for another server or view")]
    NotSigned,
    #[error("it has expired")]
    Expired,
}

/// The identity of a skill's text: its front matter and its body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TextDigest([u8; DIGEST_LEN]);

impl TextDigest {
    /// Returns the digest of a skill's text, as a load returns it without arguments. The line that names the base directory
    /// does not count: replicas may have the same skill in different places.
    pub(super) fn of(front_matter: u128, content: &str) -> TextDigest {
        let body = match content.split_once("\n\n") {
            Some((line, body)) if line.starts_with("Base directory for this skill: ") && !line.contains('\n') => body,
            _ => content,
        };
        let whole = Sha256::new_with_prefix(front_matter.to_le_bytes()).chain_update(body).finalize();
        let mut digest = [0; DIGEST_LEN];
        digest.copy_from_slice(&whole[..DIGEST_LEN]);
        TextDigest(digest)
    }
}

/// A skill in a handle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HandleSkill {
    /// The id by which it was loaded.
    pub(super) id: String,
    pub(super) digest: TextDigest,
    /// Whether the client has all of its text, without arguments.
    pub(super) is_shown: bool,
}

/// The skills of a handle, least recent first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct LoadedSet(Vec<HandleSkill>);

impl LoadedSet {
    fn from_bytes(mut bytes: &[u8]) -> Option<LoadedSet> {
        let mut skills = Vec::new();
        while let Some((len, rest)) = bytes.split_first() {
            let (id, rest) = rest.split_at_checked(usize::from(*len))?;
            let (digest, rest) = rest.split_first_chunk::<DIGEST_LEN>()?;
            let (is_shown, rest) = rest.split_first()?;
            let id = String::from_utf8(id.to_vec()).ok()?;
            skills.push(HandleSkill { id, digest: TextDigest(*digest), is_shown: *is_shown == 1 });
            bytes = rest;
        }
        (skills.len() <= MAX_SKILLS).then_some(LoadedSet(skills))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &HandleSkill> {
        self.0.iter()
    }

    /// Adds a skill, or replaces it. Returns the skills that had to leave, or the skill itself if its id is too long.
    pub(super) fn put(&mut self, skill: HandleSkill) -> Vec<String> {
        if skill.id.len() > MAX_ID {
            return vec![skill.id];
        }
        self.remove(&skill.id);
        self.0.push(skill);
        let mut gone = Vec::new();
        while self.0.len() > MAX_SKILLS || self.encoded_len() > MAX_HANDLE {
            gone.push(self.0.remove(0).id);
        }
        gone
    }

    pub(super) fn remove(&mut self, id: &str) {
        self.0.retain(|known| known.id != id);
    }

    fn encoded_len(&self) -> usize {
        let bytes: usize = self.0.iter().map(|skill| skill.id.len() + DIGEST_LEN + 2).sum();
        PREFIX.len() + (bytes + size_of::<u32>() + MAC_LEN).div_ceil(3) * 4
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::{HandleKeys, HandleProblem, HandleSkill, LoadedSet, MAX_HANDLE, MAX_SKILLS, TextDigest};

    const SECRET: &str = "0123456789abcdef0123456789abcdef";
    const OTHER: &str = "fedcba9876543210fedcba9876543210";

    fn skill(id: &str) -> HandleSkill {
        HandleSkill { id: id.to_owned(), digest: TextDigest::of(1, "# Text"), is_shown: true }
    }

    fn set(ids: &[&str]) -> LoadedSet {
        LoadedSet(ids.iter().map(|id| skill(id)).collect())
    }

    #[test]
    fn every_replica_with_the_key_reads_a_handle() {
        let now = SystemTime::now();
        let [one, two] = [HandleKeys::from_secrets(SECRET).unwrap(), HandleKeys::from_secrets(SECRET).unwrap()];
        let handle = one.seal("", &set(&["pdf", "größe"]), now);
        assert_eq!(two.open("", &handle, now), Ok(set(&["pdf", "größe"])));
        assert_eq!(HandleKeys::generate().unwrap().open("", &handle, now), Err(HandleProblem::NotSigned));
        assert!(one.seal("", &set(&["pdf"]), now).len() < 64, "a model has to repeat it");
    }

    #[test]
    fn no_changed_bit_and_no_cut_is_read() {
        let now = SystemTime::now();
        let keys = HandleKeys::from_secrets(SECRET).unwrap();
        let handle = keys.seal("a", &set(&["pdf"]), now);
        for at in 3..handle.len() {
            for other in [b'A', b'B', b'_'] {
                let mut changed = handle.clone().into_bytes();
                changed[at] = other;
                if changed != handle.as_bytes() {
                    let changed = String::from_utf8(changed).unwrap();
                    assert!(keys.open("a", &changed, now).is_err(), "{at}: {changed}");
                }
            }
            assert!(keys.open("a", &handle[..at], now).is_err(), "cut at {at}");
        }
        assert_eq!(keys.open("", &handle, now), Err(HandleProblem::NotSigned), "of another view");
        assert_eq!(keys.open("a", "", now), Err(HandleProblem::Malformed));
        assert_eq!(keys.open("a", &"h".repeat(MAX_HANDLE + 1), now), Err(HandleProblem::TooLong));
    }

    #[test]
    fn handles_expire() {
        let now = SystemTime::now();
        let keys = HandleKeys::from_secrets(SECRET).unwrap().valid_for(Duration::from_mins(10));
        let handle = keys.seal("", &set(&["pdf"]), now);
        assert!(keys.open("", &handle, now + Duration::from_mins(9)).is_ok());
        assert_eq!(keys.open("", &handle, now + Duration::from_mins(12)), Err(HandleProblem::Expired));
    }

    #[test]
    fn a_key_can_be_replaced() {
        let now = SystemTime::now();
        let old = HandleKeys::from_secrets(SECRET).unwrap();
        let both = HandleKeys::from_secrets(&format!("# new first\n{OTHER}\n\n{SECRET}\n")).unwrap();
        let handle = old.seal("", &set(&["pdf"]), now);
        assert!(both.open("", &handle, now).is_ok(), "those of the old key are still read");
        assert_eq!(old.open("", &both.seal("", &set(&["pdf"]), now), now), Err(HandleProblem::NotSigned));
    }

    #[test]
    fn a_handle_has_a_size_however_much_is_loaded() {
        let now = SystemTime::now();
        let keys = HandleKeys::from_secrets(SECRET).unwrap();
        let mut loaded = LoadedSet::default();
        let mut gone = Vec::new();
        for n in 0..100 {
            gone.extend(loaded.put(skill(&format!("{n:0200}"))));
            let handle = keys.seal("", &loaded, now);
            assert_eq!(keys.open("", &handle, now).as_ref(), Ok(&loaded), "{n}");
        }
        assert!(loaded.0.len() < MAX_SKILLS && gone.len() + loaded.0.len() == 100);
        assert!(loaded.iter().any(|known| known.id.ends_with("99")), "the newest stays");
        assert_eq!(loaded.put(skill(&"x".repeat(256))), ["x".repeat(256)]);
    }

    #[test]
    fn the_text_counts_and_its_place_does_not() {
        let of = |content: &str| TextDigest::of(7, content);
        assert_eq!(of("Base directory for this skill: /a\n\n# Do"), of("Base directory for this skill: /b/c\n\n# Do"));
        assert_ne!(
            of("Base directory for this skill: /a\n\n# Do"),
            of("Base directory for this skill: /a\n\n# Do not")
        );
        assert_ne!(TextDigest::of(7, "# Do"), TextDigest::of(8, "# Do"), "front matter counts");
    }
}
