//! A small random number generator of our own.
//!
//! The bytes of a generated tree are part of what this crate promises, so they cannot hang on a
//! crate that may change its algorithm, nor on floating point, whose transcendental functions
//! differ between platforms.

/// `SplitMix64` (Steele, Lea, Flood 2014): 64 bits of state, passes `BigCrush`, and any seed is as
/// good as any other, which is what lets every skill have a generator of its own.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

/// The golden ratio in 64 bits, `SplitMix64`'s step.
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

impl Random {
    /// The generator of one item. Two items of one seed, and one item of two seeds, have nothing
    /// in common.
    pub(crate) fn for_item(seed: u64, item: u64) -> Self {
        let mut start = Self(seed);
        let seed = start.next();
        Self(seed ^ mix(item.wrapping_add(1).wrapping_mul(STEP)))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        mix(self.0)
    }

    /// A number below `bound`, which must not be 0.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        // Multiply and shift instead of a remainder: no division, and the bias is below 2⁻³² for
        // the small bounds used here.
        let high = (u128::from(self.next()) * bound as u128) >> 64;
        usize::try_from(high).expect("smaller than `bound`, which is a usize")
    }

    /// True `permille` times in a thousand.
    pub(crate) fn chance(&mut self, permille: usize) -> bool {
        self.below(1000) < permille
    }

    /// One of `items`, which must not be empty.
    pub(crate) fn pick<'a, T: ?Sized>(&mut self, items: &[&'a T]) -> &'a T {
        items[self.below(items.len())]
    }

    /// A value drawn from a distribution given by its quantiles: `(permille, value)` pairs in
    /// rising order, the first at 0 and the last at 1,000, straight lines between them.
    pub(crate) fn quantile(&mut self, table: &[(usize, usize)]) -> usize {
        // A thousand times finer than the table, or the tail would have one value per permille.
        const FINE: usize = 1000;
        let at = self.below(1000 * FINE);
        for pair in table.windows(2) {
            let ((from, low), (to, high)) = (pair[0], pair[1]);
            if at < to * FINE {
                return low + (high - low) * (at - from * FINE) / ((to - from) * FINE);
            }
        }
        table.last().map_or(0, |&(_, value)| value)
    }
}

/// `SplitMix64`'s finaliser: a bijection in which every bit of input moves every bit of output.
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_sequence() {
        // The first outputs for seed 1234567, as listed by the reference implementation's tests.
        let mut random = Random(1_234_567);
        let first: Vec<u64> = (0..3).map(|_| random.next()).collect();
        assert_eq!(first, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn quantiles_are_met() {
        let mut random = Random::for_item(0, 0);
        let table = [(0, 10), (500, 100), (990, 1000), (1000, 5000)];
        let mut drawn: Vec<usize> = (0..10_000).map(|_| random.quantile(&table)).collect();
        drawn.sort_unstable();
        assert!((90..=110).contains(&drawn[5_000]), "median {}", drawn[5_000]);
        assert!((900..=1600).contains(&drawn[9_900]), "99th {}", drawn[9_900]);
        assert!(drawn[0] >= 10 && drawn[9_999] < 5000);
    }

    #[test]
    fn items_are_independent() {
        let first = |seed, item| Random::for_item(seed, item).next();
        assert_ne!(first(1, 0), first(1, 1));
        assert_ne!(first(1, 0), first(2, 0));
        assert_ne!(first(0, 1), first(1, 0));
    }
}
