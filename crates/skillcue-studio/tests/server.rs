//! The server as other programs meet it: raw requests over a socket.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use skillcue_studio::{
    StudioData, StudioEvent, StudioEvents, StudioFailure, StudioOptions, StudioQuestion, StudioServer,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Answers every question with its name, and remembers edits. A skill called `wait` is waited for.
struct Echo {
    edits: &'static Mutex<Vec<StudioQuestion>>,
    waiting: &'static Waiting,
}

#[derive(Default)]
struct Waiting {
    begun: AtomicUsize,
    is_over: Mutex<bool>,
    over: Condvar,
}

impl StudioData for Echo {
    fn answer(&self, question: StudioQuestion) -> Result<Vec<u8>, StudioFailure> {
        if question.is_edit() {
            self.edits.lock().unwrap().push(question.clone());
        }
        match &question {
            StudioQuestion::Show { name } if name == "none" => {
                Err(StudioFailure::new("not_found", "no skill is called \"none\"").help("look at the list"))
            }
            StudioQuestion::Show { name } if name == "wait" => {
                self.waiting.begun.fetch_add(1, Ordering::SeqCst);
                drop(self.waiting.over.wait_while(self.waiting.is_over.lock().unwrap(), |is_over| !*is_over).unwrap());
                Ok(b"{}".to_vec())
            }
            StudioQuestion::Show { name } if name == "panic" => panic!("as the test wants it"),
            _ => Ok(format!("{{\"asked\":\"{}\"}}", question.name()).into_bytes()),
        }
    }
}

struct Running {
    port: u16,
    token: String,
    edits: &'static Mutex<Vec<StudioQuestion>>,
    waiting: &'static Waiting,
    events: StudioEvents,
}

async fn start(edit: bool) -> Running {
    let edits: &'static Mutex<Vec<StudioQuestion>> = Box::leak(Box::default());
    let waiting: &'static Waiting = Box::leak(Box::default());
    let events = StudioEvents::default();
    let mut options = StudioOptions::default();
    options.edit = edit;
    options.events = events.clone();
    let server = StudioServer::bind(Echo { edits, waiting }, options).await.unwrap();
    let (port, address) = (server.port(), server.address());
    let token = address.rsplit_once("token=").unwrap().1.to_owned();
    tokio::spawn(server.run());
    Running { port, token, edits, waiting, events }
}

impl Running {
    /// Sends bytes as they are, and reads until the server closes.
    async fn raw(&self, request: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).await.unwrap();
        // The server may close before it has read everything.
        let _ = stream.write_all(request.as_bytes()).await;
        let mut answer = Vec::new();
        let _ = tokio::time::timeout(Duration::from_secs(30), stream.read_to_end(&mut answer)).await.unwrap();
        String::from_utf8_lossy(&answer).into_owned()
    }

    async fn get(&self, path: &str, headers: &str) -> String {
        let host = format!("127.0.0.1:{}", self.port);
        self.raw(&format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{headers}\r\n")).await
    }

    async fn post(&self, path: &str, headers: &str, body: &str) -> String {
        let host = format!("127.0.0.1:{}", self.port);
        let length = body.len();
        self.raw(&format!(
            "POST {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n{body}"
        ))
        .await
    }

    /// Opens the page as a browser does, and returns the header with the cookie.
    async fn open(&self) -> String {
        let answer = self.get(&format!("/open?token={}", self.token), "").await;
        assert!(answer.starts_with("HTTP/1.1 303 "), "{answer}");
        assert!(answer.contains("location: /\r\n"), "the address has no token any more: {answer}");
        let cookie = answer.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
        assert!(cookie.ends_with("; HttpOnly; SameSite=Strict; Path=/"), "{cookie}");
        format!("Cookie: {}\r\n", cookie.split(';').next().unwrap())
    }

    /// Sends a question, and does not wait for the answer.
    async fn begin(&self, path: &str, headers: &str, body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).await.unwrap();
        let (port, length) = (self.port, body.len());
        let request = format!(
            "POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: {length}\r\n{headers}\r\n{body}"
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        stream
    }

    fn own_page(&self, cookie: &str) -> String {
        format!("{cookie}Origin: http://127.0.0.1:{}\r\nContent-Type: application/json\r\n", self.port)
    }
}

fn status(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap_or("closed")
}

