//! Projected blocks against those that Bitcoin Core's own miner makes of the same mempool.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

use std::{collections::BTreeSet, sync::Arc};

use cairn_domain::{
    FeeRate,
    mempool::{Applied, Mempool, Selection, Template},
};
use cairn_model::{MempoolDelta, MempoolInput, MempoolOutput, MempoolTx, Txid};

const CORE: &str = include_str!("data/core_v31_blocks.txt");
/// The options under which Core's blocks were asked for, and how many of each.
const ASKED: [(u64, u8); 5] = [(40_000, 1), (120_000, 1), (400_000, 1), (900_000, 1), (120_000, 6)];

struct Row {
    fee: u64,
    weight: u64,
    chunk: (u64, u64),
    blocks: [Option<usize>; ASKED.len()],
    parents: Vec<usize>,
}

fn rows() -> Vec<Row> {
    let lines = CORE.lines().filter(|line| !line.starts_with('#'));
    let row = |line: &str| {
        let columns: Vec<&str> = line.split(' ').collect();
        let number = |at: usize| columns[at].parse::<u64>().unwrap();
        Row {
            fee: number(0),
            weight: number(1),
            chunk: (number(2), number(3)),
            blocks: std::array::from_fn(|at| columns[4 + at].parse().ok()),
            parents: columns[4 + ASKED.len()..].iter().map(|parent| parent.parse().unwrap()).collect(),
        }
    };
    lines.map(row).collect()
}

/// Txids that ascend with the lines.
fn txid(line: usize) -> Txid {
    let mut id = [7; 32];
    id[..4].copy_from_slice(&(line as u32).to_be_bytes());
    Txid(id)
}

fn pool(rows: &[Row]) -> Mempool {
    let mut pool = Mempool::default();
    let mut spent = vec![0u32; rows.len()];
    for (line, row) in rows.iter().enumerate() {
        let input = |prev_txid, prev_vout, value| MempoolInput {
            prev_txid,
            prev_vout,
            sequence: 0,
            value,
            script: [0x51].into(),
            birth: None,
        };
        let mut inputs = vec![input(Txid([255; 32]), line as u32, row.fee + 100)];
        for parent in &row.parents {
            inputs.push(input(txid(*parent), spent[*parent], 1));
            spent[*parent] += 1;
        }
        // Outputs for everyone who spends one of them; what they are worth does not matter.
        let left = 100 + row.parents.len() as u64;
        let value = |vout| if vout == 0 { left - 63 } else { 1 };
        let outputs = (0..64).map(|vout| MempoolOutput { value: value(vout), script: [0x51].into() });
        let base_size = row.weight / 4;
        let tx = MempoolTx {
            txid: txid(line),
            wtxid: txid(line),
            size: (row.weight - base_size * 3) as u32,
            base_size: base_size as u32,
            sigop_cost: 0,
            fee_sats: row.fee,
            version: 2,
            lock_time: 0,
            first_seen_ms: 0,
            inputs: inputs.into(),
            outputs: outputs.collect(),
            raw: None,
        };
        assert_eq!(tx.weight(), row.weight);
        let applied = pool.apply(&MempoolDelta::Add(Arc::new(tx)), 0);
        assert_eq!(applied, Applied::Added { replaced: 0, dropped: 0 });
    }
    pool
}

#[test]
fn blocks_are_those_of_core_v31() {
    let rows = rows();
    assert_eq!(rows.len(), 639);
    let pool = pool(&rows);
    for (at, (max_weight, max_blocks)) in ASKED.into_iter().enumerate() {
        let projection = pool.project(&Template { max_weight, max_blocks, ..Template::of_node(319_900) });
        assert_eq!(projection.blocks.len(), usize::from(max_blocks));
        for (number, block) in projection.blocks.iter().enumerate() {
            let lines = (0..rows.len()).filter(|line| rows[*line].blocks[at] == Some(number));
            let core: BTreeSet<Txid> = lines.clone().map(txid).collect();
            assert!(!core.is_empty());
            let ours: BTreeSet<Txid> = projection.txids_of(number).copied().collect();
            assert!(ours == core, "block {number} of {max_weight}: {} in both", ours.intersection(&core).count());
            assert_eq!(block.fees_sats, lines.map(|line| rows[line].fee).sum::<u64>());
        }
        for (line, row) in rows.iter().enumerate() {
            let (fee, weight) = row.chunk;
            let rate = FeeRate::of(fee, weight.div_ceil(4)).unwrap();
            assert_eq!(projection.position(&txid(line)).unwrap().rate, rate, "chunk feerate of line {line}");
        }
    }
}

#[test]
fn packages_as_before_v31_come_close_but_not_close_enough() {
    let rows = rows();
    let pool = pool(&rows);
    let fees = |selection| {
        let template = Template { selection, max_weight: 400_000, max_blocks: 1, ..Template::default() };
        pool.project(&template).blocks[0].fees_sats
    };
    let (old, new) = (fees(Selection::AncestorFeerate), fees(Selection::ChunkFeerate));
    assert!(old.abs_diff(new) > new / 1_000 && old.abs_diff(new) < new / 100, "{old} and {new}");
}
