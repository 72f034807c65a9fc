//! Cursors: the start of the next page, opaque to clients.
//!
//! A cursor holds the last name of a page, so the next page is right even if skills were added or removed meanwhile,
//! and the server keeps no state between two pages.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rmcp::ErrorData;

/// The list that a cursor belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum List {
    Resources,
    Prompts,
    Skills,
    Directory,
}

impl List {
    fn letter(self) -> char {
        match self {
            List::Resources => 'r',
            List::Prompts => 'p',
            List::Skills => 's',
            List::Directory => 'd',
        }
    }
}

/// Returns the cursor of the page that starts after `last`.
pub(super) fn after(list: List, last: &str) -> String {
    URL_SAFE_NO_PAD.encode(format!("{}{last}", list.letter()))
}

/// Returns the name after which the requested page starts.
pub(super) fn read(list: List, cursor: Option<&str>) -> Result<Option<String>, ErrorData> {
    let Some(cursor) = cursor else { return Ok(None) };
    let bytes = URL_SAFE_NO_PAD.decode(cursor).ok();
    let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
    match text.as_deref().and_then(|text| text.strip_prefix(list.letter())) {
        Some(last) => Ok(Some(last.to_owned())),
        None => Err(ErrorData::invalid_params("the cursor is none that this list gave out", None)),
    }
}

#[cfg(test)]
mod tests {
    use super::{List, after, read};

    #[test]
    fn gives_back_what_it_was_made_of() {
        let cursor = after(List::Skills, "größe");
        assert_eq!(read(List::Skills, Some(&cursor)).unwrap().as_deref(), Some("größe"));
        assert!(read(List::Prompts, Some(&cursor)).is_err(), "of another list");
        assert!(read(List::Skills, Some("%%%")).is_err());
        assert!(read(List::Skills, Some("")).is_err());
    }
}
