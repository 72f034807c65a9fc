//! Models behind real HTTP, against a server that speaks both APIs.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod answers;
mod cancel;
mod cuts;
mod errors;
mod masks;
mod odd;
mod real;
mod retries;

use std::time::Duration;

use skillcue_agent::Message;
use skillcue_agent::model::{
    Api, Delta, Endpoint, Model, ModelAnswer, ModelError, ModelRequest, Overrides, RequestTiming, Secret,
};
use skillcue_scripted::{Received, Server, Wire};
use tokio_util::sync::CancellationToken;

const APIS: [Api; 2] = [Api::OpenAi, Api::Anthropic];
const KEY: &str = "sk-very-secret-0123456789";

fn wire(api: Api) -> Wire {
    match api {
        Api::OpenAi => Wire::OpenAi,
        Api::Anthropic => Wire::Anthropic,
    }
}

/// A model there that is asked again at once, at most so often.
fn model_with(url: &str, api: Api, change: impl FnOnce(&mut RequestTiming)) -> Model {
    let (api, key) = (Some(api), Some(Secret::new(KEY.to_owned())));
    let over = Overrides { api, base_url: Some(url.to_owned()), key };
    let mut endpoint = Endpoint::resolve("scripted", &over, &|_| None).unwrap();
    endpoint.timing.backoff = Duration::ZERO;
    change(&mut endpoint.timing);
    Model::new(endpoint).unwrap()
}

fn model(server: &Server, api: Api) -> Model {
    model_with(&server.url(), api, |_| {})
}

/// Asks, and returns what was heard meanwhile, too.
async fn ask(model: &Model, messages: &[Message]) -> (Result<ModelAnswer, ModelError>, Vec<String>) {
    let request = ModelRequest { system: &[], tools: &[], messages, max_tokens: None };
    let mut heard = Vec::new();
    let mut on = |delta: Delta<'_>| heard.push(format!("{delta:?}"));
    let answer = model.ask(&request, &CancellationToken::new(), &mut on).await;
    (answer, heard)
}

async fn say(model: &Model, text: &str) -> Result<ModelAnswer, ModelError> {
    ask(model, &[Message::user(text)]).await.0
}

/// No request was wrong, unless a test wants it so.
fn all_taken(server: &Server) -> Vec<Received> {
    assert_eq!(server.refused(), Vec::<String>::new());
    server.requests()
}
