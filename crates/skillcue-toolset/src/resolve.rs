//! Resolves specifiers to files: below the skill's directory, its `node_modules`, or the user's packages; nowhere else.
//!
//! A module's id is its path below the skill's directory, or `packages:` and its path below the user's packages. Every
//! file is opened through a [`SkillDir`], so a link that leads out is refused there, whatever this module decides.

mod package;
mod path;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use skillcue_base::ErrorInfo as _;
use skillcue_catalog::{FileError, FileStamp, SkillDir};
use twox_hash::XxHash3_128;

use crate::MAX_MODULE_BYTES;
use crate::message::{ModuleKind, ModuleRefusal, ModuleSource};
use path::{is_below, parent, split_package};
pub(crate) use path::{join, package_root};

/// The prefix of the ids of modules from the user's packages.
pub(crate) const PACKAGES_PREFIX: &str = "packages:";
/// The extensions that a specifier may omit, in the order in which they are tried.
const EXTENSIONS: [&str; 5] = ["ts", "mts", "js", "mjs", "json"];
/// The modules that node has and the engine does not.
const BUILTINS: &[&str] = &[
    "assert",
    "async_hooks",
    "buffer",
    "child_process",
    "cluster",
    "console",
    "constants",
    "crypto",
    "dgram",
    "diagnostics_channel",
    "dns",
    "domain",
    "events",
    "fs",
    "http",
    "http2",
    "https",
    "inspector",
    "module",
    "net",
    "os",
    "path",
    "perf_hooks",
    "process",
    "punycode",
    "querystring",
    "readline",
    "repl",
    "stream",
    "string_decoder",
    "sys",
    "timers",
    "tls",
    "trace_events",
    "tty",
    "url",
    "util",
    "v8",
    "vm",
    "wasi",
    "worker_threads",
    "zlib",
];
/// The help for imports that only node could load.
const ENGINE_HELP: &str = "toolsets run in an embedded engine, which has ES modules and none of node's; use a package of \
                           ES modules, or do it in a script of the skill";

/// The most specifiers whose meaning is noted.
const MAX_RESOLVED: usize = 20_000;

/// Finds and reads modules of one skill.
pub(crate) struct Resolver {
    skill: SkillDir,
    packages: Option<SkillDir>,
    /// Whether the user has a folder for packages, though it may not be there yet.
    has_packages: bool,
    manifests: HashMap<String, Option<Arc<Value>>>,
    pub(crate) dependencies: ModuleDependencies,
}

/// The files on which resolving came to depend.
#[derive(Debug, Default, Clone)]
pub(crate) struct ModuleDependencies {
    /// The files that were read: id, stamp, and a digest of the text.
    pub(crate) read: BTreeMap<String, (FileStamp, u128)>,
    /// The files that were looked for and not found. Should one turn up, resolving may end elsewhere.
    pub(crate) absent: BTreeSet<String>,
    /// The modules that specifiers meant: importer, specifier, id.
    pub(crate) resolved: BTreeMap<(String, String), String>,
}

impl ModuleDependencies {
    fn add_read(&mut self, id: &str, stamp: FileStamp, text: &str) {
        self.read.insert(id.to_owned(), (stamp, XxHash3_128::oneshot(text.as_bytes())));
    }
}

type ResolveResult<T> = Result<T, ModuleRefusal>;

fn refused(message: impl Into<String>, help: &str) -> ModuleRefusal {
    ModuleRefusal { code: "module_refused".into(), message: message.into(), help: Some(help.to_owned()) }
}

fn missing(message: impl Into<String>, help: Option<String>) -> ModuleRefusal {
    ModuleRefusal { code: "module_not_found".into(), message: message.into(), help }
}

impl Resolver {
    pub(crate) fn new(name: &str, dir: &Path, packages: Option<&Path>) -> Result<Resolver, FileError> {
        Ok(Resolver {
            skill: SkillDir::open(name, dir)?,
            packages: packages.and_then(|dir| SkillDir::open("packages", dir).ok()),
            has_packages: packages.is_some(),
            manifests: HashMap::new(),
            dependencies: ModuleDependencies::default(),
        })
    }

    /// Returns the id of the module that `specifier` means in `from`; an empty `from` is the manifest.
    pub(crate) fn resolve(&mut self, from: &str, specifier: &str) -> ResolveResult<String> {
        let id = self.find(from, specifier)?;
        if self.dependencies.resolved.len() < MAX_RESOLVED {
            self.dependencies.resolved.insert((from.to_owned(), specifier.to_owned()), id.clone());
        }
        Ok(id)
    }

