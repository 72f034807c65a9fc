//! From the raw tree to the [`Manifest`]: field by field, forgiving about types, and saying so.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

use crate::manifest::{Rare, Script, Triggers, Words};
use crate::node::{Node, Value, is_repeated};
use crate::parsed::{Listing, Written};
use crate::pattern::{self, Verdict};
use crate::{Code, Diagnostic, FileKind, Manifest, Permissions, Place, Runtime, SkillName, write, yaml};
use skillcue_base::visible;

/// What the reader needs to point at things: the author's text, and a way from a node to its place in it.
pub(crate) struct Ground<'a> {
    /// The text that the tree was parsed from.
    pub(crate) parsed: &'a str,
    /// Where a byte of that text stands in the author's own.
    pub(crate) place: &'a dyn Fn(Range<usize>) -> Place,
    pub(crate) kind: FileKind,
    pub(crate) extent: Extent,
}

/// How much of a manifest is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// All of it, and whether its patterns and globs can be used.
    Whole,
    /// Its name and what is wrong with it; texts that are not looked at are left empty.
    Glance,
    /// All of it, of a text whose patterns and globs have been checked before.
    Again,
}

/// Most patterns, and most globs, of one skill that are checked.
const MAX_CHECKED: usize = 200;
/// Most patterns of one skill that are compiled to be checked: one may take milliseconds.
const MAX_COMPILED: usize = 8;

/// Reads the manifest off a mapping. `None` if an error among the diagnostics forbids it.
pub(crate) fn read(root: &Node<'_>, ground: &Ground<'_>, diagnostics: &mut Vec<Diagnostic>) -> Option<Manifest> {
    Reader { ground, diagnostics }.manifest(root)
}

/// See [`crate::Glance::listing`].
pub(crate) fn listing(root: &Node<'_>, yaml: &[u8]) -> Option<Listing> {
    if root.get("metadata").is_some_and(|metadata| metadata.as_str().is_some() && !metadata.is_null()) {
        return None;
    }
    let fields = Fields::of(root, None);
    let shown = [Field::DisableModelInvocation, Field::BriefDescription, Field::Types];
    if shown.into_iter().any(|field| fields.get(field).is_some()) {
        return None;
    }
    // Quotes belong to the node, not to its text.
    let verbatim = |node: &Node<'_>| {
        let Value::Scalar { text, plain } = &node.value else { return None };
        let span = node.span.range();
        let range = if *plain { span } else { span.start + 1..span.end.checked_sub(1)? };
        (yaml.get(range.clone())? == text.as_bytes()).then_some(range)
    };
    let stretch = |field| {
        let node = fields.get(field).filter(|node| !node.is_null());
        // An empty stretch would look like a text that is not there, and what hides is left out of a manifest.
        if node.and_then(Node::as_str).is_some_and(|text| text.is_empty() || matches!(visible(text), Cow::Owned(_))) {
            return None;
        }
        node.map(verbatim).map_or(Some(None), |range| range.map(Some))
    };
    let (version, model, allowed_tools) =
        (stretch(Field::Version)?, stretch(Field::Model)?, stretch(Field::AllowedTools)?);
    let description = fields.get(Field::Description)?;
    let text = visible(description.as_str()?);
    let description = match (verbatim(description), &text) {
        (Some(range), Cow::Borrowed(_)) => Written::Verbatim(range),
        // What the parser unfolded, and what holds hidden characters.
        _ if text.trim().is_empty() => return None,
        _ => Written::Otherwise((*text).into()),
    };
    Some(Listing { description, version, model, allowed_tools })
}

struct Reader<'g, 'd> {
    ground: &'g Ground<'g>,
    diagnostics: &'d mut Vec<Diagnostic>,
}

