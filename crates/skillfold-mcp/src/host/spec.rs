//! A server as its user has configured it.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use http::{HeaderName, HeaderValue, Uri};
use serde::Deserialize;

/// How long one request may take unless the configuration says otherwise.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(5);
/// The longest name that a server may be given.
const MAX_LABEL: usize = 64;

/// Headers that the protocol sets itself.
const RESERVED: [&str; 7] =
    ["accept", "authorization", "content-length", "content-type", "host", "last-event-id", "transfer-encoding"];

/// A server whose skills are wanted: what it is called here, how it is reached, how long it may take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerSpec {
    /// What the user calls it. Never what it calls itself.
    pub label: String,
    /// How it is reached.
    pub transport: ServerTransport,
    /// How long one request may take.
    pub timeout: Duration,
    /// Whether it is used at all.
    pub enabled: bool,
}

/// How a server is reached.
#[derive(Clone, PartialEq, Eq)]
pub enum ServerTransport {
    /// A program that is started and spoken to over its standard input and output.
    Command {
        /// The program.
        program: String,
        /// Its arguments.
        args: Vec<String>,
        /// Variables of its environment, beside those of this process.
        env: BTreeMap<String, String>,
        /// Where it runs; where this process runs, unless given.
        cwd: Option<PathBuf>,
    },
    /// A server that runs already, spoken to over HTTP.
    Url {
        /// Its address.
        url: String,
        /// Headers to send with every request.
        headers: Vec<(String, String)>,
        /// The bearer token to send with every request.
        token: Option<String>,
    },
}

/// Secrets stay out of logs: of variables and headers the names are shown, of the token that there is one.
impl fmt::Debug for ServerTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ServerTransport::Command { program, args, env, cwd } => f
                .debug_struct("Command")
                .field("program", program)
                .field("args", args)
                .field("env", &env.keys().collect::<Vec<_>>())
                .field("cwd", cwd)
                .finish(),
            ServerTransport::Url { url, headers, token } => f
                .debug_struct("Url")
                .field("url", url)
                .field("headers", &headers.iter().map(|(name, _)| name).collect::<Vec<_>>())
                .field("token", &token.is_some())
                .finish(),
        }
    }
}

/// Why a server cannot be used as it is configured.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the MCP server {label:?}: {message}")]
pub struct SpecError {
    /// What the user calls it.
    pub label: String,
    /// What is wrong.
    pub message: String,
}

impl ServerSpec {
    /// A server to be used, with the usual time limit. Everything about it is checked here, so that nothing of it
    /// surprises later.
    ///
    /// ```
    /// use skillfold_mcp::host::{ServerSpec, ServerTransport};
    ///
    /// let at = |url: &str| ServerTransport::Url { url: url.to_owned(), headers: Vec::new(), token: None };
    /// assert!(ServerSpec::new("acme", at("https://skills.example/mcp")).is_ok());
    /// let error = ServerSpec::new("Acme!", at("https://skills.example/mcp")).unwrap_err();
    /// assert!(error.to_string().contains("lower-case letters, digits and hyphens"));
    /// assert!(ServerSpec::new("acme", at("ftp://skills.example")).is_err());
    /// ```
    pub fn new(label: impl Into<String>, transport: ServerTransport) -> Result<ServerSpec, SpecError> {
        let label = label.into();
        let spec = ServerSpec { label, transport, timeout: DEFAULT_TIMEOUT, enabled: true };
        match spec.check() {
            Ok(()) => Ok(spec),
            Err(message) => Err(SpecError { label: spec.label, message }),
        }
    }

    /// The server that a configuration describes. `variable` looks a variable of the environment up: this library never
    /// does so on its own.
    pub fn from_config(
        config: &skillfold::McpServer,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<ServerSpec, SpecError> {
        let section = McpSection {
            name: config.name.clone(),
            command: (!config.command.is_empty()).then(|| config.command.clone()),
            url: config.url.clone(),
            timeout_ms: config.timeout_ms,
            token_env: config.token_env.clone(),
            env: config.env.clone(),
            headers: config.headers.clone(),
            cwd: config.cwd.clone(),
            enabled: config.enabled,
        };
        section.spec(variable)
    }

    /// The same with another time limit for one request.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> ServerSpec {
        self.timeout = timeout;
        self
    }

