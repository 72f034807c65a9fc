//! The host's side: starting a job, and holding on to it.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};
use rustix::net::Shutdown;

use crate::error::ExecError;
use crate::helper;
use crate::job::{Bounds, Job, Policy, Program};
use crate::layer::{Layer, SandboxReport, Support};
use crate::wire::{Ended, Order, Said, Start, hand_over, receive, send};

/// How sandboxed processes are started. Cheap to clone.
///
/// ```no_run
/// use skillfold_exec::{Job, Launcher, Policy, Program};
/// use std::io::Read;
///
/// let launcher = Launcher::new("/usr/bin/skillfold");
/// let mut job = Job::new(Program::File("/bin/sh".into()), Policy::program("/bin/sh".as_ref()));
/// job.args = vec!["-c".into(), "cat /etc/shadow || echo contained".into()];
/// let mut child = launcher.spawn(&job)?;
/// let mut output = String::new();
/// child.take_stdout().unwrap().read_to_string(&mut output)?;
/// assert_eq!(output, "contained\n");
/// assert_eq!(child.wait()?.code, Some(0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Launcher {
    helper: PathBuf,
    tmp: PathBuf,
    allow_unsandboxed: bool,
    without: Vec<Layer>,
    helper_env: Vec<(OsString, OsString)>,
    support: Arc<OnceLock<Support>>,
}

impl Launcher {
    /// `helper`: an executable whose `main` first calls [`run_if_asked`](crate::helper::run_if_asked): the program
    /// `skillfold`, or `skillfold-sandbox`.
    pub fn new(helper: impl Into<PathBuf>) -> Launcher {
        Launcher {
            helper: helper.into(),
            tmp: PathBuf::from("/tmp"),
            allow_unsandboxed: false,
            without: Vec::new(),
            helper_env: Vec::new(),
            support: Arc::default(),
        }
    }

    /// Allows running where the platform offers no sandbox. Never silently: the report says so.
    #[must_use]
    pub fn allow_unsandboxed(mut self, yes: bool) -> Launcher {
        self.allow_unsandboxed = yes;
        self
    }

    /// Where private temporary directories are made; `/tmp` unless said otherwise.
    #[must_use]
    pub fn temp_dir(mut self, dir: impl Into<PathBuf>) -> Launcher {
        self.tmp = dir.into();
        self
    }

    /// Leaves out layers. For tests, and to find out which layer a program does not get along with. Without
    /// [`Layer::Supervisor`] none is left but limits: jobs then start as they do on a system that has no sandbox.
    #[must_use]
    pub fn without(mut self, layers: &[Layer]) -> Launcher {
        self.without = layers.to_vec();
        self.support = Arc::default();
        self
    }

    /// Sets a variable for the helper itself, and for the engine that runs in it; programs do not see it. For helpers
    /// whose allocator reserves more than a job may have, unless it is told not to.
    #[must_use]
    pub fn helper_env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Launcher {
        self.helper_env.push((name.into(), value.into()));
        self
    }

    /// The helper's path.
    pub fn helper(&self) -> &Path {
        &self.helper
    }

    /// What this machine offers: found out once, by starting a process that does nothing, and kept.
    pub fn support(&self) -> Result<Support, ExecError> {
        if let Some(known) = self.support.get() {
            return Ok(known.clone());
        }
        let job = Job { bounds: Bounds::default(), ..Job::new(Program::Engine, Policy::nothing()) };
        let mut order = Order::of(&job, &self.tmp, &self.without, true);
        order.start = Start::Probe;
        let mut child = self.start(&order)?;
        let _ = child.wait();
        Ok(self.support.get_or_init(|| child.report().clone()).clone())
    }

    /// Starts a job. Comes back once it runs.
    pub fn spawn(&self, job: &Job) -> Result<Child, ExecError> {
        self.start(&Order::of(job, &self.tmp, &self.without, self.allow_unsandboxed))
    }

    fn start(&self, order: &Order) -> Result<Child, ExecError> {
        let broken = |error: io::Error| ExecError::Broken(error.to_string());
        let (ours, theirs) = UnixStream::pair().map_err(broken)?;
        let (stdin, stdin_ours) = io::pipe().map_err(broken)?;
        let (stdout_ours, stdout) = io::pipe().map_err(broken)?;
        let (stderr_ours, stderr) = io::pipe().map_err(broken)?;
        // The socket goes as standard input, and the job's pipes go over the socket: so no descriptor is ever open for
        // inheritance, whatever other threads start meanwhile (but for the moment in which systems without `pipe2` make
        // one). The group keeps a terminal's signals away.
        let process = Command::new(&self.helper)
            .arg(if order.without.contains(&Layer::Supervisor) { helper::PLAIN } else { helper::WORD })
            .env_clear()
            .envs(self.helper_env.iter().map(|(name, value)| (name, value)))
            .current_dir("/")
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .map_err(|source| ExecError::Helper { helper: self.helper.clone(), source })?;
        let mut child = Child {
            control: OwnedFd::from(ours).into(),
            process,
            report: SandboxReport::default(),
            tmp: None,
            stdin: Some(OwnedFd::from(stdin_ours).into()),
            stdout: Some(OwnedFd::from(stdout_ours).into()),
            stderr: Some(OwnedFd::from(stderr_ours).into()),
            ended: None,
        };
        hand_over(child.control.as_fd(), [stdin.as_fd(), stdout.as_fd(), stderr.as_fd()]).map_err(broken)?;
        drop((stdin, stdout, stderr));
        send(&child.control, order).map_err(broken)?;
        match receive::<Said>(&child.control).map_err(broken)? {
            Some(Said::Ready { report, tmp }) => {
                tracing::debug!(layers = ?report.layers, missing = ?report.missing, "a job runs");
                child.report = report;
                child.tmp = tmp.map(|tmp| PathBuf::from(tmp.0));
                Ok(child)
            }
            Some(Said::Refused { report }) => Err(ExecError::SandboxUnavailable { reason: report.lacking() }),
            Some(Said::NotExecuted { reason }) => {
                let program = match &order.start {
                    Start::File(program) => program.path().to_path_buf(),
                    Start::Engine | Start::Probe => self.helper.clone(),
                };
                Err(ExecError::Program { program, reason })
            }
            Some(Said::Failed { reason }) => Err(ExecError::Broken(reason)),
            Some(Said::Ended(_)) => Err(ExecError::Broken("it ended before it began".to_owned())),
            None => Err(ExecError::Broken(format!(
                "{} ended without a word; does its main call run_if_asked first?",
                self.helper.display()
            ))),
        }
    }
}

