//! The commands to type about errors of the library, which names none: it does not know which program it is part of.

use std::borrow::{Borrow, Cow};
use std::error::Error as StdError;
use std::io;

use serde::Serializer;
use skillcue::catalog::FileError;
use skillcue::format::{Code, Severity};
use skillcue::load::LoadError;
use skillcue::remote::RemoteError;
use skillcue::select::SentenceError;
use skillcue::{Diagnostic, Error, ErrorInfo};
use skillcue_base::Shown;
use skillcue_exec::{ExecError, RunError};
use skillcue_registry::RegistryError;
use skillcue_toolset::ToolError;

/// The command that builds a program with the sentence model.
#[cfg(not(feature = "semantic"))]
pub(crate) const WITH_SEMANTIC: &str =
    "build one with it: `cargo install --path crates/skillcue-cli --features semantic`";

/// The command that builds a program with OCI registries.
#[cfg(not(feature = "oci"))]
pub(crate) const WITH_OCI: &str = "build one with them: `cargo install --path crates/skillcue-cli --features oci`";

/// Returns what to do about an error: the command to type, or else what the library says.
pub(crate) fn hint_of(error: &(impl ErrorInfo + 'static)) -> Option<String> {
    command(error).or_else(|| error.hint().map(Cow::into_owned))
}

/// Returns what to do about an error where a command of this program helps, or one of its options.
fn command(error: &(dyn StdError + 'static)) -> Option<String> {
    if let Some(hint) = for_models(error) {
        return Some(hint);
    }
    #[cfg(feature = "agent")]
    if let Some(hint) = of_agent(error) {
        return Some(hint.into_owned());
    }
    #[cfg(feature = "semantic")]
    if let Some(hint) = of_sentence_model(error) {
        return Some(hint.to_owned());
    }
    if let Some(error) = error.downcast_ref() {
        return of_skill(error);
    }
    if let Some(RunError::NotFound { skill, .. }) = error.downcast_ref() {
        return Some(format!("`skillcue run {skill}` lists its scripts"));
    }
    of_registry(error.downcast_ref()?).map(str::to_owned)
}

/// Returns the commands for errors that tools hand to a model, which it can pass on to the user: what only the user can
/// do. About everything else the library's hints are better for a model, which calls tools and types no commands.
pub(crate) fn for_models(error: &(dyn StdError + 'static)) -> Option<String> {
    if let Some(error) = error.downcast_ref::<Error>() {
        return match error {
            Error::NoSentenceModel => Some("`skillcue model install` downloads it, once: 22 MB".to_owned()),
            Error::SentenceModel(SentenceError::Missing(_) | SentenceError::Damaged(_)) => {
                Some("`skillcue model install` replaces the files that differ".to_owned())
            }
            Error::Invalid { path, .. } => Some(format!("`skillcue lint {}` says more", path.display())),
            Error::Disabled { name } => Some(format!("`{}` switches it on", enable_command([name.as_str()], false))),
            Error::Remote { name, source: RemoteError::NotAllowed(_) } => {
                Some(format!("`skillcue allow {name}` shows what it is and asks"))
            }
            Error::Remote { source: RemoteError::Unreachable(_), .. } => {
                Some("`skillcue status` says how the servers are".to_owned())
            }
            Error::Remote { name, source: RemoteError::NotListed(_) } => {
                Some(format!("`skillcue files {name}` lists what there is"))
            }
            _ => None,
        };
    }
    if let Some(found) = error.downcast_ref() {
        return of_finding(found).map(Cow::into_owned);
    }
    if let Some(RunError::PermissionRequired { asked, reason: None }) = error.downcast_ref() {
        // The name alone may mean another skill.
        let address = Some(asked.details.address.as_str()).filter(|address| !address.is_empty());
        let address = address.or(asked.subject.skill()).unwrap_or_default();
        return Some(format!("look at the skill, then: skillcue allow {}", Shown(address)));
    }
    let started = match error.downcast_ref() {
        Some(ToolError::Start(error)) => Some(error),
        _ => error.downcast_ref(),
    };
    of_code(ExecError::code(started?)).map(str::to_owned)
}

/// Returns the command that switches skills on, for every message that says that one is off.
pub(crate) fn enable_command<'n>(names: impl IntoIterator<Item = &'n str>, project: bool) -> String {
    let mut command = "skillcue enable".to_owned();
    for word in project.then_some("--project").into_iter().chain(names) {
        command.push(' ');
        command.push_str(word);
    }
    command
}

/// Returns a finding of the library with the command to type as its help, if there is one.
pub(crate) fn advised(found: &Diagnostic) -> Diagnostic {
    let mut found = found.clone();
    found.help = hint_of(&found).map(Cow::Owned);
    found
}

/// Writes findings of the library as JSON, each with the command to type as its help, if there is one.
pub(crate) fn serialize<S: Serializer>(found: &[impl Borrow<Diagnostic>], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(found.iter().map(|found| advised(found.borrow())))
}

/// Returns an error of the library as a finding.
pub(crate) fn diagnostic_of(error: &(impl ErrorInfo + 'static), severity: Severity) -> Diagnostic {
    let found = Diagnostic::named(error.code(), severity, error.to_string());
    Diagnostic { help: hint_of(error).map(Cow::Owned), ..found }
}

fn of_finding(found: &Diagnostic) -> Option<Cow<'static, str>> {
    let help = found.help.as_deref().unwrap_or_default();
    match found.code {
        Code::YamlRepaired => Some(Cow::Borrowed("write it that way, or let `skillcue lint --fix` do it")),
        Code::NoFrontMatter if help.starts_with("the file is empty") => {
            Some(Cow::Borrowed("the file is empty; `skillcue new NAME` shows what belongs into it"))
        }
        Code::IndexCache => {
            Some(Cow::Borrowed("the next start will be slower; check the directory, or use --no-cache"))
        }
        Code::UntrustedSwitch => {
            let (verb, name) = (help.split(' ').next()?, found.excerpt.as_deref()?);
            Some(Cow::Owned(format!(
                "`skillcue {verb} {name}` does it for you; `skillcue allow` allows the project to"
            )))
        }
        Code::Named("untrusted_server") => Some(Cow::Borrowed("look at the file; `skillcue allow` allows it")),
        Code::Named("untrusted_limits") => Some(Cow::Borrowed("look at [run] in it; `skillcue allow` allows it")),
        Code::Named("untrusted_agent") => Some(Cow::Borrowed("look at [agent] in it; `skillcue allow` allows it")),
        Code::Named("untrusted_judge") => Some(Cow::Borrowed(
            "look at [select] in it: messages would be sent to its judge; `skillcue allow` allows it",
        )),
        Code::Named("untrusted_path") => {
            let dir = found.excerpt.as_deref()?;
            Some(Cow::Owned(format!("if you trust it, pass --skills-dir {dir}, or run `skillcue allow`")))
        }
        // Of all packages this is the one that can be installed for every skill at once.
        Code::Named("module_not_found") if found.message.contains("the package `zod`") => {
            Some(Cow::Borrowed("run `skillcue toolset setup` once, or install zod in the skill's directory"))
        }
        Code::Named(word) => of_code(word).map(Cow::Borrowed),
        _ => None,
    }
}

fn of_code(code: &str) -> Option<&'static str> {
    match code {
        "no_engine" => Some("install one that has it: `cargo install --path crates/skillcue-cli`"),
        "sandbox_unavailable" => Some(
            "the sandbox needs Linux 5.13 or later with Landlock and seccomp; other systems, macOS among them, have none \
             yet; to run without a sandbox: --allow-unsandboxed",
        ),
        _ => None,
    }
}

fn of_skill(error: &Error) -> Option<String> {
    let missing = |skill: &str| Some(format!("`skillcue files {skill}` lists what it has"));
    match error {
        Error::NotFound { close, .. } if close.is_empty() => Some("`skillcue list` shows what there is".to_owned()),
        Error::File(FileError::NotFound { skill, .. }) => missing(skill),
        Error::Load(LoadError::File(file)) if matches!(**file, FileError::NotFound { .. }) => missing(file.skill()),
        Error::File(FileError::NotText { .. }) => Some("without --json its bytes are printed as they are".to_owned()),
        Error::Load(LoadError::Section { skill, .. }) => {
            Some(format!("`skillcue load {skill} --outline` lists the sections"))
        }
        _ => None,
    }
}

fn of_registry(error: &RegistryError) -> Option<&'static str> {
    Some(match error {
        RegistryError::OtherOrigin { .. } | RegistryError::InTheWay { .. } => {
            "use --replace to install it there; what is there goes to the trash"
        }
        RegistryError::Findings { .. } => "read them; --allow-findings installs it all the same",
        RegistryError::Edited { .. } => {
            "keep your edits elsewhere; --overwrite-edits puts them into the trash (install: --replace)"
        }
        RegistryError::File { error, .. } if error.kind() == io::ErrorKind::StorageFull => {
            "make room (`skillcue gc` empties the trash) and try again"
        }
        RegistryError::NotLinkable { why: "it is off", .. } => "switch it on first: `skillcue enable NAME`",
        RegistryError::NotInstalled { .. } => "`skillcue status` lists what is installed",
        RegistryError::NothingInTrash { .. } => "`skillcue gc` may have emptied it; install it again",
        RegistryError::Address { .. } => "write it as `skillcue list` does: NAME, NAME@SOURCE or PLUGIN:NAME",
        RegistryError::Unfinished { .. } => {
            "the next command finishes it, once it can; `skillcue gc --abandon` gives it up, and sets the journal aside"
        }
        _ => return None,
    })
}

