//! Runs a script of a skill: within limits, and with no process left afterwards.

use std::borrow::Cow;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use skillcue_base::{LOCALE, counted};
use skillcue_catalog::consent::{ConsentError, ConsentGate, PermissionRules, Question, Subject};
use skillcue_catalog::{ContentError, ContentStamps, SkillDir};
use skillcue_format::Permissions;

use crate::bytecode::PythonBytecode;
use crate::interpreter::{self, Interpreter, InterpreterSpec};
use crate::job::{Bounds, Job, JobProgram, SandboxPolicy};
use crate::launcher::Launcher;
use crate::packages::{PackageRequest, PackagesError, ScriptHeader};
use crate::request::{RunRequest, RunnerOptions, check_arguments};
use crate::result::{RunError, RunResult};
use crate::scripts::{ScriptInfo, find_script};
use crate::stream::ScriptRun;

/// Times that files which change meanwhile are read again before a run is refused.
const MAX_READS: usize = 3;

/// Runs scripts of skills. Cheap to clone; clones count together.
#[derive(Debug, Clone)]
pub struct Runner {
    launcher: Launcher,
    options: Arc<RunnerOptions>,
    running: Arc<AtomicUsize>,
}

impl Runner {
    /// Creates a runner that starts scripts with `launcher`.
    pub fn new(launcher: Launcher, options: RunnerOptions) -> Runner {
        Runner { launcher, options: Arc::new(options), running: Arc::default() }
    }

    /// Returns the launcher that starts processes.
    pub fn launcher(&self) -> &Launcher {
        &self.launcher
    }

    /// Returns the options for running scripts.
    pub fn options(&self) -> &RunnerOptions {
        &self.options
    }

    /// Returns the gate that answers whether a program may have the permissions that it asks for.
    pub fn consent(&self) -> &dyn ConsentGate {
        &*self.options.consent
    }

    /// Asks for permissions for a script, for the skill's content as it is now. Refuses what would undo the sandbox.
    pub fn script_question(
        &self,
        dir: &SkillDir,
        path: &str,
        permissions: &Permissions,
    ) -> Result<Question, ConsentError> {
        let permissions = self.rules().resolve(dir, permissions)?;
        Ok(Question::for_skill(dir, Subject::script(dir, path))?.with_permissions(permissions))
    }

    /// Returns the paths that permissions ask for, absolute, but with the links on the way to what they mean.
    pub fn named_paths(&self, dir: &SkillDir, permissions: &Permissions) -> Vec<PathBuf> {
        self.rules().names(dir, permissions)
    }

    /// Returns the rules for permissions. Whatever the caller has set, no program that runs may read or write the
    /// record of what people have allowed.
    fn rules(&self) -> PermissionRules {
        self.options.rules.clone().hiding(self.options.consent.directory().map(Path::to_path_buf))
    }

    /// Runs the script with the single argument `--help`, within the same limits.
    pub fn help(&self, request: &RunRequest<'_>) -> Result<RunResult, RunError> {
        self.run(&RunRequest { arguments: &["--help".to_owned()], input: None, stdin: None, ..*request })
    }

    /// Returns the question that a person has to answer before a script may run; none, if it may.
    pub fn missing_consent(&self, request: &RunRequest<'_>) -> Result<Option<Question>, RunError> {
        let info = find_script(request)?;
        self.permission_question(request, &info)
            .map(|asked| asked.filter(|asked| !self.consent().answer(asked).is_allowed()))
    }

