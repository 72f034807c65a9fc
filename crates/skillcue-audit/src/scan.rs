//! Scans one file from its first byte to its last, in windows that overlap.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read};
use std::path::Path;

use regex::bytes::Captures;
use skillcue_format::{Diagnostic, FileKind};

use super::comment::judge_comment;
use super::flow::{FetchFlow, SearchWindow};
use super::kind::{ContentKind, FormatFamily, Sniffed};
use super::manifest::ManifestFormat;
use super::patterns::{PATTERNS, Pattern, PatternHit, SearchBudget, is_match};
use super::rules::{ARCHIVE, CREDENTIAL_ACCESS, CREDENTIAL_THEFT, ENCODED_BLOB, EXECUTABLE_BINARY, NOT_READ};
use super::structure::MarkdownStructure;
use super::text::{Encoding, TextPosition, TextWindow};
use super::unsafe_commands::{SENDS, is_strong};
use super::{Rule, encoded, manifest, place, show};

/// The number of bytes that are read at once.
const CHUNK_SIZE: usize = 64 << 10;
/// The number of bytes of text that are searched at once.
const WINDOW_SIZE: usize = 1 << 20;
/// Maximum length of a match, blanks not counted; a window begins so much before the last one's end.
const OVERLAP: usize = 256 << 10;
/// The number of bytes before the searched part that are kept, to read the text around a match.
const CONTEXT: usize = show::MAX_KEY;
/// Maximum size of a file; a larger one is not read, which is a finding.
pub(super) const MAX_FILE: u64 = 4 << 30;
/// Maximum number of findings of one rule in one file; the others are counted.
const MAX_PER_RULE: usize = 20;
/// Minimum length of a long encoded text.
const MIN_BLOB: usize = 2000;
/// Maximum number of characters of a decoded text that are shown.
const MAX_DECODED_SHOWN: usize = 120;

/// Reads a file to its end, adds its findings, and returns the number of its bytes.
pub(super) fn scan(file: &mut dyn Read, path: &Path, findings: &mut Vec<Diagnostic>) -> io::Result<u64> {
    let mut chunk = vec![0; CHUNK_SIZE];
    let head = fill(file, &mut chunk)?;
    let sniffed = Sniffed::of(path, &chunk[..head]);
    let mut scan = FileScan::new(path, &sniffed);
    if let Some(format) = sniffed.format {
        let rule = match format.family {
            FormatFamily::Program => Some(&EXECUTABLE_BINARY),
            FormatFamily::Archive => Some(&ARCHIVE),
            FormatFamily::Media => None,
        };
        if let Some(rule) = rule {
            scan.add(rule, TextPosition::default(), format!("this is {}", format.name), String::new());
        }
    }
    if let Some(kind) = manifest::is_manifest(path) {
        manifest::check(path, &chunk[..head], kind, &mut scan.findings);
    }
    // A byte order mark of UTF-16 before a script may be there to have it misread: a shell ignores marks.
    let mut again = (sniffed.encoding != Encoding::Bytes)
        .then(|| FileScan::new(path, &Sniffed { kind: sniffed.kind, encoding: Encoding::Bytes, format: None }));
    let mut bytes = head as u64;
    let mut size = head;
    while size > 0 {
        for scan in [Some(&mut scan), again.as_mut()].into_iter().flatten() {
            scan.text.feed(&chunk[..size]);
            if scan.text.window().len() >= WINDOW_SIZE {
                scan.look(false);
            }
        }
        if bytes > MAX_FILE {
            scan.add(&NOT_READ, TextPosition::default(), "the file grows while it is read".to_owned(), String::new());
            break;
        }
        size = fill(file, &mut chunk)?;
        bytes += size as u64;
    }
    let mut found = scan.finish();
    if let Some(again) = again {
        let known: BTreeSet<_> = found.iter().map(|finding| finding.code).collect();
        found.extend(again.finish().into_iter().filter(|finding| !known.contains(&finding.code)));
    }
    findings.append(&mut found);
    Ok(bytes)
}

/// Returns whether a file is a manifest in YAML, whose comments count like those of front matter.
fn is_yaml(path: &Path) -> bool {
    manifest::is_manifest(path) == Some(ManifestFormat::Skill(FileKind::Yaml))
}

/// Reads as much as there is, up to the buffer's size.
fn fill(file: &mut dyn Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// The state of the scan of one file.
struct FileScan<'p> {
    path: &'p Path,
    kind: ContentKind,
    text: TextWindow,
    structure: MarkdownStructure,
    flow: FetchFlow,
    /// The number of bytes of the window that were searched before.
    searched: usize,
    findings: Vec<Diagnostic>,
    counts: BTreeMap<&'static str, (&'static Rule, usize)>,
    /// One finding of a rule is enough for a line.
    lines: BTreeSet<(&'static str, usize, usize)>,
    /// Credentials that a script reads, and whether it sends something: judged at the end.
    credentials: Vec<usize>,
    sends: bool,
}

