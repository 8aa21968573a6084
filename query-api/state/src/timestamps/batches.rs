//! How batches are made and followed.

use crate::{
    State, StateError,
    keys::to_stored,
    pool::sql,
    timestamps::{
        batch::{Batch, BatchConfirmation, BatchState, BatchTree, MAX_BATCH_HASHES},
        lease::AnchorLease,
    },
};

const MAX_LISTED: u32 = 1_000;
/// Maximum length of a reason, in characters; a longer one is cut.
const MAX_REASON_CHARS: usize = 500;

// The set is fixed by this statement, so hashes that arrive meanwhile change nothing.
const CHOOSE: &str = "UPDATE timestamp_hashes SET batch = $1, position = chosen.place FROM (SELECT leaf, \
    row_number() OVER (ORDER BY at, leaf) - 1 AS place FROM (SELECT commitment AS leaf, submitted_at AS at \
    FROM timestamp_hashes WHERE network = $2 AND batch IS NULL ORDER BY submitted_at, commitment LIMIT $3) AS waiting) \
    AS chosen WHERE commitment = chosen.leaf RETURNING commitment, position";
const NEXT: &str = "SELECT CAST(COALESCE(max(id), 0) + 1 AS BIGINT) FROM timestamp_batches";
const INSERT: &str = "INSERT INTO timestamp_batches (id, network, root, leaves, state, fence, made_at, changed_at) \
    VALUES ($1, $2, $3, $4, 'aggregated', $5, $6, $6)";
const INSERT_NODES: &str = "INSERT INTO timestamp_nodes (batch, level, part, hashes) VALUES ($1, $2, $3, $4)";
const ONE: &str = "SELECT id, network, root, leaves, state, fence, made_at, changed_at, failure, txid, height, block_hash, \
    proof FROM timestamp_batches WHERE id = $1";
const OPEN: &str = "SELECT id, network, root, leaves, state, fence, made_at, changed_at, failure, txid, height, block_hash, \
    proof FROM timestamp_batches WHERE network = $1 AND state NOT IN ('final', 'failed') ORDER BY id LIMIT $2";
const CONFIRM: &str = "UPDATE timestamp_batches SET state = 'confirmed', txid = $1, height = $2, block_hash = $3, \
    proof = $4, fence = $5, changed_at = $6 WHERE id = $7 AND network = $8 AND state NOT IN ('final', 'failed')";
const UNCONFIRM: &str = "UPDATE timestamp_batches SET state = 'broadcast', height = NULL, block_hash = NULL, proof = NULL, \
    fence = $1, changed_at = $2 WHERE id = $3 AND network = $4 AND state = 'confirmed'";
const FINISH: &str = "UPDATE timestamp_batches SET state = 'final', fence = $1, changed_at = $2 \
    WHERE id = $3 AND network = $4 AND state = 'confirmed'";
const DROP_OTHERS: &str = "DELETE FROM timestamp_candidates WHERE batch = $1 AND txid <> (SELECT txid FROM \
    timestamp_batches WHERE id = $1)";
const FAIL: &str = "UPDATE timestamp_batches SET state = 'failed', failure = $1, fence = $2, changed_at = $3 \
    WHERE id = $4 AND network = $5 AND state IN ('aggregated', 'broadcast')";

type StoredBatch = (
    i64,
    String,
    Vec<u8>,
    i64,
    String,
    i64,
    i64,
    i64,
    Option<String>,
    Option<Vec<u8>>,
    Option<i64>,
    Option<Vec<u8>>,
    Option<Vec<u8>>,
);

