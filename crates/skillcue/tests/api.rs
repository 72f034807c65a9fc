//! The public API as text, so that a review sees what a change does to it.
//!
//! Read from the sources, which `rustfmt` has laid out: rustdoc's JSON needs a nightly compiler. What a macro writes
//! shows by its name alone. `INSTA_UPDATE=always cargo nextest run --test api` writes the text anew.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// With more names at the root, the one that is needed is hard to find.
const MAX_ROOT_NAMES: usize = 49;

/// The items of a crate.
#[derive(Default)]
struct Sources {
    /// Public items by name: the text before the body, and the public parts of the body.
    items: BTreeMap<String, Vec<String>>,
    /// Public methods and implemented traits, by type.
    methods: BTreeMap<String, BTreeSet<String>>,
}

/// A name that is public, and the crate that defines it.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Export {
    name: String,
    package: String,
}

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn collect(dir: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") && !path.ends_with("tests.rs") {
            files.push(path);
        }
    }
}

/// The code of a file, without its tests.
fn code(file: &Path) -> String {
    let text = fs::read_to_string(file).unwrap();
    text.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or_default().to_owned()
}

/// Joins several lines of a signature to one.
fn joined(lines: &[&str]) -> String {
    let line = lines.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ");
    let line = line.replace("( ", "(").replace(", )", ")").replace("{ ", "{").replace(", }", "}");
    line.replace("(mut self", "(self").replace("#[from] ", "").trim_end_matches([' ', '{', ';']).to_owned()
}

/// The name at the beginning of a text.
fn ident(text: &str) -> &str {
    let end = text.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(text.len());
    &text[..end]
}

/// The lines of a signature that begins at a line: up to its body, or its end.
fn signature<'t>(lines: &[&'t str], at: usize) -> Vec<&'t str> {
    let end = lines[at..].iter().position(|line| line.ends_with('{') || line.ends_with(';') || line.ends_with("{}"));
    lines[at..=at + end.unwrap_or(0)].to_vec()
}

/// Returns the lines of a body whose opening brace ends the signature before, at the left margin.
fn body<'t, 's>(lines: &'s [&'t str], at: usize) -> &'s [&'t str] {
    let end = lines[at..].iter().position(|line| line.starts_with('}')).unwrap_or(0);
    &lines[at..at + end]
}

impl Sources {
    fn of(package: &str) -> Sources {
        let mut files = Vec::new();
        collect(&crates().join(package).join("src"), &mut files);
        files.sort();
        let mut sources = Sources::default();
        for file in files {
            sources.read(&code(&file));
        }
        sources
    }

    fn read(&mut self, code: &str) {
        let lines: Vec<&str> = code.lines().collect();
        let mut attributes = Vec::new();
        for (at, line) in lines.iter().enumerate() {
            if line.starts_with("#[derive") || line.starts_with("#[non_exhaustive") || line.starts_with("#[must_use") {
                attributes.push(line.split(" = ").next().unwrap().trim_end_matches(']').to_owned() + "]");
            } else if line.starts_with("impl") {
                self.read_impl(&lines, at);
            } else if let Some(item) = line.strip_prefix("pub ") {
                self.read_item(item, &lines, at, std::mem::take(&mut attributes));
            }
            if !line.starts_with('#') && !line.starts_with("//") {
                attributes.clear();
            }
        }
    }

    fn read_item(&mut self, item: &str, lines: &[&str], at: usize, attributes: Vec<String>) {
        let kinds = ["const fn ", "fn ", "struct ", "enum ", "trait ", "const ", "type "];
        let Some((kind, rest)) = kinds.iter().find_map(|kind| Some((kind.trim(), item.strip_prefix(kind)?))) else {
            return;
        };
        let head = signature(lines, at);
        let mut shown = attributes;
        if kind == "const" {
            shown.push(lines[at].split(" = ").next().unwrap().trim_start_matches("pub ").to_owned());
        } else {
            shown.push(joined(&head).trim_start_matches("pub ").to_owned());
        }
        if lines[at + head.len() - 1].ends_with('{') {
            let body = body(lines, at + head.len());
            match kind {
                "struct" => shown.extend(fields(body)),
                "enum" => shown.extend(variants(body)),
                "trait" => shown.extend(functions(body, "    fn ")),
                _ => {}
            }
        }
        self.items.entry(ident(rest).to_owned()).or_default().extend(shown);
    }

