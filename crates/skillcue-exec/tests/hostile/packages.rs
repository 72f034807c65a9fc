//! Packages by a `uv` that is none: the real one needs the network.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use skillcue_base::ErrorInfo as _;
use skillcue_exec::{RunRequest, Runner, RunnerOptions};

use crate::case::{Case, Mode};
use crate::hostile;

const SCRIPT: &str = "# /// script\n# dependencies = ['six']\n# ///\nimport sys\nprint('ran by', sys.argv[0] != '')\n";

/// Runs a script with this `uv`; returns its output, or an error's code and text.
fn with_uv(case: &Case, uv: &str) -> Result<String, (&'static str, String)> {
    with_script(case, uv, SCRIPT)
}

fn with_script(case: &Case, uv: &str, script: &str) -> Result<String, (&'static str, String)> {
    let bin = case.tmp.path().join("bin");
    fs::create_dir_all(&bin).unwrap();
    fs::write(bin.join("uv"), uv).unwrap();
    fs::set_permissions(bin.join("uv"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(case.skill().join("scripts/x.py"), script).unwrap();
    let options = RunnerOptions {
        path: format!("{}:/usr/bin:/bin", bin.display()).into(),
        packages: Some(case.tmp.path().join("packages")),
        ..RunnerOptions::default()
    };
    let (dir, manifest) = (case.dir(), case.manifest());
    let outcome = Runner::new(case.launcher(), options).run(&RunRequest::new(&dir, &manifest, "x.py"));
    case.nothing_is_left();
    outcome.map(|result| result.stdout_text().into_owned()).map_err(|error| (error.code(), error.to_string()))
}

hostile! {
    brings_its_packages(case) {
        let uv = r#"#!/bin/sh
env="$UV_CACHE_DIR/environments/x"
case "$1" in
sync) mkdir -p "$env/bin" "$env/lib" && ln -sf /usr/bin/python3 "$env/bin/python" ;;
python) echo "$env/bin/python" ;;
esac
"#;
        assert_eq!(with_uv(case, uv), Ok("ran by True\n".to_owned()));
    }

    names_another_interpreter(case) {
        for answer in ["/etc/passwd", "/bin/sh", "$UV_CACHE_DIR/../../../../home/secret", "", "relative/bin/python"] {
            let uv = format!("#!/bin/sh\n[ \"$1\" = sync ] || echo \"{answer}\"\n");
            let (code, text) = with_uv(case, &uv).unwrap_err();
            assert_eq!(code, "execution_failed", "{answer}: {text}");
        }
    }

    needs_the_network_for_packages(case) {
        let uv = "#!/bin/sh\necho 'hint: Packages were unavailable because the network was disabled.' >&2\nexit 1\n";
        let (code, text) = with_uv(case, uv).unwrap_err();
        assert_eq!(code, "permission_required", "{text}");
    }

    does_harm_while_packages_are_brought(case) {
        let mark = case.tmp.path().join("home/mark");
        let uv = format!("#!/bin/sh\n(: > {})\ncat {} >&2\necho tried >&2\nexit 1\n", mark.display(), case.secret().display());
        let (code, text) = with_uv(case, &uv).unwrap_err();
        assert_eq!(code, "execution_failed");
        assert!(!mark.exists() && !text.contains("hunter2"), "{text}");
        assert!(text.contains("cat: ") && text.contains("tried"), "it tried nothing: {text}");
    }

    leads_its_interpreters_elsewhere(case) {
        let read = format!(
            "try:\n    print('HARM', open({:?}).read())\nexcept OSError:\n    print('contained')\n",
            case.secret().to_str().unwrap()
        );
        let uv = format!(
            r#"#!/bin/sh
env="$UV_CACHE_DIR/environments/x"
case "$1" in
sync) mkdir -p "$env/bin" "$env/lib" && ln -sf /usr/bin/python3 "$env/bin/python" && ln -sfn {} "$UV_PYTHON_INSTALL_DIR" ;;
python) echo "$env/bin/python" ;;
esac
"#,
            case.tmp.path().join("home").display()
        );
        assert_eq!(with_script(case, &uv, &format!("{SCRIPT}{read}")), Ok("ran by True\ncontained\n".to_owned()));
    }
}
