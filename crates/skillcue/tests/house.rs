//! Rules about the source tree: each idea has one implementation, and a second one fails here.

use std::fs;
use std::path::{Path, PathBuf};

/// A text that may occur only in some files.
struct Rule {
    /// The text.
    text: &'static str,
    /// Paths, or beginnings of paths, below `crates/`, in which it may occur.
    only_in: &'static [&'static str],
    /// The reason why not elsewhere.
    because: &'static str,
}

const RULES: &[Rule] = &[
    Rule {
        text: "skill.shadowed() { skill.address()",
        only_in: &[],
        because: "the address of exactly one skill is Skill::id",
    },
    Rule {
        text: "`skillcue ",
        only_in: &["skillcue-cli/"],
        because: "the library names no command of a program; skillcue-cli/src/hints.rs adds it",
    },
    Rule {
        text: " Flight",
        only_in: &["skillcue-base/src/single_flight.rs"],
        because: "one computation or fetch for several callers is skillcue_base::SingleFlight",
    },
    Rule {
        text: "\".venv\"",
        only_in: &["skillcue-catalog/src/walk.rs"],
        because: "the directories that are skipped are one list: skillcue_catalog::SKIPPED_DIRECTORIES",
    },
    Rule {
        text: "'\\u{202e}'",
        only_in: &["skillcue-base/src/hidden.rs", "skillcue-audit/src/hidden.rs"],
        because: "which characters are hidden is one table, skillcue_base::is_hidden; the audit asks it, and sorts them by kind",
    },
    Rule {
        text: "is_hidden(c)",
        only_in: &[
            "skillcue-agent/src/consent.rs",
            "skillcue-audit/src/hidden.rs",
            "skillcue-base/src/",
            "skillcue-cli/src/diagnostics.rs",
            "skillcue-format/src/name.rs",
        ],
        because: "text from outside is made fit to show by skillcue_base: Shown, one_line, folded_line, visible_line, quoted; \
                  excerpts and questions keep columns and line breaks, a name has no hidden letter, the audit sorts them by kind",
    },
    Rule {
        text: "fn one_line(",
        only_in: &["skillcue-base/src/shown.rs"],
        because: "text from outside is put on one line by skillcue_base: one_line, folded_line, visible_line",
    },
    Rule {
        text: "(&path.to_string_lossy()).to_string()",
        only_in: &["skillcue-base/src/shown.rs"],
        because: "a path in a message is skillcue_base::shown_path",
    },
    Rule {
        text: ".lock().unwrap_or_else(",
        only_in: &["skillcue-base/src/single_flight.rs", "skillcue-scripted/"],
        because: "skillcue_base::lock does it",
    },
    Rule { text: "\"Feb\"", only_in: &[], because: "dates of HTTP are the crate httpdate's" },
    Rule {
        text: "719_528",
        only_in: &[],
        because: "calendars are the crate humantime's, through skillcue_base::rfc3339",
    },
    Rule {
        text: "Condvar",
        only_in: &[
            "skillcue-base/src/single_flight.rs",
            "skillcue-cli/src/chunks.rs",
            "skillcue-fleet/src/budget.rs",
            "skillcue-scripted/",
            "skillcue-telemetry/src/export.rs",
            "skillcue-toolset/src/handover.rs",
        ],
        because: "one computation for several callers is skillcue_base::SingleFlight; the others wait for counts",
    },
    Rule {
        text: ".disable_model_invocation()",
        only_in: &[
            "skillcue-catalog/src/skill.rs",
            "skillcue-cli/src/commands/show.rs",
            "skillcue-cli/src/skill_json.rs",
            "skillcue-select/src/build.rs",
        ],
        because: "surfaces ask Skill::is_for_models or hides_from_models; `show` and JSON print the field itself, and the \
                  index of triggers keeps it",
    },
    Rule {
        text: "Client::builder()",
        only_in: &["skillcue-http/src/client.rs"],
        because: "HTTP clients are set up by skillcue_http::client: proxies, redirects, names below localhost",
    },
    Rule {
        text: "Records::new(",
        only_in: &["skillcue-catalog/src/consent/store.rs"],
        because: "what a person has allowed is one list, skillcue_catalog::consent::ConsentStore; nothing else is kept in \
                  Records yet",
    },
    Rule {
        text: "SkillsProvider::NAME",
        only_in: &["skillcue-agent/src/agent/providers.rs"],
        because: "the agent recognises its provider of skills by its type, TurnProvider::Skills; the name is for people",
    },
    Rule {
        text: "\"localhost\"",
        only_in: &[
            "skillcue-http/src/machine.rs",
            "skillcue-http/src/authority.rs",
            "skillcue-mcp/src/server/gate.rs",
            "skillcue-registry/src/origin/address.rs",
        ],
        because: "whether an address is this machine's is skillcue_http::is_this_machine; the server lists the names that \
                  clients may call it by, and `file://localhost/` is a file",
    },
    Rule {
        text: "strip_prefix(b\"data",
        only_in: &["skillcue-http/src/events.rs"],
        because: "server-sent events are read by skillcue_http::Events",
    },
    Rule {
        text: "crate::commands",
        only_in: &["skillcue-cli/src/cli.rs", "skillcue-cli/src/commands/"],
        because: "commands are the top layer of the program: code that two of them share is not in one of them",
    },
    Rule {
        text: "Discloser::with_counter(",
        only_in: &["skillcue-disclose/src/discloser.rs", "skillcue/src/snapshot.rs"],
        because: "the configuration of disclosure has one way in: skillcue::Builder::disclosure, checked by build",
    },
    Rule {
        text: "Intent::of(",
        only_in: &["skillcue-select/src/intent/tests.rs", "skillcue-select/src/selector.rs"],
        because: "the intent of a message is found once; Selection::intent has it",
    },
    Rule {
        text: "impl ConsentGate for",
        only_in: &["skillcue-catalog/src/consent/store.rs"],
        because: "whether something is allowed has one answer: exec, toolset, MCP host, settings and agent ask the gate that \
                  they are given",
    },
    Rule {
        text: "Sha256",
        only_in: &[
            "skillcue-base/src/digest.rs",
            "skillcue-mcp/src/server/handle.rs",
            "skillcue-registry/src/fetch/git.rs",
        ],
        because: "digests are skillcue_base::Digest, a skill's is skillcue_catalog::ContentId; git names a format of its own, \
                  and handles are signed by HMAC",
    },
    Rule {
        text: "env::var",
        only_in: &["skillcue-cli/", "skillcue-toolset/src/schema/tests.rs"],
        because: "the caller fills a skillcue_host::Environment",
    },
    Rule {
        text: "fn code(&self)",
        only_in: &[
            "skillcue-base/src/error_info.rs",
            "skillcue-cli/src/agent/interrupts.rs",
            "skillcue-cli/src/error.rs",
            "skillcue-derive/",
            "skillcue-format/src/diagnostic.rs",
            "skillcue-host/src/error.rs",
        ],
        because: "an error's code and hint are on its variants, #[derive(ErrorInfo)]; errors made of a code have none",
    },
    Rule {
        text: "fs::rename(",
        only_in: &["skillcue-base/src/replace.rs", "skillcue-bench/src/generate.rs", "skillcue-usage/src/spool.rs"],
        because: "files are replaced by skillcue_base::{replace_file, rewrite_file}; a directory or a count is moved",
    },
    Rule {
        text: "get(\"skill_id\")",
        only_in: &["skillcue/src/tools/call.rs"],
        because: "the skill that a call is about is read once, by skillcue::tools::Call",
    },
    Rule {
        text: "open_ambient_dir",
        only_in: &["skillcue-catalog/src/skill_dir/open.rs"],
        because: "a skill's files are reached through skillcue_catalog::SkillDir",
    },
    Rule {
        text: "read_dir(",
        only_in: &[
            // Directories that this program itself has written.
            "skillcue-agent/src/sessions/",
            "skillcue-agent/src/trace/",
            "skillcue-catalog/src/org_policy/kept.rs",
            "skillcue-cli/src/commands/doctor/machine.rs",
            "skillcue-clients/src/hook/session.rs",
            "skillcue-fleet/src/kept.rs",
            "skillcue-host/src/eval_history.rs",
            "skillcue-mcp/src/host/cache.rs",
            "skillcue-model/src/install_tests.rs",
            "skillcue-model/src/files.rs",
            "skillcue-registry/src/fetch/git/process.rs",
            "skillcue-registry/src/staging.rs",
            "skillcue-toolset/src/measure.rs",
            "skillcue-usage/src/ledger_tests.rs",
            "skillcue/src/index_files.rs",
            // Transcripts of other agents.
            "skillcue-usage/src/import/mod.rs",
            // Discovery and watching of skills and plugins.
            "skillcue-catalog/src/plugin.rs",
            "skillcue-registry/src/survey.rs",
            "skillcue/src/watch/tree.rs",
            // Directories of the system.
            "skillcue-exec/src/helper/",
            "skillcue-exec/src/program_paths.rs",
            "skillcue-exec/src/sys.rs",
            // Programs to compare with, and tests.
            "skillcue-bench/",
            "skillcue-toolset/src/schema/tests.rs",
        ],
        because: "a skill's files are walked over by skillcue_catalog::SkillTree, which follows no link and has bounds",
    },
    Rule {
        text: "Dir::read_from(",
        only_in: &["skillcue-exec/src/helper/", "skillcue-registry/src/disk/name_in_dir.rs"],
        because: "a skill's files are walked over by skillcue_catalog::SkillTree; the sandbox empties its own directory, \
                  and Disk removes what was installed",
    },
    Rule {
        text: "&amp;",
        only_in: &["skillcue-base/src/markup.rs"],
        because: "text within markup is escaped by skillcue_base::markup",
    },
    Rule {
        text: "'\\u{2060}'",
        only_in: &["skillcue-base/src/hidden.rs"],
        because: "what is not seen is a table of skillcue_base: is_hidden, is_ignorable",
    },
    Rule {
        text: "PK\\x05\\x06",
        only_in: &["skillcue-audit/src/kind.rs", "skillcue-registry/src/fetch/archive"],
        because: "zip archives are read behind the guard of fetch/archive; the audit names the kind of a file",
    },
    Rule {
        text: "::Dir::new(",
        only_in: &["skillcue-catalog/src/walk.rs"],
        because: "a skill's files are walked over by SkillTree; discovery looks for skills",
    },
    Rule {
        text: "(Dir::new(",
        only_in: &["skillcue-catalog/src/skill_dir/tree.rs"],
        because: "a skill's files are walked over by SkillTree",
    },
    Rule {
        text: ".entries()?",
        only_in: &[],
        because: "a skill's files are walked over by SkillTree, not through cap-std",
    },
    Rule {
        text: "fn hint(&self) -> Option<Cow",
        only_in: &[
            "skillcue-base/src/error_info.rs",
            "skillcue-format/src/diagnostic.rs",
            "skillcue-host/src/error.rs",
        ],
        because: "an error's code and hint are on its variants, #[derive(ErrorInfo)]; errors made of a code have none",
    },
    Rule {
        text: "hides_from_models",
        only_in: &[
            "skillcue-catalog/src/catalog.rs",
            "skillcue-catalog/src/skill.rs",
            "skillcue-cli/src/commands/doctor.rs",
            "skillcue/src/tools/mod.rs",
        ],
        because: "surfaces ask Skill::is_for_models, and for one skill by its address is_open_to_models; suggestions name \
                  switched-off skills, too, `doctor` counts and says what other clients list, and a hidden skill that is \
                  switched off is not there, instead of switched off",
    },
    Rule {
        text: "is_loopback()",
        only_in: &[
            "skillcue-cli/src/commands/mcp.rs",
            "skillcue-cli/src/commands/mcp/http.rs",
            "skillcue-http/src/authority.rs",
            "skillcue-http/src/machine.rs",
            "skillcue-mcp/src/server/probes.rs",
        ],
        because: "whether an address is this machine's is skillcue_http::is_this_machine; `mcp --http` asks whether \
                  others can reach it, and 0.0.0.0 can be reached by all",
    },
    Rule {
        text: "renameat_with(",
        only_in: &["skillcue-registry/src/disk.rs"],
        because: "the registry's changes go through Disk",
    },
    Rule {
        text: "renameat(",
        only_in: &["skillcue-exec/src/helper/private_tmp.rs", "skillcue-registry/src/disk.rs"],
        because: "the registry's changes go through Disk, the sandbox empties its own directory",
    },
    Rule {
        text: "u64::from_le_bytes",
        only_in: &["skillcue-audit/", "skillcue-base/src/binary.rs", "skillcue-registry/src/fetch/archive/zip.rs"],
        because: "kept files are read by skillcue_base::binary; the others read files of other programs",
    },
    Rule {
        text: "struct Changed",
        only_in: &[],
        because: "that skills have changed is skillcue::Changes, for watchers, hosts and the MCP server",
    },
    Rule {
        text: "struct Refreshed",
        only_in: &[],
        because: "that skills have changed is skillcue::Changes; a name says what was refreshed (CatalogSwap, ServerRefresh)",
    },
];

