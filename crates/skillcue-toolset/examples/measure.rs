//! Measures calls and loads: `cargo run --release --features bench,engine --example measure -- HELPER [PACKAGES]`.
#![allow(clippy::print_stdout, reason = "this is what it is for")]

use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let helper = args.next().ok_or("name the helper: target/release/skillcue-engine")?;
    let packages = args.next();
    let dir = tempfile::tempdir()?;
    let launcher = skillcue_exec::Launcher::new(helper);
    for one in skillcue_toolset::measure(&launcher, packages.as_deref().map(Path::new), dir.path())? {
        println!(
            "{:<36} median {:>10.3?}  fastest {:>10.3?}  limit {:?}",
            one.name, one.median, one.fastest, one.limit
        );
    }
    Ok(())
}
