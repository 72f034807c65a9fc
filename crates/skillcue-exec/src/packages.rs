//! Packages that a Python script asks for in its header (PEP 723), installed by `uv`.
//!
//! `uv` runs in the sandbox too: what it installs is chosen by the script, and a package can replace the very
//! interpreter that `uv` asks about its version next time. It writes a directory that belongs to this one skill, so
//! that no skill's packages touch another's, installs wheels only (building a package runs its code), and reaches the
//! network only if the skill may.

use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use skillcue_base::Digest;

use crate::interpreter::{self, Interpreter, InterpreterOrigin, InterpreterSpec};
use crate::job::{Bounds, Job, JobProgram, SandboxPolicy};
use crate::launcher::Launcher;

/// Variables that say how the network is reached. No address of an index, which may have a password in it.
const NETWORK: &[&str] = &[
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
];

/// The header of a script: the packages and the Python that it asks for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct ScriptHeader {
    pub(crate) dependencies: Vec<String>,
    pub(crate) requires_python: Option<String>,
}

impl ScriptHeader {
    /// Reads the header in a script's text, if there is one; an error, with its line, if it cannot be read.
    pub(crate) fn of(text: &str) -> Result<Option<ScriptHeader>, String> {
        let mut found: Option<(usize, ScriptHeader)> = None;
        let mut lines = text.lines().map(str::trim_end).zip(1..);
        while let Some((line, begin)) = lines.next() {
            if line != "# /// script" {
                continue;
            }
            let mut inside = String::new();
            // One that is not ended is no header, says the specification.
            for (line, _) in lines.by_ref() {
                if line == "# ///" {
                    let header = ScriptHeader::read(&inside).map_err(|reason| format!("line {begin}: {reason}"))?;
                    if let Some((first, _)) = &found {
                        return Err(format!(
                            "line {begin}: a second `# /// script` header; the first is in line {first}"
                        ));
                    }
                    found = Some((begin, header));
                    break;
                }
                let Some(rest) = line.strip_prefix('#') else { break };
                inside.push_str(rest.strip_prefix(' ').unwrap_or(rest));
                inside.push('\n');
            }
        }
        Ok(found.map(|(_, header)| header))
    }

    fn read(text: &str) -> Result<ScriptHeader, String> {
        let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
            format!("its `# /// script` header cannot be read: {}", error.message())
        })?;
        let no_list = || "`dependencies` in its header must be a list of texts".to_owned();
        let no_text = || "`requires-python` in its header must be a text".to_owned();
        let dependencies = match table.get("dependencies") {
            Some(list) => list.as_array().ok_or_else(no_list)?.as_slice(),
            None => &[],
        };
        let dependencies = dependencies.iter().map(|it| it.as_str().map(str::to_owned).ok_or_else(no_list));
        let requires_python = table.get("requires-python").map(|it| it.as_str().map(str::to_owned).ok_or_else(no_text));
        Ok(ScriptHeader {
            dependencies: dependencies.collect::<Result<_, _>>()?,
            requires_python: requires_python.transpose()?,
        })
    }

    /// Returns whether a Python of this version will do. A clause that is not understood here refuses nothing.
    pub(crate) fn accepts(&self, version: &[u32]) -> bool {
        let wanted = self.requires_python.as_deref().unwrap_or_default();
        wanted.split(',').all(|clause| accepts(clause.trim(), version).unwrap_or(true))
    }
}

/// Returns whether a version meets one clause, such as `>=3.11`; nothing, if the clause is not understood.
fn accepts(clause: &str, version: &[u32]) -> Option<bool> {
    let number = clause.find(|it: char| it.is_ascii_digit())?;
    let (operator, wanted) = (clause[..number].trim(), &clause[number..]);
    let (wanted, any) = wanted.strip_suffix(".*").map_or((wanted, false), |wanted| (wanted, true));
    let wanted = wanted.split('.').map(|part| part.parse().ok()).collect::<Option<Vec<u32>>>()?;
    let part = |list: &[u32], at: usize| list.get(at).copied().unwrap_or(0);
    // Only as far as the version is known.
    let compared = (0..wanted.len().max(3).min(version.len())).map(|at| part(version, at).cmp(&part(&wanted, at)));
    let order = compared.fold(std::cmp::Ordering::Equal, std::cmp::Ordering::then);
    let same = |length: usize| version.iter().zip(&wanted).take(length).all(|(a, b)| a == b);
    Some(match operator {
        ">=" => order.is_ge(),
        ">" => order.is_gt(),
        "<=" => order.is_le(),
        "<" => order.is_lt(),
        "==" | "===" => {
            if any {
                same(wanted.len())
            } else {
                order.is_eq()
            }
        }
        "!=" => !(if any { same(wanted.len()) } else { order.is_eq() }),
        "~=" => order.is_ge() && same(wanted.len().saturating_sub(1)),
        _ => return None,
    })
}

/// The reason why a script's packages are missing.
#[derive(Debug)]
pub(crate) enum PackagesError {
    /// There is no `uv`, or no directory for the packages that it installs.
    NoUv(String),
    /// They are not here yet, and the skill may not use the network.
    NeedsNetwork,
    Cancelled,
    Failed(String),
}

