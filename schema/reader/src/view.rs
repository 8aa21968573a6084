//! A view: all reads of one request, pinned to one tip and counted.
//!
//! Methods of [`View`] itself are about the tip, the chain, the stages and the counting of work. All others are divided
//! by subject:
//!
//! | subject | type | questions that it answers |
//! |---|---|---|
//! | `transactions()` | [`TransactionView`](crate::TransactionView) | a transaction by number or txid, its inputs, spenders and funding; a coin by outpoint |
//! | `scripts()` | [`ScriptView`](crate::ScriptView) | a script by its bytes, hash or id, its history, sums, coins and keys; immature outputs |
//! | `clusters()` | [`ClusterView`](crate::ClusterView) | the cluster of a script or node at a block, its members, size, owners and claims; why two scripts are of one |
//! | `labels()` | [`LabelView`](crate::LabelView) | the label and the standing of a script, labels to judge again, labelled shares and volume; names |
//! | `entities()` | [`EntityView`](crate::EntityView) | the sums, texts and scripts of an entity |
//! | `claims()` | [`ClaimView`](crate::ClaimView) | claims about a script, their documents and lists, contests |
//! | `ledger()` | [`LedgerView`](crate::LedgerView) | input events and documents, lists that hold now, prices, samples of the mempool |
//! | `days()` | [`DayView`](crate::DayView) | sums by day: the supply by age, scripts and clusters by balance, blocks |
//! | `movements()` | [`MovementView`](crate::MovementView) | transactions that stand out, newest first: old coins, large transfers, consolidations, flushes, wake-ups, dust; the watchlist |
//! | `flows()` | [`FlowView`](crate::FlowView) | flows of exchanges by day and by block |
//! | `feed()` | [`FeedView`](crate::FeedView) | announcements, and which of them stand |
//! | `tables()` | [`TableView`](crate::TableView) | rows of any table as bytes, checksums |
//!
//! `tests/engine/view_example.rs` is an example that is compiled and run.

use std::{
    cell::{Cell, RefCell},
    collections::{BTreeSet, HashMap},
    marker::PhantomData,
    rc::Rc,
    sync::Arc,
};

use cairn_model::{BlockHash, Height, MonoTime, Network, TxNum, each_once};
use cairn_tables::{
    Family, Table,
    checkpoints::Checkpoint,
    encode_key,
    headers::{HeaderRow, Headers},
    heights::HeightByHash,
    keys::HashPrefix,
    stages::{CHAIN, STAGES, StageInfo},
};
use cairn_work::{Stopped, Work};
use rocksdb::{BoundColumnFamily, DBPinnableSlice, DBRawIteratorWithThreadMode, ReadOptions, SnapshotWithThreadMode};

use crate::{ChainIndex, Db, Facts, RawBlocks, ReadError};

/// The newest block that the index contains.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tip {
    /// Its height.
    pub height: Height,
    /// Its hash.
    pub hash: BlockHash,
    /// The header's own time, in seconds since 1970.
    pub time: u32,
    /// Monotone time.
    pub mono_time: MonoTime,
    /// One past its last transaction: the number of transactions in the chain.
    pub tx_end: TxNum,
    /// Sequence number of the newest input event; 0 if there is none.
    pub seq: u64,
}

/// The index at one tip. Not shared between threads. Its reads are divided by subject: `view.scripts().find(…)`.
pub struct View<'r> {
    pub(crate) db: &'r Db,
    /// Pins the view if a writer shares the handle. `None` if the handle does not change while it is read: opened
    /// read-only, or a secondary that does not catch up.
    snapshot: Option<SnapshotWithThreadMode<'r, Db>>,
    /// `None` for a writer-only family that is not open.
    families: [Option<Arc<BoundColumnFamily<'r>>>; Family::ALL.len()],
    facts: &'r Facts,
    raw: Option<&'r RawBlocks>,
    tip: Tip,
    chain: Arc<ChainIndex>,
    /// Checkpoints that need no read.
    pub(crate) checkpoints: Option<Arc<Checkpointed>>,
    /// True if there is any claim; `None` if it needs a read.
    pub(crate) any_claim: Option<bool>,
    /// True if the labels were settled at this tip: they stay so.
    pub(crate) settled: bool,
    rows_read: Cell<u64>,
    /// Counts reads, and ends them.
    work: Option<Rc<Work>>,
    /// Names of the stages that were found at the tip.
    pub(crate) finished: RefCell<BTreeSet<&'static str>>,
    /// Rows of `block_log` that this view has read, because a page often needs the same row again. Long rows are only
    /// noted.
    pub(crate) log_rows: RefCell<HashMap<TxNum, Option<Rc<[u8]>>>>,
}

