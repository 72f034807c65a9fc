//! What people have approved, by content.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};

use serde::{Deserialize, Serialize};
use skillcue::remote::RemoteEntry;
use skillcue_base::{Records, RecordsError};
use skillcue_catalog::ContentId;

use super::entry::content_id;

/// One skill that a person has approved, as it was then.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approval {
    /// What the user calls the server.
    pub label: String,
    /// What the server is: its address or its command line.
    pub server: String,
    /// The URI of the skill's `SKILL.md`.
    pub uri: String,
    /// The skill's name.
    pub name: String,
    /// The identity of all its files, as they are listed.
    pub digest: ContentId,
    /// How many files it had.
    pub files: usize,
    /// When it was approved, in seconds since 1970.
    pub when: u64,
    /// Whether the server has shown other content since. The approval then counts no longer, even if the server goes
    /// back to what was approved.
    #[serde(default)]
    pub changed: bool,
}

/// Why an approval cannot be given, taken back or looked at.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ApprovalError {
    /// The skill's files are made up as it goes: there is no content to approve.
    #[error("{0} cannot be approved: its server makes its files up as it goes")]
    Dynamic(String),
    /// No such server or skill.
    #[error("{0}")]
    Unknown(String),
    /// The file cannot be read or written.
    #[error(transparent)]
    Records(#[from] RecordsError),
}

/// What stands between an entry and its being loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    Approved,
    Never,
    Changed,
    Dynamic,
}

impl Standing {
    /// The reason in words.
    pub(crate) fn reason(self) -> &'static str {
        match self {
            Standing::Approved => "it is approved",
            Standing::Never => "nobody has approved it yet",
            Standing::Changed => "its content has changed since it was approved",
            Standing::Dynamic => "its server makes its files up as it goes, so that no approval can cover them",
        }
    }
}

/// The approvals of one user, in a file that several processes share.
#[derive(Debug)]
pub struct Approvals {
    kept: Records<Approval>,
    /// Approved for this process only.
    once: Mutex<HashSet<Once>>,
}

/// What is approved for this process only.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Once {
    label: String,
    server: String,
    uri: String,
    digest: ContentId,
}

impl Approval {
    fn is_of(&self, label: &str, server: &str, entry: &RemoteEntry) -> bool {
        self.uri == entry.uri && self.label == label && self.server == server
    }
}

impl Once {
    fn is_of(&self, label: &str, server: &str, entry: &RemoteEntry) -> bool {
        self.uri == entry.uri && self.label == label && self.server == server
    }
}

impl Approvals {
    /// The approvals in the file at `path`; without one, approvals last as long as this value.
    pub fn new(path: Option<PathBuf>) -> Approvals {
        Approvals { kept: Records::new("approvals", path), once: Mutex::default() }
    }

    /// What is wrong with the file, if something is. Nothing counts as approved then.
    pub fn trouble(&self) -> Option<String> {
        self.kept.trouble()
    }

    /// All approvals, those that count no longer among them, by server and skill.
    pub fn list(&self) -> Vec<Approval> {
        let mut list = self.kept.list();
        list.sort_by(|a, b| (&a.label, &a.uri).cmp(&(&b.label, &b.uri)));
        list
    }

    /// Approves exactly the content that the entry lists. `when` is in seconds since 1970.
    pub fn approve(&self, label: &str, server: &str, entry: &RemoteEntry, when: u64) -> Result<(), ApprovalError> {
        let Some(digest) = content_id(entry) else { return Err(ApprovalError::Dynamic(entry.uri.clone())) };
        let approval = Approval {
            label: label.to_owned(),
            server: server.to_owned(),
            uri: entry.uri.clone(),
            name: entry.name().to_owned(),
            digest,
            files: entry.files.as_ref().map_or(0, Vec::len),
            when,
            changed: false,
        };
        self.kept.change(|kept| {
            kept.retain(|known| !(known.label == label && known.uri == approval.uri));
            kept.push(approval);
        })?;
        Ok(())
    }

