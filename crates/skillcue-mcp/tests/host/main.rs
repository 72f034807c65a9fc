//! The host against servers that are good, slow, down, broken and lying.
//!
//! Over 500 lines: each test is a few lines with one server that misbehaves, and all share one set-up.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod fake;
mod processes;
mod stdio;
mod watch;

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use skillcue::consent::{ConsentStore, Scope};
use skillcue::remote::{Remote, RemoteEntry, RemoteError};
use skillcue_mcp::host::{McpHost, McpHostOptions, RefreshOutcome, ServerSpec, ServerTransport};

use fake::{Fake, Mode, Skill};

const DEADLINE: Duration = Duration::from_secs(30);

fn spec(label: &str, url: &str) -> ServerSpec {
    let transport = ServerTransport::Url { url: url.to_owned(), headers: Vec::new(), token: None };
    ServerSpec::new(label, transport).unwrap().with_timeout(Duration::from_secs(10))
}

fn options(dir: &Path) -> McpHostOptions {
    McpHostOptions { cache: Some(dir.join("cache")), consent: Arc::new(consent(dir)) }
}

fn consent(dir: &Path) -> ConsentStore {
    ConsentStore::new(Some(dir.join("data/consent.json")))
}

fn host(label: &str, url: &str, dir: &Path) -> (McpHost, Arc<dyn Remote>) {
    let host = McpHost::new([spec(label, url)], options(dir));
    let remote = host.remotes().remove(0);
    (host, remote)
}

/// A host that has listed the one skill of its server and has it approved.
fn approved(label: &str, fake: &Fake, dir: &Path) -> (McpHost, Arc<dyn Remote>, Arc<RemoteEntry>) {
    let (host, remote) = host(label, &fake.url, dir);
    assert_eq!(host.refresh(DEADLINE)[0].outcome, Ok(RefreshOutcome::Changed(1)));
    let entry = Arc::clone(&remote.entries()[0]);
    host.allow(label, &entry, Scope::Always).unwrap();
    (host, remote, entry)
}

#[test]
fn a_good_server_is_listed_approved_read_and_cached() {
    let tmp = tempfile::tempdir().unwrap();
    let fake = Fake::start(Mode::Good, vec![Skill::new("pdf"), Skill::at("github://o/r/csv", "csv")]);
    let (host, remote) = host("good", &fake.url, tmp.path());
    assert!(remote.entries().is_empty());
    assert!(host.is_stale("good"));
    assert!(fake.world.lock().unwrap().log.is_empty(), "nothing is asked before it is wanted");

    assert_eq!(host.refresh(DEADLINE)[0].outcome, Ok(RefreshOutcome::Changed(2)), "{:?}", host.diagnostics());
    assert_eq!(host.refresh(DEADLINE)[0].outcome, Ok(RefreshOutcome::Unchanged(2)));
    assert_eq!(host.refresh_stale(DEADLINE)[0].outcome, Ok(RefreshOutcome::Fresh(2)));
    assert!(host.diagnostics().is_empty());
    assert_eq!(fake.count("server/discover"), 1, "one connection for all");
    let pdf = Arc::clone(&remote.entries()[0]);
    assert_eq!((pdf.name(), remote.label()), ("pdf", "good"));

    let refused = remote.read(&pdf, "SKILL.md").unwrap_err();
    assert_eq!(refused, RemoteError::NotAllowed("a user has to allow it first".to_owned()));
    host.allow("good", &pdf, Scope::Always).unwrap();
    assert!(remote.is_allowed(&pdf));
    assert_eq!(fake.count("resources/read"), 0, "neither listing nor approving fetches");

    let text = remote.read(&pdf, "SKILL.md").unwrap();
    assert!(text.ends_with(b"# pdf\n"));
    assert_eq!(remote.read(&pdf, "references/a b.md").unwrap(), b"# Reference\n");
    assert_eq!(remote.read(&pdf, "assets/logo.bin").unwrap(), [0, 159, 146, 150]);
    assert_eq!(remote.read(&pdf, "SKILL.md").unwrap(), text);
    assert_eq!(fake.count("resources/read"), 3, "each once");
    drop((host, remote));

    // The next start needs no server.
    fake.set(|world| world.mode = Mode::HangsUp);
    let (host, remote) = self::host("good", &fake.url, tmp.path());
    assert!(!host.is_stale("good"));
    assert_eq!(remote.entries().len(), 2);
    assert_eq!(remote.read(&pdf, "SKILL.md").unwrap(), text);
    // Nor does another server under that name get its skills or its approvals.
    let (_, other) = self::host("good", "http://127.0.0.1:1/other", tmp.path());
    assert!(other.entries().is_empty());
    assert!(!other.is_allowed(&pdf));
    assert_eq!(consent(tmp.path()).withdraw(|_| true).unwrap().len(), 1);
    assert!(!remote.is_allowed(&pdf));
}

