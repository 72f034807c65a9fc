//! A host over an environment, without starting a program: files and variables merged, what a checkout may say,
//! where bundled skills are.
#![expect(clippy::unwrap_used, reason = "a test whose setting fails has failed")]

mod support;

use std::fs;
use std::path::PathBuf;

use skillcue::{Skill, Source};
use skillcue_host::{Host, HostOverrides};
use support::Machine;

const USER: &str = "home/.config/skillcue/skillcue.toml";

fn of_project(names: &[String]) -> String {
    let bundled = ["hello-extended", "skill-author"];
    names.iter().map(String::as_str).filter(|name| !bundled.contains(name)).collect::<Vec<_>>().join(" ")
}

#[test]
fn later_files_win() {
    let machine = Machine::new();
    for name in ["a", "b", "c"] {
        machine.skill(&format!("work/skills/{name}"));
    }
    let enabled = |variables: &[(&str, &str)], config: Option<&str>| {
        let options = HostOverrides { config: config.map(PathBuf::from), ..HostOverrides::default() };
        of_project(&machine.enabled(variables, options))
    };
    machine.write(USER, "[skills]\ndisable = [\"a\", \"b\"]\n");
    assert_eq!(enabled(&[], None), "c");
    machine.write("work/skillcue.toml", "[skills]\nenable = [\"a\"]\ndisable = [\"c\"]\n");
    assert_eq!(enabled(&[], None), "a");
    machine.write("work/other.toml", "[skills]\ndisable = [\"a\"]\n");
    assert_eq!(enabled(&[("SKILLCUE_CONFIG", "other.toml")], None), "b c");
    machine.write("work/flag.toml", "");
    assert_eq!(enabled(&[("SKILLCUE_CONFIG", "other.toml")], Some("flag.toml")), "a b c");
}

#[test]
fn wrong_variables_are_named() {
    let machine = Machine::new();
    for (name, value) in
        [("SKILLCUE_ISOLATED", "perhaps"), ("SKILLCUE_SKILLS_DIRS", "nowhere"), ("SKILLCUE_CONFIG", "nowhere.toml")]
    {
        let error = match machine.environment(&[(name, value)]) {
            Err(error) => error,
            Ok(environment) => Host::open(environment, HostOverrides::default()).settings().unwrap_err(),
        };
        assert!(error.to_string().contains(name), "{error}");
    }
}

#[test]
fn without_a_home_there_is_still_a_place() {
    let machine = Machine::new();
    let bundled = |home: &str| {
        let host = machine.host(&[("HOME", home)], HostOverrides::default());
        let catalog = host.skills().unwrap().catalog();
        let count = catalog.skills().filter(|skill| skill.source() == Source::Bundled).count();
        let told = host.settings().unwrap().notices.iter().any(|notice| notice.code.as_str() == "bundled_missing");
        (count, told)
    };
    assert_eq!(bundled(""), (2, false));
    // Root can write anywhere but below a file.
    assert_eq!(bundled("/dev/null/home"), (2, false));
    let private = fs::read_dir(machine.path("tmp")).unwrap().next().unwrap().unwrap();
    assert!(private.file_name().to_str().unwrap().starts_with("skillcue-"));
    // Another user made the directory first.
    fs::remove_dir_all(private.path()).unwrap();
    fs::write(private.path(), "").unwrap();
    assert_eq!(bundled(""), (0, true));
}

#[test]
fn a_checkout_switches_only_its_own_skills() {
    let machine = Machine::new();
    machine.skill("home/.agents/skills/mine");
    machine.skill("home/.agents/skills/off");
    machine.skill("work/skills/theirs");
    machine.write(USER, "[skills]\ndisable = [\"off\"]\n");
    machine.write("work/skillcue.toml", "[skills]\nenable = [\"off\"]\ndisable = [\"mine\", \"theirs\"]\n");
    let host = machine.host(&[], HostOverrides::default());
    let catalog = host.skills().unwrap().catalog();
    let on: Vec<&str> = catalog.skills().filter(|skill| skill.enabled()).map(Skill::name).collect();
    assert_eq!(on, ["hello-extended", "mine", "skill-author"]);
    let told: Vec<String> = catalog
        .diagnostics()
        .iter()
        .filter(|found| found.code.as_str() == "untrusted_switch")
        .map(|found| found.message.to_string())
        .collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told.iter().any(|message| message.contains("may not switch `mine` off")), "{told:?}");
}

