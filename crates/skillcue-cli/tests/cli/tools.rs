use insta::assert_snapshot;

use crate::Sandbox;

#[test]
fn tools_lists_the_tools_for_models() {
    let sandbox = Sandbox::with_pdf();
    let run = sandbox.isolated(&["--skills-dir", "skills", "tools"]);
    assert_snapshot!(run, @r"
    exit 0
    --- stdout
    load_skill  Loads a skill's instructions and tools, or one section by heading. If a skill fits the request, call it first and follow it.
      skill_id      string
      [arguments]   string
      [section]     string
    search_skills  Finds skills for a task when no listed one fits; load the best.
      query         string
      [files]       array
      [limit]       integer
    read_skill_file  Reads lines of a skill's file.
      path          string
      skill_id      string
      [limit]       integer
      [offset]      integer
    ");
    let json = sandbox.isolated(&["--skills-dir", "skills", "tools", "--json"]).json();
    let names: Vec<&str> = json.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["load_skill", "search_skills", "read_skill_file"]);
    assert_eq!(json[0]["input_schema"]["additionalProperties"], false);
}
