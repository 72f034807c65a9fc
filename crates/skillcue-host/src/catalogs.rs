//! Configured catalogs on object stores.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use skillcue::Diagnostic;
use skillcue::catalog::{KeptPolicy, OrgPolicy, without_userinfo};
use skillcue::config::{CatalogSection, catalogs_by_name};
use skillcue::format::Severity;
use skillcue::remote::Remote;
#[cfg(feature = "fleet")]
use skillcue_fleet::{CatalogSpec, Catalogs, CatalogsOptions};
use skillcue_mcp::host::McpHost as Servers;

use crate::error::HostError;
use crate::host::Host;

/// The configured catalogs, and why some of them cannot be used.
#[derive(Debug, Default)]
pub(crate) struct CatalogSet {
    #[cfg(feature = "fleet")]
    pub(crate) catalogs: Option<Catalogs>,
    pub(crate) problems: Vec<Diagnostic>,
    /// How many of the problems, the first ones, are about sections that do not count beside others.
    ignored: usize,
    /// The names of the sections that cannot be read as they are.
    #[cfg(feature = "fleet")]
    mistaken: Vec<String>,
}

impl Host {
    /// Returns all that is remote: the configured servers and catalogs.
    pub fn remotes(&self) -> Result<Vec<Arc<dyn Remote>>, HostError> {
        let remotes = self.servers()?.map(Servers::remotes).unwrap_or_default();
        #[cfg(feature = "fleet")]
        let remotes = {
            let catalogs = self.catalogs()?.map(Catalogs::remotes).unwrap_or_default();
            remotes.into_iter().chain(catalogs).collect()
        };
        Ok(remotes)
    }

    /// Returns the configured catalogs that are kept, as long as they have at most `max_skills` together, for a process that
    /// answers once. No store is asked for anything. Empty in a build without catalogs.
    pub fn kept_catalogs(&self, max_skills: usize) -> Result<Vec<Arc<dyn Remote>>, HostError> {
        #[cfg(feature = "fleet")]
        return Ok(self.catalogs()?.map(|catalogs| catalogs.kept_remotes(max_skills)).unwrap_or_default());
        #[cfg(not(feature = "fleet"))]
        {
            let _ = max_skills;
            Ok(Vec::new())
        }
    }

    /// Returns the configured catalogs, if there are any. No store is asked for anything yet.
    #[cfg(feature = "fleet")]
    pub fn catalogs(&self) -> Result<Option<&Catalogs>, HostError> {
        Ok(self.catalog_set()?.catalogs.as_ref())
    }

    /// Returns why some configured catalogs cannot be used.
    pub fn catalog_problems(&self) -> Result<&[Diagnostic], HostError> {
        Ok(&self.catalog_set()?.problems)
    }

    /// Returns why configured catalogs are not used: because of a mistake in their sections, or of the machine's policy.
    pub fn unused_catalogs(&self) -> Result<&[Diagnostic], HostError> {
        let set = self.catalog_set()?;
        Ok(set.problems.get(set.ignored..).unwrap_or_default())
    }

    /// Returns the options of the configured catalogs: where what they have is kept.
    #[cfg(feature = "fleet")]
    pub fn catalogs_options(&self) -> Result<CatalogsOptions, HostError> {
        let settings = self.settings()?;
        Ok(CatalogsOptions {
            cache: settings.cache.as_ref().and_then(|file| file.parent()).map(Path::to_path_buf),
            data: self.environment().data_home.as_ref().map(|data| data.join("skillcue")),
            consent: self.consent(),
        })
    }

    /// Returns the keys of a configured catalog. One without keys has those of the machine's policy, if that names some.
    pub fn catalog_keys(&self, section: &CatalogSection) -> Result<Vec<String>, HostError> {
        if !section.keys.is_empty() {
            return Ok(section.keys.clone());
        }
        let keys = self.settings()?.policy.keys().unwrap_or_default();
        Ok(keys.into_iter().map(str::to_owned).collect())
    }

    /// Returns a configured catalog.
    #[cfg(feature = "fleet")]
    fn catalog_spec(&self, section: &CatalogSection, variables: &[(String, String)]) -> Result<CatalogSpec, String> {
        let keys = self.catalog_keys(section).map_err(|error| error.message().to_owned())?;
        CatalogSpec::from_config(&CatalogSection { keys, ..section.clone() }, variables)
            .map_err(|error| error.to_string())
    }

