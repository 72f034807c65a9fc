//! Traces: a line for each request, read again and added up.

use std::os::unix::fs::{PermissionsExt, symlink};

use serde_json::json;
use skillcue::Tokens;
use skillcue_agent::model::FinishReason;
use skillcue_agent::{
    LineSkill, LineText, Message, Purpose, RequestPart, RequestTokens, Summary, TraceError, TraceLine, Tracer,
    list_traces, read_trace,
};
use skillcue_base::ErrorInfo as _;

use crate::at;

fn parts(stable: usize, turn: usize, history: usize) -> RequestTokens {
    let mut parts = RequestTokens::default();
    parts.add(RequestPart::SkillsStable, Tokens(stable));
    parts.add(RequestPart::SkillsTurn, Tokens(turn));
    parts.add(RequestPart::History, Tokens(history));
    parts
}

fn full() -> TraceLine {
    TraceLine {
        time: at(7),
        session: "20261116-1200-abcd".to_owned(),
        turn: 2,
        round: 3,
        purpose: Purpose::Summary,
        api: "openai".to_owned(),
        model: "m".to_owned(),
        tokens: parts(1, 2, 3),
        usage: json!({"prompt_tokens": 9}),
        tier: Some(3),
        policy: Some("auto".to_owned()),
        skills: vec![LineSkill { name: "pdf".to_owned(), decision: "included".to_owned(), tokens: 2 }],
        eager: 100,
        files: vec!["src/a.rs".to_owned()],
        hints: vec!["csv".to_owned()],
        moves: Vec::new(),
        skills_in_history: 2,
        repeated: 4,
        latency_ms: 250,
        first_ms: Some(20),
        attempts: 1,
        stop: Some(FinishReason::Tools),
        calls: vec!["load_skill".to_owned()],
        problems: vec!["memory: it is damaged".to_owned()],
        error: Some("cut".to_owned()),
        text: Some(LineText { request: vec![Message::user("secret words")], answer: "yes".to_owned() }),
    }
}

#[test]
fn a_line_says_everything_in_order() {
    let json = serde_json::to_string(&full()).unwrap();
    assert_eq!(
        json,
        r#"{"time":"2026-11-16T12:00:07.000Z","session":"20261116-1200-abcd","turn":2,"round":3,"purpose":"summary","api":"openai","model":"m","tokens":{"system":0,"skills_stable":1,"skills_turn":2,"tools":0,"history":3,"total":6},"usage":{"prompt_tokens":9},"tier":3,"policy":"auto","skills":[{"name":"pdf","decision":"included","tokens":2}],"eager":100,"files":["src/a.rs"],"hints":["csv"],"skills_in_history":2,"repeated":4,"latency_ms":250,"first_ms":20,"attempts":1,"stop":"tools","calls":["load_skill"],"problems":["memory: it is damaged"],"error":"cut","text":{"request":[{"role":"user","text":"secret words"}],"answer":"yes"}}"#
    );
    let json = serde_json::to_string(&TraceLine::new("s", at(0))).unwrap();
    assert_eq!(
        json,
        r#"{"time":"2026-11-16T12:00:00.000Z","session":"s","turn":0,"round":0,"purpose":"answer","api":"","model":"","tokens":{"system":0,"skills_stable":0,"skills_turn":0,"tools":0,"history":0,"total":0},"usage":null,"tier":null,"policy":null,"skills":[],"eager":0,"latency_ms":0,"first_ms":null,"attempts":0}"#
    );
}

#[test]
fn traces_are_read_back_without_the_text() {
    let dir = tempfile::tempdir().unwrap();
    let tracer = Tracer::new(dir.path().join("a/traces"), false);
    assert!(!tracer.wants_text());
    let line = full();
    tracer.write(&line).unwrap();
    tracer.write(&TraceLine { turn: 3, text: None, ..line.clone() }).unwrap();
    let path = tracer.path(&line.session);
    assert_eq!(path, dir.path().join("a/traces/20261116-1200-abcd.jsonl"));
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(path.parent().unwrap().metadata().unwrap().permissions().mode() & 0o777, 0o700);
    let traced = read_trace(&path).unwrap();
    assert_eq!(traced.problems, []);
    assert_eq!(
        traced.lines,
        [TraceLine { text: None, ..line.clone() }, TraceLine { turn: 3, text: None, ..line.clone() }]
    );
    assert!(!std::fs::read_to_string(&path).unwrap().contains("secret words"), "the text is there only when asked for");
    let tracer = Tracer::new(dir.path().join("text"), true);
    tracer.write(&line).unwrap();
    assert_eq!(read_trace(&tracer.path(&line.session)).unwrap().lines, [line]);
    assert_eq!(list_traces(&dir.path().join("text")).unwrap()[0].session, "20261116-1200-abcd");
    assert_eq!(list_traces(&dir.path().join("none")).unwrap(), []);
}

#[test]
fn a_damaged_line_is_a_problem_and_the_others_are_read() {
    let dir = tempfile::tempdir().unwrap();
    let tracer = Tracer::new(dir.path().to_owned(), false);
    let line = |turn| TraceLine { turn, ..TraceLine::new("s", at(turn)) };
    let path = tracer.path("s");
    tracer.write(&line(1)).unwrap();
    let whole = std::fs::read_to_string(&path).unwrap();
    let wrong_sum = whole.replace("\"total\":0", "\"total\":7");
    // The last line is cut, as a full disk does it.
    std::fs::write(&path, format!("{whole}\u{1}\n\n{wrong_sum}[1]\n{}", &whole[..40])).unwrap();
    tracer.write(&line(2)).unwrap();
    let traced = read_trace(&path).unwrap();
    assert_eq!(traced.lines, [line(1), line(2)]);
    let places: Vec<u64> = traced.problems.iter().map(|problem| problem.line).collect();
    assert_eq!(places, [2, 4, 5, 6]);
    assert!(traced.problems[1].to_string().starts_with("line 4: not readable (the parts add up to 0"), "{traced:?}");
}

