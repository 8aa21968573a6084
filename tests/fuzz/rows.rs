//! Rows of every table: `schema/tables/tests` mutates each table's own rows; here bytes of one table are read as
//! another's.

use rand::Rng;
use rand_chacha::ChaCha8Rng;

use crate::{
    mutate::{mutate, noise},
    run,
    targets::parsers::rows::decode_all,
};

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
