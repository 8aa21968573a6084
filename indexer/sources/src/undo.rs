//! Undo data (`CBlockUndo` of Bitcoin Core): the coins that a block spent.

use std::ops::Range;

use bitcoin::{Amount, secp256k1::PublicKey};
use cairn_model::{Height, Sats};

use crate::{
    bytes::{Cursor, ReadError},
    decode::Decoded,
};

/// Scripts up to this length are stored unchanged; longer ones can never be spent and are read back as OP_RETURN.
const MAX_SCRIPT_SIZE: usize = 10_000;
const OP_RETURN: u8 = 0x6a;
/// Number of special forms of a compressed script; higher numbers are lengths of raw scripts.
const SPECIAL_SCRIPTS: u64 = 6;
/// Code, amount and script form: at least a byte each.
const MIN_COIN_SIZE: usize = 3;

/// Why bytes are not undo data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UndoError {
    /// A primitive value cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Bytes are left after the last coin.
    #[error("bytes are left after the last coin")]
    TrailingBytes,
    /// A transaction other than the coinbase spends nothing.
    #[error("a transaction spends no coin")]
    NoCoins,
    /// A coin's value exceeds 21 million bitcoin.
    #[error("an amount exceeds the money supply")]
    BadAmount,
    /// A height does not fit its type, or is above the block's own.
    #[error("a coin is younger than the block that spends it")]
    BadHeight,
    /// A compressed public key is not a point on the curve.
    #[error("a compressed public key is not a point on the curve")]
    BadPublicKey,
    /// The scripts of one block exceed 4 GiB.
    #[error("the scripts are larger than 4 GiB")]
    TooLarge,
    /// SHA256d(previous block hash ‖ undo data) differs from the stored checksum.
    #[error("the checksum does not match")]
    ChecksumMismatch,
    /// The number of transactions, or of a transaction's inputs, differs from the block's.
    #[error("the number of inputs differs from the block's")]
    ShapeMismatch,
}

/// A spent coin.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UndoCoin {
    /// Its value in satoshis.
    pub value: Sats,
    /// Its scriptPubKey, as a range of [`Undo::scripts`].
    pub script: Range<u32>,
    /// Height of the block that created it. 0 only in files of very old nodes, which did not store it for every coin;
    /// see [`Undo::heights_known`].
    pub birth: Height,
    /// True if a coinbase created it.
    pub coinbase: bool,
}

/// The coins that a block spent, in the order of its inputs.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Undo {
    /// Number of coins of each transaction except the coinbase.
    pub tx_inputs: Vec<u32>,
    /// All coins, parallel to [`Decoded::prevouts`].
    pub coins: Vec<UndoCoin>,
    /// Their scripts, concatenated.
    pub scripts: Vec<u8>,
}

impl Undo {
    /// scriptPubKey of a coin of this block; empty for a coin of another block.
    #[must_use]
    pub fn script(&self, coin: &UndoCoin) -> &[u8] {
        self.scripts.get(coin.script.start as usize..coin.script.end as usize).unwrap_or_default()
    }

    /// True if it has the same numbers of transactions and inputs as `block`.
    #[must_use]
    pub fn fits(&self, block: &Decoded) -> bool {
        self.tx_inputs.len() + 1 == block.txs.len()
            && self.tx_inputs.iter().zip(&block.txs[1..]).all(|(n, tx)| *n == tx.inputs.end - tx.inputs.start)
    }

    /// True if every coin's birth height is known. Nothing of block 0 can be spent, so a 0 means that the node which
    /// wrote the file did not store the height (or the coinbase flag).
    #[must_use]
    pub fn heights_known(&self) -> bool {
        self.coins.iter().all(|c| c.birth > 0)
    }
}

/// Decodes undo data, without the checksum that follows it in a file. Amounts and scripts are decompressed.
pub fn decode_undo(raw: &[u8]) -> Result<Undo, UndoError> {
    let mut r = Cursor::new(raw);
    let txs = r.count(1 + MIN_COIN_SIZE)?;
    let mut undo = Undo { tx_inputs: Vec::with_capacity(txs), ..Undo::default() };
    undo.coins.reserve(raw.len() / 32);
    undo.scripts.reserve(raw.len());
    for _ in 0..txs {
        let coins = r.count(MIN_COIN_SIZE)?;
        if coins == 0 {
            return Err(UndoError::NoCoins);
        }
        undo.tx_inputs.push(coins as u32);
        for _ in 0..coins {
            coin(&mut r, &mut undo)?;
        }
    }
    if r.remaining() > 0 { Err(UndoError::TrailingBytes) } else { Ok(undo) }
}

fn coin(r: &mut Cursor<'_>, undo: &mut Undo) -> Result<(), UndoError> {
    let code = u32::try_from(r.varint()?).map_err(|_| UndoError::BadHeight)?;
    let birth = code >> 1;
    if birth > 0 {
        // Formerly the transaction's version; still written as a zero.
        r.varint()?;
    }
    let value = decompress_amount(r.varint()?).filter(|v| *v <= Amount::MAX_MONEY.to_sat());
    let value = value.ok_or(UndoError::BadAmount)?;
    let from = u32::try_from(undo.scripts.len()).map_err(|_| UndoError::TooLarge)?;
    decompress_script(r, &mut undo.scripts)?;
    let to = u32::try_from(undo.scripts.len()).map_err(|_| UndoError::TooLarge)?;
    undo.coins.push(UndoCoin { value, script: from..to, birth, coinbase: code & 1 == 1 });
    Ok(())
}

