//! Blocks that no consensus rule made: only what stages look at. They spend within the block, reuse scripts, overwrite
//! coins, have colliding prefixes and times that stand still, all far more often than real ones.

use cairn_model::{
    Block, BlockHash, Height, InputFlags, Outpoint, OutputMeta, Overwritten, ScriptId, ScriptPrefix, ScriptTemplate,
    SpentCoin, TxMeta, TxNum, Txid,
};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::chains::known;

#[derive(Clone)]
pub(crate) struct ToyOptions {
    /// Number of different scripts.
    pub(crate) scripts: u32,
    /// Most transactions of a block, besides the coinbase.
    pub(crate) txs: u32,
    /// Whether coinbases overwrite coins of earlier ones (BIP 30).
    pub(crate) overwrites: bool,
    /// Whether scripts share prefixes.
    pub(crate) ordinals: bool,
    /// Whether many months may pass between two blocks.
    pub(crate) slow: bool,
    /// Whether much is moved, and many coins are gathered in few.
    pub(crate) rich: bool,
}

impl Default for ToyOptions {
    fn default() -> Self {
        ToyOptions { scripts: 40, txs: 8, overwrites: false, ordinals: false, slow: false, rich: false }
    }
}

#[derive(Clone)]
pub(crate) struct Toy {
    rng: ChaCha8Rng,
    options: ToyOptions,
    /// Everything unspent.
    coins: Vec<SpentCoin>,
    hash: BlockHash,
    height: Height,
    next_tx: u64,
    time: u32,
}

impl Toy {
    fn new(seed: u64, options: ToyOptions) -> Self {
        let rng = ChaCha8Rng::seed_from_u64(seed);
        Toy { rng, options, coins: Vec::new(), hash: BlockHash([0; 32]), height: 0, next_tx: 0, time: 1_300_000_000 }
    }

    /// A chain of `blocks` blocks.
    pub(crate) fn chain(seed: u64, blocks: u32, options: &ToyOptions) -> Vec<Block> {
        let mut toy = Toy::new(seed, options.clone());
        known((0..blocks).map(|_| toy.block()).collect())
    }

    /// Two chains of `blocks` blocks that differ in the last `depth`.
    pub(crate) fn branches(blocks: u32, depth: usize, options: &ToyOptions) -> (Vec<Block>, Vec<Block>) {
        let mut toy = Toy::new(9, options.clone());
        let common: Vec<Block> = (depth..blocks as usize).map(|_| toy.block()).collect();
        let mut other = toy.clone();
        other.rng = ChaCha8Rng::seed_from_u64(10);
        let branch = |toy: &mut Toy| known(common.iter().cloned().chain((0..depth).map(|_| toy.block())).collect());
        (branch(&mut toy), branch(&mut other))
    }

    /// Blocks of `txs` transactions, all of which pay the one script there is.
    pub(crate) fn fan(seed: u64, txs: u32, blocks: u32) -> Vec<Block> {
        let mut toy = Toy::new(seed, ToyOptions { scripts: 1, ..ToyOptions::default() });
        let mut block = |_| {
            let mut block = toy.start();
            for i in 0..=txs {
                let spent = if i % 7 == 1 && toy.coins.len() > 1 { toy.coins.pop() } else { None };
                toy.transaction(&mut block, spent.into_iter().collect(), 1);
            }
            block
        };
        known((0..blocks).map(&mut block).collect())
    }

    fn script(&mut self) -> (Vec<u8>, ScriptId) {
        // The lower the number, the more often it is used.
        let number = self.rng.random_range(0..self.options.scripts).min(self.rng.random_range(0..self.options.scripts));
        let script = [&[0x00, 0x14][..], &[0xee; 16], &number.to_be_bytes()].concat();
        let mut id = ScriptId { prefix: ScriptPrefix::of(&script, 8), ordinal: 0 };
        if self.options.ordinals {
            // Four scripts each have one prefix.
            id = ScriptId { prefix: ScriptPrefix([(number / 4) as u8; 8]), ordinal: (number % 4) as u8 };
        }
        (script, id)
    }

    fn sats(&mut self) -> u64 {
        match self.rng.random_range(0..5) {
            0 => self.rng.random_range(0..3),
            1 => self.rng.random_range(1..50) * 100_000_000,
            2 if self.options.rich => self.rng.random_range(20..400) * 100_000_000,
            _ => self.rng.random_range(0..1_000_000_000),
        }
    }