    /// Runs a script. Returns when no process of it is left.
    ///
    /// A script that fails is no error: the result has its exit code. An error is the reason why it did not run, or why
    /// it was ended: that one has [the result so far](RunError::result).
    pub fn run(&self, request: &RunRequest<'_>) -> Result<RunResult, RunError> {
        if let Some(refusal) = &self.options.refusal {
            return Err(RunError::Policy { refusal: Box::new(refusal.clone()) });
        }
        let limits = &self.options.limits;
        check_arguments(request, limits)?;
        let input = match (request.stdin, request.input) {
            (Some(bytes), _) => Cow::Borrowed(bytes),
            (None, Some(value)) => Cow::Owned(serde_json::to_vec(value).unwrap_or_default()),
            (None, None) => Cow::default(),
        };
        if input.len() > limits.input {
            let reason =
                format!("the input has {}; at most {} are allowed", counted(input.len(), "byte"), limits.input);
            return Err(RunError::ArgsTooLarge { reason });
        }
        let _slot = RunSlot::take(&self.running, self.options.concurrent)?;
        let info = find_script(request)?;
        let job = self.allowed_job(request, &info)?;
        tracing::debug!(skill = request.dir.skill(), script = info.path, program = ?job.program, "runs a script");
        ScriptRun { request, limits, input: &input }.run(&self.launcher, &job)
    }

    /// Returns the question about the permissions that the skill asks for, for this script; none, if it asks for none.
    fn permission_question(&self, request: &RunRequest<'_>, info: &ScriptInfo) -> Result<Option<Question>, RunError> {
        match requested_permissions(request) {
            Some(permissions) => {
                let mut asked = self.script_question(request.dir, &info.path, permissions)?;
                request.address.unwrap_or_else(|| request.dir.skill()).clone_into(&mut asked.details.address);
                Ok(Some(asked))
            }
            None => Ok(None),
        }
    }

    /// Returns the job, with the permissions that a person has allowed for the files as they are now: reading them
    /// takes a while, and so may the script's packages, so whether they have changed since is checked at the end.
    fn allowed_job(&self, request: &RunRequest<'_>, info: &ScriptInfo) -> Result<Job, RunError> {
        if requested_permissions(request).is_none() {
            return self.job(request, info, None);
        }
        let unreadable = |error: ContentError| ConsentError::Unreadable {
            skill: request.dir.skill().to_owned(),
            reason: error.to_string(),
        };
        let mut reads = 0;
        loop {
            let before = ContentStamps::of(request.dir).map_err(unreadable)?;
            let Some(asked) = self.permission_question(request, info)? else { return self.job(request, info, None) };
            reads += 1;
            if reads > MAX_READS || !self.consent().answer(&asked).is_allowed() {
                return Err(RunError::PermissionRequired { asked: Box::new(asked), reason: None });
            }
            let job = self.job(request, info, Some(&asked))?;
            // By its path, as the script is started: another directory may be there by now.
            let now = SkillDir::open(request.dir.skill(), request.dir.path())?;
            if ContentStamps::of(&now).map_err(unreadable)? == before {
                return Ok(job);
            }
        }
    }

    fn job(&self, request: &RunRequest<'_>, info: &ScriptInfo, granted: Option<&Question>) -> Result<Job, RunError> {
        let nothing = Permissions::default();
        let permissions = granted.map_or(&nothing, |granted| &granted.permissions.asked);
        let dir = request.dir.path().canonicalize().map_err(|error| RunError::failed(&error))?;
        let script = dir.join(&info.path);
        let mut bytecode = PythonBytecode::of(request.dir, &dir);
        let mut policy = SandboxPolicy {
            read: crate::system_paths(permissions.network),
            // As they were resolved when it was compared with what was granted.
            write: granted.map_or_else(Vec::new, |granted| granted.permissions.write_paths.clone()),
            names: self.named_paths(request.dir, permissions),
            hidden: std::mem::take(&mut bytecode.hidden),
            execute: true,
            network: permissions.network,
            private_tmp: true,
        };
        policy.read.push(dir.clone());
        policy.read.extend(granted.into_iter().flat_map(|granted| granted.permissions.read_paths.iter().cloned()));
        let mut args: Vec<OsString> = Vec::new();
        let program = match self.interpreter(request, info, &dir, &script, permissions)? {
            Some(interpreter) => {
                policy.read.extend(interpreter.paths());
                let options = bytecode.options(&interpreter.program);
                args.extend(options.iter().chain(&interpreter.options).map(OsString::from));
                args.push(script.into());
                interpreter.program
            }
            None => script,
        };
        args.extend(request.arguments.iter().map(OsString::from));
        let mut job = Job::new(JobProgram::File(program), policy);
        job.env = self.environment(request, &dir, permissions, &job.policy);
        job.env.extend(bytecode.variables().map(|(name, value)| (name.into(), value.into())));
        job.args = args;
        job.cwd = Some(dir);
        let limits = &self.options.limits;
        let wall = limits.bounds.wall.map_or(limits.timeout, |wall| wall.min(limits.timeout));
        job.bounds = Bounds { wall: Some(wall), ..limits.bounds.clone() };
        Ok(job)
    }

