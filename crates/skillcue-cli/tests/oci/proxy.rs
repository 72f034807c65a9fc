//! A proxy in front of the real registry that breaks some of its answers.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The answers that are broken, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// None.
    None,
    /// A blob has one other byte.
    OtherBlob,
    /// A blob ends too early, with the length that it then has.
    CutBlob,
    /// A blob never ends.
    LongBlob,
    /// A manifest has one other byte, under the digest of the right one.
    OtherManifest,
    /// A manifest of 64 MB.
    HugeManifest,
    /// Another server.
    NoRegistry,
    /// Tokens are to be had in the clear from elsewhere.
    ForeignRealm,
    /// Every blob fails.
    Broken,
}

/// A proxy that ends when it is dropped.
pub(crate) struct FaultyProxy {
    host: String,
    is_done: Arc<AtomicBool>,
}

impl FaultyProxy {
    pub(crate) fn start(to: &str, fault: Fault) -> FaultyProxy {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let host = listener.local_addr().unwrap().to_string();
        let is_done = Arc::new(AtomicBool::new(false));
        let (to, done) = (to.to_owned(), Arc::clone(&is_done));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if done.load(Ordering::SeqCst) {
                    return;
                }
                let (Ok(stream), to) = (stream, to.clone()) else { return };
                std::thread::spawn(move || pass(stream, &to, fault));
            }
        });
        FaultyProxy { host, is_done }
    }

    pub(crate) fn host(&self) -> &str {
        &self.host
    }
}

impl Drop for FaultyProxy {
    fn drop(&mut self) {
        self.is_done.store(true, Ordering::SeqCst);
        // Wakes the listener, which then ends.
        let _ = TcpStream::connect(&self.host);
    }
}

/// Passes one request on, and its answer back, broken.
fn pass(mut client: TcpStream, to: &str, fault: Fault) {
    let mut request = Vec::new();
    let mut buffer = [0; 4096];
    while !request.windows(4).any(|window| window == b"\r\n\r\n") {
        match client.read(&mut buffer) {
            Ok(0) | Err(_) => return,
            Ok(count) => request.extend_from_slice(&buffer[..count]),
        }
    }
    let text = String::from_utf8_lossy(&request).into_owned();
    let path = text.split(' ').nth(1).unwrap_or_default().to_owned();
    let (is_blob, is_manifest) = (path.contains("/blobs/"), path.contains("/manifests/"));
    let plain = |status: &str, headers: &str, body: &[u8]| {
        let head = format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\nConnection: close\r\n\r\n", body.len());
        [head.as_bytes(), body].concat()
    };
    let answer = match fault {
        Fault::NoRegistry => plain("404 Not Found", "", b"hello"),
        Fault::ForeignRealm => {
            let challenge = "Www-Authenticate: Bearer realm=\"http://tokens.example/token\",service=\"x\"\r\n";
            plain("401 Unauthorized", challenge, b"")
        }
        Fault::Broken if is_blob => plain("500 Internal Server Error", "", &b"x".repeat(1000)),
        Fault::HugeManifest if is_manifest => plain("200 OK", "", &b" ".repeat(64 << 20)),
        Fault::LongBlob if is_blob => {
            // Without a length, and longer than any limit of a small blob.
            let _ = client.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n");
            let chunk = vec![b'x'; 1 << 16];
            while client.write_all(&chunk).is_ok() {}
            return;
        }
        _ => {
            let Some((head, mut body)) = ask(to, &text) else { return };
            match fault {
                Fault::OtherBlob if is_blob => body.iter_mut().take(1).for_each(|byte| *byte ^= 1),
                Fault::CutBlob if is_blob => body.truncate(body.len() / 2),
                Fault::OtherManifest if is_manifest => {
                    let at = body.iter().position(|byte| *byte == b'2').unwrap_or(0);
                    body[at] = b'3';
                }
                _ => {}
            }
            let kept = head.lines().filter(|line| {
                let lower = line.to_ascii_lowercase();
                !lower.starts_with("content-length:")
                    && !lower.starts_with("connection:")
                    && !lower.starts_with("transfer-encoding:")
            });
            let head: String = kept.flat_map(|line| [line, "\r\n"]).collect();
            let head = format!("{head}Content-Length: {}\r\nConnection: close\r\n\r\n", body.len());
            [head.as_bytes(), &body].concat()
        }
    };
    let _ = client.write_all(&answer);
}

/// Asks the registry, and returns the head of its answer without the empty line, and the body.
fn ask(to: &str, request: &str) -> Option<(String, Vec<u8>)> {
    let mut server = TcpStream::connect(to).ok()?;
    let lines =
        request.lines().filter(|line| !line.is_empty() && !line.to_ascii_lowercase().starts_with("connection:"));
    let request: String = lines.flat_map(|line| [line, "\r\n"]).collect();
    server.write_all(format!("{request}Connection: close\r\n\r\n").as_bytes()).ok()?;
    let mut answer = Vec::new();
    server.read_to_end(&mut answer).ok()?;
    let end = answer.windows(4).position(|window| window == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&answer[..end]).into_owned();
    Some((head, answer[end + 4..].to_vec()))
}

/// Returns files as a tar, packed by gzip.
pub(crate) fn tar_gz(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut tar = Vec::new();
    for (name, bytes) in files {
        let mut header = [0_u8; 512];
        header[..name.len()].copy_from_slice(name.as_bytes());
        header[100..107].copy_from_slice(b"0000644");
        header[124..135].copy_from_slice(format!("{:011o}", bytes.len()).as_bytes());
        header[136..147].copy_from_slice(b"00000000000");
        header[156] = b'0';
        header[257..263].copy_from_slice(b"ustar\0");
        header[263..265].copy_from_slice(b"00");
        header[148..156].copy_from_slice(b"        ");
        let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
        header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
        tar.extend_from_slice(&header);
        tar.extend_from_slice(bytes);
        tar.resize(tar.len().next_multiple_of(512), 0);
    }
    tar.resize(tar.len() + 1024, 0);
    // Stored, not deflated: a whole gzip by hand needs no further crate.
    let mut out = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    let mut chunks = tar.chunks(0xffff).peekable();
    while let Some(chunk) = chunks.next() {
        let length = u16::try_from(chunk.len()).unwrap();
        out.push(u8::from(chunks.peek().is_none()));
        out.extend_from_slice(&length.to_le_bytes());
        out.extend_from_slice(&(!length).to_le_bytes());
        out.extend_from_slice(chunk);
    }
    out.extend_from_slice(&crc32(&tar).to_le_bytes());
    out.extend_from_slice(&u32::try_from(tar.len()).unwrap().to_le_bytes());
    out
}

fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 };
        }
    }
    !crc
}
