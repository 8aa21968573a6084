//! `pubkeys`: the public keys that P2PK outputs show, so that an address finds its key's P2PK coins.

use cairn_domain::{key_hashes, public_key};
use cairn_model::Block;
use cairn_tables::{
    keys::HashPrefix,
    pubkeys::{OUTPUTS, Pubkeys, ShownKey},
    sums::Sums,
};

use crate::{
    deltas::{Lane, Spread},
    lanes::{Emitter, RowLane, Sink},
    stage::{MapContext, Stage, identity},
};

pub(crate) struct PubkeysStage;

const LANES: [Lane; 1] = [Lane::add::<Pubkeys>(Spread::Hash { skip: 1 })];

const PUBKEYS: RowLane<Pubkeys> = RowLane::of(&LANES);

/// Lengths of P2PK scripts: one byte before the key, one behind it. Other outputs cost no more than a look at the
/// length.
const P2PK_LENGTHS: [usize; 2] = [35, 67];

impl Stage for PubkeysStage {
    identity!(PUBKEYS, LANES);

    fn map(&self, block: &Block, _: &MapContext<'_>, sink: &mut Sink<'_>) {
        let shown = block.outputs.iter().filter(|output| P2PK_LENGTHS.contains(&output.script.len()));
        let mut keys: Vec<&[u8]> = shown.filter_map(|output| public_key(block.script(output))).collect();
        keys.sort_unstable();
        let mut emit = Emitter::new(sink);
        // Hashing is nearly all of the work, so a key that a block pays several times is hashed once.
        for same in keys.chunk_by(|one, other| one == other) {
            // Outputs of one block: their number does not exceed 128 bits.
            let Ok(outputs) = Sums::of([(OUTPUTS, same.len() as i128)]) else { return };
            for hash in key_hashes(same[0]) {
                emit.row(&PUBKEYS, &(HashPrefix::of_hash160(&hash), ShownKey(same[0].to_vec())), &outputs);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use bitcoin::secp256k1::constants::GENERATOR_X;
    use cairn_domain::p2pk_of;
    use cairn_model::{BlockHash, OutputMeta, ScriptId, TxNum};
    use cairn_tables::Table;

    use super::*;
    use crate::times::ChainTimes;

    /// A block whose outputs have these scripts.
    fn block(scripts: &[Vec<u8>]) -> Block {
        let mut block = Block {
            height: 1,
            hash: BlockHash::default(),
            header: [0; 80],
            mono_time: 0,
            first_tx: TxNum(1),
            size: 0,
            position: None,
            coinbase_script: Vec::new(),
            txs: Vec::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            scripts: Vec::new(),
            overwritten: Vec::new(),
        };
        for script in scripts {
            let start = block.scripts.len() as u32;
            block.scripts.extend_from_slice(script);
            let script = start..block.scripts.len() as u32;
            block.outputs.push(OutputMeta { value: 1, script, id: ScriptId::default(), spendable: true });
        }
        block
    }

    #[test]
    fn a_key_that_a_block_pays_again_counts_again() {
        // The key of the number 1, which is on the curve, and bytes that are not.
        let (real, other) = ([&[2], &GENERATOR_X[..]].concat(), [&[4], &[7; 64][..]].concat());
        let pays = |key: &[u8]| p2pk_of(key).unwrap();
        // Scripts of the same lengths that are not P2PK.
        let (short, long) = (vec![0xac; 35], vec![0xac; 67]);
        let block = block(&[pays(&real), short, pays(&other), long, pays(&real), vec![0x51], pays(&real)]);
        let mut rows = Vec::new();
        PubkeysStage.map(
            &block,
            &MapContext { txid_prefix: 8, times: &ChainTimes::default() },
            &mut |_, key, value| {
                let (hash, ShownKey(key)) = Pubkeys::decode_key(key).unwrap();
                rows.push((key, hash, Pubkeys::decode_value(value).unwrap().get(OUTPUTS)));
            },
        );
        rows.sort();
        let expected = |key: &[u8], count| {
            let hashes = key_hashes(key).into_iter().map(|hash| HashPrefix::of_hash160(&hash));
            hashes.map(|hash| (key.to_vec(), hash, count)).collect::<Vec<_>>()
        };
        let mut all = [expected(&real, 3), expected(&other, 1)].concat();
        all.sort();
        assert_eq!((rows.len(), rows), (3, all));
    }
}
