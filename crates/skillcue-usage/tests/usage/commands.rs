//! Commands of transcripts: which words of them are files of skills, and what was done with these. The ledger keeps no other.

use serde_json::{Value, json};
use skillcue::usage::UsageKind::{self, FileRead, Loaded, Run};
use skillcue_usage::{LedgerQuery, TranscriptKind};

use crate::ageless;
use crate::import::import_of;

const PDF: &str = "/home/a/.agents/skills/pdf";

/// Returns the uses that an import of one call finds, with the files; `call` is the payload of a line of Codex's.
fn found_in(call: &Value) -> Vec<(UsageKind, String)> {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join(".codex/sessions/2026/11/17/rollout-a.jsonl");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let line = json!({"timestamp": "2026-11-17T21:33:00.088Z", "type": "response_item", "payload": call});
    std::fs::write(&path, format!("{line}\n")).unwrap();
    let ledger = ageless(home.path().join("usage.db"));
    import_of(home.path(), &ledger, TranscriptKind::Codex, &["pdf".to_owned()]);
    let events = ledger.events(&LedgerQuery::default()).unwrap().into_iter();
    events.map(|event| (event.kind, event.item.unwrap_or_default())).collect()
}

/// Returns the uses in a command, which is a text or a list of words, that runs in the skill's directory.
fn found(command: impl Into<Value>) -> Vec<(UsageKind, String)> {
    let arguments = json!({"command": command.into(), "workdir": PDF}).to_string();
    found_in(&json!({"type": "function_call", "name": "shell", "call_id": "c1", "arguments": arguments}))
}

fn of(uses: &[(UsageKind, &str)]) -> Vec<(UsageKind, String)> {
    uses.iter().map(|(kind, file)| (*kind, (*file).to_owned())).collect()
}

#[test]
fn code_and_arguments_are_no_files() {
    for command in [
        "node -e 'patient.smith(1)'",
        "node -p patient.smith",
        "node --eval=patient.smith a.js",
        "perl -e 'secret.code' x.pl",
        "perl -pe s.patient.smith x.pl",
        "python3 -m json.tool a.json",
        "python3 -m http.server",
        "python3 -c 'a.b'",
        "python3 - form.therapy",
        "bash -c 'cat form.therapy'",
        "git commit -m 'references/my-secret-thing to do'",
        "git commit -m references/my-secret-thing",
        "echo 'tell scripts/hunter2-password now'",
        "echo scripts/hunter2-password",
        "printf '%s' \"scripts/hunter2\"",
        "curl -H 'Authorization: scripts/tok123' x",
        "curl -u scripts/tok123 x",
        "head -n 5 v1.2",
        "cat 'scripts/hunter2 is it' 'call me j.doe'",
        "grep -rn scripts/hunter2.word .",
        "grep -A 3 scripts/hunter2.word .",
        "rg -e references/hunter2.word -i",
        "sed s.patient.smith",
        "sed -n -e s.patient.smith",
        "ls scripts/ references/a/",
        "patient.smith",
        "cat # of patient.smith",
        "echo 'it''s' > references/new.md",
        "echo /x/skills/pdf/hunter2; git commit -m 'see skills/pdf/hunter2 there'",
        "python3 -c \"open('/x/skills/pdf/hunter2')\"",
        "cat <<'END' | sh\nsh scripts/hunter2\nEND",
        "cat 'scripts/hunter2",
        "python3 --config=/x/skills/pdf/scripts/fill.py",
        "rm /x/skills/pdf/scripts/fill.py",
    ] {
        assert_eq!(found(command), [], "{command}");
    }
}

#[test]
fn files_that_the_command_makes_are_not_the_skills() {
    let run = of(&[(Run, "scripts/real.py")]);
    for command in [
        "python3 scripts/real.py > out.txt && cat out.txt",
        "python3 scripts/real.py >references/out.md; cat ./references/out.md",
        "python3 scripts/real.py -o out.txt && head -3 out.txt",
        "python3 scripts/real.py --output=out.txt && head -3 out.txt",
        "python3 scripts/real.py in.pdf out.txt && cat out.txt",
        "python3 scripts/real.py | tee out.txt; cat out.txt",
        "python3 scripts/real.py &> out.txt; cat out.txt",
        "python3 scripts/real.py 2>&1 | tail -5",
    ] {
        assert_eq!(found(command), run, "{command}");
    }
}

