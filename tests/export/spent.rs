//! Txids and addresses of what inputs spend, which are found by sorting.

use bitcoin::{Address, hashes::Hash};
use cairn_export::{ExportOptions, Format, Grid};
use cairn_model::CancelToken;
use parquet::record::Field;

use crate::support::*;

fn with(format: Format) -> ExportOptions {
    ExportOptions { format, ..only(&["transactions", "inputs", "outputs"]) }
}

const BOTH: Format =
    Format { hashes: cairn_export::Hashes::Binary, amounts: cairn_export::Amounts::Sats, txids: true, addresses: true };

#[test]
fn they_are_those_of_the_blocks() {
    for seed in [3, 21] {
        let chain = chain(seed, 140);
        let oracle = oracle_of(&chain);
        let world = World::of(&chain);
        let usual = world.export("usual", &with(Format::default()));
        let made = world.export("both", &with(BOTH));
        assert!(made.manifest.txids && made.manifest.addresses);
        let expected = oracle.blocks().iter().flat_map(|block| block.txdata.iter().skip(1)).flat_map(|tx| &tx.input);
        let rows = Rows::read(&world.out("both"), &made, "inputs").0;
        let spent = (0..oracle.txs().len() as u64).flat_map(|num| oracle.spent(cairn_model::TxNum(num)));
        let address = |script: &bitcoin::Script| match Address::from_script(script, bitcoin::Network::Regtest) {
            Ok(address) => Field::Str(address.to_string()),
            Err(_) => Field::Null,
        };
        let (mut count, mut without) = (0, 0);
        for ((row, input), coin) in rows.iter().zip(expected).zip(spent) {
            let mut txid = bytes(row, "prev_txid");
            txid.reverse();
            assert_eq!(txid, input.previous_output.txid.to_byte_array());
            assert_eq!(*at(row, "address"), address(&coin.script));
            without += usize::from(is_null(row, "address"));
            count += 1;
        }
        assert!(count == rows.len() && count > 500 && without > 0);
        let outputs = oracle.blocks().iter().flat_map(|block| &block.txdata).flat_map(|tx| &tx.output);
        let rows = Rows::read(&world.out("both"), &made, "outputs").0;
        for (row, output) in rows.iter().zip(outputs) {
            assert_eq!(*at(row, "address"), address(&output.script_pubkey));
        }
        // All other columns are the same, and one of the two alone is as in both.
        for (name, format) in
            [("txids", Format { addresses: false, ..BOTH }), ("addresses", Format { txids: false, ..BOTH })]
        {
            let one = world.export(name, &with(format));
            for dataset in ["transactions", "inputs", "outputs"] {
                let [usual, both, one] = [("usual", &usual), ("both", &made), (name, &one)]
                    .map(|(out, made)| Rows::read(&world.out(out), made, dataset).0);
                for ((usual, both), one) in usual.iter().zip(&both).zip(&one) {
                    for (column, value) in usual.get_column_iter() {
                        assert!(at(both, column) == value && at(one, column) == value, "{dataset}.{column}");
                    }
                    for (column, value) in one.get_column_iter() {
                        assert!(at(both, column) == value, "{dataset}.{column}");
                    }
                }
            }
        }
    }
}

#[test]
fn any_division_and_any_stop_give_the_same() {
    let world = World::of(&chain(22, 120));
    let options = with(BOTH);
    let expected = world.export("ten", &options);
    let rows = Rows::read(&world.out("ten"), &expected, "inputs").0;
    for (name, grid, workers) in [("one", Grid::Blocks(1), 4), ("all", Grid::Blocks(1_000), 1), ("days", Grid::Days, 3)]
    {
        let made = world.export(name, &ExportOptions { grid, workers, ..options.clone() });
        assert!(Rows::read(&world.out(name), &made, "inputs").0 == rows, "{name}");
    }
    let (index, out, work) = (world.dir.path().join("data/index"), world.out("stopped"), world.work("stopped"));
    // One worker: others would write on until the stop arrives, perhaps to the end.
    let alone = ExportOptions { workers: 1, ..options.clone() };
    for files in [1, 9, 12] {
        let cancel = CancelToken::new();
        let stop = |step: cairn_export::ExportStep| {
            if step.files >= files {
                cancel.cancel()
            }
        };
        assert!(export(&index, &out, &work, &alone, &cancel, &stop).map(drop).unwrap_err().is_cancelled());
    }
    assert!(world.export("stopped", &options).resumed > 0);
    assert!(files(&out) == files(&world.out("ten")));
}

#[test]
fn continued_they_are_kept_where_blocks_are() {
    let mut world = World::of(&chain(23, 120));
    world.unwind(30);
    world.export("out", &with(BOTH));
    world.sync(None);
    let made = world.export("out", &ExportOptions { is_incremental: true, ..with(BOTH) });
    assert!(made.manifest.since.unwrap().kept > 0);
    world.export("fresh", &with(BOTH));
    assert!(files(&world.out("out")) == files(&world.out("fresh")));
    let other = ExportOptions { is_incremental: true, ..with(Format::default()) };
    let refused = world.try_export("out", &other, &CancelToken::never()).unwrap_err();
    assert!(refused.to_string().contains("addresses true"), "{refused}");
}
