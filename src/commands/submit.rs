//! Hands documents to the index: through the inbox, or on a replica through the database that it shares with the
//! writer.

use std::{
    io,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use cairn_events::Document;
use cairn_pipeline::{Applied, Engine, LedgerError, PipelineError, put_into_inbox};
use cairn_state::StateUrl;
use cairn_writer::WriteError;

use super::{db::open, operator::now};
use crate::{
    config::StateDb,
    exit::{Exit, Failure},
    out::{print, thousands},
    replicas::{queue, shared_url},
};

/// Outcome for documents that were handed in.
pub(crate) enum Submitted {
    /// The index has them.
    Applied(Vec<Applied>),
    /// Another process writes the index and has taken them.
    Taken,
    /// They wait in this file, for this reason.
    Waiting(PathBuf, &'static str),
    /// This number of documents waits in this database for the machine that writes the index.
    Queued(u64, StateUrl),
}

/// Maximum time to wait for the process that writes the index.
const PATIENCE: Duration = Duration::from_secs(5);

/// Hands documents to the index through the inbox, or on a replica through the database. If no other process writes the
/// index, this one empties the inbox itself. `origin` names the sender in the database.
pub(crate) fn submit(
    datadir: &Path,
    state: &StateDb,
    origin: &str,
    fill: impl FnOnce(&mut dyn FnMut(&Document) -> io::Result<()>) -> Result<(), Failure>,
) -> Result<Submitted, Failure> {
    // Report a wrong folder before anything is written into it.
    if !datadir.join("index").join("CURRENT").exists() {
        let message = format!("no index in {}", datadir.display());
        return Err(Failure::new(Exit::Index, message).hint("`cairn index` or `cairn run` creates one"));
    }
    if let Some(url) = shared_url(datadir, state)? {
        let chain = open(datadir)?.facts().chain_params();
        return Ok(Submitted::Queued(queue::<Failure>(&url, chain, origin, fill)?, url));
    }
    let path = put_into_inbox::<Failure>(datadir, fill)?;
    match Engine::open_existing_within(datadir, crate::config::LEAST_MEMORY) {
        Ok(engine) => {
            let drained = engine.drain_inbox(now())?;
            if let Some(refused) = drained.refused.first() {
                return Err(Failure::new(Exit::Other, format!("{}: {}", refused.path.display(), refused.reason)));
            }
            let taken: Vec<Applied> = drained.files.into_iter().flat_map(|(_, applied)| applied).collect();
            if path.exists() {
                return Ok(Submitted::Waiting(path, "the index has no blocks yet"));
            }
            Ok(Submitted::Applied(taken))
        }
        Err(PipelineError::Write(WriteError::Locked(_))) => {
            let until = Instant::now() + PATIENCE;
            while path.exists() && Instant::now() < until {
                thread::sleep(Duration::from_millis(20));
            }
            let refused = path.with_extension("reason.txt");
            match std::fs::read_to_string(&refused) {
                Ok(reason) => Err(Failure::new(Exit::Other, reason.trim().to_owned())),
                Err(_) if path.exists() => {
                    Ok(Submitted::Waiting(path, "the process that writes the index takes it after it has caught up"))
                }
                Err(_) => Ok(Submitted::Taken),
            }
        }
        Err(error) => Err(error.into()),
    }
}

impl Submitted {
    pub(crate) fn tell(self) -> Result<Exit, Failure> {
        match self {
            Submitted::Applied(all) => {
                for applied in all {
                    print(&sentence(applied))?;
                }
            }
            Submitted::Taken => print("taken by the process that writes the index: see `cairn events list`\n")?,
            Submitted::Queued(documents, url) => print(&format!(
                "waits in {url} for the machine that writes the index (documents: {}): see `cairn events waiting`\n",
                thousands(documents)
            ))?,
            Submitted::Waiting(path, why) => print(&format!("waits in {}: {why}\n", path.display()))?,
        }
        Ok(Exit::Done)
    }
}

fn sentence(applied: Applied) -> String {
    match applied {
        Applied::Taken { seq, events, repeated, withdrawn } => {
            let but = if withdrawn { "; it was withdrawn before it arrived, so its rows do not count" } else { "" };
            let (events, repeated) = (thousands(events.into()), thousands(repeated.into()));
            format!("document {seq}: {events} new, {repeated} repeat the source's last values{but}\n")
        }
        Applied::Known { seq, withdrawn: false } => format!("document {seq} was there before: nothing has changed\n"),
        Applied::Known { seq, withdrawn: true } => {
            format!("document {seq} was there before and is withdrawn: nothing has changed\n")
        }
    }
}

impl From<LedgerError> for Failure {
    fn from(error: LedgerError) -> Self {
        match error {
            LedgerError::Index(error) => (*error).into(),
            LedgerError::Inbox { path, error } | LedgerError::Archive { path, error } => Failure::io(&path)(error),
            other => Failure::new(Exit::Other, other.to_string()),
        }
    }
}
