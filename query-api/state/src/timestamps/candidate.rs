//! Candidates: the signed transactions of a batch. They are stored before they are sent, so that after a crash the same
//! bytes are sent again.

use crate::{State, StateError, keys::to_stored, pool::sql, timestamps::lease::AnchorLease};

/// A signed transaction to store.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewCandidate {
    /// Its id, in the order of its bytes.
    pub txid: [u8; 32],
    /// Its bytes, with witness.
    pub raw: Vec<u8>,
    /// Its fee.
    pub fee_sats: u64,
    /// Its virtual size.
    pub vsize: u32,
}

/// A stored transaction. All times are in seconds since 1970.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Candidate {
    /// The transaction.
    pub transaction: NewCandidate,
    /// When it was stored.
    pub made_at: u64,
    /// When a node accepted it last; `None` if none has.
    pub sent_at: Option<u64>,
}

const INSERT: &str = "INSERT INTO timestamp_candidates (batch, txid, raw, fee_sats, vsize, made_at) \
    SELECT $1, $2, $3, $4, $5, $6 WHERE EXISTS (SELECT 1 FROM timestamp_batches WHERE id = $1 AND network = $7 \
    AND state NOT IN ('final', 'failed')) ON CONFLICT DO NOTHING";
const LIST: &str = "SELECT txid, raw, fee_sats, vsize, made_at, sent_at FROM timestamp_candidates WHERE batch = $1 \
    ORDER BY made_at, txid";
const SENT: &str = "UPDATE timestamp_candidates SET sent_at = $1 WHERE batch = $2 AND txid = $3";
const BROADCAST: &str = "UPDATE timestamp_batches SET state = 'broadcast', txid = $1, fence = $2, changed_at = $3 \
    WHERE id = $4 AND network = $5 AND state IN ('aggregated', 'broadcast')";
// Replacements of one batch exclude each other, so the dearest of them counts.
const FEES: &str = "SELECT CAST(COALESCE(sum(fee), 0) AS BIGINT) FROM (SELECT max(c.fee_sats) AS fee \
    FROM timestamp_candidates AS c JOIN timestamp_batches AS b ON b.id = c.batch \
    WHERE b.network = $1 AND c.made_at >= $2 GROUP BY c.batch) AS spent";

type StoredCandidate = (Vec<u8>, Vec<u8>, i64, i64, i64, Option<i64>);

impl State {
    /// Stores a signed transaction of a batch; does nothing if it is stored already. Call it before the transaction is
    /// sent. Returns false if it was not stored now.
    ///
    /// # Errors
    /// Fails if another process holds the lease.
    pub async fn add_candidate(
        &self,
        lease: &AnchorLease,
        batch: i64,
        new: &NewCandidate,
        now: u64,
    ) -> Result<bool, StateError> {
        let (at, fee) = (to_stored(now)?, to_stored(new.fee_sats)?);
        let what = "cannot store a transaction of timestamps";
        let mut tx = self.begin_under(lease, what).await?;
        let insert = sql(INSERT).bind(batch).bind(new.txid.as_slice()).bind(new.raw.as_slice()).bind(fee);
        let insert = insert.bind(i64::from(new.vsize)).bind(at).bind(&lease.network);
        let stored = insert.run(&mut tx, what).await?;
        tx.commit(what).await?;
        self.changed().await;
        Ok(stored > 0)
    }

    /// Records that a node accepted a stored transaction: the batch is broadcast, if no block has it.
    ///
    /// # Errors
    /// Fails if another process holds the lease.
    pub async fn mark_sent(
        &self,
        lease: &AnchorLease,
        batch: i64,
        txid: &[u8; 32],
        now: u64,
    ) -> Result<(), StateError> {
        let at = to_stored(now)?;
        let what = "cannot record a transaction of timestamps";
        let mut tx = self.begin_under(lease, what).await?;
        let sent = sql(SENT).bind(at).bind(batch).bind(txid.as_slice());
        sent.run(&mut tx, what).await?;
        let change = sql(BROADCAST).bind(txid.as_slice()).bind(lease.fence).bind(at);
        change.bind(batch).bind(&lease.network).run(&mut tx, what).await?;
        tx.commit(what).await?;
        self.changed().await;
        Ok(())
    }

    /// The stored transactions of a batch, the oldest first.
    pub async fn candidates(&self, batch: i64) -> Result<Vec<Candidate>, StateError> {
        self.ready().await?;
        let rows: Vec<StoredCandidate> =
            sql(LIST).bind(batch).all(&self.reads, "cannot list transactions of timestamps").await?;
        let bad = || StateError::Row(format!("a transaction of batch {batch} of timestamps is invalid"));
        let number = |number: i64| u64::try_from(number).map_err(|_| bad());
        let candidate = |(txid, raw, fee, vsize, made_at, sent_at): StoredCandidate| {
            let txid = txid.try_into().map_err(|_| bad())?;
            let vsize = u32::try_from(vsize).map_err(|_| bad())?;
            let transaction = NewCandidate { txid, raw, fee_sats: number(fee)?, vsize };
            Ok(Candidate { transaction, made_at: number(made_at)?, sent_at: sent_at.map(number).transpose()? })
        };
        rows.into_iter().map(candidate).collect()
    }

    /// Fees in satoshis of the transactions that were stored since a time (seconds since 1970). Replacements count
    /// once, with the highest fee.
    pub async fn anchor_fees_since(&self, network: &str, since: u64) -> Result<u64, StateError> {
        let since = to_stored(since)?;
        self.ready().await?;
        let sum: i64 =
            sql(FEES).bind(network).bind(since).value(&self.reads, "cannot add up fees of timestamps").await?;
        u64::try_from(sum).map_err(|_| StateError::Row("fees of timestamps are below zero".to_owned()))
    }
}
