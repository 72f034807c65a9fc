//! Reads server-sent events from a stream.

/// The error for an event that is larger than allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an event has more than {max_bytes} bytes")]
pub struct EventTooLarge {
    /// The maximum size of an event, in bytes.
    pub max_bytes: usize,
}

/// Cuts a stream of bytes into events, however the network cuts it. An event ends with a blank line; the last one may
/// end with the stream, if the caller calls [`end`](Events::end) and can distinguish a whole event from its beginning.
///
/// ```
/// use skillcue_http::{EventTooLarge, Events};
///
/// let (mut events, mut found) = (Events::new(1 << 20), Vec::new());
/// for chunk in [&b"data: {\"a\":"[..], b" 1}\n", b"\nevent: x\ndata: two\n\n"] {
///     events.feed(chunk, &mut |data| {
///         found.push(data.to_owned());
///         Ok::<(), EventTooLarge>(())
///     })?;
/// }
/// assert_eq!(found, ["{\"a\": 1}", "two"]);
/// # Ok::<(), EventTooLarge>(())
/// ```
#[derive(Debug)]
pub struct Events {
    max_bytes: usize,
    line: Vec<u8>,
    data: Vec<u8>,
    /// Whether the event has a line of data, even an empty one.
    any: bool,
    after_cr: bool,
    /// Whether the first line is over. A byte order mark may be before it.
    begun: bool,
}

impl Events {
    /// Creates a reader for the beginning of a stream. No event may have more than `max_bytes` bytes.
    pub fn new(max_bytes: usize) -> Events {
        Events { max_bytes, line: Vec::new(), data: Vec::new(), any: false, after_cr: false, begun: false }
    }

    /// Takes the next bytes, and calls back with the data of each event that ends in them. The events' names are left
    /// out: models and MCP servers have the type of an event in its data.
    pub fn feed<E: From<EventTooLarge>>(
        &mut self,
        bytes: &[u8],
        each: &mut dyn FnMut(&str) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut rest = bytes;
        while !rest.is_empty() {
            if std::mem::take(&mut self.after_cr) && rest[0] == b'\n' {
                rest = &rest[1..];
                continue;
            }
            let end = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let (line, ended) = end.map_or((rest, false), |at| (&rest[..at], true));
            if self.line.len() + self.data.len() + line.len() > self.max_bytes {
                return Err(EventTooLarge { max_bytes: self.max_bytes }.into());
            }
            self.line.extend_from_slice(line);
            rest = &rest[line.len()..];
            if ended {
                self.after_cr = rest[0] == b'\r';
                rest = &rest[1..];
                self.end_line(each)?;
            }
        }
        Ok(())
    }

    /// Ends the stream, and calls back with the data of an event that has not ended yet. It may be less than an event.
    pub fn end<E>(&mut self, each: &mut dyn FnMut(&str) -> Result<(), E>) -> Result<(), E> {
        if !self.line.is_empty() {
            self.end_line(each)?;
        }
        self.end_line(each)
    }

    fn end_line<E>(&mut self, each: &mut dyn FnMut(&str) -> Result<(), E>) -> Result<(), E> {
        let taken = std::mem::take(&mut self.line);
        let mut line = taken.as_slice();
        if !std::mem::replace(&mut self.begun, true) {
            line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        }
        if line.is_empty() {
            let data = std::mem::take(&mut self.data);
            if std::mem::take(&mut self.any) && !data.is_empty() {
                // Whole characters: an event's bytes are put together before they are read as text.
                each(&String::from_utf8_lossy(&data))?;
            }
            return Ok(());
        }
        let value = match line.strip_prefix(b"data") {
            Some([]) => &[],
            Some([b':', b' ', value @ ..] | [b':', value @ ..]) => value,
            // A comment, an event's name, an id, or an unknown field.
            _ => return Ok(()),
        };
        if self.any {
            self.data.push(b'\n');
        }
        self.any = true;
        self.data.extend_from_slice(value);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MAX: usize = 4 << 20;

    fn events<'b>(pieces: impl IntoIterator<Item = &'b [u8]>) -> Vec<String> {
        let mut found = Vec::new();
        let mut events = Events::new(MAX);
        for piece in pieces {
            let each = &mut |data: &str| {
                found.push(data.to_owned());
                Ok::<(), EventTooLarge>(())
            };
            events.feed(piece, each).unwrap();
        }
        found
    }

