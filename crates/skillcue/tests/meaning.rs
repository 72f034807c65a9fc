//! Matching by meaning, with a sentence model that needs no download.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use skillcue::config::Config;
use skillcue::select::{SentenceError, SentenceVectors};
use skillcue::tools::{Call, ToolContext};
use skillcue::{ErrorInfo as _, Mode, Request, Skillcue};

#[path = "support/three_skills.rs"]
mod three_skills;

use three_skills::*;

/// The number of dimensions of the vectors.
const DIMENSIONS: usize = 64;

/// Words that mean the same to the model.
const MEANINGS: [(&str, &str); 4] =
    [("yomp", "hikes"), ("crags", "alps"), ("bill", "invoices"), ("dunning", "reminders")];

/// A model that hashes the words of a text into a vector, and knows a few synonyms.
#[derive(Debug, Default)]
struct HashedWords {
    /// How many texts it was given.
    texts: AtomicUsize,
    is_broken: AtomicBool,
    /// Whether it fails on single texts only, as messages are.
    fails_on_messages: AtomicBool,
}

impl SentenceVectors for HashedWords {
    fn id(&self) -> &'static str {
        "hashed-words 1"
    }

    fn vectors(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, SentenceError> {
        let fails = self.fails_on_messages.load(Ordering::Relaxed) && texts.len() == 1;
        if fails || self.is_broken.load(Ordering::Relaxed) {
            return Err(SentenceError::Failed("the sentence model failed: it is a test".to_owned()));
        }
        self.texts.fetch_add(texts.len(), Ordering::Relaxed);
        Ok(texts.iter().map(|text| vector(text)).collect())
    }
}

fn vector(text: &str) -> Vec<f32> {
    let mut vector = vec![0.01; DIMENSIONS];
    let lower = text.to_lowercase();
    for word in lower.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 3) {
        let word = MEANINGS.iter().find(|(other, _)| *other == word).map_or(word, |(_, word)| word);
        let hash = word.bytes().fold(5_381_usize, |hash, byte| hash.wrapping_mul(33) ^ usize::from(byte));
        vector[hash % DIMENSIONS] += 1.0;
    }
    vector
}

fn with_model(dir: &Path, model: &Arc<HashedWords>, cache: Option<&Path>) -> Skillcue {
    let model: Arc<dyn SentenceVectors> = model.clone();
    let builder = Skillcue::builder().skills_dir(dir).sentence_model(model);
    let builder = if let Some(cache) = cache { builder.index_cache(cache) } else { builder };
    builder.build().expect("the skills")
}

fn embed(skills: &Skillcue) -> usize {
    skills.embed_skills(&|_, _| ()).expect("vectors")
}

/// Shares no word with any skill, and no synonym of one.
const YOMP: &str = "organise our yomp, crags near Innsbruck";

#[test]
fn a_skill_that_shares_no_word_is_found_by_meaning_alone() {
    let dir = tree();
    let skills = with_model(dir.path(), &Arc::default(), None);
    assert_eq!(embed(&skills), 3);
    let request = || Request::new(YOMP).mode(Mode::Semantic);
    skills.check_request(&request()).expect("a model");
    let found = skills.select(&request());
    assert_eq!((found.hits[0].name.as_str(), found.model.as_deref()), ("hikes", Some("hashed-words 1")));
    assert!(found.hits[0].reasons.is_empty());
    assert!(found.hits[0].evidence.iter().any(|part| part.kind == "meaning" && part.score > 0.0));
    let why = skills.explain(&request(), "hikes");
    assert_eq!((why.hit.as_ref(), why.before), (Some(&found.hits[0]), Some(0)));
    assert_eq!(skills.search(&request()).hits, found.hits);
    let shown = skills.disclose(request());
    assert!(shown.turn.contains("hikes"), "{}", shown.turn);

    let keyword = skills.select(&Request::new(YOMP).mode(Mode::Keyword));
    assert!(keyword.hits.is_empty() && keyword.model.is_none());
    let plain = three_skills::skills(dir.path());
    assert!(plain.select(&Request::new(YOMP)).hits.is_empty(), "words alone do not find it");
}