/// A running sandboxed process with three pipes. Dropping it kills everything it started.
#[derive(Debug)]
pub struct Child {
    control: File,
    process: std::process::Child,
    report: SandboxReport,
    tmp: Option<PathBuf>,
    stdin: Option<File>,
    stdout: Option<File>,
    stderr: Option<File>,
    ended: Option<Ended>,
}

impl Child {
    /// The end of the pipe that is the job's standard input. Dropping it closes the input.
    pub fn take_stdin(&mut self) -> Option<File> {
        self.stdin.take()
    }

    /// The end of the pipe that is the job's standard output.
    pub fn take_stdout(&mut self) -> Option<File> {
        self.stdout.take()
    }

    /// The end of the pipe that is the job's standard error.
    pub fn take_stderr(&mut self) -> Option<File> {
        self.stderr.take()
    }

    /// Which layers are in force around it.
    pub fn report(&self) -> &SandboxReport {
        &self.report
    }

    /// Its private temporary directory, as the job sees it.
    pub fn private_tmp(&self) -> Option<&Path> {
        self.tmp.as_deref()
    }

    /// Kills all of its processes. Does not wait for it.
    pub fn kill(&self) {
        // The helper takes the end of what the host says for the end of the host.
        let _ = rustix::net::shutdown(&self.control, Shutdown::Write);
    }

    /// A handle that kills this job from another thread, also while one waits.
    pub fn killer(&self) -> io::Result<Killer> {
        Ok(Killer(self.control.try_clone()?))
    }

    /// Waits until no process of the job is left.
    pub fn wait(&mut self) -> Result<Ended, ExecError> {
        loop {
            if let Some(ended) = self.wait_for(None)? {
                return Ok(ended);
            }
        }
    }

    /// How the job ended, if no process of it is left.
    pub fn try_wait(&mut self) -> Result<Option<Ended>, ExecError> {
        self.wait_for(Some(Duration::ZERO))
    }

    /// Waits until no process of the job is left, or so long.
    pub fn wait_timeout(&mut self, most: Duration) -> Result<Option<Ended>, ExecError> {
        self.wait_for(Some(most))
    }

    fn wait_for(&mut self, most: Option<Duration>) -> Result<Option<Ended>, ExecError> {
        if let Some(ended) = &self.ended {
            return Ok(Some(ended.clone()));
        }
        let broken = |error: io::Error| ExecError::Broken(error.to_string());
        let mut fds = [PollFd::new(&self.control, PollFlags::IN)];
        let most = most.map(|most| rustix::fs::Timespec {
            tv_sec: i64::try_from(most.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: most.subsec_nanos().into(),
        });
        match rustix::event::poll(&mut fds, most.as_ref()) {
            Ok(0) | Err(rustix::io::Errno::INTR) => return Ok(None),
            Ok(_) => {}
            Err(error) => return Err(broken(error.into())),
        }
        let said = receive::<Said>(&self.control);
        let status = self.process.wait().map_err(broken)?;
        let ended = if let Ok(Some(Said::Ended(ended))) = said {
            ended
        } else {
            use std::os::unix::process::ExitStatusExt;
            // Somebody has killed the helper, and with it the job.
            tracing::warn!(%status, "the sandbox's helper ended before its job");
            Ended { code: None, signal: status.signal().or(Some(9)), reason: None, peak_memory: 0 }
        };
        self.ended = Some(ended.clone());
        Ok(Some(ended))
    }
}

impl AsFd for Child {
    /// Readable once the job has ended, for those who poll several things at once.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.control.as_fd()
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if self.ended.is_none() {
            self.kill();
            // The helper goes once all others are gone; without waiting it would stay as a zombie.
            let _ = self.process.wait();
        }
    }
}

/// Kills one job from another thread.
#[derive(Debug)]
pub struct Killer(File);

impl Killer {
    /// Kills all processes of the job. Does not wait for it.
    pub fn kill(&self) {
        let _ = rustix::net::shutdown(&self.0, Shutdown::Write);
    }
}
