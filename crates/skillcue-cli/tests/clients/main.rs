//! The six clients, as people have them: installed from their packages, run without a person, each in a home of its own,
//! against a model server on loopback.
//!
//! `cargo xtask test clients` installs them and sets `SKILLCUE_CLIENTS_DIR`; without it, these tests are skipped.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]
#![expect(clippy::print_stdout, reason = "one line a client, for the person who runs the step")]

mod agents;
mod home;
mod lists;
mod picture;
mod skills;
mod talk;
mod transcripts;
mod trust;

use std::path::{Path, PathBuf};
use std::time::Instant;

use agents::{CLAUDE, CODEX, COPILOT, ClientUnderTest, ExpectedText, GEMINI, OPENCODE, QWEN, ToolOffer};
use home::{ClientHome, HomeFiles};
use serde_json::json;
use skillcue_scripted::Received;
use skills::{EMAIL, EMAIL_MESSAGE, PDF, PDF_AGAIN, PDF_MESSAGE, PDF_SENTENCE, PLAIN_MESSAGE};
use talk::{ClientTalk, main_request};

#[test]
fn claude_code_gets_the_right_skill() {
    check(&CLAUDE);
}

#[test]
fn codex_gets_the_right_skill_once_its_hook_is_trusted() {
    check(&CODEX);
}

#[test]
fn gemini_cli_gets_the_right_name() {
    check(&GEMINI);
}

#[test]
fn opencode_gets_the_right_skill() {
    check(&OPENCODE);
}

#[test]
fn qwen_code_gets_the_right_skill() {
    check(&QWEN);
}

#[test]
fn copilot_cli_gets_the_right_skill() {
    check(&COPILOT);
}

/// A client in its home, and the model that it talks to.
struct ClientScene<'c> {
    client: &'c ClientUnderTest,
    home: ClientHome,
    talk: ClientTalk,
}

fn check(client: &ClientUnderTest) {
    let Some(clients) = std::env::var_os("SKILLCUE_CLIENTS_DIR").map(PathBuf::from) else {
        println!("skipped: SKILLCUE_CLIENTS_DIR is not set; `cargo xtask test clients` installs {}", client.package);
        return;
    };
    if !clients.join(client.word).join("node_modules").join(client.program).is_file() {
        println!("skipped: {} is not installed", client.package);
        return;
    }
    let began = Instant::now();
    let talk = ClientTalk::start();
    let home = ClientHome::new(client, &clients, &talk.url());
    let scene = ClientScene { client, home, talk };
    let before = scene.connects_and_disconnects();
    let connected = scene.connect(&before);
    let mut seen = vec!["disconnect is exact".to_owned()];
    if client.word == CODEX.word {
        seen.push(scene.untrusted_hooks_do_nothing());
    }
    seen.push(scene.shows_the_skill_once());
    if client.word == QWEN.word {
        seen.push(scene.escaping_clients_get_a_name());
    }
    seen.push(scene.loads_over_mcp());
    if transcripts::are_read(client) {
        seen.push(transcripts::a_load_over_mcp_counts_once(&scene));
    }
    scene.disconnects_after_use(&before, &connected);
    seen.push(lists::own_list_is_as_doctor_says(client, &clients));
    seen.push(lists::the_start_lists_what_the_client_does_not(client, &clients));
    if transcripts::are_read(client) {
        seen.push(transcripts::a_session_is_imported(client, &clients));
    }
    let (version, seconds) = (scene.home.version(client), began.elapsed().as_secs_f64());
    println!("clients: {} {version}, {seconds:.1} s: {}", client.word, seen.join("; "));
}

