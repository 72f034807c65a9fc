//! Addresses of git repositories, with the path and the ref that follow them.

use skillcue_base::Shown;

use super::{InstallOrigin, OriginError, is_archive};

/// The schemes that git is given: none of them runs a program of its own.
const SCHEMES: [&str; 5] = ["https", "http", "ssh", "git", "file"];

/// A repository, a directory in it, and a ref.
pub(super) struct Address {
    url: String,
    subdir: Option<String>,
    reference: Option<String>,
}

impl From<Address> for InstallOrigin {
    fn from(Address { url, subdir, reference }: Address) -> InstallOrigin {
        InstallOrigin::Git { url, reference, subdir }
    }
}

impl Address {
    /// `scheme://host/path[//subdir][@ref]`, or the address of a web page.
    pub(super) fn url(text: &str) -> Result<Address, OriginError> {
        let (scheme, rest) = text.split_once("://").unwrap_or(("", text));
        let scheme = scheme.to_ascii_lowercase();
        if !SCHEMES.contains(&scheme.as_str()) {
            let message = format!("{}:// is no way to fetch skills", Shown(&scheme));
            return Err(OriginError::new(message, "use https://, ssh://, git:// or file://"));
        }
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        authority_of(&scheme, authority)?;
        // Only from here on may the text be shown: there is no password in it.
        let host = authority.to_ascii_lowercase();
        let host = host.strip_prefix("www.").unwrap_or(&host);
        let web = matches!(scheme.as_str(), "https" | "http") && matches!(host, "github.com" | "gitlab.com");
        if web && repository_end(path).is_none() {
            return page(host, path, text);
        }
        let path = path.strip_suffix('/').filter(|path| repository_end(path).is_some()).unwrap_or(path);
        if repository_end(path).is_none() && is_archive(path) {
            let message = format!("{} is an archive somewhere else", Shown(text));
            return Err(OriginError::new(message, "download it, and install from the file"));
        }
        let end = end_of_repository(path);
        let repository = path[..end].trim_end_matches('/');
        plain_address(repository, text)?;
        if repository.is_empty() {
            let message = format!("{} names no repository", Shown(text));
            return Err(OriginError::new(message, "write it as https://host/owner/repo.git"));
        }
        Address::with_tail(format!("{scheme}://{authority}{repository}"), &path[end..])
    }

    /// `[user@]host:path[//subdir][@ref]`; `colon` is where the path starts.
    pub(super) fn scp(text: &str, colon: usize) -> Result<Address, OriginError> {
        let (authority, path) = (&text[..colon], &text[colon + 1..]);
        let (user, host) = authority.rsplit_once('@').unwrap_or(("git", authority));
        let end = end_of_repository(path);
        let repository = path[..end].trim_end_matches('/');
        if !is_user(user) || !is_host(host) || host.len() < 2 || repository.is_empty() || path.starts_with('-') {
            let message = format!("{} is no address that git could be given", Shown(text));
            return Err(OriginError::new(message, "write it as git@host:owner/repo.git"));
        }
        Address::with_tail(format!("{authority}:{repository}"), &path[end..])
    }

    /// `owner/repo[/subdir][@ref]` on GitHub.
    pub(super) fn shorthand(text: &str) -> Result<Address, OriginError> {
        let (names, reference) = match split_reference(text) {
            Some((names, reference)) => (names, Some(reference)),
            None => (text, None),
        };
        let mut parts = names.splitn(3, '/');
        let (owner, repository, subdir) = (parts.next().unwrap_or_default(), parts.next(), parts.next());
        let Some(repository) = repository else {
            let message = format!("{} is neither a directory nor an archive here", Shown(text));
            return Err(OriginError::new(message, "check the path, or write owner/repo for a repository on GitHub"));
        };
        let repository = repository.strip_suffix(".git").unwrap_or(repository);
        if !is_owner(owner) || !is_repository(repository) {
            let message = format!("{} is neither a path that is there nor owner/repo on GitHub", Shown(text));
            return Err(OriginError::new(message, "check the path, or write the whole URL of the repository"));
        }
        // Both `owner/repo/` and `owner/repo//path` are accepted.
        let subdir = subdir.map(|subdir| subdir.trim_matches('/')).filter(|subdir| !subdir.is_empty());
        Ok(Address {
            url: format!("https://github.com/{owner}/{repository}.git"),
            subdir: subdir.map(subdir_of).transpose()?,
            reference: reference.map(reference_of).transpose()?,
        })
    }

