//! The remedy of each table, and the facts that each row must share with the journal.

use cairn_tables::{
    ages::{DormantSpends, SpentByAge, SupplyChanges},
    block_log::BlockLog,
    checkpoints::Checkpoints,
    claims::{ClaimLists, Claims},
    cluster_claims::{ClaimChildren, ClaimNodes},
    cluster_owners::{ClusterBelow, ClusterOwners, OwnersDue},
    clusters::{ClusterChildren, ClusterDays, ClusterOf, Clusters},
    coins::{Coins, CoinsByScript},
    contests::Contests,
    daily::Daily,
    dust::{DustAlerts, DustGroups, DustPings},
    entities::{EntityFacets, EntityScripts, EntityTotals},
    events::{Documents, Events, QuoteVersions, Quotes},
    exchange_flows::{ExchangeFlows, FlowBlocks, FlowsHead},
    facts::Facts,
    feed::{Announced, Feed},
    flushes::{FlushAlerts, Flushes},
    format::Format,
    funding::Funding,
    headers::Headers,
    heights::{HeightByHash, HeightByTime},
    history::{History, HistoryIndex},
    journal::{Collisions, OverwrittenCoins},
    label_sources::LabelSources,
    labels::{LabelDue, Labels},
    late::LateUndo,
    listings::{PoolTags, Profiles},
    live_quotes::LiveQuotes,
    mempool::{KeptMempool, MempoolSamples},
    names::Names,
    old_coins::{DormantDays, OldMovements},
    payouts::Payouts,
    pings::Pings,
    prevouts::Prevouts,
    pubkeys::Pubkeys,
    returns::Returns,
    script_days::ScriptDays,
    spenders::Spenders,
    stages::{
        AGES, CLUSTERS, COINS, FUNDING, PAYOUTS, PINGS, PUBKEYS, RETURNS, SCRIPT_DAYS, SCRIPTS, SPENDS, TRANSFERS,
    },
    totals::TotalsTable,
    transfers::{Consolidations, LargeChange, LargeTransfers},
    tx_nums::TxNums,
    tx_sums::TxSums,
    wakeups::Wakeups,
    watchlist::{WatchHead, Watchlist},
};

use super::{
    damage::{Repair, Verified},
    tally::{Fact, Tallies},
};

/// Compared block by block.
impl Verified for Headers {
    const REPAIR: Repair = Repair::Blocks;
}

/// Compared block by block.
impl Verified for BlockLog {
    const REPAIR: Repair = Repair::Blocks;
}

/// Compared block by block.
impl Verified for Prevouts {
    const REPAIR: Repair = Repair::Blocks;
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

/// Compared with the journal's outputs in memory: there are few rows.
impl Verified for Collisions {
    const REPAIR: Repair = Repair::LookUp;
}

/// Checked by the balance of coins.
impl Verified for OverwrittenCoins {
    const REPAIR: Repair = Repair::LookUp;

    fn note(height: &Self::Key, _: &Self::Value, tallies: &mut Tallies) {
        tallies.find(Fact::Overwritten, *height);
    }
}

impl Verified for Spenders {
    const REPAIR: Repair = Repair::Stage(SPENDS.name);

    fn note(funding: &Self::Key, row: &Self::Value, tallies: &mut Tallies) {
        row.0.iter().for_each(|s| tallies.spender(*funding, s.vout, s.distance, s.vin, false));
    }
}

/// Compared while the journal is walked.
impl Verified for Coins {
    const REPAIR: Repair = Repair::Stage(COINS.name);
}

/// Compared script by script.
impl Verified for CoinsByScript {
    const REPAIR: Repair = Repair::Stage(COINS.name);
}

/// Compared script by script.
impl Verified for History {
    const REPAIR: Repair = Repair::Stage(SCRIPTS.name);
}

impl Verified for HistoryIndex {
    const REPAIR: Repair = Repair::Stage(SCRIPTS.name);

