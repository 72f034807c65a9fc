//! The second backend: the same protocol spoken by `node`, `bun` or `deno`, for toolsets that need more than the engine has.
//!
//! Only what the user has granted: the program, and what it may read, write and reach. It runs in the same sandbox as
//! everything else, and sees its skill's directory, the user's packages and its own installation.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::path::Path;

use skillcue_exec::{Bounds, Job, JobProgram, Launcher, RunningJob, SandboxPolicy};

use crate::frame;
use crate::message::{FromChild, Strip, Stripped, ToChild};
use crate::subject::{Options, Runtime, Subject, ToolError};

/// The driver, handed over as an argument: the program needs no file of ours.
const DRIVER: &str = include_str!("driver.mjs");

/// The job that runs a skill's toolsets in the runtime it asks for.
pub(crate) fn job(subject: &Subject<'_>, options: &Options) -> Result<Job, ToolError> {
    let not_granted = || ToolError::NotGranted { skill: subject.name.to_owned(), runtime: subject.runtime };
    let program = subject.granted.program.as_deref().ok_or_else(not_granted)?;
    let mut policy = SandboxPolicy::program(program);
    policy.read.push(subject.dir.to_path_buf());
    policy.read.extend(options.packages.iter().cloned());
    policy.read.extend(subject.granted.read.iter().cloned());
    policy.write.extend(subject.granted.write.iter().cloned());
    policy.names.clone_from(&subject.granted.names);
    if subject.granted.network {
        policy = policy.with_network();
    }
    let megabytes = (options.limits.memory >> 20).max(64);
    let args: Vec<String> = match subject.runtime {
        Runtime::Node => vec![
            format!("--max-old-space-size={megabytes}"),
            "--no-warnings".into(),
            "--input-type=module".into(),
            "--eval".into(),
            DRIVER.into(),
        ],
        Runtime::Bun => vec!["--eval".into(), DRIVER.into()],
        Runtime::Deno => vec![
            "eval".into(),
            "--quiet".into(),
            "--no-lock".into(),
            "--no-config".into(),
            "--no-remote".into(),
            "--unstable-sloppy-imports".into(),
            format!("--import-map={}", import_map(options.packages.as_deref())),
            DRIVER.into(),
        ],
        Runtime::Embedded => return Err(not_granted()),
    };
    let mut job = Job::new(JobProgram::File(program.to_path_buf()), policy);
    job.args = args.into_iter().map(Into::into).collect();
    job.env.clone_from(&subject.granted.env);
    job.cwd = Some(subject.dir.to_path_buf());
    // The runtime's own heaps and code stand beside what scripts allocate.
    let memory = options.limits.memory + (2 << 30);
    job.bounds = Bounds { memory, memory_total: memory, ..Bounds::default() };
    Ok(job)
}

/// What deno is told of `@agent/tools`, and of zod among the user's packages.
fn import_map(packages: Option<&Path>) -> String {
    const TOOLS: &str = "const define = globalThis[Symbol.for('skillcue.define')]; \
                         export const Tool = { define }; export default Tool;";
    let mut imports = serde_json::Map::new();
    imports.insert("@agent/tools".into(), format!("data:text/javascript,{}", percent(TOOLS)).into());
    if let Some(zod) = packages.map(|dir| dir.join("node_modules/zod")).filter(|dir| dir.is_dir()) {
        let url = format!("file://{}", percent(&zod.to_string_lossy()));
        imports.insert("zod".into(), format!("{url}/index.js").into());
        imports.insert("zod/".into(), format!("{url}/").into());
    }
    format!("data:application/json,{}", percent(&serde_json::json!({ "imports": imports }).to_string()))
}

/// A text as part of a URL.
fn percent(text: &str) -> String {
    text.bytes().fold(String::new(), |mut out, byte| {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'_' | b'-' | b'@' => out.push(char::from(byte)),
            _ => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
        out
    })
}

/// An embedded engine that does nothing but strip types.
pub(crate) struct Stripper {
    launcher: Launcher,
    running: Option<(RunningJob, BufWriter<File>, BufReader<File>)>,
}

impl Stripper {
    pub(crate) fn new(launcher: &Launcher) -> Stripper {
        Stripper { launcher: launcher.clone(), running: None }
    }

    /// Strips a text; none if that could not be had.
    pub(crate) fn strip(&mut self, text: &Strip) -> Option<Stripped> {
        if self.running.is_none() {
            let mut child = self.launcher.spawn(&Job::new(JobProgram::Engine, SandboxPolicy::nothing())).ok()?;
            let (stdin, stdout) = (child.take_stdin()?, child.take_stdout()?);
            self.running = Some((child, BufWriter::new(stdin), BufReader::new(stdout)));
        }
        let (_, stdin, stdout) = self.running.as_mut()?;
        let asked = Strip { id: text.id, path: text.path.clone(), text: text.text.clone() };
        let answer = frame::write(stdin, &ToChild::Strip(asked), &[])
            .ok()
            .and_then(|()| frame::read::<FromChild>(stdout, 16 << 20).ok());
        if let Some(FromChild::Stripped(stripped)) = answer {
            return Some(stripped);
        }
        // It fell over this text; the next one gets another.
        self.running = None;
        None
    }
}
