//! Every client × every event × every case: what each client's model gets.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

mod closed;
mod samples;

#[path = "../../../skillcue/tests/support/not_for_models.rs"]
mod not_for_models;

use std::path::Path;

use samples::{SAMPLES, Samples};
use serde_json::Value;
use skillcue::{SkillRoot, Skillcue, Source};
use skillcue_clients::Client;
use skillcue_clients::hook::{
    AnswerShape, HookDecision, HookEvent, HookInput, HookOptions, HookSession, HookStyle, StartAnswer, StartSource,
    decide, shape,
};

/// A home with a skill of each kind, below a folder of one client, or of none.
struct House {
    dir: tempfile::TempDir,
    skills: Skillcue,
    options: HookOptions,
    samples: &'static Samples,
}

const PDF: &str = "---\nname: pdf-forms\ndescription: Fills in PDF forms and flattens them.\nmetadata:\n  triggers:\n    keywords: [pdf, form]\n    files: ['*.pdf']\n---\nUse pdftk, then check.\n";
const CSV: &str = "---\nname: csv-charts\ndescription: Draws charts of tables.\nmetadata:\n  triggers: [spreadsheet]\n---\nWrite <table> & <chart>.\n";

fn write(root: &Path, name: &str, text: &str) {
    std::fs::create_dir_all(root.join(name)).unwrap();
    std::fs::write(root.join(name).join("SKILL.md"), text).unwrap();
}

impl House {
    fn new(samples: &'static Samples) -> House {
        House::with(samples, "elsewhere/skills", Source::User, HookOptions::default())
    }

    fn with(samples: &'static Samples, folder: &str, source: Source, options: HookOptions) -> House {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join(folder);
        write(&root, "pdf-forms", PDF);
        write(&root, "csv-charts", CSV);
        let filler = "A sentence that fills the page with words.\n".repeat(60);
        let section = |name: &str| format!("## {name}\n\n{filler}\n");
        let long: String =
            ["Merge", "Split", "Rotate", "Encrypt", "Watermark", "Sign"].iter().map(|it| section(it)).collect();
        let long = format!(
            "---\nname: archive-books\ndescription: Binds books.\nmetadata:\n  triggers: [bookbinding]\n---\nBind them.\n\n{long}"
        );
        write(&root, "archive-books", &long);
        House::over(samples, dir, SkillRoot::new(root, source), options)
    }

    fn over(samples: &'static Samples, dir: tempfile::TempDir, root: SkillRoot, options: HookOptions) -> House {
        let builder = Skillcue::builder().root(root);
        let skills = shape(builder, samples.adapter(), &options).build().unwrap();
        House { dir, skills, options, samples }
    }

    fn decide(&self, input: &HookInput, session: &mut HookSession) -> HookDecision {
        let decision = decide(&self.skills, self.samples.adapter(), &self.options, input, Some(session.clone()));
        if let Some(after) = decision.session.clone().filter(|_| decision.has_changed) {
            *session = after;
        }
        decision
    }

    /// The context that the client reads for an input; empty, if none.
    fn context(&self, input: &HookInput, session: &mut HookSession) -> String {
        let Some(answer) = self.decide(input, session).answer else { return String::new() };
        let json: Value = serde_json::from_str(&answer.to_json()).unwrap();
        let context = match self.samples.adapter().shape {
            AnswerShape::Flat => {
                assert_eq!(json.as_object().unwrap().len(), 1);
                json["additionalContext"].clone()
            }
            AnswerShape::Nested => {
                assert_eq!(json["hookSpecificOutput"]["hookEventName"], Value::from(input.event_name.as_str()));
                json["hookSpecificOutput"]["additionalContext"].clone()
            }
        };
        let context = context.as_str().unwrap().to_owned();
        assert!(!context.is_empty() && context.encode_utf16().count() <= 9_000, "{}", context.len());
        context
    }

    fn ask(&self, prompt: &str, session: &mut HookSession) -> String {
        self.context(&self.samples.asks(prompt), session)
    }
}

fn of(client: Client) -> &'static Samples {
    SAMPLES.iter().find(|samples| samples.client == client).unwrap()
}

/// Whether the client gets the body of a skill that fits, and not only a name.
fn gets_bodies(samples: &Samples) -> bool {
    samples.adapter().style == HookStyle::Body
}

