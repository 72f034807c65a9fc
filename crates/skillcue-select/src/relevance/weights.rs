//! The fitted weights. Made by `cargo xtask fit`.

use crate::relevance::fusion::FusionWeights;

/// The weights where skills have bodies.
pub const WITH_BODIES: FusionWeights = FusionWeights {
    rank: [1.749, 2.163, 2.639, 2.004, 2.092, 0.465, 1.167, 0.618, 1.688, 1.405, 1.118, 0.951, 0.337, 0.000, 1.155],
    gate: [2.465, 1.742, -0.590, 0.503, -5.589, -0.889, 0.658, -1.000, 0.516, 0.010, 0.305, 0.261, -4.640],
    naming: [3.678, 0.253, 1.721, 0.511, -2.480, -0.916, 0.671, 0.110, 0.310, 0.002, 0.274, 0.585, -6.449],
};

/// The weights where they have none, or where none are indexed yet.
pub const WITHOUT_BODIES: FusionWeights = FusionWeights {
    rank: [4.275, 0.000, 1.870, 2.360, 0.928, 0.000, 0.487, 0.165, 0.745, 0.000, 0.000, 0.674, 0.678, 3.406, 1.328],
    gate: [3.226, 1.023, 0.548, 2.560, -6.860, -0.700, 0.733, 0.236, 0.000, 0.000, 0.000, 0.000, -5.233],
    naming: [3.351, 0.261, 0.486, 1.083, -1.535, -0.274, 0.092, -0.014, 0.695, 0.498, 0.000, 0.188, -4.659],
};

/// The weights where skills have bodies, with a sentence model.
pub const WITH_BODIES_AND_MODEL: FusionWeights = FusionWeights {
    rank: [1.358, 1.711, 3.050, 1.880, 2.097, 0.499, 1.183, 0.657, 1.537, 1.429, 0.983, 0.658, 0.223, 4.099, 1.029],
    gate: [2.588, 1.659, -0.631, 0.536, -5.847, -0.947, 0.663, -0.864, 0.436, 0.006, 0.287, 0.282, -4.515],
    naming: [3.652, 0.237, 1.712, 0.484, -2.720, -0.957, 0.666, 0.197, 0.271, 0.002, 0.269, 0.594, -6.352],
};

/// The weights where they have none, or where none are indexed yet, with a sentence model.
pub const WITHOUT_BODIES_WITH_MODEL: FusionWeights = FusionWeights {
    rank: [3.071, 0.000, 2.038, 2.445, 0.924, 0.000, 0.421, 0.440, 0.905, 0.000, 0.000, 0.262, 0.645, 10.099, 0.980],
    gate: [3.860, 0.552, -0.346, 2.203, -8.511, -0.651, 0.688, 0.552, 0.000, 0.000, 0.000, 0.000, -4.786],
    naming: [4.096, 0.270, 0.424, 0.709, -3.250, -0.374, 0.122, -0.190, 0.474, 0.242, 0.000, 0.288, -4.157],
};