fn batch_of(row: StoredBatch) -> Result<Batch, StateError> {
    let (id, network, root, leaves, state, fence, made_at, changed_at, failure, txid, height, block, proof) = row;
    let bad = |what: &str| StateError::Row(format!("batch {id} of timestamps {what}"));
    let hash = |bytes: Vec<u8>| <[u8; 32]>::try_from(bytes).map_err(|_| bad("has a hash of another length"));
    let time = |time: i64| u64::try_from(time).map_err(|_| bad("has an invalid time"));
    let number = |number: i64| u32::try_from(number).map_err(|_| bad("has a number out of range"));
    let txid = txid.map(hash).transpose()?;
    let confirmation = match (txid, height, block, proof) {
        (Some(txid), Some(height), Some(block), Some(proof)) => {
            Some(BatchConfirmation { txid, height: number(height)?, block_hash: hash(block)?, proof })
        }
        (_, None, None, None) => None,
        _ => return Err(bad("lacks a part of its confirmation")),
    };
    let state = BatchState::named(&state).ok_or_else(|| bad("has an unknown state"))?;
    if confirmation.is_some() != matches!(state, BatchState::Confirmed | BatchState::Final) {
        return Err(bad("has a confirmation that its state contradicts"));
    }
    Ok(Batch {
        id,
        network,
        root: hash(root)?,
        leaves: number(leaves)?,
        state,
        fence,
        made_at: time(made_at)?,
        changed_at: time(changed_at)?,
        failure,
        txid,
        confirmation,
    })
}

/// The leaves in their order. Their positions must be 0, 1, 2 and so on.
fn in_order(mut chosen: Vec<(Vec<u8>, i64)>) -> Result<Vec<[u8; 32]>, StateError> {
    chosen.sort_unstable_by_key(|(_, position)| *position);
    let bad = || StateError::Row("hashes of a batch of timestamps are not numbered in order".to_owned());
    let leaf = |(at, (leaf, position)): (usize, (Vec<u8>, i64))| match usize::try_from(position) {
        Ok(position) if position == at => <[u8; 32]>::try_from(leaf).map_err(|_| bad()),
        _ => Err(bad()),
    };
    chosen.into_iter().enumerate().map(leaf).collect()
}

impl State {
    /// Collects the oldest hashes that wait into a batch, at most `max` and at most [`MAX_BATCH_HASHES`]. `tree`
    /// computes the tree of the leaves. Returns `None` if nothing waits. `now` is in seconds since 1970.
    ///
    /// # Errors
    /// Fails if another process holds the lease.
    pub async fn make_batch(
        &self,
        lease: &AnchorLease,
        max: u32,
        now: u64,
        tree: impl FnOnce(&[[u8; 32]]) -> BatchTree,
    ) -> Result<Option<Batch>, StateError> {
        let (at, max) = (to_stored(now)?, i64::from(max.min(MAX_BATCH_HASHES)));
        let what = "cannot make a batch of timestamps";
        let mut tx = self.begin_under(lease, what).await?;
        let batch: i64 = sql(NEXT).value(&mut tx, what).await?;
        let choose = sql(CHOOSE).bind(batch).bind(&lease.network).bind(max);
        let chosen: Vec<(Vec<u8>, i64)> = choose.all(&mut tx, what).await?;
        let leaves = in_order(chosen)?;
        if leaves.is_empty() {
            return Ok(None);
        }
        let tree = tree(&leaves);
        let insert = sql(INSERT).bind(batch).bind(&lease.network).bind(tree.root.as_slice());
        let insert = insert.bind(to_stored(leaves.len() as u64)?).bind(lease.fence).bind(at);
        insert.run(&mut tx, what).await?;
        for nodes in &tree.nodes {
            let insert = sql(INSERT_NODES).bind(batch).bind(i64::from(nodes.level));
            let insert = insert.bind(i64::from(nodes.part)).bind(nodes.hashes.as_slice());
            insert.run(&mut tx, what).await?;
        }
        tx.commit(what).await?;
        self.changed().await;
        self.batch(batch).await
    }

    /// The batch with this number.
    pub async fn batch(&self, id: i64) -> Result<Option<Batch>, StateError> {
        self.ready().await?;
        if let Some(batch) = self.timestamps.batch(id) {
            return Ok(Some(batch.as_ref().clone()));
        }
        let row: Option<StoredBatch> =
            sql(ONE).bind(id).first(&self.reads, "cannot look up a batch of timestamps").await?;
        let batch = row.map(batch_of).transpose()?;
        if let Some(batch) = batch.as_ref().filter(|batch| batch.state == BatchState::Final) {
            self.timestamps.put_batch(batch);
        }
        Ok(batch)
    }

