//! Tests of the one rule for hooks and transcripts.

use serde_json::json;
use skillcue::usage::UsageKind::{FileRead, Loaded, Run};

use super::*;

const BY_FORM: FileLookup<'static> = FileLookup { at: &skill_file, are_checked: false };
const PDF: Option<&str> = Some("/home/a/.agents/skills/pdf/");

/// Returns the uses in a command, as `pdf run scripts/fill.py`.
fn found(command: &str, dir: Option<&str>) -> Vec<String> {
    called("Bash", &json!({"command": command}), dir)
}

fn called(tool: &str, arguments: &Value, dir: Option<&str>) -> Vec<String> {
    let uses = file_uses(tool, arguments, dir, BY_FORM).into_iter();
    let written = uses.map(|FileUse { kind, file }| {
        format!("{} {} {}", file.skill, kind.as_str(), file.item.unwrap_or_default()).trim_end().to_owned()
    });
    written.collect()
}

#[test]
fn files_of_skills_are_found_from_where_a_command_runs() {
    assert_eq!(found("sh ./scripts/list.sh --all", PDF), ["pdf run scripts/list.sh"]);
    assert_eq!(found("cat pdf/SKILL.md", Some("/home/a/.agents/skills")), ["pdf loaded"]);
    assert_eq!(found("cd /x/.claude/skills/pdf && sh scripts/list.sh", None), ["pdf run scripts/list.sh"]);
    assert_eq!(found("cd '/x y/.claude/skills/pdf'; cat fields.md", None), ["pdf file_read fields.md"]);
    assert_eq!(found("cat /x/skills/csv/a.md", PDF), ["csv file_read a.md"]);
    assert_eq!(found("cat ../../etc/passwd; ls -a.b; cd", PDF), [""; 0]);
    assert_eq!(found("cd pdf && sh scripts/list.sh", Some("/home/a/.agents/skills")), ["pdf run scripts/list.sh"]);
    assert_eq!(found("cd /x/skills/pdf/scripts && python3 fill.py a.pdf", None), ["pdf run scripts/fill.py"]);
    assert_eq!(found("sed -n '1,20p' fields.md | head -3 > out.txt", PDF), ["pdf file_read fields.md"]);
    assert_eq!(
        found("cat fields.md 2>/dev/null; head -2 v1 >b.md; ./fill.sh < in.csv", PDF),
        ["pdf file_read fields.md", "pdf run fill.sh"]
    );
    assert_eq!(found("cargo test src/lib.rs", Some("/work/site")), [""; 0]);
}

#[test]
fn words_that_are_no_files_by_their_place_are_not_kept() {
    let long = "python scripts/fill.py --mail j.doe@example.com --token=eyJh.abc.def out.pdf";
    assert_eq!(found(long, PDF), ["pdf run scripts/fill.py"]);
    for command in [
        "git commit -m 'For Mr. Smith, see form.Therapy'",
        "python3 - <<'END'\nprint('j.doe scripts/a.py')\nEND",
        "find . ; git add .",
        "grep j.doe fields.md",
        "echo call.me at https://a.example/b.html",
        "grep --include '*.md' -r references/hunter2.word .",
        "grep --unknown references/hunter2.word .",
        "rg -g '*.md' references/hunter2.word",
        "jq --arg t references/hunter2 '.x' /tmp/f.json",
        "jq --args .x references/hunter2",
    ] {
        assert_eq!(found(command, PDF), [""; 0], "{command}");
    }
}

#[test]
fn values_of_options_are_no_files_and_numbers_are_patterns() {
    let uses = |command: &str| found(&command.replace("$F", "/home/a/.claude/skills/pdf"), None);
    for command in [
        "grep 404 $F/references/codes.md",
        "awk 1 $F/references/codes.md",
        "jq 0 $F/references/codes.md",
        "head -n 3 $F/references/codes.md",
        "jq -e --arg t references/hunter2 .x $F/references/codes.md",
    ] {
        assert_eq!(uses(command), ["pdf file_read references/codes.md"], "{command}");
    }
    for command in [
        "bash -euo pipefail $F/scripts/fill.sh",
        "bash -euo pipefail -c 'sh $F/scripts/fill.sh'",
        "bash --rcfile a.rc $F/scripts/fill.sh",
    ] {
        assert_eq!(uses(command), ["pdf run scripts/fill.sh"], "{command}");
    }
}

