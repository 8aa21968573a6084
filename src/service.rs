//! The service state, as the commands use it.

use cairn_state::{State, StateError, StateUrl};

use crate::exit::{Exit, Failure};

/// The service state of a server. A database that is away for now is no reason not to serve: until it is back, keys
/// count as absent.
///
/// # Errors
/// A person is needed: the schema is a newer program's, say.
pub(crate) async fn open(url: &StateUrl) -> Result<State, Failure> {
    let state = State::of(url);
    match state.ready().await {
        Ok(()) => tracing::info!(database = %url, "service state opened"),
        Err(error) if error.may_pass() => {
            tracing::warn!(database = %url, %error, "no service state for now: keys and sessions count as absent");
        }
        Err(error) => return Err(error.into()),
    }
    Ok(state)
}

impl From<StateError> for Failure {
    fn from(error: StateError) -> Self {
        let message = error.to_string();
        match error {
            StateError::Url(_) => Failure::usage(message).hint("--state-url, CAIRN_STATE_URL or state_url names it"),
            StateError::Label | StateError::Time => Failure::usage(message),
            _ if error.is_disk_full() => Failure::new(Exit::DiskFull, message),
            StateError::Newer { .. } => {
                Failure::new(Exit::Other, message).hint("run that version, or go back to a copy of the database")
            }
            StateError::File { .. } => {
                Failure::new(Exit::Other, message).hint("--datadir names a folder that is there and can be written")
            }
            _ => Failure::new(Exit::Other, message),
        }
    }
}
