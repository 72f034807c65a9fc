//! `search_skills`: ranked names with briefs and reasons.

use std::fmt::Write as _;

use serde_json::{Value, json};
use skillcue_base::counted;
use skillcue_base::markup::text;
use skillcue_base::{ErrorInfo as _, Shown, visible};
use skillcue_select::{Hit, Reason, ReasonKind};

use super::arguments::{ArgumentError, Arguments};
use super::{BuiltInTool, Call, ToolContext, ToolOutput};
use crate::{Request, Skillcue};

const DEFAULT_LIMIT: usize = 10;
const MAX_LIMIT: usize = 50;

/// The number of files that a search may name, and the length of each path in bytes.
const MAX_FILES: usize = 100;
const MAX_FILE_PATH: usize = 1024;

/// The number of reasons that are given for one skill, and of characters of the words of each.
const MAX_REASONS: usize = 3;
const MAX_WORDS: usize = 60;

pub(super) const TOOL: BuiltInTool = BuiltInTool {
    name: "search_skills",
    title: "Search skills",
    description: "Finds skills for a task when no listed one fits; load the best.",
    schema,
    handler,
};

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "query": {"type": "string"},
            "files": {"type": "array", "items": {"type": "string"}},
            "limit": {"type": "integer"}
        },
        "required": ["query"],
        "additionalProperties": false
    })
}

fn handler(skills: &Skillcue, call: &Call, context: &ToolContext<'_>) -> ToolOutput {
    let read = || -> Result<_, ArgumentError> {
        let arguments = Arguments::of(call, &["query", "files", "limit"])?;
        let files = arguments.few_texts("files", MAX_FILES, MAX_FILE_PATH)?;
        Ok((arguments.required("query")?, files, arguments.count("limit", MAX_LIMIT)?.unwrap_or(DEFAULT_LIMIT)))
    };
    let (query, files, limit) = match read() {
        Ok(read) => read,
        Err(refused) => {
            return ToolOutput::failed(format!(
                "<error code=\"invalid_argument\">\n  {}\n</error>",
                text(&refused.to_string())
            ));
        }
    };
    if !skills.is_indexed() {
        let count = skills.catalog().len();
        (context.progress)(0.0, None, &format!("indexing {}", counted(count, "skill")));
    }
    let request = Request::new(query).files(files).limit(limit);
    if let Err(error) = skills.check_request(&request) {
        let said = text(&skills.explain_error(&error)).into_owned();
        return ToolOutput::failed(format!("<error code=\"{}\">\n  {said}\n</error>", error.code()));
    }
    let found = skills.search(&request);
    let catalog = skills.catalog();
    let mut lines = String::new();
    let mut hits = Vec::with_capacity(found.hits.len());
    for hit in &found.hits {
        let brief = catalog.get(&hit.name).map(|skill| skill.make_manifest().brief().into_owned()).unwrap_or_default();
        let why: Vec<String> = hit.reasons.iter().take(MAX_REASONS).map(reason).collect();
        let why = if why.is_empty() { vec!["meaning".to_owned()] } else { why };
        // A name and a brief are the author's words: on one line, and not to be taken for ours.
        let _ =
            writeln!(lines, "- {} ({:.2}): {} [{}]", Shown(&hit.name), hit.confidence, Shown(&brief), why.join(", "));
        hits.push(structured(hit, &brief));
    }
    let shown = Shown(query);
    let said = match hits.len() {
        0 => {
            let all = skills.census().visible;
            format!(
                "No skill fits \"{shown}\". {all} {} available; try other words.\n",
                if all == 1 { "is" } else { "are" }
            )
        }
        1 => format!("1 skill fits \"{shown}\":\n{lines}"),
        n if n < found.matched => format!("The best {n} of {} skills for \"{shown}\":\n{lines}", found.matched),
        n => format!("{n} skills for \"{shown}\", best first:\n{lines}"),
    };
    let mut structured = json!({"hits": hits, "matched": found.matched});
    if let Some(judgement) = &found.judgement {
        structured["judgement"] = json!(judgement);
    }
    if let Some(model) = &found.model {
        structured["model"] = json!(model);
    }
    ToolOutput { text: said, structured: Some(structured), is_error: false, effect: None }
}

fn structured(hit: &Hit, brief: &str) -> Value {
    json!({
        "name": hit.name,
        "brief": Shown(brief).to_string(),
        "score": hit.score,
        "confidence": hit.confidence,
        "reasons": hit.reasons.iter().map(shown_reason).collect::<Vec<_>>(),
    })
}

/// Returns a reason with its trigger, which the skill's author wrote, made safe to show. A pattern is replaced by the
/// words that it matched: the model reads this, too.
fn shown_reason(reason: &Reason) -> Reason {
    let trigger = match reason.kind {
        ReasonKind::Pattern => reason.words(MAX_WORDS),
        _ => visible(&reason.trigger).into_owned(),
    };
    Reason { trigger, ..reason.clone() }
}

/// Returns `keyword "pdf"`, in the words of the query.
fn reason(reason: &Reason) -> String {
    let kind = serde_json::to_value(reason.kind).ok();
    let kind = kind.as_ref().and_then(Value::as_str).unwrap_or("match").replace('_', " ");
    format!("{kind} \"{}\"", Shown(&reason.words(MAX_WORDS)))
}
