//! Hands documents that requests add to the ledger to the process that writes the index.

use std::{io, path::PathBuf, sync::Arc};

use cairn_events::Document;
use cairn_link::IndexSource;
use cairn_operations::{LedgerAccess, NotTaken};
use cairn_pipeline::put_into_inbox;
use cairn_reader::replica_of;
use cairn_state::{StateError, StateUrl};

use crate::replicas::queue;

/// The inbox of a data folder. A replica uses the queue in the database of the service state instead.
pub(crate) struct Inbox {
    datadir: PathBuf,
    queue: Option<Queue>,
}

struct Queue {
    /// Provides the network.
    index: Arc<dyn IndexSource>,
    /// `None` if no database is named.
    url: Option<StateUrl>,
}

impl Inbox {
    /// Creates the inbox of this folder.
    pub(crate) fn of(datadir: PathBuf) -> Self {
        Inbox { datadir, queue: None }
    }

    /// Allows the folder to be a replica: its documents are queued in this database, for the network of this index.
    pub(crate) fn or_queue(self, index: Arc<dyn IndexSource>, url: Option<StateUrl>) -> Self {
        Inbox { queue: Some(Queue { index, url }), ..self }
    }

    /// Hands a document to the writer on another machine.
    fn queue(&self, document: &Document) -> Result<(), Unqueued> {
        let lacks = |what: &str| Unqueued::Failed(what.to_owned());
        let Queue { index, url } = self.queue.as_ref().ok_or_else(|| lacks("this process writes the index"))?;
        let url =
            url.as_ref().ok_or_else(|| lacks("a replica needs --state-url: the database that the writer uses"))?;
        let chain =
            index.reader().map(|reader| reader.facts().chain_params()).ok_or_else(|| lacks("there is no index"))?;
        queue::<Unqueued>(url, chain, "API", |add| Ok(add(document)?)).map(drop)
    }
}

/// Why a document was not queued.
enum Unqueued {
    Full(String),
    Failed(String),
}

impl From<io::Error> for Unqueued {
    fn from(error: io::Error) -> Self {
        Unqueued::Failed(error.to_string())
    }
}

impl From<StateError> for Unqueued {
    fn from(error: StateError) -> Self {
        match error {
            StateError::QueueFull => Unqueued::Full(error.to_string()),
            other => Unqueued::Failed(other.to_string()),
        }
    }
}

impl LedgerAccess for Inbox {
    fn hand_in(&self, document: &Document) -> Result<(), NotTaken> {
        match replica_of(&self.datadir) {
            Ok(None) => put_into_inbox::<io::Error>(&self.datadir, |add| add(document)).map(drop).map_err(|error| {
                tracing::warn!(%error, "a signed contest cannot be written into the inbox: this process needs write access to it");
                NotTaken::Unwritable
            }),
            Ok(Some(_)) => self.queue(document).map_err(|error| {
                let (error, not_taken) = match error {
                    Unqueued::Full(error) => (error, NotTaken::Full),
                    Unqueued::Failed(error) => (error, NotTaken::Unwritable),
                };
                tracing::warn!(error, "a signed contest cannot be queued for the machine that writes the index");
                not_taken
            }),
            Err(error) => {
                tracing::warn!(%error, "a signed contest is refused: the file that marks a replica cannot be read");
                Err(NotTaken::Unwritable)
            }
        }
    }
}
