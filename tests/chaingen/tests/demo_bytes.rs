//! The demo chain is the same in every version: folders that an older one made, documents and recorded answers stay
//! right.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use bitcoin::{
    consensus::serialize,
    hashes::{Hash, HashEngine, sha256},
};
use cairn_chaingen::demo::chain_and_mempool;

#[test]
fn the_demo_keeps_its_bytes() {
    let (chain, waiting) = chain_and_mempool(1).unwrap();
    let mut blocks = sha256::Hash::engine();
    let mut size = 0;
    for mined in chain.arrivals() {
        let bytes = serialize(&mined.block);
        size += bytes.len();
        blocks.input(&bytes);
        for coin in mined.spent.iter().flatten() {
            blocks.input(&serialize(&coin.txout));
            blocks.input(&coin.height.to_le_bytes());
            blocks.input(&[u8::from(coin.coinbase)]);
        }
    }
    let mut mempool = sha256::Hash::engine();
    for made in &waiting {
        mempool.input(&made.raw());
        mempool.input(&made.seen.as_millis().to_le_bytes());
        mempool.input(made.replaces.as_ref().map_or(&[][..], |txid| txid.as_ref()));
        for coin in &made.spent {
            mempool.input(&serialize(&coin.txout));
            mempool.input(&coin.height.to_le_bytes());
        }
    }
    let raw: usize = waiting.iter().map(|made| made.raw().len()).sum();
    let found = format!(
        "tip {}\n{} blocks of {size} bytes: {}\n{} unconfirmed transactions of {raw} bytes: {}\n",
        chain.tip().hash(),
        chain.arrivals().len(),
        sha256::Hash::from_engine(blocks),
        waiting.len(),
        sha256::Hash::from_engine(mempool),
    );
    // Another chain needs another `identity` in src/commands/demo/folder.rs, or folders of the old one stay in use.
    assert_eq!(
        found,
        "tip 2a9d66780c375e70451798b65c6769637450ae09f32568bae0a3c861e1adaf2e\n\
         3008 blocks of 10982595 bytes: 0e61a77e00e54fbbbd6351b15b0d1af42759ecdb1282fe3c06579ffe60a2b4d2\n\
         1319 unconfirmed transactions of 3544704 bytes: \
         a0d16daf7f91ace3b7e9a1d93e7605193c0217ddce76ea9466ccb0f878d82cdd\n"
    );
}
