//! Runs the anchorer in a thread next to the follower, and gives it access to the index.

use std::{
    io,
    sync::Arc,
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use cairn_anchoring::{
    AnchorError, AnchorSettings, Anchorer, Chain, Figures, Found, Node, RoundEnd, SqlLedger, WalletNode,
};
use cairn_clock::now_secs;
use cairn_domain::mempool::recommended_fees;
use cairn_link::IndexSource;
use cairn_model::{CancelToken, Height, Txid};
use cairn_node::{BlockAt, NodeClient, NodeConfig, RetryPolicy};
use cairn_reader::{ReadError, Reader, View};
use cairn_state::StateUrl;
use prometheus::Registry;

use crate::{
    exit::{Exit, Failure},
    holder::holder,
};

/// Interval of rounds, unless hashes are to wait for less.
const LOOK: Duration = Duration::from_secs(5);
/// How long the end of the process waits for the round that runs. The next process goes on from any point.
const LAST: Duration = Duration::from_secs(2);
const GLANCE: Duration = Duration::from_millis(20);
/// Timeout of a request to the node. Signing with hundreds of keys takes some seconds.
const PATIENCE: Duration = Duration::from_secs(20);

/// The index that this process writes.
struct IndexChain(Arc<dyn IndexSource>);

impl IndexChain {
    fn view<T>(&self, read: impl FnOnce(&View<'_>) -> Result<T, ReadError>) -> Result<Option<T>, String> {
        let Some(reader): Option<Arc<Reader>> = self.0.reader() else { return Ok(None) };
        let viewed = match reader.view() {
            Err(ReadError::Empty) => return Ok(None),
            viewed => viewed.and_then(|view| read(&view)),
        };
        viewed.map(Some).map_err(|error| error.to_string())
    }
}

/// The block of the view's chain at a height.
fn block_at(view: &View<'_>, height: Height) -> Result<Option<BlockAt>, ReadError> {
    Ok(view.header(height)?.map(|header| BlockAt { height, hash: header.hash }))
}

impl Chain for IndexChain {
    fn tip(&self) -> Result<Option<BlockAt>, String> {
        self.view(|view| Ok(BlockAt { height: view.tip().height, hash: view.tip().hash }))
    }

    fn find(&self, txids: &[Txid]) -> Result<Vec<Option<BlockAt>>, String> {
        let found = self.view(|view| {
            let find = |txid| match view.transactions().by_txid(txid)? {
                Some(tx) => block_at(view, tx.height),
                None => Ok(None),
            };
            txids.iter().map(find).collect()
        })?;
        Ok(found.unwrap_or_else(|| vec![None; txids.len()]))
    }

    fn block(&self, block: BlockAt) -> Result<Option<Found>, String> {
        let found = self.view(|view| {
            if block_at(view, block.height)? != Some(block) {
                return Ok(None);
            }
            let txs = view.transactions().brief(block.height, 0, u32::MAX)?;
            Ok(Some(Found { block, txids: txs.into_iter().map(|tx| tx.txid).collect() }))
        })?;
        Ok(found.flatten())
    }

    /// The feerate for one of the next six blocks, as in `/v1/fees/recommended` and the quote.
    fn feerate(&self) -> Option<u64> {
        let pool = self.0.mempool();
        let (projection, stats) = (pool.projection()?, pool.stats()?);
        recommended_fees(&projection, stats.floor.as_ref()).map(|fees| fees.hour.0)
    }
}

/// An anchorer that is not started yet.
pub(crate) struct Anchoring<N> {
    url: StateUrl,
    node: N,
    index: IndexChain,
    settings: AnchorSettings,
    figures: Figures,
    stop: CancelToken,
}

impl Anchoring<WalletNode> {
    /// Creates the anchorer with a wallet of this node. Its metrics are in this registry.
    ///
    /// # Errors
    /// Fails if the URL of the node is invalid, or the registry already has metrics with these names.
    pub(crate) fn of_wallet(
        settings: AnchorSettings,
        wallet: &str,
        node: &NodeConfig,
        url: StateUrl,
        index: Arc<dyn IndexSource>,
        registry: &Registry,
    ) -> Result<Self, Failure> {
        let stop = CancelToken::new();
        // A round that fails is tried again anyway.
        let client = NodeClient::new(node, stop.clone())?.with_retry(RetryPolicy::NONE).with_timeout(PATIENCE);
        tracing::info!(wallet, interval_secs = settings.interval_secs, "timestamps are anchored by the node's wallet");
        let anchoring = Anchoring::new(settings, WalletNode::new(client, wallet), url, index, registry)?;
        Ok(Anchoring { stop, ..anchoring })
    }
}

impl<N: Node + Send + 'static> Anchoring<N> {
    /// Creates the anchorer with this node. Its metrics are in this registry.
    ///
    /// # Errors
    /// Fails if the registry already has metrics with these names.
    pub(crate) fn new(
        settings: AnchorSettings,
        node: N,
        url: StateUrl,
        index: Arc<dyn IndexSource>,
        registry: &Registry,
    ) -> Result<Self, Failure> {
        let figures = Figures::register(registry).map_err(|error| Failure::new(Exit::Other, error.to_string()))?;
        Ok(Anchoring { url, node, index: IndexChain(index), settings, figures, stop: CancelToken::new() })
    }

    /// Starts its thread. It ends when the result is dropped.
    pub(crate) fn start(self) -> io::Result<Running> {
        let ledger = SqlLedger::new(&self.url, &self.settings.network)?;
        let stop = self.stop.clone();
        let pause = LOOK.min(Duration::from_secs(self.settings.interval_secs.into()));
        let anchorer = Anchorer::new(ledger, self.node, self.index, self.settings, holder(), self.figures);
        let thread = thread::Builder::new().name("anchorer".to_owned()).spawn(move || run(anchorer, pause, &stop))?;
        Ok(Running { thread: Some(thread), stop: self.stop })
    }
}

fn run<N: Node>(mut anchorer: Anchorer<SqlLedger, N, IndexChain>, pause: Duration, stop: &CancelToken) {
    let (mut failing, mut waiting) = (None, false);
    loop {
        let ended = anchorer.round(now_secs());
        if stop.is_cancelled() {
            break;
        }
        report(&ended, &mut failing, &mut waiting);
        if stop.wait(pause) {
            break;
        }
    }
    if let Err(error) = anchorer.release() {
        tracing::debug!(%error, "the lease of the anchorer ends by itself");
    }
    anchorer.ledger().close();
}

/// Logs what has changed since the last round.
fn report(ended: &Result<RoundEnd, AnchorError>, failing: &mut Option<String>, waiting: &mut bool) {
    match ended {
        Ok(end) => {
            if failing.take().is_some() {
                tracing::info!("the anchorer works again");
            }
            let now_waits = *end == RoundEnd::NotHolder;
            if now_waits && !*waiting {
                tracing::info!("another process anchors timestamps; this one takes over when that one ends");
            }
            *waiting = now_waits;
        }
        Err(error) => {
            let error = error.to_string();
            if failing.as_ref() != Some(&error) {
                tracing::warn!(error, "the anchorer cannot go on; it tries again every few seconds");
                *failing = Some(error);
            }
        }
    }
}

pub(crate) struct Running {
    thread: Option<JoinHandle<()>>,
    stop: CancelToken,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.cancel();
        let Some(thread) = self.thread.take() else { return };
        let began = Instant::now();
        while !thread.is_finished() && began.elapsed() < LAST {
            thread::sleep(GLANCE);
        }
        if thread.is_finished() && thread.join().is_err() {
            tracing::error!("the thread of the anchorer panicked; this is a bug");
        }
    }
}
