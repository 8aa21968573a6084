//! Values for the tests of the tables that describe the index: its format, its facts, how far its stages are.

use cairn_model::BlockHash;
use cairn_tables::{
    Table,
    checkpoints::{Checkpoint, Checkpoints},
    codec::put_varint,
    encode_value,
    facts::{Fact, Facts},
    format::{FORMAT, Format, FormatVersion},
    stages::{STAGES, StageInfo},
};
use proptest::{
    collection::{btree_map, vec},
    prelude::*,
    strategy::BoxedStrategy,
};

use crate::{Tested, golden::Golden, values};

fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z_]{0,20}", "\\PC{0,30}"]
}

/// Fields of tags that this program does not know.
fn further() -> impl Strategy<Value = Vec<u8>> {
    btree_map(prop_oneof![6..20u64, 6..=u64::MAX], vec(any::<u8>(), 0..40), 0..4).prop_map(|fields| {
        let mut out = Vec::new();
        for (tag, bytes) in fields {
            put_varint(&mut out, tag);
            put_varint(&mut out, bytes.len() as u64);
            out.extend_from_slice(&bytes);
        }
        out
    })
}

const HASH: &str = "d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1";

fn plain(version: u32, height: u32) -> Checkpoint {
    let hash = BlockHash([0xd1; 32]);
    Checkpoint { version, height, hash, seq: 0, dependencies: Vec::new(), further: Vec::new() }
}

impl Tested for Checkpoints {
    fn keys() -> BoxedStrategy<String> {
        text().boxed()
    }

    fn values() -> BoxedStrategy<Checkpoint> {
        let place = (values::number(), values::number(), any::<[u8; 32]>());
        let seq = prop_oneof![Just(0u64), 1..300u64, any::<u64>()];
        let dependencies = btree_map(text(), values::number(), 0..5).prop_map(|found| found.into_iter().collect());
        (place, seq, dependencies, further())
            .prop_map(|((version, height, hash), seq, dependencies, further)| {
                let hash = BlockHash(hash);
                Checkpoint { version, height, hash, seq, dependencies, further }
            })
            .boxed()
    }

    fn golden() -> Golden<Self> {
        let full = Checkpoint {
            seq: 300,
            dependencies: vec![("chain".to_owned(), 1), ("scripts".to_owned(), 2)],
            // Tag 9, two bytes.
            further: vec![9, 2, 0xab, 0xcd],
            ..plain(7, 1)
        };
        vec![
            (
                "scripts".to_owned(),
                plain(1, 840_000),
                "7373637269707473",
                "ff 01 01 01 02 03 c0a233 03 20 d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1",
            ),
            (
                "flows".to_owned(),
                full,
                "73666c6f7773",
                "ff 01 01 07 02 01 01 03 20 d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1 \
                 04 02 ac02 05 10 05 636861696e 01 07 73637269707473 02 09 02 abcd",
            ),
        ]
    }

    fn earlier() -> Vec<(&'static str, Checkpoint)> {
        vec![
            ("01 fc40d10c00 d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1", plain(1, 840_000)),
            ("fb2c01 00 d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1", plain(300, 0)),
            (
                "fcffffffff fcffffffff d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1",
                plain(u32::MAX, u32::MAX),
            ),
        ]
    }
}

impl Tested for Facts {
    fn keys() -> BoxedStrategy<String> {
        text().boxed()
    }

    fn values() -> BoxedStrategy<Fact> {
        prop_oneof![text(), "[a-z/]{240,400}"].prop_map(Fact).boxed()
    }

    fn golden() -> Golden<Self> {
        vec![("network".to_owned(), Fact("mainnet".to_owned()), "666e6574776f726b", "076d61696e6e6574")]
    }

    // A text of 64 KiB at most: bincode makes room for what the row claims.
    const FREE_BYTES: u64 = 66 << 10;
}

impl Tested for Format {
    fn keys() -> BoxedStrategy<()> {
        Just(()).boxed()
    }

    fn values() -> BoxedStrategy<FormatVersion> {
        prop_oneof![1..9u32, 1..=u32::MAX].prop_map(FormatVersion).boxed()
    }

    fn golden() -> Golden<Self> {
        // Whatever the format becomes, this row stays as it is.
        vec![((), FormatVersion(1), "76", "00000001"), ((), FormatVersion(0x0102_0304), "76", "01020304")]
    }
}

fn decoded(hex: &str) -> Result<Checkpoint, cairn_tables::DecodeError> {
    Checkpoints::decode_value(&hex::decode(hex.replace(' ', "")).unwrap())
}

