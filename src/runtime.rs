//! The runtime of commands and threads that wait for the service state.

use std::io;

use tokio::runtime::{Builder, Runtime};

/// Builds a runtime that runs its tasks on the calling thread.
pub(crate) fn current_thread() -> io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}
