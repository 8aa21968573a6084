//! State that all routes share.

use std::{fmt, rc::Rc, sync::Arc};

use axum::http::request::Parts;
use cairn_chain::{Chain, Pinned};
use cairn_http::{Api, ApiError, Asker, Cost, Work};

use crate::{
    answer::{Answer, Refusal},
    caches::Caches,
    watchers::Watchers,
};

/// The API whose limits hold, and the chain.
#[derive(Clone)]
pub(crate) struct Esplora {
    api: Api,
    chain: Chain,
    caches: Arc<Caches>,
    watchers: Arc<Watchers>,
}

impl fmt::Debug for Esplora {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Esplora").finish_non_exhaustive()
    }
}

impl Esplora {
    pub(crate) fn new(api: Api, chain: Chain) -> Self {
        Esplora { api, chain, caches: Arc::default(), watchers: Arc::default() }
    }

    /// The API whose limits hold.
    pub(crate) fn api(&self) -> &Api {
        &self.api
    }

    /// Answers from index and mempool at one tip, as work of this class. `read` may run twice (see [`Chain::read`]).
    pub(crate) async fn read(
        self,
        cost: Cost,
        from: &Parts,
        mut read: impl FnMut(&Pinned<'_>, &Work) -> Result<Answer, Refusal> + Send + 'static,
    ) -> Result<Answer, Refusal> {
        let chain = self.chain.clone();
        self.work(cost, from, move |work| pinned(&chain, work, |at| read(at, work))).await
    }

    /// Does other work, such as questions to the node.
    pub(crate) async fn work(
        self,
        cost: Cost,
        from: &Parts,
        work: impl FnOnce(&Rc<Work>) -> Result<Answer, Refusal> + Send + 'static,
    ) -> Result<Answer, Refusal> {
        let asker = self.api.asker(from);
        let worked = self.api.work(cost, asker, move |counted| match work(counted) {
            Err(Refusal::Failed(error)) => Err(error),
            Err(said) => Ok(Err(said)),
            Ok(answer) => {
                counted.answered(answer.uncounted()).map_err(ApiError::from)?;
                Ok(Ok(answer))
            }
        });
        worked.await?
    }

    /// The chain, for work that asks the node.
    pub(crate) fn chain(&self) -> Chain {
        self.chain.clone()
    }

    /// Reads from index and mempool at one tip for a message of a watcher, which has paid as a light request.
    pub(crate) async fn read_for<T: Send + 'static>(
        &self,
        cost: Cost,
        asker: Asker,
        mut read: impl FnMut(&Pinned<'_>) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ApiError> {
        let chain = self.chain.clone();
        self.api.work(cost, asker, move |work| chain.read(work, |at| read(at))).await
    }

    /// The connections that watch.
    pub(crate) fn watchers(&self) -> &Arc<Watchers> {
        &self.watchers
    }

    /// Answers that many requests share.
    pub(crate) fn caches(&self) -> Arc<Caches> {
        Arc::clone(&self.caches)
    }
}

/// Reads from index and mempool at one tip. `read` may run twice (see [`Chain::read`]).
pub(crate) fn pinned<T>(
    chain: &Chain,
    work: &Rc<Work>,
    mut read: impl FnMut(&Pinned<'_>) -> Result<T, Refusal>,
) -> Result<T, Refusal> {
    // A refusal is an outcome of reading, unless it is of the limits or the index.
    chain.read(work, |at| match read(at) {
        Err(Refusal::Failed(error)) => Err(error),
        outcome => Ok(outcome),
    })?
}
