//! Tunes the skills of a labelled set that are found worst, and prints a table in Markdown.
//!
//! ```sh
//! cargo run --release -p skillcue --example tune_table -- SKILLS_DIR MESSAGES [NUMBER]
//! ```
//!
//! The skills are chosen by the half of the messages that also chooses the words, so that the other half is not looked at:
//! those with twelve messages or more, four in each half, whose recall at 3 is lowest. The other half is split once more:
//! whether a change is kept for the messages of one part is decided by the other part, so that no message is counted that
//! had a say. Beside that, "as proposed" is what `skillcue tune` itself does: the whole other half decides, and is what is
//! counted. Nothing is written to the skills. Without messages it only looks for pairs of skills that compete.

#![expect(clippy::print_stdout, clippy::cast_precision_loss, reason = "a table of small numbers, for people")]

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::time::Instant;

use skillcue::collisions::{CollisionEvidence, CollisionOptions};
use skillcue::eval::{CaseResult, EvalCase, EvalOptions, Evaluation};
use skillcue::tune::{TuneSource, TuneTrial, candidates, is_unseen, remove_common_keywords, rivals_of};
use skillcue::{Mode, Skillcue};
use skillcue_base::Digest;

/// Messages of a skill: found by the choosing half, all of it, the judging half.
type Counts = (usize, usize, usize);

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let dir = args.first().ok_or("name a directory of skills")?;
    let trials = std::env::temp_dir().join(format!("skillcue-tune-table-{}", std::process::id()));
    std::fs::create_dir(&trials)?;
    let result =
        run(dir, args.get(1).map(String::as_str), args.get(2).and_then(|n| n.parse().ok()).unwrap_or(20), &trials);
    std::fs::remove_dir_all(&trials)?;
    result
}

fn run(dir: &str, messages: Option<&str>, number: usize, trials: &Path) -> Result<(), Box<dyn Error>> {
    let (start, cpu) = (Instant::now(), own_time());
    let skills = Skillcue::builder().skills_dir(trials).skills_dir(dir).build()?;
    skills.index_bodies();
    let spent = |start: Instant, cpu: f64| {
        format!("{:.2} s, {:.2} s of the processor", start.elapsed().as_secs_f64(), own_time() - cpu)
    };
    println!("{} skills, indexed in {}", skills.catalog().len(), spent(start, cpu));
    let (start, cpu) = (Instant::now(), own_time());
    let pairs = skills.collisions(&CollisionOptions::default(), CollisionEvidence::default());
    println!("{} pairs compete, found in {}\n", pairs.len(), spent(start, cpu));
    let Some(messages) = messages else { return Ok(()) };
    let cases = EvalCase::read(&std::fs::read_to_string(messages)?, None)?;
    let options = EvalOptions { mode: Mode::Hybrid, eagerness: None, sweep: false, judge: false };
    let evaluation = Evaluation::of(&skills, &cases, &options);
    let mut counts: BTreeMap<&String, Counts> = BTreeMap::new();
    for (case, result) in cases.iter().zip(&evaluation.cases) {
        for name in &case.relevant {
            let (found, train, unseen) = counts.entry(name).or_default();
            if is_unseen(&case.query) {
                *unseen += 1;
            } else {
                *train += 1;
                *found += usize::from(result.rank.is_some_and(|rank| rank <= 3));
            }
        }
    }
    let share = |(found, train, _): &Counts| *found as f64 / *train as f64;
    let usable = |(_, train, unseen): &Counts| train + unseen >= 12 && *train >= 4 && *unseen >= 4;
    let mut worst: Vec<(&String, Counts)> = counts.into_iter().filter(|(_, counts)| usable(counts)).collect();
    worst.sort_by(|a, b| share(&a.1).total_cmp(&share(&b.1)).then(a.0.cmp(b.0)));
    println!(
        "| skill | messages | recall at 3 before | as chosen | as proposed | proposed | own | others | as kept | kept | own | others | drafts | seconds |"
    );
    println!("| --- | ---: | ---: | ---: | ---: | --- | ---: | ---: | ---: | --- | ---: | ---: | ---: | ---: |");
    let mut sum = Row::default();
    for (name, _) in worst.into_iter().take(number) {
        let row = Row::of(&skills, trials, name, &cases)?;
        println!("{}", row.line(name));
        sum.add(&row);
    }
    println!("{}", sum.line("all"));
    println!("\nother skills that lose, as proposed, over all {number}: {}", losing(&sum.proposed_by_skill));
    println!("other skills that lose, as kept by the other part: {}", losing(&sum.by_skill));
    Ok(())
}

