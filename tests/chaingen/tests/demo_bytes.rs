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
        "tip 55a0a517a75fc564e06b5aef4809eb8d2d2ca4281efa6a683b05e7fc2415d607\n\
         3008 blocks of 10982594 bytes: c19951e4ef9e9c93121947ae31cfaf526a6677e0311214f2da093cd17ea009b1\n\
         1319 unconfirmed transactions of 3544704 bytes: \
         a0d16daf7f91ace3b7e9a1d93e7605193c0217ddce76ea9466ccb0f878d82cdd\n"
    );
}
