//! Using up what there is.

use skillcue_base::ErrorInfo as _;

use std::time::Duration;

use crate::case::{Case, Mode, small};
use crate::hostile;

hostile! {
    takes_all_memory(case) {
        case.script("probe.py", r#"
kept = []
def take():
    while True:
        kept.append(bytearray(16 << 20))
attempt("memory", take)
print(len(kept) * 16, flush=True)
"#);
        let result = case.run_within("probe.py", &[], case.with(small)).unwrap();
        let output = result.stdout_text();
        assert!(output.contains("contained memory"), "{output} {}", result.stderr_text());
        let taken: u64 = output.lines().last().unwrap().parse().unwrap();
        assert!((100..=256).contains(&taken), "{taken} MiB");
    }

    takes_all_memory_shared(case) {
        let text = r#"
import mmap
kept = []
def take():
    while len(kept) < int(sys.argv[1]):
        page = mmap.mmap(-1, 16 << 20)
        for at in range(0, 16 << 20, 4096):
            page[at] = 1
        kept.append(page)
attempt("memory", take)
"#;
        case.script("probe.py", text);
        let result = case.run_within("probe.py", &["1000"], case.with(small)).unwrap();
        assert!(result.stdout_text().contains("contained memory"), "{}", result.stdout_text());
        case.control(text, &["2"]);
    }

    takes_all_memory_by_many_processes(case) {
        case.script("probe.py", r#"
import time
for _ in range(10):
    if os.fork() == 0:
        kept = bytearray(b"x" * (100 << 20))
        time.sleep(600)
time.sleep(600)
"#);
        assert_eq!(case.run_within("probe.py", &[], case.with(small)).unwrap_err().code(), "memory");
    }

    takes_all_stack(case) {
        case.script("probe.py", r#"
import resource
soft, hard = resource.getrlimit(resource.RLIMIT_STACK)
attempt("unlimited", lambda: resource.setrlimit(resource.RLIMIT_STACK, (resource.RLIM_INFINITY,) * 2) or "raised")
print("bounded" if 0 < hard <= 64 << 20 else "HARM")
"#);
        let output = case.run_within("probe.py", &[], case.with(small)).unwrap().stdout_text().into_owned();
        assert!(output.contains("contained unlimited") && output.ends_with("bounded\n"), "{output}");
    }

    fills_the_disk_with_one_file(case) {
        case.script("probe.py", r#"
import signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
def fill():
    with open(os.environ["TMPDIR"] + "/big", "wb") as big:
        while True:
            big.write(b"x" * (1 << 20))
attempt("fill", fill)
print(os.path.getsize(os.environ["TMPDIR"] + "/big") >> 20)
"#);
        let result = case.run_within("probe.py", &[], case.with(small)).unwrap();
        let output = result.stdout_text();
        assert!(output.contains("contained"), "{output} {}", result.stderr_text());
        assert!(output.lines().last().unwrap().parse::<u64>().unwrap() <= 8, "{output}");
    }

    fills_the_disk_with_many_files(case) {
        case.script("probe.py", r#"
total = 0
def fill():
    global total
    for number in range(1000):
        with open(os.environ["TMPDIR"] + "/" + str(number), "wb") as file:
            total += file.write(b"x" * (1 << 20))
            file.flush()
attempt("fill", fill)
import time
time.sleep(60)
"#);
        let outcome = case.run_within("probe.py", &[], case.with(|limits| { small(limits); limits.timeout = Duration::from_secs(6); }));
        // With a file system of its own the disk is full; without, the supervisor sees it.
        match case.mode {
            Mode::All => {
                let error = outcome.unwrap_err();
                assert!(error.result().unwrap().stdout_text().contains("contained fill 28"), "{error}");
            }
            Mode::NoNamespaces => assert_eq!(outcome.unwrap_err().code(), "disk"),
        }
    }

    opens_files_without_end(case) {
        case.script("probe.py", r#"
kept = []
def exhaust():
    while len(kept) < 100000:
        kept.append(os.open("/dev/null", os.O_RDONLY))
attempt("open", exhaust)
print(len(kept))
"#);
        let output = case.run("probe.py", &[]).unwrap().stdout_text().into_owned();
        let opened: u64 = output.lines().last().unwrap().parse().unwrap();
        // Those that it began with count, too.
        assert!(output.contains("contained open 24\n") && (1000..1024).contains(&opened), "{output}");
    }

    floods_stdout(case) {
        case.script("probe.sh", "#!/bin/sh\nexec yes\n");
        let error = case.run("probe.sh", &[]).unwrap_err();
        assert_eq!(error.code(), "output_truncated");
        let result = error.result().unwrap();
        assert!(result.truncated);
        assert_eq!((result.stdout.len(), result.stderr.len()), (1 << 20, 0));
    }

    floods_stderr(case) {
        case.script("probe.sh", "#!/bin/sh\nexec yes >&2\n");
        let error = case.run("probe.sh", &[]).unwrap_err();
        assert_eq!(error.code(), "output_truncated");
        assert_eq!(error.result().unwrap().stderr.len(), 1 << 20);
    }

    floods_both(case) {
        case.script("probe.sh", "#!/bin/sh\nyes >&2 &\nyes &\nyes &\nwait\n");
        let error = case.run("probe.sh", &[]).unwrap_err();
        assert_eq!(error.code(), "output_truncated");
        let result = error.result().unwrap();
        assert_eq!(result.stdout.len() + result.stderr.len(), 1 << 20);
    }

    // Exactly as much as allowed is no flood.
    writes_as_much_as_it_may(case) {
        case.script("probe.sh", "#!/bin/sh\nhead -c 1048576 /dev/full\n");
        let result = case.run("probe.sh", &[]).unwrap();
        assert_eq!((result.stdout.len(), result.truncated), (1 << 20, false));
    }

    uses_its_processor_time(case) {
        case.script("probe.sh", "#!/bin/sh\nwhile :; do :; done\n");
        let result = case.run_within("probe.sh", &[], case.with(|limits| limits.bounds.cpu_seconds = Some(1))).unwrap();
        assert!(matches!(result.signal, Some(9 | 24)), "{result:?}");
    }
}