pub(crate) type Checkpointed = Vec<(&'static str, Option<Checkpoint>)>;

/// State of the last view, so that the next one reads less.
#[derive(Clone)]
pub(crate) struct LastView {
    /// `None` if the chain is another reader's.
    pub(crate) tip: Option<Tip>,
    pub(crate) chain: Arc<ChainIndex>,
    /// `None` if the handle may change: then the next view reads whether the tip is still this one.
    pub(crate) checkpoints: Option<Arc<Checkpointed>>,
    /// True if there is any claim at that tip; `None` if that could not be read.
    pub(crate) any_claim: Option<bool>,
    /// True if the labels were settled at that tip.
    pub(crate) settled: bool,
}

/// An error if the checkpoint has another version of the stage.
pub(crate) fn check_version(stage: &StageInfo, checkpoint: &Checkpoint) -> Result<(), ReadError> {
    let (found, expected) = (checkpoint.version, stage.version);
    if found == expected { Ok(()) } else { Err(ReadError::StageVersion { stage: stage.name, found, expected }) }
}

impl<'r> View<'r> {
    pub(crate) fn open(
        db: &'r Db,
        pinned: bool,
        facts: &'r Facts,
        raw: Option<&'r RawBlocks>,
        seen: Option<LastView>,
    ) -> Result<Self, ReadError> {
        let families = Family::ALL.map(|f| db.cf_handle(f.name()));
        if let Some(missing) = Family::ALL.iter().find(|f| families[f.index()].is_none() && !f.is_writers_own()) {
            return Err(ReadError::Unusable(format!("the index has no column family {}", missing.name())));
        }
        let mut view = View {
            db,
            snapshot: pinned.then(|| db.snapshot()),
            families,
            facts,
            raw,
            tip: Tip { height: 0, hash: BlockHash::default(), time: 0, mono_time: 0, tx_end: TxNum(0), seq: 0 },
            chain: Arc::default(),
            checkpoints: None,
            any_claim: None,
            settled: false,
            rows_read: Cell::new(0),
            work: None,
            finished: RefCell::default(),
            log_rows: RefCell::default(),
        };
        if let Some(LastView { tip: Some(tip), chain, checkpoints: Some(checkpoints), any_claim, settled }) = seen {
            (view.tip, view.chain, view.checkpoints) = (tip, chain, Some(checkpoints));
            (view.any_claim, view.settled) = (any_claim, settled);
            return Ok(view);
        }
        let checkpoint = view.checkpoint(CHAIN.name)?.ok_or(ReadError::Empty)?;
        check_version(&CHAIN, &checkpoint)?;
        let is_at = |tip: &Tip| tip.height == checkpoint.height && tip.hash == checkpoint.hash;
        match seen {
            Some(LastView { tip: Some(tip), chain, any_claim, settled, .. }) if is_at(&tip) => {
                // Events may have come in between blocks.
                (view.tip, view.chain) = (Tip { seq: checkpoint.seq, ..tip }, chain);
                if checkpoint.seq == tip.seq {
                    (view.any_claim, view.settled) = (any_claim, settled);
                }
            }
            other => {
                view.tip = view.tip_at(&checkpoint)?;
                let mut chain = other.map_or_else(ChainIndex::default, |seen| (*seen.chain).clone());
                view.catch_up(&mut chain)?;
                view.chain = Arc::new(chain);
            }
        }
        Ok(view)
    }

    /// The tip, if this is the checkpoint of the journal.
    fn tip_at(&self, checkpoint: &Checkpoint) -> Result<Tip, ReadError> {
        let row = self.header(checkpoint.height)?.ok_or_else(|| self.broken("the tip has no header"))?;
        if row.hash != checkpoint.hash {
            return Err(self.broken("the tip's header has another hash"));
        }
        Ok(Tip {
            height: checkpoint.height,
            hash: row.hash,
            time: row.time(),
            mono_time: row.mono_time,
            tx_end: TxNum(row.first_tx.0 + u64::from(row.tx_count)),
            seq: checkpoint.seq,
        })
    }

    /// State that the next view need not read again: the checkpoints too, if the handle does not change. A damaged one
    /// leaves them to the views, which fail where they need it.
    pub(crate) fn seen(&self) -> LastView {
        let read = || -> Result<Checkpointed, ReadError> {
            STAGES.iter().map(|stage| Ok((stage.name, self.checkpoint(stage.name)?))).collect()
        };
        let checkpoints = if self.snapshot.is_none() { read().ok().map(Arc::new) } else { None };
        // Without an input event there is no claim.
        let any_claim =
            if self.tip.seq == 0 { Some(false) } else { self.uncounted(|view| view.claims().has_any()).ok() };
        let settled = self.find_settled();
        LastView { tip: Some(self.tip), chain: Arc::clone(&self.chain), checkpoints, any_claim, settled }
    }

    /// True if the labels are settled. Rows read for that do not belong to this view.
    pub(crate) fn find_settled(&self) -> bool {
        self.uncounted(|view| view.labels().are_settled()).unwrap_or(false)
    }

    /// Reads data that no request asked for.
    fn uncounted<T>(&self, read: impl FnOnce(&Self) -> T) -> T {
        let rows_read = self.rows_read.get();
        let result = read(self);
        self.rows_read.set(rows_read);
        result
    }

    /// Updates a chain index to this view's tip.
    fn catch_up(&self, chain: &mut ChainIndex) -> Result<(), ReadError> {
        chain.truncate(self.tip.height + 1);
        while let Some(height) = chain.len().checked_sub(1) {
            let row = self.header(height)?.ok_or_else(|| self.broken("a header is missing"))?;
            if chain.is(height, &row.hash) {
                break;
            }
            chain.truncate(height);
        }
        let from = chain.len();
        for row in self.scan_while::<Headers>(from, |height| *height <= self.tip.height)? {
            let (height, row) = row?;
            if height != chain.len() {
                return Err(self.broken("a header is missing"));
            }
            chain.push(&row);
        }
        if chain.len() == self.tip.height + 1 { Ok(()) } else { Err(self.broken("headers end below the tip")) }
    }

    pub(crate) fn broken(&self, what: &str) -> ReadError {
        ReadError::Broken(what.to_owned())
    }

    /// The tip of this view.
    #[must_use]
    pub fn tip(&self) -> &Tip {
        &self.tip
    }

    /// The network of the index.
    #[must_use]
    pub fn network(&self) -> Network {
        self.facts.network
    }

    /// Parameters of the index.
    #[must_use]
    pub fn facts(&self) -> &Facts {
        self.facts
    }

    /// The raw bytes of blocks, if there may be any.
    #[must_use]
    pub fn raw(&self) -> Option<&RawBlocks> {
        self.raw
    }

    /// The active chain in memory: needs no reads.
    #[must_use]
    pub fn chain(&self) -> &ChainIndex {
        &self.chain
    }

    /// Rows read so far, including seeks and steps of scans; a row of the log that is read again counts once.
    #[must_use]
    pub fn rows_read(&self) -> u64 {
        self.rows_read.get()
    }

    /// From now on, reads count as this work, and stop with it.
    pub fn work_for(&mut self, work: Rc<Work>) {
        self.work = Some(work);
    }

    /// Counts a row of this table that is about to be read.
    pub(crate) fn count(&self, table: &'static str) -> Result<(), ReadError> {
        self.rows_read.set(self.rows_read.get() + 1);
        Ok(self.work.as_ref().map_or(Ok(()), |work| work.row_of(table))?)
    }

    /// Counts bytes of a row that are about to be decoded.
    pub(crate) fn count_bytes(&self, bytes: &[u8]) -> Result<(), ReadError> {
        Ok(self.work.as_ref().map_or(Ok(()), |work| work.read(bytes.len()))?)
    }

    /// Counts bytes of another source that are about to be read and decoded, for the work of this view.
    pub fn count_other_bytes(&self, bytes: usize) -> Result<(), Stopped> {
        self.work.as_ref().map_or(Ok(()), |work| work.read(bytes))
    }

    pub(crate) fn family(&self, family: Family) -> Result<&Arc<BoundColumnFamily<'r>>, ReadError> {
        let handle = self.families[family.index()].as_ref();
        handle.ok_or_else(|| ReadError::Unusable(format!("column family {} is not open", family.name())))
    }

    /// True if a family is open: one of the writer's own may be missing.
    #[must_use]
    pub fn has_family(&self, family: Family) -> bool {
        self.families[family.index()].is_some()
    }

    pub(crate) fn bytes<T: Table>(&self, key: &T::Key) -> Result<Option<DBPinnableSlice<'_>>, ReadError> {
        self.count(T::NAME)?;
        self.bytes_again::<T>(key)
    }

    /// The bytes of a row that has been counted.
    pub(crate) fn bytes_again<T: Table>(&self, key: &T::Key) -> Result<Option<DBPinnableSlice<'_>>, ReadError> {
        let found = self.db.get_pinned_cf_opt(self.family(T::FAMILY)?, encode_key::<T>(key), &self.read_options());
        let row = found.map_err(|e| ReadError::of_table(T::NAME, e))?;
        row.iter().try_for_each(|bytes| self.count_bytes(bytes))?;
        Ok(row)
    }

    /// One row.
    pub fn get<T: Table>(&self, key: &T::Key) -> Result<Option<T::Value>, ReadError> {
        self.bytes::<T>(key)?.map(|bytes| Ok(T::decode_value(&bytes)?)).transpose()
    }

    /// Many rows in one look-up, in the order of the ascending keys.
    pub(crate) fn bytes_of_many<T: Table>(
        &self,
        keys: &[T::Key],
    ) -> Result<Vec<Option<DBPinnableSlice<'_>>>, ReadError> {
        let encoded: Vec<Vec<u8>> = keys.iter().map(encode_key::<T>).collect();
        let values = self.db.batched_multi_get_cf_opt(self.family(T::FAMILY)?, &encoded, true, &self.read_options());
        values
            .into_iter()
            .map(|value| {
                self.count(T::NAME)?;
                let value = value.map_err(|e| ReadError::of_table(T::NAME, e))?;
                value.iter().try_for_each(|bytes| self.count_bytes(bytes))?;
                Ok(value)
            })
            .collect()
    }

    /// Rows of ascending keys, in one look-up.
    pub(crate) fn rows_of_many<T: Table>(&self, keys: &[T::Key]) -> Result<Vec<Option<T::Value>>, ReadError> {
        let rows = self.bytes_of_many::<T>(keys)?;
        rows.into_iter().map(|row| row.map(|bytes| Ok(T::decode_value(&bytes)?)).transpose()).collect()
    }

    /// Rows of keys in their order, in one look-up. A key may stand more than once.
    pub(crate) fn rows_of_each<T>(&self, keys: &[T::Key]) -> Result<Vec<Option<T::Value>>, ReadError>
    where
        T: Table<Key: Ord + Clone, Value: Clone>,
    {
        let sorted = each_once(keys.iter().cloned());
        let rows = self.rows_of_many::<T>(&sorted)?;
        Ok(keys.iter().map(|key| sorted.binary_search(key).ok().and_then(|at| rows.get(at)?.clone())).collect())
    }

    /// Rows in ascending order of their keys, from `from` (or the first).
    pub fn scan<T: Table>(&self, from: Option<&T::Key>) -> Result<Scan<'_, 'r, T>, ReadError> {
        let mut iter = self.raw_iterator::<T>()?;
        match from {
            Some(key) => iter.seek(encode_key::<T>(key)),
            None => iter.seek(T::TAG.as_slice()),
        }
        self.count(T::NAME)?;
        Ok(Scan { iter, view: self, started: false, table: PhantomData })
    }

    /// Rows in ascending order of their keys, from `from` as long as keys are `of` what is asked for. The first row
    /// beyond them is read, too.
    pub(crate) fn scan_while<T: Table>(
        &self,
        from: T::Key,
        of: impl Fn(&T::Key) -> bool,
    ) -> Result<impl Iterator<Item = Result<(T::Key, T::Value), ReadError>>, ReadError> {
        Ok(self.scan::<T>(Some(&from))?.take_while(move |row| row.as_ref().map_or(true, |(key, _)| of(key))))
    }

    /// True if the table has a row. One row read, which is not decoded.
    pub(crate) fn has_row<T: Table>(&self) -> Result<bool, ReadError> {
        Ok(self.scan::<T>(None)?.next_bytes()?.is_some())
    }

    pub(crate) fn raw_iterator<T: Table>(&self) -> Result<DBRawIteratorWithThreadMode<'_, Db>, ReadError> {
        let mut options = self.read_options();
        // Families with a prefix filter would otherwise hide rows of other prefixes from a scan.
        options.set_total_order_seek(true);
        Ok(self.db.raw_iterator_cf_opt(self.family(T::FAMILY)?, options))
    }

    /// For look-ups by prefix in a family with a prefix filter: if no row has the prefix, the filter avoids a read. The
    /// iterator then returns only rows with the prefix of the key.
    pub(crate) fn prefix_iterator<T: Table>(&self) -> Result<DBRawIteratorWithThreadMode<'_, Db>, ReadError> {
        let mut options = self.read_options();
        options.set_prefix_same_as_start(true);
        Ok(self.db.raw_iterator_cf_opt(self.family(T::FAMILY)?, options))
    }

    /// True if a row has the prefix. One row read, which the filter of the iterator mostly saves.
    pub(crate) fn has_prefix<T: Table>(
        &self,
        rows: &mut DBRawIteratorWithThreadMode<'_, Db>,
        prefix: &[u8],
    ) -> Result<bool, ReadError> {
        rows.seek(prefix);
        self.count(T::NAME)?;
        rows.status().map_err(|e| ReadError::of_table(T::NAME, e))?;
        Ok(rows.key().is_some_and(|key| key.starts_with(prefix)))
    }

    pub(crate) fn read_options(&self) -> ReadOptions {
        let mut options = ReadOptions::default();
        if let Some(snapshot) = &self.snapshot {
            options.set_snapshot(snapshot);
        }
        options
    }

    /// A block's row.
    pub fn header(&self, height: Height) -> Result<Option<HeaderRow>, ReadError> {
        self.get::<Headers>(&height)
    }

    /// The rows of blocks at ascending heights, in one look-up.
    pub fn headers(&self, heights: &[Height]) -> Result<Vec<Option<HeaderRow>>, ReadError> {
        self.rows_of_many::<Headers>(heights)
    }

    /// Height of a block of the active chain. Reads one row for each block with the same hash prefix, plus one.
    pub fn height_of(&self, hash: &BlockHash) -> Result<Option<Height>, ReadError> {
        let prefix = HashPrefix::of_block(hash);
        for row in self.scan_while::<HeightByHash>((prefix, 0), |(found, _)| *found == prefix)? {
            let ((_, height), ()) = row?;
            if self.header(height)?.is_some_and(|h| h.hash == *hash) {
                return Ok(Some(height));
            }
        }
        Ok(None)
    }
}

