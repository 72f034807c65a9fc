//! An organisation's policy: which skills may be used on a machine, and which must be there.
//!
//! A policy only tightens. Several of them are kept side by side, and each must agree: that is their intersection,
//! whatever they say. [`OrgPolicy::refusal`] is the one decision; [`PolicyGate`] asks it for every skill of a discovery,
//! and a skill that is refused is off for every surface, because [`Skill::enabled`](crate::Skill::enabled) says so.

mod file;
mod gate;
mod kept;
mod origin;
mod resolved;

use std::fmt;

use serde::Serialize;
use skillcue_base::Shown;
use skillcue_format::Severity;

pub use file::OrgPolicyError;
pub(crate) use gate::PolicyStanding;
pub use gate::{ContentAuditor, PolicyGate, SkillOrigin, SkillOrigins};
pub use kept::{KeptPolicy, kept_catalog_name};
pub use origin::{publisher_of, without_userinfo};
pub(crate) use resolved::ResolvedOrigins;

use crate::{ContentId, NameGlob};
use origin::{OriginRule, SourceRule};

/// The rules of an organisation about skills. Without any, it refuses nothing.
///
/// ```
/// use skillcue_catalog::{OrgPolicy, PolicySubject};
///
/// let text = b"name = 'Acme'\n[sources]\nallow = ['bundled', 'installed:https://git.acme.example/*']\n";
/// let policy = OrgPolicy::parse(text, "/etc/skillcue/policy.toml")?;
/// let from = |origin| PolicySubject { name: "pdf", source: "installed", origin: Some(origin), ..PolicySubject::default() };
/// assert!(policy.refusal(&from("https://git.acme.example/tools/skills.git")).is_none());
/// let refusal = policy.refusal(&from("https://github.com/other/skills.git")).unwrap();
/// assert_eq!(refusal.rule, "sources.allow");
/// # Ok::<(), skillcue_catalog::OrgPolicyError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OrgPolicy {
    parts: Vec<PolicyPart>,
}

/// One policy file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct PolicyPart {
    /// The file, or the catalog that carries it.
    origin: String,
    name: Option<String>,
    contact: Option<String>,
    sources: Option<Vec<SourceRule>>,
    publishers: Option<Vec<NameGlob>>,
    keys: Option<Vec<String>>,
    forbidden_names: Vec<NameGlob>,
    forbidden_origins: Vec<OriginRule>,
    forbidden_publishers: Vec<NameGlob>,
    forbidden_digests: Vec<ContentId>,
    required: Vec<SkillRequirement>,
    audit: Option<AuditRule>,
    run: RunRules,
    /// Why it cannot be used: then it refuses everything.
    broken: Option<String>,
}

/// The lowest result of an audit that a skill must have.
#[derive(Debug, Clone, PartialEq, Eq)]
struct AuditRule {
    /// Findings of this severity, or a higher one, close a skill.
    refuse: Severity,
    /// Sources whose skills are not audited.
    exempt: Vec<String>,
}

/// Programs that may run, by kind. What is not said is not restricted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct RunRules {
    scripts: bool,
    toolsets: bool,
    unsandboxed: bool,
}

/// A skill that must be there and be on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillRequirement {
    /// Its name.
    pub name: String,
    source: Option<SourceRule>,
    digest: Option<ContentId>,
    /// The policy that requires it.
    pub policy: String,
}

/// The kinds of programs that a policy may forbid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgramRule {
    /// Scripts of skills.
    Scripts,
    /// Toolsets of skills.
    Toolsets,
    /// Anything without a sandbox.
    Unsandboxed,
}

/// One skill as a policy sees it, wherever it is: in a catalog, or about to be installed.
#[derive(Debug, Clone, Copy)]
pub struct PolicySubject<'s> {
    /// Its name.
    pub name: &'s str,
    /// Its address where others have its name, or another name for it.
    pub address: &'s str,
    /// The word for its source; `installed` if a registry installed it.
    pub source: &'s str,
    /// The address that it came from: a URL, or the path of its directory.
    pub origin: Option<&'s str>,
    /// The keys that have signed it.
    pub keys: &'s [String],
    /// Its content, asked only by rules about it.
    pub content: &'s dyn SubjectContent,
}