    /// Approves the content for as long as this value lives, without writing anything down.
    pub fn approve_once(&self, label: &str, server: &str, entry: &RemoteEntry) -> Result<(), ApprovalError> {
        let Some(digest) = content_id(entry) else { return Err(ApprovalError::Dynamic(entry.uri.clone())) };
        let (label, server) = (label.to_owned(), server.to_owned());
        self.once().insert(Once { label, server, uri: entry.uri.clone(), digest });
        Ok(())
    }

    /// Takes an approval back. Returns whether there was one.
    pub fn revoke(&self, label: &str, uri: &str) -> Result<bool, ApprovalError> {
        self.forget(|by, of| by == label && of == uri)
    }

    /// Takes back all approvals of one server's skills. Returns whether there were any.
    pub fn revoke_all(&self, label: &str) -> Result<bool, ApprovalError> {
        self.forget(|by, _| by == label)
    }

    /// Takes back what `is_meant`, by label and URI.
    fn forget(&self, is_meant: impl Fn(&str, &str) -> bool) -> Result<bool, ApprovalError> {
        let any_once = {
            let mut once = self.once();
            let before = once.len();
            once.retain(|once| !is_meant(&once.label, &once.uri));
            before != once.len()
        };
        // Without anything to take back, no file is made or locked.
        if !self.kept.look(|kept| kept.iter().any(|known| is_meant(&known.label, &known.uri))) {
            return Ok(any_once);
        }
        self.kept.change(|kept| kept.retain(|known| !is_meant(&known.label, &known.uri)))?;
        Ok(true)
    }

    /// How an entry stands.
    pub(crate) fn standing(&self, label: &str, server: &str, entry: &RemoteEntry) -> Standing {
        if entry.files.is_none() {
            return Standing::Dynamic;
        }
        let mut digests: Vec<(ContentId, bool)> = self.kept.look(|kept| {
            let known = kept.iter().filter(|known| known.is_of(label, server, entry));
            known.map(|known| (known.digest, known.changed)).collect()
        });
        let once = self.once();
        digests.extend(once.iter().filter(|once| once.is_of(label, server, entry)).map(|once| (once.digest, false)));
        // Most entries of most servers were never approved: for them, nothing is computed.
        if digests.is_empty() {
            return Standing::Never;
        }
        let digest = content_id(entry);
        let covers = |(approved, changed): &(ContentId, bool)| !changed && Some(*approved) == digest;
        if digests.iter().any(covers) { Standing::Approved } else { Standing::Changed }
    }

    /// A server shows these entries now. What was approved otherwise is approved no longer.
    pub(crate) fn observe(&self, label: &str, server: &str, entries: &[Arc<RemoteEntry>]) -> Result<(), ApprovalError> {
        let is_other = |uri: &str, digest: ContentId| {
            entries.iter().any(|entry| entry.uri == uri && content_id(entry) != Some(digest))
        };
        self.once().retain(|once| once.label != label || !is_other(&once.uri, once.digest));
        let concerns = |known: &&Approval| known.label == label && known.server == server && !known.changed;
        let ends = |kept: &[Approval]| kept.iter().filter(concerns).any(|known| is_other(&known.uri, known.digest));
        if !self.kept.look(ends) {
            return Ok(());
        }
        self.kept.change(|kept| {
            for known in kept.iter_mut().filter(|known| known.label == label && known.server == server) {
                known.changed |= is_other(&known.uri, known.digest);
            }
        })?;
        Ok(())
    }