#[test]
fn stored_files_are_private() {
    let tmp = tempfile::tempdir().unwrap();
    let fake = Fake::start(Mode::Good, vec![Skill::new("pdf")]);
    let (_host, remote, entry) = approved("private", &fake, tmp.path());
    remote.read(&entry, "SKILL.md").unwrap();
    let mut found = Vec::new();
    let mut open = vec![tmp.path().join("cache"), tmp.path().join("data")];
    while let Some(path) = open.pop() {
        let mode = path.metadata().unwrap().permissions().mode() & 0o777;
        if path.is_dir() {
            assert_eq!(mode, 0o700, "{}", path.display());
            open.extend(path.read_dir().unwrap().map(|item| item.unwrap().path()));
        } else if path.extension().is_none_or(|extension| extension != "lock") {
            assert_eq!(mode, 0o600, "{}", path.display());
            found.push(path);
        }
    }
    assert_eq!(found.len(), 3, "listing, file, approvals: {found:?}");
}

#[test]
fn streams_of_events_and_older_servers_do_as_well() {
    for (label, mode) in [("events", Mode::Events), ("legacy", Mode::Legacy)] {
        let tmp = tempfile::tempdir().unwrap();
        let fake = Fake::start(mode, vec![Skill::new("pdf")]);
        let (_host, remote, entry) = approved(label, &fake, tmp.path());
        assert_eq!(remote.read(&entry, "references/a b.md").unwrap(), b"# Reference\n", "{label}");
        let greeted = if mode == Mode::Legacy { "initialize" } else { "server/discover" };
        assert_eq!(fake.count(greeted), 1, "{label}");
    }
}

#[test]
fn a_bad_server_is_an_error_and_nothing_else() {
    let down = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}/", listener.local_addr().unwrap())
    };
    let modes = [
        ("silent", Mode::Silent),
        ("garbage", Mode::Garbage),
        ("shape", Mode::WrongShape),
        ("no-list", Mode::NoList),
        ("huge", Mode::Huge),
        ("endless", Mode::EndlessEvents),
        ("hangs-up", Mode::HangsUp),
        ("dies", Mode::Dies),
        ("none", Mode::NoExtension),
        ("locked", Mode::Locked),
    ];
    let tmp = tempfile::tempdir().unwrap();
    let good = Fake::start(Mode::Good, vec![Skill::new("pdf")]);
    // Each has been good once.
    let fakes: Vec<(&str, Mode, Fake)> =
        modes.iter().map(|(label, mode)| (*label, *mode, Fake::start(Mode::Good, vec![Skill::new("old")]))).collect();
    let specs = |limit: Duration| {
        let bad = fakes.iter().map(|(label, mode, fake)| {
            // A server that never answers costs its time limit: a short one, then. One that sends a lot gets time.
            let silent = matches!(mode, Mode::Silent | Mode::EndlessEvents);
            spec(label, &fake.url).with_timeout(if silent { limit } else { DEADLINE })
        });
        bad.chain([spec("down", &down), spec("fine", &good.url)]).collect::<Vec<_>>()
    };
    let (long, short) = (DEADLINE, Duration::from_millis(300));
    let host = McpHost::new(specs(long), options(tmp.path()));
    for refreshed in host.refresh(DEADLINE) {
        assert_eq!(refreshed.outcome.is_ok(), refreshed.label != "down", "{refreshed:?}");
    }
    drop(host);
    for (_, mode, fake) in &fakes {
        fake.set(|world| world.mode = *mode);
    }
    let host = McpHost::new(specs(short), options(tmp.path()));
    for refreshed in host.refresh(DEADLINE) {
        assert_eq!(refreshed.outcome.is_ok(), refreshed.label == "fine", "{refreshed:?}");
    }
    for remote in host.remotes() {
        assert_eq!(remote.entries().len(), usize::from(remote.label() != "down"), "{} has lost it", remote.label());
    }
    // It is not asked again at once, not even by the next process.
    let host = McpHost::new(specs(short), options(tmp.path()));
    let asked = |fakes: &[(&str, Mode, Fake)]| -> usize {
        fakes.iter().map(|(_, _, fake)| fake.world.lock().unwrap().log.len()).sum()
    };
    let before = asked(&fakes);
    for refreshed in host.refresh_stale(DEADLINE) {
        let fine = refreshed.label != "down";
        // The listings are still fresh; only the server that never had one says why.
        assert_eq!(refreshed.outcome.is_ok(), fine && refreshed.label == "fine", "{refreshed:?}");
        assert!(!host.is_stale(&refreshed.label));
    }
    assert_eq!(asked(&fakes), before);
    let status = host.status();
    assert!(status.iter().all(|server| server.failure.is_some() == (server.label != "fine")), "{status:?}");
}

