//! Merkle trees as Bitcoin has them: the last hash of a row of odd length is paired with itself.

use bitcoin::hashes::{Hash, sha256d};

/// Hash of two nodes of a tree, as their parent.
#[must_use]
pub fn parent(left: &[u8; 32], right: &[u8; 32]) -> [u8; 32] {
    let mut both = [0; 64];
    both[..32].copy_from_slice(left);
    both[32..].copy_from_slice(right);
    sha256d::Hash::hash(&both).to_byte_array()
}

/// The row of the parents.
fn above(row: &[[u8; 32]]) -> Vec<[u8; 32]> {
    row.chunks(2).map(|pair| parent(&pair[0], pair.last().unwrap_or(&pair[0]))).collect()
}

/// The root of the tree over these leaves; `None` without a leaf.
#[must_use]
pub fn root(leaves: &[[u8; 32]]) -> Option<[u8; 32]> {
    let mut row = leaves.to_vec();
    while row.len() > 1 {
        row = above(&row);
    }
    row.first().copied()
}

/// The hashes that lead from the leaf at `index` to the root: its sibling first. Empty if `index` is too large, and for
/// a single leaf.
#[must_use]
pub fn branch(leaves: &[[u8; 32]], mut index: usize) -> Vec<[u8; 32]> {
    let (mut row, mut path) = (leaves.to_vec(), Vec::new());
    if index >= row.len() {
        return path;
    }
    while row.len() > 1 {
        // A last hash without a sibling is its own.
        path.extend(row.get(index ^ 1).or(row.get(index)));
        row = above(&row);
        index /= 2;
    }
    path
}

#[cfg(test)]
mod tests {
    use bitcoin::{Txid, merkle_tree};
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// The root is the one of the library, and a branch leads to it from its leaf.
        #[test]
        fn branches_lead_to_the_root(leaves in prop::collection::vec(any::<[u8; 32]>(), 1..70), at in any::<prop::sample::Index>()) {
            let of_library = merkle_tree::calculate_root(leaves.iter().map(|leaf| Txid::from_byte_array(*leaf)));
            prop_assert_eq!(root(&leaves), of_library.map(Hash::to_byte_array));
            let index = at.index(leaves.len());
            let (mut hash, mut place) = (leaves[index], index);
            for sibling in branch(&leaves, index) {
                hash = if place % 2 == 0 { parent(&hash, &sibling) } else { parent(&sibling, &hash) };
                place /= 2;
            }
            prop_assert_eq!(Some(hash), root(&leaves));
        }
    }

    #[test]
    fn no_leaf_has_no_branch() {
        assert_eq!((root(&[]), branch(&[], 0)), (None, vec![]));
        assert_eq!(branch(&[[1; 32]], 1), Vec::<[u8; 32]>::new());
        assert_eq!(branch(&[[1; 32]], 0), Vec::<[u8; 32]>::new());
    }
}
