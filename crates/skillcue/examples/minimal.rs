//! Discloses skills for one message: `cargo run --example minimal [DIR [MESSAGE]]`.

use std::error::Error;
use std::io::{self, Write};
use std::path::Path;

use skillcue::Skillcue;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let dir = arguments.next().unwrap_or_else(|| concat!(env!("CARGO_MANIFEST_DIR"), "/../../skills").to_owned());
    let message = arguments.next().unwrap_or_else(|| "Say bonjour to Alice".to_owned());
    run(Path::new(&dir), &message, &mut io::stdout().lock())
}

/// Prints what a model would be shown, and what became of each skill that matches.
pub(crate) fn run(dir: &Path, message: &str, out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let skills = Skillcue::builder().skills_dir(dir).build()?;
    let shown = skills.disclose(message);
    writeln!(out, "{}{}\n", shown.stable, shown.turn)?;
    for skill in &shown.skills {
        writeln!(out, "{}: {:?}, {} tokens", skill.name, skill.decision, skill.tokens.0)?;
    }
    let spent = shown.tokens.stable + shown.tokens.turn;
    writeln!(out, "{} tokens; all skills would be {}", spent.0, shown.tokens.eager.0)?;
    Ok(())
}
