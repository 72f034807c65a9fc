//! A server's configuration.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use http::{HeaderName, HeaderValue, Uri};
use skillcue_base::LOCALE;
use skillcue_http::is_this_machine;
use skillcue_http::reqwest::Url;

/// How long one request may take unless the configuration says otherwise.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(5);
/// The length of the longest label, in bytes.
const MAX_LABEL: usize = 64;

/// Headers that the protocol sets itself.
const RESERVED_HEADERS: [&str; 7] =
    ["accept", "authorization", "content-length", "content-type", "host", "last-event-id", "transfer-encoding"];

/// The variables that a program inherits besides the locale: those that it needs to run, and none that may be a secret.
const INHERITED: [&str; 16] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "TMPDIR",
    "SHELL",
    "XDG_RUNTIME_DIR",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
];

/// A configured server: its label, its transport, its time limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerSpec {
    /// The user's name for it. Never the server's own.
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
    /// A program that is started and reached over its standard input and output.
    Command {
        /// The program.
        program: String,
        /// Its arguments.
        args: Vec<String>,
        /// Variables of its environment that its user has chosen. They count before those that it inherits.
        env: BTreeMap<String, String>,
        /// Variables that it inherits. It gets nothing else of this process's environment.
        inherited: Vec<(String, String)>,
        /// Its working directory; the root directory, unless given. Never that of this process.
        cwd: Option<PathBuf>,
    },
    /// A server that runs already, reached over HTTP.
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
            ServerTransport::Command { program, args, env, inherited, cwd } => f
                .debug_struct("Command")
                .field("program", program)
                .field("args", args)
                .field("env", &env.keys().collect::<Vec<_>>())
                .field("inherited", &inherited.iter().map(|(name, _)| name).collect::<Vec<_>>())
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
    /// The user's name for it.
    pub label: String,
    /// The problem.
    pub message: String,
}

impl ServerSpec {
    /// Makes the specification of a server that is used, with the default time limit. Everything about it is checked
    /// here, so that nothing fails later for its configuration.
    ///
    /// ```
    /// use skillcue_mcp::host::{ServerSpec, ServerTransport};
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

    /// Returns the server that a configuration describes. `variable` looks up a variable of the environment: this
    /// library never does so on its own. A server that is switched off need not be complete.
    ///
    /// ```
    /// use skillcue_mcp::host::ServerSpec;
    ///
    /// let config = skillcue::config::Config::parse("[[mcp]]\nname = \"acme\"\nurl = \"https://acme.example\"\n").unwrap();
    /// let spec = ServerSpec::from_config(&config.mcp[0], |name| std::env::var(name).ok()).unwrap();
    /// assert_eq!((spec.label.as_str(), spec.enabled), ("acme", true));
    /// ```
    pub fn from_config(
        config: &skillcue::config::McpServer,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<ServerSpec, SpecError> {
        let fail = |message: String| SpecError { label: config.name.clone(), message };
        check_label(&config.name).map_err(fail)?;
        let enabled = config.enabled.unwrap_or(true);
        let (transport, timeout) = match transport(config, &variable).and_then(|transport| {
            check_transport(&transport)?;
            Ok((transport, timeout(config)?))
        }) {
            Ok(complete) => complete,
            Err(message) if enabled => return Err(fail(message)),
            // It is never started: missing parts do not matter.
            Err(_) => (ServerTransport::nothing(), DEFAULT_TIMEOUT),
        };
        Ok(ServerSpec { label: config.name.clone(), transport, timeout, enabled })
    }

    /// Returns this specification with another time limit for one request.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> ServerSpec {
        self.timeout = timeout;
        self
    }

    /// Returns the identity of the server, beside its label: its address, or its command line. Consent to one
    /// server's skills is none to those of another that gets its label.
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

    /// Returns the address, or the command line as it would be typed, with the directory that it runs in. For people.
    pub fn address(&self) -> String {
        match &self.transport {
            ServerTransport::Url { url, .. } => url.clone(),
            ServerTransport::Command { program, args, cwd, .. } => {
                let line: Vec<&str> = std::iter::once(program).chain(args).map(String::as_str).collect();
                let place = cwd.as_deref().map_or(String::new(), |cwd| format!(" (in {})", cwd.display()));
                format!("{}{place}", line.join(" "))
            }
        }
    }

    /// Checks that it can be used; of one that is switched off, only its label.
    pub(crate) fn check(&self) -> Result<(), String> {
        check_label(&self.label)?;
        if self.enabled { check_transport(&self.transport) } else { Ok(()) }
    }
}

