//! Fits the weights of text relevance on labelled messages: `cargo xtask fit DATA`.
//!
//! Over 500 lines: one program that reads top to bottom, of use to developers only.
//!
//! DATA has a directory for each set, with `skills.jsonl` (`{id, name, description, body?}`), `queries.jsonl` (`{query,
//! relevant: [ids]}`) and `negatives.jsonl` (`{query, not_relevant: [ids]}` or `{query, none: true}`), and may have
//! `wild.jsonl.gz` (`{name, file}`): skills that no message is about, to fit among many. A set without bodies is used for
//! the weights of skills without bodies.
//!
//! Ranks are fitted by a softmax over the candidates of each message, the gate and the names by logistic regression on
//! hits that were ranked by weights which had not seen their repository. All numbers that it prints are of five-fold
//! cross-validation by repository: of messages whose repository was not fitted on. It writes
//! `crates/skillcue-select/src/relevance/weights.rs` and prints what each kind of evidence gives. `--background` counts the
//! terms of `wild.jsonl.gz` instead, for `background.bin`.

#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::expect_used, reason = "a program for developers")]
#![allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts of some thousand messages"
)]

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use serde_json::Value;
use skillcue_select::fusion::{self, Evidence, GATE_PARTS, MAX_NAMED, NAMING_PARTS, RANK_PARTS};
use skillcue_select::{Meaning, MessageFacts, SearchContext, SkillDocument, TextIndex};

const FOLDS: usize = 5;
/// How many skills a repository has that is fitted on by itself.
const MIN_REPOSITORY: usize = 6;
const RANKS: usize = RANK_PARTS.len();
const GATES: usize = GATE_PARTS.len();
/// The first of the gate's values that count only where skills have bodies.
const BODIES_ONLY: usize = 8;
/// How many repositories messages that need no skill count as: their weight beside the others.
const NONE_SOURCES: usize = 10;
/// The certainty from which a body is shown.
const BODY: f64 = 0.68;
/// How much more a message counts that must not select a skill, when the gate is fitted.
const MUST_NOT: f64 = 3.0;
/// How much more a message counts that needs no skill, when the names are fitted.
const NEEDS_NONE: f64 = 3.0;
/// The weight of a message among many skills beside that of the same message among fewer, when ranks are fitted. With 1,
/// messages among many are ranked no better (.827 at 3 instead of .828), and those among fewer worse (.877 instead of .880).
const AMONG_MANY: f64 = 0.05;
/// From how many skills on a catalog is one of many.
const MANY_SKILLS: f32 = 2000.0;
/// The share of skills from which on the background has a term.
const MIN_BACKGROUND: f64 = 0.01;
/// From how many skills on a repository counts in the mean of repositories.
const LARGE_REPOSITORY: f32 = 14.0;
/// From how many messages on one more that is missed changes the recall of a repository by little.
const MANY_MESSAGES: f64 = 30.0;

struct SkillText {
    id: String,
    name: String,
    description: String,
    body: Option<String>,
}

impl SkillText {
    fn document(&self) -> SkillDocument<'_> {
        SkillDocument {
            name: &self.name,
            description: &self.description,
            body: Some(self.body.as_deref().unwrap_or_default()),
            ..SkillDocument::default()
        }
    }

    /// Returns the text that a sentence model reads.
    fn summary(&self) -> String {
        format!("{}. {}", self.name.replace(['-', '_'], " "), self.description)
    }
}

/// The vectors of texts, by a sentence model.
struct Vectors {
    numbers: HashMap<String, usize>,
    values: Vec<f32>,
}

impl Vectors {
    /// Reads the texts, one JSON string a line, and their vectors, 384 numbers of four bytes each.
    fn read(texts: &Path) -> Vectors {
        let all = std::fs::read_to_string(texts).expect("the texts");
        let text = |line: &str| serde_json::from_str(line).expect("a JSON string");
        let bytes = std::fs::read(texts.with_extension("bin")).expect("their vectors");
        let (values, _) = bytes.as_chunks();
        Vectors {
            numbers: all.lines().enumerate().map(|(number, line)| (text(line), number)).collect(),
            values: values.iter().map(|value| f32::from_le_bytes(*value)).collect(),
        }
    }

    fn of(&self, text: &str) -> &[f32] {
        let at = self.numbers.get(text).expect("every text has a vector");
        &self.values[384 * at..384 * (at + 1)]
    }
}

#[derive(Clone)]
struct Labelled {
    query: String,
    relevant: Vec<String>,
    not_relevant: Vec<String>,
    /// Whether it needs no skill at all.
    none: bool,
    /// The repository of the skill that it is about.
    source: String,
}

/// A message among some skills: its candidates, and which of them are right.
struct Case {
    source: usize,
    positive: bool,
    none: bool,
    bodies: bool,
    values: Vec<[f64; RANKS]>,
    evidence: Vec<Evidence>,
    facts: MessageFacts,
    names: Vec<usize>,
    right: Vec<bool>,
    wrong: Vec<bool>,
    scores: Vec<f64>,
    certainty: f64,
    likely: Vec<f64>,
}

fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).expect("one JSON object a line")).collect()
}

fn text(value: &Value, field: &str) -> String {
    value[field].as_str().unwrap_or_default().to_owned()
}

fn ids(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().filter_map(|id| id.as_str().map(str::to_owned)).collect()
}

fn source_of(id: &str) -> String {
    let mut parts = id.split(':');
    match parts.next() {
        Some("st") => format!("st:{}", parts.next().unwrap_or_default()),
        first => first.unwrap_or_default().to_owned(),
    }
}

fn read_set(dir: &Path, skills: &mut Vec<SkillText>, messages: &mut Vec<Labelled>) {
    for skill in lines(&dir.join("skills.jsonl")) {
        skills.push(SkillText {
            id: text(&skill, "id"),
            name: text(&skill, "name"),
            description: text(&skill, "description"),
            body: skill["body"].as_str().map(str::to_owned),
        });
    }
    for file in ["queries.jsonl", "negatives.jsonl"] {
        for line in lines(&dir.join(file)) {
            let (relevant, not_relevant) = (ids(&line["relevant"]), ids(&line["not_relevant"]));
            let source = relevant.first().or(not_relevant.first()).map_or("none".to_owned(), |id| source_of(id));
            let none = line["none"] == true;
            messages.push(Labelled { query: text(&line, "query"), relevant, not_relevant, none, source });
        }
    }
}

fn read_wild(path: &Path) -> Vec<SkillText> {
    let Ok(file) = std::fs::File::open(path) else { return Vec::new() };
    let mut all = String::new();
    flate2::read::GzDecoder::new(file).read_to_string(&mut all).expect("a gzip file");
    let skill = |line: &str| {
        let value: Value = serde_json::from_str(line).expect("one JSON object a line");
        let file = text(&value, "file").replace("\r\n", "\n");
        let file = file.trim_start_matches('\u{feff}');
        let (front, body) = file.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---")).unwrap_or(("", file));
        let mut description = String::new();
        let mut is_in = false;
        for line in front.lines() {
            if let Some(rest) = line.strip_prefix("description:") {
                (is_in, description) = (true, rest.trim().trim_matches(['>', '|', '-', '"', '\'']).to_owned());
            } else if is_in && line.starts_with([' ', '\t']) {
                description.push(' ');
                description.push_str(line.trim());
            } else {
                is_in = false;
            }
        }
        SkillText { id: "wild".into(), name: text(&value, "name"), description, body: Some(body.to_owned()) }
    };
    all.lines().map(skill).collect()
}

/// Finds the candidates of all messages among some skills.
fn cases(
    skills: &[&SkillText],
    messages: &[Labelled],
    bodies: bool,
    vectors: Option<&Vectors>,
    sources: &mut HashMap<String, usize>,
) -> Vec<Case> {
    let documents = skills.iter().map(|skill| skill.document());
    let bare = |document| if bodies { document } else { SkillDocument { body: None, ..document } };
    let index = TextIndex::of_documents(documents.map(bare));
    let mut names = HashMap::new();
    let numbers: Vec<usize> = skills
        .iter()
        .map(|skill| {
            let next = names.len();
            *names.entry(skill.name.to_lowercase()).or_insert(next)
        })
        .collect();
    let source = |message: &Labelled, sources: &mut HashMap<String, usize>| {
        let next = sources.len();
        *sources.entry(message.source.clone()).or_insert(next)
    };
    let of_skills: Vec<&[f32]> =
        vectors.iter().flat_map(|vectors| skills.iter().map(|skill| vectors.of(&skill.summary()))).collect();
    let numbered: Vec<(usize, &Labelled)> = messages.iter().map(|one| (source(one, sources), one)).collect();
    let case = |(source, message): &(usize, &Labelled)| {
        let lower = message.query.to_lowercase();
        let mention = |skill: usize| {
            let name = skills[skill].name.to_lowercase();
            let at = if name.contains(['-', '_']) { lower.find(&name) } else { None };
            let is_part =
                |char: Option<char>| char.is_some_and(|char| char.is_alphanumeric() || matches!(char, '-' | '_'));
            at.map_or(0.0, |at| {
                let (before, behind) = (&lower[..at], &lower[at + name.len()..]);
                if is_part(before.chars().next_back()) || is_part(behind.chars().next()) {
                    return 0.0;
                }
                let beside = before.trim_end().ends_with("skill") || behind.trim_start().starts_with("skill");
                let quoted = before.ends_with(['`', '"', '\'', '$', '/', '@']);
                if beside || quoted { 2.0 } else { 1.0 }
            })
        };
        let cosines: Option<Vec<f32>> = vectors.map(|vectors| {
            let own = vectors.of(&message.query);
            of_skills.iter().map(|skill| skill.iter().zip(own).map(|(a, b)| a * b).sum()).collect()
        });
        let cosine = |skill: usize| cosines.as_ref().map(|cosines| cosines[skill]);
        let mut nearest: Vec<usize> = cosines.iter().flat_map(|cosines| 0..cosines.len()).collect();
        nearest.sort_by(|a, b| cosine(*b).unwrap_or(0.0).total_cmp(&cosine(*a).unwrap_or(0.0)));
        nearest.truncate(30);
        let meaning = Meaning { cosine: &cosine, nearest: &nearest };
        let meaning = vectors.is_some().then_some(&meaning);
        let context = SearchContext { mention: &mention, meaning, ..SearchContext::default() };
        let (found, facts) = index.candidates(&message.query, &context);
        let greatest = found.iter().fold(Evidence::default(), |all, one| all.greatest(one.evidence));
        let has = |list: &[String], skill: usize| list.contains(&skills[skill].id);
        Case {
            source: *source,
            positive: !message.relevant.is_empty(),
            none: message.none,
            bodies,
            values: found.iter().map(|one| fusion::rank_values(&one.evidence, &greatest).map(f64::from)).collect(),
            evidence: found.iter().map(|one| one.evidence).collect(),
            facts,
            names: found.iter().map(|one| numbers[one.skill]).collect(),
            right: found.iter().map(|one| has(&message.relevant, one.skill)).collect(),
            wrong: found.iter().map(|one| has(&message.not_relevant, one.skill)).collect(),
            scores: Vec::new(),
            certainty: 0.0,
            likely: Vec::new(),
        }
    };
    numbered.par_iter().map(case).collect()
}

