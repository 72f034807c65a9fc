//! The time from a write to a file until the catalog is current.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use skillcue::Skillcue;
use skillcue::watch::{WatchEvent, WatchOptions, WatchState};
use skillcue_bench::{Report, TimeRow, TreeOptions, generate};

/// The promised time until the catalog is current, where the kernel's watches suffice.
const MAX_LATENCY: Duration = Duration::from_millis(300);
/// The number of skills that are watched.
pub(super) const SKILLS: usize = 100_000;
/// Longest wait for anything before the measurement is given up.
const MAX_WAIT: Duration = Duration::from_mins(2);

pub(super) fn measure(
    count: usize,
    dir: &Path,
    rounds: usize,
    say: &dyn Fn(&str),
    report: &mut Report,
) -> io::Result<()> {
    say(&format!("making a tree of {count} skills"));
    let tree = generate(&dir.join(format!("tree-{count}")), &TreeOptions { count, ..TreeOptions::default() })?;
    say(&format!("{count} skills: watching"));
    let skills = Arc::new(Skillcue::builder().skills_dir(tree.root()).build().map_err(io::Error::other)?);
    let (send, events) = mpsc::channel();
    let start = Instant::now();
    let watching = skills.watch(WatchOptions::default(), move |event| {
        // The time is taken where the event is handed over. A send fails only once the measurement has ended.
        let _ = send.send((event.clone(), Instant::now()));
    });
    while watching.state() == WatchState::Starting {
        if start.elapsed() > MAX_WAIT {
            return Err(io::Error::other("the watching does not begin"));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let begun = start.elapsed();
    say(&format!("{count} skills: touching one"));
    let (mut times, mut most) = (Vec::new(), 0);
    let paths: Vec<&Path> = tree.paths().iter().map(AsRef::as_ref).collect();
    for round in 0..rounds {
        let Some(path) = paths.get(round * paths.len() / rounds) else { break };
        let before = skills.catalog();
        let written = TouchedFile::touch(path)?;
        let seen = loop {
            let (event, seen) = events.recv_timeout(MAX_WAIT).map_err(io::Error::other)?;
            if matches!(event, WatchEvent::Changed(_)) && !Arc::ptr_eq(&before, &skills.catalog()) {
                break seen;
            }
        };
        times.push(seen.duration_since(written.when));
        most = most.max(skills.catalog().effort().read);
        written.restore()?;
        // That is an event, too.
        let _ = events.recv_timeout(MAX_WAIT);
    }
    times.sort();
    let (Some(median), Some(worst)) = (times.get(times.len() / 2).copied(), times.last().copied()) else {
        return Ok(());
    };
    let rows =
        [("a skill touched, the catalog is current", median), ("the same, at worst", worst)].map(|(what, time)| {
            let row = TimeRow::new(what, count, time);
            if matches!(watching.state(), WatchState::Notified { .. }) { row.at_most(MAX_LATENCY) } else { row }
        });
    report.rows.extend(rows);
    report.notes.push(match watching.state() {
        WatchState::Notified { directories } => format!(
            "watching: {directories} directories, begun in {:.1} s; the system tells, and waits 50 ms for more; \
             {most} file read for each touch",
            begun.as_secs_f64()
        ),
        _ => format!("watching: the system does not watch {count} directories (fs.inotify.max_user_watches); polling"),
    });
    Ok(())
}

/// A skill file with something added to its end, and how it was.
struct TouchedFile<'p> {
    path: &'p Path,
    bytes: Vec<u8>,
    modified: std::time::SystemTime,
    when: Instant,
}

impl TouchedFile<'_> {
    fn touch(path: &Path) -> io::Result<TouchedFile<'_>> {
        let bytes = std::fs::read(path)?;
        let modified = path.metadata()?.modified()?;
        let mut file = OpenOptions::new().append(true).open(path)?;
        let when = Instant::now();
        file.write_all(b"\nTouched.\n")?;
        Ok(TouchedFile { path, bytes, modified, when })
    }

    /// Restores the file and its time: the tree is used again.
    fn restore(self) -> io::Result<()> {
        let mut file = File::create(self.path)?;
        file.write_all(&self.bytes)?;
        file.set_modified(self.modified)
    }
}
