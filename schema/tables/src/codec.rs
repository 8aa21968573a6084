//! Encoding and decoding. Decoding never panics and never allocates more than the input can contain.

use std::str::FromStr;

pub use cairn_model::leb128::{put_u64 as put_varint, put_u128 as put_varint128};
use cairn_model::{MAX_MONEY, Sats, ScriptTemplate, TxNum, leb128};

/// Largest block in bytes (Bitcoin Core's `MAX_BLOCK_SERIALIZED_SIZE`): the upper bound of counts within a block.
pub const MAX_BLOCK_SIZE: u32 = 4_000_000;

/// Where a script's template begins in a byte of flags; it takes four bits.
pub const TEMPLATE_SHIFT: u32 = 3;

/// A row that cannot be decoded: the index is damaged or has another version. It never counts as "not found".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("table {table}: cannot decode a row: {what}")]
pub struct DecodeError {
    /// The table.
    pub table: &'static str,
    /// The reason.
    pub what: &'static str,
}

/// A key whose bytes sort like the key.
pub trait KeyCodec: Sized {
    /// Appends the key's bytes.
    fn encode(&self, out: &mut Vec<u8>);
    /// Reads the key back.
    fn decode(bytes: &mut Input<'_>) -> Result<Self, DecodeError>;
}

/// Implements [`KeyCodec`] for a type whose bytes are those of its fields, in this order.
macro_rules! key_of_fields {
    ($($key:ident { $($field:tt),+ })*) => {$(
        impl $crate::KeyCodec for $key {
            #[inline]
            fn encode(&self, out: &mut Vec<u8>) {
                $($crate::KeyCodec::encode(&self.$field, out);)+
            }

            #[inline]
            fn decode(bytes: &mut $crate::codec::Input<'_>) -> Result<Self, $crate::DecodeError> {
                Ok($key { $($field: $crate::KeyCodec::decode(bytes)?),+ })
            }
        }
    )*};
}

pub(crate) use key_of_fields;

/// The bytes of a table's value: how they are written and read.
pub trait ValueCodec: Sized {
    /// Appends the value's bytes.
    fn encode(&self, out: &mut Vec<u8>);
    /// Reads the value back.
    fn decode(bytes: &mut Input<'_>) -> Result<Self, DecodeError>;
}

/// A reader of a row's bytes.
#[derive(Debug, Clone)]
pub struct Input<'a> {
    table: &'static str,
    bytes: &'a [u8],
}

impl<'a> Input<'a> {
    /// Starts to read a row of `table`.
    #[must_use]
    #[inline]
    pub fn new(table: &'static str, bytes: &'a [u8]) -> Self {
        Input { table, bytes }
    }

    /// An error about this row.
    #[must_use]
    pub fn error(&self, what: &'static str) -> DecodeError {
        DecodeError { table: self.table, what }
    }

    /// Bytes left.
    #[must_use]
    pub fn left(&self) -> usize {
        self.bytes.len()
    }

    /// The next `n` bytes.
    #[inline]
    pub fn take(&mut self, n: usize) -> Result<&'a [u8], DecodeError> {
        let (head, tail) = self.bytes.split_at_checked(n).ok_or_else(|| self.error("too short"))?;
        self.bytes = tail;
        Ok(head)
    }

