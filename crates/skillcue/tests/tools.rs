//! The tools for models: definitions, every outcome of every tool, and what models never get to see.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::Path;
use std::sync::{Arc, Mutex};

use serde_json::{Map, Value, json};
use skillcue::catalog::FileListing;
use skillcue::remote::{Remote, RemoteEntry, RemoteError, RemoteFile};
use skillcue::tools::{Call, Effect, ToolContext, ToolDefinition, ToolOutput, ToolProvider};
use skillcue::{Enablement, LoadRequest, Mode, Request, Session, SkillRoot, Skillcue, Source};

fn write(root: &Path, name: &str, front: &str, body: &str) {
    std::fs::create_dir_all(root.join(name)).unwrap();
    let text = format!("---\nname: {name}\ndescription: Does {name} things.\n{front}---\n{body}");
    std::fs::write(root.join(name).join("SKILL.md"), text).unwrap();
}

fn call(skills: &Skillcue, tool: &str, arguments: Value) -> ToolOutput {
    let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
    skills.call_tool(&Call::new(tool, arguments), &ToolContext::default()).unwrap()
}

fn load(skills: &Skillcue, id: &str) -> ToolOutput {
    call(skills, "load_skill", json!({"skill_id": id}))
}

#[test]
fn the_golden_cases_of_the_envelope() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/envelope.json");
    let vectors: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let cases = vectors["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 8);
    for case in cases {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), "s", "", case["body"].as_str().unwrap_or_default());
        let skills = Skillcue::builder().skills_dir(dir.path()).build().unwrap();
        if let Some(id) = case["load_id"].as_str() {
            let output = load(&skills, id);
            assert!(output.is_error);
            for part in case["expect_contains"].as_array().unwrap() {
                assert!(output.text.contains(part.as_str().unwrap()), "{part} is not in {}", output.text);
            }
            continue;
        }
        let root = dir.path().join("s");
        let expected = format!(
            "<skill_context id=\"s\">\n  <instructions>\n{}\n  </instructions>\n\n  <active_resources>\n    \
             <skill_root>{}</skill_root>\n  </active_resources>\n\n  <execution_directive>\n    Follow these instructions \
             of the skill \"s\" as far as they apply to the user's request.\n    Relative paths in them start at \
             <skill_root>. For work of several steps, say the plan, then do it.\n  </execution_directive>\n\
             </skill_context>",
            case["expect"].as_str().unwrap(),
            root.display()
        );
        assert_eq!(load(&skills, "s").text, expected);
    }
}

#[test]
fn every_outcome_of_loading_has_its_envelope() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "pdf", "", "# Read\nRead $ARGUMENTS.\n# Write\nWrite.\n");
    write(dir.path(), "off", "", "Off.\n");
    write(dir.path(), "secret-pdf", "disable-model-invocation: true\n", "Hidden.\n");
    write(dir.path(), "needy", "requires: [no-such-program]\n", "Needy.\n");
    std::fs::create_dir(dir.path().join("broken")).unwrap();
    std::fs::write(dir.path().join("broken/SKILL.md"), "no front matter\n").unwrap();
    write(dir.path(), "gone", "", "Gone.\n");
    let disable = Enablement { disable: ["off".to_owned()].into(), ..Enablement::default() };
    let skills =
        Skillcue::builder().skills_dir(dir.path()).enablement(disable).search_path(Vec::new()).build().unwrap();
    std::fs::remove_file(dir.path().join("gone/SKILL.md")).unwrap();

    let output = call(&skills, "load_skill", json!({"skill_id": "pdf", "arguments": "a.pdf"}));
    assert!(!output.is_error && output.text.contains("\n# Read\nRead a.pdf.\n# Write\n"));
    let output = call(&skills, "load_skill", json!({"skill_id": "pdf", "section": "Write", "arguments": null}));
    assert!(output.text.contains("<instructions>\n# Write\nWrite.\n  </instructions>"), "{}", output.text);

    let code = |arguments: Value| {
        let output = call(&skills, "load_skill", arguments);
        assert!(output.is_error && output.effect.is_none());
        assert!(output.text.starts_with("<skill_context id=\"") && output.text.ends_with("</skill_context>"));
        let (_, rest) = output.text.split_once("<error code=\"").unwrap();
        (rest.split_once('"').unwrap().0.to_owned(), output.text)
    };
    let (kind, text) = code(json!({"skill_id": "pfd"}));
    assert_eq!(kind, "not_found");
    assert!(text.contains("    No skill has the id \"pfd\". Close names: pdf.\n"), "{text}");
    assert_eq!(code(json!({"skill_id": "off"})).0, "disabled");
    assert_eq!(code(json!({"skill_id": "needy"})).0, "disabled");
    assert_eq!(code(json!({"skill_id": "broken"})).0, "unreadable");
    let (kind, text) = code(json!({"skill_id": "gone"}));
    assert_eq!(kind, "unreadable", "{text}");
    // What hides from models is not there for them, not even in a suggestion.
    let (kind, text) = code(json!({"skill_id": "secret-pdf"}));
    assert_eq!(kind, "not_found");
    assert_eq!(text.matches("secret-pdf").count(), 2, "only as what was asked for: {text}");
    assert!(!code(json!({"skill_id": "secret-pd"})).1.contains("secret-pdf"));
    // Ids are taken character for character.
    assert_eq!(code(json!({"skill_id": " pdf"})).0, "not_found");
    assert_eq!(code(json!({"skill_id": "PDF"})).0, "not_found");
    for wrong in [
        json!({}),
        json!({"skill_id": ""}),
        json!({"skill_id": " \n"}),
        json!({"skill_id": 5}),
        json!({"skill_id": null}),
        json!({"skill_id": "pdf", "arguments": ["a"]}),
        json!({"skill_id": "pdf", "section": "No such heading"}),
        json!({"skill_id": "pdf", "skil": "x"}),
        json!({"skill_id": "pdf", "arguments": "x".repeat(1_000_001)}),
    ] {
        assert_eq!(code(wrong).0, "invalid_argument");
    }
}

