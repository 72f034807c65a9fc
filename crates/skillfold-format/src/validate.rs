//! The strict rules: those of agentskills.io, as its reference validator has them.
//!
//! Where the two differ, and why, is in `docs/validate.md`.

use crate::name::normalise;
use crate::node::{Node, Value};
use crate::{Code, Diagnostic, FileKind, Parsed, Place, SkillName};

/// The keys that the standard has at the top level.
const KEYS: [&str; 6] = ["name", "description", "license", "allowed-tools", "metadata", "compatibility"];
const MAX_DESCRIPTION: usize = 1024;
const MAX_COMPATIBILITY: usize = 500;

/// Checks a `SKILL.md` strictly. `directory` is the name of the directory it stands in. Valid means: no errors among
/// the diagnostics.
///
/// ```
/// use skillfold_format::{Diagnostic, validate};
///
/// let file = b"---\nname: pdf\ndescription: Reads PDF files.\nversion: 1\n---\n";
/// let found = validate(file, "pdf");
/// assert!(found.iter().any(Diagnostic::is_error), "`version` belongs below `metadata`");
/// assert_eq!(found[0].to_string(), "4:1: error[unknown_field]: `version` is no top-level key of the standard");
/// ```
pub fn validate(bytes: &[u8], directory: &str) -> Vec<Diagnostic> {
    let parsed = Parsed::thorough(bytes, FileKind::Markdown);
    let text = parsed.yaml_text(bytes);
    let mut check = Check { parsed: &parsed, text, found: Vec::new() };
    check.run(directory);
    let mut found = check.found;
    found.sort_by_key(|finding| finding.place);
    found
}

struct Check<'a> {
    parsed: &'a Parsed<'a>,
    text: &'a str,
    found: Vec<Diagnostic>,
}

impl Check<'_> {
    fn run(&mut self, directory: &str) {
        // What lenient reading mended is an error here; what it only remarked stays a remark.
        for finding in &self.parsed.diagnostics {
            let mut finding = finding.clone();
            if matches!(finding.code, Code::YamlRepaired | Code::DuplicateKey | Code::YamlTag | Code::LeadingBlank) {
                finding.severity = crate::Severity::Error;
            }
            // Said in the strict rules' own words below.
            if !matches!(finding.code, Code::NameCanonicalised | Code::InvalidName) {
                self.found.push(finding);
            }
        }
        let Some(root) = &self.parsed.raw else { return };
        if !matches!(root.value, Value::Map(_)) {
            return;
        }
        for (span, what) in &self.parsed.notes.unusual {
            let finding = Diagnostic::new(Code::NotStrictYaml, format!("{what} is not what every reader accepts"))
                .with_place(self.place(span.range()))
                .with_help("write it as block YAML: one `- item` or `key: value` a line");
            self.found.push(finding);
        }
        for (key, _) in root.entries() {
            let name = key.as_str().unwrap_or_default();
            if !KEYS.contains(&name) {
                let finding =
                    Diagnostic::new(Code::UnknownField, format!("`{name}` is no top-level key of the standard"))
                        .with_place(self.place(key.span.range()))
                        .with_help("move it below `metadata`, where skillfold reads it too");
                self.found.push(finding);
            }
        }
        self.name(root.get("name"), directory);
        if let Some(node) = root.get("description") {
            self.length(node, "description", MAX_DESCRIPTION);
        }
        if let Some(node) = root.get("compatibility") {
            self.length(node, "compatibility", MAX_COMPATIBILITY);
        }
    }

    fn place(&self, range: std::ops::Range<usize>) -> Place {
        Place::of(self.text, range, self.parsed.first_line)
    }

    fn name(&mut self, node: Option<&Node<'_>>, directory: &str) {
        let Some(node) = node else { return };
        let Some(name) = node.as_str().filter(|name| !name.trim().is_empty()) else {
            if node.as_str().is_none() {
                let finding = Diagnostic::new(Code::InvalidName, "the name is no text")
                    .with_place(self.place(node.span.range()))
                    .with_help("write one name, such as `name: pdf-tools`");
                self.found.push(finding);
            }
            return;
        };
        if let Err(error) = SkillName::check(name) {
            let finding = Diagnostic::new(Code::InvalidName, error.to_string())
                .with_place(self.place(node.span.range()))
                .with_help("use 1 to 64 lower-case letters, digits and single inner hyphens");
            self.found.push(finding);
        }
        if normalise(name) != normalise(directory) {
            let finding =
                Diagnostic::new(Code::NameMismatch, format!("the name is `{name}`, its directory is `{directory}`"))
                    .with_place(self.place(node.span.range()))
                    .with_help("give both the same name");
            self.found.push(finding);
        }
    }

    fn length(&mut self, node: &Node<'_>, field: &str, max: usize) {
        let Some(text) = node.as_str() else {
            // The manifest's own remark says where; strictly it is an error.
            for finding in &mut self.found {
                if finding.code == Code::WrongType && finding.message.contains(field) {
                    finding.severity = crate::Severity::Error;
                }
            }
            return;
        };
        let length = text.chars().count();
        if length > max {
            let message = format!("`{field}` has {length} characters; the standard allows {max}");
            let finding = Diagnostic::new(Code::TooLong, message)
                .with_place(self.place(node.span.range()))
                .with_help("say less here and more in the body");
            self.found.push(finding);
        }
    }
}