/// The layers, lowest first. A crate depends on crates of lower layers only, but for tests.
const LAYERS: &[&[&str]] = &[
    &["skillcue-derive"],
    &["skillcue-base", "skillcue-bench", "skillcue-scripted", "skillcue-sqlite"],
    &["skillcue-format", "skillcue-http"],
    &["skillcue-catalog", "skillcue-model", "skillcue-telemetry"],
    &["skillcue-select", "skillcue-load", "skillcue-audit"],
    &["skillcue-disclose", "skillcue-registry"],
    &["skillcue"],
    &["skillcue-exec", "skillcue-mcp", "skillcue-clients", "skillcue-usage", "skillcue-studio"],
    &["skillcue-toolset", "skillcue-agent", "skillcue-fleet"],
    &["skillcue-host"],
    &["skillcue-cli"],
    &["xtask"],
];

#[test]
fn arrows_point_one_way() {
    let layer = |name: &str| LAYERS.iter().position(|layer| layer.contains(&name));
    let output = std::process::Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    assert!(packages.len() >= 17, "only {} packages were found", packages.len());
    for package in packages {
        let name = package["name"].as_str().unwrap();
        let own = layer(name).unwrap_or_else(|| panic!("{name} has no layer"));
        for dependency in package["dependencies"].as_array().unwrap() {
            let needed = dependency["name"].as_str().unwrap();
            if dependency["kind"] != "dev" && needed.starts_with("skillcue") {
                let below = layer(needed).unwrap_or_else(|| panic!("{needed} has no layer"));
                assert!(below < own, "{name} depends on {needed}, which is not below it");
            }
        }
    }
}

