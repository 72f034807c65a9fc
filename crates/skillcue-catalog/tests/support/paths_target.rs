//! The fuzz target `paths`: whatever is asked for, nothing from outside the skill comes back.
//!
//! A plain function, so that `fuzz/fuzz_targets/paths.rs` can include this file and an ordinary test can run it over
//! the corpus. The input's first line is the path that is asked for; every further line `name -> target` plants a
//! link in the skill's directory before.

use std::fs;
use std::os::unix::fs::symlink;

use skillcue_base::ErrorInfo as _;
use skillcue_catalog::{SkillDir, TreeLimits, uri};

const INSIDE: &[u8] = b"inside: ";

/// Runs one input. Panics if something is wrong.
pub(crate) fn run(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let mut lines = text.split('\n');
    let path = lines.next().unwrap_or_default();

    let tmp = tempfile::tempdir().expect("a temporary directory");
    let skill = tmp.path().join("skills/skill");
    fs::create_dir_all(skill.join("a/b")).expect("directories");
    fs::write(tmp.path().join("secret.txt"), "SECRET-MARKER").expect("the secret");
    for file in ["reference.md", "a/b/deep.md"] {
        fs::write(skill.join(file), INSIDE).expect("a file");
    }
    for (name, target) in lines.take(8).filter_map(|line| line.split_once(" -> ")) {
        // The file system refuses some of these (a NUL, a taken name); then there is no such link.
        if !name.is_empty() && !name.contains(['/', '\0']) && name != "." && name != ".." {
            let _ = symlink(target, skill.join(name));
        }
    }

    let dir = SkillDir::open("skill", &skill).expect("the skill's directory");
    let listing = dir.list(&TreeLimits::default()).expect("a listing");
    for file in &listing.files {
        check(&dir, &file.path).expect("what is listed can be read");
    }
    assert!(listing.files.is_sorted_by(|a, b| a.path < b.path), "sorted, and nothing twice");
    let _ = (check(&dir, path), check(&dir, &uri::decode_once(path)));
}

fn check(dir: &SkillDir, path: &str) -> Result<(), &'static str> {
    match dir.read(path, 1024) {
        Ok(bytes) => {
            assert!(bytes.starts_with(INSIDE), "{path:?} read from outside: {bytes:?}");
            Ok(())
        }
        Err(error) => {
            assert!(!error.to_string().contains(char::is_control), "{path:?} is shown raw");
            Err(error.code())
        }
    }
}
