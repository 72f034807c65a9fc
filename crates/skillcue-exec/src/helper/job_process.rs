//! The job's own process: takes on every layer, then becomes the program or runs the engine.

use std::ffi::{CString, OsStr};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::Mode;

use super::confine::{self, LandlockRules};
use super::filter::{self, FilterOptions, SignalScope};
use super::mounts::{self, MountState};
use super::processes;
use crate::layer::{Layer, SandboxReport};
use crate::sys;
use crate::wire::{HelperMessage, JobOrder, JobStart, OsText, send};

/// The job's process before it runs the job.
pub(super) struct JobProcess {
    pub(super) order: JobOrder,
    /// Standard input, output and error.
    pub(super) pipes: [OwnedFd; 3],
    /// The pipe for messages about the start; closed by executing.
    pub(super) ready: File,
    pub(super) report: SandboxReport,
    pub(super) tmp: Option<PathBuf>,
    pub(super) mounted: MountState,
    pub(super) engine: Option<fn() -> i32>,
}

/// The exit code of a job that could not begin; it is not shown, because the reason was sent before.
const COULD_NOT_BEGIN: i32 = 126;

/// The exit code of an engine that panicked, as Rust's own programs have it.
const PANICKED: i32 = 101;

impl JobProcess {
    /// Runs the job. Never returns.
    pub(super) fn run(mut self) -> ! {
        let outcome = self.begin();
        let message = match outcome {
            Ok(code) => sys::exit_now(code),
            Err(message) => message,
        };
        let _ = send(&self.ready, &message);
        sys::exit_now(COULD_NOT_BEGIN)
    }

    fn begin(&mut self) -> Result<i32, HelperMessage> {
        let failed =
            |what: &'static str| move |error: io::Error| HelperMessage::Failed { reason: format!("{what}: {error}") };
        let _ = rustix::process::setsid();
        sys::default_signals();
        rustix::process::umask(Mode::from_raw_mode(0o077));
        rustix::stdio::dup2_stdin(&self.pipes[0]).map_err(|error| failed("stdin")(error.into()))?;
        rustix::stdio::dup2_stdout(&self.pipes[1]).map_err(|error| failed("stdout")(error.into()))?;
        rustix::stdio::dup2_stderr(&self.pipes[2]).map_err(|error| failed("stderr")(error.into()))?;
        sys::close_all_but(&[self.ready.as_fd()]);
        let cwd = self.order.cwd.as_ref().map_or(Path::new("/"), OsText::path);
        if let Err(error) = rustix::process::chdir(cwd) {
            let reason = format!("its working directory {}: {}", cwd.display(), io::Error::from(error));
            return Err(HelperMessage::NotExecuted { reason });
        }

        self.take_on_limits();
        self.take_on_landlock();
        self.report.sandboxed = self.report.has(Layer::Landlock) && !self.is_off(Layer::Seccomp);
        if !self.report.sandboxed && !self.order.allow_unsandboxed {
            self.take_on_filter();
            return Err(HelperMessage::Refused { report: std::mem::take(&mut self.report) });
        }
        let execution = self.execution()?;
        self.take_on_filter();
        self.report.sandboxed = self.report.has(Layer::Landlock) && self.report.has(Layer::Seccomp);
        if !self.report.sandboxed && !self.order.allow_unsandboxed {
            return Err(HelperMessage::Refused { report: std::mem::take(&mut self.report) });
        }
        let tmp = self.tmp.as_deref().map(OsText::from);
        let ready = HelperMessage::Ready { report: std::mem::take(&mut self.report), tmp };
        send(&self.ready, &ready).map_err(failed("saying that it is ready"))?;

        match execution {
            Execution::Program { program, args, env } => {
                let args: Vec<_> = args.iter().map(CString::as_c_str).collect();
                let env: Vec<_> = env.iter().map(CString::as_c_str).collect();
                let error = sys::execute(&program, &args, &env);
                Err(HelperMessage::NotExecuted { reason: error.to_string() })
            }
            Execution::Engine(engine) => {
                // The supervisor takes the end of this pipe for the beginning of the job.
                sys::close_all_but(&[]);
                // A panic must not unwind into what this process inherited, whose descriptors are closed.
                let code = std::panic::catch_unwind(engine).unwrap_or(PANICKED);
                let _ = io::stdout().flush();
                Ok(code)
            }
            Execution::Nothing => Ok(0),
        }
    }

    fn is_off(&self, layer: Layer) -> bool {
        self.order.without.contains(&layer)
    }

    /// Takes one layer on, unless it is switched off, and records whether it is in force.
    fn take_on<E: std::fmt::Display>(&mut self, layer: Layer, with: impl FnOnce(&Self) -> Result<(), E>) {
        let outcome = if self.is_off(layer) {
            Err("switched off".to_owned())
        } else {
            with(self).map_err(|error| error.to_string())
        };
        self.report.note(layer, outcome);
    }

    fn take_on_limits(&mut self) {
        self.take_on(Layer::ResourceLimits, |it| {
            let bound = u64::from(it.order.bounds.processes);
            // In a user namespace of its own only its own processes count; outside, those of the user that run already
            // do, too. Root is never bound by this.
            let others = if it.report.has(Layer::UserNamespace) { 0 } else { processes::count_of_this_user() };
            // Some more than allowed, for the supervisor to see it.
            let processes = Some(bound + u64::from(mounts::EXTRA_PROCESSES) + others);
            confine::set_limits(&it.order.bounds, processes)
        });
        self.take_on(Layer::NoCapabilities, |_| confine::drop_capabilities());
        self.take_on(Layer::NoNewPrivileges, |_| rustix::thread::set_no_new_privs(true));
    }

