//! Compares the tables of clusters with the journal, with the balances of scripts, and with each other. Which
//! transactions are nodes, every link and every child is compared; numbers and balances are added up over the whole
//! forest, with a weight for each root, so that those of two trees cannot stand in for each other.
//!
//! It does not tie the clusters together again: whether links lead to the right root is checked for one transaction in
//! [`SAMPLE`]. The amount paid to others is added up again for some days; all longer periods are compared with the sums
//! of their days.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    iter::Peekable,
};

use cairn_domain::{cospending::Cospent, transfers::LargeTransfer};
use cairn_model::{Block, Sats, ScriptId, TxNum, day_of};
use cairn_reader::{AsOf, ClusterRoot, ReadError, Scan, View};
use cairn_tables::{
    Table,
    clusters::{Child, ClusterChildren, ClusterDays, ClusterOf, ClusterRow, Clusters, NET_EXTERNAL},
    periods::Period,
    script_days::{BANDS, band},
    sums::Sums,
    transfers::LargeChange,
};

use super::{damage::Damages, tally::hash};
use crate::PipelineError;

/// One in this many transactions that tie clusters together is checked.
pub(crate) const SAMPLE: u64 = 1024;

/// Days of the periods that there are.
const SPANS: [u32; 4] = [1, 16, 256, 4096];

/// Numbers times weights: zero where both sides agree.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct WeightedSum(u128);

impl WeightedSum {
    fn add(&mut self, place: impl std::hash::Hash, number: i128) {
        let [high, low] = [0u8, 1].map(|half| u128::from(hash((&place, half))));
        let weight = (high << 64 | low | 1).cast_signed();
        self.0 = self.0.wrapping_add(weight.wrapping_mul(number).cast_unsigned());
    }
}

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
    paid: PaidDays,
    /// Large transfers of which something stays with those who pay.
    changes: WeightedSum,
    /// Scripts could not be read to the end.
    unknown_scripts: bool,
}

impl ClusterTally {
    /// A transaction that shows scripts to have one owner.
    pub(crate) fn expect_node(&mut self, tx: TxNum) {
        self.nodes.add(tx, 1);
    }