impl Default for PolicySubject<'_> {
    fn default() -> Self {
        PolicySubject { name: "", address: "", source: "", origin: None, keys: &[], content: &UnknownContent }
    }
}

/// The content of a skill, for rules about it. An error says why it is not known, and the rule refuses the skill.
pub trait SubjectContent: fmt::Debug + Sync {
    /// Returns the id of all its files.
    fn id(&self) -> Result<ContentId, String>;

    /// Returns the highest severity that an audit found; `None` if it found nothing.
    fn worst_finding(&self) -> Result<Option<Severity>, String>;
}

/// Content that cannot be looked at before it is loaded.
#[derive(Debug)]
struct UnknownContent;

impl SubjectContent for UnknownContent {
    fn id(&self) -> Result<ContentId, String> {
        Err("its files are not known before it is loaded".to_owned())
    }

    fn worst_finding(&self) -> Result<Option<Severity>, String> {
        Err("it cannot be audited before it is loaded".to_owned())
    }
}

/// The reason why a policy closes a skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PolicyRefusal {
    /// The rule, as its key in the file.
    pub rule: &'static str,
    /// A sentence on what is not allowed.
    pub reason: String,
    /// The policy: its name, if it has one, and its file.
    pub policy: String,
    /// A sentence on what to do.
    pub help: String,
}

impl fmt::Display for PolicyRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "closed by the policy {}: {} ({})", self.policy, self.reason, self.rule)
    }
}

/// One policy file as `status` and `doctor` describe it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PolicySummary {
    /// The file, or the catalog that carries it.
    pub origin: String,
    /// The name that it gives itself.
    pub name: Option<String>,
    /// Its rules, one sentence each.
    pub rules: Vec<String>,
    /// Why it cannot be used; then everything is refused.
    pub broken: Option<String>,
}

impl OrgPolicy {
    /// Parses a policy file strictly: an unknown key, a wrong type or a glob that cannot match is an error with its place.
    /// `origin` names the file, or the catalog that carries it.
    pub fn parse(bytes: &[u8], origin: &str) -> Result<OrgPolicy, OrgPolicyError> {
        file::parse(bytes, origin).map(|part| OrgPolicy { parts: vec![part] })
    }

    /// Returns the policy that stands for a file which cannot be used: it refuses everything.
    ///
    /// ```
    /// use skillcue_catalog::{OrgPolicy, PolicySubject};
    /// let policy = OrgPolicy::broken("/etc/skillcue/policy.toml", "it cannot be read");
    /// assert!(policy.refusal(&PolicySubject::default()).is_some());
    /// ```
    pub fn broken(origin: &str, reason: &str) -> OrgPolicy {
        let run = RunRules { scripts: true, toolsets: true, unsandboxed: true };
        let part =
            PolicyPart { origin: origin.to_owned(), broken: Some(reason.to_owned()), run, ..PolicyPart::default() };
        OrgPolicy { parts: vec![part] }
    }

    /// Returns the policy that allows only what both allow.
    ///
    /// ```
    /// use skillcue_catalog::{OrgPolicy, PolicySubject};
    /// let allow = |words: &str| OrgPolicy::parse(format!("[sources]\nallow = [{words}]").as_bytes(), "a test");
    /// let both = allow("'user', 'bundled'")?.and(allow("'user', 'mcp'")?);
    /// let of = |source| PolicySubject { name: "pdf", source, ..PolicySubject::default() };
    /// let allowed = ["user", "bundled", "mcp"].into_iter().filter(|source| both.refusal(&of(source)).is_none());
    /// assert_eq!(allowed.collect::<Vec<_>>(), ["user"]);
    /// # Ok::<(), skillcue_catalog::OrgPolicyError>(())
    /// ```
    #[must_use]
    pub fn and(mut self, other: OrgPolicy) -> OrgPolicy {
        for part in other.parts {
            // One that is known already says nothing new, and is not described twice.
            if !self.parts.contains(&part) {
                self.parts.push(part);
            }
        }
        self
    }

