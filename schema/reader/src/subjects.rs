//! The subjects of a view. Each is a type with the reads about it; the table in the documentation of `view` lists them.
//! A subject's methods stand in the file of the subject.

use crate::View;

/// Transactions of the chain, and coins by outpoint.
#[derive(Clone, Copy)]
pub struct TransactionView<'v> {
    pub(crate) view: &'v View<'v>,
}

/// Scripts: their totals, their history, their coins.
#[derive(Clone, Copy)]
pub struct ScriptView<'v> {
    pub(crate) view: &'v View<'v>,
}

/// Clusters of scripts, as of any block.
#[derive(Clone, Copy)]
pub struct ClusterView<'v> {
    pub(crate) view: &'v View<'v>,
}

/// Labels of scripts, and the names that they give.
#[derive(Clone, Copy)]
pub struct LabelView<'v> {
    pub(crate) view: &'v View<'v>,
}

/// Entities that labels name.
#[derive(Clone, Copy)]
pub struct EntityView<'v> {
    pub(crate) view: &'v View<'v>,
}

/// Claims about scripts, their lists and their contests.
#[derive(Clone, Copy)]
pub struct ClaimView<'v> {
    pub(crate) view: &'v View<'v>,
}

/// Inputs besides blocks: events, documents, lists, prices, samples of the mempool.
#[derive(Clone, Copy)]
pub struct LedgerView<'v> {
    pub(crate) view: &'v View<'v>,
}

/// Sums by day of monotone block time.
#[derive(Clone, Copy)]
pub struct DayView<'v> {
    pub(crate) view: &'v View<'v>,
}

/// Transactions that stand out, and the watchlist.
#[derive(Clone, Copy)]
pub struct MovementView<'v> {
    pub(crate) view: &'v View<'v>,
}

/// Flows of exchanges.
#[derive(Clone, Copy)]
pub struct FlowView<'v> {
    pub(crate) view: &'v View<'v>,
}

/// The feed of announcements.
#[derive(Clone, Copy)]
pub struct FeedView<'v> {
    pub(crate) view: &'v View<'v>,
}

/// Tables as rows of bytes. Their rows are not counted in [`View::rows_read`].
#[derive(Clone, Copy)]
pub struct TableView<'v> {
    pub(crate) view: &'v View<'v>,
}

impl View<'_> {
    /// Transactions of the chain, and coins by outpoint.
    #[must_use]
    pub fn transactions(&self) -> TransactionView<'_> {
        TransactionView { view: self }
    }

    /// Scripts: their totals, their history, their coins.
    #[must_use]
    pub fn scripts(&self) -> ScriptView<'_> {
        ScriptView { view: self }
    }

    /// Clusters of scripts.
    #[must_use]
    pub fn clusters(&self) -> ClusterView<'_> {
        ClusterView { view: self }
    }

    /// Labels of scripts, and the names that they give.
    #[must_use]
    pub fn labels(&self) -> LabelView<'_> {
        LabelView { view: self }
    }

    /// Entities that labels name.
    #[must_use]
    pub fn entities(&self) -> EntityView<'_> {
        EntityView { view: self }
    }

    /// Claims about scripts, their lists and their contests.
    #[must_use]
    pub fn claims(&self) -> ClaimView<'_> {
        ClaimView { view: self }
    }

    /// Inputs besides blocks: events, documents, lists, prices, samples of the mempool.
    #[must_use]
    pub fn ledger(&self) -> LedgerView<'_> {
        LedgerView { view: self }
    }

    /// Sums by day of monotone block time.
    #[must_use]
    pub fn days(&self) -> DayView<'_> {
        DayView { view: self }
    }

    /// Transactions that stand out, and the watchlist.
    #[must_use]
    pub fn movements(&self) -> MovementView<'_> {
        MovementView { view: self }
    }

    /// Flows of exchanges.
    #[must_use]
    pub fn flows(&self) -> FlowView<'_> {
        FlowView { view: self }
    }

    /// The feed of announcements.
    #[must_use]
    pub fn feed(&self) -> FeedView<'_> {
        FeedView { view: self }
    }

    /// Tables as rows of bytes.
    #[must_use]
    pub fn tables(&self) -> TableView<'_> {
        TableView { view: self }
    }
}