impl ServerTransport {
    /// Returns the transport of a server that is switched off.
    fn nothing() -> ServerTransport {
        ServerTransport::Command {
            program: String::new(),
            args: Vec::new(),
            env: BTreeMap::new(),
            inherited: Vec::new(),
            cwd: None,
        }
    }
}

/// Returns the transport of a configured server.
fn transport(
    config: &skillcue::config::McpServer,
    variable: &impl Fn(&str) -> Option<String>,
) -> Result<ServerTransport, String> {
    match (config.command.split_first(), &config.url) {
        (Some((program, args)), None) => {
            if config.token_env.is_some() || !config.headers.is_empty() {
                return Err("`token_env` and `headers` belong to a `url`; a program gets `env`".to_owned());
            }
            let inherited =
                INHERITED.iter().chain(&LOCALE).filter_map(|name| Some(((*name).to_owned(), variable(name)?)));
            // Not the user's current directory: that may be an untrusted project.
            let home = || variable("HOME").map(PathBuf::from).filter(|home| home.is_absolute() && home.is_dir());
            Ok(ServerTransport::Command {
                program: program.clone(),
                args: args.to_vec(),
                env: config.env.clone(),
                inherited: inherited.collect(),
                cwd: config.cwd.clone().or_else(home),
            })
        }
        (None, Some(url)) => {
            if !config.env.is_empty() || config.cwd.is_some() {
                return Err("`env` and `cwd` belong to a `command`".to_owned());
            }
            let token = match &config.token_env {
                None => None,
                Some(name) => Some(
                    variable(name)
                        .filter(|token| !token.is_empty())
                        .ok_or_else(|| format!("the variable {name} of `token_env` is not set"))?,
                ),
            };
            let headers = config.headers.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
            Ok(ServerTransport::Url { url: url.clone(), headers, token })
        }
        _ => Err("it needs either `command` or `url`".to_owned()),
    }
}

fn timeout(config: &skillcue::config::McpServer) -> Result<Duration, String> {
    match config.timeout_ms {
        None => Ok(DEFAULT_TIMEOUT),
        Some(0) => Err("`timeout_ms` is at least 1".to_owned()),
        Some(timeout) => Ok(Duration::from_millis(timeout)),
    }
}

