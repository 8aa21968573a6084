//! Ctrl-C and SIGTERM: the work stops at its next safe point, and the process ends within five seconds.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
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

/// After this long the process ends wherever it is. Nothing is lost by that: what is committed is on disk, and the next
/// start goes on from there.
const GRACE: Duration = Duration::from_millis(4_500);

/// Cancels the work of a command when a signal asks for it, and remembers which.
pub(crate) struct Signals {
    cancel: CancelToken,
    /// The exit code of the signal that came; 0: none.
    code: Arc<AtomicU8>,
}

impl Signals {
    /// Takes over SIGINT and SIGTERM. Only for commands with something to finish: others are ended by the signal itself.
    ///
    /// # Errors
    /// The operating system refuses.
    pub(crate) fn take_over() -> io::Result<Self> {
        let mut arriving = SignalsIterator::new([SIGINT, SIGTERM])?;
        let signals = Signals { cancel: CancelToken::new(), code: Arc::default() };
        let (cancel, code) = (signals.cancel.clone(), Arc::clone(&signals.code));
        thread::Builder::new().name("signals".to_owned()).spawn(move || {
            for signal in arriving.forever() {
                let exit = if signal == SIGINT { Exit::Interrupted } else { Exit::Terminated };
                if code.swap(exit.code(), Ordering::SeqCst) != 0 {
                    // Asked twice: at once.
                    low_level::exit(i32::from(exit.code()));
                }
                tracing::info!(signal = low_level::signal_name(signal).unwrap_or_default(), "stopping");
                cancel.cancel();
                let late = move || {
                    thread::sleep(GRACE);
                    tracing::warn!("still busy: ending now, what is committed is safe");
                    low_level::exit(i32::from(exit.code()));
                };
                if thread::Builder::new().name("grace".to_owned()).spawn(late).is_err() {
                    low_level::exit(i32::from(exit.code()));
                }
            }
        })?;
        Ok(signals)
    }

    /// The token that a signal cancels. Others may cancel it as well: what depends on them ends with them.
    pub(crate) fn cancel_token(&self) -> &CancelToken {
        &self.cancel
    }

    /// How the process ends if a signal came; `None` if none did.
    pub(crate) fn exit(&self) -> Option<Exit> {
        match self.code.load(Ordering::SeqCst) {
            0 => None,
            code if code == Exit::Interrupted.code() => Some(Exit::Interrupted),
            _ => Some(Exit::Terminated),
        }
    }

    /// How the process ends after work that was cancelled.
    pub(crate) fn exit_of_cancelled(&self) -> Exit {
        self.exit().unwrap_or(Exit::Interrupted)
    }
}
