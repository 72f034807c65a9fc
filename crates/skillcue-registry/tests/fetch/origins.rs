//! Origins as people write them.

use std::path::{Path, PathBuf};

use skillcue_base::ErrorInfo as _;
use skillcue_registry::InstallOrigin;

fn parse(text: &str) -> InstallOrigin {
    InstallOrigin::parse(text, Path::new("/cwd")).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn git(url: &str, subdir: Option<&str>, reference: Option<&str>) -> InstallOrigin {
    let (reference, subdir) = (reference.map(str::to_owned), subdir.map(str::to_owned));
    InstallOrigin::Git { url: url.to_owned(), reference, subdir }
}

fn dir(path: &str) -> InstallOrigin {
    InstallOrigin::Directory { path: PathBuf::from(path) }
}

fn archive(path: &str) -> InstallOrigin {
    InstallOrigin::Archive { path: PathBuf::from(path) }
}

#[test]
fn origins_are_parsed() {
    let github = "https://github.com/o/r.git";
    let table = [
        (".", dir("/cwd")),
        ("..", dir("/cwd/..")),
        ("./x", dir("/cwd/x")),
        ("./a/./b/", dir("/cwd/a/b")),
        ("/x/y", dir("/x/y")),
        ("./x@y", dir("/cwd/x@y")),
        ("./r.git/", dir("/cwd/r.git")),
        ("x.zip", archive("/cwd/x.zip")),
        ("./x.tar.gz", archive("/cwd/x.tar.gz")),
        ("/x.TGZ", archive("/x.TGZ")),
        ("a/b.skill", archive("/cwd/a/b.skill")),
        ("./x.zip/", dir("/cwd/x.zip")),
        ("./r.git", git("/cwd/r.git", None, None)),
        ("/srv/r.git@v1", git("/srv/r.git", None, Some("v1"))),
        ("/srv/r.git//a/b@v1", git("/srv/r.git", Some("a/b"), Some("v1"))),
        ("https://host/o/r.git", git("https://host/o/r.git", None, None)),
        ("https://host/o/r.git/", git("https://host/o/r.git", None, None)),
        ("HTTPS://host:8080/o/r@v1", git("https://host:8080/o/r", None, Some("v1"))),
        ("https://host/o/r.git@feature/x", git("https://host/o/r.git", None, Some("feature/x"))),
        ("https://host/o/r.git@@scope/p@1.0", git("https://host/o/r.git", None, Some("@scope/p@1.0"))),
        ("https://host/o/r.git//a/@t/b@v1", git("https://host/o/r.git", Some("a/@t/b"), Some("v1"))),
        ("https://host/o/r.git//a%40b@v1", git("https://host/o/r.git", Some("a@b"), Some("v1"))),
        ("https://host/o/r//a", git("https://host/o/r", Some("a"), None)),
        ("ssh://git@host:22/o/r.git@v1", git("ssh://git@host:22/o/r.git", None, Some("v1"))),
        ("ssh://[::1]/r.git", git("ssh://[::1]/r.git", None, None)),
        ("git://host/r.git", git("git://host/r.git", None, None)),
        ("file:///srv/r@v1", git("file:///srv/r", None, Some("v1"))),
        ("git@host:o/r.git", git("git@host:o/r.git", None, None)),
        ("git@host:o/r.git@v1", git("git@host:o/r.git", None, Some("v1"))),
        ("git@host:o/r@v1", git("git@host:o/r", None, Some("v1"))),
        ("host:o/r.git//a@v1", git("host:o/r.git", Some("a"), Some("v1"))),
        ("o/r", git(github, None, None)),
        ("o/r.git", git(github, None, None)),
        ("o/r/", git(github, None, None)),
        ("o/r@v1", git(github, None, Some("v1"))),
        ("o/r/a/b@feature/x", git(github, Some("a/b"), Some("feature/x"))),
        ("o/r//a", git(github, Some("a"), None)),
        ("o/r@p@1.0", git(github, None, Some("p@1.0"))),
        ("github.com/o/r", git(github, None, None)),
        ("https://github.com/o/r", git(github, None, None)),
        ("https://www.github.com/o/r/", git(github, None, None)),
        ("https://github.com/o/r@v1", git(github, None, Some("v1"))),
        ("https://github.com/o/r/tree/main", git(github, None, Some("main"))),
        ("https://github.com/o/r/tree/main/a/b%20c/", git(github, Some("a/b c"), Some("main"))),
        ("https://github.com/o/r/blob/main/a/SKILL.md", git(github, Some("a"), Some("main"))),
        ("https://github.com/o/r/blob/main/SKILL.md", git(github, None, Some("main"))),
        ("https://gitlab.com/g/s/r/-/tree/v1/a", git("https://gitlab.com/g/s/r.git", Some("a"), Some("v1"))),
        ("https://gitlab.com/g/r", git("https://gitlab.com/g/r.git", None, None)),
    ];
    for (text, expected) in table {
        let origin = parse(text);
        assert_eq!(origin, expected, "{text}");
        assert_eq!(parse(&origin.to_string()), expected, "{text} as {origin}");
    }
}

#[test]
fn malformed_origins_are_refused() {
    for text in [
        "",
        "  ",
        "-x",
        "--upload-pack=x",
        "a\nb",
        "pdf",
        "~/x",
        "~",
        "a\\b",
        "C:\\x",
        "C:/x",
        "ftp://host/r.git",
        "ext::sh -c x",
        "fd::17",
        "ext::https://host/r.git",
        "https://",
        "https:///r.git",
        "https://host",
        "https://host/",
        "https://host/r.git#main",
        "https://host/r.git?x",
        "https://host/x.zip",
        "https://-host/r.git",
        "https://host:x/r",
        "ssh://-oProxyCommand=x/r.git",
        "ssh://git@-oProxyCommand=x/r.git",
        "ssh://-x@host/r.git",
        "git@-oX:r.git",
        "-oX@host:r.git",
        "git@host:-x",
        "git@host:",
        "file://host/r.git",
        "https://host/r.git@",
        "https://host/r.git@-x",
        "https://host/r.git@a..b",
        "https://host/r.git@a b",
        "https://host/r.git@v1//a",
        "https://host/r.git@x.lock",
        "https://host/r.git//../x",
        "https://host/r.git//a/../b",
        "https://host/r.git//a\\b",
        "o/r@",
        "o/r@-x",
        "o/r/../x",
        "o/..",
        "-o/r",
        "o.x/r",
        "o/r/./a",
        "https://github.com/o",
        "https://github.com/o/r/pull/3",
        "https://github.com/o/r/blob/main/README.md",
        "https://github.com/o/r/tree/main/../x",
    ] {
        let error = InstallOrigin::parse(text, Path::new("/cwd")).expect_err(text);
        assert!(error.hint().is_some() && !error.to_string().contains('\n'), "{text}");
    }
}

#[test]
fn secrets_are_neither_kept_nor_shown() {
    for text in ["https://me:hunter2@host/r.git", "https://hunter2@host/r.git", "ssh://me:hunter2@host/r.git"] {
        let error = InstallOrigin::parse(text, Path::new("/cwd")).unwrap_err();
        assert!(!error.to_string().contains("hunter2") && !error.hint().unwrap().contains("hunter2"), "{error}");
    }
}

#[test]
fn a_directory_that_is_there_wins_over_what_else_it_might_be() {
    let tmp = tempfile::tempdir().unwrap();
    let real = |name: &str| {
        std::fs::create_dir_all(tmp.path().join(name)).unwrap();
        InstallOrigin::parse(name, tmp.path()).unwrap()
    };
    for name in ["o/r", "pdf", "x.zip", "github.com/o/r"] {
        let origin = real(name);
        assert_eq!(origin, InstallOrigin::Directory { path: tmp.path().join(name) });
        // Written down, it stays a directory, whatever becomes of the disk.
        let json = serde_json::to_string(&origin).unwrap();
        assert_eq!(serde_json::from_str::<InstallOrigin>(&json).unwrap(), origin, "{json}");
    }
    // A path that ends in .git is a repository; with a slash it is the directory.
    let url = tmp.path().join("o/bare.git").to_str().unwrap().to_owned();
    assert_eq!(real("o/bare.git"), git(&url, None, None));
    assert_eq!(InstallOrigin::parse("o/bare.git@v1", tmp.path()).unwrap(), git(&url, None, Some("v1")));
    assert_eq!(
        InstallOrigin::parse("o/bare.git/", tmp.path()).unwrap(),
        InstallOrigin::Directory { path: tmp.path().join("o/bare.git") }
    );
}