/// Checks a transport, as far as that is possible without trying it.
pub(crate) fn check_transport(transport: &ServerTransport) -> Result<(), String> {
    match transport {
        ServerTransport::Command { program, args, env, inherited, .. } => {
            if program.is_empty() {
                return Err("`command` names no program".to_owned());
            }
            let inherited = inherited.iter().flat_map(|(name, value)| [name, value]);
            let variables = env.iter().flat_map(|(name, value)| [name, value]).chain(inherited);
            if std::iter::once(program).chain(args).chain(variables).any(|text| text.contains('\0')) {
                return Err("neither its command nor its environment may hold a NUL".to_owned());
            }
            Ok(())
        }
        ServerTransport::Url { url, headers, token } => check_url(url, token.as_deref(), headers),
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
    let address = Url::parse(url).map_err(|error| format!("{url:?} is no address: {error}"))?;
    if uri.host().unwrap_or_default().is_empty() || !matches!(uri.scheme_str(), Some("http" | "https")) {
        return Err(format!("{url:?} is no address that starts with https:// or http://"));
    }
    if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
        return Err("a password does not belong into an address; use `token_env`".to_owned());
    }
    if token.is_some() && uri.scheme_str() == Some("http") && !is_this_machine(&address) {
        return Err("a token is not sent over plain http to another machine; use https".to_owned());
    }
    if token.is_some_and(|token| HeaderValue::from_str(token).is_err()) {
        return Err("its token has characters that no header may have".to_owned());
    }
    for (name, value) in headers {
        let lower = name.to_ascii_lowercase();
        if RESERVED_HEADERS.contains(&lower.as_str()) || lower.starts_with("mcp-") {
            return Err(format!("the header {name:?} is the protocol's own"));
        }
        if name.parse::<HeaderName>().is_err() || HeaderValue::from_str(value).is_err() {
            return Err(format!("{name:?} cannot be sent as a header"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use skillcue::config::{Config, McpServer};

    use super::*;

    fn server(toml: &str) -> McpServer {
        Config::parse(&format!("[[mcp]]\n{toml}")).unwrap().mcp.remove(0)
    }

    #[test]
    fn a_configuration_becomes_a_server_spec() {
        let config = server("name = \"acme\"\ncommand = [\"npx\", \"x\"]\ntimeout_ms = 50\n");
        let spec = ServerSpec::from_config(&config, |_| None).unwrap();
        assert_eq!(spec.timeout, Duration::from_millis(50));
        assert_eq!(spec.identity(), r#"{"command":["npx","x"],"cwd":null}"#);
        let config = server("name = \"a\"\nurl = \"https://h/mcp\"\ntoken_env = \"T\"\n");
        let error = ServerSpec::from_config(&config, |_| None).unwrap_err();
        assert!(error.to_string().contains("T of `token_env` is not set"));
        let spec = ServerSpec::from_config(&config, |_| Some("s3cret".to_owned())).unwrap();
        assert!(!format!("{spec:?}").contains("s3cret"), "{spec:?}");
    }

    #[test]
    fn contradictory_configurations_are_refused() {
        for toml in [
            "name = \"a\"",
            "name = \"a\"\nurl = \"https://h\"\ncommand = [\"x\"]",
            "name = \"a\"\ncommand = []",
            "name = \"a\"\ncommand = \"\"",
            "name = \"a\"\ncommand = [\"x\"]\ntoken_env = \"T\"",
            "name = \"a\"\nurl = \"https://h\"\nenv = { A = \"b\" }",
            "name = \"a\"\nurl = \"https://me:pw@h\"",
            "name = \"a\"\nurl = \"http://other.example\"\ntoken_env = \"T\"",
            "name = \"a\"\nurl = \"h/mcp\"",
            "name = \"../a\"\nurl = \"https://h\"",
            "name = \"../a\"\nenabled = false",
            "name = \"-a\"\nurl = \"https://h\"",
            "name = \"\"\nurl = \"https://h\"",
            "name = \"a\"\nurl = \"https://h\"\ntimeout_ms = 0",
        ] {
            assert!(ServerSpec::from_config(&server(toml), |_| Some("t".to_owned())).is_err(), "{toml}");
        }
        let local = server("name = \"a\"\nurl = \"http://127.0.0.1:1/\"\ntoken_env = \"T\"");
        assert!(ServerSpec::from_config(&local, |_| Some("t".to_owned())).is_ok());
    }

    #[test]
    fn disabled_servers_need_not_be_complete() {
        for toml in ["", "command = [\"x\"]\n", "url = \"https://h\"\ntoken_env = \"T\"\n", "timeout_ms = 0\n"] {
            let spec = ServerSpec::from_config(&server(&format!("name = \"a\"\nenabled = false\n{toml}")), |_| None);
            let spec = spec.unwrap();
            assert!(!spec.enabled && spec.check().is_ok(), "{toml}");
        }
    }

    #[test]
    fn a_program_gets_the_variables_it_needs_and_a_directory_that_is_no_project() {
        let home = tempfile::tempdir().unwrap();
        let variable = |name: &str| match name {
            "HOME" => home.path().to_str().map(str::to_owned),
            "PATH" => Some("/bin".to_owned()),
            "LANGUAGE" | "LC_TIME" | "LC_TOKEN" => Some("de".to_owned()),
            "https_proxy" => Some("http://me:pw@proxy".to_owned()),
            _ if name.starts_with("AWS") => Some("s3cret".to_owned()),
            _ => None,
        };
        let config = server("name = \"a\"\ncommand = \"x\"\n");
        let spec = ServerSpec::from_config(&config, variable).unwrap();
        assert!(!format!("{spec:?}").contains("pw@"), "{spec:?}");
        let ServerTransport::Command { inherited, cwd, .. } = spec.transport else { panic!() };
        let names: Vec<&str> = inherited.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["PATH", "HOME", "https_proxy", "LANGUAGE", "LC_TIME"]);
        assert_eq!(cwd.as_deref(), Some(home.path()));
        for home in ["", "relative", "/no/such/directory"] {
            let spec = ServerSpec::from_config(&config, |_| Some(home.to_owned())).unwrap();
            assert!(matches!(spec.transport, ServerTransport::Command { cwd: None, .. }), "{home}");
        }
        let config = server("name = \"a\"\ncommand = \"x\"\ncwd = \"/srv\"\n");
        let spec = ServerSpec::from_config(&config, variable).unwrap();
        assert_eq!(spec.identity(), r#"{"command":["x"],"cwd":"/srv"}"#);
        assert_eq!(spec.address(), "x (in /srv)");
    }
}
