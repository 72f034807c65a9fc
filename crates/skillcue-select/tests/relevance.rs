//! Text relevance from the outside: small collections, and arbitrary texts.

use std::fs;
use std::sync::Arc;

use proptest::prelude::*;
use skillcue_catalog::{Discovery, SkillRoot, Source};
use skillcue_select::{BodyTerms, Ranking, ReadAt, SkillDocument, TextIndex, Thresholds, body_key};

const SKILLS: [(&str, &str); 7] = [
    ("pdf-forms", "Fills in and merges PDF forms. Do not use for spreadsheets."),
    ("spreadsheets", "Reads and writes Excel files and CSV tables. For slides, see decks."),
    ("decks", "Makes slides for talks."),
    ("photo-edit", "Crops, rotates and retouches pictures."),
    ("benchmarks", "Measures how fast .NET code runs, with BenchmarkDotNet."),
    ("翻譯", "把文件翻譯成英文。用於翻譯文章和電子郵件。"),
    ("圖表", "用資料繪製圖表和統計圖。"),
];

fn index() -> TextIndex {
    TextIndex::of_documents(SKILLS.map(|(name, description)| SkillDocument {
        name,
        description,
        ..SkillDocument::default()
    }))
}

fn search(message: &str) -> Ranking {
    index().search(message, 3, &|_| true)
}

#[track_caller]
fn first(message: &str) -> &'static str {
    search(message).hits.first().map_or("", |hit| SKILLS[hit.skill].0)
}

#[test]
fn messages_find_skills_of_the_same_subject() {
    assert_eq!(first("merge two PDFs"), "pdf-forms");
    assert_eq!(first("turn the CSV into a table"), "spreadsheets");
    assert_eq!(first("How do I fix a benchmrak?"), "benchmarks");
    assert_eq!(first("retouhc it"), "photo-edit");
    assert_eq!(first("請把這篇文章翻譯成英文"), "翻譯");
    assert_eq!(first("幫我畫統計圖"), "圖表");
}

#[test]
fn synonyms_count_half_and_name_the_term() {
    let ranking = search("my images");
    let hit = &ranking.hits[0];
    assert_eq!(SKILLS[hit.skill].0, "photo-edit");
    assert_eq!((hit.words[0].text.as_str(), hit.words[0].span.clone()), ("images", 3..9));
    assert!(["photo", "pictur"].contains(&hit.words[0].term.as_str()));
    let own = search("my pictures").hits[0].clone();
    assert!(own.confidence >= hit.confidence);
    assert!(own.confidence < 0.5, "one word is not enough to be sure");
}

#[test]
fn excluded_subjects_do_not_count_for_a_skill() {
    assert_eq!(first("spreadsheets"), "spreadsheets");
    assert!(search("spreadsheets").hits.iter().all(|hit| SKILLS[hit.skill].0 != "pdf-forms"));
    assert_eq!(first("slides"), "decks");
    // And they count against it: the same message, with the sentence and without.
    let of = |description| {
        let pdf = SkillDocument { name: "pdf-forms", description, ..SkillDocument::default() };
        let index = TextIndex::of_documents([pdf, SkillDocument { name: "decks", ..SkillDocument::default() }]);
        index.search("forms of receipts", 1, &|_| true).hits[0].confidence
    };
    let (plain, excluded) = (of("Fills in PDF forms."), of("Fills in PDF forms. Do not use for receipts."));
    assert!(excluded < plain / 2.0, "{excluded}, {plain}");
}

