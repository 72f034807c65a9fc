//! The endpoint of a model: its server, its API, its key.

use std::net::IpAddr;
use std::time::Duration;

use skillcue_base::{ErrorInfo, Shown};
use skillcue_http::is_this_machine;
use skillcue_http::reqwest::{self, Url};

use super::Secret;

/// The API of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Api {
    /// OpenAI's chat completions, which most servers understand.
    OpenAi,
    /// Anthropic's messages.
    Anthropic,
}

impl Api {
    /// Returns its name in configuration and traces: `openai`, `anthropic`.
    pub fn name(self) -> &'static str {
        match self {
            Api::OpenAi => "openai",
            Api::Anthropic => "anthropic",
        }
    }

    /// Returns the API of that name.
    pub fn of_name(name: &str) -> Option<Api> {
        [Api::OpenAi, Api::Anthropic].into_iter().find(|api| api.name() == name)
    }
}

/// Timeouts and retries of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestTiming {
    /// For a connection: 10 s.
    pub connect: Duration,
    /// For the next content of an answer: 120 s, whatever else the server sends. Content is words, thoughts, calls and
    /// their arguments; comments, pings and empty chunks are none. Until the first content, and while the arguments of a
    /// call are awaited, a server that sends those is waited for ten times as long: a local model may take minutes to
    /// read a long request. A server that sends nothing at all is never waited for longer than this.
    pub idle: Duration,
    /// For one answer, from the request to its end, whatever the server says meanwhile: an hour, but never less than
    /// `idle`. After that it is not asked again: the next answer would take as long.
    pub total: Duration,
    /// How many requests are made for one answer: 5.
    pub attempts: u32,
    /// Between the first two of them, unless the server says how long: half a second. It is doubled each time, and up to
    /// half of it is left off at random, so that many clients do not come back all at once.
    pub backoff: Duration,
    /// The longest wait that doubling leads to: 30 s.
    pub most_backoff: Duration,
}

impl Default for RequestTiming {
    fn default() -> RequestTiming {
        RequestTiming {
            connect: Duration::from_secs(10),
            idle: Duration::from_mins(2),
            total: Duration::from_hours(1),
            attempts: 5,
            backoff: Duration::from_millis(500),
            most_backoff: Duration::from_secs(30),
        }
    }
}

/// The endpoint of a model: its address, and how it is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// The API of the server.
    pub api: Api,
    /// The model, as the server calls it.
    pub model: String,
    /// The address below which `/chat/completions` or `/v1/messages` is.
    pub base_url: String,
    /// The key, if the server wants one.
    pub key: Option<Secret>,
    /// Timeouts and retries.
    pub timing: RequestTiming,
}

/// Settings beside the model's name, which override variables and defaults.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Overrides {
    /// The API of the server.
    pub api: Option<Api>,
    /// The address.
    pub base_url: Option<String>,
    /// Its key.
    pub key: Option<Secret>,
}

/// The reason why an endpoint cannot be resolved.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, ErrorInfo)]
#[non_exhaustive]
pub enum EndpointError {
    /// No model is named.
    #[error("{:?} names no model", Shown(spec).to_string())]
    #[info(
        code = "no_model",
        hint = "say PROVIDER:MODEL or MODEL, as in `anthropic:claude-sonnet-4-5` or `ollama:qwen3`"
    )]
    NoModel {
        /// The name that was given.
        spec: String,
    },
    /// The provider wants a key, and there is none.
    #[error("{provider} wants a key, and there is none")]
    #[info(code = "no_key", hint = "set {variable}, or name another server; one of your own needs no key")]
    NoKey {
        /// The provider.
        provider: &'static str,
        /// The variable for it.
        variable: &'static str,
    },
    /// The key cannot be sent.
    #[error("the key has characters that no header may have")]
    #[info(code = "bad_key", hint = "copy it again: a key is one word of letters, digits and signs")]
    Key,
    /// The address is none.
    #[error("{:?} is no address of a model server: {reason}", Shown(url).to_string())]
    #[info(code = "bad_url", hint = "an address looks like http://localhost:8080/v1")]
    Url {
        /// The address that was given.
        url: String,
        /// The reason.
        reason: String,
    },
    /// The key would go over the net unencrypted.
    #[error("the key would go to {:?} unencrypted", Shown(host).to_string())]
    #[info(code = "insecure", hint = "use https, or a machine of your own network, or send no key; nothing was sent")]
    Insecure {
        /// The server.
        host: String,
    },
    /// The provider does not speak the API that was asked for.
    #[error("{provider} has no API called {}", api.name())]
    #[info(code = "bad_api", hint = "leave the API out: it follows from the provider")]
    Api {
        /// The provider.
        provider: &'static str,
        /// The API that was asked for.
        api: Api,
    },
}

