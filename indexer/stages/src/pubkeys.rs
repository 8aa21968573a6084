//! `pubkeys`: the public keys that P2PK outputs show, so that an address finds its key's P2PK coins.

use cairn_domain::{key_hashes, public_key};
use cairn_model::Block;
use cairn_tables::{
    keys::HashPrefix,
    pubkeys::{OUTPUTS, Pubkeys, ShownKey},
    stages::{self, StageInfo},
    sums::Sums,
};

use crate::{
    deltas::{Lane, Spread},
    lanes::{Emitter, RowLane, Sink},
    stage::{MapContext, Stage},
};

pub(crate) struct PubkeysStage;

const LANES: [Lane; 1] = [Lane::add::<Pubkeys>(Spread::Hash { skip: 1 })];

const PUBKEYS: RowLane<Pubkeys> = RowLane::of(&LANES);

impl Stage for PubkeysStage {
    fn info(&self) -> StageInfo {
        stages::PUBKEYS
    }

    fn lanes(&self) -> &'static [Lane] {
        &LANES
    }

    fn map(&self, block: &Block, _: &MapContext<'_>, sink: &mut Sink<'_>) {
        let mut emit = Emitter::new(sink);
        // One output: no sum of it exceeds 128 bits.
        let Ok(one) = Sums::of([(OUTPUTS, 1)]) else { return };
        for key in block.outputs.iter().filter_map(|output| public_key(block.script(output))) {
            for hash in key_hashes(key) {
                emit.row(&PUBKEYS, &(HashPrefix::of_hash160(&hash), ShownKey(key.to_vec())), &one);
            }
        }
    }
}
