//! LEB128 numbers: seven bits per byte, the lowest first. Every number has one form, the shortest, so that equal values
//! have equal bytes.

/// A number that cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadLeb128(pub &'static str);

macro_rules! leb128 {
    ($take:ident, $put:ident, $number:ty) => {
        /// Takes a number off the front of `bytes`.
        #[inline]
        pub fn $take(bytes: &mut &[u8]) -> Result<$number, BadLeb128> {
            let mut value: $number = 0;
            for shift in (0..<$number>::BITS).step_by(7) {
                let (&byte, rest) = bytes.split_first().ok_or(BadLeb128("too short"))?;
                *bytes = rest;
                let bits = <$number>::from(byte & 0x7f);
                if bits > <$number>::MAX >> shift {
                    break;
                }
                value |= bits << shift;
                if byte < 0x80 {
                    let is_shortest = byte > 0 || shift == 0;
                    return if is_shortest { Ok(value) } else { Err(BadLeb128("number longer than needed")) };
                }
            }
            Err(BadLeb128("number too large"))
        }

        /// Appends a number.
        #[inline]
        pub fn $put(out: &mut Vec<u8>, mut value: $number) {
            while value >= 0x80 {
                out.push(value as u8 | 0x80);
                value >>= 7;
            }
            out.push(value as u8);
        }
    };
}

leb128!(take_u64, put_u64, u64);
leb128!(take_u128, put_u128, u128);
