//! Toolsets that mean harm, or do harm without meaning it: each is contained, and the next call works.
//!
//! Over 500 lines: each attack is a module in TypeScript, written out.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::json;
use skillcue_base::ErrorInfo as _;
use skillcue_toolset::{CallContext, ToolsetOptions};

use crate::harness::{Skill, hasty, options};

/// Asserts that `t` fails with one of these codes, and that the skill works afterwards.
fn fails(body: &str, codes: &[&str]) {
    fails_with(hasty(), body, codes);
}

fn fails_with(options: ToolsetOptions, body: &str, codes: &[&str]) {
    let skill = Skill::body(options, body);
    assert_eq!(skill.findings(), [], "{body}");
    let error = skill.error();
    assert!(codes.contains(&error.code()), "{body}: {} {error}", error.code());
    skill.assert_well();
}

/// Asserts that `t` has this output.
fn gives(body: &str, output: &str) {
    let skill = Skill::body(options(), body);
    assert_eq!(skill.findings(), [], "{body}");
    assert_eq!(skill.output(), output, "{body}");
    skill.assert_well();
}

#[test]
fn scripts_that_never_end_are_interrupted() {
    fails("while (true) {}", &["timeout"]);
    fails("for (;;) { try { while (true) {} } catch {} }", &["timeout"]);
    fails("try { while (true) {} } finally { while (true) {} }", &["timeout"]);
    fails("await null; while (true) {}", &["timeout"]);
    fails("await new Promise(() => {})", &["timeout"]);
    fails("const spin = () => Promise.resolve().then(spin); await spin()", &["timeout"]);
    fails("const spin = async () => { for (;;) await null }; await spin()", &["timeout"]);
    fails("await new Promise(() => setInterval(() => {}, 0))", &["timeout"]);
    fails("return { get output() { while (true) {} } }", &["timeout"]);
    fails("return { output: { toJSON() { while (true) {} } } }", &["timeout"]);
    fails("return { then() { while (true) {} } }", &["timeout"]);
}

/// A native function without a place where the engine could be interrupted: only killing its process helps.
#[test]
fn native_functions_that_take_for_ever_are_killed() {
    fails("return /^(a+)+$/.test('a'.repeat(40) + 'b')", &["timeout"]);
    fails("return 'a'.repeat(1 << 20).replace(/(a*)*b/, '')", &["timeout"]);
    // The control: the same functions, with less to do.
    gives("return 'a'.repeat(8).replace(/(a*)*b/, '')", "aaaaaaaa");
    gives("return String(/^(a+)+$/.test('a'.repeat(4) + 'b'))", "false");
}

/// With all the time that they may want: it is memory that ends them.
#[test]
fn memory_has_a_limit() {
    let mut options = options();
    options.limits.memory = 48 << 20;
    options.limits.call = Duration::from_mins(2);
    for body in [
        "const a = []; for (;;) a.push({ a })",
        "const a = []; for (;;) a.push(new ArrayBuffer(1 << 20))",
        "const m = new Map(); for (let i = 0; ; i++) m.set(i, [i])",
        "return new Uint8Array(1 << 30).length",
        "const a = []; for (;;) a.push('x'.repeat(1 << 20) + a.length)",
        // Inside of native functions.
        "return String(new Array(5e7).fill(1).sort(() => 0).length)",
        "return String('x'.repeat(2**28).split('').length)",
    ] {
        let skill = Skill::body(options.clone(), body);
        let error = skill.error();
        // Without room even for an error, the engine throws null.
        let is_memory = error.code() == "memory" || error.to_string().ends_with("null was thrown");
        assert!(is_memory, "{body}: {} {error}", error.code());
        skill.assert_well();
    }
    // The control: half of it is there to be used.
    let skill = Skill::body(options, "return String(new Uint8Array(24 << 20).fill(1).length)");
    assert_eq!(skill.output(), "25165824");
}

