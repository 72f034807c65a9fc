//! The definitions of the tools that are always there.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use skillcue::Skillcue;

#[test]
fn definitions_are_closed_objects() {
    let skills = Skillcue::builder().build().unwrap();
    let tools = skills.tools(&[]);
    let names: Vec<&str> = tools.iter().map(|tool| &*tool.name).collect();
    assert_eq!(names, ["load_skill", "search_skills", "read_skill_file"]);
    for tool in &tools {
        assert_eq!(tool.input_schema["type"], "object");
        assert_eq!(tool.input_schema["additionalProperties"], false);
        assert!(!tool.description.is_empty() && tool.read_only);
        let properties = tool.input_schema["properties"].as_object().unwrap();
        assert!(properties.values().all(|property| property["type"].is_string()));
        for required in tool.input_schema["required"].as_array().unwrap() {
            assert!(properties.contains_key(required.as_str().unwrap()));
        }
    }
}

#[test]
#[cfg(feature = "exact-tokens")]
fn definitions_cost_at_most_200_tokens() {
    let counter = skillcue::Counter::O200k.counter().unwrap();
    let cost = |tool: &skillcue::tools::ToolDefinition| {
        let texts = [&*tool.name, &*tool.description, &tool.input_schema.to_string()];
        texts.iter().map(|text| counter.count(text).0).sum::<usize>()
    };
    let tools = Skillcue::builder().build().unwrap().tools(&[]);
    let costs: Vec<(&str, usize)> = tools.iter().map(|tool| (&*tool.name, cost(tool))).collect();
    assert!(costs.iter().map(|(_, cost)| cost).sum::<usize>() <= 200, "{costs:?}");
}
