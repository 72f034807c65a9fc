use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::Request;
use crate::tools::{Call, ToolContext};
use skillcue_select::Grade;

type JudgeChoice = Result<Vec<usize>, JudgeError>;

/// A wrong answer, and the reason that is given.
type WrongAnswer = (fn(&JudgeQuestion<'_>) -> JudgeChoice, &'static str);

/// A judge whose answer is a function of the question, and which counts.
struct Scripted {
    answer: Box<dyn Fn(&JudgeQuestion<'_>) -> JudgeChoice + Send + Sync>,
    asked: AtomicUsize,
    seen: Mutex<Vec<(String, Vec<JudgeCandidate>)>>,
}

impl fmt::Debug for Scripted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Scripted")
    }
}

impl Judge for Scripted {
    fn name(&self) -> &'static str {
        "scripted"
    }

    fn choose(&self, question: &JudgeQuestion<'_>) -> JudgeChoice {
        self.asked.fetch_add(1, Ordering::SeqCst);
        skillcue_base::lock(&self.seen).push((question.message.to_owned(), question.candidates.to_vec()));
        (self.answer)(question)
    }
}

fn scripted(answer: impl Fn(&JudgeQuestion<'_>) -> JudgeChoice + Send + Sync + 'static) -> Arc<Scripted> {
    Arc::new(Scripted { answer: Box::new(answer), asked: AtomicUsize::new(0), seen: Mutex::default() })
}

/// Returns the position of the candidate of that name.
fn named(name: &'static str) -> impl Fn(&JudgeQuestion<'_>) -> JudgeChoice + Send + Sync {
    move |question| Ok(question.candidates.iter().position(|candidate| candidate.name == name).into_iter().collect())
}

const MESSAGE: &str = "plan a route in the Alps with good weather";

fn write(dir: &Path, name: &str, fields: &str) {
    std::fs::create_dir_all(dir.join(name)).unwrap();
    std::fs::write(dir.join(name).join("SKILL.md"), format!("---\nname: {name}\n{fields}\n---\nHow.\n")).unwrap();
}

fn tree() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "trails", "description: Plans hikes in the Alps, with routes and the weather.");
    write(dir.path(), "peaks", "description: Plans climbs in the Alps, with routes, ropes and the weather.");
    write(dir.path(), "huts", "description: Books huts in the Alps.");
    write(dir.path(), "invoices", "description: Writes invoices.");
    dir
}

fn judged(dir: &Path, judge: &Arc<Scripted>) -> Skillcue {
    Skillcue::builder().skills_dir(dir).judge(Arc::clone(judge) as Arc<dyn Judge>).build().unwrap()
}

fn names(selection: &Selection) -> Vec<&str> {
    selection.hits.iter().map(|hit| hit.name.as_str()).collect()
}

fn grade(hit: &Hit) -> Grade {
    hit.grade(Mode::Hybrid, &Thresholds::default())
}

#[test]
fn the_chosen_come_first_and_the_others_are_not_named() {
    let dir = tree();
    let plain = Skillcue::builder().skills_dir(dir.path()).build().unwrap().select(&Request::new(MESSAGE));
    let last = plain.hits.last().unwrap().name.clone();
    assert!(plain.hits.len() >= 3 && plain.judgement.is_none());
    let judge = scripted(|question| Ok(vec![question.candidates.len() - 1, 0]));
    let found = judged(dir.path(), &judge).select(&Request::new(MESSAGE));
    assert_eq!(names(&found)[..2], [last.as_str(), plain.hits[0].name.as_str()]);
    assert_eq!(found.hits.len(), plain.hits.len());
    assert_eq!(grade(&found.hits[0]), Grade::Body);
    assert!(grade(&found.hits[1]) >= Grade::Name);
    assert!(found.hits[2..].iter().all(|hit| grade(hit) == Grade::Nothing), "{found:?}");
    assert!(found.hits.is_sorted_by(|a, b| a.certainty >= b.certainty), "{found:?}");
    let reason = |hit: &Hit| (hit.reasons[0].kind, hit.reasons[0].trigger.clone(), hit.reasons[0].text.clone());
    let count = found.hits.len();
    let text = |text: String| (ReasonKind::Judge, "scripted".to_owned(), text);
    assert_eq!(reason(&found.hits[0]), text(format!("chosen, 1 of {count}")));
    assert_eq!(reason(&found.hits[2]), text(format!("not chosen among {count}")));
    let outcome = JudgeOutcome::Chose { count: 2 };
    assert_eq!(found.judgement, Some(Judgement { judge: "scripted".to_owned(), candidates: count, outcome }));
}

#[test]
fn none_may_be_chosen() {
    let dir = tree();
    let skills = judged(dir.path(), &scripted(|_| Ok(Vec::new())));
    let found = skills.select(&Request::new(MESSAGE));
    assert!(found.hits.iter().all(|hit| grade(hit) == Grade::Nothing), "{found:?}");
    assert_eq!(skills.disclose(MESSAGE).turn, "[4 skills available]");
}

#[test]
fn a_failure_leaves_the_order_and_says_so() {
    let dir = tree();
    let plain = Skillcue::builder().skills_dir(dir.path()).build().unwrap().select(&Request::new(MESSAGE));
    let failures: [WrongAnswer; 3] = [
        (|_| Err(JudgeError::new("it is asleep")), "it is asleep"),
        (|_| Ok(vec![99]), "it chose a skill that it was not given"),
        (|_| Ok(vec![1, 1]), "it chose a skill twice"),
    ];
    for (answer, why) in failures {
        let judge = scripted(answer);
        let skills = judged(dir.path(), &judge);
        let found = skills.select(&Request::new(MESSAGE));
        assert_eq!(found.hits, plain.hits);
        let outcome = found.judgement.map(|judgement| judgement.outcome);
        assert_eq!(outcome, Some(JudgeOutcome::Failed { why: why.to_owned() }));
        skills.disclose(MESSAGE);
        assert_eq!(judge.asked.load(Ordering::SeqCst), 1, "a message waits for a failing judge once");
    }
}