    fn note((id, slot): &Self::Key, row: &Self::Value, tallies: &mut Tallies) {
        tallies.find_index(*id, *slot, &row.0);
    }
}

/// Compared script by script.
impl Verified for TotalsTable {
    const REPAIR: Repair = Repair::Stage(SCRIPTS.name);
}

impl Verified for TxSums {
    const REPAIR: Repair = Repair::Stage(AGES.name);

    fn note(key: &Self::Key, row: &Self::Value, tallies: &mut Tallies) {
        tallies.find_row::<Self>(key, row);
    }
}

impl Verified for SpentByAge {
    const REPAIR: Repair = Repair::Stage(AGES.name);

    fn note(key: &Self::Key, row: &Self::Value, tallies: &mut Tallies) {
        tallies.find_row::<Self>(key, row);
    }
}

impl Verified for DormantSpends {
    const REPAIR: Repair = Repair::Stage(AGES.name);

    fn note(key: &Self::Key, row: &Self::Value, tallies: &mut Tallies) {
        tallies.find_row::<Self>(key, row);
    }
}

impl Verified for SupplyChanges {
    const REPAIR: Repair = Repair::Stage(AGES.name);

    fn note(key: &Self::Key, row: &Self::Value, tallies: &mut Tallies) {
        tallies.find_sums::<Self>(key, row);
    }
}

impl Verified for Daily {
    const REPAIR: Repair = Repair::Stage(AGES.name);

    fn note(key: &Self::Key, row: &Self::Value, tallies: &mut Tallies) {
        tallies.find_sums::<Self>(key, row);
    }
}

impl Verified for DormantDays {
    const REPAIR: Repair = Repair::Stage(AGES.name);

    fn note(key: &Self::Key, row: &Self::Value, tallies: &mut Tallies) {
        tallies.find_sums::<Self>(key, row);
    }
}

impl Verified for OldMovements {
    const REPAIR: Repair = Repair::Stage(AGES.name);

    fn note(key: &Self::Key, row: &Self::Value, tallies: &mut Tallies) {
        tallies.find_row::<Self>(key, row);
    }
}

/// Compared with the history of scripts.
impl Verified for ScriptDays {
    const REPAIR: Repair = Repair::Stage(SCRIPT_DAYS.name);

    fn note(key: &Self::Key, row: &Self::Value, tallies: &mut Tallies) {
        tallies.find_sums::<Self>(key, row);
    }
}

/// Compared with the history of scripts.
impl Verified for Returns {
    const REPAIR: Repair = Repair::Stage(RETURNS.name);

    fn note(tx_num: &Self::Key, row: &Self::Value, tallies: &mut Tallies) {
        tallies.find_times(Fact::Returns, row.scripts, *tx_num);
    }
}

/// Compared script by script.
impl Verified for ClusterOf {
    const REPAIR: Repair = Repair::Stage(CLUSTERS.name);
}

impl Verified for Clusters {
    const REPAIR: Repair = Repair::Stage(CLUSTERS.name);

    fn note(node: &Self::Key, row: &Self::Value, tallies: &mut Tallies) {
        tallies.clusters.row(*node, row);
    }
}

impl Verified for ClusterChildren {
    const REPAIR: Repair = Repair::Stage(CLUSTERS.name);

    fn note((parent, _): &Self::Key, row: &Self::Value, tallies: &mut Tallies) {
        row.0.iter().for_each(|child| tallies.clusters.child(*parent, child));
    }
}

impl Verified for ClusterDays {
    const REPAIR: Repair = Repair::Stage(CLUSTERS.name);

    fn note(period: &Self::Key, sums: &Self::Value, tallies: &mut Tallies) {
        tallies.clusters.day(*period, sums);
    }
}

impl Verified for Payouts {
    const REPAIR: Repair = Repair::Stage(PAYOUTS.name);

    fn note(key: &Self::Key, row: &Self::Value, tallies: &mut Tallies) {
        tallies.find_row::<Self>(key, row);
    }
}

impl Verified for LargeTransfers {
    const REPAIR: Repair = Repair::Stage(TRANSFERS.name);

