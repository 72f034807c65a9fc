//! The fitted weights. Made by `cargo xtask fit`.

use crate::relevance::fusion::FusionWeights;

/// The weights where skills have bodies.
pub const WITH_BODIES: FusionWeights = FusionWeights {
    rank: [1.180, 2.633, 4.376, 2.593, 1.283, 0.438, 1.353, 0.662, 2.856, 1.849, 0.953, 0.190, 0.000],
    gate: [3.561, 2.614, -0.634, 1.679, -6.997, -1.205, 1.307, -0.116, -7.023],
    naming: [3.834, 0.301, 1.723, 1.095, -3.502, -0.806, 0.784, 0.041, -5.724],
};

/// The weights where they have none, or where none are indexed yet.
pub const WITHOUT_BODIES: FusionWeights = FusionWeights {
    rank: [5.113, 0.000, 2.835, 0.000, 2.913, 0.000, 0.551, -0.146, 0.898, 0.000, 0.868, 1.518, 0.000],
    gate: [3.226, 1.288, 0.813, 3.489, -7.661, -0.520, 0.879, 0.073, -6.115],
    naming: [3.654, 0.357, 0.865, 2.064, -1.492, -0.333, 0.482, -0.096, -4.207],
};

/// The weights where skills have bodies, with a sentence model.
pub const WITH_BODIES_AND_MODEL: FusionWeights = FusionWeights {
    rank: [0.657, 1.940, 4.981, 2.489, 0.883, 0.471, 1.458, 0.628, 2.861, 1.904, 0.578, 0.174, 4.178],
    gate: [3.653, 2.462, -0.788, 1.654, -7.098, -1.237, 1.304, -0.143, -6.798],
    naming: [3.762, 0.283, 1.663, 1.021, -3.831, -0.852, 0.755, 0.227, -5.651],
};

/// The weights where they have none, or where none are indexed yet, with a sentence model.
pub const WITHOUT_BODIES_WITH_MODEL: FusionWeights = FusionWeights {
    rank: [2.815, 0.000, 3.226, 0.000, 3.715, 0.000, 0.343, 0.071, 0.951, 0.000, 0.310, 0.604, 11.007],
    gate: [4.349, 0.586, -0.329, 2.366, -9.524, -0.640, 0.781, 0.543, -5.203],
    naming: [4.290, 0.340, 0.586, 1.249, -3.574, -0.215, 0.329, -0.194, -3.582],
};
