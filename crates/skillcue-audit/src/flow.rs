//! Follows data that is fetched in one place of a file and run in another: by the name of the file it is saved as, or
//! of a variable.
//!
//! Names are remembered, and every command that runs something is looked up among them: no search depends on how many
//! there are.

use super::Rule;
use super::fetch::{addresses, unquoted, weigh};
use super::kind::ContentKind;
use super::patterns::{describes_attack, is_match, regexes};
use super::rules::{DANGEROUS_EXAMPLE, FETCH_AND_RUN, REMOTE_PACKAGE};
use super::structure::MarkdownStructure;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// Maximum number of names that are followed in one file.
const MAX_NAMES: usize = 4096;
/// Maximum length of a command.
const MAX_COMMAND: usize = 1000;
/// Maximum distance between fetching and running outside of code to be one attack.
const MAX_NEAR_DISTANCE: u64 = 400;
/// Maximum distance between fetching and running to be related at all.
const MAX_FAR_DISTANCE: u64 = 2048;

/// The part of a file that is searched.
pub(super) struct SearchWindow<'s> {
    pub(super) window: &'s [u8],
    /// The number of bytes of the text before the window.
    pub(super) before: u64,
    /// The part that was not searched before.
    pub(super) new: Range<usize>,
    pub(super) kind: ContentKind,
    pub(super) structure: &'s MarkdownStructure,
}

/// The data that was fetched, by the name it has now.
#[derive(Debug, Default)]
pub(super) struct FetchFlow {
    names: HashMap<Vec<u8>, FetchedName>,
    full: bool,
}

/// One place where data is fetched.
#[derive(Debug, Clone, Copy)]
struct FetchedName {
    at: u64,
    block: Option<u64>,
    rule: &'static Rule,
}

/// A rule, a place in the window, and a message.
type FlowFinding = (&'static Rule, usize, &'static str);

// No part of these is unbounded: a line that must be read to its end to see that it does not match would be read again
// from the next word on.
regexes! {
    FETCHES = concat!(
        r#"\b(?P<shell>[a-z_]\w*)=["']?(?:\$\(|`)\s*(?:curl|wget)\s"#,
        r"|\b(?P<command>curl|wget|aria2c|lwp-download)(?:\.exe)?\s",
        r"|\b(?P<variable>[a-z_]\w*)\s*=\s*(?:await\s+|\(\s*)*(?:(?:requests|httpx|session|axios|got)\.(?:get|post)|(?:\w+\.)*urlopen|fetch|axios)\s*\(",
        r#"|\b(?P<process>[a-z_]\w*)\s*=\s*(?:\w+\.)?Popen\s*\(\s*\[\s*["'](?:curl|wget)["']"#,
        r"|\burlopen\s*\([^\n]{0,200}\)\s*as\s+(?P<with>[a-z_]\w*)",
        r#"|\burlretrieve\s*\([^,\n]{0,200},\s*[frb]?["'](?P<retrieved>[^"'\n]{1,200})["']"#,
        r"|\b(?P<to>[a-z_]\w*)\s*=\s*(?:await\s+)?(?P<from>[a-z_]\w*)\.(?:text|content|read|decode|body|data)\b",
    );
    RUNS = concat!(
        r#"(?:^|[\s;&|(`'"])(?:eval\s+|(?:ba|z|da|k)?sh\s+(?:-\S+\s+)*(?:-\w*c\s+|<<<\s*)|source\s+/dev/stdin\s*<<<\s*)["']?(?P<evaluated>\$\{?\w+)"#,
        r#"|(?:^|[\s;&|(`'"])(?:(?:sudo|exec|nohup|command|env)\s+(?:-\S+\s+)*)*(?:(?:ba|z|da|k|a|fi)?sh|python[\d.]*|node|perl|ruby|php|pwsh|bun|lua|source)\s+(?:-\S+\s+)*(?:<\s*)?["']?(?P<script>[\w.$~{}/+%@-]+)"#,
        r#"|(?:^|[;&|(])\s*\.\s+["']?(?P<sourced>[\w.$~{}/+%@-]+)"#,
        r#"|(?:^[\s$>%]*|[;&|(`]\s*|\b(?:then|do|sudo|exec|nohup)\s+)["']?(?P<direct>(?:\.{1,2}/|/|~/|\$)[\w.$~{}/+%@-]*)"#,
        r#"|["'](?:(?:ba|z|da)?sh|python[\d.]*|node|perl|ruby)["']\s*,\s*(?:["']-\w+["']\s*,\s*)*[frb]?["'](?P<listed>[\w.$~{}/+%@-]+)"#,
        r#"|\b(?:subprocess|os)\.\w+\(\s*\[?\s*["'](?P<called>[/.~][\w./-]+)["']"#,
        r#"|\b(?:echo|printf)\s+(?:-\S+\s+|["']%s(?:\\n)?["']\s+)*["']?(?P<piped>\$\{?\w+)\}?["']?\s*\|\s*(?:sudo\s+)?(?:ba|z|da|k)?sh\b"#,
        r"|(?:^|[^.\w]|\bbuiltins\.)(?:exec|eval|compile|Function|execSync|(?:os\.)?(?:system|popen))\s*\(\s*(?:compile\s*\(\s*)?(?P<code>[a-z_]\w*)",
        r"|\bstdin\s*=\s*(?P<stdin>[a-z_]\w*)\.stdout",
    );
    /// Commands that check what was fetched, as they should. The file may still be another one, so it is reported at a
    /// lower severity.
    CHECKS =
        r"\b(?:sha(?:256|384|512)sum|shasum)\s[^\n]*(?:-c|--check)\b|\bgpg2?\s[^\n]*--verify\b|\bcosign\s+verify|\bminisign\s[^\n]*-V";
    IN_VAIN = r"\|\|\s*(?:true|:|echo)";
}