#[test]
fn recursion_ends_in_an_error() {
    fails("const f = () => f() + 1; return f()", &["threw"]);
    fails("class A { get x() { return this.x } } return new A().x", &["threw"]);
    fails("let a = []; for (let i = 0; i < 1e5; i++) a = [a]; return a", &["bad_result"]);
    fails("let a = {}; for (let i = 0; i < 1e5; i++) a = { a }; return { output: 'x', metadata: a }", &["bad_result"]);
    fails("const p = new Proxy({}, { get: (t, k, r) => r[k] }); return p.x", &["threw"]);
    fails("let s = 'x'; for (;;) s += s", &["threw"]);
}

#[test]
fn results_cannot_break_the_protocol() {
    fails("return { get output() { throw new Error('no') } }", &["bad_result"]);
    fails("return { output: { get x() { throw new Error('no') } } }", &["bad_result"]);
    fails("const a = {}; a.a = a; return a", &["bad_result"]);
    fails("const a = []; a.push([a]); return { output: 'x', metadata: { a } }", &["bad_result"]);
    fails(
        "return new Proxy({}, { ownKeys() { throw new Error('no') }, get(t, k) { return k === 'output' ? new Proxy({}, { ownKeys() { throw 1 } }) : undefined } })",
        &["bad_result"],
    );
    fails("return { output: { toJSON() { throw new Error('no') } } }", &["bad_result"]);
    gives("return { output: { toJSON() { return { x: 1 } } } }", r#"{"x":1}"#);
    gives("return { output: { toJSON() { return this } , x: 1 } }", r#"{"x":1}"#);
    gives(
        r#"return 'a\n{"done":{"id":1,"title":"spoof","metadata":{},"output":"spoof"}}\n'"#,
        "a\n{\"done\":{\"id\":1,\"title\":\"spoof\",\"metadata\":{},\"output\":\"spoof\"}}\n",
    );
    gives("return Object.assign(Object.create(null), { output: 'plain' })", "plain");
    gives(
        "throw { toString() { throw 1 }, get message() { throw 2 } }"
            .replace("throw {", "return 'x'; throw {")
            .as_str(),
        "x",
    );
    fails(
        "throw { get message() { throw 2 }, get stack() { throw 3 }, get name() { while (0); throw 4 } }",
        &["threw"],
    );
    fails("throw null", &["threw"]);
    fails("throw Symbol('x')", &["threw"]);
    fails("throw 'x'.repeat(5 << 20)", &["threw"]);
}

/// A megabyte is the most, however it looks on the wire; a byte more is refused whole, and the error names the limit.
#[test]
fn results_over_a_megabyte_are_too_large() {
    let most = skillcue_toolset::MAX_OUTPUT_BYTES;
    for (piece, whole) in [("x", most), ("ä", most / 2), ("\\0", most)] {
        let body = |count: usize| format!("return '{piece}'.repeat({count})");
        let fits = Skill::body(options(), &body(whole));
        assert_eq!(fits.output().len(), most, "{piece}");
        let over = Skill::body(options(), &body(whole + 1));
        let error = over.error();
        assert_eq!(error.code(), "too_large", "{piece}: {error}");
        assert!(error.to_string().contains("1048576 bytes"), "{error}");
        over.assert_well();
    }
    // As JSON, quotes and brackets count.
    gives("return ['x'.repeat((1 << 20) - 4)].map((x) => x.length)", "[1048572]");
    fails("return ['x'.repeat((1 << 20) - 3)]", &["too_large"]);
    fails("return { output: 'x', metadata: { y: 'y'.repeat(3 << 20) } }", &["too_large"]);
}

#[test]
fn polluted_prototypes_stay_the_toolsets_own_problem() {
    for pollution in [
        "Object.prototype.toJSON = () => 'spoofed'",
        "Object.prototype.output = 'spoofed'; Object.prototype.title = 'spoofed'",
        "Object.defineProperty(Object.prototype, 'id', { set() { throw new Error('set') }, configurable: true })",
        "Array.prototype.map = Array.prototype.push = Array.prototype[Symbol.iterator] = () => { throw new Error('array') }",
        "JSON.stringify = JSON.parse = () => { throw new Error('json') }",
        "Promise.prototype.then = () => { throw new Error('then') }; Promise.resolve = () => 1",
        "globalThis.Promise = class {}; globalThis.Object = 1; globalThis.Array = 2; globalThis.Error = 3",
        "Function.prototype.call = Function.prototype.apply = () => { throw new Error('call') }",
        "Error.prepareStackTrace = () => { throw new Error('stack') }",
        "String.prototype.toWellFormed = Map.prototype.get = Reflect.apply = () => { throw new Error('string') }",
        "Object.freeze = Object.keys = Object.create = () => { throw new Error('object') }",
        "globalThis.setTimeout = globalThis.console = undefined",
        "Object.freeze(globalThis); Object.freeze(Object.prototype)",
    ] {
        let text = format!(
            "import {{ Tool }} from '@agent/tools';
            const spoil = Tool.define('spoil', {{ description: 'd', execute: () => {{ {pollution}; return 'spoiled' }} }});
            const t = Tool.define('t', {{ description: 'd', parameters: {{ properties: {{ n: {{}} }} }},
              execute: async (args, ctx) => ({{ title: 'T', metadata: {{ a: [1, {{ b: 2 }}] }}, output: {{ n: args.n, skill: ctx.skillName }} }}) }});
            export const T = [spoil, t];"
        );
        let skill = Skill::with(options(), &[("i.ts", &text)], &["i:T"]);
        let _ = skill.call("spoil", json!({}));
        let result = skill.call("t", json!({"n": 7})).unwrap_or_else(|error| panic!("{pollution}: {error}"));
        assert_eq!(result.title, "T", "{pollution}");
        assert_eq!(result.metadata, json!({"a": [1, {"b": 2}]}), "{pollution}");
        assert_eq!(result.output, r#"{"n":7,"skill":"s"}"#, "{pollution}");
    }
}

#[test]
fn pollution_while_loading_does_not_reach_definitions() {
    let skill = Skill::with(
        options(),
        &[
            ("bad.ts", "Object.prototype.toJSON = () => 'x'; Array.prototype.map = null; JSON.stringify = null; Promise.prototype.then = null;
                Object.prototype.description = 'spoofed'; export const T = [];"),
            ("good.ts", "import { Tool } from '@agent/tools'; export const T = [Tool.define('t', { description: 'mine', parameters: { type: 'object', properties: { a: { type: 'string' } } }, execute: async () => 'good' })];"),
        ],
        &["bad:T", "good:T"],
    );
    let offered = skill.tools();
    assert_eq!(offered.diagnostics, []);
    assert_eq!(offered.tools[0].description, "mine");
    assert_eq!(offered.tools[0].schema["properties"]["a"]["type"], "string");
    assert_eq!(skill.output(), "good");
}

#[test]
fn a_flood_of_lines_is_dammed() {
    let seen = std::sync::atomic::AtomicUsize::new(0);
    let skill = Skill::body(
        options(),
        "for (let i = 0; i < 1e6; i++) console.log('line', i); for (let i = 0; i < 5000; i++) ctx.log('mine', i); return 'done'",
    );
    let log = |_, _: &str| {
        seen.fetch_add(1, Ordering::Relaxed);
    };
    let listening = CallContext { log: &log, ..CallContext::new("s") };
    assert_eq!(skill.call_as("t", &json!({}), &listening).unwrap().output, "done");
    assert_eq!(seen.load(Ordering::Relaxed), 0, "a call has so many lines, whatever it says them with");
    skill.assert_well();
    for (lines, heard) in [(3, 3), (5_000, 1_000)] {
        seen.store(0, Ordering::Relaxed);
        let body = format!("for (let i = 0; i < {lines}; i++) ctx.log('mine', i); return 'done'");
        let skill = Skill::body(options(), &body);
        assert_eq!(skill.call_as("t", &json!({}), &listening).unwrap().output, "done");
        assert_eq!(seen.load(Ordering::Relaxed), heard, "of {lines}");
    }
    gives(
        "console.log('x'.repeat(50 << 20).length, { get x() { throw 1 } }, Symbol('x'), () => 1, new Error('e'), null); return 'ok'",
        "ok",
    );
    gives(
        r#"console.log('{"done":{"id":1,"title":"x","metadata":{},"output":"spoof"}}\n{"failed":{"id":1}}'); return 'real'"#,
        "real",
    );
}

#[test]
fn modules_outside_are_refused_when_imported_late_too() {
    for specifier in [
        "fs",
        "node:fs",
        "../../x",
        "../x",
        "/etc/passwd",
        "http://example.com/x.js",
        "data:text/javascript,export default 1",
        "file:///etc/passwd",
        "nope",
        "./nope.ts",
        "x\\0y",
    ] {
        let body = format!(
            "try {{ await import('{specifier}'); return 'loaded' }} catch (error) {{ return error.message === '' ? 'empty' : 'refused' }}"
        );
        let skill = Skill::body(options(), &body);
        assert_eq!(skill.output(), "refused", "{specifier}");
    }
    // The control: one that is there is loaded.
    let skill = Skill::body(options(), "return (await import('./late.ts')).said");
    crate::harness::write(&skill.path().join("late.ts"), "export const said: string = 'loaded';");
    assert_eq!(skill.output(), "loaded");
}

#[test]
fn links_out_of_the_skill_are_refused() {
    let skill = Skill::with(
        options(),
        &[("i.ts", "import './link'; export const T = [];"), ("ok.ts", "export const T = [];")],
        &["i:T", "ok:T"],
    );
    std::fs::write(skill.dir.path().join("secret.ts"), "export const secret = 1").unwrap();
    std::os::unix::fs::symlink("../secret.ts", skill.path().join("link.ts")).unwrap();
    let findings = skill.findings();
    assert_eq!(findings.len(), 1);
    assert_eq!(findings[0].code.as_str(), "module_refused");
    assert!(findings[0].message.contains("leads out"), "{findings:?}");
    // The control: a link that stays inside is followed.
    std::fs::remove_file(skill.path().join("link.ts")).unwrap();
    std::os::unix::fs::symlink("ok.ts", skill.path().join("link.ts")).unwrap();
    assert_eq!(skill.findings(), []);
}

#[test]
fn code_cannot_be_made_from_text() {
    for code in [
        "eval('1')",
        "(0, eval)('1')",
        "Function('return 1')()",
        "new Function('return 1')()",
        "(() => {}).constructor('return 1')()",
        "(async () => {}).constructor('return 1')()",
        "(function* () {}).constructor('return 1')()",
        "Object.getPrototypeOf(async function* () {}).constructor('return 1')()",
        "setTimeout('1')",
    ] {
        gives(&format!("try {{ {code}; return 'ran' }} catch {{ return 'refused' }}"), "refused");
    }
    gives("return String((() => {}) instanceof Function)", "true");
    // The control: code that was there from the start runs.
    gives("try { (() => 1)(); return 'ran' } catch { return 'refused' }", "ran");
}

#[test]
fn there_is_no_way_out_of_the_process() {
    for code in
        ["process.exit(0)", "quit()", "exit()", "std.exit(0)", "os.exec(['sh'])", "require('fs')", "Deno.exit()"]
    {
        gives(&format!("try {{ {code}; return 'ran' }} catch (error) {{ return error.name }}"), "ReferenceError");
    }
}

#[test]
fn rejections_and_timers_that_outlive_their_call_do_no_harm() {
    gives("Promise.reject(new Error('not handled')); return 'ok'", "ok");
    gives(
        "setTimeout(() => { throw new Error('late') }, 0); await new Promise((go) => setTimeout(go, 5)); return 'ok'",
        "ok",
    );
    let skill = Skill::body(options(), "setInterval(() => { globalThis.n = (globalThis.n ?? 0) + 1 }, 1); return 'ok'");
    assert_eq!(skill.output(), "ok");
    skill.assert_well();
    skill.assert_well();
    gives(
        "let n = 0; try { for (;;) { setTimeout(() => {}, 1e6); n++ } } catch (error) { return error.name }",
        "RangeError",
    );
}

#[test]
fn a_cancelled_tool_gets_the_signal() {
    let asked = AtomicBool::new(false);
    let skill = Skill::body(
        options(),
        "
        if (globalThis.told !== undefined) return `told: ${globalThis.told}`;
        ctx.signal.addEventListener('abort', () => { globalThis.told = ctx.signal.aborted });
        ctx.log('waiting');
        await new Promise((go, stop) => ctx.signal.addEventListener('abort', () => stop(ctx.signal.reason)))",
    );
    let waiting = |_, _: &str| asked.store(true, Ordering::Release);
    let cancelled = || asked.load(Ordering::Acquire);
    let context = CallContext { cancelled: &cancelled, log: &waiting, session_id: "s" };
    assert_eq!(skill.call_as("t", &json!({}), &context).unwrap_err().code(), "cancelled");
    // It stopped at the signal, so its process is kept; the same globals are there.
    assert_eq!(skill.toolsets.running_count(), 1);
    assert_eq!(skill.output(), "told: true");
    skill.assert_well();
}

#[test]
fn a_cancelled_tool_that_ignores_the_signal_is_killed() {
    for body in [
        "ctx.log('x'); await null; while (true) {}",
        "ctx.log('x'); await new Promise(() => {})",
        "ctx.log('x'); /^(a+)+$/.test('a'.repeat(50) + 'b')",
    ] {
        let asked = AtomicBool::new(false);
        let skill = Skill::body(options(), body);
        let waiting = |_, _: &str| asked.store(true, Ordering::Release);
        let cancelled = || asked.load(Ordering::Acquire);
        let context = CallContext { cancelled: &cancelled, log: &waiting, session_id: "s" };
        assert_eq!(skill.call_as("t", &json!({}), &context).unwrap_err().code(), "cancelled", "{body}");
        skill.assert_well();
    }
}

#[test]
fn loading_is_contained_as_calling_is() {
    for (text, codes) in [
        ("for (;;) {}", &["toolset_threw"][..]),
        ("/^(a+)+$/.test('a'.repeat(60) + 'b')", &["toolset_threw"]),
        ("const a = []; for (;;) a.push(new ArrayBuffer(1 << 20))", &["toolset_threw"]),
        ("const f = () => f(); f()", &["toolset_threw"]),
        ("throw new Proxy({}, { get() { throw 1 } })", &["toolset_threw"]),
    ] {
        let good = "import { Tool } from '@agent/tools'; export const T = [Tool.define('ok', { description: 'd', execute: () => 'fine' })];";
        let bad = format!("{text}\nexport const T = [];");
        let skill = Skill::with(hasty(), &[("bad.ts", &bad), ("good.ts", good)], &["bad:T", "good:T"]);
        let findings = skill.findings();
        assert_eq!(findings.len(), 1, "{text}: {findings:?}");
        assert!(codes.contains(&findings[0].code.as_str()), "{text}: {findings:?}");
        skill.assert_well();
    }
}

#[test]
fn sources_that_would_overwhelm_the_parser_do_not() {
    // Each with how often something is repeated; ten times is what a person may write. One of them is not too much.
    type Source = fn(usize) -> String;
    let sources: [(Option<&str>, Source, usize); 6] = [
        (Some("toolset_syntax"), |n| format!("const x = {}1{};", "(".repeat(n), ")".repeat(n)), 50_000),
        (None, |n| format!("const x = 1{};", "+1".repeat(n)), 400_000),
        (Some("toolset_crashed"), |n| format!("const x = {}1;", "!".repeat(n)), 500_000),
        (Some("toolset_crashed"), |n| format!("const x = {}1;", "a=>".repeat(n)), 200_000),
        (Some("toolset_syntax"), |n| format!("type X = {}1{};", "[".repeat(n), "]".repeat(n)), 100_000),
        (Some("module_refused"), |n| format!("//{}", "x".repeat(n)), 1 << 20),
    ];
    let good = "import { Tool } from '@agent/tools'; export const T = [Tool.define('ok', { description: 'd', execute: () => 'fine' })];";
    for (code, source, times) in sources {
        for (times, codes) in [(10, Vec::new()), (times, code.into_iter().collect::<Vec<_>>())] {
            let text = format!("export const T = [];\n{}", source(times));
            let skill = Skill::with(options(), &[("bad.ts", &text), ("good.ts", good)], &["bad:T", "good:T"]);
            let findings = skill.findings();
            let found: Vec<&str> = findings.iter().map(|finding| finding.code.as_str()).collect();
            assert_eq!(found, codes, "{}… {times} times: {findings:?}", &text[..40]);
            skill.assert_well();
        }
    }
}

#[test]
fn a_skill_cannot_be_too_many_modules() {
    for (modules, refused) in [(100, false), (2_050, true)] {
        let mut files: Vec<(String, String)> = (0..modules).map(|n| (format!("m{n}.js"), String::new())).collect();
        let imports: Vec<String> = (0..modules).map(|n| format!("import './m{n}.js';")).collect();
        files.push(("i.ts".into(), format!("{}\nexport const T = [];", imports.join("\n"))));
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        let findings = Skill::with(options(), &files, &["i:T"]).findings();
        assert_eq!(findings.len(), usize::from(refused), "{modules}: {findings:?}");
        assert!(findings.iter().all(|finding| finding.code.as_str() == "module_refused"), "{findings:?}");
    }
}

#[test]
fn calls_that_share_a_process_with_one_that_hangs_go_on() {
    let text = "import { Tool } from '@agent/tools';
        const d = 'd';
        export const T = [
          Tool.define('wait', { description: d, execute: (_, ctx) => { ctx.log('here'); return new Promise(() => {}) } }),
          Tool.define('hang', { description: d, execute: () => /^(a+)+$/.test('a'.repeat(60) + 'b') }),
          Tool.define('ok', { description: d, execute: () => 'fine' })];";
    let skill = Skill::with(options(), &[("i.ts", text)], &["i:T"]);
    let here = AtomicBool::new(false);
    let cancel = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let log = |_, _: &str| here.store(true, Ordering::Release);
            let cancelled = || cancel.load(Ordering::Acquire);
            skill.call_as("wait", &json!({}), &CallContext { log: &log, cancelled: &cancelled, session_id: "s" })
        });
        while !here.load(Ordering::Acquire) {
            std::thread::sleep(Duration::from_millis(2));
        }
        // A call that hangs and is cancelled while another waits goes on until no call waits any more.
        let asked = std::time::Instant::now();
        let cancelled = || asked.elapsed() > Duration::from_millis(50);
        let context = CallContext { cancelled: &cancelled, ..CallContext::new("s") };
        assert_eq!(skill.call_as("hang", &json!({}), &context).unwrap_err().code(), "cancelled");
        // Meanwhile another process takes the calls.
        skill.assert_well();
        cancel.store(true, Ordering::Release);
        assert_eq!(waiting.join().unwrap().unwrap_err().code(), "cancelled");
    });
    skill.assert_well();
}