#[test]
fn hybrid_uses_the_model_once_vectors_are_made() {
    let dir = tree();
    let model = Arc::default();
    let skills = with_model(dir.path(), &model, None);
    let request = Request::new(YOMP);
    let before = skills.select(&request);
    assert_eq!((before.hits.len(), before.model), (0, None));
    assert_eq!(model.texts.load(Ordering::Relaxed), 0, "the model is not asked before");
    embed(&skills);
    let found = skills.select(&request);
    assert_eq!((found.hits[0].name.as_str(), found.model.as_deref()), ("hikes", Some("hashed-words 1")));
    let misses = skills.match_stats().misses;
    assert_eq!((skills.select(&request), skills.match_stats().misses), (found, misses), "it is cached");
    assert_eq!(embed(&skills), 0);
    skills.select(&request);
    assert_eq!(skills.match_stats().misses, misses, "no new vectors, no new matching");
}

#[test]
fn without_a_model_the_mode_is_an_error_and_the_answer_is_by_words() {
    let dir = tree();
    let skills = skills(dir.path());
    let request = Request::new("plan a hike for Sunday").mode(Mode::Semantic);
    let errors = [
        skills.check_mode(Mode::Semantic).expect_err("no model"),
        skills.check_request(&request).expect_err("no model"),
        skills.embed_skills(&|_, _| ()).expect_err("no model"),
    ];
    for error in errors {
        assert_eq!(error.code(), "no_model");
        assert!(error.to_string().contains("needs a sentence model"), "{error}");
    }
    assert!(skills.check_mode(Mode::Hybrid).is_ok() && skills.check_request(&Request::new("a")).is_ok());
    let words = skills.select(&Request::new("plan a hike for Sunday"));
    assert_eq!(skills.select(&request), words);
}

#[test]
fn only_texts_that_changed_are_embedded_again() {
    let dir = tree();
    let cache = tempfile::tempdir().expect("a directory");
    let file = cache.path().join("index");
    let model = Arc::default();
    assert_eq!(embed(&with_model(dir.path(), &model, Some(&file))), 3);
    let kept: Vec<_> = files(cache.path());
    assert_eq!(kept.len(), 1, "{kept:?}");
    assert_eq!(embed(&with_model(dir.path(), &model, Some(&file))), 0);
    write(dir.path(), "hikes", HIKES, "Another body.").expect("a skill");
    write(dir.path(), "forms", &FORMS.replace("tax forms", "all forms"), "Do it well.").expect("a skill");
    let skills = with_model(dir.path(), &model, Some(&file));
    assert_eq!((embed(&skills), model.texts.load(Ordering::Relaxed)), (1, 4));

    // A refresh takes over what has not changed.
    write(dir.path(), "fungi", "description: Tells mushrooms apart.\n", "Look.").expect("a skill");
    skills.refresh();
    assert_eq!(model.texts.load(Ordering::Relaxed), 5);
    let found = skills.select(&Request::new(YOMP));
    assert_eq!((found.hits[0].name.as_str(), found.model.is_some()), ("hikes", true));
    assert_eq!(embed(&skills), 0);
}

fn files(dir: &Path) -> Vec<std::path::PathBuf> {
    let entries = dir.read_dir().expect("a directory").map(|entry| entry.expect("an entry").path());
    entries.filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("vectors-"))).collect()
}

#[test]
fn a_damaged_file_of_vectors_is_made_anew() {
    let dir = tree();
    let cache = tempfile::tempdir().expect("a directory");
    let file = cache.path().join("index");
    let model = Arc::default();
    embed(&with_model(dir.path(), &model, Some(&file)));
    let kept = files(cache.path()).remove(0);
    let whole = std::fs::read(&kept).expect("the vectors");
    for damaged in [&whole[..whole.len() - 1], &whole[1..], b""] {
        std::fs::write(&kept, damaged).expect("it can be written");
        let skills = with_model(dir.path(), &model, Some(&file));
        assert_eq!(embed(&skills), 3);
        assert_eq!(skills.select(&Request::new(YOMP)).hits[0].name, "hikes");
        assert_eq!(std::fs::read(&kept).expect("the vectors"), whole);
    }
}

