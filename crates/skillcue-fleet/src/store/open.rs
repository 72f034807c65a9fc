//! From an address to a store.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::client::{HttpClient, HttpConnector};
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::http::HttpBuilder;
use object_store::local::LocalFileSystem;
use object_store::path::Path as ObjectPath;
use object_store::prefix::PrefixStore;
use object_store::{BackoffConfig, ClientOptions, ObjectStore, ObjectStoreScheme, RetryConfig};
use skillcue_http::reqwest::Url;
use skillcue_http::{Redirects, is_this_machine};

use super::{Bandwidth, Store};
use crate::FleetError;
use crate::limits::{CONNECT_TIMEOUT, DEFAULT_TIMEOUT, RETRIES, RETRY_TIMEOUT};

/// Options of a store: what its owner has written down, and the variables of the environment.
#[derive(Debug, Clone, Default)]
pub struct StoreOptions {
    /// Options that are no secrets, such as `region` and `endpoint`.
    pub options: Vec<(String, String)>,
    /// The variables of the environment, of which `AWS_…`, `GOOGLE_…` and `AZURE_…` count.
    pub variables: Vec<(String, String)>,
    /// The time limit for one answer to begin.
    pub timeout: Option<Duration>,
    /// The limit for bytes a second, both ways together.
    pub bandwidth: Option<Bandwidth>,
    /// Whether a directory is made that is not there.
    pub create: bool,
}

/// Words that no option has: secrets are variables of the environment, never in a file.
const SECRET_WORDS: [&str; 5] = ["secret", "password", "token", "access_key", "account_key"];

/// Options of the stores that are no secrets, for messages about others.
const S3_OPTIONS: [&str; 8] = [
    "region",
    "endpoint",
    "virtual_hosted_style_request",
    "unsigned_payload",
    "skip_signature",
    "request_payer",
    "checksum_algorithm",
    "role_arn",
];
const GOOGLE_OPTIONS: [&str; 4] = ["base_url", "service_account", "application_credentials", "skip_signature"];
const AZURE_OPTIONS: [&str; 6] =
    ["account_name", "endpoint", "client_id", "use_emulator", "use_azure_cli", "skip_signature"];

impl Store {
    /// Opens the store at an address. Nothing is asked yet.
    pub fn open(address: &str, options: &StoreOptions) -> Result<Store, FleetError> {
        let shown = shown_address(address);
        let wrong = |why: String| FleetError::Address { url: shown.clone(), why };
        for (name, _) in &options.options {
            let lower = name.to_ascii_lowercase();
            if SECRET_WORDS.iter().any(|word| lower.contains(word)) {
                return Err(wrong(format!("the option {name:?} is a secret: set its variable instead")));
            }
        }
        let (scheme, path) = parsed_address(address)?;
        let opened = |store: Arc<dyn ObjectStore>| -> Arc<dyn ObjectStore> {
            if path.as_ref().is_empty() { store } else { Arc::new(PrefixStore::new(store, path.clone())) }
        };
        let failed = |error: object_store::Error| wrong(skillcue_http::cause(&error));
        let mut dir = None;
        let store = match scheme {
            ObjectStoreScheme::Local => {
                no_options(options).map_err(wrong)?;
                let place = PathBuf::from(format!("/{path}"));
                if options.create {
                    std::fs::create_dir_all(&place).map_err(|error| crate::key::file_error(&place, &error))?;
                }
                if !place.is_dir() {
                    return Err(FleetError::Missing(format!("directory {}", place.display())));
                }
                let store = LocalFileSystem::new_with_prefix(&place).map_err(failed)?;
                dir = Some(place);
                Arc::new(store)
            }
            ObjectStoreScheme::AmazonS3 => {
                let set = settings::<AmazonS3ConfigKey>("aws_", &S3_OPTIONS, options).map_err(wrong)?;
                let endpoint =
                    set.iter().find(|(key, _)| *key == AmazonS3ConfigKey::Endpoint).map(|(_, url)| url.clone());
                let builder = AmazonS3Builder::new().with_url(address).with_retry(retries());
                let builder = set.into_iter().fold(builder, |builder, (key, value)| builder.with_config(key, value));
                let (client, connector) = client(endpoint.as_deref().unwrap_or("https://amazonaws.com"));
                let builder = builder.with_client_options(client).with_http_connector(connector);
                opened(Arc::new(builder.build().map_err(failed)?))
            }
            ObjectStoreScheme::GoogleCloudStorage => {
                let builder = GoogleCloudStorageBuilder::new().with_url(address).with_retry(retries());
                let set = settings::<GoogleConfigKey>("google_", &GOOGLE_OPTIONS, options).map_err(wrong)?;
                let builder = set.into_iter().fold(builder, |builder, (key, value)| builder.with_config(key, value));
                let (client, connector) = client("https://storage.googleapis.com");
                let builder = builder.with_client_options(client).with_http_connector(connector);
                opened(Arc::new(builder.build().map_err(failed)?))
            }
            ObjectStoreScheme::MicrosoftAzure => {
                let set = settings::<AzureConfigKey>("azure_", &AZURE_OPTIONS, options).map_err(wrong)?;
                let endpoint = set.iter().find(|(key, _)| *key == AzureConfigKey::Endpoint).map(|(_, url)| url.clone());
                let builder = MicrosoftAzureBuilder::new().with_url(address).with_retry(retries());
                let builder = set.into_iter().fold(builder, |builder, (key, value)| builder.with_config(key, value));
                let (client, connector) = client(endpoint.as_deref().unwrap_or("https://blob.core.windows.net"));
                let builder = builder.with_client_options(client).with_http_connector(connector);
                opened(Arc::new(builder.build().map_err(failed)?))
            }
            ObjectStoreScheme::Http => {
                no_options(options).map_err(wrong)?;
                let (client, connector) = client(address);
                let builder = HttpBuilder::new().with_url(address.trim_end_matches('/')).with_retry(retries());
                let builder = builder.with_client_options(client).with_http_connector(connector);
                Arc::new(builder.build().map_err(failed)?)
            }
            _ => return Err(wrong("its scheme is not known".to_owned())),
        };
        let store = Store { dir, ..Store::new(store, &shown) };
        let store = store.timeout(options.timeout.unwrap_or(DEFAULT_TIMEOUT));
        Ok(match options.bandwidth {
            Some(rate) => store.with_bandwidth(rate),
            None => store,
        })
    }
}

