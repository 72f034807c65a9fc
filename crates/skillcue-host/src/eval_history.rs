//! The evaluations that a project keeps, in `.skillcue/evals`: one file a run, written as a whole, the oldest removed.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use skillcue::eval::EvalRun;
use skillcue_base::{Digest, os_message, replace_file, rfc3339};

use crate::{Environment, HostError};

/// Most runs that a project keeps.
const MAX_RUNS: usize = 100;

/// Largest sum of the files of all runs, in bytes.
const MAX_BYTES: u64 = 16 << 20;

/// Largest file of one run, in bytes.
const MAX_RUN: u64 = 4 << 20;

/// The evaluations that a project keeps.
///
/// ```
/// use skillcue_host::{Environment, EvalHistory};
///
/// # let dir = tempfile::tempdir()?;
/// let environment = Environment::new(Some(dir.path().to_path_buf()), Vec::new())?;
/// let history = EvalHistory::of(&environment).unwrap();
/// assert!(!history.is_wanted(), "there is no `.skillcue` yet");
/// assert!(history.read()?.runs.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct EvalHistory {
    project: PathBuf,
}

/// The runs that were read, and the files that could not be.
#[derive(Debug, Default)]
pub struct EvalRuns {
    /// The runs, the latest last.
    pub runs: Vec<EvalRun>,
    /// Files that are no runs that this version reads, with the reason.
    pub unreadable: Vec<(PathBuf, String)>,
}

impl EvalHistory {
    /// Returns the history of the environment's project, if it is in one.
    pub fn of(environment: &Environment) -> Option<EvalHistory> {
        environment.project().map(EvalHistory::at)
    }

    /// Returns the history of the project in a directory.
    pub fn at(project: &Path) -> EvalHistory {
        EvalHistory { project: project.to_path_buf() }
    }

    /// Returns the directory of the runs, whether it is there or not.
    pub fn dir(&self) -> PathBuf {
        self.project.join(".skillcue/evals")
    }

    /// Returns whether runs are kept without being asked to: the project has a directory for what Skillcue keeps.
    pub fn is_wanted(&self) -> bool {
        self.project.join(".skillcue").symlink_metadata().is_ok_and(|found| found.is_dir())
    }

    /// Returns the name of a file as runs have it: from the project's directory on.
    pub fn set_name(&self, file: &Path) -> String {
        let file = file.canonicalize().unwrap_or_else(|_| file.to_path_buf());
        let project = self.project.canonicalize().unwrap_or_else(|_| self.project.clone());
        let below = file.strip_prefix(&project).ok().map(Path::to_path_buf);
        below.unwrap_or(file).to_string_lossy().into_owned()
    }

    /// Returns the commit that is checked out in the project, if git's files say so. No program is run.
    pub fn commit(&self) -> Option<String> {
        let git = self.project.join(".git");
        let git = match small_text(&git.join("HEAD")) {
            Ok(_) => git,
            // A worktree or a submodule: a file names the directory.
            Err(_) => self.project.join(small_text(&git).ok()?.trim().strip_prefix("gitdir:")?.trim()),
        };
        let head = small_text(&git.join("HEAD")).ok()?;
        let Some(name) = head.trim().strip_prefix("ref:").map(str::trim) else { return hash(head.trim()) };
        if name.split('/').any(|part| part.is_empty() || part == "..") {
            return None;
        }
        let common = small_text(&git.join("commondir")).map_or_else(|_| git.clone(), |dir| git.join(dir.trim()));
        let loose = [&git, &common].into_iter().find_map(|dir| hash(small_text(&dir.join(name)).ok()?.trim()));
        loose.or_else(|| {
            let packed = small_text(&common.join("packed-refs")).ok()?;
            packed.lines().find_map(|line| hash(line.strip_suffix(name)?.strip_suffix(' ')?))
        })
    }

    /// Reads all runs. A file that is no run is told, and does not cost the rest.
    pub fn read(&self) -> Result<EvalRuns, HostError> {
        let mut read = EvalRuns::default();
        for (path, _) in self.files()? {
            let text = text_of(&path, MAX_RUN).map_err(|error| os_message(&error));
            match text.and_then(|text| EvalRun::from_json(&text).map_err(|error| error.message)) {
                Ok(run) => read.runs.push(run),
                Err(why) => read.unreadable.push((path, why)),
            }
        }
        read.runs.sort_by_key(|run| run.time);
        Ok(read)
    }

