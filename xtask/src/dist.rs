//! `cargo xtask dist`: release archives with checksums, completions and manual pages, below `target/dist-archives/`.
//!
//! The test step `dist` packs the debug build by the same code, unpacks the archive in an empty directory, and runs the
//! README's main job there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::{ChoreFailure, ScratchDir, build_skillcue, cargo, line, root, run, skillcue, target};
use crate::smoke;
use crate::test::StepOutcome;

/// The shells that `skillcue completions` knows, each with the name that its script has in an archive.
const COMPLETIONS: [(&str, &str); 5] = [
    ("bash", "skillcue.bash"),
    ("elvish", "skillcue.elv"),
    ("fish", "skillcue.fish"),
    ("powershell", "_skillcue.ps1"),
    ("zsh", "_skillcue"),
];

/// Files of the repository that go into an archive as they are.
const DOCUMENTS: [&str; 4] = ["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"];

/// Builds the program with everything, optimised, and packs it.
pub(crate) fn main() -> Result<(), ChoreFailure> {
    let triple = host_triple()?;
    let mut build = cargo();
    build.args(["build", "--profile", "dist", "--package", "skillcue-cli", "--bin", "skillcue"]);
    build.args(["--target", &triple]);
    if triple.ends_with("linux-gnu") {
        // Since glibc 2.34 its static form resolves host names by itself, so a static program works on any Linux. At a
        // fixed address, as build.rs links it: code for any address that is linked so ends by SIGSEGV at its start.
        let flags = std::env::var("RUSTFLAGS").unwrap_or_default();
        build.env("RUSTFLAGS", format!("{flags} -C target-feature=+crt-static -C relocation-model=static").trim());
    }
    run(&mut build)?;
    let program = target().join(&triple).join("dist").join(format!("skillcue{}", std::env::consts::EXE_SUFFIX));
    let bytes = fs::read(&program).map_err(|error| ChoreFailure::io("read", &program, &error))?;
    let linkage = match needs_loader(&bytes) {
        Some(false) => "static: needs no library of the system",
        Some(true) => "dynamic: needs the C library of this system or a newer one",
        None => "not an ELF file",
    };
    let archive = pack(&program, &triple, &target().join("dist-archives"), "-9")?;
    println!("{} ({} bytes)", archive.display(), size(&archive)?);
    println!("the program has {} bytes; {linkage}", bytes.len());
    try_out(&archive)
}

/// Packs the debug build, and runs the main job from the archive.
pub(crate) fn step() -> Result<StepOutcome, ChoreFailure> {
    build_skillcue()?;
    let scratch = ScratchDir::new("dist")?;
    let first = pack(&skillcue(), &host_triple()?, &scratch.path().join("one"), "-1")?;
    let second = pack(&skillcue(), &host_triple()?, &scratch.path().join("two"), "-1")?;
    let read = |path: &Path| fs::read(path).map_err(|error| ChoreFailure::io("read", path, &error));
    if read(&first)? != read(&second)? {
        return Err(ChoreFailure::new("the same files were packed into two different archives"));
    }
    try_out(&first)?;
    Ok(StepOutcome::Passed)
}

/// Packs a program with its documents, completions and manual pages, at a level of gzip. Equal files give an equal archive,
/// byte for byte.
fn pack(program: &Path, triple: &str, out: &Path, level: &str) -> Result<PathBuf, ChoreFailure> {
    let name = format!("skillcue-{}-{triple}", env!("CARGO_PKG_VERSION"));
    let dir = out.join(&name);
    if dir.exists() {
        fs::remove_dir_all(&dir).map_err(|error| ChoreFailure::io("remove", &dir, &error))?;
    }
    let copy = |from: &Path, to: PathBuf| {
        fs::copy(from, &to).map(|_| ()).map_err(|error| ChoreFailure::io("write", &to, &error))
    };
    for part in ["completions", "man/man1"] {
        let part = dir.join(part);
        fs::create_dir_all(&part).map_err(|error| ChoreFailure::io("create", &part, &error))?;
    }
    copy(program, dir.join(program.file_name().unwrap_or_default()))?;
    for document in DOCUMENTS {
        copy(&root().join(document), dir.join(document))?;
    }
    for (shell, file) in COMPLETIONS {
        write(&dir.join("completions").join(file), &output(program, &["completions", shell])?)?;
    }
    let main_page = output(program, &["man"])?;
    for command in commands_of(&main_page) {
        let page = output(program, &["man", command])?;
        write(&dir.join(format!("man/man1/skillcue-{command}.1")), &page)?;
    }
    write(&dir.join("man/man1/skillcue.1"), &main_page)?;

    let archive = format!("{name}.tar.gz");
    let mut tar = Command::new("tar");
    // Names in order, no owners, and the time of the last commit: the same files give the same bytes.
    tar.args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--format=ustar"]);
    tar.args([&format!("--mtime=@{}", commit_time()), "--mode=u+rw,go+r,go-w,a+X"]);
    run(tar.args([&*format!("--use-compress-program=gzip {level} -n"), "-cf", &archive, &name]).current_dir(out))?;
    let sums = Command::new("sha256sum").arg(&archive).current_dir(out).output();
    let sums = sums.map_err(|error| ChoreFailure::new(format!("cannot start `sha256sum`: {error}")))?;
    write(&out.join("SHA256SUMS"), &String::from_utf8_lossy(&sums.stdout))?;
    Ok(out.join(archive))
}

