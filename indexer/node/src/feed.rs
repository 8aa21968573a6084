//! Blocks fetched ahead by several threads and handed over in order, in bounded memory.

use std::{collections::BTreeMap, sync::Arc, thread};

use parking_lot::{Condvar, Mutex};

use crate::{blocks::NodeBlock, chain::BlockAt, client::NodeClient, error::NodeError};

/// How far ahead blocks are fetched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FetchOptions {
    /// Requests at the same time. Bitcoin Core works on `rpcthreads` of them (4, since v30 16).
    pub parallel: usize,
    /// Blocks that wait to be taken.
    pub ahead_blocks: usize,
    /// Memory that they may take, in bytes. Blocks being fetched come on top: one for each request.
    pub ahead_bytes: usize,
}

impl Default for FetchOptions {
    fn default() -> Self {
        FetchOptions { parallel: 4, ahead_blocks: 512, ahead_bytes: 128 << 20 }
    }
}

pub(crate) struct BlockFeed {
    client: NodeClient,
    shared: Arc<Shared>,
    /// Whether threads work for it. A few blocks are fetched when they are taken.
    threaded: bool,
}

struct Shared {
    list: Vec<BlockAt>,
    options: FetchOptions,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Places in the list: the next that a thread fetches, the next that is taken.
    fetching: usize,
    taking: usize,
    ready: BTreeMap<usize, Result<NodeBlock, NodeError>>,
    ready_bytes: usize,
    over: bool,
}

impl Shared {
    /// Fetches until the list or the feed is over.
    fn work(&self, client: &NodeClient) {
        let mut state = self.state.lock();
        loop {
            let at = state.fetching;
            let Some(block) = self.list.get(at).filter(|_| !state.over) else { return };
            let full = at >= state.taking + self.options.ahead_blocks
                || (state.ready_bytes >= self.options.ahead_bytes && at > state.taking);
            if full {
                self.changed.wait(&mut state);
                continue;
            }
            state.fetching += 1;
            drop(state);
            let fetched = client.block(block.height, &block.hash);
            state = self.state.lock();
            state.ready_bytes += fetched.as_ref().map_or(0, NodeBlock::memory);
            // Blocks behind an error are never taken.
            state.over |= fetched.is_err();
            state.ready.insert(at, fetched);
            self.changed.notify_all();
        }
    }
}

impl BlockFeed {
    /// Begins to fetch `list`.
    pub(crate) fn start(client: &NodeClient, list: Vec<BlockAt>, options: FetchOptions) -> Result<Self, NodeError> {
        let threads = options.parallel.min(list.len());
        let state = Mutex::new(State::default());
        let shared = Arc::new(Shared { list, options, state, changed: Condvar::new() });
        let threaded = threads > 1;
        // Made first: dropped on an error below, it ends the threads that have started.
        let feed = BlockFeed { client: client.clone(), shared, threaded };
        if threaded {
            for n in 0..threads {
                let (client, shared) = (feed.client.clone(), Arc::clone(&feed.shared));
                thread::Builder::new()
                    .name(format!("fetch {n}"))
                    .spawn(move || shared.work(&client))
                    .map_err(NodeError::Thread)?;
            }
        }
        Ok(feed)
    }

    pub(crate) fn last(&self) -> Option<BlockAt> {
        self.shared.list.last().copied()
    }

    pub(crate) fn lists(&self, hash: &cairn_model::BlockHash) -> bool {
        self.shared.list.iter().any(|block| block.hash == *hash)
    }

    /// Waits for the next block; `None` after the last. After an error nothing more comes.
    pub(crate) fn next_block(&mut self) -> Option<Result<NodeBlock, NodeError>> {
        let mut state = self.shared.state.lock();
        let at = state.taking;
        let block = self.shared.list.get(at)?;
        if !self.threaded {
            state.taking += 1;
            drop(state);
            return Some(self.client.block(block.height, &block.hash));
        }
        loop {
            if let Some(fetched) = state.ready.remove(&at) {
                state.taking += 1;
                let bytes = fetched.as_ref().map_or(0, NodeBlock::memory);
                state.ready_bytes = state.ready_bytes.saturating_sub(bytes);
                self.shared.changed.notify_all();
                return Some(fetched);
            }
            // Over, and nobody is fetching this one: an error was taken before.
            if state.over && at >= state.fetching {
                return None;
            }
            self.shared.changed.wait(&mut state);
        }
    }
}

impl Drop for BlockFeed {
    fn drop(&mut self) {
        // Threads end after the request that they are at; nobody waits for them.
        self.shared.state.lock().over = true;
        self.shared.changed.notify_all();
    }
}