#[test]
fn commands_behind_a_here_document_count() {
    let uses = |command: &str| found(&command.replace("$F", "/home/a/.claude/skills/pdf"), None);
    let run = ["pdf run scripts/fill.py"];
    let json = "cat > /tmp/in.json <<'EOF'\n{\"a\": 1}\nEOF\npython3 $F/scripts/fill.py /tmp/in.json";
    assert_eq!(uses(json), run);
    let commit = "git commit -m \"$(cat <<'EOF'\nit's x\nEOF\n)\" && python3 $F/scripts/fill.py";
    assert_eq!(uses(commit), run);
    assert_eq!(uses("cat <<-EOF | wc\n\tcat $F/a.md\n\tEOF\npython3 $F/scripts/fill.py <<< 'cat $F/b.md'"), run);
    assert_eq!(uses("echo $((1 << 2)); cat $F/notes.md"), ["pdf file_read notes.md"]);
}

#[test]
fn files_that_the_command_makes_are_known_by_whichever_path() {
    for command in [
        "echo jane > $F/jane-doe.md; wc -l < $F/jane-doe.md",
        "cd $F && echo jane > jane-doe.md && cat $F/jane-doe.md",
        "echo jane > $F/scripts/../jane-doe.md; cat $F/./jane-doe.md",
        "cd $F && cat a.csv > ./jane-doe.md && cd scripts && cat ../jane-doe.md",
        "echo jane > ~/.claude/skills/pdf/jane-doe.md; cat $HOME/.claude/skills/pdf/jane-doe.md",
        "bash -c 'echo jane > $F/jane-doe.md'; cat $F/jane-doe.md",
    ] {
        let command = command.replace("$F", "/home/a/.claude/skills/pdf");
        assert!(!found(&command, None).iter().any(|used| used.contains("jane")), "{command}");
    }
}

#[test]
fn files_of_a_skill_on_this_machine_are_looked_for_from_the_directory_of_the_call() {
    let dir = tempfile::tempdir().unwrap();
    let work = dir.path().to_str().unwrap();
    let skill = dir.path().join(".claude/skills/pdf");
    std::fs::create_dir_all(skill.join("scripts")).unwrap();
    std::fs::write(skill.join("SKILL.md"), "").unwrap();
    std::fs::write(skill.join("forms.md"), "").unwrap();
    for command in [
        "cat .claude/skills/pdf/hunter2-missing.md || true",
        "cp -r .claude/skills/pdf/scripts /tmp/x",
        "cat .claude/skills/pdf/*.md",
        "cat ./.claude/skills/pdf/{a,b}.md",
    ] {
        assert_eq!(found(command, Some(work)), [""; 0], "{command}");
    }
    let missing = json!({"file_path": ".claude/skills/pdf/hunter2-missing.md"});
    assert_eq!(called("Read", &missing, Some(work)), [""; 0]);
    assert_eq!(found("cat .claude/skills/pdf/forms.md", Some(work)), ["pdf file_read forms.md"]);
    assert_eq!(found("cd .claude && cat skills/pdf/forms.md", Some(work)), ["pdf file_read forms.md"]);
    let there = json!({"file_path": ".claude/skills/pdf/forms.md"});
    assert_eq!(called("Read", &there, Some(work)), ["pdf file_read forms.md"]);
    // Where the skill is not, its files have the form of some.
    assert_eq!(found("cat .claude/skills/csv/*.md .claude/skills/csv/hunter2", Some("/work")), [""; 0]);
    assert_eq!(found("cat .claude/skills/csv/forms.md", Some("/work")), ["csv file_read forms.md"]);
}

#[test]
fn commands_that_delete_write_change_archive_or_talk_use_nothing() {
    let f = "/home/a/.claude/skills/pdf";
    for command in [
        format!("rm {f}/scripts/fill.py"),
        format!("rm -rf {f}/secret-customer"),
        format!("chmod +x {f}/scripts/fill.py"),
        format!("touch {f}/jane-doe.md"),
        format!("sed -i 's/a/b/' {f}/SKILL.md"),
        format!("sed -ni.bak p {f}/SKILL.md"),
        format!("sed --in-place s/a/b/ {f}/SKILL.md"),
        format!("vim {f}/SKILL.md"),
        format!("tar czf backup.tgz {f}/SKILL.md {f}/jane-doe"),
        format!("mkdir -p {f}/out-jane-doe"),
        format!("cp a.pdf {f}/jane-doe.pdf"),
        format!("cp -t {f}/jane-doe.d a.pdf"),
        format!("mv {f}/a.md {f}/jane-doe.md"),
        format!("python3 -c 'print(1)' {f}/jane.md"),
        format!("fill --customer={f}/jane-doe"),
        format!("python3 fill.py --customer={f}/jane-doe"),
        format!("python3 fill.py {f}/jane-doe.pdf"),
        format!("echo {f}/scripts/fill.py"),
        format!("git add {f}/SKILL.md"),
        format!("git -C {f} commit -m {f}/SKILL.md"),
        format!("zip -r out.zip {f}/SKILL.md"),
        format!("echo hi > {f}/SKILL.md"),
        format!("cat a.md > {f}/jane-doe.md; cat {f}/jane-doe.md"),
        format!("tee {f}/jane-doe.md < a.md"),
        format!("ls -l {f}/jane-doe.md"),
    ] {
        assert_eq!(found(&command, None), [""; 0], "{command}");
    }
}

