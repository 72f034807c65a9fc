//! Frames of the protocol: lines with a limit, and the bytes that some of them announce.

use std::io::{self, BufRead, Read, Write};

use serde::Serialize;
use serde::de::DeserializeOwned;

/// The reason that nothing more can be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FrameError {
    #[error("the other side is gone")]
    End,
    #[error("a line is longer than {0} bytes")]
    TooLong(usize),
    #[error("a line is no message: {0}")]
    Garbage(String),
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Reads the next message, of at most `limit` bytes.
pub(crate) fn read<T: DeserializeOwned>(from: &mut impl BufRead, limit: usize) -> Result<T, FrameError> {
    let mut line = Vec::new();
    let taken = from.by_ref().take(limit as u64 + 1).read_until(b'\n', &mut line)?;
    if taken == 0 {
        return Err(FrameError::End);
    }
    if line.last() != Some(&b'\n') {
        return Err(if taken > limit { FrameError::TooLong(limit) } else { FrameError::End });
    }
    serde_json::from_slice(&line).map_err(|error| FrameError::Garbage(error.to_string()))
}

/// Reads the bytes behind a message, in pieces of these `lengths`, of at most `limit` bytes together.
pub(crate) fn read_bytes(
    from: &mut impl Read,
    lengths: impl Iterator<Item = u64>,
    limit: u64,
) -> Result<Vec<Vec<u8>>, FrameError> {
    let mut left = limit;
    let mut pieces = Vec::new();
    for length in lengths {
        left = left
            .checked_sub(length)
            .ok_or_else(|| FrameError::Garbage(format!("more than {limit} bytes are announced")))?;
        let mut piece = Vec::new();
        if from.by_ref().take(length).read_to_end(&mut piece)? as u64 != length {
            return Err(FrameError::End);
        }
        pieces.push(piece);
    }
    Ok(pieces)
}

/// Writes a message and the bytes behind it, and sends them off.
pub(crate) fn write<T: Serialize>(to: &mut impl Write, message: &T, bytes: &[&[u8]]) -> io::Result<()> {
    let mut line = serde_json::to_vec(message).map_err(io::Error::other)?;
    line.push(b'\n');
    to.write_all(&line)?;
    for piece in bytes {
        to.write_all(piece)?;
    }
    to.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_it_wrote_and_no_more_than_it_may() {
        let mut wire = Vec::new();
        write(&mut wire, &"one", &[b"\n\0", b"xyz"]).unwrap();
        write(&mut wire, &2, &[]).unwrap();
        let mut from = wire.as_slice();
        assert_eq!(read::<String>(&mut from, 10).unwrap(), "one");
        assert_eq!(read_bytes(&mut from, [2, 3].into_iter(), 5).unwrap(), [b"\n\0".to_vec(), b"xyz".to_vec()]);
        assert_eq!(read::<u32>(&mut from, 10).unwrap(), 2);
        assert!(matches!(read::<u32>(&mut from, 10), Err(FrameError::End)));
        assert!(matches!(read::<String>(&mut &b"\"abcdef\"\n"[..], 4), Err(FrameError::TooLong(4))));
        assert!(matches!(read::<String>(&mut &b"\"abc"[..], 40), Err(FrameError::End)));
        assert!(matches!(read::<String>(&mut &b"abc\n"[..], 40), Err(FrameError::Garbage(_))));
        assert!(matches!(read_bytes(&mut &b"abc"[..], [2, 2].into_iter(), 3), Err(FrameError::Garbage(_))));
    }
}
