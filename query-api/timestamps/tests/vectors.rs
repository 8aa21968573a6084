//! Proofs made by hand, byte by byte: what they mean, that they are written back, and where malformed ones are wrong.
#![allow(clippy::unwrap_used, missing_docs)]

use bitcoin::{
    consensus::serialize,
    hashes::{Hash, hash160, ripemd160, sha1, sha256},
};
use cairn_timestamps::{
    Attestation, Flaw, HashFunction, MAX_BYTES, MAX_DEPTH, MAX_MESSAGE_BYTES, MAX_OPERATIONS, Proof, ProofError,
};

const MAGIC: &[u8] = b"\x00OpenTimestamps\x00\x00Proof\x00\xbf\x89\xe2\xe8\x84\xe8\x92\x94\x01";
const BITCOIN: &[u8] = b"\x00\x05\x88\x96\x0d\x73\xd7\x19\x01";
const LITECOIN: &[u8] = b"\x00\x06\x86\x9a\x0d\x73\xd7\x1b\x45";
const ETHEREUM: &[u8] = b"\x00\x30\xfe\x80\x87\xb5\xc7\xea\xd7";
const PENDING: &[u8] = b"\x00\x83\xdf\xe3\x0d\x2e\xf9\x0c\x8e";
const UNKNOWN: &[u8] = b"\x00unknown!";
/// A Bitcoin attestation of height 5.
const FIVE: &[u8] = b"\x00\x05\x88\x96\x0d\x73\xd7\x19\x01\x01\x05";

fn file(hash: &[u8], parts: &[&[u8]]) -> Vec<u8> {
    [MAGIC, b"\x08", hash, &parts.concat()].concat()
}

fn attested(proof: &Proof) -> Vec<(Attestation, Vec<u8>)> {
    let mut all = Vec::new();
    let done: Result<(), ()> = proof.attested(|attestation, message| {
        all.push((attestation.clone(), message.to_vec()));
        Ok(())
    });
    done.unwrap();
    all
}

fn fault(bytes: &[u8]) -> (usize, Flaw) {
    let ProofError { offset, flaw } = Proof::read(bytes).unwrap_err();
    (offset, flaw)
}

#[test]
fn the_genesis_transaction_existed_when_its_block_did() {
    let genesis = bitcoin::constants::genesis_block(bitcoin::Network::Bitcoin);
    let transaction = serialize(&genesis.txdata[0]);
    let hash = sha256::Hash::hash(&transaction).to_byte_array();
    let bytes = file(&hash, &[b"\x08", BITCOIN, b"\x01\x00"]);
    let proof = Proof::read(&bytes).unwrap();
    assert_eq!((proof.function(), proof.file_hash()), (HashFunction::Sha256, &hash[..]));
    let root = genesis.header.merkle_root.to_byte_array().to_vec();
    assert_eq!(attested(&proof), [(Attestation::Bitcoin { height: 0 }, root)]);
    assert_eq!(proof.write(), bytes);
}

#[test]
fn every_operation() {
    let hash = [7u8; 32];
    let bytes = file(
        &hash,
        &[
            b"\xf0\x02ab\xf1\x01c\xf2\xf3",
            b"\xff",
            FIVE,
            b"\xff\x02",
            FIVE,
            b"\xff\x03",
            FIVE,
            b"\xff\x08",
            FIVE,
            b"\x67",
            FIVE,
        ],
    );
    let proof = Proof::read(&bytes).unwrap();
    let mut message = [b"c".as_slice(), &hash, b"ab"].concat();
    message.reverse();
    let message: String = message.iter().map(|byte| format!("{byte:02x}")).collect();
    let message = message.into_bytes();
    let found = attested(&proof);
    assert!(found.iter().all(|(attestation, _)| *attestation == Attestation::Bitcoin { height: 5 }));
    let found: Vec<Vec<u8>> = found.into_iter().map(|(_, message)| message).collect();
    assert_eq!(
        found[..4],
        [
            message.clone(),
            sha1::Hash::hash(&message).to_byte_array().to_vec(),
            ripemd160::Hash::hash(&message).to_byte_array().to_vec(),
            sha256::Hash::hash(&message).to_byte_array().to_vec(),
        ]
    );
    // Keccak's own tests have known hashes.
    assert_eq!((found.len(), found[4].len()), (5, 32));
    assert_eq!(proof.write(), bytes);
}

#[test]
fn operations_follow_one_another() {
    let bytes = [MAGIC, b"\x03", &[1; 20], b"\x08\x03", FIVE].concat();
    let proof = Proof::read(&bytes).unwrap();
    assert_eq!(proof.function(), HashFunction::Ripemd160);
    assert_eq!(attested(&proof)[0].1, hash160::Hash::hash(&[1; 20]).to_byte_array());
}

