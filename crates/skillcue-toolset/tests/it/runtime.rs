//! The same toolsets in `node`, where it is installed.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use skillcue_base::ErrorInfo as _;
use skillcue_toolset::{CallContext, Granted, Options, Runtime, Subject, ToolError, ToolResult, Toolsets};

use crate::harness::{Skill, hasty, options, write};

/// The tests need `node`, as the README says.
fn node() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    skillcue_exec::find_program("node", &path).expect("there is no node on the PATH")
}

struct InNode {
    skill: Skill,
    program: PathBuf,
}

impl InNode {
    fn with(options: Options, files: &[(&str, &str)], declared: &[&str]) -> InNode {
        InNode { program: node(), skill: Skill::with(options, files, declared) }
    }

    fn subject<'s>(&'s self, path: &'s Path) -> Subject<'s> {
        Subject {
            runtime: Runtime::Node,
            granted: Granted { program: Some(self.program.clone()), ..Granted::default() },
            ..Subject::new("s", path, &self.skill.declared)
        }
    }

    #[expect(clippy::needless_pass_by_value, reason = "written down where it is called")]
    fn call(&self, id: &str, arguments: Value) -> Result<ToolResult, ToolError> {
        let path = self.skill.path();
        let arguments: Map<String, Value> = arguments.as_object().cloned().unwrap_or_default();
        self.skill.toolsets.call(&self.subject(&path), id, &arguments, &CallContext::new("s1"))
    }

    fn findings(&self) -> Vec<skillcue_format::Diagnostic> {
        let path = self.skill.path();
        self.skill.toolsets.tools(&self.subject(&path)).diagnostics.clone()
    }
}

fn patient() -> Options {
    let mut options = options();
    options.limits.memory = 256 << 20;
    options
}

#[test]
fn node_runs_what_the_engine_cannot() {
    let text = "import { Tool } from '@agent/tools';
import { basename } from 'node:path';
import { readFileSync } from 'fs';
import old from 'old';
import { suffix } from './part.js';
import data from './data.json';
enum Kind { A = 'a', B = 'b' }
interface Args { path: string }
export const T = [
  Tool.define('t', { description: 'd', parameters: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
    execute: async ({ path }: Args, ctx) => ({ title: `${ctx.skillName} ${ctx.sessionId}`, metadata: { kind: Kind.B, data }, output: basename(path) + suffix(old.value as number) }) }),
  Tool.define('read', { description: 'd', parameters: { properties: { path: { type: 'string' } } }, execute: ({ path }: Args) => readFileSync(path, 'utf8') }),
  Tool.define('boom', { description: 'd', execute: (): never => { throw new TypeError('no') } }),
];
";
    let files = [
        ("toolsets/index.ts", text),
        ("toolsets/part.ts", "export const suffix = (n: number): string => `-${n}`;"),
        ("toolsets/data.json", "{\"x\": 1}"),
        ("node_modules/old/package.json", "{\"name\": \"old\", \"main\": \"index.js\"}"),
        ("node_modules/old/index.js", "exports.value = require('./other.js');"),
        ("node_modules/old/other.js", "module.exports = 42;"),
    ];
    let node = InNode::with(patient(), &files, &["toolsets/index:T"]);
    assert_eq!(node.findings(), []);
    let result = node.call("t", json!({"path": "/a/b.txt"})).unwrap();
    assert_eq!((result.title.as_str(), result.output.as_str()), ("s s1", "b.txt-42"));
    assert_eq!(result.metadata, json!({"kind": "b", "data": {"x": 1}}));
    assert!(result.sandbox.sandboxed);
    assert_eq!(node.call("t", json!({})).unwrap_err().code(), "invalid_argument");
    match node.call("boom", json!({})).unwrap_err() {
        ToolError::Threw { message, place, .. } => {
            assert_eq!(message, "TypeError: no");
            assert!(place.as_deref().unwrap().starts_with("toolsets/index.ts:13:"), "{place:?}");
        }
        other => panic!("{other:?}"),
    }
    // Its own files it can read, nothing else.
    let own = node.skill.path().join("toolsets/data.json");
    assert_eq!(node.call("read", json!({"path": own})).unwrap().output, "{\"x\": 1}");
    write(&node.skill.dir.path().join("secret"), "secret");
    for path in [
        node.skill.dir.path().join("secret"),
        "/etc/shadow".into(),
        concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml").into(),
    ] {
        assert_eq!(node.call("read", json!({"path": path})).unwrap_err().code(), "threw", "{}", path.display());
    }
}

#[test]
fn broken_toolsets_in_node_are_diagnostics_too() {
    let good = "import { Tool } from '@agent/tools'; export const T = [Tool.define('ok', { description: 'd', execute: () => 'fine' })];";
    for (text, code, line) in [
        ("let a;\nlet x: = 1;", "toolset_syntax", Some(2)),
        ("export const Other = 1;", "toolset_export", Some(1)),
        ("export const T = 5;", "toolset_shape", Some(1)),
        ("\n\nthrow new Error('no');", "toolset_threw", Some(3)),
        ("import './nowhere'; export const T = [];", "module_not_found", Some(1)),
    ] {
        let node = InNode::with(patient(), &[("bad.ts", text), ("good.ts", good)], &["bad:T", "good:T"]);
        let findings = node.findings();
        assert_eq!(findings.len(), 1, "{text}: {findings:?}");
        assert_eq!((findings[0].code.as_str(), findings[0].line()), (code, line), "{text}: {findings:?}");
        assert_eq!(node.call("ok", json!({})).unwrap().output, "fine");
    }
}

