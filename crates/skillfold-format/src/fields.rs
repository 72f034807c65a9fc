//! From the raw tree to the [`Manifest`]: field by field, forgiving about types, and saying so.

use std::borrow::Cow;

use crate::manifest::{Rare, Script, Triggers, Words};
use crate::node::{Node, Value, is_repeated};
use crate::{Code, Diagnostic, FileKind, Manifest, Place, SkillName, yaml};

/// What the reader needs to point at things: the author's text, and a way from a node to its place in it.
pub(crate) struct Ground<'a> {
    /// The text that the tree was parsed from.
    pub(crate) parsed: &'a str,
    /// Where a byte of that text stands in the author's own.
    pub(crate) place: &'a dyn Fn(std::ops::Range<usize>) -> Place,
    pub(crate) kind: FileKind,
}

/// Reads the manifest off a mapping. `None` if an error among the diagnostics forbids it.
pub(crate) fn read(root: &Node<'_>, ground: &Ground<'_>, diagnostics: &mut Vec<Diagnostic>) -> Option<Manifest> {
    Reader { ground, diagnostics }.manifest(root)
}

struct Reader<'g, 'd> {
    ground: &'g Ground<'g>,
    diagnostics: &'d mut Vec<Diagnostic>,
}

impl Reader<'_, '_> {
    fn manifest(&mut self, root: &Node<'_>) -> Option<Manifest> {
        self.duplicates(root);
        let json = self.json_metadata(root);
        let metadata = json.as_ref().or_else(|| root.get("metadata"));
        let tops = root.entries();
        let inner = metadata.map_or(&[][..], Node::entries);
        // The standard's own fields count at the top only; extensions count in both places, the top first.
        let top = |key| find(tops, key);
        let any = |key| find(tops, key).or_else(|| find(inner, key));

        let name = self.name(top("name"));
        let description = self.description(top("description"));
        let types = self.types(any("types"));
        let version = any("version").and_then(|node| self.text(node, "version"));
        if self.ground.kind == FileKind::Yaml && version.is_none() {
            self.missing("version", "a `SKILL.yaml` needs a version, such as `version: 1.0.0`");
        }
        let mut rare = Rare {
            license: top("license").and_then(|node| self.text(node, "license")),
            compatibility: top("compatibility").and_then(|node| self.text(node, "compatibility")),
            model: any("model").and_then(|node| self.text(node, "model")),
            argument_hint: any("argument-hint").and_then(|node| self.text(node, "argument-hint")),
            brief_description: any("brief-description").and_then(|node| self.text(node, "brief_description")),
            types: types.unwrap_or_default(),
            toolsets: self.list(any("toolsets"), "toolsets", Split::No),
            scripts: self.scripts(any("scripts")),
            scripts_ignore: self.list(any("scripts-ignore"), "scripts_ignore", Split::No),
            requires: self.list(any("requires"), "requires", Split::Commas),
            prompt_file: None,
        };
        if self.ground.kind == FileKind::Yaml {
            let prompt = top("prompt").and_then(|prompt| prompt.get("system_prompt_file"));
            rare.prompt_file = prompt.and_then(|node| self.text(node, "prompt.system_prompt_file"));
        }
        let triggers = self.triggers(any("triggers"));
        let allowed_tools = self.allowed_tools(top("allowed-tools"));
        let priority = self.integer(any("priority"), "priority");
        let default_enabled = self.boolean(any("default-enabled"), "default_enabled", true);
        let disable_model_invocation = self.boolean(any("disable-model-invocation"), "disable-model-invocation", false);
        let user_invocable = self.boolean(any("user-invocable"), "user-invocable", true);
        if self.diagnostics.iter().any(Diagnostic::is_error) {
            return None;
        }
        Some(Manifest {
            name: name?,
            description: description?,
            version,
            allowed_tools,
            triggers: (!triggers.is_empty()).then(|| Box::new(triggers)),
            rare: (rare != Rare::default()).then(|| Box::new(rare)),
            priority,
            default_enabled,
            disable_model_invocation,
            user_invocable,
        })
    }

