//! Errors of one request, and their meaning.

use std::time::Duration;

use serde_json::Value;
use skillcue_base::Shown;
use skillcue_http::EventTooLarge;

use super::retry::MAX_WAIT;
use super::{ModelError, Secret};

/// The most characters of a server's message that are shown.
const MAX_SAYS: usize = 500;

/// The error of one request, in the server's words.
#[derive(Debug)]
pub(super) enum RequestError {
    /// The server says no, or says in the middle of its answer that it cannot go on.
    Status { status: u16, says: Says, wait: Option<Duration> },
    /// There is no connection; it may come.
    Connect(String),
    /// There is no connection, and trying again will not help.
    NoConnection(String),
    /// The answer does not end.
    Cut(String),
    /// The answer takes longer than the limit.
    Slow(Duration),
    /// The answer is none.
    Malformed(String),
    /// There is too much of it.
    TooLarge { what: &'static str, most: usize },
}

/// A server's own words: its message for people, and its codes for programs.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Says {
    text: String,
    kind: String,
    code: String,
}

impl Says {
    /// Wraps a text of our own.
    pub(super) fn plain(text: String) -> Says {
        Says { text, ..Says::default() }
    }

    /// Reads the message of a body. Each server puts it elsewhere.
    pub(super) fn of_body(body: &[u8]) -> Says {
        match serde_json::from_slice::<Value>(body) {
            Ok(value) => Says::of_json(&value),
            Err(_) => Says { text: String::from_utf8_lossy(body).trim().to_owned(), ..Says::default() },
        }
    }

    pub(super) fn of_json(value: &Value) -> Says {
        let inner = value.get("error").filter(|error| !error.is_null()).unwrap_or(value);
        let word = |key: &str| match &inner[key] {
            Value::String(word) => word.clone(),
            Value::Number(number) => number.to_string(),
            _ => String::new(),
        };
        let texts = [inner, &inner["message"], &inner["detail"], &inner["error"]];
        let text = texts.into_iter().find_map(Value::as_str).map_or_else(|| inner.to_string(), str::to_owned);
        Says { text, kind: word("type"), code: word("code") }
    }

    /// Returns the HTTP status that the server would have given, had it not begun to answer.
    pub(super) fn status(&self) -> u16 {
        if let Ok(status @ 400..600) = self.code.parse() {
            return status;
        }
        match self.kind.as_str() {
            "invalid_request_error" | "exceed_context_size_error" | "BadRequestError" => 400,
            "authentication_error" => 401,
            "billing_error" => 402,
            "permission_error" => 403,
            "not_found_error" => 404,
            "request_too_large" => 413,
            "rate_limit_error" => 429,
            "timeout_error" => 504,
            "overloaded_error" => 529,
            _ => 500,
        }
    }

    fn all(&self) -> String {
        format!("{} {} {}", self.kind, self.code, self.text).to_lowercase()
    }

    pub(super) fn has(&self, word: &str) -> bool {
        self.all().contains(word)
    }

    /// Returns whether the request has more tokens than fit, in the words of OpenAI, Anthropic, llama.cpp, vLLM, LM Studio
    /// and resellers.
    fn too_long(&self) -> bool {
        const WORDS: [&str; 13] = [
            "context_length_exceeded",
            "exceed_context_size",
            "context window",
            "context length",
            "context_length",
            "context size",
            "context limit",
            "context the overflows",
            "prompt is too long",
            "prompt too long",
            "request_too_large",
            "reduce the length",
            "input token count",
        ];
        let all = self.all();
        WORDS.iter().any(|word| all.contains(word)) && !asks_too_much(&all)
    }
}

/// Returns whether a server that speaks of its context window means the requested answer, and not the conversation: the
/// answer would be too long, the request is not. It says so in its own words, or its numbers do.
fn asks_too_much(all: &str) -> bool {
    const INPUTS: [&str; 5] = ["in the messages", "in the prompt", "in your prompt", "of text input", "input tokens"];
    let windows = ["context length is", "context window is"];
    let window = windows.iter().find_map(|word| number(all.split_once(word)?.1.split_whitespace().take(2)));
    let input = INPUTS.iter().find_map(|word| number(all.split_once(word)?.0.split_whitespace().next_back()));
    match (window, input) {
        // An answer needs some room, too.
        (Some(window), Some(input)) => input.saturating_add((window / 16).min(1024)) <= window,
        _ => (all.contains("max_tokens") || all.contains("max_completion_tokens")) && all.contains("too large"),
    }
}

