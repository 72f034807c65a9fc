//! Toolsets as authors mean them.

use std::sync::Mutex;

use serde_json::json;
use skillfold_toolset::{CallContext, Level, Toolsets};

use crate::harness::{Skill, options, write};

const GREET: &str = r"
import { Tool } from '@agent/tools';
import type { Nothing } from './nowhere';

interface Args { name: string; times?: number }

export const greet = Tool.define('greet', {
  description: 'Greets somebody',
  parameters: {
    type: 'object',
    properties: { name: { type: 'string', minLength: 1 }, times: { type: 'integer', maximum: 3 } },
    required: ['name'],
    additionalProperties: false,
  },
  execute: async ({ name, times = 1 }: Args, ctx) => {
    ctx.log('warn', 'greeting', name);
    await new Promise<void>((resolve) => setTimeout(resolve, 1));
    return { title: `for ${ctx.skillName} in ${ctx.sessionId}`, metadata: { times }, output: `Hello ${name}! `.repeat(times).trim() };
  },
});

export const Greetings = [greet] as const;
export default Greetings;
";

#[test]
fn a_tool_is_listed_and_called() {
    let skill = Skill::new(&[("toolsets/index.ts", GREET)], &["toolsets/index:Greetings"]);
    let offered = skill.tools();
    assert_eq!(offered.diagnostics, []);
    assert_eq!(offered.tools.len(), 1);
    let tool = &offered.tools[0];
    assert_eq!((tool.id.as_str(), tool.file.as_str(), tool.line), ("greet", "toolsets/index.ts", Some(7)));
    assert_eq!(tool.schema["required"], json!(["name"]));

    let logged = Mutex::new(Vec::new());
    let log = |level: Level, text: &str| logged.lock().unwrap().push((level, text.to_owned()));
    let context = CallContext { log: &log, ..CallContext::new("s1") };
    let result = skill.call_as("greet", json!({"name": "Ada", "times": 2}), &context).unwrap();
    assert_eq!((result.title.as_str(), result.output.as_str()), ("for s in s1", "Hello Ada! Hello Ada!"));
    assert_eq!(result.metadata, json!({"times": 2}));
    assert!(result.sandbox.sandboxed, "{:?}", result.sandbox);
    assert_eq!(*logged.lock().unwrap(), [(Level::Warn, "greeting Ada".to_owned())]);

    let error = skill.call("greet", json!({"times": 4})).unwrap_err();
    assert_eq!(error.code(), "invalid_arguments");
    assert_eq!(error.to_string(), "the arguments of `greet` are wrong: `name` is missing; `times` must be at most 3");
    let error = skill.call("gret", json!({})).unwrap_err();
    assert_eq!(error.to_string(), "there is no tool `gret`; there is greet");
    assert_eq!(skill.toolsets.running(), 1);
}