/// Rows in ascending order.
pub struct Scan<'v, 'r, T: Table> {
    iter: DBRawIteratorWithThreadMode<'v, Db>,
    view: &'v View<'r>,
    started: bool,
    table: PhantomData<T>,
}

impl<T: Table> Scan<'_, '_, T> {
    /// The next row's bytes; the tag of a shared family included in the key.
    pub fn next_bytes(&mut self) -> Result<Option<(&[u8], &[u8])>, ReadError> {
        if self.started {
            self.iter.next();
            self.view.count(T::NAME)?;
        }
        self.started = true;
        if !self.iter.valid() {
            self.iter.status().map_err(|e| ReadError::of_table(T::NAME, e))?;
            return Ok(None);
        }
        match self.iter.item() {
            Some((key, value)) if T::TAG.is_none_or(|tag| key.first() == Some(&tag)) => {
                self.view.count_bytes(value)?;
                Ok(Some((key, value)))
            }
            _ => Ok(None),
        }
    }
}

impl<T: Table> Iterator for Scan<'_, '_, T> {
    type Item = Result<(T::Key, T::Value), ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.next_bytes() {
            Ok(None) => None,
            Ok(Some((key, value))) => Some((|| Ok((T::decode_key(key)?, T::decode_value(value)?)))()),
            Err(e) => Some(Err(e)),
        }
    }
}
