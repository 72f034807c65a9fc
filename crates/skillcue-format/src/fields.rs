//! Reads the [`Manifest`] from the raw tree, field by field. Values of another type than expected are converted where
//! their meaning is clear, and reported.

mod keys;
mod listing;
mod triggers;

use std::borrow::Cow;
use std::ops::Range;

use self::keys::{FieldNodes, ManifestField};
pub(crate) use self::keys::{is_field, is_list, is_mapping};
pub(crate) use self::listing::listing;
use crate::manifest::{DeclaredScript, RareFields, TextList};
use crate::node::{Node, Value, is_repeated};
use crate::{Code, Diagnostic, FileKind, Lifecycle, Manifest, Permissions, SkillName, Span, write, yaml};
use skillcue_base::visible;

/// The text that a tree came from, so that diagnostics can point into it.
pub(crate) struct SourceContext<'a> {
    /// The text that the tree was parsed from.
    pub(crate) text: &'a str,
    /// Maps bytes of that text to their span in the author's own text.
    pub(crate) span: &'a dyn Fn(Range<usize>) -> Span,
    pub(crate) kind: FileKind,
    pub(crate) depth: ReadDepth,
}

/// The part of a manifest that is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReadDepth {
    /// All of it, and whether its patterns and globs can be used.
    Whole,
    /// Its name and the diagnostics; texts that discovery does not use are left empty.
    Discovery,
    /// All of it, from a text whose patterns and globs have been checked before.
    Checked,
}

/// Reads the manifest from a mapping. `None` if an error among the diagnostics forbids it.
pub(crate) fn read(root: &Node<'_>, source: &SourceContext<'_>, diagnostics: &mut Vec<Diagnostic>) -> Option<Manifest> {
    ManifestReader { source, diagnostics }.manifest(root)
}

/// Reads fields and collects diagnostics.
struct ManifestReader<'g, 'd> {
    source: &'g SourceContext<'g>,
    diagnostics: &'d mut Vec<Diagnostic>,
}

impl ManifestReader<'_, '_> {
    fn manifest(&mut self, root: &Node<'_>) -> Option<Manifest> {
        self.duplicates(root);
        let json = self.json_metadata(root);
        let fields = FieldNodes::of(root, json.as_ref());
        let name = self.name(fields.get(ManifestField::Name));
        let description = self.description(fields.get(ManifestField::Description));
        let types = self.types(fields.get(ManifestField::Types));
        let version = self.field(&fields, ManifestField::Version, "version");
        if self.source.kind == FileKind::Yaml && version.is_none() {
            self.missing(
                "version",
                fields.get(ManifestField::Version),
                "a `SKILL.yaml` needs a version, such as `version: 1.0.0`",
            );
        }
        let mut rare = RareFields {
            license: self.field(&fields, ManifestField::License, "license"),
            compatibility: self.field(&fields, ManifestField::Compatibility, "compatibility"),
            model: self.field(&fields, ManifestField::Model, "model"),
            argument_hint: self.field(&fields, ManifestField::ArgumentHint, "argument-hint"),
            brief_description: self.field(&fields, ManifestField::BriefDescription, "brief_description"),
            types: types.unwrap_or_default(),
            toolsets: self.list(fields.get(ManifestField::Toolsets), "toolsets", ListSyntax::No),
            scripts: self.scripts(fields.get(ManifestField::Scripts)),
            scripts_ignore: self.list(fields.get(ManifestField::ScriptsIgnore), "scripts_ignore", ListSyntax::No),
            requires: self.list(fields.get(ManifestField::Requires), "requires", ListSyntax::Commas),
            permissions: self.permissions(fields.get(ManifestField::Permissions)),
            lifecycle: self.lifecycle(fields.get(ManifestField::Lifecycle)),
            prompt_file: None,
        };
        if self.source.kind == FileKind::Yaml {
            let prompt = fields.get(ManifestField::Prompt).and_then(|prompt| prompt.get("system_prompt_file"));
            rare.prompt_file = prompt.and_then(|node| self.text(node, "prompt.system_prompt_file"));
        }
        let triggers = self.triggers(fields.get(ManifestField::Triggers));
        let allowed_tools = self.allowed_tools(fields.get(ManifestField::AllowedTools));
        let priority = self.integer(fields.get(ManifestField::Priority), "priority");
        let default_enabled = self.boolean(fields.get(ManifestField::DefaultEnabled), "default_enabled", true);
        let disable_model_invocation =
            self.boolean(fields.get(ManifestField::DisableModelInvocation), "disable-model-invocation", false);
        let user_invocable = self.boolean(fields.get(ManifestField::UserInvocable), "user-invocable", true);
        if self.diagnostics.iter().any(Diagnostic::is_error) {
            return None;
        }
        Some(Manifest {
            name: name?,
            description: description?,
            version,
            allowed_tools,
            triggers: (!triggers.is_empty()).then(|| Box::new(triggers)),
            rare: (rare != RareFields::default()).then(|| Box::new(rare)),
            priority,
            default_enabled,
            disable_model_invocation,
            user_invocable,
        })
    }

