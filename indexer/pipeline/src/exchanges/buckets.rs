//! Brings the effects of transactions on scripts from the order of scripts into that of transactions.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Write},
    path::{Path, PathBuf},
};

use cairn_model::{Sats, TxNum};

use super::known::ExchangeId;

/// Transactions of a bucket. The main network has 1.2 billion: some 600 buckets, of which one at a time is sorted in
/// memory.
const SPAN: u64 = 1 << 21;
/// Bytes of a bucket that are kept until they are appended to its file.
const BUFFER: usize = 64 << 10;
/// Bytes of an item.
const ITEM: usize = 24;
/// Bytes that may be kept in memory where there is no folder.
const MAX_IN_MEMORY: usize = 256 << 20;

/// Effect of a transaction on a script of an exchange.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Item {
    pub(super) tx_num: TxNum,
    pub(super) exchange: ExchangeId,
    /// It counts with the labels that there are now.
    pub(super) is_latest: bool,
    /// It counts with the labels of its time.
    pub(super) is_point_in_time: bool,
    /// It counts, with the labels of its time, because of a document that came on a later day.
    pub(super) is_backfilled: bool,
    pub(super) sent: Sats,
    pub(super) received: Sats,
}

impl Item {
    fn encode(&self) -> [u8; ITEM] {
        let flags = [self.is_latest, self.is_point_in_time, self.is_backfilled];
        let flags = (0..).zip(flags).fold(0, |flags, (at, is_set)| flags | u64::from(is_set) << at);
        let head = self.tx_num.0 << 24 | u64::from(self.exchange) << 8 | flags;
        let mut bytes = [0; ITEM];
        for (to, number) in bytes.chunks_exact_mut(8).zip([head, self.sent, self.received]) {
            to.copy_from_slice(&number.to_be_bytes());
        }
        bytes
    }

    fn decode(bytes: &[u8; ITEM]) -> Self {
        let number = |at: usize| (at..at + 8).fold(0u64, |number, at| number << 8 | u64::from(bytes[at]));
        let head = number(0);
        let flag = |at: u32| head >> at & 1 == 1;
        Item {
            tx_num: TxNum(head >> 24),
            exchange: (head >> 8) as ExchangeId,
            is_latest: flag(0),
            is_point_in_time: flag(1),
            is_backfilled: flag(2),
            sent: number(8),
            received: number(16),
        }
    }
}

/// Items by transaction, in memory as far as they are few, else in files of a folder, which ends with this.
pub(super) struct Buckets {
    dir: Option<PathBuf>,
    buffer: usize,
    span: u64,
    /// Bytes that may still be kept in memory without a folder.
    room: usize,
    buckets: Vec<Bucket>,
}

#[derive(Default)]
struct Bucket {
    bytes: Vec<u8>,
    is_on_disk: bool,
}

/// Why the folder cannot be used, or is missing although there are many items.
#[derive(Debug)]
pub(super) struct SpillError {
    pub(super) path: PathBuf,
    pub(super) source: io::Error,
}

impl Buckets {
    /// None yet. Without a folder, all of them have to fit in 256 MiB of memory.
    ///
    /// # Errors
    /// What an earlier process left in the folder cannot be removed.
    pub(super) fn new(dir: Option<&Path>) -> Result<Self, SpillError> {
        Self::of_sizes(dir, BUFFER, SPAN, MAX_IN_MEMORY)
    }

    fn of_sizes(dir: Option<&Path>, buffer: usize, span: u64, room: usize) -> Result<Self, SpillError> {
        let buckets = Buckets { dir: dir.map(Path::to_owned), buffer, span, room, buckets: Vec::new() };
        buckets.remove()?;
        Ok(buckets)
    }