impl Reader<'_, '_> {
    fn manifest(&mut self, root: &Node<'_>) -> Option<Manifest> {
        self.duplicates(root);
        let json = self.json_metadata(root);
        let fields = Fields::of(root, json.as_ref());
        let name = self.name(fields.get(Field::Name));
        let description = self.description(fields.get(Field::Description));
        let types = self.types(fields.get(Field::Types));
        let version = self.field(&fields, Field::Version, "version");
        if self.ground.kind == FileKind::Yaml && version.is_none() {
            self.missing(
                "version",
                fields.get(Field::Version),
                "a `SKILL.yaml` needs a version, such as `version: 1.0.0`",
            );
        }
        let mut rare = Rare {
            license: self.field(&fields, Field::License, "license"),
            compatibility: self.field(&fields, Field::Compatibility, "compatibility"),
            model: self.field(&fields, Field::Model, "model"),
            argument_hint: self.field(&fields, Field::ArgumentHint, "argument-hint"),
            brief_description: self.field(&fields, Field::BriefDescription, "brief_description"),
            types: types.unwrap_or_default(),
            toolsets: self.list(fields.get(Field::Toolsets), "toolsets", Split::No),
            scripts: self.scripts(fields.get(Field::Scripts)),
            scripts_ignore: self.list(fields.get(Field::ScriptsIgnore), "scripts_ignore", Split::No),
            requires: self.list(fields.get(Field::Requires), "requires", Split::Commas),
            permissions: self.permissions(fields.get(Field::Permissions)),
            prompt_file: None,
        };
        if self.ground.kind == FileKind::Yaml {
            let prompt = fields.get(Field::Prompt).and_then(|prompt| prompt.get("system_prompt_file"));
            rare.prompt_file = prompt.and_then(|node| self.text(node, "prompt.system_prompt_file"));
        }
        let triggers = self.triggers(fields.get(Field::Triggers));
        let allowed_tools = self.allowed_tools(fields.get(Field::AllowedTools));
        let priority = self.integer(fields.get(Field::Priority), "priority");
        let default_enabled = self.boolean(fields.get(Field::DefaultEnabled), "default_enabled", true);
        let disable_model_invocation =
            self.boolean(fields.get(Field::DisableModelInvocation), "disable-model-invocation", false);
        let user_invocable = self.boolean(fields.get(Field::UserInvocable), "user-invocable", true);
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

    fn field(&mut self, fields: &Fields<'_, '_>, field: Field, name: &str) -> Option<Box<str>> {
        fields.get(field).and_then(|node| self.text(node, name)).map(seen)
    }

    fn place(&self, node: &Node<'_>) -> Place {
        (self.ground.place)(node.span.range())
    }

    /// A value of another type than is due, but it is clear what it says.
    fn wrong_type(&mut self, node: &Node<'_>, field: &str, due: &str) {
        self.type_finding(node, field, due, format!("it was read as {due}; write it that way"));
    }

    /// A value of another type than is due, of which nothing can be made.
    fn useless(&mut self, node: &Node<'_>, field: &str, due: &str) {
        self.type_finding(node, field, due, "it was ignored".to_owned());
    }

    fn type_finding(&mut self, node: &Node<'_>, field: &str, due: &str, help: String) {
        let message = format!("`{field}` should be {due}");
        let place = self.place(node);
        self.diagnostics.push(Diagnostic::new(Code::WrongType, message).with_place(place).with_help(help));
    }

    /// A field that is not there, or empty: `node`.
    fn missing(&mut self, field: &str, node: Option<&Node<'_>>, help: &'static str) {
        let nowhere = Place { line: (self.ground.place)(0..0).line, column: 1, width: 1 };
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
        let node = root.get("metadata").filter(|node| !matches!(node.value, Value::Map(_)) && !node.is_null())?;
        let json = node.as_str().filter(|text| text.trim_start().starts_with('{')).map(yaml::parse);
        let Some(Ok((parsed, _))) = json else {
            self.useless(node, "metadata", "a mapping");
            return None;
        };
        self.wrong_type(node, "metadata", "a mapping");
        // Its places are places in the string, not in the file: all of it points at the string.
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
        let text = node.filter(|node| !is_blank(node)).and_then(|node| self.text(node, "description")).map(seen);
        if text.is_none() {
            self.missing(
                "description",
                node,
                "say what the skill does and when to use it: `description: Reads PDF files. Use when …`",
            );
        }
        text
    }

    /// A text, whatever type it was given as.
    fn text(&mut self, node: &Node<'_>, field: &str) -> Option<Box<str>> {
        match &node.value {
            Value::Scalar { .. } if node.is_null() => None,
            Value::Scalar { .. } if self.ground.extent == Extent::Glance => Some(Box::default()),
            Value::Scalar { text, .. } => Some(Box::from(&**text)),
            _ => {
                self.wrong_type(node, field, "a text");
                let text = self.slice(node);
                (!text.is_empty()).then(|| Box::from(&*text))
            }
        }
    }

    /// The author's own words for a value that is not the text it should be: as written if that is one line, such as
    /// `[FILE] [PAGES]`, else on one line.
    fn slice<'n>(&self, node: &'n Node<'_>) -> Cow<'n, str> {
        match (self.ground.parsed.get(node.span.range()).map(str::trim), &node.value) {
            (Some(text), _) if text.starts_with(['[', '{']) && !text.contains('\n') => Cow::Owned(text.to_owned()),
            (_, Value::Seq(items)) => {
                let texts: Vec<_> =
                    items.iter().map(|item| item.as_str().map_or_else(|| write::flow(item), str::to_owned)).collect();
                Cow::Owned(texts.join(", "))
            }
            _ => Cow::Owned(write::flow(node)),
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
                let hollow = self.ground.extent == Extent::Glance && field != "requires" && field != "types";
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
                words(entries.iter().filter_map(|(key, _)| key.as_str()))
            }
            Value::Map(_) => {
                self.useless(node, field, "a list");
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
                let get = |key| node.get(key);
                if self.ground.extent != Extent::Again {
                    self.check_patterns(get("patterns"));
                    self.check_globs(get("files"));
                }
                Triggers {
                    keywords: all_seen(self.list(get("keywords"), "triggers.keywords", Split::Commas)),
                    verbs: all_seen(self.list(get("verbs"), "triggers.verbs", Split::Commas)),
                    patterns: self.list(get("patterns"), "triggers.patterns", Split::No),
                    files: self.list(get("files"), "triggers.files", Split::Commas),
                    languages: self.list(get("languages"), "triggers.languages", Split::Commas),
                }
            }
            _ => {
                Triggers { keywords: all_seen(self.list(Some(node), "triggers", Split::Commas)), ..Triggers::default() }
            }
        }
    }

