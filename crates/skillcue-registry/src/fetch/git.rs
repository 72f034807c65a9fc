//! Git repositories, through the program `git`.
//!
//! The files come out of git as a tar stream, so whatever holds for archives holds for repositories. The repository
//! itself stands in `.git` of the target while it is needed: no entry can be called that.

mod process;

use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::archive::tar;
use super::error::FetchError;
use super::tree::Tree;
use super::watch::Watch;
use crate::{Disk, Git};
use process::Caller;

/// Most bytes of an answer that is kept in memory.
const MAX_ANSWER: u64 = 1 << 20;
/// Fewest digits of an abbreviated commit.
const MIN_DIGITS: usize = 7;
/// What was fetched is called this in the temporary repository.
const FETCHED: &str = "refs/skillcue/fetched";
/// Overrules what a repository says about its own files: they come out as they were committed. (A working tree's encoding
/// knows no "no", only "not said".)
const ATTRIBUTES: &str = "* -export-ignore -export-subst -text -eol -crlf -ident -filter !working-tree-encoding\n";

/// What is wanted of which repository.
pub(super) struct Wanted<'a> {
    pub(super) url: &'a str,
    pub(super) reference: Option<&'a str>,
    pub(super) subdir: Option<&'a str>,
}

/// Fetches and unpacks it; which commit it was.
pub(super) fn fetch(
    wanted: &Wanted<'_>,
    into: &Path,
    disk: &Disk,
    git: &Git,
    watch: &Watch<'_>,
) -> Result<String, FetchError> {
    let repository = into.join(".git");
    let fetch = Fetch { wanted, disk, watch, caller: Caller::new(git, repository.clone(), watch)?, repository };
    let commit = fetch.commit()?;
    fetch.unpack(&commit, into)?;
    let Fetch { repository, .. } = fetch;
    disk.remove_dir_all(&repository).map_err(|source| FetchError::Write { path: repository, source })?;
    Ok(commit)
}

struct Fetch<'a> {
    wanted: &'a Wanted<'a>,
    disk: &'a Disk,
    watch: &'a Watch<'a>,
    caller: Caller<'a>,
    repository: PathBuf,
}

/// How commits are called in a repository.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    Sha1,
    Sha256,
}

impl Format {
    fn of(id: &str) -> Option<Format> {
        let hex = id.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        match id.len() {
            40 if hex => Some(Format::Sha1),
            64 if hex => Some(Format::Sha256),
            _ => None,
        }
    }
}