    /// Returns whether there is no policy.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Returns whether a rule needs to know the content of skills.
    pub fn reads_content(&self) -> bool {
        let reads = |part: &PolicyPart| {
            part.audit.is_some()
                || !part.forbidden_digests.is_empty()
                || part.required.iter().any(|it| it.digest.is_some())
        };
        self.parts.iter().any(reads)
    }

    /// Returns whether a rule depends on the word for a skill's source.
    ///
    /// ```
    /// use skillcue_catalog::OrgPolicy;
    /// let reads = |text: &str| OrgPolicy::parse(text.as_bytes(), "a test").map(|policy| policy.reads_sources());
    /// assert!(reads("[sources]\nallow = ['user']\n")? && reads("[audit]\nrefuse = 'high'\nexempt = ['mcp']\n")?);
    /// assert!(!reads("[forbid]\nskills = ['pdf']\n")?);
    /// # Ok::<(), skillcue_catalog::OrgPolicyError>(())
    /// ```
    pub fn reads_sources(&self) -> bool {
        let reads = |part: &PolicyPart| {
            part.sources.is_some()
                || part.forbidden_origins.iter().any(|rule| matches!(rule, OriginRule::Of(_)))
                || part.audit.as_ref().is_some_and(|audit| !audit.exempt.is_empty())
                || part.required.iter().any(|it| it.source.is_some())
        };
        self.parts.iter().any(reads)
    }

    /// Returns why a skill may not be seen, loaded, installed or run; `None` if it may. The one decision of a policy.
    pub fn refusal(&self, subject: &PolicySubject<'_>) -> Option<PolicyRefusal> {
        self.parts.iter().find_map(|part| part.refusal(subject))
    }

    /// Returns why a skill may not be given to others: by the rules about names and content alone, because those about sources,
    /// origins and publishers are about where skills come from, not about where they go.
    pub fn outbound_refusal(&self, subject: &PolicySubject<'_>) -> Option<PolicyRefusal> {
        let refusal = |part: &PolicyPart| {
            part.broken_refusal().or_else(|| part.name_refusal(subject)).or_else(|| part.content_refusal(subject))
        };
        self.parts.iter().find_map(refusal)
    }

    /// Returns why nothing may come from an address, by the rules about sources, origins and publishers alone: for what is
    /// fetched or started before its skills are known.
    pub fn origin_refusal(&self, subject: &PolicySubject<'_>) -> Option<PolicyRefusal> {
        self.parts.iter().find_map(|part| part.broken_refusal().or_else(|| part.origin_refusal(subject)))
    }

    /// Returns why programs of a kind may not run; `None` if they may.
    pub fn program_refusal(&self, kind: ProgramRule) -> Option<PolicyRefusal> {
        let (rule, reason) = match kind {
            ProgramRule::Scripts => ("run.scripts", "scripts of skills do not run"),
            ProgramRule::Toolsets => ("run.toolsets", "toolsets of skills do not run"),
            ProgramRule::Unsandboxed => ("run.unsandboxed", "nothing runs without a sandbox"),
        };
        let forbids = |part: &&PolicyPart| match kind {
            ProgramRule::Scripts => part.run.scripts,
            ProgramRule::Toolsets => part.run.toolsets,
            ProgramRule::Unsandboxed => part.run.unsandboxed,
        };
        self.parts.iter().find(forbids).map(|part| part.refuse(rule, reason.to_owned()))
    }

    /// Returns the skills that must be there, in the order of the files.
    pub fn required(&self) -> impl Iterator<Item = &SkillRequirement> {
        self.parts.iter().flat_map(|part| &part.required)
    }

