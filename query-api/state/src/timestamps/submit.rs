//! Accepts hashes durably. One task of a process writes them: those that arrive while a transaction commits share the
//! next one, so that many clients wait for one flush of the disk.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::atomic::Ordering,
};

use sha2::{Digest, Sha256};
use sqlx::{AssertSqlSafe, Connection, Sqlite, SqliteConnection, SqlitePool, pool::PoolConnection};
use tokio::sync::oneshot;

use crate::{
    MAX_DIGEST_BYTES, MAX_WAITING_TIMESTAMPS, State, StateError,
    keys::to_stored,
    pool::{SqlPool, SqlTx, sql},
    random::random,
    timestamps::{
        hash::{NewTimestamp, TimestampSource},
        queue::Queued,
        record::{SubmittedTimestamp, TimestampRecord},
    },
};

/// Groups after which the hashes that wait for a batch are counted again.
const COUNT_EVERY: u64 = 64;

/// Network and hash.
type Key = (&'static str, Vec<u8>);

struct Row {
    network: &'static str,
    hash: Vec<u8>,
    nonce: [u8; 16],
    commitment: [u8; 32],
    source: TimestampSource,
    at: i64,
}

impl Row {
    fn new(new: &NewTimestamp, at: i64) -> Result<Self, StateError> {
        let nonce = random::<16>()?;
        let commitment = Sha256::new().chain_update(&new.hash).chain_update(nonce).finalize().into();
        Ok(Row { network: new.network, hash: new.hash.clone(), nonce, commitment, source: new.source, at })
    }
}

/// Rows in one statement. Few sizes, because each has a prepared statement.
const CHUNKS: [usize; 4] = [64, 16, 4, 1];

/// A statement that inserts this many rows. A hash of a batch that was given up waits for another one, with the nonce
/// that its clients know. The rows that were inserted or wait again are returned.
fn insert(rows: usize) -> String {
    let row = |at: usize| {
        let columns: Vec<String> = (1..=6).map(|column| format!("${}", at * 6 + column)).collect();
        format!("({})", columns.join(", "))
    };
    let rows: Vec<String> = (0..rows).map(row).collect();
    format!(
        "INSERT INTO timestamp_hashes (network, hash, nonce, commitment, source, submitted_at) VALUES {} \
         ON CONFLICT (network, hash) DO UPDATE SET batch = NULL, position = NULL, submitted_at = excluded.submitted_at \
         WHERE timestamp_hashes.batch IN (SELECT id FROM timestamp_batches WHERE state = 'failed') \
         RETURNING network, hash, nonce, commitment, source, submitted_at",
        rows.join(", ")
    )
}

type Inserted = (String, Vec<u8>, Vec<u8>, Vec<u8>, String, i64);

/// Groups that one connection writes, one after the other.
const GROUPS_OF_CONNECTION: u32 = 64;

/// A connection that is kept from one group to the next: pages that it has read stay in its cache as long as no other
/// one writes. PostgreSQL has one cache for all, so that nothing is kept there.
#[derive(Default)]
struct Kept {
    connection: Option<PoolConnection<Sqlite>>,
    groups: u32,
}

impl Kept {
    /// The connection; a new one at first and after a while, since only a new one sees that the file was replaced.
    async fn sqlite(&mut self, pool: &SqlitePool) -> sqlx::Result<&mut SqliteConnection> {
        self.groups += 1;
        if self.groups > GROUPS_OF_CONNECTION {
            *self = Kept::default();
        }
        let connection = match self.connection.take() {
            Some(connection) => connection,
            None => pool.acquire().await?,
        };
        Ok(self.connection.insert(connection))
    }
}

const NOT_STORED: &str = "cannot store timestamps";

/// Inserts all rows in one transaction.
async fn insert_all(mut tx: SqlTx<'_>, mut rows: &[Row]) -> Result<Vec<Inserted>, StateError> {
    let mut inserted = Vec::with_capacity(rows.len());
    while !rows.is_empty() {
        let size = CHUNKS.into_iter().find(|size| *size <= rows.len()).unwrap_or(1);
        let (chunk, others) = rows.split_at(size);
        rows = others;
        // Only numbers are put into the text.
        let mut query = sql(AssertSqlSafe(insert(size)));
        for row in chunk {
            query = query.bind(row.network).bind(row.hash.as_slice()).bind(row.nonce.as_slice());
            query = query.bind(row.commitment.as_slice()).bind(row.source.name()).bind(row.at);
        }
        inserted.extend(query.all::<Inserted>(&mut tx, NOT_STORED).await?);
    }
    tx.commit(NOT_STORED).await?;
    Ok(inserted)
}

fn record_of((_, hash, nonce, commitment, source, at): Inserted) -> Result<TimestampRecord, StateError> {
    let bad = || StateError::Row("a timestamp was stored in another form".to_owned());
    Ok(TimestampRecord {
        hash,
        nonce: nonce.try_into().map_err(|_| bad())?,
        commitment: commitment.try_into().map_err(|_| bad())?,
        source: TimestampSource::named(&source).ok_or_else(bad)?,
        submitted_at: u64::try_from(at).map_err(|_| bad())?,
        batch: None,
    })
}

/// The task that writes. If it panics, the next hash starts another one.
struct Writer {
    state: State,
    /// True if the queue knows that it has ended.
    has_ended: bool,
}

impl Drop for Writer {
    fn drop(&mut self) {
        if !self.has_ended {
            self.state.submits.end();
        }
    }
}

impl State {
    /// Accepts a hash; when this returns, it is on disk. A hash that is known changes nothing, unless its batch was
    /// given up: then it waits for another one. `now` is in seconds since 1970.
    ///
    /// # Errors
    /// Fails if the hash is empty or too long, if too many hashes wait, or if the queue of this process is full.
    pub async fn submit_timestamp(&self, new: NewTimestamp, now: u64) -> Result<SubmittedTimestamp, StateError> {
        if !(1..=MAX_DIGEST_BYTES).contains(&new.hash.len()) {
            return Err(StateError::Digest);
        }
        let now = to_stored(now)?;
        self.ready().await?;
        let (network, hash) = (new.network, new.hash.clone());
        let (answer, accepted) = oneshot::channel();
        if self.submits.add(Queued { new, now, answer })? {
            let state = self.clone();
            // A task of its own: the caller may give up, and others wait for the same transaction.
            tokio::spawn(async move {
                let mut writer = Writer { state, has_ended: false };
                let mut kept = Kept::default();
                loop {
                    // Those whose turn it is hand in their hashes first, and share the transaction.
                    tokio::task::yield_now().await;
                    let Some(group) = writer.state.submits.take() else { break };
                    writer.state.accept(group, &mut kept).await;
                }
                writer.has_ended = true;
            });
        }
        // The task ends early only with the process.
        match accepted.await.unwrap_or(Err(StateError::Busy))? {
            Some(record) => Ok(SubmittedTimestamp { record, is_new: true }),
            // Each caller reads by itself, so that nobody else waits for it.
            None => self.known(network, &hash).await,
        }
    }

    /// Stores a group and answers all who handed it in.
    async fn accept(&self, group: Vec<Queued>, kept: &mut Kept) {
        let mut waiting: BTreeMap<Key, Vec<Queued>> = BTreeMap::new();
        for queued in group {
            waiting.entry((queued.new.network, queued.new.hash.clone())).or_default().push(queued);
        }
        let mut stored = self.store(&waiting, kept).await;
        if stored.is_err() {
            *kept = Kept::default();
        }
        for (key, clients) in waiting {
            let mut first = stored.as_mut().ok().and_then(|stored| stored.remove(&key));
            for queued in clients {
                let answer = match &stored {
                    Err(error) => Err(error.repeated()),
                    Ok(_) => Ok(first.take()),
                };
                // A caller that has given up hears nothing; its hash is stored nevertheless.
                let _ = queued.answer.send(answer);
            }
        }
    }

    /// Stores the hashes of a group that are not known yet, and returns their records.
    async fn store(
        &self,
        waiting: &BTreeMap<Key, Vec<Queued>>,
        kept: &mut Kept,
    ) -> Result<BTreeMap<Key, TimestampRecord>, StateError> {
        let group = self.submits.groups.fetch_add(1, Ordering::Relaxed);
        if group.is_multiple_of(COUNT_EVERY) || self.submits.is_full.load(Ordering::Relaxed) {
            self.submits.is_full.store(self.is_full(waiting).await?, Ordering::Relaxed);
        }
        if self.submits.is_full.load(Ordering::Relaxed) {
            return Ok(BTreeMap::new());
        }
        let first = |clients: &Vec<Queued>| clients.first().map(|queued| Row::new(&queued.new, queued.now));
        let rows = waiting.values().filter_map(first).collect::<Result<Vec<_>, _>>()?;
        let tx = match &self.pool {
            // Takes the write lock at once, and waits for it if another process has it.
            SqlPool::Sqlite(pool) => {
                let begun = async { kept.sqlite(pool).await?.begin_with("BEGIN IMMEDIATE").await };
                SqlTx::Sqlite(begun.await.map_err(StateError::database(NOT_STORED))?)
            }
            pool @ SqlPool::Postgres(_) => pool.begin(NOT_STORED).await?,
        };
        let inserted = insert_all(tx, &rows).await?;
        let names: Vec<&'static str> = waiting.keys().map(|(network, _)| *network).collect();
        let record = |row: Inserted| {
            let network = names.iter().find(|name| **name == row.0).copied().unwrap_or_default();
            record_of(row).map(|record| ((network, record.hash.clone()), record))
        };
        inserted.into_iter().map(record).collect()
    }

    /// True if too many hashes of a network wait for a batch.
    async fn is_full(&self, waiting: &BTreeMap<Key, Vec<Queued>>) -> Result<bool, StateError> {
        let networks: BTreeSet<&str> = waiting.keys().map(|(network, _)| *network).collect();
        for network in networks {
            let counted = self.waiting_timestamps(network, MAX_WAITING_TIMESTAMPS).await?;
            if counted.count >= MAX_WAITING_TIMESTAMPS {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The record of a hash that is stored.
    async fn known(&self, network: &str, hash: &[u8]) -> Result<SubmittedTimestamp, StateError> {
        match self.timestamp(network, hash).await? {
            Some(record) => Ok(SubmittedTimestamp { record, is_new: false }),
            None if self.submits.is_full.load(Ordering::Relaxed) => Err(StateError::TooManyTimestamps),
            None => Err(StateError::Row("a timestamp that was stored is gone".to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_numbers_its_parameters() {
        assert!(insert(1).contains("VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT"));
        assert!(insert(2).contains("($1, $2, $3, $4, $5, $6), ($7, $8, $9, $10, $11, $12) ON"));
        // PostgreSQL allows 65,535 parameters, SQLite 32,766.
        assert!(CHUNKS.iter().all(|rows| rows * 6 < 32_766) && CHUNKS.contains(&1));
    }
}
