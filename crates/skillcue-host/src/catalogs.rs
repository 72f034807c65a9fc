//! Configured catalogs on object stores.

use std::sync::Arc;

use skillcue::Diagnostic;
use skillcue::catalog::OrgPolicy;
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

    /// Returns a configured catalog. One without keys has those of the machine's policy, if that names some.
    #[cfg(feature = "fleet")]
    fn catalog_spec(
        &self,
        section: &skillcue::config::CatalogSection,
        variables: &[(String, String)],
    ) -> Result<CatalogSpec, String> {
        let mut section = section.clone();
        if section.keys.is_empty() {
            let settings = self.settings().map_err(|error| error.message().to_owned())?;
            section.keys = settings.policy.keys().unwrap_or_default().into_iter().map(str::to_owned).collect();
        }
        CatalogSpec::from_config(&section, variables).map_err(|error| error.to_string())
    }

    /// Returns the policies that catalogs carry. No skill of theirs is read for it, and no store is asked.
    pub(crate) fn catalog_policy(&self) -> Result<OrgPolicy, HostError> {
        #[cfg(feature = "fleet")]
        return Ok(self.catalogs()?.map(Catalogs::policy).unwrap_or_default());
        #[cfg(not(feature = "fleet"))]
        Ok(OrgPolicy::default())
    }

    #[cfg(feature = "fleet")]
    fn catalog_set(&self) -> Result<&CatalogSet, HostError> {
        if let Some(set) = self.catalog_cell().get() {
            return Ok(set);
        }
        let (mut specs, mut problems) = (Vec::new(), Vec::new());
        let variables = self.environment().text_variables();
        for section in self.settings()?.catalogs.iter().filter(|section| section.enabled != Some(false)) {
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
        let sections = self.settings()?.catalogs.iter().filter(|section| section.enabled != Some(false));
        let missing = |section: &skillcue::config::CatalogSection| {
            problem(&format!("{:?}: this program was built without catalogs on object stores", section.name))
                .with_help("build one with them: `cargo install --path crates/skillcue-cli --features fleet`")
        };
        let problems = sections.map(missing).collect();
        Ok(self.catalog_cell().get_or_init(|| CatalogSet { problems }))
    }
}

fn problem(message: &str) -> Diagnostic {
    let help = "correct it below [[catalog]] in skillcue.toml; its skills are missing meanwhile";
    Diagnostic::named("catalog", Severity::Warning, format!("the catalog {message}")).with_help(help)
}