#[cfg(unix)]
#[test]
fn an_unreadable_skill_reports_the_systems_error() {
    use std::os::unix::fs::symlink;
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "pdf", "", "Read.\n");
    let skills = Skillcue::builder().skills_dir(dir.path()).build().unwrap();
    std::fs::remove_file(dir.path().join("pdf/SKILL.md")).unwrap();
    symlink("SKILL.md", dir.path().join("pdf/SKILL.md")).unwrap();
    let output = load(&skills, "pdf");
    assert!(output.text.contains("<error code=\"unreadable\">"), "{}", output.text);
}

#[test]
fn a_loaded_skill_is_not_disclosed_again() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "pdf", "metadata:\n  triggers: [pdf]\n", "Use pdftotext.\n");
    let skills = Skillcue::builder().skills_dir(dir.path()).build().unwrap();
    let output = call(&skills, "load_skill", json!({"skill_id": "pdf", "arguments": "x"}));
    let Some(Effect::Loaded { name, content, .. }) = output.effect else { panic!("it has loaded") };
    let mut session = Session::default();
    session.record_load(&name, &content);
    assert!(!skills.disclose(Request::new("open a pdf").session(&mut session)).turn.contains("pdftotext"));
}

#[test]
fn searching() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "pdf-forms", "metadata:\n  triggers: [pdf]\n", "Fill.\n");
    write(dir.path(), "pdf-secret", "disable-model-invocation: true\nmetadata:\n  triggers: [pdf]\n", "Hidden.\n");
    write(dir.path(), "csv", "", "Rows.\n");
    let skills = Skillcue::builder().skills_dir(dir.path()).build().unwrap();
    let output = call(&skills, "search_skills", json!({"query": "fill in a pdf", "limit": 5.0}));
    assert!(!output.is_error);
    assert!(output.text.contains("- pdf-forms (") && output.text.contains("keyword \"pdf\""), "{}", output.text);
    assert!(!output.text.contains("secret"));
    let hits = output.structured.unwrap()["hits"].as_array().unwrap().clone();
    assert_eq!(hits[0]["name"], "pdf-forms");
    assert_eq!(hits[0]["brief"], "Does pdf-forms things");
    let output = call(&skills, "search_skills", json!({"query": "zzzz qqqq"}));
    assert!(
        !output.is_error && output.text.starts_with("No skill fits \"zzzz qqqq\". 2 are available"),
        "{}",
        output.text
    );
    for wrong in
        [json!({}), json!({"query": " "}), json!({"query": "x", "limit": 0}), json!({"query": "x", "limit": "5"})]
    {
        let output = call(&skills, "search_skills", wrong);
        assert!(output.is_error && output.text.starts_with("<error code=\"invalid_argument\">"), "{}", output.text);
    }
}

