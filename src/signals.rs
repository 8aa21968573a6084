//! Ctrl-C and SIGTERM. The work stops at its next safe point, and the process ends within five seconds.

use std::{
    io,
    sync::atomic::{AtomicU8, Ordering},
    thread,
    time::Duration,
};

use cairn_model::CancelToken;
use signal_hook::{
    consts::{SIGINT, SIGTERM},
    iterator::Signals as SignalsIterator,
    low_level,
};

use crate::exit::Exit;

/// After this time the process exits in any case. Nothing is lost: committed work is on disk, and the next start
/// resumes from there.
const GRACE: Duration = Duration::from_millis(4_500);

/// Exit code of the received signal; 0: none. Signals are for the whole process.
static RECEIVED: AtomicU8 = AtomicU8::new(0);

/// Cancels the work of a command on a signal.
pub(crate) struct Signals {
    cancel: CancelToken,
}

/// Returns the exit code of the received signal; `None` without one.
pub(crate) fn received() -> Option<Exit> {
    match RECEIVED.load(Ordering::SeqCst) {
        0 => None,
        code if code == Exit::Interrupted.code() => Some(Exit::Interrupted),
        _ => Some(Exit::Terminated),
    }
}

impl Signals {
    /// Handles SIGINT and SIGTERM. Only for commands that must finish work: other commands end at once.
    pub(crate) fn take_over() -> io::Result<Self> {
        let mut arriving = SignalsIterator::new([SIGINT, SIGTERM])?;
        let signals = Signals { cancel: CancelToken::new() };
        let cancel = signals.cancel.clone();
        thread::Builder::new().name("signals".to_owned()).spawn(move || {
            for signal in arriving.forever() {
                let exit = if signal == SIGINT { Exit::Interrupted } else { Exit::Terminated };
                if RECEIVED.swap(exit.code(), Ordering::SeqCst) != 0 {
                    // The second signal ends the process at once.
                    low_level::exit(i32::from(exit.code()));
                }
                tracing::info!(signal = low_level::signal_name(signal).unwrap_or_default(), "stopping");
                cancel.cancel();
                let late = move || {
                    thread::sleep(GRACE);
                    tracing::warn!("work did not stop in time; exiting now (committed work is safe)");
                    low_level::exit(i32::from(exit.code()));
                };
                if thread::Builder::new().name("grace".to_owned()).spawn(late).is_err() {
                    low_level::exit(i32::from(exit.code()));
                }
            }
        })?;
        Ok(signals)
    }

    /// Returns the token that a signal cancels. Other code may cancel it too.
    pub(crate) fn cancel_token(&self) -> &CancelToken {
        &self.cancel
    }
}

/// Returns the exit code after cancelled work.
pub(crate) fn exit_of_cancelled() -> Exit {
    received().unwrap_or(Exit::Interrupted)
}
