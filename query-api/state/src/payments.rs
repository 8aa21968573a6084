//! Addresses that clients pay to: one counter for each descriptor, so that no address is given out twice.

use crate::{
    State, StateError,
    keys::to_stored,
    pool::{SqlTx, sql},
    random::random,
};

/// Used indices that are passed over before one is given out.
const MAX_PASSED: u32 = 1_000;

/// Facts about an index of a descriptor before it is given out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum IndexUse {
    /// Nobody has used it: its script, and its address.
    Free {
        /// The script.
        script: Vec<u8>,
        /// The address.
        address: String,
    },
    /// The chain or the mempool has its script.
    Used,
}

/// A counter of a descriptor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PaymentCounter {
    /// A random id that the counter got when it was made.
    pub run: String,
    /// The next index.
    pub next_index: u32,
}

/// Indices of a descriptor that are never given out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PaymentSkip {
    /// SHA-256 of the descriptor in hex.
    pub descriptor: String,
    /// The first one.
    pub first_index: u32,
    /// The index after the last one.
    pub end_index: u32,
    /// When they were skipped, in seconds since 1970.
    pub skipped_at: u64,
}

/// An address that was given out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Allotted {
    /// Its index.
    pub index: u32,
    /// Its script.
    pub script: Vec<u8>,
    /// The address.
    pub address: String,
}

const COUNTER: &str = "SELECT run, next_index FROM payment_counters WHERE descriptor = $1";
const BEGIN: &str =
    "INSERT INTO payment_counters (descriptor, run, next_index) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
const SKIP: &str = "UPDATE payment_counters SET next_index = $1 WHERE descriptor = $2 AND next_index = $3";
const NOTE_SKIP: &str =
    "INSERT INTO payment_skips (descriptor, first_index, end_index, skipped_at) VALUES ($1, $2, $3, $4)";
const SKIPS: &str = "SELECT descriptor, first_index, end_index, skipped_at FROM payment_skips \
    ORDER BY skipped_at, descriptor, first_index LIMIT $1";
const NEXT_INDEX: &str = "SELECT next_index FROM payment_counters WHERE descriptor = $1";
const NOT_GIVEN_OUT: &str = "cannot give out an address";
const ADVANCE: &str = "UPDATE payment_counters SET next_index = $1 WHERE descriptor = $2";
const GIVE_OUT: &str = "INSERT INTO payment_addresses (descriptor, address_index, purpose, script, created_at) \
    VALUES ($1, $2, $3, $4, $5)";

pub(crate) async fn next_index(tx: &mut SqlTx<'_>, descriptor: &str) -> Result<u32, StateError> {
    let next: Option<i64> = sql(NEXT_INDEX).bind(descriptor).first_value(tx, NOT_GIVEN_OUT).await?;
    to_index(next.ok_or_else(|| StateError::Row("the counter of a descriptor is gone".to_owned()))?)
}

pub(crate) async fn give_out(
    tx: &mut SqlTx<'_>,
    descriptor: &str,
    purpose: &str,
    now: i64,
    given: &Allotted,
) -> Result<(), StateError> {
    let place = sql(GIVE_OUT).bind(descriptor).bind(i64::from(given.index)).bind(purpose);
    place.bind(hex::encode(&given.script)).bind(now).run(&mut *tx, NOT_GIVEN_OUT).await?;
    let advance = sql(ADVANCE).bind(i64::from(given.index) + 1).bind(descriptor);
    advance.run(tx, NOT_GIVEN_OUT).await.map(drop)
}

pub(crate) fn to_index(stored: i64) -> Result<u32, StateError> {
    u32::try_from(stored).map_err(|_| StateError::Row(format!("an index of a descriptor is out of range: {stored}")))
}

/// Finds the first index from `next` on that nobody has used. `look` returns `None` if it cannot say.
pub(crate) fn first_free(next: u32, look: impl Fn(u32) -> Option<IndexUse>) -> Result<Allotted, StateError> {
    for index in next..next.saturating_add(MAX_PASSED) {
        match look(index) {
            Some(IndexUse::Free { script, address }) => return Ok(Allotted { index, script, address }),
            Some(IndexUse::Used) => {}
            None => break,
        }
    }
    Err(StateError::NoAddress)
}

impl State {
    /// The counter of a descriptor; `None` before its first address.
    pub async fn payment_counter(&self, descriptor: &str) -> Result<Option<PaymentCounter>, StateError> {
        self.ready().await?;
        let row: Option<(String, i64)> =
            sql(COUNTER).bind(descriptor).first(&self.pool, "cannot read the counter of a descriptor").await?;
        row.map(|(run, next)| Ok(PaymentCounter { run, next_index: to_index(next)? })).transpose()
    }

    /// Begins the counter of a descriptor at an index, unless there is one.
    pub async fn begin_payment_counter(&self, descriptor: &str, at: u32) -> Result<(), StateError> {
        self.ready().await?;
        let insert = sql(BEGIN).bind(descriptor).bind(hex::encode(random::<16>()?)).bind(i64::from(at));
        insert.run(&self.pool, "cannot begin the counter of a descriptor").await?;
        self.changed().await;
        Ok(())
    }

    /// Skips the indices of a descriptor from `from` to `to`, without `to`. It does nothing if `from` is no longer the
    /// next index. Returns true if they are skipped.
    pub async fn skip_payment_indices(
        &self,
        descriptor: &str,
        from: u32,
        to: u32,
        now: u64,
    ) -> Result<bool, StateError> {
        let now = to_stored(now)?;
        self.ready().await?;
        let what = "cannot skip indices of a descriptor";
        let mut tx = self.pool.serialized().await?;
        let skip = sql(SKIP).bind(i64::from(to)).bind(descriptor).bind(i64::from(from));
        let changed = skip.run(&mut tx, what).await? > 0;
        if changed {
            let note = sql(NOTE_SKIP).bind(descriptor).bind(i64::from(from)).bind(i64::from(to)).bind(now);
            note.run(&mut tx, what).await?;
        }
        let done = changed;
        tx.end().await?;
        self.changed().await;
        Ok(done)
    }

    /// The skipped indices, the oldest first, at most `limit` rows.
    pub async fn payment_skips(&self, limit: u32) -> Result<Vec<PaymentSkip>, StateError> {
        self.ready().await?;
        let rows: Vec<(String, i64, i64, i64)> =
            sql(SKIPS).bind(i64::from(limit)).all(&self.reads, "cannot list skipped indices").await?;
        let skip = |(descriptor, first, end, at): (String, i64, i64, i64)| {
            Ok(PaymentSkip {
                descriptor,
                first_index: to_index(first)?,
                end_index: to_index(end)?,
                skipped_at: u64::try_from(at).map_err(|_| StateError::Row("a skip has an invalid time".to_owned()))?,
            })
        };
        rows.into_iter().map(skip).collect()
    }

    /// Gives out the next free address of a descriptor. The counter must have begun. `now` is in seconds since 1970.
    ///
    /// # Errors
    /// Fails if no index is free, or if the time is out of range.
    pub async fn allot_payment_address(
        &self,
        descriptor: &str,
        purpose: &str,
        now: u64,
        look: impl Fn(u32) -> Option<IndexUse>,
    ) -> Result<Allotted, StateError> {
        let now = to_stored(now)?;
        self.ready().await?;
        let mut tx = self.pool.serialized().await?;
        let given = first_free(next_index(&mut tx, descriptor).await?, look)?;
        give_out(&mut tx, descriptor, purpose, now, &given).await?;
        tx.end().await?;
        self.changed().await;
        Ok(given)
    }
}
