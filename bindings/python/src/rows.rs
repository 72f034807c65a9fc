//! Results whose fields are part of the Python interface, as plain values.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use serde::{Serialize, Serializer};
use skillcue::format::Triggers;
use skillcue::tools::{Effect, ToolOutput};
use skillcue::{Diagnostic, Manifest, Skill, Source};
use skillcue_exec::RunResult;
use skillcue_format::{Node, Parsed};

/// The fields that a manifest has.
#[derive(Serialize)]
pub(crate) struct ManifestRow<'m> {
    name: &'m str,
    description: &'m str,
    brief_description: Cow<'m, str>,
    version: Option<&'m str>,
    types: Vec<&'m str>,
    allowed_tools: Vec<&'m str>,
    model: Option<&'m str>,
    argument_hint: Option<&'m str>,
    compatibility: Option<&'m str>,
    license: Option<&'m str>,
    requires: Vec<&'m str>,
    toolsets: Vec<&'m str>,
    priority: i32,
    disable_model_invocation: bool,
    user_invocable: bool,
    triggers: &'m Triggers,
}

impl<'m> ManifestRow<'m> {
    pub(crate) fn of(manifest: &'m Manifest) -> ManifestRow<'m> {
        ManifestRow {
            name: manifest.name().as_str(),
            description: manifest.description(),
            brief_description: manifest.brief(),
            version: manifest.version(),
            types: manifest.types().collect(),
            allowed_tools: manifest.allowed_tools().collect(),
            model: manifest.model(),
            argument_hint: manifest.argument_hint(),
            compatibility: manifest.compatibility(),
            license: manifest.license(),
            requires: manifest.requires().collect(),
            toolsets: manifest.toolsets().collect(),
            priority: manifest.priority(),
            disable_model_invocation: manifest.disable_model_invocation(),
            user_invocable: manifest.user_invocable(),
            triggers: manifest.triggers(),
        }
    }
}

/// Level 1 of a skill.
#[derive(Serialize)]
pub(crate) struct SkillRow<'s> {
    #[serde(flatten)]
    manifest: ManifestRow<'s>,
    id: String,
    source: Source,
    plugin: Option<&'s str>,
    server: Option<&'s str>,
    #[serde(serialize_with = "path")]
    dir: PathBuf,
    #[serde(serialize_with = "path")]
    path: PathBuf,
    enabled: bool,
    available: bool,
    shadowed: bool,
    foreign: bool,
    tokens: usize,
}

impl<'s> SkillRow<'s> {
    /// Returns the row of a skill whose manifest was made for it: a catalog need not keep all of them.
    pub(crate) fn of(skill: &'s Skill, manifest: &'s Manifest) -> SkillRow<'s> {
        SkillRow {
            manifest: ManifestRow::of(manifest),
            id: skill.id(),
            source: skill.source(),
            plugin: skill.plugin(),
            server: skill.server(),
            dir: skill.dir(),
            path: skill.path(),
            enabled: skill.enabled(),
            available: skill.available(),
            shadowed: skill.shadowed(),
            foreign: skill.is_foreign(),
            tokens: skill.body_tokens().0,
        }
    }
}

/// A skill file that was parsed by itself.
#[derive(Serialize)]
pub(crate) struct ParsedRow<'p> {
    manifest: Option<ManifestRow<'p>>,
    raw: Option<&'p Node<'p>>,
    body: Cow<'p, str>,
    body_start: usize,
    diagnostics: &'p [Diagnostic],
}

impl<'p> ParsedRow<'p> {
    pub(crate) fn of(parsed: &'p Parsed<'p>, bytes: &'p [u8]) -> ParsedRow<'p> {
        ParsedRow {
            manifest: parsed.manifest.as_ref().map(ManifestRow::of),
            raw: parsed.raw.as_ref(),
            body: String::from_utf8_lossy(bytes.get(parsed.body..).unwrap_or_default()),
            body_start: parsed.body,
            diagnostics: &parsed.diagnostics,
        }
    }
}

/// The output of a tool.
#[derive(Serialize)]
pub(crate) struct ToolRow<'t> {
    text: &'t str,
    structured: Option<&'t serde_json::Value>,
    is_error: bool,
    loaded: Option<&'t str>,
}

impl<'t> ToolRow<'t> {
    pub(crate) fn of(output: &'t ToolOutput) -> ToolRow<'t> {
        let loaded = match &output.effect {
            Some(Effect::Loaded { name, .. }) => Some(name.as_str()),
            _ => None,
        };
        ToolRow { text: &output.text, structured: output.structured.as_ref(), is_error: output.is_error, loaded }
    }
}

/// The result of a script.
#[derive(Serialize)]
pub(crate) struct RunRow<'r> {
    exit_code: Option<i32>,
    signal: Option<i32>,
    #[serde(serialize_with = "bytes")]
    stdout_bytes: &'r [u8],
    #[serde(serialize_with = "bytes")]
    stderr_bytes: &'r [u8],
    truncated: bool,
    duration: f64,
    sandboxed: bool,
    layers: &'r [skillcue_exec::Layer],
}

impl<'r> RunRow<'r> {
    pub(crate) fn of(result: &'r RunResult) -> RunRow<'r> {
        RunRow {
            exit_code: result.exit_code,
            signal: result.signal,
            stdout_bytes: &result.stdout,
            stderr_bytes: &result.stderr,
            truncated: result.truncated,
            duration: result.duration.as_secs_f64(),
            sandboxed: result.sandboxed,
            layers: &result.sandbox.layers,
        }
    }
}

/// Writes a path as text. Of one that is not UTF-8, this is the best that JSON has.
fn path<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&path.to_string_lossy())
}

fn bytes<S: Serializer>(bytes: &&[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_bytes(bytes)
}