/// Returns the first of some words that is a number.
fn number<'w>(words: impl IntoIterator<Item = &'w str>) -> Option<u64> {
    let digits = |word: &str| word.trim_matches(|c: char| !c.is_ascii_digit()).replace(',', "");
    words.into_iter().find_map(|word| digits(word).parse().ok())
}

impl From<EventTooLarge> for RequestError {
    fn from(error: EventTooLarge) -> RequestError {
        RequestError::too_large("an event of the answer", error.max_bytes)
    }
}

impl RequestError {
    pub(super) fn too_large(what: &'static str, most: usize) -> RequestError {
        RequestError::TooLarge { what, most }
    }

    pub(super) fn malformed(reason: impl Into<String>) -> RequestError {
        RequestError::Malformed(reason.into())
    }

    /// Reads an error that comes in place of an answer.
    pub(super) fn said(value: &Value) -> RequestError {
        let says = Says::of_json(value);
        RequestError::Status { status: says.status(), says, wait: None }
    }

    /// Returns whether the request may succeed later.
    pub(super) fn passes(&self) -> bool {
        match self {
            RequestError::Status { status, says, .. } => {
                let later = matches!(status, 408 | 409 | 425 | 429 | 500..600);
                // Some servers fail where they should refuse.
                let never = (*status >= 500 && says.too_long()) || says.has("insufficient_quota");
                later && !never
            }
            RequestError::Connect(_) | RequestError::Cut(_) => true,
            RequestError::NoConnection(_)
            | RequestError::Slow(_)
            | RequestError::Malformed(_)
            | RequestError::TooLarge { .. } => false,
        }
    }

    /// Returns whether the server refuses the field that asks for the cost of an answer.
    pub(super) fn refuses_usage(&self) -> bool {
        matches!(self, RequestError::Status { status: 400 | 422, says, .. }
            if says.has("stream_options") || says.has("include_usage"))
    }

    /// Returns how long the server asks to wait.
    pub(super) fn wait(&self) -> Option<Duration> {
        match self {
            RequestError::Status { wait, .. } => *wait,
            _ => None,
        }
    }

    /// Returns the error for people.
    pub(super) fn into_error(self, url: &str, model: &str, key: Option<&Secret>) -> ModelError {
        let passes = self.passes();
        // An address may have the key in its path.
        let url = key.map_or_else(|| url.to_owned(), |key| key.hide_in(url));
        let (model, attempts) = (model.to_owned(), 0);
        match self {
            RequestError::Status { status, says, wait } => {
                let (long, unknown) = (says.too_long(), says.has("model_not_found"));
                let says = shown(&says.text, key);
                match status {
                    401 | 403 => ModelError::Auth { url, status, key: key.is_some(), says, attempts },
                    404 => ModelError::NotFound { url, model, says, attempts },
                    413 => ModelError::TooLong { model, says, attempts },
                    400 | 422 | 500.. if long => ModelError::TooLong { model, says, attempts },
                    400 if unknown => ModelError::NotFound { url, model, says, attempts },
                    _ if passes => {
                        let wait = wait.filter(|wait| *wait > MAX_WAIT);
                        ModelError::Overloaded { url, status, says, wait, attempts }
                    }
                    _ => ModelError::Refused { url, status, says, attempts },
                }
            }
            RequestError::Connect(reason) | RequestError::NoConnection(reason) => {
                ModelError::Unreachable { url, reason: shown(&reason, key), attempts }
            }
            RequestError::Cut(reason) => ModelError::Cut { url, reason: shown(&reason, key), attempts },
            RequestError::Slow(most) => {
                let reason = format!("it is not whole after {} s", most.as_secs_f64());
                ModelError::Cut { url, reason, attempts }
            }
            RequestError::Malformed(reason) => ModelError::Malformed { url, reason: shown(&reason, key), attempts },
            RequestError::TooLarge { what, most } => ModelError::TooLarge { what, most, attempts },
        }
    }
}

