//! Inspecting a server before it is configured.

use serde::Serialize;
use skillcue::remote::RemoteEntry;
use skillcue_base::Shown;
use skillcue_format::{Code, Diagnostic};

use super::connection::ConnectionError;
use super::server::{ConfiguredServer, ReadError};

/// A server's skills, and whether their files are as listed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ServerReport {
    /// The version of the protocol that was agreed on.
    pub protocol: String,
    /// The server's own name.
    pub server: Option<String>,
    /// Its skills, as it lists them.
    pub skills: Vec<SkillReport>,
    /// The problems of the listing as a whole, and the entries that were left out.
    pub diagnostics: Vec<Diagnostic>,
}

/// One skill of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SkillReport {
    /// Its name.
    pub name: String,
    /// The URI of its `SKILL.md`.
    pub uri: String,
    /// Its description, as the listing has it.
    pub description: String,
    /// How many files it has. None if the server generates them on request.
    pub files: Option<usize>,
    /// How many bytes they have together.
    pub bytes: u64,
    /// How many files were fetched and are as listed.
    pub verified: usize,
    /// Its problems.
    pub diagnostics: Vec<Diagnostic>,
}

impl ServerReport {
    /// Returns whether no check failed.
    pub fn is_clean(&self) -> bool {
        self.diagnostics.is_empty() && self.skills.iter().all(|skill| skill.diagnostics.is_empty())
    }
}

/// Lists a server's skills; with `verify`, fetches and checks their files, too. Of a skill whose `SKILL.md` is not what
/// was listed, nothing more is fetched.
pub(crate) async fn inspect(server: &ConfiguredServer, verify: bool) -> Result<ServerReport, ConnectionError> {
    let (protocol, name) = server.server_info().await?;
    let listing = server.list().await?;
    let mut skills = Vec::with_capacity(listing.entries.len());
    for entry in listing.entries.iter() {
        let mut report = outline(entry);
        if verify {
            check(server, entry, &mut report).await?;
        }
        skills.push(report);
    }
    let diagnostics = listing.diagnostics.into_iter().map(found).collect();
    Ok(ServerReport { protocol, server: name, skills, diagnostics })
}

fn found(problem: String) -> Diagnostic {
    Diagnostic::new(Code::Remote, problem)
}

fn outline(entry: &RemoteEntry) -> SkillReport {
    let description = entry.front_matter.get("description").and_then(|text| text.as_str()).unwrap_or_default();
    SkillReport {
        name: entry.name().to_owned(),
        uri: entry.uri.clone(),
        description: description.to_owned(),
        files: entry.files.as_ref().map(Vec::len),
        bytes: entry.files.iter().flatten().map(|file| file.size).sum(),
        verified: 0,
        diagnostics: Vec::new(),
    }
}

async fn check(
    server: &ConfiguredServer,
    entry: &RemoteEntry,
    report: &mut SkillReport,
) -> Result<(), ConnectionError> {
    let Some(files) = &entry.files else {
        let problem = "its files are generated on request, so nothing can be verified or allowed";
        report.diagnostics.push(Diagnostic::new(Code::Remote, problem));
        return Ok(());
    };
    // The SKILL.md first: if that is not as listed, the rest is not worth asking for.
    let (first, rest): (Vec<_>, Vec<_>) = files.iter().partition(|file| file.uri == entry.uri);
    for file in first.into_iter().chain(rest) {
        match server.read_verified(entry, file).await {
            Ok(_) => report.verified += 1,
            Err(ReadError::Connection(error @ (ConnectionError::Slow(_) | ConnectionError::Gone(_)))) => {
                return Err(error);
            }
            Err(ReadError::Connection(error)) => {
                report.diagnostics.push(found(format!("{}: {error}", Shown(&file.uri))));
            }
            Err(ReadError::Unverified(problem)) => report.diagnostics.push(found(problem)),
        }
        if report.verified == 0 {
            break;
        }
    }
    Ok(())
}