    /// What the server is, beside its label: its address, or its command line. What was approved of one server is not
    /// approved of another that gets its label.
    pub fn identity(&self) -> String {
        match &self.transport {
            ServerTransport::Url { url, .. } => url.clone(),
            ServerTransport::Command { program, args, cwd, .. } => {
                let line: Vec<&str> = std::iter::once(program).chain(args).map(String::as_str).collect();
                let place = cwd.as_deref().map(Path::to_string_lossy);
                // As JSON, so that no two command lines look the same.
                serde_json::json!({ "command": line, "cwd": place }).to_string()
            }
        }
    }

    pub(crate) fn check(&self) -> Result<(), String> {
        check_label(&self.label)?;
        match &self.transport {
            ServerTransport::Command { program, args, env, .. } => {
                if program.is_empty() {
                    return Err("`command` names no program".to_owned());
                }
                if std::iter::once(program).chain(args).chain(env.keys()).chain(env.values()).any(|s| s.contains('\0'))
                {
                    return Err("neither its command nor its environment may hold a NUL".to_owned());
                }
                Ok(())
            }
            ServerTransport::Url { url, headers, token } => check_url(url, token.as_deref(), headers),
        }
    }
}

fn check_label(label: &str) -> Result<(), String> {
    let well_formed = label.len() <= MAX_LABEL
        && label.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit())
        && label.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    if well_formed {
        return Ok(());
    }
    Err(format!("a name has 1 to {MAX_LABEL} lower-case letters, digits and hyphens, and does not start with a hyphen"))
}

fn check_url(url: &str, token: Option<&str>, headers: &[(String, String)]) -> Result<(), String> {
    let uri: Uri = url.parse().map_err(|error| format!("{url:?} is no address: {error}"))?;
    let host = uri.host().unwrap_or_default();
    if host.is_empty() || !matches!(uri.scheme_str(), Some("http" | "https")) {
        return Err(format!("{url:?} is no address that starts with https:// or http://"));
    }
    if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
        return Err("a password does not belong into an address; use `token_env`".to_owned());
    }
    if token.is_some() && uri.scheme_str() == Some("http") && !is_this_machine(host) {
        return Err("a token is not sent over plain http to another machine; use https".to_owned());
    }
    if token.is_some_and(|token| HeaderValue::from_str(token).is_err()) {
        return Err("its token has characters that no header may have".to_owned());
    }
    for (name, value) in headers {
        let lower = name.to_ascii_lowercase();
        if RESERVED.contains(&lower.as_str()) || lower.starts_with("mcp-") {
            return Err(format!("the header {name:?} is the protocol's own"));
        }
        if name.parse::<HeaderName>().is_err() || HeaderValue::from_str(value).is_err() {
            return Err(format!("{name:?} cannot be sent as a header"));
        }
    }
    Ok(())
}

