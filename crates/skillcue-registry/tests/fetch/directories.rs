//! Directories, copied.

use std::io::Write as _;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use skillcue_registry::{Disk, Exceeded, FetchError, FetchLimits, InstallOrigin, Refusal, fetch};
use tempfile::TempDir;

use crate::support::{FetchResult, files, get, no_git, tree};

fn source() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(dir.path().join("pdf/scripts")).unwrap();
    std::fs::write(dir.path().join("pdf/SKILL.md"), "skill").unwrap();
    dir
}

fn copy(from: &Path) -> FetchResult {
    copy_with(from, &FetchLimits::default(), &Disk::default())
}

fn copy_with(from: &Path, limits: &FetchLimits, disk: &Disk) -> FetchResult {
    get(&InstallOrigin::Directory { path: from.to_path_buf() }, limits, disk, &no_git(), &())
}

#[test]
fn files_programs_links_and_nothing_of_git() {
    let from = source();
    let path = |name: &str| from.path().join(name);
    std::fs::write(path("pdf/scripts/run.py"), "program").unwrap();
    std::fs::set_permissions(path("pdf/scripts/run.py"), PermissionsExt::from_mode(0o4775)).unwrap();
    std::fs::create_dir(path(".git")).unwrap();
    std::fs::write(path(".git/config"), "settings").unwrap();
    std::fs::write(path("pdf/.git"), "gitdir: elsewhere").unwrap();
    std::fs::write(path(".gitignore"), "x").unwrap();
    symlink("../pdf/SKILL.md", path("pdf/again.md")).unwrap();
    symlink("pdf/scripts", path("alias")).unwrap();
    let expected = files(&[
        (".gitignore", "x"),
        ("alias", "-> pdf/scripts"),
        ("pdf", "directory"),
        ("pdf/SKILL.md", "skill"),
        ("pdf/again.md", "-> ../pdf/SKILL.md"),
        ("pdf/scripts", "directory"),
        ("pdf/scripts/run.py", "x program"),
    ]);
    assert_eq!(copy(from.path()).tree(), expected);
    // The directory itself may be reached through a link.
    assert_eq!(copy(&path("alias")).tree(), files(&[("run.py", "x program")]));
}

#[test]
fn links_out_are_refused() {
    for target in ["/etc/passwd", "../..", "../pdf/../../x", "loop"] {
        let from = source();
        symlink(target, from.path().join("pdf/loop")).unwrap();
        let (entry, reason) = copy(from.path()).refusal();
        assert_eq!(entry, "pdf/loop");
        assert!(matches!(reason, Refusal::LinkOut(_) | Refusal::LinkCircle(_)), "{target}: {reason}");
    }
    // A link that stays inside a repository may lead out of the one skill that is installed.
    let from = source();
    std::fs::write(from.path().join("shared.md"), "text").unwrap();
    symlink("../shared.md", from.path().join("pdf/shared.md")).unwrap();
    assert!(copy(from.path()).result.is_ok());
    assert_eq!(copy(&from.path().join("pdf")).refusal().1, Refusal::LinkOut("../shared.md".to_owned()));
}

