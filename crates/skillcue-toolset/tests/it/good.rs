//! Toolsets as authors mean them.

use std::sync::Mutex;

use serde_json::json;
use skillcue_base::ErrorInfo as _;
use skillcue_toolset::{CallContext, LogLevel, Toolsets};

use crate::harness::{SEED_EXAMPLE, Skill, options, write};

const GREET: &str = r"
import { Tool } from '@agent/tools';
import type { Nothing } from './nowhere';

interface Args { name: string; times?: number }

export const greet = Tool.define('greet', {
  description: 'Greets a person',
  parameters: {
    type: 'object',
    properties: { name: { type: 'string', minLength: 1 }, times: { type: 'integer', maximum: 3 } },
    required: ['name'],
    additionalProperties: false,
  },
  execute: async ({ name, times = 1 }: Args, ctx) => {
    ctx.log('warn', 'greeting', name);
    await new Promise<void>((resolve) => setTimeout(resolve, 1));
    return { title: `for ${ctx.skillName} in ${ctx.sessionId}`, metadata: { times }, output: `Hello ${name}! `.repeat(times).trim() };
  },
});

export const Greetings = [greet] as const;
export default Greetings;
";

#[test]
fn a_tool_is_listed_and_called() {
    let skill = Skill::new(&[("toolsets/index.ts", GREET)], &["toolsets/index:Greetings"]);
    let offered = skill.tools();
    assert_eq!(offered.diagnostics, []);
    assert_eq!(offered.tools.len(), 1);
    let tool = &offered.tools[0];
    assert_eq!((tool.id.as_str(), tool.file.as_str(), tool.line), ("greet", "toolsets/index.ts", Some(7)));
    assert_eq!(tool.schema["required"], json!(["name"]));

    let logged = Mutex::new(Vec::new());
    let log = |level: LogLevel, text: &str| logged.lock().unwrap().push((level, text.to_owned()));
    let context = CallContext { log: &log, ..CallContext::new("s1") };
    let result = skill.call_as("greet", &json!({"name": "Ada", "times": 2}), &context).unwrap();
    assert_eq!((result.title.as_str(), result.output.as_str()), ("for s in s1", "Hello Ada! Hello Ada!"));
    assert_eq!(result.metadata, json!({"times": 2}));
    assert!(result.sandbox.sandboxed, "{:?}", result.sandbox);
    assert_eq!(*logged.lock().unwrap(), [(LogLevel::Warn, "greeting Ada".to_owned())]);

    let error = skill.call("greet", json!({"times": 4})).unwrap_err();
    assert_eq!(error.code(), "invalid_argument");
    assert_eq!(error.to_string(), "the arguments of `greet` are wrong: `name` is missing; `times` must be at most 3");
    let error = skill.call("gret", json!({})).unwrap_err();
    assert_eq!(error.to_string(), "there is no tool `gret`; there is greet");
    assert_eq!(skill.toolsets.running_count(), 1);
}

#[test]
fn the_bundled_skill_works() {
    let bundled = concat!(env!("CARGO_MANIFEST_DIR"), "/../../skills/hello-extended/toolsets");
    let read = |name: &str| std::fs::read_to_string(format!("{bundled}/{name}")).unwrap();
    let (index, languages) = (read("index.ts"), read("languages.ts"));
    let skill = Skill::new(
        &[("toolsets/index.ts", &index), ("toolsets/languages.ts", &languages)],
        &["toolsets/index:HelloToolset"],
    );
    assert_eq!(skill.findings(), []);
    let result = skill.call("greeting", json!({"language": "french", "occasion": "hello", "form": "formal"})).unwrap();
    assert_eq!(result.output, "Bonjour");
}

#[test]
fn several_calls_run_side_by_side() {
    let skill = Skill::new(
        &[(
            "i.js",
            "import { Tool } from '@agent/tools';
            let waiting = [];
            const meet = Tool.define('meet', { description: 'd', execute: ({ n }) => new Promise((go) => {
              waiting.push(() => go(`met ${n}`));
              if (waiting.length === 4) waiting.forEach((go) => go());
            }), parameters: { properties: { n: {} } } });
            export const T = [meet];",
        )],
        &["i:T"],
    );
    skill.tools();
    let outputs = std::thread::scope(|scope| {
        let calls: Vec<_> = (0..4)
            .map(|n| {
                scope.spawn({
                    let skill = &skill;
                    move || skill.call("meet", json!({ "n": n })).unwrap().output
                })
            })
            .collect();
        calls.into_iter().map(|call| call.join().unwrap()).collect::<Vec<_>>()
    });
    assert_eq!(outputs, ["met 0", "met 1", "met 2", "met 3"]);
    assert_eq!(skill.toolsets.running_count(), 1);
}

