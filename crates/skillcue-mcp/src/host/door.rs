//! The door that every byte of a remote skill comes through, whatever serves it: entries are checked before they are
//! used, files against their entries on every read, and consent is bound to the digests of all files.
//!
//! Servers of the protocol use it, and so do catalogs on object stores (`skillcue-fleet`).

pub use super::entry::{
    MAX_BYTES, MAX_FILES, clean as clean_path, content_id, read as read_entry, write as write_entry,
};
pub use super::permission::LoadPermission;
pub use super::verify::check as check_file;
