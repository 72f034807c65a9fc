//! The fitted weights. Made by `cargo xtask fit`.

use crate::relevance::fusion::FusionWeights;

/// The weights where skills have bodies.
pub const WITH_BODIES: FusionWeights = FusionWeights {
    rank: [1.378, 2.668, 2.733, 1.870, 2.249, 0.377, 1.429, 0.668, 2.479, 1.481, 0.698, 0.814, 0.229, 0.000, 1.138],
    gate: [2.601, 1.612, -0.764, 0.388, -5.616, -0.875, 0.618, -1.040, 0.553, 0.086, 0.307, 0.302, -4.544],
    naming: [3.636, 0.236, 1.653, 0.250, -2.917, -0.909, 0.604, 0.142, 0.350, 0.240, 0.298, 0.672, -6.356],
};

/// The weights where they have none, or where none are indexed yet.
pub const WITHOUT_BODIES: FusionWeights = FusionWeights {
    rank: [4.458, 0.000, 1.541, 3.038, 0.778, 0.000, 0.459, -0.212, 0.679, 0.000, 0.000, 0.783, 0.676, 3.317, 1.321],
    gate: [3.219, 1.142, 0.668, 2.789, -6.190, -0.550, 0.787, 0.524, 0.000, 0.000, 0.000, 0.000, -5.761],
    naming: [3.395, 0.283, 0.564, 0.902, -0.627, -0.316, 0.013, -0.088, 0.757, 0.571, 0.000, 0.272, -4.663],
};

/// The weights where skills have bodies, with a sentence model.
pub const WITH_BODIES_AND_MODEL: FusionWeights = FusionWeights {
    rank: [0.973, 2.226, 3.085, 1.687, 2.291, 0.420, 1.506, 0.689, 2.427, 1.481, 0.603, 0.549, 0.150, 3.464, 1.034],
    gate: [2.780, 1.535, -0.940, 0.424, -5.859, -0.899, 0.621, -0.961, 0.511, 0.117, 0.285, 0.280, -4.444],
    naming: [3.694, 0.232, 1.649, 0.136, -3.162, -0.950, 0.589, 0.152, 0.329, 0.237, 0.284, 0.671, -6.230],
};

/// The weights where they have none, or where none are indexed yet, with a sentence model.
pub const WITHOUT_BODIES_WITH_MODEL: FusionWeights = FusionWeights {
    rank: [3.112, 0.000, 2.278, 3.175, 0.629, 0.000, 0.407, 0.139, 0.792, 0.000, 0.000, 0.310, 0.573, 10.491, 0.944],
    gate: [3.936, 0.552, -0.480, 2.012, -8.538, -0.561, 0.712, 0.725, 0.000, 0.000, 0.000, 0.000, -4.755],
    naming: [4.125, 0.264, 0.492, 0.444, -2.811, -0.345, 0.107, -0.183, 0.497, 0.286, 0.000, 0.469, -4.205],
};