#[test]
fn a_token_opens_what_is_locked() {
    let fake = Fake::start(Mode::Locked, vec![Skill::new("pdf")]);
    let transport = ServerTransport::Url { url: fake.url, headers: Vec::new(), token: Some("s3cret".to_owned()) };
    let report = McpHost::inspect(ServerSpec::new("locked", transport).unwrap(), true, DEADLINE).unwrap();
    assert!(report.is_clean(), "{report:?}");
    assert_eq!((report.protocol.as_str(), report.skills[0].verified), ("2026-07-28", 3));
}

/// A server's label, how it behaves, and what it says otherwise than it is.
type Lie<'l> = (&'l str, Mode, &'l dyn Fn(&mut Skill));

#[test]
fn lies_are_refused_and_logged_once() {
    watch::listen();
    let forged = |skill: &mut Skill| {
        let text = skill.files["SKILL.md"].clone();
        skill.sent.insert("SKILL.md".to_owned(), text.to_ascii_lowercase());
    };
    let longer = |skill: &mut Skill| {
        skill.sent.insert("SKILL.md".to_owned(), [&skill.files["SKILL.md"][..], b"more\n"].concat());
    };
    let other_words = |skill: &mut Skill| skill.front_matter["description"] = json!("Harmless.");
    let unlisted_field = |skill: &mut Skill| {
        skill.front_matter.as_object_mut().unwrap().remove("metadata");
    };
    let lies: [Lie<'_>; 7] = [
        // The truth, for comparison.
        ("lie-none", Mode::Good, &|_| {}),
        ("lie-digest", Mode::Good, &forged),
        ("lie-size", Mode::Good, &longer),
        ("lie-words", Mode::Good, &other_words),
        ("lie-field", Mode::Good, &unlisted_field),
        ("lie-two", Mode::TwoContents, &|_| {}),
        ("lie-uri", Mode::OtherUri, &|_| {}),
    ];
    for (label, mode, lie) in lies {
        let tmp = tempfile::tempdir().unwrap();
        let mut skill = Skill::new("pdf");
        lie(&mut skill);
        let fake = Fake::start(mode, vec![skill]);
        let (_host, remote, entry) = approved(label, &fake, tmp.path());
        let read = remote.read(&entry, "SKILL.md");
        if label == "lie-none" {
            assert!(read.is_ok() && watch::events(label).is_empty(), "{read:?} {:?}", watch::events(label));
            continue;
        }
        let refused = read.unwrap_err();
        assert!(matches!(refused, RemoteError::Unverified(_)), "{label}: {refused:?}");
        assert_eq!(watch::events(label).len(), 1, "{label}: {:?}", watch::events(label));
        assert_eq!(fake.count("skills/get"), 1, "{label}: the listing might have been old");
        assert!(!tmp.path().join("cache/mcp").join(label).join("files").exists(), "{label}: nothing of it is kept");
        assert!(remote.is_allowed(&entry), "{label}: the listing has not changed");
    }
}

