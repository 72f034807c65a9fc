//! The program `git`: started so that it asks nobody, and gone when nobody waits for it.

use std::ffi::OsStr;
use std::io::{self, Read};
use std::os::fd::AsFd as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use skillcue_base::{Shown, os_message};

use super::super::error::{Exceeded, FetchError};
use super::super::watch::{Watch, carry};
use crate::{Git, News};

/// How long nothing is looked at, at most.
const TICK: Duration = Duration::from_millis(50);
/// How often the growing repository is measured.
const MEASURE: Duration = Duration::from_millis(200);
/// How much of what git says is kept: its end, where the reason stands.
const MAX_SAID: usize = 1 << 13;

/// What every call is told. A person's own configuration is read, for proxies, credentials and `insteadOf`; this overrules
/// whatever in it would run hooks, ask, or change files.
const SETTINGS: [&str; 19] = [
    "protocol.ext.allow=never",
    "protocol.fd.allow=never",
    "core.hooksPath=/dev/null",
    "core.attributesFile=/dev/null",
    "core.fsmonitor=false",
    "core.autocrlf=false",
    "core.askPass=",
    "credential.interactive=false",
    "fetch.recurseSubmodules=false",
    "submodule.recurse=false",
    "fetch.prune=false",
    "fetch.pruneTags=false",
    "fetch.writeCommitGraph=false",
    "gc.auto=0",
    "maintenance.auto=false",
    // A pack stays a pack: few files, easily measured.
    "transfer.unpackLimit=1",
    "http.lowSpeedLimit=1",
    "http.lowSpeedTime=60",
    // Executable files stay so.
    "tar.umask=0002",
];
/// Of git's own variables only these are passed on: the others lead to other repositories, or make it talk.
const PASSED: [&str; 6] = ["GIT_CONFIG", "GIT_SSH", "GIT_SSL", "GIT_HTTP", "GIT_PROXY", "GIT_EXEC_PATH"];
const QUIET_SSH: &str = "ssh -oBatchMode=yes";

/// How git is called for one fetch.
pub(super) struct Caller<'a> {
    git: &'a Git,
    repository: PathBuf,
    watch: &'a Watch<'a>,
    /// Whether a person has said how to call ssh.
    own_ssh: bool,
}

impl<'a> Caller<'a> {
    pub(super) fn new(git: &'a Git, repository: PathBuf, watch: &'a Watch<'a>) -> Result<Caller<'a>, FetchError> {
        let given = git.env.iter().any(|(name, _)| name == "GIT_SSH_COMMAND" || name == "GIT_SSH");
        let mut caller = Caller { git, repository, watch, own_ssh: given };
        if !given {
            let mut command = [0];
            let running = caller.start(&["config", "--get", "core.sshCommand"])?.read(&mut command);
            caller.own_ssh = running.map_err(|error| watch.unreadable(error))? > 0;
        }
        Ok(caller)
    }

    /// Whether what was fetched so far is within its limit.
    pub(super) fn measure(&self) -> Result<(), FetchError> {
        let limit = self.watch.limits.bytes;
        let bytes = size_below(&self.repository, limit);
        if bytes > limit {
            return Err(self.watch.exceeded(Exceeded::Bytes(limit)));
        }
        self.watch.say(News::Receiving { bytes });
        Ok(())
    }

    /// Starts `git` with these arguments.
    pub(super) fn start(&self, args: &[&str]) -> Result<Running<'_>, FetchError> {
        self.watch.check()?;
        let mut command = Command::new(&self.git.program);
        command.env_clear();
        command.envs(self.git.env.iter().filter(|(name, _)| is_passed(name)).map(|(name, value)| (name, value)));
        command.env("GIT_TERMINAL_PROMPT", "0").env("GIT_ASKPASS", "").env("SSH_ASKPASS_REQUIRE", "never");
        command.env("GCM_INTERACTIVE", "never").env("GIT_LFS_SKIP_SMUDGE", "1").env("GIT_NO_REPLACE_OBJECTS", "1");
        command.env("LC_ALL", "C");
        if !self.own_ssh {
            command.env("GIT_SSH_COMMAND", QUIET_SSH);
        }
        // Always said, so that it never looks for a repository around it.
        let mut dir = std::ffi::OsString::from("--git-dir=");
        dir.push(&self.repository);
        command.arg(dir);
        for setting in SETTINGS {
            command.args(["-c", setting]);
        }
        command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let start = |source| FetchError::NoGit { program: self.git.program.clone(), source };
        let mut child = command.spawn().map_err(start)?;
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        Ok(Running { child, stdout, stderr, said: Vec::new(), caller: self, measured: Instant::now(), gone: false })
    }
}

fn is_passed(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else { return true };
    !name.starts_with("GIT_") || PASSED.iter().any(|passed| name.starts_with(passed))
}

/// A call under way. Reading it reads what git writes; dropping it ends it and all that it has started.
pub(super) struct Running<'a> {
    child: Child,
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
    /// The end of what it said on stderr.
    said: Vec<u8>,
    caller: &'a Caller<'a>,
    measured: Instant,
    gone: bool,
}