fn losing(by_skill: &BTreeMap<String, f32>) -> String {
    let lost: Vec<String> = by_skill.iter().filter(|(_, change)| **change < -1e-4).map(lost_line).collect();
    if lost.is_empty() { "none".to_owned() } else { lost.join(", ") }
}

/// Returns the seconds of all processors that this program has had, where the system tells: others do not count.
fn own_time() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // Behind the name of the program, which may have blanks: the times are the 12th and 13th, in hundredths.
    let behind = stat.rsplit(')').next().unwrap_or_default();
    let ticks = behind.split_whitespace().skip(11).take(2);
    ticks.filter_map(|number| number.parse::<f64>().ok()).sum::<f64>() / 100.0
}

fn lost_line((name, change): (&String, &f32)) -> String {
    format!("{name} {change:+.2}")
}

/// Returns the part of the half that judges to which a message belongs.
fn part_of(query: &str) -> usize {
    usize::from(Digest::of(query.trim()).as_bytes()[2] & 1)
}

/// A row of the table.
#[derive(Default)]
struct Row {
    messages: usize,
    before: usize,
    /// Found with the words that were chosen, and with those that the other part kept.
    chosen: usize,
    kept: usize,
    own: f32,
    others: f32,
    /// Found with the words that the whole half keeps, whether there are such, and the changes of skills by them.
    proposed: usize,
    is_proposed: usize,
    proposed_own: f32,
    proposed_by_skill: BTreeMap<String, f32>,
    steps: usize,
    /// The number of parts that keep the change.
    keeping: usize,
    skills: usize,
    drafts: usize,
    seconds: f64,
    /// Changes of other skills, as kept.
    by_skill: BTreeMap<String, f32>,
}