    /// Parses the `[//subdir][@ref]` behind a repository's URL.
    pub(super) fn with_tail(url: String, tail: &str) -> Result<Address, OriginError> {
        let (subdir, reference) = match tail.strip_prefix("//") {
            None if tail.is_empty() => (None, None),
            None => (None, Some(tail.strip_prefix('@').unwrap_or(tail))),
            Some(rest) => match split_reference(rest) {
                Some((subdir, reference)) => (Some(subdir), Some(reference)),
                None => (Some(rest), None),
            },
        };
        let subdir = subdir.map(|subdir| subdir.trim_matches('/')).filter(|subdir| !subdir.is_empty());
        Ok(Address {
            url,
            subdir: subdir.map(subdir_of).transpose()?,
            reference: reference.map(reference_of).transpose()?,
        })
    }
}

/// Parses the address of a page of GitHub or GitLab: the repository, or a directory at some ref.
fn page(host: &str, path: &str, text: &str) -> Result<Address, OriginError> {
    plain_address(path, text)?;
    let marker = if host == "gitlab.com" { "/-/" } else { "/" };
    let (repository, view) = ["tree/", "blob/"]
        .iter()
        .find_map(|kind| {
            let view = format!("{marker}{kind}");
            let found = path.match_indices(&view).map(|(at, _)| at);
            // On GitHub the view comes right behind `/owner/repo`.
            let mut found = found.filter(|at| host == "gitlab.com" || path[..*at].matches('/').count() == 2);
            found.next().map(|at| (&path[..at], Some(&path[at + marker.len()..])))
        })
        .unwrap_or((path, None));
    let url = |repository: &str| -> Result<String, OriginError> {
        let names: Vec<&str> = repository.trim_matches('/').split('/').collect();
        let enough = if host == "github.com" { names.len() == 2 } else { names.len() >= 2 };
        if enough && names.iter().all(|name| is_repository(name)) {
            return Ok(format!("https://{host}/{}.git", names.join("/")));
        }
        let message = format!("{} is no repository", Shown(text));
        Err(OriginError::new(
            message,
            "write owner/repo/path for a directory on GitHub, or open it there and copy the address",
        ))
    };
    let Some(view) = view else {
        let end = end_of_repository(path);
        return Address::with_tail(url(&path[..end])?, &path[end..]);
    };
    let (kind, rest) = view.split_once('/').unwrap_or((view, ""));
    let (reference, below) = rest.split_once('/').unwrap_or((rest, ""));
    let mut below = decoded(below.trim_end_matches('/'), |_| true);
    if kind == "blob" {
        let (dir, file) = below.rsplit_once('/').unwrap_or(("", &below));
        if !matches!(file.to_ascii_lowercase().as_str(), "skill.md" | "skill.yaml") {
            let message = format!("{} is one file", Shown(text));
            return Err(OriginError::new(message, "give the address of the skill's directory or of its SKILL.md"));
        }
        let end = dir.len();
        below.truncate(end);
    }
    Ok(Address {
        url: url(repository)?,
        subdir: if below.is_empty() { None } else { Some(plain_subdir(below)?) },
        reference: Some(reference_of(&decoded(reference, |_| true))?),
    })
}

/// Returns the end of the part of a path that names a repository by `.git`.
pub(super) fn repository_end(text: &str) -> Option<usize> {
    text.match_indices(".git").map(|(at, found)| at + found.len()).find(|&end| {
        let rest = &text[end..];
        rest.is_empty() || rest.starts_with('@') || rest.starts_with("//")
    })
}

/// Like `repository_end`; without `.git`, the first `//`, or the first `@` inside a part.
fn end_of_repository(path: &str) -> usize {
    let plain = || {
        let reference = split_reference(path).map_or(path.len(), |(front, _)| front.len());
        path.find("//").unwrap_or(reference).min(reference)
    };
    repository_end(path).unwrap_or_else(plain)
}

/// Splits a text at the first `@` that does not start a part.
fn split_reference(text: &str) -> Option<(&str, &str)> {
    let inner = |at: &usize| *at > 0 && !text[..*at].ends_with('/');
    let at = text.match_indices('@').map(|(at, _)| at).find(inner)?;
    Some((&text[..at], &text[at + 1..]))
}

fn plain_address(path: &str, text: &str) -> Result<(), OriginError> {
    if path.contains(['#', '?', '\\', ' ']) {
        let message = format!("{} has characters that no address of a repository has", Shown(text));
        return Err(OriginError::new(message, "leave out the part from `#` or `?` on; a ref is written @ref"));
    }
    Ok(())
}