impl FetchFlow {
    /// Returns everything that is fetched and run, at the place where it is fetched.
    pub(super) fn look(&mut self, search: &SearchWindow<'_>) -> Vec<FlowFinding> {
        let mut found = Vec::new();
        let mut fetches = self.fetches(search).into_iter().peekable();
        if self.names.is_empty() && fetches.peek().is_none() {
            return found;
        }
        let Some(runs) = RUNS.as_ref() else { return found };
        for captures in runs.captures_iter(search.window) {
            let Some(name) = captures.iter().skip(1).flatten().next() else { continue };
            if !search.new.contains(&name.start()) {
                continue;
            }
            while let Some((name, fetch)) = fetches.next_if(|(_, fetch)| fetch.at < search.before + name.start() as u64)
            {
                self.remember(name, fetch, search, &mut found);
            }
            // Either the value of a variable is run, or a file of that name.
            let held = ["evaluated", "piped", "code", "stdin"].iter().any(|group| captures.name(group).is_some());
            let key = if held { variable(name.as_bytes()) } else { file(name.as_bytes()) };
            if let Some(judged) = self.names.get(&key).and_then(|fetch| judge_run(*fetch, name.start(), search)) {
                // Once is enough, however often it is run.
                self.names.remove(&key);
                found.push(judged);
            }
        }
        for (name, fetch) in fetches {
            self.remember(name, fetch, search, &mut found);
        }
        found
    }

    fn remember(&mut self, name: Vec<u8>, fetch: FetchedName, search: &SearchWindow<'_>, found: &mut Vec<FlowFinding>) {
        if self.names.len() < MAX_NAMES || self.names.contains_key(&name) {
            self.names.insert(name, fetch);
        } else if !std::mem::replace(&mut self.full, true) {
            let at = usize::try_from(fetch.at - search.before).unwrap_or(0);
            found.push((&REMOTE_PACKAGE, at, "more files are fetched here than can be followed: any may be run"));
        }
    }

    /// Returns the data that is fetched in the new part, in order.
    fn fetches(&self, search: &SearchWindow<'_>) -> Vec<(Vec<u8>, FetchedName)> {
        let mut fetches: Vec<(Vec<u8>, FetchedName)> = Vec::new();
        let mut variables: HashSet<Vec<u8>> = HashSet::new();
        let Some(regex) = FETCHES.as_ref() else { return fetches };
        for captures in regex.captures_iter(search.window) {
            let Some(start) = captures.get(0).map(|all| all.start()).filter(|start| search.new.contains(start)) else {
                continue;
            };
            let group = |name| captures.name(name).map(|found| found.as_bytes());
            let text = command(&search.window[start..]);
            let names = match (group("command"), group("shell"), group("to"), group("retrieved")) {
                (Some(program), ..) => saved(program, text),
                (_, Some(name), ..) => vec![variable(name)],
                (_, _, Some(to), _) => {
                    let from = variable(group("from").unwrap_or_default());
                    let known = self.names.contains_key(&from) || variables.contains(&from);
                    if known { vec![variable(to)] } else { Vec::new() }
                }
                (.., Some(name)) => vec![file(name)],
                _ => ["variable", "process", "with"].into_iter().filter_map(group).map(variable).collect(),
            };
            if names.is_empty() || fetches.len() > MAX_NAMES {
                continue;
            }
            let by_command = group("command").is_some() || group("shell").is_some();
            let Some(fetch) = weighed(search, start, by_command.then_some(text)) else { continue };
            variables.extend(names.iter().filter(|name| name.starts_with(b"=")).cloned());
            fetches.extend(names.into_iter().map(|name| (name, fetch)));
        }
        fetches
    }
}

