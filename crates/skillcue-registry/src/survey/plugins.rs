//! The plugins of a source: those that describe themselves, and those that a marketplace names.

use std::path::Path;

use serde_json::Value;
use skillcue_base::Shown;
use skillcue_catalog::{SkillDir, plugin_roots};
use skillcue_format::{Code, Diagnostic, MAX_FILE};

use super::{FoundPlugin, MAX_LEVELS, PluginLocation, Search, shown};
use crate::marketplace::{self, MarketplacePlugin, PluginSource};

/// The file in which a plugin describes itself.
const PLUGIN: &str = ".claude-plugin/plugin.json";

impl Search {
    /// Adds the plugin in the directory `at`, if it describes itself.
    pub(super) fn plugin(&mut self, at: &Path) {
        let Some(at) = self.inside(at) else { return };
        if self.real.join(&at).join(PLUGIN).symlink_metadata().is_err() {
            return;
        }
        let (roots, problems) = plugin_roots(&self.real.join(&at));
        let problems: Vec<_> = problems.into_iter().map(|problem| self.relative(problem)).collect();
        self.problems.extend(problems);
        let Some(name) = roots.first().and_then(|root| root.plugin.clone()) else { return };
        let mut skills = Vec::new();
        for root in roots {
            if let Ok(root) = root.path.strip_prefix(&self.real).map(Path::to_path_buf) {
                skills.extend(self.named(&root));
            }
        }
        let description = self.description(&at);
        self.add(name.into(), description, PluginLocation::Here(shown(at)), skills);
    }

    /// Finds the skill in a directory that a plugin names, or the skills below it.
    fn named(&mut self, at: &Path) -> Vec<usize> {
        match self.skill(at) {
            Some(skill) => vec![skill],
            None => self.collection(at, MAX_LEVELS),
        }
    }

    fn description(&self, at: &Path) -> String {
        let text = SkillDir::open("plugin", &self.real.join(at)).and_then(|dir| dir.read_to_string(PLUGIN, MAX_FILE));
        let value: Option<Value> = text.ok().and_then(|text| serde_json::from_str(&text).ok());
        let description = value.as_ref().and_then(|value| value.get("description")).and_then(Value::as_str);
        description.unwrap_or_default().to_owned()
    }

    pub(super) fn marketplace(&mut self, base: &Path) {
        let Some(base) = self.inside(base) else { return };
        let file = base.join(marketplace::FILE);
        if self.real.join(&file).symlink_metadata().is_err() {
            return;
        }
        let help = "a marketplace is an object with a list `plugins`, each with a `name` and a `source`";
        let problem = |message| Diagnostic::new(Code::InvalidPlugin, message).with_help(help).at(file.clone());
        let text = SkillDir::open("marketplace", &self.real.join(&base))
            .and_then(|dir| dir.read_to_string(marketplace::FILE, MAX_FILE));
        let read = text.map_err(|error| error.to_string()).and_then(|text| marketplace::read(&text));
        match read {
            Err(reason) => self.problems.push(problem(format!("the marketplace cannot be read: {reason}"))),
            Ok((listed, problems)) => {
                self.problems.extend(problems.into_iter().map(&problem));
                for plugin in listed {
                    if let Err(reason) = self.listed(&base, plugin) {
                        self.problems.push(problem(reason));
                    }
                }
            }
        }
    }

    fn listed(&mut self, base: &Path, plugin: MarketplacePlugin) -> Result<(), String> {
        let MarketplacePlugin { name, description, source, skills, strict } = plugin;
        let at = match source {
            PluginSource::Elsewhere(origin) => {
                self.add(name, description, PluginLocation::Elsewhere(origin), Vec::new());
                return Ok(());
            }
            PluginSource::Here(path) => self.inside(&base.join(&path)).ok_or_else(|| {
                format!("the plugin {} cannot be used: there is no directory {}", Shown(&name), Shown(&path))
            })?,
        };
        let describes_itself = self.real.join(&at).join(PLUGIN).is_file();
        let mut found = Vec::new();
        for path in &skills {
            let here = self.named(&at.join(path));
            if here.is_empty() {
                let message = format!("the plugin {} names {}, where no skill is", Shown(&name), Shown(path));
                self.problems.push(Diagnostic::new(Code::InvalidPlugin, message).at(base.join(marketplace::FILE)));
            }
            found.extend(here);
        }
        // Without a list, or beside a list that only adds, the plugin's own skills count.
        if skills.is_empty() || (strict && describes_itself) {
            found.extend(self.collection(&at.join("skills"), MAX_LEVELS));
            if describes_itself {
                let (roots, _) = plugin_roots(&self.real.join(&at));
                for root in roots {
                    if let Ok(root) = root.path.strip_prefix(&self.real).map(Path::to_path_buf) {
                        found.extend(self.named(&root));
                    }
                }
            }
        }
        let description = if description.is_empty() { self.description(&at) } else { description };
        self.add(name, description, PluginLocation::Here(shown(at)), found);
        Ok(())
    }

    /// Adds a plugin, once.
    fn add(&mut self, name: String, description: String, at: PluginLocation, mut skills: Vec<usize>) {
        if let Some(known) = self.plugins.iter_mut().find(|known| known.name == name && known.at == at) {
            // A marketplace often says more than the plugin itself.
            if known.description.is_empty() {
                known.description = description;
            }
            return;
        }
        skills.sort_unstable();
        skills.dedup();
        let skills = skills.into_iter().map(|skill| self.skills[skill].clone()).collect();
        let has_manifest = match &at {
            PluginLocation::Here(path) => self.real.join(path).join(PLUGIN).is_file(),
            PluginLocation::Elsewhere(_) => false,
        };
        self.plugins.push(FoundPlugin { name, description, at, has_manifest, skills });
    }
}
