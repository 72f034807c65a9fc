//! The part about the agent.

use std::fmt;

use serde::Deserialize;

/// The part about `skillcue agent`: which model, where it is, and what it may do without asking.
///
/// ```
/// let config = skillcue::config::Config::parse("[agent]\nmodel = \"ollama:qwen3\"\nallow = [\"scripts\"]\n").unwrap();
/// assert_eq!(config.agent.model.as_deref(), Some("ollama:qwen3"));
/// assert_eq!(config.agent.allow.as_deref(), Some(&[skillcue::config::AgentAllow::Scripts][..]));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentSection {
    /// The model: a name, or `PROVIDER:NAME`.
    pub model: Option<String>,
    /// The API of the model, if its name does not say so.
    pub api: Option<AgentApi>,
    /// The model's address, if it is not its provider's default.
    pub base_url: Option<String>,
    /// The key for the API. It is never printed.
    pub api_key: Option<ApiKey>,
    /// The variable that holds the key.
    pub api_key_env: Option<String>,
    /// The number of tokens in the model's context window.
    pub window: Option<u64>,
    /// The number of tokens that an answer may have.
    pub max_tokens: Option<u32>,
    /// The number of requests to the model in one turn.
    pub rounds: Option<u32>,
    /// Whether skills that fit what the model does are named during a turn.
    pub hints: Option<bool>,
    /// Whether facts that users say about themselves are remembered.
    pub memory: Option<bool>,
    /// The actions that need no question to the user.
    pub allow: Option<Vec<AgentAllow>>,
    /// The number of attempts for a request that fails.
    pub attempts: Option<u32>,
    /// The pause before the second attempt, in milliseconds; twice as long before each further one.
    pub backoff_ms: Option<u64>,
    /// The number of seconds that a server may be silent.
    pub idle_s: Option<u64>,
    /// The instructions for the model, in place of the default ones.
    pub system: Option<String>,
}

/// The API of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AgentApi {
    /// OpenAI's chat completions, which most servers speak.
    OpenAi,
    /// Anthropic's messages.
    Anthropic,
}

/// An action that needs no question to the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AgentAllow {
    /// Loading skills that are not allowed yet.
    Skills,
    /// Running scripts.
    Scripts,
    /// Calling tools of toolsets.
    Tools,
    /// All of that.
    All,
}

/// A key. `Debug` does not show it.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct ApiKey(String);

impl ApiKey {
    /// Returns the key itself, to send it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey(…)")
    }
}

/// The words that may precede a model's name.
pub(super) const PROVIDERS: [&str; 6] = ["openai", "anthropic", "ollama", "llamacpp", "lmstudio", "vllm"];

/// Returns the provider of a model, according to its name.
fn provider(model: &str) -> &str {
    match model.split_once(':') {
        Some((word, _)) if PROVIDERS.iter().any(|known| known.eq_ignore_ascii_case(word)) => word,
        _ if model.to_ascii_lowercase().starts_with("claude") => "anthropic",
        _ => "openai",
    }
}

impl AgentSection {
    /// Chooses another model. The address and the key of the old one are kept for the new one only if both have the
    /// same provider: a key must not be sent to another.
    ///
    /// ```
    /// let text = "[agent]\nmodel = \"gpt-5\"\napi_key = \"sk-1\"\n";
    /// let mut agent = skillcue::config::Config::parse(text).unwrap().agent;
    /// agent.choose("openai:gpt-5-mini");
    /// assert!(agent.api_key.is_some());
    /// agent.choose("claude-sonnet-5");
    /// assert!(agent.api_key.is_none());
    /// ```
    pub fn choose(&mut self, model: impl Into<String>) {
        let model = model.into();
        if self.model.as_deref().is_some_and(|old| !provider(old).eq_ignore_ascii_case(provider(&model))) {
            self.forget_server();
        }
        self.model = Some(model);
    }

    fn forget_server(&mut self) {
        (self.api, self.base_url, self.api_key, self.api_key_env) = (None, None, None, None);
    }