/// A model reads the words that matched, and no regular expression.
#[test]
fn searching_says_which_words_matched() {
    let dir = tempfile::tempdir().unwrap();
    let pattern = "metadata:\n  triggers:\n    patterns: ['\\b(fix|check)\\s+(my|the)\\s+report\\b.*']\n";
    write(dir.path(), "rep", pattern, "Report.\n");
    let skills = Skillcue::builder().skills_dir(dir.path()).build().unwrap();
    let query = format!("please check the report{}", " again and".repeat(20));
    let output = call(&skills, "search_skills", json!({"query": query}));
    let start = "[pattern \"check the report again and again and again and again and…\"";
    assert!(output.text.contains(start), "{}", output.text);
    let structured = output.structured.unwrap();
    assert!(!structured.to_string().contains("fix|check") && !output.text.contains("fix|check"), "{structured}");
    assert_eq!(structured["hits"][0]["reasons"][0]["kind"], "pattern");
}

/// Searching matches as the builder says that messages are matched.
#[test]
fn searching_asks_as_messages_do() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "no-triggers", "", "Words.\n");
    write(dir.path(), "pdf", "metadata:\n  triggers: [pdf]\n", "Fill.\n");
    for (mode, expected) in [(Mode::Keyword, &["pdf"][..]), (Mode::Hybrid, &["no-triggers", "pdf"])] {
        let skills = Skillcue::builder().skills_dir(dir.path()).mode(mode).build().unwrap();
        let output = call(&skills, "search_skills", json!({"query": "pdf triggers"}));
        let hits = output.structured.unwrap()["hits"].clone();
        let mut names: Vec<&str> = hits.as_array().unwrap().iter().filter_map(|hit| hit["name"].as_str()).collect();
        names.sort_unstable();
        assert_eq!(names, expected, "{mode:?}");
    }
}