    fn place(&self, node: &Node<'_>) -> Place {
        (self.ground.place)(node.span.range())
    }

    fn wrong_type(&mut self, node: &Node<'_>, field: &str, due: &str) {
        let message = format!("`{field}` should be {due}");
        self.diagnostics.push(
            Diagnostic::new(Code::WrongType, message)
                .with_place(self.place(node))
                .with_help(format!("it was read as {due}; write it that way")),
        );
    }

    fn missing(&mut self, field: &str, help: &'static str) {
        let place = Place { line: (self.ground.place)(0..0).line, column: 1, width: 1 };
        let message = format!("`{field}` is missing or empty");
        self.diagnostics.push(Diagnostic::new(Code::MissingField, message).with_place(place).with_help(help));
    }

    fn duplicates(&mut self, map: &Node<'_>) {
        let entries = map.entries();
        for (at, (key, value)) in entries.iter().enumerate() {
            if let Some(name) = key.as_str()
                && is_repeated(entries, at)
            {
                let message = format!("`{name}` stands here a second time; the first one counts");
                let help = "remove one of the two";
                let found = Diagnostic::new(Code::DuplicateKey, message).with_place(self.place(key)).with_help(help);
                self.diagnostics.push(found);
            }
            self.duplicates(value);
        }
    }