#[test]
fn the_format_is_the_first() {
    assert_eq!((FORMAT, FormatVersion::FIRST), (FormatVersion(1), FormatVersion(1)));
    assert!(Format::decode_value(&[0; 4]).is_err());
}

#[test]
fn checkpoints_that_are_no_rows() {
    let good = format!("ff 01 01 07 02 01 09 03 20 {HASH}");
    assert_eq!(decoded(&good).unwrap(), plain(7, 9));
    for (what, hex) in [
        ("nothing", String::new()),
        ("no field", "ff".to_owned()),
        ("no version", format!("ff 02 01 09 03 20 {HASH}")),
        ("no height", format!("ff 01 01 07 03 20 {HASH}")),
        ("no hash", "ff 01 01 07 02 01 09".to_owned()),
        ("a short hash", format!("ff 01 01 07 02 01 09 03 1f {}", &HASH[2..])),
        ("a long hash", format!("ff 01 01 07 02 01 09 03 21 {HASH} d1")),
        ("a field twice", format!("ff 01 01 07 01 01 07 02 01 09 03 20 {HASH}")),
        ("fields out of order", format!("ff 02 01 09 01 01 07 03 20 {HASH}")),
        ("tag 0", format!("ff 00 00 01 01 07 02 01 09 03 20 {HASH}")),
        ("more in a field than a number", format!("ff 01 02 07 00 02 01 09 03 20 {HASH}")),
        ("an empty number", format!("ff 01 00 02 01 09 03 20 {HASH}")),
        ("a version above 32 bits", format!("ff 01 05 ffffffff1f 02 01 09 03 20 {HASH}")),
        ("sequence number 0", format!("{good} 04 01 00")),
        ("no dependencies, but says so", format!("{good} 05 00")),
        ("dependencies out of order", format!("{good} 05 06 01 62 01 01 61 01")),
        ("a dependency twice", format!("{good} 05 06 01 61 01 01 61 02")),
        ("a dependency without its version", format!("{good} 05 02 01 61")),
        ("a name that is no text", format!("{good} 05 03 01 ff 01")),
        ("an unknown field beyond the row", format!("{good} 06 02 00")),
        ("an unknown field without its length", format!("{good} 06")),
        ("an earlier row, too long", format!("01 09 {HASH} 00")),
        ("an earlier row, cut", format!("01 09 {}", &HASH[2..])),
        ("an earlier row with a longer number than needed", format!("fb0100 09 {HASH}")),
        ("neither form", format!("fd 01 09 {HASH}")),
    ] {
        assert!(decoded(&hex).is_err(), "{what}");
    }
}

#[test]
fn every_cut_of_a_row_with_unknown_fields_is_an_error_or_ends_between_fields() {
    let full = encode_value::<Checkpoints>(&Checkpoint { seq: 5, further: vec![6, 0, 7, 1, 0xaa], ..plain(1, 2) });
    let whole: Vec<usize> = (0..full.len()).filter(|n| Checkpoints::decode_value(&full[..*n]).is_ok()).collect();
    // Behind the hash, the sequence number, and tag 6.
    assert_eq!(whole, [full.len() - 8, full.len() - 5, full.len() - 3]);
}

#[test]
fn a_checkpoint_holds_the_versions_of_what_its_stage_depends_on() {
    const ONE: StageInfo = StageInfo { name: "one", version: 3, depends_on: &[], tables: &[] };
    const ALSO: StageInfo = StageInfo { name: "also", version: 4, ..ONE };
    const BOTH: StageInfo = StageInfo { name: "both", version: 1, depends_on: &[&ONE, &ALSO], ..ONE };
    const NEWER: StageInfo = StageInfo { depends_on: &[&StageInfo { version: 5, ..ALSO }, &ONE], ..BOTH };
    let checkpoint = Checkpoint::of(&BOTH, 9, BlockHash([1; 32]));
    assert_eq!(checkpoint.dependencies, [("also".to_owned(), 4), ("one".to_owned(), 3)]);
    assert!(checkpoint.is_of(&BOTH));
    assert!(!checkpoint.is_of(&NEWER), "another version of what it depends on");
    assert!(!checkpoint.is_of(&StageInfo { version: 2, ..BOTH }));
    assert!(!checkpoint.is_of(&StageInfo { depends_on: &[], ..BOTH }));
    // An earlier row is one of a stage that depends on nothing, as all did.
    for stage in STAGES.iter().filter(|stage| stage.depends_on.is_empty()) {
        assert!(plain(stage.version, 9).is_of(stage));
    }
}