    fn interpreter(
        &self,
        request: &RunRequest<'_>,
        info: &ScriptInfo,
        dir: &Path,
        script: &Path,
        permissions: &Permissions,
    ) -> Result<Option<Interpreter>, RunError> {
        if info.spec == InterpreterSpec::Native {
            return Ok(None);
        }
        let not_found = |reason: String| RunError::InterpreterNotFound { script: info.path.clone(), reason };
        let broken = |reason: String| RunError::ExecutionFailed { reason: format!("{}, {reason}", info.path) };
        let header = if info.spec.is_python() { ScriptHeader::of(&info.head).map_err(broken)? } else { None };
        if header.as_ref().is_some_and(|header| !header.dependencies.is_empty()) {
            let packages = PackageRequest {
                launcher: &self.launcher,
                path: &self.options.path,
                store: self.options.packages.as_deref(),
                skill_dir: dir,
                script,
                network: permissions.network,
                environment: &self.options.environment,
                cancelled: request.cancelled,
                limit: self.options.limits.timeout,
                began: Instant::now(),
            };
            return packages.prepare().map(Some).map_err(|trouble| match trouble {
                PackagesError::NoUv(reason) => not_found(reason),
                PackagesError::Cancelled => RunError::Cancelled { result: None },
                PackagesError::Failed(reason) => {
                    RunError::ExecutionFailed { reason: format!("its packages: {reason}") }
                }
                PackagesError::NeedsNetwork => {
                    let needed = Permissions { network: true, ..permissions.clone() };
                    let reason = "its packages are not here yet, and the skill does not ask for the network";
                    match self.script_question(request.dir, &info.path, &needed) {
                        Ok(asked) => {
                            RunError::PermissionRequired { asked: Box::new(asked), reason: Some(reason.to_owned()) }
                        }
                        Err(error) => error.into(),
                    }
                }
            });
        }
        let found = interpreter::find(&info.spec, &self.options.path, dir).map_err(not_found)?;
        if let Some(header) = header
            && let Some(wanted) = &header.requires_python
            && let Some(version) = found.python_version()
            && !header.accepts(&version)
        {
            let version = version.iter().map(u32::to_string).collect::<Vec<_>>().join(".");
            let program = found.program.display();
            return Err(not_found(format!("its header asks for Python {wanted}, and {program} is {version}")));
        }
        Ok(Some(found))
    }

    fn environment(
        &self,
        request: &RunRequest<'_>,
        dir: &Path,
        permissions: &Permissions,
        policy: &SandboxPolicy,
    ) -> Vec<(OsString, OsString)> {
        let mut env: Vec<(OsString, OsString)> = vec![
            ("SKILL_NAME".into(), request.dir.skill().into()),
            ("SKILL_DIR".into(), dir.into()),
            ("SKILL_VERSION".into(), request.manifest.version().unwrap_or_default().into()),
            ("PATH".into(), interpreter::reachable_path(&self.options.path, &policy.read)),
        ];
        for (name, value) in &self.options.environment {
            let Some(text) = name.to_str() else { continue };
            if LOCALE.contains(&text) || permissions.env.iter().any(|granted| **granted == *text) {
                env.push((name.clone(), value.clone()));
            }
        }
        // Programs see the first of two variables with one name.
        env.retain(|(name, _)| request.variables.iter().all(|(own, _)| own != name));
        env.extend(request.variables.iter().cloned());
        env
    }
}

/// One of the slots for scripts that run at once.
struct RunSlot(Arc<AtomicUsize>);

