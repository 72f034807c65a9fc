//! Start-up costs that can be counted without a clock; `bench` has the times.

use std::fs;

use crate::sandbox::Sandbox;

/// The loader writes to every page that holds a relocation, at every start.
#[test]
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn the_program_is_linked_at_a_fixed_address() {
    let program = fs::read(env!("CARGO_BIN_EXE_skillcue")).unwrap();
    assert_eq!(&program[..4], b"\x7fELF");
    // `e_type`: 2 is an executable at a fixed address, 3 one that is relocated.
    assert_eq!(u16::from_le_bytes([program[16], program[17]]), 2);
}

/// A list that goes to a program is written in a few large pieces: a socket that keeps the borders of messages counts
/// them.
#[test]
#[cfg(target_os = "linux")]
fn a_list_is_written_in_one_piece() {
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixDatagram;
    use std::process::Stdio;

    let sandbox = Sandbox::new();
    for number in 0..50 {
        sandbox.skill(&format!("work/skills/number-{number}"), "Counts.");
    }
    let (ours, theirs) = UnixDatagram::pair().unwrap();
    let mut command = sandbox.command(&["list"]);
    let status = command.stdout(Stdio::from(OwnedFd::from(theirs))).stderr(Stdio::null()).status().unwrap();
    assert!(status.success());
    drop(command);
    ours.set_nonblocking(true).unwrap();
    let (mut pieces, mut all) = (0, Vec::new());
    let mut buffer = vec![0; 1 << 20];
    while let Ok(length @ 1..) = ours.recv(&mut buffer) {
        pieces += 1;
        all.extend_from_slice(&buffer[..length]);
    }
    let lines = String::from_utf8(all).unwrap().lines().filter(|line| line.contains("number-")).count();
    assert_eq!((lines, pieces), (50, 1));
}

/// Issue 15: threads are started when there is work for them. They stay once they are started, so it is enough to count
/// them while the answer is written: into a pipe that takes one page, without a reader.
#[test]
#[cfg(target_os = "linux")]
fn few_skills_start_no_threads() {
    use std::process::Stdio;

    let sandbox = Sandbox::new();
    let skill = |name: &str| {
        let body = "Another line of what it says.\n".repeat(200);
        let text = format!("---\nname: {name}\ndescription: Counts {name}. Use when asked.\n---\n{body}");
        sandbox.write(&format!("work/skills/{name}/SKILL.md"), text);
    };
    (0..100).for_each(|number| skill(&format!("number-{number}")));
    let threads = |args: &[&str]| -> usize {
        let (ours, theirs) = std::io::pipe().unwrap();
        rustix::pipe::fcntl_setpipe_size(&ours, 4096).unwrap();
        let mut command = sandbox.command(args);
        let mut child = command.stdout(Stdio::from(theirs)).stderr(Stdio::null()).spawn().unwrap();
        drop(command);
        while rustix::io::ioctl_fionread(&ours).unwrap() == 0 {
            assert!(child.try_wait().unwrap().is_none(), "{args:?} says nothing");
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        let threads = fs::read_dir(format!("/proc/{}/task", child.id())).unwrap().count();
        assert!(child.try_wait().unwrap().is_none(), "{args:?} says less than a page");
        child.kill().unwrap();
        child.wait().unwrap();
        threads
    };
    // The first run has no cache, the second has.
    for args in [&["list"][..], &["prompt"], &["context", "--mode", "keyword", "number-7"]] {
        for _ in 0..2 {
            assert_eq!(threads(args), 1, "{args:?}");
        }
    }
    // Control: so many are work for several threads.
    (100..3_000).for_each(|number| skill(&format!("number-{number}")));
    if std::thread::available_parallelism().is_ok_and(|cores| cores.get() > 1) {
        assert!(threads(&["list"]) > 1);
    } else {
        println!("skipped: the control needs two cores");
    }
}
