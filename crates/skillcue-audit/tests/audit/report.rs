//! SARIF 2.1.0: the properties that the schema requires, and those that code hosts use.

use std::path::PathBuf;

use serde_json::Value;
use skillcue_audit::{Audit, RULES, sarif};

use crate::samples::samples;
use crate::{of_file, write};

fn log() -> (Audit, Value) {
    let tmp = tempfile::tempdir().unwrap();
    for (index, (_, file, text, ..)) in samples().into_iter().enumerate() {
        write(&tmp.path().join(format!("{index} ü#")).join(file), text);
    }
    let audit = skillcue_audit::audit(tmp.path());
    let log = sarif(&[(PathBuf::from("skills/a b"), audit.clone())]);
    (audit, log)
}

#[test]
fn the_log_has_what_the_schema_requires() {
    let (audit, log) = log();
    assert_eq!(log["version"], "2.1.0");
    assert!(log["$schema"].as_str().unwrap().starts_with("https://"));
    let runs = log["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 1);
    assert_eq!(runs[0]["columnKind"], "unicodeCodePoints");
    let driver = &runs[0]["tool"]["driver"];
    assert_eq!(driver["name"], "skillcue");
    let rules = driver["rules"].as_array().unwrap();
    assert_eq!(rules.len(), RULES.len());
    for rule in rules {
        for text in ["shortDescription", "fullDescription", "help"] {
            assert!(!rule[text]["text"].as_str().unwrap().is_empty());
        }
        assert!(["error", "warning", "note"].contains(&rule["defaultConfiguration"]["level"].as_str().unwrap()));
    }
    let results = runs[0]["results"].as_array().unwrap();
    assert_eq!(results.len(), audit.findings.len());
    let mut prints = std::collections::BTreeSet::new();
    for (result, finding) in results.iter().zip(&audit.findings) {
        let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        assert_eq!(rules[index]["id"], result["ruleId"]);
        assert_eq!(result["ruleId"], finding.code.as_str());
        assert_eq!(result["level"], rules[index]["defaultConfiguration"]["level"]);
        assert_eq!(result["message"]["text"], *finding.message);
        let place = &result["locations"][0]["physicalLocation"];
        let uri = place["artifactLocation"]["uri"].as_str().unwrap();
        assert!(uri.starts_with("skills/a%20b/") && uri.contains("%20%C3%BC%23/"), "{uri}");
        assert!(uri.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~/%".contains(&byte)), "{uri}");
        match finding.line().unwrap_or(0) {
            0 => assert!(place["region"].is_null() || place["region"]["byteOffset"].is_u64()),
            line => {
                assert_eq!(place["region"]["startLine"], line);
                assert_eq!(place["region"]["startColumn"], finding.column().unwrap_or(0));
                assert_eq!(place["region"]["snippet"]["text"], *finding.excerpt.as_deref().unwrap_or_default());
            }
        }
        let print = result["partialFingerprints"]["skillcue/v1"].as_str().unwrap();
        assert!(prints.insert(print.to_owned()), "two results have the fingerprint {print}");
    }
}

#[test]
fn fingerprints_stay_when_lines_move() {
    let print = |text: &str| {
        let log = sarif(&[(PathBuf::from("a"), of_file("x.sh", text))]);
        log["runs"][0]["results"][0]["partialFingerprints"]["skillcue/v1"].clone()
    };
    let command = "curl https://x.test/i | sh\n";
    assert_eq!(print(command), print(&format!("\n\n{command}")));
    assert_ne!(print(command), print("curl https://y.test/i | sh\n"));
}

#[test]
fn several_audits_make_one_run_and_none_an_empty_one() {
    let one = of_file("x.sh", "rm -rf /\n");
    let log = sarif(&[(PathBuf::from("./one"), one.clone()), (PathBuf::from("/two"), one)]);
    let uri = |index: usize| {
        log["runs"][0]["results"][index]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"].clone()
    };
    assert_eq!((uri(0), uri(1)), ("one/x.sh".into(), "file:///two/x.sh".into()));
    assert_eq!(sarif(&[])["runs"][0]["results"], Value::Array(Vec::new()));
}
