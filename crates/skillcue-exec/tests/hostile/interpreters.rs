//! Choosing an interpreter that does harm, or that makes more readable than it should.

use skillcue_base::ErrorInfo as _;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use crate::case::{Case, Mode, path};
use crate::hostile;

fn program(at: &Path, text: &str) {
    fs::create_dir_all(at.parent().unwrap()).unwrap();
    fs::write(at, text).unwrap();
    fs::set_permissions(at, fs::Permissions::from_mode(0o755)).unwrap();
}

hostile! {
    is_asked_as_if_it_were_a_shim(case) {
        // In the skill, and beside it: what a first line names is never run outside of the sandbox.
        for place in [case.skill(), case.tmp.path().join("other")] {
            let mark = case.tmp.path().join("home/mark");
            for name in ["python3", "node", "ruby", "perl"] {
                let shim = place.join("shims").join(name);
                program(&shim, &format!("#!/bin/sh\n: > {}\necho /bin/sh\n", mark.display()));
                case.script("probe", &format!("#!{}\n", shim.display()));
                let outcome = case.run("probe", &[]);
                assert!(!mark.exists(), "{} ran outside: {outcome:?}", shim.display());
                if !place.ends_with("skill") {
                    assert_eq!(outcome.unwrap_err().code(), "interpreter_not_found");
                }
                // It would have left its mark.
                assert!(Command::new(&shim).status().unwrap().success() && mark.exists());
                fs::remove_file(&mark).unwrap();
            }
        }
    }

    makes_libraries_of_others_readable(case) {
        let read = format!("cat {} && echo HARM\necho tried\n", case.secret().display());
        let home = case.tmp.path().join("home");
        let prefix = case.skill().join("prefix");
        fs::create_dir_all(prefix.join("bin")).unwrap();
        symlink("/bin/sh", prefix.join("bin/sh")).unwrap();
        fs::copy("/bin/sh", prefix.join("bin/own")).unwrap();
        symlink(&home, prefix.join("lib")).unwrap();
        symlink(&home, prefix.join("lib64")).unwrap();
        fs::create_dir_all(home.join("bin")).unwrap();
        fs::write(prefix.join("pyvenv.cfg"), format!("home = {}/bin\n", home.display())).unwrap();
        for name in ["sh", "own"] {
            case.script("probe", &format!("#!{}\n{read}", prefix.join("bin").join(name).display()));
            let result = case.run("probe", &[]).unwrap();
            let output = result.stdout_text();
            assert!(output.contains("tried") && !output.contains("HARM"), "{name}: {output} {}", result.stderr_text());
            let outside = Command::new(case.skill().join("scripts/probe")).output().unwrap();
            assert!(String::from_utf8_lossy(&outside.stdout).contains("HARM"), "it can be read outside");
        }
    }

    names_an_interpreter_of_somebody_else(case) {
        let home = case.tmp.path().join("home");
        program(&home.join("tools/bin/sh"), "#!/bin/sh\necho HARM\n");
        fs::create_dir_all(home.join("tools/lib")).unwrap();
        for line in [
            home.join("tools/bin/sh").display().to_string(),
            "/proc/self/cwd/bin/sh".to_owned(),
            "/proc/self/root/bin/sh".to_owned(),
            "/proc/self/exe".to_owned(),
            "/usr/../bin/sh".to_owned(),
            format!("{}/../home/tools/bin/sh", case.skill().display()),
        ] {
            case.script("probe", &format!("#!{line}\necho HARM\n"));
            let error = case.run("probe", &[]).unwrap_err();
            assert_eq!(error.code(), "interpreter_not_found", "{line}: {error}");
        }
    }

    brings_its_own_interpreter(case) {
        let own = case.skill().join("bin/mine");
        program(&own, "#!/bin/sh\necho \"mine: $(tail -n 1 \"$1\")\"\n");
        case.script("probe", &format!("#!{}\nhello\n", own.display()));
        let result = case.run("probe", &[]).unwrap();
        assert_eq!(result.stdout_text(), "mine: hello\n", "{}", result.stderr_text());
    }

    // Marked such that Python never compares it with its source.
    brings_compiled_code_beside_other_source(case) {
        let at = case.skill().join("scripts/helpers.py");
        let compile = r#"
import importlib.util, py_compile, sys
unchecked = py_compile.PycInvalidationMode.UNCHECKED_HASH
py_compile.compile(sys.argv[1], cfile=importlib.util.cache_from_source(sys.argv[1]), invalidation_mode=unchecked)
"#;
        fs::write(&at, "word = 'HARM compiled'\n").unwrap();
        let python = |arguments: &[&str]| Command::new("/usr/bin/python3").args(arguments).env_clear().output().unwrap();
        assert!(python(&["-c", compile, path(&at)]).status.success());
        fs::write(&at, "word = 'source'\n").unwrap();
        let probe = case.script("probe.py", "import helpers\nprint(helpers.word)\n");
        assert_eq!(python(&[path(&probe)]).stdout, b"HARM compiled\n", "the control reads its source");
        let result = case.run("probe.py", &[]).unwrap();
        assert_eq!(result.stdout_text(), "source\n", "{}", result.stderr_text());
        // Also by one with an option to ignore variables.
        case.script("alone.py", "#!/usr/bin/python3 -E\nimport helpers\nprint(helpers.word)\n");
        let result = case.run("alone.py", &[]).unwrap();
        assert_eq!(result.stdout_text(), "source\n", "{}", result.stderr_text());
        // Also by an interpreter that a script of another kind starts.
        case.script("probe.sh", "#!/bin/sh\nexec /usr/bin/python3 \"$SKILL_DIR/scripts/probe.py\"\n");
        assert_eq!(case.run("probe.sh", &[]).unwrap().stdout_text(), "source\n");
        // And by one that a script starts without variables. Without mounts of its own this cannot be kept from it.
        for python in ["/usr/bin/python3 -E", "env -i /usr/bin/python3"] {
            case.script("alone.sh", &format!("#!/bin/sh\nexec {python} \"$SKILL_DIR/scripts/probe.py\"\n"));
            let result = case.run("alone.sh", &[]).unwrap();
            let expected = if result.sandbox.own_root { "source\n" } else { "HARM compiled\n" };
            assert_eq!(result.stdout_text(), expected, "{python}: {}", result.stderr_text());
        }
    }

    // None of the directories that cannot be listed keeps compiled code elsewhere from being hidden.
    brings_directories_too_deep_to_look_through(case) {
        let at = case.skill().join("scripts/helpers.py");
        fs::write(&at, "word = 'HARM compiled'\n").unwrap();
        let compile = "import py_compile, sys; py_compile.compile(sys.argv[1], cfile=sys.argv[1] + 'c')";
        let nest = "import os, sys\n\
                    for letter in 'abyz':\n    os.chdir(sys.argv[1])\n    for _ in range(20):\n        \
                    os.mkdir(letter * 250)\n        os.chdir(letter * 250)\n";
        let python = |arguments: &[&str]| Command::new("/usr/bin/python3").args(arguments).env_clear().output().unwrap();
        assert!(python(&["-c", compile, path(&at)]).status.success());
        assert!(python(&["-c", nest, path(&case.skill())]).status.success());
        fs::remove_file(&at).unwrap();
        let probe = case.script("probe.py", "import helpers\nprint(helpers.word)\n");
        assert_eq!(python(&[path(&probe)]).stdout, b"HARM compiled\n", "the control imports it");
        let result = case.run("probe.py", &[]).unwrap();
        assert_eq!(result.stdout_text().contains("HARM"), !result.sandbox.own_root, "{}", result.stderr_text());
        // What is hidden is empty, and what can be listed is there.
        let list = "import os\nnames = [n for n in os.listdir(os.environ['SKILL_DIR']) if len(n) == 250]\nprint(len(names))\n";
        case.script("list.py", list);
        assert_eq!(case.run("list.py", &[]).unwrap().stdout_text(), "4\n");
    }

    brings_compiled_code_without_source(case) {
        let at = case.skill().join("scripts/helpers.py");
        fs::write(&at, "word = 'HARM compiled'\n").unwrap();
        let compile = "import py_compile, sys; py_compile.compile(sys.argv[1], cfile=sys.argv[1] + 'c')";
        let python = |arguments: &[&str]| Command::new("/usr/bin/python3").args(arguments).env_clear().output().unwrap();
        assert!(python(&["-c", compile, path(&at)]).status.success());
        fs::remove_file(&at).unwrap();
        let probe = case.script("probe.py", "import helpers\nprint(helpers.word)\n");
        assert_eq!(python(&[path(&probe)]).stdout, b"HARM compiled\n", "the control imports it");
        let result = case.run("probe.py", &[]).unwrap();
        assert_eq!(result.stdout_text().contains("HARM"), !result.sandbox.own_root, "{}", result.stderr_text());
        if result.sandbox.own_root {
            assert!(result.stderr_text().contains("No module named 'helpers'"), "{}", result.stderr_text());
        }
    }
}
