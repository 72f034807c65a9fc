//! The host's side: starts a job, and holds the handle of it.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};
use rustix::net::Shutdown;

use crate::error::{ExecError, NO_ENGINE};
use crate::helper;
use crate::job::{Job, JobProgram, SandboxPolicy};
use crate::layer::{Layer, SandboxReport, Support};
use crate::memory::MemoryUse;
use crate::wire::{HelperMessage, HelperSetup, JobEnd, JobOrder, JobStart, hand_over, receive, send};

/// Starts sandboxed processes. Cheap to clone.
///
/// ```no_run
/// use skillcue_exec::{Job, Launcher, SandboxPolicy, JobProgram};
/// use std::io::Read;
///
/// let launcher = Launcher::new("/usr/bin/skillcue");
/// let mut job = Job::new(JobProgram::File("/bin/sh".into()), SandboxPolicy::program("/bin/sh".as_ref()));
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
    helper: Helper,
    tmp: PathBuf,
    allow_unsandboxed: bool,
    without: Vec<Layer>,
    helper_env: Vec<(OsString, OsString)>,
    support: Arc<OnceLock<Support>>,
    /// The helpers that wait for jobs, once there was one: without the network and with it.
    waiting: Arc<Mutex<[Option<WaitingHelper>; 2]>>,
}

impl Launcher {
    /// Creates a launcher with the helper at this path: an executable whose `main` first calls
    /// [`run_if_asked`](crate::helper::run_if_asked), such as the program `skillcue`, or `skillcue-sandbox`.
    pub fn new(helper: impl Into<PathBuf>) -> Launcher {
        Launcher::with(Helper::At(helper.into()))
    }

    /// Creates a launcher whose helper is the running program, which is looked up when the first job starts: where it
    /// cannot be found, only starting fails.
    pub fn of_this_program() -> Launcher {
        Launcher::with(Helper::ThisProgram(Arc::default()))
    }

    fn with(helper: Helper) -> Launcher {
        Launcher {
            helper,
            tmp: PathBuf::from("/tmp"),
            allow_unsandboxed: false,
            without: Vec::new(),
            helper_env: Vec::new(),
            support: Arc::default(),
            waiting: Arc::default(),
        }
    }

    /// Allows running where the platform offers no sandbox. Never silently: the report says so.
    #[must_use]
    pub fn allow_unsandboxed(mut self, yes: bool) -> Launcher {
        self.allow_unsandboxed = yes;
        self
    }

