//! The two registries. A table is a file in this folder and a line in [`for_each_table!`]; a stage is a file in
//! `indexer/stages/src` and a line in [`for_each_stage!`]; its tables are those that name it as their origin.
//! Everything that walks through tables or stages is made from these: modules, column families, checksums, `cairn db`,
//! `cairn stages`, health, and the lists of what is tested.
//!
//! `cargo fmt` does not see modules that a macro declares: `rustfmt --edition 2024 schema/tables/src/*.rs` formats
//! them, and `tests/tidy` checks it.

/// Calls the macro `$then` with every table: for each file its module, then the types in it that implement
/// [`Table`](crate::Table). New ones go to the end: the order is that of listings, and column families keep their
/// places.
#[macro_export]
macro_rules! for_each_table {
    ($then:ident) => {
        $then! {
            headers: Headers;
            block_log: BlockLog;
            prevouts: Prevouts;
            tx_nums: TxNums;
            spenders: Spenders;
            coins: Coins, CoinsByScript;
            history: History, HistoryIndex;
            totals: TotalsTable;
            heights: HeightByHash, HeightByTime;
            journal: Collisions, OverwrittenCoins;
            checkpoints: Checkpoints;
            facts: Facts;
            mempool: KeptMempool, MempoolSamples;
            format: Format;
            tx_sums: TxSums;
            ages: SpentByAge, DormantSpends, SupplyChanges;
            daily: Daily;
            script_days: ScriptDays;
            clusters: ClusterOf, Clusters, ClusterChildren, ClusterDays;
            events: Events, Documents, QuoteVersions, Quotes;
            live_quotes: LiveQuotes;
            claims: Claims, ClaimLists;
            labels: Labels, LabelDue;
            entities: EntityScripts, EntityTotals, EntityFacets;
            payouts: Payouts;
            listings: PoolTags, Profiles;
            names: Names;
            contests: Contests;
            label_sources: LabelSources;
            cluster_claims: ClaimNodes, ClaimChildren;
            cluster_owners: ClusterBelow, ClusterOwners, OwnersDue;
            transfers: LargeTransfers, Consolidations, LargeChange;
            feed: Feed, Announced;
            old_coins: DormantDays, OldMovements;
            late: LateUndo;
            flushes: Flushes, FlushAlerts;
            wakeups: Wakeups;
            watchlist: WatchHead, Watchlist;
            returns: Returns;
            exchange_flows: FlowsHead, ExchangeFlows, FlowBlocks;
            funding: Funding;
            pings: Pings;
            dust: DustPings, DustGroups, DustAlerts;
            pubkeys: Pubkeys;
            tweaks: TweakHead, Tweaks;
        }
    };
}

/// Calls the macro `$then` with every stage, in the order in which they are applied: the journal first, a stage after
/// those that it depends on. For each its constant in [`stages`](crate::stages), its module and type in `cairn-stages`,
/// and its identity. The module's name is the stage's: on the command line and of its checkpoint.
#[macro_export]
macro_rules! for_each_stage {
    ($then:ident) => {
        $then! {
            CHAIN = chain::ChainStage { version: 2, depends_on: [] }
            SPENDS = spends::SpendsStage { version: 1, depends_on: [] }
            COINS = coins::CoinsStage { version: 2, depends_on: [] }
            SCRIPTS = scripts::ScriptsStage { version: 2, depends_on: [] }
            AGES = ages::AgesStage { version: 2, depends_on: [] }
            SCRIPT_DAYS = script_days::ScriptDaysStage { version: 1, depends_on: [SCRIPTS] }
            CLUSTERS = clusters::ClustersStage { version: 3, depends_on: [SCRIPTS] }
            PAYOUTS = payouts::PayoutsStage { version: 1, depends_on: [] }
            TRANSFERS = transfers::TransfersStage { version: 1, depends_on: [] }
            RETURNS = returns::ReturnsStage { version: 1, depends_on: [SCRIPTS] }
            PINGS = pings::PingsStage { version: 2, depends_on: [SCRIPTS] }
            FUNDING = funding::FundingStage { version: 1, depends_on: [] }
            PUBKEYS = pubkeys::PubkeysStage { version: 1, depends_on: [] }
        }
    };
}

/// Calls the macro `$then` with every late stage: those that follow the chain after the others and read their tables.
/// As [`for_each_stage!`], with the name of the stage only.
#[macro_export]
macro_rules! for_each_late_stage {
    ($then:ident) => {
        $then! {
            FLUSHES = flushes { version: 1, depends_on: [AGES, CLUSTERS] }
            WAKEUPS = wakeups { version: 1, depends_on: [CLUSTERS, RETURNS, SCRIPTS] }
            DUST = dust { version: 2, depends_on: [FUNDING, PINGS, SCRIPTS] }
        }
    };
}
