//! Why the registry cannot do something.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use skillcue_base::{ErrorInfo, Shown, os_message, shown_path};
use skillcue_catalog::ContentId;
use skillcue_format::Diagnostic;

use crate::{Drift, Kind};

/// Why the registry cannot do something. What was there before is still there, but for [`RegistryError::Unfinished`].
#[derive(Debug, thiserror::Error, ErrorInfo)]
#[info(code = "registry")]
#[non_exhaustive]
pub enum RegistryError {
    /// The disk refuses.
    #[error("cannot {doing} {}: {}", shown_path(path), os_message(error))]
    #[info(hint = file_hint(error))]
    File {
        /// What was tried, as a verb.
        doing: &'static str,
        /// With which file.
        path: PathBuf,
        /// What the system said.
        #[source]
        error: io::Error,
    },
    /// Another process keeps the registry locked.
    #[error("{} has been locked for {} s{}", shown_path(path), waited.as_secs(), holder.map_or(String::new(), |id| format!(", by process {id} it seems")))]
    #[info(hint = "wait for the other command, or end it if it hangs")]
    Busy {
        /// The file that is locked.
        path: PathBuf,
        /// The process that has written its number into it.
        holder: Option<u32>,
        /// How long was waited.
        waited: Duration,
    },
    /// A file that a later version of Skillcue has written.
    #[error("{} was written by a newer version of Skillcue, which this one does not understand", shown_path(path))]
    #[info(hint = "use the newer version; the file is left as it is")]
    Newer {
        /// The file.
        path: PathBuf,
    },
    /// A link, or a file, where a directory should be.
    #[error("{} is a link or a file, not a directory", shown_path(path))]
    #[info(hint = "the registry follows no links: nothing outside it may be changed; put a directory there")]
    NotADirectory {
        /// What is none.
        path: PathBuf,
    },
    /// A directory of a project belongs to another user.
    #[error("{} belongs to another user (number {owner}): nothing is changed there", shown_path(path))]
    #[info(
        code = "not_yours",
        hint = "others could change it meanwhile; make it yours (chown), work in a checkout of your own, or install for \
                                           the user"
    )]
    NotYours {
        /// The directory.
        path: PathBuf,
        /// Its owner.
        owner: u32,
    },
    /// A file where one of ours should be, and somebody else's.
    #[error("{} is not a file of Skillcue: {why}", shown_path(path))]
    #[info(
        code = "not_ours",
        hint = "it is left as it is, and nothing was changed; rename it, or install for the user instead of the project"
    )]
    NotOurs {
        /// The file.
        path: PathBuf,
        /// How that is known.
        why: String,
    },
    /// Something stands on another file system than the registry's own things, so that nothing can be moved there.
    #[error("{} is on another file system than {}", shown_path(path), shown_path(than))]
    #[info(hint = "nothing was changed; what is installed is moved in one step: put all of it on one file system")]
    OtherDevice {
        /// What does.
        path: PathBuf,
        /// Where the registry's own things are.
        than: PathBuf,
    },
    /// Nothing of that name is installed.
    #[error("no skill or plugin called {:?} is installed", Shown(name).to_string())]
    #[info(code = "not_installed", hint = "look at what is installed")]
    NotInstalled {
        /// The name.
        name: String,
    },
    /// Something else of that name is installed.
    #[error("{} is already installed, from {}", Shown(name), Shown(origin))]
    #[info(code = "in_the_way", hint = "remove it first, or say that it may be replaced")]
    OtherOrigin {
        /// The name.
        name: String,
        /// Where the installed one is from.
        origin: String,
    },
    /// Something stands where it would be put, and the registry does not know it.
    #[error("{} is already there, and the registry has not put it there", shown_path(path))]
    #[info(code = "in_the_way", hint = "move it away, or say that it may be replaced (it goes to the trash)")]
    InTheWay {
        /// What stands there.
        path: PathBuf,
    },
    /// Two that are to be installed at once have one name.
    #[error("two skills or plugins to be installed are called {}", Shown(name))]
    #[info(code = "invalid_skill", hint = "choose one of them")]
    Twice {
        /// The name.
        name: String,
    },
    /// There is no such directory in what was fetched.
    #[error("{} is no longer in its origin, {}", place(at), Shown(origin))]
    #[info(
        code = "not_in_origin",
        hint = "its author has moved or removed it; install it from where it is now, or keep what is installed"
    )]
    NotInOrigin {
        /// Where it should stand.
        at: String,
        /// In what.
        origin: String,
    },
    /// What is to be installed is no valid skill or plugin.
    #[error("{} is no valid {}: {}", place(at), kind.word(), diagnostics.first().map_or("it cannot be read".to_owned(), |found| found.message.to_string()))]
    #[info(code = "invalid_skill", hint = "nothing was installed; its author has to mend it")]
    Invalid {
        /// What it should be.
        kind: Kind,
        /// Where in its origin it stands.
        at: String,
        /// What is wrong.
        diagnostics: Vec<Diagnostic>,
    },
    /// Files that cannot be installed.
    #[error("{} cannot be installed: {}: {reason}", Shown(name), shown_path(path))]
    #[info(code = "invalid_skill", hint = "only files, directories and links that stay inside can be installed")]
    Odd {
        /// Of what.
        name: String,
        /// The file.
        path: PathBuf,
        /// Why.
        reason: &'static str,
    },
    /// The audit has found something of high severity.
    #[error("the audit has found what may be an attack in {}", names(found))]
    #[info(code = "findings", hint = "read the findings; install it in spite of them only if you know better")]
    Findings {
        /// All findings, by name.
        found: Vec<(String, Vec<Diagnostic>)>,
    },
    /// The content is not what the lock pins.
    #[error("{} is not what skillcue.lock pins: its files have the digest {found}, not {expected}", Shown(name))]
    #[info(
        code = "differs",
        hint = "its author has moved the reference, or somebody has tampered with it; install it by name to take it"
    )]
    Differs {
        /// The name.
        name: String,
        /// What the lock says.
        expected: ContentId,
        /// What it is.
        found: ContentId,
    },
    /// An installed skill was edited.
    #[error("{} has been edited since it was installed: {}", Shown(name), edits(drift))]
    #[info(
        code = "edited",
        hint = "keep your edits elsewhere, or say that they may be overwritten (they go to the trash)"
    )]
    Edited {
        /// The name.
        name: String,
        /// What is not as it was installed.
        drift: Vec<Drift>,
    },
    /// The installed skill is not the one any more for which the update was planned.
    #[error("{} has changed since the update was planned", Shown(name))]
    #[info(hint = "plan the update again")]
    Outdated {
        /// The name.
        name: String,
    },
    /// Another name was expected.
    #[error("{} is now called {}", Shown(name), Shown(found))]
    #[info(hint = "install it under its new name, and remove the old one")]
    Renamed {
        /// The name of what is installed.
        name: String,
        /// What its new version is called.
        found: String,
    },
    /// Nothing in the trash can be brought back.
    #[error("nothing {}is in the trash", name.as_ref().map_or(String::new(), |name| format!("called {} ", Shown(name))))]
    #[info(code = "not_installed", hint = "the trash may have been emptied; install it again")]
    NothingInTrash {
        /// What was looked for; anything otherwise.
        name: Option<String>,
    },
    /// The files of what was removed were missing already.
    #[error("the files of {} were missing when it was removed: nothing of them can come back", list(names))]
    #[info(code = "not_installed", hint = "install it again; what went to the trash earlier is restored by its name")]
    NoFiles {
        /// What was removed.
        names: Vec<String>,
    },
    /// What cannot be the address of a skill.
    #[error("{:?} is no address of a skill", Shown(address).to_string())]
    #[info(hint = "write it as NAME, NAME@SOURCE or PLUGIN:NAME")]
    Address {
        /// What was given.
        address: String,
    },
    /// The change is decided and on the disk, and not carried out to its end.
    #[error("the change is recorded, but not finished yet: {error}")]
    #[info(hint = "the next change finishes it, once it can; giving it up sets the journal aside")]
    Unfinished {
        /// Why not.
        #[source]
        error: Box<RegistryError>,
    },
}