#[tokio::test(flavor = "multi_thread")]
async fn the_token_works_once_and_the_cookie_stays() {
    let running = start(false).await;
    let cookie = running.open().await;
    let page = running.get("/", &cookie).await;
    assert_eq!(status(&page), "200");
    for header in [
        "default-src 'none'; script-src 'self'; style-src 'self'",
        "frame-ancestors 'none'",
        "trusted-types 'none'",
        "nosniff",
        "no-store",
    ] {
        assert!(page.contains(header), "{header} is missing: {page}");
    }
    let again = running.get(&format!("/open?token={}", running.token), "").await;
    assert!(status(&again) == "403" && again.contains("works once"), "{again}");
    let with_cookie = running.get(&format!("/open?token={}", running.token), &cookie).await;
    assert_eq!(status(&with_cookie), "303", "the same browser may open it again");
    let answer = running.post("/api/list", &running.own_page(&cookie), "{}").await;
    assert!(status(&answer) == "200" && answer.ends_with("{\"asked\":\"list\"}"), "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_token_nothing_is_answered() {
    let running = start(true).await;
    for path in ["/", "/app.js", "/api/events", "/nothing", "/open", "/open?token=", "/open?token=0000"] {
        let answer = running.get(path, "").await;
        assert!(matches!(status(&answer), "401" | "403"), "{path}: {answer}");
        assert!(!answer.contains("<html"), "{path}");
    }
    let cookie = format!("Cookie: skillcue-studio-{}={}\r\n", running.port, running.token);
    assert_eq!(status(&running.get("/", &cookie).await), "401", "the token is no cookie");
    let posted = running.post("/api/list", &running.own_page(""), "{}").await;
    assert_eq!(status(&posted), "401");
    let (port, token) = (running.port, &running.token);
    let asked = running
        .raw(&format!("HEAD /open?token={token} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n"))
        .await;
    assert_eq!(status(&asked), "401");
    // None of it has used the token up.
    running.open().await;
}

/// Every user of the machine can read the command line of the program that opens the browser, and a cookie can be copied.
#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn token_and_cookie_are_of_no_use_to_other_users() {
    let running = start(true).await;
    let open = format!("/open?token={}", running.token);
    let Some(answer) = as_other_user(running.port, &open, "").await else { return };
    assert!(status(&answer) == "403" && answer.contains("the user who has started"), "{answer}");
    let cookie = running.open().await;
    for path in ["/", "/open", "/api/events"] {
        let answer = as_other_user(running.port, path, cookie.trim()).await.unwrap();
        assert!(status(&answer) == "403" && answer.contains("the user who has started"), "{path}: {answer}");
    }
    assert_eq!(status(&running.get("/", &cookie).await), "200", "the own user is not locked out");
}

