//! The first comment or docstring of a script, which is its description.

use skillcue_base::visible_line;

/// Characters of a description; a longer one is cut.
const MAX_DESCRIPTION: usize = 240;

/// Beginnings of comments for machines and lawyers, which say nothing about what a script does.
const SKIPPED_COMMENTS: &[&str] = &[
    "-*-",
    "vim:",
    "coding:",
    "coding=",
    "spdx-",
    "copyright",
    "(c) ",
    "licensed under",
    "license:",
    "shellcheck",
    "eslint",
    "@ts-",
    "prettier",
    "frozen_string_literal",
    "pylint",
    "flake8",
    "type: ignore",
    "noqa",
    "tslint",
];

/// Returns the first paragraph of the first comment in `head`, the beginning of the script at `path`.
pub(crate) fn first_comment(path: &str, head: &str) -> Option<String> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let slashes = ["js", "mjs", "cjs", "ts", "mts"].iter().any(|it| name.ends_with(&format!(".{it}")))
        || head.lines().next().is_some_and(|line| {
            line.starts_with("#!") && ["node", "bun", "deno"].iter().any(|program| line.contains(program))
        });
    let lines: Vec<&str> = head.lines().collect();
    let start = usize::from(lines.first().is_some_and(|line| line.trim_start_matches('\u{feff}').starts_with("#!")));
    let text = if slashes { slash_comment(&lines[start..]) } else { hash_comment(&lines[start..]) }?;
    shortened(&without_name(&text, name))
}

/// Returns the first comment with `#`, or the docstring after it, which describes a script better.
fn hash_comment(lines: &[&str]) -> Option<String> {
    let mut comment: Vec<&str> = Vec::new();
    let mut done = false;
    let mut metadata = false;
    for (at, line) in lines.iter().enumerate() {
        let line = line.trim();
        if metadata {
            metadata = line != "# ///";
        } else if line == "# /// script" {
            metadata = true;
        } else if line.starts_with('#') {
            let said = line.trim_start_matches('#').trim();
            if said.is_empty() {
                done |= !comment.is_empty();
            } else if !done && !is_skipped(said) {
                comment.push(said);
            }
        } else if line.is_empty() {
            done |= !comment.is_empty();
        } else if let Some(text) = docstring(&lines[at..]) {
            return Some(text);
        } else if line.starts_with("set ") || line == "use strict;" || line == "use warnings;" {
            // Nearly every script begins with such lines, before it says what it is.
            done |= !comment.is_empty();
        } else {
            break;
        }
    }
    (!comment.is_empty()).then(|| comment.join(" "))
}

/// Returns the first paragraph of a string literal that is a statement of its own at the beginning of `lines`.
fn docstring(lines: &[&str]) -> Option<String> {
    let first = lines.first()?.trim();
    let first = first.strip_prefix(['r', 'R', 'u', 'U']).unwrap_or(first);
    let (quote, rest) = ["\"\"\"", "'''", "\"", "'"]
        .into_iter()
        .find_map(|quote| first.strip_prefix(quote).map(|rest| (quote, rest)))?;
    if let Some((text, _)) = rest.split_once(quote) {
        return (!text.trim().is_empty()).then(|| text.trim().to_owned());
    }
    if quote.len() == 1 {
        return None;
    }
    let mut said = vec![rest.trim()];
    for line in &lines[1..] {
        let (text, ends) = line.split_once(quote).map_or((*line, false), |(text, _)| (text, true));
        let text = text.trim();
        if text.is_empty() && said.iter().any(|it| !it.is_empty()) {
            break;
        }
        said.push(text);
        if ends {
            break;
        }
    }
    let text = said.into_iter().filter(|it| !it.is_empty()).collect::<Vec<_>>().join(" ");
    (!text.is_empty()).then_some(text)
}

/// Returns the first comment with `//` or `/* */`.
fn slash_comment(lines: &[&str]) -> Option<String> {
    let mut comment: Vec<&str> = Vec::new();
    let mut block = false;
    for line in lines {
        let line = line.trim();
        let opens = line.starts_with("/*");
        if block || opens {
            let ends = line.contains("*/");
            let text =
                line.trim_start_matches('/').split("*/").next().unwrap_or("").trim_start_matches(['*', '!']).trim();
            let text = text.strip_prefix("@fileoverview").or_else(|| text.strip_prefix("@file")).unwrap_or(text).trim();
            let paragraph_ends = text.is_empty() || text.starts_with('@');
            if paragraph_ends && !comment.is_empty() {
                break;
            }
            if !paragraph_ends && !is_skipped(text) {
                comment.push(text);
            }
            block = !ends;
            if ends && !comment.is_empty() {
                break;
            }
        } else if let Some(text) = line.strip_prefix("//") {
            let text = text.trim_start_matches('/').trim();
            if text.is_empty() && !comment.is_empty() {
                break;
            }
            if !text.is_empty() && !is_skipped(text) {
                comment.push(text);
            }
        } else if !comment.is_empty() {
            break;
        } else if !line.is_empty() && !matches!(line.trim_end_matches(';'), "'use strict'" | "\"use strict\"") {
            return None;
        }
    }
    (!comment.is_empty()).then(|| comment.join(" "))
}

