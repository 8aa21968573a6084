//! Proofs built here: trees of every small size and some large ones, blocks with a transaction that has a root. The
//! trees and blocks are computed again by the bitcoin crate or by hand.
#![allow(clippy::unwrap_used, missing_docs)]

use bitcoin::{
    Amount, Block, OutPoint, ScriptBuf, Sequence, Transaction, TxIn, TxOut, Witness,
    absolute::LockTime,
    consensus::serialize,
    hashes::{Hash, sha256},
    transaction::Version,
};
use cairn_timestamps::{
    AnchorError, Attestation, Operation, Proof, Step, Tree, TreeError, anchor_steps, blinded, path, path_parts,
    stripped_length,
};

fn leaf(number: u32) -> [u8; 32] {
    sha256::Hash::hash(&number.to_le_bytes()).to_byte_array()
}

fn leaves(count: u32) -> Vec<[u8; 32]> {
    (0..count).map(leaf).collect()
}

/// The root by the definition of calendars: pairs from the left, the rest goes up; one level at a time.
fn root_by_hand(mut nodes: Vec<[u8; 32]>) -> [u8; 32] {
    while nodes.len() > 1 {
        let mut above = Vec::new();
        let mut left = None;
        for node in nodes {
            match left.take() {
                None => left = Some(node),
                Some(before) => above.push(sha256::Hash::hash(&[before, node].concat()).to_byte_array()),
            }
        }
        above.extend(left);
        nodes = above;
    }
    nodes[0]
}

fn applied(operations: &[Operation], message: &[u8]) -> Vec<u8> {
    operations.iter().fold(message.to_vec(), |message, operation| operation.apply(&message))
}

fn path_of(count: u32, position: u32, tree: &Tree) -> Vec<Operation> {
    let stored = tree.clone().into_parts();
    let place = |place| stored.iter().find(|part| part.place == place).unwrap().clone();
    let parts: Vec<_> = path_parts(count, position).into_iter().map(place).collect();
    assert!(parts.iter().all(|part| part.hashes.len() <= 8_192));
    path(count, position, &parts).unwrap()
}

#[test]
fn every_leaf_of_a_tree_leads_to_its_root() {
    for count in (1..=40).chain([255, 256, 257, 511, 512, 513, 1_000, 65_536, 65_537]) {
        let tree = Tree::new(&leaves(count)).unwrap();
        assert_eq!(tree.root(), root_by_hand(leaves(count)), "{count}");
        let step = (count / 300).max(1) as usize;
        for position in (0..count).step_by(step).chain([count - 1]) {
            let operations = path_of(count, position, &tree);
            assert_eq!(applied(&operations, &leaf(position)), tree.root(), "{position} of {count}");
            assert!(operations.len() <= 34);
        }
    }
    assert!(Tree::new(&[]).is_none());
}

#[test]
fn wrong_parts_are_refused() {
    let tree = Tree::new(&leaves(300)).unwrap();
    let parts = tree.into_parts();
    assert_eq!(parts.len(), 3, "two of leaves and one above");
    assert_eq!(path(300, 300, &[parts[1].clone(), parts[2].clone()]), Err(TreeError::Position));
    assert_eq!(path(300, 299, &[parts[0].clone(), parts[2].clone()]), Err(TreeError::Parts));
    assert_eq!(path(300, 299, &[parts[1].clone()]), Err(TreeError::Parts));
    assert_eq!(path(301, 299, &[parts[1].clone(), parts[2].clone()]), Err(TreeError::Parts));
    assert!(path(300, 299, &[parts[1].clone(), parts[2].clone()]).is_ok());
}

fn transaction(scripts: Vec<ScriptBuf>, nonce: u32) -> Transaction {
    let input = TxIn {
        previous_output: OutPoint { txid: bitcoin::Txid::all_zeros(), vout: nonce },
        script_sig: ScriptBuf::new(),
        sequence: Sequence::ENABLE_RBF_NO_LOCKTIME,
        witness: Witness::from_slice(&[vec![7; 72], vec![2; 33]]),
    };
    let output = |script_pubkey| TxOut { value: Amount::from_sat(0), script_pubkey };
    let output = scripts.into_iter().map(output).collect();
    Transaction { version: Version::TWO, lock_time: LockTime::ZERO, input: vec![input], output }
}

fn op_return(root: &[u8; 32]) -> ScriptBuf {
    ScriptBuf::from_bytes([&[0x6a, 0x20], root.as_slice()].concat())
}