/// A request for the packages of one script.
pub(crate) struct PackageRequest<'a> {
    pub(crate) launcher: &'a Launcher,
    pub(crate) path: &'a OsStr,
    /// The directory in which packages are kept.
    pub(crate) store: Option<&'a Path>,
    pub(crate) skill_dir: &'a Path,
    pub(crate) script: &'a Path,
    pub(crate) network: bool,
    /// The user's environment, of which `uv` sees how the network is reached.
    pub(crate) environment: &'a [(OsString, OsString)],
    pub(crate) cancelled: &'a dyn Fn() -> bool,
    /// The time that it may take in all: as long as the run that needs them.
    pub(crate) limit: Duration,
    pub(crate) began: Instant,
}

impl PackageRequest<'_> {
    /// Installs the packages and returns the interpreter that has them.
    pub(crate) fn prepare(&self) -> Result<Interpreter, PackagesError> {
        let uv = interpreter::on_path("uv", self.path).ok_or_else(|| {
            PackagesError::NoUv(
                "it asks for packages in its header, which needs uv (see https://docs.astral.sh/uv)".to_owned(),
            )
        })?;
        let store = self.store.ok_or_else(|| {
            PackagesError::NoUv(
                "it asks for packages in its header, and there is no directory to keep them in".to_owned(),
            )
        })?;
        let spec = InterpreterSpec::Program { name: "python3".to_owned(), options: Vec::new() };
        let python = interpreter::find(&spec, self.path, self.skill_dir).map_err(PackagesError::NoUv)?;
        // One directory a skill: by where it is, because names repeat.
        let store = store.join(&Digest::of(self.skill_dir.as_os_str().as_bytes()).to_string()[..24]);
        std::fs::create_dir_all(&store)
            .map_err(|error| PackagesError::Failed(format!("{}: {error}", store.display())))?;
        let store = store.canonicalize().map_err(|error| PackagesError::Failed(error.to_string()))?;

        let sync = |network: bool| {
            let mut args = vec!["sync", "--script"].into_iter().map(OsString::from).collect::<Vec<_>>();
            args.push(self.script.into());
            args.extend(["--no-build", "--no-config", "--no-progress", "--python"].map(OsString::from));
            args.push(python.program.clone().into());
            if !network {
                args.push("--offline".into());
            }
            self.run_uv(&uv, &python, &store, args, network)
        };
        match sync(false) {
            Ok(_) => {}
            Err(PackagesError::Failed(_)) if self.network => drop(sync(true)?),
            // `uv` found everything it needs here, and it still does not fit together.
            Err(PackagesError::Failed(reason))
                if !reason.contains("network was disabled") && !reason.contains("offline") =>
            {
                return Err(PackagesError::Failed(reason));
            }
            Err(PackagesError::Failed(_)) => return Err(PackagesError::NeedsNetwork),
            Err(other) => return Err(other),
        }
        let mut args = vec!["python", "find", "--script"].into_iter().map(OsString::from).collect::<Vec<_>>();
        args.push(self.script.into());
        args.extend(["--no-config", "--offline", "--no-python-downloads"].map(OsString::from));
        let found = PathBuf::from(self.run_uv(&uv, &python, &store, args, false)?.trim());
        check_interpreter(found, &python, &store)
    }

    /// Runs `uv` in the sandbox; returns what it printed.
    fn run_uv(
        &self,
        uv: &Path,
        python: &Interpreter,
        store: &Path,
        args: Vec<OsString>,
        network: bool,
    ) -> Result<String, PackagesError> {
        let failed = |error: &dyn std::fmt::Display| PackagesError::Failed(error.to_string());
        let mut policy = SandboxPolicy::program(uv);
        policy.read.extend(python.paths());
        policy.read.push(self.skill_dir.to_path_buf());
        policy.write.push(store.to_path_buf());
        if network {
            policy = policy.with_network();
        }
        let mut job = Job::new(JobProgram::File(uv.to_path_buf()), policy);
        job.args = args;
        let set = |name: &str, value: OsString| (OsString::from(name), value);
        job.env = vec![
            set("PATH", "/usr/bin:/bin".into()),
            set("UV_CACHE_DIR", store.join("cache").into()),
            set("UV_PYTHON_INSTALL_DIR", store.join("python").into()),
            set("UV_NO_PROGRESS", "1".into()),
            set("NO_COLOR", "1".into()),
            // The system's certificates, as `uv` calls them now and called them before.
            set("UV_SYSTEM_CERTS", "1".into()),
            set("UV_NATIVE_TLS", "1".into()),
        ];
        if network {
            let reaching = self.environment.iter().filter(|(name, _)| NETWORK.iter().any(|known| name == known));
            job.env.extend(reaching.cloned());
            let certificates = job.env.iter().filter(|(name, _)| name == "SSL_CERT_FILE" || name == "SSL_CERT_DIR");
            job.policy.read.extend(certificates.map(|(_, path)| PathBuf::from(path)));
        }
        job.bounds = Bounds { file_size: 4 << 30, memory_total: 4 << 30, memory: 2 << 30, ..Bounds::default() };
        job.bounds.wall = Some(self.limit.saturating_sub(self.began.elapsed()));
        let mut child = self.launcher.spawn(&job).map_err(|error| failed(&error))?;
        drop(child.take_stdin());
        let read = |pipe: Option<std::fs::File>| {
            std::thread::spawn(move || {
                let mut bytes = Vec::new();
                let _ = pipe.map(|pipe| pipe.take(256 * 1024).read_to_end(&mut bytes));
                String::from_utf8_lossy(&bytes).into_owned()
            })
        };
        let (stdout, stderr) = (read(child.take_stdout()), read(child.take_stderr()));
        let ended = loop {
            if let Some(ended) = child.wait_timeout(Duration::from_millis(20)).map_err(|error| failed(&error))? {
                break ended;
            }
            if (self.cancelled)() {
                return Err(PackagesError::Cancelled);
            }
            if self.began.elapsed() >= self.limit {
                return Err(PackagesError::Failed(format!("uv did not finish in {} s", self.limit.as_secs())));
            }
        };
        let (stdout, stderr) = (stdout.join().unwrap_or_default(), stderr.join().unwrap_or_default());
        if ended.code == Some(0) { Ok(stdout) } else { Err(PackagesError::Failed(last_lines(&stderr))) }
    }
}

