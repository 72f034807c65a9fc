use insta::assert_snapshot;

use crate::Sandbox;

#[test]
fn there_is_a_page_for_the_whole_and_for_each_command() {
    let sandbox = Sandbox::new();
    let main = sandbox.run(&["man"]).stdout;
    assert!(main.contains(".TH skillcue 1") && main.contains("\\-\\-skills\\-dir"), "{main}");
    let lint = sandbox.run(&["man", "lint"]).stdout;
    assert!(lint.contains(".TH skillcue-lint 1") && lint.contains("\\-\\-fix"), "{lint}");
    assert_snapshot!(sandbox.run(&["man", "nothing"]), @r#"
    exit 2
    --- stderr
    error[usage]: no command is called "nothing"
      help: `skillcue --help` lists them
    "#);
}
