//! The model's endpoint: flags over variables over files.

use std::time::Duration;

use skillcue::config::{AgentApi, AgentSection, JudgeSection};
use skillcue_agent::model::{Api, Endpoint, EndpointError, Overrides, RequestTiming, Secret};

use crate::cli::words;
use crate::error::CliError;

// Arguments that choose the model.
// No doc comment: clap would open the help of every command that has these with it.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct ModelArgs {
    /// The model: a name, or PROVIDER:NAME with openai, anthropic, ollama, llamacpp, lmstudio or vllm
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// The model's address, if it is not its provider's usual one
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// The API of the model, if its name does not say which
    #[arg(long, value_parser = words(APIS))]
    pub(crate) api: Option<Api>,
}

const APIS: &[(&str, Api, &str)] = &[
    ("openai", Api::OpenAi, "`OpenAI`'s chat completions, which most servers speak"),
    ("anthropic", Api::Anthropic, "Anthropic's messages"),
];

/// Returns the endpoint that flags, variables and files choose.
pub(crate) fn endpoint(
    args: &ModelArgs,
    section: &AgentSection,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<Endpoint, CliError> {
    let mut section = section.clone();
    let by_variable = || variable("SKILLCUE_MODEL").filter(|value| !value.is_empty());
    if let Some(model) = args.model.clone().or_else(by_variable) {
        section.choose(model);
    }
    let Some(model) = section.model.clone() else { return Err(no_model()) };
    resolved(&model, args, &section, variable)
}

/// Returns the endpoint of a judge. Unless it has an address of its own, the address and the key of the agent's model
/// count if both have one provider.
pub(crate) fn judge_endpoint(
    model: &str,
    judge: &JudgeSection,
    agent: &AgentSection,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<Endpoint, CliError> {
    let mut section = agent.clone();
    section.choose(model);
    let args = ModelArgs { base_url: judge.base_url.clone(), ..ModelArgs::default() };
    resolved(model, &args, &section, variable)
}

/// Returns the endpoint of a model, with the address and the key that flags, variables and files choose.
fn resolved(
    model: &str,
    args: &ModelArgs,
    section: &AgentSection,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<Endpoint, CliError> {
    let variable = |name: &str| variable(name).filter(|value| !value.is_empty());
    let configured = section.api.map(|api| match api {
        AgentApi::OpenAi => Api::OpenAi,
        AgentApi::Anthropic => Api::Anthropic,
    });
    let api = args.api.or(configured);
    // A variable that the file names is as good as the usual one, and was chosen.
    let named = match &section.api_key_env {
        Some(name) => Some(variable(name).ok_or_else(|| {
            // The user may have written the key itself there, which must not be shown.
            let is_name = name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
            let name = if is_name { name.as_str() } else { "that it names" };
            CliError::usage("api_key", format!("the variable {name} is not set, and `api_key_env` wants it"))
                .help("set it to the key, or name another variable below [agent] in skillcue.toml")
        })?),
        None => None,
    };
    let over = Overrides { api, base_url: args.base_url.clone(), key: named.map(Secret::new) };
    let endpoint = with_files(model, over, section, &variable).map_err(|error| CliError::of_usage(&error))?;
    Ok(Endpoint { timing: timing(section), ..endpoint })
}

/// Resolves the endpoint, with the address and key of files where neither flags nor variables have any.
fn with_files(
    model: &str,
    mut over: Overrides,
    section: &AgentSection,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<Endpoint, EndpointError> {
    // Variables count for some providers and not for others: this shows whether they do here.
    let without = Endpoint::resolve(model, &over, variable).ok();
    let by_variable = without.as_ref().is_some_and(|endpoint| {
        let usual = match endpoint.api {
            Api::OpenAi => "OPENAI_BASE_URL",
            Api::Anthropic => "ANTHROPIC_BASE_URL",
        };
        over.base_url.is_none() && variable(usual).is_some_and(|url| url == endpoint.base_url)
    });
    if over.base_url.is_none() && !by_variable {
        over.base_url.clone_from(&section.base_url);
    }
    // The key of the server that a file names is for no other one.
    let is_elsewhere = match &section.base_url {
        Some(url) => over.base_url.as_ref() != Some(url),
        None => over.base_url.is_some() || by_variable,
    };
    if over.key.is_none() && !is_elsewhere && without.is_none_or(|endpoint| endpoint.key.is_none()) {
        over.key = section.api_key.as_ref().map(|key| Secret::new(key.reveal().to_owned()));
    }
    Endpoint::resolve(model, &over, variable)
}

fn timing(section: &AgentSection) -> RequestTiming {
    let mut timing = RequestTiming::default();
    timing.attempts = section.attempts.map_or(timing.attempts, |attempts| attempts.max(1));
    timing.backoff = section.backoff_ms.map_or(timing.backoff, Duration::from_millis);
    timing.idle = section.idle_s.map_or(timing.idle, Duration::from_secs);
    timing
}

fn no_model() -> CliError {
    CliError::usage(
        "model",
        "no model is set: say `--model NAME`, set SKILLCUE_MODEL, or write `model` below [agent] in skillcue.toml",
    )
    .help(
        "a name is for example gpt-5 or claude-sonnet-5, which need OPENAI_API_KEY or ANTHROPIC_API_KEY, or \
         ollama:qwen3, which runs on this machine; nothing was sent",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the endpoint for a file's section, flags and variables.
    fn at(
        section: &str,
        model: Option<&str>,
        url: Option<&str>,
        variables: &[(&str, &str)],
    ) -> Result<Endpoint, String> {
        let section = skillcue::config::Config::parse(&format!("[agent]\n{section}")).unwrap().agent;
        let args = ModelArgs { model: model.map(Into::into), base_url: url.map(Into::into), api: None };
        let variable = |name: &str| variables.iter().find(|(of, _)| *of == name).map(|(_, value)| (*value).to_owned());
        endpoint(&args, &section, &variable)
            .map_err(|error| format!("{}: {} {}", error.code(), error.message(), error.hint().unwrap_or_default()))
    }

    fn key(endpoint: &Endpoint) -> String {
        // Nothing shows a key, but it can be seen that it hides one.
        ["file", "open", "named"].into_iter().filter(|key| hides(endpoint, key)).collect()
    }

    fn hides(endpoint: &Endpoint, key: &str) -> bool {
        endpoint.key.as_ref().is_some_and(|secret| secret.hide_in(key) == "[key]")
    }

    #[test]
    fn flags_count_more_than_variables_and_those_more_than_files() {
        let file = "model = \"m1\"\nbase_url = \"http://file\"\napi_key = \"file\"";
        let found = at(file, None, None, &[]).unwrap();
        assert_eq!(
            (found.model.as_str(), found.base_url.as_str(), key(&found).as_str()),
            ("m1", "http://file", "file")
        );
        let variables = [("SKILLCUE_MODEL", "m2"), ("OPENAI_BASE_URL", "http://var"), ("OPENAI_API_KEY", "open")];
        let found = at(file, None, None, &variables).unwrap();
        assert_eq!((found.model.as_str(), found.base_url.as_str(), key(&found).as_str()), ("m2", "http://var", "open"));
        let found = at(file, Some("m3"), Some("http://flag"), &variables).unwrap();
        assert_eq!((found.model.as_str(), found.base_url.as_str()), ("m3", "http://flag"));
        let found = at("model = \"m\"\nattempts = 2\nidle_s = 3\nbase_url = \"http://x\"", None, None, &[]).unwrap();
        assert_eq!((found.timing.attempts, found.timing.idle), (2, Duration::from_secs(3)));
    }

    #[test]
    fn a_key_goes_to_its_own_server_only() {
        let file = "model = \"m1\"\nbase_url = \"http://file\"\napi_key = \"file\"";
        let found = at(file, None, None, &[("OPENAI_BASE_URL", "http://var")]).unwrap();
        assert_eq!((found.base_url.as_str(), key(&found).as_str()), ("http://var", ""));
        let found = at(file, None, Some("http://flag"), &[]).unwrap();
        assert_eq!(key(&found), "");
        let found = at(file, Some("ollama:q"), None, &[("OPENAI_API_KEY", "open")]).unwrap();
        assert_eq!((found.base_url.as_str(), key(&found).as_str()), ("http://localhost:11434/v1", ""));
        let local = "model = \"ollama:q\"\nbase_url = \"http://gpu\"";
        let found = at(local, None, None, &[("OPENAI_BASE_URL", "http://var"), ("OPENAI_API_KEY", "open")]).unwrap();
        assert_eq!((found.base_url.as_str(), key(&found).as_str()), ("http://gpu", ""), "variables do not mean it");
    }

    #[test]
    fn a_named_variable_has_the_key() {
        let file = "model = \"m\"\napi_key_env = \"MINE\"";
        let found = at(file, None, None, &[("MINE", "named"), ("OPENAI_API_KEY", "open")]).unwrap();
        assert_eq!(key(&found), "named");
        let missing = at(file, None, None, &[("OPENAI_API_KEY", "open")]).unwrap_err();
        assert!(missing.starts_with("api_key: the variable MINE is not set, and `api_key_env` wants it"), "{missing}");
    }

    #[test]
    fn errors_name_the_missing_setting() {
        let missing = at("", None, None, &[("SKILLCUE_MODEL", "")]).unwrap_err();
        for way in ["model:", "--model NAME", "SKILLCUE_MODEL", "[agent]", "ollama:qwen3", "nothing was sent"] {
            assert!(missing.contains(way), "{way}: {missing}");
        }
        let missing = at("", Some("gpt-5"), None, &[]).unwrap_err();
        assert!(missing.contains("OPENAI_API_KEY") && missing.contains("api_key_env"), "{missing}");
        let missing = at("", Some("claude-x"), None, &[("OPENAI_API_KEY", "open")]).unwrap_err();
        assert!(missing.contains("ANTHROPIC_API_KEY"), "{missing}");
    }

    #[test]
    fn a_files_key_goes_where_the_file_says_or_to_the_provider() {
        let file = "model = \"openai:x\"\napi_key = \"sk-file\"";
        assert!(at(file, None, None, &[]).unwrap().key.is_some(), "to the provider itself");
        assert!(at(file, None, Some("http://localhost:1/v1"), &[]).unwrap().key.is_none());
        assert!(at(file, None, None, &[("OPENAI_BASE_URL", "http://localhost:1/v1")]).unwrap().key.is_none());
        let file = format!("{file}\nbase_url = \"http://localhost:1/v1\"");
        assert!(at(&file, None, None, &[]).unwrap().key.is_some());
        assert!(at(&file, None, Some("http://localhost:2/v1"), &[]).unwrap().key.is_none());
    }
}
