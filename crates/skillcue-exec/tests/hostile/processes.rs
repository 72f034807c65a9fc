//! Harming other processes, and outliving the call.

use skillcue_base::ErrorInfo as _;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::Duration;

use crate::case::{Case, Mode, Victim, eventually, is_root, path, skipped, small};
use crate::hostile;

/// Root without a namespace of processes is bounded by no limit of the kernel, only by the supervisor, which looks
/// every few milliseconds. A bomb that gets away in between keeps a machine busy for minutes, so here it is not set
/// off.
fn is_unbounded(case: &Case) -> bool {
    is_root() && case.mode == Mode::NoNamespaces
}

/// Processes more than allowed that there are at most before the supervisor looks.
const SOME_MORE: usize = 20;

/// The most processes of the case that were seen at once while `work` went on.
fn most_processes_while(case: &Case, work: impl Fn()) -> usize {
    // On a busy machine a short run may end before the first look: then it is run again.
    (0..20).map(|_| most_processes_in_one_run(case, &work)).find(|most| *most > 0).unwrap_or(0)
}

fn most_processes_in_one_run(case: &Case, work: impl Fn()) -> usize {
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let count = scope.spawn(|| {
            let mut most = 0;
            while !done.load(std::sync::atomic::Ordering::Acquire) {
                most = most.max(case.processes().len());
                std::thread::sleep(Duration::from_millis(2));
            }
            most
        });
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
        done.store(true, std::sync::atomic::Ordering::Release);
        let most = count.join().unwrap();
        outcome.map_or_else(|panic| std::panic::resume_unwind(panic), |()| most)
    })
}