    /// The oldest batches of a network that are neither final nor given up, at most 1,000.
    pub async fn open_batches(&self, network: &str) -> Result<Vec<Batch>, StateError> {
        self.ready().await?;
        let rows: Vec<StoredBatch> = sql(OPEN)
            .bind(network)
            .bind(i64::from(MAX_LISTED))
            .all(&self.reads, "cannot list batches of timestamps")
            .await?;
        rows.into_iter().map(batch_of).collect()
    }

    /// Records the block that has a transaction of a batch. A later one replaces it, until the batch is final. Returns
    /// false if the batch is final or given up.
    ///
    /// # Errors
    /// Fails if another process holds the lease.
    pub async fn confirm_batch(
        &self,
        lease: &AnchorLease,
        batch: i64,
        confirmation: &BatchConfirmation,
        now: u64,
    ) -> Result<bool, StateError> {
        let at = to_stored(now)?;
        let what = "cannot confirm a batch of timestamps";
        let mut tx = self.begin_under(lease, what).await?;
        let confirm = sql(CONFIRM).bind(confirmation.txid.as_slice()).bind(i64::from(confirmation.height));
        let confirm = confirm.bind(confirmation.block_hash.as_slice()).bind(confirmation.proof.as_slice());
        let confirm = confirm.bind(lease.fence).bind(at).bind(batch).bind(&lease.network);
        let changed = confirm.run(&mut tx, what).await?;
        tx.commit(what).await?;
        self.changed().await;
        Ok(changed > 0)
    }

    /// Takes the confirmation of a batch back after a reorganization: its state is broadcast again. Returns false if it
    /// is not confirmed, or final.
    ///
    /// # Errors
    /// Fails if another process holds the lease.
    pub async fn unconfirm_batch(&self, lease: &AnchorLease, batch: i64, now: u64) -> Result<bool, StateError> {
        let at = to_stored(now)?;
        let what = "cannot change a batch of timestamps";
        let mut tx = self.begin_under(lease, what).await?;
        let change = sql(UNCONFIRM).bind(lease.fence).bind(at).bind(batch).bind(&lease.network);
        let changed = change.run(&mut tx, what).await?;
        tx.commit(what).await?;
        self.changed().await;
        Ok(changed > 0)
    }

    /// Makes a confirmed batch final. Its proof never changes after that, and the other candidates are removed. Returns
    /// false if the batch is not confirmed.
    ///
    /// # Errors
    /// Fails if another process holds the lease.
    pub async fn finish_batch(&self, lease: &AnchorLease, batch: i64, now: u64) -> Result<bool, StateError> {
        let at = to_stored(now)?;
        let what = "cannot change a batch of timestamps";
        let mut tx = self.begin_under(lease, what).await?;
        let finish = sql(FINISH).bind(lease.fence).bind(at).bind(batch).bind(&lease.network);
        let changed = finish.run(&mut tx, what).await?;
        if changed > 0 {
            sql(DROP_OTHERS).bind(batch).run(&mut tx, what).await?;
        }
        tx.commit(what).await?;
        self.changed().await;
        Ok(changed > 0)
    }

    /// Gives a batch up that no block has. Its hashes can be handed in again. Returns false if a block has it, or if it
    /// is given up already.
    ///
    /// # Errors
    /// Fails if another process holds the lease.
    pub async fn fail_batch(
        &self,
        lease: &AnchorLease,
        batch: i64,
        reason: &str,
        now: u64,
    ) -> Result<bool, StateError> {
        let at = to_stored(now)?;
        let reason: String = reason.chars().filter(|c| !c.is_control()).take(MAX_REASON_CHARS).collect();
        let what = "cannot change a batch of timestamps";
        let mut tx = self.begin_under(lease, what).await?;
        let fail = sql(FAIL).bind(&reason).bind(lease.fence).bind(at).bind(batch).bind(&lease.network);
        let changed = fail.run(&mut tx, what).await?;
        tx.commit(what).await?;
        self.changed().await;
        Ok(changed > 0)
    }
}
