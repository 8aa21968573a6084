//! Removes old rows of sales from the service state while a server runs.

use std::time::Duration;

use cairn_clock::now_secs;
use cairn_state::{State, StateError};
use tokio::time::sleep;

const PAUSE: Duration = Duration::from_secs(600);
/// Time for which rows that sold nothing are kept after their end: in this week, `cairn access reconcile` finds
/// payments that were never redeemed.
const KEPT_SECS: u64 = 7 * 86_400;

/// Removes old rows again and again. Never ends by itself. Any number of processes may do so on one database.
pub(crate) async fn remove_old_sales(state: State) {
    loop {
        sleep(PAUSE).await;
        match remove(&state, now_secs()).await {
            Ok(0) => {}
            Ok(rows) => tracing::debug!(rows, "old rows of sales are removed"),
            Err(error) => tracing::warn!(%error, "old rows of sales are not removed"),
        }
    }
}

/// Removes all rows that are old at `now`, in seconds since 1970. Returns their number.
async fn remove(state: &State, now: u64) -> Result<u64, StateError> {
    let mut removed = 0;
    loop {
        // Each call removes a part, so that others can write in between.
        let part = state.purge_challenges(now, KEPT_SECS).await?
            + state.purge_x402_payments(now, KEPT_SECS).await?
            + state.purge_simulated_invoices(now, KEPT_SECS).await?
            + state.purge_checkouts(now).await?;
        removed += part;
        if part == 0 {
            return Ok(removed);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use cairn_state::{SimulatedInvoice, StateUrl};

    use super::*;

    #[tokio::test]
    async fn rows_stay_for_a_week() {
        let folder = cairn_testkit::temp_dir();
        let state = State::open(&StateUrl::in_folder(folder.path())).await.unwrap();
        for number in 0..3 {
            let invoice = SimulatedInvoice {
                label: format!("label {number}"),
                payment_hash: [number; 32],
                preimage: [number; 32],
                bolt11: "lnbcrt".to_owned(),
                amount_sats: 1,
                expires_at: 1_000 + u64::from(number),
                paid_at: None,
            };
            assert!(state.add_simulated_invoice(&invoice).await.unwrap());
        }
        assert_eq!(remove(&state, 999 + KEPT_SECS).await.unwrap(), 0);
        assert_eq!(remove(&state, 1_001 + KEPT_SECS).await.unwrap(), 2);
        assert_eq!(remove(&state, 1_001 + KEPT_SECS).await.unwrap(), 0);
    }
}