#[test]
fn an_old_listing_recovers_and_its_approval_ends() {
    watch::listen();
    let tmp = tempfile::tempdir().unwrap();
    let fake = Fake::start(Mode::Good, vec![Skill::new("pdf")]);
    let (host, remote, old) = approved("stale", &fake, tmp.path());
    let changed = b"---\nname: pdf\ndescription: Does pdf.\nmetadata:\n  version: 1.10\n---\n# Other\n".to_vec();
    let before = fake.world.lock().unwrap().skills[0].files.clone();
    fake.set(|world| drop(world.skills[0].files.insert("SKILL.md".to_owned(), changed.clone())));
    let refused = remote.read(&old, "SKILL.md").unwrap_err();
    assert_eq!(refused, RemoteError::NotAllowed("its content has changed since it was allowed".to_owned()));
    let new = Arc::clone(&remote.entries()[0]);
    assert_ne!(old, new);
    assert!(!remote.is_allowed(&old) && !remote.is_allowed(&new));
    assert!(consent(tmp.path()).list()[0].changed);
    // Even if the server goes back to the approved content: a person must look again.
    fake.set(|world| world.skills[0].files = before);
    host.refresh(DEADLINE);
    assert!(!remote.is_allowed(&remote.entries()[0]));
    assert!(matches!(remote.read(&old, "SKILL.md"), Err(RemoteError::NotAllowed(_))));
    host.allow("stale", &remote.entries()[0], Scope::Always).unwrap();
    assert!(remote.read(&old, "SKILL.md").is_ok());
    // A file that comes or goes is a change as well.
    fake.set(|world| drop(world.skills[0].files.insert("new.md".to_owned(), b"x".to_vec())));
    host.refresh(DEADLINE);
    assert!(matches!(remote.read(&old, "SKILL.md"), Err(RemoteError::NotAllowed(_))));
    host.allow("stale", &remote.entries()[0], Scope::Session).unwrap();
    assert_eq!(remote.read(&remote.entries()[0], "new.md").unwrap(), b"x");
}

#[test]
fn a_file_that_is_gone_is_a_changed_skill() {
    let tmp = tempfile::tempdir().unwrap();
    let fake = Fake::start(Mode::Good, vec![Skill::new("pdf")]);
    let (_host, remote, entry) = approved("gone", &fake, tmp.path());
    assert!(remote.read(&entry, "SKILL.md").is_ok());
    fake.set(|world| drop(world.skills[0].files.remove("assets/logo.bin")));
    assert!(matches!(remote.read(&entry, "assets/logo.bin"), Err(RemoteError::NotAllowed(_))));
}

#[test]
fn only_listed_files_are_read() {
    watch::listen();
    let tmp = tempfile::tempdir().unwrap();
    let fake = Fake::start(Mode::Good, vec![Skill::new("pdf"), Skill::new("other")]);
    let (host, remote) = host("unlisted", &fake.url, tmp.path());
    host.refresh(DEADLINE);
    let entry = Arc::clone(&remote.entries()[0]);
    host.allow("unlisted", &entry, Scope::Always).unwrap();
    let attacks = [
        "../other/SKILL.md",
        "/etc/passwd",
        "references/../../other/SKILL.md",
        "%2e%2e/other/SKILL.md",
        "a\0b",
        "references\\a b.md",
        "skill://other/SKILL.md",
        "",
    ];
    for path in attacks {
        assert!(matches!(remote.read(&entry, path), Err(RemoteError::NotListed(_))), "{path}");
    }
    assert_eq!(watch::events("unlisted").len(), attacks.len());
    for path in ["missing.md", "references", "references/a%20b.md", "skill.md"] {
        assert!(matches!(remote.read(&entry, path), Err(RemoteError::NotListed(_))), "{path}");
    }
    assert_eq!(watch::events("unlisted").len(), attacks.len(), "a mistake is no attack");
    assert_eq!(fake.count("resources/read"), 0);
    assert_eq!(remote.read(&entry, "references/a b.md").unwrap(), b"# Reference\n", "a listed one is");
}