    #[test]
    fn lines_end_in_three_ways() {
        for end in ["\n", "\r", "\r\n"] {
            let text = "\u{feff}data: a|: comment|event: x|data:b||data|data:|data:  c |||id: 1||data: ü🦀||data: cut"
                .replace('|', end);
            assert_eq!(events([text.as_bytes()]), ["a\nb", "\n\n c ", "ü🦀"], "{end:?}");
        }
    }

    #[test]
    fn the_last_event_may_end_with_the_stream() {
        for (text, last) in [
            ("data: a\n\ndata: b", Some("b")),
            ("data: a\n\ndata: b\n", Some("b")),
            ("data: a\n\ndata: b\r", Some("b")),
            ("data: a\n\nevent: x\ndata: b\ndata: c\nid: 1", Some("b\nc")),
            ("data: a\n\n", None),
            ("data: a\n\n: comment", None),
            ("data: a\n\ndat", None),
            ("", None),
        ] {
            let mut events = Events::new(MAX);
            events.feed(text.as_bytes(), &mut |_| Ok::<(), EventTooLarge>(())).unwrap();
            let mut found = Vec::new();
            for _ in 0..2 {
                let each = &mut |data: &str| {
                    found.push(data.to_owned());
                    Ok::<(), EventTooLarge>(())
                };
                events.end(each).unwrap();
            }
            assert_eq!(found, Vec::from_iter(last), "{text:?}");
        }
    }

    #[test]
    fn a_byte_order_mark_is_skipped_only_at_the_beginning() {
        assert_eq!(events(["\u{feff}data: a\n\n\u{feff}data: b\n\n".as_bytes()]), ["a"]);
        assert_eq!(events([&b"datax: a\n\n"[..], b"data: b\n\n"]), ["b"]);
        assert_eq!(events([&b"data\n\n"[..]]), Vec::<String>::new());
    }

    #[test]
    fn an_event_may_have_only_so_many_bytes() {
        let line = vec![b'x'; MAX / 2];
        let mut events = Events::new(MAX);
        let mut each = |_: &str| Ok::<(), EventTooLarge>(());
        events.feed(b"data: ", &mut each).unwrap();
        events.feed(&line, &mut each).unwrap();
        events.feed(b"\n", &mut each).unwrap();
        assert!(events.feed(&line, &mut each).is_ok());
        assert!(events.feed(&line, &mut each).is_err());
    }

    proptest! {
        #[test]
        fn any_chunking_gives_the_same_events(
            parts in prop::collection::vec(
                prop_oneof![
                    Just("\n".to_owned()), Just("\r".to_owned()), Just("\r\n".to_owned()), Just("data:".to_owned()),
                    Just("data: ".to_owned()), Just("\n\n".to_owned()), Just(":".to_owned()),
                    Just("\u{feff}".to_owned()), "[a-zü🦀 {}\"]{0,6}",
                ],
                0..40,
            ),
            cuts in prop::collection::vec(1usize..9, 1..20),
        ) {
            let bytes = parts.concat().into_bytes();
            let mut pieces = Vec::new();
            let mut rest = bytes.as_slice();
            for cut in cuts.iter().cycle() {
                if rest.is_empty() {
                    break;
                }
                let (piece, after) = rest.split_at((*cut).min(rest.len()));
                pieces.push(piece);
                rest = after;
            }
            prop_assert_eq!(events(pieces), events([bytes.as_slice()]));
        }

        #[test]
        fn events_are_read_as_written(texts in prop::collection::vec("[^\r\n]{1,20}", 0..8), end in "\n|\r|\r\n") {
            let stream = texts.iter().map(|text| format!("data: {text}{end}{end}")).collect::<Vec<_>>().concat();
            prop_assert_eq!(events([stream.as_bytes()]), texts);
        }
    }
}
