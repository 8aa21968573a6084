//! Our index in little: the blocks and the coins of the chain that we have followed so far.

use std::collections::HashMap;

use bitcoin::hashes::Hash;
use cairn_mempool::{CoinSource, CoinsError, ConfirmedCoin, IndexTip};
use cairn_model::{BlockHash, Txid, is_unspendable};
use cairn_standin::World;

type Outpoint = (Txid, u32);

pub fn txid(of: bitcoin::Txid) -> Txid {
    Txid(of.to_byte_array())
}

pub fn outpoint(of: &bitcoin::OutPoint) -> Outpoint {
    (txid(of.txid), of.vout)
}

#[derive(Clone)]
pub struct Block {
    pub tip: IndexTip,
    previous: BlockHash,
    pub txids: Vec<Txid>,
    pub spent: Vec<Outpoint>,
    restored: Vec<(Outpoint, ConfirmedCoin)>,
    made: Vec<(Outpoint, ConfirmedCoin)>,
}

/// One step of our chain.
pub enum Move {
    Off(IndexTip),
    On(Block),
}

#[derive(Default)]
pub struct Chain {
    blocks: Vec<Block>,
    coins: HashMap<Outpoint, ConfirmedCoin>,
    /// Reads that still fail.
    pub broken: std::cell::Cell<u32>,
}

impl CoinSource for Chain {
    fn coin(&self, txid: &Txid, vout: u32) -> Result<Option<ConfirmedCoin>, CoinsError> {
        if self.broken.get() > 0 {
            self.broken.set(self.broken.get() - 1);
            return Err("the disk is gone".into());
        }
        Ok(self.coins.get(&(*txid, vout)).cloned())
    }
}

impl Chain {
    pub fn tip(&self) -> IndexTip {
        self.blocks.last().unwrap().tip
    }

    pub fn has(&self, outpoint: &Outpoint) -> Option<&ConfirmedCoin> {
        self.coins.get(outpoint)
    }

    /// Whether a block among the last ones holds a transaction.
    pub fn holds(&self, txid: &Txid) -> bool {
        self.blocks.iter().rev().take(150).any(|block| block.txids.contains(txid))
    }

    /// Goes towards the node's chain: blocks off in one step, then up to `limit` blocks on.
    pub fn follow(&mut self, world: &World, limit: usize) -> Vec<Move> {
        let mut moves = Vec::new();
        let hash_at = |height: usize| world.hash_at(height as u32).map(|hash| BlockHash(hash.to_byte_array()));
        let shared = (0..self.blocks.len()).rev().find(|at| hash_at(*at) == Some(self.blocks[*at].tip.hash));
        let fork = shared.map_or(0, |at| at + 1);
        if fork < self.blocks.len() {
            while self.blocks.len() > fork {
                self.pop();
            }
            moves.push(Move::Off(self.tip()));
        }
        if world.height() as usize + 1 > self.blocks.len() && limit > 0 {
            let from = self.blocks.len();
            for mined in world.active().into_iter().skip(from).take(limit) {
                let header = &mined.block.header;
                let block = Block {
                    tip: IndexTip {
                        height: mined.height,
                        hash: BlockHash(mined.block.block_hash().to_byte_array()),
                        time: header.time,
                    },
                    previous: BlockHash(header.prev_blockhash.to_byte_array()),
                    txids: mined.block.txdata.iter().map(|tx| txid(tx.compute_txid())).collect(),
                    spent: mined.block.txdata[1..]
                        .iter()
                        .flat_map(|tx| tx.input.iter().map(|input| outpoint(&input.previous_output)))
                        .collect(),
                    restored: (mined.block.txdata[1..].iter().zip(&mined.spent))
                        .flat_map(|(tx, spent)| tx.input.iter().zip(spent))
                        .map(|(input, coin)| {
                            let coin = ConfirmedCoin {
                                value: coin.txout.value.to_sat(),
                                script: coin.txout.script_pubkey.as_bytes().into(),
                                height: coin.height,
                            };
                            (outpoint(&input.previous_output), coin)
                        })
                        .collect(),
                    made: (mined.block.txdata.iter())
                        .flat_map(|tx| {
                            let id = txid(tx.compute_txid());
                            tx.output.iter().enumerate().map(move |(vout, output)| {
                                let script: Box<[u8]> = output.script_pubkey.as_bytes().into();
                                let coin = ConfirmedCoin { value: output.value.to_sat(), script, height: mined.height };
                                ((id, vout as u32), coin)
                            })
                        })
                        .filter(|(_, coin)| mined.height > 0 && !is_unspendable(&coin.script))
                        .collect(),
                };
                self.push(block.clone());
                moves.push(Move::On(block));
            }
        }
        moves
    }

    fn push(&mut self, block: Block) {
        assert!(self.blocks.last().is_none_or(|last| last.tip.hash == block.previous));
        for (outpoint, coin) in &block.made {
            self.coins.insert(*outpoint, coin.clone());
        }
        for outpoint in &block.spent {
            self.coins.remove(outpoint).unwrap();
        }
        self.blocks.push(block);
    }

    fn pop(&mut self) {
        let block = self.blocks.pop().unwrap();
        for (outpoint, coin) in &block.restored {
            self.coins.insert(*outpoint, coin.clone());
        }
        for (outpoint, _) in &block.made {
            self.coins.remove(outpoint);
        }
    }
}