    fn field(&mut self, fields: &FieldNodes<'_, '_>, field: ManifestField, name: &str) -> Option<Box<str>> {
        fields.get(field).and_then(|node| self.text(node, name)).map(without_hidden)
    }

    fn place(&self, node: &Node<'_>) -> Span {
        (self.source.span)(node.span.range())
    }

    /// Reports a value of another type than expected whose meaning is clear.
    fn wrong_type(&mut self, node: &Node<'_>, field: &str, due: &str) {
        self.type_finding(node, field, due, format!("it was read as {due}; write it that way"));
    }

    /// Reports a value of another type than expected that is ignored.
    fn ignored_type(&mut self, node: &Node<'_>, field: &str, due: &str) {
        self.type_finding(node, field, due, "it was ignored".to_owned());
    }

    fn type_finding(&mut self, node: &Node<'_>, field: &str, due: &str, help: String) {
        let message = format!("`{field}` should be {due}");
        let place = self.place(node);
        self.diagnostics.push(Diagnostic::new(Code::WrongType, message).with_place(place).with_help(help));
    }

    /// Reports a field that is missing, or whose `node` is empty.
    fn missing(&mut self, field: &str, node: Option<&Node<'_>>, help: &'static str) {
        let nowhere = Span { line: (self.source.span)(0..0).line, column: 1, width: 1 };
        let place = node.map_or(nowhere, |node| self.place(node));
        let message = format!("`{field}` is missing or empty");
        self.diagnostics.push(Diagnostic::new(Code::MissingField, message).with_place(place).with_help(help));
    }

    fn duplicates(&mut self, map: &Node<'_>) {
        let entries = map.entries();
        for (at, (key, value)) in entries.iter().enumerate() {
            if let Some(name) = key.as_str()
                && is_repeated(entries, at)
            {
                let message = format!("`{name}` appears a second time here; the first one counts");
                let help = "remove one of the two";
                let found = Diagnostic::new(Code::DuplicateKey, message).with_place(self.place(key)).with_help(help);
                self.diagnostics.push(found);
            }
            self.duplicates(value);
        }
    }

