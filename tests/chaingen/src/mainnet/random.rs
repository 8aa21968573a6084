//! Bytes that look random: drawn, or the same each time for a number.

use rand::Rng;
use rand_chacha::ChaCha8Rng;

/// Appends random bytes.
pub(super) fn push_random(rng: &mut ChaCha8Rng, out: &mut Vec<u8>, count: usize) {
    let start = out.len();
    out.resize(start + count, 0);
    rng.fill(&mut out[start..]);
}

/// Mixes a number so that neighbours look unrelated (the finalizer of SplitMix64).
pub(super) fn mix(n: u64) -> u64 {
    let n = n.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let n = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let n = (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ (n >> 31)
}

/// 32 bytes that look random, from a salt and a number.
pub(super) fn spread(salt: u64, n: u64) -> [u8; 32] {
    let mut out = [0; 32];
    let mut state = mix(salt ^ n.rotate_left(32));
    for chunk in out.as_chunks_mut::<8>().0 {
        state = mix(state ^ n);
        *chunk = state.to_le_bytes();
    }
    out
}