fn authority_of(scheme: &str, authority: &str) -> Result<(), OriginError> {
    let (user, host) = match authority.rsplit_once('@') {
        Some((user, host)) => (Some(user), host),
        None => (None, authority),
    };
    // The text is not shown: it may hold a secret.
    match user {
        Some(user) if scheme != "ssh" || user.contains(':') => Err(OriginError::new(
            format!("the address at {} has a user or a password in it, which would be written down", Shown(host)),
            "leave it out; git asks its credential helper (git help credentials)",
        )),
        Some(user) if !is_user(user) => {
            Err(OriginError::new("the address has a user that git could mistake", "write it as ssh://git@host/path"))
        }
        _ if scheme == "file" && matches!(host, "" | "localhost") => Ok(()),
        _ => {
            let name = match host.rsplit_once(':') {
                Some((name, port)) if !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit()) => name,
                _ => host,
            };
            if scheme != "file" && is_host(name) {
                return Ok(());
            }
            let message = format!("{} is no host", Shown(host));
            Err(OriginError::new(
                message,
                "write the address as https://host/owner/repo.git, a local one as file:///path",
            ))
        }
    }
}

fn is_user(user: &str) -> bool {
    !user.is_empty()
        && !user.starts_with('-')
        && user.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-' | b'+'))
}

fn is_host(host: &str) -> bool {
    let number = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    if let Some(number) = number {
        return !number.is_empty() && number.bytes().all(|b| b.is_ascii_hexdigit() || matches!(b, b':' | b'.'));
    }
    !host.is_empty()
        && !host.starts_with(['-', '.'])
        && host.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'))
}

fn is_owner(owner: &str) -> bool {
    (1..=64).contains(&owner.len())
        && !owner.starts_with('-')
        && owner.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
}

fn is_repository(name: &str) -> bool {
    (1..=100).contains(&name.len())
        && !matches!(name, "." | "..")
        && !name.starts_with('-')
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'))
}

/// Decodes a directory of a repository as it was written.
fn subdir_of(text: &str) -> Result<String, OriginError> {
    plain_subdir(decoded(text, |c| matches!(c, '@' | '%')))
}

/// Reads a directory as other files write it: from the root, perhaps with `./` before it.
pub(super) fn subdir_below(text: &str) -> Result<Option<String>, OriginError> {
    let text = text.strip_prefix("./").unwrap_or(text).trim_end_matches('/');
    if matches!(text, "" | ".") { Ok(None) } else { plain_subdir(text.to_owned()).map(Some) }
}

fn plain_subdir(subdir: String) -> Result<String, OriginError> {
    let plain = |part: &str| !matches!(part, "" | "." | "..") && !part.contains(['\\', ':']);
    if subdir.split('/').all(plain) && !subdir.starts_with('-') && !subdir.chars().any(char::is_control) {
        return Ok(subdir);
    }
    let message = format!("{} is no directory inside of a repository", Shown(&subdir));
    Err(OriginError::new(message, "write the directory's path from the repository's root, without `.` and `..`"))
}

/// Encodes a directory for the text form: an `@` inside a part would be taken for the start of a ref.
pub(super) fn written(subdir: &str) -> String {
    let mut text = String::with_capacity(subdir.len());
    for c in subdir.chars() {
        match c {
            '%' => text.push_str("%25"),
            '@' if !text.is_empty() && !text.ends_with('/') => text.push_str("%40"),
            c => text.push(c),
        }
    }
    text
}

/// Decodes the percent-encoded characters that `which` accepts.
fn decoded(text: &str, which: impl Fn(char) -> bool) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, behind)) = rest.split_first() {
        let code = behind.get(..2).and_then(|code| std::str::from_utf8(code).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(code) if first == b'%' && which(char::from(code)) => {
                bytes.push(code);
                rest = &behind[2..];
            }
            _ => {
                bytes.push(first);
                rest = behind;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Checks that a text is a ref by git's rules.
pub(super) fn reference_of(text: &str) -> Result<String, OriginError> {
    let part = |part: &str| !part.is_empty() && !part.starts_with('.') && !part.to_ascii_lowercase().ends_with(".lock");
    let good = text != "@"
        && !text.starts_with('-')
        && !text.ends_with('.')
        && !text.contains("..")
        && !text.contains("@{")
        && !text.contains(['~', '^', ':', '?', '*', '[', '\\', ' '])
        && !text.chars().any(char::is_control)
        && text.split('/').all(part);
    if good {
        return Ok(text.to_owned());
    }
    if text.contains("//") {
        let message = format!("the ref {} has a directory behind it", Shown(text));
        return Err(OriginError::new(message, "the directory comes first: URL//path@ref"));
    }
    let message = format!("{} is no branch, tag or commit", Shown(text));
    Err(OriginError::new(message, "write @main, @v1.0 or @ and the digits of a commit"))
}
