//! Measures the lists of skills at several sizes: `lists DIRECTORY...` takes the skills below the directories, in an
//! order that is random but always equal, and prints what the static section and the registry cost and lose.
//!
//! Where the directories have fewer skills than a row needs, skills are repeated under other names. `--seed N` takes
//! another order, `--show N` prints the lists of N skills instead.

#![expect(clippy::print_stdout, reason = "an example prints")]
#![expect(clippy::cast_precision_loss, reason = "a mean with one digit behind the point")]

use std::collections::BTreeSet;
use std::error::Error;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use skillcue_catalog::{Discovery, SkillRoot, Source};
use skillcue_disclose::{Counter, DiscloseConfig, Discloser, SkillList};

const SIZES: [usize; 5] = [10, 100, 400, 1_000, 10_000];

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut option = |name: &str| -> Result<Option<usize>, Box<dyn Error>> {
        let Some(at) = arguments.iter().position(|argument| argument == name) else { return Ok(None) };
        let words: Vec<String> = arguments.drain(at..(at + 2).min(arguments.len())).collect();
        Ok(Some(words.get(1).ok_or_else(|| format!("`{name}` needs a number"))?.parse()?))
    };
    let (show, seed) = (option("--show")?, option("--seed")?.unwrap_or_default());
    if arguments.is_empty() {
        return Err("usage: lists [--seed N] [--show N] DIRECTORY...".into());
    }
    let mut skills: Vec<(String, String)> = Vec::new();
    for directory in &arguments {
        for root in roots(Path::new(directory))? {
            let catalog = Discovery::new([SkillRoot::new(root, Source::User)]).run();
            for skill in catalog.skills() {
                skills.push((skill.name().to_owned(), skill.manifest().description().to_owned()));
            }
        }
    }
    skills.sort_by_key(|skill| {
        let mut hasher = DefaultHasher::new();
        (seed, skill).hash(&mut hasher);
        hasher.finish()
    });
    skills.dedup();
    let exact = Counter::O200k.counter()?;
    let sizes = show.map_or(SIZES.to_vec(), |size| vec![size]);
    if show.is_none() {
        println!("{} skills", skills.len());
        println!(
            "| skills | counter | section | shortened | only names | names lost | time | registry | a skill | shortened | only names | lost |"
        );
        println!("|{}", " --- |".repeat(12));
    }
    for size in sizes {
        let home = tempfile::tempdir()?;
        write_skills(home.path(), &skills, size)?;
        for counter in [Counter::Segment, Counter::O200k] {
            let catalog = Arc::new(Discovery::new([SkillRoot::new(home.path(), Source::User)]).run());
            let config = DiscloseConfig { counter, ..DiscloseConfig::default() };
            let discloser = Discloser::new(catalog, config)?;
            let start = Instant::now();
            let section = discloser.prompt();
            let elapsed = start.elapsed();
            if show.is_some() {
                println!("{}", section.text);
                println!("{}", discloser.registry().text);
                continue;
            }
            let registry = discloser.registry();
            let tokens = exact.count(&registry.text).0;
            println!(
                "| {size} | {counter} | {} | {} | {} | {} | {:.1} ms | {tokens} | {:.1} | {} | {} | {} |",
                exact.count(&section.text),
                section.shortened.len() - bare(section),
                bare(section),
                section.omitted.len(),
                elapsed.as_secs_f64() * 1e3,
                tokens as f64 / size as f64,
                registry.shortened.len() - bare(registry),
                bare(registry),
                registry.omitted.len(),
            );
        }
    }
    Ok(())
}

/// Returns how many of the shortened skills have no description left.
fn bare(list: &SkillList) -> usize {
    let starts: BTreeSet<&str> = list.text.lines().filter_map(|line| Some(line.split_once(": ")?.0)).collect();
    let has_line = |id: &String| starts.contains(&**id) || starts.contains(&*format!("- **{id}**"));
    list.shortened.iter().filter(|id| !has_line(id)).count()
}

/// Returns the directory, or those in it if it holds collections: equal names in two collections are two skills.
fn roots(directory: &Path) -> std::io::Result<Vec<std::path::PathBuf>> {
    let mut inner = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        inner.push(entry?.path());
    }
    inner.sort();
    let is_collection = |path: &std::path::PathBuf| path.is_dir() && !path.join("SKILL.md").exists();
    Ok(if inner.iter().all(is_collection) { inner } else { vec![directory.to_owned()] })
}

fn write_skills(home: &Path, skills: &[(String, String)], size: usize) -> Result<(), Box<dyn Error>> {
    let mut taken = BTreeSet::new();
    let mut round = 0;
    while taken.len() < size {
        round += 1;
        for (name, description) in skills {
            let name = if round == 1 { name.clone() } else { format!("{name}-{round}") };
            if taken.len() < size && name.len() <= 64 && taken.insert(name.clone()) {
                let directory = home.join(&name);
                std::fs::create_dir(&directory)?;
                let description = serde_json::to_string(description)?;
                std::fs::write(
                    directory.join("SKILL.md"),
                    format!("---\nname: {name}\ndescription: {description}\n---\n"),
                )?;
            }
        }
    }
    Ok(())
}