#[test]
fn whole_paths_count_by_their_place() {
    let f = "/home/a/.claude/skills/pdf";
    let uses = |command: &str| found(&command.replace("$F", f), None);
    assert_eq!(uses("python3 $F/scripts/fill.py a.pdf"), ["pdf run scripts/fill.py"]);
    assert_eq!(uses("$F/bin/fill a.pdf"), ["pdf run bin/fill"]);
    assert_eq!(uses("cat $F/scripts/fill.py"), ["pdf file_read scripts/fill.py"]);
    assert_eq!(uses("cat $F/SKILL.md $F/forms.md"), ["pdf loaded", "pdf file_read forms.md"]);
    assert_eq!(uses("grep -n form $F/scripts/fill.py"), ["pdf file_read scripts/fill.py"]);
    assert_eq!(uses("cp $F/assets/form.pdf ."), ["pdf file_read assets/form.pdf"]);
    assert_eq!(uses("jq .name $F/assets/form.json"), ["pdf file_read assets/form.json"]);
    assert_eq!(uses("bash -lc 'cat $F/SKILL.md'"), ["pdf loaded"]);
    assert_eq!(uses("while read -r line; do echo; done < $F/fields.md"), ["pdf file_read fields.md"]);
}

#[test]
fn a_tool_that_reads_uses_the_file_in_its_path_and_one_that_writes_or_searches_uses_none() {
    let f = "/home/a/.claude/skills/pdf";
    let at = |key: &str, file: &str| json!({key: format!("{f}/{file}")});
    for (tool, key) in [
        ("Read", "file_path"),
        ("read_file", "absolute_path"),
        ("view", "path"),
        ("read", "filePath"),
        ("mcp__fs__readFile", "path"),
    ] {
        assert_eq!(called(tool, &at(key, "SKILL.md"), None), ["pdf loaded"], "{tool}");
        assert_eq!(called(tool, &at(key, "scripts/fill.py"), None), ["pdf file_read scripts/fill.py"], "{tool}");
    }
    assert_eq!(called("read_many_files", &json!({"paths": [format!("{f}/a.md"), "skills/csv/b.md"]}), None).len(), 2);
    assert_eq!(called("Read", &json!({"file_path": "forms.md"}), PDF), ["pdf file_read forms.md"]);
    for tool in
        ["Edit", "Write", "MultiEdit", "NotebookEdit", "write_file", "replace", "Grep", "Glob", "list_directory"]
    {
        for key in ["file_path", "path"] {
            assert_eq!(called(tool, &at(key, "SKILL.md"), None), [""; 0], "{tool}");
            assert_eq!(called(tool, &at(key, "scripts/fill.py"), None), [""; 0], "{tool}");
        }
    }
    let editor = |command: &str| json!({"command": command, "path": format!("{f}/SKILL.md")});
    assert_eq!(called("str_replace_based_edit_tool", &editor("view"), None), ["pdf loaded"]);
    assert_eq!(called("str_replace_based_edit_tool", &editor("insert"), None), [""; 0]);
}

#[test]
fn a_command_runs_in_the_directory_that_its_call_names() {
    let here = json!({"cmd": "sh scripts/fill.py", "workdir": "/x/skills/pdf"});
    assert_eq!(called("exec_command", &here, Some("/work")), ["pdf run scripts/fill.py"]);
    let below = json!({"command": ["bash", "-lc", "cat forms.md"], "directory": "pdf"});
    assert_eq!(called("run_shell_command", &below, Some("/x/skills")), ["pdf file_read forms.md"]);
    assert_eq!(called("deploy", &here, None), [""; 0], "a tool that is no shell");
}

#[test]
fn own_tools_are_known_by_the_end_of_their_names() {
    let kind = |tool: &str| own_tool_use(tool, &json!({"path": "a.md", "script": "my words"}));
    assert_eq!(kind("mcp__skillcue__load_skill"), Some((Loaded, None)));
    assert_eq!(kind("mcp__skillcue__unload_skill"), None);
    assert_eq!(kind("skillcue_read_skill_file"), Some((FileRead, Some("a.md".to_owned()))));
    assert_eq!(kind("run_skill_script"), Some((Run, None)), "words are no path");
}