    /// Sets the directory in which private temporary directories are made; `/tmp` by default.
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
        self.waiting = Arc::default();
        self
    }

    /// Sets a variable for the helper itself, and for the engine that runs in it; programs do not see it. For helpers
    /// whose allocator reserves more than a job may have, unless a variable forbids it.
    #[must_use]
    pub fn helper_env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Launcher {
        self.helper_env.push((name.into(), value.into()));
        self.waiting = Arc::default();
        self
    }

    /// Returns the helper's path.
    pub fn helper(&self) -> Result<&Path, ExecError> {
        match &self.helper {
            Helper::At(path) => Ok(path),
            Helper::ThisProgram(found) => {
                if found.get().is_none() {
                    let path = std::env::current_exe()
                        .map_err(|source| ExecError::Helper { helper: "(this program)".into(), source })?;
                    let _ = found.set(path);
                }
                Ok(found.get_or_init(PathBuf::new))
            }
        }
    }

    /// Returns the layers that this machine offers: found out once, by starting a process that does nothing, and kept.
    pub fn support(&self) -> Result<Support, ExecError> {
        if let Some(known) = self.support.get() {
            return Ok(known.clone());
        }
        let probe = |private_tmp| {
            let policy = SandboxPolicy { private_tmp, ..SandboxPolicy::nothing() };
            let mut order = JobOrder::of(&Job::new(JobProgram::Engine, policy), &self.tmp, &self.without, true);
            order.start = JobStart::Probe;
            self.start(&order)
        };
        // With a private directory, as scripts have one; where none can be made, the rest can still be reported.
        let mut child = probe(true).or_else(|_| probe(false))?;
        let _ = child.wait();
        Ok(self.support.get_or_init(|| child.report().clone()).clone())
    }

    /// Starts a job. Returns once it runs.
    pub fn spawn(&self, job: &Job) -> Result<RunningJob, ExecError> {
        self.start(&JobOrder::of(job, &self.tmp, &self.without, self.allow_unsandboxed))
    }

    fn start(&self, order: &JobOrder) -> Result<RunningJob, ExecError> {
        loop {
            let (mut child, helper) = self.hand_out(order)?;
            let message = match receive::<HelperMessage>(&child.control) {
                // It has gone before it took what it was given.
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => None,
                message => message.map_err(broken)?,
            };
            match message {
                Some(HelperMessage::Ready { report, tmp }) => {
                    tracing::debug!(layers = ?report.layers, missing = ?report.missing, "a job runs");
                    child.report = report;
                    child.tmp = tmp.map(|tmp| PathBuf::from(tmp.0));
                    return Ok(child);
                }
                Some(HelperMessage::Refused { report }) => {
                    return Err(ExecError::SandboxUnavailable { reason: report.missing_required() });
                }
                Some(HelperMessage::NotExecuted { reason }) => {
                    let program = match &order.start {
                        JobStart::File(program) => program.path().to_path_buf(),
                        JobStart::Engine | JobStart::Probe => self.helper()?.to_path_buf(),
                    };
                    return Err(ExecError::Program { program, reason });
                }
                Some(HelperMessage::Failed { reason }) if reason == NO_ENGINE => return Err(ExecError::NoEngine),
                Some(HelperMessage::Failed { reason }) => return Err(ExecError::Broken(reason)),
                Some(HelperMessage::Ended(_)) => return Err(ExecError::Broken("it ended before it began".to_owned())),
                // It was killed while it waited.
                None if helper == HelperOrigin::Existing => self.forget(order.network),
                None => {
                    return Err(ExecError::Broken(format!(
                        "{} ended without a word; does its main call run_if_asked first?",
                        self.helper()?.display()
                    )));
                }
            }
        }
    }

    /// Gives a job to a helper: to the one that waits, or to one started for it where helpers do not wait.
    fn hand_out(&self, order: &JobOrder) -> Result<(RunningJob, HelperOrigin), ExecError> {
        let (ours, theirs) = UnixStream::pair().map_err(broken)?;
        let (stdin, stdin_ours) = io::pipe().map_err(broken)?;
        let (stdout_ours, stdout) = io::pipe().map_err(broken)?;
        let (stderr_ours, stderr) = io::pipe().map_err(broken)?;
        let mut child = RunningJob {
            control: OwnedFd::from(ours).into(),
            process: None,
            report: SandboxReport::default(),
            tmp: None,
            stdin: Some(OwnedFd::from(stdin_ours).into()),
            stdout: Some(OwnedFd::from(stdout_ours).into()),
            stderr: Some(OwnedFd::from(stderr_ours).into()),
            ended: None,
        };
        let pipes = [stdin.as_fd(), stdout.as_fd(), stderr.as_fd()];
        let helper = if helper::has_waiting_helper(&order.without) {
            self.hand_to_waiting(order.network, [theirs.as_fd(), pipes[0], pipes[1], pipes[2]])
        } else {
            let own = theirs
                .try_clone()
                .map_err(broken)
                .and_then(|it| self.start_helper(&[helper::UNSANDBOXED_ARGUMENT], it.into()));
            own.and_then(|process| {
                child.process = Some(process);
                hand_over(child.control.as_fd(), &pipes).map_err(broken)
            })
            .map(|()| HelperOrigin::Started)
        };
        // Before all else: a process that waits for the other side to close must not hold it open.
        drop((theirs, stdin, stdout, stderr));
        let helper = helper?;
        // A helper that is gone is noticed by what it does not answer.
        match send(&child.control, order) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => return Err(broken(error)),
            _ => {}
        }
        Ok((child, helper))
    }

    /// Gives the descriptors of a job to the helper that waits, which is started if there is none.
    fn hand_to_waiting(&self, network: bool, descriptors: [BorrowedFd<'_>; 4]) -> Result<HelperOrigin, ExecError> {
        let mut waiting = skillcue_base::lock(&self.waiting);
        let waiting = &mut waiting[usize::from(network)];
        if let Some(helper) = waiting
            && hand_over(helper.control.as_fd(), &descriptors).is_ok()
        {
            return Ok(HelperOrigin::Existing);
        }
        let (ours, theirs) = UnixStream::pair().map_err(broken)?;
        let setup = HelperSetup { network, without: self.without.clone() };
        let process = self.start_helper(&[helper::HELPER_ARGUMENT, &setup.to_text()], theirs.into())?;
        let helper = waiting.insert(WaitingHelper { control: ours, process });
        // One that is gone already says nothing, which is noticed.
        let _ = hand_over(helper.control.as_fd(), &descriptors);
        Ok(HelperOrigin::Started)
    }

    fn forget(&self, network: bool) {
        skillcue_base::lock(&self.waiting)[usize::from(network)] = None;
    }

    /// Starts a helper. The socket goes as standard input, and descriptors go over the socket: so none is ever open for
    /// inheritance, whatever other threads start meanwhile (but for the moment in which systems without `pipe2` make
    /// one). The group keeps a terminal's signals away.
    fn start_helper(&self, words: &[&str], socket: OwnedFd) -> Result<std::process::Child, ExecError> {
        let helper = self.helper()?;
        Command::new(helper)
            .args(words)
            .env_clear()
            .envs(self.helper_env.iter().map(|(name, value)| (name, value)))
            .current_dir("/")
            .stdin(Stdio::from(socket))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .map_err(|source| ExecError::Helper { helper: helper.to_path_buf(), source })
    }
}