#[test]
fn searching_with_files() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "tables", "metadata:\n  triggers:\n    files: ['*.xlsx', 'data/**/*.csv']\n", "Rows.\n");
    write(dir.path(), "borrows", "metadata:\n  triggers:\n    languages: [rust]\n", "Lifetimes.\n");
    write(dir.path(), "other", "", "Other.\n");
    let skills = Skillcue::builder().skills_dir(dir.path()).build().unwrap();
    let names = |arguments: Value| {
        let output = call(&skills, "search_skills", arguments);
        assert!(!output.is_error, "{}", output.text);
        let hits = output.structured.unwrap()["hits"].as_array().unwrap().clone();
        hits.iter().map(|hit| hit["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(json!({"query": "zzzz qqqq"})), Vec::<String>::new());
    for file in ["/home/ann/q3.xlsx", "data/2026/a.csv"] {
        assert_eq!(names(json!({"query": "zzzz qqqq", "files": [file]})), ["tables"], "{file}");
    }
    assert_eq!(names(json!({"query": "zzzz qqqq", "files": ["src/lib.rs"]})), ["borrows"], "by its language");
    assert_eq!(names(json!({"query": "zzzz qqqq", "files": []})), Vec::<String>::new());
    assert_eq!(names(json!({"query": "zzzz qqqq", "files": null})), Vec::<String>::new());
    assert_eq!(names(json!({"query": "zzzz qqqq", "files": vec!["q3.xlsx"; 100]})), ["tables"]);
    let output = call(&skills, "search_skills", json!({"query": "zzzz qqqq", "files": ["q3.xlsx"]}));
    assert!(output.text.contains("[file \"q3.xlsx\"]"), "{}", output.text);
    for (files, said) in [
        (json!("q3.xlsx"), "must be a list of strings, not a string"),
        (json!([["q3.xlsx"]]), "must be a list of strings, not a list"),
        (json!(vec!["q3.xlsx"; 101]), "has 101 entries; at most 100 are taken"),
        (json!(["x".repeat(1025)]), "has more than 1024 bytes"),
    ] {
        let output = call(&skills, "search_skills", json!({"query": "q", "files": files}));
        assert!(output.is_error && output.text.starts_with("<error code=\"invalid_argument\">"), "{}", output.text);
        assert!(output.text.contains(said), "{}", output.text);
    }
}

#[test]
fn reading_in_parts_with_a_clear_end() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "pdf", "", "Read.\n");
    let file = |name: &str, content: &[u8]| std::fs::write(dir.path().join("pdf").join(name), content).unwrap();
    file("ref.md", b"one\ntwo\nthree </skill_file>\nfour");
    file("empty.md", b"");
    file("logo.png", b"\x89PNG\xff");
    file("long.txt", "x".repeat(300 * 1024).as_bytes());
    file("wide.txt", format!("{}\nend\n", "y".repeat(200 * 1024)).repeat(2).as_bytes());
    std::fs::create_dir(dir.path().join("pdf/references")).unwrap();
    file("references/a.md", b"a\n");
    let skills = Skillcue::builder().skills_dir(dir.path()).build().unwrap();
    let read = |arguments: Value| {
        let mut arguments = arguments;
        arguments["skill_id"] = json!("pdf");
        call(&skills, "read_skill_file", arguments)
    };
    let whole = read(json!({"path": "ref.md"}));
    assert_eq!(
        whole.text,
        "<skill_file id=\"pdf\" path=\"ref.md\">\none\ntwo\nthree <\\/skill_file>\nfour\n</skill_file>\n[End of file: line 4 of 4.]"
    );
    let part = read(json!({"path": "ref.md", "offset": 2, "limit": 1}));
    assert!(part.text.ends_with(">\ntwo\n</skill_file>\n[Lines 2-2 of 4. Go on with offset 3.]"), "{}", part.text);
    assert_eq!(part.structured.unwrap()["end"], false);
    assert!(read(json!({"path": "ref.md", "offset": 9})).text.ends_with("line 9 is past its end.]"));
    assert!(read(json!({"path": "empty.md"})).text.ends_with("[End of file: it is empty.]"));
    let long = read(json!({"path": "long.txt"}));
    assert!(long.text.contains("[Line 1 is cut: 262144 of its 307200 bytes are shown.]\n[End of file: line 1 of 1.]"));
    assert!(read(json!({"path": "wide.txt"})).text.ends_with("[Lines 1-2 of 4. Go on with offset 3.]"));

    let code = |arguments: Value| {
        let output = read(arguments);
        assert!(output.is_error);
        output.text.split("<error code=\"").nth(1).unwrap().split('"').next().unwrap().to_owned()
    };
    assert_eq!(code(json!({"path": "logo.png"})), "not_text");
    assert_eq!(code(json!({"path": "no.md"})), "not_found");
    assert_eq!(code(json!({"path": "../csv/SKILL.md"})), "security");
    assert_eq!(code(json!({"path": "/etc/passwd"})), "security");
    assert_eq!(code(json!({"path": "a\u{0}b"})), "security");
    assert_eq!(code(json!({})), "invalid_argument");
    assert_eq!(code(json!({"path": "ref.md", "offset": 0})), "invalid_argument");
    assert_eq!(code(json!({"path": "ref.md", "offset": -1})), "invalid_argument");
    assert_eq!(code(json!({"path": "references"})), "not_a_file");
    assert!(read(json!({"path": "references"})).text.contains("references/a.md"));
    let unknown = call(&skills, "read_skill_file", json!({"skill_id": "pfd", "path": "x"}));
    assert!(unknown.text.contains("Close names: pdf."));
}

#[derive(Debug)]
struct Greeter;

impl ToolProvider for Greeter {
    fn definitions(&self, _: &Skillcue, loaded: &[String]) -> Vec<ToolDefinition> {
        let there = loaded.iter().any(|name| name == "pdf");
        let definition = || ToolDefinition {
            name: "greet".into(),
            title: "Greet".into(),
            description: "Greets.".into(),
            input_schema: json!({"type": "object"}),
            read_only: false,
        };
        there.then(definition).into_iter().collect()
    }

    fn brings_tools(&self, _: &Skillcue, skill: &str, _: &FileListing) -> bool {
        skill == "pdf"
    }

    fn call(&self, _: &Skillcue, call: &Call, _: &ToolContext<'_>) -> Option<ToolOutput> {
        let output = || ToolOutput { text: "Hello".to_owned(), structured: None, is_error: false, effect: None };
        (call.name() == "greet").then(output)
    }
}

#[test]
fn providers_add_tools_for_loaded_skills() {
    let skills = Skillcue::builder().tools(Arc::new(Greeter)).build().unwrap();
    assert_eq!(skills.tools(&[]).len(), 3);
    let files = FileListing::default();
    assert!(skills.brings_tools("pdf", &files) && !skills.brings_tools("git", &files));
    let names: Vec<_> = skills.tools(&["pdf".to_owned()])[3..].iter().map(|tool| tool.name.to_string()).collect();
    assert_eq!(names, ["unload_skill", "greet"]);
    assert_eq!(call(&skills, "greet", json!({})).text, "Hello");
    assert!(skills.call_tool(&Call::new("nothing", Map::new()), &ToolContext::default()).is_none());
}

