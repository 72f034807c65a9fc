//! Keys: ed25519, as `ring` does it, which the TLS of this program is made of already.

use std::fmt;
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};
use skillcue_base::os_message;

use crate::FleetError;

/// The beginning of every public key's text.
const SCHEME: &str = "ed25519:";
/// The first line of a private key's file.
const TITLE: &str = "skillcue private key, ed25519: keep it secret";
/// The beginning of what is signed, so that no signature counts for anything else.
const CONTEXT: &[u8] = b"skillcue catalog head 1\n";
/// The size of the largest key file.
const MAX_FILE: usize = 4096;

/// A public key: `ed25519:` and 32 bytes in base64.
///
/// ```
/// use skillcue_fleet::SigningKey;
///
/// let key = SigningKey::generate()?;
/// let public = key.public();
/// assert_eq!(public.to_string().parse(), Ok(public.clone()));
/// assert!(public.is_signature("head", &key.sign("head")));
/// assert!(!public.is_signature("another head", &key.sign("head")));
/// # Ok::<(), skillcue_fleet::FleetError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PublicKey([u8; 32]);

impl PublicKey {
    /// Returns whether a signature in base64 is this key's for a head.
    pub fn is_signature(&self, head: &str, signature: &str) -> bool {
        STANDARD
            .decode(signature)
            .is_ok_and(|signature| UnparsedPublicKey::new(&ED25519, self.0).verify(&message(head), &signature).is_ok())
    }
}

fn message(head: &str) -> Vec<u8> {
    [CONTEXT, head.as_bytes()].concat()
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SCHEME}{}", STANDARD.encode(self.0))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for PublicKey {
    type Err = FleetError;

    fn from_str(text: &str) -> Result<PublicKey, FleetError> {
        let bytes = text.trim().strip_prefix(SCHEME).and_then(|digits| STANDARD.decode(digits).ok());
        let bytes = bytes.and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
        let wrong = || FleetError::Key(format!("{:?} is no public key: `{SCHEME}` and 44 characters", shown(text)));
        bytes.map(PublicKey).ok_or_else(wrong)
    }
}

fn shown(text: &str) -> String {
    text.chars().take(60).collect()
}

/// A private key. Its text never leaves its file.
pub struct SigningKey {
    seed: [u8; 32],
    pair: Ed25519KeyPair,
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKey({})", self.public())
    }
}

impl SigningKey {
    /// Makes a key of the system's randomness.
    pub fn generate() -> Result<SigningKey, FleetError> {
        let mut seed = [0; 32];
        getrandom::fill(&mut seed).map_err(|error| FleetError::Key(format!("cannot be made: {error}")))?;
        SigningKey::of_seed(seed)
    }

    fn of_seed(seed: [u8; 32]) -> Result<SigningKey, FleetError> {
        let pair = Ed25519KeyPair::from_seed_unchecked(&seed);
        Ok(SigningKey { seed, pair: pair.map_err(|error| FleetError::Key(format!("cannot be used: {error}")))? })
    }

    /// Returns the public half.
    pub fn public(&self) -> PublicKey {
        let mut bytes = [0; 32];
        bytes.copy_from_slice(self.pair.public_key().as_ref());
        PublicKey(bytes)
    }

    /// Signs a head. Returns the signature in base64.
    pub fn sign(&self, head: &str) -> String {
        STANDARD.encode(self.pair.sign(&message(head)))
    }

    /// Writes the key to a new file that only its owner may read.
    pub fn save(&self, path: &Path) -> Result<(), FleetError> {
        let failed = |error: std::io::Error| file_error(path, &error);
        let mut options = std::fs::OpenOptions::new();
        let mut file = options.write(true).create_new(true).mode(0o600).open(path).map_err(failed)?;
        writeln!(file, "{TITLE}\n{}", STANDARD.encode(self.seed)).map_err(failed)
    }

    /// Reads a key's file. One that others may read is refused.
    pub fn load(path: &Path) -> Result<SigningKey, FleetError> {
        let failed = |error: std::io::Error| file_error(path, &error);
        let metadata = path.metadata().map_err(failed)?;
        let wrong = |why: &str| FleetError::Key(format!("in {} {why}", path.display()));
        if metadata.mode() & 0o077 != 0 {
            return Err(wrong("may be read by others: `chmod 600` it"));
        }
        if !metadata.is_file() || metadata.len() > MAX_FILE as u64 {
            return Err(wrong("is no key's file"));
        }
        let text = std::fs::read_to_string(path).map_err(failed)?;
        let mut lines = text.lines();
        let seed = lines.next().filter(|title| *title == TITLE).and(lines.next());
        let seed = seed.and_then(|seed| STANDARD.decode(seed.trim()).ok()).and_then(|seed| seed.try_into().ok());
        SigningKey::of_seed(seed.ok_or_else(|| wrong("cannot be read"))?)
    }
}

pub(crate) fn file_error(path: &Path, error: &std::io::Error) -> FleetError {
    FleetError::File { path: path.display().to_string(), why: os_message(error) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_read_back_by_its_owner_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("key");
        let key = SigningKey::generate().unwrap();
        key.save(&path).unwrap();
        assert!(matches!(key.save(&path), Err(FleetError::File { .. })), "never over another key");
        assert_eq!(SigningKey::load(&path).unwrap().public(), key.public());
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
        assert!(SigningKey::load(&path).unwrap_err().to_string().contains("chmod 600"));
    }

    #[test]
    fn texts_that_are_no_key_are_refused() {
        for text in ["", "ed25519:", "ed25519:AAAA", "rsa:AAAA", &"x".repeat(10_000)] {
            let error = text.parse::<PublicKey>().unwrap_err();
            assert!(error.to_string().len() < 200, "{error}");
        }
    }
}
