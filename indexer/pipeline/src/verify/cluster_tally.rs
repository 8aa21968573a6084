//! Sums over the tables of clusters that must agree with the journal.

use std::collections::{BTreeMap, BTreeSet};

use cairn_model::{Block, Sats, TxNum, day_of};
use cairn_tables::{
    Table,
    clusters::{Child, ClusterChildren, ClusterDays, ClusterOf, ClusterRow, Clusters, NET_EXTERNAL},
    periods::Period,
    script_days::{BANDS, band},
    sums::Sums,
    transfers::LargeChange,
};

use super::weights::WeightedSum;

/// One in this many transactions that tie clusters together is checked.
pub(crate) const SAMPLE: u64 = 1024;

/// Days of the periods that there are.
const SPANS: [u32; 4] = [1, 16, 256, 4096];

/// Difference between the two sides.
#[derive(Clone, Default, Debug)]
pub(crate) struct ClusterTally {
    nodes: WeightedSum,
    links: WeightedSum,
    children: WeightedSum,
    transactions: WeightedSum,
    scripts: WeightedSum,
    balance: i128,
    days: WeightedSum,
    longer: WeightedSum,
    pub(super) paid: PaidDays,
    /// Large transfers of which something stays with those who pay.
    pub(super) changes: WeightedSum,
    /// Scripts could not be read to the end.
    pub(super) unknown_scripts: bool,
}

impl ClusterTally {
    /// A transaction that shows scripts to have one owner.
    pub(crate) fn expect_node(&mut self, tx: TxNum) {
        self.nodes.add(tx, 1);
    }

    /// A script, with its node if it has one.
    pub(super) fn script(&mut self, node: Option<TxNum>, held: Sats) {
        match node {
            Some(node) => {
                self.scripts.add(node, -1);
                self.balance -= i128::from(held);
            }
            None => self.holder(held),
        }
    }

    /// Adds a cluster with this balance.
    fn holder(&mut self, held: Sats) {
        let Some(band) = band(held) else { return };
        for span in SPANS {
            self.days.add((span, band), 1);
            self.days.add((span, BANDS + band), held.into());
        }
    }

    /// A row of `clusters`.
    pub(crate) fn row(&mut self, node: TxNum, row: &ClusterRow) {
        self.nodes.add(node, -1);
        let counts = match row {
            ClusterRow::Newcomer { parent } => {
                self.links.add((parent, node, node), 1);
                self.transactions.add(parent, -1);
                return;
            }
            ClusterRow::Root(counts) => {
                self.balance += i128::from(counts.balance);
                self.holder(counts.balance);
                counts
            }
            ClusterRow::Merged { parent, by, counts } => {
                self.links.add((parent, by, node), 1);
                self.transactions.add(parent, -i128::from(counts.transactions));
                self.scripts.add(parent, -i128::from(counts.scripts));
                counts
            }
        };
        self.transactions.add(node, i128::from(counts.transactions) - 1);
        self.scripts.add(node, counts.scripts.into());
        self.children.add(node, counts.children.into());
    }

    /// A row of `cluster_children`.
    pub(crate) fn child(&mut self, parent: TxNum, child: &Child) {
        self.links.add((parent, child.by, child.node), -1);
        self.children.add(parent, -1);
        if child.node == child.by {
            self.scripts.add(child.node, child.scripts.into());
            self.scripts.add(parent, -i128::from(child.scripts));
        }
    }

    /// A row of `cluster_days`.
    pub(crate) fn day(&mut self, period: Period, sums: &Sums) {
        let of_a_day = period.days() == 1;
        for (position, sum) in sums.iter() {
            if position < NET_EXTERNAL {
                self.days.add((period.days(), position), -sum);
            }
            if of_a_day {
                let longer = Period::all_of(period.first_day()).into_iter().skip(1);
                longer.for_each(|longer| self.longer.add((longer, position), sum));
            } else {
                self.longer.add((period, position), -sum);
            }
        }
        if of_a_day {
            self.paid.found.insert(period.first_day(), sums.get(NET_EXTERNAL));
        }
    }

    /// A row of `large_change`.
    pub(crate) fn change(&mut self, tx: TxNum) {
        self.changes.add(tx, -1);
    }

    /// Returns the tables that differ, and how.
    pub(crate) fn differences(&self) -> Vec<(&'static str, &'static str)> {
        let differs = |sum: WeightedSum| sum != WeightedSum::default();
        let scripts = !self.unknown_scripts;
        // The first of these that differs says enough.
        let days = scripts && differs(self.days);
        let longer = !days && differs(self.longer);
        let paid = !days && !longer && self.paid.differs();
        [
            (
                differs(self.nodes),
                Clusters::NAME,
                "it has other transactions than those that spend from several scripts",
            ),
            (differs(self.links), ClusterChildren::NAME, "children and links are not the same"),
            (differs(self.children), ClusterChildren::NAME, "there are not as many children as counted"),
            (differs(self.transactions), Clusters::NAME, "transactions of clusters do not add up"),
            (scripts && differs(self.scripts), ClusterOf::NAME, "scripts of clusters do not add up"),
            (scripts && self.balance != 0, Clusters::NAME, "clusters do not hold what their scripts hold"),
            (days, ClusterDays::NAME, "days do not add up to what clusters hold"),
            (longer, ClusterDays::NAME, "longer periods are not the sums of their days"),
            (differs(self.changes), LargeChange::NAME, "it has rows of transactions that are not large transfers"),
            (paid, ClusterDays::NAME, "transactions of a day did not pay so much to others"),
        ]
        .into_iter()
        .filter_map(|(differs, table, what)| differs.then_some((table, what)))
        .collect()
    }
}

/// The amounts that transactions paid to others, added up again for some days.
#[derive(Clone, Default, Debug)]
pub(super) struct PaidDays {
    /// The day of the last block, and whether it is looked at.
    day: Option<(u32, bool)>,
    seen: u64,
    looked_at: u64,
    /// Of days that are looked at.
    pub(super) expected: BTreeMap<u32, i128>,
    /// The other days that have blocks.
    passed_over: BTreeSet<u32>,
    /// Of all days that have a row.
    found: BTreeMap<u32, i128>,
    pub(super) unknown: bool,
}

/// Transactions that are looked at in any case: those of a short chain all.
const PAID_AT_LEAST: u64 = 4096;

impl PaidDays {
    /// Whether the day of a block is looked at: as long as few transactions were, counted as a part of all before.
    pub(super) fn looks_at(&mut self, block: &Block) -> bool {
        let (day, transactions) = (day_of(block.mono_time), block.txs.len() as u64);
        let looks = match self.day {
            Some((same, looks)) if same == day => looks,
            _ => self.looked_at <= PAID_AT_LEAST + self.seen / SAMPLE,
        };
        self.day = Some((day, looks));
        self.seen += transactions;
        if looks {
            self.looked_at += transactions;
        } else {
            self.passed_over.insert(day);
        }
        looks
    }

    fn differs(&self) -> bool {
        let found = |day| self.found.get(day).copied().unwrap_or(0);
        // A day without blocks pays nothing.
        let has_blocks = |day| self.expected.contains_key(day) || self.passed_over.contains(day);
        let too_many = self.found.iter().any(|(day, paid)| *paid != 0 && !has_blocks(day));
        !self.unknown && (too_many || self.expected.iter().any(|(day, paid)| *paid != found(day)))
    }
}
