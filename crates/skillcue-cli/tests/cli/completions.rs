use crate::Sandbox;

#[test]
fn every_shell_gets_a_script() {
    let sandbox = Sandbox::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let run = sandbox.run(&["completions", shell]);
        assert_eq!(run.code, Some(0), "{run}");
        for word in ["validate", "skills-dir"] {
            assert!(run.stdout.contains(word), "{shell} does not know {word}");
        }
    }
    assert!(sandbox.run(&["completions", "fish", "--json"]).stdout.starts_with("{\"shell\":\"fish\",\"script\":\""));
    assert_eq!(sandbox.run(&["completions", "cmd"]).code, Some(2));
}