#[test]
fn unusable_skills_are_neither_hits_nor_rivals() {
    let twins = ["red-pdf", "tan-pdf"].map(|name| SkillDocument {
        name,
        description: "Merges files.",
        ..SkillDocument::default()
    });
    let index =
        TextIndex::of_documents(twins.into_iter().chain([SkillDocument { name: "x", ..SkillDocument::default() }]));
    let both = index.search("merge a file", 3, &|_| true);
    assert_eq!(both.hits.iter().map(|hit| hit.skill).collect::<Vec<_>>(), [0, 1]);
    let one = index.search("merge a file", 3, &|skill| skill != 0);
    assert_eq!(one.hits.iter().map(|hit| hit.skill).collect::<Vec<_>>(), [1]);
    assert!(one.hits[0].certainty > both.hits[0].certainty && both.hits[0].certainty > 0.5, "{one:?}, {both:?}");
    assert!((one.hits[0].confidence - both.hits[0].confidence).abs() < 0.1, "{one:?}, {both:?}");
    assert!((both.hits[1].certainty - both.hits[0].certainty).abs() < 0.1);
    assert!(index.search("merge a file", 3, &|_| false).hits.is_empty());
}

/// Returns the ranking of skills that merge documents equally well, beside one that does something else.
fn alike(names: &[&str]) -> Ranking {
    let merging =
        names.iter().map(|name| SkillDocument { name, description: "Merges documents.", ..SkillDocument::default() });
    let other = SkillDocument { name: "csv", description: "Reads tables.", ..SkillDocument::default() };
    let index = TextIndex::of_documents(merging.chain([other]));
    index.search("merge documents", 999, &|_| true)
}

fn confidences(ranking: &Ranking) -> Vec<f32> {
    ranking.hits.iter().map(|hit| hit.confidence).collect()
}

