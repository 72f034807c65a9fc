use std::sync::Arc;
use std::time::Duration;

use skillcue_agent::Message;
use skillcue_agent::model::{Delta, ModelError, ModelRequest};
use skillcue_scripted::{Reply, Server};
use tokio_util::sync::CancellationToken;

use crate::{APIS, model, model_with};

const MESSAGES: fn() -> [Message; 1] = || [Message::user("x")];

/// The client's connections are closed by tasks, which a thread that blocks would keep from running.
async fn gone(server: &Arc<Server>, count: usize) -> bool {
    let server = Arc::clone(server);
    tokio::task::spawn_blocking(move || server.wait_for_disconnects(count)).await.unwrap()
}

#[tokio::test]
async fn before_anything() {
    let server = Server::start(|_| Reply::text("x"));
    for api in APIS {
        let cancel = CancellationToken::new();
        cancel.cancel();
        let messages = MESSAGES();
        let request = ModelRequest { system: &[], tools: &[], messages: &messages, max_tokens: None };
        let error = model(&server, api).ask(&request, &cancel, &mut |_| {}).await.unwrap_err();
        assert_eq!((error, server.requests().len()), (ModelError::Cancelled, 0));
    }
}

#[tokio::test]
async fn while_waiting_for_the_answer_to_begin() {
    for api in APIS {
        let server = Arc::new(Server::start(|_| Reply::stall()));
        let cancel = CancellationToken::new();
        let canceller = std::thread::spawn({
            let (server, cancel) = (Arc::clone(&server), cancel.clone());
            move || {
                assert!(server.wait_for_requests(1));
                cancel.cancel();
            }
        });
        let messages = MESSAGES();
        let request = ModelRequest { system: &[], tools: &[], messages: &messages, max_tokens: None };
        let error = model(&server, api).ask(&request, &cancel, &mut |_| {}).await.unwrap_err();
        assert_eq!(error, ModelError::Cancelled);
        canceller.join().unwrap();
        assert!(gone(&server, 1).await);
        assert_eq!(server.requests().len(), 1);
    }
}

#[tokio::test]
async fn in_the_middle_of_the_answer() {
    for api in APIS {
        let server = Arc::new(Server::start(|_| Reply::text("many words here").in_chunks(1).stalled_after(1500)));
        let cancel = CancellationToken::new();
        let messages = MESSAGES();
        let request = ModelRequest { system: &[], tools: &[], messages: &messages, max_tokens: None };
        let mut heard = 0;
        let mut on = |delta: Delta<'_>| {
            if let Delta::Text(_) = delta {
                heard += 1;
                cancel.cancel();
            }
        };
        let error = model(&server, api).ask(&request, &cancel, &mut on).await.unwrap_err();
        assert_eq!(error, ModelError::Cancelled);
        assert!(heard > 0);
        assert!(gone(&server, 1).await);
    }
}

#[tokio::test]
async fn while_waiting_to_ask_again() {
    for api in APIS {
        for reply in [Reply::status(503), Reply::status(429).header("retry-after", "60")] {
            let server = Server::start(move |_| reply.clone());
            let model = model_with(&server.url(), api, |timing| {
                timing.backoff = Duration::from_hours(1);
                timing.most_backoff = Duration::from_hours(1);
            });
            let cancel = CancellationToken::new();
            let messages = MESSAGES();
            let request = ModelRequest { system: &[], tools: &[], messages: &messages, max_tokens: None };
            let mut on = |delta: Delta<'_>| {
                if let Delta::Retry { wait, attempt: 2, .. } = delta {
                    assert!(wait >= Duration::from_mins(1));
                    cancel.cancel();
                }
            };
            let error = model.ask(&request, &cancel, &mut on).await.unwrap_err();
            assert_eq!((error, server.requests().len()), (ModelError::Cancelled, 1));
        }
    }
}

#[tokio::test]
async fn a_future_that_is_dropped_ends_the_request_too() {
    for api in APIS {
        let server = Arc::new(Server::start(|_| Reply::stall()));
        let model = model(&server, api);
        // It may be moved to another thread, as this shows.
        let asking = tokio::spawn(async move {
            let messages = MESSAGES();
            let request = ModelRequest { system: &[], tools: &[], messages: &messages, max_tokens: None };
            model.ask(&request, &CancellationToken::new(), &mut |_| {}).await
        });
        let waiting = Arc::clone(&server);
        assert!(tokio::task::spawn_blocking(move || waiting.wait_for_requests(1)).await.unwrap());
        asking.abort();
        assert!(gone(&server, 1).await);
    }
}