    /// Returns the keys that may sign a catalog: those that every policy with such a list allows. `None` if none has one.
    ///
    /// ```
    /// use skillcue_catalog::OrgPolicy;
    /// let keys = |words: &str| OrgPolicy::parse(format!("[publishers]\nkeys = [{words}]").as_bytes(), "a test");
    /// let both = keys("'ed25519:AAAA', 'ed25519:BBBB'")?.and(keys("'ed25519:BBBB'")?);
    /// assert_eq!(both.keys(), Some(vec!["ed25519:BBBB"]));
    /// # Ok::<(), skillcue_catalog::OrgPolicyError>(())
    /// ```
    pub fn keys(&self) -> Option<Vec<&str>> {
        let mut lists = self.parts.iter().filter_map(|part| part.keys.as_ref());
        let first = lists.next()?;
        let rest: Vec<_> = lists.collect();
        let in_all = |key: &&String| rest.iter().all(|list| list.contains(key));
        Some(first.iter().filter(in_all).map(String::as_str).collect())
    }

    /// Returns each policy with its rules in words.
    pub fn summaries(&self) -> Vec<PolicySummary> {
        self.parts.iter().map(PolicyPart::summary).collect()
    }
}

impl SkillRequirement {
    /// Returns whether a skill is the required one. `is_foreign` says that it came with a checkout: such a skill counts only
    /// if the requirement names its source, because otherwise any checkout could stand in for the real one.
    fn is_met_by(&self, subject: &PolicySubject<'_>, is_foreign: bool) -> bool {
        subject.name == self.name
            && self.source.as_ref().map_or(!is_foreign, |rule| rule.matches(subject))
            && self.digest.is_none_or(|digest| subject.content.id() == Ok(digest))
    }
}

impl PolicyPart {
    fn refusal(&self, subject: &PolicySubject<'_>) -> Option<PolicyRefusal> {
        self.broken_refusal()
            .or_else(|| self.name_refusal(subject))
            .or_else(|| self.origin_refusal(subject))
            .or_else(|| self.content_refusal(subject))
    }

    fn broken_refusal(&self) -> Option<PolicyRefusal> {
        let reason = self.broken.as_ref()?;
        Some(self.refuse("policy", format!("the policy cannot be used: {reason}")))
    }

    fn name_refusal(&self, subject: &PolicySubject<'_>) -> Option<PolicyRefusal> {
        let name = Shown(subject.name);
        let plain = subject.name.rsplit_once(':').map_or(subject.name, |(_, name)| name);
        let is_forbidden =
            [subject.name, plain, subject.address].iter().any(|name| NameGlob::any(&self.forbidden_names, name));
        is_forbidden.then(|| self.refuse("forbid.skills", format!("no skill may be called `{name}`")))
    }

    fn origin_refusal(&self, subject: &PolicySubject<'_>) -> Option<PolicyRefusal> {
        if let Some(rules) = &self.sources
            && !rules.iter().any(|rule| rule.matches(subject))
        {
            let from = subject.origin.map_or(String::new(), |origin| format!(", {}", Shown(origin)));
            return Some(self.refuse("sources.allow", format!("its source is not allowed: {}{from}", subject.source)));
        }
        let publisher = subject.origin.and_then(publisher_of);
        if let Some(origin) = subject.origin
            && self.forbidden_origins.iter().any(|rule| rule.matches(subject))
        {
            return Some(self.refuse("forbid.origins", format!("nothing may come from {}", Shown(origin))));
        }
        if let Some(publisher) = &publisher
            && NameGlob::any(&self.forbidden_publishers, publisher)
        {
            return Some(self.refuse("forbid.publishers", format!("nothing may come from {}", Shown(publisher))));
        }
        self.publisher_refusal(subject, publisher.as_deref())
    }

    fn content_refusal(&self, subject: &PolicySubject<'_>) -> Option<PolicyRefusal> {
        if !self.forbidden_digests.is_empty() {
            match subject.content.id() {
                Ok(id) if self.forbidden_digests.contains(&id) => {
                    return Some(self.refuse("forbid.digests", format!("its content is forbidden: {id}")));
                }
                Ok(_) => {}
                Err(why) => return Some(self.refuse("forbid.digests", why)),
            }
        }
        let audit = self.audit.as_ref().filter(|rule| !rule.exempt.iter().any(|word| word == subject.source))?;
        match subject.content.worst_finding() {
            // `Error` is the first of the severities.
            Ok(Some(found)) if found <= audit.refuse => {
                let severity = severity_word(found);
                Some(self.refuse("audit.refuse", format!("its audit has findings of {severity} severity")))
            }
            Ok(_) => None,
            Err(why) => Some(self.refuse("audit.refuse", why)),
        }
    }

