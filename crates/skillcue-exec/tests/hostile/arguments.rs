//! Input and output: arguments, standard input, environment, results.

use skillcue_base::ErrorInfo as _;
use skillcue_catalog::consent::Scope;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};
use skillcue_exec::RunRequest;

use crate::case::{Case, Mode};
use crate::hostile;

hostile! {
    injects_arguments(case) {
        case.script("probe.py", "import json\nprint(json.dumps(sys.argv[1:]))\n");
        case.script("probe.sh", "#!/bin/sh\nfor a in \"$@\"; do printf '%s\\n' \"$a\"; done\n");
        let arguments = ["-c", "print('HARM')", "--", "; echo HARM", "$(echo HARM)", "`id`", "-i", "\n", "", "|sh", "*", "-e"];
        let result = case.run("probe.py", &arguments).unwrap();
        let got: Vec<String> = serde_json::from_slice(&result.stdout).unwrap();
        assert_eq!(got, arguments);
        let result = case.run("probe.sh", &["-c", "echo HARM"]).unwrap();
        assert_eq!(result.stdout_text(), "-c\necho HARM\n");
    }

    passes_too_many_arguments(case) {
        case.script("probe.sh", "#!/bin/sh\necho \"$#\"\n");
        let hundred = vec!["a"; 100];
        assert_eq!(case.run("probe.sh", &hundred).unwrap().stdout_text(), "100\n");
        let more = vec!["a"; 101];
        let error = case.run("probe.sh", &more).unwrap_err();
        assert_eq!((error.code(), error.result()), ("args_too_large", None));
        let long = "x".repeat(4096);
        assert!(case.run("probe.sh", &[&long]).is_ok());
        assert_eq!(case.run("probe.sh", &[&long, "x"]).unwrap_err().code(), "args_too_large");
        assert_eq!(case.run("probe.sh", &["a\0b"]).unwrap_err().code(), "args_too_large");
    }

    snoops_in_the_environment(case) {
        case.script("probe.py", "import json\nprint(json.dumps(dict(os.environ)))\n");
        let result = case.run("probe.py", &[]).unwrap();
        let env: serde_json::Map<String, Value> = serde_json::from_slice(&result.stdout).unwrap();
        let mut names: Vec<&str> = env.keys().map(String::as_str).collect();
        names.sort_unstable();
        // Python itself adds LC_CTYPE where the locale asks for it.
        names.retain(|name| *name != "LC_CTYPE");
        assert_eq!(names, [
            "HOME", "LANG", "LC_TIME", "PATH", "PYTHONDONTWRITEBYTECODE", "SKILL_DIR", "SKILL_NAME", "SKILL_VERSION", "TEMP",
            "TMP", "TMPDIR",
        ]);
        assert_eq!((&env["SKILL_NAME"], &env["SKILL_VERSION"]), (&json!(case.name), &json!("1.2.3")));
        assert_eq!(env["HOME"], env["TMPDIR"]);
    }

    gets_a_variable_only_by_a_grant(case) {
        std::fs::write(case.skill().join("SKILL.md"), case.front_matter("permissions:\n  env: [SECRET_KEY]\n")).unwrap();
        case.script("probe.sh", "#!/bin/sh\necho \"$SECRET_KEY\"\n");
        assert_eq!(case.run("probe.sh", &[]).unwrap_err().code(), "permission_required");
        let (dir, manifest) = (case.dir(), case.manifest());
        let runner = case.runner(case.limits.clone());
        let request = RunRequest::new(&dir, &manifest, "probe.sh");
        let asked = runner.missing_consent(&request).unwrap().unwrap();
        runner.consent().remember(&asked, Scope::Always).unwrap();
        assert_eq!(runner.run(&request).unwrap().stdout_text(), "hunter2\n");
        // Another word in the script, and it is asked again.
        case.script("probe.sh", "#!/bin/sh\necho stolen \"$SECRET_KEY\"\n");
        assert_eq!(runner.run(&request).unwrap_err().code(), "permission_required");
    }

    writes_only_where_it_was_granted(case) {
        let (yes, no) = (case.tmp.path().join("yes"), case.tmp.path().join("no"));
        std::fs::create_dir(&yes).unwrap();
        std::fs::create_dir(&no).unwrap();
        let asks = format!("permissions:\n  write: [\"{}\"]\n", yes.display());
        std::fs::write(case.skill().join("SKILL.md"), case.front_matter(&asks)).unwrap();
        case.script("probe.sh", "#!/bin/sh\necho x > $1/x && echo wrote; echo x > $2/x || echo contained; echo x > $1/../no/x\n");
        let (dir, manifest) = (case.dir(), case.manifest());
        let runner = case.runner(case.limits.clone());
        let arguments = [yes.display().to_string(), no.display().to_string()];
        let request = RunRequest { arguments: &arguments, ..RunRequest::new(&dir, &manifest, "probe.sh") };
        let asked = runner.missing_consent(&request).unwrap().unwrap();
        runner.consent().remember(&asked, Scope::Session).unwrap();
        let result = runner.run(&request).unwrap();
        assert_eq!(result.stdout_text(), "wrote\ncontained\n", "{}", result.stderr_text());
        assert!(yes.join("x").exists() && !no.join("x").exists());
    }

    asks_for_everything(case) {
        case.script("probe.sh", "#!/bin/sh\ncat /etc/shadow\n");
        for asks in ["read: [/]", "write: [/proc]", "read: [../other]", "env: [LD_PRELOAD]"] {
            let manifest = case.front_matter(&format!("permissions:\n  {asks}\n"));
            std::fs::write(case.skill().join("SKILL.md"), manifest).unwrap();
            let error = case.run("probe.sh", &[]).unwrap_err();
            assert_eq!(error.code(), "not_grantable");
            assert!(error.to_string().contains("cannot be granted"), "{error}");
        }
    }

    inherits_file_descriptors(case) {
        // One that is open for inheritance, as a careless library would leave it.
        let secret = std::fs::File::open(case.secret()).unwrap();
        let leaked = rustix::io::dup(&secret).unwrap();
        let text = r#"
import stat
for fd in range(3, 1024):
    try:
        os.fstat(fd)
    except OSError:
        continue
    print("HARM open", fd, os.readlink("/proc/self/fd/%d" % fd))
print("contained")
for fd in range(3):
    assert stat.S_ISFIFO(os.fstat(fd).st_mode), fd
"#;
        case.only_outside(text, &[]);
        drop(leaked);
    }

    writes_binary_output(case) {
        case.script("probe.sh", "#!/bin/sh\nprintf 'a\\377\\000b'; printf '\\033[31m' >&2\n");
        let result = case.run("probe.sh", &[]).unwrap();
        assert_eq!(result.stdout, b"a\xff\0b");
        let json = serde_json::to_value(&result).unwrap();
        assert_eq!(json["stdout"], "a\u{fffd}\0b");
        assert_eq!(json["stdout_encoding"], "lossy");
        assert_eq!(json.get("stderr_encoding"), None);
        assert_eq!(json["stderr"], "\u{1b}[31m");
    }

    closes_its_output(case) {
        case.script("probe.py", "import time\nos.close(0); os.close(1); os.close(2)\ntime.sleep(0.2)\nos._exit(7)\n");
        assert_eq!(case.run("probe.py", &[]).unwrap().exit_code, Some(7));
    }

    reads_no_input(case) {
        case.script("probe.sh", "#!/bin/sh\necho done\n");
        let input = json!({"big": "x".repeat(500_000)});
        let (dir, manifest) = (case.dir(), case.manifest());
        let request = RunRequest { input: Some(&input), ..RunRequest::new(&dir, &manifest, "probe.sh") };
        assert_eq!(case.runner(case.limits.clone()).run(&request).unwrap().stdout_text(), "done\n");
    }

    gets_its_input_and_its_end(case) {
        case.script("probe.sh", "#!/bin/sh\nwc -c\ncat\n");
        assert_eq!(case.run("probe.sh", &[]).unwrap().stdout_text().trim(), "0");
        case.script("probe.sh", "#!/bin/sh\ncat\n");
        let input = json!({"a": [1, "ü"]});
        let (dir, manifest) = (case.dir(), case.manifest());
        let request = RunRequest { input: Some(&input), ..RunRequest::new(&dir, &manifest, "probe.sh") };
        let result = case.runner(case.limits.clone()).run(&request).unwrap();
        assert_eq!(serde_json::from_slice::<Value>(&result.stdout).unwrap(), input);
        let huge = json!("x".repeat(2 << 20));
        let request = RunRequest { input: Some(&huge), ..request };
        assert_eq!(case.runner(case.limits.clone()).run(&request).unwrap_err().code(), "args_too_large");
    }

    gets_the_bytes_and_the_variables_of_its_caller(case) {
        case.script("probe.sh", "#!/bin/sh\ncat\necho \"$SKILL_NAME $SKILL_BASE_DIR\"\n");
        let (dir, manifest) = (case.dir(), case.manifest());
        let variables = [("SKILL_NAME".into(), "other".into()), ("SKILL_BASE_DIR".into(), "/skill".into())];
        let input = json!(1);
        let request = RunRequest {
            input: Some(&input),
            stdin: Some(b"{\"b\": 1e400, \"a\": 36893488147419103232}\n"),
            variables: &variables,
            ..RunRequest::new(&dir, &manifest, "probe.sh")
        };
        let result = case.runner(case.limits.clone()).run(&request).unwrap();
        assert_eq!(result.stdout_text(), "{\"b\": 1e400, \"a\": 36893488147419103232}\nother /skill\n");
    }

    names_a_script_outside(case) {
        case.script("probe.sh", "#!/bin/sh\necho ran\n");
        std::fs::write(case.tmp.path().join("home/evil.sh"), "#!/bin/sh\necho HARM\n").unwrap();
        symlink(case.tmp.path().join("home/evil.sh"), case.skill().join("scripts/link.sh")).unwrap();
        for (outside, code) in [
            ("../home/evil.sh", "security"),
            ("scripts/../../home/evil.sh", "security"),
            ("/bin/sh", "security"),
            ("scripts/link.sh", "security"),
            ("link.sh\0", "security"),
            ("file:///bin/sh", "security"),
        ] {
            let error = case.run(outside, &[]).unwrap_err();
            assert_eq!(error.code(), code, "{outside}: {error}");
        }
        let error = case.run("probe.s", &[]).unwrap_err();
        assert!(error.to_string().contains("did you mean \"scripts/probe.sh\"?"), "{error}");
        assert_eq!(case.run("SKILL.md", &[]).unwrap_err().code(), "not_found");
        assert!(case.run("scripts/./probe.sh", &[]).is_ok());
    }

    wants_an_interpreter_that_is_none(case) {
        case.script("probe", "#!/no/such/interpreter\n");
        assert_eq!(case.run("probe", &[]).unwrap_err().code(), "interpreter_not_found");
        case.script("evil", "#!../../home/evil\n");
        assert_eq!(case.run("evil", &[]).unwrap_err().code(), "interpreter_not_found");
        case.script("broken", "#!/etc/passwd\n");
        assert_eq!(case.run("broken", &[]).unwrap_err().code(), "interpreter_not_found");
        case.script("x.py", "# /// script\n# dependencies = ['six']\n# ///\nimport six\n");
        let error = case.run("x.py", &[]).unwrap_err();
        assert_eq!(error.code(), "interpreter_not_found");
        assert!(error.to_string().contains("uv"), "{error}");
    }

    asks_for_another_python(case) {
        for line in ["", "#!/usr/bin/env python3\n", "#!/usr/bin/python3\n"] {
            let header = |wanted: &str| format!("{line}# /// script\n# requires-python = '{wanted}'\n# ///\nprint('ran')\n");
            std::fs::write(case.skill().join("scripts/x.py"), header(">=3.99")).unwrap();
            let error = case.run("x.py", &[]).unwrap_err();
            assert_eq!(error.code(), "interpreter_not_found");
            assert!(error.to_string().contains(">=3.99"), "{error}");
            std::fs::write(case.skill().join("scripts/x.py"), header(">=3.4")).unwrap();
            assert_eq!(case.run("x.py", &[]).unwrap().stdout_text(), "ran\n");
        }
        std::fs::write(case.skill().join("scripts/x.py"), "# /// script\n# dependencies = 'six'\n# ///\n").unwrap();
        let error = case.run("x.py", &[]).unwrap_err();
        assert_eq!(error.code(), "execution_failed");
        assert!(error.to_string().contains("scripts/x.py, line 1"), "{error}");
    }

    asks_for_help(case) {
        case.script("probe.sh", "#!/bin/sh\n[ \"$1\" = --help ] && echo 'Usage: probe'\n");
        let (dir, manifest) = (case.dir(), case.manifest());
        let result = case.runner(case.limits.clone()).help(&RunRequest::new(&dir, &manifest, "probe.sh")).unwrap();
        assert_eq!((result.stdout_text().as_ref(), result.exit_code), ("Usage: probe\n", Some(0)));
    }

    runs_too_many_at_once(case) {
        case.script("probe.sh", "#!/bin/sh\necho begun; sleep 600\n");
        case.script("other.sh", "#!/bin/sh\necho other\n");
        let runner = skillcue_exec::Runner::new(case.launcher(), skillcue_exec::RunnerOptions {
            concurrent: 1,
            path: "/usr/bin:/bin".into(),
            ..skillcue_exec::RunnerOptions::default()
        });
        let (dir, manifest) = (case.dir(), case.manifest());
        let refused = std::cell::Cell::new(false);
        let request = RunRequest {
            on_output: &|_, _| {
                let error = runner.run(&RunRequest::new(&dir, &manifest, "other.sh")).unwrap_err();
                assert_eq!(error.code(), "busy");
                refused.set(true);
            },
            cancelled: &|| refused.get(),
            ..RunRequest::new(&dir, &manifest, "probe.sh")
        };
        assert_eq!(runner.run(&request).unwrap_err().code(), "cancelled");
        assert!(refused.get());
        assert_eq!(runner.run(&RunRequest::new(&dir, &manifest, "other.sh")).unwrap().stdout_text(), "other\n");
    }
}
