//! Which skills and plugins are in a directory.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use skillcue_format::Code;
use skillcue_registry::{FoundSkill, InstallOrigin, PluginLocation, Survey, survey, survey_of};
use tempfile::TempDir;

struct Repo(TempDir);

impl Repo {
    fn new(skills: &[&str]) -> Repo {
        let repo = Repo(tempfile::tempdir().unwrap());
        for dir in skills {
            let name = Path::new(dir).file_name().map_or("root", |name| name.to_str().unwrap());
            repo.write(&format!("{dir}/SKILL.md"), &format!("---\nname: {name}\ndescription: Does {name}.\n---\n"));
        }
        repo
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.0.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn survey(&self) -> Survey {
        survey(self.0.path())
    }
}

fn places(skills: &[FoundSkill]) -> Vec<&str> {
    skills.iter().map(|skill| skill.at.to_str().unwrap()).collect()
}

#[test]
fn where_skills_stand() {
    let table: [(&[&str], &[&str]); 9] = [
        (&["."], &["."]),
        (&["skill"], &["skill"]),
        (&["skills/a", "skills/b"], &["skills/a", "skills/b"]),
        (&["skills/office/a", "skills/b"], &["skills/b", "skills/office/a"]),
        (&["plugins/p/skills/a", "plugins/q/skills/x/b"], &["plugins/p/skills/a", "plugins/q/skills/x/b"]),
        (&["a", "b"], &["a", "b"]),
        (&[".claude/skills/a", ".agents/skills/b"], &[".agents/skills/b", ".claude/skills/a"]),
        // As archives of repositories have it.
        (&["repo-main/skills/a", "repo-main/skills/b"], &["repo-main/skills/a", "repo-main/skills/b"]),
        (&["only/a"], &["only/a"]),
    ];
    for (skills, expected) in table {
        let found = Repo::new(skills).survey();
        assert_eq!(places(&found.skills), expected);
        assert!(found.skills.iter().all(|skill| skill.valid && skill.description.starts_with("Does ")));
        assert_eq!(found.problems, []);
    }
}

#[test]
fn where_skills_are_not_looked_for() {
    let repo = Repo::new(&["a/examples/x", "skills/one/two/three", "node_modules/y", "target/z", "deep/er/still"]);
    repo.write("other.txt", "");
    assert_eq!(places(&repo.survey().skills), Vec::<&str>::new());
    // Directories in a skill's own directory belong to it, unless skills are looked for there.
    let repo = Repo::new(&[".", "examples", "skills/a"]);
    assert_eq!(places(&repo.survey().skills), [".", "skills/a"]);
    let repo = Repo::new(&["skills/a", "skills/a/inner"]);
    assert_eq!(places(&repo.survey().skills), ["skills/a"]);
}

#[test]
fn invalid_skills_are_listed_with_the_reason() {
    let repo = Repo::new(&["skills/good"]);
    repo.write("skills/bad/SKILL.md", "no front matter");
    repo.write("skills/huge/SKILL.md", &"x".repeat((1 << 20) + 1));
    repo.write("skills/lower/skill.md", "---\nname: Lower Case\ndescription: D.\n---\n");
    std::fs::create_dir_all(repo.0.path().join("skills/dir/SKILL.md")).unwrap();
    let found = repo.survey();
    let seen: Vec<_> = found.skills.iter().map(|skill| (skill.name.as_str(), skill.valid)).collect();
    let expected = [("bad", false), ("dir", false), ("good", true), ("huge", false), ("lower-case", true)];
    assert_eq!(seen, expected);
    let codes = |at: usize| found.skills[at].diagnostics.iter().map(|found| found.code).collect::<Vec<_>>();
    assert_eq!(codes(0), [Code::NoFrontMatter]);
    assert_eq!(codes(1), [Code::Unreadable]);
    assert_eq!(codes(3), [Code::TooLarge]);
    assert!(codes(4).contains(&Code::FileNameCase) && codes(4).contains(&Code::NameCanonicalised));
    assert_eq!(found.skills[0].diagnostics[0].path.as_deref(), Some(Path::new("skills/bad/SKILL.md")));
}

#[test]
fn two_of_one_name_are_a_problem() {
    let found = Repo::new(&["skills/a", "plugins/p/skills/a"]).survey();
    assert_eq!(found.skills.len(), 2);
    assert_eq!(found.problems.len(), 1);
    assert_eq!(found.problems[0].message, "two skills are called a: in plugins/p/skills/a and in skills/a");
}

#[test]
fn links_inside_are_the_same_skill_and_links_out_are_none() {
    let repo = Repo::new(&["skills/a", "src/hidden/b"]);
    let outside = Repo::new(&["secret"]);
    std::fs::create_dir_all(repo.0.path().join(".claude/skills")).unwrap();
    symlink("../../skills/a", repo.0.path().join(".claude/skills/a")).unwrap();
    symlink("../../src/hidden/b", repo.0.path().join(".claude/skills/b")).unwrap();
    symlink(outside.0.path().join("secret"), repo.0.path().join("skills/secret")).unwrap();
    let found = repo.survey();
    assert_eq!(places(&found.skills), ["skills/a", "src/hidden/b"]);
    assert_eq!(found.problems, []);
}

#[test]
fn plugins_that_describe_themselves() {
    let repo = Repo::new(&["plugins/office/skills/a", "plugins/office/more/b"]);
    let manifest = r#"{"name": "office", "description": "Papers.", "skills": ["./more", "../../out"]}"#;
    repo.write("plugins/office/.claude-plugin/plugin.json", manifest);
    repo.write("plugins/broken/.claude-plugin/plugin.json", "{");
    let found = repo.survey();
    assert_eq!(found.plugins.len(), 1);
    let plugin = &found.plugins[0];
    assert_eq!((plugin.name.as_str(), plugin.description.as_str()), ("office", "Papers."));
    assert_eq!(plugin.at, PluginLocation::Here(PathBuf::from("plugins/office")));
    assert_eq!(places(&plugin.skills), ["plugins/office/more/b", "plugins/office/skills/a"]);
    assert_eq!(found.problems.len(), 2, "{:?}", found.problems);
    assert!(found.problems.iter().all(|problem| problem.code == Code::InvalidPlugin));
}

#[test]
fn a_repository_that_is_one_plugin() {
    let repo = Repo::new(&["skills/a"]);
    repo.write(".claude-plugin/plugin.json", r#"{"name": "solo"}"#);
    let found = repo.survey();
    assert_eq!(found.plugins[0].at, PluginLocation::Here(PathBuf::from(".")));
    assert_eq!(places(&found.plugins[0].skills), ["skills/a"]);
}

#[test]
fn a_marketplace_that_sorts_the_skills_of_its_repository() {
    let repo =
        Repo::new(&["repo-main/skills/xlsx", "repo-main/skills/pdf", "repo-main/skills/art", "repo-main/own/skills/c"]);
    repo.write(
        "repo-main/.claude-plugin/marketplace.json",
        r#"{"name": "m", "owner": {"name": "me"}, "plugins": [
            {"name": "documents", "description": "Papers.", "source": "./", "strict": false,
             "skills": ["./skills/xlsx", "./skills/pdf", "./skills/gone"]},
            {"name": "arts", "source": "./", "strict": false, "skills": ["./skills/art"]},
            {"name": "own", "source": "./own"},
            {"name": "missing", "source": "./missing"},
            {"name": "far", "source": {"source": "github", "repo": "o/r", "ref": "v1"}},
            {"name": "npm", "source": {"source": "npm", "package": "p"}}
        ]}"#,
    );
    let found = repo.survey();
    let here = |at: &str| PluginLocation::Here(PathBuf::from(at));
    let far = InstallOrigin::parse("o/r@v1", Path::new("/nowhere")).unwrap();
    let plugins: Vec<_> = found.plugins.iter().map(|p| (p.name.as_str(), p.at.clone(), places(&p.skills))).collect();
    let expected = [
        ("arts", here("repo-main"), vec!["repo-main/skills/art"]),
        ("documents", here("repo-main"), vec!["repo-main/skills/pdf", "repo-main/skills/xlsx"]),
        ("far", PluginLocation::Elsewhere(far), vec![]),
        ("own", here("repo-main/own"), vec!["repo-main/own/skills/c"]),
    ];
    assert_eq!(plugins, expected);
    assert_eq!(found.skills.len(), 4);
    let problems: Vec<_> = found.problems.iter().map(|problem| problem.message.as_ref()).collect();
    let expected = [
        "the plugin documents names skills/gone, where no skill is",
        "the plugin missing cannot be used: there is no directory missing",
        "the plugin npm cannot be used: it comes from npm, which cannot be installed from here",
    ];
    assert_eq!(problems, expected);
}

