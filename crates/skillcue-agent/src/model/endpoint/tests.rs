use super::*;

fn resolve(spec: &str, over: &Overrides, variables: &[(&str, &str)]) -> Result<Endpoint, EndpointError> {
    let variable = |name: &str| variables.iter().find(|(of, _)| *of == name).map(|(_, value)| (*value).to_owned());
    Endpoint::resolve(spec, over, &variable)
}

const KEYS: [(&str, &str); 2] = [("OPENAI_API_KEY", "open"), ("ANTHROPIC_API_KEY", "anth")];

#[test]
fn names_say_where_a_model_is() {
    for (spec, api, model, url, key) in [
        ("gpt-5", Api::OpenAi, "gpt-5", "https://api.openai.com/v1/chat/completions", Some("open")),
        ("openai:gpt-5", Api::OpenAi, "gpt-5", "https://api.openai.com/v1/chat/completions", Some("open")),
        ("Claude-x", Api::Anthropic, "Claude-x", "https://api.anthropic.com/v1/messages", Some("anth")),
        ("anthropic:m", Api::Anthropic, "m", "https://api.anthropic.com/v1/messages", Some("anth")),
        ("openai:claude", Api::OpenAi, "claude", "https://api.openai.com/v1/chat/completions", Some("open")),
        ("ollama:qwen3:8b", Api::OpenAi, "qwen3:8b", "http://localhost:11434/v1/chat/completions", None),
        ("llamacpp:x", Api::OpenAi, "x", "http://localhost:8080/v1/chat/completions", None),
        ("lmstudio:a/b", Api::OpenAi, "a/b", "http://localhost:1234/v1/chat/completions", None),
        ("vllm:a/b:c", Api::OpenAi, "a/b:c", "http://localhost:8000/v1/chat/completions", None),
        ("qwen3:8b", Api::OpenAi, "qwen3:8b", "https://api.openai.com/v1/chat/completions", Some("open")),
    ] {
        let found = resolve(spec, &Overrides::default(), &KEYS).unwrap();
        let shown = found.url().unwrap().to_string();
        assert_eq!((found.api, found.model.as_str(), shown.as_str()), (api, model, url), "{spec}");
        assert_eq!(found.key.as_ref().map(Secret::reveal), key, "{spec}");
    }
}

#[test]
fn variables_and_what_is_said() {
    let variables =
        [("OPENAI_BASE_URL", "http://10.0.0.1:9/v1/"), ("OPENAI_API_KEY", " "), ("ANTHROPIC_BASE_URL", "http://h")];
    let found = resolve("m", &Overrides::default(), &variables).unwrap();
    assert_eq!(found.url().unwrap().as_str(), "http://10.0.0.1:9/v1/chat/completions");
    assert_eq!(found.key, None);
    let found = resolve("claude", &Overrides::default(), &variables).unwrap();
    assert_eq!(found.url().unwrap().as_str(), "http://h/v1/messages");
    // What is said counts more than what is set, and a variable is not meant for a server of one's own.
    let over = Overrides { key: Some(Secret::new("k".into())), base_url: Some("http://x/v1".into()), api: None };
    let found = resolve("claude", &over, &[variables[2], KEYS[1]]).unwrap();
    assert_eq!(found.url().unwrap().as_str(), "http://x/v1/messages");
    assert_eq!(found.key.as_ref().map(Secret::reveal), Some("k"));
    let found = resolve("ollama:m", &Overrides::default(), &[variables[0], KEYS[0]]).unwrap();
    assert_eq!((found.base_url.as_str(), found.key), ("http://localhost:11434/v1", None));
    let over = Overrides { api: Some(Api::Anthropic), ..over };
    assert_eq!(resolve("llamacpp:m", &over, &[]).unwrap().url().unwrap().as_str(), "http://x/v1/messages");
    assert_eq!(resolve("m", &over, &[]).unwrap().api, Api::Anthropic);
}

