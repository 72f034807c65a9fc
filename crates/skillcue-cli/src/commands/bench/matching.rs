//! Matching and disclosure: the index over triggers, a message against it, and the loop that it replaces.

use std::io;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use super::measure::ProbeResult;
use skillcue::catalog::Discovery;
use skillcue::select::Selector;
use skillcue::{Catalog, Mode, Request, SkillRoot, Skillcue, Source, Tier};
use skillcue_bench::triggers::{self, SkillTriggers};
use skillcue_bench::{
    BodyLength, GeneratedTree, Limit, Naive, Plan, Report, RunTiming, TimeRow, TokenRow, TreeOptions, TriggerMix,
    generate, memory,
};
use skillcue_format::pattern;

/// The promises: how long the index takes to make and to read back, how large it is, and what a message costs.
const MAX_INDEX: Duration = Duration::from_secs(3);
const MAX_INDEX_BYTES: u64 = 150_000_000;
const MAX_KEPT_INDEX: Duration = Duration::from_millis(500);
const MAX_MESSAGE: Duration = Duration::from_millis(1);
const MAX_LONG_MESSAGE: Duration = Duration::from_millis(5);
const MAX_FEW_SKILLS: Duration = Duration::from_micros(20);
const MAX_BREADCRUMB: usize = 10;
/// How many times faster than the loop, and with how many skills. A sample of them is tried, and the time scaled: all
/// of them, compiled, are gigabytes.
const MIN_SPEEDUP: f64 = 1_000.0;
const NAIVE_SKILLS: usize = 10_000;
const NAIVE_SAMPLE: usize = 1_000;
/// The sample of the loop that compiles its patterns, which takes so long that fewer are enough.
const UNCOMPILED_SAMPLE: usize = 50;
/// More skills than this are promised nothing.
const MAX_PROMISED: usize = 100_000;

/// The method behind the numbers, for the report.
pub(super) const METHOD: &str = "index triggers: in a process of its own, without discovery, memory by what the process \
    grew; disclose and select: every message timed by itself on one thread, median and 99th of 100, after `prepare` and a \
    round of warming up, so bodies (one line each, but for \"whole bodies\") come from the loader's cache and patterns are \
    compiled; ten triggers a skill";

/// Messages of so many words, and how many of them.
const MESSAGES: [(usize, usize); 3] = [(20, 400), (200, 200), (2_000, 30)];
/// Messages are not made from the seed that skills are made from.
const SEED: u64 = 2;

/// Measures on a tree of `count` skills with ten triggers each, kept below `dir`.
pub(super) fn measure(
    count: usize,
    dir: &Path,
    rounds: usize,
    say: &dyn Fn(&str),
    report: &mut Report,
) -> io::Result<()> {
    say(&format!("making a tree of {count} skills with ten triggers each"));
    let tree = tree(dir, count, BodyLength::Short)?;
    let bench = Matching { tree: &tree, count, rounds, dir };
    say(&format!("{count} skills: the index over triggers"));
    bench.index(report)?;
    say(&format!("{count} skills: messages"));
    let skills = by_keywords(tree.root())?;
    skills.prepare();
    let times = MESSAGES.map(|(words, number)| bench.messages(&skills, words, number, report));
    bench.always_run(report)?;
    if count == NAIVE_SKILLS {
        say(&format!("{count} skills: a loop over regular expressions"));
        bench.naive(times, report);
    }
    if count <= 100 {
        say(&format!("{count} skills: messages, with bodies as they are in the wild"));
        let tree = self::tree(dir, count, BodyLength::Wild)?;
        let skills = by_keywords(tree.root())?;
        skills.prepare();
        let (words, number) = MESSAGES[0];
        let whole = bench.disclose(&skills, words, number);
        let row = TimeRow::new(format!("disclose, {words} words, whole bodies"), count, whole.median);
        report.rows.push(row.p99(whole.p99));
    }
    Ok(())
}

/// Returns a message of twenty words.
pub(super) fn message() -> String {
    triggers::message(SEED, MESSAGES[0].0, 0)
}

pub(super) fn tree(dir: &Path, count: usize, bodies: BodyLength) -> io::Result<GeneratedTree> {
    let options = TreeOptions { count, bodies, triggers: TriggerMix::Ten, ..TreeOptions::default() };
    let size = if bodies == BodyLength::Wild { "-whole" } else { "" };
    generate(&dir.join(format!("triggers{size}-{count}")), &options)
}