/// Minimises a function of some numbers, given its value and its gradient: Newton's method with an inverse Hessian that
/// is learned from the steps (BFGS), and steps that are halved until the function falls.
fn minimise<const N: usize>(steps: usize, function: impl Fn(&[f64; N]) -> (f64, [f64; N])) -> [f64; N] {
    let mut at = [0.0; N];
    let (mut value, mut slope) = function(&at);
    let unit = || -> [[f64; N]; N] { std::array::from_fn(|i| std::array::from_fn(|j| f64::from(u8::from(i == j)))) };
    let (mut inverse, mut is_fresh) = (unit(), true);
    for _ in 0..steps {
        let direction: [f64; N] = std::array::from_fn(|i| -dot(&slope, &inverse[i]));
        let falls = dot(&direction, &slope);
        let mut step = 1.0;
        let (next, new_value, new_slope) = loop {
            let next: [f64; N] = std::array::from_fn(|i| at[i] + step * direction[i]);
            let (new_value, new_slope) = function(&next);
            if new_value <= value + 1e-4 * step * falls || step < 1e-8 {
                break (next, new_value, new_slope);
            }
            step /= 2.0;
        };
        if new_value > value || falls >= 0.0 {
            // What was learned about the curvature misleads here: once more along the gradient.
            if is_fresh {
                break;
            }
            (inverse, is_fresh) = (unit(), true);
            continue;
        }
        is_fresh = false;
        let moved: [f64; N] = std::array::from_fn(|i| next[i] - at[i]);
        let changed: [f64; N] = std::array::from_fn(|i| new_slope[i] - slope[i]);
        let curved = dot(&moved, &changed);
        if curved > 1e-14 {
            let image: [f64; N] = std::array::from_fn(|i| dot(&changed, &inverse[i]));
            let scale = (1.0 + dot(&changed, &image) / curved) / curved;
            for i in 0..N {
                for j in 0..N {
                    inverse[i][j] += scale * moved[i] * moved[j] - (image[i] * moved[j] + moved[i] * image[j]) / curved;
                }
            }
        }
        let gain = value - new_value;
        (at, value, slope) = (next, new_value, new_slope);
        if gain < 1e-9 {
            break;
        }
    }
    at
}

/// Returns how much a message of each repository weighs: those with many messages not as much more.
fn weights_of(cases: &[&Case], only_positive: bool) -> HashMap<usize, f64> {
    let mut counts: HashMap<usize, f64> = HashMap::new();
    for case in cases.iter().filter(|case| case.positive || !only_positive) {
        *counts.entry(case.source).or_default() += 1.0;
    }
    counts.into_iter().map(|(source, count)| (source, count.powf(-0.5))).collect()
}

