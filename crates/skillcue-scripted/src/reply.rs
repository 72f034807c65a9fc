//! Answers of the server.

use std::time::Duration;

use serde_json::Value;

use crate::{Wire, anthropic, gemini, openai, responses};

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
    pub(crate) what: ReplyContent,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) delay: Duration,
    pub(crate) cut: Option<usize>,
    pub(crate) stall: Option<usize>,
    pub(crate) whole: bool,
    pub(crate) until_close: bool,
}

#[derive(Debug, Clone)]
pub(crate) enum ReplyContent {
    ModelOutput(ModelOutput),
    Status { status: u16, message: Option<String> },
    Body { kind: String, bytes: Vec<u8> },
    Raw(Vec<u8>),
    Nothing,
}

/// The output of a model.
#[derive(Debug, Clone, Default)]
pub(crate) struct ModelOutput {
    pub(crate) text: String,
    pub(crate) thinking: String,
    pub(crate) calls: Vec<(String, String, Value)>,
    pub(crate) stop: Option<String>,
    pub(crate) usage: Option<(u64, u64, u64)>,
    pub(crate) chunk: usize,
}

impl ModelOutput {
    /// Splits a text into pieces of about `chunk` bytes, never within a character.
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
    fn new(what: ReplyContent) -> Reply {
        let (headers, delay) = (Vec::new(), Duration::ZERO);
        Reply { what, headers, delay, cut: None, stall: None, whole: false, until_close: false }
    }

    fn said(mut self, change: impl FnOnce(&mut ModelOutput)) -> Reply {
        if let ReplyContent::ModelOutput(said) = &mut self.what {
            change(said);
        }
        self
    }

    /// Answers with a text.
    pub fn text(text: impl Into<String>) -> Reply {
        let said = ModelOutput { text: text.into(), chunk: 24, usage: Some((10, 5, 0)), ..ModelOutput::default() };
        Reply::new(ReplyContent::ModelOutput(said))
    }

    /// Answers with calls of tools: id, tool, arguments.
    pub fn calls<I, N>(calls: impl IntoIterator<Item = (I, N, Value)>) -> Reply
    where
        I: Into<String>,
        N: Into<String>,
    {
        let calls = calls.into_iter().map(|(id, name, arguments)| (id.into(), name.into(), arguments)).collect();
        Reply::text("").said(|said| said.calls = calls)
    }

    /// Answers with an error, in the format of the API.
    pub fn status(status: u16) -> Reply {
        Reply::new(ReplyContent::Status { status, message: None })
    }

    /// Answers 200 with any body.
    pub fn body(content_type: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Reply {
        Reply::new(ReplyContent::Body { kind: content_type.into(), bytes: bytes.into() })
    }

    /// Sends any bytes instead of an HTTP response; then the connection is closed.
    pub fn raw(bytes: impl Into<Vec<u8>>) -> Reply {
        Reply::new(ReplyContent::Raw(bytes.into()))
    }

    /// Sends nothing, until the client is gone.
    pub fn stall() -> Reply {
        Reply::new(ReplyContent::Nothing)
    }

    /// Adds a text before the calls.
    #[must_use]
    pub fn saying(self, text: impl Into<String>) -> Reply {
        self.said(|said| said.text = text.into())
    }

    /// Adds thoughts before everything else.
    #[must_use]
    pub fn thinking(self, text: impl Into<String>) -> Reply {
        self.said(|said| said.thinking = text.into())
    }

    /// Sets the usage: tokens of the request and of the answer.
    #[must_use]
    pub fn usage(self, input: u64, output: u64) -> Reply {
        self.said(|said| said.usage = Some((input, output, 0)))
    }

    /// Like [`usage`](Reply::usage), with so many tokens of the request from the cache.
    #[must_use]
    pub fn cached_usage(self, input: u64, output: u64, cached: u64) -> Reply {
        self.said(|said| said.usage = Some((input, output, cached)))
    }

    /// Leaves the usage out. (Anthropic's format always has one: zero.)
    #[must_use]
    pub fn without_usage(self) -> Reply {
        self.said(|said| said.usage = None)
    }

    /// Sets the stop reason, in the word of the API.
    #[must_use]
    pub fn stop(self, reason: impl Into<String>) -> Reply {
        self.said(|said| said.stop = Some(reason.into()))
    }

    /// Sets the number of bytes of a text or of arguments in one piece.
    #[must_use]
    pub fn in_chunks(self, bytes: usize) -> Reply {
        self.said(|said| said.chunk = bytes)
    }

    /// Sets the message of an error.
    #[must_use]
    pub fn message(mut self, text: impl Into<String>) -> Reply {
        if let ReplyContent::Status { message, .. } = &mut self.what {
            *message = Some(text.into());
        }
        self
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Reply {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Delays the answer.
    #[must_use]
    pub fn delayed(mut self, by: Duration) -> Reply {
        self.delay = by;
        self
    }

    /// Closes the connection after so many bytes of the body.
    #[must_use]
    pub fn cut_after(mut self, bytes: usize) -> Reply {
        self.cut = Some(bytes);
        self
    }

    /// Sends nothing more after so many bytes of the body, until the client is gone.
    #[must_use]
    pub fn stalled_after(mut self, bytes: usize) -> Reply {
        self.stall = Some(bytes);
        self
    }

    /// Sends one JSON document, even if the client asks for a stream.
    #[must_use]
    pub fn whole(mut self) -> Reply {
        self.whole = true;
        self
    }

    /// Ends the body with the connection, without a length.
    #[must_use]
    pub fn until_close(mut self) -> Reply {
        self.until_close = true;
        self
    }

    /// Returns the body as it is sent to a client that asks for a stream, so that tests know where to cut it.
    pub fn bytes(&self, api: Wire) -> Vec<u8> {
        self.events(api, "scripted").concat()
    }

    /// Returns the pieces in which the body is sent.
    pub(crate) fn events(&self, api: Wire, model: &str) -> Vec<Vec<u8>> {
        match (&self.what, api) {
            (ReplyContent::ModelOutput(said), Wire::OpenAi) => openai::stream(said, model, true),
            (ReplyContent::ModelOutput(said), Wire::Anthropic) => anthropic::stream(said, model),
            (ReplyContent::ModelOutput(said), Wire::Responses) => responses::stream(said, model),
            (ReplyContent::ModelOutput(said), Wire::Gemini) => gemini::stream(said, model),
            (ReplyContent::Body { bytes, .. } | ReplyContent::Raw(bytes), _) => vec![bytes.clone()],
            (ReplyContent::Status { status, message }, _) => vec![error(api, *status, message.as_deref()).into_bytes()],
            (ReplyContent::Nothing, _) => Vec::new(),
        }
    }
}

/// Returns an error in the format of the API.
pub(crate) fn error(api: Wire, status: u16, message: Option<&str>) -> String {
    match api {
        Wire::OpenAi | Wire::Responses => openai::error(status, message),
        Wire::Gemini => gemini::error(status, message),
        Wire::Anthropic => anthropic::error(status, message),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_never_split_a_character() {
        for chunk in 0..9 {
            let said = ModelOutput { chunk, ..ModelOutput::default() };
            for text in ["", "a", "größe 🦀 x"] {
                let pieces = said.pieces(text);
                assert_eq!(pieces.concat(), text);
                assert!(pieces.iter().all(|piece| !piece.is_empty()));
            }
        }
        assert_eq!(ModelOutput { chunk: 2, ..ModelOutput::default() }.pieces("abcde"), ["ab", "cd", "e"]);
    }
}
