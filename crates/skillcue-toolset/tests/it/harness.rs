//! A skill in a temporary directory, and calls of its tools.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use skillcue_base::ErrorInfo as _;
use skillcue_exec::Launcher;
use skillcue_format::Diagnostic;
use skillcue_toolset::{CallContext, OfferedTools, SkillToolsets, ToolCallResult, ToolError, ToolsetOptions, Toolsets};

pub(crate) struct Skill {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) toolsets: Toolsets,
    pub(crate) declared: Vec<String>,
}

pub(crate) fn launcher() -> Launcher {
    Launcher::new(env!("CARGO_BIN_EXE_skillcue-engine"))
}

pub(crate) fn options() -> ToolsetOptions {
    ToolsetOptions::new(launcher())
}

/// Options with limits small enough for a test, and large enough for a busy machine.
pub(crate) fn hasty() -> ToolsetOptions {
    let mut options = options();
    options.limits.call = Duration::from_millis(400);
    options.limits.load = Duration::from_millis(1_500);
    options
}

impl Skill {
    pub(crate) fn new(files: &[(&str, &str)], declared: &[&str]) -> Skill {
        Skill::with(options(), files, declared)
    }

    pub(crate) fn with(options: ToolsetOptions, files: &[(&str, &str)], declared: &[&str]) -> Skill {
        let dir = tempfile::tempdir().expect("a directory");
        for (path, text) in files {
            write(&dir.path().join("skill").join(path), text);
        }
        let declared = declared.iter().map(ToString::to_string).collect();
        Skill { dir, toolsets: Toolsets::new(options), declared }
    }

    /// A skill with one toolset `T` in `i.ts` of one tool `t`, whose `execute` has this body.
    pub(crate) fn body(options: ToolsetOptions, body: &str) -> Skill {
        let text = format!(
            "import {{ Tool }} from '@agent/tools';\nconst t = Tool.define('t', {{ description: 'd', async execute(args, ctx) {{\n{body}\n}} }});\n\
             const ok = Tool.define('ok', {{ description: 'd', execute: () => 'fine' }});\nexport const T = [t, ok];\n"
        );
        Skill::with(options, &[("i.ts", &text)], &["i:T"])
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.dir.path().join("skill")
    }

    pub(crate) fn tools(&self) -> Arc<OfferedTools> {
        let path = self.path();
        self.toolsets.tools(&SkillToolsets::new("s", &path, &self.declared))
    }

    pub(crate) fn findings(&self) -> Vec<Diagnostic> {
        self.tools().diagnostics.clone()
    }

    #[expect(clippy::needless_pass_by_value, reason = "written down where it is called")]
    pub(crate) fn call(&self, id: &str, arguments: Value) -> Result<ToolCallResult, ToolError> {
        self.call_as(id, &arguments, &CallContext::new("session"))
    }

    pub(crate) fn call_as(
        &self,
        id: &str,
        arguments: &Value,
        context: &CallContext<'_>,
    ) -> Result<ToolCallResult, ToolError> {
        let path = self.path();
        let arguments: Map<String, Value> = arguments.as_object().expect("an object").clone();
        self.toolsets.call(&SkillToolsets::new("s", &path, &self.declared), id, &arguments, context)
    }

    /// Returns the output of `t`.
    pub(crate) fn output(&self) -> String {
        match self.call("t", serde_json::json!({})) {
            Ok(result) => result.output,
            Err(error) => panic!("{}: {error}\n{:?}", error.code(), self.findings()),
        }
    }

    /// Returns the error of `t`.
    pub(crate) fn error(&self) -> ToolError {
        self.call("t", serde_json::json!({})).expect_err("it should fail")
    }

    /// Asserts that the other tool still works.
    pub(crate) fn assert_well(&self) {
        let result = self.call("ok", serde_json::json!({}));
        assert_eq!(result.map(|result| result.output).map_err(|error| error.to_string()), Ok("fine".to_owned()));
    }
}

pub(crate) fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
    std::fs::write(path, text).expect("a file");
}

/// The example of docs/reference/toolsets.md and of the specification, letter for letter.
pub(crate) const SEED_EXAMPLE: &str = r"import { z } from 'zod';
import { Tool } from '@agent/tools';

export const myTool = Tool.define('my-tool', {
  description: 'Does something useful',
  parameters: z.object({
    input: z.string(),
  }),
  execute: async (args, ctx) => ({
    title: 'Completed',
    metadata: {},
    output: `Processed: ${args.input}`,
  }),
});

export const MyToolset = [myTool];
";

/// As much of a package `zod` as the example needs, below the folder that `skillcue toolset setup` fills.
pub(crate) const FAKE_ZOD: [(&str, &str); 2] = [
    ("node_modules/zod/package.json", r#"{"name": "zod", "type": "module", "exports": {".": "./index.js"}}"#),
    (
        "node_modules/zod/index.js",
        "const schema = (json) => ({
           _zod: { def: { type: json.type } },
           toJSONSchema: () => json,
           safeParse: (data) => ({ success: true, data }),
           safeParseAsync: async (data) => ({ success: true, data }),
         });
         export const z = {
           string: () => schema({ type: 'string' }),
           object: (shape) => schema({
             type: 'object',
             properties: Object.fromEntries(Object.entries(shape).map(([key, of]) => [key, of.toJSONSchema()])),
           }),
         };",
    ),
];
