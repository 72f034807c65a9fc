//! Settings, by the variables of OpenTelemetry's specification.

use std::time::Duration;

use skillcue_base::Shown;
use skillcue_http::reqwest::Url;

use crate::{AttributeValue, TraceContext};

/// The name of the service, if no variable says another.
const SERVICE: &str = "skillcue";

/// Which traces are recorded.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SpanSampler {
    /// All.
    AlwaysOn,
    /// None.
    AlwaysOff,
    /// This share of them, by their ids.
    Ratio(f64),
}

/// The settings of an export.
#[derive(Debug, Clone)]
pub struct TelemetrySettings {
    /// The address that traces are sent to.
    pub endpoint: Url,
    /// Headers of requests, such as a key.
    pub headers: Vec<(String, String)>,
    /// The time that one request may take.
    pub timeout: Duration,
    /// Attributes of this program: its name, and those of `OTEL_RESOURCE_ATTRIBUTES`.
    pub resource: Vec<(String, AttributeValue)>,
    /// Which traces are recorded.
    pub sampler: SpanSampler,
    /// Whether a caller's decision counts for the spans below it.
    pub follows_parent: bool,
    /// The caller's span, which this process's spans are a part of.
    pub parent: Option<TraceContext>,
    /// The number of spans that wait to be sent.
    pub max_queue: usize,
    /// The number of spans in a request.
    pub max_batch: usize,
    /// The time between two requests.
    pub delay: Duration,
}

/// A variable that cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingError {
    /// The variable.
    pub name: &'static str,
    /// The reason.
    pub why: String,
}

impl std::fmt::Display for SettingError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}; no traces are sent", self.name, self.why)
    }
}

impl std::error::Error for SettingError {}

impl TelemetrySettings {
    /// Reads the settings. `None` if no endpoint is set, or if they say that nothing is sent.
    ///
    /// ```
    /// use skillcue_telemetry::{SpanSampler, TelemetrySettings};
    ///
    /// let read = |all: &'static [(&str, &str)]| {
    ///     TelemetrySettings::read(|name| all.iter().find(|(key, _)| *key == name).map(|(_, value)| value.to_string()))
    /// };
    /// let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://localhost:4318");
    /// assert_eq!(read(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "http://localhost:4318")]).unwrap().unwrap().endpoint.as_str(),
    ///            "http://localhost:4318/v1/traces");
    /// assert!(read(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "http://localhost:4318"), ("OTEL_SDK_DISABLED", "true")]).unwrap().is_none());
    /// assert!(read(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "no address")]).is_err());
    /// ```
    pub fn read(variable: impl Fn(&str) -> Option<String>) -> Result<Option<TelemetrySettings>, SettingError> {
        // An empty variable counts as unset.
        let get = |name: &str| variable(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
        let is_disabled = get("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true"));
        let is_none = get("OTEL_TRACES_EXPORTER").is_some_and(|value| value != "otlp");
        if is_disabled || is_none {
            return Ok(None);
        }
        let Some(endpoint) = endpoint(&get)? else { return Ok(None) };
        let protocol = "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL";
        let spoken = get(protocol).map(|word| (protocol, word));
        let spoken =
            spoken.or_else(|| get("OTEL_EXPORTER_OTLP_PROTOCOL").map(|word| ("OTEL_EXPORTER_OTLP_PROTOCOL", word)));
        if let Some((name, word)) = spoken.filter(|(_, word)| word != "http/protobuf") {
            let why = format!("`{}` is not spoken; there is http/protobuf", Shown(&word));
            return Err(SettingError { name, why });
        }
        let sampler = get("OTEL_TRACES_SAMPLER").unwrap_or_else(|| "parentbased_always_on".to_owned());
        let ratio = || get("OTEL_TRACES_SAMPLER_ARG").map_or(Some(1.0), |share| share.parse::<f64>().ok());
        let (follows_parent, own) = match sampler.strip_prefix("parentbased_") {
            Some(own) => (true, own),
            None => (false, sampler.as_str()),
        };
        let sampler = match own {
            "always_on" => SpanSampler::AlwaysOn,
            "always_off" => SpanSampler::AlwaysOff,
            "traceidratio" => {
                let Some(share) = ratio().filter(|share| (0.0..=1.0).contains(share)) else {
                    let why = "it is no share from 0 to 1".to_owned();
                    return Err(SettingError { name: "OTEL_TRACES_SAMPLER_ARG", why });
                };
                SpanSampler::Ratio(share)
            }
            other => {
                let known = "there are always_on, always_off and traceidratio, each also with parentbased_ before it";
                let why = format!("`{}` is no sampler; {known}", Shown(other));
                return Err(SettingError { name: "OTEL_TRACES_SAMPLER", why });
            }
        };
        let number = |name: &str, usual: u64| get(name).and_then(|text| text.parse::<u64>().ok()).unwrap_or(usual);
        let timeout = number("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", number("OTEL_EXPORTER_OTLP_TIMEOUT", 10_000));
        let size = |name: &str, usual: u64| usize::try_from(number(name, usual)).unwrap_or(usize::MAX).max(1);
        let max_queue = size("OTEL_BSP_MAX_QUEUE_SIZE", 2_048).min(1 << 20);
        let mut headers = pairs(&get("OTEL_EXPORTER_OTLP_HEADERS").unwrap_or_default());
        headers.extend(pairs(&get("OTEL_EXPORTER_OTLP_TRACES_HEADERS").unwrap_or_default()));
        Ok(Some(TelemetrySettings {
            endpoint,
            headers,
            timeout: Duration::from_millis(timeout),
            resource: resource(&get),
            sampler,
            follows_parent,
            parent: get("TRACEPARENT").as_deref().and_then(TraceContext::parse),
            max_queue,
            max_batch: size("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", 512).min(max_queue),
            delay: Duration::from_millis(number("OTEL_BSP_SCHEDULE_DELAY", 5_000)),
        }))
    }
}