/// Whether an address leads to the machine that this runs on.
pub(crate) fn is_this_machine(host: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// One `[[mcp]]` of a `skillfold.toml`.
///
/// ```toml
/// [[mcp]]
/// name = "acme"
/// url = "https://skills.acme.example/mcp"
/// token_env = "ACME_TOKEN"
///
/// [[mcp]]
/// name = "local"
/// command = ["npx", "-y", "some-server"]
/// timeout_ms = 10000
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct McpSection {
    /// What the user calls the server.
    pub name: String,
    /// The program to start, and its arguments.
    pub command: Option<Vec<String>>,
    /// The address to connect to.
    pub url: Option<String>,
    /// How long one request may take, in milliseconds.
    pub timeout_ms: Option<u64>,
    /// The variable that holds the bearer token. The token itself never stands in a file.
    pub token_env: Option<String>,
    /// Variables for the program's environment.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Headers to send with every request.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// Where the program runs.
    pub cwd: Option<PathBuf>,
    /// Whether the server is used.
    pub enabled: Option<bool>,
}

impl McpSection {
    /// The server that it describes. `variable` looks a variable of the environment up: this library never does so on
    /// its own.
    pub fn spec(&self, variable: impl Fn(&str) -> Option<String>) -> Result<ServerSpec, SpecError> {
        let fail = |message: &str| SpecError { label: self.name.clone(), message: message.to_owned() };
        let transport = match (&self.command, &self.url) {
            (Some(command), None) => {
                if self.token_env.is_some() || !self.headers.is_empty() {
                    return Err(fail("`token_env` and `headers` belong to a `url`; a program gets `env`"));
                }
                let (program, args) = command.split_first().ok_or_else(|| fail("`command` names no program"))?;
                ServerTransport::Command {
                    program: program.clone(),
                    args: args.to_vec(),
                    env: self.env.clone(),
                    cwd: self.cwd.clone(),
                }
            }
            (None, Some(url)) => {
                if !self.env.is_empty() || self.cwd.is_some() {
                    return Err(fail("`env` and `cwd` belong to a `command`"));
                }
                let token = match &self.token_env {
                    None => None,
                    Some(name) => Some(
                        variable(name)
                            .filter(|token| !token.is_empty())
                            .ok_or_else(|| fail(&format!("the variable {name} of `token_env` is not set")))?,
                    ),
                };
                let headers = self.headers.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
                ServerTransport::Url { url: url.clone(), headers, token }
            }
            _ => return Err(fail("it needs either `command` or `url`")),
        };
        let mut spec = ServerSpec::new(self.name.clone(), transport)?;
        if let Some(timeout) = self.timeout_ms {
            if timeout == 0 {
                return Err(fail("`timeout_ms` is at least 1"));
            }
            spec.timeout = Duration::from_millis(timeout);
        }
        spec.enabled = self.enabled.unwrap_or(true);
        Ok(spec)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section(json: serde_json::Value) -> McpSection {
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn sections_become_servers() {
        let spec = section(serde_json::json!({ "name": "acme", "command": ["npx", "x"], "timeout_ms": 50 }));
        let spec = spec.spec(|_| None).unwrap();
        assert_eq!(spec.timeout, Duration::from_millis(50));
        assert_eq!(spec.identity(), r#"{"command":["npx","x"],"cwd":null}"#);
        let spec = section(serde_json::json!({ "name": "a", "url": "https://h/mcp", "token_env": "T" }));
        assert!(spec.spec(|_| None).unwrap_err().to_string().contains("T of `token_env` is not set"));
        let spec = spec.spec(|_| Some("s3cret".to_owned())).unwrap();
        assert!(!format!("{spec:?}").contains("s3cret"), "{spec:?}");
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for json in [
            serde_json::json!({ "name": "a" }),
            serde_json::json!({ "name": "a", "url": "https://h", "command": ["x"] }),
            serde_json::json!({ "name": "a", "command": [] }),
            serde_json::json!({ "name": "a", "command": ["x"], "token_env": "T" }),
            serde_json::json!({ "name": "a", "url": "https://h", "env": { "A": "b" } }),
            serde_json::json!({ "name": "a", "url": "https://me:pw@h" }),
            serde_json::json!({ "name": "a", "url": "http://other.example", "token_env": "T" }),
            serde_json::json!({ "name": "a", "url": "h/mcp" }),
            serde_json::json!({ "name": "../a", "url": "https://h" }),
            serde_json::json!({ "name": "-a", "url": "https://h" }),
            serde_json::json!({ "name": "", "url": "https://h" }),
            serde_json::json!({ "name": "a", "url": "https://h", "timeout_ms": 0 }),
        ] {
            assert!(section(json.clone()).spec(|_| Some("t".to_owned())).is_err(), "{json}");
        }
        let unknown = serde_json::json!({ "name": "a", "url": "https://h", "tokn": "x" });
        assert!(serde_json::from_value::<McpSection>(unknown).is_err());
        let local = section(serde_json::json!({ "name": "a", "url": "http://127.0.0.1:1/", "token_env": "T" }));
        assert!(local.spec(|_| Some("t".to_owned())).is_ok());
    }
}
