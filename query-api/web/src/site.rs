//! The parts that all pages share.

use std::sync::Arc;

use crate::operations::Operations;

/// Choices of the operator.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Where a story of the chain begins, for readers who look around.
    pub stories: Vec<Story>,
    /// True if search engines may list the pages of addresses, wallets and transactions.
    pub for_search_engines: bool,
}

/// An address that is worth a look.
#[derive(Clone, Debug)]
pub struct Story {
    /// Who it is.
    pub title: String,
    /// A sentence.
    pub description: String,
    /// The address.
    pub address: String,
    /// Extended public key of its account, if its whole wallet is public.
    pub account_key: Option<String>,
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
