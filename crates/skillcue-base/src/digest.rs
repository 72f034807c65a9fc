//! SHA-256, the one digest that outlives a process.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256};

use crate::hex;

/// A SHA-256, written as 64 lower-case hexadecimal digits.
///
/// ```
/// use skillcue_base::Digest;
///
/// let digest = Digest::of("abc");
/// assert_eq!(digest.to_string(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
/// assert_eq!(digest.to_string().parse(), Ok(digest));
/// assert!(digest.to_string().to_uppercase().parse::<Digest>().is_err(), "one digest has one spelling");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// Returns the digest of some bytes.
    pub fn of(bytes: impl AsRef<[u8]>) -> Digest {
        Digest(Sha256::digest(bytes).into())
    }

    /// Returns the bytes of the digest.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl From<[u8; 32]> for Digest {
    fn from(bytes: [u8; 32]) -> Digest {
        Digest(bytes)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Digest {
    type Err = String;

    fn from_str(text: &str) -> Result<Digest, String> {
        let wrong = || "a SHA-256 has 64 hexadecimal digits".to_owned();
        if text.len() != 64 || !text.is_ascii() {
            return Err(wrong());
        }
        let mut bytes = [0; 32];
        for (byte, at) in bytes.iter_mut().zip((0..).step_by(2)) {
            *byte = u8::from_str_radix(&text[at..at + 2], 16).map_err(|_| wrong())?;
        }
        if hex(&bytes) == text { Ok(Digest(bytes)) } else { Err(wrong()) }
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Digest, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// Computes a [`Digest`] of bytes that come in parts.
///
/// ```
/// use skillcue_base::{Digest, Digester};
///
/// let mut digester = Digester::default();
/// digester.update("ab").update("c");
/// assert_eq!(digester.finish(), Digest::of("abc"));
/// ```
#[derive(Debug, Clone, Default)]
pub struct Digester(Sha256);

impl Digester {
    /// Appends bytes.
    pub fn update(&mut self, bytes: impl AsRef<[u8]>) -> &mut Digester {
        self.0.update(bytes);
        self
    }

    /// Returns the digest of everything that was appended.
    pub fn finish(self) -> Digest {
        Digest(self.0.finalize().into())
    }
}
