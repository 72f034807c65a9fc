//! Configured catalogs on object stores.

use std::sync::Arc;

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

    /// Returns the options of the configured catalogs: where what they have is kept.
    #[cfg(feature = "fleet")]
    pub fn catalogs_options(&self) -> Result<CatalogsOptions, HostError> {
        let settings = self.settings()?;
        Ok(CatalogsOptions {
            cache: settings.cache.as_ref().and_then(|file| file.parent()).map(std::path::Path::to_path_buf),
            data: self.environment().data_home.as_ref().map(|data| data.join("skillcue")),
            consent: self.consent(),
        })
    }

    /// Returns the keys of a configured catalog. One without keys has those of the machine's policy, if that names some.
    fn catalog_keys(&self, section: &CatalogSection) -> Result<Vec<String>, HostError> {
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

    /// Returns the policies that are kept of the configured catalogs which cannot be used: of all, in a build without catalogs.
    pub(crate) fn unused_catalog_policy(&self) -> Result<OrgPolicy, HostError> {
        #[cfg(feature = "fleet")]
        {
            let used = self.catalogs()?.map(Catalogs::remotes).unwrap_or_default();
            self.kept_policy(|section| !used.iter().any(|remote| remote.label() == section.name))
        }
        #[cfg(not(feature = "fleet"))]
        self.kept_policy(|_| true)
    }

    /// Returns the policies that are kept of those configured catalogs that are meant, without opening one.
    fn kept_policy(&self, is_meant: impl Fn(&CatalogSection) -> bool) -> Result<OrgPolicy, HostError> {
        let mut policy = OrgPolicy::default();
        let Some(data) = self.environment().data_home.as_ref().map(|data| data.join("skillcue")) else {
            return Ok(policy);
        };
        for section in self.catalog_sections(&mut Vec::new())?.into_iter().filter(|section| is_meant(section)) {
            let Some(url) = section.url.as_deref() else { continue };
            let origin = format!("the catalog {} ({})", section.name, without_userinfo(url));
            let path = KeptPolicy::path(&data, &section.name, url);
            let mut keys = self.catalog_keys(section)?;
            if !keys.iter().all(|key| is_key(key))
                && let Ok(Some(kept)) = KeptPolicy::read(&path)
            {
                // What is no key may be meant to be the one that has signed it: nothing is withdrawn by a mistake.
                keys = kept.signers().to_vec();
            }
            policy = policy.and(KeptPolicy::in_force(&path, &keys, &origin));
        }
        Ok(policy)
    }

    #[cfg(feature = "fleet")]
    fn catalog_set(&self) -> Result<&CatalogSet, HostError> {
        if let Some(set) = self.catalog_cell().get() {
            return Ok(set);
        }
        let (mut specs, mut problems) = (Vec::new(), Vec::new());
        let variables = self.environment().text_variables();
        for section in self.catalog_sections(&mut problems)? {
            match self.catalog_spec(section, &variables) {
                Ok(spec) => match crate::policy::catalog_refusal(&self.settings()?.policy, &spec) {
                    Some(found) => problems.push(found),
                    None => specs.push(spec),
                },
                Err(error) => problems.push(problem(&format!("{:?}: {error}", section.name))),
            }
        }
        let catalogs = (!specs.is_empty()).then_some(specs);
        let options = self.catalogs_options()?;
        let catalogs = catalogs.map(|specs| Catalogs::new(specs, &options));
        Ok(self.catalog_cell().get_or_init(|| CatalogSet { catalogs, problems }))
    }

    #[cfg(not(feature = "fleet"))]
    fn catalog_set(&self) -> Result<&CatalogSet, HostError> {
        if let Some(set) = self.catalog_cell().get() {
            return Ok(set);
        }
        let mut problems = Vec::new();
        for section in self.catalog_sections(&mut problems)? {
            let message = format!("{:?}: this program was built without catalogs on object stores", section.name);
            let help = "build one with them: `cargo install --path crates/skillcue-cli --features fleet`";
            problems.push(problem(&message).with_help(help));
        }
        Ok(self.catalog_cell().get_or_init(|| CatalogSet { problems }))
    }
}

/// Returns whether a text has the form of a public key.
fn is_key(text: &str) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
    text.strip_prefix("ed25519:").is_some_and(|digits| digits.len() == 44 && digits.bytes().all(is_digit))
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
    fn host(home: &std::path::Path, line: &str) -> Host {
        let config = format!("[[catalog]]\nname = \"acme\"\nurl = \"{URL}\"\n{line}\n");
        std::fs::create_dir_all(home.join(".config/skillcue")).unwrap();
        std::fs::write(home.join(".config/skillcue/skillcue.toml"), config).unwrap();
        let environment = Environment::new(None, vec![("HOME".into(), home.into())]).unwrap();
        Host::open(environment, HostOverrides::default())
    }

    /// A public key of one letter, and the line that configures it.
    fn key(letter: &str) -> (String, String) {
        let key = format!("ed25519:{}=", letter.repeat(43));
        let line = format!("keys = [\"{key}\"]");
        (key, line)
    }

    /// Keeps a policy that the key of the letter `A` has signed, and returns its file.
    fn keep_policy(home: &std::path::Path) -> std::path::PathBuf {
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
        assert!(kept(&key("B").1).is_empty(), "the user has withdrawn the key");
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
        ] {
            let (policies, problems) = closed(&mistake);
            assert_eq!(policies, 1, "{mistake}");
            assert!(problems >= is_reported, "{mistake}");
        }
        assert_eq!(closed(&right).0, 1);
        assert_eq!(closed(&format!("{right}\nenabled = false")).0, 0, "the user has switched it off");
    }
}
