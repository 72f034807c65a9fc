//! Follows variables that hold the environment or compiled code: whether they are sent away, or run.

use std::collections::HashSet;
use std::ops::Range;

use regex::bytes::Captures;

use super::Rule;
use super::patterns::{PatternHit, is_match, regexes, unless_described};
use super::text::CODE_INDENT;

/// Maximum distance between keeping the environment and sending it.
const MAX_USE_DISTANCE: usize = 1500;
/// Maximum distance between an import and its use.
const MAX_IMPORT_DISTANCE: usize = 8 << 10;
/// Maximum number of variables that are followed.
const MAX_HOLDERS: usize = 8;
/// Maximum length of the arguments of a call.
const MAX_ARGUMENTS: usize = 400;
/// The cost of following one byte of variables that are sent, in bytes that are searched once.
const SENT_COST: usize = 16;
/// The cost of following one byte of code that is run, in bytes that are searched once.
const RUN_COST: usize = 4;

/// The syntax by which a holder is named where it is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NameSyntax {
    /// `$name` or `${name}`.
    Shell,
    /// The name of a file.
    File,
    /// `name`, outside of strings.
    Code,
}

/// Judges whether the whole environment, not one variable of it, is kept by a shell and sent.
pub(super) fn kept_by_shell(hit: &PatternHit<'_>) -> Option<&'static Rule> {
    regexes!(PART = r#"^\|\s*(?:wc\b|grep\s+(?:-[a-uw-z]+\s+)*["']?\^?\w{3,}|cut\b|head\b)"#);
    let is_whole = !is_match(&PART, hit.group("rest"));
    is_whole.then(|| is_sent(hit, hit.group("one"), NameSyntax::Shell, behind(hit, MAX_USE_DISTANCE))).flatten()
}

/// Judges whether a variable or a file that holds the environment is named in a later call that sends something.
pub(super) fn kept(hit: &PatternHit<'_>) -> Option<&'static Rule> {
    // `{k: v for … if k.startswith("APP_")}` is a part that is chosen by its names.
    regexes!(PART = r"\A[^\n]{0,20}?\bif\s+\w+(?:\.startswith\s*\(|\s+in\s)");
    let after = behind(hit, MAX_USE_DISTANCE);
    match (hit.group("one"), hit.group("file")) {
        (name, []) if !is_match(&PART, after) => is_sent(hit, name, NameSyntax::Code, after),
        ([], file) => is_sent(hit, file, NameSyntax::File, after),
        _ => None,
    }
}

/// Judges whether the environment, imported by a name of its own, is sent.
pub(super) fn imported(hit: &PatternHit<'_>) -> Option<&'static Rule> {
    let name = if hit.group("alias").is_empty() { b"environ" } else { hit.group("alias") };
    is_sent(hit, name, NameSyntax::Code, behind(hit, MAX_IMPORT_DISTANCE))
}

/// Returns up to `length` bytes behind the match.
fn behind<'h>(hit: &PatternHit<'h>, length: usize) -> &'h [u8] {
    let end = hit.start + hit.text().len();
    &hit.window[end..hit.window.len().min(end + length)]
}

/// A call or command that sends something: its position and its arguments.
struct SendingCall<'t> {
    at: usize,
    text: &'t [u8],
    is_command: bool,
}

fn is_sent(hit: &PatternHit<'_>, name: &[u8], usage: NameSyntax, after: &[u8]) -> Option<&'static Rule> {
    regexes! {
        ASSIGNMENTS = r"\b(?P<to>[a-z_]\w*)\s*=\s*(?P<value>[^\n;=][^\n;]{0,200})";
        // The text before a name in a value that holds everything that the name does.
        WRITES = concat!(
            r#"\A(?:(?:[\s({\[*.$"'`]|["']\w*["']\s*:|f["'][^"'\n{]{0,40}\{|\b(?:echo|printf)\s+(?:["']?%s["']?)?|"#,
            r"[\w.]*\b(?:dumps|str|repr|bytes|urlencode|b(?:16|32|64|85)encode|urlsafe_b64encode|quote|quote_plus|dict",
            r"|list|tuple|sorted|stringify|compress|from|btoa|encodeURIComponent|hexlify|encode)\s*\()*",
            r"|[^\n]{0,120}\bfor\s+[\w\s,()]{1,40}\s+in\s+)\z",
        );
    }
    if name.is_empty() || !hit.affords(after.len() * SENT_COST) {
        return None;
    }
    let calls = calls(after);
    // Without a call there is nothing to follow, and behind the last one nothing matters.
    let end = calls.last()?.at;
    let scopes = if usage == NameSyntax::Code { scopes(after) } else { Vec::new() };
    let is_own =
        |name: &[u8], at: usize| scopes.iter().any(|scope| scope.body.contains(&at) && scope.names.contains(&name));
    let mut holders = vec![name];
    for assignment in ASSIGNMENTS.as_ref()?.captures_iter(&after[..end]) {
        let (Some(to), Some(value)) = (assignment.name("to"), assignment.name("value")) else { continue };
        let holds = |name: &&[u8]| {
            !is_own(name, value.start())
                && named_at(value.as_bytes(), name, usage, false)
                    .is_some_and(|at| is_match(&WRITES, &value.as_bytes()[..at]))
        };
        if holders.len() < MAX_HOLDERS && !holders.contains(&to.as_bytes()) && holders.iter().any(holds) {
            holders.push(to.as_bytes());
        }
    }
    let is_sent = |call: &SendingCall<'_>| {
        let is_named =
            |name: &&[u8]| !is_own(name, call.at) && named_at(call.text, name, usage, call.is_command).is_some();
        holders.iter().any(is_named)
    };
    calls.iter().any(is_sent).then(|| unless_described(hit)).flatten()
}

fn calls(text: &[u8]) -> Vec<SendingCall<'_>> {
    regexes! {
        CALLS = concat!(
            r"(?P<declared>\b(?:def|function|func|fn)\s+|\b(?:app|router|server)\.)?(?:\b(?:requests|httpx|session|aiohttp|client|axios|http|s)\.(?:post|put|patch|request)",
            r"|(?:\b\w+|\))\.(?:post|sendall?)|\b(?:urlopen|fetch|Request))\s*(?P<open>\()",
            r"|\b(?P<command>(?:curl|wget|nc|ncat)\s[^\n]{0,300})",
            r"|\b(?P<piped>(?:echo|printf)\s[^\n|]{0,200}\|[^\n]{0,100}\b(?:curl|wget|nc|ncat)\b)",
        );
    }
    let call = |found: Captures<'_>| {
        if let Some(open) = found.name("open") {
            let text = arguments(&text[open.start()..]);
            return found.name("declared").is_none().then_some((
                open.start(),
                open.start()..open.start() + text,
                false,
            ));
        }
        let command = found.name("command").or(found.name("piped"))?;
        Some((command.start(), command.range(), true))
    };
    let Some(regex) = CALLS.as_ref() else { return Vec::new() };
    let found = regex.captures_iter(text).filter_map(call);
    found.map(|(at, range, is_command)| SendingCall { at, text: &text[range], is_command }).collect()
}

