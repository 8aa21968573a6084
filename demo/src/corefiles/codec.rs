//! The encodings of undo data: Core's VARINT, amount compression and script compression.

use bitcoin::Script;
use bitcoin::secp256k1::PublicKey;

use crate::build::Coin;

/// Script "types" 0 to 5 are the compressed forms, so raw scripts give their size plus this.
const SPECIAL_SCRIPTS: u64 = 6;

/// Appends a CompactSize, the length prefix of the network format.
pub fn write_compact_size(out: &mut Vec<u8>, n: u64) {
    match n {
        0..0xfd => out.push(n as u8),
        0xfd..=0xffff => {
            out.push(0xfd);
            out.extend_from_slice(&(n as u16).to_le_bytes());
        }
        0x1_0000..=0xffff_ffff => {
            out.push(0xfe);
            out.extend_from_slice(&(n as u32).to_le_bytes());
        }
        _ => {
            out.push(0xff);
            out.extend_from_slice(&n.to_le_bytes());
        }
    }
}

/// Appends Core's VARINT: base 128, most significant group first, each continued group one less than its face value,
/// so that every number has exactly one form. It is not CompactSize.
pub fn write_varint(out: &mut Vec<u8>, mut n: u64) {
    let mut groups = [0u8; 10];
    let mut used = 0;
    loop {
        groups[used] = (n & 0x7f) as u8 | if used > 0 { 0x80 } else { 0 };
        used += 1;
        if n <= 0x7f {
            break;
        }
        n = (n >> 7) - 1;
    }
    out.extend(groups[..used].iter().rev());
}

/// Compresses an amount in satoshis: trailing decimal zeros become an exponent.
pub fn compress_amount(sats: u64) -> u64 {
    if sats == 0 {
        return 0;
    }
    let (mut n, mut exponent) = (sats, 0);
    while n % 10 == 0 && exponent < 9 {
        n /= 10;
        exponent += 1;
    }
    if exponent < 9 {
        let digit = n % 10;
        1 + (n / 10 * 9 + digit - 1) * 10 + exponent
    } else {
        1 + (n - 1) * 10 + 9
    }
}

/// Appends a script in compressed form: type 0 (P2PKH), 1 (P2SH), 2 and 3 (compressed P2PK), 4 and 5 (uncompressed
/// P2PK with a key on the curve), else its size plus six and the raw bytes.
pub fn write_script(out: &mut Vec<u8>, script: &Script) {
    match script.as_bytes() {
        [0x76, 0xa9, 20, hash @ .., 0x88, 0xac] if hash.len() == 20 => {
            out.push(0);
            out.extend_from_slice(hash);
        }
        [0xa9, 20, hash @ .., 0x87] if hash.len() == 20 => {
            out.push(1);
            out.extend_from_slice(hash);
        }
        [33, key @ .., 0xac] if key.len() == 33 && (key[0] == 2 || key[0] == 3) => out.extend_from_slice(key),
        [65, key @ .., 0xac] if key.len() == 65 && key[0] == 4 && PublicKey::from_slice(key).is_ok() => {
            out.push(4 | (key[64] & 1));
            out.extend_from_slice(&key[1..33]);
        }
        raw => {
            write_varint(out, raw.len() as u64 + SPECIAL_SCRIPTS);
            out.extend_from_slice(raw);
        }
    }
}

/// Appends one spent coin of undo data. `sats` is its value, `height` its birth height. Height 0, which only nodes
/// before version 0.15 wrote, stands for "unknown" and has no version byte.
pub fn write_coin(out: &mut Vec<u8>, sats: u64, script: &Script, height: u32, coinbase: bool) {
    write_varint(out, u64::from(height) * 2 + u64::from(coinbase));
    if height > 0 {
        // Once the transaction version; kept as a zero byte.
        out.push(0);
    }
    write_varint(out, compress_amount(sats));
    write_script(out, script);
}

/// Appends a block's undo data (CBlockUndo): the spent coins of every transaction but the coinbase.
pub fn write_undo(out: &mut Vec<u8>, spent: &[Vec<Coin>]) {
    write_compact_size(out, spent.len() as u64);
    for coins in spent {
        write_compact_size(out, coins.len() as u64);
        for coin in coins {
            write_coin(out, coin.txout.value.to_sat(), &coin.txout.script_pubkey, coin.height, coin.coinbase);
        }
    }
}