/// However many skills fit equally well, each fits as well as it did alone.
#[test]
fn equals_do_not_lower_each_other() {
    let names: Vec<String> = (0..300).map(|at| format!("merger-{at}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let alone = confidences(&alike(&names[..1]))[0];
    assert!(alone > 0.5, "{alone}");
    for count in [2, 3, 4, 5, 9, 20, 32, 33, 40, 100, 300] {
        let all = confidences(&alike(&names[..count]));
        assert_eq!(all.len(), count);
        assert!(all.iter().all(|one| (one - alone).abs() < 0.1), "{count}: {all:?} instead of {alone}");
    }
}

/// A skill that has nearly as much of the message does not lower the better one, either.
#[test]
fn near_equals_do_not_lower_each_other() {
    let of = |other: &'static str| {
        let texts = [("pdf", "Merges documents."), ("docx", other), ("csv", "Reads tables.")];
        let documents =
            texts.map(|(name, description)| SkillDocument { name, description, ..SkillDocument::default() });
        confidences(&TextIndex::of_documents(documents).search("merge documents", 9, &|_| true))
    };
    let (alone, near) = (of("Paints walls."), of("Merges documents that are long."));
    assert!((alone[0] - near[0]).abs() < 0.03 && near[1] > 0.5, "{alone:?} {near:?}");
}

#[test]
fn a_few_equally_good_skills_are_no_rivals() {
    let certainties = |names: &[&str]| -> Vec<f32> { alike(names).hits.iter().map(|hit| hit.certainty).collect() };
    let (one, two) = (certainties(&["pdf"]), certainties(&["pdf", "docx"]));
    let three = certainties(&["pdf", "docx", "pptx"]);
    assert!(one[0] > 0.5 && two[0] > 0.5 && three[0] > 0.5, "{one:?} {two:?} {three:?}");
    for hits in [&two, &three] {
        // Nearly: one name may be nearer in meaning than another.
        assert!(hits.iter().all(|hit| *hit > 0.85 * hits[0]), "{hits:?}");
    }
    assert!(one[0] > two[0] && two[0] > three[0], "{one:?} {two:?} {three:?}");
    // Twelve that fit equally well: the message is not about one of them.
    let names: Vec<String> = (0..12).map(|at| format!("format{at}")).collect();
    let many = certainties(&names.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(many[0] < Thresholds::default().body, "{many:?}");
    let copies = certainties(&["pdf", "PDF", "Pdf", "pDf", "pdF"]);
    assert!(copies[0] > 0.5, "copies of one name are one: {copies:?}");
}

#[test]
fn a_skill_that_excludes_the_message_does_not_drag_others_down() {
    let index = TextIndex::of_documents([
        SkillDocument {
            name: "docx",
            description: "Edits documents. Edit, edit, edit. Do not use for spreadsheets.",
            ..SkillDocument::default()
        },
        SkillDocument {
            name: "xlsx",
            description: "Edits a spreadsheet: sheets, cells, formulas.",
            ..SkillDocument::default()
        },
        SkillDocument { name: "photos", description: "Crops pictures.", ..SkillDocument::default() },
    ]);
    let ranking = index.search("edit the spreadsheet", 3, &|_| true);
    assert_eq!(ranking.hits[0].skill, 1, "{ranking:?}");
    assert!(ranking.hits[0].confidence > 0.5, "{ranking:?}");
    assert!(ranking.hits[1..].iter().all(|hit| hit.certainty < 0.1 && hit.confidence < 0.2), "{ranking:?}");
    assert_eq!(index.excluded("edit the spreadsheet", 0), ["spreadsheet"]);
    assert!(index.excluded("edit the spreadsheet", 1).is_empty() && index.excluded("edit the letter", 0).is_empty());
}

/// However much more of the message it has than others, a skill that excludes the message's subject is the last.
#[test]
fn a_skill_that_excludes_the_message_is_last() {
    let described = |name, description| SkillDocument { name, description, ..SkillDocument::default() };
    let index = TextIndex::of_documents([
        described("docx", "Edit, edit, edit: edits and edited files. Do not use for spreadsheets."),
        described("xlsx", "Edits a spreadsheet: sheets, cells, formulas, charts and pivot tables of any file."),
        described(
            "wiki",
            "A guide for teams that write long pages together, from the first draft to the last edit of each.",
        ),
        described("photos", "Crops pictures."),
    ]);
    let ranking = index.search("edit the spreadsheet", 9, &|_| true);
    let order: Vec<usize> = ranking.hits.iter().map(|hit| hit.skill).collect();
    assert_eq!(order, [1, 2, 0], "{ranking:?}");
    // The control: where nothing is excluded, it is the first.
    assert_eq!(index.search("edit the files", 9, &|_| true).hits[0].skill, 0);
}

#[test]
fn nothing_comes_of_nothing() {
    for message in ["", "   ", "the of and", "!?", "zzzzqqqq"] {
        assert!(search(message).hits.is_empty(), "{message}");
    }
    assert!(TextIndex::of_documents([]).search("merge", 3, &|_| true).hits.is_empty());
    assert!(index().search("merge", 0, &|_| true).hits.is_empty());
    let one =
        TextIndex::of_documents([SkillDocument { name: "pdf", description: "Merges.", ..SkillDocument::default() }]);
    let hit = &one.search("merge pdf", usize::MAX, &|_| true).hits[0];
    assert!(hit.score > 0.0 && hit.confidence > 0.5);
    let empty = TextIndex::of_documents([SkillDocument::default(), SkillDocument::default()]);
    assert!(empty.search("merge", 3, &|_| true).hits.is_empty());
}

#[test]
fn a_search_within_a_search_is_possible() {
    let index = index();
    let expected = index.search("merge pdf", 3, &|_| true);
    let nested = index.search("merge pdf", 3, &|_| index.search("slides", 1, &|_| true).hits.len() == 1);
    assert_eq!(nested, expected);
}

#[test]
fn long_messages_are_read_in_part() {
    let message = "merge the PDF ".to_owned() + &"äöü wörter-und_Zeichen.4x ".repeat(40_000);
    assert!(message.len() > 1 << 20);
    let ranking = search(&message);
    assert_eq!(SKILLS[ranking.hits[0].skill].0, "pdf-forms");
    let far = "und ".repeat(20_000) + "merge the PDF";
    assert!(search(&far).hits.is_empty());
    let joined = "aB-".repeat(300_000);
    search(&joined);
    search(&"x".repeat(1 << 20));
}

#[test]
fn a_catalog_is_indexed_with_triggers_and_bodies() {
    let dir = tempfile::tempdir().unwrap();
    let add = |place: &str, name: &str, rest: &str| {
        let at = dir.path().join(place).join(name);
        fs::create_dir_all(&at).unwrap();
        fs::write(at.join("SKILL.md"), format!("---\nname: {name}\ndescription: Does {name}.\n{rest}---\n# {name}\n"))
            .unwrap();
    };
    add("project", "alpha", "triggers:\n  keywords: [invoice, tax return]\n  verbs: [reconcile]\n");
    add("project", "beta", "");
    add("user", "beta", "version: 2\ntriggers: [zebra]\n");
    let roots = [("project", Source::Project), ("user", Source::User)];
    let catalog = Discovery::new(roots.map(|(place, source)| SkillRoot::new(dir.path().join(place), source))).run();
    assert_eq!(catalog.all().len(), 3);
    let name = |ranking: Ranking| ranking.hits.first().map(|hit| catalog.all()[hit.skill].name());

    let index = TextIndex::of(&catalog);
    assert_eq!(index.len(), 2);
    let find = |message: &str| name(index.search(message, 3, &|_| true));
    assert_eq!(find("taxes"), Some("alpha"));
    assert_eq!(find("reconciling accounts"), Some("alpha"));
    assert_eq!(find("beta"), Some("beta"));
    assert_eq!(find("zebra"), None, "the user's is shadowed or lost its place");
    assert_eq!(find("kubernetes"), None);

    let mut bodies = BodyTerms::default();
    let beta = catalog.skills().find(|skill| skill.name() == "beta").unwrap();
    bodies.insert(body_key(beta), BodyTerms::of_body("Rolls out to Kubernetes."));
    let index = TextIndex::with_bodies(&catalog, &bodies);
    assert_eq!(name(index.search("kubernetes", 3, &|_| true)), Some("beta"));
    assert_eq!(name(index.search("tax return", 3, &|_| true)), Some("alpha"));
}

#[test]
fn among_many_skills_rare_words_find_and_frequent_ones_add() {
    let texts: Vec<(String, String)> = (0..12_000)
        .map(|at| (format!("skill-{at}"), format!("Deploys photos of kind k{at}x to group g{}y.", at % 100)))
        .collect();
    let index = TextIndex::of_documents(texts.iter().map(|(name, description)| SkillDocument {
        name,
        description,
        ..SkillDocument::default()
    }));
    for message in ["deploy the photos of g42y and k742x", "k742x", "deploy k742x photos, pictures and images"] {
        check(message, &index);
        assert_eq!(index.search(message, 3, &|_| true).hits[0].skill, 742, "{message}");
    }
    // Nothing rare in it: then the rarest finds.
    check("deploy photos", &index);
    assert_eq!(index.search("deploy photos", 3, &|skill| skill > 9).hits[0].skill, 10);
}

fn check(message: &str, index: &TextIndex) {
    let ranking = index.search(message, 5, &|_| true);
    assert_eq!(ranking, index.search(message, 5, &|_| true));
    assert!(ranking.hits.len() <= 5);
    for pair in ranking.hits.windows(2) {
        // A skill that excludes a word of the message may score higher than one with more certainty.
        let equal = pair[0].certainty <= pair[1].certainty;
        assert!(pair[0].certainty >= pair[1].certainty && (!equal || pair[0].score >= pair[1].score));
        assert!(!equal || pair[0].score > pair[1].score || pair[0].skill < pair[1].skill);
    }
    for hit in &ranking.hits {
        assert!(hit.score.is_finite() && (0.0..=1.0).contains(&hit.confidence));
        assert!((0.0..=1.0).contains(&hit.certainty));
        let is_near = hit.parts.iter().any(|part| part.kind == "meaning" && part.score > 0.0);
        assert!((is_near || !hit.words.is_empty()) && hit.words.len() <= 8);
        for word in &hit.words {
            assert_eq!(message.get(word.span.clone()), Some(word.text.as_str()));
            assert!(word.weight.is_finite() && word.weight > 0.0);
        }
    }
}

proptest! {
    #[test]
    fn any_message_is_searched_for(message in "\\PC{0,80}") {
        check(&message, &index());
    }

    #[test]
    fn words_and_signs_in_any_order_are_searched_for(
        parts in prop::collection::vec("PDF|merge|’s|'|-|_|\\.|#|\\+| |slides|圖|ー|ß|İ|ﬀ|9|Camel|yyy|ying|ied|'s'|\\n|e\u{301}|😀", 0..30),
    ) {
        check(&parts.concat(), &index());
    }

    #[test]
    fn any_texts_are_indexed(
        texts in prop::collection::vec(("\\PC{0,20}", "\\PC{0,60}", prop::option::of("\\PC{0,60}")), 0..8),
        message in "\\PC{0,40}",
    ) {
        let documents = texts.iter().map(|(name, description, body)| SkillDocument {
            name,
            description,
            triggers: &[],
            body: body.as_deref(),
        });
        let index = TextIndex::of_documents(documents);
        check(&message, &index);
        for (name, description, _) in &texts {
            check(name, &index);
            check(description, &index);
        }
    }

    #[test]
    fn any_lower_case_word_has_a_stem(words in prop::collection::vec("[a-z0-9'y]{1,12}(ing|ed|ies|ly|ational|s|e|'s)?", 1..40)) {
        BodyTerms::of_body(&words.join(" "));
    }

    #[test]
    fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let read: ReadAt = Arc::new(move |at: u64, length: usize| {
            let at = usize::try_from(at).ok()?;
            bytes.get(at..at.checked_add(length)?).map(<[u8]>::to_vec)
        });
        prop_assert!(TextIndex::read_back(&read, 0).is_none() && TextIndex::read_old(&read).is_none());
    }
}

/// A few words, so that texts and messages share some.
const WORDS: [&str; 16] = [
    "merge",
    "document",
    "table",
    "picture",
    "crop",
    "deploy",
    "server",
    "invoice",
    "translate",
    "letter",
    "chart",
    "test",
    "review",
    "commit",
    "music",
    "recipe",
];

fn sentence(length: std::ops::Range<usize>) -> impl Strategy<Value = String> {
    proptest::collection::vec(0..WORDS.len(), length)
        .prop_map(|words| words.into_iter().map(|at| WORDS[at]).collect::<Vec<_>>().join(" "))
}

fn confidence_of_first(texts: &[(String, String)], message: &str) -> Option<f32> {
    let documents =
        texts.iter().map(|(name, description)| SkillDocument { name, description, ..SkillDocument::default() });
    let ranking = TextIndex::of_documents(documents).search(message, 99, &|_| true);
    ranking.hits.iter().find(|hit| hit.skill == 0).map(|hit| hit.confidence)
}

proptest! {
    /// Copies of a skill under other names make its words less rare, and so lower its confidence somewhat; an unrelated
    /// one lowers it little.
    #[test]
    fn rivals_do_not_lower_confidence(
        texts in proptest::collection::vec(sentence(2..9), 2..12),
        message in sentence(2..7),
        copies in 1..9usize,
    ) {
        let name = |at: usize| format!("x{at}y");
        let mut all: Vec<(String, String)> = texts.into_iter().enumerate().map(|(at, text)| (name(at), text)).collect();
        let Some(before) = confidence_of_first(&all, &message) else { return Ok(()) };
        let mut unrelated = all.clone();
        unrelated.push((name(98), "Gardening on balconies with little sun".to_owned()));
        let beside = confidence_of_first(&unrelated, &message).unwrap_or_default();
        prop_assert!((before - beside).abs() < 0.1, "{} became {}", before, beside);
        for copy in 0..copies {
            all.push((name(100 + copy), all[0].1.clone()));
        }
        let after = confidence_of_first(&all, &message).unwrap_or_default();
        prop_assert!(after > before - 0.25, "{} became {} with {} copies", before, after, copies);
    }
}