/// Returns the address for traces: as it is if it is theirs alone, with their path if it is for all signals.
fn endpoint(get: &impl Fn(&str) -> Option<String>) -> Result<Option<Url>, SettingError> {
    let own = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";
    let shared = "OTEL_EXPORTER_OTLP_ENDPOINT";
    let (name, address) = match (get(own), get(shared)) {
        (Some(address), _) => (own, address),
        (None, Some(address)) => (shared, format!("{}/v1/traces", address.trim_end_matches('/'))),
        (None, None) => return Ok(None),
    };
    let wrong = || SettingError { name, why: "it is no address that begins with http:// or https://".to_owned() };
    let url = Url::parse(&address).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
    url.map(Some).ok_or_else(wrong)
}

/// Returns the attributes of this program.
fn resource(get: &impl Fn(&str) -> Option<String>) -> Vec<(String, AttributeValue)> {
    let mut all = pairs(&get("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default());
    if let Some(name) = get("OTEL_SERVICE_NAME") {
        all.retain(|(key, _)| key != "service.name");
        all.push(("service.name".to_owned(), name));
    }
    for (key, value) in [
        ("service.name", SERVICE),
        ("service.version", env!("CARGO_PKG_VERSION")),
        ("telemetry.sdk.name", "skillcue"),
        ("telemetry.sdk.language", "rust"),
    ] {
        if !all.iter().any(|(known, _)| known == key) {
            all.push((key.to_owned(), value.to_owned()));
        }
    }
    all.into_iter().map(|(key, value)| (key, AttributeValue::Text(value))).collect()
}

/// Reads `key=value,key=value`, as W3C's baggage writes it: bytes of values may be written as `%20`.
fn pairs(text: &str) -> Vec<(String, String)> {
    let pair = |part: &str| {
        let (key, value) = part.split_once('=')?;
        let key = key.trim();
        (!key.is_empty()).then(|| (key.to_owned(), unescaped(value.trim())))
    };
    text.split(',').filter_map(pair).collect()
}

fn unescaped(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let escaped = after
            .get(..2)
            .filter(|_| *first == b'%')
            .and_then(|digits| std::str::from_utf8(digits).ok().and_then(|digits| u8::from_str_radix(digits, 16).ok()));
        bytes.push(escaped.unwrap_or(*first));
        rest = if escaped.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(all: &[(&str, &str)]) -> Result<Option<TelemetrySettings>, SettingError> {
        let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://localhost:4318/");
        TelemetrySettings::read(|name| {
            all.iter().chain([&endpoint]).find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn variables_are_read_as_the_specification_says() {
        let usual = read(&[]).unwrap().unwrap();
        assert_eq!(usual.endpoint.as_str(), "http://localhost:4318/v1/traces");
        assert_eq!((usual.sampler, usual.follows_parent, usual.max_queue), (SpanSampler::AlwaysOn, true, 2_048));
        let own = read(&[("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://example.test/otlp")]).unwrap().unwrap();
        assert_eq!(own.endpoint.as_str(), "https://example.test/otlp");
        let keyed = read(&[("OTEL_EXPORTER_OTLP_HEADERS", "api-key=a%20b, x = y=z,,=,w")]).unwrap().unwrap();
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        assert_eq!(keyed.headers, [pair("api-key", "a b"), pair("x", "y=z")]);
        let named = [("OTEL_SERVICE_NAME", "ours"), ("OTEL_RESOURCE_ATTRIBUTES", "service.name=no,team=a")];
        let resource = read(&named).unwrap().unwrap().resource;
        let has = |key: &str, value: &str| resource.contains(&(key.to_owned(), AttributeValue::from(value)));
        assert!(has("service.name", "ours") && has("team", "a") && !has("service.name", "no"), "{resource:?}");
        let ratio = [("OTEL_TRACES_SAMPLER", "traceidratio"), ("OTEL_TRACES_SAMPLER_ARG", "0.25")];
        let ratio = read(&ratio).unwrap().unwrap();
        assert_eq!((ratio.sampler, ratio.follows_parent), (SpanSampler::Ratio(0.25), false));
    }

    #[test]
    fn a_switch_is_no_error_and_a_wrong_value_is_one() {
        for (name, value) in [("OTEL_SDK_DISABLED", "True"), ("OTEL_TRACES_EXPORTER", "none")] {
            assert!(read(&[(name, value)]).unwrap().is_none(), "{name}");
        }
        for (name, value) in [
            ("OTEL_TRACES_SAMPLER", "sometimes"),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
            ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "ftp://example.test"),
        ] {
            let error = read(&[(name, value)]).unwrap_err();
            assert!(error.to_string().starts_with(name), "{error}");
        }
    }
}