    /// The next `N` bytes as an array.
    #[inline]
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let (head, tail) = self.bytes.split_first_chunk::<N>().ok_or_else(|| self.error("too short"))?;
        self.bytes = tail;
        Ok(*head)
    }

    /// The next byte.
    #[inline]
    pub fn byte(&mut self) -> Result<u8, DecodeError> {
        Ok(self.array::<1>()?[0])
    }

    /// The template with this code.
    pub fn template(&self, code: u8) -> Result<ScriptTemplate, DecodeError> {
        ScriptTemplate::from_code(code).ok_or_else(|| self.error("script template"))
    }

    /// The flags of a coin: true if it is an output of a coinbase, and the template of its script.
    pub fn coin_flags(&mut self) -> Result<(bool, ScriptTemplate), DecodeError> {
        let bits = self.byte()?;
        if bits & 0b110 != 0 {
            return Err(self.error("coin flags"));
        }
        Ok((bits & 1 != 0, self.template(bits >> TEMPLATE_SHIFT)?))
    }

    /// A LEB128 number. Every number has only one form, the shortest.
    #[inline]
    pub fn varint(&mut self) -> Result<u64, DecodeError> {
        // Most counts and many distances are one byte.
        if let Some((&byte, rest)) = self.bytes.split_first()
            && byte < 0x80
        {
            self.bytes = rest;
            return Ok(byte.into());
        }
        match self.long_varint() {
            Some(number) => Ok(number),
            None => Err(self.bad_varint()),
        }
    }

    /// A number of any length. Not inlined, so that [`Input::varint`] is; and without an error, so that its result
    /// stays in registers.
    #[inline(never)]
    fn long_varint(&mut self) -> Option<u64> {
        let mut rest = self.bytes;
        let number = leb128::take_u64(&mut rest).ok()?;
        self.bytes = rest;
        Some(number)
    }

    /// Reads bytes again that are not a number, to say why.
    #[cold]
    fn bad_varint(&self) -> DecodeError {
        let mut rest = self.bytes;
        let error = leb128::take_u64(&mut rest).err();
        self.error(error.map_or("number", |error| error.0))
    }

    /// A LEB128 number of at most 128 bits.
    pub fn varint128(&mut self) -> Result<u128, DecodeError> {
        leb128::take_u128(&mut self.bytes).map_err(|error| self.error(error.0))
    }

    /// Skips a LEB128 number.
    #[inline]
    pub fn skip_varint(&mut self) -> Result<(), DecodeError> {
        // The last byte of a number is the first one without the high bit: in a word, all eight are looked at at once.
        if let Some(word) = self.bytes.first_chunk::<8>() {
            let ends = !u64::from_le_bytes(*word) & 0x8080_8080_8080_8080;
            if ends != 0 {
                self.bytes = &self.bytes[ends.trailing_zeros() as usize / 8 + 1..];
                return Ok(());
            }
        }
        let end = self.bytes.iter().position(|byte| byte & 0x80 == 0).ok_or_else(|| self.error("too short"))?;
        self.bytes = &self.bytes[end + 1..];
        Ok(())
    }

    /// A LEB128 number of at most 32 bits.
    #[inline]
    pub fn varint32(&mut self) -> Result<u32, DecodeError> {
        u32::try_from(self.varint()?).map_err(|_| self.error("number too large"))
    }

    /// A count of items that take at least one byte each of the rest.
    pub fn count(&mut self) -> Result<usize, DecodeError> {
        let n = self.varint()?;
        match usize::try_from(n) {
            Ok(n) if n <= self.left() => Ok(n),
            _ => Err(self.error("count exceeds the row")),
        }
    }

    /// An amount written by [`put_amount`]: a sum over coins, so any number of satoshis.
    #[inline]
    pub fn amount(&mut self) -> Result<Sats, DecodeError> {
        match self.varint()? {
            ESCAPE => self.escaped_amount(),
            packed => {
                let sats = decompress_amount(packed).filter(|sats| *sats <= MAX_PACKED);
                sats.ok_or_else(|| self.error("amount too large"))
            }
        }
    }

    #[cold]
    fn escaped_amount(&mut self) -> Result<Sats, DecodeError> {
        let sats = self.varint()?;
        if sats > MAX_PACKED { Ok(sats) } else { Err(self.error("amount escaped without need")) }
    }

    /// The value of one coin, written by [`put_amount`].
    ///
    /// # Errors
    /// Fails also if the value is more than [`MAX_MONEY`].
    pub fn coin_amount(&mut self) -> Result<Sats, DecodeError> {
        let sats = self.amount()?;
        if sats <= MAX_MONEY { Ok(sats) } else { Err(self.error("a coin above 21 million bitcoin")) }
    }

    /// A flag: 0 or 1.
    pub fn flag(&mut self) -> Result<bool, DecodeError> {
        self.flag_of("flag")
    }

    /// A flag with a name for its error.
    pub(crate) fn flag_of(&mut self, what: &'static str) -> Result<bool, DecodeError> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(self.error(what)),
        }
    }

    /// A LEB128 number that is not 0.
    pub(crate) fn some(&mut self, what: &'static str) -> Result<u64, DecodeError> {
        match self.varint()? {
            0 => Err(self.error(what)),
            number => Ok(number),
        }
    }

    /// Bytes written by [`put_bytes`].
    pub(crate) fn bytes(&mut self) -> Result<&'a [u8], DecodeError> {
        let length = self.count()?;
        self.take(length)
    }

    /// As [`Input::bytes`], at most `most`.
    pub(crate) fn short_bytes(&mut self, most: usize) -> Result<&'a [u8], DecodeError> {
        let length = usize::try_from(self.varint()?).ok().filter(|length| *length <= most);
        self.take(length.ok_or_else(|| self.error("text too long"))?)
    }

    /// A text written by [`put_bytes`], of at most `most` bytes.
    pub(crate) fn text(&mut self, most: usize) -> Result<&'a str, DecodeError> {
        str::from_utf8(self.short_bytes(most)?).map_err(|_| self.error("not UTF-8"))
    }

    /// Bytes that end with a zero, without it.
    pub(crate) fn ended(&mut self) -> Result<&'a [u8], DecodeError> {
        let end = self.bytes.iter().position(|byte| *byte == 0).ok_or_else(|| self.error("too short"))?;
        let text = self.take(end)?;
        self.take(1)?;
        Ok(text)
    }

    /// A short name from its bytes.
    pub(crate) fn parse<N: FromStr>(&self, name: &[u8], what: &'static str) -> Result<N, DecodeError> {
        str::from_utf8(name).ok().and_then(|text| text.parse().ok()).ok_or_else(|| self.error(what))
    }

    /// An ordinal, which is written only if it is not 0.
    pub fn ordinal(&mut self) -> Result<u8, DecodeError> {
        match self.byte()? {
            0 => Err(self.error("ordinal")),
            ordinal => Ok(ordinal),
        }
    }

    /// A transaction number in 5 bytes.
    #[inline]
    pub fn tx_num(&mut self) -> Result<TxNum, DecodeError> {
        Ok(TxNum::from_be5(self.array()?))
    }

    /// A transaction number as LEB128.
    pub(crate) fn short_tx_num(&mut self) -> Result<TxNum, DecodeError> {
        self.tx_num_after(0, "transaction number")
    }

    /// A transaction number as LEB128 distance from another one.
    pub(crate) fn tx_num_after(&mut self, last: u64, what: &'static str) -> Result<TxNum, DecodeError> {
        let number = last.checked_add(self.varint()?).filter(|number| *number < TxNum::LIMIT);
        number.map(TxNum).ok_or_else(|| self.error(what))
    }

    /// Ends the reading.
    #[inline]
    pub fn finish(&self) -> Result<(), DecodeError> {
        if self.bytes.is_empty() { Ok(()) } else { Err(self.error("too long")) }
    }
}