#[test]
fn a_projects_registry_switches_only_its_own_skills() {
    let machine = Machine::new();
    machine.skill("home/.agents/skills/pdf");
    machine.write(USER, "[skills]\ndisable = [\"pdf\"]\n");
    let said = r#"{"version": 1, "installed": {}, "enabled": {"pdf": true, "pdf@user": true, "skill-author": false}}"#;
    machine.write("work/registry.json", said);
    assert_eq!(machine.enabled(&[], HostOverrides::default()), ["hello-extended", "skill-author"]);
}

#[test]
fn files_say_how_to_disclose_each_over_the_one_before() {
    let machine = Machine::new();
    machine.write(USER, "[disclose]\npolicy = \"hint\"\nmax_skills = 1\nfallback = \"show_all\"\n");
    let disclose = |options: HostOverrides| {
        let host = machine.host(&[], options);
        let config = host.settings().unwrap().disclose.config();
        (config.policy.as_str(), config.max_skills, config.fallback)
    };
    let (policy, most, fallback) = disclose(HostOverrides::default());
    assert_eq!((policy, most), ("hint", 1));
    // The project's file counts for what it says, the user's for the rest.
    machine.write("work/skillcue.toml", "[disclose]\npolicy = \"inject\"\nmode = \"keyword\"\n");
    assert_eq!(disclose(HostOverrides::default()), ("inject", 1, fallback));
    let alone = HostOverrides { isolated: true, ..HostOverrides::default() };
    assert_ne!(disclose(alone).1, 1, "alone, neither counts");
}

#[test]
fn no_cache_leaves_no_file() {
    let machine = Machine::new();
    machine.skill("work/skills/pdf");
    let alone = HostOverrides {
        skills_dirs: vec![machine.path("work/skills")],
        isolated: true,
        no_cache: true,
        ..HostOverrides::default()
    };
    assert_eq!(machine.enabled(&[], alone), ["pdf"]);
    assert!(!machine.path("home/.cache").exists());
    assert!(!machine.path("home/.local").exists(), "isolated: nothing is unpacked");
    machine.enabled(&[], HostOverrides::default());
    assert!(machine.path("home/.cache/skillcue/index").exists(), "or else there is one");
    assert!(machine.path("home/.local").exists());
}

/// Programs in other languages embed a host: a policy holds there, too, and no caller's option goes before it.
#[test]
fn a_policy_holds_for_every_host() {
    let machine = Machine::new();
    for dir in ["work/skills/pdf", "home/.agents/skills/csv"] {
        machine.skill(dir);
    }
    machine.write("policy.toml", "[sources]\nallow = [\"user\"]\n[run]\nscripts = false\nunsandboxed = false\n");
    let policy = machine.path("policy.toml");
    let variables = [("SKILLCUE_POLICY", policy.to_str().unwrap())];
    let overrides = HostOverrides { allow_unsandboxed: true, ..HostOverrides::default() };
    let host = machine.host(&variables, overrides.clone());
    let skills = host.skills().unwrap();
    assert!(skills.load("csv", &skillcue::LoadRequest::default()).is_ok());
    let error = skills.load("pdf", &skillcue::LoadRequest::default()).unwrap_err();
    assert!(matches!(&error, skillcue::Error::Refused { refusal, .. } if refusal.rule == "sources.allow"), "{error}");
    assert!(skills.read("pdf", "SKILL.md").is_err());
    assert!(host.runner(true).unwrap().options().refusal.is_some());
    let local = host.local_skills_with(|builder| builder).unwrap();
    assert!(!local.catalog().get("pdf").unwrap().is_open_to_models());
    // A mistake in it stops everything.
    machine.write("policy.toml", "[source]\n");
    let host = machine.host(&variables, overrides);
    assert_eq!(
        host.skills().unwrap_err().message(),
        "the policy cannot be used: unknown field `source`, expected one of `name`, `contact`, `sources`, `publishers`, `forbid`, `require`, `audit`, `run`"
    );
    let host = machine.host(&variables, HostOverrides::default());
    assert!(host.lenient_settings().unwrap().notices.iter().any(|notice| notice.code.as_str() == "policy"));
    assert!(!host.skills().unwrap().catalog().skills().any(Skill::is_for_models));
}
