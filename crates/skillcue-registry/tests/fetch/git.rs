//! Git repositories, all of them on this machine.

mod limits;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use skillcue_registry::{Disk, FetchError, FetchLimits, GitProgram, InstallOrigin};
use tempfile::TempDir;

use crate::support::{FetchResult, files, get, no_git};

/// An environment without a user's settings, and with a name for commits.
fn env(dir: &Path) -> Vec<(OsString, OsString)> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let pairs: [(&str, OsString); 8] = [
        ("PATH", path),
        ("HOME", dir.into()),
        ("GIT_CONFIG_NOSYSTEM", "1".into()),
        ("GIT_CONFIG_GLOBAL", dir.join("gitconfig").into()),
        ("GIT_AUTHOR_NAME", "me".into()),
        ("GIT_AUTHOR_EMAIL", "me@example.invalid".into()),
        ("GIT_COMMITTER_NAME", "me".into()),
        ("GIT_COMMITTER_EMAIL", "me@example.invalid".into()),
    ];
    pairs.into_iter().map(|(name, value)| (name.into(), value)).collect()
}

/// A repository `o/r.git`, and the settings of the user that fetches from it.
struct Repo {
    dir: TempDir,
    env: Vec<(OsString, OsString)>,
}

impl Repo {
    fn new() -> Repo {
        Repo::of("sha1")
    }

    fn of(format: &str) -> Repo {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("o/r.git")).unwrap();
        let repo = Repo { env: env(dir.path()), dir };
        std::fs::write(repo.dir.path().join("gitconfig"), "").unwrap();
        repo.git(&["init", "--quiet", "--initial-branch=main", &format!("--object-format={format}"), "."]);
        repo
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("o/r.git")
    }

    fn url(&self) -> String {
        format!("file://{}", self.path().display())
    }

    fn git(&self, args: &[&str]) -> String {
        let envs = self.env.iter().map(|(name, value)| (name, value));
        let mut command = Command::new("git");
        let output = command.args(args).current_dir(self.path()).env_clear().envs(envs).output().unwrap();
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Commits everything; the commit.
    fn commit(&self, message: &str) -> String {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "-m", message]);
        self.git(&["rev-parse", "HEAD"])
    }

    /// More settings for the user that fetches.
    fn settings(&self, settings: &[(&str, &str)]) -> GitProgram {
        let mut git = GitProgram { program: "git".into(), env: self.env.clone() };
        git.env.push(("GIT_CONFIG_COUNT".into(), settings.len().to_string().into()));
        for (number, (key, value)) in settings.iter().enumerate() {
            git.env.push((format!("GIT_CONFIG_KEY_{number}").into(), key.into()));
            git.env.push((format!("GIT_CONFIG_VALUE_{number}").into(), value.into()));
        }
        git
    }

    fn fetch(&self, text: &str) -> FetchResult {
        self.fetch_with(text, &[])
    }

    fn fetch_with(&self, text: &str, settings: &[(&str, &str)]) -> FetchResult {
        let origin = InstallOrigin::parse(text, Path::new("/nowhere")).unwrap();
        get(&origin, &FetchLimits::default(), &Disk::default(), &self.settings(settings), &())
    }
}

fn commit_of(done: &FetchResult) -> String {
    done.result.as_ref().unwrap_or_else(|error| panic!("{error}")).commit.clone().unwrap()
}

fn text(done: &FetchResult) -> BTreeMap<String, String> {
    done.tree()
}

/// A repository with a history: `one` is tagged, `two` is on a branch, `three` is the head.
fn history() -> (Repo, [String; 3]) {
    let repo = Repo::new();
    repo.write("file", "one");
    let one = repo.commit("one");
    repo.git(&["tag", "light"]);
    repo.git(&["tag", "-a", "-m", "a tag with a message", "p@1.0"]);
    repo.git(&["checkout", "--quiet", "-b", "feature/x"]);
    repo.write("file", "two");
    let two = repo.commit("two");
    repo.git(&["checkout", "--quiet", "main"]);
    repo.write("file", "middle");
    repo.commit("middle");
    repo.write("file", "three");
    let three = repo.commit("three");
    (repo, [one, two, three])
}

#[test]
fn branches_tags_and_commits() {
    let (repo, [one, two, three]) = history();
    let middle = repo.git(&["rev-parse", "HEAD~1"]);
    let short = &middle[..10];
    let table = [
        (String::new(), &three, "three"),
        ("@main".to_owned(), &three, "three"),
        ("@light".to_owned(), &one, "one"),
        ("@p@1.0".to_owned(), &one, "one"),
        ("@feature/x".to_owned(), &two, "two"),
        ("@refs/heads/feature/x".to_owned(), &two, "two"),
        (format!("@{three}"), &three, "three"),
        (format!("@{middle}"), &middle, "middle"),
        (format!("@{}", middle.to_uppercase()), &middle, "middle"),
        (format!("@{short}"), &middle, "middle"),
    ];
    for (reference, commit, content) in table {
        let done = repo.fetch(&format!("{}{reference}", repo.url()));
        assert_eq!(commit_of(&done), *commit, "{reference}");
        // Nothing of the repository itself is left.
        assert_eq!(text(&done), files(&[("file", content)]), "{reference}");
    }
}

