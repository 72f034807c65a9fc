//! A policy, asked for every skill of a discovery.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};

use skillcue_format::{Code, Diagnostic, Severity};

use super::resolved::ResolvedOrigins;
use super::{OrgPolicy, PolicyRefusal, PolicySubject, SubjectContent, UnknownContent};
use crate::{Catalog, ContentId, ContentStamps, Discovery, Skill, SkillDir};

/// The address that a skill came from, as the host knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillOrigin {
    /// The word for its source in rules, such as `installed`; `None` for the word of its [`Source`](crate::Source).
    pub source: Option<&'static str>,
    /// A URL, or a path.
    pub address: String,
    /// The keys that have signed it.
    pub keys: Vec<String>,
}

/// The origins of skills, beyond the directories in which they were found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SkillOrigins {
    /// By directory: of a skill, or one above it.
    pub dirs: HashMap<PathBuf, SkillOrigin>,
    /// By the user's name for a server.
    pub servers: HashMap<String, SkillOrigin>,
    /// The names of all configured servers and catalogs, also of those that are not used, because of a mistake or a policy: no
    /// plugin of a checkout takes one.
    pub names: HashSet<String>,
}

/// Audits the files of a skill, for rules about findings.
pub trait ContentAuditor: std::fmt::Debug + Send + Sync {
    /// Returns the highest severity among the findings in a directory; `None` without any. The stamps are those of its
    /// files, taken before: an answer for equal stamps is still good.
    fn worst_finding(&self, dir: &Path, stamps: &ContentStamps) -> Result<Option<Severity>, String>;

    /// Keeps its answers for later processes. Called after each discovery.
    fn keep(&self) {}
}

/// A policy with what it needs to decide about the skills of a catalog.
///
/// ```
/// use std::sync::Arc;
/// use skillcue_catalog::{Discovery, OrgPolicy, PolicyGate, SkillRoot, Source};
///
/// let dir = tempfile::tempdir()?;
/// for name in ["pdf", "coin-miner"] {
///     std::fs::create_dir(dir.path().join(name))?;
///     std::fs::write(dir.path().join(name).join("SKILL.md"), format!("---\nname: {name}\ndescription: Does it.\n---\n"))?;
/// }
/// let policy = OrgPolicy::parse(b"[forbid]\nskills = ['*-miner']\n", "policy.toml")?;
/// let gate = Arc::new(PolicyGate::new(policy, None));
/// let catalog = Discovery::new([SkillRoot::new(dir.path(), Source::User)]).policy(gate).run();
/// assert!(catalog.get("pdf").unwrap().is_open_to_models());
/// let miner = catalog.get("coin-miner").unwrap();
/// assert!(!miner.is_open_to_models());
/// assert_eq!(miner.refusal().unwrap().rule, "forbid.skills");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct PolicyGate {
    policy: OrgPolicy,
    auditor: Option<Arc<dyn ContentAuditor>>,
    known: Arc<Mutex<HashMap<PathBuf, Arc<KnownContent>>>>,
}

/// The content of one directory, as long as its stamps are these.
#[derive(Debug)]
struct KnownContent {
    stamps: ContentStamps,
    id: OnceLock<Result<ContentId, String>>,
    worst: OnceLock<Result<Option<Severity>, String>>,
}

/// The decision about one skill.
#[derive(Debug, Clone, Default)]
pub(crate) struct PolicyStanding {
    pub(crate) refusal: Option<PolicyRefusal>,
    /// Whether it is a skill that the policy requires.
    pub(crate) is_required: bool,
}

impl PolicyGate {
    /// Makes a gate. Without an auditor, a rule about findings refuses every skill.
    pub fn new(policy: OrgPolicy, auditor: Option<Arc<dyn ContentAuditor>>) -> PolicyGate {
        PolicyGate { policy, auditor, known: Arc::default() }
    }

    /// Returns a gate for which a further policy must agree, too: what is known of files is known to both.
    #[must_use]
    pub(crate) fn and(&self, further: OrgPolicy) -> PolicyGate {
        let policy = self.policy.clone().and(further);
        PolicyGate { policy, auditor: self.auditor.clone(), known: Arc::clone(&self.known) }
    }

    /// Returns the policy.
    pub fn policy(&self) -> &OrgPolicy {
        &self.policy
    }

    /// Keeps the auditor's answers for later processes.
    pub(crate) fn keep(&self) {
        if let Some(auditor) = &self.auditor {
            auditor.keep();
        }
    }

