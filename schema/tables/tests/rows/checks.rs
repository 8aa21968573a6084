//! The tests themselves, for any table.

use cairn_tables::{encode_key, encode_value};
use proptest::{
    collection::vec,
    prelude::*,
    test_runner::{Config, TestRunner},
};

use crate::Tested;

/// Memory that decoding may take for each byte of a row. The densest are one-byte history entries of 24 bytes, in a
/// vector that is copied to one of twice the size when it is full.
const BYTES_PER_BYTE: u64 = 80;

fn run<S: Strategy>(cases: u32, strategy: S, test: impl Fn(S::Value) -> Result<(), TestCaseError>) {
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    TestRunner::new(config).run(&strategy, test).unwrap_or_else(|error| panic!("{error}"));
}

pub(crate) fn rows_read_back<T: Tested>() {
    run(512, (T::keys(), T::values()), |(key, value)| {
        let (key_bytes, value_bytes) = (encode_key::<T>(&key), encode_value::<T>(&value));
        prop_assert_eq!(key_bytes.first().copied().filter(|_| T::TAG.is_some()), T::TAG);
        // Spills and batches write the length of a key into one byte.
        prop_assert!(key_bytes.len() <= 255);
        prop_assert!(T::decode_key(&key_bytes).unwrap() == key);
        prop_assert!(!T::is_earlier_form(&value_bytes));
        prop_assert_eq!(T::decode_value(&value_bytes).unwrap(), value);
        Ok(())
    });
}

pub(crate) fn keys_sort_as_their_bytes<T: Tested>() {
    run(1024, (T::keys(), T::keys()), |(a, b)| {
        prop_assert_eq!(a.cmp(&b), encode_key::<T>(&a).cmp(&encode_key::<T>(&b)));
        Ok(())
    });
}

/// Decodes bytes as key and as value: nothing panics, and decoded rows have no second form.
fn decode_any<T: Tested>(bytes: &[u8]) -> Result<(), TestCaseError> {
    match T::decode_key(bytes) {
        Ok(key) => prop_assert_eq!(&encode_key::<T>(&key)[..], bytes),
        Err(error) => prop_assert_eq!(error.table, T::NAME),
    }
    match T::decode_value(bytes) {
        Ok(value) if T::is_earlier_form(bytes) => {
            // Written again, it has today's form and the same value.
            let anew = encode_value::<T>(&value);
            prop_assert!(!T::is_earlier_form(&anew));
            prop_assert_eq!(T::decode_value(&anew).unwrap(), value);
        }
        Ok(value) => prop_assert_eq!(&encode_value::<T>(&value)[..], bytes),
        Err(error) => prop_assert_eq!(error.table, T::NAME),
    }
    Ok(())
}

pub(crate) fn random_bytes_are_errors_or_rows<T: Tested>() {
    // Small bytes make small counts and amounts, which get further into a row.
    let byte = prop_oneof![any::<u8>(), 0..4u8, Just(0xff)];
    run(4096, vec(byte, 0..160), |bytes| {
        decode_any::<T>(&bytes)?;
        // The tag of a shared family is the first thing that is looked at.
        let tagged: Vec<u8> = T::TAG.into_iter().chain(bytes.iter().copied()).collect();
        decode_any::<T>(&tagged)
    });
    for n in 0..64 {
        for byte in [0, 1, 0x7f, 0x80, 0xff] {
            decode_any::<T>(&vec![byte; n]).unwrap();
        }
    }
}

/// A change to bytes: what, where, with which byte.
type Damage = Vec<(u8, prop::sample::Index, u8)>;

fn damage(bytes: &mut Vec<u8>, damage: &Damage) {
    for (what, at, byte) in damage {
        let at = at.index(bytes.len() + 1);
        match what % 4 {
            0 if at < bytes.len() => bytes[at] = *byte,
            1 => bytes.truncate(at),
            2 => bytes.insert(at, *byte),
            // The largest numbers lie where a varint is all ones.
            _ => {
                let end = bytes.len().min(at + 9);
                bytes[at..end].fill(0xff);
            }
        }
    }
}

pub(crate) fn damaged_rows_are_errors_or_rows<T: Tested>() {
    let damages = vec((any::<u8>(), any::<prop::sample::Index>(), any::<u8>()), 1..4);
    run(2048, (T::keys(), T::values(), damages), |(key, value, changes)| {
        for mut bytes in [encode_key::<T>(&key), encode_value::<T>(&value)] {
            damage(&mut bytes, &changes);
            decode_any::<T>(&bytes)?;
        }
        Ok(())
    });
    run(64, T::values(), |value| {
        let bytes = encode_value::<T>(&value);
        (0..bytes.len().min(2_000)).try_for_each(|n| decode_any::<T>(&bytes[..n]))
    });
}

fn takes_little<T: Tested>(bytes: &[u8]) -> Result<(), TestCaseError> {
    let taken = allocation_counter::measure(|| {
        let _ = T::decode_value(bytes);
        let _ = T::decode_key(bytes);
    });
    let limit = T::FREE_BYTES + BYTES_PER_BYTE * bytes.len() as u64;
    prop_assert!(taken.bytes_max <= limit, "{} bytes of memory for a row of {}", taken.bytes_max, bytes.len());
    Ok(())
}

pub(crate) fn short_rows_take_little_memory<T: Tested>() {
    let byte = prop_oneof![any::<u8>(), 0..4u8, Just(0xff)];
    run(2048, vec(byte, 0..64), |bytes| takes_little::<T>(&bytes));
    let damages = vec((any::<u8>(), any::<prop::sample::Index>(), any::<u8>()), 0..4);
    run(512, (T::values(), damages), |(value, changes)| {
        let mut bytes = encode_value::<T>(&value);
        damage(&mut bytes, &changes);
        takes_little::<T>(&bytes)
    });
    // Every number in a row claims as much as it can.
    run(256, (T::values(), any::<prop::sample::Index>()), |(value, at)| {
        for claim in [&[0xff, 0xff, 0x03][..], &[0xff, 0xff, 0xff, 0xff, 0x0f], &[0xff; 10]] {
            let mut bytes = encode_value::<T>(&value);
            let at = at.index(bytes.len() + 1);
            bytes.splice(at..bytes.len().min(at + 1), claim.iter().copied());
            takes_little::<T>(&bytes)?;
        }
        Ok(())
    });
}

pub(crate) fn bytes_do_not_change<T: Tested>() {
    let samples = T::golden();
    assert!(!samples.is_empty());
    for (key, value, key_hex, value_hex) in samples {
        let bytes = (hex::encode(encode_key::<T>(&key)), hex::encode(encode_value::<T>(&value)));
        let expected = (key_hex.replace(' ', ""), value_hex.replace(' ', ""));
        assert_eq!(bytes, expected, "{}: the format has changed: raise the stage's version", T::NAME);
        assert_eq!(T::decode_key(&hex::decode(&expected.0).unwrap()).unwrap(), key);
        assert_eq!(T::decode_value(&hex::decode(&expected.1).unwrap()).unwrap(), value);
    }
    for (value_hex, value) in T::earlier() {
        let bytes = hex::decode(value_hex.replace(' ', "")).unwrap();
        assert!(T::is_earlier_form(&bytes), "{}: {value_hex}", T::NAME);
        assert_eq!(T::decode_value(&bytes).unwrap(), value, "{}: {value_hex}", T::NAME);
        (0..bytes.len()).for_each(|n| assert!(T::decode_value(&bytes[..n]).is_err(), "{}: cut at {n}", T::NAME));
        decode_any::<T>(&bytes).unwrap();
    }
}
