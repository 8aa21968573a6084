//! The decoder of undo data over that of a generated chain.

use std::sync::OnceLock;

use cairn_chaingen::{EverythingOptions, corefiles::write_undo, everything};
use rand::Rng;

use crate::{
    mutate::{mutate, noise},
    run,
    targets::parsers::undo::check,
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
