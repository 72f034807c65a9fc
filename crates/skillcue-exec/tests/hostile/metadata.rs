//! Changing what is noted about files: Landlock has no right for that.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use crate::case::{Case, Mode, is_root, path};
use crate::hostile;

hostile! {
    changes_modes_of_others(case) {
        let program = case.script("tool", "#!/bin/sh\necho tool\n");
        let text = r#"
for target in sys.argv[1:]:
    for mode in [0o4755, 0o2755, 0o6755, 0o777, 0o000]:
        attempt("chmod " + oct(mode), lambda: os.chmod(target, mode) or "changed")
        attempt("fchmod " + oct(mode), lambda: os.fchmod(os.open(target, os.O_RDONLY), mode) or "changed")
"#;
        let before = fs::metadata(&program).unwrap().mode();
        case.contained(text, &[path(&program), path(&case.skill())]);
        assert_eq!(fs::metadata(&program).unwrap().mode(), before);
        let calls = format!(
            r#"
target = ctypes.c_char_p(sys.argv[1].encode())
attempt("fchmodat", lambda: call({}, -100, target, 0o4755, 0))
attempt("fchmodat2", lambda: call(452, -100, target, 0o4755, 0))
"#,
            libc::SYS_fchmodat
        );
        case.contained(&calls, &[path(&program)]);
        case.control(&calls, &[path(&program)]);
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        case.control(text, &[path(&program)]);
    }

    makes_a_program_with_set_user_id(case) {
        let text = format!(
            r#"
target = os.environ["TMPDIR"] + "/tool-" + str(os.getpid())
open(target, "w").close()
attempt("chmod", lambda: os.chmod(target, 0o4755) or "changed")
attempt("open", lambda: os.open(target + "o", os.O_CREAT | os.O_WRONLY, 0o4755))
attempt("open nameless", lambda: os.open(os.environ["TMPDIR"], os.O_TMPFILE | os.O_WRONLY, 0o4755))
attempt("mknod", lambda: os.mknod(target + "n", 0o102755) or "made")
how = (ctypes.c_uint64 * 3)(os.O_CREAT | os.O_WRONLY, 0o4755, 0)
attempt("openat2", lambda: call({}, -100, ctypes.c_char_p((target + "2").encode()), how, 24))
"#,
            libc::SYS_openat2
        );
        case.only_outside(&text, &[]);
    }

    changes_owners_times_and_attributes(case) {
        let text = r#"
target = sys.argv[1]
attempt("chown", lambda: os.chown(target, os.getuid(), os.getgid()) or "changed")
attempt("lchown", lambda: os.lchown(target, os.getuid(), os.getgid()) or "changed")
attempt("fchown", lambda: os.fchown(os.open(target, os.O_RDONLY), os.getuid(), os.getgid()) or "changed")
attempt("utime", lambda: os.utime(target, (1, 1)) or "changed")
attempt("futime", lambda: os.utime(os.open(target, os.O_RDONLY), (1, 1)) or "changed")
attempt("setxattr", lambda: os.setxattr(target, "user.x", b"x") or "changed")
attempt("removexattr", lambda: os.removexattr(target, "user.x") or "changed")
"#;
        let before = fs::metadata(case.secret()).unwrap().mtime();
        case.contained(text, &[path(&case.secret())]);
        case.contained(text, &[path(&case.skill().join("SKILL.md"))]);
        assert_eq!(fs::metadata(case.secret()).unwrap().mtime(), before);
        case.control(text, &[path(&case.secret())]);
    }

    makes_files_unchangeable(case) {
        let text = r#"
import fcntl, struct
for name, request in [("flags", 0x40086602), ("attributes", 0x401c5820), ("verity", 0x40806685)]:
    fd = os.open(os.environ["SKILL_DIR"] + "/SKILL.md", os.O_RDONLY)
    attempt(name, lambda: fcntl.ioctl(fd, request, bytes(128)))
"#;
        assert_eq!(case.contained(text, &[]).matches(" 1\n").count(), 3, "all with EPERM, from the filter");
    }

    // What is its own it may change, where all else is safe from it.
    changes_what_is_its_own(case) {
        case.script("probe.sh", "#!/bin/sh\ncd \"$HOME\" && : > x && chmod 750 x && touch -d @7 x && stat -c '%a %Y' x\n");
        let result = case.run("probe.sh", &[]).unwrap();
        if result.sandbox.read_only {
            assert_eq!(result.stdout_text(), "750 7\n", "{}", result.stderr_text());
        } else {
            assert_ne!(result.exit_code, Some(0));
        }
        assert!(case.mode == Mode::NoNamespaces || result.sandbox.read_only || !is_root());
    }
}
