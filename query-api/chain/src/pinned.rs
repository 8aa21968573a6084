//! Index and mempool, pinned at one tip.

use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
    fmt,
    rc::Rc,
    sync::Arc,
    time::Duration,
};

use cairn_domain::mempool::{Mempool, Projection};
use cairn_http::{ApiError, ErrorCode, Work};
use cairn_link::{Absent, IndexSource};
use cairn_model::Txid;
use cairn_reader::{ReadError, View};

use crate::{
    node::NodeAccess,
    wanted::{Wanted, fetch},
};

/// How often, and how long each time, a request waits until index and mempool have the same tip.
const WAITS: u32 = 10;
const WAIT: Duration = Duration::from_millis(50);

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
    /// The mempool (an empty one if none is watched) and the projection, or why they cannot be read.
    pool: Result<(&'p Mempool, Option<&'p Arc<Projection>>), Absent>,
    /// True once the mempool was needed and could not be read.
    has_missed_mempool: Cell<bool>,
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

impl<'p> Pinned<'p> {
    /// The mempool; an empty one if none is watched.
    ///
    /// # Errors
    /// Returns 503 while it is read from the node, while its watcher is lost, and while it is at another tip.
    pub fn mempool(&self) -> Result<&'p Mempool, ApiError> {
        self.pool().map(|(mempool, _)| mempool)
    }

    /// The mempool as blocks; `None` before the first projection, and if no mempool is watched.
    ///
    /// # Errors
    /// As [`Pinned::mempool`].
    pub fn projection(&self) -> Result<Option<&'p Arc<Projection>>, ApiError> {
        self.pool().map(|(_, projection)| projection)
    }

    /// True while the mempool is at another tip than the index, which lasts for a moment.
    #[must_use]
    pub fn is_mempool_at_other_tip(&self) -> bool {
        self.pool.is_err_and(|absent| absent == Absent::OtherTip)
    }

    fn pool(&self) -> Result<(&'p Mempool, Option<&'p Arc<Projection>>), ApiError> {
        self.pool.map_err(|absent| {
            self.has_missed_mempool.set(true);
            ApiError::unavailable(ErrorCode::IndexSyncing, absent.reason(), 2)
        })
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
    /// of transactions, or if it needs the mempool while that is at another tip. It must have no other effect than its
    /// result. If it reads only the index, it does not depend on the state of the mempool.
    ///
    /// # Errors
    /// Returns 503 while nothing is indexed, and what `read` returns.
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
                None => Ok((mempool.mempool(), mempool.projection())),
                Some(Absent::NotWatched) => Ok((&empty, None)),
                Some(absent) => Err(absent),
            };
            let pinned = Pinned {
                view: &view,
                pool,
                has_missed_mempool: Cell::default(),
                brought: brought.as_ref(),
                wanted: RefCell::default(),
            };
            let result = read(&pinned);
            let must_wait = pinned.has_missed_mempool.get() && pinned.is_mempool_at_other_tip();
            let wanted = pinned.wanted.take();
            if result.is_ok() {
                return result;
            }
            if must_wait && waits < WAITS {
                drop(view);
                work.poll()?;
                slot.wait(mark, WAIT);
                waits += 1;
                continue;
            }
            match &self.node {
                Some(node) if !wanted.is_empty() && brought.is_none() => {
                    drop((view, mempool));
                    brought = Some(fetch(&**node, &wanted, work)?);
                }
                _ => return result,
            }
        }
    }
}
