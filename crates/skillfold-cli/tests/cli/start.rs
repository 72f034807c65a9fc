//! Start-up costs that can be counted without a clock; `bench` has the times.

use std::fs;

use crate::sandbox::Sandbox;

/// The loader writes to every page that holds a relocation, at every start.
#[test]
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn the_program_is_linked_at_a_fixed_address() {
    let program = fs::read(env!("CARGO_BIN_EXE_skillfold")).unwrap();
    assert_eq!(&program[..4], b"\x7fELF");
    // `e_type`: 2 is an executable at a fixed address, 3 one that is relocated.
    assert_eq!(u16::from_le_bytes([program[16], program[17]]), 2);
}

/// A list that goes to a program is written in a few large pieces: a socket that keeps the borders of messages counts them.
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