impl Row {
    fn of(skills: &Skillcue, trials: &Path, name: &str, cases: &[EvalCase]) -> Result<Row, Box<dyn Error>> {
        let start = Instant::now();
        let catalog = skills.catalog();
        let skill = catalog.get(name).ok_or("a message names a skill that is not there")?;
        let path = skill.path();
        let manifest = skill.make_manifest();
        let original = std::fs::read(&path)?;
        let (unseen, train): (Vec<EvalCase>, Vec<EvalCase>) =
            cases.iter().cloned().partition(|case| is_unseen(&case.query));
        let keywords: Vec<String> = manifest.triggers().keywords.iter().map(ToString::to_string).collect();
        let body = String::from_utf8_lossy(&original).into_owned();
        let body = body.splitn(3, "---").nth(2).unwrap_or_default();
        let rivals = rivals_of(skills, name);
        let description = manifest.description();
        let source = TuneSource { name, description, keywords: &keywords, body, train: &train, rivals: &rivals };
        let trial = TuneTrial::new(skills, trials, &path, original.clone(), Mode::Hybrid)?;
        let mut proposals = candidates(&source);
        remove_common_keywords(skills, name, &mut proposals);
        let choice = trial.choose(name, description, proposals, &train, &|_| {});
        let judged = trial.judge(description, &choice.draft, &unseen)?;
        let (before, after) = (&judged.before, &judged.after);
        let mut row = Row { skills: 1, steps: choice.steps.len(), drafts: choice.evaluated, ..Row::default() };
        let has_steps = row.steps > 0;
        // As `skillcue tune` does: the whole half decides, and is what is counted.
        let verdict = judged.verdict(name, &unseen, &|_| true);
        row.is_proposed = usize::from(has_steps && verdict.is_kept());
        if row.is_proposed > 0 {
            row.proposed_own = verdict.own;
            let others = verdict.by_skill.into_iter().filter(|(skill, _)| skill != name);
            row.proposed_by_skill = others.collect();
        }
        let of_part = |part: usize| judged.verdict(name, &unseen, &|case| part_of(&case.query) == part);
        let keeps = [0, 1].map(|part| has_steps && of_part(part).is_kept());
        for part in [0, 1] {
            // The other part decides.
            let is_kept = keeps[1 - part];
            row.keeping += usize::from(is_kept);
            let own = |case: &EvalCase| part_of(&case.query) == part && case.relevant.iter().any(|of| of == name);
            for (case, (before, after)) in unseen.iter().zip(before.cases.iter().zip(&after.cases)) {
                let is_found = |result: &CaseResult| usize::from(result.rank.is_some_and(|rank| rank <= 3));
                if own(case) {
                    row.messages += 1;
                    row.before += is_found(before);
                    row.chosen += is_found(after);
                    row.kept += is_found(if is_kept { after } else { before });
                    row.proposed += is_found(if row.is_proposed > 0 { after } else { before });
                }
            }
            if is_kept {
                let mut changes = of_part(part).by_skill;
                row.own += changes.remove(name).unwrap_or(0.0);
                for (skill, change) in changes {
                    row.others += change;
                    *row.by_skill.entry(skill).or_default() += change;
                }
            }
        }
        // The next skill is tried beside the original.
        std::fs::remove_dir_all(
            trials.join(path.parent().and_then(Path::file_name).ok_or("a file without a directory")?),
        )?;
        skills.refresh();
        row.seconds = start.elapsed().as_secs_f64();
        Ok(row)
    }

    fn add(&mut self, row: &Row) {
        self.messages += row.messages;
        self.before += row.before;
        self.chosen += row.chosen;
        self.kept += row.kept;
        self.proposed += row.proposed;
        self.is_proposed += row.is_proposed;
        self.proposed_own += row.proposed_own;
        for (skill, change) in &row.proposed_by_skill {
            *self.proposed_by_skill.entry(skill.clone()).or_default() += change;
        }
        self.own += row.own;
        self.others += row.others;
        self.steps += row.steps;
        self.keeping += row.keeping;
        self.skills += row.skills;
        self.drafts += row.drafts;
        self.seconds += row.seconds;
        for (skill, change) in &row.by_skill {
            *self.by_skill.entry(skill.clone()).or_default() += change;
        }
    }

    fn line(&self, name: &str) -> String {
        let share = |found: usize| found as f64 / self.messages.max(1) as f64;
        let (proposed, kept) = match (self.steps, self.skills) {
            (0, _) => ("nothing found".to_owned(), "–".to_owned()),
            (_, 1) => {
                (if self.is_proposed > 0 { "yes" } else { "no" }.to_owned(), format!("{} of 2 parts", self.keeping))
            }
            (_, skills) => {
                (format!("{} of {skills}", self.is_proposed), format!("{} of {} parts", self.keeping, 2 * skills))
            }
        };
        format!(
            "| {name} | {} | {:.3} | {:.3} | {:.3} | {proposed} | {:+.1} | {:+.1} | {:.3} | {kept} | {:+.1} | {:+.1} | {} | {:.1} |",
            self.messages,
            share(self.before),
            share(self.chosen),
            share(self.proposed),
            self.proposed_own,
            self.proposed_by_skill.values().sum::<f32>() + 0.0,
            share(self.kept),
            self.own,
            self.others,
            self.drafts,
            self.seconds
        )
    }
}