/// Fits the weights of ranks; those of `without` stay 0.
fn fit_ranks(cases: &[&Case], without: &[usize]) -> [f64; RANKS] {
    let weights = weights_of(cases, true);
    let cases: Vec<&&Case> = cases.iter().filter(|case| case.right.contains(&true)).collect();
    let rows: f64 = cases.iter().map(|case| case.values.len() as f64).sum();
    let mut scale = [0.0; RANKS];
    for (at, scale) in scale.iter_mut().enumerate() {
        let all = || cases.iter().flat_map(|case| case.values.iter().map(move |row| row[at]));
        let mean = all().sum::<f64>() / rows;
        *scale = (all().map(|value| (value - mean).powi(2)).sum::<f64>() / rows).sqrt();
        if without.contains(&at) || *scale < 1e-6 {
            *scale = f64::INFINITY;
        }
    }
    let weight_of = |case: &Case| {
        let weight = weights[&case.source];
        if case.facts.skills < MANY_SKILLS { weight } else { AMONG_MANY * weight }
    };
    let total: f64 = cases.iter().map(|case| weight_of(case)).sum();
    let function = |point: &[f64; RANKS]| {
        let own: [f64; RANKS] = std::array::from_fn(|at| point[at] / scale[at]);
        let one = |case: &&&Case| {
            let scores: Vec<f64> = case.values.iter().map(|row| dot(row, &own)).collect();
            let most = scores.iter().copied().fold(f64::MIN, f64::max);
            let shares: Vec<f64> = scores.iter().map(|score| (score - most).exp()).collect();
            let sum: f64 = shares.iter().sum();
            let right: f64 = shares.iter().zip(&case.right).filter(|(_, right)| **right).map(|(share, _)| share).sum();
            let mut slope = [0.0; RANKS];
            let weight = weight_of(case) / total;
            for ((row, share), is_right) in case.values.iter().zip(&shares).zip(&case.right) {
                let part = share / sum - if *is_right { share / right.max(1e-9) } else { 0.0 };
                for at in 0..RANKS {
                    slope[at] += part * row[at] / scale[at] * weight;
                }
            }
            (-weight * (right.max(1e-300) / sum).ln(), slope)
        };
        let add = |mut a: (f64, [f64; RANKS]), b: (f64, [f64; RANKS])| {
            a.1.iter_mut().zip(b.1).for_each(|(a, b)| *a += b);
            (a.0 + b.0, a.1)
        };
        let (mut value, mut slope) = cases.par_iter().map(one).reduce(|| (0.0, [0.0; RANKS]), add);
        value += 0.001 * dot(point, point);
        slope.iter_mut().zip(point).for_each(|(slope, point)| *slope += 0.002 * point);
        (value, slope)
    };
    let point = minimise(200, function);
    std::array::from_fn(|at| point[at] / scale[at])
}

fn dot<const N: usize>(row: &[f64; N], weights: &[f64]) -> f64 {
    row.iter().zip(weights).map(|(value, weight)| value * weight).sum()
}

/// Fits a logistic function: rows of values, whether it is so, and a weight. The constant is last.
fn fit_logistic(rows: &[([f64; GATES], bool, f64)]) -> [f64; GATES + 1] {
    let total: f64 = rows.iter().map(|row| row.2).sum();
    let mean: [f64; GATES] =
        std::array::from_fn(|at| rows.iter().map(|row| row.0[at]).sum::<f64>() / rows.len() as f64);
    let spread: [f64; GATES] = std::array::from_fn(|at| {
        let all = rows.iter().map(|row| (row.0[at] - mean[at]).powi(2)).sum::<f64>();
        (all / rows.len() as f64).sqrt().max(1e-6)
    });
    let function = |point: &[f64; GATES + 1]| {
        let (mut value, mut slope) = (0.0, [0.0; GATES + 1]);
        for (row, is_so, weight) in rows {
            let own: [f64; GATES] = std::array::from_fn(|at| (row[at] - mean[at]) / spread[at]);
            let sum = dot(&own, point) + point[GATES];
            let part = (logistic(sum) - f64::from(u8::from(*is_so))) * weight / total;
            let towards = if *is_so { -sum } else { sum };
            value += (towards.max(0.0) + (-towards.abs()).exp().ln_1p()) * weight / total;
            for at in 0..GATES {
                slope[at] += part * own[at];
            }
            slope[GATES] += part;
        }
        for at in 0..GATES {
            value += 0.001 * point[at] * point[at];
            slope[at] += 0.002 * point[at];
        }
        (value, slope)
    };
    let point = minimise(100, function);
    let mut fitted: [f64; GATES + 1] =
        std::array::from_fn(|at| if at < GATES { point[at] / spread[at] } else { point[GATES] });
    fitted[GATES] -= (0..GATES).map(|at| fitted[at] * mean[at]).sum::<f64>();
    fitted
}

fn logistic(sum: f64) -> f64 {
    1.0 / (1.0 + (-sum).exp())
}

/// Calibrates: scales the sum so that probabilities are right where each message counts once.
fn calibrate(fitted: [f64; GATES + 1], rows: &[([f64; GATES], bool, f64)]) -> [f64; GATES + 1] {
    let sums: Vec<([f64; GATES], bool, f64)> = rows
        .iter()
        .map(|(row, is_so, weight)| {
            let mut sum = [0.0; GATES];
            sum[0] = dot(row, &fitted) + fitted[GATES];
            (sum, *is_so, *weight)
        })
        .collect();
    let scaled = fit_logistic(&sums);
    let mut out = fitted.map(|one| one * scaled[0]);
    out[GATES] += scaled[GATES];
    out
}

