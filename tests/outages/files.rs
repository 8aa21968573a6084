//! Troubles of block files without a node.

use std::{fs, io::Write};

use bitcoin::{Amount, Block, consensus::serialize};
use cairn_chaingen::Everything;
use cairn_support::{Client, KEY, World, grown};

use crate::{
    CAIRN,
    reads::Reads,
    rig::{NAMED, OVER, within},
};

const RUN: &str = "run --network regtest --datadir data --blocks-dir blocks --listen 127.0.0.1:0";
/// Blocks at the start.
const BLOCKS: u32 = 110;
/// The files that a node appends to, the undo data first, so that no block is seen without.
const FILES: [&str; 2] = ["blocks/rev00000.dat", "blocks/blk00000.dat"];
/// The bytes before a block of the network regtest in its file.
const MAGIC: [u8; 4] = [0xfa, 0xbf, 0xb5, 0xda];

/// A folder of block files that grows, and what follows it.
struct Folder {
    world: World,
    chain: Everything,
    /// The files without what a trouble has added, as plain bytes.
    written: [Vec<u8>; 2],
}

/// Name, words of the reason, begin and end.
type Row = (&'static str, &'static str, fn(&mut Folder), fn(&mut Folder));

const TROUBLES: [Row; 3] = [
    ("the folder is away", "blocks", |folder| folder.hide("blocks"), |folder| folder.show("blocks")),
    ("a file is away", "blk00000.dat", |folder| folder.hide(FILES[1]), |folder| folder.show(FILES[1])),
    ("a branch that breaks a rule", "a branch of blocks is ignored", Folder::add_bad_block, Folder::grow),
];

fn plain(world: &World, name: &str) -> Vec<u8> {
    let bytes = fs::read(world.path(name)).unwrap();
    bytes.iter().zip(KEY.iter().cycle()).map(|(byte, key)| byte ^ key).collect()
}

/// The same block, but its coinbase takes more than there is.
fn greedy(mut block: Block) -> Block {
    let output = &mut block.txdata[0].output[0];
    output.value = output.value.checked_add(Amount::from_int_btc(100)).unwrap();
    block.header.merkle_root = block.compute_merkle_root().unwrap();
    while block.header.validate_pow(block.header.target()).is_err() {
        block.header.nonce += 1;
    }
    block
}

impl Folder {
    fn new() -> Self {
        let mut chain = Everything::new(11, 4, false);
        chain.grow(BLOCKS).unwrap();
        let world = World::with(CAIRN, chain.chain());
        let written = FILES.map(|name| plain(&world, name));
        Folder { world, chain, written }
    }

    fn tip(&self) -> String {
        self.chain.chain().tip().hash().to_string()
    }

    fn append(&self, name: &str, bytes: &[u8]) {
        let path = self.world.path(name);
        let at = fs::metadata(&path).unwrap().len() as usize;
        let bytes: Vec<u8> =
            bytes.iter().zip(KEY.iter().cycle().skip(at % KEY.len())).map(|(b, key)| b ^ key).collect();
        fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(&bytes).unwrap();
    }

    /// Two more blocks.
    fn grow(&mut self) {
        self.chain.grow(2).unwrap();
        let longer = World::with(CAIRN, self.chain.chain());
        let written = FILES.map(|name| plain(&longer, name));
        for ((name, new), old) in FILES.into_iter().zip(&written).zip(&self.written) {
            assert!(new.starts_with(old), "{name} is no continuation");
            self.append(name, &new[old.len()..]);
        }
        self.written = written;
    }

    fn hide(&mut self, name: &str) {
        fs::rename(self.world.path(name), self.world.path("away")).unwrap();
    }

    fn show(&mut self, name: &str) {
        fs::rename(self.world.path("away"), self.world.path(name)).unwrap();
    }

    /// A block on the tip that a node refuses, and keeps in its file.
    fn add_bad_block(&mut self) {
        // The generator makes the same blocks again.
        let block = serialize(&greedy(grown(self.chain.chain().tip().height + 1).chain().tip().block.clone()));
        let size = u32::try_from(block.len()).unwrap().to_le_bytes();
        self.append(FILES[1], &[&MAGIC[..], &size, &block].concat());
    }
}

#[test]
fn block_files_may_be_away_or_have_a_bad_branch() {
    let mut folder = Folder::new();
    let mut running = folder.world.start(RUN);
    let address = running.address();
    let mut client = Client::new(&address);
    let mut is_at = |tip: &str| {
        let answer = client.ok("/v1/chain/recent-blocks?limit=1");
        answer.is_ok_and(|body| body["_meta"]["tip"]["hash"] == tip)
    };
    let mut health = Client::new(&address);
    let mut troubles = || health.ok("/api/health").unwrap()["troubles"].as_array().unwrap().clone();
    assert!(within(3 * OVER, || is_at(&folder.tip())).is_some(), "{}", running.said());
    let reads = Reads::start(&address, "/v1/blocks/50", "/hash");
    for (name, words, begin, end) in TROUBLES {
        begin(&mut folder);
        let named = within(NAMED, || {
            let found = troubles();
            found.iter().any(|t| t["part"] == "block_files" && t["reason"].as_str().unwrap().contains(words))
        });
        assert!(named.is_some(), "{name}: {:?}\n{}", troubles(), running.said());
        end(&mut folder);
        let tip = folder.tip();
        let over = within(OVER, || is_at(&tip) && troubles().is_empty());
        assert!(over.is_some(), "{name}: {:?}\n{}", troubles(), running.said());
        assert_eq!(reads.failures(), Vec::<String>::new(), "{name}");
    }
    assert!(reads.count() > 100);
    running.signal("TERM");
    assert_eq!(running.end().0.code(), Some(143), "{}", running.said());
}
