//! Style checks for valid skills.

mod triggers;

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use crate::diagnostic::LineIndex;
use crate::node::{Node, Value};
use crate::{Code, Diagnostic, FileKind, Manifest, Parsed, Span};
use skillcue_base::unseen;

/// Maximum number of lines of a body that a model should be given at once.
const MAX_LINES: usize = 500;
/// Minimum number of characters in a description: fewer cannot say what the skill does and when.
const MIN_DESCRIPTION: usize = 20;
/// Maximum number of findings of one code that are reported one by one.
const MAX_ALIKE: usize = 50;
/// Keys of Skillcue that every tool accepts below `metadata`.
const EXTENSIONS: [&str; 15] = [
    "version",
    "model",
    "disable-model-invocation",
    "user-invocable",
    "argument-hint",
    "brief_description",
    "triggers",
    "types",
    "toolsets",
    "scripts",
    "default_enabled",
    "priority",
    "requires",
    "permissions",
    "lifecycle",
];

/// Reviews the style of a `SKILL.md` or `SKILL.yaml`. `exists` says whether a path below the skill's directory is
/// there; the format itself does no I/O.
///
/// The findings of lenient reading (repairs, wrong types …) come first, then matters of style, none of them errors.
/// Beyond 50 findings of one code, the rest is only counted.
///
/// ```
/// use skillcue_format::{Code, FileKind, lint};
///
/// let file = b"---\nname: pdf\ndescription: PDF # tools\n---\nSee [more](more.md).\n";
/// let codes: Vec<_> = lint(file, FileKind::Markdown, &|_| false).iter().map(|found| found.code).collect();
/// assert!(codes.contains(&Code::CommentCutsValue));
/// assert!(codes.contains(&Code::MissingResource));
/// ```
pub fn lint(bytes: &[u8], kind: FileKind, exists: &dyn Fn(&str) -> bool) -> Vec<Diagnostic> {
    let parsed = Parsed::thorough(bytes, kind);
    let mut found = parsed.diagnostics.clone();
    let lossy = String::from_utf8_lossy(bytes);
    // Spans point only into text: in a file that is not UTF-8, only before its first invalid byte.
    let file_lines = LineIndex::new(&lossy, 1);
    let yaml_lines = parsed.line_index(bytes);
    let text = parsed.yaml_text(bytes);
    let mut alike = BTreeMap::new();
    let style = StyleCheck {
        bytes,
        parsed: &parsed,
        text,
        yaml_lines: &yaml_lines,
        file_lines: &file_lines,
        found: &mut found,
        alike: &mut alike,
    };
    style.run(kind, exists);
    found.sort_by_key(|finding| finding.place);
    capped(found, &alike)
}

/// Returns the first findings of each code, and how many more there are; `alike` also counts findings that were not
/// created.
fn capped(found: Vec<Diagnostic>, alike: &BTreeMap<Code, usize>) -> Vec<Diagnostic> {
    let mut totals: BTreeMap<Code, usize> = BTreeMap::new();
    for finding in &found {
        *totals.entry(finding.code).or_default() += 1;
    }
    for (code, count) in alike {
        let total = totals.entry(*code).or_default();
        *total = (*total).max(*count);
    }
    let mut kept: BTreeMap<Code, usize> = BTreeMap::new();
    let mut out = Vec::with_capacity(found.len());
    for finding in found {
        let kept = kept.entry(finding.code).or_default();
        *kept += 1;
        if *kept > MAX_ALIKE {
            continue;
        }
        let more = totals.get(&finding.code).map_or(0, |total| total.saturating_sub(MAX_ALIKE));
        let rest = (*kept == MAX_ALIKE && more > 0)
            .then(|| Diagnostic { message: format!("and {more} more like this").into(), ..finding.clone() });
        out.push(finding);
        out.extend(rest);
    }
    out
}