impl Case {
    fn score(&mut self, weights: &[f64; RANKS]) {
        self.scores = self.values.iter().map(|row| dot(row, weights)).collect();
    }

    fn order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.scores.len()).collect();
        order.sort_by(|a, b| self.scores[*b].total_cmp(&self.scores[*a]));
        order
    }

    /// Returns the share of a candidate in the softmax of all that are no copies of it.
    fn share(&self, at: usize) -> f32 {
        let others = (0..self.scores.len()).filter(|other| *other == at || self.names[*other] != self.names[at]);
        (1.0 / others.map(|other| (self.scores[other] - self.scores[at]).exp()).sum::<f64>()) as f32
    }

    fn gate(&self, at: usize) -> [f64; GATES] {
        let mut values = fusion::gate_values(&self.evidence[at], self.facts, self.share(at)).map(f64::from);
        if !self.bodies {
            // Among a few descriptions, a rival halves the rarity of a word: BM25 in raw units would take it for a doubt.
            values[BODIES_ONLY..].fill(0.0);
        }
        values
    }

    fn naming(&self, order: &[usize], rank: usize) -> [f64; GATES] {
        let at = order[rank];
        let behind = (self.scores[at] - self.scores[order[0]]) as f32;
        fusion::naming_values(&self.evidence[at], self.facts, self.share(at), behind, rank == 0).map(f64::from)
    }

    /// Returns whether the first is right; `None` if the labels do not say.
    fn is_right(&self, first: usize) -> Option<bool> {
        if self.positive { Some(self.right[first]) } else { (self.none || self.wrong[first]).then_some(false) }
    }
}

type LogisticRows = Vec<([f64; GATES], bool, f64)>;

/// Returns the rows of the gate, and of names, for scored messages.
fn logistic_rows(cases: &[&Case], must_not: f64) -> (LogisticRows, LogisticRows) {
    let weights = weights_of(cases, false);
    let (mut gate, mut naming) = (Vec::new(), Vec::new());
    for case in cases {
        let order = case.order();
        let Some(&first) = order.first() else { continue };
        let weight = weights[&case.source];
        if let Some(right) = case.is_right(first) {
            gate.push((case.gate(first), right, weight * if case.positive { 1.0 } else { must_not }));
        }
        for (rank, at) in order.iter().enumerate().take(MAX_NAMED) {
            if case.positive || case.none || case.wrong[*at] {
                let factor = if case.none { NEEDS_NONE } else { 1.0 };
                naming.push((case.naming(&order, rank), case.right[*at], weight * factor));
            }
        }
    }
    (gate, naming)
}

/// The fitted weights.
struct Fit {
    ranks: [f64; RANKS],
    gate: [f64; GATES + 1],
    naming: [f64; GATES + 1],
}

fn fold(source: usize) -> usize {
    // Repositories are numbered in the order of the data: mixed, so that a fold has some of each set.
    (source.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) % FOLDS
}

fn fit(pools: &mut [(&str, Vec<Case>)], without: &[usize], full: bool) -> Fit {
    for number in 0..FOLDS {
        let train: Vec<&Case> =
            pools.iter().flat_map(|pool| &pool.1).filter(|case| fold(case.source) != number).collect();
        let ranks = fit_ranks(&train, without);
        for case in pools.iter_mut().flat_map(|pool| &mut pool.1).filter(|case| fold(case.source) == number) {
            case.score(&ranks);
        }
    }
    let mut fitted = Fit { ranks: [0.0; RANKS], gate: [0.0; GATES + 1], naming: [0.0; GATES + 1] };
    if !full {
        return fitted;
    }
    let both = |cases: &[&Case]| {
        let (gate, _) = logistic_rows(cases, MUST_NOT);
        let (even, naming) = logistic_rows(cases, 1.0);
        // Calibrated where each message counts once: so probabilities are read.
        let even: LogisticRows = even.into_iter().map(|(row, is_so, _)| (row, is_so, 1.0)).collect();
        (calibrate(fit_logistic(&gate), &even), calibrate(fit_logistic(&naming), &naming))
    };
    for number in 0..FOLDS {
        let train: Vec<&Case> =
            pools.iter().flat_map(|pool| &pool.1).filter(|case| fold(case.source) != number).collect();
        let (gate, naming) = both(&train);
        for case in pools.iter_mut().flat_map(|pool| &mut pool.1).filter(|case| fold(case.source) == number) {
            let order = case.order();
            case.certainty = order.first().map_or(0.0, |first| logistic(dot(&case.gate(*first), &gate) + gate[GATES]));
            let likely = |rank: usize| logistic(dot(&case.naming(&order, rank), &naming) + naming[GATES]);
            case.likely = (0..order.len().min(MAX_NAMED)).map(likely).collect();
        }
    }
    let all: Vec<&Case> = pools.iter().flat_map(|pool| &pool.1).collect();
    (fitted.gate, fitted.naming) = both(&all);
    fitted.ranks = fit_ranks(&all, without);
    fitted
}

