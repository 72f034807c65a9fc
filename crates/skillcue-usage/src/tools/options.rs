//! Options of the programs that show files: which of them have a value, and which a pattern or a script.

/// The options of a program.
struct OptionTable {
    /// Whether its first argument is a pattern or a script, unless an option has it. Of such a program, an option that is not
    /// known may make any word a pattern.
    has_pattern: bool,
    /// The letters of options without a value.
    switches: &'static str,
    /// The letters of those with one.
    values: &'static str,
    /// The letters and words of those whose value is the pattern or the script.
    patterns: &'static [&'static str],
    /// The words of options without a value.
    long_switches: &'static [&'static str],
    /// The words of those with one.
    long_values: &'static [&'static str],
    /// The words of those with two.
    long_pairs: &'static [&'static str],
}

const NONE: OptionTable = OptionTable {
    has_pattern: false,
    switches: "",
    values: "",
    patterns: &[],
    long_switches: &[],
    long_values: &[],
    long_pairs: &[],
};
const GREP: OptionTable = OptionTable {
    has_pattern: true,
    switches: "EFGPiyvwxcLloqsbHhnTZzaIRrUuV",
    values: "efmABCdD",
    patterns: &["e", "f", "regexp", "file"],
    long_switches: &[
        "ignore-case",
        "no-ignore-case",
        "invert-match",
        "word-regexp",
        "line-regexp",
        "count",
        "color",
        "colour",
        "files-with-matches",
        "files-without-match",
        "only-matching",
        "quiet",
        "silent",
        "no-messages",
        "byte-offset",
        "with-filename",
        "no-filename",
        "line-number",
        "initial-tab",
        "null",
        "text",
        "recursive",
        "dereference-recursive",
        "null-data",
        "extended-regexp",
        "fixed-strings",
        "basic-regexp",
        "perl-regexp",
        "line-buffered",
        "binary",
    ],
    long_values: &[
        "regexp",
        "file",
        "max-count",
        "after-context",
        "before-context",
        "context",
        "include",
        "exclude",
        "exclude-from",
        "exclude-dir",
        "binary-files",
        "devices",
        "directories",
        "label",
        "group-separator",
    ],
    ..NONE
};
const RG: OptionTable = OptionTable {
    has_pattern: true,
    switches: "abcFHhIiLlNnopPqSsUuVvwxz0.",
    values: "ABCEMTdefgjmrt",
    patterns: &["e", "f", "regexp", "file"],
    long_switches: &[
        "ignore-case",
        "smart-case",
        "case-sensitive",
        "invert-match",
        "word-regexp",
        "line-regexp",
        "count",
        "count-matches",
        "files-with-matches",
        "files-without-match",
        "only-matching",
        "quiet",
        "no-messages",
        "with-filename",
        "no-filename",
        "line-number",
        "no-line-number",
        "null",
        "text",
        "hidden",
        "no-ignore",
        "no-ignore-vcs",
        "follow",
        "fixed-strings",
        "pcre2",
        "multiline",
        "multiline-dotall",
        "heading",
        "no-heading",
        "pretty",
        "column",
        "trim",
        "vimgrep",
        "json",
        "stats",
        "unrestricted",
        "passthru",
        "no-config",
        "byte-offset",
        "crlf",
        "search-zip",
        "null-data",
        "line-buffered",
        "max-columns-preview",
        "one-file-system",
        "glob-case-insensitive",
    ],
    long_values: &[
        "regexp",
        "file",
        "max-count",
        "after-context",
        "before-context",
        "context",
        "glob",
        "iglob",
        "type",
        "type-not",
        "type-add",
        "type-clear",
        "threads",
        "max-depth",
        "maxdepth",
        "replace",
        "encoding",
        "max-columns",
        "max-filesize",
        "sort",
        "sortr",
        "color",
        "colors",
        "context-separator",
        "field-context-separator",
        "field-match-separator",
        "engine",
        "pre",
        "pre-glob",
        "ignore-file",
        "path-separator",
        "dfa-size-limit",
        "regex-size-limit",
        "hyperlink-format",
    ],
    ..NONE
};
const JQ: OptionTable = OptionTable {
    has_pattern: true,
    switches: "nRrsjacCMSeVh",
    values: "fL",
    patterns: &["f", "from-file"],
    long_switches: &[
        "raw-output",
        "raw-input",
        "raw-output0",
        "slurp",
        "compact-output",
        "null-input",
        "sort-keys",
        "exit-status",
        "join-output",
        "ascii-output",
        "color-output",
        "monochrome-output",
        "tab",
        "unbuffered",
        "stream",
        "seq",
        "stream-errors",
    ],
    long_values: &["from-file", "indent", "library-path"],
    long_pairs: &["arg", "argjson", "slurpfile", "rawfile", "argfile"],
};
const SED: OptionTable = OptionTable {
    has_pattern: true,
    switches: "nErsuzb",
    values: "efl",
    patterns: &["e", "f", "expression", "file"],
    long_switches: &[
        "quiet",
        "silent",
        "regexp-extended",
        "separate",
        "unbuffered",
        "null-data",
        "zero-terminated",
        "posix",
        "debug",
        "sandbox",
        "follow-symlinks",
    ],
    long_values: &["expression", "file", "line-length"],
    ..NONE
};
const AWK: OptionTable = OptionTable {
    has_pattern: true,
    switches: "bcCghIknNOPrSstV",
    values: "Fvfeil",
    patterns: &["f", "e", "file", "source"],
    long_switches: &["posix", "traditional", "re-interval", "csv", "sandbox", "lint"],
    long_values: &["field-separator", "assign", "file", "source", "include", "load"],
    ..NONE
};
const BAT: OptionTable = OptionTable {
    values: "lHrm",
    long_values: &[
        "language",
        "highlight-line",
        "line-range",
        "map-syntax",
        "file-name",
        "theme",
        "style",
        "tabs",
        "wrap",
        "terminal-width",
        "color",
        "paging",
        "pager",
        "decorations",
        "italic-text",
        "diff-context",
    ],
    ..NONE
};

