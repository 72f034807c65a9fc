//! An engine inside the sandbox: it can compute, and reach nothing. A program of its own, because it is also the
//! helper.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test")]

use std::io::{BufRead, Read, Write};
use std::net::TcpListener;
use std::os::fd::AsRawFd;
use std::time::Duration;

use skillcue_base::ErrorInfo as _;
use skillcue_exec::{Bounds, EndReason, Job, JobProgram, Launcher, Layer, SandboxPolicy, helper};
use tempfile::TempDir;

/// The engine that runs inside: does what each line asks for, and reports how it went.
fn engine() -> i32 {
    for line in std::io::stdin().lock().lines() {
        let line = line.unwrap();
        let done: Result<String, String> = match line.as_str() {
            "hello" => Ok("hello".to_owned()),
            "thread" => Ok(std::thread::spawn(|| "joined").join().unwrap().to_owned()),
            "allocate" => Ok(vec![1_u8; 32 << 20].len().to_string()),
            "sleep" => {
                std::thread::sleep(Duration::from_millis(1));
                Ok("slept".to_owned())
            }
            "read" => std::fs::read_to_string("/etc/passwd").map_err(|error| error.to_string()),
            "list" => std::fs::read_dir("/").map(|_| String::new()).map_err(|error| error.to_string()),
            "run" => std::process::Command::new("/bin/true")
                .status()
                .map(|it| it.to_string())
                .map_err(|error| error.to_string()),
            "descriptors" => {
                // A new one gets the lowest free number.
                let next = std::io::pipe().unwrap().0.as_raw_fd();
                if next == 3 { Ok("none".to_owned()) } else { Err(format!("{next} is the next")) }
            }
            "panic" => panic!("as asked"),
            "hog" => loop {
                std::hint::black_box(vec![1_u8; 64 << 20].leak());
            },
            "end" => return 7,
            _ => match line.split_once(' ') {
                Some(("write", path)) => {
                    std::fs::write(path, "x").map(|()| "x".to_owned()).map_err(|it| it.to_string())
                }
                Some(("connect", address)) => {
                    std::net::TcpStream::connect(address).map(|_| "x".to_owned()).map_err(|it| it.to_string())
                }
                _ => Err("what?".to_owned()),
            },
        };
        let mut stdout = std::io::stdout().lock();
        match done {
            Ok(said) => writeln!(stdout, "did {line}: {}", said.len().min(99)).unwrap(),
            Err(error) => writeln!(stdout, "refused {line}: {error}").unwrap(),
        }
    }
    0
}

fn ask(launcher: &Launcher, bounds: Bounds, words: &[&str]) -> (String, skillcue_exec::JobEnd) {
    let job = Job { bounds, ..Job::new(JobProgram::Engine, SandboxPolicy::nothing()) };
    let mut child = launcher.spawn(&job).unwrap();
    assert!(child.report().sandboxed && child.report().has(Layer::Seccomp));
    let mut stdin = child.take_stdin().unwrap();
    stdin.write_all(format!("{}\n", words.join("\n")).as_bytes()).unwrap();
    drop(stdin);
    let mut output = String::new();
    child.take_stdout().unwrap().read_to_string(&mut output).unwrap();
    (output, child.wait().unwrap())
}

