//! The judge: a model that chooses among the first skills, if the user names one.

use std::sync::Arc;

use skillcue::config::JudgeSection;
use skillcue::select::Judge;

use crate::context::Context;
use crate::error::CliError;

// The judge of a selection.
// No doc comment: clap would open the help of every command that has these with it.
#[derive(Debug, clap::Args)]
pub(crate) struct JudgeArgs {
    /// Let a model choose among the first ten skills: that of skillcue.toml, or this one
    #[arg(long, value_name = "MODEL", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    judge: Option<String>,
}

impl JudgeArgs {
    /// Sets the judge that the options ask for. To be called before the first use of the skills.
    pub(crate) fn apply(&self, context: &Context) -> Result<(), CliError> {
        let Some(asked) = self.judge.as_deref() else { return Ok(()) };
        let mut section = context.settings()?.judge.clone();
        if !asked.is_empty() {
            let model = JudgeSection::checked(asked)
                .map_err(|message| CliError::usage("judge", format!("--judge: {message}")).help(HELP))?;
            // The address is that of the configured one.
            section.base_url = section.base_url.filter(|_| section.model.as_ref() == Some(&model));
            section.model = Some(model);
        }
        let Some(judge) = made(&section, context)? else {
            return Err(CliError::usage("judge", "no judge is set, and --judge wants one")
                .help("write `--judge=MODEL`, or `judge` below [select] in skillcue.toml"));
        };
        context.set_judge(judge);
        Ok(())
    }
}

const HELP: &str = "write a model as for `agent --model`, such as --judge=ollama:qwen3; nothing was sent";

/// Sets the judge of the configuration, if it has one, for commands in which models search. To be called before the first
/// use of the skills.
pub(crate) fn configured(context: &Context) -> Result<(), CliError> {
    if let Some(judge) = made(&context.settings()?.judge, context)? {
        context.set_judge(judge);
    }
    Ok(())
}

/// Makes the judge of a configuration.
#[cfg(feature = "agent")]
fn made(section: &JudgeSection, context: &Context) -> Result<Option<Arc<dyn Judge>>, CliError> {
    use std::time::Duration;

    use skillcue_agent::{JudgeLimits, ModelJudge};

    let Some(model) = &section.model else { return Ok(None) };
    let settings = context.settings()?;
    let variable = |name: &str| std::env::var(name).ok();
    let endpoint = crate::agent::endpoint::judge_endpoint(model, section, &settings.agent, &variable)?;
    let mut limits = JudgeLimits::default();
    limits.deadline = section.deadline_ms.map_or(limits.deadline, |ms| Duration::from_millis(ms.get()));
    limits.counter = settings.disclose.counter.unwrap_or(limits.counter);
    Ok(Some(Arc::new(ModelJudge::new(model, endpoint, limits)?)))
}

#[cfg(not(feature = "agent"))]
fn made(section: &JudgeSection, _: &Context) -> Result<Option<Arc<dyn Judge>>, CliError> {
    match &section.model {
        None => Ok(None),
        Some(_) => Err(CliError::failure("no_agent", "this program was built without the agent, which asks judges")
            .help("build one with it: `cargo install --path crates/skillcue-cli`; or name no judge")),
    }
}
