use insta::assert_snapshot;

use crate::Sandbox;

#[test]
fn tools_lists_the_tools_for_models() {
    let sandbox = Sandbox::with_pdf();
    let run = sandbox.isolated(&["--skills-dir", "skills", "tools"]);
    assert_snapshot!(run, @r"
    exit 0
    --- stdout
    load_skill  Loads the full instructions of one skill. Call it as soon as a listed skill fits the user's request, before you answer; then follow what it returns. The id is that of the list or of `search_skills`.
      skill_id      The id of the skill, exactly as it is listed.
      [arguments]   What the user wants it done to; replaces $ARGUMENTS in the instructions.
      [section]     Load only the section below this heading.
    search_skills  Finds skills for a task, best first, with the reason for each. Use it when no listed skill fits, or when not all skills are listed; then load the best with `load_skill`.
      query         What is to be done, in a few words.
      [files]       Paths of the files that it is about.
      [limit]       Most skills to return.
    read_skill_file  Reads a text file that belongs to a skill, by its path relative to the skill's root: what its instructions point to. Long files come in parts; the answer says where the next one starts.
      path          The file, relative to the skill's root.
      skill_id      The id of the skill.
      [limit]       Most lines to read.
      [offset]      The first line to read, from 1.
    ");
    let json = sandbox.isolated(&["--skills-dir", "skills", "tools", "--json"]).json();
    let names: Vec<&str> = json.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["load_skill", "search_skills", "read_skill_file"]);
    assert_eq!(json[0]["input_schema"]["additionalProperties"], false);
}
