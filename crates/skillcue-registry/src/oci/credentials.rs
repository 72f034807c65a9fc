//! Credentials for registries, from the files of Docker, Podman and their helpers.

use std::io::{Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::Value;

use super::{OciAccess, OciReference};

/// The largest file of credentials, and the longest answer of a helper.
const MAX_BYTES: u64 = 1 << 20;
/// The time that a helper has.
const MAX_HELPER_TIME: Duration = Duration::from_secs(10);
/// The key that Docker's own registry has in files.
const DOCKER_HUB_KEY: &str = "https://index.docker.io/v1/";
/// The names of Docker's own registry.
const DOCKER_HUB: [&str; 3] = ["docker.io", "index.docker.io", "registry-1.docker.io"];

/// A name and a password, or a token. Never shown.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Credential {
    /// A user's name and password.
    Basic(String, String),
    /// A token that is exchanged for another one.
    Identity(String),
}

impl std::fmt::Debug for Credential {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Credential(…)")
    }
}

#[derive(Default, Deserialize)]
struct AuthFile {
    #[serde(default)]
    auths: serde_json::Map<String, Value>,
    #[serde(default, rename = "credHelpers")]
    helpers: serde_json::Map<String, Value>,
    #[serde(rename = "credsStore")]
    store: Option<String>,
}

impl OciAccess {
    /// Returns the credential for a repository; `None` if no file knows its registry. An error names the file or the helper,
    /// and no secret.
    pub(super) fn credential(&self, reference: &OciReference) -> Result<Option<Credential>, String> {
        for file in &self.auth_files {
            let Some(bytes) = read(file)? else { continue };
            let known: AuthFile = serde_json::from_slice(&bytes)
                // The parser's message quotes values, which are secrets.
                .map_err(|error| {
                    let (line, column) = (error.line(), error.column());
                    format!("{} is no file of credentials: see line {line}, column {column}", file.display())
                })?;
            for key in keys(reference) {
                let helper = known.helpers.get(&key).and_then(Value::as_str);
                let helper = helper.or_else(|| known.store.as_deref().filter(|_| is_host_key(&key, reference)));
                if let Some(helper) = helper.filter(|helper| !helper.is_empty())
                    && let Some(found) = self.ask_helper(helper, &key)?
                {
                    return Ok(Some(found));
                }
                if let Some(found) =
                    known.auths.get(&key).map(|entry| entry_credential(entry, &key, file)).transpose()?.flatten()
                {
                    return Ok(Some(found));
                }
            }
        }
        Ok(None)
    }

    /// Asks a helper, which must not prompt: it has no terminal, little time, and a bounded answer.
    fn ask_helper(&self, helper: &str, key: &str) -> Result<Option<Credential>, String> {
        #[derive(Deserialize)]
        struct HelperAnswer {
            #[serde(rename = "Username")]
            username: String,
            #[serde(rename = "Secret")]
            secret: String,
        }
        let is_plain = helper.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'));
        if !is_plain {
            return Err("the name of a credential helper is no plain word".to_owned());
        }
        let name = format!("docker-credential-{helper}");
        let program = self.helper_dirs.iter().map(|dir| dir.join(&name)).find(|program| program.is_file());
        let program = program.ok_or_else(|| format!("the credential helper {name} is not on the PATH"))?;
        let mut command = Command::new(program);
        command.arg("get").env_clear().envs(self.env.iter().cloned());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0);
        let mut child = command
            .spawn()
            .map_err(|error| format!("{name} cannot be started: {}", skillcue_base::os_message(&error)))?;
        if let Some(mut stdin) = child.stdin.take() {
            // One that does not read it answers all the same, or not at all.
            let _ = stdin.write_all(key.as_bytes());
        }
        let Some(answer) = bounded_answer(&mut child) else {
            return Err(format!("{name} did not answer within {} s", MAX_HELPER_TIME.as_secs()));
        };
        let (is_success, answer) = answer;
        if !is_success {
            // It knows no credentials for this registry: anonymous access is left.
            return Ok(None);
        }
        let answer: HelperAnswer =
            serde_json::from_slice(&answer).map_err(|_| format!("{name} gave no credentials"))?;
        Ok(Some(if answer.username == "<token>" {
            Credential::Identity(answer.secret)
        } else {
            Credential::Basic(answer.username, answer.secret)
        }))
    }
}

