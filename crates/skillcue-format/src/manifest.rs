//! The typed front matter of one skill.

use std::borrow::Cow;
use std::sync::LazyLock;

use serde::Serialize;

use crate::brief::brief;
use crate::{Lifecycle, Permissions, SkillName};

/// The typed front matter of one skill. Compact, because catalogs hold a hundred thousand of them: fields that few
/// skills have are together behind one pointer.
///
/// ```
/// use skillcue_format::{FileKind, Parsed};
///
/// let file = b"---\nname: pdf\ndescription: Reads PDF files. Use when asked.\nallowed-tools: Read, Grep\n---\n";
/// let manifest = Parsed::of(file, FileKind::Markdown).manifest.unwrap();
/// assert_eq!(manifest.name().as_str(), "pdf");
/// assert_eq!(manifest.brief(), "Reads PDF files");
/// assert_eq!(manifest.allowed_tools().collect::<Vec<_>>(), ["Read", "Grep"]);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    pub(crate) name: SkillName,
    pub(crate) description: Box<str>,
    pub(crate) version: Option<Box<str>>,
    pub(crate) allowed_tools: TextList,
    pub(crate) triggers: Option<Box<Triggers>>,
    pub(crate) rare: Option<Box<RareFields>>,
    pub(crate) priority: i32,
    pub(crate) default_enabled: bool,
    pub(crate) disable_model_invocation: bool,
    pub(crate) user_invocable: bool,
}

/// A list of texts.
pub(crate) type TextList = Box<[Box<str>]>;

/// Fields that few skills have.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct RareFields {
    pub(crate) license: Option<Box<str>>,
    pub(crate) compatibility: Option<Box<str>>,
    pub(crate) model: Option<Box<str>>,
    pub(crate) argument_hint: Option<Box<str>>,
    pub(crate) brief_description: Option<Box<str>>,
    pub(crate) types: TextList,
    pub(crate) toolsets: TextList,
    pub(crate) scripts: Box<[DeclaredScript]>,
    pub(crate) scripts_ignore: TextList,
    pub(crate) requires: TextList,
    pub(crate) permissions: Option<Permissions>,
    pub(crate) lifecycle: Lifecycle,
    pub(crate) prompt_file: Option<Box<str>>,
}

/// A script that the manifest names.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct DeclaredScript {
    /// Its path below the skill's directory.
    pub path: Box<str>,
    /// Its purpose, if the manifest gives one.
    pub description: Option<Box<str>>,
}

/// The conditions under which a skill should be considered. The skill's name is always a trigger too, and is not listed
/// here.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Triggers {
    /// Words and phrases.
    pub keywords: TextList,
    /// Verbs, matched with their inflections.
    pub verbs: TextList,
    /// Regular expressions.
    pub patterns: TextList,
    /// Globs on the turn's files.
    pub files: TextList,
    /// Programming languages of the turn's files.
    pub languages: TextList,
}

impl Triggers {
    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        [&self.keywords, &self.verbs, &self.patterns, &self.files, &self.languages].iter().all(|list| list.is_empty())
    }
}

static NO_TRIGGERS: LazyLock<Triggers> = LazyLock::new(Triggers::default);

impl Manifest {
    /// Creates a placeholder for front matter that can no longer be read, so that callers need not fail.
    pub fn unknown(name: &str) -> Manifest {
        Manifest {
            name: SkillName::unchecked(name),
            description: Box::default(),
            version: None,
            allowed_tools: TextList::default(),
            triggers: None,
            rare: None,
            priority: 0,
            default_enabled: true,
            disable_model_invocation: false,
            user_invocable: true,
        }
    }

    /// Returns the canonical name.
    pub fn name(&self) -> &SkillName {
        &self.name
    }

