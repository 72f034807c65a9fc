//! What `sandbox-exec` of macOS is told: a policy, written in its language. Not tested on macOS.
//!
//! The language is a Scheme in which the last rule that fits counts. Here everything is denied first, and nothing but
//! paths comes from outside; those are written so that none can be taken for anything else.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Component, Path};

use thiserror::Error;

use crate::job::Policy;

/// A path that cannot be written into a profile.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the sandbox's profile cannot name the path {path:?}: {reason}")]
pub(crate) struct Unwritable {
    path: String,
    reason: &'static str,
}

/// What every process needs in order to start, whoever it is: the system's libraries, where the loader keeps them
/// prepared, and what the libraries ask about the machine. Of the system's properties only harmless ones: those that
/// begin with `kern.proc` tell the arguments and the environment of every process.
const START: &str = r#"(version 1)
(deny default)
(allow process-info* (target self))
(allow signal (target self))
(allow sysctl-read
  (sysctl-name-prefix "hw.")
  (sysctl-name-prefix "machdep.cpu.")
  (sysctl-name "kern.argmax")
  (sysctl-name "kern.hostname")
  (sysctl-name "kern.maxfilesperproc")
  (sysctl-name "kern.osproductversion")
  (sysctl-name "kern.osrelease")
  (sysctl-name "kern.ostype")
  (sysctl-name "kern.osvariant_status")
  (sysctl-name "kern.osversion")
  (sysctl-name "kern.secure_kernel")
  (sysctl-name "kern.usrstack64")
  (sysctl-name "kern.version")
  (sysctl-name "sysctl.proc_cputype")
  (sysctl-name "vm.loadavg"))
(allow file-read* file-map-executable
  (subpath "/Library/Apple/System/Library")
  (subpath "/Library/Apple/usr/lib")
  (subpath "/System/Cryptexes")
  (subpath "/System/Library")
  (subpath "/System/Volumes/Preboot/Cryptexes")
  (subpath "/private/var/db/dyld")
  (subpath "/usr/lib"))
(allow file-read*
  (literal "/")
  (literal "/dev/random")
  (literal "/dev/urandom")
  (literal "/private/var/select/sh")
  (subpath "/private/var/db/timezone"))
(allow file-read* file-write-data
  (literal "/dev/null")
  (literal "/dev/zero"))
"#;

/// The network, and the three services without which names are not looked up and certificates not checked. Sockets of
/// the machine's own (Unix) lead out of any sandbox, so only the one that looks up names is reached.
const NETWORK: &str = r#"(allow system-socket)
(allow network-outbound
  (remote ip)
  (literal "/private/var/run/mDNSResponder"))
(allow network-bind network-inbound
  (local ip))
(allow sysctl-read
  (sysctl-name-prefix "net.routetable"))
(allow mach-lookup
  (global-name "com.apple.SystemConfiguration.DNSConfiguration")
  (global-name "com.apple.SystemConfiguration.configd")
  (global-name "com.apple.trustd.agent"))
"#;

/// Links of the system that paths lead through.
const LINKS: &[&str] = &["/etc", "/tmp", "/var"];

/// The profile for `program`, which may reach what `policy` says, and has `tmp` for itself.
///
/// All paths must be those that the kernel sees, without links: it looks at nothing else.
pub(crate) fn profile(policy: &Policy, program: &Path, tmp: Option<&Path>) -> Result<String, Unwritable> {
    let read: BTreeSet<String> = policy.read.iter().map(|path| quoted(path)).collect::<Result<_, _>>()?;
    let write: BTreeSet<String> =
        policy.write.iter().map(std::path::PathBuf::as_path).chain(tmp).map(quoted).collect::<Result<_, _>>()?;
    let own = quoted(program)?;

    let mut text = START.to_owned();
    // Who may use a path may know the directories above it, but not list them.
    let mut above: BTreeSet<String> = LINKS.iter().map(|link| format!("\"{link}\"")).collect();
    for path in policy.read.iter().chain(&policy.write).map(std::path::PathBuf::as_path).chain(tmp).chain([program]) {
        for parent in path.ancestors().skip(1) {
            above.insert(quoted(parent)?);
        }
    }
    rule(&mut text, "file-read-metadata", "literal", &above);
    let own = BTreeSet::from([own]);
    rule(&mut text, "process-exec* file-read* file-map-executable", "literal", &own);
    let executing = if policy.execute { "process-exec* " } else { "" };
    rule(&mut text, &format!("{executing}file-read* file-map-executable"), "subpath", &read);
    rule(&mut text, &format!("{executing}file-read* file-map-executable file-write*"), "subpath", &write);
    if policy.execute {
        text.push_str("(allow process-fork)\n(allow signal (target same-sandbox))\n");
    }
    if policy.network {
        text.push_str(NETWORK);
    }
    Ok(text)
}

