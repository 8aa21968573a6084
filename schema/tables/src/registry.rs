//! The list of all tables, for whoever walks through them: command line, checks, documents.

use crate::TableInfo;

/// Every table of the index.
pub const TABLES: [TableInfo; 18] = [
    TableInfo::of::<crate::headers::Headers>(),
    TableInfo::of::<crate::block_log::BlockLog>(),
    TableInfo::of::<crate::prevouts::Prevouts>(),
    TableInfo::of::<crate::lookups::TxNums>(),
    TableInfo::of::<crate::spenders::Spenders>(),
    TableInfo::of::<crate::coins::Coins>(),
    TableInfo::of::<crate::coins::CoinsByScript>(),
    TableInfo::of::<crate::history::History>(),
    TableInfo::of::<crate::history::HistoryIndex>(),
    TableInfo::of::<crate::totals::TotalsTable>(),
    TableInfo::of::<crate::lookups::HeightByHash>(),
    TableInfo::of::<crate::lookups::HeightByTime>(),
    TableInfo::of::<crate::journal::Collisions>(),
    TableInfo::of::<crate::journal::OverwrittenCoins>(),
    TableInfo::of::<crate::journal::Checkpoints>(),
    TableInfo::of::<crate::journal::Facts>(),
    TableInfo::of::<crate::mempool::KeptMempool>(),
    TableInfo::of::<crate::mempool::MempoolSamples>(),
];
