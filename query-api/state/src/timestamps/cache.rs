//! Rows that many look-ups of timestamps read: the last report of the anchorer, final batches, parts of trees.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use moka::sync::Cache;
use parking_lot::Mutex;

use crate::timestamps::{anchorer::AnchorerReport, batch::Batch};

/// How long a report is used again. Hashes that are accepted meanwhile wait for the wallet like all others.
const REPORT_AGE: Duration = Duration::from_millis(250);
/// How long rows that never change are used again: a database that an operator restores has others.
const ROW_AGE: Duration = Duration::from_secs(10);
const MAX_BATCHES: u64 = 256;
/// Maximum number of parts, of at most 8 KiB each.
const MAX_PARTS: u64 = 2_048;

/// A report and when it was read.
type ReadReport = (Instant, String, Option<AnchorerReport>);

/// Batch, level and number of a part of its tree.
pub(super) type PartKey = (i64, u8, u32);

pub(crate) struct TimestampCache {
    report: Mutex<Option<ReadReport>>,
    /// Final batches. Those in other states change.
    batches: Cache<i64, Arc<Batch>>,
    /// Hashes of parts of trees.
    parts: Cache<PartKey, Arc<Vec<u8>>>,
}

impl Default for TimestampCache {
    fn default() -> Self {
        TimestampCache {
            report: Mutex::default(),
            batches: Cache::builder().max_capacity(MAX_BATCHES).time_to_live(ROW_AGE).build(),
            parts: Cache::builder().max_capacity(MAX_PARTS).time_to_live(ROW_AGE).build(),
        }
    }
}

impl TimestampCache {
    /// The report that was read a moment ago.
    pub(super) fn report(&self, network: &str) -> Option<Option<AnchorerReport>> {
        let report = self.report.lock();
        let (at, of, report) = report.as_ref()?;
        (of == network && at.elapsed() < REPORT_AGE).then(|| report.clone())
    }

    /// Remembers a report that was read since `at`.
    pub(super) fn put_report(&self, at: Instant, network: &str, report: Option<&AnchorerReport>) {
        *self.report.lock() = Some((at, network.to_owned(), report.cloned()));
    }

    pub(super) fn forget_report(&self) {
        *self.report.lock() = None;
    }

    pub(super) fn batch(&self, id: i64) -> Option<Arc<Batch>> {
        self.batches.get(&id)
    }

    pub(super) fn put_batch(&self, batch: &Batch) {
        self.batches.insert(batch.id, Arc::new(batch.clone()));
    }

    pub(super) fn part(&self, key: PartKey) -> Option<Arc<Vec<u8>>> {
        self.parts.get(&key)
    }

    pub(super) fn put_part(&self, key: PartKey, hashes: &[u8]) {
        self.parts.insert(key, Arc::new(hashes.to_vec()));
    }
}