    /// Reports patterns that can never match.
    fn check_patterns(&mut self, node: Option<&Node<'_>>) {
        let Some(node) = node else { return };
        let written = distinct(node, Split::No);
        let (mut checked, mut compiled) = (0, 0);
        for (item, text) in written.iter().take(MAX_CHECKED) {
            let fault = match pattern::judge(text) {
                Verdict::Usable => None,
                Verdict::Unusable(reason) => Some(reason),
                Verdict::Large if compiled == MAX_COMPILED => continue,
                Verdict::Large => {
                    compiled += 1;
                    pattern::compile(text).err().map(|error| pattern::reason(&error))
                }
            };
            checked += 1;
            if let Some(reason) = fault {
                let message = format!("the pattern `{}` never matches: {reason}", cut(text, 60));
                self.diagnostics.push(
                    Diagnostic::new(Code::InvalidPattern, message)
                        .with_place(self.place(item))
                        .with_help("patterns are linear-time regular expressions: no look-around, no back-references"),
                );
            }
        }
        if checked < written.len() {
            let message = format!("of {} patterns, only {checked} were checked", written.len());
            self.diagnostics.push(
                Diagnostic::new(Code::InvalidPattern, message)
                    .with_place(self.place(node))
                    .with_help("a skill with so many patterns costs every message: keep the few that matter"),
            );
        }
    }