/// Makes other digests of all that there are.
fn forge(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Some(hex) = text.strip_prefix("sha256:") {
                *text = format!("sha256:{}", hex.chars().rev().collect::<String>());
            }
        }
        Value::Array(items) => items.iter_mut().for_each(forge),
        Value::Object(map) => map.values_mut().for_each(forge),
        _ => {}
    }
}

#[test]
fn a_tampered_cache_is_noticed() {
    watch::listen();
    let tmp = tempfile::tempdir().unwrap();
    let fake = Fake::start(Mode::Good, vec![Skill::new("pdf")]);
    let (_host, remote, entry) = approved("tampered", &fake, tmp.path());
    let text = remote.read(&entry, "SKILL.md").unwrap();
    let files = tmp.path().join("cache/mcp/tampered/files");
    let skill = files.read_dir().unwrap().next().unwrap().unwrap().path();
    let file = skill.read_dir().unwrap().next().unwrap().unwrap().path();
    for evil in [text.to_ascii_uppercase(), b"short".to_vec(), [&text[..], b"more"].concat()] {
        std::fs::write(&file, evil).unwrap();
        assert_eq!(remote.read(&entry, "SKILL.md").unwrap(), text);
    }
    assert_eq!(watch::events("tampered").len(), 3, "{:?}", watch::events("tampered"));
    assert_eq!(fake.count("resources/read"), 4);
    assert!(remote.is_allowed(&entry));
    // A listing that was tampered with approves nothing by itself.
    let listing = tmp.path().join("cache/mcp/tampered/listing.json");
    let mut forged = serde_json::from_slice(&std::fs::read(&listing).unwrap()).unwrap();
    forge(&mut forged);
    std::fs::write(&listing, forged.to_string()).unwrap();
    let (_host, remote) = host("tampered", &fake.url, tmp.path());
    let entries = remote.entries();
    assert_eq!(entries.len(), 1, "the forged listing is well-formed");
    assert_ne!(entries[0], entry);
    assert!(!remote.is_allowed(&entries[0]));
}

#[test]
fn bad_entries_are_left_out_and_named() {
    let tmp = tempfile::tempdir().unwrap();
    let fake = Fake::start(Mode::Good, vec![Skill::new("pdf"), Skill::at("skill://acme/pdf", "pdf")]);
    fake.set(|world| {
        let mut twice = Skill::new("pdf").entry();
        twice["frontmatter"]["description"] = json!("Another.");
        let mut outside = Skill::new("out").entry();
        outside["resources"][0]["uri"] = json!("skill://out/../pdf/SKILL.md");
        let dynamic = Skill { dynamic: true, ..Skill::new("live") };
        world.raw = vec![json!(7), json!({}), twice, outside, dynamic.entry(), json!({ "uri": "x\u{1b}[2J" })];
    });
    let (host, remote) = host("sloppy", &fake.url, tmp.path());
    assert_eq!(host.refresh(DEADLINE)[0].outcome, Ok(RefreshOutcome::Changed(3)), "{:?}", host.diagnostics());
    let uris: Vec<String> = remote.entries().iter().map(|entry| entry.uri.clone()).collect();
    assert_eq!(uris, ["skill://pdf/SKILL.md", "skill://acme/pdf/SKILL.md", "skill://live/SKILL.md"]);
    assert_eq!(remote.entries()[0].front_matter["description"], "Does pdf.", "the first stays");
    let said = host.diagnostics();
    assert_eq!(said.len(), 5, "{said:?}");
    assert!(
        said.iter().all(|found| found.message.starts_with("sloppy: ") && !found.message.contains(char::is_control)),
        "{said:?}"
    );

    let live = Arc::clone(&remote.entries()[2]);
    assert!(host.allow("sloppy", &live, Scope::Always).is_err());
    let refused = remote.read(&live, "SKILL.md").unwrap_err();
    assert!(refused.to_string().contains("generates its files"), "{refused}");
    assert_eq!(fake.count("resources/read"), 0);
}

