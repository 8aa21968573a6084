//! The watchers: connections over a websocket, with the data that each wants, the scripts and the transaction that it
//! tracks, and the messages that wait for it.
//!
//! Memory: a tracked script takes about 250 bytes, so 100 of each of two kinds on 2 048 connections take 100 MiB.
//! Messages have their own limit, see [`MAX_WAITING_BYTES`]; larger queues hold memory that all clients share.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, VecDeque},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use axum::extract::ws::Utf8Bytes;
use cairn_domain::mempool::ScriptHash;
use cairn_http::HeldMemory;
use cairn_model::{BlockHash, Txid};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{Notify, watch};

use crate::watch_message::{List, Wanted};

/// Most bytes of the messages that wait for a connection.
pub(crate) const MAX_WAITING_BYTES: usize = 4 << 20;
/// Most messages that wait for a connection.
const MAX_WAITING: usize = 256;
/// Smaller queues hold no shared memory.
const SMALL: usize = 64 << 10;

/// Why the server closes a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Closing {
    /// The client does not read.
    Slow,
    /// Changes of tracked scripts could not be followed.
    Gap,
}

/// The place of an unconfirmed transaction among the projected blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Position {
    /// 0 is the next block.
    pub(crate) block: u32,
    /// Virtual bytes before the middle of the transaction.
    pub(crate) vsize: u64,
}

/// The state of a tracked transaction that its client knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TxState {
    /// Its first answer is still to come.
    Unread,
    /// Neither in the chain nor in the mempool.
    Unknown,
    /// In the mempool; `None` if it is in no projected block.
    Waiting(Option<Position>),
    Replaced(Txid),
    Confirmed(BlockHash),
}

/// The scripts and the transaction that a connection tracks. Scripts have the text by which the client names them.
#[derive(Debug, Default)]
pub(crate) struct Tracked {
    pub(crate) address: Vec<(String, ScriptHash)>,
    pub(crate) addresses: Vec<(String, ScriptHash)>,
    pub(crate) scripts: Vec<(String, ScriptHash)>,
    pub(crate) tx: Option<(Txid, TxState)>,
}

impl Tracked {
    fn list(&mut self, list: List) -> &mut Vec<(String, ScriptHash)> {
        match list {
            List::Address => &mut self.address,
            List::Addresses => &mut self.addresses,
            List::Scripts => &mut self.scripts,
        }
    }

    /// True if any script is tracked.
    pub(crate) fn has_scripts(&self) -> bool {
        ![&self.address, &self.addresses, &self.scripts].into_iter().all(Vec::is_empty)
    }

    fn hashes(&self) -> BTreeSet<ScriptHash> {
        [&self.address, &self.addresses, &self.scripts].into_iter().flatten().map(|(_, hash)| *hash).collect()
    }
}

/// The state of a connection.
#[derive(Debug, Default)]
pub(crate) struct Connection {
    pub(crate) wanted: Wanted,
    pub(crate) tracked: Tracked,
    waiting: VecDeque<Utf8Bytes>,
    /// Bytes of the messages that wait, and of the one that is being sent.
    bytes: usize,
    sending: usize,
    /// Memory of a large queue.
    memory: Option<HeldMemory>,
    closing: Option<Closing>,
}

impl Connection {
    /// Adds a message. A connection without room for it is closed: a client that missed a message would not know.
    pub(crate) fn push(&mut self, message: Utf8Bytes) {
        let bytes = self.bytes + message.as_str().len();
        let is_full = bytes > MAX_WAITING_BYTES || self.waiting.len() >= MAX_WAITING;
        if is_full || bytes > SMALL && self.memory.as_ref().is_some_and(|memory| memory.grow(bytes).is_err()) {
            return self.close(Closing::Slow);
        }
        self.bytes = bytes;
        self.waiting.push_back(message);
    }

    /// Closes the connection, without the messages that wait.
    pub(crate) fn close(&mut self, closing: Closing) {
        self.closing = self.closing.or(Some(closing));
        self.bytes = self.sending;
        self.waiting = VecDeque::new();
    }
}

/// A connection that the watch and its own task share.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    connection: Mutex<Connection>,
    wake: Notify,
}

impl Outbox {
    /// Changes the connection, and wakes its task if there is something to send.
    pub(crate) fn with<T>(&self, change: impl FnOnce(&mut Connection) -> T) -> T {
        let mut connection = self.connection.lock();
        let result = change(&mut connection);
        if !connection.waiting.is_empty() || connection.closing.is_some() {
            self.wake.notify_one();
        }
        result
    }
}

/// The next thing that the task of a connection does.
#[derive(PartialEq, Eq, Debug)]
pub(crate) enum Next {
    Send(Utf8Bytes),
    Close(Closing),
    /// Nothing waits.
    Wait,
}

#[derive(Default)]
struct Registry {
    connections: BTreeMap<u64, Arc<Outbox>>,
    next: u64,
    /// Number of connections by script, in order, so that scripts are found by the prefix of their hash.
    scripts: BTreeMap<ScriptHash, usize>,
    /// Number of connections by transaction.
    txids: HashMap<Txid, usize>,
    is_watched: bool,
}