#[test]
fn samples_are_read() {
    for samples in &SAMPLES {
        let prompt = samples.asks("a \"quoted\" <b> 表");
        assert_eq!(prompt.event, HookEvent::Prompt("a \"quoted\" <b> 表".to_owned()));
        assert_eq!(prompt.cwd.as_deref(), Some(Path::new("/work")));
        assert!(prompt.session.is_some());
        assert!(matches!(samples.touches("a.pdf").event, HookEvent::AfterTool { arguments: Value::Object(_), .. }));
        assert_eq!(samples.parse(samples.compaction).event, HookEvent::Compaction);
        if let Some(compacted) = samples.compacted {
            assert_eq!(samples.parse(compacted).event, HookEvent::Start(StartSource::Compacted));
        }
    }
}

#[test]
fn a_match_is_shown_once_until_it_changes() {
    for samples in &SAMPLES {
        let (house, mut session) = (House::new(samples), HookSession::default());
        let client = samples.client;
        let first = house.ask("fill in the pdf form", &mut session);
        assert_eq!(first.contains("Use pdftk, then check."), gets_bodies(samples), "{client}: {first}");
        assert!(first.contains("pdf-forms/SKILL.md") || first.contains("Base directory"), "{client}: {first}");
        assert_eq!(house.ask("and the other pdf form", &mut session), "", "{client}");
        write(&house.dir.path().join("elsewhere/skills"), "pdf-forms", &PDF.replace("then check", "then sign"));
        let changed = House::over(
            samples,
            house.dir,
            SkillRoot::new(house.skills.catalog().get("pdf-forms").unwrap().root().path.clone(), Source::User),
            house.options,
        );
        let again = changed.ask("fill in the pdf form", &mut session);
        assert_eq!(again.contains("Use pdftk, then sign."), gets_bodies(samples), "{client}: {again}");
    }
}

#[test]
fn a_message_that_needs_nothing_gets_nothing() {
    for samples in &SAMPLES {
        let (house, mut session) = (House::new(samples), HookSession::default());
        for message in ["What is 2+2?", "", "  \n", "what can you do?", "show all skills", "list your skills"] {
            assert_eq!(house.ask(message, &mut session), "", "{}: {message}", samples.client);
        }
        assert_eq!(session, HookSession::default(), "nothing to remember");
    }
}

#[test]
fn a_body_with_markup_is_a_name_and_a_path_where_markup_is_escaped() {
    for samples in &SAMPLES {
        let (house, mut session) = (House::new(samples), HookSession::default());
        let shown = house.ask("make a chart of the spreadsheet", &mut session);
        let is_whole = gets_bodies(samples) && !samples.adapter().escapes_markup;
        assert_eq!(shown.contains("Write <table> & <chart>."), is_whole, "{}: {shown}", samples.client);
        assert!(is_whole || (shown.contains("csv-charts/SKILL.md") && !shown.contains(['<', '>'])), "{shown}");
        assert_eq!(house.ask("another chart of the spreadsheet", &mut session), "", "{}", samples.client);
    }
}

#[test]
fn a_long_body_comes_in_whole_sections_and_says_where_the_rest_is() {
    for samples in SAMPLES.iter().filter(|samples| gets_bodies(samples)) {
        let (house, mut session) = (House::new(samples), HookSession::default());
        let shown = house.ask("bookbinding: sign and watermark the pages", &mut session);
        assert!(shown.contains("Bind them.") && shown.contains("## Sign") && shown.contains("## Watermark"), "{shown}");
        assert!(!shown.contains("## Merge") && !shown.contains("load_skill"), "{shown}");
        let file = house.dir.path().join("elsewhere/skills/archive-books/SKILL.md");
        assert!(shown.contains(&format!("Read {} for the rest.", file.display())), "{}: {shown}", samples.client);
    }
}

#[test]
fn the_tools_of_mcp_are_named_where_they_are_connected() {
    for samples in &SAMPLES {
        let options = HookOptions { has_tools: true, ..HookOptions::default() };
        let (house, mut session) = (House::with(samples, "s", Source::User, options), HookSession::default());
        let shown = house.ask("bookbinding: sign and watermark the pages", &mut session);
        assert!(shown.contains("load_skill \"archive-books\""), "{}: {shown}", samples.client);
    }
}

