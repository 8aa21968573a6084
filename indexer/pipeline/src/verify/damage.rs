//! Damage that an audit found, and what mends it.

use cairn_model::Height;
use cairn_reader::ReadError;
use cairn_tables::{TABLES, Table};

use super::tally::{Fact, Tallies};
use crate::PipelineError;

/// What mends a damaged table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Repair {
    /// Its stage is rebuilt from the journal.
    Stage(&'static str),
    /// Its rows are made again from the other tables of the journal.
    LookUp,
    /// The blocks concerned are read again from the block files or the node.
    Blocks,
    /// Its rows are made again from the program and the tip.
    Index,
    /// Nothing: its rows were observed once. What cannot be read is dropped.
    Dropped,
    /// The documents of the ledger that can be read are taken in again.
    Ledger,
    /// Its rows are made again from claims and blocks.
    Labels,
    /// The late stages follow the chain again.
    Late,
    /// The block file is copied again, or the node repairs it.
    BlockFile,
}

impl Repair {
    /// What happens, in words.
    #[must_use]
    pub fn explained(self) -> String {
        match self {
            Repair::Stage(stage) => format!("stage {stage} is rebuilt from the journal"),
            Repair::LookUp => "its rows are made again from the journal".to_owned(),
            Repair::Blocks => "the blocks are read again from the block files or the node".to_owned(),
            Repair::Index => "its rows are made again".to_owned(),
            Repair::Dropped => "observations cannot be rebuilt: rows that cannot be read are dropped".to_owned(),
            Repair::Ledger => {
                "the documents of the ledger are taken in again; those that cannot be read are lost: import \
                them again, or a file of `cairn events export`"
                    .to_owned()
            }
            Repair::Labels => "its rows are made again from the claims and the blocks".to_owned(),
            Repair::Late => "late stages follow the chain again, from the tables of others".to_owned(),
            Repair::BlockFile => "not part of the index: copy the file again, or run bitcoind -reindex".to_owned(),
        }
    }

    /// The command that does it; `None` if it is no command of this program.
    #[must_use]
    pub fn command(self) -> Option<&'static str> {
        (self != Repair::BlockFile).then_some("cairn repair")
    }
}

/// One damaged place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Damage {
    /// The table, or the block file.
    pub place: String,
    /// Height of the damaged block, if it is one.
    pub height: Option<Height>,
    /// What is wrong.
    pub what: String,
    /// What mends it.
    pub repair: Repair,
}

/// How a table is verified and what mends it. Every registered table must have one, or this crate does not compile.
pub(crate) trait Verified: Table {
    /// What mends it.
    const REPAIR: Repair;

    /// Notes the facts of a row that the journal must have. Rows that are compared elsewhere have none here.
    fn note(_: &Self::Key, _: &Self::Value, _: &mut Tallies) {}
}

mod rules {
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
        entities::{EntityFacets, EntityScripts, EntityTotals},
        events::{Documents, Events, QuoteVersions, Quotes},
        facts::Facts,
        feed::{Announced, Feed},
        flushes::{FlushAlerts, Flushes},
        format::Format,
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
        prevouts::Prevouts,
        returns::Returns,
        script_days::ScriptDays,
        spenders::Spenders,
        stages::{AGES, CLUSTERS, COINS, PAYOUTS, RETURNS, SCRIPT_DAYS, SCRIPTS, SPENDS, TRANSFERS},
        totals::TotalsTable,
        transfers::{Consolidations, LargeChange, LargeTransfers},
        tx_nums::TxNums,
        tx_sums::TxSums,
        wakeups::Wakeups,
        watchlist::{WatchHead, Watchlist},
    };

    use super::{Fact, Repair, Tallies, Verified};

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

    /// What a row says shows in the balance of coins.
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

    /// What a row says is compared for some transactions, that it stands beside a large transfer for all.
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
}

macro_rules! declare_repairs {
    ($($module:ident: $($table:ident),+;)*) => {
        /// What mends each table, in the order of the registry.
        const REPAIRS: [Repair; TABLES.len()] = [$($(<cairn_tables::$module::$table as Verified>::REPAIR),+),*];
    };
}

cairn_tables::for_each_table!(declare_repairs);

/// What mends a table.
pub(crate) fn repair_of(table: &str) -> Repair {
    TABLES.iter().position(|t| t.name == table).map_or(Repair::Blocks, |at| REPAIRS[at])
}

/// Damage that is listed at most. More is counted.
const LISTED: usize = 100;

/// Collects damage.
#[derive(Debug, Default)]
pub(crate) struct Damages {
    pub(crate) listed: Vec<Damage>,
    pub(crate) count: u64,
    /// Heights of damaged blocks. A repair needs all of them: a number takes four bytes.
    pub(crate) heights: Vec<Height>,
}

impl Damages {
    pub(crate) fn note(&mut self, damage: Damage) {
        self.count += 1;
        self.heights.extend(damage.height.filter(|_| damage.repair == Repair::Blocks));
        if self.listed.len() < LISTED {
            self.listed.push(damage);
        }
    }

    /// Notes that a table differs from the journal.
    pub(crate) fn differs(&mut self, table: &str, what: String) {
        self.note(Damage { place: table.to_owned(), height: None, what, repair: repair_of(table) });
    }

    /// Notes an error that damage caused.
    ///
    /// # Errors
    /// It has another cause.
    pub(crate) fn take(&mut self, error: ReadError, table: &str, height: Option<Height>) -> Result<(), PipelineError> {
        if !error.is_damage() {
            return Err(error.into());
        }
        let place = error.damaged_table().unwrap_or(table).to_owned();
        let repair = repair_of(&place);
        self.note(Damage {
            height: height.filter(|_| repair == Repair::Blocks),
            what: error.to_string(),
            place,
            repair,
        });
        Ok(())
    }

    /// True if the damage is in blocks of the journal, so that other tables cannot be compared with it.
    pub(crate) fn has_blocks(&self) -> bool {
        !self.heights.is_empty() || self.listed.iter().any(|d| d.repair == Repair::Blocks)
    }
}
