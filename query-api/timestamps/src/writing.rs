//! Writes proofs.

use crate::{
    attestation::Attestation,
    encoding::{ATTESTATION, FORK, MAGIC, VERSION, put_bytes, put_number},
    operation::Operation,
    proof::{Proof, Step},
};

impl Proof {
    /// The bytes of the proof: attestations and operations in the order of the format. Proofs that clients write have
    /// this order and are written back byte by byte.
    #[must_use]
    pub fn write(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        put_number(&mut out, VERSION);
        out.push(self.function.byte());
        out.extend_from_slice(&self.file_hash);
        put_step(&mut out, &self.root);
        out
    }
}

impl Step {
    /// The bytes of the step, as calendars send it: a proof without magic, version and hash.
    #[must_use]
    pub fn write(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put_step(&mut out, self);
        out
    }
}

/// The recursion is at most [`crate::MAX_DEPTH`] deep.
fn put_step(out: &mut Vec<u8>, step: &Step) {
    // Each part but the last is marked.
    let mut left = step.attestations.len() + step.branches.len();
    let mut mark = |out: &mut Vec<u8>| {
        left -= 1;
        if left > 0 {
            out.push(FORK);
        }
    };
    for attestation in &step.attestations {
        mark(out);
        put_attestation(out, attestation);
    }
    for branch in &step.branches {
        mark(out);
        out.push(branch.operation.byte());
        if let Operation::Append(argument) | Operation::Prepend(argument) = &branch.operation {
            put_bytes(out, argument);
        }
        put_step(out, &branch.next);
    }
}

fn put_attestation(out: &mut Vec<u8>, attestation: &Attestation) {
    out.push(ATTESTATION);
    out.extend_from_slice(&attestation.tag());
    put_bytes(out, &attestation.payload());
}