#[test]
fn pipes_and_sockets_are_refused_without_waiting_for_them() {
    let from = source();
    mknodat(CWD, from.path().join("pdf/pipe"), FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    assert_eq!(copy(from.path()).refusal(), ("pdf/pipe".to_owned(), Refusal::Special("a named pipe")));
    let from = source();
    let _listener = UnixListener::bind(from.path().join("pdf/socket")).unwrap();
    assert_eq!(copy(from.path()).refusal(), ("pdf/socket".to_owned(), Refusal::Special("a socket")));
}

#[test]
fn an_archive_that_is_no_file_is_not_waited_for() {
    let from = source();
    mknodat(CWD, from.path().join("pipe.zip"), FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    std::fs::create_dir(from.path().join("dir.zip")).unwrap();
    for name in ["pipe.zip", "dir.zip"] {
        let origin = InstallOrigin::Archive { path: from.path().join(name) };
        let done = get(&origin, &FetchLimits::default(), &Disk::default(), &no_git(), &());
        assert!(done.error().ends_with("it is no regular file"), "{}", done.error());
    }
}

#[test]
fn names_that_no_skill_has() {
    let from = source();
    std::fs::write(from.path().join("pdf/a\\b"), "").unwrap();
    assert_eq!(copy(from.path()).refusal().1, Refusal::Backslash);
    let from = source();
    std::fs::write(from.path().join("pdf/skill.MD"), "").unwrap();
    assert_eq!(copy(from.path()).refusal(), ("pdf/skill.MD".to_owned(), Refusal::Collides("pdf/SKILL.md".to_owned())));
}

#[test]
fn limits_hold() {
    let from = source();
    let all = FetchLimits { entries: 3, bytes: 5, file_bytes: 5, depth: 2, ..FetchLimits::default() };
    assert!(copy_with(from.path(), &all, &Disk::default()).result.is_ok());
    let exceeded = |limits: FetchLimits| match copy_with(from.path(), &limits, &Disk::default()).result {
        Err(FetchError::TooMuch { exceeded, .. }) => exceeded,
        other => panic!("{other:?}"),
    };
    assert_eq!(exceeded(FetchLimits { entries: 2, ..all }), Exceeded::Entries(2));
    assert_eq!(exceeded(FetchLimits { bytes: 4, ..all }), Exceeded::Bytes(4));
    assert!(matches!(exceeded(FetchLimits { file_bytes: 4, ..all }), Exceeded::FileBytes { .. }));
    let done = copy_with(from.path(), &FetchLimits { depth: 1, ..all }, &Disk::default());
    assert_eq!(done.refusal().1, Refusal::TooDeep(1));
}

#[test]
fn a_target_below_the_source_is_no_part_of_it() {
    let from = source();
    let into = from.path().join("pdf/stage/into");
    std::fs::create_dir_all(&into).unwrap();
    let origin = InstallOrigin::Directory { path: from.path().to_path_buf() };
    fetch(&origin, &into, &Disk::default(), &FetchLimits::default(), &no_git(), &()).unwrap();
    assert_eq!(tree(&into).into_keys().collect::<Vec<_>>(), ["pdf", "pdf/SKILL.md", "pdf/scripts", "pdf/stage"]);
}

#[test]
fn a_file_that_changes_while_copied_is_an_error() {
    let from = source();
    let file = from.path().join("pdf/SKILL.md");
    let copied = file.clone();
    let writer = Disk::with_seam(move |step| {
        // Once: what grows for ever would be stopped by a limit.
        if step.call == "write" && step.path.ends_with("SKILL.md") && copied.metadata()?.len() == 5 {
            std::fs::File::options().append(true).open(&copied)?.write_all(b", and more")?;
        }
        Ok(())
    });
    let done = copy_with(from.path(), &FetchLimits::default(), &writer);
    assert!(matches!(&done.result, Err(FetchError::Changed { path }) if *path == file), "{:?}", done.result);
}

#[test]
fn a_pipe_put_there_meanwhile_is_refused_too() {
    let from = source();
    let file = from.path().join("pdf/SKILL.md");
    let listed = file.clone();
    let swapper = Disk::with_seam(move |step| {
        if step.call == "mkdir" && step.path.ends_with("pdf") {
            std::fs::remove_file(&listed)?;
            mknodat(CWD, &listed, FileType::Fifo, Mode::from_raw_mode(0o600), 0)?;
        }
        Ok(())
    });
    let done = copy_with(from.path(), &FetchLimits::default(), &swapper);
    assert!(file.symlink_metadata().unwrap().file_type().is_fifo(), "it was swapped");
    assert_eq!(done.refusal(), ("pdf/SKILL.md".to_owned(), Refusal::Special("a named pipe")));
}

#[test]
fn missing_paths_and_files_are_refused() {
    let from = source();
    let error = copy(&from.path().join("missing")).error();
    assert!(error.starts_with("cannot read ") && error.ends_with("missing: no such file or directory"), "{error}");
    let error = copy(&from.path().join("pdf/SKILL.md")).error();
    assert!(error.ends_with("not a directory"), "{error}");
}
