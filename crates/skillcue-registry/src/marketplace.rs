//! `.claude-plugin/marketplace.json`: plugins in the same repository or elsewhere.
//!
//! A problem with one plugin is reported for that plugin; the others are read all the same.

use serde_json::{Map, Value};
use skillcue_base::Shown;
use skillcue_catalog::SkillDir;

use crate::InstallOrigin;

/// The path of a marketplace in a repository.
pub(crate) const FILE: &str = ".claude-plugin/marketplace.json";
/// Most plugins of one marketplace.
const MAX_PLUGINS: usize = 10_000;

/// A plugin as a marketplace lists it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct MarketplacePlugin {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) source: PluginSource,
    /// Directories with skills, relative to the plugin's.
    pub(crate) skills: Vec<String>,
    /// Whether the plugin describes itself; if not, the marketplace's list is all there is.
    pub(crate) strict: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum PluginSource {
    /// Relative to the repository's root; empty for the root itself.
    Here(String),
    Elsewhere(InstallOrigin),
}

/// Reads a marketplace: its plugins, and the problems with others. `Err` if it is no marketplace at all.
pub(crate) fn read(text: &str) -> Result<(Vec<MarketplacePlugin>, Vec<String>), String> {
    let value: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let plugins = value.get("plugins").and_then(Value::as_array).ok_or("`plugins` is no list")?;
    let root = value.pointer("/metadata/pluginRoot").and_then(Value::as_str);
    let (mut listed, mut problems) = (Vec::new(), Vec::new());
    for (number, plugin) in plugins.iter().enumerate().take(MAX_PLUGINS) {
        match plugin_of(plugin, root) {
            Ok(plugin) => listed.push(plugin),
            Err(reason) => {
                let name = plugin.get("name").and_then(Value::as_str).map(str::to_owned);
                let name = name.unwrap_or_else(|| format!("number {}", number + 1));
                problems.push(format!("the plugin {} cannot be used: {reason}", Shown(&name)));
            }
        }
    }
    if plugins.len() > MAX_PLUGINS {
        problems.push(format!("it lists more than {MAX_PLUGINS} plugins; the others were not read"));
    }
    Ok((listed, problems))
}

fn plugin_of(plugin: &Value, root: Option<&str>) -> Result<MarketplacePlugin, String> {
    let plugin = plugin.as_object().ok_or("it is no object")?;
    let text = |key: &str| plugin.get(key).and_then(Value::as_str);
    let name = text("name").ok_or("it has no `name`")?;
    if !is_name(name) {
        return Err(format!("{} is no plugin's name", Shown(name)));
    }
    Ok(MarketplacePlugin {
        name: name.to_owned(),
        description: text("description").unwrap_or_default().to_owned(),
        source: source_of(plugin.get("source"), root)?,
        skills: paths(plugin.get("skills"))?,
        strict: plugin.get("strict").and_then(Value::as_bool).unwrap_or(true),
    })
}

/// Returns whether this may be the part before the colon in `plugin:skill`.
pub(crate) fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 100
        && !name.contains([':', '@', '/', '\\', '#'])
        && !name.starts_with(['.', '-'])
        && !name.contains(char::is_control)
}

/// Reads one path or several, none of which leads out.
fn paths(value: Option<&Value>) -> Result<Vec<String>, String> {
    let paths: Vec<&Value> = match value {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(paths)) => paths.iter().collect(),
        Some(path) => vec![path],
    };
    paths.iter().map(|path| inside(path.as_str().ok_or("a path in `skills` is no text")?)).collect()
}

/// Returns a path in the repository, without its `.` and `..`.
fn inside(path: &str) -> Result<String, String> {
    if path.split('/').any(|part| part == "..") {
        return Err(format!("the path {} leads out", Shown(path)));
    }
    SkillDir::normalize("marketplace", path).map_err(|_| format!("the path {} leads out", Shown(path)))
}

fn source_of(source: Option<&Value>, root: Option<&str>) -> Result<PluginSource, String> {
    match source {
        Some(Value::String(path)) => {
            // Only a bare name is meant below the root that the marketplace sets.
            let bare = !path.starts_with('.') && !path.starts_with('/');
            let path = match root {
                Some(root) if bare => format!("{root}/{path}"),
                _ => path.clone(),
            };
            Ok(PluginSource::Here(inside(&path)?))
        }
        Some(Value::Object(source)) => elsewhere(source).map(PluginSource::Elsewhere),
        Some(_) => Err("its `source` is neither a path nor an object".to_owned()),
        None => Err("it has no `source`".to_owned()),
    }
}