/// Returns a server's words as they may be shown: without the key, on one line, not too long.
pub(super) fn shown(text: &str, key: Option<&Secret>) -> String {
    let hide = |text: &str| key.map_or_else(|| text.to_owned(), |key| key.hide_in(text));
    let text = hide(text);
    let text = text.trim();
    if text.is_empty() {
        return "it says nothing".to_owned();
    }
    hide(&Shown(text).within(MAX_SAYS).to_string())
}

#[cfg(test)]
mod tests {
    use skillcue_base::ErrorInfo as _;

    use serde_json::json;

    use super::*;

    fn code(status: u16, body: &Value) -> &'static str {
        let failed = RequestError::Status { status, says: Says::of_json(body), wait: None };
        failed.into_error("http://h", "m", None).code()
    }

    #[test]
    fn too_long_is_recognised_in_many_words() {
        for (status, body) in [
            (
                400,
                json!({"error": {"message": "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.", "type": "invalid_request_error", "param": "messages", "code": "context_length_exceeded"}}),
            ),
            (
                400,
                json!({"error": {"message": "Your input exceeds the context window of this model. Please adjust your input and try again.", "code": null}}),
            ),
            (
                400,
                json!({"type": "error", "error": {"type": "invalid_request_error", "message": "prompt is too long: 210000 tokens > 200000 maximum"}}),
            ),
            (
                400,
                json!({"type": "error", "error": {"type": "invalid_request_error", "message": "input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000"}}),
            ),
            (
                413,
                json!({"type": "error", "error": {"type": "request_too_large", "message": "Request exceeds the maximum size"}}),
            ),
            (
                400,
                json!({"error": {"code": 400, "message": "the request exceeds the available context size, try increasing it", "type": "exceed_context_size_error", "n_prompt_tokens": 5000, "n_ctx": 4096}}),
            ),
            (
                500,
                json!({"error": {"code": 500, "message": "Context size has been exceeded.", "type": "server_error"}}),
            ),
            (
                400,
                json!({"object": "error", "message": "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens", "type": "BadRequestError", "code": 400}),
            ),
            (400, json!({"error": "Trying to keep the first 5000 tokens when context the overflows."})),
            (
                400,
                json!({"error": {"message": "Please reduce the length of the messages or completion.", "type": "invalid_request_error"}}),
            ),
        ] {
            assert_eq!(code(status, &body), "too_long", "{body}");
            assert!(!RequestError::Status { status, says: Says::of_json(&body), wait: None }.passes(), "{body}");
        }
    }

    /// These are no reason to shorten a conversation.
    #[test]
    fn too_long_an_answer_is_not_too_long_a_conversation() {
        for (text, word) in [
            (
                "'max_tokens' or 'max_completion_tokens' is too large: 100000. This model's maximum context length is 8192 tokens and your request has 50 input tokens (100000 > 8192 - 50).",
                "refused",
            ),
            (
                "'max_tokens' or 'max_completion_tokens' is too large: 1000. This model's maximum context length is 8192 tokens and your request has 8100 input tokens (1000 > 8192 - 8100).",
                "too_long",
            ),
            ("max_tokens is too large: 5000. The context length is exceeded.", "refused"),
            (
                "This model's maximum context length is 8192 tokens. However, you requested 100050 tokens (50 in the messages, 100000 in the completion). Please reduce the length of the messages or completion.",
                "refused",
            ),
            (
                "This model's maximum context length is 8,192 tokens. However, you requested 9,050 tokens (8,050 in the messages, 1,000 in the completion).",
                "too_long",
            ),
            (
                "This model's maximum context length is 4097 tokens, however you requested 4103 tokens (7 in your prompt; 4096 for the completion). Please reduce your prompt; or completion length.",
                "refused",
            ),
            (
                "This endpoint's maximum context length is 8192 tokens. However, you requested about 99999 tokens (9000 of text input, 90999 in the output).",
                "too_long",
            ),
            (
                "You passed 4097 input tokens and requested 100 output tokens. However, the model's context length is only 4096 tokens.",
                "too_long",
            ),
            (
                "You passed 97 input tokens and requested 9999 output tokens. However, the model's context length is only 4096 tokens.",
                "refused",
            ),
            ("max_tokens: 100000 > 8192, which is the maximum allowed number of output tokens for claude", "refused"),
            ("input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000", "too_long"),
            ("The context length is 99999999999999999999999 tokens; 5 input tokens", "too_long"),
        ] {
            for code in ["null", "context_length_exceeded"] {
                let body = json!({"error": {"message": text, "type": "invalid_request_error", "code": code}});
                if code == "null" || text.contains("context") {
                    let error = RequestError::Status { status: 400, says: Says::of_json(&body), wait: None };
                    let error = error.into_error("http://h", "m", None);
                    assert_eq!(error.code(), word, "{text}");
                    assert_eq!(error.hint().unwrap().contains("shorter answer"), word == "refused", "{text}");
                }
            }
        }
    }

    #[test]
    fn statuses_mean_what_they_mean() {
        let plain = json!({"error": {"message": "no"}});
        for (status, word) in [
            (400, "refused"),
            (401, "auth"),
            (402, "refused"),
            (403, "auth"),
            (404, "model_not_found"),
            (408, "overloaded"),
            (409, "overloaded"),
            (413, "too_long"),
            (418, "refused"),
            (422, "refused"),
            (425, "overloaded"),
            (429, "overloaded"),
            (500, "overloaded"),
            (503, "overloaded"),
            (529, "overloaded"),
            (307, "refused"),
        ] {
            assert_eq!(code(status, &plain), word, "{status}");
        }
        assert_eq!(code(429, &json!({"error": {"message": "plan", "code": "insufficient_quota"}})), "refused");
        assert_eq!(code(400, &json!({"error": {"message": "x", "code": "model_not_found"}})), "model_not_found");
    }

    #[test]
    fn words_are_found_wherever_a_server_puts_them() {
        for (body, text) in [
            (r#"{"error":{"message":"a"}}"#, "a"),
            (r#"{"error":"b"}"#, "b"),
            (r#"{"message":"c","error":null}"#, "c"),
            (r#"{"detail":"d"}"#, "d"),
            (r#"{"detail":[{"loc":["x"]}]}"#, r#"{"detail":[{"loc":["x"]}]}"#),
            (r#""e""#, "e"),
            (" <html>f ", "<html>f"),
            ("", ""),
        ] {
            assert_eq!(Says::of_body(body.as_bytes()).text, text);
        }
    }

    #[test]
    fn errors_in_a_stream_have_a_status() {
        for (error, status) in [
            (json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}), 529),
            (json!({"error": {"code": 502, "message": "upstream"}}), 502),
            (json!({"error": {"code": "429", "message": "slow down"}}), 429),
            (json!({"error": {"message": "x", "type": "BadRequestError"}}), 400),
            (json!({"error": {"message": "x", "code": 7}}), 500),
            (json!({"error": "x"}), 500),
        ] {
            let RequestError::Status { status: found, .. } = RequestError::said(&error) else { panic!() };
            assert_eq!(found, status, "{error}");
        }
    }

    #[test]
    fn shown_answers_are_cut_and_have_no_key() {
        let key = Secret::new("sk-123".to_owned());
        assert_eq!(shown("a sk-123\n\u{1b}[0m b", Some(&key)), "a [key]\\n\\u{1b}[0m b");
        let long = format!("{}sk-123", "ü".repeat(MAX_SAYS - 3));
        let cut = shown(&long, Some(&key));
        assert_eq!(cut.chars().count(), MAX_SAYS + 1);
        assert!(!cut.contains("sk-"));
        assert_eq!(shown(&"x".repeat(MAX_SAYS), None), "x".repeat(MAX_SAYS));
        assert_eq!(shown(" ", None), "it says nothing");
    }
}
