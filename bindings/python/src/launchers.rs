//! The launcher of scripts that run without a host: one a process, kept, so that a run costs a fork of the helper that waits,
//! and not the start of a program and new namespaces, and so that no run waits for a helper's end.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arc_swap::ArcSwapOption;
use pyo3::prelude::*;
use skillcue_exec::Launcher;

/// The launcher that was used last. No lock guards it: another thread could have held one during a fork.
static KEPT: ArcSwapOption<KeptLauncher> = ArcSwapOption::const_empty();

/// A launcher, and the process and the helper that it is for.
struct KeptLauncher {
    process: u32,
    helper: PathBuf,
    launcher: Launcher,
}

/// Returns the launcher of this process for a helper.
pub(crate) fn launcher_for(helper: &Path) -> Launcher {
    let process = std::process::id();
    if let Some(kept) = KEPT.load_full().filter(|kept| kept.process == process && kept.helper == helper) {
        return kept.launcher.clone();
    }
    let launcher = Launcher::new(helper);
    let made = KeptLauncher { process, helper: helper.to_path_buf(), launcher: launcher.clone() };
    replace(Some(Arc::new(made)));
    launcher
}

/// Ends the helper of this process, unless a run has it. Called at the interpreter's exit: a forked child that lives on
/// has the helper's socket, too, and would keep it.
#[pyfunction]
pub(crate) fn end_helper(py: Python<'_>) {
    py.detach(|| replace(None));
}

fn replace(with: Option<Arc<KeptLauncher>>) {
    // Of a forked process's parent: dropping it would end the parent's helper, and wait for a lock whose holder is not here.
    if let Some(before) = KEPT.swap(with)
        && before.process != std::process::id()
    {
        std::mem::forget(before);
    }
}
