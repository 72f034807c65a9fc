//! `skillcue studio` in a real browser: Debian's Chromium, driven by Playwright.
//!
//! A browser that is installed is used. Otherwise the packages of Debian's Chromium are downloaded and unpacked below the
//! target directory, without being installed: 108 MB, 370 MB unpacked. The driver and the checker of accessibility are
//! pinned in `tests/studio`; the scripts there do the checking, this starts them. Every view is opened on the repository's own
//! skills and 500 that are generated, or those of the directory that `SKILLCUE_STUDIO_SKILLS` names: no skills of others are
//! kept in the repository.

use crate::process::{ChoreFailure, build_skillcue, cargo, npm, release, root, run, skillcue, succeeds, target, write};
use crate::test::StepOutcome;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

const SUITE_DIR: &str = "tests/studio";

/// The number of generated skills beside those of the repository.
const GENERATED_SKILLS: &str = "500";

/// The variable that names a directory of skills to open every view on, instead of the generated ones.
const OWN_SKILLS: &str = "SKILLCUE_STUDIO_SKILLS";

/// Names under which browsers of this kind are installed.
const INSTALLED: [&str; 3] = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/// A browser, and the directories of libraries that it needs.
struct Browser {
    program: PathBuf,
    libraries: String,
}

pub(crate) fn step() -> Result<StepOutcome, ChoreFailure> {
    let browser = match browser() {
        Ok(browser) => browser,
        Err(ChoreFailure(why)) => return Ok(StepOutcome::NoBrowser(why)),
    };
    let packages = match packages() {
        Ok(packages) => packages,
        Err(ChoreFailure(why)) => return Ok(StepOutcome::Skipped(why)),
    };
    build_skillcue()?;
    let tree = match std::env::var_os(OWN_SKILLS) {
        Some(dir) => {
            let dir = PathBuf::from(dir);
            dir.canonicalize().map_err(|error| ChoreFailure::io("find", &dir, &error))?
        }
        None => generated("debug", GENERATED_SKILLS)?,
    };
    let labelled = root().join("tests/labelled");
    let mut node = script("studio.mjs", &skillcue(), &browser, &packages, "browser");
    run(node.arg(labelled.join("skills")).arg(labelled.join("messages.jsonl")).arg(tree))?;
    Ok(StepOutcome::Passed)
}

/// Runs `cargo xtask studio-pictures`: the pictures of the documentation, drawn anew.
pub(crate) fn pictures() -> Result<(), ChoreFailure> {
    let (browser, packages) = (browser()?, packages()?);
    build_skillcue()?;
    let labelled = root().join("tests/labelled");
    let mut node = script("pictures.mjs", &skillcue(), &browser, &packages, "pictures");
    run(node.arg(labelled.join("skills")).arg(labelled.join("messages.jsonl")).arg(root().join("docs/pictures")))
}

/// Runs `cargo xtask studio-figures`: first paint and a typed message at 100, 1,000 and 10,000 skills, of a release build.
pub(crate) fn figures() -> Result<(), ChoreFailure> {
    let (browser, packages) = (browser()?, packages()?);
    run(cargo().args(["build", "--release", "--package", "skillcue-cli", "--bin", "skillcue"]))?;
    let trees: Vec<PathBuf> =
        ["100", "1000", "10000"].into_iter().map(|count| generated("debug", count)).collect::<Result<_, _>>()?;
    run(script("figures.mjs", &release("skillcue"), &browser, &packages, "figures").args(trees))
}

/// Returns a command for a script of the suite with what all of them need.
fn script(name: &str, program: &Path, browser: &Browser, packages: &Path, work: &str) -> Command {
    let mut command = Command::new("node");
    command.arg(root().join(SUITE_DIR).join(name)).arg(program).arg(packages).arg(&browser.program);
    command.arg(&browser.libraries).arg(target().join("studio").join(work)).current_dir(root());
    command
}

/// Generates a tree of skills, unless it is there.
fn generated(profile: &str, count: &str) -> Result<PathBuf, ChoreFailure> {
    let tree = target().join("studio/skills").join(count);
    run(cargo().args(["build", "--quiet", "--package", "skillcue-bench", "--bin", "generate"]))?;
    let program = target().join(profile).join("generate");
    run(Command::new(program).arg(&tree).arg(count))?;
    Ok(tree)
}

