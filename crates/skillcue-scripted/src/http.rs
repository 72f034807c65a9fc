//! The part of HTTP/1.1 that a client of models needs.

use std::io::{self, BufRead, Read, Write};

/// The number of bytes of a request's head, and of its body.
const MAX_HEAD: u64 = 64 << 10;
const MAX_BODY: usize = 64 << 20;

/// A request that is not parsed further yet.
#[derive(Debug)]
pub(crate) struct Head {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Head {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(of, _)| of == name).map(|(_, value)| value.as_str())
    }
}

fn bad(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why.to_owned())
}

fn line(from: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    from.take(MAX_HEAD).read_until(b'\n', &mut line)?;
    if line.is_empty() {
        return Ok(None);
    }
    if line.pop() != Some(b'\n') {
        return Err(bad("a line that does not end"));
    }
    if line.last() == Some(&b'\r') {
        line.pop();
    }
    String::from_utf8(line).map(Some).map_err(|_| bad("a head that is no text"))
}

/// Reads the next request; `None` if the client has closed the connection.
pub(crate) fn read(from: &mut impl BufRead) -> io::Result<Option<Head>> {
    let Some(first) = line(from)? else { return Ok(None) };
    let mut words = first.split(' ');
    let (Some(method), Some(path), Some("HTTP/1.1"), None) = (words.next(), words.next(), words.next(), words.next())
    else {
        return Err(bad("no request of HTTP/1.1"));
    };
    let mut head = Head { method: method.to_owned(), path: path.to_owned(), headers: Vec::new(), body: Vec::new() };
    loop {
        let line = line(from)?.ok_or_else(|| bad("a head that does not end"))?;
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(':').ok_or_else(|| bad("a header without a colon"))?;
        head.headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    if head.header("transfer-encoding").is_some() {
        head.body = chunked(from)?;
    } else if let Some(length) = head.header("content-length") {
        let length: usize = length.parse().map_err(|_| bad("a length that is no number"))?;
        if length > MAX_BODY {
            return Err(bad("a body that is too long"));
        }
        head.body = vec![0; length];
        from.read_exact(&mut head.body)?;
    }
    Ok(Some(head))
}

fn chunked(from: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let size = line(from)?.ok_or_else(|| bad("a body that does not end"))?;
        let size = usize::from_str_radix(size.split(';').next().unwrap_or_default().trim(), 16);
        let size = size.map_err(|_| bad("a chunk without a size"))?;
        if body.len().saturating_add(size) > MAX_BODY {
            return Err(bad("a body that is too long"));
        }
        let begin = body.len();
        body.resize(begin + size, 0);
        from.read_exact(&mut body[begin..])?;
        // The line that ends the chunk, or all of them.
        line(from)?;
        if size == 0 {
            return Ok(body);
        }
    }
}

/// The way in which a client knows where a body ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    Length(usize),
    Chunks,
    Close,
}

pub(crate) fn write_head(
    to: &mut impl Write,
    status: u16,
    kind: &str,
    framing: Framing,
    headers: &[(String, String)],
) -> io::Result<()> {
    use std::fmt::Write as _;

    let reason = match status {
        200 => "OK",
        400..500 => "Refused",
        _ => "Failed",
    };
    let mut head = format!("HTTP/1.1 {status} {reason}\r\ncontent-type: {kind}\r\n");
    let framing = match framing {
        Framing::Length(length) => format!("content-length: {length}\r\n"),
        Framing::Chunks => "transfer-encoding: chunked\r\n".to_owned(),
        Framing::Close => "connection: close\r\n".to_owned(),
    };
    head.push_str(&framing);
    for (name, value) in headers {
        let _ = write!(head, "{name}: {value}\r\n");
    }
    head.push_str("\r\n");
    to.write_all(head.as_bytes())
}

pub(crate) fn write_piece(to: &mut impl Write, framing: Framing, bytes: &[u8]) -> io::Result<()> {
    if framing != Framing::Chunks {
        return to.write_all(bytes);
    }
    if bytes.is_empty() {
        // It would end the body.
        return Ok(());
    }
    let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
    chunk.extend_from_slice(bytes);
    chunk.extend_from_slice(b"\r\n");
    to.write_all(&chunk)
}

pub(crate) fn write_end(to: &mut impl Write, framing: Framing) -> io::Result<()> {
    if framing == Framing::Chunks { to.write_all(b"0\r\n\r\n") } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_follow_one_another() {
        let mut bytes: &[u8] = b"POST /a HTTP/1.1\r\nContent-Length: 3\r\n\r\nabcPOST /b HTTP/1.1\r\n\
            Transfer-Encoding: chunked\r\n\r\n2\r\nde\r\n1;x=y\r\nf\r\n0\r\n\r\nGET /c HTTP/1.1\r\nHost: x\r\n\r\n";
        let bodies = [("/a", &b"abc"[..]), ("/b", b"def"), ("/c", b"")];
        for (path, body) in bodies {
            let head = read(&mut bytes).unwrap().unwrap();
            assert_eq!((head.path.as_str(), head.body.as_slice()), (path, body));
        }
        assert!(read(&mut bytes).unwrap().is_none());
        assert!(read(&mut &b"nonsense\r\n\r\n"[..]).is_err());
        assert!(read(&mut &b"POST /a HTTP/1.1\r\ncontent-length: 99999999999999\r\n\r\n"[..]).is_err());
    }
}