/// Checks that an address can be one of a store. No store is opened.
pub(crate) fn check_address(address: &str) -> Result<(), FleetError> {
    parsed_address(address).map(drop)
}

/// Returns the kind of the store at an address, and the path there.
fn parsed_address(address: &str) -> Result<(ObjectStoreScheme, ObjectPath), FleetError> {
    let wrong = |why: &str| FleetError::Address { url: shown_address(address), why: why.to_owned() };
    let url = Url::parse(address).map_err(|error| wrong(&error.to_string()))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(wrong("a password does not belong into an address"));
    }
    // Its own message repeats the address, with whatever is in it.
    let unknown = |_| wrong("its scheme is not known, or its path cannot be one of a store");
    let (scheme, path) = ObjectStoreScheme::parse(&url).map_err(unknown)?;
    match scheme {
        ObjectStoreScheme::Memory => Err(wrong("its scheme is not known")),
        ObjectStoreScheme::Http if url.scheme() != "https" && !is_this_machine(&url) => {
            Err(wrong("https is needed for another machine"))
        }
        scheme => Ok((scheme, path)),
    }
}

/// Returns an address as people see it: without a password and what is behind the path.
pub(crate) fn shown_address(address: &str) -> String {
    // By text first: an address that cannot be parsed is shown in the message about it.
    let plain = skillcue_catalog::without_userinfo(address);
    let Ok(mut url) = Url::parse(&plain) else {
        let path = plain.split(['?', '#']).next().unwrap_or_default();
        return skillcue_base::Shown(path).within(200).to_string();
    };
    // A URL that cannot have a password has none.
    let _ = url.set_password(None).and_then(|()| url.set_username(""));
    url.set_query(None);
    url.set_fragment(None);
    url.to_string().trim_end_matches('/').to_owned()
}

/// Returns the settings of one kind of store: variables first, options over them. An option that the store does not have is an
/// error, which names the most alike of the known ones.
fn settings<K: std::str::FromStr>(
    prefix: &str,
    known: &[&str],
    options: &StoreOptions,
) -> Result<Vec<(K, String)>, String> {
    let variables = options.variables.iter().filter_map(|(name, value)| {
        let name = name.to_ascii_lowercase();
        Some((name.starts_with(prefix).then(|| name.parse().ok())??, value.clone()))
    });
    let mut set: Vec<(K, String)> = variables.collect();
    for (name, value) in &options.options {
        let lower = name.to_ascii_lowercase();
        let plain = lower.strip_prefix(prefix).unwrap_or(&lower);
        // Some have a name without the prefix alone.
        let key = format!("{prefix}{plain}").parse().or_else(|_| plain.parse()).map_err(|_| {
            let like = |word: &&&str| strsim::jaro_winkler(word, plain);
            let closest = known.iter().max_by(|a, b| like(a).total_cmp(&like(b))).filter(|word| like(word) > 0.8);
            let named = format!("the store has no option {:?}", skillcue_base::Shown(name).within(80).to_string());
            match closest {
                Some(word) => format!("{named}; did you mean `{word}`?"),
                None => format!("{named}; it has {}", known.join(", ")),
            }
        })?;
        set.push((key, value.clone()));
    }
    Ok(set)
}

