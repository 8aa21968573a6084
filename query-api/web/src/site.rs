//! What all pages share.

use std::sync::Arc;

use crate::ask::Operations;

/// Choices of the operator.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// True if search engines may list the pages of addresses, wallets and transactions.
    pub for_search_engines: bool,
}

pub(crate) struct Site {
    pub(crate) operations: Arc<dyn Operations>,
    pub(crate) options: Options,
}

impl Site {
    pub(crate) fn new(operations: Arc<dyn Operations>, options: Options) -> Self {
        Site { operations, options }
    }
}