    /// Returns the description: what the skill does and when to use it.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// Returns `brief_description`, or the description's first sentence.
    pub fn brief(&self) -> Cow<'_, str> {
        match self.rare().and_then(|rare| rare.brief_description.as_deref()) {
            Some(written) => Cow::Borrowed(written),
            None => brief(&self.description),
        }
    }

    /// Returns the version, as the author wrote it.
    pub fn version(&self) -> Option<&str> {
        self.version.as_deref()
    }

    /// Returns the tools that the skill says it needs. They are shown, never enforced.
    pub fn allowed_tools(&self) -> impl ExactSizeIterator<Item = &str> {
        texts(&self.allowed_tools)
    }

    /// Returns the triggers, which may be empty.
    pub fn triggers(&self) -> &Triggers {
        self.triggers.as_deref().unwrap_or(&NO_TRIGGERS)
    }

    /// Returns the licence.
    pub fn license(&self) -> Option<&str> {
        self.rare()?.license.as_deref()
    }

    /// Returns the `compatibility` text: the environment that the skill needs, in prose.
    pub fn compatibility(&self) -> Option<&str> {
        self.rare()?.compatibility.as_deref()
    }

    /// Returns the model that the skill asks for.
    pub fn model(&self) -> Option<&str> {
        self.rare()?.model.as_deref()
    }

    /// Returns the `argument-hint`: the form of the arguments, for people.
    pub fn argument_hint(&self) -> Option<&str> {
        self.rare()?.argument_hint.as_deref()
    }

    /// Returns the types of content that the skill has: `prompt` unless a `SKILL.yaml` says otherwise.
    pub fn types(&self) -> impl ExactSizeIterator<Item = &str> {
        static PROMPT: LazyLock<TextList> = LazyLock::new(|| Box::new([Box::from("prompt")]));
        let types = self.rare().map(|rare| &rare.types).filter(|types| !types.is_empty());
        texts(types.unwrap_or(&PROMPT))
    }

    /// Returns the modules that export tools, as `path:Export`.
    pub fn toolsets(&self) -> impl ExactSizeIterator<Item = &str> {
        texts(self.rare().map_or(&[], |rare| &rare.toolsets))
    }

    /// Returns the scripts that the manifest names.
    pub fn scripts(&self) -> &[DeclaredScript] {
        self.rare().map_or(&[], |rare| &rare.scripts)
    }

    /// Returns the files in `scripts/` that are not scripts.
    pub fn scripts_ignore(&self) -> impl ExactSizeIterator<Item = &str> {
        texts(self.rare().map_or(&[], |rare| &rare.scripts_ignore))
    }

    /// Returns the permissions that its scripts and toolsets ask for beyond the sandbox.
    pub fn permissions(&self) -> Option<&Permissions> {
        self.rare()?.permissions.as_ref()
    }

    /// Returns the programs that must be on the PATH.
    pub fn requires(&self) -> impl ExactSizeIterator<Item = &str> {
        texts(self.rare().map_or(&[], |rare| &rare.requires))
    }

    /// Returns the file that holds a `SKILL.yaml`'s body (`prompt.system_prompt_file`).
    pub fn prompt_file(&self) -> Option<&str> {
        self.rare()?.prompt_file.as_deref()
    }

    /// Returns the priority, which breaks ties between equal matches; 0 by default.
    pub fn priority(&self) -> i32 {
        self.priority
    }

    /// Returns how long the skill's text stays in a conversation.
    pub fn lifecycle(&self) -> Lifecycle {
        self.rare().map(|rare| rare.lifecycle).unwrap_or_default()
    }

    /// Returns whether a bundled skill is on until the user turns it off.
    pub fn default_enabled(&self) -> bool {
        self.default_enabled
    }

    /// Returns whether only a person may load it, never the model.
    pub fn disable_model_invocation(&self) -> bool {
        self.disable_model_invocation
    }

    /// Returns whether a person may load it by name.
    pub fn user_invocable(&self) -> bool {
        self.user_invocable
    }

    fn rare(&self) -> Option<&RareFields> {
        self.rare.as_deref()
    }
}

fn texts(words: &[Box<str>]) -> impl ExactSizeIterator<Item = &str> {
    words.iter().map(Box::as_ref)
}
