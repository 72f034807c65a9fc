//! Harming other processes, and outliving the call.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::Duration;

use crate::case::{Case, Mode, Victim, eventually, is_root, path, small};
use crate::hostile;

/// Root without a namespace of processes is bounded by no limit of the kernel, only by the supervisor, which looks every
/// few milliseconds. A bomb that gets away in between keeps a machine busy for minutes, so here it is not set off.
fn is_unbounded(case: &Case) -> bool {
    is_root() && case.mode == Mode::NoNamespaces
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

    // With a signal that harms nobody, should the sandbox fail: a change of a window's size.
    kills_everybody(case) {
        let (ready, got) = (case.tmp.path().join("ready"), case.tmp.path().join("got"));
        let waits = "trap ': > \"$1\"' WINCH; : > \"$0\"; while :; do sleep 0.02; done";
        let listener = Command::new("/bin/bash").args(["-c", waits, path(&ready), path(&got)]).spawn().unwrap();
        let _listener = Victim(listener);
        eventually("somebody listens", || ready.exists());
        let text = r#"
import signal
try:
    os.kill(-1, signal.SIGWINCH)
except OSError:
    pass
print("contained", flush=True)
print("HARM", flush=True) if os.getenv("TEMP") is None else None
"#;
        case.contained(text, &[]);
        std::thread::sleep(Duration::from_millis(200));
        assert!(!got.exists());
        case.control(text, &[]);
        eventually("outside, it reaches everybody", || got.exists());
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
        case.script("probe.sh", "#!/bin/sh\necho begun\nwhile :; do :; done\n");
        let limits = case.with(|limits| limits.timeout = Duration::from_millis(500));
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
            return;
        }
        case.script("probe.sh", "#!/bin/bash\nbomb() { bomb | bomb & }\nbomb\nsleep 600\n");
        let limits = case.with(|limits| {
            small(limits);
            limits.bounds.processes = 16;
            limits.timeout = Duration::from_secs(3);
        });
        let outcome = case.run_within("probe.sh", &[], limits);
        // Either it is found out, or it fails by itself at the limit, or it is still failing when the time is up.
        let code = outcome.as_ref().map_or_else(skillfold_exec::RunError::code, |_| "failed by itself");
        assert!(["processes", "timeout", "output_truncated", "failed by itself"].contains(&code), "{code}");
    }

    forks_as_fast_as_it_can(case) {
        if is_unbounded(case) {
            return;
        }
        case.script("probe.py", "while True:\n    try:\n        os.fork()\n    except OSError:\n        pass\n");
        let limits = case.with(|limits| {
            small(limits);
            limits.bounds.processes = 16;
            limits.timeout = Duration::from_secs(3);
        });
        let error = case.run_within("probe.py", &[], limits).unwrap_err();
        assert!(["processes", "timeout", "memory"].contains(&error.code()), "{error}");
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
            return;
        }
        // It belongs to nobody (65534), so that it shows even for root whether the bit has an effect.
        let program = case.skill().join("scripts/whoami");
        fs::copy("/usr/bin/id", &program).unwrap();
        std::os::unix::fs::chown(&program, Some(65534), Some(65534)).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o6755)).unwrap();
        let text = r#"
import subprocess
def become():
    said = subprocess.check_output([sys.argv[1], "-u"]).decode().strip()
    if said == str(os.getuid()):
        raise OSError(1, "nobody else")
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
        let request = skillfold_exec::RunRequest {
            on_output: &|_, _| begun.set(true),
            cancelled: &|| begun.get(),
            ..skillfold_exec::RunRequest::new(&dir, &manifest, "probe.sh")
        };
        let error = case.runner(case.limits.clone()).run(&request).unwrap_err();
        assert_eq!(error.code(), "cancelled");
        assert_eq!(error.result().unwrap().stdout_text(), "begun\n");
        case.nothing_is_left();
    }
}
