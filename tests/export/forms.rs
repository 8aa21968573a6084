//! Forms of values and of files: the same rows whichever is asked for.

use cairn_export::{Amounts, Dataset, ExportOptions, Exported, Format, Grid, Hashes};
use parquet::record::{Field, Row};

use crate::support::*;

fn read(world: &World, name: &str, options: &ExportOptions) -> (Exported, Vec<(&'static str, Vec<Row>)>) {
    let made = world.export(name, options);
    let rows = options.datasets.iter().map(|of| (of.name, Rows::read(&world.out(name), &made, of.name).0)).collect();
    (made, rows)
}

/// The same value in the form of bytes and satoshis.
fn plain(field: &Field) -> Field {
    match field {
        Field::Bytes(bytes) => Field::Str(hex::encode(bytes.data())),
        other => other.clone(),
    }
}

#[test]
fn hex_and_bitcoin_are_the_same_values() {
    let world = World::of(&cairn_chaingen::demo::chain(1).unwrap());
    let some = only(&["blocks", "transactions", "inputs", "outputs", "coins", "scripts", "cluster_scripts", "alerts"]);
    let some = ExportOptions { grid: Grid::Blocks(1_000), ..some };
    let (_, usual) = read(&world, "usual", &some);
    let format = Format { hashes: Hashes::Hex, amounts: Amounts::Btc, ..Format::default() };
    let (_, other) = read(&world, "other", &ExportOptions { format, ..some });
    for ((name, usual), (_, other)) in usual.iter().zip(&other) {
        assert_eq!(usual.len(), other.len(), "{name}");
        assert!(!usual.is_empty(), "{name}");
        for (usual, other) in usual.iter().zip(other) {
            for ((column, value), (named, shown)) in usual.get_column_iter().zip(other.get_column_iter()) {
                match column.strip_suffix("_sats") {
                    Some(amount) => {
                        assert_eq!(*named, format!("{amount}_btc"));
                        match (value, shown) {
                            (Field::Null, Field::Null) => {}
                            (Field::Long(_), Field::Decimal(decimal)) => {
                                assert_eq!((decimal.scale(), decimal.precision()), (8, 18));
                                assert_eq!(number(usual, column), number(other, named));
                            }
                            other => panic!("{name}.{column}: {other:?}"),
                        }
                    }
                    None => assert_eq!((named, shown), (column, &plain(value)), "{name}"),
                }
            }
        }
    }
}

#[test]
fn any_division_has_the_same_rows() {
    let world = World::of(&chain(12, 100));
    let all = |grid, workers| ExportOptions { grid, workers, ..options() };
    let (_, expected) = read(&world, "ten", &all(Grid::Blocks(10), 2));
    for (name, grid, workers) in [
        ("one", Grid::Blocks(1), 3),
        ("all", Grid::Blocks(1_000_000), 1),
        ("odd", Grid::Blocks(37), 5),
        ("days", Grid::Days, 2),
    ] {
        let (made, found) = read(&world, name, &all(grid, workers));
        assert!(found == expected, "{name}");
        for part in &made.manifest.parts {
            let folder = world.out(name).join("blocks").join(&part.folder);
            assert!(folder.join("part-0.parquet").exists(), "{}", folder.display());
        }
        if name == "days" {
            let blocks = &found[0].1;
            let days = blocks.iter().map(|row| number(row, "day")).collect::<std::collections::BTreeSet<_>>();
            assert_eq!(days.len(), made.manifest.parts.len());
            assert!(made.manifest.parts.iter().all(|part| part.folder.starts_with("on_day=")));
        }
    }
}

#[test]
fn two_exports_are_equal_byte_for_byte() {
    let world = World::of(&chain(13, 60));
    world.export("a", &options());
    world.export("b", &ExportOptions { workers: 7, ..options() });
    assert!(files(&world.out("a")) == files(&world.out("b")));
}

#[test]
fn names_and_texts_are_fit_for_a_page() {
    let mut names = std::collections::BTreeSet::new();
    for dataset in Dataset::all() {
        assert!(names.insert(dataset.name));
        let mut columns = std::collections::BTreeSet::new();
        for column in dataset.columns {
            let name = column.name_in(Format::default());
            assert!(
                name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_'),
                "{name}"
            );
            assert!(columns.insert(name.clone()), "{}.{name} twice", dataset.name);
            assert!(column.about.ends_with('.') && !column.about.contains('|'), "{}.{name}", dataset.name);
        }
        for name in dataset.sorted_by {
            assert!(columns.contains(*name), "{}.{name}", dataset.name);
        }
        assert!(dataset.about.ends_with('.'), "{}", dataset.name);
    }
}
