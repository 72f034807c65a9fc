//! A process that ends in order, in time, whatever happens: for hooks, at which other programs wait.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::process::exit;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, mpsc};
use std::time::{Duration, Instant};

/// The time in which a hook has its answer, or none.
const MAX_HOOK: Duration = Duration::from_secs(1);
/// The time that writing the answer may take. A reader that does not read waits for nothing.
const MAX_WRITING: Duration = Duration::from_secs(1);
/// The time that the last words and the work that is left may take together. A pipe may be full, a disk may hang.
const MAX_LAST_WORDS: Duration = Duration::from_millis(150);

/// The variable with another deadline, in milliseconds, for slow machines.
const DEADLINE: &str = "SKILLCUE_HOOK_DEADLINE_MS";

const WORKING: u8 = 0;
const WRITING: u8 = 1;
const OVER: u8 = 2;

/// How far the process is. An answer is written whole, or not at all.
static STATE: AtomicU8 = AtomicU8::new(WORKING);

/// The work that is left for another process, should this one not be done in time.
static LEFT: Mutex<Option<Box<dyn FnOnce() + Send>>> = Mutex::new(None);

/// Returns whether a command line asks for a hook, as far as that is known before it is parsed.
pub(crate) fn is_hook(args: impl IntoIterator<Item = OsString>) -> bool {
    let mut args = args.into_iter().skip(1);
    while let Some(arg) = args.next() {
        // Not every path is text.
        match arg.as_encoded_bytes() {
            b"--skills-dir" | b"--config" | b"--color" => drop(args.next()),
            option if option.starts_with(b"-") => {}
            // A process that prepares hooks has time: no client waits for it.
            word => return word == b"hook" && !args.any(|arg| arg == "--index"),
        }
    }
    false
}

/// Returns the time that a hook has for its answer.
pub(crate) fn time_for_hook() -> Duration {
    let asked = std::env::var(DEADLINE).ok().and_then(|millis| millis.parse().ok());
    asked.map_or(MAX_HOOK, Duration::from_millis)
}

/// Makes this process end with code 0 in time: a client blocks the user's message at another code, and waits for a process
/// that hangs. Without a thread for the clock, there is no hook.
pub(crate) fn guard_hook() {
    let start = Instant::now();
    let most = time_for_hook();
    std::panic::set_hook(Box::new(|info| {
        let _ = writeln!(io::stderr(), "skillcue hook: {info}");
        attempt(work_left().into_iter());
        end();
    }));
    let watch = move || {
        std::thread::sleep(most.saturating_sub(start.elapsed()));
        if STATE.load(Ordering::SeqCst) == WRITING {
            std::thread::sleep(MAX_WRITING);
        }
        // From here on no answer is begun: a message is answered, or counted as one that was not.
        let _ = STATE.compare_exchange(WORKING, OVER, Ordering::SeqCst, Ordering::SeqCst);
        let say = move || drop(writeln!(io::stderr(), "skillcue hook: no answer within {} ms", most.as_millis()));
        attempt([Box::new(say) as Box<dyn FnOnce() + Send>].into_iter().chain(work_left()));
        end();
    };
    if std::thread::Builder::new().name("skillcue-deadline".to_owned()).spawn(watch).is_err() {
        end();
    }
}

/// Takes the work that is left.
fn work_left() -> Option<Box<dyn FnOnce() + Send>> {
    LEFT.try_lock().ok().and_then(|mut left| left.take())
}

/// Does what may block, each in its own thread, and waits for a moment.
fn attempt(works: impl Iterator<Item = Box<dyn FnOnce() + Send>>) {
    let (done, wait) = mpsc::channel::<()>();
    for work in works {
        let done = done.clone();
        let run = move || {
            work();
            drop(done);
        };
        // Without a thread, it is not done.
        let _ = std::thread::Builder::new().spawn(run);
    }
    drop(done);
    // Nothing is sent: it ends when all are done, or in time.
    let _ = wait.recv_timeout(MAX_LAST_WORDS);
}

/// Sets what is done if this process is not done in time, just before it ends.
pub(crate) fn at_deadline(work: impl FnOnce() + Send + 'static) {
    *skillcue_base::lock(&LEFT) = Some(Box::new(work));
}

/// Ends the process, and nothing more is written.
fn end() -> ! {
    STATE.store(OVER, Ordering::SeqCst);
    exit(0);
}

/// Writes the answer of a hook in one piece, if there is still time.
pub(crate) fn write_answer(answer: &str) -> io::Result<()> {
    if STATE.compare_exchange(WORKING, WRITING, Ordering::SeqCst, Ordering::SeqCst).is_err() {
        return Err(io::ErrorKind::TimedOut.into());
    }
    // Past the buffer of the standard library, which would be written in parts, and again at the end.
    let line = format!("{answer}\n");
    write_unbuffered(line.as_bytes())
}

fn write_unbuffered(mut bytes: &[u8]) -> io::Result<()> {
    let stdout = io::stdout();
    while !bytes.is_empty() {
        match rustix::io::write(&stdout, bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => bytes = &bytes[written..],
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hook_is_known_by_the_first_word() {
        let is = |args: &[&str]| is_hook(["skillcue"].iter().chain(args).map(OsString::from));
        assert!(
            is(&["hook", "claude"]) && is(&["--skills-dir", "a", "--isolated", "hook"]) && is(&["-v", "hook", "--x"])
        );
        let odd = <OsString as std::os::unix::ffi::OsStringExt>::from_vec(b"--skills-dir=/tmp/\xff".to_vec());
        assert!(is_hook([OsString::from("skillcue"), odd, OsString::from("hook")]), "a path that is no text");
        assert!(!is(&["context", "hook"]) && !is(&["--config", "hook", "list"]) && !is(&[]) && !is(&["--color"]));
    }
}