    /// Checks the publisher of a skill. What has no publisher, such as a directory on this machine, is a matter of `sources`.
    fn publisher_refusal(&self, subject: &PolicySubject<'_>, publisher: Option<&str>) -> Option<PolicyRefusal> {
        if self.publishers.is_none() && self.keys.is_none() {
            return None;
        }
        let is_signed = self.keys.as_ref().is_some_and(|keys| subject.keys.iter().any(|key| keys.contains(key)));
        let is_known = |globs: &Vec<NameGlob>| publisher.is_some_and(|it| NameGlob::any(globs, it));
        // A catalog is known by its keys, if the policy names some: where it lies says less about its publisher.
        if self.keys.is_some() && (!subject.keys.is_empty() || subject.source == "catalog") {
            let reason = || "no key that may publish has signed it".to_owned();
            return (!is_signed).then(|| self.refuse("publishers.keys", reason()));
        }
        let publisher = publisher?;
        let globs = self.publishers.as_ref()?;
        (!is_known(globs))
            .then(|| self.refuse("publishers.allow", format!("{} may not publish skills here", Shown(publisher))))
    }

    fn refuse(&self, rule: &'static str, reason: String) -> PolicyRefusal {
        let policy = match &self.name {
            Some(name) => format!("{} ({})", Shown(name), Shown(&self.origin)),
            None => Shown(&self.origin).to_string(),
        };
        let help = match (&self.contact, &self.broken) {
            (Some(contact), _) => format!("ask {}", Shown(contact)),
            (None, Some(_)) => "nothing is open until the file is correct; ask its owner".to_owned(),
            (None, None) => "ask the owner of the policy".to_owned(),
        };
        PolicyRefusal { rule, reason, policy, help }
    }

    fn summary(&self) -> PolicySummary {
        let mut rules = Vec::new();
        let mut list = |what: &str, words: Vec<String>| {
            if !words.is_empty() {
                rules.push(format!("{what}: {}", words.join(", ")));
            }
        };
        let globs = |globs: &[NameGlob]| globs.iter().map(|glob| Shown(glob.as_str()).to_string()).collect();
        if let Some(sources) = &self.sources {
            let words: Vec<String> = sources.iter().map(ToString::to_string).collect();
            list("only from", if words.is_empty() { vec!["nowhere".to_owned()] } else { words });
        }
        list("published by", self.publishers.as_deref().map(globs).unwrap_or_default());
        list("signed by", self.keys.clone().unwrap_or_default());
        list("forbidden skills", globs(&self.forbidden_names));
        list("forbidden origins", self.forbidden_origins.iter().map(ToString::to_string).collect());
        list("forbidden publishers", globs(&self.forbidden_publishers));
        list("forbidden content", self.forbidden_digests.iter().map(ToString::to_string).collect());
        list("required", self.required.iter().map(|it| Shown(&it.name).to_string()).collect());
        if let Some(audit) = &self.audit {
            let except =
                if audit.exempt.is_empty() { String::new() } else { format!(", except {}", audit.exempt.join(", ")) };
            rules.push(format!("no audit findings of {} severity or above{except}", severity_word(audit.refuse)));
        }
        let RunRules { scripts, toolsets, unsandboxed } = self.run;
        for (is_forbidden, words) in
            [(scripts, "no scripts"), (toolsets, "no toolsets"), (unsandboxed, "nothing without a sandbox")]
        {
            if is_forbidden && self.broken.is_none() {
                rules.push(words.to_owned());
            }
        }
        PolicySummary { origin: self.origin.clone(), name: self.name.clone(), rules, broken: self.broken.clone() }
    }
}

/// Returns the word that audits have for a severity.
fn severity_word(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "high",
        Severity::Warning => "medium",
        Severity::Info => "low",
    }
}
