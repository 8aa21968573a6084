//! The demo chain: valid, lively, and as its description says.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use bitcoin::{Address, Transaction};
use cairn_chaingen::{Chain, Mined, demo};
use common::Kernel;

const DAY: u32 = 86_400;

fn demo_chain() -> &'static Chain {
    static CHAIN: std::sync::OnceLock<Chain> = std::sync::OnceLock::new();
    CHAIN.get_or_init(|| demo::chain(1).unwrap())
}

/// The blocks in which coins of an address are spent.
fn spends<'a>(chain: &'a Chain, address: &Address) -> Vec<&'a Mined> {
    let script = address.script_pubkey();
    let touches = |mined: &&Mined| mined.spent.iter().flatten().any(|coin| coin.txout.script_pubkey == script);
    chain.active().into_iter().filter(touches).collect()
}

fn receives(chain: &Chain, address: &Address) -> usize {
    let script = address.script_pubkey();
    let pays = |tx: &&Transaction| tx.output.iter().any(|out| out.script_pubkey == script);
    chain.active().iter().flat_map(|mined| &mined.block.txdata).filter(pays).count()
}

#[test]
fn the_kernel_accepts_the_demo() {
    let folder = tempfile::tempdir().unwrap();
    Kernel::open(folder.path()).accept(demo_chain());
}

#[test]
fn another_seed_is_another_valid_chain_with_the_same_actors() {
    let other = demo::chain(2).unwrap();
    assert_ne!(other.tip().hash(), demo_chain().tip().hash());
    let folder = tempfile::tempdir().unwrap();
    Kernel::open(folder.path()).accept(&other);
    for actor in demo::actors().unwrap() {
        assert!(receives(&other, &actor.addresses[0]) > 0, "{}", actor.name);
    }
}

#[test]
fn size_and_time() {
    let chain = demo_chain();
    let active = chain.active();
    assert_eq!(active.len() as u32, demo::DEMO_BLOCKS + 1);
    let txs: usize = active.iter().map(|mined| mined.block.txdata.len() - 1).sum();
    assert!((8_000..20_000).contains(&txs), "{txs} transactions");
    assert_eq!(chain.tip().block.header.time, demo::END_TIME);
    let last_day: usize = active
        .iter()
        .filter(|mined| mined.block.header.time > demo::END_TIME - DAY)
        .map(|mined| mined.block.txdata.len() - 1)
        .sum();
    assert!(last_day > 200, "{last_day} transactions on the last day");
    assert!(active.windows(2).any(|pair| pair[1].block.header.time < pair[0].block.header.time));
    assert_eq!(chain.stale().len(), 7);
    let time = |height: u32| active[height as usize].block.header.time;
    let age = |mined: &Mined| {
        mined.spent.iter().flatten().map(|coin| time(mined.height).saturating_sub(time(coin.height))).max()
    };
    assert!(active.iter().filter_map(|mined| age(mined)).max() > Some(13 * 365 * DAY));
}

#[test]
fn the_actors_do_what_is_said_of_them() {
    let chain = demo_chain();
    let actors = demo::actors().unwrap();
    let names: Vec<_> = actors.iter().map(|actor| actor.name).collect();
    assert_eq!(names, ["exchange", "pool", "whale", "mixer", "merchant", "sleeper", "lost", "thief", "saver"]);
    for actor in &actors {
        for address in &actor.addresses {
            assert!(receives(chain, address) > 0, "{} {address} is never paid", actor.name);
        }
    }
    let [busy, sleeper, lost] = demo::showcase().unwrap();
    assert!(receives(chain, &busy.address) > 2_000);
    let first = spends(chain, &sleeper.address)[0].block.header.time;
    assert_eq!(first / (365 * DAY + DAY / 4) + 1970, 2024);
    assert!(spends(chain, &lost.address).is_empty());
    assert_eq!(receives(chain, &lost.address), 5);

    let equal = |tx: &&Transaction| {
        let first = tx.output[0].value;
        tx.input.len() >= 5 && tx.output.iter().filter(|out| out.value == first).count() >= 5
    };
    let joint = chain.active().iter().flat_map(|mined| &mined.block.txdata).filter(equal).count();
    assert!(joint > 50, "{joint} joint transactions");
}