#[test]
fn a_commit_that_the_server_does_not_give_out_by_its_id() {
    let (repo, _) = history();
    let middle = repo.git(&["rev-parse", "HEAD~1"]);
    // The old protocol serves only what a branch or a tag points to.
    let done = repo.fetch_with(&format!("{}@{middle}", repo.url()), &[("protocol.version", "0")]);
    assert_eq!(commit_of(&done), middle);
    assert_eq!(text(&done), files(&[("file", "middle")]));
}

#[test]
fn shorthand_goes_to_github() {
    let repo = Repo::new();
    repo.write("skills/pdf/SKILL.md", "skill");
    repo.write("other", "");
    let commit = repo.commit("one");
    repo.git(&["tag", "v1"]);
    let instead = format!("url.file://{}/.insteadOf", repo.dir.path().display());
    let done = repo.fetch_with("o/r/skills/pdf@v1", &[(&instead, "https://github.com/")]);
    assert_eq!(commit_of(&done), commit);
    assert_eq!(text(&done), files(&[("SKILL.md", "skill")]));
}

#[test]
fn a_path_that_ends_in_git_and_sha256() {
    let repo = Repo::of("sha256");
    repo.write("file", "text");
    let commit = repo.commit("one");
    assert_eq!(commit.len(), 64);
    for reference in ["", "@main", &format!("@{commit}"), &format!("@{}", &commit[..8])] {
        let done = repo.fetch(&format!("{}{reference}", repo.path().display()));
        assert_eq!(commit_of(&done), commit, "{reference}");
        assert_eq!(text(&done), files(&[("file", "text")]));
    }
}

#[test]
fn files_come_out_as_they_were_committed() {
    let repo = Repo::new();
    let attributes = "*.ignored export-ignore\n*.subst export-subst\n*.id ident\n*.crlf text eol=crlf\n\
                      *.utf16 working-tree-encoding=UTF-16\n*.lfs filter=lfs diff=lfs merge=lfs -text\ndir export-ignore\n";
    repo.write(".gitattributes", attributes);
    repo.write("a.ignored", "kept");
    repo.write("a.subst", "$Format:%H$");
    repo.write("a.id", "$Id$");
    repo.write("a.crlf", "one\ntwo\n");
    repo.write("a.lfs", "version https://git-lfs.github.com/spec/v1\n");
    repo.write("plain.txt", "one\ntwo\n");
    repo.write("dir/file", "kept");
    symlink("dir/file", repo.path().join("link")).unwrap();
    repo.write("run.sh", "#!/bin/sh\n");
    std::fs::set_permissions(repo.path().join("run.sh"), PermissionsExt::from_mode(0o755)).unwrap();
    repo.commit("one");
    let done = repo.fetch_with(
        &repo.url(),
        &[
            ("core.autocrlf", "true"),
            ("core.eol", "crlf"),
            ("core.attributesFile", "/etc/passwd"),
            ("tar.umask", "0777"),
            ("filter.lfs.smudge", "false"),
            ("filter.lfs.required", "true"),
            ("safe.bareRepository", "explicit"),
            ("fetch.prune", "true"),
        ],
    );
    let expected = files(&[
        (".gitattributes", attributes),
        ("a.ignored", "kept"),
        ("a.subst", "$Format:%H$"),
        ("a.id", "$Id$"),
        ("a.crlf", "one\ntwo\n"),
        ("a.lfs", "version https://git-lfs.github.com/spec/v1\n"),
        ("plain.txt", "one\ntwo\n"),
        ("dir", "directory"),
        ("dir/file", "kept"),
        ("link", "-> dir/file"),
        ("run.sh", "x #!/bin/sh\n"),
    ]);
    assert_eq!(text(&done), expected);
}

#[test]
fn submodules_stay_empty() {
    let repo = Repo::new();
    repo.write("file", "text");
    let commit = repo.commit("one");
    repo.write(".gitmodules", "[submodule \"sub\"]\n\tpath = sub\n\turl = ext::sh -c false\n");
    repo.git(&["add", ".gitmodules"]);
    repo.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{commit},sub")]);
    repo.git(&["commit", "--quiet", "-m", "two"]);
    let done = repo.fetch_with(&repo.url(), &[("submodule.recurse", "true"), ("fetch.recurseSubmodules", "true")]);
    assert_eq!(text(&done).get("sub").unwrap(), "directory");
    assert_eq!(text(&done).keys().filter(|name| name.starts_with("sub/")).count(), 0);
}