/// Two tools that log when they run: one spins without pause for a time, one waits for ever.
const NEIGHBOURS: &str = "import { Tool } from '@agent/tools';
    const d = 'd', parameters = { type: 'object' };
    const spin = (ms) => { const end = Date.now() + ms; while (Date.now() < end); };
    export const T = [
      Tool.define('spin', { description: d, parameters, execute: ({ ms }, ctx) => { ctx.log('here'); spin(ms); return 'spun'; } }),
      Tool.define('later', { description: d, parameters, async execute({ ms, wait }, ctx) {
        ctx.log('here'); await new Promise((go) => setTimeout(go, wait)); spin(ms); return 'spun later'; } }),
      Tool.define('wait', { description: d, execute: (_, ctx) => { ctx.log('here'); return new Promise(() => {}) } }),
      Tool.define('ok', { description: d, execute: () => { spin(30); return 'fine'; } })];";

#[test]
fn cancelling_one_call_leaves_those_behind_it() {
    let skill = Skill::with(options(), &[("i.ts", NEIGHBOURS)], &["i:T"]);
    assert_eq!(skill.tools().tools.len(), 4);
    let here = AtomicBool::new(false);
    let cancel = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let spinning = scope.spawn(|| {
            let log = |_, _: &str| here.store(true, Ordering::Release);
            let cancelled = || cancel.load(Ordering::Acquire);
            skill.call_as(
                "spin",
                &json!({ "ms": 30_000 }),
                &CallContext { log: &log, cancelled: &cancelled, session_id: "s" },
            )
        });
        while !here.load(Ordering::Acquire) && !spinning.is_finished() {
            std::thread::sleep(Duration::from_millis(2));
        }
        let behind: Vec<_> = (0..4).map(|_| scope.spawn(|| skill.call("ok", json!({})))).collect();
        // They are on their way when the first one is cancelled.
        std::thread::sleep(Duration::from_millis(50));
        cancel.store(true, Ordering::Release);
        assert_eq!(spinning.join().unwrap().unwrap_err().code(), "cancelled");
        for call in behind {
            assert_eq!(
                call.join().unwrap().map(|result| result.output).map_err(|error| error.to_string()),
                Ok("fine".into())
            );
        }
    });
}

