//! Arguments about a turn: its message, its files, how it is matched.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::str::FromStr;

use rustix::fs::OFlags;
use serde::de::DeserializeOwned;
use skillcue::select::ReasonKind;
use skillcue::{Counter, Mode, Policy, Request};
use skillcue_base::os_message;

use crate::error::CliError;
use crate::text;

/// Longest message or JSON argument, in bytes.
const MAX_MESSAGE: u64 = 16 << 20;

// The turn that skills are matched with.
// No doc comment: clap would open the help of every command that has these with it.
#[derive(Debug, clap::Args)]
pub(crate) struct TurnArgs {
    /// A file that the turn is about, and its language; may be given several times
    #[arg(long = "file", value_name = "FILE")]
    files: Vec<String>,
    /// A programming language that the turn is about; may be given several times
    #[arg(long = "language", value_name = "LANGUAGE")]
    languages: Vec<String>,
    /// An earlier message of the user, latest first; may be given several times
    #[arg(long = "earlier", value_name = "MESSAGE")]
    earlier: Vec<String>,
}

impl TurnArgs {
    /// Returns the files that the turn is about.
    pub(crate) fn files(&self) -> &[String] {
        &self.files
    }

    pub(crate) fn request<'a>(&self, message: &'a str) -> Request<'a> {
        Request::new(message).languages(&self.languages).files(&self.files).earlier(&self.earlier)
    }
}

/// Returns the message, or the text on stdin if it is `-`.
pub(crate) fn message(written: &str) -> Result<String, CliError> {
    if written != "-" {
        return Ok(written.to_owned());
    }
    let mut bytes = Vec::new();
    io::stdin().lock().take(MAX_MESSAGE + 1).read_to_end(&mut bytes).map_err(|error| {
        CliError::failure("unreadable", format!("cannot read the message from stdin: {}", os_message(&error)))
            .help("pipe the message in, or write it in place of `-`")
    })?;
    if bytes.len() as u64 > MAX_MESSAGE {
        return Err(CliError::usage("usage", "the message is larger than 16 MiB").help("send the part that matters"));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        CliError::usage("usage", format!("the message is not UTF-8: byte {at}")).help("convert it first")
    })
}

/// Reads a regular file of at most `max` bytes as text. Devices and pipes may have no end, or never answer.
pub(crate) fn read_text(file: &Path, max: u64) -> io::Result<String> {
    let wrong = |message: &str| io::Error::new(io::ErrorKind::InvalidData, message);
    // Opening a pipe would wait for its other end, otherwise.
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let open = File::options().read(true).custom_flags(flags.bits().cast_signed()).open(file)?;
    if !open.metadata()?.is_file() {
        return Err(wrong("it is not a regular file"));
    }
    let mut bytes = Vec::new();
    open.take(max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max {
        return Err(wrong(&format!("it is larger than {}", text::bytes(max))));
    }
    String::from_utf8(bytes).map_err(|_| wrong("it is not UTF-8"))
}

/// Parses JSON of the command line, or of stdin if it is `-`. `what` is its name in an error.
pub(crate) fn json_argument<T: DeserializeOwned>(written: &str, what: &str, example: &str) -> Result<T, CliError> {
    let mut all = String::new();
    let json = match written {
        "-" => {
            io::stdin().take(MAX_MESSAGE).read_to_string(&mut all)?;
            &all
        }
        json => json,
    };
    serde_json::from_str(json).map_err(|error| {
        CliError::usage("usage", format!("{what}: {error}")).help(format!("write for example {example}"))
    })
}

/// Parses a number of tokens, skills or hits. A negative one gets the same error as any other wrong one, and not the
/// parser's advice to write `-- -1`.
pub(crate) fn whole_number(written: &str) -> Result<usize, String> {
    written.parse().map_err(|_| "write a whole number, 0 or more".to_owned())
}

/// Parses a number from 0 to 1. Others, such as `nan`, would let everything pass.
pub(crate) fn share<N: FromStr + PartialOrd + From<u8>>(written: &str) -> Result<N, String> {
    let share: N = written.parse().map_err(|_| "it is no number".to_owned())?;
    if (N::from(0)..=N::from(1)).contains(&share) { Ok(share) } else { Err("it is not between 0 and 1".to_owned()) }
}

/// The words of `--mode`.
pub(crate) const MODES: &[(&str, Mode, &str)] = &[
    ("keyword", Mode::Keyword, "By mentions and triggers"),
    ("hybrid", Mode::Hybrid, "By the words of names, descriptions and bodies, too"),
    ("semantic", Mode::Semantic, "By meaning, too: needs the sentence model (skillcue model install)"),
];

/// The words of `--policy`.
pub(crate) const POLICIES: &[(&str, Policy, &str)] = &[
    ("inject", Policy::Inject, "All in the turn: nothing that does not fit, whole documentation of what does"),
    ("catalog", Policy::Catalog, "A static section that lists the skills, nothing in the turn"),
    ("hint", Policy::Hint, "The static section, and one line in the turn"),
];

/// The words of `--counter`.
pub(crate) const COUNTERS: &[(&str, Counter, &str)] = &[
    ("bytes4", Counter::Bytes4, "A quarter of the bytes"),
    ("segment", Counter::Segment, "An estimate by words and scripts"),
    ("o200k", Counter::O200k, "The tokenizer `o200k_base`, exactly"),
];

/// Returns the word for a kind of reasons.
pub(crate) fn kind(kind: ReasonKind) -> &'static str {
    match kind {
        ReasonKind::Mention => "mention",
        ReasonKind::Phrase => "phrase",
        ReasonKind::Keyword => "keyword",
        ReasonKind::Verb => "verb",
        ReasonKind::Pattern => "pattern",
        ReasonKind::File => "file",
        ReasonKind::Language => "language",
        ReasonKind::Text => "text",
        ReasonKind::Nearby => "nearby",
        ReasonKind::Recent => "recent",
        ReasonKind::Judge => "judge",
        ReasonKind::Use => "use",
    }
}

/// Returns a share in whole percent.
pub(crate) fn percent(share: f32) -> String {
    format!("{:.0}", share * 100.0)
}
