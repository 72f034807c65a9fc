//! Adds a tool of the host's own to those that models are given: `cargo run --example custom_tool`.

use std::error::Error;
use std::io::{self, Write};
use std::sync::Arc;

use serde_json::{Value, json};
use skillcue::Skillcue;
use skillcue::catalog::FileListing;
use skillcue::tools::{Call, ToolContext, ToolDefinition, ToolOutput, ToolProvider};

fn main() -> Result<(), Box<dyn Error>> {
    run(&mut io::stdout().lock())
}

/// Counts words. A real one would look something up, or ask a service.
#[derive(Debug)]
struct WordCount;

impl ToolProvider for WordCount {
    /// A tool that is always there. `loaded` is for tools that only some skills bring along.
    fn definitions(&self, _skills: &Skillcue, _loaded: &[String]) -> Vec<ToolDefinition> {
        vec![ToolDefinition {
            name: "count_words".into(),
            title: "Count words".into(),
            description: "Counts the words of a text.".into(),
            input_schema: json!({
                "type": "object",
                "properties": {"text": {"type": "string", "description": "The text."}},
                "required": ["text"],
                "additionalProperties": false
            }),
            read_only: true,
        }]
    }

    /// No skill changes which tools there are.
    fn brings_tools(&self, _skills: &Skillcue, _skill: &str, _files: &FileListing) -> bool {
        false
    }

    fn call(&self, _skills: &Skillcue, call: &Call, _context: &ToolContext<'_>) -> Option<ToolOutput> {
        if call.name() != "count_words" {
            return None;
        }
        let output = match call.arguments().get("text").and_then(Value::as_str) {
            Some(text) => ToolOutput::from_text(text.split_whitespace().count().to_string()),
            None => ToolOutput::failure("word_count", "invalid_argument", "`text` is missing, or no text."),
        };
        Some(output)
    }
}

/// Prints the tools, and what two calls return.
pub(crate) fn run(out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let skills = Skillcue::builder().tools(Arc::new(WordCount)).build()?;
    for tool in skills.tools(&[]) {
        writeln!(out, "{}: {}", tool.name, tool.title)?;
    }
    for arguments in [json!({"text": "one two three"}), json!({"words": 3})] {
        let arguments = arguments.as_object().cloned().unwrap_or_default();
        let output = skills.call_tool(&Call::new("count_words", arguments), &ToolContext::default());
        let output = output.ok_or("no such tool")?;
        writeln!(out, "{} {}", if output.is_error { "failed:" } else { "returned:" }, output.text)?;
    }
    Ok(())
}