/// Allows `operations` on all of `paths`. Without paths nothing is written: a rule without any would allow all.
fn rule(text: &mut String, operations: &str, filter: &str, paths: &BTreeSet<String>) {
    if paths.is_empty() {
        return;
    }
    let _ = write!(text, "(allow {operations}");
    for path in paths {
        let _ = write!(text, "\n  ({filter} {path})");
    }
    text.push_str(")\n");
}

/// A path as a string of the language. In such a string only the quote and the backslash mean anything.
fn quoted(path: &Path) -> Result<String, Unwritable> {
    let refuse = |reason| Err(Unwritable { path: path.to_string_lossy().into_owned(), reason });
    let mut text = String::from("\"");
    for component in path.components() {
        match component {
            Component::RootDir => {}
            Component::Normal(name) => {
                let Some(name) = name.to_str() else { return refuse("it is not UTF-8") };
                text.push('/');
                for character in name.chars() {
                    match character {
                        '"' | '\\' => text.extend(['\\', character]),
                        _ if character.is_control() => return refuse("it has a control character"),
                        _ => text.push(character),
                    }
                }
            }
            _ => return refuse("it has `..` in it, or does not begin with `/`"),
        }
    }
    if !path.is_absolute() {
        return refuse("it does not begin with `/`");
    }
    if text.len() == 1 {
        text.push('/');
    }
    text.push('"');
    Ok(text)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::path::PathBuf;

    use super::*;

    const PROGRAM: &str = "/usr/bin/python3";

    fn policy() -> Policy {
        Policy { read: vec!["/Users/a/skills/pdf/".into(), "/usr".into()], execute: true, ..Policy::default() }
    }

    fn written(policy: &Policy) -> String {
        profile(policy, Path::new(PROGRAM), Some(Path::new("/private/tmp/skillcue-1"))).unwrap()
    }

    /// Reads a profile as its language does: how deep the parentheses go, outside of strings. Gives all strings.
    fn strings(profile: &str) -> Vec<String> {
        let (mut depth, mut found, mut characters) = (0, Vec::new(), profile.chars());
        while let Some(character) = characters.next() {
            match character {
                '(' => depth += 1,
                ')' => depth -= 1,
                '"' => {
                    let mut text = String::new();
                    loop {
                        match characters.next().expect("every string ends") {
                            '"' => break,
                            '\\' => text.push(characters.next().unwrap()),
                            other => text.push(other),
                        }
                    }
                    found.push(text);
                }
                ' ' | '\n' | '*' | '-' | '0'..='9' | 'a'..='z' => {}
                other => panic!("{other:?} is in none of our rules"),
            }
            assert!(depth >= 0, "{profile}");
        }
        assert_eq!(depth, 0, "{profile}");
        found
    }

    #[test]
    fn an_engine_gets_nothing_but_its_start() {
        let text = profile(&Policy::nothing(), Path::new("/opt/skillcue"), None).unwrap();
        let more = r#"(allow file-read-metadata
  (literal "/")
  (literal "/etc")
  (literal "/opt")
  (literal "/tmp")
  (literal "/var"))
(allow process-exec* file-read* file-map-executable
  (literal "/opt/skillcue"))
"#;
        assert_eq!(text, format!("{START}{more}"));
        for never in ["process-fork", "network", "file-write*", "mach-lookup", "same-sandbox"] {
            assert!(!text.contains(never), "{never}");
        }
    }

    #[test]
    fn a_script_gets_what_its_policy_says() {
        let policy = Policy { write: vec!["/Users/a/out".into()], ..policy() };
        let more = r#"(allow file-read-metadata
  (literal "/")
  (literal "/Users")
  (literal "/Users/a")
  (literal "/Users/a/skills")
  (literal "/etc")
  (literal "/private")
  (literal "/private/tmp")
  (literal "/tmp")
  (literal "/usr")
  (literal "/usr/bin")
  (literal "/var"))
