//! One entry of a server's listing, checked before it is used.

use std::collections::HashSet;

use serde_json::{Map, Value, json};
use skillcue::format::SkillName;
use skillcue::remote::{RemoteEntry, RemoteFile};
use skillcue_catalog::ContentId;
use skillcue_catalog::uri::decode_once;

use crate::digits;

/// How many files one skill may have: as many as every host must accept.
pub const MAX_FILES: usize = 512;
/// How many bytes all files of one skill may have: as many as every host must accept.
pub const MAX_BYTES: u64 = 16 << 20;
/// The length of the longest URI, in bytes. Real ones have less than a tenth of it.
const MAX_URI: usize = 2048;
/// How many bytes of JSON front matter may have. A whole skill file has at most a mebibyte.
const MAX_FRONT_MATTER: usize = 256 << 10;
/// How many characters a description may have: as many as the format allows.
const MAX_DESCRIPTION: usize = 1024;
/// The end of every skill's URI.
const SKILL_FILE: &str = "/SKILL.md";

/// Reads one entry of a listing. The error says what is wrong with it, in words for the server's operator.
pub fn read(value: &Value) -> Result<RemoteEntry, String> {
    let entry = value.as_object().ok_or("the entry is no object")?;
    let uri = text(entry, "uri")?;
    let front_matter = entry.get("frontmatter").and_then(Value::as_object).ok_or("`frontmatter` is no object")?;
    // Before anything of it is looked at, let alone repeated.
    if serde_json::to_vec(front_matter).map_or(usize::MAX, |bytes| bytes.len()) > MAX_FRONT_MATTER {
        return Err(format!("the front matter has more than {MAX_FRONT_MATTER} bytes"));
    }
    let name = text(front_matter, "name").map_err(|problem| format!("front matter: {problem}"))?;
    check_name(name)?;
    check_root(uri, name)?;
    let description = text(front_matter, "description").map_err(|problem| format!("front matter: {problem}"))?;
    // No YAML holds a NUL, so no file could ever have the same text.
    if description.trim().is_empty() || description.contains('\0') {
        return Err("front matter: `description` is empty or no text".to_owned());
    }
    // Every model is shown all of it: here a listing could crowd out everything else.
    if description.chars().count() > MAX_DESCRIPTION {
        return Err(format!("front matter: `description` has more than {MAX_DESCRIPTION} characters"));
    }
    let files = match entry.get("resources") {
        Some(Value::String(word)) if word == "dynamic" => None,
        Some(Value::Array(resources)) => Some(files(uri, resources)?),
        Some(_) => return Err("`resources` is neither a list nor \"dynamic\"".to_owned()),
        None => return Err("it has no `resources`".to_owned()),
    };
    Ok(RemoteEntry { uri: uri.to_owned(), front_matter: front_matter.clone(), files })
}

/// Returns the entry as a server would send it.
pub fn write(entry: &RemoteEntry) -> Value {
    let resources = match &entry.files {
        None => json!("dynamic"),
        Some(files) => files
            .iter()
            .map(|file| json!({ "uri": file.uri, "digest": file.digest, "size": file.size }))
            .collect::<Value>(),
    };
    json!({ "uri": entry.uri, "frontmatter": entry.front_matter, "resources": resources })
}

/// Returns the identity of the content that an entry lists: the path and the digest of every file. None if they are not
/// listed. Equals the [`ContentId`] of the directory that is served, where that type says so.
pub fn content_id(entry: &RemoteEntry) -> Option<ContentId> {
    let root = entry.uri.strip_suffix("SKILL.md").unwrap_or(&entry.uri);
    let listed = entry.files.as_ref()?.iter().map(|file| {
        // Entries that were read have every file below the root, by a clean path.
        let path = file.uri.strip_prefix(root).and_then(clean).unwrap_or_else(|| file.uri.clone());
        Some((path, digits(&file.digest).parse().ok()?))
    });
    Some(ContentId::of_listed(listed.collect::<Option<Vec<_>>>()?))
}

fn text<'v>(object: &'v Map<String, Value>, key: &str) -> Result<&'v str, String> {
    match object.get(key) {
        Some(Value::String(text)) => Ok(text),
        Some(_) => Err(format!("`{key}` is no text")),
        None => Err(format!("`{key}` is missing")),
    }
}

