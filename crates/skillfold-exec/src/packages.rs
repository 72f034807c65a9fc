//! Packages that a Python script asks for in its header (PEP 723), brought by `uv`.
//!
//! `uv` runs in the sandbox too: what it installs is chosen by the script, and a package can replace the very
//! interpreter that `uv` asks about its version next time. It writes a directory that belongs to this one skill, so that
//! no skill's packages touch another's, installs wheels only (building a package runs its code), and reaches the network
//! only if the skill may.

use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::digest::hex;
use crate::interpreter::{self, Chosen, Interpreter, Wanted};
use crate::job::{Bounds, Job, Policy, Program};
use crate::launcher::Launcher;

/// How long bringing packages may take.
const PATIENCE: Duration = Duration::from_mins(5);

/// How the network is reached. No index that may have a password in its address.
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

/// What a script's header asks for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Header {
    pub(crate) dependencies: Vec<String>,
    pub(crate) requires_python: Option<String>,
}

impl Header {
    /// The header in a script's text, if there is one; an error if it cannot be read.
    pub(crate) fn of(text: &str) -> Result<Option<Header>, String> {
        let mut lines = text.lines().skip_while(|line| line.trim_end() != "# /// script");
        if lines.next().is_none() {
            return Ok(None);
        }
        let mut inside = String::new();
        for line in lines {
            let line = line.trim_end();
            if line == "# ///" {
                let table: toml::Table = inside.parse().map_err(|error: toml::de::Error| {
                    format!("its `# /// script` header cannot be read: {}", error.message())
                })?;
                let list = table.get("dependencies").and_then(toml::Value::as_array);
                let texts = list.into_iter().flatten().filter_map(|it| it.as_str().map(str::to_owned));
                let requires_python = table.get("requires-python").and_then(|it| it.as_str().map(str::to_owned));
                return Ok(Some(Header { dependencies: texts.collect(), requires_python }));
            }
            let Some(rest) = line.strip_prefix('#') else { break };
            inside.push_str(rest.strip_prefix(' ').unwrap_or(rest));
            inside.push('\n');
        }
        // Not ended: no header, says the specification.
        Ok(None)
    }
}

/// Why packages are not there.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// There is no `uv`, or no place to keep what it brings.
    NoUv(String),
    /// They are not here yet, and the skill may not use the network.
    NeedsNetwork,
    Cancelled,
    Failed(String),
}

/// Who asks for packages.
pub(crate) struct Asking<'a> {
    pub(crate) launcher: &'a Launcher,
    pub(crate) path: &'a OsStr,
    /// Where packages are kept.
    pub(crate) store: Option<&'a Path>,
    pub(crate) skill_dir: &'a Path,
    pub(crate) script: &'a Path,
    pub(crate) network: bool,
    /// The user's environment, of which `uv` sees how the network is reached.
    pub(crate) environment: &'a [(OsString, OsString)],
    pub(crate) cancelled: &'a dyn Fn() -> bool,
}

