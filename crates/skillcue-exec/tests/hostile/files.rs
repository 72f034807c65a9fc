//! Reading and writing what is none of a script's business.

use skillcue_base::ErrorInfo as _;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use crate::case::{Case, Mode, Victim, path, skipped};
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

    watches_the_home_directory(case) {
        let text = r#"
home = sys.argv[1]
def watch():
    fd = call(INIT, os.O_NONBLOCK)
    call(ADD, fd, home.encode(), 0x100)
    open(home + "/made", "w").close()
    return os.read(fd, 1000)[16:20]
attempt("inotify", watch)
def announce():
    fd = call(FAN_INIT, 0x200 | os.O_NONBLOCK, 0)
    return call(FAN_MARK, fd, 1, 0x100 | 0x40000000, -100, home.encode())
attempt("fanotify", announce)
"#;
        let text = text
            .replace("FAN_INIT", &libc::SYS_fanotify_init.to_string())
            .replace("FAN_MARK", &libc::SYS_fanotify_mark.to_string())
            .replace("INIT", &libc::SYS_inotify_init1.to_string())
            .replace("ADD", &libc::SYS_inotify_add_watch.to_string());
        let home = case.tmp.path().join("home");
        assert_eq!(case.contained(&text, &[path(&home)]).matches("contained").count(), 2);
        assert!(case.control(&text, &[path(&home)]).contains("HARM inotify b'made'"));
    }

    // Landlock lets a process ask about files that it does not let it open. In a root of its own they do not exist.
    asks_about_files(case) {
        let text = r#"
import stat
for name in sys.argv[1:]:
    attempt("stat " + name, lambda: os.stat(name).st_size)
    attempt("access " + name, lambda: os.access(name, os.F_OK) or (_ for _ in ()).throw(OSError(2, "not there")))
"#;
        let secret = case.secret();
        let there = [path(&secret), "/etc/shadow", "/root", "/home", "/var", "/sys", "/boot"];
        case.control(text, &there);
        case.script("probe.py", text);
        let result = case.run("probe.py", &there).unwrap();
        let output = result.stdout_text();
        assert_eq!(output.lines().count(), 2 * there.len(), "{output}");
        assert_eq!(result.sandbox.own_root, case.mode == Mode::All);
        assert_eq!(serde_json::to_value(&result).unwrap()["sandbox"]["own_root"], result.sandbox.own_root);
        // Without it, that they exist is seen: docs/reference/running.md says so.
        assert_eq!(output.contains("HARM"), !result.sandbox.own_root, "{output}");
    }

    reads_the_passwords_of_the_system(case) {
        case.contained(READ, &["/etc/shadow", "/etc/gshadow", "/etc/ssl/private", "/root/.bashrc"]);
        case.control_of_root(READ, &["/etc/shadow"]);
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
for name in sys.argv[1:]:
    for pid in ["1", str(os.getppid())]:
        if pid != "0":
            target = "/proc/%s/%s" % (pid, name)
            attempt(target, lambda: open(target, "rb").read(10) or "nothing")
"#;
        let descriptors: Vec<String> = (0..20).map(|fd| format!("fd/{fd}")).collect();
        let files = ["environ", "mem", "maps", "root/etc/shadow", "cwd/etc/shadow", "exe"];
        let all: Vec<&str> = files.into_iter().chain(descriptors.iter().map(String::as_str)).collect();
        case.contained(text, &all);
        // Outside, reading the pipe of another process would wait for what is written into it.
        case.control(text, &["environ", "maps", "exe"]);
    }

    reads_disks_and_memory(case) {
        let disks = ["/dev/sda", "/dev/vda", "/dev/nvme0n1"];
        case.contained(READ, &["/dev/mem", "/dev/kmsg", "/dev/tty", "/dev/console", "/proc/kcore"]);
        case.contained(READ, &disks);
        if disks.iter().any(|disk| fs::File::open(disk).is_ok()) {
            case.control(READ, &disks);
        } else {
            skipped("the control needs a disk that can be read outside");
        }
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
        case.contained(text, &[path(&home), &shared, "/var/tmp/x-skillcue", "/etc/x-skillcue", "/usr/x-skillcue", "/x-skillcue"]);
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

    // Mode bits are no data, and Landlock has no right for them; the test is that they cannot be used to write.
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
    fd = call(OPEN, os.open(os.path.dirname(sys.argv[1]), os.O_RDONLY), buffer, 0)
    return os.read(fd, 10)
attempt("handle", steal)
"#;
        let text = text
            .replace("NAME", &libc::SYS_name_to_handle_at.to_string())
            .replace("OPEN", &libc::SYS_open_by_handle_at.to_string());
        assert!(case.contained(&text, &[path(&case.secret())]).contains("contained handle 1\n"), "by the filter");
        case.control_of_root(&text, &[path(&case.secret())]);
    }

    makes_a_device(case) {
        let text = r#"
import stat
target = os.environ["TMPDIR"] + "/disk-" + str(os.getpid())
attempt("block", lambda: os.mknod(target, 0o600 | stat.S_IFBLK, os.makedev(254, 0)) or "made")
attempt("memory", lambda: os.mknod(target + "m", 0o600 | stat.S_IFCHR, os.makedev(1, 1)) or "made")
"#;
        case.contained(text, &[]);
        case.control_of_root(text, &[]);
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
            "/proc/self/comm",
        ]);
        // The only one whose change does no harm: the name of the process itself.
        case.control(WRITE, &["/proc/self/comm"]);
    }

    leaves_something_in_shared_memory(case) {
        let target = format!("/dev/shm/{}", case.name);
        let text = r#"attempt("leave", lambda: open(sys.argv[1], "w").write("x" * 1000))"#;
        case.script("probe.py", text);
        let result = case.run("probe.py", &[&target]).unwrap();
        // Its own it may write; that of the machine not.
        let said = if case.mode == Mode::All { "HARM leave 1000\n" } else { "contained leave 13\n" };
        assert_eq!(result.stdout_text(), said);
        assert!(!fs::exists(&target).unwrap());
        case.control(text, &[&target]);
        assert!(fs::exists(&target).unwrap());
        fs::remove_file(&target).unwrap();
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
        assert!(result.is_success(), "{}", result.stderr_text());
        let tmp = result.stdout_text().trim().to_owned();
        assert!(tmp.starts_with("/tmp/skillcue-"), "{tmp} {}", result.stderr_text());
        assert!(!fs::exists(tmp).unwrap());
        assert!(fs::exists("/etc/passwd").unwrap());
    }

    leaves_a_directory_deeper_than_any_path(case) {
        case.script("probe.py", r#"
print(os.environ["TMPDIR"], flush=True)
os.chdir(os.environ["TMPDIR"])
for _ in range(3000):
    os.mkdir("d")
    os.chdir("d")
"#);
        let outcome = case.run("probe.py", &[]);
        let result = match &outcome {
            Ok(result) => {
                assert!(result.is_success(), "{}", result.stderr_text());
                result
            }
            // Without a file system of its own, no process can see how much that is.
            Err(error) => {
                assert_eq!((error.code(), case.mode), ("disk", Mode::NoNamespaces));
                error.result().unwrap()
            }
        };
        let tmp = result.stdout_text().trim().to_owned();
        assert!(tmp.starts_with("/tmp/skillcue-"), "{tmp}");
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
