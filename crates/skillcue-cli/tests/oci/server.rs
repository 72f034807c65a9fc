//! The real registry, started on loopback with its files below a temporary directory.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

/// A registry that ends when it is dropped.
pub(crate) struct RegistryServer {
    child: Child,
    host: String,
    _files: TempDir,
}

impl RegistryServer {
    /// The repository that [`blob`](Self::blob) and [`manifest`](Self::manifest) fill.
    pub(crate) const REPOSITORY: &'static str = "others/pdf";

    pub(crate) fn start(program: &Path, htpasswd: Option<&str>) -> RegistryServer {
        let files = tempfile::tempdir().unwrap();
        let mut auth = String::new();
        if let Some(line) = htpasswd {
            fs::write(files.path().join("htpasswd"), format!("{line}\n")).unwrap();
            auth = format!("auth: {{htpasswd: {{realm: test, path: {}}}}}\n", files.path().join("htpasswd").display());
        }
        // A port that was free a moment ago; another process may take it, so several are tried.
        for _ in 0..20 {
            let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
            let config = format!(
                "version: 0.1\nlog: {{level: error, accesslog: {{disabled: true}}}}\nstorage: {{filesystem: {{rootdirectory: {}}}}}\n\
                 http: {{addr: 127.0.0.1:{port}}}\n{auth}",
                files.path().join("data").display()
            );
            fs::write(files.path().join("config.yml"), config).unwrap();
            let mut child = Command::new(program)
                .arg("serve")
                .arg(files.path().join("config.yml"))
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            for _ in 0..600 {
                if child.try_wait().unwrap().is_some() {
                    break;
                }
                if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                    return RegistryServer { child, host: format!("127.0.0.1:{port}"), _files: files };
                }
                std::thread::sleep(Duration::from_millis(50));
            }
            let _ = child.kill();
            let _ = child.wait();
        }
        panic!("the registry does not start");
    }

    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    /// Puts a blob, and returns its digest and its size.
    pub(crate) fn blob(&self, bytes: &[u8]) -> (String, usize) {
        let digest = Sha256::digest(bytes).iter().fold("sha256:".to_owned(), |text, byte| format!("{text}{byte:02x}"));
        let begun = self.ask("POST", &format!("/v2/{}/blobs/uploads/", Self::REPOSITORY), "", &[]);
        let location = begun.lines().find_map(|line| line.strip_prefix("Location: ")).unwrap().trim().to_owned();
        let path = location.trim_start_matches("http://").trim_start_matches(self.host()).to_owned();
        let done = self.ask("PUT", &format!("{path}&digest={digest}"), "application/octet-stream", bytes);
        assert!(done.starts_with("HTTP/1.1 201"), "{done}");
        (digest, bytes.len())
    }

    /// Puts a manifest under a tag.
    pub(crate) fn manifest(&self, tag: &str, text: &str, media_type: &str) {
        let done = self.ask("PUT", &format!("/v2/{}/manifests/{tag}", Self::REPOSITORY), media_type, text.as_bytes());
        assert!(done.starts_with("HTTP/1.1 201"), "{done}");
    }

    fn ask(&self, method: &str, path: &str, media_type: &str, body: &[u8]) -> String {
        let mut stream = TcpStream::connect(&self.host).unwrap();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nContent-Type: {media_type}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            self.host,
            body.len()
        );
        stream.write_all(&[head.as_bytes(), body].concat()).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        String::from_utf8_lossy(&answer).into_owned()
    }
}

impl Drop for RegistryServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
