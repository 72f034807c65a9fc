//! The fitted weights. Made by `cargo xtask fit`.

use crate::relevance::fusion::FusionWeights;

/// The weights where skills have bodies.
pub const WITH_BODIES: FusionWeights = FusionWeights {
    rank: [1.188, 2.694, 4.364, 2.603, 1.250, 0.383, 1.327, 0.671, 2.839, 1.810, 0.969, 0.196, 0.000],
    gate: [3.536, 2.636, -0.619, 1.682, -6.947, -1.203, 1.314, -0.100, -7.053],
    naming: [3.813, 0.299, 1.736, 1.099, -3.689, -0.811, 0.789, 0.061, -5.745],
};

/// The weights where they have none, or where none are indexed yet.
pub const WITHOUT_BODIES: FusionWeights = FusionWeights {
    rank: [5.249, 0.000, 2.475, 0.000, 2.962, 0.000, 0.501, -0.127, 0.909, 0.000, 0.849, 1.553, 0.000],
    gate: [3.313, 1.330, 0.710, 3.459, -7.989, -0.493, 0.895, 0.097, -6.178],
    naming: [3.713, 0.354, 0.896, 2.074, -1.734, -0.317, 0.496, -0.136, -4.276],
};

/// The weights where skills have bodies, with a sentence model.
pub const WITH_BODIES_AND_MODEL: FusionWeights = FusionWeights {
    rank: [0.660, 1.981, 5.007, 2.489, 0.854, 0.425, 1.438, 0.641, 2.845, 1.865, 0.590, 0.184, 4.165],
    gate: [3.632, 2.475, -0.779, 1.665, -7.192, -1.225, 1.312, -0.145, -6.815],
    naming: [3.746, 0.281, 1.675, 1.037, -4.026, -0.883, 0.756, 0.254, -5.677],
};

/// The weights where they have none, or where none are indexed yet, with a sentence model.
pub const WITHOUT_BODIES_WITH_MODEL: FusionWeights = FusionWeights {
    rank: [2.793, 0.000, 3.259, 0.000, 3.724, 0.000, 0.308, 0.079, 0.956, 0.000, 0.278, 0.634, 11.119],
    gate: [4.386, 0.580, -0.415, 2.344, -10.058, -0.647, 0.787, 0.583, -5.188],
    naming: [4.293, 0.339, 0.567, 1.268, -3.744, -0.238, 0.324, -0.186, -3.577],
};