    fn take_on_landlock(&mut self) {
        let mut abi = 0;
        self.take_on(Layer::Landlock, |it| {
            abi = confine::restrict_by_landlock(&it.rules())?;
            Ok::<(), String>(())
        });
        self.report.landlock_abi = abi;
    }

    /// Returns the access that Landlock shall allow.
    fn rules(&self) -> LandlockRules {
        let order = &self.order;
        let paths = |paths: &[OsText]| -> Vec<PathBuf> { paths.iter().map(|path| path.path().to_path_buf()).collect() };
        let mut rules = LandlockRules {
            read: Vec::new(),
            execute: Vec::new(),
            write: paths(&order.write),
            execute_written: order.execute,
            devices: Vec::new(),
            network: order.network,
        };
        *(if order.execute { &mut rules.execute } else { &mut rules.read }) = paths(&order.read);
        rules.write.extend(self.tmp.clone());
        if let JobStart::File(program) = &order.start {
            // Executing a program also executes its loader.
            rules.execute.push(program.path().to_path_buf());
            rules.execute.extend(LOADERS.iter().map(PathBuf::from));
            rules.devices.extend(DEVICES.iter().map(PathBuf::from));
            if self.mounted.zero {
                rules.devices.push("/dev/zero".into());
            }
            rules.read.extend(READ_DEVICES.iter().map(PathBuf::from));
            if self.mounted.shm {
                rules.write.push("/dev/shm".into());
            }
            if self.mounted.proc {
                rules.read.push("/proc".into());
            } else {
                rules.read.extend(PROC_FILES.iter().map(PathBuf::from));
            }
        }
        rules
    }

    /// Applies the filter of system calls; from here on only little works.
    fn take_on_filter(&mut self) {
        self.take_on(Layer::Seccomp, |it| {
            let filters = if it.order.start == JobStart::Engine {
                filter::for_engine()?
            } else {
                // Landlock keeps signals inside from version 6 on.
                let kept = it.report.has(Layer::PidNamespace) || it.report.landlock_abi >= 6;
                filter::for_program(FilterOptions {
                    network: it.order.network,
                    signals: if kept { SignalScope::Any } else { SignalScope::OwnGroup },
                    read_only: it.mounted.read_only,
                    own_processes: it.report.has(Layer::PidNamespace),
                    // Landlock knows about truncating from version 3 on.
                    truncation: it.report.landlock_abi >= 3,
                })?
            };
            filters.iter().try_for_each(|program| seccompiler::apply_filter(program).map_err(|error| error.to_string()))
        });
    }

    /// Prepares everything that executing needs, while it still can be made.
    fn execution(&self) -> Result<Execution, HelperMessage> {
        let text = |text: &OsStr| {
            CString::new(text.as_bytes()).map_err(|_| HelperMessage::NotExecuted {
                reason: "an argument or the environment holds a NUL".to_owned(),
            })
        };
        match &self.order.start {
            JobStart::Probe => Ok(Execution::Nothing),
            JobStart::Engine => {
                let none = || HelperMessage::Failed { reason: crate::error::NO_ENGINE.to_owned() };
                self.engine.map(Execution::Engine).ok_or_else(none)
            }
            JobStart::File(program) => {
                let mut args = vec![text(&program.0)?];
                for arg in &self.order.args {
                    args.push(text(&arg.0)?);
                }
                let mut env = Vec::new();
                let pair = |name: &OsStr, value: &OsStr| text(&[name, value].join(OsStr::new("=")));
                for (name, value) in &self.order.env {
                    env.push(pair(&name.0, &value.0)?);
                }
                if let Some(tmp) = &self.tmp {
                    for name in ["HOME", "TMPDIR", "TMP", "TEMP"] {
                        env.push(pair(OsStr::new(name), tmp.as_os_str())?);
                    }
                }
                Ok(Execution::Program { program: text(&program.0)?, args, env })
            }
        }
    }
}

/// The last step of the job's process.
enum Execution {
    Program { program: CString, args: Vec<CString>, env: Vec<CString> },
    Engine(fn() -> i32),
    Nothing,
}

/// Loaders of dynamically linked programs.
pub(super) const LOADERS: &[&str] = &[
    "/lib64/ld-linux-x86-64.so.2",
    "/lib/ld-linux-aarch64.so.1",
    "/lib/ld-linux-riscv64-lp64d.so.1",
    "/lib/ld-musl-x86_64.so.1",
    "/lib/ld-musl-aarch64.so.1",
];

/// Devices that may be read and written. Not `/dev/zero` as it is: mapped, it is memory that no bound counts.
pub(super) const DEVICES: &[&str] = &["/dev/null"];

/// Devices that may be read.
pub(super) const READ_DEVICES: &[&str] = &["/dev/full", "/dev/random", "/dev/urandom"];

/// Files of `/proc` about the machine and the process itself, for a `/proc` that shows all processes.
const PROC_FILES: &[&str] = &[
    "/proc/self",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/proc/stat",
    "/proc/uptime",
    "/proc/loadavg",
    "/proc/version",
    "/proc/filesystems",
    "/proc/sys/kernel/osrelease",
    "/proc/sys/kernel/ngroups_max",
    "/proc/sys/kernel/cap_last_cap",
    "/proc/sys/vm/overcommit_memory",
];
