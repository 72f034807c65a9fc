//! `call_skill_tool`: every tool and script of every loaded skill behind one name, for connections without a session.
//!
//! There the list of tools must not depend on earlier calls (SEP-2567), so a skill's own tools cannot join it. A model that
//! has loaded a skill calls them through this one, with the handle that the load gave it.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};
use skillcue::Skillcue;
use skillcue::tools::{
    ArgumentError, Arguments, Call, ToolContext, ToolDefinition, ToolOutput, attribute, error_for_model, for_model,
};
use skillcue_base::Shown;

use super::carried::{CarriedState, Loading};

/// The name of the tool.
pub(super) const NAME: &str = "call_skill_tool";

/// The tool that runs scripts: its arguments name the skill, too.
const SCRIPT_TOOL: &str = "run_skill_script";

/// The size of the list of a skill's tools, in bytes.
const MAX_LIST: usize = 32 << 10;

pub(super) fn definition() -> ToolDefinition {
    ToolDefinition {
        name: NAME.into(),
        title: "Call a tool of a skill".into(),
        description:
            "Calls a tool or script of a loaded skill; without `tool`, lists them. `handle` is from load_skill's \
                      answer."
                .into(),
        input_schema: json!({
            "type": "object",
            "properties": {
                "skill_id": {"type": "string"},
                "tool": {"type": "string"},
                "arguments": {"type": "object"},
                "handle": {"type": "string"}
            },
            "required": ["skill_id"],
            "additionalProperties": false
        }),
        read_only: false,
    }
}

/// Returns the lines after a loaded skill that say how its tools are called.
pub(super) fn advice(skill: &str, handle: &str) -> String {
    let arguments = json!({"skill_id": skill, "handle": handle});
    format!(
        "\nThis skill has tools or scripts. {NAME} with {arguments} lists them; with `tool` and `arguments`, too, it runs \
         one."
    )
}

/// Returns the handle of a call, if it is among the arguments.
pub(super) fn handle_of(call: &Call) -> Option<&str> {
    call.arguments().get("handle").and_then(Value::as_str).filter(|_| call.name() == NAME)
}

/// The arguments of one call.
struct SkillToolCall<'a> {
    id: &'a str,
    tool: Option<&'a str>,
    arguments: Map<String, Value>,
}

fn parse(call: &Call) -> Result<SkillToolCall<'_>, ArgumentError> {
    let given = Arguments::of(call, &["skill_id", "tool", "arguments", "handle"])?;
    let arguments = match given.value("arguments") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(arguments)) => arguments.clone(),
        Some(_) => return Err(ArgumentError::new("The argument `arguments` must be an object.")),
    };
    given.text("handle")?;
    Ok(SkillToolCall { id: given.skill_id()?, tool: given.text("tool")?, arguments })
}

/// Lists the tools of a skill that the handle says was loaded, or calls one of them. The tool itself is called as in a
/// session that has loaded this one skill: it checks and asks for consent as it does there.
pub(super) fn call(
    skills: &Skillcue,
    carried: &CarriedState<'_>,
    call: &Call,
    context: &ToolContext<'_>,
) -> ToolOutput {
    let shown = Shown(call.skill_id().unwrap_or_default()).to_string();
    let fail = |code: &str, message: &str| {
        ToolOutput::failure(&format!("skill_tool id=\"{}\"", attribute(&shown)), code, message)
    };
    let wanted = match parse(call) {
        Ok(wanted) => wanted,
        Err(refused) => return fail("invalid_argument", &refused.to_string()),
    };
    let catalog = skills.catalog();
    if let Err(error) = for_model(&catalog, wanted.id) {
        let (code, message) = error_for_model(skills, &error, wanted.id);
        return fail(code, &message);
    }
    let reason = match (carried.has_loaded(wanted.id), carried.problem()) {
        (Loading::Current, _) => None,
        (Loading::Changed, _) => Some("The skill has changed since it was loaded.".to_owned()),
        (Loading::Never, Some(problem)) => Some(format!("The handle was ignored: {problem}.")),
        (Loading::Never, None) => Some("The handle is missing, or does not have this skill.".to_owned()),
    };
    if let Some(reason) = reason {
        let advice = format!("{reason} Call load_skill with the id \"{shown}\", and use the handle in its answer.");
        return fail("not_loaded", &advice);
    }
    let loaded = [wanted.id.to_owned()];
    let own_tools = || {
        let tools = skills.tools(&loaded).into_iter();
        tools.filter(|tool| !skillcue::tools::built_in_names().any(|own| own == tool.name)).collect::<Vec<_>>()
    };
    let Some(tool) = wanted.tool else { return listed(wanted.id, &own_tools()) };
    if tool == NAME || skillcue::tools::built_in_names().any(|own| own == tool) {
        return fail("invalid_argument", &format!("{tool} is not a tool of a skill. Call it by itself."));
    }
    let mut arguments = wanted.arguments;
    if tool == SCRIPT_TOOL {
        arguments.insert("skill_id".to_owned(), wanted.id.into());
    }
    let inner = Call::new(tool, arguments);
    let called = skills.call_tool(&inner, &ToolContext { loaded: &loaded, is_lasting: true, ..*context });
    called.unwrap_or_else(|| {
        let names: Vec<String> = own_tools().into_iter().map(|tool| tool.name.into_owned()).collect();
        let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        fail("not_found", &format!("The skill has no tool \"{}\". Its tools are: {names}.", Shown(tool)))
    })
}

fn listed(id: &str, tools: &[ToolDefinition]) -> ToolOutput {
    let mut text = format!("<skill_tools id=\"{}\">\n", attribute(&Shown(id).to_string()));
    let mut left_out = 0;
    for tool in tools {
        if text.len() > MAX_LIST {
            left_out += 1;
            continue;
        }
        let description = Shown(&tool.description).to_string();
        let line = format!("- {}: {description}\n  arguments: {}\n", tool.name, tool.input_schema);
        text.push_str(&skillcue::tools::neutralise(&line, &["skill_tools"]));
    }
    if left_out > 0 {
        let _ = writeln!(text, "({left_out} more; their names are in the structured result)");
    }
    text.push_str("</skill_tools>");
    let rows: Vec<Value> =
        tools.iter().map(|tool| json!({"name": tool.name, "input_schema": tool.input_schema})).collect();
    ToolOutput { structured: Some(json!({"skill_id": id, "tools": rows})), ..ToolOutput::from_text(text) }
}
