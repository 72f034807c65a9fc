//! The Markdown below the front matter.

use super::random::Random;
use super::words::{CJK, MANNERS, OBJECTS, OCCASIONS, VERBS};
use std::fmt::Write as _;

/// Bytes of a body, by quantile: a log-normal with the wild's median of 1,119 tokens and 99th
/// percentile of 7,781, at about 5 bytes a token, cut off at 60 KB. (The wild's longest has
/// 215,033 tokens; a tree of 100,000 would then be measured by its few longest files.)
const BYTES: &[(usize, usize)] = &[
    (0, 200),
    (10, 740),
    (50, 1_310),
    (100, 1_790),
    (250, 3_000),
    (500, 5_300),
    (750, 9_500),
    (900, 15_900),
    (950, 21_600),
    (990, 38_000),
    (1000, 60_000),
];

/// The length of the longest block that a body is made of, so a body is at most this much over its size.
const MAX_BLOCK: usize = 1_500;

/// Writes a body of a size as in public repositories.
pub(crate) fn write(out: &mut String, random: &mut Random, name: &str, cjk: bool) {
    let target = random.quantile(BYTES);
    out.reserve(target + MAX_BLOCK);
    let start = out.len();
    title(out, name);
    sentences(out, random, cjk);
    // One body in fourteen takes arguments, one in ninety runs a command for another host.
    if random.chance(70) {
        out.push_str("Work on what was asked for: $ARGUMENTS\n\n");
    }
    if random.chance(12) {
        out.push_str("Current state: !`git status --short`\n\n");
    }
    let mut step = 0;
    while out.len() - start < target {
        let before = out.len();
        // A heading about every four blocks.
        if step % 4 == 0 {
            let _ = write!(out, "## {} {}\n\n", random.pick(VERBS), random.pick(OBJECTS));
        }
        match random.below(20) {
            0..9 => sentences(out, random, cjk),
            9..14 => bullets(out, random),
            14..16 => numbered(out, random),
            16..18 => code(out, random, name),
            18 => table(out, random),
            // A rule looks like the line that closes front matter: a reader that searches from
            // the end, or past the first one, goes wrong here.
            _ => out.push_str("---\n\n"),
        }
        step += 1;
        debug_assert!(out.len() - before <= MAX_BLOCK);
    }
}

/// Writes a body of one line, for trees whose bodies do not matter.
pub(crate) fn write_short(out: &mut String, name: &str) {
    title(out, name);
    out.push_str("Do what the description says.\n");
}

fn title(out: &mut String, name: &str) {
    out.push_str("# ");
    for (index, word) in name.split('-').enumerate() {
        if index > 0 {
            out.push(' ');
        }
        let mut letters = word.chars();
        out.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        out.push_str(letters.as_str());
    }
    out.push_str("\n\n");
}

/// Without the formatting machinery: bodies are nine tenths of what is written, and this is where
/// their bytes come from.
fn push(out: &mut String, parts: &[&str]) {
    for part in parts {
        out.push_str(part);
    }
}

fn sentences(out: &mut String, random: &mut Random, cjk: bool) {
    let count = 2 + random.below(4);
    for index in 0..count {
        if index > 0 && !cjk {
            out.push(' ');
        }
        if cjk {
            out.push_str(random.pick(CJK));
            continue;
        }
        let (verb, object, manner) = (random.pick(VERBS), random.pick(OBJECTS), random.pick(MANNERS));
        match random.below(3) {
            0 => push(out, &[verb, " the ", object, " ", manner, "."]),
            1 => push(
                out,
                &["When ", random.pick(OCCASIONS), " ", object, ", start with the smallest case ", manner, "."],
            ),
            _ => push(out, &[verb, " ", object, " first, then compare them with the ", random.pick(OBJECTS), "."]),
        }
    }
    out.push_str("\n\n");
}

fn bullets(out: &mut String, random: &mut Random) {
    for _ in 0..3 + random.below(5) {
        let (verb, object) = (random.pick(VERBS), random.pick(OBJECTS));
        if random.chance(400) {
            push(out, &["- **", verb, "**: ", object, " ", random.pick(MANNERS), "\n"]);
        } else {
            push(out, &["- ", verb, " ", object, " ", random.pick(MANNERS), "\n"]);
        }
    }
    out.push('\n');
}

fn numbered(out: &mut String, random: &mut Random) {
    for number in ["1", "2", "3", "4", "5", "6"].iter().take(3 + random.below(4)) {
        push(out, &[number, ". ", random.pick(VERBS), " the ", random.pick(OBJECTS), " ", random.pick(MANNERS), ".\n"]);
    }
    out.push('\n');
}

fn code(out: &mut String, random: &mut Random, name: &str) {
    let verb = random.pick(VERBS).to_ascii_lowercase();
    let _ = match random.below(3) {
        0 => write!(
            out,
            "```bash\n# {} {}\nscripts/{name}.sh {verb} --input data.json --output out/\n```\n\n",
            random.pick(VERBS),
            random.pick(OBJECTS)
        ),
        1 => write!(
            out,
            "```python\nfrom pathlib import Path\n\n\ndef {verb}(path: Path) -> dict:\n    \"\"\"{} {}.\"\"\"\n    text = path.read_text(encoding=\"utf-8\")\n    return {{\"path\": str(path), \"lines\": text.count(\"\\n\")}}\n```\n\n",
            random.pick(VERBS),
            random.pick(OBJECTS)
        ),
        _ => write!(
            out,
            "```yaml\n# settings for {name}\n{verb}:\n  enabled: true\n  retries: {}\n---\n```\n\n",
            random.below(9)
        ),
    };
}

fn table(out: &mut String, random: &mut Random) {
    out.push_str("| When | What to do |\n| --- | --- |\n");
    for _ in 0..3 + random.below(4) {
        push(out, &["| ", random.pick(OBJECTS), " | ", random.pick(VERBS), " ", random.pick(MANNERS), " |\n"]);
    }
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_keep_their_size() {
        let mut sizes = Vec::new();
        for index in 0..3000 {
            let mut out = String::new();
            write(&mut out, &mut Random::for_item(1, index), "pdf-reader", index % 20 == 0);
            assert!(out.len() <= BYTES[BYTES.len() - 1].1 + MAX_BLOCK, "{}", out.len());
            assert!(out.starts_with("# Pdf Reader\n\n"));
            sizes.push(out.len());
        }
        sizes.sort_unstable();
        let median = sizes[1500];
        assert!((4_600..=5_900).contains(&median), "median {median}");
    }
}