fn recall(cases: &[Case], k: usize) -> f64 {
    let positives: Vec<&Case> = cases.iter().filter(|case| case.positive).collect();
    let found = positives.iter().filter(|case| case.order().iter().take(k).any(|at| case.right[*at])).count();
    found as f64 / positives.len().max(1) as f64
}

/// Returns the recall at 3 as a mean of the large repositories with some messages or more, and the number of these.
fn mean_recall(cases: &[Case], min_messages: f64) -> (f64, usize) {
    let mut found: BTreeMap<usize, (f64, f64)> = BTreeMap::new();
    for case in cases.iter().filter(|case| case.positive && case.facts.skills >= LARGE_REPOSITORY) {
        let right = case.order().iter().take(3).any(|at| case.right[*at]);
        let counts = found.entry(case.source).or_default();
        *counts = (counts.0 + f64::from(u8::from(right)), counts.1 + 1.0);
    }
    let shares: Vec<f64> =
        found.values().filter(|(_, all)| *all >= min_messages).map(|(right, all)| right / all).collect();
    (shares.iter().sum::<f64>() / shares.len().max(1) as f64, shares.len())
}

/// Prints the share of right bodies and names for some thresholds.
fn print_curve(cases: &[Case]) {
    let positives: Vec<&Case> = cases.iter().filter(|case| case.positive).collect();
    let negatives: Vec<&Case> = cases.iter().filter(|case| !case.positive && !case.none).collect();
    let none: Vec<&Case> = cases.iter().filter(|case| case.none).collect();
    let first = |case: &Case| case.order().first().copied();
    println!(
        "  body threshold: right bodies shown | wrong bodies shown | must-not bodies shown | bodies where none is needed"
    );
    for threshold in [0.5, 0.55, 0.6, 0.65, BODY, 0.7, 0.75, 0.8, 0.85] {
        let share = |list: &[&Case], is: &dyn Fn(&Case) -> bool| {
            list.iter().filter(|case| case.certainty >= threshold && is(case)).count() as f64 / list.len().max(1) as f64
        };
        println!(
            "  {threshold:.3}: {:.3} | {:.3} | {:.3} | {:.3}",
            share(&positives, &|case| first(case).is_some_and(|at| case.right[at])),
            share(&positives, &|case| first(case).is_some_and(|at| !case.right[at])),
            share(&negatives, &|case| first(case).is_some_and(|at| case.wrong[at])),
            share(&none, &|_| true),
        );
    }
    for most in [0.03, 0.06] {
        let mut wrong: Vec<f64> = negatives
            .iter()
            .filter(|case| first(case).is_some_and(|at| case.wrong[at]))
            .map(|case| case.certainty)
            .collect();
        wrong.sort_by(|a, b| b.total_cmp(a));
        let threshold = wrong.get((most * negatives.len() as f64) as usize).copied().unwrap_or(0.0);
        let right = |case: &&&Case| case.certainty > threshold && first(case).is_some_and(|at| case.right[at]);
        let shown = positives.iter().filter(right).count() as f64 / positives.len().max(1) as f64;
        println!("  at {most} of must-not bodies: {shown:.3} of the right ones, threshold {threshold:.2}");
    }
    println!(
        "  name threshold (body {BODY}): right one shown or named | if names stand beside bodies, too, and their number there | names on a message that needs none, share with none"
    );
    for threshold in [0.02, 0.03, 0.035, 0.04, 0.05, 0.07, 0.1] {
        let likely = |case: &Case| -> Vec<usize> {
            let order = case.order().into_iter().zip(&case.likely);
            order.filter(|(_, likely)| **likely >= threshold).map(|(at, _)| at).collect()
        };
        let shown = |case: &Case| -> Option<usize> { first(case).filter(|_| case.certainty >= BODY) };
        let named = |case: &Case| shown(case).map_or_else(|| likely(case), |at| vec![at]);
        let all = |case: &Case| shown(case).into_iter().chain(likely(case)).collect::<Vec<_>>();
        let share = |of: &dyn Fn(&Case) -> Vec<usize>| {
            let right = positives.iter().filter(|case| of(case).iter().any(|at| case.right[*at])).count();
            right as f64 / positives.len() as f64
        };
        let beside: Vec<usize> =
            positives.iter().filter(|case| shown(case).is_some()).map(|case| likely(case).len().max(1) - 1).collect();
        let count: usize = none.iter().map(|case| named(case).len()).sum();
        let silent = none.iter().filter(|case| named(case).is_empty()).count();
        println!(
            "  {threshold:.3}: {:.3} | {:.3}, {:.2} | {:.2}, {:.2}",
            share(&named),
            share(&all),
            beside.iter().sum::<usize>() as f64 / beside.len().max(1) as f64,
            count as f64 / none.len().max(1) as f64,
            silent as f64 / none.len().max(1) as f64
        );
    }
    let mut buckets = [(0.0, 0.0, 0.0); 10];
    for case in cases {
        if let Some(right) = first(case).and_then(|at| case.is_right(at)) {
            let bucket = &mut buckets[((case.certainty * 10.0) as usize).min(9)];
            *bucket = (bucket.0 + 1.0, bucket.1 + case.certainty, bucket.2 + f64::from(u8::from(right)));
        }
    }
    let all: f64 = buckets.iter().map(|bucket| bucket.0).sum();
    let error: f64 = buckets.iter().map(|bucket| (bucket.1 - bucket.2).abs()).sum::<f64>() / all.max(1.0);
    println!("  expected calibration error {error:.3}");
}

