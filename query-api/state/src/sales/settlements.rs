//! How a payment of x402 is settled once, also if a process dies meanwhile.

use crate::{
    State, StateError,
    keys::to_stored,
    pool::{Statement, sql},
    sales::{
        limits::{PURGED_AT_ONCE, SALES_KEPT_SECS},
        x402_payment::{SettlementOutcome, StoredX402Payment, X402Payment, X402PaymentKey, payment_columns},
        x402_payments::{X402Lease, of_key},
    },
};

const BEGIN: &str = "UPDATE x402_payments SET state = 'settling', leased_until = $7, changed_at = $8 WHERE chain_id = $1 \
    AND asset = $2 AND payer = $3 AND nonce = $4 AND holder = $5 AND fence = $6 AND state = 'taken'";
// The holder answers right after it, so that a settled payment is delivered by the same statement. Only the first
// outcome counts.
const FINISH: &str = "UPDATE x402_payments SET state = $7, transaction_id = $8, reason = $9, leased_until = $10, \
    changed_at = $10, settled_at = CASE WHEN $7 = 'settled' THEN $10 END, \
    delivered_at = CASE WHEN $7 = 'settled' THEN $10 END WHERE chain_id = $1 \
    AND asset = $2 AND payer = $3 AND nonce = $4 AND holder = $5 AND fence = $6 AND state = 'settling'";
// The fencing number goes up, so that a holder that comes back late changes nothing.
const RECONCILE: &str = "UPDATE x402_payments SET state = $5, transaction_id = $6, reason = $7, changed_at = $8, \
    leased_until = $8, settled_at = CASE WHEN $5 = 'settled' THEN $8 END, fence = fence + 1 WHERE chain_id = $1 \
    AND asset = $2 AND payer = $3 AND nonce = $4 \
    AND (state = 'unknown' OR (state = 'settling' AND leased_until <= $8))";
const DELIVER: &str = "UPDATE x402_payments SET delivered_at = COALESCE(delivered_at, $7) WHERE chain_id = $1 \
    AND asset = $2 AND payer = $3 AND nonce = $4 AND holder = $5 AND fence = $6 AND state = 'settled'";
const RELEASE: &str = "UPDATE x402_payments SET leased_until = 0 WHERE chain_id = $1 AND asset = $2 AND payer = $3 \
    AND nonce = $4 AND holder = $5 AND fence = $6 AND (state = 'taken' OR (state = 'settled' AND delivered_at IS NULL))";
const RELEASE_UNSENT: &str = "UPDATE x402_payments SET state = 'taken', leased_until = 0, changed_at = $7 \
    WHERE chain_id = $1 AND asset = $2 AND payer = $3 AND nonce = $4 AND holder = $5 AND fence = $6 \
    AND state = 'settling'";
const OPEN: &str = payment_columns!(
    "WHERE state IN ('settling', 'unknown') AND (state = 'unknown' OR leased_until <= $1) AND valid_before > $3 \
    ORDER BY changed_at LIMIT $2"
);
// The outer conditions hold also for a row that a request changes meanwhile.
const PURGE_UNSETTLED: &str = "DELETE FROM x402_payments WHERE state IN ('taken', 'refused') AND leased_until <= $2 \
    AND (chain_id, asset, payer, nonce) IN (SELECT chain_id, asset, payer, nonce FROM x402_payments \
    WHERE state IN ('taken', 'refused') AND valid_before <= $1 AND leased_until <= $2 ORDER BY valid_before LIMIT $3)";
const PURGE_SETTLED: &str = "DELETE FROM x402_payments WHERE (chain_id, asset, payer, nonce) IN \
    (SELECT chain_id, asset, payer, nonce FROM x402_payments WHERE state = 'settled' AND settled_at <= $1 \
    AND valid_before <= $2 ORDER BY settled_at LIMIT $3)";

/// Seconds after the end of an authorization in which the outcome of its payment is asked for: later a facilitator has
/// nothing new.
const MAX_ASKED_SECS: u64 = 86_400;

/// Binds a lease to the first six parameters of a statement.
fn of_lease<'q>(text: &'static str, lease: &'q X402Lease) -> Result<Statement<'q>, StateError> {
    Ok(of_key(text, &lease.key)?.bind(&lease.holder).bind(lease.fence))
}

impl State {
    /// Notes that the holder begins to settle a payment; it then has `ttl_secs` to hear the outcome. Returns false if
    /// the lease is another one's by now: then nothing may be settled. `now` is in seconds since 1970.
    ///
    /// # Errors
    /// Fails if a time is out of range. If the database fails, nothing may be settled.
    pub async fn begin_settling(&self, lease: &X402Lease, ttl_secs: u64, now: u64) -> Result<bool, StateError> {
        let (at, end) = (to_stored(now)?, to_stored(now.saturating_add(ttl_secs))?);
        self.ready().await?;
        let begin = of_lease(BEGIN, lease)?.bind(end).bind(at);
        Ok(begin.run(&self.pool, "cannot begin to settle a payment").await? > 0)
    }