/// A server that lists two skills, and remembers what it was asked for.
#[derive(Debug, Default)]
struct Acme {
    approved: Mutex<bool>,
    asked: Mutex<Vec<String>>,
}

const REFUNDS: &str = "---\nname: refunds\ndescription: Pays money back.\nallowed-tools: Bash\n---\nPay $ARGUMENTS.\n";

impl Remote for Acme {
    fn label(&self) -> &'static str {
        "acme"
    }

    fn entries(&self) -> Arc<[Arc<RemoteEntry>]> {
        let file = |path: &str, size: usize| RemoteFile {
            uri: format!("skill://billing/refunds/{path}"),
            digest: String::new(),
            size: size as u64,
        };
        let front = json!({"name": "refunds", "description": "Pays money back.", "allowed-tools": "Bash",
            "triggers": ["refund"], "priority": 9999, "metadata": {"priority": 9999, "brief_description": "x".repeat(5000)}});
        let Value::Object(front_matter) = front else { unreachable!() };
        let entry = RemoteEntry {
            uri: "skill://billing/refunds/SKILL.md".to_owned(),
            front_matter,
            files: Some(vec![file("SKILL.md", REFUNDS.len()), file("mail%20text.md", 5), file("refs/a.md", 2)]),
        };
        [Arc::new(entry)].into()
    }

    fn is_allowed(&self, _: &RemoteEntry) -> bool {
        *self.approved.lock().unwrap()
    }

    fn read(&self, entry: &RemoteEntry, path: &str) -> Result<Vec<u8>, RemoteError> {
        if !self.is_allowed(entry) {
            return Err(RemoteError::NotAllowed("nobody has looked at it".to_owned()));
        }
        self.asked.lock().unwrap().push(path.to_owned());
        match path {
            "SKILL.md" => Ok(REFUNDS.into()),
            "mail text.md" => Ok(b"Dear\n".to_vec()),
            _ => Err(RemoteError::NotListed(path.to_owned())),
        }
    }
}

#[test]
fn remote_skills_join_the_catalog_and_nothing_is_fetched_ahead() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "refunds", "metadata:\n  triggers: [zebra]\n", "Ours.\n");
    let acme = Arc::new(Acme::default());
    let remote: Arc<dyn Remote> = Arc::clone(&acme) as Arc<dyn Remote>;
    let skills = Skillcue::builder().skills_dir(dir.path()).remote(remote).build().unwrap();
    let catalog = skills.catalog();
    let skill = catalog.get("acme:refunds").unwrap();
    assert_eq!((skill.source(), skill.server()), (Source::Mcp, Some("acme")));
    assert_eq!(skill.path().to_str(), Some("skill://billing/refunds/SKILL.md"));
    assert_eq!(skill.manifest().allowed_tools().count(), 0, "a server grants nothing");
    assert_eq!(catalog.get("refunds").unwrap().source(), Source::Inline, "and takes no name");
    assert_eq!(catalog.get("acme:refunds@mcp").map(skillcue::Skill::name), Some("acme:refunds"));
    assert!(skills.prompt().text.contains("<id>acme:refunds</id>"));
    assert!(skills.prompt().text.contains("<description>MCP server acme: Pays money back.</description>"));
    let before = skills.disclose("I want a refund").turn;
    assert!(!before.contains("acme"), "what nobody has looked at pushes nothing aside: {before}");
    assert_eq!(skills.files("acme:refunds").unwrap().files[1].path, "mail text.md");
    skills.index_bodies();

    let declined = load(&skills, "acme:refunds");
    assert!(declined.text.contains("<error code=\"declined\">"), "{}", declined.text);
    assert!(declined.text.contains("A person has to look at it and allow it."), "{}", declined.text);
    assert!(acme.asked.lock().unwrap().is_empty(), "nothing is fetched ahead of need");

    *acme.approved.lock().unwrap() = true;
    skills.refresh();
    let shown = skills.disclose(Request::new("I want a refund").mode(Mode::Keyword));
    assert!(shown.turn.contains("The MCP server \"acme\" serves this skill."), "{}", shown.turn);
    assert!(acme.asked.lock().unwrap().is_empty(), "and disclosing fetches nothing");
    let loaded = call(&skills, "load_skill", json!({"skill_id": "acme:refunds", "arguments": "Ann"}));
    assert!(loaded.text.contains("<instructions>\nPay Ann.\n  </instructions>"), "{}", loaded.text);
    assert!(loaded.text.contains("<origin>mcp:acme</origin>\n    <skill_root>skill://billing/refunds</skill_root>"));
    assert!(loaded.text.contains("<file>mail text.md</file>"));
    let processed = skills.load("acme:refunds", &LoadRequest::default()).unwrap();
    assert!(processed.content.starts_with("Base directory for this skill: skill://billing/refunds (served by the MCP"));
    let mut session = Session::default();
    loaded.effect.as_ref().expect("a load is a load, wherever the text is").record(&mut session);
    let again = skills.disclose(Request::new("I want a refund").mode(Mode::Keyword).session(&mut session));
    assert!(again.turn.contains("Already in this conversation"), "{}", again.turn);
    let file = call(&skills, "read_skill_file", json!({"skill_id": "acme:refunds", "path": "mail text.md"}));
    assert!(file.text.contains(">\nDear\n</skill_file>"), "{}", file.text);
    let read = |path: &str| call(&skills, "read_skill_file", json!({"skill_id": "acme:refunds", "path": path})).text;
    assert!(read("./x/../mail text.md").contains(">\nDear\n</skill_file>"));
    assert!(read("../x").contains("<error code=\"security\">"), "{}", read("../x"));
    assert!(read("refs").contains("<error code=\"not_a_file\">") && read("refs/").contains("refs/a.md"));
    assert!(read(".").contains("mail text.md"));
    assert_eq!(skill.manifest().priority(), 0, "a server does not say how much its skills matter");
    let refused = call(&skills, "read_skill_file", json!({"skill_id": "acme:refunds", "path": "other.md"}));
    assert!(refused.text.contains("<error code=\"not_found\">"), "{}", refused.text);
}

