//! The fitted weights. Made by `cargo xtask fit`.

use crate::relevance::fusion::FusionWeights;

/// The weights where skills have bodies.
pub const WITH_BODIES: FusionWeights = FusionWeights {
    rank: [1.212, 3.274, 3.982, 2.707, 0.950, 0.317, 1.284, 0.722, 3.084, 1.593, 0.899, 0.196, 0.000],
    gate: [3.899, 2.543, -1.093, 1.132, -7.748, -1.150, 1.274, -0.055, -6.837],
    naming: [3.893, 0.320, 1.761, 0.705, -3.771, -0.814, 0.743, 0.002, -5.554],
};

/// The weights where they have none, or where none are indexed yet.
pub const WITHOUT_BODIES: FusionWeights = FusionWeights {
    rank: [5.472, 0.000, 2.332, 0.000, 2.834, 0.000, 0.401, -0.092, 0.913, 0.000, 0.757, 1.820, 0.000],
    gate: [3.916, 1.087, 0.227, 2.804, -9.135, -0.490, 0.821, -1.017, -5.698],
    naming: [3.941, 0.342, 0.752, 1.750, -2.644, -0.267, 0.452, -0.161, -4.146],
};

/// The weights where skills have bodies, with a sentence model.
pub const WITH_BODIES_AND_MODEL: FusionWeights = FusionWeights {
    rank: [0.680, 2.852, 4.192, 2.627, 0.517, 0.356, 1.440, 0.696, 3.115, 1.564, 0.517, 0.170, 4.084],
    gate: [3.926, 2.345, -1.142, 1.225, -7.968, -1.182, 1.275, -0.141, -6.674],
    naming: [3.766, 0.297, 1.749, 0.670, -4.102, -0.867, 0.714, 0.209, -5.521],
};

/// The weights where they have none, or where none are indexed yet, with a sentence model.
pub const WITHOUT_BODIES_WITH_MODEL: FusionWeights = FusionWeights {
    rank: [2.997, 0.000, 2.851, 0.000, 3.606, 0.000, 0.273, 0.090, 0.985, 0.000, 0.160, 0.679, 11.211],
    gate: [4.684, 0.681, -0.842, 1.423, -11.459, -0.549, 0.714, -1.298, -4.305],
    naming: [4.378, 0.330, 0.588, 0.735, -5.044, -0.219, 0.267, -0.136, -3.380],
};