/// The style checks of one file.
struct StyleCheck<'a> {
    bytes: &'a [u8],
    parsed: &'a Parsed<'a>,
    text: &'a str,
    /// The lines of the YAML.
    yaml_lines: &'a LineIndex<'a>,
    /// The lines of the whole file.
    file_lines: &'a LineIndex<'a>,
    found: &'a mut Vec<Diagnostic>,
    /// The number of findings of each code that a file can have very many of.
    alike: &'a mut BTreeMap<Code, usize>,
}

impl StyleCheck<'_> {
    fn run(mut self, kind: FileKind, exists: &dyn Fn(&str) -> bool) {
        self.comments();
        if let Some(root) = &self.parsed.raw {
            self.portability(root, kind);
            if let Some(manifest) = &self.parsed.manifest {
                self.description(root, manifest);
                self.triggers(root, manifest);
                self.stuffing(root, manifest);
            }
        }
        if kind == FileKind::Markdown && self.parsed.raw.is_some() {
            self.body(exists);
        }
        self.invisible();
    }

    fn report(&mut self, code: Code, message: impl Into<String>, place: impl Into<Option<Span>>, help: &'static str) {
        let mut finding = Diagnostic::new(code, message.into()).with_help(help);
        finding.place = place.into();
        self.found.push(finding);
    }

    /// Counts a finding, and returns whether it is still reported one by one: computing its place takes time.
    fn is_below_cap(&mut self, code: Code) -> bool {
        let count = self.alike.entry(code).or_default();
        *count += 1;
        *count <= MAX_ALIKE
    }

    fn place(&self, range: Range<usize>) -> Span {
        self.yaml_lines.span(self.parsed.original(range))
    }

    /// Reports ` #` behind a plain value: the author sees text, YAML sees a comment.
    fn comments(&mut self) {
        if self.parsed.edits.is_empty()
            && let Some(root) = &self.parsed.raw
        {
            let mut cuts = Vec::new();
            cut_values(root, self.text, &mut cuts);
            for range in cuts {
                if !self.is_below_cap(Code::CommentCutsValue) {
                    continue;
                }
                let place = self.place(range);
                self.report(
                    Code::CommentCutsValue,
                    "` #` starts a comment here: the rest of the line is not part of the value",
                    place,
                    "put the value into quotes, or move the comment to a line of its own",
                );
            }
        }
    }

    fn portability(&mut self, root: &Node<'_>, kind: FileKind) {
        if kind == FileKind::Yaml {
            return;
        }
        for (key, _) in root.entries() {
            if let Some(name) = key.as_str().filter(|name| EXTENSIONS.contains(name))
                && self.is_below_cap(Code::NotPortable)
            {
                let place = self.place(key.span.range());
                let message = format!("`{name}` at the top level is rejected by strict readers of the open standard");
                self.report(Code::NotPortable, message, place, "move it below `metadata`; skillcue reads it there too");
            }
        }
    }

    fn description(&mut self, root: &Node<'_>, manifest: &Manifest) {
        let place = root.get("description").map(|node| self.place(node.span.range()));
        let description = manifest.description();
        let lower = description.to_lowercase();
        if description.chars().count() < MIN_DESCRIPTION {
            self.report(
                Code::ShortDescription,
                "the description is too short to choose the skill by",
                place,
                "say what it does, then when to use it, in the words that people use",
            );
        } else if !["when", "whenever", "use for", "use this", "if ", "for "].iter().any(|word| lower.contains(word))
            && lower.is_ascii()
        {
            self.report(Code::NoWhen, "the description does not say when to use the skill", place, "add: Use when …");
        }
        if has_xml_tag(description) {
            self.report(
                Code::XmlInDescription,
                "the description holds an XML tag, which some agents refuse and all read as markup",
                place,
                "write it without angle brackets",
            );
        }
    }

    fn body(&mut self, exists: &dyn Fn(&str) -> bool) {
        let start = self.parsed.body.min(self.bytes.len());
        let Ok(body) = std::str::from_utf8(&self.bytes[start..]) else {
            let at = std::str::from_utf8(&self.bytes[start..]).map_or_else(|error| error.valid_up_to(), str::len);
            self.found.push(crate::not_utf8(self.bytes, start + at));
            return;
        };
        if body.trim().is_empty() {
            self.report(Code::EmptyBody, "the body is empty", None, "write down how the task is done");
        }
        let lines = body.lines().count();
        if lines > MAX_LINES {
            let message = format!("the body has {lines} lines; models follow short ones better");
            let hint =
                "move depth into references/ and link to it; mark what must always be shown with <!-- essential -->";
            self.report(Code::LongBody, message, None, hint);
        }
        if body.trim_start().starts_with("---\n") && crate::split::body_start(body.as_bytes()).is_some() {
            let place = self.file_lines.span(start..start + 3);
            self.report(
                Code::SecondFrontMatter,
                "the body starts with another front matter",
                place,
                "merge the two; the model would read the second one as text",
            );
        }
        let mut known = HashMap::new();
        for (range, target) in links(body) {
            let there = *known.entry(target.clone()).or_insert_with(|| exists(&target));
            if !there && self.is_below_cap(Code::MissingResource) {
                let place = self.file_lines.span(start + range.start..start + range.end);
                let message = format!("`{target}` is not in the skill's directory");
                self.report(Code::MissingResource, message, place, "add the file, or correct the link");
            }
        }
    }

    /// Reports characters that a reader does not see but a model does.
    fn invisible(&mut self) {
        let Ok(text) = std::str::from_utf8(self.bytes) else { return };
        // A byte order mark may begin the file.
        let mut spots = unseen(text).filter(|(at, c)| !(*at == 0 && *c == '\u{FEFF}'));
        if let Some((at, c)) = spots.next() {
            let more = spots.count();
            let message = format!(
                "an invisible character (U+{:04X}){}",
                u32::from(c),
                match more {
                    0 => String::new(),
                    more => format!(", and {more} more"),
                }
            );
            let place = self.file_lines.span(at..at + c.len_utf8());
            self.report(Code::InvisibleText, message, place, "delete it: readers do not see what the model reads");
        } else if let Some((node, c)) = self.parsed.raw.as_ref().and_then(escaped) {
            let message = format!("an escape for an invisible character (U+{:04X})", u32::from(c));
            let place = self.place(node.span.range());
            self.report(Code::InvisibleText, message, place, "delete it: readers do not see what it stands for");
        }
    }
}