#[test]
fn unusable_endpoints_are_refused_with_a_hint() {
    let none = Overrides::default();
    let code = |spec: &str, over: &Overrides| resolve(spec, over, &KEYS).unwrap_err().code();
    assert_eq!(code("", &none), "no_model");
    assert_eq!(code("ollama: ", &none), "no_model");
    let missing = resolve("gpt-5", &none, &[]).unwrap_err();
    assert_eq!(missing.code(), "no_key");
    assert!(missing.hint().unwrap().contains("OPENAI_API_KEY"));
    assert!(resolve("claude", &none, &[]).unwrap_err().hint().unwrap().contains("ANTHROPIC_API_KEY"));
    let api = Overrides { api: Some(Api::Anthropic), ..Overrides::default() };
    assert_eq!(code("openai:gpt-5", &api), "bad_api");
    let key = Overrides { key: Some(Secret::new("a\nb".into())), ..Overrides::default() };
    assert_eq!(code("gpt-5", &key), "bad_key");
    for url in ["", "localhost:8080", "ftp://x/", "http://", "http://u:hunter2@h/v1", "http://h/?key=1", "http://h/#x"]
    {
        let over = Overrides { base_url: Some(url.into()), ..Overrides::default() };
        let error = resolve("m", &over, &KEYS).unwrap_err();
        assert_eq!(error.code(), "bad_url", "{url}");
        assert!(!format!("{error} {error:?}").contains("hunter2"));
    }
}

#[test]
fn keys_go_to_strangers_over_https_alone() {
    for (url, near) in [
        ("http://evil.example/v1", false),
        ("http://api.openai.com/v1", false),
        ("http://8.8.8.8/v1", false),
        ("http://172.32.0.1/v1", false),
        ("http://192.169.0.1/v1", false),
        ("http://[2001:db8::1]/v1", false),
        ("http://[::ffff:8.8.8.8]/v1", false),
        ("http://10.0.0.1.evil.example/v1", false),
        ("http://evil.example./v1", false),
        ("http://localhost.evil.example/v1", false),
        ("http://local/v1", true),
        ("http://localhost/v1", true),
        ("http://127.1/v1", true),
        ("http://[::1]:8/v1", true),
        ("http://[::ffff:127.0.0.1]/v1", true),
        ("http://10.1.2.3/v1", true),
        ("http://172.31.0.1/v1", true),
        ("http://192.168.0.1/v1", true),
        ("http://169.254.0.1/v1", true),
        ("http://[fd00::1]/v1", true),
        ("http://[fe80::1]/v1", true),
        ("http://GPU:8080/v1", true),
        ("http://gpu.local./v1", true),
        ("http://host.docker.internal:11434/v1", true),
        ("https://evil.example/v1", true),
        ("https://8.8.8.8/v1", true),
    ] {
        let said = Overrides { base_url: Some(url.into()), key: Some(Secret::new("k".into())), api: None };
        let over = Overrides { base_url: Some(url.into()), ..Overrides::default() };
        for found in [
            resolve("gpt-5", &over, &KEYS),
            resolve("claude", &over, &KEYS),
            resolve("gpt-5", &Overrides::default(), &[("OPENAI_BASE_URL", url), KEYS[0]]),
            resolve("ollama:m", &said, &[]),
        ] {
            assert_eq!(found.is_ok(), near, "{url}");
            if let Err(error) = found {
                assert_eq!(error.code(), "insecure");
                assert!(error.hint().unwrap().contains("https"));
            }
        }
        // Without a key there is nothing to protect.
        assert!(resolve("ollama:m", &over, &KEYS).unwrap().key.is_none());
    }
}

#[test]
fn addresses_may_be_written_in_several_ways() {
    let at = |api: Api, base_url: &str| {
        let (model, base_url) = ("m".to_owned(), base_url.to_owned());
        Endpoint { api, model, base_url, key: None, timing: RequestTiming::default() }.url().unwrap().to_string()
    };
    for base in ["http://h/v1", "http://h/v1/", " http://h/v1// ", "http://h/v1/chat/completions"] {
        assert_eq!(at(Api::OpenAi, base), "http://h/v1/chat/completions");
    }
    for base in ["http://h", "http://h/", "http://h/v1", "http://h/v1/", "http://h/v1/messages"] {
        assert_eq!(at(Api::Anthropic, base), "http://h/v1/messages");
    }
}
