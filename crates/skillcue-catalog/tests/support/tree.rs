//! A skill's directory with everything around it that must not be reached.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// Every file inside the skill starts with this, and no file outside does.
pub(crate) const INSIDE: &[u8] = b"inside: ";
/// The content of every file outside.
pub(crate) const SECRET: &[u8] = b"SECRET-MARKER";

/// The tree of `vectors/paths.json`, and some links more.
///
/// ```text
/// secret.txt
/// skills/sibling-skill/data.csv
/// skills/skill-evil/x.md
/// skills/skill/                    the skill
/// ```
pub(crate) struct Tree {
    pub(crate) tmp: tempfile::TempDir,
    pub(crate) skill: PathBuf,
}

impl Tree {
    pub(crate) fn new() -> Self {
        let tmp = tempfile::tempdir().unwrap();
        let skills = tmp.path().join("skills");
        let skill = skills.join("skill");
        for dir in ["scripts", "a/b/c/d/e"] {
            fs::create_dir_all(skill.join(dir)).unwrap();
        }
        for outside in ["secret.txt", "skills/sibling-skill/data.csv", "skills/skill-evil/x.md"] {
            let path = tmp.path().join(outside);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, SECRET).unwrap();
        }
        for inside in ["reference.md", "scripts/extract.py", "a/b/c/d/e/deep.txt", "name with space.md"] {
            fs::write(skill.join(inside), [INSIDE, inside.as_bytes()].concat()).unwrap();
        }
        for (link, target) in [
            ("link-in.md", "reference.md"),
            ("link-out", "../../secret.txt"),
            ("dir-out", "../.."),
            ("loop", "loop"),
            ("dir-in", "a/b"),
            ("a/up", ".."),
            ("out-and-back.md", "../skill/reference.md"),
            ("root", "/"),
            ("passwd", "/etc/passwd"),
            ("zero", "/dev/zero"),
            ("magic", "/proc/self/root"),
            ("dangling", "nothing-here"),
        ] {
            symlink(target, skill.join(link)).unwrap();
        }
        symlink(skill.join("reference.md"), skill.join("absolute-in.md")).unwrap();
        Self { tmp, skill }
    }

    pub(crate) fn outside(&self, path: &str) -> PathBuf {
        self.tmp.path().join(path)
    }
}

/// Makes a link, or leaves the one that is there.
pub(crate) fn link(target: &str, at: &Path) {
    match symlink(target, at) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => panic!("{error}"),
        _ => {}
    }
}
