//! Opens the service state for the commands.

use std::{sync::Arc, time::Duration};

use cairn_clock::now_secs;
use cairn_model::Part;
use cairn_operations::TroubleSlot;
use cairn_state::{State, StateError, StateUrl};
use tokio::time::{sleep, timeout};

use crate::exit::{Exit, Failure};

/// Interval between checks of the database.
const LOOK: Duration = Duration::from_secs(1);
const PATIENCE: Duration = Duration::from_secs(2);
/// Behaviour of the server while the database cannot be used.
const NEXT: &str =
    "tries again every second; keys and sessions count as absent, and requests that need the database get 503";

/// Checks the database of the service state once a second, and reports in `troubles` while it is unusable.
pub(crate) async fn watch(state: State, troubles: Arc<TroubleSlot>) {
    let mut reported = None;
    loop {
        let why = match timeout(PATIENCE, state.probe()).await {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(error.brief()),
            Err(_) => Some("it does not answer in time"),
        };
        match why {
            Some(why) => {
                let reason = format!("the database of the service state: {why}");
                if reported != Some(why) {
                    tracing::warn!(part = Part::State.name(), reason, next = NEXT, "reads of the index go on");
                }
                troubles.set(Part::State, &reason, NEXT, now_secs());
            }
            None => {
                if let Some(since) = troubles.clear(Part::State) {
                    let seconds = now_secs().saturating_sub(since);
                    tracing::info!(part = Part::State.name(), seconds, "it works again");
                }
            }
        }
        reported = why;
        sleep(LOOK).await;
    }
}

/// Opens the service state for a server. The server starts even if the database is unreachable; until it is reachable
/// again, keys and sessions count as absent.
///
/// # Errors
/// Fails only if an operator must act, for example because a newer program changed the schema.
pub(crate) async fn open(url: &StateUrl) -> Result<State, Failure> {
    let state = State::of(url);
    match state.ready().await {
        Ok(()) => tracing::info!(database = %url, "service state opened"),
        Err(error) if error.may_pass() => {
            tracing::warn!(database = %url, %error, "service state unreachable: keys and sessions count as absent");
        }
        Err(error) => return Err(error.into()),
    }
    Ok(state)
}

impl From<StateError> for Failure {
    fn from(error: StateError) -> Self {
        let message = error.to_string();
        match error {
            StateError::Url(_) => Failure::usage(message).hint("correct --state-url, CAIRN_STATE_URL or state_url"),
            StateError::Label | StateError::Time | StateError::SalesRange => Failure::usage(message),
            _ if error.is_disk_full() => Failure::new(Exit::DiskFull, message),
            StateError::Newer { .. } => {
                Failure::new(Exit::Other, message).hint("run the newer version, or restore a backup of the database")
            }
            StateError::Lost { .. } => Failure::new(Exit::Other, message).hint(
                "put back the database with its -wal file; or put a backup in its place and run `cairn state accept`; \
                 or create an empty database with `cairn state accept --new`",
            ),
            StateError::File { .. } => {
                Failure::new(Exit::Other, message).hint("--datadir must name an existing, writable folder")
            }
            _ => Failure::new(Exit::Other, message),
        }
    }
}
