//! Look-ups of hashes.

use crate::{
    State, StateError,
    keys::to_stored,
    pool::sql,
    timestamps::{
        batch::BatchNodes,
        hash::TimestampSource,
        record::{TimestampRecord, WaitingTimestamps},
    },
};

const BY_HASH: &str = "SELECT hash, nonce, commitment, source, submitted_at, batch, position FROM timestamp_hashes \
    WHERE network = $1 AND hash = $2";
const BY_COMMITMENT: &str = "SELECT hash, nonce, commitment, source, submitted_at, batch, position FROM timestamp_hashes \
    WHERE network = $1 AND commitment = $2";
const NODES: &str = "SELECT hashes FROM timestamp_nodes WHERE batch = $1 AND level = $2 AND part = $3";
const COUNT: &str = "SELECT count(*) FROM (SELECT 1 AS one FROM timestamp_hashes WHERE network = $1 AND batch IS NULL \
    LIMIT $2) AS waiting";
const OLDEST: &str = "SELECT submitted_at FROM timestamp_hashes WHERE network = $1 AND batch IS NULL \
    ORDER BY submitted_at, commitment LIMIT 1";

type StoredHash = (Vec<u8>, Vec<u8>, Vec<u8>, String, i64, Option<i64>, Option<i64>);

impl State {
    /// The record of a hash; `None` if it was never handed in.
    pub async fn timestamp(&self, network: &str, hash: &[u8]) -> Result<Option<TimestampRecord>, StateError> {
        self.timestamp_by(BY_HASH, network, hash).await
    }

    /// The record of a commitment, by which clients ask a calendar; `None` for an unknown one.
    pub async fn timestamp_of_commitment(
        &self,
        network: &str,
        commitment: &[u8; 32],
    ) -> Result<Option<TimestampRecord>, StateError> {
        self.timestamp_by(BY_COMMITMENT, network, commitment).await
    }

    async fn timestamp_by(
        &self,
        by: &'static str,
        network: &str,
        bytes: &[u8],
    ) -> Result<Option<TimestampRecord>, StateError> {
        self.ready().await?;
        let row: Option<StoredHash> =
            sql(by).bind(network).bind(bytes).first(&self.reads, "cannot look up a timestamp").await?;
        let Some((hash, nonce, commitment, source, submitted_at, batch, position)) = row else { return Ok(None) };
        let bad = |what: &str| StateError::Row(format!("timestamp {} {what}", hex::encode(&commitment)));
        let batch = match (batch, position) {
            (None, None) => None,
            (Some(id), Some(position)) => {
                let batch = self.batch(id).await?.ok_or_else(|| bad("names a batch that does not exist"))?;
                let position = u32::try_from(position).ok().filter(|position| *position < batch.leaves);
                Some((batch, position.ok_or_else(|| bad("has a position that its batch does not have"))?))
            }
            _ => return Err(bad("has half a position")),
        };
        Ok(Some(TimestampRecord {
            nonce: nonce.try_into().map_err(|_| bad("has a nonce of another length"))?,
            source: TimestampSource::named(&source).ok_or_else(|| bad("has an unknown source"))?,
            submitted_at: u64::try_from(submitted_at).map_err(|_| bad("has an invalid time"))?,
            commitment: commitment.as_slice().try_into().map_err(|_| bad("has another length"))?,
            hash,
            batch,
        }))
    }

    /// A part of the tree of a batch.
    ///
    /// # Errors
    /// Fails if the batch has no such part.
    pub async fn batch_nodes(&self, batch: i64, level: u8, part: u32) -> Result<BatchNodes, StateError> {
        self.ready().await?;
        let key = (batch, level, part);
        if let Some(hashes) = self.timestamps.part(key) {
            return Ok(BatchNodes { level, part, hashes: hashes.as_ref().clone() });
        }
        let find = sql(NODES).bind(batch).bind(i64::from(level)).bind(i64::from(part));
        let hashes: Option<Vec<u8>> = find.first_value(&self.reads, "cannot read the tree of a batch").await?;
        let missing = || StateError::Row(format!("batch {batch} lacks part {part} of level {level} of its tree"));
        let hashes = hashes.ok_or_else(missing)?;
        self.timestamps.put_part(key, &hashes);
        Ok(BatchNodes { level, part, hashes })
    }

    /// Counts the hashes that wait for a batch, up to `limit`.
    pub async fn waiting_timestamps(&self, network: &str, limit: u64) -> Result<WaitingTimestamps, StateError> {
        let limit = to_stored(limit)?;
        self.ready().await?;
        let what = "cannot count timestamps that wait";
        let count: i64 = sql(COUNT).bind(network).bind(limit).value(&self.reads, what).await?;
        let oldest: Option<i64> = sql(OLDEST).bind(network).first_value(&self.reads, what).await?;
        Ok(WaitingTimestamps {
            count: u64::try_from(count).unwrap_or_default(),
            oldest: oldest.and_then(|at| u64::try_from(at).ok()),
        })
    }
}