    /// Records the outcome that the holder heard. If it is settled and this returns true, the answer is noted as given
    /// out, on disk, and may be sent. Returns false if somebody else has found out the outcome meanwhile: take the
    /// payment again to learn it. `now` is in seconds since 1970.
    ///
    /// # Errors
    /// Fails if the transaction's name is empty or too long, or if the time is out of range.
    pub async fn finish_settling(
        &self,
        lease: &X402Lease,
        outcome: &SettlementOutcome,
        now: u64,
    ) -> Result<bool, StateError> {
        let (at, (state, transaction, reason)) = (to_stored(now)?, outcome.stored()?);
        self.ready().await?;
        let finish = of_lease(FINISH, lease)?.bind(state).bind(transaction).bind(reason).bind(at);
        Ok(finish.run(&self.pool, "cannot record the outcome of a settlement").await? > 0)
    }

    /// Records the outcome of a payment that is [open](State::open_settlements), as it was found out. A settled one is
    /// then owed: the next request with it gets its answer. Returns false if it is not open: another one was first.
    /// `now` is in seconds since 1970.
    ///
    /// # Errors
    /// Fails if the transaction's name is empty or too long, or if a number is out of range.
    pub async fn reconcile_x402_payment(
        &self,
        key: &X402PaymentKey,
        outcome: &SettlementOutcome,
        now: u64,
    ) -> Result<bool, StateError> {
        let (at, (state, transaction, reason)) = (to_stored(now)?, outcome.stored()?);
        self.ready().await?;
        let reconcile = of_key(RECONCILE, key)?.bind(state).bind(transaction).bind(reason).bind(at);
        Ok(reconcile.run(&self.pool, "cannot record the outcome of a settlement").await? > 0)
    }

    /// Notes that the answer to an owed payment is given out. When this returns true, it is on disk, and the answer may
    /// be sent. Returns false if the lease is another one's by now. Repeating it with the same lease is true again.
    /// `now` is in seconds since 1970.
    pub async fn deliver_x402_payment(&self, lease: &X402Lease, now: u64) -> Result<bool, StateError> {
        let at = to_stored(now)?;
        self.ready().await?;
        let deliver = of_lease(DELIVER, lease)?.bind(at);
        Ok(deliver.run(&self.pool, "cannot note that a payment is answered").await? > 0)
    }

    /// Gives a payment back that was not settled by this request, for example because the operation failed. Returns
    /// false if the lease is another one's by now, or if its settlement has begun.
    pub async fn release_x402_payment(&self, lease: &X402Lease) -> Result<bool, StateError> {
        self.ready().await?;
        let release = of_lease(RELEASE, lease)?;
        Ok(release.run(&self.pool, "cannot give a payment back").await? > 0)
    }

    /// Gives back a payment that is being settled. The caller is certain that nothing was sent to anyone. It can then
    /// pay any request. Returns false if the lease is another one's by now. `now` is in seconds since 1970.
    pub async fn release_unsent_x402_payment(&self, lease: &X402Lease, now: u64) -> Result<bool, StateError> {
        let at = to_stored(now)?;
        self.ready().await?;
        let release = of_lease(RELEASE_UNSENT, lease)?.bind(at);
        Ok(release.run(&self.pool, "cannot give a payment back").await? > 0)
    }

    /// Payments whose outcome nobody knows, the one first that changed longest ago, at most `limit`: the answer was
    /// unclear, or the process died while it settled. `now` is in seconds since 1970.
    pub async fn open_settlements(&self, now: u64, limit: u32) -> Result<Vec<X402Payment>, StateError> {
        self.open_since(now, 0, limit).await
    }

    /// Those of the [open settlements](State::open_settlements) whose authorization did not end more than a day ago: a
    /// facilitator may have something new. `now` is in seconds since 1970.
    pub async fn settlements_to_ask(&self, now: u64, limit: u32) -> Result<Vec<X402Payment>, StateError> {
        self.open_since(now, now.saturating_sub(MAX_ASKED_SECS), limit).await
    }

    async fn open_since(&self, now: u64, since: u64, limit: u32) -> Result<Vec<X402Payment>, StateError> {
        let (at, since, limit) = (to_stored(now)?, to_stored(since)?, i64::from(limit));
        self.ready().await?;
        let rows: Vec<StoredX402Payment> =
            sql(OPEN).bind(at).bind(limit).bind(since).all(&self.reads, "cannot list payments").await?;
        rows.into_iter().map(StoredX402Payment::read).collect()
    }

    /// Removes payments that were not settled, `kept_secs` after the end of their authorization, and settled ones after
    /// [`SALES_KEPT_SECS`]; at most 1,000 of each. Returns their number: call again until it is 0. Those whose outcome
    /// is not known stay. `now` is in seconds since 1970.
    pub async fn purge_x402_payments(&self, now: u64, kept_secs: u64) -> Result<u64, StateError> {
        let (at, unsettled) = (to_stored(now)?, to_stored(now.saturating_sub(kept_secs))?);
        let settled = to_stored(now.saturating_sub(SALES_KEPT_SECS))?;
        self.ready().await?;
        let mut removed = 0;
        for (purge, before) in [(PURGE_UNSETTLED, unsettled), (PURGE_SETTLED, settled)] {
            let purge = sql(purge).bind(before).bind(at).bind(PURGED_AT_ONCE);
            removed += purge.run(&self.pool, "cannot remove old payments").await?;
        }
        Ok(removed)
    }
}
