//! The program `git`: started so that it never prompts, and ended when its caller stops waiting.

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

use super::super::context::{FetchContext, carry};
use super::super::error::{Exceeded, FetchError};
use crate::{FetchEvent, GitProgram};

/// How long one wait for output lasts.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// How often the growing repository is measured.
const MEASURE_INTERVAL: Duration = Duration::from_millis(200);
/// How many bytes of git's stderr are kept: its end, where the reason is.
const MAX_STDERR: usize = 1 << 13;

/// Settings of every call. A person's own configuration is read, for proxies, credentials and `insteadOf`; this
/// overrules everything in it that would run hooks, prompt, or change files.
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
/// The only `GIT_` variables that are passed on: the others lead to other repositories, or add output.
const PASSED: [&str; 6] = ["GIT_CONFIG", "GIT_SSH", "GIT_SSL", "GIT_HTTP", "GIT_PROXY", "GIT_EXEC_PATH"];
const QUIET_SSH: &str = "ssh -oBatchMode=yes";

/// Starts git for one fetch.
pub(super) struct GitCaller<'a> {
    git: &'a GitProgram,
    repository: PathBuf,
    context: &'a FetchContext<'a>,
    /// Whether a person has said how to call ssh.
    has_ssh_command: bool,
}

impl<'a> GitCaller<'a> {
    pub(super) fn new(
        git: &'a GitProgram,
        repository: PathBuf,
        context: &'a FetchContext<'a>,
    ) -> Result<GitCaller<'a>, FetchError> {
        let given = git.env.iter().any(|(name, _)| name == "GIT_SSH_COMMAND" || name == "GIT_SSH");
        let mut caller = GitCaller { git, repository, context, has_ssh_command: given };
        if !given {
            let mut command = [0];
            let running = caller.start(&["config", "--get", "core.sshCommand"])?.read(&mut command);
            caller.has_ssh_command = running.map_err(|error| context.unreadable(error))? > 0;
        }
        Ok(caller)
    }

    /// Checks that the bytes fetched so far are within the limit.
    pub(super) fn measure(&self) -> Result<(), FetchError> {
        let limit = self.context.limits.bytes;
        let bytes = size_below(&self.repository, limit);
        if bytes > limit {
            return Err(self.context.exceeded(Exceeded::Bytes(limit)));
        }
        self.context.report(FetchEvent::Receiving { bytes });
        Ok(())
    }

    /// Starts `git` with these arguments.
    pub(super) fn start(&self, args: &[&str]) -> Result<GitProcess<'_>, FetchError> {
        self.context.check()?;
        let mut command = Command::new(&self.git.program);
        command.env_clear();
        command.envs(self.git.env.iter().filter(|(name, _)| is_passed(name)).map(|(name, value)| (name, value)));
        command.env("GIT_TERMINAL_PROMPT", "0").env("GIT_ASKPASS", "").env("SSH_ASKPASS_REQUIRE", "never");
        command.env("GCM_INTERACTIVE", "never").env("GIT_LFS_SKIP_SMUDGE", "1").env("GIT_NO_REPLACE_OBJECTS", "1");
        command.env("LC_ALL", "C");
        if !self.has_ssh_command {
            command.env("GIT_SSH_COMMAND", QUIET_SSH);
        }
        // Always set, so that git never looks for a repository around it.
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
        Ok(GitProcess {
            child,
            stdout,
            stderr,
            stderr_tail: Vec::new(),
            caller: self,
            measured: Instant::now(),
            gone: false,
        })
    }
}

fn is_passed(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else { return true };
    !name.starts_with("GIT_") || PASSED.iter().any(|passed| name.starts_with(passed))
}

/// A running git. Reading it reads git's stdout; dropping it ends git and every process that it has started.
pub(super) struct GitProcess<'a> {
    child: Child,
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
    /// The end of its stderr.
    stderr_tail: Vec<u8>,
    caller: &'a GitCaller<'a>,
    measured: Instant,
    gone: bool,
}

