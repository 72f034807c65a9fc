//! The plugin that opencode loads: a file that is ours as a whole.

use serde_json::Value;

use super::Launch;
use crate::Client;

/// The first line of the plugin, by which it is known as ours.
const FIRST_LINE: &str = "// Made by Skillcue; it is replaced and removed as a whole.";

/// Returns whether a text is a plugin of ours.
///
/// ```
/// assert!(!skillcue_clients::settings::is_own_plugin("export default {}"));
/// ```
pub fn is_own_plugin(text: &str) -> bool {
    text.starts_with(FIRST_LINE)
}

/// Returns the plugin. It sends each message to the hook, and adds the answer as a part behind the user's own.
pub(super) fn plugin(launch: &Launch) -> String {
    let command = Value::from(launch.hook_words(Client::Opencode));
    format!("{FIRST_LINE}\n{}", PLUGIN.replace("@COMMAND@", &command.to_string()))
}

/// The plugin, with a place for the command. It must never fail: an error in a plugin would stop the message. Parts of a
/// message are sorted by id, so the last id with an `s` behind it comes after the user's own.
const PLUGIN: &str = r#"import { spawn } from "node:child_process";

const WORDS = @COMMAND@;
const DEADLINE_MS = 2000;
const MAX_LISTS = 100;

function ask(input) {
  return new Promise((resolve) => {
    let child;
    try {
      const [program, ...args] = WORDS;
      child = spawn(program, args, { stdio: ["pipe", "pipe", "ignore"] });
    } catch {
      resolve("");
      return;
    }
    let answer = "";
    const timer = setTimeout(() => { child.kill("SIGKILL"); resolve(""); }, DEADLINE_MS);
    const done = (text) => { clearTimeout(timer); resolve(text); };
    child.on("error", () => done(""));
    child.on("close", () => done(answer));
    child.stdout.setEncoding("utf8");
    child.stdout.on("data", (chunk) => { answer += chunk; });
    child.stdin.on("error", () => {});
    child.stdin.end(JSON.stringify(input));
  });
}

function added(answer) {
  if (!answer.trim()) return "";
  const document = JSON.parse(answer);
  const text = document?.additionalContext ?? document?.hookSpecificOutput?.additionalContext;
  return typeof text === "string" ? text : "";
}

// A skill less is better than a message less.
const tried = (react) => async (input, output) => {
  try {
    await react(input, output);
  } catch {}
};

export const Skillcue = async ({ directory }) => {
  const asked = async (event, input, more) => added(await ask({
    hook_event_name: event,
    session_id: input.sessionID,
    cwd: directory ?? process.cwd(),
    ...more,
  }));
  // A list for the start of a session goes into each request of it, and is asked for once.
  const lists = new Map();
  return {
    "experimental.chat.system.transform": tried(async (input, output) => {
      if (!input.sessionID) return;
      if (!lists.has(input.sessionID)) {
        if (lists.size >= MAX_LISTS) lists.clear();
        lists.set(input.sessionID, asked("session.created", input, { source: "startup" }));
      }
      const text = await lists.get(input.sessionID);
      if (text !== "") output.system.push(text);
    }),
    "chat.message": tried(async (input, output) => {
      const own = output.parts.filter((part) => part.type === "text" && !part.synthetic);
      const last = output.parts[output.parts.length - 1];
      if (own.length === 0 || !last) return;
      const text = await asked("chat.message", input, { prompt: own.map((part) => part.text).join("\n") });
      if (text === "") return;
      output.parts.push({
        id: last.id + "s",
        sessionID: last.sessionID ?? input.sessionID,
        messageID: last.messageID ?? output.message?.id,
        type: "text",
        synthetic: true,
        text,
      });
    }),
    "tool.execute.after": tried(async (input, output) => {
      const text = await asked("tool.execute.after", input, { tool_name: input.tool, tool_input: input.args });
      if (text !== "" && typeof output.output === "string") output.output += "\n\n" + text;
    }),
    "experimental.session.compacting": tried(async (input) => {
      await asked("experimental.session.compacting", input, {});
    }),
  };
};
"#;