fn main() {
    helper::run_if_asked(Some(engine));
    if !cfg!(target_os = "linux") {
        println!("skipped: the engine's filter is Linux's");
        return;
    }
    let all = Launcher::new(std::env::current_exe().unwrap());
    let fewer = all.clone().without(&[
        Layer::UserNamespace,
        Layer::PidNamespace,
        Layer::NetworkNamespace,
        Layer::IpcNamespace,
        Layer::MountNamespace,
    ]);
    let (dir, listener) = (tempfile::tempdir().unwrap(), TcpListener::bind("127.0.0.1:0").unwrap());
    for launcher in [all, fewer] {
        let allowed = ["hello", "thread", "allocate", "sleep", "descriptors", "end"];
        let (output, ended) = ask(&launcher, Bounds::default(), &allowed);
        for word in &allowed[..5] {
            assert!(output.contains(&format!("did {word}")), "{output}");
        }
        assert_eq!((ended.code, ended.signal, ended.reason), (Some(7), None, None));

        let refused = deeds(&dir, &listener);
        let words: Vec<&str> = refused.iter().map(String::as_str).collect();
        let (output, ended) = ask(&launcher, Bounds::default(), &words);
        for word in words {
            assert!(output.contains(&format!("refused {word}: ")), "{output}");
        }
        assert_eq!(ended.code, Some(0), "the end of its input is its end");

        let (_, ended) = ask(&launcher, Bounds::default(), &["panic"]);
        assert_eq!(ended.code, Some(101));

        // Too much for itself, and it aborts; too much for all, and it is ended.
        let small = Bounds { memory: 128 << 20, ..Bounds::default() };
        let (_, ended) = ask(&launcher, small, &["hog"]);
        assert_eq!((ended.code, ended.signal, ended.reason), (None, Some(6), None));
        let together = Bounds { memory: 4 << 30, memory_total: 128 << 20, ..Bounds::default() };
        let (_, ended) = ask(&launcher, together, &["hog"]);
        assert_eq!(ended.reason, Some(EndReason::Memory));

        // Killed from another thread, and by being dropped.
        let mut child = launcher.spawn(&Job::new(JobProgram::Engine, SandboxPolicy::nothing())).unwrap();
        let killer = child.killer().unwrap();
        assert_eq!(child.try_wait().unwrap(), None);
        std::thread::spawn(move || killer.kill());
        assert_eq!(child.wait().unwrap().reason, Some(EndReason::Killed));
        drop(launcher.spawn(&Job::new(JobProgram::Engine, SandboxPolicy::nothing())).unwrap());
    }
    without_a_sandbox(&deeds(&dir, &listener));
}

/// Returns deeds that an engine is refused, and can do without a sandbox.
fn deeds(dir: &TempDir, listener: &TcpListener) -> [String; 5] {
    let (file, address) = (dir.path().join("written"), listener.local_addr().unwrap());
    ["read".into(), "list".into(), "run".into(), format!("write {}", file.display()), format!("connect {address}")]
}

/// Checks that the engine is the helper started once more, where there is no sandbox and running without is allowed.
fn without_a_sandbox(deeds: &[String]) {
    // A descriptor that is open for inheritance: the engine must not get it.
    let _leak = rustix::io::dup(std::io::stderr()).unwrap();
    let launcher = Launcher::new(std::env::current_exe().unwrap()).without(&[Layer::Supervisor]);
    let job = Job::new(JobProgram::Engine, SandboxPolicy::nothing());
    assert_eq!(launcher.spawn(&job).unwrap_err().code(), "sandbox_unavailable");
    let launcher = launcher.allow_unsandboxed(true);
    let mut child = launcher.spawn(&job).unwrap();
    assert!(!child.report().sandboxed);
    child.take_stdin().unwrap().write_all(b"hello\ndescriptors\nend\n").unwrap();
    let mut output = String::new();
    child.take_stdout().unwrap().read_to_string(&mut output).unwrap();
    assert_eq!(output, "did hello: 5\ndid descriptors: 4\n");
    assert_eq!(child.wait().unwrap().code, Some(7));
    // The control: nothing refuses it what the sandbox does.
    let mut child = launcher.spawn(&job).unwrap();
    child.take_stdin().unwrap().write_all(format!("{}\n", deeds.join("\n")).as_bytes()).unwrap();
    let mut output = String::new();
    child.take_stdout().unwrap().read_to_string(&mut output).unwrap();
    for deed in deeds {
        assert!(output.contains(&format!("did {deed}: ")), "{output}");
    }
    child.wait().unwrap();
    let mut child = launcher.spawn(&job).unwrap();
    child.kill();
    assert_eq!(child.wait().unwrap().reason, Some(EndReason::Killed));
}
