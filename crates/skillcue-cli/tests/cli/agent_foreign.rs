//! No text of a skill that came with a checkout reaches a model before the user agreed, by whatever way it came.

use std::os::unix::fs::symlink;

use serde_json::json;
use skillcue_scripted::{Received, Reply};

use crate::Sandbox;
use crate::agent::Talk;
use crate::sandbox::SETTINGS;

/// A way in which a skill called `inv` comes to the catalog.
struct Way {
    name: &'static str,
    /// Its id for models.
    id: &'static str,
    bring: fn(&Sandbox),
    args: &'static [&'static str],
}

/// Writes the skill, each of whose parts says "EVIL".
fn write(sandbox: &Sandbox, dir: &str) {
    let front = "name: inv\ndescription: Writes invoices.\nmetadata:\n  triggers: [invoice]\n  toolsets: [\"toolsets/index:Evil\"]";
    let body = "# Invoices\n\nEVIL-BODY\n\n## Tax\n\nEVIL-SECTION\n";
    sandbox.write(&format!("{dir}/SKILL.md"), format!("---\n{front}\n---\n{body}"));
    sandbox.write(&format!("{dir}/note.md"), "EVIL-FILE\n");
    sandbox.write(&format!("{dir}/scripts/x.sh"), "#!/bin/sh\necho EVIL-RAN\n");
    sandbox.write(
        &format!("{dir}/toolsets/index.ts"),
        "import { Tool } from '@agent/tools';\nexport const Evil = [Tool.define('evil-tool', {\n  description: 'EVIL-TOOL',\n  \
         parameters: { type: 'object' },\n  execute: async () => ({ title: '', metadata: {}, output: 'EVIL-CALLED' }),\n})];\n",
    );
}