/// Returns the first text in quotes that escapes a hidden character.
fn escaped<'n, 'a>(node: &'n Node<'a>) -> Option<(&'n Node<'a>, char)> {
    match &node.value {
        Value::Scalar { text, .. } => unseen(text).next().map(|(_, c)| (node, c)),
        Value::Seq(items) => items.iter().find_map(escaped),
        Value::Map(pairs) => pairs.iter().find_map(|(key, value)| escaped(key).or_else(|| escaped(value))),
    }
}

/// Collects plain scalars that are followed by ` #` on their line.
fn cut_values(node: &Node<'_>, text: &str, cuts: &mut Vec<Range<usize>>) {
    match &node.value {
        Value::Scalar { text: value, plain: true } if !value.is_empty() => {
            let end = node.span.range().end.min(text.len());
            let Some(rest) = text.get(end..) else { return };
            let blanks = rest.find(|c: char| c == '\n' || !c.is_whitespace()).unwrap_or(rest.len());
            if blanks > 0 && rest[blanks..].starts_with('#') {
                // Only now: a line may hold many values, but a comment ends it.
                let line = &rest[..rest.find('\n').unwrap_or(rest.len())];
                cuts.push(end + blanks..end + line.trim_end().len());
            }
        }
        Value::Scalar { .. } => {}
        Value::Seq(items) => items.iter().for_each(|item| cut_values(item, text, cuts)),
        Value::Map(pairs) => pairs.iter().for_each(|(_, value)| cut_values(value, text, cuts)),
    }
}

