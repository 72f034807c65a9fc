use std::os::unix::fs::symlink;

use insta::assert_snapshot;

use crate::Sandbox;

#[test]
fn every_file_with_its_size() {
    let sandbox = Sandbox::with_pdf();
    sandbox.write("work/skills/pdf/assets/form.bin", vec![0; 5000]);
    assert_snapshot!(sandbox.run(&["files", "pdf"]), @r"
    exit 0
    --- stdout
      254 B  SKILL.md
    4.9 KiB  assets/form.bin
       12 B  reference.md
    --- stderr
    3 files, 5.1 KiB
    ");
    assert_snapshot!(sandbox.run(&["files", "pdf", "--json"]), @r#"
    exit 0
    --- stdout
    {"files":[{"path":"SKILL.md","size":254},{"path":"assets/form.bin","size":5000},{"path":"reference.md","size":12}]}
    "#);
}

#[test]
fn omitted_files_are_reported() {
    let sandbox = Sandbox::with_pdf();
    symlink("/etc/passwd", sandbox.path("work/skills/pdf/passwd")).unwrap();
    assert_snapshot!(sandbox.run(&["files", "pdf"]), @r"
    exit 0
    --- stdout
    254 B  SKILL.md
     12 B  reference.md
    --- stderr
    not listed: 1 (links that lead out of the skill), first passwd
    2 files, 266 B
    ");
    assert_snapshot!(sandbox.run(&["files", "pdf", "--json"]), @r#"
    exit 0
    --- stdout
    {"files":[{"path":"SKILL.md","size":254},{"path":"reference.md","size":12}],"skipped":[{"reason":"link_out","count":1,"first":"passwd"}]}
    "#);
    for number in 0..600 {
        sandbox.write(&format!("work/skills/pdf/many/{number:03}"), "x");
    }
    let run = sandbox.run(&["files", "pdf"]);
    assert_eq!(run.stdout.lines().count(), 512);
    assert_snapshot!(run.stderr, @r"
    warning: the list stopped before many/511: more than 512 files
    512 files, 765 B
    ");
}
