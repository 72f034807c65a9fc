//! Why the registry cannot do something.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use skillcue_base::{ErrorInfo, Shown, os_message, shown_path};
use skillcue_catalog::{ContentId, PolicyRefusal};
use skillcue_format::Diagnostic;

use crate::{Drift, InstallableKind};

/// Why the registry cannot do something. The state before is kept, except for [`RegistryError::Unfinished`].
#[derive(Debug, thiserror::Error, ErrorInfo)]
#[info(code = "registry")]
#[non_exhaustive]
pub enum RegistryError {
    /// The disk refuses.
    #[error("cannot {doing} {}: {}", shown_path(path), os_message(error))]
    #[info(hint = file_hint(error))]
    File {
        /// The attempted action, as a verb.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's error.
        #[source]
        error: io::Error,
    },
    /// Another process keeps the registry locked.
    #[error("{} has been locked for {} s{}", shown_path(path), waited.as_secs(), holder.map_or(String::new(), |id| format!(", by process {id} it seems")))]
    #[info(hint = "wait for the other command, or end it if it hangs")]
    Busy {
        /// The file that is locked.
        path: PathBuf,
        /// The process that has written its id into it.
        holder: Option<u32>,
        /// How long the lock was waited for.
        waited: Duration,
    },
    /// A file that a later version of Skillcue has written.
    #[error("{} was written by a newer version of Skillcue, which this one does not understand", shown_path(path))]
    #[info(hint = "use the newer version; the file is left as it is")]
    Newer {
        /// The file.
        path: PathBuf,
    },
    /// Something else is where a link to an installed skill should be.
    #[error("{} is there already, and is not ours", shown_path(path))]
    #[info(code = "in_the_way", hint = "it is left as it is; move it elsewhere, then link again")]
    LinkInTheWay {
        /// The path of the link.
        path: PathBuf,
    },
    /// An item that no other agent can be shown by a link: a plugin, or a skill that is off.
    #[error("{} cannot be linked: {why}", Shown(name))]
    #[info(code = "not_linkable")]
    NotLinkable {
        /// Its name.
        name: String,
        /// The reason.
        why: &'static str,
    },
    /// A link, or a file, where a directory should be.
    #[error("{} is a link or a file, not a directory", shown_path(path))]
    #[info(hint = "the registry follows no links: nothing outside it may be changed; put a directory there")]
    NotADirectory {
        /// The link or the file.
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
    /// A foreign file where one of ours should be.
    #[error("{} is not a file of Skillcue: {why}", shown_path(path))]
    #[info(
        code = "not_ours",
        hint = "it is left as it is, and nothing was changed; rename it, or install for the user instead of the project"
    )]
    NotOurs {
        /// The file.
        path: PathBuf,
        /// Why it is not ours.
        why: String,
    },
    /// A directory is on another file system than the registry's own, so that nothing can be moved there.
    #[error("{} is on another file system than {}", shown_path(path), shown_path(than))]
    #[info(hint = "nothing was changed; what is installed is moved in one step: put all of it on one file system")]
    OtherDevice {
        /// The directory on the other file system.
        path: PathBuf,
        /// The registry's inner directory.
        than: PathBuf,
    },
    /// The organisation's policy refuses an item.
    #[error("{} is {refusal}", Shown(name))]
    #[info(code = "policy", hint = refusal.help.clone())]
    Policy {
        /// Its name.
        name: String,
        /// The rule, and the policy that has it.
        refusal: Box<PolicyRefusal>,
    },
    /// Nothing of that name is installed.
    #[error("no skill or plugin called {:?} is installed", Shown(name).to_string())]
    #[info(code = "not_installed", hint = "look at what is installed")]
    NotInstalled {
        /// The name.
        name: String,
    },
    /// Another item of that name is installed.
    #[error("{} is already installed, from {}", Shown(name), Shown(origin))]
    #[info(code = "in_the_way", hint = "remove it first, or say that it may be replaced")]
    OtherOrigin {
        /// The name.
        name: String,
        /// The origin of the installed one.
        origin: String,
    },
    /// A directory that the registry does not know is in the way.
    #[error("{} is already there, and the registry has not put it there", shown_path(path))]
    #[info(code = "in_the_way", hint = "move it away, or say that it may be replaced (it goes to the trash)")]
    InTheWay {
        /// The directory.
        path: PathBuf,
    },
    /// Two items that are to be installed at once have one name.
    #[error("two skills or plugins to be installed are called {}", Shown(name))]
    #[info(code = "invalid_skill", hint = "choose one of them")]
    Twice {
        /// The name.
        name: String,
    },
    /// There is no such directory in what was fetched.
    #[error("{} is no longer in its origin, {}", name_in_origin(at), Shown(origin))]
    #[info(
        code = "not_in_origin",
        hint = "its author has moved or removed it; install it from where it is now, or keep what is installed"
    )]
    NotInOrigin {
        /// Its path in the origin.
        at: String,
        /// The origin.
        origin: String,
    },
    /// The item to be installed is no valid skill or plugin.
    #[error("{} is no valid {}: {}", name_in_origin(at), kind.word(), diagnostics.first().map_or("it cannot be read".to_owned(), |found| found.message.to_string()))]
    #[info(code = "invalid_skill", hint = "nothing was installed; its author has to mend it")]
    Invalid {
        /// The kind that it should be.
        kind: InstallableKind,
        /// Its path in its origin.
        at: String,
        /// The problems found.
        diagnostics: Vec<Diagnostic>,
    },
    /// A file that cannot be installed.
    #[error("{} cannot be installed: {}: {reason}", Shown(name), shown_path(path))]
    #[info(code = "invalid_skill", hint = "only files, directories and links that stay inside can be installed")]
    Odd {
        /// The item's name.
        name: String,
        /// The file.
        path: PathBuf,
        /// Why it cannot be installed.
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
        hint = "its author has moved the reference, or it was tampered with; install it by name to take it"
    )]
    Differs {
        /// The name.
        name: String,
        /// The digest in the lock.
        expected: ContentId,
        /// The digest of its files.
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
        /// The files that are not as they were installed.
        drift: Vec<Drift>,
    },
    /// The installed skill is no longer the one for which the update was planned.
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
        /// The name of the installed item.
        name: String,
        /// The name of its new version.
        found: String,
    },
    /// Nothing in the trash can be restored.
    #[error("nothing {}is in the trash", name.as_ref().map_or(String::new(), |name| format!("called {} ", Shown(name))))]
    #[info(code = "not_installed", hint = "the trash may have been emptied; install it again")]
    NothingInTrash {
        /// The name that was looked for; `None` if any would do.
        name: Option<String>,
    },
    /// The files of the removed items were missing already.
    #[error("the files of {} were missing when it was removed: nothing of them can come back", list(names))]
    #[info(code = "not_installed", hint = "install it again; what went to the trash earlier is restored by its name")]
    NoFiles {
        /// The names of the removed items.
        names: Vec<String>,
    },
    /// A text that cannot be the address of a skill.
    #[error("{:?} is no address of a skill", Shown(address).to_string())]
    #[info(hint = "write it as NAME, NAME@SOURCE or PLUGIN:NAME")]
    Address {
        /// The text.
        address: String,
    },
    /// The change is committed, and not carried out to its end.
    #[error("the change is recorded, but not finished yet: {error}")]
    #[info(hint = "the next change finishes it, once it can; giving it up sets the journal aside")]
    Unfinished {
        /// The step's error.
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

/// Returns how messages name a path in an origin; the origin itself has no name there.
fn name_in_origin(at: &str) -> String {
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
