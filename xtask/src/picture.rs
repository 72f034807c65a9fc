//! `cargo xtask picture`: the README's picture of a terminal, an SVG made from what the program really prints.
//!
//! The test step `picture` makes it again and compares; only times may differ.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::process::{ChoreFailure, ScratchDir, build_skillcue, line, root, skillcue};
use crate::test::StepOutcome;

/// The commands of the picture, in order.
const COMMANDS: [&[&str]; 3] =
    [&["context", "What is 2+2?"], &["why", "Say bonjour to Alice"], &["read", "hello-extended", "../../etc/passwd"]];

/// Sizes in pixels: a character, a line, the edge around the text, and the bar above it.
const CHARACTER: f64 = 8.4;
const LINE: usize = 20;
const EDGE: usize = 18;
const BAR: usize = 30;
/// The widest line, in characters. Longer ones are cut with an ellipsis.
const MAX_COLUMNS: usize = 106;

/// Foreground colours by their number in escape sequences, 30 to 37; 90 to 97 are the same but brighter, and not told apart.
const COLOURS: [&str; 8] = ["#6e7681", "#ff7b72", "#7ee787", "#e3b341", "#79c0ff", "#d2a8ff", "#76e3ea", "#c9d1d9"];
const FOREGROUND: &str = "#c9d1d9";
const DIMMED: &str = "#8b949e";

/// Writes the picture.
pub(crate) fn main() -> Result<(), ChoreFailure> {
    let path = file();
    fs::write(&path, draw()?).map_err(|error| ChoreFailure::io("write", &path, &error))?;
    println!("{}", path.display());
    Ok(())
}

/// Checks that the picture shows what the program prints now.
pub(crate) fn step() -> Result<StepOutcome, ChoreFailure> {
    let path = file();
    let kept = fs::read_to_string(&path).map_err(|error| ChoreFailure::io("read", &path, &error))?;
    if without_times(&kept) == without_times(&draw()?) {
        return Ok(StepOutcome::Passed);
    }
    Err(ChoreFailure::new(format!(
        "{} is not what the program prints; `cargo xtask picture` makes it anew",
        path.display()
    )))
}

fn file() -> PathBuf {
    root().join("docs/terminal.svg")
}

/// Runs the commands with nothing but the bundled skills, and draws their output.
fn draw() -> Result<String, ChoreFailure> {
    build_skillcue()?;
    let scratch = ScratchDir::new("picture")?;
    let mut lines = Vec::new();
    for arguments in COMMANDS {
        if !lines.is_empty() {
            lines.push(Vec::new());
        }
        let typed: Vec<String> = arguments.iter().map(|word| quoted(word)).collect();
        lines.push(vec![
            Run { text: "$ ".to_owned(), colour: DIMMED, is_bold: false },
            Run { text: format!("skillcue {}", typed.join(" ")), colour: FOREGROUND, is_bold: true },
        ]);
        let mut command = Command::new(skillcue());
        command.args(["--color", "always"]).args(arguments);
        command.current_dir(scratch.path()).env_clear().env("HOME", scratch.path()).env("COLUMNS", "106");
        let said = command.output().map_err(|error| ChoreFailure::new(format!("`{}`: {error}", line(&command))))?;
        for stream in [said.stdout, said.stderr] {
            let text = String::from_utf8_lossy(&stream).replace(&*scratch.path().to_string_lossy(), "~");
            lines.extend(text.lines().map(runs));
        }
    }
    Ok(svg(&lines))
}

fn quoted(word: &str) -> String {
    if word.contains([' ', '?']) { format!("\"{word}\"") } else { word.to_owned() }
}

/// A piece of a line in one style.
#[derive(Debug, PartialEq, Eq)]
struct Run {
    text: String,
    colour: &'static str,
    is_bold: bool,
}

