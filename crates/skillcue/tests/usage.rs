//! Events of use: which ones a conversation leads to, and which it does not.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use skillcue::disclose::UseCounts;
use skillcue::select::{SkillFeedback, Thresholds, TurnProgress};
use skillcue::tools::{Call, ToolContext};
use skillcue::usage::{UsageEvent, UsageKind, UsageSink};
use skillcue::{DiscloseConfig, Policy, Request, Session, Skillcue};

#[derive(Debug, Default)]
struct Collected {
    events: Mutex<Vec<UsageEvent>>,
    wants_text: bool,
}

impl UsageSink for Collected {
    fn record(&self, event: UsageEvent) {
        self.events.lock().unwrap().push(event);
    }

    fn wants_text(&self) -> bool {
        self.wants_text
    }
}

impl Collected {
    /// Returns the events so far, and forgets them.
    fn take(&self) -> Vec<(UsageKind, String, u64)> {
        let events = std::mem::take(&mut *self.events.lock().unwrap());
        events.into_iter().map(|event| (event.kind.unwrap(), event.skill, event.turn)).collect()
    }
}

fn write(dir: &Path) {
    for (name, body) in [("pdf", "Use pdftotext."), ("csv", "Use awk.")] {
        std::fs::create_dir(dir.join(name)).unwrap();
        let text = format!("---\nname: {name}\ndescription: Reads {name} files.\ntriggers: [{name}]\n---\n{body}\n");
        std::fs::write(dir.join(name).join("SKILL.md"), text).unwrap();
        std::fs::write(dir.join(name).join("more.md"), "# More\n").unwrap();
    }
}

fn skills(dir: &Path, policy: Policy) -> (Skillcue, Arc<Collected>) {
    let events = Arc::new(Collected::default());
    let config = DiscloseConfig { policy, ..DiscloseConfig::default() };
    let skills = Skillcue::builder().skills_dir(dir).disclosure(config).usage(events.clone()).build().unwrap();
    (skills, events)
}

fn call(skills: &Skillcue, session: &str, tool: &str, arguments: &Value) {
    let context = ToolContext { session, ..ToolContext::default() };
    skills.call_tool(&Call::new(tool, arguments.as_object().unwrap().clone()), &context).unwrap();
}

fn of(kind: UsageKind, skill: &str, turn: u64) -> (UsageKind, String, u64) {
    (kind, skill.to_owned(), turn)
}

#[test]
fn a_body_is_shown_once_a_conversation() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path());
    let (skills, events) = skills(dir.path(), Policy::Inject);
    let mut session = Session::default();
    for message in ["open a.pdf", "what is 2+2?", "open b.pdf", "open c.csv"] {
        skills.disclose(Request::new(message).session(&mut session).conversation("c1"));
    }
    assert_eq!(events.take(), [of(UsageKind::Shown, "pdf", 1), of(UsageKind::Shown, "csv", 4)]);
    skills.disclose(Request::new("open a.pdf").session(&mut Session::default()).conversation("c2"));
    assert_eq!(events.take(), [of(UsageKind::Shown, "pdf", 1)]);
}

#[test]
fn a_skill_is_missed_if_it_is_loaded_after_a_search_and_was_not_shown() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path());
    let (skills, events) = skills(dir.path(), Policy::Inject);
    let load = json!({"skill_id": "pdf"});
    // Searched for, in another conversation than the one that loads.
    call(&skills, "c1", "search_skills", &json!({"query": "pdf"}));
    call(&skills, "c2", "load_skill", &load);
    assert_eq!(events.take(), [of(UsageKind::Loaded, "pdf", 0)]);
    call(&skills, "c1", "load_skill", &load);
    assert_eq!(events.take(), [of(UsageKind::Missed, "pdf", 0), of(UsageKind::Loaded, "pdf", 0)]);
    // It has it now: a second search misses nothing.
    call(&skills, "c1", "search_skills", &json!({"query": "pdf"}));
    call(&skills, "c1", "load_skill", &load);
    assert_eq!(events.take(), [of(UsageKind::Loaded, "pdf", 0)]);
    // Shown, and searched for all the same.
    skills.disclose(Request::new("open a.pdf").conversation("c3"));
    call(&skills, "c3", "search_skills", &json!({"query": "pdf"}));
    call(&skills, "c3", "load_skill", &load);
    assert_eq!(events.take(), [of(UsageKind::Shown, "pdf", 1), of(UsageKind::Loaded, "pdf", 1)]);
    // A search for an earlier message says nothing about this one.
    call(&skills, "c4", "search_skills", &json!({"query": "csv"}));
    skills.disclose(Request::new("what is 2+2?").conversation("c4"));
    call(&skills, "c4", "load_skill", &json!({"skill_id": "csv"}));
    assert_eq!(events.take(), [of(UsageKind::Loaded, "csv", 1)]);
}

