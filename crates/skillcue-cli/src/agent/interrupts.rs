//! What a signal does to an agent: it ends the turn, and only then the process.

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

/// How long what runs may take to end when somebody wants to leave at once.
const FAREWELL: Duration = Duration::from_secs(1);

/// How long a turn may take to end after the process was told to.
const LAST_TURN: Duration = Duration::from_secs(10);

/// Ends what is under way when a signal comes: the first one the turn, the second one, or one that is not Ctrl-C, the
/// process.
#[derive(Clone)]
pub(crate) struct Interrupts(Arc<Mutex<State>>);

struct State {
    /// The turn under way.
    turn: Option<CancellationToken>,
    /// With what to exit after it, if not only the turn is to end.
    code: Option<i32>,
    /// What ends what runs for us.
    ends: Vec<Box<dyn Fn() + Send>>,
    /// How the terminal was, before a line editor changed it.
    terminal: Option<Termios>,
    /// Whether there is a line editor.
    is_edited: bool,
    /// What programs are told when we leave at once, if programs read what we print.
    farewell: Option<String>,
}

impl Interrupts {
    /// Listens from here on. `ends` end what runs for us before the process does; `farewell` is what programs that read what
    /// we print are told then.
    pub(crate) fn listen(ends: Vec<Box<dyn Fn() + Send>>, farewell: Option<String>) -> Interrupts {
        let terminal = tcgetattr(rustix::stdio::stdin()).ok();
        let interrupts = Interrupts(Arc::new(Mutex::new(State {
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

    /// A turn begins: what is returned is cancelled by a signal. Ends the turn before.
    pub(crate) fn begin(&self) -> CancellationToken {
        let token = CancellationToken::new();
        let mut state = self.lock();
        if state.code.is_some() {
            token.cancel();
        }
        state.turn = Some(token.clone());
        token
    }

    /// A line editor changes the terminal from here on.
    pub(crate) fn edited(&self) {
        self.lock().is_edited = true;
    }

    /// The turn is over.
    pub(crate) fn end(&self) {
        self.lock().turn = None;
    }

    /// What ends the turn under way, if there is one.
    pub(crate) fn turn(&self) -> Option<CancellationToken> {
        self.lock().turn.clone()
    }

    /// With what to exit, if the process was told to end.
    pub(crate) fn code(&self) -> Option<i32> {
        self.lock().code
    }

    fn lock(&self) -> MutexGuard<'_, State> {
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
                    // A turn that does not end must not keep us.
                    let _ = std::thread::Builder::new().name("skillcue-ending".to_owned()).spawn(move || {
                        std::thread::sleep(LAST_TURN);
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

/// Ends the process now, and leaves neither children nor a terminal that nobody can use.
fn leave(mut state: MutexGuard<'_, State>, code: i32) -> ! {
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
    let _ = all_ended.recv_timeout(FAREWELL);
    std::process::exit(code);
}