#[test]
fn a_marketplace_that_cannot_be_read_does_not_hide_the_skills() {
    let repo = Repo::new(&["skills/a"]);
    repo.write(".claude-plugin/marketplace.json", "[]");
    let found = repo.survey();
    assert_eq!(places(&found.skills), ["skills/a"]);
    assert_eq!(found.problems[0].message, "the marketplace cannot be read: `plugins` is no list");
}

#[test]
fn a_missing_directory_is_unreadable() {
    let found = survey(Path::new("/nonexistent/dir"));
    assert!(found.skills.is_empty());
    assert_eq!(found.problems[0].code, Code::Unreadable);
}

#[test]
fn a_skill_that_is_all_of_a_source_is_called_after_that() {
    let dir = tempfile::tempdir().unwrap();
    let staged = dir.path().join("files");
    std::fs::create_dir(&staged).unwrap();
    std::fs::write(dir.path().join("alive"), "").unwrap();
    let name = |text: &str, origin: Option<&str>| {
        std::fs::write(staged.join("SKILL.md"), text).unwrap();
        let found = match origin {
            Some(origin) => survey_of(&staged, &InstallOrigin::parse(origin, Path::new("/nowhere")).unwrap()),
            None => survey(&staged),
        };
        (found.skills[0].name.clone(), found.skills[0].valid)
    };
    let valid = "---\nname: pdf\ndescription: Reads PDF files.\n---\n";
    assert_eq!(name(valid, None), ("pdf".to_owned(), true));
    assert_eq!(name(valid, Some("o/r")), ("pdf".to_owned(), true));
    assert_eq!(name("---\nname: pdf\n---\n", Some("o/r")).0, "pdf", "it says its name, though nothing else");
    for (origin, expected) in [
        ("o/r", "r"),
        ("o/r/skills/pdf@v1", "pdf"),
        ("git@host:o/r.git", "r"),
        ("git@host:r.git", "r"),
        ("./here/pdf", "pdf"),
        ("./pdf.tar.gz", "pdf"),
        ("pdf.skill", "pdf"),
    ] {
        assert_eq!(name("no front matter", Some(origin)), (expected.to_owned(), false), "{origin}");
    }
    assert_eq!(name("no front matter", None), (".".to_owned(), false), "the name of a staging directory says nothing");
    std::fs::remove_file(dir.path().join("alive")).unwrap();
    assert_eq!(name("no front matter", None).0, "files", "and this one is called so");
}