impl RunSlot {
    fn take(running: &Arc<AtomicUsize>, most: usize) -> Result<RunSlot, RunError> {
        let more = |now: usize| (now < most).then_some(now + 1);
        match running.fetch_update(Ordering::AcqRel, Ordering::Acquire, more) {
            Ok(_) => Ok(RunSlot(Arc::clone(running))),
            Err(_) => Err(RunError::Busy { concurrent: most }),
        }
    }
}

impl Drop for RunSlot {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Returns the permissions that a skill asks for, if there are any.
fn requested_permissions<'r>(request: &RunRequest<'r>) -> Option<&'r Permissions> {
    request.manifest.permissions().filter(|permissions| !permissions.is_empty())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::Duration;

    use skillcue_base::ErrorInfo as _;
    use skillcue_catalog::consent::{Answer, ConsentStore, Scope};
    use skillcue_format::{FileKind, Parsed};

    use super::*;

    /// A gate that allows what it was asked about first, and replaces a file right after it was asked: as another
    /// process may.
    #[derive(Debug)]
    struct Replacing {
        store: ConsentStore,
        file: PathBuf,
        text: &'static str,
    }

    impl ConsentGate for Replacing {
        fn answer(&self, question: &Question) -> Answer {
            let answer = self.store.answer(question);
            fs::write(&self.file, self.text).unwrap();
            answer
        }

        fn remember(&self, question: &Question, scope: Scope) -> Result<(), ConsentError> {
            self.store.remember(question, scope)
        }
    }

    #[test]
    fn a_script_that_is_replaced_after_it_was_read_does_not_run() {
        let tmp = tempfile::tempdir().unwrap();
        let script = tmp.path().join("scripts/a.sh");
        fs::create_dir(tmp.path().join("scripts")).unwrap();
        let text = "---\nname: a\ndescription: d\npermissions:\n  network: true\n---\n";
        let manifest = Parsed::of(text.as_bytes(), FileKind::Markdown).manifest.unwrap();
        let run = |replacement: &'static str| {
            fs::write(&script, "#!/bin/sh\necho one\n").unwrap();
            let gate = Replacing { store: ConsentStore::default(), file: script.clone(), text: replacement };
            let options = RunnerOptions { consent: Arc::new(gate), ..RunnerOptions::default() };
            let runner = Runner::new(Launcher::new("/none"), options);
            let dir = SkillDir::open("a", tmp.path()).unwrap();
            let asked = runner.script_question(&dir, "scripts/a.sh", manifest.permissions().unwrap()).unwrap();
            runner.consent().remember(&asked, Scope::Always).unwrap();
            // File systems keep times to a few milliseconds.
            std::thread::sleep(Duration::from_millis(20));
            runner.run(&RunRequest::new(&dir, &manifest, "a.sh")).unwrap_err().code()
        };
        assert_eq!(run("#!/bin/sh\necho other\n"), "permission_required");
        assert_eq!(run("#!/bin/sh\necho two\n"), "permission_required", "as long as before");
    }

    #[test]
    fn imported_files_run_too_and_are_part_of_the_question() {
        let tmp = tempfile::tempdir().unwrap();
        let module = tmp.path().join("node_modules/m/index.js");
        fs::create_dir_all(module.parent().unwrap()).unwrap();
        fs::write(&module, "1").unwrap();
        let dir = SkillDir::open("a", tmp.path()).unwrap();
        let runner = Runner::new(Launcher::new("/none"), RunnerOptions::default());
        let network = Permissions { network: true, ..Permissions::default() };
        let asked = || runner.script_question(&dir, "run.sh", &network).unwrap();
        let is_allowed = || runner.consent().answer(&asked()).is_allowed();
        runner.consent().remember(&asked(), Scope::Always).unwrap();
        assert!(is_allowed());
        assert!(!runner.consent().answer(&Question::for_skill(&dir, Subject::toolset(&dir)).unwrap()).is_allowed());
        fs::create_dir(tmp.path().join(".git")).unwrap();
        fs::write(tmp.path().join(".git/hook"), "1").unwrap();
        assert!(!is_allowed(), "this can be executed, too");
        fs::remove_dir_all(tmp.path().join(".git")).unwrap();
        assert!(is_allowed());
        fs::write(&module, "2").unwrap();
        assert!(!is_allowed());
    }
}