/// What node looked for is not known here, so a missing module is looked for again instead.
#[test]
fn a_module_that_node_missed_is_seen_once_it_is_there() {
    let text = "import { said } from 'late';
import { Tool } from '@agent/tools';
export const T = [Tool.define('t', { description: 'd', execute: () => said })];";
    let mut options = patient();
    options.limits.retry = std::time::Duration::from_hours(1);
    let node = InNode::with(options, &[("i.ts", text)], &["i:T"]);
    assert_eq!(node.findings()[0].code.as_str(), "module_not_found");
    let package = node.skill.path().join("node_modules/late");
    write(&package.join("package.json"), "{\"name\": \"late\", \"type\": \"module\", \"main\": \"index.js\"}");
    write(&package.join("index.js"), "export const said = 'here now';");
    let until = std::time::Instant::now() + std::time::Duration::from_mins(1);
    while !node.findings().is_empty() {
        assert!(std::time::Instant::now() < until, "it is not looked for again");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert_eq!(node.call("t", json!({})).unwrap().output, "here now");
}

#[test]
fn node_is_killed_when_it_must_be_and_started_again() {
    let text = "import { Tool } from '@agent/tools';
export const T = [
  Tool.define('spin', { description: 'd', execute() { for (;;); } }),
  Tool.define('exit', { description: 'd', execute() { process.exit(3) } }),
  Tool.define('noise', { description: 'd', execute() { console.log('x'); process.stdout.write('garbage\\n'); return 'quiet' } }),
  Tool.define('ok', { description: 'd', execute: () => 'fine' })];";
    let mut options = hasty();
    options.limits.memory = 256 << 20;
    options.limits.load = std::time::Duration::from_secs(30);
    let node = InNode::with(options, &[("i.ts", text)], &["i:T"]);
    assert_eq!(node.findings(), []);
    assert_eq!(node.call("spin", json!({})).unwrap_err().code(), "timeout");
    assert_eq!(node.call("exit", json!({})).unwrap_err().code(), "crashed");
    assert_eq!(node.call("noise", json!({})).unwrap().output, "quiet");
    assert_eq!(node.call("ok", json!({})).unwrap().output, "fine");
}

#[test]
fn results_of_node_may_be_a_megabyte_and_no_more() {
    let text = "import { Tool } from '@agent/tools';
export const T = [Tool.define('much', { description: 'd', parameters: { properties: { n: {} } }, execute: ({ n }) => '\\0'.repeat(n) })];";
    let node = InNode::with(patient(), &[("i.ts", text)], &["i:T"]);
    assert_eq!(node.call("much", json!({"n": 1 << 20})).unwrap().output.len(), 1 << 20);
    assert_eq!(node.call("much", json!({"n": (1 << 20) + 1})).unwrap_err().code(), "too_large");
}

#[test]
fn a_runtime_that_nobody_granted_is_refused() {
    let skill = Skill::new(&[("i.ts", "export const T = [];")], &["i:T"]);
    let path = skill.path();
    for runtime in [Runtime::Node, Runtime::Bun, Runtime::Deno] {
        let subject = Subject { runtime, ..Subject::new("s", &path, &skill.declared) };
        let toolsets = Toolsets::new(options());
        assert_eq!(toolsets.tools(&subject).diagnostics[0].code.as_str(), "not_granted");
        let error = toolsets.call(&subject, "t", &Map::new(), &CallContext::new("s")).unwrap_err();
        assert_eq!(error.code(), "not_granted");
    }
}

#[test]
#[ignore = "needs bun: SKILLCUE_TEST_BUN names the program"]
fn bun_runs_toolsets_too() {
    runs_in(Runtime::Bun, "SKILLCUE_TEST_BUN");
}

#[test]
#[ignore = "needs deno: SKILLCUE_TEST_DENO names the program"]
fn deno_runs_toolsets_too() {
    runs_in(Runtime::Deno, "SKILLCUE_TEST_DENO");
}

fn runs_in(runtime: Runtime, variable: &str) {
    let program = std::env::var_os(variable).map(PathBuf::from).expect("a program");
    let text = "import { Tool } from '@agent/tools';
import { basename } from 'node:path';
import { suffix } from './part';
export const T = [Tool.define('t', { description: 'd', execute: async (_: {}, ctx): Promise<string> => basename('/a/b') + suffix + ctx.skillName })];";
    let mut options = patient();
    options.limits.load = std::time::Duration::from_secs(30);
    let skill = Skill::with(options, &[("i.ts", text), ("part.ts", "export const suffix: string = '-'")], &["i:T"]);
    let path = skill.path();
    let granted = Granted { program: Some(program), ..Granted::default() };
    let subject = Subject { runtime, granted, ..Subject::new("s", &path, &skill.declared) };
    assert_eq!(skill.toolsets.tools(&subject).diagnostics, []);
    assert_eq!(skill.toolsets.call(&subject, "t", &Map::new(), &CallContext::new("s")).expect("it runs").output, "b-s");
}