    fn read_impl(&mut self, lines: &[&str], at: usize) {
        let head = signature(lines, at);
        let written = joined(&head);
        let mut rest = written.strip_prefix("impl").unwrap();
        if rest.starts_with('<') {
            let mut depth = 0;
            let end = rest.find(|c| {
                depth += i32::from(c == '<') - i32::from(c == '>');
                depth == 0
            });
            rest = &rest[end.unwrap() + 1..];
        }
        if let Some((_, implementer)) = rest.trim_start().split_once(" for ") {
            let written = written.trim_end_matches(" {}").to_owned();
            self.methods.entry(ident(implementer).to_owned()).or_default().insert(written);
        } else {
            let found = functions(body(lines, at + head.len()), "    pub ");
            self.methods.entry(ident(rest.trim_start()).to_owned()).or_default().extend(found);
        }
    }
}

/// The public fields of a struct.
fn fields(body: &[&str]) -> Vec<String> {
    let fields = body.iter().filter(|line| line.starts_with("    pub ") && !line.contains("pub("));
    fields.map(|line| line.trim().trim_end_matches(',').to_owned()).collect()
}

/// The variants of an enum, with their fields.
fn variants(body: &[&str]) -> Vec<String> {
    let mut variants: Vec<String> = Vec::new();
    let is_code =
        |line: &&&str| !line.trim().is_empty() && !line.trim().starts_with("//") && !line.trim().starts_with("#[");
    for line in body.iter().filter(is_code) {
        let inside = line.starts_with("        ") || line.trim() == "},";
        match variants.last_mut().filter(|_| inside) {
            Some(last) => {
                last.push(' ');
                last.push_str(line.trim());
            }
            None => variants.push(line.trim().to_owned()),
        }
    }
    let one = |variant: String| {
        joined(&[variant.trim_end_matches(',')]).replace('{', "{ ").replace('}', " }").replace("  ", " ")
    };
    variants.into_iter().map(one).collect()
}

/// The signatures of the functions and constants that begin so.
fn functions(body: &[&str], beginning: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, line) in body.iter().enumerate() {
        if let Some(rest) = line.strip_prefix(beginning) {
            if let Some(constant) = rest.strip_prefix("const ").filter(|rest| !rest.starts_with("fn ")) {
                found.push(format!("pub const {}", constant.split(" = ").next().unwrap().trim_end_matches(';')));
            } else {
                found.push(joined(&signature(body, at)));
            }
        }
    }
    found
}

/// Returns the public names and modules of a file of the façade.
fn exports(file: &Path) -> (BTreeSet<Export>, Vec<String>) {
    let code = code(file);
    let lines: Vec<&str> = code.lines().collect();
    let (mut names, mut modules) = (BTreeSet::new(), Vec::new());
    for (at, line) in lines.iter().enumerate() {
        let Some(rest) = line.strip_prefix("pub ") else { continue };
        if let Some(used) = rest.strip_prefix("use ") {
            let end = lines[at..].iter().position(|line| line.ends_with(';')).unwrap();
            let all = joined(&lines[at..=at + end]);
            let all = all.strip_prefix("pub use ").unwrap_or(used);
            let (path, list) = all.rsplit_once("::{").or_else(|| all.rsplit_once("::")).unwrap();
            let package = match path.strip_prefix("skillcue_") {
                Some(rest) => format!("skillcue-{}", rest.split("::").next().unwrap()),
                None => "skillcue".to_owned(),
            };
            for name in list.trim_matches(['{', '}']).split(", ") {
                let name = name.rsplit("::").next().unwrap();
                names.insert(Export { name: name.to_owned(), package: package.clone() });
            }
        } else if let Some(module) = rest.strip_prefix("mod ") {
            modules.push(module.trim_end_matches(';').to_owned());
        } else {
            let name = rest.split(' ').find(|word| !["const", "fn", "struct", "enum", "trait", "type"].contains(word));
            let name = ident(name.unwrap()).to_owned();
            names.insert(Export { name, package: "skillcue".to_owned() });
        }
    }
    (names, modules)
}

