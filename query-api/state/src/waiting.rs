//! Documents that wait for the process that writes the index, because they were handed in on another machine.
//!
//! An entry is a file of events. The writer puts it on its disk first and removes the row then: if it is killed in
//! between, it takes the entry once more, which changes nothing, since documents are known by their hashes.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::{
    MAX_WAITING, MAX_WAITING_BYTES, MAX_WAITING_ENTRY, State, StateError, keys::to_stored, pool::sql, random::random,
};

/// Maximum length of an origin in characters; a longer one is cut.
const MAX_ORIGIN_CHARS: usize = 100;

/// An entry to queue: a file of events.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewEntry {
    /// Number of documents in it.
    pub documents: u32,
    /// The file.
    pub payload: Vec<u8>,
}

/// An entry that waits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WaitingEntry {
    /// Its id, a UUID.
    pub id: String,
    /// The network of the index that it is for.
    pub network: String,
    /// When it was handed in, in seconds since 1970.
    pub queued_at: u64,
    /// Who handed it in.
    pub origin: String,
    /// Number of documents in it.
    pub documents: u64,
    /// Length of the file.
    pub bytes: u64,
}

// One statement, so that the limits hold for concurrent entries too. In PostgreSQL, concurrent transactions do not see
// each other and may exceed the limits by their own entries.
const INSERT: &str = "INSERT INTO waiting_documents (id, network, queued_at, origin, documents, bytes, payload) \
    SELECT $1, $2, $3, $4, $5, $6, $7 WHERE (SELECT count(*) FROM waiting_documents) < $8 \
    AND (SELECT CAST(COALESCE(sum(bytes), 0) AS BIGINT) FROM waiting_documents) + $6 <= $9";
const OLDEST: &str = "SELECT id, payload FROM waiting_documents WHERE network = $1 ORDER BY id LIMIT 1";
const REMOVE: &str = "DELETE FROM waiting_documents WHERE id = $1";
const LIST: &str =
    "SELECT id, network, queued_at, origin, documents, bytes FROM waiting_documents ORDER BY id LIMIT $1";

/// The time and the number of a process's last id: of two ids of a process the later one is larger.
static LAST: AtomicU64 = AtomicU64::new(0);

/// An id: a UUID of version 7 with this time.
fn new_id(now_ms: u64) -> Result<String, StateError> {
    let time = now_ms << 12;
    let next = |last: u64| time.max(last.saturating_add(1));
    let last = LAST.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |last| Some(next(last))).unwrap_or_default();
    let (time, number) = (next(last) >> 12, next(last) & 0xfff);
    let random = hex::encode(random::<8>()?);
    let (a, b) = (random.get(..3).unwrap_or_default(), random.get(4..).unwrap_or_default());
    Ok(format!("{:08x}-{:04x}-7{number:03x}-8{a}-{b}", time >> 16, time & 0xffff))
}

/// True for a text of hexadecimal digits and dashes, which can be the name of a file.
fn is_id(text: &str) -> bool {
    (1..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}

impl State {
    /// Queues documents for the process that writes the index of a network: all entries, or none. `now_ms` is in
    /// milliseconds since 1970.
    ///
    /// # Errors
    /// Fails if an entry is too large, or if the queue is full.
    pub async fn queue_documents(
        &self,
        network: &str,
        origin: &str,
        entries: &[NewEntry],
        now_ms: u64,
    ) -> Result<(), StateError> {
        if let Some(large) = entries.iter().find(|entry| entry.payload.len() as u64 > MAX_WAITING_ENTRY) {
            return Err(StateError::EntryTooLarge { bytes: large.payload.len() as u64 });
        }
        let queued_at = to_stored(now_ms / 1_000)?;
        let origin: String = origin.chars().filter(|c| !c.is_control()).take(MAX_ORIGIN_CHARS).collect();
        self.ready().await?;
        let with_id = |entry| Ok::<_, StateError>((new_id(now_ms)?, entry));
        let rows: Vec<(String, &NewEntry)> = entries.iter().map(with_id).collect::<Result<_, _>>()?;
        let what = "cannot queue documents";
        let mut tx = self.pool.begin(what).await?;
        for (id, entry) in rows {
            let insert = sql(INSERT).bind(id).bind(network).bind(queued_at).bind(&origin);
            let insert = insert.bind(i64::from(entry.documents)).bind(to_stored(entry.payload.len() as u64)?);
            let insert = insert.bind(entry.payload.as_slice()).bind(i64::from(MAX_WAITING));
            if insert.bind(to_stored(MAX_WAITING_BYTES)?).run(&mut tx, what).await? == 0 {
                return Err(StateError::QueueFull);
            }
        }
        tx.commit(what).await?;
        self.changed().await;
        Ok(())
    }

    /// The id and the file of the oldest entry of a network; `None` if nothing waits.
    pub async fn oldest_waiting(&self, network: &str) -> Result<Option<(String, Vec<u8>)>, StateError> {
        self.ready().await?;
        let row: Option<(String, Vec<u8>)> =
            sql(OLDEST).bind(network).first(&self.reads, "cannot read documents that wait").await?;
        match row {
            Some((id, _)) if !is_id(&id) => Err(StateError::Row(format!("documents that wait have the id {id:?}"))),
            row => Ok(row),
        }
    }

    /// Removes an entry that the writer has on its disk. Returns false if it is gone already.
    pub async fn remove_waiting(&self, id: &str) -> Result<bool, StateError> {
        self.ready().await?;
        let removed = sql(REMOVE).bind(id).run(&self.pool, "cannot remove documents that were taken").await?;
        self.changed().await;
        Ok(removed > 0)
    }

    /// Waiting documents, the oldest first, at most `limit`.
    pub async fn waiting(&self, limit: u32) -> Result<Vec<WaitingEntry>, StateError> {
        self.ready().await?;
        let rows: Vec<(String, String, i64, String, i64, i64)> =
            sql(LIST).bind(i64::from(limit)).all(&self.reads, "cannot list documents that wait").await?;
        let entry = |(id, network, queued_at, origin, documents, bytes): (String, String, i64, String, i64, i64)| {
            let number = |number: i64| {
                u64::try_from(number).map_err(|_| StateError::Row(format!("entry {id:?} has a number below zero")))
            };
            let (queued_at, documents, bytes) = (number(queued_at)?, number(documents)?, number(bytes)?);
            Ok(WaitingEntry { id, network, queued_at, origin, documents, bytes })
        };
        rows.into_iter().map(entry).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_sort_by_time_and_then_by_their_order() {
        let ids: Vec<String> = (0..5_000).map(|n| new_id(1_700_000_000_000 + n / 4_500).unwrap()).collect();
        assert!(ids.is_sorted() && ids.iter().all(|id| is_id(id) && id.len() == 36 && &id[14..15] == "7"));
        assert!(new_id(1_600_000_000_000).unwrap() > ids[4_999], "a clock that was set back");
        for bad in ["", "../x", "a b", &"a".repeat(65)] {
            assert!(!is_id(bad), "{bad}");
        }
    }
}
