//! Keccak-256 with the padding of the original submission, as Ethereum has it: not the SHA3-256 of FIPS 202.

/// Bytes that are absorbed at a time.
const RATE: usize = 136;
const ROUNDS: [u64; 24] = [
    0x0000_0000_0000_0001,
    0x0000_0000_0000_8082,
    0x8000_0000_0000_808a,
    0x8000_0000_8000_8000,
    0x0000_0000_0000_808b,
    0x0000_0000_8000_0001,
    0x8000_0000_8000_8081,
    0x8000_0000_0000_8009,
    0x0000_0000_0000_008a,
    0x0000_0000_0000_0088,
    0x0000_0000_8000_8009,
    0x0000_0000_8000_000a,
    0x0000_0000_8000_808b,
    0x8000_0000_0000_008b,
    0x8000_0000_0000_8089,
    0x8000_0000_0000_8003,
    0x8000_0000_0000_8002,
    0x8000_0000_0000_0080,
    0x0000_0000_0000_800a,
    0x8000_0000_8000_000a,
    0x8000_0000_8000_8081,
    0x8000_0000_0000_8080,
    0x0000_0000_8000_0001,
    0x8000_0000_8000_8008,
];
/// Lanes in the order in which ρ and π move them, from lane 1 on.
const LANES: [usize; 24] = [10, 7, 11, 17, 18, 3, 5, 16, 8, 21, 24, 4, 15, 23, 19, 13, 12, 2, 20, 14, 22, 9, 6, 1];
/// The rotation of each of these.
const ROTATIONS: [u32; 24] =
    [1, 3, 6, 10, 15, 21, 28, 36, 45, 55, 2, 14, 27, 41, 56, 8, 25, 43, 62, 18, 39, 61, 20, 44];

pub(crate) fn keccak256(message: &[u8]) -> [u8; 32] {
    let mut state = [0u64; 25];
    let mut blocks = message.chunks_exact(RATE);
    for block in &mut blocks {
        absorb(&mut state, block);
    }
    let rest = blocks.remainder();
    let mut last = [0u8; RATE];
    last[..rest.len()].copy_from_slice(rest);
    last[rest.len()] = 0x01;
    last[RATE - 1] |= 0x80;
    absorb(&mut state, &last);
    let mut hash = [0u8; 32];
    for (bytes, lane) in hash.chunks_exact_mut(8).zip(state) {
        bytes.copy_from_slice(&lane.to_le_bytes());
    }
    hash
}

fn absorb(state: &mut [u64; 25], block: &[u8]) {
    for (lane, bytes) in state.iter_mut().zip(block.chunks_exact(8)) {
        let mut word = [0u8; 8];
        word.copy_from_slice(bytes);
        *lane ^= u64::from_le_bytes(word);
    }
    for constant in ROUNDS {
        round(state, constant);
    }
}

fn round(state: &mut [u64; 25], constant: u64) {
    // θ
    let mut columns = [0u64; 5];
    for (x, column) in columns.iter_mut().enumerate() {
        *column = state[x] ^ state[x + 5] ^ state[x + 10] ^ state[x + 15] ^ state[x + 20];
    }
    for x in 0..5 {
        let parity = columns[(x + 4) % 5] ^ columns[(x + 1) % 5].rotate_left(1);
        for row in 0..5 {
            state[5 * row + x] ^= parity;
        }
    }
    // ρ and π
    let mut moved = state[1];
    for (lane, rotation) in LANES.into_iter().zip(ROTATIONS) {
        moved = std::mem::replace(&mut state[lane], moved.rotate_left(rotation));
    }
    // χ
    for row in state.chunks_exact_mut(5) {
        let old = [row[0], row[1], row[2], row[3], row[4]];
        for x in 0..5 {
            row[x] ^= !old[(x + 1) % 5] & old[(x + 2) % 5];
        }
    }
    // ι
    state[0] ^= constant;
}

#[cfg(test)]
mod tests {
    use super::keccak256;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Hashes as the Keccak team's test vectors and Ethereum's documents have them; the last two were computed by other
    /// implementations for messages that fill a block, and nearly.
    #[test]
    fn known_hashes() {
        for (message, hash) in [
            (&b""[..], "c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470"),
            (b"abc", "4e03657aea45a94fc7d47ba826c8d667c0d1e6e33a64a036ec44f58fa12d6c45"),
            (b"transfer(address,uint256)", "a9059cbb2ab09eb219583f4a59a5d0623ade346d962bcd4e46b11da047c9049b"),
            (&[b'a'; 135], "34367dc248bbd832f4e3e69dfaac2f92638bd0bbd18f2912ba4ef454919cf446"),
            (&[b'a'; 136], "a6c4d403279fe3e0af03729caada8374b5ca54d8065329a3ebcaeb4b60aa386e"),
        ] {
            assert_eq!(hex(&keccak256(message)), hash, "{} bytes", message.len());
        }
    }
}
