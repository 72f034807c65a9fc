//! Memory that is in no process: it counts all the same, near the limit at the latest.

use skillcue_base::ErrorInfo as _;
use skillcue_exec::{MemoryBound, RunError, RunLimits};

use crate::case::{Case, Mode, small};
use crate::hostile;

/// Processes that each hold more and more, step by step, and report how much in MiB; the first sums up once all are
/// done. They pause on their way, so that at most 1.6 GB come in a second: in the 50 ms between two looks of the supervisor a fast
/// machine fills all of it.
const GROW: &str = r#"
import time
def grow(step, workers, most, lingers=False):
    done, finished = os.pipe()
    waiting, over = os.pipe()
    for worker in range(workers):
        if os.fork() == 0:
            os.close(over)
            held = told = 0
            try:
                while held < most << 20:
                    held += step()
                    if held - told >= 4 << 20:
                        os.write(1, b"held %d %d\n" % (worker, held >> 20))
                        told = held
                        time.sleep(0.01)
            except (OSError, MemoryError) as error:
                os.write(1, b"stopped by %s\n" % str(error).encode())
            os.write(finished, b"%10d" % held)
            os.read(waiting, 1)
            os._exit(0)
    os.close(waiting)
    done_by_all = [os.read(done, 10) for _ in range(workers)]
    if lingers and "SKILL_NAME" in os.environ:
        time.sleep(600)
    total = sum(map(int, done_by_all)) >> 20
    print("HARM held" if total >= workers * most * 9 // 10 else "contained", total, flush=True)
"#;

/// Returns how much the processes of a probe reported that they held, in MiB.
fn held(output: &str) -> u64 {
    let mut most = std::collections::BTreeMap::new();
    for line in output.lines().filter_map(|line| line.strip_prefix("held ")) {
        let (worker, held) = line.split_once(' ').unwrap();
        let held: u64 = held.parse().unwrap();
        most.entry(worker.to_owned()).and_modify(|most: &mut u64| *most = (*most).max(held)).or_insert(held);
    }
    most.values().sum()
}

/// Runs a probe that is to be ended for its memory, and in which `kind` is to be the largest part. Outside, it does its
/// harm.
fn ends_for(case: &Case, text: &str, limits: RunLimits, kind: &str) {
    let text = format!("{GROW}\n{text}");
    case.script("probe.py", &text);
    let limit = limits.bounds.memory_total >> 20;
    let error = case.run_within("probe.py", &[], limits).unwrap_err();
    let result = error.result().unwrap();
    let output = result.stdout_text();
    assert_eq!(error.code(), "memory", "{error}: {output} {}", result.stderr_text());
    let RunError::Memory { used, .. } = &error else { panic!("{error}") };
    assert!(used.total() >> 20 >= limit, "{used:?}");
    let said = error.to_string();
    let (_, parts) = said.split_once(": ").unwrap_or(("", &said));
    assert!(parts.split(", ").next().unwrap().ends_with(kind), "{said}");
    // As much more as can be filled between two looks of the supervisor.
    assert!(held(&output) <= limit + 256, "{} MiB", held(&output));
    assert_eq!(result.sandbox.memory, MemoryBound::Counted);
    assert_eq!(serde_json::to_value(result).unwrap()["sandbox"]["memory"], "counted");
    case.control(&text, &[]);
}

const SOCKETS: &str = r#"
import socket
kept = []
def fill(one):
    filled = 0
    try:
        while True:
            filled += one.send(b"x" * 32768)
    except BlockingIOError:
        return filled
def step():
    one, other = socket.socketpair()
    one.setblocking(False)
    ENLARGE
    kept.append(other)
    filled = fill(one)
    CLOSE
    return filled
grow(step, 4, 130)
"#;

hostile! {
    holds_memory_in_sockets(case) {
        let text = SOCKETS.replace("ENLARGE", "").replace("CLOSE", "kept.append(one)");
        ends_for(case, &text, case.with(small), "in socket buffers");
    }

    // Sent bytes are charged to the sender, which is gone.
    holds_memory_in_sockets_whose_senders_are_gone(case) {
        let text = SOCKETS.replace("ENLARGE", "").replace("CLOSE", "one.close()");
        ends_for(case, &text, case.with(small), "in socket buffers");
    }

    holds_memory_in_enlarged_sockets(case) {
        let enlarge = "one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 16 << 20)";
        let text = SOCKETS.replace("ENLARGE", enlarge).replace("CLOSE", "one.close()");
        ends_for(case, &text, case.with(small), "in socket buffers");
        let size = "import socket\none, other = socket.socketpair()\n\
                    before = one.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)\n\
                    one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 17)\n\
                    after = one.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)\n\
                    print('contained' if before == after else 'HARM changed')\n";
        case.only_outside(size, &[]);
    }

    holds_memory_in_pipes(case) {
        let text = r#"
import fcntl
kept = []
def step():
    out, into = os.pipe()
    kept.append((out, into))
    os.set_blocking(into, False)
    try:
        fcntl.fcntl(into, 1031, 1 << 20)
    except OSError:
        pass
    filled = 0
    try:
        while True:
            filled += os.write(into, b"x" * 65536)
    except BlockingIOError:
        return filled
grow(step, 18, 28, lingers=True)
"#;
        // They have 16 pages at first, and fewer once the kernel finds that a user has many: what counts is what they
        // may hold.
        ends_for(case, text, case.with(small), "in pipes");
        let larger = "import fcntl\nattempt('larger', lambda: fcntl.fcntl(os.pipe()[1], 1031, 1 << 20))";
        case.only_outside(larger, &[]);
    }

    holds_memory_in_locks_on_files(case) {
        let text = r#"
import fcntl
kept = []
def step():
    name = os.environ["TMPDIR"] + "/%d-%d" % (os.getpid(), len(kept))
    kept.append(os.open(name, os.O_RDWR | os.O_CREAT))
    for part in range(300):
        fcntl.lockf(kept[-1], fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 2 * part)
    return 1 << 20
grow(step, 2, 1, lingers=True)
"#;
        ends_for(case, text, case.with(small), "held more than 512 file locks at once");
        // One is what programs need; one that belongs to no process, and a process that leaves its own behind, are not.
        let one = "import fcntl, struct\n\
                   file = os.open(os.environ['TMPDIR'] + '/f', os.O_RDWR | os.O_CREAT)\n\
                   fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)\n\
                   print('contained')\n\
                   file = os.open(os.environ['TMPDIR'] + '/g', os.O_RDWR | os.O_CREAT)\n\
                   lock = struct.pack('hhqqi', fcntl.F_WRLCK, 0, 0, 1, 0)\n\
                   attempt('of a description', lambda: fcntl.fcntl(file, 37, lock))\n";
        let both = format!(
            "{one}attempt('shares', lambda: os._exit(0) if call({}, {}, 0, 0, 0, 0) == 0 else os.wait())\n",
            libc::SYS_clone,
            libc::CLONE_FILES | libc::SIGCHLD
        );
        assert_eq!(case.contained(&both, &[]).matches("contained").count(), 3);
        let outside = case.control(&both, &[]);
        assert_eq!(outside.matches("HARM").count(), 2, "{outside}");
    }

    holds_memory_in_files_without_a_name(case) {
        let text = format!(r#"{GROW}
kept = []
def step():
    kept.append(os.memfd_create("x"))
    return os.write(kept[-1], b"x" * (4 << 20))
grow(step, 4, 32)
"#);
        case.only_outside(&text, &[]);
    }

    // In a file system of memory they are memory; else they take the disk, also once they have no name.
    holds_memory_in_its_temporary_directory(case) {
        let text = r#"
import time
kept = []
def step():
    name = os.environ["TMPDIR"] + "/%d-%d" % (os.getpid(), len(kept))
    kept.append(os.open(name, os.O_RDWR | os.O_CREAT))
    os.unlink(name)
    time.sleep(0.02)
    return os.write(kept[-1], b"x" * (2 << 20))
grow(step, 4, 60)
"#;
        let limits = case.with(|limits| {
            small(limits);
            limits.bounds.memory_total = 128 << 20;
            limits.bounds.tmp_size = 512 << 20;
        });
        let is_in_memory = case.mode == Mode::All || rustix::fs::statfs("/tmp").unwrap().f_type == 0x0102_1994;
        if is_in_memory {
            ends_for(case, text, limits, "in temporary files");
        } else {
            let text = format!("{GROW}\n{text}");
            case.script("probe.py", &text);
            let limits = case.with(|limits| { small(limits); limits.bounds.tmp_size = 64 << 20; });
            let error = case.run_within("probe.py", &[], limits).unwrap_err();
            assert_eq!(error.code(), "disk", "{error}");
            assert!(held(&error.result().unwrap().stdout_text()) <= 64 + 128);
            case.control(&text, &[]);
        }
    }

    holds_memory_in_shared_memory(case) {
        let text = r#"
import time
kept = []
def step():
    name = "/dev/shm/%d-%d" % (os.getpid(), len(kept))
    kept.append(os.open(name, os.O_RDWR | os.O_CREAT))
    os.unlink(name)
    time.sleep(0.02)
    return os.write(kept[-1], b"x" * (2 << 20))
grow(step, 4, 60)
"#;
        let limits = case.with(|limits| {
            small(limits);
            limits.bounds.memory_total = 128 << 20;
            limits.bounds.tmp_size = 4 << 30;
        });
        match case.mode {
            Mode::All => ends_for(case, text, limits, "in temporary files"),
            // The one of the machine, which it may not write.
            Mode::NoNamespaces => case.only_outside(&format!("{GROW}\n{text}"), &[]),
        }
    }

    // The zero page is mapped over and over: nothing is resident but the tables.
    holds_memory_in_page_tables(case) {
        let text = r#"
import mmap, time
size = 80 << 30
area = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000, prot=mmap.PROT_READ)
area.madvise(mmap.MADV_NOHUGEPAGE)
for at in range(0, size, 2 << 20):
    area[at]
status = open("/proc/self/status").read()
held = int(status.split("VmPTE:")[1].split()[0]) >> 10
print("HARM held" if held >= 150 else "contained", held, flush=True)
if "SKILL_NAME" in os.environ:
    time.sleep(600)
"#;
        let limits = case.with(|limits| {
            small(limits);
            limits.bounds.memory_total = 96 << 20;
        });
        ends_for(case, text, limits, "in page tables");
    }

    // What `/proc` says of a process is what its first thread says, and that one has ended.
    holds_memory_without_a_first_thread(case) {
        let text = format!(r#"
import threading, time
taken = os.pipe()
def hold():
    global kept
    kept = bytearray(b"x" * (90 << 20))
    os.write(taken[1], b"x")
    time.sleep(600 if "SKILL_NAME" in os.environ else 2)
    os._exit(0)
children = []
for _ in range(6):
    child = os.fork()
    if child == 0:
        threading.Thread(target=hold).start()
        call({}, 0)
    children.append(child)
for _ in children:
    os.read(taken[0], 1)
time.sleep(0.3)
if "SKILL_NAME" in os.environ:
    time.sleep(600)
states = [open("/proc/%d/stat" % child).read().rsplit(") ", 1)[1].split() for child in children]
print("HARM hidden" if all(it[0] == "Z" and it[21] == "0" for it in states) else "seen", states, flush=True)
"#, libc::SYS_exit);
        ends_for(case, &text, case.with(small), "resident");
    }

    sends_descriptors_away(case) {
        let text = r#"
import socket
one, other = socket.socketpair()
attempt("descriptor", lambda: socket.send_fds(one, [b"x"], [0]))
"#;
        case.only_outside(text, &[]);
    }

    shares_pages_with_pipes_and_sockets(case) {
        let text = format!(
            r#"
import socket
file = os.open(os.environ["SKILL_DIR"] + "/SKILL.md", os.O_RDONLY)
class Vec(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]
buffer = ctypes.create_string_buffer(8)
vec = Vec(ctypes.addressof(buffer), 8)
pair = socket.socketpair()
one, other = os.pipe(), os.pipe()
os.write(one[1], b"x")
attempt("splice", lambda: os.splice(file, one[1], 1, 0))
attempt("vmsplice", lambda: call({}, one[1], ctypes.byref(vec), 1, 0))
attempt("tee", lambda: call({}, one[0], other[1], 1, 0))
attempt("sendfile", lambda: os.sendfile(pair[0].fileno(), file, 0, 1))
attempt("own descriptors", lambda: call({}, 1000, 1001, 2))
"#,
            libc::SYS_vmsplice, libc::SYS_tee, libc::SYS_close_range,
        );
        assert_eq!(case.contained(&text, &[]).matches("contained").count(), 5);
        let outside = case.control(&text, &[]);
        assert_eq!(outside.matches("HARM").count(), 5, "{outside}");
        // A thread without the descriptors of the others. Without the filter, the kernel finds the flags invalid (22).
        let thread = format!("attempt('thread', lambda: call({}, {}, 0, 0, 0, 0))", libc::SYS_clone, libc::CLONE_THREAD);
        assert!(case.contained(&thread, &[]).contains("contained thread 1\n"));
    }

    // Programs that share pages to be fast copy instead.
    copies_files(case) {
        case.script("probe.py", r#"
import shutil
os.chdir(os.environ["TMPDIR"])
open("a", "w").write("hello\n" * 100000)
shutil.copyfile("a", "b")
assert os.system("cat a > c; cat a | cat > d; cp a e; tee f < a > g") == 0
print([open(name).read() == open("a").read() for name in "bcdefg"])
"#);
        let result = case.run("probe.py", &[]).unwrap();
        assert_eq!(result.stdout_text(), "[True, True, True, True, True, True]\n", "{}", result.stderr_text());
    }
}
