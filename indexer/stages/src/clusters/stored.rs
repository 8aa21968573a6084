//! The forest in files, between two windows: each node with its root, and each root with its counts; both ascending.

use std::io::{self, Read, Write};

use cairn_model::TxNum;
use cairn_tables::clusters::Counts;

use super::window::{OuterRoot, Window};
use crate::{deltas::StageError, ordered::Scratch};

const MEMBER: usize = 10;
const ROOT: usize = 33;

/// The files of the forest before a window.
pub(super) struct Stored<'s> {
    scratch: &'s dyn Scratch,
    members: String,
    roots: String,
}

fn unread(error: io::Error) -> StageError {
    StageError::Prior(Box::new(error))
}

fn unwritten(error: io::Error) -> StageError {
    StageError::Write(Box::new(error))
}

/// Records of `N` bytes, front to back.
struct Records<const N: usize>(Box<dyn Read>);

impl<const N: usize> Records<N> {
    fn next(&mut self) -> Result<Option<[u8; N]>, StageError> {
        let mut record = [0; N];
        let mut filled = 0;
        while filled < N {
            match self.0.read(&mut record[filled..]).map_err(unread)? {
                0 if filled == 0 => return Ok(None),
                0 => return Err(unread(io::ErrorKind::UnexpectedEof.into())),
                n => filled += n,
            }
        }
        Ok(Some(record))
    }
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

fn read_root(record: &[u8; ROOT]) -> OuterRoot {
    let counts = Counts {
        transactions: number(&record[5..13]),
        scripts: number(&record[13..21]),
        balance: number(&record[21..29]),
        children: number(&record[29..33]) as u32,
    };
    OuterRoot { node: TxNum(number(&record[..5])), counts }
}

fn root_record(root: &OuterRoot) -> [u8; ROOT] {
    let mut record = [0; ROOT];
    record[..5].copy_from_slice(&root.node.to_be5());
    record[5..13].copy_from_slice(&root.counts.transactions.to_be_bytes());
    record[13..21].copy_from_slice(&root.counts.scripts.to_be_bytes());
    record[21..29].copy_from_slice(&root.counts.balance.to_be_bytes());
    record[29..].copy_from_slice(&root.counts.children.to_be_bytes());
    record
}

/// A file being written.
struct Draft(Box<dyn Write>);

impl Draft {
    fn put(&mut self, record: &[u8]) -> Result<(), StageError> {
        self.0.write_all(record).map_err(unwritten)
    }

    fn finish(mut self) -> Result<(), StageError> {
        self.0.flush().map_err(unwritten)
    }
}

/// A small set of numbers. A bit for each answers most look-ups, since most are of numbers outside it.
struct NodeSet {
    sorted: Vec<u64>,
    bits: Vec<u64>,
}

impl NodeSet {
    fn of(sorted: Vec<u64>) -> Self {
        let words = (sorted.len() / 4).next_power_of_two().max(1);
        let mut set = NodeSet { sorted, bits: vec![0; words] };
        for at in 0..set.sorted.len() {
            let (word, bit) = set.place(set.sorted[at]);
            set.bits[word] |= bit;
        }
        set
    }

    fn place(&self, number: u64) -> (usize, u64) {
        let hash = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
        ((hash / 64) as usize & (self.bits.len() - 1), 1 << (hash % 64))
    }

    fn find(&self, number: u64) -> Option<usize> {
        let (word, bit) = self.place(number);
        if self.bits[word] & bit == 0 { None } else { self.sorted.binary_search(&number).ok() }
    }
}

impl<'s> Stored<'s> {
    /// The roots of nodes, both ascending: for each node the place of its root, and the roots.
    pub(super) fn resolve(&self, nodes: &[u64]) -> Result<(Vec<u32>, Vec<OuterRoot>), StageError> {
        let mut found = Vec::with_capacity(nodes.len());
        let mut members = Records::<MEMBER>(self.scratch.open(&self.members)?);
        while let Some(record) = members.next()? {
            if nodes.get(found.len()) == Some(&number(&record[..5])) {
                found.push(number(&record[5..]));
            }
        }
        let mut distinct = found.clone();
        distinct.sort_unstable();
        distinct.dedup();
        let mut roots = Vec::with_capacity(distinct.len());
        let mut records = Records::<ROOT>(self.scratch.open(&self.roots)?);
        while let Some(record) = records.next()? {
            if distinct.get(roots.len()) == Some(&number(&record[..5])) {
                roots.push(read_root(&record));
            }
        }
        if found.len() != nodes.len() || roots.len() != distinct.len() {
            return Err(super::contradiction("a move of an unknown node"));
        }
        let place = |root: &u64| distinct.partition_point(|other| other < root) as u32;
        Ok((found.iter().map(place).collect(), roots))
    }

    /// Every root that `touched` has not.
    pub(super) fn other_roots(
        &self,
        touched: &[u64],
        mut show: impl FnMut(&OuterRoot) -> Result<(), StageError>,
    ) -> Result<(), StageError> {
        let touched = NodeSet::of(touched.to_vec());
        let mut records = Records::<ROOT>(self.scratch.open(&self.roots)?);
        while let Some(record) = records.next()? {
            if touched.find(number(&record[..5])).is_none() {
                show(&read_root(&record))?;
            }
        }
        Ok(())
    }

    /// The forest after a window. `touched` are the roots from before that it knows, ascending.
    pub(super) fn after(
        before: Option<Self>,
        window: &mut Window,
        touched: &[u64],
        scratch: &'s dyn Scratch,
        number_of_window: u32,
    ) -> Result<Self, StageError> {
        let after = Stored {
            scratch,
            members: format!("nodes.{number_of_window}"),
            roots: format!("roots.{number_of_window}"),
        };
        let (mut members, mut roots) = (Draft(scratch.create(&after.members)?), Draft(scratch.create(&after.roots)?));
        if let Some(before) = &before {
            let set = NodeSet::of(touched.to_vec());
            let mut old = Records::<MEMBER>(scratch.open(&before.members)?);
            while let Some(mut record) = old.next()? {
                if let Some(place) = set.find(number(&record[5..])) {
                    record[5..].copy_from_slice(&window.root_of_outer(place as u32).node.to_be5());
                }
                members.put(&record)?;
            }
        }
        window.for_each_node(|node, root| {
            members.put(&node.to_be5())?;
            members.put(&root.to_be5())
        })?;
        let mut known = window.roots().peekable();
        if let Some(before) = &before {
            before.other_roots(touched, |other| {
                while let Some(root) = known.next_if(|root| root.node < other.node) {
                    roots.put(&root_record(root))?;
                }
                roots.put(&root_record(other))
            })?;
        }
        known.try_for_each(|root| roots.put(&root_record(root)))?;
        if let Some(before) = before {
            scratch.remove(&before.members)?;
            scratch.remove(&before.roots)?;
        }
        members.finish()?;
        roots.finish()?;
        Ok(after)
    }
}
