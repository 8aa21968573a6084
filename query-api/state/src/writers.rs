//! How far the process is that writes the index, for servers on other machines.

use crate::{State, StateError, keys::to_stored, pool::sql};

/// The newest tip of the index that is written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WriterTip {
    /// Height of its newest block.
    pub height: u32,
    /// That block's hash, in hex.
    pub hash: String,
    /// The newest input event; 0 if there is none.
    pub event_seq: u64,
    /// Height of the best chain that its source knows, indexed or not; `None` if unknown.
    pub best_height: Option<u32>,
    /// When it was published, in seconds since 1970.
    pub published_at: u64,
}

const PUBLISH: &str = "INSERT INTO writers (network, height, hash, event_seq, best_height, published_at) \
    VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (network) DO UPDATE SET height = excluded.height, hash = excluded.hash, \
    event_seq = excluded.event_seq, best_height = excluded.best_height, published_at = excluded.published_at";
const READ: &str = "SELECT height, hash, event_seq, best_height, published_at FROM writers WHERE network = $1";

impl State {
    /// Publishes the tip of the index that this process writes. It replaces the one before.
    pub async fn publish_writer_tip(&self, network: &str, tip: &WriterTip) -> Result<(), StateError> {
        let (seq, at) = (to_stored(tip.event_seq)?, to_stored(tip.published_at)?);
        self.ready().await?;
        let publish = sql(PUBLISH).bind(network).bind(i64::from(tip.height)).bind(&tip.hash).bind(seq);
        publish.bind(tip.best_height.map(i64::from)).bind(at).run(&self.pool, "cannot publish the tip").await.map(drop)
    }

    /// The tip that the writer of a network's index has published last; `None` if none has.
    pub async fn writer_tip(&self, network: &str) -> Result<Option<WriterTip>, StateError> {
        self.ready().await?;
        let row: Option<(i64, String, i64, Option<i64>, i64)> =
            sql(READ).bind(network).first(&self.reads, "cannot read the tip of the writer").await?;
        let Some((height, hash, seq, best_height, at)) = row else { return Ok(None) };
        let bad = |number: i64| StateError::Row(format!("the tip of the writer has an invalid number: {number}"));
        let height_of = |number: i64| u32::try_from(number).map_err(|_| bad(number));
        let number = |number: i64| u64::try_from(number).map_err(|_| bad(number));
        Ok(Some(WriterTip {
            height: height_of(height)?,
            hash,
            event_seq: number(seq)?,
            best_height: best_height.map(height_of).transpose()?,
            published_at: number(at)?,
        }))
    }
}