#[test]
fn a_name_is_in_the_words_of_the_client() {
    let lines = [
        (Client::Claude, ".claude/skills", "load it with the Skill tool"),
        (Client::Codex, ".agents/skills", "read [DIR]/.agents/skills/pdf-forms/SKILL.md"),
        (Client::Gemini, ".agents/skills", "load it with the activate_skill tool"),
        (Client::Opencode, ".claude/skills", "load it with the skill tool"),
        (Client::Qwen, ".qwen/skills", "load it with the skill tool"),
        (Client::Copilot, ".copilot/skills", "load it with the skill tool"),
        (Client::Claude, ".agents/skills", "read [DIR]/.agents/skills/pdf-forms/SKILL.md"),
    ];
    for (client, folder, words) in lines {
        let options = HookOptions { style: HookStyle::Name, ..HookOptions::default() };
        let (house, mut session) = (House::with(of(client), folder, Source::User, options), HookSession::default());
        let line = house.ask("fill in the pdf form", &mut session);
        let line = line.replace(house.dir.path().to_str().unwrap(), "[DIR]");
        assert_eq!(line, format!("[This skill fits this message: pdf-forms ({words}). Use what applies.]"), "{client}");
        assert_eq!(house.ask("the next pdf form", &mut session), "", "{client}: named once");
    }
}

#[test]
fn without_a_session_skills_are_only_named() {
    for samples in &SAMPLES {
        let house = House::new(samples);
        let input = samples.asks("fill in the pdf form");
        let decision = decide(&house.skills, samples.adapter(), &house.options, &input, None);
        let text = decision.answer.unwrap().text;
        assert!(text.contains("pdf-forms") && !text.contains("pdftk") && decision.session.is_none(), "{text}");
    }
}

#[test]
fn a_skill_that_the_client_loads_itself_is_not_shown_twice() {
    for (client, folder, prompt) in
        [(Client::Claude, ".claude/skills", "/pdf-forms a.pdf"), (Client::Codex, ".codex/skills", "$pdf-forms a.pdf")]
    {
        let house = House::with(of(client), folder, Source::User, HookOptions::default());
        let mut session = HookSession::default();
        assert_eq!(house.ask(prompt, &mut session), "", "{client}");
        assert_eq!(house.ask("fill in the pdf form", &mut session), "", "{client}");
        let elsewhere = House::new(of(client));
        assert!(elsewhere.ask(prompt, &mut HookSession::default()).contains("pdftk"), "{client} does not know it");
    }
    let house = House::with(of(Client::Claude), ".claude/skills", Source::User, HookOptions::default());
    let mut session = HookSession::default();
    let loaded = r#"{"session_id":"3f0c","cwd":"/work","hook_event_name":"PostToolUse","tool_name":"Skill","tool_input":{"skill":"pdf-forms"}}"#;
    assert_eq!(house.context(&house.samples.parse(loaded), &mut session), "");
    assert_eq!(house.ask("fill in the pdf form", &mut session), "", "the model has loaded it");
}

#[test]
fn a_touched_file_is_hinted_at_once() {
    for samples in &SAMPLES {
        let (house, mut session) = (House::new(samples), HookSession::default());
        assert_eq!(house.context(&samples.touches("notes.txt"), &mut session), "", "{}", samples.client);
        let hint = house.context(&samples.touches("inbox/tax.pdf"), &mut session);
        assert!(
            hint.starts_with("[Skills that may fit what you are doing: pdf-forms (\""),
            "{}: {hint}",
            samples.client
        );
        assert!(hint.contains("tax.pdf") && hint.lines().count() == 1 && !hint.contains("pdftk"), "{hint}");
        assert_eq!(house.context(&samples.touches("inbox/other.pdf"), &mut session), "", "{}", samples.client);
    }
}

#[test]
fn skills_in_use_are_shown_again_after_a_compaction() {
    for samples in &SAMPLES {
        let (house, mut session) = (House::new(samples), HookSession::default());
        house.ask("fill in the pdf form", &mut session);
        let compaction = samples.parse(samples.compaction);
        assert_eq!(house.context(&compaction, &mut session), "");
        let again = match samples.compacted {
            Some(compacted) => house.context(&samples.parse(compacted), &mut session),
            None => house.ask("What is 2+2?", &mut session),
        };
        assert!(again.contains("pdf-forms"), "{}: {again}", samples.client);
        assert_eq!(again.contains("Use pdftk, then check."), gets_bodies(samples), "{}: {again}", samples.client);
        assert_eq!(house.ask("fill in the pdf form", &mut session), "", "{}: it is there again", samples.client);
        assert_eq!(house.ask("What is 2+2?", &mut session), "", "{}", samples.client);
    }
}

