//! A model for a client: answers with a text, or with calls of tools, one after the other, and then a text.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use skillcue_scripted::{Received, Reply, Server};

use crate::agents::ClientUnderTest;
use crate::home::ClientHome;

/// The calls that are to be answered next, one a request: a tool, and its arguments.
type PlannedCalls = Arc<Mutex<VecDeque<(String, Value)>>>;

/// A server, and the requests that were looked at already.
pub(crate) struct ClientTalk {
    server: Server,
    planned: PlannedCalls,
}

impl ClientTalk {
    pub(crate) fn start() -> ClientTalk {
        let planned = PlannedCalls::default();
        let server = Server::for_clients({
            let planned = Arc::clone(&planned);
            move |received| reply(received, &planned)
        });
        ClientTalk { server, planned }
    }

    pub(crate) fn url(&self) -> String {
        self.server.url()
    }

    /// Has the model answer the next message with a call, after those that were planned before.
    pub(crate) fn plan(&self, tool: &str, arguments: Value) {
        self.planned.lock().unwrap().push_back((tool.to_owned(), arguments));
    }

    /// Sends a message, and returns the requests that it caused.
    pub(crate) fn ask(
        &self,
        home: &ClientHome,
        client: &ClientUnderTest,
        before: &[&str],
        message: &str,
    ) -> Vec<Received> {
        let known = self.server.requests().len();
        let arguments: Vec<&str> = before.iter().copied().chain([message]).collect();
        let finished = home.run_client(client, &self.url(), &arguments);
        let refused = self.server.refused();
        assert!(refused.is_empty(), "{} sent what the server refuses: {refused:#?}", client.word);
        let requests = self.server.requests().split_off(known);
        assert!(!requests.is_empty(), "{} asked no model: {finished:#?}", client.word);
        requests
    }
}

fn reply(received: &Received, planned: &PlannedCalls) -> Reply {
    // Gemini CLI asks for a choice of the model.
    let schema = &received.body["generationConfig"]["responseJsonSchema"];
    if schema.is_object() {
        return Reply::text(value_of(schema).to_string());
    }
    // Titles and the like are asked for without tools.
    if !received.tools().is_empty()
        && let Some((tool, arguments)) = planned.lock().unwrap().pop_front()
    {
        // Each call of a session has an id of its own.
        let id = format!("call_{}", received.parts().len());
        return Reply::calls([(id.as_str(), tool, arguments)]);
    }
    Reply::text("Done.")
}

/// Returns a value that a schema describes.
fn value_of(schema: &Value) -> Value {
    match schema["type"].as_str().unwrap_or_default().to_lowercase().as_str() {
        "object" => {
            let properties = schema["properties"].as_object().into_iter().flatten();
            properties.map(|(name, schema)| (name.clone(), value_of(schema))).collect()
        }
        "array" => json!([]),
        "integer" | "number" => json!(1),
        "boolean" => json!(false),
        _ => schema["enum"].get(0).cloned().unwrap_or_else(|| json!("x")),
    }
}

/// Returns the request that carries a message to the model that is to answer it.
pub(crate) fn main_request<'r>(requests: &'r [Received], message: &str) -> &'r Received {
    let is_main = |of: &&Received| !of.tools().is_empty() && of.last_user().contains(message);
    requests.iter().find(is_main).unwrap_or_else(|| {
        let seen: Vec<_> = requests.iter().map(|of| (&of.path, of.tools().len(), of.last_user())).collect();
        panic!("no request carries {message:?}: {seen:#?}")
    })
}
