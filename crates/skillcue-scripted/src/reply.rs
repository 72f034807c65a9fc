//! What is answered.

use std::time::Duration;

use serde_json::Value;

use crate::{Wire, anthropic, openai};

/// An answer.
///
/// ```
/// use skillcue_scripted::Reply;
///
/// let call = serde_json::json!({"name": "hello-extended"});
/// let _ = Reply::calls([("call_1", "load_skill", call)]).saying("One moment.").usage(900, 20);
/// let _ = Reply::status(429).header("retry-after", "0");
/// let _ = Reply::text("a long answer").in_chunks(1).cut_after(100);
/// ```
#[derive(Debug, Clone)]
pub struct Reply {
    pub(crate) what: What,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) delay: Duration,
    pub(crate) cut: Option<usize>,
    pub(crate) stall: Option<usize>,
    pub(crate) whole: bool,
    pub(crate) until_close: bool,
}

#[derive(Debug, Clone)]
pub(crate) enum What {
    Said(Said),
    Status { status: u16, message: Option<String> },
    Body { kind: String, bytes: Vec<u8> },
    Raw(Vec<u8>),
    Nothing,
}

/// What a model says.
#[derive(Debug, Clone, Default)]
pub(crate) struct Said {
    pub(crate) text: String,
    pub(crate) thinking: String,
    pub(crate) calls: Vec<(String, String, Value)>,
    pub(crate) stop: Option<String>,
    pub(crate) usage: Option<(u64, u64, u64)>,
    pub(crate) chunk: usize,
}

impl Said {
    /// A text in pieces of about `chunk` bytes, never within a character.
    pub(crate) fn pieces<'t>(&self, text: &'t str) -> Vec<&'t str> {
        let mut pieces = Vec::new();
        let mut begin = 0;
        for (at, _) in text.char_indices().skip(1) {
            if at - begin >= self.chunk.max(1) {
                pieces.push(&text[begin..at]);
                begin = at;
            }
        }
        if begin < text.len() {
            pieces.push(&text[begin..]);
        }
        pieces
    }
}

impl Reply {
    fn new(what: What) -> Reply {
        let (headers, delay) = (Vec::new(), Duration::ZERO);
        Reply { what, headers, delay, cut: None, stall: None, whole: false, until_close: false }
    }

    fn said(mut self, change: impl FnOnce(&mut Said)) -> Reply {
        if let What::Said(said) = &mut self.what {
            change(said);
        }
        self
    }

    /// Words.
    pub fn text(text: impl Into<String>) -> Reply {
        let said = Said { text: text.into(), chunk: 24, usage: Some((10, 5, 0)), ..Said::default() };
        Reply::new(What::Said(said))
    }

    /// Calls of tools: id, tool, arguments.
    pub fn calls<I, N>(calls: impl IntoIterator<Item = (I, N, Value)>) -> Reply
    where
        I: Into<String>,
        N: Into<String>,
    {
        let calls = calls.into_iter().map(|(id, name, arguments)| (id.into(), name.into(), arguments)).collect();
        Reply::text("").said(|said| said.calls = calls)
    }

    /// A refusal, in the format of the API.
    pub fn status(status: u16) -> Reply {
        Reply::new(What::Status { status, message: None })
    }