    fn note(key: &Self::Key, row: &Self::Value, tallies: &mut Tallies) {
        tallies.find_row::<Self>(key, row);
    }
}

impl Verified for Consolidations {
    const REPAIR: Repair = Repair::Stage(TRANSFERS.name);

    fn note(key: &Self::Key, row: &Self::Value, tallies: &mut Tallies) {
        tallies.find_row::<Self>(key, row);
    }
}

/// The value of a row is compared for some transactions; that the transaction is a large transfer, for all.
impl Verified for LargeChange {
    const REPAIR: Repair = Repair::Stage(CLUSTERS.name);

    fn note(key: &Self::Key, _: &Self::Value, tallies: &mut Tallies) {
        tallies.clusters.change(*key);
    }
}

/// Compared with the stages.
impl Verified for Checkpoints {
    const REPAIR: Repair = Repair::Index;
}

/// Read when the index is opened.
impl Verified for Facts {
    const REPAIR: Repair = Repair::Index;
}

/// Read when the index is opened.
impl Verified for Format {
    const REPAIR: Repair = Repair::Index;
}

/// Compared with what follows from it.
impl Verified for Events {
    const REPAIR: Repair = Repair::Ledger;
}

/// Compared with the ledger.
impl Verified for Documents {
    const REPAIR: Repair = Repair::Ledger;
}

/// Compared with the ledger.
impl Verified for QuoteVersions {
    const REPAIR: Repair = Repair::Ledger;
}

/// Compared with the ledger.
impl Verified for Quotes {
    const REPAIR: Repair = Repair::Ledger;
}

/// Compared with the ledger.
impl Verified for Claims {
    const REPAIR: Repair = Repair::Ledger;
}

/// Compared with the ledger.
impl Verified for ClaimLists {
    const REPAIR: Repair = Repair::Ledger;
}

/// Compared script by script.
impl Verified for Labels {
    const REPAIR: Repair = Repair::Labels;
}

/// A mark too many does no harm, and one that is missing shows in the label.
impl Verified for LabelDue {
    const REPAIR: Repair = Repair::Labels;
}

impl Verified for EntityScripts {
    const REPAIR: Repair = Repair::Labels;

    fn note(key: &Self::Key, (): &Self::Value, tallies: &mut Tallies) {
        tallies.find_row::<Self>(key, &());
    }
}

impl Verified for EntityTotals {
    const REPAIR: Repair = Repair::Labels;

    fn note(entity: &Self::Key, sums: &Self::Value, tallies: &mut Tallies) {
        tallies.find_sums::<Self>(entity, sums);
    }
}

impl Verified for LabelSources {
    const REPAIR: Repair = Repair::Labels;

    fn note(source: &Self::Key, sums: &Self::Value, tallies: &mut Tallies) {
        tallies.find_sums::<Self>(source, sums);
    }
}

impl Verified for ClaimNodes {
    const REPAIR: Repair = Repair::Labels;

    fn note(key: &Self::Key, (): &Self::Value, tallies: &mut Tallies) {
        tallies.find_row::<Self>(key, &());
    }
}

impl Verified for ClaimChildren {
    const REPAIR: Repair = Repair::Labels;

    fn note(tie: &Self::Key, scripts: &Self::Value, tallies: &mut Tallies) {
        tallies.find_sums::<Self>(tie, scripts);
    }
}

impl Verified for ClusterBelow {
    const REPAIR: Repair = Repair::Labels;

    fn note(node: &Self::Key, sums: &Self::Value, tallies: &mut Tallies) {
        tallies.find_sums::<Self>(node, sums);
    }
}

/// Compared root by root.
impl Verified for ClusterOwners {
    const REPAIR: Repair = Repair::Labels;
}

/// A mark too many does no harm, and one that is missing shows in the owners.
impl Verified for OwnersDue {
    const REPAIR: Repair = Repair::Labels;
}

impl Verified for EntityFacets {
    const REPAIR: Repair = Repair::Labels;

