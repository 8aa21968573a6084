//! Proofs that a header is in the chain up to a checkpoint: a Merkle tree over the hashes of all headers.
//!
//! The inner nodes over complete groups of 256 headers, and all nodes above, are kept: 0.5 bytes for each block of the
//! chain, 240 KB at 950 000 blocks with the hash that names each group. So a proof reads at most 512 headers and
//! hashes at most 35 KB. A group belongs to the chain as long as its last block does.

use cairn_chain::{branch, parent, root};
use cairn_model::BlockHash;

/// Levels below the nodes that are kept.
const LEVEL: usize = 8;
/// Headers of a group.
pub(crate) const GROUP: u32 = 1 << LEVEL;

/// A hash of a header, or of two nodes.
pub(crate) type Node = [u8; 32];

/// Hashes that lead from a header to the root (the sibling of the header first), and the root.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Proof {
    pub(crate) branch: Vec<Node>,
    pub(crate) root: Node,
}

/// The kept nodes.
#[derive(Clone, Default, Debug)]
pub(crate) struct Tree {
    /// Complete nodes of each level from [`LEVEL`] on.
    levels: Vec<Vec<Node>>,
    /// The last block of each group.
    ends: Vec<BlockHash>,
}

impl Tree {
    /// Number of groups.
    pub(crate) fn groups(&self) -> u32 {
        u32::try_from(self.ends.len()).unwrap_or(u32::MAX)
    }

    /// Number of groups that are in the chain: `is_in_chain` says it of the block at a height.
    pub(crate) fn valid_groups(&self, is_in_chain: impl Fn(u32, &BlockHash) -> bool) -> u32 {
        let end = |group: usize| u32::try_from(group).unwrap_or(u32::MAX).saturating_add(1).saturating_mul(GROUP) - 1;
        // Reorganizations are short: the last groups are looked at first.
        let valid = self.ends.iter().enumerate().rev().find(|(group, hash)| is_in_chain(end(*group), hash));
        valid.map_or(0, |(group, _)| u32::try_from(group + 1).unwrap_or(u32::MAX))
    }

    /// Removes all groups but these first ones.
    pub(crate) fn truncate(&mut self, groups: u32) {
        let mut left = groups as usize;
        self.ends.truncate(left);
        for level in &mut self.levels {
            level.truncate(left);
            left /= 2;
        }
    }

    /// Adds the next group: the hashes of its headers.
    pub(crate) fn push(&mut self, hashes: &[Node]) {
        let (Some(mut node), Some(end)) = (root(hashes), hashes.last()) else { return };
        self.ends.push(BlockHash(*end));
        for level in 0.. {
            if self.levels.len() == level {
                self.levels.push(Vec::new());
            }
            let Some(nodes) = self.levels.get_mut(level) else { return };
            nodes.push(node);
            match nodes.as_slice() {
                [.., left, right] if nodes.len() % 2 == 0 => node = parent(left, right),
                _ => return,
            }
        }
    }

    /// The proof of the header at `height` in the tree over the first `count` headers. The complete groups of these
    /// must be kept. `hashes` reads the hashes of headers from one height up to another, the last one excluded.
    pub(crate) fn prove<E>(
        &self,
        height: u32,
        count: u32,
        mut hashes: impl FnMut(u32, u32) -> Result<Vec<Node>, E>,
    ) -> Result<Option<Proof>, E> {
        let complete = count / GROUP;
        if height >= count || complete > self.groups() {
            return Ok(None);
        }
        if count <= GROUP {
            let all = hashes(0, count)?;
            return Ok(root(&all).map(|root| Proof { branch: branch(&all, height as usize), root }));
        }
        // The last group, if it is not complete: its node, which is a kept one's sibling or parent.
        let mut rest = if count.is_multiple_of(GROUP) { Vec::new() } else { hashes(complete * GROUP, count)? };
        let group = height / GROUP;
        let mut row = if group < complete { hashes(group * GROUP, (group + 1) * GROUP)? } else { rest.clone() };
        let (mut path, mut index) = (Vec::new(), (height % GROUP) as usize);
        for _ in 0..LEVEL {
            path.extend(row.get(index ^ 1).or(row.get(index)));
            (row, rest) = (above(&row), above(&rest));
            index /= 2;
        }
        let (mut index, mut complete, mut edge) = (group as usize, complete as usize, rest.first().copied());
        for nodes in &self.levels {
            let Some(nodes) = nodes.get(..complete) else { return Ok(None) };
            let node = |at: usize| nodes.get(at).copied().or(if at == complete { edge } else { None });
            let length = complete + usize::from(edge.is_some());
            if length == 1 {
                return Ok(node(0).map(|root| Proof { branch: path, root }));
            }
            path.extend(node(index ^ 1).or(node(index)));
            edge = match (edge, nodes.last()) {
                (Some(edge), Some(last)) if complete % 2 == 1 => Some(parent(last, &edge)),
                (Some(edge), _) => Some(parent(&edge, &edge)),
                (None, Some(last)) if complete % 2 == 1 => Some(parent(last, last)),
                (None, _) => None,
            };
            (index, complete) = (index / 2, complete / 2);
        }
        // Above the kept nodes there is only the root.
        Ok(edge.filter(|_| complete == 0).map(|root| Proof { branch: path, root }))
    }
}

