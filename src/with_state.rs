//! Runs the work of a command on the service state, without a server.

use std::io;

use cairn_state::{State, StateError, StateUrl};

use crate::runtime::current_thread;

/// Opens the service state, waits until `work` on it is done, and closes it, also after a failure. Call it outside of a
/// runtime.
///
/// # Errors
/// Fails if the state cannot be opened, or `work` fails.
pub(crate) fn with_state<T, E: From<io::Error> + From<StateError>>(
    url: &StateUrl,
    work: impl AsyncFnOnce(&State) -> Result<T, E>,
) -> Result<T, E> {
    current_thread()?.block_on(async {
        let state = State::open(url).await?;
        let result = work(&state).await;
        state.close().await;
        result
    })
}