    /// Returns the configured catalogs that are on, of each name the first. A diagnostic names each of the others.
    fn catalog_sections(&self, problems: &mut Vec<Diagnostic>) -> Result<Vec<&CatalogSection>, HostError> {
        let (counting, others) = catalogs_by_name(&self.settings()?.catalogs);
        let ignored = |section: &&CatalogSection| {
            let message = format!("the catalog {:?} is configured twice, and the first counts", section.name);
            Diagnostic::named("catalog", Severity::Warning, message)
                .with_help("no file changes a catalog that another one has: give one of them another name")
        };
        problems.extend(others.iter().map(ignored));
        Ok(counting.into_iter().filter(|section| section.enabled != Some(false)).collect())
    }

    /// Returns the policies that catalogs carry, as they are on disk. No skill of theirs is read for it, and no store is asked:
    /// a build without catalogs reads them, too. That of a catalog which cannot be used as it is configured now stays in force:
    /// a mistake in a file must not open what it closes.
    pub(crate) fn catalog_policy(&self) -> Result<OrgPolicy, HostError> {
        let unused = self.unused_catalog_policy()?;
        #[cfg(feature = "fleet")]
        let unused = self.catalogs()?.map(Catalogs::policy).unwrap_or_default().and(unused);
        Ok(unused)
    }

    /// Returns the policies that are kept of the configured catalogs which cannot be read as they are: of all, in a build
    /// without catalogs.
    pub(crate) fn unused_catalog_policy(&self) -> Result<OrgPolicy, HostError> {
        #[cfg(feature = "fleet")]
        {
            let mistaken = &self.catalog_set()?.mistaken;
            self.kept_policy(|section| mistaken.contains(&section.name))
        }
        #[cfg(not(feature = "fleet"))]
        self.kept_policy(|_| true)
    }

    /// Returns the policies that are kept of those configured catalogs that are meant, without opening one. Of a catalog that
    /// the machine's policy refuses, none counts.
    fn kept_policy(&self, is_meant: impl Fn(&CatalogSection) -> bool) -> Result<OrgPolicy, HostError> {
        let mut policy = OrgPolicy::default();
        let Some(data) = self.environment().data_home.as_ref().map(|data| data.join("skillcue")) else {
            return Ok(policy);
        };
        let machine = &self.settings()?.policy;
        let allowed = machine.keys();
        for section in self.catalog_sections(&mut Vec::new())?.into_iter().filter(|section| is_meant(section)) {
            let url = section.url.as_deref().unwrap_or_default();
            let configured = self.catalog_keys(section)?;
            let own = KeptPolicy::path(&data, &section.name, url);
            // Under another name or address, only what a configured key has signed.
            let others = if own.exists() { Vec::new() } else { policies_beside(&data, section) };
            let is_mistyped = !configured.iter().all(|key| is_key(key));
            for (path, is_own) in others.iter().map(|path| (path, false)).chain([(&own, true)]) {
                let kept = KeptPolicy::read(path).ok().flatten();
                let mut keys = configured.clone();
                if let Some(kept) = kept.as_ref().filter(|_| is_own && is_mistyped) {
                    // What is no key may be meant to be the one that has signed it: nothing is withdrawn by a mistake.
                    keys = kept.signers().to_vec();
                }
                keys.retain(|key| allowed.as_ref().is_none_or(|allowed| allowed.contains(&key.as_str())));
                let address = kept.as_ref().map_or_else(|| without_userinfo(url), |kept| kept.address().to_owned());
                if machine.origin_refusal(&crate::policy::catalog_subject(&address, &keys)).is_none() {
                    let origin = format!("the catalog {} ({address})", section.name);
                    policy = policy.and(KeptPolicy::in_force(path, &keys, &origin));
                }
            }
        }
        Ok(policy)
    }

