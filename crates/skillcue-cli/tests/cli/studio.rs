use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::Sandbox;

const LINES: &str = "{\"query\": \"open the pdf\", \"relevant\": [\"pdf\"]}\n\
{\"query\": \"chart it\", \"relevant\": [\"csv\"]}\n\
{\"query\": \"What is 2+2?\", \"relevant\": []}\n";

/// A running studio, and the cookie of the browser that opened it.
struct Studio {
    child: Child,
    port: u16,
    cookie: String,
}

impl Studio {
    fn start(sandbox: &Sandbox, more: &[&str]) -> Studio {
        let args: Vec<&str> = ["--isolated", "--skills-dir", "skills", "studio", "--json"]
            .into_iter()
            .chain(more.iter().copied())
            .collect();
        Studio::of(sandbox.command(&args))
    }

    fn of(mut command: Command) -> Studio {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let said: Value = serde_json::from_str(&line).unwrap();
        let (address, port) = (said["address"].as_str().unwrap(), said["port"].as_u64().unwrap());
        let mut studio = Studio { child, port: u16::try_from(port).unwrap(), cookie: String::new() };
        let path = &address[address.find("/open").unwrap()..];
        let opened = studio.send(&format!("GET {path} HTTP/1.1\r\n"), "");
        let cookie = opened.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
        cookie.split(';').next().unwrap().clone_into(&mut studio.cookie);
        studio
    }