#[test]
fn an_emptied_context_is_a_new_one() {
    let house = House::with(of(Client::Claude), ".claude/skills", Source::User, HookOptions::default());
    let mut session = HookSession::default();
    let first = house.ask("fill in the pdf form", &mut session);
    let start = |source: &str| {
        let sent =
            format!(r#"{{"session_id":"3f0c","cwd":"/work","hook_event_name":"SessionStart","source":"{source}"}}"#);
        house.samples.parse(&sent)
    };
    for source in ["startup", "resume", "later"] {
        assert_eq!(house.context(&start(source), &mut session), "");
    }
    assert_eq!(house.ask("fill in the pdf form", &mut session), "", "a resumed session has its history");
    assert_eq!(house.context(&start("clear"), &mut session), "");
    assert_eq!(house.ask("fill in the pdf form", &mut session), first);
}

#[test]
fn a_skill_of_a_checkout_is_named_until_a_person_allows_it() {
    for samples in &SAMPLES {
        let options = HookOptions::default();
        let (house, mut session) =
            (House::with(samples, "repo/skills", Source::Project, options), HookSession::default());
        let shown = house.ask("fill in the pdf form", &mut session);
        assert!(shown.contains("pdf-forms") && !shown.contains("pdftk"), "{}: {shown}", samples.client);
        assert_eq!(house.context(&samples.touches("a.pdf"), &mut HookSession::default()), "", "not by a file");
    }
}

#[test]
fn skills_that_are_not_for_models_reach_none() {
    let dir = tempfile::tempdir().unwrap();
    not_for_models::write(dir.path());
    for samples in &SAMPLES {
        for style in [HookStyle::Body, HookStyle::Name] {
            let options = HookOptions { style, ..HookOptions::default() };
            let skills = shape(not_for_models::builder(dir.path()), samples.adapter(), &options).build().unwrap();
            let mut control = 0;
            for message in ["the invoice", "invoices, openly written", "what can you do?", "show all skills", "quetz"] {
                let input = samples.asks(message);
                let decision = decide(&skills, samples.adapter(), &options, &input, Some(HookSession::default()));
                let text = decision.answer.map(|answer| answer.text).unwrap_or_default();
                control += usize::from(text.contains("open"));
                not_for_models::check(&format!("hook {} {message}", samples.client), &text);
            }
            assert!(control > 0, "the control was never shown to {}", samples.client);
        }
    }
}

#[test]
fn an_answer_stays_below_the_limit_in_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let body = "表を読む。図を描く。\n".repeat(900);
    let text =
        format!("---\nname: tables\ndescription: Reads tables.\nmetadata:\n  triggers: [spreadsheet]\n---\n{body}");
    write(dir.path(), "tables", &text);
    for samples in &SAMPLES {
        let root = SkillRoot::new(dir.path(), Source::User);
        let skills = shape(Skillcue::builder().root(root), samples.adapter(), &HookOptions::default()).build().unwrap();
        let input = samples.asks("read the spreadsheet");
        let session = Some(HookSession::default());
        let text = decide(&skills, samples.adapter(), &HookOptions::default(), &input, session).answer.unwrap().text;
        assert!(text.encode_utf16().count() <= 9_000, "{}: {}", samples.client, text.len());
        assert!(samples.client != Client::Codex || text.len() <= 9_500, "{}", text.len());
        assert_eq!(text.contains("図を描く。"), gets_bodies(samples), "{}: {text}", samples.client);
    }
}