#[test]
fn files_count_by_their_place_in_a_command() {
    for (command, script) in [
        ("./scripts/fill a.pdf", "scripts/fill"),
        ("FORM=a.pdf python3.12 -W ignore scripts/fill.py a.pdf", "scripts/fill.py"),
        ("env FORM=a.pdf scripts/fill.sh", "scripts/fill.sh"),
        ("uv run --with pypdf scripts/fill.py", "scripts/fill.py"),
        ("uv run python scripts/fill.py", "scripts/fill.py"),
        ("npx tsx scripts/fill.ts", "scripts/fill.ts"),
        ("npx scripts/fill.ts", "scripts/fill.ts"),
        ("deno run -A scripts/fill.ts", "scripts/fill.ts"),
        ("sh -eu 'scripts/fill.sh'", "scripts/fill.sh"),
        ("if true; then sh scripts/fill.sh; fi", "scripts/fill.sh"),
        ("(cd scripts && timeout 60 python3 fill.py)", "scripts/fill.py"),
        ("echo \"$(python3 scripts/fill.py)\"", "scripts/fill.py"),
        ("echo `python3 scripts/fill.py`", "scripts/fill.py"),
        ("bash -lc \"python3 /x/skills/pdf/scripts/fill.py a.pdf\"", "scripts/fill.py"),
        ("python3 '/x y/skills/pdf/scripts/fill.py'", "scripts/fill.py"),
    ] {
        assert_eq!(found(command), of(&[(Run, script)]), "{command}");
    }
    for (command, file) in [
        ("cat \"fields.md\"", "fields.md"),
        ("/bin/cat scripts/fill.py", "scripts/fill.py"),
        ("cat references/LICENSE assets/none.d", "references/LICENSE"),
        ("sed -n '1,20p' scripts/fill.py | head -3", "scripts/fill.py"),
        ("grep -n form scripts/fill.py", "scripts/fill.py"),
        ("while read -r line; do echo; done < /x/skills/pdf/fields.md", "fields.md"),
        ("cp /x/skills/pdf/assets/form.pdf .", "assets/form.pdf"),
        ("cd ..; cd pdf; cat fields.md; cd ../..; cat other.md", "fields.md"),
    ] {
        assert_eq!(found(command).first(), of(&[(FileRead, file)]).first(), "{command}");
    }
}

#[test]
fn the_simple_command_that_names_a_file_says_what_was_done_with_it() {
    assert_eq!(found("scripts/x.py a.pdf | tail"), of(&[(Run, "scripts/x.py")]));
    let both = found("python3 scripts/real.py && cat fields.md");
    assert_eq!(both, of(&[(Run, "scripts/real.py"), (FileRead, "fields.md")]));
    let both = found("cat scripts/x.py; python3 scripts/x.py");
    assert_eq!(both, of(&[(FileRead, "scripts/x.py"), (Run, "scripts/x.py")]));
    let whole = found("ls; python3 /x/skills/pdf/scripts/x.py | grep form");
    assert_eq!(whole, of(&[(Run, "scripts/x.py")]));
    assert_eq!(found("cat SKILL.md | head"), of(&[(Loaded, "")]));
}

#[test]
fn a_command_in_a_list_of_words_is_the_one_that_its_shell_gets() {
    let of_shell = |command: &str| found(json!(["bash", "-lc", command]));
    let entered = "cd /home/a/.agents/skills/pdf && sh scripts/arr.sh";
    assert_eq!(of_shell(entered), of(&[(Run, "scripts/arr.sh")]));
    assert_eq!(of_shell("cat fields-arr.md"), of(&[(FileRead, "fields-arr.md")]));
    assert_eq!(found(json!(["/bin/zsh", "-c", "cat fields-arr.md"])), of(&[(FileRead, "fields-arr.md")]));
    let strict = json!(["bash", "-euo", "pipefail", "-c", "cat fields-arr.md"]);
    assert_eq!(found(strict), of(&[(FileRead, "fields-arr.md")]));
    assert_eq!(found(json!(["bash", "scripts/arr.sh", "-c", "cat j.md"])), of(&[(Run, "scripts/arr.sh")]));
    assert_eq!(found(json!(["sh", "scripts/arr.sh"])), of(&[(Run, "scripts/arr.sh")]));
    assert_eq!(found(json!(["cat", "see j.doe"])), []);
    assert_eq!(found(json!(["python3", "-c", "import a.b"])), []);
    let action = json!({"command": ["bash", "-lc", "cat fields-arr.md"], "working_directory": PDF});
    let local = json!({"type": "local_shell_call", "call_id": "c1", "action": action});
    assert_eq!(found_in(&local), of(&[(FileRead, "fields-arr.md")]));
}
