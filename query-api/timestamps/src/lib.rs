//! OpenTimestamps proofs: a file's hash, and operations that lead from it to attestations, for example to the Merkle
//! root of a Bitcoin block. Bytes in, bytes out: no chain, no network, no log.
//!
//! A proof is a tree. Each step applies an operation to the message before it; at each message there may be
//! attestations, and several operations, so that one proof has the attestations of several calendars. Reading checks
//! everything but the hashes: it computes the lengths of all messages, so that a malformed proof costs no hashing, and
//! a proof that costs too much is refused.
//!
//! Proofs are built from the tree of a batch ([`Tree`]) and from the block that has its transaction ([`anchor_steps`]).

mod anchor;
mod attestation;
mod building;
mod encoding;
mod flaw;
mod keccak;
mod limits;
mod operation;
mod proof;
mod reading;
mod tree;
mod writing;

pub use anchor::{AnchorError, anchor_steps, stripped_length};
pub use attestation::{Attestation, AttestationTag};
pub use building::blinded;
pub use flaw::{Flaw, ProofError};
pub use limits::{
    MAX_BYTES, MAX_DEPTH, MAX_MESSAGE_BYTES, MAX_OPERATIONS, MAX_PAYLOAD_BYTES, MAX_URI_BYTES, MAX_WORK_BYTES,
};
pub use operation::{HashFunction, Operation};
pub use proof::{Branch, Proof, Step};
pub use tree::{PartPlace, Tree, TreeError, TreePart, path, path_parts};