/// The program that is started as the helper.
#[derive(Debug, Clone)]
enum Helper {
    At(PathBuf),
    /// The running program, once it was looked up.
    ThisProgram(Arc<OnceLock<PathBuf>>),
}

#[expect(clippy::needless_pass_by_value, reason = "it is given to `map_err`")]
fn broken(error: io::Error) -> ExecError {
    ExecError::Broken(error.to_string())
}

/// Whether a job's helper was running already, or was started for it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum HelperOrigin {
    Existing,
    Started,
}

/// A helper that waits for jobs, so that a job costs a fork and not the start of a program. It ends with the last
/// [`Launcher`] that knows it; its jobs end with their [`RunningJob`].
#[derive(Debug)]
struct WaitingHelper {
    control: UnixStream,
    process: std::process::Child,
}

impl Drop for WaitingHelper {
    fn drop(&mut self) {
        let _ = self.control.shutdown(std::net::Shutdown::Both);
        // It ends at once; without waiting it would stay as a zombie.
        let _ = self.process.wait();
    }
}

/// A running sandboxed process with three pipes. Dropping it kills everything it started.
#[derive(Debug)]
pub struct RunningJob {
    control: File,
    /// The helper, where each job has its own.
    process: Option<std::process::Child>,
    report: SandboxReport,
    tmp: Option<PathBuf>,
    stdin: Option<File>,
    stdout: Option<File>,
    stderr: Option<File>,
    ended: Option<JobEnd>,
}

impl RunningJob {
    /// Takes the end of the pipe that is the job's standard input. Dropping it closes the input.
    pub fn take_stdin(&mut self) -> Option<File> {
        self.stdin.take()
    }

    /// Takes the end of the pipe that is the job's standard output.
    pub fn take_stdout(&mut self) -> Option<File> {
        self.stdout.take()
    }

    /// Takes the end of the pipe that is the job's standard error.
    pub fn take_stderr(&mut self) -> Option<File> {
        self.stderr.take()
    }

    /// Returns the report about the layers in force around it.
    pub fn report(&self) -> &SandboxReport {
        &self.report
    }

    /// Returns its private temporary directory, as the job sees it.
    pub fn private_tmp(&self) -> Option<&Path> {
        self.tmp.as_deref()
    }

    /// Kills all of its processes. Does not wait for it.
    pub fn kill(&self) {
        // The helper takes the end of the host's messages for the end of the host.
        let _ = rustix::net::shutdown(&self.control, Shutdown::Write);
    }

    /// Returns a handle that kills this job from another thread, also while one waits for it.
    pub fn killer(&self) -> io::Result<Killer> {
        Ok(Killer(self.control.try_clone()?))
    }

    /// Waits until no process of the job is left.
    pub fn wait(&mut self) -> Result<JobEnd, ExecError> {
        loop {
            if let Some(ended) = self.wait_for(None)? {
                return Ok(ended);
            }
        }
    }

    /// Returns how the job ended, if no process of it is left.
    pub fn try_wait(&mut self) -> Result<Option<JobEnd>, ExecError> {
        self.wait_for(Some(Duration::ZERO))
    }

    /// Waits until no process of the job is left, but at most for this time.
    pub fn wait_timeout(&mut self, most: Duration) -> Result<Option<JobEnd>, ExecError> {
        self.wait_for(Some(most))
    }

    fn wait_for(&mut self, most: Option<Duration>) -> Result<Option<JobEnd>, ExecError> {
        if let Some(ended) = &self.ended {
            return Ok(Some(ended.clone()));
        }
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
        let message = receive::<HelperMessage>(&self.control);
        self.wait_for_helper();
        let ended = if let Ok(Some(HelperMessage::Ended(ended))) = message {
            ended
        } else {
            // The helper was killed, and with it the job.
            tracing::warn!("the sandbox's helper ended before its job");
            JobEnd { code: None, signal: Some(9), reason: None, peak_memory: 0, memory: MemoryUse::default() }
        };
        self.ended = Some(ended.clone());
        Ok(Some(ended))
    }

    /// Waits for the end of the helper, which is the last process to end.
    fn wait_for_helper(&mut self) {
        // Its end closes the socket; messages before that are known or of no interest.
        let _ = io::copy(&mut &self.control, &mut io::sink());
        if let Some(mut process) = self.process.take() {
            // Without waiting it would stay as a zombie.
            let _ = process.wait();
        }
    }
}

impl AsFd for RunningJob {
    /// Returns a descriptor that is readable once the job has ended, for polling several things at once.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.control.as_fd()
    }
}

impl Drop for RunningJob {
    fn drop(&mut self) {
        if self.ended.is_none() {
            self.kill();
            self.wait_for_helper();
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