    #[cfg(feature = "fleet")]
    fn catalog_set(&self) -> Result<&CatalogSet, HostError> {
        if let Some(set) = self.catalog_cell().get() {
            return Ok(set);
        }
        let (mut specs, mut problems, mut mistaken) = (Vec::new(), Vec::new(), Vec::new());
        let variables = self.environment().text_variables();
        let sections = self.catalog_sections(&mut problems)?;
        let ignored = problems.len();
        for section in sections {
            match self.catalog_spec(section, &variables) {
                Ok(spec) => match crate::policy::catalog_refusal(&self.settings()?.policy, &spec) {
                    Some(found) => problems.push(found),
                    None => specs.push(spec),
                },
                Err(error) => {
                    mistaken.push(section.name.clone());
                    problems.push(problem(&format!("{:?}: {error}", section.name)));
                }
            }
        }
        let catalogs = (!specs.is_empty()).then_some(specs);
        let options = self.catalogs_options()?;
        let catalogs = catalogs.map(|specs| Catalogs::new(specs, &options));
        Ok(self.catalog_cell().get_or_init(|| CatalogSet { catalogs, problems, ignored, mistaken }))
    }

    #[cfg(not(feature = "fleet"))]
    fn catalog_set(&self) -> Result<&CatalogSet, HostError> {
        if let Some(set) = self.catalog_cell().get() {
            return Ok(set);
        }
        let mut problems = Vec::new();
        let sections = self.catalog_sections(&mut problems)?;
        let ignored = problems.len();
        for section in sections {
            let message = format!("{:?}: this program was built without catalogs on object stores", section.name);
            let help = "build one with them: `cargo install --path crates/skillcue-cli --features fleet`";
            problems.push(problem(&message).with_help(help));
        }
        Ok(self.catalog_cell().get_or_init(|| CatalogSet { problems, ignored }))
    }
}

/// Returns the files of the policies that may be meant by a section whose name or address is none: those at its address, or
/// of its name.
fn policies_beside(data: &Path, section: &CatalogSection) -> Vec<PathBuf> {
    let url = section.url.as_deref().unwrap_or_default();
    let (is_name, is_address) = (is_name(&section.name), is_address(url));
    if is_name == is_address {
        return Vec::new();
    }
    KeptPolicy::paths_like(data, is_name.then_some(&section.name), is_address.then_some(url))
}

/// Returns whether a text can be the name of a catalog.
fn is_name(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_');
    (1..=64).contains(&text.len()) && text.bytes().all(is_plain)
}

/// Returns whether a text begins like the address of a store.
fn is_address(text: &str) -> bool {
    const SCHEMES: [&str; 9] = ["s3", "s3a", "gs", "az", "adl", "abfs", "abfss", "https", "file"];
    text.split_once("://").is_some_and(|(scheme, rest)| !rest.is_empty() && SCHEMES.contains(&scheme))
}

/// Returns whether a text is a public key: 32 bytes in base64.
fn is_key(text: &str) -> bool {
    let decoded = text.strip_prefix("ed25519:").and_then(|digits| STANDARD.decode(digits).ok());
    decoded.is_some_and(|bytes| bytes.len() == 32)
}

