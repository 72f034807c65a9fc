//! The input of `--batch`: a conversation a line.

use std::collections::HashMap;
use std::io::Read as _;

use serde::Deserialize;
use skillcue_agent::Task;
use skillcue_base::os_message;

use crate::error::CliError;

/// Largest file of conversations, in bytes.
const MAX_BATCH: u64 = 256 << 20;

/// A line of the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TaskLine {
    id: Option<Id>,
    message: Option<String>,
    messages: Option<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "an id that is a string or a whole number")]
enum Id {
    Text(String),
    Number(u64),
}

/// Reads conversations from a file, or from stdin if it is `-`. All lines are checked before any conversation begins.
pub(crate) fn read(file: &str) -> Result<Vec<Task>, CliError> {
    let failed = |error: std::io::Error| {
        CliError::usage("usage", format!("cannot read {file}: {}", os_message(&error)))
            .help("name a file of JSON lines, or - for stdin")
    };
    let mut bytes = Vec::new();
    if file == "-" {
        std::io::stdin().lock().take(MAX_BATCH + 1).read_to_end(&mut bytes).map_err(failed)?;
    } else {
        std::fs::File::open(file).and_then(|open| open.take(MAX_BATCH + 1).read_to_end(&mut bytes)).map_err(failed)?;
    }
    if bytes.len() as u64 > MAX_BATCH {
        return Err(CliError::usage("usage", format!("{file} is larger than 256 MiB")).help("split it"));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let line = error.as_bytes()[..at].split(|byte| *byte == b'\n').count();
        CliError::usage("batch", format!("{file}:{line}: it is not UTF-8")).help("convert it first")
    })?;
    parse(&text, file)
}

/// Parses the conversations in a text. `file` is its name in errors.
pub(crate) fn parse(text: &str, file: &str) -> Result<Vec<Task>, CliError> {
    let mut tasks: Vec<Task> = Vec::new();
    let mut lines: HashMap<String, usize> = HashMap::new();
    let mut wrong: Vec<String> = Vec::new();
    // Editors of some systems begin files with a mark.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    for (number, line) in (1..).zip(text.lines()) {
        if line.trim().is_empty() {
            continue;
        }
        match task(line, number) {
            Ok(task) => match lines.insert(task.id.clone(), number) {
                Some(before) => {
                    wrong.push(format!("{file}:{number}:1: the id {:?} is that of line {before}, too", task.id));
                }
                None => tasks.push(task),
            },
            Err((column, why)) => wrong.push(format!("{file}:{number}:{column}: {why}")),
        }
    }
    match wrong.split_first() {
        None if tasks.is_empty() => Err(CliError::usage("batch", format!("{file} has no conversations")).help(FORM)),
        None => Ok(tasks),
        Some((first, [])) => Err(CliError::usage("batch", first.clone()).help(FORM)),
        Some((first, more)) => {
            let more = crate::text::count(more.len(), "more line");
            Err(CliError::usage("batch", format!("{first} (and {more})")).help(FORM))
        }
    }
}

const FORM: &str =
    r#"write a line for each conversation: {"id": "a", "message": "…"} or {"id": "b", "messages": ["…", "…"]}"#;

/// Parses one conversation, or returns the column and the error there.
fn task(line: &str, number: usize) -> Result<Task, (usize, String)> {
    // A list would do for the parser, too.
    if line.trim_start().starts_with('[') {
        return Err((1, "it is no object".to_owned()));
    }
    let parsed: TaskLine = serde_json::from_str(line).map_err(|error| {
        // The line is named beside it.
        let why = error.to_string();
        let why = why.rsplit_once(" at line ").map_or(why.as_str(), |(why, _)| why);
        (error.column().max(1), why.to_owned())
    })?;
    let messages = match (parsed.message, parsed.messages) {
        (Some(message), None) => vec![message],
        (None, Some(messages)) => messages,
        (Some(_), Some(_)) => return Err((1, "it has both `message` and `messages`".to_owned())),
        (None, None) => return Err((1, "it has neither `message` nor `messages`".to_owned())),
    };
    if messages.is_empty() || messages.iter().any(|message| message.trim().is_empty()) {
        return Err((1, "a message is empty".to_owned()));
    }
    let id = match parsed.id {
        Some(Id::Text(id)) if id.is_empty() => return Err((1, "its id is empty".to_owned())),
        Some(Id::Text(id)) => id,
        Some(Id::Number(id)) => id.to_string(),
        None => number.to_string(),
    };
    Ok(Task { id, messages })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(text: &str) -> String {
        parse(text, "f").unwrap_err().message().to_owned()
    }

    #[test]
    fn a_line_is_a_conversation() {
        let text = "{\"message\": \"one\"}\n\n{\"id\": \"b\", \"messages\": [\"two\", \"three\"]}\n{\"id\": 7, \"message\": \"x\"}";
        let tasks = parse(text, "f").unwrap();
        let said: Vec<_> = tasks.iter().map(|task| (task.id.as_str(), task.messages.len())).collect();
        assert_eq!(said, [("1", 1), ("b", 2), ("7", 1)], "without an id, the line is one");
    }

    #[test]
    fn every_line_is_looked_at_first() {
        let good = "{\"message\": \"a\"}\n";
        assert_eq!(
            wrong(&format!("{good}{{\"mesage\": 1}}")),
            "f:2:9: unknown field `mesage`, expected one of `id`, `message`, `messages`"
        );
        assert_eq!(wrong(&format!("{good}{{\"message\": \"a\"")), "f:2:15: EOF while parsing an object");
        assert_eq!(wrong("[]\n{}\n5"), "f:1:1: it is no object (and 2 more lines)");
        assert_eq!(wrong("{}"), "f:1:1: it has neither `message` nor `messages`");
        assert_eq!(wrong("{\"message\": \"\"}"), "f:1:1: a message is empty");
        assert_eq!(wrong("{\"messages\": []}"), "f:1:1: a message is empty");
        assert_eq!(wrong("{\"id\": true, \"message\": \"a\"}"), "f:1:11: an id that is a string or a whole number");
        assert_eq!(wrong(" \n"), "f has no conversations");
    }

    #[test]
    fn no_two_have_one_id() {
        let same = "{\"id\": \"2\", \"message\": \"a\"}\n{\"message\": \"b\"}\n";
        assert_eq!(wrong(same), "f:2:1: the id \"2\" is that of line 1, too");
    }

    #[test]
    fn a_mark_at_the_beginning_is_none_of_it_and_a_list_is_no_conversation() {
        assert_eq!(parse("\u{feff}{\"message\": \"Hi\"}\r\n", "f").unwrap()[0].messages, ["Hi"]);
        assert!(parse("[\"a\", \"b\", null]\n", "f").is_err());
    }
}
