//! Fetching, with signs of life.

use std::path::Path;
use std::sync::Mutex;
use std::sync::PoisonError;

use skillfold_registry::{Disk, Fetched, Git, Limits, News, Origin, Progress, fetch};

use crate::context::Context;
use crate::error::CliError;
use crate::{progress, registries, text};

/// How to fetch here.
pub(crate) struct Fetching {
    git: Git,
}

impl Fetching {
    pub(crate) fn new(context: &Context) -> Result<Fetching, CliError> {
        Ok(Fetching { git: registries::git(context.environment()?) })
    }

    /// Brings the files of an origin into a directory, and shows that it does.
    pub(crate) fn fetch(&self, origin: &Origin, into: &Path) -> Result<Fetched, CliError> {
        let signs = Signs { shown: Mutex::new(progress::Progress::unknown(format!("fetching {origin}"))) };
        Ok(fetch(origin, into, &Disk::default(), &Limits::default(), &self.git, &signs)?)
    }
}

/// What is shown meanwhile.
struct Signs {
    shown: Mutex<progress::Progress>,
}

impl Progress for Signs {
    fn say(&self, news: News<'_>) {
        let message = match news {
            News::Receiving { bytes } => format!("receiving, {} so far", text::bytes(bytes)),
            News::Unpacking { entries, bytes, of } => {
                let of = of.map_or(String::new(), |of| format!(" of {}", text::bytes(of)));
                let entries = text::thousands(usize::try_from(entries).unwrap_or(usize::MAX));
                format!("unpacking, {entries} files, {}{of}", text::bytes(bytes))
            }
            _ => return,
        };
        self.shown.lock().unwrap_or_else(PoisonError::into_inner).says(message);
    }
}
