use insta::assert_snapshot;

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
    assert_snapshot!(sandbox.run(&["call", "greeting", "{}"]), @r#"
    exit 1
    --- stderr
    error[not_found]: there is no tool "greeting"
      help: name it SKILL__TOOL, or say whose it is with --skill NAME
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