/// A provider or a server program with a well-known address.
struct KnownServer {
    name: &'static str,
    api: Api,
    url: &'static str,
    /// Runs on machines of its users: wants no key, is meant by no variable, and may speak either API.
    own: bool,
}

const PROVIDERS: [KnownServer; 6] = [
    KnownServer { name: "openai", api: Api::OpenAi, url: "https://api.openai.com/v1", own: false },
    KnownServer { name: "anthropic", api: Api::Anthropic, url: "https://api.anthropic.com", own: false },
    KnownServer { name: "ollama", api: Api::OpenAi, url: "http://localhost:11434/v1", own: true },
    KnownServer { name: "llamacpp", api: Api::OpenAi, url: "http://localhost:8080/v1", own: true },
    KnownServer { name: "lmstudio", api: Api::OpenAi, url: "http://localhost:1234/v1", own: true },
    KnownServer { name: "vllm", api: Api::OpenAi, url: "http://localhost:8000/v1", own: true },
];

impl Endpoint {
    /// Resolves the endpoint of a model.
    ///
    /// `spec` is `PROVIDER:MODEL`, with one of openai, anthropic, ollama, llamacpp, lmstudio and vllm, or just `MODEL`:
    /// one that begins with "claude" is Anthropic's, any other is asked for in OpenAI's way. Names may have colons and
    /// slashes in them: an unknown word before a colon is part of the name.
    ///
    /// Address and key are what `over` says, else those of the variables `OPENAI_BASE_URL` and `OPENAI_API_KEY`, or
    /// `ANTHROPIC_BASE_URL` and `ANTHROPIC_API_KEY`, else the usual address. The servers that people run themselves are
    /// where they usually are unless `over` says otherwise; no variable counts for them, so no key of others is sent
    /// to them.
    ///
    /// Keys go anywhere over https, but over plain http only to this machine and to addresses and names of private
    /// networks: a server elsewhere is an error, even if the key is said beside its address.
    ///
    /// ```
    /// use skillcue_agent::model::{Api, Endpoint, Overrides};
    ///
    /// let variable = |name: &str| (name == "ANTHROPIC_API_KEY").then(|| "sk-ant-1".to_owned());
    /// let claude = Endpoint::resolve("claude-sonnet-4-5", &Overrides::default(), &variable)?;
    /// assert_eq!((claude.api, claude.base_url.as_str()), (Api::Anthropic, "https://api.anthropic.com"));
    /// assert!(claude.key.is_some());
    ///
    /// let local = Endpoint::resolve("ollama:qwen3:8b", &Overrides::default(), &variable)?;
    /// assert_eq!((local.model.as_str(), local.base_url.as_str()), ("qwen3:8b", "http://localhost:11434/v1"));
    /// assert!(local.key.is_none());
    /// # Ok::<(), skillcue_agent::model::EndpointError>(())
    /// ```
    pub fn resolve(
        spec: &str,
        over: &Overrides,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Endpoint, EndpointError> {
        let spec = spec.trim();
        let named = spec.split_once(':').and_then(|(word, model)| {
            let known = PROVIDERS.iter().find(|provider| provider.name.eq_ignore_ascii_case(word));
            known.map(|provider| (provider, model.trim()))
        });
        let (provider, model) = named.map_or((None, spec), |(provider, model)| (Some(provider), model));
        if model.is_empty() {
            return Err(EndpointError::NoModel { spec: spec.to_owned() });
        }
        let guessed = if model.to_ascii_lowercase().starts_with("claude") { Api::Anthropic } else { Api::OpenAi };
        let api = over.api.or(provider.map(|provider| provider.api)).unwrap_or(guessed);
        if let Some(provider) = provider.filter(|provider| !provider.own && provider.api != api) {
            return Err(EndpointError::Api { provider: provider.name, api });
        }
        let (url_variable, key_variable, theirs) = match api {
            Api::OpenAi => ("OPENAI_BASE_URL", "OPENAI_API_KEY", &PROVIDERS[0]),
            Api::Anthropic => ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY", &PROVIDERS[1]),
        };
        let provider = provider.unwrap_or(theirs);
        let set = |name: &str| variable(name).filter(|value| !provider.own && !value.trim().is_empty());
        let base_url = over.base_url.clone().or_else(|| set(url_variable)).unwrap_or_else(|| provider.url.to_owned());
        let key = over.key.clone().or_else(|| set(key_variable).map(Secret::new));
        let endpoint = Endpoint { api, model: model.to_owned(), base_url, key, timing: RequestTiming::default() };
        let url = endpoint.url()?;
        if endpoint.key.is_none() && !provider.own && host(&url) == host_of(theirs.url) {
            return Err(EndpointError::NoKey { provider: theirs.name, variable: key_variable });
        }
        Ok(endpoint)
    }

    /// Returns the full address that requests go to.
    pub(super) fn url(&self) -> Result<Url, EndpointError> {
        if self.model.trim().is_empty() {
            return Err(EndpointError::NoModel { spec: self.model.clone() });
        }
        if self.key.as_ref().is_some_and(|key| reqwest::header::HeaderValue::from_str(key.reveal()).is_err()) {
            return Err(EndpointError::Key);
        }
        let wrong = |reason: &str| {
            // A password in the address must not be in a message.
            let hidden = self.base_url.rsplit_once('@').map_or(self.base_url.as_str(), |(_, rest)| rest);
            let hidden = self.key.as_ref().map_or_else(|| hidden.to_owned(), |key| key.hide_in(hidden));
            EndpointError::Url { url: hidden, reason: reason.to_owned() }
        };
        let base = self.base_url.trim().trim_end_matches('/');
        let below = match self.api {
            Api::OpenAi if base.ends_with("/chat/completions") => "",
            Api::OpenAi => "/chat/completions",
            Api::Anthropic if base.ends_with("/v1/messages") => "",
            Api::Anthropic if base.ends_with("/v1") => "/messages",
            Api::Anthropic => "/v1/messages",
        };
        let base = Url::parse(base).map_err(|error| wrong(&error.to_string()))?;
        if !matches!(base.scheme(), "http" | "https") {
            return Err(wrong("only http and https are spoken"));
        }
        if !base.username().is_empty() || base.password().is_some() {
            return Err(wrong("it must have no name and no password in it; a key is given by itself"));
        }
        if base.query().is_some() || base.fragment().is_some() {
            return Err(wrong("it must end with its path"));
        }
        if self.key.is_some() && base.scheme() == "http" && !is_near(&base) {
            return Err(EndpointError::Insecure { host: host(&base) });
        }
        let whole = format!("{}{below}", base.as_str().trim_end_matches('/'));
        Url::parse(&whole).map_err(|error| wrong(&error.to_string()))
    }

    /// Returns whether it is OpenAI's own server, which has fields that others do not know.
    pub(super) fn is_openai(url: &Url) -> bool {
        url.host_str() == Some("api.openai.com")
    }
}

fn host(url: &Url) -> String {
    url.host_str().unwrap_or_default().to_owned()
}

fn host_of(url: &str) -> String {
    Url::parse(url).as_ref().map(host).unwrap_or_default()
}

/// Returns whether an address is one of this machine or of a private network, which no host elsewhere can have.
fn is_near(url: &Url) -> bool {
    const PRIVATE: [&str; 3] = [".local", ".internal", ".home.arpa"];
    let host = host(url);
    let host = host.trim_start_matches('[').trim_end_matches(']').trim_end_matches('.');
    is_this_machine(url)
        || match host.parse::<IpAddr>().map(|address| address.to_canonical()) {
            Ok(IpAddr::V4(address)) => address.is_private() || address.is_link_local(),
            Ok(IpAddr::V6(address)) => address.is_unique_local() || address.is_unicast_link_local(),
            Err(_) => !host.contains('.') || PRIVATE.iter().any(|end| host.ends_with(end)),
        }
}

#[cfg(test)]
mod tests;