#[test]
fn the_time_of_one_call_is_not_that_of_another() {
    let mut options = options();
    options.limits.call = Duration::from_secs(2);
    let skill = Skill::with(options, &[("i.ts", NEIGHBOURS)], &["i:T"]);
    assert_eq!(skill.tools().tools.len(), 4);
    let here = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let log = |_, _: &str| here.store(true, Ordering::Release);
            skill.call_as("wait", &json!({}), &CallContext { log: &log, ..CallContext::new("s") })
        });
        while !here.load(Ordering::Acquire) && !waiting.is_finished() {
            std::thread::sleep(Duration::from_millis(2));
        }
        std::thread::sleep(Duration::from_secs(1));
        // The first one's time ends while these run without pause.
        let spinning = scope.spawn(|| skill.call("later", json!({ "wait": 100, "ms": 1_300 })));
        assert_eq!(waiting.join().unwrap().unwrap_err().code(), "timeout");
        let spun = spinning.join().unwrap();
        assert_eq!(spun.map(|result| result.output).map_err(|error| error.to_string()), Ok("spun later".into()));
        // And one that does not end gets its own time, not that of a later one.
        let endless = scope.spawn(|| skill.call("later", json!({ "wait": 10, "ms": 60_000 })));
        std::thread::sleep(Duration::from_millis(300));
        let fine = skill.call("ok", json!({}));
        assert_eq!(endless.join().unwrap().unwrap_err().code(), "timeout");
        assert_eq!(fine.map(|result| result.output).map_err(|error| error.to_string()), Ok("fine".into()));
    });
}

