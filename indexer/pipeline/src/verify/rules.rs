//! How the rows of each table are compared, and what mends a table if that is not the remedy of its origin.

use super::{
    damage::{Repair, Verified},
    tally::{Fact, Tallies},
};

/// Declares the rule of each table, one a line: how its rows are compared, the table, and its remedy behind an arrow
/// if that does not follow from the table's origin.
///
/// - `whole`: each row with a row that a stage or a label makes.
/// - `sums`: the numbers of all rows with those that a stage or a label adds up.
/// - `facts`: the facts that a closure notes of each row.
/// - `elsewhere`: by another pass, or not at all; a comment says which.
macro_rules! rules {
    ($(
        $how:ident $file:ident::$table:ident $(=> $repair:ident)?
        $(, |$key:pat_param, $row:pat_param, $tallies:ident| $note:expr)?;
    )*) => {
        $(impl Verified for cairn_tables::$file::$table {
            $(const REPAIR: Repair = Repair::$repair;)?

            rules!(@note $how);

            $(fn note($key: &Self::Key, $row: &Self::Value, $tallies: &mut Tallies) {
                $note;
            })?
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
    (@note facts) => {};
    (@note elsewhere) => {};
}

rules! {
    // The journal: block by block. `collisions` in memory, as there are few rows.
    elsewhere headers::Headers;
    elsewhere block_log::BlockLog;
    elsewhere prevouts::Prevouts;
    elsewhere journal::Collisions => LookUp;
    facts tx_nums::TxNums => LookUp, |(prefix, tx_num), (), tallies| tallies.find(Fact::TxNums, (prefix.0, *tx_num));
    facts heights::HeightByHash => LookUp,
        |(prefix, height), (), tallies| tallies.find(Fact::HeightByHash, (prefix.0, *height));
    facts heights::HeightByTime => LookUp,
        |(time, height), (), tallies| tallies.find(Fact::HeightByTime, (*time, *height));
    // Only the heights: the balance of coins checks the rows.
    facts journal::OverwrittenCoins => LookUp, |height, _, tallies| tallies.find(Fact::Overwritten, *height);

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
    facts spenders::Spenders, |funding, row, tallies|
        row.0.iter().for_each(|s| tallies.spender(*funding, s.vout, s.distance, s.vin, false));
    facts history::HistoryIndex, |(id, slot), row, tallies| tallies.find_index(*id, *slot, &row.0);
    // With the history of scripts.
    facts returns::Returns, |tx_num, row, tallies| tallies.find_times(Fact::Returns, row.scripts, *tx_num);
    facts clusters::Clusters, |node, row, tallies| tallies.clusters.row(*node, row);
    facts clusters::ClusterChildren, |(parent, _), row, tallies|
        row.0.iter().for_each(|child| tallies.clusters.child(*parent, child));
    facts clusters::ClusterDays, |period, sums, tallies| tallies.clusters.day(*period, sums);
    // The value of a row is compared for some transactions; that the transaction is a large transfer, for all.
    facts transfers::LargeChange, |key, _, tallies| tallies.clusters.change(*key);

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

    // Whole blocks have what they follow from: a sample is made again with the check of block files.
    elsewhere tweaks::TweakHead => Tweaks;
    elsewhere tweaks::Tweaks => Tweaks;

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