/// Appends the length of some bytes, and the bytes.
pub(crate) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Appends an amount. Round amounts take fewer bytes, as in Bitcoin Core's `CompressAmount`: trailing decimal zeros
/// become an exponent. Any number can be encoded. Numbers above [`MAX_PACKED`], which is far above the money supply,
/// take 19 bytes; only sums of a script that moved the same coins very often reach them.
pub fn put_amount(out: &mut Vec<u8>, sats: Sats) {
    if sats > MAX_PACKED {
        put_varint(out, ESCAPE);
        put_varint(out, sats);
    } else {
        put_varint(out, compress_amount(sats));
    }
}

/// 0 is 0. Otherwise sats = m × 10^e with the largest e ≤ 9. For e < 9 the last digit d of m is 1..=9 and the number
/// is 1 + 10 × (9 × (m / 10) + d − 1) + e; for e = 9 it is 1 + 10 × (m − 1) + 9. Nothing up to `MAX_PACKED` overflows.
fn compress_amount(sats: Sats) -> u64 {
    if sats == 0 {
        return 0;
    }
    let (mut m, mut e) = (sats, 0u64);
    while e < 9 && m.is_multiple_of(10) {
        m /= 10;
        e += 1;
    }
    if e < 9 { 1 + 10 * (9 * (m / 10) + m % 10 - 1) + e } else { 1 + 10 * (m - 1) + 9 }
}

/// Largest amount that is packed: 274 times the money supply.
const MAX_PACKED: Sats = 1 << 59;
/// Prefix of an amount that is not packed. Packed amounts are below 9 × 2^59 + 10.
const ESCAPE: u64 = 9 * MAX_PACKED + 1000;

/// Powers of ten that an amount can be a multiple of.
const POWERS: [u64; 10] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000];

fn decompress_amount(packed: u64) -> Option<Sats> {
    let Some(x) = packed.checked_sub(1) else { return Some(0) };
    let (e, x) = (x % 10, x / 10);
    let m = if e < 9 { (x / 9).checked_mul(10)?.checked_add(x % 9 + 1)? } else { x.checked_add(1)? };
    m.checked_mul(POWERS[e as usize])
}

