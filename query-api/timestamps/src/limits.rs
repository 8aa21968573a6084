//! Limits of what is read.

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
