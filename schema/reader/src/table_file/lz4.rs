//! Decompression of one LZ4 block: index blocks of compressed tables.

/// Largest block that is believed. Parts of an index have 4 KiB, lists of parts some megabytes.
const LARGEST: usize = 64 << 20;

/// Returns the `size` bytes that `input` was made from; `None` if it was made from fewer or more.
pub(super) fn decompress(mut input: &[u8], size: usize) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(Some(size).filter(|size| *size <= LARGEST)?);
    loop {
        let token = take(&mut input, 1)?[0];
        let literals = length(&mut input, token >> 4)?;
        out.extend_from_slice(take(&mut input, literals)?);
        if input.is_empty() {
            return Some(out).filter(|out| out.len() == size);
        }
        let distance = take(&mut input, 2)?;
        let distance = usize::from(u16::from_le_bytes([distance[0], distance[1]]));
        let matched = length(&mut input, token & 15)? + 4;
        let from = out.len().checked_sub(distance).filter(|_| distance > 0)?;
        if out.len() + matched > size {
            return None;
        }
        // The bytes may overlap with those that they make.
        (from..from + matched).for_each(|at| out.push(out[at]));
    }
}

/// A length of 15 or more goes on in further bytes, up to the first below 255.
fn length(input: &mut &[u8], first: u8) -> Option<usize> {
    let mut length = usize::from(first);
    if first == 15 {
        loop {
            let more = take(input, 1)?[0];
            length += usize::from(more);
            if more < 255 {
                break;
            }
        }
    }
    Some(length)
}

fn take<'i>(input: &mut &'i [u8], count: usize) -> Option<&'i [u8]> {
    let (taken, rest) = input.split_at_checked(count)?;
    *input = rest;
    Some(taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_and_matches() {
        assert_eq!(decompress(&[0x30, b'a', b'b', b'c'], 3).as_deref(), Some(b"abc".as_slice()));
        // "ab", then eleven bytes from two back, then "z".
        let input = [0x27, b'a', b'b', 2, 0, 0x10, b'z'];
        assert_eq!(decompress(&input, 14).as_deref(), Some(b"ababababababaz".as_slice()));
        // A run of 300 from one back: 15 + 255 + 26 + 4.
        let input = [0x1f, b'x', 1, 0, 255, 26, 0x00];
        assert_eq!(decompress(&input, 301), Some(vec![b'x'; 301]));
    }

    #[test]
    fn nonsense_is_refused() {
        for (input, size) in [
            (&[][..], 0),
            (&[0x30, b'a'], 3),
            // Wrong sizes.
            (&[0x30, b'a', b'b', b'c'], 4),
            (&[0x1f, b'x', 1, 0, 255, 26, 0x00], 300),
            // From before the beginning, and from nowhere.
            (&[0x10, b'x', 2, 0, 0x00], 5),
            (&[0x10, b'x', 0, 0, 0x00], 5),
            (&[0x30, b'a', b'b', b'c'], usize::MAX),
        ] {
            assert_eq!(decompress(input, size), None, "{input:?}");
        }
    }
}
