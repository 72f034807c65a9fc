//! Edits of a skill file that keep every other byte: a new description, further keywords.

use std::ops::Range;

use crate::node::{Node, Value};
use crate::{FileKind, Manifest, Parsed, write};

/// Changes of the texts by which a skill is found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MatchingEdit {
    /// The new description, if it changes.
    pub description: Option<String>,
    /// Keywords to add to the triggers. Where the file declares none they go below `metadata`, which every client takes.
    pub keywords: Vec<String>,
}

/// The reason why an edit is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EditError(pub &'static str);

impl std::fmt::Display for EditError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for EditError {}

impl MatchingEdit {
    /// Returns the file with the edit. Bytes outside the edited values stay as they are, which is checked: a file in which
    /// it cannot be done is refused.
    ///
    /// ```
    /// use skillcue_format::MatchingEdit;
    ///
    /// let file = b"---\nname: pdf # mine\ndescription: Reads PDF files.\n---\n# How\n";
    /// let edit = MatchingEdit { description: Some("Fills in PDF forms.".into()), keywords: vec!["acroform".into()] };
    /// assert_eq!(
    ///     String::from_utf8(edit.apply(file)?)?,
    ///     "---\nname: pdf # mine\ndescription: Fills in PDF forms.\nmetadata:\n  triggers:\n    keywords:\n      - acroform\n---\n# How\n"
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn apply(&self, bytes: &[u8]) -> Result<Vec<u8>, EditError> {
        let parsed = Parsed::thorough(bytes, FileKind::Markdown);
        if !parsed.edits.is_empty() {
            return Err(EditError("its front matter is broken and was repaired while reading"));
        }
        let (Some(raw), Some(manifest)) = (&parsed.raw, &parsed.manifest) else {
            return Err(EditError("its front matter cannot be read"));
        };
        let yaml = std::str::from_utf8(&bytes[parsed.yaml.clone()]).map_err(|_| EditError("it is not UTF-8"))?;
        let has = |word: &String| manifest.triggers().keywords.iter().any(|own| own.eq_ignore_ascii_case(word));
        let new: Vec<String> = self.keywords.iter().filter(|word| !has(word)).cloned().collect();
        let mut changes: Vec<TextChange> = Vec::new();
        if !new.is_empty() {
            changes.push(with_keywords(yaml, raw, &new)?);
        }
        let attempt = |description: Option<TextChange>| {
            let mut changes = changes.clone();
            changes.extend(description);
            changes.sort_by_key(|(range, _)| range.start);
            let yaml = changed(yaml, &changes);
            let out = [&bytes[..parsed.yaml.start], yaml.as_bytes(), &bytes[parsed.yaml.end..]].concat();
            self.check(bytes, manifest, &new, &out).map(|()| out)
        };
        let Some(description) = self.description.as_deref().filter(|text| *text != manifest.description()) else {
            return attempt(None);
        };
        let mut last = EditError("it has no description of its own");
        // The first that reads back as the text: as the file has it now, or else in quotes, which take everything.
        for change in replacements(yaml, raw, description) {
            match attempt(Some(change)) {
                Ok(out) => return Ok(out),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// Checks that the result says what was asked for, and nothing else has changed.
    fn check(&self, old: &[u8], before: &Manifest, new: &[String], bytes: &[u8]) -> Result<(), EditError> {
        let failed = EditError("its front matter is written in a way that cannot be edited without touching the rest");
        let after = Parsed::thorough(bytes, FileKind::Markdown);
        let Some(manifest) = after.manifest.as_ref().filter(|_| after.edits.is_empty()) else { return Err(failed) };
        let before_body = Parsed::of(old, FileKind::Markdown).body;
        let text = after.raw.as_ref().and_then(|raw| raw.get("description")).and_then(Node::as_str);
        // The header of a block says whether a line end follows its last line, which is no part of the text.
        let is_same =
            |asked: &str| text.is_some_and(|text| text.trim_end_matches('\n') == asked.trim_end_matches('\n'));
        let is_description = match &self.description {
            Some(asked) if asked != before.description() => is_same(asked),
            _ => manifest.description() == before.description(),
        };
        let keywords = before.triggers().keywords.iter().map(AsRef::as_ref).chain(new.iter().map(String::as_str));
        let is_keywords = manifest.triggers().keywords.iter().map(AsRef::as_ref).eq(keywords);
        let others = |bytes: &[u8]| {
            let parsed = Parsed::thorough(bytes, FileKind::Markdown);
            let entries = parsed.raw.as_ref().map(|raw| raw.entries().to_vec()).unwrap_or_default();
            let is_other = |key: &str| !["description", "metadata", "triggers"].contains(&key);
            let other = entries.into_iter().filter(|(key, _)| key.as_str().is_some_and(is_other));
            other.map(|(key, value)| (key.into_owned().digest(), value.into_owned().digest())).collect::<Vec<_>>()
        };
        let is_rest = old[before_body..] == bytes[after.body..] && others(old) == others(bytes);
        let (verbs, patterns) = (&manifest.triggers().verbs, &manifest.triggers().patterns);
        let is_triggers = *verbs == before.triggers().verbs && *patterns == before.triggers().patterns;
        if is_description && is_keywords && is_rest && is_triggers { Ok(()) } else { Err(failed) }
    }
}

/// The least width, in characters, at which lines are broken: an old text of short lines says little about a new one.
const MIN_WIDTH: usize = 60;

/// A range of the front matter, and the text that takes its place.
type TextChange = (Range<usize>, String);

/// Returns the front matter with changes, which are in the order of their places. Line ends are those of the file.
fn changed(yaml: &str, changes: &[TextChange]) -> String {
    let mut out = String::new();
    let mut at = 0;
    for (range, text) in changes {
        out.push_str(&yaml[at..range.start]);
        out.push_str(&if yaml.contains("\r\n") { text.replace('\n', "\r\n") } else { text.clone() });
        at = range.end;
    }
    out.push_str(&yaml[at..]);
    out
}

/// Returns the ways to write another description, the one most like the file's first: a block stays a block, and a text
/// over several lines is broken where the old one was. Not every text can be written in every way.
fn replacements(yaml: &str, raw: &Node<'_>, text: &str) -> Vec<TextChange> {
    let Some((key, node)) = raw.entries().iter().find(|(key, _)| key.as_str() == Some("description")) else {
        return Vec::new();
    };
    let (key_end, mut range) = (key.span.range().end, node.span.range());
    // The line end of a text of several lines may or may not be a part of it.
    range.end = range.start + yaml[range.clone()].trim_end().len();
    let old = &yaml[range.clone()];
    let lines = |indent: &str, lines: &[String]| {
        let line = |line: &String| if line.is_empty() { String::new() } else { format!("{indent}{line}") };
        lines.iter().map(line).collect::<Vec<_>>().join("\n")
    };
    let longest = old.lines().map(|line| line.trim().chars().count()).max();
    let width = longest.filter(|_| old.contains('\n')).map(|longest| longest.max(MIN_WIDTH));
    let header = yaml[key_end..range.start].split('\n').next().unwrap_or_default();
    let is_block_mark = |word: &&str| word.starts_with(['|', '>']);
    let mark = header.split_whitespace().take_while(|word| !word.starts_with('#')).find(is_block_mark);
    if let Some(mark) = mark {
        let line = yaml[..range.start].rfind('\n').map_or(0, |at| at + 1);
        let indent = &yaml[line..range.start];
        let first = key_end + header.len() + 1;
        let rest = &yaml[range.end..];
        // Blanks at the end of the last line would be a part of the text.
        let end = range.end + rest.len() - rest.trim_start_matches([' ', '\t']).len();
        let block = |text: &[String]| (first.min(range.start)..end, lines(indent, text));
        let mut changes = if mark.starts_with('|') {
            vec![block(&text.split('\n').map(str::to_owned).collect::<Vec<_>>())]
        } else {
            vec![block(&folded(text, width)), block(&folded(text, None))]
        };
        // Without a comment beside it, the header can go.
        if header.trim_end().ends_with(mark) {
            let at = key_end + header.find(mark).unwrap_or_default();
            changes.push((at..range.end, write::quote(text)));
        }
        return changes;
    }
    let mut changes = Vec::new();
    if !old.starts_with(['"', '\'']) && width.is_some() {
        let following = old.lines().skip(1).find(|line| !line.trim().is_empty()).unwrap_or("  ");
        let indent = &following[..following.len() - following.trim_start().len()];
        let plain = lines(indent, &folded(text, width));
        if plain.contains('\n') {
            changes.push((range.clone(), plain.trim_start().to_owned()));
        }
    }
    changes.push((range, write::scalar(text, false)));
    changes
}

/// Returns the lines of a text in the form in which YAML joins lines with blanks: a line end of the text is an empty line
/// more. Lines are broken at `width` characters, if there is one.
fn folded(text: &str, width: Option<usize>) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    // Lines that begin with blanks are not joined with others.
    let joins = |line: &str| !line.is_empty() && !line.starts_with([' ', '\t']);
    let mut before: Option<&str> = None;
    for line in text.split('\n') {
        if line.is_empty() {
            lines.push(String::new());
            continue;
        }
        if before.is_some_and(joins) && joins(line) {
            lines.push(String::new());
        }
        before = Some(line);
        match width.filter(|_| joins(line)) {
            Some(width) => lines.extend(wrapped(line, width)),
            None => lines.push(line.to_owned()),
        }
    }
    lines
}

/// Breaks a line at single blanks, so that joining the parts with a blank gives the line again.
fn wrapped(line: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in line.split(' ') {
        let is_fitting = |last: &String| last.chars().count() + 1 + word.chars().count() <= width;
        match lines.last_mut() {
            // Beside another blank, this one is no place to break.
            Some(last) if word.is_empty() || last.ends_with(' ') || is_fitting(last) => {
                last.push(' ');
                last.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Returns the change that adds keywords.
fn with_keywords(yaml: &str, raw: &Node<'_>, new: &[String]) -> Result<TextChange, EditError> {
    // A block: the strict form of YAML, which every reader takes, has no brackets.
    let list = |indent: &str| {
        new.iter().flat_map(|word| ["\n", indent, "  - ", &item(word)].map(str::to_owned)).collect::<String>()
    };
    let metadata = raw.get("metadata");
    let triggers = raw.get("triggers").or_else(|| metadata?.get("triggers"));
    if let Some(keywords) = triggers.and_then(|triggers| triggers.get("keywords")) {
        return added(yaml, keywords, new);
    }
    // Before the first entry of a mapping, at its indentation.
    let before_first = |map: &Node<'_>, text: &dyn Fn(&str) -> String| {
        let (key, _) = map.entries().first()?;
        let start = key.span.range().start;
        let line = yaml[..start].rfind('\n').map_or(0, |at| at + 1);
        let indent = &yaml[line..start];
        indent.chars().all(|c| c == ' ').then(|| (line..line, text(indent)))
    };
    let refused = EditError("its triggers are written in a way that cannot be edited");
    if let Some(triggers) = triggers {
        return before_first(triggers, &|indent| format!("{indent}keywords:{}\n", list(indent))).ok_or(refused);
    }
    if let Some(metadata) = metadata {
        let text = |indent: &str| format!("{indent}triggers:\n{indent}  keywords:{}\n", list(&format!("{indent}  ")));
        return before_first(metadata, &text).ok_or(refused);
    }
    let end = yaml.len();
    let line_end = if yaml.is_empty() || yaml.ends_with('\n') { "" } else { "\n" };
    let text = format!("{line_end}metadata:\n  triggers:\n    keywords:{}\n", list("    "));
    Ok((end..end, text))
}

/// Returns the change that adds items to a list.
fn added(yaml: &str, list: &Node<'_>, new: &[String]) -> Result<TextChange, EditError> {
    let refused = EditError("its keywords are written in a way that cannot be edited");
    let Some(last) = list.items().last() else { return Err(refused) };
    let end = last.span.range().end;
    let start = last.span.range().start;
    let line = yaml[..start].rfind('\n').map_or(0, |at| at + 1);
    let before = &yaml[line..start];
    if before.trim() == "-" {
        let items = new.iter().flat_map(|word| ["\n".to_owned(), before.to_owned(), item(word)]).collect();
        return Ok((end..end, items));
    }
    let items = new.iter().flat_map(|word| [", ".to_owned(), item(word)]).collect();
    Ok((end..end, items))
}

/// Writes a keyword so that it can be in brackets, too.
fn item(word: &str) -> String {
    let items = vec![Node::scalar(word, false, crate::ByteRange::default())];
    let flow = write::flow(&Node { span: crate::ByteRange::default(), value: Value::Seq(items) });
    flow[1..flow.len() - 1].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edited(file: &str, description: Option<&str>, keywords: &[&str]) -> Result<String, EditError> {
        let keywords = keywords.iter().map(|word| (*word).to_owned()).collect();
        let edit = MatchingEdit { description: description.map(str::to_owned), keywords };
        edit.apply(file.as_bytes()).map(|bytes| String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn a_description_of_any_style_is_replaced_and_nothing_else() {
        let styles = [
            "description: Old text.",
            "description: \"Old: text.\"",
            "description: 'Old text.'   # a comment",
            "description: >-\n  Old\n  text.",
            "description: |\n  Old\n\n  text.\n",
            "description: Old\n  text.",
        ];
        for style in styles {
            let file =
                format!("---\n# first\nname: pdf\n{style}\nlicense:   MIT # as it is\n---\n\n# Body\n\nText \t\n");
            let new = edited(&file, Some("New: it reads \"PDF\" files."), &[]).unwrap();
            let comment = if style.contains("a comment") { "   # a comment" } else { "" };
            let quoted = format!("description: \"New: it reads \\\"PDF\\\" files.\"{comment}\n");
            let block = "  New: it reads \"PDF\" files.\n";
            let is_block = style.contains(['>', '|']);
            assert!(new.contains(if is_block { block } else { &quoted }), "{style}\n{new}");
            assert!(new.starts_with("---\n# first\nname: pdf\n"), "{new}");
            assert!(new.contains("license:   MIT # as it is\n---\n\n# Body\n\nText \t\n"), "{new}");
        }
    }

    #[test]
    fn a_text_of_several_lines_keeps_its_lines() {
        let text = "Old.\nTriggers: a, b.\n\n- one\n- two\n More.";
        for (style, new) in [
            (
                "description: |\n    Old.\n    Triggers: a.\n",
                "description: |\n    Old.\n    Triggers: a, b.\n\n    - one\n    - two\n     More.\n",
            ),
            (
                "description: |- # why\n\n  Old.  \n",
                "description: |- # why\n  Old.\n  Triggers: a, b.\n\n  - one\n  - two\n   More.\n",
            ),
            ("description: \"Old.\"\n", "description: \"Old.\\nTriggers: a, b.\\n\\n- one\\n- two\\n More.\"\n"),
            ("description: 'Old.'\n", "description: \"Old.\\nTriggers: a, b.\\n\\n- one\\n- two\\n More.\"\n"),
        ] {
            let file = |style: &str| format!("---\nname: pdf\n{style}license: MIT\n---\nBody\n");
            assert_eq!(edited(&file(style), Some(text), &[]).unwrap(), file(new));
        }
    }

    #[test]
    fn a_folded_text_stays_folded_at_its_width() {
        let long = "Reads the forms that are in a PDF, and fills in the fields that it finds there.";
        let text = format!("{long}\nUse it when a form is there.");
        let new = "Reads the forms that are in a PDF, and fills in the fields\n  that it finds there.\n\n  Use it when a form is there.\n";
        for (style, new) in [
            ("description: >-\n  Reads old\n  forms of PDF.\n", format!("description: >-\n  {new}")),
            ("description: Reads old\n  forms of PDF.\n", format!("description: {new}")),
        ] {
            let file = |style: &str| format!("---\nname: pdf\n{style}license: MIT\n---\nBody\n");
            assert_eq!(edited(&file(style), Some(&text), &[]).unwrap(), file(&new));
        }
    }

    proptest::proptest! {
        /// Whatever the text is: it is read back as it is, or the file is refused; every other byte stays.
        #[test]
        fn a_text_is_read_back_as_it_was_given(text in "[a-c#:'\"\\\\|>{}& \n\r\t—-]{1,60}", style in 0..7_usize, crlf in 0..2_usize) {
            let styles = [
                "description: Old text.", "description: \"Old: text.\"", "description: 'Old text.'   # a comment",
                "description: >-\n  Old\n  text.", "description: |\n    Old\n\n    text.\n", "description: Old\n  text.",
                "description: >+ # c\n\n  Old\n   text.\n\n",
            ];
            let file = format!("---\nname: pdf\n{}\nlicense:   MIT # as it is\n---\n\n# Body\n", styles[style]);
            let file = if crlf == 1 { file.replace('\n', "\r\n") } else { file };
            let text = text.trim();
            if let Ok(new) = edited(&file, Some(text), &[]) {
                let parsed = Parsed::of(new.as_bytes(), FileKind::Markdown);
                let read = parsed.raw.as_ref().and_then(|raw| raw.get("description")).and_then(Node::as_str).unwrap();
                proptest::prop_assert_eq!(read.trim_end_matches('\n'), text);
                let line_end = if crlf == 1 { "\r\n" } else { "\n" };
                let (start, end) = ("---\nname: pdf\n", "\nlicense:   MIT # as it is\n---\n\n# Body\n");
                proptest::prop_assert!(new.starts_with(&start.replace('\n', line_end)));
                proptest::prop_assert!(new.ends_with(&end.replace('\n', line_end)));
            } else {
                // Quotes take everything but nothing.
                proptest::prop_assert!(text.is_empty() || styles[style].contains("# c"), "{:?} is refused", text);
            }
        }
    }

    #[test]
    fn keywords_are_added_where_the_file_has_them() {
        let with = |front: &str| format!("---\nname: a\ndescription: D.\n{front}---\nBody\n");
        let add = |front: &str| edited(&with(front), None, &["x, y", "表"]).unwrap();
        assert_eq!(add(""), with("metadata:\n  triggers:\n    keywords:\n      - \"x, y\"\n      - 表\n"));
        assert_eq!(add("triggers:\n  keywords: [a, b]\n"), with("triggers:\n  keywords: [a, b, \"x, y\", 表]\n"));
        let block = "metadata:\n  version: 1\n  triggers:\n    keywords:\n      - a\n      - b # c\n    verbs: [v]\n";
        let new = "metadata:\n  version: 1\n  triggers:\n    keywords:\n      - a\n      - b\n      - \"x, y\"\n      - 表 # c\n    verbs: [v]\n";
        assert_eq!(add(block), with(new));
        assert_eq!(
            add("metadata:\n  version: 1\n"),
            with("metadata:\n  triggers:\n    keywords:\n      - \"x, y\"\n      - 表\n  version: 1\n")
        );
        assert_eq!(
            add("triggers:\n  verbs: [go]\n"),
            with("triggers:\n  keywords:\n    - \"x, y\"\n    - 表\n  verbs: [go]\n")
        );
        assert_eq!(
            edited(&with("triggers:\n  keywords: [A]\n"), None, &["a"]).unwrap(),
            with("triggers:\n  keywords: [A]\n")
        );
        assert!(edited(&with("metadata: {version: 1}\n"), None, &["a"]).is_err());
    }

    #[test]
    fn line_ends_stay_those_of_the_file() {
        let file = "---\r\nname: a\r\ndescription: D.\r\n---\r\nBody\r\n";
        let new = edited(file, Some("E."), &["k"]).unwrap();
        assert_eq!(
            new,
            "---\r\nname: a\r\ndescription: E.\r\nmetadata:\r\n  triggers:\r\n    keywords:\r\n      - k\r\n---\r\nBody\r\n"
        );
    }

    #[test]
    fn a_broken_file_is_refused() {
        assert!(edited("---\nname: a\ndescription: Use when: asked\n---\n", Some("E."), &[]).is_err());
        assert!(edited("# no front matter\n", Some("E."), &[]).is_err());
        assert!(edited("---\nname: a\ndescription: &x D.\nlicense: *x\n---\n", Some("E."), &[]).is_err());
    }
}