/// A block with this many transactions; the one at `at` has the root.
fn block(root: &[u8; 32], count: u32, at: u32) -> Block {
    let mut block = bitcoin::constants::genesis_block(bitcoin::Network::Regtest);
    let change = ScriptBuf::from_bytes([&[0x00, 0x14], [9u8; 20].as_slice()].concat());
    for number in 1..count {
        let scripts = if number == at { vec![change.clone(), op_return(root)] } else { vec![change.clone()] };
        block.txdata.push(transaction(scripts, number));
    }
    block.header.merkle_root = block.compute_merkle_root().unwrap();
    block
}

fn txids(block: &Block) -> Vec<[u8; 32]> {
    block.txdata.iter().map(|tx| tx.compute_txid().to_byte_array()).collect()
}

/// A whole proof of a leaf's hash, read back from its bytes.
fn whole(hash: [u8; 32], nonce: &[u8; 16], operations: Vec<Operation>, anchor: &[u8]) -> Proof {
    let anchor = Step::read(anchor, 32).unwrap();
    let bytes = Proof::of_sha256(hash, anchor.after([blinded(nonce), operations].concat())).write();
    let proof = Proof::read(&bytes).unwrap();
    assert_eq!(proof.write(), bytes);
    proof
}

#[test]
fn hashes_lead_to_the_header_of_a_block() {
    for (count, transactions, at) in [(1, 2, 1), (2, 3, 2), (3, 7, 6), (1_000, 100, 37), (65, 12, 11)] {
        let hashes: Vec<[u8; 32]> = (0..count).map(|number| leaf(number + 1_000_000)).collect();
        let nonce = |number: u32| [number as u8; 16];
        let commitments: Vec<[u8; 32]> =
            (0..count).map(|n| applied(&blinded(&nonce(n)), &hashes[n as usize]).try_into().unwrap()).collect();
        let tree = Tree::new(&commitments).unwrap();
        let block = block(&tree.root(), transactions, at);
        let raw = serialize(&block.txdata[at as usize]);
        let anchor = anchor_steps(&tree.root(), &raw, &txids(&block), 77).unwrap().write();
        for position in [0, count / 2, count - 1] {
            let hash = hashes[position as usize];
            let proof = whole(hash, &nonce(position), path_of(count, position, &tree), &anchor);
            let mut found = Vec::new();
            let done: Result<(), ()> = proof.attested(|attestation, message| {
                found.push((attestation.clone(), message.to_vec()));
                Ok(())
            });
            done.unwrap();
            let root = block.header.merkle_root.to_byte_array().to_vec();
            assert_eq!(found, [(Attestation::Bitcoin { height: 77 }, root)], "{position} of {count}");
            assert_eq!(proof.file_hash(), hash);
        }
    }
}

#[test]
fn a_block_that_does_not_anchor_the_root_is_refused() {
    let root = leaf(1);
    let block = block(&root, 5, 3);
    let raw = serialize(&block.txdata[3]);
    let all = txids(&block);
    assert!(anchor_steps(&root, &raw, &all, 1).is_ok());
    assert_eq!(anchor_steps(&leaf(2), &raw, &all, 1), Err(AnchorError::NoRoot));
    assert_eq!(anchor_steps(&root, &serialize(&block.txdata[2]), &all, 1), Err(AnchorError::NoRoot));
    assert_eq!(anchor_steps(&root, &raw, &all[..3], 1), Err(AnchorError::NotInBlock));
    assert_eq!(anchor_steps(&root, &raw[1..], &all, 1), Err(AnchorError::Transaction));
    let long = transaction(vec![op_return(&root), ScriptBuf::from_bytes(vec![0x51; 4_100])], 1);
    let length = stripped_length(&serialize(&long)).unwrap();
    assert!(length > 4_096 && length < serialize(&long).len());
    let only = [long.compute_txid().to_byte_array()];
    assert_eq!(anchor_steps(&root, &serialize(&long), &only, 1), Err(AnchorError::TooLong(length)));
    // The witness does not count.
    let mut without = block.txdata[3].clone();
    without.input[0].witness.clear();
    assert_eq!(anchor_steps(&root, &serialize(&without), &all, 1), anchor_steps(&root, &raw, &all, 1));
}

/// The bytes that a calendar sends, and their reading with limits.
#[test]
fn steps_are_read_as_calendars_send_them() {
    let step = Step::attested_by(Attestation::Pending { uri: "https://calendar.example".to_owned() });
    let step = step.after(blinded(&[3; 16]));
    let bytes = step.write();
    assert_eq!(bytes[..2], [0xf0, 16]);
    assert_eq!(Step::read(&bytes, 32), Ok(step));
    assert_eq!(Step::read(&bytes[..bytes.len() - 1], 32).unwrap_err().offset, bytes.len() - 1);
    assert!(Step::read(&[bytes, vec![0]].concat(), 32).is_err());
    assert!(Step::read(&vec![0xff; 70_000], 32).is_err());
}
