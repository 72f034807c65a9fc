//! Triggers and names beside the texts of skills.

use serde_json::json;
use skillcue_select::{Grade, Mention, Mode, ReasonKind, SelectOptions, Thresholds, Turn};

use crate::support::World;

/// The confidence of triggers is not lowered because the texts do not match: a search shows it as it is disclosed.
#[test]
fn texts_do_not_lower_the_confidence_of_triggers() {
    let pattern = json!({ "triggers": { "patterns": ["check (my|the) report"] } });
    let keyword = json!({ "triggers": { "keywords": ["report"] }, "description": "Reads a report." });
    let world = World::new(&[("a-pattern", pattern), ("b-keyword", keyword)]);
    let texts = skillcue_select::TextIndex::of(&world.catalog);
    let turn = Turn::new("check the report today");
    let ask = |mode| {
        let options = SelectOptions { limit: 9, mode };
        let mut hits = world.selector.select_with(&world.catalog, &texts, &turn, &options).hits;
        hits.sort_by(|a, b| a.name.cmp(&b.name));
        hits
    };
    let (keyword, hybrid) = (ask(Mode::Keyword), ask(Mode::Hybrid));
    assert_eq!((keyword.len(), hybrid.len()), (2, 2));
    for (keyword, hybrid) in keyword.iter().zip(&hybrid) {
        assert!(hybrid.confidence >= keyword.confidence, "{hybrid:?}");
        assert_eq!(hybrid.grade(Mode::Hybrid, &Thresholds::default()), Grade::Body, "{hybrid:?}");
    }
}

/// In `hybrid` only a sigil decides. A bare name is a mention if it is unmistakable, a name of one word is no keyword
/// unless its author declares it, and a trigger weighs what it tells among the texts.
#[test]
fn names_are_evidence_and_triggers_weigh_what_they_tell() {
    let about = |text: &str| json!({ "description": text });
    let mut skills = vec![
        ("ship-it", about("Publishes packages. Use for releases.")),
        ("zyx-wvu", about("Grows tomatoes on balconies.")),
        ("review", about("Reads manuscripts.")),
        ("pdf", json!({ "description": "Reads documents.", "triggers": { "keywords": ["pdf"] } })),
        ("always", json!({ "description": "Sings.", "triggers": { "keywords": ["report"] } })),
        ("rarely", json!({ "description": "Hums.", "triggers": { "keywords": ["theremin"] } })),
    ];
    let names: Vec<String> = (0..60).map(|at| format!("filler-{at}")).collect();
    skills.extend(names.iter().map(|name| (name.as_str(), about("Ships goods and writes a report about it."))));
    let world = World::new(&skills);
    let texts = skillcue_select::TextIndex::of(&world.catalog);
    let ask = |message: &str, name: &str, mode| {
        let options = SelectOptions { limit: 99, mode };
        let hits = world.selector.select_with(&world.catalog, &texts, &Turn::new(message), &options).hits;
        hits.into_iter().find(|hit| hit.name == name)
    };
    let hybrid = |message: &str, name: &str| ask(message, name, Mode::Hybrid);
    let mention = |message: &str, name: &str| hybrid(message, name).and_then(|hit| hit.mention);
    assert_eq!(mention("ship it to the customer", "ship-it"), None, "two common words");
    assert_eq!(mention("use ship-it now", "ship-it"), Some(Mention::Name), "as it is written");
    assert_eq!(mention("use `ship it` now", "ship-it"), Some(Mention::Name), "quoted");
    assert_eq!(mention("try zyx wvu today", "zyx-wvu"), Some(Mention::Name), "rare words");
    assert_eq!(mention("$ship-it", "ship-it"), Some(Mention::Sigil));
    assert_eq!(
        ask("ship it to the customer", "ship-it", Mode::Keyword).and_then(|hit| hit.mention),
        Some(Mention::Name)
    );

    let kinds = |message: &str, name: &str, mode| -> Vec<ReasonKind> {
        ask(message, name, mode).into_iter().flat_map(|hit| hit.reasons).map(|reason| reason.kind).collect()
    };
    assert_eq!(kinds("review this", "review", Mode::Keyword), [ReasonKind::Keyword]);
    assert_eq!(kinds("review this", "review", Mode::Hybrid), [ReasonKind::Text]);
    assert!(kinds("open the pdf", "pdf", Mode::Hybrid).contains(&ReasonKind::Keyword), "declared");

    let certainty = |message: &str, name: &str| hybrid(message, name).map_or(0.0, |hit| hit.certainty);
    assert!(certainty("play the theremin", "rarely") >= Thresholds::default().body);
    assert!(certainty("the report", "always") < Thresholds::default().body, "nearly every skill has the word");
}
