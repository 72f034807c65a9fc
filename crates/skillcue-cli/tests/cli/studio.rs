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
        ("context", json!({"message": "a", "config": {"eagerness": 1.5}}), "usage"),
        ("why", json!({"message": "a", "config": {"budget": 1.5}}), "usage"),
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
    let (password, encoded) = ("s3same-open", home.replace('/', "%2F"));
    sandbox.write(
        "work/skills/leaky/SKILL.md",
        format!("---\nname: leaky\ndescription: \"Opens a pdf with {secret} of {home}/key. password: {password}, {encoded}\"\n---\nSee {home}/notes.\n"),
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
    assert!(run.stderr.contains("wrote report.html") && !run.stderr.contains("can be looked at"), "{run}");
    let page = std::fs::read_to_string(sandbox.path("work/report.html")).unwrap();
    for hidden in [home.as_str(), secret.as_str(), password, &encoded, sandbox.path("work").to_str().unwrap()] {
        assert!(!page.contains(hidden), "{hidden} is in the page");
    }
    let start = page.find("id=\"answers\">").unwrap() + "id=\"answers\">".len();
    let answers: Value = serde_json::from_str(&page[start..start + page[start..].find("</script>").unwrap()]).unwrap();
    assert_eq!(answers["list {}"]["answer"].as_array().unwrap().len(), 5);
    let now = &answers["eval {\"run\":\"now\"}"]["answer"];
    for case in now["run"]["cases"].as_array().unwrap() {
        let asked = json!({"config": {}, "message": case["query"], "name": null});
        assert!(answers[format!("why {asked}")]["answer"].is_object(), "a message of the evaluation opens: {case}");
    }
    let figures = &now["evaluation"];
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
    assert_eq!(studio.ask("eval", &json!({"run": "now"}))["threshold"], json!(0.68));
}

/// The page opens messages by their text: one that is cut would be another message.
#[test]
fn evaluations_have_whole_messages_or_say_which_are_cut() {
    let sandbox = with_messages();
    std::fs::create_dir_all(sandbox.path("work/.skillcue")).unwrap();
    let [known, gone] =
        ["known", "gone"].map(|word| format!("open the pdf {} {word}", "with all its pages ".repeat(8)));
    let line = |query: &str| format!("{{\"query\": \"{query}\", \"relevant\": [\"pdf\"]}}\n");
    sandbox.write("work/lines.jsonl", format!("{}{}{LINES}", line(&known), line(&gone)));
    assert_eq!(sandbox.isolated(&["eval", "lines.jsonl"]).code, Some(0));
    sandbox.write("work/lines.jsonl", format!("{}{LINES}", line(&known)));
    let studio = Studio::start(&sandbox, &["--messages", "lines.jsonl"]);
    let runs = studio.ask("evals", &json!({}))["runs"].clone();
    let ids: Vec<&str> = runs.as_array().unwrap().iter().map(|run| run["id"].as_str().unwrap()).collect();
    let [now, kept] = ids[..] else { panic!("{runs}") };
    let now = studio.ask("eval", &json!({"run": now}));
    assert_eq!((&now["run"]["cases"][0]["query"], &now["cut"]), (&json!(known), &json!([])));
    let kept = studio.ask("eval", &json!({"run": kept}));
    assert_eq!(kept["run"]["cases"][0]["query"], known.as_str(), "the page knows the whole message");
    assert!(kept["run"]["cases"][1]["query"].as_str().unwrap().ends_with('…'));
    assert_eq!(kept["cut"], json!([1]));
}

