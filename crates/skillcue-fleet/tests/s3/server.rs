//! The server that the tests talk to.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use skillcue_fleet::{Store, StoreOptions};

const BUCKET: &str = "skillcue-tests";

pub(crate) struct S3 {
    pub(crate) endpoint: String,
}

/// Returns the server, with an empty bucket; none if there is none.
pub(crate) fn s3() -> Option<S3> {
    let Ok(endpoint) = std::env::var("SKILLCUE_S3_ENDPOINT") else {
        println!("skipped: SKILLCUE_S3_ENDPOINT names no server; `cargo xtask test fleet` starts one");
        return None;
    };
    let s3 = S3 { endpoint };
    // Made once; a bucket that is there stays as it is.
    s3.request("PUT", "", b"");
    Some(s3)
}

impl S3 {
    pub(crate) fn url(path: &str) -> String {
        format!("s3://{BUCKET}/{path}")
    }

    pub(crate) fn options(endpoint: &str, timeout: Option<Duration>) -> StoreOptions {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        StoreOptions {
            options: vec![pair("endpoint", endpoint), pair("region", "us-east-1")],
            variables: vec![pair("AWS_ACCESS_KEY_ID", "test"), pair("AWS_SECRET_ACCESS_KEY", "test")],
            timeout,
            create: true,
            ..StoreOptions::default()
        }
    }

    pub(crate) fn store(path: &str, endpoint: &str) -> Store {
        Store::open(&S3::url(path), &S3::options(endpoint, Some(Duration::from_mins(1)))).unwrap()
    }

    /// Returns the bytes of an object.
    pub(crate) fn object(&self, path: &str) -> Vec<u8> {
        self.request("GET", &format!("/{path}"), b"")
    }

    /// Stores an object.
    pub(crate) fn put_object(&self, path: &str, bytes: &[u8]) {
        self.request("PUT", &format!("/{path}"), bytes);
    }

    fn request(&self, method: &str, path: &str, body: &[u8]) -> Vec<u8> {
        let host = self.endpoint.strip_prefix("http://").unwrap();
        let mut stream = TcpStream::connect(host).unwrap();
        // The server does not look at signatures.
        write!(
            stream,
            "{method} /{BUCKET}{path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: AWS4-HMAC-SHA256 \
             Credential=test/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n",
            body.len()
        )
        .unwrap();
        stream.write_all(body).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let end = answer.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
        answer.split_off(end + 4)
    }
}
