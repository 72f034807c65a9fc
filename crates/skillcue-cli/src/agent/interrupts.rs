//! Signals to the agent: one ends the turn, and only then the process.

use std::io::Write as _;
use std::ops::ControlFlow;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use tokio_util::sync::CancellationToken;

use crate::signals::on_signals;

/// A Ctrl-C, as a shell counts it.
pub(crate) const INTERRUPTED: i32 = 130;

/// How long child processes may take to end when the user leaves at once.
const MAX_FAREWELL: Duration = Duration::from_secs(1);

/// How long a turn may take to end after the process got a signal to.
const MAX_LAST_TURN: Duration = Duration::from_secs(10);

/// Ends what is under way when a signal comes: the first one the turn, the second one, or one that is not Ctrl-C, the
/// process.
#[derive(Clone)]
pub(crate) struct Interrupts(Arc<Mutex<InterruptState>>);

struct InterruptState {
    /// The turn under way.
    turn: Option<CancellationToken>,
    /// The exit code after it, if the process is to end, too.
    code: Option<i32>,
    /// Functions that end the child processes.
    ends: Vec<Box<dyn Fn() + Send>>,
    /// The terminal's attributes before a line editor changed them.
    terminal: Option<Termios>,
    /// Whether there is a line editor.
    is_edited: bool,
    /// The last line for programs that read stdout, if the process ends at once.
    farewell: Option<String>,
}

impl Interrupts {
    /// Listens from here on. `ends` end the child processes before the process does; `farewell` is the last line then
    /// for programs that read stdout.
    pub(crate) fn listen(ends: Vec<Box<dyn Fn() + Send>>, farewell: Option<String>) -> Interrupts {
        let terminal = tcgetattr(rustix::stdio::stdin()).ok();
        let interrupts = Interrupts(Arc::new(Mutex::new(InterruptState {
            turn: None,
            code: None,
            ends,
            terminal,
            is_edited: false,
            farewell,
        })));
        let heard = interrupts.clone();
        on_signals(move |code| {
            heard.hear(code);
            ControlFlow::Continue(())
        });
        interrupts
    }

    /// Begins a turn, and returns the token that a signal cancels. Ends the turn before.
    pub(crate) fn begin(&self) -> CancellationToken {
        let token = CancellationToken::new();
        let mut state = self.lock();
        if state.code.is_some() {
            token.cancel();
        }
        state.turn = Some(token.clone());
        token
    }

    /// Records that a line editor changes the terminal from here on.
    pub(crate) fn edited(&self) {
        self.lock().is_edited = true;
    }

    /// Ends the turn.
    pub(crate) fn end(&self) {
        self.lock().turn = None;
    }

    /// Returns the token that cancels the turn under way, if there is one.
    pub(crate) fn turn(&self) -> Option<CancellationToken> {
        self.lock().turn.clone()
    }

    /// Returns the exit code, if a signal is to end the process.
    pub(crate) fn code(&self) -> Option<i32> {
        self.lock().code
    }

    fn lock(&self) -> MutexGuard<'_, InterruptState> {
        skillcue_base::lock(&self.0)
    }

    fn hear(&self, code: i32) {
        let mut state = self.lock();
        match &state.turn {
            Some(turn) if !turn.is_cancelled() => {
                turn.cancel();
                if code != INTERRUPTED {
                    state.code = Some(code);
                    let state = self.clone();
                    // A turn that does not end must not keep the process.
                    let _ = std::thread::Builder::new().name("skillcue-ending".to_owned()).spawn(move || {
                        std::thread::sleep(MAX_LAST_TURN);
                        leave(state.lock(), code);
                    });
                }
            }
            // Between two messages of a chat there is nothing to end: the editor takes a Ctrl-C itself.
            None if code == INTERRUPTED && state.is_edited => {}
            _ => leave(state, code),
        }
    }
}

/// Ends the process now, and leaves neither children nor an unusable terminal.
fn leave(mut state: MutexGuard<'_, InterruptState>, code: i32) -> ! {
    if let Some(terminal) = &state.terminal {
        let _ = tcsetattr(rustix::stdio::stdin(), OptionalActions::Now, terminal);
    }
    if state.is_edited {
        // The editor has asked the terminal to mark what is pasted.
        let _ = std::io::stdout().write_all(b"\x1b[?2004l\n");
        let _ = std::io::stdout().flush();
    }
    if let Some(farewell) = &state.farewell {
        let _ = writeln!(std::io::stdout(), "{farewell}");
    }
    let ends = std::mem::take(&mut state.ends);
    let (done, all_ended) = channel::<()>();
    let _ = std::thread::Builder::new().name("skillcue-farewell".to_owned()).spawn(move || {
        for end in ends {
            end();
        }
        drop(done);
    });
    let _ = all_ended.recv_timeout(MAX_FAREWELL);
    std::process::exit(code);
}