    /// Reads `metadata` that is given as a string of JSON, which is YAML too.
    fn json_metadata(&mut self, root: &Node<'_>) -> Option<Node<'static>> {
        let node = root.get("metadata").filter(|node| !matches!(node.value, Value::Map(_)) && !node.is_null())?;
        let json = node.as_str().filter(|text| text.trim_start().starts_with('{')).map(yaml::parse);
        let Some(Ok((parsed, _))) = json else {
            self.ignored_type(node, "metadata", "a mapping");
            return None;
        };
        self.wrong_type(node, "metadata", "a mapping");
        // Its positions are positions in the string, not in the file: all of it points at the string.
        let mut parsed = parsed.into_owned();
        relocate(&mut parsed, node.span);
        Some(parsed)
    }

    fn name(&mut self, node: Option<&Node<'_>>) -> Option<SkillName> {
        let Some(node) = node.filter(|node| !is_blank(node)) else {
            self.missing("name", node, "add a line such as `name: my-skill`");
            return None;
        };
        let written = match &node.value {
            Value::Scalar { text, .. } => Cow::Borrowed(&**text),
            Value::Seq(items) if let [Node { value: Value::Scalar { text, .. }, .. }] = &items[..] => {
                self.wrong_type(node, "name", "a text");
                Cow::Borrowed(&**text)
            }
            _ => self.slice(node),
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
                let message = format!("{:?} is not a valid name: {error}", truncated(&written, 80));
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
        let text =
            node.filter(|node| !is_blank(node)).and_then(|node| self.text(node, "description")).map(without_hidden);
        if text.is_none() {
            self.missing(
                "description",
                node,
                "say what the skill does and when to use it: `description: Reads PDF files. Use when …`",
            );
        }
        text
    }

    /// Reads a text, whatever type it was given as.
    fn text(&mut self, node: &Node<'_>, field: &str) -> Option<Box<str>> {
        match &node.value {
            Value::Scalar { .. } if node.is_null() => None,
            Value::Scalar { .. } if self.source.depth == ReadDepth::Discovery => Some(Box::default()),
            Value::Scalar { text, .. } => Some(Box::from(&**text)),
            _ => {
                self.wrong_type(node, field, "a text");
                let text = self.slice(node);
                (!text.is_empty()).then(|| Box::from(&*text))
            }
        }
    }

    /// Returns the author's own text for a value that is not the text it should be: as written if that is one line,
    /// such as `[FILE] [PAGES]`, else joined into one line.
    fn slice<'n>(&self, node: &'n Node<'_>) -> Cow<'n, str> {
        match (self.source.text.get(node.span.range()).map(str::trim), &node.value) {
            (Some(text), _) if text.starts_with(['[', '{']) && !text.contains('\n') => Cow::Owned(text.to_owned()),
            (_, Value::Seq(items)) => {
                let texts: Vec<_> =
                    items.iter().map(|item| item.as_str().map_or_else(|| write::flow(item), str::to_owned)).collect();
                Cow::Owned(texts.join(", "))
            }
            _ => Cow::Owned(write::flow(node)),
        }
    }

    fn list(&mut self, node: Option<&Node<'_>>, field: &str, split: ListSyntax) -> TextList {
        let Some(node) = node else { return TextList::default() };
        match &node.value {
            Value::Scalar { .. } if node.is_null() => TextList::default(),
            Value::Scalar { text, .. } => {
                self.wrong_type(node, field, "a list");
                match split {
                    ListSyntax::Commas => text_list(text.split(',')),
                    ListSyntax::No => text_list([&**text]),
                }
            }
            Value::Seq(items) => {
                let hollow = self.source.depth == ReadDepth::Discovery && field != "requires" && field != "types";
                let mut out = Vec::with_capacity(if hollow { 0 } else { items.len() });
                for item in items {
                    match &item.value {
                        Value::Scalar { .. } if hollow => {}
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
            // `{read, write}`: the wrong brackets around a list.
            Value::Map(entries) if entries.iter().all(|(key, value)| value.is_null() && key.as_str().is_some()) => {
                self.wrong_type(node, field, "a list");
                text_list(entries.iter().filter_map(|(key, _)| key.as_str()))
            }
            Value::Map(_) => {
                self.ignored_type(node, field, "a list");
                TextList::default()
            }
        }
    }

    fn types(&mut self, node: Option<&Node<'_>>) -> Option<TextList> {
        let node = node?;
        let types = self.list(Some(node), "types", ListSyntax::Commas);
        if self.source.kind == FileKind::Markdown
            && let Some(other) = types.iter().find(|kind| &***kind != "prompt")
        {
            let message = format!("a `SKILL.md` is of type `prompt`, not `{}`", truncated(other, 40));
            self.diagnostics.push(
                Diagnostic::new(Code::TypeNotAllowed, message)
                    .with_place(self.place(node))
                    .with_help("remove `types`, or describe the skill in a `SKILL.yaml`"),
            );
        }
        // The default needs no memory of its own.
        (types.len() != 1 || &*types[0] != "prompt").then_some(types)
    }

    fn allowed_tools(&mut self, node: Option<&Node<'_>>) -> TextList {
        match node {
            Some(node) if node.as_str().is_some() && !node.is_null() => {
                text_list(split_tools(node.as_str().unwrap_or_default()))
            }
            other => self.list(other, "allowed-tools", ListSyntax::No),
        }
    }

    fn scripts(&mut self, node: Option<&Node<'_>>) -> Box<[DeclaredScript]> {
        let Some(node) = node else { return Box::default() };
        if let Value::Seq(items) = &node.value {
            let mut out = Vec::with_capacity(items.len());
            for item in items {
                let path = item
                    .as_str()
                    .or_else(|| ["path", "file", "name"].iter().find_map(|key| item.get(key)).and_then(Node::as_str));
                match path.filter(|path| !path.trim().is_empty()) {
                    Some(path) => out.push(DeclaredScript {
                        path: Box::from(path),
                        description: item.get("description").and_then(Node::as_str).map(|it| without_hidden(it.into())),
                    }),
                    None => self.ignored_type(item, "scripts", "a list of paths, or of {path, description}"),
                }
            }
            return out.into_boxed_slice();
        }
        let paths = self.list(Some(node), "scripts", ListSyntax::Commas);
        paths.into_iter().map(|path| DeclaredScript { path, description: None }).collect()
    }

    fn permissions(&mut self, node: Option<&Node<'_>>) -> Option<Permissions> {
        const PARTS: &str = "a mapping of read, write, network and env";
        let node = node.filter(|node| !node.is_null())?;
        let Value::Map(entries) = &node.value else {
            self.ignored_type(node, "permissions", PARTS);
            return None;
        };
        let mut asked = Permissions::default();
        for (key, value) in entries {
            match key.as_str().unwrap_or_default() {
                "read" => asked.read = self.list(Some(value), "permissions.read", ListSyntax::No),
                "write" => asked.write = self.list(Some(value), "permissions.write", ListSyntax::No),
                "network" => asked.network = self.boolean(Some(value), "permissions.network", false),
                "env" => asked.env = self.list(Some(value), "permissions.env", ListSyntax::Commas),
                other => {
                    let message = format!("`permissions` has no part called `{}`; it is ignored", truncated(other, 40));
                    self.diagnostics.push(
                        Diagnostic::new(Code::WrongType, message)
                            .with_place(self.place(key))
                            .with_help(format!("it is {PARTS}")),
                    );
                }
            }
        }
        (!asked.is_empty()).then_some(asked)
    }

    fn integer(&mut self, node: Option<&Node<'_>>, field: &str) -> i32 {
        let Some(node) = node.filter(|node| !node.is_null()) else { return 0 };
        let parsed = node.as_str().and_then(|text| text.trim().parse().ok());
        if parsed.is_none() {
            self.ignored_type(node, field, "a whole number");
        }
        parsed.unwrap_or(0)
    }

    fn lifecycle(&mut self, node: Option<&Node<'_>>) -> Lifecycle {
        let Some(node) = node.filter(|node| !node.is_null()) else { return Lifecycle::default() };
        let read = Lifecycle::of(node);
        if read.is_none() {
            self.ignored_type(node, "lifecycle", Lifecycle::FORM);
        }
        read.unwrap_or_default()
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
                self.ignored_type(node, field, "true or false");
                default
            }
        }
    }
}

/// The meaning of a single text where a list is expected.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ListSyntax {
    /// Several items, by commas.
    Commas,
    /// One item.
    No,
}

fn is_blank(node: &Node<'_>) -> bool {
    node.is_null() || node.as_str().is_some_and(|text| visible(text).trim().is_empty())
}

/// Removes hidden characters from a text that models and people read. The raw tree keeps what its author wrote.
fn without_hidden(text: Box<str>) -> Box<str> {
    match visible(&text) {
        Cow::Borrowed(_) => text,
        Cow::Owned(seen) => seen.into_boxed_str(),
    }
}

/// Like [`without_hidden`], for lists. Texts of hidden characters only are removed.
fn all_without_hidden(texts: TextList) -> TextList {
    if texts.iter().all(|text| matches!(visible(text), Cow::Borrowed(_))) {
        return texts;
    }
    texts.into_iter().map(without_hidden).filter(|text| !text.trim().is_empty()).collect()
}

fn text_list<'t>(parts: impl IntoIterator<Item = &'t str>) -> TextList {
    parts.into_iter().map(str::trim).filter(|part| !part.is_empty()).map(Box::from).collect()
}

/// Splits `Read, Grep Bash(git add:*)` at commas and blanks outside parentheses.
///
/// ```
/// use skillcue_format::split_tools;
/// assert!(split_tools("Read, Grep Bash(git add:*)").eq(["Read", "Grep", "Bash(git add:*)"]));
/// // A list that was quoted, or not closed.
/// assert!(split_tools("[Read, Grep]").eq(["Read", "Grep"]) && split_tools("[Read, Grep").eq(["Read", "Grep"]));
/// ```
pub fn split_tools(text: &str) -> impl Iterator<Item = &str> {
    let text = text.trim();
    let text = text.strip_prefix('[').map_or(text, |list| list.strip_suffix(']').unwrap_or(list));
    let mut depth = 0_usize;
    let parts = text.split(move |c: char| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && (c == ',' || c.is_whitespace())
    });
    parts.map(str::trim).filter(|part| !part.is_empty())
}

/// Sets the position of a node and of all below it.
fn relocate(node: &mut Node<'_>, span: crate::node::ByteRange) {
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

/// Returns at most `max` characters, with an ellipsis if some are left out: a message must stay short.
fn truncated(text: &str, max: usize) -> Cow<'_, str> {
    match text.char_indices().nth(max) {
        Some((at, _)) => Cow::Owned(format!("{}…", &text[..at])),
        None => Cow::Borrowed(text),
    }
}