    /// Returns the source of a module that was resolved.
    pub(crate) fn source(&mut self, id: &str) -> ResolveResult<ModuleSource> {
        let (dir, prefix, path) = self.directory(id)?;
        let read = dir.read_stamped(path, MAX_MODULE_BYTES as u64).map_err(|error| file_refusal(&error));
        let (text, stamp) = match read {
            Ok(read) => read,
            Err(refused) => {
                // There is something that is no module; a later change of it must be noticed.
                self.dependencies.absent.insert(id.to_owned());
                return Err(refused);
            }
        };
        let (in_package, name) = (package_root(path).is_some(), path.to_owned());
        let is_packages = !prefix.is_empty();
        self.dependencies.add_read(id, stamp, &text);
        let kind = kind_of(&name).unwrap_or(ModuleKind::Js);
        if kind == ModuleKind::Js
            && (in_package || is_packages)
            && name.rsplit('.').next() != Some("mjs")
            && !self.is_es_module(id, &text)
        {
            let message = format!("`{id}` is a CommonJS module; only ES modules can be loaded");
            return Err(refused(message, ENGINE_HELP));
        }
        let text = text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text);
        Ok(ModuleSource { kind, text })
    }

    /// Returns the directory that a module is in, the prefix of its id, and its path there.
    fn directory<'i>(&self, id: &'i str) -> ResolveResult<(&SkillDir, &'static str, &'i str)> {
        match id.strip_prefix(PACKAGES_PREFIX) {
            Some(path) => match &self.packages {
                Some(packages) => Ok((packages, PACKAGES_PREFIX, path)),
                None => Err(missing(format!("`{id}` is not there"), None)),
            },
            None => Ok((&self.skill, "", id)),
        }
    }

    fn find(&mut self, from: &str, specifier: &str) -> ResolveResult<String> {
        if specifier.is_empty() || specifier.contains('\0') {
            return Err(refused("the specifier is empty", "name a module"));
        }
        if from.is_empty() {
            let path = specifier.strip_prefix("./").unwrap_or(specifier);
            let path = SkillDir::normalize(self.skill.skill(), path).map_err(|error| file_refusal(&error))?;
            return self.probe("", &path, specifier);
        }
        let (_, prefix, path) = self.directory(from)?;
        if matches!(specifier, "." | "..") || specifier.starts_with("./") || specifier.starts_with("../") {
            let path = path.to_owned();
            return self.relative(prefix, &path, specifier);
        }
        if specifier.starts_with('/') || specifier.starts_with('\\') {
            return Err(refused(
                format!("`{specifier}` is an absolute path; modules come from below the skill's directory"),
                "import it by a relative path",
            ));
        }
        if let Some(builtin) = specifier.strip_prefix("node:") {
            return Err(refused(format!("`node:{builtin}` is a module of node"), ENGINE_HELP));
        }
        if let Some((scheme, _)) = specifier.split_once(':')
            && !scheme.contains('/')
        {
            return Err(refused(
                format!("`{}` is a `{scheme}:` URL; modules are files of the skill", crate::cut(specifier, 120)),
                "put the module into the skill's directory",
            ));
        }
        if specifier.starts_with('#') {
            let path = path.to_owned();
            return self.internal(prefix, &path, specifier);
        }
        let first = specifier.split('/').next().unwrap_or(specifier);
        if BUILTINS.contains(&first) {
            return Err(refused(format!("`{specifier}` is a module of node"), ENGINE_HELP));
        }
        let path = path.to_owned();
        self.bare(prefix, &path, specifier)
    }

    fn relative(&mut self, prefix: &'static str, from: &str, specifier: &str) -> ResolveResult<String> {
        let joined = join(parent(from), specifier).ok_or_else(|| {
            refused(
                format!("`{specifier}` leads out of the skill's directory"),
                "modules come from below the skill's directory; put it there",
            )
        })?;
        if let Some(root) = package_root(from)
            && !is_below(&joined, root)
        {
            return Err(refused(
                format!("`{specifier}` leads out of the package `{root}`"),
                "a package's own imports stay inside of it",
            ));
        }
        self.probe(prefix, &joined, specifier)
    }

    fn bare(&mut self, prefix: &'static str, from: &str, specifier: &str) -> ResolveResult<String> {
        let (name, subpath) = split_package(specifier);
        if !package::is_name(name) {
            return Err(refused(format!("`{specifier}` is no name of a package"), "use a relative path or a package"));
        }
        let mut dir = Some(parent(from));
        while let Some(at) = dir {
            let root = if at.is_empty() { format!("node_modules/{name}") } else { format!("{at}/node_modules/{name}") };
            if !at.ends_with("node_modules")
                && let Some(found) = self.package(prefix, &root, subpath, specifier)?
            {
                return Ok(found);
            }
            dir = (!at.is_empty()).then(|| parent(at));
        }
        if prefix.is_empty() && self.has_packages {
            let root = format!("node_modules/{name}");
            if self.packages.is_none() {
                // `toolset setup` makes the folder. That the package was looked for in vain must be noted all the same,
                // or the result would still count as valid once the package is there.
                self.dependencies.absent.insert(format!("{PACKAGES_PREFIX}{root}/package.json"));
            } else if let Some(found) = self.package(PACKAGES_PREFIX, &root, subpath, specifier)? {
                return Ok(found);
            }
        }
        let help = if name == "zod" {
            "install it among your packages, or in the skill's directory".to_owned()
        } else {
            format!("install it with `npm install {name}` in the skill's directory")
        };
        Err(missing(
            format!("the package `{name}` is neither in the skill's `node_modules` nor among your packages"),
            Some(help),
        ))
    }

    /// Returns the module at a subpath of the package at `root`, if there is such a package.
    fn package(
        &mut self,
        prefix: &'static str,
        root: &str,
        subpath: &str,
        specifier: &str,
    ) -> ResolveResult<Option<String>> {
        let Some(manifest) = self.manifest(prefix, root)? else { return Ok(None) };
        // Installers link packages to where they keep them; a package's own dependencies are found from there.
        let root = self.real_path(prefix, root);
        if let Some(exports) = manifest.get("exports").filter(|exports| !exports.is_null()) {
            let key = if subpath.is_empty() { ".".to_owned() } else { format!("./{subpath}") };
            let Some(target) = package::exported(exports, &key) else {
                return Err(missing(
                    format!("the package at `{root}` exports no `{key}` as an ES module"),
                    Some(ENGINE_HELP.into()),
                ));
            };
            return self.target(prefix, &root, &target, specifier).map(Some);
        }
        let target = if subpath.is_empty() {
            ["module", "main"].iter().find_map(|key| manifest.get(*key)?.as_str()).unwrap_or("index.js")
        } else {
            subpath
        };
        self.target(prefix, &root, target, specifier).map(Some)
    }

    fn target(&mut self, prefix: &'static str, root: &str, target: &str, specifier: &str) -> ResolveResult<String> {
        let path = join(root, target).filter(|path| is_below(path, root)).ok_or_else(|| {
            refused(format!("`{target}` leads out of the package `{root}`"), "the package's manifest is wrong")
        })?;
        self.probe(prefix, &path, specifier)
    }

    fn internal(&mut self, prefix: &'static str, from: &str, specifier: &str) -> ResolveResult<String> {
        let root = package_root(from).unwrap_or("").to_owned();
        let target =
            self.manifest(prefix, &root)?.and_then(|manifest| package::exported(manifest.get("imports")?, specifier));
        match target {
            Some(target) if target.starts_with("./") => self.target(prefix, &root, &target, specifier),
            Some(target) => self.bare(prefix, from, &target),
            None => Err(missing(format!("`{specifier}` is not among the `imports` of package.json"), None)),
        }
    }

    fn manifest(&mut self, prefix: &'static str, root: &str) -> ResolveResult<Option<Arc<Value>>> {
        let path = if root.is_empty() { "package.json".to_owned() } else { format!("{root}/package.json") };
        let id = format!("{prefix}{path}");
        if let Some(known) = self.manifests.get(&id) {
            return Ok(known.clone());
        }
        let read = self.directory(&id)?.0.read_stamped(&path, MAX_MODULE_BYTES as u64);
        let manifest = match read {
            Ok((text, stamp)) => {
                self.dependencies.add_read(&id, stamp, &text);
                let value = serde_json::from_str(&text).map_err(|error| {
                    refused(format!("`{id}` is not JSON: {error}"), "mend or reinstall the package")
                })?;
                Some(Arc::new(value))
            }
            Err(FileError::NotFound { .. } | FileError::NotAFile { .. }) => {
                self.dependencies.absent.insert(id.clone());
                None
            }
            Err(error) => {
                // There is something that is no manifest; a later change of it must be noticed.
                self.dependencies.absent.insert(id);
                return Err(file_refusal(&error));
            }
        };
        self.manifests.insert(id, manifest.clone());
        Ok(manifest)
    }

    /// Returns the real path of a package, if its directory is a link to elsewhere below the same root.
    fn real_path(&self, prefix: &'static str, root: &str) -> String {
        let same = || root.to_owned();
        let Ok((dir, _, _)) = self.directory(prefix) else { return same() };
        let (Ok(base), Ok(real)) = (dir.path().canonicalize(), dir.path().join(root).canonicalize()) else {
            return same();
        };
        real.strip_prefix(base).ok().and_then(Path::to_str).map_or_else(same, str::to_owned)
    }

    /// Returns whether a file of a package is an ES module.
    fn is_es_module(&mut self, id: &str, text: &str) -> bool {
        let Ok((_, prefix, path)) = self.directory(id) else { return false };
        let mut dir = parent(path).to_owned();
        loop {
            if let Ok(Some(manifest)) = self.manifest(prefix, &dir) {
                if manifest.get("type").and_then(Value::as_str) == Some("module") {
                    return true;
                }
                break;
            }
            if dir.is_empty() || dir.ends_with("node_modules") {
                break;
            }
            dir = parent(&dir).to_owned();
        }
        // Bundlers' `module` builds do not declare it; their text shows it.
        text.lines().any(|line| {
            let line = line.trim_start();
            ["import ", "import{", "import\"", "import'", "export ", "export{", "export*"]
                .iter()
                .any(|word| line.starts_with(word))
        }) || text.contains(";export{")
            || text.contains("export default")
    }

    /// Returns the file at a path, with one of the extensions that may be omitted.
    fn probe(&mut self, prefix: &'static str, path: &str, specifier: &str) -> ResolveResult<String> {
        let mut candidates = Vec::new();
        let extension =
            path.rsplit('/').next().and_then(|name| name.rsplit_once('.')).map_or("", |(_, extension)| extension);
        match extension {
            "tsx" | "jsx" => {
                return Err(refused(
                    format!("`{specifier}` is JSX, which is not supported in toolsets"),
                    "use .ts or .js",
                ));
            }
            "cjs" | "cts" => {
                return Err(refused(
                    format!("`{specifier}` is a CommonJS module; only ES modules can be loaded"),
                    ENGINE_HELP,
                ));
            }
            _ => {}
        }
        if EXTENSIONS.contains(&extension) {
            candidates.push(path.to_owned());
            if let Some(stem) = path.strip_suffix(".js") {
                candidates.push(format!("{stem}.ts"));
            } else if let Some(stem) = path.strip_suffix(".mjs") {
                candidates.push(format!("{stem}.mts"));
            }
        }
        if !path.is_empty() {
            candidates.extend(EXTENSIONS.iter().map(|extension| format!("{path}.{extension}")));
        }
        let slash = if path.is_empty() { "" } else { "/" };
        candidates.extend(EXTENSIONS.iter().map(|extension| format!("{path}{slash}index.{extension}")));
        for candidate in candidates {
            let id = format!("{prefix}{candidate}");
            if self.dependencies.read.contains_key(&id) {
                return Ok(id);
            }
            if self.dependencies.absent.contains(&id) {
                continue;
            }
            match self.directory(&id)?.0.open_file(&candidate) {
                Ok(_) => return Ok(id),
                Err(FileError::NotFound { .. } | FileError::NotAFile { .. }) => {
                    self.dependencies.absent.insert(id);
                }
                Err(error) => {
                    self.dependencies.absent.insert(id);
                    return Err(file_refusal(&error));
                }
            }
        }
        let whole = if path.is_empty() { "the directory" } else { path };
        Err(missing(
            format!("there is no module `{specifier}`: neither {whole} nor it with .ts, .mts, .js, .mjs or .json"),
            None,
        ))
    }
}

/// Returns the language of a module, by its name.
pub(crate) fn kind_of(path: &str) -> Option<ModuleKind> {
    match path.rsplit_once('.')?.1 {
        "ts" | "mts" => Some(ModuleKind::Ts),
        "js" | "mjs" => Some(ModuleKind::Js),
        "json" => Some(ModuleKind::Json),
        _ => None,
    }
}

/// Returns the refusal for a file that cannot be read.
fn file_refusal(error: &FileError) -> ModuleRefusal {
    match error {
        FileError::NotFound { .. } | FileError::NotAFile { .. } => missing(error.to_string(), None),
        _ => refused(error.to_string(), &error.hint().unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests;
