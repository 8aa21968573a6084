//! Events at the node: payments, blocks, reorganizations.

use std::{
    fmt,
    time::{Duration, Instant},
};

use bitcoin::consensus::encode::serialize_hex;
use cairn_standin::{Payment, StandIn};
use cairn_support::{Client, name_of, wait_until};
use rand::{Rng, SeedableRng, seq::IndexedRandom};
use rand_chacha::ChaCha8Rng;

use crate::{
    accepted::accepted,
    course::Course,
    operations::{SUBJECTS, Subjects},
};

/// Between two blocks, and two reorganizations.
const BLOCK: Duration = Duration::from_secs(2);
const REORG: Duration = Duration::from_secs(9);
/// Blocks below the tip whose transactions are asked for.
const RECENT: u32 = 8;

pub struct Happening<'c> {
    rng: ChaCha8Rng,
    course: &'c Course,
    block_at: Instant,
    reorg_at: Instant,
    payments: u64,
    blocks: u64,
    reorgs: u64,
}

impl fmt::Display for Happening<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} payments, {} blocks, {} reorganizations", self.payments, self.blocks, self.reorgs)
    }
}

impl<'c> Happening<'c> {
    pub fn new(seed: u64, node: &StandIn, course: &'c Course) -> Self {
        let now = Instant::now();
        let mut happening = Happening {
            rng: ChaCha8Rng::seed_from_u64(seed),
            course,
            block_at: now,
            reorg_at: now + REORG / 2,
            payments: 0,
            blocks: 0,
            reorgs: 0,
        };
        happening.tell(node);
        happening
    }

    pub fn reorgs(&self) -> u64 {
        self.reorgs
    }

    /// Events while a process is not there: no reorganization, because nobody would see its end.
    pub fn meanwhile(&mut self, node: &StandIn) {
        self.transact(node);
        self.mine(node);
    }

    /// Does the next thing; a block or a reorganization if it is time.
    pub fn go_on(&mut self, node: &StandIn) {
        self.transact(node);
        let now = Instant::now();
        if now > self.reorg_at {
            self.reorg_at = now + REORG;
            self.reorganize(node);
        } else if now > self.block_at {
            self.block_at = now + BLOCK;
            self.mine(node);
        }
    }

    fn mine(&mut self, node: &StandIn) {
        self.blocks += 1;
        node.world().mine(1).unwrap();
        self.tell(node);
    }

    fn transact(&mut self, node: &StandIn) {
        let rate = self.rng.random_range(1..60) * 1_000;
        let what = self.rng.random_range(0..10);
        let report = if what == 4 { accepted().payment() } else { None };
        let done = {
            let mut world = node.world();
            let pool = world.pool_txids();
            let victim = pool.choose(&mut self.rng).copied();
            match (what, victim) {
                (0, Some(victim)) => world.replace(&victim, rate + 20_000).is_ok(),
                (1, Some(victim)) => world.cpfp(&victim, rate + 10_000).is_ok(),
                (2, Some(victim)) => world.evict(&victim).is_ok(),
                (3, _) => world.send_chain(3, rate).is_ok(),
                _ => world.send(&report.unwrap_or(Payment::at(rate))).is_ok(),
            }
        };
        self.payments += u64::from(done);
    }

    /// Replaces the last blocks, and waits until that is served.
    fn reorganize(&mut self, node: &StandIn) {
        let depth = self.rng.random_range(1..5);
        let served = self.course.served.clone();
        self.course.reorganized(|| {
            node.world().reorg(depth, depth + 1).unwrap();
            let tip = node.world().tip().to_string();
            let mut client = Client::new(&served.address().expect("nobody serves"));
            wait_until("the other branch", || {
                let answer = client.ok("/v1/chain/recent-blocks?limit=1");
                answer.is_ok_and(|body| body["_meta"]["tip"]["hash"] == tip.as_str())
            });
        });
        self.reorgs += 1;
        self.tell(node);
    }

    /// Publishes the subjects that clients can ask for.
    fn tell(&mut self, node: &StandIn) {
        let world = node.world();
        let (height, mut found) = (world.height(), Subjects::default());
        let recent = (0..RECENT).filter_map(|back| world.hash_at(height.checked_sub(back)?));
        for block in recent.filter_map(|hash| world.block(&hash)) {
            found.blocks.push(block.block_hash().to_string());
            for tx in &block.txdata {
                found.txids.push(tx.compute_txid().to_string());
                found.raws.push(serialize_hex(tx));
                let outputs = tx.output.iter().filter(|output| !output.script_pubkey.is_op_return());
                found.addresses.extend(outputs.map(|output| name_of(&output.script_pubkey)));
            }
        }
        found.blocks.extend([0, height / 2, height].map(|height| height.to_string()));
        for tx in world.pool() {
            found.pending.push(tx.txid.to_string());
            found.raws.push(serialize_hex(&tx.tx));
        }
        *SUBJECTS.lock().unwrap() = found;
    }
}
