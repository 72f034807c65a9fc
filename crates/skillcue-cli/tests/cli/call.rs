use insta::assert_snapshot;
use serde_json::json;

use crate::Sandbox;

#[test]
fn tools_of_a_skill() {
    let sandbox = Sandbox::new();
    assert_snapshot!(sandbox.run(&["tools", "hello-extended"]), @r"
    exit 0
    --- stdout
    greeting  Looks up how a language says hello, goodbye or welcome, by time of day and formality, in its own script and with its romanisation. Answers with the words alone: add the name yourself.
      language      Its English name or its ISO code, such as French or fr.
      [form]        How well they know each other.
      [occasion]    What is said, or when.
    greeting_languages  Lists the languages that `greeting` knows, with their codes.
    ");
    let json = sandbox.run(&["tools", "hello-extended", "--json"]).json();
    assert_eq!(json[0]["name"], "hello-extended__greeting");
    assert_eq!(
        (&json[0]["file"], json[0]["input_schema"]["required"][0].as_str()),
        (&"toolsets/index.ts".into(), Some("language"))
    );
    assert_eq!(sandbox.run(&["tools", "skill-author"]).stderr, "skill-author has no tools of its own\n");
}

#[test]
fn a_tool_is_called() {
    let sandbox = Sandbox::new();
    assert_snapshot!(sandbox.run(&["call", "hello-extended__greeting", r#"{"language": "fr", "occasion": "evening"}"#]), @r"
    exit 0
    --- stdout
    Bonsoir
    ");
    let args = ["call", "greeting", "-", "--skill", "hello-extended", "--json"];
    assert_snapshot!(sandbox.run_with(br#"{"language": "Maori"}"#, &args), @r#"
    exit 0
    --- stdout
    {"metadata":{"code":"mi","form":"formal","language":"Māori","occasion":"hello"},"output":"Tēnā koe","title":"Māori: hello, formal"}
    "#);
    assert_snapshot!(sandbox.run(&["call", "hello-extended__greeting", r#"{"language": 5}"#]), @r#"
    exit 1
    --- stdout
    <skill_tool name="hello-extended__greeting">
      <error code="invalid_argument">
        The arguments of `greeting` are wrong: `language` must be a string, not a number.
        Call it again with arguments that fit its schema.
      </error>
    </skill_tool>
    "#);
    assert_snapshot!(sandbox.run(&["call", "hello-extended__greting", "{}"]), @r#"
    exit 1
    --- stdout
    <skill_tool name="hello-extended__greting">
      <error code="not_found">
        The skill has no such tool. Its tools are: hello-extended__greeting, hello-extended__greeting_languages.
      </error>
    </skill_tool>
    "#);
    assert_snapshot!(sandbox.run(&["call", "gretting", "{}"]), @r#"
    exit 1
    --- stderr
    error[not_found]: there is no tool "gretting"
      help: `skillcue tools NAME` shows the tools of a skill
    "#);
    assert_snapshot!(sandbox.run(&["call", "greeting", "[]", "--skill", "hello-extended"]), @r#"
    exit 2
    --- stderr
    error[usage]: the arguments are no JSON object: invalid type: sequence, expected a map at line 1 column 0
      help: write for example '{"language": "fr"}'
    "#);
    let searched = sandbox.run(&["call", "search_skills", r#"{"query": "say bonjour"}"#, "--json"]).json();
    assert_eq!(searched["hits"][0]["name"], "hello-extended");
}

/// Five toolsets, four of them good: the good ones work, and what is wrong is told with its place in the author's file.
#[test]
fn one_broken_toolset_among_five() {
    let good = |name: &str| {
        format!(
            "import {{ Tool }} from '@agent/tools';\nexport const Set = [Tool.define('{name}', {{ description: 'Says {name}', parameters: {{ type: 'object' }}, execute: () => '{name}!' }})];\n"
        )
    };
    let broken = [
        ("syntax", "import { Tool } from '@agent/tools';\nexport const Set: Tool[] = [\n  Tool.define('x' {\n];\n"),
        ("export", "export const Other: string[] = [];\n"),
        ("shape", "const n: number = 5;\nexport const Set = [n];\n"),
        ("throws", "interface A { b: string }\n\nexport const Set = (() => { throw new Error('no luck'); })();\n"),
        ("import", "import { a } from './gone';\nexport const Set = [a];\n"),
    ];
    let mut said = String::new();
    for (kind, source) in broken {
        let sandbox = Sandbox::new();
        sandbox.write(
            "work/skills/many/SKILL.md",
            "---\nname: many\ndescription: Many tools. Use when asked.\ntoolsets: ['t/a:Set', 't/b:Set', 't/broken:Set', 't/c:Set', 't/d:Set']\n---\n",
        );
        for name in ["a", "b", "c", "d"] {
            sandbox.write(&format!("work/skills/many/t/{name}.ts"), good(name));
        }
        sandbox.write("work/skills/many/t/broken.ts", source);
        let listed = sandbox.run(&["tools", "many", "--json"]);
        let ids: Vec<_> = listed.json().as_array().unwrap().iter().map(|tool| tool["id"].clone()).collect();
        assert_eq!(ids, ["a", "b", "c", "d"], "{kind}");
        assert_eq!(listed.code, Some(1));
        said.push_str(&listed.stderr);
        assert_eq!(sandbox.run(&["call", "many__d"]).stdout, "d!\n", "{kind}");
    }
    assert_snapshot!(said, @r"
    t/broken.ts:3:19: error[toolset_syntax]: Expected `,` or `)` but found `{`
    t/broken.ts:1:1: error[toolset_export]: `t/broken` exports no `Set`
      help: it exports `Other`
    t/broken.ts:2:14: error[toolset_shape]: `Set[0]` is an int, not a tool
      help: export an array of `Tool.define(id, {description, parameters, execute})`
    t/broken.ts:3:39: error[toolset_threw]: `t/broken` threw while it was loaded: no luck
    t/broken.ts:1:19: error[module_not_found]: there is no module `./gone`: neither t/gone nor it with .ts, .mts, .js, .mjs or .json
    ");
}

fn toolset(sandbox: &Sandbox, skill: &str, ids: &[&str]) {
    let dir = format!("work/skills/{skill}");
    let front =
        format!("---\nname: {skill}\ndescription: Tools of {skill}. Use when asked.\ntoolsets: ['t/i:T']\n---\n");
    sandbox.write(&format!("{dir}/SKILL.md"), front);
    let tools: Vec<String> = ids
        .iter()
        .map(|id| format!("Tool.define('{id}', {{ description: 'd', execute: () => '{id} of {skill}' }})"))
        .collect();
    let text = format!("import {{ Tool }} from '@agent/tools';\nexport const T = [{}];\n", tools.join(", "));
    sandbox.write(&format!("{dir}/t/i.ts"), text);
}

#[test]
fn a_tool_that_one_skill_has_needs_no_skill_to_be_named() {
    let sandbox = Sandbox::new();
    toolset(&sandbox, "one", &["only", "both"]);
    toolset(&sandbox, "two", &["both", "two__x"]);
    assert_eq!(sandbox.isolated(&["call", "only"]).stdout, "only of one\n");
    assert_eq!(sandbox.isolated(&["call", "two__both"]).stdout, "both of two\n");
    assert_eq!(sandbox.isolated(&["call", "both", "--skill", "one"]).stdout, "both of one\n");
    assert_snapshot!(sandbox.isolated(&["call", "both"]), @r#"
    exit 1
    --- stderr
    error[ambiguous]: 2 skills have a tool "both"
      help: name one of them: one__both, two__both
    "#);
    // One that is off has no say, and its tools cannot be called.
    assert_eq!(sandbox.isolated(&["disable", "two"]).code, Some(0));
    assert_eq!(sandbox.run(&["--skills-dir", "skills", "call", "both"]).stdout, "both of one\n");
    // What cannot be looked at is named where nothing else has the tool.
    sandbox.write("work/skills/one/t/i.ts", "export const T = [");
    assert_snapshot!(sandbox.isolated(&["call", "only"]), @r#"
    exit 1
    --- stderr
    error[not_found]: there is no tool "only"
      help: some toolsets could not be loaded: `skillcue tools one` says why
    "#);
}

const ZOD: &str = "home/.local/share/skillcue/toolsets/node_modules/zod";

/// A skill with the toolset of docs/reference/toolsets.md, letter for letter.
fn my_skill(sandbox: &Sandbox) {
    let docs = include_str!("../../../../docs/reference/toolsets.md");
    let block = |fence: &str| {
        let after = docs.split_once(fence).expect("the page begins with the example").1;
        after.split_once("```").expect("a fence ends").0.to_owned()
    };
    sandbox.write("work/skills/my-skill/SKILL.md", block("```yaml\n"));
    sandbox.write("work/skills/my-skill/toolsets/index.ts", block("```typescript\n"));
}

/// As much of `zod` as that toolset needs.
fn install_zod(sandbox: &Sandbox) {
    sandbox.write(&format!("{ZOD}/package.json"), r#"{"name": "zod", "type": "module", "exports": "./index.js"}"#);
    let text = "const schema = (json) => ({ _zod: { def: {} }, toJSONSchema: () => json,
          safeParse: (data) => ({ success: true, data }), safeParseAsync: async (data) => ({ success: true, data }) });
        export const z = { string: () => schema({ type: 'string' }),
          object: (shape) => schema({ type: 'object', required: Object.keys(shape) }) };";
    sandbox.write(&format!("{ZOD}/index.js"), text);
}

/// The sequence of docs/reference/toolsets.md: the package is missing, it is installed, the tool works. Here `toolset setup` is
/// done by hand, `cargo xtask test toolsets` does it through npm.
#[test]
fn a_package_is_missed_installed_and_found() {
    let sandbox = Sandbox::new();
    my_skill(&sandbox);
    let call = ["call", "my-skill__my-tool", r#"{"input": "this"}"#];
    assert_snapshot!(sandbox.isolated(&["tools", "my-skill"]), @r"
    exit 1
    --- stderr
    toolsets/index.ts:2:19: error[module_not_found]: the package `zod` is neither in the skill's `node_modules` nor among your packages
      help: run `skillcue toolset setup` once, or install zod in the skill's directory
    ");
    assert_eq!(sandbox.isolated(&call).code, Some(1));
    install_zod(&sandbox);
    assert_snapshot!(sandbox.isolated(&["tools", "my-skill"]), @r"
    exit 0
    --- stdout
    my-tool  Does something useful
    ");
    assert_eq!(sandbox.isolated(&call).stdout, "Processed: this\n");
    assert_eq!(sandbox.isolated(&["call", "my-tool", r#"{"input": "that"}"#]).stdout, "Processed: that\n");
}

#[test]
fn a_server_that_runs_sees_the_package_too() {
    let sandbox = Sandbox::new();
    my_skill(&sandbox);
    let mut server = crate::mcp::Client::start(&sandbox, &["--isolated", "--skills-dir", "skills", "mcp"]);
    let loaded = server.ask("tools/call", &json!({"name": "load_skill", "arguments": {"skill_id": "my-skill"}}));
    assert!(loaded["result"]["content"][0]["text"].as_str().unwrap().starts_with("<skill_context"), "{loaded}");
    let call = json!({"name": "my-skill__my-tool", "arguments": {"input": "this"}});
    let refused = server.ask("tools/call", &call);
    assert!(refused.to_string().contains("module_not_found"), "{refused}");
    install_zod(&sandbox);
    assert_eq!(server.ask("tools/call", &call)["result"]["content"][0]["text"], "Processed: this");
}

#[test]
fn a_result_of_more_than_a_megabyte_is_too_large() {
    let sandbox = Sandbox::new();
    toolset(&sandbox, "much", &["ok"]);
    let text = "import { Tool } from '@agent/tools';
        export const T = [Tool.define('much', { description: 'd', parameters: { properties: { n: { type: 'integer' } } },
          execute: ({ n }) => 'x'.repeat(n) })];";
    sandbox.write("work/skills/much/t/i.ts", text);
    let run = |n: usize| sandbox.isolated(&["call", "much", &format!(r#"{{"n": {n}}}"#)]);
    assert_eq!(run(1 << 20).stdout.len(), (1 << 20) + 1);
    assert_snapshot!(run((1 << 20) + 1), @r#"
    exit 1
    --- stdout
    <skill_tool name="much">
      <error code="too_large">
        `much` returned too much: its output may have 1048576 bytes, its metadata half of that.
        Ask for less at a time; if the tool has no argument for that, tell its author.
      </error>
    </skill_tool>
    "#);
}

/// Issue 15: a tool that works was an `error`, and `tools` exited with 1, because of a pattern that cannot be checked.
#[test]
fn a_schema_that_cannot_be_checked_is_a_warning() {
    let sandbox = Sandbox::new();
    let skill = |parameters: &str| {
        sandbox.write(
            "work/skills/ahead/SKILL.md",
            "---\nname: ahead\ndescription: Looks ahead. Use when asked.\ntoolsets: [\"t.js:Tools\"]\n---\n",
        );
        let module = format!(
            "import {{ Tool }} from '@agent/tools';\nexport const Tools = [Tool.define('echo', {{ description: 'Says it.', parameters: {parameters}, execute: (args) => args.x }})];\n"
        );
        sandbox.write("work/skills/ahead/t.js", module);
        sandbox.run(&["tools", "ahead"])
    };
    let run = skill("{ type: 'object', properties: { x: { type: 'string', pattern: '(?=a)' } } }");
    assert_eq!(run.code, Some(0), "{run}");
    assert!(run.stdout.starts_with("echo  Says it."), "{run}");
    assert!(run.stderr.contains(": warning[toolset_schema]: the pattern (?=a) in the schema of `echo`"), "{run}");
    let call = sandbox.run(&["call", "ahead__echo", r#"{"x": "a"}"#]);
    assert_eq!((call.code, call.stdout.as_str()), (Some(0), "a\n"), "{call}");
    let run = skill("{ $ref: '#' }");
    assert_eq!(run.code, Some(1), "{run}");
    assert!(run.stderr.contains("error[toolset_shape]: the schema of `echo` refers to itself"), "{run}");
}