    fn once(&self) -> MutexGuard<'_, HashSet<Once>> {
        // A set of which each change is one step.
        skillcue_base::lock(&self.once)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};
    use skillcue::remote::RemoteFile;

    use super::*;

    fn entry(name: &str, content: &str) -> RemoteEntry {
        let uri = format!("skill://{name}/SKILL.md");
        let digest = crate::digest(content.as_bytes());
        let front_matter = Map::from_iter([("name".to_owned(), json!(name))]);
        RemoteEntry { uri: uri.clone(), front_matter, files: Some(vec![RemoteFile { uri, digest, size: 1 }]) }
    }

    #[test]
    fn approvals_are_kept_and_taken_back() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("data/approvals.json");
        let approvals = Approvals::new(Some(path.clone()));
        let pdf = entry("pdf", "one");
        assert_eq!(approvals.standing("acme", "url", &pdf), Standing::Never);
        approvals.approve("acme", "url", &pdf, 7).unwrap();
        let other = Approvals::new(Some(path));
        assert_eq!(other.standing("acme", "url", &pdf), Standing::Approved);
        assert_eq!(other.standing("acme", "other url", &pdf), Standing::Never, "another server under that name");
        assert_eq!(other.standing("other", "url", &pdf), Standing::Never);
        assert_eq!(other.standing("acme", "url", &entry("pdf", "two")), Standing::Changed);
        assert_eq!((other.list()[0].when, other.list()[0].files), (7, 1));
        assert!(other.revoke("acme", &pdf.uri).unwrap());
        assert!(!other.revoke("acme", &pdf.uri).unwrap());
        assert_eq!(approvals.standing("acme", "url", &pdf), Standing::Never, "seen by the other, too");
        approvals.approve("acme", "url", &pdf, 7).unwrap();
        assert!(approvals.revoke_all("acme").unwrap());
    }

    #[test]
    fn a_change_ends_an_approval_for_good() {
        let approvals = Approvals::new(None);
        let (old, new) = (Arc::new(entry("pdf", "one")), Arc::new(entry("pdf", "two")));
        approvals.approve("acme", "url", &old, 0).unwrap();
        approvals.approve_once("acme", "url", &old).unwrap();
        approvals.observe("acme", "url", &[Arc::clone(&old)]).unwrap();
        assert_eq!(approvals.standing("acme", "url", &old), Standing::Approved);
        approvals.observe("acme", "url", &[new]).unwrap();
        assert_eq!(approvals.standing("acme", "url", &old), Standing::Changed, "going back does not help");
    }

    #[test]
    fn what_is_made_up_as_it_goes_cannot_be_approved() {
        let approvals = Approvals::new(None);
        let mut dynamic = entry("pdf", "one");
        dynamic.files = None;
        assert!(matches!(approvals.approve("a", "u", &dynamic, 0), Err(ApprovalError::Dynamic(_))));
        assert!(matches!(approvals.approve_once("a", "u", &dynamic), Err(ApprovalError::Dynamic(_))));
        assert_eq!(approvals.standing("a", "u", &dynamic), Standing::Dynamic);
    }

    #[test]
    fn a_broken_file_is_set_aside_and_a_newer_one_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("approvals.json");
        std::fs::write(&path, "{ not json").unwrap();
        let approvals = Approvals::new(Some(path.clone()));
        let pdf = entry("pdf", "one");
        assert_eq!(approvals.standing("a", "u", &pdf), Standing::Never);
        assert!(approvals.trouble().unwrap().contains("not readable"));
        approvals.approve("a", "u", &pdf, 0).unwrap();
        assert_eq!(approvals.trouble(), None);
        let aside = dir.path().join("approvals.json.broken-1");
        assert_eq!(std::fs::read_to_string(aside).unwrap(), "{ not json");
        assert_eq!(approvals.standing("a", "u", &pdf), Standing::Approved);

        let newer = r#"{"version":2,"grants":[]}"#;
        std::fs::write(&path, newer).unwrap();
        assert_eq!(approvals.standing("a", "u", &pdf), Standing::Never);
        assert!(approvals.trouble().unwrap().contains("newer"));
        assert!(approvals.approve("a", "u", &pdf, 0).is_err());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), newer);
    }

    #[test]
    fn many_at_once_lose_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("approvals.json");
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let path = path.clone();
                scope.spawn(move || {
                    // Each with its own handle, as separate processes have.
                    let approvals = Approvals::new(Some(path));
                    for n in 0..5 {
                        approvals.approve("a", "u", &entry(&format!("s{thread}-{n}"), "x"), 0).unwrap();
                    }
                });
            }
        });
        assert_eq!(Approvals::new(Some(path)).list().len(), 40);
    }
}