impl Fetch<'_> {
    /// Fetches what is wanted, as little of it as the server allows.
    fn commit(&self) -> Result<String, FetchError> {
        let Some(reference) = self.wanted.reference else {
            let heads = self.ask("HEAD")?;
            let Some((id, _)) = heads.iter().find(|(_, name)| name == "HEAD") else {
                return Err(self.failed("it is empty, or has no default branch; name a branch with @"));
            };
            self.init(Format::of(id).unwrap_or(Format::Sha1))?;
            self.shallow("HEAD")?;
            return self.resolve(FETCHED);
        };
        let lower = reference.to_ascii_lowercase();
        if let Some(format) = Format::of(&lower) {
            self.init(format)?;
            // Not every server gives out a commit by its id.
            if self.shallow(&lower).is_err() {
                self.watch.check()?;
                self.everything()?;
            }
            return self.resolve(&lower).map_err(|error| self.no_reference(error));
        }
        let known = self.ask(reference)?;
        let names = [format!("refs/tags/{reference}"), format!("refs/heads/{reference}"), reference.to_owned()];
        // A tag wins over a branch, as everywhere in git. The bare name is for `refs/…` in full.
        let name = names.iter().find(|name| name.starts_with("refs/") && known.iter().any(|(_, known)| known == *name));
        let format = known.first().and_then(|(id, _)| Format::of(id)).unwrap_or(Format::Sha1);
        if let Some(name) = name {
            self.init(format)?;
            self.shallow(name)?;
            return self.resolve(FETCHED);
        }
        if lower.len() >= MIN_DIGITS && lower.bytes().all(|b| b.is_ascii_hexdigit()) {
            self.init(format)?;
            self.everything()?;
            let commit = self.resolve(&lower).map_err(|error| self.no_reference(error))?;
            if commit.starts_with(&lower) {
                return Ok(commit);
            }
        }
        Err(self.no_reference(self.failed("")))
    }

    /// Which refs there are that end like this, `HEAD` always among them.
    fn ask(&self, name: &str) -> Result<Vec<(String, String)>, FetchError> {
        let answer = self.answer(&["ls-remote", "--quiet", "--", self.wanted.url, "HEAD", name])?;
        Ok(answer.lines().filter_map(|line| line.split_once('\t')).map(|(id, name)| (id.into(), name.into())).collect())
    }

    fn init(&self, format: Format) -> Result<(), FetchError> {
        let format = if format == Format::Sha1 { "--object-format=sha1" } else { "--object-format=sha256" };
        self.answer(&["init", "--quiet", "--bare", "--template=", format])?;
        let info = self.repository.join("info");
        let attributes = info.join("attributes");
        let made = if info.is_dir() { Ok(()) } else { self.disk.create_dir(&info) };
        made.and_then(|()| self.disk.write(&attributes, ATTRIBUTES.as_bytes(), 0o644))
            .map_err(|source| FetchError::Write { path: attributes, source })
    }

    /// One commit, without what came before it.
    fn shallow(&self, what: &str) -> Result<(), FetchError> {
        let spec = format!("+{what}:{FETCHED}");
        self.fetch_refs(&["--depth=1"], &[&spec])
    }

    /// All branches and tags with all that came before.
    fn everything(&self) -> Result<(), FetchError> {
        self.fetch_refs(&["--update-shallow"], &["+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"])
    }

    fn fetch_refs(&self, options: &[&str], specs: &[&str]) -> Result<(), FetchError> {
        let mut args = vec!["fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head"];
        args.extend(options);
        args.extend(["--", self.wanted.url]);
        args.extend(specs);
        self.answer(&args)?;
        // It may have been too fast to be measured on the way.
        self.caller.measure()
    }

    /// The commit that a name stands for.
    fn resolve(&self, name: &str) -> Result<String, FetchError> {
        let answer = self.answer(&["rev-parse", "--verify", "--quiet", &format!("{name}^{{commit}}")])?;
        let commit = answer.trim();
        Format::of(commit).map(|_| commit.to_owned()).ok_or_else(|| self.failed("it is no commit"))
    }

    fn unpack(&self, commit: &str, into: &Path) -> Result<(), FetchError> {
        let what = match self.wanted.subdir {
            None => commit.to_owned(),
            Some(subdir) => format!("{commit}:{subdir}"),
        };
        if let Some(subdir) = self.wanted.subdir {
            match self.answer(&["cat-file", "-t", &what]) {
                Ok(kind) if kind.trim() == "tree" => {}
                Ok(_) | Err(FetchError::Git { .. }) => {
                    let (from, subdir) = (self.wanted.url.to_owned(), subdir.to_owned());
                    return Err(FetchError::NoSubdir { from, subdir });
                }
                Err(error) => return Err(error),
            }
        }
        let mut running = self.caller.start(&["archive", "--format=tar", &what])?;
        match tar::unpack(&mut running, Tree::new(into, self.disk, self.watch), self.watch) {
            Ok(()) => running.finish(),
            // If it stopped in the middle, git knows why.
            Err(error @ FetchError::Damaged { .. }) => Err(running.finish().err().unwrap_or(error)),
            Err(error) => Err(error),
        }
    }

    /// What git answers, in memory.
    fn answer(&self, args: &[&str]) -> Result<String, FetchError> {
        let mut running = self.caller.start(args)?;
        let mut answer = Vec::new();
        let read = running.by_ref().take(MAX_ANSWER + 1).read_to_end(&mut answer);
        read.map_err(|error| self.watch.unreadable(error))?;
        if answer.len() as u64 > MAX_ANSWER {
            return Err(self.failed("its answer is too long"));
        }
        running.finish()?;
        Ok(String::from_utf8_lossy(&answer).into_owned())
    }

    fn failed(&self, reason: &str) -> FetchError {
        FetchError::Git { from: self.watch.from.clone(), reason: reason.to_owned() }
    }

    /// Says that there is no such ref, unless the error is about something else.
    fn no_reference(&self, error: FetchError) -> FetchError {
        match error {
            FetchError::Git { .. } => FetchError::NoReference {
                from: self.wanted.url.to_owned(),
                reference: self.wanted.reference.unwrap_or("HEAD").to_owned(),
            },
            error => error,
        }
    }
}