impl RegistryError {
    pub(crate) fn file(doing: &'static str, path: &Path, error: io::Error) -> RegistryError {
        RegistryError::File { doing, path: path.to_owned(), error }
    }
}

fn file_hint(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull => "make room and try again",
        io::ErrorKind::CrossesDevices => {
            "nothing was changed; it is a mount, or in a layer of an image that cannot be moved: the registry's \
             directories must all be on one file system"
        }
        _ => "nothing was changed; mend it and try again",
    }
}

/// A place in an origin; the origin itself has no name there.
fn place(at: &str) -> String {
    if matches!(at, "" | ".") { "the skill".to_owned() } else { Shown(at).to_string() }
}

fn list(names: &[String]) -> String {
    names.iter().map(|name| Shown(name).to_string()).collect::<Vec<_>>().join(", ")
}

fn names(found: &[(String, Vec<Diagnostic>)]) -> String {
    found.iter().map(|(name, _)| Shown(name).to_string()).collect::<Vec<_>>().join(", ")
}

fn edits(drift: &[Drift]) -> String {
    const SHOWN: usize = 3;
    let paths: Vec<_> = drift.iter().take(SHOWN).map(|drift| Shown(&drift.path).to_string()).collect();
    let more = if drift.len() > SHOWN { format!(" and {} more", drift.len() - SHOWN) } else { String::new() };
    paths.join(", ") + &more
}