/// Waits for a helper's end and returns whether it succeeded, and its answer; `None` if it took too long and was ended.
fn bounded_answer(child: &mut Child) -> Option<(bool, Vec<u8>)> {
    let stdout = child.stdout.take()?;
    let (send, receive) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = stdout.take(MAX_BYTES).read_to_end(&mut bytes);
        let _ = send.send(bytes);
    });
    let end = Instant::now() + MAX_HELPER_TIME;
    let bytes = receive.recv_timeout(MAX_HELPER_TIME).ok();
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) if bytes.is_some() => break Some(status.success()),
            Ok(_) if bytes.is_some() && Instant::now() < end => std::thread::sleep(Duration::from_millis(5)),
            _ => break None,
        }
    };
    if status.is_none() {
        // Its group is its own: a program that it has started goes, too.
        if let Some(group) = rustix::process::Pid::from_raw(child.id().cast_signed()) {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
        let _ = child.wait();
    }
    Some((status?, bytes?))
}

fn read(file: &Path) -> Result<Option<Vec<u8>>, String> {
    let unreadable =
        |error: std::io::Error| format!("cannot read {}: {}", file.display(), skillcue_base::os_message(&error));
    let opened = match crate::tree::open_followed(file) {
        Ok(opened) => opened,
        Err(error) if matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(unreadable(error)),
    };
    let mut bytes = Vec::new();
    opened.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(format!("{} is larger than 1 MiB", file.display()));
    }
    Ok(Some(bytes))
}

/// Returns the keys under which a repository may be in a file, the most specific first: Podman knows repositories.
fn keys(reference: &OciReference) -> Vec<String> {
    let mut keys: Vec<String> = Vec::new();
    let mut path = reference.repository();
    loop {
        keys.push(format!("{}/{path}", reference.host()));
        match path.rsplit_once('/') {
            Some((above, _)) => path = above,
            None => break,
        }
    }
    keys.push(reference.host().to_owned());
    keys.push(format!("https://{}", reference.host()));
    keys.push(format!("https://{}/v1/", reference.host()));
    if DOCKER_HUB.contains(&reference.host()) {
        keys.extend(DOCKER_HUB.map(str::to_owned));
        keys.push(DOCKER_HUB_KEY.to_owned());
    }
    keys
}

/// Returns whether a key is the one by which helpers know the registry.
fn is_host_key(key: &str, reference: &OciReference) -> bool {
    if DOCKER_HUB.contains(&reference.host()) { key == DOCKER_HUB_KEY } else { key == reference.host() }
}

/// Returns the credential of an entry of `auths`; `None` if it is empty, as it is beside a helper.
fn entry_credential(entry: &Value, key: &str, file: &Path) -> Result<Option<Credential>, String> {
    let text = |key: &str| entry.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    if let Some(token) = text("identitytoken") {
        return Ok(Some(Credential::Identity(token.to_owned())));
    }
    if let (Some(name), Some(password)) = (text("username"), text("password")) {
        return Ok(Some(Credential::Basic(name.to_owned(), password.to_owned())));
    }
    let Some(auth) = text("auth") else { return Ok(None) };
    let wrong = || format!("{}: the entry of {key} is not `user:password` in base64", file.display());
    let decoded = decode_base64(auth).and_then(|bytes| String::from_utf8(bytes).ok()).ok_or_else(wrong)?;
    let (name, password) = decoded.split_once(':').ok_or_else(wrong)?;
    Ok(Some(Credential::Basic(name.to_owned(), password.trim_end_matches('\0').to_owned())))
}