fn weighed(search: &SearchWindow<'_>, start: usize, command: Option<&[u8]>) -> Option<FetchedName> {
    let at = search.before + start as u64;
    let block = search.structure.block(at);
    let described = search.kind == ContentKind::Prose && block.is_none() && !search.structure.in_comment(at) && {
        let before = &search.window[start.saturating_sub(MAX_COMMAND)..start];
        let line = &search.window[start..search.window.len().min(start + MAX_COMMAND)];
        let first = |text: &'_ [u8]| text.split(|byte| *byte == b'\n').next().unwrap_or_default().to_vec();
        describes_attack(before.rsplit(|byte| *byte == b'\n').next().unwrap_or_default(), &first(line))
    };
    let rule = match command {
        Some(command) => weigh(command, search.kind, described)?,
        None if described => &DANGEROUS_EXAMPLE,
        None => &FETCH_AND_RUN,
    };
    Some(FetchedName { at, block, rule })
}

/// Judges fetched data that is run at `at`.
fn judge_run(fetch: FetchedName, at: usize, search: &SearchWindow<'_>) -> Option<FlowFinding> {
    let run = search.before + at as u64;
    let distance = run - fetch.at;
    // A fetch that is no longer in the window is reported where its data is run.
    let start = fetch.at.checked_sub(search.before).and_then(|start| usize::try_from(start).ok());
    let between = &search.window[start.unwrap_or(0).max(at.saturating_sub(MAX_COMMAND * 4))..at];
    let together = search.kind != ContentKind::Prose
        || fetch.block.is_some() && fetch.block == search.structure.block(run)
        || distance <= MAX_NEAR_DISTANCE
        || start.is_some() && !between.contains(&b'\n') && distance <= MAX_COMMAND as u64 * 4;
    let checked = is_match(&CHECKS, between) && !is_match(&IN_VAIN, between);
    let rule = match together && !checked {
        true => fetch.rule,
        false if distance <= MAX_FAR_DISTANCE || checked => &REMOTE_PACKAGE,
        false => return None,
    };
    Some((rule, start.unwrap_or(at), "what is fetched from the network is saved and run"))
}

/// Returns one command: up to the end of its line, or to the separator before the next.
fn command(text: &[u8]) -> &[u8] {
    let mut quote = None;
    for (at, byte) in text.iter().enumerate().take(MAX_COMMAND) {
        match (*byte, quote) {
            (b'"' | b'\'', None) => quote = Some(*byte),
            (byte, Some(open)) if byte == open => quote = None,
            (b'\n', _) | (b';' | b'|', None) => return &text[..at],
            (b'&', None) if text.get(at + 1) == Some(&b'&') => return &text[..at],
            _ => {}
        }
    }
    &text[..text.len().min(MAX_COMMAND)]
}

/// Returns the names of the files that a command saves.
fn saved(program: &[u8], command: &[u8]) -> Vec<Vec<u8>> {
    let wget = program.eq_ignore_ascii_case(b"wget");
    let mut remote = wget || program.len() > 4;
    let mut names: Vec<&[u8]> = Vec::new();
    let mut words = command.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).skip(1).map(unquoted);
    while let Some(word) = words.next() {
        let short = word.first() == Some(&b'-') && word.get(1) != Some(&b'-');
        let letter = if wget { b'O' } else { b'o' };
        if let Some(name) =
            [&b"--output="[..], b"--output-document=", b"--out="].iter().find_map(|o| word.strip_prefix(*o))
        {
            names.push(name);
        } else if matches!(word, b"--output" | b"--output-document" | b">" | b">>" | b"--out") {
            names.extend(words.next());
        } else if let [b'>', name @ ..] = word {
            names.push(name);
        } else if short && let Some(at) = word.iter().position(|byte| *byte == letter) {
            match &word[at + 1..] {
                [] => names.extend(words.next()),
                name => names.push(name),
            }
        } else if !wget && (short && word.contains(&b'O') || word.starts_with(b"--remote-name")) {
            remote = true;
        } else if program.len() == 12 && !word.contains(&b':') {
            names.push(word);
        }
    }
    let explicit = !names.is_empty();
    let mut names: Vec<Vec<u8>> = names.into_iter().map(unquoted).map(file).collect();
    if remote && !explicit {
        let path = |address: &[u8]| {
            let path = address.split(|byte| b"?#".contains(byte)).next().unwrap_or_default();
            let path = path.splitn(2, |byte| *byte == b':').last().unwrap_or_default();
            path.trim_ascii_start().strip_prefix(b"//").unwrap_or(path).to_vec()
        };
        names.extend(
            addresses(command).into_iter().map(path).filter(|path| path.contains(&b'/')).map(|path| file(&path)),
        );
    }
    names.retain(|name| !matches!(name.as_slice(), b"" | b"-" | b"null" | b"stdout" | b"$"));
    names
}

/// Returns the key of a file: the last part of its path.
fn file(path: &[u8]) -> Vec<u8> {
    let base = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    let base: Vec<u8> = base.iter().copied().filter(|byte| !b"{}".contains(byte)).collect();
    base.strip_suffix(b".").unwrap_or(&base).to_vec()
}

/// Returns the key of a variable, however it is written.
fn variable(name: &[u8]) -> Vec<u8> {
    let name = name.iter().copied().filter(|byte| !b"${}".contains(byte));
    std::iter::once(b'=').chain(name).collect()
}
