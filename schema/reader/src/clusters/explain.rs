//! Explains why two scripts are of one cluster: a chain of transactions, each of which spends from two scripts of the
//! chain.

use cairn_model::{Height, ScriptId, TxNum};

use super::{AsOf, Membership};
use crate::{ReadError, subjects::ClusterView};

/// Steps of an explanation at most.
pub const MAX_STEPS: usize = 1_000;
/// Rows that are read for it at most, about.
pub const MAX_EXPLAINED_ROWS: u64 = 10_000;

/// A transaction that spends from two scripts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    /// The script that the step starts from.
    pub from: ScriptId,
    /// The transaction that spends from both.
    pub by: TxNum,
    /// The script that the step leads to.
    pub to: ScriptId,
}

/// Why two scripts are of one cluster.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Explanation {
    /// They are not, as of the block.
    Apart,
    /// Each step goes on where the one before ended. None for a script and itself.
    Steps(Vec<Step>),
    /// It would take more than [`MAX_STEPS`] or [`MAX_EXPLAINED_ROWS`].
    TooLong,
}

/// A part of the way that is still to be found, or a step that is.
enum Part {
    Way(ScriptId, ScriptId, AsOf),
    Found(Step),
}

impl ClusterView<'_> {
    /// Explains why two scripts are of one cluster as of a block.
    pub fn explain(self, a: ScriptId, b: ScriptId, at: AsOf) -> Result<Explanation, ReadError> {
        let before = self.view.rows_read();
        let mut steps = Vec::new();
        let mut left = vec![Part::Way(a, b, at)];
        while let Some(part) = left.pop() {
            let (a, b, at) = match part {
                Part::Found(step) => {
                    steps.push(step);
                    continue;
                }
                Part::Way(a, b, _) if a == b => continue,
                Part::Way(a, b, at) => (a, b, at),
            };
            if steps.len() + left.len() >= MAX_STEPS || self.view.rows_read() - before > MAX_EXPLAINED_ROWS {
                return Ok(Explanation::TooLong);
            }
            let found = self.of_scripts(&[a, b], at)?;
            let [of_a, of_b] = &found[..] else { return Err(self.view.broken("a look-up without result")) };
            let Some(by) = joined_by(of_a, of_b) else {
                // Parts of a way are of one cluster, or rows contradict each other.
                let apart = steps.is_empty() && left.is_empty();
                return if apart {
                    Ok(Explanation::Apart)
                } else {
                    Err(self.view.broken("clusters contradict each other"))
                };
            };
            let step = self.witness(a, b, by)?;
            let earlier = AsOf { tx_end: by, ..at };
            left.push(Part::Way(step.to, b, earlier));
            left.push(Part::Found(step));
            left.push(Part::Way(a, step.from, earlier));
        }
        Ok(Explanation::Steps(steps))
    }

    /// The scripts of both sides in the transaction that brought the clusters of two scripts together.
    fn witness(self, a: ScriptId, b: ScriptId, by: TxNum) -> Result<Step, ReadError> {
        let (height, scripts) = self.spending(by)?;
        // As it was before the transaction.
        let before = AsOf { height, tx_end: by };
        let asked: Vec<ScriptId> = [a, b].into_iter().chain(scripts).collect();
        let found = self.of_scripts(&asked, before)?;
        let of = |wanted: &Membership| {
            let same = |other: &&Membership| {
                other.script == wanted.script || (other.root.is_some() && other.root == wanted.root)
            };
            // The script itself, if it is among them: that ends the way.
            let itself = found[2..].iter().find(|other| other.script == wanted.script);
            itself.or_else(|| found[2..].iter().find(same)).map(|member| member.script)
        };
        match (of(&found[0]), of(&found[1])) {
            (Some(from), Some(to)) if from != to => Ok(Step { from, by, to }),
            _ => Err(self.view.broken("a transaction ties clusters that it does not spend from")),
        }
    }

    /// Height of the block of a transaction below the tip.
    pub fn height_of_tx(self, tx: TxNum) -> Result<Height, ReadError> {
        let height = self.view.chain().height_of(tx).filter(|_| tx < self.view.tip().tx_end);
        height.ok_or_else(|| self.view.broken("clusters name a missing transaction"))
    }
}

/// The transaction that brought two scripts together: that by which the later of them came under their first common
/// node.
fn joined_by(a: &Membership, b: &Membership) -> Option<TxNum> {
    let steps = |of: &Membership| -> Vec<(TxNum, TxNum)> {
        // Each node on the way, with the transaction by which the script came under it.
        let first = of.node.map(|node| (node, node));
        first.into_iter().chain(of.path.iter().map(|tie| (tie.parent, tie.by))).collect()
    };
    let of_b = steps(b);
    steps(a).iter().find_map(|(node, by_a)| {
        let (_, by_b) = of_b.iter().find(|(other, _)| other == node)?;
        Some(*by_a.max(by_b))
    })
}
