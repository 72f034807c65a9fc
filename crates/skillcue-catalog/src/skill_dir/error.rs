//! Errors of access to a skill's files.

use std::io;

use super::open::ResolveError;
use skillcue_base::{ErrorInfo, Shown};

/// The reason why a file of a skill could not be opened, read or listed.
///
/// Every variant names the skill and the requested path. In the displayed text, control characters are escaped and the
/// length is bounded, so a hostile path can neither forge a log line nor flood one.
#[derive(Debug, thiserror::Error, ErrorInfo)]
#[non_exhaustive]
pub enum FileError {
    /// The path leads out of the skill's directory, or to something that is not an ordinary file.
    #[error("skill \"{}\": refused \"{}\": {reason}", Shown(skill), Shown(path))]
    #[info(transparent = reason)]
    Security {
        /// The skill whose file was requested.
        skill: Box<str>,
        /// The path as it was given.
        path: Box<str>,
        /// The reason for the refusal.
        reason: SecurityReason,
    },
    /// The path does not exist.
    #[error("skill \"{}\": no file \"{}\"", Shown(skill), Shown(path))]
    #[info(code = "not_found", hint = "list the skill's files to see what it has")]
    NotFound {
        /// The skill whose file was requested.
        skill: Box<str>,
        /// The path as it was given.
        path: Box<str>,
    },
    /// The path names a directory.
    #[error("skill \"{}\": \"{}\" is a directory, not a file", Shown(skill), Shown(path))]
    #[info(code = "not_a_file", hint = "name a file below this directory")]
    NotAFile {
        /// The skill whose file was requested.
        skill: Box<str>,
        /// The path as it was given.
        path: Box<str>,
    },
    /// The file is larger than the caller allows.
    #[error("skill \"{}\": \"{}\" has {size} bytes, more than the limit of {limit}", Shown(skill), Shown(path))]
    #[info(code = "too_large", hint = "read a part of it, or raise the limit")]
    TooLarge {
        /// The skill whose file was requested.
        skill: Box<str>,
        /// The path as it was given.
        path: Box<str>,
        /// The file's size; if it grew while it was read, the number of bytes read by then.
        size: u64,
        /// The limit it is over.
        limit: u64,
    },
    /// Text was requested and the file is not UTF-8.
    #[error(
        "skill \"{}\": \"{}\" is not UTF-8 text: bad byte at offset {offset}, line {line}",
        Shown(skill),
        Shown(path)
    )]
    #[info(code = "not_text", hint = "read it as bytes, or save it as UTF-8")]
    NotText {
        /// The skill whose file was requested.
        skill: Box<str>,
        /// The path as it was given.
        path: Box<str>,
        /// The offset of the first bad byte, from 0.
        offset: usize,
        /// The line that it is in, from 1.
        line: usize,
    },
    /// The file was written to each time it was read.
    #[error("skill \"{}\": \"{}\" kept changing while it was read", Shown(skill), Shown(path))]
    #[info(code = "unreadable", hint = "try again when nothing writes to it")]
    Changing {
        /// The skill whose file was requested.
        skill: Box<str>,
        /// The path as it was given.
        path: Box<str>,
    },
    /// The operating system refused to read it.
    #[error("skill \"{}\": cannot read \"{}\": {source}", Shown(skill), Shown(path))]
    #[info(code = "unreadable", hint = "check that the file exists and its permissions let it be read")]
    Unreadable {
        /// The skill whose file was requested.
        skill: Box<str>,
        /// The path as it was given.
        path: Box<str>,
        /// The operating system's error.
        source: io::Error,
    },
}

impl FileError {
    /// Makes the error for bytes that are not UTF-8.
    pub fn not_text(skill: &str, path: &str, error: &std::string::FromUtf8Error) -> FileError {
        let offset = error.utf8_error().valid_up_to();
        let line = error.as_bytes()[..offset].split(|byte| *byte == b'\n').count();
        FileError::NotText { skill: skill.into(), path: path.into(), offset, line }
    }

