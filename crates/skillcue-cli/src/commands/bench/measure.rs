//! Measurements of discovery, loading and the whole program, each beside its floor.

use std::io;
use std::num::NonZeroUsize;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::program::{ProgramUnderTest, settle};
use super::{matching, starting};
use serde::{Deserialize, Serialize};
use skillcue::catalog::Discovery;
use skillcue::{Catalog, LoadRequest, SkillRoot, Skillcue, Source};
use skillcue_bench::{GeneratedTree, Limit, Plan, Report, TimeRow, TreeOptions, floor, generate, memory};

/// The tree sizes that are measured unless others are asked for.
pub(super) const SIZES: [usize; 4] = [100, 1_000, 10_000, 100_000];
/// The promises: ratios to the floor, and times beyond it.
const MAX_DISCOVER: f64 = 2.5;
const MAX_CACHED: f64 = 1.5;
const MAX_FIRST_LOAD: Duration = Duration::from_micros(50);
const MAX_CACHED_LOAD: Duration = Duration::from_micros(1);
const MAX_PROCESS: Duration = Duration::from_millis(10);
const MAX_CONTEXT_KEYWORD: Duration = Duration::from_millis(5);
const MAX_CONTEXT_HYBRID: Duration = Duration::from_millis(10);
/// How many skills are looked at for a long body.
const MAX_LOOKED_AT: usize = 1_000;
/// More skills than this are promised nothing for it.
const MAX_FOR_CONTEXT: usize = 10_000;

/// Measures discovery, loading and the whole program on trees of `sizes` skills, kept below `dir`.
pub(super) fn measure(
    sizes: &[usize],
    dir: &Path,
    rounds: usize,
    say: &dyn Fn(&str),
    report: &mut Report,
) -> io::Result<()> {
    for &count in sizes {
        say(&format!("making a tree of {count} skills"));
        let options = TreeOptions { count, ..TreeOptions::default() };
        let tree = generate(&dir.join(format!("tree-{count}")), &options)?;
        let bench = Bench { tree: &tree, count, rounds: rounds_for(count, rounds), dir };
        say(&format!("{count} skills: discovery"));
        bench.discover(report)?;
        say(&format!("{count} skills: from the index cache"));
        bench.cached(report)?;
        say(&format!("{count} skills: the whole program"));
        bench.process(report)?;
        if count <= MAX_FOR_CONTEXT {
            say(&format!("{count} skills: the main job as a program"));
            context(count, dir, bench.rounds, report)?;
        }
        if count == sizes[0] {
            say("loading");
            bench.load(report)?;
            bench.reuse(report)?;
        }
        matching::tokens(&tree, report)?;
        matching::measure(count, dir, bench.rounds, say, report)?;
    }
    let threads = rayon::current_num_threads();
    report.notes.push(format!("best of several runs in turns with the floor, {threads} threads each, page cache warm"));
    report.notes.push(matching::METHOD.to_owned());
    Ok(())
}

/// Measures the main job as people and hooks run it: `context MESSAGE` from start to exit, with a pattern and a whole
/// body in every skill, the index cache and the kept indexes in place, in turns with `list`, which finds the same
/// skills.
fn context(count: usize, dir: &Path, rounds: usize, report: &mut Report) -> io::Result<()> {
    let program = ProgramUnderTest::new(dir, count, "context")?;
    let message = matching::message();
    let run = |args: &[&str]| starting::time(&mut program.command(args));
    let long = long_body_message(&program.tree)?;
    let commands = [
        &["list"][..],
        &["context", "--mode", "keyword", &message],
        &["context", "--mode", "hybrid", &message],
        &["context", "--mode", "hybrid", &long],
    ];
    settle(|| commands.iter().try_for_each(|args| run(args).map(drop)))?;
    let mut best = [Duration::MAX; 4];
    for _ in 0..=rounds {
        for (best, args) in best.iter_mut().zip(commands) {
            *best = run(args)?.min(*best);
        }
    }
    let [list, keyword, hybrid, parts] = best;
    for (what, time, limit) in [
        ("keyword", keyword, MAX_CONTEXT_KEYWORD),
        ("hybrid", hybrid, MAX_CONTEXT_HYBRID),
        ("parts of a long body", parts, MAX_CONTEXT_HYBRID),
    ] {
        let row = TimeRow::new(format!("context, {what}, whole program"), count, time);
        report.rows.push(row.against(list, Limit::times_plus(1.0, limit)));
    }
    Ok(())
}

