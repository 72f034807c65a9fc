//! The parts of a `SKILL.md`: names, triggers, permissions, and codes of diagnostics. All of it is a
//! [`Manifest`](crate::Manifest); the crate `skillcue-format` parses, checks and writes it.

pub use skillcue_format::{Code, FileKind, Permissions, Severity, SkillName, Triggers};