    /// Reports globs that can never match.
    fn check_globs(&mut self, node: Option<&Node<'_>>) {
        let Some(node) = node else { return };
        for (item, text) in distinct(node, Split::Commas).into_iter().take(MAX_CHECKED) {
            if let Err(reason) = pattern::check_glob(text) {
                let message = format!("the glob `{}` never matches: {reason}", cut(text, 60));
                self.diagnostics.push(
                    Diagnostic::new(Code::InvalidPattern, message)
                        .with_place(self.place(item))
                        .with_help("close every `[` and `{`, or put a `\\` before it"),
                );
            }
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
            Some(node) if node.as_str().is_some() && !node.is_null() => {
                words(split_tools(node.as_str().unwrap_or_default()))
            }
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
                        description: item.get("description").and_then(Node::as_str).map(|it| seen(it.into())),
                    }),
                    None => self.useless(item, "scripts", "a list of paths, or of {path, description}"),
                }
            }
            return out.into_boxed_slice();
        }
        let paths = self.list(Some(node), "scripts", Split::Commas);
        paths.into_iter().map(|path| Script { path, description: None }).collect()
    }

    fn permissions(&mut self, node: Option<&Node<'_>>) -> Option<Permissions> {
        const PARTS: &str = "a mapping of read, write, network, env and runtime";
        let node = node.filter(|node| !node.is_null())?;
        let Value::Map(entries) = &node.value else {
            self.useless(node, "permissions", PARTS);
            return None;
        };
        let mut asked = Permissions::default();
        for (key, value) in entries {
            match key.as_str().unwrap_or_default() {
                "read" => asked.read = self.list(Some(value), "permissions.read", Split::No),
                "write" => asked.write = self.list(Some(value), "permissions.write", Split::No),
                "network" => asked.network = self.boolean(Some(value), "permissions.network", false),
                "env" => asked.env = self.list(Some(value), "permissions.env", Split::Commas),
                "runtime" => {
                    asked.runtime = value.as_str().and_then(Runtime::named);
                    if asked.runtime.is_none() && !value.is_null() {
                        self.useless(value, "permissions.runtime", "node, bun or deno");
                    }
                }
                other => {
                    let message = format!("`permissions` has no part called `{}`; it is ignored", cut(other, 40));
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
            self.useless(node, field, "a whole number");
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
                self.useless(node, field, "true or false");
                default
            }
        }
    }
}

/// The fields of a manifest.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Field {
    Name,
    Description,
    License,
    Compatibility,
    AllowedTools,
    Prompt,
    // From here on, extensions: they count below `metadata`, too.
    Version,
    Model,
    DisableModelInvocation,
    UserInvocable,
    ArgumentHint,
    BriefDescription,
    Triggers,
    Types,
    Toolsets,
    Scripts,
    ScriptsIgnore,
    DefaultEnabled,
    Priority,
    Requires,
    Permissions,
}

const FIELDS: usize = Field::Permissions as usize + 1;

impl Field {
    /// The field of a key, `-` and `_` in it being the same.
    fn of(key: &str) -> Option<Field> {
        Some(match key {
            "name" => Field::Name,
            "description" => Field::Description,
            "license" => Field::License,
            "compatibility" => Field::Compatibility,
            "allowed-tools" | "allowed_tools" => Field::AllowedTools,
            "prompt" => Field::Prompt,
            "version" => Field::Version,
            "model" => Field::Model,
            "disable-model-invocation" | "disable_model_invocation" => Field::DisableModelInvocation,
            "user-invocable" | "user_invocable" => Field::UserInvocable,
            "argument-hint" | "argument_hint" => Field::ArgumentHint,
            "brief_description" | "brief-description" => Field::BriefDescription,
            "triggers" => Field::Triggers,
            "types" => Field::Types,
            "toolsets" => Field::Toolsets,
            "scripts" => Field::Scripts,
            "scripts_ignore" | "scripts-ignore" => Field::ScriptsIgnore,
            "default_enabled" | "default-enabled" => Field::DefaultEnabled,
            "priority" => Field::Priority,
            "requires" => Field::Requires,
            "permissions" => Field::Permissions,
            _ => return None,
        })
    }
}

