//! The host dies, and the script with it.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use crate::case::{Case, Mode, eventually, path, skipped};
use crate::hostile;

/// No test, but the host that another test kills.
#[test]
#[ignore = "started by survives_its_host"]
fn acts_as_host() {
    let Ok(mode) = std::env::var("HOST_MODE") else { return skipped("this is no test of its own") };
    let mut case = Case::new("host", if mode == "all" { Mode::All } else { Mode::NoNamespaces });
    case.name = std::env::var("HOST_NAME").unwrap();
    let skill = std::env::var("HOST_SKILL").unwrap();
    let dir = skillcue_catalog::SkillDir::open(&case.name, skill.as_ref()).unwrap();
    let manifest = case.manifest();
    let request = skillcue_exec::RunRequest {
        on_output: &|_, bytes| println!("{}", String::from_utf8_lossy(bytes)),
        ..skillcue_exec::RunRequest::new(&dir, &manifest, "probe.py")
    };
    let _ = case.runner(case.limits.clone()).run(&request);
}

hostile! {
    survives_its_host(case) {
        case.script("probe.py", r#"
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    for _ in range(600):
        time.sleep(1)
print("begun", flush=True)
for _ in range(600):
    time.sleep(1)
"#);
        let mode = if case.mode == Mode::All { "all" } else { "no-namespaces" };
        // This very program, asked to be a host that can be killed.
        let mut host = Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "host::acts_as_host", "--nocapture"])
            .envs([("HOST_MODE", mode), ("HOST_SKILL", path(&case.skill())), ("HOST_NAME", &case.name)])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(host.stdout.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().contains("begun")));
        let marker = format!("SKILL_NAME={}\0", case.name);
        let count = || {
            let environs = std::fs::read_dir("/proc").unwrap().flatten().filter_map(|it| std::fs::read(it.path().join("environ")).ok());
            environs.filter(|it| it.windows(marker.len()).any(|window| window == marker.as_bytes())).count()
        };
        assert_eq!(count(), 2, "the script and its daemon run");
        host.kill().unwrap();
        host.wait().unwrap();
        eventually("the script is gone with its host", || count() == 0);
    }
}