/// Reads a line with the escape sequences of a terminal.
fn runs(line: &str) -> Vec<Run> {
    let (mut runs, mut colour, mut is_bold, mut columns) = (Vec::new(), FOREGROUND, false, 0);
    let mut push = |text: &str, colour, is_bold| {
        let left = MAX_COLUMNS.saturating_sub(columns);
        let mut kept: String = text.chars().take(left).collect();
        columns += text.chars().count();
        if columns > MAX_COLUMNS && !kept.is_empty() {
            kept.pop();
            kept.push('…');
        }
        if !kept.is_empty() {
            runs.push(Run { text: kept, colour, is_bold });
        }
    };
    let mut parts = line.split("\x1b[");
    push(parts.next().unwrap_or_default(), colour, is_bold);
    for part in parts {
        let (codes, text) = part.split_once('m').unwrap_or(("", part));
        for code in codes.split(';') {
            match code.parse::<usize>().unwrap_or(0) {
                0 => (colour, is_bold) = (FOREGROUND, false),
                1 => is_bold = true,
                2 => colour = DIMMED,
                22 => is_bold = false,
                code @ 30..=37 => colour = COLOURS[code - 30],
                code @ 90..=97 => colour = COLOURS[code - 90],
                39 => colour = FOREGROUND,
                _ => {}
            }
        }
        push(text, colour, is_bold);
    }
    runs
}

fn svg(lines: &[Vec<Run>]) -> String {
    let width = pixels(MAX_COLUMNS) + 2 * EDGE;
    let height = BAR + lines.len() * LINE + EDGE;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         role=\"img\" aria-label=\"A terminal with three commands of Skillcue and their output\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#0d1117\"/>\n"
    );
    for (nth, colour) in ["#ff5f56", "#ffbd2e", "#27c93f"].iter().enumerate() {
        let _ = writeln!(out, "<circle cx=\"{}\" cy=\"16\" r=\"5\" fill=\"{colour}\"/>", EDGE + nth * 18);
    }
    out.push_str("<g font-family=\"ui-monospace,SFMono-Regular,Menlo,Consolas,monospace\" font-size=\"14\">\n");
    for (row, line) in lines.iter().enumerate() {
        let mut column = 0;
        for run in line {
            let count = run.text.chars().count();
            if !run.text.trim().is_empty() {
                // Each run is put at its column and given its width: fonts differ, columns must not.
                let (x, y) = (EDGE + pixels(column), BAR + (row + 1) * LINE - 5);
                let bold = if run.is_bold { " font-weight=\"bold\"" } else { "" };
                let _ = writeln!(
                    out,
                    "<text x=\"{x}\" y=\"{y}\" fill=\"{}\"{bold} textLength=\"{}\" xml:space=\"preserve\">{}</text>",
                    run.colour,
                    pixels(count),
                    escaped(&run.text)
                );
            }
            column += count;
        }
    }
    out.push_str("</g>\n</svg>\n");
    out
}

#[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most 106")]
fn pixels(columns: usize) -> usize {
    (columns as f64 * CHARACTER).round() as usize
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Replaces times, which differ from run to run, and the widths that follow from them.
fn without_times(svg: &str) -> String {
    let mut out = String::new();
    for line in svg.lines() {
        let has_time = [" µs<", " ms<", " s<"].iter().any(|unit| line.contains(unit));
        match line.find(" y=\"") {
            Some(at) if has_time => out.push_str(&line[at..at + 9]),
            _ => out.push_str(line),
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_become_runs() {
        let run = |text: &str, colour, is_bold| Run { text: text.to_owned(), colour, is_bold };
        let line = "a \x1b[1m\x1b[32mb\x1b[0m c\x1b[2;36md\x1b[39me";
        let expected = [
            run("a ", FOREGROUND, false),
            run("b", COLOURS[2], true),
            run(" c", FOREGROUND, false),
            run("d", COLOURS[6], false),
            run("e", FOREGROUND, false),
        ];
        assert_eq!(runs(line), expected);
        let long = runs(&"x".repeat(200));
        assert_eq!((long[0].text.chars().count(), long[0].text.ends_with('…')), (MAX_COLUMNS, true));
    }

    #[test]
    fn output_of_the_program_is_escaped() {
        let drawn = svg(&[vec![Run { text: "<b> & 1 > 0".to_owned(), colour: FOREGROUND, is_bold: false }]]);
        assert!(drawn.contains(">&lt;b&gt; &amp; 1 &gt; 0</text>"), "{drawn}");
    }

    #[test]
    fn only_times_may_differ() {
        let line = |time: &str| svg(&[runs(&format!("tier 1 · \x1b[2m{time}"))]);
        assert_eq!(without_times(&line("781 µs")), without_times(&line("1.2 ms")));
        assert_ne!(without_times(&line("6 tokens")), without_times(&line("7 tokens")));
    }
}
