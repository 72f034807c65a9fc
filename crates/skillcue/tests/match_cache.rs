//! The match cache: messages that are matched again.

use skillcue::{Mode, Request, Session, Skillcue};

#[path = "support/three_skills.rs"]
mod three_skills;

use three_skills::*;

fn counts(skills: &Skillcue) -> (usize, u64, u64) {
    let stats = skills.match_stats();
    (stats.size, stats.hits, stats.misses)
}

#[test]
fn a_message_that_comes_again_is_matched_once() {
    let dir = tree();
    let skills = skills(dir.path());
    let message = "plan a hike for Sunday";
    let first = skills.select(&Request::new(message));
    assert_eq!(counts(&skills), (1, 0, 1));
    assert_eq!(skills.select(&Request::new(message)), first);
    assert_eq!(skills.search(&Request::new(message)).hits, first.hits);
    assert_eq!(skills.disclose(message).turn, skills.disclose(message).turn);
    assert_eq!(counts(&skills), (1, 4, 1));
}

#[test]
fn whatever_matching_depends_on_makes_another_entry() {
    let dir = tree();
    let skills = skills(dir.path());
    let message = "plan a hike for Sunday";
    let mut session = Session::default();
    session.record_load("hikes", "how");
    let requests = [
        Request::new(message),
        Request::new("plan a hike for Monday"),
        Request::new(message).mode(Mode::Keyword),
        Request::new(message).limit(1),
        Request::new(message).files(["a.pdf"]),
        Request::new(message).nearby(["a.pdf"]),
        Request::new(message).languages(["rust"]),
        Request::new(message).earlier(["a.pdf"]),
        Request::new(message).session(&mut session),
    ];
    for (count, request) in requests.iter().enumerate() {
        skills.select(request);
        skills.select(request);
        assert_eq!(counts(&skills), (count + 1, count as u64 + 1, count as u64 + 1), "{request:?}");
    }
}

#[test]
fn a_change_of_a_skill_or_of_the_indexes_empties_the_cache() {
    let dir = tree();
    let skills = skills(dir.path());
    let request = Request::new("which mushrooms may I eat?");
    assert!(skills.select(&request).hits.is_empty());
    skills.refresh();
    skills.select(&request);
    assert_eq!(counts(&skills), (1, 1, 1), "nothing has changed");

    write(dir.path(), "fungi", "description: Tells edible mushrooms from poisonous ones.\n", "Look.").expect("a skill");
    skills.refresh();
    assert_eq!(skills.select(&request).hits.first().map(|hit| hit.name.as_str()), Some("fungi"));
    assert_eq!(counts(&skills), (1, 1, 2));

    skills.select(&Request::new("hello"));
    assert_eq!(counts(&skills), (2, 1, 3));
    skills.index_bodies();
    skills.select(&request);
    assert_eq!(counts(&skills), (1, 1, 4), "with bodies the ranking may differ");
}

#[test]
fn the_cache_is_bounded_and_can_be_switched_off() {
    let dir = tree();
    let small = Skillcue::builder().skills_dir(dir.path()).match_cache(2).build().expect("the skills");
    let none = Skillcue::builder().skills_dir(dir.path()).match_cache(0).build().expect("the skills");
    for number in 0..5 {
        for skills in [&small, &none] {
            skills.select(&Request::new(&format!("hike number {number}")));
        }
    }
    assert_eq!((small.match_stats().size, small.match_stats().capacity), (2, 2));
    assert_eq!((none.match_stats().size, none.match_stats().hits), (0, 0));
    let skills = skills(dir.path());
    let long = "hike ".repeat(10_000);
    skills.select(&Request::new(&long));
    skills.select(&Request::new(&long));
    assert_eq!(counts(&skills), (0, 0, 2), "a message of 50 kB is not kept");
}