impl Running<'_> {
    /// Waits for its end, which must be a good one.
    pub(super) fn finish(mut self) -> Result<(), FetchError> {
        self.stdout = None;
        let pid = Pid::from_child(&self.child);
        let caller = self.caller;
        let failed = |error: io::Error| failed(caller, &os_message(&error));
        loop {
            self.tick()?;
            // Left unreaped, its number is its own: what it leaves behind in its group can still be named.
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
            let ended = waitid(WaitId::Pid(pid), options).map_err(|error| failed(error.into()))?.is_some();
            let time = if ended { Duration::ZERO } else { Duration::from_millis(2) };
            self.wait_for_news(time).map_err(failed)?;
            if ended {
                break;
            }
        }
        while self.stderr.is_some() && self.wait_for_news(Duration::ZERO).unwrap_or(false) {}
        let status = self.end();
        match status {
            Ok(status) if status.success() => Ok(()),
            _ => Err(self::failed(caller, &told(&self.said))),
        }
    }

    /// Ends what is left of it.
    fn end(&mut self) -> io::Result<std::process::ExitStatus> {
        if !self.gone {
            self.gone = true;
            // An error means that nobody is left.
            let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
        }
        self.child.wait()
    }

    /// Whether to go on.
    fn tick(&mut self) -> Result<(), FetchError> {
        self.caller.watch.check()?;
        if self.measured.elapsed() < MEASURE {
            return Ok(());
        }
        self.measured = Instant::now();
        self.caller.measure()
    }

    /// Waits until there is something to read or the time is over; whether there is something on stdout. (On stderr, once
    /// stdout is closed.)
    fn wait_for_news(&mut self, time: Duration) -> io::Result<bool> {
        let flags = PollFlags::IN | PollFlags::HUP;
        let mut fds = Vec::with_capacity(2);
        fds.extend(self.stdout.as_ref().map(|pipe| PollFd::from_borrowed_fd(pipe.as_fd(), flags)));
        fds.extend(self.stderr.as_ref().map(|pipe| PollFd::from_borrowed_fd(pipe.as_fd(), flags)));
        let time = Timespec { tv_sec: 0, tv_nsec: i64::from(time.subsec_nanos()) };
        match poll(&mut fds, Some(&time)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let ready: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
        drop(fds);
        if self.stderr.is_some() && ready.last() == Some(&true) {
            self.hear()?;
        }
        Ok(ready.first() == Some(&true))
    }

    /// Keeps the end of what it says.
    fn hear(&mut self) -> io::Result<()> {
        let Some(pipe) = &mut self.stderr else { return Ok(()) };
        let mut buffer = [0; 4096];
        match pipe.read(&mut buffer) {
            Ok(0) => self.stderr = None,
            Ok(count) => {
                self.said.extend_from_slice(&buffer[..count]);
                let surplus = self.said.len().saturating_sub(MAX_SAID);
                self.said.drain(..surplus);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

impl Read for Running<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            self.tick().map_err(carry)?;
            let ready = self.wait_for_news(TICK)?;
            match &mut self.stdout {
                None => return Ok(0),
                Some(pipe) if ready => return pipe.read(buffer),
                Some(_) => {}
            }
        }
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if !self.gone {
            // Killed, it ends at once.
            let _ = self.end();
        }
    }
}

fn failed(caller: &Caller<'_>, reason: &str) -> FetchError {
    FetchError::Git { from: caller.watch.from.clone(), reason: reason.to_owned() }
}

/// The bytes of all files below a directory; no need to know more exactly once there are too many.
fn size_below(dir: &Path, limit: u64) -> u64 {
    let mut size = 0;
    let mut next = vec![dir.to_path_buf()];
    while let Some(dir) = next.pop() {
        // What vanishes meanwhile is no longer there to be measured.
        for entry in dir.read_dir().into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(metadata) if metadata.is_dir() => next.push(entry.path()),
                Ok(metadata) => size += metadata.len(),
                Err(_) => {}
            }
        }
        if size > limit {
            break;
        }
    }
    size
}

/// What git said, on one line: its reason first, and no passwords.
fn told(said: &[u8]) -> String {
    let said = String::from_utf8_lossy(said);
    let mut lines: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines.sort_by_key(|line| !line.starts_with("fatal:"));
    let told = lines.iter().map(|line| line.strip_prefix("fatal: ").unwrap_or(line)).collect::<Vec<_>>().join("; ");
    if told.is_empty() {
        return "git failed and did not say why".to_owned();
    }
    Shown(&without_users(&told)).to_string()
}

/// `insteadOf` is where people hide tokens: `https://TOKEN@host/`.
fn without_users(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (front, behind) = rest.split_at(at + 3);
        out.push_str(front);
        let end = behind.find(|c: char| c == '/' || c == '\'' || c.is_whitespace()).unwrap_or(behind.len());
        match behind[..end].rfind('@') {
            Some(user) => {
                out.push('…');
                rest = &behind[user..];
            }
            None => rest = behind,
        }
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_said_is_one_line_without_secrets() {
        let said = b"warning: slow\nfatal: unable to access 'https://me:ghp_x@host/o/r.git/': no\x1b[31m\n\n";
        assert_eq!(told(said), "unable to access 'https://…@host/o/r.git/': no\\u{1b}[31m; warning: slow");
        assert_eq!(told(b""), "git failed and did not say why");
    }

    #[test]
    fn variables_that_lead_elsewhere_are_not_passed_on() {
        for name in ["GIT_DIR", "GIT_TRACE", "GIT_ALLOW_PROTOCOL", "GIT_ASKPASS", "GIT_TEMPLATE_DIR"] {
            assert!(!is_passed(OsStr::new(name)), "{name}");
        }
        for name in ["HOME", "GIT_CONFIG_COUNT", "GIT_CONFIG_KEY_0", "GIT_SSH_COMMAND", "GIT_SSL_CAINFO"] {
            assert!(is_passed(OsStr::new(name)), "{name}");
        }
    }
}