/// Installs the packages that the lock file pins, unless they are there already.
fn packages() -> Result<PathBuf, ChoreFailure> {
    let packages = target().join("studio/npm");
    let read = |name: &str| {
        let path = root().join(SUITE_DIR).join(name);
        std::fs::read_to_string(&path).map_err(|error| ChoreFailure::io("read", &path, &error))
    };
    let (manifest, lock) = (read("package.json")?, read("package-lock.json")?);
    // Written last, so it exists only after an install that came to its end.
    let stamp = packages.join("installed.json");
    if std::fs::read_to_string(&stamp).ok().as_deref() != Some(&lock) {
        let mut npm = npm()?;
        std::fs::create_dir_all(&packages).map_err(|error| ChoreFailure::io("create", &packages, &error))?;
        write(&packages.join("package.json"), &manifest)?;
        write(&packages.join("package-lock.json"), &lock)?;
        println!("    installing playwright-core and axe-core from npm into {}", packages.display());
        let quietly = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
        run(npm.args(quietly).current_dir(&packages))
            .map_err(|ChoreFailure(why)| ChoreFailure(format!("Playwright could not be installed: {why}")))?;
        write(&stamp, &lock)?;
    }
    Ok(packages)
}

/// Returns a browser: one that is installed, or Debian's, unpacked below the target directory.
fn browser() -> Result<Browser, ChoreFailure> {
    if let Some(program) = INSTALLED.iter().map(PathBuf::from).find(|path| path.is_file()) {
        return Ok(Browser { program, libraries: String::new() });
    }
    let dir = target().join("studio");
    let program = dir.join("chromium/usr/lib/chromium/chromium");
    if !program.is_file() {
        download(&dir)?;
    }
    let libraries: Vec<String> = library_dirs(&dir.join("chromium/usr/lib")).into_iter().collect();
    let browser = Browser { program, libraries: libraries.join(":") };
    let mut version = Command::new(&browser.program);
    if !succeeds(version.args(["--no-sandbox", "--version"]).env("LD_LIBRARY_PATH", &browser.libraries)) {
        return Err(ChoreFailure::new(format!("{} does not start", browser.program.display())));
    }
    Ok(browser)
}

/// Downloads the packages of Chromium that are not installed, and unpacks them. Nothing is installed.
fn download(dir: &Path) -> Result<(), ChoreFailure> {
    if !succeeds(Command::new("apt-get").arg("--version")) || !succeeds(Command::new("dpkg-deb").arg("--version")) {
        return Err(ChoreFailure::new("there is no Chromium, and no apt-get to download Debian's"));
    }
    let archives = dir.join("debs");
    let partial = archives.join("partial");
    std::fs::create_dir_all(&partial).map_err(|error| ChoreFailure::io("create", &partial, &error))?;
    println!("    downloading Debian's Chromium (108 MB) into {}", archives.display());
    let install = |update: bool| {
        let mut apt = Command::new("apt-get");
        apt.arg("-qq").arg("-o").arg(format!("Dir::Cache::archives={}", archives.display()));
        apt.args(["-o", "Debug::NoLocking=1", "-o", "APT::Sandbox::User=root"]);
        if update {
            let lists = dir.join("lists");
            // Where lists of packages were removed, as in small images, they are downloaded to a place of our own.
            std::fs::create_dir_all(lists.join("partial")).ok();
            apt.arg("-o").arg(format!("Dir::State::lists={}", lists.display()));
        }
        apt
    };
    let wanted = ["install", "--yes", "--no-install-recommends", "--download-only", "chromium", "fonts-dejavu-core"];
    let fetched = run(install(false).args(wanted)).or_else(|_| {
        run(install(true).arg("update"))?;
        run(install(true).args(wanted))
    });
    fetched.map_err(|ChoreFailure(why)| ChoreFailure(format!("Chromium could not be downloaded: {why}")))?;
    // Unpacked beside its place, so that what is there is whole.
    let (draft, place) = (dir.join("chromium.draft"), dir.join("chromium"));
    let _ = std::fs::remove_dir_all(&draft);
    let listed = std::fs::read_dir(&archives).map_err(|error| ChoreFailure::io("list", &archives, &error))?;
    for archive in listed.flatten().map(|entry| entry.path()) {
        if archive.extension().is_some_and(|extension| extension == "deb") {
            run(Command::new("dpkg-deb").arg("-x").arg(&archive).arg(&draft))?;
        }
    }
    std::fs::rename(&draft, &place).map_err(|error| ChoreFailure::io("rename", &draft, &error))
}

/// Returns the directories below `dir` that hold shared libraries.
fn library_dirs(dir: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let Ok(entries) = std::fs::read_dir(dir) else { return found };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(library_dirs(&path));
        } else if path.to_string_lossy().contains(".so") {
            found.insert(dir.to_string_lossy().into_owned());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A picture that no page shows is drawn, kept and downloaded in vain.
    #[test]
    fn every_picture_is_shown_and_drawn() {
        let read = |path: &str| std::fs::read_to_string(root().join(path)).unwrap();
        let pages = read("README.md") + &read("docs/guides/studio.md");
        let script = read("tests/studio/pictures.mjs");
        for entry in std::fs::read_dir(root().join("docs/pictures")).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            assert!(pages.contains(&format!("pictures/{name}")), "{name} is shown nowhere");
            let view = name.trim_start_matches("studio-").trim_end_matches(".png");
            assert!(script.contains(&format!("[\"{view}\"")), "{name} is not drawn");
        }
    }
}
