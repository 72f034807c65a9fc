//! Opening an address in the user's browser.

use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

use crate::context::Context;

/// The programs that open an address, by system.
const PROGRAMS: &[&str] = if cfg!(target_os = "macos") { &["open"] } else { &["xdg-open", "wslview"] };

/// Opens an address in the browser, and returns whether a program for that was started. Where there is no screen, none is.
pub(super) fn open(address: &str, context: &Context) -> bool {
    let Ok(environment) = context.environment() else { return false };
    let has_screen = cfg!(target_os = "macos")
        || ["DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME"].iter().any(|name| environment.variable(name).is_some());
    if !has_screen {
        return false;
    }
    let in_path = |name: &&str| environment.path.iter().map(|dir| dir.join(name)).find(|file| file.is_file());
    let Some(program) = PROGRAMS.iter().find_map(in_path) else { return false };
    let mut command = Command::new(program);
    command.arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // Ctrl-C in this terminal is not meant for the browser.
    command.process_group(0);
    command.spawn().is_ok()
}