/// A skill that an update replaces is changed where it comes from: the next update would take the change back.
#[test]
fn installed_skills_and_those_of_plugins_are_not_edited() {
    let sandbox = Sandbox::new();
    sandbox.write("home/.claude/plugins/cache/office/.claude-plugin/plugin.json", r#"{"name": "office"}"#);
    sandbox.skill("home/.claude/plugins/cache/office/skills/docx", "Reads Word files. Use when asked.");
    sandbox.skill("home/.claude/skills/notes", "Keeps notes. Use when the user wants to remember.");
    sandbox.skill("repo/pdf", "Reads PDF files. Use when the user has a PDF.");
    let run = sandbox.act(&["install", "../repo/pdf", "--enable", "--link", "claude"]);
    assert_eq!(run.code, Some(0), "{run}");
    let installed = sandbox.path("home/.local/share/skillcue/skills/pdf/SKILL.md");
    let before = std::fs::read(&installed).unwrap();
    let studio = Studio::of(sandbox.command(&["studio", "--json", "--edit"]));
    let edit = |name: &str| {
        let preview = studio.ask("preview", &json!({"name": name, "description": "Another. Use when asked."}));
        let save = json!({"name": name, "description": "Another. Use when asked.", "before": preview["before"].as_str().unwrap_or("")});
        assert_eq!(studio.ask("save", &save)["error"]["code"], preview["error"]["code"], "{preview}");
        preview["error"].clone()
    };
    for (name, why, help) in
        [("docx", "plugin \"office\"", "copy it"), ("pdf", "installed from", "skillcue update pdf")]
    {
        let error = edit(name);
        assert_eq!(error["code"], "not_editable", "{name}: {error}");
        assert!(error["message"].as_str().unwrap().contains(why), "{error}");
        assert!(error["help"].as_str().unwrap().contains(help), "{error}");
    }
    assert_eq!(std::fs::read(&installed).unwrap(), before);
    assert_eq!(edit("notes"), Value::Null, "one's own is saved");
}

#[test]
fn a_preview_says_which_consent_lapses_and_where_a_link_leads() {
    let sandbox = Sandbox::new();
    sandbox.skill("work/.claude/skills/foreign", "Opens a PDF. Use when asked.");
    sandbox.skill("elsewhere/linked", "Folds paper. Use when asked.");
    std::fs::create_dir_all(sandbox.path("home/.claude/skills")).unwrap();
    std::os::unix::fs::symlink(sandbox.path("elsewhere/linked"), sandbox.path("home/.claude/skills/linked")).unwrap();
    let studio = Studio::of(sandbox.command(&["studio", "--json", "--edit"]));
    let preview = |name: &str| studio.ask("preview", &json!({"name": name, "description": "Another. Use when asked."}));
    let seen = preview("foreign");
    assert_eq!((&seen["lapses"], &seen["target"]), (&json!([]), &Value::Null), "{seen}");
    let allowed = sandbox.run(&["allow", "foreign", "--yes"]);
    assert_eq!(allowed.code, Some(0), "{allowed}");
    let seen = preview("foreign");
    assert_eq!(seen["lapses"], json!(["load"]), "{seen}");
    let save = json!({"name": "foreign", "description": "Another. Use when asked.", "before": seen["before"]});
    assert_eq!(studio.ask("save", &save)["lapses"], json!(["load"]));
    assert_eq!(studio.ask("allowed", &json!({}))[0]["current"], false);
    assert_eq!(studio.ask("preview", &json!({"name": "foreign", "description": "A third."}))["lapses"], json!([]));
    let seen = preview("linked");
    let target = sandbox.path("elsewhere/linked/SKILL.md").canonicalize().unwrap();
    assert_eq!(seen["target"], target.to_str().unwrap(), "{seen}");
}

#[test]
fn denied_skills_are_listed() {
    let sandbox = Sandbox::new();
    sandbox.skill("work/.claude/skills/foreign", "Opens a PDF. Use when asked.");
    assert_eq!(sandbox.run(&["allow", "foreign", "--yes"]).code, Some(0));
    let studio = Studio::of(sandbox.command(&["studio", "--json"]));
    assert_eq!(studio.ask("denied", &json!({})), json!([]));
    // As `deny` writes it of a skill of a signed catalog, which stays denied whatever it becomes.
    let file = sandbox.path("home/.local/share/skillcue/consent.json");
    let mut records: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    records["consents"][0]["denied"] = true.into();
    records["consents"][0]["changed"] = true.into();
    std::fs::write(&file, records.to_string()).unwrap();
    let rows = studio.ask("denied", &json!({}));
    assert_eq!(rows[0]["subject"]["skill"], "foreign", "{rows}");
    assert_eq!(studio.ask("allowed", &json!({})), json!([]));
}

/// A description of several lines is a list for people: saving keeps its lines, and the block that it is written in.
#[test]
fn saving_keeps_the_lines_of_a_description() {
    let sandbox = with_messages();
    let file = |text: &str| format!("---\nname: lists\ndescription: |\n{text}license: MIT\n---\nBody\n");
    sandbox.write("work/skills/lists/SKILL.md", file("    Makes lists.\n    Use when asked.\n"));
    let studio = Studio::start(&sandbox, &["--edit"]);
    let description = "Makes lists:\n\n- of words\n- of numbers\nUse when asked.";
    let seen = studio.ask("preview", &json!({"name": "lists", "description": description}));
    let save = json!({"name": "lists", "description": description, "before": seen["before"]});
    assert_eq!(studio.ask("save", &save)["error"], Value::Null);
    let saved = std::fs::read_to_string(sandbox.path("work/skills/lists/SKILL.md")).unwrap();
    let text = "    Makes lists:\n\n    - of words\n    - of numbers\n    Use when asked.\n";
    assert_eq!(saved, file(text));
}

#[test]
fn an_export_says_how_many_messages_are_inside() {
    let sandbox = with_messages();
    sandbox.write("work/many.txt", "open the pdf\n".repeat(301));
    let run = sandbox.isolated(&["studio", "--export", "report.html", "--messages", "many.txt"]);
    assert!(run.stderr.contains("300 of 301 messages can be looked at in it"), "{run}");
}