fn check_name(name: &str) -> Result<(), String> {
    SkillName::check(name).map_err(|problem| format!("the name {name:?} is refused: {problem}"))?;
    // The strict rules look at a name without the blanks around it; here it must be the name to the letter.
    match SkillName::lenient(name) {
        Ok(canonical) if canonical.as_str() == name => Ok(()),
        _ => Err(format!("the name {name:?} is not written in its plain form")),
    }
}

/// Checks a skill's URI: `scheme://…/NAME/SKILL.md`.
fn check_root(uri: &str, name: &str) -> Result<(), String> {
    if uri.len() > MAX_URI {
        return Err(format!("its URI has more than {MAX_URI} bytes"));
    }
    let root = uri.strip_suffix(SKILL_FILE).ok_or("its URI does not end in /SKILL.md")?;
    let (scheme, path) = root.split_once("://").ok_or("its URI has no scheme")?;
    let well_formed = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'));
    if !well_formed {
        return Err("the scheme of its URI is malformed".to_owned());
    }
    // The part where other schemes name a host may be empty, as in `file:///…`.
    let path = path.strip_prefix('/').unwrap_or(path);
    let decoded = clean(path).ok_or("its URI is no clean path")?;
    let last = decoded.rsplit('/').next().unwrap_or_default();
    if last != name {
        return Err(format!("its URI says {last:?}, its front matter {name:?}"));
    }
    Ok(())
}

fn files(skill: &str, resources: &[Value]) -> Result<Vec<RemoteFile>, String> {
    if resources.len() > MAX_FILES {
        return Err(format!("it has {} files; {MAX_FILES} are the most", resources.len()));
    }
    let root = skill.strip_suffix(SKILL_FILE).unwrap_or(skill);
    let mut files = Vec::with_capacity(resources.len());
    let mut paths = HashSet::with_capacity(resources.len());
    let mut bytes = 0u64;
    for resource in resources {
        let object = resource.as_object().ok_or("one of its `resources` is no object")?;
        let uri = text(object, "uri").map_err(|problem| format!("one of its `resources`: {problem}"))?;
        let fail = |problem: &str| format!("its file {uri:?}: {problem}");
        if uri.len() > MAX_URI {
            return Err("the URI of one of its files is too long".to_owned());
        }
        let path = uri.strip_prefix(root).and_then(|rest| rest.strip_prefix('/'));
        let path = path.ok_or_else(|| fail("not below the skill's root"))?;
        let path = clean(path).ok_or_else(|| fail("no clean path"))?;
        // Two spellings of one path are two files under one name.
        if !paths.insert(path) {
            return Err(fail("listed twice"));
        }
        let digest = text(object, "digest").map_err(|problem| fail(&problem))?;
        if !is_digest(digest) {
            return Err(fail("its digest is not `sha256:` and 64 lower-case hexadecimal digits"));
        }
        let size = object.get("size").and_then(Value::as_u64).ok_or_else(|| fail("its size is no whole number"))?;
        bytes = bytes.saturating_add(size);
        if bytes > MAX_BYTES {
            return Err(format!("its files have more than {MAX_BYTES} bytes"));
        }
        files.push(RemoteFile { uri: uri.to_owned(), digest: digest.to_owned(), size });
    }
    if !files.iter().any(|file| file.uri == skill) {
        return Err("its `resources` do not list its SKILL.md".to_owned());
    }
    files.sort_by(|a, b| a.uri.cmp(&b.uri));
    Ok(files)
}