hostile! {
    kills_the_host(case) {
        let mut victim = Victim::new();
        let host = std::process::id().to_string();
        let text = r#"
import signal
for pid in sys.argv[1:]:
    attempt("kill " + pid, lambda: os.kill(int(pid), signal.SIGTERM) or "killed")
"#;
        case.contained(text, &[&host, &victim.pid()]);
        assert!(victim.is_alive());
        case.control(text, &[&victim.pid()]);
        eventually("the victim dies", || !victim.is_alive());
    }

    // With a signal that does no harm, should the sandbox fail: a change of a window's size. It is not tried outside,
    // where it would reach every process of the machine.
    kills_everybody(case) {
        let (ready, got) = (case.tmp.path().join("ready"), case.tmp.path().join("got"));
        let waits = "trap ': > \"$1\"' WINCH; : > \"$0\"; while :; do sleep 0.02; done";
        let listener = Command::new("/bin/bash").args(["-c", waits, path(&ready), path(&got)]).spawn().unwrap();
        let listener = Victim(listener);
        eventually("the victim listens", || ready.exists());
        case.script("probe.py", r#"
import signal
try:
    os.kill(-1, signal.SIGWINCH)
except OSError:
    pass
print("tried", flush=True)
"#);
        assert_eq!(case.run("probe.py", &[]).unwrap().stdout_text(), "tried\n");
        std::thread::sleep(Duration::from_millis(200));
        assert!(!got.exists());
        let outside = Command::new("/bin/kill").args(["-WINCH", &listener.pid()]).status().unwrap();
        assert!(outside.success());
        eventually("it would have been heard", || got.exists());
    }

    kills_its_supervisor(case) {
        case.script("probe.py", r#"
import signal, time
for number in [signal.SIGSTOP, signal.SIGTERM, signal.SIGKILL]:
    try:
        os.kill(os.getppid() or 1, number)
    except OSError as error:
        print("contained", error.errno, flush=True)
time.sleep(600)
"#);
        let error = case.run_within("probe.py", &[], case.with(|limits| limits.timeout = Duration::from_secs(2))).unwrap_err();
        assert_eq!(error.code(), "timeout");
    }

    never_ends(case) {
        case.script("probe.sh", "#!/bin/sh\necho begun\nwhile :; do sleep 0.1; done\n");
        let limits = case.with(|limits| limits.timeout = Duration::from_secs(3));
        let error = case.run_within("probe.sh", &[], limits).unwrap_err();
        assert_eq!(error.code(), "timeout");
        let result = error.result().unwrap();
        assert_eq!(result.stdout_text(), "begun\n");
        assert_eq!(result.exit_code, None);
    }

    ignores_every_signal(case) {
        case.script("probe.py", r#"
import signal, time
for number in range(1, 65):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
print("begun", flush=True)
time.sleep(600)
"#);
        let limits = case.with(|limits| limits.timeout = Duration::from_secs(2));
        assert_eq!(case.run_within("probe.py", &[], limits).unwrap_err().code(), "timeout");
    }

    // The listener to a script's output may be slow, or stop; the script's time is over all the same.
    runs_on_while_its_host_stands_still(case) {
        case.script("probe.sh", "#!/bin/sh\necho begun\nwhile :; do sleep 0.1; done\n");
        let (dir, manifest) = (case.dir(), case.manifest());
        let seen = std::cell::Cell::new(false);
        let request = skillcue_exec::RunRequest {
            on_output: &|_, _| {
                seen.set(true);
                eventually("its time is over", || case.processes().is_empty());
            },
            ..skillcue_exec::RunRequest::new(&dir, &manifest, "probe.sh")
        };
        let limits = case.with(|limits| limits.timeout = Duration::from_secs(2));
        let error = case.runner(limits).run(&request).unwrap_err();
        assert_eq!((error.code(), seen.get()), ("timeout", true));
    }

    survives_its_supervisor(case) {
        case.script("probe.py", r#"
import time
libc.prctl(1, 0, 0, 0, 0)
print(os.environ["TMPDIR"], flush=True)
time.sleep(600)
"#);
        let (dir, manifest) = (case.dir(), case.manifest());
        let parent = |process: &str| -> String {
            let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
            status.lines().find_map(|line| line.strip_prefix("PPid:")).unwrap().trim().to_owned()
        };
        let request = skillcue_exec::RunRequest {
            on_output: &|_, _| {
                let job = case.processes().pop().unwrap();
                let mut above = parent(job.file_name().unwrap().to_str().unwrap());
                if case.mode == Mode::All {
                    above = parent(&above);
                }
                assert!(Command::new("/bin/kill").args(["-KILL", &above]).status().unwrap().success());
                eventually("the script is gone with its supervisor", || case.processes().is_empty());
            },
            ..skillcue_exec::RunRequest::new(&dir, &manifest, "probe.py")
        };
        let result = case.runner(case.limits.clone()).run(&request).unwrap();
        assert_eq!(result.signal, Some(9));
        // The process that would have removed it was killed.
        let tmp = result.stdout_text().trim().to_owned();
        assert!(tmp.starts_with("/tmp/skillcue-"), "{tmp}");
        let _ = fs::remove_dir_all(tmp);
    }

    has_all_the_time_there_is(case) {
        case.script("probe.sh", "#!/bin/sh\necho begun\n");
        let limits = case.with(|limits| limits.timeout = Duration::MAX);
        assert_eq!(case.run_within("probe.sh", &[], limits).unwrap().stdout_text(), "begun\n");
    }

    leaves_a_daemon(case) {
        case.script("probe.py", r#"
import time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for _ in range(600):
            time.sleep(1)
    os._exit(0)
print("parent ends", flush=True)
"#);
        let result = case.run("probe.py", &[]).unwrap();
        assert_eq!(result.stdout_text(), "parent ends\n");
    }

    leaves_a_daemon_that_has_closed_everything(case) {
        case.script("probe.py", r#"
import time
for _ in range(5):
    if os.fork() == 0:
        os.setsid()
        os.closerange(0, 100)
        if os.fork() == 0:
            os.setsid()
            os.chdir("/")
            for _ in range(600):
                time.sleep(1)
        os._exit(0)
"#);
        assert!(case.run("probe.py", &[]).unwrap().is_success());
    }

    leaves_a_daemon_when_it_is_killed(case) {
        case.script("probe.py", r#"
import time, signal
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if os.fork() == 0:
            for _ in range(600):
                time.sleep(1)
        os._exit(0)
while True:
    pass
"#);
        let limits = case.with(|limits| limits.timeout = Duration::from_secs(2));
        assert_eq!(case.run_within("probe.py", &[], limits).unwrap_err().code(), "timeout");
    }

    stops_itself(case) {
        case.script("probe.sh", "#!/bin/sh\necho begun\nkill -STOP $$\n");
        let limits = case.with(|limits| limits.timeout = Duration::from_secs(1));
        assert_eq!(case.run_within("probe.sh", &[], limits).unwrap_err().code(), "timeout");
    }

    forks_more_than_it_may(case) {
        case.script("probe.py", r#"
import time
for _ in range(100):
    try:
        if os.fork() == 0:
            time.sleep(600)
    except OSError:
        break
time.sleep(600)
"#);
        let limits = case.with(|limits| limits.bounds.processes = 32);
        assert_eq!(case.run_within("probe.py", &[], limits).unwrap_err().code(), "processes");
    }

    // A fork bomb of a shell: each half of the pipe starts two more.
    forks_without_end(case) {
        if is_unbounded(case) {
            return skipped("root without a namespace of processes is bounded by the supervisor alone");
        }
        case.script("probe.sh", "#!/bin/bash\nbomb() { bomb | bomb & }\nbomb\nsleep 600\n");
        let limits = case.with(|limits| {
            small(limits);
            limits.bounds.processes = 16;
            limits.timeout = Duration::from_secs(3);
        });
        let most = most_processes_while(case, || {
            let outcome = case.run_within("probe.sh", &[], limits.clone());
            // Found out, or still failing at the limit when the time is up.
            let code = outcome.as_ref().map_or_else(skillcue_exec::RunError::code, |_| "failed by itself");
            assert!(["processes", "timeout", "failed by itself"].contains(&code), "{code}");
        });
        assert!((1..=16 + SOME_MORE).contains(&most), "{most} at once");
    }

    forks_as_fast_as_it_can(case) {
        if is_unbounded(case) {
            return skipped("root without a namespace of processes is bounded by the supervisor alone");
        }
        case.script("probe.py", "while True:\n    try:\n        os.fork()\n    except OSError:\n        pass\n");
        let limits = case.with(|limits| {
            small(limits);
            limits.bounds.processes = 16;
            limits.timeout = Duration::from_secs(3);
        });
        let most = most_processes_while(case, || {
            let error = case.run_within("probe.py", &[], limits.clone()).unwrap_err();
            assert!(["processes", "timeout", "memory"].contains(&error.code()), "{error}");
        });
        assert!((1..=16 + SOME_MORE).contains(&most), "{most} at once");
    }

    starts_threads_without_end(case) {
        case.script("probe.py", r#"
import threading, time
started = 0
try:
    for _ in range(3000):
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
        started += 1
except RuntimeError:
    print("contained", flush=True)
    os._exit(0)
time.sleep(60)
"#);
        match case.run_within("probe.py", &[], case.with(small)) {
            Ok(result) => assert!(result.stdout_text().contains("contained")),
            Err(error) => assert_eq!(error.code(), "processes"),
        }
    }

    runs_a_program_with_set_user_id(case) {
        if !is_root() {
            return skipped("only root can make a program that belongs to another user");
        }
        // It belongs to the user 65534, so that it shows even for root whether the bit has an effect.
        let program = case.skill().join("scripts/whoami");
        fs::copy("/usr/bin/id", &program).unwrap();
        std::os::unix::fs::chown(&program, Some(65534), Some(65534)).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o6755)).unwrap();
        let text = r#"
import subprocess
def become():
    said = subprocess.check_output([sys.argv[1], "-u"]).decode().strip()
    if said == str(os.getuid()):
        raise OSError(1, "no other user")
    return said
attempt("become", become)
"#;
        // The place must not be mounted without such programs, for the control to mean anything.
        case.only_outside(text, &[path(&program)]);
    }

    dumps_core(case) {
        case.script("probe.sh", "#!/bin/bash\ncd \"$HOME\"; ulimit -c unlimited 2>/dev/null; bash -c 'kill -SEGV $$'; ls -a; ulimit -c\n");
        let result = case.run("probe.sh", &[]).unwrap();
        let output = result.stdout_text();
        assert!(!output.contains("core") && output.ends_with("0\n"), "{output}");
    }

    is_cancelled(case) {
        case.script("probe.sh", "#!/bin/sh\necho begun\nsleep 600 &\nsleep 600\n");
        let (dir, manifest) = (case.dir(), case.manifest());
        let begun = std::cell::Cell::new(false);
        let request = skillcue_exec::RunRequest {
            on_output: &|_, _| begun.set(true),
            cancelled: &|| begun.get(),
            ..skillcue_exec::RunRequest::new(&dir, &manifest, "probe.sh")
        };
        let error = case.runner(case.limits.clone()).run(&request).unwrap_err();
        assert_eq!(error.code(), "cancelled");
        assert_eq!(error.result().unwrap().stdout_text(), "begun\n");
        case.nothing_is_left();
    }
}
