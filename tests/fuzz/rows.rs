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
        let again = encode_value::<T>(&value);
        // What is written anew is grown as well.
        let is_earlier = T::is_earlier_form(bytes) && !T::is_earlier_form(&again);
        assert!(is_earlier || again == bytes, "{}: a value has a second form", T::NAME);
        rows.push(again);
    }
}

macro_rules! decode_all {
    ($($file:ident: $($table:ident),+;)*) => {
        fn decode_all(bytes: &[u8], rows: &mut Vec<Vec<u8>>) {
            $($(decode::<cairn_tables::$file::$table>(bytes, rows);)+)*
        }
    };
}

cairn_tables::for_each_table!(decode_all);

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