impl<'p> FileScan<'p> {
    fn new(path: &'p Path, sniffed: &Sniffed) -> FileScan<'p> {
        FileScan {
            path,
            kind: sniffed.kind,
            text: TextWindow::new(sniffed.encoding, sniffed.kind == ContentKind::Binary),
            structure: if is_yaml(path) { MarkdownStructure::of_yaml() } else { MarkdownStructure::default() },
            flow: FetchFlow::default(),
            searched: 0,
            findings: Vec::new(),
            counts: BTreeMap::new(),
            lines: BTreeSet::new(),
            credentials: Vec::new(),
            sends: false,
        }
    }

    /// Searches the window, and forgets the part that is not needed any more.
    fn look(&mut self, last: bool) {
        let length = self.text.window().len();
        let limit = if last { length } else { length - OVERLAP };
        self.follow(last);
        self.search(limit);
        self.hidden();
        let forget = limit.saturating_sub(CONTEXT);
        self.text.forget(forget);
        self.structure.forget(self.text.before());
        self.searched = limit - forget;
    }

    /// Adds the findings about invisible characters.
    fn hidden(&mut self) {
        for hidden in std::mem::take(&mut self.text.hidden.found) {
            let at = hidden.text_at.checked_sub(self.text.before()).and_then(|at| usize::try_from(at).ok());
            let excerpt = show::before(self.text.window(), at.unwrap_or(0), &hidden.shown);
            self.add(hidden.rule, hidden.at, hidden.message, excerpt);
        }
        for (rule, more) in std::mem::take(&mut self.text.hidden.more) {
            self.counts.entry(rule.id).or_insert((rule, 0)).1 += more;
        }
    }

    /// Follows which parts are comments and code.
    fn follow(&mut self, last: bool) {
        if self.kind != ContentKind::Prose && !is_yaml(self.path) {
            return;
        }
        let window = self.text.window();
        let from = usize::try_from(self.structure.seen() - self.text.before()).unwrap_or(window.len());
        let line_end = window.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let to = match last {
            true => window.len(),
            // A line of this length is cut; but not in the middle of a sign.
            false if line_end + OVERLAP <= window.len() => window.len() - 4,
            false => line_end,
        };
        if to > from {
            self.structure.feed(&window[from..to]);
        }
        if last {
            self.structure.finish();
        }
        for (at, fenced, text) in std::mem::take(&mut self.structure.closed) {
            let Some((rule, message)) = judge_comment(&text, fenced) else { continue };
            // A comment that began before the window is reported at the window's beginning.
            let at = usize::try_from(at.saturating_sub(self.text.before())).unwrap_or(0);
            self.report(rule, at, message);
        }
    }

    fn search(&mut self, limit: usize) {
        let window = std::mem::take(self.text.window_mut());
        let mut hits: Vec<(&'static Rule, usize, &'static str)> = Vec::new();
        let mut script = Vec::new();
        let budget = SearchBudget::default();
        PATTERNS.search(&window, |pattern, captures| {
            let Some((rule, at)) = self.judge(pattern, captures, &window, limit, &budget) else { return };
            if rule.id == CREDENTIAL_ACCESS.id
                && self.kind == ContentKind::Script
                && is_strong(&window[at..window.len().min(at + 40)])
            {
                script.push(hits.len());
            }
            hits.push((rule, at, pattern.message));
        });
        hits.extend(
            budget.refused().map(|at| (&NOT_READ, at, "there is more here than can be followed: read it yourself")),
        );
        if self.kind == ContentKind::Script && !self.sends {
            self.sends = is_match(&SENDS, &window);
        }
        let seen = SearchWindow {
            window: &window,
            before: self.text.before(),
            new: self.searched..limit,
            kind: self.kind,
            structure: &self.structure,
        };
        hits.extend(self.flow.look(&seen));
        let blobs = if matches!(self.kind, ContentKind::Prose | ContentKind::Script) {
            blobs(&window).filter(|at| (self.searched..limit).contains(at)).collect()
        } else {
            Vec::new()
        };
        let mut encoded = if self.kind == ContentKind::Binary { Vec::new() } else { encoded::find(&window, self.path) };
        encoded.retain(|found| (self.searched..limit).contains(&found.at));
        *self.text.window_mut() = window;
        for (index, (rule, at, message)) in hits.into_iter().enumerate() {
            if self.report(rule, at, message) && script.contains(&index) {
                self.credentials.push(self.findings.len() - 1);
            }
        }
        for found in encoded {
            let said = show::text(
                &found.text.chars().take(MAX_DECODED_SHOWN).collect::<String>(),
                found.text.len() > MAX_DECODED_SHOWN,
            );
            self.report(found.rule, found.at, &format!("decoded from {}, it says “{said}”", found.from));
        }
        for at in blobs {
            self.report(&ENCODED_BLOB, at, "a long encoded text, which people cannot read");
        }
    }

    fn judge(
        &self,
        pattern: &'static Pattern,
        captures: Captures<'_>,
        window: &[u8],
        limit: usize,
        budget: &SearchBudget,
    ) -> Option<(&'static Rule, usize)> {
        let start = captures.get(0)?.start();
        let at = captures.name("at").map_or(start, |at| at.start());
        if at < self.searched || at >= limit {
            return None;
        }
        let place = self.text.before() + at as u64;
        let hit = PatternHit {
            rule: pattern.rule,
            captures,
            window,
            start,
            path: self.path,
            kind: self.kind,
            fenced: self.structure.in_fence(place),
            comment: self.structure.in_comment(place),
            budget,
        };
        (pattern.judge)(&hit).map(|rule| (rule, at))
    }

    /// Reports a finding at `at` in the window, and returns whether it was new.
    fn report(&mut self, rule: &'static Rule, at: usize, message: &str) -> bool {
        if self.counts.get(rule.id).is_some_and(|(_, count)| *count >= MAX_PER_RULE) {
            return self.add(rule, TextPosition::default(), String::new(), String::new());
        }
        let place = self.text.place(at);
        if self.lines.contains(&self.key(rule, place)) {
            return false;
        }
        let excerpt = show::line(self.text.window(), at);
        self.add(rule, place, message.to_owned(), excerpt)
    }

    /// Returns line and column as they are reported.
    fn shown_place(&self, at: TextPosition) -> (usize, usize) {
        match (self.kind, at.line) {
            (_, 0) => (0, 0),
            (ContentKind::Binary, _) => (0, usize::try_from(at.offset).unwrap_or(usize::MAX)),
            _ => (at.line, at.column),
        }
    }

    /// Returns the key by which a finding is reported once: a rule in a line, but every single secret.
    fn key(&self, rule: &'static Rule, at: TextPosition) -> (&'static str, usize, usize) {
        let (line, column) = self.shown_place(at);
        let each = line == 0 || rule.id.starts_with("secret");
        (rule.id, line, if each { column } else { 0 })
    }

    fn add(&mut self, rule: &'static Rule, at: TextPosition, message: String, excerpt: String) -> bool {
        let (_, count) = self.counts.entry(rule.id).or_insert((rule, 0));
        if *count >= MAX_PER_RULE {
            *count += 1;
            return false;
        }
        if !self.lines.insert(self.key(rule, at)) {
            return false;
        }
        let (line, column) = self.shown_place(at);
        let (_, count) = self.counts.entry(rule.id).or_insert((rule, 0));
        *count += 1;
        let found = rule.found(self.path, message).with_excerpt(excerpt);
        self.findings.push(Diagnostic { place: place(line, column), ..found });
        true
    }

    fn finish(mut self) -> Vec<Diagnostic> {
        self.text.finish();
        self.look(true);
        if self.sends {
            for index in &self.credentials {
                let found = &mut self.findings[*index];
                CREDENTIAL_THEFT.takes(found);
                found.message =
                    "credentials of the user are read by a script that sends something over the network".into();
            }
        }
        for (rule, count) in self.counts.values() {
            if *count > MAX_PER_RULE {
                let more = count - MAX_PER_RULE;
                let places = if more == 1 { "place" } else { "places" };
                let message = format!("{more} more {places} like this in this file");
                self.findings.push(rule.found(self.path, message));
            }
        }
        self.findings
    }
}

/// Returns where long encoded texts start, wrapped or not, except for `data:` URLs of pictures and fonts.
fn blobs(window: &[u8]) -> impl Iterator<Item = usize> {
    let encoded = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
    let mut at = 0;
    std::iter::from_fn(move || {
        while at < window.len() {
            let start = at;
            let mut length = 0;
            loop {
                let run = window[at..].iter().position(|byte| !encoded(byte)).unwrap_or(window.len() - at);
                length += run;
                at += run;
                // The next line of the same text.
                let gap = window[at..].iter().take(8).position(encoded).unwrap_or(8);
                let wrapped =
                    run >= 60 && gap < 8 && window[at..at + gap].iter().all(|byte| b" \n\"'\\+".contains(byte));
                if !wrapped {
                    break;
                }
                at += gap;
            }
            at += 1;
            if length < MIN_BLOB {
                continue;
            }
            let told = &window[start.saturating_sub(60)..start];
            let data = told.ends_with(b"base64,")
                && [&b"data:image"[..], b"data:font", b"data:audio", b"data:application/font"]
                    .iter()
                    .any(|kind| told.windows(kind.len()).any(|part| part == *kind));
            let text = &window[start..window.len().min(start + 200)];
            let mixed = text.iter().any(u8::is_ascii_digit) && text.iter().any(u8::is_ascii_uppercase);
            if !data && mixed {
                return Some(start);
            }
        }
        None
    })
}
