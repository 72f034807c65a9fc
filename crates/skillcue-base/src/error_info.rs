//! [`ErrorInfo`]: the stable word of an error, and its hint.

use std::borrow::Cow;
use std::error::Error;
use std::sync::Arc;

pub use skillcue_derive::ErrorInfo;

/// An error with a stable word for programs and a hint for people and models.
///
/// A hint names the fact or the next step in general words. It never names a command of a program: the caller of the
/// library may be another program. A front end that has commands adds them; [`code`](ErrorInfo::code) and the error's
/// fields say when.
///
/// The derive reads `#[info(…)]` on variants, or on a struct:
///
/// - `code = "word"`: the code. On an enum: that of every variant that has none of its own.
/// - `hint = "…"`: the hint. Braces format fields, as in thiserror's messages; those of tuples are called `_0`, `_1`.
/// - `hint = expression`: a `&str`, `String` or `Cow` made of the fields, each of which is a reference here.
/// - `transparent`: a code or hint that is not given here is taken from the only field; `transparent = field`: from
///   that field.
///
/// ```
/// use skillcue_base::ErrorInfo;
///
/// #[derive(Debug, thiserror::Error, ErrorInfo)]
/// enum ReadError {
///     #[error("there is no file {path}")]
///     #[info(code = "not_found", hint = "is {path} spelt correctly?")]
///     NotFound { path: String },
///     #[error("it has {0} bytes")]
///     #[info(code = "too_large", hint = if *_0 > 100 { "split it" } else { "shorten it" })]
///     TooLarge(u64),
/// }
///
/// #[derive(Debug, thiserror::Error, ErrorInfo)]
/// #[info(code = "unusable")]
/// enum LoadError {
///     #[error("it is empty")]
///     Empty,
///     #[error(transparent)]
///     #[info(transparent)]
///     Read(#[from] ReadError),
/// }
///
/// let error = LoadError::from(ReadError::NotFound { path: "a.md".to_owned() });
/// assert_eq!((error.code(), error.hint().as_deref()), ("not_found", Some("is a.md spelt correctly?")));
/// assert_eq!((LoadError::Empty.code(), LoadError::Empty.hint()), ("unusable", None));
/// assert_eq!(ReadError::TooLarge(9).hint().as_deref(), Some("shorten it"));
/// ```
pub trait ErrorInfo: Error {
    /// Returns the stable word for the error.
    fn code(&self) -> &'static str;

    /// Returns the next step for the reader, in one sentence without a full stop.
    fn hint(&self) -> Option<Cow<'_, str>>;
}

impl<T: ErrorInfo + ?Sized> ErrorInfo for Box<T>
where
    Box<T>: Error,
{
    fn code(&self) -> &'static str {
        (**self).code()
    }

    fn hint(&self) -> Option<Cow<'_, str>> {
        (**self).hint()
    }
}

impl<T: ErrorInfo + ?Sized> ErrorInfo for Arc<T>
where
    Arc<T>: Error,
{
    fn code(&self) -> &'static str {
        (**self).code()
    }

    fn hint(&self) -> Option<Cow<'_, str>> {
        (**self).hint()
    }
}