#[cfg(feature = "agent")]
fn of_agent(error: &(dyn StdError + 'static)) -> Option<Cow<'static, str>> {
    use skillcue_agent::model::{EndpointError, ModelError};
    use skillcue_agent::{AgentError, SessionsError, TraceError};

    match error.downcast_ref() {
        Some(AgentError::Model(error)) => return of_agent(error),
        Some(AgentError::Sessions(error)) => return of_agent(error),
        _ => {}
    }
    if let Some(EndpointError::NoKey { variable, .. }) = error.downcast_ref() {
        return Some(Cow::Owned(format!(
            "set {variable}, or name the variable that has it with `api_key_env` below [agent] in skillcue.toml; a model \
             on this machine, such as ollama:qwen3, needs none; nothing was sent"
        )));
    }
    if let Some(SessionsError::BadId { .. } | SessionsError::NotFound { .. }) = error.downcast_ref() {
        return Some(Cow::Borrowed("`skillcue sessions` lists those that there are"));
    }
    if let Some(TraceError::NotFound { .. }) = error.downcast_ref() {
        let hint = "a trace is written while an agent works; `skillcue trace` lists those that there are";
        return Some(Cow::Borrowed(hint));
    }
    let hint = "ask for a shorter answer with --max-tokens, or do not say how long it may be";
    error.downcast_ref::<ModelError>()?.is_about_max_tokens().then_some(Cow::Borrowed(hint))
}

#[cfg(feature = "semantic")]
fn of_sentence_model(error: &(dyn StdError + 'static)) -> Option<&'static str> {
    use skillcue_model::SentenceModelError;

    Some(match error.downcast_ref()? {
        SentenceModelError::Missing { .. } => "`skillcue model install` downloads it, once: 22 MB",
        SentenceModelError::Damaged { .. } => "`skillcue model install` replaces the files that differ",
        SentenceModelError::NotInIndex { .. } => "name a mirror of PyPI with --index-url, or none for PyPI itself",
        SentenceModelError::Download { .. } => {
            "check the connection and the proxy, then try again; --index-url takes it from a mirror of PyPI"
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_go_before_what_the_library_says() {
        let name = || "pdf".to_owned();
        let hint = |error: &Error| hint_of(error).unwrap();
        assert_eq!(hint(&Error::NotFound { name: name(), close: Vec::new() }), "`skillcue list` shows what there is");
        assert_eq!(hint(&Error::NotFound { name: name(), close: vec![name()] }), "did you mean pdf?");
        assert_eq!(hint(&Error::Disabled { name: name() }), "`skillcue enable pdf` switches it on");
        let source = RemoteError::NotAllowed("it is new".to_owned());
        let remote = Error::Remote { name: name(), source };
        assert_eq!(hint(&remote), "`skillcue allow pdf` shows what it is and asks");
        let missing = || FileError::NotFound { skill: "pdf".into(), path: "x".into() };
        assert_eq!(hint(&missing().into()), "`skillcue files pdf` lists what it has");
        assert_eq!(for_models(&Error::from(missing())), None);
        let start = ToolError::Start(ExecError::NoEngine);
        assert!(for_models(&start).unwrap().contains("cargo install --path crates/skillcue-cli`"));
        assert_eq!(hint_of(&start), hint_of(&ExecError::NoEngine));
    }
}
