use std::fs;

use insta::assert_snapshot;
use serde_json::json;

use crate::Sandbox;

/// A part of the page, without what differs from machine to machine.
fn part(page: &str, from: &str, to: &str) -> String {
    let start = page.find(from).unwrap_or_else(|| panic!("no {from:?} in {page}"));
    let end = page[start..].find(to).map_or(page.len(), |end| start + end);
    let line = |line: &str| match line.rsplit_once(", ") {
        Some((before, took)) if took.ends_with(" ms") => format!("{before}, N ms"),
        _ => line.to_owned(),
    };
    page[start..end].lines().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn an_empty_machine() {
    let sandbox = Sandbox::new();
    let run = sandbox.run(&["doctor", "--isolated"]);
    assert_eq!(run.code, Some(0), "{run}");
    assert!(run.stdout.starts_with("skillcue "), "{run}");
    assert_snapshot!(part(&run.stdout, "Configuration", "Sandbox"), @r"
    Configuration
      no skillcue.toml

    Roots
      none

    Skills
      0, 0 enabled

    What other agents would list of them
      Claude Code  nothing to list
        1 % of 200,000 tokens, 4 characters each, less 6,000 for its own skills
        (measured: 2.1.325, November 2026)
      Claude Code, newest models  nothing to list
        about 24,000 characters beside its own skills (measured: 2.1.325, November
        2026)
      Codex  nothing to list
        2 % of 272,000 tokens, 4 bytes each (measured: 0.166.0, November 2026)
      Gemini CLI  nothing to list
        everything, whatever it costs (measured: 0.61.0, November 2026)
      opencode  nothing to list
        everything, whatever it costs (measured: 1.18.33, November 2026)
      Qwen Code  nothing to list
        everything, whatever it costs (measured: 0.24.4, November 2026)
      Copilot CLI  nothing to list
        about 15,000 characters (measured: 1.0.102, November 2026)
      Claude Code, before 2026  nothing to list
        SLASH_COMMAND_TOOL_CHAR_BUDGET, 15,000 characters
      OpenClaw  nothing to list
        18,000 characters, 150 skills
      a list of 50 KB  nothing to list
        51,200 bytes

    MCP servers
      none
    ");
    assert!(run.stdout.lines().all(|line| line.chars().count() <= 80 || line.contains('/')), "{run}");
}

#[test]
fn copies_of_ones_own_are_compared() {
    let sandbox = Sandbox::with_pdf();
    let pdf = fs::read_to_string(sandbox.path("work/skills/pdf/SKILL.md")).unwrap();
    sandbox.write("home/.agents/skills/mine/SKILL.md", pdf.replace("name: pdf", "name: mine"));
    sandbox
        .write("home/.claude/skills/mine/SKILL.md", pdf.replace("name: pdf", "name: mine").replace("# PDF", "# FDP"));
    let page = sandbox.run(&["doctor"]).stdout;
    assert!(page.contains("  mine  bodies differ\n"), "{page}");
    assert!(page.contains("  warning[copies_differ]  1\n"), "{page}");
}

#[test]
fn the_whole_page() {
    let sandbox = Sandbox::with_library();
    sandbox.skill("home/.claude/skills/origami", "Another one. Use when nothing else fits.");
    // The same front matter and size, another body: what a checkout puts in the place of the user's own.
    let pdf = fs::read_to_string(sandbox.path("work/skills/pdf/SKILL.md")).unwrap();
    sandbox.write("home/.claude/skills/pdf/SKILL.md", pdf.replace("# PDF", "# FDP"));
    sandbox.skill("home/.agents/skills/csv-copy", "Twice the same.");
    fs::create_dir_all(sandbox.path("work/.claude/skills/csv-copy")).unwrap();
    fs::copy(
        sandbox.path("home/.agents/skills/csv-copy/SKILL.md"),
        sandbox.path("work/.claude/skills/csv-copy/SKILL.md"),
    )
    .unwrap();
    sandbox.write("work/skills/bad/SKILL.md", "nothing at the front\n");
    sandbox.write("work/skillcue.toml", "[skills]\ndisable = [\"csv\"]\ndirs = [\"/elsewhere\"]\n");
    let run = sandbox.run(&["doctor"]);
    assert_eq!((run.code, run.stderr.as_str()), (Some(1), ""), "everything is on the page: {run}");
    assert_snapshot!(part(&run.stdout, "Configuration", "Sandbox"), @r"
    Configuration
      skillcue.toml
      not allowed: 1 setting of the project

    Roots
      project  .claude/skills
        1 skill, N ms
      project  skills
        4 skills, 1 not usable, 1 disabled, N ms
      user  ~/.agents/skills
        1 skill, N ms
      user  ~/.claude/skills
        2 skills, N ms
      bundled  ~/.local/share/skillcue/bundled/[VERSION]
        2 skills, N ms
      17 usual places are not there

    Skills
      7, 6 enabled, 1 only for people, 1 disabled, 1 not usable

    Hidden by another of their name
      origami@user
        ~/.claude/skills/origami
        behind skills/origami
      pdf@user
        ~/.claude/skills/pdf
        behind skills/pdf

    In several places
      csv-copy  the same
        .claude/skills/csv-copy
        ~/.agents/skills/csv-copy

    Agents on this machine
      Claude Code  hook not connected, MCP not connected
        its own list: 1 of 3, whole; 28 of 2,000 characters
          2 not in a folder that it reads: origami, pdf
          1 % of 200,000 tokens, 4 characters each, less 6,000 for its own skills
          (measured: 2.1.325, November 2026)
        its own list, newest models: 1 of 3, whole; 28 of 24,000 characters
          2 not in a folder that it reads: origami, pdf
          about 24,000 characters beside its own skills (measured: 2.1.325, November
          2026)
        skillcue connect claude would change ~/.claude/settings.json (+56 lines), ~/.claude.json (+12 lines)

    What other agents would list of them
      Codex  1 of 3, whole; 23 of 5,440 tokens
        2 not in a folder that it reads
        2 % of 272,000 tokens, 4 bytes each (measured: 0.166.0, November 2026)
      Gemini CLI  1 of 3, whole; 44 tokens
        2 not in a folder that it reads
        everything, whatever it costs (measured: 0.61.0, November 2026)
      opencode  1 of 3, whole; 44 tokens
        2 not in a folder that it reads
        everything, whatever it costs (measured: 1.18.33, November 2026)
      Qwen Code  none of 3
        3 not in a folder that it reads
        everything, whatever it costs (measured: 0.24.4, November 2026)
      Copilot CLI  none of 3
        3 not in a folder that it reads
        about 15,000 characters (measured: 1.0.102, November 2026)
      Claude Code, before 2026  all 3 whole; 178 of 15,000 characters
        SLASH_COMMAND_TOOL_CHAR_BUDGET, 15,000 characters
      OpenClaw  all 3 whole; 591 of 18,000 characters
        18,000 characters, 150 skills
      a list of 50 KB  all 3 whole; 178 of 51,200 bytes
        51,200 bytes

    MCP servers
      none
    ");
    // Messages have whole paths in them, which are longer on some machines, and are wrapped.
    let findings = part(&run.stdout, "Findings", "\u{0}");
    let wanted = [
        "  error[no_front_matter]  1",
        "    skills/bad/SKILL.md:1:1",
        "      the file does not start with a `---` line",
        "  error[untrusted_path]  1",
        "  warning[shadowed]  2",
        "    ~/.claude/skills/pdf/SKILL.md",
        "    ~/.claude/skills/origami/SKILL.md",
        "✗ 2 errors, 2 warnings",
    ];
    for line in wanted {
        assert!(findings.lines().any(|found| found == line), "{line:?} in {findings}");
    }
}

#[test]
fn doctor_counts_the_skills_that_clients_leave_out() {
    let sandbox = Sandbox::new();
    for n in 0..200 {
        let text = "Does something that takes a long sentence to say. Use when the user asks for exactly this.";
        sandbox.skill(&format!("work/skills/skill-{n:03}"), text);
    }
    let run = sandbox.run(&["doctor", "--isolated", "--skills-dir", "skills"]);
    assert_eq!(run.code, Some(0), "{run}");
    let codex = part(&run.stdout, "  Codex", "  Gemini");
    assert!(codex.contains("200 not in a folder that it reads"), "{codex}");
    assert_snapshot!(part(&run.stdout, "  Claude Code, before", "  a list"), @r"
    Claude Code, before 2026  144 of 200, whole; 20,800 of 15,000 characters
      56 left out
      SLASH_COMMAND_TOOL_CHAR_BUDGET, 15,000 characters
    OpenClaw  74 of 200, whole; 48,400 of 18,000 characters
      126 left out
      18,000 characters, 150 skills
    ");
    let json = sandbox.run(&["doctor", "--isolated", "--skills-dir", "skills", "--json"]).json();
    let claw = json["clients"].as_array().unwrap().iter().find(|client| client["client"] == "OpenClaw").unwrap();
    assert!(claw["omitted"].as_array().unwrap().contains(&json!("skill-199")), "{claw}");
}

#[test]
fn for_programs() {
    let sandbox = Sandbox::with_pdf();
    let json = sandbox.run(&["doctor", "--json"]).json();
    assert_eq!(json["valid"], true);
    assert_eq!(
        json["skills"]["total"],
        json["roots"].as_array().unwrap().iter().map(|root| root["skills"].as_u64().unwrap()).sum::<u64>()
    );
    let keys: Vec<&String> = json.as_object().unwrap().keys().collect();
    let wanted = [
        "clients",
        "config",
        "connections",
        "copies",
        "diagnostics",
        "kept",
        "policy",
        "programs",
        "records",
        "registry",
        "roots",
        "sandbox",
        "servers",
        "shadowed",
        "skills",
        "valid",
        "versions",
    ];
    let mut keys = keys.clone();
    keys.sort();
    assert_eq!(keys, wanted);

    sandbox.write("work/skills/bad/SKILL.md", "nothing at the front\n");
    let run = sandbox.run(&["doctor", "--json"]);
    assert_eq!(run.code, Some(1));
    let found = &run.json()["diagnostics"][0];
    let keys: Vec<&str> = found.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys.len(), 7, "{found}");
    assert_eq!((&found["severity"], &found["line"], &found["column"]), (&json!("error"), &json!(1), &json!(1)));
}

#[test]
fn strict_counts_warnings() {
    let sandbox = Sandbox::new();
    sandbox.skill("work/skills/one", "Is hidden. Use when told.");
    sandbox.skill("work/.claude/skills/one", "Hides. Use when told.");
    let run = sandbox.run(&["doctor"]);
    assert_eq!(run.code, Some(0), "{run}");
    assert!(run.stdout.ends_with("✓ 0 errors, 1 warning\n"), "{run}");
    let run = sandbox.run(&["doctor", "--strict"]);
    assert_eq!(run.code, Some(1), "{run}");
    assert!(run.stdout.ends_with("✗ 0 errors, 1 warning\n"), "{run}");
}

#[test]
fn untrusted_servers_are_an_error() {
    let sandbox = Sandbox::with_pdf();
    sandbox.write("work/skillcue.toml", "[[mcp]]\nname = \"acme\"\nurl = \"https://mcp.example.com\"\n");
    let run = sandbox.run(&["doctor", "--json"]);
    let json = run.json();
    assert_eq!((run.code, &json["config"]["untrusted"]), (Some(1), &json!(1)));
    assert_eq!(json["diagnostics"][0]["code"], "untrusted_server");
    assert_eq!(json["servers"], json!([]), "no server is asked");
}

#[test]
fn a_broken_configuration_and_a_broken_registry_are_findings() {
    let sandbox = Sandbox::with_pdf();
    sandbox.write("work/skillcue.toml", "[skils]\n");
    sandbox.write("home/.local/share/skillcue/registry.json", "{bad");
    let doctor = sandbox.run(&["doctor", "--json"]);
    assert_eq!(doctor.code, Some(1));
    let json = doctor.json();
    let codes: Vec<&str> =
        json["diagnostics"].as_array().unwrap().iter().map(|found| found["code"].as_str().unwrap()).collect();
    assert_eq!(
        (json["valid"].as_bool(), codes.contains(&"config"), codes.contains(&"registry")),
        (Some(false), true, true),
        "{codes:?}"
    );
    assert!(sandbox.run(&["doctor"]).stdout.contains("the registry cannot be believed"), "not called healthy");
    assert_eq!(sandbox.run(&["list"]).code, Some(1), "others do not go on with a file that they cannot read");
}
