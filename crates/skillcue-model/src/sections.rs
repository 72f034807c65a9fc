//! The sections of a skill that become vectors.

/// The most sections of one skill, its description among them.
pub const MAX_SECTIONS: usize = 16;

/// The most bytes of a section, about as much as the model reads: 256 tokens of English.
const MAX_SECTION_BYTES: usize = 1_200;

/// The least bytes of a section: a shorter one goes with the next.
const MIN_SECTION_BYTES: usize = 200;

/// Cuts a skill into sections for the model: first its summary, which is its name and description, then its body, cut at
/// headings and where it gets too long. At most [`MAX_SECTIONS`]; what comes later in a long body is left out.
///
/// ```
/// use skillcue_model::sections;
///
/// let body = format!("# Merge\n{}\n# Split\n{}\n", "Merge files. ".repeat(20), "Split files. ".repeat(20));
/// let cut = sections("pdf: Works with PDF files.", &body);
/// assert_eq!(cut.len(), 3);
/// assert_eq!(cut[0], "pdf: Works with PDF files.");
/// assert!(cut[1].starts_with("# Merge") && cut[2].starts_with("# Split"));
/// ```
pub fn sections<'t>(summary: &'t str, body: &'t str) -> Vec<&'t str> {
    let mut cut = vec![summary.trim()];
    let (mut start, mut at, mut in_code) = (0, 0, false);
    for line in body.split_inclusive('\n') {
        let is_fence = line.trim_start().starts_with("```") || line.trim_start().starts_with("~~~");
        let begins = !in_code && is_heading(line) && at - start >= MIN_SECTION_BYTES;
        let is_full = at + line.len() - start > MAX_SECTION_BYTES && at > start;
        if begins || is_full {
            push(&mut cut, &body[start..at]);
            start = at;
        }
        in_code ^= is_fence;
        at += line.len();
        // A line without an end, as of data: cut anywhere.
        while at - start > MAX_SECTION_BYTES && cut.len() < MAX_SECTIONS {
            let end = blank_before(body, start, body.floor_char_boundary(start + MAX_SECTION_BYTES));
            push(&mut cut, &body[start..end]);
            start = end;
        }
        if cut.len() >= MAX_SECTIONS {
            return cut;
        }
    }
    push(&mut cut, &body[start..]);
    cut
}

fn push<'t>(cut: &mut Vec<&'t str>, section: &'t str) {
    let section = section.trim();
    if !section.is_empty() && cut.len() < MAX_SECTIONS {
        cut.push(section);
    }
}

/// Returns the last blank of the second half of a part, or else its end.
fn blank_before(text: &str, start: usize, end: usize) -> usize {
    let blank = text[start..end].rfind(char::is_whitespace).map(|at| start + at);
    blank.filter(|at| at - start > MAX_SECTION_BYTES / 2).unwrap_or(end)
}

fn is_heading(line: &str) -> bool {
    let text = line.trim_start_matches('#');
    (1..=6).contains(&(line.len() - text.len())) && text.starts_with([' ', '\t'])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_heading_begins_a_section_if_the_one_before_is_long_enough() {
        let long = "word ".repeat(60);
        let body = format!("# Short\n\n## Long\n{long}\n```sh\n# a comment\n```\n{long}\n### Last\nEnd.\n");
        let cut = sections("name: what it does", &body);
        assert_eq!(cut.len(), 3, "{cut:#?}");
        assert!(
            cut[1].starts_with("# Short\n\n## Long")
                && cut[1].contains("# a comment")
                && cut[2].starts_with("### Last")
        );
        assert_eq!(sections("only this", ""), ["only this"]);
        assert_eq!(sections("", " \n\n"), [""]);
    }

    #[test]
    fn long_texts_are_cut_and_have_an_end() {
        let long = "word ".repeat(20_000);
        let cut = sections("s", &long);
        assert_eq!(cut.len(), MAX_SECTIONS);
        assert!(cut[1..].iter().all(|section| section.len() > 1_000 && section.starts_with("word")), "{cut:?}");
        let long = "表".repeat(1_000);
        let cut = sections("s", &long);
        assert_eq!(cut[1..].concat().chars().count(), 1_000, "nothing is lost");
    }

    proptest! {
        #[test]
        fn sections_are_small_parts_of_the_body_in_order(lines in prop::collection::vec("#{0,3} ?[a-zä表`]{0,900}", 0..30)) {
            let body = lines.join("\n");
            let cut = sections("s", &body);
            prop_assert!(cut.len() <= MAX_SECTIONS);
            let mut rest = body.as_str();
            for section in &cut[1..] {
                prop_assert!(section.len() <= MAX_SECTION_BYTES);
                let at = rest.find(section);
                prop_assert!(at.is_some());
                rest = &rest[at.unwrap_or(0) + section.len()..];
            }
            prop_assert!(rest.trim().is_empty() || cut.len() == MAX_SECTIONS);
        }
    }
}