/// The row of the parents; a last node without a sibling is its own.
fn above(row: &[Node]) -> Vec<Node> {
    row.chunks(2).map(|pair| parent(&pair[0], pair.last().unwrap_or(&pair[0]))).collect()
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use proptest::prelude::*;

    use super::*;

    fn hashes(count: u32, seed: u32) -> Vec<Node> {
        (0..count)
            .map(|height| {
                let mut hash = [0; 32];
                hash[..4].copy_from_slice(&height.to_le_bytes());
                hash[4..8].copy_from_slice(&seed.to_le_bytes());
                hash
            })
            .collect()
    }

    fn tree(all: &[Node]) -> Tree {
        let mut tree = Tree::default();
        all.chunks_exact(GROUP as usize).for_each(|group| tree.push(group));
        tree
    }

    fn prove(tree: &Tree, all: &[Node], height: u32, count: u32) -> Option<Proof> {
        let mut read = 0;
        let found = tree.prove(height, count, |from, to| {
            read += to - from;
            Ok::<_, Infallible>(all[from as usize..to as usize].to_vec())
        });
        assert!(read <= 2 * GROUP, "{read} headers were read");
        found.unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(100))]

        /// A proof is the branch of the whole tree, and its root.
        #[test]
        fn proofs_are_those_of_the_whole_tree(
            length in 1u32..3_000,
            count in any::<prop::sample::Index>(),
            height in any::<prop::sample::Index>(),
        ) {
            let all = hashes(length, 0);
            let tree = tree(&all);
            let count = count.index(length as usize) + 1;
            let height = height.index(count);
            let proof = prove(&tree, &all, height as u32, count as u32).unwrap();
            prop_assert_eq!(Some(proof.root), root(&all[..count]));
            prop_assert_eq!(proof.branch, branch(&all[..count], height));
        }

        /// After a reorganization the tree is that of the new chain.
        #[test]
        fn truncated_trees_grow_again(length in 1u32..3_000, fork in any::<prop::sample::Index>()) {
            let (old, mut new) = (hashes(length, 0), hashes(length, 1));
            let fork = fork.index(length as usize + 1);
            new[..fork].copy_from_slice(&old[..fork]);
            let mut tree = tree(&old);
            let valid = tree.valid_groups(|height, hash| new[height as usize] == hash.0);
            prop_assert_eq!(valid, fork as u32 / GROUP);
            tree.truncate(valid);
            new[(valid * GROUP) as usize..].chunks_exact(GROUP as usize).for_each(|group| tree.push(group));
            let proof = prove(&tree, &new, length - 1, length).unwrap();
            prop_assert_eq!(proof, Proof {
                branch: branch(&new, length as usize - 1),
                root: root(&new).unwrap(),
            });
        }
    }

    #[test]
    fn the_edges_of_groups_are_proved() {
        let all = hashes(GROUP * 5 + 1, 0);
        let tree = tree(&all);
        for count in [1, 2, GROUP - 1, GROUP, GROUP + 1, GROUP * 2, GROUP * 4, GROUP * 5, GROUP * 5 + 1] {
            for height in [0, 1, GROUP - 1, GROUP, GROUP * 2 - 1, count - 1] {
                let expected = (height < count).then(|| Proof {
                    branch: branch(&all[..count as usize], height as usize),
                    root: root(&all[..count as usize]).unwrap(),
                });
                assert_eq!(prove(&tree, &all, height, count), expected, "{height} of {count}");
            }
        }
        // Groups that are not kept are not proved.
        assert_eq!(prove(&Tree::default(), &all, 0, GROUP), None);
    }

    /// The example of the specification: heights 0 to 8, with the hashes of the real chain's first blocks.
    #[test]
    fn the_proof_is_that_of_the_example() {
        let text = [
            "000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f",
            "00000000839a8e6886ab5951d76f411475428afc90947ee320161bbf18eb6048",
            "000000006a625f06636b8bb6ac7b960a8d03705d1ace08b1a19da3fdcc99ddbd",
            "0000000082b5015589a3fdf2d4baff403e6f0be035a5d9742c1cae6295464449",
            "000000004ebadb55ee9096c9a2f8880e09da59c0d68b1c228da88e48844a1485",
            "000000009b7262315dbf071787ad3656097b892abffd1f95a1a022f896f533fc",
            "000000003031a0e73735690c5a1ff2a4be82553b2a12b776fbd3a215dc8f778d",
            "0000000071966c2b1d065fd446b1e485b2c9d9594acd2007ccbd5441cfc89444",
            "00000000408c48f847aa786c2268fc3e6ec2af68e8468a34a28c61b7f1de0dc6",
        ];
        let all: Vec<Node> = text.iter().map(|hash| hash.parse::<BlockHash>().unwrap().0).collect();
        let proof = prove(&Tree::default(), &all, 5, 9).unwrap();
        let written = |node: &Node| BlockHash(*node).to_string();
        assert_eq!(
            proof.branch.iter().map(written).collect::<Vec<_>>(),
            [
                "000000004ebadb55ee9096c9a2f8880e09da59c0d68b1c228da88e48844a1485",
                "96cbbc84783888e4cc971ae8acf86dd3c1a419370336bb3c634c97695a8c5ac9",
                "965ac94082cebbcffe458075651e9cc33ce703ab0115c72d9e8b1a9906b2b636",
                "89e5daa6950b895190716dd26054432b564ccdc2868188ba1da76de8e1dc7591",
            ]
        );
        assert_eq!(written(&proof.root), "e347b1c43fd9b5415bf0d92708db8284b78daf4d0e24f9c3405f45feb85e25db");
    }
}
