//! The index that is brought along.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use cairn_link::{MempoolSlot, Publish, Publishers};
use cairn_model::{BlockHash, CancelToken, Height};
use cairn_pipeline::{Engine, Progress};
use prometheus::Registry;

use crate::{FollowError, figures::Figures};

/// An index, opened for writing, and who is told of it.
pub struct OpenIndex {
    pub(crate) engine: Engine,
    pub(crate) datadir: PathBuf,
    /// Everybody who is told.
    pub(crate) readers: Publishers,
    /// The mempool in this process: what is sampled.
    pub(crate) mempool: Arc<MempoolSlot>,
    pub(crate) progress: Arc<dyn Progress + Send + Sync>,
    figures: Option<Figures>,
}

impl OpenIndex {
    /// The index of an engine in `datadir`. `readers` are told what becomes of it; one of them has its mempool in
    /// `mempool`. The token of `progress` cancels the work.
    pub fn new(
        engine: Engine,
        datadir: &Path,
        readers: Publishers,
        mempool: Arc<MempoolSlot>,
        progress: Arc<dyn Progress + Send + Sync>,
    ) -> Self {
        OpenIndex { engine, datadir: datadir.to_owned(), readers, mempool, progress, figures: None }
    }

    /// The same, with metrics in this registry.
    ///
    /// # Errors
    /// It already has metrics with these names.
    pub(crate) fn counted_in(self, registry: &Registry) -> Result<Self, FollowError> {
        Ok(OpenIndex { figures: Some(Figures::register(registry)?), ..self })
    }

    /// Tells what happened to whoever counts.
    pub(crate) fn count(&self, tell: impl FnOnce(&Figures)) {
        self.figures.as_ref().map(tell);
    }

    /// Its newest block; `None` if it is empty.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn tip(&self) -> Result<Option<(Height, BlockHash)>, FollowError> {
        Ok(self.engine.tip()?)
    }

    /// Height of its newest block; `None` if it is empty.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn height(&self) -> Result<Option<Height>, FollowError> {
        Ok(self.tip()?.map(|(height, _)| height))
    }

    /// Whether it is at this height or above.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn is_at(&self, to: Height) -> Result<bool, FollowError> {
        Ok(self.height()?.is_some_and(|height| height >= to))
    }

    /// The token that cancels the work.
    #[must_use]
    pub fn cancel_token(&self) -> &CancelToken {
        self.progress.cancel_token()
    }

    /// Makes what was connected durable, and tells of it.
    ///
    /// # Errors
    /// The disk refuses.
    pub fn settle(&self) -> Result<(), FollowError> {
        self.engine.settle()?;
        self.readers.publish_tip(self.engine.tip()?);
        Ok(())
    }
}
