//! The decoder of undo data against the chain generator's encoder: what decodes can be written, and reads the same.

use bitcoin::{Amount, ScriptBuf, TxOut};
use cairn_chaingen::{Coin, corefiles::write_undo};
use cairn_sources::{Undo, decode_undo};

use super::bounds::within_bounds;

/// Undo data without its checksum.
pub fn run(bytes: &[u8]) {
    check(bytes);
}

fn coins_of(undo: &Undo) -> Vec<Vec<Coin>> {
    let mut coins = undo.coins.iter().map(|coin| Coin {
        txout: TxOut {
            value: Amount::from_sat(coin.value),
            script_pubkey: ScriptBuf::from_bytes(undo.script(coin).to_vec()),
        },
        height: coin.birth,
        coinbase: coin.coinbase,
    });
    let coins: Vec<Vec<Coin>> = undo.tx_inputs.iter().map(|n| coins.by_ref().take(*n as usize).collect()).collect();
    assert_eq!(coins.iter().map(Vec::len).sum::<usize>(), undo.coins.len());
    coins
}

/// Returns whether it was undo data.
pub fn check(bytes: &[u8]) -> bool {
    let Ok(undo) = within_bounds(bytes, decode_undo) else { return false };
    assert!(undo.coins.iter().all(|coin| coin.value <= Amount::MAX_MONEY.to_sat()));
    assert!(undo.tx_inputs.iter().all(|n| *n > 0));
    let mut written = Vec::new();
    write_undo(&mut written, &coins_of(&undo));
    assert_eq!(decode_undo(&written).unwrap(), undo);
    true
}
