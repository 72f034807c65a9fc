//! A request to run a script, the options of a runner, and the limits of a run.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use skillcue_base::counted;
use skillcue_catalog::consent::{ConsentGate, ConsentStore, PermissionRules};
use skillcue_catalog::{PolicyRefusal, SkillDir};
use skillcue_format::Manifest;

use crate::job::Bounds;
use crate::result::RunError;
use crate::stream::Stream;

/// The limits of one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunLimits {
    /// The time that it may take.
    pub timeout: Duration,
    /// Bytes of output, standard output and standard error together.
    pub output: usize,
    /// The number of arguments.
    pub arguments: usize,
    /// Bytes of all arguments together.
    pub argument_bytes: usize,
    /// Bytes of the JSON on standard input.
    pub input: usize,
    /// The resources that its processes may use up.
    pub bounds: Bounds,
}

impl Default for RunLimits {
    /// 60 seconds, 1 MiB of output, 100 arguments of 4,096 bytes, 1 MiB of input.
    fn default() -> RunLimits {
        RunLimits {
            timeout: Duration::from_mins(1),
            output: 1024 * 1024,
            arguments: 100,
            argument_bytes: 4096,
            input: 1024 * 1024,
            bounds: Bounds::default(),
        }
    }
}

/// Options for running scripts. The library reads no environment: the caller passes it.
#[derive(Debug, Clone)]
pub struct RunnerOptions {
    /// The directories in which interpreters are looked for, as the variable `PATH` has them.
    pub path: OsString,
    /// Variables of the user's environment. Of them a script sees the locale (`LANG`, `TZ`, `LC_ALL` and the other
    /// categories that the C library knows), and those that were granted by name.
    pub environment: Vec<(OsString, OsString)>,
    /// The limits of one run.
    pub limits: RunLimits,
    /// The number of scripts that run at once; more are refused.
    pub concurrent: usize,
    /// The directory for packages that Python scripts ask for.
    pub packages: Option<PathBuf>,
    /// The gate that answers whether a program may have the permissions that it asks for.
    pub consent: Arc<dyn ConsentGate>,
    /// The rules about which permissions can be granted at all.
    pub rules: PermissionRules,
    /// The organisation's policy, if it lets no script run.
    pub refusal: Option<PolicyRefusal>,
}

impl Default for RunnerOptions {
    /// The system's programs, no environment, nothing allowed, eight scripts at once.
    fn default() -> RunnerOptions {
        RunnerOptions {
            path: "/usr/local/bin:/usr/bin:/bin".into(),
            environment: Vec::new(),
            limits: RunLimits::default(),
            concurrent: 8,
            packages: None,
            consent: Arc::new(ConsentStore::default()),
            rules: PermissionRules::default(),
            refusal: None,
        }
    }
}

/// One script to run.
#[derive(Clone, Copy)]
pub struct RunRequest<'r> {
    /// The skill's directory. Its name is the `SKILL_NAME` that the script sees.
    pub dir: &'r SkillDir,
    /// The skill's address, if its name means another skill: questions about it use it.
    pub address: Option<&'r str>,
    /// The skill's manifest: names scripts, and asks for permissions.
    pub manifest: &'r Manifest,
    /// The script's path below the skill's directory; `scripts/` before it may be left out.
    pub script: &'r str,
    /// Its arguments, as they are: no shell sees them, and none becomes an option of the interpreter.
    pub arguments: &'r [String],
    /// The JSON for its standard input; without, the input is empty.
    pub input: Option<&'r Value>,
    /// Bytes for its standard input, instead of `input`: JSON of others, with the numbers and the order that it has.
    pub stdin: Option<&'r [u8]>,
    /// Variables that the calling program sets for the script, instead of those of the same name.
    pub variables: &'r [(OsString, OsString)],
    /// Called with the output as it comes, up to the limit.
    pub on_output: &'r dyn Fn(Stream, &[u8]),
    /// Returns whether to stop. Called every few milliseconds.
    pub cancelled: &'r dyn Fn() -> bool,
}

impl<'r> RunRequest<'r> {
    /// Creates a request for `script` without arguments, without a listener to its output, and never cancelled.
    pub fn new(dir: &'r SkillDir, manifest: &'r Manifest, script: &'r str) -> RunRequest<'r> {
        RunRequest {
            dir,
            address: None,
            manifest,
            script,
            arguments: &[],
            input: None,
            stdin: None,
            variables: &[],
            on_output: &|_, _| {},
            cancelled: &|| false,
        }
    }
}

impl std::fmt::Debug for RunRequest<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunRequest")
            .field("skill", &self.dir.skill())
            .field("script", &self.script)
            .finish_non_exhaustive()
    }
}

/// Checks the number and the size of a request's arguments.
pub(crate) fn check_arguments(request: &RunRequest<'_>, limits: &RunLimits) -> Result<(), RunError> {
    let (count, bytes) = (request.arguments.len(), request.arguments.iter().map(String::len).sum::<usize>());
    let reason = if count > limits.arguments {
        format!("there are {count} arguments; at most {} are allowed", limits.arguments)
    } else if bytes > limits.argument_bytes {
        format!("the arguments have {}; at most {} are allowed", counted(bytes, "byte"), limits.argument_bytes)
    } else if request.arguments.iter().any(|argument| argument.contains('\0')) {
        "an argument holds a NUL, which no program can get".to_owned()
    } else {
        return Ok(());
    };
    Err(RunError::ArgsTooLarge { reason })
}
