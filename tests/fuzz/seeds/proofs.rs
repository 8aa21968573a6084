//! Proofs of timestamps by hand.

const START: &[u8] = b"\x00OpenTimestamps\x00\x00Proof\x00\xbf\x89\xe2\xe8\x84\xe8\x92\x94\x01";
const BITCOIN: &[u8] = b"\x00\x05\x88\x96\x0d\x73\xd7\x19\x01\x03\x97\x92\x17";
const LITECOIN: &[u8] = b"\x00\x06\x86\x9a\x0d\x73\xd7\x1b\x45\x01\x07";
const ETHEREUM: &[u8] = b"\x00\x30\xfe\x80\x87\xb5\xc7\xea\xd7\x03\xff\xff\x7f";
const PENDING: &[u8] = b"\x00\x83\xdf\xe3\x0d\x2e\xf9\x0c\x8e\x15\x14https://a.example/c1";
const UNKNOWN: &[u8] = b"\x00unknown!\x03\x00\xff\x01";
const NONCE: &[u8] = b"\xf0\x100123456789abcdef\x08";

fn file(function: u8, length: usize, parts: &[&[u8]]) -> Vec<u8> {
    [START, &[function], &vec![0xa7; length], &parts.concat()].concat()
}

pub(super) fn timestamps() -> Vec<Vec<u8>> {
    let sha256 = |parts: &[&[u8]]| file(8, 32, parts);
    let fork = b"\xff".as_slice();
    let good = sha256(&[fork, NONCE, PENDING, fork, b"\xf1\x01b\x08\x08", BITCOIN, b"\x03\xf2", LITECOIN]);
    let leaf = [b"\xff\xf0\x02zz\x08", BITCOIN].concat();
    let mut all = vec![
        good.clone(),
        sha256(&[BITCOIN]),
        sha256(&[NONCE, PENDING]),
        sha256(&[fork, BITCOIN, fork, LITECOIN, fork, ETHEREUM, fork, UNKNOWN, PENDING]),
        sha256(&[b"\x02\x03\x08\x67\xf2\xf3", UNKNOWN]),
        sha256(&[&leaf.repeat(30), b"\x08", BITCOIN]),
        sha256(&[&[8; 256], BITCOIN]),
        sha256(&[&[8; 257], BITCOIN]),
        sha256(&[&b"\xff\x08".repeat(300), BITCOIN]),
        sha256(&[&[0xf3; 8], BITCOIN]),
        sha256(&[b"\xf0\xe0\x1f", &[1; 4_064], b"\xff\x67", PENDING, b"\xf2", BITCOIN]),
        sha256(&[b"\xf0\x00", BITCOIN]),
        sha256(&[b"\xf0\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", BITCOIN]),
        sha256(&[BITCOIN, b"\x00"]),
        file(2, 20, &[b"\x08", BITCOIN]),
        file(3, 20, &[b"\x08", BITCOIN]),
        file(0x67, 32, &[ETHEREUM]),
        file(9, 32, &[BITCOIN]),
        good[..50].to_vec(),
        good[..good.len() - 1].to_vec(),
        START[..20].to_vec(),
        Vec::new(),
    ];
    let mut version = good;
    version[31] = 2;
    all.push(version);
    all
}