    /// Decides about one skill.
    pub(crate) fn standing(&self, skill: &Skill, is_foreign: bool, origins: &ResolvedOrigins) -> PolicyStanding {
        self.with_subject(skill, origins, |subject| {
            let linked = || self.linked_file_refusal(skill, subject, origins);
            let refusal = self.policy.refusal(subject).or_else(linked);
            let is_required = refusal.is_none() && self.policy.required().any(|it| it.is_met_by(subject, is_foreign));
            PolicyStanding { refusal, is_required }
        })
    }

    /// Returns why a skill may not be used as it is now. Rules about content are asked again: files may have changed since
    /// the discovery.
    pub(crate) fn refusal_now(&self, skill: &Skill, origins: &ResolvedOrigins) -> Option<PolicyRefusal> {
        if !self.policy.reads_content() {
            return skill.refusal().cloned();
        }
        skill.refusal().cloned().or_else(|| self.with_subject(skill, origins, |subject| self.policy.refusal(subject)))
    }

    /// Returns why nothing may come from where a linked `SKILL.md` leads to.
    fn linked_file_refusal(
        &self,
        skill: &Skill,
        subject: &PolicySubject<'_>,
        origins: &ResolvedOrigins,
    ) -> Option<PolicyRefusal> {
        let origin = origins.of_linked_file(skill)?;
        self.policy.origin_refusal(&PolicySubject {
            source: origin.source.unwrap_or(subject.source),
            origin: Some(&origin.address),
            keys: &origin.keys,
            ..*subject
        })
    }

    fn with_subject<T>(
        &self,
        skill: &Skill,
        origins: &ResolvedOrigins,
        ask: impl FnOnce(&PolicySubject<'_>) -> T,
    ) -> T {
        let origin = origins.of(skill);
        let path = skill.dir().to_string_lossy().into_owned();
        let remote = RemoteContent(skill.listed_content());
        let local = SkillContent { gate: self, skill };
        ask(&PolicySubject {
            name: skill.name(),
            address: &skill.address(),
            source: origin.and_then(|origin| origin.source).unwrap_or(skill.source().as_str()),
            origin: Some(origin.map_or(path.as_str(), |origin| &origin.address)),
            keys: origin.map_or(&[], |origin| &origin.keys),
            content: if skill.server().is_some() { &remote } else { &local },
        })
    }

    /// Returns what is known of a directory, read anew if a file has changed.
    fn content(&self, name: &str, dir: &Path) -> Result<Arc<KnownContent>, String> {
        let opened = SkillDir::open(name, dir).map_err(|error| error.to_string())?;
        let stamps = ContentStamps::of(&opened).map_err(|error| error.to_string())?;
        let mut known = skillcue_base::lock(&self.known);
        if let Some(content) = known.get(dir).filter(|content| content.stamps == stamps) {
            return Ok(Arc::clone(content));
        }
        let content = Arc::new(KnownContent { stamps, id: OnceLock::new(), worst: OnceLock::new() });
        known.insert(dir.to_path_buf(), Arc::clone(&content));
        Ok(content)
    }

    /// Returns the findings about a catalog: skills that are refused, and required ones that are missing.
    pub(crate) fn findings(&self, catalog: &Catalog, origins: &ResolvedOrigins) -> Vec<Diagnostic> {
        let mut found = Vec::new();
        for skill in catalog.all() {
            if let Some(refusal) = skill.refusal() {
                let message = format!("`{}` is {refusal}", skill.name());
                found.push(
                    Diagnostic::new(Code::PolicyRefused, message).with_help(refusal.help.clone()).at(skill.path()),
                );
            }
        }
        for required in self.policy.required() {
            let named = catalog.named(&required.name).next();
            let is_met = named.filter(|skill| skill.refusal().is_none()).is_some_and(|skill| {
                self.with_subject(skill, origins, |subject| required.is_met_by(subject, skill.is_foreign()))
            });
            let name = &required.name;
            let why = match named {
                Some(skill) if is_met && skill.available() => continue,
                Some(_) if is_met => "is there, but lacks a program that it requires".to_owned(),
                Some(skill) => match skill.refusal() {
                    Some(refusal) => format!("is there, but {refusal}"),
                    None => format!("is not the one in {}", skill.dir().display()),
                },
                None => "is not there".to_owned(),
            };
            let message = format!("the policy {} requires the skill `{name}`, which {why}", required.policy);
            found.push(
                Diagnostic::new(Code::PolicyMissing, message).with_help("install it, or ask the owner of the policy"),
            );
        }
        found
    }
}

impl Discovery {
    /// Sets the organisation's policy: a skill that it refuses is in the catalog, and never on.
    #[must_use]
    pub fn policy(mut self, gate: Arc<PolicyGate>) -> Discovery {
        self.policy = Some(gate);
        self
    }