impl Asking<'_> {
    /// Brings the packages and answers with the interpreter that has them.
    pub(crate) fn prepare(&self) -> Result<Interpreter, Trouble> {
        let uv = interpreter::on_path("uv", self.path).ok_or_else(|| {
            Trouble::NoUv(
                "it asks for packages in its header, which needs uv (see https://docs.astral.sh/uv)".to_owned(),
            )
        })?;
        let store = self.store.ok_or_else(|| {
            Trouble::NoUv("it asks for packages in its header, and there is no directory to keep them in".to_owned())
        })?;
        let wanted = Wanted::Program { name: "python3".to_owned(), options: Vec::new() };
        let python = interpreter::find(&wanted, self.path, self.skill_dir).map_err(Trouble::NoUv)?;
        // One directory a skill: by where it is, because names repeat.
        let store = store.join(&hex(&sha2_of(self.skill_dir))[..24]);
        std::fs::create_dir_all(&store).map_err(|error| Trouble::Failed(format!("{}: {error}", store.display())))?;
        let store = store.canonicalize().map_err(|error| Trouble::Failed(error.to_string()))?;

        let sync = |network: bool| {
            let mut args = vec!["sync", "--script"].into_iter().map(OsString::from).collect::<Vec<_>>();
            args.push(self.script.into());
            args.extend(["--no-build", "--no-config", "--no-progress", "--python"].map(OsString::from));
            args.push(python.program.clone().into());
            if !network {
                args.push("--offline".into());
            }
            self.uv(&uv, &python, &store, args, network)
        };
        match sync(false) {
            Ok(_) => {}
            Err(Trouble::Failed(_)) if self.network => drop(sync(true)?),
            // `uv` found everything it needs here, and it still does not fit together.
            Err(Trouble::Failed(reason)) if !reason.contains("network was disabled") && !reason.contains("offline") => {
                return Err(Trouble::Failed(reason));
            }
            Err(Trouble::Failed(_)) => return Err(Trouble::NeedsNetwork),
            Err(other) => return Err(other),
        }
        let mut args = vec!["python", "find", "--script"].into_iter().map(OsString::from).collect::<Vec<_>>();
        args.push(self.script.into());
        args.extend(["--no-config", "--offline", "--no-python-downloads"].map(OsString::from));
        let found = PathBuf::from(self.uv(&uv, &python, &store, args, false)?.trim());
        checked(found, &python, &store)
    }

    /// Runs `uv` in the sandbox; answers with what it printed.
    fn uv(
        &self,
        uv: &Path,
        python: &Interpreter,
        store: &Path,
        args: Vec<OsString>,
        network: bool,
    ) -> Result<String, Trouble> {
        let failed = |error: &dyn std::fmt::Display| Trouble::Failed(error.to_string());
        let mut policy = Policy::program(uv);
        policy.read.extend(python.paths());
        policy.read.push(self.skill_dir.to_path_buf());
        policy.write.push(store.to_path_buf());
        if network {
            policy = policy.with_network();
        }
        let mut job = Job::new(Program::File(uv.to_path_buf()), policy);
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
        let until = Instant::now() + PATIENCE;
        let ended = loop {
            if let Some(ended) = child.wait_timeout(Duration::from_millis(20)).map_err(|error| failed(&error))? {
                break ended;
            }
            if (self.cancelled)() {
                return Err(Trouble::Cancelled);
            }
            if Instant::now() >= until {
                return Err(Trouble::Failed(format!("uv did not finish in {} s", PATIENCE.as_secs())));
            }
        };
        let (stdout, stderr) = (stdout.join().unwrap_or_default(), stderr.join().unwrap_or_default());
        if ended.code == Some(0) { Ok(stdout) } else { Err(Trouble::Failed(last_lines(&stderr))) }
    }
}

/// What `uv` answered is as little trusted as what it installed: an interpreter counts only if it is one of ours.
fn checked(found: PathBuf, python: &Interpreter, store: &Path) -> Result<Interpreter, Trouble> {
    let strange = || Trouble::Failed(format!("uv named {} as the interpreter", found.display()));
    let environment = found.parent().and_then(Path::parent).map(Path::to_path_buf).ok_or_else(strange)?;
    let inside = environment.canonicalize().is_ok_and(|real| real == environment && real.starts_with(store));
    let real = found.canonicalize().map_err(|_| strange())?;
    let base = python.program.canonicalize().map_err(|_| strange())?;
    if !inside || (real.parent() != base.parent() && !real.starts_with(store)) {
        return Err(strange());
    }
    let mut extra = vec![environment];
    extra.extend(python.paths());
    // Interpreters that `uv` has brought; a link that was put there must not make anything else readable.
    extra.extend(store.join("python").canonicalize().ok().filter(|real| real.starts_with(store)));
    Ok(Interpreter { program: found, options: Vec::new(), extra, chosen: Chosen::OfSkill })
}

fn sha2_of(path: &Path) -> [u8; 32] {
    use sha2::Digest;
    use std::os::unix::ffi::OsStrExt;
    sha2::Sha256::digest(path.as_os_str().as_bytes()).into()
}

/// The end of what a program complained about, where the reason stands.
fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines[lines.len().saturating_sub(6)..].join("; ")
}

#[cfg(test)]
mod tests {
    use super::Header;

    #[test]
    fn headers() {
        let text = "#!/usr/bin/env python3\n# /// script\n# requires-python = \">=3.11\"\n# dependencies = [\n#   \"six\",\n# ]\n# ///\nimport six\n";
        let header = Header::of(text).unwrap().unwrap();
        assert_eq!(header.dependencies, ["six"]);
        assert_eq!(header.requires_python.as_deref(), Some(">=3.11"));
        assert_eq!(Header::of("import os\n").unwrap(), None);
        assert_eq!(Header::of("# /// script\n# dependencies = []\nimport x\n").unwrap(), None, "never ended");
        assert_eq!(Header::of("# /// script\n#\n# ///\n").unwrap(), Some(Header::default()));
        assert!(Header::of("# /// script\n# dependencies = [\n# ///\n").is_err());
    }
}