fn table(name: &str, about: &str, fit: &Fit) -> String {
    let list = |numbers: &[f64]| numbers.iter().map(|one| format!("{one:.3}")).collect::<Vec<_>>().join(", ");
    let mut out = String::new();
    writeln!(out, "\n/// The weights where {about}.\npub const {name}: FusionWeights = FusionWeights {{").unwrap();
    writeln!(out, "    rank: [{}],", list(&fit.ranks)).unwrap();
    writeln!(out, "    gate: [{}],", list(&fit.gate)).unwrap();
    writeln!(out, "    naming: [{}],\n}};", list(&fit.naming)).unwrap();
    out
}

fn print_weights(fit: &Fit) {
    for (names, weights) in
        [(&RANK_PARTS[..], &fit.ranks[..]), (&GATE_PARTS[..], &fit.gate[..]), (&NAMING_PARTS[..], &fit.naming[..])]
    {
        let parts = names.iter().chain(&["constant"]).zip(weights).map(|(name, weight)| format!("{name} {weight:.2}"));
        println!("  {}", parts.collect::<Vec<_>>().join(", "));
    }
}

/// Fits the weights of skills with bodies, and of those without.
fn fit_both(sets: &mut Sets, vectors: Option<&Vectors>, ablate: bool) -> (Fit, Fit) {
    let mut sources = HashMap::new();
    let own: Vec<&SkillText> = sets.skills.iter().collect();
    let many: Vec<&SkillText> = sets.skills.iter().chain(&sets.wild).collect();
    let mut pools = vec![("pooled", cases(&own, &sets.messages, true, vectors, &mut sources))];
    if !sets.wild.is_empty() {
        pools.push(("among many", cases(&many, &sets.messages, true, vectors, &mut sources)));
    }
    pools.push(("one repository", sets.by_repository(true, vectors, &mut sources)));
    let (count, more) = (own.len(), sets.wild.len());
    println!("{count} skills, {more} more, {} messages, {} repositories", sets.messages.len(), sources.len());
    let unused: &[usize] = if vectors.is_some() { &[] } else { &[13] };
    let with = fit(&mut pools, unused, true);
    print_weights(&with);
    print_pools(&pools);
    let mut bare_pools = vec![("descriptions only", cases(&own, &sets.messages, false, vectors, &mut sources))];
    bare_pools.push(("one repository, descriptions only", sets.by_repository(false, vectors, &mut sources)));
    if !sets.bare.is_empty() {
        let bare: Vec<&SkillText> = sets.bare.iter().collect();
        bare_pools.push(("tools", cases(&bare, &sets.bare_messages, false, vectors, &mut sources)));
    }
    // Without bodies: no evidence of bodies, and the meaning by vectors of words, where no model gives another.
    let without = fit(&mut bare_pools, &[1, 5, 9, 10], true);
    print_weights(&without);
    print_pools(&bare_pools);
    for (at, part) in RANK_PARTS.iter().enumerate().filter(|_| ablate) {
        fit(&mut pools, &[&[at], unused].concat(), false);
        let recalls =
            pools.iter().map(|(name, cases)| format!("{name} {:.3} / {:.3}", recall(cases, 1), recall(cases, 3)));
        println!("without {part}: {}", recalls.collect::<Vec<_>>().join(", "));
    }
    (with, without)
}

fn print_pools(pools: &[(&str, Vec<Case>)]) {
    for (name, cases) in pools {
        println!(
            "{name}: recall at 1 / 3 / 5: {:.3} / {:.3} / {:.3}",
            recall(cases, 1),
            recall(cases, 3),
            recall(cases, 5)
        );
        if *name == "one repository" {
            for min_messages in [1.0, MANY_MESSAGES] {
                let (mean, count) = mean_recall(cases, min_messages);
                println!(
                    "  mean of the {count} repositories with {LARGE_REPOSITORY} skills and {min_messages} messages or more, \
                     at 3: {mean:.3}"
                );
            }
        }
        print_curve(cases);
    }
}

/// The labelled sets of a directory.
#[derive(Default)]
struct Sets {
    skills: Vec<SkillText>,
    messages: Vec<Labelled>,
    /// Those without bodies.
    bare: Vec<SkillText>,
    bare_messages: Vec<Labelled>,
    wild: Vec<SkillText>,
}