/// All watchers.
pub(crate) struct Watchers {
    registry: Mutex<Registry>,
    /// True once the watch has seen the present state: later changes are sent.
    ready: watch::Sender<bool>,
    /// True if a client has learnt the state of a transaction since the watch read those of all.
    has_new_txs: AtomicBool,
}

impl Default for Watchers {
    fn default() -> Self {
        Watchers { registry: Mutex::default(), ready: watch::Sender::new(false), has_new_txs: AtomicBool::new(false) }
    }
}

impl Watchers {
    /// Adds a connection. `memory` is for a large queue. True if the caller has to start the watch.
    pub(crate) fn connect(self: &Arc<Self>, memory: Option<HeldMemory>) -> (Watcher, bool) {
        let outbox = Arc::new(Outbox::default());
        outbox.with(|connection| connection.memory = memory);
        let mut registry = self.registry.lock();
        let number = registry.next;
        registry.next += 1;
        registry.connections.insert(number, Arc::clone(&outbox));
        let must_start = !std::mem::replace(&mut registry.is_watched, true);
        drop(registry);
        (Watcher { watchers: Arc::clone(self), number, outbox }, must_start)
    }

    /// Waits until the watch has seen the present state.
    pub(crate) async fn ready(&self) {
        // The sender is here.
        let _ = self.ready.subscribe().wait_for(|ready| *ready).await;
    }

    /// Notes that the watch has seen the present state.
    pub(crate) fn set_ready(&self) {
        self.ready.send_if_modified(|ready| !std::mem::replace(ready, true));
    }

    /// Ends the watch if nobody watches. True if it has ended.
    pub(crate) fn end_if_idle(&self) -> bool {
        let registry = self.registry.lock();
        let is_idle = registry.connections.is_empty();
        if is_idle {
            self.end(registry);
        }
        is_idle
    }

    /// Closes all connections because the watch has failed.
    pub(crate) fn fail(&self) {
        let registry = self.registry.lock();
        for outbox in registry.connections.values() {
            outbox.with(|connection| connection.close(Closing::Gap));
        }
        self.end(registry);
    }

    fn end(&self, mut registry: MutexGuard<'_, Registry>) {
        registry.is_watched = false;
        self.ready.send_replace(false);
    }

    /// The connections, oldest first.
    pub(crate) fn connections(&self) -> Vec<Arc<Outbox>> {
        self.registry.lock().connections.values().map(Arc::clone).collect()
    }

    /// Makes the watch read the states of all tracked transactions again.
    pub(crate) fn set_new_txs(&self) {
        self.has_new_txs.store(true, Ordering::SeqCst);
    }

    /// True if a client has learnt the state of a transaction since the last call.
    pub(crate) fn take_new_txs(&self) -> bool {
        self.has_new_txs.swap(false, Ordering::SeqCst)
    }

    /// The tracked transactions.
    pub(crate) fn txids(&self) -> Vec<Txid> {
        self.registry.lock().txids.keys().copied().collect()
    }

    /// The tracked scripts.
    pub(crate) fn scripts(&self) -> BTreeSet<ScriptHash> {
        self.registry.lock().scripts.keys().copied().collect()
    }
}

/// The task's side of a connection. Dropping it ends the connection.
pub(crate) struct Watcher {
    watchers: Arc<Watchers>,
    number: u64,
    outbox: Arc<Outbox>,
}

impl Watcher {
    /// Changes the connection.
    pub(crate) fn with<T>(&self, change: impl FnOnce(&mut Connection) -> T) -> T {
        self.outbox.with(change)
    }

    /// Waits until [`Watcher::next`] may have something.
    pub(crate) async fn wait(&self) {
        self.outbox.wake.notified().await;
    }

    /// Takes the next message; the one before is sent. `memory` replaces that of a queue that is empty now.
    pub(crate) fn next(&self, memory: impl FnOnce() -> HeldMemory) -> Next {
        self.outbox.with(|connection| {
            connection.bytes = connection.bytes.saturating_sub(std::mem::take(&mut connection.sending));
            if let Some(closing) = connection.closing {
                return Next::Close(closing);
            }
            match connection.waiting.pop_front() {
                Some(message) => {
                    connection.sending = message.as_str().len();
                    Next::Send(message)
                }
                None => {
                    connection.memory = connection.memory.take().map(|_| memory());
                    Next::Wait
                }
            }
        })
    }

    /// True if the connection is to be closed.
    pub(crate) fn is_closing(&self) -> bool {
        self.outbox.connection.lock().closing.is_some()
    }

    /// Replaces a list of tracked scripts.
    pub(crate) fn track(&self, list: List, scripts: Vec<(String, ScriptHash)>) {
        self.change(|tracked| *tracked.list(list) = scripts);
    }

    /// Replaces the tracked transaction.
    pub(crate) fn track_tx(&self, txid: Option<Txid>) {
        self.change(|tracked| tracked.tx = txid.map(|txid| (txid, TxState::Unread)));
    }

