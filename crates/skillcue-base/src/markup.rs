//! Escapes text for XML-like markup. No other module does.

use std::borrow::Cow;

/// Returns the text with `&`, `<` and `>` escaped, as it can be put between tags.
///
/// ```
/// assert_eq!(skillcue_base::markup::text("a < b"), "a &lt; b");
/// ```
pub fn text(text: &str) -> Cow<'_, str> {
    escape(text, |c| matches!(c, '&' | '<' | '>'))
}

/// Returns the text escaped for a quoted attribute.
///
/// ```
/// assert_eq!(skillcue_base::markup::attribute("say \"hi\""), "say &quot;hi&quot;");
/// ```
pub fn attribute(text: &str) -> Cow<'_, str> {
    escape(text, |c| matches!(c, '&' | '<' | '>' | '"' | '\''))
}

fn escape(text: &str, special: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&special) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            c if !special(c) => out.push(c),
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            _ => out.push_str("&apos;"),
        }
    }
    Cow::Owned(out)
}
