//! Numbers of passes and checkouts.

use crate::{State, StateError, keys::to_stored, pool::sql};

/// Numbers of passes and checkouts. Passes that were sold count while their rows are kept and their payment stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PassCounts {
    /// Checkouts that can be paid.
    pub open_checkouts: u64,
    /// Passes that are suspended because the chain lacks their payment.
    pub reverted: u64,
    /// Passes that were paid over Lightning.
    pub over_lightning: u64,
    /// Sum of their prices.
    pub over_lightning_sats: u64,
    /// Passes that were paid on chain.
    pub on_chain: u64,
    /// Sum of their prices.
    pub on_chain_sats: u64,
}

const WAITING: &str = "SELECT (SELECT count(*) FROM checkouts WHERE first_paid_at IS NULL AND expires_at > $1), \
    (SELECT count(*) FROM checkouts WHERE first_paid_at IS NOT NULL AND reverted_at IS NOT NULL)";
const SOLD: &str = "SELECT count(*), CAST(coalesce(sum(price_sats), 0) AS BIGINT) FROM checkouts \
    WHERE first_paid_at IS NOT NULL AND reverted_at IS NULL AND method = $1";

impl State {
    /// Counts passes, and the checkouts that are open at `now` (seconds since 1970).
    pub async fn pass_counts(&self, now: u64) -> Result<PassCounts, StateError> {
        let at = to_stored(now)?;
        self.ready().await?;
        let number = |count: i64| u64::try_from(count).unwrap_or_default();
        let (open, reverted): (i64, i64) = sql(WAITING).bind(at).row(&self.reads, "cannot count checkouts").await?;
        let mut sold: [(i64, i64); 2] = [(0, 0); 2];
        for (method, sums) in ["lightning", "onchain"].into_iter().zip(&mut sold) {
            *sums = sql(SOLD).bind(method).row(&self.reads, "cannot count passes").await?;
        }
        let [(over_lightning, over_lightning_sats), (on_chain, on_chain_sats)] = sold;
        Ok(PassCounts {
            open_checkouts: number(open),
            reverted: number(reverted),
            over_lightning: number(over_lightning),
            over_lightning_sats: number(over_lightning_sats),
            on_chain: number(on_chain),
            on_chain_sats: number(on_chain_sats),
        })
    }
}
