//! The program itself over a tree of skills, as people and agents start it: with an index cache of its own, and files that the
//! cache vouches for.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use skillcue_bench::{BodyLength, GeneratedTree};

use super::matching;

/// The time after which a file that was written is vouched for by the index cache.
const SETTLING: Duration = Duration::from_millis(1_100);

/// The program over a tree with a pattern and a whole body in every skill.
pub(super) struct ProgramUnderTest {
    pub(super) tree: GeneratedTree,
    program: PathBuf,
    cache: PathBuf,
}

impl ProgramUnderTest {
    /// Makes the tree below a directory, if it is not there yet. `word` names the cache.
    pub(super) fn new(dir: &Path, count: usize, word: &str) -> io::Result<ProgramUnderTest> {
        Ok(ProgramUnderTest {
            tree: matching::tree(dir, count, BodyLength::Wild)?,
            program: std::env::current_exe()?,
            cache: dir.join(format!("{word}-cache-{count}")),
        })
    }

    /// Returns a command that knows the tree's skills alone.
    pub(super) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command
            .env("XDG_CACHE_HOME", &self.cache)
            .args(["--isolated", "--skills-dir"])
            .arg(self.tree.root())
            .args(args);
        command
    }
}

/// Runs what fills a cache, twice: files that were written within the last second are not vouched for.
pub(super) fn settle(mut run: impl FnMut() -> io::Result<()>) -> io::Result<()> {
    for _ in 0..2 {
        run()?;
        std::thread::sleep(SETTLING);
    }
    Ok(())
}
