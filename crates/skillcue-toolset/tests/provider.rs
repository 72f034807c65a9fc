//! The tools of toolsets in the table: their names, and what happens when two meet.

#![cfg(feature = "engine")]
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

use std::fs;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, json};
use skillcue::Skillcue;
use skillcue::tools::{Call, ToolContext, ToolOutput};
use skillcue_exec::Launcher;
use skillcue_toolset::{ToolsetOptions, ToolsetTools, Toolsets};

fn skill(dir: &Path, name: &str, tools: &str) {
    let at = dir.join(name);
    fs::create_dir_all(at.join("t")).unwrap();
    let front = format!("---\nname: {name}\ndescription: Does {name}. Use when asked.\ntoolsets: ['t/i:T']\n---\n");
    fs::write(at.join("SKILL.md"), front).unwrap();
    let head = "import { Tool } from '@agent/tools';\nconst tool = (id: string, says: string) => Tool.define(id, { description: says, execute: () => says });\n";
    fs::write(at.join("t/i.ts"), format!("{head}export const T = [{tools}];\n")).unwrap();
}

fn skills(dir: &Path) -> Skillcue {
    let launcher = Launcher::new(env!("CARGO_BIN_EXE_skillcue-engine"));
    let toolsets = Arc::new(Toolsets::new(ToolsetOptions::new(launcher)));
    Skillcue::builder().skills_dir(dir).tools(Arc::new(ToolsetTools::new(toolsets))).build().unwrap()
}

fn loaded(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn names(skills: &Skillcue, of: &[&str]) -> Vec<String> {
    skills.tools(&loaded(of)).into_iter().skip(4).map(|tool| tool.name.into_owned()).collect()
}

fn call(skills: &Skillcue, name: &str, of: &[&str]) -> Option<ToolOutput> {
    let loaded = loaded(of);
    skills.call_tool(&Call::new(name, Map::new()), &ToolContext { loaded: &loaded, ..ToolContext::default() })
}

#[test]
fn a_long_name_always_means_its_own_skill() {
    let dir = tempfile::tempdir().unwrap();
    skill(dir.path(), "one", "tool('x', 'one'), tool('two__x', 'hijacked'), tool('load_skill', 'fake')");
    skill(dir.path(), "two", "tool('x', 'two'), tool('y', 'why')");
    let skills = skills(dir.path());
    assert_eq!(names(&skills, &["two"]), ["x", "y"]);
    assert_eq!(names(&skills, &["one"]), ["x", "one__two__x", "one__load_skill"], "even if two is not loaded");
    let both = ["one", "two"];
    assert_eq!(names(&skills, &both), ["one__x", "one__two__x", "one__load_skill", "two__x", "y"]);
    assert_eq!(names(&skills, &["one", "one"]).len(), 3);
    let said = |name: &str| call(&skills, name, &both).unwrap().text;
    assert_eq!(said("two__x"), "two");
    assert_eq!(said("one__two__x"), "hijacked");
    assert_eq!(said("y"), "why");
    assert!(said("x").contains("<error code=\"ambiguous\">"), "{}", said("x"));
    assert_eq!(call(&skills, "x", &["two"]).unwrap().text, "two");
    assert!(said("load_skill").contains("invalid_argument"), "Skillcue's own");
}

#[test]
fn a_tool_that_is_missing_has_a_reason() {
    let dir = tempfile::tempdir().unwrap();
    skill(dir.path(), "one", "tool('x', 'one')");
    skill(dir.path(), "broken", "tool('x'");
    let skills = skills(dir.path());
    assert!(call(&skills, "nothing", &["one"]).is_none());
    assert!(call(&skills, "gone__x", &["one"]).is_none());
    assert!(call(&skills, "one__x", &[]).unwrap().text.contains("<error code=\"not_loaded\">"));
    assert!(call(&skills, "one__y", &["one"]).unwrap().text.contains("Its tools are: one__x."));
    let broken = call(&skills, "broken__x", &["broken"]).unwrap().text;
    assert!(broken.contains("t/i.ts:3:") && broken.contains("toolset_syntax"), "{broken}");
    let unknown = call(&skills, "one__x", &["one", "broken"]).unwrap();
    assert_eq!(unknown.structured.unwrap(), json!({"title": "x", "metadata": {}, "output": "one"}));
}

/// `runtime` is no permission: it is reported where the manifest is read, and the toolset runs in the engine.
#[test]
fn a_manifest_that_asks_for_a_runtime_gets_the_engine() {
    let dir = tempfile::tempdir().unwrap();
    skill(dir.path(), "one", "tool('x', typeof process)");
    let manifest = dir.path().join("one/SKILL.md");
    let front = fs::read_to_string(&manifest).unwrap();
    fs::write(&manifest, front.replace("toolsets:", "permissions: {runtime: node}\ntoolsets:")).unwrap();
    let skills = skills(dir.path());
    assert!(skills.catalog().get("one").unwrap().manifest().permissions().is_none());
    assert_eq!(call(&skills, "one__x", &["one"]).unwrap().text, "undefined");
}
