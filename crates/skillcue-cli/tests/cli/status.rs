use crate::Sandbox;
use crate::sandbox::SETTINGS;

/// Issue 15: a server that a command starts was shown as the JSON by which its approvals are kept.
#[test]
fn servers_are_shown_as_people_write_them() {
    let sandbox = Sandbox::new();
    let config = "[[mcp]]\nname = \"acme\"\ncommand = [\"acme-skills\", \"--all\"]\ncwd = \"/srv\"\n\
                  [[mcp]]\nname = \"far\"\nurl = \"https://far.example/mcp\"\nenabled = false\n";
    sandbox.write(SETTINGS, config);
    let run = sandbox.run(&["status"]);
    assert!(run.stdout.contains("    acme-skills --all (in /srv)\n"), "{run}");
    assert!(!run.stdout.contains('{'), "{run}");
    assert!(run.stdout.contains("\nMCP servers\n") && run.stdout.contains("\nAllowed  nothing\n"), "{run}");
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

/// Issue 15: `Skills  0, 0 enabled ()`.
#[test]
fn no_skills_are_none() {
    let sandbox = Sandbox::new();
    let run = sandbox.run(&["--isolated", "status"]);
    let said = "Skills  none: --isolated looks only below the --skills-dir that it is given\n";
    assert!(run.stdout.starts_with(said), "{run}");
    assert!(!sandbox.run(&["status"]).stdout.starts_with("Skills  none"), "the bundled ones");
}

/// Issue 15: an enabled skill whose files are gone was shown as `off`.
#[test]
fn installed_skills_without_files_are_said_to_miss_them() {
    let sandbox = Sandbox::new();
    sandbox.skill("from/pdf", "Reads PDF files. Use when asked.");
    let installed = sandbox.run(&["install", "../from", "--skill", "pdf", "--enable"]);
    assert_eq!(installed.code, Some(0), "{installed}");
    let row = |args: &[&str]| {
        let run = sandbox.run(args);
        run.stdout.lines().find(|row| row.starts_with("  pdf")).unwrap_or_else(|| panic!("{run}")).to_owned()
    };
    assert_eq!(row(&["status"]), "  pdf  on  user");
    let dir = sandbox.run(&["show", "pdf", "--json"]).json()["dir"].as_str().unwrap().replace("[TMP]", "..");
    std::fs::remove_dir_all(sandbox.path(&format!("work/{dir}"))).unwrap();
    for args in [&["status"][..], &["--isolated", "status"]] {
        assert_eq!(row(args), "  pdf  files missing: `skillcue install` brings them back  user");
    }
    let json = sandbox.run(&["status", "--json"]).json();
    assert_eq!(json["installed"][0]["missing"], true, "{json}");
    let restored = sandbox.run(&["install"]);
    assert_eq!(restored.code, Some(0), "{restored}");
    assert_eq!(row(&["status"]), "  pdf  on  user");
}
