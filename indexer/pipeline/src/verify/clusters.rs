//! Compares the tables of clusters with the journal, with the balances of scripts, and with each other. Which
//! transactions are nodes, every link and every child is compared; numbers and balances are added up over the whole
//! forest, with a weight for each root, so that those of two trees cannot stand in for each other.
//!
//! It does not tie the clusters together again: whether links lead to the right root is checked for one transaction in
//! [`SAMPLE`]. The amount paid to others is added up again for some days; all longer periods are compared with the sums
//! of their days.

use std::{collections::HashSet, iter::Peekable};

use cairn_domain::{cospending::Cospent, transfers::LargeTransfer};
use cairn_model::{Block, Sats, ScriptId, TxNum, day_of};
use cairn_reader::{AsOf, ClusterRoot, ReadError, Scan, View};
use cairn_tables::{
    Table,
    clusters::{ClusterOf, Clusters},
    transfers::LargeChange,
};

use super::{
    cluster_tally::{ClusterTally, SAMPLE},
    damage::Damages,
};
use crate::PipelineError;

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