#[test]
fn every_attestation() {
    let parts: Vec<Vec<u8>> = vec![
        [BITCOIN, b"\x03\xa0\x8d\x06"].concat(),
        [LITECOIN, b"\x01\x07"].concat(),
        [ETHEREUM, b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"].concat(),
        [UNKNOWN, b"\x03\x00\xff\x01"].concat(),
        // The payload has 18 bytes, the address in it 17.
        [PENDING, b"\x12\x11https://a.b/c-_.d"].concat(),
    ];
    let marked: Vec<u8> = parts[..4].iter().flat_map(|part| [b"\xff", part.as_slice()].concat()).collect();
    let bytes = file(&[7; 32], &[&marked, &parts[4]]);
    let proof = Proof::read(&bytes).unwrap();
    let found: Vec<Attestation> = attested(&proof).into_iter().map(|(attestation, _)| attestation).collect();
    assert_eq!(
        found,
        [
            Attestation::Bitcoin { height: 100_000 },
            Attestation::Litecoin { height: 7 },
            Attestation::Ethereum { height: u64::MAX },
            Attestation::Unknown { tag: *b"unknown!", payload: vec![0, 0xff, 1] },
            Attestation::Pending { uri: "https://a.b/c-_.d".to_owned() },
        ]
    );
    assert_eq!(proof.write(), bytes);
    assert_eq!(proof.root().attestations(), found);
    // In another order, and one of them twice, it is the same proof.
    let shuffled: Vec<u8> = parts.iter().rev().flat_map(|part| [b"\xff", part.as_slice()].concat()).collect();
    let again = Proof::read(&file(&[7; 32], &[&shuffled, &parts[1]])).unwrap();
    assert_eq!(again, proof);
}

#[test]
fn branches_are_written_in_order() {
    let one = [b"\xf0\x01a".as_slice(), FIVE].concat();
    let two = [b"\xf0\x01b".as_slice(), FIVE].concat();
    let three = [b"\x08".as_slice(), FIVE].concat();
    let sorted = file(&[7; 32], &[b"\xff", FIVE, b"\xff", &three, b"\xff", &one, &two]);
    let shuffled = file(&[7; 32], &[b"\xff", &two, b"\xff", &one, b"\xff", FIVE, &three]);
    let proof = Proof::read(&shuffled).unwrap();
    assert_eq!(proof.write(), sorted);
    assert_eq!(Proof::read(&sorted).unwrap(), proof);
    assert_eq!(proof.root().branches().len(), 3);
    assert_eq!(proof.root().branches()[0].operation().byte(), 0x08);
    assert_eq!(proof.root().branches()[0].next().attestations(), [Attestation::Bitcoin { height: 5 }]);
}

#[test]
fn longer_forms_of_numbers_are_read() {
    let bytes = file(&[7; 32], &[BITCOIN, b"\x83\x00\x85\x80\x00"]);
    assert_eq!(Proof::read(&bytes).unwrap().write(), file(&[7; 32], &[FIVE]));
}

#[test]
fn malformed_ones_say_where() {
    let start = MAGIC.len() + 33;
    let at = |parts: &[&[u8]]| {
        let (offset, flaw) = fault(&file(&[7; 32], parts));
        (offset as isize - start as isize, flaw)
    };
    let long = [b"\xf0\xe0\x1f".as_slice(), &[1; 4_064]].concat();
    for (parts, offset, flaw) in [
        (&[b"\x09".as_slice()][..], 0, Flaw::Operation(9)),
        (&[b"\xff\xff".as_slice(), FIVE], 1, Flaw::Operation(0xff)),
        (&[b"\xf4".as_slice()], 0, Flaw::Operation(0xf4)),
        (&[b"\x08".as_slice()], 1, Flaw::End),
        (&[b"\xff".as_slice(), FIVE], 12, Flaw::End),
        (&[FIVE, b"\x00".as_slice()], 11, Flaw::Rest),
        (&[b"\xf0\x00".as_slice(), FIVE], 1, Flaw::Argument),
        (&[b"\xf1\x81\x20".as_slice(), FIVE], 1, Flaw::Argument),
        (&[b"\xf0\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01".as_slice()], 1, Flaw::Argument),
        (&[b"\xf0\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02".as_slice()], 1, Flaw::Number),
        (&[b"\xf0\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01".as_slice()], 1, Flaw::Number),
        (&[b"\xf0\x05abcd".as_slice()], 6, Flaw::End),
        (&[b"\xf0\x80".as_slice()], 2, Flaw::End),
        // 32 bytes and 4 064 are the longest message.
        (&[&long, b"\xf0\x01a".as_slice(), FIVE], long.len() as isize, Flaw::Message),
        (&[&long, b"\xf3".as_slice(), FIVE], long.len() as isize, Flaw::Message),
        (&[BITCOIN, b"\x02\x05\x06".as_slice()], 11, Flaw::PayloadRest),
        (&[BITCOIN, b"\x01\x80\x00".as_slice()], 11, Flaw::End),
        (&[BITCOIN, b"\x00".as_slice()], 10, Flaw::End),
        (&[BITCOIN, b"\x81\x40".as_slice()], 9, Flaw::Payload),
        (&[PENDING, b"\x05\x04a b!".as_slice()], 12, Flaw::Uri),
        (&[PENDING, b"\x06\x04abcde".as_slice()], 15, Flaw::PayloadRest),
        (&[PENDING, b"\x04\xe9\x07ab".as_slice()], 10, Flaw::Uri),
        (&[b"\x00\x05\x88".as_slice()], 3, Flaw::End),
    ] {
        assert_eq!(at(parts), (offset, flaw), "{parts:02x?}");
    }
    assert!(Proof::read(&file(&[7; 32], &[&long, FIVE])).is_ok());
}

#[test]
fn other_files_are_no_proofs() {
    let good = file(&[7; 32], &[FIVE]);
    assert_eq!(fault(b""), (0, Flaw::Magic));
    assert_eq!(fault(b"%PDF-1.7"), (0, Flaw::Magic));
    assert_eq!(fault(&[&good[..20], b"x", &good[21..]].concat()), (20, Flaw::Magic));
    assert_eq!(fault(&vec![0x25; MAX_BYTES + 1]), (0, Flaw::Magic));
    for end in 1..31 {
        assert_eq!(fault(&good[..end]), (end, Flaw::End));
    }
    assert_eq!(fault(&[&good[..31], b"\x02", &good[32..]].concat()), (31, Flaw::Version));
    assert_eq!(fault(&[&good[..32], b"\x00", &good[33..]].concat()), (32, Flaw::FileHash(0)));
    assert_eq!(fault(&[&good[..32], b"\xf2", &good[33..]].concat()), (32, Flaw::FileHash(0xf2)));
    assert_eq!(fault(&good[..60]), (60, Flaw::End));
    let error = Proof::read(&good[..60]).unwrap_err();
    assert_eq!(error.to_string(), "byte 60: the proof ends early; a part of the file may be missing");
}

#[test]
fn sizes_are_bounded() {
    let start = MAGIC.len() + 33;
    // A proof of exactly the limit, and one byte more.
    let branch = [b"\xff\x00filler!!\xc0\x3e".as_slice(), &[1; 8_000]].concat();
    let mut bytes = file(&[7; 32], &[&branch.repeat(8)]);
    let rest = MAX_BYTES - bytes.len() - 1 - 8 - 2;
    for more in 0..2 {
        let mut bytes = bytes.clone();
        bytes.extend(b"\x00filler!!");
        let length = rest + more;
        bytes.extend([length as u8 | 0x80, (length >> 7) as u8]);
        bytes.extend(vec![2; length]);
        match more {
            0 => assert_eq!(Proof::read(&bytes).unwrap().root().attestations().len(), 2),
            _ => assert_eq!(fault(&bytes), (MAX_BYTES, Flaw::Size)),
        }
    }
    bytes.clear();

    let deep = |depth: usize| file(&[7; 32], &[&vec![0x08; depth], FIVE]);
    assert_eq!(attested(&Proof::read(&deep(MAX_DEPTH)).unwrap()).len(), 1);
    assert_eq!(fault(&deep(MAX_DEPTH + 1)), (start + MAX_DEPTH, Flaw::Depth));
    assert_eq!(fault(&deep(50_000)), (start + MAX_DEPTH, Flaw::Depth));
    // A fork of forks is as deep.
    let forks: Vec<u8> = b"\xff\x08".repeat(30_000);
    assert_eq!(fault(&file(&[7; 32], &[&forks])), (start + 2 * MAX_DEPTH + 1, Flaw::Depth));

    let chain = [vec![0xff], vec![0x08; MAX_DEPTH], FIVE.to_vec()].concat();
    let (whole, rest) = (MAX_OPERATIONS / MAX_DEPTH, MAX_OPERATIONS % MAX_DEPTH);
    let many = |rest: usize| file(&[7; 32], &[&chain.repeat(whole), &vec![0x08; rest], FIVE]);
    let proof = Proof::read(&many(rest)).unwrap();
    assert_eq!(attested(&proof).len(), whole + 1);
    assert_eq!(fault(&many(rest + 1)), (start + whole * chain.len() + rest, Flaw::Operations));
}

#[test]
fn work_is_bounded() {
    // A message of 4 096 bytes, hashed again and again.
    let long = [b"\xf0\xe0\x1f".as_slice(), &[1; 4_064]].concat();
    let hashed = [b"\xff\x67".as_slice(), FIVE].concat();
    let of = |branches: usize| file(&[7; 32], &[&long, &hashed.repeat(branches), FIVE]);
    let (offset, flaw) = fault(&of(4_000));
    assert_eq!(flaw, Flaw::Work);
    let each = MAX_MESSAGE_BYTES + 32;
    let branches = (cairn_timestamps::MAX_WORK_BYTES - each) / each;
    assert_eq!(offset, MAGIC.len() + 33 + long.len() + branches * hashed.len() + 1);
    assert_eq!(attested(&Proof::read(&of(branches)).unwrap()).len(), branches + 1);
}