fn problem(message: &str) -> Diagnostic {
    let help = "correct it below [[catalog]] in skillcue.toml; its skills are missing meanwhile";
    Diagnostic::named("catalog", Severity::Warning, format!("the catalog {message}")).with_help(help)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Environment, HostOverrides};

    const URL: &str = "s3://bucket/acme";

    /// A host whose user has configured the catalog "acme" with this line.
    fn host(home: &Path, line: &str) -> Host {
        host_of(home, &format!("name = \"acme\"\nurl = \"{URL}\"\n{line}"), "")
    }

    /// A host whose user has configured a catalog, on a machine with a policy.
    fn host_of(home: &Path, section: &str, policy: &str) -> Host {
        std::fs::create_dir_all(home.join(".config/skillcue")).unwrap();
        std::fs::write(home.join(".config/skillcue/skillcue.toml"), format!("[[catalog]]\n{section}\n")).unwrap();
        std::fs::write(home.join("policy.toml"), policy).unwrap();
        let variables = vec![("HOME".into(), home.into()), ("SKILLCUE_POLICY".into(), home.join("policy.toml").into())];
        Host::open(Environment::new(None, variables).unwrap(), HostOverrides::default())
    }

    /// A public key of one letter, and the line that configures it.
    fn key(letter: &str) -> (String, String) {
        let key = format!("ed25519:{}=", letter.repeat(43));
        let line = format!("keys = [\"{key}\"]");
        (key, line)
    }

    /// Keeps a policy that the key of the letter `A` has signed, and returns its file.
    fn keep_policy(home: &Path) -> PathBuf {
        let path = KeptPolicy::path(&home.join(".local/share/skillcue"), "acme", URL);
        let kept = KeptPolicy::new("acme", URL, vec![key("A").0], "[forbid]\nskills = ['pdf']\n".to_owned());
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, serde_json::to_vec(&kept).unwrap()).unwrap();
        path
    }

    #[test]
    fn a_build_without_catalogs_applies_a_kept_policy() {
        let home = tempfile::tempdir().unwrap();
        let kept = |line: &str| host(home.path(), line).kept_policy(|_| true).unwrap();
        assert!(kept(&key("A").1).is_empty());
        let path = keep_policy(home.path());
        assert_eq!(kept(&key("A").1).summaries().len(), 1);
        assert!(kept(&key("E").1).is_empty(), "the user has withdrawn the key");
        std::fs::write(&path, "{").unwrap();
        assert!(kept(&key("A").1).summaries()[0].broken.is_some());
    }

    #[test]
    fn a_mistake_in_a_section_does_not_open_what_its_catalog_closes() {
        let home = tempfile::tempdir().unwrap();
        keep_policy(home.path());
        let (key, right) = key("A");
        let closed = |line: &str| {
            let host = host(home.path(), line);
            let policies = host.catalog_policy().unwrap().summaries().len();
            (policies, host.catalog_problems().unwrap().len())
        };
        let is_reported = usize::from(cfg!(feature = "fleet"));
        for mistake in [
            format!("{right}\nbandwidth = \"1X\""),
            format!("keys = [\"{key}\", \"ed25519:zzzz\"]"),
            "keys = [\"ed25519:zzzz\"]".to_owned(),
            format!("keys = [\"{}\"]", key.replace("ed25519", "ed2551")),
            // As long as a key, and of its letters.
            format!("keys = [\"{}\"]", key.replace("A=", "B=")),
            format!("keys = [\"{}\"]", key.replace("A=", "AA")),
        ] {
            let (policies, problems) = closed(&mistake);
            assert_eq!(policies, 1, "{mistake}");
            assert!(problems >= is_reported, "{mistake}");
        }
        assert_eq!(closed(&right).0, 1);
        assert_eq!(closed(&format!("{right}\nenabled = false")).0, 0, "the user has switched it off");
    }

    #[test]
    fn a_name_or_an_address_that_is_none_does_not_open_what_the_catalog_closes() {
        let home = tempfile::tempdir().unwrap();
        keep_policy(home.path());
        let closed = |name: &str, url: &str, keys: &str| {
            let section = format!("name = \"{name}\"\nurl = \"{url}\"\n{keys}");
            host_of(home.path(), &section, "").catalog_policy().unwrap().summaries().len()
        };
        let (right, other) = (key("A").1, key("E").1);
        for (name, url) in
            [("acme", "s33://bucket/acme"), ("acme", "s3:/bucket/acme"), ("acme", "bucket/acme"), ("ac me", URL)]
        {
            assert_eq!(closed(name, url, &right), 1, "{name} {url}");
            assert_eq!(closed(name, url, &other), 0, "{name} {url}: no configured key has signed it");
        }
        assert_eq!(closed("acme", "s3://bucket/other", &right), 0, "another catalog");
        assert_eq!(closed("other", URL, &right), 0, "another catalog");
    }

    /// With a stolen key, all could be closed for ever.
    #[test]
    fn a_catalog_that_the_policy_of_the_machine_refuses_closes_nothing() {
        let home = tempfile::tempdir().unwrap();
        keep_policy(home.path());
        let (stolen, section) = key("A");
        let machine = |keys: &[&str]| format!("[publishers]\nkeys = {keys:?}\n");
        let section = format!("name = \"acme\"\nurl = \"{URL}\"\n{section}");
        let closed = |section: &str, policy: &str| {
            let host = host_of(home.path(), section, policy);
            let policies = |policy: &OrgPolicy| policy.summaries().len();
            (policies(&host.catalog_policy().unwrap()), policies(&host.kept_policy(|_| true).unwrap()))
        };
        let other = key("E").0;
        let mistake = format!("{section}\nbandwidth = \"1X\"");
        let mistyped = section.replace("A=", "AA");
        for section in [&section, &mistake, &mistyped] {
            assert_eq!(closed(section, &machine(&[&other])), (0, 0), "{section}");
            assert_eq!(closed(section, "[sources]\nallow = [\"user\"]\n"), (0, 0), "{section}");
            assert_eq!(closed(section, &machine(&[&other, &stolen])), (1, 1), "{section}");
        }
    }
}
