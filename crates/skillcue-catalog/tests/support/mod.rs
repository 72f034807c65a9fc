//! The common parts of the tests of `SkillDir`: the tree of `vectors/paths.json`, and the fuzz target.

pub(crate) mod paths_target;
pub(crate) mod tree;
