//! Servers that stall, repositories that are too large, and which programs git starts.

use std::ffi::OsString;
use std::io::Read as _;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use skillcue_registry::{
    Disk, Exceeded, FetchError, FetchEvent, FetchLimits, FetchProgress, GitProgram, InstallOrigin,
};

use super::{Repo, history};
use crate::support::get;

/// Accepts one connection, says nothing, and waits until the other side is gone.
fn stalling() -> (u16, std::thread::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let waiting = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut buffer = [0; 1024];
        // Zero bytes or a reset: the process at the other end has ended.
        while stream.read(&mut buffer).is_ok_and(|count| count > 0) {}
    });
    (port, waiting)
}

#[test]
fn a_server_that_stalls() {
    let repo = Repo::new();
    let (port, waiting) = stalling();
    let origin = InstallOrigin::parse(&format!("git://127.0.0.1:{port}/r.git"), Path::new("/")).unwrap();
    let limits = FetchLimits { time: Duration::from_secs(1), ..FetchLimits::default() };
    let done = get(&origin, &limits, &Disk::default(), &repo.settings(&[]), &());
    let timed = matches!(&done.result, Err(FetchError::TooMuch { exceeded: Exceeded::Time(_), .. }));
    assert!(timed, "{:?}", done.result);
    assert!(done.error().ends_with("it took longer than 1 s"), "{}", done.error());
    // Ends only if git and what it started are gone.
    waiting.join().unwrap();
}

/// Cancels once it is pressed.
struct Button<'b>(&'b AtomicBool);

impl FetchProgress for Button<'_> {
    fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

#[test]
fn cancelled_while_the_server_stalls() {
    let repo = Repo::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let pressed = AtomicBool::new(false);
    let origin = InstallOrigin::parse(&format!("git://127.0.0.1:{port}/r.git"), Path::new("/")).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (mut stream, _) = listener.accept().unwrap();
            pressed.store(true, Ordering::Relaxed);
            let mut buffer = [0; 1024];
            while stream.read(&mut buffer).is_ok_and(|count| count > 0) {}
        });
        let done = get(&origin, &FetchLimits::default(), &Disk::default(), &repo.settings(&[]), &Button(&pressed));
        // Without a connection, the other thread would wait for ever.
        if !matches!(done.result, Err(FetchError::Cancelled)) {
            drop(std::net::TcpStream::connect(("127.0.0.1", port)));
            panic!("{:?}", done.result);
        }
    });
}

#[test]
fn programs_started_by_git_end_with_it() {
    let repo = Repo::new();
    let (fifo, program) = (repo.dir.path().join("fifo"), repo.dir.path().join("ssh"));
    mknodat(CWD, &fifo, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    // Keeps the pipe open as long as it lives, and does not care that git is gone.
    std::fs::write(&program, format!("#!/bin/sh\nexec 3>{}\nexec sleep 600\n", fifo.display())).unwrap();
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    let pressed = Arc::new(AtomicBool::new(false));
    let (send, gone) = std::sync::mpsc::channel();
    let button = Arc::clone(&pressed);
    std::thread::spawn(move || {
        // Opened once the program has started, read to its end when it has ended.
        let mut pipe = std::fs::File::open(fifo).unwrap();
        button.store(true, Ordering::Relaxed);
        let _ = send.send(pipe.read(&mut [0]).unwrap());
    });
    let mut git = repo.settings(&[]);
    git.env.push(("GIT_SSH_COMMAND".into(), program.into()));
    let origin = InstallOrigin::parse("git@host.invalid:o/r.git", Path::new("/")).unwrap();
    let done = get(&origin, &FetchLimits::default(), &Disk::default(), &git, &Button(&pressed));
    assert!(matches!(done.result, Err(FetchError::Cancelled)), "{:?}", done.result);
    // Not how long it takes: only so that a failure does not wait for ten minutes.
    assert_eq!(gone.recv_timeout(Duration::from_mins(1)), Ok(0), "it still runs");
}

#[test]
fn a_repository_that_is_too_large() {
    let repo = Repo::new();
    // Bytes that do not get smaller when packed.
    let mut state: u32 = 1;
    let noise: String = (0..300_000)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            char::from(b' ' + u8::try_from(state >> 26).unwrap())
        })
        .collect();
    repo.write("noise", &noise);
    repo.commit("one");
    let origin = InstallOrigin::parse(&repo.url(), Path::new("/")).unwrap();
    let limits = FetchLimits { bytes: 50_000, ..FetchLimits::default() };
    let done = get(&origin, &limits, &Disk::default(), &repo.settings(&[]), &());
    let exceeded = matches!(&done.result, Err(FetchError::TooMuch { exceeded: Exceeded::Bytes(50_000), .. }));
    assert!(exceeded, "{:?}", done.result);
    assert!(!done.target().join("noise").exists(), "not even unpacked");
}

#[derive(Default)]
struct Received(AtomicU64, AtomicU64);

impl FetchProgress for Received {
    fn report(&self, event: FetchEvent<'_>) {
        match event {
            FetchEvent::Receiving { bytes } => self.0.store(bytes, Ordering::Relaxed),
            FetchEvent::Unpacking { entries, .. } => self.1.store(entries, Ordering::Relaxed),
            _ => {}
        }
    }
}

#[test]
fn progress_is_told() {
    let (repo, _) = history();
    let origin = InstallOrigin::parse(&repo.url(), Path::new("/")).unwrap();
    let received = Received::default();
    get(&origin, &FetchLimits::default(), &Disk::default(), &repo.settings(&[]), &received).result.unwrap();
    assert!(received.0.into_inner() > 100);
    assert_eq!(received.1.into_inner(), 1);
}

#[test]
fn ssh_does_not_prompt_unless_configured() {
    let repo = Repo::new();
    let bin = repo.dir.path().join("bin");
    std::fs::create_dir(&bin).unwrap();
    let said = repo.dir.path().join("said");
    for name in ["ssh", "own"] {
        let program = format!("#!/bin/sh\necho {name} \"$@\" >> {}\nexit 1\n", said.display());
        std::fs::write(bin.join(name), program).unwrap();
        std::fs::set_permissions(bin.join(name), PermissionsExt::from_mode(0o755)).unwrap();
    }
    let origin = InstallOrigin::parse("git@host.invalid:o/r.git", Path::new("/")).unwrap();
    let asked = |git: &GitProgram| {
        let done = get(&origin, &FetchLimits::default(), &Disk::default(), git, &());
        assert!(matches!(done.result, Err(FetchError::Git { .. })), "{:?}", done.result);
        let text = std::fs::read_to_string(&said).unwrap();
        std::fs::remove_file(&said).unwrap();
        text
    };
    let mut git = repo.settings(&[]);
    let mut path = OsString::from(&bin);
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap_or_default());
    git.env.retain(|(name, _)| name != "PATH");
    git.env.push(("PATH".into(), path));
    assert!(asked(&git).starts_with("ssh -oBatchMode=yes "));
    let own = bin.join("own").to_str().unwrap().to_owned();
    git.env.push(("GIT_SSH_COMMAND".into(), own.clone().into()));
    assert!(asked(&git).starts_with("own "));
    git.env.pop();
    std::fs::write(repo.dir.path().join("gitconfig"), format!("[core]\n\tsshCommand = {own}\n")).unwrap();
    assert!(asked(&git).starts_with("own "));
}
