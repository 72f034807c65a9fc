//! Parts that every crate of Skillcue needs and none owns: text made safe to show, files that are replaced as a whole,
//! lists of records shared by processes, times and digests as files write them, locks, the code and hint of every
//! error.
//!
//! ```
//! use skillcue_base::{hex, is_hidden, one_line, rfc3339};
//!
//! assert_eq!(one_line("a\nb"), "a\\nb");
//! assert!(is_hidden('\u{202e}'));
//! assert_eq!(hex(&[1, 255]), "01ff");
//! assert_eq!(rfc3339(std::time::UNIX_EPOCH), "1970-01-01T00:00:00.000Z");
//! ```

pub mod binary;
mod count;
mod digest;
mod error_info;
mod hex;
mod hidden;
mod locale;
pub mod markup;
mod records;
mod replace;
mod shown;
mod single_flight;
mod time;

pub use count::{counted, noun};
pub use digest::{Digest, Digester};
pub use error_info::ErrorInfo;
pub use hex::hex;
pub use hidden::{is_hidden, is_ignorable, unseen, visible};
pub use locale::LOCALE;
pub use records::{Records, RecordsError, lock_beside};
pub use replace::{is_draft, replace_file, rewrite_file};
pub use shown::{Shown, escape_hidden, folded_line, one_line, os_message, quoted, shown_path, visible_line};
pub use single_flight::{SingleFlight, lock};
pub use time::{date, parse_rfc3339, rfc3339, rfc3339_seconds, whole_millis};
