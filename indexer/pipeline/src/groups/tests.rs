//! Groups that are cut into parts.
#![allow(clippy::unwrap_used)]
use super::*;
use crate::records::{Sorted, put_record};

/// Rows that were put.
#[derive(Default)]
struct StoredRows(std::collections::BTreeMap<(Family, Vec<u8>), Vec<u8>>);

impl Rows for StoredRows {
    fn put(&mut self, family: Family, key: &[u8], value: &[u8]) -> Result<(), StageError> {
        assert_eq!(self.0.insert((family, key.to_vec()), value.to_vec()), None, "a row is written twice");
        Ok(())
    }

    fn delete(&mut self, _: Family, _: &[u8]) -> Result<(), StageError> {
        panic!("nothing is there to be deleted");
    }
}

/// A script of a million transactions gives its listeners the same result, whatever parts it is cut into.
#[test]
fn a_listener_hears_a_giant_group_as_one() {
    use cairn_model::{ScriptId, ScriptPrefix, TxNum, day_of};
    use cairn_stages::{ChainTimes, HearContext, NoPast};
    use cairn_tables::{
        KeyCodec, Table,
        codec::put_amount,
        history::History,
        script_days::{ACTIVE, BANDS, RECEIVERS, SENDERS, ScriptDays},
    };

    const TXS: u64 = 1_000_000;
    const OF_BLOCK: u64 = 1_000;
    let stages = cairn_stages::all();
    let stage = |name: &str| stages.iter().find(|stage| stage.name() == name).unwrap().as_ref();
    let (scripts, hearing) = (stage("scripts"), [stage("script_days"), stage("clusters")]);
    // Eight blocks a day.
    let blocks = (0..TXS / OF_BLOCK).map(|block| (1_600_000_000 + block as u32 * 10_800, TxNum(block * OF_BLOCK)));
    let (times, used) = (ChainTimes::of(blocks.clone()), blocks.map(|(time, _)| day_of(time)).collect::<Vec<_>>());
    let mut bytes = Vec::new();
    let mut balance = 0u64;
    for (prefix, tx) in [(1, 5), (3, 7)].into_iter().chain((0..TXS).map(|tx| (2, tx))) {
        let id = ScriptId { prefix: ScriptPrefix([prefix; 8]), ordinal: 0 };
        let mut key = Vec::new();
        (id, TxNum(tx)).encode(&mut key);
        // Received (kind 1, with a vout) in every transaction, sent (kind 2, with other scripts 3) in every third, by a
        // P2PKH script (1).
        let mut received = vec![0x11, 0];
        put_amount(&mut received, 30);
        put_record(&mut bytes, &key, &received);
        if tx % 3 == 0 {
            let mut sent = vec![if tx > TXS / 2 { 0x13 } else { 0x12 }];
            put_amount(&mut sent, 20);
            put_record(&mut bytes, &key, &sent);
        }
        balance += if prefix == 2 { 30 - if tx % 3 == 0 { 20 } else { 0 } } else { 0 };
    }
    let sorted = Sorted::new(&bytes).unwrap();
    let heard = |part: usize, folds: bool| {
        let context = HearContext { times: &times, past: &NoPast };
        let listening = |stage: &&dyn Stage| Listening(stage.listener(context).unwrap(), Vec::new());
        let ears: Vec<_> = hearing.iter().map(listening).collect();
        let mut folding = Folding::new(scripts, 0, part, StoredRows::default()).heard_by(ears, folds);
        folding.take(sorted.iter(), false).unwrap();
        let (rows, ears) = folding.finish().unwrap();
        let emitted = ears.into_iter().map(|Listening(mut listener, mut heard)| {
            listener.finish(&mut |lane, key, value| heard.push((lane, key.to_vec(), value.to_vec()))).unwrap();
            heard
        });
        (rows.0, emitted.collect::<Vec<_>>())
    };
    let whole = heard(usize::MAX, true);
    assert_eq!(whole.0.keys().filter(|(family, _)| *family == History::FAMILY).count() as u64, TXS / 128 + 1 + 2);
    for part in [1 << 16, 99_999, 1_000] {
        assert!(heard(part, true) == whole, "in parts of {part}");
    }
    assert!(heard(1 << 16, false) == (Default::default(), whole.1.clone()), "without the rows");

    // A script that spends with others has its node once, and moves ever since.
    let moves = whole.1[1].iter().filter(|(lane, ..)| *lane == 1).count() as u64;
    assert_eq!(whole.1[1].iter().filter(|(lane, ..)| *lane == 0).count(), 1);
    assert!((TXS / 2 - 3..TXS / 2).contains(&moves), "{moves}");

    // And it is right: the periods of 4,096 days have all of it.
    let mut all = cairn_tables::sums::Sums::default();
    for (_, key, value) in &whole.1[0] {
        if ScriptDays::decode_key(key).unwrap().days() == 4_096 {
            all.add_all(&ScriptDays::decode_value(value).unwrap()).unwrap();
        }
    }
    let mut distinct = used.clone();
    distinct.dedup();
    // The two others received once, and one of them did nothing else.
    let band = balance.ilog10();
    assert_eq!((all.get(band), all.get(BANDS + band)), (1, i128::from(balance)));
    assert_eq!((all.get(1), all.get(BANDS + 1)), (2, 60));
    assert_eq!(all.get(SENDERS), distinct.len() as i128);
    assert_eq!((all.get(RECEIVERS), all.get(ACTIVE)), (distinct.len() as i128 + 2, distinct.len() as i128 + 2));
}

/// A listener, and what it emitted.
struct Listening<'l>(Box<dyn cairn_stages::Listener + 'l>, Vec<(usize, Vec<u8>, Vec<u8>)>);

impl Ear for Listening<'_> {
    fn hear(&mut self, group: &Group<'_>) -> Result<(), StageError> {
        self.0.hear(group, &mut |lane, key, value| self.1.push((lane, key.to_vec(), value.to_vec())))
    }
}
