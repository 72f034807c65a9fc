//! Skills that leave this machine: what is checked before one is pushed or published.

use std::path::Path;

use skillcue_base::{ErrorInfo, Shown};
use skillcue_catalog::{
    Catalog, Content, ContentId, Discovery, Leaves, OrgPolicy, PolicyRefusal, SKIPPED_DIRECTORIES, SkillRoot, Source,
};
use skillcue_format::Diagnostic;

use crate::RegistryError;
use crate::tree;

/// The most bytes of a skill that is pushed.
pub(crate) const MAX_PUSHED: u64 = 256 << 20;

/// Why a skill may not be given to others, as an artifact or in a catalog.
#[derive(Debug, thiserror::Error, ErrorInfo)]
#[non_exhaustive]
pub enum PackError {
    /// There is no skill, or it does not keep to the standard.
    #[error("{} is no valid skill: {}", Shown(&dir.to_string_lossy()), findings.iter().find(|it| it.is_error()).map_or("it cannot be read", |it| it.message.as_ref()))]
    #[info(code = "invalid", hint = "correct what its findings report")]
    Invalid {
        /// The directory.
        dir: std::path::PathBuf,
        /// The fault.
        findings: Vec<Diagnostic>,
    },
    /// The audit has findings of high severity.
    #[error("the audit of {} has findings of high severity", Shown(name))]
    #[info(code = "findings", hint = "read the findings; remove what caused them")]
    Findings {
        /// The skill.
        name: String,
        /// All findings.
        findings: Vec<Diagnostic>,
    },
    /// An entry that no artifact can hold.
    #[error("{} cannot be pushed: {reason}", Shown(path))]
    #[info(code = "odd_entry", hint = "remove it, or put a plain file there")]
    Entry {
        /// Its path.
        path: String,
        /// The reason.
        reason: String,
    },
    /// The files are too large together.
    #[error("its files have more than {} MiB", limit >> 20)]
    #[info(code = "too_large", hint = "move away what is no part of the skill")]
    TooLarge {
        /// The limit.
        limit: u64,
    },
    /// The organisation's policy refuses the skill.
    #[error("{} is {refusal}", Shown(name))]
    #[info(code = "policy", hint = refusal.help.clone())]
    Policy {
        /// The skill.
        name: String,
        /// The rule, and the policy that has it.
        refusal: Box<PolicyRefusal>,
    },
    /// The directory cannot be read.
    #[error(transparent)]
    #[info(transparent)]
    Read(#[from] RegistryError),
}

/// A skill that may be given to others: it can be read, its audit has no findings of high severity, and no policy refuses it.
#[derive(Debug)]
#[cfg_attr(not(feature = "oci"), expect(dead_code, reason = "only an artifact is made of them"))]
pub(crate) struct OutboundSkill {
    pub(crate) catalog: Catalog,
    pub(crate) name: String,
    pub(crate) leaves: Leaves,
    pub(crate) left_out: Vec<String>,
    pub(crate) findings: Vec<Diagnostic>,
    pub(crate) digest: ContentId,
}

/// Fails if the skill in a directory may not be given to others: it cannot be read, its audit has findings of high severity, or
/// a policy refuses it. What `push` and `publish` ask before anything is sent.
pub fn check_outbound(dir: &Path, allow_findings: bool, policy: Option<&OrgPolicy>) -> Result<(), PackError> {
    outbound(dir, allow_findings, policy).map(drop)
}

pub(crate) fn outbound(
    dir: &Path,
    allow_findings: bool,
    policy: Option<&OrgPolicy>,
) -> Result<OutboundSkill, PackError> {
    let invalid = |findings| PackError::Invalid { dir: dir.to_owned(), findings };
    let catalog = Discovery::new([SkillRoot::new(dir, Source::Inline)]).run();
    let [skill] = catalog.all() else {
        return Err(invalid(catalog.invalid().iter().flat_map(|it| it.diagnostics.clone()).collect()));
    };
    if skill.dir() != dir {
        return Err(invalid(Vec::new()));
    }
    let name = skill.name().to_owned();
    let content = tree::scan(dir)?;
    let (leaves, left_out) = kept(&content)?;
    let findings = skillcue_audit::audit(dir).findings;
    if findings.iter().any(Diagnostic::is_error) && !allow_findings {
        return Err(PackError::Findings { name, findings });
    }
    let digest = ContentId::of_leaves(&leaves);
    if let Some(policy) = policy {
        let facts = OutboundContent { digest, findings: &findings };
        let subject = skillcue_catalog::PolicySubject { name: &name, content: &facts, ..Default::default() };
        if let Some(refusal) = policy.outbound_refusal(&subject) {
            return Err(PackError::Policy { name, refusal: Box::new(refusal) });
        }
    }
    Ok(OutboundSkill { catalog, name, leaves, left_out, findings, digest })
}

/// The content of a skill to be pushed, for a policy.
#[derive(Debug)]
struct OutboundContent<'p> {
    digest: ContentId,
    findings: &'p [Diagnostic],
}

impl skillcue_catalog::SubjectContent for OutboundContent<'_> {
    fn id(&self) -> Result<ContentId, String> {
        Ok(self.digest)
    }

    fn worst_finding(&self) -> Result<Option<skillcue_format::Severity>, String> {
        Ok(self.findings.iter().map(|found| found.severity).min())
    }
}

/// Returns the files that are pushed, and the directories that listings ignore, which never are.
fn kept(content: &Content) -> Result<(Leaves, Vec<String>), PackError> {
    let ignored = |path: &str| {
        let above = path.split('/').scan(0, |end, part| {
            *end += part.len() + 1;
            Some((*end - 1, part))
        });
        let parts: Vec<(usize, &str)> = above.collect();
        let dirs = &parts[..parts.len().saturating_sub(1)];
        dirs.iter().find(|(_, part)| SKIPPED_DIRECTORIES.contains(part)).map(|(end, _)| path[..*end].to_owned())
    };
    if let Some(odd) = content.unpinnable.iter().find(|odd| ignored(&odd.path.to_string_lossy()).is_none()) {
        let path = odd.path.to_string_lossy().into_owned();
        return Err(PackError::Entry { path, reason: odd.reason.to_string() });
    }
    let mut left_out: Vec<String> = content.leaves.keys().filter_map(|path| ignored(path)).collect();
    left_out.dedup();
    let kept: Leaves = content
        .leaves
        .iter()
        .filter(|(path, _)| ignored(path).is_none())
        .map(|(path, leaf)| (path.clone(), leaf.clone()))
        .collect();
    let bytes: u64 = content.sizes.iter().filter(|(path, _)| kept.contains_key(*path)).map(|(_, size)| size).sum();
    if bytes > MAX_PUSHED {
        return Err(PackError::TooLarge { limit: MAX_PUSHED });
    }
    Ok((kept, left_out))
}