/// A server with a fixed list of skills.
#[derive(Debug)]
struct Lists(&'static str, Vec<&'static str>);

impl Remote for Lists {
    fn label(&self) -> &str {
        self.0
    }

    fn entries(&self) -> Arc<[Arc<RemoteEntry>]> {
        let entry = |uri: &&str| {
            let front = json!({"name": "dup", "description": format!("At {uri}.")});
            let front_matter = front.as_object().unwrap().clone();
            Arc::new(RemoteEntry { uri: (*uri).to_owned(), front_matter, files: None })
        };
        self.1.iter().map(entry).collect()
    }

    fn is_allowed(&self, _: &RemoteEntry) -> bool {
        false
    }

    fn read(&self, _: &RemoteEntry, _: &str) -> Result<Vec<u8>, RemoteError> {
        Err(RemoteError::NotAllowed("never".to_owned()))
    }
}

#[test]
fn names_of_servers_never_meet() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "dup", "", "Plugin's.\n");
    let mut plugin = SkillRoot::new(dir.path(), Source::Plugin);
    plugin.plugin = Some("office".into());
    let uris = vec!["skill://x/dup/SKILL.md", "skill://y/dup/SKILL.md"];
    let skills = Skillcue::builder()
        .root(plugin)
        .remote(Arc::new(Lists("a", uris.clone())))
        .remote(Arc::new(Lists("b", uris.clone())))
        .remote(Arc::new(Lists("office", uris)))
        .build()
        .unwrap();
    let catalog = skills.catalog();
    let path = |address: &str| catalog.get(address).map(|skill| skill.path().display().to_string());
    assert_eq!(path("a:dup").as_deref(), Some("skill://x/dup/SKILL.md"));
    assert_eq!(path("a:dup#2").as_deref(), Some("skill://y/dup/SKILL.md"));
    let refused = skills.read("a:dup#2", "SKILL.md").unwrap_err();
    assert!(
        matches!(&refused, skillcue::Error::Remote { name, .. } if name == "a:dup#2"),
        "hints name that: {refused:?}"
    );
    assert_eq!(catalog.get("b:dup").and_then(skillcue::Skill::server), Some("b"));
    assert_eq!(catalog.get("office:dup").unwrap().source(), Source::Plugin, "a server takes no plugin's name");
    let said: Vec<String> = catalog.diagnostics().iter().map(|found| found.message.to_string()).collect();
    assert!(said.iter().any(|message| message.contains("the same name as the plugin `office`")), "{said:?}");
}
