//! Loading: bodies, forms, sections, and refusals.

use std::fs;

use skillcue_base::ErrorInfo as _;
use skillcue_catalog::{BodyAt, BodyFile};
use skillcue_format::Tokens;
use skillcue_load::{Form, LoadRequest, Loader, LoaderConfig};

use crate::Skill;

#[test]
fn a_processed_body() {
    let skill = Skill::new("pdf", "\n# Body\r\nüñ\n---\nmore");
    let loaded = skill.load(&Loader::default(), "");
    let expected = skill.head() + "\n# Body\r\nüñ\n---\nmore";
    assert_eq!(*loaded.content, *expected);
    assert_eq!((&*loaded.name, &*loaded.base_dir), ("pdf", skill.tmp.path()));
    assert_eq!((loaded.tokens, loaded.cached), (Tokens::bytes4(expected.len()), false));
}

#[test]
fn other_forms() {
    let skill = Skill::new("pdf", "Do $ARGUMENTS.\n");
    let loader = Loader::default();
    let request = LoadRequest { arguments: "it", form: Form::Body, ..LoadRequest::default() };
    assert_eq!(&*loader.load(&skill.file, &request).unwrap().content, "Do it.\n");
    assert_eq!(loader.body(&skill.file).unwrap().as_str(), "Do $ARGUMENTS.\n");
}

#[test]
fn bodies_after_front_matter_and_in_whole_files() {
    let skill = Skill::new("pdf", "after");
    fs::write(skill.tmp.path().join("prompt.md"), "\u{feff}---\nwhole\n---\n").unwrap();
    let loader = Loader::default();
    let body = |body: BodyAt| loader.body(&BodyFile { body, ..skill.file.clone() }).unwrap().as_str().to_owned();
    assert_eq!(body(BodyAt::AfterFrontMatter("SKILL.md".into())), "after");
    assert_eq!(body(BodyAt::WholeFile("./prompt.md".into())), "---\nwhole\n---\n");
    assert_eq!(body(BodyAt::None), "");
    let none = BodyFile { body: BodyAt::None, ..skill.file.clone() };
    assert_eq!(*loader.load(&none, &LoadRequest::default()).unwrap().content, *skill.head());
    assert!(loader.load(&none, &LoadRequest::default()).unwrap().cached);
}

/// `SKILL.md` may be a link to that of another directory: the one is shown, the other opened.
#[test]
fn a_directory_shown_and_another_opened() {
    let real = Skill::new("pdf", "body ${SKILL_DIR}");
    let file = BodyFile { base_dir: "/shown".into(), ..real.file.clone() };
    let request = LoadRequest { dialect: skillcue_load::Dialect::extended([]), ..LoadRequest::default() };
    let loaded = Loader::default().load(&file, &request).unwrap();
    assert_eq!(&*loaded.content, "Base directory for this skill: /shown\n\nbody /shown");
}

#[test]
fn sections() {
    let skill = Skill::new("pdf", "intro\n# Forms\nFill $ARGUMENTS.\n## Boxes\n# Tables\n");
    let loader = Loader::default();
    let load = |section| {
        let request =
            LoadRequest { arguments: "x", section: Some(section), form: Form::Body, ..LoadRequest::default() };
        loader.load(&skill.file, &request)
    };
    assert_eq!(&*load("forms").unwrap().content, "# Forms\nFill x.\n## Boxes\n");
    assert_eq!(&*load("Forms/Boxes").unwrap().content, "## Boxes\n\n\nARGUMENTS: x");
    let error = load("form").unwrap_err();
    assert_eq!(error.code(), "invalid_argument");
    assert_eq!(error.to_string(), "skill \"pdf\": no section \"form\"; close headings: Forms");
    let outline = loader.outline(&skill.file).unwrap();
    assert_eq!(outline.headings().len(), 3);
    assert_eq!(loader.reads(), 1, "all of this reads the file once");
}

#[test]
fn refusals() {
    let skill = Skill::new("pdf", "12345");
    let loader = Loader::new(LoaderConfig { max_body_bytes: 64, max_content_bytes: 100, ..LoaderConfig::default() });
    let error = |path: &str| {
        let body = BodyAt::AfterFrontMatter(path.into());
        let error = loader.load(&BodyFile { body, ..skill.file.clone() }, &LoadRequest::default()).unwrap_err();
        assert_eq!((error.skill(), error.path()), ("pdf", Some(path)));
        assert!(error.hint().is_some());
        (error.code(), error.to_string())
    };
    let write = |name: &str, bytes: &[u8]| fs::write(skill.tmp.path().join(name), bytes).unwrap();
    assert_eq!(error("gone.md"), ("not_found", "skill \"pdf\": no file \"gone.md\"".into()));
    assert_eq!(error("../x.md").0, "security");
    write("open.md", b"---\nname: x\n");
    assert_eq!(error("open.md"), ("no_front_matter", "skill \"pdf\": \"open.md\" has no closed front matter".into()));
    write("latin1.md", b"---\nname: x\n---\nok\n\xe9");
    assert_eq!(
        error("latin1.md"),
        ("not_text", "skill \"pdf\": \"latin1.md\" is not UTF-8 text: bad byte at offset 19, line 5".into())
    );
    write("large.md", &[b'x'; 65]);
    assert_eq!(
        error("large.md"),
        ("too_large", "skill \"pdf\": \"large.md\" has 65 bytes, more than the limit of 64".into())
    );
    let long = "x".repeat(100);
    let request = LoadRequest { arguments: &long, ..LoadRequest::default() };
    assert_eq!(loader.load(&skill.file, &request).unwrap_err().code(), "too_large");
    let elsewhere = BodyFile { open_dir: skill.tmp.path().join("gone"), ..skill.file.clone() };
    assert_eq!(loader.body(&elsewhere).unwrap_err().code(), "not_found");
}

/// A failure is not remembered.
#[test]
fn a_file_that_comes_later() {
    let skill = Skill::new("pdf", "body");
    let loader = Loader::default();
    fs::remove_file(skill.path()).unwrap();
    assert!(loader.load(&skill.file, &LoadRequest::default()).is_err());
    skill.write("now");
    assert!(skill.load(&loader, "").content.ends_with("now"));
}