/// Measures the tokens of a message that needs no skill, on a tree as the wild has it.
pub(super) fn tokens(tree: &GeneratedTree, report: &mut Report) -> io::Result<()> {
    let skills = Skillcue::builder().skills_dir(tree.root()).match_cache(0).build().map_err(io::Error::other)?;
    let shown = skills.disclose("What is 2+2?");
    let what = if shown.tier == Tier::Breadcrumb { "breadcrumb" } else { "no breadcrumb" };
    report.tokens.push(TokenRow {
        what: format!("{what}, \"What is 2+2?\""),
        skills: tree.options().count,
        tokens: (shown.tokens.stable + shown.tokens.turn).0,
        eager: shown.tokens.eager.0,
        limit: MAX_BREADCRUMB,
    });
    Ok(())
}

struct Matching<'b> {
    tree: &'b GeneratedTree,
    count: usize,
    rounds: usize,
    dir: &'b Path,
}

/// Returns the skills of a directory, matched by keywords, every message anew.
fn by_keywords(root: &Path) -> io::Result<Skillcue> {
    let builder = Skillcue::builder().skills_dir(root).mode(Mode::Keyword).match_cache(0);
    builder.build().map_err(io::Error::other)
}

impl Matching<'_> {
    /// Measures how long the index takes to make, and to read back: as the start of a program has it.
    fn index(&self, report: &mut Report) -> io::Result<()> {
        let catalog = self.discovery().run();
        self.check(&catalog)?;
        let selector = Selector::of(&catalog);
        let file = self.dir.join(format!("triggers-kept-{}", self.count));
        std::fs::write(&file, selector.to_bytes())?;
        drop((selector, catalog));
        for (what, kept, limit) in
            [("index triggers", None, MAX_INDEX), ("index triggers, kept", Some(&*file), MAX_KEPT_INDEX)]
        {
            let (time, held) = self.starts(kept)?;
            let row = TimeRow::new(what, self.count, time).memory(held);
            let promised = self.count <= MAX_PROMISED;
            report.rows.push(if promised { row.at_most(limit).memory_at_most(MAX_INDEX_BYTES) } else { row });
        }
        Ok(())
    }

    fn starts(&self, kept: Option<&Path>) -> io::Result<(Duration, Option<u64>)> {
        let (mut time, mut held) = (Duration::MAX, None);
        for _ in 0..=self.rounds {
            let mut command = Command::new(std::env::current_exe()?);
            command.args(["bench", "--probe"]).arg(self.tree.root()).arg("--probe-triggers");
            // A catalog from the index cache would read its front matter only now, and that is not the index's.
            if let Some(file) = kept {
                command.arg("--probe-cache").arg(self.dir.join(format!("triggers-index-{}", self.count)));
                command.arg("--probe-kept").arg(file);
            }
            let probe = ProbeResult::of(command)?;
            time = time.min(Duration::from_nanos(probe.nanoseconds));
            held = probe.memory.or(held);
        }
        Ok((time, held))
    }

    /// Measures one message after another: all of it, and matching alone. Returns the former.
    fn messages(&self, skills: &Skillcue, words: usize, number: usize, report: &mut Report) -> RunTiming {
        let limit = match (self.count, words) {
            (MAX_PROMISED.., _) if self.count > MAX_PROMISED => None,
            (..=100, ..=20) => Some(MAX_FEW_SKILLS),
            (_, ..=200) => Some(MAX_MESSAGE),
            _ => Some(MAX_LONG_MESSAGE),
        };
        let length = if words < 1_000 { words.to_string() } else { format!("{},{:03}", words / 1_000, words % 1_000) };
        let row = |what: &str, timing: RunTiming| {
            let row = TimeRow::new(format!("{what}, {length} words"), self.count, timing.median).p99(timing.p99);
            match limit {
                Some(limit) => row.at_most(limit),
                None => row,
            }
        };
        let disclose = self.disclose(skills, words, number);
        report.rows.push(row("disclose", disclose));
        let messages = triggers::messages(SEED, words, number);
        let select = self.plan(words).each(&messages, |message| skills.select(&Request::new(message)));
        report.rows.push(row("select", select));
        disclose
    }

    fn disclose(&self, skills: &Skillcue, words: usize, number: usize) -> RunTiming {
        let messages = triggers::messages(SEED, words, number);
        self.plan(words).each(&messages, |message| skills.disclose(message))
    }

    fn plan(&self, words: usize) -> Plan {
        // Enough that the 99th of 100 is more than a guess.
        Plan::rounds(if words < 1_000 { 3 } else { 10 } * self.rounds.max(2))
    }

    /// Measures the patterns that have to be run on every message.
    fn always_run(&self, report: &mut Report) -> io::Result<()> {
        let catalog = self.discovery().run();
        let always = Selector::of(&catalog).always_run();
        let distinct = self.count.min(triggers::PATTERNS);
        let numbers = (0..triggers::PATTERNS).filter(|number| !triggers::has_literal(*number)).take(always);
        let patterns: Result<Vec<_>, _> = numbers.map(|number| pattern::compile(&triggers::pattern(number))).collect();
        let patterns = patterns.map_err(io::Error::other)?;
        let cost = MESSAGES.map(|(words, number)| {
            let messages = triggers::messages(SEED, words, number);
            let run = |message: &String| patterns.iter().filter(|pattern| pattern.find(message).is_some()).count();
            let micros = self.plan(words).each(&messages, run).median.as_secs_f64() * 1e6;
            format!("{micros:.1} µs of {words} words")
        });
        report.notes.push(format!(
            "{} skills: {always} of {distinct} patterns need no literal and run on every message; alone they take {}",
            self.count,
            cost.join(", ")
        ));
        Ok(())
    }

    /// Measures the loop over regular expressions that matching replaces, beside matching.
    fn naive(&self, times: [RunTiming; 3], report: &mut Report) {
        let options = self.tree.options();
        let triggers = |index| (options.name(index), triggers::of(options.seed, index));
        let skills: Vec<(String, SkillTriggers)> = (0..NAIVE_SAMPLE.min(self.count)).map(triggers).collect();
        let scale = |time: Duration, sample: usize| time.mul_f64(as_f64(self.count) / as_f64(sample));
        let naive = Naive::of(&skills);
        let few = &skills[..UNCOMPILED_SAMPLE.min(skills.len())];
        let mut compiled = Vec::new();
        for ((words, number), ours) in MESSAGES.into_iter().zip(times) {
            let messages = triggers::messages(SEED, words, number.min(30));
            let loops = Plan::rounds(2).each(&messages, |message| naive.matching(message));
            let ratio = scale(loops.median, skills.len()).as_secs_f64() / ours.median.as_secs_f64();
            compiled.push(format!("{ratio:.0}× at {words} words"));
            let written = Plan::rounds(1).each(&messages[..3], |message| Naive::matching_uncompiled(few, message));
            let what = format!("disclose, {words} words, or a loop");
            let floor = scale(written.median, few.len());
            report.rows.push(TimeRow::new(what, self.count, ours.median).against(floor, Limit::Faster(MIN_SPEEDUP)));
        }
        report.notes.push(format!(
            "the loop is the one of the first design: name, keywords, verbs and pattern of every skill, each compiled \
             when it is tried, up to the first that matches ({} skills were tried and the time scaled). With everything \
             compiled beforehand, at 100 KB a skill, it is slower than disclosing by {}",
            few.len(),
            compiled.join(", "),
        ));
    }

    fn discovery(&self) -> Discovery {
        Discovery::new([SkillRoot::new(self.tree.root(), Source::Inline)])
    }

    fn check(&self, catalog: &Catalog) -> io::Result<()> {
        if catalog.len() == self.count {
            return Ok(());
        }
        Err(io::Error::other(format!("{} of {} skills were found", catalog.len(), self.count)))
    }
}

fn as_f64(count: usize) -> f64 {
    u32::try_from(count).map_or(f64::MAX, f64::from)
}

/// Makes the index over the triggers once, or reads it, and says how long that took and how much memory it needed.
pub(super) fn probe(tree: &Path, cache: Option<&Path>, kept: Option<&Path>) -> io::Result<ProbeResult> {
    let mut discovery = Discovery::new([SkillRoot::new(tree, Source::Inline)]);
    if let Some(file) = cache {
        discovery = discovery.cache(file);
    }
    let catalog = discovery.run();
    let before = memory().map(|memory| memory.resident);
    let start = Instant::now();
    let selector = match kept {
        None => Selector::of(&catalog),
        Some(file) => {
            let selector = Selector::from_bytes(&std::fs::read(file)?);
            let fits = selector.filter(|selector| selector.fits(&catalog));
            fits.ok_or_else(|| io::Error::other("the kept index does not fit"))?
        }
    };
    selector.census(&catalog);
    let nanoseconds = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
    let held = memory().zip(before).map(|(after, before)| after.resident.saturating_sub(before));
    // A program goes on with both; it does not take them apart.
    std::mem::forget((selector, catalog));
    Ok(ProbeResult { nanoseconds, memory: held })
}
