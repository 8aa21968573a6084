//! Large bodies: their price, and the thread on which they are parsed.

use tokio::task::spawn_blocking;

use crate::answers::error::ApiError;

/// Bytes of a body that the units of a request cover. Each further part of this size costs a unit.
pub(crate) const BODY_PART: usize = 64 << 10;

/// Units that the size of a body costs, besides those of the request. They are charged before the body is parsed.
pub(crate) fn units_of_body(bytes: usize) -> u32 {
    u32::try_from(bytes.saturating_sub(1) / BODY_PART).unwrap_or(u32::MAX)
}

/// Runs `work`, which takes time in proportion to `bytes`: on a blocking thread if they are many, so that the
/// asynchronous workers stay free for others.
///
/// # Errors
/// Returns 500 if `work` panicked.
pub(crate) async fn off_workers<T: Send + 'static>(
    bytes: usize,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ApiError> {
    if bytes <= BODY_PART {
        return Ok(work());
    }
    spawn_blocking(work).await.map_err(|error| {
        tracing::error!(%error, "reading a large body panicked");
        ApiError::internal()
    })
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn each_further_part_costs_a_unit() {
        for (bytes, units) in [
            (0, 0),
            (1, 0),
            (BODY_PART, 0),
            (BODY_PART + 1, 1),
            (2 * BODY_PART, 1),
            (2 * BODY_PART + 1, 2),
            (1 << 20, 15),
        ] {
            assert_eq!(units_of_body(bytes), units, "{bytes}");
        }
    }

    #[tokio::test]
    async fn large_work_leaves_the_worker() {
        let own = thread::current().id();
        assert_eq!(off_workers(BODY_PART, || thread::current().id()).await.unwrap(), own);
        assert_ne!(off_workers(BODY_PART + 1, || thread::current().id()).await.unwrap(), own);
    }
}
