//! Discovery, from directories to a catalog: sources, hostile trees, determinism, the index cache.
#![allow(clippy::unwrap_used, reason = "a test says by panicking what is wrong")]

#[path = "discovery/cache.rs"]
mod cache;
#[path = "discovery/generation.rs"]
mod generation;
#[path = "discovery/hostile.rs"]
mod hostile;
#[path = "discovery/layout.rs"]
mod layout;
#[path = "discovery/remote.rs"]
mod remote;
#[path = "discovery/revalidation.rs"]
mod revalidation;
#[path = "discovery/sources.rs"]
mod sources;
#[path = "support/steps.rs"]
mod steps;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use skillcue_catalog::{Catalog, Discovery, Skill, SkillRoot, Source};
use tempfile::TempDir;

/// A directory tree to discover in.
struct Tree {
    dir: TempDir,
}

impl Tree {
    fn new() -> Tree {
        Tree { dir: tempfile::tempdir().unwrap() }
    }

    fn path(&self) -> &Path {
        self.dir.path()
    }

    fn write(&self, path: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// A skill called like the last part of `dir`.
    fn skill(&self, dir: &str) -> PathBuf {
        let name = dir.rsplit('/').next().unwrap();
        self.write(&format!("{dir}/SKILL.md"), skill(name, "Does a thing."))
    }

    fn link(&self, target: impl AsRef<Path>, link: &str) {
        let link = self.path().join(link);
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(target, link).unwrap();
    }

    fn discover(&self) -> Catalog {
        Discovery::new([SkillRoot::required(self.path(), Source::Inline)]).run()
    }

    /// Makes everything look as if it had been written a while ago: recent stamps are not trusted.
    fn age(&self) {
        age(self.path());
    }

    /// Makes one directory itself look as if it had been changed a while ago.
    fn age_dir(&self, dir: &str) {
        let old = SystemTime::now() - Duration::from_secs(10);
        fs::File::open(self.path().join(dir)).unwrap().set_modified(old).unwrap();
    }
}

fn age(path: &Path) {
    let metadata = fs::symlink_metadata(path).unwrap();
    if metadata.is_symlink() {
        return;
    }
    if metadata.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            age(&entry.unwrap().path());
        }
    }
    let old = metadata.modified().unwrap().min(SystemTime::now() - Duration::from_secs(10));
    fs::File::open(path).unwrap().set_modified(old).unwrap();
}

fn skill(name: &str, description: &str) -> String {
    format!("---\nname: {name}\ndescription: {description}\n---\n# {name}\n")
}

fn names(catalog: &Catalog) -> Vec<&str> {
    catalog.skills().map(Skill::name).collect()
}

fn codes(catalog: &Catalog) -> Vec<&'static str> {
    catalog.diagnostics().iter().map(|found| found.code.as_str()).collect()
}

/// Returns everything in a catalog as text, to compare one with another.
fn picture(catalog: &Catalog) -> String {
    use std::fmt::Write as _;
    let mut out = String::new();
    for skill in catalog.all() {
        check_summary(skill);
        let locations: Vec<_> = skill.locations().into_iter().map(|location| location.path).collect();
        writeln!(
            out,
            "{} {:?} {:?} shadowed {} enabled {} available {} tokens {} body {:?} manifest {:?}",
            skill.name(),
            skill.source(),
            locations,
            skill.shadowed(),
            skill.enabled(),
            skill.available(),
            skill.body_tokens(),
            skill.body_file(),
            skill.manifest(),
        )
        .unwrap();
    }
    for invalid in catalog.invalid() {
        writeln!(out, "invalid {}", invalid.path.display()).unwrap();
    }
    for found in catalog.diagnostics() {
        writeln!(out, "{found} {:?} {:?}", found.place, found.help).unwrap();
    }
    writeln!(out, "{}", catalog.generation()).unwrap();
    out
}

/// Checks that a summary, made without parsing, has the values of the parsed manifest.
fn check_summary(skill: &Skill) {
    let mut dir = b"before ".to_vec();
    skill.put_dir(&mut dir);
    assert_eq!(&dir[7..], skill.dir().as_os_str().as_encoded_bytes());
    if let Some(summary) = skill.summary() {
        let manifest = skill.manifest();
        assert_eq!((summary.description, summary.version), (manifest.description(), manifest.version()));
        assert_eq!(manifest.brief(), skillcue_format::brief(summary.description));
        assert!(manifest.allowed_tools().eq(summary.allowed_tools()));
        assert_eq!(summary.model, manifest.model());
        assert!(manifest.types().eq(["prompt"]) && !manifest.disable_model_invocation());
    }
}

#[test]
fn summaries_of_many_skills_are_correct_and_common() {
    let tree = Tree::new();
    let options =
        skillcue_bench::TreeOptions { count: 500, mended_permille: 100, ..skillcue_bench::TreeOptions::default() };
    let made = skillcue_bench::generate(&tree.path().join("tree"), &options).unwrap();
    let catalog = Discovery::new([SkillRoot::required(made.root(), Source::Inline)]).run();
    catalog.all().iter().for_each(|skill| check_summary(skill));
    assert!(catalog.all().iter().filter(|skill| skill.summary().is_some()).count() > 400);
}