/// Returns a message that calls the skill with the longest of the first bodies, which is shown in parts, and asks for its
/// last section.
fn long_body_message(tree: &GeneratedTree) -> io::Result<String> {
    let sized = tree.paths().iter().take(MAX_LOOKED_AT).map(|path| Ok((std::fs::metadata(path)?.len(), path)));
    let sized = sized.collect::<io::Result<Vec<_>>>()?;
    let Some((_, path)) = sized.into_iter().max_by_key(|(bytes, _)| *bytes) else { return Ok(String::new()) };
    let text = std::fs::read_to_string(path)?;
    let title = text.lines().rev().find_map(|line| line.strip_prefix("## ")).unwrap_or_default();
    let name = path.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
    Ok(format!("${name} {title}"))
}

/// Large trees need fewer rounds, small ones more, for the same trust.
fn rounds_for(count: usize, rounds: usize) -> usize {
    match count {
        0..=1_000 => rounds * 8,
        1_001..=10_000 => rounds * 3,
        _ => rounds,
    }
}

struct Bench<'b> {
    tree: &'b GeneratedTree,
    count: usize,
    rounds: usize,
    dir: &'b Path,
}

impl Bench<'_> {
    fn discovery(&self) -> Discovery {
        Discovery::new([SkillRoot::new(self.tree.root(), Source::Inline)])
    }

    fn discover(&self, report: &mut Report) -> io::Result<()> {
        self.check(&self.discovery().run())?;
        let (ours, bare, held) = self.starts(None, Floor::Read4k)?;
        let row = TimeRow::new("discover", self.count, ours).against(bare, Limit::times(MAX_DISCOVER)).memory(held);
        report.rows.push(row);
        Ok(())
    }

    fn cached(&self, report: &mut Report) -> io::Result<()> {
        let file = self.dir.join(format!("index-{}", self.count));
        let discovery = self.discovery().cache(&file);
        // Files written within the last second are not vouched for: wait until they are.
        for _ in 0..5 {
            if discovery.run().effort().read == 0 {
                break;
            }
            std::thread::sleep(Duration::from_millis(1_100));
        }
        if discovery.run().effort().read > 0 {
            return Err(io::Error::other("the index cache is not used; is the tree being written to?"));
        }
        let (ours, bare, held) = self.starts(Some(&file), Floor::Stat)?;
        let row = TimeRow::new("discover, index cache", self.count, ours)
            .against(bare, Limit::times(MAX_CACHED))
            .memory(held);
        report.rows.push(row);
        Ok(())
    }

    /// Measures discovery alone, as the start of a program has it: in a process of its own, which times itself, in
    /// turns with the floor, which is a program of its own as well: a second round in one process finds memory touched,
    /// code paged in and caches full, and would be compared with a first one. Returns the best of both, and how much
    /// memory the catalog took.
    fn starts(&self, cache: Option<&Path>, floor: Floor) -> io::Result<(Duration, Duration, Option<u64>)> {
        let (mut ours, mut bare, mut held) = (Duration::MAX, Duration::MAX, None);
        for _ in 0..=self.rounds {
            let mut discovery = self.probe()?;
            if let Some(file) = cache {
                discovery.arg("--probe-cache").arg(file);
            }
            let probe = ProbeResult::of(discovery)?;
            ours = ours.min(Duration::from_nanos(probe.nanoseconds));
            held = probe.memory.or(held);
            bare = bare.min(self.floor(floor)?);
        }
        Ok((ours, bare, held))
    }

    fn probe(&self) -> io::Result<Command> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["bench", "--probe"]).arg(self.tree.root());
        Ok(command)
    }

    /// Measures the floor, once, in a process of its own.
    fn floor(&self, floor: Floor) -> io::Result<Duration> {
        let mut command = self.probe()?;
        command.args(["--probe-floor", floor.as_str()]);
        Ok(Duration::from_nanos(ProbeResult::of(command)?.nanoseconds))
    }

    /// Measures the program as people run it, from start to exit.
    fn process(&self, report: &mut Report) -> io::Result<()> {
        let program = std::env::current_exe()?;
        let (mut ours, mut bare) = (Duration::MAX, Duration::MAX);
        for _ in 0..=self.rounds {
            let start = Instant::now();
            let status = Command::new(&program)
                .args(["--isolated", "--no-cache", "list", "--json", "--skills-dir"])
                .arg(self.tree.root())
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status()?;
            ours = ours.min(start.elapsed());
            if !status.success() {
                return Err(io::Error::other(format!("`list --json` ended with {status}")));
            }
            bare = bare.min(self.floor(Floor::Read4k)?);
        }
        let limit = match self.count {
            0..=100 => Limit::times_plus(1.0, MAX_PROCESS),
            101..=10_000 => Limit::times_plus(MAX_DISCOVER, MAX_PROCESS),
            _ => Limit::times(MAX_DISCOVER),
        };
        report.rows.push(TimeRow::new("list --json, whole program", self.count, ours).against(bare, limit));
        Ok(())
    }

    fn load(&self, report: &mut Report) -> io::Result<()> {
        let skills = Skillcue::builder().skills_dir(self.tree.root()).build().map_err(io::Error::other)?;
        let catalog = skills.catalog();
        let Some(skill) = catalog.skills().next() else { return Ok(()) };
        let (name, path) = (skill.name().to_owned(), skill.path());
        let request = LoadRequest { arguments: "report.pdf", ..LoadRequest::default() };
        let mut failed = Ok(());
        let (ours, bare) = Plan::rounds(self.rounds).batch(64).pair(
            || {
                skills.clear_cache(None);
                failed = skills.load(&name, &request).map(drop);
            },
            || floor::read_whole(&path),
        );
        failed.map_err(io::Error::other)?;
        let limit = Limit::times_plus(1.5, MAX_FIRST_LOAD);
        report.rows.push(TimeRow::new("first load", self.count, ours.min).against(bare.min, limit));
        let mut failed = Ok(());
        let (ours, bare) = Plan::rounds(self.rounds)
            .batch(256)
            .pair(|| failed = skills.load(&name, &request).map(drop), || floor::stat_one(&path));
        failed.map_err(io::Error::other)?;
        let limit = Limit::times_plus(1.0, MAX_CACHED_LOAD);
        report.rows.push(TimeRow::new("cached load", self.count, ours.min).against(bare.min, limit));
        Ok(())
    }

    /// Loads 10 of the skills 1,000 times with arguments by Zipf's law, and notes how often the cache serves and what
    /// it holds.
    fn reuse(&self, report: &mut Report) -> io::Result<()> {
        let skills = Skillcue::builder().skills_dir(self.tree.root()).build().map_err(io::Error::other)?;
        let catalog = skills.catalog();
        let names: Vec<&str> = catalog.skills().map(skillcue::Skill::name).take(10).collect();
        let eager: u64 = catalog.skills().map(|skill| skill.stamp().size).sum();
        for step in 0..1_000 {
            let name = names[step % names.len()];
            // The n-th of ten arguments turns up about 1/n as often as the first.
            let argument = zipf(step / names.len());
            let arguments = format!("file-{argument}.pdf");
            let request = LoadRequest { arguments: &arguments, ..LoadRequest::default() };
            skills.load(name, &request).map_err(io::Error::other)?;
        }
        let stats = skills.cache_stats();
        let content = skills.held_bytes() as u64;
        let metadata: u64 = catalog.skills().map(|skill| skill.front_matter().len() as u64 + 128).sum();
        let less = 100 - (metadata + content) * 100 / eager.max(1);
        report.notes.push(format!(
            "{} skills, {} of them used, Zipf arguments, 1,000 loads: {:.1} % hits (promised: over 80 %); \
             held: {} KiB of metadata and {} KiB for loads, all files at once would be {} KiB: {less} % less \
             (promised at 100 skills: 80 %)",
            self.count,
            names.len(),
            stats.hit_rate() * 100.0,
            metadata / 1024,
            content / 1024,
            eager / 1024,
        ));
        Ok(())
    }

    fn check(&self, catalog: &Catalog) -> io::Result<()> {
        if catalog.len() == self.count {
            return Ok(());
        }
        let message =
            format!("{} of {} skills were found in {}", catalog.len(), self.count, self.tree.root().display());
        Err(io::Error::other(message))
    }
}

