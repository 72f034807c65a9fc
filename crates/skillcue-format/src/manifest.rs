//! The typed front matter of one skill.

use std::borrow::Cow;
use std::sync::LazyLock;

use serde::Serialize;

use crate::brief::brief;
use crate::{Permissions, SkillName};

/// The typed front matter of one skill. Compact, because catalogs hold a hundred thousand of them: fields that few
/// skills have stand together behind one pointer.
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
    pub(crate) allowed_tools: Words,
    pub(crate) triggers: Option<Box<Triggers>>,
    pub(crate) rare: Option<Box<Rare>>,
    pub(crate) priority: i32,
    pub(crate) default_enabled: bool,
    pub(crate) disable_model_invocation: bool,
    pub(crate) user_invocable: bool,
}

/// A list of texts.
pub(crate) type Words = Box<[Box<str>]>;

/// Fields that few skills have.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Rare {
    pub(crate) license: Option<Box<str>>,
    pub(crate) compatibility: Option<Box<str>>,
    pub(crate) model: Option<Box<str>>,
    pub(crate) argument_hint: Option<Box<str>>,
    pub(crate) brief_description: Option<Box<str>>,
    pub(crate) types: Words,
    pub(crate) toolsets: Words,
    pub(crate) scripts: Box<[Script]>,
    pub(crate) scripts_ignore: Words,
    pub(crate) requires: Words,
    pub(crate) permissions: Option<Permissions>,
    pub(crate) prompt_file: Option<Box<str>>,
}

/// A script that the manifest names.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Script {
    /// Its path below the skill's directory.
    pub path: Box<str>,
    /// What it does, if the manifest says so.
    pub description: Option<Box<str>>,
}

/// When a skill should be considered. The skill's name is always a trigger too, and does not stand here.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Triggers {
    /// Words and phrases.
    pub keywords: Words,
    /// Verbs, matched with their inflections.
    pub verbs: Words,
    /// Regular expressions.
    pub patterns: Words,
    /// Globs on the turn's files.
    pub files: Words,
    /// Programming languages of the turn's files.
    pub languages: Words,
}

impl Triggers {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        [&self.keywords, &self.verbs, &self.patterns, &self.files, &self.languages].iter().all(|list| list.is_empty())
    }
}

static NO_TRIGGERS: LazyLock<Triggers> = LazyLock::new(Triggers::default);

impl Manifest {
    /// A stand-in for front matter that can no longer be read, so that nobody has to fail for it.
    pub fn unknown(name: &str) -> Manifest {
        Manifest {
            name: SkillName::unchecked(name),
            description: Box::default(),
            version: None,
            allowed_tools: Words::default(),
            triggers: None,
            rare: None,
            priority: 0,
            default_enabled: true,
            disable_model_invocation: false,
            user_invocable: true,
        }
    }

    /// The name, canonical.
    pub fn name(&self) -> &SkillName {
        &self.name
    }

    /// What the skill does and when to use it.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// `brief_description`, or the description's first sentence.
    pub fn brief(&self) -> Cow<'_, str> {
        match self.rare().and_then(|rare| rare.brief_description.as_deref()) {
            Some(written) => Cow::Borrowed(written),
            None => brief(&self.description),
        }
    }

    /// The version, as the author wrote it.
    pub fn version(&self) -> Option<&str> {
        self.version.as_deref()
    }

    /// The tools that the skill says it needs. Shown, never enforced.
    pub fn allowed_tools(&self) -> impl ExactSizeIterator<Item = &str> {
        texts(&self.allowed_tools)
    }

    /// When the skill should be considered.
    pub fn triggers(&self) -> &Triggers {
        self.triggers.as_deref().unwrap_or(&NO_TRIGGERS)
    }

    /// The licence.
    pub fn license(&self) -> Option<&str> {
        self.rare()?.license.as_deref()
    }

    /// What the skill needs around it, in words.
    pub fn compatibility(&self) -> Option<&str> {
        self.rare()?.compatibility.as_deref()
    }

    /// The model that the skill asks for.
    pub fn model(&self) -> Option<&str> {
        self.rare()?.model.as_deref()
    }

    /// What arguments look like, for people.
    pub fn argument_hint(&self) -> Option<&str> {
        self.rare()?.argument_hint.as_deref()
    }

    /// What the skill brings: `prompt` unless a `SKILL.yaml` says otherwise.
    pub fn types(&self) -> impl ExactSizeIterator<Item = &str> {
        static PROMPT: LazyLock<Words> = LazyLock::new(|| Box::new([Box::from("prompt")]));
        let types = self.rare().map(|rare| &rare.types).filter(|types| !types.is_empty());
        texts(types.unwrap_or(&PROMPT))
    }

    /// Modules that export tools, as `path:Export`.
    pub fn toolsets(&self) -> impl ExactSizeIterator<Item = &str> {
        texts(self.rare().map_or(&[], |rare| &rare.toolsets))
    }

    /// Scripts that the manifest names.
    pub fn scripts(&self) -> &[Script] {
        self.rare().map_or(&[], |rare| &rare.scripts)
    }

    /// Files in `scripts/` that are no scripts.
    pub fn scripts_ignore(&self) -> impl ExactSizeIterator<Item = &str> {
        texts(self.rare().map_or(&[], |rare| &rare.scripts_ignore))
    }

    /// What its scripts and toolsets ask for beyond the sandbox.
    pub fn permissions(&self) -> Option<&Permissions> {
        self.rare()?.permissions.as_ref()
    }

    /// Programs that must be on the PATH.
    pub fn requires(&self) -> impl ExactSizeIterator<Item = &str> {
        texts(self.rare().map_or(&[], |rare| &rare.requires))
    }

    /// The file that holds a `SKILL.yaml`'s body (`prompt.system_prompt_file`).
    pub fn prompt_file(&self) -> Option<&str> {
        self.rare()?.prompt_file.as_deref()
    }

    /// Breaks ties between equals; 0 unless said otherwise.
    pub fn priority(&self) -> i32 {
        self.priority
    }

    /// Whether a bundled skill is on until somebody turns it off.
    pub fn default_enabled(&self) -> bool {
        self.default_enabled
    }

    /// Whether only a person may load it, never the model.
    pub fn disable_model_invocation(&self) -> bool {
        self.disable_model_invocation
    }

    /// Whether a person may load it by name.
    pub fn user_invocable(&self) -> bool {
        self.user_invocable
    }

    fn rare(&self) -> Option<&Rare> {
        self.rare.as_deref()
    }
}

fn texts(words: &[Box<str>]) -> impl ExactSizeIterator<Item = &str> {
    words.iter().map(Box::as_ref)
}