#[test]
fn listings_without_an_end_have_one() {
    let tmp = tempfile::tempdir().unwrap();
    let same = Fake::start(Mode::SameCursor, vec![Skill::new("pdf")]);
    let endless = Fake::start(Mode::EndlessPages, vec![Skill::new("pdf")]);
    let host = McpHost::new([spec("same", &same.url), spec("pages", &endless.url)], options(tmp.path()));
    let refreshed = host.refresh(DEADLINE);
    assert_eq!(refreshed[0].outcome, Ok(RefreshOutcome::Changed(1)));
    assert_eq!(refreshed[1].outcome, Ok(RefreshOutcome::Changed(0)));
    let said = host.diagnostics().iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    assert!(said.contains("same: a cursor came twice") && said.contains("pages: the listing goes on"), "{said}");
    assert_eq!((same.count("skills/list"), endless.count("skills/list")), (2, 200));
}

#[test]
fn a_skill_that_is_not_listed_can_be_asked_for() {
    let tmp = tempfile::tempdir().unwrap();
    let fake = Fake::start(Mode::Good, vec![Skill::new("pdf")]);
    let (host, remote) = host("by-uri", &fake.url, tmp.path());
    let entry = host.get("by-uri", "skill://pdf/SKILL.md").unwrap();
    assert_eq!(remote.entries().len(), 1);
    host.allow("by-uri", &entry, Scope::Session).unwrap();
    assert!(remote.read(&entry, "SKILL.md").is_ok());
    assert!(matches!(host.get("by-uri", "skill://none/SKILL.md"), Err(RemoteError::Unreachable(_))));
    assert!(matches!(host.get("nobody", "skill://pdf/SKILL.md"), Err(RemoteError::Unreachable(_))));
}

#[test]
fn a_slow_read_costs_its_time_limit_and_the_next_one_works() {
    let tmp = tempfile::tempdir().unwrap();
    let fake = Fake::start(Mode::Good, vec![Skill::new("pdf")]);
    let (host, remote, entry) = approved("slow", &fake, tmp.path());
    fake.set(|world| world.mode = Mode::SilentReads);
    let hasty = McpHost::new([spec("slow", &fake.url).with_timeout(Duration::from_millis(300))], options(tmp.path()));
    let refused = hasty.remotes()[0].read(&entry, "SKILL.md");
    assert!(matches!(refused, Err(RemoteError::Unreachable(_))), "{refused:?}");
    fake.set(|world| world.mode = Mode::Good);
    assert!(remote.read(&entry, "SKILL.md").is_ok());
    assert!(hasty.remotes()[0].read(&entry, "SKILL.md").is_ok(), "from the cache");
    drop(host);
}

#[test]
fn it_works_from_many_threads_and_inside_a_runtime() {
    let tmp = tempfile::tempdir().unwrap();
    let fake = Fake::start(Mode::Good, vec![Skill::new("pdf")]);
    let (host, remote, entry) = approved("threads", &fake, tmp.path());
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| remote.read(&entry, "SKILL.md").unwrap());
        }
    });
    assert_eq!(fake.count("resources/read"), 1, "one fetch for all");
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async move {
        assert!(remote.read(&entry, "assets/logo.bin").is_ok());
        assert_eq!(host.refresh(DEADLINE)[0].outcome, Ok(RefreshOutcome::Unchanged(1)));
        drop((host, remote));
    });
}

#[test]
fn a_host_without_directories_works() {
    let fake = Fake::start(Mode::Good, vec![Skill::new("pdf")]);
    let host = McpHost::new([spec("memory", &fake.url)], McpHostOptions::default());
    let remote = host.remotes().remove(0);
    host.refresh(DEADLINE);
    let entry = Arc::clone(&remote.entries()[0]);
    host.allow("memory", &entry, Scope::Always).unwrap();
    // The remote alone is enough.
    drop(host);
    assert!(remote.read(&entry, "SKILL.md").is_ok());
}