    /// Adds a policy: a skill must be allowed by it and by that of the gate. Without a gate, a rule about findings refuses
    /// every skill.
    #[must_use]
    pub fn and_policy(mut self, policy: OrgPolicy) -> Discovery {
        if !policy.is_empty() {
            let gate = match &self.policy {
                Some(gate) => gate.and(policy),
                None => PolicyGate::new(policy, None),
            };
            self.policy = Some(Arc::new(gate));
        }
        self
    }

    /// Sets the addresses that skills came from, for rules of the policy about them.
    #[must_use]
    pub fn origins(mut self, origins: Arc<SkillOrigins>) -> Discovery {
        self.origins = origins;
        self
    }

    /// Adds the address of a server or a catalog, by the user's name for it, in place of an earlier one.
    #[must_use]
    pub fn and_origin(mut self, server: &str, origin: SkillOrigin) -> Discovery {
        Arc::make_mut(&mut self.origins).servers.insert(server.to_owned(), origin);
        self
    }
}

impl Skill {
    /// Returns why the organisation's policy closes it, if it does: see [`OrgPolicy`](crate::OrgPolicy).
    pub fn refusal(&self) -> Option<&PolicyRefusal> {
        self.standing()?.refusal.as_ref()
    }

    /// Returns whether the organisation's policy requires it: then it cannot be switched off.
    pub fn is_required(&self) -> bool {
        self.standing().is_some_and(|standing| standing.is_required)
    }

    fn standing(&self) -> Option<&PolicyStanding> {
        Some(&self.extra.as_ref()?.standing)
    }

    /// Returns the order of precedence that a policy gives skills of one name: required ones first, refused ones last, so
    /// that a skill that must not be used hides none that may.
    pub(crate) fn policy_rank(&self) -> u8 {
        match self.standing() {
            Some(PolicyStanding { is_required: true, .. }) => 0,
            Some(PolicyStanding { refusal: Some(_), .. }) => 2,
            _ => 1,
        }
    }

    /// Returns the id of its files, if a server lists it with their digests.
    pub(crate) fn listed_content(&self) -> Option<ContentId> {
        self.extra.as_ref()?.listed
    }
}

/// The files of a skill on this machine.
#[derive(Debug)]
struct SkillContent<'s> {
    gate: &'s PolicyGate,
    skill: &'s Skill,
}

impl SubjectContent for SkillContent<'_> {
    fn id(&self) -> Result<ContentId, String> {
        let (name, dir) = (self.skill.name(), self.skill.dir());
        let content = self.gate.content(name, &dir)?;
        let read = || {
            let dir = SkillDir::open(name, &dir).map_err(|error| error.to_string())?;
            ContentId::of(&dir).map_err(|error| error.to_string())
        };
        content.id.get_or_init(read).clone()
    }

    fn worst_finding(&self) -> Result<Option<Severity>, String> {
        let auditor = self.gate.auditor.as_ref().ok_or("it cannot be audited here")?;
        // The skill file may be a link to that of another directory.
        let (dir, real) = (self.skill.dir(), self.skill.body_file().open_dir);
        let mut worst = None;
        for dir in [Some(&dir), Some(&real).filter(|real| **real != dir)].into_iter().flatten() {
            let content = self.gate.content(self.skill.name(), dir)?;
            let found = content.worst.get_or_init(|| auditor.worst_finding(dir, &content.stamps)).clone()?;
            // `Error` is the first of the severities.
            worst = worst.into_iter().chain(found).min();
        }
        Ok(worst)
    }
}

/// The files of a skill on a server, as far as its listing has their digests.
#[derive(Debug)]
struct RemoteContent(Option<ContentId>);

impl SubjectContent for RemoteContent {
    fn id(&self) -> Result<ContentId, String> {
        self.0.map_or_else(|| UnknownContent.id(), Ok)
    }

    fn worst_finding(&self) -> Result<Option<Severity>, String> {
        UnknownContent.worst_finding()
    }
}
