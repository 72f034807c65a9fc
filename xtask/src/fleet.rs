//! Catalogs on a real S3 server that is not ours: moto's, from PyPI, pinned in `tests/fleet`.

use crate::process::{ChoreFailure, cargo, root, run};
use crate::python;
use crate::test::StepOutcome;
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

const SUITE_DIR: &str = "tests/fleet";

/// How long the server may take to start.
const MAX_START: Duration = Duration::from_mins(2);

pub(crate) fn step() -> Result<StepOutcome, ChoreFailure> {
    let Some(system) = python::system() else {
        return Ok(StepOutcome::Skipped("there is no Python 3.11 or later on the PATH".to_owned()));
    };
    let python = match installed(system) {
        Ok(python) => python,
        Err(ChoreFailure(why)) => {
            return Ok(StepOutcome::Skipped(format!("moto could not be installed: {why}")));
        }
    };
    // Built before the server waits.
    run(cargo().args(["test", "--no-run", "--quiet", "--package", "skillcue-fleet", "--test", "s3"]))?;
    let server = Server::start(&python, "server.py", &[])?;
    let endpoint = format!("http://127.0.0.1:{}", server.port);
    println!("    moto's S3 server is at {endpoint}");
    run(cargo()
        .args([
            "test",
            "--quiet",
            "--package",
            "skillcue-fleet",
            "--test",
            "s3",
            "--",
            "--nocapture",
            "--test-threads",
            "1",
        ])
        .env("SKILLCUE_S3_ENDPOINT", endpoint))?;
    Ok(StepOutcome::Passed)
}

/// Runs `cargo xtask fleet-bench [SKILLS [OVER_THE_WIRE]]`: the costs of a catalog of many skills, which is published into a
/// directory and read over HTTP from a server of files that is not ours; before that one of fewer skills, which is published
/// to moto's S3 server, beside bare PUTs of the same objects.
pub(crate) fn bench(arguments: &[&str]) -> Result<(), ChoreFailure> {
    let count = arguments.first().copied().unwrap_or("100000");
    let wire = arguments.get(1).copied().unwrap_or("5000");
    let system = python::system().ok_or_else(|| ChoreFailure::new("there is no Python 3.11 or later on the PATH"))?;
    let python = installed(system)?;
    let dir = crate::process::target().join("fleet-bench");
    if dir.exists() {
        std::fs::remove_dir_all(&dir).map_err(|error| ChoreFailure::io("delete", &dir, &error))?;
    }
    let place = dir.to_string_lossy().into_owned();
    let measure = |role: &[&str]| {
        let example = ["run", "--release", "--package", "skillcue-fleet", "--example", "measure", "--"];
        run(cargo().args(example).args(role))
    };
    {
        let place = dir.join("wire").to_string_lossy().into_owned();
        measure(&["publish", &place, wire])?;
        let server = Server::start(&python, "server.py", &[])?;
        measure(&["wire", &place, &format!("http://127.0.0.1:{}", server.port)])?;
    }
    measure(&["publish", &place, count])?;
    let server = Server::start(&python, "files.py", &[&dir.join("store/acme").to_string_lossy()])?;
    measure(&["read", &place, &format!("http://127.0.0.1:{}", server.port)])
}

/// Returns the Python that has the server's packages.
pub(crate) fn installed(system: &str) -> Result<python::Python, ChoreFailure> {
    let path = root().join(SUITE_DIR).join("requirements.txt");
    let requirements = std::fs::read_to_string(&path).map_err(|error| ChoreFailure::io("read", &path, &error))?;
    python::environment(system, "fleet", &["--no-deps"], &python::pinned(&requirements))
}

/// The server, which ends when this is dropped.
pub(crate) struct Server {
    process: Child,
    pub(crate) port: u16,
}

impl Server {
    pub(crate) fn start(python: &python::Python, script: &str, arguments: &[&str]) -> Result<Server, ChoreFailure> {
        let failed = |error: std::io::Error| ChoreFailure::new(format!("the server does not start: {error}"));
        // Free a moment ago, which is enough on one machine.
        let port = TcpListener::bind("127.0.0.1:0").and_then(|bound| bound.local_addr()).map_err(failed)?.port();
        let script = root().join(SUITE_DIR).join(script);
        let mut command = python.command();
        command
            .arg(script)
            .arg(port.to_string())
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut server = Server { process: command.spawn().map_err(failed)?, port };
        let start = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            let is_over = server.process.try_wait().map_err(failed)?.is_some();
            if is_over || start.elapsed() > MAX_START {
                return Err(ChoreFailure::new("the server does not start"));
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It has nothing to save, and may be gone already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