    /// Builds the error for a refusal, and logs it.
    ///
    /// This is the only place that builds [`FileError::Security`], which is how every refusal comes to have exactly
    /// one event.
    pub(super) fn security(skill: &str, path: &str, reason: SecurityReason) -> Self {
        tracing::warn!(
            // For subscribers that show the error by other means.
            name: "refused_path",
            target: "skillcue::security",
            skill = %Shown(skill),
            path = %Shown(path),
            reason = %reason,
            "refused a path"
        );
        Self::Security { skill: skill.into(), path: path.into(), reason }
    }

    pub(super) fn from_open(skill: &str, path: &str, error: ResolveError) -> Self {
        match error {
            ResolveError::Security(reason) => Self::security(skill, path, reason),
            ResolveError::NotFound => Self::NotFound { skill: skill.into(), path: path.into() },
            ResolveError::Io(source) => Self::Unreadable { skill: skill.into(), path: path.into(), source },
        }
    }

    /// Returns the skill whose file was requested.
    pub fn skill(&self) -> &str {
        self.subject().0
    }

    /// Returns the path as it was given, not escaped.
    pub fn path(&self) -> &str {
        self.subject().1
    }

    fn subject(&self) -> (&str, &str) {
        match self {
            Self::Security { skill, path, .. }
            | Self::NotFound { skill, path }
            | Self::NotAFile { skill, path }
            | Self::TooLarge { skill, path, .. }
            | Self::NotText { skill, path, .. }
            | Self::Changing { skill, path }
            | Self::Unreadable { skill, path, .. } => (skill, path),
        }
    }
}

impl From<FileError> for io::Error {
    /// Returns the operating system's error, where there is one.
    fn from(error: FileError) -> io::Error {
        match error {
            FileError::Unreadable { source, .. } => source,
            FileError::NotFound { .. } => rustix::io::Errno::NOENT.into(),
            other => io::Error::other(other),
        }
    }
}

/// The reason why a path was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error, ErrorInfo)]
#[info(code = "security")]
#[non_exhaustive]
pub enum SecurityReason {
    /// It holds a NUL character.
    #[error("it holds a NUL character")]
    #[info(hint = "remove the NUL character")]
    Nul,
    /// It starts with `/`.
    #[error("it is an absolute path")]
    #[info(hint = "give the path relative to the skill's directory")]
    Absolute,
    /// It starts with a drive letter such as `C:`.
    #[error("it starts with a drive letter")]
    #[info(hint = "give the path relative to the skill's directory")]
    DriveLetter,
    /// It holds a backslash.
    #[error("it holds a backslash")]
    #[info(hint = "separate directories with `/`")]
    Backslash,
    /// It starts with a URI scheme such as `file:`.
    #[error("it is a URI, not a path")]
    #[info(hint = "give the path relative to the skill's directory")]
    UriScheme,
    /// Its `..` climb above the skill's directory.
    #[error("it climbs out of the skill's directory")]
    #[info(hint = "only files below the skill's directory can be read")]
    ClimbsOut,
    /// A symbolic link on the way leads out of the skill's directory.
    #[error("a link leads out of the skill's directory")]
    #[info(hint = "replace the link by a copy of the file, or by a relative link that stays inside")]
    LeadsOut,
    /// Symbolic links on the way lead to each other, or there are too many of them.
    #[error("its links form a loop")]
    #[info(hint = "remove the link that leads back to itself")]
    LinkLoop,
    /// It names a device, a pipe or a socket.
    #[error("it is a device, a pipe or a socket")]
    #[info(hint = "only ordinary files can be read")]
    SpecialFile,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_skill_path_and_reason() {
        let error = FileError::security("pdf", "../x\n", SecurityReason::ClimbsOut);
        assert_eq!(error.to_string(), "skill \"pdf\": refused \"../x\\n\": it climbs out of the skill's directory");
        assert_eq!((error.code(), error.skill(), error.path()), ("security", "pdf", "../x\n"));
    }
}
