//! The subjects of a view. Each is a type with the reads about it; the table in the documentation of `view` lists them.
//! A subject's methods stand in the file of the subject.

use crate::View;

macro_rules! subjects {
    ($($(#[$doc:meta])* $subject:ident: $type:ident;)*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy)]
            pub struct $type<'v> {
                pub(crate) view: &'v View<'v>,
            }
        )*

        impl View<'_> {
            $(
                $(#[$doc])*
                #[must_use]
                pub fn $subject(&self) -> $type<'_> {
                    $type { view: self }
                }
            )*
        }
    };
}

subjects! {
    /// Transactions of the chain, and coins by outpoint.
    transactions: TransactionView;
    /// Scripts: their totals, their history, their coins.
    scripts: ScriptView;
    /// Clusters of scripts, as of any block.
    clusters: ClusterView;
    /// Labels of scripts, and the names that they give.
    labels: LabelView;
    /// Entities that labels name.
    entities: EntityView;
    /// Claims about scripts, their lists and their contests.
    claims: ClaimView;
    /// Inputs besides blocks: events, documents, lists, prices, samples of the mempool.
    ledger: LedgerView;
    /// Sums by day of monotone block time.
    days: DayView;
    /// Transactions that stand out, and the watchlist.
    movements: MovementView;
    /// Flows of exchanges.
    flows: FlowView;
    /// Tweaks of silent payments.
    silent_payments: SilentPaymentView;
    /// The feed of announcements.
    feed: FeedView;
    /// Tables as rows of bytes. Their rows are not counted in [`View::rows_read`].
    tables: TableView;
}
