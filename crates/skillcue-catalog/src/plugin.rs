//! Plugins: bundles with a `.claude-plugin/plugin.json` that contain skills.

use std::path::{Component, Path, PathBuf};

use serde::Deserialize;
use skillcue_format::{Code, Diagnostic, MAX_FILE};

use crate::walk::SKIPPED_DIRECTORIES;
use crate::{SkillDir, SkillRoot, Source};
use skillcue_base::{Shown, is_hidden};

/// The path of a plugin's manifest.
const MANIFEST: &str = ".claude-plugin/plugin.json";
/// How deep below a directory plugins are searched for: `cache/MARKETPLACE/PLUGIN/VERSION`.
const MAX_DEPTH: usize = 5;
/// How many directories are searched for plugins.
const MAX_DIRS: usize = 10_000;

/// The fields of a `plugin.json` that matter here.
#[derive(Deserialize)]
struct PluginManifest {
    name: String,
    #[serde(default)]
    skills: Option<Paths>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Paths {
    One(String),
    Many(Vec<String>),
}

/// Returns the roots of one plugin's skills: its `skills` directory, and the directories that its manifest names.
///
/// ```
/// use skillcue_catalog::plugin_roots;
///
/// let dir = tempfile::tempdir()?;
/// std::fs::create_dir(dir.path().join(".claude-plugin"))?;
/// std::fs::write(dir.path().join(".claude-plugin/plugin.json"), r#"{"name": "office"}"#)?;
/// let (roots, diagnostics) = plugin_roots(dir.path());
/// assert_eq!(roots[0].path, dir.path().join("skills"));
/// assert_eq!(roots[0].plugin.as_deref(), Some("office"));
/// assert!(diagnostics.is_empty());
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn plugin_roots(dir: &Path) -> (Vec<SkillRoot>, Vec<Diagnostic>) {
    match read(dir) {
        Ok(plugin) => roots(dir, plugin),
        Err(reason) => {
            let found = Diagnostic::new(Code::InvalidPlugin, format!("the plugin cannot be used: {reason}"))
                .with_help("a plugin needs a JSON object with a `name`")
                .at(dir.join(MANIFEST));
            (Vec::new(), vec![found])
        }
    }
}

fn read(dir: &Path) -> Result<PluginManifest, String> {
    let text = SkillDir::open("plugin", dir)
        .and_then(|dir| dir.read_to_string(MANIFEST, MAX_FILE))
        .map_err(|error| error.to_string())?;
    let plugin: PluginManifest = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    if plugin.name.is_empty() || plugin.name.contains([':', '@', '/', '\\', '#']) || plugin.name.contains(is_hidden) {
        return Err(format!("{:?} is not a valid plugin name", plugin.name));
    }
    Ok(plugin)
}

fn roots(dir: &Path, plugin: PluginManifest) -> (Vec<SkillRoot>, Vec<Diagnostic>) {
    let more = match plugin.skills {
        None => Vec::new(),
        Some(Paths::One(path)) => vec![path],
        Some(Paths::Many(paths)) => paths,
    };
    let mut paths = vec![dir.join("skills")];
    // A manifest names directories of its own plugin, and no others.
    let inside = |path: &&String| {
        Path::new(path).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
    };
    paths.extend(more.iter().filter(inside).map(|path| dir.join(path.trim_start_matches("./"))));
    let refused = more.iter().filter(|path| !inside(path)).map(|path| {
        Diagnostic::new(
            Code::InvalidPlugin,
            format!("the plugin names a directory that is not its own: {}", Shown(path)),
        )
        .with_help("move the skills below the plugin's own directory")
        .at(dir.join(MANIFEST))
    });
    let refused = refused.collect();
    paths.sort();
    paths.dedup();
    let root = |path| SkillRoot { plugin: Some(plugin.name.as_str().into()), ..SkillRoot::new(path, Source::Plugin) };
    (paths.into_iter().map(root).collect(), refused)
}

/// Returns the directories of the plugins below a directory, in the order of their paths.
pub fn plugins_below(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut next = vec![(dir.to_path_buf(), 0)];
    let mut seen = 0;
    while let Some((dir, depth)) = next.pop() {
        seen += 1;
        if dir.join(MANIFEST).is_file() {
            found.push(dir);
            continue;
        }
        if depth == MAX_DEPTH || seen > MAX_DIRS {
            continue;
        }
        let Ok(entries) = dir.read_dir() else { continue };
        for entry in entries.flatten() {
            let skipped = SKIPPED_DIRECTORIES.iter().any(|name| entry.file_name() == *name);
            if !skipped && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                next.push((entry.path(), depth + 1));
            }
        }
    }
    found.sort();
    found
}