    /// Keeps a run, and removes the oldest of too many. Returns its file.
    pub fn keep(&self, run: &EvalRun) -> Result<PathBuf, HostError> {
        let json = run.to_json();
        let dir = self.dir();
        let failed = |error: &io::Error| {
            HostError::failure(
                "eval_history",
                format!("cannot keep the run in {}: {}", dir.display(), os_message(error)),
            )
            .help("make the directory writable, or keep none")
        };
        if json.len() as u64 > MAX_RUN {
            return Err(failed(&io::Error::new(io::ErrorKind::FileTooLarge, "it has too many or too long messages")));
        }
        self.check()?;
        let time: String = rfc3339(run.time).chars().filter(|c| !matches!(c, '-' | ':')).collect();
        let digest = Digest::of(&json).to_string();
        let path = dir.join(format!("{time}-{}.json", &digest[..8]));
        replace_file(&path, [json.as_bytes()]).map_err(|error| failed(&error))?;
        self.remove_oldest(run, &path)?;
        Ok(path)
    }

    /// Removes the oldest runs beyond the limits, never the one that was just kept, nor the one that the next run of its kind
    /// is compared with: enough runs that fail a limit would else leave nothing to fail it by.
    fn remove_oldest(&self, run: &EvalRun, kept: &Path) -> Result<(), HostError> {
        let files = self.files()?;
        let (mut runs, mut bytes) = (files.len(), files.iter().map(|(_, size)| size).sum::<u64>());
        let is_over = |runs: usize, bytes: u64| runs > MAX_RUNS || bytes > MAX_BYTES;
        if !is_over(runs, bytes) {
            return Ok(());
        }
        let is_baseline = |path: &&PathBuf| {
            let text = text_of(path, MAX_RUN).ok();
            text.and_then(|text| EvalRun::from_json(&text).ok()).is_some_and(|earlier| earlier.is_baseline_of(run))
        };
        let baseline = files.iter().rev().map(|(path, _)| path).find(is_baseline).cloned();
        for (path, size) in files {
            if !is_over(runs, bytes) {
                break;
            }
            // Another process may have removed it.
            if path != kept && Some(&path) != baseline.as_ref() && fs::remove_file(&path).is_ok() {
                (runs, bytes) = (runs - 1, bytes - size);
            }
        }
        Ok(())
    }

    /// Returns the files that have the name of a run, with their sizes, the oldest first.
    fn files(&self) -> Result<Vec<(PathBuf, u64)>, HostError> {
        self.check()?;
        let entries = match fs::read_dir(self.dir()) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => {
                let message = format!("cannot read {}: {}", self.dir().display(), os_message(&error));
                return Err(HostError::failure("eval_history", message).help("make the directory readable"));
            }
        };
        let mut files: Vec<(PathBuf, u64)> = entries
            .filter_map(Result::ok)
            .filter(|entry| entry.file_name().to_str().is_some_and(is_run))
            .filter_map(|entry| Some((entry.path(), entry.metadata().ok().filter(fs::Metadata::is_file)?.len())))
            .collect();
        files.sort();
        Ok(files)
    }

    /// Refuses a project in which one of the directories is a link: in a checkout, it would let us write and remove
    /// elsewhere.
    fn check(&self) -> Result<(), HostError> {
        for dir in [self.project.join(".skillcue"), self.dir()] {
            if dir.symlink_metadata().is_ok_and(|found| !found.is_dir()) {
                let message = format!("{} is not a directory", dir.display());
                return Err(HostError::failure("eval_history", message).help("remove it, or keep no runs"));
            }
        }
        Ok(())
    }
}

/// Returns whether a file's name is that of a run: `20261118T042000.123Z-0a1b2c3d.json`.
fn is_run(name: &str) -> bool {
    let Some((time, digest)) = name.strip_suffix(".json").and_then(|name| name.split_once('-')) else { return false };
    let is_time = time.len() == "20261118T042000.123Z".len()
        && time.bytes().all(|byte| byte.is_ascii_digit() || b"T.Z".contains(&byte));
    is_time && digest.len() == 8 && digest.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn hash(text: &str) -> Option<String> {
    let is_hash = matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hash.then(|| text.to_owned())
}

fn small_text(path: &Path) -> io::Result<String> {
    text_of(path, 1 << 20)
}

/// Reads a regular file as text, without following a link at its end and without waiting for a pipe.
fn text_of(path: &Path, max: u64) -> io::Result<String> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::NOFOLLOW;
    let file = File::options().read(true).custom_flags(flags.bits().cast_signed()).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "it is not a regular file"));
    }
    let mut text = String::new();
    file.take(max + 1).read_to_string(&mut text)?;
    if text.len() as u64 > max {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is too large"));
    }
    Ok(text)
}
