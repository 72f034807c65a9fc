//! Consent to a skill of an MCP server, which may then be loaded.

use std::fmt::Write as _;
use std::sync::Arc;

use skillcue::consent::{Question, Scope};
use skillcue::remote::{Remote, RemoteEntry, RemoteError};
use skillcue::{Error, Source};
use skillcue_mcp::host::McpHost;

use super::ConsentRequest;
use crate::context::Context;
use crate::error::CliError;
use crate::terminal::{paint, style};
use crate::text;

/// A skill as its server lists it.
pub(super) struct RemoteSubject {
    label: String,
    entry: Arc<RemoteEntry>,
}

/// The instructions of a skill.
#[derive(serde::Serialize)]
pub(super) struct RemoteInstructions {
    label: String,
    uri: String,
    pub(super) content: String,
}

/// Returns the remote skill of that name; none if it is one on this machine.
pub(super) fn find(name: &str, context: &Context) -> Result<Option<RemoteSubject>, CliError> {
    match name.split_once(':') {
        // A server need not list all that it has.
        Some((label, uri)) if uri.contains("://") => {
            let entry = host(context)?.get(label, uri).map_err(|error| {
                CliError::of(&error).help("name a server of skillcue.toml and the URI of a SKILL.md")
            })?;
            Ok(Some(RemoteSubject { label: label.to_owned(), entry }))
        }
        _ => match denied(name, context)? {
            Some(denied) => Ok(Some(denied)),
            None => Ok(context.skills()?.remote_entry(name)?.map(|(label, entry)| RemoteSubject { label, entry })),
        },
    }
}

/// Returns the skill of that name that a person has refused: it is in no list, and may be allowed again.
fn denied(name: &str, context: &Context) -> Result<Option<RemoteSubject>, CliError> {
    context.servers()?;
    for remote in context.host()?.remotes()? {
        let Some(name) = name.strip_prefix(remote.label()).and_then(|rest| rest.strip_prefix(':')) else { continue };
        let entries = remote.entries();
        if let Some(entry) = entries.iter().find(|entry| entry.name() == name && remote.is_refused(entry)) {
            return Ok(Some(RemoteSubject { label: remote.label().to_owned(), entry: Arc::clone(entry) }));
        }
    }
    Ok(None)
}

impl RemoteSubject {
    /// Returns what there is to allow.
    pub(super) fn wanted(&self, name: &str, context: &Context) -> Result<ConsentRequest, CliError> {
        let question = self.question(context)?;
        let is_catalog = |remote: &Arc<dyn Remote>| remote.label() == self.label && remote.source() == Source::Catalog;
        let is_catalog = context.host()?.remotes()?.iter().any(is_catalog);
        let from = if is_catalog { "the catalog" } else { "the MCP server" };
        Ok(ConsentRequest {
            name: name.to_owned(),
            described: described(from, &self.label, &self.entry),
            prompt: "Allow exactly this content?",
            questions: vec![question],
        })
    }

    fn question(&self, context: &Context) -> Result<Question, CliError> {
        #[cfg(feature = "fleet")]
        if let Some(question) = context.host()?.catalogs()?.and_then(|of| of.question(&self.label, &self.entry)) {
            return Ok(question);
        }
        Ok(host(context)?.question(&self.label, &self.entry)?)
    }

    /// Returns the instructions, and allows nothing beyond this process. Of exactly this entry: others may have its
    /// name.
    pub(super) fn instructions(&self, context: &Context) -> Result<RemoteInstructions, CliError> {
        context.host()?.consent().remember(&self.question(context)?, Scope::Session)?;
        let name = format!("{}:{}", self.label, self.entry.name());
        let failed = |source| CliError::of(&Error::Remote { name: name.clone(), source });
        let gone = || failed(RemoteError::Unreachable(format!("{:?} is not configured any more", self.label)));
        let remotes = context.host()?.remotes()?;
        let remote = remotes.iter().find(|remote| remote.label() == self.label).ok_or_else(gone)?;
        let bytes = remote.read(&self.entry, "SKILL.md").map_err(failed)?;
        let not_text = |_| failed(RemoteError::Unverified("`SKILL.md` is not UTF-8 text".to_owned()));
        let content = String::from_utf8(bytes).map_err(not_text)?;
        Ok(RemoteInstructions { label: self.label.clone(), uri: self.entry.uri.clone(), content })
    }
}

fn host(context: &Context) -> Result<&McpHost, CliError> {
    context.servers()?.ok_or_else(|| {
        CliError::failure("no_servers", "no MCP server is configured")
            .help("add one below [[mcp]] in skillcue.toml: name, and command or url")
    })
}

fn described(from: &str, label: &str, entry: &Arc<RemoteEntry>) -> String {
    let description = entry.front_matter.get("description").and_then(|text| text.as_str()).unwrap_or_default();
    let mut out = format!("{}  {}\n", paint(style::NAME, text::one_line(entry.name())), text::one_line(description));
    let _ = writeln!(out, "from {from} {}: {}", paint(style::SOURCE, label), text::one_line(&entry.uri));
    if let Some(tools) = entry.front_matter.get("allowed-tools") {
        let _ = writeln!(out, "it asks for the tools {}, and is not given them", text::one_line(&tools.to_string()));
    }
    for file in entry.files.iter().flatten() {
        let path = entry.path_of(file).unwrap_or_default();
        let size = text::thousands(file.size);
        let _ = writeln!(
            out,
            "  {:<40} {size:>10} bytes  {}",
            text::one_line(&path),
            paint(style::DIM, file.digest.get(..19).unwrap_or(&file.digest))
        );
    }
    out
}
