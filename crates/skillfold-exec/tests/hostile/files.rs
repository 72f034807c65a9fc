//! Reading and writing what is none of a script's business.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use crate::case::{Case, Mode, Victim, is_root, path};
use crate::hostile;

const READ: &str = r#"
for name in sys.argv[1:]:
    attempt("read " + name, lambda: open(name, "rb").read(40))
"#;

const WRITE: &str = r#"
for name in sys.argv[1:]:
    attempt("write " + name, lambda: open(name, "wb").write(b"x"))
"#;

hostile! {
    reads_the_home_directory(case) {
        case.only_outside(READ, &[path(&case.secret())]);
    }

    lists_the_home_directory(case) {
        let home = case.tmp.path().join("home");
        case.only_outside(r#"attempt("list", lambda: os.listdir(sys.argv[1]))"#, &[path(&home)]);
    }

    reads_the_passwords_of_the_system(case) {
        case.contained(READ, &["/etc/shadow", "/etc/gshadow", "/etc/ssl/private", "/root/.bashrc"]);
        if is_root() {
            case.control(READ, &["/etc/shadow"]);
        }
    }

    reads_another_skill(case) {
        let other = case.tmp.path().join("other/SKILL.md");
        case.only_outside(READ, &[path(&other), path(&case.skill().join("../other/SKILL.md"))]);
    }

    reads_the_environment_of_another_process(case) {
        let victim = Victim::new();
        let environ = format!("/proc/{}/environ", victim.pid());
        let text = r#"
import glob
def secrets():
    found = []
    for name in glob.glob("/proc/[0-9]*/environ") + sys.argv[1:]:
        try:
            if b"hunter2" in open(name, "rb").read():
                found.append(name)
        except OSError:
            pass
    if not found:
        raise OSError(2, "none")
    return found
attempt("environ", secrets)
"#;
        case.only_outside(text, &[&environ]);
    }

    reads_its_supervisor(case) {
        let text = r#"
for name in ["environ", "mem", "maps", "root/etc/shadow", "cwd/etc/shadow", "exe"] + ["fd/%d" % fd for fd in range(20)]:
    for pid in ["1", str(os.getppid())]:
        if pid != "0":
            target = "/proc/%s/%s" % (pid, name)
            attempt(target, lambda: open(target, "rb").read(10) or "nothing")
"#;
        case.contained(text, &[]);
    }

    reads_disks_and_memory(case) {
        case.contained(READ, &["/dev/mem", "/dev/kmsg", "/dev/sda", "/dev/vda", "/dev/tty", "/dev/console", "/proc/kcore"]);
    }

    writes_into_its_own_skill(case) {
        let target = case.skill().join("SKILL.md");
        let before = fs::read(&target).unwrap();
        case.contained(WRITE, &[path(&target), path(&case.skill().join("new")), path(&case.skill().join("scripts/probe.py"))]);
        assert_eq!(fs::read(&target).unwrap(), before);
        case.control(WRITE, &[path(&case.skill().join("new"))]);
    }

    writes_outside(case) {
        let home = case.tmp.path().join("home/new");
        let shared = format!("/tmp/{}", case.name);
        let text = WRITE;
        case.contained(text, &[path(&home), &shared, "/var/tmp/x-skillfold", "/etc/x-skillfold", "/usr/x-skillfold", "/x-skillfold"]);
        assert!(!home.exists() && !fs::exists(&shared).unwrap());
        case.control(text, &[path(&home)]);
    }

    changes_what_it_may_only_read(case) {
        let text = r#"
target = os.environ["SKILL_DIR"] + "/SKILL.md"
attempt("truncate", lambda: os.truncate(target, 0) or "done")
attempt("rename", lambda: os.rename(target, target + ".old") or "done")
attempt("link", lambda: os.link(target, target + ".new") or "done")
attempt("mkdir", lambda: os.mkdir(os.environ["SKILL_DIR"] + "/dir") or "done")
"#;
        case.contained(text, &[]);
        assert!(fs::read_to_string(case.skill().join("SKILL.md")).unwrap().contains("Does harm"));
        case.control(text, &[]);
    }

    // Mode bits are nobody's data, and Landlock has no right for them; that they cannot be used to write is what counts.
    changes_modes_to_write(case) {
        let text = r#"
target = os.environ["SKILL_DIR"] + "/SKILL.md"
try:
    os.chmod(target, 0o777)
except OSError:
    pass
attempt("write", lambda: open(target, "a").write("x"))
"#;
        case.only_outside(text, &[]);
    }

    deletes_its_own_skill(case) {
        let text = r#"
import shutil
def remove():
    shutil.rmtree(os.environ["SKILL_DIR"])
    return "gone"
attempt("delete", remove)
"#;
        case.contained(text, &[]);
        assert!(case.skill().join("SKILL.md").exists() && case.skill().join("scripts/probe.py").exists());
        case.control(text, &[]);
        assert!(!case.skill().exists());
    }

    follows_a_symlink_out(case) {
        let text = r#"
link = os.environ["TMPDIR"] + "/link-" + str(os.getpid())
os.symlink(sys.argv[1], link)
attempt("read", lambda: open(link).read())
attempt("write", lambda: open(link, "a").write("x"))
attempt("through a directory", lambda: open("/proc/self/cwd/../home/secret").read())
"#;
        case.only_outside(text, &[path(&case.secret())]);
    }

    follows_a_symlink_in_the_skill_out(case) {
        symlink(case.secret(), case.skill().join("data.txt")).unwrap();
        case.only_outside(r#"attempt("read", lambda: open(os.environ["SKILL_DIR"] + "/data.txt").read())"#, &[]);
    }

    hardlinks_a_secret_into_its_directory(case) {
        let text = r#"
target = os.environ["TMPDIR"] + "/hard-" + str(os.getpid())
def steal():
    os.link(sys.argv[1], target)
    return open(target).read()
attempt("link", steal)
def move():
    os.rename(sys.argv[1], target)
    os.rename(target, sys.argv[1])
    return "moved"
attempt("move", move)
"#;
        case.only_outside(text, &[path(&case.secret())]);
    }

    opens_a_file_by_its_handle(case) {
        let text = r#"
buffer = ctypes.create_string_buffer(8 + 128)
ctypes.memmove(buffer, (128).to_bytes(4, "little"), 4)
mount = ctypes.c_int()
def steal():
    call(NAME, -100, ctypes.c_char_p(sys.argv[1].encode()), buffer, ctypes.byref(mount), 0)
    fd = call(OPEN, os.open("/", os.O_RDONLY), buffer, 0)
    return os.read(fd, 10)
attempt("handle", steal)
"#;
        let text = text
            .replace("NAME", &libc::SYS_name_to_handle_at.to_string())
            .replace("OPEN", &libc::SYS_open_by_handle_at.to_string());
        case.contained(&text, &[path(&case.secret())]);
    }

    makes_a_device(case) {
        let text = r#"
import stat
target = os.environ["TMPDIR"] + "/disk-" + str(os.getpid())
attempt("block", lambda: os.mknod(target, 0o600 | stat.S_IFBLK, os.makedev(254, 0)) or "made")
attempt("memory", lambda: os.mknod(target + "m", 0o600 | stat.S_IFCHR, os.makedev(1, 1)) or "made")
"#;
        case.contained(text, &[]);
        if is_root() {
            case.control(text, &[]);
        }
    }

    executes_what_it_may_not_read(case) {
        let program = case.tmp.path().join("home/tool");
        fs::write(&program, "#!/bin/sh\necho ran\n").unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let text = r#"
import subprocess
attempt("execute", lambda: subprocess.check_output([sys.argv[1]]))
"#;
        case.only_outside(text, &[path(&program)]);
    }

    writes_to_the_kernel_settings(case) {
        case.contained(WRITE, &[
            "/proc/sys/kernel/pid_max", "/proc/sys/kernel/core_pattern", "/proc/sys/vm/drop_caches", "/proc/sysrq-trigger",
            "/proc/self/oom_score_adj", "/proc/self/mem", "/sys/kernel/mm/ksm/run", "/sys/fs/cgroup/cgroup.procs",
        ]);
    }

    leaves_something_in_shared_memory(case) {
        let target = format!("/dev/shm/{}", case.name);
        case.script("probe.py", r#"
try:
    open(sys.argv[1], "w").write("x" * 1000)
except OSError:
    pass
"#);
        assert!(case.run("probe.py", &[&target]).is_ok());
        assert!(!fs::exists(&target).unwrap());
    }

    leaves_something_in_its_private_directory(case) {
        case.script("probe.py", r#"
os.makedirs(os.environ["HOME"] + "/a/b/c")
open(os.environ["TMPDIR"] + "/a/b/c/file", "w").write("x")
os.symlink("/", os.environ["TMPDIR"] + "/a/root")
try:
    os.chmod(os.environ["TMPDIR"] + "/a/b", 0)
except OSError:
    pass
print(os.environ["TMPDIR"])
"#);
        let result = case.run("probe.py", &[]).unwrap();
        let tmp = result.stdout_text().trim().to_owned();
        assert!(tmp.starts_with("/tmp/skillfold-"), "{tmp} {}", result.stderr_text());
        assert!(!fs::exists(tmp).unwrap());
        assert!(fs::exists("/etc/passwd").unwrap());
    }

    leaves_a_directory_deeper_than_any_path(case) {
        case.script("probe.py", r#"
print(os.environ["TMPDIR"], flush=True)
os.chdir(os.environ["TMPDIR"])
try:
    for _ in range(3000):
        os.mkdir("d")
        os.chdir("d")
except OSError:
    pass
"#);
        let outcome = case.run("probe.py", &[]);
        let result = match &outcome {
            Ok(result) => result,
            // Without a file system of its own, nobody can see how much that is.
            Err(error) => error.result().unwrap_or_else(|| panic!("{error}")),
        };
        let tmp = result.stdout_text().trim().to_owned();
        assert!(tmp.starts_with("/tmp/skillfold-"), "{tmp}");
        assert!(!fs::exists(tmp).unwrap());
    }

    // What is inside is its own affair: a working directory, and what it writes it can read and execute.
    uses_its_private_directory_as_it_may(case) {
        case.script("probe.sh", "#!/bin/sh\ncd \"$HOME\" && printf '#!/bin/sh\\necho own\\n' > x && sh ./x && pwd && cp /bin/true y && ./y && echo executed\n");
        let result = case.run("probe.sh", &[]).unwrap();
        let output = result.stdout_text();
        assert!(output.starts_with("own\n") && output.ends_with("executed\n"), "{output} {}", result.stderr_text());
    }
}