#[test]
fn results_of_every_shape_are_taken() {
    for (body, title, output, metadata) in [
        ("return 'text'", "t", "text", json!({})),
        ("return { output: 'x' }", "t", "x", json!({})),
        (
            "return { title: 'T', output: { a: [1, 2.5, null, undefined, true] }, metadata: { d: new Date(0) } }",
            "T",
            r#"{"a":[1,2.5,null,null,true]}"#,
            json!({"d": "1970-01-01T00:00:00.000Z"}),
        ),
        ("return { a: 1 }", "t", r#"{"a":1}"#, json!({})),
        ("return [1]", "t", "[1]", json!({})),
        ("return 1e21", "t", "1e+21", json!({})),
        ("", "t", "", json!({})),
        ("return { then(go) { go('later') } }", "t", "later", json!({})),
        ("return 10n", "t", "\"10\"", json!({})),
        (r"return '\ud800x'", "t", "\u{fffd}x", json!({})),
    ] {
        let skill = Skill::body(options(), body);
        let result = skill.call("t", json!({})).unwrap();
        assert_eq!(
            (result.title.as_str(), result.output.as_str(), &result.metadata),
            (title, output, &metadata),
            "{body}"
        );
    }
}

#[test]
fn the_usual_globals_are_there_and_no_others() {
    let skill = Skill::body(
        options(),
        r"
        const bytes = new TextEncoder().encode('äß');
        const out = [];
        out.push(new TextDecoder().decode(bytes), bytes.length, atob(btoa('hi')), typeof performance.now());
        out.push(structuredClone({ a: [new Map([[1, 2]])] }).a[0].get(1));
        out.push(crypto.randomUUID().length, crypto.getRandomValues(new Uint8Array(4)).length);
        const controller = new AbortController();
        controller.signal.addEventListener('abort', () => out.push('aborted'));
        controller.abort();
        out.push(controller.signal.reason.name);
        await new Promise((go) => { let n = 0; const id = setInterval(() => { if (++n === 3) { clearInterval(id); go(); } }, 1); });
        queueMicrotask(() => out.push('micro'));
        await null;
        for (const name of ['process', 'require', 'fetch', 'Deno', 'Bun', 'std', 'os', 'quit', 'print', 'scriptArgs', 'XMLHttpRequest', 'WebSocket', 'Worker']) {
          if (typeof globalThis[name] !== 'undefined') out.push(name);
        }
        return out.join(' ');",
    );
    assert_eq!(skill.output(), "äß 4 hi number 2 36 4 aborted AbortError micro");
}

#[test]
fn modules_of_every_kind_are_loaded() {
    let skill = Skill::new(
        &[
            (
                "toolsets/index.ts",
                "import { Tool } from '@agent/tools';
                import data from './data.json' with { type: 'json' };
                import plain from './data.json';
                import { b } from './b.js';
                import { LogLevel } from './level';
                import dep from 'dep';
                const late = await new Promise<string>((go) => setTimeout(() => go('late'), 2));
                export const T = [Tool.define('t', { description: 'd', execute: async () => {
                  const lazy = await import('./lazy');
                  return [data.x, plain.x, b(), LogLevel.High, LogLevel[1], dep, late, lazy.default].join(' ');
                } })];",
            ),
            ("toolsets/data.json", r#"{"x": 1, "__proto__": {"y": 2}}"#),
            ("toolsets/b.ts", "import { a } from './a'; export const name = 'b'; export const b = () => a() + name;"),
            ("toolsets/a.ts", "import { name } from './b'; export const a = (): string => `a${name}`;"),
            ("toolsets/level.ts", "export enum LogLevel { Low = 1, High }"),
            ("toolsets/lazy.ts", "export default 'lazy' as string"),
            ("node_modules/dep/package.json", r#"{"name": "dep", "type": "module", "exports": "./main.js"}"#),
            ("node_modules/dep/main.js", "export { default } from './value.js'"),
            ("node_modules/dep/value.js", "export default 'dep'"),
        ],
        &["toolsets/index:T"],
    );
    assert_eq!(skill.findings(), []);
    assert_eq!(skill.output(), "1 1 abb 2 Low dep late lazy");
}

#[test]
fn errors_have_the_position_in_the_authors_file() {
    let skill = Skill::new(
        &[("i.ts", "import { Tool } from '@agent/tools';
type Args = { deep: boolean };
function inner(x: unknown): never {
  throw new TypeError(`no ${x as string}`);
}
export const T = [Tool.define('t', { description: 'd', execute: async ({ deep }: Args): Promise<string> => inner(deep) })];
")],
        &["i:T"],
    );
    match skill.error() {
        skillcue_toolset::ToolError::Threw { message, place, stack, .. } => {
            assert_eq!(message, "TypeError: no undefined");
            // The engine counts the columns of a call from its last argument.
            assert!(place.as_deref().unwrap().starts_with("i.ts:4:"), "{place:?}");
            assert!(stack.unwrap().contains("i.ts:6:"), "the caller too");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn unchanged_skills_start_nothing_and_changed_ones_are_read_again() {
    let cache = tempfile::tempdir().unwrap();
    let mut options = options();
    options.cache_dir = Some(cache.path().to_path_buf());
    let text = |word: &str| {
        format!(
            "import {{ Tool }} from '@agent/tools';\nimport {{ w }} from './w';\nexport const T = [Tool.define('t', {{ description: '{word}', execute: () => w }})];"
        )
    };
    let first =
        Skill::with(options.clone(), &[("i.ts", &text("one")), ("w.ts", "export const w: string = 'w1'")], &["i:T"]);
    assert_eq!(first.output(), "w1");
    let kept = || std::fs::read_dir(cache.path()).unwrap().count() == 1;
    wait_until(kept);

    // Another process, later.
    let second = Skill { toolsets: Toolsets::new(options.clone()), dir: first.dir, declared: first.declared };
    assert_eq!(second.tools().tools[0].description, "one");
    assert_eq!(second.toolsets.running_count(), 0, "definitions come from the cache");
    assert_eq!(second.output(), "w1", "from bytecode");
    assert_eq!(second.toolsets.running_count(), 1);

    write(&second.path().join("i.ts"), &text("two"));
    assert_eq!(second.tools().tools[0].description, "two");
    write(&second.path().join("w.ts"), "export const w: string = 'w2'");
    assert_eq!(second.output(), "w2");
    // What was looked for before `w.ts` is found first.
    let third = Skill { toolsets: Toolsets::new(options.clone()), dir: second.dir, declared: second.declared };
    assert_eq!(third.output(), "w2");

    // A damaged cache is no cache.
    for file in std::fs::read_dir(cache.path()).unwrap() {
        let path = file.unwrap().path();
        let mut bytes = std::fs::read(&path).unwrap();
        let last = bytes.len() - 1;
        bytes[last] ^= 1;
        std::fs::write(&path, bytes).unwrap();
    }
    let fourth = Skill { toolsets: Toolsets::new(options), dir: third.dir, declared: third.declared };
    assert_eq!(fourth.output(), "w2");
}

/// Waits until something has happened, for at most a minute.
fn wait_until(happened: impl Fn() -> bool) {
    let until = std::time::Instant::now() + std::time::Duration::from_mins(1);
    while !happened() {
        assert!(std::time::Instant::now() < until, "it never happened");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

/// The example of the specification, letter for letter, with the zod that `cargo xtask test` has fetched.
#[test]
#[ignore = "needs zod in the folder that SKILLCUE_TEST_PACKAGES names: `cargo xtask test toolsets`"]
fn the_seeds_example_runs_unchanged_with_zod() {
    let packages = std::env::var_os("SKILLCUE_TEST_PACKAGES").unwrap();
    let mut options = options();
    options.packages = Some(packages.into());
    let skill = Skill::with(options.clone(), &[("toolsets/index.ts", SEED_EXAMPLE)], &["toolsets/index:MyToolset"]);
    let offered = skill.tools();
    assert_eq!(offered.diagnostics, []);
    let schema = &offered.tools[0].schema;
    assert_eq!((&schema["type"], &schema["additionalProperties"]), (&json!("object"), &json!(false)));
    assert_eq!((&schema["properties"]["input"]["type"], &schema["required"]), (&json!("string"), &json!(["input"])));
    let result = skill.call("my-tool", json!({"input": "this"})).unwrap();
    assert_eq!((result.title.as_str(), result.output.as_str()), ("Completed", "Processed: this"));
    let error = skill.call("my-tool", json!({"input": 5})).unwrap_err();
    assert_eq!(error.code(), "invalid_argument");
    assert!(error.to_string().contains("`input`"), "{error}");

    let more = r"import { z } from 'zod';
import { Tool } from '@agent/tools';
const schema = z.object({
  n: z.number().int().default(3),
  tags: z.array(z.object({ id: z.string().transform((id) => id.toUpperCase()) })).optional(),
  loose: z.looseObject({ a: z.string() }).optional(),
  late: z.string().refine(async (late) => late !== 'bad', 'is bad').optional(),
});
export const T = [Tool.define('t', { description: 'd', parameters: schema,
  execute: (args: z.infer<typeof schema>) => args })];";
    let skill = Skill::with(options, &[("i.ts", more)], &["i:T"]);
    let offered = skill.tools();
    assert_eq!(offered.diagnostics, []);
    let schema = &offered.tools[0].schema;
    assert!(schema.get("required").is_none_or(|required| required == &json!([])), "{schema}");
    assert_eq!(schema["properties"]["tags"]["items"]["additionalProperties"], json!(false), "{schema}");
    assert_eq!(schema["properties"]["loose"]["additionalProperties"], json!({}), "{schema}");
    let output = |arguments| skill.call("t", arguments).map(|result| result.output).map_err(|error| error.to_string());
    assert_eq!(output(json!({})), Ok(r#"{"n":3}"#.into()));
    assert_eq!(
        output(json!({"tags": [{"id": "a"}], "late": "good"})),
        Ok(r#"{"n":3,"tags":[{"id":"A"}],"late":"good"}"#.into())
    );
    assert!(output(json!({"tags": [{}]})).unwrap_err().contains("`tags[0].id`"));
    assert!(output(json!({"late": "bad"})).unwrap_err().contains("`late`: is bad"));
}

#[test]
fn only_so_many_processes_are_kept() {
    let mut options = options();
    options.limits.warm = 2;
    let first = Skill::body(options, "return ctx.skillDir");
    let toolsets = first.toolsets.clone();
    let more: Vec<Skill> = (0..4)
        .map(|_| Skill { toolsets: toolsets.clone(), ..Skill::body(crate::harness::options(), "return ctx.skillDir") })
        .collect();
    for skill in more.iter().chain([&first]) {
        assert_eq!(skill.output(), skill.path().to_str().unwrap());
    }
    assert_eq!(toolsets.running_count(), 2);
    // The first of them has to be started again, and is.
    assert_eq!(more[0].output(), more[0].path().to_str().unwrap());
    toolsets.end();
    assert_eq!(toolsets.running_count(), 0);
    assert_eq!(first.output(), first.path().to_str().unwrap());
}

#[test]
fn the_top_level_may_wait_as_often_as_it_likes() {
    let text = "import { Tool } from '@agent/tools';
        const sleep = (ms: number) => new Promise((go) => setTimeout(go, ms));
        await sleep(1);
        await sleep(2);
        await null;
        for (let i = 0; i < 5; i++) await sleep(i);
        await Promise.all([sleep(3), sleep(1), sleep(2)]);
        const said = await new Promise((go) => setImmediate(() => setTimeout(() => go('late'), 1)));
        export const T = [Tool.define('t', { description: 'd', execute: () => said })];";
    let skill = Skill::new(&[("i.ts", text)], &["i:T"]);
    assert_eq!(skill.output(), "late");
}

#[test]
fn a_module_that_became_something_else_is_not_read() {
    let skill = Skill::new(&[("i.ts", "export { T } from './o';"), ("o.ts", &ONE.replace("'one'", "'t'"))], &["i:T"]);
    assert_eq!(skill.tools().tools.len(), 1);
    let path = skill.path().join("o.ts");
    std::fs::remove_file(&path).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    assert_eq!(skill.tools().tools.len(), 0);
    std::fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink("/dev/zero", &path).unwrap();
    assert_eq!(skill.tools().tools.len(), 0);
    std::fs::remove_file(&path).unwrap();
    std::fs::write(&path, ONE.replace("'one'", "'t'")).unwrap();
    assert_eq!(skill.tools().tools.len(), 1);
}

const ONE: &str = "import { Tool } from '@agent/tools';
export const T = [Tool.define('one', { description: 'd', execute: () => 'one' })];";