    /// Notes the state of the tracked transaction that its client gets, unless it tracks another one by now.
    pub(crate) fn set_state(&self, of: Txid, state: TxState) {
        self.with(|connection| {
            if let Some((txid, known)) = &mut connection.tracked.tx
                && *txid == of
            {
                *known = state;
            }
        });
        // It may have changed since it was read.
        self.watchers.set_new_txs();
    }

    /// Changes the tracked scripts and transaction, here and in the registry.
    fn change(&self, change: impl FnOnce(&mut Tracked)) {
        let mut registry = self.watchers.registry.lock();
        self.outbox.with(|connection| {
            let tracked = &mut connection.tracked;
            let (before, tx_before) = (tracked.hashes(), tracked.tx.map(|(txid, _)| txid));
            change(tracked);
            for hash in before {
                subtract(registry.scripts.entry(hash));
            }
            for hash in tracked.hashes() {
                *registry.scripts.entry(hash).or_default() += 1;
            }
            if let Some(txid) = tx_before
                && let Some(count) = registry.txids.get_mut(&txid)
            {
                *count -= 1;
                if *count == 0 {
                    registry.txids.remove(&txid);
                }
            }
            if let Some((txid, _)) = tracked.tx {
                *registry.txids.entry(txid).or_default() += 1;
            }
        });
    }
}

fn subtract(entry: std::collections::btree_map::Entry<'_, ScriptHash, usize>) {
    use std::collections::btree_map::Entry;
    if let Entry::Occupied(mut count) = entry {
        *count.get_mut() -= 1;
        if *count.get() == 0 {
            count.remove();
        }
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.change(|tracked| *tracked = Tracked::default());
        self.watchers.registry.lock().connections.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watcher(watchers: &Arc<Watchers>) -> Watcher {
        watchers.connect(None).0
    }

    fn next(watcher: &Watcher) -> Next {
        watcher.next(|| panic!("no memory is held"))
    }

    #[test]
    fn a_script_is_registered_while_somebody_tracks_it() {
        let watchers = Arc::new(Watchers::default());
        let (one, other) = (watcher(&watchers), watcher(&watchers));
        let named = |tag: u8| (tag.to_string(), [tag; 32]);
        one.track(List::Address, vec![named(1)]);
        one.track(List::Addresses, vec![named(1), named(2)]);
        other.track(List::Scripts, vec![named(1)]);
        one.track_tx(Some(Txid([7; 32])));
        other.track_tx(Some(Txid([7; 32])));
        assert_eq!(watchers.scripts(), BTreeSet::from([[1; 32], [2; 32]]));
        one.track(List::Addresses, vec![]);
        assert_eq!(watchers.scripts(), BTreeSet::from([[1; 32]]));
        one.track(List::Address, vec![]);
        one.track_tx(Some(Txid([8; 32])));
        assert_eq!((watchers.scripts().len(), watchers.txids().len()), (1, 2));
        drop(other);
        assert_eq!((watchers.scripts().len(), watchers.txids()), (0, vec![Txid([8; 32])]));
        drop(one);
        let registry = watchers.registry.lock();
        assert!(registry.txids.is_empty() && registry.connections.is_empty());
    }

    #[test]
    fn a_client_that_does_not_read_is_closed() {
        let watchers = Arc::new(Watchers::default());
        let by_size = watcher(&watchers);
        let large: Utf8Bytes = "x".repeat(MAX_WAITING_BYTES / 2).into();
        by_size.with(|connection| connection.push(large.clone()));
        by_size.with(|connection| connection.push(large.clone()));
        // The first is being sent, and counts until the next is taken.
        assert_eq!(next(&by_size), Next::Send(large.clone()));
        by_size.with(|connection| connection.push("{}".into()));
        assert_eq!(next(&by_size), Next::Close(Closing::Slow));
        let by_count = watcher(&watchers);
        (0..=MAX_WAITING).for_each(|_| by_count.with(|connection| connection.push("{}".into())));
        assert_eq!(next(&by_count), Next::Close(Closing::Slow));
        assert!(by_count.outbox.connection.lock().waiting.capacity() == 0);
    }

    #[test]
    fn a_client_that_reads_gets_all() {
        let watchers = Arc::new(Watchers::default());
        let one = watcher(&watchers);
        let large: Utf8Bytes = "x".repeat(MAX_WAITING_BYTES / 2 + 1).into();
        for _ in 0..10 {
            one.with(|connection| connection.push(large.clone()));
            assert_eq!(next(&one), Next::Send(large.clone()));
            assert_eq!(next(&one), Next::Wait);
        }
    }

    #[test]
    fn one_watch_runs_while_somebody_watches() {
        let watchers = Arc::new(Watchers::default());
        let (one, starts) = watchers.connect(None);
        let (other, starts_again) = watchers.connect(None);
        assert!(starts && !starts_again);
        drop(one);
        assert!(!watchers.end_if_idle());
        drop(other);
        assert!(watchers.end_if_idle());
        let (one, starts) = watchers.connect(None);
        assert!(starts);
        watchers.fail();
        assert_eq!(next(&one), Next::Close(Closing::Gap));
        assert!(watchers.connect(None).1);
    }
}
