//! Builds proofs.

use crate::{
    attestation::Attestation,
    operation::{HashFunction, Operation},
    proof::{Branch, Proof, Step},
};

impl Step {
    /// A step with one attestation and nothing else.
    #[must_use]
    pub fn attested_by(attestation: Attestation) -> Self {
        Step { attestations: vec![attestation], branches: Vec::new() }
    }

    /// The step from which `operations` lead to this one.
    #[must_use]
    pub fn after(self, operations: Vec<Operation>) -> Self {
        let before = |next, operation| Step { attestations: Vec::new(), branches: vec![Branch { operation, next }] };
        operations.into_iter().rev().fold(self, before)
    }
}

impl Proof {
    /// A proof of the file with this SHA-256 hash.
    #[must_use]
    pub fn of_sha256(file_hash: [u8; 32], root: Step) -> Self {
        Proof { function: HashFunction::Sha256, file_hash: file_hash.to_vec(), root }
    }
}

/// The operations that hide a hash from the neighbours in its tree: random bytes behind it, then SHA-256.
#[must_use]
pub fn blinded(nonce: &[u8; 16]) -> Vec<Operation> {
    vec![Operation::Append(nonce.to_vec()), Operation::Hash(HashFunction::Sha256)]
}