fn is_digest(text: &str) -> bool {
    text.strip_prefix("sha256:")
        .is_some_and(|hex| hex.len() == 64 && hex.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')))
}

/// Returns the decoded form of a relative path, if it stays below its start.
pub fn clean(path: &str) -> Option<String> {
    // Only the characters of a URI's path: no query, no fragment.
    if path.contains(['?', '#', '\\']) {
        return None;
    }
    let decoded = decode_once(path);
    // A slash that was encoded would move the file to another directory.
    if decoded.matches('/').count() != path.matches('/').count() {
        return None;
    }
    // A later reader may decode again, though it should not.
    let again = decode_once(&decoded);
    (is_plain(&decoded) && is_plain(&again)).then(|| decoded.into_owned())
}

fn is_plain(path: &str) -> bool {
    !path.contains('\\')
        && !path.contains(char::is_control)
        && path.split('/').all(|part| !part.is_empty() && part != "." && part != "..")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_the_id_of_the_directory_that_it_is_of() {
        let dir = tempfile::tempdir().unwrap();
        let skill = dir.path().join("refunds");
        std::fs::create_dir_all(skill.join("references")).unwrap();
        let files = [("SKILL.md", "# Refunds"), ("references/a b.md", "one"), ("references-2.md", "two")];
        let resources: Vec<Value> = files
            .iter()
            .map(|(path, text)| {
                std::fs::write(skill.join(path), text).unwrap();
                let uri = format!("skill://acme/refunds/{}", path.replace(' ', "%20"));
                json!({ "uri": uri, "digest": crate::digest(text.as_bytes()), "size": text.len() })
            })
            .collect();
        let front_matter = json!({ "name": "refunds", "description": "Refunds." });
        let uri = "skill://acme/refunds/SKILL.md";
        let listed = read(&json!({ "uri": uri, "frontmatter": front_matter, "resources": resources })).unwrap();
        let on_disk = ContentId::of(&skillcue_catalog::SkillDir::open("refunds", &skill).unwrap()).unwrap();
        assert_eq!(content_id(&listed), Some(on_disk));
    }

    fn digest() -> String {
        format!("sha256:{}", "a".repeat(64))
    }

    fn good() -> Value {
        json!({
            "uri": "skill://acme/refunds/SKILL.md",
            "frontmatter": { "name": "refunds", "description": "Refunds." },
            "resources": [
                { "uri": "skill://acme/refunds/references/a%20b.md", "digest": digest(), "size": 2 },
                { "uri": "skill://acme/refunds/SKILL.md", "digest": digest(), "size": 1 },
            ],
        })
    }

    fn with(change: impl Fn(&mut Value)) -> Result<RemoteEntry, String> {
        let mut value = good();
        change(&mut value);
        read(&value)
    }

    fn named(name: &str) -> Result<RemoteEntry, String> {
        let uri = format!("skill://acme/{name}/SKILL.md");
        with(|value| {
            value["frontmatter"]["name"] = json!(name);
            value["uri"] = json!(uri);
            value["resources"] = json!([{ "uri": uri, "digest": digest(), "size": 1 }]);
        })
    }

    #[test]
    fn the_longest_name_and_description_are_accepted() {
        assert!(with(|v| v["frontmatter"]["description"] = json!("é".repeat(1024))).is_ok());
        assert!(named(&"a".repeat(64)).is_ok());
    }

    #[test]
    fn the_size_is_looked_at_first() {
        let problem = with(|v| v["frontmatter"]["name"] = json!("A".repeat(MAX_FRONT_MATTER))).unwrap_err();
        assert_eq!(problem, format!("the front matter has more than {MAX_FRONT_MATTER} bytes"));
    }

    #[test]
    fn a_good_entry_is_read_and_written_back() {
        let entry = read(&good()).unwrap();
        assert_eq!(entry.name(), "refunds");
        assert_eq!(entry.files.as_ref().unwrap()[0].uri, "skill://acme/refunds/SKILL.md", "sorted");
        assert!(entry.file("references/a b.md").is_some());
        assert_eq!(read(&write(&entry)).unwrap(), entry);
        let dynamic = with(|value| value["resources"] = json!("dynamic")).unwrap();
        assert_eq!(dynamic.files, None);
        assert_eq!(read(&write(&dynamic)).unwrap(), dynamic);
    }

    #[test]
    fn other_schemes_are_as_good() {
        for uri in ["github://o/r/skills/refunds/SKILL.md", "file:///srv/refunds/SKILL.md", "skill://refunds/SKILL.md"]
        {
            let entry = with(|value| {
                value["uri"] = json!(uri);
                value["resources"] = json!([{ "uri": uri, "digest": digest(), "size": 1 }]);
            });
            assert!(entry.is_ok(), "{uri}: {entry:?}");
        }
    }

    #[test]
    fn bad_entries_are_refused() {
        let refused: Vec<(&str, Result<RemoteEntry, String>)> = vec![
            ("no object", read(&json!(5))),
            ("no front matter", with(|v| v["frontmatter"] = json!([]))),
            ("no description", with(|v| v["frontmatter"] = json!({ "name": "refunds" }))),
            ("description", with(|v| v["frontmatter"]["description"] = json!(["x"]))),
            ("empty", with(|v| v["frontmatter"]["description"] = json!(" "))),
            ("a long description", with(|v| v["frontmatter"]["description"] = json!("é".repeat(1025)))),
            ("a long name", named(&"a".repeat(65))),
            ("a doubled hyphen", named("a--b")),
            ("another name", with(|v| v["frontmatter"]["name"] = json!("returns"))),
            (
                "a bad name",
                with(|v| {
                    v["uri"] = json!("skill://a/Re funds/SKILL.md");
                    v["frontmatter"]["name"] = json!("Re funds");
                }),
            ),
            ("no SKILL.md at the end", with(|v| v["uri"] = json!("skill://acme/refunds"))),
            ("no scheme", with(|v| v["uri"] = json!("/refunds/SKILL.md"))),
            ("climbing", with(|v| v["uri"] = json!("skill://acme/../refunds/SKILL.md"))),
            ("query", with(|v| v["uri"] = json!("skill://acme/x?/refunds/SKILL.md"))),
            (
                "no resources",
                with(|v| {
                    v.as_object_mut().unwrap().remove("resources");
                }),
            ),
            ("a word", with(|v| v["resources"] = json!("none"))),
            ("a null", with(|v| v["resources"] = json!(null))),
            ("empty list", with(|v| v["resources"] = json!([]))),
            ("upper-case digest", with(|v| v["resources"][0]["digest"] = json!(digest().to_uppercase()))),
            ("short digest", with(|v| v["resources"][0]["digest"] = json!("sha256:aa"))),
            ("other digest", with(|v| v["resources"][0]["digest"] = json!(format!("md5:{}", "a".repeat(64))))),
            ("negative size", with(|v| v["resources"][0]["size"] = json!(-1))),
            ("text size", with(|v| v["resources"][0]["size"] = json!("1"))),
            ("too large", with(|v| v["resources"][0]["size"] = json!(MAX_BYTES))),
            ("overflow", with(|v| v["resources"][0]["size"] = json!(u64::MAX))),
            ("twice", with(|v| v["resources"][0]["uri"] = json!("skill://acme/refunds/SKILL.md"))),
            ("twice, spelt otherwise", with(|v| v["resources"][0]["uri"] = json!("skill://acme/refunds/SKILL%2Emd"))),
        ];
        for (what, entry) in refused {
            assert!(entry.is_err(), "{what}: {entry:?}");
        }
        let many = (0..=MAX_FILES)
            .map(|n| json!({ "uri": format!("skill://acme/refunds/{n}"), "digest": digest(), "size": 0 }));
        assert!(with(|v| v["resources"] = many.clone().collect()).is_err());
    }

    #[test]
    fn garbage_anywhere_is_an_error_and_no_panic() {
        let odd = [
            json!(null),
            json!(true),
            json!(-1),
            json!(1e300),
            json!(""),
            json!("\u{0}"),
            json!([]),
            json!({}),
            json!([[]]),
        ];
        let places = ["", "/uri", "/frontmatter", "/frontmatter/name", "/frontmatter/description", "/resources"];
        let below = ["/resources/0", "/resources/0/uri", "/resources/0/digest", "/resources/0/size", "/resources/1"];
        for place in places.into_iter().chain(below) {
            for odd in &odd {
                let mut value = good();
                *value.pointer_mut(place).unwrap() = odd.clone();
                assert!(read(&value).is_err(), "{place} {odd}");
            }
        }
    }

    #[test]
    fn files_stay_below_their_skill() {
        for uri in [
            "skill://acme/refunds",
            "skill://acme/refunds/",
            "skill://acme/refunds-2/x.md",
            "skill://acme/other/x.md",
            "skill://acme/refunds/../other/x.md",
            "skill://acme/refunds/%2e%2e/x.md",
            "skill://acme/refunds/%252e%252e/x.md",
            "skill://acme/refunds/..%2fx.md",
            "skill://acme/refunds/a%2fb.md",
            "skill://acme/refunds/a%00b.md",
            "skill://acme/refunds/a\\b.md",
            "skill://acme/refunds/a%5cb.md",
            "skill://acme/refunds//etc/passwd",
            "skill://acme/refunds/./x.md",
            "skill://acme/refunds/x.md?y",
            "skill://acme/refunds/x.md#y",
            "file:///etc/passwd",
        ] {
            let entry = with(|value| value["resources"][0]["uri"] = json!(uri));
            assert!(entry.is_err(), "{uri}");
        }
    }
}
