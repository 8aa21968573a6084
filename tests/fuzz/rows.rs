//! Rows of every table: `schema/tables/tests` mutates each table's own rows; here bytes of one table are read as another's.

use cairn_tables::{Table, encode_key, encode_value};
use rand::Rng;
use rand_chacha::ChaCha8Rng;

use crate::{
    mutate::{mutate, noise},
    run, within_bounds,
};

/// Decodes as key and as value of a table. Gives what decoded, written again.
fn decode<T: Table>(bytes: &[u8], rows: &mut Vec<Vec<u8>>) {
    if let Ok(key) = within_bounds(bytes, T::decode_key) {
        assert_eq!(encode_key::<T>(&key), bytes, "{}: a key has a second form", T::NAME);
    }
    if let Ok(value) = within_bounds(bytes, T::decode_value) {
        assert_eq!(encode_value::<T>(&value), bytes, "{}: a value has a second form", T::NAME);
        rows.push(bytes.to_vec());
    }
}

fn decode_all(bytes: &[u8], rows: &mut Vec<Vec<u8>>) {
    use cairn_tables::*;
    decode::<headers::Headers>(bytes, rows);
    decode::<block_log::BlockLog>(bytes, rows);
    decode::<prevouts::Prevouts>(bytes, rows);
    decode::<lookups::TxNums>(bytes, rows);
    decode::<spenders::Spenders>(bytes, rows);
    decode::<coins::Coins>(bytes, rows);
    decode::<coins::CoinsByScript>(bytes, rows);
    decode::<history::History>(bytes, rows);
    decode::<history::HistoryIndex>(bytes, rows);
    decode::<totals::TotalsTable>(bytes, rows);
    decode::<lookups::HeightByHash>(bytes, rows);
    decode::<lookups::HeightByTime>(bytes, rows);
    decode::<journal::Collisions>(bytes, rows);
    decode::<journal::OverwrittenCoins>(bytes, rows);
    decode::<journal::Checkpoints>(bytes, rows);
    decode::<journal::Facts>(bytes, rows);
}

/// Grows rows: what decodes as some table's row is changed further, so that cases get deeper than noise does.
fn grow(rng: &mut ChaCha8Rng) {
    let mut rows = vec![noise(rng, 200)];
    for _ in 0..6 {
        let mut bytes = rows[rng.random_range(0..rows.len())].clone();
        mutate(rng, &mut bytes, &rows[0].clone());
        decode_all(&bytes, &mut rows);
    }
}

#[test]
fn any_bytes_as_rows() {
    run(grow);
}
