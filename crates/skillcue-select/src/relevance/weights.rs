//! The fitted weights. Made by `cargo xtask fit`.

use crate::relevance::fusion::FusionWeights;

/// The weights where skills have bodies.
pub const WITH_BODIES: FusionWeights = FusionWeights {
    rank: [1.151, 2.788, 3.022, 1.993, 2.317, 0.487, 1.338, 0.626, 2.863, 1.409, 0.623, 0.946, 0.216, 0.000],
    gate: [2.762, 1.523, -0.895, 0.428, -5.676, -0.835, 0.615, -1.007, 0.560, 0.118, 0.294, 0.368, -4.624],
    naming: [3.791, 0.223, 1.639, 0.569, -2.639, -0.889, 0.660, 0.118, 0.234, 0.392, 0.327, 0.699, -6.458],
};

/// The weights where they have none, or where none are indexed yet.
pub const WITHOUT_BODIES: FusionWeights = FusionWeights {
    rank: [5.119, 0.000, 2.682, 2.380, 0.603, 0.000, 0.550, -0.148, 0.893, 0.000, 0.000, 0.868, 1.521, 0.000],
    gate: [3.226, 1.288, 0.813, 3.489, -7.661, -0.520, 0.879, 0.073, 0.000, 0.000, 0.000, 0.000, -6.115],
    naming: [3.376, 0.283, 0.380, 1.091, -1.466, -0.398, 0.023, -0.110, 0.825, 0.544, 0.000, 0.518, -4.890],
};

/// The weights where skills have bodies, with a sentence model. Carried over from the fit before, in proportion.
pub const WITH_BODIES_AND_MODEL: FusionWeights = FusionWeights {
    rank: [0.641, 2.054, 3.440, 1.913, 1.595, 0.524, 1.442, 0.594, 2.868, 1.451, 0.642, 0.574, 0.198, 4.178],
    gate: [2.854, 1.371, -1.049, 0.403, -5.777, -0.867, 0.612, -1.034, 0.560, 0.118, 0.294, 0.368, -4.399],
    naming: [3.719, 0.205, 1.579, 0.495, -2.968, -0.935, 0.631, 0.304, 0.234, 0.392, 0.327, 0.699, -6.385],
};

/// The weights where they have none, or where none are indexed yet, with a sentence model. Carried over from the fit before, in proportion.
pub const WITHOUT_BODIES_WITH_MODEL: FusionWeights = FusionWeights {
    rank: [2.818, 0.000, 3.052, 3.035, 0.769, 0.000, 0.342, -0.148, 0.946, 0.000, 0.000, 0.310, 0.605, 11.007],
    gate: [4.349, 0.586, -0.329, 2.366, -9.524, -0.640, 0.781, 0.543, 0.000, 0.000, 0.000, 0.000, -5.203],
    naming: [4.012, 0.266, 0.101, 0.276, -3.548, -0.280, -0.130, -0.208, 0.825, 0.544, 0.000, 0.518, -4.265],
};
