//! LEB128 numbers: seven bits per byte, the lowest first. Every number has one form, the shortest, so that equal values
//! have equal bytes.

/// A number that cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadLeb128(pub &'static str);

macro_rules! leb128 {
    ($take:ident, $put:ident, $number:ty) => {
        /// Takes a number off the front of `bytes`.
        // Called, it would pass its result through memory.
        #[inline(always)]
        pub fn $take(bytes: &mut &[u8]) -> Result<$number, BadLeb128> {
            const LAST: u32 = <$number>::BITS / 7 * 7;
            let mut value: $number = 0;
            let mut shift = 0;
            loop {
                let (&byte, rest) = bytes.split_first().ok_or(BadLeb128("too short"))?;
                *bytes = rest;
                value |= <$number>::from(byte & 0x7f) << shift;
                if byte < 0x80 {
                    let fits = shift < LAST || <$number>::from(byte) <= <$number>::MAX >> LAST;
                    return match (fits, byte > 0 || shift == 0) {
                        (true, true) => Ok(value),
                        (true, false) => Err(BadLeb128("number longer than needed")),
                        (false, _) => Err(BadLeb128("number too large")),
                    };
                }
                if shift == LAST {
                    return Err(BadLeb128("number too large"));
                }
                shift += 7;
            }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Result<(u64, u128), &'static str> {
        let (mut short, mut long) = (bytes, bytes);
        let both = (take_u64(&mut short), take_u128(&mut long));
        assert!(both.0.is_err() || short == long);
        Ok((both.0.map_err(|error| error.0)?, both.1.map_err(|error| error.0)?))
    }

    #[test]
    fn numbers_at_each_length_are_read_back() {
        for bits in 0..128 {
            for number in [1 << bits, (1 << bits) - 1, u128::MAX >> bits] {
                let mut bytes = Vec::new();
                put_u128(&mut bytes, number);
                assert_eq!(take_u128(&mut bytes.as_slice()), Ok(number));
                let narrow = u64::try_from(number).map_err(|_| BadLeb128("number too large"));
                assert_eq!(take_u64(&mut bytes.as_slice()), narrow);
            }
        }
    }

    #[test]
    fn each_number_has_one_form() {
        assert_eq!(read(&[]), Err("too short"));
        assert_eq!(read(&[0x80; 9]), Err("too short"));
        assert_eq!(read(&[0x80; 10]), Err("number too large"));
        assert_eq!(read(&[0x80, 0]), Err("number longer than needed"));
        assert_eq!(read(&[0]), Ok((0, 0)));
        let highest = [[0xff; 9].as_slice(), &[1]].concat();
        assert_eq!(read(&highest), Ok((u64::MAX, u64::MAX.into())));
        let above = [[0xff; 9].as_slice(), &[2]].concat();
        assert_eq!(read(&above), Err("number too large"));
        assert_eq!(
            take_u128(&mut [[0x80; 18].as_slice(), &[4]].concat().as_slice()),
            Err(BadLeb128("number too large"))
        );
    }
}