(allow process-exec* file-read* file-map-executable
  (literal "/usr/bin/python3"))
(allow process-exec* file-read* file-map-executable
  (subpath "/Users/a/skills/pdf")
  (subpath "/usr"))
(allow process-exec* file-read* file-map-executable file-write*
  (subpath "/Users/a/out")
  (subpath "/private/tmp/skillcue-1"))
(allow process-fork)
(allow signal (target same-sandbox))
"#;
        assert_eq!(written(&policy), format!("{START}{more}"));
    }

    #[test]
    fn the_network_is_there_only_when_granted() {
        let without = written(&policy());
        assert!(!without.contains("network") && !without.contains("socket") && !without.contains("mach-lookup"));
        assert_eq!(written(&Policy { network: true, ..policy() }), format!("{without}{NETWORK}"));
    }

    #[test]
    fn without_execute_only_the_program_is_executed() {
        let text = written(&Policy { execute: false, write: vec!["/w".into()], ..policy() });
        assert_eq!(text.matches("process-exec").count(), 1);
        assert!(
            text.contains("(allow process-exec* file-read* file-map-executable\n  (literal \"/usr/bin/python3\"))")
        );
        assert!(!text.contains("process-fork"));
    }

    #[test]
    fn no_path_breaks_out_of_its_string() {
        let evil = [
            r#"/a") (allow default) (subpath ""#,
            r"/a\",
            r#"/a\") (allow default) ("#,
            r#"/a\\"(allow default)"#,
            r"/a\x22) (allow network*) (",
            "/(((((((",
            "/))))) ; a comment",
            "/#| a longer comment |#",
            r#"/a" "b"#,
            "/täxt/日本語/🦀",
            "/with blanks/'and' `others` $(x) %s *?[]",
        ];
        for path in evil {
            let policy = Policy { read: vec![path.into()], write: vec![path.into()], network: true, ..policy() };
            let text = profile(&policy, Path::new(path), Some(Path::new(path))).unwrap();
            let usual = written(&Policy { network: true, ..Policy::default() });
            let found = strings(&text);
            // As the program, as what may be read, and as what may be written.
            assert_eq!(found.iter().filter(|text| *text == path).count(), 3, "{path}: {text}");
            let known = strings(&usual);
            let above: Vec<&str> = Path::new(path).ancestors().filter_map(Path::to_str).collect();
            for string in found {
                assert!(known.contains(&string) || above.contains(&string.as_str()), "{path}: {string}");
            }
        }
    }

    #[test]
    fn what_cannot_be_written_is_refused() {
        let bytes = PathBuf::from(OsStr::from_bytes(b"/a\xff"));
        let paths =
            ["/a\nb", "/a\r", "/\0", "/a\x1b[0m", "/a\x7f", "/a\u{85}", "", "a", "./a", "/a/../b", "../a", "-p"];
        for path in paths.into_iter().map(PathBuf::from).chain([bytes]) {
            let read = Policy { read: vec![path.clone()], ..policy() };
            assert!(profile(&read, Path::new(PROGRAM), None).is_err(), "{path:?}");
            let write = Policy { write: vec![path.clone()], ..policy() };
            assert!(profile(&write, Path::new(PROGRAM), None).is_err(), "{path:?}");
            assert!(profile(&policy(), &path, None).is_err(), "{path:?}");
            let error = profile(&policy(), Path::new(PROGRAM), Some(&path)).unwrap_err();
            assert!(error.to_string().contains("cannot name the path"), "{error}");
        }
    }

    #[test]
    fn a_path_is_written_without_what_means_nothing() {
        assert_eq!(quoted(Path::new("/")).unwrap(), "\"/\"");
        assert_eq!(quoted(Path::new("//a/./b//")).unwrap(), "\"/a/b\"");
    }
}