#[test]
fn servers_that_are_gone_leave_nothing_behind() {
    let tmp = tempfile::tempdir().unwrap();
    let fake = Fake::start(Mode::Good, vec![Skill::new("pdf")]);
    let host = McpHost::new([spec("stays", &fake.url), spec("goes", &fake.url)], options(tmp.path()));
    host.refresh(DEADLINE);
    assert!(host.prune().unwrap().is_empty());
    let host = McpHost::new([spec("stays", &fake.url)], options(tmp.path()));
    assert_eq!(host.prune().unwrap(), ["goes"]);
    assert!(!tmp.path().join("cache/mcp/goes").exists());
    let remote = host.remotes().remove(0);
    let entry = Arc::clone(&remote.entries()[0]);
    host.allow("stays", &entry, Scope::Always).unwrap();
    remote.read(&entry, "SKILL.md").unwrap();
    remote.read(&entry, "assets/logo.bin").unwrap();
    let files = || {
        let dirs = tmp.path().join("cache/mcp/stays/files").read_dir().unwrap();
        dirs.map(|dir| dir.unwrap().path().read_dir().unwrap().count()).sum::<usize>()
    };
    // Nor do files that are listed no longer. A server that is only switched off keeps what it has.
    fake.set(|world| drop(world.skills[0].files.insert("assets/logo.bin".to_owned(), b"new".to_vec())));
    assert_eq!(files(), 2);
    // Refreshing sees to it.
    host.refresh(DEADLINE);
    assert_eq!(files(), 1);
    assert!(host.prune().unwrap().is_empty());
    assert_eq!(files(), 1);
    let off = ServerSpec { enabled: false, ..spec("stays", &fake.url) };
    let host = McpHost::new([off], options(tmp.path()));
    assert!(host.remotes().is_empty() && host.prune().unwrap().is_empty());
}

#[test]
fn refreshing_clears_away_what_servers_have_left() {
    let tmp = tempfile::tempdir().unwrap();
    let fake = Fake::start(Mode::Good, vec![Skill::new("pdf")]);
    McpHost::new([spec("stays", &fake.url), spec("goes", &fake.url)], options(tmp.path())).refresh(DEADLINE);
    let goes = tmp.path().join("cache/mcp/goes");
    assert!(goes.exists());
    let (host, _) = host("stays", &fake.url, tmp.path());
    assert_eq!(host.refresh_stale(DEADLINE)[0].outcome, Ok(RefreshOutcome::Fresh(1)));
    assert!(goes.exists(), "nothing was asked, so nothing is tidied");
    host.refresh(DEADLINE);
    assert!(!goes.exists());
    assert!(tmp.path().join("cache/mcp/stays/listing.json").exists());
}

fn changed(fake: &Fake, body: &str) {
    let text = format!("---\nname: pdf\ndescription: Does pdf.\nmetadata:\n  version: 1.10\n---\n{body}\n");
    fake.set(|world| drop(world.skills[0].files.insert("SKILL.md".to_owned(), text.into_bytes())));
}

#[test]
fn consent_given_elsewhere_reaches_a_running_host() {
    // With one cache for both, and with one for each.
    for (label, shared) in [("shared", true), ("apart", false)] {
        let tmp = tempfile::tempdir().unwrap();
        let fake = Fake::start(Mode::Good, vec![Skill::new("pdf"), Skill::new("csv")]);
        let (a, remote) = host(label, &fake.url, tmp.path());
        a.refresh(DEADLINE);
        let (old, csv) = (Arc::clone(&remote.entries()[0]), Arc::clone(&remote.entries()[1]));
        a.allow(label, &old, Scope::Always).unwrap();
        assert!(remote.read(&old, "SKILL.md").is_ok());
        changed(&fake, "# New");
        fake.set(|world| drop(world.skills[1].files.insert("x.md".to_owned(), b"x".to_vec())));

        let mut elsewhere = options(tmp.path());
        if !shared {
            elsewhere.cache = Some(tmp.path().join("other"));
        }
        let b = McpHost::new([spec(label, &fake.url)], elsewhere);
        b.refresh(DEADLINE);
        let entries = b.remotes()[0].entries();
        b.allow(label, &entries[0], Scope::Always).unwrap();
        b.allow(label, &entries[1], Scope::Always).unwrap();

        assert!(remote.read(&old, "SKILL.md").unwrap().ends_with(b"# New\n"), "{label}");
        assert_eq!(fake.count("skills/get"), usize::from(!shared), "{label}");
        assert_eq!(remote.entries()[0], entries[0], "{label}");
        // The problem of one skill does not affect the others.
        assert!(consent(tmp.path()).list().iter().all(|approval| !approval.changed), "{label}");
        assert_eq!(remote.read(&csv, "x.md").unwrap(), b"x", "{label}");
        assert_eq!(
            a.refresh_stale(DEADLINE)[0].outcome,
            Ok(RefreshOutcome::Changed(2)),
            "{label}: the catalog is another"
        );
        assert_eq!(a.refresh_stale(DEADLINE)[0].outcome, Ok(RefreshOutcome::Fresh(2)), "{label}");
    }
}

