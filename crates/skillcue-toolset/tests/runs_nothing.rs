//! Nothing runs because a skill was found, matched, listed, disclosed or loaded: only a call runs something.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test that cannot be set up has failed, or is skipped")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use serde_json::json;
use skillcue::tools::{Call, ToolContext};
use skillcue::{LoadRequest, Request, Skillcue};
use skillcue_exec::{Launcher, Runner, RunnerOptions, ScriptTools};
use skillcue_toolset::{ToolsetOptions, ToolsetTools, Toolsets};

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Every process is started through the helper. This one leaves a trace.
#[test]
fn only_a_call_runs_something() {
    let dir = tempfile::tempdir().unwrap();
    let skill = dir.path().join("skills/act");
    write(
        &skill.join("SKILL.md"),
        "---\nname: act\ndescription: Acts. Use when asked to act.\ntoolsets: ['tools/index:Tools']\nscripts: [scripts/a.sh]\n---\nAct.\n",
    );
    write(&skill.join("scripts/a.sh"), "#!/bin/sh\ntouch \"$0.trace\"\n");
    write(&skill.join("tools/index.ts"), "export const Tools = [];\n");
    let (helper, trace) = (dir.path().join("helper"), dir.path().join("trace"));
    write(&helper, &format!("#!/bin/sh\necho started >> '{}'\n", trace.display()));
    fs::set_permissions(&helper, fs::Permissions::from_mode(0o755)).unwrap();

    let launcher = Launcher::new(&helper);
    let runner = Runner::new(launcher.clone(), RunnerOptions::default());
    let toolsets = Arc::new(Toolsets::new(ToolsetOptions::new(launcher)));
    let skills = Skillcue::builder()
        .skills_dir(dir.path().join("skills"))
        .tools(Arc::new(ScriptTools::new(runner)))
        .tools(Arc::new(ToolsetTools::new(toolsets)))
        .build()
        .unwrap();
    let call = |name: &str, arguments: serde_json::Value, loaded: &[String]| {
        let context = ToolContext { loaded, ..ToolContext::default() };
        skills.call_tool(&Call::new(name, arguments.as_object().unwrap().clone()), &context)
    };

    assert_eq!(skills.catalog().len(), 1);
    skills.refresh();
    assert_eq!(skills.search(&Request::new("please act")).hits.len(), 1);
    skills.disclose("please act");
    skills.prompt();
    skills.load("act", &LoadRequest::default()).unwrap();
    let files = skills.files("act").unwrap();
    skills.read("act", "scripts/a.sh").unwrap();
    assert_eq!(skills.tools(&[]).len(), 3);
    assert!(skills.brings_tools("act", &files));
    for (name, arguments) in [
        ("load_skill", json!({"skill_id": "act"})),
        ("search_skills", json!({"query": "act"})),
        ("read_skill_file", json!({"skill_id": "act", "path": "tools/index.ts"})),
        ("run_skill_script", json!({"skill_id": "act", "action": "list"})),
        ("act__tool", json!({})),
    ] {
        assert!(call(name, arguments, &[]).is_some(), "{name}");
    }
    assert!(!trace.exists() && !skill.join("scripts/a.sh.trace").exists());
    assert_eq!(threads_for_idle_processes(), 0);

    // The trace would be there: a call leaves one.
    let loaded = ["act".to_owned()];
    let output = call("run_skill_script", json!({"skill_id": "act", "script": "scripts/a.sh"}), &loaded).unwrap();
    assert!(output.is_error, "that helper runs nothing: {}", output.text);
    assert_eq!(fs::read_to_string(&trace).unwrap(), "started\n");
    // The tools of a skill that is loaded are evaluated when they are asked for.
    assert_eq!(
        skills.tools(&loaded).len(),
        5,
        "unload_skill and run_skill_script, and none of the toolset, which did not start"
    );
    assert_eq!(fs::read_to_string(&trace).unwrap(), "started\nstarted\n");

    // A thread would be seen: with a process that can become idle there is one.
    #[cfg(feature = "engine")]
    {
        let toolsets = Toolsets::new(ToolsetOptions::new(Launcher::new(env!("CARGO_BIN_EXE_skillcue-engine"))));
        assert_eq!(threads_for_idle_processes(), 0);
        toolsets.tools(&skillcue_toolset::SkillToolsets::new("act", &skill, ["tools/index:Tools"]));
        // It gives itself its name, once it runs.
        let until = std::time::Instant::now() + std::time::Duration::from_mins(1);
        while threads_for_idle_processes() == 0 && std::time::Instant::now() < until {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        assert_eq!(threads_for_idle_processes(), 1);
    }
}

/// Returns the number of threads of this process that wait for idle processes of toolsets.
fn threads_for_idle_processes() -> usize {
    if !cfg!(target_os = "linux") {
        println!("skipped: only Linux lists the names of threads");
        return 0;
    }
    let names =
        fs::read_dir("/proc/self/task").unwrap().map(|task| fs::read_to_string(task.unwrap().path().join("comm")));
    names.filter(|name| name.as_ref().is_ok_and(|name| name.trim() == "toolset idle")).count()
}

/// A reason that keeps all toolsets of a skill from starting is reported once, not once for each.
#[test]
fn a_failed_start_is_reported_once() {
    let dir = tempfile::tempdir().unwrap();
    write(&dir.path().join("i.ts"), "export const A = [], B = [], C = [];\n");
    let toolsets = Toolsets::new(ToolsetOptions::new(Launcher::new(dir.path().join("no-helper"))));
    let subject = skillcue_toolset::SkillToolsets::new("act", dir.path(), ["i:A", "i:B", "i:C"]);
    let said: Vec<String> = toolsets.tools(&subject).diagnostics.iter().map(ToString::to_string).collect();
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].starts_with("act: error[execution_failed]: cannot start"), "{said:?}");
}