/// Rarely read rows use bincode's standard configuration; golden bytes in the tests pin it.
macro_rules! bincode_value {
    ($($ty:ty),*) => {$(
        impl $crate::ValueCodec for $ty {
            fn encode(&self, out: &mut Vec<u8>) {
                // Encoding these plain types into a Vec cannot fail.
                if let Ok(bytes) = bincode::encode_to_vec(self, bincode::config::standard()) {
                    out.extend_from_slice(&bytes);
                }
            }

            fn decode(b: &mut $crate::codec::Input<'_>) -> Result<Self, $crate::DecodeError> {
                let all = b.take(b.left())?;
                let config = bincode::config::standard().with_limit::<65536>();
                let (value, used): (Self, usize) =
                    bincode::decode_from_slice(all, config).map_err(|_| b.error("not bincode"))?;
                if used != all.len() {
                    return Err(b.error("too long"));
                }
                // bincode reads numbers in longer forms than it writes; a row has one form.
                let mut again = Vec::with_capacity(all.len());
                $crate::ValueCodec::encode(&value, &mut again);
                if again == all { Ok(value) } else { Err(b.error("not as written")) }
            }
        }
    )*};
}

pub(crate) use bincode_value;

impl ValueCodec for () {
    fn encode(&self, _: &mut Vec<u8>) {}

    fn decode(_: &mut Input<'_>) -> Result<Self, DecodeError> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn amount_back(sats: u64) -> u64 {
        let mut out = Vec::new();
        put_amount(&mut out, sats);
        Input::new("t", &out).amount().unwrap()
    }

    #[test]
    fn round_amounts_are_short() {
        for (sats, bytes) in [(0, 1), (1, 1), (5_000_000_000, 1), (100_000_000, 1), (546, 2), (123_456_789, 5)] {
            let mut out = Vec::new();
            put_amount(&mut out, sats);
            assert_eq!(out.len(), bytes, "{sats}");
            assert_eq!(amount_back(sats), sats);
        }
    }

    #[test]
    fn amounts_at_the_edges() {
        for sats in [MAX_MONEY, MAX_MONEY + 1, MAX_PACKED - 1, MAX_PACKED, MAX_PACKED + 1, u64::MAX - 1, u64::MAX] {
            assert_eq!(amount_back(sats), sats);
            let mut out = Vec::new();
            put_amount(&mut out, sats);
            assert_eq!(Input::new("t", &out).coin_amount().is_ok(), sats <= MAX_MONEY, "{sats}");
        }
        // Escaped without need; packed beyond what is packed.
        let amount = |numbers: &[u64]| {
            let mut out = Vec::new();
            numbers.iter().for_each(|n| put_varint(&mut out, *n));
            Input::new("t", &out).amount()
        };
        assert!(amount(&[ESCAPE, MAX_PACKED]).is_err());
        assert!(amount(&[ESCAPE, MAX_PACKED + 1]).is_ok());
        assert!(amount(&[ESCAPE - 1]).is_err());
        assert!(amount(&[u64::MAX]).is_err());
    }

    #[test]
    fn numbers_have_one_form() {
        let read = |bytes: &[u8]| Input::new("t", bytes).varint();
        assert_eq!(read(&[0]), Ok(0));
        assert!(read(&[0x80, 0]).is_err());
        assert!(read(&[0xff, 0x80, 0]).is_err());
        assert_eq!(read(&[0x80, 1]), Ok(128));
        let most = [&[0xff; 9][..], &[1]].concat();
        assert_eq!(read(&most), Ok(u64::MAX));
        assert!(read(&[&[0xff; 9][..], &[2]].concat()).is_err());
        assert!(read(&[&[0xff; 10][..], &[0]].concat()).is_err());
    }

    proptest! {
        #[test]
        fn amounts_read_back(sats in prop_oneof![any::<u64>(), any::<u64>().prop_map(|v| v >> 4), 0..=2_100_000_000_000_000u64, (0..1000u64).prop_map(|v| v * 1_000_000_000)]) {
            prop_assert_eq!(amount_back(sats), sats);
        }

        #[test]
        fn varints_read_back(v: u64) {
            let mut out = Vec::new();
            put_varint(&mut out, v);
            let mut input = Input::new("t", &out);
            prop_assert_eq!(input.varint().unwrap(), v);
            prop_assert!(input.finish().is_ok());
        }

        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>) {
            let _ = Input::new("t", &bytes).varint();
            let _ = Input::new("t", &bytes).coin_amount();
            // A row that decodes has no second form.
            let mut input = Input::new("t", &bytes);
            if let Ok(sats) = input.amount() {
                let mut out = Vec::new();
                put_amount(&mut out, sats);
                prop_assert_eq!(&out[..], &bytes[..bytes.len() - input.left()]);
            }
            let _ = Input::new("t", &bytes).count();
        }
    }
}