    fn send(&self, head: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let host = format!("127.0.0.1:{}", self.port);
        let request = format!(
            "{head}Host: {host}\r\nOrigin: http://{host}\r\nCookie: {}\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            self.cookie,
            body.len()
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        String::from_utf8(answer).unwrap()
    }

    /// Asks a question as the page does. Answers are whole, because their length is declared.
    fn ask(&self, question: &str, fields: &Value) -> Value {
        let answer = self.send(&format!("POST /api/{question} HTTP/1.1\r\n"), &fields.to_string());
        serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
    }
}

impl Drop for Studio {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn with_messages() -> Sandbox {
    let sandbox = Sandbox::with_library();
    sandbox.write("work/lines.jsonl", LINES);
    sandbox
}

fn printed(sandbox: &Sandbox, args: &[&str]) -> Value {
    let args: Vec<&str> = args.iter().copied().chain(["--json"]).collect();
    serde_json::from_str(&sandbox.isolated(&args).stdout).unwrap()
}

/// The document without times, which differ from run to run.
fn timeless(mut document: Value) -> Value {
    if let Some(fields) = document.as_object_mut() {
        fields.remove("elapsed_us");
        fields.remove("sweep");
        for root in fields.get_mut("roots").and_then(Value::as_array_mut).into_iter().flatten() {
            root["microseconds"] = Value::Null;
        }
    }
    document
}

#[test]
fn answers_are_the_documents_of_commands() {
    let sandbox = with_messages();
    let studio = Studio::start(&sandbox, &["--messages", "lines.jsonl"]);
    let message = "open the pdf, please";
    for (question, fields, command) in [
        ("list", json!({}), vec!["list"]),
        ("show", json!({"name": "pdf"}), vec!["show", "pdf"]),
        ("context", json!({"message": message}), vec!["context", message]),
        (
            "context",
            json!({"message": message, "config": {"mode": "keyword", "policy": "hint", "eagerness": 0.25, "budget": 100}}),
            vec!["context", message, "--mode", "keyword", "--policy", "hint", "--eagerness", "0.25", "--budget", "100"],
        ),
        ("why", json!({"message": message}), vec!["why", message]),
        ("why", json!({"message": message, "name": "csv"}), vec!["why", message, "csv"]),
        ("prompt", json!({"window": 4000}), vec!["prompt", "--window", "4000"]),
        ("doctor", json!({}), vec!["doctor"]),
        ("usage", json!({"since": "all"}), vec!["usage", "--since", "all"]),
        ("verify", json!({}), vec!["verify"]),
        ("allowed", json!({}), vec!["allowed"]),
        ("audit", json!({}), vec!["audit"]),
    ] {
        let asked = sandbox.redact(&studio.ask(question, &fields).to_string());
        let (asked, printed) = (serde_json::from_str(&asked).unwrap(), printed(&sandbox, &command));
        assert_eq!(timeless(asked), timeless(printed), "{question} {fields}");
    }
    let evaluation = studio.ask("eval", &json!({"run": "now"}))["evaluation"].clone();
    assert_eq!(evaluation["sweep"].as_array().unwrap().len(), 11, "for the threshold to drag");
    assert_eq!(timeless(evaluation), timeless(printed(&sandbox, &["eval", "lines.jsonl"])));
    for (question, fields, code) in [
        ("show", json!({"name": "nothing"}), "not_found"),
        ("context", json!({"message": "a", "config": {"mode": "loud"}}), "usage"),
        ("eval", json!({"run": "../../etc/passwd"}), "not_found"),
        ("trace", json!({"session": "../../etc/passwd"}), "not_found"),
        ("usage", json!({"since": "yesterday"}), "usage"),
        ("save", json!({"name": "pdf", "description": "x", "before": ""}), "read_only"),
    ] {
        assert_eq!(studio.ask(question, &fields)["error"]["code"], code, "{question} {fields}");
    }
}

#[test]
fn another_description_is_judged_without_touching_the_disk_and_saved_after_a_look() {
    let sandbox = with_messages();
    let file = sandbox.path("work/skills/pdf/SKILL.md");
    let before = std::fs::read(&file).unwrap();
    let studio = Studio::start(&sandbox, &["--edit"]);
    let message = "put a watermark on all invoices of the archive";
    let description = "Puts a watermark on invoices: every one of an archive.";
    let judged = studio.ask("what_if", &json!({"message": message, "name": "pdf", "description": description}));
    let certainty = |which: &str| judged[which]["skill"]["hit"]["certainty"].as_f64().unwrap_or(0.0);
    assert!(certainty("after") > certainty("before"), "{judged}");
    assert_eq!(std::fs::read(&file).unwrap(), before, "nothing was written");

    let seen = studio.ask("preview", &json!({"name": "pdf", "description": description}));
    assert!(seen["diff"].as_str().unwrap().contains(&format!("+description: \"{description}\"")), "{seen}");
    assert_eq!(std::fs::read(&file).unwrap(), before, "nothing was written");

    let save =
        |digest: &Value| studio.ask("save", &json!({"name": "pdf", "description": description, "before": digest}));
    assert_eq!(save(&json!("0000"))["error"]["code"], "changed");
    assert_eq!(std::fs::read(&file).unwrap(), before, "another file than the one that was looked at");
    assert_eq!(save(&seen["before"])["error"], Value::Null);
    let after = std::fs::read_to_string(&file).unwrap();
    assert!(after.contains(description));
    let kept = |text: &str| {
        text.lines().filter(|line| !line.starts_with("description:")).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(kept(&after), kept(&String::from_utf8(before).unwrap()));
    let shown = studio.ask("show", &json!({"name": "pdf"}));
    assert_eq!(shown["description"], description, "the page sees it at once");
}

#[test]
fn an_exported_page_has_its_data_and_nothing_of_the_home() {
    let sandbox = with_messages();
    let home = sandbox.path("home").to_string_lossy().into_owned();
    let secret = format!("ghp_{}", "A1b2C3d4E5f6G7h8I9j0".repeat(2));
    sandbox.write(
        "work/skills/leaky/SKILL.md",
        format!("---\nname: leaky\ndescription: Opens a pdf with {secret} of {home}/key.\n---\nSee {home}/notes.\n"),
    );
    sandbox.write(
        "work/more.jsonl",
        format!("{{\"query\": \"open {home}/a.pdf with {secret}\", \"relevant\": [\"pdf\"]}}\n{LINES}"),
    );
    let run = sandbox.run(&[
        "--isolated",
        "--skills-dir",
        "skills",
        "studio",
        "--export",
        "report.html",
        "--messages",
        "more.jsonl",
    ]);
    assert!(run.stderr.contains("wrote report.html"), "{run}");
    let page = std::fs::read_to_string(sandbox.path("work/report.html")).unwrap();
    for hidden in [home.as_str(), secret.as_str(), sandbox.path("work").to_str().unwrap()] {
        assert!(!page.contains(hidden), "{hidden} is in the page");
    }
    let start = page.find("id=\"answers\">").unwrap() + "id=\"answers\">".len();
    let answers: Value = serde_json::from_str(&page[start..start + page[start..].find("</script>").unwrap()]).unwrap();
    assert_eq!(answers["list {}"]["answer"].as_array().unwrap().len(), 5);
    let figures = &answers["eval {\"run\":\"now\"}"]["answer"]["evaluation"];
    let args = ["--isolated", "--skills-dir", "skills", "eval", "more.jsonl", "--json"];
    let printed: Value = serde_json::from_str(&sandbox.run(&args).stdout).unwrap();
    for figure in ["recall_at", "shown", "named", "wrongly_shown", "tokens", "calibration_error", "positives"] {
        assert_eq!(figures[figure], printed[figure], "{figure}");
    }
}

/// Skills that models may not have are no part of what the page says a model gets, whatever is asked.
#[test]
fn the_page_keeps_to_what_models_may_see() {
    let sandbox = Sandbox::with_library();
    for dir in ["work/skills/off", "work/skills/closed", "work/.claude/skills/foreign"] {
        let name = dir.rsplit('/').next().unwrap();
        let front = format!("name: {name}\ndescription: Opens a PDF.\nmetadata:\n  triggers: [open the pdf]");
        sandbox.write(&format!("{dir}/SKILL.md"), format!("---\n{front}\n---\nBODY-OF-{name}\n"));
    }
    sandbox.write("etc/policy.toml", "name = \"Acme\"\n\n[forbid]\nskills = [\"closed\"]\n");
    let policy = sandbox.path("etc/policy.toml");
    let command = |args: &[&str]| {
        let mut command = sandbox.command(&[&["--skills-dir", "skills"], args].concat());
        command.env("SKILLCUE_POLICY", &policy);
        command
    };
    let printed = |args: &[&str]| -> Value {
        let run = sandbox.finish(command(&[args, &["--json"]].concat()).output().unwrap());
        serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{run}"))
    };
    let disabled = sandbox.finish(command(&["disable", "off"]).output().unwrap());
    assert_eq!(disabled.code, Some(0), "{disabled}");

    let studio = Studio::of(command(&["studio", "--json"]));
    let list = studio.ask("list", &json!({}));
    let listed = |name: &str| list.as_array().unwrap().iter().find(|skill| skill["name"] == name).unwrap().clone();
    assert_eq!(listed("secret")["disable_model_invocation"], true);
    assert_eq!(listed("off")["enabled"], false);
    assert_eq!(listed("closed")["refused"]["rule"], "forbid.skills");

    let message = "open the pdf";
    let context = studio.ask("context", &json!({"message": message}));
    let context = serde_json::from_str(&sandbox.redact(&context.to_string())).unwrap();
    assert_eq!(timeless(context), timeless(printed(&["context", message])));
    let what_if =
        |name: &str| json!({"message": message, "name": name, "description": "Opens the PDF, whatever PDF it is."});
    for name in ["secret", "off", "closed"] {
        for (question, fields) in [
            ("context", json!({"message": message, "config": {"policy": "hint", "eagerness": 1.0}})),
            ("why", json!({"message": message})),
            ("prompt", json!({"window": 200_000})),
            ("what_if", what_if("pdf")),
        ] {
            let answer = studio.ask(question, &fields).to_string();
            let says = |text: String| answer.contains(&text);
            assert!(!says(format!("BODY-OF-{name}")) && !says(format!("\"{name}\"")), "{question} {name}: {answer}");
        }
        let judged = studio.ask("what_if", &what_if(name));
        let decisions = judged["after"]["decisions"].as_array().cloned().unwrap_or_default();
        assert!(decisions.iter().all(|one| one["name"] != name), "a description does not open {name}: {judged}");
        let error = |answer: Value| answer["error"]["code"].clone();
        let asked = error(studio.ask("why", &json!({"message": message, "name": name})));
        assert_eq!(asked, error(printed(&["why", message, name])), "{name}");
    }

    let names = json!({"names": ["foreign", "pdf", "nothing"]});
    assert_eq!(studio.ask("held", &names), json!({"held": ["foreign"]}), "agents and hooks hold it back");
    let allowed = sandbox.finish(command(&["allow", "foreign", "--yes"]).output().unwrap());
    assert_eq!(allowed.code, Some(0), "{allowed}");
    assert_eq!(studio.ask("held", &names), json!({"held": []}));
}

/// The evaluation of the page's own messages is that of the skills as they are, not as they were.
#[test]
fn an_evaluation_follows_a_saved_description() {
    let sandbox = with_messages();
    let studio = Studio::start(&sandbox, &["--edit", "--messages", "lines.jsonl"]);
    let figures = || timeless(studio.ask("eval", &json!({"run": "now"}))["evaluation"].clone());
    let before = figures();
    let description = "Opens the pdf. Use when the user says: open the pdf, chart it.";
    let seen = studio.ask("preview", &json!({"name": "origami", "description": description}));
    let save = json!({"name": "origami", "description": description, "before": seen["before"]});
    assert_eq!(studio.ask("save", &save)["error"], Value::Null);
    let after = figures();
    assert_ne!(before, after);
    assert_eq!(after, timeless(printed(&sandbox, &["eval", "lines.jsonl"])));
    assert_eq!(studio.ask("eval", &json!({"run": "now"}))["threshold"], json!(0.67));
}
