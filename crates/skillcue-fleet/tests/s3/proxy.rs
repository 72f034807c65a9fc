//! A proxy in front of the server, with a fault.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A fault on the way.
#[derive(Debug, Clone, Default)]
pub(crate) enum Fault {
    #[default]
    None,
    /// Every answer is 503.
    Fails,
    /// No answer comes.
    Stalls,
    /// The second half of each body is missing.
    Truncates,
    /// One bit of each blob and document is another one.
    Lies,
    /// These bytes are sent for the head.
    Head(Vec<u8>),
    /// Connections are closed at once.
    Down,
    /// Every write to a path with this in it is answered with 503.
    FailsWrites(&'static str),
    /// No write to a path with this in it is answered.
    StallsWrites(&'static str),
    /// Half of what is written to a path with this in it is passed on, and the connection closed.
    CutsWrites(&'static str),
    /// So many writes of the head are answered with 412.
    RefusesHead(Arc<AtomicUsize>),
    /// The head is written, and no answer comes.
    LosesAnswer,
}

pub(crate) struct FaultyProxy {
    pub(crate) endpoint: String,
    fault: Arc<Mutex<Fault>>,
}

impl FaultyProxy {
    pub(crate) fn start(upstream: &str) -> FaultyProxy {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let (fault, upstream) = (Arc::<Mutex<Fault>>::default(), upstream.strip_prefix("http://").unwrap().to_owned());
        let of_thread = Arc::clone(&fault);
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let (fault, upstream) = (Arc::clone(&of_thread), upstream.clone());
                std::thread::spawn(move || {
                    let fault = fault.lock().unwrap().clone();
                    // A client that has gone is no failure.
                    let _ = client.and_then(|client| serve(client, &upstream, &fault));
                });
            }
        });
        FaultyProxy { endpoint, fault }
    }

    pub(crate) fn set(&self, fault: Fault) {
        *self.fault.lock().unwrap() = fault;
    }
}

/// Answers one request.
fn serve(mut client: TcpStream, upstream: &str, fault: &Fault) -> std::io::Result<()> {
    if matches!(fault, Fault::Down) {
        return Ok(());
    }
    let (head, body) = read_message(&mut BufReader::new(client.try_clone()?))?;
    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
    let is_write = |part: &str| head.starts_with("PUT ") && path.contains(part);
    match fault {
        Fault::FailsWrites(part) if is_write(part) => {
            return client.write_all(b"HTTP/1.1 503 Slow Down\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        }
        Fault::StallsWrites(part) if is_write(part) => {
            std::thread::sleep(Duration::from_secs(30));
            return Ok(());
        }
        Fault::CutsWrites(part) if is_write(part) => {
            let mut server = TcpStream::connect(upstream)?;
            server.write_all(head.as_bytes())?;
            return server.write_all(&body[..body.len() / 2]);
        }
        Fault::RefusesHead(times) if is_write("/head") => {
            let left = times.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
            if left.is_ok() {
                return client
                    .write_all(b"HTTP/1.1 412 Precondition Failed\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            }
        }
        Fault::Stalls => {
            std::thread::sleep(Duration::from_secs(30));
            return Ok(());
        }
        Fault::Fails => {
            return client.write_all(b"HTTP/1.1 503 Slow Down\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        }
        _ => {}
    }
    // An old head comes whatever the client has.
    let is_old = matches!(fault, Fault::Head(_)) && path.ends_with("/head");
    let kept = |line: &&str| {
        let line = line.to_ascii_lowercase();
        !(line.starts_with("connection:") || is_old && line.starts_with("if-none-match:"))
    };
    let lines: Vec<&str> = head.trim_end().split("\r\n").filter(kept).collect();
    let mut server = TcpStream::connect(upstream)?;
    write!(server, "{}\r\nConnection: close\r\n\r\n", lines.join("\r\n"))?;
    server.write_all(&body)?;
    let loses_answer = matches!(fault, Fault::LosesAnswer) && is_write("/head");
    let (head, body) = read_message(&mut BufReader::new(server))?;
    if loses_answer {
        return Ok(());
    }
    let size = body.len();
    let sent = match fault {
        Fault::Truncates => body[..size / 2].to_vec(),
        Fault::Lies if size > 0 && (path.contains("/blobs/") || path.contains("/catalog/")) => {
            let mut body = body;
            body[size / 2] ^= 1;
            body
        }
        Fault::Head(head) if path.ends_with("/head") => head.clone(),
        _ => body,
    };
    let said = if is_old { sent.len() } else { size };
    let is_size = |line: &&str| !line.to_ascii_lowercase().starts_with("content-length:");
    let kept = |line: &&str| !line.to_ascii_lowercase().starts_with("connection:");
    let lines: Vec<&str> = head.trim_end().split("\r\n").filter(is_size).filter(kept).collect();
    write!(client, "{}\r\nContent-Length: {said}\r\nConnection: close\r\n\r\n", lines.join("\r\n"))?;
    client.write_all(&sent)
}

/// Reads the head and the body of a request or an answer.
fn read_message(from: &mut BufReader<TcpStream>) -> std::io::Result<(String, Vec<u8>)> {
    let mut head = String::new();
    while from.read_line(&mut head)? > 2 {}
    let size = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
    });
    let mut body = Vec::new();
    from.take(size.unwrap_or(0)).read_to_end(&mut body)?;
    Ok((head, body))
}
