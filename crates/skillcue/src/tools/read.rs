//! `read_skill_file`: level 3, a range of lines and a clear end.

use std::fmt::Write as _;

use serde_json::{Value, json};
use skillcue_base::counted;
use skillcue_base::markup::attribute;
use skillcue_base::{ErrorInfo as _, Shown};
use skillcue_load::neutralise;

use super::arguments::{ArgumentError, Arguments};
use super::{BuiltInTool, Call, ToolContext, ToolOutput, error_for_model, for_model};
use crate::catalog::FileError;
use crate::{Error, Skill, Skillcue};

const DEFAULT_LINES: usize = 1_000;
const MAX_LINES: usize = 10_000;

/// The number of bytes of one answer.
const MAX_BYTES: usize = 256 * 1024;

/// The number of files of a directory that an answer names.
const MAX_FILES: usize = 200;

pub(super) const TOOL: BuiltInTool = BuiltInTool {
    name: "read_skill_file",
    title: "Read a file of a skill",
    description: "Reads lines of a skill's file.",
    schema,
    handler,
};

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "skill_id": {"type": "string"},
            "path": {"type": "string"},
            "offset": {"type": "integer"},
            "limit": {"type": "integer"}
        },
        "required": ["skill_id", "path"],
        "additionalProperties": false
    })
}

struct FileRange<'a> {
    id: &'a str,
    path: &'a str,
    offset: usize,
    limit: usize,
}

fn handler(skills: &Skillcue, call: &Call, _: &ToolContext<'_>) -> ToolOutput {
    let path = call.arguments().get("path").and_then(Value::as_str).unwrap_or_default();
    let opening = opening(call.skill_id().unwrap_or_default(), path);
    let fail = |code: &str, message: &str| ToolOutput::failure(&opening, code, message);
    let read = || -> Result<_, ArgumentError> {
        let arguments = Arguments::of(call, &["skill_id", "path", "offset", "limit"])?;
        Ok(FileRange {
            id: arguments.skill_id()?,
            path: arguments.required("path")?,
            offset: arguments.count("offset", usize::MAX)?.unwrap_or(1),
            limit: arguments.count("limit", MAX_LINES)?.unwrap_or(DEFAULT_LINES),
        })
    };
    let range = match read() {
        Ok(range) => range,
        Err(refused) => return fail("invalid_argument", &refused.to_string()),
    };
    let catalog = skills.catalog();
    let skill = match for_model(&catalog, range.id) {
        Ok(skill) => skill,
        Err(error) => {
            let (code, message) = error_for_model(skills, &error, range.id);
            return fail(code, &message);
        }
    };
    let bytes = match skills.read_file(skill, range.path) {
        Ok(bytes) => bytes,
        Err(Error::File(FileError::NotAFile { .. })) => match directory(skills, skill, range.path) {
            Some(files) => return fail("not_a_file", &files),
            None => return fail("not_a_file", "It is a directory."),
        },
        Err(error) => return fail(error.code(), &skills.explain_error(&error)),
    };
    let size = bytes.len();
    match String::from_utf8(bytes) {
        Ok(content) => part(&range, &opening, &content),
        Err(_) => fail("not_text", &format!("The file is not text. It has {}.", counted(size, "byte"))),
    }
}

fn opening(id: &str, path: &str) -> String {
    let (id, path) = (Shown(id).to_string(), Shown(path).to_string());
    format!("skill_file id=\"{}\" path=\"{}\"", attribute(&id), attribute(&path))
}

/// Returns the lines that were asked for, as far as they fit.
fn part(range: &FileRange<'_>, opening: &str, content: &str) -> ToolOutput {
    let total = content.lines().count();
    let (first, mut last, mut bytes) = (range.offset, range.offset - 1, 0);
    let mut shown = String::new();
    let mut cut = None;
    for line in content.split_inclusive('\n').skip(first - 1).take(range.limit) {
        if bytes + line.len() > MAX_BYTES {
            // A line that is too long for any answer is cut; else it starts the next one.
            if shown.is_empty() {
                shown.push_str(&line[..line.floor_char_boundary(MAX_BYTES)]);
                (last, cut) = (last + 1, Some(line.len()));
            }
            break;
        }
        shown.push_str(line);
        bytes += line.len();
        last += 1;
    }
    if !shown.is_empty() && !shown.ends_with('\n') {
        shown.push('\n');
    }
    let end = last >= total;
    let cut = match cut {
        Some(size) => format!("[Line {last} is cut: {MAX_BYTES} of its {size} bytes are shown.]\n"),
        None => String::new(),
    };
    let note = match total {
        0 => "[End of file: it is empty.]".to_owned(),
        _ if first > total => {
            format!("[End of file: it has {}; line {first} is past its end.]", counted(total, "line"))
        }
        _ if end => format!("[End of file: line {last} of {total}.]"),
        _ => format!("[Lines {first}-{last} of {total}. Go on with offset {}.]", last + 1),
    };
    let shown = neutralise(&shown, &["skill_file"]);
    ToolOutput {
        text: format!("<{opening}>\n{shown}</skill_file>\n{cut}{note}"),
        structured: Some(json!({
            "skill_id": range.id,
            "path": range.path,
            "first_line": first,
            "last_line": last,
            "total_lines": total,
            "end": end,
        })),
        is_error: false,
        effect: None,
    }
}

/// Returns a directory's files, for a call that asked for it as a file.
fn directory(skills: &Skillcue, skill: &Skill, path: &str) -> Option<String> {
    let listing = skills.list_files(skill).ok()?;
    let dir = path.trim_start_matches("./").trim_end_matches('/');
    let below =
        |file: &&str| matches!(dir, "" | ".") || file.strip_prefix(dir).is_some_and(|rest| rest.starts_with('/'));
    let files: Vec<&str> = listing.files.iter().map(|file| file.path.as_str()).filter(below).collect();
    let mut said = "It is a directory. Its files:\n".to_owned();
    for file in files.iter().take(MAX_FILES) {
        let _ = writeln!(said, "{}", Shown(file));
    }
    if let Some(more) = files.len().checked_sub(MAX_FILES).filter(|more| *more > 0) {
        let _ = writeln!(said, "and {more} more");
    }
    Some(said)
}
