//! Undo encodings against the vectors of Bitcoin Core's own tests and comments.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use bitcoin::ScriptBuf;
use bitcoin::secp256k1::{PublicKey, Secp256k1, SecretKey};
use cairn_chaingen::corefiles::{
    compress_amount, write_coin, write_compact_size, write_script, write_undo, write_varint,
};

fn varint(n: u64) -> Vec<u8> {
    let mut out = Vec::new();
    write_varint(&mut out, n);
    out
}

fn script(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    write_script(&mut out, &ScriptBuf::from_bytes(bytes.to_vec()));
    out
}

#[test]
fn varint_matches_core() {
    let vectors: [(u64, &[u8]); 12] = [
        (0, &[0x00]),
        (1, &[0x01]),
        (127, &[0x7f]),
        (128, &[0x80, 0x00]),
        (255, &[0x80, 0x7f]),
        (256, &[0x81, 0x00]),
        (16_383, &[0xfe, 0x7f]),
        (16_384, &[0xff, 0x00]),
        (16_511, &[0xff, 0x7f]),
        (65_535, &[0x82, 0xfe, 0x7f]),
        (1 << 32, &[0x8e, 0xfe, 0xfe, 0xff, 0x00]),
        (u64::MAX, &[0x80, 0xfe, 0xfe, 0xfe, 0xfe, 0xfe, 0xfe, 0xfe, 0xfe, 0x7f]),
    ];
    for (n, bytes) in vectors {
        assert_eq!(varint(n), bytes, "{n}");
    }
}

#[test]
fn compact_size_changes_width_at_its_bounds() {
    for (n, width) in [(0, 1), (252, 1), (253, 3), (65_535, 3), (65_536, 5), (u64::from(u32::MAX), 5), (1 << 32, 9)] {
        let mut out = Vec::new();
        write_compact_size(&mut out, n);
        assert_eq!(out, bitcoin::consensus::serialize(&bitcoin::VarInt(n)));
        assert_eq!(out.len(), width);
    }
}

#[test]
fn amounts_match_core() {
    let coin = 100_000_000;
    for (sats, compressed) in
        [(0, 0), (1, 1), (1_000_000, 7), (coin, 9), (50 * coin, 0x32), (21_000_000 * coin, 0x0140_6f40)]
    {
        assert_eq!(compress_amount(sats), compressed);
    }
    // The inverse, as Core defines it.
    let decompress = |x: u64| {
        if x == 0 {
            return 0;
        }
        let (x, exponent) = ((x - 1) / 10, (x - 1) % 10);
        let n = if exponent < 9 { x / 9 * 10 + x % 9 + 1 } else { x + 1 };
        n * 10u64.pow(exponent as u32)
    };
    for step in 0..200_000 {
        let sats = step * 10_499_999;
        assert_eq!(decompress(compress_amount(sats)), sats);
        assert_eq!(decompress(compress_amount(step)), step);
    }
}

#[test]
fn scripts_take_their_types() {
    let secret = SecretKey::from_slice(&[7; 32]).unwrap();
    let key = PublicKey::from_secret_key(&Secp256k1::new(), &secret);
    let (short, long) = (key.serialize(), key.serialize_uncompressed());
    let hash = [9; 20];

    assert_eq!(script(&[&[0x76, 0xa9, 20], &hash[..], &[0x88, 0xac]].concat()), [&[0], &hash[..]].concat());
    assert_eq!(script(&[&[0xa9, 20], &hash[..], &[0x87]].concat()), [&[1], &hash[..]].concat());
    assert_eq!(script(&[&[33], &short[..], &[0xac]].concat()), short);
    let packed = script(&[&[65], &long[..], &[0xac]].concat());
    assert_eq!(packed, [&[short[0] + 2], &long[1..33]].concat());

    // A hybrid key and a point off the curve stay raw: size + 6, then the bytes.
    let mut hybrid = long;
    hybrid[0] = 6 + (long[64] & 1);
    let mut off = long;
    off[64] ^= 1;
    for key in [hybrid, off] {
        let raw = [&[65], &key[..], &[0xac]].concat();
        assert_eq!(script(&raw), [&[67 + 6], &raw[..]].concat());
    }
    assert_eq!(script(&[]), [6]);
    assert_eq!(script(&[0x51; 200]), [&[0x80, 78][..], &[0x51; 200]].concat());
}

#[test]
fn coins_and_blocks() {
    let anyone = ScriptBuf::from_bytes(vec![0x51]);
    let mut coin = Vec::new();
    write_coin(&mut coin, 5_000_000_000, &anyone, 100, true);
    // 2 * 100 + 1 as VARINT, the zero byte, the amount, size + 6, the script.
    assert_eq!(coin, [0x80, 0x49, 0x00, 0x32, 0x07, 0x51]);
    let mut unknown = Vec::new();
    write_coin(&mut unknown, 5_000_000_000, &anyone, 0, false);
    assert_eq!(unknown, [0x00, 0x32, 0x07, 0x51]);
    let mut empty = Vec::new();
    write_undo(&mut empty, &[]);
    assert_eq!(empty, [0]);
}
