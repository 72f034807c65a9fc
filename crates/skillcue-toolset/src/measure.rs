//! Measures the promises about speed on this machine.

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::{Map, Value, json};
use skillcue_exec::Launcher;

use crate::{CallContext, SkillToolsets, ToolError, ToolsetOptions, Toolsets};

/// One measurement.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolsetMeasurement {
    /// The name of the task.
    pub name: &'static str,
    /// The median over all rounds.
    pub median: Duration,
    /// The fastest round.
    pub fastest: Duration,
    /// The time that the specification allows.
    pub limit: Duration,
    /// The number of rounds.
    pub rounds: usize,
}

const PLAIN: &str = "import { Tool } from '@agent/tools';
export const T = [Tool.define('t', { description: 'Says hello', parameters: { type: 'object',
  properties: { name: { type: 'string' } }, required: ['name'] },
  execute: async ({ name }: { name: string }) => ({ title: 'Hello', metadata: {}, output: `Hello ${name}` }) })];
";

const ZOD: &str = "import { z } from 'zod';
import { Tool } from '@agent/tools';
export const T = [Tool.define('t', { description: 'Says hello', parameters: z.object({ name: z.string() }),
  execute: async ({ name }) => ({ title: 'Hello', metadata: {}, output: `Hello ${name}` }) })];
";

/// Measures calls and loads, in skills it writes below `work_dir`. Those with zod are left out when `packages` has
/// none.
pub fn measure(
    launcher: &Launcher,
    packages: Option<&Path>,
    work_dir: &Path,
) -> Result<Vec<ToolsetMeasurement>, MeasureError> {
    let mut measured = Vec::new();
    let micros = Duration::from_micros;
    let job = skillcue_exec::Job::new(skillcue_exec::JobProgram::Engine, skillcue_exec::SandboxPolicy::nothing());
    let start = timed(21, || launcher.spawn(&job).map_err(|error| MeasureError::Tool(error.into())))?;
    measured.push(start.named("start the sandboxed engine, nothing else", micros(20_000)));
    let arguments: Map<String, Value> = [("name".to_owned(), json!("Ada"))].into_iter().collect();
    let kinds = [("plain", PLAIN, micros(300)), ("zod", ZOD, micros(3_000))];
    for (kind, text, limit) in kinds.into_iter().filter(|(kind, ..)| *kind == "plain" || packages.is_some()) {
        let dir = work_dir.join(kind);
        let cache = work_dir.join(format!("{kind}-cache"));
        std::fs::create_dir_all(&dir)?;
        std::fs::write(dir.join("index.ts"), text)?;
        // Stamps younger than a second are not trusted, here as anywhere.
        std::thread::sleep(Duration::from_millis(2_100));
        let mut options = ToolsetOptions::new(launcher.clone());
        options.packages = packages.map(Path::to_path_buf);
        let subject = SkillToolsets::new("bench", &dir, ["index:T"]);
        let context = CallContext::new("bench");
        let call = |toolsets: &Toolsets| toolsets.call(&subject, "t", &arguments, &context).map(drop);

        let load = timed(11, || {
            let toolsets = Toolsets::new(options.clone());
            let offered = toolsets.tools(&subject);
            if offered.tools.len() == 1 {
                Ok(toolsets)
            } else {
                Err(MeasureError::Broken(format!("{:?}", offered.diagnostics)))
            }
        })?;
        let name = if kind == "zod" { "load with zod, first time" } else { "load, first time" };
        measured.push(load.named(name, micros(100_000)));

        let toolsets = Toolsets::new(options.clone());
        call(&toolsets)?;
        let warm = timed(501, || call(&toolsets).map_err(MeasureError::from))?;
        measured
            .push(warm.named(if kind == "zod" { "warm call, zod schema" } else { "warm call, plain schema" }, limit));

        options.cache_dir = Some(cache.clone());
        let toolsets = Toolsets::new(options.clone());
        call(&toolsets)?;
        let until = Instant::now() + Duration::from_secs(10);
        while std::fs::read_dir(&cache).map_or(0, Iterator::count) == 0 && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
        }
        let cached = timed(21, || {
            let toolsets = Toolsets::new(options.clone());
            call(&toolsets)?;
            Ok(toolsets)
        })?;
        let name = if kind == "zod" { "start from bytecode and call, zod" } else { "start from bytecode and call" };
        measured.push(cached.named(name, micros(20_000)));
    }
    Ok(measured)
}

/// The reason that nothing could be measured.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MeasureError {
    /// A call failed.
    #[error(transparent)]
    Tool(#[from] ToolError),
    /// A file could not be written.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A toolset did not load.
    #[error("the toolset did not load: {0}")]
    Broken(String),
}

struct Rounds(Vec<Duration>);

impl Rounds {
    fn named(mut self, name: &'static str, limit: Duration) -> ToolsetMeasurement {
        self.0.sort_unstable();
        ToolsetMeasurement { name, median: self.0[self.0.len() / 2], fastest: self.0[0], limit, rounds: self.0.len() }
    }
}

/// Times the work. Its result is dropped outside of the measured time.
fn timed<T>(rounds: usize, mut work: impl FnMut() -> Result<T, MeasureError>) -> Result<Rounds, MeasureError> {
    let mut all = Vec::with_capacity(rounds);
    for _ in 0..rounds {
        let start = Instant::now();
        let result = work()?;
        all.push(start.elapsed());
        drop(result);
    }
    Ok(Rounds(all))
}
