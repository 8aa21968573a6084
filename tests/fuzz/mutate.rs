//! Changes to bytes, of the kinds that break parsers.

use rand::Rng;
use rand_chacha::ChaCha8Rng;

const BYTES: [u8; 10] = [0, 1, 2, 0x7f, 0x80, 0xfc, 0xfd, 0xfe, 0xff, 0x6a];

/// CompactSizes at their edges, canonical or not, and 64-bit amounts.
const NUMBERS: [&[u8]; 10] = [
    &[0xfd, 0xfd, 0x00],
    &[0xfd, 0x01, 0x00],
    &[0xfd, 0xff, 0xff],
    &[0xfe, 0x00, 0x00, 0x01, 0x00],
    &[0xfe, 0xff, 0xff, 0xff, 0x01],
    &[0xfe, 0xff, 0xff, 0xff, 0xff],
    &[0xff; 9],
    &[0xff, 0xff, 0xff, 0xff, 0x0f],
    &[0x00, 0x40, 0x07, 0x5a, 0xf0, 0x75, 0x07, 0x00],
    &[0x01, 0x40, 0x07, 0x5a, 0xf0, 0x75, 0x07, 0x00],
];

/// Changes `bytes` a few times; pieces come from `donor` as well.
pub(crate) fn mutate(rng: &mut ChaCha8Rng, bytes: &mut Vec<u8>, donor: &[u8]) {
    for _ in 0..rng.random_range(1..=4) {
        let at = rng.random_range(0..=bytes.len());
        let end = (at + rng.random_range(1..80)).min(bytes.len());
        match rng.random_range(0..9) {
            0 if at < bytes.len() => bytes[at] = BYTES[rng.random_range(0..BYTES.len())],
            1 if at < bytes.len() => bytes[at] ^= 1 << rng.random_range(0..8),
            2 => bytes.insert(at, rng.random()),
            3 => drop(bytes.drain(at..end)),
            4 => bytes.truncate(at),
            5 => {
                let piece = bytes[at..end].to_vec();
                bytes.splice(at..at, piece);
            }
            6 if !donor.is_empty() => {
                let from = rng.random_range(0..donor.len());
                let piece = donor[from..(from + end - at).min(donor.len())].to_vec();
                bytes.splice(at..end, piece);
            }
            7 => {
                let number = NUMBERS[rng.random_range(0..NUMBERS.len())];
                let end = (at + number.len()).min(bytes.len());
                bytes.splice(at..end, number.iter().copied());
            }
            _ => {
                let number = NUMBERS[rng.random_range(0..NUMBERS.len())];
                bytes.splice(at..(at + 1).min(bytes.len()), number.iter().copied());
            }
        }
    }
}

/// Random bytes, many of them small or special.
pub(crate) fn noise(rng: &mut ChaCha8Rng, most: usize) -> Vec<u8> {
    let byte = |rng: &mut ChaCha8Rng| match rng.random_range(0..3) {
        0 => rng.random(),
        1 => rng.random_range(0..4),
        _ => BYTES[rng.random_range(0..BYTES.len())],
    };
    (0..rng.random_range(0..=most)).map(|_| byte(rng)).collect()
}
