//! Answers over HTTP, in the forms that the gate sends.

use std::convert::Infallible;

use ::http::{Response, StatusCode, header};
use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use serde_json::Value;

use super::digits;

/// An answer whose body may be a stream.
pub(super) type HttpResponse = Response<BoxBody<Bytes, Infallible>>;

/// Returns the answer with numbers as their author wrote them.
pub(super) async fn written(answer: HttpResponse) -> HttpResponse {
    let release = |data: Bytes| Bytes::from(digits::release(data.into()));
    let kind = answer.headers().get(header::CONTENT_TYPE).map(|kind| kind.as_bytes().to_vec());
    let (parts, body) = answer.into_parts();
    // Each frame of a stream is a whole event, and its length is declared nowhere.
    if kind.is_some_and(|kind| kind.starts_with(b"text/event-stream")) {
        return Response::from_parts(parts, body.map_frame(move |frame| frame.map_data(release)).boxed());
    }
    let Ok(whole) = body.collect().await;
    Response::from_parts(parts, Full::new(release(whole.to_bytes())).boxed())
}

/// Returns the answer with a header that ends the connection after it.
pub(super) fn closing(mut answer: HttpResponse) -> HttpResponse {
    answer.headers_mut().insert(header::CONNECTION, ::http::HeaderValue::from_static("close"));
    answer
}

pub(super) fn plain(status: StatusCode, text: impl Into<String>) -> HttpResponse {
    let mut answer = Response::new(Full::new(Bytes::from(text.into())).boxed());
    *answer.status_mut() = status;
    let kind = ::http::HeaderValue::from_static("text/plain; charset=utf-8");
    answer.headers_mut().insert(header::CONTENT_TYPE, kind);
    answer
}

pub(super) fn json_answer(status: StatusCode, value: &Value) -> HttpResponse {
    let mut answer = Response::new(Full::new(Bytes::from(value.to_string())).boxed());
    *answer.status_mut() = status;
    let kind = ::http::HeaderValue::from_static("application/json");
    answer.headers_mut().insert(header::CONTENT_TYPE, kind);
    answer
}
