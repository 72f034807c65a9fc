//! Consent to what a skill on this machine wants: to be loaded by a model, and to run its scripts and toolsets.

use skillcue::Source;
use skillcue::catalog::SkillDir;
use skillcue::consent::{Question, Subject};
use skillcue::format::Permissions;
use skillcue_exec::{RunRequest, find_script, scripts};

use super::{Args, ConsentRequest};
use crate::consent::described;
use crate::context::Context;
use crate::error::CliError;

/// Returns what a skill wants: all that needs consent, or what the options name.
pub(super) fn wanted(name: &str, args: &Args, context: &Context) -> Result<ConsentRequest, CliError> {
    let catalog = context.skills()?.catalog();
    let skill = skillcue::catalog::usable(&catalog, name)?;
    let dir = SkillDir::open(skill.name(), &skill.dir()).map_err(skillcue::Error::from)?;
    let nothing = Permissions::default();
    let asked = skill.manifest().permissions().unwrap_or(&nothing);
    // Skills that come with the program may run without asking, but for what their scripts ask for beyond the sandbox.
    let is_bundled = skill.source() == Source::Bundled;
    let runner = context.runner(false)?;
    let mut questions = Vec::new();
    if args.load && !skill.is_open_to_models() {
        let message = format!("{:?} is not for models: it says disable-model-invocation", skill.name());
        return Err(CliError::failure("nothing_asked", message).help("leave out --load"));
    }
    if args.load || (!args.is_narrow() && skill.is_foreign() && skill.is_open_to_models()) {
        questions.push(Question::for_skill(&dir, Subject::load(&dir))?);
    }
    let mut paths: Vec<String> = scripts(&dir, skill.manifest()).into_iter().map(|script| script.path).collect();
    if args.is_narrow() {
        // As `run` takes them.
        let found = args.script.iter().map(|script| find_script(&RunRequest::new(&dir, skill.manifest(), script)));
        let meant = found.collect::<Result<Vec<_>, _>>()?;
        paths.retain(|path| meant.iter().any(|script| script.path == *path));
    }
    for path in &paths {
        let question = runner.script_question(&dir, path, asked)?;
        if !is_bundled || !question.permissions.asked.is_empty() || args.is_narrow() {
            questions.push(question);
        }
    }
    let has_toolsets = skill.manifest().toolsets().next().is_some();
    if args.toolsets && !has_toolsets {
        return Err(CliError::failure("not_found", format!("{:?} has no toolsets", skill.name()))
            .help(format!("`skillcue show {name}` shows what it has")));
    }
    if args.toolsets || (!args.is_narrow() && has_toolsets && !is_bundled) {
        // Toolsets get nothing beyond the sandbox, whatever the manifest asks for.
        questions.push(Question::for_skill(&dir, Subject::toolset(&dir))?);
    }
    if questions.is_empty() {
        return Err(CliError::failure("nothing_asked", format!("{name:?} asks for nothing that needs consent"))
            .help("it can be loaded, and what it runs stays in the sandbox"));
    }
    Ok(ConsentRequest {
        name: name.to_owned(),
        described: format!("{}\nThe agent does not ask about it again.", described(skill, &questions, context)),
        prompt: "Allow exactly this, for exactly these files?",
        questions,
    })
}
