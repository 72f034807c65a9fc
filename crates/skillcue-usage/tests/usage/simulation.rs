//! A simulated month: 200 skills with known fates, conversations over thirty days, and the truth about them, which is
//! counted as they are made and not by the code under test.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, SystemTime};

use skillcue::usage::UsageKind::{self, FileRead, Loaded, Missed, Run, Shown};
use skillcue_usage::{Accuracy, ConfusedPair, LedgerEvent, UsageFindings, Week};

use crate::at;

pub(crate) const SKILLS: usize = 200;
const PROJECTS: usize = 12;
const DAYS: u64 = 30;
/// The time between two messages of one project: longer than that in which programs are taken together.
const STEP: u64 = 40 * 60;

/// The month, and the truth about it.
pub(crate) struct SimulatedMonth {
    pub(crate) events: Vec<LedgerEvent>,
    pub(crate) skills: Vec<String>,
    pub(crate) findings: UsageFindings,
    pub(crate) weeks: BTreeMap<String, Accuracy>,
    pub(crate) last: SystemTime,
}

/// Numbers that look random and are the same in every run.
struct Random(u64);

impl Random {
    fn next(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % below as u64).unwrap()
    }
}

fn skill(number: usize) -> String {
    format!("skill-{number:03}")
}

/// The fates of skills, by their numbers.
const DEAD: std::ops::Range<usize> = 0..20;
const STUCK: std::ops::Range<usize> = 20..35;
const SILENT: std::ops::Range<usize> = 35..45;
const MISSED: std::ops::Range<usize> = 45..57;
/// The first of each two is shown where the second is needed.
const CONFUSED: std::ops::Range<usize> = 57..73;
const HEALTHY: std::ops::Range<usize> = 73..SKILLS;

struct Simulation {
    random: Random,
    events: Vec<LedgerEvent>,
    weeks: BTreeMap<String, Accuracy>,
    pairs: BTreeMap<(usize, usize), usize>,
}

/// One message in one conversation.
struct SimulatedTurn {
    at: SystemTime,
    project: String,
    session: String,
    turn: u64,
    /// The program that shows, and the one that loads, with its name for the conversation.
    shows: &'static str,
    loads: &'static str,
    loading_session: String,
    /// Skills that the conversation has seen: a use would belong to one of those, too.
    seen: BTreeSet<usize>,
}

impl Simulation {
    fn event(&mut self, turn: &SimulatedTurn, after: u64, kind: UsageKind, number: usize, tier: Option<u8>) {
        let is_shown = kind == Shown;
        let event = LedgerEvent {
            at: turn.at + Duration::from_secs(after),
            project: turn.project.clone(),
            session: if is_shown { turn.session.clone() } else { turn.loading_session.clone() },
            turn: if is_shown || turn.shows == turn.loads { turn.turn } else { 0 },
            client: if is_shown { turn.shows } else { turn.loads }.to_owned(),
            mode: "hybrid".to_owned(),
            generation: "0123456789abcdef".to_owned(),
            tier,
            tokens: tier.map(|tier| if tier == 3 { 900 } else { 25 }),
            confidence: tier.map(|_| 0.5),
            ..LedgerEvent::new(kind, skill(number))
        };
        self.events.push(event);
    }

    fn count(&mut self, turn: &SimulatedTurn, add: impl FnOnce(&mut Accuracy)) {
        add(self.weeks.entry(Week::of(turn.at).to_string()).or_default());
    }

    /// Returns a healthy skill that the conversation has not seen.
    fn healthy(&mut self, turn: &mut SimulatedTurn) -> usize {
        loop {
            let number = HEALTHY.start + self.random.next(HEALTHY.len());
            if turn.seen.insert(number) {
                return number;
            }
        }
    }

    fn one(&mut self, range: std::ops::Range<usize>, turn: &mut SimulatedTurn) -> Option<usize> {
        let number = range.start + self.random.next(range.len());
        turn.seen.insert(number).then_some(number)
    }

