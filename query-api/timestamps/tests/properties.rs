//! Random proofs and random bytes.
#![allow(clippy::unwrap_used, missing_docs)]

use cairn_timestamps::{MAX_BYTES, Proof};
use proptest::prelude::*;

const MAGIC: &[u8] = b"\x00OpenTimestamps\x00\x00Proof\x00\xbf\x89\xe2\xe8\x84\xe8\x92\x94\x01";

/// The parts of a message: attestations and operations in any order, as bytes.
fn step() -> impl Strategy<Value = Vec<u8>> {
    let leaf = prop_oneof![
        (0u64..3_000_000).prop_map(|height| attestation(b"\x05\x88\x96\x0d\x73\xd7\x19\x01", &number(height))),
        any::<u64>().prop_map(|height| attestation(b"\x06\x86\x9a\x0d\x73\xd7\x1b\x45", &number(height))),
        any::<u64>().prop_map(|height| attestation(b"\x30\xfe\x80\x87\xb5\xc7\xea\xd7", &number(height))),
        "[a-zA-Z0-9._/:-]{0,40}"
            .prop_map(|uri| attestation(b"\x83\xdf\xe3\x0d\x2e\xf9\x0c\x8e", &counted(uri.as_bytes()))),
        (any::<[u8; 7]>(), prop::collection::vec(any::<u8>(), 0..40))
            .prop_map(|(tag, payload)| attestation(&[&[0xaa], &tag[..]].concat().try_into().unwrap(), &payload)),
    ];
    leaf.prop_recursive(12, 40, 4, |inner| {
        let operation = prop_oneof![
            prop::sample::select(vec![0x02u8, 0x03, 0x08, 0x67, 0xf2]).prop_map(|byte| vec![byte]),
            (prop::sample::select(vec![0xf0u8, 0xf1]), prop::collection::vec(any::<u8>(), 1..60))
                .prop_map(|(byte, argument)| [vec![byte], counted(&argument)].concat()),
            // Not twice in a row: eight in a row are too long.
            Just(vec![0xf3, 0x08]),
        ];
        let part = prop_oneof![
            inner.clone().prop_filter("no fork", |bytes| bytes.first() == Some(&0)),
            (operation, inner).prop_map(|(operation, next)| [operation, next].concat()),
        ];
        prop::collection::vec(part, 1..4).prop_map(|parts| {
            let (last, first) = parts.split_last().unwrap();
            let mut bytes: Vec<u8> = first.iter().flat_map(|part| [&[0xff], part.as_slice()].concat()).collect();
            bytes.extend(last);
            bytes
        })
    })
}

fn attestation(tag: &[u8; 8], payload: &[u8]) -> Vec<u8> {
    [&[0], &tag[..], &counted(payload)].concat()
}

fn counted(bytes: &[u8]) -> Vec<u8> {
    [number(bytes.len() as u64), bytes.to_vec()].concat()
}

fn number(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let byte = (number % 128) as u8;
        number /= 128;
        if number == 0 {
            bytes.push(byte);
            return bytes;
        }
        bytes.push(byte | 0x80);
    }
}

fn file(hash: &[u8; 32], step: &[u8]) -> Vec<u8> {
    [MAGIC, &[0x08], hash, step].concat()
}

fn attested(proof: &Proof) -> Vec<(cairn_timestamps::Attestation, Vec<u8>)> {
    let mut all = Vec::new();
    let done: Result<(), ()> = proof.attested(|attestation, message| {
        all.push((attestation.clone(), message.to_vec()));
        Ok(())
    });
    done.unwrap();
    all
}

proptest! {
    /// Proofs are written in one order, whatever order they were read in, and then read back byte by byte.
    #[test]
    fn proofs_are_written_back(hash: [u8; 32], step in step()) {
        let bytes = file(&hash, &step);
        prop_assume!(bytes.len() <= MAX_BYTES);
        let proof = match Proof::read(&bytes) {
            Ok(proof) => proof,
            // An argument of many: a message became too long.
            Err(error) => {
                prop_assert!(error.flaw == cairn_timestamps::Flaw::Message, "{error}");
                return Ok(());
            }
        };
        let written = proof.write();
        prop_assert!(written.len() <= bytes.len());
        let again = Proof::read(&written).unwrap();
        prop_assert_eq!(&again, &proof);
        prop_assert_eq!(again.write(), written);
        prop_assert_eq!(attested(&again), attested(&proof));
        prop_assert!(!attested(&proof).is_empty());
    }

    /// A byte more, a byte less or another byte: an error within the file, or another proof.
    #[test]
    fn damage_is_found_where_it_is(hash: [u8; 32], step in step(), at: prop::sample::Index, byte: u8) {
        let good = file(&hash, &step);
        prop_assume!(Proof::read(&good).is_ok());
        let at = at.index(good.len());
        let mut other = good.clone();
        other[at] = byte;
        let mut more = good.clone();
        more.push(byte);
        prop_assert_eq!(Proof::read(&more).map_err(|error| error.offset), Err(good.len()));
        prop_assert_eq!(Proof::read(&good[..at]).map_err(|error| error.offset), Err(at));
        if let Err(error) = Proof::read(&other) {
            prop_assert!(error.offset <= other.len() && error.to_string().len() < 200);
        }
    }

    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = Proof::read(&bytes);
        let _ = Proof::read(&[MAGIC, &bytes].concat());
        let _ = Proof::read(&file(&[7; 32], &bytes));
    }
}
