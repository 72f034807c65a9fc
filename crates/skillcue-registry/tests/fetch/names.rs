//! Whatever an entry is called, nothing is made outside.

use proptest::prelude::*;
use skillcue_registry::InstallOrigin;

use crate::support::{Made, both, tree, unpack};

fn odd_name() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        Just("..".to_owned()),
        Just(".".to_owned()),
        Just(String::new()),
        Just("C:".to_owned()),
        Just(".git".to_owned()),
        "[a-c\\\\:é~\\x00 ]{0,4}",
    ];
    prop_oneof![prop::collection::vec(part, 0..6).prop_map(|parts| parts.join("/")), any::<String>()]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_name_leads_out(one in odd_name(), other in odd_name(), target in odd_name()) {
        // Names in zip archives have at most 65,535 bytes; any string of proptest's is shorter.
        let entries: [(&[u8], Made<'_>); 3] = [
            (one.as_bytes(), Made::File("one")),
            (b"link", Made::Link(&target)),
            (other.as_bytes(), Made::File("other")),
        ];
        for (name, bytes) in both(&entries) {
            let done = unpack(name, &bytes);
            let outside: Vec<_> =
                tree(done.dir.path()).into_keys().filter(|path| path != "into" && !path.starts_with("into/")).collect();
            prop_assert_eq!(outside, Vec::<String>::new());
            let root = done.dir.path().canonicalize().unwrap();
            if let Ok(real) = done.target().join("link").canonicalize() {
                prop_assert!(real.starts_with(root.join("into")), "{} leads to {}", target, real.display());
            }
        }
    }

    #[test]
    fn parsed_origins_parse_back(text in prop_oneof![
        any::<String>(),
        "(\\./|\\.\\./|/|https://|ssh://git@|git@|file:///)?[a-z@./:%~-]{1,20}(\\.git|\\.zip|\\.tgz)?(//[a-z@%/]{1,8})?(@[a-z@/.0-9-]{1,8})?",
    ]) {
        let cwd = std::path::Path::new("/nowhere/at all");
        if let Ok(origin) = InstallOrigin::parse(&text, cwd) {
            let written = origin.to_string();
            let again = InstallOrigin::parse(&written, std::path::Path::new("/elsewhere"));
            prop_assert_eq!(again.as_ref(), Ok(&origin));
            let json = serde_json::to_string(&origin).unwrap();
            prop_assert_eq!(serde_json::from_str::<InstallOrigin>(&json).unwrap(), origin);
        }
    }
}
