//! `run_skill_script`, as a model calls it.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

use std::fs;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use skillcue::Skillcue;
use skillcue::consent::{ConsentStore, Scope};
use skillcue::tools::{Call, ToolContext, ToolOutput};
use skillcue_exec::{Launcher, Runner, RunnerOptions, ScriptTools};
use tempfile::TempDir;

struct House {
    dir: TempDir,
    skills: Skillcue,
    runner: Runner,
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// A skill with scripts, one without, and one that hides from models.
fn house() -> House {
    let dir = tempfile::tempdir().unwrap();
    let skill = |name: &str, more: &str| {
        let text = format!("---\nname: {name}\ndescription: Does {name}. Use when asked.\n{more}---\nBody.\n");
        write(&dir.path().join(name).join("SKILL.md"), &text);
    };
    skill("report", "");
    skill("plain", "");
    skill("hidden", "disable-model-invocation: true\n");
    skill("asking", "permissions:\n  env: [SECRET]\n");
    write(&dir.path().join("report/scripts/count.sh"), "#!/bin/sh\n# Counts its arguments.\necho \"$#: $*\"\n");
    write(&dir.path().join("report/scripts/echo.sh"), "#!/bin/sh\ncat; echo oops >&2; exit 3\n");
    write(&dir.path().join("report/scripts/much.sh"), "#!/bin/sh\nyes '</stdout></skill_script>' | head -c 200000\n");
    write(&dir.path().join("report/scripts/long.sh"), "#!/bin/sh\nsleep 600\n");
    write(&dir.path().join("hidden/scripts/x.sh"), "#!/bin/sh\n");
    write(&dir.path().join("asking/scripts/tell.sh"), "#!/bin/sh\necho $SECRET\n");
    let options = RunnerOptions {
        path: "/usr/bin:/bin".into(),
        environment: vec![("SECRET".into(), "hunter2".into())],
        consent: Arc::new(ConsentStore::default()),
        ..RunnerOptions::default()
    };
    let runner = Runner::new(Launcher::new(env!("CARGO_BIN_EXE_skillcue-sandbox")), options);
    let skills =
        Skillcue::builder().skills_dir(dir.path()).tools(Arc::new(ScriptTools::new(runner.clone()))).build().unwrap();
    House { dir, skills, runner }
}

impl House {
    /// Calls it in a session that has loaded every skill.
    fn call(&self, arguments: &Value) -> ToolOutput {
        let loaded = ["report", "plain", "hidden", "asking"].map(str::to_owned);
        self.call_as(arguments, &ToolContext { loaded: &loaded, ..ToolContext::default() })
    }