/// The inverse of Bitcoin Core's `CompressAmount`; `None` if it overflows.
fn decompress_amount(code: u64) -> Option<u64> {
    let Some(mut x) = code.checked_sub(1) else { return Some(0) };
    let exponent = x % 10;
    x /= 10;
    let n = if exponent < 9 {
        let digit = x % 9 + 1;
        (x / 9).checked_mul(10)?.checked_add(digit)?
    } else {
        x + 1
    };
    n.checked_mul(10u64.pow(exponent as u32))
}

fn decompress_script(r: &mut Cursor<'_>, out: &mut Vec<u8>) -> Result<(), UndoError> {
    match r.varint()? {
        0 => {
            out.extend([0x76, 0xa9, 20]);
            out.extend_from_slice(r.take(20)?);
            out.extend([0x88, 0xac]);
        }
        1 => {
            out.extend([0xa9, 20]);
            out.extend_from_slice(r.take(20)?);
            out.push(0x87);
        }
        parity @ (2 | 3) => {
            out.extend([33, parity as u8]);
            out.extend_from_slice(r.take(32)?);
            out.push(0xac);
        }
        parity @ (4 | 5) => {
            let mut compressed = [parity as u8 - 2; 33];
            compressed[1..].copy_from_slice(r.take(32)?);
            let key = PublicKey::from_slice(&compressed).map_err(|_| UndoError::BadPublicKey)?;
            out.push(65);
            out.extend(key.serialize_uncompressed());
            out.push(0xac);
        }
        n => {
            let len = usize::try_from(n - SPECIAL_SCRIPTS).map_err(|_| ReadError::TooLarge)?;
            let script = r.take(len)?;
            if len > MAX_SCRIPT_SIZE {
                out.push(OP_RETURN);
            } else {
                out.extend_from_slice(script);
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_of_cores_own_test() {
        // compress_tests.cpp: amount → compressed.
        for (amount, code) in [
            (0u64, 0u64),
            (1, 1),
            (1_000_000, 7),
            (100_000_000, 9),
            (50 * 100_000_000, 50),
            (21_000_000 * 100_000_000, 21_000_000),
        ] {
            assert_eq!(decompress_amount(code), Some(amount), "{code:#x}");
        }
        assert_eq!(decompress_amount(u64::MAX), None);
    }

    #[test]
    fn scripts_of_every_form() {
        let script = |bytes: &[u8]| {
            let mut out = Vec::new();
            decompress_script(&mut Cursor::new(bytes), &mut out).map(|()| out)
        };
        let with = |form: u8, n: usize| [vec![form], vec![0x22; n]].concat();
        assert_eq!(script(&with(0, 20)).unwrap().len(), 25);
        assert_eq!(script(&with(1, 20)).unwrap().len(), 23);
        assert_eq!(script(&with(3, 32)).unwrap().len(), 35);
        assert_eq!(script(&[6]).unwrap(), []);
        assert_eq!(script(&[7, 0x51]).unwrap(), [0x51]);
        // x = 5 is on no point of secp256k1, the generator's x is.
        let mut off_curve = with(4, 32);
        off_curve[1..].fill(0);
        off_curve[32] = 5;
        assert_eq!(script(&off_curve), Err(UndoError::BadPublicKey));
        let g = bitcoin::secp256k1::constants::GENERATOR_X;
        let key = script(&[vec![4], g.to_vec()].concat()).unwrap();
        assert_eq!((key.len(), key[1], key[66]), (67, 4, 0xac));
        assert_eq!(key[34..66], bitcoin::secp256k1::constants::GENERATOR_Y);
        let odd = script(&[vec![5], g.to_vec()].concat()).unwrap();
        assert_eq!(odd[2..34], g);
        assert_ne!(odd[34..], key[34..]);
        // 10 000 bytes are kept, 10 001 become OP_RETURN. VARINT of 10 006 and 10 007:
        assert_eq!(script(&[vec![0xcd, 0x16], vec![0x51; 10_000]].concat()).unwrap().len(), 10_000);
        assert_eq!(script(&[vec![0xcd, 0x17], vec![0x51; 10_001]].concat()).unwrap(), [OP_RETURN]);
        assert_eq!(script(&[0xcd, 0x17, 1]), Err(UndoError::Read(ReadError::Truncated)));
    }

    #[test]
    fn hostile_counts_allocate_nothing() {
        assert!(decode_undo(&[0xfe, 0, 0, 0, 1]).is_err());
        assert!(decode_undo(&[1, 0xfe, 0, 0, 0, 1, 0, 0, 0]).is_err());
        assert_eq!(decode_undo(&[0]), Ok(Undo::default()));
        assert_eq!(decode_undo(&[0, 0]), Err(UndoError::TrailingBytes));
    }
}