fn is_skipped(said: &str) -> bool {
    let said = said.to_lowercase();
    SKIPPED_COMMENTS.iter().any(|word| said.starts_with(word))
}

/// Removes the script's own name from the beginning, as in `count.py - Counts pages`: a list shows it anyway.
fn without_name(text: &str, name: &str) -> String {
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    for name in [name, stem] {
        let rest = text.strip_prefix(name).map(str::trim_start);
        let rest = rest.and_then(|rest| ["--", "-", ":", "–", "—"].iter().find_map(|mark| rest.strip_prefix(mark)));
        if let Some(rest) = rest.map(str::trim).filter(|rest| !rest.is_empty()) {
            return rest.to_owned();
        }
    }
    text.to_owned()
}

/// Shortens to one line of at most [`MAX_DESCRIPTION`] characters: the whole text, else its first sentence, else its
/// beginning.
fn shortened(text: &str) -> Option<String> {
    let text = visible_line(text).into_owned();
    if text.is_empty() {
        return None;
    }
    if text.chars().count() <= MAX_DESCRIPTION {
        return Some(text);
    }
    if let Some(end) = text.find(". ").filter(|end| text[..*end].chars().count() < MAX_DESCRIPTION) {
        return Some(text[..=end].to_owned());
    }
    Some(text.chars().take(MAX_DESCRIPTION - 1).chain(['…']).collect())
}

#[cfg(test)]
mod tests {
    use super::first_comment;

    #[test]
    fn descriptions_of_scripts() {
        let cases: &[(&str, &str, Option<&str>)] = &[
            (
                "a.py",
                "#!/usr/bin/env python3\n# -*- coding: utf-8 -*-\n\"\"\"Counts.\n\nMore.\"\"\"\n",
                Some("Counts."),
            ),
            ("a.py", "# /// script\n# dependencies = [\"x\"]\n# ///\n'''Counts\npages.'''\n", Some("Counts pages.")),
            ("a.py", "# Copyright 2024 A. U. Thor\n# SPDX-License-Identifier: MIT\n\nimport os\n", None),
            ("a.py", "# Counts pages.\n# Well.\n\n# Later.\nimport os\n", Some("Counts pages. Well.")),
            ("a.py", "import os\n# Not this.\n", None),
            ("a.py", "\"\"\"\nCounts.\n\"\"\"\n", Some("Counts.")),
            ("a.sh", "#!/bin/bash\nset -euo pipefail\n# Backs up.\n", Some("Backs up.")),
            ("a.sh", "#!/bin/sh\n# a.sh - backs up\n", Some("backs up")),
            (
                "a.js",
                "#!/usr/bin/env node\n'use strict';\n/**\n * Makes things.\n *\n * @author me\n */\n",
                Some("Makes things."),
            ),
            ("a.ts", "// Makes\n// things.\nimport x from 'x';\n", Some("Makes things.")),
            ("a.mjs", "import x from 'x';\n// no\n", None),
            ("tool", "#!/usr/bin/env node\n// Makes.\n", Some("Makes.")),
            ("a.pl", "use strict;\nuse warnings;\n# Sorts.\n", Some("Sorts.")),
            ("a.sh", "", None),
            ("a.py", "\"\"\"", None),
            ("a.js", "/*", None),
        ];
        for (path, head, want) in cases {
            assert_eq!(first_comment(path, head).as_deref(), *want, "{path}: {head:?}");
        }
    }

    #[test]
    fn a_long_text_is_cut_and_control_characters_are_dropped() {
        let long = format!("# {}\n", "x".repeat(1000));
        assert_eq!(first_comment("a.sh", &long).unwrap().chars().count(), super::MAX_DESCRIPTION);
        let two = format!("# First. {}\n", "y".repeat(1000));
        assert_eq!(first_comment("a.sh", &two).unwrap(), "First.");
        assert_eq!(first_comment("a.sh", "# a\u{1b}[31mb\n").unwrap(), "a[31mb");
    }
}