/// Returns the length of the parentheses that a text begins with.
fn arguments(text: &[u8]) -> usize {
    let text = &text[..text.len().min(MAX_ARGUMENTS)];
    let plain = without_strings(text);
    let mut depth = 0_usize;
    for (at, byte) in plain.iter().enumerate() {
        match byte {
            b'(' => depth += 1,
            b')' if depth <= 1 => return at + 1,
            b')' => depth -= 1,
            _ => {}
        }
    }
    text.len()
}

/// Returns a text of the same length with blanks for the content of its strings, except for interpolated expressions.
fn without_strings(text: &[u8]) -> Vec<u8> {
    let mut plain = text.to_vec();
    let (mut quote, mut filled, mut escaped) = (None, 0_usize, false);
    for byte in &mut plain {
        match (quote, *byte) {
            (None, b'"' | b'\'' | b'`') => quote = Some(*byte),
            (None, _) => {}
            (Some(open), byte) if byte == open && !escaped => (quote, filled) = (None, 0),
            (Some(_), b'{') => filled += 1,
            (Some(_), b'}') => filled = filled.saturating_sub(1),
            (Some(_), other) => {
                escaped = other == b'\\' && !escaped;
                if filled == 0 {
                    *byte = b' ';
                }
                continue;
            }
        }
        escaped = false;
    }
    plain
}