/// The reading of one option.
struct ReadOption {
    /// How many of the next words are its values.
    values: usize,
    /// Whether the pattern or the script is in it.
    is_pattern: bool,
}

impl OptionTable {
    fn of(program: &str) -> OptionTable {
        match program {
            "grep" | "egrep" | "fgrep" => GREP,
            "rg" => RG,
            "jq" => JQ,
            "sed" => SED,
            "awk" => AWK,
            "bat" | "batcat" => BAT,
            "head" => OptionTable { values: "nc", long_values: &["lines", "bytes"], ..NONE },
            "tail" => {
                let long_values = &["lines", "bytes", "pid", "sleep-interval", "max-unchanged-stats"];
                OptionTable { values: "ncs", long_values, ..NONE }
            }
            "less" => OptionTable { values: "bhjkoOpPtTxyz", ..NONE },
            "more" => OptionTable { values: "n", ..NONE },
            "nl" => OptionTable { values: "bdfhilnsvw", ..NONE },
            "cp" => OptionTable { values: "S", long_values: &["suffix"], ..NONE },
            _ => NONE,
        }
    }

    /// Reads an option; `None` if it is not known what it does with the words behind it.
    fn read(&self, option: &str) -> Option<ReadOption> {
        if let Some(long) = option.strip_prefix("--") {
            let (name, is_whole) = long.split_once('=').map_or((long, false), |(name, _)| (name, true));
            let values = match name {
                _ if is_whole => 0,
                name if self.long_values.contains(&name) => 1,
                name if self.long_pairs.contains(&name) => 2,
                name if self.has_pattern && !self.long_switches.contains(&name) => return None,
                _ => 0,
            };
            return Some(ReadOption { values, is_pattern: self.patterns.contains(&name) });
        }
        let letters = &option[1..];
        for (at, c) in letters.char_indices() {
            let letter = &letters[at..at + c.len_utf8()];
            if self.values.contains(c) {
                // What follows in the same word is the value.
                let values = usize::from(letters.len() == at + letter.len());
                return Some(ReadOption { values, is_pattern: self.patterns.contains(&letter) });
            }
            // A number, as in `-3`, is no letter.
            if self.has_pattern && !self.switches.contains(c) && !c.is_ascii_digit() {
                return None;
            }
        }
        Some(ReadOption { values: 0, is_pattern: false })
    }
}

/// Returns the arguments of a program that may be files, without options, their values, a pattern and a script; none if it is
/// not known which they are.
pub(super) fn file_words<'c>(program: &str, arguments: &'c [String]) -> Vec<&'c str> {
    let table = OptionTable::of(program);
    let mut needs_pattern = table.has_pattern;
    let mut has_options = true;
    let mut words = Vec::new();
    let mut arguments = arguments.iter().map(String::as_str);
    while let Some(word) = arguments.next() {
        if !has_options || word == "-" || !word.starts_with('-') {
            if needs_pattern {
                needs_pattern = false;
            } else {
                words.push(word);
            }
        } else if word == "--" {
            has_options = false;
        } else {
            let Some(option) = table.read(word) else { return Vec::new() };
            needs_pattern &= !option.is_pattern;
            for _ in 0..option.values {
                arguments.next();
            }
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the files of a command whose words have no quotes.
    fn files(command: &str) -> String {
        let words: Vec<String> = command.split(' ').map(str::to_owned).collect();
        file_words(&words[0], &words[1..]).join(" ")
    }

    #[test]
    fn values_patterns_and_scripts_are_no_files() {
        for (command, expected) in [
            ("head -n 5 a b", "a b"),
            ("head -5 a", "a"),
            ("tail -fn5 a", "a"),
            ("cat 404 a", "404 a"),
            ("grep 404 a", "a"),
            ("grep -rnA 3 p a", "a"),
            ("grep -C3 p a", "a"),
            ("grep -ep a", "a"),
            ("grep --include *.md -r p a", "a"),
            ("grep --color=auto --file=p a", "a"),
            ("grep -- -p a", "a"),
            ("rg -g *.md -tpy p a b", "a b"),
            ("jq 0 a", "a"),
            ("jq -e .x a", "a"),
            ("jq --arg t v .x a", "a"),
            ("sed -ne p a", "a"),
            ("awk -F: 1 a", "a"),
            ("awk -f p -v x=1 a", "a"),
            ("bat -r 1:5 a", "a"),
        ] {
            assert_eq!(files(command), expected, "{command}");
        }
    }

    #[test]
    fn an_option_that_is_not_known_leaves_no_file() {
        for command in ["grep --unknown v p a", "rg -@ p a", "rg --files a", "jq --args .x a", "jq --inden 2 .x a"] {
            assert_eq!(files(command), "", "{command}");
        }
        assert_eq!(files("cat --unknown a"), "a");
    }
}
