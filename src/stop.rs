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

use signal_hook::{
    consts::{SIGINT, SIGTERM},
    iterator::Signals,
    low_level,
};
use tokio::sync::watch;

use crate::exit::Exit;

/// After this long the process ends wherever it is. Nothing is lost by that: what is committed is on disk, and the next
/// start goes on from there.
const GRACE: Duration = Duration::from_millis(4_500);

/// Whether to stop. Clones share the answer.
#[derive(Clone)]
pub(crate) struct Stop {
    /// The exit code of the signal that came; 0: none.
    code: Arc<AtomicU8>,
    changes: watch::Receiver<bool>,
}

impl Stop {
    /// Takes over SIGINT and SIGTERM. Only for commands with something to finish: others are ended by the signal itself.
    ///
    /// # Errors
    /// The operating system refuses.
    pub(crate) fn on_signals() -> io::Result<Self> {
        let mut signals = Signals::new([SIGINT, SIGTERM])?;
        let code = Arc::new(AtomicU8::new(0));
        let (sender, changes) = watch::channel(false);
        let stop = Stop { code: Arc::clone(&code), changes };
        thread::Builder::new().name("signals".to_owned()).spawn(move || {
            for signal in signals.forever() {
                let exit = if signal == SIGINT { Exit::Interrupted } else { Exit::Terminated };
                if code.swap(exit.code(), Ordering::SeqCst) != 0 {
                    // Asked twice: at once.
                    low_level::exit(i32::from(exit.code()));
                }
                tracing::info!(signal = low_level::signal_name(signal).unwrap_or_default(), "stopping");
                // Nobody may be waiting; whoever asks later sees the code.
                let _ = sender.send(true);
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
        Ok(stop)
    }

    /// How the process ends if it was asked to stop; `None` if it was not.
    pub(crate) fn asked(&self) -> Option<Exit> {
        match self.code.load(Ordering::SeqCst) {
            0 => None,
            code if code == Exit::Interrupted.code() => Some(Exit::Interrupted),
            _ => Some(Exit::Terminated),
        }
    }

    /// Waits until asked to stop, at most this long; whether it was asked.
    pub(crate) fn wait(&self, at_most: Duration) -> bool {
        // Short naps: this runs on plain threads, once a second.
        let nap = Duration::from_millis(50);
        let mut left = at_most;
        while self.asked().is_none() && !left.is_zero() {
            let now = nap.min(left);
            thread::sleep(now);
            left -= now;
        }
        self.asked().is_some()
    }

    /// Completes when asked to stop.
    pub(crate) async fn requested(mut self) {
        // An error means that the sender is gone; then no signal will ever come.
        if self.changes.wait_for(|asked| *asked).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
