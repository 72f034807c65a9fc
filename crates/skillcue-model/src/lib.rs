//! Vectors of texts: quantised, cut from the sections of skills, and kept in a file.

mod sections;
mod store;
mod vector;

pub use sections::{MAX_SECTIONS, sections};
pub use store::{SectionMatch, SectionVectors, vector_files};
pub use vector::{DIMENSIONS, Vector};
