//! How the rows of each table are compared, and what mends a table if that is not the remedy of its origin.

use cairn_tables::{
    clusters::{ClusterChildren, ClusterDays, Clusters},
    heights::{HeightByHash, HeightByTime},
    history::HistoryIndex,
    journal::OverwrittenCoins,
    returns::Returns,
    spenders::Spenders,
    transfers::LargeChange,
    tx_nums::TxNums,
};

use super::{
    damage::{Repair, Verified},
    tally::{Fact, Tallies},
};

/// Declares the rule of each table, one a line: how its rows are compared, the table, and its remedy behind an arrow
/// if that does not follow from the table's origin.
///
/// - `whole`: each row with a row that a stage or a label makes.
/// - `sums`: the numbers of all rows with those that a stage or a label adds up.
/// - `elsewhere`: by another pass, or not at all; a comment says which.
macro_rules! rules {
    ($($how:ident $file:ident::$table:ident $(=> $repair:ident)?;)*) => {
        $(impl Verified for cairn_tables::$file::$table {
            $(const REPAIR: Repair = Repair::$repair;)?

            rules!(@note $how);
        })*
    };
    (@note whole) => {
        fn note(key: &Self::Key, row: &Self::Value, tallies: &mut Tallies) {
            tallies.find_row::<Self>(key, row);
        }
    };
    (@note sums) => {
        fn note(key: &Self::Key, sums: &Self::Value, tallies: &mut Tallies) {
            tallies.find_sums::<Self>(key, sums);
        }
    };
    (@note elsewhere) => {};
}

rules! {
    // The journal: block by block. `collisions` in memory, as there are few rows.
    elsewhere headers::Headers;
    elsewhere block_log::BlockLog;
    elsewhere prevouts::Prevouts;
    elsewhere journal::Collisions => LookUp;

    // Stages. Coins while the journal is walked, and the others script by script.
    elsewhere coins::Coins;
    elsewhere coins::CoinsByScript;
    elsewhere history::History;
    elsewhere totals::TotalsTable;
    elsewhere clusters::ClusterOf;
    whole tx_sums::TxSums;
    whole ages::SpentByAge;
    whole ages::DormantSpends;
    sums ages::SupplyChanges;
    sums daily::Daily;
    sums old_coins::DormantDays;
    whole old_coins::OldMovements;
    whole payouts::Payouts;
    whole transfers::LargeTransfers;
    whole transfers::Consolidations;
    whole funding::Funding;
    sums pubkeys::Pubkeys;
    // With the history of scripts.
    sums script_days::ScriptDays;
    // With the blocks and with when scripts were first paid.
    whole pings::Pings;

    // Late stages: folded again.
    elsewhere late::LateUndo => Late;
    elsewhere flushes::Flushes;
    elsewhere flushes::FlushAlerts;
    elsewhere wakeups::Wakeups;
    elsewhere dust::DustPings;
    elsewhere dust::DustGroups;
    elsewhere dust::DustAlerts;

    // Made again and compared as a whole, if they are of the tip. Flows of blocks are not compared: they were observed
    // with labels that may have changed since.
    elsewhere watchlist::WatchHead => Late;
    elsewhere watchlist::Watchlist => Late;
    elsewhere exchange_flows::FlowsHead => Late;
    elsewhere exchange_flows::ExchangeFlows => Late;
    elsewhere exchange_flows::FlowBlocks => Late;

    // The index itself: checkpoints with the stages; the others are read when the index is opened.
    elsewhere checkpoints::Checkpoints;
    elsewhere facts::Facts;
    elsewhere format::Format;

    // Events with what follows from them, and the folds over them with the ledger.
    elsewhere events::Events;
    elsewhere events::Documents;
    elsewhere events::QuoteVersions;
    elsewhere events::Quotes;
    elsewhere claims::Claims;
    elsewhere claims::ClaimLists;
    elsewhere listings::PoolTags;
    elsewhere listings::Profiles;
    elsewhere contests::Contests;

    // Joined tables. Labels script by script, owners root by root. A mark too many does no harm, and a missing one
    // shows in the label or in the owners.
    elsewhere labels::Labels;
    elsewhere labels::LabelDue;
    elsewhere cluster_owners::ClusterOwners;
    elsewhere cluster_owners::OwnersDue;
    whole entities::EntityScripts;
    sums entities::EntityTotals;
    sums entities::EntityFacets;
    sums label_sources::LabelSources;
    whole cluster_claims::ClaimNodes;
    sums cluster_claims::ClaimChildren;
    sums cluster_owners::ClusterBelow;
    sums names::Names;

    // Observations: nothing to compare with.
    elsewhere mempool::KeptMempool;
    elsewhere mempool::MempoolSamples;
    elsewhere feed::Feed;
    elsewhere feed::Announced;
    elsewhere live_quotes::LiveQuotes;
}

impl Verified for TxNums {
    const REPAIR: Repair = Repair::LookUp;

    fn note((prefix, tx_num): &Self::Key, (): &Self::Value, tallies: &mut Tallies) {
        tallies.find(Fact::TxNums, (prefix.0, *tx_num));
    }
}

impl Verified for HeightByHash {
    const REPAIR: Repair = Repair::LookUp;

    fn note((prefix, height): &Self::Key, (): &Self::Value, tallies: &mut Tallies) {
        tallies.find(Fact::HeightByHash, (prefix.0, *height));
    }
}

impl Verified for HeightByTime {
    const REPAIR: Repair = Repair::LookUp;

    fn note((time, height): &Self::Key, (): &Self::Value, tallies: &mut Tallies) {
        tallies.find(Fact::HeightByTime, (*time, *height));
    }
}

/// Only the heights: the balance of coins checks the rows.
impl Verified for OverwrittenCoins {
    const REPAIR: Repair = Repair::LookUp;

    fn note(height: &Self::Key, _: &Self::Value, tallies: &mut Tallies) {
        tallies.find(Fact::Overwritten, *height);
    }
}

impl Verified for Spenders {
    fn note(funding: &Self::Key, row: &Self::Value, tallies: &mut Tallies) {
        row.0.iter().for_each(|s| tallies.spender(*funding, s.vout, s.distance, s.vin, false));
    }
}

impl Verified for HistoryIndex {
    fn note((id, slot): &Self::Key, row: &Self::Value, tallies: &mut Tallies) {
        tallies.find_index(*id, *slot, &row.0);
    }
}

/// Compared with the history of scripts.
impl Verified for Returns {
    fn note(tx_num: &Self::Key, row: &Self::Value, tallies: &mut Tallies) {
        tallies.find_times(Fact::Returns, row.scripts, *tx_num);
    }
}

impl Verified for Clusters {
    fn note(node: &Self::Key, row: &Self::Value, tallies: &mut Tallies) {
        tallies.clusters.row(*node, row);
    }
}

impl Verified for ClusterChildren {
    fn note((parent, _): &Self::Key, row: &Self::Value, tallies: &mut Tallies) {
        row.0.iter().for_each(|child| tallies.clusters.child(*parent, child));
    }
}

impl Verified for ClusterDays {
    fn note(period: &Self::Key, sums: &Self::Value, tallies: &mut Tallies) {
        tallies.clusters.day(*period, sums);
    }
}

/// The value of a row is compared for some transactions; that the transaction is a large transfer, for all.
impl Verified for LargeChange {
    fn note(key: &Self::Key, _: &Self::Value, tallies: &mut Tallies) {
        tallies.clusters.change(*key);
    }
}