/// Decodes base64 of the standard alphabet, with or without padding.
fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let (mut bits, mut count, mut bytes) = (0_u32, 0_u32, Vec::new());
    for byte in text.trim().trim_end_matches('=').bytes() {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = (bits << 6) | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from((bits >> count) & 0xff).ok()?);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn basic(name: &str, password: &str) -> Credential {
        Credential::Basic(name.to_owned(), password.to_owned())
    }

    #[test]
    fn the_usual_files_are_read() {
        let dir = tempfile::tempdir().unwrap();
        let (first, second) = (dir.path().join("auth.json"), dir.path().join("config.json"));
        std::fs::write(&first, r#"{"auths": {"ghcr.io/acme": {"auth": "YW5uOm9uZTp0d28="}}}"#).unwrap();
        std::fs::write(
            &second,
            r#"{"auths": {"ghcr.io": {"username": "bob", "password": "x"}, "https://index.docker.io/v1/": {"auth": "aHViOnB3"},
                "empty.example": {}, "token.example": {"identitytoken": "t"}}}"#,
        )
        .unwrap();
        let access = OciAccess { auth_files: vec![dir.path().join("none"), first, second], ..OciAccess::default() };
        let of = |text: &str| access.credential(&OciReference::parse(text).unwrap());
        assert_eq!(
            of("oci://ghcr.io/acme/pdf"),
            Ok(Some(basic("ann", "one:two"))),
            "the nearer key, and the first file"
        );
        assert_eq!(of("oci://ghcr.io/other/pdf"), Ok(Some(basic("bob", "x"))));
        assert_eq!(of("oci://docker.io/acme/pdf"), Ok(Some(basic("hub", "pw"))));
        assert_eq!(of("oci://empty.example/pdf"), Ok(None));
        assert_eq!(of("oci://unknown.example/pdf"), Ok(None));
        assert_eq!(of("oci://token.example/pdf"), Ok(Some(Credential::Identity("t".to_owned()))));
        assert!(!format!("{:?}", of("oci://ghcr.io/acme/pdf")).contains("two"));
    }

    #[test]
    fn broken_files_are_named_without_their_secrets() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("config.json");
        let access = OciAccess { auth_files: vec![file.clone()], ..OciAccess::default() };
        for text in [
            "{\"auths\": \"s3cret\"",
            r#"{"auths": {"h.example": {"auth": "!s3cret"}}}"#,
            r#"{"auths": {"h.example": {"auth": "czNjcmV0"}}}"#,
        ] {
            std::fs::write(&file, text).unwrap();
            let error = access.credential(&OciReference::parse("oci://h.example/x").unwrap()).unwrap_err();
            assert!(error.contains("config.json") && !error.contains("s3cret"), "{error}");
        }
    }

    #[test]
    fn helpers_are_asked_and_bounded() {
        let dir = tempfile::tempdir().unwrap();
        let config = dir.path().join("config.json");
        std::fs::write(&config, r#"{"credsStore": "good", "credHelpers": {"bad.example": "gone", "evil.example": "../x", "fail.example": "fails"}}"#).unwrap();
        let script = |name: &str, text: &str| {
            let path = dir.path().join(format!("docker-credential-{name}"));
            std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        };
        script("good", r#"read -r host; echo "{\"ServerURL\":\"$host\",\"Username\":\"$host\",\"Secret\":\"$KEY\"}""#);
        script("fails", "echo nothing is known; exit 1");
        let env = vec![("KEY".into(), "s3cret".into())];
        let access = OciAccess { auth_files: vec![config], helper_dirs: vec![dir.path().to_owned()], env };
        let of = |text: &str| access.credential(&OciReference::parse(text).unwrap());
        assert_eq!(of("oci://any.example/pdf"), Ok(Some(basic("any.example", "s3cret"))));
        assert!(of("oci://bad.example/pdf").unwrap_err().contains("docker-credential-gone is not on the PATH"));
        assert!(of("oci://evil.example/pdf").is_err());
        assert_eq!(of("oci://fail.example/pdf"), Ok(None), "it knows none: anonymous access is left");
    }

    #[test]
    fn base64_is_decoded() {
        for (text, bytes) in [("", ""), ("YQ==", "a"), ("YWI=", "ab"), ("YWJj", "abc"), ("YWJjZA", "abcd")] {
            assert_eq!(decode_base64(text).unwrap(), bytes.as_bytes());
        }
        assert_eq!(decode_base64("a-b"), None);
    }
}