fn has_xml_tag(text: &str) -> bool {
    let Some(last) = text.rfind('>') else { return false };
    let text = &text[..last];
    text.match_indices('<')
        .any(|(at, _)| text[at + 1..].trim_start_matches('/').starts_with(|c: char| c.is_ascii_alphabetic()))
}

/// Returns the relative links of a Markdown text to files, outside code: `[label](path)`.
fn links(body: &str) -> Vec<(Range<usize>, String)> {
    let mut out = Vec::new();
    let mut fence: Option<&str> = None;
    let mut at = 0;
    for line in body.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let trimmed = line.trim_start();
        let mark = ["```", "~~~"].into_iter().find(|mark| trimmed.starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            _ => {}
        }
        if fence.is_some() || mark.is_some() {
            continue;
        }
        let (mut ticks, mut counted) = (0, 0);
        let mut opens = line.match_indices("](").map(|(open, _)| open).peekable();
        while let Some(open) = opens.next() {
            ticks += line[counted..open].matches('`').count();
            counted = open;
            let from = open + 2;
            // A link ends before the next one, so that no byte is read for two of them.
            let until = opens.peek().copied().unwrap_or(line.len());
            let Some(length) = line[from..until].find([')', ' ', '\n']) else { continue };
            let target = line[from..from + length].trim_matches(['<', '>']);
            let path = target.split(['#', '?']).next().unwrap_or_default();
            let inside_code = ticks % 2 == 1;
            let relative = !path.is_empty() && !path.contains(':') && !path.starts_with(['/', '~', '{', '$', '.'])
                || path.starts_with("./");
            if relative && !inside_code && path.contains(['.', '/']) {
                out.push((start + from..start + from + length, path.trim_start_matches("./").replace("%20", " ")));
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(file: &str, code: Code) -> Vec<Diagnostic> {
        let mut found = lint(file.as_bytes(), FileKind::Markdown, &|_| false);
        found.retain(|finding| finding.code == code);
        found
    }

    fn with_body(body: &str) -> String {
        format!("---\nname: pdf\ndescription: Reads PDF files. Use when asked.\n---\n{body}\n")
    }

    fn assert_capped(found: &[Diagnostic], total: usize) {
        assert_eq!(found.len(), MAX_ALIKE + 1);
        assert_eq!(found[MAX_ALIKE].message, format!("and {} more like this", total - MAX_ALIKE));
        assert!(found[..MAX_ALIKE].iter().all(|finding| !finding.message.starts_with("and ")));
    }

    #[test]
    fn hidden_characters_are_reported() {
        for hidden in ['\u{200b}', '\u{202e}', '\u{e0041}', '\u{ad}', '\u{3164}', '\u{200f}', '\u{fe01}'] {
            let of = |text: &str| found(&with_body(text), Code::InvisibleText);
            // A selector hides behind nothing that it could select a form of.
            let reported = of(&format!("a {hidden}b"));
            assert_eq!(reported.len(), 1, "{hidden:?}");
            assert_eq!(reported[0].place.map(|place| (place.line, place.column)), Some((5, 3)), "{hidden:?}");
            let escape = format!("\\U{:08x}", u32::from(hidden));
            let file = format!("---\nname: pdf\ndescription: \"Reads {escape}PDF files.\"\n---\nx\n");
            assert_eq!(found(&file, Code::InvisibleText).len(), 1, "{file}");
        }
        // Characters that writing needs are not hidden, and a byte order mark may begin a file.
        assert_eq!(found(&with_body("👩\u{200d}💻 می\u{200c}خواهم ✔\u{fe0f} שלום\ttab"), Code::InvisibleText), []);
        assert_eq!(found(&format!("\u{feff}{}", with_body("x")), Code::InvisibleText), []);
    }

    // The tests below would take minutes if a check read the file once for each finding.

    #[test]
    fn many_links_on_a_line() {
        assert_eq!(found(&with_body(&"[a](".repeat(100_000)), Code::MissingResource), []);
        assert_eq!(found(&with_body(&"`[a](".repeat(100_000)), Code::MissingResource), []);
        assert_capped(&found(&with_body(&"[a](b.md)".repeat(100_000)), Code::MissingResource), 100_000);
        assert_capped(&found(&with_body(&"[a](b.md)\n".repeat(90_000)), Code::MissingResource), 90_000);
        let many = (0..60_000).map(|at| format!("[a]({at}.md) ")).collect::<Vec<_>>().concat();
        assert_capped(&found(&with_body(&many), Code::MissingResource), 60_000);
    }

    #[test]
    fn links_are_found_outside_code() {
        let targets = |body: &str| links(body).into_iter().map(|(_, target)| target).collect::<Vec<_>>();
        assert_eq!(targets("[a](a.md) `[b](b.md)` [c](./c.md#x) `x` [d](d%20d.md \"D\")"), ["a.md", "c.md", "d d.md"]);
        assert_eq!(targets("[a](a.md[b](b.md)"), ["b.md"], "the first one is not closed");
        assert_eq!(targets("```\n[a](a.md)\n```\n[b](https://b.md) [c](c/)\n"), ["c/"]);
    }

    #[test]
    fn many_angle_brackets() {
        let file = |description: &str| format!("---\nname: pdf\ndescription: {description}\n---\nx\n");
        assert_eq!(found(&file(&"<a".repeat(450_000)), Code::XmlInDescription), []);
        assert_eq!(found(&file(&format!("{} >", "</".repeat(450_000))), Code::XmlInDescription), []);
        assert_eq!(found(&file(&format!("{} >", "<a".repeat(450_000))), Code::XmlInDescription).len(), 1);
        assert!(has_xml_tag("x </b>"));
        assert!(!has_xml_tag("a > b < c"));
        assert!(!has_xml_tag("x <> y"));
        assert!(!has_xml_tag("a <b"));
    }

    #[test]
    fn many_words_and_comments() {
        let file = |triggers: &str| {
            format!("---\nname: pdf\ndescription: Reads PDF files. Use when asked.\ntriggers: {triggers}\n---\nx\n")
        };
        assert_capped(
            &found(&file(&format!("{{keywords: \"{}\"}}", "a,".repeat(400_000))), Code::GenericTrigger),
            400_000,
        );
        let comments = format!("\n{}", "  - pdf # one\n".repeat(2_000));
        assert_capped(&found(&file(&comments), Code::CommentCutsValue), 2_000);
        let one_line = format!("[{}]", format!("{},", "x".repeat(200)).repeat(4_900));
        assert_eq!(found(&file(&one_line), Code::CommentCutsValue), []);
    }

    #[test]
    fn findings_of_lenient_reading_are_capped_too() {
        let file = with_body("x").replace("\n---\nx", &format!("\n{}---\nx", "license: MIT\n".repeat(101)));
        assert_capped(&found(&file, Code::DuplicateKey), 100);
    }

    #[test]
    fn patterns_are_tried_once_and_not_all() {
        let file = |patterns: &str| {
            format!(
                "---\nname: pdf\ndescription: Reads PDF files. Use when asked.\ntriggers:\n  patterns:\n{patterns}---\nx\n"
            )
        };
        assert_eq!(found(&file(&"    - '\\w{8}'\n".repeat(2_000)), Code::InvalidPattern), []);
        assert_eq!(found(&file(&"    - '('\n".repeat(2_000)), Code::InvalidPattern).len(), 1);
        let good = (0..2_000).map(|at| format!("    - 'a{at}'\n")).collect::<Vec<_>>().concat();
        let remarks = found(&file(&good), Code::InvalidPattern);
        assert_eq!(remarks.len(), 1);
        assert_eq!(remarks[0].message, "of 2000 patterns, only 200 were checked");
        let bad = (0..2_000).map(|at| format!("    - '(a{at}'\n")).collect::<Vec<_>>().concat();
        let remarks = found(&file(&bad), Code::InvalidPattern);
        assert!(remarks[0].message.starts_with("of 2000 patterns"), "{}", remarks[0]);
        assert_capped(&remarks, 201);
    }
}
