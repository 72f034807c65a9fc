//! Disclosure settings of `skillcue.toml` count for everything that the host hands out.
#![expect(clippy::unwrap_used, reason = "a test whose setting fails has failed")]

use std::fs;
use std::path::Path;

use skillcue::{ErrorInfo as _, Mode, Policy, Request};
use skillcue_host::{Environment, Host, HostOverrides};

/// A host whose user has this configuration.
fn host(home: &Path, config: &str) -> Host {
    fs::create_dir_all(home.join(".config/skillcue")).unwrap();
    fs::write(home.join(".config/skillcue/skillcue.toml"), config).unwrap();
    let variables = vec![("HOME".into(), home.into())];
    Host::open(Environment::new(None, variables).unwrap(), HostOverrides::default())
}

#[test]
fn the_configuration_counts_unless_a_request_says_otherwise() {
    let home = tempfile::tempdir().unwrap();
    let host = host(home.path(), "[disclose]\npolicy = \"hint\"\nmode = \"keyword\"\neagerness = 0.99\n");
    let skills = host.skills().unwrap();
    let shown = skills.disclose("Say bonjour to Alice");
    assert_eq!(shown.policy, Policy::Hint);
    assert!(shown.stable.contains("<id>hello-extended</id>") && !shown.turn.contains("Base directory"));
    let shown = skills.disclose(Request::new("Say bonjour to Alice").policy(Policy::Inject));
    assert!(shown.stable.is_empty() && shown.turn.contains("Base directory"), "{}", shown.turn);
    // By the words of its description alone.
    let by_text = "personalised farewells with the right honorific";
    assert!(skills.select(&Request::new(by_text)).hits.is_empty());
    assert_eq!(skills.select(&Request::new(by_text).mode(Mode::Hybrid)).hits[0].name, "hello-extended");
}

#[test]
fn a_number_that_makes_no_sense_is_refused_and_leniently_a_notice() {
    let home = tempfile::tempdir().unwrap();
    let config = "[disclose]\npolicy = \"hint\"\ncatalog_share = 7\n";
    let error = host(home.path(), config).skills().unwrap_err();
    assert_eq!((error.code(), error.is_usage()), ("config", false));
    assert_eq!(error.message(), "`catalog_share` must be a number from 0 to 1, not 7");
    let at = error.shown_excerpt().unwrap();
    assert_eq!((at.line, at.column, at.width), (3, 17, 1));
    let host = host(home.path(), config);
    let settings = host.lenient_settings().unwrap();
    assert_eq!(settings.notices[0].message, format!("{}:3:17: {}", at.path, error.message()));
    assert_eq!(host.skills().unwrap().disclose("Say bonjour to Alice").policy, Policy::Inject);
}
