//! The parts of a message and of its headers that are looked at before the SDK reads them.

use std::borrow::Cow;

use ::http::HeaderMap;
use serde::Deserialize;
use serde_json::Value;

use super::metrics::method_label;

/// The method and the id of a message.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct MessageHead {
    /// The label of the method.
    pub(super) method: &'static str,
    pub(super) id: Value,
}

impl Default for MessageHead {
    fn default() -> Self {
        MessageHead { method: method_label(""), id: Value::Null }
    }
}

impl MessageHead {
    /// Reads the head of a message. `None` if it has a part twice, or of a wrong kind: the SDK could read another method than
    /// the one that is checked here. Text that is no JSON has an empty head; the SDK refuses it.
    pub(super) fn parse(body: &[u8]) -> Option<MessageHead> {
        #[derive(Deserialize, Default)]
        struct Parts<'m> {
            #[serde(borrow, default)]
            method: Cow<'m, str>,
            #[serde(default)]
            id: Value,
        }
        let parts = match serde_json::from_slice::<Parts<'_>>(body) {
            Ok(parts) => parts,
            Err(error) if error.is_data() => return None,
            Err(_) => Parts::default(),
        };
        Some(MessageHead { method: method_label(&parts.method), id: parts.id })
    }
}

/// The session that the headers of a request name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SessionIdHeader {
    Missing,
    Named,
    /// It is given twice, or is no visible ASCII, as the protocol wants it. The SDK would take it for missing.
    Malformed,
}

impl SessionIdHeader {
    pub(super) fn of(headers: &HeaderMap) -> SessionIdHeader {
        let mut values = headers.get_all("mcp-session-id").iter();
        match (values.next(), values.next()) {
            (None, _) => SessionIdHeader::Missing,
            (Some(id), None) if !id.is_empty() && id.as_bytes().iter().all(u8::is_ascii_graphic) => {
                SessionIdHeader::Named
            }
            _ => SessionIdHeader::Malformed,
        }
    }
}

#[cfg(test)]
mod tests {
    use ::http::{HeaderMap, HeaderValue};
    use serde_json::{Value, json};

    use super::{MessageHead, SessionIdHeader};

    #[test]
    fn the_head_of_a_message_has_one_method() {
        let head = |body: &str| MessageHead::parse(body.as_bytes()).map(|head| (head.method, head.id));
        assert_eq!(head(r#"{"id":1,"method":"initialize"}"#), Some(("initialize", json!(1))));
        assert_eq!(head(r#"{"\u006dethod":"initi\u0061lize"}"#), Some(("initialize", Value::Null)));
        assert_eq!(head(r#"{"method":"ping","method":"initialize"}"#), None);
        assert_eq!(head(r#"{"method":5}"#), None);
        assert_eq!(head("{}"), Some(("other", Value::Null)));
        assert_eq!(head("{"), Some(("other", Value::Null)));
    }

    #[test]
    fn a_session_is_named_by_one_visible_text() {
        let of = |values: &[&[u8]]| {
            let values = values.iter().map(|value| HeaderValue::from_bytes(value).unwrap());
            SessionIdHeader::of(&values.map(|value| ("mcp-session-id".parse().unwrap(), value)).collect::<HeaderMap>())
        };
        assert_eq!(of(&[]), SessionIdHeader::Missing);
        assert_eq!(of(&[b"6f2d-4c1e"]), SessionIdHeader::Named);
        for malformed in [&[b"\xff".as_slice()] as &[&[u8]], &[b""], &[b"a b"], &[b"a\t"], &[b"a", b"b"]] {
            assert_eq!(of(malformed), SessionIdHeader::Malformed, "{malformed:?}");
        }
    }
}
