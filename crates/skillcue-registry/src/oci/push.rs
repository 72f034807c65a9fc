//! Pushing a skill to an OCI registry.

use std::path::Path;

use serde::Serialize;
use skillcue_base::{Digest, ErrorInfo};
use skillcue_catalog::{ContentId, OrgPolicy};
use skillcue_format::Diagnostic;

use super::client::{RegistryClient, TokenScope};
use super::pack::{PackedSkill, pack};
use super::{OciAccess, OciReference};
use crate::candidate::serialize_findings;
use crate::fetch::FetchError;
use crate::fetch::context::FetchContext;
use crate::outbound::PackError;
use crate::{FetchLimits, FetchProgress};

/// Options for pushing.
#[derive(Debug, Clone, Copy, Default)]
pub struct PushOptions<'o> {
    /// Push in spite of findings of high severity.
    pub allow_findings: bool,
    /// Pack and check, without asking the registry anything.
    pub dry_run: bool,
    /// The organisation's policy: what it refuses is not pushed.
    pub policy: Option<&'o OrgPolicy>,
}

/// Why a skill was not pushed.
#[derive(Debug, thiserror::Error, ErrorInfo)]
#[non_exhaustive]
pub enum PushError {
    /// The skill cannot become an artifact.
    #[error(transparent)]
    #[info(transparent)]
    Pack(#[from] PackError),
    /// The registry did not take it.
    #[error(transparent)]
    #[info(transparent)]
    Registry(#[from] FetchError),
}

/// A skill that was pushed.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Pushed {
    /// Its name.
    pub name: String,
    /// The version it gives itself.
    pub version: Option<String>,
    /// The address with its tag.
    pub reference: String,
    /// The SHA-256 of its manifest, which a lock pins as its commit.
    pub manifest: Digest,
    /// The digest over all its files, as a lock pins it.
    pub digest: ContentId,
    /// How many files it has.
    pub files: usize,
    /// How many bytes the layer has.
    pub bytes: usize,
    /// Directories that were left out, as listings leave them out.
    pub left_out: Vec<String>,
    /// The audit's findings.
    #[serde(serialize_with = "serialize_findings")]
    pub findings: Vec<Diagnostic>,
    /// Whether it is in the registry now.
    pub pushed: bool,
}

/// Pushes the skill in a directory to an address with a tag. Equal files give an equal manifest, so pushing twice changes
/// nothing.
pub fn push(
    dir: &Path,
    reference: &OciReference,
    access: &OciAccess,
    options: &PushOptions<'_>,
    progress: &dyn FetchProgress,
) -> Result<Pushed, PushError> {
    let limits = FetchLimits::default();
    let context = FetchContext::new(reference.to_string(), &limits, progress);
    let PackedSkill { name, version, digest, files, left_out, findings, config, layer, manifest } =
        pack(dir, options.allow_findings, options.policy)?;
    let bytes = layer.len();
    let mut pushed = Digest::of(&manifest);
    if !options.dry_run {
        let client = RegistryClient::connect(reference, access, TokenScope::Push, &context)?;
        client.push_blob(layer)?;
        client.push_blob(config)?;
        pushed = client.push_manifest(&manifest)?;
    }
    let reference = reference.to_string();
    let manifest = pushed;
    Ok(Pushed {
        name,
        version,
        reference,
        manifest,
        digest,
        files,
        bytes,
        left_out,
        findings,
        pushed: !options.dry_run,
    })
}
