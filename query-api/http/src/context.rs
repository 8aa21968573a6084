//! What an operation may use.

use std::cell::RefCell;

use cairn_model::Height;
use cairn_reader::{Tip, View};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{config::ApiConfig, error::ApiError, meta::Warning, operation::Registered, values::rfc3339};

/// What an operation may use: one view of the index, the configuration, the other operations.
pub(crate) struct Ctx<'a> {
    /// The index; `None` while there is none.
    pub(crate) index: Option<&'a View<'a>>,
    /// Height of the best known chain.
    pub(crate) best_height: Option<Height>,
    /// Configuration.
    pub(crate) config: &'a ApiConfig,
    /// All operations.
    pub(crate) operations: &'a [Registered],
    /// Whether the request shows a wallet session that is valid.
    pub(crate) has_session: bool,
    /// What goes into `_meta.warnings`.
    pub(crate) warnings: RefCell<Vec<Warning>>,
}

impl<'a> Ctx<'a> {
    /// The index.
    ///
    /// # Errors
    /// There is none yet.
    pub(crate) fn view(&self) -> Result<&'a View<'a>, ApiError> {
        self.index.ok_or_else(|| ApiError::syncing("nothing has been indexed yet"))
    }

    /// Adds a warning to the answer.
    pub(crate) fn warn(&self, code: &'static str, message: impl Into<String>) {
        self.warnings.borrow_mut().push(Warning::new(code, message));
    }

    /// How many blocks the index lacks, if that is known.
    pub(crate) fn lag(&self) -> Option<u32> {
        self.index.zip(self.best_height).map(|(view, best)| best.saturating_sub(view.tip().height))
    }

    /// Whether the index is further behind than the configuration lets pass.
    pub(crate) fn is_behind(&self) -> bool {
        self.index.is_none() || self.lag().is_some_and(|lag| lag > self.config.max_lag_blocks)
    }

    /// An error for something that was not found: while the index is behind, it may still come.
    pub(crate) fn missing(&self, code: &'static str, detail: String) -> ApiError {
        match self.lag().filter(|_| self.is_behind()) {
            Some(lag) => ApiError::syncing(format!("{detail}; the index lacks {lag} blocks")),
            None => ApiError::not_found(code, detail),
        }
    }
}

/// A block, in brief.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct BlockRef {
    /// Height.
    pub(crate) height: Height,
    /// Hash.
    pub(crate) hash: String,
    /// Time of the header (RFC 3339, UTC).
    pub(crate) time: String,
    /// The same in seconds since 1970.
    pub(crate) time_unix: u32,
}

/// The block at `height`, in brief. One row read.
pub(crate) fn block_ref(view: &View<'_>, height: Height) -> Result<BlockRef, ApiError> {
    let row = view.header(height)?.ok_or_else(|| {
        tracing::error!(height, "a header is missing");
        ApiError::internal()
    })?;
    Ok(BlockRef { height, hash: row.hash.to_string(), time: rfc3339(row.time()), time_unix: row.time() })
}

/// Confirmations of a block.
pub(crate) fn confirmations(tip: &Tip, height: Height) -> u32 {
    (tip.height + 1).saturating_sub(height)
}