/// Returns where a text names all that a variable holds, rather than a field of it.
fn named_at(text: &[u8], name: &[u8], usage: NameSyntax, is_command: bool) -> Option<usize> {
    regexes! {
        WHOLE = r"\A\.(?:encode|decode|copy|items|hex|strip|toString|getvalue)\(";
        KEY = r"(?:[{,(]|\blambda)\s*\z";
        BOUND = r"\bfor\s+(?P<names>[\w\s,()]{1,60}?)\s+in\b";
        FILLED = r"(?:[{+%])\s*\z";
    }
    let is_word = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    let plain = if usage == NameSyntax::Code && !is_command { without_strings(text) } else { text.to_vec() };
    // A variable of a comprehension is its own.
    let is_bound = usage == NameSyntax::Code
        && BOUND.as_ref().is_some_and(|bound| {
            let mut all = bound.captures_iter(&plain).filter_map(|found| found.name("names"));
            all.any(|names| names.as_bytes().split(|byte| !is_word(Some(byte))).any(|one| one == name))
        });
    if is_bound {
        return None;
    }
    (0..plain.len()).filter(|at| plain[*at..].starts_with(name)).find(|at| {
        let (before, behind) = (&plain[..*at], &plain[at + name.len()..]);
        let is_part = match behind.first() {
            Some(b'[' | b'=') => true,
            Some(b'.') => usage != NameSyntax::Shell && !is_match(&WHOLE, behind),
            other => is_word(other),
        };
        if is_part || is_word(before.last()) {
            return false;
        }
        let next = behind.trim_ascii_start();
        match usage {
            NameSyntax::Shell => before.ends_with(b"$") || before.ends_with(b"${"),
            NameSyntax::File => {
                before.last().is_none_or(|byte| b"@<=\"' ".contains(byte)) && !before.trim_ascii_end().ends_with(b"-o")
            }
            NameSyntax::Code if is_command => is_match(&FILLED, before),
            NameSyntax::Code => {
                let is_key = next.first() == Some(&b':') && is_match(&KEY, before);
                let is_argument = next.first() == Some(&b'=') && next.get(1) != Some(&b'=');
                !is_key && !is_argument
            }
        }
    })
}

/// A function or block that binds names of its own.
struct NameScope<'t> {
    names: Vec<&'t [u8]>,
    body: Range<usize>,
}

/// Returns the functions in a text with their parameters, and the blocks with the names they bind.
fn scopes(text: &[u8]) -> Vec<NameScope<'_>> {
    regexes! {
        HEADS = concat!(
            r"\bdef\s+\w+\s*\((?P<def>[^)]{0,300})\)[^:\n]{0,80}:",
            r"|\b(?:except\b[^:\n]{0,80}\sas|with\b[^:\n]{0,120}\sas|for)\s+(?P<block>[\w, ()]{1,60}?)(?:\s+in\b[^:\n]{0,120})?:",
            r"|\blambda\s+(?P<lambda>[^:\n]{1,120}):",
            r"|\((?P<arrow>[^()]{0,200})\)\s*=>\s*\{?|\b(?P<single>[a-z_]\w*)\s*=>\s*\{?",
            r"|\b(?P<keyword>[a-z_]\w*)(?:\s+\w+)?\s*\((?P<braces>[^()]{0,200})\)\s*\{",
        );
    }
    let Some(heads) = HEADS.as_ref() else { return Vec::new() };
    let scope = |found: Captures<'_>| {
        let range = found.get(0)?.range();
        let group = |name| found.name(name).map(|found| found.range());
        // `if (name) {` declares nothing.
        let is_statement =
            group("keyword").is_some_and(|word| matches!(&text[word], b"if" | b"while" | b"switch" | b"for"));
        let names = ["def", "block", "lambda", "arrow", "single", "braces"].into_iter().find_map(group)?;
        let end = if group("def").is_some() || group("block").is_some() {
            indented_end(text, &range, group("def").is_some())
        } else if text[range.clone()].ends_with(b"{") {
            braced_end(text, range.end)
        } else {
            range.end + line_length(&text[range.end..])
        };
        (!is_statement).then_some((names, range.end..end))
    };
    let found = heads.captures_iter(text).filter_map(scope);
    found.map(|(names, body)| NameScope { names: parameters(&text[names]), body }).collect()
}

/// Returns the names of parameters, without types and defaults.
fn parameters(text: &[u8]) -> Vec<&[u8]> {
    let name = |part: &'_ [u8]| {
        let from = part.iter().position(|byte| !b" \n*.{[(".contains(byte)).unwrap_or(part.len());
        let length = part[from..].iter().position(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_');
        from..length.map_or(part.len(), |length| from + length)
    };
    text.split(|byte| *byte == b',').map(|part| &part[name(part)]).filter(|name| !name.is_empty()).collect()
}

