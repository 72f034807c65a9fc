//! The server as a client sees it.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use skillcue_scripted::{Reply, Server};

struct Client(BufReader<TcpStream>);

impl Client {
    fn of(server: &Server) -> Client {
        let address = server.url().strip_prefix("http://").unwrap().to_owned();
        Client(BufReader::new(TcpStream::connect(address).unwrap()))
    }

    fn ask(&mut self, first: &str, headers: &str, body: &str) -> (u16, String) {
        let length = body.len();
        let request = format!("{first} HTTP/1.1\r\nhost: x\r\n{headers}content-length: {length}\r\n\r\n{body}");
        self.0.get_mut().write_all(request.as_bytes()).unwrap();
        self.read()
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    fn read(&mut self) -> (u16, String) {
        let status = self.line().split(' ').nth(1).unwrap().parse().unwrap();
        let mut length = None;
        loop {
            let line = self.line();
            if line.is_empty() {
                break;
            }
            if let Some(given) = line.strip_prefix("content-length: ") {
                length = Some(given.parse().unwrap());
            }
        }
        let mut body = Vec::new();
        loop {
            let size = length.unwrap_or_else(|| usize::from_str_radix(&self.line(), 16).unwrap());
            let begin = body.len();
            body.resize(begin + size, 0);
            self.0.read_exact(&mut body[begin..]).unwrap();
            if length.is_none() {
                self.line();
            }
            if length.is_some() || size == 0 {
                return (status, String::from_utf8(body).unwrap());
            }
        }
    }
}

const JSON: &str = "content-type: application/json\r\n";
const GOOD: &str = r#"{"model":"m","messages":[{"role":"user","content":"hi"}]}"#;

#[test]
fn answers_follow_one_another_on_one_connection() {
    let server = Server::start(|received| Reply::text(format!("{} {}", received.number, received.last_user())));
    let mut client = Client::of(&server);
    let (status, body) = client.ask("POST /v1/chat/completions", JSON, GOOD);
    assert_eq!(status, 200);
    assert!(body.contains(r#""content":"1 hi""#) && body.contains("chat.completion\""), "{body}");
    let stream = GOOD.replace("{\"model", "{\"stream\":true,\"model");
    let (_, body) = client.ask("POST /chat/completions", JSON, &stream);
    assert!(body.starts_with(": ping\n\ndata: {") && body.ends_with("data: [DONE]\n\n"), "{body}");
    assert!(body.contains(r#""content":"2 hi""#) && !body.contains("usage"), "{body}");
    let stream = stream.replace("{\"stream", "{\"max_tokens\":9,\"stream");
    let (_, body) = client.ask("POST /v1/messages", &format!("{JSON}anthropic-version: 2023-06-01\r\n"), &stream);
    assert!(body.starts_with("event: message_start\ndata: {") && body.contains("event: message_stop"), "{body}");
    assert!(client.ask("GET /v1/models", "", "").1.contains("scripted"));
    assert_eq!((server.requests().len(), server.connections()), (4, 1));
}

#[test]
fn requests_that_real_servers_refuse_are_refused() {
    let server = Server::with_key("k", |_| panic!("the script must not be asked"));
    let mut client = Client::of(&server);
    let keyed = format!("{JSON}authorization: Bearer k\r\nx-api-key: k\r\n");
    for (first, headers, body, status) in [
        ("POST /v1/chat/completions", JSON, GOOD, 401),
        ("POST /v1/messages", "content-type: application/json\r\nauthorization: Bearer k\r\n", GOOD, 401),
        ("POST /v1/elsewhere", &keyed, GOOD, 404),
        ("GET /v1/chat/completions", &keyed, "", 405),
        ("POST /v1/chat/completions", "authorization: Bearer k\r\n", GOOD, 415),
        ("POST /v1/chat/completions", &keyed, "{", 400),
        ("POST /v1/chat/completions", &keyed, "{}", 400),
        ("POST /v1/messages", &keyed, GOOD, 400),
    ] {
        let (found, said) = client.ask(first, headers, body);
        assert_eq!(found, status, "{first}: {said}");
        assert!(said.contains("\"error\""), "{said}");
    }
    assert_eq!(server.refused().len(), 8);
}

#[test]
fn other_programs_have_their_formats() {
    let server = Server::for_clients(|received| match received.tool_results().len() {
        0 => Reply::calls([("a", "files/read", serde_json::json!({"path": "x"}))]),
        _ => Reply::text(format!("read by {}", received.model())),
    });
    let mut client = Client::of(&server);
    let input = r#"{"model":"m","stream":true,"store":false,"input":[{"role":"user","content":"hi"}]}"#;
    let (status, body) = client.ask("POST /v1/responses", JSON, input);
    assert_eq!(status, 200, "{body}");
    let last = body.trim_end().rsplit("data: ").next().unwrap();
    let last: serde_json::Value = serde_json::from_str(last).unwrap();
    assert_eq!(last["type"], "response.completed");
    let call = &last["response"]["output"][0];
    assert_eq!((&call["namespace"], &call["name"], &call["call_id"]), (&"files".into(), &"read".into(), &"a".into()));
    let contents = r#"{"contents":[{"role":"user","parts":[{"text":"hi"}]},
        {"role":"model","parts":[{"functionCall":{"name":"f","args":{}}}]},
        {"role":"user","parts":[{"functionResponse":{"name":"f","response":{"output":"1"}}}]}]}"#;
    let (_, body) = client.ask("POST /v1beta/models/g-1:streamGenerateContent?alt=sse", JSON, contents);
    assert!(body.starts_with("data: {") && body.contains("read by g-1") && body.contains("\"STOP\""), "{body}");
    let (_, body) = client.ask("POST /v1beta/models/g-1:generateContent", JSON, contents);
    let whole: serde_json::Value = serde_json::from_str(&body).unwrap();
    assert_eq!(whole["candidates"][0]["content"]["parts"][0]["text"], "read by g-1");
    assert!(client.ask("POST /v1beta/models/g-1:countTokens", JSON, contents).1.contains("totalTokens"));
    let versioned = format!("{JSON}anthropic-version: 2023-06-01\r\n");
    assert!(client.ask("POST /v1/messages/count_tokens", &versioned, GOOD).1.contains("input_tokens"));
    let (status, body) = client.ask("POST /v1beta/models/g-1:generateContent", JSON, r#"{"contents":[]}"#);
    assert_eq!((status, body.contains("INVALID_ARGUMENT")), (400, true), "{body}");
    assert_eq!(server.refused().len(), 1);
}

#[test]
fn a_script_that_panics_is_seen() {
    let server = Server::start(|_| panic!("wrong"));
    assert_eq!(Client::of(&server).ask("POST /v1/chat/completions", JSON, GOOD).0, 418);
    assert_eq!(server.refused(), ["the script panicked"]);
}

#[test]
fn dropping_the_server_ends_waiting_requests() {
    let server = Server::start(|_| Reply::stall());
    let mut client = Client::of(&server);
    let request = format!("POST /v1/chat/completions HTTP/1.1\r\n{JSON}content-length: {}\r\n\r\n{GOOD}", GOOD.len());
    client.0.get_mut().write_all(request.as_bytes()).unwrap();
    assert!(server.wait_for_requests(1));
    assert_eq!(server.disconnects(), 0);
    drop(server);
    assert_eq!(client.0.read(&mut [0]).unwrap_or(0), 0);
}
