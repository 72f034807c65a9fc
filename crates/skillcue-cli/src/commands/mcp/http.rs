//! The options of `skillcue mcp --http`: where it listens, the tokens, the key of handles, and how it ends.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use skillcue_base::os_message;
use skillcue_mcp::server::{HandleKeys, HttpOptions};

use super::views::OpenSkills;
use crate::error::CliError;
use crate::turn::read_text;

/// The variable that holds the token unless another is named.
const TOKEN_VARIABLE: &str = "SKILLCUE_MCP_TOKEN";

/// Longest file with a token, in bytes. A token of 256 bits in hexadecimal has 64.
const MAX_TOKEN_FILE: u64 = 4096;

#[derive(Debug, clap::Args)]
pub(super) struct HttpArgs {
    /// Listen on ADDR, a port or ADDRESS:PORT, instead of serving over stdio
    #[arg(long, value_name = "ADDR")]
    pub(super) http: Option<String>,
    /// Want the bearer token that the variable VAR holds [default: `SKILLCUE_MCP_TOKEN`, if it is set]
    #[arg(long, value_name = "VAR", requires = "http")]
    token_env: Option<String>,
    /// Want the bearer token that FILE holds
    #[arg(long, value_name = "FILE", requires = "http", conflicts_with = "token_env")]
    token_file: Option<PathBuf>,
    /// Serve without a token on an address that other machines can reach
    #[arg(long, requires = "http", conflicts_with_all = ["token_env", "token_file"])]
    no_token: bool,
    /// A name that clients may call this host by, besides localhost; may be given several times
    #[arg(long, value_name = "NAME", requires = "http")]
    pub(super) allow_host: Vec<String>,
    /// An origin that web pages may ask from, besides those of localhost; may be given several times
    #[arg(long, value_name = "ORIGIN", requires = "http")]
    allow_origin: Vec<String>,
    /// Sign handles with the secret in FILE, which all replicas have; see `docs/reference/servers.md`
    #[arg(long, value_name = "FILE", requires = "http")]
    handle_key_file: Option<PathBuf>,
    /// Show /metrics for the bearer token that the variable VAR holds, and for nothing else
    #[arg(long, value_name = "VAR", requires = "http")]
    metrics_token_env: Option<String>,
    /// After SIGTERM, go on accepting requests for SECONDS, while /ready says that the server will end
    #[arg(long, value_name = "SECONDS", default_value_t = 0, requires = "http")]
    drain_delay: u64,
    /// After that, give requests under way SECONDS to end
    #[arg(long, value_name = "SECONDS", default_value_t = 10, requires = "http")]
    drain_timeout: u64,
}

impl HttpArgs {
    /// Returns the options of the server; none if it is to serve over stdio.
    pub(super) fn options(&self, open: &OpenSkills) -> Result<Option<HttpOptions>, CliError> {
        let Some(http) = &self.http else { return Ok(None) };
        let args = self;

        let listen = address(http)?;
        let token = token(args)?;
        let mut allowed_hosts = args.allow_host.clone();
        if !listen.ip().to_canonical().is_loopback() {
            if token.is_none() && !args.no_token {
                open.check(listen)?;
            }
            if !listen.ip().is_unspecified() {
                allowed_hosts.push(match listen.ip() {
                    IpAddr::V4(ip) => ip.to_string(),
                    IpAddr::V6(ip) => format!("[{ip}]"),
                });
            }
        }
        let mut options = HttpOptions::default();
        options.listen = listen;
        options.token = token;
        options.allowed_hosts = allowed_hosts;
        options.allowed_origins.clone_from(&args.allow_origin);
        options.metrics_token = self.metrics_token_env.as_deref().map(variable).transpose()?;
        options.drain_delay = Duration::from_secs(self.drain_delay);
        options.drain_timeout = Duration::from_secs(self.drain_timeout);
        Ok(Some(options))
    }

    /// Returns whether the options allow clients without a token.
    pub(super) fn is_without_token(&self) -> bool {
        self.no_token
    }

    /// Returns the variable that clients take the token from.
    pub(super) fn token_variable(&self) -> Option<String> {
        let usual = std::env::var_os(TOKEN_VARIABLE).is_some();
        match &self.token_env {
            Some(name) => Some(name.clone()),
            None => (self.token_file.is_some() || (usual && !self.no_token)).then(|| TOKEN_VARIABLE.to_owned()),
        }
    }

    /// Returns the keys of handles: those of the file, or one of this process.
    pub(super) fn handle_keys(&self) -> Result<HandleKeys, CliError> {
        let Some(file) = &self.handle_key_file else { return Ok(HandleKeys::for_one_process()) };
        let text = secret_text(file, "--handle-key-file")?;
        HandleKeys::from_secrets(&text).map_err(|error| {
            CliError::usage("usage", format!("--handle-key-file {}: {error}", file.display()))
                .help("write one with `openssl rand -hex 32`")
        })
    }
}

fn secret_text(file: &Path, option: &str) -> Result<String, CliError> {
    read_text(file, MAX_TOKEN_FILE).map_err(|error| {
        let message = format!("{option} {}: {}", file.display(), os_message(&error));
        CliError::usage("usage", message).help("name a file that holds the secret and nothing else")
    })
}

/// Returns the token that a variable holds.
pub(super) fn variable(name: &str) -> Result<String, CliError> {
    let value = std::env::var(name)
        .map_err(|_| CliError::usage("usage", format!("the variable {name} is not set")).help("set it to the token"))?;
    checked(value)
}

/// Returns a token that a header can hold.
fn checked(token: String) -> Result<String, CliError> {
    if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(CliError::usage("usage", "the token is empty, or has characters that no header may hold")
            .help("use letters, digits and signs, for example of `openssl rand -hex 32`"));
    }
    Ok(token)
}

/// `8808`, `:8808`, `127.0.0.1:8808`, `localhost:8808`
pub(super) fn address(http: &str) -> Result<SocketAddr, CliError> {
    let wrong =
        |why: String| CliError::usage("usage", format!("--http {http}: {why}")).help("give a port, or ADDRESS:PORT");
    let port = http.strip_prefix(':').unwrap_or(http);
    if let Ok(port) = port.parse::<u16>() {
        return Ok(SocketAddr::from(([127, 0, 0, 1], port)));
    }
    let mut found = http.to_socket_addrs().map_err(|error| wrong(os_message(&error)))?;
    found.next().ok_or_else(|| wrong("there is no such address".to_owned()))
}

fn token(args: &HttpArgs) -> Result<Option<String>, CliError> {
    if let Some(file) = &args.token_file {
        let token = secret_text(file, "--token-file")?;
        return checked(token.trim().to_owned()).map(Some);
    }
    if let Some(name) = &args.token_env {
        return variable(name).map(Some);
    }
    if args.no_token {
        return Ok(None);
    }
    let usual = std::env::var(TOKEN_VARIABLE).ok().filter(|token| !token.is_empty());
    usual.map(checked).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_loopback_unless_told_otherwise() {
        for text in ["8808", ":8808", "127.0.0.1:8808"] {
            assert_eq!(address(text).unwrap().to_string(), "127.0.0.1:8808");
        }
        assert_eq!(address("0.0.0.0:1").unwrap().to_string(), "0.0.0.0:1");
        assert_eq!(address("[::1]:1").unwrap().to_string(), "[::1]:1");
        assert_eq!(address("99999").unwrap_err().exit_code(), 2);
        assert_eq!(address("nonsense").unwrap_err().exit_code(), 2);
    }
}