impl Sets {
    fn read(data: &Path) -> Sets {
        let mut sets = Sets { wild: read_wild(&data.join("wild.jsonl.gz")), ..Sets::default() };
        let entries = std::fs::read_dir(data).expect("a directory");
        let mut dirs: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
        dirs.sort();
        for dir in dirs.iter().filter(|dir| dir.join("queries.jsonl").is_file()) {
            let has_bodies = lines(&dir.join("skills.jsonl")).iter().any(|skill| skill["body"].is_string());
            if has_bodies {
                read_set(dir, &mut sets.skills, &mut sets.messages);
            } else {
                read_set(dir, &mut sets.bare, &mut sets.bare_messages);
            }
        }
        // Tools of one collection: each is a repository of its own.
        for (number, message) in sets.bare_messages.iter_mut().enumerate() {
            let none = || format!("none {}", number % NONE_SOURCES);
            message.source = format!("bare:{}", message.relevant.first().map_or_else(none, String::clone));
        }
        // What needs no tool needs no skill, either.
        sets.messages.extend(sets.bare_messages.iter().filter(|message| message.none).cloned());
        sets
    }

    /// Returns the cases of each repository with several skills by itself, as if it were the whole catalog.
    fn by_repository(
        &self,
        bodies: bool,
        vectors: Option<&Vectors>,
        sources: &mut HashMap<String, usize>,
    ) -> Vec<Case> {
        let mut all: BTreeMap<String, Vec<&SkillText>> = BTreeMap::new();
        for skill in &self.skills {
            all.entry(source_of(&skill.id)).or_default().push(skill);
        }
        let none: Vec<&Labelled> = self.messages.iter().filter(|message| message.none).collect();
        let mut found = Vec::new();
        for (number, (source, skills)) in all.iter().filter(|(_, skills)| skills.len() >= MIN_REPOSITORY).enumerate() {
            let mut messages: Vec<Labelled> =
                self.messages.iter().filter(|message| message.source == *source).cloned().collect();
            messages.extend(none.iter().skip(7 * number % none.len().max(1)).take(7).map(|message| (*message).clone()));
            found.extend(cases(skills, &messages, bodies, vectors, sources));
        }
        found
    }

    /// Returns all texts that a sentence model reads, each once.
    fn texts(&self) -> BTreeSet<String> {
        let skills = self.skills.iter().chain(&self.bare).chain(&self.wild).map(SkillText::summary);
        skills.chain(self.messages.iter().chain(&self.bare_messages).map(|message| message.query.clone())).collect()
    }
}

/// Writes how often skills at large have each term that one in a hundred or more has.
fn write_background(wild: &[SkillText]) {
    let index = TextIndex::of_documents(wild.iter().map(SkillText::document));
    let common = index.term_shares().filter(|(_, share)| *share >= MIN_BACKGROUND);
    let record = |(key, share): (u32, f64)| (key, (255.0 * share.sqrt()).round() as u8);
    let records: BTreeMap<u32, u8> = common.map(record).collect();
    let bytes: Vec<u8> = records.iter().flat_map(|(key, byte)| key.to_be_bytes().into_iter().chain([*byte])).collect();
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/relevance/background.bin");
    std::fs::write(&target, bytes).expect("the source directory can be written");
    println!("{} terms of {} skills in {}", records.len(), wild.len(), target.display());
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (data, vectors, ablate) = match words.as_slice() {
        [data, "--background"] => return write_background(&Sets::read(Path::new(data)).wild),
        [data, "--texts", texts] => {
            let line = |text: String| format!("{}\n", Value::from(text));
            let all: String = Sets::read(Path::new(data)).texts().into_iter().map(line).collect();
            return std::fs::write(texts, all).expect("the texts can be written");
        }
        [data] => (data, None, false),
        [data, "--ablate"] => (data, None, true),
        [data, "--vectors", texts] => (data, Some(Vectors::read(Path::new(texts))), false),
        _ => return println!("usage: fit DATA [--ablate | --background | --texts FILE.jsonl | --vectors FILE.jsonl]"),
    };
    let mut sets = Sets::read(Path::new(data));
    let (with, without) = fit_both(&mut sets, None, ablate);
    let mut out =
        "//! The fitted weights. Made by `cargo xtask fit`.\n\nuse crate::relevance::fusion::FusionWeights;\n"
            .to_owned();
    out.push_str(&table("WITH_BODIES", "skills have bodies", &with));
    out.push_str(&table("WITHOUT_BODIES", "they have none, or where none are indexed yet", &without));
    let Some(vectors) = vectors else {
        return println!("{out}\nNot written: give the vectors of a sentence model, too (--vectors)");
    };
    let (with, without) = fit_both(&mut sets, Some(&vectors), false);
    out.push_str(&table("WITH_BODIES_AND_MODEL", "skills have bodies, with a sentence model", &with));
    let about = "they have none, or where none are indexed yet, with a sentence model";
    out.push_str(&table("WITHOUT_BODIES_WITH_MODEL", about, &without));
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/relevance/weights.rs");
    std::fs::write(&target, out).expect("the source directory can be written");
    println!("wrote {}", target.display());
}