#[test]
fn archives_rules_hold_for_repositories() {
    let repo = Repo::new();
    repo.write("dir/file", "text");
    symlink("../../etc", repo.path().join("dir/out")).unwrap();
    repo.commit("one");
    assert_eq!(repo.fetch(&repo.url()).refusal().0, "dir/out");
    let repo = Repo::new();
    repo.write("one", "12345");
    repo.write("two", "12345");
    repo.commit("one");
    let origin = InstallOrigin::parse(&repo.url(), Path::new("/")).unwrap();
    let table = [
        (FetchLimits { entries: 1, ..FetchLimits::default() }, "it has more than 1 files and directories"),
        (FetchLimits { file_bytes: 4, ..FetchLimits::default() }, "one has more than 4 bytes"),
    ];
    for (limits, said) in table {
        let done = get(&origin, &limits, &Disk::default(), &repo.settings(&[]), &());
        assert!(matches!(done.result, Err(FetchError::TooMuch { .. })), "{:?}", done.result);
        assert!(done.error().ends_with(said), "{}", done.error());
    }
    assert_eq!(text(&repo.fetch(&repo.url())).len(), 2, "without the limits it is fetched");
}

#[test]
fn missing_references_and_subdirectories_are_refused() {
    let (repo, _) = history();
    let url = repo.url();
    for reference in ["nothing", "abcdef1234", "1234567890123456789012345678901234567890"] {
        let done = repo.fetch(&format!("{url}@{reference}"));
        let missing =
            matches!(&done.result, Err(FetchError::NoReference { reference: named, .. }) if named == reference);
        assert!(missing, "{reference}: {:?}", done.result);
    }
    for subdir in ["nothing", "file", "nothing/at/all"] {
        let done = repo.fetch(&format!("{url}//{subdir}"));
        assert!(matches!(&done.result, Err(FetchError::NoSubdir { .. })), "{subdir}: {:?}", done.result);
    }
    let error = repo.fetch("file:///nonexistent/r.git").error();
    assert!(error.starts_with("cannot fetch file:///nonexistent/r.git: "), "{error}");
    assert!(!error.contains('\n'), "{error}");
    let error = Repo::new().fetch(&Repo::new().url()).error();
    assert!(error.contains("cannot fetch"), "{error}");
    let empty = Repo::new();
    assert!(empty.fetch(&empty.url()).error().ends_with("it is empty, or has no default branch; name a branch with @"));
}

#[test]
fn no_git_at_all() {
    let origin = InstallOrigin::parse("o/r", Path::new("/nowhere")).unwrap();
    let done = get(&origin, &FetchLimits::default(), &Disk::default(), &no_git(), &());
    assert!(matches!(done.result, Err(FetchError::NoGit { .. })));
    assert_eq!(done.error(), "cannot start /nonexistent/git: no such file or directory");
}

#[test]
fn nothing_else_is_ever_run() {
    let (repo, _) = history();
    let trace = repo.dir.path().join("trace");
    let touch = format!("ext::touch {}", trace.display());
    // Git itself does run it, if it may: whether it has run can be seen.
    let ran = |args: &[&str]| {
        let envs = repo.env.iter().map(|(name, value)| (name, value));
        Command::new("git").args(args).current_dir(repo.path()).env_clear().envs(envs).output().unwrap();
        let ran = trace.exists();
        let _ = std::fs::remove_file(&trace);
        ran
    };
    assert!(ran(&["-c", "protocol.ext.allow=always", "ls-remote", &touch]));
    // By hand, though it would never parse.
    for url in [touch.clone(), format!("--upload-pack=touch {}", trace.display())] {
        let origin = InstallOrigin::Git { url, reference: None, subdir: None };
        let done = get(&origin, &FetchLimits::default(), &Disk::default(), &repo.settings(&[]), &());
        assert!(matches!(done.result, Err(FetchError::Git { .. })), "{:?}", done.result);
    }
    // Through settings that would allow it.
    let instead = format!("url.{touch}.insteadOf");
    let mut git = repo.settings(&[(&instead, "https://host/"), ("protocol.ext.allow", "always")]);
    git.env.push(("GIT_ALLOW_PROTOCOL".into(), "ext:https:file".into()));
    let origin = InstallOrigin::parse("https://host/r.git", Path::new("/")).unwrap();
    let done = get(&origin, &FetchLimits::default(), &Disk::default(), &git, &());
    assert!(done.error().contains("'ext' not allowed"), "{}", done.error());
    // Hooks of the user that fetches.
    let hooks = repo.dir.path().join("hooks");
    std::fs::create_dir(&hooks).unwrap();
    for hook in ["reference-transaction", "post-checkout", "post-merge"] {
        let program = format!("#!/bin/sh\ntouch {}\n", trace.display());
        std::fs::write(hooks.join(hook), program).unwrap();
        std::fs::set_permissions(hooks.join(hook), PermissionsExt::from_mode(0o755)).unwrap();
    }
    assert!(!trace.exists(), "something has run");
    let path = format!("core.hooksPath={}", hooks.display());
    assert!(ran(&["-c", &path, "tag", "another"]), "a hook is run by git itself");
    let done = repo.fetch_with(&repo.url(), &[("core.hooksPath", hooks.to_str().unwrap())]);
    assert!(done.result.is_ok(), "{:?}", done.result);
    assert!(!trace.exists(), "something has run");
}
