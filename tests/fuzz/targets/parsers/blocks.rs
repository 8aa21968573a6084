//! The block decoder against rust-bitcoin's, which knows nothing of ours.

use bitcoin::{
    Block,
    consensus::{deserialize, serialize},
    hashes::Hash,
};
use cairn_sources::{DecodeError, DecodeErrorKind, Decoded, decode_block};

use super::bounds::within_bounds;

/// A raw block.
pub fn run(bytes: &[u8]) {
    check(bytes.to_vec());
}

/// A decoded block must equal rust-bitcoin's.
fn assert_same(decoded: &Decoded, block: &Block) {
    assert_eq!(decoded.hash.0, block.block_hash().to_byte_array());
    assert_eq!(decoded.weight(), block.weight().to_wu());
    assert_eq!(decoded.txs.len(), block.txdata.len());
    assert_eq!(decoded.coinbase_script, block.txdata[0].input[0].script_sig.as_bytes());
    let mut spent = decoded.prevouts.iter();
    for (i, (ours, theirs)) in decoded.txs.iter().zip(&block.txdata).enumerate() {
        assert_eq!(ours.txid.0, theirs.compute_txid().to_byte_array());
        assert_eq!((ours.size as usize, ours.base_size as usize), (theirs.total_size(), theirs.base_size()));
        for input in theirs.input.iter().filter(|_| i > 0) {
            let prevout = spent.next().unwrap();
            let out = input.previous_output;
            assert_eq!((prevout.txid.0, prevout.vout), (out.txid.to_byte_array(), out.vout));
        }
        let outputs = &decoded.outputs[ours.outputs.start as usize..ours.outputs.end as usize];
        assert_eq!(outputs.len(), theirs.output.len());
        for (ours, theirs) in outputs.iter().zip(&theirs.output) {
            assert_eq!(ours.value, theirs.value.to_sat());
            assert_eq!(decoded.script(ours), theirs.script_pubkey.as_bytes());
        }
    }
    assert_eq!(spent.next(), None);
    assert_eq!(decoded.flags.len(), decoded.prevouts.len());
}

/// Rules that ours has and a mere deserializer has not.
fn is_stricter(kind: DecodeErrorKind) -> bool {
    use DecodeErrorKind::*;
    matches!(kind, BlockTooLarge | NoTransactions | NoInputs | NoOutputs | BadAmount | BadCoinbase | ExtraCoinbase)
}

/// The block with a commitment to the witnesses that it has, if its coinbase has a place for one.
fn recommitted(mut block: Block) -> Option<Vec<u8>> {
    const START: [u8; 6] = [0x6a, 0x24, 0xaa, 0x21, 0xa9, 0xed];
    let reserved: [u8; 32] = block.txdata[0].input[0].witness.nth(0)?.try_into().ok()?;
    let root = block.witness_root()?;
    let commitment = Block::compute_witness_commitment(&root, &reserved);
    let outputs = &mut block.txdata[0].output;
    let place = outputs
        .iter_mut()
        .rev()
        .find(|o| o.script_pubkey.len() >= 38 && o.script_pubkey.as_bytes().starts_with(&START))?;
    let mut script = place.script_pubkey.to_bytes();
    script[6..38].copy_from_slice(commitment.as_byte_array());
    place.script_pubkey = script.into();
    block.check_witness_commitment().then(|| serialize(&block))
}

/// Decodes; where rust-bitcoin reads a block, the header is first made to fit it, so that the Merkle root does not hide
/// everything behind it. Returns whether it was a block to us.
pub fn check(mut bytes: Vec<u8>) -> bool {
    let theirs = deserialize::<Block>(&bytes).ok().and_then(|mut block| {
        block.header.merkle_root = block.compute_merkle_root()?;
        bytes[..80].copy_from_slice(&serialize(&block.header));
        // A block that rust-bitcoin reads but would write in another form is not canonical.
        (serialize(&block) == bytes).then_some(block)
    });
    match (within_bounds(&bytes, |bytes| decode_block(bytes, 8)), theirs) {
        (Ok(decoded), Some(block)) => {
            assert_same(&decoded, &block);
            // Without any witness rust-bitcoin asks for none either.
            assert!(block.check_witness_commitment(), "a block to us, but its commitment does not hold");
            true
        }
        (Err(DecodeError { kind: DecodeErrorKind::WitnessMismatch, .. }), Some(block)) => {
            assert!(!block.check_witness_commitment(), "its commitment holds");
            // Once it fits, too, the rest is compared.
            if let Some(fitting) = recommitted(block) {
                assert!(check(fitting), "a wrong commitment hid another fault");
            }
            false
        }
        (Ok(_), None) => panic!("a block to us, but not to rust-bitcoin"),
        (Err(error), Some(block)) => {
            // Without outputs a transaction is smaller than any that counts are checked against.
            let empty = block.txdata.iter().any(|tx| tx.input.is_empty() || tx.output.is_empty());
            assert!(empty || is_stricter(error.kind), "no block to us ({error}), but one to rust-bitcoin");
            false
        }
        (Err(error), None) => {
            assert!(error.at <= bytes.len());
            false
        }
    }
}