#[test]
fn a_server_is_not_bothered_with_every_read_of_what_has_changed() {
    let tmp = tempfile::tempdir().unwrap();
    let fake = Fake::start(Mode::Good, vec![Skill::new("pdf")]);
    let (host, remote, old) = approved("bothered", &fake, tmp.path());
    changed(&fake, "# New");
    host.refresh(DEADLINE);
    for _ in 0..20 {
        assert!(matches!(remote.read(&old, "SKILL.md"), Err(RemoteError::NotAllowed(_))));
    }
    assert_eq!(fake.count("skills/get"), 1);
    // Nor does a server that is gone make an error of another kind of it.
    let (_host, remote) = self::host("bothered", &fake.url, tmp.path());
    fake.set(|world| world.mode = Mode::HangsUp);
    assert!(matches!(remote.read(&old, "SKILL.md"), Err(RemoteError::NotAllowed(_))));
    fake.set(|world| world.mode = Mode::Silent);
    let hasty =
        McpHost::new([spec("bothered", &fake.url).with_timeout(Duration::from_millis(300))], options(tmp.path()));
    assert!(matches!(hasty.remotes()[0].read(&old, "SKILL.md"), Err(RemoteError::NotAllowed(_))));
}

#[test]
fn a_skill_that_was_asked_for_changes_the_catalog_once() {
    let tmp = tempfile::tempdir().unwrap();
    let fake = Fake::start(Mode::Good, vec![Skill::new("pdf")]);
    let (host, _) = host("told", &fake.url, tmp.path());
    host.refresh(DEADLINE);
    host.get("told", "skill://pdf/SKILL.md").unwrap();
    assert_eq!(host.refresh_stale(DEADLINE)[0].outcome, Ok(RefreshOutcome::Fresh(1)), "it is what was listed");
    changed(&fake, "# New");
    host.get("told", "skill://pdf/SKILL.md").unwrap();
    assert_eq!(host.refresh(DEADLINE)[0].outcome, Ok(RefreshOutcome::Changed(1)));
    assert_eq!(host.refresh(DEADLINE)[0].outcome, Ok(RefreshOutcome::Unchanged(1)));
    changed(&fake, "# Newer");
    host.get("told", "skill://pdf/SKILL.md").unwrap();
    assert_eq!(host.refresh_stale(DEADLINE)[0].outcome, Ok(RefreshOutcome::Changed(1)));
    assert_eq!(host.refresh_stale(DEADLINE)[0].outcome, Ok(RefreshOutcome::Fresh(1)));
}

#[test]
fn a_server_that_cannot_be_used_is_named() {
    let (good, mut bad) = (spec("one", "https://a.example"), spec("two", "https://b.example"));
    bad.label = "../two".to_owned();
    let host = McpHost::new([good.clone(), good, bad], McpHostOptions::default());
    assert_eq!(host.remotes().len(), 1);
    assert_eq!(host.diagnostics().len(), 2, "{:?}", host.diagnostics());
}

#[test]
fn inspecting_stops_at_the_first_lie() {
    let mut lying = Skill::new("pdf");
    lying.sent.insert("SKILL.md".to_owned(), b"evil".to_vec());
    let fake = Fake::start(Mode::Good, vec![lying, Skill::new("csv")]);
    let report = McpHost::inspect(spec("inspect", &fake.url), false, DEADLINE).unwrap();
    assert_eq!((report.skills.len(), report.skills[0].files, fake.count("resources/read")), (2, Some(3), 0));
    let report = McpHost::inspect(spec("inspect", &fake.url), true, DEADLINE).unwrap();
    assert_eq!((report.skills[0].verified, report.skills[0].diagnostics.len()), (0, 1), "{report:?}");
    assert_eq!((report.skills[1].verified, report.skills[1].diagnostics.len()), (3, 0), "{report:?}");
    assert!(!report.is_clean());
    assert_eq!(fake.count("resources/read"), 4);
}
