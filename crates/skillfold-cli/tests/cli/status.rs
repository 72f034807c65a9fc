use crate::Sandbox;

/// Issue 15: a server that a command starts was shown as the JSON by which its approvals are kept.
#[test]
fn servers_are_shown_as_people_write_them() {
    let sandbox = Sandbox::new();
    let config = "[[mcp]]\nname = \"acme\"\ncommand = [\"acme-skills\", \"--all\"]\ncwd = \"/srv\"\n\
                  [[mcp]]\nname = \"far\"\nurl = \"https://far.example/mcp\"\nenabled = false\n";
    sandbox.write("home/.config/skillfold/skillfold.toml", config);
    let run = sandbox.run(&["status"]);
    assert!(run.stdout.contains("    acme-skills --all (in /srv)\n"), "{run}");
    assert!(!run.stdout.contains('{'), "{run}");
    assert!(run.stdout.contains("\nMCP servers\n") && run.stdout.contains("\nApproved  nothing\n"), "{run}");
    let json = sandbox.run(&["status", "--json"]).json();
    let identity = &json["servers"][0]["identity"];
    assert_eq!(identity, r#"{"command":["acme-skills","--all"],"cwd":"/srv"}"#, "programs get what they got before");
}

/// Issue 15: what is installed and enabled is not in an isolated catalog, and was called `off`.
#[test]
fn installed_skills_stay_on_where_they_are_left_out() {
    let sandbox = Sandbox::new();
    sandbox.skill("from/pdf", "Reads PDF files. Use when asked.");
    sandbox.skill("from/csv", "Reads tables. Use when asked.");
    let installed = sandbox.run(&["install", "../from", "--skill", "pdf", "--enable"]);
    assert_eq!(installed.code, Some(0), "{installed}");
    let installed = sandbox.run(&["install", "../from", "--skill", "csv"]);
    assert_eq!(installed.code, Some(0), "{installed}");
    let rows = |args: &[&str]| {
        let run = sandbox.run(args);
        let rows: Vec<&str> = run.stdout.lines().filter(|row| row.contains("  user")).collect();
        rows.join("\n")
    };
    assert_eq!(rows(&["status"]), "  csv  off  user\n  pdf  on  user");
    assert_eq!(rows(&["--isolated", "status"]), "  csv  off  user\n  pdf  on, but left out by --isolated  user");
    let json = sandbox.run(&["--isolated", "status", "--json"]).json();
    let enabled: Vec<&serde_json::Value> =
        json["installed"].as_array().unwrap().iter().map(|one| &one["enabled"]).collect();
    assert_eq!(enabled, [false, true]);
}
