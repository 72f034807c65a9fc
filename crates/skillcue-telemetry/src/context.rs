//! The place of a span in a trace, as W3C's header `traceparent` has it.

/// The trace and the span that a caller's work belongs to.
///
/// ```
/// use skillcue_telemetry::TraceContext;
///
/// let text = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
/// let context = TraceContext::parse(text).unwrap();
/// assert!(context.is_sampled && context.to_string() == text);
/// assert_eq!(TraceContext::parse("00-00000000000000000000000000000000-00f067aa0ba902b7-01"), None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceContext {
    /// The id of the trace; never all zeros.
    pub trace: [u8; 16],
    /// The id of the span; never all zeros.
    pub span: [u8; 8],
    /// Whether the caller records its own spans.
    pub is_sampled: bool,
}

impl TraceContext {
    /// Reads a `traceparent`. Later versions may have more parts, which are left out.
    pub fn parse(text: &str) -> Option<TraceContext> {
        let mut parts = text.trim().split('-');
        let (version, trace, span, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let [version] = digits::<1>(version)?;
        if version == 0xff || (version == 0 && parts.next().is_some()) {
            return None;
        }
        let [flags] = digits::<1>(flags)?;
        let context = TraceContext { trace: digits(trace)?, span: digits(span)?, is_sampled: flags & 1 == 1 };
        (context.trace != [0; 16] && context.span != [0; 8]).then_some(context)
    }

    /// Makes the context of a span: a new one below a caller, or of a trace of its own.
    pub(crate) fn new(parent: Option<TraceContext>, is_sampled: bool) -> TraceContext {
        TraceContext { trace: parent.map_or_else(random, |parent| parent.trace), span: random(), is_sampled }
    }
}

impl std::fmt::Display for TraceContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("00-")?;
        self.trace.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        f.write_str("-")?;
        self.span.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        write!(f, "-{:02x}", u8::from(self.is_sampled))
    }
}

/// Reads lower-case hexadecimal digits, exactly so many.
fn digits<const N: usize>(text: &str) -> Option<[u8; N]> {
    let is_digit = |byte: &u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte);
    if text.len() != 2 * N || !text.as_bytes().iter().all(is_digit) {
        return None;
    }
    let mut bytes = [0; N];
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).ok()?;
    }
    Some(bytes)
}

/// Returns random bytes, not all of them zero.
fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    // Without a source of randomness, spans of two programs may get one id. Nothing depends on it but a picture.
    let _ = getrandom::fill(&mut bytes);
    if bytes == [0; N] { [1; N] } else { bytes }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_contexts_are_read() {
        for wrong in [
            "",
            "00",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e473-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e473ö-00f067aa0ba902b7-01",
        ] {
            assert_eq!(TraceContext::parse(wrong), None, "{wrong}");
        }
        let later = TraceContext::parse("01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00-more").unwrap();
        assert!(!later.is_sampled);
        let below = TraceContext::new(Some(later), true);
        assert!(below.trace == later.trace && below.span != later.span);
    }
}
