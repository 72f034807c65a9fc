//! Required literals: texts without which a regular expression cannot match.

use regex_syntax::hir::{Class, Hir, HirKind};
use regex_syntax::{Error, ParserBuilder};

/// With more alternatives than this, a table is not worth it.
const MAX_ALTERNATIVES: usize = 64;

/// Parses a pattern and returns the texts, in lower case, of which every match contains at least one; `None`, if there
/// are no such texts. Cheap: nothing is compiled.
pub(crate) fn required(pattern: &str) -> Result<Option<Vec<Vec<u8>>>, Box<Error>> {
    // Letters are folded here, so the tree may keep them as literals. That folds what `(?-i)` would not, and a filter
    // may let through too much.
    let hir = ParserBuilder::new().nest_limit(50).build().parse(pattern)?;
    Ok(needs(&hir).filter(|set| !set.is_empty() && set.iter().all(|literal| !literal.is_empty())))
}

/// Returns a set of literals of which one must occur.
fn needs(hir: &Hir) -> Option<Vec<Vec<u8>>> {
    match hir.kind() {
        HirKind::Literal(_) | HirKind::Class(_) | HirKind::Concat(_) => {
            let mut best = None;
            let mut run = Vec::new();
            collect(hir, &mut run, &mut best);
            end_run(&mut run, &mut best);
            best
        }
        HirKind::Alternation(parts) => {
            let mut all = Vec::new();
            for part in parts {
                all.extend(needs(part)?);
                if all.len() > MAX_ALTERNATIVES {
                    return None;
                }
            }
            Some(all)
        }
        HirKind::Repetition(repetition) if repetition.min > 0 => needs(&repetition.sub),
        HirKind::Capture(capture) => needs(&capture.sub),
        HirKind::Repetition(_) | HirKind::Look(_) | HirKind::Empty => None,
    }
}

/// Walks a concatenation: adjacent literals join, anything else ends the run.
fn collect(hir: &Hir, run: &mut Vec<u8>, best: &mut Option<Vec<Vec<u8>>>) {
    match hir.kind() {
        HirKind::Concat(parts) => parts.iter().for_each(|part| collect(part, run, best)),
        HirKind::Literal(literal) => match std::str::from_utf8(&literal.0) {
            Ok(text) => text.chars().for_each(|c| match folded(c) {
                Some(c) => run.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
                None => end_run(run, best),
            }),
            Err(_) => end_run(run, best),
        },
        HirKind::Class(class) => match letter(class) {
            Some(c) => run.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            None => end_run(run, best),
        },
        _ => {
            end_run(run, best);
            if let Some(set) = needs(hir) {
                better(best, set);
            }
        }
    }
}

fn end_run(run: &mut Vec<u8>, best: &mut Option<Vec<Vec<u8>>>) {
    if !run.is_empty() {
        better(best, vec![std::mem::take(run)]);
    }
}

/// Keeps the set whose shortest literal is longest; of two such, the smaller set.
fn better(best: &mut Option<Vec<Vec<u8>>>, set: Vec<Vec<u8>>) {
    let worth = |set: &Vec<Vec<u8>>| (set.iter().map(Vec::len).min().unwrap_or(0).min(8), usize::MAX - set.len());
    if best.as_ref().is_none_or(|before| worth(before) < worth(&set)) {
        *best = Some(set);
    }
}

/// Returns a character as the scanned text has it, if there is only one such form.
fn folded(c: char) -> Option<char> {
    if c.is_ascii() {
        return Some(c.to_ascii_lowercase());
    }
    let caseless = c.to_lowercase().eq([c]) && c.to_uppercase().eq([c]);
    // Letters of these blocks may have case variants that the standard library does not know.
    (caseless && !matches!(u32::from(c), 0x80..=0x2FF | 0x370..=0x58F | 0x1E00..=0x1FFF | 0x2100..=0x218F)).then_some(c)
}

/// Returns the only letter of a class, apart from case: `(?i)` turns a letter into such a class.
fn letter(class: &Class) -> Option<char> {
    let Class::Unicode(class) = class else { return None };
    let chars = || class.ranges().iter().take(4).flat_map(|range| [range.start(), range.end()]);
    let small = class.ranges().iter().all(|range| range.start() == range.end());
    let first = fold_ascii(chars().next()?)?;
    (small && class.ranges().len() <= 3 && chars().all(|c| fold_ascii(c) == Some(first))).then_some(first)
}

fn fold_ascii(c: char) -> Option<char> {
    match c {
        '\u{17F}' => Some('s'),
        '\u{212A}' => Some('k'),
        _ => c.is_ascii().then(|| c.to_ascii_lowercase()),
    }
}

/// Returns a message as it is searched for literals: ASCII in lower case, and with it the two other characters that
/// equal an ASCII letter apart from case.
pub(crate) fn scanned(message: &str) -> String {
    let mut text = message.to_ascii_lowercase();
    if !message.is_ascii() && text.contains(['\u{17F}', '\u{212A}']) {
        text = text.replace('\u{17F}', "s").replace('\u{212A}', "k");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pattern: &str) -> Option<Vec<String>> {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        required(pattern).unwrap().map(|set| set.into_iter().map(text).collect())
    }

    #[test]
    fn required_literals_of_patterns() {
        for (pattern, expected) in [
            ("say .* in .*", Some(vec!["say "])),
            (r"\b\w+\.pdf\b", Some(vec![".pdf"])),
            ("(?i)Kiss", Some(vec!["kiss"])),
            ("[Kk]iss", Some(vec!["kiss"])),
            ("(cat|dog)s?", Some(vec!["cat", "dog"])),
            ("(cat|.*)", None),
            ("(cat)?", None),
            ("(ab)+c", Some(vec!["ab"])),
            (r"\d+", None),
            ("", None),
            ("^$", None),
            ("größe", Some(vec!["gr"])),
            ("表格|PDF", Some(vec!["表格", "pdf"])),
            ("(?:a|bcd)x(?:yz|w)", Some(vec!["x"])),
            ("(?:ab|cd)x", Some(vec!["ab", "cd"])),
            (r"\$\d+", Some(vec!["$"])),
        ] {
            assert_eq!(of(pattern), expected.map(|set| set.into_iter().map(str::to_owned).collect()), "{pattern}");
        }
        assert!(required("[invalid(regex").is_err());
        assert!(required(&"(".repeat(100)).is_err());
        let many = (0..100).map(|n| format!("w{n}")).collect::<Vec<_>>().join("|");
        assert_eq!(of(&format!("({many})z")), Some(vec!["z".to_owned()]));
    }

    #[test]
    fn a_filter_never_hides_a_match() {
        for (pattern, message) in [("kiss", "\u{212a}I\u{17f}S"), ("STRASSE", "strasse"), ("(?i)größe", "GRÖSSE größe")]
        {
            assert!(skillcue_format::pattern::compile(pattern).unwrap().is_match(message));
            let text = scanned(message);
            assert!(of(pattern).unwrap().iter().any(|literal| text.contains(literal.as_str())), "{pattern}");
        }
    }
}