/// Checks the interpreter that `uv` names: its answer is as little trusted as what it installed, so that an interpreter
/// counts only if it is one of ours.
fn check_interpreter(found: PathBuf, python: &Interpreter, store: &Path) -> Result<Interpreter, PackagesError> {
    let strange = || PackagesError::Failed(format!("uv named {} as the interpreter", found.display()));
    let environment = found.parent().and_then(Path::parent).map(Path::to_path_buf).ok_or_else(strange)?;
    let inside = environment.canonicalize().is_ok_and(|real| real == environment && real.starts_with(store));
    let real = found.canonicalize().map_err(|_| strange())?;
    let base = python.program.canonicalize().map_err(|_| strange())?;
    if !inside || (real.parent() != base.parent() && !real.starts_with(store)) {
        return Err(strange());
    }
    let mut extra = vec![environment];
    extra.extend(python.paths());
    // Interpreters that `uv` has installed; a link that was put there must not make anything else readable.
    extra.extend(store.join("python").canonicalize().ok().filter(|real| real.starts_with(store)));
    Ok(Interpreter { program: found, options: Vec::new(), extra, origin: InterpreterOrigin::OfSkill })
}

/// Returns the end of a program's complaints, where the reason is.
fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines[lines.len().saturating_sub(6)..].join("; ")
}

#[cfg(test)]
mod tests {
    use super::ScriptHeader;

    #[test]
    fn headers() {
        let text = "#!/usr/bin/env python3\n# /// script\n# requires-python = \">=3.11\"\n# dependencies = [\n#   \"six\",\n# ]\n# ///\nimport six\n";
        let header = ScriptHeader::of(text).unwrap().unwrap();
        assert_eq!(header.dependencies, ["six"]);
        assert_eq!(header.requires_python.as_deref(), Some(">=3.11"));
        assert_eq!(ScriptHeader::of("import os\n").unwrap(), None);
        assert_eq!(ScriptHeader::of("# /// script\n# dependencies = []\nimport x\n").unwrap(), None, "never ended");
        assert_eq!(ScriptHeader::of("# /// script\n#\n# ///\n").unwrap(), Some(ScriptHeader::default()));
        for (broken, says) in [
            ("# /// script\n# dependencies = [\n# ///\n", "line 1: "),
            ("\n# /// script\n# dependencies = 'six'\n# ///\n", "line 2: `dependencies`"),
            ("# /// script\n# dependencies = [1]\n# ///\n", "list of texts"),
            ("# /// script\n# requires-python = 3\n# ///\n", "`requires-python`"),
            ("# /// script\n# ///\n# /// script\n# ///\n", "line 3: a second"),
        ] {
            let error = ScriptHeader::of(broken).unwrap_err();
            assert!(error.contains(says), "{error}");
        }
    }

    #[test]
    fn versions() {
        let accepts = |wanted: &str, version: &[u32]| {
            ScriptHeader { requires_python: Some(wanted.to_owned()), ..ScriptHeader::default() }.accepts(version)
        };
        for yes in [">=3.11", ">=3.12.4", ">3.11,<4", "==3.12.*", "~=3.12", "!=3.11.*", "<=3.12.4", "", "what"] {
            assert!(accepts(yes, &[3, 12, 4]), "{yes}");
        }
        for no in [">=3.13", "<3.12", "==3.11.*", "~=3.13", ">=3.11,!=3.12.*", ">=3.12.5", "==3.12", "~=4.0"] {
            assert!(!accepts(no, &[3, 12, 4]), "{no}");
        }
        assert!(accepts(">=3.12.9", &[3, 12]), "more is not known");
    }
}
