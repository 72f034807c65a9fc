//! What starting in a sandbox costs: `cargo run --release -p skillfold-exec --example start`.

use std::io::Write;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    skillfold_exec::helper::run_if_asked(None);
    let launcher = skillfold_exec::Launcher::new(std::env::current_exe()?);
    let measured = skillfold_exec::measure_start(&launcher, 200)?;
    writeln!(std::io::stdout(), "{measured:?}")?;
    // What each layer has to do with it.
    for layer in skillfold_exec::Launcher::support(&launcher)?.layers {
        let measured = skillfold_exec::measure_start(&launcher.clone().without(&[layer]).allow_unsandboxed(true), 100)?;
        writeln!(std::io::stdout(), "without {layer}: {measured:?}")?;
    }
    Ok(())
}