    fn start(&mut self) -> Block {
        let most = if self.options.slow { 300 * 86_400 } else { 1_200 };
        self.time += if self.rng.random_bool(0.3) { 0 } else { self.rng.random_range(1..most) };
        let mut header = [0u8; 80];
        self.rng.fill(&mut header[..]);
        header[4..36].copy_from_slice(&self.hash.0);
        self.rng.fill(&mut self.hash.0);
        if self.height % 5 == 1 {
            // Hashes that begin alike.
            self.hash.0[..8].fill(0x33);
        }
        let block = Block {
            height: self.height,
            hash: self.hash,
            header,
            mono_time: self.time,
            first_tx: TxNum(self.next_tx),
            size: 81,
            position: None,
            coinbase_script: vec![0x51, self.height as u8],
            txs: Vec::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            scripts: Vec::new(),
            overwritten: Vec::new(),
        };
        self.height += 1;
        block
    }

    /// Appends a transaction that spends these coins.
    fn transaction(&mut self, block: &mut Block, spent: Vec<SpentCoin>, outputs: u32) {
        let tx_num = TxNum(self.next_tx);
        self.next_tx += 1;
        let coinbase = block.txs.is_empty();
        let (first_input, first_output) = (block.inputs.len() as u32, block.outputs.len() as u32);
        block.inputs.extend(spent);
        for vout in 0..outputs {
            let (mut script, mut id) = self.script();
            let spendable = block.height > 0 && (self.options.scripts == 1 || !self.rng.random_bool(0.1));
            if !spendable {
                (script, id) = (vec![0x6a, 1, 2], ScriptId::default());
            }
            let template = ScriptTemplate::of(&script);
            let (from, value) = (block.scripts.len() as u32, self.sats());
            block.scripts.extend_from_slice(&script);
            block.outputs.push(OutputMeta { value, script: from..block.scripts.len() as u32, id, spendable });
            if spendable {
                self.coins.push(SpentCoin {
                    outpoint: Outpoint { tx_num, vout },
                    value,
                    script: id,
                    birth: block.height,
                    flags: InputFlags { coinbase, anyone_can_pay: false, template },
                });
            }
        }
        let mut txid = Txid([0; 32]);
        self.rng.fill(&mut txid.0);
        if self.rng.random_bool(0.05) {
            txid.0[..8].fill(0x44);
        }
        let base_size = self.rng.random_range(60..400);
        let size = base_size + self.rng.random_range(0..200);
        block.size += size;
        block.txs.push(TxMeta {
            txid,
            size,
            base_size,
            inputs: first_input..block.inputs.len() as u32,
            outputs: first_output..block.outputs.len() as u32,
        });
    }

    fn block(&mut self) -> Block {
        let mut block = self.start();
        // Coins that a coinbase overwrites are gone before the block spends anything.
        if self.options.overwrites && self.rng.random_bool(0.3) {
            let earlier = self.coins.iter().filter(|c| c.flags.coinbase).map(|c| c.outpoint.tx_num).next_back();
            let gone = self.coins.extract_if(.., |c| Some(c.outpoint.tx_num) == earlier);
            block.overwritten = gone.map(|coin| Overwritten { by: 0, coin }).collect();
        }
        let outputs = self.rng.random_range(1..4);
        self.transaction(&mut block, Vec::new(), outputs);
        // Coinbases mature after a block here: only this block's own is left alone.
        let immature = self.coins.extract_if(.., |c| c.birth == block.height).collect::<Vec<_>>();
        let txs = if block.height < 2 { 0 } else { self.rng.random_range(0..=self.options.txs) };
        for _ in 0..txs {
            let gathers = self.options.rich && self.rng.random_bool(0.2);
            let most = if gathers { 16 } else { 5 };
            let inputs = self.rng.random_range(1..most).min(self.coins.len());
            // From the newest, so that many spend within the block and some chain.
            let spent = (0..inputs).map(|_| {
                let back = self.rng.random_range(0..self.coins.len().min(12));
                self.coins.remove(self.coins.len() - 1 - back)
            });
            let spent: Vec<SpentCoin> = spent.collect();
            if !spent.is_empty() {
                let outputs = if gathers { 2 } else { self.rng.random_range(1..5) };
                self.transaction(&mut block, spent, outputs);
            }
        }
        self.coins.extend(immature);
        block
    }
}