#[test]
fn inputs_that_are_none_are_errors() {
    for samples in &SAMPLES {
        let parse = |sent: &[u8]| HookInput::parse(samples.adapter(), sent, None);
        for sent in ["", "{", "[]", "1", "null", "\"x\"", "{}", "{\"prompt\":1}", "\u{feff}{}"] {
            assert!(parse(sent.as_bytes()).is_err(), "{}: {sent}", samples.client);
        }
        assert!(parse(&[0xff, 0xfe]).is_err());
        let other = parse(br#"{"hook_event_name":"Stop","session_id":"1"}"#).unwrap();
        assert_eq!(other.event, HookEvent::Other);
        let odd = parse(br#"{"hook_event_name":"Stop","session_id":7,"sessionId":7,"cwd":["x"]}"#).unwrap();
        assert_eq!((odd.session, odd.cwd), (None, None));
    }
}

/// Names without a tool that loads them come with their files, those of one folder together.
#[test]
fn likely_skills_come_with_their_files() {
    let dir = tempfile::tempdir().unwrap();
    for (name, what) in [("pdf-merge", "Merges"), ("pdf-split", "Splits"), ("pdf-rotate", "Rotates")] {
        write(dir.path(), name, &format!("---\nname: {name}\ndescription: {what} documents.\n---\nDo it.\n"));
    }
    let mut listed = 0;
    for samples in &SAMPLES {
        for message in ["documents", "work on the documents", "split or merge documents"] {
            let root = SkillRoot::new(dir.path(), Source::User);
            let options = HookOptions::default();
            let skills = shape(Skillcue::builder().root(root), samples.adapter(), &options).build().unwrap();
            let input = samples.asks(message);
            let decision = decide(&skills, samples.adapter(), &options, &input, Some(HookSession::default()));
            let Some(text) = decision.answer.map(|answer| answer.text) else { continue };
            for line in text.lines().filter(|line| line.contains("**: ")) {
                listed += 1;
                let name = line.trim_start_matches("- **").split("**").next().unwrap();
                let files = text.lines().last().unwrap();
                assert!(files.starts_with("Files: ") && files.contains(name) && files.contains("SKILL.md"), "{text}");
                // No client lists this folder, so none of their own tools loads it.
                assert!(text.contains("If one fits, read its file; otherwise ignore them."), "{text}");
            }
        }
    }
    assert!(listed > 0, "nothing was named");
}

/// Returns the input at the start of a session.
fn start(samples: &Samples, source: StartSource) -> HookInput {
    HookInput { event: HookEvent::Start(source), event_name: "start".to_owned(), ..samples.asks("") }
}

#[test]
fn skills_that_a_client_does_not_list_are_listed_at_the_start() {
    for samples in &SAMPLES {
        let (client, kept) = (samples.client, samples.adapter().start_answer);
        let mut session = HookSession::default();
        let house = House::new(samples);
        let first = house.context(&start(samples, StartSource::New), &mut session);
        if kept == StartAnswer::Unusable {
            assert_eq!(first, "", "{client}");
            continue;
        }
        let folder = house.dir.path().join("elsewhere/skills");
        assert_eq!(
            first,
            format!(
                "## Skills that are not in your own list\n\nBelow {}; read a skill's file before you use it:\n\n\
                 - **archive-books** (archive-books/SKILL.md): Binds books\n\
                 - **csv-charts** (csv-charts/SKILL.md): Draws charts of tables\n\
                 - **pdf-forms** (pdf-forms/SKILL.md): Fills in PDF forms and flattens them",
                folder.display()
            ),
            "{client}"
        );
        // Where it stays in the conversation, it is shown once; after the context is gone, again.
        let again = house.context(&start(samples, StartSource::New), &mut session);
        assert_eq!(again.is_empty(), kept == StartAnswer::Kept, "{client}: {again}");
        for source in [StartSource::Compacted, StartSource::Cleared] {
            assert_eq!(house.context(&start(samples, source), &mut session), first, "{client}");
        }
        // The client's own folder is listed by the client.
        let own = client.user_folder().unwrap();
        let listed = House::with(samples, own, Source::User, HookOptions::default());
        assert_eq!(listed.context(&start(samples, StartSource::New), &mut HookSession::default()), "", "{client}");
        // Our server's instructions list them all, where the model is shown these.
        let served = HookOptions { has_tools: true, ..HookOptions::default() };
        let served = House::with(samples, "elsewhere/skills", Source::User, served);
        let list = served.context(&start(samples, StartSource::New), &mut HookSession::default());
        assert_eq!(list.contains("Load one with load_skill"), client == Client::Copilot, "{client}: {list}");
        assert_eq!(list.is_empty(), client != Client::Copilot, "{client}: {list}");
    }
}

#[test]
fn a_list_that_is_too_long_says_where_the_skills_are() {
    let samples = of(Client::Claude);
    for (has_tools, client) in [(false, Client::Claude), (true, Client::Copilot)] {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("elsewhere");
        for at in 0..200 {
            let text = format!("---\nname: skill-{at:03}\ndescription: Does the {at}th of many things.\n---\nDo it.\n");
            write(&root, &format!("skill-{at:03}"), &text);
        }
        let options = HookOptions { has_tools, ..HookOptions::default() };
        let samples = if client == samples.client { samples } else { of(client) };
        let house = House::over(samples, dir, SkillRoot::new(root.clone(), Source::User), options);
        let list = house.context(&start(samples, StartSource::New), &mut HookSession::default());
        assert!(list.starts_with("[200 skills are not in your own list.") && list.len() < 300 + root.as_os_str().len());
        assert_eq!(list.contains(root.to_str().unwrap()), !has_tools, "{list}");
        assert_eq!(list.contains("search_skills"), has_tools, "{list}");
    }
}
