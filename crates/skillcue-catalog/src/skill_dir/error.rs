//! Why a file of a skill was not handed out.

use std::fmt;
use std::io;

use super::open::OpenError;
use skillcue_base::Shown;

/// Why a file of a skill could not be opened, read or listed.
///
/// Every variant names the skill and the path that was asked for. What is displayed has its control characters
/// escaped and is cut to a bounded length, so a hostile path can neither forge a log line nor flood one.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// The path leads out of the skill's directory, or to something that is not an ordinary file.
    #[error("skill \"{}\": refused \"{}\": {reason}", Shown(skill), Shown(path))]
    Security {
        /// The skill whose file was asked for.
        skill: Box<str>,
        /// The path as it was given.
        path: Box<str>,
        /// What is wrong with it.
        reason: SecurityReason,
    },
    /// Nothing stands at the path.
    #[error("skill \"{}\": no file \"{}\"", Shown(skill), Shown(path))]
    NotFound {
        /// The skill whose file was asked for.
        skill: Box<str>,
        /// The path as it was given.
        path: Box<str>,
    },
    /// The path names a directory.
    #[error("skill \"{}\": \"{}\" is a directory, not a file", Shown(skill), Shown(path))]
    NotAFile {
        /// The skill whose file was asked for.
        skill: Box<str>,
        /// The path as it was given.
        path: Box<str>,
    },
    /// The file is larger than the caller allows.
    #[error("skill \"{}\": \"{}\" has {size} bytes, more than the limit of {limit}", Shown(skill), Shown(path))]
    TooLarge {
        /// The skill whose file was asked for.
        skill: Box<str>,
        /// The path as it was given.
        path: Box<str>,
        /// The file's size; if it grew while it was read, what had been read by then.
        size: u64,
        /// The limit it is over.
        limit: u64,
    },
    /// Text was asked for and the file is not UTF-8.
    #[error(
        "skill \"{}\": \"{}\" is not UTF-8 text: bad byte at offset {offset}, line {line}",
        Shown(skill),
        Shown(path)
    )]
    NotText {
        /// The skill whose file was asked for.
        skill: Box<str>,
        /// The path as it was given.
        path: Box<str>,
        /// Where the first bad byte stands, from 0.
        offset: usize,
        /// The line it stands in, from 1.
        line: usize,
    },
    /// The file was written to each time it was read.
    #[error("skill \"{}\": \"{}\" kept changing while it was read", Shown(skill), Shown(path))]
    Changing {
        /// The skill whose file was asked for.
        skill: Box<str>,
        /// The path as it was given.
        path: Box<str>,
    },
    /// The operating system would not let it be read.
    #[error("skill \"{}\": cannot read \"{}\": {source}", Shown(skill), Shown(path))]
    Unreadable {
        /// The skill whose file was asked for.
        skill: Box<str>,
        /// The path as it was given.
        path: Box<str>,
        /// What the operating system said.
        source: io::Error,
    },
}

impl FileError {
    /// What was read as text is none.
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

    pub(super) fn from_open(skill: &str, path: &str, error: OpenError) -> Self {
        match error {
            OpenError::Security(reason) => Self::security(skill, path, reason),
            OpenError::NotFound => Self::NotFound { skill: skill.into(), path: path.into() },
            OpenError::Io(source) => Self::Unreadable { skill: skill.into(), path: path.into(), source },
        }
    }

    /// The error as a stable word: `security`, `not_found`, `not_a_file`, `too_large`, `not_text` or `unreadable`.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Security { .. } => "security",
            Self::NotFound { .. } => "not_found",
            Self::NotAFile { .. } => "not_a_file",
            Self::TooLarge { .. } => "too_large",
            Self::NotText { .. } => "not_text",
            Self::Changing { .. } | Self::Unreadable { .. } => "unreadable",
        }
    }

    /// The skill whose file was asked for.
    pub fn skill(&self) -> &str {
        self.subject().0
    }

    /// The path as it was given, not escaped.
    pub fn path(&self) -> &str {
        self.subject().1
    }

    /// What to do about it, in one sentence.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Security { reason, .. } => reason.hint(),
            Self::NotFound { .. } => "list the skill's files to see what it has",
            Self::NotAFile { .. } => "name a file below this directory",
            Self::TooLarge { .. } => "read a part of it, or raise the limit",
            Self::NotText { .. } => "read it as bytes, or save it as UTF-8",
            Self::Changing { .. } => "try again when nothing writes to it",
            Self::Unreadable { .. } => "check that the file exists and its permissions let it be read",
        }
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

/// What is wrong with a path that was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SecurityReason {
    /// It holds a NUL character.
    Nul,
    /// It starts with `/`.
    Absolute,
    /// It starts with a drive letter such as `C:`.
    DriveLetter,
    /// It holds a backslash.
    Backslash,
    /// It starts with a URI scheme such as `file:`.
    UriScheme,
    /// Its `..` climb above the skill's directory.
    ClimbsOut,
    /// A symbolic link on the way leads out of the skill's directory.
    LeadsOut,
    /// Symbolic links on the way lead to each other, or there are too many of them.
    LinkLoop,
    /// It names a device, a pipe or a socket.
    SpecialFile,
}

impl SecurityReason {
    fn hint(self) -> &'static str {
        match self {
            Self::Nul => "remove the NUL character",
            Self::Absolute | Self::DriveLetter | Self::UriScheme => "give the path relative to the skill's directory",
            Self::Backslash => "separate directories with `/`",
            Self::ClimbsOut => "only files below the skill's directory can be read",
            Self::LeadsOut => "replace the link by a copy of the file, or by a relative link that stays inside",
            Self::LinkLoop => "remove the link that leads back to itself",
            Self::SpecialFile => "only ordinary files can be read",
        }
    }
}

impl fmt::Display for SecurityReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nul => "it holds a NUL character",
            Self::Absolute => "it is an absolute path",
            Self::DriveLetter => "it starts with a drive letter",
            Self::Backslash => "it holds a backslash",
            Self::UriScheme => "it is a URI, not a path",
            Self::ClimbsOut => "it climbs out of the skill's directory",
            Self::LeadsOut => "a link leads out of the skill's directory",
            Self::LinkLoop => "its links form a loop",
            Self::SpecialFile => "it is a device, a pipe or a socket",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{FileError, SecurityReason};

    #[test]
    fn names_skill_path_and_reason() {
        let error = FileError::security("pdf", "../x\n", SecurityReason::ClimbsOut);
        assert_eq!(error.to_string(), "skill \"pdf\": refused \"../x\\n\": it climbs out of the skill's directory");
        assert_eq!((error.code(), error.skill(), error.path()), ("security", "pdf", "../x\n"));
    }
}
