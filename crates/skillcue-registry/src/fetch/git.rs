//! Git repositories, through the program `git`.
//!
//! The files come out of git as a tar stream, so all rules for archives hold for repositories. The repository itself is
//! in `.git` of the target while it is needed: no entry can be called that.

mod process;

use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::archive::tar;
use super::context::FetchContext;
use super::error::FetchError;
use super::tree::FetchTree;
use crate::{Disk, GitProgram};
use process::GitCaller;

/// The length of the longest answer of git that is kept in memory, in bytes.
const MAX_ANSWER: u64 = 1 << 20;
/// The number of digits that an abbreviated commit must have.
const MIN_DIGITS: usize = 7;
/// The ref of the fetched commit in the temporary repository.
const FETCHED: &str = "refs/skillcue/fetched";
/// Overrules a repository's own attributes: files come out as they were committed. (`working-tree-encoding` cannot be
/// negated, only unset.)
const ATTRIBUTES: &str = "* -export-ignore -export-subst -text -eol -crlf -ident -filter !working-tree-encoding\n";

/// A repository, a ref and a directory to fetch.
pub(super) struct GitRequest<'a> {
    pub(super) url: &'a str,
    pub(super) reference: Option<&'a str>,
    pub(super) subdir: Option<&'a str>,
}

/// Fetches and unpacks a repository, and returns its commit.
pub(super) fn fetch(
    wanted: &GitRequest<'_>,
    into: &Path,
    disk: &Disk,
    git: &GitProgram,
    context: &FetchContext<'_>,
) -> Result<String, FetchError> {
    let repository = into.join(".git");
    let fetch =
        GitFetch { wanted, disk, context, caller: GitCaller::new(git, repository.clone(), context)?, repository };
    let commit = fetch.commit()?;
    fetch.unpack(&commit, into)?;
    let GitFetch { repository, .. } = fetch;
    disk.remove_dir_all(&repository).map_err(|source| FetchError::Write { path: repository, source })?;
    Ok(commit)
}

struct GitFetch<'a> {
    wanted: &'a GitRequest<'a>,
    disk: &'a Disk,
    context: &'a FetchContext<'a>,
    caller: GitCaller<'a>,
    repository: PathBuf,
}

/// The hash that names the objects of a repository.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ObjectFormat {
    Sha1,
    Sha256,
}

impl ObjectFormat {
    fn of(id: &str) -> Option<ObjectFormat> {
        let hex = id.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        match id.len() {
            40 if hex => Some(ObjectFormat::Sha1),
            64 if hex => Some(ObjectFormat::Sha256),
            _ => None,
        }
    }
}

impl GitFetch<'_> {
    /// Fetches the requested ref, as little of it as the server allows, and returns its commit.
    fn commit(&self) -> Result<String, FetchError> {
        let Some(reference) = self.wanted.reference else {
            let heads = self.ask("HEAD")?;
            let Some((id, _)) = heads.iter().find(|(_, name)| name == "HEAD") else {
                return Err(self.failed("it is empty, or has no default branch; name a branch with @"));
            };
            self.init(ObjectFormat::of(id).unwrap_or(ObjectFormat::Sha1))?;
            self.shallow("HEAD")?;
            return self.resolve(FETCHED);
        };
        let lower = reference.to_ascii_lowercase();
        if let Some(format) = ObjectFormat::of(&lower) {
            self.init(format)?;
            // Not every server gives out a commit by its id.
            if self.shallow(&lower).is_err() {
                self.context.check()?;
                self.everything()?;
            }
            return self.resolve(&lower).map_err(|error| self.no_reference(error));
        }
        let known = self.ask(reference)?;
        let names = [format!("refs/tags/{reference}"), format!("refs/heads/{reference}"), reference.to_owned()];
        // A tag wins over a branch, as everywhere in git. The bare name is for `refs/…` in full.
        let name = names.iter().find(|name| name.starts_with("refs/") && known.iter().any(|(_, known)| known == *name));
        let format = known.first().and_then(|(id, _)| ObjectFormat::of(id)).unwrap_or(ObjectFormat::Sha1);
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

    /// Lists the remote's refs that end like this, `HEAD` always among them.
    fn ask(&self, name: &str) -> Result<Vec<(String, String)>, FetchError> {
        let answer = self.answer(&["ls-remote", "--quiet", "--", self.wanted.url, "HEAD", name])?;
        Ok(answer.lines().filter_map(|line| line.split_once('\t')).map(|(id, name)| (id.into(), name.into())).collect())
    }

    fn init(&self, format: ObjectFormat) -> Result<(), FetchError> {
        let format = if format == ObjectFormat::Sha1 { "--object-format=sha1" } else { "--object-format=sha256" };
        self.answer(&["init", "--quiet", "--bare", "--template=", format])?;
        let info = self.repository.join("info");
        let attributes = info.join("attributes");
        let made = if info.is_dir() { Ok(()) } else { self.disk.create_dir(&info) };
        made.and_then(|()| self.disk.write(&attributes, ATTRIBUTES.as_bytes(), 0o644))
            .map_err(|source| FetchError::Write { path: attributes, source })
    }

    /// Fetches one commit, without its ancestors.
    fn shallow(&self, what: &str) -> Result<(), FetchError> {
        let spec = format!("+{what}:{FETCHED}");
        self.fetch_refs(&["--depth=1"], &[&spec])
    }

    /// Fetches all branches and tags with their history.
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

    /// Returns the commit that a name means.
    fn resolve(&self, name: &str) -> Result<String, FetchError> {
        let answer = self.answer(&["rev-parse", "--verify", "--quiet", &format!("{name}^{{commit}}")])?;
        let commit = answer.trim();
        ObjectFormat::of(commit).map(|_| commit.to_owned()).ok_or_else(|| self.failed("it is no commit"))
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
        match tar::unpack(&mut running, FetchTree::new(into, self.disk, self.context), self.context) {
            Ok(()) => running.finish(),
            // If the stream is cut short, git's own error says why.
            Err(error @ FetchError::Damaged { .. }) => Err(running.finish().err().unwrap_or(error)),
            Err(error) => Err(error),
        }
    }

    /// Runs git and returns its output.
    fn answer(&self, args: &[&str]) -> Result<String, FetchError> {
        let mut running = self.caller.start(args)?;
        let mut answer = Vec::new();
        let read = running.by_ref().take(MAX_ANSWER + 1).read_to_end(&mut answer);
        read.map_err(|error| self.context.unreadable(error))?;
        if answer.len() as u64 > MAX_ANSWER {
            return Err(self.failed("its answer is too long"));
        }
        running.finish()?;
        Ok(String::from_utf8_lossy(&answer).into_owned())
    }

    fn failed(&self, reason: &str) -> FetchError {
        FetchError::Git { from: self.context.from.clone(), reason: reason.to_owned() }
    }

    /// Turns an error of git into "no such ref"; other errors stay.
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
