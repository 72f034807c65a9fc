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
    rank: [4.158, 0.000, 2.936, 3.099, 0.870, 0.000, 0.370, -0.170, 0.599, 0.000, 0.000, 0.845, 0.532, 3.546],
    gate: [3.185, 1.047, 0.808, 2.739, -6.819, -0.497, 0.761, 0.456, 0.000, 0.000, 0.000, 0.000, -5.683],
    naming: [3.502, 0.275, 0.411, 0.885, -1.669, -0.269, 0.002, -0.064, 0.760, 0.510, 0.000, 0.289, -4.612],
};

/// The weights where skills have bodies, with a sentence model.
pub const WITH_BODIES_AND_MODEL: FusionWeights = FusionWeights {
    rank: [1.094, 1.046, 4.471, 2.004, 2.139, 0.610, 1.115, 0.516, 1.811, 1.423, 0.992, 0.673, 0.168, 4.744],
    gate: [2.845, 1.269, -0.939, 0.611, -6.770, -0.860, 0.656, -1.249, 0.553, 0.122, 0.181, 0.438, -4.330],
    naming: [3.741, 0.226, 1.495, 0.728, -4.008, -0.915, 0.659, 0.129, 0.294, 0.301, 0.267, 0.698, -6.313],
};

/// The weights where they have none, or where none are indexed yet, with a sentence model.
pub const WITHOUT_BODIES_WITH_MODEL: FusionWeights = FusionWeights {
    rank: [2.991, 0.000, 2.705, 3.126, 0.643, 0.000, 0.297, 0.070, 0.946, 0.000, 0.000, 0.310, 0.601, 10.812],
    gate: [3.865, 0.567, -0.547, 2.030, -8.498, -0.572, 0.701, 0.602, 0.000, 0.000, 0.000, 0.000, -4.576],
    naming: [4.176, 0.267, 0.323, 0.530, -3.203, -0.338, 0.090, -0.194, 0.505, 0.241, 0.000, 0.605, -4.170],
};