fn line_length(text: &[u8]) -> usize {
    text.iter().position(|byte| *byte == b'\n').unwrap_or(text.len())
}

/// Returns where the block ends whose brace is before `at`.
fn braced_end(text: &[u8], at: usize) -> usize {
    let mut depth = 1_usize;
    let end = text[at..].iter().position(|byte| {
        match byte {
            b'{' => depth += 1,
            b'}' => depth -= 1,
            _ => {}
        }
        depth == 0
    });
    end.map_or(text.len(), |end| at + end)
}

/// Returns where the indented block ends that `head` begins.
///
/// No more than four blanks of an indentation are kept in the window. Where the head has as many, a function reaches to
/// the next one, and any other block over a line.
fn indented_end(text: &[u8], head: &Range<usize>, is_function: bool) -> usize {
    let blanks = |line: &[u8]| line.iter().position(|byte| *byte != b' ').unwrap_or(line.len());
    let first = text[..head.start].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let indent = blanks(&text[first..]);
    let mut end = head.end + line_length(&text[head.end..]);
    let rest = text[head.end..end].trim_ascii();
    if !rest.is_empty() && !rest.starts_with(b"#") {
        return end;
    }
    end = text.len().min(end + 1);
    for (lines, line) in text[end..].split_inclusive(|byte| *byte == b'\n').enumerate() {
        let said = line.trim_ascii();
        let is_next = [&b"def "[..], b"class ", b"@", b"async "].iter().any(|word| said.starts_with(word));
        let is_over = if indent < CODE_INDENT {
            blanks(line) <= indent
        } else {
            blanks(line) < CODE_INDENT || is_next || !is_function && lines > 0
        };
        if !said.is_empty() && is_over {
            break;
        }
        end += line.len();
    }
    end
}

/// Judges whether compiled code is run that `marshal`, by whatever name, has loaded.
pub(super) fn marshalled(hit: &PatternHit<'_>) -> Option<&'static Rule> {
    regexes! {
        STEPS = concat!(
            r"(?:^|[^.\w]|\bbuiltins\.|\btypes\.)(?:exec|eval|FunctionType)\s*\([\s(]*(?:compile\s*\(\s*)?(?:self\.)?",
            r"(?P<run>[a-z_]\w*)(?P<run_loads>\.loads?\b)?(?P<run_call>\s*\()?",
            r"|\b(?:self\.)?(?P<to>[a-z_]\w*)\s*:?=\s*(?:self\.)?(?P<from>[a-z_]\w*)(?P<from_loads>\.loads?\b)?(?P<from_call>\s*\()?",
        );
    }
    let after = behind(hit, MAX_IMPORT_DISTANCE);
    if !hit.affords(after.len() * RUN_COST) {
        return None;
    }
    let mut modules = HashSet::from([hit.group("module"), hit.group("variable")]);
    let mut functions = HashSet::from([hit.group("loader")]);
    functions.insert(match (hit.group("alias"), hit.group("loads"), hit.group("all")) {
        ([], [], []) => b"",
        ([], [], _) => b"loads",
        ([], loads, _) => loads,
        (alias, ..) => alias,
    });
    let mut codes: HashSet<&[u8]> = HashSet::new();
    for step in STEPS.as_ref()?.captures_iter(after) {
        let text = |name| step.name(name).map(|found| &after[found.range()]);
        let is = |name| step.name(name).is_some();
        let loads = |name: &[u8], is_member| if is_member { modules.contains(name) } else { functions.contains(name) };
        if let Some(name) = text("run") {
            let is_code = !is("run_loads") && codes.contains(name);
            if is_code || is("run_call") && loads(name, is("run_loads")) {
                return unless_described(hit);
            }
        } else if let (Some(to), Some(from)) = (text("to"), text("from")) {
            match (loads(from, is("from_loads")), is("from_call")) {
                (true, true) => drop(codes.insert(to)),
                (true, false) => drop(functions.insert(to)),
                (false, false) if codes.contains(from) => drop(codes.insert(to)),
                (false, false) if modules.contains(from) => drop(modules.insert(to)),
                _ => {}
            }
        }
    }
    None
}