/// Checks an archive as a person would: the checksum, the files, and the main job with nothing else on the machine.
fn try_out(archive: &Path) -> Result<(), ChoreFailure> {
    let scratch = ScratchDir::new("unpacked")?;
    let out = archive.parent().unwrap_or(Path::new("."));
    run(Command::new("sha256sum").args(["--quiet", "--check", "SHA256SUMS"]).current_dir(out))?;
    run(Command::new("tar").arg("-xzf").arg(archive).current_dir(scratch.path()))?;
    let stem = archive.file_name().unwrap_or_default().to_string_lossy().replace(".tar.gz", "");
    let dir = scratch.path().join(stem);
    let pages = fs::read_dir(dir.join("man/man1")).map_err(|error| ChoreFailure::io("list", &dir, &error))?.count();
    if pages < 20 {
        return Err(ChoreFailure::new(format!("the archive has only {pages} manual pages")));
    }
    for (_, file) in COMPLETIONS {
        let script = dir.join("completions").join(file);
        let text = fs::read_to_string(&script).map_err(|error| ChoreFailure::io("read", &script, &error))?;
        if !text.contains("skillcue") {
            return Err(ChoreFailure::new(format!("{} completes nothing", script.display())));
        }
    }
    smoke::main_job(&dir.join(format!("skillcue{}", std::env::consts::EXE_SUFFIX)), scratch.path())
}

/// Returns the names of the commands that the main manual page lists.
fn commands_of(page: &str) -> Vec<&str> {
    let names = page.lines().filter_map(|line| line.strip_prefix("skillcue\\-")?.strip_suffix("(1)"));
    names.filter(|name| *name != "help").collect()
}

/// Returns whether an ELF program names a loader, which then looks for its libraries; none if it is no ELF file.
fn needs_loader(bytes: &[u8]) -> Option<bool> {
    const INTERPRETER: u32 = 3;
    let number = |at: usize, len: usize| {
        let part = bytes.get(at..at.checked_add(len)?)?;
        Some(part.iter().rev().fold(0, |number: u64, byte| number << 8 | u64::from(*byte)))
    };
    // A 64-bit little-endian header: the table of segments, the size of an entry, how many there are.
    bytes.starts_with(b"\x7fELF\x02\x01").then_some(())?;
    let (table, size, count) = (number(32, 8)?, number(54, 2)?, number(56, 2)?);
    let kinds = (0..count).map(|nth| number(usize::try_from(table + nth * size).ok()?, 4));
    Some(kinds.flatten().any(|kind| kind == u64::from(INTERPRETER)))
}

fn host_triple() -> Result<String, ChoreFailure> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let mut command = Command::new(rustc);
    let said =
        command.arg("-vV").output().map_err(|error| ChoreFailure::new(format!("`{}`: {error}", line(&command))))?;
    let said = String::from_utf8_lossy(&said.stdout);
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| ChoreFailure::new("`rustc -vV` names no host"))
}

/// Returns the time of the last commit in seconds, or 0 outside of a checkout.
fn commit_time() -> u64 {
    let said = Command::new("git").args(["log", "-1", "--format=%ct"]).current_dir(root()).output();
    said.ok().and_then(|said| String::from_utf8_lossy(&said.stdout).trim().parse().ok()).unwrap_or(0)
}

fn output(program: &Path, arguments: &[&str]) -> Result<String, ChoreFailure> {
    let mut command = Command::new(program);
    let output = command.args(arguments).output();
    let output = output.map_err(|error| ChoreFailure::new(format!("cannot start {}: {error}", program.display())))?;
    if !output.status.success() || output.stdout.is_empty() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(ChoreFailure::new(format!("`{}` printed nothing ({}): {said}", line(&command), output.status)));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn write(path: &Path, text: &str) -> Result<(), ChoreFailure> {
    fs::write(path, text).map_err(|error| ChoreFailure::io("write", path, &error))
}

fn size(path: &Path) -> Result<u64, ChoreFailure> {
    fs::metadata(path).map(|found| found.len()).map_err(|error| ChoreFailure::io("read", path, &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_read_from_the_main_page() {
        let page = ".TP\nskillcue\\-list(1)\nLists\n.TP\nskillcue\\-help(1)\nskillcue\\-toolset(1)\n";
        assert_eq!(commands_of(page), ["list", "toolset"]);
    }

    #[test]
    fn a_program_with_a_loader_is_told_from_a_static_one() {
        let mut elf = vec![0; 64 + 2 * 56];
        elf[..6].copy_from_slice(b"\x7fELF\x02\x01");
        (elf[32], elf[54], elf[56]) = (64, 56, 2);
        (elf[64], elf[64 + 56]) = (1, 6);
        assert_eq!(needs_loader(&elf), Some(false));
        elf[64 + 56] = 3;
        assert_eq!(needs_loader(&elf), Some(true));
        assert_eq!(needs_loader(b"#!/bin/sh\n"), None);
        assert_eq!(needs_loader(&elf[..60]), Some(false), "cut short");
    }
}
