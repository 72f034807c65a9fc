//! Numbers of tokens.

use std::fmt;
use std::iter::Sum;
use std::ops::Add;

use serde::{Deserialize, Serialize};

/// A number of tokens.
///
/// ```
/// use skillcue_format::Tokens;
/// assert_eq!(Tokens::bytes4(9), Tokens(3));
/// assert_eq!((Tokens(1) + Tokens(2)).to_string(), "3");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Tokens(pub usize);

impl Tokens {
    /// Returns the coarse estimate that needs no text, only its length: ⌈bytes / 4⌉.
    pub fn bytes4(bytes: usize) -> Tokens {
        Tokens(bytes.div_ceil(4))
    }
}

impl fmt::Display for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Add for Tokens {
    type Output = Tokens;
    fn add(self, other: Tokens) -> Tokens {
        Tokens(self.0.saturating_add(other.0))
    }
}

impl Sum for Tokens {
    fn sum<I: Iterator<Item = Tokens>>(tokens: I) -> Tokens {
        tokens.fold(Tokens::default(), Add::add)
    }
}
