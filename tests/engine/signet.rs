//! Custom signets: an index of one is of no other.

use cairn_model::{ChainParams, Network};
use cairn_pipeline::{Driver, Engine, PipelineError};
use cairn_reader::Facts;
use cairn_testkit::{SIGNET_CHALLENGE, SIGNET_HEIGHT, SIGNET_TIP, temp_dir, write_signet};

use crate::support::*;

fn signet(challenge: &str) -> ChainParams {
    ChainParams::signet(challenge.parse().unwrap())
}

/// An index of the files that Bitcoin Core wrote.
fn indexed(driver: Driver) -> Index {
    let blocks = temp_dir();
    write_signet(blocks.path());
    let mut index = Index::new(&Facts::of(signet(SIGNET_CHALLENGE)));
    index.sync(blocks.path(), driver);
    index
}

#[test]
fn block_files_of_a_custom_signet_are_indexed_in_bulk_and_block_by_block() {
    let index = indexed(Driver::Bulk);
    let (height, hash) = index.engine.tip().unwrap().unwrap();
    assert_eq!((height, hash.to_string().as_str()), (SIGNET_HEIGHT, SIGNET_TIP));
    index.assert_sound();
    index.view(|view| {
        assert_eq!(view.network(), Network::Signet);
        assert_eq!(view.facts().chain_params(), signet(SIGNET_CHALLENGE));
    });
    index.sums().assert_equal(&indexed(Driver::Tip).sums(), "block by block");
    let sums = index.sums();
    index.reopened().sums().assert_equal(&sums, "opened again");
}

#[test]
fn an_index_of_another_signet_is_left_alone() {
    let index = indexed(Driver::Bulk);
    let sums = index.sums();
    let Index { engine, dir } = index;
    drop(engine);
    let ours = signet(SIGNET_CHALLENGE);
    for other in [signet("52"), signet("5151"), Network::Signet.into(), Network::Main.into()] {
        let opened = Engine::open(dir.path(), &Facts::of(other)).map(drop);
        let Err(PipelineError::WrongNetwork { expected, found }) = &opened else { panic!("{opened:?}") };
        assert_eq!((*expected, *found), (other, ours));
        let said = opened.unwrap_err().to_string();
        let name = other.name_beside(ours);
        assert_eq!(said, format!("this is an index of the signet with challenge {SIGNET_CHALLENGE}, not of {name}"));
    }
    let index = Index { engine: Engine::open(dir.path(), &Facts::of(ours)).unwrap(), dir };
    index.sums().assert_equal(&sums, "asked for other signets");
}

/// The rows of an index of the default signet are those of programs that knew no other.
#[test]
fn the_default_signet_has_the_facts_that_it_always_had() {
    let default = ChainParams::from(Network::Signet);
    let given = signet(default.challenge_hex().unwrap());
    let rows = |facts: &Facts| facts.rows().into_iter().map(|(name, fact)| (name, fact.0)).collect::<Vec<_>>();
    assert_eq!(
        rows(&Facts::of(given)),
        [("network", "signet"), ("script_prefix", "8"), ("txid_prefix", "8")]
            .map(|(name, text)| (name.to_owned(), text.to_owned()))
    );
    assert_eq!(rows(&Facts::of(signet("51")))[0].1, "signet:51");
    let index = Index::new(&Facts::of(default));
    let Index { engine, dir } = index;
    drop(engine);
    assert_eq!(Engine::open(dir.path(), &Facts::of(given)).unwrap().facts().chain_params(), default);
    let refused = Engine::open(dir.path(), &Facts::of(signet("51"))).map(drop).unwrap_err().to_string();
    assert_eq!(refused, "this is an index of the default signet, not of the signet with challenge 51");
}

/// The ledger of input events outlives the index: it is of one signet as well.
#[test]
fn the_ledger_of_another_signet_is_refused() {
    let Index { engine, dir } = indexed(Driver::Bulk);
    drop(engine);
    std::fs::remove_dir_all(dir.path().join("index")).unwrap();
    let refused = Engine::open(dir.path(), &Facts::of(signet("52"))).map(drop);
    assert!(matches!(&refused, Err(PipelineError::ForeignLedger { .. })), "{refused:?}");
}