/// Checks that there are no options, for a store that has none.
fn no_options(options: &StoreOptions) -> Result<(), String> {
    let Some((name, _)) = options.options.first() else { return Ok(()) };
    let name = skillcue_base::Shown(name).within(80).to_string();
    Err(format!("a store at file:// or https:// has no options, and {name:?} is one: remove it"))
}

fn retries() -> RetryConfig {
    let backoff =
        BackoffConfig { init_backoff: Duration::from_millis(100), max_backoff: Duration::from_secs(3), base: 2.0 };
    RetryConfig { backoff, max_retries: RETRIES, retry_timeout: RETRY_TIMEOUT }
}

/// Returns the options of the client for an endpoint, and what makes it.
fn client(endpoint: &str) -> (ClientOptions, EndpointConnector) {
    let is_local = Url::parse(endpoint).is_ok_and(|url| is_this_machine(&url));
    // Without encryption only on this machine.
    let options = ClientOptions::new().with_allow_http(is_local);
    (options, EndpointConnector { endpoint: endpoint.to_owned() })
}

/// Makes the one HTTP client of this program, in place of the store's own.
#[derive(Debug)]
struct EndpointConnector {
    endpoint: String,
}

impl HttpConnector for EndpointConnector {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        let failed =
            |source: Box<dyn std::error::Error + Send + Sync>| object_store::Error::Generic { store: "HTTP", source };
        let url = Url::parse(&self.endpoint).map_err(|error| failed(Box::new(error)))?;
        let options = skillcue_http::ClientOptions { connect_timeout: CONNECT_TIMEOUT, redirects: Redirects::None };
        let client = skillcue_http::client(&url, &options).map_err(|error| failed(Box::new(error)))?;
        Ok(HttpClient::new(client))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opened(address: &str, options: &[(&str, &str)]) -> Result<(), String> {
        let options = options.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let options = StoreOptions { options, ..StoreOptions::default() };
        Store::open(address, &options).map(drop).map_err(|error| error.to_string())
    }

    #[test]
    fn an_option_that_the_store_does_not_have_is_an_error() {
        let misspelt = opened("s3://bucket/x", &[("endpiont", "http://127.0.0.1:9")]).unwrap_err();
        assert!(misspelt.contains("no option \"endpiont\"; did you mean `endpoint`?"), "{misspelt}");
        let unknown = opened("gs://bucket/x", &[("Q", "1")]).unwrap_err();
        assert!(unknown.contains("no option \"Q\"; it has base_url, "), "{unknown}");
        for address in ["https://host/x", "file:///tmp"] {
            let none = opened(address, &[("region", "x")]).unwrap_err();
            assert!(none.contains("has no options, and \"region\" is one"), "{none}");
        }
        for (address, prefix, known) in [
            ("s3://bucket/x", "aws_", &S3_OPTIONS[..]),
            ("gs://bucket/x", "google_", &GOOGLE_OPTIONS),
            ("az://bucket/x", "azure_", &AZURE_OPTIONS),
        ] {
            for name in known {
                for name in [(*name).to_owned(), format!("{prefix}{name}"), name.to_ascii_uppercase()] {
                    let error = opened(address, &[(&name, "x")]).err().unwrap_or_default();
                    assert!(!error.contains("no option"), "{error}");
                }
            }
        }
    }

    #[test]
    fn no_message_shows_a_password() {
        for address in [
            "https://bob:pw-word@host:99999/x",
            "https://bob:pw-word@exa mple/x",
            "https://bob:a/pw-word@host/x",
            "s3://bob:pw-word@bucket/x",
            "https://h.exa mple/x?token=pw-word",
            "ftp://bob:pw-word@h/x",
            "bob:pw-word@h",
        ] {
            let error = Store::open(address, &StoreOptions::default()).unwrap_err();
            assert!(!format!("{error} {error:?}").contains("pw-word"), "{address}: {error}");
        }
    }
}
