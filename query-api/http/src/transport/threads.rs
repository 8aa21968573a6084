//! The threads that serve connections.

use std::{io, thread::available_parallelism, time::Duration};

use tokio::runtime::{Builder, Runtime};

/// Below every time-out of a request.
const TICK: Duration = Duration::from_millis(500);

/// The runtime of a server: threads for connections, and others for the work of operations.
///
/// # Errors
/// Fails if the system has no threads left.
pub fn runtime() -> io::Result<Runtime> {
    let runtime = Builder::new_multi_thread().worker_threads(workers()).enable_all().thread_name("http").build()?;
    runtime.spawn(tick());
    Ok(runtime)
}

/// Threads for connections. Other threads run operations, so half of the processors are enough; and with more of
/// them, each request wakes one more, which costs a fifth of the processor time of a short request.
fn workers() -> usize {
    available_parallelism().map_or(1, |processors| processors.get().div_ceil(2))
}

/// A timer that is always due sooner than those of requests. One that is due before all others wakes the thread that
/// waits for timers and sockets, so each request would wake it twice, for time-outs that hardly ever come.
async fn tick() {
    loop {
        tokio::time::sleep(TICK).await;
    }
}
