//! Progress of the writer, for a server whose index is a copy that another machine writes. The server reads it from the
//! database of the service state.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
    thread::{self, JoinHandle},
    time::Duration,
};

use cairn_link::{FollowedIndex, IndexSource};
use cairn_model::CancelToken;
use cairn_reader::replica_of;
use cairn_state::{State, StateError, StateUrl};

use super::outage::Outage;
use crate::runtime::current_thread;

const LOOK: Duration = Duration::from_secs(2);
const LONGEST: Duration = Duration::from_secs(10);

/// Watches the writer's tip for an index that follows it.
pub(crate) struct WriterWatch {
    pub(crate) index: Arc<FollowedIndex>,
    /// Its data folder. It may become a replica while the server waits for its index.
    pub(crate) datadir: PathBuf,
    /// The database; `None` if none is named.
    pub(crate) url: Option<StateUrl>,
}

impl WriterWatch {
    /// Starts the thread. It ends when cancelled.
    pub(crate) fn start(self, cancel: &CancelToken) -> io::Result<JoinHandle<()>> {
        let cancel = cancel.clone();
        let runtime = current_thread()?;
        let thread = thread::Builder::new().name("writer-watch".to_owned());
        thread.spawn(move || runtime.block_on(self.watch(&cancel)))
    }

    async fn watch(self, cancel: &CancelToken) {
        let Some(url) = &self.url else { return self.warn(cancel).await };
        let state = State::of(url);
        let mut outage = Outage::of("reading how far the writer is");
        let mut pause = Duration::ZERO;
        loop {
            tokio::select! {
                () = cancel.cancelled() => break,
                () = tokio::time::sleep(pause) => {}
            }
            if !is_replica(&self.datadir) {
                pause = LOOK;
                continue;
            }
            let looked = tokio::select! {
                () = cancel.cancelled() => break,
                looked = tokio::time::timeout(LONGEST, self.look(&state)) => looked,
            };
            pause = match looked {
                Ok(Ok(())) => {
                    outage.is_over();
                    LOOK
                }
                // The last tip still holds: the writer is at least there.
                Ok(Err(error)) => outage.goes_on(&error),
                Err(_) => outage.goes_on(&"the database does not answer"),
            };
        }
    }

    /// Without a database, the lag of a replica is unknown.
    async fn warn(&self, cancel: &CancelToken) {
        while !is_replica(&self.datadir) {
            tokio::select! {
                () = cancel.cancelled() => return,
                () = tokio::time::sleep(LOOK) => {}
            }
        }
        tracing::warn!(
            "this is a replica without --state-url: its lag is unknown, and contests that clients sign are not taken"
        );
    }

    async fn look(&self, state: &State) -> Result<(), StateError> {
        let Some(chain) = self.index.reader().map(|reader| reader.facts().chain_params()) else { return Ok(()) };
        if let Some(tip) = state.writer_tip(chain.key()).await? {
            self.index.set_remote_height(tip.best_height.map_or(tip.height, |best| best.max(tip.height)));
        }
        Ok(())
    }
}

/// True if the data folder has the mark. A mark that cannot be read does not count.
fn is_replica(datadir: &Path) -> bool {
    replica_of(datadir).is_ok_and(|from| from.is_some())
}