#[test]
fn calls_that_fail_are_no_events() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path());
    let (skills, events) = skills(dir.path(), Policy::Inject);
    call(&skills, "c", "load_skill", &json!({"skill_id": "nothing"}));
    call(&skills, "c", "read_skill_file", &json!({"skill_id": "pdf", "path": "missing.md"}));
    call(&skills, "c", "search_skills", &json!({}));
    skills.report_use(UsageKind::Loaded, "nothing", "c");
    assert_eq!(events.take(), []);
    call(&skills, "c", "read_skill_file", &json!({"skill_id": "pdf", "path": "more.md"}));
    skills.report_use(UsageKind::Declined, "csv", "c");
    assert_eq!(events.take(), [of(UsageKind::FileRead, "pdf", 0), of(UsageKind::Declined, "csv", 0)]);
}

#[test]
fn loads_reads_and_hints_have_the_tokens_that_they_cost() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path());
    let (skills, events) = skills(dir.path(), Policy::Hint);
    skills.disclose(Request::new("open a.pdf").conversation("c1"));
    call(&skills, "c2", "search_skills", &json!({"query": "pdf"}));
    call(&skills, "c2", "load_skill", &json!({"skill_id": "pdf"}));
    call(&skills, "c2", "read_skill_file", &json!({"skill_id": "pdf", "path": "more.md"}));
    let events = events.events.lock().unwrap();
    let cost = |kind| events.iter().find(|event| event.kind == Some(kind)).unwrap().tokens;
    for kind in [UsageKind::Shown, UsageKind::Loaded, UsageKind::FileRead] {
        assert!(cost(kind).is_some_and(|tokens| tokens > 0), "{kind:?}");
    }
    assert!(cost(UsageKind::Loaded) > cost(UsageKind::Shown));
    assert_eq!(cost(UsageKind::Missed), None, "its load counts already");
}

#[test]
fn a_hint_shows_names_and_a_catalog_nothing() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path());
    let (hinting, events) = skills(dir.path(), Policy::Hint);
    hinting.disclose("open a.pdf");
    let event = events.events.lock().unwrap()[0].clone();
    assert_eq!((event.kind, event.tier, event.text), (Some(UsageKind::Shown), Some(2), None));
    assert_eq!(event.generation, hinting.index_version());
    let (listing, events) = skills(dir.path(), Policy::Catalog);
    listing.disclose("open a.pdf");
    assert_eq!(events.take(), []);
}

#[test]
fn text_is_handed_over_only_if_it_is_wanted() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path());
    let events = Arc::new(Collected { wants_text: true, ..Collected::default() });
    let skills = Skillcue::builder().skills_dir(dir.path()).usage(events.clone()).build().unwrap();
    skills.disclose(Request::new("open a.pdf"));
    call(&skills, "c", "search_skills", &json!({"query": "csv files"}));
    call(&skills, "c", "load_skill", &json!({"skill_id": "csv"}));
    let texts: Vec<Option<String>> = events.events.lock().unwrap().iter().map(|event| event.text.clone()).collect();
    assert_eq!(texts, [Some("open a.pdf".to_owned()), Some("csv files".to_owned()), None]);
}

#[test]
fn the_memory_of_conversations_is_bounded() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path());
    let (skills, events) = skills(dir.path(), Policy::Inject);
    call(&skills, "first", "search_skills", &json!({"query": "pdf"}));
    for number in 0..300 {
        call(&skills, &format!("c{number}"), "search_skills", &json!({"query": "pdf"}));
    }
    // The first conversation is forgotten: its load is a load.
    call(&skills, "first", "load_skill", &json!({"skill_id": "pdf"}));
    call(&skills, "c299", "load_skill", &json!({"skill_id": "pdf"}));
    let expected = [of(UsageKind::Loaded, "pdf", 0), of(UsageKind::Missed, "pdf", 0), of(UsageKind::Loaded, "pdf", 0)];
    assert_eq!(events.take(), expected);
}

#[test]
fn skills_that_are_named_during_a_turn_are_shown_in_it() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path());
    let (skills, events) = skills(dir.path(), Policy::Inject);
    skills.disclose(Request::new("look at what there is").conversation("c1"));
    let since = TurnProgress::default().words("Next I will open the csv files and read the csv files.");
    let request = Request::new("look at what there is").conversation("c1");
    let hits = skills.reselect(&request, &since, &[""; 0]);
    let names: Vec<&str> = hits.iter().map(|hit| hit.name.as_str()).collect();
    assert_eq!((names, events.take()), (vec!["csv"], vec![of(UsageKind::Shown, "csv", 1)]));
    // The model takes it up: it was named, so it was not missed.
    call(&skills, "c1", "search_skills", &json!({"query": "csv"}));
    call(&skills, "c1", "load_skill", &json!({"skill_id": "csv"}));
    assert_eq!(events.take(), [of(UsageKind::Loaded, "csv", 1)]);
}

