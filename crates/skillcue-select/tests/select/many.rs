//! Twenty thousand skills: correct answers, whatever the time.

use std::thread;

use serde_json::json;
use skillcue_select::{SelectOptions, Selector, Turn};

use crate::support::World;

const COUNT: usize = 20_000;

#[test]
fn twenty_thousand_skills() {
    let names: Vec<String> = (0..COUNT).map(|n| format!("skill-{n:05}")).collect();
    let fields = |n: usize| {
        json!({ "triggers": {
            "keywords": [format!("word{n}"), format!("phrase number {n}"), "shared", format!("ten{}", n / 10)],
            "verbs": [format!("verb{}x", n % 500)],
            "patterns": [format!("pattern {} ends", n % 1000)],
        } })
    };
    let skills: Vec<_> = names.iter().enumerate().map(|(n, name)| (name.as_str(), fields(n))).collect();
    let world = World::new(&skills);
    assert_eq!(world.catalog.len(), COUNT);
    assert_eq!(world.selector.always_run(), 0);
    let again = Selector::from_bytes(&world.selector.to_bytes()).unwrap();
    assert!(again.fits(&world.catalog));

    let check = |selector: &Selector| {
        let select = |message: &str| selector.select(&world.catalog, &Turn::new(message), &SelectOptions::default());
        for n in (0..COUNT).step_by(1777) {
            let found = select(&format!("a WORD{n}, please"));
            assert_eq!((found.matched, found.hits[0].skill), (1, n));
            assert_eq!(found.hits[0].reasons[0].trigger, format!("word{n}"));
            assert_eq!(select(&format!("the phrase  number {n}!")).hits[0].skill, n);
            assert_eq!(select(&format!("skill {n:05} it is")).hits[0].skill, n);
            assert_eq!(select(&format!("ten{}", n / 10)).matched, 10);
            assert_eq!(select(&format!("verb{}xing", n % 500)).matched, COUNT / 500);
            assert_eq!(select(&format!("Pattern {} ENDS", n % 1000)).matched, COUNT / 1000);
        }
        let found = select("shared, and word7");
        assert_eq!((found.matched, found.hits.len()), (COUNT, 32));
        assert_eq!(found.hits[0].skill, 7, "two triggers, one of them rare");
        assert_eq!(
            found.hits[1..].iter().map(|hit| hit.skill).collect::<Vec<_>>(),
            [(0..7), (8..32)].into_iter().flatten().collect::<Vec<_>>()
        );
        assert_eq!(select("nothing of it").matched, 0);
    };
    check(&world.selector);
    // Without locks, from many threads at once.
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| check(&again));
        }
    });
}