impl ClientScene<'_> {
    fn ask(&self, before: &[&str], message: &str) -> Vec<Received> {
        self.talk.ask(&self.home, self.client, before, message)
    }

    /// Returns the home before anything was connected, in which Skillcue was used before: the bundled skills are
    /// unpacked by its first command, whichever that is.
    fn connects_and_disconnects(&self) -> HomeFiles {
        self.home.skillcue(&["list"]);
        let before = self.home.files();
        self.connect(&before);
        self.home.skillcue(&["disconnect", self.client.word, "--yes"]);
        let left = self.home.files().changed_since(&before);
        assert!(left.is_empty(), "{}: disconnect left {left:?}", self.client.word);
        before
    }

    /// Connects, and returns the home after it.
    fn connect(&self, before: &HomeFiles) -> HomeFiles {
        let word = self.client.word;
        let finished = self.home.skillcue(&["connect", word, "--yes"]);
        let said = format!("{}{}", finished.stdout, finished.stderr);
        assert!(word != CODEX.word || said.to_lowercase().contains("trust"), "what a person must do is said: {said}");
        let after = self.home.files();
        let changed = after.changed_since(before);
        for path in self.client.settings {
            assert!(changed.iter().any(|of| of == Path::new(path)), "{word}: {path} is not among {changed:?}");
            assert!(after.text(Path::new(path)).contains("skillcue"), "{word}: {path}");
        }
        after
    }

    /// Codex runs no hook that a person has not looked at. Then the person does.
    fn untrusted_hooks_do_nothing(&self) -> String {
        let requests = self.ask(self.client.begin, PDF_MESSAGE);
        let added = (self.client.added)(main_request(&requests, PDF_MESSAGE));
        assert!(added.is_empty(), "an untrusted hook ran: {added:?}");
        let codex = self.home.client_command(self.client, &self.talk.url());
        let hooks = trust::trust_hooks(codex, &self.home.work());
        assert!(hooks > 0, "codex finds no hook");
        format!("nothing before trust, then {hooks} trusted")
    }

    /// A message that needs a skill carries it, at the place for it; the next one of the session does not carry it again.
    fn shows_the_skill_once(&self) -> String {
        let mark = match self.client.style {
            ExpectedText::Body => PDF_SENTENCE,
            ExpectedText::Name => PDF.name,
        };
        let times = |received: &Received| {
            let texts: Vec<String> =
                received.parts().iter().filter_map(|part| part.text().map(str::to_owned)).collect();
            let added = (self.client.added)(received);
            let added = added.iter().map(|text| text.matches(mark).count().min(1)).sum::<usize>();
            (added, texts.concat().matches(PDF_SENTENCE).count())
        };
        let expected = match self.client.style {
            ExpectedText::Body => (1, 1),
            ExpectedText::Name => (1, 0),
        };
        let requests = self.ask(self.client.begin, PDF_MESSAGE);
        let first = main_request(&requests, PDF_MESSAGE);
        assert_eq!(first.api, agents::wire(self.client));
        assert_eq!(times(first), expected, "{}: {:#?}", self.client.word, first.parts());
        picture::check(self.client, &self.home, first, PDF_MESSAGE);
        let added = (self.client.added)(first).concat();
        assert!(!added.contains(EMAIL.name), "{}: {added}", self.client.word);
        assert!(follows_the_words(first, mark), "{}: {:#?}", self.client.word, first.parts());
        let requests = self.ask(self.client.resume, PDF_AGAIN);
        let second = main_request(&requests, PDF_AGAIN);
        assert!(second.parts().len() > first.parts().len(), "{}: not the same session", self.client.word);
        assert_eq!(times(second), expected, "{}: {:#?}", self.client.word, second.parts());
        format!("{} with the first message of two", if expected.1 == 1 { "body" } else { "name" })
    }

    /// A body that would arrive as `&lt;` is named instead.
    fn escaping_clients_get_a_name(&self) -> String {
        let requests = self.ask(self.client.begin, EMAIL_MESSAGE);
        let added = (self.client.added)(main_request(&requests, EMAIL_MESSAGE)).concat();
        assert!(added.contains(EMAIL.name), "{}: {added:?}", self.client.word);
        assert!(!added.contains("&lt;") && !added.contains("&gt;"), "{}: {added}", self.client.word);
        "a name for a body with < and >".to_owned()
    }

    /// A message that needs no skill gets none; the model finds `load_skill` all the same, and calls it.
    fn loads_over_mcp(&self) -> String {
        let word = self.client.word;
        self.talk.plan(self.client.load_tool, json!({"skill_id": EMAIL.name}));
        let requests = self.ask(self.client.begin, PLAIN_MESSAGE);
        let first = main_request(&requests, PLAIN_MESSAGE);
        let added = (self.client.added)(first);
        assert!(added.is_empty(), "{word}: {PLAIN_MESSAGE:?} needs nothing: {added:?}");
        let tools = first.tools();
        match self.client.offer {
            ToolOffer::Listed => assert!(tools.iter().any(|of| of == self.client.load_tool), "{word}: {tools:?}"),
            ToolOffer::Searched => {
                let is_named = |text: &str| text.contains("skillcue") && text.contains("load_skill");
                let named = first.parts().iter().filter_map(|part| part.text()).any(is_named);
                assert!(named, "{word}: {:#?}", first.parts());
            }
        }
        let second = requests.iter().find(|of| !of.new_results().is_empty());
        let results = second.unwrap_or_else(|| panic!("{word}: load_skill was not called")).new_results();
        let [(_, result)] = results.as_slice() else { panic!("{word}: {results:?}") };
        let envelope = result.find("<skill_context id=\"html-email\">").zip(result.rfind("</skill_context>"));
        let (begin, end) = envelope.unwrap_or_else(|| panic!("{word}: no envelope: {result}"));
        assert!(result[begin..end].contains(EMAIL.body.trim_end()), "{word}: {result}");
        let again = (self.client.added)(second.unwrap_or(first));
        assert!(again.is_empty(), "{word}: a call needs nothing: {again:?}");
        format!("{} over MCP", self.client.load_tool)
    }

    /// Files that the client itself has not touched are as they were; in the others, nothing is left of us.
    fn disconnects_after_use(&self, before: &HomeFiles, connected: &HomeFiles) {
        let word = self.client.word;
        let used = self.home.files();
        let touched = used.changed_since(connected);
        self.home.skillcue(&["disconnect", word, "--yes"]);
        let after = self.home.files();
        for path in after.changed_since(&used) {
            if touched.contains(&path) {
                assert!(!after.text(&path).contains("skillcue"), "{word}: {}:\n{}", path.display(), after.text(&path));
            }
        }
        for path in after.changed_since(before) {
            let is_the_clients = touched.iter().any(|of| *of == path || of.starts_with(&path));
            assert!(is_the_clients, "{word}: {} is not as it was", path.display());
        }
        for path in self.client.settings.iter().map(Path::new) {
            assert!(!after.text(path).contains("skillcue"), "{word}: {}: {}", path.display(), after.text(path));
            assert!(before.has(path) || !after.has(path) || touched.iter().any(|of| of == path), "{}", path.display());
        }
    }
}

/// Returns whether what was added comes after the words of the message, where a model reads it last.
fn follows_the_words(received: &Received, mark: &str) -> bool {
    let mut words = false;
    for part in received.parts() {
        let text = part.text().unwrap_or_default();
        match (text.find(PDF_MESSAGE), text.rfind(mark)) {
            (Some(at), Some(added)) => return at < added,
            (Some(_), None) => words = true,
            (None, Some(_)) if words => return true,
            _ => {}
        }
    }
    false
}
