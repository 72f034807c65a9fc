//! Asking the kernel for what no script needs.

use crate::case::{Case, Mode, Victim, is_root, skipped};
use crate::hostile;

/// Calls, each of which would succeed or fail for another reason outside.
fn refused(calls: &[(&str, i64, &str)]) -> String {
    calls.iter().map(|(name, number, args)| format!("attempt('{name}', lambda: call({number}{args}))\n")).collect()
}

hostile! {
    makes_namespaces(case) {
        let text = refused(&[
            ("unshare user", libc::SYS_unshare, ", 0x10000000"),
            ("unshare mount", libc::SYS_unshare, ", 0x00020000"),
            ("clone user", libc::SYS_clone, ", 0x10000000 | 17, 0, 0, 0, 0"),
            ("clone pid", libc::SYS_clone, ", 0x20000000 | 17, 0, 0, 0, 0"),
            ("clone3", libc::SYS_clone3, ", ctypes.create_string_buffer(88), 88"),
        ]);
        let output = case.contained(&text, &[]);
        assert!(output.contains("contained clone3 38"), "programs fall back only if it seems to be missing: {output}");
        assert_eq!(output.matches(" 1\n").count(), 4, "all others with EPERM, from the filter: {output}");
        case.control_of_root(&refused(&[("unshare mount", libc::SYS_unshare, ", 0x00020000")]), &[]);
    }

    enters_a_namespace(case) {
        let text = format!("attempt('setns', lambda: call({}, os.open('/proc/self', os.O_RDONLY), 0))", libc::SYS_setns);
        // Without the filter, the kernel finds the descriptor invalid (22).
        assert!(case.contained(&text, &[]).contains("contained setns 1\n"));
    }

    mounts(case) {
        let text = format!(
            r#"
home = os.environ["HOME"].encode()
attempt("mount", lambda: call({}, b"none", home, b"tmpfs", 0, 0))
attempt("bind", lambda: call({}, b"/etc", home, 0, 4096, 0))
attempt("umount", lambda: call({}, home, 2))
attempt("fsopen", lambda: call({}, b"tmpfs", 0))
attempt("open_tree", lambda: call({}, -100, b"/", 1))
attempt("chroot", lambda: call({}, home))
attempt("pivot_root", lambda: call({}, home, home))
"#,
            libc::SYS_mount, libc::SYS_mount, libc::SYS_umount2, libc::SYS_fsopen, libc::SYS_open_tree, libc::SYS_chroot,
            libc::SYS_pivot_root,
        );
        let output = case.contained(&text, &[]);
        assert_eq!(output.matches(" 1\n").count(), 7, "all with EPERM, from the filter: {output}");
        case.control_of_root("attempt('chroot', lambda: os.chroot(os.environ['HOME']) or 'done')", &[]);
    }

    loads_code_into_the_kernel(case) {
        let text = refused(&[
            ("bpf", libc::SYS_bpf, ", 0, ctypes.create_string_buffer(128), 128"),
            ("module", libc::SYS_init_module, ", ctypes.create_string_buffer(8), 8, b''"),
            ("module file", libc::SYS_finit_module, ", 0, b'', 0"),
            ("kexec", libc::SYS_kexec_load, ", 0, 0, 0, 0"),
            ("perf", libc::SYS_perf_event_open, ", ctypes.create_string_buffer(128), 0, -1, -1, 0"),
            ("userfaultfd", libc::SYS_userfaultfd, ", 1"),
        ]);
        assert_eq!(case.contained(&text, &[]).matches(" 1\n").count(), 6, "all with EPERM, from the filter");
    }

    changes_the_machine(case) {
        let text = refused(&[
            ("hostname", libc::SYS_sethostname, ", b'x', 1"),
            ("clock", libc::SYS_clock_settime, ", 0, ctypes.create_string_buffer(16)"),
            ("reboot", libc::SYS_reboot, ", 0xfee1dead, 672274793, 0x89abcdef, 0"),
            ("swap", libc::SYS_swapoff, ", b'/swap'"),
            ("log", libc::SYS_syslog, ", 3, ctypes.create_string_buffer(10), 10"),
            ("accounting", libc::SYS_acct, ", 0"),
            ("quota", libc::SYS_quotactl, ", 0, 0, 0, 0"),
            ("hang up", libc::SYS_vhangup, ""),
        ]);
        assert_eq!(case.contained(&text, &[]).matches(" 1\n").count(), 8, "all with EPERM, from the filter");
    }

    uses_keys_of_its_user(case) {
        let text = refused(&[
            ("keyctl", libc::SYS_keyctl, ", 0, -4, 1"),
            ("add", libc::SYS_add_key, ", b'user', b'x', b'y', 1, -2"),
            ("request", libc::SYS_request_key, ", b'user', b'x', 0, -2"),
        ]);
        case.only_outside(&text, &[]);
    }

    calls_what_is_newer_than_the_filter(case) {
        let text = refused(&[("468", 468, ""), ("500", 500, ""), ("1000", 1000, ""), ("minus one", -1, "")]);
        let output = case.contained(&text, &[]);
        assert_eq!(output.matches(" 38\n").count(), 4, "{output}");
        // The control: a kernel that has such a call refuses its arguments, not the call.
        if case.outside(&refused(&[("468", 468, "")]), &[]).0.contains("contained 468 38\n") {
            skipped("the control needs a kernel that has a call which is newer than the filter");
        }
    }

    calls_by_another_architecture(case) {
        if !cfg!(target_arch = "x86_64") {
            return skipped("there is no other architecture to call by");
        }
        // `getpid` by its x32 number, and `getpid` of i386 by its interrupt.
        case.contained("attempt('x32', lambda: call(0x40000000 + 39))", &[]);
        let text = r#"
import mmap
page = mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
page.write(bytes([0xb8, 20, 0, 0, 0, 0xcd, 0x80, 0xc3]))
code = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
print("HARM i386", code(), flush=True)
"#;
        case.script("probe.py", text);
        let result = case.run("probe.py", &[]).unwrap();
        assert!(!result.stdout_text().contains("HARM"));
        assert_eq!((result.exit_code, result.signal), (None, Some(31)), "{}", result.stderr_text());
        if !case.outside(text, &[]).0.contains("HARM i386") {
            skipped("the control needs a kernel that runs programs of i386");
        }
    }

    hides_memory_from_its_bounds(case) {
        // Whatever is made is removed at once, for outside it would stay.
        let text = format!(
            r#"
import mmap
attempt("memfd", lambda: os.close(call({}, b"x", 0)) or "made")
attempt("shared segment", lambda: call({}, call({}, 0, 4096, 0o1600), 0, 0))
attempt("semaphores", lambda: call({}, call({}, 0, 1, 0o1600), 0, 0))
attempt("messages", lambda: call({}, call({}, 0, 0o1600), 0, 0))
name = b"x-" + str(os.getpid()).encode()
attempt("message queue", lambda: os.close(call({}, name, 0o102, 0o600, 0)) or call({}, name))
attempt("shared and nameless", lambda: mmap.mmap(-1, 4096, flags=mmap.MAP_SHARED | mmap.MAP_ANONYMOUS))
attempt("shared and validated", lambda: mmap.mmap(-1, 4096, flags=3 | mmap.MAP_ANONYMOUS))
attempt("zeros", lambda: mmap.mmap(os.open("/dev/zero", os.O_RDWR), 4096, flags=mmap.MAP_SHARED))
"#,
            libc::SYS_memfd_create, libc::SYS_shmctl, libc::SYS_shmget, libc::SYS_semctl, libc::SYS_semget,
            libc::SYS_msgctl, libc::SYS_msgget, libc::SYS_mq_open, libc::SYS_mq_unlink,
        );
        case.contained(&text, &[]);
        assert!(case.control(&text, &[]).matches("HARM").count() >= 5);
        case.contained(&refused(&[("secret memory", 447, ", 0")]), &[]);
    }

    slows_others_down(case) {
        let victim = Victim::new();
        let text = r#"
victim = int(sys.argv[1])
attempt("priority", lambda: os.setpriority(os.PRIO_PROCESS, victim, 19) or "changed")
attempt("processor", lambda: os.sched_setaffinity(victim, {min(os.sched_getaffinity(0))}) or "changed")
attempt("scheduler", lambda: os.sched_setscheduler(victim, os.SCHED_IDLE, os.sched_param(0)) or "changed")
"#;
        case.only_outside(text, &[&victim.pid()]);
        // Outside, these would slow the machine down.
        let wide = format!(
            r#"
attempt("of all", lambda: os.setpriority(os.PRIO_USER, 0, os.getpriority(os.PRIO_USER, 0)) or "changed")
attempt("of the group", lambda: os.setpriority(os.PRIO_PGRP, 0, 0) or "changed")
attempt("disk", lambda: call({}, 3, 0, 0x6007))
"#,
            libc::SYS_ioprio_set
        );
        assert_eq!(case.contained(&wide, &[]).matches(" 1\n").count(), 3, "all with EPERM, from the filter");
    }

    traces_another_process(case) {
        let victim = Victim::new();
        let text = format!(
            r#"
class Vec(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]
victim = int(sys.argv[1])
buffer = ctypes.create_string_buffer(8)
local = Vec(ctypes.addressof(buffer), 8)
attempt("attach", lambda: call({}, 16, victim, 0, 0))
attempt("read", lambda: call({}, victim, ctypes.byref(local), 1, ctypes.byref(local), 1, 0))
attempt("its descriptors", lambda: call({}, call({}, victim, 0), 0, 0))
"#,
            libc::SYS_ptrace, libc::SYS_process_vm_readv, libc::SYS_pidfd_getfd, libc::SYS_pidfd_open,
        );
        case.only_outside(&text, &[&victim.pid()]);
        // Outside, this would stop the test itself.
        let parent = format!("attempt('attach to the parent', lambda: call({}, 16, os.getppid() or 1, 0, 0))", libc::SYS_ptrace);
        assert!(case.contained(&parent, &[]).contains("parent 1\n"), "with EPERM, from the filter");
    }

    becomes_another_user(case) {
        let text = r#"
attempt("setuid", lambda: os.setuid(65534) or "done")
attempt("setgid", lambda: os.setgid(65534) or "done")
attempt("setgroups", lambda: os.setgroups([0, 6]) or "done")
attempt("setresuid", lambda: os.setresuid(0, 0, 0) or "done")
"#;
        case.contained(text, &[]);
        case.control_of_root(text, &[]);
    }

    has_no_capability(case) {
        // By the shell itself: in a `/proc` that shows all processes, only the first process of a script may see
        // itself.
        case.script("probe.sh", "#!/bin/sh\nwhile read -r line; do echo \"$line\"; done < /proc/self/status\n");
        let result = case.run("probe.sh", &[]).unwrap();
        let output = result.stdout_text();
        let none = output.lines().filter(|line| line.starts_with("Cap") && line.ends_with("0000000000000000")).count();
        // A process without capabilities cannot empty the set of those that could be had; nothing can give it one
        // either.
        let bounding = is_root() || case.mode == Mode::All;
        assert_eq!(none, if bounding { 5 } else { 4 }, "{output} {}", result.stderr_text());
        let output = output.replace(' ', "\t");
        assert!(output.contains("NoNewPrivs:\t1") && output.contains("Seccomp:\t2"), "{output}");
    }

    types_into_a_terminal(case) {
        let text = format!(
            r#"
import pty
def steal():
    ours, theirs = os.openpty()
    return call({}, theirs, 0x5412, b"x")
attempt("TIOCSTI", steal)
attempt("TIOCSTI on what there is", lambda: call({}, 0, 0x5412, b"x"))
attempt("with high bits", lambda: call({}, 0, 0x5412 | 1 << 40, b"x"))
attempt("TIOCLINUX", lambda: call({}, 0, 0x541c, b"x"))
attempt("the terminal", lambda: open("/dev/tty"))
"#,
            libc::SYS_ioctl, libc::SYS_ioctl, libc::SYS_ioctl, libc::SYS_ioctl,
        );
        let output = case.contained(&text, &[]);
        // Without the filter, the kernel finds no terminal there (25).
        for name in ["TIOCSTI on what there is", "with high bits", "TIOCLINUX"] {
            assert!(output.contains(&format!("contained {name} 1\n")), "{output}");
        }
    }

    changes_its_personality(case) {
        let text = format!("attempt('no randomization', lambda: call({}, 0x0040000))", libc::SYS_personality);
        case.only_outside(&text, &[]);
    }

    raises_its_limits(case) {
        let text = r#"
import resource
for name in ["RLIMIT_DATA", "RLIMIT_NOFILE", "RLIMIT_FSIZE", "RLIMIT_CORE"]:
    limit = getattr(resource, name)
    soft, hard = resource.getrlimit(limit)
    attempt(name, lambda: resource.setrlimit(limit, (hard + 1, hard + 1)) or "raised")
attempt("of its parent", lambda: resource.prlimit(os.getppid() or 1, resource.RLIMIT_CORE, (0, 0)))
attempt("priority", lambda: os.nice(-5))
"#;
        case.contained(text, &[]);
        let raise = r#"
import resource
resource.setrlimit(resource.RLIMIT_NICE, (0, 0))
attempt("nice", lambda: resource.setrlimit(resource.RLIMIT_NICE, (1, 1)) or "raised")
"#;
        case.contained(raise, &[]);
        if !case.outside(raise, &[]).0.contains("HARM") {
            skipped("the control needs a root that may raise limits");
        }
    }
}
