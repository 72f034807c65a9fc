//! Making more of what was granted.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::Arc;

use skillcue_base::ErrorInfo as _;
use skillcue_catalog::consent::{ConsentStore, PermissionRules, Scope};
use skillcue_exec::{RunError, RunRequest, RunResult, Runner, RunnerOptions};

use crate::case::{Case, Mode, path};
use crate::hostile;

/// A runner that keeps what it was granted, for a skill that asks for `permissions`.
fn runner(case: &Case, permissions: &str) -> Runner {
    fs::write(case.skill().join("SKILL.md"), case.front_matter(&format!("permissions:\n{permissions}"))).unwrap();
    let consent = Arc::new(ConsentStore::new(Some(case.tmp.path().join("data/skillcue/consent.json"))));
    let rules = PermissionRules::default()
        .with_home(Some(case.tmp.path().join("home")))
        .protecting([case.tmp.path().join("home/.config/skillcue")]);
    Runner::new(case.launcher(), RunnerOptions { consent, rules, ..RunnerOptions::default() })
}

fn run(case: &Case, runner: &Runner) -> Result<RunResult, RunError> {
    let (dir, manifest) = (case.dir(), case.manifest());
    let result = runner.run(&RunRequest::new(&dir, &manifest, "probe.sh"));
    case.nothing_is_left();
    result
}

/// Runs it after granting what it asks for.
fn granted(case: &Case, runner: &Runner) -> Result<RunResult, RunError> {
    match run(case, runner) {
        Err(RunError::PermissionRequired { asked, .. }) => {
            runner.consent().remember(&asked, Scope::Always).unwrap();
            run(case, runner)
        }
        other => other,
    }
}

hostile! {
    leads_what_was_granted_elsewhere(case) {
        let (data, harmless) = (case.tmp.path().join("home/data"), case.tmp.path().join("home/harmless"));
        fs::create_dir_all(&data).unwrap();
        fs::write(&harmless, "harmless\n").unwrap();
        symlink(&harmless, data.join("x")).unwrap();
        case.script("probe.sh", &format!("#!/bin/sh\ncat {}\n", data.join("x").display()));
        let runner = runner(case, "  read: [~/data/x]\n");
        assert_eq!(granted(case, &runner).unwrap().stdout_text(), "harmless\n");
        fs::remove_file(data.join("x")).unwrap();
        symlink(case.secret(), data.join("x")).unwrap();
        let error = run(case, &runner).unwrap_err();
        assert_eq!(error.code(), "permission_required", "{error}");
    }

    asks_for_permissions_that_cannot_be_granted(case) {
        fs::create_dir_all(case.tmp.path().join("home/.config/skillcue")).unwrap();
        case.script("probe.sh", "#!/bin/sh\necho HARM\n");
        for permissions in [
            "  write: [~/data]\n  read: [~/data/x]\n",
            "  write: [~/.config]\n",
            "  write: [~/.config/skillcue/settings.toml]\n",
            "  read: [~/]\n",
            "  read: [/proc/1]\n",
            "  env: [LD_PRELOAD]\n",
            &format!("  read: [{}]\n", path(&case.tmp.path().join("data/skillcue/consent.json"))),
            &format!("  write: [{}]\n", path(&case.tmp.path().join("data"))),
        ] {
            let error = granted(case, &runner(case, permissions)).unwrap_err();
            assert_eq!(error.code(), "not_grantable", "{permissions}: {error}");
        }
    }

    writes_what_it_may_and_nothing_beside(case) {
        let data = case.tmp.path().join("home/data");
        fs::create_dir_all(&data).unwrap();
        fs::write(data.join("old"), "old\n").unwrap();
        let beside = case.tmp.path().join("home/beside");
        fs::write(&beside, "").unwrap();
        case.script("probe.sh", &format!(
            "#!/bin/sh\ncd {} && echo new > new && rm old && mkdir d && mv new d/ && echo done\n\
             echo x > {beside} && echo HARM\nchmod 600 {beside} && echo HARM\n\
             chmod 4755 {secret} && echo HARM\ncp /bin/sh tool; chmod 4755 tool && echo HARM\n",
            path(&data), beside = path(&beside), secret = path(&case.secret()),
        ));
        let result = granted(case, &runner(case, "  write: [~/data]\n")).unwrap();
        assert_eq!(result.stdout_text(), "done\n", "{}", result.stderr_text());
        assert_eq!(fs::read_to_string(data.join("d/new")).unwrap(), "new\n");
        assert!(!data.join("old").exists());
    }
}
