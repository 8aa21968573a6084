//! OpenTimestamps proofs: a file's hash, and operations that lead from it to attestations, for example to the Merkle root
//! of a Bitcoin block. Bytes in, bytes out: no chain, no network, no log.
//!
//! A proof is a tree. Each step applies an operation to the message before it; at each message there may be attestations,
//! and several operations, so that one proof has the attestations of several calendars. Reading checks everything
//! but the hashes: it computes the lengths of all messages, so that a malformed proof costs no hashing, and a proof that
//! costs too much is refused.

mod attestation;
mod flaw;
mod keccak;
mod operation;
mod proof;
mod reading;
mod writing;

pub use attestation::{Attestation, AttestationTag};
pub use flaw::{Flaw, ProofError};
pub use operation::{HashFunction, Operation};
pub use proof::{Branch, Proof, Step};

/// Maximum size of a proof in bytes.
pub const MAX_BYTES: usize = 64 << 10;
/// Maximum number of operations from the file's hash to an attestation.
pub const MAX_DEPTH: usize = 256;
/// Maximum number of operations of a proof.
pub const MAX_OPERATIONS: usize = 10_000;
/// Maximum length of a message and of an argument in bytes.
pub const MAX_MESSAGE_BYTES: usize = 4_096;
/// Maximum length of an attestation's payload in bytes.
pub const MAX_PAYLOAD_BYTES: usize = 8_192;
/// Maximum length of a calendar's address in bytes.
pub const MAX_URI_BYTES: usize = 1_000;
/// Maximum number of bytes that all operations of a proof read and write together. The proofs of calendars need some
/// thousands.
pub const MAX_WORK_BYTES: usize = 4 << 20;

/// The bytes that every proof begins with, before the version.
pub(crate) const MAGIC: &[u8; 31] = b"\x00OpenTimestamps\x00\x00Proof\x00\xbf\x89\xe2\xe8\x84\xe8\x92\x94";
/// The one version of the format.
pub(crate) const VERSION: u64 = 1;
/// The byte before an attestation.
pub(crate) const ATTESTATION: u8 = 0x00;
/// The byte before each branch of a message but the last.
pub(crate) const FORK: u8 = 0xff;