/// Words that were types of findings, each with its own fields, before there was one.
const OTHER_FINDINGS: &[&str] = &["Fault", "Finding", "Notice", "Problem", "Trouble"];

#[test]
fn findings_have_one_type() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    collect(&crates, &mut files);
    let mut diagnostics = Vec::new();
    for file in files.iter().filter(|file| file.components().any(|part| part.as_os_str() == "src")) {
        for line in fs::read_to_string(file).unwrap().lines() {
            let mut words = line.split(|c: char| !(c.is_alphanumeric() || c == '_'));
            let Some("struct" | "enum" | "type") =
                words.by_ref().find(|word| !matches!(*word, "" | "pub" | "crate" | "super"))
            else {
                continue;
            };
            let name = words.find(|word| !word.is_empty()).unwrap_or_default();
            // Findings about files and settings are skillcue_format::Diagnostic; reasons for a failure are errors.
            assert!(!OTHER_FINDINGS.contains(&name), "{} has {name}: it is a Diagnostic or an error", file.display());
            if name == "Diagnostic" {
                diagnostics.push(file.strip_prefix(&crates).unwrap().to_owned());
            }
        }
    }
    assert_eq!(diagnostics, [Path::new("skillcue-format/src/diagnostic.rs")]);
}

#[test]
fn each_idea_has_one_implementation() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    for package in fs::read_dir(&crates).unwrap() {
        collect(&package.unwrap().path().join("src"), &mut files);
    }
    assert!(files.len() > 300, "only {} files were found", files.len());
    let mut broken = Vec::new();
    let mut used: Vec<Vec<bool>> = RULES.iter().map(|rule| vec![false; rule.only_in.len()]).collect();
    for file in &files {
        let text = fs::read_to_string(file).unwrap();
        // Tests at the end of a file are free.
        let code = text.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        let name = file.strip_prefix(&crates).unwrap().to_str().unwrap();
        for (rule, used) in RULES.iter().zip(&mut used) {
            // A character is written with small or with capital digits.
            let has = |line: &str| match rule.text.strip_prefix("'") {
                Some(_) => line.to_lowercase().contains(rule.text),
                None => line.contains(rule.text),
            };
            if !code.lines().any(|line| !line.trim_start().starts_with("//") && has(line)) {
                continue;
            }
            let allowed = rule.only_in.iter().zip(used).filter(|(allowed, _)| name.starts_with(**allowed));
            if allowed.map(|(_, used)| *used = true).count() == 0 {
                broken.push(format!("{name} has {}: {}", rule.text, rule.because));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
    for (rule, used) in RULES.iter().zip(used) {
        let idle: Vec<_> =
            rule.only_in.iter().zip(used).filter(|(_, used)| !used).map(|(allowed, _)| allowed).collect();
        assert!(idle.is_empty(), "{} is allowed where it is not, in {idle:?}", rule.text);
    }
}

fn collect(dir: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(dir) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}
