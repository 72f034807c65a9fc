//! `skillcue connect --status`: how each client is connected.

use std::fmt::Write as _;

use skillcue_clients::settings::Connector;

use crate::Outcome;
use crate::clients::{ClientState, PartState, folders, launch, states};
use crate::context::Context;
use crate::error::CliError;
use crate::report::Printout;
use crate::terminal::{paint, style};
use crate::text;

pub(super) fn run(context: &Context, project: bool) -> Result<Outcome, CliError> {
    let connector = Connector::new(folders(context, project)?, launch(context, None));
    let states = states(&connector, &context.environment()?.path);
    context.report(Outcome::Done, &states, || {
        let next = states.iter().find(|state| state.found && !state.hook.is_there() && !state.mcp.is_there());
        let next = next.map(|state| {
            format!(
                "{} connects {}",
                paint(style::COMMAND, format!("skillcue connect {}", state.client.as_str())),
                state.name
            )
        });
        Printout::from(table(&states, context)).remarks(next)
    })
}

fn table(states: &[ClientState], context: &Context) -> String {
    let mut out = String::new();
    let wide = states.iter().map(|state| text::width(state.name)).max().unwrap_or(0);
    let _ = writeln!(out, "{}", paint(style::DIM, format!("{:wide$}  here  hook      mcp", "client")));
    for state in states {
        let part = |part: PartState, columns: usize| {
            let word = format!("{:columns$}", part.word());
            match part {
                PartState::On => paint(style::GOOD, word),
                PartState::Outdated => paint(style::WARNING, word),
                PartState::Off | PartState::Unsupported => word,
            }
        };
        let here = if state.found { "yes " } else { "no  " };
        let name = paint(style::NAME, format!("{:wide$}", state.name));
        let line = format!("{name}  {here}  {}  {}", part(state.hook, 8), part(state.mcp, 0));
        let _ = writeln!(out, "{line}");
        if let Some(problem) = &state.problem {
            let _ = writeln!(out, "  {}", paint(style::WARNING, text::one_line(problem)));
        } else if state.hook.is_there() || state.mcp.is_there() {
            let files: Vec<String> =
                state.files.iter().filter(|file| file.exists()).map(|file| context.short_path(file)).collect();
            let _ = writeln!(out, "  {}", paint(style::DIM, files.join(", ")));
        }
    }
    out
}
