//! Connecting and disconnecting clients: their files, byte for byte.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod as_people_have_them;
mod life;
mod random;

use std::fs;
use std::path::{Path, PathBuf};

use skillcue_clients::Client;
use skillcue_clients::settings::{
    ClientFolders, ConnectionPart, ConnectionStore, Connector, Launch, SettingsChange, SettingsError,
};
use tempfile::TempDir;

/// A home directory of its own.
pub(crate) struct Home {
    root: TempDir,
}

impl Home {
    pub(crate) fn new() -> Home {
        Home { root: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.root.path().join("home").join(below)
    }

    pub(crate) fn write(&self, below: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path(below);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    pub(crate) fn read(&self, below: &str) -> String {
        fs::read_to_string(self.path(below)).unwrap()
    }

    pub(crate) fn store(&self) -> ConnectionStore {
        ConnectionStore::new(self.root.path().join("data/skillcue/connections"))
    }

    pub(crate) fn connector(&self, program: &str, is_served: bool) -> Connector {
        let folders = ClientFolders::new(&self.path(""), &|_| None);
        Connector::new(folders, Launch::new(program).served(is_served))
    }

    pub(crate) fn connect(&self, client: Client) -> Result<Vec<SettingsChange>, SettingsError> {
        self.connect_with("/opt/skillcue", client, &ConnectionPart::ALL)
    }

    pub(crate) fn connect_with(
        &self,
        program: &str,
        client: Client,
        parts: &[ConnectionPart],
    ) -> Result<Vec<SettingsChange>, SettingsError> {
        let (store, connector) = (self.store(), self.connector(program, parts.contains(&ConnectionPart::Mcp)));
        let changes: Vec<SettingsChange> =
            connector.files(client)?.iter().map(|file| file.connect(parts, &store)).collect::<Result<_, _>>()?;
        changes.iter().try_for_each(|change| change.apply(&store))?;
        Ok(changes)
    }

    pub(crate) fn disconnect(&self, client: Client) -> Vec<SettingsChange> {
        self.disconnect_parts(client, &ConnectionPart::ALL)
    }

    pub(crate) fn disconnect_parts(&self, client: Client, parts: &[ConnectionPart]) -> Vec<SettingsChange> {
        let (store, connector) = (self.store(), self.connector("/opt/skillcue", false));
        let files = connector.files(client).unwrap();
        let changes: Vec<SettingsChange> = files.iter().map(|file| file.disconnect(parts, &store).unwrap()).collect();
        for change in &changes {
            change.apply(&store).unwrap();
        }
        for change in &changes {
            change.clear_dirs();
        }
        changes
    }

    /// Returns every file and directory below the home and the data directory, with its content.
    pub(crate) fn everything(&self) -> Vec<(PathBuf, Option<Vec<u8>>)> {
        fn collect(dir: &Path, out: &mut Vec<(PathBuf, Option<Vec<u8>>)>) {
            for entry in fs::read_dir(dir).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() && !path.is_symlink() {
                    out.push((path.clone(), None));
                    collect(&path, out);
                } else {
                    out.push((path.clone(), fs::read(&path).ok()));
                }
            }
        }
        let mut out = Vec::new();
        collect(self.root.path(), &mut out);
        out.sort();
        out
    }
}

/// Returns whether a text is another one with something put in, and nothing else changed.
pub(crate) fn is_only_added_to(before: &str, after: &str) -> bool {
    let mut rest = after.chars();
    before.chars().all(|wanted| rest.any(|c| c == wanted))
}