    fn remove(&self) -> Result<(), SpillError> {
        let Some(dir) = &self.dir else { return Ok(()) };
        match fs::remove_dir_all(dir) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => Err(SpillError { path: dir.clone(), source }),
            _ => Ok(()),
        }
    }

    fn file(dir: &Path, number: usize) -> PathBuf {
        dir.join(format!("{number:05}.flows"))
    }

    /// Adds an item.
    ///
    /// # Errors
    /// The disk fails or is full, or there is no folder and there are too many for memory.
    pub(super) fn add(&mut self, item: &Item) -> Result<(), SpillError> {
        let number = usize::try_from(item.tx_num.0 / self.span).unwrap_or(usize::MAX).min(1 << 20);
        if number >= self.buckets.len() {
            self.buckets.resize_with(number + 1, Bucket::default);
        }
        let Some(bucket) = self.buckets.get_mut(number) else { return Ok(()) };
        bucket.bytes.extend_from_slice(&item.encode());
        let Some(dir) = &self.dir else {
            let left = self.room.checked_sub(ITEM);
            self.room =
                left.ok_or_else(|| SpillError { path: PathBuf::new(), source: io::ErrorKind::OutOfMemory.into() })?;
            return Ok(());
        };
        if bucket.bytes.len() + ITEM <= self.buffer {
            return Ok(());
        }
        let path = Self::file(dir, number);
        let append = || -> io::Result<()> {
            if !bucket.is_on_disk {
                fs::create_dir_all(dir)?;
            }
            OpenOptions::new().create(true).append(true).open(&path)?.write_all(&bucket.bytes)
        };
        append().map_err(|source| SpillError { path: path.clone(), source })?;
        (bucket.is_on_disk, bucket.bytes) = (true, Vec::new());
        Ok(())
    }

    /// Takes the items of the first bucket that has some, ascending; `None` at the end.
    pub(super) fn take(&mut self) -> Result<Option<Vec<Item>>, SpillError> {
        let some = |bucket: &Bucket| bucket.is_on_disk || !bucket.bytes.is_empty();
        let Some((number, bucket)) = self.buckets.iter_mut().enumerate().find(|(_, bucket)| some(bucket)) else {
            return Ok(None);
        };
        let mut bytes = Vec::new();
        if let Some(dir) = self.dir.as_deref().filter(|_| bucket.is_on_disk) {
            let path = Self::file(dir, number);
            let read = |bytes: &mut Vec<u8>| -> io::Result<()> {
                File::open(&path)?.read_to_end(bytes)?;
                fs::remove_file(&path)
            };
            read(&mut bytes).map_err(|source| SpillError { path: path.clone(), source })?;
        }
        bytes.append(&mut bucket.bytes);
        bucket.is_on_disk = false;
        let (items, rest) = bytes.as_chunks::<ITEM>();
        if !rest.is_empty() {
            let path = self.dir.as_deref().map(|dir| Self::file(dir, number)).unwrap_or_default();
            return Err(SpillError { path, source: io::ErrorKind::InvalidData.into() });
        }
        let mut items: Vec<Item> = items.iter().map(Item::decode).collect();
        items.sort_unstable();
        Ok(Some(items))
    }
}

impl Drop for Buckets {
    fn drop(&mut self) {
        if let Err(error) = self.remove() {
            tracing::warn!(path = %error.path.display(), error = %error.source, "cannot remove temporary files");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(tx_num: u64, exchange: ExchangeId) -> Item {
        let [is_latest, is_point_in_time, is_backfilled] = [0, 1, 2].map(|bit| tx_num >> bit & 1 == 1);
        let tx_num = TxNum(tx_num);
        Item {
            tx_num,
            exchange,
            is_latest,
            is_point_in_time,
            is_backfilled,
            sent: u64::from(exchange) << 40,
            received: tx_num.0,
        }
    }

    /// Numbers in no order.
    fn items() -> Vec<Item> {
        (0..2_000u64).map(|n| item(n * 7_919 % 2_003, (n % 3) as ExchangeId)).collect()
    }

    fn taken(mut buckets: Buckets) -> Vec<Item> {
        let mut all = Vec::new();
        while let Some(items) = buckets.take().unwrap() {
            assert!(!items.is_empty());
            all.extend(items);
        }
        all
    }

    #[test]
    fn items_come_back_in_the_order_of_transactions_from_memory_and_from_files() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("flows");
        let mut expected = items();
        expected.sort_unstable();
        // Files that a killed process left do not belong to it.
        fs::create_dir_all(&folder).unwrap();
        fs::write(Buckets::file(&folder, 0), [1; ITEM]).unwrap();
        for buffer in [ITEM, 5 * ITEM, 1 << 20] {
            for span in [1, 64, 1 << 21] {
                let mut buckets = Buckets::of_sizes(Some(&folder), buffer, span, 0).unwrap();
                items().iter().for_each(|item| buckets.add(item).unwrap());
                // Some three items have the same transaction.
                assert_eq!(folder.exists(), buffer == ITEM || buffer == 5 * ITEM && span > 1);
                assert_eq!(taken(buckets), expected, "{buffer} {span}");
                assert!(!folder.exists());
            }
        }
        let mut buckets = Buckets::of_sizes(None, ITEM, 64, 2_000 * ITEM).unwrap();
        items().iter().for_each(|item| buckets.add(item).unwrap());
        assert_eq!(taken(buckets), expected);
    }

    #[test]
    fn what_cannot_be_written_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        fs::write(&file, "").unwrap();
        let buckets = Buckets::of_sizes(Some(&file.join("flows")), ITEM, 64, 0);
        assert!(buckets.and_then(|mut buckets| buckets.add(&item(1, 0))).is_err());
        let mut buckets = Buckets::of_sizes(None, ITEM, 64, 3 * ITEM).unwrap();
        let added: Vec<bool> = (0..4).map(|n| buckets.add(&item(n * 64, 0)).is_ok()).collect();
        assert_eq!(added, [true, true, true, false], "without a folder there is an end");
    }
}
