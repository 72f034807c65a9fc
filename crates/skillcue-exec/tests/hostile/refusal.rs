//! A sandbox without its required layers: nothing runs.

use std::io::Read;

use skillcue_base::ErrorInfo as _;
use skillcue_exec::{ExecError, Job, JobProgram, Layer, MemoryBound, RunRequest, Runner, RunnerOptions, SandboxPolicy};

use crate::case::{Case, Mode, NAMESPACES};

#[test]
fn without_a_required_layer_nothing_runs() {
    for layer in [Layer::Landlock, Layer::Seccomp] {
        let case = Case::new("refusal", Mode::All);
        let trace = case.tmp.path().join("trace");
        case.script("probe.sh", &format!("#!/bin/sh\necho ran; echo x > {}\n", trace.display()));
        let (dir, manifest) = (case.dir(), case.manifest());
        let runner = |launcher| Runner::new(launcher, RunnerOptions::default());
        let request = RunRequest::new(&dir, &manifest, "probe.sh");
        let error = runner(case.launcher().without(&[layer])).run(&request).unwrap_err();
        assert_eq!(error.code(), "sandbox_unavailable");
        assert!(error.to_string().contains(layer.word()), "{error}");
        assert!(!trace.exists());

        let result = runner(case.launcher().without(&[layer]).allow_unsandboxed(true)).run(&request).unwrap();
        assert!(!result.sandboxed);
        assert_eq!(result.stdout_text(), "ran\n");
        let json = serde_json::to_value(&result).unwrap();
        assert_eq!(json["sandboxed"], false);
        assert_eq!(json["sandbox"]["missing"][0]["layer"], layer.word());
    }
}

#[test]
fn every_other_layer_may_be_missing_and_is_named() {
    let case = Case::new("degraded", Mode::All);
    case.script("probe.sh", "#!/bin/sh\necho ran\n");
    let (dir, manifest) = (case.dir(), case.manifest());
    let others = [Layer::ResourceLimits, Layer::NoCapabilities, Layer::NoNewPrivileges];
    for layer in NAMESPACES.iter().chain(&others) {
        let runner = Runner::new(case.launcher().without(&[*layer]), RunnerOptions::default());
        let result = runner.run(&RunRequest::new(&dir, &manifest, "probe.sh")).unwrap();
        assert_eq!(result.stdout_text(), "ran\n", "{layer}: {}", result.stderr_text());
        assert!(result.sandboxed && !result.sandbox.has(*layer));
        assert!(result.sandbox.missing.iter().any(|missing| missing.layer == *layer), "{layer}");
        case.nothing_is_left();
    }
}

/// A writable directory may be known by other names: a cache, or `TMPDIR`, behind a link.
#[test]
fn links_to_what_may_be_written_are_followed() {
    for mode in [Mode::All, Mode::NoNamespaces] {
        let case = Case::new("links", mode);
        let real = case.tmp.path().join("real");
        std::fs::create_dir(&real).unwrap();
        let link = case.tmp.path().join("link");
        std::os::unix::fs::symlink(&real, &link).unwrap();
        let mut job = Job::new(JobProgram::File("/bin/sh".into()), SandboxPolicy::program("/bin/sh".as_ref()));
        job.policy.write = vec![link.clone()];
        job.args =
            vec!["-c".into(), format!("echo x > {0}/x && echo y > \"$TMPDIR/y\" && echo wrote", link.display()).into()];
        let mut child = case.launcher().temp_dir(&link).spawn(&job).unwrap();
        assert_eq!(child.report().own_root, mode == Mode::All);
        let mut output = String::new();
        child.take_stdout().unwrap().read_to_string(&mut output).unwrap();
        assert_eq!((output.as_str(), child.wait().unwrap().code), ("wrote\n", Some(0)));
        assert!(real.join("x").exists());
        assert_eq!(std::fs::read_dir(&real).unwrap().count(), 1, "its directory is gone");
    }
}

#[test]
fn support_reports_the_layers_of_the_machine() {
    let case = Case::new("support", Mode::NoNamespaces);
    let support = case.launcher().support().unwrap();
    assert!(support.sandboxed && support.has(Layer::Seccomp) && support.landlock_abi > 0);
    assert_eq!(support.missing.len(), NAMESPACES.len());
    assert!(!support.own_root);
    let all = Case::new("support", Mode::All).launcher().support().unwrap();
    assert_eq!((all.own_root, all.memory), (all.has(Layer::MountNamespace), MemoryBound::Counted));
}

#[test]
fn a_helper_that_is_none_is_an_error() {
    let case = Case::new("helper", Mode::All);
    case.script("probe.sh", "#!/bin/sh\necho ran\n");
    let (dir, manifest) = (case.dir(), case.manifest());
    for helper in ["/no/such/helper", "/bin/true", "/bin/cat"] {
        let runner = Runner::new(skillcue_exec::Launcher::new(helper), RunnerOptions::default());
        let error = runner.run(&RunRequest::new(&dir, &manifest, "probe.sh")).unwrap_err();
        assert_eq!(error.code(), "execution_failed", "{error}");
    }
}

#[test]
fn listing_runs_nothing() {
    let case = Case::new("listing", Mode::All);
    let trace = case.tmp.path().join("trace");
    case.script("probe.py", &format!("open({:?}, 'w')\n", trace.display().to_string()));
    case.script("probe.sh", &format!("#!/bin/sh\n: > {}\n", trace.display()));
    let listed = skillcue_exec::scripts(&case.dir(), &case.manifest());
    assert_eq!(listed.len(), 2);
    assert!(!trace.exists());
}

/// A build without the feature `engine` is such a helper: it runs scripts and no toolsets. That is one plain sentence, and not about
/// helpers.
#[test]
fn a_helper_without_an_engine_is_a_build_without_one() {
    let case = Case::new("engine", Mode::All);
    let error = case.launcher().spawn(&Job::new(JobProgram::Engine, SandboxPolicy::nothing())).unwrap_err();
    assert!(matches!(error, ExecError::NoEngine), "{error}");
    assert_eq!((error.code(), error.to_string().as_str()), ("no_engine", "this build has no engine for toolsets"));
    assert_eq!(error.hint().unwrap(), "build skillcue-toolset with its feature `engine`");
    // The control: it runs other things.
    case.script("probe.sh", "#!/bin/sh\necho ran\n");
    let runner = Runner::new(case.launcher(), RunnerOptions::default());
    let result = runner.run(&RunRequest::new(&case.dir(), &case.manifest(), "probe.sh")).unwrap();
    assert_eq!(result.stdout_text(), "ran\n");
}