    /// `metadata` given as a string of JSON, which is YAML too.
    fn json_metadata(&mut self, root: &Node<'_>) -> Option<Node<'static>> {
        let node = root.get("metadata")?;
        let text = node.as_str().filter(|text| text.trim_start().starts_with('{'))?;
        let (parsed, _) = yaml::parse(text).ok()?;
        self.wrong_type(node, "metadata", "a mapping");
        // Its places are places in the string, not in the file: all of it points at the string.
        let mut parsed = parsed.into_owned();
        relocate(&mut parsed, node.span);
        Some(parsed)
    }

    fn name(&mut self, node: Option<&Node<'_>>) -> Option<SkillName> {
        let Some(node) = node.filter(|node| !is_blank(node)) else {
            self.missing("name", "add a line such as `name: my-skill`");
            return None;
        };
        let written = match node.as_str() {
            Some(text) => Cow::Borrowed(text),
            None => self.slice(node),
        };
        match SkillName::lenient(&written) {
            Ok(name) => {
                if *name != *written {
                    let message = format!("the name {written:?} is read as `{name}`");
                    self.diagnostics.push(
                        Diagnostic::new(Code::NameCanonicalised, message)
                            .with_place(self.place(node))
                            .with_help(format!("write `name: {name}`")),
                    );
                }
                Some(name)
            }
            Err(error) => {
                let message = format!("{:?} is no name: {error}", cut(&written, 80));
                self.diagnostics.push(
                    Diagnostic::new(Code::InvalidName, message)
                        .with_place(self.place(node))
                        .with_help("use 1 to 64 lower-case letters, digits and single hyphens, such as `pdf-tools`"),
                );
                None
            }
        }
    }

    fn description(&mut self, node: Option<&Node<'_>>) -> Option<Box<str>> {
        let text = node.filter(|node| !is_blank(node)).and_then(|node| self.text(node, "description"));
        if text.is_none() {
            self.missing(
                "description",
                "say what the skill does and when to use it: `description: Reads PDF files. Use when …`",
            );
        }
        text
    }

    /// A text, whatever type it was given as.
    fn text(&mut self, node: &Node<'_>, field: &str) -> Option<Box<str>> {
        match &node.value {
            Value::Scalar { text, .. } if !node.is_null() => Some(Box::from(&**text)),
            Value::Scalar { .. } => None,
            _ => {
                self.wrong_type(node, field, "a text");
                let text = self.slice(node);
                (!text.is_empty()).then(|| Box::from(&*text))
            }
        }
    }

    /// The author's own words for a value that is not the text it should be.
    fn slice<'n>(&self, node: &'n Node<'_>) -> Cow<'n, str> {
        match self.ground.parsed.get(node.span.range()) {
            Some(text) if !text.trim().is_empty() => Cow::Owned(text.split_whitespace().collect::<Vec<_>>().join(" ")),
            _ => Cow::Owned(crate::write::flow(node)),
        }
    }

    fn list(&mut self, node: Option<&Node<'_>>, field: &str, split: Split) -> Words {
        let Some(node) = node else { return Words::default() };
        match &node.value {
            Value::Scalar { .. } if node.is_null() => Words::default(),
            Value::Scalar { text, .. } => {
                self.wrong_type(node, field, "a list");
                match split {
                    Split::Commas => words(text.split(',')),
                    Split::No => words([&**text]),
                }
            }
            Value::Seq(items) => {
                let mut out = Vec::with_capacity(items.len());
                for item in items {
                    match &item.value {
                        Value::Scalar { text, .. } if !text.trim().is_empty() => out.push(Box::from(&**text)),
                        Value::Scalar { .. } => {}
                        _ => {
                            self.wrong_type(item, field, "a list of texts");
                            out.push(Box::from(&*self.slice(item)));
                        }
                    }
                }
                out.into_boxed_slice()
            }
            Value::Map(_) => {
                self.wrong_type(node, field, "a list");
                Words::default()
            }
        }
    }

    fn types(&mut self, node: Option<&Node<'_>>) -> Option<Words> {
        let node = node?;
        let types = self.list(Some(node), "types", Split::Commas);
        if self.ground.kind == FileKind::Markdown
            && let Some(other) = types.iter().find(|kind| &***kind != "prompt")
        {
            let message = format!("a `SKILL.md` is of type `prompt`, not `{}`", cut(other, 40));
            self.diagnostics.push(
                Diagnostic::new(Code::TypeNotAllowed, message)
                    .with_place(self.place(node))
                    .with_help("remove `types`, or describe the skill in a `SKILL.yaml`"),
            );
        }
        // The default needs no memory of its own.
        (types.len() != 1 || &*types[0] != "prompt").then_some(types)
    }

    fn triggers(&mut self, node: Option<&Node<'_>>) -> Triggers {
        let Some(node) = node else { return Triggers::default() };
        match &node.value {
            Value::Map(entries) => {
                self.unknown_triggers(entries);
                let get = |key| find(entries, key);
                Triggers {
                    keywords: self.list(get("keywords"), "triggers.keywords", Split::Commas),
                    verbs: self.list(get("verbs"), "triggers.verbs", Split::Commas),
                    patterns: self.list(get("patterns"), "triggers.patterns", Split::No),
                    files: self.list(get("files"), "triggers.files", Split::Commas),
                    languages: self.list(get("languages"), "triggers.languages", Split::Commas),
                }
            }
            _ => Triggers { keywords: self.list(Some(node), "triggers", Split::Commas), ..Triggers::default() },
        }
    }

    fn unknown_triggers(&mut self, entries: &[(Node<'_>, Node<'_>)]) {
        for (key, _) in entries {
            let name = key.as_str().unwrap_or_default();
            if !["keywords", "verbs", "patterns", "files", "languages"].contains(&name) {
                let message = format!("`triggers` has no part called `{}`; it is ignored", cut(name, 40));
                self.diagnostics.push(
                    Diagnostic::new(Code::WrongType, message)
                        .with_place(self.place(key))
                        .with_help("its parts are keywords, verbs, patterns, files and languages"),
                );
            }
        }
    }

    fn allowed_tools(&mut self, node: Option<&Node<'_>>) -> Words {
        match node {
            Some(node) if node.as_str().is_some() && !node.is_null() => split_tools(node.as_str().unwrap_or_default()),
            other => self.list(other, "allowed-tools", Split::No),
        }
    }

    fn scripts(&mut self, node: Option<&Node<'_>>) -> Box<[Script]> {
        let Some(node) = node else { return Box::default() };
        if let Value::Seq(items) = &node.value {
            let mut out = Vec::with_capacity(items.len());
            for item in items {
                let path = item
                    .as_str()
                    .or_else(|| ["path", "file", "name"].iter().find_map(|key| item.get(key)).and_then(Node::as_str));
                match path.filter(|path| !path.trim().is_empty()) {
                    Some(path) => out.push(Script {
                        path: Box::from(path),
                        description: item.get("description").and_then(Node::as_str).map(Box::from),
                    }),
                    None => self.wrong_type(item, "scripts", "a list of paths, or of {path, description}"),
                }
            }
            return out.into_boxed_slice();
        }
        let paths = self.list(Some(node), "scripts", Split::Commas);
        paths.into_iter().map(|path| Script { path, description: None }).collect()
    }

    fn integer(&mut self, node: Option<&Node<'_>>, field: &str) -> i32 {
        let Some(node) = node.filter(|node| !node.is_null()) else { return 0 };
        let parsed = node.as_str().and_then(|text| text.trim().parse().ok());
        if parsed.is_none() {
            self.wrong_type(node, field, "a whole number");
        }
        parsed.unwrap_or(0)
    }

    fn boolean(&mut self, node: Option<&Node<'_>>, field: &str, default: bool) -> bool {
        let Some(node) = node.filter(|node| !node.is_null()) else { return default };
        match node.as_str().map(str::to_ascii_lowercase).as_deref() {
            Some("true") => true,
            Some("false") => false,
            Some("yes" | "on" | "1") => {
                self.wrong_type(node, field, "true or false");
                true
            }
            Some("no" | "off" | "0") => {
                self.wrong_type(node, field, "true or false");
                false
            }
            _ => {
                self.wrong_type(node, field, "true or false");
                default
            }
        }
    }
}

/// What a single text means where a list is due.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Split {
    /// Several items, by commas.
    Commas,
    /// One item.
    No,
}

