//! [`Vector`]: a direction in one byte a dimension.

/// The number of dimensions of the model's vectors.
pub const DIMENSIONS: usize = 384;

/// A direction in the space of meanings, quantised to a byte a dimension: a quarter of the memory, and cosines within
/// 0.005 of the exact ones for the vectors of this model.
///
/// ```
/// use skillcue_model::{DIMENSIONS, Vector};
///
/// let (mut a, mut b) = ([0.0; DIMENSIONS], [0.0; DIMENSIONS]);
/// a[0] = 1.0;
/// (b[0], b[1]) = (0.6, 0.8);
/// let (a, b) = (Vector::quantized(&a), Vector::quantized(&b));
/// assert!((a.cosine(&b) - 0.6).abs() < 0.005);
/// assert!((a.cosine(&a) - 1.0).abs() < 1e-6);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Vector {
    bytes: [i8; DIMENSIONS],
    /// The factor that makes the bytes a vector of length 1; 0 if they are all 0.
    scale: f32,
}

impl Vector {
    /// Quantises a vector of any length. One without a direction (zero, or with an infinite or undefined number) has
    /// the cosine 0 with every other.
    pub fn quantized(exact: &[f32; DIMENSIONS]) -> Vector {
        let largest = exact.iter().fold(0.0_f32, |largest, x| largest.max(x.abs()));
        let factor = 127.0 / largest;
        if !factor.is_finite() || exact.iter().any(|x| !x.is_finite()) {
            return Vector { bytes: [0; DIMENSIONS], scale: 0.0 };
        }
        #[expect(clippy::cast_possible_truncation, reason = "at most 127, and the cast saturates")]
        Vector::of_bytes(exact.map(|x| (x * factor).round() as i8))
    }

    /// Takes bytes as they were [stored](Vector::bytes).
    pub fn of_bytes(bytes: [i8; DIMENSIONS]) -> Vector {
        let squares = dot(&bytes, &bytes);
        #[expect(clippy::cast_precision_loss, reason = "seven digits are more than a byte gives")]
        let scale = if squares == 0 { 0.0 } else { 1.0 / (squares as f32).sqrt() };
        Vector { bytes, scale }
    }

    /// Returns its bytes.
    pub fn bytes(&self) -> &[i8; DIMENSIONS] {
        &self.bytes
    }

    /// Returns the factor that makes the bytes a vector of length 1; 0 if they are all 0.
    pub fn scale(&self) -> f32 {
        self.scale
    }

    /// Returns the cosine of the angle between two vectors: 1 for the same direction, 0 for unrelated ones.
    pub fn cosine(&self, other: &Vector) -> f32 {
        cosine(dot(&self.bytes, &other.bytes), self.scale, other.scale)
    }
}

/// Returns the cosine of two vectors of which the product and the scales are known.
pub(crate) fn cosine(product: i32, a: f32, b: f32) -> f32 {
    #[expect(clippy::cast_precision_loss, reason = "seven digits are more than a byte gives")]
    (product as f32 * (a * b)).clamp(-1.0, 1.0)
}

/// Returns the sum of the products. Of products of 16 bits, which compilers turn into one instruction for several; it
/// fits: 384 × 128² < 2³¹.
pub(crate) fn dot(a: &[i8; DIMENSIONS], b: &[i8; DIMENSIONS]) -> i32 {
    a.iter().zip(b).map(|(a, b)| i32::from(i16::from(*a) * i16::from(*b))).sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn exact_cosine(a: &[f32; DIMENSIONS], b: &[f32; DIMENSIONS]) -> f64 {
        let dot = |a: &[f32; DIMENSIONS], b: &[f32; DIMENSIONS]| -> f64 {
            a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
        };
        dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
    }

    /// Returns how long the error of quantisation is at most, relative to the vector: half a step a dimension.
    fn max_error(exact: &[f32; DIMENSIONS]) -> f64 {
        let largest = exact.iter().fold(0.0_f64, |largest, x| largest.max(f64::from(x.abs())));
        let length = exact.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt();
        0.5 * largest / 127.0 * 384_f64.sqrt() / length
    }

    fn vectors() -> impl Strategy<Value = [f32; DIMENSIONS]> {
        prop::collection::vec(-1.0_f32..1.0, DIMENSIONS)
            .prop_map(|numbers| numbers.try_into().unwrap_or([0.0; DIMENSIONS]))
    }

    proptest! {
        #[test]
        fn cosines_are_within_the_bound_of_quantisation(a in vectors(), b in vectors(), mix in 0.0_f32..1.0) {
            let b: [f32; DIMENSIONS] = std::array::from_fn(|at| a[at] * mix + b[at] * (1.0 - mix));
            let (exact, bound) = (exact_cosine(&a, &b), 2.0 * (max_error(&a) + max_error(&b)) + 1e-6);
            let (a, b) = (Vector::quantized(&a), Vector::quantized(&b));
            let cosine = f64::from(a.cosine(&b));
            prop_assert!((cosine - exact).abs() <= bound, "{cosine} {exact} {bound}");
            prop_assert!((cosine - exact).abs() <= 0.005, "half-steps mostly cancel out: {cosine} {exact}");
            prop_assert!((a.cosine(&a) - 1.0).abs() < 1e-5 && a.cosine(&b).to_bits() == b.cosine(&a).to_bits());
            prop_assert_eq!(&Vector::of_bytes(*a.bytes()), &a);
        }
    }

    #[test]
    fn a_vector_without_a_direction_is_like_no_other() {
        let mut one = [0.0; DIMENSIONS];
        one[3] = 1.0;
        let one = Vector::quantized(&one);
        for wrong in [0.0, f32::NAN, f32::INFINITY] {
            let none = Vector::quantized(&[wrong; DIMENSIONS]);
            assert_eq!((none.cosine(&one), none.scale()), (0.0, 0.0));
        }
        let tiny = Vector::quantized(&[f32::MIN_POSITIVE / 1024.0; DIMENSIONS]);
        assert!(tiny.cosine(&tiny) >= 0.0);
        assert_eq!(dot(&[-128; DIMENSIONS], &[-128; DIMENSIONS]), 384 << 14, "no overflow");
    }
}
