//! The scripts of a cluster, page by page, by walking its tree.

use std::{fmt, str::FromStr};

use cairn_domain::cospending::counts;
use cairn_model::{Height, ScriptId, TxNum, each_once};
use cairn_tables::clusters::{CHILDREN_PER_ROW, Child, ClusterOf, Node};

use super::{AsOf, ClusterRoot, MAX_CLIMBS};
use crate::{ReadError, subjects::ClusterView};

/// A place in the walk through a cluster's scripts: as text, numbers of children from the root down, each with a dot
/// behind it, and the number of the script in the node.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MemberPlace {
    children: Vec<u32>,
    script: u32,
}

impl fmt::Display for MemberPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.children.iter().try_for_each(|child| write!(f, "{child}."))?;
        write!(f, "{}", self.script)
    }
}

impl FromStr for MemberPlace {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "a place is made of numbers with dots between them, as `next` gives it".to_owned();
        let number = |part: &str| match part.as_bytes() {
            [b'0'] | [b'1'..=b'9', ..] => part.parse::<u32>().map_err(|_| wrong()),
            _ => Err(wrong()),
        };
        let mut numbers = text.split('.').map(number).collect::<Result<Vec<u32>, _>>()?;
        let script = numbers.pop().ok_or_else(wrong)?;
        if numbers.len() > MAX_CLIMBS { Err(wrong()) } else { Ok(MemberPlace { children: numbers, script }) }
    }
}

/// Some scripts of a cluster.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MemberPage {
    /// In the order of the tree: a transaction's in the order of their ids.
    pub scripts: Vec<ScriptId>,
    /// Where the next page begins; `None` at the end.
    pub next: Option<MemberPlace>,
}

/// A root whose children are walked through.
pub(super) struct Level {
    root: TxNum,
    children: u32,
    /// The child that is next, and the row that it is in.
    at: u32,
    row: Option<(u32, Vec<Child>)>,
}

/// Nodes without scripts that a page passes at most, in rows of children.
const MAX_ROWS: u32 = 1_000;

impl ClusterView<'_> {
    /// Scripts that a transaction is the first to show, ascending. Reads the transaction, and a row for each of its
    /// scripts.
    pub(super) fn scripts_of_node(self, node: TxNum) -> Result<Vec<ScriptId>, ReadError> {
        let (_, scripts) = self.spending(node)?;
        let nodes = self.view.rows_of_many::<ClusterOf>(&scripts)?;
        let is_first = |found: Option<Node>| found.is_some_and(|found| found.0 == node);
        Ok(scripts.into_iter().zip(nodes).filter(|(_, found)| is_first(*found)).map(|(script, _)| script).collect())
    }

    /// The height of a transaction that spends from several scripts, and these, ascending. Two row reads.
    pub(super) fn spending(self, tx: TxNum) -> Result<(Height, Vec<ScriptId>), ReadError> {
        let found = self.view.transactions().get(tx)?;
        let tx = found.ok_or_else(|| self.view.broken("clusters name a missing transaction"))?;
        let coins = self.view.transactions().inputs(&tx)?;
        Ok((tx.height, each_once(coins.iter().filter(|coin| counts(coin)).map(|coin| coin.script))))
    }

    /// Scripts of a cluster as of a block, at most `limit`. Reads some five rows for each transaction that shows some.
    /// `None` if there is no such place: the cluster has other children.
    pub fn members(
        self,
        root: ClusterRoot,
        at: AsOf,
        from: &MemberPlace,
        limit: usize,
    ) -> Result<Option<MemberPage>, ReadError> {
        let mut page = MemberPage { scripts: Vec::new(), next: None };
        let mut levels = vec![self.level(root.0)?];
        // The node whose scripts are next; its own number among the children is that before `at` of the last level.
        let mut node = Some(root.0);
        // A child that joined by itself is walked from within the level of its parent, and has no children.
        let mut has_children = true;
        for child in &from.children {
            let Some(level) = levels.last_mut().filter(|_| has_children) else { return Ok(None) };
            level.at = *child;
            let Some(found) = self.next_child(level, at)? else { return Ok(None) };
            node = Some(found.node);
            has_children = found.node != found.by;
            if has_children {
                levels.push(self.level(found.node)?);
            }
        }
        let mut skip = from.script as usize;
        let mut passed = 0;
        loop {
            if let Some(of) = node.take() {
                let scripts = self.scripts_of_node(of)?;
                if skip > scripts.len() || (skip == scripts.len() && skip > 0 && page.scripts.is_empty()) {
                    return Ok(None);
                }
                for (number, script) in scripts.iter().enumerate().skip(skip) {
                    if page.scripts.len() == limit {
                        let walked = place(&levels, of, root.0);
                        page.next = Some(MemberPlace { children: walked, script: number as u32 });
                        return Ok(Some(page));
                    }
                    page.scripts.push(*script);
                }
                skip = 0;
            }
            let Some(level) = levels.last_mut() else { return Ok(Some(page)) };
            if level.at.is_multiple_of(CHILDREN_PER_ROW) {
                passed += 1;
            }
            match self.next_child(level, at)? {
                None => {
                    levels.pop();
                }
                Some(child) if child.node != child.by => {
                    node = Some(child.node);
                    let level = self.level(child.node)?;
                    levels.push(level);
                }
                // Without scripts it is passed, unless the page has done enough.
                Some(child) if child.scripts == 0 && passed < MAX_ROWS => {}
                Some(child) if child.scripts == 0 => {
                    page.next = Some(MemberPlace { children: place(&levels, child.node, root.0), script: 0 });
                    return Ok(Some(page));
                }
                Some(child) => node = Some(child.node),
            }
        }
    }

    pub(super) fn level(self, root: TxNum) -> Result<Level, ReadError> {
        let (counts, _) = self.root_row(ClusterRoot(root))?;
        Ok(Level { root, children: counts.children, at: 0, row: None })
    }

    pub(super) fn next_child(self, level: &mut Level, at: AsOf) -> Result<Option<Child>, ReadError> {
        if level.at >= level.children {
            return Ok(None);
        }
        let slot = level.at / CHILDREN_PER_ROW;
        if level.row.as_ref().is_none_or(|(number, _)| *number != slot) {
            level.row = Some((slot, self.children(level.root, slot, level.children)?));
        }
        let row = level.row.as_ref().map_or(&[][..], |(_, row)| row);
        let child = row.get((level.at % CHILDREN_PER_ROW) as usize).copied().filter(|child| child.by < at.tx_end);
        level.at += u32::from(child.is_some());
        Ok(child)
    }
}

/// The way from the root to a node, in numbers of children.
fn place(levels: &[Level], node: TxNum, root: TxNum) -> Vec<u32> {
    // The last level is the node's own if it is a root that has not been left yet, and otherwise its parent's.
    let own = levels.last().is_some_and(|level| level.root == node && level.at == 0);
    let above = if own { &levels[..levels.len() - 1] } else { levels };
    if node == root { Vec::new() } else { above.iter().map(|level| level.at - 1).collect() }
}
