//! The fitted weights. Made by `cargo xtask fit`.

use crate::relevance::fusion::FusionWeights;

/// The weights where skills have bodies.
pub const WITH_BODIES: FusionWeights = FusionWeights {
    rank: [1.218, 3.369, 3.857, 2.725, 0.910, 0.319, 1.288, 0.725, 3.098, 1.563, 0.901, 0.197, 0.000],
    gate: [3.678, 1.886, -1.366, 1.084, -9.799, -1.088, 1.181, -0.396, -5.679],
    naming: [3.669, 0.366, 1.259, 0.473, -4.370, -0.578, 0.553, 0.104, -4.453],
};

/// The weights where they have none, or where none are indexed yet.
pub const WITHOUT_BODIES: FusionWeights = FusionWeights {
    rank: [5.497, 0.000, 2.230, 0.000, 2.810, 0.000, 0.395, -0.088, 0.923, 0.000, 0.756, 1.825, 0.000],
    gate: [4.076, 0.375, 0.059, 2.651, -11.210, -0.267, 0.677, -1.340, -4.959],
    naming: [3.915, 0.375, 0.443, 1.561, -3.100, -0.160, 0.366, -0.135, -3.673],
};

/// The weights where skills have bodies, with a sentence model.
pub const WITH_BODIES_AND_MODEL: FusionWeights = FusionWeights {
    rank: [0.684, 2.941, 4.072, 2.641, 0.480, 0.358, 1.442, 0.700, 3.127, 1.535, 0.520, 0.171, 4.091],
    gate: [3.731, 1.698, -1.395, 1.171, -9.991, -1.110, 1.164, -0.500, -5.513],
    naming: [3.558, 0.345, 1.257, 0.436, -4.701, -0.640, 0.522, 0.284, -4.412],
};

/// The weights where they have none, or where none are indexed yet, with a sentence model.
pub const WITHOUT_BODIES_WITH_MODEL: FusionWeights = FusionWeights {
    rank: [3.024, 0.000, 2.734, 0.000, 3.567, 0.000, 0.263, 0.095, 0.996, 0.000, 0.157, 0.685, 11.217],
    gate: [4.693, 0.125, -0.822, 1.388, -13.756, -0.354, 0.616, -1.627, -3.833],
    naming: [4.274, 0.368, 0.295, 0.698, -5.474, -0.020, 0.184, -0.155, -2.913],
};