#[test]
fn schemas_hide_nothing() {
    let text = "import { Tool } from '@agent/tools';
        const execute = ({ kind }) => `kind ${kind}`;
        const hidden = '\\u{e004f}\\u{202e}\\u{200b}\\u{1b}';
        const of = (key) => ({ type: 'object', title: `T${hidden}`, properties: { [key]: { type: 'string',
          title: `t${hidden}`, description: `which${hidden}`, enum: [`big${hidden}`, 'small'], default: `big${hidden}`,
          examples: [`big${hidden}`], $comment: hidden } }, required: [key] });
        export const T = [
          Tool.define('a', { description: 'd', parameters: of('kind'), execute }),
          Tool.define('b', { description: 'd', parameters: of(`kind${hidden}`), execute }),
          Tool.define('c', { description: 'd', parameters: { type: 'object',
            properties: { x: { anyOf: [{ type: 'object', properties: { [`y${hidden}`]: {} } }] } } }, execute }),
          Tool.define('plain', { description: 'd', parameters: { type: 'object', properties: {
            kind: { type: 'string', description: '👩\\u200d💻 größe' } } }, execute })];";
    let skill = Skill::with(options(), &[("i.ts", text)], &["i:T"]);
    // Twice: as it was evaluated, and as it was kept.
    for _ in 0..2 {
        let offered = skill.tools();
        let ids: Vec<&str> = offered.tools.iter().map(|tool| tool.id.as_str()).collect();
        assert_eq!(ids, ["a", "plain"], "{:?}", offered.diagnostics);
        let kind = &offered.tools[0].schema["properties"]["kind"];
        assert_eq!(
            (&kind["description"], &kind["enum"][0], &kind["default"], &kind["examples"][0], &kind["title"]),
            (&json!("which"), &json!("big"), &json!("big"), &json!("big"), &json!("t"))
        );
        assert!(!json!(offered.tools[0].schema).to_string().contains(['\u{e004f}', '\u{202e}', '\u{200b}', '\u{1b}']));
        let joined = &offered.tools[1].schema["properties"]["kind"]["description"];
        assert_eq!(joined, "👩\u{200d}💻 größe", "what is seen stays");
        let said: Vec<&str> = offered.diagnostics.iter().map(|finding| &*finding.message).collect();
        assert!(said.iter().any(|said| said.contains("the schema of `a` has hidden characters")), "{said:?}");
        for id in ["b", "c"] {
            let left_out =
                |said: &&str| said.contains(&format!("the schema of `{id}` has hidden characters in the name"));
            assert!(said.iter().any(left_out), "{said:?}");
        }
        assert!(!said.iter().any(|said| said.contains(['\u{e004f}', '\u{202e}', '\u{1b}'])), "{said:?}");
    }
    assert_eq!(skill.call("a", json!({ "kind": "big" })).unwrap().output, "kind big");
}

#[test]
fn models_get_no_hidden_characters() {
    let text = "import { Tool } from '@agent/tools';
        const execute = () => '';
        export const T = [
          Tool.define('a', { description: 'one\\u001b[31m\\u202etwo\\n\\tthree', execute }),
          Tool.define('b', { description: '\\u0007', execute }),
          ...Array.from({ length: 300 }, (_, i) => Tool.define(`t${i}`, { description: 'd', execute }))];";
    let skill = Skill::with(options(), &[("i.ts", text)], &["i:T"]);
    let offered = skill.tools();
    assert_eq!(offered.tools[0].description, "one[31mtwo\n\tthree");
    assert_eq!(offered.tools.len(), 255);
    let said: Vec<&str> = offered.diagnostics.iter().map(|finding| &*finding.message).collect();
    assert!(said.iter().any(|said| said.contains("46 were left out")), "{said:?}");
    assert!(said.iter().any(|said| said.contains("`a` has control characters")), "{said:?}");
    assert!(said.iter().any(|said| said.contains("`b` has no description")), "{said:?}");
    assert!(offered.diagnostics.iter().all(|finding| finding.place.is_some()));
}
