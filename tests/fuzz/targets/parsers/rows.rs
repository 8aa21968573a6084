//! Rows of every table of the registry: what decodes has one form only.

use cairn_tables::{Table, encode_key, encode_value};

use super::bounds::within_bounds;

/// A key or value, of whatever table.
pub fn run(bytes: &[u8]) {
    decode_all(bytes, &mut Vec::new());
}

/// Decodes as key and as value of a table. Gives what decoded, written again.
fn decode<T: Table>(bytes: &[u8], rows: &mut Vec<Vec<u8>>) {
    if let Ok(key) = within_bounds(bytes, T::decode_key) {
        assert_eq!(encode_key::<T>(&key), bytes, "{}: a key has a second form", T::NAME);
    }
    if let Ok(value) = within_bounds(bytes, T::decode_value) {
        let again = encode_value::<T>(&value);
        // A value that is written again is grown as well.
        let is_earlier = T::is_earlier_form(bytes) && !T::is_earlier_form(&again);
        assert!(is_earlier || again == bytes, "{}: a value has a second form", T::NAME);
        rows.push(again);
    }
}

macro_rules! decode_all {
    ($($file:ident: $($table:ident),+;)*) => {
        /// Decodes as row of every table. Adds what decoded, written again.
        pub fn decode_all(bytes: &[u8], rows: &mut Vec<Vec<u8>>) {
            $($(decode::<cairn_tables::$file::$table>(bytes, rows);)+)*
        }
    };
}

cairn_tables::for_each_table!(decode_all);
