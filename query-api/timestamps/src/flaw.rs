//! Why bytes are not a proof, and where.

use thiserror::Error;

use crate::limits::{
    MAX_BYTES, MAX_DEPTH, MAX_MESSAGE_BYTES, MAX_OPERATIONS, MAX_PAYLOAD_BYTES, MAX_URI_BYTES, MAX_WORK_BYTES,
};

/// Why bytes are not a proof, and where.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("byte {offset}: {flaw}")]
pub struct ProofError {
    /// Offset of the first byte of the part that is wrong.
    pub offset: usize,
    /// The problem.
    pub flaw: Flaw,
}

/// A problem of a proof.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum Flaw {
    /// It is too long.
    #[error("the proof is longer than {} bytes", MAX_BYTES)]
    Size,
    /// It does not begin as proofs do.
    #[error("this is not an OpenTimestamps proof: the file must begin with the format's 31 bytes of magic")]
    Magic,
    /// It is of another version.
    #[error("the version of the format is unknown; only version 1 exists")]
    Version,
    /// The file's hash is of an unknown kind.
    #[error(
        "the hash function of the file is unknown (0x{0:02x}); those of the format are sha1, ripemd160, sha256 and keccak256"
    )]
    FileHash(u8),
    /// It ends too early.
    #[error("the proof ends early; a part of the file may be missing")]
    End,
    /// A number is too large.
    #[error("a number does not fit into 64 bits")]
    Number,
    /// An operation is unknown.
    #[error(
        "the operation is unknown (0x{0:02x}); those of the format are sha1, ripemd160, sha256, keccak256, append, prepend, reverse and hexlify"
    )]
    Operation(u8),
    /// An argument is empty or too long.
    #[error("the argument of an operation must have 1 to {} bytes", MAX_MESSAGE_BYTES)]
    Argument,
    /// A message is too long.
    #[error("the result of the operation is longer than {} bytes", MAX_MESSAGE_BYTES)]
    Message,
    /// It is too deep.
    #[error("more than {} operations follow one another", MAX_DEPTH)]
    Depth,
    /// It has too many operations.
    #[error("the proof has more than {} operations", MAX_OPERATIONS)]
    Operations,
    /// It is too much work.
    #[error("the operations of the proof process more than {} bytes", MAX_WORK_BYTES)]
    Work,
    /// A payload is too long.
    #[error("the content of an attestation is longer than {} bytes", MAX_PAYLOAD_BYTES)]
    Payload,
    /// A payload has more than it should.
    #[error("the content of an attestation goes on after its end")]
    PayloadRest,
    /// The address of a calendar is malformed.
    #[error(
        "the address of a calendar has a character other than letters, digits and -._/:, or more than {} of them",
        MAX_URI_BYTES
    )]
    Uri,
    /// More follows.
    #[error("the file goes on after the end of the proof")]
    Rest,
}
