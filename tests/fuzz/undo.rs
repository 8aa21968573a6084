//! The decoder of undo data against the chain generator's encoder: what decodes can be written, and reads the same.

use std::sync::OnceLock;

use bitcoin::{Amount, ScriptBuf, TxOut};
use cairn_chaingen::{Coin, EverythingOptions, corefiles::write_undo, everything};
use cairn_sources::{Undo, decode_undo};
use rand::Rng;

use crate::{
    mutate::{mutate, noise},
    run, within_bounds,
};

fn generated() -> &'static [Vec<u8>] {
    static UNDO: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    UNDO.get_or_init(|| {
        let options = EverythingOptions { blocks: 135, max_txs: 6, forks: vec![], showpieces: false };
        let chain = everything(78, &options).unwrap();
        let spending = chain.active().into_iter().filter(|mined| !mined.spent.is_empty());
        spending
            .map(|mined| {
                let mut out = Vec::new();
                write_undo(&mut out, &mined.spent);
                out
            })
            .collect()
    })
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

fn check(bytes: &[u8]) -> bool {
    let Ok(undo) = within_bounds(bytes, decode_undo) else { return false };
    assert!(undo.coins.iter().all(|coin| coin.value <= Amount::MAX_MONEY.to_sat()));
    assert!(undo.tx_inputs.iter().all(|n| *n > 0));
    let mut written = Vec::new();
    write_undo(&mut written, &coins_of(&undo));
    assert_eq!(decode_undo(&written).unwrap(), undo);
    true
}

#[test]
fn originals_are_undo_data() {
    assert!(generated().iter().all(|raw| check(raw)) && !generated().is_empty());
}

#[test]
fn mutated_undo_data() {
    let corpus = generated();
    run(|rng| {
        let mut bytes = corpus[rng.random_range(0..corpus.len())].clone();
        let donor = &corpus[rng.random_range(0..corpus.len())];
        mutate(rng, &mut bytes, donor);
        check(&bytes);
    });
}

#[test]
fn noise_as_undo_data() {
    run(|rng| {
        check(&noise(rng, 400));
    });
}