    /// A script, with its node if it has one.
    fn script(&mut self, node: Option<TxNum>, held: Sats) {
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
struct PaidDays {
    /// The day of the last block, and whether it is looked at.
    day: Option<(u32, bool)>,
    seen: u64,
    looked_at: u64,
    /// Of days that are looked at.
    expected: BTreeMap<u32, i128>,
    /// The other days that have blocks.
    passed_over: BTreeSet<u32>,
    /// Of all days that have a row.
    found: BTreeMap<u32, i128>,
    unknown: bool,
}

/// Transactions that are looked at in any case: those of a short chain all.
const PAID_AT_LEAST: u64 = 4096;

impl PaidDays {
    /// Whether the day of a block is looked at: as long as few transactions were, counted as a part of all before.
    fn looks_at(&mut self, block: &Block) -> bool {
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

/// A cluster, or a script that is one of its own.
type Owner = Result<ClusterRoot, ScriptId>;

/// The amount that each transaction of a block pays to others than those that it spends from.
fn paid_in(view: &View<'_>, block: &Block) -> Result<Vec<i128>, ReadError> {
    let (mut paid, mut scripts) = (vec![0; block.txs.len()], Vec::new());
    // Coinbases pay nothing.
    for (i, tx) in block.txs.iter().enumerate().skip(1) {
        let outputs = || block.outputs_of(tx).iter().filter(|output| output.spendable);
        scripts.clear();
        scripts.extend(block.inputs_of(tx).iter().map(|coin| coin.script));
        let inputs = scripts.len();
        scripts.extend(outputs().map(|output| output.id));
        let at = AsOf { height: block.height, tx_end: TxNum(block.tx_num(i).0 + 1) };
        let owners = view.clusters().of_scripts(&scripts, at)?;
        let owners: Vec<Owner> = owners.into_iter().map(|member| member.root.ok_or(member.script)).collect();
        let own: HashSet<&Owner> = owners[..inputs].iter().collect();
        let others = owners[inputs..].iter().zip(outputs()).filter(|(owner, _)| !own.contains(owner));
        paid[i] = others.map(|(_, output)| i128::from(output.value)).sum::<i128>();
    }
    Ok(paid)
}

/// The table, and the difference.
type Difference = (&'static str, String);

/// Compares the change of a block's large transfers with the amounts that they pay to others, where these are known.
fn large_changes(
    view: &View<'_>,
    block: &Block,
    paid: Option<&[i128]>,
    tally: &mut ClusterTally,
) -> Result<Option<Difference>, ReadError> {
    let mut wrong = None;
    for (i, tx) in block.txs.iter().enumerate() {
        let Some(large) = LargeTransfer::of(block, tx).filter(|large| !large.coinjoin) else { continue };
        let row = view.get::<LargeChange>(&block.tx_num(i))?;
        tally.changes.add(block.tx_num(i), row.is_some().into());
        let others = i128::from(large.sats) - row.map_or(0, |row| row.0.into());
        if others < 0 || paid.is_some_and(|paid| paid[i] != others) {
            wrong = Some((LargeChange::NAME, format!("{} does not pay so much to those that it spends from", tx.txid)));
        }
    }
    Ok(wrong)
}

/// The nodes of scripts, read beside the scripts: both are in the same order.
pub(crate) struct Nodes<'v, 'r> {
    rows: Option<Peekable<Scan<'v, 'r, ClusterOf>>>,
    error: Option<ReadError>,
    strays: u64,
}

impl<'v, 'r> Nodes<'v, 'r> {
    pub(crate) fn open(view: &'v View<'r>) -> Self {
        match view.scan::<ClusterOf>(None) {
            Ok(rows) => Nodes { rows: Some(rows.peekable()), error: None, strays: 0 },
            Err(error) => Nodes { rows: None, error: Some(error), strays: 0 },
        }
    }

    /// Notes the next script and its balance.
    pub(crate) fn script(&mut self, id: ScriptId, held: Sats, tally: &mut ClusterTally) {
        let node = self.node(id);
        tally.script(node, held);
    }

    fn node(&mut self, id: ScriptId) -> Option<TxNum> {
        while let Some(rows) = &mut self.rows {
            match rows.next_if(|row| row.as_ref().map_or(true, |(found, _)| *found <= id))? {
                Ok((found, node)) if found == id => return Some(node.0),
                Ok(_) => self.strays += 1,
                Err(error) => (self.rows, self.error) = (None, Some(error)),
            }
        }
        None
    }

    /// All scripts were read, if `whole`.
    pub(crate) fn finish(
        mut self,
        whole: bool,
        tally: &mut ClusterTally,
        damages: &mut Damages,
    ) -> Result<(), PipelineError> {
        self.node(ScriptId::from_bytes([0xff; ScriptId::LEN]));
        tally.unknown_scripts = !whole || self.error.is_some();
        if let Some(error) = self.error {
            return damages.take(error, ClusterOf::NAME, None);
        }
        if whole && self.strays > 0 {
            damages.differs(ClusterOf::NAME, format!("it has {} scripts that no other table has", self.strays));
        }
        Ok(())
    }
}

/// Notes the nodes of a block, and its payments. Returns a difference of one of the nodes that are checked.
pub(crate) fn nodes_of(
    view: &View<'_>,
    block: &Block,
    tally: &mut ClusterTally,
) -> Result<Option<Difference>, ReadError> {
    let mut paid = None;
    if tally.paid.looks_at(block) {
        let of_block = paid_in(view, block).inspect_err(|_| tally.paid.unknown = true)?;
        *tally.paid.expected.entry(day_of(block.mono_time)).or_default() += of_block.iter().sum::<i128>();
        paid = Some(of_block);
    }
    let mut cospent = Cospent::default();
    let mut wrong = large_changes(view, block, paid.as_deref(), tally)?;
    for (i, tx) in block.txs.iter().enumerate() {
        let scripts = cospent.find(block, tx);
        if scripts.is_empty() {
            continue;
        }
        let tx_num = block.tx_num(i);
        tally.expect_node(tx_num);
        if tx_num.0.is_multiple_of(SAMPLE) {
            let at = AsOf { height: block.height, tx_end: TxNum(tx_num.0 + 1) };
            let found = view.clusters().of_scripts(scripts, at)?;
            if found.iter().any(|member| member.root.is_none() || member.root != found[0].root) {
                let what = format!("scripts that {} spends from are in different clusters", tx.txid);
                wrong = Some((Clusters::NAME, what));
            }
        }
    }
    Ok(wrong)
}