#[test]
fn a_model_that_fails_is_an_error_in_semantic_and_words_in_hybrid() {
    let dir = tree();
    let model: Arc<HashedWords> = Arc::default();
    let skills = with_model(dir.path(), &model, None);
    model.is_broken.store(true, Ordering::Relaxed);
    let error = skills.embed_skills(&|_, _| ()).expect_err("it is broken");
    assert_eq!((error.code(), error.to_string().as_str()), ("model_failed", "the sentence model failed: it is a test"));
    let message = "plan a hike for Sunday";
    let request = |mode| Request::new(message).mode(mode);
    assert_eq!(skills.check_mode(Mode::Semantic).expect_err("it has failed").code(), "model_failed");
    let words = three_skills::skills(dir.path()).select(&request(Mode::Hybrid));
    assert_eq!(skills.select(&request(Mode::Hybrid)), words);

    // It recovers, and fails on a message then.
    model.is_broken.store(false, Ordering::Relaxed);
    embed(&skills);
    model.fails_on_messages.store(true, Ordering::Relaxed);
    assert_eq!(skills.check_request(&request(Mode::Semantic)).expect_err("it fails").code(), "model_failed");
    assert!(skills.check_request(&request(Mode::Hybrid)).is_ok());
    assert_eq!(skills.select(&request(Mode::Hybrid)), words);
}

#[test]
fn vectors_that_make_no_sense_are_a_failure() {
    #[derive(Debug)]
    struct Odd(Vec<Vec<f32>>);
    impl SentenceVectors for Odd {
        fn id(&self) -> &'static str {
            "odd"
        }
        fn vectors(&self, _: &[&str]) -> Result<Vec<Vec<f32>>, SentenceError> {
            Ok(self.0.clone())
        }
    }
    let dir = tree();
    for odd in [vec![vec![1.0]], vec![vec![0.0]; 3], vec![vec![f32::NAN]; 3], vec![vec![]; 3]] {
        let skills = Skillcue::builder().skills_dir(dir.path()).sentence_model(Arc::new(Odd(odd))).build();
        let error = skills.expect("the skills").embed_skills(&|_, _| ()).expect_err("no vectors");
        assert_eq!(error.code(), "model_failed");
    }
}

#[test]
fn the_search_tool_fails_in_semantic_without_a_model_and_names_the_model_with_one() {
    let dir = tree();
    let arguments = [("query".to_owned(), YOMP.into())];
    let call = Call::new("search_skills", arguments.into_iter().collect());
    let plain = Skillcue::builder().skills_dir(dir.path()).mode(Mode::Semantic).build().expect("the skills");
    let output = plain.call_tool(&call, &ToolContext::default()).expect("a built-in tool");
    assert!(output.is_error && output.text.contains("code=\"no_model\""), "{}", output.text);
    let model: Arc<dyn SentenceVectors> = Arc::<HashedWords>::default();
    let builder = Skillcue::builder().skills_dir(dir.path()).mode(Mode::Semantic).sentence_model(model);
    let skills = builder.build().expect("the skills");
    embed(&skills);
    let output = skills.call_tool(&call, &ToolContext::default()).expect("a built-in tool");
    assert!(!output.is_error && output.text.contains("hikes") && output.text.contains("[meaning]"), "{}", output.text);
    assert_eq!(output.structured.expect("an object")["model"], "hashed-words 1");
}

#[test]
fn files_of_settings_accept_the_mode() {
    for section in ["select", "disclose"] {
        let config =
            Config::parse(&format!("[{section}]\nmode = \"semantic\"\nmodel = \"always\"\n")).expect("it is right");
        assert_eq!(config.disclose.mode, Some(Mode::Semantic));
    }
}

#[test]
fn progress_is_told_and_many_skills_are_embedded_in_parts() {
    let dir = tempfile::tempdir().expect("a directory");
    for number in 0..70 {
        write(dir.path(), &format!("s{number}"), &format!("description: Subject {number}.\n"), "How.")
            .expect("a skill");
    }
    let skills = with_model(dir.path(), &Arc::default(), None);
    let told = std::sync::Mutex::new(Vec::new());
    skills.embed_skills(&|made, all| told.lock().expect("no panic").push((made, all))).expect("vectors");
    assert_eq!(*told.lock().expect("no panic"), [(32, 70), (64, 70), (70, 70)]);
}