#[test]
fn sessions_of_any_name_have_a_file_of_their_own() {
    let dir = tempfile::tempdir().unwrap();
    let tracer = Tracer::new(dir.path().join("traces"), false);
    let long = "ü".repeat(1000);
    for session in ["../../up", "", ".", "..", "a/b", "a\0b", "/etc/passwd", &long] {
        tracer.write(&TraceLine::new(session, at(0))).unwrap();
        let path = tracer.path(session);
        assert_eq!(path.parent(), Some(dir.path().join("traces").as_path()), "{session}");
        assert!(read_trace(&path).unwrap().lines.iter().any(|line| line.session == session), "{session}");
    }
}

#[test]
fn a_link_is_not_followed() {
    let dir = tempfile::tempdir().unwrap();
    let tracer = Tracer::new(dir.path().to_owned(), false);
    let target = dir.path().join("target");
    std::fs::write(&target, "").unwrap();
    symlink(&target, tracer.path("s")).unwrap();
    assert!(matches!(tracer.write(&TraceLine::new("s", at(0))), Err(TraceError::NotAFile { .. })));
    assert!(matches!(read_trace(&tracer.path("s")), Err(TraceError::NotAFile { .. })));
    assert_eq!(std::fs::read(&target).unwrap(), b"");
    let error = read_trace(&tracer.path("none")).unwrap_err();
    assert_eq!(error.code(), "trace_not_found");
}

#[test]
fn sums_are_what_was_sent_and_saved() {
    let line = |session: &str, turn, tokens: RequestTokens, eager| TraceLine {
        turn,
        tokens,
        eager,
        latency_ms: 10,
        usage: json!({"prompt_tokens": 20, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 5}}),
        ..TraceLine::new(session, at(turn))
    };
    let lines = [
        line("a", 2, parts(10, 40, 5), 1000),
        line("a", 1, parts(10, 0, 5), 1000),
        // Skills cost more here than all of them: that is taken from what the others save.
        line("b", 1, parts(500, 600, 5), 1000),
        TraceLine { error: Some("cut".to_owned()), ..line("a", 2, parts(10, 0, 50), 1000) },
    ];
    let summary = Summary::of(&lines);
    assert_eq!(summary.total.requests, 4);
    assert_eq!(summary.total.errors, 1);
    assert_eq!(summary.total.tokens, lines.iter().map(|line| line.tokens).sum::<RequestTokens>());
    assert_eq!((summary.total.eager, summary.total.saved), (4000, 950 + 990 - 100 + 990));
    assert_eq!((summary.total.input, summary.total.output, summary.total.cached), (80, 8, 20));
    assert_eq!(summary.total.latency_ms, 40);
    let sessions: Vec<&str> = summary.sessions.iter().map(|session| session.session.as_str()).collect();
    assert_eq!(sessions, ["a", "b"]);
    let turns: Vec<(u64, u64, i64)> =
        summary.sessions[0].turns.iter().map(|turn| (turn.turn, turn.sum.requests, turn.sum.saved)).collect();
    assert_eq!(turns, [(1, 1, 990), (2, 2, 950 + 990)]);
    assert_eq!(summary.sessions[1].sum.saved, -100);
    // What was shown once is sent again with every request that follows.
    let lines = [
        line("a", 1, parts(10, 40, 0), 1000),
        TraceLine { skills_in_history: 240, ..line("a", 2, parts(10, 0, 300), 1000) },
        TraceLine { skills_in_history: 991, ..line("a", 3, parts(10, 0, 1200), 1000) },
    ];
    let sum = Summary::of(&lines).total;
    assert_eq!((sum.skills, sum.saved), (50 + 250 + 1001, 950 + 750 - 1));
    // Tools are there for skills, and are paid for with every request.
    let with_tools =
        |line: &TraceLine| TraceLine { tokens: RequestTokens { tools: 484, ..line.tokens }, ..line.clone() };
    let sum = Summary::of(&lines.iter().map(with_tools).collect::<Vec<_>>()).total;
    assert_eq!((sum.skills, sum.saved), (1301 + 3 * 484, 1699 - 3 * 484));
    let summary = TraceLine { purpose: Purpose::Summary, eager: 0, ..lines[0].clone() };
    assert_eq!(Summary::of(&[summary]).total.saved, 0, "a summary neither saves nor costs");
    let sum = Summary::of(&lines).total;
    assert_eq!(serde_json::to_value(sum).unwrap()["skills"], 1301);
    let old: TraceLine = serde_json::from_str(&serde_json::to_string(&lines[0]).unwrap()).unwrap();
    assert_eq!((old.skills_in_history, old.skills_took()), (0, 50), "lines of before say nothing of it");
    let deepseek = TraceLine { usage: json!({"prompt_tokens": 9, "prompt_cache_hit_tokens": 8}), ..lines[0].clone() };
    assert_eq!(Summary::of(&[deepseek]).total.cached, 8);
    let huge = line("c", 1, RequestTokens { history: u64::MAX, ..RequestTokens::default() }, u64::MAX);
    assert_eq!(Summary::of(&[huge.clone(), huge]).total.saved, i64::MAX, "numbers from a file may be any");
    let dear = line("c", 1, RequestTokens { tools: u64::MAX, ..RequestTokens::default() }, 0);
    assert_eq!(Summary::of(&[dear.clone(), dear]).total.saved, i64::MIN);
}
