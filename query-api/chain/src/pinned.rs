//! Index and mempool, pinned at one tip.

use std::{cell::RefCell, collections::HashMap, fmt, rc::Rc, sync::Arc, time::Duration};

use cairn_domain::mempool::{Mempool, Projection};
use cairn_http::{ApiError, ErrorCode, Work};
use cairn_link::{Absent, IndexSource};
use cairn_model::Txid;
use cairn_reader::{ReadError, View};

use crate::{node::NodeAccess, wanted::Wanted};

/// How often, and how long each time, a request waits until index and mempool have the same tip.
const WAITS: u32 = 10;
const WAIT: Duration = Duration::from_millis(50);

/// Most transactions of a request whose bytes come from the node.
const MAX_FETCHED: usize = 100;

/// The index, the mempool and the node, for requests of other protocols.
#[derive(Clone)]
pub struct Chain {
    index: Arc<dyn IndexSource>,
    node: Option<Arc<dyn NodeAccess>>,
}

impl fmt::Debug for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chain").field("has_node", &self.node.is_some()).finish_non_exhaustive()
    }
}

/// Index and mempool at one tip.
pub struct Pinned<'p> {
    /// The index.
    pub view: &'p View<'p>,
    /// The mempool; an empty one if none is watched.
    pub mempool: &'p Mempool,
    /// The mempool as blocks; `None` before the first projection, and without a mempool.
    pub projection: Option<&'p Arc<Projection>>,
    /// Bytes that the node has sent, by txid; `None` before it was asked.
    pub(crate) brought: Option<&'p HashMap<Txid, Vec<u8>>>,
    /// Transactions whose bytes only the node has.
    pub(crate) wanted: RefCell<Vec<Wanted>>,
}

impl fmt::Debug for Pinned<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pinned").field("tip", self.view.tip()).finish_non_exhaustive()
    }
}

impl Chain {
    /// The chain that this source has, with the node if there is one.
    #[must_use]
    pub fn new(index: Arc<dyn IndexSource>, node: Option<Arc<dyn NodeAccess>>) -> Self {
        Chain { index, node }
    }

    /// The source of index and mempool.
    #[must_use]
    pub fn index(&self) -> &dyn IndexSource {
        &*self.index
    }

    /// The node.
    ///
    /// # Errors
    /// Returns 503 `node_unavailable` if none is configured.
    pub fn node(&self) -> Result<&dyn NodeAccess, ApiError> {
        let none = || ApiError::unavailable(ErrorCode::NodeUnavailable, "no node is configured", 60);
        self.node.as_deref().ok_or_else(none)
    }

    /// Reads from index and mempool at one tip, as part of this work. `read` runs again if the node has to bring bytes
    /// of transactions, and must have no other effect than its result.
    ///
    /// # Errors
    /// Returns 503 while nothing is indexed, or while the mempool is loaded or its watcher is lost, and what `read`
    /// returns.
    pub fn read<T>(
        &self,
        work: &Rc<Work>,
        mut read: impl FnMut(&Pinned<'_>) -> Result<T, ApiError>,
    ) -> Result<T, ApiError> {
        let (mut brought, mut waits, empty) = (None, 0, Mempool::default());
        loop {
            let slot = self.index.mempool();
            let mark = slot.mark();
            // The mempool first, then the index: as operations do.
            let mempool = slot.pin();
            let reader = self.index.reader().ok_or(ReadError::Empty)?;
            let mut view = reader.view()?;
            view.work_for(Rc::clone(work));
            let pool = match mempool.absent(Some(&view.tip().hash)) {
                None => Some(&mempool),
                Some(Absent::NotWatched) => None,
                Some(Absent::OtherTip) if waits < WAITS => {
                    drop(view);
                    work.poll()?;
                    slot.wait(mark, WAIT);
                    waits += 1;
                    continue;
                }
                Some(absent) => {
                    return Err(ApiError::unavailable(ErrorCode::IndexSyncing, absent.reason(), 2));
                }
            };
            let pinned = Pinned {
                view: &view,
                mempool: pool.map_or(&empty, |pool| pool.mempool()),
                projection: pool.and_then(|pool| pool.projection()),
                brought: brought.as_ref(),
                wanted: RefCell::default(),
            };
            let result = read(&pinned);
            let wanted = pinned.wanted.take();
            match &self.node {
                Some(node) if result.is_err() && !wanted.is_empty() && brought.is_none() => {
                    drop((view, mempool));
                    brought = Some(fetch(&**node, &wanted, work)?);
                }
                _ => return result,
            }
        }
    }
}

/// Fetches bytes from the node, while nothing is pinned.
fn fetch(node: &dyn NodeAccess, wanted: &[Wanted], work: &Work) -> Result<HashMap<Txid, Vec<u8>>, ApiError> {
    let mut brought = HashMap::new();
    for Wanted { txid, block } in wanted.iter().take(MAX_FETCHED) {
        work.poll()?;
        let unreachable = |_| ApiError::unavailable(ErrorCode::NodeUnavailable, "the node cannot be reached", 5);
        if let Some(bytes) = node.raw_transaction(txid, block.as_ref()).map_err(unreachable)? {
            work.read(bytes.len())?;
            brought.insert(*txid, bytes);
        }
    }
    Ok(brought)
}