    fn note(facet: &Self::Key, sums: &Self::Value, tallies: &mut Tallies) {
        tallies.find_sums::<Self>(facet, sums);
    }
}

/// Compared with the ledger.
impl Verified for PoolTags {
    const REPAIR: Repair = Repair::Ledger;
}

/// Compared with the ledger.
impl Verified for Profiles {
    const REPAIR: Repair = Repair::Ledger;
}

/// Compared with the ledger.
impl Verified for Contests {
    const REPAIR: Repair = Repair::Ledger;
}

impl Verified for Names {
    const REPAIR: Repair = Repair::Labels;

    fn note(key: &Self::Key, sums: &Self::Value, tallies: &mut Tallies) {
        tallies.find_sums::<Self>(key, sums);
    }
}

/// Compared with what the chain makes, block by block.
impl Verified for LateUndo {
    const REPAIR: Repair = Repair::Late;
}

/// Compared with what the chain makes.
impl Verified for Flushes {
    const REPAIR: Repair = Repair::Late;
}

/// Compared with what the chain makes.
impl Verified for FlushAlerts {
    const REPAIR: Repair = Repair::Late;
}

/// Compared with what the chain makes.
impl Verified for Wakeups {
    const REPAIR: Repair = Repair::Late;
}

/// Compared with what is made of the chain.
impl Verified for WatchHead {
    const REPAIR: Repair = Repair::Late;
}

/// Compared with what is made of the chain, if it is of the tip.
impl Verified for Watchlist {
    const REPAIR: Repair = Repair::Late;
}

/// Nothing to compare with.
impl Verified for KeptMempool {
    const REPAIR: Repair = Repair::Dropped;
}

/// Nothing to compare with.
impl Verified for MempoolSamples {
    const REPAIR: Repair = Repair::Dropped;
}

/// Nothing to compare with.
impl Verified for Feed {
    const REPAIR: Repair = Repair::Dropped;
}

/// Nothing to compare with.
impl Verified for Announced {
    const REPAIR: Repair = Repair::Dropped;
}

/// Nothing to compare with.
impl Verified for LiveQuotes {
    const REPAIR: Repair = Repair::Dropped;
}

/// Compared as a whole, if they are of the tip.
impl Verified for FlowsHead {
    const REPAIR: Repair = Repair::Late;
}

/// As [`FlowsHead`].
impl Verified for ExchangeFlows {
    const REPAIR: Repair = Repair::Late;
}

/// Not compared: observed with labels that may have changed since.
impl Verified for FlowBlocks {
    const REPAIR: Repair = Repair::Late;
}

impl Verified for Funding {
    const REPAIR: Repair = Repair::Stage(FUNDING.name);

    fn note(key: &Self::Key, row: &Self::Value, tallies: &mut Tallies) {
        tallies.find_row::<Self>(key, row);
    }
}

impl Verified for Pubkeys {
    const REPAIR: Repair = Repair::Stage(PUBKEYS.name);

    fn note(key: &Self::Key, outputs: &Self::Value, tallies: &mut Tallies) {
        tallies.find_sums::<Self>(key, outputs);
    }
}

/// Compared with the blocks and with when scripts were first paid.
impl Verified for Pings {
    const REPAIR: Repair = Repair::Stage(PINGS.name);

    fn note(key: &Self::Key, row: &Self::Value, tallies: &mut Tallies) {
        tallies.find_row::<Self>(key, row);
    }
}

/// Compared with what follows from the tables of others.
impl Verified for DustPings {
    const REPAIR: Repair = Repair::Late;
}

/// As [`DustPings`].
impl Verified for DustGroups {
    const REPAIR: Repair = Repair::Late;
}

/// As [`DustPings`].
impl Verified for DustAlerts {
    const REPAIR: Repair = Repair::Late;
}
