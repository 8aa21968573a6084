//! Transactions: in a block of our decoder, in the form of the mempool, and each of their scripts.

use bitcoin::{
    Block, Transaction, TxMerkleNode, Witness,
    consensus::{deserialize, serialize},
    hashes::Hash,
};
use cairn_domain::{
    MAX_PUSHES, Subject, address_of, asm, counterparty, decode_op_return, inscriptions, key_hash, parse_address,
    script_type,
};
use cairn_model::{MempoolInput, MempoolOutput, MempoolTx, Network, Txid};

use super::{blocks, bounds::within_bounds, chain::Chain};

/// A raw transaction.
pub fn run(bytes: &[u8]) {
    within_bounds(bytes, |bytes| script(bytes, false));
    let Ok(tx) = deserialize::<Transaction>(bytes) else { return };
    in_a_block(&tx);
    in_the_mempool(&tx, bytes);
    for input in &tx.input {
        let witness: Vec<&[u8]> = input.witness.iter().collect();
        let contents = within_bounds(bytes, |_| inscriptions(&witness));
        let length: usize = contents.iter().map(|found| found.body.len()).sum();
        assert!(length <= bytes.len(), "inscriptions of {length} bytes in {}", bytes.len());
        within_bounds(bytes, |_| script(input.script_sig.as_bytes(), false));
        let _ = witness.last().map(|last| cairn_domain::key_hashes(last));
    }
    for output in &tx.output {
        within_bounds(bytes, |_| script(output.script_pubkey.as_bytes(), tx.is_coinbase()));
    }
}

/// As the second transaction of a block, the decoder reads it as rust-bitcoin does.
fn in_a_block(tx: &Transaction) {
    thread_local! {
        static BLOCK: Block = Chain::new(1).blocks[1].clone();
    }
    let mut block = BLOCK.with(Clone::clone);
    block.txdata.push(tx.clone());
    block.header.merkle_root = block.compute_merkle_root().unwrap_or(TxMerkleNode::all_zeros());
    blocks::check(serialize(&block));
    // The same without witnesses: then no commitment is missing.
    block.txdata[1].input.iter_mut().for_each(|input| input.witness = Witness::new());
    block.header.merkle_root = block.compute_merkle_root().unwrap_or(TxMerkleNode::all_zeros());
    blocks::check(serialize(&block));
}

/// The form in which the mempool keeps and publishes it reads back, and has no second form.
fn in_the_mempool(tx: &Transaction, raw: &[u8]) {
    let inputs = tx.input.iter().map(|input| MempoolInput {
        prev_txid: Txid(input.previous_output.txid.to_byte_array()),
        prev_vout: input.previous_output.vout,
        sequence: input.sequence.0,
        value: u64::from(input.sequence.0),
        birth: (input.sequence.0 % 2 == 0).then_some(input.sequence.0),
        script: input.script_sig.as_bytes().into(),
    });
    let outputs = tx
        .output
        .iter()
        .map(|output| MempoolOutput { value: output.value.to_sat(), script: output.script_pubkey.as_bytes().into() });
    let made = MempoolTx {
        txid: Txid(tx.compute_txid().to_byte_array()),
        wtxid: Txid(tx.compute_wtxid().to_byte_array()),
        size: tx.total_size() as u32,
        base_size: tx.base_size() as u32,
        sigop_cost: tx.lock_time.to_consensus_u32(),
        fee_sats: u64::MAX,
        version: tx.version.0,
        lock_time: tx.lock_time.to_consensus_u32(),
        first_seen_ms: 0,
        inputs: inputs.collect(),
        outputs: outputs.collect(),
        raw: Some(raw.into()),
    };
    let mut written = Vec::new();
    made.encode(&mut written);
    assert_eq!(MempoolTx::decode(&written).unwrap(), made);
}

/// Claims about a script.
fn script(bytes: &[u8], coinbase: bool) {
    // A byte is at most `OP_CHECKSIGVERIFY` and a space, or two digits.
    assert!(asm(bytes).len() <= 40 * bytes.len() + 40);
    let _ = (script_type(bytes).name(), key_hash(bytes));
    if let Some(found) = decode_op_return(bytes, coinbase) {
        assert!(found.data.len() <= bytes.len() && found.pushes.len() <= MAX_PUSHES);
        assert!(found.pushes.len() <= found.push_count as usize && found.push_count as usize <= bytes.len());
        let _ = counterparty(&found.data, &[0; 32]);
    }
    for network in Network::ALL {
        let Some(address) = address_of(bytes, network) else { continue };
        assert_eq!(parse_address(&address, Some(network)), Ok(Subject::Script(bytes.to_vec())), "{address}");
    }
}