/// A bare program that does as little as possible for the same answer.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub(super) enum Floor {
    /// Opens every file and reads 4 KiB.
    #[value(name = "read4k")]
    Read4k,
    /// Asks for the stamp of every file.
    Stat,
}

impl Floor {
    fn as_str(self) -> &'static str {
        match self {
            Floor::Read4k => "read4k",
            Floor::Stat => "stat",
        }
    }
}

/// The report of a process that only looks for skills.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ProbeResult {
    pub(super) nanoseconds: u64,
    pub(super) memory: Option<u64>,
}

impl ProbeResult {
    pub(super) fn of(mut command: Command) -> io::Result<ProbeResult> {
        let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output()?;
        serde_json::from_slice(&output.stdout).map_err(io::Error::other)
    }
}

/// Does what a floor does, once. The files are known beforehand.
pub(super) fn probe_floor(tree: &Path, floor: Floor) -> io::Result<ProbeResult> {
    let paths = floor::find(tree)?;
    let start = Instant::now();
    match floor {
        Floor::Read4k => floor::read_4k(&paths, threads())?,
        Floor::Stat => floor::stat(&paths, threads())?,
    };
    let nanoseconds = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
    Ok(ProbeResult { nanoseconds, memory: None })
}

/// Looks for skills once, and says how long it took and how much memory it needed.
pub(super) fn probe(tree: &Path, cache: Option<&Path>) -> ProbeResult {
    let before = memory().map(|memory| memory.resident);
    let mut discovery = Discovery::new([SkillRoot::new(tree, Source::Inline)]);
    if let Some(file) = cache {
        discovery = discovery.cache(file);
    }
    // The threads of a process are made once, whatever it then does with them.
    rayon::broadcast(|_| ());
    let start = Instant::now();
    let catalog = discovery.run();
    let nanoseconds = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
    let held = memory().zip(before).map(|(after, before)| after.resident.saturating_sub(before));
    // A program that has looked for skills uses them and ends; it does not take its catalog apart.
    std::mem::forget(catalog);
    ProbeResult { nanoseconds, memory: held }
}

/// Returns which of ten arguments the `step`-th load of a skill has, by Zipf's law, without chance.
fn zipf(step: usize) -> u32 {
    let total: f64 = (1..=10).map(|n| 1.0 / f64::from(n)).sum();
    // A low-discrepancy walk over 0..1 visits every argument as often as the law says.
    let step = u32::try_from(step).unwrap_or(u32::MAX);
    let mut left = (f64::from(step) * 0.618_033_988_75).fract() * total;
    for n in 1..10_u32 {
        left -= 1.0 / f64::from(n);
        if left < 0.0 {
            return n;
        }
    }
    10
}

fn threads() -> NonZeroUsize {
    NonZeroUsize::new(rayon::current_num_threads()).unwrap_or(NonZeroUsize::MIN)
}