/// The value of a key, `-` and `_` in it being the same.
fn find<'n, 'a>(entries: &'n [(Node<'a>, Node<'a>)], key: &str) -> Option<&'n Node<'a>> {
    let same = |written: &str| {
        written.len() == key.len() && written.bytes().zip(key.bytes()).all(|(w, k)| w == k || (k == b'-' && w == b'_'))
    };
    entries.iter().find(|(k, _)| k.as_str().is_some_and(same)).map(|(_, value)| value)
}

fn is_blank(node: &Node<'_>) -> bool {
    node.is_null() || node.as_str().is_some_and(|text| text.trim().is_empty())
}

fn words<'t>(parts: impl IntoIterator<Item = &'t str>) -> Words {
    parts.into_iter().map(str::trim).filter(|part| !part.is_empty()).map(Box::from).collect()
}

/// Splits `Read, Grep Bash(git add:*)` at commas and blanks outside parentheses.
fn split_tools(text: &str) -> Words {
    let mut depth = 0_usize;
    words(text.split(|c: char| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && (c == ',' || c.is_whitespace())
    }))
}

fn relocate(node: &mut Node<'_>, span: crate::node::Span) {
    node.span = span;
    match &mut node.value {
        Value::Scalar { .. } => {}
        Value::Seq(items) => items.iter_mut().for_each(|item| relocate(item, span)),
        Value::Map(pairs) => pairs.iter_mut().for_each(|(key, value)| {
            relocate(key, span);
            relocate(value, span);
        }),
    }
}

/// At most `max` characters: a message is no place for a novel.
fn cut(text: &str, max: usize) -> Cow<'_, str> {
    match text.char_indices().nth(max) {
        Some((at, _)) => Cow::Owned(format!("{}…", &text[..at])),
        None => Cow::Borrowed(text),
    }
}
