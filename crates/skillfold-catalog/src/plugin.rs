//! Plugins: bundles with a `.claude-plugin/plugin.json` that bring skills along.

use std::path::{Component, Path, PathBuf};

use serde::Deserialize;
use skillfold_format::{Code, Diagnostic, MAX_FILE};

use crate::walk::SKIPPED;
use crate::{Root, Shown, SkillDir, Source};

/// Where a plugin describes itself.
const MANIFEST: &str = ".claude-plugin/plugin.json";
/// How deep below a directory plugins are looked for: `cache/MARKETPLACE/PLUGIN/VERSION`.
const MAX_DEPTH: usize = 5;
/// How many directories are looked at for plugins.
const MAX_DIRS: usize = 10_000;

#[derive(Deserialize)]
struct Plugin {
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

/// The roots of one plugin's skills: its `skills` directory, and what its manifest names beside.
///
/// ```
/// use skillfold_catalog::plugin_roots;
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
pub fn plugin_roots(dir: &Path) -> (Vec<Root>, Vec<Diagnostic>) {
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

fn read(dir: &Path) -> Result<Plugin, String> {
    let text = SkillDir::open("plugin", dir)
        .and_then(|dir| dir.read_to_string(MANIFEST, MAX_FILE))
        .map_err(|error| error.to_string())?;
    let plugin: Plugin = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    if plugin.name.is_empty()
        || plugin.name.contains([':', '@', '/', '\\', '#'])
        || plugin.name.contains(char::is_control)
    {
        return Err(format!("{:?} is no plugin's name", plugin.name));
    }
    Ok(plugin)
}

fn roots(dir: &Path, plugin: Plugin) -> (Vec<Root>, Vec<Diagnostic>) {
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
        .with_help("a plugin's skills stand below its own directory")
        .at(dir.join(MANIFEST))
    });
    let refused = refused.collect();
    paths.sort();
    paths.dedup();
    let root = |path| Root { plugin: Some(plugin.name.as_str().into()), ..Root::new(path, Source::Plugin) };
    (paths.into_iter().map(root).collect(), refused)
}

/// The plugins that stand somewhere below a directory, in the order of their paths.
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
            let skipped = SKIPPED.iter().any(|name| entry.file_name() == *name);
            if !skipped && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                next.push((entry.path(), depth + 1));
            }
        }
    }
    found.sort();
    found
}