fn file_of(module: &str) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let file = source.join(format!("{module}.rs"));
    if file.exists() { file } else { source.join(module).join("mod.rs") }
}

fn root() -> (BTreeSet<Export>, Vec<String>) {
    exports(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lib.rs"))
}

fn list(out: &mut String, exports: &BTreeSet<Export>, packages: &mut BTreeMap<String, Sources>) {
    for Export { name, package } in exports {
        let sources = packages.entry(package.clone()).or_insert_with(|| Sources::of(package));
        let _ = writeln!(out, "  {name}");
        for line in sources.items.get(name).into_iter().flatten() {
            let _ = writeln!(out, "    {line}");
        }
        for line in sources.methods.get(name).into_iter().flatten() {
            let _ = writeln!(out, "      {line}");
        }
    }
}

#[test]
fn the_public_api_is_as_it_was_reviewed() {
    let (names, modules) = root();
    let mut packages = BTreeMap::new();
    let mut out = format!("skillcue: {} names and modules\n", names.len() + modules.len());
    list(&mut out, &names, &mut packages);
    for module in &modules {
        let (names, _) = exports(&file_of(module));
        let _ = writeln!(out, "\nskillcue::{module}");
        list(&mut out, &names, &mut packages);
    }
    // The text must have these, whatever happens to the reader of sources.
    for expected in [
        "pub fn disclose<'r>(&self, request: impl Into<Request<'r>>) -> Disclosure",
        "pub fn build(self) -> Result<Skillcue, Error>",
        "pub fn session(self, session: &'a mut Session) -> Request<'a>",
        "pub fn files(self, paths: impl IntoIterator<Item = impl AsRef<str>>) -> Turn<'a>",
        "fn call(&self, skills: &Skillcue, call: &Call, context: &ToolContext<'_>) -> Option<ToolOutput>",
    ] {
        assert!(out.contains(expected), "{expected} is not in the listing");
    }
    for module in &modules {
        let (names, _) = exports(&file_of(module));
        assert!(names.len() > 1, "skillcue::{module} seems to have {} names", names.len());
    }
    insta::assert_snapshot!("api", out);
}

#[test]
fn the_root_has_few_names_and_every_module_has_documentation() {
    let (names, modules) = root();
    let count = names.len() + modules.len();
    assert!(count <= MAX_ROOT_NAMES, "{count} names at the root; put what few embedders need into a module");
    for module in modules {
        let text = fs::read_to_string(file_of(&module)).unwrap();
        let first = text.lines().next().unwrap_or_default();
        assert!(first.starts_with("//! ") && first.len() > 20, "the module {module} does not say what is in it");
    }
}

/// The façade has one blocking way to do each thing, and no case that it hopes never happens.
#[test]
fn the_facade_neither_panics_nor_is_async() {
    let mut files = Vec::new();
    collect(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut files);
    for file in files {
        let code = code(&file);
        for (number, line) in (1..).zip(code.lines()).filter(|(_, line)| !line.trim_start().starts_with("//")) {
            for (text, why) in [
                ("unreachable!", "make the case unsayable by a type, or return an error"),
                ("async fn", "hosts call the façade on a blocking thread; twins went unused"),
                ("fn disclose_", "there is one way to disclose: a request"),
            ] {
                assert!(!line.contains(text), "{}:{number} has {text}: {why}", file.display());
            }
        }
    }
}
