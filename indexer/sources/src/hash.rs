//! Double SHA-256 and Merkle trees.

use sha2::{Digest, Sha256};

pub(crate) type Hash32 = [u8; 32];

/// SHA256d of concatenated pieces.
#[inline]
pub(crate) fn sha256d(pieces: &[&[u8]]) -> Hash32 {
    let mut engine = Sha256::new();
    for piece in pieces {
        engine.update(piece);
    }
    Sha256::digest(engine.finalize()).into()
}

/// Merkle root of a list of hashes, which is consumed. `None` for an empty list, and if two equal hashes are a left and
/// right pair: then another list of transactions has the same root (CVE-2012-2459), so the root proves nothing.
pub(crate) fn merkle_root(mut level: Vec<Hash32>) -> Option<Hash32> {
    let mut n = level.len();
    while n > 1 {
        let parents = n.div_ceil(2);
        for i in 0..parents {
            let left = level[2 * i];
            let right = if 2 * i + 1 < n {
                if left == level[2 * i + 1] {
                    return None;
                }
                level[2 * i + 1]
            } else {
                left
            };
            level[i] = sha256d(&[&left, &right]);
        }
        n = parents;
    }
    level.first().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_with_a_doubled_tail_proves_nothing() {
        let (a, b, c) = ([1; 32], [2; 32], [3; 32]);
        assert_eq!(merkle_root(vec![]), None);
        assert_eq!(merkle_root(vec![a]), Some(a));
        let ab = sha256d(&[&a, &b]);
        assert_eq!(merkle_root(vec![a, b]), Some(ab));
        let cc = sha256d(&[&c, &c]);
        assert_eq!(merkle_root(vec![a, b, c]), Some(sha256d(&[&ab, &cc])));
        // It would have the same root if it were not refused.
        assert_eq!(merkle_root(vec![a, b, c, c]), None);
    }
}