    pub(super) fn merge(&mut self, higher: AgentSection) {
        if higher.base_url.is_some() {
            self.forget_server();
        }
        if let Some(model) = higher.model {
            self.choose(model);
        }
        self.api = higher.api.or(self.api);
        self.base_url = higher.base_url.or(self.base_url.take());
        // Of the two settings for a key, the later file's counts.
        if higher.api_key.is_some() || higher.api_key_env.is_some() {
            (self.api_key, self.api_key_env) = (higher.api_key, higher.api_key_env);
        }
        self.window = higher.window.or(self.window);
        self.max_tokens = higher.max_tokens.or(self.max_tokens);
        self.rounds = higher.rounds.or(self.rounds);
        self.hints = higher.hints.or(self.hints);
        self.memory = higher.memory.or(self.memory);
        self.allow = higher.allow.or(self.allow.take());
        self.attempts = higher.attempts.or(self.attempts);
        self.backoff_ms = higher.backoff_ms.or(self.backoff_ms);
        self.idle_s = higher.idle_s.or(self.idle_s);
        self.system = higher.system.or(self.system.take());
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::Config;

    fn parse(text: &str) -> AgentSection {
        Config::parse(&format!("[agent]\n{text}")).unwrap().agent
    }

    #[test]
    fn everything_can_be_said() {
        let agent = parse(
            "model = \"m\"\napi = \"anthropic\"\nbase_url = \"http://a\"\napi_key = \"k\"\napi_key_env = \"K\"\nwindow = 8192\nmax_tokens = 5\nrounds = 3\nhints = false\nmemory = true\nallow = [\"skills\", \"scripts\", \"tools\", \"all\"]\nattempts = 2\nbackoff_ms = 10\nidle_s = 4\nsystem = \"s\"\n",
        );
        assert_eq!((agent.api, agent.window, agent.idle_s), (Some(AgentApi::Anthropic), Some(8192), Some(4)));
        assert_eq!(agent.allow.map(|all| all.len()), Some(4));
        assert_eq!(parse("api = \"openai\"").api, Some(AgentApi::OpenAi));
        let error = Config::parse("[agent]\nallow = [\"everything\"]\n").unwrap_err();
        assert_eq!((error.line, error.message.contains("skills")), (2, true), "{error}");
    }

    #[test]
    fn a_key_is_not_shown() {
        let agent = parse("api_key = \"sk-secret\"");
        assert!(!format!("{agent:?}").contains("secret"));
        assert_eq!(agent.api_key.as_ref().map(ApiKey::reveal), Some("sk-secret"));
    }

    #[test]
    fn a_key_stays_with_its_server() {
        let user = "model = \"gpt-5\"\napi_key = \"sk-1\"\nrounds = 3";
        let key = |later: &str| {
            let mut user = parse(user);
            user.merge(parse(later));
            assert_eq!(user.rounds, Some(3));
            user.api_key.map(|key| key.reveal().to_owned())
        };
        assert_eq!(key("model = \"gpt-5-mini\"").as_deref(), Some("sk-1"));
        assert_eq!(key("base_url = \"http://elsewhere\""), None);
        assert_eq!(key("model = \"claude-sonnet-5\""), None);
        assert_eq!(key("model = \"ollama:qwen3\""), None);
        assert_eq!(key("api_key = \"sk-2\"").as_deref(), Some("sk-2"));
        assert_eq!(key("api_key_env = \"KEY\""), None, "the later word on it counts");
    }

    #[test]
    fn a_name_may_have_a_colon() {
        assert_eq!((provider("qwen3:8b"), provider("ollama:qwen3:8b")), ("openai", "ollama"));
        let mut agent = parse("model = \"qwen3:8b\"\nbase_url = \"http://gpu\"");
        agent.choose("llama3:8b");
        assert_eq!(agent.base_url.as_deref(), Some("http://gpu"));
    }

    #[test]
    fn a_project_says_nothing_about_the_agent() {
        let mut config = Config::parse("[agent]\nbase_url = \"http://evil\"\nmemory = false\n").unwrap();
        let distrusted = config.distrust(Path::new("/project"));
        assert_eq!(distrusted.agent.base_url.as_deref(), Some("http://evil"));
        assert!(!distrusted.is_empty());
        assert_eq!(config.agent, AgentSection::default());
    }
}