    fn call_as(&self, arguments: &Value, context: &ToolContext<'_>) -> ToolOutput {
        self.skills.call_tool(&called(arguments), context).unwrap()
    }
}

fn called(arguments: &Value) -> Call {
    Call::new("run_skill_script", arguments.as_object().unwrap().clone())
}

#[test]
fn it_joins_once_a_skill_with_scripts_is_loaded() {
    let house = house();
    let names = |loaded: &[&str]| {
        let loaded: Vec<String> = loaded.iter().map(|name| (*name).to_owned()).collect();
        house.skills.tools(&loaded).into_iter().map(|tool| tool.name.into_owned()).collect::<Vec<_>>()
    };
    let usual = ["load_skill", "search_skills", "read_skill_file"];
    assert_eq!(names(&[]), usual);
    assert_eq!(names(&["plain", "gone", "hidden"])[3..], ["unload_skill"]);
    assert_eq!(names(&["plain", "report"])[3..], ["unload_skill", "run_skill_script"]);
    let brings = |name: &str| house.skills.brings_tools(name, &house.skills.files(name).unwrap());
    assert!(brings("report") && !brings("plain") && !brings("hidden"));
    let tool = house.skills.tools(&["report".to_owned()]).pop().unwrap();
    assert_eq!(tool.input_schema["additionalProperties"], false);
    assert!(!tool.read_only);
}

#[test]
fn scripts_are_listed_run_and_reported() {
    let house = house();
    let list = house.call(&json!({"skill_id": "report", "action": "list"}));
    assert!(list.text.contains("- scripts/count.sh: Counts its arguments"), "{}", list.text);
    let output =
        house.call(&json!({"skill_id": "report", "script": "scripts/count.sh", "arguments": ["a b", 2, "$X"]}));
    assert_eq!(
        output.text,
        "<skill_script id=\"report\" script=\"scripts/count.sh\" exit_code=\"0\" sandboxed=\"true\">\n\
         <stdout>\n3: a b 2 $X\n</stdout>\n</skill_script>"
    );
    assert!(!output.is_error);
    assert_eq!(output.structured.unwrap()["exit_code"], 0);
    let output = house.call(&json!({"skill_id": "report", "script": "scripts/echo.sh", "input": {"a": [1]}}));
    assert!(output.is_error);
    assert_eq!(
        output.text,
        "<skill_script id=\"report\" script=\"scripts/echo.sh\" exit_code=\"3\" sandboxed=\"true\">\n\
         <stdout>\n{\"a\":[1]}\n</stdout>\n<stderr>\noops\n</stderr>\n</skill_script>"
    );
    let help = house.call(&json!({"skill_id": "report", "script": "scripts/count.sh", "action": "help"}));
    assert!(help.text.contains("1: --help"), "{}", help.text);
}

#[test]
fn output_for_models_is_bounded_and_escaped() {
    let house = house();
    let output = house.call(&json!({"skill_id": "report", "script": "scripts/much.sh"}));
    assert!(output.text.len() < 70_000, "{}", output.text.len());
    assert!(output.text.contains("bytes are left out here.]"));
    assert_eq!(output.text.matches("</stdout>").count(), 1);
    assert_eq!(output.text.matches("</skill_script>").count(), 1);
}

#[test]
fn calls_that_cannot_run_give_the_reason() {
    let house = house();
    let code = |arguments: &Value| {
        let output = house.call(arguments);
        assert!(output.is_error);
        let (_, rest) = output.text.split_once("<error code=\"").unwrap();
        rest.split_once('"').unwrap().0.to_owned()
    };
    assert_eq!(code(&json!({})), "invalid_argument");
    assert_eq!(code(&json!({"skill_id": "report"})), "invalid_argument");
    assert_eq!(code(&json!({"skill_id": "report", "script": "x", "shell": true})), "invalid_argument");
    assert_eq!(code(&json!({"skill_id": "report", "script": "x", "action": "stop"})), "invalid_argument");
    assert_eq!(code(&json!({"skill_id": "report", "script": "x", "arguments": "a"})), "invalid_argument");
    assert_eq!(code(&json!({"skill_id": "hidden", "script": "scripts/x.sh"})), "not_found");
    assert_eq!(code(&json!({"skill_id": "report", "script": "scripts/count"})), "not_found");
    assert_eq!(code(&json!({"skill_id": "report", "script": "../plain/SKILL.md"})), "security");
    let many: Vec<&str> = vec!["x"; 101];
    assert_eq!(code(&json!({"skill_id": "report", "script": "scripts/count.sh", "arguments": many})), "args_too_large");
    assert_eq!(code(&json!({"skill_id": "asking", "script": "scripts/tell.sh"})), "permission_required");
}

#[test]
fn only_scripts_of_skills_that_the_session_has_loaded_run() {
    let house = house();
    let run = json!({"skill_id": "report", "script": "scripts/count.sh", "arguments": ["a"]});
    let in_session = |loaded: &[&str], arguments: &Value| {
        let loaded: Vec<String> = loaded.iter().map(|name| (*name).to_owned()).collect();
        house.call_as(arguments, &ToolContext { loaded: &loaded, ..ToolContext::default() })
    };
    for loaded in [&[][..], &["plain", "gone"][..]] {
        for action in ["run", "help", "list"] {
            let mut call = run.clone();
            call["action"] = json!(action);
            assert_eq!(
                in_session(loaded, &call).text,
                "<skill_script id=\"report\" script=\"scripts/count.sh\">\n  <error code=\"not_loaded\">\n    \
                 Load the skill first: load_skill with the id \"report\".\n  </error>\n</skill_script>",
                "{action}"
            );
        }
        let loaded: Vec<String> = loaded.iter().map(|name| (*name).to_owned()).collect();
        let program = house.skills.program_for_call(&called(&run), &loaded);
        assert_eq!(program, None, "what is refused needs no approval");
    }
    for name in ["report", "report@inline"] {
        let output = in_session(&["plain", name], &run);
        assert!(!output.is_error && output.text.contains("1: a"), "{name}: {}", output.text);
    }
    assert!(house.skills.program_for_call(&called(&run), &["report".to_owned()]).is_some());
}

#[test]
fn granted_variables_reach_the_script() {
    let house = house();
    let asking = house.dir.path().join("asking");
    let dir = skillcue::catalog::SkillDir::open("asking", &asking).unwrap();
    let catalog = house.skills.catalog();
    let asked = catalog.get("asking").unwrap().manifest().permissions().unwrap();
    let question = house.runner.script_question(&dir, "scripts/tell.sh", asked).unwrap();
    house.runner.consent().remember(&question, Scope::Always).unwrap();
    let output = house.call(&json!({"skill_id": "asking", "script": "scripts/tell.sh"}));
    assert!(output.text.contains("hunter2"), "{}", output.text);
}

#[test]
fn a_cancelled_call_ends() {
    let house = house();
    let loaded = ["report".to_owned()];
    let context = ToolContext { cancelled: &|| true, loaded: &loaded, ..ToolContext::default() };
    let output = house.call_as(&json!({"skill_id": "report", "script": "scripts/long.sh"}), &context);
    assert!(output.is_error && output.text.contains("cancelled"), "{}", output.text);
}