#[test]
fn nothing_is_asked_where_the_answer_is_clear() {
    let dir = tree();
    write(dir.path(), "zebra-quagga", "description: Tells a zebra from a quagga.");
    let judge = scripted(|_| Ok(Vec::new()));
    let skills = judged(dir.path(), &judge);
    let why = |message: &str| match skills.select(&Request::new(message)).judgement.map(|judgement| judgement.outcome) {
        Some(JudgeOutcome::NotAsked { why }) => why,
        other => panic!("{message}: {other:?}"),
    };
    assert_eq!(why("$huts book me one in the Alps, with the weather"), "the message calls a skill by its name");
    assert_eq!(why("what can you do?"), "the message asks about the skills themselves");
    assert_eq!(why("is it a zebra or a quagga"), "there is no second skill to choose from");
    assert_eq!(skills.select(&Request::new("$huts in the Alps")).hits[0].name, "huts");
    let keyword = skills.select(&Request::new(MESSAGE).mode(Mode::Keyword));
    assert_eq!((keyword.judgement, judge.asked.load(Ordering::SeqCst)), (None, 0));
    let hit = |certainty: f32, likelihood: f32| Hit { certainty, likelihood, ..Hit::default() };
    let of = |hits: Vec<Hit>| not_asked(&Selection { hits, ..Selection::default() }, 2);
    assert_eq!(of(vec![hit(0.96, 0.96), hit(0.1, 0.1)]), Some("the first skill is certain without it"));
    assert_eq!(of(vec![hit(0.03, 0.03), hit(0.01, 0.01)]), Some("no skill is likely enough to be named"));
    assert_eq!(of(vec![hit(0.5, 0.5), hit(0.1, 0.1)]), None);
}

#[test]
fn an_answer_is_kept_for_its_generation() {
    let dir = tree();
    let judge = scripted(named("huts"));
    let skills = judged(dir.path(), &judge);
    let asked = || judge.asked.load(Ordering::SeqCst);
    for _ in 0..3 {
        assert_eq!(skills.select(&Request::new(MESSAGE)).hits[0].name, "huts");
        assert!(skills.disclose(MESSAGE).turn.contains("huts"));
        assert_eq!(skills.search(&Request::new(MESSAGE).limit(1)).hits.len(), 1);
    }
    assert_eq!((asked(), skills.judge_stats().misses), (1, 1));
    skills.select(&Request::new("plan another route in the Alps with good weather"));
    assert_eq!(asked(), 2);
    write(dir.path(), "huts", "description: Books huts and beds in the Alps.");
    skills.refresh();
    assert_eq!(skills.select(&Request::new(MESSAGE)).hits[0].name, "huts");
    assert_eq!(asked(), 3, "the catalog is another one");
    assert_eq!(skills.judge_name(), Some("scripted"));
}

#[test]
fn a_judge_is_given_ten_skills_for_models_at_most_and_texts_are_cut() {
    let dir = tree();
    for number in 0..20 {
        write(
            dir.path(),
            &format!("alps-{number}"),
            &format!("description: Route {number} in the Alps, with weather. {}", "x".repeat(900)),
        );
    }
    write(dir.path(), "secret", "description: Plans a secret route in the Alps.\ndisable-model-invocation: true");
    let judge = scripted(|question| Ok(vec![question.candidates.len() - 1]));
    let skills = judged(dir.path(), &judge);
    let found = skills.select(&Request::new(MESSAGE));
    let long = format!("{MESSAGE} {}", "ä".repeat(10_000));
    skills.select(&Request::new(&long));
    let seen = skillcue_base::lock(&judge.seen);
    let (_, candidates) = &seen[0];
    assert_eq!(candidates.len(), MAX_CANDIDATES);
    assert!(candidates.iter().all(|candidate| candidate.name != "secret"), "{candidates:?}");
    assert!(candidates.iter().all(|candidate| candidate.description.chars().count() <= MAX_DESCRIPTION));
    assert_eq!(seen[1].0.chars().count(), MAX_MESSAGE);
    assert!(found.hits.len() > MAX_CANDIDATES);
    assert!(
        found.hits[1..].iter().all(|hit| grade(hit) == Grade::Nothing),
        "those beyond the ten are not named either"
    );
}

#[test]
fn search_skills_has_the_judges_order() {
    let dir = tree();
    let skills = judged(dir.path(), &scripted(named("huts")));
    let arguments = serde_json::json!({"query": MESSAGE, "limit": 2});
    let call = Call::new("search_skills", arguments.as_object().unwrap().clone());
    let output = skills.call_tool(&call, &ToolContext::default()).unwrap();
    let structured = output.structured.unwrap();
    assert_eq!(structured["hits"][0]["name"], "huts");
    assert_eq!(structured["judgement"]["outcome"], "chose");
    assert!(output.text.contains("judge \"chosen, 1 of "), "{}", output.text);
}

#[test]
fn an_explanation_has_the_judges_numbers() {
    let dir = tree();
    let skills = judged(dir.path(), &scripted(named("huts")));
    let (chosen, other) =
        (skills.explain(&Request::new(MESSAGE), "huts"), skills.explain(&Request::new(MESSAGE), "peaks"));
    assert_eq!((chosen.before, chosen.hit.map(|hit| grade(&hit))), (Some(0), Some(Grade::Body)));
    assert_eq!(other.hit.map(|hit| grade(&hit)), Some(Grade::Nothing));
}