/// Whether a key is that of a field.
pub(crate) fn is_field(key: &str) -> bool {
    key == "metadata" || Field::of(key).is_some()
}

/// Whether nothing but a list is due as the value of a key, wherever it stands.
pub(crate) fn is_list(key: &str) -> bool {
    const PARTS: [&str; 8] = ["keywords", "verbs", "patterns", "files", "languages", "read", "write", "env"];
    let of_field = matches!(
        Field::of(key),
        Some(
            Field::AllowedTools
                | Field::Triggers
                | Field::Types
                | Field::Toolsets
                | Field::Scripts
                | Field::ScriptsIgnore
                | Field::Requires
        )
    );
    of_field || PARTS.contains(&key)
}

/// Whether nothing but a mapping is due as the value of a key.
pub(crate) fn is_mapping(key: &str) -> bool {
    matches!(key, "metadata" | "permissions")
}

/// The nodes of all fields, found in one pass: of several the first, the top level before `metadata`.
struct Fields<'n, 'a>([Option<&'n Node<'a>>; FIELDS]);

impl<'n, 'a> Fields<'n, 'a> {
    fn of(root: &'n Node<'a>, json_metadata: Option<&'n Node<'a>>) -> Fields<'n, 'a> {
        let mut nodes = [None; FIELDS];
        let mut metadata = json_metadata;
        for (key, value) in root.entries() {
            match key.as_str() {
                Some("metadata") => metadata = metadata.or(Some(value)),
                Some(key) => {
                    if let Some(field) = Field::of(key) {
                        nodes[field as usize].get_or_insert(value);
                    }
                }
                None => {}
            }
        }
        for (key, value) in metadata.map_or(&[][..], Node::entries) {
            if let Some(field) = key.as_str().and_then(Field::of)
                && field as usize >= Field::Version as usize
            {
                nodes[field as usize].get_or_insert(value);
            }
        }
        Fields(nodes)
    }

    fn get(&self, field: Field) -> Option<&'n Node<'a>> {
        self.0[field as usize]
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

fn is_blank(node: &Node<'_>) -> bool {
    node.is_null() || node.as_str().is_some_and(|text| visible(text).trim().is_empty())
}

/// A text that models and people get to read, without what hides in it. The raw tree keeps what its author wrote.
fn seen(text: Box<str>) -> Box<str> {
    match visible(&text) {
        Cow::Borrowed(_) => text,
        Cow::Owned(seen) => seen.into_boxed_str(),
    }
}

/// Like [`seen`], for lists. What is nothing but hidden goes.
fn all_seen(texts: Words) -> Words {
    if texts.iter().all(|text| matches!(visible(text), Cow::Borrowed(_))) {
        return texts;
    }
    texts.into_iter().map(seen).filter(|text| !text.trim().is_empty()).collect()
}

fn words<'t>(parts: impl IntoIterator<Item = &'t str>) -> Words {
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
/// The texts of a list, each once, with the node that each stands in.
fn distinct<'n>(node: &'n Node<'_>, split: Split) -> Vec<(&'n Node<'n>, &'n str)> {
    let mut seen = HashSet::new();
    let mut texts = Vec::new();
    let mut put = |node: &'n Node<'n>, text: &'n str| {
        if !text.trim().is_empty() && seen.insert(text) {
            texts.push((node, text));
        }
    };
    match &node.value {
        Value::Scalar { .. } if node.is_null() => {}
        Value::Scalar { text, .. } if split == Split::Commas => text.split(',').for_each(|text| put(node, text.trim())),
        Value::Scalar { text, .. } => put(node, text),
        Value::Seq(items) => items.iter().for_each(|item| {
            if let Some(text) = item.as_str() {
                put(item, if split == Split::Commas { text.trim() } else { text });
            }
        }),
        Value::Map(_) => {}
    }
    texts
}

fn cut(text: &str, max: usize) -> Cow<'_, str> {
    match text.char_indices().nth(max) {
        Some((at, _)) => Cow::Owned(format!("{}…", &text[..at])),
        None => Cow::Borrowed(text),
    }
}