    /// Makes what happens for one message, and counts the truth about it.
    fn play(&mut self, turn: &mut SimulatedTurn) {
        match self.random.next(20) {
            // The body of a skill that is used at other times is shown, and not used.
            0 => {
                let number = self.healthy(turn);
                self.event(turn, 0, Shown, number, Some(3));
                self.count(turn, |accuracy| accuracy.wrong += 1);
            }
            // A body is shown, and a file or a script of it is used.
            1..=4 => {
                let number = self.healthy(turn);
                self.event(turn, 0, Shown, number, Some(3));
                let kind = if self.random.next(2) == 0 { FileRead } else { Run };
                self.event(turn, 20, kind, number, None);
                self.count(turn, |accuracy| accuracy.right += 1);
            }
            // Three are named, and the first is loaded.
            5..=8 => {
                let numbers = [self.healthy(turn), self.healthy(turn), self.healthy(turn)];
                for number in numbers {
                    self.event(turn, 0, Shown, number, Some(2));
                }
                self.event(turn, 30, Loaded, numbers[0], None);
                self.event(turn, 60, FileRead, numbers[0], None);
                self.count(turn, |accuracy| {
                    (accuracy.right, accuracy.offered) = (accuracy.right + 1, accuracy.offered + 2);
                });
            }
            9..=10 => {
                let number = self.healthy(turn);
                self.event(turn, 0, Shown, number, Some(2));
                self.count(turn, |accuracy| accuracy.offered += 1);
            }
            11..=12 => {
                if let Some(number) = self.one(STUCK, turn) {
                    self.event(turn, 0, Shown, number, Some(2));
                    self.count(turn, |accuracy| accuracy.offered += 1);
                }
            }
            13 => {
                if let Some(number) = self.one(SILENT, turn) {
                    self.event(turn, 0, Shown, number, Some(3));
                    self.count(turn, |accuracy| accuracy.unclear += 1);
                }
            }
            // Nothing is shown; the model searches, and loads what it finds.
            14..=15 => {
                if let Some(number) = self.one(MISSED, turn) {
                    self.event(turn, 40, Missed, number, None);
                    self.event(turn, 40, Loaded, number, None);
                    // A message at the end of a week may be answered in the next.
                    let later = Week::of(turn.at + Duration::from_secs(40)).to_string();
                    self.weeks.entry(later).or_default().missed += 1;
                }
            }
            16..=18 => {
                let first = CONFUSED.start + 2 * self.random.next(CONFUSED.len() / 2);
                let second = first + 1;
                if turn.seen.contains(&first) || turn.seen.contains(&second) {
                    return;
                }
                turn.seen.extend([first, second]);
                self.event(turn, 0, Shown, first, Some(2));
                let both = self.random.next(2) == 0;
                if both {
                    self.event(turn, 0, Shown, second, Some(2));
                }
                // Its name was in the client's own list.
                self.event(turn, 25, Loaded, second, None);
                *self.pairs.entry((first, second)).or_default() += 1;
                self.count(turn, |accuracy| {
                    accuracy.offered += 1;
                    accuracy.right += usize::from(both);
                });
            }
            // Nothing fits, and nothing is shown.
            _ => {}
        }
    }
}

/// Makes the month.
pub(crate) fn month(seed: u64) -> SimulatedMonth {
    let (events, weeks, pairs) = (Vec::new(), BTreeMap::new(), BTreeMap::new());
    let mut simulation = Simulation { random: Random(seed), events, weeks, pairs };
    for project in 0..PROJECTS {
        let mut time = u64::try_from(project).unwrap() * 97;
        let mut talk = 0;
        while time < DAYS * 86_400 {
            talk += 1;
            let (shows, loads) =
                [("agent", "agent"), ("hook:claude", "mcp"), ("library", "library")][simulation.random.next(3)];
            let session = format!("s{project}-{talk}");
            let loading_session = if shows == loads { session.clone() } else { format!("mcp-{project}-{talk}") };
            let project = format!("/work/project-{project}");
            let mut turn = SimulatedTurn {
                at: at(0),
                project,
                session,
                turn: 0,
                shows,
                loads,
                loading_session,
                seen: BTreeSet::new(),
            };
            for number in 1..=3 + simulation.random.next(4) as u64 {
                (turn.at, turn.turn) = (at(time), number);
                simulation.play(&mut turn);
                time += STEP + simulation.random.next(1_200) as u64;
            }
        }
    }
    let Simulation { mut events, weeks, pairs, .. } = simulation;
    events.sort_by_key(|event| event.at);
    let names = |range: std::ops::Range<usize>| range.map(skill).collect::<Vec<_>>();
    let mut confused: Vec<ConfusedPair> = pairs
        .into_iter()
        .map(|((shown, used), times)| ConfusedPair { shown: skill(shown), used: skill(used), times })
        .collect();
    confused.sort_by(|a, b| b.times.cmp(&a.times).then_with(|| a.cmp(b)));
    let findings = UsageFindings {
        dead: names(DEAD),
        untried: Vec::new(),
        stuck: names(STUCK),
        silent: names(SILENT),
        missed: names(MISSED),
        confused,
    };
    let last = events.last().map_or(at(0), |event| event.at);
    SimulatedMonth { events, skills: (0..SKILLS).map(skill).collect(), findings, weeks, last }
}
