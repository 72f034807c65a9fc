//! A look at a server before it is configured.

use serde::Serialize;
use skillcue::remote::RemoteEntry;
use skillcue_base::Shown;
use skillcue_format::{Code, Diagnostic};

use super::connection::ConnectionError;
use super::remote::{ReadError, Server};

/// What a server offers, and whether it keeps its word.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The version of the protocol that was agreed on.
    pub protocol: String,
    /// What the server calls itself.
    pub server: Option<String>,
    /// Its skills, as it lists them.
    pub skills: Vec<SkillReport>,
    /// What is wrong with the listing as a whole, and which entries were left out.
    pub diagnostics: Vec<Diagnostic>,
}

/// One skill of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SkillReport {
    /// Its name.
    pub name: String,
    /// The URI of its `SKILL.md`.
    pub uri: String,
    /// What it does, as the listing has it.
    pub description: String,
    /// How many files it has. None if the server makes them up as it goes.
    pub files: Option<usize>,
    /// How many bytes they have together.
    pub bytes: u64,
    /// How many files were fetched and are what the listing says.
    pub verified: usize,
    /// What is wrong with it.
    pub diagnostics: Vec<Diagnostic>,
}

impl Report {
    /// Whether nothing was found wanting.
    pub fn is_clean(&self) -> bool {
        self.diagnostics.is_empty() && self.skills.iter().all(|skill| skill.diagnostics.is_empty())
    }
}

/// Lists a server's skills; with `verify`, fetches and checks their files, too. Of a skill whose `SKILL.md` is not what
/// was listed, nothing more is fetched.
pub(crate) async fn inspect(server: &Server, verify: bool) -> Result<Report, ConnectionError> {
    let (protocol, name) = server.greeting().await?;
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
    Ok(Report { protocol, server: name, skills, diagnostics })
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

async fn check(server: &Server, entry: &RemoteEntry, report: &mut SkillReport) -> Result<(), ConnectionError> {
    let Some(files) = &entry.files else {
        let problem = "its files are made up as it goes, so nothing can be verified or allowed";
        report.diagnostics.push(Diagnostic::new(Code::Remote, problem));
        return Ok(());
    };
    // The SKILL.md first: if that is a lie, the rest is not worth asking for.
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