    /// A success with any body.
    pub fn body(content_type: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Reply {
        Reply::new(What::Body { kind: content_type.into(), bytes: bytes.into() })
    }

    /// Any bytes instead of an HTTP response; then the connection is closed.
    pub fn raw(bytes: impl Into<Vec<u8>>) -> Reply {
        Reply::new(What::Raw(bytes.into()))
    }

    /// Nothing, until the client is gone.
    pub fn stall() -> Reply {
        Reply::new(What::Nothing)
    }

    /// Words before the calls.
    #[must_use]
    pub fn saying(self, text: impl Into<String>) -> Reply {
        self.said(|said| said.text = text.into())
    }

    /// Thoughts before everything else.
    #[must_use]
    pub fn thinking(self, text: impl Into<String>) -> Reply {
        self.said(|said| said.thinking = text.into())
    }

    /// What it cost: tokens of the request and of the answer.
    #[must_use]
    pub fn usage(self, input: u64, output: u64) -> Reply {
        self.said(|said| said.usage = Some((input, output, 0)))
    }

    /// The same, with so many tokens of the request from the cache.
    #[must_use]
    pub fn cached_usage(self, input: u64, output: u64, cached: u64) -> Reply {
        self.said(|said| said.usage = Some((input, output, cached)))
    }

    /// Nothing is said about costs. (Anthropic's format always says something: zero.)
    #[must_use]
    pub fn without_usage(self) -> Reply {
        self.said(|said| said.usage = None)
    }

    /// Why it stops, in the word of the API.
    #[must_use]
    pub fn stop(self, reason: impl Into<String>) -> Reply {
        self.said(|said| said.stop = Some(reason.into()))
    }

    /// How many bytes of a text or of arguments come in one piece.
    #[must_use]
    pub fn in_chunks(self, bytes: usize) -> Reply {
        self.said(|said| said.chunk = bytes)
    }

    /// What a refusal says.
    #[must_use]
    pub fn message(mut self, text: impl Into<String>) -> Reply {
        if let What::Status { message, .. } = &mut self.what {
            *message = Some(text.into());
        }
        self
    }

    /// One more header.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Reply {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Not before so long.
    #[must_use]
    pub fn delayed(mut self, by: Duration) -> Reply {
        self.delay = by;
        self
    }

    /// The connection is closed after so many bytes of the body.
    #[must_use]
    pub fn cut_after(mut self, bytes: usize) -> Reply {
        self.cut = Some(bytes);
        self
    }

    /// After so many bytes of the body nothing more comes, until the client is gone.
    #[must_use]
    pub fn stalled_after(mut self, bytes: usize) -> Reply {
        self.stall = Some(bytes);
        self
    }

    /// One JSON document, even if the client wants a stream.
    #[must_use]
    pub fn whole(mut self) -> Reply {
        self.whole = true;
        self
    }

    /// The body ends with the connection; nothing says how long it is.
    #[must_use]
    pub fn until_close(mut self) -> Reply {
        self.until_close = true;
        self
    }

    /// The body as it is sent to a client that wants a stream, so that tests know where to cut it.
    pub fn bytes(&self, api: Wire) -> Vec<u8> {
        self.events(api, "scripted").concat()
    }

    /// The pieces in which the body is sent.
    pub(crate) fn events(&self, api: Wire, model: &str) -> Vec<Vec<u8>> {
        match (&self.what, api) {
            (What::Said(said), Wire::OpenAi) => openai::stream(said, model, true),
            (What::Said(said), Wire::Anthropic) => anthropic::stream(said, model),
            (What::Body { bytes, .. } | What::Raw(bytes), _) => vec![bytes.clone()],
            (What::Status { status, message }, _) => vec![error(api, *status, message.as_deref()).into_bytes()],
            (What::Nothing, _) => Vec::new(),
        }
    }
}

/// A refusal in the format of the API.
pub(crate) fn error(api: Wire, status: u16, message: Option<&str>) -> String {
    match api {
        Wire::OpenAi => openai::error(status, message),
        Wire::Anthropic => anthropic::error(status, message),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_never_split_a_character() {
        for chunk in 0..9 {
            let said = Said { chunk, ..Said::default() };
            for text in ["", "a", "größe 🦀 x"] {
                let pieces = said.pieces(text);
                assert_eq!(pieces.concat(), text);
                assert!(pieces.iter().all(|piece| !piece.is_empty()));
            }
        }
        assert_eq!(Said { chunk: 2, ..Said::default() }.pieces("abcde"), ["ab", "cd", "e"]);
    }
}
