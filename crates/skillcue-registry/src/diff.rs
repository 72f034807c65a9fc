//! Two texts compared line by line, as a unified diff.

use std::fmt::Write as _;

/// How many lines around a change are shown.
const CONTEXT_LINES: usize = 3;
/// Above this many pairs of lines, the difference is shown as one block: comparing is quadratic.
const MAX_PAIRS: usize = 4_000_000;

/// A line of a comparison.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DiffLine<'t> {
    Same(&'t str),
    Old(&'t str),
    New(&'t str),
}

/// Returns the differences between two texts as a unified diff, without file names. Empty if there are none.
///
/// ```
/// assert_eq!(skillcue_registry::unified("a\n", "b\n"), "@@ -1,1 +1,1 @@\n-a\n+b\n");
/// ```
pub fn unified(old: &str, new: &str) -> String {
    let lines = compare(&old.split_inclusive('\n').collect::<Vec<_>>(), &new.split_inclusive('\n').collect::<Vec<_>>());
    let mut shown = vec![false; lines.len()];
    for (at, line) in lines.iter().enumerate() {
        if !matches!(line, DiffLine::Same(_)) {
            let end = (at + CONTEXT_LINES + 1).min(lines.len());
            shown[at.saturating_sub(CONTEXT_LINES)..end].fill(true);
        }
    }
    let mut text = String::new();
    let (mut old_line, mut new_line, mut at) = (1, 1, 0);
    while at < lines.len() {
        let hunk = shown[at..].iter().take_while(|shown| **shown).count();
        let hunk = &lines[at..at + hunk];
        if hunk.is_empty() {
            (old_line, new_line, at) = (old_line + 1, new_line + 1, at + 1);
            continue;
        }
        let olds = hunk.iter().filter(|line| !matches!(line, DiffLine::New(_))).count();
        let news = hunk.iter().filter(|line| !matches!(line, DiffLine::Old(_))).count();
        // Writing to a string cannot fail. An empty side starts at the line before it.
        let start = |line: usize, count| if count == 0 { line - 1 } else { line };
        let _ = writeln!(text, "@@ -{},{olds} +{},{news} @@", start(old_line, olds), start(new_line, news));
        for line in hunk {
            let (sign, line) = match line {
                DiffLine::Same(line) => (' ', line),
                DiffLine::Old(line) => ('-', line),
                DiffLine::New(line) => ('+', line),
            };
            text.push(sign);
            text.push_str(line);
            if !line.ends_with('\n') {
                text.push_str("\n\\ No newline at end of file\n");
            }
        }
        (old_line, new_line, at) = (old_line + olds, new_line + news, at + hunk.len());
    }
    text
}

fn compare<'t>(old: &[&'t str], new: &[&'t str]) -> Vec<DiffLine<'t>> {
    let start = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let (old_rest, new_rest) = (&old[start..], &new[start..]);
    let end = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(old, new)| old == new).count();
    let (old_rest, tail) = old_rest.split_at(old_rest.len() - end);
    let new_rest = &new_rest[..new_rest.len() - end];
    let mut lines: Vec<_> = old[..start].iter().map(|line| DiffLine::Same(line)).collect();
    if old_rest.len().saturating_mul(new_rest.len()) > MAX_PAIRS {
        lines.extend(old_rest.iter().map(|line| DiffLine::Old(line)));
        lines.extend(new_rest.iter().map(|line| DiffLine::New(line)));
    } else {
        compare_by_longest_common(old_rest, new_rest, &mut lines);
    }
    lines.extend(tail.iter().map(|line| DiffLine::Same(line)));
    lines
}

/// Compares by the longest common subsequence: `common` holds its length for each pair of rests.
fn compare_by_longest_common<'t>(old: &[&'t str], new: &[&'t str], lines: &mut Vec<DiffLine<'t>>) {
    let width = new.len() + 1;
    let mut common = vec![0_u32; (old.len() + 1) * width];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            common[i * width + j] = if old[i] == new[j] {
                common[(i + 1) * width + j + 1] + 1
            } else {
                common[(i + 1) * width + j].max(common[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    while i < old.len() && j < new.len() {
        if old[i] == new[j] {
            lines.push(DiffLine::Same(old[i]));
            (i, j) = (i + 1, j + 1);
        } else if common[(i + 1) * width + j] >= common[i * width + j + 1] {
            lines.push(DiffLine::Old(old[i]));
            i += 1;
        } else {
            lines.push(DiffLine::New(new[j]));
            j += 1;
        }
    }
    lines.extend(old[i..].iter().map(|line| DiffLine::Old(line)));
    lines.extend(new[j..].iter().map(|line| DiffLine::New(line)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hunks_with_context() {
        let old = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n";
        let new = "1\n2\n3\n4\nfive\n6\n7\n8\n9\n10\n11\n12\n13";
        let expected = "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n@@ -10,3 +10,4 @@\n 10\n 11\n 12\n+13\n\\ No newline at end of file\n";
        assert_eq!(unified(old, new), expected);
        assert_eq!(unified(old, old), "");
        assert_eq!(unified("", "a\n"), "@@ -0,0 +1,1 @@\n+a\n");
        assert_eq!(unified("a\n", ""), "@@ -1,1 +0,0 @@\n-a\n");
    }

    #[test]
    fn large_texts_are_one_block() {
        let lines = |word: &str| (0..3_000).map(|line| format!("{word} {line}\n")).collect::<Vec<_>>().concat();
        let (old, new) = (lines("old"), lines("new"));
        assert_eq!(unified(&old, &new).lines().count(), 6_001);
    }
}