#[test]
fn a_file_that_is_read_without_a_tool_is_reported_and_the_skill_file_is_a_load() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path());
    let (skills, events) = skills(dir.path(), Policy::Inject);
    skills.report_read("pdf", "more.md", "c1");
    skills.report_read("pdf", "SKILL.md", "c1");
    skills.report_read("nothing", "SKILL.md", "c1");
    assert_eq!(events.take(), [of(UsageKind::FileRead, "pdf", 0), of(UsageKind::Loaded, "pdf", 0)]);
}

#[test]
fn every_message_is_counted_whether_or_not_a_skill_is_shown() {
    #[derive(Debug, Default)]
    struct Answers(Mutex<Vec<usize>>);

    impl UsageSink for Answers {
        fn record(&self, _: UsageEvent) {}

        fn record_answer(&self, events: Vec<UsageEvent>) {
            self.0.lock().unwrap().push(events.len());
        }
    }

    let dir = tempfile::tempdir().unwrap();
    write(dir.path());
    let answers = Arc::new(Answers::default());
    let skills = Skillcue::builder().skills_dir(dir.path()).usage(answers.clone()).build().unwrap();
    for message in ["open a.pdf", "what is 2+2?"] {
        skills.disclose(message);
    }
    assert_eq!(*answers.0.lock().unwrap(), [1, 0]);
}

#[test]
fn the_order_by_use_changes_with_the_generation_alone() {
    let dir = tempfile::tempdir().unwrap();
    let add = |name: &str| {
        let skill = dir.path().join("skills").join(name);
        std::fs::create_dir_all(&skill).unwrap();
        let does = format!("Does {name} things. ").repeat(40);
        std::fs::write(skill.join("SKILL.md"), format!("---\nname: {name}\ndescription: {does}\n---\n")).unwrap();
    };
    for name in ["one", "three", "two"] {
        add(name);
    }
    let asked = Arc::new(AtomicU32::new(0));
    // A program that starts anew, when one skill was used.
    let start = |used: &'static str, cache: Option<&str>| {
        let asked = Arc::clone(&asked);
        let counts = UseCounts::new(move || {
            asked.fetch_add(1, Ordering::SeqCst);
            Some(BTreeMap::from([(used.to_owned(), 5)]))
        });
        let config = DiscloseConfig { policy: Policy::Catalog, catalog_share: 0.0022, ..DiscloseConfig::default() };
        let builder = Skillcue::builder().skills_dir(dir.path().join("skills")).disclosure(config).list_by_use(counts);
        let skills = cache.map_or(builder.clone(), |file| builder.index_cache(dir.path().join(file))).build().unwrap();
        skills.disclose(Request::new("hello")).stable.to_string()
    };
    let longest = |list: &str| {
        let length = |name: &str| list.matches(&format!("Does {name} things.")).count();
        ["one", "three", "two"].into_iter().max_by_key(|name| length(name)).unwrap().to_owned()
    };
    let first = start("two", Some("cache/index"));
    assert_eq!(longest(&first), "two", "{first}");
    assert_eq!(start("three", Some("cache/index")), first, "the generation is the same");
    assert_eq!(asked.load(Ordering::SeqCst), 1);
    add("four");
    assert_eq!(longest(&start("three", Some("cache/index"))), "three");
    assert_eq!(asked.load(Ordering::SeqCst), 2);
    // Back to the first generation: its list is the first one.
    std::fs::remove_dir_all(dir.path().join("skills/four")).unwrap();
    assert_eq!((start("one", Some("cache/index")), asked.load(Ordering::SeqCst)), (first, 2));
    // Nowhere to keep them: the order of names.
    assert_eq!(start("three", None), start("two", None));
    assert_eq!(asked.load(Ordering::SeqCst), 2);
}

#[test]
fn a_gain_lifts_no_skill_over_the_threshold_of_its_request() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path());
    let gain = SkillFeedback { shift: 0.7, why: "searched for".to_owned() };
    let feedback: BTreeMap<String, SkillFeedback> = ["pdf", "csv"].map(|name| (name.to_owned(), gain.clone())).into();
    let [plain, lifted] = [BTreeMap::new(), feedback]
        .map(|feedback| Skillcue::builder().skills_dir(dir.path()).feedback(feedback).build().unwrap());
    let mut lifts = 0;
    for message in ["read a pdf", "files", "which files does it read?", "csv", "awk", "read the files of the team"] {
        for eagerness in [0.0, 0.25, 0.5, 0.75, 1.0] {
            let Thresholds { body, name } = Thresholds::of(eagerness);
            let of = |skills: &Skillcue| skills.select(&Request::new(message).eagerness(eagerness)).hits;
            let with = of(&lifted);
            for hit in of(&plain) {
                let after = with.iter().find(|other| other.name == hit.name).unwrap();
                assert_eq!(after.certainty >= body, hit.certainty >= body, "{message} at {eagerness}: {}", hit.name);
                assert_eq!(after.likelihood >= name, hit.likelihood >= name, "{message} at {eagerness}: {}", hit.name);
                lifts += usize::from(after.certainty > hit.certainty);
            }
        }
    }
    assert!(lifts > 0, "no skill has gained");
}
