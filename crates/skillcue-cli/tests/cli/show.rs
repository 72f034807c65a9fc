use insta::assert_snapshot;

use crate::Sandbox;

#[test]
fn one_skill() {
    let sandbox = Sandbox::with_pdf();
    assert_snapshot!(sandbox.run(&["show", "pdf"]), @r"
    exit 0
    --- stdout
    pdf  enabled
      Reads and fills PDF forms. Use when the user has a PDF.

      version     1.10
      tools       Read, Bash(git add:*)
      keywords    pdf, form
      body        17 tokens, estimated
      source      project
      path        skills/pdf/SKILL.md

      2 files
      254 B  SKILL.md
       12 B  reference.md
    ");
    assert_snapshot!(sandbox.run(&["show", "pdf", "--json"]), @r#"
    exit 0
    --- stdout
    {"name":"pdf","description":"Reads and fills PDF forms. Use when the user has a PDF.","brief_description":"Reads and fills PDF forms","version":"1.10","source":"project","plugin":null,"dir":"[TMP]/work/skills/pdf","path":"[TMP]/work/skills/pdf/SKILL.md","enabled":true,"types":["prompt"],"allowed_tools":["Read","Bash(git add:*)"],"model":null,"disable_model_invocation":false,"tokens":17,"triggers":{"keywords":["pdf","form"],"verbs":[],"patterns":[],"files":[],"languages":[]},"raw":{"name":"pdf","description":"Reads and fills PDF forms. Use when the user has a PDF.","allowed-tools":"Read, Bash(git add:*)","metadata":{"version":"1.10","triggers":{"keywords":["pdf","form"]}}},"files":[{"path":"SKILL.md","size":254},{"path":"reference.md","size":12}],"diagnostics":[]}
    "#);
}

#[test]
fn an_unknown_name_has_close_ones() {
    let sandbox = Sandbox::with_pdf();
    assert_snapshot!(sandbox.run(&["show", "pfd"]), @r#"
    exit 1
    --- stderr
    error[not_found]: no skill is called "pfd"
      help: did you mean pdf?
    "#);
    assert_snapshot!(sandbox.run(&["show", "pfd", "--json"]), @r#"
    exit 1
    --- stdout
    {"error":{"code":"not_found","message":"no skill is called \"pfd\"","help":"did you mean pdf?"}}
    --- stderr
    error[not_found]: no skill is called "pfd"
      help: did you mean pdf?
    "#);
}

#[test]
fn an_invalid_skill_says_why() {
    let sandbox = Sandbox::with_pdf();
    sandbox.write("work/skills/tools/SKILL.md", "---\nname: tools!\ndescription: Tools. Use when asked.\n---\n");
    assert_snapshot!(sandbox.run(&["show", "tools"]), @r#"
    exit 1
    --- stderr
    error[invalid]: the skill "tools" is not usable: "tools!" is not a valid name: '!' is not allowed in a name; use letters, digits and hyphens
      help: `skillcue lint [TMP]/work/skills/tools/SKILL.md` says more
    error[invalid_name]: "tools!" is not a valid name: '!' is not allowed in a name; use letters, digits and hyphens
     --> skills/tools/SKILL.md:2:7
      |
    2 | name: tools!
      |       ^^^^^^
      |
      = help: use 1 to 64 lower-case letters, digits and single hyphens, such as `pdf-tools`
    "#);
    assert_snapshot!(sandbox.run(&["show", "tools", "--json"]), @r#"
    exit 1
    --- stdout
    {"error":{"code":"invalid","message":"the skill \"tools\" is not usable: \"tools!\" is not a valid name: '!' is not allowed in a name; use letters, digits and hyphens","help":"`skillcue lint [TMP]/work/skills/tools/SKILL.md` says more","diagnostics":[{"path":"[TMP]/work/skills/tools/SKILL.md","line":2,"column":7,"code":"invalid_name","severity":"error","message":"\"tools!\" is not a valid name: '!' is not allowed in a name; use letters, digits and hyphens","help":"use 1 to 64 lower-case letters, digits and single hyphens, such as `pdf-tools`"}]}}
    --- stderr
    error[invalid]: the skill "tools" is not usable: "tools!" is not a valid name: '!' is not allowed in a name; use letters, digits and hyphens
      help: `skillcue lint [TMP]/work/skills/tools/SKILL.md` says more
    error[invalid_name]: "tools!" is not a valid name: '!' is not allowed in a name; use letters, digits and hyphens
     --> skills/tools/SKILL.md:2:7
      |
    2 | name: tools!
      |       ^^^^^^
      |
      = help: use 1 to 64 lower-case letters, digits and single hyphens, such as `pdf-tools`
    "#);
}

#[test]
fn findings_come_along() {
    let sandbox = Sandbox::with_pdf();
    sandbox.write("work/skills/colon/SKILL.md", "---\nname: colon\ndescription: Use when: asked\n---\nDo it.\n");
    assert_snapshot!(sandbox.run(&["show", "colon"]), @r"
    exit 0
    --- stdout
    colon  enabled
      Use when: asked

      body        2 tokens, estimated
      source      project
      path        skills/colon/SKILL.md

      1 file
      56 B  SKILL.md
    --- stderr
    warning[yaml_repaired]: an unquoted `: ` inside the value; it was read as if the value were quoted
     --> skills/colon/SKILL.md:3:22
      |
    3 | description: Use when: asked
      |                      ^
      |
      = help: write it that way, or let `skillcue lint --fix` do it
    ");
}

#[test]
fn shadowed_skills_can_be_reached() {
    let sandbox = Sandbox::with_pdf();
    sandbox.skill("home/.claude/skills/pdf", "Mine. Use when asked.");
    assert_snapshot!(sandbox.run(&["show", "pdf@user"]), @r"
    exit 0
    --- stdout
    pdf  enabled
      Mine. Use when asked.

      body        2 tokens, estimated
      source      user
      hidden      by another skill of its name
      path        ~/.claude/skills/pdf/SKILL.md

      1 file
      59 B  SKILL.md
    --- stderr
    warning[shadowed]: `pdf` is hidden by the project skill in [TMP]/work/skills/pdf
    --> ~/.claude/skills/pdf/SKILL.md
     = help: reach it as `pdf@user`, or rename one of the two
    ");
}

#[test]
fn copies_are_compared() {
    let sandbox = Sandbox::new();
    sandbox.skill("work/skills/same", "One. Use when asked.");
    sandbox.skill("home/.claude/skills/same", "One. Use when asked.");
    sandbox.skill("home/.agents/skills/differs", "Two. Use when asked.");
    sandbox.write(
        "home/.claude/skills/differs/SKILL.md",
        "---\nname: differs\ndescription: Two. Use when asked.\n---\n# Differs\n",
    );
    assert_snapshot!(sandbox.run(&["show", "same"]), @r"
    exit 0
    --- stdout
    same  enabled
      One. Use when asked.

      body        2 tokens, estimated
      source      project
      path        skills/same/SKILL.md
      also        ~/.claude/skills/same/SKILL.md (user, the same)

      1 file
      60 B  SKILL.md
    ");
    assert_snapshot!(sandbox.run(&["show", "differs"]), @r"
    exit 0
    --- stdout
    differs  enabled
      Two. Use when asked.

      body        3 tokens, estimated
      source      user
      path        ~/.agents/skills/differs/SKILL.md
      also        ~/.claude/skills/differs/SKILL.md (user, with another body)

      1 file
      66 B  SKILL.md
    ");
    let json = sandbox.run(&["show", "differs", "--json"]).stdout;
    assert_eq!(json.matches("\"same_body\":true").count(), 1, "{json}");
    assert_eq!(json.matches("\"same_body\":false").count(), 1, "{json}");
    // A checkout's copy with another body stands in the place of the user's own.
    sandbox.skill("work/skills/theirs", "Three. Use when asked.");
    let own = "---\nname: theirs\ndescription: Three. Use when asked.\n---\n# Theirs\n";
    sandbox.write("home/.claude/skills/theirs/SKILL.md", own);
    let run = sandbox.run(&["show", "theirs"]);
    assert!(run.stdout.contains("hides       ~/.claude/skills/theirs/SKILL.md (theirs@user)\n"), "{run}");
    assert!(sandbox.run(&["load", "theirs@user"]).stdout.contains("# Theirs"));
}

/// Issue 15: what a skill brings along to run, what it asks for, and whether people or models may call it were not shown.
#[test]
fn programs_and_permissions_are_shown() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "work/skills/weather/SKILL.md",
        "---\nname: weather\ndescription: Gets the weather. Use when asked.\ndisable-model-invocation: true\n\
         toolsets: ['toolsets/index:Weather']\npermissions:\n  network: true\n  env: [API_KEY]\n---\nGo.\n",
    );
    sandbox.write("work/skills/weather/toolsets/index.ts", "export const Weather = [];\n");
    assert_snapshot!(sandbox.run(&["show", "weather"]), @r"
    exit 0
    --- stdout
    weather  enabled, hidden from models
      Gets the weather. Use when asked.

      toolsets    toolsets/index:Weather
      asks for    the network, the variable API_KEY; `skillcue allow weather` allows it
      invocation  by people only: models are not shown it
      body        1 token, estimated
      source      project
      path        skills/weather/SKILL.md

      2 files
      187 B  SKILL.md
       27 B  toolsets/index.ts
    ");
    sandbox.write(
        "work/skills/quiet/SKILL.md",
        "---\nname: quiet\ndescription: Does it. Use when asked.\nuser-invocable: false\n---\n# Quiet, and then some.\n",
    );
    let run = sandbox.run(&["show", "quiet"]);
    assert!(run.stdout.contains("  invocation  by models only: people are not offered it\n"), "{run}");
    sandbox.write(
        "work/skills/neither/SKILL.md",
        "---\nname: neither\ndescription: Waits. Use when asked.\ndisable-model-invocation: true\n\
         user-invocable: false\n---\n",
    );
    let run = sandbox.run(&["show", "neither"]);
    assert!(run.stdout.starts_with("neither  enabled, hidden from models and people\n"), "{run}");
    assert!(
        run.stdout.contains("  invocation  by neither: models are not shown it, people are not offered it\n"),
        "{run}"
    );
}
