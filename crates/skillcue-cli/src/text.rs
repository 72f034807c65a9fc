//! Text for people: widths, cuts, numbers, paths.

use std::borrow::Cow;
use std::path::Path;

pub(crate) use skillcue_base::folded_line as one_line;
use skillcue_base::{escape_hidden, noun};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Returns how many columns a text takes.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// Returns at most `columns` of a text, with `…` if something is missing.
pub(crate) fn cut(text: &str, columns: usize) -> Cow<'_, str> {
    if width(text) <= columns {
        return Cow::Borrowed(text);
    }
    let mut room = columns.saturating_sub(1);
    let end = text
        .char_indices()
        .find(|(_, c)| match room.checked_sub(c.width().unwrap_or(0)) {
            Some(left) => {
                room = left;
                false
            }
            None => true,
        })
        .map_or(text.len(), |(at, _)| at);
    Cow::Owned(format!("{}…", text[..end].trim_end()))
}

/// Returns the text in lines of at most `columns`, broken at blanks.
pub(crate) fn wrap(text: &str, columns: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() && width(&line) + 1 + width(word) > columns {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines.push(line);
    lines
}

/// Escapes characters that a terminal obeys or a reader does not see; line ends and tabs stay.
pub(crate) fn visible(text: &str) -> String {
    escape_hidden(text, &['\n', '\t']).into_owned()
}

/// Like [`visible`], with a line end at the end: a skill may come from anywhere, and must not control a terminal.
pub(crate) fn visible_lines(text: &str) -> String {
    let end = if text.ends_with('\n') { "" } else { "\n" };
    visible(text) + end
}

/// Like [`visible`], for prose, in which one emoji may be made of several, and letters of some scripts are held apart.
#[cfg(feature = "agent")]
pub(crate) fn visible_prose(text: &str) -> String {
    escape_hidden(text, &['\n', '\t', '\u{200c}', '\u{200d}']).into_owned()
}

/// Returns a character as visible text.
pub(crate) fn one_char(c: char) -> String {
    escape_hidden(c.encode_utf8(&mut [0; 4]), &[]).into_owned()
}

/// `12,345`
pub(crate) fn thousands(number: impl TryInto<u64>) -> String {
    let digits = number.try_into().unwrap_or(u64::MAX).to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `1 skill`, `2,000 skills`
pub(crate) fn count(number: impl TryInto<u64>, what: &str) -> String {
    let number = number.try_into().unwrap_or(u64::MAX);
    format!("{} {}", thousands(number), noun(usize::try_from(number).unwrap_or(usize::MAX), what))
}

/// `12 B`, `3.4 KiB`
pub(crate) fn bytes(size: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "one digit behind the point is shown")]
    let number = size as f64;
    match size {
        0..1024 => format!("{size} B"),
        1024..0x10_0000 => format!("{:.1} KiB", number / 1024.0),
        _ => format!("{:.1} MiB", number / 1_048_576.0),
    }
}

/// Serialises a path. JSON is text, and a name that is none must not cost all the rest.
pub(crate) fn lossy<P: AsRef<Path>, S: serde::Serializer>(path: &P, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&path.as_ref().to_string_lossy())
}

/// Like [`lossy`], for a path that may be missing.
#[expect(clippy::ref_option, reason = "serde passes it so")]
pub(crate) fn maybe_lossy<P: AsRef<Path>, S: serde::Serializer>(
    path: &Option<P>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match path {
        Some(path) => lossy(path, serializer),
        None => serializer.serialize_none(),
    }
}

/// Like [`lossy`], for several paths.
pub(crate) fn all_lossy<P: AsRef<Path>, S: serde::Serializer>(paths: &[P], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(paths.iter().map(|path| path.as_ref().to_string_lossy().into_owned()))
}

/// Returns a path as people write it: below the current directory without that, below home with `~`.
pub(crate) fn path(path: &Path, cwd: Option<&Path>, home: Option<&Path>) -> String {
    if let Some(below) = cwd.and_then(|cwd| path.strip_prefix(cwd).ok()) {
        return if below.as_os_str().is_empty() { ".".to_owned() } else { one_line(&below.to_string_lossy()) };
    }
    match home.and_then(|home| path.strip_prefix(home).ok()) {
        Some(below) if !below.as_os_str().is_empty() => format!("~/{}", one_line(&below.to_string_lossy())),
        _ => one_line(&path.to_string_lossy()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_by_columns() {
        assert_eq!(cut("hello", 5), "hello");
        assert_eq!(cut("hello world", 7), "hello…");
        assert_eq!(cut("日本語", 5), "日本…", "wide characters take two");
        assert_eq!(cut("hello", 1), "…");
    }

    #[test]
    fn wraps_at_blanks() {
        assert_eq!(wrap("one two three", 8), ["one two", "three"]);
        assert_eq!(wrap("", 8), [""]);
        assert_eq!(wrap("unbreakable", 4), ["unbreakable"]);
    }

    #[test]
    fn nothing_gets_through_that_a_terminal_obeys() {
        assert_eq!(one_line("a\n b\u{1b}[31m\u{202e}"), "a b\\u{1b}[31m\\u{202e}");
        assert_eq!(visible("a\n\tb\r\u{9b}"), "a\n\tb\\r\\u{9b}");
        for c in
            ['\u{ad}', '\u{61c}', '\u{180e}', '\u{200b}', '\u{200c}', '\u{200d}', '\u{2066}', '\u{feff}', '\u{e0041}']
        {
            assert_eq!(one_line(&format!("a{c}b")), format!("a{}b", c.escape_unicode()));
        }
        assert_eq!(one_line("日本語 é ❤\u{fe0f}"), "日本語 é ❤\u{fe0f}", "what shows stays");
    }

    #[test]
    fn numbers_are_grouped() {
        assert_eq!(
            (thousands(7), thousands(1234), thousands(1_234_567)),
            ("7".into(), "1,234".into(), "1,234,567".into())
        );
        assert_eq!((count(1, "file"), count(0, "file")), ("1 file".into(), "0 files".into()));
        assert_eq!((bytes(12), bytes(2048), bytes(3 << 20)), ("12 B".into(), "2.0 KiB".into(), "3.0 MiB".into()));
    }

    #[test]
    fn paths_are_short() {
        let (cwd, home) = (Some(Path::new("/home/a/repo")), Some(Path::new("/home/a")));
        assert_eq!(path(Path::new("/home/a/repo/x"), cwd, home), "x");
        assert_eq!(path(Path::new("/home/a/y"), cwd, home), "~/y");
        assert_eq!(path(Path::new("/etc"), cwd, home), "/etc");
    }
}
