//! Fetching, with progress on the terminal.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Mutex, Once};

use skillcue::Source;
use skillcue::catalog::{OrgPolicy, PolicySubject};
use skillcue_registry::{Disk, FetchEvent, FetchLimits, FetchProgress, Fetched, GitProgram, InstallOrigin, fetch};

use crate::context::Context;
use crate::error::CliError;
use crate::registries::RegistryArgs;
use crate::signals::on_signal;
use crate::{progress, text};

/// Fetches files of skills, and shows progress.
pub(crate) struct Fetcher {
    git: GitProgram,
    #[cfg(feature = "oci")]
    oci: skillcue_registry::OciAccess,
    policy: OrgPolicy,
    source: &'static str,
}

impl Fetcher {
    pub(crate) fn new(context: &Context, registry: RegistryArgs) -> Result<Fetcher, CliError> {
        // A project's registry comes with a checkout: what it installs is the project's.
        let source = if registry.project { Source::Project.as_str() } else { "installed" };
        Ok(Fetcher {
            git: context.environment()?.git(),
            #[cfg(feature = "oci")]
            oci: context.environment()?.oci_access(),
            policy: context.host()?.policy()?.clone(),
            source,
        })
    }

    /// Brings the files of an origin into a directory, and shows that it does.
    pub(crate) fn fetch(&self, origin: &InstallOrigin, into: &Path) -> Result<Fetched, CliError> {
        let text = origin.to_string();
        let subject = PolicySubject { source: self.source, origin: Some(&text), ..PolicySubject::default() };
        if let Some(refusal) = self.policy.origin_refusal(&subject) {
            return Err(CliError::failure("policy", format!("nothing was fetched: {refusal}")).help(refusal.help));
        }
        cancel_on_signal();
        let signs =
            TerminalProgress { shown: Mutex::new(progress::ProgressIndicator::spinner(format!("fetching {origin}"))) };
        FETCHING.store(true, Ordering::SeqCst);
        let (disk, limits) = (Disk::default(), FetchLimits::default());
        let fetched = match origin {
            #[cfg(feature = "oci")]
            InstallOrigin::Oci(reference) => {
                skillcue_registry::fetch_oci(reference, into, &disk, &limits, &self.oci, &signs)
            }
            #[cfg(not(feature = "oci"))]
            InstallOrigin::Oci(_) => {
                return Err(CliError::failure("no_oci", "this program was built without OCI registries")
                    .help(crate::hints::WITH_OCI));
            }
            _ => fetch(origin, into, &disk, &limits, &self.git, &signs),
        };
        FETCHING.store(false, Ordering::SeqCst);
        if let code @ 1.. = SIGNALLED.load(Ordering::SeqCst) {
            drop((fetched, signs));
            // The files fetched so far are removed when the registry is opened next.
            std::process::exit(code);
        }
        Ok(fetched?)
    }
}

/// Whether something is being fetched.
static FETCHING: AtomicBool = AtomicBool::new(false);
/// The exit code because of a signal; 0 without one.
static SIGNALLED: AtomicI32 = AtomicI32::new(0);

/// Ends git before a signal ends this process: it is in a process group of its own, which no Ctrl-C reaches.
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

/// The progress of a fetch, on the terminal.
struct TerminalProgress {
    shown: Mutex<progress::ProgressIndicator>,
}

impl FetchProgress for TerminalProgress {
    fn is_cancelled(&self) -> bool {
        SIGNALLED.load(Ordering::SeqCst) != 0
    }

    fn report(&self, news: FetchEvent<'_>) {
        let message = match news {
            FetchEvent::Receiving { bytes } => format!("receiving, {} so far", text::bytes(bytes)),
            FetchEvent::Unpacking { entries, bytes, of } => {
                let of = of.map_or(String::new(), |of| format!(" of {}", text::bytes(of)));
                let entries = text::thousands(entries);
                format!("unpacking, {entries} files, {}{of}", text::bytes(bytes))
            }
            _ => return,
        };
        skillcue_base::lock(&self.shown).set_message(message);
    }
}
