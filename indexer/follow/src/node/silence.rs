//! Watches for a request that has no answer yet: it is reported before it fails, since its limit is long.

use std::{
    io,
    sync::Arc,
    thread::{self, JoinHandle},
    time::Duration,
};

use cairn_model::{CancelToken, Part};
use cairn_node::NodeClient;

use super::NEXT;
use crate::troubles::Troubles;

/// After this time without an answer, the node counts as silent.
const SILENCE: Duration = Duration::from_secs(3);
/// Interval of looks.
const LOOK: Duration = Duration::from_millis(250);

/// Watches the requests of a client until it is dropped.
pub(super) struct SilenceWatch {
    cancel: CancelToken,
    thread: Option<JoinHandle<()>>,
}

impl SilenceWatch {
    /// Starts the thread. The receiver of the answer clears the trouble.
    pub(super) fn start(client: &NodeClient, troubles: &Arc<Troubles>) -> io::Result<Self> {
        let cancel = CancelToken::new();
        let (client, troubles, stop) = (client.clone(), Arc::clone(troubles), cancel.clone());
        let look = move || {
            while !stop.wait(LOOK) {
                if let Some((what, _)) = client.oldest_request().filter(|(_, silent)| *silent >= SILENCE) {
                    let seconds = SILENCE.as_secs();
                    troubles.set(Part::Node, &format!("no answer of the node to {what} for {seconds} s"), NEXT);
                }
            }
        };
        let thread = thread::Builder::new().name("node silence".to_owned()).spawn(look)?;
        Ok(SilenceWatch { cancel, thread: Some(thread) })
    }
}

impl Drop for SilenceWatch {
    fn drop(&mut self) {
        self.cancel.cancel();
        if let Some(thread) = self.thread.take() {
            // A panic in it has been reported by itself.
            let _ = thread.join();
        }
    }
}