fn elsewhere(source: &Map<String, Value>) -> Result<InstallOrigin, String> {
    let text = |key: &str| source.get(key).and_then(Value::as_str);
    let needed = |key: &str| text(key).ok_or_else(|| format!("its source has no `{key}`"));
    let kind = needed("source")?;
    let (repository, subdir) = match kind {
        "github" => (needed("repo")?, text("path")),
        "url" | "git" => (needed("url")?, text("path")),
        "git-subdir" => (needed("url")?, Some(needed("path")?)),
        kind => return Err(format!("it comes from {}, which cannot be installed from here", Shown(kind))),
    };
    // A commit says more than a branch that has moved on.
    let reference = text("sha").or_else(|| text("ref"));
    InstallOrigin::elsewhere(repository, reference, subdir).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn git(url: &str, reference: Option<&str>, subdir: Option<&str>) -> PluginSource {
        let (reference, subdir) = (reference.map(str::to_owned), subdir.map(str::to_owned));
        PluginSource::Elsewhere(InstallOrigin::Git { url: url.to_owned(), reference, subdir })
    }

    #[test]
    fn sources_of_all_kinds() {
        let text = r#"{"name": "m", "owner": {"name": "me"}, "metadata": {"pluginRoot": "./plugins"}, "plugins": [
            {"name": "a", "source": "./", "strict": false, "skills": ["./skills/x", "./skills/y"], "description": "A."},
            {"name": "b", "source": "b"},
            {"name": "c", "source": {"source": "github", "repo": "o/r", "ref": "v1"}},
            {"name": "d", "source": {"source": "url", "url": "https://host/o/r.git", "ref": "v1", "sha": "0123456789012345678901234567890123456789"}},
            {"name": "e", "source": {"source": "git-subdir", "url": "o/r", "path": "./tools/e"}},
            {"name": "f", "source": {"source": "url", "url": "git@host:o/r.git"}, "skills": "./x"}
        ]}"#;
        let (listed, problems) = read(text).unwrap();
        assert_eq!(problems, Vec::<String>::new());
        let places: Vec<_> = listed.iter().map(|plugin| &plugin.source).collect();
        assert_eq!(
            places,
            [
                &PluginSource::Here(String::new()),
                &PluginSource::Here("plugins/b".to_owned()),
                &git("https://github.com/o/r.git", Some("v1"), None),
                &git("https://host/o/r.git", Some("0123456789012345678901234567890123456789"), None),
                &git("https://github.com/o/r.git", None, Some("tools/e")),
                &git("git@host:o/r.git", None, None),
            ]
        );
        assert_eq!(listed[0].skills, ["skills/x", "skills/y"]);
        assert_eq!((listed[0].strict, listed[1].strict), (false, true));
        assert_eq!(listed[0].description, "A.");
        assert_eq!(listed[5].skills, ["x"]);
    }

    #[test]
    fn a_bad_plugin_does_not_stop_the_others() {
        let text = r#"{"plugins": [
            {"name": "out", "source": "./../x"},
            {"name": "abs", "source": "/etc"},
            {"name": "npm", "source": {"source": "npm", "package": "p"}},
            {"name": "local", "source": {"source": "url", "url": "file:///etc/r.git"}},
            {"name": "path", "source": {"source": "url", "url": "/srv/r.git"}},
            {"name": "run", "source": {"source": "url", "url": "ext::sh -c x"}},
            {"name": "up", "source": {"source": "git-subdir", "url": "o/r", "path": "../x"}},
            {"name": "ref", "source": {"source": "github", "repo": "o/r", "ref": "--upload-pack=x"}},
            {"name": "a:b", "source": "./"},
            {"name": "skills", "source": "./", "skills": ["../x"]},
            {"source": "./"}, 7,
            {"name": "good", "source": "./good"}
        ]}"#;
        let (listed, problems) = read(text).unwrap();
        assert_eq!(listed.iter().map(|plugin| plugin.name.as_str()).collect::<Vec<_>>(), ["good"]);
        let expected = [
            "the plugin out cannot be used: the path ./../x leads out",
            "the plugin abs cannot be used: the path /etc leads out",
            "the plugin npm cannot be used: it comes from npm, which cannot be installed from here",
            "the plugin local cannot be used: file:///etc/r.git is on this machine, or no repository",
            "the plugin path cannot be used: /srv/r.git is on this machine, or no repository",
            "the plugin run cannot be used: ext:: runs a program of its own, which no source may",
            "the plugin up cannot be used: ../x is no directory inside of a repository",
            "the plugin ref cannot be used: --upload-pack=x is no branch, tag or commit",
            "the plugin a:b cannot be used: a:b is no plugin's name",
            "the plugin skills cannot be used: the path ../x leads out",
            "the plugin number 11 cannot be used: it has no `name`",
            "the plugin number 12 cannot be used: it is no object",
        ];
        assert_eq!(problems, expected);
    }

    #[test]
    fn files_without_a_plugin_list_are_refused() {
        assert!(read("{").is_err());
        assert_eq!(read("[]").unwrap_err(), "`plugins` is no list");
        assert!(read(r#"{"plugins": {}}"#).is_err());
    }
}
