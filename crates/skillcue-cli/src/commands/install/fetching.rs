//! Fetching, with signs of life.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Mutex, Once};

use skillcue_registry::{Disk, Fetched, Git, Limits, News, Origin, Progress, fetch};

use crate::context::Context;
use crate::error::CliError;
use crate::signals::on_signal;
use crate::{progress, text};

/// How to fetch here.
pub(crate) struct Fetching {
    git: Git,
}

impl Fetching {
    pub(crate) fn new(context: &Context) -> Result<Fetching, CliError> {
        Ok(Fetching { git: context.environment()?.git() })
    }

    /// Brings the files of an origin into a directory, and shows that it does.
    pub(crate) fn fetch(&self, origin: &Origin, into: &Path) -> Result<Fetched, CliError> {
        cancel_on_signal();
        let signs = Signs { shown: Mutex::new(progress::Progress::unknown(format!("fetching {origin}"))) };
        FETCHING.store(true, Ordering::SeqCst);
        let fetched = fetch(origin, into, &Disk::default(), &Limits::default(), &self.git, &signs);
        FETCHING.store(false, Ordering::SeqCst);
        if let code @ 1.. = SIGNALLED.load(Ordering::SeqCst) {
            drop((fetched, signs));
            // What was fetched so far is swept by whoever opens the registry next.
            std::process::exit(code);
        }
        Ok(fetched?)
    }
}

/// Whether something is being fetched.
static FETCHING: AtomicBool = AtomicBool::new(false);
/// With what to exit because of a signal; 0 without one.
static SIGNALLED: AtomicI32 = AtomicI32::new(0);

/// Ends git before a signal ends us: it is in a process group of its own, which no Ctrl-C reaches.
fn cancel_on_signal() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        on_signal(|code| {
            SIGNALLED.store(code, Ordering::SeqCst);
            if !FETCHING.load(Ordering::SeqCst) {
                std::process::exit(code);
            }
        });
    });
}

/// What is shown meanwhile.
struct Signs {
    shown: Mutex<progress::Progress>,
}

impl Progress for Signs {
    fn cancelled(&self) -> bool {
        SIGNALLED.load(Ordering::SeqCst) != 0
    }

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
        skillcue_base::lock(&self.shown).says(message);
    }
}