impl GitProcess<'_> {
    /// Waits until it ends; a failure is an error.
    pub(super) fn finish(mut self) -> Result<(), FetchError> {
        self.stdout = None;
        let pid = Pid::from_child(&self.child);
        let caller = self.caller;
        let failed = |error: io::Error| failed(caller, &os_message(&error));
        loop {
            self.check()?;
            // Left unreaped, its id is not reused: processes that it leaves in its group can still be signalled.
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
            let ended = waitid(WaitId::Pid(pid), options).map_err(|error| failed(error.into()))?.is_some();
            let time = if ended { Duration::ZERO } else { Duration::from_millis(2) };
            self.wait_for_output(time).map_err(failed)?;
            if ended {
                break;
            }
        }
        while self.stderr.is_some() && self.wait_for_output(Duration::ZERO).unwrap_or(false) {}
        let status = self.end();
        match status {
            Ok(status) if status.success() => Ok(()),
            _ => Err(self::failed(caller, &stderr_reason(&self.stderr_tail))),
        }
    }

    /// Kills its process group and reaps it.
    fn end(&mut self) -> io::Result<std::process::ExitStatus> {
        if !self.gone {
            self.gone = true;
            // An error means that no process is left.
            let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
        }
        self.child.wait()
    }

    /// Fails if the fetch was cancelled, or is over its limits.
    fn check(&mut self) -> Result<(), FetchError> {
        self.caller.context.check()?;
        if self.measured.elapsed() < MEASURE_INTERVAL {
            return Ok(());
        }
        self.measured = Instant::now();
        self.caller.measure()
    }

    /// Waits until there is output or the time is over, and returns whether there is some on stdout. (On stderr, once
    /// stdout is closed.)
    fn wait_for_output(&mut self, time: Duration) -> io::Result<bool> {
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
            self.read_stderr()?;
        }
        Ok(ready.first() == Some(&true))
    }

    /// Reads stderr and keeps its end.
    fn read_stderr(&mut self) -> io::Result<()> {
        let Some(pipe) = &mut self.stderr else { return Ok(()) };
        let mut buffer = [0; 4096];
        match pipe.read(&mut buffer) {
            Ok(0) => self.stderr = None,
            Ok(count) => {
                self.stderr_tail.extend_from_slice(&buffer[..count]);
                let surplus = self.stderr_tail.len().saturating_sub(MAX_STDERR);
                self.stderr_tail.drain(..surplus);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

impl Read for GitProcess<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            self.check().map_err(carry)?;
            let ready = self.wait_for_output(POLL_INTERVAL)?;
            match &mut self.stdout {
                None => return Ok(0),
                Some(pipe) if ready => return pipe.read(buffer),
                Some(_) => {}
            }
        }
    }
}

impl Drop for GitProcess<'_> {
    fn drop(&mut self) {
        if !self.gone {
            // Killed, it ends at once.
            let _ = self.end();
        }
    }
}

fn failed(caller: &GitCaller<'_>, reason: &str) -> FetchError {
    FetchError::Git { from: caller.context.from.clone(), reason: reason.to_owned() }
}

/// Returns the bytes of all files below a directory; it stops counting above the limit.
fn size_below(dir: &Path, limit: u64) -> u64 {
    let mut size = 0;
    let mut next = vec![dir.to_path_buf()];
    while let Some(dir) = next.pop() {
        // Files that vanish meanwhile are not counted.
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

/// Returns git's stderr on one line: its reason first, and no passwords.
fn stderr_reason(stderr: &[u8]) -> String {
    let stderr = String::from_utf8_lossy(stderr);
    let mut lines: Vec<&str> = stderr.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines.sort_by_key(|line| !line.starts_with("fatal:"));
    let line = lines.iter().map(|line| line.strip_prefix("fatal: ").unwrap_or(line)).collect::<Vec<_>>().join("; ");
    if line.is_empty() {
        return "git failed and did not say why".to_owned();
    }
    Shown(&without_users(&line)).to_string()
}

/// Removes users and tokens from addresses: people hide tokens in `insteadOf`, as `https://TOKEN@host/`.
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
    fn errors_of_git_are_one_line_without_secrets() {
        let said = b"warning: slow\nfatal: unable to access 'https://me:ghp_x@host/o/r.git/': no\x1b[31m\n\n";
        assert_eq!(stderr_reason(said), "unable to access 'https://…@host/o/r.git/': no\\u{1b}[31m; warning: slow");
        assert_eq!(stderr_reason(b""), "git failed and did not say why");
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