fn plugin(sandbox: &Sandbox, dir: &str) {
    sandbox.write(&format!("{dir}/.claude-plugin/plugin.json"), r#"{"name": "evil"}"#);
    write(sandbox, &format!("{dir}/skills/inv"));
}

fn installed_plugin(sandbox: &Sandbox, dir: &str) {
    plugin(sandbox, dir);
    let known = json!({"version": 2, "plugins": {"evil@mp": [{"scope": "user", "installPath": sandbox.path(dir)}]}});
    sandbox.write("home/.claude/plugins/installed_plugins.json", known.to_string());
}

fn link(sandbox: &Sandbox, at: &str, target: &str) {
    std::fs::create_dir_all(sandbox.path(at).parent().unwrap()).unwrap();
    symlink(sandbox.path(target), sandbox.path(at)).unwrap();
}

/// Installs what is at `from` into the project's registry, as a user would before a commit.
fn committed(sandbox: &Sandbox, from: &str, name: &str, of_plugin: &[&str]) {
    let args = ["install", from, "--project", "--enable", "--allow-findings"];
    let run = sandbox.run(&[&args, of_plugin].concat());
    assert_eq!(run.code, Some(0), "{run}");
    std::fs::remove_dir_all(sandbox.path("work").join(from)).unwrap();
    // Only what is in the checkout is left of it.
    assert!(sandbox.path(&format!("work/.skillcue/{name}")).exists());
    let _ = std::fs::remove_dir_all(sandbox.path("home/.local"));
}

const FOREIGN: [Way; 9] = [
    Way { name: "the project's own directory", id: "inv", bring: |it| write(it, "work/.agents/skills/inv"), args: &[] },
    Way {
        name: "[skills] dirs",
        id: "inv",
        bring: |it| {
            write(it, "work/vendor/inv");
            it.write("work/skillcue.toml", "[skills]\ndirs = [\"vendor\"]\n");
        },
        args: &[],
    },
    Way {
        name: "[skills] plugins",
        id: "evil:inv",
        bring: |it| {
            plugin(it, "work/vendor/evil");
            it.write("work/skillcue.toml", "[skills]\nplugins = [\"vendor/evil\"]\n");
        },
        args: &[],
    },
    Way {
        name: "[skills] plugins of a project's file that is named",
        id: "evil:inv",
        bring: |it| {
            plugin(it, "work/vendor/evil");
            it.write("work/skillcue.toml", "[skills]\nplugins = [\"vendor/evil\"]\n");
        },
        args: &["--config", "skillcue.toml"],
    },
    Way {
        name: "an installed plugin below the project",
        id: "evil:inv",
        bring: |it| installed_plugin(it, "work/.claude/plugins/evil"),
        args: &[],
    },
    Way {
        name: "a committed registry, a skill",
        id: "inv",
        bring: |it| {
            write(it, "work/inv");
            committed(it, "inv", "skills/inv", &[]);
        },
        args: &[],
    },
    Way {
        name: "a committed registry, a plugin",
        id: "evil:inv",
        bring: |it| {
            plugin(it, "work/evil");
            committed(it, "evil", "plugins/evil", &["--plugin", "evil"]);
        },
        args: &[],
    },
    Way {
        name: "a link from the user's directory",
        id: "inv",
        bring: |it| {
            write(it, "work/vendor/inv");
            link(it, "home/.agents/skills/inv", "work/vendor/inv");
        },
        args: &[],
    },
    Way {
        name: "the user's directory is a link",
        id: "inv",
        bring: |it| {
            write(it, "work/vendor/inv");
            link(it, "home/.agents/skills", "work/vendor");
        },
        args: &[],
    },
];

const OWN: [Way; 5] = [
    Way { name: "the user's directory", id: "inv", bring: |it| write(it, "home/.agents/skills/inv"), args: &[] },
    Way {
        name: "an installed plugin",
        id: "evil:inv",
        bring: |it| installed_plugin(it, "home/.claude/plugins/cache/mp/evil/1.0.0"),
        args: &[],
    },
    Way {
        name: "a plugin that the user's file names",
        id: "evil:inv",
        bring: |it| {
            plugin(it, "home/plugins/evil");
            let file = "[agent]\nbackoff_ms = 1\n[skills]\nplugins = [\"../../plugins/evil\"]\n";
            it.write(SETTINGS, file);
        },
        args: &[],
    },
    Way {
        name: "--skills-dir",
        id: "inv",
        bring: |it| write(it, "work/vendor/inv"),
        args: &["--skills-dir", "vendor"],
    },
    Way {
        name: "a link within the user's own",
        id: "inv",
        bring: |it| {
            write(it, "home/elsewhere/inv");
            link(it, "home/.agents/skills/inv", "home/elsewhere/inv");
        },
        args: &[],
    },
];

/// Tries every way in which a model gets at a skill's text, once per turn.
fn nosy(id: &'static str) -> impl Fn(&Received) -> Reply + Send + Sync {
    move |received| {
        if !received.new_results().is_empty() {
            return Reply::text("Done.");
        }
        let number = received.number;
        Reply::calls([
            (format!("a{number}"), "load_skill", json!({"skill_id": id})),
            (format!("b{number}"), "load_skill", json!({"skill_id": id, "section": "Tax"})),
            (format!("c{number}"), "read_skill_file", json!({"skill_id": id, "path": "note.md"})),
            (format!("d{number}"), "read_skill_file", json!({"skill_id": id, "path": "SKILL.md"})),
        ])
    }
}

/// Loads the skill and tries what it can run, one call after the other.
fn bold(id: &'static str) -> impl Fn(&Received) -> Reply + Send + Sync {
    move |received| {
        let (tool, arguments) = match received.tool_results().len() {
            0 => ("load_skill", json!({"skill_id": id})),
            1 => ("run_skill_script", json!({"skill_id": id, "script": "scripts/x.sh"})),
            2 => ("evil-tool", json!({})),
            _ => return Reply::text("Done."),
        };
        Reply::calls([(format!("a{}", received.number), tool, arguments)])
    }
}

/// Everything that a model was sent.
fn sent(talk: &Talk) -> String {
    let requests = talk.server.requests();
    assert!(!requests.is_empty());
    requests.iter().map(|request| request.body.to_string()).collect()
}

fn ask(talk: &Talk, way: &Way, args: &[&str]) {
    let run = talk.finish(&mut talk.command(&[way.args, args, &["-p", "please write the invoice"]].concat()));
    assert_eq!(run.code, Some(0), "{}: {run}", way.name);
}

#[test]
fn skills_of_a_checkout_are_not_shown_before_the_user_agreed() {
    for way in FOREIGN {
        let talk = Talk::new(nosy(way.id));
        (way.bring)(&talk.sandbox);
        // The second time from the index cache; the third without it.
        for args in [&[][..], &[], &["--no-cache"], &["--policy", "hint"], &["--policy", "catalog"]] {
            ask(&talk, &way, args);
        }
        let all = sent(&talk);
        assert!(!all.contains("EVIL"), "{}: {all}", way.name);
        assert!(all.contains("declined"), "{}: the skill was found at all: {all}", way.name);
        // It is the approval that keeps it back.
        ask(&talk, &way, &["--allow", "skills"]);
        let all = sent(&talk);
        for part in ["EVIL-BODY", "EVIL-SECTION", "EVIL-FILE"] {
            assert!(all.contains(part), "{}: {part}: {all}", way.name);
        }
    }
}

/// Likely skills are named with words of their authors: not those of a checkout.
#[test]
fn skills_of_a_checkout_are_not_named_before_the_user_agreed() {
    const EAGERNESS: [&str; 8] = ["0.00001", "0.0001", "0.001", "0.01", "0.1", "0.3", "0.5", "0.9"];
    let named = |way: &Way, dir: &str| {
        let talk = Talk::new(|_| Reply::text("Done."));
        // Without a trigger, which may be enough for a body.
        talk.sandbox.write(&format!("{dir}/SKILL.md"), "---\nname: inv\ndescription: Writes invoices.\n---\nEVIL\n");
        for eagerness in EAGERNESS {
            ask(&talk, way, &["--eagerness", eagerness]);
        }
        sent(&talk).contains("Writes invoices")
    };
    assert!(!named(&FOREIGN[0], "work/.agents/skills/inv"));
    assert!(named(&OWN[0], "home/.agents/skills/inv"), "at some eagerness it is named");
}

#[test]
fn skills_of_the_user_need_no_consent() {
    for way in OWN {
        let talk = Talk::new(nosy(way.id));
        (way.bring)(&talk.sandbox);
        for round in 0..2 {
            let before = talk.server.requests().len();
            ask(&talk, &way, &[]);
            let requests = talk.server.requests();
            let first = requests[before].body.to_string();
            assert!(first.contains("EVIL-BODY"), "{}, {round}: {first}", way.name);
            let results: String = requests[before + 1].tool_results().into_iter().map(|(_, text)| text).collect();
            assert!(!results.contains("declined"), "{}, {round}: {results}", way.name);
            assert_eq!(results.matches("EVIL-FILE").count(), 1, "{}, {round}: {results}", way.name);
        }
    }
}

#[test]
fn scripts_of_a_checkout_do_not_run_unasked() {
    for way in FOREIGN {
        let talk = Talk::new(bold(way.id));
        (way.bring)(&talk.sandbox);
        ask(&talk, &way, &[]);
        let all = sent(&talk);
        assert!(!all.contains("EVIL") && all.contains("declined"), "{}: {all}", way.name);
        // It is the approval that keeps it back.
        let args = [way.args, &["--allow", "all", "-p", "please write the invoice"]].concat();
        let run = talk.finish(talk.command(&args).env("PATH", "/usr/bin:/bin"));
        assert!(sent(&talk).contains("EVIL-RAN"), "{}: {run}: {}", way.name, sent(&talk));
    }
}

/// A skill that was loaded in one directory is not loaded in another, where a checkout has a skill of that name.
#[test]
fn a_session_that_goes_on_in_a_checkout_does_not_trust_its_skill() {
    let talk = Talk::new(nosy("inv"));
    write(&talk.sandbox, "home/.agents/skills/inv");
    let tools = |args: &[&str]| {
        let before = talk.server.requests().len();
        let run = talk.run(&[args, &["-p", "please write the invoice"]].concat());
        assert_eq!(run.code, Some(0), "{run}");
        talk.server.requests()[before].body["tools"].to_string()
    };
    assert!(tools(&[]).contains("EVIL-TOOL"), "its body is shown in this turn, and its tools join");
    assert!(tools(&["--continue"]).contains("EVIL-TOOL"), "the user's own stays loaded");
    write(&talk.sandbox, "work/.agents/skills/inv");
    talk.sandbox.write("work/.agents/skills/inv/scripts/y.sh", "#!/bin/sh\n");
    talk.sandbox.write(
        "work/.agents/skills/inv/SKILL.md",
        "---\nname: inv\ndescription: Another.\ntoolsets: [\"toolsets/index:Evil\"]\n---\n",
    );
    let now = tools(&["--continue"]);
    assert!(!now.contains("EVIL-TOOL") && !now.contains("run_skill_script"), "{now}");
    assert!(tools(&["--continue", "--allow", "skills"]).contains("load_skill"));
}