/// Claude Code's record of its plugins: `installed_plugins.json`.
#[derive(Deserialize)]
struct InstalledPlugins {
    plugins: std::collections::BTreeMap<String, Installations>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Installations {
    Many(Vec<Installation>),
    One(Installation),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Installation {
    install_path: PathBuf,
    #[serde(default)]
    project_path: Option<PathBuf>,
}

/// Returns the plugins that are installed in a directory as Claude Code keeps it (`~/.claude/plugins`), for the project
/// `here`: by its `installed_plugins.json`; without one, the newest version of each in its cache. Clones of whole
/// marketplaces are not plugins.
///
/// ```
/// let dir = tempfile::tempdir()?;
/// for version in ["1.9.0", "1.10.0"] {
///     let plugin = dir.path().join("cache/acme/office").join(version).join(".claude-plugin");
///     std::fs::create_dir_all(&plugin)?;
///     std::fs::write(plugin.join("plugin.json"), r#"{"name": "office"}"#)?;
/// }
/// let found = skillcue_catalog::installed_plugins(dir.path(), None);
/// assert_eq!(found, [dir.path().join("cache/acme/office/1.10.0")]);
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn installed_plugins(dir: &Path, here: Option<&Path>) -> Vec<PathBuf> {
    let text = SkillDir::open("plugins", dir).and_then(|dir| dir.read_to_string("installed_plugins.json", MAX_FILE));
    if let Some(known) = text.ok().and_then(|text| serde_json::from_str::<InstalledPlugins>(&text).ok()) {
        return known.plugins.into_values().filter_map(|of_one| installation(of_one, here)).collect();
    }
    let mut newest: Vec<PathBuf> = Vec::new();
    for plugin in plugins_below(dir) {
        if plugin.starts_with(dir.join("marketplaces")) {
            continue;
        }
        // `cache/MARKETPLACE/PLUGIN/VERSION`
        let versioned = plugin.strip_prefix(dir.join("cache")).is_ok_and(|below| below.components().count() == 3);
        match newest.iter_mut().find(|other| versioned && other.parent() == plugin.parent()) {
            Some(other) if version(&plugin) > version(other) => *other = plugin,
            Some(_) => {}
            None => newest.push(plugin),
        }
    }
    newest
}

/// Returns the installation of a plugin that applies to the project `here`: the project's before the user's.
fn installation(of_one: Installations, here: Option<&Path>) -> Option<PathBuf> {
    let all = match of_one {
        Installations::Many(all) => all,
        Installations::One(one) => vec![one],
    };
    let is_for = |one: &Installation| {
        one.project_path.as_deref().map(|project| here.is_some_and(|here| here.starts_with(project)))
    };
    let own = all.iter().find(|one| is_for(one) == Some(true));
    let one = own.or_else(|| all.iter().find(|one| is_for(one).is_none()))?;
    one.install_path.join(MANIFEST).is_file().then(|| one.install_path.clone())
}

/// Returns the numbers of a version, so that 1.10 is newer than 1.9.
fn version(plugin: &Path) -> Vec<u64> {
    let name = plugin.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    name.split(|c: char| !c.is_ascii_digit()).filter_map(|number| number.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn installed_plugins_are_those_of_the_record_and_no_clones_of_marketplaces() {
        let dir = tempfile::tempdir().unwrap();
        let plugin = |below: &str| {
            let plugin = dir.path().join(below);
            std::fs::create_dir_all(plugin.join(".claude-plugin")).unwrap();
            std::fs::write(plugin.join(MANIFEST), r#"{"name": "x"}"#).unwrap();
            plugin
        };
        plugin("marketplaces/mp/plugins/only-offered");
        let (old, new) = (plugin("cache/mp/fmt/1.0.0"), plugin("cache/mp/fmt/1.1.0"));
        assert_eq!(installed_plugins(dir.path(), None), std::slice::from_ref(&new));
        let text = serde_json::json!({"version": 2, "plugins": {
            "fmt@mp": [
                {"scope": "project", "projectPath": "/work/shop", "installPath": old},
                {"scope": "user", "installPath": new},
            ],
            "gone@mp": [{"scope": "user", "installPath": "/nowhere"}],
        }});
        std::fs::write(dir.path().join("installed_plugins.json"), text.to_string()).unwrap();
        assert_eq!(installed_plugins(dir.path(), Some(Path::new("/work/other"))), [new]);
        assert_eq!(installed_plugins(dir.path(), Some(Path::new("/work/shop/app"))), [old]);
    }
}
