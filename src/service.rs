//! Opens the service state for the commands.

use cairn_state::{State, StateError, StateUrl};

use crate::exit::{Exit, Failure};

/// Opens the service state for a server. The server starts even if the database is unreachable; until it is reachable
/// again, keys and sessions count as absent.
///
/// # Errors
/// An operator must act, for example because a newer program changed the schema.
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
            StateError::Label | StateError::Time => Failure::usage(message),
            _ if error.is_disk_full() => Failure::new(Exit::DiskFull, message),
            StateError::Newer { .. } => {
                Failure::new(Exit::Other, message).hint("run the newer version, or restore a backup of the database")
            }
            StateError::File { .. } => {
                Failure::new(Exit::Other, message).hint("--datadir must name an existing, writable folder")
            }
            _ => Failure::new(Exit::Other, message),
        }
    }
}