/// Sends a request as another user of the machine. `None` where that is not possible.
#[cfg(target_os = "linux")]
async fn as_other_user(port: u16, path: &str, header: &str) -> Option<String> {
    use std::os::unix::process::CommandExt as _;
    let header = if header.is_empty() { String::new() } else { format!("{header}\r\n") };
    let script = format!(
        "exec 3<>/dev/tcp/127.0.0.1/{port} && \
         printf 'GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n{header}\r\n' >&3 && cat <&3"
    );
    let mut command = std::process::Command::new("/bin/bash");
    command.args(["-c", &script]).current_dir("/").uid(65_534).gid(65_534);
    match tokio::task::spawn_blocking(move || command.output()).await.unwrap() {
        // Only root can be another user.
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => None,
        output => Some(String::from_utf8_lossy(&output.unwrap().stdout).into_owned()),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn other_hosts_are_refused() {
    let running = start(true).await;
    let cookie = running.open().await;
    let port = running.port;
    for host in [
        "evil.example".to_owned(),
        format!("evil.example:{port}"),
        format!("127.0.0.1.evil.example:{port}"),
        format!("localhost.evil.example:{port}"),
        format!("[::1].evil.example:{port}"),
        format!("192.168.0.1:{port}"),
        "127.0.0.1".to_owned(),
        "127.0.0.1:1".to_owned(),
        format!("evil@127.0.0.1:{port}"),
        String::new(),
    ] {
        let answer = running.raw(&format!("GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{cookie}\r\n")).await;
        assert!(matches!(status(&answer), "400" | "403"), "{host}: {answer}");
    }
    for request in [
        format!("GET / HTTP/1.1\r\nConnection: close\r\n{cookie}\r\n"),
        format!("GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nHost: evil.example\r\nConnection: close\r\n{cookie}\r\n"),
        format!("GET http://evil.example/ HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n{cookie}\r\n"),
    ] {
        assert!(matches!(status(&running.raw(&request).await), "400" | "403"), "{request}");
    }
    for host in [format!("localhost:{port}"), format!("[::1]:{port}")] {
        let answer = running.raw(&format!("GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{cookie}\r\n")).await;
        assert_eq!(status(&answer), "200", "{host}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn other_pages_are_refused() {
    let running = start(true).await;
    let (cookie, port) = (running.open().await, running.port);
    let json = "Content-Type: application/json\r\n";
    let save = r#"{"name": "a", "description": "b", "before": "c"}"#;
    for origin in [
        "http://evil.example".to_owned(),
        "null".to_owned(),
        format!("https://127.0.0.1:{port}"),
        "http://127.0.0.1:1".to_owned(),
    ] {
        let headers = format!("{cookie}{json}Origin: {origin}\r\n");
        assert_eq!(status(&running.post("/api/save", &headers, save).await), "403", "{origin}");
        assert_eq!(status(&running.get("/", &headers).await), "403", "{origin}");
    }
    let own = format!("Origin: http://127.0.0.1:{port}\r\n");
    for site in ["cross-site", "same-site"] {
        let headers = format!("{cookie}{json}{own}Sec-Fetch-Site: {site}\r\n");
        assert_eq!(status(&running.post("/api/save", &headers, save).await), "403", "{site}");
        assert_eq!(status(&running.get("/", &headers).await), "403", "{site}");
    }
    // A form of another page cannot send JSON, and a request without an origin is no page's.
    for kind in ["application/x-www-form-urlencoded", "text/plain", "multipart/form-data"] {
        let headers = format!("{cookie}{own}Content-Type: {kind}\r\n");
        assert_eq!(status(&running.post("/api/save", &headers, save).await), "415", "{kind}");
    }
    assert_eq!(status(&running.post("/api/save", &format!("{cookie}{json}"), save).await), "403");
    assert!(running.edits.lock().unwrap().is_empty());
    let preflight = format!(
        "OPTIONS /api/save HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\nOrigin: http://evil.example\r\n\r\n"
    );
    let answer = running.raw(&preflight).await;
    assert!(status(&answer) == "403" && !answer.to_lowercase().contains("access-control-allow"), "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn edits_need_the_option() {
    let save = r#"{"name": "a", "description": "b", "before": "c"}"#;
    let reading = start(false).await;
    let cookie = reading.open().await;
    let answer = reading.post("/api/save", &reading.own_page(&cookie), save).await;
    assert!(status(&answer) == "403" && answer.contains("--edit"), "{answer}");
    assert!(reading.edits.lock().unwrap().is_empty());
    let writing = start(true).await;
    let cookie = writing.open().await;
    assert_eq!(status(&writing.post("/api/save", &writing.own_page(&cookie), save).await), "200");
    assert_eq!(writing.edits.lock().unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_embedded_files_are_served() {
    let running = start(false).await;
    let cookie = running.open().await;
    for path in [
        "/../Cargo.toml",
        "/%2e%2e/Cargo.toml",
        "//etc/passwd",
        "/vendor/../../Cargo.toml",
        "/vendor/LICENSE-htm",
        "/etc/passwd",
        "/app.js/",
        "/api/list",
        "/api/save",
    ] {
        let answer = running.get(path, &cookie).await;
        assert!(matches!(status(&answer), "404" | "400"), "{path}: {answer}");
    }
    for (path, kind) in [("/app.js", "text/javascript"), ("/style.css", "text/css"), ("/icon.svg", "image/svg+xml")] {
        let answer = running.get(path, &cookie).await;
        assert!(status(&answer) == "200" && answer.contains(kind), "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn questions_are_bounded_and_failures_are_told() {
    let running = start(false).await;
    let own = running.own_page(&running.open().await);
    let large = format!("{{\"message\": \"{}\"}}", "x".repeat(9 << 20));
    assert_eq!(status(&running.post("/api/why", &own, &large).await), "413");
    let long = format!("{{\"message\": \"{}\"}}", "x".repeat(2 << 20));
    let answer = running.post("/api/why", &own, &long).await;
    assert!(status(&answer) == "400" && answer.contains("too_large"), "{answer}");
    assert_eq!(status(&running.post("/api/nothing", &own, "{}").await), "400");
    assert_eq!(status(&running.post("/api/show", &own, "{").await), "400");
    let answer = running.post("/api/show", &own, r#"{"name": "none"}"#).await;
    assert!(
        status(&answer) == "422" && answer.contains(r#""code":"not_found""#) && answer.contains("look at the list")
    );
    let answer = running.post("/api/show", &own, r#"{"name": "panic"}"#).await;
    assert!(status(&answer) == "500" && !answer.contains("as the test wants it"), "{answer}");
    assert_eq!(status(&running.post("/api/list", &own, "{}").await), "200", "one answer does not end the server");
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_are_told_of_changes() {
    let running = start(false).await;
    let cookie = running.open().await;
    let mut stream = TcpStream::connect(("127.0.0.1", running.port)).await.unwrap();
    let request = format!("GET /api/events HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n{cookie}\r\n", running.port);
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut seen = String::new();
    let mut buffer = [0; 4096];
    while !seen.contains("listening") {
        let read = stream.read(&mut buffer).await.unwrap();
        assert!(read > 0, "{seen}");
        seen.push_str(&String::from_utf8_lossy(&buffer[..read]));
    }
    assert!(seen.contains("text/event-stream"), "{seen}");
    running.events.send(StudioEvent::Catalog { names: vec!["a\nb".to_owned()], skills: 3 });
    while !seen.contains("\"skills\":3") {
        let read = stream.read(&mut buffer).await.unwrap();
        assert!(read > 0, "{seen}");
        seen.push_str(&String::from_utf8_lossy(&buffer[..read]));
    }
    assert!(seen.contains(r#"data: {"event":"catalog","names":["a\nb"],"skills":3}"#), "one line an event: {seen}");
    drop(stream);
    // The server notices that the page is gone.
    for _ in 0..200 {
        if running.events.listeners() == 0 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    panic!("{} pages still listen", running.events.listeners());
}

/// Waits until something is so, for a while.
async fn becomes(what: &str, is_so: impl Fn() -> bool) {
    for _ in 0..400 {
        if is_so() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    panic!("never: {what}");
}

#[tokio::test(flavor = "multi_thread")]
async fn questions_of_pages_that_are_gone_are_not_begun() {
    let running = start(false).await;
    let own = running.own_page(&running.open().await);
    let begun = || running.waiting.begun.load(Ordering::SeqCst);
    let wait = r#"{"name": "wait"}"#;
    let mut first = Vec::new();
    for _ in 0..4 {
        first.push(running.begin("/api/show", &own, wait).await);
    }
    becomes("four are begun", || begun() == 4).await;
    for _ in 0..20 {
        drop(running.begin("/api/show", &own, wait).await);
    }
    let last = running.begin("/api/show", &own, wait).await;
    let typed = running.post("/api/why", &own, r#"{"message": "a"}"#).await;
    assert_eq!(status(&typed), "200", "a message does not wait for them");
    // The server has to see that they are gone.
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(begun(), 4, "the others wait");
    *running.waiting.is_over.lock().unwrap() = true;
    running.waiting.over.notify_all();
    becomes("the one that is still wanted is begun", || begun() == 5).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(begun(), 5, "those of pages that are gone are not");
    drop((first, last));
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_and_connections_have_a_limit_and_free_their_places() {
    let running = start(false).await;
    let cookie = running.open().await;
    let listen = format!("GET /api/events HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n{cookie}\r\n", running.port);
    let mut pages = Vec::new();
    for _ in 0..16 {
        let mut stream = TcpStream::connect(("127.0.0.1", running.port)).await.unwrap();
        stream.write_all(listen.as_bytes()).await.unwrap();
        pages.push(stream);
    }
    becomes("sixteen listen", || running.events.listeners() == 16).await;
    assert_eq!(status(&running.get("/api/events", &cookie).await), "503");
    pages.clear();
    becomes("none listens", || running.events.listeners() == 0).await;
    let mut idle = Vec::new();
    for _ in 0..80 {
        idle.push(TcpStream::connect(("127.0.0.1", running.port)).await.unwrap());
    }
    assert_eq!(status(&running.get("/", &cookie).await), "closed", "one too many is not kept waiting");
    idle.clear();
    for _ in 0..200 {
        if status(&running.get("/", &cookie).await) == "200" {
            return;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    panic!("the places are not free again");
}
