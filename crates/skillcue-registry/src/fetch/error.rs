//! Why something could not be fetched.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use skillcue_base::{ErrorInfo, Shown, os_message};
use thiserror::Error;

/// Appends a hint for problems in another part of the source than the requested skill.
macro_rules! or_alone {
    ($help:literal) => {
        concat!($help, "; or name the skill's directory alone, if it is elsewhere: SOURCE/PATH, or URL//PATH for git")
    };
}

/// Why nothing was fetched. Files in the target by then are of no use.
#[derive(Debug, Error, ErrorInfo)]
#[info(code = "fetch")]
#[non_exhaustive]
pub enum FetchError {
    /// The directory or the archive is not there, or cannot be read.
    #[error("cannot read {}: {}", Shown(&path.to_string_lossy()), os_message(source))]
    #[info(hint = "check the path and its permissions")]
    Read {
        /// The path.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// A file could not be written.
    #[error("cannot write {}: {}", Shown(&path.to_string_lossy()), os_message(source))]
    #[info(hint = "check that there is room on the disk and that you may write there")]
    Write {
        /// The path.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// One entry is refused, and the whole with it.
    #[error("{}: the entry {} is refused: {reason}", Shown(from), Shown(entry))]
    #[info(transparent = reason)]
    Entry {
        /// The archive, directory or repository.
        from: String,
        /// The entry's name as it is written there.
        entry: String,
        /// Why it is refused.
        reason: Refusal,
    },
    /// There is more of it than a limit allows.
    #[error("{}: {exceeded}", Shown(from))]
    #[info(transparent = exceeded)]
    TooMuch {
        /// The archive, directory or repository.
        from: String,
        /// The limit.
        exceeded: Exceeded,
    },
    /// The archive is damaged, cut off, or none at all.
    #[error("{}: {reason}", Shown(from))]
    #[info(hint = "fetch or make the archive again; .zip, .skill, .tar.gz and .tgz can be read")]
    Damaged {
        /// The archive.
        from: String,
        /// The damage.
        reason: String,
    },
    /// A file changed while it was copied.
    #[error("{} changed while it was copied", Shown(&path.to_string_lossy()))]
    #[info(hint = "try again when no other program writes to it")]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// The caller has cancelled it.
    #[error("cancelled")]
    #[info(hint = "nothing was changed")]
    Cancelled,
    /// The program `git` could not be started.
    #[error("cannot start {}: {}", Shown(&program.to_string_lossy()), os_message(source))]
    #[info(hint = "install git, or install from a directory or an archive")]
    NoGit {
        /// The program.
        program: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// Git failed.
    #[error("cannot fetch {}: {reason}", Shown(from))]
    #[info(hint = "check the address, and that `git ls-remote` of it works without a password prompt")]
    Git {
        /// The repository.
        from: String,
        /// Git's message, on one line.
        reason: String,
    },
    /// An OCI registry failed, or what it sent is refused.
    #[error("cannot fetch {}: {reason}", Shown(from))]
    #[info(hint = *help)]
    Registry {
        /// The artifact.
        from: String,
        /// The reason, on one line.
        reason: String,
        /// The next step.
        help: &'static str,
    },
    /// The repository has no such branch, tag or commit.
    #[error("{} has no branch, tag or commit {}", Shown(from), Shown(reference))]
    #[info(hint = "`git ls-remote` lists what there is; commits need at least 7 digits")]
    NoReference {
        /// The repository.
        from: String,
        /// The requested one.
        reference: String,
    },
    /// The repository has no such directory.
    #[error("{} has no directory {}", Shown(from), Shown(subdir))]
    #[info(hint = "check the path; it is a directory below the repository's root")]
    NoSubdir {
        /// The repository.
        from: String,
        /// The requested one.
        subdir: String,
    },
}

/// Why one entry is refused.
#[derive(Debug, Clone, PartialEq, Eq, Error, ErrorInfo)]
#[info(code = "fetch", hint = or_alone!("do not trust it; if it is yours, make it again with plain relative names"))]
#[non_exhaustive]
pub enum Refusal {
    /// It would be outside the target.
    #[error("its name leads out of the directory")]
    LeadsOut,
    /// It starts at the file system's root, or with a drive.
    #[error("its name is absolute")]
    Absolute,
    /// No name, or a name with `//` or `/./` in it.
    #[error("its name has an empty part")]
    EmptyPart,
    /// A backslash, which is a separator elsewhere.
    #[error("its name has a backslash")]
    Backslash,
    /// A NUL or another control character.
    #[error("its name has a control character")]
    Control,
    /// Bytes that are no text.
    #[error("its name is not UTF-8")]
    NotUtf8,
    /// More than 255 bytes, or 1024 with its directories.
    #[error("its name is too long")]
    #[info(hint = or_alone!("shorten the path"))]
    TooLong,
    /// More directories deep than the limit.
    #[error("it is more than {0} directories deep")]
    #[info(hint = or_alone!("shorten the path"))]
    TooDeep(usize),
    /// The name was there already.
    #[error("the name is there twice")]
    #[info(hint = or_alone!("rename one of the two"))]
    Twice,
    /// On some file systems it would be the same file as another.
    #[error("it differs from {} only in case or in the form of its letters", Shown(.0))]
    #[info(hint = or_alone!("rename one of the two"))]
    Collides(String),
    /// A file is where a directory should be.
    #[error("{} is no directory", Shown(.0))]
    Through(String),
    /// A symbolic link that leads out, or to an unknown place.
    #[error("it is a link that leads out: {}", Shown(.0))]
    #[info(hint = or_alone!("links must be relative and stay inside; put a copy of the file there instead"))]
    LinkOut(String),
    /// A symbolic link that leads back to itself.
    #[error("it is a link that leads in a circle: {}", Shown(.0))]
    #[info(hint = or_alone!("links must be relative and stay inside; put a copy of the file there instead"))]
    LinkCircle(String),
    /// A hard link to something that is no earlier file.
    #[error("it is a hard link to {}, which is no earlier file", Shown(.0))]
    #[info(hint = or_alone!("links must be relative and stay inside; put a copy of the file there instead"))]
    HardLink(String),
    /// Neither file nor directory nor link.
    #[error("it is {0}")]
    #[info(hint = or_alone!("remove it: skills are files, directories and links"))]
    Special(&'static str),
    /// A directory that has bytes, which would be lost.
    #[error("it is a directory with bytes of its own")]
    FullDirectory,
    /// It can only be read with a password.
    #[error("it is encrypted")]
    #[info(hint = "unpack it yourself and install from the directory")]
    Encrypted,
    /// Packed in a way that this program does not know.
    #[error("it is packed with method {0}; only stored and deflated files can be read")]
    #[info(hint = "pack it again with an ordinary zip program")]
    Method(u16),
    /// Its bytes are those of another entry, too.
    #[error("it shares its bytes with another entry")]
    Overlap,
}

/// Which limit was exceeded.
#[derive(Debug, Clone, PartialEq, Eq, Error, ErrorInfo)]
#[info(code = "fetch", hint = "install from a smaller directory, archive or repository")]
#[non_exhaustive]
pub enum Exceeded {
    /// [`FetchLimits::entries`](crate::FetchLimits::entries).
    #[error("it has more than {0} files and directories")]
    Entries(usize),
    /// [`FetchLimits::bytes`](crate::FetchLimits::bytes).
    #[error("it has more than {0} bytes")]
    Bytes(u64),
    /// [`FetchLimits::file_bytes`](crate::FetchLimits::file_bytes).
    #[error("{} has more than {limit} bytes", Shown(entry))]
    FileBytes {
        /// The file.
        entry: String,
        /// How many it may have.
        limit: u64,
    },
    /// [`FetchLimits::ratio`](crate::FetchLimits::ratio).
    #[error("it unpacks to more than {0} times its size")]
    #[info(hint = "do not trust this archive; if it is yours, unpack it and install from the directory")]
    Ratio(u64),
    /// [`FetchLimits::time`](crate::FetchLimits::time).
    #[error("it took longer than {} s", .0.as_secs_f32())]
    #[info(hint = "try again later, or fetch it yourself and install from the directory")]
    Time(Duration),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_on_refused_entries_name_the_subdirectory_form() {
        for reason in [Refusal::LinkOut("/etc".to_owned()), Refusal::Special("a pipe"), Refusal::Backslash] {
            let error = FetchError::Entry { from: "/x".to_owned(), entry: "docs/link".to_owned(), reason };
            let hint = error.hint().unwrap();
            assert!(hint.contains("SOURCE/PATH, or URL//PATH for git"), "{hint}");
        }
    }
}
