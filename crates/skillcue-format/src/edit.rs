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
        let mut changes: Vec<(Range<usize>, String)> = Vec::new();
        if let Some(description) = self.description.as_deref().filter(|text| *text != manifest.description()) {
            let node = raw.get("description").ok_or(EditError("it has no description of its own"))?;
            changes.push(replaced(yaml, node, description));
        }
        let has = |word: &String| manifest.triggers().keywords.iter().any(|own| own.eq_ignore_ascii_case(word));
        let new: Vec<String> = self.keywords.iter().filter(|word| !has(word)).cloned().collect();
        if !new.is_empty() {
            changes.push(with_keywords(yaml, raw, &new)?);
        }
        changes.sort_by_key(|(range, _)| range.start);
        let mut out = bytes[..parsed.yaml.start].to_vec();
        let mut at = 0;
        for (range, text) in &changes {
            out.extend_from_slice(&yaml.as_bytes()[at..range.start]);
            // Line ends are those of the file.
            let text = if yaml.contains("\r\n") { text.replace('\n', "\r\n") } else { text.clone() };
            out.extend_from_slice(text.as_bytes());
            at = range.end;
        }
        out.extend_from_slice(&yaml.as_bytes()[at..]);
        out.extend_from_slice(&bytes[parsed.yaml.end..]);
        self.check(bytes, manifest, &new, &out)?;
        Ok(out)
    }

    /// Checks that the result says what was asked for, and nothing else has changed.
    fn check(&self, old: &[u8], before: &Manifest, new: &[String], bytes: &[u8]) -> Result<(), EditError> {
        let failed = EditError("its front matter is written in a way that cannot be edited without touching the rest");
        let after = Parsed::thorough(bytes, FileKind::Markdown);
        let Some(manifest) = after.manifest.as_ref().filter(|_| after.edits.is_empty()) else { return Err(failed) };
        let before_body = Parsed::of(old, FileKind::Markdown).body;
        let asked = self.description.as_deref().unwrap_or_else(|| before.description());
        // A new text is written on one line: of white space, only that it is there counts.
        let is_description = manifest.description().split_whitespace().eq(asked.split_whitespace());
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

/// Returns the change of a value to a text on one line.
fn replaced(yaml: &str, node: &Node<'_>, text: &str) -> (Range<usize>, String) {
    let mut range = node.span.range();
    // The line end of a text of several lines may or may not be a part of it.
    while range.end > range.start && yaml.as_bytes()[range.end - 1].is_ascii_whitespace() {
        range.end -= 1;
    }
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    // Below the header of a block, `>-` or `|`, a text is written as it is.
    let before = yaml[..range.start].trim_end().rsplit([' ', '\n']).next().unwrap_or_default();
    if before.starts_with(['>', '|']) {
        return (range, text);
    }
    (range, write::scalar(&text, false))
}

/// Returns the change that adds keywords.
fn with_keywords(yaml: &str, raw: &Node<'_>, new: &[String]) -> Result<(Range<usize>, String), EditError> {
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
fn added(yaml: &str, list: &Node<'_>, new: &[String]) -> Result<(Range<usize>, String), EditError> {
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
    fn a_text_of_several_lines_can_be_extended() {
        for style in ["description: |\n  Old.\n  Triggers: a, b.\n", "description: \"Old.\\nTriggers: a, b.\\n\"\n"] {
            let file = format!("---\nname: pdf\n{style}license: MIT\n---\nBody\n");
            let new = edited(&file, Some("Old.\nTriggers: a, b.\n More."), &["k"]).unwrap();
            assert!(new.contains("Old. Triggers: a, b. More.") && new.contains("\nlicense: MIT\n"), "{new}");
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
