//! Follows changes on disk: `cargo run --example watch --features watch [DIR]`. Without a directory it makes one,
//! changes it, and ends.

use std::error::Error;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use skillcue::Skillcue;
use skillcue::watch::{WatchEvent, WatchOptions};

fn main() -> Result<(), Box<dyn Error>> {
    let out = &mut io::stdout().lock();
    match std::env::args().nth(1) {
        Some(dir) => follow(Path::new(&dir), out, |_| Ok(true)),
        None => run(out),
    }
}

/// Follows a directory of its own through a skill's life.
pub(crate) fn run(out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let dir = tempfile::tempdir()?;
    let skill = dir.path().join("pdf");
    let write = |body: &str| {
        fs::create_dir_all(&skill)?;
        // As editors do it: half a file is never there.
        let text = format!("---\nname: pdf\ndescription: Reads PDF files.\n---\n{body}\n");
        fs::write(skill.join("SKILL.new"), text)?;
        fs::rename(skill.join("SKILL.new"), skill.join("SKILL.md"))
    };
    follow(dir.path(), out, |seen| {
        match seen {
            0 => write("Use pdftotext.")?,
            1 => write("Use pdftotext, page by page.")?,
            2 => fs::remove_dir_all(&skill)?,
            _ => return Ok(false),
        }
        Ok(true)
    })
}

/// Prints changes below a directory. `step` gets the number of changes so far, and returns whether to go on.
fn follow(
    dir: &Path,
    out: &mut impl Write,
    mut step: impl FnMut(usize) -> io::Result<bool>,
) -> Result<(), Box<dyn Error>> {
    let skills = Arc::new(Skillcue::builder().skills_dir(dir).build()?);
    let (send, events) = mpsc::channel();
    // It watches until it is dropped. The report runs on a thread of its own.
    let _watching = skills.watch(WatchOptions::default(), move |event| drop(send.send(event.clone())));
    let mut seen = 0;
    while step(seen)? {
        let before = seen;
        while seen == before {
            match events.recv_timeout(Duration::from_mins(1))? {
                WatchEvent::Changed(changes) => {
                    let (added, updated, removed) = (&changes.added, &changes.updated, &changes.removed);
                    seen += usize::from(!(added.is_empty() && updated.is_empty() && removed.is_empty()));
                    writeln!(out, "added {added:?}, updated {updated:?}, removed {removed:?}")?;
                }
                other => writeln!(out, "{other:?}")?,
            }
        }
    }
    writeln!(out, "{} skills at the end", skills.catalog().len())?;
    Ok(())
}
