//! Proofs of timestamps: what is read is written back and within the limits; an error names a byte.

use cairn_timestamps::{Attestation, Branch, MAX_BYTES, MAX_DEPTH, MAX_MESSAGE_BYTES, MAX_OPERATIONS, Proof, Step};

use super::bounds::{within, within_bounds};

/// Messages on the way to an attestation, and room for little else.
const MAX_MEMORY: u64 = ((MAX_DEPTH + 2) * MAX_MESSAGE_BYTES) as u64;

/// A file `*.ots`.
pub fn run(bytes: &[u8]) {
    let proof = match within_bounds(bytes, Proof::read) {
        Ok(proof) => proof,
        Err(error) => {
            assert!(error.offset <= bytes.len().min(MAX_BYTES), "byte {} of {}", error.offset, bytes.len());
            assert!(error.to_string().len() < 200);
            return;
        }
    };
    assert!(bytes.len() <= MAX_BYTES && operations(proof.root(), 0) <= MAX_OPERATIONS);
    let written = proof.write();
    assert!(written.len() <= bytes.len(), "{} bytes are written of {}", written.len(), bytes.len());
    let again = Proof::read(&written).unwrap();
    assert!(again == proof && again.write() == written);
    let mut attestations = 0;
    let visited = within(MAX_MEMORY, || {
        proof.attested(|attestation, message| {
            attestations += 1;
            assert!(message.len() <= MAX_MESSAGE_BYTES);
            if let Attestation::Pending { uri } = attestation {
                assert!(uri.bytes().all(|byte| byte.is_ascii_graphic()));
            }
            Ok::<(), ()>(())
        })
    });
    assert!(visited.is_ok() && attestations > 0);
}

/// The number of operations that follow from a message.
fn operations(step: &Step, depth: usize) -> usize {
    assert!(depth <= MAX_DEPTH && !(step.attestations().is_empty() && step.branches().is_empty()));
    step.branches().iter().map(Branch::next).map(|next| 1 + operations(next, depth + 1)).sum()
}
