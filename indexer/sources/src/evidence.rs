//! Checks if coins belong to a block. The checksum of undo data binds them only to the block's parent, so the undo data
//! of two siblings can be distinguished only by the blocks' own data about the coins they spend.

use std::collections::HashMap;

use bitcoin::hashes::{Hash, hash160};
use cairn_model::{Height, Sats, Txid};
use sha2::{Digest, Sha256};

use crate::{
    bytes::{Cursor, ReadError},
    decode::Decoded,
    sighash::pushes,
    undo::{Undo, UndoCoin},
};

/// Data of the spending side of an input.
#[derive(Clone, Copy, Default)]
struct Spend<'a> {
    script_sig: &'a [u8],
    last_item: Option<&'a [u8]>,
}

enum SpendEvidence {
    Proven,
    Open,
    Refuted,
}

/// Counts the inputs whose scripts prove that they spend these coins. Returns `None` if the block cannot spend them: a
/// script does not hash to the coin's, more is sent than received, or a coin of this block was not created by it. `raw`
/// are the block's bytes, `subsidy` is the amount that its coinbase may create.
pub(crate) fn proofs(raw: &[u8], block: &Decoded, undo: &Undo, height: Height, subsidy: Sats) -> Option<usize> {
    if !undo.fits(block) || !amounts_add_up(block, undo, subsidy) {
        return None;
    }
    let spends = spends(raw, block).ok()?;
    let own: HashMap<Txid, usize> = block.txs.iter().enumerate().map(|(i, tx)| (tx.txid, i)).collect();
    let mut proven = 0;
    for ((coin, prevout), spend) in undo.coins.iter().zip(&block.prevouts).zip(&spends) {
        let script = undo.script(coin);
        match own.get(&prevout.txid) {
            Some(tx) => {
                if !made_by(block, *tx, prevout.vout, coin, script) || coin.birth != height {
                    return None;
                }
                proven += 1;
            }
            None if coin.birth >= height => return None,
            None => match verdict(script, *spend) {
                SpendEvidence::Proven => proven += 1,
                SpendEvidence::Open => {}
                SpendEvidence::Refuted => return None,
            },
        }
    }
    Some(proven)
}

fn made_by(block: &Decoded, tx: usize, vout: u32, coin: &UndoCoin, script: &[u8]) -> bool {
    let range = block.txs[tx].outputs.clone();
    let output = range.start.checked_add(vout).filter(|i| range.contains(i)).map(|i| &block.outputs[i as usize]);
    output.is_some_and(|o| o.value == coin.value && block.script(o) == script)
}

fn amounts_add_up(block: &Decoded, undo: &Undo, subsidy: Sats) -> bool {
    let sent = |i: usize| -> Sats {
        let range = block.txs[i].outputs.clone();
        block.outputs[range.start as usize..range.end as usize].iter().map(|o| o.value).sum()
    };
    let mut fees: Sats = 0;
    for (i, tx) in block.txs.iter().enumerate().skip(1) {
        let coins = &undo.coins[tx.inputs.start as usize..tx.inputs.end as usize];
        let received = coins.iter().fold(0, |sum: Sats, coin| sum.saturating_add(coin.value));
        let Some(fee) = received.checked_sub(sent(i)) else { return false };
        fees = fees.saturating_add(fee);
    }
    sent(0) <= subsidy.saturating_add(fees)
}

fn verdict(script: &[u8], spend: Spend<'_>) -> SpendEvidence {
    let hash160 = |data: Option<&[u8]>| data.map(|d| hash160::Hash::hash(d).to_byte_array());
    let proof = |matches: bool| if matches { SpendEvidence::Proven } else { SpendEvidence::Refuted };
    let witness_program =
        matches!(script, [0x00 | 0x51..=0x60, n @ 2..=40, rest @ ..] if rest.len() == usize::from(*n));
    if witness_program && !spend.script_sig.is_empty() {
        return SpendEvidence::Refuted;
    }
    match script {
        [0x76, 0xa9, 20, hash @ .., 0x88, 0xac] if hash.len() == 20 => {
            proof(hash160(pushes(spend.script_sig).last()).is_some_and(|h| h == *hash))
        }
        [0xa9, 20, hash @ .., 0x87] if hash.len() == 20 => {
            proof(hash160(pushes(spend.script_sig).last()).is_some_and(|h| h == *hash))
        }
        // Without witness rules (before segwit), anybody could spend a witness program: no items prove nothing.
        [0x00, 20, hash @ ..] if hash.len() == 20 && spend.last_item.is_some() => {
            proof(hash160(spend.last_item).is_some_and(|h| h == *hash))
        }
        [0x00, 32, hash @ ..] if hash.len() == 32 && spend.last_item.is_some() => {
            proof(spend.last_item.is_some_and(|item| Sha256::digest(item)[..] == *hash))
        }
        _ if !witness_program && spend.last_item.is_some() => SpendEvidence::Refuted,
        _ => SpendEvidence::Open,
    }
}

/// scriptSig and last witness item of every input except the coinbase's, from the bytes of a valid block.
fn spends<'a>(raw: &'a [u8], block: &Decoded) -> Result<Vec<Spend<'a>>, ReadError> {
    let mut r = Cursor::new(raw);
    r.take(80)?;
    r.compact_size()?;
    let mut spends = vec![Spend::default(); block.prevouts.len()];
    for (i, tx) in block.txs.iter().enumerate() {
        r.take(4)?;
        let segwit = r.peek() == Some(0);
        r.take(if segwit { 2 } else { 0 })?;
        let inputs = r.compact_size()?;
        for j in 0..inputs {
            r.take(36)?;
            let len = r.compact_size()?;
            let script_sig = r.take(len)?;
            r.take(4)?;
            if i > 0 {
                spends[tx.inputs.start as usize + j].script_sig = script_sig;
            }
        }
        for _ in 0..r.compact_size()? {
            r.take(8)?;
            let len = r.compact_size()?;
            r.take(len)?;
        }
        for j in 0..if segwit { inputs } else { 0 } {
            let mut last_item = None;
            for _ in 0..r.compact_size()? {
                let len = r.compact_size()?;
                last_item = Some(r.take(len)?);
            }
            if i > 0 {
                spends[tx.inputs.start as usize + j].last_item = last_item;
            }
        }
        r.take(4)?;
    }
    Ok(spends)
}
