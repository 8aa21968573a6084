//! The coin set of the active chain, and its hash.

use std::collections::BTreeMap;

use bitcoin::consensus::Encodable;
use bitcoin::{Block, OutPoint, Transaction};
use cairn_chaingen::{COINBASE_MATURITY, Coin, is_unspendable, subsidy};
use chacha20::ChaCha20;
use chacha20::cipher::{KeyIvInit, StreamCipher};
use num_bigint::BigUint;
use sha2::{Digest, Sha256};

/// Coins by outpoint, in the order of outpoints: walks over it are the same in every run.
pub(crate) type CoinMap = BTreeMap<OutPoint, Coin>;

/// The coins that a block spends: `[i][j]` by input `j` of transaction `i + 1`.
pub(crate) type Spent = Vec<Vec<Coin>>;

fn create(coins: &mut CoinMap, tx: &Transaction, height: u32, coinbase: bool) {
    let txid = tx.compute_txid();
    for (vout, txout) in (0..).zip(&tx.output) {
        if !is_unspendable(&txout.script_pubkey) {
            coins.insert(OutPoint { txid, vout }, Coin { txout: txout.clone(), height, coinbase });
        }
    }
}

fn undo_tx(coins: &mut CoinMap, tx: &Transaction, spent: &[Coin]) {
    let txid = tx.compute_txid();
    for vout in 0..tx.output.len() as u32 {
        coins.remove(&OutPoint { txid, vout });
    }
    for (input, coin) in tx.input.iter().zip(spent) {
        coins.insert(input.previous_output, coin.clone());
    }
}

/// Takes the coins that a transaction spends; on failure nothing has changed.
fn spend(coins: &mut CoinMap, tx: &Transaction, height: u32) -> Result<(Vec<Coin>, u64), &'static str> {
    let mut taken: Vec<Coin> = Vec::with_capacity(tx.input.len());
    let mut problem = None;
    for input in &tx.input {
        match coins.remove(&input.previous_output) {
            Some(coin) => {
                let young = coin.coinbase && height - coin.height < COINBASE_MATURITY;
                taken.push(coin);
                if young {
                    problem = Some("bad-txns-premature-spend-of-coinbase");
                    break;
                }
            }
            None => {
                problem = Some("bad-txns-inputs-missingorspent");
                break;
            }
        }
    }
    let income = taken.iter().fold(0u64, |sum, coin| sum.saturating_add(coin.txout.value.to_sat()));
    let outgo = tx.output.iter().fold(0u64, |sum, txout| sum.saturating_add(txout.value.to_sat()));
    if problem.is_none() && outgo > income {
        problem = Some("bad-txns-in-belowout");
    }
    match problem {
        None => Ok((taken, income - outgo)),
        Some(reason) => {
            for (input, coin) in tx.input.iter().zip(taken) {
                coins.insert(input.previous_output, coin);
            }
            Err(reason)
        }
    }
}

/// Applies a block; on failure the coins are as before and the reason is Core's.
pub(crate) fn connect(coins: &mut CoinMap, block: &Block, height: u32) -> Result<Spent, &'static str> {
    let mut spent: Spent = Vec::with_capacity(block.txdata.len().saturating_sub(1));
    let mut fees = 0u64;
    let mut problem = None;
    for tx in block.txdata.iter().skip(1) {
        match spend(coins, tx, height) {
            Ok((taken, fee)) => {
                spent.push(taken);
                fees += fee;
                create(coins, tx, height, false);
            }
            Err(reason) => {
                problem = Some(reason);
                break;
            }
        }
    }
    if let Some(coinbase) = block.txdata.first() {
        let claim = coinbase.output.iter().fold(0u64, |sum, txout| sum.saturating_add(txout.value.to_sat()));
        if problem.is_none() && claim > subsidy(height) + fees {
            problem = Some("bad-cb-amount");
        }
        if problem.is_none() {
            create(coins, coinbase, height, true);
        }
    }
    match problem {
        None => Ok(spent),
        Some(reason) => {
            for (tx, taken) in block.txdata[1..].iter().zip(&spent).rev() {
                undo_tx(coins, tx, taken);
            }
            Err(reason)
        }
    }
}

/// Takes a block off again.
pub(crate) fn disconnect(coins: &mut CoinMap, block: &Block, spent: &Spent) {
    for (tx, taken) in block.txdata.iter().skip(1).zip(spent).rev() {
        undo_tx(coins, tx, taken);
    }
    if let Some(coinbase) = block.txdata.first() {
        undo_tx(coins, coinbase, &[]);
    }
}

/// The sums over a coin set that `gettxoutsetinfo` reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) coins: u64,
    pub(crate) sats: u64,
    /// Count of transactions with at least one coin left.
    pub(crate) txs: u64,
    /// Core's size measure that depends on no database: 50 bytes and the script for each coin.
    pub(crate) bogosize: u64,
}

pub(crate) fn totals(coins: &CoinMap) -> Totals {
    let mut totals = Totals { coins: 0, sats: 0, txs: 0, bogosize: 0 };
    let mut last = None;
    for (outpoint, coin) in coins {
        totals.coins += 1;
        totals.sats += coin.txout.value.to_sat();
        totals.bogosize += 50 + coin.txout.script_pubkey.len() as u64;
        if last != Some(outpoint.txid) {
            totals.txs += 1;
            last = Some(outpoint.txid);
        }
    }
    totals
}

/// MuHash3072 of a coin set, as Core prints it. Computed from the definition (a product of one number per coin, modulo
/// a prime), with no incremental state and no code shared with Cairn's own: it is there to be compared with.
pub(crate) fn muhash(coins: &CoinMap) -> String {
    let modulus = (BigUint::from(1u8) << 3072u32) - BigUint::from(1_103_717u32);
    let mut product = BigUint::from(1u8);
    for (outpoint, coin) in coins {
        let mut bytes = Vec::with_capacity(64 + coin.txout.script_pubkey.len());
        // Writing to a vector cannot fail.
        let _ = outpoint.consensus_encode(&mut bytes);
        let code = coin.height * 2 + u32::from(coin.coinbase);
        bytes.extend_from_slice(&code.to_le_bytes());
        let _ = coin.txout.consensus_encode(&mut bytes);
        let key: [u8; 32] = Sha256::digest(&bytes).into();
        let mut stream = [0u8; 384];
        ChaCha20::new(&key.into(), &[0u8; 12].into()).apply_keystream(&mut stream);
        product = product * BigUint::from_bytes_le(&stream) % &modulus;
    }
    let mut number = product.to_bytes_le();
    number.resize(384, 0);
    let mut digest: [u8; 32] = Sha256::digest(&number).into();
    digest.reverse();
    hex::encode(digest)
}
