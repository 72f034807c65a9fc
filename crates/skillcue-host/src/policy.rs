//! The organisation's policy on this machine: its files, the origins that its rules are about, and audits for it.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};
use std::time::{SystemTime, UNIX_EPOCH};

use skillcue::catalog::{ContentAuditor, ContentStamps, OrgPolicy, PolicySubject, SkillOrigin};
use skillcue::config::{CatalogSection, McpServer};
use skillcue::format::Severity;
use skillcue::{Diagnostic, ErrorInfo as _, Source};
use skillcue_base::Digest;
use skillcue_registry::{Disk, Registry, RegistryLocation, RegistryState};

use crate::environment::{Environment, PolicyLocation};
use crate::error::{Excerpt, HostError};
use crate::text_file::read_text;

/// Reads the policies of the machine and of the environment. One that cannot be used is an error; leniently it is a notice,
/// and a policy that refuses everything.
pub(crate) fn read(
    environment: &Environment,
    is_lenient: bool,
    notices: &mut Vec<Diagnostic>,
) -> Result<OrgPolicy, HostError> {
    let mut policy = OrgPolicy::default();
    for location in &environment.policies {
        match read_one(location, environment) {
            Ok(Some(part)) => policy = policy.and(part),
            Ok(None) => {}
            Err(error) if is_lenient => {
                let origin = environment.resolve(&location.path);
                let place = error.shown_excerpt().map_or(String::new(), |at| format!(":{}:{}", at.line, at.column));
                let message = format!("{}{place}: {}", origin.display(), error.message());
                let help = error.hint().unwrap_or_default().into_owned();
                notices.push(Diagnostic::named("policy", Severity::Error, message).with_help(help));
                policy = policy.and(OrgPolicy::broken(&origin.display().to_string(), error.message()));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(policy)
}

const HELP: &str = "everything is closed until the policy can be used; correct it, or ask its owner";

fn read_one(location: &PolicyLocation, environment: &Environment) -> Result<Option<OrgPolicy>, HostError> {
    let path = environment.resolve(&location.path);
    let text = match read_text(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound && !location.is_named => return Ok(None),
        Err(error) => {
            let message =
                format!("the policy {} cannot be read: {}", path.display(), skillcue_base::os_message(&error));
            return Err(HostError::failure("policy", message).help(HELP));
        }
    };
    OrgPolicy::parse(text.as_bytes(), &path.display().to_string()).map(Some).map_err(|error| {
        let number = |number: u32| usize::try_from(number).unwrap_or(1);
        HostError::failure("policy", format!("the policy cannot be used: {}", error.message)).help(HELP).excerpt(
            Excerpt {
                path: path.display().to_string(),
                line: number(error.place.line),
                column: number(error.place.column),
                width: number(error.place.width),
                text,
            },
        )
    })
}

/// Returns the address of a server, as rules see it: its URL, or the program that serves it.
fn server_address(server: &McpServer) -> String {
    server.url.clone().unwrap_or_else(|| server.command.join(" "))
}

/// Removes servers that the policy does not allow, before one of them is started or asked.
pub(crate) fn drop_refused_servers(policy: &OrgPolicy, servers: &mut Vec<McpServer>, notices: &mut Vec<Diagnostic>) {
    servers.retain(|server| match server_refusal(policy, server) {
        Some(found) => {
            notices.push(found);
            false
        }
        None => true,
    });
}

/// Returns why a server may not be started or asked.
pub(crate) fn server_refusal(policy: &OrgPolicy, server: &McpServer) -> Option<Diagnostic> {
    let address = server_address(server);
    let source = Source::Mcp.as_str();
    let subject = PolicySubject { source, origin: Some(&address), ..PolicySubject::default() };
    let refusal = policy.origin_refusal(&subject)?;
    let message = format!("the server {:?} is not asked: {refusal}", server.name);
    Some(Diagnostic::named("policy_server", Severity::Warning, message).with_help(refusal.help))
}

/// Returns a catalog as a policy sees it, before its skills are known.
pub(crate) fn catalog_subject<'s>(address: &'s str, keys: &'s [String]) -> PolicySubject<'s> {
    PolicySubject { source: Source::Catalog.as_str(), origin: Some(address), keys, ..PolicySubject::default() }
}

/// Returns why a catalog may not be used, before its store is asked for anything. A catalog whose keys a policy does not name
/// is none that the organisation publishes.
#[cfg(feature = "fleet")]
pub(crate) fn catalog_refusal(policy: &OrgPolicy, spec: &skillcue_fleet::CatalogSpec) -> Option<Diagnostic> {
    let (address, keys) = (spec.identity(), spec.keys.iter().map(ToString::to_string).collect::<Vec<_>>());
    let refusal = policy.origin_refusal(&catalog_subject(&address, &keys))?;
    let message = format!("the catalog {:?} is not asked: {refusal}", spec.name);
    Some(Diagnostic::named("policy_catalog", Severity::Warning, message).with_help(refusal.help))
}

/// Returns the names of all configured servers and catalogs, also of those that a policy refuses or that have a mistake.
pub(crate) fn remote_names(servers: &[McpServer], catalogs: &[CatalogSection]) -> HashSet<String> {
    servers.iter().map(|server| &server.name).chain(catalogs.iter().map(|catalog| &catalog.name)).cloned().collect()
}

/// Returns the addresses of servers, by the user's names for them.
pub(crate) fn server_origins(servers: &[McpServer]) -> HashMap<String, SkillOrigin> {
    let origin = |server: &McpServer| SkillOrigin { source: None, address: server_address(server), keys: Vec::new() };
    servers.iter().map(|server| (server.name.clone(), origin(server))).collect()
}

/// Returns the addresses that the user's registry has installed skills and plugins from, by directory. A project's registry
/// comes with a checkout and may claim any address: its skills are the project's, to a policy.
pub(crate) fn installed_origins(
    environment: &Environment,
    user: Option<&RegistryState>,
) -> HashMap<PathBuf, SkillOrigin> {
    let (Some(state), Some(data)) = (user, &environment.data_home) else { return HashMap::new() };
    let registry = Registry::open(RegistryLocation::user(data.join("skillcue")), Disk::default());
    let installed = state.installed.iter().map(|(name, item)| {
        let origin = SkillOrigin { source: Some("installed"), address: item.origin.clone(), keys: Vec::new() };
        (registry.dir_of(item.kind, name), origin)
    });
    installed.collect()
}

/// The most verdicts that are kept.
const MAX_VERDICTS: usize = 100_000;
/// A file that was changed more recently than this may change again without a new time.
const MIN_AGE_NS: i128 = 2_000_000_000;

/// Audits skills for a policy. Verdicts are kept beside the index cache, by the stamps of all files: no program can set the
/// time of a file's last change.
#[derive(Debug)]
pub(crate) struct PolicyAuditor {
    file: Option<PathBuf>,
    known: OnceLock<HashMap<Digest, Option<Severity>>>,
    fresh: Mutex<HashMap<Digest, Option<Severity>>>,
}

impl PolicyAuditor {
    /// Makes one that keeps its verdicts in a directory of caches.
    pub(crate) fn new(cache: Option<&Path>) -> PolicyAuditor {
        let file = cache.map(|cache| cache.join("policy-audits"));
        PolicyAuditor { file, known: OnceLock::new(), fresh: Mutex::default() }
    }

    /// Returns the first line of the file: verdicts of other rules do not count.
    fn head() -> String {
        format!("skillcue-audit {} {}", env!("CARGO_PKG_VERSION"), skillcue_audit::RULES.len())
    }

    fn known(&self) -> &HashMap<Digest, Option<Severity>> {
        self.known.get_or_init(|| {
            let text = self.file.as_deref().and_then(|file| std::fs::read_to_string(file).ok()).unwrap_or_default();
            let Some((head, lines)) = text.split_once('\n') else { return HashMap::new() };
            if head != PolicyAuditor::head() {
                return HashMap::new();
            }
            let verdict = |line: &str| {
                let (digest, word) = line.split_once(' ')?;
                let worst = match word {
                    "high" => Some(Severity::Error),
                    "medium" => Some(Severity::Warning),
                    "low" => Some(Severity::Info),
                    "none" => None,
                    _ => return None,
                };
                Some((digest.parse().ok()?, worst))
            };
            lines.lines().take(MAX_VERDICTS).filter_map(verdict).collect()
        })
    }
}

impl ContentAuditor for PolicyAuditor {
    fn worst_finding(&self, dir: &Path, stamps: &ContentStamps) -> Result<Option<Severity>, String> {
        let digest = stamps.digest();
        if let Some(worst) = self.known().get(&digest) {
            return Ok(*worst);
        }
        let worst = skillcue_audit::audit(dir).findings.iter().map(|found| found.severity).min();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        if i128::try_from(now).is_ok_and(|now| now - stamps.changed_ns() > MIN_AGE_NS) {
            skillcue_base::lock(&self.fresh).insert(digest, worst);
        }
        Ok(worst)
    }

    fn keep(&self) {
        let mut fresh = skillcue_base::lock(&self.fresh);
        let Some(file) = self.file.as_deref().filter(|_| !fresh.is_empty()) else { return };
        let word = |worst: &Option<Severity>| match worst {
            Some(Severity::Error) => "high",
            Some(Severity::Warning) => "medium",
            Some(Severity::Info) => "low",
            None => "none",
        };
        let mut lines: Vec<String> =
            fresh.iter().chain(self.known()).map(|(digest, worst)| format!("{digest} {}\n", word(worst))).collect();
        lines.truncate(MAX_VERDICTS);
        lines.sort();
        let head = format!("{}\n", PolicyAuditor::head());
        // Best effort: without it the next start audits again.
        if skillcue_base::replace_file(file, [head.as_bytes(), lines.concat().as_bytes()]).is_ok() {
            fresh.clear();
        }
    }
}
